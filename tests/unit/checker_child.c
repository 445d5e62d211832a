/**
 * @file checker_child.c
 * @brief The checker against runners that misbehave: each must get the verdict it deserves, and nothing more.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checker/verdict/bench.h"
#include "checker/options.h"
#include "checker/promises/promises.h"
#include "checker/verdict/child.h"
#include "protocol/record_columns.h"
#include "checker/report/report.h"

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
    {"hang_at_start", DEVICE_SIMT, STATE_TIMEOUT, "time limit"},
    {"crash", DEVICE_SIMT, STATE_CRASH, "signal 11"},
    {"endless", DEVICE_SIMT, STATE_TIMEOUT, "endless loop"},
    {"killed_once", DEVICE_SIMT, STATE_PASS, ""},
    {"killed_always", DEVICE_SIMT, STATE_NOT_GRADED, "killed 3 times by something outside"},
    {"abort", DEVICE_SIMT, STATE_CRASH, "signal 6"},
    {"kill_parent", DEVICE_SIMT, STATE_PASS, ""},
    {"kill_group", DEVICE_SIMT, STATE_PASS, ""},
    {"shrink", DEVICE_SIMT, STATE_PASS, ""},
    {"daemon", DEVICE_SIMT, STATE_PASS, ""},
    {"flood", DEVICE_SIMT, STATE_FAIL, "right, but it prints"},
    {"prints", DEVICE_SIMT, STATE_FAIL, "right, but it prints"},
    {"guard", DEVICE_GPU, STATE_FAIL, "12 bytes past the end of out"},
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
    {"setup", DEVICE_SIMT, STATE_NOT_GRADED, "CUDA error 2"},
    {"finding", DEVICE_SIMT, STATE_FAIL, "software device found a mistake"},
    {"findings_counted", DEVICE_SIMT, STATE_FAIL, "software device found a mistake"},
    {"finding_said", DEVICE_SIMT, STATE_FAIL, "right, but it prints"}, /* nothing is made of what it says */
    {"record", DEVICE_SIMT, STATE_FAIL, "software device found a mistake"},
    {"records_too_many", DEVICE_SIMT, STATE_FAIL, "software device found a mistake"},
    {"record_of_no_kind", DEVICE_SIMT, STATE_PASS, ""},
    {"record_with_escape", DEVICE_SIMT, STATE_PASS, ""},
    {"record_incomplete", DEVICE_SIMT, STATE_PASS, ""},
    {"samples", DEVICE_SIMT, STATE_PASS, ""},
    {"no_device", DEVICE_GPU, STATE_NO_DEVICE, "no device at all"},
    {"no_device", DEVICE_SIMT, STATE_CRASH, "gave up"},
};

static int failures, bench;
static double total_limit;

static void expect(int holds, const char *behaviour, const char *what)
{
    if (holds) return;
    failures++;
    printf("FAIL %s: %s\n", behaviour, what);
}

static int is_endless(const char *behaviour)
{
    return strncmp(behaviour, "hang", 4) == 0 || strcmp(behaviour, "endless_merge") == 0 ||
           strcmp(behaviour, "spin") == 0;
}

static struct check *checked(const char *behaviour, enum device device, const char *one, const char *two)
{
    struct check *check = calloc(1, sizeof *check);
    if (check == NULL) exit(2);
    setenv("SIMT_FAKE", behaviour, 1);
    check->options = (struct options){.lesson = options_lesson("03"),
                                      .runner = FAKE_RUNNER,
                                      .device = device,
                                      .case_name = {one, two},
                                      .case_count = two != NULL ? CASES_OF_TWO : 1,
                                      .time_limit = is_endless(behaviour) ? 0.2 : 60.0};
    check->options.bench = bench;
    check->options.timed = bench && device == DEVICE_GPU;
    check->options.total_limit = total_limit;
    check->options.limit[0] = (struct limit){"peak_gbps", 0.001};
    check->options.limit_count = bench == 2;
    check->case_count = promises_cases(check->options.lesson, check->cases, CHECK_CASES);
    for (int i = 0; i < check->case_count; i++)
        check->chosen[i] = options_choose(&check->options, &check->cases[i]);
    check_run(check);
    return check;
}

