/**
 * half and bfloat16 against their definitions: every one of the 65536 numbers widened, every rounding
 * boundary between two neighbours narrowed, and arithmetic on pairs of numbers of all magnitudes. It is plain
 * CUDA, so that hardware can be asked the same.
 */
#include "../simt/testing.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string.h>

enum { PATTERNS = 65536, THREADS = 256, OPERATIONS = 5, PAIRS = 1 << 16 };

/** One of the two formats, for the host's own arithmetic. */
struct format {
    const char *name;
    int fraction_bits, bias;
};
static const struct format half_format = {"half", 10, 15}, bfloat16_format = {"bfloat16", 7, 127};

/* ---- the definitions, in double ------------------------------------------------------------------------ */

static int infinity_of(const struct format *f)
{
    return (2 * f->bias + 1) << f->fraction_bits;
}

/** The value of a pattern without sign below infinity's; of infinity's, what the next number would be. */
static double magnitude_of(const struct format *f, int pattern)
{
    int exponent = pattern >> f->fraction_bits, fraction = pattern & ((1 << f->fraction_bits) - 1);
    if (exponent == 0) return ldexp((double)fraction, 1 - f->bias - f->fraction_bits);
    return ldexp((double)(fraction + (1 << f->fraction_bits)), exponent - f->bias - f->fraction_bits);
}

/** The pattern nearest to x, found by bisection; ties go to the even pattern. */
static unsigned short nearest(const struct format *f, long double x)
{
    int low = 0, high = infinity_of(f), sign = signbit(x) ? 0x8000 : 0;
    long double magnitude = fabsl(x);
    if (isnan(x)) return 0x7fff;
    if (magnitude >= magnitude_of(f, high)) return (unsigned short)(sign | high);
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (magnitude_of(f, middle) <= magnitude)
            low = middle;
        else
            high = middle;
    }
    long double above = magnitude_of(f, high) - magnitude, below = magnitude - magnitude_of(f, low);
    int up = above < below || (above == below && (low & 1));
    return (unsigned short)(sign | (up ? high : low));
}

static unsigned short narrowed(const struct format *f, float x)
{
    return nearest(f, x);
}

/** Hardware makes another NaN of a double than of a float. */
static unsigned short narrowed(const struct format *f, double x)
{
    return isnan(x) ? (unsigned short)(infinity_of(f) | 1 << (f->fraction_bits - 1)) : nearest(f, x);
}

static double value_of(const struct format *f, unsigned short pattern)
{
    int magnitude = pattern & 0x7fff;
    if (magnitude > infinity_of(f)) return NAN;
    double value = magnitude == infinity_of(f) ? INFINITY : magnitude_of(f, magnitude);
    return pattern & 0x8000 ? -value : value;
}

static int is_nan_pattern(const struct format *f, unsigned short pattern)
{
    return (pattern & 0x7fff) > infinity_of(f);
}

static void expect_pattern(const char *what, size_t index, unsigned short got, unsigned short expected)
{
    if (got == expected) return;
    if (g_failures++ < 10) fprintf(stderr, "%s[%zu] is 0x%04x, not 0x%04x\n", what, index, got, expected);
}

/* ---- the same by the device ---------------------------------------------------------------------------- */

template <typename T> static __device__ T from_bits(unsigned short bits);
template <> __device__ __half from_bits<__half>(unsigned short bits)
{
    return __ushort_as_half(bits);
}
template <> __device__ __nv_bfloat16 from_bits<__nv_bfloat16>(unsigned short bits)
{
    return __ushort_as_bfloat16(bits);
}
static __device__ unsigned short to_bits(__half x)
{
    return __half_as_ushort(x);
}
static __device__ unsigned short to_bits(__nv_bfloat16 x)
{
    return __bfloat16_as_ushort(x);
}
static __device__ float widen(__half x)
{
    return __half2float(x);
}
static __device__ float widen(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
template <typename T> static __device__ T narrow(float x);
template <> __device__ __half narrow<__half>(float x)
{
    return __float2half_rn(x);
}
template <> __device__ __nv_bfloat16 narrow<__nv_bfloat16>(float x)
{
    return __float2bfloat16_rn(x);
}
template <typename T> static __device__ T narrow_double(double x);
template <> __device__ __half narrow_double<__half>(double x)
{
    return __double2half(x);
}
template <> __device__ __nv_bfloat16 narrow_double<__nv_bfloat16>(double x)
{
    return __double2bfloat16(x);
}

template <typename T> static __global__ void widen_kernel(float *out) /* [PATTERNS] */
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = widen(from_bits<T>((unsigned short)i));
}

