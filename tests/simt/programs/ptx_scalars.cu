/**
 * Inline PTX on one thread's numbers: integers, bits, predicates, moves, branches, and what an asm statement may look like.
 * Every result is known exactly, so that hardware must give the same.
 */
#include "../testing.h"

#include <stdint.h>

enum { RESULTS = 128 };

struct results {
    unsigned long long value[RESULTS];
    int count;
};

/** Results are kept in the order of the statements; the host knows what each must be. */
static __device__ void keep(struct results *r, unsigned long long value)
{
    r->value[r->count++] = value;
}

#define BINARY(name, instruction, T, letter)                                                                 \
    static __device__ T name(T a, T b)                                                                       \
    {                                                                                                        \
        T d;                                                                                                 \
        asm(instruction " %0, %1, %2;" : "=" letter(d) : letter(a), letter(b));                              \
        return d;                                                                                            \
    }
#define TERNARY(name, instruction, T, letter)                                                                \
    static __device__ T name(T a, T b, T c)                                                                  \
    {                                                                                                        \
        T d;                                                                                                 \
        asm(instruction " %0, %1, %2, %3;" : "=" letter(d) : letter(a), letter(b), letter(c));               \
        return d;                                                                                            \
    }
#define UNARY(name, instruction, D, d_letter, T, letter)                                                     \
    static __device__ D name(T a)                                                                            \
    {                                                                                                        \
        D d;                                                                                                 \
        asm(instruction " %0, %1;" : "=" d_letter(d) : letter(a));                                           \
        return d;                                                                                            \
    }

BINARY(add_sat, "add.sat.s32", int, "r")
BINARY(sub_s64, "sub.s64", long long, "l")
BINARY(mul_hi_u32, "mul.hi.u32", unsigned, "r")
BINARY(mul_hi_s64, "mul.hi.s64", long long, "l")
BINARY(mul_lo_u16, "mul.lo.u16", unsigned short, "h")
BINARY(div_s32, "div.s32", int, "r")
BINARY(rem_u64, "rem.u64", unsigned long long, "l")
BINARY(min_s32, "min.s32", int, "r")
BINARY(max_u32, "max.u32", unsigned, "r")
BINARY(shl_b32, "shl.b32", unsigned, "r")
BINARY(shr_s32, "shr.s32", int, "r")
TERNARY(mad_lo, "mad.lo.s32", int, "r")
TERNARY(mad_hi, "mad.hi.u32", unsigned, "r")
TERNARY(prmt, "prmt.b32", unsigned, "r")
TERNARY(prmt_f4e, "prmt.b32.f4e", unsigned, "r")
TERNARY(bfe_s32, "bfe.s32", unsigned, "r")
TERNARY(bfe_u32, "bfe.u32", unsigned, "r")
TERNARY(shf_l, "shf.l.wrap.b32", unsigned, "r")
TERNARY(shf_r, "shf.r.clamp.b32", unsigned, "r")
TERNARY(dp4a_s32, "dp4a.s32.s32", unsigned, "r")
TERNARY(dp4a_u32, "dp4a.u32.s32", unsigned, "r")
TERNARY(dp2a, "dp2a.lo.s32.s32", unsigned, "r")
TERNARY(sad, "sad.s32", int, "r")
UNARY(popc, "popc.b64", unsigned, "r", unsigned long long, "l")
UNARY(clz, "clz.b32", unsigned, "r", unsigned, "r")
UNARY(brev, "brev.b32", unsigned, "r", unsigned, "r")
UNARY(bfind_u32, "bfind.u32", unsigned, "r", unsigned, "r")
UNARY(bfind_s32, "bfind.shiftamt.s32", unsigned, "r", int, "r")
UNARY(abs_s32, "abs.s32", int, "r", int, "r")
UNARY(neg_s64, "neg.s64", long long, "l", long long, "l")
UNARY(cnot, "cnot.b32", unsigned, "r", unsigned, "r")

static __device__ void integers(struct results *r, int a, int b)
{
    keep(r, (unsigned)add_sat(a, 0x7fffffff));
    keep(r, (unsigned long long)sub_s64(a, (long long)b << 40));
    keep(r, mul_hi_u32((unsigned)b, 0x80000001u));
    keep(r, (unsigned long long)mul_hi_s64(b, 1ll << 62));
    keep(r, mul_lo_u16(60000, 7));
    keep(r, (unsigned)div_s32(b, 7));
    keep(r, rem_u64(~0ull, 1000));
    keep(r, (unsigned)min_s32(a, b));
    keep(r, max_u32((unsigned)a, (unsigned)b));
    keep(r, (unsigned)mad_lo(a, b, 5));
    keep(r, mad_hi((unsigned)b, 3, 1));
    keep(r, (unsigned)sad(a, b, 1));
    keep(r, (unsigned)abs_s32(b));
    keep(r, (unsigned long long)neg_s64(a));
    keep(r, dp4a_s32(0x80ff0102u, 0x01020304u, 10));
    keep(r, dp4a_u32(0x80ff0102u, 0x01020384u, 10));
    keep(r, dp2a(0xfffe0003u, 0x01020304u, 100));
}

static __device__ void bits(struct results *r, unsigned a)
{
    unsigned d;
    keep(r, shl_b32(a, 33)); /* all out */
    keep(r, (unsigned)shr_s32((int)a, 40));
    keep(r, prmt(a, 0x44556677u, 0x9c10u)); /* with a sign spread over a byte */
    keep(r, prmt_f4e(a, 0x44556677u, 3));
    keep(r, bfe_s32(a, 28, 8));
    keep(r, bfe_u32(a, 4, 12));
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(0xabcu), "r"(a), "r"(8), "r"(12));
    keep(r, d);
    asm("lop3.b32 %0, %1, %2, %3, 0xe8;"
        : "=r"(d)
        : "r"(a), "r"(0x0f0f0f0fu), "r"(0x33333333u)); /* majority */
    keep(r, d);
    keep(r, shf_l(a, 0x12345678u, 36));
    keep(r, shf_r(a, 0x12345678u, 36));
    keep(r, popc(0xf0f000000000001ull));
    keep(r, clz(a >> 3));
    keep(r, brev(a));
    keep(r, bfind_u32(0));
    keep(r, bfind_s32(-9));
    keep(r, cnot(0));
}

