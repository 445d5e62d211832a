/**
 * @file checker_tables.c
 * @brief Tables of cases: every lesson's is sound, and each mistake that a table can hold is named.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checker/promises/promises.h"
#include "checker/cases/case_table.h"
#include "checker/verdict/check.h"

static int failures;

static void expect(int holds, const char *what, const char *told)
{
    if (holds) return;
    failures++;
    printf("FAIL %s: %s\n", what, told);
}

static void try_lessons(void)
{
    static struct lesson_case cases[CHECK_CASES];
    for (const struct lesson *const *at = lesson_table; *at != NULL; at++) {
        char why[VERDICT_TEXT] = "";
        int count = promises_cases(*at, cases, CHECK_CASES);
        expect(case_table_check(*at, cases, count, CHECK_CASES, why, sizeof why) == 0, (*at)->topic, why);
    }
}

/* ---- each mistake, in a table that is sound but for it ---------------------------------------------------- */

enum { BROKEN = 5 }; /* the case that each of these breaks */

static void same_name(struct lesson_case *cases)
{
    memcpy(cases[BROKEN].name, cases[BROKEN - 1].name, LESSON_NAME);
}

static void other_part(struct lesson_case *cases)
{
    memcpy(cases[BROKEN].name, "nopart/one", sizeof "nopart/one");
}

static void no_name(struct lesson_case *cases)
{
    strchr(cases[BROKEN].name, '/')[1] = '\0';
}

static void odd_letter(struct lesson_case *cases)
{
    strchr(cases[BROKEN].name, '/')[1] = 'X';
}

static void cut_off(struct lesson_case *cases)
{
    size_t length = strlen(cases[BROKEN].name);
    memset(cases[BROKEN].name + length, 'x', LESSON_NAME - 1 - length);
    cases[BROKEN].name[LESSON_NAME - 1] = '\0';
}

static void no_device(struct lesson_case *cases)
{
    cases[BROKEN].devices = 0;
}

static void odd_device(struct lesson_case *cases)
{
    cases[BROKEN].devices = 8;
}

static void negative_weight(struct lesson_case *cases)
{
    cases[BROKEN].weight = -1;
}

static void odd_flag(struct lesson_case *cases)
{
    cases[BROKEN].flags |= CASE_ALL_FLAGS + 1;
}

static void odd_distribution(struct lesson_case *cases)
{
    cases[BROKEN].distribution = 1000;
}

static void odd_group(struct lesson_case *cases)
{
    cases[BROKEN].group = GROUP_COUNT;
}

static void odd_part(struct lesson_case *cases)
{
    cases[BROKEN].part = LESSON_PARTS;
}

static void no_items(struct lesson_case *cases)
{
    cases[BROKEN].repeat = 0;
}

static void odd_status(struct lesson_case *cases)
{
    cases[BROKEN].expected = KERNEL_NOT_STARTED;
}

static void odd_null(struct lesson_case *cases)
{
    cases[BROKEN].null_buffer = WIRE_BUFFERS;
}

static void odd_misaligned(struct lesson_case *cases)
{
    cases[BROKEN].misaligned_buffer = WIRE_BUFFERS;
}

static void odd_untouched(struct lesson_case *cases)
{
    cases[BROKEN].untouched = 1u << 31;
}

static void odd_neighbour(struct lesson_case *cases)
{
    cases[BROKEN].beside = CHECK_CASES;
}

static void worth_nothing(struct lesson_case *cases)
{
    for (int i = 0; i < CHECK_CASES; i++)
        if (cases[i].part == 1) cases[i].weight = 0;
}

static void try_mistakes(void)
{
    static const struct {
        void (*make)(struct lesson_case *cases);
        const char *says;
    } rows[] = {{same_name, "another case has the same name"},
                {other_part, "does not begin with its part's"},
                {no_name, "it has no name"},
                {odd_letter, "small letters"},
                {cut_off, "does not fit"},
                {no_device, "no device"},
                {odd_device, "no such device"},
                {negative_weight, "weight is negative"},
                {odd_flag, "flag"},
                {odd_distribution, "distribution"},
                {odd_group, "no such group"},
                {odd_part, "no such part"},
                {no_items, "no items"},
                {odd_status, "status"},
                {odd_null, "null buffer"},
                {odd_misaligned, "misaligned buffer"},
                {odd_untouched, "untouched buffer"},
                {odd_neighbour, "beside it"},
                {worth_nothing, "no case with a weight on simt"}};
    static struct lesson_case cases[CHECK_CASES];
    const struct lesson *lesson = lesson_table[0];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char why[VERDICT_TEXT] = "nothing", where[LESSON_NAME + 8];
        memset(cases, 0, sizeof cases);
        int count = promises_cases(lesson, cases, CHECK_CASES);
        rows[i].make(cases);
        int found = case_table_check(lesson, cases, count, CHECK_CASES, why, sizeof why) != 0;
        snprintf(where, sizeof where, "case %s", cases[BROKEN].name);
        int placed =
            strstr(why, "lesson 01") != NULL && (rows[i].make == worth_nothing || strstr(why, where) != NULL);
        expect(found && strstr(why, rows[i].says) != NULL && placed, rows[i].says, why);
    }
    char why[VERDICT_TEXT] = "nothing";
    int count = promises_cases(lesson, cases, CHECK_CASES / 4), small = CHECK_CASES / 4;
    int found = case_table_check(lesson, cases, count, small, why, sizeof why) != 0;
    expect(found && strstr(why, "do not fit") != NULL, "a table that is too small", why);
}

