/**
 * @file record.c
 * @brief Records: what of an untrusted one is refused, which read the same, and the words of every kind of the software device.
 *
 *     unit_record GOLDEN           compares with GOLDEN/KIND.txt
 *     unit_record GOLDEN --write   writes these files
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/words.h"

static int failures;

static void expect(int holds, const char *what, const char *told)
{
    if (holds) return;
    failures++;
    printf("FAIL %s: %s\n", what, told);
}

/* ---- a record with all fields -------------------------------------------------------------------------------- */

static struct record_line line_at(const char *file, int line)
{
    struct record_line at = {.line = line};
    record_copy_text(at.file, sizeof at.file, file);
    return at;
}

static struct record_actor actor_at(enum record_operation operation, unsigned thread, int line)
{
    struct record_actor actor = {.operation = operation, .block = {1, 2, 0}, .thread = {thread, 0, 0}};
    actor.at[0] = line_at("softmax.cu", line);
    actor.at[1] = line_at("softmax.cu", line + 40);
    return actor;
}

static struct record full_record(void)
{
    struct record r = {
        .version = RECORD_VERSION, .origin = RECORD_DEVICE, .kind = RECORD_SHARED_RACE, .seen = 12};
    record_copy_text(r.kernel, sizeof r.kernel, "softmax_kernel<64>");
    r.actor[0] = actor_at(RECORD_WRITE, 0, 21);
    r.actor[1] = actor_at(RECORD_READ, 33, 27);
    r.memory = (struct record_memory){.space = RECORD_SPACE_SHARED,
                                      .buffer = "tile",
                                      .rank = 2,
                                      .subscripts = 1,
                                      .index = {3, 5},
                                      .byte = 2,
                                      .element = 4,
                                      .bytes = 2,
                                      .size = 1024};
    r.wait[0] = (struct record_wait){
        .waiting = RECORD_WAIT_MASK, .count = 16, .number = {0xffff}, .name = "__shfl_sync"};
    r.wait[1] = (struct record_wait){.waiting = RECORD_WAIT_NAMED,
                                     .count = 1,
                                     .elsewhere = 1,
                                     .block = {1, 0, 0},
                                     .thread = {32, 0, 0},
                                     .number = {3, 32, 64},
                                     .name = "barrier.sync"};
    r.wait[2] = (struct record_wait){.waiting = RECORD_WAIT_MBARRIER,
                                     .count = 128,
                                     .thread = {128, 0, 0},
                                     .number = {3, 1, 2, 64, 128, RECORD_MBARRIER_SURPLUS},
                                     .index = 1,
                                     .name = "full"};
    for (int i = 0; i < 3; i++) r.wait[i].at = line_at("softmax.cu", 50 + i);
    r.waits = 4;
    r.value = (struct record_value){.expected = 1.0, .got = NAN, .share = NAN};
    for (int i = 0; i < RECORD_NUMBERS; i++) r.number[i] = i + 1;
    record_copy_text(r.name[0], sizeof r.name[0], "cudaMemcpyAsync");
    record_copy_text(r.name[1], sizeof r.name[1], "stream");
    record_copy_text(r.name[2], sizeof r.name[2], "third");
    record_copy_text(r.note, sizeof r.note, "count < limit");
    return r;
}

/* ---- soundness --------------------------------------------------------------------------------------------- */

#define FIELD(name)                                                                                          \
    {                                                                                                        \
#name, offsetof(struct record, name)                                                                 \
    }
static const struct {
    const char *name;
    size_t at;
} ranges[] = {
    FIELD(version),
    FIELD(origin),
    FIELD(kind),
    FIELD(message),
    FIELD(advice),
    FIELD(certainty),
    FIELD(cause),
    FIELD(guess),
    FIELD(actor[0].operation),
    FIELD(actor[1].operation),
    FIELD(actor[1].at[2].line),
    FIELD(memory.space),
    FIELD(memory.state),
    FIELD(memory.rank),
    FIELD(memory.subscripts),
    FIELD(memory.crossing),
    FIELD(memory.device),
    FIELD(memory.made.line),
    FIELD(wait[4].waiting),
    FIELD(wait[1].elsewhere),
    FIELD(wait[1].is_byte),
    FIELD(wait[0].at.line),
    FIELD(value.storage),
};
#define TEXT(name)                                                                                           \
    {                                                                                                        \
#name, offsetof(struct record, name), sizeof((struct record *)0)->name                               \
    }
