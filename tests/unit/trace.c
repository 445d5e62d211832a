/**
 * @file trace.c
 * @brief Traces as bytes: read, added up, damaged, and put into a page.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "trace/page.h"
#include "trace/read.h"

static int failures;

static void expect(int holds, const char *what)
{
    if (holds) return;
    printf("FAILED: %s\n", what);
    failures++;
}

/* ---- a trace by hand ------------------------------------------------------------------------------------------- */

static void put(struct text *to, uint64_t value)
{
    do {
        const char byte = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        text_append(to, &byte, 1);
    } while (value >>= 7);
}

static void put_string(struct text *to, const char *string)
{
    put(to, strlen(string));
    text_append(to, string, strlen(string));
}

static void put_chunk(struct text *to, char letter, struct text *content)
{
    text_append(to, &letter, 1);
    put(to, content->length);
    text_append(to, content->data, content->length);
    content->length = 0;
}

static void put_counters(struct text *to, const uint64_t *counters)
{
    for (int i = 0; i < TRACE_COUNTED; i++) put(to, counters[i]);
}

/* A load of 32 floats side by side, the same again 128 bytes further on, a barrier of two warps, a named barrier. */
static void put_events(struct text *to)
{
    put(to, TRACE_WARP), put(to, 1);
    put(to, TRACE_LANES), put(to, 0);
    put(to, TRACE_READ), put(to, TRACE_GLOBAL), put(to, 4), put(to, UINT32_MAX);
    put(to, 8), put(to, 31); /* 4 bytes further, 31 times */
    put(to, 2 * (1 << 20));
    put(to, 3), put(to, 1), put(to, 4); /* a request, four sectors */
    put(to, TRACE_LANES | TRACE_SAME | TRACE_SAME_COST), put(to, 0), put(to, 256);
    put(to, TRACE_BARRIER), put(to, 1), put(to, 3);
    put(to, TRACE_MEET), put(to, 1), put(to, TRACE_NAMED_ARRIVE + 5), put(to, UINT32_MAX);
    put(to, TRACE_MARK), put(to, 1), put(to, TRACE_WAIT), put(to, 1), put(to, 7);
    put(to, TRACE_NAMED), put(to, 5), put(to, 2);
    put(to, TRACE_LANDED), put(to, 1), put(to, 64), put(to, TRACE_SHARED), put(to, 0);
}

static const uint64_t counted[TRACE_COUNTED] = {2, 8, 0, 0, 0, 0, 0, 0, 3};

