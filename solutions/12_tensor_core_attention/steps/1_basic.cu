// Step 1: FlashAttention-2 on mma.sync. Q stays in registers, P is S as it lies; each lane loads its elements of K and V
// from tiles without padding: the eight rows of a fragment of K are in the same banks.
#include "steps.h"

/** One block, 64 queries of a head. */
template <int HEAD_DIM> static __global__ void __launch_bounds__(STEP_THREADS) basic_kernel(struct problem x)
{
    __shared__ alignas(128) __half k[STEP_KEYS * HEAD_DIM], v[STEP_KEYS * HEAD_DIM];
    struct lane_rows<HEAD_DIM> rows;
    begin_rows<HEAD_DIM>(&rows, x);
    const __half *k_head = x.k + kv_row(x) * HEAD_DIM, *v_head = x.v + kv_row(x) * HEAD_DIM;
    for (int key = 0; key < x.length; key += STEP_KEYS) {
        copy_tile<HEAD_DIM, 0>(k, k_head + (size_t)key * HEAD_DIM);
        copy_tile<HEAD_DIM, 0>(v, v_head + (size_t)key * HEAD_DIM);
        __syncthreads(); // both tiles are complete before anybody multiplies
        float s[STEP_KEYS / 8][4];
        score_by_pairs<HEAD_DIM, 0>(s, rows, k);
        weigh<HEAD_DIM>(s, &rows);
        add_by_elements<HEAD_DIM, 0>(&rows, s, v);
        __syncthreads(); // everybody is done with them before the next ones take their place
    }
    end_rows<HEAD_DIM>(rows, x);
}

void step_basic(struct problem x)
{
    if (x.head_dim == 64) basic_kernel<64><<<blocks_of(x), STEP_THREADS>>>(x);
    if (x.head_dim == 128) basic_kernel<128><<<blocks_of(x), STEP_THREADS>>>(x);
}
