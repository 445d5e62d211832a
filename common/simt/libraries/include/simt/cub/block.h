/**
 * @file block.h
 * @brief CUB's algorithms of a block. Values pass through the temporary storage that the program gives, and threads meet where it
 *        calls: storage that is used again without a barrier between is a race here, too.
 */
#pragma once

#pragma GCC system_header

#include "common.h"

namespace cub
{

enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS,
    BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};
enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

/* ---- reduce: the result is the first thread's ---------------------------------------------------------- */

template <typename T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0> class BlockReduce
{
  public:
    struct TempStorage {
        details::room<T, X * Y * Z> value;
    };
    BlockReduce(TempStorage &s) : storage(s) {}
    template <typename Operation> T Reduce(T input, Operation operation, int valid, SIMT_WHERE)
    {
        const int own = details::own_rank();
        if (own < valid) ::new ((void *)&storage.value[own]) T(input);
        details::meet(at, "cub::BlockReduce");
        T sum = input;
        if (own == 0)
            for (int i = 1; i < valid; i++) sum = operation(sum, storage.value[i]);
        return sum;
    }
    template <typename Operation> T Reduce(T input, Operation operation, SIMT_WHERE)
    {
        return Reduce(input, operation, X * Y * Z, at);
    }
    template <int ITEMS, typename Operation> T Reduce(T (&items)[ITEMS], Operation operation, SIMT_WHERE)
    {
        T sum = items[0];
        for (int i = 1; i < ITEMS; i++) sum = operation(sum, items[i]);
        return Reduce(sum, operation, X * Y * Z, at);
    }
    T Sum(T input, SIMT_WHERE) { return Reduce(input, thrust::plus<>(), X * Y * Z, at); }
    T Sum(T input, int valid, SIMT_WHERE) { return Reduce(input, thrust::plus<>(), valid, at); }
    template <int ITEMS> T Sum(T (&items)[ITEMS], SIMT_WHERE) { return Reduce(items, thrust::plus<>(), at); }

  private:
    TempStorage &storage;
};

/* ---- scan ---------------------------------------------------------------------------------------------- */

