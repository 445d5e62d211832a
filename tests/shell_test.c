/*
 * Runs a test that is a shell script with expectations.
 *
 *     shell_test FILE.test WORK [ARGUMENT ...]
 *
 *     COMMAND => TEXT        it ends with 0, and what it prints, errors too, matches TEXT
 *     COMMAND => 2: TEXT     it ends with 2
 *     => TEXT                on a line of its own: the same output matches this, too
 *     !> TEXT                it does not match this
 *     COMMAND => @NAME       what it prints is golden/NAME.txt beside FILE, byte for byte, with the folder WORK called ROOT;
 *                            with UPDATE in the environment the file is written anew
 *     COMMAND => TEXT # ...  behind " # " stands a comment
 *
 * TEXT is an extended regular expression for the whole output, in which . takes newlines too, \n stands for a newline and ${name} for a
 * variable of the shell; without TEXT the exit status alone counts. All other lines are plain shell, and so is COMMAND; here-documents are
 * left alone. A plain line that fails ends the test (set -e), an expectation that fails is reported and counted. The script begins in
 * WORK, which is empty then; $here is the folder of FILE.
 */
#include <ctype.h>
#include <limits.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1 << 16 };

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(2);
}

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t length = 0, room = 1 << 16;
    char *content = malloc(room);
    if (file == NULL || content == NULL) fail("%s: cannot be read", path);
    for (size_t got; (got = fread(content + length, 1, room - length - 1, file)) > 0;) {
        length += got;
        if (room - length < 2 && (content = realloc(content, room *= 2)) == NULL) fail("out of memory");
    }
    fclose(file);
    for (size_t i = 0; i < length; i++)
        if (content[i] == '\0') content[i] = '?'; // what is compared is text
    content[length] = '\0';
    return content;
}

/* The text with every FROM in it replaced by TO; frees the text. */
static char *replaced(char *text, const char *from, const char *to)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, from)) != NULL; at += strlen(from)) count++;
    char *result = malloc(strlen(text) + count * strlen(to) + 1), *out = result;
    if (result == NULL) fail("out of memory");
    for (const char *at = text; *at != '\0';) {
        if (strncmp(at, from, strlen(from)) == 0) {
            out = stpcpy(out, to);
            at += strlen(from);
        } else
            *out++ = *at++;
    }
    *out = '\0';
    free(text);
    return result;
}

/* ---- one expectation: what the script calls ------------------------------------------------------------------------ */

static int is_golden(const char *output, const char *test, const char *name, const char *work)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s/golden/%s.txt", (int)(strrchr(test, '/') - test), test, name);
    char *said = replaced(strdup(output), work, "ROOT");
    if (getenv("UPDATE") != NULL) {
        FILE *file = fopen(path, "wb");
        if (file == NULL || fputs(said, file) == EOF || fclose(file) != 0)
            fail("%s: cannot be written", path);
    }
    char *wanted = read_whole(path);
    int same = strcmp(said, wanted) == 0;
    free(said);
    free(wanted);
    return same;
}

static int matches(const char *output, const char *pattern)
{
    regex_t compiled;
    char *text = replaced(replaced(strdup(pattern), "\\n", "\n"), "\\t", "\t"), message[256];
    int error = regcomp(&compiled, text, REG_EXTENDED | REG_NOSUB);
    if (error != 0) {
        regerror(error, &compiled, message, sizeof message);
        fail("%s: %s", pattern, message);
    }
    int found = regexec(&compiled, output, 0, NULL, 0) == 0;
    regfree(&compiled);
    free(text);
    return found;
}

/* --verify TEST LINE KIND CODE STATUS TEXT OUTPUT WORK: 0 if it holds. KIND is = or !; CODE - takes any STATUS. */
static int verify(char **arguments)
{
    const char *test = arguments[0], *line = arguments[1], *kind = arguments[2], *code = arguments[3];
    const char *status = arguments[4], *text = arguments[5], *work = arguments[7];
    char *output = read_whole(arguments[6]);
    int ended = strcmp(code, "-") == 0 || strcmp(code, status) == 0;
    int found = text[0] == '@' ? is_golden(output, test, text + 1, work) : matches(output, text);
    int holds = ended && (kind[0] == '=') == found;
    if (!holds) {
        printf("%s:%s: ", test, line);
        if (!ended) printf("ends with %s, not %s; ", status, code);
        printf("expected %s> %s\n%s\n", kind, text, output);
    }
    free(output);
    return !holds;
}

/* ---- from a test to a script ---------------------------------------------------------------------------------------- */

/* Writes TEXT as a word of the shell: quoted, but for ${name}. */
static void put_word(FILE *out, const char *text)
{
    fputc('\'', out);
    for (const char *at = text; *at != '\0'; at++) {
        const char *end = strncmp(at, "${", 2) == 0 ? strchr(at, '}') : NULL;
        if (end != NULL) {
            fprintf(out, "'\"%.*s\"'", (int)(end - at + 1), at);
            at = end;
        } else if (*at == '\'')
            fputs("'\\''", out);
        else
            fputc(*at, out);
    }
    fputc('\'', out);
}

