/**
 * @file atomics.c
 * @brief Atomic operations.
 *
 * All threads of a block run on one OS thread, so within a block a plain read-modify-write is atomic.
 * Between blocks, atomics are what makes results depend on timing: a block that comes to one on global
 * memory waits until all blocks before it are done, so results are those of one worker.
 */
#include "blocks.h"
#include "check.h"
#include "fences.h"
#include "flags.h"
#include "lanes.h"
#include "machine.h"
#include "shadow.h"
#include "worker.h"

#include <stdbool.h>
#include <string.h>

/* Up to eight bytes of what is there. */
static uint64_t value_at(const void *address, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, address, bytes < sizeof value ? bytes : sizeof value);
    return value;
}

/* Whether the last atomic changed something is seen when the next one begins. */
static void look_for_changes(struct worker *w, const void *address, size_t bytes)
{
    uint64_t now = 0;
    if (w->grid.last.address != NULL) memcpy(&now, w->grid.last.address, w->grid.last.bytes);
    w->grid.changes += now != w->grid.last.before;
    w->grid.last.address = address;
    w->grid.last.bytes = bytes < sizeof now ? (unsigned)bytes : (unsigned)sizeof now;
    w->grid.last.before = value_at(address, bytes);
}

void simt_ordered_begin(void *address, size_t bytes, unsigned how, const void *return_address)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL) return;
    if (return_address == NULL) return_address = __builtin_return_address(0);
    simt_spin(w, return_address);
    const bool global = simt_is_global(w, address), wide = !(how & (SIMT_BLOCK_SCOPE | SIMT_CLUSTER_SCOPE));
    if (!(how & (SIMT_ONLY_LOADS | SIMT_ONLY_STORES))) simt_take_turns(w);
    if (global) simt_wait_for_earlier(w);
    if (how & SIMT_CLUSTER_SCOPE && how & SIMT_RELEASE) simt_cluster_fence();
    if (global && !(how & SIMT_BLOCK_SCOPE))
        simt_note_atomic(w, wide ? how : how & ~(unsigned)(SIMT_ACQUIRE | SIMT_RELEASE));
    if (!(how & SIMT_ONLY_STORES)) simt_flag_read(w, (uintptr_t)address, how);
    if (!(how & SIMT_ONLY_LOADS)) {
        simt_lock_written(w, (uintptr_t)address);
        simt_flag_write(w, (uintptr_t)address, how);
    }
    if (simt_tls_watch != NULL)
        simt_check(address, bytes,
                   how & SIMT_ONLY_LOADS ? SIMT_READ | ACCESS_VOLATILE
                                         : SIMT_ATOMIC | (how & SIMT_BLOCK_SCOPE ? ACCESS_BLOCK : 0) |
                                               (how & SIMT_ONLY_STORES ? ACCESS_STORE : 0),
                   true, return_address);
    if (global) look_for_changes(w, address, bytes);
    w->flags.atomic.before = value_at(address, bytes);
    w->flags.atomic.acquires = (how & SIMT_ACQUIRE) != 0;
    w->flags.atomic.stores = (how & SIMT_ONLY_STORES) != 0;
}

void simt_update_begin(void *address, size_t bytes, unsigned how, const void *return_address)
{
    simt_ordered_begin(address, bytes, how & ~(unsigned)(SIMT_ONLY_LOADS | SIMT_ONLY_STORES), return_address);
}

void simt_load_begin(const void *address, size_t bytes, unsigned how, const void *return_address)
{
    simt_ordered_begin((void *)(uintptr_t)address, bytes, how | SIMT_ONLY_LOADS, return_address);
}

void simt_store_begin(void *address, size_t bytes, unsigned how, const void *return_address)
{
    simt_ordered_begin(address, bytes, how | SIMT_ONLY_STORES, return_address);
}

void simt_atomic_begin(void *address, size_t bytes, const void *return_address)
{
    simt_ordered_begin(address, bytes, 0,
                       return_address != NULL ? return_address : __builtin_return_address(0));
}

void simt_block_atomic_begin(void *address, size_t bytes, const void *return_address)
{
    simt_ordered_begin(address, bytes, SIMT_BLOCK_SCOPE, return_address);
}

/* Sums over all addresses of what is left there less what was there, both scrambled: what is between cancels out. What a store
 * overwrites is nobody's: it may be what an earlier kernel left, or poison. */
static uint64_t left_by_atomics;