template <typename T> static __global__ void narrow_kernel(const float *in, unsigned short *out, int count)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) out[i] = to_bits(narrow<T>(in[i]));
}

template <typename T>
static __global__ void narrow_double_kernel(const double *in, unsigned short *out, int count)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) out[i] = to_bits(narrow_double<T>(in[i]));
}

/** Directed rounding exists for half in both of CUDA's versions. */
static __global__ void narrow_directed_kernel(const float *in, unsigned short *out,
                                              int count) /* [3, count] */
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= count) return;
    out[i] = __half_as_ushort(__float2half_rz(in[i]));
    out[count + i] = __half_as_ushort(__float2half_ru(in[i]));
    out[2 * count + i] = __half_as_ushort(__float2half_rd(in[i]));
}

template <typename T>
static __global__ void arithmetic_kernel(const unsigned short *a, const unsigned short *b,
                                         const unsigned short *c,
                                         unsigned short *out) /* [OPERATIONS, PAIRS] */
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const T x = from_bits<T>(a[i]), y = from_bits<T>(b[i]), z = from_bits<T>(c[i]);
    out[i] = to_bits(__hadd_rn(x, y));
    out[PAIRS + i] = to_bits(__hsub_rn(x, y));
    out[2 * PAIRS + i] = to_bits(__hmul_rn(x, y));
    out[3 * PAIRS + i] = to_bits(__hfma(x, y, z));
    out[4 * PAIRS + i] = to_bits(__hmax(x, y));
}

/* ---- widening ------------------------------------------------------------------------------------------ */

template <typename T> static void check_widening(const struct format *f)
{
    float *device = device_array<float>(PATTERNS), *host = host_array<float>(PATTERNS);
    widen_kernel<T><<<PATTERNS / THREADS, THREADS>>>(device);
    finish_launch("widen_kernel");
    download(host, device, PATTERNS);
    for (int i = 0; i < PATTERNS; i++) {
        double expected = value_of(f, (unsigned short)i);
        int same = isnan(expected) ? isnan(host[i])
                                   : host[i] == (float)expected && signbit(host[i]) == signbit(expected);
        expect_equal(f->name, (size_t)i, same, 1);
    }
    free(host);
    release(device);
}

/* ---- narrowing: around every boundary between two neighbours ------------------------------------------- */

/** Five inputs for every pattern: itself, half way to the next, and the closest numbers around that. */
enum { PROBES = 5 };

static double probe_of(const struct format *f, int pattern, int probe, int in_float)
{
    double low = magnitude_of(f, pattern & 0x7fff), high = magnitude_of(f, (pattern & 0x7fff) + 1);
    double middle = 0.5 * (low + high), x = low;
    if (probe == 1) x = middle;
    if (probe == 2) x = in_float ? (double)nextafterf((float)middle, 0.0f) : nextafter(middle, 0.0);
    if (probe == 3) x = in_float ? (double)nextafterf((float)middle, INFINITY) : nextafter(middle, INFINITY);
    if (probe == 4) x = in_float ? (double)nextafterf((float)low, 0.0f) : nextafter(low, 0.0);
    return pattern & 0x8000 ? -x : x;
}

