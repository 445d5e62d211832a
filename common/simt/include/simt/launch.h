/**
 * @file launch.h
 * @brief What the rewriter makes of `kernel<<<grid, block, shared, stream>>>(arguments)`.
 *
 * The arguments are evaluated once, converted to the kernel's parameter types and kept in one block of
 * memory: every CUDA thread of the launch reads its own copies from there, and a graph can keep the block.
 */
#pragma once

#pragma GCC system_header

#include "../driver_types.h"
#include "language.h"

extern "C" {
/** @brief Checks the launch against the device's limits and runs it; a graph can copy its @p args_bytes. */
cudaError_t simt_launch_kernel(const struct simt_launch *launch, size_t args_bytes, cudaStream_t stream);
/** @brief A launch by `<<<` and `>>>` was refused with @p error, which it gives nobody: a line at the program's end, unless the program asks. */
void simt_launch_refused(const struct simt_launch *launch, cudaError_t error);
/** @brief Refuses a kernel that is only a void pointer. */
cudaError_t simt_launch_untyped(const struct simt_site *site);
/** @brief Whether a launch may have these attributes; *@p early is 1 if one lets it start early, *@p cooperative if its blocks may
 *         wait for each other; *@p cluster is what is asked for, or all 0. */
cudaError_t simt_launch_attributes(const struct simt_site *site, const cudaLaunchConfig_t *config, int *early,
                                   int *cooperative, struct simt_extent *cluster);
}

/** @brief What stands between `<<<` and `>>>`. */
struct simt_configuration {
    dim3 grid, block;
    size_t dynamic_shared_bytes;
    cudaStream_t stream;
    int early, cooperative; /**< see struct simt_launch */
    simt_extent cluster;
};

/* What simtcc writes into a kernel file begins with simtcc_: what begins with simt_ can only come from these headers. */
using simtcc_site = simt_site;

SIMT_INLINE simt_configuration simtcc_configure(dim3 grid, dim3 block, size_t dynamic_shared_bytes = 0,
                                              cudaStream_t stream = 0)
{
    return simt_configuration{grid, block, dynamic_shared_bytes, stream, 0, 0, {0, 0, 0}};
}

/** @brief An argument as a launch keeps it. */
template <typename T, bool bits> struct simt_stored {
    T value;
    simt_stored(T &v) : value(v) {}
    struct own { /* a copy, which the compiler reports: of a struct that a call passes by value it would not */
        T value;
        own(const simt_stored &stored) : value(stored.value) {}
    };
};
/** @brief Hardware gets such an object's bits: none of its functions runs for the copy that a thread has. */
template <typename T> struct simt_stored<T, true> {
    alignas(T) unsigned char bytes[sizeof(T)];
    simt_stored(T &v) { __builtin_memcpy(bytes, __builtin_addressof(v), sizeof(T)); }
    struct own {
        alignas(T) unsigned char bytes[sizeof(T)];
        T &value;
        own(const simt_stored &stored) : value(*reinterpret_cast<T *>(bytes))
        {
            __builtin_memcpy(bytes, stored.bytes, sizeof(T));
        }
    };
};

/** @brief Whether a function is given the address of the caller's copy of such a parameter: the ABI's rule for classes. */
template <typename T> struct simt_by_address {
    enum {
        value = !(__is_trivially_constructible(T, const T &) && __is_trivially_constructible(T, T &&) &&
                  __has_trivial_destructor(T))
    };
};
template <typename T> struct simt_by_address<T &> {
    enum { value = 0 };
};

template <typename T, bool by_address = simt_by_address<T>::value> struct simt_passed {
    typedef T type;
};
template <typename T> struct simt_passed<T, true> {
    typedef T &type;
};

template <typename F, typename... A> SIMT_INLINE void simt_enter(F function, A &...arguments)
{
    function(arguments...);
}
template <typename R, typename... Q, typename... A>
SIMT_INLINE void simt_enter(R (*function)(Q...), A &...arguments)
{
    reinterpret_cast<R (*)(typename simt_passed<Q>::type...)>(function)(arguments...);
}

