// Times the attention of lesson 02, 04 or 05 by number of heads, without the checker: f32, not causal, 2048 queries and keys,
// head_dim 64. It tells apart what lesson 05 gains by more blocks and what by its register tiles.
//
//   nvcc -O3 -std=c++17 -arch=native -Icommon/contracts -Ilessons/05_flash_attention_2
//        -DSOLUTION='"../../solutions/05_flash_attention_2/flash_attention_2.cu"' -DENTRY=flash_attention_2_f32
//        tests/gpu/time_attention.cu -o /tmp/time_attention && /tmp/time_attention 2048 16 132 264 528
//
// Arguments: the length, then numbers of heads. Each is launched 13 times with the L2 cache flushed before, the last 11 count,
// and the median is printed as docs/results/*.csv have it; then rows of the output are held against float64.
// Lessons 02 and 04 need -DWORKSPACE= with the name of their function, for example flash_attention_1_workspace_bytes.
#include SOLUTION

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <vector>

enum { WIDTH = 64, WARM_UP = 2, COUNTED = 11, FLUSH = 128 << 20 };

/** A number in [-1, 1) for each index. */
__host__ __device__ static float value_at(size_t i)
{
    unsigned x = (unsigned)i * 2654435761u;
    x = (x ^ x >> 15) * 2246822519u;
    return (float)((x ^ x >> 13) >> 8) / 8388608.0f - 1.0f;
}

static __global__ void write_values(float *to, size_t count, size_t first)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * (size_t)blockDim.x)
        to[i] = value_at(first + i);
}

/** The largest error of the first query of the first and of the last head. */
static double error_of(const struct attention_args *args)
{
    size_t length = (size_t)args->kv_len, elems = (size_t)args->heads * length * WIDTH;
    double worst = 0.0;
    for (size_t head : {(size_t)0, (size_t)args->heads - 1}) {
        std::vector<double> sum(WIDTH, 0.0);
        double l = 0.0, scale = attention_scale(args);
        for (size_t key = 0; key < length; key++) {
            double dot = 0.0;
            for (size_t d = 0; d < WIDTH; d++)
                dot += (double)value_at(head * length * WIDTH + d) *
                       value_at(elems + (head * length + key) * WIDTH + d);
            double weight = exp(scale * dot);
            l += weight;
            for (size_t d = 0; d < WIDTH; d++)
                sum[d] += weight * value_at(2 * elems + (head * length + key) * WIDTH + d);
        }
        float got[WIDTH];
        cudaMemcpy(got, (const float *)args->out + head * length * WIDTH, sizeof got, cudaMemcpyDeviceToHost);
        for (size_t d = 0; d < WIDTH; d++)
            if (!(fabs(got[d] - sum[d] / l) <= worst)) worst = fabs(got[d] - sum[d] / l);
    }
    return worst;
}

/** Milliseconds of one call, the median; negative if one failed. */
static float time_of(const struct attention_args *args, void *flush)
{
    std::vector<float> ms(WARM_UP + COUNTED);
    cudaEvent_t begin, end;
    cudaEventCreate(&begin), cudaEventCreate(&end);
    for (float &one : ms) {
        cudaMemsetAsync(flush, 0, FLUSH);
        cudaEventRecord(begin);
        if (ENTRY(args, 0) != KERNEL_OK) return -1.0f;
        cudaEventRecord(end);
        if (cudaEventSynchronize(end) != cudaSuccess) return -1.0f;
        cudaEventElapsedTime(&one, begin, end);
    }
    cudaEventDestroy(begin), cudaEventDestroy(end);
    std::sort(ms.begin() + WARM_UP, ms.end());
    return ms[WARM_UP + COUNTED / 2];
}

/** Prints the row of one number of heads; 1 if it failed. */
static int time_heads(int length, int heads, void *flush)
{
    size_t elems = (size_t)heads * (size_t)length * WIDTH;
    float *memory = NULL; // Q, K, V, O
    struct attention_args args = {};
    if (heads < 1 || length < 1 || cudaMalloc((void **)&memory, 4 * elems * sizeof(float)) != cudaSuccess)
        return 1;
    write_values<<<1024, 256>>>(memory, 3 * elems, 0);
    args.batch = 1;
    args.heads = args.kv_heads = heads;
    args.q_len = args.kv_len = length;
    args.head_dim = WIDTH;
    args.q = memory, args.k = memory + elems, args.v = memory + 2 * elems, args.out = memory + 3 * elems;
#ifdef WORKSPACE
    args.workspace_bytes = WORKSPACE(&args);
    if (cudaMalloc(&args.workspace, args.workspace_bytes) != cudaSuccess) return 1;
#endif
    float ms = time_of(&args, flush);
    printf("f32/heads_%d_len_%d,time,%.1f,us   %.1f us per head, error %.1e\n", heads, length, ms * 1e3,
           ms * 1e3 / heads, error_of(&args));
    cudaFree(args.workspace), cudaFree(memory);
    return ms < 0.0f;
}

int main(int count, char **arguments)
{
    void *flush;
    if (count < 3 || cudaMalloc(&flush, FLUSH) != cudaSuccess) {
        fprintf(stderr, "usage: time_attention LENGTH HEADS... (and a GPU)\n");
        return 2;
    }
    int failed = 0;
    for (int a = 2; a < count; a++) failed |= time_heads(atoi(arguments[1]), atoi(arguments[a]), flush);
    cudaFree(flush);
    return failed;
}
