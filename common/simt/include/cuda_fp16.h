/**
 * @file cuda_fp16.h
 * @brief half and half2, rounded as hardware rounds them.
 */
#pragma once

#pragma GCC system_header

#include "cuda_runtime.h"
#include "simt/small_float.h"

#define SIMT_F __half
#define SIMT_F2 __half2
#define SIMT_FORMAT simt_half_format
#define SIMT_NAME half
#define SIMT_NAME2 half2
#include "simt/small_float_type.h"
#undef SIMT_F
#undef SIMT_F2
#undef SIMT_FORMAT
#undef SIMT_NAME
#undef SIMT_NAME2

typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half nv_half;
typedef __half2 nv_half2;

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3c00)
