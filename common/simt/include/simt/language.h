/**
 * @file language.h
 * @brief The words CUDA adds to C++ that need no rewriting: qualifiers, built-in variables, barriers.
 *
 * simtcc's rewriter does the rest: launches, `__shared__` variables (each gets a red zone), `__device__`
 * variables, `__noinline__` and inline PTX.
 */
#pragma once

#pragma GCC system_header

#include "../../machine.h"
#include "../vector_types.h"

/* Helpers that only compute become part of the caller. Helpers that touch memory for the student stay out of
 * line and uninstrumented: they call the machine by name, and their return address is the student's line. */
#define SIMT_INLINE static inline __attribute__((always_inline))
#define SIMT_OUTLINE static inline __attribute__((noinline, no_sanitize("thread"), unused))
#define SIMT_CALLER __builtin_return_address(0)

/** @brief Has the compiler list where a function begins, less @p before instructions, in a section of the object file, for who
 *         must know a kernel from another function; what it puts there are instructions that do nothing. */
#define SIMT_LISTED(bytes, before) patchable_function_entry(bytes, before)

/* Everything a kernel calls becomes part of it, as with nvcc; and the compiler does not report a struct that is read
 * from memory only to be handed to a function. */
#define __global__ __attribute__((noinline, flatten, SIMT_LISTED(1, 0)))
/* What g++ keeps of these words, and does nothing about: simtcc reads whose function it is (simtcc/calls.c). */
#if defined(__clang__)
#define __device__
#define __host__
#else
#define __device__ __attribute__((no_profile_instrument_function))
#define __host__ __attribute__((unused))
#endif
/** @brief Put by the rewriter into the body of a function that is the host's alone. */
#define SIMT_HOST_FUNCTION char simt_host_function __attribute__((unused))
/* What is beyond the end of a variable should not be the next one. Compilers for x86-64 leave room behind an array by themselves. */
#if defined(__aarch64__)
#define SIMT_APART aligned(32)
#else
#define SIMT_APART
#endif
#define __constant__ __attribute__((used, section("simt_constant"), SIMT_APART))
#define __shared__ static thread_local
/* The host and kernels use it by its name; a device of several has no copy of its own. */
#define __managed__ __attribute__((used, section("simt_managed")))
#define __forceinline__ inline __attribute__((always_inline))
#define __inline_hint__
#define __launch_bounds__(...) /* the rewriter has made a record of it */
#define __maxnreg__(...)
/* The rewriter takes it away where it finds the kernel that it is of. */
#define __cluster_dims__(...)                                                                                \
    _Pragma("GCC error \"__cluster_dims__ in a macro: write it where the kernel is declared\"")
/** @brief What the rewriter makes of `__cluster_dims__`, at the beginning of the kernel's body: machine/image.c finds it by its name. */
#define SIMT_CLUSTER_DIMS(...)                                                                               \
    __attribute__((used)) static constexpr simt_extent simt_cluster_dims = simt_cluster_of(__VA_ARGS__)
constexpr simt_extent simt_cluster_of(unsigned int x, unsigned int y = 1, unsigned int z = 1)
{
    return simt_extent{x, y, z};
}
/** @brief The same for `__launch_bounds__`. */
#define SIMT_LAUNCH_BOUNDS(...)                                                                              \
    __attribute__((used)) static constexpr simt_extent simt_launch_bounds = simt_bounds_of(__VA_ARGS__)
constexpr simt_extent simt_bounds_of(unsigned int threads, unsigned int blocks = 0, unsigned int cluster = 0)
{
    return simt_extent{threads, blocks, cluster};
}
#define __grid_constant__
/** @brief Put by the rewriter at the beginning of a kernel's body, for a parameter of a class: one that can hold a tensor map is listed. */
#define SIMT_PARAMETER(name, constant)                                                                       \
    const simt_parameter_mark<(sizeof(name) >= 128 && alignof(decltype(name)) >= 64)> simt_mark_of_##name(   \
        __builtin_addressof(name), sizeof(name), constant)
template <bool LISTED> struct simt_parameter_mark {
    __attribute__((always_inline)) simt_parameter_mark(const volatile void *, size_t, int) {}
};
template <> struct simt_parameter_mark<true> {
    __attribute__((always_inline))
    simt_parameter_mark(const volatile void *address, size_t bytes, int constant)
    {
        simt_note_parameter(const_cast<const void *>(address), bytes, constant);
    }
};
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __nv_pure__ __attribute__((pure))

