/**
 * @file debugger.c
 * @brief Where a debugger finds the device's threads.
 */
#include "debugger.h"
#include "sizes.h"
#include "worker.h"

#include <stddef.h>

#if defined(__x86_64__) && !defined(SIMT_FIBER_UCONTEXT)
enum { REGISTERS = SIMT_DEBUGGER_X86_64 };
#elif defined(__aarch64__) && !defined(SIMT_FIBER_UCONTEXT)
enum { REGISTERS = SIMT_DEBUGGER_AARCH64 };
#else
enum { REGISTERS = SIMT_DEBUGGER_UCONTEXT };
#endif

struct worker *simt_all_workers[MAX_WORKERS];

struct simt_debugger_place simt_debugger_place;
uint64_t simt_debugger_launches;

__attribute__((noinline, used)) void simt_debugger_access(const struct simt_debugger_place *place)
{
    simt_debugger_place = *place;
    simt_debugger_stop();
}

__attribute__((noinline, used)) void simt_debugger_stop(void)
{
    __asm__ volatile(""); /* or the call would be dropped */
}

__attribute__((used)) const struct simt_debugger simt_debugger = {
    .version = 2,
    .registers = REGISTERS,
    .most = MAX_WORKERS,
    .warp_lanes = WARP_LANES,
    .local_bytes = offsetof(struct worker, local.stacks_bytes),
    .local = offsetof(struct worker, local.stacks),
    .current = offsetof(struct worker, current),
    .threads = offsetof(struct worker, threads),
    .thread = offsetof(struct worker, thread),
    .thread_bytes = sizeof(struct thread),
    .identity = offsetof(struct thread, identity),
    .context = offsetof(struct thread, context),
    .wait = offsetof(struct thread, wait),
    .warp = offsetof(struct worker, warp_of),
    .warp_bytes = sizeof(struct warp),
    .exited = offsetof(struct warp, exited),
    .fresh = offsetof(struct warp, fresh),
    .workers = simt_all_workers,
    .launches = &simt_debugger_launches,
};
