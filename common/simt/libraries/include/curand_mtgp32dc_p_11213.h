/**
 * @file curand_mtgp32dc_p_11213.h
 * @brief The parameters of MTGP32, which are read from the header of this name in an installed CUDA Toolkit.
 */
#pragma once

#pragma GCC system_header

#define CURAND_MTGP32DC_P_11213_H

#include "curand_mtgp32.h"

typedef mtgp32_params_fast_t simt_mtgp_table[CURAND_NUM_MTGP32_PARAMS];
#ifdef __cplusplus
extern "C" {
#endif
/** @brief A program that reads them where no toolkit is installed ends with a sentence. */
simt_mtgp_table *simt_mtgp_all(void);
/** @brief 0 where no toolkit is installed. */
int simt_mtgp_sets(void);
#ifdef __cplusplus
}

static const int mtgpdc_params_11213_num = CURAND_NUM_MTGP32_PARAMS;
static simt_mtgp_table &mtgp32dc_params_fast_11213 = *simt_mtgp_all();
#endif
