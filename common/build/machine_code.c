/**
 * @file machine_code.c
 * @brief The proof that machine_code.h describes.
 *
 * Of registers and of the frame some kinds of values are followed on all ways through a function: addresses of the frame and of thread-local
 * variables, numbers, and what the caller wants back. What ways that meet do not agree on is unknown. And how many bytes the compiler has
 * reported since the last call of anything else that were not touched yet.
 */
#include "machine_code.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "disassembly.h"

enum {
    RED_ZONE = 128,
    INDEX_BYTES = 12,
    CALLERS = -1,
    MOST_REPORTED = 64,
    MOST_RUNS = 100,
    ANY_BYTES = 1 << 20
};

/* ---- what is known ------------------------------------------------------------------------------------- */

enum value_kind {
    ANYTHING,
    FRAME, /* of: CALLERS, where the caller's frame ends, above the return address; or the instruction that aligned the stack */
    THREAD_LOCAL, /* of: the name of a variable; its distance from fs:0 */
    NEAR,         /* an unknown distance from the thread's variables */
    GIVEN,        /* of: a register, as the caller left it */
    NUMBER        /* at */
};

struct value {
    enum value_kind kind;
    int of;
    int64_t at; /* bytes from there */
};

struct slot {
    int of;
    int64_t at;
    struct value value;
};

/* What is known before an instruction. */
struct state {
    struct value reg[REGISTERS];
    struct value compared; /* what rsp was compared with, if that was the last comparison */
    int reported[2];       /* bytes that may be read; written; of the way that has most */
    int entered; /* 1 between the reports of a function's beginning and of its end; 2: on some ways */
    int slot_count, slot_capacity;
    struct slot *slot; /* of 8 bytes, in which something is known */
};

/* Instructions that are run one after the other. */
struct block {
    size_t begin, end; /* the last one is end - 1 */
    struct state after;
    int runs, reached, goes_on, ends; /* ends: 1 if its last instruction is reached */
    int target;                       /* the block that it jumps to, or -1 */
    int *from;                        /* blocks that lead here; ~block, if by a jump */
    int from_count, from_capacity;
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
    const char *own_thread_locals, *constants;
    int *whole;                /* of a name: "f" for "f.cold" */
    struct place_list taken;   /* places whose addresses are taken */
    struct place_list saved;   /* where a caller's register is kept */
    struct place_list looked;  /* where something was kept that was known, and needed */
    struct place_list changed; /* arguments on the stack that a function writes: where they end */
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
    } * section;   /* of a name: its instructions */
    int *root_of;  /* of a name: where the function of that name begins, or -1 */
    char *returns; /* of a name: 1 if it is a function of the file that returns */
    char *queued;  /* of a block: 1 if it is to be looked at */
    int judging, failed;
    struct machine_code_finding *finding;
};

static const struct value anything = {ANYTHING, 0, 0}, near = {NEAR, 0, 0};

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

