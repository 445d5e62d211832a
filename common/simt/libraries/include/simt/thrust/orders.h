/**
 * @file orders.h
 * @brief Algorithms that choose or order elements: copy_if, remove, unique, partition, sort, merge, searches, sets.
 */
#pragma once

#pragma GCC system_header

#include "reductions.h"

namespace thrust
{

/* ---- some of the elements ------------------------------------------------------------------------------ */

SIMT_POLICY(typename In, typename Stencil, typename Out, typename Test)
Out copy_if(const Policy &policy, In first, In last, Stencil stencil, Out out, Test test)
{
    auto from = details::raw(first);
    auto when = details::raw(stencil);
    auto to = details::raw(out);
    const size_t count = (size_t)(last - first);
    return out + details::result_of(policy, "thrust::copy_if", [=]() mutable {
               std::ptrdiff_t kept = 0;
               for (size_t i = 0; i < count; i++)
                   if (test(when[i])) to[kept++] = from[i];
               return kept;
           });
}
SIMT_POLICY(typename In, typename Out, typename Test)
Out copy_if(const Policy &policy, In first, In last, Out out, Test test)
{
    return thrust::copy_if(policy, first, last, first, out, test);
}
SIMT_POLICY(typename In, typename Out, typename Test)
Out remove_copy_if(const Policy &policy, In first, In last, Out out, Test test)
{
    return thrust::copy_if(policy, first, last, first, out, thrust::not1(test));
}
SIMT_POLICY(typename In, typename Stencil, typename Out, typename Test)
Out remove_copy_if(const Policy &policy, In first, In last, Stencil stencil, Out out, Test test)
{
    return thrust::copy_if(policy, first, last, stencil, out, thrust::not1(test));
}
SIMT_POLICY(typename It, typename Test) It remove_if(const Policy &policy, It first, It last, Test test)
{
    return thrust::copy_if(policy, first, last, first, first, thrust::not1(test));
}
SIMT_POLICY(typename It, typename Stencil, typename Test)
It remove_if(const Policy &policy, It first, It last, Stencil stencil, Test test)
{
    return thrust::copy_if(policy, first, last, stencil, first, thrust::not1(test));
}
SIMT_POLICY(typename It, typename T) It remove(const Policy &policy, It first, It last, const T &value)
{
    const T unwanted = value;
    return thrust::remove_if(policy, first, last, [=](const auto &element) { return element == unwanted; });
}
SIMT_POLICY(typename In, typename Yes, typename No, typename Test)
std::pair<Yes, No> partition_copy(const Policy &policy, In first, In last, Yes yes, No no, Test test)
{
    const Yes end = thrust::copy_if(policy, first, last, yes, test);
    return std::pair<Yes, No>(end, thrust::remove_copy_if(policy, first, last, no, test));
}
SIMT_POLICY(typename It, typename Test) It stable_partition(const Policy &policy, It first, It last, Test test)
{
    auto at = details::raw(first);
    using V = details::value_of<decltype(at)>;
    const size_t count = (size_t)(last - first);
    details::scratch<Policy, V> rest(policy, count);
    V *no = rest.get();
    return first + details::result_of(policy, "thrust::partition", [=]() mutable {
               size_t kept = 0, left = 0;
               for (size_t i = 0; i < count; i++)
                   if (test(at[i]))
                       at[kept++] = at[i];
                   else
                       ::new ((void *)(no + left++)) V(at[i]);
               for (size_t i = 0; i < left; i++) at[kept + i] = no[i];
               return (std::ptrdiff_t)kept;
           });
}
SIMT_POLICY(typename It, typename Test) It partition(const Policy &policy, It first, It last, Test test)
{
    return thrust::stable_partition(policy, first, last, test);
}
SIMT_POLICY(typename It, typename Out, typename Same = equal_to<>)
Out unique_copy(const Policy &policy, It first, It last, Out out, Same same = {})
{
    auto from = details::raw(first);
    auto to = details::raw(out);
    const size_t count = (size_t)(last - first);
    return out + details::result_of(policy, "thrust::unique", [=]() mutable {
               std::ptrdiff_t kept = 0;
               for (size_t i = 0; i < count;) {
                   const details::value_of<decltype(from)> own = from[i];
                   for (i++; i < count && same(own, from[i]); i++) {}
                   to[kept++] = own;
               }
               return kept;
           });
}
SIMT_POLICY(typename It, typename Same = equal_to<>)
It unique(const Policy &policy, It first, It last, Same same = {})
{
    return thrust::unique_copy(policy, first, last, first, same);
}
SIMT_POLICY(typename Keys, typename In, typename KeysOut, typename Out)
std::pair<KeysOut, Out> unique_by_key_copy(const Policy &policy, Keys first, Keys last, In in, KeysOut keys_out, Out out)
{
    return thrust::reduce_by_key(policy, first, last, in, keys_out, out, equal_to<>(), project1st<details::value_of<In>>());
}
SIMT_POLICY(typename Keys, typename In)
std::pair<Keys, In> unique_by_key(const Policy &policy, Keys first, Keys last, In in)
{
    return thrust::unique_by_key_copy(policy, first, last, in, first, in);
}
SIMT_WITHOUT_POLICY(copy_if)
SIMT_WITHOUT_POLICY(remove_copy_if)
SIMT_WITHOUT_POLICY(remove_if)
SIMT_WITHOUT_POLICY(remove)
SIMT_WITHOUT_POLICY(partition_copy)
SIMT_WITHOUT_POLICY(stable_partition)
SIMT_WITHOUT_POLICY(partition)
SIMT_WITHOUT_POLICY(unique_copy)
SIMT_WITHOUT_POLICY(unique)
SIMT_WITHOUT_POLICY(unique_by_key_copy)
SIMT_WITHOUT_POLICY(unique_by_key)

/* ---- sorting ------------------------------------------------------------------------------------------- */

namespace details
{
/** @brief Sorts indices of the keys by merging, so that equal ones keep their order; where the result is. */
template <typename Key, typename Less>
unsigned int *sorted_indices(const Key *key, unsigned int *one, unsigned int *two, size_t count, Less less)
{
    for (size_t i = 0; i < count; i++) one[i] = (unsigned int)i;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * width) {
            size_t a = begin, b = begin + width < count ? begin + width : count, to = begin;
            const size_t a_end = b, b_end = b + width < count ? b + width : count;
            while (a < a_end && b < b_end) two[to++] = less(key[one[b]], key[one[a]]) ? one[b++] : one[a++];
            while (a < a_end) two[to++] = one[a++];
            while (b < b_end) two[to++] = one[b++];
        }
        std::swap(one, two);
    }
    return one;
}
template <typename T, typename It> void put_in_order(It at, T *kept, const unsigned int *order, size_t count)
{
    for (size_t i = 0; i < count; i++) ::new ((void *)(kept + i)) T(at[i]);
    for (size_t i = 0; i < count; i++) at[i] = kept[order[i]];
}
} // namespace details

