/**
 * @file assembly_reports.c
 * @brief Lines of assembly, and what is put before them:
 *
 * @code
 *     leaq 16(%rsp,%rax,4), %r11
 *     call simt_access_r4
 *     movss 16(%rsp,%rax,4), %xmm0
 * @endcode
 */
#include "assembly_reports.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char label[] = ".Lsimt_";

/* Bytes of strings that are reported piece by piece. */
enum { MOST_REPORTED_BYTES = 4096, PIECE = 32 };

static size_t line_length(const char *line)
{
    const size_t length = strcspn(line, "\n");
    return length + (line[length] == '\n');
}

static int holds(const char *line, size_t length, const char *word)
{
    const size_t bytes = strlen(word);
    for (size_t i = 0; i + bytes <= length; i++)
        if (memcmp(line + i, word, bytes) == 0) return 1;
    return 0;
}

/* "\tmovss\t(%rbx), %xmm0" */
static int may_touch_memory(const char *line, size_t length)
{
    return length > 2 && line[0] == '\t' && islower((unsigned char)line[1]) &&
           (memchr(line, '(', length) != NULL || holds(line, length, "%fs:") ||
            strncmp(line + 1, "rep", 3) == 0);
}

char *assembly_with_labels(const char *assembly)
{
    struct text out = {0};
    size_t number = 0;
    for (const char *line = assembly; *line; number++) {
        const size_t length = line_length(line);
        if (may_touch_memory(line, length)) text_print(&out, "%s%zu:\n", label, number);
        text_append(&out, line, length);
        line += length;
    }
    return out.data;
}

/* ---- reports ------------------------------------------------------------------------------------------- */

/* The operand of a line that is memory, in pieces: "%fs:", "16", "%rsp", "%rax,4". */
struct memory {
    int is_thread;
    struct {
        const char *start;
        int length;
    } distance, base, index;
};

static int read_accessed(const char *line, size_t length, struct memory *found)
{
    const char *end = line + length, *at = line + 1, *open = NULL, *start, *stop;
    *found = (struct memory){0};
    while (at < end && !isspace((unsigned char)*at)) at++;
    for (const char *c = at; c < end && open == NULL; c++)
        if (*c == '(' || (*c == '%' && end - c > 4 && strncmp(c, "%fs:", 4) == 0)) open = c;
    if (open == NULL) return 0;
    for (start = open; start > at && start[-1] != ',' && !isspace((unsigned char)start[-1]);) start--;
    found->is_thread = strncmp(start, "%fs:", 4) == 0;
    if (found->is_thread) start += 4;
    for (stop = start; stop < end && *stop != '(' && *stop != ',' && !isspace((unsigned char)*stop);) stop++;
    found->distance.start = start;
    found->distance.length = (int)(stop - start);
    if (stop == end || *stop != '(') return 1;
    const char *close = memchr(stop, ')', (size_t)(end - stop)), *comma;
    if (close == NULL) return 0;
    comma = memchr(stop, ',', (size_t)(close - stop));
    found->base.start = stop + 1;
    found->base.length = (int)((comma != NULL ? comma : close) - (stop + 1));
    if (comma != NULL) found->index.start = comma + 1, found->index.length = (int)(close - (comma + 1));
    return 1;
}

static void call_report(struct text *out, const struct machine_code_access *access, int64_t bytes)
{
    text_print(out, "\tcall\tsimt_access_%s%s%d\n", access->bytes[0] ? "r" : "", access->bytes[1] ? "w" : "",
               (int)bytes);
}

/* "rep stosq", "rep movsq" */
static void report_string(struct text *out, const struct machine_code_access *access)
{
    for (int writes = 0; writes < 2; writes++) {
        struct machine_code_access one = *access;
        const int64_t bytes = access->bytes[writes];
        one.bytes[!writes] = 0;
        for (int64_t at = 0, piece = PIECE; at < bytes && bytes <= MOST_REPORTED_BYTES; at += piece) {
            while (piece > bytes - at) piece /= 2;
            text_print(out, "\tleaq\t%d(%s), %%r11\n", (int)at, writes ? "%rdi" : "%rsi");
            call_report(out, &one, piece);
        }
    }
}

static void report(struct text *out, const char *line, size_t length,
                   const struct machine_code_access *access)
{
    struct memory m;
    if (strncmp(line + 1, "rep", 3) == 0) {
        report_string(out, access);
        return;
    }
    if (!read_accessed(line, length, &m)) return;
    if (!m.is_thread) {
        text_print(out, "\tleaq\t%.*s", m.distance.length, m.distance.start);
        if (m.base.start != NULL) text_print(out, "(%.*s", m.base.length, m.base.start);
        if (m.index.start != NULL) text_print(out, ",%.*s", m.index.length, m.index.start);
        text_print(out, "%s, %%r11\n", m.base.start != NULL ? ")" : "");
    } else { /* no instruction loads such an address at once */
        text_print(out, "\tmovq\t%%fs:0, %%r11\n");
        if (m.base.length) text_print(out, "\tleaq\t(%%r11,%.*s), %%r11\n", m.base.length, m.base.start);
        text_print(out, "\tleaq\t%.*s(%%r11", m.distance.length, m.distance.start);
        if (m.index.start != NULL) text_print(out, ",%.*s", m.index.length, m.index.start);
        text_print(out, "), %%r11\n");
    }
    call_report(out, access, access->bytes[0] ? access->bytes[0] : access->bytes[1]);
}

/* The access at a label, or NULL. */
static const struct machine_code_access *access_at(const struct object *object, const Elf64_Sym *symbol,
                                                   const struct machine_code_accesses *accesses)
{
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= object->section_count) return NULL;
    const char *section = object_section_name(object, &object->section[symbol->st_shndx]);
    for (size_t i = 0; i < accesses->count; i++)
        if (accesses->access[i].address == symbol->st_value &&
            strcmp(accesses->access[i].section, section) == 0)
            return &accesses->access[i];
    return NULL;
}

char *assembly_with_reports(const char *assembly, const struct object *labelled,
                            const struct machine_code_accesses *accesses)
{
    struct text out = {0};
    size_t lines = 1, number = 0;
    for (const char *at = assembly; *at; at++) lines += *at == '\n';
    const struct machine_code_access **before = must_allocate(lines * sizeof *before);
    for (size_t i = 0; i < lines; i++) before[i] = NULL;
    for (size_t i = 1; i < labelled->symbol_count; i++) {
        const char *name = object_symbol_name(labelled, &labelled->symbol[i]);
        if (strncmp(name, label, sizeof label - 1) != 0) continue;
        const size_t line = strtoul(name + sizeof label - 1, NULL, 10);
        if (line < lines) before[line] = access_at(labelled, &labelled->symbol[i], accesses);
    }
    for (const char *line = assembly; *line; number++) {
        const size_t length = line_length(line);
        if (before[number] != NULL) report(&out, line, length, before[number]);
        text_append(&out, line, length);
        line += length;
    }
    free(before);
    return out.data;
}
