/**
 * @file scalar.c
 * @brief Integers, bits, predicates, moves and branches.
 */
#include "parse.h"
#include "program.h"

/* ---- values of the first type --------------------------------------------------------------------------- */

/** The low bits that type @p t has, extended by its sign. */
static inline uint64_t extended(uint64_t word, unsigned t)
{
    const unsigned unused = 64 - ptx_type[t].bits;
    if (unused == 0) return word;
    return ptx_type[t].class == 's' ? (uint64_t)((int64_t)(word << unused) >> unused)
                                    : word << unused >> unused;
}
static inline uint64_t value(const struct run *run, const struct op *op, unsigned operand)
{
    return extended(ptx_word(run, op, operand), op->type[0]);
}
static inline bool is_signed(const struct op *op)
{
    return ptx_type[op->type[0]].class == 's';
}
static inline unsigned bits_of(const struct op *op)
{
    return ptx_type[op->type[0]].bits;
}

static bool is_less(const struct op *op, uint64_t a, uint64_t b)
{
    return is_signed(op) ? (int64_t)a < (int64_t)b : a < b;
}

/* ---- sums and products ---------------------------------------------------------------------------------- */

static int64_t clamp(int64_t x, int64_t least, int64_t most)
{
    return x < least ? least : x > most ? most : x;
}

/** An operation whose result is one expression of its operands. */
#define SETS(name, result)                                                                                   \
    static void name(struct run *run, const struct op *op)                                                   \
    {                                                                                                        \
        ptx_set(run, op, 0, result);                                                                         \
    }
SETS(add, value(run, op, 1) + value(run, op, 2))
static void add_sat(struct run *run, const struct op *op)
{
    const int64_t sum = (int64_t)value(run, op, 1) + (int64_t)value(run, op, 2);
    ptx_set(run, op, 0, (uint64_t)clamp(sum, INT32_MIN, INT32_MAX));
}
SETS(sub, value(run, op, 1) - value(run, op, 2))
static void sub_sat(struct run *run, const struct op *op)
{
    const int64_t sum = (int64_t)value(run, op, 1) - (int64_t)value(run, op, 2);
    ptx_set(run, op, 0, (uint64_t)clamp(sum, INT32_MIN, INT32_MAX));
}

static void set_halves(struct run *run, const struct op *op, unsigned low, unsigned high)
{
    ptx_set(run, op, 0, (low & 0xffffu) | high << 16);
}
static void add_pair(struct run *run, const struct op *op)
{
    const uint32_t a = ptx_u32(run, op, 1), b = ptx_u32(run, op, 2);
    set_halves(run, op, a + b, (a >> 16) + (b >> 16));
}

/* With the carry flag, which lives as long as the asm statement. */
static void with_carry(struct run *run, const struct op *op, bool subtract, bool carry_in, bool keep)
{
    const unsigned bits = bits_of(op);
    const uint64_t a = extended(ptx_word(run, op, 1), bits == 32 ? PTX_U32 : PTX_U64);
    const uint64_t b = extended(ptx_word(run, op, 2), bits == 32 ? PTX_U32 : PTX_U64);
    const unsigned __int128 more = (unsigned __int128)b + (carry_in && run->carry);
    const unsigned __int128 result = subtract ? a - more : a + more;
    if (keep) run->carry = (result >> bits & 1) != 0;
    ptx_set(run, op, 0, (uint64_t)result);
}
PTX_OP(add_cc, with_carry(run, op, false, false, true))
PTX_OP(addc, with_carry(run, op, false, true, op->modifier[0] != 0))
PTX_OP(sub_cc, with_carry(run, op, true, false, true))
PTX_OP(subc, with_carry(run, op, true, true, op->modifier[0] != 0))

enum part { PART_HI = 1, PART_LO, PART_WIDE };

