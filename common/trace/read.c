/**
 * @file read.c
 * @brief Reads traces: chunks into launches and blocks, events into what they cost.
 */
#include "read.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- numbers -------------------------------------------------------------------------------------------------- */

enum { MOST_SITES = 1 << 16 };

/** What is left to read; past the end, or at a wrong byte, it is damaged and gives zeros. */
struct reader {
    const unsigned char *at, *end;
    int damaged;
};

static uint64_t number(struct reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (r->at == r->end) break;
        const unsigned char byte = *r->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    r->damaged = 1;
    return 0;
}

static int64_t signed_number(struct reader *r)
{
    const uint64_t value = number(r);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static const unsigned char *bytes_of(struct reader *r, uint64_t count)
{
    const unsigned char *at = r->at;
    if (count > (uint64_t)(r->end - r->at)) {
        r->damaged = 1;
        return NULL;
    }
    r->at += count;
    return at;
}

static char *text_of(struct reader *r)
{
    const uint64_t length = number(r);
    const unsigned char *at = bytes_of(r, length);
    return at != NULL ? format_string("%.*s", (int)length, (const char *)at) : copy_string("");
}

static struct trace_counters counters_of(struct reader *r)
{
    struct trace_counters c;
    for (int i = 0; i < TRACE_COUNTED; i++) c.value[i] = number(r);
    return c;
}

/* ---- chunks --------------------------------------------------------------------------------------------------- */

/* Room for one more than @p count, which grows one by one: there is room up to the next power of two. */
static void *grow(void *list, size_t count, size_t bytes)
{
    if ((count & (count - 1)) == 0) list = realloc(list, (count == 0 ? 1 : 2 * count) * bytes);
    if (list == NULL) abort();
    memset((char *)list + count * bytes, 0, bytes);
    return list;
}

/* The number of a file in the trace's list, which gets it if it is new. */
static size_t file_number(struct trace *trace, char *file)
{
    size_t known = 0;
    while (known < trace->file_count && strcmp(trace->files[known], file) != 0) known++;
    if (known < trace->file_count) {
        free(file);
        return known;
    }
    trace->files = grow(trace->files, trace->file_count, sizeof *trace->files);
    trace->files[trace->file_count++] = file;
    return known;
}

static void read_site(struct reader *r, struct trace *trace)
{
    const uint64_t index = number(r);
    free(text_of(r));
    const uint64_t lines = number(r);
    if (lines > TRACE_FRAMES || index >= MOST_SITES) r->damaged = 1;
    while (!r->damaged && trace->site_count <= index) {
        trace->sites = grow(trace->sites, trace->site_count, sizeof *trace->sites);
        trace->site_count++;
    }
    for (uint64_t i = 0; i < lines && !r->damaged; i++) {
        const size_t file = file_number(trace, text_of(r));
        const uint64_t line = number(r);
        if (i == 0) trace->sites[index] = (struct trace_site){file, line};
    }
}

static void read_launch(struct reader *r, struct trace *trace)
{
    trace->launches = grow(trace->launches, trace->launch_count, sizeof *trace->launches);
    struct trace_launch *launch = &trace->launches[trace->launch_count++];
    launch->kernel = text_of(r);
    for (int i = 0; i < 3; i++) launch->grid[i] = number(r);
    for (int i = 0; i < 3; i++) launch->block[i] = number(r);
    for (int i = 0; i < 3; i++)
        if (launch->grid[i] == 0 || launch->grid[i] > UINT32_MAX || launch->block[i] == 0) r->damaged = 1;
    (void)number(r);
    launch->counters = counters_of(r);
}

static void read_block(struct reader *r, struct trace_launch *launch, size_t begin, size_t end)
{
    launch->blocks = grow(launch->blocks, launch->block_count, sizeof *launch->blocks);
    struct trace_block *block = &launch->blocks[launch->block_count++];
    block->index = number(r);
    block->why = (int)number(r);
    block->left_out = number(r);
    block->counters = counters_of(r);
    const uint64_t count = number(r);
    block->events = bytes_of(r, count);
    block->events_end = block->events != NULL ? block->events + count : NULL;
    block->begin = begin;
    block->end = end;
}

/* Of a finding: who acted, the last one first. */
static void read_finding(struct reader *r, struct trace_launch *launch)
{
    enum { ACTORS = 2 };
    struct trace_thread acted[ACTORS];
    size_t count = 0;
    char *kind = text_of(r);
    const int is_write = strcmp(kind, TRACE_LAST_WRITE) == 0;
    free(kind);
    free(text_of(r)); /* text, how often, space, address, bytes */
    for (int i = 0; i < 4; i++) (void)number(r);
    for (int i = 0; i < ACTORS; i++) {
        const uint64_t site = number(r), block = number(r), thread = number(r);
        (void)number(r);
        if (site != 0) acted[count++] = (struct trace_thread){block, thread};
    }
    launch->finding_count += !is_write;
    launch->is_written |= is_write && count == 1;
    if (is_write && count == 1) launch->wrote = acted[--count];
    while (count > 0) {
        launch->found = grow(launch->found, launch->found_count, sizeof *launch->found);
        launch->found[launch->found_count++] = acted[--count];
    }
}

/* One chunk, which begins at @p begin; returns where it ends, or 0 if it is damaged. */
static size_t read_chunk(struct trace *trace, size_t begin)
{
    struct reader r = {trace->bytes + begin + 1, trace->bytes + trace->size, 0};
    const uint64_t length = number(&r);
    const unsigned char *content = bytes_of(&r, length);
    if (content == NULL) return 0;
    const size_t end = (size_t)(r.at - trace->bytes);
    const unsigned char letter = trace->bytes[begin];
    r = (struct reader){content, content + length, 0};
    if (letter == TRACE_SITE) {
        read_site(&r, trace);
    } else if (letter == TRACE_LAUNCH) {
        read_launch(&r, trace);
        trace->launches[trace->launch_count - 1].begin = begin;
    }
    if (letter == TRACE_SITE || trace->launch_count == 0) return r.damaged ? 0 : end;
    struct trace_launch *launch = &trace->launches[trace->launch_count - 1];
    launch->end = end;
    if (letter == TRACE_BLOCK) read_block(&r, launch, begin, end);
    if (letter == TRACE_FINDING) read_finding(&r, launch);
    return r.damaged ? 0 : end;
}

int trace_read(const unsigned char *bytes, size_t size, struct trace *trace)
{
    const size_t magic = strlen(TRACE_MAGIC);
    *trace = (struct trace){.bytes = bytes, .size = size};
    if (size < magic || memcmp(bytes, TRACE_MAGIC, magic) != 0) return -1;
    for (size_t at = magic; at < size;) {
        at = read_chunk(trace, at);
        if (at == 0) return -1;
    }
    return 0;
}

void trace_free(struct trace *trace)
{
    for (size_t i = 0; i < trace->launch_count; i++) {
        free(trace->launches[i].kernel);
        free(trace->launches[i].blocks);
        free(trace->launches[i].found);
    }
    for (size_t i = 0; i < trace->file_count; i++) free(trace->files[i]);
    free(trace->launches);
    free(trace->files);
    free(trace->sites);
}

uint64_t trace_blocks_of(const struct trace_launch *launch)
{
    return launch->grid[0] * launch->grid[1] * launch->grid[2];
}

/* ---- events --------------------------------------------------------------------------------------------------- */

enum { BARRIERS = TRACE_COUNTED - 1, LANES = TRACE_LANES_OF_A_WARP };

/** What the last event of a site was like: the next one says what is new. */
struct last {
    struct trace_request request;
    unsigned lists;
    uint64_t first[2];        /* where the first lane was */
    int64_t offset[2][LANES]; /* of each lane from there */
};

/** The events of a block on their way: what they cost, and who is told of requests. */
struct events {
    struct last *of;
    size_t count;
    struct trace_counters sum;
    void (*see)(void *context, const struct trace_request *request);
    void *context;
};

static struct last *last_of(struct events *events, uint64_t site, struct reader *r)
{
    if (site >= MOST_SITES) r->damaged = 1;
    if (r->damaged) return NULL;
    while (events->count <= site) {
        events->of = grow(events->of, events->count, sizeof *events->of);
        events->count++;
    }
    events->of[site].request.site = site;
    return &events->of[site];
}

static void read_shape(struct reader *r, struct last *last)
{
    struct trace_request *request = &last->request;
    request->access = (unsigned)number(r);
    request->space = (unsigned)number(r);
    request->bytes = (unsigned)number(r);
    request->mask = (uint32_t)number(r);
    /* of a copy that reads nothing there are only the places that receive zeros */
    last->lists = (request->access & (TRACE_COPY | TRACE_READ)) == (TRACE_COPY | TRACE_READ) ? 2 : 1;
    if (request->mask == 0) r->damaged = 1;
    const unsigned lanes = (unsigned)__builtin_popcount(request->mask);
    for (unsigned list = 0; list < last->lists; list++)
        for (unsigned lane = 1; lane < lanes && !r->damaged;) {
            const int64_t step = signed_number(r);
            const uint64_t times = number(r);
            if (times == 0 || times > lanes - lane) r->damaged = 1;
            for (uint64_t i = 0; i < times && !r->damaged; i++, lane++)
                last->offset[list][lane] = (int64_t)((uint64_t)last->offset[list][lane - 1] + (uint64_t)step);
        }
}

static void read_lanes(struct reader *r, unsigned flags, struct events *events)
{
    struct last *last = last_of(events, number(r), r);
    if (last == NULL) return;
    struct trace_request *request = &last->request;
    if (!(flags & TRACE_SAME)) read_shape(r, last);
    for (unsigned list = 0; list < last->lists; list++) last->first[list] += (uint64_t)signed_number(r);
    if (!(flags & TRACE_SAME_COST)) {
        const uint64_t rises = number(r);
        for (int i = 0; i < TRACE_COUNTED; i++) request->cost.value[i] = rises >> i & 1 ? number(r) : 0;
    }
    for (int i = 0; i < TRACE_COUNTED; i++) events->sum.value[i] += request->cost.value[i];
    if (events->see == NULL || r->damaged) return;
    for (int lane = 0; lane < LANES; lane++)
        request->address[lane] = last->first[0] + (uint64_t)last->offset[0][lane];
    events->see(events->context, request);
}

static void read_event(struct reader *r, struct events *events)
{
    static const int operands[16] = {
        [TRACE_WARP] = 1, [TRACE_MARK] = 4, [TRACE_NAMED] = 2, [TRACE_LANDED] = 4};
    const unsigned event = *r->at & 15, flags = *r->at & ~15u;
    uint64_t *barriers = &events->sum.value[BARRIERS];
    r->at++;
    if (event == TRACE_LANES) {
        read_lanes(r, flags, events);
    } else if (event == TRACE_MEET) {
        (void)number(r);
        *barriers += number(r) >= TRACE_NAMED_ARRIVE;
        (void)number(r);
    } else if (event == TRACE_BARRIER) {
        (void)number(r);
        *barriers += (uint64_t)__builtin_popcountll(number(r));
    } else if (operands[event] > 0) {
        for (int i = 0; i < operands[event]; i++) (void)number(r);
    } else {
        r->damaged = 1;
    }
}

static int read_events(const struct trace_block *block, struct events *events)
{
    struct reader r = {block->events, block->events_end, 0};
    while (r.at != r.end && !r.damaged) read_event(&r, events);
    free(events->of);
    return r.damaged ? -1 : 0;
}

int trace_add_events(const struct trace_block *block, struct trace_counters *sum)
{
    struct events events = {.sum = *sum};
    const int status = read_events(block, &events);
    *sum = events.sum;
    return status;
}

int trace_each_request(const struct trace_block *block,
                       void (*see)(void *context, const struct trace_request *request), void *context)
{
    struct events events = {.see = see, .context = context};
    return read_events(block, &events);
}
