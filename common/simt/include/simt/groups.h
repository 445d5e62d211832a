/**
 * @file groups.h
 * @brief The groups of cooperative_groups.h.
 */
#pragma once

#pragma GCC system_header

#include <type_traits>

#include "warp.h"

namespace cooperative_groups
{

/* ---- how members meet ---------------------------------------------------------------------------------- */

/** @brief Where a method is called: a default argument is evaluated at the caller. */
struct simt_place {
    const char *file;
    int line;
    static constexpr simt_place here(const char *file = __builtin_FILE(), int line = __builtin_LINE())
    {
        return simt_place{file, line};
    }
    const simt_site *of(const char *what) const { return simt_site_at(file, line, what); }
};
#define SIMT_HERE simt_place at = simt_place::here()

namespace details
{
SIMT_INLINE unsigned int lane() { return simt_self()->lane; }

/** @brief Threads count x first, then y, then z. */
SIMT_INLINE unsigned int rank_in_block()
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
SIMT_INLINE unsigned int block_threads() { return blockDim.x * blockDim.y * blockDim.z; }

/** @brief The @p size lanes of the warp in which the caller is one; @p size is a power of two. */
SIMT_INLINE unsigned int lanes_around(unsigned int size)
{
    return (size >= 32 ? 0xffffffffu : (1u << size) - 1) << (lane() & ~(size - 1));
}

/** @brief The lanes that the caller's warp has: the last warp of a block may be short. */
SIMT_INLINE unsigned int lanes_of_warp()
{
    const unsigned int left = block_threads() - simt_self()->warp * 32;
    return left >= 32 ? 0xffffffffu : (1u << left) - 1;
}

/** @brief The lane that is member @p rank of a group of lanes. */
SIMT_INLINE unsigned int lane_of_rank(unsigned int mask, unsigned int rank)
{
    for (; rank > 0; rank--) mask &= mask - 1;
    return mask != 0 ? (unsigned int)__builtin_ctz(mask) : 32;
}

/** @brief How many of @p lanes come before the caller, which is in the same order as their ranks. */
SIMT_INLINE unsigned int rank_of(unsigned int lanes)
{
    return (unsigned int)__builtin_popcount(lanes & ((1u << lane()) - 1));
}

/** @brief The bits of a ballot that belong to a group, moved together. */
SIMT_INLINE unsigned int packed(unsigned int ballot, unsigned int mask)
{
    unsigned int bits = 0;
    for (unsigned int rank = 0; mask != 0; mask &= mask - 1, rank++)
        bits |= (ballot >> __builtin_ctz(mask) & 1) << rank;
    return bits;
}

/** @brief A value of any size, eight bytes at a time. */
template <typename T>
SIMT_INLINE T shuffle(const simt_site *site, enum simt_shuffle_kind kind, unsigned int mask, const T &value,
                      unsigned int lane, int width)
{
    static_assert(std::is_trivially_copyable<T>::value, "a shuffle moves bytes: the type must be trivially copyable");
    T result;
    for (size_t at = 0; at < sizeof(T); at += 8) {
        const size_t bytes = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
        unsigned long long word = 0;
        __builtin_memcpy(&word, reinterpret_cast<const char *>(&value) + at, bytes);
        word = simt_shuffle(site, kind, mask, word, lane, width, (unsigned int)bytes);
        __builtin_memcpy(reinterpret_cast<char *>(&result) + at, &word, bytes);
    }
    return result;
}
} // namespace details

/* ---- any group, when its kind is known only at run time ------------------------------------------------ */

class thread_group
{
  public:
    unsigned int size() const { return threads; }
    unsigned int num_threads() const { return threads; }
    unsigned int thread_rank() const { return rank; }
    void sync(SIMT_HERE) const
    {
        if (kind == LANES) simt_warp_barrier(at.of("thread_group::sync"), mask);
        if (kind == BLOCK) simt_block_barrier_unaligned(at.of("thread_group::sync"));
        if (kind == GRID) simt_grid_barrier(at.of("thread_group::sync"));
    }
    /** @brief The lanes that belong to it; 0 if it is larger than a warp. */
    unsigned int simt_lanes() const { return kind == LANES ? mask : 0; }

