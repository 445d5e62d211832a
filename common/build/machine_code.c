/**
 * @file machine_code.c
 * @brief The proof that machine_code.h describes.
 *
 * Values are followed through registers and the frame as sums: a constant and multiples of unknowns. Two addresses are the
 * same if their sums are. An unknown is named for the instruction that makes it, or for the instruction at which
 * ways with different values meet. Made again it is another value; but nothing that was known of the old one is known at that
 * instruction on every way, since the first way there had none of it.
 */
#include "machine_code.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "disassembly.h"

enum { MOST_TERMS = 8, MOST_REPORTS = 4, RED_ZONE = 128, MOST_ARGUMENT_BYTES = 4096, INDEX_BYTES = 12, FREE_VISITS = 12, MOST_VISITS = 400 };

/* ---- values -------------------------------------------------------------------------------------------- */

enum unknown_kind {
    CALLERS_FRAME, /* where it begins: above the return address */
    INNER_FRAME,   /* the stack's end, after it was aligned or moved in a loop at an instruction */
    THREAD,        /* fs:0 */
    THREAD_LOCAL,  /* from there to a variable */
    SYMBOL,
    GIVEN,    /* to a function, in a register */
    MADE_AT,  /* by an instruction, in a register */
    MEETS_AT, /* ways meet at an instruction, in a register, or in the frame */
    COMPUTED  /* by an operation that has no side effect, from numbers of sums */
};

struct unknown {
    int kind, a, b, c;
};

/* constant + factor[0] * unknown[0] + ..., sorted by unknown */
struct sum {
    int64_t constant, factor[MOST_TERMS];
    int unknown[MOST_TERMS];
    int count, unused;
};

/* A set of records; equal records have the same number. */
struct numbered {
    unsigned char *record;
    size_t bytes, count, capacity, buckets;
    int *bucket;
};

static size_t bucket_of(const struct numbered *all, const void *record)
{
    uint64_t hash = 1469598103934665603u;
    const unsigned char *byte = record;
    for (size_t i = 0; i < all->bytes; i++) hash = (hash ^ byte[i]) * 1099511628211u;
    size_t at = (hash ^ hash >> 32) & (all->buckets - 1);
    while (all->bucket[at] >= 0 && memcmp(all->record + (size_t)all->bucket[at] * all->bytes, record, all->bytes) != 0)
        at = (at + 1) & (all->buckets - 1);
    return at;
}

static void widen(struct numbered *all)
{
    unsigned char *old = all->record;
    all->capacity = all->capacity ? 2 * all->capacity : 4096;
    all->buckets = 4 * all->capacity;
    all->record = must_allocate(all->capacity * all->bytes);
    free(all->bucket);
    all->bucket = must_allocate(all->buckets * sizeof *all->bucket);
    for (size_t i = 0; i < all->buckets; i++) all->bucket[i] = -1;
    if (old) memcpy(all->record, old, all->count * all->bytes);
    for (size_t i = 0; i < all->count; i++) all->bucket[bucket_of(all, all->record + i * all->bytes)] = (int)i;
    free(old);
}

static int number_of(struct numbered *all, const void *record)
{
    if (all->count == all->capacity) widen(all);
    const size_t at = bucket_of(all, record);
    if (all->bucket[at] >= 0) return all->bucket[at];
    memcpy(all->record + all->count * all->bytes, record, all->bytes);
    return all->bucket[at] = (int)all->count++;
}

/* ---- what is known ------------------------------------------------------------------------------------- */

struct slot {
    int base; /* an unknown: the caller's or an inner frame */
    int bytes, value;
    int64_t at; /* from there */
};

struct report {
    int address;
    int64_t bytes;
    int writes;
};

/* What is known before an instruction. */
struct state {
    int reg[REGISTERS];
    int report_count;
    struct report report[MOST_REPORTS];
    int compared; /* what rsp was compared with, if that was the last comparison; else -1 */
    int slot_count, slot_capacity;
    struct slot *slot;
};

/* Instructions that are run one after the other. */
struct block {
    size_t begin, end;   /* the last one is end - 1 */
    struct state before; /* if it was reached */
    struct state after;  /* behind it */
    int reached, visits, goes_on;
    int target;          /* the block that it jumps to, or -1 */
    int *from;           /* blocks that lead here; ~block, if by a jump */
    int from_count, from_capacity;
};

/* What a function touches of what it is given pointers to, and is not reported: bytes from there on. Its callers answer for it. */
struct need {
    int bytes[REGISTERS], writes[REGISTERS];
};

struct program {
    struct disassembly code;
    struct need *need; /* of a name */
    int needs_more;
    struct numbered unknowns, sums;
    const char *constants;
    struct block *block;
    size_t block_count;
    int *block_of; /* of an instruction */
    struct {
        size_t begin, end;
    } *section;    /* of a name: its instructions */
    int *root_of;  /* of a name: where the function of that name begins, or -1 */
    char *returns; /* of a name: 1 if it is a function of the file that returns */
    char *queued; /* of a block: 1 if it is to be looked at */
    int judging, failed;
    size_t names; /* of the object; what is computed has names behind them */
    struct machine_code_finding *finding;
    int zero, callers_frame, thread;
};

/* 0; but 1 as long as what is known is still being gathered. */
static int fail(struct program *p, size_t at, const char *message)
{
    const struct instruction *it = &p->code.instruction[at];
    if (!p->judging) return 1;
    if (p->failed) return 0;
    p->failed = 1;
    *p->finding = (struct machine_code_finding){copy_string(p->code.name[it->section]), it->address,
                                                copy_string(it->text), copy_string(p->code.name[it->function]), message};
    return 0;
}

static const struct sum *sum_at(const struct program *p, int value)
{
    return (const struct sum *)(const void *)(p->sums.record + (size_t)value * sizeof(struct sum));
}

static int constant(struct program *p, int64_t number)
{
    struct sum sum = {.constant = number};
    return number_of(&p->sums, &sum);
}

static int unknown(struct program *p, enum unknown_kind kind, int a, int b, int c)
{
    const struct unknown record = {(int)kind, a, b, c};
    struct sum sum = {.factor = {1}, .count = 1};
    sum.unknown[0] = number_of(&p->unknowns, &record);
    return number_of(&p->sums, &sum);
}

static const struct unknown *only_unknown(const struct program *p, const struct sum *sum)
{
    if (sum->count != 1 || sum->factor[0] != 1) return NULL;
    return (const struct unknown *)(const void *)(p->unknowns.record + (size_t)sum->unknown[0] * sizeof(struct unknown));
}

/* a + factor * b */
static int add(struct program *p, int a, int b, int64_t factor)
{
    const struct sum x = *sum_at(p, a), y = *sum_at(p, b);
    struct sum sum = {.constant = (int64_t)((uint64_t)x.constant + (uint64_t)factor * (uint64_t)y.constant)};
    for (int i = 0, k = 0; i < x.count || k < y.count;) {
        const int first = i < x.count && (k == y.count || x.unknown[i] <= y.unknown[k]),
                  second = k < y.count && (i == x.count || y.unknown[k] <= x.unknown[i]);
        const int which = first ? x.unknown[i] : y.unknown[k];
        uint64_t times = first ? (uint64_t)x.factor[i++] : 0;
        if (second) times += (uint64_t)factor * (uint64_t)y.factor[k++];
        if (times == 0) continue;
        if (sum.count == MOST_TERMS) return unknown(p, COMPUTED, a, b, (int)factor);
        sum.unknown[sum.count] = which;
        sum.factor[sum.count++] = (int64_t)times;
    }
    return number_of(&p->sums, &sum);
}

