/**
 * @file main.c
 * @brief The program `warpwise`: its commands, its options, its help.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "companion/companion.h"
#include "completion.h"
#include "course/command.h"
#include "course/course.h"
#include "course/places.h"
#include "grading/grade.h"
#include "judging/judging.h"

static const struct command *const course_commands[] = {
    &status_command,      &next_command,       &watch_command,
    &check_command,       &hint_command,       &diff_command,
    &reset_command,       &bench_command,      &predict_command,
    &profile_command,     &trace_command,      &sass_command,
    &roofline_command,    &runner_command,     &tour_command,
    &grade_command,       &handout_command,    &new_lesson_command,
    &doctor_command,      &completion_command, &generate_command,
    &serve_bench_command, &hunt_command,       &debug_command,
    &editor_command,      &ran_command,        NULL};
enum { COMMAND_COUNT = sizeof course_commands / sizeof course_commands[0] - 1, HELP_WIDTH = 20 };

/* ---- help --------------------------------------------------------------------------------------------- */

static int print_help(void)
{
    printf("warpwise %s: a step-by-step course in GPU kernels\n\nusage: warpwise COMMAND [options]\n\n",
           places.version);
    for (int i = 0; i < COMMAND_COUNT; i++) {
        const struct command *command = course_commands[i];
        if (command->summary == NULL) continue;
        char left[48];
        snprintf(left, sizeof left, "%s %s %s", command->name,
                 command->operand != NULL ? command->operand : "",
                 command->second != NULL ? command->second : "");
        printf("  %-*s ", HELP_WIDTH, left);
        layout_paragraph(command->summary, HELP_WIDTH + 3, HELP_WIDTH + 3);
    }
    printf("  %-*s %s\n\n", HELP_WIDTH, "help", "this page; help COMMAND or COMMAND --help tells more");
    printf("exit codes: 0 pass, 1 fail, 2 bad usage or something broken outside the kernel,\n"
           "            77 not started or no device; help COMMAND says where a command differs\n"
           "environment: NO_COLOR no colours; WARPWISE_STATE the folder of what is remembered\n"
           "             (else under XDG_STATE_HOME or ~/.local/state)\n");
    return EXIT_PASS;
}

static int print_command_help(const struct command *command)
{
    printf("usage: warpwise %s", command->name);
    if (command->operand != NULL) printf(" %s", command->operand);
    if (command->second != NULL) printf(" %s", command->second);
    printf("%s\n", command->options->name != NULL ? " [options]" : "");
    if (command->summary != NULL) printf("\n%s\n", command->summary);
    printf("\n%s\n", command->details);
    if (command->options->name != NULL) printf("\noptions\n");
    for (const struct option_description *option = command->options; option->name != NULL; option++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", option->name, option->argument != NULL ? option->argument : "");
        printf("  %-25s %s\n", left, option->help);
    }
    return EXIT_PASS;
}

/* ---- options ------------------------------------------------------------------------------------------ */

static int unknown_option(const struct command *command, const char *word)
{
    const char *names[MAX_OPTIONS + 1] = {0};
    for (size_t i = 0; i < MAX_OPTIONS && command->options[i].name != NULL; i++)
        names[i] = command->options[i].name;
    const char *near = nearest_name(word, names);
    if (near != NULL) return complain("%s has no option \"%s\". Did you mean %s?", command->name, word, near);
    return complain("%s has no option \"%s\"; see warpwise %s --help.", command->name, word, command->name);
}

/* Takes one option, as "--name value" or "--name=value"; @p used receives how many words that took. */
static int take_option(const struct command *command, char **words, int left, struct command_line *line,
                       int *used)
{
    size_t length = strcspn(words[0], "=");
    const struct option_description *option = command->options;
    const char *value = words[0][length] ? words[0] + length + 1 : NULL;
    while (option->name != NULL &&
           (strlen(option->name) != length || strncmp(option->name, words[0], length) != 0))
        option++;
    *used = 1;
    if (option->name == NULL) return unknown_option(command, words[0]);
    if (option->argument == NULL && value != NULL) return complain("%s takes no value.", option->name);
    if (option->argument != NULL && value == NULL) {
        if (left < 2) return complain("%s needs a value: %s.", option->name, option->argument);
        value = words[1];
        *used = 2;
    }
    if (option->argument != NULL && !*value)
        return complain("%s needs a value: %s.", option->name, option->argument);
    if (!option->many && option_value(line, option->name) != NULL)
        return complain("%s is given twice.", option->name);
    if (line->count == sizeof line->name / sizeof line->name[0]) return complain("too many options.");
    line->name[line->count] = option->name;
    line->value[line->count++] = value != NULL ? value : "";
    return EXIT_PASS;
}