  protected:
    enum group_kind { LANES, BLOCK, GRID };
    constexpr thread_group(group_kind k, unsigned int lanes, unsigned int count, unsigned int own)
        : kind(k), mask(lanes), threads(count), rank(own)
    {
    }
    group_kind kind;
    unsigned int mask, threads, rank;
};

/* ---- the grid ------------------------------------------------------------------------------------------ */

class grid_group : public thread_group
{
  public:
    grid_group() : thread_group(GRID, 0, (unsigned int)count(), (unsigned int)own_rank()) {}
    /** @brief Whether the launch was cooperative, so that the blocks may wait for each other. */
    bool is_valid() const { return simt_grid_is_cooperative() != 0; }
    void sync(SIMT_HERE) const { simt_grid_barrier(at.of("grid_group::sync")); }
    struct arrival_token {};
    /** @brief Everybody waits in barrier_wait(), but what comes between is not ordered before what follows the wait of other blocks. */
    arrival_token barrier_arrive(SIMT_HERE) const
    {
        simt_grid_arrive(at.of("grid_group::barrier_arrive"));
        return arrival_token();
    }
    void barrier_wait(arrival_token &&, SIMT_HERE) const { simt_grid_barrier(at.of("grid_group::barrier_wait")); }
    unsigned long long size() const { return count(); }
    unsigned long long num_threads() const { return count(); }
    unsigned long long thread_rank() const { return own_rank(); }
    dim3 group_dim() const { return gridDim; }
    dim3 dim_blocks() const { return gridDim; }
    unsigned long long num_blocks() const { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    dim3 block_index() const { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    unsigned long long block_rank() const
    {
        return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    }

  private:
    static unsigned long long count()
    {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z * details::block_threads();
    }
    static unsigned long long own_rank()
    {
        return (blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z)) *
                   details::block_threads() +
               details::rank_in_block();
    }
};
SIMT_INLINE grid_group this_grid() { return grid_group(); }

/* ---- the cluster --------------------------------------------------------------------------------------- */

/** @brief The blocks of the caller's cluster; without clusters, its block. */
class cluster_group
{
  public:
    struct arrival_token {};
    static void sync(SIMT_HERE)
    {
        const simt_site *site = at.of("cluster_group::sync");
        simt_cluster_arrive(site, 1);
        simt_cluster_wait(site);
    }
    static arrival_token barrier_arrive(SIMT_HERE)
    {
        simt_cluster_arrive(at.of("cluster_group::barrier_arrive"), 1);
        return arrival_token();
    }
    static void barrier_wait(SIMT_HERE) { simt_cluster_wait(at.of("cluster_group::barrier_wait")); }
    static void barrier_wait(arrival_token &&, SIMT_HERE) { simt_cluster_wait(at.of("cluster_group::barrier_wait")); }
    /** @brief The rank of the block in whose shared memory @p address lies. */
    static unsigned int query_shared_rank(const void *address) { return (unsigned int)simt_rank_of_pointer(address); }
    /** @brief The same variable in the shared memory of the block of @p rank. */
    template <typename T> static T *map_shared_rank(T *address, int rank, SIMT_HERE)
    {
        return (T *)simt_pointer_of_rank(at.of("cluster_group::map_shared_rank"), (void *)address, (unsigned int)rank);
    }
    static dim3 block_index() { return to_dim3(simt_cluster_place().block); }
    static unsigned int block_rank() { return simt_cluster_place().rank; }
    static dim3 dim_blocks() { return to_dim3(simt_cluster_place().blocks); }
    static unsigned int num_blocks() { return simt_cluster_place().size; }
    static dim3 thread_index()
    {
        const simt_extent block = simt_cluster_place().block;
        return dim3(block.x * blockDim.x + threadIdx.x, block.y * blockDim.y + threadIdx.y,
                    block.z * blockDim.z + threadIdx.z);
    }
    static unsigned int thread_rank() { return block_rank() * details::block_threads() + details::rank_in_block(); }
    static dim3 dim_threads()
    {
        const simt_extent blocks = simt_cluster_place().blocks;
        return dim3(blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z);
    }
    static unsigned int num_threads() { return num_blocks() * details::block_threads(); }
    static unsigned int size() { return num_threads(); }

