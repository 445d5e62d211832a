/**
 * @file parse.c
 * @brief Text to instructions: scopes, `.reg`, labels, predicates, operands.
 *
 * nvcc replaces `%0` by the operand and `%%` by `%`; a `%` before a letter stays what it is. Constants ("n") and texts
 * ("C") are put in as text, as nvcc does, so that they may stand anywhere.
 */
#include "parse.h"
#include "run.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory and refusals -------------------------------------------------------------------------------- */

void *ptx_grow(void *array, unsigned count, size_t element_bytes)
{
    if ((count & (count - 1)) != 0) return array;
    void *larger = realloc(array, (count == 0 ? 1 : 2 * (size_t)count) * element_bytes);
    if (larger == NULL) abort();
    return larger;
}

void ptx_refuse(struct compiling *c, const char *format, ...)
{
    char *reason = NULL;
    va_list arguments;
    if (c->refusal != NULL) return;
    va_start(arguments, format);
    if (vasprintf(&reason, format, arguments) < 0) reason = NULL;
    va_end(arguments);
    if (c->now == NULL) {
        c->refusal = reason;
        return;
    }
    if (asprintf(&c->refusal, "%.*s: %s", c->now->name_length, c->now->name, reason) < 0) c->refusal = NULL;
    free(reason);
}

/* ---- the text ------------------------------------------------------------------------------------------- */

/* The slot at which operand @p index begins. */
static unsigned slot_of_given(const struct compiling *c, unsigned index)
{
    unsigned slot = 0;
    for (unsigned i = 0; i < index; i++) slot += c->given[i].slots;
    return slot;
}

static unsigned count_givens(const struct compiling *c)
{
    return c->givens - (c->givens > 0 && c->given[c->givens - 1].use == SIMT_PTX_CLOBBER);
}

/* A text is a string constant of the program, or other memory that the thread may read. */
static void put_text(struct compiling *c, const char *text, FILE *out)
{
    while (simt_reaches(text, 1, SIMT_READ) && *text != '\0') fputc(*text++, out);
    if (!simt_reaches(text, 1, SIMT_READ))
        ptx_refuse(c, "a text of the constraint C lies where the thread may not read");
}

/* Inserts constants and texts; replaces comments by blanks. */
static void expand(struct compiling *c, const uint64_t *word)
{
    size_t size;
    FILE *out = open_memstream(&c->text, &size);
    if (out == NULL) abort();
    for (const char *s = c->site->text; *s != '\0';) {
        if (s[0] == '/' && s[1] == '/') {
            s += strcspn(s, "\n");
        } else if (s[0] == '/' && s[1] == '*') {
            const char *end = strstr(s + 2, "*/");
            s = end != NULL ? end + 2 : s + strlen(s);
            fputc(' ', out);
        } else if (s[0] == '%' && isdigit((unsigned char)s[1])) {
            char *after;
            const unsigned long index = strtoul(s + 1, &after, 10);
            const struct simt_ptx_operand *given = index < count_givens(c) ? &c->given[index] : NULL;
            if (given == NULL) ptx_refuse(c, "%%%lu: there are only %u operands", index, count_givens(c));
            if (given != NULL && given->use == SIMT_PTX_CONSTANT)
                fprintf(out, "%lld", (long long)word[slot_of_given(c, (unsigned)index)]);
            else if (given != NULL && given->use == SIMT_PTX_TEXT)
                put_text(c, (const char *)(uintptr_t)word[slot_of_given(c, (unsigned)index)], out);
            else
                fprintf(out, "%%%lu", index);
            s = after;
        } else {
            fputc(*s, out);
            s += s[0] == '%' && s[1] == '%' ? 2 : 1;
        }
    }
    if (fclose(out) != 0) abort();
}

static void skip_blanks(struct compiling *c)
{
    while (isspace((unsigned char)*c->at)) c->at++;
}

static bool take(struct compiling *c, char wanted)
{
    skip_blanks(c);
    if (*c->at != wanted) return false;
    c->at++;
    return true;
}

static void demand(struct compiling *c, char wanted)
{
    if (take(c, wanted) || c->refusal != NULL) return;
    if (*c->at == '\0')
        ptx_refuse(c, "the text ends where a '%c' should be", wanted);
    else
        ptx_refuse(c, "a '%c' should be at \"%.12s\"", wanted, c->at);
}

static bool begins_name(char s)
{
    return isalpha((unsigned char)s) || s == '_' || s == '$' || s == '%';
}

