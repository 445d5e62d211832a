/**
 * @file sass_listing.c
 * @brief Counts the instructions of a listing and finds the longest innermost loop.
 */
#include "sass_listing.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { LABEL = 48 };

struct instruction {
    unsigned address, target;
    int jumps; /* 1: to target, 2: to label */
    char name[SASS_NAME], label[LABEL];
};

struct label {
    char name[LABEL];
    unsigned address;
};

/* The kernel that is currently read. */
struct code {
    struct instruction *line;
    size_t lines;
    struct label *label;
    size_t labels, settled; /* the first `settled` of them have an address */
};

/* ---- one instruction ---------------------------------------------------------------------------------- */

/* The part of a name that counts: the first word, for MUFU also its function, for memory accesses also the
 * width. */
static void set_name(struct instruction *line, const char *word, size_t length)
{
    static const char *const widths[] = {".128", ".64", NULL};
    size_t base = strcspn(word, ". ;"), kept;
    if (base > length) base = length;
    kept = base;
    if (strncmp(word, "MUFU.", 5) == 0 && length > 5) kept = 5 + strcspn(word + 5, ". ;");
    if (kept >= SASS_NAME - 5) kept = SASS_NAME - 6;
    memcpy(line->name, word, kept);
    line->name[kept] = '\0';
    if (strchr("LS", word[0]) == NULL) return; /* LDG, LDS, STG, STS, LDGSTS, LDL, STL */
    for (int i = 0; widths[i] != NULL; i++) {
        const char *at = strstr(word, widths[i]);
        if (at != NULL && at < word + length && !isdigit((unsigned char)at[strlen(widths[i])])) {
            strcat(line->name, widths[i]);
            return;
        }
    }
}

/* The target address of "@!P0 BRA 0x240 ;" or "BRA `(.L_x_1) ;". */
static void set_target(struct instruction *line, const char *operands)
{
    const char *label = strstr(operands, "`("), *end = strchr(operands, ';');
    if (label != NULL && (end == NULL || label < end)) {
        size_t length = strcspn(label + 2, ")");
        if (length >= LABEL) length = LABEL - 1;
        memcpy(line->label, label + 2, length);
        line->label[length] = '\0';
        line->jumps = 2;
        return;
    }
    for (const char *at = operands; (at = strstr(at, "0x")) != NULL && (end == NULL || at < end); at += 2) {
        line->target = (unsigned)strtoul(at, NULL, 16);
        line->jumps = 1;
    }
}

/* 1 if @p text is "   / *0050* /   @P0 OPCODE operands ;" (without the blanks in the comment). */
static int read_instruction(const char *text, struct instruction *line)
{
    char *after;
    text += strspn(text, " \t{");
    if (strncmp(text, "/*", 2) != 0) return 0;
    unsigned long address = strtoul(text + 2, &after, 16);
    if (after == text + 2 || strncmp(after, "*/", 2) != 0) return 0;
    text = after + 2;
    text += strspn(text, " \t{");
    if (*text == '@') {
        text += strcspn(text, " \t");
        text += strspn(text, " \t");
    }
    size_t length = strcspn(text, " \t;\n");
    if (!isupper((unsigned char)*text) || length == 0) return 0;
    memset(line, 0, sizeof *line);
    line->address = (unsigned)address;
    set_name(line, text, length);
    if (strcmp(line->name, "BRA") == 0) set_target(line, text + length);
    return 1;
}

/* ---- one kernel --------------------------------------------------------------------------------------- */

static void *grown(void *old, size_t count, size_t bytes)
{
    if ((count & (count - 1)) != 0) return old; /* room doubles */
    void *more = realloc(old, (count ? 2 * count : 1) * bytes);
    if (more == NULL) abort();
    return more;
}

static void add_instruction(struct code *code, const struct instruction *line)
{
    code->line = grown(code->line, code->lines, sizeof *code->line);
    code->line[code->lines++] = *line;
    for (; code->settled < code->labels; code->settled++) code->label[code->settled].address = line->address;
}

static void add_label(struct code *code, const char *name, size_t length)
{
    code->label = grown(code->label, code->labels, sizeof *code->label);
    struct label *label = &code->label[code->labels++];
    if (length >= LABEL) length = LABEL - 1;
    memcpy(label->name, name, length);
    label->name[length] = '\0';
    label->address = 0;
}

static void settle_jumps(struct code *code)
{
    for (size_t i = 0; i < code->lines; i++) {
        struct instruction *line = &code->line[i];
        if (line->jumps != 2) continue;
        line->jumps = 0;
        for (size_t l = 0; l < code->settled; l++)
            if (strcmp(code->label[l].name, line->label) == 0) {
                line->target = code->label[l].address;
                line->jumps = 1;
            }
    }
}

/* A jump back. The last instruction of all code jumps to itself, and is no loop. */
static int is_loop(const struct instruction *line)
{
    return line->jumps == 1 && line->target < line->address;
}

static int is_innermost(const struct code *code, const struct instruction *end)
{
    for (size_t i = 0; i < code->lines; i++) {
        const struct instruction *other = &code->line[i];
        if (other != end && is_loop(other) && other->target >= end->target && other->address <= end->address)
            return 0;
    }
    return 1;
}