/* All cases of a part, by so many workers; the result stays until the next call. */
static const struct check *checked_by(int workers, const char *behaviour)
{
    static struct check *shared[2];
    struct check **check = &shared[workers > 1];
    if (*check == NULL)
        *check = mmap(NULL, sizeof **check, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (*check == MAP_FAILED) exit(2);
    setenv("SIMT_FAKE", behaviour, 1);
    memset(*check, 0, sizeof **check);
    (*check)->options = (struct options){
        .lesson = options_lesson("03"), .runner = FAKE_RUNNER, .device = DEVICE_SIMT, .time_limit = 60.0};
    (*check)->case_count = promises_cases((*check)->options.lesson, (*check)->cases, CHECK_CASES);
    for (int i = 0; i < (*check)->case_count; i++)
        (*check)->chosen[i] = strncmp((*check)->cases[i].name, "merge/", 6) == 0 &&
                              ((*check)->cases[i].devices & (1u << DEVICE_SIMT)) != 0;
    (*check)->workers = workers;
    check_run(*check);
    return *check;
}

static const char *headline_of(const struct verdict *verdict)
{
    static char text[VERDICT_TEXT];
    report_headline(verdict, text, sizeof text);
    return text;
}

static const struct verdict *verdict_of(const struct check *check, const char *name)
{
    for (int i = 0; i < check->case_count; i++)
        if (strcmp(check->cases[i].name, name) == 0) return &check->verdicts[i];
    return NULL;
}

static char *contents(const char *path)
{
    static char text[1 << 18];
    FILE *file = fopen(path, "r");
    size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL) fclose(file);
    text[length] = '\0';
    return text;
}

static int commas_in(const char *line)
{
    int commas = 0, quoted = 0;
    for (; *line != '\0' && *line != '\n'; line++) {
        if (*line == '"') quoted = !quoted;
        commas += *line == ',' && !quoted;
    }
    return commas;
}

/* Whatever came of a runner, its row has as many fields as there are columns. */
static void expect_whole_rows(const struct check *check, const char *behaviour)
{
    char path[] = "/tmp/warpwise_unit_XXXXXX";
    int file = mkstemp(path);
    if (file < 0) exit(2);
    close(file);
    expect(report_csv(check, path) == 0, behaviour, "rows cannot be written");
    const char *text = contents(path), *second = strchr(text, '\n');
    int header = strncmp(text, RECORD_COLUMNS "\n", sizeof RECORD_COLUMNS) == 0;
    expect(header && second != NULL && commas_in(second + 1) == commas_in(RECORD_COLUMNS), behaviour, text);
    unlink(path);
}

static void try_all(void)
{
    for (size_t i = 0; i < sizeof TRIALS / sizeof TRIALS[0]; i++) {
        const struct trial *trial = &TRIALS[i];
        struct check *check = checked(trial->behaviour, trial->device, "merge/pairs_1000", NULL);
        const struct verdict *verdict = verdict_of(check, "merge/pairs_1000");
        char told[VERDICT_TEXT + 64];
        snprintf(told, sizeof told, "%s: %s", state_name(verdict->state), headline_of(verdict));
        expect(verdict->state == trial->state && strstr(headline_of(verdict), trial->says) != NULL,
               trial->behaviour, told);
        expect(waitpid(-1, NULL, WNOHANG) < 0, trial->behaviour, "left a process behind");
        expect_whole_rows(check, trial->behaviour);
        free(check);
    }
}

static void told(const struct check *check, int at, char *text, size_t size)
{
    const struct verdict *verdict = &check->verdicts[at];
    snprintf(text, size, "%s: %s after %d inputs: %s", check->cases[at].name, state_name(verdict->state),
             check->judged[at], headline_of(verdict));
}

