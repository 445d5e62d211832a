/**
 * @file compile.c
 * @brief Instructions to operations: looks each instruction up in the table, and checks its operands against
 *        the row.
 */
#include "compile.h"
#include "parse.h"
#include "run.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---------------------------------------------------------------------------------------------- */

struct match {
    const char *at, *end; /**< what is left of the name */
    struct op *op;
};

enum { NAME_WORDS = 24 };
/** A word of a row's name. */
struct part {
    const char *word;
    size_t width;
    unsigned number; /**< of its modifier or type */
    bool taken;
};

/** Consumes @p text from the instruction's name if it comes next as whole parts; returns whether it did. */
static bool take_parts(struct match *m, const char *text, size_t width)
{
    if (width == 0 || (size_t)(m->end - m->at) < width || strncmp(m->at, text, width) != 0) return false;
    const char *after = m->at + width;
    if (after < m->end && *after != '.') return false;
    m->at = after < m->end ? after + 1 : after;
    return true;
}

/** Consumes one of the alternatives `a|b|c]`; returns its number, 1, 2 ..., or 0 if none comes next. */
static unsigned take_alternative(struct match *m, const char *pattern, const char **taken, size_t *width)
{
    for (unsigned number = 1;; number++) {
        *taken = pattern;
        *width = strcspn(pattern, "|])>}");
        if (take_parts(m, pattern, *width)) return number;
        if (pattern[*width] != '|') return 0;
        pattern += *width + 1;
    }
}

/** Matches one word of a row's name with what comes next. Returns whether it consumed something. */
static bool match_part(struct match *m, const struct part *p)
{
    const char *taken;
    size_t length;
    if (strchr("[(<{", *p->word) == NULL) return take_parts(m, p->word, p->width);
    const unsigned which = take_alternative(m, p->word + 1, &taken, &length);
    if (which == 0) return false;
    if (*p->word == '<')
        m->op->type[p->number] = (uint8_t)ptx_type_named(taken, length);
    else if (*p->word == '{')
        m->op->vector = (uint8_t)(taken[1] - '0');
    else
        m->op->modifier[p->number] = (uint8_t)which;
    return true;
}

/** The words of a row's name; a vector length that is left out is 1. */
static unsigned split_name(const struct row *row, struct part *part, struct op *op)
{
    unsigned count = 0, modifiers = 0, types = 0;
    op->vector = 0;
    for (const char *word = row->name; *word != '\0' && count < NAME_WORDS; count++) {
        const size_t width = strcspn(word, " ");
        part[count] = (struct part){.word = word, .width = width};
        if (*word == '<') part[count].number = types++;
        if (*word == '[' || *word == '(') part[count].number = modifiers++;
        if (*word == '{') op->vector = 1;
        word += width + (word[width] == ' ');
    }
    return count;
}

/** After the verb, ptxas accepts the words of a name in any order, except that types keep their order. */
static bool match_row(const struct row *row, const struct instruction *i, struct op *op)
{
    struct match m = {i->name, i->name + i->name_length, op};
    struct part part[NAME_WORDS];
    memset(op->modifier, 0, sizeof op->modifier);
    memset(op->type, 0, sizeof op->type);
    const unsigned parts = split_name(row, part, op);
    while (m.at < m.end) {
        unsigned p = 0;
        while (p < parts && (part[p].taken || !match_part(&m, &part[p]))) p++;
        if (p == parts) return false;
        part[p].taken = true;
    }
    for (unsigned p = 0; p < parts; p++)
        if (!part[p].taken && *part[p].word != '[' && *part[p].word != '{') return false;
    return true;
}

/* ---- operands ------------------------------------------------------------------------------------------- */

enum { ANY_NUMBER = 1 << 16 };

/** What a row says about one operand. */
struct wanted {
    enum ptx_type type;
    char what; /**< 0 a value, A I L */
    bool written, wider, optional, pair;
    unsigned vector; /**< number of elements in braces, 0: no braces; ANY_NUMBER */
};

struct filling {
    struct compiling *c;
    const struct row *row;
    struct op *op;
    unsigned slots, offsets;
    uint16_t slot[256];
};

static bool is_last(const char *s)
{
    return *s == '\0' || *s == ' ' || *s == '|' || *s == ':';
}

