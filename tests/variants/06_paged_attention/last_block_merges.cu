/*
 * A correct solution of another shape: a warp per row, newest key first. The partitions of v2 are merged by whichever block
 * of a row ends last: a counter in the workspace says which, so there is no second kernel. Where there is one
 * partition there is no workspace. A fault of the table is found by atomicMax.
 */
#include "paged_attention.h"
#include <cuda_fp16.h>
static enum kernel_status launched(void)
{
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}
__device__ inline const __half *row_at(const struct paged_attention_args &a, const void *cache, int b,
                                       int token, int kv_head)
{
    size_t page = (size_t)a.block_table[(size_t)b * a.max_blocks + token / a.block_size];
    return (const __half *)cache +
           ((page * a.block_size + token % a.block_size) * a.kv_heads + kv_head) * a.head_dim;
}
enum { PART = 192 }; /* keys of a partition */
__host__ __device__ inline int parts_of(int max_context_len)
{
    return (max_context_len + PART - 1) / PART;
}
/* one counter a row, then the partials; a row of one partition needs none of it */
size_t paged_attention_v2_workspace_bytes(const struct paged_attention_args *a)
{
    if (a == NULL || !paged_attention_extents_fit(a) || parts_of(a->max_context_len) == 1) return 0;
    size_t rows = (size_t)a->batch * a->heads;
    return (4 * rows + 4 * rows * parts_of(a->max_context_len) * (size_t)(a->head_dim + 2) + 255) / 256 * 256;
}
__global__ void ok_kernel(struct paged_attention_args a)
{
    *a.device_status = KERNEL_OK;
}
__global__ void validate_kernel(struct paged_attention_args a)
{
    int b = blockIdx.x, n = a.context_lens[b], bad = n < 0 || n > a.max_context_len;
    for (int i = threadIdx.x; !bad && i < (n + a.block_size - 1) / a.block_size; i += blockDim.x)
        bad = (unsigned)a.block_table[(size_t)b * a.max_blocks + i] >= (unsigned)a.num_blocks;
    if (bad) atomicMax(a.device_status, (int)KERNEL_INVALID_BLOCK_TABLE);
}
struct warp_row {
    float o[4], m, l;
};
/* keys first, first - 1, ... last: the newest first */
__device__ struct warp_row attend(const struct paged_attention_args &a, float scale, int b, int h, int first,
                                  int last)
{
    struct warp_row w = {{0, 0, 0, 0}, -INFINITY, 0.0f};
    int lane = threadIdx.x % 32, n = a.context_lens[b], each = a.head_dim / 32,
        kh = h / (a.heads / a.kv_heads);
    const __half *q = (const __half *)a.q + ((size_t)b * a.heads + h) * a.head_dim;
    float slope = a.alibi_slopes ? a.alibi_slopes[h] : 0.0f;
    for (int t = first; t >= last; t--) {
        const __half *k = row_at(a, a.k_cache, b, t, kh), *v = row_at(a, a.v_cache, b, t, kh);
        float x = 0.0f;
        for (int c = 0; c < each; c++) x += __half2float(q[c * 32 + lane]) * __half2float(k[c * 32 + lane]);
        for (int d = 1; d < 32; d *= 2) x += __shfl_xor_sync(~0u, x, d);
        x = x * scale;
        if (a.alibi_slopes) x += slope * (float)(t - (n - 1));
        float top = fmaxf(w.m, x), s = top == -INFINITY ? 0.0f : top, f = w.l == 0.0f ? 1.0f : expf(w.m - s),
              p = expf(x - s);
        w.l = w.l * f + p;
        for (int c = 0; c < each; c++) w.o[c] = w.o[c] * f + p * __half2float(v[c * 32 + lane]);
        w.m = top;
    }
    return w;
}
__device__ inline void store(const struct paged_attention_args &a, int row, const struct warp_row &w)
{
    for (int c = 0; c < a.head_dim / 32; c++)
        ((__half *)a.out)[(size_t)row * a.head_dim + c * 32 + threadIdx.x % 32] =
            __float2half_rn(w.l == 0.0f ? w.o[c] : w.o[c] / w.l);
}
__global__ void v1_kernel(struct paged_attention_args a, float scale)
{
    int row = blockIdx.x * 3 + threadIdx.x / 32;
    if (row >= a.batch * a.heads || *a.device_status != KERNEL_OK) return; /* whole warps leave, no barrier */
    store(a, row, attend(a, scale, row / a.heads, row % a.heads, a.context_lens[row / a.heads] - 1, 0));
}
__global__ void zero_kernel(unsigned *counter, int count)
{
    for (int i = threadIdx.x; i < count; i += blockDim.x) counter[i] = 0;
}
__global__ void v2_kernel(struct paged_attention_args a, float scale, int parts)
{
    if (*a.device_status != KERNEL_OK) return;
    int row = blockIdx.x / parts, part = blockIdx.x % parts, lane = threadIdx.x, b = row / a.heads,
        n = a.context_lens[b], each = a.head_dim / 32;
    struct warp_row w = attend(a, scale, b, row % a.heads, min(n, (part + 1) * PART) - 1, part * PART);
    if (parts == 1) {
        store(a, row, w);
        return;
    }
    unsigned *counter = (unsigned *)a.workspace + row;
    float *all = (float *)a.workspace + (size_t)a.batch * a.heads + (size_t)row * parts * (a.head_dim + 2),
          *mine = all + part * (a.head_dim + 2);
    for (int c = 0; c < each; c++) mine[2 + c * 32 + lane] = w.o[c];
    if (lane == 0) mine[0] = w.m, mine[1] = w.l;
    __threadfence();
    __syncwarp();
    unsigned before = 0;
    if (lane == 0) before = atomicAdd(counter, 1u);
    before = __shfl_sync(~0u, before, 0);
    if (before != (unsigned)parts - 1) return;
    __threadfence();
    struct warp_row sum = {{0, 0, 0, 0}, -INFINITY, 0.0f};
    for (int p = 0; p < parts; p++) sum.m = fmaxf(sum.m, all[p * (a.head_dim + 2)]);
    float s = sum.m == -INFINITY ? 0.0f : sum.m;
    for (int p = 0; p < parts && p * PART < n; p++) {
        const float *from = all + p * (a.head_dim + 2);
        float f = from[1] == 0.0f ? 1.0f : expf(from[0] - s);
        sum.l += from[1] * f;
        for (int c = 0; c < each; c++) sum.o[c] += from[2 + c * 32 + lane] * f;
    }
    store(a, row, sum);
}
#define VALIDATE                                                                                             \
    ok_kernel<<<1, 1, 0, s>>>(*a);                                                                           \
    validate_kernel<<<a->batch, 40, 0, s>>>(*a)
