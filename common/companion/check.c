/**
 * @file check.c
 * @brief warpwise check: is this kernel file right? For students, and with --expect for the course's own
 * tests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "build/build.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "course/device.h"
#include "hunt.h"
#include "judging/judging.h"
#include "judging/results.h"
#include "page.h"
#include "progress.h"
#include "skeleton.h"

/** @brief What the command line asks for, with defaults filled in. */
struct check_plan {
    const struct command_line *line;
    const struct lesson_folder *lesson;
    struct device_choice devices;
    const char *submission;
    /* the kernel file, and the words that name it on a command line if it is not the lesson's own */
    char *kernel, *again;
    int exercise; /* the number of the debugging exercise that the kernel file is; 0: none */
    int expects;  /* 1: what to expect is said */
    enum state expect;
    const char *expect_cases;
    struct argument_list orders;
    struct text rows; /* of all runs, for --csv */
    char *rows_header;
    int worst, ran, in_progress, on_simt;
};

/* Trouble outranks a failure, a failure outranks a skip, a skip outranks a pass. */
static int worse_exit(int a, int b)
{
    static const int ranked[] = {EXIT_TROUBLE, EXIT_FAIL, EXIT_SKIPPED};
    for (size_t i = 0; i < sizeof ranked / sizeof ranked[0]; i++) {
        if (a == ranked[i] || b == ranked[i]) return ranked[i];
    }
    return EXIT_PASS;
}

/* Cases have names like "part/name"; "name" alone means that case in every part. */
static int case_failed(const struct results *results, const char *name)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct result_row *row = &results->rows[i];
        const char *slash = strchr(row->test_case, '/');
        int meant = strcmp(row->test_case, name) == 0 || (slash != NULL && strcmp(slash + 1, name) == 0);
        if (meant && state_is_failure(row->state)) return 1;
    }
    return 0;
}

/* Copies the name of the first expected case that did not fail; NULL if all failed. */
static char *missing_case(const char *names, const struct judgement *judgement)
{
    for (char *name; (name = next_word(&names, ',')) != NULL; free(name)) {
        int seen =
            strcmp(name, "simt") == 0 ? judgement->device_finding : case_failed(&judgement->results, name);
        if (!seen) return name;
    }
    return NULL;
}

/* A test counts as skipped only if the device is missing. */
static int compare_with_expectation(const struct check_plan *plan, const struct judgement *judgement)
{
    if (judgement->exit_code == EXIT_TROUBLE) return EXIT_TROUBLE;
    if (judgement_lacks_device(judgement)) return EXIT_SKIPPED;
    if (!state_is_expected(judgement->state, plan->expect)) {
        printf("expected %s, but this is %s\n", state_name(plan->expect), state_name(judgement->state));
        return EXIT_FAIL;
    }
    char *missing = plan->expect_cases != NULL ? missing_case(plan->expect_cases, judgement) : NULL;
    if (missing != NULL) {
        printf(strcmp(missing, "simt") == 0 ? "expected a finding of the software device, but there is none\n"
                                            : "expected case %s to fail, but it did not\n",
               missing);
        free(missing);
        return EXIT_FAIL;
    }
    printf("%s, as expected\n", state_name(judgement->state));
    return EXIT_PASS;
}

/* 1 if all cases are to run with default options. */
static int is_whole_check(const struct check_plan *plan)
{
    static const char *const others[] = {
        "--case",       "--part",      "--group",       "--seed",  "--secret-seed-file",
        "--time-limit", "--fail-fast", "--most-inputs", "--ranks", "--numerics-once"};
    int whole = plan->submission == NULL && !plan->expects;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        whole = whole && option_value(plan->line, others[i]) == NULL;
    return whole;
}

/* 1 if the result counts as the student's standing: their own file, all cases, default options. */
static int is_own_whole_check(const struct check_plan *plan, const char *order)
{
    char *own = course_kernel_path(plan->lesson, 0);
    char *a = realpath(own, NULL), *b = plan->kernel != NULL ? realpath(plan->kernel, NULL) : NULL;
    int whole = a != NULL && b != NULL && strcmp(a, b) == 0 && is_whole_check(plan) && order == NULL;
    free(own);
    free(a);
    free(b);
    return whole;
}

