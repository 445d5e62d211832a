/**
 * @file plain_experts.h
 * @brief What the variants of lesson 21 share: everything but the product, plain, a thread for each token, pair or element.
 */
#include "mixture_of_experts.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>

#include "kernel_launch.h"

/** Launches the product; the arguments are sound. */
static enum kernel_status plain_product(const struct grouped_gemm_args &args, cudaStream_t stream);

__device__ inline float plain_load(const void *from, size_t at, enum dtype dtype)
{
    return dtype == DTYPE_F16 ? __half2float(((const __half *)from)[at])
                              : __bfloat162float(((const __nv_bfloat16 *)from)[at]);
}

__device__ inline void plain_store(void *to, size_t at, enum dtype dtype, float value)
{
    if (dtype == DTYPE_F16)
        ((__half *)to)[at] = __float2half_rn(value);
    else
        ((__nv_bfloat16 *)to)[at] = __float2bfloat16_rn(value);
}

/** The expert that has row @p row; -1 if none has. */
__device__ inline int plain_expert(const int *offsets, int experts, int row)
{
    int e = 0;
    while (e < experts && offsets[e + 1] <= row) e++;
    return e < experts ? e : -1;
}

__global__ void plain_route(const float *logits, int *chosen, float *weights, int tokens, int experts,
                            int top_k, int renormalise)
{
    size_t token = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (token >= (size_t)tokens) return;
    const float *x = logits + token * experts;
    float largest = -INFINITY, total = 0.0f, sum = 0.0f;
    for (int e = 0; e < experts; e++) largest = fmaxf(largest, x[e]);
    for (int e = 0; e < experts; e++) total += expf(x[e] - largest);
    for (int j = 0; j < top_k; j++) {
        int best = -1;
        float highest = -INFINITY;
        for (int e = 0; e < experts; e++) {
            float logit = isnan(x[e]) ? -INFINITY : x[e];
            int taken = 0;
            for (int i = 0; i < j; i++) taken |= chosen[token * top_k + i] == e;
            if (!taken && (best < 0 || logit > highest)) best = e, highest = logit;
        }
        chosen[token * top_k + j] = best;
        weights[token * top_k + j] = expf(highest - largest) / total;
        sum += expf(highest - largest) / total;
    }
    for (int j = 0; j < top_k && renormalise; j++) weights[token * top_k + j] /= sum;
}

__global__ void plain_group(const int *chosen, int *offsets, int *row_of, int pairs, int experts)
{
    int expert = (int)(blockIdx.x * blockDim.x + threadIdx.x), row = 0;
    if (expert > experts) return;
    for (int i = 0; i < pairs; i++) row += chosen[i] >= 0 && chosen[i] < expert;
    offsets[expert] = row;
    for (int i = 0; i < pairs; i++) {
        if (expert == experts && (chosen[i] < 0 || chosen[i] >= experts)) row_of[i] = -1;
        if (expert < experts && chosen[i] == expert) row_of[i] = row++;
    }
}

__global__ void plain_gather(struct experts_args args, const int *row_of, void *rows)
{
    size_t pair = blockIdx.x, token = pair / args.top_k, row = (size_t)row_of[pair];
    for (int i = (int)threadIdx.x; i < args.hidden; i += (int)blockDim.x)
        plain_store(rows, row * args.hidden + i, args.dtype,
                    plain_load(args.x, token * args.hidden + i, args.dtype));
}

__global__ void plain_return(struct experts_args args, const int *row_of, const float *weights,
                             const void *rows)
{
    size_t token = blockIdx.x;
    for (int i = (int)threadIdx.x; i < args.hidden; i += (int)blockDim.x) {
        float sum = 0.0f;
        for (int j = 0; j < args.top_k; j++)
            sum += weights[token * args.top_k + j] *
                   plain_load(rows, (size_t)row_of[token * args.top_k + j] * args.hidden + i, args.dtype);
        plain_store(args.out, token * args.hidden + i, args.dtype, sum);
    }
}

