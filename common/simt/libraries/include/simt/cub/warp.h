/**
 * @file warp.h
 * @brief CUB's algorithms of a warp, or of a part of 2, 4, 8 or 16 lanes: by shuffles.
 */
#pragma once

#pragma GCC system_header

#include "block.h"

namespace cub
{
namespace details
{
template <int LANES> SIMT_INLINE unsigned int lanes_of_part()
{
    return LANES == 32 ? cooperative_groups::details::lanes_of_warp() : cooperative_groups::details::lanes_around(LANES);
}
template <int LANES, typename T>
SIMT_INLINE T from_lane(cuda::details::place at, const char *what, enum simt_shuffle_kind kind, const T &value, int by)
{
    return cooperative_groups::details::shuffle(at.of(what), kind, lanes_of_part<LANES>(), value, (unsigned int)by, LANES);
}
template <int LANES> SIMT_INLINE int lane_of_part() { return (int)(simt_self()->lane % LANES); }
} // namespace details

/** @brief The result is the first lane's. */
template <typename T, int LANES = 32, int = 0> class WarpReduce
{
  public:
    struct TempStorage {
        char simt_unused;
    };
    WarpReduce(TempStorage &) {}
    template <typename Operation> T Reduce(T input, Operation operation, int valid, SIMT_WHERE)
    {
        const int own = details::lane_of_part<LANES>();
        for (int by = 1; by < LANES; by *= 2) {
            const T other = details::from_lane<LANES>(at, "cub::WarpReduce", SIMT_SHUFFLE_DOWN, input, by);
            if (own + by < valid && own + by < LANES) input = operation(input, other);
        }
        return input;
    }
    template <typename Operation> T Reduce(T input, Operation operation, SIMT_WHERE) { return Reduce(input, operation, LANES, at); }
    T Sum(T input, SIMT_WHERE) { return Reduce(input, thrust::plus<>(), LANES, at); }
    T Sum(T input, int valid, SIMT_WHERE) { return Reduce(input, thrust::plus<>(), valid, at); }
};

template <typename T, int LANES = 32, int = 0> class WarpScan
{
  public:
    struct TempStorage {
        char simt_unused;
    };
    WarpScan(TempStorage &) {}
    template <typename Operation> void InclusiveScan(T input, T &output, Operation operation, SIMT_WHERE)
    {
        for (int by = 1; by < LANES; by *= 2) {
            const T other = details::from_lane<LANES>(at, "cub::WarpScan", SIMT_SHUFFLE_UP, input, by);
            if (details::lane_of_part<LANES>() >= by) input = operation(other, input);
        }
        output = input;
    }
    template <typename Operation> void InclusiveScan(T input, T &output, Operation operation, T &total, SIMT_WHERE)
    {
        InclusiveScan(input, output, operation, at);
        total = Broadcast(output, LANES - 1, at);
    }
    template <typename Operation> void ExclusiveScan(T input, T &output, T initial, Operation operation, SIMT_WHERE)
    {
        T upto;
        InclusiveScan(input, upto, operation, at);
        const T before = details::from_lane<LANES>(at, "cub::WarpScan", SIMT_SHUFFLE_UP, upto, 1);
        output = details::lane_of_part<LANES>() == 0 ? initial : (T)operation(initial, before);
    }
    template <typename Operation>
    void ExclusiveScan(T input, T &output, T initial, Operation operation, T &total, SIMT_WHERE)
    {
        InclusiveScan(input, output, operation, total, at);
        ExclusiveScan(input, output, initial, operation, at);
    }
    void InclusiveSum(T input, T &output, SIMT_WHERE) { InclusiveScan(input, output, thrust::plus<>(), at); }
    void InclusiveSum(T input, T &output, T &total, SIMT_WHERE) { InclusiveScan(input, output, thrust::plus<>(), total, at); }
    void ExclusiveSum(T input, T &output, SIMT_WHERE) { ExclusiveScan(input, output, T(), thrust::plus<>(), at); }
    void ExclusiveSum(T input, T &output, T &total, SIMT_WHERE) { ExclusiveScan(input, output, T(), thrust::plus<>(), total, at); }
    T Broadcast(T input, unsigned int lane, SIMT_WHERE)
    {
        return details::from_lane<LANES>(at, "cub::WarpScan::Broadcast", SIMT_SHUFFLE_INDEX, input, (int)lane);
    }
};

enum WarpExchangeAlgorithm { WARP_EXCHANGE_SMEM, WARP_EXCHANGE_SHUFFLE };

template <typename T, int ITEMS, int LANES = 32, typename...> class WarpExchange
{
  public:
    struct TempStorage {
        details::room<T, LANES * ITEMS> value;
    };
    WarpExchange(TempStorage &s) : storage(s) {}
    template <typename Out> void StripedToBlocked(const T (&in)[ITEMS], Out (&out)[ITEMS], SIMT_WHERE) { move<true, false>(in, out, at); }
    template <typename Out> void BlockedToStriped(const T (&in)[ITEMS], Out (&out)[ITEMS], SIMT_WHERE) { move<false, true>(in, out, at); }

  private:
    template <bool FROM_STRIPED, bool TO_STRIPED, typename Out>
    void move(const T (&in)[ITEMS], Out (&out)[ITEMS], cuda::details::place at)
    {
        const int own = details::lane_of_part<LANES>();
        for (int i = 0; i < ITEMS; i++)
            ::new ((void *)&storage.value[details::item_place<FROM_STRIPED, LANES, ITEMS>(own, i)]) T(in[i]);
        simt_warp_barrier(at.of("cub::WarpExchange"), details::lanes_of_part<LANES>());
        for (int i = 0; i < ITEMS; i++) out[i] = storage.value[details::item_place<TO_STRIPED, LANES, ITEMS>(own, i)];
    }
    TempStorage &storage;
};

} // namespace cub
