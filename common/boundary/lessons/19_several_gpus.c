/**
 * @file 19_several_gpus.c
 * @brief Lesson 19: its entry points, in the other process. Streams, events and communicators are in a struct, and are named there.
 */
#include "several_gpus.h"

#include "boundary/boundary.h"

static void may_use_ranks(const struct gpu_ranks *ranks)
{
    for (int i = 0; ranks != NULL && i < ranks->count && i < MOST_GPUS; i++) {
        const struct gpu_rank *rank = &ranks->at[i];
        boundary_may_use('s', rank->stream);
        boundary_may_use('s', rank->transfer);
        boundary_may_use('e', rank->arrived);
        boundary_may_use('e', rank->used);
        boundary_may_use('c', rank->comm);
    }
}

extern void student_tensor_parallel_step(void), student_ring_attention(void);

enum kernel_status tensor_parallel_step(const struct gpu_ranks *ranks, const struct layer_sizes *sizes,
                                        const struct layer_shards *shards)
{
    const struct boundary_word words[] = {GIVEN(ranks), GIVEN(sizes), GIVEN(shards)};
    may_use_ranks(ranks);
    return (enum kernel_status)boundary_call(student_tensor_parallel_step, words, 3);
}

enum kernel_status ring_attention(const struct gpu_ranks *ranks, const struct ring_sizes *sizes,
                                  const struct ring_parts *parts)
{
    const struct boundary_word words[] = {GIVEN(ranks), GIVEN(sizes), GIVEN(parts)};
    may_use_ranks(ranks);
    return (enum kernel_status)boundary_call(student_ring_attention, words, 3);
}

ENTRY(size_t, tensor_parallel_workspace_bytes, (const struct layer_sizes *sizes, int ranks), GIVEN(sizes),
      PLAIN(ranks))
ENTRY(size_t, ring_attention_workspace_bytes, (const struct ring_sizes *sizes, int ranks), GIVEN(sizes),
      PLAIN(ranks))
