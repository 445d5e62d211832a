/**
 * Inline PTX, mma.sync: every shape and type. The lane maps are written down here as the PTX manual has them, an element of a
 * lane at a time; the numbers are small integers (and quarters), so that any order of the sums gives the same bits.
 */
#include "../testing.h"

#include <stdint.h>
#include <string.h>

enum { LANES = 32, ROWS = 16, DEPTH = 32, COLUMNS = 8 };

enum type { F16, BF16, TF32, E4M3, E5M2, S8, U8, F64, F32, S32 };

/** The registers of one lane: what the manual calls a0, a1 ... lie in them from the lowest bits up. */
struct registers {
    uint32_t a[4], b[2], c[4], d[4];
};

/* ---- the instructions */

/** Four registers of A, two of B, four of C: of letter l. */
#define FULL(name, text, l, T)                                                                               \
    static __device__ void name(struct registers *x)                                                         \
    {                                                                                                        \
        T c[4], d[4];                                                                                        \
        memcpy(c, x->c, sizeof c);                                                                           \
        asm volatile("mma.sync.aligned." text " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "              \
                     "{%10, %11, %12, %13};"                                                                 \
                     : "=" l(d[0]), "=" l(d[1]), "=" l(d[2]), "=" l(d[3])                                    \
                     : "r"(x->a[0]), "r"(x->a[1]), "r"(x->a[2]), "r"(x->a[3]), "r"(x->b[0]), "r"(x->b[1]),   \
                       l(c[0]), l(c[1]), l(c[2]), l(c[3]));                                                  \
        memcpy(x->d, d, sizeof d);                                                                           \
    }
/** Half as deep: two of A, one of B. */
#define HALF(name, text, l, T)                                                                               \
    static __device__ void name(struct registers *x)                                                         \
    {                                                                                                        \
        T c[4], d[4];                                                                                        \
        memcpy(c, x->c, sizeof c);                                                                           \
        asm volatile("mma.sync.aligned." text " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"        \
                     : "=" l(d[0]), "=" l(d[1]), "=" l(d[2]), "=" l(d[3])                                    \
                     : "r"(x->a[0]), "r"(x->a[1]), "r"(x->b[0]), l(c[0]), l(c[1]), l(c[2]), l(c[3]));        \
        memcpy(x->d, d, sizeof d);                                                                           \
    }
FULL(f16_k16, "m16n8k16.row.col.f32.f16.f16.f32", "f", float)
HALF(f16_k8, "m16n8k8.row.col.f32.f16.f16.f32", "f", float)
FULL(bf16_k16, "m16n8k16.row.col.f32.bf16.bf16.f32", "f", float)
HALF(bf16_k8, "m16n8k8.row.col.f32.bf16.bf16.f32", "f", float)
FULL(tf32_k8, "m16n8k8.row.col.f32.tf32.tf32.f32", "f", float)
HALF(tf32_k4, "m16n8k4.row.col.f32.tf32.tf32.f32", "f", float)
FULL(e4m3_k32, "m16n8k32.row.col.f32.e4m3.e4m3.f32", "f", float)
FULL(e5m2_e4m3_k32, "m16n8k32.row.col.f32.e5m2.e4m3.f32", "f", float)
FULL(s8_k32, "m16n8k32.row.col.s32.s8.s8.s32", "r", int)
FULL(u8_s8_k32, "m16n8k32.row.col.satfinite.s32.u8.s8.s32", "r", int)
HALF(s8_k16, "m16n8k16.row.col.s32.s8.s8.s32", "r", int)

static __device__ void f16_sums(struct registers *x)
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};"
        : "=r"(x->d[0]), "=r"(x->d[1])
        : "r"(x->a[0]), "r"(x->a[1]), "r"(x->a[2]), "r"(x->a[3]), "r"(x->b[0]), "r"(x->b[1]), "r"(x->c[0]),
          "r"(x->c[1]));
}
static __device__ void f16_sums_k8(struct registers *x)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%5, %6};"
                 : "=r"(x->d[0]), "=r"(x->d[1])
                 : "r"(x->a[0]), "r"(x->a[1]), "r"(x->b[0]), "r"(x->c[0]), "r"(x->c[1]));
}
static __device__ void s8_m8(struct registers *x)
{
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%4, %5};"
                 : "=r"(x->d[0]), "=r"(x->d[1])
                 : "r"(x->a[0]), "r"(x->b[0]), "r"(x->c[0]), "r"(x->c[1]));
}
static __device__ void f64_m8(struct registers *x)
{
    double a, b, c[2], d[2];
    memcpy(&a, x->a, sizeof a);
    memcpy(&b, x->b, sizeof b);
    memcpy(c, x->c, sizeof c);
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
                 : "=d"(d[0]), "=d"(d[1])
                 : "d"(a), "d"(b), "d"(c[0]), "d"(c[1]));
    memcpy(x->d, d, sizeof d);
}

