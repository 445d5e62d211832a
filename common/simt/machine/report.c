/**
 * @file report.c
 * @brief The findings of a launch, printed as sentences: merged by the line they are about, and told of one launch.
 */
#include "report.h"
#include "arena.h"
#include "finding.h"
#include "image.h"
#include "lines.h"
#include "machine.h"
#include "names.h"
#include "shadow.h"
#include "tools.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PRINTED = 20, /* a launch */
    TEXT = 640,
};

/* ---- wording ------------------------------------------------------------------------------------------ */

static const char *access_name(int access)
{
    if (access & SIMT_ATOMIC) return "atomic";
    return access & SIMT_WRITE ? "write" : "read";
}

/* "tile[8][59] (4 bytes)", and how far outside if it is. Without a shape, the index counts what is accessed. */
static void describe_variable(const char *name, const struct simt_shape *shape, const struct finding *f,
                              size_t offset, size_t size, char *text)
{
    const struct simt_shape unknown = {.element_bytes = f->bytes, .rank = 1, .extent = {1}};
    simt_print_element(name, shape != NULL ? shape : &unknown, (ptrdiff_t)offset, f->bytes, text, TEXT);
    const size_t n = strlen(text);
    if (offset >= size)
        snprintf(text + n, TEXT - n, ", %zu bytes after the end of its %zu bytes,", offset - size, size);
    else if (offset + f->bytes > size)
        snprintf(text + n, TEXT - n, ", across the end of its %zu bytes,", size);
}

static void describe_symbol(const struct symbol *symbols, size_t count, const struct finding *f, char *text)
{
    const struct symbol *symbol = simt_symbol_before(symbols, count, f->where);
    if (symbol != NULL)
        describe_variable(symbol->name, simt_shape_of_symbol(symbol), f, f->where - symbol->start,
                          symbol->bytes, text);
    else
        snprintf(text, TEXT, "memory before the first variable (%u bytes)", f->bytes);
}

static void describe_dynamic(const struct finding *f, size_t size, char *text)
{
    const struct simt_shape shape = {.element_bytes = f->element_bytes, .rank = 1, .extent = {1}};
    describe_variable(f->text != NULL ? f->text : "dynamic shared memory",
                      f->element_bytes > 0 ? &shape : NULL, f, f->where, size, text);
}

static void describe_place(const struct finding *f, const struct simt_launch *launch, char *text)
{
    switch (f->place) {
    case PLACE_ARENA:
        simt_arena_describe(f->where, f->bytes, text, TEXT);
        break;
    case PLACE_DATA:
        describe_symbol(simt_image.device, simt_image.device_count, f, text);
        break;
    case PLACE_SHARED:
        describe_symbol(simt_image.shared, simt_image.shared_count, f, text);
        break;
    case PLACE_DYNAMIC:
        describe_dynamic(f, launch->dynamic_shared_bytes, text);
        break;
    default:
        if (f->text != NULL)
            snprintf(text, TEXT, "%s", f->text);
        else if (f->where < 1 << 16 || f->where - ARENA_BASE / 2 < ARENA_BASE)
            snprintf(text, TEXT, "address 0x%zx (%u bytes)", f->where, f->bytes);
        else /* host addresses change from run to run, reports do not */
            snprintf(text, TEXT, "an address of the host (%u bytes)", f->bytes);
    }
}

static struct simt_extent coordinates(uint64_t index, struct simt_extent shape)
{
    return (struct simt_extent){(unsigned)(index % shape.x), (unsigned)(index / shape.x % shape.y),
                                (unsigned)(index / shape.x / shape.y)};
}

static void print_place(char *text, size_t size, const struct actor *actor)
{
    if (actor->site != NULL && (actor->pc == 0 || !simt_line_known(actor->pc))) {
        struct simt_site site = simt_site_found(actor->site);
        snprintf(text, size, "%s:%d", simt_short_path(site.file), site.line);
    } else {
        snprintf(text, size, "%s", simt_line_text(actor->pc));
    }
}

/* The student's lines among the calls that led to a fault. */
static void print_frames(char *text, size_t size, const uint32_t *frame)
{
    size_t n = 0;
    const char *last = "";
    snprintf(text, size, "an unknown place");
    for (int i = 0; i < FRAMES && frame[i] != 0; i++) {
        const char *line = simt_line_text(frame[i]);
        if (!simt_line_known(frame[i]) || strcmp(line, last) == 0) continue;
        n += (size_t)snprintf(text + n, size - n, "%s%s", n > 0 ? ", called from " : "", line);
        if (n >= size) return;
        last = line;
    }
}

static void print_actor(const struct finding *f, int which, const struct simt_launch *launch)
{
    char place[TEXT];
    const struct actor *actor = &f->actor[which];
    const struct simt_running *earlier = which == 0 ? f->earlier : NULL;
    const struct simt_extent block = coordinates(actor->block, earlier ? earlier->grid : launch->grid);
    const struct simt_extent thread = coordinates(actor->thread, earlier ? earlier->block : launch->block);
    if (f->frame[0] != 0)
        print_frames(place, sizeof place, f->frame);
    else
        print_place(place, sizeof place, actor);
    if (actor->site != NULL || f->frame[0] != 0)
        fputs("  by", stderr);
    else
        fprintf(stderr, "  %s by", access_name(actor->access));
    fprintf(stderr, " block (%u,%u,%u) thread (%u,%u,%u) at %s", block.x, block.y, block.z, thread.x,
            thread.y, thread.z, place);
    if (earlier != NULL) fprintf(stderr, " of kernel %s, launched before", earlier->kernel);
    fputc('\n', stderr);
}

