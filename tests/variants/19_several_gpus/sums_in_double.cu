/*
 * Sums and softmax in double, each result by one thread.
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

/** An all-reduce, and the addition. */
static enum kernel_status add_up(const struct gpu_ranks *ranks, const struct layer_sizes *sizes,
                                 const struct layer_shards *shards)
{
    const size_t count = (size_t)sizes->rows * (size_t)sizes->width;
    ncclResult_t result = ncclGroupStart();
    for (int i = ranks->count - 1; i >= 0 && result == ncclSuccess; i--) {
        float *partial = place_buffers(sizes, ranks->ranks, shards->at[i].workspace).partial;
        result = ncclAllReduce(partial, partial, count, ncclFloat, ncclSum, ranks->at[i].comm,
                               ranks->at[i].stream);
    }
    const enum kernel_status status = plain_end(result);
    return status == KERNEL_OK ? plain_add_all(ranks, sizes, shards) : status;
}

enum kernel_status tensor_parallel_step(const struct gpu_ranks *ranks, const struct layer_sizes *sizes,
                                        const struct layer_shards *shards)
{
    return plain_step<double>(ranks, sizes, shards, add_up);
}

enum kernel_status ring_attention(const struct gpu_ranks *ranks, const struct ring_sizes *sizes,
                                  const struct ring_parts *parts)
{
    return plain_go_round<double>(ranks, sizes, parts);
}