enum product {
    F16_K16,
    F16_K8,
    BF16_K16,
    BF16_K8,
    TF32_K8,
    TF32_K4,
    E4M3_K32,
    E5M2_E4M3_K32,
    S8_K32,
    U8_S8_K32,
    S8_K16,
    F16_SUMS,
    F16_SUMS_K8,
    S8_M8,
    F64_M8,
    PRODUCTS
};

static __global__ void product_kernel(struct registers *all, int which)
{
    struct registers x = all[threadIdx.x];
    memset(x.d, 0, sizeof x.d);
    switch (which) {
    case F16_K16:
        f16_k16(&x);
        break;
    case F16_K8:
        f16_k8(&x);
        break;
    case BF16_K16:
        bf16_k16(&x);
        break;
    case BF16_K8:
        bf16_k8(&x);
        break;
    case TF32_K8:
        tf32_k8(&x);
        break;
    case TF32_K4:
        tf32_k4(&x);
        break;
    case E4M3_K32:
        e4m3_k32(&x);
        break;
    case E5M2_E4M3_K32:
        e5m2_e4m3_k32(&x);
        break;
    case S8_K32:
        s8_k32(&x);
        break;
    case U8_S8_K32:
        u8_s8_k32(&x);
        break;
    case S8_K16:
        s8_k16(&x);
        break;
    case F16_SUMS:
        f16_sums(&x);
        break;
    case F16_SUMS_K8:
        f16_sums_k8(&x);
        break;
    case S8_M8:
        s8_m8(&x);
        break;
    case F64_M8:
        f64_m8(&x);
        break;
    }
    all[threadIdx.x] = x;
}

/* ---- what each is made of */

struct shape {
    const char *name;
    int m, k;
    enum type a, b, sum;
    int saturates;
};

static const struct shape shapes[PRODUCTS] = {
    {"f16 k16", 16, 16, F16, F16, F32},    {"f16 k8", 16, 8, F16, F16, F32},
    {"bf16 k16", 16, 16, BF16, BF16, F32}, {"bf16 k8", 16, 8, BF16, BF16, F32},
    {"tf32 k8", 16, 8, TF32, TF32, F32},   {"tf32 k4", 16, 4, TF32, TF32, F32},
    {"e4m3 k32", 16, 32, E4M3, E4M3, F32}, {"e5m2 k32", 16, 32, E5M2, E4M3, F32},
    {"s8 k32", 16, 32, S8, S8, S32},       {"u8 k32", 16, 32, U8, S8, S32, 1},
    {"s8 k16", 16, 16, S8, S8, S32},       {"f16 sums", 16, 16, F16, F16, F16},
    {"f16 sums k8", 16, 8, F16, F16, F16}, {"s8 m8", 8, 16, S8, S8, S32},
    {"f64", 8, 4, F64, F64, F64}};

static int bits_of(enum type type)
{
    return type == F16 || type == BF16                  ? 16
           : type == F64                                ? 64
           : type == TF32 || type == F32 || type == S32 ? 32
                                                        : 8;
}

/** Row and column of a_i, as the manual says for 16, 8 and 32 bits. */
static void place_of_a(const struct shape *s, int lane, int i, int *row, int *column)
{
    const int group = lane >> 2, in_group = lane % 4, bits = bits_of(s->a);
    if (s->m == 8) {
        *row = group;
        *column = bits == 8 ? in_group * 4 + (i & 3) : in_group;
    } else if (bits == 16) {
        *row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
        *column = in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    } else if (bits == 8) {
        *row = i < 4 || (i >= 8 && i < 12) ? group : group + 8;
        *column = in_group * 4 + (i & 3) + (i >= 8 ? 16 : 0);
    } else {
        *row = i == 0 || i == 2 ? group : group + 8;
        *column = i < 2 ? in_group : in_group + 4;
    }
}

/** Row of b_i; its column is the lane's group. */
static int row_of_b(const struct shape *s, int lane, int i)
{
    const int in_group = lane % 4, bits = bits_of(s->b);
    if (bits == 16) return in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0);
    if (bits == 8) return in_group * 4 + (i & 3) + (i >= 4 ? 16 : 0);
    return i == 0 ? in_group : in_group + 4;
}