SIMT_POLICY(typename Keys, typename Values, typename Less = thrust::less<>)
void stable_sort_by_key(const Policy &policy, Keys first, Keys last, Values values, Less less = {})
{
    auto key = details::raw(first);
    auto value = details::raw(values);
    using K = details::value_of<decltype(key)>;
    using V = details::value_of<decltype(value)>;
    const size_t count = (size_t)(last - first);
    details::scratch<Policy, K> key_room(policy, count);
    details::scratch<Policy, V> value_room(policy, count);
    details::scratch<Policy, unsigned int> index_room(policy, 2 * count);
    K *kept = key_room.get();
    V *kept_values = value_room.get();
    unsigned int *index = index_room.get();
    details::once(policy, "thrust::sort_by_key", [=]() mutable {
        for (size_t i = 0; i < count; i++) ::new ((void *)(kept + i)) K(key[i]);
        const unsigned int *order = details::sorted_indices(kept, index, index + count, count, less);
        for (size_t i = 0; i < count; i++) key[i] = kept[order[i]];
        details::put_in_order(value, kept_values, order, count);
    });
}
SIMT_POLICY(typename It, typename Less = thrust::less<>) void stable_sort(const Policy &policy, It first, It last, Less less = {})
{
    auto key = details::raw(first);
    using K = details::value_of<decltype(key)>;
    const size_t count = (size_t)(last - first);
    details::scratch<Policy, K> key_room(policy, count);
    details::scratch<Policy, unsigned int> index_room(policy, 2 * count);
    K *kept = key_room.get();
    unsigned int *index = index_room.get();
    details::once(policy, "thrust::sort", [=]() mutable {
        for (size_t i = 0; i < count; i++) ::new ((void *)(kept + i)) K(key[i]);
        const unsigned int *order = details::sorted_indices(kept, index, index + count, count, less);
        for (size_t i = 0; i < count; i++) key[i] = kept[order[i]];
    });
}
SIMT_POLICY(typename It, typename Less = thrust::less<>)
void sort(const Policy &policy, It first, It last, Less less = {})
{
    thrust::stable_sort(policy, first, last, less);
}
SIMT_POLICY(typename Keys, typename Values, typename Less = thrust::less<>)
void sort_by_key(const Policy &policy, Keys first, Keys last, Values values, Less less = {})
{
    thrust::stable_sort_by_key(policy, first, last, values, less);
}
SIMT_POLICY(typename It, typename Less = thrust::less<>) bool is_sorted(const Policy &policy, It first, It last, Less less = {})
{
    auto at = details::raw(first);
    const size_t count = (size_t)(last - first);
    return details::result_of(policy, "thrust::is_sorted", [=]() mutable {
        for (size_t i = 1; i < count; i++)
            if (less(at[i], at[i - 1])) return false;
        return true;
    });
}
SIMT_WITHOUT_POLICY(stable_sort_by_key)
SIMT_WITHOUT_POLICY(stable_sort)
SIMT_WITHOUT_POLICY(sort_by_key)
SIMT_WITHOUT_POLICY(sort)
SIMT_WITHOUT_POLICY(is_sorted)

