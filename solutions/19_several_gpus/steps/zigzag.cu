// The ring of lesson 19 in zigzag order: with the causal mask, too, all ranks have the same work in every step.
//
// The sequence is 2 N pieces. Rank r has an early one, r, and a late one, 2 N - 1 - r: its q, k, v and out are
// [2, heads, part / 2, head_dim], its lse [2, heads, part / 2]. All else is as in several_gpus.h. With two ranks:
//
//          keys of piece   0 1 2 3
//     rank 0, queries 0    ◣           own keys: two triangles and a square
//     rank 1          1    ■ ◣
//     rank 1          2    ■ ■ ◣       an earlier rank's: both pieces see its early one, neither its late one
//     rank 0          3    ■ ■ ■ ◣     a later rank's: the late piece sees both, the early one neither
//
// So in every step a rank attends to two of the four squares that its queries make with the keys it has: half of them.
// Grattafiori and others 2024, The Llama 3 Herd of Models, section 3.3.2.
#include "../several_gpus.cu"

/** The queries of one piece, 0 the early one, and the keys of one piece; or, as twice as many heads, both pieces with their own keys. */
static enum kernel_status attend_piece(const struct gpu_rank *rank, const struct ring_sizes *sizes,
                                       const struct ring_part *part, int step, int queries, int keys,
                                       int triangles)
{
    const struct ring_sizes piece = {triangles ? 2 * sizes->heads : sizes->heads, sizes->part / 2,
                                     sizes->head_dim, sizes->causal, sizes->scale};
    const size_t lines = (size_t)sizes->heads * (size_t)piece.part, elems = lines * (size_t)piece.head_dim;
    const float scale = sizes->scale == 0.0f ? 1.0f / sqrtf((float)sizes->head_dim) : sizes->scale;
    const struct ring_step s = {piece,
                                part->q + (size_t)queries * elems,
                                keys_at(part, sizes, step, 0) + (size_t)keys * elems,
                                keys_at(part, sizes, step, 1) + (size_t)keys * elems,
                                part->out + (size_t)queries * elems,
                                part->lse + (size_t)queries * lines,
                                scale,
                                triangles};
    const int blocks = piece.heads * divide_up(piece.part, QUERIES * WARPS);
    ring_kernel<<<blocks, THREADS, 0, rank->stream>>>(s);
    return launch_status();
}

/** The kernels of @p step on one rank, two squares, or two triangles and a square; then the stream waits for the keys of the next. */
static enum kernel_status attend_in_zigzag(const struct gpu_rank *rank, int ranks,
                                           const struct ring_sizes *sizes, const struct ring_part *part,
                                           int step)
{
    const int owner = (rank->rank + ranks - step) % ranks, later = owner > rank->rank;
    enum kernel_status status = cuda_status(cudaSetDevice(rank->device));
    if (status == KERNEL_OK) status = attend_piece(rank, sizes, part, step, later, 0, step == 0);
    if (status == KERNEL_OK) status = attend_piece(rank, sizes, part, step, 1, later, 0);
    if (status == KERNEL_OK) status = cuda_status(cudaEventRecord(rank->used, rank->stream));
    if (status != KERNEL_OK || step + 1 == ranks) return status;
    return cuda_status(cudaStreamWaitEvent(rank->stream, rank->arrived, 0));
}

/** ring_attention() of a sequence in this order. @p sizes must be causal, and have an even part. */
static enum kernel_status zigzag_attention(const struct gpu_ranks *ranks, const struct ring_sizes *sizes,
                                           const struct ring_parts *parts)
{
    const size_t needed = ranks == NULL ? 0 : ring_attention_workspace_bytes(sizes, ranks->ranks);
    enum kernel_status status = ring_attention_check(ranks, sizes, parts, needed);
    if (status == KERNEL_OK && !sizes->causal) status = KERNEL_INVALID_CONFIG;
    if (status == KERNEL_OK && sizes->part % 2 != 0) status = KERNEL_INVALID_DIMENSION;
    for (int i = 0; status == KERNEL_OK && i < ranks->count; i++) {
        const struct gpu_rank *rank = &ranks->at[i];
        status = cuda_status(cudaSetDevice(rank->device));
        if (status == KERNEL_OK)
            status = cuda_status(cudaEventRecord(rank->used, rank->stream)); // the caller's work
    }
    for (int step = 0; status == KERNEL_OK && step < ranks->ranks; step++) {
        if (step + 1 < ranks->ranks) status = pass_on(ranks, sizes, parts, step);
        for (int i = 0; i < ranks->count && status == KERNEL_OK; i++)
            status = attend_in_zigzag(&ranks->at[i], ranks->ranks, sizes, &parts->at[i], step);
    }
    return status;
}