/** The bits of a number that the type has exactly: multiples of a quarter up to 4, or integers. */
static uint64_t bits_of_number(enum type type, double x)
{
    const float narrow = (float)x;
    const double magnitude = fabs(x);
    const uint64_t sign = x < 0;
    uint32_t single;
    uint64_t whole;
    int exponent;
    memcpy(&single, &narrow, sizeof single);
    memcpy(&whole, &x, sizeof whole);
    const double fraction = 2.0 * frexp(magnitude, &exponent); /* 1 to 2, times two to the exponent - 1 */
    switch (type) {
    case F16:
        return magnitude == 0.0
                   ? 0
                   : sign << 15 | (uint64_t)(exponent + 14) << 10 | (uint64_t)((fraction - 1) * 1024);
    case BF16:
        return single >> 16;
    case E4M3:
        return magnitude == 0.0 ? 0
                                : sign << 7 | (uint64_t)(exponent + 6) << 3 | (uint64_t)((fraction - 1) * 8);
    case E5M2:
        return magnitude == 0.0 ? 0
                                : sign << 7 | (uint64_t)(exponent + 14) << 2 | (uint64_t)((fraction - 1) * 4);
    case S8:
    case U8:
    case S32:
        return (uint64_t)(int64_t)x;
    case TF32:
        return single | 0x1abc; /* the low 13 bits are not read */
    case F64:
        return whole;
    default:
        return single;
    }
}

static double number_of_half(uint32_t bits)
{
    const double magnitude =
        (bits & 0x7fff) == 0 ? 0.0 : ldexp(1024 + (bits & 1023), (int)(bits >> 10 & 31) - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static void put(uint32_t *word, int bits, int i, uint64_t value)
{
    if (bits == 64) {
        memcpy(word + 2 * i, &value, sizeof value);
        return;
    }
    const int each = 32 / bits;
    word[i / each] |= ((uint32_t)value & (bits == 32 ? 0xffffffffu : (1u << bits) - 1)) << i % each * bits;
}

/** A number for A or B: different for every element, never zero by a rule. */
static double number(enum type type, int i, int k, unsigned salt)
{
    const unsigned mixed = (unsigned)(i * 7 + k * 5 + i * k) * 2654435761u + salt * 40503u;
    const int x = (int)(mixed >> 27) - 16;
    if (type == U8) return x + 150;
    if (type == S8) return 8 * x + 3;
    if (type == E5M2 || type == E4M3) return (x % 4) * 0.5;
    return x * 0.25;
}

/* ---- one product */

static double matrix_a[ROWS][DEPTH], matrix_b[DEPTH][COLUMNS], matrix_c[ROWS][COLUMNS];

static void fill(const struct shape *s, struct registers *all)
{
    memset(all, 0, LANES * sizeof *all);
    for (int i = 0; i < s->m; i++)
        for (int k = 0; k < s->k; k++) matrix_a[i][k] = number(s->a, i, k, 1);
    for (int k = 0; k < s->k; k++)
        for (int j = 0; j < COLUMNS; j++) matrix_b[k][j] = number(s->b, k, j, 2);
    for (int lane = 0; lane < LANES; lane++) {
        for (int i = 0; i < s->m * s->k / LANES; i++) {
            int row, column;
            place_of_a(s, lane, i, &row, &column);
            put(all[lane].a, bits_of(s->a), i, bits_of_number(s->a, matrix_a[row][column]));
        }
        for (int i = 0; i < s->k * COLUMNS / LANES; i++)
            put(all[lane].b, bits_of(s->b), i,
                bits_of_number(s->b, matrix_b[row_of_b(s, lane, i)][lane >> 2]));
        for (int i = 0; i < s->m / 4; i++) {
            const int row = (lane >> 2) + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + (i & 1);
            matrix_c[row][column] = (double)(row - 2 * column);
            if (s->saturates) matrix_c[row][column] = row % 2 ? 2147483647.0 : -2147483648.0;
            put(all[lane].c, bits_of(s->sum), i, bits_of_number(s->sum, matrix_c[row][column]));
        }
    }
}

static double sum_of_lane(const struct shape *s, const struct registers *x, int i)
{
    double wide;
    float narrow;
    if (s->sum == F64) {
        memcpy(&wide, x->d + 2 * i, sizeof wide);
        return wide;
    }
    if (s->sum == S32) return (int32_t)x->d[i];
    if (s->sum == F16) return number_of_half(x->d[i / 2] >> i % 2 * 16 & 0xffff);
    memcpy(&narrow, &x->d[i], sizeof narrow);
    return (double)narrow;
}

static void check_product(int which)
{
    const struct shape *s = &shapes[which];
    static struct registers all[LANES];
    fill(s, all);
    struct registers *device = upload(all, LANES);
    product_kernel<<<1, LANES>>>(device, which);
    finish_launch("product_kernel");
    download(all, device, LANES);
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < s->m / 4; i++) {
            const int row = (lane >> 2) + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + (i & 1);
            double expected = matrix_c[row][column];
            for (int k = 0; k < s->k; k++) expected += matrix_a[row][k] * matrix_b[k][column];
            if (s->saturates) expected = fmin(fmax(expected, -2147483648.0), 2147483647.0);
            expect_close(s->name, (size_t)(lane * 4 + i), sum_of_lane(s, &all[lane], i), expected, 0.0);
        }
    release(device);
}

int main(void)
{
    for (int which = 0; which < PRODUCTS; which++) check_product(which);
    return finish("ptx_mma");
}
