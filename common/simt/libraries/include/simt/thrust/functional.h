/**
 * @file functional.h
 * @brief Thrust's function objects, tuples and pairs, and the placeholders _1 and _2.
 */
#pragma once

#pragma GCC system_header

#include <complex>
#include <functional>
#include <tuple>
#include <utility>

namespace thrust
{

using std::bit_and;
using std::bit_or;
using std::bit_xor;
using std::divides;
using std::equal_to;
using std::greater;
using std::greater_equal;
using std::less;
using std::less_equal;
using std::logical_and;
using std::logical_not;
using std::logical_or;
using std::minus;
using std::modulus;
using std::multiplies;
using std::negate;
using std::not_equal_to;
using std::plus;

template <typename T = void> struct maximum {
    constexpr T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};
template <> struct maximum<void> {
    template <typename A, typename B> constexpr auto operator()(const A &a, const B &b) const { return a < b ? b : a; }
};
template <typename T = void> struct minimum {
    constexpr T operator()(const T &a, const T &b) const { return b < a ? b : a; }
};
template <> struct minimum<void> {
    template <typename A, typename B> constexpr auto operator()(const A &a, const B &b) const { return b < a ? b : a; }
};
template <typename T = void> struct identity {
    constexpr const T &operator()(const T &a) const { return a; }
};
template <> struct identity<void> {
    template <typename A> constexpr A operator()(const A &a) const { return a; }
};
template <typename T = void> struct square {
    constexpr T operator()(const T &a) const { return a * a; }
};
template <typename A = void, typename B = A> struct project1st {
    constexpr const A &operator()(const A &a, const B &) const { return a; }
};
template <typename A = void, typename B = A> struct project2nd {
    constexpr const B &operator()(const A &, const B &b) const { return b; }
};

/** @brief Bases that older programs give their function objects. */
template <typename Argument, typename Result> struct unary_function {
    typedef Argument argument_type;
    typedef Result result_type;
};
template <typename First, typename Second, typename Result> struct binary_function {
    typedef First first_argument_type;
    typedef Second second_argument_type;
    typedef Result result_type;
};

template <typename F> struct unary_negate {
    F function;
    template <typename A> constexpr bool operator()(const A &a) const { return !function(a); }
};
template <typename F> constexpr unary_negate<F> not1(F function) { return {function}; }
template <typename F> constexpr unary_negate<F> not_fn(F function) { return {function}; }

/** @brief A function of several arguments, called with a tuple. */
template <typename F> struct zip_function {
    F function;
    template <typename Tuple> constexpr decltype(auto) operator()(Tuple &&values) const
    {
        return std::apply(function, static_cast<Tuple &&>(values));
    }
};
template <typename F> constexpr zip_function<F> make_zip_function(F function) { return {function}; }

using std::get;
using std::ignore;
using std::make_pair;
using std::make_tuple;
using std::pair;
using std::tie;
using std::tuple;
using std::tuple_element;
using std::tuple_size;
using std::swap;

using std::complex;
using std::abs;
using std::arg;
using std::conj;
using std::norm;
using std::polar;
using std::proj;
using std::exp;
using std::log;
using std::log10;
using std::pow;
using std::sqrt;
using std::sin;
using std::cos;
using std::tan;
using std::asin;
using std::acos;
using std::atan;
using std::sinh;
using std::cosh;
using std::tanh;
using std::asinh;
using std::acosh;
using std::atanh;

/* ---- placeholders: _1 + 2 * _2 is a function object ---------------------------------------------------- */

namespace details
{
struct expression_base {};
template <typename T> constexpr bool is_expression = std::is_base_of<expression_base, std::decay_t<T>>::value;

template <int N> struct argument : expression_base {
    template <typename... A> constexpr auto operator()(const A &...a) const { return std::get<N>(std::tie(a...)); }
};
template <typename T> struct fixed : expression_base {
    T value;
    constexpr explicit fixed(const T &v) : value(v) {}
    template <typename... A> constexpr T operator()(const A &...) const { return value; }
};
template <typename Operation, typename... Part> struct expression : expression_base {
    std::tuple<Part...> parts;
    constexpr explicit expression(const Part &...part) : parts(part...) {}
    template <typename... A> constexpr auto operator()(const A &...a) const
    {
        return std::apply([&](const Part &...part) { return Operation()(part(a...)...); }, parts);
    }
};
template <typename T> constexpr auto as_expression(const T &part)
{
    if constexpr (is_expression<T>)
        return part;
    else
        return fixed<T>(part);
}

#define SIMT_BINARY(sign, operation)                                                                         \
    template <typename A, typename B, std::enable_if_t<is_expression<A> || is_expression<B>, int> = 0>       \
    constexpr auto operator sign(const A &a, const B &b)                                                     \
    {                                                                                                        \
        return expression<operation<>, decltype(as_expression(a)), decltype(as_expression(b))>(              \
            as_expression(a), as_expression(b));                                                             \
    }
SIMT_BINARY(+, std::plus)
SIMT_BINARY(-, std::minus)
SIMT_BINARY(*, std::multiplies)
SIMT_BINARY(/, std::divides)
SIMT_BINARY(%, std::modulus)
SIMT_BINARY(<, std::less)
SIMT_BINARY(>, std::greater)
SIMT_BINARY(<=, std::less_equal)
SIMT_BINARY(>=, std::greater_equal)
SIMT_BINARY(==, std::equal_to)
SIMT_BINARY(!=, std::not_equal_to)
SIMT_BINARY(&&, std::logical_and)
SIMT_BINARY(||, std::logical_or)
SIMT_BINARY(&, std::bit_and)
SIMT_BINARY(|, std::bit_or)
SIMT_BINARY(^, std::bit_xor)
#undef SIMT_BINARY
template <typename A, std::enable_if_t<is_expression<A>, int> = 0> constexpr auto operator-(const A &a)
{
    return expression<std::negate<>, A>(a);
}
template <typename A, std::enable_if_t<is_expression<A>, int> = 0> constexpr auto operator!(const A &a)
{
    return expression<std::logical_not<>, A>(a);
}
} // namespace details

namespace placeholders
{
static constexpr details::argument<0> _1;
static constexpr details::argument<1> _2;
static constexpr details::argument<2> _3;
static constexpr details::argument<3> _4;
} // namespace placeholders

} // namespace thrust
