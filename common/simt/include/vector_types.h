/**
 * @file vector_types.h
 * @brief char1 ... double4 and dim3, with the sizes and alignments that CUDA gives them. C and C++.
 *
 * Two- and four-element types are aligned as a whole, which is what makes one 16-byte access of a float4.
 */
#pragma once

#pragma GCC system_header

#define __VECTOR_TYPES_H__

#define SIMT_VECTORS(name, type, align_2, align_4)                                                           \
    struct name##1 { type x; };                                                                              \
    struct __attribute__((aligned(align_2))) name##2 { type x, y; };                                         \
    struct name##3 { type x, y, z; };                                                                        \
    struct __attribute__((aligned(align_4))) name##4 { type x, y, z, w; };                                   \
    typedef struct name##1 name##1;                                                                          \
    typedef struct name##2 name##2;                                                                          \
    typedef struct name##3 name##3;                                                                          \
    typedef struct name##4 name##4;

SIMT_VECTORS(char, signed char, 2, 4)
SIMT_VECTORS(uchar, unsigned char, 2, 4)
SIMT_VECTORS(short, short, 4, 8)
SIMT_VECTORS(ushort, unsigned short, 4, 8)
SIMT_VECTORS(int, int, 8, 16)
SIMT_VECTORS(uint, unsigned int, 8, 16)
SIMT_VECTORS(long, long, 16, 16)
SIMT_VECTORS(ulong, unsigned long, 16, 16)
SIMT_VECTORS(longlong, long long, 16, 16)
SIMT_VECTORS(ulonglong, unsigned long long, 16, 16)
SIMT_VECTORS(float, float, 8, 16)
SIMT_VECTORS(double, double, 16, 16)
#undef SIMT_VECTORS

#ifdef __cplusplus
/** @brief Extents of a grid or block; what is not given is 1. */
struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};
#else
typedef struct dim3 { unsigned int x, y, z; } dim3;
#endif