static int plus(struct program *p, int a, int64_t number)
{
    return add(p, a, constant(p, number), 1);
}

static int times(struct program *p, int a, int64_t factor)
{
    return add(p, p->zero, a, factor);
}

/* What operation @p name makes of values. */
static int computed(struct program *p, const char *name, int a, int b)
{
    return unknown(p, COMPUTED, ~disassembly_name(&p->code, name), a, b);
}

static int low_half(struct program *p, int a)
{
    const struct sum *sum = sum_at(p, a);
    const struct unknown *u = only_unknown(p, sum);
    if (sum->count == 0) return constant(p, (int64_t)(uint32_t)sum->constant);
    if (u && sum->constant == 0 && u->kind == COMPUTED && u->a == ~disassembly_name(&p->code, "low half")) return a;
    return computed(p, "low half", a, 0);
}

/* 1 if @p value lies in the function's frame: at a distance @p at from @p base; -1 if its distance is not constant. */
static int in_frame(const struct program *p, int value, int *base, int64_t *at)
{
    const struct sum *sum = sum_at(p, value);
    int found = 0;
    *at = sum->constant;
    for (int i = 0; i < sum->count; i++) {
        const struct unknown *u = (const struct unknown *)(const void *)p->unknowns.record + sum->unknown[i];
        if (u->kind != CALLERS_FRAME && u->kind != INNER_FRAME) continue;
        if (sum->factor[i] != 1 || found) return 0;
        *base = sum->unknown[i];
        found = 1;
    }
    return found && sum->count > 1 ? -1 : found;
}

static int inner_frame(struct program *p, int base)
{
    const struct unknown u = ((const struct unknown *)(const void *)p->unknowns.record)[base];
    return unknown(p, INNER_FRAME, u.a, u.b, u.c);
}

/* ---- the frame ----------------------------------------------------------------------------------------- */

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

static void forget_slots(struct state *s, int base, int64_t at, int64_t bytes)
{
    int kept = 0;
    for (int i = 0; i < s->slot_count; i++) {
        const struct slot *slot = &s->slot[i];
        if (slot->base != base || slot->at >= at + bytes || at >= slot->at + slot->bytes) s->slot[kept++] = *slot;
    }
    s->slot_count = kept;
}

static void set_slot(struct state *s, int base, int64_t at, int bytes, int value)
{
    forget_slots(s, base, at, bytes);
    if (s->slot_count == s->slot_capacity) {
        s->slot_capacity = s->slot_capacity ? 2 * s->slot_capacity : 16;
        struct slot *more = must_allocate((size_t)s->slot_capacity * sizeof *more);
        if (s->slot_count) memcpy(more, s->slot, (size_t)s->slot_count * sizeof *more);
        free(s->slot);
        s->slot = more;
    }
    s->slot[s->slot_count++] = (struct slot){base, bytes, value, at};
}

static int find_slot(const struct state *s, int base, int64_t at, int bytes)
{
    for (int i = 0; i < s->slot_count; i++)
        if (s->slot[i].base == base && s->slot[i].at == at && s->slot[i].bytes == bytes) return s->slot[i].value;
    return -1;
}

/* ---- kinds of instructions ----------------------------------------------------------------------------- */

/* What an instruction does with its operands; bytes of memory that it touches, 0: as its registers and its name's last letter
 * say. */
enum does {
    ADDS_UP,   /* the last operand becomes something new */
    READS,     /* nothing is written but flags */
    MOVES, LOADS_ADDRESS, EXTENDS,
    DIVIDES,   /* and multiplies: rax and rdx */
    SETS_RAX, SETS_RDX, EXCHANGES, COMPARES_AND_EXCHANGES,
    PUSHES, POPS, LEAVES, CALLS, RETURNS, JUMPS, BRANCHES, STOPS, NOTHING, STRINGS
};

struct kind {
    const char *names; /* between blanks */
    enum does does;
    int bytes;
};

static const struct kind kinds[] = {
    {" mov movb movw movl movq movabs ", MOVES, 0},
    {" lea ", LOADS_ADDRESS, 0},
    {" movzbl movzbw movzbq movsbl movsbw movsbq ", EXTENDS, 1},
    {" movzwl movzwq movswl movswq ", EXTENDS, 2},
    {" movslq ", EXTENDS, 4},
    {" add sub and or xor adc sbb neg not inc dec shl shr sar rol ror rcl rcr shld shrd bts btr btc bsf bsr tzcnt lzcnt popcnt bswap ",
     ADDS_UP, 0},
    {" cmp test bt ", READS, 0},
    {" imul mul div idiv ", DIVIDES, 0},
    {" cltq cwtl cbtw ", SETS_RAX, 0},
    {" cltd cqto cwtd ", SETS_RDX, 0},
    {" xchg xadd ", EXCHANGES, 0},
    {" cmpxchg ", COMPARES_AND_EXCHANGES, 0},
    {" push pushq ", PUSHES, 8},
    {" pop popq ", POPS, 8},
    {" leave leaveq ", LEAVES, 8},
    {" call callq ", CALLS, 0},
    {" ret retq ", RETURNS, 0},
    {" jmp jmpq ", JUMPS, 0},
    {" ja jae jb jbe je jne jg jge jl jle js jns jo jno jp jnp ", BRANCHES, 0},
    {" ud2 ", STOPS, 0},
    {" nop nopw nopl pause mfence lfence sfence vzeroupper endbr64 ", NOTHING, 0},
    {" stos movsq movsl movsb movsw ", STRINGS, 0},
    {" cmova cmovae cmovb cmovbe cmove cmovne cmovg cmovge cmovl cmovle cmovs cmovns cmovo cmovno cmovp cmovnp ", ADDS_UP, 0},
    {" seta setae setb setbe sete setne setg setge setl setle sets setns seto setno setp setnp pextrb pinsrb ", ADDS_UP, 1},
    {" pinsrw pextrw ", ADDS_UP, 2},
    {" movss addss subss mulss divss sqrtss maxss minss andnss cvtss2sd cvtsi2ssl cvtsi2sdl cvttss2si cvtss2si roundss rcpss "
     "rsqrtss insertps extractps movd pinsrd pextrd broadcastss ",
     ADDS_UP, 4},
    {" cvtsi2ss cvtsi2sd ", ADDS_UP, 4},
    {" comiss ucomiss ", READS, 4},
    {" movsd addsd subsd mulsd divsd sqrtsd maxsd minsd cvtsd2ss cvtsi2ssq cvtsi2sdq cvttsd2si cvtsd2si roundsd movlps movhps "
     "movlpd movhpd pinsrq pextrq cvtps2pd cvtph2ps cvtps2ph movddup broadcastsd ",
     ADDS_UP, 8},
    {" comisd ucomisd ", READS, 8},
    {" ptest testps ", READS, 16},
    {"", NOTHING, 0}};