static const struct {
    const char *name;
    size_t at, bytes;
} texts[] = {
    TEXT(kernel),          TEXT(note),
    TEXT(name[0]),         TEXT(name[2]),
    TEXT(memory.buffer),   TEXT(memory.made.file),
    TEXT(actor[0].kernel), TEXT(actor[1].at[1].file),
    TEXT(wait[2].name),    TEXT(wait[0].at.file),
};

static void try_soundness(void)
{
    const struct record good = full_record();
    expect(record_is_sound(&good), "a full record", "is refused");
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        static const int32_t wrong[] = {-1, INT_MIN};
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
            struct record bad = good;
            memcpy((char *)&bad + ranges[i].at, &wrong[k], sizeof wrong[k]);
            expect(!record_is_sound(&bad), ranges[i].name, "a negative number is accepted");
        }
    }
    static const struct {
        const char *name;
        size_t at;
        int32_t end;
    } ends[] = {
        {"version", offsetof(struct record, version), RECORD_VERSION + 1},
        {"origin", offsetof(struct record, origin), RECORD_ORIGINS},
        {"kind", offsetof(struct record, kind), RECORD_KIND_COUNT},
        {"no kind", offsetof(struct record, kind), RECORD_NO_KIND},
        {"message", offsetof(struct record, message), RECORD_MESSAGES},
        {"advice", offsetof(struct record, advice), RECORD_ADVICES},
        {"certainty", offsetof(struct record, certainty), RECORD_CERTAINTIES},
        {"operation", offsetof(struct record, actor[1].operation), RECORD_OPERATIONS},
        {"space", offsetof(struct record, memory.space), RECORD_SPACES},
        {"state", offsetof(struct record, memory.state), RECORD_STATES},
        {"rank", offsetof(struct record, memory.rank), RECORD_AXES + 1},
        {"waiting", offsetof(struct record, wait[4].waiting), RECORD_WAITINGS},
    };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct record bad = good;
        memcpy((char *)&bad + ends[i].at, &ends[i].end, sizeof ends[i].end);
        expect(!record_is_sound(&bad), ends[i].name, "the number behind the last one is accepted");
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct record bad = good;
        memset((char *)&bad + texts[i].at, 'x', texts[i].bytes);
        expect(!record_is_sound(&bad), texts[i].name, "a text without an end is accepted");
        for (const char *c = "\n\x1b\x7f\x9b"; *c != '\0'; c++) {
            bad = good;
            memset((char *)&bad + texts[i].at, 0, texts[i].bytes);
            *((char *)&bad + texts[i].at) = *c;
            expect(!record_is_sound(&bad), texts[i].name, "a control character is accepted");
        }
    }
}

static void try_copying(void)
{
    char text[6];
    record_copy_text(text, sizeof text, "a\nb\xc3\xa4 c");
    expect(strcmp(text, "a?b??") == 0, "a copied text", text);
}

/* ---- what reads the same ------------------------------------------------------------------------------------- */

static void try_same(void)
{
    const struct record a = full_record();
    struct record b = a;
    b.memory.index[0] = 7;
    b.actor[0].thread[0] = 64;
    expect(record_reads_the_same(&a, &b), "another element and thread", "is told twice");
    b.actor[0] = a.actor[1];
    b.actor[1] = a.actor[0];
    expect(record_reads_the_same(&a, &b), "a race the other way round", "is told twice");
    b.actor[1].at[1].line++;
    expect(!record_reads_the_same(&a, &b), "called from another line", "is not told");
    b = a;
    b.kind = RECORD_GLOBAL_RACE;
    expect(!record_reads_the_same(&a, &b), "another kind", "is not told");
    b = a;
    b.memory.space = RECORD_SPACE_DYNAMIC;
    expect(!record_reads_the_same(&a, &b), "another space", "is not told");
    b = a;
    b.message = RECORD_SAYS_ASSERT;
    expect(!record_reads_the_same(&a, &b), "another sentence", "is not told");
    b = a;
    b.kernel[0] = 'h';
    expect(!record_reads_the_same(&a, &b), "another kernel", "is not told");
}

