/**
 * Intrinsics on the halves and bytes of words, and DPX, against loops over the parts on the host.
 */
#include "../testing.h"

enum { WORDS = 256, RESULTS = 20 };

static __global__ void simd_kernel(const unsigned *a, const unsigned *b, unsigned *out)
{
    const unsigned i = threadIdx.x, x = a[i], y = b[i];
    const unsigned results[RESULTS] = {__vadd4(x, y),
                                       __vsub2(x, y),
                                       __vaddss4(x, y),
                                       __vaddus2(x, y),
                                       __vsubus4(x, y),
                                       __vabsdiffu4(x, y),
                                       __vabsdiffs2(x, y),
                                       __vmaxs4(x, y),
                                       __vminu2(x, y),
                                       __vavgu4(x, y),
                                       __vabsss2(x),
                                       __vneg4(x),
                                       __vcmpgts4(x, y),
                                       __vsetleu2(x, y),
                                       __vsadu4(x, y),
                                       __vimax3_s16x2(x, y, 0x00010002u),
                                       __viaddmax_s16x2_relu(x, y, 0x80008000u),
                                       (unsigned)__viaddmin_s32((int)x, (int)y, 5),
                                       __vimin3_u32(x, y, 77u),
                                       (unsigned)__vimax_s32_relu((int)x, (int)y)};
    for (int r = 0; r < RESULTS; r++) out[r * WORDS + i] = results[r];
}

/** Part @p at of @p word with @p bits bits. */
static long long part(unsigned word, int at, int bits, int is_signed)
{
    const long long value = word >> (at * bits) & ((1ll << bits) - 1);
    return is_signed && value >> (bits - 1) ? value - (1ll << bits) : value;
}

static long long clamped(long long x, long long lowest, long long highest)
{
    return x < lowest ? lowest : x > highest ? highest : x;
}

static long long larger(long long a, long long b)
{
    return a > b ? a : b;
}

/** The parts of result @p r have @p bits bits, signed ones or not. */
static long long expected_part(int r, long long a, long long b, long long third)
{
    switch (r) {
    case 0:
        return a + b;
    case 1:
        return a - b;
    case 2:
        return clamped(a + b, -128, 127);
    case 3:
        return clamped(a + b, 0, 65535);
    case 4:
        return larger(a - b, 0);
    case 5:
    case 6:
        return a > b ? a - b : b - a;
    case 7:
        return larger(a, b);
    case 8:
        return a < b ? a : b;
    case 9:
        return (a + b + 1) / 2;
    case 10:
        return clamped(a < 0 ? -a : a, 0, 32767);
    case 11:
        return -a;
    case 12:
        return a > b ? -1 : 0;
    case 13:
        return a <= b;
    case 15:
        return larger(larger(a, b), third);
    case 16:
        return larger(larger((short)(a + b), third), 0);
    default:
        return 0;
    }
}

static unsigned expected_of(int r, unsigned x, unsigned y)
{
    static const int bits_of[RESULTS] = {8,  16, 8, 16, 8, 8,  16, 8,  16, 8,
                                         16, 8,  8, 16, 8, 16, 16, 32, 32, 32};
    static const int is_signed[RESULTS] = {0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1};
    const int bits = bits_of[r];
    const unsigned third = r == 15 ? 0x00010002u : 0x80008000u;
    unsigned result = 0;
    if (r == 17) return (int)(x + y) < 5 ? x + y : 5;
    if (r == 18) return x < y ? (x < 77 ? x : 77) : (y < 77 ? y : 77);
    if (r == 19) return (unsigned)larger(larger((int)x, (int)y), 0);
    for (int at = 0; at < 32 / bits; at++) {
        const long long a = part(x, at, bits, is_signed[r]), b = part(y, at, bits, is_signed[r]);
        if (r == 14)
            result += (unsigned)(a > b ? a - b : b - a);
        else
            result |= ((unsigned)expected_part(r, a, b, part(third, at, bits, 1)) & ((1u << bits) - 1))
                      << (at * bits);
    }
    return result;
}

int main(void)
{
    static unsigned a[WORDS], b[WORDS], out[RESULTS * WORDS];
    unsigned state = 7;
    for (int i = 0; i < WORDS; i++)
        a[i] = next_random(&state), b[i] = i % 5 == 0 ? a[i] : next_random(&state);
    a[0] = 0x80008080u, b[0] = 0x7fff7f80u, a[1] = 0, b[1] = 0xffffffffu;
    unsigned *device_a = upload(a, WORDS), *device_b = upload(b, WORDS),
             *device_out = device_array<unsigned>(RESULTS * WORDS);
    simd_kernel<<<1, WORDS>>>(device_a, device_b, device_out);
    finish_launch("simd_kernel");
    download(out, device_out, RESULTS * WORDS);
    for (int r = 0; r < RESULTS; r++)
        for (int i = 0; i < WORDS; i++)
            expect_equal("simd_kernel", r * WORDS + i, out[r * WORDS + i], expected_of(r, a[i], b[i]));
    release(device_a), release(device_b), release(device_out);
    return finish("simd_words");
}