static int read_command_line(const struct command *command, char **words, int count,
                             struct command_line *line)
{
    for (int i = 0, used; i < count; i += used) {
        used = 1;
        if (words[i][0] == '-' && words[i][1] != '\0') {
            if (take_option(command, words + i, count - i, line, &used) != EXIT_PASS) return EXIT_TROUBLE;
        } else if (command->operand == NULL) {
            return complain("%s takes no \"%s\"; see warpwise %s --help.", command->name, words[i],
                            command->name);
        } else if (line->operand_count > (command->second != NULL ? 1 : 0) && !command->many) {
            return complain("one lesson at a time: \"%s\" is one too many.", words[i]);
        } else if (line->operand_count == MAX_OPERANDS) {
            return complain("more than %d names are too many.", MAX_OPERANDS);
        } else {
            if (line->operand == NULL) line->operand = words[i];
            line->operands[line->operand_count++] = words[i];
        }
    }
    return EXIT_PASS;
}

/* ---- commands ----------------------------------------------------------------------------------------- */

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(course_commands[i]->name, name) == 0) return course_commands[i];
    }
    const char *names[COMMAND_COUNT + 2] = {0};
    size_t listed = 0;
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (course_commands[i]->summary != NULL) names[listed++] = course_commands[i]->name;
    }
    names[listed] = "help";
    const char *near = nearest_name(name, names);
    for (int i = 0; i < COMMAND_COUNT && near == NULL; i++) { /* a word of what a command is for */
        const char *summary = course_commands[i]->summary;
        if (summary != NULL && strlen(name) > 3 && strstr(summary, name) != NULL)
            near = course_commands[i]->name;
    }
    if (near != NULL) {
        complain("there is no command \"%s\". Did you mean %s?", name, near);
    } else {
        complain("there is no command \"%s\"; warpwise help lists them.", name);
    }
    return NULL;
}

static int asks_for_help(int count, char **words)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0) return 1;
    }
    return 0;
}

static int run_command(const struct command *command, int count, char **words)
{
    struct command_line line = {0};
    if (asks_for_help(count, words)) return print_command_help(command);
    if (read_command_line(command, words, count, &line) != EXIT_PASS) return EXIT_TROUBLE;
    if (course_locate() != EXIT_PASS) return EXIT_TROUBLE;
    return command->run(&line);
}

static int dispatch(int count, char **words)
{
    const char *name = count > 1 ? words[1] : "status";
    if (strcmp(name, "--version") == 0) {
        printf("warpwise %s\n", places.version);
        return EXIT_PASS;
    }
    int help = strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
    if (help && count < 3) return print_help();
    const struct command *command = find_command(help ? words[2] : name);
    if (command == NULL) return EXIT_TROUBLE;
    return help ? print_command_help(command) : run_command(command, count > 2 ? count - 2 : 0, words + 2);
}

/* CTest gives a test a slot of one GPU (docs/security.md, "The CTest way") in words of its own. */
static void take_gpu_of_ctest(void)
{
    const char *given = getenv("CTEST_RESOURCE_GROUP_0_GPUS");
    char id[64];
    if (given != NULL && sscanf(given, "id:%63[^,;]", id) == 1) setenv("CUDA_VISIBLE_DEVICES", id, 0);
}

int main(int count, char **words)
{
    process_catch_signals();
    program_commands = course_commands;
    set_program_name(count > 0 ? words[0] : "warpwise");
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit shall be an error that can be explained */
    signal(SIGPIPE, SIG_IGN);
    take_gpu_of_ctest();
    int code = dispatch(count, words);
    int stopped_by = process_interrupted();
    if (fflush(stdout) != 0 && code == EXIT_PASS) { /* a reader that has seen enough is no fault */
        code = errno == EPIPE ? EXIT_TROUBLE : complain("the output cannot be written: %s.", strerror(errno));
    }
    if (stopped_by) { /* end as the signal asks, so that a shell or ctest sees it */
        signal(stopped_by, SIG_DFL);
        raise(stopped_by);
    }
    return code;
}
