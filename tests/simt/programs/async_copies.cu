/**
 * Asynchronous copies to shared memory: of 4, 8 and 16 bytes, with zeros at their end, in one to four stages
 * that are loaded ahead, into static and dynamic shared memory. Built for sm_75 the same program copies at
 * once.
 */
#include "../testing.h"

#include <cuda_pipeline.h>

enum { THREADS = 64, STEPS = 9, WORDS = 4 * THREADS, MOST_STAGES = 4 };

/** out[i] = in[i] with the last zeros bytes of every 16 cleared; each thread copies its 16 in parts of bytes.
 */
template <int BYTES, int ZEROS> static __global__ void copy_kernel(const unsigned *in, unsigned *out)
{
    __shared__ __align__(16) unsigned tile[WORDS];
    const int mine = 4 * (int)threadIdx.x, other = (mine + WORDS / 2) % WORDS;
    for (int word = 0; word < 4; word += BYTES / 4) {
        __pipeline_memcpy_async(&tile[mine + word], &in[mine + word], BYTES, ZEROS);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads(); /* all threads have waited for their copies */
    for (int word = 0; word < 4; word++) out[other + word] = tile[other + word];
}

template <int BYTES, int ZEROS> static void run_copy(const unsigned *in, unsigned *out, const unsigned *host)
{
    static unsigned got[WORDS];
    copy_kernel<BYTES, ZEROS><<<1, THREADS>>>(in, out);
    finish_launch("copy_kernel");
    download(got, out, WORDS);
    for (int byte = 0; byte < 4 * WORDS; byte++) {
        const unsigned expected = byte % BYTES < BYTES - ZEROS ? ((const unsigned char *)host)[byte] : 0;
        expect_equal("copied byte", (size_t)byte, ((const unsigned char *)got)[byte], expected);
    }
}

/** out[j] = sum over the steps of in[step][WORDS - 1 - j] (a word another thread has copied), stages ahead.
 */
static __global__ void staged_kernel(const unsigned *in, /* [STEPS, WORDS] */
                                     unsigned *out,      /* [WORDS] */
                                     int stages)
{
    extern __shared__ __align__(16) unsigned stage[]; /* [stages, WORDS] */
    const int mine = 4 * (int)threadIdx.x;
    unsigned sum[4] = {0, 0, 0, 0};
    for (int step = 0; step < stages - 1; step++) {
        __pipeline_memcpy_async(&stage[step * WORDS + mine], &in[step * WORDS + mine], 16);
        __pipeline_commit();
    }
    for (int step = 0; step < STEPS; step++) {
        const int next = step + stages - 1;
        if (stages == 1) __syncthreads(); /* the only stage has been read */
        if (stages == 1 && next < STEPS)
            __pipeline_memcpy_async(&stage[next % stages * WORDS + mine], &in[next * WORDS + mine], 16);
        if (stages == 1) __pipeline_commit();
        __pipeline_wait_prior(stages == 1 ? 0 : stages - 2);
        __syncthreads(); /* this step's stage is whole, and the one before has been read */
        if (stages > 1 && next < STEPS)
            __pipeline_memcpy_async(&stage[next % stages * WORDS + mine], &in[next * WORDS + mine], 16);
        if (stages > 1) __pipeline_commit();
        for (int word = 0; word < 4; word++) {
            sum[word] += stage[step % stages * WORDS + WORDS - 1 - (mine + word)];
        }
    }
    for (int word = 0; word < 4; word++) out[mine + word] = sum[word];
}

static void run_staged(const unsigned *in, unsigned *out, const unsigned *host, int stages)
{
    static unsigned got[WORDS];
    staged_kernel<<<1, THREADS, stages * WORDS * sizeof(unsigned)>>>(in, out, stages);
    finish_launch("staged_kernel");
    download(got, out, WORDS);
    for (int j = 0; j < WORDS; j++) {
        unsigned sum = 0;
        for (int step = 0; step < STEPS; step++) sum += host[step * WORDS + WORDS - 1 - j];
        expect_equal("sum over the steps", (size_t)j, got[j], sum);
    }
}

int main(void)
{
    static unsigned host[STEPS * WORDS];
    unsigned state = 9;
    for (int i = 0; i < STEPS * WORDS; i++) host[i] = next_random(&state) | 0x01010101u; /* no byte is 0 */
    unsigned *in = upload(host, STEPS * WORDS), *out = device_array<unsigned>(WORDS);
    run_copy<4, 0>(in, out, host);
    run_copy<8, 0>(in, out, host);
    run_copy<16, 0>(in, out, host);
    run_copy<4, 1>(in, out, host);
    run_copy<8, 6>(in, out, host);
    run_copy<16, 4>(in, out, host);
    run_copy<16, 16>(in, out, host);
    for (int stages = 1; stages <= MOST_STAGES; stages++) run_staged(in, out, host, stages);
    release(in);
    release(out);
    return finish("async_copies");
}