static void print_finding(const struct finding *f, const struct simt_launch *launch)
{
    char text[TEXT];
    describe_place(f, launch, text);
    simt_finding_begin(f->kind);
    fprintf(stderr, "%s in kernel %s\n", text, launch->kernel);
    for (int i = 0; i < 2; i++)
        if (f->actor[i].access != 0) print_actor(f, i, launch);
    if (f->detail != NULL) fprintf(stderr, "  %s\n", f->detail);
    if (f->remark != NULL) fprintf(stderr, "  %s\n", f->remark);
    if (f->seen > 1) fprintf(stderr, "  seen %llu times\n", (unsigned long long)f->seen);
}

/* ---- printing ----------------------------------------------------------------------------------------- */

static void load_lines(const struct finding *f, size_t count)
{
    struct vector pcs = {0};
    for (size_t i = 0; i < count; i++) {
        for (int a = 0; a < 2; a++)
            if (f[i].actor[a].pc != 0)
                *(uint32_t *)simt_vector_grow(&pcs, sizeof(uint32_t)) = f[i].actor[a].pc;
        for (int k = 0; k < FRAMES && f[i].frame[k] != 0; k++)
            *(uint32_t *)simt_vector_grow(&pcs, sizeof(uint32_t)) = f[i].frame[k];
    }
    simt_lines_load(pcs.data, pcs.count);
    free(pcs.data);
}

static bool same_line(const struct actor *a, const struct actor *b)
{
    char x[TEXT], y[TEXT];
    if ((a->access == 0) != (b->access == 0)) return false;
    if (a->pc == b->pc && a->site == b->site) return true;
    print_place(x, sizeof x, a);
    print_place(y, sizeof y, b);
    return strcmp(x, y) == 0;
}

/* Whether two findings tell the reader the same: a race has no first and second. */
static bool reads_the_same(const struct finding *a, const struct finding *b)
{
    if (strcmp(a->kind, b->kind) != 0 || a->place != b->place) return false;
    if (same_line(&a->actor[0], &b->actor[0]) && same_line(&a->actor[1], &b->actor[1])) return true;
    return a->actor[1].access != 0 && same_line(&a->actor[0], &b->actor[1]) &&
           same_line(&a->actor[1], &b->actor[0]);
}

/* A race explains why the same line read what was not yet written. */
static bool explains(const struct finding *race, const struct finding *f)
{
    if (race->place != f->place || race->actor[1].access == 0 || f->actor[1].access != 0) return false;
    if (strcmp(f->kind, "uninitialized-read") != 0) return false;
    return same_line(&race->actor[0], &f->actor[0]) || same_line(&race->actor[1], &f->actor[0]);
}

/* Leaves one of those that read the same, and none that another one explains. Returns how many remain. */
static int merge(struct finding *f, size_t count)
{
    int different = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count && f[i].seen != 0; k++) {
            if (k < i && f[k].seen != 0 && reads_the_same(&f[k], &f[i])) {
                f[k].seen += f[i].seen;
                f[i].seen = 0;
            } else if (explains(&f[k], &f[i])) {
                f[i].seen = 0;
            }
        }
        different += f[i].seen != 0;
    }
    return different;
}

/* ---- what an earlier launch was told of ---------------------------------------------------------------- */

/** A finding that was printed. The same one of a later launch is only counted, and the counts are printed at the end. */
struct told {
    struct finding finding;
    const char *kernel;
    uint64_t launches, seen; /* later ones */
};
static struct told told[64];
static size_t told_count;

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void print_counts(void)
{
    char place[TEXT];
    for (size_t i = 0; i < told_count; i++) {
        const struct told *t = &told[i];
        const struct actor *actor = &t->finding.actor[t->finding.actor[0].access == 0];
        if (t->launches == 0) continue;
        fprintf(stderr, "  the same %s in kernel %s", t->finding.kind, t->kernel);
        if (actor->access != 0) {
            print_place(place, sizeof place, actor);
            fprintf(stderr, " at %s", place);
        }
        fprintf(stderr, " came in %llu later launches, %llu times\n", (unsigned long long)t->launches,
                (unsigned long long)t->seen);
    }
}

static bool is_told(const struct finding *f, const char *kernel)
{
    if (simt_reports_all()) return false; /* each case of a lesson's check is told its own */
    for (size_t i = 0; i < told_count; i++) {
        if (strcmp(told[i].kernel, kernel) != 0 || !reads_the_same(&told[i].finding, f) ||
            !same_text(told[i].finding.text, f->text))
            continue;
        told[i].launches++;
        told[i].seen += f->seen;
        return true;
    }
    if (told_count == sizeof told / sizeof told[0]) return false;
    if (told_count == 0) atexit(print_counts);
    struct told *t = &told[told_count++];
    t->finding = *f;
    t->finding.text = f->text != NULL ? strdup(f->text) : NULL;
    t->finding.detail = NULL;
    t->kernel = strdup(kernel);
    return false;
}

void simt_report(struct vector *list, const struct simt_launch *launch)
{
    struct finding *f = list->data;
    if (list->count == 0) return;
    load_lines(f, list->count);
    const int different = merge(f, list->count);
    simt_finding_told(different);
    flockfile(stderr);
    for (size_t i = 0, printed = 0; i < list->count && printed < PRINTED; i++) {
        if (f[i].seen == 0) continue;
        if (is_told(&f[i], launch->kernel)) continue;
        print_finding(&f[i], launch);
        printed++;
    }
    if (different > PRINTED)
        fprintf(stderr, "simt: and %d more findings in kernel %s\n", different - PRINTED, launch->kernel);
    funlockfile(stderr);
    simt_finding_drop(list);
}