static struct wanted read_wanted(const struct op *op, const char *word)
{
    struct wanted w = {0};
    for (;; word++) {
        if (*word == '=')
            w.written = true;
        else if (*word == '~')
            w.wider = true;
        else if (*word == '?')
            w.optional = true;
        else
            break;
    }
    if (word[0] == '*') w.vector = ANY_NUMBER, word++;
    if (isdigit((unsigned char)*word))
        w.vector = (unsigned)strtoul(word, (char **)(uintptr_t)&word, 10), word++;
    const size_t length = strcspn(word, " |:");
    if (is_last(word + 1) && *word >= 'T' && *word <= 'V')
        w.type = (enum ptx_type)op->type[*word - 'T'];
    else if (is_last(word + 1) && *word == 'P')
        w.type = PTX_PRED;
    else if (is_last(word + 1)) {
        w.what = *word;
        w.type = (enum ptx_type)op->type[0]; /* of S */
    } else
        w.type = ptx_type_named(word, length);
    if (word[length] == ':' && op->vector > 1) w.vector = op->vector;
    w.pair = strncmp(word + length, "|P", 2) == 0;
    return w;
}

static void mismatch(struct compiling *c, const char *wanted)
{
    ptx_refuse(c, "arguments mismatch, as ptxas says: operand should be %s", wanted);
}

static uint16_t constant_slot(struct compiling *c, uint64_t value)
{
    struct program *p = c->program;
    for (unsigned i = 0; i < p->constants; i++)
        if (p->constant[i] == value) return (uint16_t)(c->slots + i);
    p->constant = ptx_grow(p->constant, p->constants, sizeof *p->constant);
    p->constant[p->constants] = value;
    return (uint16_t)(c->slots + p->constants++);
}

