/**
 * @file atomics.h
 * @brief Atomic operations, and loads and stores with a cache hint, which here are plain ones.
 *
 * The machine decides when an atomic may go ahead; between begin and end it is an ordinary read-modify-write.
 */
#pragma once

#pragma GCC system_header

#include "language.h"

/** @brief Defines an atomic and its block- and system-wide forms; @p expression gives the new value. */
#define SIMT_ATOMIC_AS(name, begin, T, expression)                                                           \
    SIMT_OUTLINE T name(T *address, T value)                                                                 \
    {                                                                                                        \
        begin(address, sizeof(T), SIMT_CALLER);                                                              \
        T old = *address;                                                                                    \
        *address = (expression);                                                                             \
        simt_atomic_end(address, sizeof(T));                                                                 \
        return old;                                                                                          \
    }
#define SIMT_ATOMIC(name, T, expression)                                                                     \
    SIMT_ATOMIC_AS(name, simt_atomic_begin, T, expression)                                                   \
    SIMT_ATOMIC_AS(name##_block, simt_block_atomic_begin, T, expression)                                     \
    SIMT_ATOMIC_AS(name##_system, simt_atomic_begin, T, expression)

#define SIMT_ATOMIC_INTEGERS(name, expression)                                                               \
    SIMT_ATOMIC(name, int, expression)                                                                       \
    SIMT_ATOMIC(name, unsigned int, expression)                                                              \
    SIMT_ATOMIC(name, unsigned long long, expression)

/* Signed additions wrap on hardware, so they are made on the unsigned type. */
SIMT_ATOMIC(atomicAdd, int, (int)((unsigned int)old + (unsigned int)value))
SIMT_ATOMIC(atomicAdd, unsigned int, old + value)
SIMT_ATOMIC(atomicAdd, unsigned long long, old + value)
SIMT_ATOMIC(atomicAdd, float, old + value)
SIMT_ATOMIC(atomicAdd, double, old + value)
SIMT_ATOMIC(atomicSub, int, (int)((unsigned int)old - (unsigned int)value))
SIMT_ATOMIC(atomicSub, unsigned int, old - value)
SIMT_ATOMIC_INTEGERS(atomicMin, value < old ? value : old)
SIMT_ATOMIC(atomicMin, long long, value < old ? value : old)
SIMT_ATOMIC_INTEGERS(atomicMax, value > old ? value : old)
SIMT_ATOMIC(atomicMax, long long, value > old ? value : old)
SIMT_ATOMIC_INTEGERS(atomicAnd, old &value)
SIMT_ATOMIC_INTEGERS(atomicOr, old | value)
SIMT_ATOMIC_INTEGERS(atomicXor, old ^ value)
SIMT_ATOMIC_INTEGERS(atomicExch, value)
SIMT_ATOMIC(atomicExch, float, value)
SIMT_ATOMIC(atomicInc, unsigned int, old >= value ? 0 : old + 1)
SIMT_ATOMIC(atomicDec, unsigned int, old == 0 || old > value ? value : old - 1)

#define SIMT_ATOMIC_CAS_AS(name, begin, T)                                                                   \
    SIMT_OUTLINE T name(T *address, T compare, T value)                                                      \
    {                                                                                                        \
        simt_swap_checks(address, sizeof(T));                                                                \
        begin(address, sizeof(T), SIMT_CALLER);                                                              \
        T old = *address;                                                                                    \
        if (old == compare) *address = value;                                                                \
        simt_swap_end(address, sizeof(T), old == compare);                                                   \
        return old;                                                                                          \
    }
#define SIMT_ATOMIC_CAS(T)                                                                                   \
    SIMT_ATOMIC_CAS_AS(atomicCAS, simt_atomic_begin, T)                                                      \
    SIMT_ATOMIC_CAS_AS(atomicCAS_block, simt_block_atomic_begin, T)                                          \
    SIMT_ATOMIC_CAS_AS(atomicCAS_system, simt_atomic_begin, T)
SIMT_ATOMIC_CAS(int)
SIMT_ATOMIC_CAS(unsigned int)
SIMT_ATOMIC_CAS(unsigned long long)
SIMT_ATOMIC_CAS(unsigned short)

/** @brief What these copy is a number or a vector of them: no function of the file's own copies it. */
#define SIMT_DEMAND_NUMBERS(name)                                                                            \
    static_assert(sizeof(T) <= 16 && __is_trivially_copyable(T), #name " takes numbers and vectors of them")

/* As nvcc's sm_32_intrinsics.hpp has them: ld.global and st.global. */
#define SIMT_LOAD(name, access)                                                                              \
    template <typename T> SIMT_OUTLINE T name(const T *address)                                              \
    {                                                                                                        \
        SIMT_DEMAND_NUMBERS(name);                                                                           \
        simt_access(address, sizeof(T), (access) | SIMT_GLOBAL, SIMT_CALLER);                                \
        return *address;                                                                                     \
    }
SIMT_LOAD(__ldg, SIMT_READ | SIMT_CONSTANT)
SIMT_LOAD(__ldca, SIMT_READ)
SIMT_LOAD(__ldcg, SIMT_READ)
SIMT_LOAD(__ldcs, SIMT_READ)
SIMT_LOAD(__ldlu, SIMT_READ)
SIMT_LOAD(__ldcv, SIMT_READ)

/** @brief Keeps a parameter out of template deduction, so that `__stcs(pointer_to_float, 0)` compiles. */
template <typename T> struct simt_identity_type {
    typedef T type;
};

#define SIMT_STORE(name)                                                                                     \
    template <typename T> SIMT_OUTLINE void name(T *address, typename simt_identity_type<T>::type value)     \
    {                                                                                                        \
        SIMT_DEMAND_NUMBERS(name);                                                                           \
        simt_access(address, sizeof(T), SIMT_WRITE | SIMT_GLOBAL, SIMT_CALLER);                              \
        __builtin_memcpy(address, __builtin_addressof(value), sizeof(T));                                    \
    }
SIMT_STORE(__stwb)
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
SIMT_STORE(__stwt)

/* ---- nvcc's built-in atomics, of integers: the order of memory is the strongest whatever is asked for ---- */

#define __NV_ATOMIC_RELAXED 0
#define __NV_ATOMIC_CONSUME 1
#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_ATOMIC_ACQ_REL 4
#define __NV_ATOMIC_SEQ_CST 5
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4

#define SIMT_STRONGEST(update)                                                                               \
    ({                                                                                                       \
        simt_fence();                                                                                        \
        const auto simt_old = update;                                                                        \
        simt_fence();                                                                                        \
        simt_old;                                                                                            \
    })
#define __nv_atomic_load_n(address, ...) SIMT_STRONGEST(atomicOr(address, 0))
#define __nv_atomic_store_n(address, value, ...) ((void)SIMT_STRONGEST(atomicExch(address, value)))
#define __nv_atomic_exchange_n(address, value, ...) SIMT_STRONGEST(atomicExch(address, value))
#define __nv_atomic_fetch_add(address, value, ...) SIMT_STRONGEST(atomicAdd(address, value))
#define __nv_atomic_fetch_sub(address, value, ...) SIMT_STRONGEST(atomicSub(address, value))
#define __nv_atomic_fetch_and(address, value, ...) SIMT_STRONGEST(atomicAnd(address, value))
#define __nv_atomic_fetch_or(address, value, ...) SIMT_STRONGEST(atomicOr(address, value))
#define __nv_atomic_fetch_xor(address, value, ...) SIMT_STRONGEST(atomicXor(address, value))
#define __nv_atomic_fetch_min(address, value, ...) SIMT_STRONGEST(atomicMin(address, value))
#define __nv_atomic_fetch_max(address, value, ...) SIMT_STRONGEST(atomicMax(address, value))
