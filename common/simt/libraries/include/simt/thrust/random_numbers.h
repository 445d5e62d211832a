/**
 * @file random_numbers.h
 * @brief Thrust's engines and distributions: those of the standard library, and a fast discard().
 */
#pragma once

#pragma GCC system_header

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>

#include "orders.h"
#include "vectors.h"

namespace thrust
{
namespace random
{

/** @brief x = a x + c mod m; discard() takes as many steps as its argument has bits. */
template <typename UInt, UInt A, UInt C, UInt M> class linear_congruential_engine
{
  public:
    typedef UInt result_type;
    static constexpr UInt default_seed = 1, multiplier = A, increment = C, modulus = M;
    static constexpr UInt min() { return C == 0 ? 1 : 0; }
    static constexpr UInt max() { return M - 1; }
    explicit linear_congruential_engine(UInt s = default_seed) { seed(s); }
    void seed(UInt s = default_seed) { x = C % M == 0 && s % M == 0 ? 1 : s % M; }
    UInt operator()() { return x = (UInt)(((unsigned long long)A * x + C) % M); }
    void discard(unsigned long long n)
    {
        unsigned long long a = A, c = C;
        for (; n > 0; n /= 2) { /* two steps of (a, c) are one of (a a, a c + c) */
            if (n % 2 == 1) x = (UInt)((a * x + c) % M);
            c = (a * c + c) % M;
            a = a * a % M;
        }
    }
    friend bool operator==(const linear_congruential_engine &p, const linear_congruential_engine &q) { return p.x == q.x; }

  private:
    UInt x;
};
typedef linear_congruential_engine<std::uint32_t, 16807, 0, 2147483647> minstd_rand0;
typedef linear_congruential_engine<std::uint32_t, 48271, 0, 2147483647> minstd_rand;
typedef minstd_rand default_random_engine;
typedef std::ranlux24 ranlux24;
typedef std::ranlux48 ranlux48;

template <typename T = double> class uniform_real_distribution
{
  public:
    typedef T result_type;
    explicit uniform_real_distribution(T from = 0, T to = 1) : a(from), b(to) {}
    template <typename Engine> T operator()(Engine &engine) const
    {
        T part = (T)(engine() - Engine::min());
        part /= (T)1 + (T)(Engine::max() - Engine::min());
        return part * (b - a) + a;
    }

  private:
    T a, b;
};
template <typename T = int> class uniform_int_distribution
{
  public:
    typedef T result_type;
    explicit uniform_int_distribution(T from = 0, T to = std::numeric_limits<T>::max()) : a(from), b(to) {}
    template <typename Engine> T operator()(Engine &engine) const
    {
        typedef std::conditional_t<sizeof(T) < 4, float, double> real;
        const real from = (real)a, to = std::nextafter((real)b + 1, from);
        return (T)uniform_real_distribution<real>(from, to)(engine);
    }

  private:
    T a, b;
};
/** @brief By the method of Box and Muller; a GPU's numbers are others. */
template <typename T = double> class normal_distribution
{
  public:
    typedef T result_type;
    explicit normal_distribution(T m = 0, T s = 1) : mean(m), deviation(s) {}
    template <typename Engine> T operator()(Engine &engine) const
    {
        uniform_real_distribution<T> unit;
        const T u = 1 - unit(engine), v = unit(engine);
        return mean + deviation * std::sqrt(-2 * std::log(u)) * std::cos((T)6.283185307179586 * v);
    }

  private:
    T mean, deviation;
};
} // namespace random

using namespace random;

template <typename It, typename Engine> void shuffle(It first, It last, Engine &&engine)
{
    std::vector<details::value_of<It>> kept((size_t)(last - first));
    thrust::copy(first, last, kept.begin());
    std::shuffle(kept.begin(), kept.end(), engine);
    thrust::copy(kept.begin(), kept.end(), first);
}
SIMT_POLICY(typename It, typename Engine) void shuffle(const Policy &, It first, It last, Engine &&engine)
{
    thrust::shuffle(first, last, engine);
}

} // namespace thrust
