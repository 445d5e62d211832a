/**
 * @file cuda_pipeline_primitives.h
 * @brief Asynchronous copies from device to shared memory: copy, commit, wait.
 *
 * As in CUDA's header, code for an architecture below sm_80 copies at once, and commit and wait do nothing.
 */
#pragma once

#pragma GCC system_header

#include "cuda_runtime.h"

/** @brief What simt_copy_begin() is given must make sense; hardware traps where it does not. */
SIMT_OUTLINE void simt_pipeline_copy(const struct simt_site *site, void *__restrict__ to,
                                     const void *__restrict__ from, size_t bytes, size_t zeros = 0)
{
    if (bytes != 4 && bytes != 8 && bytes != 16) simt_misuse(site, SIMT_MISUSE_COPY_SIZE, bytes, 0);
    if (zeros > bytes) simt_misuse(site, SIMT_MISUSE_COPY_ZEROS, bytes, zeros);
#if __CUDA_ARCH__ >= 800
    simt_copy_begin(to, from, bytes, zeros, SIMT_CALLER);
#else
    if (bytes > zeros) simt_access(from, bytes - zeros, SIMT_READ, SIMT_CALLER);
    simt_access(to, bytes, SIMT_WRITE, SIMT_CALLER);
    __builtin_memcpy(to, from, bytes - zeros);
    __builtin_memset((char *)to + (bytes - zeros), 0, zeros);
#endif
}

#define __pipeline_memcpy_async(...)                                                                         \
    simt_pipeline_copy(SIMT_SITE("__pipeline_memcpy_async"), __VA_ARGS__)

#if __CUDA_ARCH__ >= 800
SIMT_OUTLINE void __pipeline_commit() { simt_copy_commit(SIMT_CALLER); }
/** @brief CUDA's form waits for all but the last 8 groups at most. */
SIMT_OUTLINE void __pipeline_wait_prior(size_t prior) { simt_copy_wait(prior < 8 ? prior : 8, SIMT_CALLER); }
#else
SIMT_INLINE void __pipeline_commit() {}
SIMT_INLINE void __pipeline_wait_prior(size_t) {}
#endif
