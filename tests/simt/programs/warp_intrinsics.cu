/**
 * Every shuffle, vote, match and reduction of a warp, against an emulation on the host: all offsets, all
 * widths, values of 32 and 64 bits, and a mask that leaves lanes out.
 */
#include "../testing.h"

enum { LANES = 32, ROWS_A_WIDTH = 4 };

static const unsigned all_lanes = 0xffffffffu;

/* Row 0: shfl, 1: up, 2: down, 3: xor, all with argument `which` and the given width. */
static __global__ void shuffles_kernel(const int *in, /* [LANES] */
                                       int *out,      /* [ROWS_A_WIDTH, LANES] */
                                       int which, int width)
{
    const int lane = (int)threadIdx.x;
    out[0 * LANES + lane] = __shfl_sync(0xffffffffu, in[lane], which, width);
    out[1 * LANES + lane] = __shfl_up_sync(0xffffffffu, in[lane], (unsigned)which, width);
    out[2 * LANES + lane] = __shfl_down_sync(0xffffffffu, in[lane], (unsigned)which, width);
    out[3 * LANES + lane] = __shfl_xor_sync(0xffffffffu, in[lane], which, width);
}

/* The lane whose value arrives, by the manual: a lane keeps its own where the source leaves its segment. */
static int source_lane(int operation, int lane, int which, int width)
{
    const int first = lane / width * width;
    int source = lane;
    if (operation == 0) return first + which % width;
    if (operation == 1) source = lane - which;
    if (operation == 2) source = lane + which;
    if (operation == 3) source = lane ^ which;
    if (operation == 3) return source >= first + width ? lane : source;
    return source < first || source >= first + width ? lane : source;
}

static void check_shuffles(void)
{
    int host[LANES], got[ROWS_A_WIDTH * LANES];
    for (int i = 0; i < LANES; i++) host[i] = 100 + i * i;
    int *in = upload(host, LANES), *out = device_array<int>(ROWS_A_WIDTH * LANES);
    for (int width = 1; width <= LANES; width *= 2) {
        for (int which = 0; which < LANES; which++) {
            shuffles_kernel<<<1, LANES>>>(in, out, which, width);
            finish_launch("shuffles_kernel");
            download(got, out, ROWS_A_WIDTH * LANES);
            for (int i = 0; i < ROWS_A_WIDTH * LANES; i++) {
                expect_equal("shuffle", i, got[i], host[source_lane(i / LANES, i % LANES, which, width)]);
            }
        }
    }
    release(in);
    release(out);
}

static __global__ void wide_shuffles_kernel(double *doubles,  /* [LANES] */
                                            long long *longs, /* [LANES] */
                                            float *floats)    /* [LANES] */
{
    const int lane = (int)threadIdx.x;
    doubles[lane] = __shfl_xor_sync(0xffffffffu, 1.0 / (lane + 1), 1);
    longs[lane] = __shfl_sync(0xffffffffu, (long long)lane << 40, 31 - lane);
    floats[lane] = __shfl_down_sync(0xffffffffu, (float)lane, 1u);
}

static void check_wide_shuffles(void)
{
    double doubles[LANES], *device_doubles = device_array<double>(LANES);
    long long longs[LANES], *device_longs = device_array<long long>(LANES);
    float floats[LANES], *device_floats = device_array<float>(LANES);
    wide_shuffles_kernel<<<1, LANES>>>(device_doubles, device_longs, device_floats);
    finish_launch("wide_shuffles_kernel");
    download(doubles, device_doubles, LANES);
    download(longs, device_longs, LANES);
    download(floats, device_floats, LANES);
    for (int i = 0; i < LANES; i++) {
        expect_close("double", i, doubles[i], 1.0 / ((i ^ 1) + 1), 0.0);
        expect_equal("long long", i, longs[i], (long long)(31 - i) << 40);
        expect_close("float", i, floats[i], i == 31 ? 31.0 : i + 1.0, 0.0);
    }
    release(device_doubles);
    release(device_longs);
    release(device_floats);
}

enum { VOTES = 6 };

static __global__ void votes_kernel(const int *in, /* [LANES] */
                                    unsigned *out, /* [VOTES, LANES] */
                                    unsigned mask)
{
    const int lane = (int)threadIdx.x, value = in[lane];
    if ((mask >> lane & 1) == 0) return; /* the mask does not wait for these lanes */
    out[0 * LANES + lane] = __ballot_sync(mask, value % 2);
    out[1 * LANES + lane] = (unsigned)__all_sync(mask, value > 2) != 0;
    out[2 * LANES + lane] = (unsigned)__any_sync(mask, value > 8) != 0;
    out[3 * LANES + lane] = __match_any_sync(mask, value);
    int same = -1;
    out[4 * LANES + lane] = __match_all_sync(mask, value, &same);
    out[5 * LANES + lane] = (unsigned)(same != 0);
    __syncwarp(mask);
}

/* The vote `which` as lane `lane` should see it. */
static unsigned expected_vote(const int *values, unsigned mask, int which, int lane)
{
    unsigned odd = 0, equal = 0, all_large = 1, any_larger = 0;
    for (int i = 0; i < LANES; i++) {
        if ((mask >> i & 1) == 0) continue;
        odd |= (unsigned)(values[i] % 2) << i;
        equal |= (unsigned)(values[i] == values[lane]) << i;
        all_large &= values[i] > 2;
        any_larger |= values[i] > 8;
    }
    const unsigned results[VOTES] = {odd,          all_large, any_larger, equal, equal == mask ? mask : 0,
                                     equal == mask};
    return results[which];
}

