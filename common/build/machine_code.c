/**
 * @file machine_code.c
 * @brief The proof that machine_code.h describes.
 *
 * Values of registers and of the frame are followed by name on all ways through a function (code_values.h), and with them what was reported to
 * the device. What ways that meet do not agree on gets a new name where they meet; a name is forgotten where what it stands for is made
 * anew.
 */
#include "machine_code.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "code_kinds.h"
#include "code_values.h"
#include "disassembly.h"

enum { INDEX_BYTES = 12, MOST_REPORTS = 24, MOST_RUNS = 30, KEEPS_REGISTERS = 2 };
/* As much memory above each stack belongs to nobody (GUARD_BYTES): a function that is called without its arguments reads no other
 * stack. */
enum { MOST_ARGUMENT_BYTES = 64 << 10, MOST_FRAME_BYTES = 64 << 10 };
/* Aligning the stack must not skip the guard below it; compilers touch the stack every 4096 bytes, which is the largest alignment. */
enum { MOST_ALIGNMENT = 4096, MOST_PUSHED_BYTES = 128 /* before that */ };

/* ---- what is known ------------------------------------------------------------------------------------- */

struct slot {
    int of;
    int64_t at;
    struct value value;
};

/* Bytes that may be touched: from a value on, of one name. */
struct report {
    struct value from;
    int64_t bytes;
    int writes;
};

/* What is known before an instruction. */
struct state {
    struct value reg[REGISTERS];
    struct value compared; /* what rsp was compared with, if that was the last comparison */
    int entered; /* 1 between the reports of a function's beginning and of its end; 2: on some ways */
    int slot_count, slot_capacity;
    struct slot *slot; /* of 8 bytes, in which something is known */
    int report_count;
    struct report report[MOST_REPORTS]; /* since the last call of anything else */
};

/* Instructions that are run one after the other. */
struct block {
    size_t begin, end; /* the last one is end - 1 */
    struct state after;
    int runs, reached, goes_on, ends; /* ends: 1 if its last instruction is reached */
    int target;                       /* the block that it jumps to, or -1 */
    int *from;                        /* blocks that lead here; ~block, if by a jump */
    int from_count, from_capacity;
    int is_stuck;    /* 1 once it has run often: what changes stays unknown */
    unsigned joined; /* registers that ways did not agree on since then */
};

/* Where in a function's frame something is. */
struct place {
    int function; /* the name of the whole one */
    int of;
    int64_t at;
};

struct place_list {
    struct place *place;
    size_t count, capacity;
};

struct program {
    struct disassembly code;
    const struct machine_code_tables *tables;
    struct values values;
    int *whole;                /* of a name: "f" for "f.cold" */
    struct place_list taken;   /* places whose addresses are taken */
    struct place_list saved;   /* where a caller's register is kept */
    struct place_list looked;  /* where something was kept that was known, and needed */
    struct place_list changed; /* arguments on the stack that a function writes: where they end */
    struct value *lowest;      /* of a name: how far down it writes, or calls */
    struct part {
        int function, of;
        int64_t low, high;
    } part;            /* asked for last; of CALLERS - 1: none */
    int open_is_known; /* taken and saved are complete: what is kept where pointers lead is not known */
    struct entry {
        size_t at;
        struct value stack; /* its end */
    } * entry, *called;     /* calls of __tsan_func_entry; of the file's functions */
    size_t entry_count, entry_capacity, called_count, called_capacity;
    struct kind *kind; /* of an instruction */
    struct block *block;
    size_t block_count;
    int *block_of; /* of an instruction */
    struct {
        size_t begin, end;
    } * section;  /* of a name: its instructions */
    int *root_of; /* of a name: where the function of that name begins, or -1 */
    /* of a name: the instruction that the object's table says it is of; -1: of none, NAME_OF_OTHERS: not defined here */
    int *defined;
    char *returns; /* of a name: 1 if it is a function of the file that returns */
    char *queued;  /* of a block: 1 if it is to be looked at */
    int *order;    /* blocks, each after those that lead to it, but for loops */
    int judging, failed;
    struct machine_code_finding *finding;
    struct machine_code_accesses *unproven; /* NULL: a finding */
};

enum { NAME_OF_OTHERS = -2 };

static const struct value anything = {ANYTHING, 0, 0};

/* 0; but 1 as long as what is known is still being gathered. */
static int fail(struct program *p, size_t at, const char *message)
{
    const struct instruction *it = &p->code.instruction[at];
    if (!p->judging) return 1;
    if (p->failed) return 0;
    p->failed = 1;
    *p->finding = (struct machine_code_finding){copy_string(p->code.name[it->section]), it->address,
                                                copy_string(it->text),
                                                copy_string(p->code.name[it->function]), message};
    return 0;
}

static void add_place(struct program *p, struct place_list *places, size_t at, int of, int64_t where)
{
    const struct place place = {p->whole[p->code.instruction[at].function], of, where};
    for (size_t i = 0; i < places->count; i++)
        if (memcmp(&places->place[i], &place, sizeof place) == 0) return;
    if (places->count == places->capacity) {
        places->capacity = places->capacity ? 2 * places->capacity : 64;
        struct place *more = must_allocate(places->capacity * sizeof *more);
        if (places->count) memcpy(more, places->place, places->count * sizeof *more);
        free(places->place);
        places->place = more;
    }
    places->place[places->count++] = place;
}

/* The part of a frame to which pointers may lead: from the lowest place whose address is taken to where the caller's registers are
 * kept. Compilers keep both apart: variables whose address is taken lie above what registers had no room for. */
static void open_part(const struct program *p, int function, int of, int64_t *low, int64_t *high)
{
    *low = *high = of == CALLERS ? -8 : 0;
    for (size_t i = 0; i < p->taken.count; i++) {
        const struct place *place = &p->taken.place[i];
        if (place->function == function && place->of == of && place->at < *low) *low = place->at;
    }
    for (size_t i = 0; i < p->saved.count; i++) {
        const struct place *place = &p->saved.place[i];
        if (place->function == function && place->of == of && place->at >= *low && place->at < *high)
            *high = place->at;
    }
}

/* Places that pointers may write to; and arguments on the stack, which a caller that takes the function for another may not have put
 * there. */
static int is_open(struct program *p, int function, int of, int64_t at)
{
    struct part *part = &p->part;
    if (of == CALLERS && at + 8 > -8) return 1;
    if (part->function != function || part->of != of) {
        *part = (struct part){.function = function, .of = of};
        open_part(p, function, of, &part->low, &part->high);
    }
    return at < part->high && at + 8 > part->low;
}

static int is_saved(int number)
{
    return number == RBX || number == RBP || number > R11;
}

static void copy_state(struct state *to, const struct state *from)
{
    struct slot *slot = to->slot;
    int capacity = to->slot_capacity;
    if (capacity < from->slot_count) {
        free(slot);
        capacity = 2 * from->slot_count;
        slot = must_allocate((size_t)capacity * sizeof *slot);
    }
    if (from->slot_count) memcpy(slot, from->slot, (size_t)from->slot_count * sizeof *slot);
    *to = *from;
    to->slot = slot;
    to->slot_capacity = capacity;
}

static void forget_slots(struct state *s, int of, int64_t at, int64_t bytes)
{
    int kept = 0;
    for (int i = 0; i < s->slot_count; i++) {
        const struct slot *slot = &s->slot[i];
        if (slot->of != of || slot->at >= at + bytes || at >= slot->at + 8) s->slot[kept++] = *slot;
    }
    s->slot_count = kept;
}

static struct value find_slot(const struct state *s, struct value where)
{
    for (int i = 0; i < s->slot_count; i++)
        if (s->slot[i].of == where.of && s->slot[i].at == where.at) return s->slot[i].value;
    return anything;
}

/* Forgets what pointers, or other functions, may have changed. As long as it is not known where pointers lead, only arguments are
 * forgotten, and load_slot() keeps a list of what is to be looked up later. */
static void forget_open(struct program *p, struct state *s, size_t at)
{
    const int function = p->whole[p->code.instruction[at].function];
    int kept = 0;
    for (int i = 0; i < s->slot_count; i++) {
        const struct slot *slot = &s->slot[i];
        const int is_argument = slot->of == CALLERS && slot->at + 8 > -8;
        if (p->open_is_known ? !is_open(p, function, slot->of, slot->at) : !is_argument)
            s->slot[kept++] = *slot;
    }
    s->slot_count = kept;
}

/* What an instruction loads. */
static struct value load_slot(struct program *p, const struct state *s, size_t at, struct value where)
{
    const struct value found = find_slot(s, where);
    if (found.kind != ANYTHING && p->judging && !p->open_is_known)
        add_place(p, &p->looked, at, where.of, where.at);
    return found;
}

