/**
 * @file transformations.h
 * @brief Algorithms that work on each element by itself, and copies.
 *
 * Every algorithm is written once, for a policy; SIMT_WITHOUT_POLICY adds the form without one.
 */
#pragma once

#pragma GCC system_header

#include "iterators.h"

#define SIMT_POLICY(...) template <typename Policy, __VA_ARGS__, std::enable_if_t<details::is_policy<Policy>, int> = 0>
#define SIMT_WITHOUT_POLICY(name)                                                                            \
    template <typename First, typename... Rest, std::enable_if_t<!details::is_policy<First>, int> = 0>       \
    auto name(First first, Rest... rest)                                                                     \
    {                                                                                                        \
        return thrust::name(details::policy_for<First, Rest...>(), first, rest...);                          \
    }

namespace thrust
{

SIMT_POLICY(typename It, typename Size, typename F) It for_each_n(const Policy &policy, It first, Size count, F f)
{
    auto at = details::raw(first);
    details::each(policy, "thrust::for_each", (size_t)count, [=](size_t i) mutable { f(at[i]); });
    return first + count;
}
SIMT_POLICY(typename It, typename F) It for_each(const Policy &policy, It first, It last, F f)
{
    return thrust::for_each_n(policy, first, last - first, f);
}
SIMT_WITHOUT_POLICY(for_each_n)
SIMT_WITHOUT_POLICY(for_each)

/* ---- transform ----------------------------------------------------------------------------------------- */

SIMT_POLICY(typename It, typename Out, typename F) Out transform(const Policy &policy, It first, It last, Out out, F f)
{
    auto from = details::raw(first);
    auto to = details::raw(out);
    details::each(policy, "thrust::transform", (size_t)(last - first), [=](size_t i) mutable { to[i] = f(from[i]); });
    return out + (last - first);
}
SIMT_POLICY(typename A, typename B, typename Out, typename F)
Out transform(const Policy &policy, A first, A last, B second, Out out, F f)
{
    auto a = details::raw(first);
    auto b = details::raw(second);
    auto to = details::raw(out);
    details::each(policy, "thrust::transform", (size_t)(last - first),
                  [=](size_t i) mutable { to[i] = f(a[i], b[i]); });
    return out + (last - first);
}
SIMT_POLICY(typename It, typename Out, typename F, typename Test)
Out transform_if(const Policy &policy, It first, It last, Out out, F f, Test test)
{
    auto from = details::raw(first);
    auto to = details::raw(out);
    details::each(policy, "thrust::transform_if", (size_t)(last - first), [=](size_t i) mutable {
        if (test(from[i])) to[i] = f(from[i]);
    });
    return out + (last - first);
}
SIMT_POLICY(typename It, typename Stencil, typename Out, typename F, typename Test)
Out transform_if(const Policy &policy, It first, It last, Stencil stencil, Out out, F f, Test test)
{
    auto from = details::raw(first);
    auto when = details::raw(stencil);
    auto to = details::raw(out);
    details::each(policy, "thrust::transform_if", (size_t)(last - first), [=](size_t i) mutable {
        if (test(when[i])) to[i] = f(from[i]);
    });
    return out + (last - first);
}
SIMT_WITHOUT_POLICY(transform)
SIMT_WITHOUT_POLICY(transform_if)

/* ---- filling ------------------------------------------------------------------------------------------- */

SIMT_POLICY(typename It, typename Size, typename T) It fill_n(const Policy &policy, It first, Size count, const T &value)
{
    auto to = details::raw(first);
    const details::value_of<decltype(to)> v(value);
    details::each(policy, "thrust::fill", (size_t)count, [=](size_t i) { to[i] = v; });
    return first + count;
}
SIMT_POLICY(typename It, typename T) void fill(const Policy &policy, It first, It last, const T &value)
{
    thrust::fill_n(policy, first, last - first, value);
}
SIMT_POLICY(typename It, typename T) void uninitialized_fill(const Policy &policy, It first, It last, const T &value)
{
    thrust::fill(policy, first, last, value);
}
SIMT_POLICY(typename It, typename F) void tabulate(const Policy &policy, It first, It last, F f)
{
    auto to = details::raw(first);
    details::each(policy, "thrust::tabulate", (size_t)(last - first), [=](size_t i) mutable { to[i] = f(i); });
}
SIMT_POLICY(typename It, typename T, typename Step) void sequence(const Policy &policy, It first, It last, T init, Step step)
{
    auto to = details::raw(first);
    using V = details::value_of<decltype(to)>;
    details::each(policy, "thrust::sequence", (size_t)(last - first),
                  [=](size_t i) { to[i] = (V)((V)init + (V)step * (V)i); });
}
SIMT_POLICY(typename It, typename T) void sequence(const Policy &policy, It first, It last, T init)
{
    thrust::sequence(policy, first, last, init, T(1));
}
SIMT_POLICY(typename It) void sequence(const Policy &policy, It first, It last)
{
    thrust::sequence(policy, first, last, details::value_of<It>(0));
}
/** @brief One after the other: a generator has a state. */
SIMT_POLICY(typename It, typename Size, typename F) It generate_n(const Policy &policy, It first, Size count, F f)
{
    auto to = details::raw(first);
    if constexpr (details::is_device<Policy>)
        details::each(policy, "thrust::generate", (size_t)count, [=](size_t i) mutable { to[i] = f(); });
    else
        for (Size i = 0; i < count; i++) to[i] = f();
    return first + count;
}
SIMT_POLICY(typename It, typename F) void generate(const Policy &policy, It first, It last, F f)
{
    thrust::generate_n(policy, first, last - first, f);
}
SIMT_WITHOUT_POLICY(fill_n)
SIMT_WITHOUT_POLICY(fill)
SIMT_WITHOUT_POLICY(uninitialized_fill)
SIMT_WITHOUT_POLICY(tabulate)
SIMT_WITHOUT_POLICY(sequence)
SIMT_WITHOUT_POLICY(generate_n)
SIMT_WITHOUT_POLICY(generate)

/* ---- copies -------------------------------------------------------------------------------------------- */

namespace details
{
/** @brief Between host and device in whichever direction: by cudaMemcpy if both are arrays of one type. */
template <typename In, typename Out> Out copy_across(In first, size_t count, Out out)
{
    using T = std::remove_cv_t<value_of<In>>;
    constexpr bool from_device = is_of_device<In>::value, to_device = is_of_device<Out>::value;
    static_assert(from_device || to_device, "one side is the device's");
    std::vector<std::conditional_t<std::is_same<T, bool>::value, char, T>> kept;
    kept.reserve(count);
    if constexpr (!from_device) {
        for (size_t i = 0; i < count; i++) kept.push_back(first[i]);
        using U = value_of<Out>;
        std::vector<std::conditional_t<std::is_same<U, bool>::value, char, U>> turned(kept.begin(), kept.end());
        scratch<device_policy, U> there(device_policy(), count);
        U *from = there.get();
        need(cudaMemcpy((void *)from, turned.data(), count * sizeof(U), cudaMemcpyHostToDevice), "thrust::copy");
        auto to = raw(out);
        each(device_policy(), "thrust::copy", count, [=](size_t i) { to[i] = from[i]; });
    } else {
        scratch<device_policy, T> there(device_policy(), count);
        T *to = there.get();
        auto from = raw(first);
        each(device_policy(), "thrust::copy", count, [=](size_t i) { to[i] = from[i]; });
        kept.resize(count);
        need(cudaMemcpy(kept.data(), to, count * sizeof(T), cudaMemcpyDeviceToHost), "thrust::copy");
        for (size_t i = 0; i < count; i++) out[i] = (T)kept[i];
    }
    return out + count;
}

template <typename It> constexpr bool is_array = std::is_pointer<decltype(raw(std::declval<const It &>()))>::value;
template <typename T, typename A> constexpr bool is_array<__gnu_cxx::__normal_iterator<T *, std::vector<std::remove_cv_t<T>, A>>> = true;

template <typename It> auto address_of(const It &it)
{
    if constexpr (std::is_pointer<decltype(raw(it))>::value)
        return raw(it);
    else
        return &*it;
}
/** @brief One cudaMemcpy will do. */
template <typename In, typename Out> constexpr bool is_plain_copy()
{
    if constexpr (is_array<In> && is_array<Out>)
        return std::is_same<std::remove_cv_t<value_of<In>>, value_of<Out>>::value &&
               std::is_trivially_copyable<value_of<Out>>::value;
    else
        return false;
}
} // namespace details

SIMT_POLICY(typename In, typename Size, typename Out) Out copy_n(const Policy &policy, In first, Size count, Out out)
{
    auto from = details::raw(first);
    auto to = details::raw(out);
    details::each(policy, "thrust::copy", (size_t)count, [=](size_t i) { to[i] = from[i]; });
    return out + count;
}
SIMT_POLICY(typename In, typename Out) Out copy(const Policy &policy, In first, In last, Out out)
{
    return thrust::copy_n(policy, first, last - first, out);
}
/** @brief The form without a policy also goes between host and device. */
template <typename In, typename Size, typename Out, std::enable_if_t<!details::is_policy<In>, int> = 0>
Out copy_n(In first, Size n, Out out)
{
    constexpr bool from_device = details::is_of_device<In>::value, to_device = details::is_of_device<Out>::value;
    const size_t count = (size_t)n;
    if (count == 0) return out;
    if constexpr (!from_device && !to_device) {
        for (size_t i = 0; i < count; ++i, ++first, ++out) *out = *first;
        return out;
    } else if constexpr (details::is_plain_copy<In, Out>()) {
        details::need(cudaMemcpy((void *)details::address_of(out), (const void *)details::address_of(first),
                                 count * sizeof(details::value_of<Out>), cudaMemcpyDefault),
                      "thrust::copy");
        return out + count;
    } else if constexpr (to_device && (from_device || details::is_nowhere<In>::value)) {
        return thrust::copy_n(details::device_policy(), first, count, out);
    } else if constexpr (std::is_same<typename std::iterator_traits<Out>::iterator_category,
                                      std::output_iterator_tag>::value) {
        std::vector<details::value_of<In>> kept(count); /* an ostream_iterator, say */
        details::copy_across(first, count, kept.begin());
        for (const auto &value : kept) *out++ = value;
        return out;
    } else {
        return details::copy_across(first, count, out);
    }
}
template <typename In, typename Out, std::enable_if_t<!details::is_policy<In>, int> = 0>
Out copy(In first, In last, Out out)
{
    return thrust::copy_n(first, std::distance(first, last), out);
}
SIMT_POLICY(typename In, typename Out) Out uninitialized_copy(const Policy &policy, In first, In last, Out out)
{
    return thrust::copy(policy, first, last, out);
}
SIMT_WITHOUT_POLICY(uninitialized_copy)

SIMT_POLICY(typename Map, typename In, typename Out)
Out gather(const Policy &policy, Map first, Map last, In in, Out out)
{
    auto map = details::raw(first);
    auto from = details::raw(in);
    auto to = details::raw(out);
    details::each(policy, "thrust::gather", (size_t)(last - first), [=](size_t i) { to[i] = from[map[i]]; });
    return out + (last - first);
}
SIMT_POLICY(typename In, typename Map, typename Out)
void scatter(const Policy &policy, In first, In last, Map map_first, Out out)
{
    auto map = details::raw(map_first);
    auto from = details::raw(first);
    auto to = details::raw(out);
    details::each(policy, "thrust::scatter", (size_t)(last - first), [=](size_t i) { to[map[i]] = from[i]; });
}
SIMT_POLICY(typename In, typename Map, typename Stencil, typename Out, typename Test)
void scatter_if(const Policy &policy, In first, In last, Map map_first, Stencil stencil, Out out, Test test)
{
    auto map = details::raw(map_first);
    auto from = details::raw(first);
    auto when = details::raw(stencil);
    auto to = details::raw(out);
    details::each(policy, "thrust::scatter_if", (size_t)(last - first), [=](size_t i) mutable {
        if (test(when[i])) to[map[i]] = from[i];
    });
}
SIMT_POLICY(typename A, typename B) B swap_ranges(const Policy &policy, A first, A last, B second)
{
    auto a = details::raw(first);
    auto b = details::raw(second);
    details::each(policy, "thrust::swap_ranges", (size_t)(last - first), [=](size_t i) {
        const details::value_of<decltype(a)> kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    });
    return second + (last - first);
}
SIMT_POLICY(typename It) void reverse(const Policy &policy, It first, It last)
{
    auto at = details::raw(first);
    const size_t count = (size_t)(last - first);
    details::each(policy, "thrust::reverse", count / 2, [=](size_t i) {
        const details::value_of<decltype(at)> kept = at[i];
        at[i] = at[count - 1 - i];
        at[count - 1 - i] = kept;
    });
}
SIMT_POLICY(typename It, typename Out) Out reverse_copy(const Policy &policy, It first, It last, Out out)
{
    auto from = details::raw(first);
    auto to = details::raw(out);
    const size_t count = (size_t)(last - first);
    details::each(policy, "thrust::reverse_copy", count, [=](size_t i) { to[i] = from[count - 1 - i]; });
    return out + (last - first);
}
SIMT_POLICY(typename It, typename Test, typename T)
void replace_if(const Policy &policy, It first, It last, Test test, const T &value)
{
    auto at = details::raw(first);
    const details::value_of<decltype(at)> v(value);
    details::each(policy, "thrust::replace_if", (size_t)(last - first), [=](size_t i) mutable {
        if (test(at[i])) at[i] = v;
    });
}
SIMT_POLICY(typename It, typename Stencil, typename Test, typename T)
void replace_if(const Policy &policy, It first, It last, Stencil stencil, Test test, const T &value)
{
    auto at = details::raw(first);
    auto when = details::raw(stencil);
    const details::value_of<decltype(at)> v(value);
    details::each(policy, "thrust::replace_if", (size_t)(last - first), [=](size_t i) mutable {
        if (test(when[i])) at[i] = v;
    });
}
SIMT_POLICY(typename It, typename T)
void replace(const Policy &policy, It first, It last, const T &old, const T &value)
{
    auto at = details::raw(first);
    const T before = old, after = value;
    details::each(policy, "thrust::replace", (size_t)(last - first), [=](size_t i) {
        if (at[i] == before) at[i] = after;
    });
}
SIMT_POLICY(typename It, typename Out, typename F = minus<>)
Out adjacent_difference(const Policy &policy, It first, It last, Out out, F f = {})
{
    auto from = details::raw(first);
    auto to = details::raw(out);
    const size_t count = (size_t)(last - first);
    details::once(policy, "thrust::adjacent_difference", [=]() mutable {
        details::value_of<decltype(from)> before{};
        for (size_t i = 0; i < count; i++) {
            const details::value_of<decltype(from)> now = from[i];
            if (i == 0)
                to[i] = now;
            else
                to[i] = f(now, before);
            before = now;
        }
    });
    return out + (last - first);
}
SIMT_WITHOUT_POLICY(gather)
SIMT_WITHOUT_POLICY(scatter)
SIMT_WITHOUT_POLICY(scatter_if)
SIMT_WITHOUT_POLICY(swap_ranges)
SIMT_WITHOUT_POLICY(reverse)
SIMT_WITHOUT_POLICY(reverse_copy)
SIMT_WITHOUT_POLICY(replace_if)
SIMT_WITHOUT_POLICY(replace)
SIMT_WITHOUT_POLICY(adjacent_difference)

} // namespace thrust
