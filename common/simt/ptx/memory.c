/**
 * @file memory.c
 * @brief Loads, stores, atomics, fences and cache hints.
 *
 * Every access is handled like any other access of the thread: checked, counted, known to the race detector.
 * `.shared` takes an offset into the shared window (machine/window.c), everything else a generic pointer. A
 * vector counts as one access; `.relaxed`, `.acquire`, `.release` count as volatile or atomic accesses, which
 * is how this device does them.
 */
#include "numbers.h"
#include "program.h"

/* ---- addresses ------------------------------------------------------------------------------------------- */

static void *pointer_of(const struct run *run, const struct op *op, unsigned operand)
{
    return (void *)(uintptr_t)(ptx_word(run, op, operand) + (uint64_t)op->offset[0]);
}

static void demand_alignment(const struct run *run, const void *address, size_t bytes, int access)
{
    if ((uintptr_t)address % bytes != 0)
        simt_refuse_access(RECORD_MISALIGNED, address, bytes, access, RECORD_ADVICE_ALIGN, run->pc);
}

static void *global_address(const struct run *run, const struct op *op, unsigned operand, size_t bytes,
                            int access)
{
    enum { SPACE = 2 };
    void *address = pointer_of(run, op, operand);
    simt_demand_space(address, bytes, access, (enum simt_space)op->modifier[SPACE], run->pc);
    demand_alignment(run, address, bytes, access);
    return address;
}

static void *shared_address(const struct run *run, const struct op *op, unsigned operand, size_t bytes,
                            int access)
{
    enum { SPACE = 2, CLUSTER_SPACE = 3 };
    const uint64_t offset = ptx_word(run, op, operand) + (uint64_t)op->offset[0];
    void *address = op->modifier[SPACE] == CLUSTER_SPACE
                        ? simt_cluster_checked(offset, bytes, access, run->pc)
                        : simt_shared_checked(offset, bytes, access, run->pc);
    demand_alignment(run, address, bytes, access);
    return address;
}

/* ---- loads and stores ------------------------------------------------------------------------------------ */

enum { SEMANTICS, SCOPE }; /* number of modifiers of ld and st; the scopes: */
enum { CTA = 1, CLUSTER, GPU, SYS };
enum { WEAK = 1, VOLATILE, RELAXED, ORDERED }; /* .acquire or .release */

/* An atomic with scope .cta gives other blocks no guarantee. @p how: what else is to be said of it. */
static void begin_atomic(const struct run *run, const struct op *op, void *address, size_t bytes,
                         unsigned how)
{
    const unsigned scope = op->modifier[SCOPE] == CTA       ? SIMT_BLOCK_SCOPE
                           : op->modifier[SCOPE] == CLUSTER ? SIMT_CLUSTER_SCOPE
                                                            : 0;
    simt_ordered_begin(address, bytes, how | scope, run->pc);
}

static void tell(const struct run *run, const struct op *op, void *address, size_t bytes, int access)
{
    if (op->modifier[SEMANTICS] <= WEAK) {
        simt_access(address, bytes, access, run->pc);
    } else if (op->modifier[SEMANTICS] == VOLATILE) {
        simt_access_volatile(address, bytes, access, run->pc);
    } else {
        const bool stores = access == SIMT_WRITE;
        begin_atomic(run, op, address, bytes,
                     (stores ? SIMT_ONLY_STORES : SIMT_ONLY_LOADS) | (op->modifier[SEMANTICS] == RELAXED ? 0u
                                                                      : stores ? SIMT_RELEASE
                                                                               : SIMT_ACQUIRE));
    }
}

static uint64_t element_at(const char *address, unsigned type)
{
    const unsigned bits = ptx_type[type].bits;
    uint64_t word = 0;
    memcpy(&word, address, bits / 8);
    return ptx_type[type].class == 's' ? (uint64_t)((int64_t)(word << (64 - bits)) >> (64 - bits)) : word;
}

