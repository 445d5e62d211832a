/* The words of every kind, variant and cause of the checker's records, held to golden/verdict_words.txt. After a sentence was
 * changed on purpose: unit_verdict_words --write GOLDEN. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contracts/kernel_status.h"
#include "record/causes.h"
#include "record/words.h"

static struct record record_of(enum record_kind kind, int variant)
{
    struct record record = {
        .version = RECORD_VERSION,
        .origin = RECORD_CHECKER,
        .kind = (int32_t)kind,
        .message = variant,
        .memory = {.buffer = "out", .rank = 4, .index = {0, 1, 64, 5}},
        .value = {.expected = -0.25, .got = 1.5, .share = 12.25, .wrong = 3, .compared = 100},
        .number = {11, 96, 1, 8, 65, 16},
        .real = {0.5, 2.0},
        .name = {"", "rows", "v"},
        .note = "NOTE"};
    return record;
}

/* A sentence that is that of the line before is left out. */
static void put(FILE *out, const char *name, const struct record *record, int is_cause)
{
    static char before[1024];
    char text[1024];
    (is_cause ? record_print_cause : record_verdict_headline)(record, text, sizeof text);
    if (strcmp(text, before) != 0) fprintf(out, "%-24s %s\n", name, text);
    snprintf(before, sizeof before, "%s", text);
}

/* Each kind with each of its variants. */
static void put_kinds(FILE *out)
{
    static const struct {
        enum record_kind kind;
        enum record_variant first, last;
    } VARIANTS[] = {
        {RECORD_TIME_LIMIT, RECORD_RAN_TOO_LONG, RECORD_OTHERS_TOO_LONG},
        {RECORD_MEMORY_LIMIT, RECORD_TOO_MUCH_MEMORY, RECORD_OTHERS_TOO_MUCH},
        {RECORD_CRASH, RECORD_BY_SIGNAL, RECORD_INCOMPLETE},
        {RECORD_WRONG_WORKSPACE, RECORD_STATUS_WORKSPACE, RECORD_ASKED_WORKSPACE},
        {RECORD_OWN_MEMORY, RECORD_CONSTANT_MEMORY, RECORD_VARIABLE_MEMORY},
        {RECORD_NEVER_WRITTEN, RECORD_NEVER, RECORD_NOT_WHERE_ANY_PLACE},
        {RECORD_RUNS_DIFFER, RECORD_TWO_RUNS, RECORD_TWO_RUNS_WATCHED},
        {RECORD_WROTE_OUTSIDE, RECORD_BEFORE_START, RECORD_BETWEEN_ROWS},
        {RECORD_WROTE_REFUSED, RECORD_CALL_REFUSED, RECORD_OUTPUT_UNASKED},
        {RECORD_TIMED_CALL, RECORD_NO_OTHER_INPUTS, RECORD_TIMED_OTHER_RESULT},
        {RECORD_BROKEN_CHECK, RECORD_NOTHING_TO_AGREE, RECORD_BROKEN_FOR},
    };
    for (int kind = RECORD_WRONG_VALUE; kind < RECORD_KIND_COUNT; kind++) {
        int first = RECORD_ANY_VARIANT, last = RECORD_ANY_VARIANT;
        for (size_t i = 0; i < sizeof VARIANTS / sizeof VARIANTS[0]; i++)
            if ((int)VARIANTS[i].kind == kind) first = (int)VARIANTS[i].first, last = (int)VARIANTS[i].last;
        for (int variant = first; variant <= last; variant++) {
            struct record record = record_of((enum record_kind)kind, variant);
            if (kind == RECORD_WRONG_STATUS) record.number[RECORD_N_FIRST] = KERNEL_INVALID_CONFIG;
            if (kind == RECORD_WRONG_STATUS) record.number[RECORD_N_SECOND] = KERNEL_OK;
            if (kind == RECORD_SEEN_BEFORE) record.origin = RECORD_DEVICE;
            put(out, record_kind_name(kind), &record, 0);
        }
    }
}

static void put_special(FILE *out)
{
    struct record record = record_of(RECORD_WRONG_VALUE, RECORD_ANY_VARIANT);
    record.value.got = NAN;
    record.value.share = NAN;
    put(out, "NaN", &record, 0);
    record.value = (struct record_value){.expected = 33554433, .got = 33554434, .storage = RECORD_WHOLE};
    snprintf(record.name[RECORD_NAME_FIELD], RECORD_TEXT, "l");
    put(out, "a field, whole numbers", &record, 0);
    record.number[RECORD_N_OTHER_INPUTS] = 1;
    put(out, "other inputs", &record, 0);
    record = record_of(RECORD_SHARED_RACE, 0);
    record.origin = RECORD_DEVICE;
    put(out, "of the device", &record, 0);
    record = record_of(RECORD_DEPENDS_ON_OUTPUT, RECORD_ANY_VARIANT);
    record.note[0] = '\0';
    put(out, "the usual question", &record, 0);
    record = record_of(RECORD_LARGE_ERROR, RECORD_ANY_VARIANT);
    record.value.storage = RECORD_SHORT_FLOAT;
    put(out, "stored so", &record, 0);
}