/** @brief The arguments of a launch, one after the other. A parameter that is a reference is kept as one: to managed memory, as a rule. */
template <typename... P> struct simt_arguments {
    template <typename F, typename... Before> void apply(F function, Before &...before) const
    {
        simt_enter(function, before...);
    }
};
template <typename First, typename... Rest> struct simt_arguments<First, Rest...> {
    typedef simt_stored<First, simt_by_address<First>::value> stored;
    stored first;
    simt_arguments<Rest...> rest;
    simt_arguments(First &f, Rest &...r) : first(f), rest(r...) {}
    template <typename F, typename... Before> void apply(F function, Before &...before) const
    {
        typename stored::own mine(first);
        rest.apply(function, before..., mine.value);
    }
};

/** @brief Calls the kernel of @p call with a thread's own copies. Read as a whole, the arguments are one access and not one each. */
template <typename Call> SIMT_INLINE void simt_enter_with(const Call *call)
{
    if constexpr (__is_trivially_copyable(Call)) {
        const Call mine = *call;
        mine.arguments.apply(mine.function);
    } else {
        call->arguments.apply(call->function);
    }
}

/** @brief A kernel with its arguments, as the machine calls it for every CUDA thread. */
template <typename F, typename... P> struct simt_call {
    F function;
    simt_arguments<P...> arguments;
    simt_call(F f, P &...p) : function(f), arguments(p...) {}
    __attribute__((SIMT_LISTED(2, 2))) static void run(const void *self)
    {
        simt_enter_with(static_cast<const simt_call *>(self));
    }
};
/** @brief The same for a kernel that only a pointer names, the first of what run() is given. */
template <typename R, typename... Q, typename... P> struct simt_call<R (*)(Q...), P...> {
    R (*function)(Q...);
    simt_arguments<P...> arguments;
    simt_call(R (*f)(Q...), P &...p) : function(f), arguments(p...) {}
    __attribute__((SIMT_LISTED(1, 1))) static void run(const void *self)
    {
        simt_enter_with(static_cast<const simt_call *>(self));
    }
};

/** @brief @p told: the caller gives the program what this returns. */
template <typename F, typename... P>
SIMT_INLINE cudaError_t simt_start(bool told, const simt_site &site, const simt_configuration &c, const void *key,
                                   F function, P &...arguments)
{
    simt_call<F, P...> call(function, arguments...);
    struct simt_launch launch = {};
    launch.kernel = site.what;
    launch.site = site;
    launch.grid = {c.grid.x, c.grid.y, c.grid.z};
    launch.block = {c.block.x, c.block.y, c.block.z};
    launch.dynamic_shared_bytes = c.dynamic_shared_bytes;
    launch.function = key;
    launch.entry = simt_call<F, P...>::run;
    launch.args = &call;
    launch.early = c.early;
    launch.cooperative = c.cooperative;
    launch.cluster = c.cluster;
    const cudaError_t error = simt_launch_kernel(&launch, sizeof(call), c.stream);
    if (!told && error != cudaSuccess) simt_launch_refused(&launch, error);
    return error;
}

/** @brief Called with the launch's arguments; converts them to the kernel's parameter types. */
template <typename... P> struct simt_launcher {
    simt_site site;
    simt_configuration configuration;
    void (*kernel)(P...);
    void operator()(P... arguments) const
    {
        (void)simt_start<void (*)(P...), P...>(false, site, configuration, (const void *)kernel, kernel, arguments...);
    }
};

template <typename... P>
SIMT_INLINE simt_launcher<P...> simtcc_launch_of(simt_site site, void (*kernel)(P...),
                                               simt_configuration configuration)
{
    return simt_launcher<P...>{site, configuration, kernel};
}

/** @brief For overloads and templates whose arguments are deduced: the call stands in a generic lambda. */
template <typename F> struct simt_deduced_launcher {
    simt_site site;
    simt_configuration configuration;
    F call;
    template <typename... P> void operator()(P... arguments) const
    {
        (void)simt_start(false, site, configuration, nullptr, call, arguments...);
    }
};

template <typename F>
SIMT_INLINE simt_deduced_launcher<F> simtcc_launch_deduced(simt_site site, F call,
                                                         simt_configuration configuration)
{
    return simt_deduced_launcher<F>{site, configuration, call};
}

/* ---- cudaLaunchKernelEx -------------------------------------------------------------------------------- */

