/**
 * @file layer_workspace.h
 * @brief Given in lesson 21: what a layer keeps between its kernels.
 */
#ifndef WARPWISE_LAYER_WORKSPACE_H
#define WARPWISE_LAYER_WORKSPACE_H

#include "experts_args.h"

/** @brief What lies in the workspace, one after another, each at a multiple of 256 bytes. */
struct scratch {
    int *chosen;    /**< [tokens, top_k] the expert of each pair */
    int *row_of;    /**< [tokens, top_k] its row */
    float *weights; /**< [tokens, top_k] and its weight */
    int *offsets;   /**< [experts + 1] the first row of each expert */
    char *rows;     /**< [pairs, hidden]: what experts are given, then what they return */
    char *inner;    /**< [pairs, inner] silu(gate) * up */
};

/** @brief The next @p bytes of a workspace whose first @p used are taken. */
inline char *take(char *workspace, size_t *used, size_t bytes)
{
    char *from = workspace + *used;
    *used += (bytes + 255) / 256 * 256;
    return from;
}

/** @brief Divides @p workspace, which may be NULL; returns how many bytes it must have. */
inline size_t divide_workspace(const struct experts_args *args, char *workspace, struct scratch *scratch)
{
    size_t used = 0, pairs = (size_t)args->tokens * args->top_k;
    scratch->chosen = (int *)take(workspace, &used, pairs * sizeof(int));
    scratch->row_of = (int *)take(workspace, &used, pairs * sizeof(int));
    scratch->weights = (float *)take(workspace, &used, pairs * sizeof(float));
    scratch->offsets = (int *)take(workspace, &used, ((size_t)args->experts + 1) * sizeof(int));
    scratch->rows = take(workspace, &used, pairs * args->hidden * 2);
    scratch->inner = take(workspace, &used, pairs * args->inner * 2);
    return used;
}

/** @brief The product of all pairs' rows, hidden long, with gate and up. */
inline struct grouped_gemm_args product_in(const struct experts_args *args, const struct scratch *scratch)
{
    struct grouped_gemm_args product = {};
    product.rows = args->tokens * args->top_k, product.experts = args->experts;
    product.n = args->inner, product.k = args->hidden, product.swiglu = 1, product.dtype = args->dtype;
    product.a = scratch->rows, product.w = args->gate_up, product.offsets = scratch->offsets;
    product.c = scratch->inner;
    return product;
}

/** @brief The product of what comes out of that with down; it replaces the rows that experts were given. */
inline struct grouped_gemm_args product_out(const struct experts_args *args, const struct scratch *scratch)
{
    struct grouped_gemm_args product = product_in(args, scratch);
    product.n = args->hidden, product.k = args->inner, product.swiglu = 0;
    product.a = scratch->inner, product.w = args->down, product.c = scratch->rows;
    return product;
}

#endif