/** @brief How the rewriter declares a shared variable. g++ must be told that no code and no guard is needed; and that a store which
 *         nobody reads stays: it may be half of a race. */
#if defined(__clang__)
#define SIMT_SHARED __attribute__((used)) static thread_local
#else
#define SIMT_SHARED __attribute__((used)) static thread_local __constinit
#endif

/** @brief Put by the rewriter before every shared variable: an index beyond its neighbour lands here. */
#define SIMT_RED_ZONE SIMT_RED_ZONE_NUMBERED(__COUNTER__)
#define SIMT_RED_ZONE_NUMBERED(number) SIMT_RED_ZONE_NAMED(number)
#define SIMT_RED_ZONE_NAMED(number) __attribute__((used)) static thread_local char simt_red_zone_##number[64]

/** @brief How a shared array of @p T begins: where a tile of a warp matrix operation may begin, as on hardware; an array of
 *         structures as they are, or the compiler would copy those in pieces that their members are not. */
template <typename T> constexpr size_t simtcc_array_alignment()
{
    return __is_class(T) && alignof(T) < sizeof(T) ? alignof(T) : alignof(T) > 32 ? alignof(T) : 32;
}

/** @brief What kind of array a type is. */
template <typename T> struct simt_shape_of {
    static constexpr simt_shape beyond(simt_shape s)
    {
        s.element_bytes = sizeof(T);
        return s;
    }
    static constexpr simt_shape value = beyond(simt_shape());
};
template <typename T, size_t COUNT> struct simt_shape_of<T[COUNT]> {
    static constexpr simt_shape beyond(simt_shape s)
    {
        if (s.rank == SIMT_RANK) return s; /* of more axes than that, the first ones count */
        s.extent[s.rank++] = COUNT;
        return simt_shape_of<T>::beyond(s);
    }
    static constexpr simt_shape value = beyond(simt_shape());
};

/** @brief Put by the rewriter behind every shared variable: machine/names.c finds it by its name. */
#define SIMT_SHAPE(variable)                                                                                 \
    __attribute__((used)) static constexpr simt_shape simt_shape_of_##variable =                             \
        simt_shape_of<decltype(variable)>::value

/** @brief What the rewriter makes of `__constant__` beside const. */
#define simt_fixed_constant __attribute__((used))
/** @brief Put by the rewriter on `__device__` variables that a kernel may write. */
#define simt_device_variable __attribute__((used, section("simt_device"), SIMT_APART))
/** @brief A static description of the place where it is written. */
#define SIMT_SITE(what)                                                                                      \
    (__extension__({                                                                                         \
        static const struct simt_site simt_here = {__FILE__, __LINE__, what};                                \
        &simt_here;                                                                                          \
    }))

/** @brief blockDim and gridDim: plain data, so that the compiler reads them once and reports no access. */
struct simt_dim3 {
    unsigned int x, y, z;
    operator dim3() const { return dim3(x, y, z); }
    operator uint3() const { return uint3{x, y, z}; }
};

extern __thread const uint3 threadIdx __asm__("simt_thread_index");
extern __thread const uint3 blockIdx __asm__("simt_block_index");
extern __thread const struct simt_dim3 blockDim __asm__("simt_block_extent");
extern __thread const struct simt_dim3 gridDim __asm__("simt_grid_extent");
static constexpr int warpSize = 32;

/* ---- barriers and fences ------------------------------------------------------------------------------- */

#define __syncthreads() ((void)simt_block_barrier(SIMT_SITE("__syncthreads"), SIMT_VOTE_NONE, 0))
#define __syncthreads_count(predicate)                                                                       \
    simt_block_barrier(SIMT_SITE("__syncthreads_count"), SIMT_VOTE_COUNT, (predicate) ? 1 : 0)
#define __syncthreads_and(predicate)                                                                         \
    simt_block_barrier(SIMT_SITE("__syncthreads_and"), SIMT_VOTE_AND, (predicate) ? 1 : 0)
#define __syncthreads_or(predicate)                                                                          \
    simt_block_barrier(SIMT_SITE("__syncthreads_or"), SIMT_VOTE_OR, (predicate) ? 1 : 0)
#define __syncwarp(...) (simt_warp_synchronizer{SIMT_SITE("__syncwarp")})(__VA_ARGS__)

struct simt_warp_synchronizer {
    const struct simt_site *site;
    void operator()(unsigned int mask = 0xffffffffu) const { simt_warp_barrier(site, mask); }
};