static uint64_t product(const struct op *op, uint64_t a, uint64_t b)
{
    if (op->modifier[0] != PART_HI) return a * b;
    if (bits_of(op) < 64) return (uint64_t)((int64_t)(a * b) >> bits_of(op));
    return is_signed(op) ? (uint64_t)((__int128)(int64_t)a * (int64_t)b >> 64)
                         : (uint64_t)((unsigned __int128)a * b >> 64);
}
SETS(mul, product(op, value(run, op, 1), value(run, op, 2)))
SETS(mad, product(op, value(run, op, 1), value(run, op, 2)) + ptx_word(run, op, 3))
static void mad_hi_sat(struct run *run, const struct op *op)
{
    const int64_t high = (int64_t)(value(run, op, 1) * value(run, op, 2)) >> 32;
    ptx_set(run, op, 0, (uint64_t)clamp(high + (int32_t)ptx_u32(run, op, 3), INT32_MIN, INT32_MAX));
}
/* mad.lo.cc and madc: the product, then the addition with the carry flag. */
static void mad_carry(struct run *run, const struct op *op, bool carry_in, bool keep)
{
    const unsigned bits = bits_of(op);
    const enum ptx_type plain = bits == 32 ? PTX_U32 : PTX_U64;
    const uint64_t a = extended(product(op, value(run, op, 1), value(run, op, 2)), plain);
    const unsigned __int128 sum =
        (unsigned __int128)a + extended(ptx_word(run, op, 3), plain) + (carry_in && run->carry);
    if (keep) run->carry = (sum >> bits & 1) != 0;
    ptx_set(run, op, 0, (uint64_t)sum);
}
PTX_OP(mad_cc, mad_carry(run, op, false, true))
PTX_OP(madc, mad_carry(run, op, true, op->modifier[1] != 0))

static void mul24(struct run *run, const struct op *op)
{
    const unsigned unused = 40;
    uint64_t a = ptx_word(run, op, 1) << unused, b = ptx_word(run, op, 2) << unused;
    if (is_signed(op))
        a = (uint64_t)((int64_t)a >> unused), b = (uint64_t)((int64_t)b >> unused);
    else
        a >>= unused, b >>= unused;
    ptx_set(run, op, 0, op->modifier[0] == PART_HI ? a * b >> 16 : a * b);
}

/* On hardware a division by 0 gives all ones. */
static void divide(struct run *run, const struct op *op)
{
    const uint64_t a = value(run, op, 1), b = value(run, op, 2);
    if (b == 0)
        ptx_set(run, op, 0, UINT64_MAX);
    else if (is_signed(op))
        ptx_set(run, op, 0, (int64_t)b == -1 ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b));
    else
        ptx_set(run, op, 0, a / b);
}
static void rem(struct run *run, const struct op *op)
{
    const uint64_t a = value(run, op, 1), b = value(run, op, 2);
    if (b == 0)
        ptx_set(run, op, 0, a);
    else if (is_signed(op))
        ptx_set(run, op, 0, (int64_t)b == -1 ? 0 : (uint64_t)((int64_t)a % (int64_t)b));
    else
        ptx_set(run, op, 0, a % b);
}

static void absolute(struct run *run, const struct op *op)
{
    const uint64_t a = value(run, op, 1);
    ptx_set(run, op, 0, (int64_t)a < 0 ? 0 - a : a);
}
SETS(negative, 0 - value(run, op, 1))
static void minimum(struct run *run, const struct op *op)
{
    const uint64_t a = value(run, op, 1), b = value(run, op, 2);
    ptx_set(run, op, 0, is_less(op, b, a) ? b : a);
}
static void maximum(struct run *run, const struct op *op)
{
    const uint64_t a = value(run, op, 1), b = value(run, op, 2);
    ptx_set(run, op, 0, is_less(op, a, b) ? b : a);
}
static void minmax_pair(struct run *run, const struct op *op, bool want_less)
{
    const uint32_t a = ptx_u32(run, op, 1), b = ptx_u32(run, op, 2);
    const enum ptx_type half = is_signed(op) ? PTX_S16 : PTX_U16;
    uint32_t part[2];
    for (int i = 0; i < 2; i++) {
        const uint64_t x = extended(a >> 16 * i, half), y = extended(b >> 16 * i, half);
        part[i] = (uint32_t)(is_less(op, x, y) == want_less ? x : y);
    }
    set_halves(run, op, part[0], part[1]);
}
PTX_OP(minimum_pair, minmax_pair(run, op, true))
PTX_OP(maximum_pair, minmax_pair(run, op, false))
static void sad(struct run *run, const struct op *op)
{
    const uint64_t a = value(run, op, 1), b = value(run, op, 2);
    ptx_set(run, op, 0, ptx_word(run, op, 3) + (is_less(op, a, b) ? b - a : a - b));
}