/* ---- words ------------------------------------------------------------------------------------------------ */

static void try_tables(void)
{
    char report[RECORD_REPORT];
    for (int kind = RECORD_NO_KIND + 1; kind < RECORD_KIND_COUNT; kind++)
        expect((int)record_kind_of(record_kind_name(kind)) == kind, "a kind by its name",
               record_kind_name(kind));
    expect(record_kind_of("nonsense") == RECORD_NO_KIND, "an unknown name", "has a kind");
    for (int message = 1; message < RECORD_MESSAGES; message++) {
        struct record r = full_record();
        r.message = message;
        record_print(&r, report, sizeof report);
        snprintf(r.note, sizeof r.note, "message %d", message);
        expect(record_message_words(message)[0] != '\0', "no words for", r.note);
        expect(strpbrk(report, "{}|") == NULL, "an unknown place in", report);
    }
    for (int advice = 1; advice < RECORD_ADVICES; advice++)
        expect(record_advice_words(advice)[0] != '\0' && strchr(record_advice_words(advice), '{') == NULL,
               "no words for an advice after", record_advice_words(advice - 1));
    for (size_t size = 1; size < 600; size += 7) { /* cut anywhere, and nothing written behind */
        const struct record r = full_record();
        memset(report, 'x', sizeof report);
        record_print(&r, report, size);
        expect(strlen(report) < size && report[size] == 'x', "a cut report", report);
    }
}