/* ---- searches in what is sorted ------------------------------------------------------------------------ */

namespace details
{
template <typename It, typename T, typename Less>
std::ptrdiff_t bound_below(It at, std::ptrdiff_t count, const T &value, Less less)
{
    std::ptrdiff_t low = 0;
    while (low < count) {
        const std::ptrdiff_t middle = low + (count - low) / 2;
        if (less(at[middle], value))
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}
template <typename It, typename T, typename Less>
std::ptrdiff_t bound_above(It at, std::ptrdiff_t count, const T &value, Less less)
{
    return bound_below(at, count, value, [&](const auto &a, const T &b) { return !less(b, a); });
}
template <typename It, typename T, typename Less> bool holds(It at, std::ptrdiff_t count, const T &value, Less less)
{
    const std::ptrdiff_t i = bound_below(at, count, value, less);
    return i < count && !less(value, at[i]);
}
template <typename It> std::ptrdiff_t yes_or_no(It, std::ptrdiff_t found) { return found; }
template <typename It> It place_of_bound(It first, std::ptrdiff_t found) { return first + found; }
} // namespace details

/* Each looks for one value, or for all of a range. */
#define SIMT_SEARCH(name, search, answer)                                                                    \
    SIMT_POLICY(typename It, typename T, typename Less)                                                      \
    auto name(const Policy &policy, It first, It last, const T &value, Less less)                            \
    {                                                                                                        \
        auto at = details::raw(first);                                                                       \
        const T wanted = value;                                                                              \
        const std::ptrdiff_t count = last - first;                                                           \
        return answer(first, details::result_of(policy, "thrust::" #name, [=]() {                            \
                          return (std::ptrdiff_t)details::search(at, count, wanted, less);                   \
                      }));                                                                                   \
    }                                                                                                        \
    SIMT_POLICY(typename It, typename T) auto name(const Policy &policy, It first, It last, const T &value)  \
    {                                                                                                        \
        return thrust::name(policy, first, last, value, thrust::less<>());                                   \
    }                                                                                                        \
    SIMT_POLICY(typename It, typename Values, typename Out, typename Less)                                   \
    Out name(const Policy &policy, It first, It last, Values values_first, Values values_last, Out out,      \
             Less less)                                                                                      \
    {                                                                                                        \
        auto at = details::raw(first);                                                                       \
        auto wanted = details::raw(values_first);                                                            \
        auto to = details::raw(out);                                                                         \
        const std::ptrdiff_t count = last - first;                                                           \
        details::each(policy, "thrust::" #name, (size_t)(values_last - values_first), [=](size_t i) {        \
            const details::value_of<decltype(wanted)> value = wanted[i];                                     \
            to[i] = details::search(at, count, value, less);                                                 \
        });                                                                                                  \
        return out + (values_last - values_first);                                                           \
    }                                                                                                        \
    SIMT_POLICY(typename It, typename Values, typename Out)                                                  \
    Out name(const Policy &policy, It first, It last, Values values_first, Values values_last, Out out)      \
    {                                                                                                        \
        return thrust::name(policy, first, last, values_first, values_last, out, thrust::less<>());          \
    }                                                                                                        \
    SIMT_WITHOUT_POLICY(name)
