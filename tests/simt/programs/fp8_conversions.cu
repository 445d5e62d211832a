/**
 * All conversions of cuda_fp8.h, as one number (FNV-1a over the results) for each of them, compared with what CUDA 13's own header
 * gives on the host. They are made on the host and in a kernel. Inputs of 16 bits and fewer are all of them; floats, doubles and
 * integers are a sweep over all exponents and the neighbourhood of ties. `fp8_conversions print` prints the numbers of the host.
 */
#include "../testing.h"

#include <cuda_fp8.h>
#include <string.h>

#define BOTH __host__ __device__

struct sum {
    unsigned long long value;
    BOTH void add(unsigned long long bits, int bytes)
    {
        for (int i = 0; i < bytes; i++) value = (value ^ (bits >> 8 * i & 0xff)) * 1099511628211ull;
    }
};

template <typename T> static BOTH unsigned long long bits_of(T value)
{
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}
template <typename T> static BOTH T value_of(unsigned long long bits)
{
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The i-th of the floats: all exponents, both signs, and fractions at and around what could be a tie. */
enum { FRACTIONS = 64, FLOATS = 512 * FRACTIONS };
static BOTH float float_of(unsigned i)
{
    const unsigned fraction = i % FRACTIONS, top = fraction / 4 << 19, near = fraction % 4;
    const unsigned low = near == 0 ? 0 : near == 1 ? 1 : near == 2 ? 0x7ffff : 0x40000;
    return value_of<float>((unsigned long long)(i / FRACTIONS) << 23 | top | low);
}
static BOTH double double_of(unsigned i)
{
    const double wide = (double)float_of(i);
    const double near = value_of<double>(bits_of(wide) + (i % 3) - 1); /* not all of them are floats */
    return near == near ? near
                        : 0.0; /* of NaN, CUDA's header makes different bits on the host and in a kernel */
}

template <typename T> static BOTH void add_reals(sum &s)
{
    for (unsigned i = 0; i < FLOATS; i++) s.add(T(float_of(i)).__x, 1);
    for (unsigned i = 0; i < FLOATS; i++) s.add(T(double_of(i)).__x, 1);
    for (unsigned i = 0; i < 65536; i++) s.add(T(__half(__half_raw{(unsigned short)i})).__x, 1);
    for (unsigned i = 0; i < 65536; i++) s.add(T(__nv_bfloat16(__nv_bfloat16_raw{(unsigned short)i})).__x, 1);
}
template <typename T, typename I> static BOTH void add_integers(sum &s)
{
    for (unsigned i = 0; i < 8 * sizeof(I); i++)
        for (unsigned k = 0; k < 64; k++) {
            const unsigned long long one = 1ull << i;
            s.add(T((I)(one + k * (one >> 5) - (k & 1))).__x, 1);
            s.add(T((I)(0ull - one - k)).__x, 1);
        }
}
template <typename T> static BOTH void add_from_integers(sum &s)
{
    add_integers<T, short>(s);
    add_integers<T, unsigned short>(s);
    add_integers<T, int>(s);
    add_integers<T, unsigned int>(s);
    add_integers<T, long>(s);
    add_integers<T, unsigned long>(s);
    add_integers<T, long long>(s);
    add_integers<T, unsigned long long>(s);
}
template <typename T> static BOTH void add_widened(sum &s)
{
    for (unsigned i = 0; i < 256; i++) {
        T x;
        x.__x = (__nv_fp8_storage_t)i;
        s.add(bits_of((float)x), 4);
        s.add(bits_of((double)x), 8);
        s.add(bits_of(static_cast<__half>(x)), 2);
        s.add(bits_of(static_cast<__nv_bfloat16>(x)), 2);
        s.add((bool)x, 1);
    }
}
template <typename T> static BOTH void add_to_integers(sum &s)
{
    for (unsigned i = 0; i < 256; i++) {
        T x;
        x.__x = (__nv_fp8_storage_t)i;
        s.add(bits_of((char)x), 1);
        s.add(bits_of((signed char)x), 1);
        s.add(bits_of((unsigned char)x), 1);
        s.add(bits_of((short)x), 2);
        s.add(bits_of((unsigned short)x), 2);
        s.add(bits_of((int)x), 4);
        s.add(bits_of((unsigned int)x), 4);
    }
}
template <typename T> static BOTH void add_to_long_integers(sum &s)
{
    for (unsigned i = 0; i < 256; i++) {
        T x;
        x.__x = (__nv_fp8_storage_t)i;
        const float as_float = (float)x;
        if (!(as_float == as_float)) continue; /* host and device differ there in CUDA's own header */
        s.add(bits_of((long)x), 8);
        s.add(bits_of((unsigned long)x), 8);
        s.add(bits_of((long long)x), 8);
        s.add(bits_of((unsigned long long)x), 8);
    }
}
template <typename T2, typename T4> static BOTH void add_vectors(sum &s)
{
    for (unsigned i = 0; i + 3 < FLOATS; i += 5) {
        const float a = float_of(i), b = float_of(i + 1), c = float_of(i + 2), d = float_of(i + 3);
        s.add(T2(make_float2(a, b)).__x, 2);
        s.add(T2(make_double2(double_of(i), double_of(i + 3))).__x, 2);
        s.add(T2(__floats2half2_rn(a, b)).__x, 2);
        s.add(T2(__floats2bfloat162_rn(c, b)).__x, 2);
        s.add(T4(make_float4(a, b, c, d)).__x, 4);
        s.add(T4(__floats2half2_rn(a, b), __floats2half2_rn(c, d)).__x, 4);
        s.add(T4(__floats2bfloat162_rn(a, b), __floats2bfloat162_rn(c, d)).__x, 4);
    }
    for (unsigned i = 0; i < 65536; i += 7) {
        T2 two;
        T4 four;
        two.__x = (__nv_fp8x2_storage_t)i;
        four.__x = i << 16 | (65535 - i);
        const float2 a = (float2)two;
        const float4 b = (float4)four;
        s.add(bits_of(a.x), 4);
        s.add(bits_of(a.y), 4);
        s.add(bits_of(static_cast<__half2>(two)), 4);
        s.add(bits_of(b.x), 4);
        s.add(bits_of(b.y), 4);
        s.add(bits_of(b.z), 4);
        s.add(bits_of(b.w), 4);
    }
}
static BOTH void add_unsaturated(sum &s, __nv_fp8_interpretation_t kind)
{
    for (unsigned i = 0; i < FLOATS; i++) s.add(__nv_cvt_float_to_fp8(float_of(i), __NV_NOSAT, kind), 1);
    for (unsigned i = 0; i < FLOATS; i++) s.add(__nv_cvt_double_to_fp8(double_of(i), __NV_NOSAT, kind), 1);
    for (unsigned i = 0; i < 65536; i++) {
        s.add(__nv_cvt_halfraw_to_fp8(__half_raw{(unsigned short)i}, __NV_NOSAT, kind), 1);
        s.add(__nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw{(unsigned short)i}, __NV_NOSAT, kind), 1);
    }
    for (unsigned i = 0; i + 1 < FLOATS; i += 3)
        s.add(__nv_cvt_float2_to_fp8x2(make_float2(float_of(i), float_of(i + 1)), __NV_NOSAT, kind), 2);
}
static BOTH void add_exponents(sum &s, __nv_saturation_t saturate, enum cudaRoundMode rounding)
{
    for (unsigned i = 0; i < FLOATS; i++) s.add(__nv_cvt_float_to_e8m0(float_of(i), saturate, rounding), 1);
    for (unsigned i = 0; i < FLOATS; i++) s.add(__nv_cvt_double_to_e8m0(double_of(i), saturate, rounding), 1);
    for (unsigned i = 0; i < 65536; i++)
        s.add(__nv_cvt_bfloat16raw_to_e8m0(__nv_bfloat16_raw{(unsigned short)i}, saturate, rounding), 1);
    for (unsigned i = 0; i < 65536; i += 3)
        s.add(bits_of(__nv_cvt_e8m0x2_to_bf162raw((__nv_fp8x2_storage_t)i)), 4);
}