/* However many workers share the cases, each case has its verdict once, and the same. */
static void try_workers(void)
{
    static const char *const behaviours[] = {"good", "copy", "crash"};
    for (size_t i = 0; i < sizeof behaviours / sizeof behaviours[0]; i++) {
        const struct check *alone = checked_by(1, behaviours[i]), *shared = checked_by(3, behaviours[i]);
        expect(shared->workers == 3 && shared->next_unit > 3, behaviours[i], "the cases were not shared");
        expect(waitpid(-1, NULL, WNOHANG) < 0, behaviours[i], "left a worker behind");
        for (int at = 0; at < alone->case_count; at++) {
            if (!alone->chosen[at]) continue;
            char one[VERDICT_TEXT + 128], three[VERDICT_TEXT + 128];
            told(alone, at, one, sizeof one);
            told(shared, at, three, sizeof three);
            expect(alone->judged[at] == alone->cases[at].repeat, behaviours[i], one);
            expect(strcmp(one, three) == 0, behaviours[i], one);
            expect(strcmp(one, three) == 0, "by three workers", three);
        }
    }
}

/* A dead runner costs its own case; a fresh one goes on with the next. */
static void try_two_cases(void)
{
    struct check *check = checked("crash", DEVICE_SIMT, "merge/one", "merge/pairs_31");
    expect(verdict_of(check, "merge/one")->state == STATE_CRASH, "crash", "first case");
    expect(verdict_of(check, "merge/pairs_31")->state == STATE_CRASH, "crash",
           "second case, in a runner of its own");
    free(check);
    check = checked("finding_at_end", DEVICE_SIMT, "merge/one", "merge/pairs_31");
    expect(verdict_of(check, "merge/one")->state == STATE_PASS, "finding_at_end", "first case");
    expect(verdict_of(check, "merge/pairs_31")->state == STATE_FAIL, "finding_at_end",
           "the last case answers for it");
    free(check);
    check = checked("refused_but_written", DEVICE_SIMT, "merge/count_zero", NULL);
    const struct verdict *verdict = verdict_of(check, "merge/count_zero");
    expect(verdict->state == STATE_FAIL && strstr(headline_of(verdict), "was written") != NULL,
           "refused_but_written", headline_of(verdict));
    free(check);
    check = checked("good", DEVICE_SIMT, "merge/count_zero", "merge/property_random");
    expect(verdict_of(check, "merge/count_zero")->state == STATE_PASS, "good", "refused as it should be");
    verdict = verdict_of(check, "merge/property_random");
    expect(verdict->state == STATE_PASS, "good", headline_of(verdict));
    free(check);
}

/* Cases that hang cost the time limit a few times, not once each. */
static void try_many_late(void)
{
    time_t begin = time(NULL);
    struct check *check = checked("hang", DEVICE_SIMT, "merge/property_random", "merge/large");
    expect(verdict_of(check, "merge/property_random")->state == STATE_TIMEOUT, "hang", "the first");
    expect(verdict_of(check, "merge/large")->state == STATE_TIMEOUT, "hang", "the last");
    expect(time(NULL) - begin < 30, "hang", "took the time limit for every case");
    free(check);
}

/* Nor does a kernel that takes all memory take it for each case. */
static void try_many_greedy(void)
{
    struct check *check = checked("memory", DEVICE_SIMT, "merge/property_random", NULL);
    const struct verdict *verdict = verdict_of(check, "merge/property_random");
    expect(verdict->state == STATE_CRASH && strstr(headline_of(verdict), "memory") != NULL, "memory",
           headline_of(verdict));
    expect(check->greedy[0] == 2, "memory", "was taken for every case");
    free(check);
}

/* A part that hangs does not cost another part anything. */
static void try_parts_apart(void)
{
    struct check *check = checked("endless_merge", DEVICE_SIMT, "merge/property_random", "rows/one");
    expect(verdict_of(check, "merge/property_random")->state == STATE_TIMEOUT, "endless_merge",
           "its own part");
    const struct verdict *verdict = verdict_of(check, "rows/one");
    expect(verdict->state != STATE_TIMEOUT, "endless_merge", headline_of(verdict));
    free(check);
}