/** What stands in the golden file of each kind. */
static const struct {
    enum record_kind kind;
    enum record_message message;
    enum record_advice advice;
    enum record_space space;
    int actors; /**< of a kernel; 0: host code */
} golden[] = {
    {RECORD_OUT_OF_BOUNDS, RECORD_SAYS_NOTHING, RECORD_ADVICE_DYNAMIC_BYTES, RECORD_SPACE_DYNAMIC, 1},
    {RECORD_MISALIGNED, RECORD_SAYS_NOTHING, RECORD_ADVICE_ALIGN, RECORD_SPACE_LOCAL, 1},
    {RECORD_UNINITIALIZED_READ, RECORD_SAYS_COPIES_UNWRITTEN, RECORD_NO_ADVICE, RECORD_SPACE_GLOBAL, 0},
    {RECORD_SHARED_RACE, RECORD_SAYS_NOTHING, RECORD_ADVICE_BARRIER, RECORD_SPACE_SHARED, 2},
    {RECORD_GLOBAL_RACE, RECORD_SAYS_NOTHING, RECORD_ADVICE_BLOCKS_WRITE, RECORD_SPACE_GLOBAL, 2},
    {RECORD_SAME_VALUE_RACE, RECORD_SAYS_NOTHING, RECORD_ADVICE_BARRIER, RECORD_SPACE_VARIABLE, 2},
    {RECORD_UNWRITTEN_BORDER, RECORD_SAYS_COPIES_UNWRITTEN, RECORD_NO_ADVICE, RECORD_SPACE_GLOBAL, 0},
    {RECORD_MISSING_WAIT, RECORD_SAYS_NOTHING, RECORD_ADVICE_COPY_WAIT, RECORD_SPACE_DYNAMIC, 2},
    {RECORD_DIVERGENT_BARRIER, RECORD_SAYS_WAIT_DIFFERENT, RECORD_ADVICE_SAME_BARRIER, RECORD_SPACE_NONE, 1},
    {RECORD_DEADLOCK, RECORD_SAYS_WAIT_FOR_EVER, RECORD_ADVICE_GPU_HANGS, RECORD_SPACE_NONE, 1},
    {RECORD_USE_AFTER_FREE, RECORD_SAYS_RANGE, RECORD_NO_ADVICE, RECORD_SPACE_GLOBAL, 0},
    {RECORD_HOST_POINTER, RECORD_SAYS_HOST_TOUCHES, RECORD_NO_ADVICE, RECORD_SPACE_VARIABLE, 0},
    {RECORD_HOST_WAIT, RECORD_SAYS_ENTRY_WAITS, RECORD_NO_ADVICE, RECORD_SPACE_NONE, 0},
    {RECORD_HOST_ALLOCATION, RECORD_SAYS_ENTRY_ALLOCATES, RECORD_NO_ADVICE, RECORD_SPACE_NONE, 0},
    {RECORD_WRONG_STREAM, RECORD_SAYS_OTHER_STREAM, RECORD_NO_ADVICE, RECORD_SPACE_NONE, 0},
    {RECORD_INPUT_WRITTEN, RECORD_SAYS_NOTHING, RECORD_ADVICE_INPUT, RECORD_SPACE_GLOBAL, 1},
    {RECORD_PADDING_WRITTEN, RECORD_SAYS_WRITES_KEPT, RECORD_NO_ADVICE, RECORD_SPACE_GLOBAL, 0},
    {RECORD_VARIABLE_WRITTEN, RECORD_SAYS_NOTHING, RECORD_ADVICE_VARIABLE, RECORD_SPACE_VARIABLE, 1},
    {RECORD_LEAK, RECORD_SAYS_OBJECTS_LEFT, RECORD_NO_ADVICE, RECORD_SPACE_NONE, 0},
    {RECORD_UNSUPPORTED, RECORD_SAYS_PTX, RECORD_NO_ADVICE, RECORD_SPACE_NONE, 1},
    {RECORD_ENDLESS, RECORD_SAYS_BLOCK_ENDLESS, RECORD_ADVICE_LOOP, RECORD_SPACE_NONE, 1},
    {RECORD_ASSERT, RECORD_SAYS_ASSERT, RECORD_NO_ADVICE, RECORD_SPACE_NONE, 1},
    {RECORD_BARRIER_PHASE, RECORD_SAYS_MBARRIER_ARRIVALS, RECORD_ADVICE_MBARRIER_COUNT, RECORD_SPACE_SHARED,
     1},
    {RECORD_BULK_GROUP, RECORD_SAYS_NOTHING, RECORD_ADVICE_BULK_SOURCE, RECORD_SPACE_SHARED, 2},
    {RECORD_MISSING_PROXY_FENCE, RECORD_SAYS_NOTHING, RECORD_ADVICE_PROXY_WRITE, RECORD_SPACE_SHARED, 2},
    {RECORD_MISSING_FENCE, RECORD_SAYS_PRODUCT_UNFENCED, RECORD_ADVICE_PRODUCT_FENCE, RECORD_SPACE_NONE, 1},
    {RECORD_CLUSTER_EXIT, RECORD_SAYS_NOTHING, RECORD_ADVICE_BLOCK_LEFT, RECORD_SPACE_SHARED, 1},
    {RECORD_TENSOR_MAP, RECORD_SAYS_NOTHING, RECORD_ADVICE_MAP_LOCAL, RECORD_SPACE_LOCAL, 1},
    {RECORD_WRONG_DEVICE, RECORD_SAYS_KERNEL_DEVICE, RECORD_ADVICE_PEER_ACCESS, RECORD_SPACE_GLOBAL, 1},
    {RECORD_STREAM_RACE, RECORD_SAYS_STREAM_USE, RECORD_NO_ADVICE, RECORD_SPACE_GLOBAL, 0},
    {RECORD_COLLECTIVE_MISMATCH, RECORD_SAYS_RANKS_DIFFER, RECORD_NO_ADVICE, RECORD_SPACE_NONE, 0},
    {RECORD_COLLECTIVE_HANG, RECORD_SAYS_RANKS_HANG, RECORD_ADVICE_SEND_GROUP, RECORD_SPACE_NONE, 0},
    {RECORD_TRAP, RECORD_SAYS_TRAP, RECORD_NO_ADVICE, RECORD_SPACE_NONE, 1},
};

