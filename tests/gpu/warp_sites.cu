/**
 * @file warp_sites.cu
 * @brief Asks a GPU what a warp's shuffles, votes and reductions do where its lanes come to them at two places in the code.
 *
 *     nvcc -arch=native -o warp_sites tests/gpu/warp_sites.cu
 *     for i in $(seq 0 9); do timeout 10 ./warp_sites $i || echo "question $i: hangs, or an error"; done
 *
 * Every question names the full mask in both branches of an `if`, or a mask that the lanes do not share. A question that hangs is
 * an answer, too: `timeout` ends it. Values are printed for lanes 0, 1, 16 and 31.
 */
#include <cstdio>
#include <cstdlib>

#define FULL 0xffffffffu

enum { LANES = 32, QUESTIONS = 10 };

/* The condition comes from memory, so that the compiler cannot merge the branches; the volatile work keeps their code apart. */
template <int QUESTION> __global__ void ask(const int *half, int *out, volatile int *sink)
{
    const int lane = (int)threadIdx.x;
    int value = -1;
    if (half[lane]) {
        sink[lane] = 1;
        if (QUESTION == 0) value = __shfl_down_sync(FULL, lane * 10, 1);
        if (QUESTION == 1) value = __shfl_sync(FULL, lane * 10, 31 - lane);
        if (QUESTION == 2) value = (int)__ballot_sync(FULL, lane % 2);
        if (QUESTION == 3) value = __any_sync(FULL, lane == 31);
        if (QUESTION == 4) __syncwarp(FULL), value = 1;
        if (QUESTION == 5) value = (int)__reduce_add_sync(FULL, (unsigned)lane);
        if (QUESTION == 6) value = __shfl_sync(FULL, lane * 10, 31 - lane);
        if (QUESTION == 7) value = __shfl_sync(FULL, lane * 10, 31 - lane);
        if (QUESTION == 8) value = (int)__match_any_sync(FULL, lane % 4);
        if (QUESTION == 9) value = (int)__ballot_sync(0x0000ffffu, 1);
    } else {
        sink[lane] = 2;
        sink[lane] = 3;
        if (QUESTION == 0) value = __shfl_down_sync(FULL, lane * 10, 1) + 1000;
        if (QUESTION == 1) value = __shfl_sync(FULL, lane * 10, 31 - lane) + 1000;
        if (QUESTION == 2) value = (int)__ballot_sync(FULL, lane % 2) ^ 1;
        if (QUESTION == 3) value = __any_sync(FULL, lane == 31) + 1000;
        if (QUESTION == 4) __syncwarp(FULL), value = 2;
        if (QUESTION == 5) value = (int)__reduce_add_sync(FULL, (unsigned)lane) + 1000;
        if (QUESTION == 6) value = __shfl_xor_sync(FULL, lane * 10, 16) + 1000; /* another kind of shuffle */
        if (QUESTION == 7) value = (int)__ballot_sync(FULL, 1);                 /* another instruction */
        if (QUESTION == 8) value = (int)__match_any_sync(FULL, lane % 4) ^ 1;
        if (QUESTION == 9)
            value = (int)__ballot_sync(FULL, 1); /* names lanes that wait elsewhere with another mask */
    }
    out[lane] = value;
}

static void (*const kernels[QUESTIONS])(const int *, int *, volatile int *) = {
    ask<0>, ask<1>, ask<2>, ask<3>, ask<4>, ask<5>, ask<6>, ask<7>, ask<8>, ask<9>};
static const char *const texts[QUESTIONS] = {
    "shfl_down in both branches", "shfl.idx in both branches",
    "ballot in both branches",    "any in both branches",
    "syncwarp in both branches",  "reduce_add in both branches",
    "shfl.idx and shfl.bfly",     "shfl and ballot",
    "match_any in both branches", "ballot with two masks that overlap"};

int main(int argc, char **argv)
{
    const int question = argc > 1 ? atoi(argv[1]) : 0;
    int *half, *out, *sink, got[LANES];
    if (question < 0 || question >= QUESTIONS) return 2;
    for (int split = 0; split < 2; split++) { /* lanes 0..15 and 16..31; then even and odd ones */
        int halves[LANES];
        for (int i = 0; i < LANES; i++) halves[i] = split == 0 ? i < LANES / 2 : i % 2 == 0;
        cudaMalloc(&half, sizeof halves);
        cudaMalloc(&out, sizeof got);
        cudaMalloc(&sink, sizeof got);
        cudaMemcpy(half, halves, sizeof halves, cudaMemcpyHostToDevice);
        kernels[question]<<<1, LANES>>>(half, out, sink);
        const cudaError_t error = cudaDeviceSynchronize();
        cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
        printf("%s, %s: lane 0 %d, 1 %d, 16 %d, 31 %d (%s)\n", texts[question],
               split == 0 ? "halves" : "even and odd", got[0], got[1], got[16], got[31],
               cudaGetErrorName(error));
        fflush(stdout);
    }
    return 0;
}
