/**
 * @file common.h
 * @brief What CUB's blocks, warps and device algorithms share: operators, pairs, iterators, buffers.
 */
#pragma once

#pragma GCC system_header

#include <limits>

#include "simt/barrier.h"
#include "../thrust/all.h"

#define CUB_VERSION 300000
#define CUB_MAX(a, b) (((b) > (a)) ? (b) : (a))
#define CUB_MIN(a, b) (((b) < (a)) ? (b) : (a))
#define CubDebugExit(e)                                                                                      \
    do {                                                                                                     \
        if ((e) != cudaSuccess) {                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e));                       \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)
#define CubDebug(e) (e)

namespace cub
{
using std::size_t;
typedef thrust::plus<> Sum;
typedef thrust::maximum<> Max;
typedef thrust::minimum<> Min;
typedef thrust::equal_to<> Equality;
typedef thrust::not_equal_to<> Inequality;
typedef thrust::minus<> Difference;

template <typename K, typename V> struct KeyValuePair {
    typedef K Key;
    typedef V Value;
    K key;
    V value;
    KeyValuePair() = default;
    constexpr KeyValuePair(const K &k, const V &v) : key(k), value(v) {}
    constexpr bool operator!=(const KeyValuePair &o) const { return key != o.key || value != o.value; }
};
/** @brief Of pairs of index and value the one with the larger value; of equal ones that with the smaller index. */
struct ArgMax {
    template <typename K, typename V>
    constexpr KeyValuePair<K, V> operator()(const KeyValuePair<K, V> &a, const KeyValuePair<K, V> &b) const
    {
        return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
struct ArgMin {
    template <typename K, typename V>
    constexpr KeyValuePair<K, V> operator()(const KeyValuePair<K, V> &a, const KeyValuePair<K, V> &b) const
    {
        return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
struct NullType {};

template <typename T, typename = std::ptrdiff_t> using CountingInputIterator = thrust::counting_iterator<T>;
template <typename T, typename = std::ptrdiff_t> using ConstantInputIterator = thrust::constant_iterator<T>;
template <typename T, typename F, typename It, typename = std::ptrdiff_t>
class TransformInputIterator : public thrust::transform_iterator<F, It>
{
  public:
    TransformInputIterator(It it, F f) : thrust::transform_iterator<F, It>(it, f) {}
};
typedef thrust::discard_iterator<> DiscardOutputIterator;

/** @brief Two arrays that a sort uses in turn; Current() has the result. */
template <typename T> struct DoubleBuffer {
    T *d_buffers[2];
    int selector;
    DoubleBuffer() : d_buffers{nullptr, nullptr}, selector(0) {}
    DoubleBuffer(T *current, T *alternate) : d_buffers{current, alternate}, selector(0) {}
    T *Current() { return d_buffers[selector]; }
    T *Alternate() { return d_buffers[selector ^ 1]; }
};

/** @brief Gives memory and takes it back; keeps none. */
struct CachingDeviceAllocator {
    template <typename... Settings> explicit CachingDeviceAllocator(Settings...) {}
    cudaError_t DeviceAllocate(void **memory, size_t bytes, cudaStream_t = 0) { return (::cudaMalloc)(memory, bytes); }
    cudaError_t DeviceFree(void *memory) { return cudaFree(memory); }
};

template <typename T> struct Traits {
    typedef std::make_unsigned_t<std::conditional_t<sizeof(T) == 8, long long, std::conditional_t<sizeof(T) == 4, int, short>>> UnsignedBits;
};

#define CUB_PTX_LOG_WARP_THREADS 5
#define CUB_PTX_WARP_THREADS 32
constexpr int INT_WARP_THREADS = 32;

SIMT_INLINE unsigned int LaneId() { return simt_self()->lane; }
SIMT_INLINE unsigned int WarpId() { return simt_self()->warp; }
template <typename T> constexpr T DivideAndRoundUp(T a, T b) { return (a + b - 1) / b; }

namespace details
{
/** @brief Room for values of any type in shared memory, which nobody constructs. */
template <typename T, int COUNT> struct room {
    alignas(T) char bytes[sizeof(T) * COUNT];
    SIMT_INLINE T *of(const room &self) { return reinterpret_cast<T *>(const_cast<char *>(self.bytes)); }
    T &operator[](int i) { return reinterpret_cast<T *>(bytes)[i]; }
};
SIMT_INLINE void meet(cuda::details::place at, const char *what)
{
    (void)simt_block_barrier(at.of(what), SIMT_VOTE_NONE, 0);
}
SIMT_INLINE int own_rank() { return (int)cooperative_groups::details::rank_in_block(); }
} // namespace details
} // namespace cub
