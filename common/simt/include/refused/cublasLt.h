/**
 * @file cublasLt.h
 * @brief Refused: simtcc says so in one sentence, and nothing behind it (simtcc/refusals.c).
 */
#error "cuBLASLt is not on the software device; cublas_v2.h has cublasGemmEx"
