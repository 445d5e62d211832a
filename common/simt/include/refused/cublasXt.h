/**
 * @file cublasXt.h
 * @brief Refused: simtcc says so in one sentence, and nothing behind it (simtcc/refusals.c).
 */
#error "cublasXt is not on the software device; use cublas_v2.h"
