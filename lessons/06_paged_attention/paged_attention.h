/**
 * @file paged_attention.h
 * @brief Lesson 06: decode attention over a K/V cache in pages, in two ways, and the check of its table.
 *
 *     validate   looks through the block table, once for all layers of a decode step, and leaves the verdict
 *                in device memory
 *     v1         one block per (sequence, query head)
 *     v2         one block per (sequence, K/V head, partition of the keys), for all query heads of the group;
 *                a second kernel merges the partitions
 *
 * Entry points may be captured into a graph: they launch on @c stream and do nothing else. The host learns
 * nothing of context_lens and block_table, so nothing that it decides depends on them.
 * @see Kwon et al. 2023, section 4; Milakov and Gimelshein 2018, section 3; oracle: ref_paged_attention_row()
 */
#ifndef WARPWISE_PAGED_ATTENTION_H
#define WARPWISE_PAGED_ATTENTION_H

#include <cuda_runtime_api.h>

#include "paged_attention_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Part "validate": sets *device_status to ::KERNEL_INVALID_BLOCK_TABLE if a context length is negative
 *        or above max_context_len, or if a block table entry that is used is negative or not below
 *        num_blocks; to ::KERNEL_OK otherwise. Entries that no token needs may hold anything.
 * @param[in] args   only block_table and context_lens are read, only device_status is written; all is checked
 *                   but the workspace
 * @param[in] stream where to launch
 * @return what paged_attention_args_check() says; ::KERNEL_CUDA_ERROR. What is wrong with the table shows in
 *         device memory only: the call returns before it is known.
 * @launch one block
 * @cost the used part of the table, once
 */
enum kernel_status paged_attention_validate(const struct paged_attention_args *args, cudaStream_t stream);

/**
 * @brief Part "v1": one block per (sequence, query head), no workspace.
 *
 * If *device_status is not ::KERNEL_OK, whatever it is, out is left as it is and neither table nor caches are read.
 * A max_context_len up to 32,768 is always served. A kernel that keeps something for every key in shared memory may
 * end with ::KERNEL_CUDA_ERROR where a longer one does not fit.
 * @param[in] args   out is written: every element, unless *device_status forbids it
 * @param[in] stream where to launch
 * @return what paged_attention_args_check() says; ::KERNEL_CUDA_ERROR
 * @launch batch * heads blocks of 128 threads
 * @smem sums and pairs of 4 warps
 * @cost 4 * head_dim bytes per key and query head, so those of a group ask for the same bytes
 */
enum kernel_status paged_attention_v1_f16(const struct paged_attention_args *args, cudaStream_t stream);

/**
 * @brief Bytes of scratch memory that paged_attention_v2_f16() needs for its partitions' partial results.
 *
 * It may depend on extents, on max_context_len and on the device. It may be 0, where a sequence is not split: then
 * workspace and workspace_bytes are not looked at. It is no more than 4 * (head_dim + 2) *
 * batch * heads * ceil(max_context_len / 64), rounded up to a multiple of 256.
 * @return the size; 0 if the extents are not valid
 */
size_t paged_attention_v2_workspace_bytes(const struct paged_attention_args *args);

/**
 * @brief Part "v2": the keys of a sequence are split over blocks; a block serves all query heads (up to 8 at
 *        once) of its K/V head, so that K and V are requested once.
 *
 * If *device_status is not ::KERNEL_OK, whatever it is, out is left as it is and neither table nor caches are read.
 * @param[in] args   out is written: every element, unless *device_status forbids it; workspace is used
 * @param[in] stream where to launch
 * @return what paged_attention_args_check() says with paged_attention_v2_workspace_bytes(): ::KERNEL_OUT_OF_MEMORY if
 *         the workspace is too small, ::KERNEL_ALIGNMENT_ERROR if it is not aligned to 256 bytes;
 *         ::KERNEL_CUDA_ERROR
 * @launch batch * kv_heads * partitions blocks of 128 threads (more for groups above 8), then
 *         batch * heads to merge
 * @smem sums and pairs of 4 warps, for every head of the group
 * @cost 4 * head_dim bytes per key and K/V head, and 4 * (head_dim + 2) written and read per query
 *       head and partition
 */
enum kernel_status paged_attention_v2_f16(const struct paged_attention_args *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