static void set_slot(struct program *p, struct state *s, size_t at, struct value where, int bytes,
                     struct value value)
{
    forget_slots(s, where.of, where.at, bytes);
    if (p->judging && value.kind == GIVEN && is_saved(value.of))
        add_place(p, &p->saved, at, where.of, where.at);
    if (value.kind == ANYTHING || bytes != 8) return;
    if (s->slot_count == s->slot_capacity) {
        s->slot_capacity = s->slot_capacity ? 2 * s->slot_capacity : 16;
        struct slot *more = must_allocate((size_t)s->slot_capacity * sizeof *more);
        if (s->slot_count) memcpy(more, s->slot, (size_t)s->slot_count * sizeof *more);
        free(s->slot);
        s->slot = more;
    }
    s->slot[s->slot_count++] = (struct slot){where.of, where.at, value};
}

/* ---- names and reports --------------------------------------------------------------------------------- */

/* Drops what is known in terms of what instruction @p at made when it ran before. */
static void forget_names(const struct program *p, struct state *s, enum value_kind kind, size_t at,
                         uint64_t which)
{
    const struct values *all = &p->values;
    int kept = 0;
    for (int i = 0; i < s->slot_count; i++)
        if (!values_mention(all, s->slot[i].value, kind, at, which) &&
            !(kind == FRAME && s->slot[i].of == (int)at))
            s->slot[kept++] = s->slot[i];
    s->slot_count = kept;
    kept = 0;
    for (int i = 0; i < s->report_count; i++)
        if (!values_mention(all, s->report[i].from, kind, at, which)) s->report[kept++] = s->report[i];
    s->report_count = kept;
}

/* Instruction @p at is about to run again: values of before that registers still hold get the name HELD. */
static void begin_instruction(const struct program *p, struct state *s, size_t at)
{
    for (int i = 0; i < REGISTERS; i++)
        if (i != RSP && values_mention(&p->values, s->reg[i], DEFINED, at, ~UINT64_C(0)))
            s->reg[i] = (struct value){DEFINED, named(at, HELD + i), 0};
    forget_names(p, s, DEFINED, at, ~UINT64_C(0));
}

static void add_report(struct state *s, struct value from, int64_t bytes, int writes)
{
    if (from.kind == ANYTHING || bytes <= 0) return;
    for (int i = 0; i < s->report_count; i++) {
        struct report *r = &s->report[i];
        if (r->writes != writes || !same_name(r->from, from)) continue;
        const int64_t distance = (int64_t)((uint64_t)from.at - (uint64_t)r->from.at);
        if (distance >= 0 && distance <= r->bytes) { /* one behind the other */
            if (distance + bytes > r->bytes) r->bytes = distance + bytes;
            return;
        }
        if (distance < 0 && -distance <= bytes) {
            r->from = from;
            r->bytes = r->bytes - distance > bytes ? r->bytes - distance : bytes;
            return;
        }
    }
    if (s->report_count == MOST_REPORTS)
        memmove(s->report, s->report + 1, (size_t)--s->report_count * sizeof *s->report);
    s->report[s->report_count++] = (struct report){from, bytes, writes};
}

static int is_reported(const struct state *s, struct value from, int64_t bytes, int writes)
{
    for (int i = 0; i < s->report_count; i++) {
        const struct report *r = &s->report[i];
        const uint64_t distance = (uint64_t)from.at - (uint64_t)r->from.at;
        if (r->writes == writes && same_name(r->from, from) && distance < (uint64_t)r->bytes &&
            (uint64_t)bytes <= (uint64_t)r->bytes - distance)
            return 1;
    }
    return 0;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* The relocation of the displacement, or of the immediate operand; NULL if there is none. An immediate operand is the end of its instruction. */
static const struct relocation *relocation_of(const struct program *p, size_t at, int immediate)
{
    const struct instruction *it = &p->code.instruction[at];
    const unsigned long end = at + 1 < p->code.count && it[1].section == it->section ? it[1].address : 0;
    for (int i = 0; i < it->relocation_count; i++) {
        const struct relocation *r = &it->relocation[i];
        const int bytes = strcmp(r->kind, "64") == 0 ? 8 : 4;
        if ((it->operand[0].kind == IMMEDIATE && r->at + (unsigned)bytes == end) == immediate) return r;
    }
    return NULL;
}

/* What a relocation stands for: a variable's address, or its distance from fs:0. */
static struct value value_of_relocation(const struct program *p, size_t at, const struct relocation *r)
{
    const struct instruction *it = &p->code.instruction[at];
    if (strcmp(r->kind, "TPOFF32") == 0) return (struct value){THREAD_LOCAL, r->symbol, r->addend};
    if (strcmp(r->kind, "32") == 0 || strcmp(r->kind, "32S") == 0 || strcmp(r->kind, "64") == 0)
        return (struct value){SYMBOL, r->symbol, r->addend};
    if (strcmp(r->kind, "PC32") == 0 && at + 1 < p->code.count && it[1].section == it->section)
        return (struct value){SYMBOL, r->symbol, r->addend + (int64_t)(it[1].address - r->at)};
    return anything;
}

/* The address of a memory operand, without what %fs adds. */
static struct value distance_of(struct program *p, const struct state *s, size_t at, const struct operand *o)
{
    const struct relocation *r = relocation_of(p, at, 0);
    const int is_relative = r != NULL && strcmp(r->kind, "PC32") == 0;
    if (is_relative != o->counter) return anything;
    struct value sum = r != NULL ? value_of_relocation(p, at, r) : (struct value){NUMBER, 0, o->value};
    if (o->base != NO_REGISTER) sum = values_sum(&p->values, sum, s->reg[o->base], 1);
    if (o->index != NO_REGISTER) sum = values_sum(&p->values, sum, s->reg[o->index], o->scale);
    return sum;
}

static struct value address_of(struct program *p, const struct state *s, size_t at, const struct operand *o)
{
    const struct value distance = distance_of(p, s, at, o);
    return o->thread ? values_sum(&p->values, distance, (struct value){THREAD, 0, 0}, 1) : distance;
}

/* "mov 0x0(%rip),%rax": from the linker's table of addresses, or of distances from fs:0. */
static const struct relocation *linked(const struct program *p, size_t at, const struct operand *o)
{
    static const char tables[] = " GOTTPOFF GOTPCREL GOTPCRELX REX_GOTPCRELX ";
    const struct relocation *r = relocation_of(p, at, 0);
    return r != NULL && o->counter && r->addend == -4 && is_listed(tables, r->kind, strlen(r->kind)) ? r
                                                                                                     : NULL;
}

static struct value value_of_linked(const struct relocation *r)
{
    return (struct value){strcmp(r->kind, "GOTTPOFF") == 0 ? THREAD_LOCAL : SYMBOL, r->symbol, 0};
}

/* Within one of the thread's four indices, or where the thread's variables end. */
static int is_index(struct program *p, struct value where, int bytes)
{
    static const char names[] = " simt_thread_index simt_block_index simt_block_extent simt_grid_extent ";
    const struct value distance = values_sum(&p->values, where, (struct value){THREAD, 0, 0}, -1);
    if (distance.kind == NUMBER) return distance.at == 0 && bytes == 8;
    return distance.kind == THREAD_LOCAL &&
           is_listed(names, p->code.name[distance.of], strlen(p->code.name[distance.of])) &&
           distance.at >= 0 && distance.at + bytes <= INDEX_BYTES;
}

static int is_constant(const struct program *p, struct value where, int64_t bytes)
{
    int within = 0;
    for (size_t i = 0; where.kind == SYMBOL && i < p->tables->constant_count; i++) {
        const struct machine_code_constant *c = &p->tables->constant[i];
        if (strcmp(c->name, p->code.name[where.of]) != 0) continue;
        if (where.at < 0 || (uint64_t)where.at > c->bytes || c->bytes - (uint64_t)where.at < (uint64_t)bytes)
            return 0;
        within = 1;
    }
    return within;
}

/* An access of which nothing tells that it was reported. */
static int not_proven(struct program *p, size_t at, int64_t bytes, int writes)
{
    const struct instruction *it = &p->code.instruction[at];
    struct machine_code_accesses *list = p->unproven;
    if (list == NULL) return fail(p, at, "touches memory, and has not told the device of that");
    if (!p->judging) return 1;
    struct machine_code_access *last = list->count ? &list->access[list->count - 1] : NULL;
    if (last != NULL && last->address == it->address &&
        strcmp(last->section, p->code.name[it->section]) == 0) {
        last->bytes[writes] = bytes;
        return 1;
    }
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        struct machine_code_access *more = must_allocate(list->capacity * sizeof *more);
        if (list->count) memcpy(more, list->access, list->count * sizeof *more);
        free(list->access);
        list->access = more;
    }
    last = &list->access[list->count++];
    *last = (struct machine_code_access){.section = copy_string(p->code.name[it->section]),
                                         .address = it->address};
    last->bytes[writes] = bytes;
    return 1;
}

