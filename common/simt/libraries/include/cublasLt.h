/**
 * @file cublasLt.h
 * @brief Handles of cuBLASLt only, for programs that include it beside cuBLAS: simtcc refuses its products in one sentence.
 */
#pragma once

#pragma GCC system_header

#include "cublas_v2.h"

typedef struct cublasLtContext *cublasLtHandle_t;

/** @brief A handle of cuBLASLt may be a handle of cuBLAS. */
static inline cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    return cublasCreate((cublasHandle_t *)handle);
}
static inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    return cublasDestroy((cublasHandle_t)handle);
}
