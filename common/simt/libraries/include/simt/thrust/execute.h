/**
 * @file execute.h
 * @brief Where an algorithm of Thrust runs: policies, and the kernels that do its work on the device.
 *
 * What works on every element by itself is a kernel of many threads, so that a function object that races or leaves its
 * arrays is found as in any kernel. What depends on the elements before (sums, scans, sorting) is a kernel of one thread: sums
 * are made from left to right, and the last bits may differ from a GPU's.
 */
#pragma once

#pragma GCC system_header

#include <cstddef>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuda_runtime.h"

namespace thrust
{

/* ---- errors -------------------------------------------------------------------------------------------- */

inline const std::error_category &cuda_category()
{
    static const struct : std::error_category {
        const char *name() const noexcept override { return "cuda"; }
        std::string message(int value) const override { return cudaGetErrorString((cudaError_t)value); }
    } category;
    return category;
}

namespace system
{
using std::error_code;
using std::system_error;
inline const std::error_category &cuda_category() { return thrust::cuda_category(); }
} // namespace system
using system::error_code;
using system::system_error;

namespace details
{
inline void need(cudaError_t error, const char *what)
{
#if defined(__cpp_exceptions)
    if (error != cudaSuccess) throw system_error((int)error, cuda_category(), what);
#else
    (void)what;
    if (error != cudaSuccess) std::terminate();
#endif
}
} // namespace details

/* ---- policies ------------------------------------------------------------------------------------------ */

struct host_system_tag {};
struct device_system_tag {};
/** @brief Of iterators that are the same everywhere: numbers that count, constants. */
struct any_system_tag {};

template <typename Derived = void> struct execution_policy {};

namespace details
{
/** @brief On a stream of the device; the allocator that a program gives is not needed. */
struct device_policy : execution_policy<device_policy> {
    cudaStream_t stream = 0;
    constexpr device_policy() {}
    explicit constexpr device_policy(cudaStream_t on) : stream(on) {}
    device_policy on(cudaStream_t other) const { return device_policy(other); }
    template <typename Allocator> device_policy operator()(Allocator &&) const { return *this; }
};
struct host_policy : execution_policy<host_policy> {
    template <typename Allocator> host_policy operator()(Allocator &&) const { return *this; }
};
template <typename T>
constexpr bool is_policy = std::is_base_of<device_policy, T>::value || std::is_base_of<host_policy, T>::value;
template <typename T> constexpr bool is_device = std::is_base_of<device_policy, T>::value;
} // namespace details

static constexpr details::device_policy device;
static constexpr details::host_policy host;
/** @brief In the calling thread, wherever that is: a kernel may call an algorithm with it. */
static constexpr details::host_policy seq;

namespace cuda
{
static constexpr details::device_policy par, par_nosync;
using thrust::system::error_code;
} // namespace cuda
namespace omp
{
static constexpr details::host_policy par;
}
namespace cpp
{
static constexpr details::host_policy par;
}

namespace details
{

/* ---- kernels ------------------------------------------------------------------------------------------- */

/* No loop over elements: the compiler would move accesses of the function object out of it, away from their lines. */
template <typename Function> __global__ void each_kernel(Function function, size_t count)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) function(i);
}
template <typename Function> __global__ void one_kernel(Function function) { function(); }
template <typename Function, typename Result> __global__ void result_kernel(Function function, Result *result)
{
    ::new ((void *)result) Result(function());
}

SIMT_INLINE simt_site place_of(const char *name)
{
    return simt_site{"thrust", 0, name, nullptr};
}

template <typename Kernel, typename... Arguments>
void start(const device_policy &policy, const char *name, unsigned int blocks, unsigned int threads, Kernel kernel,
           Arguments... arguments)
{
    need(simt_start(true, place_of(name), simtcc_configure(dim3(blocks), dim3(threads), 0, policy.stream),
                    (const void *)kernel, kernel, arguments...),
         name);
}

/* ---- the two ways to work ------------------------------------------------------------------------------ */

/** @brief function(i) for all i below @p count, in any order. */
template <typename Policy, typename Function>
void each(const Policy &policy, const char *name, size_t count, Function function)
{
    if constexpr (is_device<Policy>) {
        if (count > 0)
            start(policy, name, (unsigned int)((count + 255) / 256), 256, each_kernel<Function>, function, count);
    } else {
        for (size_t i = 0; i < count; i++) function(i);
    }
}

/** @brief function(), by one thread. */
template <typename Policy, typename Function> void once(const Policy &policy, const char *name, Function function)
{
    if constexpr (is_device<Policy>)
        start(policy, name, 1, 1, one_kernel<Function>, function);
    else
        function();
}

/** @brief What function() returns, by one thread. */
template <typename Policy, typename Function> auto result_of(const Policy &policy, const char *name, Function function)
{
    if constexpr (is_device<Policy>) {
        using Result = std::decay_t<decltype(function())>;
        alignas(Result) char here[sizeof(Result)];
        Result *there = nullptr;
        need((::cudaMalloc)((void **)&there, sizeof(Result)), name);
        start(policy, name, 1, 1, result_kernel<Function, Result>, function, there);
        const cudaError_t error =
            cudaMemcpyAsync(here, there, sizeof(Result), cudaMemcpyDeviceToHost, policy.stream);
        const cudaError_t end = cudaStreamSynchronize(policy.stream);
        cudaFree(there);
        need(error, name);
        need(end, name);
        return Result(*reinterpret_cast<Result *>(here));
    } else {
        return function();
    }
}

/** @brief Memory for the time of one algorithm. */
template <typename Policy, typename T> class scratch
{
  public:
    scratch(const Policy &policy, size_t count) : stream(stream_of(policy))
    {
        if constexpr (is_device<Policy>)
            need((::cudaMalloc)((void **)&memory, sizeof(T) * (count > 0 ? count : 1)), "thrust: temporary memory");
        else
            memory = static_cast<T *>(::operator new(sizeof(T) * (count > 0 ? count : 1)));
    }
    scratch(const scratch &) = delete;
    ~scratch()
    {
        if constexpr (is_device<Policy>) {
            (void)cudaStreamSynchronize(stream);
            (void)cudaFree(memory);
        } else {
            ::operator delete(memory);
        }
    }
    T *get() const { return memory; }

  private:
    static cudaStream_t stream_of(const Policy &policy)
    {
        if constexpr (is_device<Policy>)
            return policy.stream;
        else
            return 0;
    }
    T *memory = nullptr;
    cudaStream_t stream;
};

} // namespace details
} // namespace thrust
