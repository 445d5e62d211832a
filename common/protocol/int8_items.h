/**
 * @file int8_items.h
 * @brief What an item of lesson 13 says to the runner in addition to what the item of any product does
 *        (gemm_items.h).
 */
#pragma once

#include "gemm_items.h"

/** @brief Device buffers after those of every product; only scaled products have them. */
enum int8_buffer { INT8_ROW_SCALES = GEMM_BUFFERS, INT8_COLUMN_SCALES, INT8_BIAS, INT8_BUFFERS };

/** @brief lesson_case.value, after enum gemm_value. */
enum int8_value { INT8_HAS_BIAS = GEMM_UNUSED + 1 /**< 0: bias is NULL */ };