/* The command that shows the failure with which the report begins. */
static void offer_trace(const struct check_plan *plan, const struct results *results)
{
    const struct result_row *best = results_shown(results, 1);
    if (best == NULL || best->state != STATE_FAIL) return;
    const int has_element =
        !best->finding && *best->buffer && *best->index && strchr(best->index, '-') == NULL;
    printf("see it: %s trace %s%s --case %s", program_name(), plan->lesson->number,
           plan->again != NULL ? plan->again : "", best->test_case);
    printf(has_element ? " --element %s:%s\n" : "\n", best->buffer, best->index);
}

static void run_once(struct check_plan *plan, enum device device, const char *order)
{
    struct judgement judgement;
    struct judgement_request request = {.lesson = plan->lesson,
                                        .kernel = plan->kernel,
                                        .submission = plan->submission,
                                        .again = plan->again,
                                        .device = device,
                                        .order = order,
                                        .echo = 1,
                                        .verbose = option_value(plan->line, "--verbose") != NULL};
    static const char *const with_value[] = {"--case",        "--seed",       "--json",
                                             "--group",       "--time-limit", "--secret-seed-file",
                                             "--total-limit", "--remember",   "--most-inputs"};
    static const char *const switches[] = {"--dump",      "--ctest",         "--verbose",
                                           "--fail-fast", "--numerics-once", "--phases"};
    for (size_t i = 0; i < plan->line->count; i++) {
        for (size_t j = 0; j < sizeof switches / sizeof switches[0]; j++) {
            if (strcmp(plan->line->name[i], switches[j]) == 0)
                argument_add(&request.checker_arguments, switches[j]);
        }
        for (size_t j = 0; j < sizeof with_value / sizeof with_value[0]; j++) {
            if (strcmp(plan->line->name[i], with_value[j]) != 0) continue;
            argument_add(&request.checker_arguments, with_value[j]);
            argument_add(&request.checker_arguments, plan->line->value[i]);
        }
    }
    const char *group = option_value(plan->line, "--group");
    const char *part = option_value(plan->line, "--part");
    if (part != NULL) {
        argument_add(&request.checker_arguments, "--case");
        argument_add(&request.checker_arguments, format_string("%s/", part));
    }
    request.build_only = option_value(plan->line, "--build-only") != NULL;
    /* these cases are there for their times */
    request.bench = plan->submission != NULL && group != NULL && strcmp(group, "speed") == 0;
    if (order != NULL) printf("threads and blocks in order %s\n", order);
    judge(&request, &judgement);
    if (judgement.results.header != NULL) plan->rows_header = judgement.results.header;
    if (is_own_whole_check(plan, order)) progress_note_check(plan->lesson, device, &judgement);
    text_append(&plan->rows, judgement.results.lines.data, judgement.results.lines.length);
    if (device == DEVICE_SIMT && !plan->expects && plan->submission == NULL &&
        option_value(plan->line, "--ctest") == NULL)
        offer_trace(plan, &judgement.results);
    int code = plan->expects ? compare_with_expectation(plan, &judgement) : judgement.exit_code;
    plan->worst = plan->ran ? worse_exit(plan->worst, code) : code;
    plan->ran = 1;
    plan->on_simt = plan->on_simt || device == DEVICE_SIMT;
    plan->in_progress = judgement.state == STATE_IN_PROGRESS;
}

static void run_on_device(struct check_plan *plan, enum device device)
{
    const struct device_facts *facts = device_probe(device);
    if (!facts->usable) {
        if (plan->devices.explicitly) {
            printf("%s %s   %sNO_DEVICE%s   %s: %s\n", plan->lesson->number, plan->lesson->topic,
                   colour_on(COLOUR_YELLOW), colour_off(), device_name(device), facts->reason);
            struct results row = {0};
            results_without_run(&row, plan->lesson->number, device_name(device), STATE_NO_DEVICE,
                                facts->reason);
            plan->rows_header = row.header;
            text_append(&plan->rows, row.lines.data, row.lines.length);
        }
        return;
    }
    size_t orders = device == DEVICE_SIMT ? plan->orders.count : 0; /* a GPU takes no orders */
    if (orders == 0) run_once(plan, device, NULL);
    for (size_t i = 0; i < orders && !process_interrupted(); i++)
        run_once(plan, device, plan->orders.items[i]);
}