#define V1 v1_kernel<<<(a->batch * a->heads + 2) / 3, 96, 0, s>>>(*a, paged_attention_scale(a))
#define V2                                                                                                   \
    int parts = parts_of(a->max_context_len);                                                                \
    if (parts > 1) zero_kernel<<<1, 64, 0, s>>>((unsigned *)a->workspace, a->batch * a->heads);              \
    v2_kernel<<<a->batch * a->heads * parts, 32, 0, s>>>(*a, paged_attention_scale(a), parts)
enum kernel_status paged_attention_validate(const struct paged_attention_args *a, cudaStream_t s)
{
    enum kernel_status st = paged_attention_args_check(a, 0);
    if (st != KERNEL_OK) return st;
    VALIDATE;
    return launched();
}
enum kernel_status paged_attention_v1_f16(const struct paged_attention_args *a, cudaStream_t s)
{
    enum kernel_status st = paged_attention_args_check(a, 0);
    if (st != KERNEL_OK) return st;
    V1;
    return launched();
}
enum kernel_status paged_attention_v2_f16(const struct paged_attention_args *a, cudaStream_t s)
{
    enum kernel_status st = paged_attention_args_check(a, paged_attention_v2_workspace_bytes(a));
    if (st != KERNEL_OK) return st;
    V2;
    return launched();
}