/** What a statement may be made of. */
static __device__ void statements(struct results *r, int a, unsigned long long wide)
{
    unsigned d, e;
    int kept = 40;
    asm("{\n"
        "    .reg .pred p, q;          // two predicates\n"
        "    .reg .u32 t<4>;           /* four registers */\n"
        "    setp.gt.s32 p|q, %1, 3;\n"
        "    mov.u32 t0, 0x10;\n"
        "    selp.u32 t3, t0, 7, q;\n"
        "    @p add.u32 t3, t3, 0b101;\n"
        "    @!p add.u32 t3, t3, 1000;\n"
        "    mov.u32 %0, t3;\n"
        "}"
        : "=r"(d)
        : "r"(a));
    keep(r, d);
    asm("{ .reg .u32 %%i; .reg .pred %%p; mov.u32 %%i, 0; mov.u32 %0, 1;\n" /* 3 to the fifth by a loop */
        "AGAIN: mul.lo.u32 %0, %0, %1; add.u32 %%i, %%i, 1; setp.lt.u32 %%p, %%i, 5; @%%p bra AGAIN; }"
        : "=&r"(d)
        : "r"(3));
    keep(r, d);
    asm("mov.b64 {%0, %1}, %2;" : "=r"(d), "=r"(e) : "l"(wide));
    keep(r, d ^ e);
    asm("mov.b64 {_, %0}, %1;" : "=r"(d) : "l"(wide));
    keep(r, d);
    asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, l}; }" : "=r"(d) : "r"((unsigned)wide));
    keep(r, d);
    asm("{ .reg .u32 x; { .reg .u32 x; mov.u32 x, 1; } mov.u32 x, 2; mov.u32 %0, x; }" : "=r"(d));
    keep(r, d);
    asm("add.s32 %0, %0, %1;" : "+r"(kept) : "n"(-5 + 7)); /* read and written; a constant */
    keep(r, (unsigned)kept);
    asm("add.cc.u32 %0, %2, %3; addc.u32 %1, %4, 0;" : "=&r"(d), "=r"(e) : "r"(0xffffffffu), "r"(2), "r"(10));
    keep(r, (unsigned long long)e << 32 | d);
    asm("{ .reg .u32 t; sub.cc.u32 t, %1, %2; subc.u32 %0, 0, 0; }" : "=r"(d) : "r"(1), "r"(2));
    keep(r, d);
    asm("{ .reg .pred p; setp.eq.s32 p, %1, 8; setp.eq.and.s32 p, %1, 9, !p; selp.s32 %0, 1, 0, p; }"
        : "=r"(d)
        : "r"(a));
    keep(r, d);
    asm("set.le.u32.s32 %0, %1, 9;" : "=r"(d) : "r"(a));
    keep(r, d);
}

/** The operand's text may say which instruction it is. */
template <int SATURATED> struct modifier;
template <> struct modifier<0> {
    static constexpr const char text[] = "";
};
template <> struct modifier<1> {
    static constexpr const char text[] = ".sat";
};
template <int SATURATED> static __device__ int add_modified(int a, int b)
{
    int d;
    asm("add%3.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b), "C"(modifier<SATURATED>::text));
    return d;
}

static __global__ void scalar_kernel(struct results *r, int a, int b)
{
    r->count = 0;
    integers(r, a, b);
    bits(r, 0x8421c3f7u);
    statements(r, a, 0x1122334455667788ull);
    keep(r, (unsigned)add_modified<0>(0x7fffffff, a));
    keep(r, (unsigned)add_modified<1>(0x7fffffff, a));
}

static const unsigned long long expected[] = {
    /* integers, of 9 and -1000 */
    0x7fffffff, 0x3e80000000009, 0x7ffffe0c, 0xffffffffffffff06 /* -250 */, 0x68a0, 0xffffff72 /* -142 */,
    615, 0xfffffc18, 0xfffffc18, 0xffffdcdd /* -8995 */, 3, 1010, 1000, 0xfffffffffffffff7,
    0xffffff93 /* -109 */, 403, 106,
    /* bits, of 0x8421c3f7 */
    0, 0xffffffff, 0xff00c3f7, 0x55667784, 0xfffffff8, 0xc3f, 0x842abcf7, 0x07230337, 0x23456788, 0x12345678,
    9, 3, 0xefc38421, 0xffffffff, 28, 1,
    /* statements, of 9 and 0x1122334455667788 */
    12, 243, 0x444444cc, 0x11223344, 0x77885566, 2, 42, 0xb00000001, 0xffffffff, 1, 0xffffffff,
    /* modifiers */
    0x80000008, 0x7fffffff};

int main(void)
{
    struct results *device = device_array<struct results>(1);
    static struct results host;
    const int count = sizeof expected / sizeof expected[0];
    require(cudaMemset(device, 0, sizeof host), "cudaMemset");
    scalar_kernel<<<1, 1>>>(device, 9, -1000);
    finish_launch("scalar_kernel");
    download(&host, device, 1);
    expect_equal("count", 0, host.count, count);
    for (int i = 0; i < count; i++)
        expect_equal("value", (size_t)i, (long long)host.value[i], (long long)expected[i]);
    release(device);
    return finish("ptx_scalars");
}