/* Four products of bytes (dp4a), two of halves with bytes (dp2a). */
static int64_t part_of(uint32_t word, unsigned bits, unsigned index, bool with_sign)
{
    const uint32_t shifted = word << (32 - bits * (index + 1));
    return with_sign ? (int32_t)shifted >> (32 - bits) : (int64_t)(shifted >> (32 - bits));
}
static void dp4a(struct run *run, const struct op *op)
{
    int64_t sum = (int32_t)ptx_u32(run, op, 3);
    for (unsigned i = 0; i < 4; i++)
        sum += part_of(ptx_u32(run, op, 1), 8, i, op->type[0] == PTX_S32) *
               part_of(ptx_u32(run, op, 2), 8, i, op->type[1] == PTX_S32);
    ptx_set(run, op, 0, (uint32_t)sum);
}
static void dp2a(struct run *run, const struct op *op)
{
    const unsigned first = op->modifier[0] == PART_HI ? 2 : 0;
    int64_t sum = (int32_t)ptx_u32(run, op, 3);
    for (unsigned i = 0; i < 2; i++)
        sum += part_of(ptx_u32(run, op, 1), 16, i, op->type[0] == PTX_S32) *
               part_of(ptx_u32(run, op, 2), 8, first + i, op->type[1] == PTX_S32);
    ptx_set(run, op, 0, (uint32_t)sum);
}

/* ---- bits ----------------------------------------------------------------------------------------------- */

SETS(and_, ptx_word(run, op, 1) & ptx_word(run, op, 2))
SETS(or_, ptx_word(run, op, 1) | ptx_word(run, op, 2))
SETS(xor_, ptx_word(run, op, 1) ^ ptx_word(run, op, 2))
SETS(not_, ~ptx_word(run, op, 1))
SETS(cnot, value(run, op, 1) == 0)
SETS(and_predicates, ptx_predicate(run, op, 1) && ptx_predicate(run, op, 2))
SETS(or_predicates, ptx_predicate(run, op, 1) || ptx_predicate(run, op, 2))
SETS(xor_predicates, ptx_predicate(run, op, 1) != ptx_predicate(run, op, 2))
SETS(not_predicate, !ptx_predicate(run, op, 1))

/* The last operand is a table: bit 4a + 2b + c of it is the result for bits a, b, c. */
static void lop3(struct run *run, const struct op *op)
{
    const uint32_t a = ptx_u32(run, op, 1), b = ptx_u32(run, op, 2), c = ptx_u32(run, op, 3),
                   table = ptx_u32(run, op, 4);
    uint32_t result = 0;
    for (unsigned i = 0; i < 8; i++)
        if (table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    ptx_set(run, op, 0, result);
}

/* Shifts by more than the width give what repeated shifts by one give. */
static void shl(struct run *run, const struct op *op)
{
    const uint32_t by = ptx_u32(run, op, 2);
    ptx_set(run, op, 0, by >= bits_of(op) ? 0 : ptx_word(run, op, 1) << by);
}
static void shr(struct run *run, const struct op *op)
{
    const uint32_t by = ptx_u32(run, op, 2) < bits_of(op) ? ptx_u32(run, op, 2) : bits_of(op);
    const uint64_t a = value(run, op, 1);
    if (is_signed(op))
        ptx_set(run, op, 0, (uint64_t)((int64_t)a >> (by > 63 ? 63 : by)));
    else
        ptx_set(run, op, 0, by > 63 ? 0 : a >> by);
}
static void shf(struct run *run, const struct op *op)
{
    enum { LEFT = 1, CLAMP = 1 };
    const uint64_t both = (uint64_t)ptx_u32(run, op, 2) << 32 | ptx_u32(run, op, 1);
    uint32_t by = ptx_u32(run, op, 3);
    by = op->modifier[1] == CLAMP ? (by < 32 ? by : 32) : by & 31;
    ptx_set(run, op, 0, (uint32_t)(op->modifier[0] == LEFT ? both << by >> 32 : both >> by));
}

static void prmt(struct run *run, const struct op *op)
{
    const uint64_t bytes = (uint64_t)ptx_u32(run, op, 2) << 32 | ptx_u32(run, op, 1);
    const uint32_t choice = ptx_u32(run, op, 3);
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; i++) {
        const uint32_t nibble = choice >> 4 * i & 15;
        uint32_t byte = (uint32_t)(bytes >> 8 * (nibble & 7)) & 0xff;
        if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= byte << 8 * i;
    }
    ptx_set(run, op, 0, result);
}
/* The byte that goes to place i in the modes of prmt, selected by the low two bits of c. */
static unsigned byte_of_mode(unsigned mode, unsigned c, unsigned i)
{
    enum { F4E = 1, B4E, RC8, ECL, ECR, RC16 };
    switch (mode) {
    case F4E:
        return c + i;
    case B4E:
        return (c - i) & 7;
    case RC8:
        return c;
    case ECL:
        return i > c ? i : c;
    case ECR:
        return i < c ? i : c;
    case RC16:
        return 2 * (c & 1) + i % 2;
    default:
        return i;
    }
}
static void prmt_mode(struct run *run, const struct op *op)
{
    const uint64_t bytes = (uint64_t)ptx_u32(run, op, 2) << 32 | ptx_u32(run, op, 1);
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; i++)
        result |= (uint32_t)(bytes >> 8 * byte_of_mode(op->modifier[0], ptx_u32(run, op, 3) & 3, i) & 0xff)
                  << 8 * i;
    ptx_set(run, op, 0, result);
}

