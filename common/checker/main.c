/**
 * @file main.c
 * @brief The checker: the only program that knows the right answers. It runs no student code.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checker/cases/case_table.h"
#include "checker/promises/promises.h"
#include "options.h"
#include "checker/verdict/child.h"
#include "checker/verdict/phases.h"
#include "checker/verdict/workers.h"
#include "checker/report/report.h"

enum { EXIT_PASS = 0, EXIT_FAIL = 1, EXIT_BROKEN = 2, EXIT_NOTHING = 77 };

static int exit_code_of(enum state state)
{
    static const int codes[STATE_COUNT] = {
        [STATE_PASS] = EXIT_PASS,           [STATE_FAIL] = EXIT_FAIL,
        [STATE_CRASH] = EXIT_FAIL,          [STATE_TIMEOUT] = EXIT_FAIL,
        [STATE_NOT_STARTED] = EXIT_NOTHING, [STATE_NO_DEVICE] = EXIT_NOTHING,
        [STATE_NOT_GRADED] = EXIT_BROKEN,   [STATE_IN_PROGRESS] = EXIT_FAIL};
    return codes[state];
}

/* Refused calls are worth something only in a part that also computes. If only refused calls were chosen,
 * the part's first case runs, too, to show that. */
static void choose_witnesses(struct check *check)
{
    for (int part = 0; part < check->options.lesson->part_count; part++) {
        int refusals = 0, others = 0, first = -1;
        for (int i = check->case_count; i-- > 0;) {
            if (check->cases[i].part != part || !(check->cases[i].devices & (1u << check->options.device)))
                continue;
            int works = check->cases[i].expected == KERNEL_OK;
            if (check->chosen[i]) refusals += !works, others += works;
            if (works && check->cases[i].group == GROUP_BASIC) first = i;
        }
        if (refusals == 0 || others > 0 || first < 0) continue;
        check->chosen[first] = check->witness[first] = 1;
    }
}

/* A name that means no case is an error even beside a valid one: otherwise nobody would notice that the
 * case did not run. */
static int name_is_known(const struct check *check, const char *name)
{
    enum { NEAR = 3 };
    const char *near[NEAR];
    const struct lesson *lesson = check->options.lesson;
    const size_t length = strlen(name);
    for (int i = 0; i < check->case_count; i++)
        if (case_table_means(name, &check->cases[i])) return 1;
    if (length > 0 && name[length - 1] == '/') {
        fprintf(stderr, "checker: lesson %02d has no part %.*s; its parts:", lesson->number, (int)length - 1,
                name);
        for (int i = 0; i < lesson->part_count; i++) fprintf(stderr, " %s", lesson->part[i].name);
        fputc('\n', stderr);
        return 0;
    }
    int count = case_table_near(check->cases, check->case_count, name, near, NEAR);
    fprintf(stderr, "checker: lesson %02d has no such case: %s", check->options.lesson->number, name);
    for (int i = 0; i < count; i++) fprintf(stderr, "%s%s", i == 0 ? "; did you mean " : ", ", near[i]);
    fprintf(stderr, "%s (warpwise check %02d --list names them all)\n", count > 0 ? "?" : "",
            check->options.lesson->number);
    return 0;
}

static int choose(struct check *check)
{
    int chosen = 0;
    for (int i = 0; i < check->options.case_count; i++)
        if (!name_is_known(check, check->options.case_name[i])) return -1;
    for (int i = 0; i < check->case_count; i++) {
        check->chosen[i] = options_choose(&check->options, &check->cases[i]);
        chosen += check->chosen[i];
    }
    if (check->options.groups != 0) choose_witnesses(check);
    if (chosen == 0)
        fprintf(stderr, "checker: none of these cases runs on %s\n", device_name(check->options.device));
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

/* Inputs of hundreds of megabytes come and go: what is given back stays with the process, since the system would have to clear its
 * pages anew for every case. */
static void keep_memory(void)
{
#ifdef M_MMAP_MAX
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

static int run(struct check *check)
{
    struct options *options = &check->options;
    char *runner = realpath(options->runner, NULL); /* the program may be started again in another folder */
    if (runner == NULL || access(runner, X_OK) != 0) {
        fprintf(stderr, "checker: %s: %s\n", options->runner, strerror(errno));
        free(runner);
        return EXIT_BROKEN;
    }
    options->runner = runner;
    sandbox_prepare();
    if (options->device == DEVICE_GPU) keep_memory();
    const uint64_t begin = phases_now();
    check->workers = workers_of(check);
    check_run(check);
    const uint64_t ns = phases_now() - begin;
    report_text(check);
    if (options->ctest) report_ctest(check);
    if (options->phases) report_phases(check, (double)ns * 1e-9);
    int failed = 0;
    if (options->csv != NULL) failed = report_csv(check, options->csv) != 0;
    if (options->json != NULL) failed = report_json(check, options->json) != 0 || failed;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "checker: the report cannot be written: %s\n", strerror(errno));
        failed = 1;
    }
    return failed ? EXIT_BROKEN : exit_code_of(check_state(check, -1));
}

/* It is no error if the folder exists. */
static int make_folder(const char *path)
{
    if (path == NULL || mkdir(path, 0700) == 0 || (errno == EEXIST && access(path, W_OK | X_OK) == 0))
        return 0;
    fprintf(stderr, "checker: %s: %s\n", path, strerror(errno));
    return -1;
}

int main(int argc, char **argv)
{
    /* shared with the workers; the kernel gives zeros */
    struct check *check =
        mmap(NULL, sizeof *check, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (check == MAP_FAILED) {
        fprintf(stderr, "checker: no memory\n");
        return EXIT_BROKEN;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        options_usage(stdout);
        return EXIT_PASS;
    }
    if (argc == 2 && strcmp(argv[1], "--promises") == 0)
        return promises_page(stdout) == 0 ? EXIT_PASS : EXIT_BROKEN;
    if (options_read(&check->options, argc, argv) != 0 || options_seed(&check->options, &check->seed) != 0) {
        fputs("checker: --help lists the options\n", stderr);
        return EXIT_BROKEN;
    }
    check->case_count = promises_cases(check->options.lesson, check->cases, CHECK_CASES);
    char why[VERDICT_TEXT];
    if (case_table_check(check->options.lesson, check->cases, check->case_count, CHECK_CASES, why,
                         sizeof why) != 0) {
        fprintf(stderr, "checker: %s\n", why);
        return EXIT_BROKEN;
    }
    if (check->options.list) {
        report_list(check);
        return EXIT_PASS;
    }
    if (check->options.rubric) {
        report_rubric(check->options.lesson);
        return EXIT_PASS;
    }
    if (check->options.costs) {
        report_costs(check);
        return EXIT_PASS;
    }
    if (check->options.save_case != NULL) return save_case(check);
    if (choose(check) != 0 || make_folder(check->options.remember) != 0) return EXIT_BROKEN;
    return run(check);
}
