/**
 * @file reductions.h
 * @brief Sums, counts, extremes, searches, comparisons, and scans: from left to right.
 */
#pragma once

#pragma GCC system_header

#include "transformations.h"

namespace thrust
{

/* ---- to one value -------------------------------------------------------------------------------------- */

SIMT_POLICY(typename It, typename F, typename T, typename Operation)
T transform_reduce(const Policy &policy, It first, It last, F f, T init, Operation operation)
{
    auto from = details::raw(first);
    const size_t count = (size_t)(last - first);
    return details::result_of(policy, "thrust::transform_reduce", [=]() mutable {
        T sum = init;
        for (size_t i = 0; i < count; i++) sum = operation(sum, f(from[i]));
        return sum;
    });
}
SIMT_POLICY(typename It, typename T = std::remove_cv_t<details::value_of<It>>, typename Operation = plus<>)
T reduce(const Policy &policy, It first, It last, T init = T(), Operation operation = {})
{
    auto from = details::raw(first);
    const size_t count = (size_t)(last - first);
    return details::result_of(policy, "thrust::reduce", [=]() mutable {
        T sum = init;
        for (size_t i = 0; i < count; i++) sum = operation(sum, (details::value_of<decltype(from)>)from[i]);
        return sum;
    });
}
SIMT_POLICY(typename A, typename B, typename T, typename Sum = plus<>, typename Product = multiplies<>)
T inner_product(const Policy &policy, A first, A last, B second, T init, Sum sum_of = {}, Product product = {})
{
    auto a = details::raw(first);
    auto b = details::raw(second);
    const size_t count = (size_t)(last - first);
    return details::result_of(policy, "thrust::inner_product", [=]() mutable {
        T sum = init;
        for (size_t i = 0; i < count; i++) sum = sum_of(sum, product(a[i], b[i]));
        return sum;
    });
}
SIMT_POLICY(typename It, typename Test) std::ptrdiff_t count_if(const Policy &policy, It first, It last, Test test)
{
    auto from = details::raw(first);
    const size_t count = (size_t)(last - first);
    return details::result_of(policy, "thrust::count_if", [=]() mutable {
        std::ptrdiff_t found = 0;
        for (size_t i = 0; i < count; i++) found += test(from[i]) ? 1 : 0;
        return found;
    });
}
SIMT_POLICY(typename It, typename T) std::ptrdiff_t count(const Policy &policy, It first, It last, const T &value)
{
    const T wanted = value;
    return thrust::count_if(policy, first, last, [=](const auto &element) { return element == wanted; });
}
SIMT_WITHOUT_POLICY(transform_reduce)
SIMT_WITHOUT_POLICY(reduce)
SIMT_WITHOUT_POLICY(inner_product)
SIMT_WITHOUT_POLICY(count_if)
SIMT_WITHOUT_POLICY(count)

/* ---- where something is -------------------------------------------------------------------------------- */

namespace details
{
/** @brief The first element that none comes before; of equal ones the first, for the largest too. */
template <typename It, typename Less> std::pair<size_t, size_t> extremes(It from, size_t count, Less less)
{
    std::pair<size_t, size_t> at(0, 0);
    for (size_t i = 1; i < count; i++) {
        if (less(from[i], from[at.first])) at.first = i;
        if (less(from[at.second], from[i])) at.second = i;
    }
    return at;
}
} // namespace details

SIMT_POLICY(typename It, typename Less = thrust::less<>) std::pair<It, It> minmax_element(const Policy &policy, It first, It last, Less less = {})
{
    auto from = details::raw(first);
    const size_t count = (size_t)(last - first);
    const auto at = details::result_of(policy, "thrust::minmax_element",
                                       [=]() { return details::extremes(from, count, less); });
    return count > 0 ? std::pair<It, It>(first + at.first, first + at.second) : std::pair<It, It>(last, last);
}
SIMT_POLICY(typename It, typename Less = thrust::less<>)
It min_element(const Policy &policy, It first, It last, Less less = {})
{
    return thrust::minmax_element(policy, first, last, less).first;
}
SIMT_POLICY(typename It, typename Less = thrust::less<>)
It max_element(const Policy &policy, It first, It last, Less less = {})
{
    return thrust::minmax_element(policy, first, last, less).second;
}
SIMT_POLICY(typename It, typename Test) It find_if(const Policy &policy, It first, It last, Test test)
{
    auto from = details::raw(first);
    const size_t count = (size_t)(last - first);
    return first + details::result_of(policy, "thrust::find_if", [=]() mutable {
               size_t i = 0;
               while (i < count && !test(from[i])) i++;
               return (std::ptrdiff_t)i;
           });
}
SIMT_POLICY(typename It, typename Test) It find_if_not(const Policy &policy, It first, It last, Test test)
{
    return thrust::find_if(policy, first, last, thrust::not1(test));
}
SIMT_POLICY(typename It, typename T) It find(const Policy &policy, It first, It last, const T &value)
{
    const T wanted = value;
    return thrust::find_if(policy, first, last, [=](const auto &element) { return element == wanted; });
}
SIMT_POLICY(typename It, typename Test) bool any_of(const Policy &policy, It first, It last, Test test)
{
    return thrust::find_if(policy, first, last, test) != last;
}
SIMT_POLICY(typename It, typename Test) bool none_of(const Policy &policy, It first, It last, Test test)
{
    return !thrust::any_of(policy, first, last, test);
}
SIMT_POLICY(typename It, typename Test) bool all_of(const Policy &policy, It first, It last, Test test)
{
    return !thrust::any_of(policy, first, last, thrust::not1(test));
}
SIMT_POLICY(typename A, typename B, typename Same = equal_to<>)
std::pair<A, B> mismatch(const Policy &policy, A first, A last, B second, Same same = {})
{
    auto a = details::raw(first);
    auto b = details::raw(second);
    const size_t count = (size_t)(last - first);
    const std::ptrdiff_t at = details::result_of(policy, "thrust::mismatch", [=]() mutable {
        size_t i = 0;
        while (i < count && same(a[i], b[i])) i++;
        return (std::ptrdiff_t)i;
    });
    return std::pair<A, B>(first + at, second + at);
}
SIMT_POLICY(typename A, typename B, typename Same = equal_to<>) bool equal(const Policy &policy, A first, A last, B second, Same same = {})
{
    return thrust::mismatch(policy, first, last, second, same).first == last;
}
SIMT_WITHOUT_POLICY(minmax_element)
SIMT_WITHOUT_POLICY(min_element)
SIMT_WITHOUT_POLICY(max_element)
SIMT_WITHOUT_POLICY(find_if)
SIMT_WITHOUT_POLICY(find_if_not)
SIMT_WITHOUT_POLICY(find)
SIMT_WITHOUT_POLICY(any_of)
SIMT_WITHOUT_POLICY(none_of)
SIMT_WITHOUT_POLICY(all_of)
SIMT_WITHOUT_POLICY(mismatch)
SIMT_WITHOUT_POLICY(equal)

/* ---- scans --------------------------------------------------------------------------------------------- */

SIMT_POLICY(typename In, typename Out, typename F, typename Operation)
Out transform_inclusive_scan(const Policy &policy, In first, In last, Out out, F f, Operation operation)
{
    auto from = details::raw(first);
    auto to = details::raw(out);
    const size_t count = (size_t)(last - first);
    details::once(policy, "thrust::inclusive_scan", [=]() mutable {
        if (count == 0) return;
        auto sum = f((details::value_of<decltype(from)>)from[0]);
        to[0] = sum;
        for (size_t i = 1; i < count; i++) to[i] = sum = operation(sum, f((details::value_of<decltype(from)>)from[i]));
    });
    return out + (last - first);
}
SIMT_POLICY(typename In, typename Out, typename F, typename T, typename Operation)
Out transform_exclusive_scan(const Policy &policy, In first, In last, Out out, F f, T init, Operation operation)
{
    auto from = details::raw(first);
    auto to = details::raw(out);
    const size_t count = (size_t)(last - first);
    details::once(policy, "thrust::exclusive_scan", [=]() mutable {
        T sum = init;
        for (size_t i = 0; i < count; i++) { /* `to` may be `from` */
            const T next = operation(sum, f((details::value_of<decltype(from)>)from[i]));
            to[i] = sum;
            sum = next;
        }
    });
    return out + (last - first);
}
SIMT_POLICY(typename In, typename Out, typename Operation = plus<>)
Out inclusive_scan(const Policy &policy, In first, In last, Out out, Operation operation = {})
{
    return thrust::transform_inclusive_scan(policy, first, last, out, identity<>(), operation);
}
SIMT_POLICY(typename In, typename Out, typename T = std::remove_cv_t<details::value_of<In>>, typename Operation = plus<>)
Out exclusive_scan(const Policy &policy, In first, In last, Out out, T init = T(0), Operation operation = {})
{
    return thrust::transform_exclusive_scan(policy, first, last, out, identity<>(), init, operation);
}
SIMT_WITHOUT_POLICY(transform_inclusive_scan)
SIMT_WITHOUT_POLICY(transform_exclusive_scan)
SIMT_WITHOUT_POLICY(inclusive_scan)
SIMT_WITHOUT_POLICY(exclusive_scan)

/* ---- for each run of equal keys ------------------------------------------------------------------------ */

SIMT_POLICY(typename Keys, typename In, typename Out, typename Same = equal_to<>, typename Operation = plus<>)
Out inclusive_scan_by_key(const Policy &policy, Keys first, Keys last, In in, Out out, Same same = {},
                          Operation operation = {})
{
    auto key = details::raw(first);
    auto from = details::raw(in);
    auto to = details::raw(out);
    const size_t count = (size_t)(last - first);
    details::once(policy, "thrust::inclusive_scan_by_key", [=]() mutable {
        if (count == 0) return;
        details::value_of<decltype(from)> sum = from[0];
        to[0] = sum;
        for (size_t i = 1; i < count; i++) {
            const details::value_of<decltype(from)> value = from[i];
            sum = same(key[i - 1], key[i]) ? operation(sum, value) : value;
            to[i] = sum;
        }
    });
    return out + (last - first);
}
SIMT_POLICY(typename Keys, typename In, typename Out, typename T = details::value_of<In>, typename Same = equal_to<>,
            typename Operation = plus<>)
Out exclusive_scan_by_key(const Policy &policy, Keys first, Keys last, In in, Out out, T init = T(0), Same same = {},
                          Operation operation = {})
{
    auto key = details::raw(first);
    auto from = details::raw(in);
    auto to = details::raw(out);
    const size_t count = (size_t)(last - first);
    details::once(policy, "thrust::exclusive_scan_by_key", [=]() mutable {
        T sum = init;
        for (size_t i = 0; i < count; i++) {
            if (i > 0 && !same(key[i - 1], key[i])) sum = init;
            const T next = operation(sum, from[i]);
            to[i] = sum;
            sum = next;
        }
    });
    return out + (last - first);
}
SIMT_POLICY(typename Keys, typename In, typename KeysOut, typename Out, typename Same = equal_to<>,
            typename Operation = plus<>)
std::pair<KeysOut, Out> reduce_by_key(const Policy &policy, Keys first, Keys last, In in, KeysOut keys_out, Out out,
                                      Same same = {}, Operation operation = {})
{
    auto key = details::raw(first);
    auto from = details::raw(in);
    auto key_to = details::raw(keys_out);
    auto to = details::raw(out);
    const size_t count = (size_t)(last - first);
    const std::ptrdiff_t runs = details::result_of(policy, "thrust::reduce_by_key", [=]() mutable {
        std::ptrdiff_t run = 0;
        for (size_t i = 0; i < count; run++) {
            const details::value_of<decltype(key)> own = key[i];
            details::value_of<decltype(from)> sum = from[i];
            for (i++; i < count && same(own, key[i]); i++) sum = operation(sum, from[i]);
            key_to[run] = own;
            to[run] = sum;
        }
        return run;
    });
    return std::pair<KeysOut, Out>(keys_out + runs, out + runs);
}
SIMT_WITHOUT_POLICY(inclusive_scan_by_key)
SIMT_WITHOUT_POLICY(exclusive_scan_by_key)
SIMT_WITHOUT_POLICY(reduce_by_key)

} // namespace thrust
