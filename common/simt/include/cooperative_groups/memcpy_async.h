/**
 * @file memcpy_async.h
 * @brief A group copies together: memcpy_async(), wait(), wait_prior().
 *
 * Each member copies every size-th piece of 16, 8 or 4 bytes, whatever the addresses allow, as `__pipeline_memcpy_async`
 * does, and with the same findings. What is not from device to shared memory is copied at once.
 */
#pragma once

#pragma GCC system_header

#include "../cooperative_groups.h"
#include "../cuda_pipeline_primitives.h"
#include "../simt/aligned_size.h"

namespace cooperative_groups
{

namespace details
{
SIMT_OUTLINE void copy_piece(void *to, const void *from, size_t bytes, int is_async)
{
    if (is_async) {
        simt_copy_begin(to, from, bytes, 0, SIMT_CALLER);
        return;
    }
    simt_access(from, bytes, SIMT_READ, SIMT_CALLER);
    simt_access(to, bytes, SIMT_WRITE, SIMT_CALLER);
    __builtin_memcpy(to, from, bytes);
}

template <typename Group>
SIMT_INLINE void copy_together(const Group &group, void *to, const void *from, size_t bytes)
{
    const size_t both = (size_t)to | (size_t)from;
    const size_t piece = both % 16 == 0 ? 16 : both % 8 == 0 ? 8 : both % 4 == 0 ? 4 : 1;
    const int is_async = __CUDA_ARCH__ >= 800 && piece > 1 && __isShared(to) && __isGlobal(from);
    const size_t whole = bytes / piece * piece;
    for (size_t at = piece * group.thread_rank(); at < whole; at += piece * group.size())
        copy_piece((char *)to + at, (const char *)from + at, piece, is_async);
    for (size_t at = whole + group.thread_rank(); at < bytes; at += group.size())
        copy_piece((char *)to + at, (const char *)from + at, 1, 0);
    __pipeline_commit();
}
} // namespace details

template <typename Group, typename To, typename From>
SIMT_INLINE void memcpy_async(const Group &group, To *to, const From *from, size_t bytes)
{
    details::copy_together(group, to, from, bytes);
}
template <typename Group, typename To, typename From, size_t ALIGNMENT>
SIMT_INLINE void memcpy_async(const Group &group, To *to, const From *from, cuda::aligned_size_t<ALIGNMENT> bytes)
{
    details::copy_together(group, to, from, bytes.value);
}
/** @brief Counts of elements: the smaller one is copied. */
template <typename Group, typename T>
SIMT_INLINE void memcpy_async(const Group &group, T *to, size_t to_count, const T *from, size_t from_count)
{
    details::copy_together(group, to, from, sizeof(T) * (to_count < from_count ? to_count : from_count));
}

/** @brief Until all copies but those of the last @p STAGES calls are there, for all members. */
template <unsigned int STAGES, typename Group> SIMT_INLINE void wait_prior(const Group &group, SIMT_HERE)
{
    __pipeline_wait_prior(STAGES);
    group.sync(at);
}
template <typename Group> SIMT_INLINE void wait(const Group &group, SIMT_HERE)
{
    __pipeline_wait_prior(0);
    group.sync(at);
}

} // namespace cooperative_groups