/* All cases together have a limit, which is told as what it is. */
static void try_total_limit(void)
{
    total_limit = 0.1;
    struct check *check = checked("hang", DEVICE_SIMT, "merge/one", "rows/one");
    const struct verdict *verdict = verdict_of(check, "rows/one");
    total_limit = 0.0;
    expect(verdict->state == STATE_TIMEOUT && strstr(headline_of(verdict), "--total-limit") != NULL, "hang",
           headline_of(verdict));
    free(check);
}

static void print_bench(const struct check *check)
{
    ((struct check *)check)->reported = 0; /* each case is printed once */
    bench_report((struct check *)check);
}

/* The report notes in the check what it has shown. */
static void print_text(const struct check *check)
{
    struct check *copy = malloc(sizeof *copy);
    if (copy == NULL) exit(2);
    *copy = *check;
    report_text(copy);
    free(copy);
}

/* What the report prints to stdout, as text. */
static char *printed(const struct check *check, void (*report)(const struct check *))
{
    char path[] = "/tmp/warpwise_unit_XXXXXX";
    int file = mkstemp(path), kept = dup(STDOUT_FILENO);
    fflush(stdout);
    if (file < 0 || kept < 0 || dup2(file, STDOUT_FILENO) < 0) exit(2);
    report(check);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(file);
    char *text = contents(path);
    unlink(path);
    return text;
}

/* Killed from outside: neither wrong nor a pass, whatever else had been right. */
static void try_killed(void)
{
    struct check *check = checked("killed_always", DEVICE_SIMT, "merge/one", "rows/one");
    expect(check_state(check, -1) == STATE_NOT_GRADED && check->killed == 3, "killed_always", "no verdict");
    expect(strstr(printed(check, print_text), "NOT_GRADED") != NULL, "killed_always", "NOT_GRADED is said");
    free(check);
}

