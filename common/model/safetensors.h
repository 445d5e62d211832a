/**
 * @file safetensors.h
 * @brief Tensors in a file of the format `.safetensors`: eight bytes that say how long the header is, the header (JSON), and
 *        the elements of all tensors one after another.
 *
 * The file is mapped, not read. Nothing in the header is trusted: every tensor must lie within the file, be
 * as long as its shape and element type say, and all of them together must cover the data without a hole or
 * an overlap.
 */
#pragma once

#include "json.h"

/** @brief Largest number of dimensions of a tensor. */
enum { TENSOR_MOST_RANK = 8 };

/** @brief Element types that weights may have, and one for all others. */
enum tensor_dtype { TENSOR_F32, TENSOR_F16, TENSOR_BF16, TENSOR_OTHER };

/** @brief One tensor of a file. */
struct tensor {
    const char *name;                /**< as the header spells it */
    enum tensor_dtype dtype;         /**< type of its elements */
    const char *dtype_name;          /**< as the file spells it */
    int rank;                        /**< dimensions */
    int64_t shape[TENSOR_MOST_RANK]; /**< [rank], slowest first */
    size_t elems;                    /**< product of the shape */
    const unsigned char *data;       /**< in the mapped file, unaligned */
    size_t bytes;                    /**< of its elements */
};

/** @brief A mapped file. Zero-initialise. */
struct tensor_file {
    char *path;             /**< owned */
    unsigned char *mapping; /**< the whole file */
    size_t size;            /**< bytes of it */
    struct json header;     /**< owns the names */
    struct tensor *tensors; /**< by name */
    size_t count;           /**< tensors */
};

/** @brief Maps @p path and checks its header; 0, or -1 and a sentence that names the file. */
int tensor_file_open(struct tensor_file *file, const char *path, char error[MODEL_ERROR]);
/** @brief Unmaps the file and releases what belongs to it; a file of zeros is left as it is. */
void tensor_file_close(struct tensor_file *file);

/** @brief The tensor of that name, or NULL. */
const struct tensor *tensor_find(const struct tensor_file *file, const char *name);

/** @brief Bytes per element of type @p dtype; 0 for TENSOR_OTHER. */
size_t tensor_dtype_bytes(enum tensor_dtype dtype);

/** @brief Converts elements @p first .. @p first + @p count - 1 to floats. @p tensor is f32, f16 or bf16. Exact. */
void tensor_to_floats(const struct tensor *tensor, size_t first, size_t count, float *to);
