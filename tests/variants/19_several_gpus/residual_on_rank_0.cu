/*
 * Rank 0 adds x to its part, so that the sum over the ranks is the new x.
 */
#include "several_gpus.h"

#include "plain_ranks.h"

size_t tensor_parallel_workspace_bytes(const struct layer_sizes *sizes, int ranks)
{
    if (sizes == NULL || !ranks_fit(ranks) || !layer_fits(sizes, ranks)) return 0;
    return place_buffers(sizes, ranks, NULL).bytes;
}

size_t ring_attention_workspace_bytes(const struct ring_sizes *sizes, int ranks)
{
    if (sizes == NULL || !ranks_fit(ranks) || !ring_fits(sizes) || ranks == 1) return 0;
    return 4 * sizeof(float) * (size_t)sizes->heads * (size_t)sizes->part * (size_t)sizes->head_dim;
}

/** x = the sum of all parts, one of which has x in it. */
static enum kernel_status add_up(const struct gpu_ranks *ranks, const struct layer_sizes *sizes,
                                 const struct layer_shards *shards)
{
    const int count = sizes->rows * sizes->width;
    for (int i = 0; i < ranks->count; i++) {
        const struct gpu_rank *r = &ranks->at[i];
        if (r->rank != 0) continue;
        if (cudaSetDevice(r->device) != cudaSuccess) return KERNEL_CUDA_ERROR;
        plain_add<<<plain_blocks((size_t)count), PLAIN_THREADS, 0, r->stream>>>(
            place_buffers(sizes, ranks->ranks, shards->at[i].workspace).partial, shards->at[i].x, count);
        if (launch_status() != KERNEL_OK) return KERNEL_CUDA_ERROR;
    }
    ncclResult_t result = ncclGroupStart();
    for (int i = 0; i < ranks->count && result == ncclSuccess; i++)
        result = ncclAllReduce(place_buffers(sizes, ranks->ranks, shards->at[i].workspace).partial,
                               shards->at[i].x, (size_t)count, ncclFloat, ncclSum, ranks->at[i].comm,
                               ranks->at[i].stream);
    return plain_end(result);
}

enum kernel_status tensor_parallel_step(const struct gpu_ranks *ranks, const struct layer_sizes *sizes,
                                        const struct layer_shards *shards)
{
    return plain_step<float>(ranks, sizes, shards, add_up);
}

enum kernel_status ring_attention(const struct gpu_ranks *ranks, const struct ring_sizes *sizes,
                                  const struct ring_parts *parts)
{
    return plain_go_round<float>(ranks, sizes, parts);
}
