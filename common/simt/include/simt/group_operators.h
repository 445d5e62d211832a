/**
 * @file group_operators.h
 * @brief What reduce() and the scans of cooperative groups have in common: operators, and values from other members.
 */
#pragma once

#pragma GCC system_header

#include "groups.h"

namespace cooperative_groups
{

template <typename T> struct plus {
    T operator()(T a, T b) const { return a + b; }
};
template <typename T> struct less {
    T operator()(T a, T b) const { return b < a ? b : a; }
};
template <typename T> struct greater {
    T operator()(T a, T b) const { return a < b ? b : a; }
};
template <typename T> struct bit_and {
    T operator()(T a, T b) const { return a & b; }
};
template <typename T> struct bit_xor {
    T operator()(T a, T b) const { return a ^ b; }
};
template <typename T> struct bit_or {
    T operator()(T a, T b) const { return a | b; }
};

namespace details
{
template <typename T> SIMT_INLINE typename std::decay<T>::type value_of(const T &value) { return value; }

/** @brief The value that member @p rank brings; all members of the group must call. */
template <typename Group, typename T>
SIMT_INLINE T from_member(const simt_site *site, const Group &group, const T &value, unsigned int rank)
{
    const unsigned int lanes = group.simt_lanes();
    return shuffle(site, SIMT_SHUFFLE_INDEX, lanes, value, lane_of_rank(lanes, rank), 32);
}

/** @brief Each member's value with those of all before it: partners at distance 1, then 2, then 4. */
template <typename Group, typename T, typename Operator>
SIMT_INLINE T scan_members(const simt_site *site, const Group &group, T result, const Operator &combine)
{
    const unsigned int size = group.size(), rank = group.thread_rank();
    for (unsigned int distance = 1; distance < size; distance *= 2) {
        T before = from_member(site, group, result, rank >= distance ? rank - distance : rank);
        if (rank >= distance) result = combine(result, before);
    }
    return result;
}

/** @brief Combines @p value into memory that others use, too; what was there before. */
template <typename Target, typename T, typename Operator>
SIMT_OUTLINE T update(Target &target, const T &value, const Operator &combine)
{
    simt_atomic_begin((void *)&target, sizeof target, SIMT_CALLER);
    const T old = *(T *)(void *)&target;
    *(T *)(void *)&target = combine(old, value);
    simt_atomic_end((void *)&target, sizeof target);
    return old;
}
} // namespace details

} // namespace cooperative_groups