template <typename T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0> class BlockScan
{
  public:
    struct TempStorage {
        details::room<T, X * Y * Z> value;
        details::room<T, 1> prefix;
    };
    BlockScan(TempStorage &s) : storage(s) {}

    template <typename Operation> void InclusiveScan(T input, T &output, Operation operation, T &total, SIMT_WHERE)
    {
        put(input, at);
        output = upto(details::own_rank(), operation);
        total = upto(X * Y * Z - 1, operation);
    }
    template <typename Operation> void InclusiveScan(T input, T &output, Operation operation, SIMT_WHERE)
    {
        put(input, at);
        output = upto(details::own_rank(), operation);
    }
    template <typename Operation>
    void ExclusiveScan(T input, T &output, T initial, Operation operation, T &total, SIMT_WHERE)
    {
        const int own = details::own_rank();
        put(input, at);
        output = own == 0 ? initial : (T)operation(initial, upto(own - 1, operation));
        total = upto(X * Y * Z - 1, operation);
    }
    template <typename Operation> void ExclusiveScan(T input, T &output, T initial, Operation operation, SIMT_WHERE)
    {
        const int own = details::own_rank();
        put(input, at);
        output = own == 0 ? initial : (T)operation(initial, upto(own - 1, operation));
    }
    /** @brief Without a first value: what thread 0 gets is undefined. */
    template <typename Operation> void ExclusiveScan(T input, T &output, Operation operation, SIMT_WHERE)
    {
        const int own = details::own_rank();
        put(input, at);
        if (own > 0) output = upto(own - 1, operation);
    }
    void InclusiveSum(T input, T &output, SIMT_WHERE) { InclusiveScan(input, output, thrust::plus<>(), at); }
    void InclusiveSum(T input, T &output, T &total, SIMT_WHERE)
    {
        InclusiveScan(input, output, thrust::plus<>(), total, at);
    }
    void ExclusiveSum(T input, T &output, SIMT_WHERE) { ExclusiveScan(input, output, T(), thrust::plus<>(), at); }
    void ExclusiveSum(T input, T &output, T &total, SIMT_WHERE)
    {
        ExclusiveScan(input, output, T(), thrust::plus<>(), total, at);
    }
    /** @brief Thread 0 calls @p prefix with the block's sum, and it returns what comes before the block. */
    template <typename Prefix, typename = std::enable_if_t<std::is_class<Prefix>::value>>
    void ExclusiveSum(T input, T &output, Prefix &prefix, SIMT_WHERE)
    {
        T total;
        ExclusiveSum(input, output, total, at);
        output = ahead(prefix, total, at) + output;
    }
    template <typename Prefix, typename = std::enable_if_t<std::is_class<Prefix>::value>>
    void InclusiveSum(T input, T &output, Prefix &prefix, SIMT_WHERE)
    {
        T total;
        InclusiveSum(input, output, total, at);
        output = ahead(prefix, total, at) + output;
    }
    template <int ITEMS, typename Operation>
    void InclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], Operation operation, SIMT_WHERE)
    {
        T total;
        InclusiveScan(input, output, operation, total, at);
    }
    template <int ITEMS, typename Operation>
    void InclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], Operation operation, T &total, SIMT_WHERE)
    {
        const int own = details::own_rank();
        T sum = input[0];
        for (int i = 1; i < ITEMS; i++) sum = operation(sum, input[i]);
        put(sum, at);
        for (int i = 0; i < ITEMS; i++) {
            const T value = input[i];
            if (i > 0)
                output[i] = operation(output[i - 1], value);
            else
                output[i] = own > 0 ? (T)operation(upto(own - 1, operation), value) : value;
        }
        total = upto(X * Y * Z - 1, operation);
    }
    template <int ITEMS, typename Operation>
    void ExclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], T initial, Operation operation, T &total, SIMT_WHERE)
    {
        const int own = details::own_rank();
        T sum = input[0];
        for (int i = 1; i < ITEMS; i++) sum = operation(sum, input[i]);
        put(sum, at);
        T before = own == 0 ? initial : (T)operation(initial, upto(own - 1, operation));
        for (int i = 0; i < ITEMS; i++) {
            const T value = input[i];
            output[i] = before;
            before = operation(before, value);
        }
        total = upto(X * Y * Z - 1, operation);
    }
    template <int ITEMS, typename Operation>
    void ExclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], T initial, Operation operation, SIMT_WHERE)
    {
        T total;
        ExclusiveScan(input, output, initial, operation, total, at);
    }
    template <int ITEMS> void InclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS], SIMT_WHERE)
    {
        InclusiveScan(input, output, thrust::plus<>(), at);
    }
    template <int ITEMS> void InclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS], T &total, SIMT_WHERE)
    {
        InclusiveScan(input, output, thrust::plus<>(), total, at);
    }
    template <int ITEMS> void ExclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS], SIMT_WHERE)
    {
        ExclusiveScan(input, output, T(), thrust::plus<>(), at);
    }
    template <int ITEMS> void ExclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS], T &total, SIMT_WHERE)
    {
        ExclusiveScan(input, output, T(), thrust::plus<>(), total, at);
    }

  private:
    void put(const T &input, cuda::details::place at)
    {
        ::new ((void *)&storage.value[details::own_rank()]) T(input);
        details::meet(at, "cub::BlockScan");
    }
    template <typename Operation> T upto(int last, Operation operation)
    {
        T sum = storage.value[0];
        for (int i = 1; i <= last; i++) sum = operation(sum, storage.value[i]);
        return sum;
    }
    template <typename Prefix> T ahead(Prefix &prefix, const T &total, cuda::details::place at)
    {
        if (simt_self()->warp == 0) { /* the first warp calls, its first lane's answer counts */
            const T before = prefix(total);
            if (details::own_rank() == 0) ::new ((void *)&storage.prefix[0]) T(before);
        }
        details::meet(at, "cub::BlockScan, prefix");
        return storage.prefix[0];
    }
    TempStorage &storage;
};

/* ---- load, store, exchange ----------------------------------------------------------------------------- */

template <typename T, int ITEMS, typename It> SIMT_INLINE void LoadDirectBlocked(int rank, It from, T (&items)[ITEMS])
{
    for (int i = 0; i < ITEMS; i++) items[i] = from[rank * ITEMS + i];
}
template <typename T, int ITEMS, typename It>
SIMT_INLINE void LoadDirectBlocked(int rank, It from, T (&items)[ITEMS], int valid)
{
    for (int i = 0; i < ITEMS; i++)
        if (rank * ITEMS + i < valid) items[i] = from[rank * ITEMS + i];
}
template <typename T, int ITEMS, typename It>
SIMT_INLINE void StoreDirectBlocked(int rank, It to, T (&items)[ITEMS], int valid = 1 << 30)
{
    for (int i = 0; i < ITEMS; i++)
        if (rank * ITEMS + i < valid) to[rank * ITEMS + i] = items[i];
}
template <int THREADS, typename T, int ITEMS, typename It>
SIMT_INLINE void LoadDirectStriped(int rank, It from, T (&items)[ITEMS], int valid = 1 << 30)
{
    for (int i = 0; i < ITEMS; i++)
        if (rank + i * THREADS < valid) items[i] = from[rank + i * THREADS];
}
template <int THREADS, typename T, int ITEMS, typename It>
SIMT_INLINE void StoreDirectStriped(int rank, It to, T (&items)[ITEMS], int valid = 1 << 30)
{
    for (int i = 0; i < ITEMS; i++)
        if (rank + i * THREADS < valid) to[rank + i * THREADS] = items[i];
}

