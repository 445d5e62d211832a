/**
 * Inline PTX, wgmma on E4M3: which bits of a sum are lost. Codes of all sizes are multiplied, several products one after the other
 * into the same sums, and the host does what an sm_90 does: 32 products of an element and what was there before are brought to the
 * largest exponent among them, cut off below 13 bits of fraction, added exactly, and the sum is cut off to 13 bits, too. The
 * exponent of a product is the sum of its factors' exponents. All bits must be equal.
 */
#include "../testing.h"

#include <cuda_fp8.h>

#include <limits.h>
#include <stdint.h>
#include <string.h>

enum { ROWS = 64, COLUMNS = 8, DEPTH = 32, STEPS = 24, THREADS = 128, FRACTION = 13 };

/** Core matrices of eight rows of 16 bytes lie one after the other: those of the first 16 of k, then those of the others. */
struct operands {
    uint8_t a[2][ROWS][16], b[2][COLUMNS][16];
};

static __device__ uint64_t descriptor(const void *shared, unsigned leading, unsigned stride)
{
    const uint64_t address = (uint64_t)__cvta_generic_to_shared(shared);
    return (address & 0x3ffff) >> 4 | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32;
}

static __global__ void sum_kernel(const struct operands *operands, const float *before, float *after)
{
    __shared__ __align__(1024) struct operands shared;
    float d[4];
    memcpy(d, before + 4 * threadIdx.x, sizeof d);
    for (int step = 0; step < STEPS; step++) {
        const uint32_t *from = (const uint32_t *)&operands[step];
        for (unsigned i = threadIdx.x; i < sizeof shared / 4; i += THREADS)
            ((uint32_t *)&shared)[i] = from[i];
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0, %1, %2, %3}, %4, %5, 1, 1, 1;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "l"(descriptor(shared.a, sizeof shared.a[0], 128)),
                       "l"(descriptor(shared.b, sizeof shared.b[0], 128)));
        asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" : : : "memory");
        __syncthreads();
        memcpy(after + 4 * (THREADS * step + threadIdx.x), d, sizeof d);
    }
}

static double number(uint8_t code)
{
    const int exponent = code >> 3 & 15, fraction = code & 7;
    const double size = exponent == 0 ? ldexp(fraction, -9) : ldexp(8 + fraction, exponent - 10);
    return code & 128 ? -size : size;
}

/* Subnormal numbers have the exponent of the smallest normal ones. */
static int exponent_of(uint8_t code)
{
    return (code >> 3 & 15) == 0 ? -6 : (code >> 3 & 15) - 7;
}

/* Towards zero, to FRACTION bits below @p exponent. */
static double cut_off(double x, int exponent)
{
    const double unit = ldexp(1.0, exponent - FRACTION);
    return trunc(x / unit) * unit;
}

static float cut_off_sum(const struct operands *x, int row, int column, float before)
{
    double term[DEPTH + 1], sum = 0.0;
    int largest = before != 0.0f ? ilogbf(before) : INT_MIN;
    term[DEPTH] = (double)before;
    for (int k = 0; k < DEPTH; k++) {
        const uint8_t a = x->a[k / 16][row][k % 16], b = x->b[k / 16][column][k % 16];
        const int exponent = exponent_of(a) + exponent_of(b);
        term[k] = number(a) * number(b);
        if (term[k] != 0.0 && exponent > largest) largest = exponent;
    }
    if (largest == INT_MIN) return 0.0f;
    for (int k = 0; k <= DEPTH; k++) sum += cut_off(term[k], largest);
    return sum != 0.0 ? (float)cut_off(sum, ilogb(sum)) : 0.0f;
}

static unsigned draw(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Codes of all sizes, or within a few powers of two of each other; of both signs, or one. */
static void fill(struct operands *operands, unsigned sizes, unsigned signs, unsigned *state)
{
    for (int step = 0; step < STEPS; step++) {
        uint8_t *code = &operands[step].a[0][0][0];
        for (size_t i = 0; i < sizeof *operands; i++) {
            unsigned size = sizes == 0 ? draw(state) % 127 : 40 + draw(state) % (8 * sizes);
            code[i] = (uint8_t)(size | (draw(state) & signs) << 7);
        }
    }
}

static void compare(const struct operands *operands, const float *before, const float *after,
                    const char *what)
{
    int wrong = 0;
    for (int i = 0; i < THREADS * 4; i++) {
        const int thread = i / 4, row = thread / 32 * 16 + thread % 32 / 4 + i % 4 / 2 * 8;
        const int column = thread % 4 * 2 + i % 2;
        float d = before[i];
        for (int step = 0; step < STEPS; step++) {
            const float want = cut_off_sum(&operands[step], row, column, d),
                        got = after[THREADS * 4 * step + i];
            if (want != got && wrong++ < 3)
                fprintf(stderr, "%s: step %d, element (%d, %d): %a, expected %a from %a\n", what, step, row,
                        column, (double)got, (double)want, (double)d);
            d = got;
        }
    }
    if (wrong > 0) fprintf(stderr, "%s: %d of %d sums differ\n", what, wrong, THREADS * 4 * STEPS);
    g_failures += wrong > 0;
}

int main(void)
{
    static struct operands operands[STEPS];
    static float before[THREADS * 4], after[THREADS * 4 * STEPS];
    unsigned state = 90;
    for (unsigned kind = 0; kind < 6; kind++) {
        static const char *const what[] = {"all sizes, one sign", "all sizes", "near, one sign", "near",
                                           "wide, one sign",      "wide"};
        fill(operands, kind / 2 * 4, kind % 2, &state);
        for (int i = 0; i < THREADS * 4; i++)
            before[i] = kind % 2
                            ? ldexpf((float)(draw(&state) % 16384) - 8192.0f, -13 + (int)(draw(&state) % 12))
                            : 0.0f;
        struct operands *device_operands = upload(operands, STEPS);
        float *device_before = upload(before, THREADS * 4),
              *device_after = device_array<float>(THREADS * 4 * STEPS);
        sum_kernel<<<1, THREADS>>>(device_operands, device_before, device_after);
        finish_launch("sum_kernel");
        download(after, device_after, THREADS * 4 * STEPS);
        compare(operands, before, after, what[kind]);
        release(device_operands);
        release(device_before);
        release(device_after);
    }
    return finish("ptx_wgmma_sums");
}