/* Arguments on the caller's stack are as many as the caller has put there, who may have called the function as one of another type. */
static void note_argument(struct program *p, size_t at, struct value where, int64_t bytes)
{
    if (p->judging && where.kind == FRAME && where.of == CALLERS && where.at >= 0)
        add_place(p, &p->changed, at, CALLERS, where.at + bytes);
}

/* The function has come as far down the stack as this. */
static void reach_down(struct program *p, size_t at, struct value where)
{
    struct value *lowest = &p->lowest[p->whole[p->code.instruction[at].function]];
    if (where.of != CALLERS) lowest->of = where.of;
    if (where.at < lowest->at) lowest->at = where.at;
}

/* A constant distance in the frame: between the stack's end and the return address, or an argument. */
static int judge_frame(struct program *p, const struct state *s, size_t at, struct value where, int64_t bytes,
                       int writes)
{
    const struct value end = s->reg[RSP];
    if (writes) note_argument(p, at, where, bytes);
    if (writes) reach_down(p, at, where);
    const int above = where.at >= 0 && where.at + bytes <= MOST_ARGUMENT_BYTES,
              inside = where.at + bytes <= (where.of == CALLERS && writes ? -8 : 0);
    const int fine = where.of == CALLERS ? above || inside : inside;
    const int64_t low = end.kind == FRAME && end.of == where.of ? end.at : -MOST_PUSHED_BYTES;
    if (fine && where.at >= low && where.at >= -MOST_FRAME_BYTES) return 1;
    return fail(
        p, at,
        "touches the stack outside of its function's frame, or has local variables of more than 64 KB");
}

/* Judges an access to an address, and forgets what it changes. */
static int judge_address(struct program *p, struct state *s, size_t at, struct value where, int64_t bytes,
                         int writes)
{
    if (where.kind == FRAME) {
        if (writes) forget_slots(s, where.of, where.at, bytes);
        return judge_frame(p, s, at, where, bytes, writes);
    }
    if (!writes && (is_index(p, where, (int)bytes) || is_constant(p, where, bytes))) return 1;
    const int fine = is_reported(s, where, bytes, writes) || not_proven(p, at, bytes, writes);
    if (writes) forget_open(p, s, at);
    return fine;
}

static int judge(struct program *p, struct state *s, size_t at, const struct operand *o, int bytes,
                 int writes)
{
    if (!writes && !o->thread && bytes == 8 && linked(p, at, o) != NULL) return 1;
    if (writes && !o->thread && address_of(p, s, at, o).kind != FRAME)
        note_argument(p, at, moved(o->base == NO_REGISTER ? anything : s->reg[o->base], o->value), bytes);
    return judge_address(p, s, at, address_of(p, s, at, o), bytes, writes);
}

/* ---- instructions -------------------------------------------------------------------------------------- */

/* The value of an operand that is read. */
static struct value value_of(struct program *p, struct state *s, size_t at, const struct operand *o,
                             int bytes)
{
    if (o->kind == IMMEDIATE) {
        const struct relocation *r = relocation_of(p, at, 1);
        return r != NULL ? value_of_relocation(p, at, r) : (struct value){NUMBER, 0, o->value};
    }
    if (o->kind == REGISTER && o->reg != VECTOR && o->bytes == 4 && s->reg[o->reg].kind == NUMBER)
        return (struct value){NUMBER, 0, (uint32_t)s->reg[o->reg].at};
    if (o->kind == REGISTER) return o->reg == VECTOR || o->bytes != 8 ? anything : s->reg[o->reg];
    if (o->kind != MEMORY) return anything;
    judge(p, s, at, o, bytes, 0);
    const struct value where = address_of(p, s, at, o);
    if (bytes != 8) return anything;
    if (where.kind == FRAME) return load_slot(p, s, at, where);
    if (same_value(where, (struct value){THREAD, 0, 0})) return where;
    const struct relocation *r = o->thread ? NULL : linked(p, at, o);
    return r != NULL ? value_of_linked(r) : anything;
}

/* A register becomes @p value, or something that is named after this instruction. */
static void define(struct state *s, size_t at, int number, struct value value)
{
    s->reg[number] = value.kind == ANYTHING ? (struct value){DEFINED, named(at, number), 0} : value;
}

/* An operand becomes @p value. */
static int put(struct program *p, struct state *s, size_t at, const struct operand *o, int bytes,
               struct value value)
{
    if (o->kind == REGISTER) {
        if (o->reg == VECTOR) return 1;
        const int is_whole =
            o->bytes == 8 ||
            (o->bytes == 4 && ((value.kind == NUMBER && value.at >= 0) || value.kind == SYMBOL));
        if (o->reg == RSP && (!is_whole || value.kind != FRAME || value.at % 8 != 0))
            return fail(p, at, "moves the stack by a length that is not constant");
        define(s, at, o->reg, is_whole ? value : anything);
        return 1;
    }
    if (o->kind != MEMORY) return fail(p, at, "has an operand that no compiler gives it");
    if (!judge(p, s, at, o, bytes, 1)) return 0;
    const struct value where = address_of(p, s, at, o);
    if (where.kind == FRAME) set_slot(p, s, at, where, bytes, value);
    return 1;
}

/* A number made of two, of 4 or 8 bytes. */
static struct value number(const char *name, int64_t by, int64_t of, int bytes)
{
    const uint64_t a = (uint64_t)of, b = (uint64_t)by;
    uint64_t result = 0;
    if (strcmp(name, "add") == 0)
        result = a + b;
    else if (strcmp(name, "sub") == 0)
        result = a - b;
    else if (strcmp(name, "and") == 0)
        result = a & b;
    else if (strcmp(name, "shr") == 0 && b < 32)
        result = a >> b;
    else
        return anything;
    return (struct value){NUMBER, 0, bytes == 8 ? (int64_t)result : (uint32_t)result};
}

/* The stack is aligned anew: addresses from where it was aligned before are unknown. */
static void forget_frame(const struct program *p, struct state *s, size_t at)
{
    for (int i = 0; i < REGISTERS; i++)
        if (i != RSP && values_mention(&p->values, s->reg[i], FRAME, at, 0))
            s->reg[i] = (struct value){DEFINED, named(at, HELD + i), 0};
    forget_names(p, s, FRAME, at, 0);
}

/* An instruction that computes: reads its operands, and the last one becomes new. */
static int compute(struct program *p, struct state *s, size_t at, const struct kind *kind)
{
    const struct instruction *it = &p->code.instruction[at];
    const char *name = it->name;
    struct value first = anything, last = anything, result = anything;
    const int only_written = strstr(name, "mov") != NULL || strncmp(name, "set", 3) == 0 || *name == 'v';
    for (int i = 0; i < it->count; i++) {
        if (i == it->count - 1 && it->operand[i].kind == MEMORY && only_written && kind->does != READS)
            continue;
        last = value_of(p, s, at, &it->operand[i], kind->bytes);
        if (i == 0) first = last;
    }
    if (kind->does == READS || it->count == 0) return !p->failed;
    const struct operand *to = &it->operand[it->count - 1], *from = &it->operand[0];
    const int adds = strcmp(name, "add") == 0, subtracts = strcmp(name, "sub") == 0;
    const int is_same = from->kind == REGISTER && to->kind == REGISTER && from->reg == to->reg;
    const int is_whole =
        to->kind == REGISTER ? to->reg != VECTOR && to->bytes == 8 : to->kind == MEMORY && kind->bytes == 8;
    if (is_whole && it->count == 2 && strcmp(name, "and") == 0 && from->kind == IMMEDIATE &&
        to->kind == REGISTER && to->reg == RSP && first.kind == NUMBER && first.at % 8 == 0 &&
        first.at >= -MOST_ALIGNMENT && last.kind == FRAME) {
        result = (struct value){FRAME, (int)at, 0};
        forget_frame(p, s, at);
    } else if (is_whole && it->count == 2 && strcmp(name, "and") == 0 && first.kind == NUMBER &&
               first.at == -8 && last.kind == FRAME) { /* the stack's end is a multiple of 8 everywhere */
        result = (struct value){FRAME, last.of, last.at & -8};
    } else if (it->count == 2 && strcmp(name, "xor") == 0 && is_same && to->reg != VECTOR) {
        result = (struct value){NUMBER, 0, 0};
    } else if (it->count == 2 && to->kind == REGISTER && to->reg != VECTOR && first.kind == NUMBER &&
               last.kind == NUMBER && to->bytes >= 4) {
        result = number(name, first.at, last.at, to->bytes);
    } else if (is_whole && it->count == 2 && (adds || subtracts)) {
        result = values_sum(&p->values, last, first, adds ? 1 : -1);
    } else if (is_whole && it->count == 2 && (strcmp(name, "shl") == 0) && first.kind == NUMBER &&
               first.at > 0 && first.at < 64) {
        result =
            values_sum(&p->values, (struct value){NUMBER, 0, 0}, last, (int64_t)(UINT64_C(1) << first.at));
    }
    return put(p, s, at, to, kind->bytes, result);
}

