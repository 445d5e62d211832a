// Step 4: ldmatrix.x4 brings two fragments of K in one instruction in place of four, and of V, transposed, in place of eight.
#include "steps.h"

/** One block, 64 queries of a head. */
template <int HEAD_DIM>
static __global__ void __launch_bounds__(STEP_THREADS) ldmatrix_kernel(struct problem x)
{
    __shared__ alignas(128) __half k[STEP_KEYS * HEAD_DIM], v[STEP_KEYS * HEAD_DIM];
    struct lane_rows<HEAD_DIM> rows;
    begin_rows<HEAD_DIM>(&rows, x);
    const __half *k_head = x.k + kv_row(x) * HEAD_DIM, *v_head = x.v + kv_row(x) * HEAD_DIM;
    for (int key = 0; key < x.length; key += STEP_KEYS) {
        start_tile<HEAD_DIM>(k, k_head + (size_t)key * HEAD_DIM);
        start_tile<HEAD_DIM>(v, v_head + (size_t)key * HEAD_DIM);
        wait_copies();
        __syncthreads(); // both tiles are complete before anybody multiplies
        float s[STEP_KEYS / 8][4];
        score_by_matrices<HEAD_DIM>(s, rows, k);
        weigh<HEAD_DIM>(s, &rows);
        add_by_matrices<HEAD_DIM>(&rows, s, v);
        __syncthreads(); // everybody is done with them before the next ones take their place
    }
    end_rows<HEAD_DIM>(rows, x);
}

void step_ldmatrix(struct problem x)
{
    if (x.head_dim == 64) ldmatrix_kernel<64><<<blocks_of(x), STEP_THREADS>>>(x);
    if (x.head_dim == 128) ldmatrix_kernel<128><<<blocks_of(x), STEP_THREADS>>>(x);
}