static void put_causes(FILE *out)
{
    for (int cause = RECORD_NO_CAUSE_KNOWN + 1; cause < RECORD_CAUSE_COUNT; cause++) {
        if (cause > RECORD_CAUSE_GUESS && cause < RECORD_CAUSE_ROUNDING)
            continue; /* guesses have their own words */
        struct record record = record_of(RECORD_WRONG_VALUE, RECORD_ANY_VARIANT);
        record.cause = cause;
        record.guess = cause == RECORD_CAUSE_GUESS;
        record.number[RECORD_N_FIRST] = KERNEL_INVALID_CONFIG;
        put(out, record_cause_name(cause), &record, 1);
        /* The other form of those that have two. */
        record.note[0] = '\0';
        memset(&record.number[RECORD_N_FROM], 0,
               sizeof record.number - RECORD_N_FROM * sizeof record.number[0]);
        if (record.guess == 0) put(out, "", &record, 1);
    }
    struct record record = record_of(RECORD_WRONG_VALUE, RECORD_ANY_VARIANT);
    record.note[0] = '\0'; /* else it is what is said */
    for (int status = KERNEL_INVALID_DIMENSION; status <= KERNEL_ALIGNMENT_ERROR; status++) {
        record.cause = RECORD_CAUSE_VALID_REFUSED;
        record.number[RECORD_N_FIRST] = status;
        put(out, kernel_status_name((enum kernel_status)status), &record, 1);
    }
    record = record_of(RECORD_WRONG_VALUE, RECORD_ANY_VARIANT);
    for (int apart = 1; apart <= 2; apart++) {
        record.cause = RECORD_CAUSE_COLUMNS_EXCHANGED;
        record.number[RECORD_N_FROM] = apart;
        put(out, "columns", &record, 1);
    }
    for (int zero = RECORD_ZERO_OF_KEYS; zero <= RECORD_ZERO_OF_ANY; zero++) {
        record.cause = RECORD_CAUSE_NAN_LOST;
        record.number[RECORD_N_FROM] = zero;
        put(out, "nan-lost", &record, 1);
    }
    static const int64_t parts[] = {RECORD_PART_OF(2, 1, 0), RECORD_PART_OF(2, 1, 1),
                                    RECORD_PART_OF(16, 8, 0), RECORD_PART_OF(128, 64, 1)};
    record_copy_text(record.name[RECORD_NAME_AXIS], RECORD_TEXT, "row");
    for (int which = 0; which < 4; which++) {
        record.cause = which == 0 ? RECORD_CAUSE_EVERY_SECOND : RECORD_CAUSE_NAN_LOST;
        record.number[RECORD_N_NEIGHBOURS] = parts[which];
        put(out, "neighbours", &record, 1);
    }
}

/* The first line that is not as it was. */
static int compare(const char *got, const char *golden)
{
    int line = 1;
    for (; *got != '\0' && *got == *golden; got++, golden++) line += *got == '\n';
    if (*got == *golden) return 0;
    printf("line %d of the words is not that of the golden file, from \"%.60s\" on: \"%.60s\"\n", line,
           golden, got);
    return 1;
}

int main(int argc, char **argv)
{
    static char golden[65536];
    char *text = NULL;
    size_t size = 0;
    if (argc < 2) return 2;
    FILE *out = open_memstream(&text, &size), *file = fopen(argv[argc - 1], argc > 2 ? "w" : "r");
    if (out == NULL || file == NULL) return 2;
    put_kinds(out);
    put_special(out);
    put_causes(out);
    fclose(out);
    if (argc > 2)
        fputs(text, file);
    else
        golden[fread(golden, 1, sizeof golden - 1, file)] = '\0';
    fclose(file);
    int failed = argc > 2 ? 0 : compare(text, golden);
    free(text);
    for (int cause = 1; cause < RECORD_CAUSE_COUNT; cause++) {
        if ((int)record_cause_of(record_cause_name(cause)) == cause) continue;
        printf("%s is the name of two causes\n", record_cause_name(cause));
        failed = 1;
    }
    if (!failed) printf("every kind and cause has the words that it had\n");
    return failed;
}
