/**
 * @file judged_case.c
 * @brief A perfect kernel, by way of the oracle.
 */
#include "judged_case.h"

#include <stdlib.h>
#include <string.h>

#include "checker/report/report.h"
#include "checker/verdict/compare.h"
#include "checker/verdict/judge.h"

static void find_case(struct judged_case *c, const char *name)
{
    c->item->exit_code = -1;
    for (int i = 0; i < c->check->case_count; i++)
        if (strcmp(c->check->cases[i].name, name) == 0) c->item->case_index = i;
    c->item->settled = c->check->cases[c->item->case_index];
    expect(strcmp(c->item->settled.name, name) == 0, name, "no such case");
    c->item->settled.seed = 5;
    c->item->buffer_count = c->check->options.lesson->buffers(&c->item->settled, c->item->buffer);
    c->item->end = ITEM_ANSWERED;
}

void *copy_of(struct judged_case *c, int buffer, int run)
{
    return (void *)session_copy(&c->session, 0, buffer, run);
}

static void put_guards(struct judged_case *c, int b, int run)
{
    size_t guard = session_guard_bytes(&c->session), bytes = lesson_bytes(&c->item->buffer[b]);
    unsigned char *contents = copy_of(c, b, run);
    if (c->item->buffer[b].role == WIRE_WORKSPACE) bytes = 0;
    for (size_t at = 0; at < guard; at++) {
        contents[at - guard] = wire_guard_byte(c->item->guard_seed, 2 * (unsigned)b, at);
        contents[bytes + at] = wire_guard_byte(c->item->guard_seed, 2 * (unsigned)b + 1, at);
    }
}

/* What every buffer holds before a kernel writes to it. */
static void put_back(struct judged_case *c, int b, const float *input)
{
    const struct lesson_buffer *buffer = &c->item->buffer[b];
    for (int run = 0; run < (buffer->role == WIRE_IN ? 1 : 2); run++) {
        put_guards(c, b, run);
        if (buffer->role == WIRE_WORKSPACE) continue;
        uint32_t poison = session_poison(c->item, b, run);
        unsigned char *contents = copy_of(c, b, run);
        for (size_t at = 0; at < lesson_bytes(buffer); at++)
            contents[at] = (unsigned char)(poison >> 8 * (at % sizeof poison));
        for (size_t at = 0; input != NULL && at < lesson_elems(buffer); at++)
            storage_put(buffer->storage, contents, at, input[at]);
    }
}

static void answer_right(struct judged_case *c)
{
    const struct lesson *lesson = c->check->options.lesson;
    struct lesson_expectation e = {0};
    struct judged judged;
    double *memory = compare_expectation(&e, lesson->unit_elems(&c->item->settled));
    if (memory == NULL || judged_open(&judged, &c->session, 0) != 0) exit(2);
    for (int b = 0; b < c->item->buffer_count; b++) put_back(c, b, judged.inputs[b]);
    e.shared = compare_prepare(&judged);
    size_t units = c->item->settled.expected == KERNEL_OK ? lesson->units(&c->item->settled) : 0;
    for (size_t unit = 0; unit < units; unit++) {
        lesson->expect(&c->item->settled, judged.inputs, unit, &e);
        for (int s = 0; s < e.span_count; s++)
            for (size_t i = 0; i < e.span[s].count; i++)
                for (int run = 0; run < 2; run++)
                    storage_put(c->item->buffer[e.span[s].buffer].storage, copy_of(c, e.span[s].buffer, run),
                                e.span[s].first + i, (float)e.span[s].expected[i]);
    }
    judged_close(&judged);
    free(e.shared);
    free(e.kept);
    free(memory);
    struct wire_result *result = &session_case(&c->session, 0)->result;
    size_t workspace = lesson->workspace_bytes(&c->item->settled);
    result->workspace_asked = workspace == SIZE_MAX ? 0 : workspace;
    for (int run = 0; run < 2; run++) result->status[run] = (int32_t)c->item->settled.expected;
    memcpy(result->stamp, c->item->nonce, sizeof result->stamp);
}

static void open_on(struct judged_case *c, const struct lesson *lesson, const char *name, enum device device)
{
    *c = (struct judged_case){calloc(1, sizeof(struct check)), calloc(1, sizeof(struct item)), {0}};
    if (c->check == NULL || c->item == NULL) exit(2);
    c->check->options.lesson = lesson;
    c->check->options.device = device;
    c->check->case_count = lesson->cases(c->check->cases, CHECK_CASES);
    find_case(c, name);
    c->session = (struct session){.check = c->check, .item = c->item, .count = 1, .image = -1};
    if (session_open(&c->session) != 0) exit(2);
    answer_right(c);
}

void open_case(struct judged_case *c, const struct lesson *lesson, const char *name)
{
    open_on(c, lesson, name, DEVICE_SIMT);
}

void open_guarded_case(struct judged_case *c, const struct lesson *lesson, const char *name)
{
    open_on(c, lesson, name, DEVICE_GPU);
}

void close_case(struct judged_case *c)
{
    session_close(&c->session);
    free(c->item);
    free(c->check);
}

const struct verdict *judge_case(struct judged_case *c)
{
    judge_item(&c->session, 0);
    return &c->check->verdicts[c->item->case_index];
}

const char *headline_of(const struct verdict *verdict)
{
    static char text[VERDICT_TEXT];
    report_headline(verdict, text, sizeof text);
    return text;
}

const char *pattern_of(const struct verdict *verdict)
{
    static char text[2 * VERDICT_TEXT];
    report_pattern(verdict, text, sizeof text);
    return text;
}
