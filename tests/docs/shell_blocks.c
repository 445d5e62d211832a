/*
 * Shell blocks of the pages: executed, or at least read.
 *
 *     shell_blocks --run WORK PAGE...       executes every block ```sh cpu in the folder WORK, and compares what it prints
 *                                           with the block ```text expected behind it
 *     shell_blocks --run-slow WORK PAGE...  the same for ```sh cpu slow
 *     shell_blocks --parse ROOT BUILD PAGE... reads every other ```sh block and every `command` in the text: programs,
 *                                           commands, options, presets and targets must exist
 *
 * In expected text a line ... stands for any lines, … within a line for anything, and numbers in front of a unit of time
 * are not compared. A last command that is to end with another status than 0 says so: # exit 77
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "writing.h"

static int failures;

/* What a command prints, both streams; its exit status in *status. */
static char *output_of(const char *command, int *status)
{
    struct text all = {0};
    char line[4096];
    text_add(&all, "");
    FILE *pipe = popen(command, "r");
    if (pipe == NULL) fail("%s: cannot be started", command);
    while (fgets(line, sizeof line, pipe) != NULL) text_add(&all, line);
    int result = pclose(pipe);
    *status = WIFEXITED(result) ? WEXITSTATUS(result) : 128;
    return all.data;
}

/* ---- comparing ----------------------------------------------------------------------------------------------------- */

/* The line without what changes from run to run: "1.25 s" becomes "N s". */
static void normalise(char *line)
{
    static const char *const units[] = {"s", "ms", "us", "µs", "seconds"};
    struct text out = {0};
    text_add(&out, "");
    for (const char *at = line; *at != '\0';) {
        size_t digits = strspn(at, "0123456789.");
        const char *unit = at + digits + (at[digits] == ' ');
        int is_time = 0;
        for (size_t i = 0; digits > 0 && i < sizeof units / sizeof units[0]; i++) {
            size_t length = strlen(units[i]);
            is_time |= strncmp(unit, units[i], length) == 0 && !isalnum((unsigned char)unit[length]);
        }
        if (is_time && isdigit((unsigned char)*at))
            text_add(&out, "N");
        else
            text_append(&out, at, digits > 0 ? digits : 1);
        at += digits > 0 ? digits : 1;
    }
    size_t length = out.length;
    while (length > 0 && isspace((unsigned char)out.data[length - 1])) length--;
    snprintf(line, 4096, "%.*s", (int)length, out.data);
    text_free(&out);
}

/* Does the line fit, where … in the pattern stands for anything? */
static int fits(const char *pattern, const char *line)
{
    const char *gap = strstr(pattern, "…");
    if (gap == NULL) return strcmp(pattern, line) == 0;
    size_t before = (size_t)(gap - pattern);
    if (strncmp(pattern, line, before) != 0) return 0;
    for (const char *rest = line + before;; rest++) {
        if (fits(gap + strlen("…"), rest)) return 1;
        if (*rest == '\0') return 0;
    }
}

static int split(char *text, char **lines, int most)
{
    int count = 0;
    for (char *line; (line = strsep(&text, "\n")) != NULL && count < most;) {
        char *copy = calloc(1, 4097);
        snprintf(copy, 4096, "%s", line);
        normalise(copy);
        lines[count++] = copy;
    }
    while (count > 0 && lines[count - 1][0] == '\0') free(lines[--count]);
    return count;
}

static int all_fit(char **expected, int count, char **got, int lines)
{
    if (count == 0) return lines == 0;
    if (strcmp(expected[0], "...") == 0)
        return all_fit(expected + 1, count - 1, got, lines) ||
               (lines > 0 && all_fit(expected, count, got + 1, lines - 1));
    return lines > 0 && fits(expected[0], got[0]) && all_fit(expected + 1, count - 1, got + 1, lines - 1);
}

static void compare(const char *where, const char *expected, const char *got)
{
    enum { LINES = 1000 };
    static char *expected_lines[LINES], *got_lines[LINES];
    char *expected_copy = strdup(expected), *got_copy = strdup(got);
    int count = split(expected_copy, expected_lines, LINES), lines = split(got_copy, got_lines, LINES);
    if (!all_fit(expected_lines, count, got_lines, lines)) {
        printf("%s: the page shows\n%sbut it printed\n%s\n", where, expected, got);
        failures++;
    }
    for (int i = 0; i < count; i++) free(expected_lines[i]);
    for (int i = 0; i < lines; i++) free(got_lines[i]);
    free(expected_copy);
    free(got_copy);
}

/* ---- executing ----------------------------------------------------------------------------------------------------- */