static void bfe(struct run *run, const struct op *op)
{
    const unsigned bits = bits_of(op), from = ptx_u32(run, op, 2) & 0xff, length = ptx_u32(run, op, 3) & 0xff;
    const uint64_t a = value(run, op, 1);
    const unsigned top = from + length - 1 < bits - 1 ? from + length - 1 : bits - 1;
    const bool sign = is_signed(op) && length > 0 && (a >> top & 1);
    uint64_t result = 0;
    for (unsigned i = 0; i < bits; i++) {
        const bool bit = i < length && from + i < bits ? a >> (from + i) & 1 : sign;
        result |= (uint64_t)bit << i;
    }
    ptx_set(run, op, 0, result);
}
static void bfi(struct run *run, const struct op *op)
{
    const unsigned bits = bits_of(op), at = ptx_u32(run, op, 3) & 0xff, length = ptx_u32(run, op, 4) & 0xff;
    const uint64_t a = value(run, op, 1);
    uint64_t result = value(run, op, 2);
    for (unsigned i = 0; i < length && at + i < bits; i++)
        result = (result & ~((uint64_t)1 << (at + i))) | (a >> i & 1) << (at + i);
    ptx_set(run, op, 0, result);
}
SETS(popc, (uint64_t)__builtin_popcountll(value(run, op, 1)))
static void clz(struct run *run, const struct op *op)
{
    const uint64_t a = value(run, op, 1);
    ptx_set(run, op, 0, a == 0 ? bits_of(op) : (unsigned)__builtin_clzll(a) - (64 - bits_of(op)));
}
static void brev(struct run *run, const struct op *op)
{
    uint64_t a = value(run, op, 1), result = 0;
    for (unsigned i = 0; i < bits_of(op); i++) result |= (a >> i & 1) << (bits_of(op) - 1 - i);
    ptx_set(run, op, 0, result);
}
/* The highest bit that differs from the sign; with shiftamt, its distance from the top. */
static void bfind(struct run *run, const struct op *op)
{
    uint64_t a = value(run, op, 1);
    if (is_signed(op) && (int64_t)a < 0) a = ~a;
    a = extended(a, bits_of(op) == 32 ? PTX_U32 : PTX_U64);
    const uint32_t at = a == 0 ? UINT32_MAX : 63u - (unsigned)__builtin_clzll(a);
    ptx_set(run, op, 0, op->modifier[0] != 0 && a != 0 ? bits_of(op) - 1 - at : at);
}

/* ---- comparing and choosing ----------------------------------------------------------------------------- */