template <typename In, typename T> struct narrow_launch;
template <typename T> struct narrow_launch<float, T> {
    static void run(const float *in, unsigned short *out, int count)
    {
        narrow_kernel<T><<<(count + THREADS - 1) / THREADS, THREADS>>>(in, out, count);
    }
};
template <typename T> struct narrow_launch<double, T> {
    static void run(const double *in, unsigned short *out, int count)
    {
        narrow_double_kernel<T><<<(count + THREADS - 1) / THREADS, THREADS>>>(in, out, count);
    }
};

template <typename In, typename T> static void check_narrowing(const struct format *f)
{
    static const double special[] = {NAN,    INFINITY, -INFINITY, 1e300,    -1e300,
                                     1e-300, 0.0,      -0.0,      65519.99, 65520.0};
    const int specials = sizeof special / sizeof special[0], finite = infinity_of(f);
    const int count = 2 * finite * PROBES + specials;
    In *in = host_array<In>((size_t)count);
    unsigned short *out = host_array<unsigned short>((size_t)count);
    for (int i = 0; i < 2 * finite * PROBES; i++) {
        int pattern = i / PROBES < finite ? i / PROBES : 0x8000 | (i / PROBES - finite);
        in[i] = (In)probe_of(f, pattern, i % PROBES, sizeof(In) == sizeof(float));
    }
    for (int i = 0; i < specials; i++) in[count - 1 - i] = (In)special[i];
    In *device_in = upload(in, (size_t)count);
    unsigned short *device_out = device_array<unsigned short>((size_t)count);
    narrow_launch<In, T>::run(device_in, device_out, count);
    finish_launch("narrow_kernel");
    download(out, device_out, (size_t)count);
    for (int i = 0; i < count; i++) expect_pattern(f->name, (size_t)i, out[i], narrowed(f, in[i]));
    free(in);
    free(out);
    release(device_in);
    release(device_out);
}

/** The value must be a neighbour of the input, on the right side of it. */
static void check_directed(void)
{
    const struct format *f = &half_format;
    const int count = 2 * infinity_of(f) * PROBES;
    float *in = host_array<float>((size_t)count);
    unsigned short *out = host_array<unsigned short>((size_t)count * 3);
    for (int i = 0; i < count; i++) {
        int pattern =
            i / PROBES < count / PROBES / 2 ? i / PROBES : 0x8000 | (i / PROBES - count / PROBES / 2);
        in[i] = (float)probe_of(f, pattern, i % PROBES, 1);
    }
    float *device_in = upload(in, (size_t)count);
    unsigned short *device_out = device_array<unsigned short>((size_t)count * 3);
    narrow_directed_kernel<<<(count + THREADS - 1) / THREADS, THREADS>>>(device_in, device_out, count);
    finish_launch("narrow_directed_kernel");
    download(out, device_out, (size_t)count * 3);
    for (int i = 0; i < count; i++) {
        const double x = in[i], zero = value_of(f, out[i]), up = value_of(f, out[count + i]);
        const double down = value_of(f, out[2 * count + i]);
        int one_step =
            up == down ? up == x : out[count + i] - out[2 * count + i] == (x < 0.0 ? -1 : 1) || up == -down;
        int ok = down <= x && x <= up && one_step && zero == (x < 0.0 ? up : down);
        if (fabs(x) < magnitude_of(f, infinity_of(f) - 1))
            expect_equal("directed rounding", (size_t)i, ok, 1);
    }
    free(in);
    free(out);
    release(device_in);
    release(device_out);
}

/* ---- arithmetic ---------------------------------------------------------------------------------------- */

/** a + b, moved off a boundary of the narrow format if bits were lost. A boundary is a double: a sum that is none has been
 *  rounded off every boundary to the right side, and moving it might bring it back, where long double has 113 bits. */
static long double sum_with_rest(long double a, long double b)
{
    long double sum = a + b, part = sum - a, rest = (a - (sum - part)) + (b - part);
    if (isnan(rest) || rest == 0.0L || sum != (long double)(double)sum) return sum;
    return nextafterl(sum, rest > 0.0L ? (long double)INFINITY : -(long double)INFINITY);
}

