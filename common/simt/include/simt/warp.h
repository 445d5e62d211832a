/**
 * @file warp.h
 * @brief Shuffles, votes, matches and reductions of a warp.
 *
 * Each is a macro so that findings name the place where it stands. Values travel as 64-bit
 * words; runtime/warp.c holds the rules.
 */
#pragma once

#pragma GCC system_header

#include "language.h"

enum simt_shuffle_kind { SIMT_SHUFFLE_INDEX, SIMT_SHUFFLE_UP, SIMT_SHUFFLE_DOWN, SIMT_SHUFFLE_XOR };
enum simt_vote_kind { SIMT_WARP_BALLOT, SIMT_WARP_ALL, SIMT_WARP_ANY };
enum simt_reduction {
    SIMT_REDUCE_ADD,
    SIMT_REDUCE_MIN_SIGNED,
    SIMT_REDUCE_MIN_UNSIGNED,
    SIMT_REDUCE_MAX_SIGNED,
    SIMT_REDUCE_MAX_UNSIGNED,
    SIMT_REDUCE_AND,
    SIMT_REDUCE_OR,
    SIMT_REDUCE_XOR
};

extern "C" {
unsigned long long simt_shuffle(const struct simt_site *site, enum simt_shuffle_kind kind, unsigned int mask,
                                unsigned long long value, unsigned int lane, int width, unsigned int bytes);
unsigned int simt_vote(const struct simt_site *site, enum simt_vote_kind kind, unsigned int mask,
                       int predicate);
unsigned int simt_match_any(const struct simt_site *site, unsigned int mask, unsigned long long value);
unsigned int simt_match_all(const struct simt_site *site, unsigned int mask, unsigned long long value,
                            int *same);
unsigned int simt_reduce(const struct simt_site *site, enum simt_reduction kind, unsigned int mask,
                         unsigned int value);
}

template <typename T> SIMT_INLINE unsigned long long simt_to_word(T value)
{
    static_assert(sizeof(T) <= 8, "a warp operation moves at most 8 bytes per lane");
    unsigned long long word = 0;
    __builtin_memcpy(&word, &value, sizeof(T));
    return word;
}

template <typename T> SIMT_INLINE T simt_from_word(unsigned long long word)
{
    T value;
    __builtin_memcpy(&value, &word, sizeof(T));
    return value;
}

template <typename T>
SIMT_INLINE T simt_shuffle_value(const struct simt_site *site, enum simt_shuffle_kind kind, unsigned int mask,
                                 T value, unsigned int lane, int width = 32)
{
    return simt_from_word<T>(simt_shuffle(site, kind, mask, simt_to_word(value), lane, width, sizeof(T)));
}

template <typename T>
SIMT_INLINE unsigned int simt_match_any_value(const struct simt_site *site, unsigned int mask, T value)
{
    return simt_match_any(site, mask, simt_to_word(value));
}

template <typename T>
SIMT_INLINE unsigned int simt_match_all_value(const struct simt_site *site, unsigned int mask, T value,
                                              int *same)
{
    int flag = 0;
    unsigned int lanes = simt_match_all(site, mask, simt_to_word(value), &flag);
    *same = flag;
    return lanes;
}

#define __shfl_sync(...) simt_shuffle_value(SIMT_SITE("__shfl_sync"), SIMT_SHUFFLE_INDEX, __VA_ARGS__)
#define __shfl_up_sync(...) simt_shuffle_value(SIMT_SITE("__shfl_up_sync"), SIMT_SHUFFLE_UP, __VA_ARGS__)
#define __shfl_down_sync(...)                                                                                \
    simt_shuffle_value(SIMT_SITE("__shfl_down_sync"), SIMT_SHUFFLE_DOWN, __VA_ARGS__)
#define __shfl_xor_sync(...) simt_shuffle_value(SIMT_SITE("__shfl_xor_sync"), SIMT_SHUFFLE_XOR, __VA_ARGS__)

#define __ballot_sync(mask, predicate)                                                                       \
    simt_vote(SIMT_SITE("__ballot_sync"), SIMT_WARP_BALLOT, mask, (predicate) ? 1 : 0)
#define __all_sync(mask, predicate)                                                                          \
    ((int)simt_vote(SIMT_SITE("__all_sync"), SIMT_WARP_ALL, mask, (predicate) ? 1 : 0))
#define __any_sync(mask, predicate)                                                                          \
    ((int)simt_vote(SIMT_SITE("__any_sync"), SIMT_WARP_ANY, mask, (predicate) ? 1 : 0))
#define __match_any_sync(...) simt_match_any_value(SIMT_SITE("__match_any_sync"), __VA_ARGS__)
#define __match_all_sync(...) simt_match_all_value(SIMT_SITE("__match_all_sync"), __VA_ARGS__)

SIMT_INLINE unsigned int __activemask()
{
    return simt_active_mask();
}

/** @brief Picks the signed or unsigned form by the type of the value, as CUDA's overloads do. */
template <enum simt_reduction SIGNED, enum simt_reduction UNSIGNED>
struct simt_reducer {
    const struct simt_site *site; int operator()(unsigned int mask, int value)
        const {return (int)simt_reduce(site, SIGNED, mask, (unsigned int)value);}
unsigned int operator()(unsigned int mask, unsigned int value) const
{
    return simt_reduce(site, UNSIGNED, mask, value);
}
}
;

#define __reduce_add_sync(...)                                                                               \
    (simt_reducer<SIMT_REDUCE_ADD, SIMT_REDUCE_ADD>{SIMT_SITE("__reduce_add_sync")})(__VA_ARGS__)
#define __reduce_min_sync(...)                                                                               \
    (simt_reducer<SIMT_REDUCE_MIN_SIGNED, SIMT_REDUCE_MIN_UNSIGNED>{SIMT_SITE("__reduce_min_sync")})(        \
        __VA_ARGS__)
#define __reduce_max_sync(...)                                                                               \
    (simt_reducer<SIMT_REDUCE_MAX_SIGNED, SIMT_REDUCE_MAX_UNSIGNED>{SIMT_SITE("__reduce_max_sync")})(        \
        __VA_ARGS__)
#define __reduce_and_sync(mask, value)                                                                       \
    simt_reduce(SIMT_SITE("__reduce_and_sync"), SIMT_REDUCE_AND, mask, value)
#define __reduce_or_sync(mask, value) simt_reduce(SIMT_SITE("__reduce_or_sync"), SIMT_REDUCE_OR, mask, value)
#define __reduce_xor_sync(mask, value)                                                                       \
    simt_reduce(SIMT_SITE("__reduce_xor_sync"), SIMT_REDUCE_XOR, mask, value)