enum { EQ = 1, NE, LT, LE, GT, GE, LO, LS, HI, HS };

static bool compare(const struct op *op, uint64_t a, uint64_t b)
{
    switch (op->modifier[0]) {
    case EQ:
        return a == b;
    case NE:
        return a != b;
    case LT:
    case LO:
        return is_less(op, a, b);
    case LE:
    case LS:
        return !is_less(op, b, a);
    case GT:
    case HI:
        return is_less(op, b, a);
    default:
        return !is_less(op, a, b);
    }
}

bool ptx_combine(const struct run *run, const struct op *op, bool result, unsigned operand)
{
    enum { AND = 1, OR };
    const bool with = ptx_predicate(run, op, operand);
    return op->modifier[1] == AND ? result && with : op->modifier[1] == OR ? result || with : result != with;
}

static void setp(struct run *run, const struct op *op)
{
    const bool result = compare(op, value(run, op, 2), value(run, op, 3));
    ptx_set(run, op, 0, result);
    if (op->slot[1] != NO_SLOT) ptx_set(run, op, 1, !result);
}
static void setp_combined(struct run *run, const struct op *op)
{
    const bool result = compare(op, value(run, op, 2), value(run, op, 3));
    ptx_set(run, op, 0, ptx_combine(run, op, result, 4));
    if (op->slot[1] != NO_SLOT) ptx_set(run, op, 1, ptx_combine(run, op, !result, 4));
}
/* set.lt.u32.s32: the first type is that of the result. */
static void set(struct run *run, const struct op *op)
{
    struct op second = *op;
    second.type[0] = op->type[1];
    const bool result = compare(&second, value(run, &second, 1), value(run, &second, 2));
    ptx_set(run, op, 0, !result ? 0 : op->type[0] == PTX_F32 ? 0x3f800000u : UINT64_MAX);
}
SETS(selp, ptx_word(run, op, ptx_predicate(run, op, 3) ? 1 : 2))
static void slct(struct run *run, const struct op *op)
{
    const uint32_t c = ptx_u32(run, op, 3);
    const bool first = op->type[1] == PTX_S32 ? (int32_t)c >= 0 : (c & 0x80000000u) == 0 || c == 0x80000000u;
    ptx_set(run, op, 0, ptx_word(run, op, first ? 1 : 2));
}

/* ---- moving --------------------------------------------------------------------------------------------- */

SETS(mov, op->slot[1] == NO_SLOT ? ptx_special_value((int)op->constant) : ptx_word(run, op, 1))
static void mov_predicate(struct run *run, const struct op *op)
{
    ptx_set(run, op, 0,
            op->slot[1] == NO_SLOT ? ptx_special_value((int)op->constant) & 1 : ptx_predicate(run, op, 1));
}
static void mov_wide(struct run *run, const struct op *op)
{
    run->reg[op->slot[0]] = run->reg[op->slot[1]];
    run->reg[op->slot[0] + 1] = run->reg[op->slot[1] + 1];
}
/* {a, b} into one register, the first element lowest. */
static void pack(struct run *run, const struct op *op, unsigned parts)
{
    const unsigned bits = bits_of(op) / parts;
    uint64_t result = 0;
    for (unsigned i = 0; i < parts; i++)
        result |= (ptx_word(run, op, 1 + i) & (UINT64_MAX >> (64 - bits))) << bits * i;
    ptx_set(run, op, 0, result);
}
static void unpack(struct run *run, const struct op *op, unsigned parts)
{
    const unsigned bits = bits_of(op) / parts;
    const uint64_t a = ptx_word(run, op, parts);
    for (unsigned i = 0; i < parts; i++) ptx_set(run, op, i, a >> bits * i & (UINT64_MAX >> (64 - bits)));
}
PTX_OP(pack_2, pack(run, op, 2))
PTX_OP(pack_4, pack(run, op, 4))
PTX_OP(unpack_2, unpack(run, op, 2))
PTX_OP(unpack_4, unpack(run, op, 4))
static void pack_wide(struct run *run, const struct op *op)
{
    const uint64_t low = ptx_word(run, op, 1), high = ptx_word(run, op, 2);
    run->reg[op->slot[0]] = low;
    run->reg[op->slot[0] + 1] = high;
}
static void unpack_wide(struct run *run, const struct op *op)
{
    const uint64_t low = run->reg[op->slot[2]], high = run->reg[op->slot[2] + 1];
    ptx_set(run, op, 0, low);
    ptx_set(run, op, 1, high);
}

