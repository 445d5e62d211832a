/**
 * @file profile_checker.c
 * @brief Measures the time of inputs, bitwise comparison and oracle, case by case, summed over all threads.
 */
#include "profile_checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compare.h"
#include "record/words.h"

enum phase { INPUTS, BITS, VALUES, PHASES, SHOWN = 12 };

static double spent[CHECK_CASES][PHASES];

double profile_checker_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void put_guards(const struct session *session, int index, int b, int run)
{
    const struct item *item = &session->item[index];
    size_t guard = session_guard_bytes(session), bytes = lesson_bytes(&item->buffer[b]);
    unsigned char *contents = (unsigned char *)session_copy(session, index, b, run);
    if (item->buffer[b].role == WIRE_WORKSPACE) bytes = 0;
    for (size_t at = 0; at < guard; at++) {
        contents[at - guard] = wire_guard_byte(item->guard_seed, 2 * (unsigned)b, at);
        contents[bytes + at] = wire_guard_byte(item->guard_seed, 2 * (unsigned)b + 1, at);
    }
}

/* Fills in what a runner would have left. */
static void play(struct session *session, int index)
{
    const struct item *item = &session->item[index];
    const struct wire_case *wire = session_case(session, index);
    for (int b = 0; b < item->buffer_count; b++) {
        enum wire_role role = item->buffer[b].role;
        for (int run = 0; run < (role == WIRE_IN ? 1 : 2); run++) put_guards(session, index, b, run);
        if (role == WIRE_IN)
            memcpy((void *)session_copy(session, index, b, 0),
                   (unsigned char *)session->header + wire->buffer[b].contents,
                   lesson_bytes(&item->buffer[b]));
        for (int run = 0; run < 2 && (role == WIRE_OUT || role == WIRE_INOUT); run++)
            memset((void *)session_copy(session, index, b, run), 0, lesson_bytes(&item->buffer[b]));
    }
}

static void profile_checker_item(struct session *session, int index)
{
    const struct item *item = &session->item[index];
    double *of_case = spent[item->case_index], begin;
    char reason[VERDICT_TEXT];
    struct record found = {.kind = RECORD_BROKEN_CHECK, .message = RECORD_NO_MEMORY};
    struct judged judged;
    play(session, index);
    begin = profile_checker_now();
    int open = judged_open(&judged, session, index) == 0;
    if (!open || !compare_untouched(&judged, &found)) {
        record_verdict_headline(&found, reason, sizeof reason);
        snprintf(session->check->broken, sizeof session->check->broken, "%s: %.300s", item->settled.name,
                 reason);
    } else if (item->settled.expected == KERNEL_OK) {
        (void)compare_runs(&judged, &found);
    }
    of_case[BITS] += profile_checker_now() - begin;
    begin = profile_checker_now();
    if (open && item->settled.expected == KERNEL_OK) (void)compare_values(&judged, &found);
    of_case[VALUES] += profile_checker_now() - begin;
    judged_close(&judged);
}

void profile_checker_session(struct session *session, double seconds)
{
    double bytes = (double)session->bytes;
    for (int i = 0; i < session->count && session->check->broken[0] == '\0'; i++) {
        const struct item *item = &session->item[i];
        spent[item->case_index][INPUTS] += seconds * (double)session_item_bytes(session, item) / bytes;
        profile_checker_item(session, i);
    }
}

static double sum_of(int index)
{
    return spent[index][INPUTS] + spent[index][BITS] + spent[index][VALUES];
}

void profile_checker_report(const struct check *check)
{
    double all[PHASES] = {0.0};
    int shown[CHECK_CASES] = {0};
    printf("%-44s %8s %8s %8s\n", "CPU seconds of the host", "inputs", "bits", "oracle");
    for (int i = 0; i < check->case_count; i++)
        for (int phase = 0; phase < PHASES; phase++) all[phase] += spent[i][phase];
    for (int line = 0; line < SHOWN; line++) {
        int slowest = -1;
        for (int i = 0; i < check->case_count; i++)
            if (check->chosen[i] && !shown[i] && (slowest < 0 || sum_of(i) > sum_of(slowest))) slowest = i;
        if (slowest < 0) break;
        shown[slowest] = 1;
        printf("%-44s %8.3f %8.3f %8.3f\n", check->cases[slowest].name, spent[slowest][INPUTS],
               spent[slowest][BITS], spent[slowest][VALUES]);
    }
    printf("%-44s %8.3f %8.3f %8.3f\n", "all cases", all[INPUTS], all[BITS], all[VALUES]);
    if (check->broken[0] != '\0') printf("%s\n", check->broken);
}
