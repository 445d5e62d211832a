/**
 * The built-in vector types: sizes and alignments, make_ functions, members, copies through memory, and __ldg
 * and the other load and store hints on scalars and vectors.
 */
#include "../testing.h"

enum { THREADS = 64 };

static __global__ void copy_kernel(const float4 *floats, float4 *floats_out,     /* [THREADS] */
                                   const int2 *ints, int2 *ints_out,             /* [THREADS] */
                                   const uchar4 *bytes, uchar4 *bytes_out,       /* [THREADS] */
                                   const double2 *doubles, double2 *doubles_out) /* [THREADS] */
{
    const unsigned i = threadIdx.x;
    const float4 f = __ldg(&floats[i]);
    const int2 n = __ldg(&ints[i]);
    const uchar4 b = __ldg(&bytes[i]);
    const double2 d = __ldg(&doubles[i]);
    floats_out[i] = make_float4(f.w, f.z, f.y, f.x);
    ints_out[i] = make_int2(n.y, n.x);
    bytes_out[i] = make_uchar4(b.w, b.z, b.y, b.x);
    doubles_out[i] = make_double2(d.y, d.x);
}

static __global__ void hints_kernel(const float *in, /* [THREADS] */
                                    float *out)      /* [4, THREADS] */
{
    const unsigned i = threadIdx.x;
    out[i] = __ldcg(&in[i]);
    out[THREADS + i] = __ldcs(&in[i]);
    __stcs(&out[2 * THREADS + i], __ldca(&in[i]));
    __stcg(&out[3 * THREADS + i], __ldg(&in[i]));
}

/* Three components, no padding: 12 bytes per thread, and an array of them in registers. */
static __global__ void triples_kernel(const float3 *in, float3 *out)
{
    const unsigned i = threadIdx.x;
    float3 parts[3] = {in[i], in[(i + 1) % THREADS], in[(i + 2) % THREADS]};
    float3 sum = make_float3(0.0f, 0.0f, 0.0f);
    for (int k = 0; k < 3; k++) {
        sum.x += parts[k].x;
        sum.y += parts[k].y;
        sum.z += parts[k].z;
    }
    out[i] = sum;
}

static_assert(sizeof(float3) == 12 && alignof(float3) == 4, "float3 is three floats");
static_assert(sizeof(float2) == 8 && alignof(float2) == 8, "float2 is loaded by one access");
static_assert(sizeof(float4) == 16 && alignof(float4) == 16, "float4 is loaded by one access");
static_assert(sizeof(double2) == 16 && alignof(double2) == 16, "double2 is loaded by one access");
static_assert(sizeof(uchar4) == 4 && alignof(uchar4) == 4, "uchar4 is loaded by one access");
static_assert(sizeof(short2) == 4 && alignof(short2) == 4, "short2 is loaded by one access");
static_assert(sizeof(ulonglong2) == 16 && alignof(longlong2) == 16, "longlong2 is loaded by one access");

static void check_copies(void)
{
    float4 floats[THREADS];
    int2 ints[THREADS];
    uchar4 bytes[THREADS];
    double2 doubles[THREADS];
    for (int i = 0; i < THREADS; i++) {
        floats[i] = make_float4(4.0f * i, 4.0f * i + 1, 4.0f * i + 2, 4.0f * i + 3);
        ints[i] = make_int2(i, -i);
        bytes[i] = make_uchar4((unsigned char)i, 1, 2, 3);
        doubles[i] = make_double2(i, 0.5 * i);
    }
    float4 *f = upload(floats, THREADS), *f_out = device_array<float4>(THREADS);
    int2 *n = upload(ints, THREADS), *n_out = device_array<int2>(THREADS);
    uchar4 *b = upload(bytes, THREADS), *b_out = device_array<uchar4>(THREADS);
    double2 *d = upload(doubles, THREADS), *d_out = device_array<double2>(THREADS);
    copy_kernel<<<1, THREADS>>>(f, f_out, n, n_out, b, b_out, d, d_out);
    finish_launch("copy_kernel");
    download(floats, f_out, THREADS);
    download(ints, n_out, THREADS);
    download(bytes, b_out, THREADS);
    download(doubles, d_out, THREADS);
    for (int i = 0; i < THREADS; i++) {
        expect_close("float4.x", i, floats[i].x, 4.0 * i + 3, 0.0);
        expect_close("float4.w", i, floats[i].w, 4.0 * i, 0.0);
        expect_equal("int2.x", i, ints[i].x, -i);
        expect_equal("uchar4.x", i, bytes[i].x, 3);
        expect_equal("uchar4.w", i, bytes[i].w, i);
        expect_close("double2.x", i, doubles[i].x, 0.5 * i, 0.0);
    }
    void *all[] = {f, f_out, n, n_out, b, b_out, d, d_out};
    for (void *pointer : all) release(pointer);
}

static void check_hints_and_triples(void)
{
    float host[3 * THREADS], got[4 * THREADS];
    for (int i = 0; i < 3 * THREADS; i++) host[i] = 0.5f * (float)i;
    float *in = upload(host, 3 * THREADS), *out = device_array<float>(4 * THREADS);
    hints_kernel<<<1, THREADS>>>(in, out);
    finish_launch("hints_kernel");
    download(got, out, 4 * THREADS);
    for (int i = 0; i < 4 * THREADS; i++) expect_close("hint", i, got[i], host[i % THREADS], 0.0);

    triples_kernel<<<1, THREADS>>>((const float3 *)in, (float3 *)out);
    finish_launch("triples_kernel");
    download(got, out, 3 * THREADS);
    for (int i = 0; i < 3 * THREADS; i++) {
        double sum = 0.0;
        for (int k = 0; k < 3; k++) sum += host[(i / 3 + k) % THREADS * 3 + i % 3];
        expect_close("triple", i, got[i], sum, 0.0);
    }
    release(in);
    release(out);
}

int main(void)
{
    check_copies();
    check_hints_and_triples();
    return finish("vector_types");
}
