/**
 * @file checker_process.c
 * @brief The checker against runners that misbehave: each must get the verdict it deserves, and nothing more.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"
#include "process.h"

enum { CASES_OF_TWO = 2 };

/** What FAKE does, on which device, and what the verdict of the first case must be. */
static const struct trial {
    const char *behaviour;
    enum device device;
    enum state state;
    const char *says; /* part of the headline or the detail */
} TRIALS[] = {
    {"good", DEVICE_SIMT, STATE_PASS, ""},
    {"good", DEVICE_GPU, STATE_PASS, ""},
    {"exit0", DEVICE_SIMT, STATE_CRASH, "exit code 0"},
    {"exit77", DEVICE_SIMT, STATE_CRASH, "exit code 77"},
    {"underscore_exit", DEVICE_SIMT, STATE_CRASH, "exit code 0"},
    {"constructor", DEVICE_SIMT, STATE_CRASH, "exit code 0"},
    {"no_stamp", DEVICE_SIMT, STATE_CRASH, "not complete"},
    {"wrong_nonce", DEVICE_SIMT, STATE_CRASH, "not complete"},
    {"early_reply", DEVICE_SIMT, STATE_CRASH, "not complete"},
    {"hang", DEVICE_SIMT, STATE_TIMEOUT, "time limit"},
    {"spin", DEVICE_SIMT, STATE_TIMEOUT, "time limit"},
    {"close", DEVICE_SIMT, STATE_CRASH, "exit code 2"},
    {"crash", DEVICE_SIMT, STATE_CRASH, "signal 11"},
    {"abort", DEVICE_SIMT, STATE_CRASH, "signal 6"},
    {"kill_parent", DEVICE_SIMT, STATE_PASS, ""},
    {"kill_group", DEVICE_SIMT, STATE_PASS, ""},
    {"shrink", DEVICE_SIMT, STATE_PASS, ""},
    {"daemon", DEVICE_SIMT, STATE_PASS, ""},
    {"memory", DEVICE_SIMT, STATE_CRASH, "memory"},
    {"flood", DEVICE_SIMT, STATE_PASS, ""},
    {"prints", DEVICE_SIMT, STATE_PASS, ""},
    {"guard", DEVICE_GPU, STATE_FAIL, "12 bytes behind the end of out"},
    {"guard_before", DEVICE_GPU, STATE_FAIL, "8 bytes before the start of out"},
    {"input", DEVICE_SIMT, STATE_FAIL, "input modified: b[0].l"},
    {"input_in_image", DEVICE_SIMT, STATE_PASS, ""},
    {"unwritten", DEVICE_SIMT, STATE_FAIL, "never written: 1000 of 2000"},
    {"random", DEVICE_SIMT, STATE_FAIL, "differs from run to run"},
    {"nan", DEVICE_SIMT, STATE_FAIL, "= NaN, expected"},
    {"zeros", DEVICE_SIMT, STATE_FAIL, "out[0].m = 0, expected"},
    {"copy", DEVICE_SIMT, STATE_FAIL, "expected"},
    {"not_started", DEVICE_SIMT, STATE_NOT_STARTED, "KERNEL_NOT_STARTED"},
    {"wrong_status", DEVICE_SIMT, STATE_FAIL, "returned KERNEL_INVALID_CONFIG, expected KERNEL_OK"},
    {"cuda_error", DEVICE_SIMT, STATE_FAIL, "CUDA error 700"},
    {"setup", DEVICE_SIMT, STATE_BROKEN, "CUDA error 2"},
    {"finding", DEVICE_SIMT, STATE_FAIL, "software device found a mistake"},
    {"findings_counted", DEVICE_SIMT, STATE_FAIL, "software device found a mistake"},
    {"samples", DEVICE_SIMT, STATE_PASS, ""},
    {"no_device", DEVICE_GPU, STATE_NO_DEVICE, "no device at all"},
    {"no_device", DEVICE_SIMT, STATE_CRASH, "gave up"},
};

static int failures;

