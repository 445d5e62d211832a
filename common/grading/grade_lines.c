/**
 * @file grade_lines.c
 * @brief What the software device found, with the line it was found at.
 *
 * A runner of an untrusted kernel may start no program, so the device knows addresses only. Their lines are looked up
 * afterwards: addr2line reads a file that a submission had a hand in, so it runs in the sandbox.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "base/text.h"
#include "grade.h"
#include "sandbox/sandbox.h"

enum { MOST_ADDRESSES = 64, ADDRESS = 24, LINES_TOLD = 5 };
static const char before[] = "address 0x", behind[] = " (no line known)";

struct addresses {
    char text[MOST_ADDRESSES][ADDRESS];
    char *line[MOST_ADDRESSES]; /* "tiled_attention.cu:88", or NULL */
    size_t count;
};

/* The address at @p at, which is where `before` stands; its length, or 0. */
static size_t address_at(const char *at, char address[ADDRESS])
{
    const char *digits = at + sizeof before - 1;
    size_t length = strspn(digits, "0123456789abcdef");
    if (length == 0 || length + 3 > ADDRESS || strncmp(digits + length, behind, sizeof behind - 1) != 0)
        return 0;
    snprintf(address, ADDRESS, "0x%.*s", (int)length, digits);
    return length;
}

static size_t index_of(const struct addresses *known, const char *address)
{
    size_t i = 0;
    while (i < known->count && strcmp(known->text[i], address) != 0) i++;
    return i;
}

static void collect(const char *log, struct addresses *known)
{
    char address[ADDRESS];
    for (const char *at = log; (at = strstr(at, before)) && known->count < MOST_ADDRESSES; at++) {
        if (!address_at(at, address) || index_of(known, address) < known->count) continue;
        snprintf(known->text[known->count++], ADDRESS, "%s", address);
    }
}

/* One line of its output for each address, in their order: "FILE:LINE", or "??:0". */
static void look_up(const char *runner, struct addresses *known)
{
    char *tool = find_program("addr2line");
    const char *arguments[MOST_ADDRESSES + 4] = {tool, "-e", runner}, *readable[] = {runner, NULL};
    if (!tool) return;
    for (size_t i = 0; i < known->count; i++) arguments[i + 3] = known->text[i];
    struct sandbox sandbox = {.arguments = arguments,
                              .readable = readable,
                              .isolation = SANDBOX_ISOLATED,
                              .kind = SANDBOX_RUNNER,
                              .descriptor = {-1, -1, -1},
                              .limits = {20.0, UINT64_C(1) << 30, 0, 1 << 20, 16, 64}};
    struct sandboxed *child = must_allocate(sizeof *child);
    enum sandbox_end end = sandbox_run(&sandbox, 20.0, process_interrupted, child);
    const char *rest = child->text;
    for (size_t i = 0; end == SANDBOX_DONE && child->exit_code == 0 && i < known->count; i++) {
        char *line = next_word(&rest, '\n'), *slash = line ? strrchr(line, '/') : NULL;
        const char *name = slash ? slash + 1 : line;
        if (name && strstr(name, ".cu:") && !strstr(name, ":0")) {
            known->line[i] = copy_string(name);
            known->line[i][strcspn(name, " ")] = '\0'; /* "(discriminator 2)" */
        }
        free(line);
    }
    free(child);
    free(tool);
}

void grade_name_lines(const char *runner, struct text *log)
{
    struct addresses known = {.count = 0};
    struct text out = {0};
    char address[ADDRESS];
    if (log->data) collect(log->data, &known);
    if (known.count == 0) return;
    look_up(runner, &known);
    text_append(&out, "", 0);
    for (const char *at = log->data; *at;) {
        size_t digits = strncmp(at, before, sizeof before - 1) == 0 ? address_at(at, address) : 0;
        size_t i = digits ? index_of(&known, address) : known.count;
        if (i < known.count && known.line[i]) {
            text_print(&out, "%s", known.line[i]);
            at += sizeof before - 1 + digits + sizeof behind - 1;
        } else {
            text_append(&out, at++, 1);
        }
    }
    for (size_t i = 0; i < known.count; i++) free(known.line[i]);
    text_free(log);
    *log = out;
}

/* The first lines that the checker quotes of what the device said, below the case's own line. */
void grade_put_finding(const char *log, const char *test_case, struct text *out)
{
    char *begin = format_string(" case %s: ", test_case);
    const char *at = strstr(log, begin);
    size_t told = 0;
    for (at = at ? strchr(at, '\n') : NULL; at && told < LINES_TOLD; at = strchr(at, '\n')) {
        at++;
        size_t blanks = strspn(at, " "), length = strcspn(at, "\n");
        if (at[blanks] == '|' && length > blanks + 2) {
            text_print(out, "%.*s\n", (int)(length - blanks - 2), at + blanks + 2);
            told++;
        } else if (told > 0 || blanks < 4) {
            break;
        }
    }
    free(begin);
}