/* Memory as each of these kinds has it: inside, past the end, freed, of another block. */
static void set_memory(struct record *r, enum record_space space)
{
    r->memory.space = (int32_t)space;
    if (r->kind == RECORD_OUT_OF_BOUNDS) r->memory.past = 1 + 8;
    if (r->kind == RECORD_CLUSTER_EXIT) r->memory.blocks = 4, r->memory.rank_of_block = 2;
    if (space != RECORD_SPACE_GLOBAL) return;
    r->memory.subscripts = 0;
    if (r->kind == RECORD_USE_AFTER_FREE) r->memory.state = RECORD_STATE_FREED;
    if (r->kind == RECORD_STREAM_RACE) r->memory.crossing = 1;
    if (r->kind != RECORD_UNINITIALIZED_READ) return;
    r->memory.address = 0x10000000290;
    r->memory.device = 2;
    r->memory.made = line_at("main.cu", 7);
}

static struct record golden_record(size_t row)
{
    struct record r = full_record();
    r.kind = golden[row].kind;
    r.message = golden[row].message;
    r.advice = golden[row].advice;
    set_memory(&r, golden[row].space);
    if (golden[row].actors < 2 && golden[row].actors > 0) r.actor[1] = (struct record_actor){0};
    if (golden[row].actors == 0) r.kernel[0] = '\0';
    if (golden[row].message >= RECORD_SAYS_RANKS_DIFFER && golden[row].message <= RECORD_SAYS_RANKS_HANG) {
        r.wait[0] = (struct record_wait){.waiting = RECORD_WAIT_RANK,
                                         .number = {0, 8, 1, 0, 2, 1},
                                         .index = 64,
                                         .name = "ncclSend",
                                         .at = line_at("ranks.cu", 9)};
        r.wait[1] =
            (struct record_wait){.waiting = RECORD_WAIT_ABSENT, .number = {1, RECORD_ABSENT_THREAD_ENDED}};
        r.wait[2] = (struct record_wait){0};
    } else if (golden[row].kind != RECORD_DEADLOCK && golden[row].kind != RECORD_DIVERGENT_BARRIER) {
        memset(r.wait, 0, sizeof r.wait);
    }
    return r;
}

static void read_golden(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "rb");
    size_t length = file != NULL ? fread(text, 1, size - 1, file) : 0;
    if (file != NULL) fclose(file);
    text[length] = '\0';
}

static void try_golden(const char *folder, int writes)
{
    int seen[RECORD_KIND_COUNT] = {0};
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        const struct record r = golden_record(i);
        char path[4096], report[RECORD_REPORT], text[RECORD_REPORT + 2], kept[RECORD_REPORT + 2];
        snprintf(path, sizeof path, "%s/%s.txt", folder, record_kind_name((int)golden[i].kind));
        record_print(&r, report, sizeof report);
        snprintf(text, sizeof text, "%s\n", report);
        seen[golden[i].kind] = 1;
        expect(record_is_sound(&r), "is refused", path);
        if (writes) {
            FILE *file = fopen(path, "wb");
            if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) exit(2);
            continue;
        }
        read_golden(path, kept, sizeof kept);
        expect(strcmp(text, kept) == 0, path, text);
    }
    for (int kind = RECORD_OUT_OF_BOUNDS; kind < RECORD_WRONG_VALUE; kind++)
        expect(seen[kind], "no golden file for", record_kind_name(kind));
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    try_soundness();
    try_copying();
    try_same();
    try_tables();
    try_golden(argv[1], argc == 3 && strcmp(argv[2], "--write") == 0);
    printf("record: %d failures\n", failures);
    return failures != 0;
}
