/**
 * @file cuda_ptx.h
 * @brief cuda::ptx: a function for each instruction of mbarriers, bulk and tensor copies, fences and clusters. Each is the
 *        instruction itself, so that what docs/inline_ptx.md says of it holds here, too.
 */
#pragma once

#pragma GCC system_header

#include <cstdint>
#include <type_traits>

#include "../cuda.h"
#include "ptx.h"

namespace cuda
{
namespace ptx
{

/* ---- words that choose an instruction's form -------------------------------------------------------------- */

enum class simt_sem { release, acquire, acq_rel, sc, relaxed };
enum class simt_scope { cta, cluster, gpu, sys };
enum class simt_space { global, shared, cluster };
template <simt_sem S> using sem_t = ::std::integral_constant<simt_sem, S>;
template <simt_scope S> using scope_t = ::std::integral_constant<simt_scope, S>;
template <simt_space S> using space_t = ::std::integral_constant<simt_space, S>;
template <int N> using n32_t = ::std::integral_constant<int, N>;

#define SIMT_WORD(kind, name)                                                                                \
    using kind##_##name##_t = kind##_t<simt_##kind::name>;                                                   \
    static constexpr kind##_##name##_t kind##_##name{};
SIMT_WORD(sem, release)
SIMT_WORD(sem, acquire)
SIMT_WORD(sem, acq_rel)
SIMT_WORD(sem, sc)
SIMT_WORD(sem, relaxed)
SIMT_WORD(scope, cta)
SIMT_WORD(scope, cluster)
SIMT_WORD(scope, gpu)
SIMT_WORD(scope, sys)
SIMT_WORD(space, global)
SIMT_WORD(space, shared)
SIMT_WORD(space, cluster)
#undef SIMT_WORD

#define SIMT_OPERATION(name)                                                                                 \
    struct op_##name##_t {                                                                                   \
    };                                                                                                       \
    static constexpr op_##name##_t op_##name{};
SIMT_OPERATION(add)
SIMT_OPERATION(min)
SIMT_OPERATION(max)
SIMT_OPERATION(inc)
SIMT_OPERATION(dec)
SIMT_OPERATION(and_op)
SIMT_OPERATION(or_op)
SIMT_OPERATION(xor_op)
#undef SIMT_OPERATION

SIMT_INLINE uint32_t simt_shared(const void *pointer)
{
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

/* One instruction; its operands follow. What has no output is for memory or for other threads. */
#define SIMT_PTX(text, ...) simtcc_ptx_at(SIMT_PTX_SITE(1, text), __VA_ARGS__, simt_clobbers("memory"))
#define SIMT_PTX_ALONE(text) simtcc_ptx_at(SIMT_PTX_SITE(1, text), simt_clobbers("memory"))

/* ---- mbarriers -------------------------------------------------------------------------------------------- */

SIMT_INLINE void mbarrier_init(uint64_t *bar, const uint32_t &count)
{
    SIMT_PTX("mbarrier.init.shared::cta.b64 [%0], %1;", simt_in("r", simt_shared(bar)), simt_in("r", count));
}
SIMT_INLINE void mbarrier_inval(uint64_t *bar)
{
    SIMT_PTX("mbarrier.inval.shared::cta.b64 [%0];", simt_in("r", simt_shared(bar)));
}
SIMT_INLINE uint64_t mbarrier_arrive(uint64_t *bar)
{
    uint64_t state;
    SIMT_PTX("mbarrier.arrive.shared::cta.b64 %0, [%1];", simt_out("=l", (state)),
             simt_in("r", simt_shared(bar)));
    return state;
}
SIMT_INLINE uint64_t mbarrier_arrive(uint64_t *bar, const uint32_t &count)
{
    uint64_t state;
    SIMT_PTX("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;", simt_out("=l", (state)),
             simt_in("r", simt_shared(bar)), simt_in("r", count));
    return state;
}
SIMT_INLINE uint64_t mbarrier_arrive_no_complete(uint64_t *bar, const uint32_t &count)
{
    uint64_t state;
    SIMT_PTX("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], %2;", simt_out("=l", (state)),
             simt_in("r", simt_shared(bar)), simt_in("r", count));
    return state;
}

/* Arrivals at the own block's mbarrier, with the scope in the text. */
#define SIMT_ARRIVALS(scope_name)                                                                            \
    SIMT_INLINE uint64_t mbarrier_arrive(sem_release_t, scope_##scope_name##_t, space_shared_t,              \
                                         uint64_t *bar, const uint32_t &count = 1)                           \
    {                                                                                                        \
        uint64_t state;                                                                                      \
        SIMT_PTX("mbarrier.arrive.release." #scope_name ".shared::cta.b64 %0, [%1], %2;",                    \
                 simt_out("=l", (state)), simt_in("r", simt_shared(bar)), simt_in("r", count));              \
        return state;                                                                                        \
    }                                                                                                        \
    SIMT_INLINE uint64_t mbarrier_arrive_expect_tx(sem_release_t, scope_##scope_name##_t, space_shared_t,    \
                                                   uint64_t *bar, const uint32_t &bytes)                     \
    {                                                                                                        \
        uint64_t state;                                                                                      \
        SIMT_PTX("mbarrier.arrive.expect_tx.release." #scope_name ".shared::cta.b64 %0, [%1], %2;",          \
                 simt_out("=l", (state)), simt_in("r", simt_shared(bar)), simt_in("r", bytes));              \
        return state;                                                                                        \
    }                                                                                                        \
    SIMT_INLINE void mbarrier_expect_tx(sem_relaxed_t, scope_##scope_name##_t, space_shared_t,               \
                                        uint64_t *bar, uint32_t bytes)                                       \
    {                                                                                                        \
        SIMT_PTX("mbarrier.expect_tx.relaxed." #scope_name ".shared::cta.b64 [%0], %1;",                     \
                 simt_in("r", simt_shared(bar)), simt_in("r", bytes));                                       \
    }                                                                                                        \
    SIMT_INLINE void mbarrier_expect_tx(sem_relaxed_t, scope_##scope_name##_t, space_cluster_t,              \
                                        uint64_t *bar, uint32_t bytes)                                       \
    {                                                                                                        \
        SIMT_PTX("mbarrier.expect_tx.relaxed." #scope_name ".shared::cluster.b64 [%0], %1;",                 \
                 simt_in("r", simt_shared(bar)), simt_in("r", bytes));                                       \
    }
SIMT_ARRIVALS(cta)
SIMT_ARRIVALS(cluster)
#undef SIMT_ARRIVALS

SIMT_INLINE void mbarrier_arrive(sem_release_t, scope_cluster_t, space_cluster_t, uint64_t *bar,
                                 const uint32_t &count = 1)
{
    SIMT_PTX("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], %1;",
             simt_in("r", simt_shared(bar)), simt_in("r", count));
}
SIMT_INLINE void mbarrier_arrive_expect_tx(sem_release_t, scope_cluster_t, space_cluster_t, uint64_t *bar,
                                           const uint32_t &bytes)
{
    SIMT_PTX("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;",
             simt_in("r", simt_shared(bar)), simt_in("r", bytes));
}

/* test_wait and try_wait, for a state and for a parity, of both scopes. A hint of how long to wait changes nothing here. */
#define SIMT_WAIT(function, text, letter, phase_type)                                                        \
    SIMT_INLINE bool function(uint64_t *bar, const phase_type &phase)                                        \
    {                                                                                                        \
        uint32_t over;                                                                                       \
        SIMT_PTX("{ .reg .pred p; mbarrier." text ".shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }",   \
                 simt_out("=r", (over)), simt_in("r", simt_shared(bar)), simt_in(letter, phase));            \
        return over != 0;                                                                                    \
    }                                                                                                        \
    SIMT_INLINE bool function(sem_acquire_t, scope_cta_t, uint64_t *bar, const phase_type &phase)            \
    {                                                                                                        \
        return function(bar, phase);                                                                         \
    }                                                                                                        \
    SIMT_INLINE bool function(sem_acquire_t, scope_cluster_t, uint64_t *bar, const phase_type &phase)        \
    {                                                                                                        \
        uint32_t over;                                                                                       \
        SIMT_PTX("{ .reg .pred p; mbarrier." text                                                            \
                 ".acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }",                    \
                 simt_out("=r", (over)), simt_in("r", simt_shared(bar)), simt_in(letter, phase));            \
        return over != 0;                                                                                    \
    }
SIMT_WAIT(mbarrier_test_wait, "test_wait", "l", uint64_t)
SIMT_WAIT(mbarrier_test_wait_parity, "test_wait.parity", "r", uint32_t)
SIMT_WAIT(mbarrier_try_wait, "try_wait", "l", uint64_t)
SIMT_WAIT(mbarrier_try_wait_parity, "try_wait.parity", "r", uint32_t)
#undef SIMT_WAIT
SIMT_INLINE bool mbarrier_try_wait(uint64_t *bar, const uint64_t &state, const uint32_t &)
{
    return mbarrier_try_wait(bar, state);
}
SIMT_INLINE bool mbarrier_try_wait_parity(uint64_t *bar, const uint32_t &parity, const uint32_t &)
{
    return mbarrier_try_wait_parity(bar, parity);
}
template <simt_scope S>
SIMT_INLINE bool mbarrier_try_wait(sem_acquire_t sem, scope_t<S> scope, uint64_t *bar, const uint64_t &state,
                                   const uint32_t &)
{
    return mbarrier_try_wait(sem, scope, bar, state);
}
template <simt_scope S>
SIMT_INLINE bool mbarrier_try_wait_parity(sem_acquire_t sem, scope_t<S> scope, uint64_t *bar,
                                          const uint32_t &parity, const uint32_t &)
{
    return mbarrier_try_wait_parity(sem, scope, bar, parity);
}

/* ---- bulk copies ------------------------------------------------------------------------------------------ */

SIMT_INLINE void cp_async_bulk(space_cluster_t, space_global_t, void *to, const void *from,
                               const uint32_t &bytes, uint64_t *bar)
{
    SIMT_PTX("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];",
             simt_in("r", simt_shared(to)), simt_in("l", from), simt_in("r", bytes),
             simt_in("r", simt_shared(bar)));
}
SIMT_INLINE void cp_async_bulk(space_shared_t, space_global_t space, void *to, const void *from,
                               const uint32_t &bytes, uint64_t *bar)
{
    cp_async_bulk(space_cluster, space, to, from, bytes, bar);
}
SIMT_INLINE void cp_async_bulk(space_cluster_t, space_global_t, void *to, const void *from,
                               const uint32_t &bytes, uint64_t *bar, const uint16_t &blocks)
{
    SIMT_PTX("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
             "[%1], %2, [%3], %4;",
             simt_in("r", simt_shared(to)), simt_in("l", from), simt_in("r", bytes),
             simt_in("r", simt_shared(bar)), simt_in("h", blocks));
}
SIMT_INLINE void cp_async_bulk(space_cluster_t, space_shared_t, void *to, const void *from,
                               const uint32_t &bytes, uint64_t *bar)
{
    SIMT_PTX("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];",
             simt_in("r", simt_shared(to)), simt_in("r", simt_shared(from)), simt_in("r", bytes),
             simt_in("r", simt_shared(bar)));
}
SIMT_INLINE void cp_async_bulk(space_global_t, space_shared_t, void *to, const void *from,
                               const uint32_t &bytes)
{
    SIMT_PTX("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;", simt_in("l", to),
             simt_in("r", simt_shared(from)), simt_in("r", bytes));
}

/* A reduction into device memory. */
#define SIMT_REDUCTION(operation, text, type)                                                                \
    SIMT_INLINE void cp_reduce_async_bulk(space_global_t, space_shared_t, op_##operation##_t, type *to,      \
                                          const type *from, uint32_t bytes)                                  \
    {                                                                                                        \
        SIMT_PTX("cp.reduce.async.bulk.global.shared::cta.bulk_group." text " [%0], [%1], %2;",              \
                 simt_in("l", to), simt_in("r", simt_shared(from)), simt_in("r", bytes));                    \
    }
SIMT_REDUCTION(add, "add.u32", uint32_t)
SIMT_REDUCTION(add, "add.s32", int32_t)
SIMT_REDUCTION(add, "add.u64", uint64_t)
SIMT_REDUCTION(add, "add.f32", float)
SIMT_REDUCTION(add, "add.f64", double)
SIMT_REDUCTION(min, "min.u32", uint32_t)
SIMT_REDUCTION(min, "min.s32", int32_t)
SIMT_REDUCTION(max, "max.u32", uint32_t)
SIMT_REDUCTION(max, "max.s32", int32_t)
SIMT_REDUCTION(inc, "inc.u32", uint32_t)
SIMT_REDUCTION(dec, "dec.u32", uint32_t)
SIMT_REDUCTION(and_op, "and.b32", uint32_t)
SIMT_REDUCTION(or_op, "or.b32", uint32_t)
SIMT_REDUCTION(xor_op, "xor.b32", uint32_t)
#undef SIMT_REDUCTION

SIMT_INLINE void cp_async_bulk_commit_group()
{
    SIMT_PTX_ALONE("cp.async.bulk.commit_group;");
}
template <int N> SIMT_INLINE void cp_async_bulk_wait_group(n32_t<N>)
{
    SIMT_PTX("cp.async.bulk.wait_group %0;", simt_constant("n", (N)));
}
template <int N> SIMT_INLINE void cp_async_bulk_wait_group_read(n32_t<N>)
{
    SIMT_PTX("cp.async.bulk.wait_group.read %0;", simt_constant("n", (N)));
}

/* ---- tensor copies of one to five axes -------------------------------------------------------------------- */

#define SIMT_TENSOR(axes, coordinates, load_bar, ...)                                                        \
    SIMT_INLINE void cp_async_bulk_tensor(space_cluster_t, space_global_t, void *to, const void *map,        \
                                          const int32_t(&at)[axes], uint64_t *bar)                           \
    {                                                                                                        \
        SIMT_PTX("cp.async.bulk.tensor." #axes                                                               \
                 "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates       \
                 "}], [" load_bar "];",                                                                      \
                 simt_in("r", simt_shared(to)), simt_in("l", map), __VA_ARGS__,                              \
                 simt_in("r", simt_shared(bar)));                                                            \
    }                                                                                                        \
    SIMT_INLINE void cp_async_bulk_tensor(space_shared_t, space_global_t space, void *to, const void *map,   \
                                          const int32_t(&at)[axes], uint64_t *bar)                           \
    {                                                                                                        \
        cp_async_bulk_tensor(space_cluster, space, to, map, at, bar);                                        \
    }                                                                                                        \
    SIMT_INLINE void cp_async_bulk_tensor(space_global_t, space_shared_t, const void *map,                   \
                                          const int32_t(&at)[axes], const void *from)                        \
    {                                                                                                        \
        SIMT_PTX("cp.async.bulk.tensor." #axes "d.global.shared::cta.tile.bulk_group [%1, {" coordinates     \
                 "}], [%0];",                                                                                \
                 simt_in("r", simt_shared(from)), simt_in("l", map), __VA_ARGS__);                           \
    }
#define SIMT_AT(i) simt_in("r", at[i])
SIMT_TENSOR(1, "%2", "%3", SIMT_AT(0))
SIMT_TENSOR(2, "%2, %3", "%4", SIMT_AT(0), SIMT_AT(1))
SIMT_TENSOR(3, "%2, %3, %4", "%5", SIMT_AT(0), SIMT_AT(1), SIMT_AT(2))
SIMT_TENSOR(4, "%2, %3, %4, %5", "%6", SIMT_AT(0), SIMT_AT(1), SIMT_AT(2), SIMT_AT(3))
SIMT_TENSOR(5, "%2, %3, %4, %5, %6", "%7", SIMT_AT(0), SIMT_AT(1), SIMT_AT(2), SIMT_AT(3), SIMT_AT(4))
#undef SIMT_AT
#undef SIMT_TENSOR

/* ---- fences ----------------------------------------------------------------------------------------------- */

#define SIMT_FENCE(sem, scope)                                                                               \
    SIMT_INLINE void fence(sem_##sem##_t, scope_##scope##_t)                                                 \
    {                                                                                                        \
        SIMT_PTX_ALONE("fence." #sem "." #scope ";");                                                        \
    }
SIMT_FENCE(sc, cta)
SIMT_FENCE(sc, cluster)
SIMT_FENCE(sc, gpu)
SIMT_FENCE(sc, sys)
SIMT_FENCE(acq_rel, cta)
SIMT_FENCE(acq_rel, cluster)
SIMT_FENCE(acq_rel, gpu)
SIMT_FENCE(acq_rel, sys)
#undef SIMT_FENCE
SIMT_INLINE void fence_mbarrier_init(sem_release_t, scope_cluster_t)
{
    SIMT_PTX_ALONE("fence.mbarrier_init.release.cluster;");
}
SIMT_INLINE void fence_proxy_alias()
{
    SIMT_PTX_ALONE("fence.proxy.alias;");
}
SIMT_INLINE void fence_proxy_async()
{
    SIMT_PTX_ALONE("fence.proxy.async;");
}
SIMT_INLINE void fence_proxy_async(space_global_t)
{
    SIMT_PTX_ALONE("fence.proxy.async.global;");
}
SIMT_INLINE void fence_proxy_async(space_cluster_t)
{
    SIMT_PTX_ALONE("fence.proxy.async.shared::cluster;");
}
SIMT_INLINE void fence_proxy_async(space_shared_t)
{
    SIMT_PTX_ALONE("fence.proxy.async.shared::cta;");
}

/* ---- clusters --------------------------------------------------------------------------------------------- */

SIMT_INLINE void barrier_cluster_arrive()
{
    SIMT_PTX_ALONE("barrier.cluster.arrive;");
}
SIMT_INLINE void barrier_cluster_arrive(sem_release_t)
{
    SIMT_PTX_ALONE("barrier.cluster.arrive.release;");
}
SIMT_INLINE void barrier_cluster_arrive(sem_relaxed_t)
{
    SIMT_PTX_ALONE("barrier.cluster.arrive.relaxed;");
}
SIMT_INLINE void barrier_cluster_wait()
{
    SIMT_PTX_ALONE("barrier.cluster.wait;");
}
SIMT_INLINE void barrier_cluster_wait(sem_acquire_t)
{
    SIMT_PTX_ALONE("barrier.cluster.wait.acquire;");
}

/* ---- special registers ------------------------------------------------------------------------------------ */

#define SIMT_REGISTER(function, text, letter, type)                                                          \
    SIMT_INLINE type get_sreg_##function()                                                                   \
    {                                                                                                        \
        type value;                                                                                          \
        SIMT_PTX("mov." text ";", simt_out("=" letter, (value)));                                            \
        return value;                                                                                        \
    }
#define SIMT_REGISTER_32(name) SIMT_REGISTER(name, "u32 %0, %%" #name, "r", uint32_t)
#define SIMT_REGISTER_XYZ(name)                                                                              \
    SIMT_REGISTER(name##_x, "u32 %0, %%" #name ".x", "r", uint32_t)                                          \
    SIMT_REGISTER(name##_y, "u32 %0, %%" #name ".y", "r", uint32_t)                                          \
    SIMT_REGISTER(name##_z, "u32 %0, %%" #name ".z", "r", uint32_t)
SIMT_REGISTER_XYZ(tid)
SIMT_REGISTER_XYZ(ntid)
SIMT_REGISTER_XYZ(ctaid)
SIMT_REGISTER_XYZ(nctaid)
SIMT_REGISTER_32(laneid)
SIMT_REGISTER_32(warpid)
SIMT_REGISTER_32(nwarpid)
SIMT_REGISTER_32(smid)
SIMT_REGISTER_32(nsmid)
SIMT_REGISTER_32(lanemask_eq)
SIMT_REGISTER_32(lanemask_le)
SIMT_REGISTER_32(lanemask_lt)
SIMT_REGISTER_32(lanemask_ge)
SIMT_REGISTER_32(lanemask_gt)
SIMT_REGISTER_32(clock)
SIMT_REGISTER(clock64, "u64 %0, %%clock64", "l", uint64_t)
SIMT_REGISTER(globaltimer, "u64 %0, %%globaltimer", "l", uint64_t)
SIMT_REGISTER_32(dynamic_smem_size)
SIMT_REGISTER_32(total_smem_size)
SIMT_REGISTER_32(cluster_ctarank)
SIMT_REGISTER_32(cluster_nctarank)
SIMT_REGISTER_XYZ(cluster_ctaid)
SIMT_REGISTER_XYZ(cluster_nctaid)
#undef SIMT_REGISTER_XYZ
#undef SIMT_REGISTER_32
#undef SIMT_REGISTER

#undef SIMT_PTX
#undef SIMT_PTX_ALONE

} // namespace ptx
} // namespace cuda