/* Times are taken from a run whose outputs were checked again, and doubted. */
static void try_timing(void)
{
    static const struct {
        const char *behaviour;
        int bench; /* 2: with a memory limit that nothing can keep */
        enum state state;
        const char *refused;
    } rows[] = {{"good", 1, STATE_PASS, NULL},
                {"timed_other", 1, STATE_FAIL, NULL},
                {"no_time", 1, STATE_PASS, "no time passed"},
                {"late_work", 1, STATE_PASS, "worked on"},
                {"good", 2, STATE_PASS, "memory"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bench = rows[i].bench;
        struct check *check = checked(rows[i].behaviour, DEVICE_GPU, "merge/pairs_1000", NULL);
        const struct verdict *verdict = verdict_of(check, "merge/pairs_1000");
        const struct measurement *m = &verdict->measurement;
        expect(verdict->state == rows[i].state, rows[i].behaviour, headline_of(verdict));
        expect(m->timed == (rows[i].state == STATE_PASS), rows[i].behaviour, "timed");
        int refused =
            m->refused != NULL && rows[i].refused != NULL && strstr(m->refused, rows[i].refused) != NULL;
        expect(refused || (m->refused == NULL && rows[i].refused == NULL), rows[i].behaviour, "refusal");
        if (i == 0)
            expect(m->median_us == 59.5 && m->p10_us == 20.0 && m->p90_us == 99.0 && m->occupancy == 0.75,
                   "times", "wrong median, percentiles or occupancy");
        free(check);
    }
    bench = 0;
    struct check *check = checked("many_kernels", DEVICE_GPU, "merge/one", NULL);
    expect(verdict_of(check, "merge/one")->state == STATE_PASS, "many_kernels", "a count beyond its array");
    free(check);
}

/* ---- reports --------------------------------------------------------------------------------------------- */

static void try_records(const struct check *check)
{
    char path[] = "/tmp/warpwise_unit_XXXXXX";
    int file = mkstemp(path);
    if (file < 0) exit(2);
    close(file);
    expect(report_json(check, path) == 0, "report_json", "cannot write");
    const char *text = contents(path);
    expect(strstr(text, "\"state\": \"CRASH\"") != NULL && strchr(text, '\033') == NULL, "report_json", text);
    unlink(path);
    FILE *kept = stderr;
    stderr = fopen("/dev/null", "w");
    expect(report_csv(check, "/nowhere/x.csv") != 0 && report_json(check, "/nowhere/x") != 0, "records",
           "no error");
    fclose(stderr);
    stderr = kept;
}

/* What a runner prints must neither be taken for a measurement nor reach a terminal raw. */
static void try_reports(void)
{
    struct check *check = checked("prints_and_crashes", DEVICE_SIMT, "merge/one", "merge/pairs_31");
    check->options.verbose = 1;
    char *text = printed(check, print_text);
    expect(strstr(text, "<CTest") == NULL && strstr(text, "(CTestMeasurement") != NULL, "report_text", text);
    expect(strchr(text, '\033') == NULL && strstr(text, "CRASH") != NULL, "report_text", text);
    expect(strstr(text, "check 03 --case merge/one --device simt") != NULL, "report_text",
           "how to repeat it");
    expect(strstr(printed(check, report_list), "merge/count_negative") != NULL, "report_list",
           "a case is missing");
    expect_whole_rows(check, "prints_and_crashes");
    try_records(check);
    free(check);
    check = checked("good", DEVICE_SIMT, "merge/one", NULL);
    check->verdicts[0].measurement = (struct measurement){.timed = 1,
                                                          .median_us = 2.5,
                                                          .counted = 1,
                                                          .described = 1,
                                                          .load_sectors = 1u << 31,
                                                          .cost = {10.0, 20.0, 0.0, 0.0}};
    check->options.limit[0] = (struct limit){"copy_gbps", 4000.0};
    check->options.limit[1] = (struct limit){"f32_tflops", 50.0};
    check->options.limit_count = 2;
    check->options.peer[0] = (struct peer){"a peer", "merge/one", 5.0};
    check->options.peer_count = 1;
    text = printed(check, report_ctest);
    expect(strstr(text, ">2147483648<") != NULL && strstr(text, "median_us\">2.5<") != NULL, "report_ctest",
           text);
    text = printed(check, print_bench);
    expect(strstr(text, "2.00 times as fast as a peer") != NULL && strstr(text, "latency-bound") != NULL,
           "bench_report", text);
    check->verdicts[0].measurement.refused = "a reason";
    expect(strstr(printed(check, print_bench), "time refused: a reason") != NULL, "bench_report", "refusal");
    free(check);
}

static void try_missing_runner(void)
{
    struct child *child = calloc(1, sizeof *child);
    struct child_start start = {
        .path = "/nowhere/runner",
        .limits = {.cpu_seconds = 10.0, .resident_bytes = 1 << 30, .file_bytes = 1 << 20, .processes = 64}};
    if (child == NULL || child_start(child, &start) != 0) exit(2);
    expect(child_await(child, WIRE_READY, 0, 5.0) == CHILD_ENDED, "missing runner", "ends at once");
    child_end(child, 1.0);
    expect(child->box.exit_code == 126 && strstr(child->box.text, "cannot start") != NULL, "missing runner",
           child->box.text);
    free(child);
}

int main(void)
{
    char mark[64];
    snprintf(mark, sizeof mark, "/tmp/warpwise_unit_mark_%ld", (long)getpid());
    setenv("SIMT_FAKE_MARK", mark, 1);
    sandbox_prepare();
    try_all();
    unlink(mark);
    try_workers();
    try_two_cases();
    try_many_late();
    try_many_greedy();
    try_parts_apart();
    try_total_limit();
    try_killed();
    try_timing();
    try_reports();
    try_missing_runner();
    printf("checker_child: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
