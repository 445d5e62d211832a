/**
 * @file report.c
 * @brief Findings become records: merged by the line they are about, and reported once for all launches.
 */
#include "report.h"
#include "arena.h"
#include "shadow.h"
#include "image.h"
#include "lines.h"
#include "names.h"
#include "record/words.h"
#include "settings.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PRINTED = 20 /* a launch */ };

/* ---- where records go ---------------------------------------------------------------------------------- */

static void (*sink)(const struct record *record);

void simt_record_sink(void (*take)(const struct record *record))
{
    sink = take;
}

/* A screen holds one report: on a terminal a later finding is a line. */
static void put_short(const struct record *record)
{
    char text[RECORD_REPORT], line[RECORD_REPORT];
    static bool hinted;
    record_headline(record, text, sizeof text);
    record_print_line(&record->actor[0].at[0], line, sizeof line);
    fprintf(stderr, "simt: also %s: %s at %s\n", record_kind_name(record->kind), text, line);
    if (!hinted) fputs("  (to read all of each: 2>FILE)\n", stderr);
    hinted = true;
}

void simt_record_put(const struct record *record)
{
    char text[RECORD_REPORT];
    static bool any;
    if (sink != NULL) {
        sink(record);
    } else if (any && isatty(STDERR_FILENO)) {
        put_short(record);
    } else {
        any = true;
        record_print(record, text, sizeof text);
        fprintf(stderr, "simt: %s\n", text);
    }
}

/* ---- what was accessed --------------------------------------------------------------------------------- */

/* An element of a variable, and how far outside if it is. Without a shape, the index counts what is accessed. */
static void resolve_variable(const char *name, const struct simt_shape *shape, const struct finding *f,
                             size_t offset, size_t size, struct record_memory *memory)
{
    const struct simt_shape unknown = {.element_bytes = f->bytes, .rank = 1, .extent = {1}};
    record_copy_text(memory->buffer, sizeof memory->buffer, name);
    simt_resolve_element(shape != NULL ? shape : &unknown, (ptrdiff_t)offset, f->bytes, memory);
    memory->size = size;
    memory->past = offset >= size ? offset - size + 1 : 0;
    memory->crossing = offset < size && offset + f->bytes > size;
}

static void resolve_symbol(const struct symbol *symbols, size_t count, const struct finding *f,
                           struct record_memory *memory)
{
    const struct symbol *symbol = simt_symbol_before(symbols, count, f->where);
    memory->bytes = f->bytes;
    if (symbol != NULL)
        resolve_variable(symbol->name, simt_shape_of_symbol(symbol), f, f->where - symbol->start,
                         symbol->bytes, memory);
}

static void resolve_dynamic(const struct finding *f, size_t size, struct record_memory *memory)
{
    const struct simt_shape shape = {.element_bytes = f->element_bytes, .rank = 1, .extent = {1}};
    resolve_variable(f->dynamic_name != NULL ? f->dynamic_name : "dynamic shared memory",
                     f->element_bytes > 0 ? &shape : NULL, f, f->where, size, memory);
}

/* Host addresses change from run to run, reports do not. */
static void resolve_address(const struct finding *f, struct record_memory *memory)
{
    const bool tells = f->where < 1 << 16 || f->where - ARENA_BASE / 2 < ARENA_BASE;
    memory->space = tells ? RECORD_SPACE_UNKNOWN : RECORD_SPACE_HOST;
    memory->bytes = f->bytes;
    memory->address = tells ? f->where : 0;
}

static struct simt_extent coordinates(uint64_t index, struct simt_extent shape)
{
    return (struct simt_extent){(unsigned)(index % shape.x), (unsigned)(index / shape.x % shape.y),
                                (unsigned)(index / shape.x / shape.y)};
}

static void put_extent(uint32_t to[3], struct simt_extent from)
{
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
}