static size_t bytes_of(const struct op *op)
{
    return (size_t)op->vector * ptx_type[op->type[0]].bits / 8;
}

static void set_elements(struct run *run, const struct op *op, const void *address)
{
    const size_t each = ptx_type[op->type[0]].bits / 8;
    for (unsigned i = 0; i < op->vector; i++)
        ptx_set(run, op, i, element_at((const char *)address + i * each, op->type[0]));
}

static void load_from(struct run *run, const struct op *op, void *address)
{
    tell(run, op, address, bytes_of(op), SIMT_READ);
    set_elements(run, op, address);
}
PTX_OP(ld, load_from(run, op, global_address(run, op, op->vector, bytes_of(op), SIMT_READ)))
/* By the path for what the kernel does not write. */
static void ld_nc(struct run *run, const struct op *op)
{
    void *address = global_address(run, op, op->vector, bytes_of(op), SIMT_READ);
    simt_access(address, bytes_of(op), SIMT_READ | SIMT_CONSTANT, run->pc);
    set_elements(run, op, address);
}
PTX_OP(ld_shared, load_from(run, op, shared_address(run, op, op->vector, bytes_of(op), SIMT_READ)))

static void store_to(struct run *run, const struct op *op, void *address)
{
    const size_t each = ptx_type[op->type[0]].bits / 8;
    tell(run, op, address, bytes_of(op), SIMT_WRITE);
    for (unsigned i = 0; i < op->vector; i++) {
        const uint64_t word = ptx_word(run, op, 1 + i);
        memcpy((char *)address + i * each, &word, each);
    }
}
PTX_OP(st, store_to(run, op, global_address(run, op, 0, bytes_of(op), SIMT_WRITE)))
PTX_OP(st_shared, store_to(run, op, shared_address(run, op, 0, bytes_of(op), SIMT_WRITE)))

/* ---- atomics: [sem] [scope] [space] (op) [noftz] [hint] -------------------------------------------------- */

enum { OPERATION = 3 };
enum { ATOM_RELAXED = 1, ATOM_ACQUIRE, ATOM_RELEASE, ATOM_BOTH };

static uint64_t add_floats(uint64_t a, uint64_t b, unsigned type)
{
    const struct ptx_format *format = type == PTX_F16 || type == PTX_F16X2 ? &ptx_half : &ptx_bfloat16;
    if (type == PTX_F64) return ptx_bits_of_double(ptx_double_of_bits(a) + ptx_double_of_bits(b));
    if (type == PTX_F32)
        return ptx_bits_of_float(ptx_float_of_bits((uint32_t)a) + ptx_float_of_bits((uint32_t)b));
    uint64_t result = 0;
    for (unsigned at = 0; at < ptx_type[type].bits; at += 16) {
        const uint16_t x = (uint16_t)(a >> at), y = (uint16_t)(b >> at);
        const double sum = format == &ptx_half
                               ? (double)ptx_float_of_half(x) + ptx_float_of_half(y)
                               : ptx_odd_sum(ptx_float_of_bfloat16(x), ptx_float_of_bfloat16(y));
        result |= (uint64_t)ptx_narrow(format, sum, PTX_RN, false) << at;
    }
    return result;
}

uint64_t ptx_atomic_result(enum ptx_atomic operation, enum ptx_type type, uint64_t old, uint64_t b,
                           uint64_t c)
{
    const bool less = ptx_type[type].class == 's' ? (int64_t)b < (int64_t)old : b < old;
    switch (operation) {
    case PTX_ATOMIC_ADD:
        return ptx_type[type].class == 'f' ? add_floats(old, b, type) : old + b;
    case PTX_ATOMIC_MIN:
        return less ? b : old;
    case PTX_ATOMIC_MAX:
        return less ? old : b;
    case PTX_ATOMIC_AND:
        return old & b;
    case PTX_ATOMIC_OR:
        return old | b;
    case PTX_ATOMIC_XOR:
        return old ^ b;
    case PTX_ATOMIC_EXCH:
        return b;
    case PTX_ATOMIC_INC:
        return old >= b ? 0 : old + 1;
    case PTX_ATOMIC_DEC:
        return old == 0 || old > b ? b : old - 1;
    default:
        return old == b ? c : old;
    }
}

