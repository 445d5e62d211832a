/**
 * @file scan.h
 * @brief inclusive_scan() and exclusive_scan() over the members of a tile or of coalesced threads, in the order of ranks.
 */
#pragma once

#pragma GCC system_header

#include "../cooperative_groups.h"
#include "../simt/group_operators.h"

namespace cooperative_groups
{

template <typename Group, typename T, typename Operator>
SIMT_INLINE auto inclusive_scan(const Group &group, T &&value, Operator &&combine, SIMT_HERE)
    -> decltype(combine(value, value))
{
    return details::scan_members(at.of("inclusive_scan"), group, details::value_of(value), combine);
}
template <typename Group, typename T> SIMT_INLINE auto inclusive_scan(const Group &group, T &&value, SIMT_HERE)
{
    return inclusive_scan(group, value, plus<typename std::decay<T>::type>(), at);
}

template <typename Group, typename T, typename Operator>
SIMT_INLINE auto exclusive_scan(const Group &group, T &&value, Operator &&combine, SIMT_HERE)
    -> decltype(combine(value, value))
{
    const unsigned int rank = group.thread_rank();
    auto sum = inclusive_scan(group, value, combine, at);
    auto before = details::from_member(at.of("exclusive_scan"), group, sum, rank > 0 ? rank - 1 : 0);
    return rank > 0 ? before : decltype(before){};
}
template <typename Group, typename T> SIMT_INLINE auto exclusive_scan(const Group &group, T &&value, SIMT_HERE)
{
    return exclusive_scan(group, value, plus<typename std::decay<T>::type>(), at);
}

/** @brief The group takes its sum's worth from @p counter at once; each member gets where its part begins. */
template <typename Group, typename Counter, typename T, typename Operator>
SIMT_INLINE auto exclusive_scan_update(const Group &group, Counter &counter, T &&value, Operator &&combine, SIMT_HERE)
{
    auto sum = inclusive_scan(group, value, combine, at);
    const unsigned int last = group.size() - 1;
    auto start = decltype(sum){};
    if (group.thread_rank() == last) start = details::update(counter, sum, combine);
    start = details::from_member(at.of("exclusive_scan_update"), group, start, last);
    auto before = details::from_member(at.of("exclusive_scan_update, before"), group, sum,
                                       group.thread_rank() > 0 ? group.thread_rank() - 1 : 0);
    return group.thread_rank() > 0 ? combine(start, before) : start;
}
template <typename Group, typename Counter, typename T>
SIMT_INLINE auto exclusive_scan_update(const Group &group, Counter &counter, T &&value, SIMT_HERE)
{
    return exclusive_scan_update(group, counter, value, plus<typename std::decay<T>::type>(), at);
}
template <typename Group, typename Counter, typename T, typename Operator>
SIMT_INLINE auto inclusive_scan_update(const Group &group, Counter &counter, T &&value, Operator &&combine, SIMT_HERE)
{
    auto sum = inclusive_scan(group, value, combine, at);
    const unsigned int last = group.size() - 1;
    auto start = decltype(sum){};
    if (group.thread_rank() == last) start = details::update(counter, sum, combine);
    return combine(details::from_member(at.of("inclusive_scan_update"), group, start, last), sum);
}

} // namespace cooperative_groups
