/*
 * An all-reduce in its two phases, where the count allows it; everything in one stream.
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

/** Each rank adds up its share, then all get all shares. */
static enum kernel_status add_up(const struct gpu_ranks *ranks, const struct layer_sizes *sizes,
                                 const struct layer_shards *shards)
{
    const size_t count = (size_t)sizes->rows * (size_t)sizes->width, share = count / (size_t)ranks->ranks;
    const int whole = count % (size_t)ranks->ranks == 0;
    enum kernel_status status = KERNEL_OK;
    for (int phase = 0; phase < 2 && status == KERNEL_OK; phase++) {
        ncclResult_t result = ncclGroupStart();
        for (int i = 0; i < ranks->count && result == ncclSuccess; i++) {
            const struct gpu_rank *r = &ranks->at[i];
            float *partial = place_buffers(sizes, ranks->ranks, shards->at[i].workspace).partial;
            float *mine = partial + (size_t)r->rank * share;
            if (!whole && phase == 0)
                result = ncclAllReduce(partial, partial, count, ncclFloat, ncclSum, r->comm, r->stream);
            else if (whole && phase == 0)
                result = ncclReduceScatter(partial, mine, share, ncclFloat, ncclSum, r->comm, r->stream);
            else if (whole)
                result = ncclAllGather(mine, partial, share, ncclFloat, r->comm, r->stream);
        }
        status = plain_end(result);
    }
    return status == KERNEL_OK ? plain_add_all(ranks, sizes, shards) : status;
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