/* Families of vector instructions, by how their names begin: arithmetic and moves between vectors, which touch 16 or 32 bytes of memory at most. */
static const char *const vector_starts[] = {
    "movap", "movup", "movdqa", "movdqu", "movhl", "movlh", "movsh", "movsld", "movmsk", "lddqu", "padd", "psub", "pmul", "pmadd", "pand", "por",
    "pxor", "psll", "psrl", "psra", "pcmpeq", "pcmpgt", "punpck", "pack", "pshuf", "pmax", "pmin", "pabs", "psign", "pavg",
    "pmovsx", "pmovzx", "pmovmskb", "palignr", "pblend", "phadd", "phsub", "psadbw", "addp", "subp", "mulp", "divp", "sqrtp", "maxp", "minp",
    "andp", "andnp", "orp", "xorp", "cmp", "haddp", "hsubp", "addsubp", "unpck", "shufp", "blend", "cvt", "roundp",
    "rcpp", "rsqrtp", "fmadd", "fmsub", "fnmadd", "fnmsub", "perm", "insertf128", "extractf128", "inserti128", "extracti128", "zeroall", "dpp", NULL};

static int is_listed(const char *names, const char *name, size_t length)
{
    for (const char *at = names; *at && (at = strstr(at + 1, name));)
        if (at[-1] == ' ' && at[length] == ' ') return 1;
    return 0;
}

static int listed_kind(const char *name, struct kind *found)
{
    const size_t length = strlen(name);
    for (const struct kind *k = kinds; k->names[0]; k++)
        if (length < 16 && is_listed(k->names, name, length)) return *found = *k, 1;
    return 0;
}

/* Which kind @p it is of, and how many bytes of memory it touches at most; 0: of none. */
static int kind_of(const struct instruction *it, struct kind *found)
{
    const char *name = it->name;
    const size_t length = strlen(name);
    int widest = 0, vectors = 0, general = 0;
    for (int i = 0; i < it->count; i++) {
        const struct operand *o = &it->operand[i];
        if (o->kind == UNKNOWN) return 0;
        if (o->kind != REGISTER) continue;
        widest = widest < o->bytes ? o->bytes : widest;
        vectors += o->reg == VECTOR;
        general += o->reg != VECTOR;
    }
    const char *bare = *name == 'v' ? name + 1 : name;
    if (vectors || *name == 'v') {
        int is_family = 0;
        if (strcmp(bare, "movq") == 0) return *found = (struct kind){"", ADDS_UP, 8}, 1;
        if (listed_kind(bare, found) && (found->does == ADDS_UP || found->does == READS || found->does == NOTHING)) {
            if (found->bytes == 0 && found->does != NOTHING) return 0;
            if (widest == 32) found->bytes = found->bytes > 16 ? found->bytes : 16;
            return 1;
        }
        for (size_t i = 0; vector_starts[i]; i++)
            is_family |= strncmp(bare, vector_starts[i], strlen(vector_starts[i])) == 0;
        *found = (struct kind){"", ADDS_UP, widest == 32 ? 32 : 16};
        const size_t tail = strlen(bare);
        if (strncmp(bare, "f", 1) == 0 || strncmp(bare, "cmp", 3) == 0) { /* scalars of both are many */
            if (tail > 2 && strcmp(bare + tail - 2, "ss") == 0) found->bytes = 4;
            if (tail > 2 && strcmp(bare + tail - 2, "sd") == 0) found->bytes = 8;
        }
        return is_family && general <= 1;
    }
    char plain[16] = "";
    if (length >= sizeof plain) return 0;
    memcpy(plain, name, length);
    int known = listed_kind(plain, found);
    int letter = 0;
    if (!known && length > 2) { /* addl */
        const char *at = strchr("bwlq", name[length - 1]);
        letter = at ? 1 << (at - "bwlq") : 0;
        plain[length - 1] = '\0';
        known = letter && listed_kind(plain, found) && (found->does == ADDS_UP || found->does == READS || found->does == DIVIDES) &&
                found->bytes == 0;
    }
    if (known && found->does == MOVES && length == 4) letter = 1 << (strchr("bwlq", name[3]) - "bwlq");
    if (known && found->bytes == 0) found->bytes = letter ? letter : widest;
    return known;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* The address behind an instruction, 0 at a section's end. */
static unsigned long next_address(const struct program *p, size_t at)
{
    const struct instruction *it = &p->code.instruction[at];
    return at + 1 < p->code.count && it[1].section == it->section ? it[1].address : 0;
}

static int has_immediate(const struct instruction *it)
{
    return it->count > 0 && it->operand[0].kind == IMMEDIATE;
}

/* The relocation of the displacement, or of the immediate operand; NULL if there is none. An immediate operand is the end of its instruction. */
static const struct relocation *relocation_of(const struct program *p, size_t at, int immediate)
{
    const struct instruction *it = &p->code.instruction[at];
    const unsigned long end = next_address(p, at);
    for (int i = 0; i < it->relocation_count; i++) {
        const struct relocation *r = &it->relocation[i];
        const int bytes = strcmp(r->kind, "64") == 0 ? 8 : 4;
        if ((has_immediate(it) && r->at + (unsigned)bytes == end) == immediate) return r;
    }
    return NULL;
}

static int symbol_value(struct program *p, const struct relocation *r)
{
    static const char *const absolute[] = {"32", "32S", "64", "PC32", "PLT32", NULL};
    for (size_t i = 0; absolute[i]; i++)
        if (strcmp(r->kind, absolute[i]) == 0) return plus(p, unknown(p, SYMBOL, r->symbol, 0, 0), r->addend);
    if (strcmp(r->kind, "TPOFF32") == 0) return plus(p, unknown(p, THREAD_LOCAL, r->symbol, 0, 0), r->addend);
    return -1;
}

static int reg(struct program *p, const struct state *s, int number)
{
    return number == NO_REGISTER ? p->zero : s->reg[number];
}

/* The address of a memory operand, or -1. */
static int address_of(struct program *p, const struct state *s, size_t at, const struct operand *o)
{
    const struct relocation *r = relocation_of(p, at, 0);
    int sum = plus(p, add(p, reg(p, s, o->base), reg(p, s, o->index), o->scale), o->value);
    if (o->thread) sum = add(p, sum, p->thread, 1);
    if (o->counter && (!r || next_address(p, at) == 0)) return -1;
    if (!r) return sum;
    const int symbol = symbol_value(p, r);
    if (symbol < 0) return -1;
    /* the displacement is in the relocation */
    sum = add(p, plus(p, sum, -o->value), symbol, 1);
    return o->counter ? plus(p, sum, (int64_t)(next_address(p, at) - r->at)) : sum;
}

/* An address that the linker fills in: of a variable, or the distance of a thread-local one. -1: it is none. */
static int linked_value(struct program *p, size_t at, const struct operand *o)
{
    const struct relocation *r = relocation_of(p, at, 0);
    if (!r || !o->counter || r->addend != -4) return -1;
    if (strstr(r->kind, "GOTPCREL")) return unknown(p, SYMBOL, r->symbol, 0, 0);
    if (strcmp(r->kind, "GOTTPOFF") == 0) return unknown(p, THREAD_LOCAL, r->symbol, 0, 0);
    return -1;
}

static int is_index(const struct program *p, const struct sum *sum, int bytes)
{
    static const char *const names[] = {"simt_thread_index", "simt_block_index", "simt_block_extent", "simt_grid_extent"};
    const struct unknown *list = (const struct unknown *)(const void *)p->unknowns.record;
    if (sum->count != 2 || sum->factor[0] != 1 || sum->factor[1] != 1) return 0;
    const struct unknown *a = &list[sum->unknown[0]], *b = &list[sum->unknown[1]];
    if (a->kind == THREAD_LOCAL) {
        const struct unknown *other = a;
        a = b;
        b = other;
    }
    if (a->kind != THREAD || b->kind != THREAD_LOCAL || sum->constant < 0 || sum->constant + bytes > INDEX_BYTES) return 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(p->code.name[b->a], names[i]) == 0) return 1;
    return 0;
}

