/**
 * @file local.c
 * @brief Accesses beyond the end of a local array, or of a constant one.
 *
 * `g++ -fsanitize=object-size` compares an address with the object that it was computed from, where that is known, and
 * calls the function here if it lies outside. A local array lies between return addresses, and next to those of other threads.
 * For a constant table the compiler reports no access at all, even if its index leads to device memory or to the machine's own.
 */
#include "check.h"
#include "machine.h"
#include "worker.h"

#include <stdbool.h>
#include <stdint.h>

/** What the compiler says of the access; GCC and clang agree on it. */
struct described_access {
    struct {
        const char *file;
        uint32_t line, column;
    } source;
    const void *type;
    uint8_t alignment, kind; /**< kind 0: a load, 1: a store, further ones: an object's member, a call, ... */
};

void __ubsan_handle_type_mismatch_v1(const struct described_access *described, const void *pointer);
void __ubsan_handle_type_mismatch_v1(const struct described_access *described, const void *pointer)
{
    struct worker *w = simt_tls_worker;
    const uintptr_t address = (uintptr_t)pointer;
    if (w == NULL || !w->checking) return;
    simt_check_beyond(w, address, described->kind == 1 ? SIMT_WRITE : SIMT_READ, __builtin_return_address(0));
}