static int push(struct program *p, struct state *s, size_t at)
{
    const struct value value = value_of(p, s, at, &p->code.instruction[at].operand[0], 8);
    if (s->reg[RSP].kind != FRAME) return fail(p, at, "uses the stack, and nothing tells where it ends");
    s->reg[RSP].at -= 8;
    set_slot(p, s, at, s->reg[RSP], 8, value);
    return !p->failed;
}

static int pop(struct program *p, struct state *s, size_t at, const struct operand *to)
{
    const struct value where = s->reg[RSP];
    if (where.kind != FRAME || where.at % 8 != 0 || (where.of == CALLERS && where.at >= -8) ||
        (where.of != CALLERS && where.at >= 0))
        return fail(p, at, "takes from the stack what is above the function's frame");
    s->reg[RSP].at += 8;
    return put(p, s, at, to, 8, load_slot(p, s, at, where));
}

static int divide(struct program *p, struct state *s, size_t at, const struct kind *kind)
{
    const struct instruction *it = &p->code.instruction[at];
    if (it->count > 1 && strcmp(it->name, "imul") == 0) return compute(p, s, at, kind);
    for (int i = 0; i < it->count; i++) value_of(p, s, at, &it->operand[i], kind->bytes);
    define(s, at, RAX, anything);
    define(s, at, RDX, anything);
    return !p->failed;
}

static int exchange(struct program *p, struct state *s, size_t at, const struct kind *kind)
{
    const struct instruction *it = &p->code.instruction[at];
    if (it->count != 2) return fail(p, at, "has an operand that no compiler gives it");
    if (it->operand[0].kind == REGISTER && it->operand[1].kind == REGISTER &&
        it->operand[0].reg == it->operand[1].reg && it->operand[0].bytes != 4 && it->operand[0].bytes != 1)
        return 1; /* which is a nop; not "%ah,%al" */
    for (int i = 0; i < 2; i++) value_of(p, s, at, &it->operand[i], kind->bytes);
    if (kind->does == COMPARES_AND_EXCHANGES) define(s, at, RAX, anything);
    if (kind->does == EXCHANGES && !put(p, s, at, &it->operand[0], kind->bytes, anything)) return 0;
    return put(p, s, at, &it->operand[1], kind->bytes, anything) && !p->failed;
}

