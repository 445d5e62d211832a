/**
 * @file vector_functions.h
 * @brief make_char1 ... make_double4.
 */
#pragma once

#pragma GCC system_header

#include "vector_types.h"

#define SIMT_MAKE(name, type)                                                                                \
    static inline __attribute__((always_inline)) name##1 make_##name##1(type x)                              \
    {                                                                                                        \
        name##1 v = {x};                                                                                     \
        return v;                                                                                            \
    }                                                                                                        \
    static inline __attribute__((always_inline)) name##2 make_##name##2(type x, type y)                      \
    {                                                                                                        \
        name##2 v = {x, y};                                                                                  \
        return v;                                                                                            \
    }                                                                                                        \
    static inline __attribute__((always_inline)) name##3 make_##name##3(type x, type y, type z)              \
    {                                                                                                        \
        name##3 v = {x, y, z};                                                                               \
        return v;                                                                                            \
    }                                                                                                        \
    static inline __attribute__((always_inline)) name##4 make_##name##4(type x, type y, type z, type w)      \
    {                                                                                                        \
        name##4 v = {x, y, z, w};                                                                            \
        return v;                                                                                            \
    }

SIMT_MAKE(char, signed char)
SIMT_MAKE(uchar, unsigned char)
SIMT_MAKE(short, short)
SIMT_MAKE(ushort, unsigned short)
SIMT_MAKE(int, int)
SIMT_MAKE(uint, unsigned int)
SIMT_MAKE(long, long)
SIMT_MAKE(ulong, unsigned long)
SIMT_MAKE(longlong, long long)
SIMT_MAKE(ulonglong, unsigned long long)
SIMT_MAKE(float, float)
SIMT_MAKE(double, double)
#undef SIMT_MAKE