static char *execute(const char *where, const char *work, const char *block)
{
    struct text command = {0};
    text_add(&command, "cd '");
    text_add(&command, work);
    text_add(&command, "' && NO_COLOR=1 sh -c '");
    for (const char *at = block; *at != '\0'; at++) {
        if (*at == '\'')
            text_add(&command, "'\\''");
        else
            text_append(&command, at, 1);
    }
    text_add(&command, "' 2>&1 </dev/null");
    int status, wanted = 0;
    char *got = output_of(command.data, &status);
    const char *exit_comment = strstr(block, "# exit ");
    if (exit_comment != NULL) wanted = atoi(exit_comment + 7);
    if (status != wanted) {
        printf("%s: status %d instead of %d\n%s%s\n", where, status, wanted, block, got);
        failures++;
    }
    text_free(&command);
    return got;
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */

static struct {
    const char *root;
    char *program_help, *simtcc_help, *presets, *targets;
} known;

/* Does a word stand in the text, with nothing that could be part of it on either side? */
static int has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        int before = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '-' || at[-1] == '_');
        int after = !(isalnum((unsigned char)at[length]) || at[length] == '-' || at[length] == '_');
        if (before && after) return 1;
    }
    return 0;
}

static void complain(const char *where, const char *what, const char *word)
{
    printf("%s: %s: %s\n", where, what, word);
    failures++;
}

static char *help_of(const char *program, const char *command)
{
    struct text line = {0};
    int status;
    text_print(&line, "cd '%s' && NO_COLOR=1 %s %s --help 2>&1 </dev/null", known.root, program, command);
    char *help = output_of(line.data, &status);
    text_free(&line);
    return help;
}

/* A word without what may stand around it in prose: options in brackets, = and a value. */
static int is_option(const char *word)
{
    return word[0] == '-' && word[1] == '-' && isalpha((unsigned char)word[2]);
}

static void check_options(const char *where, char **words, int count, const char *help)
{
    for (int i = 0; i < count; i++) {
        if (!is_option(words[i])) continue;
        words[i][strcspn(words[i], "=")] = '\0';
        if (!has_word(help, words[i])) complain(where, "no such option", words[i]);
    }
}

static void check_cmake(const char *where, char **words, int count)
{
    for (int i = 0; i + 1 < count; i++) {
        struct text quoted = {0};
        text_print(&quoted, "\"%s\"", words[i + 1]);
        if (strcmp(words[i], "--preset") == 0 && strstr(known.presets, quoted.data) == NULL)
            complain(where, "no such preset", words[i + 1]);
        if (strcmp(words[i], "--target") == 0 && !has_word(known.targets, words[i + 1]))
            complain(where, "no such target", words[i + 1]);
        text_free(&quoted);
    }
}

static void check_program(const char *where, char **words, int count)
{
    if (count < 2 || words[1][0] == '-') {
        check_options(where, words, count, known.program_help);
    } else if (!has_word(known.program_help, words[1])) {
        complain(where, "warpwise has no command", words[1]);
    } else {
        char *help = help_of("build/bin/warpwise", words[1]);
        check_options(where, words, count, help);
        free(help);
    }
}

/* One command with its words. Programs of other people are taken on trust. */
static void check_command(const char *where, char **words, int count)
{
    static const char *const others[] = {
        "nvcc", "ncu",  "nsys",     "compute-sanitizer", "cuda-gdb", "git", "cd",      "cp",
        "diff", "sudo", "chromium", "doxygen",           "less",     "sed", "$EDITOR", "apt-get",
        "eval", "echo", "source",   "python3",           "export"};
    while (count > 0 && strchr(words[0], '=') != NULL) { // VARIABLE=value program
        words++;
        count--;
    }
    if (count == 0) return;
    if (strcmp(words[0], "build/bin/warpwise") == 0)
        check_program(where, words, count);
    else if (strcmp(words[0], "build/bin/simtcc") == 0)
        check_options(where, words, count, known.simtcc_help);
    else if (strcmp(words[0], "cmake") == 0 || strcmp(words[0], "ctest") == 0)
        check_cmake(where, words, count);
    else if (strncmp(words[0], "build/", 6) == 0)
        return; // what an earlier line built
    else if (strchr(words[0], '/') != NULL) {
        struct text path = {0};
        text_print(&path, "%s/%s", known.root, words[0]);
        FILE *file = fopen(path.data, "r");
        if (file == NULL)
            complain(where, "no such program", words[0]);
        else
            fclose(file);
        text_free(&path);
    } else {
        int found = 0;
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
            found |= strcmp(words[0], others[i]) == 0;
        if (!found) complain(where, "a program nobody knows", words[0]);
    }
}