/* The instruction at an address of a section, or -1. */
static int find_instruction(const struct program *p, int section, unsigned long address)
{
    size_t low = p->section[section].begin, high = p->section[section].end;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (p->code.instruction[middle].address == address) return (int)middle;
        if (p->code.instruction[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* Where a call or jump goes: an instruction of the object; or -1, and a name that another object defines, or -1 for nowhere. */
static int target_of_branch(const struct program *p, size_t at, int *name)
{
    const struct instruction *it = &p->code.instruction[at];
    *name = -1;
    if (it->count != 1 || it->operand[0].kind != PLACE || it->relocation_count > 1) return -1;
    if (it->relocation_count == 0)
        return find_instruction(p, it->section, (unsigned long)it->operand[0].value);
    const struct relocation *r = &it->relocation[0];
    if (strcmp(r->kind, "PLT32") != 0 && strcmp(r->kind, "PC32") != 0) return -1;
    const int at_section = find_instruction(p, r->symbol, (unsigned long)(r->addend + 4));
    if (at_section >= 0 || r->addend != -4) return at_section;
    const int known = p->root_of[r->symbol], defined = p->defined[r->symbol];
    if (known < 0 && defined == NAME_OF_OTHERS) *name = r->symbol;
    return defined != NAME_OF_OTHERS ? defined : known;
}

int machine_code_report(const char *name)
{
    static const char start[] = "simt_access_";
    static const char *const bytes[] = {"1", "2", "4", "8", "16", "32"};
    if (strncmp(name, start, sizeof start - 1) != 0) return 0;
    const char *kind = name + sizeof start - 1, *number = kind + strspn(kind, "rw");
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++)
        if (strcmp(number, bytes[i]) == 0 && number > kind) return atoi(number);
    return 0;
}

/* What begins an atomic of the device's headers: rdi points to what may be touched now, and rsi says how many bytes. */
#define ATOMIC_BEGINS                                                                                        \
    " simt_atomic_begin simt_block_atomic_begin simt_update_begin simt_load_begin simt_store_begin "

/* "__tsan_volatile_read4": what rdi points to may be touched now; "simt_access_r4": what r11 points to. 0 for a call of anything else. */
static int take_call_for_report(struct state *s, const char *name)
{
    const int is_atomic = is_listed(ATOMIC_BEGINS, name, strlen(name));
    const int own = machine_code_report(name), stores = strcmp(name, "simt_store_begin") == 0,
              loads = strcmp(name, "simt_load_begin") == 0;
    const char *end = name + strlen(name), *number = end;
    while (number > name && number[-1] >= '0' && number[-1] <= '9') number--;
    int64_t bytes = strtol(number, NULL, 10);
    if (!is_atomic && !own && strncmp(name, "__tsan_", 7) != 0) return 0;
    if (is_atomic || strstr(name, "_range") != NULL)
        bytes = s->reg[RSI].kind == NUMBER && s->reg[RSI].at < INT32_MAX ? s->reg[RSI].at : 0;
    if (strncmp(name, "__tsan_vptr_", 12) == 0) bytes = 8;
    const char *kind = name + strlen("simt_access_");
    const int does[2] = {own         ? strchr(kind, 'r') != NULL
                         : is_atomic ? !stores
                                     : strstr(name, "_read") != NULL,
                         own         ? strchr(kind, 'w') != NULL
                         : is_atomic ? !loads
                                     : strstr(name, "_write") != NULL || strstr(name, "_update") != NULL};
    if (!does[0] && !does[1]) return strncmp(name, "__tsan_func_", 12) == 0;
    for (int writes = 0; writes < 2; writes++)
        if (does[writes]) add_report(s, s->reg[own ? R11 : RDI], bytes, writes);
    return own ? KEEPS_REGISTERS : 1;
}

static void add_call(struct entry **list, size_t *count, size_t *capacity, size_t at, struct value stack)
{
    if (*count == *capacity) {
        *capacity = *capacity ? 2 * *capacity : 64;
        struct entry *more = must_allocate(*capacity * sizeof *more);
        if (*count) memcpy(more, *list, *count * sizeof *more);
        free(*list);
        *list = more;
    }
    (*list)[(*count)++] = (struct entry){at, stack};
}

/* "__tsan_func_entry": from here to "__tsan_func_exit" the device knows which part of the frame pointers may lead to. 0 after a failure. */
static int enter_or_leave(struct program *p, struct state *s, size_t at, const char *name)
{
    const int enters = strcmp(name, "__tsan_func_entry") == 0;
    if (!enters && strcmp(name, "__tsan_func_exit") != 0) return 1;
    if (s->entered != !enters) return fail(p, at, "says once too often that a function begins or ends");
    s->entered = enters;
    if (!p->judging || !enters) return 1;
    add_call(&p->entry, &p->entry_count, &p->entry_capacity, at, s->reg[RSP]);
    return 1;
}

/* A function of the file changes its arguments on the stack, which are its caller's. */
static void forget_arguments(const struct program *p, struct state *s, int function)
{
    for (size_t i = 0; i < p->changed.count; i++)
        if (p->changed.place[i].function == function)
            forget_slots(s, s->reg[RSP].of, s->reg[RSP].at, p->changed.place[i].at);
}

/* A call; @p goes_on: whether it may return. */
static int call(struct program *p, struct state *s, size_t at, int *goes_on)
{
    static const char ends[] =
        " abort exit __assert_fail __cxa_rethrow _Unwind_Resume __cxa_pure_virtual __stack_chk_fail "
        "simt_assert_fail simt_refuse_in_kernel simt_misuse "
        "_ZSt17__throw_bad_allocv _ZSt20__throw_length_errorPKc _ZSt28__throw_bad_array_new_lengthv "
        "_ZSt24__throw_out_of_range_fmtPKcz _ZSt25__throw_bad_function_callv ";
    static const int lost[] = {RAX, RCX, RDX, RSI, RDI, R8, R8 + 1, R8 + 2, R8 + 3};
    int name;
    const int target = target_of_branch(p, at, &name);
    if (target < 0 && name < 0)
        return fail(p, at, "calls what is neither a function of the file nor one that the file may call");
    if (target >= 0 && !p->code.instruction[target].begins)
        return fail(p, at, "calls into the middle of a function");
    if (s->reg[RSP].kind != FRAME) return fail(p, at, "calls, and nothing tells where its stack ends");
    reach_down(p, at, s->reg[RSP]);
    if (target < 0 && !enter_or_leave(p, s, at, p->code.name[name])) return 0;
    if (target >= 0 && p->judging)
        add_call(&p->called, &p->called_count, &p->called_capacity, at, s->reg[RSP]);
    if (target >= 0)
        *goes_on = p->returns[p->code.instruction[target].function];
    else
        *goes_on = !is_listed(ends, p->code.name[name], strlen(p->code.name[name]));
    const int reports = target < 0 ? take_call_for_report(s, p->code.name[name]) : 0;
    forget_slots(s, s->reg[RSP].of, INT32_MIN, s->reg[RSP].at - INT32_MIN);
    if (!reports) {
        s->report_count = 0;
        forget_open(p, s, at);
        if (target >= 0) forget_arguments(p, s, p->code.instruction[target].function);
    }
    for (size_t i = 0; i < sizeof lost / sizeof lost[0] && reports != KEEPS_REGISTERS; i++)
        define(s, at, lost[i], anything);
    return 1;
}

static int has_usual_prefix(const struct instruction *it, enum does does)
{
    const char *prefix = it->prefix;
    if (strcmp(prefix, "lock") == 0)
        return does == ADDS_UP || does == EXCHANGES || does == COMPARES_AND_EXCHANGES;
    if (strcmp(prefix, "rep") == 0) return does == STRINGS || does == RETURNS || does == NOTHING;
    return does != STRINGS &&
           (*prefix == '\0' || does == NOTHING || (does == RETURNS && strcmp(prefix, "repz") == 0) ||
            (does == EXCHANGES && strcmp(prefix, "data16") == 0));
}

/* The device's atomics begin with a call; what it has not told of may be in the function's own frame only. */
static int judge_atomic(struct program *p, const struct state *s, size_t at, int bytes)
{
    const struct instruction *it = &p->code.instruction[at];
    for (int i = 0; i < it->count; i++) {
        const struct operand *o = &it->operand[i];
        if (o->kind != MEMORY) continue;
        const struct value where = address_of(p, s, at, o);
        if (where.kind == FRAME && !o->thread) continue;
        if (!is_reported(s, where, bytes, 1))
            return fail(p, at, "is an atomic access that the compiler has not reported to the device");
    }
    return 1;
}

/* "lock orq $0x0,(%rsp)": what a compiler makes of a fence. It changes nothing, be it the return address of a function without a frame. */
static int is_fence(const struct instruction *it)
{
    const struct operand *zero = &it->operand[0], *end = &it->operand[1];
    return strcmp(it->prefix, "lock") == 0 && strcmp(it->name, "orq") == 0 && it->count == 2 &&
           zero->kind == IMMEDIATE && zero->value == 0 && end->kind == MEMORY && end->base == RSP &&
           end->index == NO_REGISTER && end->value == 0 && !end->thread && it->relocation_count == 0;
}

/* "rep stos", "rep movsq": like any other access. */
static int strings(struct program *p, struct state *s, size_t at)
{
    const struct instruction *it = &p->code.instruction[at];
    const int moves = strcmp(it->name, "stos") != 0;
    const int each = !moves               ? it->operand[0].bytes
                     : it->name[4] == 'b' ? 1
                     : it->name[4] == 'w' ? 2
                     : it->name[4] == 'l' ? 4
                                          : 8;
    const struct value times = s->reg[RCX];
    if (times.kind != NUMBER || times.at < 0 || times.at > INT32_MAX / 8)
        return fail(p, at, "touches as many bytes as nothing tells");
    for (int writes = !moves; writes < 2; writes++)
        if (times.at > 0 && !judge_address(p, s, at, s->reg[writes ? RDI : RSI], times.at * each, writes))
            return 0;
    define(s, at, RDI, anything);
    if (moves) define(s, at, RSI, anything);
    s->reg[RCX] = (struct value){NUMBER, 0, 0};
    return 1;
}

static int returns(struct program *p, const struct state *s, size_t at)
{
    if (s->reg[RSP].kind != FRAME || s->reg[RSP].of != CALLERS || s->reg[RSP].at != -8)
        return fail(p, at, "returns, and not to where its function was called");
    for (int i = 0; i < REGISTERS; i++)
        if (is_saved(i) && !same_value(s->reg[i], (struct value){GIVEN, i, 0}))
            return fail(p, at, "returns, and a register is not as its caller left it");
    if (s->entered) return fail(p, at, "returns, and has not said that its function ends");
    return 1;
}

/* An address in the frame gets into a register, and from there anywhere. What lies below the stack's end, or above the frame, is no variable. */
static void take(struct program *p, const struct state *s, size_t at, struct value address)
{
    const struct value end = s->reg[RSP];
    if (!p->judging || address.kind != FRAME || (address.of == CALLERS && address.at >= -8)) return;
    if (end.kind == FRAME && end.of == address.of && address.at < end.at) return;
    add_place(p, &p->taken, at, address.of, address.at);
}

static void take_operand(struct program *p, const struct state *s, size_t at, const struct operand *o)
{
    for (int i = 0; i < 2; i++) {
        const int number = i ? o->index : o->base;
        if (number != NO_REGISTER && s->reg[number].kind == FRAME)
            take(p, s, at, moved(s->reg[number], o->value));
    }
}

/* What was loaded from the frame has the name of the register that it is in, there too. */
static void name_slot(struct program *p, struct state *s, size_t at, const struct operand *from, int number)
{
    const int is_own = from->base == number || from->index == number;
    const struct value where = is_own ? anything : address_of(p, s, at, from);
    if (where.kind == FRAME) set_slot(p, s, at, where, 8, s->reg[number]);
}

/* What an instruction does to what is known; @p goes_on: 0 if the next one does not follow. */
static int step(struct program *p, struct state *s, size_t at, int *goes_on)
{
    const struct instruction *it = &p->code.instruction[at];
    const struct kind kind = p->kind[at];
    *goes_on = 1;
    const struct value compared = s->compared;
    const struct operand *last = &it->operand[it->count > 0 ? it->count - 1 : 0];
    s->compared = anything;
    begin_instruction(p, s, at);
    const int atomic =
        kind.does == EXCHANGES || kind.does == COMPARES_AND_EXCHANGES || strcmp(it->prefix, "lock") == 0;
    if (is_fence(it)) return s->reg[RSP].kind == FRAME || fail(p, at, "has a stack whose end nothing tells");
    if (atomic && !judge_atomic(p, s, at, kind.bytes)) return 0;
    switch (kind.does) {
    case MOVES: {
        const struct value value = value_of(p, s, at, &it->operand[0], kind.bytes);
        if (it->operand[0].kind == REGISTER && !(last->kind == REGISTER && last->reg == RSP))
            take(p, s, at, value);
        if (it->count != 2) return fail(p, at, "has an operand that no compiler gives it");
        if (!put(p, s, at, last, kind.bytes, value) || p->failed) return 0;
        if (value.kind == ANYTHING && kind.bytes == 8 && it->operand[0].kind == MEMORY)
            name_slot(p, s, at, &it->operand[0], last->reg);
        return 1;
    }
    case EXTENDS:
        value_of(p, s, at, &it->operand[0], kind.bytes);
        return put(p, s, at, last, kind.bytes, anything) && !p->failed;
    case LOADS_ADDRESS: {
        const struct operand *from = &it->operand[0];
        if (it->count != 2 || from->kind != MEMORY || from->thread)
            return fail(p, at, "has an operand that no compiler gives it");
        if (last->kind != REGISTER || last->reg != RSP) take_operand(p, s, at, from);
        return put(p, s, at, last, 8, address_of(p, s, at, from));
    }
    case READS:
        if (strcmp(it->name, "cmp") == 0 && last->kind == REGISTER && last->reg == RSP &&
            it->operand[0].kind == REGISTER)
            s->compared = s->reg[it->operand[0].reg];
        return compute(p, s, at, &kind);
    case ADDS_UP:
        return compute(p, s, at, &kind);
    case DIVIDES:
        return divide(p, s, at, &kind);
    case SETS_RAX:
        define(s, at, RAX, anything);
        return 1;
    case SETS_RDX:
        define(s, at, RDX, anything);
        return 1;
    case EXCHANGES:
    case COMPARES_AND_EXCHANGES:
        return exchange(p, s, at, &kind);
    case PUSHES:
        return push(p, s, at);
    case POPS:
        return pop(p, s, at, &it->operand[0]);
    case LEAVES: {
        const struct operand rbp = {.kind = REGISTER, .reg = RBP, .bytes = 8};
        s->reg[RSP] = s->reg[RBP];
        return pop(p, s, at, &rbp);
    }
    case CALLS:
        return call(p, s, at, goes_on);
    case STRINGS:
        return strings(p, s, at);
    case RETURNS:
        *goes_on = 0;
        return returns(p, s, at);
    case BRANCHES:
        if (strcmp(it->name, "jne") == 0) s->compared = compared;
        return 1;
    case JUMPS:
    case STOPS:
        *goes_on = 0;
        return 1;
    default:
        return 1;
    }
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* "name.cold" is a part of "name". */
static int same_function(const struct program *p, int a, int b)
{
    const char *x = p->code.name[a], *y = p->code.name[b];
    const size_t length = strlen(x) < strlen(y) ? strlen(x) : strlen(y);
    return strncmp(x, y, length) == 0 && (x[length] == '\0' || strcmp(x + length, ".cold") == 0) &&
           (y[length] == '\0' || strcmp(y + length, ".cold") == 0);
}

static int is_jump(const struct instruction *it)
{
    return it->name[0] == 'j';
}

static void lead(struct program *p, int from, int to, int jumps)
{
    struct block *b = &p->block[to];
    if (b->from_count == b->from_capacity) {
        b->from_capacity = b->from_capacity ? 2 * b->from_capacity : 4;
        int *more = must_allocate((size_t)b->from_capacity * sizeof *more);
        if (b->from_count) memcpy(more, b->from, (size_t)b->from_count * sizeof *more);
        free(b->from);
        b->from = more;
    }
    b->from[b->from_count++] = jumps ? ~from : from;
}

/* Blocks, and where each jump goes; 0 after a failure. */
static int find_blocks(struct program *p)
{
    const size_t count = p->code.count;
    char *leads = must_allocate(count + 1);
    int *target = must_allocate((count + 1) * sizeof *target);
    int name;
    memset(leads, 0, count + 1);
    for (size_t i = 0; i < count; i++) {
        const struct instruction *it = &p->code.instruction[i];
        target[i] = -1;
        if (p->kind[i].names == NULL) return fail(p, i, "is of a kind that no kernel file needs");
        if (!has_usual_prefix(it, p->kind[i].does))
            return fail(p, i, "has a prefix that no kernel file needs");
        if (it->begins || i == 0 || it->section != it[-1].section) leads[i] = 1;
        if (!is_jump(it)) {
            if (strcmp(it->name, "ret") == 0 || strcmp(it->name, "ud2") == 0) leads[i + 1] = 1;
            continue;
        }
        target[i] = target_of_branch(p, i, &name);
        if (target[i] < 0) return fail(p, i, "jumps to what is no instruction of the file");
        if (!same_function(p, it->function, p->code.instruction[target[i]].function))
            return fail(p, i, "jumps into another function");
        leads[target[i]] = leads[i + 1] = 1;
    }
    for (size_t i = 0; i < count; i++) p->block_count += (size_t)leads[i];
    p->block = must_allocate((p->block_count + 1) * sizeof *p->block);
    memset(p->block, 0, (p->block_count + 1) * sizeof *p->block);
    p->block_of = must_allocate((count + 1) * sizeof *p->block_of);
    int block = -1;
    for (size_t i = 0; i < count; i++) {
        if (leads[i]) p->block[++block] = (struct block){.begin = i, .target = -1};
        p->block_of[i] = block;
        p->block[block].end = i + 1;
    }
    for (size_t b = 0; b < p->block_count; b++) {
        const size_t last = p->block[b].end - 1;
        if (target[last] < 0) continue;
        p->block[b].target = p->block_of[target[last]];
        lead(p, (int)b, p->block[b].target, 1);
    }
    for (size_t b = 0; b + 1 < p->block_count; b++) lead(p, (int)b, (int)b + 1, 0);
    free(leads);
    free(target);
    return 1;
}

/* The order in which blocks are looked at: a depth-first search from the end of the list to its beginning. */
static void find_order(struct program *p)
{
    int *stack = must_allocate((p->block_count + 1) * sizeof *stack), depth = 0;
    char *next = must_allocate(p->block_count + 1);
    size_t left = p->block_count;
    memset(next, 0, p->block_count + 1);
    p->order = must_allocate((p->block_count + 1) * sizeof *p->order);
    for (size_t i = p->block_count; i-- > 0;) {
        if (!p->code.instruction[p->block[i].begin].begins || next[i]) continue;
        next[stack[depth++] = (int)i] = 1;
        while (depth > 0) {
            const int b = stack[depth - 1], way = next[b]++;
            const enum does last = p->kind[p->block[b].end - 1].does;
            int to = -1;
            if (way == 1) to = p->block[b].target;
            if (way == 2 && last != JUMPS && last != RETURNS && last != STOPS &&
                (size_t)b + 1 < p->block_count)
                to = b + 1;
            if (way > 2) p->order[--left] = b, depth--, next[b] = 4;
            if (to >= 0 && !next[to]) next[stack[depth++] = to] = 1;
        }
    }
    for (size_t i = 0; i < p->block_count; i++) /* what nothing leads to */
        if (!next[i]) p->order[--left] = (int)i;
    free(stack);
    free(next);
}

static void begin_function(struct state *s)
{
    s->slot_count = s->report_count = s->entered = 0;
    s->compared = anything;
    for (int i = 0; i < REGISTERS; i++) s->reg[i] = (struct value){GIVEN, i, 0};
    s->reg[RSP] = (struct value){FRAME, CALLERS, -8};
}

/* The ways to a block, and which registers they do not agree on. */
struct ways {
    const struct state **state;
    size_t count;
    size_t at; /* the block's first instruction */
    unsigned joined;
};

static int is_old(const struct program *p, const struct ways *w, struct value value)
{
    return values_mention(&p->values, value, JOINED, w->at, w->joined) ||
           (w->joined >> RSP & 1 && values_mention(&p->values, value, FRAME, w->at, 0));
}

/* Registers whose values differ between the paths, or depend on a register's that do. */
static void find_joined(const struct program *p, struct ways *w)
{
    for (unsigned before = ~w->joined; before != w->joined;) {
        before = w->joined;
        for (int i = 0; i < REGISTERS; i++) {
            const struct value first = w->state[0]->reg[i];
            int same = !is_old(p, w, first);
            for (size_t k = 1; k < w->count && same; k++) same = same_value(first, w->state[k]->reg[i]);
            if (!same) w->joined |= 1u << i;
        }
    }
}

/* If the value is as far from one of the registers in @p from on all paths, it is that far from the register's new value. */
static struct value related(struct program *p, const struct ways *w, const struct value *value, unsigned from)
{
    for (int i = 0; i < REGISTERS; i++) {
        if (!(from >> i & 1)) continue;
        const struct value distance = values_sum(&p->values, value[0], w->state[0]->reg[i], -1);
        int same = distance.kind != ANYTHING && !is_old(p, w, distance);
        for (size_t k = 1; k < w->count && same; k++)
            same = same_value(distance, values_sum(&p->values, value[k], w->state[k]->reg[i], -1));
        if (same) return values_sum(&p->values, (struct value){JOINED, named(w->at, i), 0}, distance, 1);
    }
    return anything;
}

/* The same on all ways, or related to a register. */
static struct value agreed(struct program *p, const struct ways *w, const struct value *value, unsigned from)
{
    int same = !is_old(p, w, value[0]);
    for (size_t k = 1; k < w->count && same; k++) same = same_value(value[0], value[k]);
    return same ? value[0] : related(p, w, value, from);
}

static const struct report *find_report(const struct state *s, struct value from, const struct report *like,
                                        int is_exact)
{
    for (int i = 0; i < s->report_count; i++) {
        const struct report *r = &s->report[i];
        if (r->writes == like->writes && r->bytes == like->bytes &&
            (is_exact ? same_value(r->from, from) : r->from.at == from.at))
            return r;
    }
    return NULL;
}

/* What is known where ways meet. */
static void meet(struct program *p, const struct ways *w, struct state *s, int is_stuck)
{
    const struct state *first = w->state[0];
    struct value *value = must_allocate(w->count * sizeof *value);
    unsigned leaders = 0;
    for (int i = 0; i < REGISTERS; i++) {
        if (!(w->joined >> i & 1)) continue;
        int frame = i == RSP; /* the stack's end: lowered in a loop */
        for (size_t k = 0; k < w->count; k++) {
            value[k] = w->state[k]->reg[i];
            frame &= value[k].kind == FRAME;
        }
        s->reg[i] = is_stuck || i == RSP ? anything : related(p, w, value, leaders);
        if (frame) s->reg[i] = (struct value){FRAME, (int)w->at, 0};
        if (s->reg[i].kind != ANYTHING) continue;
        s->reg[i] = (struct value){JOINED, named(w->at, i), 0};
        if (i != RSP) leaders |= 1u << i;
    }
    int kept = 0;
    for (int i = 0; i < first->slot_count; i++) {
        struct slot slot = first->slot[i];
        const struct value where = {FRAME, slot.of, slot.at};
        for (size_t k = 0; k < w->count; k++) value[k] = find_slot(w->state[k], where);
        slot.value = agreed(p, w, value, leaders);
        if (is_stuck && slot.value.kind != GIVEN && slot.value.kind != FRAME) continue;
        if (slot.value.kind != ANYTHING && !is_old(p, w, where)) s->slot[kept++] = slot;
    }
    s->slot_count = kept;
    s->report_count = 0;
    for (int i = 0; i < first->report_count && !is_stuck; i++) {
        struct report report = first->report[i];
        int on_all = 1;
        for (size_t k = 0; k < w->count && on_all; k++) {
            const struct report *r = find_report(w->state[k], report.from, &report, 1);
            if (r == NULL) r = find_report(w->state[k], report.from, &report, 0);
            on_all = r != NULL;
            if (r != NULL) value[k] = r->from;
        }
        if (!on_all) continue;
        report.from = agreed(p, w, value, leaders);
        if (report.from.kind != ANYTHING) s->report[s->report_count++] = report;
    }
    for (size_t k = 1; k < w->count; k++)
        if (s->entered != w->state[k]->entered) s->entered = 2;
    free(value);
}

static int equal_states(const struct state *a, const struct state *b)
{
    int same = a->slot_count == b->slot_count && same_value(a->compared, b->compared) &&
               a->entered == b->entered && a->report_count == b->report_count;
    for (int i = 0; i < REGISTERS && same; i++) same = same_value(a->reg[i], b->reg[i]);
    for (int i = 0; i < a->slot_count && same; i++)
        same =
            same_value(find_slot(b, (struct value){FRAME, a->slot[i].of, a->slot[i].at}), a->slot[i].value);
    for (int i = 0; i < a->report_count && same; i++)
        same = same_value(a->report[i].from, b->report[i].from) && a->report[i].bytes == b->report[i].bytes &&
               a->report[i].writes == b->report[i].writes;
    return same;
}

/* What is known at the beginning of a block, from all ways to it that were found yet: 1 if there is one. */
static int gather(struct program *p, int number, struct state *s)
{
    struct block *b = &p->block[number];
    struct state begin = {0}, behind; /* not by a jump: there is one such way */
    struct ways w = {.state = must_allocate((size_t)(b->from_count + 1) * sizeof *w.state), .at = b->begin};
    if (p->code.instruction[b->begin].begins) {
        begin_function(&begin);
        w.state[w.count++] = &begin;
    }
    for (int i = 0; i < b->from_count; i++) {
        const int jumps = b->from[i] < 0, from = jumps ? ~b->from[i] : b->from[i];
        const struct block *before = &p->block[from];
        if (!before->reached || !(jumps ? before->ends : before->goes_on)) continue;
        w.state[w.count++] = &before->after;
        if (jumps || before->after.compared.kind != FRAME) continue;
        behind = before->after;
        behind.reg[RSP] = behind.compared; /* "cmp %r11,%rsp; jne" was not taken */
        w.state[w.count - 1] = &behind;
    }
    if (w.count > 0) {
        copy_state(s, w.state[0]);
        s->compared = anything;
        if (!p->judging) b->is_stuck = b->runs > MOST_RUNS;
        if (b->is_stuck) {
            for (int i = 0; i < REGISTERS; i++)
                if (s->reg[i].kind != GIVEN && s->reg[i].kind != FRAME && i != RSP) b->joined |= 1u << i;
            w.joined = b->joined;
        }
        find_joined(p, &w);
        if (b->is_stuck) b->joined = w.joined;
        if (w.count > 1 || w.joined) meet(p, &w, s, b->is_stuck);
    }
    free(w.state);
    return w.count > 0;
}

static int run_block(struct program *p, int number, struct state *s)
{
    struct block *b = &p->block[number];
    int goes_on = 1;
    size_t at = b->begin;
    for (; at < b->end && goes_on; at++)
        if (!step(p, s, at, &goes_on)) return 0;
    const struct instruction *last = &p->code.instruction[at - 1];
    if (strcmp(last->name, "ret") == 0 || strcmp(last->name, "retq") == 0) {
        for (size_t n = 0; n < p->code.name_count;
             n++) { /* also of the function that this is the cold part of */
            if (p->root_of[n] < 0 || p->returns[n] || !same_function(p, (int)n, last->function)) continue;
            p->returns[n] = 1;
            for (size_t k = 0; k < p->block_count; k++) p->queued[k] |= p->block[k].reached;
        }
    }
    const struct instruction *next = b->end < p->code.count ? &p->code.instruction[b->end] : NULL;
    if (goes_on && (next == NULL || next->begins || next->section != last->section ||
                    p->whole[next->function] != p->whole[last->function]))
        return fail(p, at - 1, "runs on past the end of its function: is a return missing?");
    b->runs += !p->judging;
    const int known =
        b->reached && b->goes_on == goes_on && b->ends == (at == b->end) && equal_states(&b->after, s);
    b->reached = 1;
    b->goes_on = goes_on;
    b->ends = at == b->end;
    if (known) return 1;
    copy_state(&b->after, s);
    if (goes_on) p->queued[number + 1] = 1;
    if (b->target >= 0 && b->ends) p->queued[b->target] = 1;
    return 1;
}

/* Gathers what is known before each block until nothing changes; then judges each instruction. */
static int run_once(struct program *p)
{
    struct state s = {0};
    int changed = 1;
    p->judging = 0;
    p->entry_count = p->called_count = 0;
    for (size_t i = 0; i < p->block_count; i++)
        p->block[i].reached = p->block[i].runs = 0, p->block[i].is_stuck = 0, p->block[i].joined = 0;
    for (size_t i = 0; i < p->block_count; i++)
        p->queued[i] = (char)p->code.instruction[p->block[i].begin].begins;
    while (changed && !p->failed) {
        changed = 0;
        for (size_t i = 0; i < p->block_count && !p->failed; i++) {
            const int number = p->order[i];
            if (!p->queued[number]) continue;
            p->queued[number] = 0;
            changed = 1;
            if (gather(p, number, &s)) run_block(p, number, &s);
        }
    }
    p->judging = 1;
    for (size_t i = 0; i < p->block_count && !p->failed; i++)
        if (gather(p, (int)i, &s)) run_block(p, (int)i, &s);
    free(s.slot);
    return !p->failed;
}

/* Repeats the analysis, each time with the places to which pointers may lead and the arguments that are changed as found so far, until
 * nothing rests on what turned out otherwise. */
static int run_all(struct program *p)
{
    struct machine_code_accesses *list = p->unproven;
    int fine = 1, again = 1;
    while (fine && again) {
        const size_t taken = p->taken.count, saved = p->saved.count, changed = p->changed.count;
        const int first = !p->open_is_known;
        if (list != NULL) machine_code_free_accesses(list);
        p->part = (struct part){.of = CALLERS - 1};
        fine = run_once(p);
        p->part = (struct part){.of = CALLERS - 1};
        again =
            changed != p->changed.count || (!first && (taken != p->taken.count || saved != p->saved.count));
        for (size_t i = 0; first && i < p->looked.count && !again; i++)
            again = is_open(p, p->looked.place[i].function, p->looked.place[i].of, p->looked.place[i].at);
        p->open_is_known = 1;
    }
    return fine;
}

/* Whether arguments that a called function changes overlap a register kept in the frame of its caller, or what that one's caller has. */
static int reaches_too_far(const struct program *p, const struct entry *call, int function)
{
    int64_t end = call->stack.at;
    for (size_t i = 0; i < p->changed.count; i++)
        if (p->changed.place[i].function == function && call->stack.at + p->changed.place[i].at > end)
            end = call->stack.at + p->changed.place[i].at;
    if (end > (call->stack.of == CALLERS ? -8 : 0) && end > call->stack.at) return 1;
    for (size_t i = 0; i < p->saved.count; i++) {
        const struct place *place = &p->saved.place[i];
        if (place->function == p->whole[p->code.instruction[call->at].function] &&
            place->of == call->stack.of && place->at + 8 > call->stack.at && place->at < end)
            return 1;
    }
    return 0;
}

static int judge_calls(struct program *p)
{
    for (size_t i = 0; i < p->called_count; i++) {
        int name;
        const int target = target_of_branch(p, p->called[i].at, &name);
        if (reaches_too_far(p, &p->called[i], p->code.instruction[target].function))
            return fail(p, p->called[i].at, "calls a function that changes more arguments than it is given");
    }
    return 1;
}

/* The functions that change arguments on the stack: no pointer may lead there. */
static void tell_changes(const struct program *p, struct machine_code_frame *frame, size_t *count)
{
    for (size_t n = 0; n < p->code.name_count; n++) {
        int changes = 0;
        for (size_t i = 0; i < p->changed.count; i++) changes |= p->changed.place[i].function == (int)n;
        if (!changes || p->root_of[n] < 0) continue;
        const struct instruction *first = &p->code.instruction[p->root_of[n]];
        frame[(*count)++] =
            (struct machine_code_frame){copy_string(p->code.name[first->section]), first->address, 0, -1};
    }
}

/* The compiler makes no report of where a function begins that calls nothing; and arguments lie below the frames that are reported. */
static void tell_unreported(const struct program *p, struct machine_code_frame *frame, size_t *count)
{
    int64_t arguments = 0, function = 0;
    for (size_t n = 0; n < p->code.name_count; n++) {
        const struct value lowest = p->lowest[n];
        const struct entry *entry = NULL;
        for (size_t i = 0; i < p->entry_count && entry == NULL; i++)
            if (p->whole[p->code.instruction[p->entry[i].at].function] == (int)n) entry = &p->entry[i];
        const int64_t below = entry != NULL ? entry->stack.at - lowest.at
                                            : (lowest.of == CALLERS ? 0 : 2 * MOST_ALIGNMENT) - lowest.at;
        int64_t *most = entry != NULL ? &arguments : &function;
        if (below > *most) *most = below;
    }
    const struct instruction *first = &p->code.instruction[0];
    if (arguments + function > MOST_PUSHED_BYTES)
        frame[(*count)++] = (struct machine_code_frame){copy_string(p->code.name[first->section]),
                                                        first->address, -arguments - function, 0};
}

static void tell_frames(struct program *p, struct machine_code_frames *frames)
{
    *frames = (struct machine_code_frames){0};
    frames->frame = must_allocate((p->entry_count + p->changed.count + 2) * sizeof *frames->frame);
    for (size_t i = 0; i < p->entry_count; i++) {
        const struct entry *entry = &p->entry[i];
        const struct instruction *it = &p->code.instruction[entry->at];
        struct machine_code_frame *frame = &frames->frame[frames->count++];
        *frame = (struct machine_code_frame){copy_string(p->code.name[it->section]), it[1].address, 0, 0};
        open_part(p, p->whole[it->function], entry->stack.of, &frame->low, &frame->high);
        frame->low -= entry->stack.at;
        frame->high -= entry->stack.at;
    }
    tell_changes(p, frames->frame, &frames->count);
    tell_unreported(p, frames->frame, &frames->count);
}

void machine_code_free_accesses(struct machine_code_accesses *list)
{
    for (size_t i = 0; i < list->count; i++) free(list->access[i].section);
    free(list->access);
    *list = (struct machine_code_accesses){0};
}

void machine_code_free(struct machine_code_frames *frames)
{
    for (size_t i = 0; i < frames->count; i++) free(frames->frame[i].section);
    free(frames->frame);
    *frames = (struct machine_code_frames){0};
}

/* Where names lie that the disassembler may not have printed. Of two places with one name neither is known. */
static void place_symbols(struct program *p)
{
    for (size_t i = 0; i < p->code.name_count; i++) p->defined[i] = NAME_OF_OTHERS;
    for (size_t i = 0; i < p->tables->symbol_count; i++) {
        const struct machine_code_symbol *symbol = &p->tables->symbol[i];
        const int name = disassembly_name(&p->code, symbol->name),
                  section = disassembly_name(&p->code, symbol->section);
        const int at = find_instruction(p, section, symbol->address), before = p->defined[name];
        p->defined[name] = before == NAME_OF_OTHERS || before == at ? at : -1;
    }
}

static void name_functions(struct program *p)
{
    for (size_t i = 0; i < p->tables->symbol_count; i++) { /* before anything is kept of each name */
        (void)disassembly_name(&p->code, p->tables->symbol[i].name);
        (void)disassembly_name(&p->code, p->tables->symbol[i].section);
    }
    p->whole = must_allocate(p->code.name_count * sizeof *p->whole);
    for (size_t i = 0, count = p->code.name_count; i < count; i++) {
        const char *cold = strstr(p->code.name[i], ".cold");
        char *whole =
            cold != NULL ? format_string("%.*s", (int)(cold - p->code.name[i]), p->code.name[i]) : NULL;
        p->whole[i] = (int)i;
        for (size_t k = 0; whole != NULL && k < count; k++)
            if (strcmp(p->code.name[k], whole) == 0) p->whole[i] = (int)k;
        free(whole);
    }
    p->kind = must_allocate(p->code.count * sizeof *p->kind);
    for (size_t i = 0; i < p->code.count; i++)
        if (!kind_of_instruction(&p->code.instruction[i], &p->kind[i])) p->kind[i] = (struct kind){0};
    p->lowest = must_allocate(p->code.name_count * sizeof *p->lowest);
    for (size_t i = 0; i < p->code.name_count; i++) p->lowest[i] = (struct value){FRAME, CALLERS, 0};
    p->root_of = must_allocate(p->code.name_count * sizeof *p->root_of);
    p->defined = must_allocate(p->code.name_count * sizeof *p->defined);
    p->returns = must_allocate(p->code.name_count);
    memset(p->returns, 0, p->code.name_count);
    for (size_t i = 0; i < p->code.name_count; i++) p->root_of[i] = -1;
    p->section = must_allocate(p->code.name_count * sizeof *p->section);
    memset(p->section, 0, p->code.name_count * sizeof *p->section);
    for (size_t i = 0; i < p->code.count; i++) {
        const int section = p->code.instruction[i].section;
        if (p->section[section].end == 0) p->section[section].begin = i;
        p->section[section].end = i + 1;
    }
    for (size_t i = 0; i < p->code.count; i++)
        if (p->code.instruction[i].begins) p->root_of[p->code.instruction[i].function] = (int)i;
    place_symbols(p);
}

int machine_code_check(const char *disassembly, const struct machine_code_tables *tables,
                       struct machine_code_frames *frames, struct machine_code_accesses *unproven,
                       struct machine_code_finding *finding)
{
    struct program p = {.tables = tables, .unproven = unproven, .finding = finding};
    *finding = (struct machine_code_finding){0};
    *frames = (struct machine_code_frames){0};
    if (!disassembly_read(disassembly, &p.code)) {
        finding->message = "the disassembler's text cannot be read";
        return 0;
    }
    if (p.code.count == 0) return 1;
    name_functions(&p);
    p.judging = 1;
    int fine = find_blocks(&p);
    p.judging = 0;
    if (fine) {
        find_order(&p);
        p.queued = must_allocate(p.block_count);
        fine = run_all(&p);
    }
    if (fine && (fine = judge_calls(&p))) tell_frames(&p, frames);
    for (size_t i = 0; i < p.block_count; i++) {
        free(p.block[i].after.slot);
        free(p.block[i].from);
    }
    free(p.block);
    free(p.block_of);
    free(p.queued);
    free(p.order);
    free(p.root_of);
    free(p.lowest);
    free(p.kind);
    free(p.section);
    free(p.defined);
    free(p.returns);
    free(p.whole);
    free(p.taken.place);
    free(p.saved.place);
    free(p.looked.place);
    free(p.changed.place);
    free(p.entry);
    free(p.called);
    values_free(&p.values);
    disassembly_free(&p.code);
    return fine;
}