template <typename... P, typename... A>
SIMT_INLINE cudaError_t simt_launch_configured(simt_site site, const cudaLaunchConfig_t *config,
                                               void (*kernel)(P...), A &&...arguments)
{
    simt_configuration c = {};
    cudaError_t error = simt_launch_attributes(&site, config, &c.early, &c.cooperative, &c.cluster);
    if (error != cudaSuccess) return error;
    c.grid = config->gridDim;
    c.block = config->blockDim;
    c.dynamic_shared_bytes = config->dynamicSmemBytes;
    c.stream = config->stream;
    return [&](P... converted) {
        return simt_start<void (*)(P...), P...>(true, site, c, (const void *)kernel, kernel, converted...);
    }(static_cast<A &&>(arguments)...);
}

#define cudaLaunchKernelEx(config, kernel, ...)                                                              \
    simt_launch_configured(simt_site{__FILE__, __LINE__, #kernel, nullptr}, config, kernel, ##__VA_ARGS__)

/** @brief Refused: the kernel's parameter types are lost. */
#define cudaLaunchKernelExC(config, kernel, arguments)                                                       \
    simt_launch_untyped_config(simt_site{__FILE__, __LINE__, #kernel, nullptr}, config, kernel, arguments)

SIMT_INLINE cudaError_t simt_launch_untyped_config(simt_site site, const cudaLaunchConfig_t *, const void *,
                                                   void **)
{
    return simt_launch_untyped(&site);
}

/* ---- cudaLaunchKernel: the rewriter drops the cast to void *, so the parameter types are known --------- */

/** @brief An argument, given its address; of a reference, the address of a pointer. */
template <typename T> struct simt_argument {
    SIMT_INLINE T &at(void *address) { return *static_cast<T *>(address); }
};
template <typename T> struct simt_argument<T &> {
    SIMT_INLINE T &at(void *address) { return **static_cast<T **>(address); }
};
template <size_t... I> struct simt_indices {};
template <size_t N, size_t... I> struct simt_count_to : simt_count_to<N - 1, N - 1, I...> {};
template <size_t... I> struct simt_count_to<0, I...> { typedef simt_indices<I...> type; };

template <typename... P, size_t... I>
SIMT_INLINE cudaError_t simt_launch_array(const simt_site &site, const simt_configuration &c,
                                          void (*kernel)(P...), void **arguments, simt_indices<I...>)
{
    (void)arguments;
    return simt_start<void (*)(P...), P...>(
        true, site, c, (const void *)kernel, kernel,
        simt_argument<P>::at(arguments[I])...);
}

template <typename... P>
SIMT_INLINE cudaError_t simtcc_launch_by_array(simt_site site, void (*kernel)(P...), dim3 grid, dim3 block,
                                             void **arguments, size_t dynamic_shared_bytes = 0,
                                             cudaStream_t stream = 0)
{
    simt_configuration configuration = simtcc_configure(grid, block, dynamic_shared_bytes, stream);
    return simt_launch_array(site, configuration, kernel, arguments,
                             typename simt_count_to<sizeof...(P)>::type());
}

SIMT_INLINE cudaError_t simtcc_launch_by_array(simt_site site, const void *, dim3, dim3, void **, size_t = 0,
                                             cudaStream_t = 0)
{
    return simt_launch_untyped(&site);
}

/** @brief cudaLaunchCooperativeKernel, rewritten in the same way. */
template <typename... P>
SIMT_INLINE cudaError_t simtcc_launch_cooperatively(simt_site site, void (*kernel)(P...), dim3 grid, dim3 block,
                                                  void **arguments, size_t dynamic_shared_bytes = 0,
                                                  cudaStream_t stream = 0)
{
    simt_configuration configuration = simtcc_configure(grid, block, dynamic_shared_bytes, stream);
    configuration.cooperative = 1;
    return simt_launch_array(site, configuration, kernel, arguments,
                             typename simt_count_to<sizeof...(P)>::type());
}

SIMT_INLINE cudaError_t simtcc_launch_cooperatively(simt_site site, const void *, dim3, dim3, void **, size_t = 0,
                                                  cudaStream_t = 0)
{
    return simt_launch_untyped(&site);
}