SIMT_SEARCH(lower_bound, bound_below, details::place_of_bound)
SIMT_SEARCH(upper_bound, bound_above, details::place_of_bound)
SIMT_SEARCH(binary_search, holds, details::yes_or_no)
#undef SIMT_SEARCH

/* ---- merging and sets ---------------------------------------------------------------------------------- */

namespace details
{
enum set_part { ONLY_A = 1, ONLY_B = 2, BOTH = 4, BOTH_TWICE = 8 };

template <typename Policy, typename A, typename B, typename Out, typename Less>
Out combine(const Policy &policy, const char *name, int parts, A first, A last, B second, B second_last, Out out,
            Less less)
{
    auto a = raw(first);
    auto b = raw(second);
    auto to = raw(out);
    const size_t a_count = (size_t)(last - first), b_count = (size_t)(second_last - second);
    return out + result_of(policy, name, [=]() mutable {
               size_t i = 0, j = 0;
               std::ptrdiff_t n = 0;
               while (i < a_count || j < b_count) {
                   const bool from_a = j == b_count || (i < a_count && less(a[i], b[j]));
                   const bool from_b = !from_a && (i == a_count || less(b[j], a[i]));
                   if (from_a) {
                       if (parts & ONLY_A) to[n++] = a[i];
                   } else if (from_b) {
                       if (parts & ONLY_B) to[n++] = b[j];
                   } else {
                       if (parts & BOTH) to[n++] = a[i];
                       if (parts & BOTH_TWICE) { /* all of a that are equal come before b's */
                           to[n++] = a[i++];
                           continue;
                       }
                   }
                   i += !from_b;
                   j += !from_a;
               }
               return n;
           });
}
} // namespace details

#define SIMT_COMBINES(name, parts)                                                                           \
    SIMT_POLICY(typename A, typename B, typename Out, typename Less = thrust::less<>)                        \
    Out name(const Policy &policy, A first, A last, B second, B second_last, Out out, Less less = {})        \
    {                                                                                                        \
        return details::combine(policy, "thrust::" #name, parts, first, last, second, second_last, out,      \
                                less);                                                                       \
    }                                                                                                        \
    SIMT_WITHOUT_POLICY(name)
SIMT_COMBINES(merge, details::ONLY_A | details::ONLY_B | details::BOTH_TWICE)
SIMT_COMBINES(set_union, details::ONLY_A | details::ONLY_B | details::BOTH)
SIMT_COMBINES(set_intersection, details::BOTH)
SIMT_COMBINES(set_difference, details::ONLY_A)
SIMT_COMBINES(set_symmetric_difference, details::ONLY_A | details::ONLY_B)
#undef SIMT_COMBINES

} // namespace thrust