/* The name at c->at; an instruction's name may contain dots and `::`. */
static int take_name(struct compiling *c, const char **name, bool dotted)
{
    skip_blanks(c);
    const char *s = c->at;
    *name = s;
    if (!begins_name(*s)) return 0;
    for (s++;;) {
        if (isalnum((unsigned char)*s) || *s == '_' || *s == '$' || *s == '%')
            s++;
        else if (dotted && *s == '.')
            s++;
        else if (dotted && s[0] == ':' && s[1] == ':')
            s += 2;
        else
            break;
    }
    c->at = s;
    return (int)(s - *name);
}

static bool same_name(const char *a, int a_length, const char *b, int b_length)
{
    return a_length == b_length && strncmp(a, b, (size_t)a_length) == 0;
}

/* ---- registers ------------------------------------------------------------------------------------------ */

static unsigned slots_of(enum ptx_type type)
{
    return ptx_type[type].bits == 128 ? 2 : 1;
}

/* The first of the slots for @p count registers. */
static unsigned reserve_slots(struct compiling *c, long count, enum ptx_type type)
{
    const unsigned slot = c->slots, most = (PTX_REGISTERS - slot) / slots_of(type);
    if (count < 0 || count > (long)most) {
        ptx_refuse(c, "more than %d registers in one asm statement", PTX_REGISTERS);
        return 0;
    }
    c->slots += slots_of(type) * (unsigned)count;
    return slot;
}

static unsigned add_register(struct compiling *c, struct ptx_register new)
{
    c->reg = ptx_grow(c->reg, c->registers, sizeof *c->reg);
    c->reg[c->registers] = new;
    return c->registers++;
}

/* One register, in a slot of its own. */
static unsigned add_nameless(struct compiling *c, enum ptx_type type)
{
    return add_register(c,
                        (struct ptx_register){
                            .name = "", .type = type, .slot = reserve_slots(c, 1, type), .scope = c->scope});
}

/* The statement's own operands come first: their slots are those of the caller's words. */
static void add_givens(struct compiling *c)
{
    for (unsigned i = 0; i < count_givens(c); i++) {
        const char letter = c->given[i].letter;
        const enum ptx_type type = letter == 'h'   ? PTX_B16
                                   : letter == 'r' ? PTX_B32
                                   : letter == 'q' ? PTX_B128
                                   : letter == 'f' ? PTX_F32
                                   : letter == 'd' ? PTX_F64
                                                   : PTX_B64;
        add_nameless(c, type);
    }
}

/* `r<8>` declares r0 to r7; each is created on first use, in a slot reserved for it. */
static int find_in_range(struct compiling *c, unsigned range, const char *name, int length)
{
    const struct ptx_register whole = c->reg[range];
    char *end;
    if (whole.count == 0 || length <= whole.name_length ||
        strncmp(name, whole.name, (size_t)whole.name_length) != 0)
        return -1;
    const long number = strtol(name + whole.name_length, &end, 10);
    if (end != name + length || number < 0 || number >= whole.count) return -1;
    return (int)add_register(
        c, (struct ptx_register){.name = name,
                                 .name_length = length,
                                 .type = whole.type,
                                 .slot = whole.slot + (unsigned)number * slots_of(whole.type),
                                 .scope = whole.scope});
}

static int find_register(struct compiling *c, const char *name, int length)
{
    if (name[0] == '%' && isdigit((unsigned char)name[1])) {
        char *end;
        const unsigned long index = strtoul(name + 1, &end, 10);
        return end == name + length && index < count_givens(c) ? (int)index : -1;
    }
    for (unsigned i = c->registers; i-- > count_givens(c);) {
        const struct ptx_register *r = &c->reg[i];
        if (r->hidden) continue;
        if (r->count == 0 && same_name(r->name, r->name_length, name, length)) return (int)i;
        const int found = find_in_range(c, i, name, length);
        if (found >= 0) return found;
    }
    return -1;
}

/* Behind `.reg`. */
static void parse_registers(struct compiling *c)
{
    const char *name;
    if (!take(c, '.')) {
        ptx_refuse(c, ".reg needs a type");
        return;
    }
    const int type_length = take_name(c, &name, false);
    const enum ptx_type type = ptx_type_named(name, (size_t)type_length);
    if (type == PTX_NONE) ptx_refuse(c, ".reg .%.*s: there is no such type", type_length, name);
    do {
        long count = 0;
        const int length = take_name(c, &name, false);
        if (length == 0) ptx_refuse(c, ".reg: a name should be at \"%.12s\"", c->at);
        if (take(c, '<')) {
            count = strtol(c->at, (char **)(uintptr_t)&c->at, 10);
            demand(c, '>');
        }
        for (unsigned i = count_givens(c); i < c->registers; i++)
            if (!c->reg[i].hidden && c->reg[i].scope == c->scope &&
                same_name(c->reg[i].name, c->reg[i].name_length, name, length))
                ptx_refuse(c, ".reg: %.*s is declared twice", length, name);
        const unsigned slot = reserve_slots(c, count != 0 ? count : 1, type);
        add_register(c, (struct ptx_register){.name = name,
                                              .name_length = length,
                                              .count = c->refusal == NULL ? (int)count : 0,
                                              .type = type,
                                              .slot = slot,
                                              .scope = c->scope});
    } while (c->refusal == NULL && take(c, ','));
    demand(c, ';');
}

