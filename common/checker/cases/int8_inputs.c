/**
 * @file int8_inputs.c
 * @brief The bytes of a product.
 */
#include "int8_cases.h"

double int8_element(const struct lesson_case *item, int index, int line, int p, uint64_t random)
{
    int a = index == GEMM_A;
    double any = (double)(int)(random >> 32 & 255) - 128.0;
    switch (item->distribution) {
    case INT8_LOWEST:
        return -128.0;
    case INT8_OPPOSITE:
        return a ? -128.0 : 127.0;
    case INT8_EXTREMES:
        return line % 2 == 0 ? -128.0 : p == line ? 126.0 : 127.0;
    case INT8_RETURNING:
        return a ? -128.0 + (double)(random % 4) : p < item->extent[GEMM_K] / 2 ? -128.0 : 127.0;
    case INT8_SCALES_INFINITE:
        return a && line % 11 == 3 ? 0.0 : any;
    case INT8_POSITIVE:
        return 64.0 + (double)(random % 64);
    default:
        return any;
    }
}
