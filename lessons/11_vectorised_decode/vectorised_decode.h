/**
 * @file vectorised_decode.h
 * @brief Lesson 11: attention over a contiguous K/V cache, by kernels that differ in how they load it, in where scores
 *        lie and in who knows the position; and the choice among them.
 *
 *     flash_1   one block per (sequence, query, query head). A thread loads the whole key of a token, 4 or 16 bytes at
 *               a time. Scores of all keys lie in shared memory; where the host does not know how many there are, or
 *               there are several queries, those of one tile
 *     mha       the same with the scores in device memory
 *     flash_2   the keys of a sequence are split over blocks, and a block serves up to four query heads of a group
 *
 * Entry points may be captured into a graph: they launch on @c stream and do nothing else. The same arguments give the
 * same bits every time. Where positions lie in device memory, nothing that the host decides depends on @c position: a
 * graph replayed later reads the positions of then.
 * @see Dao 2023, section 3; Milakov and Gimelshein 2018, section 3; oracle: ref_paged_attention_row()
 */
#ifndef WARPWISE_VECTORISED_DECODE_H
#define WARPWISE_VECTORISED_DECODE_H

#include <cuda_runtime_api.h>

#include "decode_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Parts "half2", "vector", "device" and "prefill": one block per (sequence, query, query head), no workspace.
 *
 * Any max_len is served, whatever the position. A sequence whose position on the device is not within
 * 0 .. max_len - q_len gets no output: its part of out stays as it is, and *device_status says so.
 * @param[in] args   out is written: every element of every sequence whose position is valid
 * @param[in] loads  bytes of a key that a thread loads at once
 * @param[in] stream where to launch
 * @return what decode_args_check() says without a workspace; ::KERNEL_CUDA_ERROR
 * @launch (heads, q_len, batch) blocks: of 256 threads where q_len is 1, the host knows the position and there are no
 *         more than 8192 keys, else of 128
 * @smem one query, two floats per warp, and a float per score: in blocks of 256 threads of all keys, rounded up to a
 *       multiple of 256, else of one tile, 256 keys where q_len is 1 and 1024 where it is more
 * @cost per key and query: head_dim * element bytes / loads sectors of the key, and the bytes of its value
 */
enum kernel_status decode_flash_1(const struct decode_args *args, enum decode_loads loads,
                                  cudaStream_t stream);

/**
 * @brief Part "mha": one block per (sequence, query, query head), the scores of all keys in the workspace.
 * @param[in] args   as for decode_flash_1(); workspace is used
 * @param[in] loads  bytes of a key that a thread loads at once
 * @param[in] stream where to launch
 * @return what decode_args_check() says with decode_workspace_bytes(args, ::DECODE_MHA, loads); ::KERNEL_CUDA_ERROR
 * @launch (heads, q_len, batch) blocks of 256 threads
 * @smem one query, and two floats per warp
 * @cost as decode_flash_1(), and per key and query 4 bytes written three times and read four times
 */
enum kernel_status decode_mha(const struct decode_args *args, enum decode_loads loads, cudaStream_t stream);

/**
 * @brief Part "flash_2": f16, one query, head_dim 64 or 128, 16-byte loads. Blocks divide the keys of a sequence; each
 *        serves up to four query heads of one K/V head, so that its keys and values are loaded once for all of them.
 * @param[in] args   as for decode_flash_1(); workspace is used where a sequence is split
 * @param[in] stream where to launch
 * @return what decode_args_check() says with 16-byte loads and decode_workspace_bytes(args, ::DECODE_FLASH_2, 16), and
 *         in the same order ::KERNEL_INVALID_DIMENSION for q_len above 1 or another head_dim,
 *         ::KERNEL_UNSUPPORTED_DTYPE for f32; ::KERNEL_CUDA_ERROR
 * @launch (splits * kv_heads * chunks, 1, batch) blocks of 384 threads, where chunks of four query heads are
 *         ceil(heads / kv_heads / 4) and vary fastest in blockIdx.x; if there is more than one split, then (heads, 1, batch)
 *         blocks of 8 * head_dim threads to merge
 * @smem four queries, and what twelve warps found for four heads
 * @cost 4 * head_dim bytes per key and four query heads; 4 * (head_dim + 2) written and read per query head and split
 */
enum kernel_status decode_flash_2(const struct decode_args *args, cudaStream_t stream);

/**
 * @brief Bytes of scratch memory that @p variant needs, ::DECODE_AUTO included.
 *
 * It depends on extents and on the device, never on positions. ::DECODE_MHA: 4 * batch * heads * q_len * max_len, so that
 * a prompt of n tokens takes n * max_len floats per head. ::DECODE_FLASH_1: 0. ::DECODE_FLASH_2: it may be 0, and it is no more
 * than a hundredth of what K and V of batch * max_len tokens take, rounded up to a multiple of 256.
 * @return the size; 0 if the extents or @p loads are not valid, for args NULL, for an unknown variant, and for one that
 *         does not serve the arguments. Of pointers only device_positions is looked at: NULL or not
 */
size_t decode_workspace_bytes(const struct decode_args *args, enum decode_variant variant,
                              enum decode_loads loads);

/**
 * @brief What ::DECODE_AUTO stands for: ::DECODE_FLASH_2 where it serves the arguments (f16, q_len 1, head_dim 64 or 128)
 *        and loads are of 16 bytes, else ::DECODE_FLASH_1.
 * @param[in] args  only dtype, q_len and head_dim are looked at
 * @param[in] loads bytes of a key that a thread loads at once
 */
enum decode_variant decode_choose_variant(const struct decode_args *args, enum decode_loads loads);

/**
 * @brief Part "dispatch": runs exactly the variant that is asked for, or refuses.
 * @param[in] args    as for the variant
 * @param[in] variant which; unknown values are refused
 * @param[in] loads   bytes of a key that a thread loads at once
 * @param[in] stream  where to launch
 * @return ::KERNEL_INVALID_CONFIG for args NULL, an unknown variant or unknown loads, and for ::DECODE_FLASH_2 with loads
 *         of 4 bytes; else what the variant's entry point returns
 * @launch that of the variant
 * @cost that of the variant
 */
enum kernel_status decode_attention(const struct decode_args *args, enum decode_variant variant,
                                    enum decode_loads loads, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