/* ---- operands ------------------------------------------------------------------------------------------- */

static unsigned parse_operand(struct compiling *c);

static void parse_number(struct compiling *c, struct operand *o)
{
    const char *s = c->at;
    char *end;
    if (s[0] == '0' && (s[1] == 'f' || s[1] == 'F')) {
        const uint32_t bits = (uint32_t)strtoul(s + 2, &end, 16);
        float value;
        memcpy(&value, &bits, sizeof value);
        const double wide = value;
        o->kind = OPERAND_FLOAT;
        memcpy(&o->value, &wide, sizeof wide);
    } else if (s[0] == '0' && (s[1] == 'd' || s[1] == 'D')) {
        o->kind = OPERAND_FLOAT;
        o->value = (int64_t)strtoull(s + 2, &end, 16);
    } else if (s[0] == '0' && (s[1] == 'b' || s[1] == 'B')) {
        o->value = (int64_t)strtoull(s + 2, &end, 2);
    } else {
        o->value = (int64_t)strtoull(s, &end, 0);
        if (*end == '.' || ((*end == 'e' || *end == 'E') && !(s[0] == '0' && s[1] == 'x'))) {
            const double value = strtod(s, &end);
            o->kind = OPERAND_FLOAT;
            memcpy(&o->value, &value, sizeof value);
        }
    }
    if (*end == 'U' || *end == 'u') end++;
    c->at = end;
}

/* A constant: numbers joined by + and -, each with its sign. */
static void parse_constant(struct compiling *c, struct operand *o)
{
    o->kind = OPERAND_INTEGER;
    int64_t sum = 0;
    for (bool first = true;; first = false) {
        bool minus = false;
        skip_blanks(c);
        if (!first && *c->at != '+' && *c->at != '-') break;
        for (; *c->at == '+' || *c->at == '-' || *c->at == ' '; c->at++) minus ^= *c->at == '-';
        const bool bracket = take(c, '(');
        skip_blanks(c);
        if (!isdigit((unsigned char)*c->at)) {
            ptx_refuse(c, "a number should be at \"%.12s\"", c->at);
            return;
        }
        parse_number(c, o);
        if (bracket) demand(c, ')');
        if (o->kind == OPERAND_FLOAT) {
            if (minus) o->value ^= INT64_MIN;
            return;
        }
        sum += minus ? -o->value : o->value;
    }
    o->value = sum;
}

/* The next operand, as a part of @p o. */
static void parse_part(struct compiling *c, struct operand *o)
{
    const unsigned part = parse_operand(c);
    if (o->parts == sizeof o->part / sizeof *o->part)
        ptx_refuse(c, "braces or brackets around more than %u elements", o->parts);
    else
        o->part[o->parts++] = part;
}

/* `[a]`, `[a + 16]`, `[16]`, and for tensors `[map, {x, y}]`. */
static void parse_address(struct compiling *c, struct operand *o)
{
    o->kind = OPERAND_ADDRESS;
    do {
        skip_blanks(c);
        if (begins_name(*c->at) || *c->at == '{') parse_part(c, o);
        skip_blanks(c);
        if (*c->at == '+' || *c->at == '-' || isdigit((unsigned char)*c->at)) {
            struct operand constant = {.kind = OPERAND_INTEGER};
            parse_constant(c, &constant);
            o->value = constant.value;
        }
    } while (c->refusal == NULL && take(c, ','));
    demand(c, ']');
}

static void parse_vector(struct compiling *c, struct operand *o)
{
    o->kind = OPERAND_VECTOR;
    do {
        parse_part(c, o);
    } while (c->refusal == NULL && take(c, ','));
    demand(c, '}');
}

static void parse_named(struct compiling *c, struct operand *o)
{
    o->name_length = take_name(c, &o->name, false);
    if (o->name[0] == '%' && c->at[0] == '.' && isalpha((unsigned char)c->at[1])) { /* %tid.x */
        o->name_length += 2;
        c->at += 2;
    }
    if (same_name(o->name, o->name_length, "_", 1)) {
        o->kind = OPERAND_SINK;
        o->reg = (int)add_nameless(c, PTX_B64);
        return;
    }
    o->reg = find_register(c, o->name, o->name_length);
    o->kind = o->reg >= 0 ? OPERAND_REGISTER : OPERAND_NAME;
    if (o->reg >= 0 || o->name[0] != '%') return;
    o->value = ptx_special_named(o->name, o->name_length);
    if (o->value >= 0)
        o->kind = OPERAND_SPECIAL;
    else
        ptx_refuse(c, "the special register %.*s is not on this device", o->name_length, o->name);
}

