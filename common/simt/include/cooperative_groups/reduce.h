/**
 * @file reduce.h
 * @brief reduce() over the members of a tile or of coalesced threads.
 *
 * A tile, and a whole warp, adds partners at half its size first, then at a quarter, and so on; fewer than 32 coalesced
 * threads add as a scan does. CUDA 13 does it in the same order, so that sums of floats agree.
 */
#pragma once

#pragma GCC system_header

#include "../cooperative_groups.h"
#include "../simt/group_operators.h"

namespace cooperative_groups
{

template <typename Group, typename T, typename Operator>
SIMT_INLINE auto reduce(const Group &group, T &&value, Operator &&combine, SIMT_HERE) -> decltype(combine(value, value))
{
    static_assert(!std::is_same<Group, thread_block>::value && !std::is_same<Group, grid_group>::value,
                  "reduce() takes a tile or coalesced threads");
    const unsigned int size = group.size(), rank = group.thread_rank();
    const simt_site *site = at.of("reduce");
    auto result = details::value_of(value);
    if (std::is_same<Group, coalesced_group>::value && size != 32) {
        result = details::scan_members(site, group, result, combine);
        return details::from_member(site, group, result, size - 1);
    }
    for (unsigned int distance = size / 2; distance > 0; distance /= 2)
        result = combine(result, details::from_member(site, group, result, rank ^ distance));
    return result;
}

/** @brief Member 0 adds the sum of all to @p target, or takes the least or greatest into it. */
template <typename Group, typename Target, typename T, typename Operator>
SIMT_INLINE void reduce_store_async(const Group &group, Target *target, T &&value, Operator &&combine, SIMT_HERE)
{
    auto result = reduce(group, value, combine, at);
    if (group.thread_rank() == 0) *target = result;
}
template <typename Group, typename Target, typename T, typename Operator>
SIMT_INLINE void reduce_update_async(const Group &group, Target &target, T &&value, Operator &&combine, SIMT_HERE)
{
    auto result = reduce(group, value, combine, at);
    if (group.thread_rank() == 0) details::update(target, result, combine);
}

} // namespace cooperative_groups