static uint64_t scrambled(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

uint64_t simt_left_by_atomics(void)
{
    return __atomic_exchange_n(&left_by_atomics, 0, __ATOMIC_RELAXED);
}

void simt_atomic_end(void *address, size_t bytes)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL) return;
    const uint64_t now = value_at(address, bytes);
    const uint64_t more = scrambled(now) - (w->flags.atomic.stores ? 0 : scrambled(w->flags.atomic.before));
    simt_note_update(w, now != w->flags.atomic.before || bytes > sizeof now);
    (void)__atomic_fetch_add(&left_by_atomics, more, __ATOMIC_RELAXED);
    simt_flag_written(w, address, bytes);
}

void simt_swap_end(void *address, size_t bytes, int swapped)
{
    struct worker *w = simt_tls_worker;
    (void)bytes;
    if (w == NULL) return;
    simt_note_update(w, swapped);
    if (!swapped) return;
    simt_flag_taken(w, (uintptr_t)address);
    if (simt_is_global(w, address)) simt_lock_taken(w, (uintptr_t)address, w->grid.last.before);
}

/* ---- std::atomic and the compiler's builtins, in kernels and in host code ----------------------------- */

/* Orders are numbered as the compiler does. */
static unsigned how_of(int order)
{
    return (order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE ? SIMT_ACQUIRE : 0u) |
           (order >= __ATOMIC_RELEASE ? SIMT_RELEASE : 0u);
}

#define BEGIN(p, how)                                                                                        \
    simt_ordered_begin((void *)(uintptr_t)(p), sizeof *(p), how, __builtin_return_address(0));               \
    if (simt_tls_worker != NULL) simt_note_update(simt_tls_worker, true) /* whatever it does */
#define EXCHANGED(bits, type, name)                                                                          \
    type __tsan_atomic##bits##_##name(volatile type *p, type value, int order)                               \
    {                                                                                                        \
        BEGIN(p, how_of(order));                                                                             \
        return __atomic_##name(p, value, __ATOMIC_SEQ_CST);                                                  \
    }

/* What is expected is read, and written if it was not there: both are accesses of the program's, and the compiler reports neither. */
#define EXCHANGED_IF(bits, type, name)                                                                       \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *p, type *expected, type value,          \
                                                      int order, int failure)                                \
    {                                                                                                        \
        (void)failure;                                                                                       \
        simt_access(expected, sizeof *expected, SIMT_READ, __builtin_return_address(0));                     \
        type found = *expected;                                                                              \
        BEGIN(p, how_of(order));                                                                             \
        if (__atomic_compare_exchange_n(p, &found, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return 1;  \
        simt_access(expected, sizeof *expected, SIMT_WRITE, __builtin_return_address(0));                    \
        *expected = found;                                                                                   \
        return 0;                                                                                            \
    }

#define ATOMICS(bits, type)                                                                                  \
    type __tsan_atomic##bits##_load(const volatile type *p, int order)                                       \
    {                                                                                                        \
        BEGIN(p, (how_of(order) & ~(unsigned)SIMT_RELEASE) | SIMT_ONLY_LOADS);                               \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                         \
    }                                                                                                        \
    void __tsan_atomic##bits##_store(volatile type *p, type value, int order)                                \
    {                                                                                                        \
        BEGIN(p, (how_of(order) & ~(unsigned)SIMT_ACQUIRE) | SIMT_ONLY_STORES);                              \
        __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                        \
    }                                                                                                        \
    type __tsan_atomic##bits##_exchange(volatile type *p, type value, int order)                             \
    {                                                                                                        \
        BEGIN(p, how_of(order));                                                                             \
        return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                              \
    }                                                                                                        \
    EXCHANGED_IF(bits, type, strong)                                                                         \
    EXCHANGED_IF(bits, type, weak)                                                                           \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type expected, type value, int order,  \
                                                    int failure)                                             \
    {                                                                                                        \
        (void)failure;                                                                                       \
        BEGIN(p, how_of(order));                                                                             \
        __atomic_compare_exchange_n(p, &expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);             \
        return expected;                                                                                     \
    }                                                                                                        \
    EXCHANGED(bits, type, fetch_add)                                                                         \
    EXCHANGED(bits, type, fetch_sub)                                                                         \
    EXCHANGED(bits, type, fetch_and)                                                                         \
    EXCHANGED(bits, type, fetch_or)                                                                          \
    EXCHANGED(bits, type, fetch_xor)                                                                         \
    EXCHANGED(bits, type, fetch_nand)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    simt_fence();
}
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
}
#pragma GCC diagnostic pop
