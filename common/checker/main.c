/**
 * @file main.c
 * @brief The checker: the only program that knows right answers. It holds no student code.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "options.h"
#include "process.h"
#include "rehearse.h"
#include "report.h"

enum { EXIT_PASS = 0, EXIT_FAIL = 1, EXIT_BROKEN = 2, EXIT_NOTHING = 77 };

static int exit_code_of(enum state state)
{
    static const int codes[STATE_COUNT] = {
        [STATE_PASS] = EXIT_PASS,    [STATE_FAIL] = EXIT_FAIL,           [STATE_CRASH] = EXIT_FAIL,
        [STATE_TIMEOUT] = EXIT_FAIL, [STATE_NOT_STARTED] = EXIT_NOTHING, [STATE_NO_DEVICE] = EXIT_NOTHING,
        [STATE_BROKEN] = EXIT_BROKEN};
    return codes[state];
}

static int choose(struct check *check)
{
    int chosen = 0;
    for (int i = 0; i < check->case_count; i++) {
        check->chosen[i] = options_choose(&check->options, &check->cases[i]);
        chosen += check->chosen[i];
    }
    if (chosen == 0) fputs("checker: no such case on this device; --list names them\n", stderr);
    return chosen > 0 ? 0 : -1;
}

static int save_case(struct check *check)
{
    check->options.case_name[0] = check->options.save_case;
    check->options.case_count = 1;
    if (choose(check) != 0) return EXIT_BROKEN;
    if (check_save(check, check->options.save_file) == 0) return EXIT_PASS;
    fprintf(stderr, "checker: %s cannot be written: %s\n", check->options.save_file, strerror(errno));
    return EXIT_BROKEN;
}

static int rehearse(struct check *check)
{
    check_run(check);
    rehearse_report(check);
    return check->broken[0] == '\0' ? EXIT_PASS : EXIT_BROKEN;
}

static int run(struct check *check)
{
    const struct options *options = &check->options;
    if (access(options->runner, X_OK) != 0) {
        fprintf(stderr, "checker: %s: %s\n", options->runner, strerror(errno));
        return EXIT_BROKEN;
    }
    process_prepare();
    check_run(check);
    report_text(check);
    if (options->bench) bench_report(check);
    if (options->ctest) report_ctest(check);
    int failed = 0;
    if (options->csv != NULL) failed = report_csv(check, options->csv) != 0;
    if (options->json != NULL) failed = report_json(check, options->json) != 0 || failed;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "checker: the report cannot be written: %s\n", strerror(errno));
        failed = 1;
    }
    return failed ? EXIT_BROKEN : exit_code_of(check_state(check, -1));
}

int main(int argc, char **argv)
{
    static struct check check;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        options_usage(stdout);
        return EXIT_PASS;
    }
    if (options_read(&check.options, argc, argv) != 0 || options_seed(&check.options, &check.seed) != 0) {
        options_usage(stderr);
        return EXIT_BROKEN;
    }
    check.case_count = check.options.lesson->cases(check.cases, CHECK_CASES);
    if (check.options.list) {
        report_list(&check);
        return EXIT_PASS;
    }
    if (check.options.save_case != NULL) return save_case(&check);
    if (choose(&check) != 0) return EXIT_BROKEN;
    return check.options.rehearse ? rehearse(&check) : run(&check);
}
