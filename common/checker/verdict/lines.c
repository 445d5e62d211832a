/**
 * @file lines.c
 * @brief The source lines of what the software device found in an untrusted runner.
 *
 * Such a runner may start no program, so the device knows addresses only. Their lines are looked up
 * afterwards: addr2line reads a file that a submission has influenced, so it runs in the sandbox.
 */
#include "lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "base/text.h"
#include "sandbox/sandbox.h"

enum { MOST_ADDRESSES = 64, ADDRESS = 24 };

struct addresses {
    uint64_t address[MOST_ADDRESSES];
    struct record_line line[MOST_ADDRESSES]; /* 0: not known either */
    size_t count;
};

static struct record_line *line_of(struct addresses *known, uint64_t address)
{
    for (size_t i = 0; i < known->count; i++)
        if (known->address[i] == address) return &known->line[i];
    return NULL;
}

static void collect(struct record_line *line, struct addresses *known)
{
    if (line->address == 0 || line->line > 0 || line_of(known, line->address) != NULL) return;
    if (known->count < MOST_ADDRESSES) known->address[known->count++] = line->address;
}

static void replace(struct record_line *line, struct addresses *known)
{
    const struct record_line *found = line->line > 0 ? NULL : line_of(known, line->address);
    if (found != NULL && found->line > 0) *line = *found;
}

static void visit(struct record *record, void (*see)(struct record_line *, struct addresses *),
                  struct addresses *known)
{
    for (int a = 0; a < 2; a++)
        for (int i = 0; i < RECORD_FRAMES; i++) see(&record->actor[a].at[i], known);
    see(&record->memory.made, known);
    for (int i = 0; i < RECORD_WAITS; i++) see(&record->wait[i].at, known);
}

static void visit_all(struct check *check, void (*see)(struct record_line *, struct addresses *),
                      struct addresses *known)
{
    for (int i = 0; i < check->case_count; i++) {
        struct verdict *verdict = &check->verdicts[i];
        for (int f = 0; f < verdict->finding_count; f++) visit(&verdict->finding[f], see, known);
        if (verdict->record.origin == RECORD_DEVICE) visit(&verdict->record, see, known);
    }
}

/* "/home/me/alpha.cu:88 (discriminator 2)", or "??:0"; lines of files other than kernel files are dropped. */
static void read_line(char *text, struct record_line *line)
{
    static const char ending[] = ".cu";
    char *slash = strrchr(text, '/'), *name = slash != NULL ? slash + 1 : text, *colon = strrchr(name, ':');
    if (colon == NULL) return;
    *colon = '\0';
    const size_t length = strlen(name), last = sizeof ending - 1;
    const int number = atoi(colon + 1);
    if (number <= 0 || length <= last || length >= RECORD_TEXT || strcmp(name + length - last, ending) != 0)
        return;
    line->line = number;
    snprintf(line->file, sizeof line->file, "%s", name);
}

/* addr2line prints one line for each address, in order. */
static void look_up(const char *runner, struct addresses *known)
{
    char *tool = find_program("addr2line"), text[MOST_ADDRESSES][ADDRESS];
    const char *arguments[MOST_ADDRESSES + 4] = {tool, "-e", runner}, *readable[] = {runner, NULL};
    if (tool == NULL) return;
    for (size_t i = 0; i < known->count; i++) {
        snprintf(text[i], ADDRESS, "0x%llx", (unsigned long long)known->address[i]);
        arguments[i + 3] = text[i];
    }
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
        char *line = next_word(&rest, '\n');
        if (line != NULL) read_line(line, &known->line[i]);
        free(line);
    }
    free(child);
    free(tool);
}

void lines_look_up(struct check *check)
{
    struct addresses known = {.count = 0};
    visit_all(check, collect, &known);
    if (known.count == 0) return;
    look_up(check->options.runner, &known);
    visit_all(check, replace, &known);
}
