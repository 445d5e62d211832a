/**
 * @file tools.h
 * @brief Memory and numbers for the other parts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** @brief Whether all of [address, address + bytes) lies in [start, start + size), whatever the numbers are. */
static inline bool simt_lies_in(uintptr_t start, size_t size, uintptr_t address, size_t bytes)
{
    return address - start < size && bytes <= size - (address - start);
}

/** @brief A growing array: bytes, so that one implementation serves all. */
struct vector {
    void *data;
    size_t count, capacity;
};
/** @brief Room for one more element of @p element_bytes; its address. Memory running out ends the program. */
void *simt_vector_grow(struct vector *v, size_t element_bytes);
void *simt_reserve(size_t bytes, const char *what); /**< zero pages that cost nothing until touched */
/** @brief Such pages, at lower addresses than @p end. */
void *simt_reserve_below(uintptr_t end, size_t bytes, const char *what);
void simt_forget(void *pages, size_t bytes); /**< makes them zero and free again */
/**
 * @brief Gives reserved pages that nobody has written yet memory, all at once.
 *
 * One by one they would cost two faults each, as cells are read before they are written, and the second one
 * stops every other worker for a moment.
 */
void simt_populate(void *pages, size_t bytes);
uint64_t simt_mix(uint64_t value); /**< a good 64-bit hash */
/** @brief Element @p index of a fixed permutation of 0..count-1, without storing it. */
uint64_t simt_permuted(uint64_t index, uint64_t count, uint64_t seed);

/**
 * @brief Defines function_here(), which does what function() does, with AVX2 where the processor has it.
 *
 * @p parameters and @p arguments are in parentheses. function() is one that compilers put into its callers.
 */
#if defined(__x86_64__)
#define SIMT_WIDE(function, parameters, arguments)                                                           \
    __attribute__((target("avx2,fma"), optimize("O3"))) static void function##_wide parameters               \
    {                                                                                                        \
        function arguments;                                                                                  \
    }                                                                                                        \
    static void function##_here parameters                                                                   \
    {                                                                                                        \
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))                                 \
            function##_wide arguments;                                                                       \
        else                                                                                                 \
            function arguments;                                                                              \
    }
#else
#define SIMT_WIDE(function, parameters, arguments)                                                           \
    static void function##_here parameters                                                                   \
    {                                                                                                        \
        function arguments;                                                                                  \
    }
#endif