static int same_value(struct value a, struct value b)
{
    return a.kind == b.kind && (a.kind == ANYTHING || (a.of == b.of && a.at == b.at));
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

static int is_open(const struct program *p, size_t at, struct value where)
{
    int64_t low, high;
    open_part(p, p->whole[p->code.instruction[at].function], where.of, &low, &high);
    return where.at < high && where.at + 8 > low;
}

static int is_saved(int number)
{
    return number == RBX || number == RBP || number > R11;
}

static struct value moved(struct value value, int64_t by)
{
    value.at += by;
    return value;
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

/* The same for what an instruction loads. */
static struct value load_slot(struct program *p, const struct state *s, size_t at, struct value where)
{
    const struct value found = find_slot(s, where);
    if (found.kind == ANYTHING) return found;
    if (p->open_is_known) return is_open(p, at, where) ? anything : found;
    if (p->judging) add_place(p, &p->looked, at, where.of, where.at);
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

/* ---- kinds of instructions ----------------------------------------------------------------------------- */

/* What an instruction does with its operands; bytes of memory that it touches, 0: as its registers and its name's last letter
 * say. */
enum does {
    ADDS_UP, /* the last operand becomes something new */
    READS,   /* nothing is written but flags */
    MOVES,
    LOADS_ADDRESS,
    EXTENDS,
    DIVIDES, /* and multiplies: rax and rdx */
    SETS_RAX,
    SETS_RDX,
    EXCHANGES,
    COMPARES_AND_EXCHANGES,
    PUSHES,
    POPS,
    LEAVES,
    CALLS,
    RETURNS,
    JUMPS,
    BRANCHES,
    STOPS,
    NOTHING,
    STRINGS
};

struct kind {
    const char *names; /* between blanks */
    enum does does;
    int bytes, at_most; /* at_most: 1 if it may be fewer */
};

static const struct kind kinds[] = {
    {" mov movb movw movl movq movabs ", MOVES, 0, 0},
    {" lea ", LOADS_ADDRESS, 0, 0},
    {" movzbl movzbw movzbq movsbl movsbw movsbq ", EXTENDS, 1, 0},
    {" movzwl movzwq movswl movswq ", EXTENDS, 2, 0},
    {" movslq ", EXTENDS, 4, 0},
    {" add sub and or xor adc sbb neg not inc dec shl shr sar rol ror rcl rcr shld shrd bts btr btc bsf bsr "
     "tzcnt lzcnt popcnt bswap ",
     ADDS_UP, 0, 0},
    {" cmp test bt ", READS, 0, 0},
    {" imul mul div idiv ", DIVIDES, 0, 0},
    {" cltq cwtl cbtw ", SETS_RAX, 0, 0},
    {" cltd cqto cwtd ", SETS_RDX, 0, 0},
    {" xchg xadd ", EXCHANGES, 0, 0},
    {" cmpxchg ", COMPARES_AND_EXCHANGES, 0, 0},
    {" push pushq ", PUSHES, 8, 0},
    {" pop popq ", POPS, 8, 0},
    {" leave leaveq ", LEAVES, 8, 0},
    {" call callq ", CALLS, 0, 0},
    {" ret retq ", RETURNS, 0, 0},
    {" jmp jmpq ", JUMPS, 0, 0},
    {" ja jae jb jbe je jne jg jge jl jle js jns jo jno jp jnp ", BRANCHES, 0, 0},
    {" ud2 ", STOPS, 0, 0},
    {" nop nopw nopl pause mfence lfence sfence endbr64 ", NOTHING, 0, 0},
    {" stos movsq movsl movsb movsw ", STRINGS, 0, 0},
    {" cmova cmovae cmovb cmovbe cmove cmovne cmovg cmovge cmovl cmovle cmovs cmovns cmovo cmovno cmovp "
     "cmovnp ",
     ADDS_UP, 0, 0},
    {" seta setae setb setbe sete setne setg setge setl setle sets setns seto setno setp setnp pextrb "
     "pinsrb ",
     ADDS_UP, 1, 0},
    {" pinsrw pextrw ", ADDS_UP, 2, 0},
    {" movss addss subss mulss divss sqrtss maxss minss andnss cvtss2sd cvtsi2ssl cvtsi2sdl cvttss2si "
     "cvtss2si roundss rcpss "
     "rsqrtss insertps extractps movd pinsrd pextrd broadcastss ",
     ADDS_UP, 4, 0},
    {" cvtsi2ss cvtsi2sd ", ADDS_UP, 4, 0},
    {" comiss ucomiss ", READS, 4, 0},
    {" movsd addsd subsd mulsd divsd sqrtsd maxsd minsd cvtsd2ss cvtsi2ssq cvtsi2sdq cvttsd2si cvtsd2si "
     "roundsd movlps movhps "
     "movlpd movhpd pinsrq pextrq cvtps2pd cvtph2ps cvtps2ph movddup broadcastsd ",
     ADDS_UP, 8, 0},
    {" comisd ucomisd ", READS, 8, 0},
    {" ptest testps ", READS, 16, 0},
    {"", NOTHING, 0, 0}};

/* Families of vector instructions, by how their names begin: arithmetic and moves between vectors, which touch 16 or 32 bytes of memory at most. */
static const char *const vector_starts[] = {
    "movap",    "movup",      "movdqa",      "movdqu",     "movhl",       "movlh",  "movsh",  "movsld",
    "movmsk",   "lddqu",      "padd",        "psub",       "pmul",        "pmadd",  "pand",   "por",
    "pxor",     "psll",       "psrl",        "psra",       "pcmpeq",      "pcmpgt", "punpck", "pack",
    "pshuf",    "pmax",       "pmin",        "pabs",       "psign",       "pavg",   "pmovsx", "pmovzx",
    "pmovmskb", "palignr",    "pblend",      "phadd",      "phsub",       "psadbw", "addp",   "subp",
    "mulp",     "divp",       "sqrtp",       "maxp",       "minp",        "andp",   "andnp",  "orp",
    "xorp",     "cmp",        "haddp",       "hsubp",      "addsubp",     "unpck",  "shufp",  "blend",
    "cvt",      "roundp",     "rcpp",        "rsqrtp",     "fmadd",       "fmsub",  "fnmadd", "fnmsub",
    "perm",     "insertf128", "extractf128", "inserti128", "extracti128", "zero",   "dpp",    NULL};

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
static int kind_of_instruction(const struct instruction *it, struct kind *found)
{
    const char *name = it->name;
    const size_t length = strlen(name);
    if (listed_kind(name, found) && found->does == STRINGS && strcmp(it->prefix, "rep") == 0)
        return strstr(it->text, ",%es:(%rdi)") &&
               (strcmp(name, "stos") == 0 || strstr(it->text, " %ds:(%rsi),"));
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
        if (strcmp(bare, "movq") == 0) return *found = (struct kind){"", ADDS_UP, 8, 0}, 1;
        if (listed_kind(bare, found) &&
            (found->does == ADDS_UP || found->does == READS || found->does == NOTHING)) {
            if (found->bytes == 0 && found->does != NOTHING) return 0;
            if (widest == 32) found->bytes = found->bytes > 16 ? found->bytes : 16;
            return 1;
        }
        for (size_t i = 0; vector_starts[i]; i++)
            is_family |= strncmp(bare, vector_starts[i], strlen(vector_starts[i])) == 0;
        const int widens = strncmp(bare, "pmov", 4) == 0 || strncmp(bare, "cvt", 3) == 0;
        *found = (struct kind){"", ADDS_UP, widest == 32 ? 32 : 16, widens};
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
        known = letter && listed_kind(plain, found) &&
                (found->does == ADDS_UP || found->does == READS || found->does == DIVIDES) &&
                found->bytes == 0;
    }
    if (known && found->does == MOVES && length == 4) letter = 1 << (strchr("bwlq", name[3]) - "bwlq");
    if (known && found->bytes == 0) found->bytes = letter ? letter : widest;
    return known;
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

static struct value reg(const struct state *s, int number)
{
    return number == NO_REGISTER ? anything : s->reg[number];
}

/* The address of a memory operand, or the distance after %fs, as far as it is known. */
static struct value address_of(const struct program *p, const struct state *s, size_t at,
                               const struct operand *o)
{
    const struct relocation *r = relocation_of(p, at, 0);
    if (r && strcmp(r->kind, "TPOFF32") == 0 && o->base == NO_REGISTER && o->index == NO_REGISTER)
        return (struct value){THREAD_LOCAL, r->symbol, r->addend};
    const struct value base = reg(s, o->base), index = reg(s, o->index);
    if (base.kind == NEAR || index.kind == NEAR) return near;
    if (r || o->counter || o->index != NO_REGISTER) return anything;
    return base.kind == FRAME || base.kind == THREAD_LOCAL ? moved(base, o->value) : anything;
}

/* What the linker puts into "mov 0x0(%rip),%rax": the distance of a thread-local variable. */
static struct value linked(const struct program *p, size_t at, const struct operand *o)
{
    const struct relocation *r = relocation_of(p, at, 0);
    return r && o->counter && r->addend == -4 && strcmp(r->kind, "GOTTPOFF") == 0
               ? (struct value){THREAD_LOCAL, r->symbol, 0}
               : anything;
}

static int is_index(const struct program *p, int name)
{
    static const char names[] = " simt_thread_index simt_block_index simt_block_extent simt_grid_extent ";
    return is_listed(names, p->code.name[name], strlen(p->code.name[name]));
}

/* "%fs:0": where the thread's variables end. */
static int is_thread_itself(const struct program *p, size_t at, const struct operand *o)
{
    return o->thread && !relocation_of(p, at, 0) && o->base == NO_REGISTER && o->index == NO_REGISTER &&
           o->value == 0;
}

static int is_constant(const struct program *p, int name)
{
    return is_listed(p->constants, p->code.name[name], strlen(p->code.name[name]));
}

/* An access that the compiler may have reported: 1 if it has reported as many bytes. */
static int use_report(const struct program *p, struct state *s, size_t at, int bytes, int writes)
{
    const struct relocation *r = relocation_of(p, at, 0);
    int *reported = &s->reported[writes];
    if (r && is_constant(p, r->symbol)) return 1;
    const int enough = *reported >= bytes || (p->kind[at].at_most && *reported > 0);
    if (*reported < ANY_BYTES) *reported -= bytes < *reported ? bytes : *reported;
    return enough;
}

/* An access to what each block, or each thread of the host's, has for itself. */
static int need_report(struct program *p, struct state *s, size_t at, int bytes, int writes)
{
    return use_report(p, s, at, bytes, writes) ||
           fail(p, at,
                "touches a thread-local variable, and the compiler has not reported that to the device");
}

/* "%fs:...": the thread's own address; a variable of the file, with an index that the compiler reports; or the thread's index, which is read. */
static int judge_thread_local(struct program *p, struct state *s, size_t at, const struct operand *o,
                              int bytes, int writes)
{
    const struct relocation *r = relocation_of(p, at, 0);
    const struct value base = reg(s, o->base), index = reg(s, o->index);
    if (is_thread_itself(p, at, o) && bytes == 8 && !writes) return 1;
    const int name = r                                             ? r->symbol
                     : base.kind == THREAD_LOCAL                   ? base.of
                     : index.kind == THREAD_LOCAL && o->scale == 1 ? index.of
                                                                   : -1;
    if (name < 0 || (r && strcmp(r->kind, "TPOFF32") != 0))
        return fail(p, at, "touches thread-local memory, and nothing tells which variable");
    if (is_listed(p->own_thread_locals, p->code.name[name], strlen(p->code.name[name])))
        return need_report(p, s, at, bytes, writes);
    const struct value exact = address_of(p, s, at, o);
    if (is_index(p, name) && !writes && exact.kind == THREAD_LOCAL && exact.at >= 0 &&
        exact.at + bytes <= INDEX_BYTES)
        return 1;
    return fail(p, at,
                "touches a thread-local variable of the device that is none of threadIdx, blockIdx, "
                "blockDim, gridDim, or writes one of these");
}

/* Arguments on the caller's stack are as many as the caller has put there, who may have called the function as one of another type. */
static void note_argument(struct program *p, size_t at, struct value where, int bytes)
{
    if (p->judging && where.kind == FRAME && where.of == CALLERS && where.at >= 0)
        add_place(p, &p->changed, at, CALLERS, where.at + bytes);
}

/* A constant distance in the frame: between the stack's end and the return address, or an argument. */
static int judge_frame(struct program *p, const struct state *s, size_t at, struct value where, int bytes,
                       int writes)
{
    const struct value end = s->reg[RSP];
    if (writes) note_argument(p, at, where, bytes);
    const int above = where.at >= 0, inside = where.at + bytes <= (where.of == CALLERS && writes ? -8 : 0);
    const int fine = where.of == CALLERS ? above || inside : inside;
    if (fine && (end.kind != FRAME || end.of != where.of || where.at >= end.at - RED_ZONE)) return 1;
    return fail(p, at, "touches the stack outside of its function's frame");
}

/* Judges an access, and forgets what it changes. */
static int judge(struct program *p, struct state *s, size_t at, const struct operand *o, int bytes,
                 int writes)
{
    if (o->thread) return judge_thread_local(p, s, at, o, bytes, writes);
    const struct value where = address_of(p, s, at, o);
    if (where.kind == NEAR) return need_report(p, s, at, bytes, writes);
    if (where.kind != FRAME) {
        use_report(p, s, at, bytes, writes);
        if (writes) note_argument(p, at, moved(reg(s, o->base), o->value), bytes);
        return 1;
    }
    if (writes) forget_slots(s, where.of, where.at, bytes);
    return judge_frame(p, s, at, where, bytes, writes);
}

/* ---- instructions -------------------------------------------------------------------------------------- */

/* The value of an operand that is read. */
static struct value value_of(struct program *p, struct state *s, size_t at, const struct operand *o,
                             int bytes)
{
    if (o->kind == IMMEDIATE) {
        const struct relocation *r = relocation_of(p, at, 1);
        if (!r) return (struct value){NUMBER, 0, o->value};
        return strcmp(r->kind, "TPOFF32") == 0 ? (struct value){THREAD_LOCAL, r->symbol, r->addend}
                                               : anything;
    }
    if (o->kind == REGISTER) return o->reg == VECTOR || o->bytes != 8 ? anything : s->reg[o->reg];
    if (o->kind != MEMORY) return anything;
    judge(p, s, at, o, bytes, 0);
    if (is_thread_itself(p, at, o)) return near;
    const struct value where = address_of(p, s, at, o);
    if (!o->thread && where.kind == FRAME && bytes == 8) return load_slot(p, s, at, where);
    return o->counter ? linked(p, at, o) : anything;
}

/* An operand becomes @p value. */
static int put(struct program *p, struct state *s, size_t at, const struct operand *o, int bytes,
               struct value value)
{
    if (o->kind == REGISTER) {
        if (o->reg == VECTOR) return 1;
        if (o->bytes != 8 && (o->bytes != 4 || value.kind != NUMBER || value.at < 0)) value = anything;
        if (o->reg == RSP && value.kind != FRAME)
            return fail(p, at, "moves the stack by a length that is not constant");
        s->reg[o->reg] = value;
        return 1;
    }
    if (o->kind != MEMORY) return fail(p, at, "has an operand that no compiler gives it");
    if (!judge(p, s, at, o, bytes, 1)) return 0;
    const struct value where = address_of(p, s, at, o);
    if (!o->thread && where.kind == FRAME) set_slot(p, s, at, where, bytes, value);
    return 1;
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
    if (it->count == 2 && first.kind == NUMBER && (last.kind == FRAME || last.kind == THREAD_LOCAL)) {
        if (adds) result = moved(last, first.at);
        if (subtracts) result = moved(last, -first.at);
        if (strcmp(name, "and") == 0 && from->kind == IMMEDIATE && to->kind == REGISTER && to->reg == RSP)
            result = (struct value){FRAME, (int)at, 0};
    } else if (it->count == 2 && strcmp(name, "xor") == 0 && is_same && to->reg != VECTOR) {
        result = (struct value){NUMBER, 0, 0};
    } else if (it->count == 2 && (adds || subtracts) && (last.kind == NEAR || (adds && first.kind == NEAR))) {
        result = near;
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
    if (where.kind != FRAME || (where.of == CALLERS && where.at >= -8) ||
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
    s->reg[RAX] = s->reg[RDX] = anything;
    return !p->failed;
}

static int exchange(struct program *p, struct state *s, size_t at, const struct kind *kind)
{
    const struct instruction *it = &p->code.instruction[at];
    if (it->count != 2) return fail(p, at, "has an operand that no compiler gives it");
    if (it->operand[0].kind == REGISTER && it->operand[1].kind == REGISTER &&
        it->operand[0].reg == it->operand[1].reg && it->operand[0].bytes != 4)
        return 1; /* which is a nop */
    for (int i = 0; i < 2; i++) value_of(p, s, at, &it->operand[i], kind->bytes);
    if (kind->does == COMPARES_AND_EXCHANGES) s->reg[RAX] = anything;
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
    const int known = p->root_of[r->symbol];
    if (known < 0) *name = r->symbol;
    return known;
}

/* "__tsan_volatile_read4": what rdi points to may be touched now. 0 for a call of anything else. */
static int take_call_for_report(struct state *s, const char *name)
{
    const int is_atomic = strcmp(name, "simt_atomic_begin") == 0;
    const char *end = name + strlen(name), *number = end;
    while (number > name && number[-1] >= '0' && number[-1] <= '9') number--;
    int64_t bytes = strtol(number, NULL, 10);
    if (!is_atomic && strncmp(name, "__tsan_", 7) != 0) return 0;
    if (is_atomic || strstr(name, "_range"))
        bytes = s->reg[RSI].kind == NUMBER && s->reg[RSI].at < MOST_REPORTED ? s->reg[RSI].at : ANY_BYTES;
    if (strncmp(name, "__tsan_vptr_", 12) == 0) bytes = 8;
    const int does[2] = {is_atomic || strstr(name, "read"),
                         is_atomic || strstr(name, "write") || strstr(name, "update")};
    for (int writes = 0; writes < 2; writes++) {
        if (!does[writes] || s->reported[writes] == ANY_BYTES) continue;
        const int64_t sum = s->reported[writes] + bytes;
        s->reported[writes] = (int)(bytes == ANY_BYTES || sum < MOST_REPORTED ? sum : MOST_REPORTED);
        if (bytes == ANY_BYTES) s->reported[writes] = ANY_BYTES;
    }
    return 1;
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
    if (target < 0 && !enter_or_leave(p, s, at, p->code.name[name])) return 0;
    if (target >= 0 && p->judging)
        add_call(&p->called, &p->called_count, &p->called_capacity, at, s->reg[RSP]);
    if (target >= 0)
        *goes_on = p->returns[p->code.instruction[target].function];
    else
        *goes_on = !is_listed(ends, p->code.name[name], strlen(p->code.name[name]));
    if (target >= 0 || !take_call_for_report(s, p->code.name[name])) s->reported[0] = s->reported[1] = 0;
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++) s->reg[lost[i]] = anything;
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

/* The device's atomics are calls: as an instruction, one may change its function's own frame. */
static int judge_atomic(struct program *p, const struct state *s, size_t at)
{
    const struct instruction *it = &p->code.instruction[at];
    for (int i = 0; i < it->count; i++) {
        const struct operand *o = &it->operand[i];
        if (o->kind == MEMORY && (o->thread || address_of(p, s, at, o).kind != FRAME))
            return fail(p, at, "is an atomic access that the compiler has not reported to the device");
    }
    return 1;
}

/* "rep stos", "rep movsq": in the frame, or like any other access. */
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
    const int bytes =
        times.kind == NUMBER && times.at >= 0 && times.at < INT32_MAX / 8 ? (int)times.at * each : -1;
    for (int writes = !moves; writes < 2; writes++) {
        const struct value where = s->reg[writes ? RDI : RSI];
        if (where.kind == NEAR && !need_report(p, s, at, bytes > 0 ? bytes : 1, writes)) return 0;
        if (where.kind != FRAME || bytes < 0) continue;
        if (writes) forget_slots(s, where.of, where.at, bytes);
        if (!judge_frame(p, s, at, where, bytes, writes)) return 0;
    }
    s->reg[RDI] = s->reg[RSI] = anything;
    s->reg[RCX] = (struct value){NUMBER, 0, 0};
    return 1;
}

static int returns(struct program *p, const struct state *s, size_t at)
{
    if (s->reg[RSP].kind != FRAME || s->reg[RSP].of != CALLERS || s->reg[RSP].at != -8)
        return fail(p, at, "returns, and not to where its function was called");
    for (int i = 0; i < REGISTERS; i++)
        if (is_saved(i) && (s->reg[i].kind != GIVEN || s->reg[i].of != i))
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

/* What an instruction does to what is known; @p goes_on: 0 if the next one does not follow. */
static int step(struct program *p, struct state *s, size_t at, int *goes_on)
{
    const struct instruction *it = &p->code.instruction[at];
    const struct kind kind = p->kind[at];
    *goes_on = 1;
    const struct value compared = s->compared;
    const struct operand *last = &it->operand[it->count > 0 ? it->count - 1 : 0];
    s->compared = anything;
    const int atomic =
        kind.does == EXCHANGES || kind.does == COMPARES_AND_EXCHANGES || strcmp(it->prefix, "lock") == 0;
    if (atomic && !judge_atomic(p, s, at)) return 0;
    switch (kind.does) {
    case MOVES: {
        const struct value value = value_of(p, s, at, &it->operand[0], kind.bytes);
        if (it->operand[0].kind == REGISTER && !(last->kind == REGISTER && last->reg == RSP))
            take(p, s, at, value);
        return it->count == 2 ? put(p, s, at, last, kind.bytes, value) && !p->failed
                              : fail(p, at, "has an operand that no compiler gives it");
    }
    case EXTENDS:
        value_of(p, s, at, &it->operand[0], kind.bytes);
        return put(p, s, at, last, kind.bytes, anything) && !p->failed;
    case LOADS_ADDRESS: {
        const struct relocation *r = relocation_of(p, at, 0);
        const struct operand *from = &it->operand[0];
        if (it->count != 2 || from->kind != MEMORY || from->thread)
            return fail(p, at, "has an operand that no compiler gives it");
        if (last->kind != REGISTER || last->reg != RSP) take_operand(p, s, at, from);
        return put(p, s, at, last, 8, r && r->kind[0] != 'T' ? anything : address_of(p, s, at, from));
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
        s->reg[RAX] = anything;
        return 1;
    case SETS_RDX:
        s->reg[RDX] = anything;
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
        if (!p->kind[i].names) return fail(p, i, "is of a kind that no kernel file needs");
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

static void begin_function(struct state *s)
{
    s->slot_count = s->reported[0] = s->reported[1] = s->entered = 0;
    s->compared = anything;
    for (int i = 0; i < REGISTERS; i++) s->reg[i] = (struct value){GIVEN, i, 0};
    s->reg[RSP] = (struct value){FRAME, CALLERS, -8};
}

/* One more way to a place where @p s is known. */
static void meet(size_t at, struct state *s, const struct state *other)
{
    int kept = 0;
    if (s->entered != other->entered) s->entered = 2;
    for (int i = 0; i < 2; i++)
        if (s->reported[i] < other->reported[i]) s->reported[i] = other->reported[i];
    for (int i = 0; i < REGISTERS; i++) {
        if (same_value(s->reg[i], other->reg[i])) continue;
        /* the stack's end: lowered in a loop */
        const int both = i == RSP && s->reg[i].kind == FRAME && other->reg[i].kind == FRAME;
        s->reg[i] = both ? (struct value){FRAME, (int)at, 0} : anything;
    }
    for (int i = 0; i < s->slot_count; i++) {
        const struct slot slot = s->slot[i];
        if (same_value(find_slot(other, (struct value){FRAME, slot.of, slot.at}), slot.value))
            s->slot[kept++] = slot;
    }
    s->slot_count = kept;
}

static int equal_states(const struct state *a, const struct state *b)
{
    int same = a->slot_count == b->slot_count && same_value(a->compared, b->compared) &&
               a->reported[0] == b->reported[0] && a->reported[1] == b->reported[1] &&
               a->entered == b->entered;
    for (int i = 0; i < REGISTERS && same; i++) same = same_value(a->reg[i], b->reg[i]);
    for (int i = 0; i < a->slot_count && same; i++)
        same =
            same_value(find_slot(b, (struct value){FRAME, a->slot[i].of, a->slot[i].at}), a->slot[i].value);
    return same;
}

/* What is known at the beginning of a block, from all ways to it that were found yet: 1 if there is one. */
static int gather(struct program *p, int number, struct state *s)
{
    const struct block *b = &p->block[number];
    int ways = 0;
    if (p->code.instruction[b->begin].begins) begin_function(s), ways = 1;
    for (int i = 0; i < b->from_count; i++) {
        const int jumps = b->from[i] < 0, from = jumps ? ~b->from[i] : b->from[i];
        const struct block *before = &p->block[from];
        if (!before->reached || !(jumps ? before->ends : before->goes_on)) continue;
        struct state way = before->after;
        if (!jumps && way.compared.kind == FRAME)
            way.reg[RSP] = way.compared; /* "cmp %r11,%rsp; jne" was not taken */
        way.compared = anything;
        if (ways++ == 0)
            copy_state(s, &way);
        else
            meet(b->begin, s, &way);
    }
    return ways > 0;
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
    if (goes_on && (!next || next->begins || next->section != last->section ||
                    p->whole[next->function] != p->whole[last->function]))
        return fail(p, at - 1, "runs on past the end of its function: is a return missing?");
    /* In a loop two numbers of reported bytes may follow each other forever: then the greater one stays. */
    for (int i = 0; i < 2 && b->runs > MOST_RUNS; i++)
        if (s->reported[i] < b->after.reported[i]) s->reported[i] = b->after.reported[i];
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
    for (size_t i = 0; i < p->block_count; i++) p->block[i].reached = p->block[i].runs = 0;
    for (size_t i = 0; i < p->block_count; i++)
        p->queued[i] = (char)p->code.instruction[p->block[i].begin].begins;
    while (changed && !p->failed) {
        changed = 0;
        for (size_t i = 0; i < p->block_count && !p->failed; i++) {
            if (!p->queued[i]) continue;
            p->queued[i] = 0;
            changed = 1;
            if (gather(p, (int)i, &s)) run_block(p, (int)i, &s);
        }
    }
    p->judging = 1;
    for (size_t i = 0; i < p->block_count && !p->failed; i++)
        if (gather(p, (int)i, &s)) run_block(p, (int)i, &s);
    free(s.slot);
    return !p->failed;
}

/* Once more without what was known of places to which pointers may lead, if anything needed that. */
static int run_all(struct program *p)
{
    int again = 0, fine = run_once(p);
    for (size_t i = 0; i < p->looked.count; i++) {
        const struct place *place = &p->looked.place[i];
        int64_t low, high;
        open_part(p, place->function, place->of, &low, &high);
        again |= place->at < high && place->at + 8 > low;
    }
    p->open_is_known = 1;
    return fine && again ? run_once(p) : fine;
}

/* Whether one of the registers that are kept in a function's frame, or what its caller has, lies within arguments that a function which it
 * calls changes. */
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

static void tell_frames(struct program *p, struct machine_code_frames *frames)
{
    *frames = (struct machine_code_frames){0};
    frames->frame = must_allocate((p->entry_count + p->changed.count + 1) * sizeof *frames->frame);
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
}

void machine_code_free(struct machine_code_frames *frames)
{
    for (size_t i = 0; i < frames->count; i++) free(frames->frame[i].section);
    free(frames->frame);
    *frames = (struct machine_code_frames){0};
}

static void name_functions(struct program *p)
{
    p->whole = must_allocate(p->code.name_count * sizeof *p->whole);
    for (size_t i = 0, count = p->code.name_count; i < count; i++) {
        const char *cold = strstr(p->code.name[i], ".cold");
        char *whole = cold ? format_string("%.*s", (int)(cold - p->code.name[i]), p->code.name[i]) : NULL;
        p->whole[i] = (int)i;
        for (size_t k = 0; whole && k < count; k++)
            if (strcmp(p->code.name[k], whole) == 0) p->whole[i] = (int)k;
        free(whole);
    }
    p->kind = must_allocate(p->code.count * sizeof *p->kind);
    for (size_t i = 0; i < p->code.count; i++)
        if (!kind_of_instruction(&p->code.instruction[i], &p->kind[i])) p->kind[i] = (struct kind){0};
    p->root_of = must_allocate(p->code.name_count * sizeof *p->root_of);
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
}

int machine_code_check(const char *disassembly, const char *own_thread_locals, const char *constants,
                       struct machine_code_frames *frames, struct machine_code_finding *finding)
{
    struct program p = {.own_thread_locals = own_thread_locals, .constants = constants, .finding = finding};
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
    free(p.root_of);
    free(p.kind);
    free(p.section);
    free(p.returns);
    free(p.whole);
    free(p.taken.place);
    free(p.saved.place);
    free(p.looked.place);
    free(p.changed.place);
    free(p.entry);
    free(p.called);
    disassembly_free(&p.code);
    return fine;
}