/** A number in place of a register, in the bits of its type. */
static uint64_t number_bits(struct compiling *c, const struct operand *o, enum ptx_type type)
{
    const struct ptx_type_facts *t = &ptx_type[type];
    double wide;
    memcpy(&wide, &o->value, sizeof wide);
    if (o->kind == OPERAND_INTEGER) {
        if (t->class == 'f' && t->bits != 16 && type != PTX_F16X2 && type != PTX_BF16X2)
            mismatch(c, "a number with a point, or 0f and 8 hexadecimal digits");
        return (uint64_t)o->value;
    }
    if (t->class == 'u' || t->class == 's') mismatch(c, "an integer");
    if (t->bits == 64) return (uint64_t)o->value;
    const float narrow = (float)wide;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

static void name_types(char *text, size_t size, const struct ptx_register *have, enum ptx_type want)
{
    snprintf(text, size, "of type .%s, not .%s", ptx_type[want].name, ptx_type[have->type].name);
}

/** The slot of one value. */
static uint16_t value_slot(struct compiling *c, const struct operand *o, const struct wanted *w)
{
    char text[64];
    if (o->kind == OPERAND_SINK && w->written) return (uint16_t)c->reg[o->reg].slot;
    if (o->kind == OPERAND_REGISTER) {
        const struct ptx_register *r = &c->reg[o->reg];
        const bool given = (unsigned)o->reg < c->givens;
        if (given && w->written && c->given[o->reg].use == SIMT_PTX_IN)
            ptx_refuse(c, "it writes %%%d, which is an input of the asm statement", o->reg);
        if (!ptx_type_fits(r->type, w->type, w->wider)) {
            name_types(text, sizeof text, r, w->type);
            mismatch(c, text);
        }
        return (uint16_t)r->slot;
    }
    if (w->written) {
        mismatch(c, "a register: it is written");
        return NO_SLOT;
    }
    if (o->kind == OPERAND_SPECIAL) {
        ptx_refuse(c, "%.*s can only be read by mov", o->name_length, o->name);
        return NO_SLOT;
    }
    if (o->kind == OPERAND_NAME) {
        ptx_refuse(c, "unknown symbol '%.*s'", o->name_length, o->name);
        return NO_SLOT;
    }
    if (o->kind != OPERAND_INTEGER && o->kind != OPERAND_FLOAT) {
        mismatch(c, "one register or number, not braces or brackets");
        return NO_SLOT;
    }
    return constant_slot(c, number_bits(c, o, w->type));
}

static void put_slot(struct filling *f, uint16_t slot)
{
    if (f->slots == sizeof f->slot / sizeof *f->slot)
        ptx_refuse(f->c, "more than %u registers and numbers", f->slots);
    else
        f->slot[f->slots++] = slot;
}

/** `[a + 16]`: the slot of a, and the offset 16. */
static void fill_address(struct filling *f, const struct operand *o, enum ptx_type least)
{
    const struct wanted any = {.type = least, .wider = true};
    struct compiling *c = f->c;
    if (o->kind != OPERAND_ADDRESS || o->parts > 1) {
        mismatch(c, "an address, [register + constant]");
        return;
    }
    if (f->offsets < ADDRESSES) f->op->offset[f->offsets++] = o->value;
    put_slot(f, o->parts == 1 ? value_slot(c, &c->operand[o->part[0]], &any) : constant_slot(c, 0));
}

/** `[map, {x, y}]`: the slot of the map, then those of its coordinates. */
static void fill_tensor(struct filling *f, const struct operand *o)
{
    const struct wanted map = {.type = PTX_B64}, coordinate = {.type = PTX_S32};
    struct compiling *c = f->c;
    const struct operand *at = o->parts == 2 ? &c->operand[o->part[1]] : NULL;
    const unsigned axes = f->op->modifier[0];
    if (at == NULL || at->kind != OPERAND_VECTOR || at->parts != axes) {
        ptx_refuse(
            c, "arguments mismatch, as ptxas says: a tensor of %u axes is written [map, {%u coordinates}]",
            axes, axes);
        return;
    }
    if (f->offsets < ADDRESSES) f->op->offset[f->offsets++] = 0;
    put_slot(f, value_slot(c, &c->operand[o->part[0]], &map));
    for (unsigned i = 0; i < axes; i++) put_slot(f, value_slot(c, &c->operand[at->part[i]], &coordinate));
}

static void fill_label(struct filling *f, const struct operand *o)
{
    struct compiling *c = f->c;
    for (unsigned scope = c->now->scope;; scope = c->parent[scope]) {
        for (unsigned i = 0; i < c->labels; i++) {
            const struct label *l = &c->label[i];
            if (l->scope != scope || l->name_length != o->name_length ||
                strncmp(l->name, o->name, (size_t)o->name_length) != 0)
                continue;
            f->op->constant = l->instruction;
            return;
        }
        if (scope == 0) break;
    }
    ptx_refuse(c, "there is no label '%.*s' in this asm statement", o->name_length, o->name);
}

/** `%laneid` and the like: read when the operation runs. */
static void fill_special(struct filling *f, const struct operand *o, enum ptx_type type)
{
    if (!ptx_type_fits(ptx_special_type((int)o->value), type, false))
        mismatch(f->c, "as wide as the special register");
    f->op->constant = o->value;
    put_slot(f, NO_SLOT);
}

static void fill_vector(struct filling *f, const struct operand *o, const struct wanted *w)
{
    char text[48];
    if (o->kind != OPERAND_VECTOR || (o->parts != w->vector && w->vector != ANY_NUMBER)) {
        snprintf(text, sizeof text, "%u registers in braces", w->vector);
        mismatch(f->c, text);
        return;
    }
    for (unsigned i = 0; i < o->parts; i++) put_slot(f, value_slot(f->c, &f->c->operand[o->part[i]], w));
}

static void fill_one(struct filling *f, const struct operand *o, const struct wanted *w)
{
    struct compiling *c = f->c;
    const struct wanted predicate = {.type = PTX_PRED, .written = true};
    if (o->kind == OPERAND_VECTOR && o->parts == 1) o = &c->operand[o->part[0]];
    if (o->negated && w->type != PTX_PRED) mismatch(c, "no predicate: '!' cannot stand before it");
    if (o->negated && f->slots < 32) f->op->negate |= 1u << f->slots; /* wgmma looks for itself */
    if (w->what == 'S' && o->kind == OPERAND_SPECIAL)
        fill_special(f, o, w->type);
    else if (w->what == 'A' || w->what == 'a')
        fill_address(f, o, w->what == 'A' ? PTX_B64 : PTX_B32);
    else if (w->what == 'M')
        fill_tensor(f, o);
    else if (w->what == 'L')
        fill_label(f, o);
    else if (w->what == 'I' && o->kind != OPERAND_INTEGER)
        mismatch(c, "an integer constant");
    else if (w->what == 'I')
        put_slot(f, constant_slot(c, (uint64_t)o->value));
    else if (w->vector > 1)
        fill_vector(f, o, w);
    else
        put_slot(f, value_slot(c, o, w));
    if (w->pair)
        put_slot(f, o->pair >= 0 ? value_slot(c, &c->operand[o->pair], &predicate) : (uint16_t)NO_SLOT);
    else if (o->pair >= 0)
        mismatch(c, "one register, without '|'");
}

/** All operands of the current instruction. An optional one that was left out has NO_SLOT. */
static void fill_operands(struct filling *f)
{
    const struct instruction *i = f->c->now;
    unsigned at = 0;
    for (const char *word = f->row->operands; *word != '\0' && f->c->refusal == NULL;) {
        const struct wanted w = read_wanted(f->op, word);
        if (at < i->operands)
            fill_one(f, &f->c->operand[i->operand[at++]], &w);
        else
            put_slot(f, NO_SLOT);
        word += strcspn(word, " ");
        word += *word == ' ';
    }
    f->op->operands = (uint8_t)at;
}

/* ---- the table ------------------------------------------------------------------------------------------ */

/** The number of elements in the braces of an operand; 1 without braces. */
static unsigned elements_of(const struct operand *o)
{
    return o->kind == OPERAND_VECTOR ? o->parts : 1;
}

/** Whether an operand has the form that the row wants: address or not, in braces or not, predicate or not. */
static bool may_be(const struct compiling *c, const struct operand *o, const struct wanted *w)
{
    if (w->what == 'M') return o->kind == OPERAND_ADDRESS && o->parts > 1;
    if (w->what == 'A' || w->what == 'a' || o->kind == OPERAND_ADDRESS)
        return o->kind == OPERAND_ADDRESS && (w->what == 'A' || w->what == 'a');
    if (w->vector == ANY_NUMBER) return o->kind == OPERAND_VECTOR;
    if (elements_of(o) != (w->vector > 0 ? w->vector : 1)) return false;
    if (w->vector == 1 && o->kind != OPERAND_VECTOR) return false;
    if (o->kind != OPERAND_REGISTER) return true;
    const enum ptx_type have = c->reg[o->reg].type;
    if (w->optional) return ptx_type_fits(have, w->type, w->wider);
    return w->what != 0 || (have == PTX_PRED) == (w->type == PTX_PRED);
}

/** Whether the operands have the number and forms that the row wants. */
static bool has_shape(const struct compiling *c, const struct instruction *i, const struct row *row,
                      const struct op *op)
{
    unsigned at = 0;
    for (const char *word = row->operands; *word != '\0';) {
        const struct wanted w = read_wanted(op, word);
        word += strcspn(word, " ");
        word += *word == ' ';
        if (at == i->operands && !w.optional) return false;
        if (at < i->operands && !may_be(c, &c->operand[i->operand[at++]], &w)) return false;
    }
    return at == i->operands;
}

/** How closely the table matches an instruction. */
enum found { FOUND_NOTHING, FOUND_VERB, FOUND_NAME, FOUND_ROW };

/** Finds the row with the instruction's name whose operands have the same forms. If none has, sets *@p row
 *  to some row with the name. */
static enum found find_row(const struct compiling *c, const struct instruction *i, struct op *op,
                           const struct row **found)
{
    enum found best = FOUND_NOTHING;
    const int verb =
        (int)(i->name_length < (int)strcspn(i->name, ".") ? (size_t)i->name_length : strcspn(i->name, "."));
    for (size_t g = 0; ptx_groups[g] != NULL; g++)
        for (size_t r = 0; r < ptx_groups[g]->rows; r++) {
            const struct row *row = &ptx_groups[g]->row[r];
            if ((int)strcspn(row->name, " ") != verb || strncmp(row->name, i->name, (size_t)verb) != 0)
                continue;
            if (best == FOUND_NOTHING) best = FOUND_VERB;
            if (!match_row(row, i, op)) continue;
            *found = row;
            if (has_shape(c, i, row, op)) return FOUND_ROW;
            best = FOUND_NAME;
        }
    return best;
}

/* ---- instructions --------------------------------------------------------------------------------------- */

/** ptxas goes by the architecture that code is compiled for; the device may be older. */
static void check_architecture(struct compiling *c, const struct row *row)
{
    const int compiled = c->site->architecture / 10, device = simt_compute_capability();
    if (compiled < row->architecture)
        ptx_refuse(c,
                   "it requires .target sm_%u or higher, as ptxas says, and this is compiled for sm_%d "
                   "(simtcc -arch)",
                   row->architecture, compiled);
    else if (row->flags & SPECIFIC && c->site->architecture % 10 == 0)
        ptx_refuse(c,
                   "it requires .target sm_%ua, as ptxas says, and this is compiled for sm_%d (simtcc "
                   "-arch=sm_%ua)",
                   row->architecture, compiled, row->architecture);
    else if (device < row->architecture)
        ptx_refuse(c, "it requires sm_%u or higher, and this device is sm_%d (SIMT_DEVICE)",
                   row->architecture, device);
}

/** Warns that the compiler may move or drop a statement without `volatile` or "memory"; once per program. */
static void advise(const struct compiling *c, const struct row *row)
{
    static bool reported;
    bool outputs = false, memory = false;
    if (reported || !(row->flags & TOUCHES_MEMORY)) return;
    for (unsigned i = 0; i < c->givens; i++) {
        outputs |= c->given[i].use == SIMT_PTX_OUT || c->given[i].use == SIMT_PTX_IN_OUT;
        memory |= c->given[i].use == SIMT_PTX_CLOBBER;
    }
    const bool may_vanish = outputs && !c->site->is_volatile;
    if (memory && !may_vanish) return;
    reported = true;
    fprintf(stderr, "simt: note: %s:%d: %.*s in an asm statement without %s: nvcc may %s\n",
            c->site->site.file, c->site->site.line, c->now->name_length, c->now->name,
            may_vanish ? "volatile" : "the clobber \"memory\"",
            may_vanish ? "leave it out or merge it with another" : "move accesses of memory across it");
}

static bool is_image_copy(const struct instruction *i)
{
    char name[256];
    snprintf(name, sizeof name, "%.*s", i->name_length, i->name);
    return strstr(name, ".tensor.") != NULL && strstr(name, ".im2col") != NULL;
}

/** What is moved at once has 16 bytes at most, for which the operations have room. */
static void check_vector(struct compiling *c, const struct op *op)
{
    enum { MOST_BITS = 128 };
    if (op->vector > 1 && op->vector * ptx_type[op->type[0]].bits > MOST_BITS)
        ptx_refuse(c, "a vector of %u elements of .%s: it has 16 bytes at most", op->vector,
                   ptx_type[op->type[0]].name);
}

static void compile_instruction(struct compiling *c, const struct instruction *i, struct op *op)
{
    struct filling f = {.c = c, .op = op};
    c->now = i;
    op->guard = i->guard >= 0 ? (uint16_t)c->reg[i->guard].slot : (uint16_t)NO_SLOT;
    op->guard_negated = i->guard_negated;
    op->site = c->site->site;
    op->site.what = strndup(i->name, (size_t)i->name_length);
    const enum found found = find_row(c, i, op, &f.row);
    if (found == FOUND_NAME) {
        ptx_refuse(c, "arguments mismatch, as ptxas says: the operands of this form are \"%s\"",
                   f.row->operands);
    } else if (found != FOUND_ROW && is_image_copy(i)) {
        ptx_refuse(
            c,
            "tensor copies in im2col mode are not on the software device: take tile mode, with a tensor map "
            "of cuTensorMapEncodeTiled");
    } else if (found != FOUND_ROW) {
        ptx_refuse(c, "%s on the software device; docs/inline_ptx.md lists what is, and says what to do",
                   found == FOUND_VERB ? "this form of the instruction is not" : "this instruction is not");
    }
    if (c->refusal != NULL) return;
    check_architecture(c, f.row);
    check_vector(c, op);
    fill_operands(&f);
    op->function = f.row->function;
    op->slot = malloc((f.slots + 1) * sizeof *op->slot);
    if (op->slot == NULL) abort();
    memcpy(op->slot, f.slot, f.slots * sizeof *op->slot);
    if (c->refusal == NULL && f.row->check != NULL) f.row->check(c, f.row, op);
    if (c->refusal == NULL) advise(c, f.row);
    c->now = NULL;
}

static void drop(struct compiling *c)
{
    free(c->operand);
    free(c->instruction);
    free(c->reg);
    free(c->label);
    free(c->text);
}

struct program *ptx_compile(const struct simt_ptx_site *site, const struct simt_ptx_operand *given,
                            unsigned givens, const uint64_t *word, char **refusal)
{
    struct compiling c = {.site = site, .given = given, .givens = givens};
    struct program *p = c.program = calloc(1, sizeof *p);
    if (p == NULL) abort();
    *p = (struct program){.site = site, .operand = given, .operands = givens};
    ptx_parse(&c, word);
    for (unsigned i = 0; i < givens; i++) p->words += given[i].slots;
    p->ops = c.refusal == NULL ? c.instructions : 0;
    p->op = calloc(p->ops + 1, sizeof *p->op);
    if (p->op == NULL) abort();
    for (unsigned i = 0; i < p->ops && c.refusal == NULL; i++)
        compile_instruction(&c, &c.instruction[i], &p->op[i]);
    p->registers = c.slots;
    if (c.refusal == NULL && c.slots + p->constants > PTX_REGISTERS)
        ptx_refuse(&c, "more than %d registers and constants in one asm statement", PTX_REGISTERS);
    drop(&c);
    *refusal = c.refusal;
    return p;
}
