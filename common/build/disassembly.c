/**
 * @file disassembly.c
 * @brief Reads a disassembler's lines:
 *
 * @code
 * 0000000000000000 <_Z5scalePf>:
 *        0:	nop
 *        5:	movss  %xmm0,0x8(%rdi,%rax,4)
 *        9:	call   e <_Z5scalePf+0xe>
 * 			a: R_X86_64_PLT32	__tsan_read4-0x4
 * @endcode
 */
#include "disassembly.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void *grown(void *old, size_t *capacity, size_t count, size_t bytes)
{
    if (count < *capacity) return old;
    size_t more = *capacity ? 2 * *capacity : 1024;
    char *place = must_allocate(more * bytes);
    if (count) memcpy(place, old, count * bytes);
    free(old);
    *capacity = more;
    return place;
}

/* ---- names --------------------------------------------------------------------------------------------- */

static size_t bucket_of(const struct disassembly *all, const char *name)
{
    uint64_t hash = 1469598103934665603u;
    for (const char *at = name; *at; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    size_t at = (hash ^ hash >> 32) & (all->buckets - 1);
    while (all->bucket[at] >= 0 && strcmp(all->name[all->bucket[at]], name) != 0)
        at = (at + 1) & (all->buckets - 1);
    return at;
}

int disassembly_name(struct disassembly *all, const char *name)
{
    if (2 * all->name_count >= all->buckets) {
        all->buckets = all->buckets ? 2 * all->buckets : 1024;
        free(all->bucket);
        all->bucket = must_allocate(all->buckets * sizeof *all->bucket);
        for (size_t i = 0; i < all->buckets; i++) all->bucket[i] = -1;
        for (size_t i = 0; i < all->name_count; i++) all->bucket[bucket_of(all, all->name[i])] = (int)i;
    }
    const size_t at = bucket_of(all, name);
    if (all->bucket[at] >= 0) return all->bucket[at];
    all->name = grown(all->name, &all->name_capacity, all->name_count, sizeof *all->name);
    all->name[all->name_count] = name;
    return all->bucket[at] = (int)all->name_count++;
}

/* ---- operands ------------------------------------------------------------------------------------------ */

/* The register that @p text, without its %, names. */
static int find_register(const char *text, struct operand *operand)
{
    static const char *const names[4][REGISTERS] = {
        {"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b", "r12b", "r13b",
         "r14b", "r15b"},
        {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w",
         "r15w"},
        {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d",
         "r14d", "r15d"},
        {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
         "r14", "r15"}};
    static const char high[4][3] = {"ah", "ch", "dh", "bh"};
    operand->kind = REGISTER;
    for (int size = 0; size < 4; size++)
        for (int i = 0; i < REGISTERS; i++)
            if (strcmp(text, names[size][i]) == 0) return operand->reg = i, operand->bytes = 1 << size, 1;
    for (int i = 0; i < 4; i++)
        if (strcmp(text, high[i]) == 0) return operand->reg = i, operand->bytes = 1, 1;
    operand->reg = VECTOR;
    operand->bytes = *text == 'y' ? 32 : 16;
    return (*text == 'x' || *text == 'y') && strncmp(text + 1, "mm", 2) == 0 &&
           isdigit((unsigned char)text[3]);
}

/* A 64-bit register at @p *at, after its %; moves on behind it. */
static int read_register(const char **at, int *reg, int *counter)
{
    struct operand found;
    char name[8] = "";
    size_t length = strcspn(*at, ",)");
    if (**at != '%' || length > sizeof name) return 0;
    memcpy(name, *at + 1, length - 1);
    *at += length;
    if (counter != NULL && strcmp(name, "rip") == 0) return *counter = 1;
    *reg = NO_REGISTER;
    if (!find_register(name, &found) || found.reg == VECTOR || found.bytes != 8) return 0;
    *reg = found.reg;
    return 1;
}

static int64_t read_number(const char **at)
{
    const int negative = **at == '-';
    const char *digits = *at + negative;
    char *end = (char *)digits;
    const uint64_t number = isdigit((unsigned char)*digits) ? strtoull(digits, &end, 0) : 0;
    if (end != digits) *at = end;
    return negative ? (int64_t)-number : (int64_t)number;
}

static int read_memory(const char *at, struct operand *operand)
{
    operand->kind = MEMORY;
    operand->base = operand->index = NO_REGISTER;
    operand->scale = 1;
    if (*at == '%') {
        if (strncmp(at, "%fs:", 4) != 0) return 0;
        operand->thread = 1;
        at += 4;
    }
    operand->value = read_number(&at);
    if (*at == '\0') return 1;
    if (*at++ != '(') return 0;
    if (*at != ',' && !read_register(&at, &operand->base, &operand->counter)) return 0;
    if (*at == ',') {
        at++;
        if (!read_register(&at, &operand->index, NULL) || operand->index == RSP) return 0;
        if (*at == ',') at++, operand->scale = (int)read_number(&at);
    }
    return strcmp(at, ")") == 0;
}

static void read_operand(const char *text, struct operand *operand)
{
    int known;
    *operand = (struct operand){.kind = UNKNOWN, .base = NO_REGISTER, .index = NO_REGISTER};
    if (*text == '$') {
        text++;
        operand->kind = IMMEDIATE;
        operand->value = read_number(&text);
        known = *text == '\0';
    } else if (*text == '%' && strchr(text, ':') == NULL) {
        known = find_register(text + 1, operand);
    } else if (isxdigit((unsigned char)*text) && strchr(text, '<') != NULL &&
               strchr(text, '(') == NULL) { /* "8c <name+0x8c>" */
        operand->kind = PLACE;
        operand->value = (int64_t)strtoull(text, NULL, 16);
        known = 1;
    } else {
        known = read_memory(text, operand);
    }
    if (!known) operand->kind = UNKNOWN;
}

/* ---- lines --------------------------------------------------------------------------------------------- */

static int is_prefix(const char *word)
{
    static const char *const prefixes[] = {"rep", "repz", "repnz", "lock", "data16",  "cs",  "ds",
                                           "es",  "ss",   "gs",    "fs",   "notrack", "bnd", "addr32"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strcmp(word, prefixes[i]) == 0) return 1;
    return 0;
}

static char *cut_word(char **at)
{
    char *word = *at;
    *at += strcspn(*at, " ");
    if (**at) *(*at)++ = '\0';
    *at += strspn(*at, " ");
    return word;
}

/* "movss  %xmm0,0x8(%rdi,%rax,4)        # 61 <name>" */
static void read_instruction(char *text, char *at, struct instruction *it)
{
    char *comment = strstr(text, " #");
    size_t length = comment != NULL ? (size_t)(comment - text) : strlen(text);
    while (length > 0 && text[length - 1] == ' ') length--;
    text[length] = at[length] = '\0';
    it->text = text;
    it->prefix = "";
    it->name = cut_word(&at);
    while (is_prefix(it->name) && *at) {
        if (it->prefix[0] == '\0' || it->name[0] == 'r' || it->name[0] == 'l') it->prefix = it->name;
        it->name = cut_word(&at);
    }
    for (; *at && it->count < MOST_OPERANDS; it->count++) {
        int depth = 0;
        char *end = at;
        for (; *end && (*end != ',' || depth); end++)
            depth += (*end == '(' || *end == '<') - (*end == ')' || *end == '>');
        const int last = *end == '\0';
        *end = '\0';
        read_operand(at, &it->operand[it->count]);
        at = last ? end : end + 1;
    }
}

/* "88: R_X86_64_PLT32\t__tsan_read4-0x4" */
static int read_relocation(struct disassembly *all, struct instruction *it, char *line)
{
    char *kind = strstr(line, "R_X86_64_"), *name = kind != NULL ? strchr(kind, '\t') : NULL, *sign = NULL;
    if (name == NULL || it->relocation_count == 2) return 0;
    struct relocation *found = &it->relocation[it->relocation_count++];
    *name++ = '\0';
    *found = (struct relocation){.kind = kind + strlen("R_X86_64_"), .at = strtoul(line, NULL, 16)};
    for (char *at = name; *at; at++)
        if ((*at == '+' || *at == '-') && strncmp(at + 1, "0x", 2) == 0) sign = at;
    if (sign != NULL) {
        const int64_t distance = (int64_t)strtoull(sign + 1, NULL, 16);
        found->addend = *sign == '-' ? -distance : distance;
        *sign = '\0';
    }
    found->symbol = disassembly_name(all, name);
    return 1;
}

static int read_line(struct disassembly *all, char *line, int *section, int *function, int *begins)
{
    static const char head[] = "Disassembly of section ";
    char *end = line + strlen(line);
    struct instruction *last = all->count ? &all->instruction[all->count - 1] : NULL;
    if (strncmp(line, head, sizeof head - 1) == 0 && end[-1] == ':') {
        end[-1] = '\0';
        *section = disassembly_name(all, line + sizeof head - 1);
    } else if (isxdigit((unsigned char)*line) && end - line > 19 && end[-1] == ':' && line[16] == ' ') {
        end[-2] = '\0';
        *function = disassembly_name(all, line + 18);
        /* "name-0x1": before a function, where a patch may come; "name.cold": a part of "name" */
        *begins = strstr(line + 18, "-0x") == NULL && strstr(line + 18, ".cold") == NULL;
    } else if (*line == '\t' && last != NULL) {
        return read_relocation(all, last, line + strspn(line, "\t "));
    } else if (*line == ' ') {
        char *colon = strchr(line, ':');
        if (colon == NULL || colon[1] != '\t' || *section < 0 || *function < 0) return 0;
        all->instruction = grown(all->instruction, &all->capacity, all->count, sizeof *all->instruction);
        struct instruction *it = &all->instruction[all->count++];
        *it = (struct instruction){.address = strtoul(line, NULL, 16),
                                   .section = *section,
                                   .function = *function,
                                   .begins = *begins};
        *begins = 0;
        read_instruction(colon + 2, all->words + (colon + 2 - all->lines), it);
    }
    return 1;
}

int disassembly_read(const char *text, struct disassembly *all)
{
    int section = -1, function = -1, begins = 0;
    *all = (struct disassembly){.lines = copy_string(text), .words = copy_string(text)};
    for (char *line = all->lines, *next; *line; line = next) {
        char *end = line + strcspn(line, "\n");
        next = *end ? end + 1 : end;
        *end = '\0';
        if (*line && !read_line(all, line, &section, &function, &begins)) return 0;
    }
    return 1;
}

void disassembly_free(struct disassembly *all)
{
    free(all->lines);
    free(all->words);
    free(all->instruction);
    free(all->name);
    free(all->bucket);
}