static void check_votes(void)
{
    const unsigned masks[] = {0xffffffffu, 0x0000ffffu, 0x80010421u, 0x00000008u};
    int host[LANES];
    unsigned got[VOTES * LANES], *out = device_array<unsigned>(VOTES * LANES), state = 59;
    for (unsigned mask : masks) {
        for (int round = 0; round < 4; round++) {
            for (int i = 0; i < LANES; i++) host[i] = round == 3 ? 7 : (int)(next_random(&state) % 7) + round;
            int *in = upload(host, LANES);
            require(cudaMemset(out, 0, sizeof got), "cudaMemset");
            votes_kernel<<<1, LANES>>>(in, out, mask);
            finish_launch("votes_kernel");
            download(got, out, VOTES * LANES);
            for (int i = 0; i < VOTES * LANES; i++) {
                const unsigned expected =
                    mask >> i % LANES & 1 ? expected_vote(host, mask, i / LANES, i % LANES) : 0;
                expect_equal("vote", i, got[i], expected);
            }
            release(in);
        }
    }
    release(out);
}

enum { REDUCTIONS = 8 };

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
static __global__ void reductions_kernel(const int *in,  /* [LANES] */
                                         long long *out) /* [REDUCTIONS, LANES] */
{
    const int lane = (int)threadIdx.x, value = in[lane];
    const unsigned mask = lane < 20 ? 0x000fffffu : 0xfff00000u;
    out[0 * LANES + lane] = __reduce_add_sync(mask, value);
    out[1 * LANES + lane] = __reduce_min_sync(mask, value);
    out[2 * LANES + lane] = __reduce_max_sync(mask, value);
    out[3 * LANES + lane] = __reduce_min_sync(mask, (unsigned)value);
    out[4 * LANES + lane] = __reduce_max_sync(mask, (unsigned)value);
    out[5 * LANES + lane] = __reduce_and_sync(mask, (unsigned)value);
    out[6 * LANES + lane] = __reduce_or_sync(mask, (unsigned)value);
    out[7 * LANES + lane] = __reduce_xor_sync(mask, (unsigned)value);
}
#else
static __global__ void reductions_kernel(const int *, long long *) {}
#endif

static void expected_reductions(const int *values, int first, int last, long long *results)
{
    int sum = 0, low = values[first], high = values[first];
    unsigned unsigned_low = (unsigned)low, unsigned_high = (unsigned)low, and_all = ~0u, or_all = 0,
             xor_all = 0;
    for (int i = first; i < last; i++) {
        const unsigned value = (unsigned)values[i];
        sum += values[i];
        if (values[i] < low) low = values[i];
        if (values[i] > high) high = values[i];
        if (value < unsigned_low) unsigned_low = value;
        if (value > unsigned_high) unsigned_high = value;
        and_all &= value;
        or_all |= value;
        xor_all ^= value;
    }
    const long long all[REDUCTIONS] = {sum, low, high, unsigned_low, unsigned_high, and_all, or_all, xor_all};
    for (int i = 0; i < REDUCTIONS; i++) results[i] = all[i];
}

/* Two groups of lanes at one place, each with its own mask. They exist from compute capability 8.0 on. */
static void check_reductions(void)
{
    int host[LANES], major = 0;
    long long got[REDUCTIONS * LANES], expected[2][REDUCTIONS];
    unsigned state = 61;
    require(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "cudaDeviceGetAttribute");
    if (major < 8) return;
    for (int i = 0; i < LANES; i++) host[i] = (int)(next_random(&state) % 20001) - 10000;
    expected_reductions(host, 0, 20, expected[0]);
    expected_reductions(host, 20, 32, expected[1]);
    int *in = upload(host, LANES);
    long long *out = device_array<long long>(REDUCTIONS * LANES);
    reductions_kernel<<<1, LANES>>>(in, out);
    finish_launch("reductions_kernel");
    download(got, out, REDUCTIONS * LANES);
    for (int i = 0; i < REDUCTIONS * LANES; i++) {
        expect_equal("reduction", i, got[i], expected[i % LANES >= 20][i / LANES]);
    }
    release(in);
    release(out);
}

static __global__ void active_mask_kernel(unsigned *out) /* [LANES] */
{
    const unsigned lane = threadIdx.x, evens = 0x55555555u;
    out[lane] = 0;
    if (lane % 2 == 0) {
        __syncwarp(evens);
        out[lane] = __activemask(); /* hardware may have split the warp: only the lane itself is certain */
    }
}

static void check_active_mask(void)
{
    unsigned got[LANES], *out = device_array<unsigned>(LANES);
    active_mask_kernel<<<1, LANES>>>(out);
    finish_launch("active_mask_kernel");
    download(got, out, LANES);
    for (int i = 0; i < LANES; i += 2) expect_equal("active", i, got[i] >> i & 1, 1);
    for (int i = 0; i < LANES; i++) expect_equal("inactive", i, got[i] & 0xaaaaaaaau & all_lanes, 0);
    release(out);
}

int main(void)
{
    check_shuffles();
    check_wide_shuffles();
    check_votes();
    check_reductions();
    check_active_mask();
    return finish("warp_intrinsics");
}