SIMT_INLINE void __threadfence()
{
    simt_fence();
}
SIMT_INLINE void __threadfence_system()
{
    simt_fence();
}
SIMT_INLINE void __threadfence_block()
{
    simt_block_fence();
}

/* ---- programmatic dependent launch: devices of compute capability 9.0 have it ------------------------- */

#if __CUDA_ARCH__ >= 900
/** @brief Grids run one after the other here: what is read before the wait is checked, nothing is ever waited for. */
SIMT_INLINE void cudaGridDependencySynchronize()
{
    simt_grids_wait();
}
SIMT_INLINE void cudaTriggerProgrammaticLaunchCompletion()
{
    simt_grids_trigger();
}
#endif

extern "C" long long simt_clock(void);
extern "C" void simt_sleep(unsigned int nanoseconds);

/* ---- stopping, waiting, asking ------------------------------------------------------------------------- */

#define __trap() simt_misuse(SIMT_SITE("__trap"), SIMT_MISUSE_TRAP, 0, 0)
#define __brkpt() ((void)0)
#define __assume(condition) ((void)((condition) ? 0 : (__builtin_unreachable(), 0)))
#define __builtin_assume(condition) __assume(condition)

/** @brief simt_misuse() at the line that called. */
extern "C" void simt_refuse_in_kernel(const void *return_address, const char *call, enum simt_misuse misuse)
    __attribute__((noreturn));

SIMT_INLINE void __nanosleep(unsigned int nanoseconds)
{
    simt_sleep(nanoseconds);
}

SIMT_INLINE long long clock64()
{
    return simt_clock();
}
SIMT_INLINE unsigned long long __globaltimer()
{
    return (unsigned long long)simt_clock();
}

SIMT_INLINE unsigned int __isShared(const void *pointer)
{
    return (unsigned int)simt_is_shared_pointer(pointer);
}
SIMT_INLINE unsigned int __isGlobal(const void *pointer)
{
    return simt_is_device_pointer(pointer) != 0;
}
/** @brief Shared memory has addresses of its own, of 32 bits; all others are generic pointers. */
SIMT_INLINE size_t __cvta_generic_to_shared(const void *pointer)
{
    return simt_shared_offset(pointer);
}
SIMT_INLINE void *__cvta_shared_to_generic(size_t offset)
{
    return simt_shared_address(offset);
}
SIMT_INLINE size_t __cvta_generic_to_global(const void *pointer)
{
    return (size_t)pointer;
}
SIMT_INLINE void *__cvta_global_to_generic(size_t address)
{
    return (void *)address;
}
SIMT_INLINE size_t __cvta_generic_to_local(const void *pointer)
{
    return (size_t)pointer;
}
SIMT_INLINE void *__cvta_local_to_generic(size_t address)
{
    return (void *)address;
}
SIMT_INLINE size_t __cvta_generic_to_constant(const void *pointer)
{
    return (size_t)pointer;
}
SIMT_INLINE void *__cvta_constant_to_generic(size_t address)
{
    return (void *)address;
}

/* ---- shared memory ------------------------------------------------------------------------------------- */

extern "C" void *simtcc_dynamic_shared(const char *name, size_t element_bytes);

/** @brief What `extern __shared__ T name[]` becomes outside a function: acts as an array in functions. */
template <typename T> struct simtcc_dynamic_array {
    const char *name;
    operator T *() const { return static_cast<T *>(simtcc_dynamic_shared(name, sizeof(T))); }
    template <typename U> explicit operator U *() const { return (U *)simtcc_dynamic_shared(name, sizeof(T)); }
};

/* ---- the C library in kernels -------------------------------------------------------------------------- */

extern "C" {
int printf(const char *__restrict format, ...) __asm__("simt_printf") __attribute__((format(printf, 1, 2)));
void __assert_fail(const char *, const char *, unsigned int, const char *) noexcept
    __asm__("simt_assert_fail") __attribute__((noreturn));
void *memcpy(void *__restrict to, const void *__restrict from, size_t bytes) noexcept __asm__("simt_memcpy");
void *memmove(void *to, const void *from, size_t bytes) noexcept __asm__("simt_memmove");
void *memset(void *to, int value, size_t bytes) noexcept __asm__("simt_memset");
void *malloc(size_t bytes) noexcept __asm__("simt_malloc");
void free(void *pointer) noexcept __asm__("simt_free");
}
