/**
 * @file kernel_status.h
 * @brief What a host entry point of a lesson returns.
 *
 * Entry points never print, exit, allocate or synchronise: they check their arguments, launch, and say how
 * that went. A status other than ::KERNEL_OK means that nothing was launched and no output was touched.
 *
 * Unless its contract says otherwise, the same arguments give the same bits every time, on every stream and in whatever
 * order blocks run: an atomic may find a maximum or count, but atomicAdd of floats adds in another order each time, and so
 * rounds otherwise. With other arguments the same row may be rounded otherwise, in another batch for one: a kernel may share
 * out its work by them. Lesson 17 promises more. Calls on two streams may run at the same time: what a call keeps from one kernel to the next lies in its
 * own workspace, and in no variable.
 */
#ifndef WARPWISE_KERNEL_STATUS_H
#define WARPWISE_KERNEL_STATUS_H

/** @brief Result of a host entry point. */
enum kernel_status {
    KERNEL_OK = 0,            /**< everything was launched */
    KERNEL_INVALID_DIMENSION, /**< an extent is zero or negative, heads % kv_heads != 0, or sizes overflow */
    KERNEL_UNSUPPORTED_DTYPE, /**< the storage type is not one this kernel is written for */
    KERNEL_ALIGNMENT_ERROR,   /**< a pointer is not aligned as the contract asks */
    KERNEL_OUT_OF_MEMORY,     /**< the workspace is missing or smaller than `..._workspace_bytes` says */
    KERNEL_CUDA_ERROR,        /**< the CUDA runtime refused a launch, or another call */
    KERNEL_INVALID_CONFIG,    /**< a null pointer, or an option with no meaning */
    KERNEL_INVALID_BLOCK_TABLE,     /**< a block table entry is outside the cache */
    KERNEL_NOT_STARTED,             /**< the skeleton's own answer: nothing has been written here yet */
    KERNEL_UNSUPPORTED_ARCHITECTURE /**< the GPU is older than this kernel needs */
};

/** @brief The name of @p status as it is spelled above. */
static inline const char *kernel_status_name(enum kernel_status status)
{
    switch (status) {
    case KERNEL_OK:
        return "KERNEL_OK";
    case KERNEL_INVALID_DIMENSION:
        return "KERNEL_INVALID_DIMENSION";
    case KERNEL_UNSUPPORTED_DTYPE:
        return "KERNEL_UNSUPPORTED_DTYPE";
    case KERNEL_ALIGNMENT_ERROR:
        return "KERNEL_ALIGNMENT_ERROR";
    case KERNEL_OUT_OF_MEMORY:
        return "KERNEL_OUT_OF_MEMORY";
    case KERNEL_CUDA_ERROR:
        return "KERNEL_CUDA_ERROR";
    case KERNEL_INVALID_CONFIG:
        return "KERNEL_INVALID_CONFIG";
    case KERNEL_INVALID_BLOCK_TABLE:
        return "KERNEL_INVALID_BLOCK_TABLE";
    case KERNEL_NOT_STARTED:
        return "KERNEL_NOT_STARTED";
    case KERNEL_UNSUPPORTED_ARCHITECTURE:
        return "KERNEL_UNSUPPORTED_ARCHITECTURE";
    }
    return "unknown status";
}

#endif