static void find_loop(const struct code *code, struct sass_kernel *kernel)
{
    for (size_t i = 0; i < code->lines; i++) {
        const struct instruction *end = &code->line[i];
        int count = 0;
        if (!is_loop(end) || !is_innermost(code, end)) continue;
        for (size_t j = 0; j <= i; j++) count += code->line[j].address >= end->target;
        if (count <= kernel->loop_instructions) continue;
        kernel->loop_instructions = count;
        kernel->loop_begin = end->target;
        kernel->loop_end = end->address;
    }
}

static void count_kinds(const struct code *code, struct sass_kernel *kernel)
{
    for (size_t i = 0; i < code->lines; i++) {
        const struct instruction *line = &code->line[i];
        size_t k = 0;
        while (k < kernel->kinds && strcmp(kernel->kind[k].name, line->name) != 0) k++;
        if (k == SASS_KINDS) continue;
        if (k == kernel->kinds) strcpy(kernel->kind[kernel->kinds++].name, line->name);
        kernel->kind[k].all++;
        kernel->kind[k].in_loop += kernel->loop_instructions > 0 && line->address >= kernel->loop_begin &&
                                   line->address <= kernel->loop_end;
    }
}

static void finish_kernel(struct sass_listing *listing, struct code *code)
{
    if (listing->count == 0) return;
    struct sass_kernel *kernel = &listing->kernel[listing->count - 1];
    settle_jumps(code);
    kernel->instructions = (int)code->lines;
    find_loop(code, kernel);
    count_kinds(code, kernel);
    code->lines = code->labels = code->settled = 0;
}

/* ---- the listing -------------------------------------------------------------------------------------- */

static void begin_kernel(struct sass_listing *listing, const char *name, size_t length)
{
    listing->kernel = grown(listing->kernel, listing->count, sizeof *listing->kernel);
    struct sass_kernel *kernel = &listing->kernel[listing->count++];
    memset(kernel, 0, sizeof *kernel);
    kernel->name = format_string("%.*s", (int)length, name);
    kernel->registers = kernel->shared_bytes = -1;
}

/* The name in "Function : NAME" of cuobjdump, or in ".text.NAME:" of nvdisasm; NULL if the line begins no kernel. */
static const char *kernel_in(const char *line, size_t *length)
{
    static const char function[] = "Function : ", section[] = ".text.";
    const char *at = strstr(line, function);
    if (at != NULL) {
        at += strlen(function);
    } else if (strncmp(line, section, strlen(section)) == 0 && line[strcspn(line, ":\n")] == ':') {
        at = line + strlen(section);
    } else
        return NULL;
    *length = strcspn(at, ": \t\r\n");
    return *length ? at : NULL;
}

void sass_read(struct sass_listing *listing, const char *text)
{
    struct code code = {0};
    struct instruction instruction;
    for (char *line; (line = next_word(&text, '\n')) != NULL; free(line)) {
        size_t length, first = listing->count;
        const char *name = kernel_in(line, &length);
        if (name != NULL) {
            finish_kernel(listing, &code);
            begin_kernel(listing, name, length);
        } else if (first > 0 && read_instruction(line, &instruction)) {
            add_instruction(&code, &instruction);
        } else if (first > 0 && line[0] == '.' && line[length = strcspn(line, ": ")] == ':') {
            add_label(&code, line, length);
        }
    }
    finish_kernel(listing, &code);
    free(code.line);
    free(code.label);
}

/* The kernel whose name begins at @p name and ends before the next apostrophe. */
static struct sass_kernel *kernel_named(const struct sass_listing *listing, const char *name)
{
    size_t length = strcspn(name, "'");
    for (size_t i = 0; i < listing->count; i++)
        if (strlen(listing->kernel[i].name) == length && memcmp(listing->kernel[i].name, name, length) == 0)
            return &listing->kernel[i];
    return NULL;
}

void sass_read_resources(struct sass_listing *listing, const char *log)
{
    static const char entry[] = "Compiling entry function '", within[] = "in the function '";
    struct sass_kernel *kernel = NULL;
    for (char *line; (line = next_word(&log, '\n')) != NULL; free(line)) {
        const char *name = strstr(line, entry), *used = strstr(line, "Used "), *at;
        if (name != NULL) kernel = kernel_named(listing, name + strlen(entry));
        if (strstr(line, "wgmma.mma_async instructions are serialized") != NULL &&
            (at = strstr(line, within)) != NULL) {
            struct sass_kernel *slow = kernel_named(listing, at + strlen(within));
            if (slow != NULL) slow->serialised = 1;
        }
        if (kernel != NULL && (at = strstr(line, "bytes stack frame, ")) != NULL)
            kernel->spilled_bytes = atoi(strchr(at, ',') + 1);
        if (kernel == NULL || used == NULL) continue;
        kernel->registers = atoi(used + 5);
        kernel->shared_bytes = 0;
        if ((at = strstr(line, " bytes smem")) != NULL) {
            while (at > line && isdigit((unsigned char)at[-1])) at--;
            kernel->shared_bytes = atoi(at);
        }
    }
}

void sass_free(struct sass_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) free(listing->kernel[i].name);
    free(listing->kernel);
    listing->kernel = NULL;
    listing->count = 0;
}
