/**
 * @file window.c
 * @brief Shared memory as PTX addresses it: by an offset into a window of 32 bits, as on hardware.
 *
 *     0       1024                          512 K
 *     | kept  | dynamic shared memory ...   | __shared__ variables ...
 *
 * An offset and the pointer it stands for agree in their last ten bits, so that what is aligned one way is aligned the
 * other way.
 */
#include "check.h"
#include "finding.h"
#include "machine.h"
#include "worker.h"

#include <stdbool.h>

enum { DYNAMIC_OFFSET = 1 << 10, STATIC_OFFSET = 1 << 19, ALIGNED = 1 << 10 };

static bool is_shared(const struct worker *w, uintptr_t address)
{
    const enum place place = simt_place_of(w, address);
    return place == PLACE_SHARED || place == PLACE_DYNAMIC;
}

/* Where the window's part for variables begins. */
static uintptr_t static_base(const struct worker *w)
{
    return w->space[PLACE_SHARED].base & ~(uintptr_t)(ALIGNED - 1);
}

int simt_is_shared_pointer(const void *pointer)
{
    return simt_tls_worker != NULL && is_shared(simt_tls_worker, (uintptr_t)pointer);
}

uint64_t simt_shared_offset(const void *pointer)
{
    const struct worker *w = simt_tls_worker;
    const uintptr_t address = (uintptr_t)pointer;
    if (w == NULL) return address;
    if (address - w->space[PLACE_DYNAMIC].base <= w->space[PLACE_DYNAMIC].bytes)
        return address - w->space[PLACE_DYNAMIC].base + DYNAMIC_OFFSET;
    return address - static_base(w) + STATIC_OFFSET;
}

void *simt_shared_address(uint64_t offset)
{
    const struct worker *w = simt_tls_worker;
    if (w == NULL) return (void *)(uintptr_t)offset;
    if (offset < STATIC_OFFSET)
        return (void *)(uintptr_t)(w->space[PLACE_DYNAMIC].base + offset - DYNAMIC_OFFSET);
    return (void *)(uintptr_t)(static_base(w) + offset - STATIC_OFFSET);
}

/* What an address that lies in no shared memory looks like. */
static const char *look_of(const struct worker *w, uint64_t offset)
{
    for (enum place place = PLACE_SHARED; place <= PLACE_DYNAMIC; place++) {
        const struct space *s = &w->space[place];
        if (offset - s->base < s->bytes)
            return "this is a generic pointer: .shared takes what __cvta_generic_to_shared makes of it";
        if (offset >> 32 == 0 && (uint32_t)(offset - s->base) < s->bytes)
            return "this is a generic pointer cut to 32 bits: .shared takes what __cvta_generic_to_shared "
                   "makes of it";
    }
    return "the block has no shared memory at this 32-bit address";
}

void *simt_shared_checked(uint64_t offset, size_t bytes, int access, const void *return_address)
{
    struct worker *w = simt_tls_worker;
    void *address = simt_shared_address(offset);
    if (w == NULL || !w->checking) return address;
    if (!is_shared(w, (uintptr_t)address))
        simt_refuse(w, "out-of-bounds", (uintptr_t)offset, bytes, access, return_address, look_of(w, offset));
    return address;
}

size_t simt_dynamic_shared_bytes(void)
{
    return simt_tls_worker != NULL ? simt_tls_worker->launch->dynamic_shared_bytes : 0;
}