static void resolve_memory(const struct finding *f, const struct simt_launch *launch,
                           struct record_memory *memory)
{
    static const enum record_space spaces[] = {[PLACE_DATA] = RECORD_SPACE_VARIABLE,
                                               [PLACE_SHARED] = RECORD_SPACE_SHARED,
                                               [PLACE_DYNAMIC] = RECORD_SPACE_DYNAMIC,
                                               [PLACE_LOCAL] = RECORD_SPACE_LOCAL,
                                               [PLACE_NONE] = RECORD_SPACE_NONE};
    memory->space = (int32_t)spaces[f->place];
    switch (f->place) {
    case PLACE_ARENA:
        simt_arena_resolve(f->where, f->bytes, memory);
        break;
    case PLACE_DATA:
        resolve_symbol(simt_image.device, simt_image.device_count, f, memory);
        break;
    case PLACE_SHARED:
        resolve_symbol(simt_image.shared, simt_image.shared_count, f, memory);
        break;
    case PLACE_DYNAMIC:
        resolve_dynamic(f, launch->dynamic_shared_bytes, memory);
        break;
    case PLACE_OTHER:
        resolve_address(f, memory);
        break;
    default:
        break;
    }
    if (f->owner_size == 0) return;
    memory->blocks = f->owner_size;
    memory->rank_of_block = f->owner_rank;
    put_extent(memory->block, coordinates(f->owner, launch->grid));
}

/* ---- who ----------------------------------------------------------------------------------------------- */

static enum record_operation operation_of(int access)
{
    if (access & SIMT_ATOMIC) return RECORD_ATOMIC;
    return access & SIMT_WRITE ? RECORD_WRITE : RECORD_READ;
}

static void resolve_place(const struct actor *actor, struct record_line *at)
{
    if (actor->site != NULL && (actor->pc == 0 || !simt_line_known(actor->pc)))
        at[0] = simt_site_line(actor->site);
    else
        simt_line_frames(actor->pc, at);
}

/* The student's lines among the calls that led to a fault. */
static void resolve_frames(const uint32_t *frame, struct record_line *at)
{
    int used = 0;
    for (int i = 0; i < FRAMES && frame[i] != 0 && used < RECORD_FRAMES; i++) {
        struct record_line lines[RECORD_FRAMES] = {0};
        if (!simt_line_known(frame[i])) continue;
        simt_line_frames(frame[i], lines);
        for (int k = 0; k < RECORD_FRAMES && lines[k].file[0] != '\0' && used < RECORD_FRAMES; k++)
            if (used == 0 || !record_same_line(&at[used - 1], &lines[k])) at[used++] = lines[k];
    }
}

static void resolve_actor(const struct finding *f, int which, const struct simt_launch *launch,
                          struct record_actor *to)
{
    const struct actor *actor = &f->actor[which];
    const struct simt_running *earlier = which == 0 ? f->earlier : NULL;
    const bool named = actor->site != NULL || f->frame[0] != 0;
    if (actor->access == 0) return;
    to->operation = (int32_t)(named ? RECORD_AT : operation_of(actor->access));
    put_extent(to->block, coordinates(actor->block, earlier != NULL ? earlier->grid : launch->grid));
    put_extent(to->thread, coordinates(actor->thread, earlier != NULL ? earlier->block : launch->block));
    if (f->frame[0] != 0)
        resolve_frames(f->frame, to->at);
    else
        resolve_place(actor, to->at);
    if (earlier != NULL) record_copy_text(to->kernel, sizeof to->kernel, earlier->kernel);
}

/* ---- records ------------------------------------------------------------------------------------------- */

static void resolve_words(const struct simt_words *words, struct record *r)
{
    memcpy(r->number, words->number, sizeof r->number);
    for (int i = 0; i < RECORD_NAMES; i++)
        if (words->name[i] != NULL) record_copy_text(r->name[i], sizeof r->name[i], words->name[i]);
    if (words->note != NULL) record_copy_text(r->note, sizeof r->note, words->note);
    if (words->memory != NULL) simt_device_resolve(words->memory, words->bytes, &r->memory);
    if (words->other != NULL) r->actor[1].at[0] = simt_site_line(words->other);
    simt_line_frames(words->other_pc, r->actor[1].at);
    if (words->waits > 0) memcpy(r->wait, words->wait, words->waits * sizeof *words->wait);
    r->waits = words->places;
}