static int read_orders(const char *list, struct check_plan *plan)
{
    for (char *word; list != NULL && (word = next_word(&list, ',')) != NULL;) {
        int number = 0, end = 0;
        int random = sscanf(word, "random:%d%n", &number, &end) == 1 && word[end] == '\0';
        if (strcmp(word, "forward") != 0 && strcmp(word, "reverse") != 0 && !random) {
            return complain("there is no order \"%s\"; --order takes forward, reverse and random:NUMBER.",
                            word);
        }
        argument_add(&plan->orders, word);
    }
    return EXIT_PASS;
}

static int read_expectation(struct check_plan *plan)
{
    const char *expect = option_value(plan->line, "--expect");
    plan->expect_cases = option_value(plan->line, "--expect-case");
    plan->expects = expect != NULL || plan->expect_cases != NULL;
    plan->expect = expect != NULL ? state_of(expect) : STATE_FAIL;
    if (expect == NULL || plan->expect == STATE_PASS || plan->expect == STATE_NOT_STARTED ||
        state_is_failure(plan->expect))
        return EXIT_PASS;
    return complain(
        "--expect takes PASS, FAIL, NOT_STARTED, BUILD_ERROR, TIMEOUT, CRASH or REFUSED, not \"%s\".",
        expect);
}

/* Without --kernel, a path to a .cu file given as the lesson is the kernel file itself. */
static int choose_kernel(struct check_plan *plan)
{
    const char *kernel = option_value(plan->line, "--kernel"), *operand = plan->line->operand;
    int solution = option_value(plan->line, "--solution") != NULL;
    size_t length = strlen(operand);
    int operand_is_file =
        length > 3 && strchr(operand, '/') != NULL && strcmp(operand + length - 3, ".cu") == 0;
    plan->submission = option_value(plan->line, "--submission");
    if (plan->submission != NULL && (kernel != NULL || solution))
        return complain("--submission excludes --kernel and --solution.");
    if (option_value(plan->line, "--remember") != NULL &&
        (plan->submission != NULL || option_value(plan->line, "--secret-seed-file") != NULL))
        return complain(
            "--remember puts right answers on the disk: not with --submission or --secret-seed-file.");
    const char *seconds = option_value(plan->line, "--compile-limit");
    if (seconds != NULL && !(atof(seconds) > 0))
        return complain("--compile-limit takes seconds, not \"%s\".", seconds);
    if (seconds != NULL) build_untrusted_limit(atof(seconds));
    if (plan->submission != NULL) {
        plan->again = format_string(strpbrk(plan->submission, " '\"$") != NULL ? " --submission \"%s\""
                                                                               : " --submission %s",
                                    plan->submission);
        return is_folder(plan->submission) ? EXIT_PASS : complain("%s is not a folder.", plan->submission);
    }
    if (kernel != NULL && solution) return complain("--kernel and --solution exclude each other.");
    if (kernel == NULL && !solution && operand_is_file) kernel = operand;
    plan->kernel = kernel != NULL ? copy_string(kernel) : course_kernel_path(plan->lesson, solution);
    if (solution) plan->again = copy_string(" --solution");
    if (kernel != NULL)
        plan->again =
            format_string(strpbrk(kernel, " '\"$") != NULL ? " --kernel \"%s\"" : " --kernel %s", kernel);
    return build_kernel_file_usable(plan->kernel);
}

static int make_plan(const struct command_line *line, struct check_plan *plan)
{
    plan->line = line;
    if (line->operand == NULL) return complain("which lesson? For example: warpwise check 01");
    plan->lesson = course_find_lesson(line->operand);
    if (plan->lesson == NULL) return EXIT_TROUBLE;
    if (companion_limit_ranks(line, plan->lesson) != EXIT_PASS) return EXIT_TROUBLE;
    if (device_choose(option_value(line, "--device"), &plan->devices) != EXIT_PASS) return EXIT_TROUBLE;
    if (read_orders(option_value(line, "--order"), plan) != EXIT_PASS) return EXIT_TROUBLE;
    if (read_expectation(plan) != EXIT_PASS) return EXIT_TROUBLE;
    if (option_value(line, "--json") != NULL && (!plan->devices.explicitly || plan->orders.count > 1)) {
        return complain("--json describes one run: choose one --device and at most one --order with it.");
    }
    if (choose_kernel(plan) != EXIT_PASS) return EXIT_TROUBLE;
    if (plan->kernel != NULL && !plan->expects) plan->exercise = hunt_exercise_of(plan->lesson, plan->kernel);
    return EXIT_PASS;
}

