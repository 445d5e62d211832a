/**
 * @file cuda_bf16.h
 * @brief __nv_bfloat16 and its pair, rounded as hardware rounds them.
 */
#pragma once

#pragma GCC system_header

#include "cuda_fp16.h"

#define SIMT_F __nv_bfloat16
#define SIMT_F2 __nv_bfloat162
#define SIMT_FORMAT simt_bfloat16_format
#define SIMT_NAME bfloat16
#define SIMT_NAME2 bfloat162
#include "simt/small_float_type.h"
#undef SIMT_F
#undef SIMT_F2
#undef SIMT_FORMAT
#undef SIMT_NAME
#undef SIMT_NAME2

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7fff)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7f7f)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3f80)