/* Returns its index. The array may move when it grows. PTX has braces in brackets, and no operands deeper than that. */
static unsigned parse_operand(struct compiling *c)
{
    enum { DEEPEST = 4 };
    struct operand o = {.pair = -1, .reg = -1};
    o.negated = take(c, '!');
    skip_blanks(c);
    if (++c->depth > DEEPEST)
        ptx_refuse(c, "operands within operands within operands");
    else if (take(c, '['))
        parse_address(c, &o);
    else if (take(c, '{'))
        parse_vector(c, &o);
    else if (begins_name(*c->at))
        parse_named(c, &o);
    else
        parse_constant(c, &o);
    if (c->refusal == NULL && take(c, '|')) o.pair = (int)parse_operand(c);
    c->depth--;
    c->operand = ptx_grow(c->operand, c->operands, sizeof o);
    c->operand[c->operands] = o;
    return c->operands++;
}

/* ---- statements ----------------------------------------------------------------------------------------- */

static void parse_guard(struct compiling *c, struct instruction *i)
{
    const char *name;
    i->guard = -1;
    if (!take(c, '@')) return;
    i->guard_negated = take(c, '!');
    const int length = take_name(c, &name, false);
    i->guard = length > 0 ? find_register(c, name, length) : -1;
    if (i->guard < 0 || c->reg[i->guard].type != PTX_PRED)
        ptx_refuse(c, "@%.*s: there is no such predicate", length, name);
}

static void parse_instruction(struct compiling *c)
{
    struct instruction i = {.scope = c->scope};
    parse_guard(c, &i);
    i.name_length = take_name(c, &i.name, true);
    if (i.name_length == 0) ptx_refuse(c, "an instruction should be at \"%.12s\"", c->at);
    c->now = &i;
    skip_blanks(c);
    if (*c->at != ';') {
        do {
            if (i.operands == sizeof i.operand / sizeof *i.operand)
                ptx_refuse(c, "it has too many operands");
            else
                i.operand[i.operands++] = parse_operand(c);
        } while (c->refusal == NULL && take(c, ','));
    }
    demand(c, ';');
    c->now = NULL;
    c->instruction = ptx_grow(c->instruction, c->instructions, sizeof i);
    c->instruction[c->instructions++] = i;
}

static void open_scope(struct compiling *c)
{
    if (c->scopes + 1 == sizeof c->parent / sizeof *c->parent) {
        ptx_refuse(c, "more than %u scopes", c->scopes);
        return;
    }
    c->parent[++c->scopes] = c->scope;
    c->scope = c->scopes;
}

static void close_scope(struct compiling *c)
{
    if (c->scope == 0) {
        ptx_refuse(c, "a '}' too many");
        return;
    }
    for (unsigned i = 0; i < c->registers; i++)
        if (c->reg[i].scope == c->scope) c->reg[i].hidden = true;
    c->scope = c->parent[c->scope];
}

/* 1 if `name:` comes next, which is then consumed. */
static bool parse_label(struct compiling *c)
{
    const char *name, *start = c->at;
    const int length = take_name(c, &name, false);
    skip_blanks(c);
    if (length == 0 || c->at[0] != ':' || c->at[1] == ':') {
        c->at = start;
        return false;
    }
    c->at++;
    c->label = ptx_grow(c->label, c->labels, sizeof *c->label);
    c->label[c->labels++] = (struct label){name, length, c->scope, c->instructions};
    return true;
}

static void parse_directive(struct compiling *c)
{
    const char *name;
    c->at++;
    const int length = take_name(c, &name, false);
    if (same_name(name, length, "reg", 3))
        parse_registers(c);
    else if (same_name(name, length, "pragma", 6))
        c->at += strcspn(c->at, ";");
    else
        ptx_refuse(c, ".%.*s: of PTX's directives, this device has .reg and .pragma", length, name);
}

void ptx_parse(struct compiling *c, const uint64_t *word)
{
    expand(c, word);
    c->at = c->text;
    add_givens(c);
    while (c->refusal == NULL) {
        skip_blanks(c);
        if (*c->at == '\0') break;
        if (*c->at == ';')
            c->at++;
        else if (take(c, '{'))
            open_scope(c);
        else if (take(c, '}'))
            close_scope(c);
        else if (*c->at == '.')
            parse_directive(c);
        else if (!parse_label(c))
            parse_instruction(c);
    }
    if (c->scope != 0) ptx_refuse(c, "a '}' is missing");
}
