/**
 * @file cuda_functional.h
 * @brief What cuda/functional and cuda/cmath have.
 */
#pragma once

#include <type_traits>

namespace cuda
{

/** @brief A function object that says what it returns, for device lambdas; here the compiler sees that. */
template <typename R, typename F> struct simt_returning {
    F function;
    template <typename... A> __host__ __device__ constexpr R operator()(A &&...arguments)
    {
        return function(static_cast<A &&>(arguments)...);
    }
    template <typename... A> __host__ __device__ constexpr R operator()(A &&...arguments) const
    {
        return function(static_cast<A &&>(arguments)...);
    }
};
template <typename R, typename F> __host__ __device__ simt_returning<R, F> proclaim_return_type(F function)
{
    return simt_returning<R, F>{function};
}
template <typename F> __host__ __device__ F proclaim_copyable_arguments(F function)
{
    return function;
}

template <typename T = void> struct maximum {
    __host__ __device__ constexpr T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};
template <> struct maximum<void> {
    template <typename A, typename B>
    __host__ __device__ constexpr ::std::common_type_t<A, B> operator()(const A &a, const B &b) const
    {
        return a < b ? b : a;
    }
};
template <typename T = void> struct minimum {
    __host__ __device__ constexpr T operator()(const T &a, const T &b) const { return b < a ? b : a; }
};
template <> struct minimum<void> {
    template <typename A, typename B>
    __host__ __device__ constexpr ::std::common_type_t<A, B> operator()(const A &a, const B &b) const
    {
        return b < a ? b : a;
    }
};

/** @brief Of numbers that are not negative. */
template <typename T, typename U> __host__ __device__ constexpr ::std::common_type_t<T, U> ceil_div(T a, U b)
{
    typedef ::std::common_type_t<T, U> common;
    return static_cast<common>(static_cast<common>(a) / static_cast<common>(b) +
                               (static_cast<common>(a) % static_cast<common>(b) != 0));
}
template <typename T, typename U> __host__ __device__ constexpr ::std::common_type_t<T, U> round_up(T a, U b)
{
    return ceil_div(a, b) * b;
}
template <typename T, typename U>
__host__ __device__ constexpr ::std::common_type_t<T, U> round_down(T a, U b)
{
    return a / b * b;
}

} // namespace cuda
