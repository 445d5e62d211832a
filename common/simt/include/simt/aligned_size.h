/**
 * @file aligned_size.h
 * @brief cuda::aligned_size_t: a number of bytes, and the promise that the addresses are aligned as it says.
 */
#pragma once

#pragma GCC system_header

#include <stddef.h>

namespace cuda
{
template <size_t ALIGNMENT> struct aligned_size_t {
    static constexpr size_t align = ALIGNMENT;
    size_t value;
    explicit constexpr aligned_size_t(size_t bytes) : value(bytes) {}
    constexpr operator size_t() const { return value; }
};
} // namespace cuda