  private:
    static dim3 to_dim3(const simt_extent &e) { return dim3(e.x, e.y, e.z); }
};
SIMT_INLINE cluster_group this_cluster() { return cluster_group(); }

/* ---- the block ----------------------------------------------------------------------------------------- */

/** @brief Scratch for tiles of several warps; the device needs none. */
template <unsigned int MaxBlockSize = 1024> struct block_tile_memory {
    char simt_unused;
};

class thread_block : public thread_group
{
  public:
    thread_block() : thread_group(BLOCK, 0, details::block_threads(), details::rank_in_block()) {}
    void sync(SIMT_HERE) const { simt_block_barrier_unaligned(at.of("thread_block::sync")); }
    struct arrival_token {};
    /** @brief Everybody waits in barrier_wait(); what comes between is ordered as if it came before barrier_arrive(). */
    arrival_token barrier_arrive() const { return arrival_token(); }
    void barrier_wait(arrival_token &&, SIMT_HERE) const
    {
        simt_block_barrier_unaligned(at.of("thread_block::barrier_wait"));
    }
    static unsigned int size() { return details::block_threads(); }
    static unsigned int num_threads() { return details::block_threads(); }
    static unsigned int thread_rank() { return details::rank_in_block(); }
    static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};
SIMT_INLINE thread_block this_thread_block() { return thread_block(); }
template <unsigned int N> SIMT_INLINE thread_block this_thread_block(block_tile_memory<N> &) { return thread_block(); }

/* ---- lanes that are together --------------------------------------------------------------------------- */

class coalesced_group : public thread_group
{
  public:
    unsigned int meta_group_rank() const { return meta_rank; }
    unsigned int meta_group_size() const { return meta_size; }

    void sync(SIMT_HERE) const { simt_warp_barrier(at.of("coalesced_group::sync"), mask); }
    template <typename T> T shfl(T value, unsigned int source, SIMT_HERE) const
    {
        return from(at.of("coalesced_group::shfl"), value, source < threads ? source : rank);
    }
    template <typename T> T shfl_up(T value, unsigned int distance, SIMT_HERE) const
    {
        return from(at.of("coalesced_group::shfl_up"), value, rank >= distance ? rank - distance : rank);
    }
    template <typename T> T shfl_down(T value, unsigned int distance, SIMT_HERE) const
    {
        const unsigned int source = rank + distance;
        return from(at.of("coalesced_group::shfl_down"), value, source < threads ? source : rank);
    }
    int any(int predicate, SIMT_HERE) const
    {
        return (int)simt_vote(at.of("coalesced_group::any"), SIMT_WARP_ANY, mask, predicate != 0);
    }
    int all(int predicate, SIMT_HERE) const
    {
        return (int)simt_vote(at.of("coalesced_group::all"), SIMT_WARP_ALL, mask, predicate != 0);
    }
    unsigned int ballot(int predicate, SIMT_HERE) const
    {
        return details::packed(simt_vote(at.of("coalesced_group::ballot"), SIMT_WARP_BALLOT, mask, predicate != 0), mask);
    }
    template <typename T> unsigned int match_any(T value, SIMT_HERE) const
    {
        return details::packed(simt_match_any(at.of("coalesced_group::match_any"), mask, simt_to_word(value)), mask);
    }
    template <typename T> unsigned int match_all(T value, int &same, SIMT_HERE) const
    {
        int flag = 0;
        unsigned int lanes = simt_match_all(at.of("coalesced_group::match_all"), mask, simt_to_word(value), &flag);
        same = flag;
        return details::packed(lanes, mask);
    }

    /** @brief For partitions: the lanes of @p lanes, which are part @p index of @p count. */
    static coalesced_group simt_of(unsigned int lanes, unsigned int index = 0, unsigned int count = 1)
    {
        return coalesced_group(lanes, index, count);
    }