/* ---- going elsewhere ------------------------------------------------------------------------------------ */

PTX_OP(bra, run->next = (unsigned)op->constant)

/* ---- the rows ------------------------------------------------------------------------------------------- */

#define COMPARISONS "(eq|ne|lt|le|gt|ge|lo|ls|hi|hs)"
#define INTEGERS "<u16|u32|u64|s16|s32|s64>"

static const struct row rows[] = {
    {"add " INTEGERS, "=T T T", add, 0, 10, 0, NULL},
    {"add sat <s32>", "=T T T", add_sat, 0, 10, 0, NULL},
    {"add <u16x2|s16x2>", "=T T T", add_pair, 90, 80, 0, NULL},
    {"add cc <u32|s32|u64|s64>", "=T T T", add_cc, 0, 12, 0, NULL},
    {"addc [cc] <u32|s32|u64|s64>", "=T T T", addc, 0, 12, 0, NULL},
    {"sub " INTEGERS, "=T T T", sub, 0, 10, 0, NULL},
    {"sub sat <s32>", "=T T T", sub_sat, 0, 10, 0, NULL},
    {"sub cc <u32|s32|u64|s64>", "=T T T", sub_cc, 0, 12, 0, NULL},
    {"subc [cc] <u32|s32|u64|s64>", "=T T T", subc, 0, 12, 0, NULL},
    {"mul (hi|lo) " INTEGERS, "=T T T", mul, 0, 10, 0, NULL},
    {"mul (hi|lo|wide) <u16|s16>", "=b32 T T", mul, 0, 10, 0, NULL},
    {"mul (hi|lo|wide) <u32|s32>", "=b64 T T", mul, 0, 10, 0, NULL},
    {"mad (hi|lo) " INTEGERS, "=T T T T", mad, 0, 10, 0, NULL},
    {"mad (hi|lo|wide) <u16|s16>", "=b32 T T b32", mad, 0, 10, 0, NULL},
    {"mad (hi|lo|wide) <u32|s32>", "=b64 T T b64", mad, 0, 10, 0, NULL},
    {"mad hi sat <s32>", "=T T T T", mad_hi_sat, 0, 10, 0, NULL},
    {"mad (hi|lo) cc <u32|s32|u64|s64>", "=T T T T", mad_cc, 20, 30, 0, NULL},
    {"madc (hi|lo) [cc] <u32|s32|u64|s64>", "=T T T T", madc, 20, 30, 0, NULL},
    {"mul24 (hi|lo) <u32|s32>", "=T T T", mul24, 0, 10, 0, NULL},
    {"div " INTEGERS, "=T T T", divide, 0, 10, 0, NULL},
    {"rem " INTEGERS, "=T T T", rem, 0, 10, 0, NULL},
    {"abs <s16|s32|s64>", "=T T", absolute, 0, 10, 0, NULL},
    {"neg <s16|s32|s64>", "=T T", negative, 0, 10, 0, NULL},
    {"min " INTEGERS, "=T T T", minimum, 0, 10, 0, NULL},
    {"max " INTEGERS, "=T T T", maximum, 0, 10, 0, NULL},
    {"min <u16x2|s16x2>", "=T T T", minimum_pair, 90, 80, 0, NULL},
    {"max <u16x2|s16x2>", "=T T T", maximum_pair, 90, 80, 0, NULL},
    {"sad " INTEGERS, "=T T T T", sad, 0, 10, 0, NULL},
    {"dp4a <u32|s32> <u32|s32>", "=b32 b32 b32 b32", dp4a, 61, 50, 0, NULL},
    {"dp2a (hi|lo) <u32|s32> <u32|s32>", "=b32 b32 b32 b32", dp2a, 61, 50, 0, NULL},

    {"and <b16|b32|b64>", "=T T T", and_, 0, 10, 0, NULL},
    {"or <b16|b32|b64>", "=T T T", or_, 0, 10, 0, NULL},
    {"xor <b16|b32|b64>", "=T T T", xor_, 0, 10, 0, NULL},
    {"not <b16|b32|b64>", "=T T", not_, 0, 10, 0, NULL},
    {"and <pred>", "=T T T", and_predicates, 0, 10, 0, NULL},
    {"or <pred>", "=T T T", or_predicates, 0, 10, 0, NULL},
    {"xor <pred>", "=T T T", xor_predicates, 0, 10, 0, NULL},
    {"not <pred>", "=T T", not_predicate, 0, 10, 0, NULL},
    {"cnot <b16|b32|b64>", "=T T", cnot, 0, 10, 0, NULL},
    {"lop3 <b32>", "=T T T T I", lop3, 50, 43, 0, NULL},
    {"shl <b16|b32|b64>", "=T T u32", shl, 0, 10, 0, NULL},
    {"shr <b16|b32|b64|u16|u32|u64|s16|s32|s64>", "=T T u32", shr, 0, 10, 0, NULL},
    {"shf (l|r) (clamp|wrap) <b32>", "=T T T u32", shf, 32, 31, 0, NULL},
    {"prmt b32", "=b32 b32 b32 b32", prmt, 0, 20, 0, NULL},
    {"prmt b32 (f4e|b4e|rc8|ecl|ecr|rc16)", "=b32 b32 b32 b32", prmt_mode, 0, 20, 0, NULL},
    {"bfe <u32|u64|s32|s64>", "=T T u32 u32", bfe, 0, 20, 0, NULL},
    {"bfi <b32|b64>", "=T T T u32 u32", bfi, 0, 20, 0, NULL},
    {"popc <b32|b64>", "=u32 T", popc, 0, 20, 0, NULL},
    {"clz <b32|b64>", "=u32 T", clz, 0, 20, 0, NULL},
    {"brev <b32|b64>", "=T T", brev, 0, 20, 0, NULL},
    {"bfind [shiftamt] <u32|u64|s32|s64>", "=u32 T", bfind, 0, 20, 0, NULL},

    {"setp " COMPARISONS " <b16|b32|b64|u16|u32|u64|s16|s32|s64>", "=P|P T T", setp, 0, 10, 0, NULL},
    {"setp " COMPARISONS " (and|or|xor) <b16|b32|b64|u16|u32|u64|s16|s32|s64>", "=P|P T T P", setp_combined,
     0, 10, 0, NULL},
    {"set " COMPARISONS " <u32|s32|f32> <b16|b32|b64|u16|u32|u64|s16|s32|s64>", "=T U U", set, 0, 10, 0,
     NULL},
    {"selp <b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64>", "=T T T P", selp, 0, 10, 0, NULL},
    {"slct <b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64> <s32|f32>", "=T T T U", slct, 0, 10, 0, NULL},

    {"mov <b16|b32|b64|u16|u32|u64|s16|s32|s64|f16|f16x2|f32|f64>", "=T S", mov, 0, 10, 0, NULL},
    {"mov <pred>", "=T S", mov_predicate, 0, 10, 0, NULL},
    {"mov <b32>", "=T 2*b16", pack_2, 0, 10, 0, NULL},
    {"mov <b32>", "=2*b16 T", unpack_2, 0, 10, 0, NULL},
    {"mov <b64>", "=T 2*b32", pack_2, 0, 10, 0, NULL},
    {"mov <b64>", "=2*b32 T", unpack_2, 0, 10, 0, NULL},
    {"mov <b64>", "=T 4*b16", pack_4, 0, 10, 0, NULL},
    {"mov <b64>", "=4*b16 T", unpack_4, 0, 10, 0, NULL},
    {"mov <b128>", "=T T", mov_wide, 70, 83, 0, NULL},
    {"mov <b128>", "=T 2*b64", pack_wide, 70, 83, 0, NULL},
    {"mov <b128>", "=2*b64 T", unpack_wide, 70, 83, 0, NULL},

    {"bra [uni]", "L", bra, 0, 10, 0, NULL},
};
PTX_GROUP(ptx_scalar_rows, rows);