namespace details
{
/** @brief Where item @p i of thread @p rank lies: those of a thread side by side, or side by side with the other threads'. */
template <bool STRIPED, int THREADS, int ITEMS> SIMT_INLINE int item_place(int rank, int i)
{
    return STRIPED ? rank + i * THREADS : rank * ITEMS + i;
}
} // namespace details

template <typename T, int X, int ITEMS, BlockLoadAlgorithm ALGORITHM = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0> class BlockLoad
{
  public:
    struct TempStorage {
        char simt_unused;
    };
    BlockLoad() {}
    BlockLoad(TempStorage &) {}
    template <typename It> void Load(It from, T (&items)[ITEMS]) { Load(from, items, X * Y * Z * ITEMS); }
    template <typename It> void Load(It from, T (&items)[ITEMS], int valid)
    {
        for (int i = 0; i < ITEMS; i++)
            if (place(i) < valid) items[i] = from[place(i)];
    }
    template <typename It, typename Default> void Load(It from, T (&items)[ITEMS], int valid, Default beyond)
    {
        for (int i = 0; i < ITEMS; i++)
            if (place(i) < valid)
                items[i] = from[place(i)];
            else
                items[i] = beyond;
    }

  private:
    static int place(int i)
    {
        return details::item_place<ALGORITHM == BLOCK_LOAD_STRIPED, X * Y * Z, ITEMS>(details::own_rank(), i);
    }
};
template <typename T, int X, int ITEMS, BlockStoreAlgorithm ALGORITHM = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 0> class BlockStore
{
  public:
    struct TempStorage {
        char simt_unused;
    };
    BlockStore() {}
    BlockStore(TempStorage &) {}
    template <typename It> void Store(It to, T (&items)[ITEMS], int valid = X * Y * Z * ITEMS)
    {
        for (int i = 0; i < ITEMS; i++) {
            const int place = details::item_place<ALGORITHM == BLOCK_STORE_STRIPED, X * Y * Z, ITEMS>(details::own_rank(), i);
            if (place < valid) to[place] = items[i];
        }
    }
};

template <typename T, int X, int ITEMS, bool = false, int Y = 1, int Z = 1, int = 0> class BlockExchange
{
    enum { THREADS = X * Y * Z };

  public:
    struct TempStorage {
        details::room<T, THREADS * ITEMS> value;
    };
    BlockExchange(TempStorage &s) : storage(s) {}
    template <typename Out> void StripedToBlocked(const T (&in)[ITEMS], Out (&out)[ITEMS], SIMT_WHERE) { move<true, false>(in, out, at); }
    template <typename Out> void BlockedToStriped(const T (&in)[ITEMS], Out (&out)[ITEMS], SIMT_WHERE) { move<false, true>(in, out, at); }
    void StripedToBlocked(T (&items)[ITEMS], SIMT_WHERE) { move<true, false>(items, items, at); }
    void BlockedToStriped(T (&items)[ITEMS], SIMT_WHERE) { move<false, true>(items, items, at); }
    template <typename Rank> void ScatterToBlocked(T (&items)[ITEMS], Rank (&ranks)[ITEMS], SIMT_WHERE) { scatter<false>(items, ranks, at); }
    template <typename Rank> void ScatterToStriped(T (&items)[ITEMS], Rank (&ranks)[ITEMS], SIMT_WHERE) { scatter<true>(items, ranks, at); }

  private:
    template <bool STRIPED, typename Out> void take(Out (&out)[ITEMS], cuda::details::place at)
    {
        details::meet(at, "cub::BlockExchange");
        for (int i = 0; i < ITEMS; i++)
            out[i] = storage.value[details::item_place<STRIPED, THREADS, ITEMS>(details::own_rank(), i)];
    }
    template <bool FROM_STRIPED, bool TO_STRIPED, typename Out>
    void move(const T (&in)[ITEMS], Out (&out)[ITEMS], cuda::details::place at)
    {
        for (int i = 0; i < ITEMS; i++)
            ::new ((void *)&storage.value[details::item_place<FROM_STRIPED, THREADS, ITEMS>(details::own_rank(), i)]) T(in[i]);
        take<TO_STRIPED>(out, at);
    }
    template <bool TO_STRIPED, typename Rank> void scatter(T (&items)[ITEMS], Rank (&ranks)[ITEMS], cuda::details::place at)
    {
        for (int i = 0; i < ITEMS; i++) ::new ((void *)&storage.value[(int)ranks[i]]) T(items[i]);
        take<TO_STRIPED>(items, at);
    }
    TempStorage &storage;
};

