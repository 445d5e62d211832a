/**
 * @file cuda_atomic.h
 * @brief cuda::atomic, cuda::atomic_ref and fences, in kernels and in host code.
 *
 * An operation is told to the device with its scope, and with what it acquires and releases. Operations are lock-free: on 1, 2, 4
 * or 8 bytes.
 */
#pragma once

#pragma GCC system_header

#include <stddef.h>
#include <type_traits>

#include "language.h"
#include "thread_scope.h"

namespace cuda
{
namespace std
{
typedef enum memory_order {
    memory_order_relaxed,
    memory_order_consume,
    memory_order_acquire,
    memory_order_release,
    memory_order_acq_rel,
    memory_order_seq_cst
} memory_order;
} // namespace std
using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

namespace details
{
#define SIMT_MEMBER __attribute__((always_inline))

/** @brief What is added to a T. */
template <typename T> struct atomic_difference {
    typedef T type;
};
template <typename T> struct atomic_difference<T *> {
    typedef ptrdiff_t type;
};

/** @brief Sums wrap, as hardware's do. */
template <typename T, typename D> SIMT_INLINE T atomic_sum(T a, D b, ::std::true_type)
{
    T sum;
    (void)__builtin_add_overflow(a, b, &sum);
    return sum;
}
template <typename T, typename D> SIMT_INLINE T atomic_sum(T a, D b, ::std::false_type) { return a + b; }
template <typename T, typename D> SIMT_INLINE T atomic_less(T a, D b, ::std::true_type)
{
    T difference;
    (void)__builtin_sub_overflow(a, b, &difference);
    return difference;
}
template <typename T, typename D> SIMT_INLINE T atomic_less(T a, D b, ::std::false_type) { return a - b; }

/** @brief Among whom an atomic of @p order is one, and what it acquires and releases: enum simt_atomic_how. */
template <thread_scope SCOPE> SIMT_INLINE unsigned atomic_how(int order, bool loads, bool stores)
{
    const bool acquires = loads && order != memory_order_relaxed && order != memory_order_release;
    const bool releases = stores && order >= memory_order_release;
    return (SCOPE == thread_scope_block || SCOPE == thread_scope_thread ? SIMT_BLOCK_SCOPE
            : SCOPE == thread_scope_cluster                            ? SIMT_CLUSTER_SCOPE
                                                                       : 0) |
           (acquires ? SIMT_ACQUIRE : 0) | (releases ? SIMT_RELEASE : 0);
}

template <thread_scope SCOPE, typename T> SIMT_OUTLINE T atomic_load(const T *object, int order)
{
    T value;
    simt_load_begin(object, sizeof(T), atomic_how<SCOPE>(order, true, false), SIMT_CALLER);
    __atomic_load(object, &value, __ATOMIC_SEQ_CST);
    return value;
}

template <thread_scope SCOPE, typename T> SIMT_OUTLINE void atomic_store(T *object, T value, int order)
{
    simt_store_begin(object, sizeof(T), atomic_how<SCOPE>(order, false, true), SIMT_CALLER);
    __atomic_store(object, &value, __ATOMIC_SEQ_CST);
    simt_atomic_end(object, sizeof(T));
}

/** @brief What was there is replaced by what @p change makes of it. Returns what was there. */
template <thread_scope SCOPE, typename T, typename F> SIMT_OUTLINE T atomic_update(T *object, int order, F change)
{
    T old, value;
    simt_update_begin(object, sizeof(T), atomic_how<SCOPE>(order, true, true), SIMT_CALLER);
    __atomic_load(object, &old, __ATOMIC_RELAXED);
    do {
        value = change(old);
    } while (!__atomic_compare_exchange(object, &old, &value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    simt_atomic_end(object, sizeof(T));
    return old;
}

template <thread_scope SCOPE, typename T> SIMT_OUTLINE bool atomic_swap(T *object, T *expected, T value, int order)
{
    simt_swap_checks(object, sizeof(T));
    simt_update_begin(object, sizeof(T), atomic_how<SCOPE>(order, true, true), SIMT_CALLER);
    const bool same = __atomic_compare_exchange(object, expected, &value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    simt_swap_end(object, sizeof(T), same);
    return same;
}
SIMT_OUTLINE void fence_host(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
} // namespace details

/* What atomic and atomic_ref have in common; CONST: const for the latter. The object is at simt_object(). */
#define SIMT_ATOMIC_MEMBERS(CONST)                                                                                     \
    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8,                                \
                  "cuda::atomic on the software device: objects of 1, 2, 4 or 8 bytes");                               \
    static_assert(__is_trivially_copyable(T), "cuda::atomic needs a type that is trivially copyable");                 \
    typedef T value_type;                                                                                              \
    typedef typename details::atomic_difference<T>::type difference_type;                                              \
    static constexpr bool is_always_lock_free = true;                                                                  \
    SIMT_MEMBER bool is_lock_free() const { return true; }                                                             \
    SIMT_MEMBER T load(memory_order order = memory_order_seq_cst) const                                                \
    {                                                                                                                  \
        return details::atomic_load<SCOPE>(simt_object(), order);                                                      \
    }                                                                                                                  \
    SIMT_MEMBER operator T() const { return load(); }                                                                  \
    SIMT_MEMBER void store(T value, memory_order order = memory_order_seq_cst) CONST                                   \
    {                                                                                                                  \
        details::atomic_store<SCOPE>(simt_object(), value, order);                                                     \
    }                                                                                                                  \
    SIMT_MEMBER T operator=(T value) CONST                                                                             \
    {                                                                                                                  \
        store(value);                                                                                                  \
        return value;                                                                                                  \
    }                                                                                                                  \
    SIMT_MEMBER T exchange(T value, memory_order order = memory_order_seq_cst) CONST                                   \
    {                                                                                                                  \
        return details::atomic_update<SCOPE>(simt_object(), order, [value](T) SIMT_MEMBER { return value; });                      \
    }                                                                                                                  \
    SIMT_MEMBER bool compare_exchange_strong(T &expected, T value, memory_order success, memory_order) CONST           \
    {                                                                                                                  \
        T found = expected;                                                                                            \
        const bool same = details::atomic_swap<SCOPE>(simt_object(), &found, value, success);                          \
        if (!same) expected = found;                                                                                   \
        return same;                                                                                                   \
    }                                                                                                                  \
    SIMT_MEMBER bool compare_exchange_strong(T &expected, T value, memory_order order = memory_order_seq_cst) CONST    \
    {                                                                                                                  \
        return compare_exchange_strong(expected, value, order, order);                                                 \
    }                                                                                                                  \
    SIMT_MEMBER bool compare_exchange_weak(T &expected, T value, memory_order success, memory_order failure) CONST     \
    {                                                                                                                  \
        return compare_exchange_strong(expected, value, success, failure);                                             \
    }                                                                                                                  \
    SIMT_MEMBER bool compare_exchange_weak(T &expected, T value, memory_order order = memory_order_seq_cst) CONST      \
    {                                                                                                                  \
        return compare_exchange_strong(expected, value, order, order);                                                 \
    }                                                                                                                  \
    SIMT_MEMBER T fetch_add(difference_type value, memory_order order = memory_order_seq_cst) CONST                    \
    {                                                                                                                  \
        return details::atomic_update<SCOPE>(simt_object(), order, [value](T old) SIMT_MEMBER {                                    \
            return details::atomic_sum(old, value, typename ::std::is_integral<T>::type());                            \
        });                                                                                                            \
    }                                                                                                                  \
    SIMT_MEMBER T fetch_sub(difference_type value, memory_order order = memory_order_seq_cst) CONST                    \
    {                                                                                                                  \
        return details::atomic_update<SCOPE>(simt_object(), order, [value](T old) SIMT_MEMBER {                                    \
            return details::atomic_less(old, value, typename ::std::is_integral<T>::type());                           \
        });                                                                                                            \
    }                                                                                                                  \
    SIMT_ATOMIC_FETCH(CONST, fetch_min, value < old ? value : old)                                                     \
    SIMT_ATOMIC_FETCH(CONST, fetch_max, old < value ? value : old)                                                     \
    SIMT_ATOMIC_FETCH(CONST, fetch_and, (T)(old & value))                                                              \
    SIMT_ATOMIC_FETCH(CONST, fetch_or, (T)(old | value))                                                               \
    SIMT_ATOMIC_FETCH(CONST, fetch_xor, (T)(old ^ value))                                                              \
    SIMT_MEMBER T operator+=(difference_type value) CONST { return fetch_add(value) + value; }                         \
    SIMT_MEMBER T operator-=(difference_type value) CONST { return fetch_sub(value) - value; }                         \
    SIMT_MEMBER T operator&=(T value) CONST { return fetch_and(value) & value; }                                       \
    SIMT_MEMBER T operator|=(T value) CONST { return fetch_or(value) | value; }                                        \
    SIMT_MEMBER T operator^=(T value) CONST { return fetch_xor(value) ^ value; }                                       \
    SIMT_MEMBER T operator++(int) CONST { return fetch_add(1); }                                                       \
    SIMT_MEMBER T operator--(int) CONST { return fetch_sub(1); }                                                       \
    SIMT_MEMBER T operator++() CONST { return fetch_add(1) + 1; }                                                      \
    SIMT_MEMBER T operator--() CONST { return fetch_sub(1) - 1; }                                                      \
    SIMT_MEMBER void wait(T old, memory_order order = memory_order_seq_cst) const                                      \
    {                                                                                                                  \
        while (load(order) == old) {}                                                                                  \
    }                                                                                                                  \
    SIMT_MEMBER void notify_one() CONST {}                                                                             \
    SIMT_MEMBER void notify_all() CONST {}
#define SIMT_ATOMIC_FETCH(CONST, name, expression)                                                                     \
    SIMT_MEMBER T name(T value, memory_order order = memory_order_seq_cst) CONST                                       \
    {                                                                                                                  \
        return details::atomic_update<SCOPE>(simt_object(), order, [value](T old) SIMT_MEMBER { return expression; });             \
    }

template <typename T, thread_scope SCOPE = thread_scope_system> class atomic
{
  public:
    atomic() = default;
    constexpr atomic(T value) : simt_value(value) {}
    atomic(const atomic &) = delete;
    atomic &operator=(const atomic &) = delete;
    SIMT_ATOMIC_MEMBERS()

  private:
    SIMT_MEMBER T *simt_object() { return &simt_value; }
    SIMT_MEMBER const T *simt_object() const { return &simt_value; }
    alignas(sizeof(T)) T simt_value;
};

template <typename T, thread_scope SCOPE = thread_scope_system> class atomic_ref
{
  public:
    static constexpr size_t required_alignment = sizeof(T);
    explicit SIMT_MEMBER atomic_ref(T &object) : simt_address(&object) {}
    atomic_ref(const atomic_ref &) = default;
    atomic_ref &operator=(const atomic_ref &) = delete;
    SIMT_ATOMIC_MEMBERS(const)

  private:
    SIMT_MEMBER T *simt_object() const { return simt_address; }
    T *simt_address;
};

#undef SIMT_ATOMIC_MEMBERS
#undef SIMT_ATOMIC_FETCH

SIMT_INLINE void atomic_thread_fence(memory_order order, thread_scope scope = thread_scope_system)
{
    details::fence_host();
    if (order == memory_order_relaxed) return;
    if (scope == thread_scope_device || scope == thread_scope_system) simt_fence();
    if (scope == thread_scope_cluster) simt_cluster_fence();
    if (scope == thread_scope_block) simt_block_fence();
}
SIMT_INLINE void atomic_signal_fence(memory_order) { __asm__ volatile("" : : : "memory"); }

namespace std
{
template <typename T> using atomic = cuda::atomic<T, thread_scope_system>;
template <typename T> using atomic_ref = cuda::atomic_ref<T, thread_scope_system>;
struct atomic_flag {
    atomic<int> simt_set;
    atomic_flag() = default;
    constexpr atomic_flag(bool set) : simt_set(set) {}
    SIMT_MEMBER bool test(memory_order order = memory_order_seq_cst) const { return simt_set.load(order) != 0; }
    SIMT_MEMBER bool test_and_set(memory_order order = memory_order_seq_cst) { return simt_set.exchange(1, order) != 0; }
    SIMT_MEMBER void clear(memory_order order = memory_order_seq_cst) { simt_set.store(0, order); }
};
#undef SIMT_MEMBER
typedef atomic<bool> atomic_bool;
typedef atomic<char> atomic_char;
typedef atomic<short> atomic_short;
typedef atomic<int> atomic_int;
typedef atomic<unsigned int> atomic_uint;
typedef atomic<long> atomic_long;
typedef atomic<unsigned long> atomic_ulong;
typedef atomic<long long> atomic_llong;
typedef atomic<unsigned long long> atomic_ullong;
typedef atomic<size_t> atomic_size_t;
SIMT_INLINE void atomic_thread_fence(memory_order order) { cuda::atomic_thread_fence(order); }
SIMT_INLINE void atomic_signal_fence(memory_order order) { cuda::atomic_signal_fence(order); }
} // namespace std

} // namespace cuda