/* Whether the address lies a constant distance, or an index that the compiler compares, from constants of the file. */
static int is_constant(const struct program *p, const struct sum *sum)
{
    const struct unknown *list = (const struct unknown *)(const void *)p->unknowns.record;
    for (int i = 0; i < sum->count; i++) {
        const struct unknown *u = &list[sum->unknown[i]];
        if (u->kind == SYMBOL && sum->factor[i] == 1)
            return is_listed(p->constants, p->code.name[u->a], strlen(p->code.name[u->a]));
    }
    return 0;
}

static int is_reported(const struct program *p, const struct state *s, const struct sum *sum, int bytes, int writes)
{
    for (int i = 0; i < s->report_count; i++) {
        const struct report *r = &s->report[i];
        const struct sum *from = sum_at(p, r->address);
        const int64_t distance = (int64_t)((uint64_t)sum->constant - (uint64_t)from->constant);
        if (from->count == sum->count && memcmp(from->unknown, sum->unknown, sizeof sum->unknown) == 0 &&
            memcmp(from->factor, sum->factor, sizeof sum->factor) == 0 && distance >= 0 && distance + bytes <= r->bytes &&
            r->writes >= writes)
            return 1;
    }
    return 0;
}

/* A constant distance in the frame: between the stack's end and the return address, or an argument. */
static int is_of_frame(const struct program *p, const struct state *s, int base, int64_t at, int bytes, int writes)
{
    int64_t end;
    int of;
    if (base == sum_at(p, p->callers_frame)->unknown[0]) {
        if (at >= 0) return at + bytes <= MOST_ARGUMENT_BYTES;
        if (at + bytes > (writes ? -8 : 0)) return 0;
    } else if (at + bytes > 0) {
        return 0;
    }
    return in_frame(p, s->reg[RSP], &of, &end) != 1 || of != base || at >= end - RED_ZONE;
}

/* The callers of a function answer for what it touches at @p sum, if that is a constant distance from what it is given in a register. */
static int is_given(struct program *p, const struct sum *sum, int bytes, int writes)
{
    const struct unknown *u = only_unknown(p, sum);
    if (!u || u->kind != GIVEN || sum->constant < 0 || sum->constant + bytes > MOST_ARGUMENT_BYTES) return 0;
    struct need *need = &p->need[p->code.instruction[u->a].function];
    const int end = (int)sum->constant + bytes;
    p->needs_more |= need->bytes[u->b] < end || need->writes[u->b] < writes;
    if (need->bytes[u->b] < end) need->bytes[u->b] = end;
    need->writes[u->b] |= writes;
    return 1;
}

/* Judges an access of @p bytes bytes; forgets what it changes. */
static int judge(struct program *p, struct state *s, size_t at, int address, int bytes, int writes)
{
    int base;
    int64_t distance;
    if (address < 0 || bytes <= 0) return fail(p, at, "touches memory at an address that cannot be told");
    const struct sum sum = *sum_at(p, address);
    const int framed = in_frame(p, address, &base, &distance);
    if (framed == 1 && writes) forget_slots(s, base, distance, bytes);
    if (!p->judging) return 1;
    if (framed == 1)
        return is_of_frame(p, s, base, distance, bytes, writes) ||
               fail(p, at, "touches the stack outside of its function's frame");
    if (framed < 0 || is_reported(p, s, &sum, bytes, writes)) return 1;
    if (!writes && (is_index(p, &sum, bytes) || is_constant(p, &sum))) return 1;
    return is_given(p, &sum, bytes, writes) ||
           fail(p, at, writes ? "writes memory, and no report of the compiler covers it"
                              : "reads memory, and no report of the compiler covers it");
}

/* ---- instructions -------------------------------------------------------------------------------------- */

static int made(struct program *p, size_t at, int number)
{
    return unknown(p, MADE_AT, (int)at, number, 0);
}

/* What is in @p bytes bytes of memory at @p address, which have been judged. */
static int loaded(struct program *p, struct state *s, size_t at, int address, int bytes, int number)
{
    int base;
    int64_t distance;
    const int fresh = made(p, at, number);
    if (in_frame(p, address, &base, &distance) != 1) return fresh;
    const int value = find_slot(s, base, distance, bytes);
    if (value >= 0) return value;
    set_slot(s, base, distance, bytes, fresh);
    return fresh;
}

/* The value of an operand that is read; -1 after a failure. */
static int value_of(struct program *p, struct state *s, size_t at, const struct operand *o, int bytes)
{
    if (o->kind == IMMEDIATE) {
        const struct relocation *r = relocation_of(p, at, 1);
        return r ? symbol_value(p, r) : constant(p, o->value);
    }
    if (o->kind == REGISTER && o->reg != VECTOR) return o->bytes == 8 ? s->reg[o->reg] : low_half(p, s->reg[o->reg]);
    if (o->kind != MEMORY) return made(p, at, REGISTERS);
    const int linked = linked_value(p, at, o);
    if (linked >= 0) return bytes == 8 ? linked : -1;
    if (o->thread && o->base == NO_REGISTER && o->index == NO_REGISTER && o->value == 0 && !relocation_of(p, at, 0) && bytes == 8)
        return p->thread;
    const int address = address_of(p, s, at, o);
    if (!judge(p, s, at, address, bytes, 0)) return -1;
    return loaded(p, s, at, address, bytes, REGISTERS + 1);
}

/* The last operand becomes @p value, or something new (-1). */
static int put(struct program *p, struct state *s, size_t at, const struct operand *o, int bytes, int value)
{
    if (o->kind == REGISTER) {
        if (o->reg == VECTOR) return 1;
        if (o->bytes < 4 || value < 0)
            value = made(p, at, o->reg);
        else if (o->bytes == 4)
            value = low_half(p, value);
        if (o->reg == RSP) {
            int base;
            int64_t distance;
            if (in_frame(p, value, &base, &distance) != 1)
                return fail(p, at, "moves the stack by a length that is not constant");
        }
        s->reg[o->reg] = value;
        return 1;
    }
    if (o->kind != MEMORY) return fail(p, at, "has an operand that no compiler gives it");
    const int address = address_of(p, s, at, o);
    if (!judge(p, s, at, address, bytes, 1)) return 0;
    int base;
    int64_t distance;
    if (value >= 0 && in_frame(p, address, &base, &distance) == 1) set_slot(s, base, distance, bytes, value);
    return 1;
}

