/**
 * @file barrier.h
 * @brief cuda::barrier on the mbarriers of shared memory, and cuda::memcpy_async that reports to one.
 */
#pragma once

#pragma GCC system_header

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "../cooperative_groups/memcpy_async.h"
#include "thread_scope.h"

namespace cuda
{

namespace details
{
typedef cooperative_groups::simt_place place;
#define SIMT_WHERE cuda::details::place at = cuda::details::place::here()

/** @brief The object's address, if it is in shared memory. */
SIMT_INLINE void *in_shared_memory(const void *object, const simt_site *site)
{
    if (simt_self() == nullptr) simt_misuse(site, SIMT_MISUSE_HOST, 0, 0);
    if (!__isShared(object)) simt_misuse(site, SIMT_MISUSE_NOT_SHARED, 0, 0);
    return const_cast<void *>(object);
}
SIMT_OUTLINE void barrier_init(const simt_site *site, const void *b, unsigned int count)
{
    simt_mbarrier_init(site, in_shared_memory(b, site), count, SIMT_CALLER);
}
SIMT_OUTLINE uint64_t barrier_arrive(const simt_site *site, const void *b, unsigned int count, unsigned int bytes,
                                     unsigned int how)
{
    return simt_mbarrier_arrive(site, in_shared_memory(b, site), count, bytes, how, SIMT_CALLER);
}
SIMT_OUTLINE void barrier_expect(const simt_site *site, const void *b, unsigned int bytes)
{
    simt_mbarrier_expect(site, in_shared_memory(b, site), bytes, SIMT_CALLER);
}
SIMT_OUTLINE int barrier_is_over(const simt_site *site, const void *b, uint64_t state, unsigned int how)
{
    return simt_mbarrier_wait(site, in_shared_memory(b, site), state, how, SIMT_CALLER);
}
SIMT_OUTLINE void barrier_wait(const simt_site *site, const void *b, uint64_t state, unsigned int how)
{
    void *const object = in_shared_memory(b, site);
    while (!simt_mbarrier_wait(site, object, state, how, SIMT_CALLER)) {}
}
SIMT_OUTLINE void copies_arrive(const simt_site *site, const void *b, int counted)
{
    simt_copies_arrive(site, in_shared_memory(b, site), counted, SIMT_CALLER);
}
/** @brief A function that a phase ends with is not there: the hardware's barriers have none. */
struct no_completion {};
} // namespace details

template <thread_scope Scope, typename Completion = details::no_completion> class barrier
{
    static_assert(::std::is_same<Completion, details::no_completion>::value,
                  "cuda::barrier: a completion function is not supported on the software device");

  public:
    class arrival_token
    {
      public:
        uint64_t simt_state;
    };
    barrier() = default;
    explicit barrier(::std::ptrdiff_t expected, SIMT_WHERE)
    {
        details::barrier_init(at.of("cuda::barrier"), &word, (unsigned int)expected);
    }
    barrier(const barrier &) = delete;
    barrier &operator=(const barrier &) = delete;
    friend void init(barrier *b, ::std::ptrdiff_t expected, SIMT_WHERE)
    {
        details::barrier_init(at.of("cuda::barrier, init"), &b->word, (unsigned int)expected);
    }
    arrival_token arrive(::std::ptrdiff_t update = 1, SIMT_WHERE)
    {
        return arrival_token{
            details::barrier_arrive(at.of("cuda::barrier::arrive"), &word, (unsigned int)update, 0, 0)};
    }
    void wait(arrival_token &&token, SIMT_WHERE) const
    {
        details::barrier_wait(at.of("cuda::barrier::wait"), &word, token.simt_state, 0);
    }
    void wait_parity(bool parity, SIMT_WHERE) const
    {
        details::barrier_wait(at.of("cuda::barrier::wait_parity"), &word, parity, SIMT_MBARRIER_PARITY);
    }
    bool try_wait(arrival_token &&token, SIMT_WHERE) const
    {
        return details::barrier_is_over(at.of("cuda::barrier::try_wait"), &word, token.simt_state, 0) != 0;
    }
    bool try_wait_parity(bool parity, SIMT_WHERE) const
    {
        return details::barrier_is_over(at.of("cuda::barrier::try_wait_parity"), &word, parity, SIMT_MBARRIER_PARITY) != 0;
    }
    template <typename Rep, typename Period>
    bool try_wait_for(arrival_token &&token, const ::std::chrono::duration<Rep, Period> &, SIMT_WHERE) const
    {
        return try_wait(static_cast<arrival_token &&>(token), at);
    }
    void arrive_and_wait(SIMT_WHERE)
    {
        const uint64_t state = details::barrier_arrive(at.of("cuda::barrier::arrive_and_wait"), &word, 1, 0, 0);
        details::barrier_wait(at.of("cuda::barrier::arrive_and_wait"), &word, state, 0);
    }
    void arrive_and_drop(SIMT_WHERE)
    {
        (void)details::barrier_arrive(at.of("cuda::barrier::arrive_and_drop"), &word, 1, 0, SIMT_MBARRIER_DROP);
    }
    static constexpr ::std::ptrdiff_t max() { return (1 << 20) - 1; }

    uint64_t *simt_word() { return &word; }

  private:
    alignas(8) uint64_t word;
};

namespace device
{
template <thread_scope Scope> SIMT_INLINE uint64_t *barrier_native_handle(barrier<Scope> &b) { return b.simt_word(); }
template <thread_scope Scope>
SIMT_INLINE typename barrier<Scope>::arrival_token barrier_arrive_tx(barrier<Scope> &b, ::std::ptrdiff_t count,
                                                                     ::std::ptrdiff_t bytes, SIMT_WHERE)
{
    return {details::barrier_arrive(at.of("cuda::device::barrier_arrive_tx"), b.simt_word(), (unsigned int)count,
                                    (unsigned int)bytes, 0)};
}
template <thread_scope Scope> SIMT_INLINE void barrier_expect_tx(barrier<Scope> &b, ::std::ptrdiff_t bytes, SIMT_WHERE)
{
    details::barrier_expect(at.of("cuda::device::barrier_expect_tx"), b.simt_word(), (unsigned int)bytes);
}
} // namespace device

/* ---- copies -------------------------------------------------------------------------------------------- */

namespace details
{
/** @brief The calling thread by itself. */
struct one_thread {
    static constexpr unsigned int thread_rank() { return 0; }
    static constexpr unsigned int size() { return 1; }
};

/** @brief As cooperative groups do it, but the copies belong to no group of the thread yet. */
template <typename Group> SIMT_INLINE void copy_pieces(const Group &group, void *to, const void *from, size_t bytes)
{
    const size_t both = (size_t)to | (size_t)from;
    const size_t piece = both % 16 == 0 ? 16 : both % 8 == 0 ? 8 : both % 4 == 0 ? 4 : 1;
    const int is_async = __CUDA_ARCH__ >= 800 && piece > 1 && __isShared(to) && __isGlobal(from);
    const size_t whole = bytes / piece * piece;
    for (size_t i = piece * group.thread_rank(); i < whole; i += piece * group.size())
        cooperative_groups::details::copy_piece((char *)to + i, (const char *)from + i, piece, is_async);
    for (size_t i = whole + group.thread_rank(); i < bytes; i += group.size())
        cooperative_groups::details::copy_piece((char *)to + i, (const char *)from + i, 1, 0);
}
SIMT_INLINE void finish_copies(void *b, const simt_site *site)
{
#if __CUDA_ARCH__ >= 800
    copies_arrive(site, b, 0);
#else
    (void)b;
    (void)site;
#endif
}
} // namespace details

/** @brief The phase of @p b that is under way ends only when the bytes are there. */
template <typename Size, thread_scope Scope>
SIMT_INLINE void memcpy_async(void *to, const void *from, Size bytes, barrier<Scope> &b, SIMT_WHERE)
{
    details::copy_pieces(details::one_thread(), to, from, (size_t)bytes);
    details::finish_copies(b.simt_word(), at.of("cuda::memcpy_async"));
}
template <typename Group, typename Size, thread_scope Scope>
SIMT_INLINE void memcpy_async(const Group &group, void *to, const void *from, Size bytes, barrier<Scope> &b, SIMT_WHERE)
{
    details::copy_pieces(group, to, from, (size_t)bytes);
    details::finish_copies(b.simt_word(), at.of("cuda::memcpy_async"));
}

#if __CUDA_ARCH__ >= 900
namespace device
{
/** @brief A bulk copy: its bytes count towards what the barrier expects. */
template <typename T, size_t Alignment>
SIMT_INLINE void memcpy_async_tx(T *to, const T *from, aligned_size_t<Alignment> bytes,
                                 barrier<thread_scope_block> &b)
{
    static_assert(Alignment >= 16, "cuda::device::memcpy_async_tx: sizes and addresses are multiples of 16");
    const unsigned int shared = (unsigned int)__cvta_generic_to_shared(to), count = (unsigned int)bytes.value,
                       object = (unsigned int)__cvta_generic_to_shared(b.simt_word());
    simtcc_ptx_at(SIMT_PTX_SITE(1, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"),
                simt_in("r", shared), simt_in("l", from), simt_in("r", count), simt_in("r", object),
                simt_clobbers("memory"));
}
} // namespace device
#endif

} // namespace cuda