/* Prints the names of regions that are still as handed out: launches that return KERNEL_NOT_STARTED,
 * without which no result can show; or, once something runs, every region with a TODO. */
static void name_unwritten(const struct check_plan *plan)
{
    static const char mark[] = "// [student: ";
    struct text source = {0};
    const char *region = NULL, *before = "not written:";
    int number = 0, opened = 0;
    if (read_file(plan->kernel, &source) != 0) return;
    for (const char *line = source.data; line != NULL && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        number++;
        size_t length = strcspn(line, "\n");
        const char *begin = memmem(line, length, mark, strlen(mark));
        if (begin != NULL) region = begin + strlen(mark), opened = number;
        if (memmem(line, length, "// [/student]", 13) != NULL) region = NULL;
        if (region == NULL ||
            !(memmem(line, length, "return KERNEL_NOT_STARTED;", 26) != NULL ||
              (plan->worst != EXIT_SKIPPED && memmem(line, length, "// TODO: ", 9) != NULL)))
            continue;
        printf("%s %.*s (line %d)", before, (int)strcspn(region, "]\n"), region, opened);
        before = ",";
        region = NULL;
    }
    if (*before == ',') printf("\n");
    text_free(&source);
}

/* After the student's own check, suggests one command to go on with. */
static void say_what_next(const struct check_plan *plan)
{
    const char *number = plan->lesson->number;
    if (option_value(plan->line, "--ctest") != NULL || !is_own_whole_check(plan, NULL)) return;
    const struct lesson_folder *next = plan->worst == EXIT_PASS ? standing_next(plan->lesson) : NULL;
    if (plan->worst != EXIT_PASS) name_unwritten(plan);
    char *region = plan->in_progress ? kernel_next_region(plan->lesson, plan->kernel) : NULL;
    if (region != NULL)
        printf("next: %s\n", region);
    else if (plan->worst == EXIT_FAIL)
        printf("stuck? %s hint %s\n", program_name(), number);
    free(region);
    if (next != NULL) printf("next: %s watch %s\n", program_name(), next->number);
    if (plan->worst == EXIT_PASS) printf("how fast? %s bench %s\n", program_name(), number);
    if (plan->worst == EXIT_SKIPPED) printf("begin: %s watch %s\n", program_name(), number);
}

/* The checker knows its cases without a kernel. */
static int list_cases(const struct check_plan *plan)
{
    int simt = plan->devices.wanted[DEVICE_SIMT];
    struct argument_list arguments = {0};
    struct process_end end;
    argument_add(&arguments, format_string("%s/bin/checker", course_binary_dir()));
    argument_add(&arguments, "--list");
    argument_add(&arguments, "--lesson");
    argument_add(&arguments, plan->lesson->name);
    argument_add(&arguments, "--device");
    argument_add(&arguments, device_name(simt ? DEVICE_SIMT : DEVICE_GPU));
    struct process process = {.arguments = arguments.items, .echo = 1};
    process_run(&process, &end);
    free(arguments.items);
    if (end.start_error || end.signal || end.exit_code != EXIT_PASS)
        return complain("the checker cannot list its cases: run cmake --build %s", course_binary_dir());
    return EXIT_PASS;
}

static int write_rows(const struct check_plan *plan)
{
    const char *csv = option_value(plan->line, "--csv");
    if (csv == NULL || plan->rows_header == NULL) return EXIT_PASS;
    struct text file = {0};
    text_print(&file, "%s\n%s", plan->rows_header, plan->rows.data != NULL ? plan->rows.data : "");
    int error = write_file(csv, file.data, file.length);
    text_free(&file);
    return error ? complain("%s cannot be written: %s.", csv, strerror(error)) : EXIT_PASS;
}

