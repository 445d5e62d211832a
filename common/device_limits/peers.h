/**
 * @file peers.h
 * @brief What the files of `device_limits` know of each other.
 */
#pragma once

#include <cublas_v2.h>
#include <stddef.h>

/** @brief Fills @p count elements of device memory with random numbers; @p type is CUDA_R_16F or CUDA_R_32F. */
void fill(void *data, cudaDataType_t type, size_t count);

/** @brief From now on peers of @p test_cases alone are measured, a list ended by NULL; of all cases, if it has none. */
void ask_for(char **test_cases);

/** @brief 1 if peers of @p test_case are to be measured. */
int is_asked_for(const char *test_case);

/** @brief Prints cuBLAS's time for the timed cases of the matrix product lessons that are asked for, as "peer,CASE,LIBRARY,US". */
void measure_gemm_peers(cublasHandle_t handle);
