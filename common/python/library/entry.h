/**
 * @file entry.h
 * @brief What entry.c makes of the description of each lesson whose kernels are in the library.
 */
#pragma once

#include <cuda_runtime_api.h>

#include "attention_args.h"

/** @brief The functions of a lesson. @p args is the struct that they take. */
struct lesson_entry {
    /** @brief Calls the entry point for @p dtype; for a type that the lesson has not, one that refuses it. */
    enum kernel_status (*call)(const void *args, enum dtype dtype, cudaStream_t stream);
    size_t (*workspace_bytes)(const void *args); /**< 0 where none is needed */
};

/** @brief Of each lesson, by its number; lesson_entry is the one that a process of the software device has. */
extern const struct lesson_entry lesson_entry, lesson_entry_05, lesson_entry_10, lesson_entry_12,
    lesson_entry_14, lesson_entry_15;