static struct text make_trace(const char *file)
{
    struct text trace = {0}, chunk = {0}, events = {0};
    text_append(&trace, TRACE_MAGIC, strlen(TRACE_MAGIC));
    for (uint64_t site = 0; site < 2; site++) {
        put(&chunk, site), put_string(&chunk, site ? "__syncthreads" : ""), put(&chunk, 1);
        put_string(&chunk, file), put(&chunk, 10 + site);
        put_chunk(&trace, TRACE_SITE, &chunk);
    }
    put_string(&chunk, "kernel");
    for (int i = 0; i < 6; i++) put(&chunk, i == 3 ? 64 : 1);
    put(&chunk, 0), put_counters(&chunk, counted);
    put_chunk(&trace, TRACE_LAUNCH, &chunk);
    put_events(&events);
    put(&chunk, 0), put(&chunk, TRACE_FIRST), put(&chunk, 0), put_counters(&chunk, counted);
    put(&chunk, events.length), text_append(&chunk, events.data, events.length);
    put_chunk(&trace, TRACE_BLOCK, &chunk);
    put_string(&chunk, "shared-race"), put_string(&chunk, "a race");
    put(&chunk, 1), put(&chunk, TRACE_SHARED), put(&chunk, 0), put(&chunk, 4);
    for (uint64_t thread = 5; thread < 64; thread += 32) /* site, block, thread, access */
        put(&chunk, 1), put(&chunk, 0), put(&chunk, thread), put(&chunk, TRACE_READ);
    put_chunk(&trace, TRACE_FINDING, &chunk);
    text_free(&events);
    text_free(&chunk);
    return trace;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static void test_reading(void)
{
    struct text bytes = make_trace("a.cu");
    struct trace trace;
    struct trace_counters sum = {{0}};
    expect(trace_read((const unsigned char *)bytes.data, bytes.length, &trace) == 0, "a trace is read");
    expect(trace.launch_count == 1 && strcmp(trace.launches[0].kernel, "kernel") == 0, "it has a launch");
    expect(trace.file_count == 1 && strcmp(trace.files[0], "a.cu") == 0, "a file is named once");
    expect(trace.launches[0].block_count == 1 && trace_blocks_of(&trace.launches[0]) == 1,
           "it has its block");
    const struct trace_launch *launch = &trace.launches[0];
    expect(launch->finding_count == 1 && launch->found_count == 2, "it has a finding of two threads");
    expect(launch->found[0].thread == 37 && launch->found[1].thread == 5,
           "the one that acted last comes first");
    expect(trace_add_events(&trace.launches[0].blocks[0], &sum) == 0, "events are read");
    expect(memcmp(sum.value, counted, sizeof counted) == 0, "events add up to the counters");
    trace_free(&trace);
    text_free(&bytes);
}

/* Whatever the bytes are, reading ends, inside of them. The copies have their exact size, for AddressSanitizer. */
static void test_damage(void)
{
    struct text bytes = make_trace("a.cu");
    size_t refused = 0;
    for (size_t at = 0; at < bytes.length; at++) {
        for (int how = 0; how < 4; how++) {
            const size_t size = how == 0 ? at : bytes.length;
            unsigned char *copy = must_allocate(size + 1);
            struct trace trace;
            memcpy(copy, bytes.data, size);
            if (how == 1) copy[at] = 0xff;
            if (how == 2) copy[at] ^= 0x41;
            if (how == 3) copy[at] = 0;
            int damaged = trace_read(copy, size, &trace);
            for (size_t i = 0; damaged == 0 && i < trace.launch_count; i++)
                for (size_t k = 0; k < trace.launches[i].block_count; k++) {
                    struct trace_counters sum = {{0}};
                    damaged |= trace_add_events(&trace.launches[i].blocks[k], &sum);
                }
            refused += damaged != 0;
            trace_free(&trace);
            free(copy);
        }
    }
    expect(refused > bytes.length, "most damaged traces are refused");
    text_free(&bytes);
}

/* ---- a page ------------------------------------------------------------------------------------------------------ */

static const char *after(const char *page, const char *what)
{
    const char *at = strstr(page, what);
    return at != NULL ? at + strlen(what) : NULL;
}

static int value_of(char digit)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = digit ? strchr(digits, digit) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* What is between the tags of the element that begins before @p at. */
static struct text decode(const char *at)
{
    struct text bytes = {0};
    unsigned bits = 0, count = 0;
    for (; *at != '<'; at++) {
        if (*at == '=') continue;
        bits = bits << 6 | (unsigned)value_of(*at);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        const char byte = (char)(bits >> count);
        text_append(&bytes, &byte, 1);
    }
    return bytes;
}

/* Elements are closed in the order in which they were opened; the text of scripts and styles has no tags. */
static int is_well_formed(const char *page)
{
    char open[16][16];
    int depth = 0;
    for (const char *at = page; (at = strchr(at, '<')) != NULL;) {
        char name[16] = "";
        if (at[1] == '!') {
            at++;
            continue;
        }
        if (sscanf(at, "</%15[a-z]>", name) == 1) {
            if (depth == 0 || strcmp(open[--depth], name) != 0) return 0;
            at++;
            continue;
        }
        if (sscanf(at, "<%15[a-z]", name) != 1) return 0;
        at++;
        if (strcmp(name, "meta") == 0) continue;
        if (depth == 16) return 0;
        snprintf(open[depth++], sizeof open[0], "%s", name);
        if (strcmp(name, "script") == 0 || strcmp(name, "style") == 0) {
            char end[24];
            snprintf(end, sizeof end, "</%s>", name);
            at = strstr(at, end);
            if (at == NULL) return 0;
        }
    }
    return depth == 0;
}

static void test_page(void)
{
    static const char source[] = "// a comment that says </script> and <!--\n";
    const char *path = "unit_trace_source.cu", *data;
    struct text bytes = make_trace(path), page = {0};
    struct trace trace;
    expect(write_file(path, source, sizeof source - 1) == 0, "the source is written");
    expect(trace_read((const unsigned char *)bytes.data, bytes.length, &trace) == 0, "the trace is read");
    struct trace_shown shown[2] = {{.name = "one", .trace = &trace, .count = 1},
                                   {.name = "two", .trace = &trace}};
    trace_write_page("<title> & \"more\"", shown, 2, &page);
    expect(is_well_formed(page.data), "the page is well formed");
    expect(strstr(page.data, "<title>&lt;title&gt; &amp;") != NULL, "the title is escaped");
    expect(strstr(page.data, "says \\u003c/script\\u003e and") != NULL,
           "the source is there, and ends no script");
    expect(strstr(page.data, "http") == strstr(page.data, "http-equiv"), "nothing is loaded");
    data = after(page.data, "id=\"trace0\">");
    struct text first = decode(data), second = decode(after(page.data, "id=\"trace1\">"));
    expect(first.length == bytes.length && memcmp(first.data, bytes.data, bytes.length) == 0,
           "the trace is in the page");
    struct trace empty;
    expect(trace_read((const unsigned char *)second.data, second.length, &empty) == 0 &&
               empty.launch_count == 0,
           "launches that are not shown are left out");
    remove(path);
    trace_free(&trace);
    trace_free(&empty);
    text_free(&first);
    text_free(&second);
    text_free(&bytes);
    text_free(&page);
}

/* Blocks that do not fit are left out as a whole, and counted. */
static void test_limit(void)
{
    struct text bytes = {0}, chunk = {0}, page = {0}, events = {0};
    struct trace trace;
    text_append(&bytes, TRACE_MAGIC, strlen(TRACE_MAGIC));
    put_string(&chunk, "kernel");
    for (int i = 0; i < 6; i++) put(&chunk, i == 0 ? 6 : 1);
    put(&chunk, 0), put_counters(&chunk, counted);
    put_chunk(&bytes, TRACE_LAUNCH, &chunk);
    while (events.length < TRACE_BLOCK_BYTES) put_events(&events);
    for (uint64_t block = 0; block < 6; block++) {
        put(&chunk, block), put(&chunk, TRACE_CHOSEN), put(&chunk, 0), put_counters(&chunk, counted);
        put(&chunk, events.length), text_append(&chunk, events.data, events.length);
        put_chunk(&bytes, TRACE_BLOCK, &chunk);
    }
    expect(trace_read((const unsigned char *)bytes.data, bytes.length, &trace) == 0, "a large trace is read");
    struct trace_shown shown = {.name = "large", .trace = &trace, .count = 1};
    trace_write_page("large", &shown, 1, &page);
    expect(page.length <= TRACE_PAGE_BYTES, "a page has at most 20 MB");
    expect(shown.blocks_left_out == 4, "blocks that do not fit are counted");
    expect(strstr(page.data, "\"blocksLeftOut\": 4") != NULL, "and the page says so");
    trace_free(&trace);
    text_free(&page);
    text_free(&events);
    text_free(&chunk);
    text_free(&bytes);
}

int main(void)
{
    test_reading();
    test_damage();
    test_page();
    test_limit();
    if (failures == 0) printf("traces: all right\n");
    return failures != 0;
}
