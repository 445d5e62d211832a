/**
 * @file heap.c
 * @brief malloc, free, new and delete of CUDA programs: in a kernel the device's heap, in host code the host's.
 *
 * simtcc renames malloc and free to functions here. new and delete are defined here under the names that the
 * linker knows, and so replace those of the C++ library.
 */
#include <stdlib.h>

#include "runtime.h"

#define CALLER __builtin_return_address(0)

void *simt_malloc(size_t bytes);
void simt_free(void *pointer);
void *_Znwm(size_t bytes);
void *_Znam(size_t bytes);
void _ZdlPv(void *pointer);
void _ZdaPv(void *pointer);
void _ZdlPvm(void *pointer, size_t bytes);
void _ZdaPvm(void *pointer, size_t bytes);
extern void _ZSt17__throw_bad_allocv(void) __attribute__((weak, noreturn));

void *simt_malloc(size_t bytes)
{
    return simt_self() != NULL ? simt_heap_alloc(bytes, CALLER) : malloc(bytes);
}

static void release(void *pointer, const void *caller)
{
    if (simt_self() != NULL)
        simt_heap_free(pointer, caller);
    else
        free(pointer);
}

void simt_free(void *pointer)
{
    release(pointer, CALLER);
}

static void *make(size_t bytes, const void *caller)
{
    if (simt_self() != NULL) return simt_heap_alloc(bytes, caller);
    void *pointer = malloc(bytes > 0 ? bytes : 1);
    if (pointer != NULL) return pointer;
    if (_ZSt17__throw_bad_allocv != NULL) _ZSt17__throw_bad_allocv();
    abort();
}

void *_Znwm(size_t bytes)
{
    return make(bytes, CALLER);
}

void *_Znam(size_t bytes)
{
    return make(bytes, CALLER);
}

void _ZdlPv(void *pointer)
{
    release(pointer, CALLER);
}

void _ZdaPv(void *pointer)
{
    release(pointer, CALLER);
}

void _ZdlPvm(void *pointer, size_t bytes)
{
    (void)bytes;
    release(pointer, CALLER);
}

void _ZdaPvm(void *pointer, size_t bytes)
{
    (void)bytes;
    release(pointer, CALLER);
}
