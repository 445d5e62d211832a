/** No shared memory: a block is one warp, and m rises with every 16 keys. */
#include "fragments.h"

template <typename T, int HEAD_DIM> __global__ void attention_kernel(struct attention_args args, float scale)
{
    struct warp_rows<T, HEAD_DIM> w;
    begin(&w, args, scale, (int)blockIdx.x);
    for (int first = 0; first < w.any; first += KEYS) {
        float s[2][4];
        score(w, args, first, s);
        for (int h = 0; h < 2; h++) refer_to(&w, h, fmaxf(w.m[h], largest(s, h)));
        add(&w, first, s);
    }
    finish(&w, args);
}

template <typename T, int HEAD_DIM>
static enum kernel_status launch(const struct attention_args *args, cudaStream_t stream)
{
    int warps = args->batch * args->heads * divide_up(args->q_len, 16);
    attention_kernel<T, HEAD_DIM><<<(unsigned)warps, WARP_LANES, 0, stream>>>(*args, attention_scale(args));
    return launch_status();
}
