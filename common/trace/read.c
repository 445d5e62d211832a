/**
 * @file read.c
 * @brief Reads traces: chunks into launches and blocks, events into what they cost.
 */
#include "read.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- numbers -------------------------------------------------------------------------------------------------- */

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
    if (!list) abort();
    memset((char *)list + count * bytes, 0, bytes);
    return list;
}

static void read_site(struct reader *r, struct trace *trace)
{
    (void)number(r);
    free(text_of(r));
    const uint64_t lines = number(r);
    if (lines > TRACE_FRAMES) r->damaged = 1;
    for (uint64_t i = 0; i < lines && !r->damaged; i++) {
        char *file = text_of(r);
        size_t known = 0;
        (void)number(r);
        while (known < trace->file_count && strcmp(trace->files[known], file) != 0) known++;
        if (known < trace->file_count) {
            free(file);
            continue;
        }
        trace->files = grow(trace->files, trace->file_count, sizeof *trace->files);
        trace->files[trace->file_count++] = file;
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
    if (letter == TRACE_FINDING) launch->finding_count++;
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
    }
    for (size_t i = 0; i < trace->file_count; i++) free(trace->files[i]);
    free(trace->launches);
    free(trace->files);
}

uint64_t trace_blocks_of(const struct trace_launch *launch)
{
    return launch->grid[0] * launch->grid[1] * launch->grid[2];
}

/* ---- events --------------------------------------------------------------------------------------------------- */

enum { BARRIERS = TRACE_COUNTED - 1 };

/** What the last event of a site was like. */
struct last {
    unsigned lists;
    uint64_t cost[TRACE_COUNTED];
};
struct lasts {
    struct last *of;
    size_t count;
};

static struct last *last_of(struct lasts *lasts, uint64_t site, struct reader *r)
{
    if (site > (uint64_t)1 << 20) r->damaged = 1;
    if (r->damaged) return NULL;
    while (lasts->count <= site) lasts->of = grow(lasts->of, lasts->count++, sizeof *lasts->of);
    return &lasts->of[site];
}

static void skip_shape(struct reader *r, struct last *last)
{
    const uint64_t access = number(r);
    (void)number(r), (void)number(r);
    const uint32_t mask = (uint32_t)number(r);
    /* of a copy that reads nothing there are only the places that receive zeros */
    last->lists = (access & (TRACE_COPY | TRACE_READ)) == (TRACE_COPY | TRACE_READ) ? 2 : 1;
    if (mask == 0) r->damaged = 1;
    for (unsigned list = 0; list < last->lists; list++)
        for (uint64_t step = 0; step + 1 < (uint64_t)__builtin_popcount(mask) && !r->damaged;) {
            (void)number(r);
            const uint64_t times = number(r);
            if (times == 0) r->damaged = 1;
            step += times;
        }
}

static void add_lanes(struct reader *r, unsigned flags, struct lasts *lasts, struct trace_counters *sum)
{
    struct last *last = last_of(lasts, number(r), r);
    if (!last) return;
    if (!(flags & TRACE_SAME)) skip_shape(r, last);
    for (unsigned list = 0; list < last->lists; list++) (void)number(r);
    if (!(flags & TRACE_SAME_COST)) {
        const uint64_t rises = number(r);
        for (int i = 0; i < TRACE_COUNTED; i++) last->cost[i] = rises >> i & 1 ? number(r) : 0;
    }
    for (int i = 0; i < TRACE_COUNTED; i++) sum->value[i] += last->cost[i];
}

static void add_event(struct reader *r, struct lasts *lasts, struct trace_counters *sum)
{
    static const int operands[16] = {
        [TRACE_WARP] = 1, [TRACE_MARK] = 4, [TRACE_NAMED] = 2, [TRACE_LANDED] = 4};
    const unsigned event = *r->at & 15, flags = *r->at & ~15u;
    r->at++;
    if (event == TRACE_LANES) {
        add_lanes(r, flags, lasts, sum);
    } else if (event == TRACE_MEET) {
        (void)number(r);
        sum->value[BARRIERS] += number(r) >= TRACE_NAMED_ARRIVE;
        (void)number(r);
    } else if (event == TRACE_BARRIER) {
        (void)number(r);
        sum->value[BARRIERS] += (uint64_t)__builtin_popcountll(number(r));
    } else if (operands[event] > 0) {
        for (int i = 0; i < operands[event]; i++) (void)number(r);
    } else {
        r->damaged = 1;
    }
}

int trace_add_events(const struct trace_block *block, struct trace_counters *sum)
{
    struct reader r = {block->events, block->events_end, 0};
    struct lasts lasts = {NULL, 0};
    while (r.at != r.end && !r.damaged) add_event(&r, &lasts, sum);
    free(lasts.of);
    return r.damaged ? -1 : 0;
}