/* "2: TEXT" -> 2 and TEXT; "TEXT" -> 0 and TEXT. The code may be a variable. */
static const char *split_code(const char *expected, char *code, size_t size)
{
    size_t length =
        strncmp(expected, "${", 2) == 0 ? strcspn(expected, "}") + 1 : strspn(expected, "0123456789");
    if (length > 0 && length < size && expected[length] == ':') {
        snprintf(code, size, "%.*s", (int)length, expected);
        expected += length + 1;
        return expected + strspn(expected, " ");
    }
    snprintf(code, size, "0");
    return expected;
}

static void put_verify(FILE *out, int line, const char *kind, const char *code, const char *text)
{
    fprintf(out, "verify %d '%s' ", line, kind);
    put_word(out, code);
    fputc(' ', out);
    put_word(out, text);
    fputc('\n', out);
}

/* Where a line says what is expected: " => TEXT" behind a command, or nothing. */
static char *expectation(char *line)
{
    char *at = strstr(line, " => ");
    size_t length = strlen(line);
    if (at == NULL && length > 3 && strcmp(line + length - 3, " =>") == 0) at = line + length - 3;
    return at;
}

/* The word that ends the here-document of this line, without quotes; or an empty one. */
static void find_here_document(const char *line, char *word, size_t size)
{
    const char *at = strstr(line, "<<");
    word[0] = '\0';
    if (at == NULL || at[2] == '<') return;
    at += 2 + strspn(at + 2, "-'\"\\");
    snprintf(word, size, "%.*s", (int)strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), at);
}

/* A line, or several that end with a backslash. */
static void put_command(FILE *out, char *command, int line)
{
    char *text = command + strspn(command, " "), code[64];
    int alone = strncmp(text, "=> ", 3) == 0 || strncmp(text, "!> ", 3) == 0;
    char *expected = alone ? text : expectation(command);
    if (expected == NULL) {
        fprintf(out, "%s\n", command);
        return;
    }
    char *comment = strstr(expected + 2, " # ");
    if (comment != NULL) *comment = '\0';
    if (alone) {
        put_verify(out, line, text[0] == '!' ? "!" : "=", "-", text + 3);
        return;
    }
    *expected = '\0';
    fprintf(out, "status=0; { %s\n} >\"$output\" 2>&1 || status=$?\n", command);
    const char *wanted = expected + 3;
    wanted += strspn(wanted, " ");
    wanted = split_code(wanted, code, sizeof code);
    put_verify(out, line, "=", code, wanted);
}

static void write_script(const char *test, const char *script)
{
    FILE *in = fopen(test, "r"), *out = fopen(script, "w");
    static char line[LINE_MAX_BYTES], command[LINE_MAX_BYTES];
    char here[64] = "";
    if (in == NULL || out == NULL) fail("%s or %s cannot be opened", test, script);
    fputs("set -e\nfailures=0\n"
          "verify() { \"$shell_test\" --verify \"$test\" \"$1\" \"$2\" \"$3\" \"$status\" \"$4\" \"$output\" "
          "\"$work\" || failures=$((failures + 1)); }\n"
          "trap '[ -n \"$finished\" ] || echo \"$test: a line without an expectation failed: sh -x $script "
          "shows it\"' EXIT\n",
          out);
    command[0] = '\0';
    for (int number = 1; fgets(line, sizeof line, in) != NULL; number++) {
        size_t length = strcspn(line, "\n");
        line[length] = '\0';
        if (here[0] != '\0') {
            fprintf(out, "%s\n", line);
            if (strcmp(line, here) == 0) here[0] = '\0';
            continue;
        }
        if (strlen(command) + length + 2 > sizeof command) fail("%s:%d: too long", test, number);
        strcat(command, line);
        if (length > 0 && line[length - 1] == '\\') {
            strcat(command, "\n");
            continue;
        }
        find_here_document(command, here, sizeof here);
        put_command(out, command, number);
        command[0] = '\0';
    }
    fputs("finished=1\n[ $failures -eq 0 ]\n", out);
    fclose(in);
    if (fclose(out) != 0) fail("%s: cannot be written", script);
}

int main(int count, char **arguments)
{
    if (count == 10 && strcmp(arguments[1], "--verify") == 0) return verify(arguments + 2);
    if (count < 3) fail("usage: shell_test FILE.test WORK [ARGUMENT ...]");
    char script[PATH_MAX], output[PATH_MAX], self[PATH_MAX], here[PATH_MAX];
    const char *test = arguments[1], *work = arguments[2];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0 || strchr(test, '/') == NULL) fail("the test and this program need a path");
    self[length] = '\0';
    snprintf(script, sizeof script, "%s.sh", work);
    snprintf(output, sizeof output, "%s.out", work);
    snprintf(here, sizeof here, "%.*s", (int)(strrchr(test, '/') - test), test);
    const char *const variables[][2] = {{"shell_test", self}, {"test", test},     {"work", work},
                                        {"script", script},   {"output", output}, {"here", here}};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        setenv(variables[i][0], variables[i][1], 1);
    if (system("rm -rf \"$work\" && mkdir -p \"$work\"") != 0 || chdir(work) != 0)
        fail("%s: cannot be made", work);
    write_script(test, script);
    arguments[1] = "sh";
    arguments[2] = script;
    execvp("sh", arguments + 1);
    fail("there is no sh");
}
