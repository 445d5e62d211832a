/**
 * @file tools.c
 * @brief Memory and numbers for the other parts.
 */
#include "tools.h"
#include "settings.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *simt_vector_grow(struct vector *v, size_t element_bytes)
{
    if (v->count == v->capacity) {
        size_t capacity = v->capacity ? 2 * v->capacity : 16;
        void *data = realloc(v->data, capacity * element_bytes);
        if (data == NULL) simt_die("out of host memory (%zu bytes wanted).", capacity * element_bytes);
        v->data = data;
        v->capacity = capacity;
    }
    return (char *)v->data + element_bytes * v->count++;
}

void *simt_reserve(size_t bytes, const char *what)
{
    void *pages =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        simt_die("cannot reserve %zu MiB of address space for %s; is there a limit (ulimit -v)?", bytes >> 20,
                 what);
    return pages;
}

void *simt_reserve_below(uintptr_t end, size_t bytes, const char *what)
{
    static atomic_size_t used;
    for (int tries = 0; tries < 1000; tries++) {
        const size_t place = atomic_fetch_add(&used, bytes) + bytes;
        void *wanted = (void *)(place < end ? end - place : 0);
        void *pages = mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (pages != MAP_FAILED && (uintptr_t)pages < end) return pages;
        if (pages != MAP_FAILED) munmap(pages, bytes);
    }
    simt_die("cannot reserve %zu MiB of address space below 0x%zx for %s; is there a limit (ulimit -v)?",
             bytes >> 20, (size_t)end, what);
}

void simt_forget(void *pages, size_t bytes)
{
    madvise(pages, bytes, MADV_DONTNEED);
}

void simt_populate(void *pages, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)pages & ~(page - 1);
    const uintptr_t end = (uintptr_t)pages + bytes;
#ifdef MADV_POPULATE_WRITE
    if (madvise((void *)first, (end - first + page - 1) & ~(page - 1), MADV_POPULATE_WRITE) == 0) return;
#endif
    for (uintptr_t at = (uintptr_t)pages; at < end; at = (at & ~(page - 1)) + page) *(volatile char *)at = 0;
}

uint64_t simt_mix(uint64_t value)
{
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

/*
 * A Feistel network permutes 0 .. 4^bits-1; walking along its cycle until a value below count turns up
 * permutes 0 .. count-1. Less than four steps on average, as count is more than a quarter of the range.
 */
uint64_t simt_permuted(uint64_t index, uint64_t count, uint64_t seed)
{
    unsigned bits = 1;
    while (bits < 32 && (uint64_t)1 << 2 * bits < count) bits++;
    const uint64_t half = ((uint64_t)1 << bits) - 1;
    do {
        uint64_t left = index >> bits, right = index & half;
        for (unsigned round = 0; round < 4; round++) {
            uint64_t next = left ^ (simt_mix(right + (simt_mix(seed) ^ round)) & half);
            left = right;
            right = next;
        }
        index = left << bits | right;
    } while (index >= count);
    return index;
}
