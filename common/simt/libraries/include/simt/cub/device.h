/**
 * @file device.h
 * @brief CUB's algorithms of the whole device, by those of Thrust. Asked for the size of temporary memory, they want one byte.
 */
#pragma once

#pragma GCC system_header

#include "warp.h"

namespace cub
{
namespace details
{
typedef thrust::details::device_policy on;
template <typename It> using value_of = thrust::details::value_of<It>;

/** @brief The first call asks for a size; the second one does the work. */
template <typename Work> cudaError_t call(void *temporary, size_t &bytes, Work work)
{
    if (temporary == nullptr) {
        bytes = 1;
        return cudaSuccess;
    }
#if defined(__cpp_exceptions)
    try {
        work();
    } catch (const thrust::system_error &error) {
        return (cudaError_t)error.code().value();
    }
#else
    work();
#endif
    return cudaSuccess;
}
/** @brief Writes a number that is known on the host, in the order of the stream. */
template <typename Out, typename T> void put(const on &policy, Out out, T value)
{
    auto to = thrust::details::raw(out);
    thrust::details::once(policy, "cub, its count", [=]() { *to = value; });
}
template <typename In, typename Out, typename T, typename Operation>
void reduce_into(const on &policy, const char *name, In in, Out out, size_t count, T initial, Operation operation)
{
    auto from = thrust::details::raw(in);
    auto to = thrust::details::raw(out);
    thrust::details::once(policy, name, [=]() mutable {
        T sum = initial;
        for (size_t i = 0; i < count; i++) sum = operation(sum, from[i]);
        *to = sum;
    });
}
template <typename In, typename Out, typename Better>
void extreme_into(const on &policy, const char *name, In in, Out out, size_t count, Better better)
{
    auto from = thrust::details::raw(in);
    auto to = thrust::details::raw(out);
    thrust::details::once(policy, name, [=]() mutable {
        size_t best = 0;
        for (size_t i = 1; i < count; i++)
            if (better(from[i], from[best])) best = i;
        *to = KeyValuePair<int, value_of<In>>((int)best, from[best]);
    });
}
} // namespace details

#define SIMT_CALL(...) return details::call(temporary, bytes, [=]() { const details::on policy(stream); __VA_ARGS__; })

struct DeviceReduce {
    template <typename In, typename Out, typename Operation, typename T, typename N>
    static cudaError_t Reduce(void *temporary, size_t &bytes, In in, Out out, N n, Operation operation, T initial, cudaStream_t stream = 0)
    {
        SIMT_CALL(details::reduce_into(policy, "cub::DeviceReduce::Reduce", in, out, (size_t)n, initial, operation));
    }
    template <typename In, typename Out, typename N>
    static cudaError_t Sum(void *temporary, size_t &bytes, In in, Out out, N n, cudaStream_t stream = 0)
    {
        using T = std::remove_cv_t<details::value_of<In>>;
        SIMT_CALL(details::reduce_into(policy, "cub::DeviceReduce::Sum", in, out, (size_t)n, T(), thrust::plus<>()));
    }
    template <typename In, typename Out, typename N>
    static cudaError_t Max(void *temporary, size_t &bytes, In in, Out out, N n, cudaStream_t stream = 0)
    {
        using T = std::remove_cv_t<details::value_of<In>>;
        SIMT_CALL(details::reduce_into(policy, "cub::DeviceReduce::Max", in, out, (size_t)n, std::numeric_limits<T>::lowest(), thrust::maximum<>()));
    }
    template <typename In, typename Out, typename N>
    static cudaError_t Min(void *temporary, size_t &bytes, In in, Out out, N n, cudaStream_t stream = 0)
    {
        using T = std::remove_cv_t<details::value_of<In>>;
        SIMT_CALL(details::reduce_into(policy, "cub::DeviceReduce::Min", in, out, (size_t)n, std::numeric_limits<T>::max(), thrust::minimum<>()));
    }
    template <typename In, typename Out, typename N>
    static cudaError_t ArgMax(void *temporary, size_t &bytes, In in, Out out, N n, cudaStream_t stream = 0)
    {
        SIMT_CALL(details::extreme_into(policy, "cub::DeviceReduce::ArgMax", in, out, (size_t)n, thrust::greater<>()));
    }
    template <typename In, typename Out, typename N>
    static cudaError_t ArgMin(void *temporary, size_t &bytes, In in, Out out, N n, cudaStream_t stream = 0)
    {
        SIMT_CALL(details::extreme_into(policy, "cub::DeviceReduce::ArgMin", in, out, (size_t)n, thrust::less<>()));
    }
    template <typename In, typename Out, typename Operation, typename F, typename T, typename N>
    static cudaError_t TransformReduce(void *temporary, size_t &bytes, In in, Out out, N n, Operation operation, F f, T initial, cudaStream_t stream = 0)
    {
        SIMT_CALL(details::reduce_into(policy, "cub::DeviceReduce::TransformReduce", thrust::make_transform_iterator(in, f), out, (size_t)n, initial, operation));
    }
    template <typename Keys, typename KeysOut, typename In, typename Out, typename Runs, typename Operation, typename N>
    static cudaError_t ReduceByKey(void *temporary, size_t &bytes, Keys keys, KeysOut keys_out, In in, Out out, Runs runs, Operation operation, N n, cudaStream_t stream = 0)
    {
        SIMT_CALL(auto end = thrust::reduce_by_key(policy, keys, keys + n, in, keys_out, out, thrust::equal_to<>(), operation);
                  details::put(policy, runs, (details::value_of<Runs>)(end.first - keys_out)));
    }
};

struct DeviceScan {
    template <typename In, typename Out, typename N>
    static cudaError_t ExclusiveSum(void *temporary, size_t &bytes, In in, Out out, N n, cudaStream_t stream = 0)
    {
        SIMT_CALL(thrust::exclusive_scan(policy, in, in + n, out));
    }
    template <typename In, typename Out, typename N>
    static cudaError_t InclusiveSum(void *temporary, size_t &bytes, In in, Out out, N n, cudaStream_t stream = 0)
    {
        SIMT_CALL(thrust::inclusive_scan(policy, in, in + n, out));
    }
    template <typename In, typename Out, typename Operation, typename T, typename N>
    static cudaError_t ExclusiveScan(void *temporary, size_t &bytes, In in, Out out, Operation operation, T initial, N n, cudaStream_t stream = 0)
    {
        SIMT_CALL(thrust::exclusive_scan(policy, in, in + n, out, initial, operation));
    }
    template <typename In, typename Out, typename Operation, typename N>
    static cudaError_t InclusiveScan(void *temporary, size_t &bytes, In in, Out out, Operation operation, N n, cudaStream_t stream = 0)
    {
        SIMT_CALL(thrust::inclusive_scan(policy, in, in + n, out, operation));
    }
    /* The same in place. */
    template <typename Data, typename N, std::enable_if_t<std::is_integral<N>::value, int> = 0>
    static cudaError_t ExclusiveSum(void *temporary, size_t &bytes, Data data, N n, cudaStream_t stream = 0)
    {
        return ExclusiveSum(temporary, bytes, data, data, n, stream);
    }
    template <typename Data, typename N, std::enable_if_t<std::is_integral<N>::value, int> = 0>
    static cudaError_t InclusiveSum(void *temporary, size_t &bytes, Data data, N n, cudaStream_t stream = 0)
    {
        return InclusiveSum(temporary, bytes, data, data, n, stream);
    }
    template <typename Data, typename Operation, typename T, typename N, std::enable_if_t<std::is_integral<N>::value, int> = 0>
    static cudaError_t ExclusiveScan(void *temporary, size_t &bytes, Data data, Operation operation, T initial, N n, cudaStream_t stream = 0)
    {
        return ExclusiveScan(temporary, bytes, data, data, operation, initial, n, stream);
    }
    template <typename Data, typename Operation, typename N, std::enable_if_t<std::is_integral<N>::value, int> = 0>
    static cudaError_t InclusiveScan(void *temporary, size_t &bytes, Data data, Operation operation, N n, cudaStream_t stream = 0)
    {
        return InclusiveScan(temporary, bytes, data, data, operation, n, stream);
    }
    template <typename Keys, typename In, typename Out, typename N>
    static cudaError_t InclusiveSumByKey(void *temporary, size_t &bytes, Keys keys, In in, Out out, N n, cudaStream_t stream = 0)
    {
        SIMT_CALL(thrust::inclusive_scan_by_key(policy, keys, keys + n, in, out));
    }
    template <typename Keys, typename In, typename Out, typename N>
    static cudaError_t ExclusiveSumByKey(void *temporary, size_t &bytes, Keys keys, In in, Out out, N n, cudaStream_t stream = 0)
    {
        SIMT_CALL(thrust::exclusive_scan_by_key(policy, keys, keys + n, in, out));
    }
};

struct DeviceSelect {
    template <typename In, typename Flags, typename Out, typename Kept, typename N>
    static cudaError_t Flagged(void *temporary, size_t &bytes, In in, Flags flags, Out out, Kept kept, N n, cudaStream_t stream = 0)
    {
        SIMT_CALL(auto end = thrust::copy_if(policy, in, in + n, flags, out, thrust::identity<>());
                  details::put(policy, kept, (details::value_of<Kept>)(end - out)));
    }
    template <typename In, typename Out, typename Kept, typename N, typename Test>
    static cudaError_t If(void *temporary, size_t &bytes, In in, Out out, Kept kept, N n, Test test, cudaStream_t stream = 0)
    {
        SIMT_CALL(auto end = thrust::copy_if(policy, in, in + n, out, test);
                  details::put(policy, kept, (details::value_of<Kept>)(end - out)));
    }
    template <typename In, typename Out, typename Kept, typename N>
    static cudaError_t Unique(void *temporary, size_t &bytes, In in, Out out, Kept kept, N n, cudaStream_t stream = 0)
    {
        SIMT_CALL(auto end = thrust::unique_copy(policy, in, in + n, out);
                  details::put(policy, kept, (details::value_of<Kept>)(end - out)));
    }
};

/** @brief The rest is kept, too: behind the others, from the end. */
struct DevicePartition {
    template <typename In, typename Out, typename Kept, typename N, typename Test>
    static cudaError_t If(void *temporary, size_t &bytes, In in, Out out, Kept kept, N n, Test test, cudaStream_t stream = 0)
    {
        SIMT_CALL(auto end = thrust::copy_if(policy, in, in + n, out, test);
                  thrust::remove_copy_if(policy, in, in + n, thrust::make_reverse_iterator(out + n), test);
                  details::put(policy, kept, (details::value_of<Kept>)(end - out)));
    }
    template <typename In, typename Flags, typename Out, typename Kept, typename N>
    static cudaError_t Flagged(void *temporary, size_t &bytes, In in, Flags flags, Out out, Kept kept, N n, cudaStream_t stream = 0)
    {
        SIMT_CALL(auto end = thrust::copy_if(policy, in, in + n, flags, out, thrust::identity<>());
                  thrust::remove_copy_if(policy, in, in + n, flags, thrust::make_reverse_iterator(out + n), thrust::identity<>());
                  details::put(policy, kept, (details::value_of<Kept>)(end - out)));
    }
};

/* ---- sorting ------------------------------------------------------------------------------------------- */

namespace details
{
/** @brief Compares only bits [begin, end) of integers. */
template <typename K> struct by_bits {
    int begin, end;
    bool descending;
    template <typename T> std::make_unsigned_t<T> cut(T key) const
    {
        typedef std::make_unsigned_t<T> U;
        const U bits = (U)((U)key ^ (std::is_signed<T>::value ? (U)1 << (8 * sizeof(U) - 1) : 0));
        const int width = end - begin;
        return (U)((bits >> begin) & (width >= 8 * (int)sizeof(U) ? (U)~(U)0 : (U)(((U)1 << width) - 1)));
    }
    bool operator()(const K &a, const K &b) const
    {
        if constexpr (std::is_integral<K>::value && !std::is_same<K, bool>::value)
            return descending ? cut(b) < cut(a) : cut(a) < cut(b);
        else
            return descending ? b < a : a < b;
    }
};
} // namespace details

struct DeviceRadixSort {
#define SIMT_SORTS(suffix, descending)                                                                       \
    template <typename K, typename N>                                                                        \
    static cudaError_t SortKeys##suffix(void *temporary, size_t &bytes, const K *in, K *out, N n, int begin = 0, int end = 8 * sizeof(K), cudaStream_t stream = 0) \
    {                                                                                                        \
        SIMT_CALL(thrust::copy_n(policy, in, n, out);                                                        \
                  thrust::stable_sort(policy, out, out + n, details::by_bits<K>{begin, end, descending}));   \
    }                                                                                                        \
    template <typename K, typename V, typename N>                                                            \
    static cudaError_t SortPairs##suffix(void *temporary, size_t &bytes, const K *in, K *out, const V *values, V *values_out, N n, int begin = 0, int end = 8 * sizeof(K), cudaStream_t stream = 0) \
    {                                                                                                        \
        SIMT_CALL(thrust::copy_n(policy, in, n, out); thrust::copy_n(policy, values, n, values_out);         \
                  thrust::stable_sort_by_key(policy, out, out + n, values_out, details::by_bits<K>{begin, end, descending})); \
    }                                                                                                        \
    template <typename K, typename N>                                                                        \
    static cudaError_t SortKeys##suffix(void *temporary, size_t &bytes, DoubleBuffer<K> &keys, N n, int begin = 0, int end = 8 * sizeof(K), cudaStream_t stream = 0) \
    {                                                                                                        \
        K *const at = keys.Current();                                                                        \
        SIMT_CALL(thrust::stable_sort(policy, at, at + n, details::by_bits<K>{begin, end, descending}));     \
    }                                                                                                        \
    template <typename K, typename V, typename N>                                                            \
    static cudaError_t SortPairs##suffix(void *temporary, size_t &bytes, DoubleBuffer<K> &keys, DoubleBuffer<V> &values, N n, int begin = 0, int end = 8 * sizeof(K), cudaStream_t stream = 0) \
    {                                                                                                        \
        K *const at = keys.Current();                                                                        \
        V *const with = values.Current();                                                                    \
        SIMT_CALL(thrust::stable_sort_by_key(policy, at, at + n, with, details::by_bits<K>{begin, end, descending})); \
    }
    SIMT_SORTS(, false)
    SIMT_SORTS(Descending, true)
#undef SIMT_SORTS
};

struct DeviceMergeSort {
    template <typename Keys, typename N, typename Less>
    static cudaError_t SortKeys(void *temporary, size_t &bytes, Keys keys, N n, Less less, cudaStream_t stream = 0)
    {
        SIMT_CALL(thrust::stable_sort(policy, keys, keys + n, less));
    }
    template <typename Keys, typename N, typename Less>
    static cudaError_t StableSortKeys(void *temporary, size_t &bytes, Keys keys, N n, Less less, cudaStream_t stream = 0)
    {
        return SortKeys(temporary, bytes, keys, n, less, stream);
    }
    template <typename Keys, typename Values, typename N, typename Less>
    static cudaError_t SortPairs(void *temporary, size_t &bytes, Keys keys, Values values, N n, Less less, cudaStream_t stream = 0)
    {
        SIMT_CALL(thrust::stable_sort_by_key(policy, keys, keys + n, values, less));
    }
};

/* ---- counting ------------------------------------------------------------------------------------------ */

struct DeviceHistogram {
    template <typename In, typename Counter, typename Level, typename N>
    static cudaError_t HistogramEven(void *temporary, size_t &bytes, In in, Counter *histogram, int levels, Level lower, Level upper, N n, cudaStream_t stream = 0)
    {
        auto from = thrust::details::raw(in);
        SIMT_CALL(thrust::fill_n(policy, histogram, levels - 1, Counter(0));
                  thrust::details::each(policy, "cub::DeviceHistogram::HistogramEven", (size_t)n, [=](size_t i) {
                      const auto sample = from[i];
                      if (sample < lower || !(sample < upper)) return;
                      typedef std::conditional_t<std::is_integral<Level>::value, unsigned long long, Level> Wide;
                      atomicAdd(&histogram[(int)((Wide)(sample - lower) * (Wide)(levels - 1) / (Wide)(upper - lower))], Counter(1));
                  }));
    }
    template <typename In, typename Counter, typename Level, typename N>
    static cudaError_t HistogramRange(void *temporary, size_t &bytes, In in, Counter *histogram, int levels, const Level *level, N n, cudaStream_t stream = 0)
    {
        auto from = thrust::details::raw(in);
        SIMT_CALL(thrust::fill_n(policy, histogram, levels - 1, Counter(0));
                  thrust::details::each(policy, "cub::DeviceHistogram::HistogramRange", (size_t)n, [=](size_t i) {
                      const Level sample = (Level)from[i];
                      const auto bin = thrust::details::bound_above(level, levels, sample, thrust::less<>()) - 1;
                      if (bin >= 0 && bin < levels - 1) atomicAdd(&histogram[bin], Counter(1));
                  }));
    }
};

struct DeviceRunLengthEncode {
    template <typename In, typename Unique, typename Counts, typename Runs, typename N>
    static cudaError_t Encode(void *temporary, size_t &bytes, In in, Unique unique, Counts counts, Runs runs, N n, cudaStream_t stream = 0)
    {
        typedef details::value_of<Counts> Count;
        SIMT_CALL(auto end = thrust::reduce_by_key(policy, in, in + n, thrust::constant_iterator<Count>(1), unique, counts);
                  details::put(policy, runs, (details::value_of<Runs>)(end.first - unique)));
    }
};

struct DeviceSegmentedReduce {
    template <typename In, typename Out, typename Begin, typename End, typename Operation, typename T>
    static cudaError_t Reduce(void *temporary, size_t &bytes, In in, Out out, int segments, Begin begin, End end, Operation operation, T initial, cudaStream_t stream = 0)
    {
        auto from = thrust::details::raw(in);
        auto to = thrust::details::raw(out);
        SIMT_CALL(thrust::details::each(policy, "cub::DeviceSegmentedReduce", (size_t)segments, [=](size_t s) mutable {
            T sum = initial;
            for (auto i = begin[s]; i < end[s]; i++) sum = operation(sum, from[i]);
            to[s] = sum;
        }));
    }
    template <typename In, typename Out, typename Begin, typename End>
    static cudaError_t Sum(void *temporary, size_t &bytes, In in, Out out, int segments, Begin begin, End end, cudaStream_t stream = 0)
    {
        return Reduce(temporary, bytes, in, out, segments, begin, end, thrust::plus<>(), std::remove_cv_t<details::value_of<In>>(), stream);
    }
    template <typename In, typename Out, typename Begin, typename End>
    static cudaError_t Max(void *temporary, size_t &bytes, In in, Out out, int segments, Begin begin, End end, cudaStream_t stream = 0)
    {
        typedef std::remove_cv_t<details::value_of<In>> T;
        return Reduce(temporary, bytes, in, out, segments, begin, end, thrust::maximum<>(), std::numeric_limits<T>::lowest(), stream);
    }
    template <typename In, typename Out, typename Begin, typename End>
    static cudaError_t Min(void *temporary, size_t &bytes, In in, Out out, int segments, Begin begin, End end, cudaStream_t stream = 0)
    {
        typedef std::remove_cv_t<details::value_of<In>> T;
        return Reduce(temporary, bytes, in, out, segments, begin, end, thrust::minimum<>(), std::numeric_limits<T>::max(), stream);
    }
};

#undef SIMT_CALL

} // namespace cub
