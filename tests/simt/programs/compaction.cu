/**
 * Stream compaction with warp votes, and counting of keys with __match_any_sync. Shown: __ballot_sync,
 * __popc,
 * __ffs, one atomic a warp whose result is broadcast by a shuffle, results whose order is not determined.
 */
#include "../testing.h"

enum { THREADS = 128, BLOCKS = 9, COUNT = THREADS * BLOCKS, KEYS = 5, FULL_MASK = -1 };

/* Keeps the even elements; those of a warp stay together and in order. */
static __global__ void compact_kernel(const int *in, /* [COUNT] */
                                      int *out,      /* [COUNT] */
                                      int *kept)     /* starts at 0 */
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), lane = (int)threadIdx.x % 32;
    const bool keep = in[i] % 2 == 0;
    const unsigned keepers = __ballot_sync((unsigned)FULL_MASK, keep);
    int place = 0;
    if (lane == 0) place = atomicAdd(kept, __popc(keepers));
    place = __shfl_sync((unsigned)FULL_MASK, place, 0) + __popc(keepers & ((1u << lane) - 1));
    if (keep) out[place] = in[i];
}

/* One atomic for all lanes of a warp that hold the same key. */
static __global__ void count_keys_kernel(const int *in, /* [COUNT] */
                                         int *counts)   /* [KEYS], starts at 0 */
{
    const int key = in[blockIdx.x * blockDim.x + threadIdx.x] % KEYS;
    const unsigned same = __match_any_sync((unsigned)FULL_MASK, key);
    const int leader = __ffs((int)same) - 1;
    if ((int)threadIdx.x % 32 == leader) atomicAdd(&counts[key], __popc(same));
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int main(void)
{
    static int host[COUNT], expected[COUNT], got[COUNT];
    int expected_count = 0, expected_keys[KEYS] = {0}, got_keys[KEYS], got_count;
    unsigned state = 31;
    for (int i = 0; i < COUNT; i++) {
        host[i] = (int)(next_random(&state) % 100000);
        if (host[i] % 2 == 0) expected[expected_count++] = host[i];
        expected_keys[host[i] % KEYS]++;
    }
    int *in = upload(host, COUNT), *out = device_array<int>(COUNT), *counts = device_array<int>(KEYS + 1);
    require(cudaMemset(counts, 0, (KEYS + 1) * sizeof *counts), "cudaMemset");
    compact_kernel<<<BLOCKS, THREADS>>>(in, out, counts + KEYS);
    finish_launch("compact_kernel");
    count_keys_kernel<<<BLOCKS, THREADS>>>(in, counts);
    finish_launch("count_keys_kernel");

    download(&got_count, counts + KEYS, 1);
    expect_equal("kept", 0, got_count, expected_count);
    download(got, out, expected_count);
    qsort(got, expected_count, sizeof *got, ascending);
    qsort(expected, expected_count, sizeof *expected, ascending);
    for (int i = 0; i < expected_count; i++) expect_equal("out", i, got[i], expected[i]);
    download(got_keys, counts, KEYS);
    for (int key = 0; key < KEYS; key++) expect_equal("key", key, got_keys[key], expected_keys[key]);
    release(in);
    release(out);
    release(counts);
    return finish("compaction");
}