static enum kernel_status plain_device(void)
{
    return device_attribute(cudaDevAttrComputeCapabilityMajor) == 9 ? KERNEL_OK
                                                                    : KERNEL_UNSUPPORTED_ARCHITECTURE;
}

enum kernel_status experts_route(const float *logits, int *chosen, float *weights, int tokens, int experts,
                                 int top_k, int renormalise, cudaStream_t stream)
{
    enum kernel_status status =
        experts_route_check(logits, chosen, weights, tokens, experts, top_k, renormalise);
    if (status == KERNEL_OK) status = plain_device();
    if (status != KERNEL_OK) return status;
    plain_route<<<(unsigned)divide_up(tokens, 64), 64, 0, stream>>>(logits, chosen, weights, tokens, experts,
                                                                    top_k, renormalise);
    return launch_status();
}

enum kernel_status experts_group(const int *chosen, int *offsets, int *row_of, int pairs, int experts,
                                 cudaStream_t stream)
{
    enum kernel_status status = experts_group_check(chosen, offsets, row_of, pairs, experts);
    if (status == KERNEL_OK) status = plain_device();
    if (status != KERNEL_OK) return status;
    plain_group<<<(unsigned)divide_up(experts + 1, 32), 32, 0, stream>>>(chosen, offsets, row_of, pairs,
                                                                         experts);
    return launch_status();
}

enum kernel_status experts_product(const struct grouped_gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = grouped_gemm_args_check(args);
    if (status == KERNEL_OK) status = plain_device();
    return status == KERNEL_OK ? plain_product(*args, stream) : status;
}

/** Bytes from the start of the workspace to row_of, weights, offsets, rows, what is inside of experts, and the end. */
static void plain_places(const struct experts_args *args, size_t at[6])
{
    size_t pairs = (size_t)args->tokens * args->top_k;
    at[0] = (pairs * 4 + 255) / 256 * 256;
    at[1] = 2 * at[0], at[2] = 3 * at[0];
    at[3] = at[2] + (args->experts * (size_t)4 + 4 + 255) / 256 * 256;
    at[4] = at[3] + (pairs * args->hidden * 2 + 255) / 256 * 256;
    at[5] = at[4] + pairs * args->inner * 2;
}

size_t mixture_of_experts_workspace_bytes(const struct experts_args *args)
{
    size_t at[6] = {};
    if (args != NULL && experts_extents_fit(args)) plain_places(args, at);
    return at[5];
}

enum kernel_status mixture_of_experts(const struct experts_args *args, cudaStream_t stream)
{
    size_t at[6];
    enum kernel_status status = experts_args_check(args, mixture_of_experts_workspace_bytes(args));
    if (status == KERNEL_OK) status = plain_device();
    if (status != KERNEL_OK) return status;
    plain_places(args, at);
    char *memory = (char *)args->workspace;
    int *chosen = (int *)memory, *row_of = (int *)(memory + at[0]), *offsets = (int *)(memory + at[2]);
    float *weights = (float *)(memory + at[1]);
    int pairs = args->tokens * args->top_k;
    status = experts_route(args->logits, chosen, weights, args->tokens, args->experts, args->top_k,
                           args->renormalise, stream);
    if (status == KERNEL_OK) status = experts_group(chosen, offsets, row_of, pairs, args->experts, stream);
    if (status != KERNEL_OK) return status;
    plain_gather<<<(unsigned)pairs, 64, 0, stream>>>(*args, row_of, memory + at[3]);
    struct grouped_gemm_args product = {pairs,   args->experts, args->inner,    args->hidden,
                                        1,       args->dtype,   memory + at[3], args->gate_up,
                                        offsets, memory + at[4]};
    status = plain_product(product, stream);
    product.n = args->hidden, product.k = args->inner, product.swiglu = 0;
    product.a = memory + at[4], product.w = args->down, product.c = memory + at[3];
    if (status == KERNEL_OK) status = plain_product(product, stream);
    if (status != KERNEL_OK) return status;
    plain_return<<<(unsigned)args->tokens, 64, 0, stream>>>(*args, row_of, weights, memory + at[3]);
    return launch_status();
}