  private:
    unsigned int meta_rank, meta_size;
    coalesced_group(unsigned int lanes, unsigned int index, unsigned int count)
        : thread_group(LANES, lanes, (unsigned int)__builtin_popcount(lanes), details::rank_of(lanes)), meta_rank(index),
          meta_size(count)
    {
    }
    template <typename T> T from(const simt_site *site, const T &value, unsigned int source) const
    {
        return details::shuffle(site, SIMT_SHUFFLE_INDEX, mask, value, details::lane_of_rank(mask, source), 32);
    }
};
SIMT_INLINE coalesced_group coalesced_threads() { return coalesced_group::simt_of(simt_active_mask()); }

/* ---- tiles of a size known when the kernel is compiled ------------------------------------------------- */

namespace details
{
/** @brief What all tiles of up to a warp do. */
template <unsigned int SIZE> class lane_tile : public thread_group
{
  public:
    lane_tile() : thread_group(LANES, lanes_around(SIZE), SIZE, rank_in_block() & (SIZE - 1)) {}
    static constexpr unsigned int size() { return SIZE; }
    static constexpr unsigned int num_threads() { return SIZE; }
    static unsigned int thread_rank() { return rank_in_block() & (SIZE - 1); }

    void sync(SIMT_HERE) const { simt_warp_barrier(at.of("thread_block_tile::sync"), mask); }
    template <typename T> T shfl(T value, int source, SIMT_HERE) const
    {
        return shuffle(at.of("thread_block_tile::shfl"), SIMT_SHUFFLE_INDEX, mask, value, (unsigned int)source, SIZE);
    }
    template <typename T> T shfl_up(T value, unsigned int distance, SIMT_HERE) const
    {
        return shuffle(at.of("thread_block_tile::shfl_up"), SIMT_SHUFFLE_UP, mask, value, distance, SIZE);
    }
    template <typename T> T shfl_down(T value, unsigned int distance, SIMT_HERE) const
    {
        return shuffle(at.of("thread_block_tile::shfl_down"), SIMT_SHUFFLE_DOWN, mask, value, distance, SIZE);
    }
    template <typename T> T shfl_xor(T value, unsigned int lanes, SIMT_HERE) const
    {
        return shuffle(at.of("thread_block_tile::shfl_xor"), SIMT_SHUFFLE_XOR, mask, value, lanes, SIZE);
    }
    int any(int predicate, SIMT_HERE) const
    {
        return (int)simt_vote(at.of("thread_block_tile::any"), SIMT_WARP_ANY, mask, predicate != 0);
    }
    int all(int predicate, SIMT_HERE) const
    {
        return (int)simt_vote(at.of("thread_block_tile::all"), SIMT_WARP_ALL, mask, predicate != 0);
    }
    unsigned int ballot(int predicate, SIMT_HERE) const
    {
        return simt_vote(at.of("thread_block_tile::ballot"), SIMT_WARP_BALLOT, mask, predicate != 0) >> first();
    }
    template <typename T> unsigned int match_any(T value, SIMT_HERE) const
    {
        return simt_match_any(at.of("thread_block_tile::match_any"), mask, simt_to_word(value)) >> first();
    }
    template <typename T> unsigned int match_all(T value, int &same, SIMT_HERE) const
    {
        int flag = 0;
        unsigned int lanes = simt_match_all(at.of("thread_block_tile::match_all"), mask, simt_to_word(value), &flag);
        same = flag;
        return lanes >> first();
    }

  private:
    unsigned int first() const { return (unsigned int)__builtin_ctz(mask); }
};

/** @brief A tile of several warps: they meet at a named barrier of the block. */
template <unsigned int SIZE> class warps_tile
{
  public:
    static constexpr unsigned int size() { return SIZE; }
    static constexpr unsigned int num_threads() { return SIZE; }
    static unsigned int thread_rank() { return rank_in_block() & (SIZE - 1); }
    void sync(SIMT_HERE) const
    {
        simt_named_barrier(at.of("thread_block_tile::sync"), 15 - rank_in_block() / SIZE, SIZE,
                           SIMT_BARRIER_WAIT, nullptr);
    }
    template <typename T, bool never = false> T shfl(T value, int) const
    {
        static_assert(never, "shuffles go within a warp: this tile has several");
        return value;
    }
};

template <unsigned int SIZE, bool IS_OF_LANES = (SIZE <= 32)> struct tile_of {
    typedef lane_tile<SIZE> type;
};
template <unsigned int SIZE> struct tile_of<SIZE, false> {
    typedef warps_tile<SIZE> type;
};
} // namespace details

template <unsigned int Size, typename ParentT = void> class thread_block_tile : public details::tile_of<Size>::type
{
    static_assert(Size > 0 && Size <= 1024 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4 ... 1024 threads");

  public:
    static unsigned int meta_group_size()
    {
        if constexpr (std::is_base_of<thread_block, ParentT>::value || std::is_void<ParentT>::value)
            return (details::block_threads() + Size - 1) / Size;
        else
            return ParentT::size() / Size;
    }
    static unsigned int meta_group_rank() { return details::rank_in_block() / Size % meta_group_size(); }
};
/** @brief The same tile, whose parent is forgotten. */
template <unsigned int Size> class thread_block_tile<Size, void> : public details::tile_of<Size>::type
{
  public:
    thread_block_tile() {}
    template <typename ParentT> thread_block_tile(const thread_block_tile<Size, ParentT> &tile)
        : meta_size(tile.meta_group_size()), meta_rank(tile.meta_group_rank())
    {
    }
    unsigned int meta_group_size() const { return meta_size; }
    unsigned int meta_group_rank() const { return meta_rank; }

  private:
    unsigned int meta_size = (details::block_threads() + Size - 1) / Size, meta_rank = details::rank_in_block() / Size;
};

template <unsigned int Size, typename ParentT>
SIMT_INLINE thread_block_tile<Size, ParentT> tiled_partition(const ParentT &)
{
    return thread_block_tile<Size, ParentT>();
}
SIMT_INLINE thread_block_tile<1> this_thread() { return thread_block_tile<1>(); }

/* ---- partitions whose size is known when the kernel runs ----------------------------------------------- */

SIMT_INLINE coalesced_group tiled_partition(const coalesced_group &parent, unsigned int size)
{
    const unsigned int lanes = parent.simt_lanes(), first = parent.thread_rank() / size * size;
    unsigned int own = 0;
    for (unsigned int rank = first; rank < first + size && rank < parent.size(); rank++)
        own |= 1u << details::lane_of_rank(lanes, rank);
    return coalesced_group::simt_of(own, parent.thread_rank() / size, (parent.size() + size - 1) / size);
}

SIMT_INLINE thread_group tiled_partition(const thread_group &parent, unsigned int size)
{
    if (size == 0 || size > 32 || (size & (size - 1)) != 0)
        simt_misuse(SIMT_SITE("tiled_partition"), SIMT_MISUSE_TILE_SIZE, size, 0);
    if (parent.simt_lanes() != 0) return tiled_partition(coalesced_group::simt_of(parent.simt_lanes()), size);
    return coalesced_group::simt_of(details::lanes_around(size) & details::lanes_of_warp(), details::rank_in_block() / size,
                                    (details::block_threads() + size - 1) / size);
}

/** @brief The members that bring the same label. */
template <typename T, typename Group>
SIMT_INLINE coalesced_group labeled_partition(const Group &group, T label, SIMT_HERE)
{
    unsigned int lanes = simt_match_any(at.of("labeled_partition"), group.simt_lanes(), simt_to_word(label));
    unsigned int first = 1u << __builtin_ctz(lanes); /* each part is known by its first lane */
    unsigned int leaders = 0, mine = 0;
    for (unsigned int rest = group.simt_lanes(); rest != 0; rest &= rest - 1) {
        const unsigned int lane = (unsigned int)__builtin_ctz(rest);
        const unsigned int other = simt_from_word<unsigned int>(simt_shuffle(
            at.of("labeled_partition, of its parts"), SIMT_SHUFFLE_INDEX, group.simt_lanes(), first, lane, 32, 4));
        if (other < first && (leaders & other) == 0) mine++;
        leaders |= other;
    }
    return coalesced_group::simt_of(lanes, mine, (unsigned int)__builtin_popcount(leaders));
}

/** @brief The members for which @p predicate holds, and those for which it does not. */
template <typename Group> SIMT_INLINE coalesced_group binary_partition(const Group &group, bool predicate, SIMT_HERE)
{
    const unsigned int lanes = group.simt_lanes();
    const unsigned int yes = simt_vote(at.of("binary_partition"), SIMT_WARP_BALLOT, lanes, predicate) & lanes;
    return coalesced_group::simt_of(predicate ? yes : lanes & ~yes, predicate ? 0 : 1, 2);
}

/* ---- functions beside the methods ---------------------------------------------------------------------- */

template <typename Group> SIMT_INLINE void sync(const Group &group, SIMT_HERE) { group.sync(at); }
template <typename Group> SIMT_INLINE auto thread_rank(const Group &group) { return group.thread_rank(); }
template <typename Group> SIMT_INLINE auto group_size(const Group &group) { return group.size(); }

/** @brief One member calls @p function. */
template <typename Group, typename Function, typename... Arguments>
SIMT_INLINE void invoke_one(const Group &group, Function &&function, Arguments &&...arguments)
{
    if (group.thread_rank() == 0) (void)function(static_cast<Arguments &&>(arguments)...);
}
/** @brief One member calls @p function, and all get its result. */
template <typename Group, typename Function, typename... Arguments>
SIMT_INLINE auto invoke_one_broadcast(const Group &group, Function &&function, Arguments &&...arguments)
{
    decltype(function(static_cast<Arguments &&>(arguments)...)) result = {};
    if (group.thread_rank() == 0) result = function(static_cast<Arguments &&>(arguments)...);
    return group.shfl(result, 0);
}

} // namespace cooperative_groups