/* Commands of one line, parted by && ; and |. */
static void check_line(const char *where, const char *line)
{
    enum { WORDS = 64 };
    char *copy = strdup(line), *rest = copy, *words[WORDS];
    int count = 0;
    for (char *word; (word = strsep(&rest, " \t")) != NULL && count < WORDS;) {
        size_t length = strlen(word);
        if (length == 0) continue;
        if (word[0] == '#' || strcmp(word, "...") == 0 || word[0] == '>' || word[0] == '<') break;
        int last = strcmp(word, "&&") == 0 || strcmp(word, "|") == 0 || word[length - 1] == ';';
        if (strcmp(word, "\\") != 0 && (!last || word[length - 1] == ';')) words[count++] = word;
        if (last) {
            if (word[length - 1] == ';') word[length - 1] = '\0';
            check_command(where, words, count);
            count = 0;
        }
    }
    check_command(where, words, count);
    free(copy);
}

/* `build/bin/warpwise check 01` in the text of a page. */
static void check_spans(const char *where, const char *line)
{
    for (const char *at = line; (at = strchr(at, '`')) != NULL;) {
        const char *end = strchr(at + 1, '`');
        if (end == NULL) return;
        char *span = strndup(at + 1, (size_t)(end - at) - 1);
        if (strncmp(span, "build/bin/", 10) == 0 || strncmp(span, "cmake --", 8) == 0 ||
            strncmp(span, "ctest --", 8) == 0)
            check_line(where, span);
        free(span);
        at = end + 1;
    }
}

/* ---- pages --------------------------------------------------------------------------------------------------------- */

enum mode { RUN, RUN_SLOW, PARSE };

struct block {
    char info[64];
    struct text text;
};

static int runs(const struct block *block, enum mode mode)
{
    return strcmp(block->info, mode == RUN ? "sh cpu" : "sh cpu slow") == 0;
}

/* A block is complete. *printed holds what the block before it printed, or NULL. */
static void end_block(struct block *block, enum mode mode, const char *work, const char *where,
                      char **printed, int *count)
{
    const char *text = block->text.data == NULL ? "" : block->text.data;
    if (mode != PARSE && strcmp(block->info, "text expected") == 0) {
        if (*printed != NULL) compare(where, text, *printed);
    } else {
        free(*printed);
        *printed = NULL;
    }
    if (mode != PARSE && runs(block, mode)) {
        *printed = execute(where, work, text);
        (*count)++;
    } else if (mode == PARSE && strncmp(block->info, "sh", 2) == 0 &&
               (block->info[2] == '\0' || block->info[2] == ' ')) {
        char *copy = strdup(text), *rest = copy;
        for (char *line; (line = strsep(&rest, "\n")) != NULL;) check_line(where, line);
        free(copy);
        (*count)++;
    }
    text_free(&block->text);
}

static int read_page(const char *path, enum mode mode, const char *work)
{
    char *page = read_whole(path), *printed = NULL;
    if (page == NULL) fail("%s: cannot be read", path);
    struct block block = {.info = ""};
    int inside = 0, number = 0, count = 0;
    char *rest = page;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        struct text where = {0};
        text_print(&where, "%s:%d", path, ++number);
        if (strncmp(line, "```", 3) == 0) {
            if (inside)
                end_block(&block, mode, work, where.data, &printed, &count);
            else
                snprintf(block.info, sizeof block.info, "%s", line + 3);
            inside = !inside;
        } else if (inside)
            text_print(&block.text, "%s\n", line);
        else if (mode == PARSE)
            check_spans(where.data, line);
        text_free(&where);
    }
    free(printed);
    free(page);
    return count;
}

int main(int count, char **arguments)
{
    enum mode mode = PARSE;
    if (count < 4) fail("usage: shell_blocks --run|--run-slow|--parse FOLDER PAGE...");
    if (strcmp(arguments[1], "--run") == 0)
        mode = RUN;
    else if (strcmp(arguments[1], "--run-slow") == 0)
        mode = RUN_SLOW;
    else if (strcmp(arguments[1], "--parse") != 0)
        fail("shell_blocks: what is %s?", arguments[1]);
    if (mode == PARSE) {
        struct text presets = {0};
        int status;
        known.root = arguments[2];
        known.program_help = help_of("build/bin/warpwise", "");
        known.simtcc_help = help_of("build/bin/simtcc", "");
        text_print(&presets, "%s/CMakePresets.json", known.root);
        known.presets = read_whole(presets.data);
        if (known.presets == NULL) fail("%s: cannot be read", presets.data);
        text_free(&presets);
        struct text command = {0};
        text_print(&command, "cmake --build '%s' --target help 2>&1", arguments[3]);
        known.targets = output_of(command.data, &status);
        text_free(&command);
    }
    int blocks = 0;
    for (int i = mode == PARSE ? 4 : 3; i < count; i++) blocks += read_page(arguments[i], mode, arguments[2]);
    printf("%d blocks, %d complaints\n", blocks, failures);
    free(known.program_help);
    free(known.simtcc_help);
    free(known.presets);
    free(known.targets);
    return failures > 0 || blocks == 0;
}