/* Arithmetic of one, two or three operands on general registers: the value, -1: something new. */
static int arithmetic(struct program *p, struct state *s, size_t at, const int *value)
{
    const struct instruction *it = &p->code.instruction[at];
    const struct operand *last = &it->operand[it->count - 1];
    const char *name = it->name;
    const int a = value[0], b = it->count > 1 ? value[1] : -1;
    const struct sum *number = a >= 0 ? sum_at(p, a) : NULL;
    (void)s;
    if (last->kind != REGISTER || last->reg == VECTOR || last->bytes < 4 || a < 0) return -1;
    if (it->count == 1) return strcmp(name, "neg") == 0 ? times(p, a, -1) : strcmp(name, "not") == 0 ? computed(p, name, a, 0) : -1;
    if (b < 0) return -1;
    if (strcmp(name, "add") == 0) return add(p, b, a, 1);
    if (strcmp(name, "sub") == 0) return add(p, b, a, -1);
    const int is_number = number->count == 0;
    if (strcmp(name, "xor") == 0 && a == b) return p->zero;
    if (strcmp(name, "shl") == 0 && is_number && number->constant >= 0 && number->constant < 32)
        return times(p, b, (int64_t)1 << number->constant);
    if (strcmp(name, "imul") == 0 && is_number) return times(p, b, number->constant);
    static const char *const pure[][2] = {{"and", "and 4"}, {"or", "or 4"},   {"xor", "xor 4"}, {"shl", "shl 4"},  {"shr", "shr 4"},
                                          {"sar", "sar 4"}, {"rol", "rol 4"}, {"ror", "ror 4"}, {"imul", "imul 4"}};
    for (size_t i = 0; i < sizeof pure / sizeof pure[0]; i++)
        if (strcmp(name, pure[i][0]) == 0) return computed(p, pure[i][last->bytes == 4], a, b);
    return -1;
}

/* An instruction that computes: reads all its operands, and the last one becomes new. */
static int compute(struct program *p, struct state *s, size_t at, const struct kind *kind)
{
    const struct instruction *it = &p->code.instruction[at];
    int value[MOST_OPERANDS] = {0};
    const int scalar_move = it->count == 2 && strstr(it->name, "mov") != NULL;
    for (int i = 0; i < it->count; i++) {
        const int written_only = i == it->count - 1 && (scalar_move || strncmp(it->name, "set", 3) == 0 ||
                                                        (it->operand[i].kind == MEMORY && *it->name == 'v'));
        value[i] = written_only ? p->zero : value_of(p, s, at, &it->operand[i], kind->bytes);
        if (value[i] < 0 && it->operand[i].kind == MEMORY) return p->failed ? 0 : fail(p, at, "reads what the linker fills in");
    }
    if (kind->does == READS || it->count == 0) return 1;
    const struct operand *last = &it->operand[it->count - 1];
    const int shifted_once = it->count == 1 && strchr("sr", *it->name) && strncmp(it->name, "set", 3) != 0;
    int result = shifted_once ? -1 : arithmetic(p, s, at, value);
    if (last->kind == REGISTER && last->reg == RSP && strcmp(it->name, "and") == 0) result = unknown(p, INNER_FRAME, (int)at, 0, 0);
    return put(p, s, at, last, kind->bytes, result);
}

static int move(struct program *p, struct state *s, size_t at, int bytes)
{
    const struct instruction *it = &p->code.instruction[at];
    if (it->count != 2) return fail(p, at, "has an operand that no compiler gives it");
    const int value = value_of(p, s, at, &it->operand[0], bytes);
    if (p->failed) return 0;
    if (value < 0) return fail(p, at, "uses an address that the linker fills in, in a way that no compiler does");
    return put(p, s, at, &it->operand[1], bytes, it->operand[1].kind == REGISTER || bytes >= 4 ? value : -1);
}

static int extend(struct program *p, struct state *s, size_t at, int bytes)
{
    const struct instruction *it = &p->code.instruction[at];
    const int value = value_of(p, s, at, &it->operand[0], bytes);
    if (value < 0) return p->failed ? 0 : fail(p, at, "uses an address that the linker fills in, in a way that no compiler does");
    return put(p, s, at, &it->operand[1], bytes, computed(p, it->name, value, 0));
}

static int push(struct program *p, struct state *s, size_t at)
{
    const int value = value_of(p, s, at, &p->code.instruction[at].operand[0], 8);
    int base;
    int64_t distance;
    if (p->failed) return 0;
    s->reg[RSP] = plus(p, s->reg[RSP], -8);
    if (in_frame(p, s->reg[RSP], &base, &distance) == 1) set_slot(s, base, distance, 8, value < 0 ? made(p, at, 0) : value);
    return 1;
}

static int pop(struct program *p, struct state *s, size_t at, const struct operand *to)
{
    const int address = s->reg[RSP];
    if (!judge(p, s, at, address, 8, 0)) return 0;
    const int value = loaded(p, s, at, address, 8, REGISTERS + 1);
    s->reg[RSP] = plus(p, address, 8);
    return put(p, s, at, to, 8, value);
}

/* "rep stos %rax,%es:(%rdi)": the whole range must be known. */
static int fill(struct program *p, struct state *s, size_t at)
{
    const struct instruction *it = &p->code.instruction[at];
    const size_t length = strlen(it->text);
    const struct sum *count = sum_at(p, s->reg[RCX]);
    const int is_stos = strstr(it->text, "stos") != NULL, is_movs = strstr(it->text, "movs") != NULL;
    int bytes = strstr(it->text, "%rax") || strstr(it->text, "movsq") ? 8 : strstr(it->text, "%eax") || strstr(it->text, "movsl") ? 4 : 1;
    if (length == 0 || strcmp(it->prefix, "rep") != 0 || (!is_stos && !is_movs) || count->count != 0 || count->constant < 0 ||
        count->constant > 1 << 20)
        return fail(p, at, "fills or copies memory of a length that is not constant");
    bytes *= (int)count->constant;
    if (!judge(p, s, at, s->reg[RDI], bytes, 1) || (is_movs && !judge(p, s, at, s->reg[RSI], bytes, 0))) return 0;
    s->reg[RDI] = plus(p, s->reg[RDI], bytes);
    if (is_movs) s->reg[RSI] = plus(p, s->reg[RSI], bytes);
    s->reg[RCX] = p->zero;
    return 1;
}

static int divide(struct program *p, struct state *s, size_t at, const struct kind *kind)
{
    const struct instruction *it = &p->code.instruction[at];
    if (it->count > 1 && strcmp(it->name, "imul") == 0) return compute(p, s, at, kind);
    for (int i = 0; i < it->count; i++)
        if (value_of(p, s, at, &it->operand[i], kind->bytes) < 0) return fail(p, at, "reads what the linker fills in");
    s->reg[RAX] = made(p, at, RAX);
    s->reg[RDX] = made(p, at, RDX);
    return 1;
}