static long double exact(int operation, double x, double y, double z)
{
    switch (operation) {
    case 0:
        return (long double)x + y;
    case 1:
        return (long double)x - y;
    case 2:
        return (long double)x * y;
    default:
        return sum_with_rest((long double)x * y, z);
    }
}

/** Patterns of all magnitudes, and in part such that a result falls near a boundary. */
static void fill_operands(unsigned short *a, unsigned short *b, unsigned short *c, const struct format *f)
{
    unsigned state = 2463534242u;
    for (int i = 0; i < PAIRS; i++) {
        unsigned random = next_random(&state), more = next_random(&state);
        a[i] = (unsigned short)random;
        b[i] = (unsigned short)(random >> 16);
        c[i] = (unsigned short)more;
        /* near cancellation, and addends far below the product's last bit, are where double rounding shows */
        if (i % 4 == 1) c[i] = nearest(f, -value_of(f, a[i]) * value_of(f, b[i]));
        if (i % 4 == 2) c[i] = (unsigned short)((more & 0x8000) | (more % 32));
        if (i % 4 == 3)
            b[i] = (unsigned short)((b[i] & 0x8000) | ((f->bias - 2 + (more & 3)) << f->fraction_bits) |
                                    (more >> 8 & 7));
    }
}

template <typename T> static void check_arithmetic(const struct format *f)
{
    static const char *const names[OPERATIONS] = {"__hadd", "__hsub", "__hmul", "__hfma", "__hmax"};
    unsigned short *a = host_array<unsigned short>(PAIRS), *b = host_array<unsigned short>(PAIRS);
    unsigned short *c = host_array<unsigned short>(PAIRS),
                   *out = host_array<unsigned short>(OPERATIONS * PAIRS);
    fill_operands(a, b, c, f);
    unsigned short *device_a = upload(a, PAIRS), *device_b = upload(b, PAIRS), *device_c = upload(c, PAIRS);
    unsigned short *device_out = device_array<unsigned short>(OPERATIONS * PAIRS);
    arithmetic_kernel<T><<<PAIRS / THREADS, THREADS>>>(device_a, device_b, device_c, device_out);
    finish_launch("arithmetic_kernel");
    download(out, device_out, OPERATIONS * PAIRS);
    for (int i = 0; i < PAIRS; i++) {
        const double x = value_of(f, a[i]), y = value_of(f, b[i]), z = value_of(f, c[i]);
        for (int op = 0; op < 4; op++) {
            const unsigned short expected = nearest(f, exact(op, x, y, z));
            const int zeros = (expected & 0x7fff) == 0 && (out[op * PAIRS + i] & 0x7fff) == 0;
            if (!zeros) expect_pattern(names[op], (size_t)i, out[op * PAIRS + i], expected);
        }
        if (!isnan(x) && !isnan(y))
            expect_pattern(names[4], (size_t)i, out[4 * PAIRS + i],
                           x == y  ? out[4 * PAIRS + i]
                           : x > y ? a[i]
                                   : b[i]);
        else if (isnan(x) && isnan(y))
            expect_equal(names[4], (size_t)i, is_nan_pattern(f, out[4 * PAIRS + i]), 1);
        else
            expect_pattern(names[4], (size_t)i, out[4 * PAIRS + i], isnan(x) ? b[i] : a[i]);
    }
    free(a);
    free(b);
    free(c);
    free(out);
    release(device_a);
    release(device_b);
    release(device_c);
    release(device_out);
}

int main(void)
{
    check_widening<__half>(&half_format);
    check_widening<__nv_bfloat16>(&bfloat16_format);
    check_narrowing<float, __half>(&half_format);
    check_narrowing<double, __half>(&half_format);
    check_narrowing<float, __nv_bfloat16>(&bfloat16_format);
    check_narrowing<double, __nv_bfloat16>(&bfloat16_format);
    check_directed();
    check_arithmetic<__half>(&half_format);
    check_arithmetic<__nv_bfloat16>(&bfloat16_format);
    return finish("simt_half");
}
