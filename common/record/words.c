/**
 * @file words.c
 * @brief A record as English text: the headline, who did what where, who waits, what to do.
 */
#include "words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Text that grows until it is full. */
struct out {
    char *text;
    size_t size, used;
};

static struct out out_of(char *text, size_t size)
{
    if (size > 0) text[0] = '\0';
    return (struct out){text, size, 0};
}

static void put_text(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put_text(struct out *out, const char *format, ...)
{
    va_list arguments;
    if (out->used + 1 >= out->size) return;
    va_start(arguments, format);
    int length = vsnprintf(out->text + out->used, out->size - out->used, format, arguments);
    va_end(arguments);
    out->used += length > 0 ? (size_t)length : 0;
    if (out->used >= out->size) out->used = out->size - 1;
}

/* ---- places --------------------------------------------------------------------------------------------- */

static int is_known_line(const struct record_line *line)
{
    return line->file[0] != '\0' || line->address != 0;
}

static void put_line(struct out *out, const struct record_line *line)
{
    if (line->file[0] != '\0' && line->line > 0)
        put_text(out, "%s:%d", line->file, (int)line->line);
    else if (line->file[0] != '\0')
        put_text(out, "%s", line->file);
    else if (line->address != 0)
        put_text(out, "address 0x%" PRIx64 " (no line known: is addr2line, of binutils, installed?)",
                 line->address);
    else
        put_text(out, "an unknown place");
}

static void put_frames(struct out *out, const struct record_line *at)
{
    put_line(out, &at[0]);
    for (int i = 1; i < RECORD_FRAMES && is_known_line(&at[i]); i++) {
        put_text(out, ", called from ");
        put_line(out, &at[i]);
    }
}

void record_print_line(const struct record_line *line, char *text, size_t size)
{
    struct out out = out_of(text, size);
    put_line(&out, line);
}

/* ---- memory --------------------------------------------------------------------------------------------- */

static void put_index(struct out *out, const struct record_memory *m)
{
    for (int axis = 0; axis < m->rank; axis++)
        put_text(out, "%s%" PRId64, axis == 0 ? "[" : m->subscripts ? "][" : ",", m->index[axis]);
    if (m->rank > 0) put_text(out, "]");
}

/* "tile[8][59] (4 bytes)", "out[0,1,5,17] (4 bytes)", "workspace byte 12 (4 bytes)". */
static void put_element(struct out *out, const struct record_memory *m)
{
    put_text(out, "%s", m->buffer);
    if (m->rank == 0 && !m->subscripts) {
        put_text(out, " byte %" PRId64, m->index[0]);
    } else {
        put_index(out, m);
        if (m->byte > 0 || m->bytes < m->element) put_text(out, " byte %" PRIu64, m->byte);
    }
    put_text(out, " (%" PRIu64 " bytes)", m->bytes);
}

/* How far outside an access is, or that it is partly. */
static void put_border(struct out *out, const struct record_memory *m, const char *whose)
{
    const char *const freed = m->state == RECORD_STATE_FREED ? " freed" : "";
    if (m->before > 0)
        put_text(out, "%" PRIu64 " bytes before", m->before);
    else if (m->past > 0)
        put_text(out, "%" PRIu64 " bytes after the end of", m->past - 1);
    else
        put_text(out, "%s", m->crossing ? "across the end of" : "in");
    put_text(out, " %s%s %" PRIu64 " bytes", whose, freed, m->size);
}

/* Of a buffer that somebody allocated. */
static void put_allocation(struct out *out, const struct record_memory *m)
{
    const int outside = m->before > 0 || m->past > 0;
    if (m->state == RECORD_STATE_NOWHERE) {
        put_text(out, "device address 0x%" PRIx64 " (%" PRIu64 " bytes), in no allocation", m->address,
                 m->bytes);
    } else if (m->address != 0) {
        put_text(out, "%s[%" PRId64 "] (%" PRIu64 " bytes at 0x%" PRIx64 "), ",
                 m->buffer[0] != '\0' ? m->buffer : "device memory", m->index[0], m->bytes, m->address);
        put_border(out, m, "the");
        if (m->device > 0) put_text(out, " of device %d", (int)m->device - 1);
        if (!is_known_line(&m->made)) return;
        put_text(out, " made at ");
        put_line(out, &m->made);
    } else {
        if (outside && m->rank > 0)
            put_text(out, "element %" PRId64 " of %s (%" PRIu64 " bytes)", m->index[0], m->buffer, m->bytes);
        else
            put_element(out, m);
        if (!outside && !m->crossing && m->state == RECORD_STATE_LIVE) return;
        put_text(out, ", ");
        put_border(out, m, "its");
    }
}

static void put_variable(struct out *out, const struct record_memory *m)
{
    if (m->buffer[0] == '\0') {
        put_text(out, "memory before the first variable (%" PRIu64 " bytes)", m->bytes);
        return;
    }
    put_element(out, m);
    if (m->past > 0)
        put_text(out, ", %" PRIu64 " bytes after the end of its %" PRIu64 " bytes,", m->past - 1, m->size);
    else if (m->crossing)
        put_text(out, ", across the end of its %" PRIu64 " bytes,", m->size);
}

static void put_memory(struct out *out, const struct record_memory *m)
{
    switch (m->space) {
    case RECORD_SPACE_GLOBAL:
        put_allocation(out, m);
        break;
    case RECORD_SPACE_VARIABLE:
    case RECORD_SPACE_SHARED:
    case RECORD_SPACE_DYNAMIC:
        put_variable(out, m);
        break;
    case RECORD_SPACE_LOCAL:
        put_text(out, "local memory");
        break;
    case RECORD_SPACE_HOST:
        put_text(out, "an address of the host (%" PRIu64 " bytes)", m->bytes);
        break;
    case RECORD_SPACE_UNKNOWN:
        put_text(out, "address 0x%" PRIx64, m->address);
        if (m->state == RECORD_STATE_NOWHERE)
            put_text(out, ", which is not device memory");
        else
            put_text(out, " (%" PRIu64 " bytes)", m->bytes);
        break;
    default:
        break;
    }
}

void record_print_memory(const struct record_memory *memory, char *text, size_t size)
{
    struct out out = out_of(text, size);
    put_memory(&out, memory);
}

/* ---- who waits where -------------------------------------------------------------------------------------- */

static void put_coordinates(struct out *out, const uint32_t at[3])
{
    put_text(out, "(%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")", at[0], at[1], at[2]);
}

static int is_place(const struct record_wait *w)
{
    return w->waiting == RECORD_WAIT_BARRIER || w->waiting == RECORD_WAIT_MASK ||
           w->waiting == RECORD_WAIT_NAMED;
}

/* "32 threads at __syncthreads (a.cu:10, first thread (0,0,0))" for each place. */
static void put_waits(struct out *out, const struct record *r)
{
    const struct record_wait *before = NULL;
    uint32_t places = 0;
    for (int i = 0; i < RECORD_WAITS; i++) {
        const struct record_wait *w = &r->wait[i];
        if (!is_place(w)) continue;
        const int moved = w->elsewhere && (before == NULL || !before->elsewhere ||
                                           memcmp(before->block, w->block, sizeof w->block) != 0);
        if (moved) {
            put_text(out, "; in block ");
            put_coordinates(out, w->block);
            put_text(out, ": ");
        } else if (places > 0) {
            put_text(out, ", ");
        }
        put_text(out, "%" PRIu32 " thread%s at %s", w->count, w->count == 1 ? "" : "s", w->name);
        if (w->waiting == RECORD_WAIT_MASK) put_text(out, " with mask 0x%08" PRIx32, w->number[0]);
        put_text(out, " (");
        if (w->waiting == RECORD_WAIT_NAMED)
            put_text(out, "barrier %" PRIu32 ", %" PRIu32 " of %" PRIu32 " have come; ", w->number[0],
                     w->number[1], w->number[2]);
        put_line(out, &w->at);
        put_text(out, ", first thread ");
        put_coordinates(out, w->thread);
        put_text(out, ")");
        before = w;
        places++;
    }
    if (r->waits > places) put_text(out, ", and at %" PRIu32 " more places", r->waits - places);
}

static void put_mbarrier(struct out *out, const struct record_wait *w)
{
    const uint32_t *n = w->number;
    put_text(out, "\n  mbarrier %s", w->name);
    if (w->index >= 0) put_text(out, w->is_byte ? " byte %" PRId64 : "[%" PRId64 "]", w->index);
    put_text(out,
             " is in phase %" PRIu32 " (parity %" PRIu32
             ", for which a wait lasts until it ends; one for %" PRIu32 " is over at once): %" PRIu32
             " of %" PRIu32 " arrivals are missing",
             n[0], n[0] & 1, ~n[0] & 1, n[1], n[2]);
    if (n[3] != 0 || n[4] != 0) put_text(out, ", %" PRIu32 " bytes came of %" PRIu32 " expected", n[3], n[4]);
    if (n[5] & RECORD_MBARRIER_SURPLUS) put_text(out, " (bytes that came in an earlier phase count)");
    if (n[5] & RECORD_MBARRIER_UNTOUCHED) put_text(out, "; nobody has arrived yet");
    if (w->count == 0) return;
    put_text(out, "; %" PRIu32 " thread%s wait%s for it", w->count, w->count == 1 ? "" : "s",
             w->count == 1 ? "s" : "");
    if (is_known_line(&w->at)) {
        put_text(out, " at ");
        put_line(out, &w->at);
    }
    put_text(out, ", the first is ");
    put_coordinates(out, w->thread);
}

static const char *word_of(const char *const *words, size_t count, uint32_t number)
{
    return number < count ? words[number] : "?";
}

/* What a rank calls. */
static void put_rank(struct out *out, const struct record_wait *w)
{
    static const char *const types[] = {"",         "int8",       "uint8",     "int32",   "uint32",
                                        "int64",    "uint64",     "float16",   "float32", "float64",
                                        "bfloat16", "float8e4m3", "float8e5m2"};
    static const char *const operations[] = {"", "sum", "product", "maximum", "minimum", "average"};
    static const char *const directions[] = {"", "to", "from"};
    const uint32_t *n = w->number;
    put_text(out, "\n  rank %" PRIu32 ": %s", n[0], w->name);
    if (n[1] > 0)
        put_text(out, " of %" PRId64 " %s", w->index, word_of(types, sizeof types / sizeof types[0], n[1]));
    if (n[2] > 0) put_text(out, ", %s", word_of(operations, sizeof operations / sizeof operations[0], n[2]));
    if (n[3] > 0) put_text(out, ", root %" PRIu32, n[3] - 1);
    if (n[5] > 0)
        put_text(out, " %s rank %" PRIu32,
                 word_of(directions, sizeof directions / sizeof directions[0], n[5]), n[4] - 1);
    put_text(out, " at ");
    put_line(out, &w->at);
}

static void put_absent(struct out *out, const struct record_wait *w)
{
    static const char *const why[] = {
        [RECORD_ABSENT_SILENT] = "has not called",
        [RECORD_ABSENT_UNMADE] = "has not come to make its communicator",
        [RECORD_ABSENT_DESTROYED] = "has destroyed its communicator",
        [RECORD_ABSENT_SAME_THREAD] = "is called for by the host thread that waits here",
        [RECORD_ABSENT_THREAD_ENDED] = "was called for by a host thread that has ended",
        [RECORD_ABSENT_ELSEWHERE] = "waits elsewhere",
    };
    put_text(out, "\n  rank %" PRIu32 " %s", w->number[0],
             word_of(why, sizeof why / sizeof why[0], w->number[1]));
}

/* What stands on lines of its own of those that wait. */
static void put_waiting(struct out *out, const struct record *r)
{
    int mbarriers = 0, ranks = 0;
    for (int i = 0; i < RECORD_WAITS; i++) {
        const struct record_wait *w = &r->wait[i];
        if (w->waiting == RECORD_WAIT_MBARRIER) put_mbarrier(out, w);
        if (w->waiting == RECORD_WAIT_RANK) put_rank(out, w);
        if (w->waiting == RECORD_WAIT_ABSENT) put_absent(out, w);
        mbarriers += w->waiting == RECORD_WAIT_MBARRIER;
        ranks += w->waiting == RECORD_WAIT_RANK || w->waiting == RECORD_WAIT_ABSENT;
    }
    if (ranks > 0 && (uint32_t)ranks < r->waits)
        put_text(out, "\n  and %" PRIu32 " more ranks", r->waits - (uint32_t)ranks);
    if (mbarriers > 0 && r->number[0] > 0)
        put_text(out, "\n  %" PRId64 " of the block's %" PRId64 " threads have ended, and arrive no more",
                 r->number[0], r->number[1]);
}

/* ---- sentences ------------------------------------------------------------------------------------------- */

/* The alternative number @p which of "reads|writes}"; the last one for any larger number. */
static void put_choice(struct out *out, const char *from, const char *end, int64_t which)
{
    for (const char *bar; which > 0 && (bar = memchr(from, '|', (size_t)(end - from))) != NULL; which--)
        from = bar + 1;
    const char *bar = memchr(from, '|', (size_t)(end - from));
    put_text(out, "%.*s", (int)((bar != NULL ? bar : end) - from), from);
}

/* A place of a sentence, without its braces. */
static void put_part(struct out *out, const struct record *r, const char *part, const char *end)
{
    const size_t length = (size_t)(end - part);
    const unsigned index = length >= 2 ? (unsigned)(part[1] - '0') : RECORD_NUMBERS;
    if (length == 6 && memcmp(part, "memory", 6) == 0) {
        put_memory(out, &r->memory);
    } else if (length == 4 && memcmp(part, "note", 4) == 0) {
        put_text(out, "%s", r->note);
    } else if (length == 5 && memcmp(part, "waits", 5) == 0) {
        put_waits(out, r);
    } else if (length == 2 && memcmp(part, "at", 2) == 0) {
        put_frames(out, r->actor[1].at);
    } else if (part[0] == 's' && index < RECORD_NAMES) {
        put_text(out, "%s", r->name[index]);
    } else if (index < RECORD_NUMBERS && length > 2) {
        const int64_t n = r->number[index];
        put_choice(out, part + 3, end, part[2] == ':' ? n != 1 : n < 0 ? 0 : n);
    } else if (index < RECORD_NUMBERS && part[0] == 'n') {
        put_text(out, "%" PRId64, r->number[index]);
    } else if (index < RECORD_NUMBERS && part[0] == 'x') {
        put_text(out, "0x%08" PRIx32, (uint32_t)r->number[index]);
    } else if (index < RECORD_NUMBERS && part[0] == 't') {
        put_text(out, "%.3g", (double)r->number[index] / 1000);
    } else {
        put_text(out, "{%.*s}", (int)length, part);
    }
}

static void put_sentence(struct out *out, const struct record *r, const char *sentence)
{
    for (const char *at = sentence; *at != '\0';) {
        const char *open = strchr(at, '{'), *close = open != NULL ? strchr(open, '}') : NULL;
        put_text(out, "%.*s", (int)(close != NULL ? open - at : (ptrdiff_t)strlen(at)), at);
        if (close == NULL) return;
        put_part(out, r, open + 1, close);
        at = close + 1;
    }
}

/* ---- the whole ------------------------------------------------------------------------------------------- */

static void put_headline(struct out *out, const struct record *r)
{
    const char *words = record_message_words(r->message);
    if (words[0] != '\0' && words[0] != '+')
        put_sentence(out, r, words);
    else
        put_memory(out, &r->memory);
    if (r->kernel[0] != '\0') put_text(out, " in kernel %s", r->kernel);
}

static void put_actor(struct out *out, const struct record_actor *actor)
{
    static const char *const operations[RECORD_OPERATIONS] = {
        [RECORD_READ] = "read ", [RECORD_WRITE] = "write ", [RECORD_ATOMIC] = "atomic ", [RECORD_AT] = ""};
    put_text(out, "\n  %sby block ", word_of(operations, RECORD_OPERATIONS, (uint32_t)actor->operation));
    put_coordinates(out, actor->block);
    put_text(out, " thread ");
    put_coordinates(out, actor->thread);
    put_text(out, " at ");
    put_frames(out, actor->at);
    if (actor->kernel[0] != '\0') put_text(out, " of kernel %s, launched before", actor->kernel);
}

/* In a kernel, everybody; of host code, the line. */
static void put_actors(struct out *out, const struct record *r)
{
    if (r->kernel[0] == '\0') {
        if (!is_known_line(&r->actor[0].at[0])) return;
        put_text(out, "\n  at ");
        put_frames(out, r->actor[0].at);
        return;
    }
    for (int i = 0; i < 2; i++)
        if (r->actor[i].operation != RECORD_NO_OPERATION) put_actor(out, &r->actor[i]);
}

/* Of an address that is no multiple of what it has to be, whether its place in its row is one: then the row's, or the buffer's, is none. */
static void put_uneven(struct out *out, const struct record *r)
{
    const struct record_memory *m = &r->memory;
    if (m->rank < 2 || m->subscripts || m->element == 0 || m->bytes <= m->element) return;
    const uint64_t column = (uint64_t)m->index[m->rank - 1], bytes = column * m->element;
    if (bytes % m->bytes != 0)
        put_text(out,
                 ": %" PRIu64 " elements into its row lie %" PRIu64
                 " bytes, and that is none: is the tail of a row taken for a whole vector, or one size for "
                 "another?",
                 column, bytes);
    else
        put_text(
            out,
            ": its place in the row is one, so where the row or the buffer begins is none: is that asked "
            "before vectors are taken?");
}

static void put_details(struct out *out, const struct record *r)
{
    const char *words = record_message_words(r->message);
    const struct record_memory *m = &r->memory;
    if (m->blocks > 0) {
        put_text(out, "\n  in the shared memory of block ");
        put_coordinates(out, m->block);
        put_text(out, ", which has rank %" PRIu32 " in its cluster of %" PRIu32 " blocks", m->rank_of_block,
                 m->blocks);
    }
    if (words[0] == '+') {
        put_text(out, "\n  ");
        put_sentence(out, r, words + 1);
    }
    put_waiting(out, r);
    if (r->advice != RECORD_NO_ADVICE) put_text(out, "\n  %s", record_advice_words(r->advice));
    if (r->kind == RECORD_MISALIGNED && r->advice == RECORD_ADVICE_ALIGN) put_uneven(out, r);
    if (r->advice == RECORD_ADVICE_DEVICE_UNWRITTEN && strcmp(m->buffer, "workspace") == 0)
        put_text(
            out,
            ": the call's own kernels have to write what they read of its workspace. Is what pads a tile, "
            "or belongs to a part without work, written (as zeros), too?");
    if (r->seen > 1) put_text(out, "\n  seen %" PRIu64 " times", r->seen);
}

void record_headline(const struct record *record, char *text, size_t size)
{
    struct out out = out_of(text, size);
    put_headline(&out, record);
}

void record_print(const struct record *record, char *text, size_t size)
{
    struct out out = out_of(text, size);
    put_text(&out, "%s: ", record_kind_name(record->kind));
    put_headline(&out, record);
    put_actors(&out, record);
    put_details(&out, record);
}

void record_print_again(const struct record *record, uint64_t launches, uint64_t times, char *text,
                        size_t size)
{
    struct out out = out_of(text, size);
    const struct record_line *at = record->actor[record->actor[0].operation == RECORD_NO_OPERATION].at;
    put_text(&out, "the same %s", record_kind_name(record->kind));
    if (record->kernel[0] != '\0') put_text(&out, " in kernel %s", record->kernel);
    if (is_known_line(&at[0])) {
        put_text(&out, " at ");
        put_frames(&out, at);
    }
    if (record->kernel[0] != '\0')
        put_text(&out, " came in %" PRIu64 " later launches, %" PRIu64 " times", launches, times);
    else
        put_text(&out, " came %" PRIu64 " times more", times);
}