/* Where nothing lies, the nearest buffer tells more than the address: the index may have overflowed on the way. */
static void resolve_near(const struct finding *f, struct record *r)
{
    int64_t meant;
    struct record_memory near;
    const int in_arena = f->place == PLACE_ARENA && r->memory.state == RECORD_STATE_NOWHERE;
    if (f->kind != RECORD_OUT_OF_BOUNDS || (f->advice != RECORD_ADVICE_NO_MEMORY && !in_arena)) return;
    const uintptr_t offset = in_arena ? f->where : f->where - ARENA_BASE;
    if (f->bytes == 0 || !simt_arena_resolve_near(offset, f->bytes, &near, &meant)) return;
    r->memory = near;
    if (f->message != RECORD_SAYS_NOTHING || meant < 0) return;
    r->message = RECORD_SAYS_INDEX_WRAPS;
    r->number[0] = meant;
    r->advice = RECORD_ADVICE_INDEX_WRAPS;
}

/* What lies before one buffer also lies past the end of another: nobody knows of which it was meant. */
static void resolve_between(const struct finding *f, struct record *r)
{
    enum { FAR = 4 };
    const int after = r->memory.past > 0;
    const size_t here = after ? r->memory.past : r->memory.before;
    size_t distance = 0;
    if (f->kind != RECORD_OUT_OF_BOUNDS || f->place != PLACE_ARENA || r->message != RECORD_SAYS_NOTHING ||
        here == 0)
        return;
    const char *name = simt_arena_beside(f->where, after, &distance);
    if (name == NULL || distance > FAR * here) return;
    r->message = RECORD_SAYS_ALSO_BESIDE;
    r->number[0] = (int64_t)distance, r->number[1] = after;
    record_copy_text(r->name[0], sizeof r->name[0], name);
}

static void resolve(const struct finding *f, const struct simt_launch *launch, struct record *r)
{
    *r = (struct record){.version = RECORD_VERSION,
                         .origin = RECORD_DEVICE,
                         .kind = (int32_t)f->kind,
                         .message = (int32_t)f->message,
                         .advice = (int32_t)f->advice,
                         .seen = f->seen};
    resolve_words(&f->words, r);
    if (launch == NULL) return;
    record_copy_text(r->kernel, sizeof r->kernel, launch->kernel);
    resolve_memory(f, launch, &r->memory);
    resolve_near(f, r);
    resolve_between(f, r);
    for (int i = 0; i < 2; i++) resolve_actor(f, i, launch, &r->actor[i]);
}

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

/* A race explains why the same line read what was not yet written. */
static bool explains(const struct record *race, const struct record *r)
{
    if (race->actor[1].operation == RECORD_NO_OPERATION || r->actor[1].operation != RECORD_NO_OPERATION)
        return false;
    if (r->kind != RECORD_UNINITIALIZED_READ || race->memory.space != r->memory.space) return false;
    return record_same_place(&race->actor[0], &r->actor[0]) ||
           record_same_place(&race->actor[1], &r->actor[0]);
}

/* Which findings come first: those of two threads of one warp after all others, since a GPU often runs lanes side by side; and last
 * what may have come of another finding: of a value that was not there yet, of an index made of it. */
static int rank_of(const struct finding *f)
{
    if (f->kind == RECORD_UNINITIALIZED_READ || f->kind == RECORD_OUT_OF_BOUNDS ||
        f->kind == RECORD_MISALIGNED)
        return 2;
    return f->actor[0].access != 0 && f->actor[1].access != 0 && !simt_finding_between_warps(f);
}

/* Those of one rank stay in their order. */
static void sort_by_rank(struct finding *f, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct finding one = f[i];
        size_t k = i;
        for (; k > 0 && rank_of(&f[k - 1]) > rank_of(&one); k--) f[k] = f[k - 1];
        f[k] = one;
    }
}