/* ---- sort, histogram ----------------------------------------------------------------------------------- */

template <typename Key, int X, int ITEMS, typename Value = NullType, int... More> class BlockRadixSort
{
    enum { COUNT = X * ITEMS };

  public:
    struct TempStorage {
        details::room<Key, COUNT> key;
        details::room<Value, COUNT> value;
        unsigned int index[2 * COUNT];
    };
    BlockRadixSort(TempStorage &s) : storage(s) {}
    void Sort(Key (&keys)[ITEMS], int = 0, int = 8 * sizeof(Key), SIMT_WHERE) { sort<false>(keys, nullptr, thrust::less<Key>(), at); }
    void SortDescending(Key (&keys)[ITEMS], int = 0, int = 8 * sizeof(Key), SIMT_WHERE) { sort<false>(keys, nullptr, thrust::greater<Key>(), at); }
    void SortBlockedToStriped(Key (&keys)[ITEMS], int = 0, int = 8 * sizeof(Key), SIMT_WHERE) { sort<true>(keys, nullptr, thrust::less<Key>(), at); }
    void Sort(Key (&keys)[ITEMS], Value (&values)[ITEMS], int = 0, int = 8 * sizeof(Key), SIMT_WHERE) { sort<false>(keys, values, thrust::less<Key>(), at); }
    void SortDescending(Key (&keys)[ITEMS], Value (&values)[ITEMS], int = 0, int = 8 * sizeof(Key), SIMT_WHERE) { sort<false>(keys, values, thrust::greater<Key>(), at); }
    void SortBlockedToStriped(Key (&keys)[ITEMS], Value (&values)[ITEMS], int = 0, int = 8 * sizeof(Key), SIMT_WHERE) { sort<true>(keys, values, thrust::less<Key>(), at); }

  private:
    template <bool STRIPED, typename Less> void sort(Key *keys, Value *values, Less less, cuda::details::place at)
    {
        const int own = details::own_rank();
        for (int i = 0; i < ITEMS; i++) {
            ::new ((void *)&storage.key[own * ITEMS + i]) Key(keys[i]);
            if (values != nullptr) ::new ((void *)&storage.value[own * ITEMS + i]) Value(values[i]);
        }
        details::meet(at, "cub::BlockRadixSort");
        if (own == 0) {
            const unsigned int *order =
                thrust::details::sorted_indices(&storage.key[0], storage.index, storage.index + COUNT, COUNT, less);
            for (int i = 0; order != storage.index && i < COUNT; i++) storage.index[i] = order[i];
        }
        details::meet(at, "cub::BlockRadixSort");
        for (int i = 0; i < ITEMS; i++) {
            const int from = (int)storage.index[details::item_place<STRIPED, X, ITEMS>(own, i)];
            keys[i] = storage.key[from];
            if (values != nullptr) values[i] = storage.value[from];
        }
    }
    TempStorage &storage;
};

template <typename T, int X, int ITEMS, int BINS, BlockHistogramAlgorithm = BLOCK_HISTO_SORT, int... More> class BlockHistogram
{
  public:
    struct TempStorage {
        char simt_unused;
    };
    BlockHistogram() {}
    BlockHistogram(TempStorage &) {}
    template <typename Counter> void InitHistogram(Counter *histogram)
    {
        for (int i = details::own_rank(); i < BINS; i += X) histogram[i] = 0;
    }
    template <typename Counter> void Composite(T (&items)[ITEMS], Counter *histogram)
    {
        for (int i = 0; i < ITEMS; i++) atomicAdd(&histogram[(int)items[i]], (Counter)1);
    }
    template <typename Counter> void Histogram(T (&items)[ITEMS], Counter *histogram, SIMT_WHERE)
    {
        InitHistogram(histogram);
        details::meet(at, "cub::BlockHistogram");
        Composite(items, histogram);
    }
};

template <typename T, int X, int = 1, int = 1, int = 0> class BlockDiscontinuity
{
  public:
    struct TempStorage {
        details::room<T, X> last;
    };
    BlockDiscontinuity(TempStorage &s) : storage(s) {}
    template <int ITEMS, typename Flag, typename Differs>
    void FlagHeads(Flag (&flags)[ITEMS], T (&items)[ITEMS], Differs differs, SIMT_WHERE)
    {
        const int own = details::own_rank();
        ::new ((void *)&storage.last[own]) T(items[ITEMS - 1]);
        details::meet(at, "cub::BlockDiscontinuity");
        for (int i = 0; i < ITEMS; i++)
            flags[i] = (Flag)(i > 0 ? differs(items[i - 1], items[i]) : own == 0 || differs(storage.last[own - 1], items[0]));
    }

  private:
    TempStorage &storage;
};

} // namespace cub