static int exchange(struct program *p, struct state *s, size_t at, const struct kind *kind)
{
    const struct instruction *it = &p->code.instruction[at];
    if (it->count != 2) return fail(p, at, "has an operand that no compiler gives it");
    if (it->operand[0].kind == REGISTER && it->operand[1].kind == REGISTER && it->operand[0].reg == it->operand[1].reg &&
        it->operand[0].bytes != 4)
        return 1; /* which is a nop */
    for (int i = 0; i < 2; i++)
        if (value_of(p, s, at, &it->operand[i], kind->bytes) < 0) return fail(p, at, "reads what the linker fills in");
    if (kind->does == COMPARES_AND_EXCHANGES) s->reg[RAX] = made(p, at, RAX);
    if (kind->does == EXCHANGES && it->operand[0].kind == REGISTER && !put(p, s, at, &it->operand[0], kind->bytes, -1)) return 0;
    if (kind->does == EXCHANGES && it->operand[0].kind == MEMORY && !put(p, s, at, &it->operand[0], kind->bytes, -1)) return 0;
    return put(p, s, at, &it->operand[1], kind->bytes, -1);
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
static int target_of(const struct program *p, size_t at, int *name)
{
    const struct instruction *it = &p->code.instruction[at];
    *name = -1;
    if (it->count != 1 || it->operand[0].kind != PLACE || it->relocation_count > 1) return -1;
    if (it->relocation_count == 0) return find_instruction(p, it->section, (unsigned long)it->operand[0].value);
    const struct relocation *r = &it->relocation[0];
    if (strcmp(r->kind, "PLT32") != 0 && strcmp(r->kind, "PC32") != 0) return -1;
    const int at_section = find_instruction(p, r->symbol, (unsigned long)(r->addend + 4));
    if (at_section >= 0 || r->addend != -4) return at_section;
    const int known = p->root_of[r->symbol];
    if (known < 0) *name = r->symbol;
    return known;
}

/* "__tsan_unaligned_write16", or the beginning of an atomic: what it announces; 0 if it is no such function. */
static int reports(const struct program *p, const struct state *s, const char *name, struct report *report)
{
    static const char atomics[] = " simt_atomic_begin simt_block_atomic_begin simt_ordered_begin simt_swap_checks ";
    if (is_listed(atomics, name, strlen(name))) {
        const struct sum *length = sum_at(p, s->reg[RSI]);
        *report = (struct report){s->reg[RDI], length->count == 0 && length->constant > 0 ? length->constant : 0, 1};
        return 1;
    }
    if (strncmp(name, "__tsan_", 7) != 0) return 0;
    name += 7;
    if (strncmp(name, "unaligned_", 10) == 0) name += 10;
    if (strncmp(name, "volatile_", 9) == 0) name += 9;
    if (strncmp(name, "read", 4) != 0 && strncmp(name, "write", 5) != 0) return 0;
    report->writes = strncmp(name, "read_write", 10) == 0 || *name == 'w';
    name += strncmp(name, "read_write", 10) == 0 ? 10 : *name == 'w' ? 5 : 4;
    report->address = s->reg[RDI];
    if (strcmp(name, "_range") == 0) {
        const struct sum *length = sum_at(p, s->reg[RSI]);
        report->bytes = length->count == 0 && length->constant > 0 ? length->constant : 0;
        return 1;
    }
    report->bytes = strtol(name, NULL, 10);
    return report->bytes > 0;
}

static void clobber(struct program *p, struct state *s, size_t at)
{
    static const int lost[] = {RAX, RCX, RDX, RSI, RDI, R8, R8 + 1, R8 + 2, R8 + 3};
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++) s->reg[lost[i]] = made(p, at, lost[i]);
}

/* A call; @p goes_on: whether it may return. */
static int call(struct program *p, struct state *s, size_t at, int *goes_on)
{
    static const char ends[] = " abort exit __assert_fail __cxa_rethrow _Unwind_Resume __cxa_pure_virtual __stack_chk_fail "
                               "_ZSt17__throw_bad_allocv _ZSt20__throw_length_errorPKc _ZSt28__throw_bad_array_new_lengthv "
                               "_ZSt24__throw_out_of_range_fmtPKcz _ZSt25__throw_bad_function_callv ";
    int name, base;
    int64_t distance;
    struct report report;
    const int target = target_of(p, at, &name);
    if (target < 0 && name < 0) return fail(p, at, "calls what is neither a function of the file nor one that the file may call");
    if (target >= 0 && !p->code.instruction[target].begins) return fail(p, at, "calls into the middle of a function");
    if (in_frame(p, s->reg[RSP], &base, &distance) != 1) return fail(p, at, "calls, and nothing tells where its stack ends");
    for (int i = 0; target >= 0 && p->judging && i < REGISTERS; i++) {
        const struct need *need = &p->need[p->code.instruction[target].function];
        if (need->bytes[i] && !judge(p, s, at, s->reg[i], need->bytes[i], need->writes[i])) return 0;
    }
    if (target >= 0) {
        *goes_on = p->returns[p->code.instruction[target].function];
    } else {
        const char *text = p->code.name[name];
        *goes_on = !is_listed(ends, text, strlen(text));
        if (reports(p, s, text, &report)) {
            if (s->report_count == MOST_REPORTS) memmove(s->report, s->report + 1, --s->report_count * sizeof report);
            s->report[s->report_count++] = report;
            clobber(p, s, at);
            return 1;
        }
    }
    s->report_count = 0;
    clobber(p, s, at);
    return 1;
}

