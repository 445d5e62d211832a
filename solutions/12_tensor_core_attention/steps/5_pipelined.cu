// Step 5: V arrives while Q and K are multiplied, and the next K while softmax and P V go on. Memory is the same.
#include "steps.h"

/** One block, 64 queries of a head. */
template <int HEAD_DIM>
static __global__ void __launch_bounds__(STEP_THREADS) pipelined_kernel(struct problem x)
{
    __shared__ alignas(128) __half k[STEP_KEYS * HEAD_DIM], v[STEP_KEYS * HEAD_DIM];
    struct lane_rows<HEAD_DIM> rows;
    begin_rows<HEAD_DIM>(&rows, x);
    const __half *k_head = x.k + kv_row(x) * HEAD_DIM, *v_head = x.v + kv_row(x) * HEAD_DIM;
    start_tile<HEAD_DIM>(k, k_head);
    wait_copies();
    __syncthreads(); // the first K is complete
    for (int key = 0; key < x.length; key += STEP_KEYS) {
        start_tile<HEAD_DIM>(v, v_head + (size_t)key * HEAD_DIM);
        float s[STEP_KEYS / 8][4];
        score_by_matrices<HEAD_DIM>(s, rows, k);
        wait_copies();
        __syncthreads(); // V is complete, and everybody is done with K
        if (key + STEP_KEYS < x.length)
            start_tile<HEAD_DIM>(k, k_head + (size_t)(key + STEP_KEYS) * HEAD_DIM);
        weigh<HEAD_DIM>(s, &rows);
        add_by_matrices<HEAD_DIM>(&rows, s, v);
        wait_copies();
        __syncthreads(); // the next K is complete, and everybody is done with V
    }
    end_rows<HEAD_DIM>(rows, x);
}

void step_pipelined(struct problem x)
{
    if (x.head_dim == 64) pipelined_kernel<64><<<blocks_of(x), STEP_THREADS>>>(x);
    if (x.head_dim == 128) pipelined_kernel<128><<<blocks_of(x), STEP_THREADS>>>(x);
}
