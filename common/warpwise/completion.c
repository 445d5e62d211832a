/**
 * @file completion.c
 * @brief warpwise completion bash: a script made from the table of commands, so that it is never out of date.
 */
#include "completion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "base/text.h"
#include "companion/companion.h"
#include "course/command.h"
#include "course/course.h"

/* Words that a value may be, "gpu|simt": of all commands with that option, the one that takes most. */
static const char *words_of(const char *name)
{
    const char *longest = NULL;
    for (size_t i = 0; program_commands[i] != NULL; i++) {
        for (const struct option_description *option = program_commands[i]->options; option->name != NULL;
             option++) {
            if (strcmp(option->name, name) != 0 || option->argument == NULL ||
                strchr(option->argument, '|') == NULL)
                continue;
            if (longest == NULL || strlen(option->argument) > strlen(longest)) longest = option->argument;
        }
    }
    return longest;
}

static void print_values(void)
{
    static const char *const options[] = {"--device", "--like"};
    printf("    case $before in\n");
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const char *words = words_of(options[i]);
        printf("        %s) words=\"", options[i]);
        for (char *word; (word = next_word(&words, '|')) != NULL; free(word)) printf("%s ", word);
        printf("\" ;;\n");
    }
    printf("        --kernel | --csv | --json | --svg | --from) files=1 ;;\n    esac\n");
}

static void print_command_words(const struct command *command)
{
    printf("            %s) words=\"", command->name);
    for (const struct option_description *option = command->options; option->name != NULL; option++)
        printf("%s ", option->name);
    printf("--help\"");
    if (command->operand != NULL && strstr(command->operand, "NN") != NULL && command != &new_lesson_command)
        printf("; lessons=1");
    if (command == &completion_command) printf("; words=\"bash --help\"");
    printf(" ;;\n");
}

static void print_script(void)
{
    size_t count;
    const struct lesson_folder *lessons = course_lessons(&count);
    printf("# bash completion of warpwise, written by `warpwise completion bash`\n"
           "_warpwise() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
           "command=${COMP_WORDS[1]}\n"
           "    local words= lessons= files=\n");
    print_values();
    printf("    if [ \"$COMP_CWORD\" = 1 ] || { [ \"$command\" = help ] && [ \"$COMP_CWORD\" = 2 ]; }; then\n"
           "        words=\"");
    for (size_t i = 0; program_commands[i] != NULL; i++)
        if (program_commands[i]->summary != NULL) printf("%s ", program_commands[i]->name);
    printf("help\"\n    elif [ -z \"$words\" ] && [ -z \"$files\" ]; then\n        case $command in\n");
    for (size_t i = 0; program_commands[i] != NULL; i++) print_command_words(program_commands[i]);
    printf("        esac\n    fi\n"
           "    if [ \"$lessons\" ] && [ \"$COMP_CWORD\" = 2 ]; then words=\"$words");
    for (size_t i = 0; i < count; i++) printf(" %s", lessons[i].number);
    printf("\"; fi\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
           "    if [ \"$files\" ]; then COMPREPLY=($(compgen -f -- \"$word\")); fi\n"
           "}\n"
           "complete -F _warpwise warpwise\n");
}

static int run_completion(const struct command_line *line)
{
    if (line->operand == NULL || strcmp(line->operand, "bash") != 0)
        return complain("completion is there for bash only: source <(%s completion bash)", program_name());
    print_script();
    return EXIT_PASS;
}

static const struct option_description options[] = {{0}};

const struct command completion_command = {
    .name = "completion",
    .operand = "bash",
    .summary = "what bash needs to complete these commands",
    .details = "Once:    source <(build/bin/warpwise completion bash)\n"
               "Always:  build/bin/warpwise completion bash >>~/.bash_completion\n"
               "It works for build/bin/warpwise as for warpwise on the PATH. Exit 0, or 2 for another shell.",
    .options = options,
    .run = run_completion,
};
