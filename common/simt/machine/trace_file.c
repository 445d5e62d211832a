/**
 * @file trace_file.c
 * @brief Writes the file that SIMT_TRACE names, launch by launch.
 */
#include "arena.h"
#include "image.h"
#include "lines.h"
#include "machine.h"
#include "record/words.h"
#include "settings.h"
#include "tools.h"
#include "trace.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *file;
static size_t sites_written;
static struct vector findings_file; /* bytes: chunks of the launch that ran last */

/* ---- chunks --------------------------------------------------------------------------------------------- */

static void add(struct vector *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) *(uint8_t *)simt_vector_grow(to, 1) = (uint8_t)(value | 0x80);
    *(uint8_t *)simt_vector_grow(to, 1) = (uint8_t)value;
}

static void add_bytes(struct vector *to, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) *(uint8_t *)simt_vector_grow(to, 1) = ((const uint8_t *)bytes)[i];
}

static void add_text(struct vector *to, const char *text)
{
    add(to, strlen(text));
    add_bytes(to, text, strlen(text));
}

static void add_counters(struct vector *to, const struct counters *c)
{
    for (int i = 0; i < TRACE_COUNTED; i++) add(to, ((const uint64_t *)c)[i]);
}

static void write_chunk(enum trace_chunk letter, struct vector *content)
{
    struct vector head = {0};
    *(uint8_t *)simt_vector_grow(&head, 1) = (uint8_t)letter;
    add(&head, content->count);
    fwrite(head.data, 1, head.count, file);
    fwrite(content->data, 1, content->count, file);
    free(head.data);
    content->count = 0;
}

/* ---- what they hold --------------------------------------------------------------------------------------- */

static void write_sites(struct vector *chunk)
{
    const struct traced_site *sites = simt_traced.sites.data;
    struct vector pcs = {0};
    for (size_t i = sites_written; i < simt_traced.sites.count; i++)
        if (sites[i].pc != 0) *(uint32_t *)simt_vector_grow(&pcs, sizeof(uint32_t)) = sites[i].pc;
    simt_lines_load(pcs.data, pcs.count); /* all of them in one go */
    free(pcs.data);
    for (; sites_written < simt_traced.sites.count; sites_written++) {
        const struct traced_site *s = &sites[sites_written];
        struct simt_site line[TRACE_FRAMES];
        int lines = 1;
        if (s->site != NULL)
            line[0] = simt_site_found(s->site);
        else
            lines = simt_line_places(s->pc, line, TRACE_FRAMES);
        if (s->site != NULL && (line[0].file == NULL || line[0].line == 0)) lines = 0;
        add(chunk, sites_written);
        add_text(chunk, s->site != NULL ? s->site->what : "");
        add(chunk, (uint64_t)lines);
        for (int i = 0; i < lines; i++) {
            add_text(chunk, line[i].file);
            add(chunk, (uint64_t)line[i].line);
        }
        write_chunk(TRACE_SITE, chunk);
    }
}

static void write_launch(const struct simt_launch *launch, const struct counters *sum, struct vector *chunk)
{
    const struct simt_extent shapes[] = {launch->grid, launch->block};
    add_text(chunk, launch->kernel);
    for (int i = 0; i < 2; i++) {
        add(chunk, shapes[i].x);
        add(chunk, shapes[i].y);
        add(chunk, shapes[i].z);
    }
    add(chunk, launch->dynamic_shared_bytes);
    add_counters(chunk, sum);
    write_chunk(TRACE_LAUNCH, chunk);
}

static void write_range(enum trace_space space, const char *name, uintptr_t start, size_t bytes,
                        const struct simt_shape *shape, struct vector *chunk)
{
    add(chunk, (uint64_t)space);
    add_text(chunk, name);
    add(chunk, start);
    add(chunk, bytes);
    add(chunk, shape != NULL ? shape->element_bytes : 0);
    add(chunk, shape != NULL ? (uint64_t)shape->rank : 0);
    for (int i = 0; shape != NULL && i < shape->rank; i++) add(chunk, shape->extent[i]);
    write_chunk(TRACE_RANGE, chunk);
}

static void write_ranges(const struct simt_launch *launch, struct vector *chunk)
{
    const struct traced_range *range = simt_traced.ranges.data;
    for (size_t i = 0; i < simt_traced.ranges.count; i++) {
        const struct traced_range *r = &range[i];
        if (r->symbol != NULL) {
            write_range(r->space, r->symbol->name, r->start, r->end - r->start,
                        simt_shape_of_symbol(r->symbol), chunk);
            continue;
        }
        struct simt_shape shape;
        const char *name = simt_arena_describe(r->start, &shape);
        write_range(r->space, name, ARENA_BASE + r->start, r->end - r->start,
                    shape.element_bytes > 0 && shape.row_bytes == 0 ? &shape : NULL, chunk);
    }
    if (launch->dynamic_shared_bytes > 0 && simt_traced.dynamic_name != NULL) {
        const struct simt_shape shape = {.element_bytes = simt_traced.dynamic_element_bytes};
        write_range(TRACE_DYNAMIC, simt_traced.dynamic_name, 0, launch->dynamic_shared_bytes, &shape, chunk);
    }
}