static void expect(int holds, const char *behaviour, const char *what)
{
    if (holds) return;
    failures++;
    printf("FAIL %s: %s\n", behaviour, what);
}

static struct check *checked(const char *behaviour, enum device device, const char *one, const char *two)
{
    struct check *check = calloc(1, sizeof *check);
    if (check == NULL) exit(2);
    setenv("FAKE", behaviour, 1);
    check->options = (struct options){.lesson = options_lesson("03"), .runner = FAKE_RUNNER, .device = device,
                                      .case_name = {one, two}, .case_count = two != NULL ? CASES_OF_TWO : 1,
                                      .time_limit = strcmp(behaviour, "memory") == 0 ? 30.0 : 1.0};
    check->case_count = check->options.lesson->cases(check->cases, CHECK_CASES);
    for (int i = 0; i < check->case_count; i++) check->chosen[i] = options_choose(&check->options, &check->cases[i]);
    check_run(check);
    return check;
}

static const struct verdict *verdict_of(const struct check *check, const char *name)
{
    for (int i = 0; i < check->case_count; i++)
        if (strcmp(check->cases[i].name, name) == 0) return &check->verdicts[i];
    return NULL;
}

static void try_all(void)
{
    for (size_t i = 0; i < sizeof TRIALS / sizeof TRIALS[0]; i++) {
        const struct trial *trial = &TRIALS[i];
        struct check *check = checked(trial->behaviour, trial->device, "merge/pairs_1000", NULL);
        const struct verdict *verdict = verdict_of(check, "merge/pairs_1000");
        char told[VERDICT_TEXT + 64];
        snprintf(told, sizeof told, "%s: %s", state_name(verdict->state), verdict->headline);
        expect(verdict->state == trial->state && strstr(verdict->headline, trial->says) != NULL, trial->behaviour, told);
        expect(waitpid(-1, NULL, WNOHANG) < 0, trial->behaviour, "left a process behind");
        free(check);
    }
}

/* A dead runner costs its own case; a fresh one goes on with the next. */
static void try_two_cases(void)
{
    struct check *check = checked("crash", DEVICE_SIMT, "merge/one", "merge/pairs_31");
    expect(verdict_of(check, "merge/one")->state == STATE_CRASH, "crash", "first case");
    expect(verdict_of(check, "merge/pairs_31")->state == STATE_CRASH, "crash", "second case, in a runner of its own");
    free(check);
    check = checked("finding_at_end", DEVICE_SIMT, "merge/one", "merge/pairs_31");
    expect(verdict_of(check, "merge/one")->state == STATE_PASS, "finding_at_end", "first case");
    expect(verdict_of(check, "merge/pairs_31")->state == STATE_FAIL, "finding_at_end", "the last case answers for it");
    free(check);
    check = checked("refused_but_written", DEVICE_SIMT, "merge/count_zero", NULL);
    const struct verdict *verdict = verdict_of(check, "merge/count_zero");
    expect(verdict->state == STATE_FAIL && strstr(verdict->headline, "was written") != NULL, "refused_but_written",
           verdict->headline);
    free(check);
    check = checked("good", DEVICE_SIMT, "merge/count_zero", "merge/property_random");
    expect(verdict_of(check, "merge/count_zero")->state == STATE_PASS, "good", "refused as it should be");
    verdict = verdict_of(check, "merge/property_random");
    expect(verdict->state == STATE_PASS, "good", verdict->headline);
    free(check);
}

static void try_missing_runner(void)
{
    struct process *process = calloc(1, sizeof *process);
    struct process_limits limits = {10.0, 1 << 30, 1 << 20};
    if (process == NULL || process_start(process, "/nowhere/runner", 0, &limits, NULL) != 0) exit(2);
    expect(process_await(process, WIRE_READY, 0, 5.0) == PROCESS_ENDED, "missing runner", "ends at once");
    process_end(process, 1.0);
    expect(process->exit_code == 126 && strstr(process->text, "cannot start") != NULL, "missing runner", process->text);
    free(process);
}

int main(void)
{
    process_prepare();
    try_all();
    try_two_cases();
    try_missing_runner();
    printf("checker_process: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