template <typename T, typename T2, typename T4> static BOTH void add_type(sum &s, int part)
{
    if (part == 0) add_reals<T>(s);
    if (part == 1) add_from_integers<T>(s);
    if (part == 2) add_widened<T>(s);
    if (part == 3) add_to_integers<T>(s);
    if (part == 4) add_to_long_integers<T>(s);
    if (part == 5) add_vectors<T2, T4>(s);
}
enum { PARTS = 6, TYPES = 3, CASES = PARTS * TYPES + 2 + 4 };
static BOTH unsigned long long result_of(int which)
{
    sum s = {1469598103934665603ull};
    const int rest = which - PARTS * TYPES;
    if (which < PARTS)
        add_type<__nv_fp8_e4m3, __nv_fp8x2_e4m3, __nv_fp8x4_e4m3>(s, which);
    else if (which < 2 * PARTS)
        add_type<__nv_fp8_e5m2, __nv_fp8x2_e5m2, __nv_fp8x4_e5m2>(s, which - PARTS);
    else if (rest < 0)
        add_type<__nv_fp8_e8m0, __nv_fp8x2_e8m0, __nv_fp8x4_e8m0>(s, which - 2 * PARTS);
    else if (rest < 2)
        add_unsaturated(s, rest == 0 ? __NV_E4M3 : __NV_E5M2);
    else
        add_exponents(s, rest % 2 == 0 ? __NV_NOSAT : __NV_SATFINITE,
                      rest < 4 ? cudaRoundZero : cudaRoundPosInf);
    return s.value;
}