static void write_blocks(struct vector *chunk)
{
    struct traced_block *block = simt_traced.blocks.data;
    for (size_t i = 0; i < simt_traced.blocks.count; i++) {
        add(chunk, block[i].block);
        add(chunk, block[i].why);
        add(chunk, block[i].left_out);
        add_counters(chunk, &block[i].counters);
        add(chunk, block[i].events.count);
        add_bytes(chunk, block[i].events.data, block[i].events.count);
        write_chunk(TRACE_BLOCK, chunk);
        free(block[i].events.data);
    }
}

/* ---- findings --------------------------------------------------------------------------------------------- */

static void begin_finding(struct vector *chunk, const char *kind, const char *text, uint64_t seen)
{
    add_text(chunk, kind);
    add_text(chunk, text);
    add(chunk, seen);
}

static void add_actor(struct vector *chunk, const struct actor *a, bool of_this_launch)
{
    const bool there = a->access != 0 && of_this_launch;
    add(chunk, there ? 1 + simt_trace_site(a->pc, a->pc != 0 ? NULL : a->site) : 0);
    add(chunk, there ? a->block : 0);
    add(chunk, there ? a->thread : 0);
    add(chunk, there ? a->access : 0);
}

static void end_finding(struct vector *chunk)
{
    struct vector head = {0};
    add(&head, chunk->count);
    *(uint8_t *)simt_vector_grow(&findings_file, 1) = TRACE_FINDING;
    add_bytes(&findings_file, head.data, head.count);
    add_bytes(&findings_file, chunk->data, chunk->count);
    free(head.data);
    free(chunk->data);
}

void simt_trace_finding(const struct finding *f, const struct record *record)
{
    static const enum trace_space spaces[] = {[PLACE_ARENA] = TRACE_GLOBAL,
                                              [PLACE_DATA] = TRACE_VARIABLE,
                                              [PLACE_SHARED] = TRACE_SHARED,
                                              [PLACE_DYNAMIC] = TRACE_DYNAMIC};
    char text[RECORD_REPORT];
    struct vector chunk = {0};
    const enum trace_space space = f->place < PLACE_COUNT ? spaces[f->place] : TRACE_NOWHERE;
    record_print(record, text, sizeof text);
    begin_finding(&chunk, record_kind_name(record->kind), text, record->seen);
    add(&chunk, (uint64_t)space);
    add(&chunk, space == TRACE_GLOBAL ? ARENA_BASE + f->where : f->where);
    add(&chunk, f->bytes);
    for (int i = 0; i < 2; i++)
        add_actor(&chunk, &f->actor[i], i > 0 || f->earlier == NULL); /* earlier: of a launch that is over */
    end_finding(&chunk);
}

/* The last write of the element that was asked for. */
static void add_last_write(void)
{
    static const struct actor nobody;
    struct vector chunk = {0};
    if (simt_traced.wrote.access == 0) return;
    begin_finding(&chunk, TRACE_LAST_WRITE, simt_settings.element, 1);
    add(&chunk, TRACE_GLOBAL);
    add(&chunk, ARENA_BASE + simt_traced.element);
    add(&chunk, simt_traced.element_bytes);
    add_actor(&chunk, &nobody, false);
    add_actor(&chunk, &simt_traced.wrote, true);
    end_finding(&chunk);
}

void simt_trace_write(const struct simt_launch *launch, const struct counters *sum)
{
    struct vector chunk = {0};
    if (file == NULL) {
        file = fopen(simt_settings.trace, "wbe");
        if (file == NULL) simt_die("cannot write the trace to %s.", simt_settings.trace);
        fputs(TRACE_MAGIC, file);
    }
    add_last_write();
    write_sites(&chunk);
    write_launch(launch, sum, &chunk);
    write_ranges(launch, &chunk);
    write_blocks(&chunk);
    fwrite(findings_file.data, 1, findings_file.count, file);
    fflush(file);
    free(chunk.data);
    findings_file.count = simt_traced.blocks.count = simt_traced.ranges.count = 0;
    simt_traced.found = false;
    simt_traced.wrote.access = 0;
    simt_traced.dynamic_name = NULL;
    simt_traced.launches++;
}
