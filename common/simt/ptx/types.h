/**
 * @file types.h
 * @brief The types of PTX, and when a register may stand for one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum ptx_type {
    PTX_NONE,
    PTX_PRED,
    PTX_B8,
    PTX_B16,
    PTX_B32,
    PTX_B64,
    PTX_B128,
    PTX_U8,
    PTX_U16,
    PTX_U32,
    PTX_U64,
    PTX_S8,
    PTX_S16,
    PTX_S32,
    PTX_S64,
    PTX_U16X2,
    PTX_S16X2,
    PTX_F16,
    PTX_BF16,
    PTX_F16X2,
    PTX_BF16X2,
    PTX_TF32,
    PTX_F32,
    PTX_F64,
    PTX_E4M3,
    PTX_E5M2,
    PTX_E4M3X2,
    PTX_E5M2X2,
    PTX_TYPES
};

struct ptx_type_facts {
    const char *name;
    unsigned bits;
    char class; /**< p predicate, b untyped, u s integers, f floating point */
};
extern const struct ptx_type_facts ptx_type[PTX_TYPES];

/** @brief The type whose name is the @p length bytes at @p name, or PTX_NONE. */
enum ptx_type ptx_type_named(const char *name, size_t length);
/** @brief Whether ptxas accepts a register declared @p have as @p want; with @p wider it may have more
 *         bits. */
bool ptx_type_fits(enum ptx_type have, enum ptx_type want, bool wider);