static __global__ void results_kernel(unsigned long long *out) /* [CASES] */
{
    out[blockIdx.x] = result_of((int)blockIdx.x);
}

static const char *const parts[] = {"from reals",  "from integers",    "to reals",
                                    "to integers", "to long integers", "pairs and fours"};
static const char *const rest_of[] = {"e4m3 unsaturated", "e5m2 unsaturated",     "e8m0 down, unsaturated",
                                      "e8m0 down",        "e8m0 up, unsaturated", "e8m0 up"};
static const char *const types[] = {"e4m3", "e5m2", "e8m0"};

/* What CUDA 13.0's cuda_fp8.h gives on the host. */
static const unsigned long long expected[CASES] = {
#include "fp8_conversions.inc"
};

static void compare(const char *where, int which, unsigned long long got)
{
    if (got == expected[which]) return;
    const int rest = which - PARTS * TYPES;
    g_failures++;
    fprintf(stderr, "%s: %s %s: %016llx, not %016llx\n", where, rest < 0 ? types[which / PARTS] : "",
            rest < 0 ? parts[which % PARTS] : rest_of[rest], got, expected[which]);
}

int main(int argc, char **argv)
{
    unsigned long long host[CASES];
    for (int i = 0; i < CASES; i++) host[i] = result_of(i);
    if (argc > 1 && strcmp(argv[1], "print") == 0) {
        for (int i = 0; i < CASES; i++) printf("    0x%016llxull,\n", host[i]);
        return 0;
    }
    for (int i = 0; i < CASES; i++) compare("host", i, host[i]);
    unsigned long long *out = device_array<unsigned long long>(CASES);
    results_kernel<<<CASES, 1>>>(out);
    finish_launch("results_kernel");
    download(host, out, CASES);
    for (int i = 0; i < CASES; i++) compare("kernel", i, host[i]);
    release(out);
    return finish("fp8_conversions");
}