/* Operand @p from is the first element of b, and c follows it; if @p keep, old values go to the operands
 * from 0 on. */
static void update(struct run *run, const struct op *op, char *address, unsigned from, bool keep)
{
    const unsigned type = op->type[0], bits = ptx_type[type].bits;
    const size_t each = bits / 8;
    uint64_t old[8];
    begin_atomic(run, op, address, each * op->vector,
                 (op->modifier[SEMANTICS] >= ATOM_RELEASE ? SIMT_RELEASE : 0u) |
                     (op->modifier[SEMANTICS] == ATOM_ACQUIRE || op->modifier[SEMANTICS] == ATOM_BOTH
                          ? SIMT_ACQUIRE
                          : 0u));
    for (unsigned i = 0; i < op->vector; i++) {
        uint64_t b = ptx_word(run, op, from + i),
                 c = op->modifier[OPERATION] == PTX_ATOMIC_CAS ? ptx_word(run, op, from + 1) : 0;
        if (ptx_type[type].class == 's')
            b = (uint64_t)((int64_t)(b << (64 - bits)) >> (64 - bits));
        else
            b = b << (64 - bits) >> (64 - bits);
        old[i] = element_at(address + i * each, type);
        const uint64_t now =
            ptx_atomic_result((enum ptx_atomic)op->modifier[OPERATION], (enum ptx_type)type, old[i], b, c);
        memcpy(address + i * each, &now, each);
    }
    simt_atomic_end(address, each * op->vector);
    for (unsigned i = 0; keep && i < op->vector; i++) ptx_set(run, op, i, old[i]);
}
static void atom(struct run *run, const struct op *op)
{
    update(run, op, global_address(run, op, op->vector, bytes_of(op), SIMT_ATOMIC), op->vector + 1u, true);
}
static void atom_shared(struct run *run, const struct op *op)
{
    update(run, op, shared_address(run, op, op->vector, bytes_of(op), SIMT_ATOMIC), op->vector + 1u, true);
}
PTX_OP(red, update(run, op, global_address(run, op, 0, bytes_of(op), SIMT_ATOMIC), 1, false))
PTX_OP(red_shared, update(run, op, shared_address(run, op, 0, bytes_of(op), SIMT_ATOMIC), 1, false))

/* ---- fences, and what the caches are told ---------------------------------------------------------------- */

static void proxy_fence(struct run *run, const struct op *op)
{
    (void)run, (void)op;
    simt_proxy_fence(1, 1);
}
static void proxy_fence_global(struct run *run, const struct op *op)
{
    (void)run, (void)op;
    simt_proxy_fence(0, 1);
}
static void proxy_fence_shared(struct run *run, const struct op *op)
{
    (void)run, (void)op;
    simt_proxy_fence(1, 0);
}
static void fence_of_device(struct run *run, const struct op *op)
{
    (void)run, (void)op;
    simt_fence();
}
static void fence_of_cluster(struct run *run, const struct op *op)
{
    (void)run, (void)op;
    simt_cluster_fence();
}
static void mbarrier_init_fence(struct run *run, const struct op *op)
{
    (void)run, (void)op;
    simt_mbarrier_init_fence();
}
static void fence_of_block(struct run *run, const struct op *op)
{
    (void)run, (void)op;
    simt_block_fence();
}
static void nothing(struct run *run, const struct op *op)
{
    (void)run, (void)op;
}
PTX_OP(createpolicy, ptx_set(run, op, 0, 0))
static void isspacep(struct run *run, const struct op *op)
{
    enum { GLOBAL_SPACE = 1, CLUSTER_SPACE = 4, LOCAL_SPACE };
    const void *pointer = (const void *)(uintptr_t)ptx_word(run, op, 1);
    const unsigned space = op->modifier[0];
    const bool shared = simt_is_shared_pointer(pointer) != 0, global = simt_is_device_pointer(pointer) != 0,
               cluster = simt_rank_of_pointer(pointer) >= 0;
    ptx_set(run, op, 0,
            space == GLOBAL_SPACE    ? global
            : space == LOCAL_SPACE   ? !cluster && !global
            : space == CLUSTER_SPACE ? cluster
                                     : shared);
}

