/** Three warps share 16 rows and take 16 keys in turn, each with an m of its own; the first merges their sums. */
#include "fragments.h"

enum { WORKERS = 3 };

template <typename T, int HEAD_DIM> __global__ void attention_kernel(struct attention_args args, float scale)
{
    __shared__ float sums[WARP_LANES]
                         [HEAD_DIM / 2 + 5]; /* m, l, O of a lane of the worker whose turn it is */
    struct warp_rows<T, HEAD_DIM> w;
    int worker = (int)threadIdx.x / WARP_LANES, lane = (int)threadIdx.x % WARP_LANES;
    begin(&w, args, scale, (int)blockIdx.x);
    for (int first = worker * KEYS; first < w.any; first += WORKERS * KEYS) {
        float s[2][4];
        score(w, args, first, s);
        for (int h = 0; h < 2; h++) refer_to(&w, h, fmaxf(w.m[h], largest(s, h)));
        add(&w, first, s);
    }
    for (int other = 1; other < WORKERS; other++) {
        if (worker == other) {
            for (int h = 0; h < 2; h++) sums[lane][h] = w.m[h], sums[lane][2 + h] = w.l[h];
            for (int i = 0; i < HEAD_DIM / 2; i++) sums[lane][4 + i] = w.o[i / 4][i % 4];
        }
        __syncthreads(); /* the sums of this worker are there */
        for (int h = 0; h < 2 && worker == 0; h++) {
            refer_to(&w, h, fmaxf(w.m[h], sums[lane][h]));
            float correction = exp2f(sums[lane][h] - shift_of(w.m[h]));
            w.l[h] += sums[lane][2 + h] * correction;
            for (int i = 0; i < HEAD_DIM / 2; i++)
                if (i % 4 / 2 == h) w.o[i / 4][i % 4] += sums[lane][4 + i] * correction;
        }
        __syncthreads(); /* and have been read before the next worker's replace them */
    }
    if (worker == 0) finish(&w, args);
}

template <typename T, int HEAD_DIM>
static enum kernel_status launch(const struct attention_args *args, cudaStream_t stream)
{
    int tiles = args->batch * args->heads * divide_up(args->q_len, 16);
    attention_kernel<T, HEAD_DIM>
        <<<(unsigned)tiles, WORKERS * WARP_LANES, 0, stream>>>(*args, attention_scale(args));
    return launch_status();
}