/* What an instruction does to what is known; @p goes_on: 0 if the next one does not follow. */
static int step(struct program *p, struct state *s, size_t at, int *goes_on)
{
    const struct instruction *it = &p->code.instruction[at];
    struct kind kind;
    const int strings = strstr(" stos movsq movsl movsb movsw", it->name) != NULL && strcmp(it->prefix, "rep") == 0;
    *goes_on = 1;
    if (strings) return fill(p, s, at);
    if (!kind_of(it, &kind) || kind.does == STRINGS) return fail(p, at, "is of a kind that no kernel file needs");
    const int harmless = kind.does == NOTHING || (kind.does == RETURNS && strncmp(it->prefix, "rep", 3) == 0) ||
                         (strcmp(it->prefix, "lock") == 0 && (kind.does == ADDS_UP || kind.does == EXCHANGES || kind.does == COMPARES_AND_EXCHANGES)) ||
                         (strcmp(it->prefix, "data16") == 0 && kind.does == EXCHANGES);
    if (it->prefix[0] && !harmless) return fail(p, at, "has a prefix that no kernel file needs");
    const int compared = s->compared;
    s->compared = -1;
    switch (kind.does) {
    case MOVES: return move(p, s, at, kind.bytes);
    case EXTENDS: return extend(p, s, at, kind.bytes);
    case LOADS_ADDRESS: {
        const int address = it->count == 2 && it->operand[0].kind == MEMORY && !it->operand[0].thread ? address_of(p, s, at, &it->operand[0]) : -1;
        return address < 0 ? fail(p, at, "makes an address that cannot be told") : put(p, s, at, &it->operand[1], 8, address);
    }
    case READS:
        if (strcmp(it->name, "cmp") == 0 && it->operand[1].reg == RSP && it->operand[1].kind == REGISTER && it->operand[0].kind == REGISTER)
            s->compared = s->reg[it->operand[0].reg];
        return compute(p, s, at, &kind);
    case ADDS_UP: return compute(p, s, at, &kind);
    case DIVIDES: return divide(p, s, at, &kind);
    case SETS_RAX:
        s->reg[RAX] = strcmp(it->name, "cltq") == 0 ? computed(p, "movslq", low_half(p, s->reg[RAX]), 0) : made(p, at, RAX);
        return 1;
    case SETS_RDX: s->reg[RDX] = made(p, at, RDX); return 1;
    case EXCHANGES:
    case COMPARES_AND_EXCHANGES: return exchange(p, s, at, &kind);
    case PUSHES: return push(p, s, at);
    case POPS: return pop(p, s, at, &it->operand[0]);
    case LEAVES: {
        const struct operand rbp = {.kind = REGISTER, .reg = RBP, .bytes = 8};
        s->reg[RSP] = s->reg[RBP];
        return pop(p, s, at, &rbp);
    }
    case CALLS: return call(p, s, at, goes_on);
    case RETURNS: {
        int base;
        int64_t distance;
        *goes_on = 0;
        if (in_frame(p, s->reg[RSP], &base, &distance) != 1 || base != sum_at(p, p->callers_frame)->unknown[0] || distance != -8)
            return fail(p, at, "returns from somewhere else than the function's beginning of the stack");
        return 1;
    }
    case BRANCHES:
        s->compared = strcmp(it->name, "jne") == 0 ? compared : -1;
        return 1;
    case JUMPS:
    case STOPS: *goes_on = 0; return 1;
    default: return 1;
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
        if (it->begins || i == 0 || it->section != it[-1].section) leads[i] = 1;
        if (!is_jump(it)) {
            if (strcmp(it->name, "ret") == 0 || strcmp(it->name, "ud2") == 0) leads[i + 1] = 1;
            continue;
        }
        target[i] = target_of(p, i, &name);
        if (target[i] < 0) return fail(p, i, "jumps to what is no instruction of the file");
        if (!same_function(p, it->function, p->code.instruction[target[i]].function)) return fail(p, i, "jumps into another function");
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

static void begin_function(struct program *p, size_t at, struct state *s)
{
    const int slots = s->slot_capacity;
    struct slot *slot = s->slot;
    *s = (struct state){.compared = -1, .slot = slot, .slot_capacity = slots};
    for (int i = 0; i < REGISTERS; i++) s->reg[i] = unknown(p, GIVEN, (int)at, i, 0);
    s->reg[RSP] = plus(p, p->callers_frame, -8);
}

/* A register, or a slot, in which two ways have different values. */
struct differing {
    int *here, other, name, order; /* name: the unknown, should it become one */
    int derived;                  /* 1 if it follows from another one */
    int old, difference;
    double size;
};

static int by_size(const void *a, const void *b)
{
    const struct differing *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static double size_of(const struct sum *sum)
{
    double size = sum->count ? 0 : (double)(sum->constant < 0 ? -sum->constant : sum->constant);
    for (int i = 0; i < sum->count; i++) size += (double)(sum->factor[i] < 0 ? -sum->factor[i] : sum->factor[i]);
    return size;
}

/* How often @p small goes into @p large, 0 if it does not. */
static int64_t ratio(struct program *p, int large, int small)
{
    const struct sum *x = sum_at(p, large), *y = sum_at(p, small);
    if (x->count != y->count) return 0;
    const int64_t a = x->count ? x->factor[0] : x->constant, b = y->count ? y->factor[0] : y->constant;
    if (b == 0 || b == -1 || a % b != 0) return b == -1 && times(p, small, -a) == large ? -a : 0;
    return times(p, small, a / b) == large ? a / b : 0;
}

/* The frame that both values lie in, as a value; -1 */
static int common_frame(struct program *p, int a, int b)
{
    int base, other;
    int64_t distance;
    if (in_frame(p, a, &base, &distance) == 0 || in_frame(p, b, &other, &distance) == 0 || base != other) return -1;
    return base == sum_at(p, p->callers_frame)->unknown[0] ? p->callers_frame : inner_frame(p, base);
}

/* Values that differ become unknowns; but what is a multiple of another one and something that does not differ, stays so. */
static void meet_values(struct program *p, struct differing *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        list[i].old = *list[i].here;
        list[i].difference = add(p, list[i].old, list[i].other, -1);
        list[i].size = size_of(sum_at(p, list[i].difference));
    }
    qsort(list, count, sizeof *list, by_size);
    for (size_t i = 0; i < count; i++) {
        struct differing *d = &list[i];
        const int frame = common_frame(p, d->old, d->other);
        if (frame >= 0) d->name = add(p, frame, d->name, 1); /* a variable distance in the frame */
        for (size_t k = 0; k < i && !d->derived; k++) {
            const int64_t factor = list[k].derived ? 0 : ratio(p, d->difference, list[k].difference);
            if (factor == 0) continue;
            d->name = add(p, add(p, d->old, list[k].old, -factor), list[k].name, factor);
            d->derived = 1;
        }
        *d->here = d->name;
    }
}

/* One more way to a place where @p s is known. */
static void meet(struct program *p, size_t at, struct state *s, const struct state *other)
{
    int kept = 0, base;
    int64_t distance;
    size_t count = 0;
    struct differing *list = must_allocate(((size_t)s->slot_count + REGISTERS) * sizeof *list);
    for (int i = 0; i < REGISTERS; i++) {
        if (s->reg[i] == other->reg[i]) continue;
        if (i == RSP) {
            s->reg[i] = unknown(p, in_frame(p, s->reg[i], &base, &distance) == 1 ? INNER_FRAME : MEETS_AT, (int)at, 0, 0);
            continue;
        }
        list[count++] = (struct differing){.here = &s->reg[i], .other = other->reg[i], .name = unknown(p, MEETS_AT, (int)at, i, 0), .order = i};
    }
    for (int i = 0; i < s->slot_count; i++) {
        const struct slot *slot = &s->slot[i];
        const int value = i < other->slot_count && other->slot[i].base == slot->base && other->slot[i].at == slot->at && other->slot[i].bytes == slot->bytes
                              ? other->slot[i].value
                              : find_slot(other, slot->base, slot->at, slot->bytes);
        if (value < 0) continue;
        s->slot[kept] = *slot;
        if (value != slot->value)
            list[count++] = (struct differing){.here = &s->slot[kept].value, .other = value, .name = unknown(p, MEETS_AT, (int)at, ~slot->base, (int)slot->at), .order = REGISTERS + kept};
        kept++;
    }
    s->slot_count = kept;
    meet_values(p, list, count);
    free(list);
    kept = 0;
    for (int i = 0; i < s->report_count; i++) {
        int found = 0;
        for (int k = 0; k < other->report_count; k++)
            found |= s->report[i].address == other->report[k].address && s->report[i].bytes <= other->report[k].bytes &&
                     s->report[i].writes <= other->report[k].writes;
        if (found) s->report[kept++] = s->report[i];
    }
    s->report_count = kept;
    if (s->compared != other->compared) s->compared = -1;
}

static int equal_states(const struct state *a, const struct state *b)
{
    return memcmp(a->reg, b->reg, sizeof a->reg) == 0 && a->report_count == b->report_count && a->slot_count == b->slot_count &&
           a->compared == b->compared &&
           memcmp(a->report, b->report, (size_t)a->report_count * sizeof a->report[0]) == 0 &&
           (a->slot_count == 0 || memcmp(a->slot, b->slot, (size_t)a->slot_count * sizeof a->slot[0]) == 0);
}

/* What is known at the beginning of a block, from all ways to it that were found yet: 1 if there is one. */
static int gather(struct program *p, int number, struct state *s)
{
    const struct block *b = &p->block[number];
    int ways = 0;
    if (p->code.instruction[b->begin].begins) begin_function(p, b->begin, s), ways = 1;
    for (int i = 0; i < b->from_count; i++) {
        const int jumps = b->from[i] < 0, from = jumps ? ~b->from[i] : b->from[i];
        const struct block *before = &p->block[from];
        if (!before->reached || (!jumps && !before->goes_on)) continue;
        struct state way = before->after;
        if (!jumps && way.compared >= 0) way.reg[RSP] = way.compared; /* "cmp %r11,%rsp; jne" was not taken */
        way.compared = -1;
        if (ways++ == 0)
            copy_state(s, &way);
        else
            meet(p, b->begin, s, &way);
    }
    return ways > 0;
}

/* After some visits a value that still changes becomes an unknown, once and for all. */
static void settle(struct program *p, int number, struct state *s)
{
    struct block *b = &p->block[number];
    const size_t at = b->begin;
    if (++b->visits > FREE_VISITS && !p->judging) {
        int kept = 0;
        for (int i = 0; i < REGISTERS; i++) {
            const int name = unknown(p, MEETS_AT, (int)at, i, 0);
            if (i != RSP && s->reg[i] != b->before.reg[i]) s->reg[i] = name;
        }
        for (int i = 0; i < b->before.slot_count; i++) {
            struct slot slot = b->before.slot[i];
            const int value = find_slot(s, slot.base, slot.at, slot.bytes);
            if (value < 0) continue;
            if (value != slot.value) slot.value = unknown(p, MEETS_AT, (int)at, ~slot.base, (int)slot.at);
            b->before.slot[kept++] = slot;
        }
        b->before.slot_count = kept;
        s->slot_count = 0;
        for (int i = 0; i < kept; i++) set_slot(s, b->before.slot[i].base, b->before.slot[i].at, b->before.slot[i].bytes, b->before.slot[i].value);
        kept = 0;
        for (int i = 0; i < s->report_count; i++)
            for (int k = 0; k < b->before.report_count; k++)
                if (memcmp(&s->report[i], &b->before.report[k], sizeof s->report[i]) == 0) {
                    s->report[kept++] = s->report[i];
                    break;
                }
        s->report_count = kept;
    }
    copy_state(&b->before, s);
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
        for (size_t n = 0; n < p->names; n++) { /* also of the function that this is the cold part of */
            if (p->root_of[n] < 0 || p->returns[n] || !same_function(p, (int)n, last->function)) continue;
            p->returns[n] = 1;
            for (size_t k = 0; k < p->block_count; k++)
                p->queued[k] |= p->block[k].reached;
        }
    }
    const struct instruction *next = b->end < p->code.count ? &p->code.instruction[b->end] : NULL;
    if (goes_on && (!next || next->begins || next->section != last->section)) return fail(p, at - 1, "runs on past the end of its function");
    const int known = b->reached && b->goes_on == goes_on && equal_states(&b->after, s);
    b->reached = 1;
    b->goes_on = goes_on;
    if (known) return 1;
    copy_state(&b->after, s);
    if (b->visits > MOST_VISITS) p->judging = 1;
    if (b->visits > MOST_VISITS) return fail(p, at - 1, "is in a function that is too tangled to be judged");
    if (goes_on) p->queued[number + 1] = 1;
    if (b->target >= 0) p->queued[b->target] = 1;
    return 1;
}

/* Gathers what is known before each block until nothing changes; then judges each instruction. */
static int run_all(struct program *p)
{
    struct state s = {0};
    int changed = 1;
    for (size_t i = 0; i < p->block_count; i++) p->queued[i] = (char)p->code.instruction[p->block[i].begin].begins;
    while (changed && !p->failed) {
        changed = 0;
        for (size_t i = 0; i < p->block_count && !p->failed; i++) {
            if (!p->queued[i]) continue;
            p->queued[i] = 0;
            changed = 1;
            if (!gather(p, (int)i, &s)) continue;
            settle(p, (int)i, &s);
            run_block(p, (int)i, &s);
        }
    }
    p->judging = 1;
    do {
        p->needs_more = 0;
        for (size_t i = 0; i < p->block_count && !p->failed; i++)
            if (p->block[i].reached) {
                copy_state(&s, &p->block[i].before);
                run_block(p, (int)i, &s);
            }
    } while (p->needs_more && !p->failed);
    free(s.slot);
    return !p->failed;
}

static void name_functions(struct program *p)
{
    p->names = p->code.name_count;
    p->root_of = must_allocate(p->names * sizeof *p->root_of);
    p->returns = must_allocate(p->names);
    memset(p->returns, 0, p->names);
    for (size_t i = 0; i < p->names; i++) p->root_of[i] = -1;
    p->need = must_allocate(p->names * sizeof *p->need);
    memset(p->need, 0, p->names * sizeof *p->need);
    p->section = must_allocate(p->names * sizeof *p->section);
    memset(p->section, 0, p->names * sizeof *p->section);
    for (size_t i = 0; i < p->code.count; i++) {
        const int section = p->code.instruction[i].section;
        if (p->section[section].end == 0) p->section[section].begin = i;
        p->section[section].end = i + 1;
    }
    for (size_t i = 0; i < p->code.count; i++)
        if (p->code.instruction[i].begins) p->root_of[p->code.instruction[i].function] = (int)i;
}

int machine_code_check(const char *disassembly, const char *constants, struct machine_code_finding *finding)
{
    struct program p = {.constants = constants, .finding = finding};
    p.unknowns.bytes = sizeof(struct unknown);
    p.sums.bytes = sizeof(struct sum);
    *finding = (struct machine_code_finding){0};
    if (!disassembly_read(disassembly, &p.code)) {
        finding->message = "the disassembler's text cannot be read";
        return 0;
    }
    if (p.code.count == 0) return 1;
    name_functions(&p);
    p.zero = constant(&p, 0);
    p.callers_frame = unknown(&p, CALLERS_FRAME, 0, 0, 0);
    p.thread = unknown(&p, THREAD, 0, 0, 0);
    p.judging = 1;
    int fine = find_blocks(&p);
    p.judging = 0;
    if (fine) {
        p.queued = must_allocate(p.block_count);
        fine = run_all(&p);
    }
    for (size_t i = 0; i < p.block_count; i++) {
        free(p.block[i].before.slot);
        free(p.block[i].after.slot);
        free(p.block[i].from);
    }
    free(p.block);
    free(p.block_of);
    free(p.queued);
    free(p.root_of);
    free(p.need);
    free(p.section);
    free(p.returns);
    free(p.unknowns.record);
    free(p.unknowns.bucket);
    free(p.sums.record);
    free(p.sums.bucket);
    disassembly_free(&p.code);
    return fine;
}