/* ---- the rows -------------------------------------------------------------------------------------------- */

#define SCOPES "[cta|cluster|gpu|sys]"
#define LD_HEAD "ld [weak|volatile|relaxed|acquire] " SCOPES
#define ST_HEAD "st [weak|volatile|relaxed|release] " SCOPES
#define SPACES "[global|local|const|param]" /* in the order of enum simt_space */
#define SHARED "(shared|shared::cta|shared::cluster)"
#define L1_HINT "[L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate]"
#define L2_HINT                                                                                              \
    "[L2::evict_normal|L2::evict_first|L2::evict_last] [L2::cache_hint] [L2::64B|L2::128B|L2::256B]"
#define ELEMENTS "<b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64>"
#define ATOM_HEAD "[relaxed|acquire|release|acq_rel] " SCOPES
#define ATOM_SPACE "[global]"
#define OPERATIONS "(add|min|max|and|or|xor|exch|inc|dec)"
#define WHOLE "<b32|b64|u32|u64|s32|s64>"
#define FLOATS "<f32|f64>"
#define SMALL "<f16|f16x2|bf16|bf16x2>"

static const struct row rows[] = {
    {LD_HEAD " " SPACES " [ca|cg|cs|lu|cv] " L1_HINT " " L2_HINT " {v2|v4} " ELEMENTS, "=~T:n A ?b64", ld, 0,
     10, TOUCHES_MEMORY, NULL},
    {"ld [] [] (global) [ca|cg|cs] nc " L1_HINT " " L2_HINT " {v2|v4} " ELEMENTS, "=~T:n A ?b64", ld_nc, 32,
     31, 0, NULL},
    {LD_HEAD " " SHARED " [ca|cg|cs|lu|cv] {v2|v4} " ELEMENTS, "=~T:n a", ld_shared, 0, 10, TOUCHES_MEMORY,
     NULL},
    {ST_HEAD " [global|local] [wb|cg|cs|wt] " L1_HINT " " L2_HINT " {v2|v4} " ELEMENTS, "A ~T:n ?b64", st, 0,
     10, TOUCHES_MEMORY, NULL},
    {ST_HEAD " " SHARED " [wb|cg|cs|wt] {v2|v4} " ELEMENTS, "a ~T:n", st_shared, 0, 10, TOUCHES_MEMORY, NULL},

    {"atom " ATOM_HEAD " " ATOM_SPACE " " OPERATIONS " [L2::cache_hint] {} " WHOLE, "=T A T ?b64", atom, 0,
     11, TOUCHES_MEMORY, NULL},
    {"atom " ATOM_HEAD " " ATOM_SPACE " (add) [L2::cache_hint] {v2|v4} " FLOATS, "=T:n A T:n ?b64", atom, 0,
     20, TOUCHES_MEMORY, NULL},
    {"atom " ATOM_HEAD " " ATOM_SPACE " (add) noftz [L2::cache_hint] {v2|v4|v8} " SMALL, "=T:n A T:n ?b64",
     atom, 60, 62, TOUCHES_MEMORY, NULL},
    {"atom " ATOM_HEAD " " ATOM_SPACE " (|||||||||cas) [L2::cache_hint] {} <b16|b32|b64|u32|u64|s32|s64>",
     "=T A T T ?b64", atom, 0, 11, TOUCHES_MEMORY, NULL},
    {"atom " ATOM_HEAD " " SHARED " " OPERATIONS " {} " WHOLE, "=T a T", atom_shared, 0, 12, TOUCHES_MEMORY,
     NULL},
    {"atom " ATOM_HEAD " " SHARED " (add) {} " FLOATS, "=T a T", atom_shared, 0, 20, TOUCHES_MEMORY, NULL},
    {"atom " ATOM_HEAD " " SHARED " (add) noftz {} " SMALL, "=T a T", atom_shared, 60, 62, TOUCHES_MEMORY,
     NULL},
    {"atom " ATOM_HEAD " " SHARED " (|||||||||cas) {} <b16|b32|b64|u32|u64|s32|s64>", "=T a T T", atom_shared,
     0, 12, TOUCHES_MEMORY, NULL},
    {"red " ATOM_HEAD " " ATOM_SPACE " " OPERATIONS " [L2::cache_hint] {} " WHOLE, "A T ?b64", red, 0, 12,
     TOUCHES_MEMORY, NULL},
    {"red " ATOM_HEAD " " ATOM_SPACE " (add) [L2::cache_hint] {v2|v4} " FLOATS, "A T:n ?b64", red, 0, 20,
     TOUCHES_MEMORY, NULL},
    {"red " ATOM_HEAD " " ATOM_SPACE " (add) noftz [L2::cache_hint] {v2|v4|v8} " SMALL, "A T:n ?b64", red, 60,
     62, TOUCHES_MEMORY, NULL},
    {"red " ATOM_HEAD " " SHARED " " OPERATIONS " {} " WHOLE, "a T", red_shared, 0, 12, TOUCHES_MEMORY, NULL},
    {"red " ATOM_HEAD " " SHARED " (add) {} " FLOATS, "a T", red_shared, 0, 20, TOUCHES_MEMORY, NULL},
    {"red " ATOM_HEAD " " SHARED " (add) noftz {} " SMALL, "a T", red_shared, 60, 62, TOUCHES_MEMORY, NULL},

    {"membar (gl|sys)", "", fence_of_device, 0, 14, TOUCHES_MEMORY, NULL},
    {"membar cta", "", fence_of_block, 0, 14, TOUCHES_MEMORY, NULL},
    {"fence [sc|acq_rel] (gpu|sys)", "", fence_of_device, 70, 60, TOUCHES_MEMORY, NULL},
    {"fence [sc|acq_rel] cta", "", fence_of_block, 70, 60, TOUCHES_MEMORY, NULL},
    {"fence [sc|acq_rel] cluster", "", fence_of_cluster, 90, 78, TOUCHES_MEMORY, NULL},
    {"fence proxy async", "", proxy_fence, 90, 80, TOUCHES_MEMORY, NULL},
    {"fence proxy async global", "", proxy_fence_global, 90, 80, TOUCHES_MEMORY, NULL},
    {"fence proxy async (shared::cta|shared::cluster)", "", proxy_fence_shared, 90, 80, TOUCHES_MEMORY, NULL},
    {"fence proxy alias", "", nothing, 70, 75, TOUCHES_MEMORY, NULL},
    {"fence proxy tensormap::generic release (cta|cluster|gpu|sys)", "", nothing, 90, 83, TOUCHES_MEMORY,
     NULL},
    {"fence proxy tensormap::generic acquire (cta|cluster|gpu|sys)", "A I", nothing, 90, 83, TOUCHES_MEMORY,
     NULL},
    {"fence mbarrier_init release cluster", "", mbarrier_init_fence, 90, 80, TOUCHES_MEMORY, NULL},
    {"prefetch [global|local] (L1|L2|L2::evict_last|L2::evict_normal)", "A", nothing, 0, 20, 0, NULL},
    {"prefetchu L1", "A", nothing, 0, 20, 0, NULL},
    {"createpolicy fractional (L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged) b64",
     "=b64 ?f32", createpolicy, 80, 74, 0, NULL},
    {"isspacep (global|shared|shared::cta|shared::cluster|local)", "=P b64", isspacep, 20, 20, 0, NULL},
};
PTX_GROUP(ptx_memory_rows, rows);