/* Leaves one of those that read the same, and none that another one explains. Returns how many remain. */
static int merge(struct record *r, size_t count)
{
    int different = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count && r[i].seen != 0; k++) {
            if (k < i && r[k].seen != 0 && record_reads_the_same(&r[k], &r[i])) {
                r[k].seen += r[i].seen;
                r[i].seen = 0;
            } else if (explains(&r[k], &r[i])) {
                r[i].seen = 0;
            }
        }
        different += r[i].seen != 0;
    }
    return different;
}

/* ---- what was reported before --------------------------------------------------------------------------- */

/** A finding that was printed. The same one of a later launch, or call, is only counted, and the counts are printed at the end. */
struct reported {
    struct record record;
    uint64_t launches, seen; /* later ones */
};
static struct reported reported[64];
static size_t reported_count;

static void print_counts(void)
{
    char text[RECORD_REPORT];
    for (size_t i = 0; i < reported_count; i++) {
        const struct reported *again = &reported[i];
        if (again->launches == 0) continue;
        record_print_again(&again->record, again->launches, again->seen, text, sizeof text);
        fprintf(stderr, "  %s\n", text);
    }
}

static bool is_reported(const struct record *record)
{
    if (simt_reports_all()) return false; /* each case of a lesson's check is told its own */
    for (size_t i = 0; i < reported_count; i++) {
        if (!record_reads_the_same(&reported[i].record, record)) continue;
        reported[i].launches++;
        reported[i].seen += record->seen;
        return true;
    }
    if (reported_count == sizeof reported / sizeof reported[0]) return false;
    if (reported_count == 0) atexit(print_counts);
    reported[reported_count++].record = *record;
    return false;
}

static void (*told)(const struct finding *finding, const struct record *record);

void simt_report_to(void (*take)(const struct finding *finding, const struct record *record))
{
    told = take;
}

/* ---- reporting ------------------------------------------------------------------------------------------ */

void simt_report(struct vector *list, const struct simt_launch *launch)
{
    struct finding *f = list->data;
    const size_t count = list->count;
    if (count == 0) return;
    sort_by_rank(f, count);
    load_lines(f, count);
    struct record *r = malloc(count * sizeof *r);
    if (r == NULL) simt_die("out of host memory.");
    for (size_t i = 0; i < count; i++) resolve(&f[i], launch, &r[i]);
    const int different = merge(r, count);
    simt_finding_count_more(different);
    flockfile(stderr);
    for (size_t i = 0, printed = 0; i < count && printed < PRINTED; i++) {
        if (r[i].seen != 0 && told != NULL) told(&f[i], &r[i]);
        if (r[i].seen == 0 || is_reported(&r[i])) continue;
        simt_record_put(&r[i]);
        printed++;
    }
    if (different > PRINTED && sink == NULL)
        fprintf(stderr, "simt: and %d more findings in kernel %s\n", different - PRINTED, launch->kernel);
    funlockfile(stderr);
    free(r);
    simt_finding_drop(list);
}

void simt_report_host(const struct finding *finding)
{
    struct record r;
    resolve(finding, NULL, &r);
    r.actor[0].operation = RECORD_AT;
    for (int i = 0; i < FRAMES && finding->frame[i] != 0; i++) {
        if (!simt_line_known(finding->frame[i])) continue;
        simt_line_frames(finding->frame[i],
                         r.actor[0].at); /* what called the entry point is not the student's */
        break;
    }
    simt_record_put(&r);
}

void simt_finding_advised(enum record_kind kind, const struct simt_site *site, enum record_message message,
                          enum record_advice advice, const struct simt_words *words)
{
    struct finding f = {.kind = kind, .message = message, .advice = advice, .seen = 1};
    struct record r;
    if (words != NULL) f.words = *words;
    resolve(&f, NULL, &r);
    if (site != NULL) r.actor[0].operation = RECORD_AT;
    if (site != NULL) r.actor[0].at[0] = simt_site_line(site);
    flockfile(stderr);
    if (site == NULL || !is_reported(&r)) simt_record_put(&r);
    funlockfile(stderr);
    simt_finding_count_more(1);
}

void simt_finding(enum record_kind kind, const struct simt_site *site, enum record_message message,
                  const struct simt_words *words)
{
    simt_finding_advised(kind, site, message, RECORD_NO_ADVICE, words);
}