/* All cases count, on the device that sees every mistake. */
static void judge_exercise(const struct check_plan *plan)
{
    if (is_whole_check(plan) && plan->on_simt)
        hunt_note_passed(plan->lesson, plan->exercise);
    else
        printf("that is not the whole check: %s check %s --device simt judges the exercise\n", program_name(),
               course_short_path(plan->kernel));
}

static int run_check(const struct command_line *line)
{
    struct check_plan plan = {0};
    if (make_plan(line, &plan) != EXIT_PASS) return EXIT_TROUBLE;
    if (option_value(line, "--list") != NULL) return list_cases(&plan);
    skeleton_keep(plan.lesson);
    for (int device = 0; device < DEVICE_COUNT && !process_interrupted(); device++) {
        if (plan.devices.wanted[device]) run_on_device(&plan, (enum device)device);
    }
    if (write_rows(&plan) != EXIT_PASS) return EXIT_TROUBLE;
    if (!plan.ran) {
        if (!plan.devices.explicitly) printf("no device to run on; see: warpwise doctor\n");
        return EXIT_SKIPPED;
    }
    if (plan.exercise && plan.worst == EXIT_PASS) judge_exercise(&plan);
    say_what_next(&plan);
    return plan.worst;
}

static const struct option_description check_options[] = {
    {"--case", "NAME", "only this case; may be given more than once", 1},
    {"--part", "NAME", "only the cases of this part of the lesson", 0},
    {"--device", "gpu|simt|both", "where to run; without it, wherever it can run", 0},
    {"--seed", "S", "other inputs: the same seed gives the same inputs on any machine", 0},
    {"--kernel", "FILE.cu", "judge this file as the lesson's kernel", 0},
    {"--solution", NULL, "judge the course's own solution", 0},
    {"--submission", "DIR", "judge somebody else's folder: build and run in isolation, see docs/security.md",
     0},
    {"--group", "NAME", "only cases of this group: basic, edges, numerics, bad_input, properties, speed", 1},
    {"--time-limit", "S", "seconds a case may take", 0},
    {"--list", NULL, "name the lesson's cases, what each asks for and its points, and stop", 0},
    {"--total-limit", "S", "seconds all cases together may take", 0},
    {"--most-inputs", "N", "of the hundred and more random inputs of a property, the first N", 0},
    {"--numerics-once", NULL, "cases of numerics call once on simt: for tests of kernels known to be right",
     0},
    {"--build-only", NULL, "build it and stop", 0},
    {"--phases", NULL, "show where the time goes", 0},
    {"--compile-limit", "S", "with --submission: seconds the compiler may take", 0},
    {"--secret-seed-file", "FILE", "mix these bytes into the seed", 0},
    {"--remember", "FOLDER",
     "keep what the oracle says there, for checks of other kernels with the same\n"
     "                            seed; not with --submission or a secret seed: right answers lie on the "
     "disk",
     0},
    {"--fail-fast", NULL, "stop at the first case that does not pass; cheap cases come first", 0},
    {"--dump", NULL, "show a small case's intermediate values beside the expected ones", 0},
    {"--ranks", "N", "lesson 19: no more than N ranks, 1, 2, 4 or 8; cases with more take N", 0},
    {"--order", "LIST", "order of threads and blocks on simt: forward,reverse,random:7", 0},
    {"--csv", "FILE", "also write every case as a row of FILE", 0},
    {"--json", "FILE", "also write the report as JSON (one device, one order)", 0},
    {"--ctest", NULL, "also print measurements in the form that ctest collects", 0},
    {"--verbose", NULL, "say more: every case, the whole output of the compiler", 0},
    {"--expect", "STATE", "exit 0 if and only if the verdict is STATE (for tests)", 0},
    {"--expect-case", "NAMES",
     "with --expect FAIL: each of these cases must be among the failed; the name\n"
     "                            simt stands for a finding of the software device",
     0},
    {0},
};

const struct command check_command = {
    .name = "check",
    .operand = "NN",
    .summary = "is my kernel right? Says what is wrong and where to look",
    .details = "NN is a lesson: its number, its topic or a path in its folder. The kernel file is\n"
               "lessons/NN_topic/topic.cu unless --kernel or --solution names another.",
    .options = check_options,
    .run = run_check,
};