/* A case that is derived from one that is not there ends the program instead of vanishing. */
static void try_base(void)
{
    static struct lesson_case cases[CHECK_CASES];
    int status = 0, count = promises_cases(lesson_table[0], cases, CHECK_CASES);
    expect(case_table_find(cases, count, cases[3].name) == &cases[3], "case_table_find", "another case");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) != NULL) (void)case_table_find(cases, count, "scores/misspelt");
        _exit(0);
    }
    expect(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 2,
           "case_table_find", "a misspelt base is accepted");
}

static void try_names(void)
{
    static struct lesson_case cases[CHECK_CASES];
    const char *near[3];
    int count = promises_cases(lesson_table[0], cases, CHECK_CASES);
    expect(case_table_near(cases, count, "causal_6", near, 3) == 3 && strstr(near[0], "causal_6") != NULL,
           "case_table_near", near[0]);
    expect(case_table_near(cases, count, "scroes/tiny", near, 1) == 1 && strcmp(near[0], "scores/tiny") == 0,
           "case_table_near", near[0]);
    expect(case_table_near(cases, count, "qzqzqz", near, 3) == 0, "case_table_near", "anything is near");
}

/* Of one element of @p buffer: guesses that say the same are told as one, and others are not. */
static void try_guesses_of(const struct lesson *lesson, const struct lesson_case *item,
                           const float *const *data, int buffer, size_t at)
{
    enum { MOST = 700 };
    static struct lesson_guess said[MOST];
    for (int index = 0; index < MOST; index++) {
        struct lesson_guess *guess = &said[index];
        *guess = (struct lesson_guess){.told = index, .cause = RECORD_CAUSE_GUESS};
        const int known = lesson->guess(item, data, index, buffer, at, guess);
        if (known < 0) return;
        if (known == 0) guess->words[0] = '\0';
        if (guess->words[0] == '\0') continue;
        expect(!guess->votes || index < CHECK_GUESSES, item->name, "a guess is not voted on");
        expect(guess->cause != RECORD_NO_CAUSE_KNOWN, item->name, guess->words);
        if (guess->cause == RECORD_CAUSE_PARTIALS)
            guess->words[0] = '\0'; /* it says how many, which is not what is told as one */
        for (int i = 0; i < index && guess->words[0] != '\0'; i++)
            if (said[i].words[0] != '\0')
                expect((said[i].told == guess->told) == (strcmp(said[i].words, guess->words) == 0),
                       item->name, guess->words);
    }
}

static void try_guesses(void)
{
    enum { FEW = 6, SMALL = 20000 };
    static struct lesson_case cases[CHECK_CASES];
    for (const struct lesson *const *at = lesson_table; *at != NULL; at++) {
        const struct lesson *lesson = *at;
        int count = lesson->guess != NULL ? promises_cases(lesson, cases, CHECK_CASES) : 0,
            tried[LESSON_PARTS] = {0};
        for (int c = 0; c < count; c++) {
            struct lesson_buffer shape[WIRE_BUFFERS] = {0};
            float *data[WIRE_BUFFERS] = {NULL};
            size_t elems = 0;
            if (cases[c].expected != KERNEL_OK || cases[c].repeat > 1 || tried[cases[c].part] >= FEW)
                continue;
            int buffers = lesson->buffers(&cases[c], shape);
            for (int b = 0; b < buffers; b++) elems += lesson_elems(&shape[b]);
            if (elems > SMALL) continue;
            tried[cases[c].part]++;
            for (int b = 0; b < buffers; b++) {
                struct rng rng = {(uint64_t)b + 1};
                if (shape[b].role != WIRE_IN && shape[b].role != WIRE_INOUT) continue;
                data[b] = calloc(lesson_elems(&shape[b]) + 1, sizeof *data[b]);
                if (data[b] == NULL) exit(2);
                lesson->fill(&cases[c], b, lesson_elems(&shape[b]), &rng, data[b]);
            }
            for (int b = 0; b < buffers; b++)
                if ((shape[b].role == WIRE_OUT || shape[b].role == WIRE_INOUT) && lesson_elems(&shape[b]) > 0)
                    try_guesses_of(lesson, &cases[c], (const float *const *)data, b,
                                   lesson_elems(&shape[b]) / 2);
            for (int b = 0; b < buffers; b++) free(data[b]);
        }
    }
}

int main(void)
{
    try_lessons();
    try_guesses();
    try_mistakes();
    try_base();
    try_names();
    printf("checker_tables: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
