/**
 * @file iterators.h
 * @brief Thrust's iterators, and what each becomes inside a kernel: the same over plain pointers.
 */
#pragma once

#pragma GCC system_header

#include <iterator>

#include "execute.h"
#include "functional.h"

namespace thrust
{

using std::advance;
using std::distance;
using std::next;
using std::prev;

/* ---- memory of the device ------------------------------------------------------------------------------ */

template <typename T> class device_ptr;

/** @brief An element in device memory, as host code has it: reading and writing copies. */
template <typename T> class device_reference
{
  public:
    typedef std::remove_const_t<T> value_type;
    explicit device_reference(T *at) : address(at) {}
    device_reference(const device_reference &) = default;
    operator value_type() const
    {
        alignas(value_type) char bytes[sizeof(value_type)];
        details::need(cudaMemcpy(bytes, address, sizeof(value_type), cudaMemcpyDeviceToHost), "device_reference");
        return *reinterpret_cast<value_type *>(bytes);
    }
    const device_reference &operator=(const value_type &value) const
    {
        details::need(cudaMemcpy((void *)address, &value, sizeof(value_type), cudaMemcpyHostToDevice),
                      "device_reference");
        return *this;
    }
    const device_reference &operator=(const device_reference &other) const { return *this = (value_type)other; }
    device_ptr<T> operator&() const { return device_ptr<T>(address); }

#define SIMT_CHANGES(sign)                                                                                   \
    template <typename U> const device_reference &operator sign##=(const U &by) const                        \
    {                                                                                                        \
        return *this = (value_type)((value_type) * this sign by);                                            \
    }
    SIMT_CHANGES(+) SIMT_CHANGES(-) SIMT_CHANGES(*) SIMT_CHANGES(/) SIMT_CHANGES(&) SIMT_CHANGES(|) SIMT_CHANGES(^)
#undef SIMT_CHANGES
    const device_reference &operator++() const { return *this += 1; }
    const device_reference &operator--() const { return *this -= 1; }
    value_type operator++(int) const
    {
        const value_type before = *this;
        *this += 1;
        return before;
    }

  private:
    T *address;
};
template <typename T> std::ostream &operator<<(std::ostream &out, const device_reference<T> &r)
{
    return out << (typename device_reference<T>::value_type)r;
}
template <typename T> void swap(const device_reference<T> &a, const device_reference<T> &b)
{
    const typename device_reference<T>::value_type kept = a;
    a = b;
    b = kept;
}

template <typename T> class device_ptr
{
  public:
    typedef std::remove_const_t<T> value_type;
    typedef device_reference<T> reference;
    typedef device_ptr pointer;
    typedef std::ptrdiff_t difference_type;
    typedef std::random_access_iterator_tag iterator_category;
    constexpr device_ptr() : address(nullptr) {}
    constexpr device_ptr(std::nullptr_t) : address(nullptr) {}
    explicit constexpr device_ptr(T *at) : address(at) {}
    template <typename U, std::enable_if_t<std::is_convertible<U *, T *>::value, int> = 0>
    constexpr device_ptr(const device_ptr<U> &other) : address(other.get())
    {
    }
    constexpr T *get() const { return address; }
    constexpr explicit operator T *() const { return address; }
    constexpr explicit operator bool() const { return address != nullptr; }
    constexpr device_ptr base() const { return *this; }
    reference operator*() const { return reference(address); }
    reference operator[](difference_type i) const { return reference(address + i); }
    device_ptr &operator++() { return ++address, *this; }
    device_ptr &operator--() { return --address, *this; }
    device_ptr operator++(int) { return device_ptr(address++); }
    device_ptr operator--(int) { return device_ptr(address--); }
    device_ptr &operator+=(difference_type n) { return address += n, *this; }
    device_ptr &operator-=(difference_type n) { return address -= n, *this; }
    device_ptr operator+(difference_type n) const { return device_ptr(address + n); }
    device_ptr operator-(difference_type n) const { return device_ptr(address - n); }
    friend device_ptr operator+(difference_type n, const device_ptr &p) { return p + n; }

  private:
    T *address;
};
template <typename A, typename B> std::ptrdiff_t operator-(const device_ptr<A> &a, const device_ptr<B> &b)
{
    return a.get() - b.get();
}
#define SIMT_COMPARES(sign)                                                                                  \
    template <typename A, typename B> bool operator sign(const device_ptr<A> &a, const device_ptr<B> &b)     \
    {                                                                                                        \
        return a.get() sign b.get();                                                                         \
    }
SIMT_COMPARES(==)
SIMT_COMPARES(!=)
SIMT_COMPARES(<)
SIMT_COMPARES(>)
SIMT_COMPARES(<=)
SIMT_COMPARES(>=)
#undef SIMT_COMPARES

template <typename T> constexpr device_ptr<T> device_pointer_cast(T *p) { return device_ptr<T>(p); }
template <typename T> constexpr device_ptr<T> device_pointer_cast(const device_ptr<T> &p) { return p; }
template <typename T> constexpr T *raw_pointer_cast(T *p) { return p; }
template <typename T> constexpr T *raw_pointer_cast(const device_ptr<T> &p) { return p.get(); }
template <typename T> T &raw_reference_cast(T &r) { return r; }
template <typename T> T &raw_reference_cast(const device_reference<T> &r) { return *(&r).get(); }

/** @brief Room for @p count elements. */
template <typename T> device_ptr<T> device_malloc(size_t count)
{
    T *memory = nullptr;
    details::need((::cudaMalloc)((void **)&memory, count * sizeof(T)), "device_malloc");
    return device_ptr<T>(memory);
}
template <typename T> void device_free(const device_ptr<T> &p) { details::need(cudaFree(p.get()), "device_free"); }
template <typename T> void device_delete(const device_ptr<T> &p, size_t = 0) { device_free(p); }

/* ---- iterators that are arithmetic -------------------------------------------------------------------- */

namespace details
{
/** @brief Everything that an iterator needs, of `at(i)`, `move(n)` and `position()` of the derived class. */
template <typename Derived, typename Value, typename Reference> class random_access
{
  public:
    typedef Value value_type;
    typedef Reference reference;
    typedef void pointer;
    typedef std::ptrdiff_t difference_type;
    typedef std::random_access_iterator_tag iterator_category;
    constexpr Reference operator*() const { return self().at(0); }
    constexpr Reference operator[](difference_type i) const { return self().at(i); }
    constexpr Derived operator+(difference_type n) const { return Derived(self()).shift(n); }
    constexpr Derived operator-(difference_type n) const { return Derived(self()).shift(-n); }
    friend constexpr Derived operator+(difference_type n, const Derived &it) { return it + n; }
    constexpr Derived &operator+=(difference_type n) { return own().shift(n); }
    constexpr Derived &operator-=(difference_type n) { return own().shift(-n); }
    constexpr Derived &operator++() { return own().shift(1); }
    constexpr Derived &operator--() { return own().shift(-1); }
    constexpr Derived operator++(int)
    {
        const Derived before = self();
        own().shift(1);
        return before;
    }
    constexpr Derived operator--(int)
    {
        const Derived before = self();
        own().shift(-1);
        return before;
    }
    friend constexpr difference_type operator-(const Derived &a, const Derived &b) { return a.from(b); }
    friend constexpr bool operator==(const Derived &a, const Derived &b) { return a.from(b) == 0; }
    friend constexpr bool operator!=(const Derived &a, const Derived &b) { return a.from(b) != 0; }
    friend constexpr bool operator<(const Derived &a, const Derived &b) { return a.from(b) < 0; }
    friend constexpr bool operator>(const Derived &a, const Derived &b) { return a.from(b) > 0; }
    friend constexpr bool operator<=(const Derived &a, const Derived &b) { return a.from(b) <= 0; }
    friend constexpr bool operator>=(const Derived &a, const Derived &b) { return a.from(b) >= 0; }

  private:
    constexpr const Derived &self() const { return static_cast<const Derived &>(*this); }
    constexpr Derived &own() { return static_cast<Derived &>(*this); }
};
template <typename It> using value_of = typename std::iterator_traits<It>::value_type;
template <typename It> using reference_of = typename std::iterator_traits<It>::reference;
} // namespace details

template <typename It> struct iterator_traits : std::iterator_traits<It> {};
template <typename It> struct iterator_value {
    typedef details::value_of<It> type;
};
template <typename It> struct iterator_difference {
    typedef typename std::iterator_traits<It>::difference_type type;
};
template <typename It> struct iterator_reference {
    typedef details::reference_of<It> type;
};

template <typename T, typename...> class counting_iterator
    : public details::random_access<counting_iterator<T>, T, T>
{
  public:
    constexpr counting_iterator() : first() {}
    explicit constexpr counting_iterator(T at) : first(at) {}
    constexpr T at(std::ptrdiff_t i) const { return (T)(first + (T)i); }
    constexpr counting_iterator &shift(std::ptrdiff_t n) { return first = (T)(first + (T)n), *this; }
    constexpr std::ptrdiff_t from(const counting_iterator &o) const
    {
        return (std::ptrdiff_t)first - (std::ptrdiff_t)o.first;
    }

  private:
    T first;
};
template <typename T> constexpr counting_iterator<T> make_counting_iterator(T at) { return counting_iterator<T>(at); }

template <typename T, typename...> class constant_iterator
    : public details::random_access<constant_iterator<T>, T, T>
{
  public:
    constexpr constant_iterator() : value(), position(0) {}
    constexpr constant_iterator(const T &v, std::ptrdiff_t at = 0) : value(v), position(at) {}
    constexpr T at(std::ptrdiff_t) const { return value; }
    constexpr constant_iterator &shift(std::ptrdiff_t n) { return position += n, *this; }
    constexpr std::ptrdiff_t from(const constant_iterator &o) const { return position - o.position; }

  private:
    T value;
    std::ptrdiff_t position;
};
template <typename T> constexpr constant_iterator<T> make_constant_iterator(const T &v, std::ptrdiff_t at = 0)
{
    return constant_iterator<T>(v, at);
}

/** @brief Takes everything and keeps nothing. */
struct discarded {
    template <typename T> constexpr const discarded &operator=(const T &) const { return *this; }
    constexpr discarded() {}
    template <typename T> constexpr discarded(const T &) {}
};
template <typename...> class discard_iterator : public details::random_access<discard_iterator<>, discarded, discarded>
{
  public:
    explicit constexpr discard_iterator(std::ptrdiff_t at = 0) : position(at) {}
    constexpr discarded at(std::ptrdiff_t) const { return discarded(); }
    constexpr discard_iterator &shift(std::ptrdiff_t n) { return position += n, *this; }
    constexpr std::ptrdiff_t from(const discard_iterator &o) const { return position - o.position; }

  private:
    std::ptrdiff_t position;
};
inline constexpr discard_iterator<> make_discard_iterator(std::ptrdiff_t at = 0) { return discard_iterator<>(at); }

/* ---- iterators over others ----------------------------------------------------------------------------- */

namespace details
{
template <typename F, typename It> using transformed = decltype(std::declval<const F &>()((value_of<It>)std::declval<reference_of<It>>()));
}

template <typename F, typename It, typename Reference = void, typename Value = void> class transform_iterator
    : public details::random_access<transform_iterator<F, It, Reference, Value>,
                                    std::decay_t<details::transformed<F, It>>, details::transformed<F, It>>
{
  public:
    constexpr transform_iterator() {}
    constexpr transform_iterator(It i, F f) : it(i), function(f) {}
    explicit constexpr transform_iterator(It i) : it(i), function() {}
    constexpr decltype(auto) at(std::ptrdiff_t i) const { return function((details::value_of<It>)it[i]); }
    constexpr transform_iterator &shift(std::ptrdiff_t n) { return it += n, *this; }
    constexpr std::ptrdiff_t from(const transform_iterator &o) const { return it - o.it; }
    constexpr const It &base() const { return it; }
    constexpr const F &functor() const { return function; }

  private:
    It it;
    F function;
};
template <typename F, typename It> constexpr transform_iterator<F, It> make_transform_iterator(It it, F function)
{
    return transform_iterator<F, It>(it, function);
}

template <typename Elements, typename Indices> class permutation_iterator
    : public details::random_access<permutation_iterator<Elements, Indices>, details::value_of<Elements>,
                                    details::reference_of<Elements>>
{
  public:
    constexpr permutation_iterator() {}
    constexpr permutation_iterator(Elements e, Indices i) : elements(e), indices(i) {}
    constexpr decltype(auto) at(std::ptrdiff_t i) const
    {
        return elements[(std::ptrdiff_t)(details::value_of<Indices>)indices[i]];
    }
    constexpr permutation_iterator &shift(std::ptrdiff_t n) { return indices += n, *this; }
    constexpr std::ptrdiff_t from(const permutation_iterator &o) const { return indices - o.indices; }
    Elements elements;
    Indices indices;
};
template <typename E, typename I> constexpr permutation_iterator<E, I> make_permutation_iterator(E elements, I indices)
{
    return permutation_iterator<E, I>(elements, indices);
}

template <typename It> class reverse_iterator
    : public details::random_access<reverse_iterator<It>, details::value_of<It>, details::reference_of<It>>
{
  public:
    constexpr reverse_iterator() {}
    explicit constexpr reverse_iterator(It end) : it(end) {}
    constexpr decltype(auto) at(std::ptrdiff_t i) const { return it[-1 - i]; }
    constexpr reverse_iterator &shift(std::ptrdiff_t n) { return it -= n, *this; }
    constexpr std::ptrdiff_t from(const reverse_iterator &o) const { return o.it - it; }
    constexpr const It &base() const { return it; }

  private:
    It it;
};
template <typename It> constexpr reverse_iterator<It> make_reverse_iterator(It it) { return reverse_iterator<It>(it); }

template <typename Tuple> class zip_iterator;
template <typename... It> class zip_iterator<std::tuple<It...>>
    : public details::random_access<zip_iterator<std::tuple<It...>>, std::tuple<details::value_of<It>...>,
                                    std::tuple<details::reference_of<It>...>>
{
  public:
    constexpr zip_iterator() {}
    constexpr zip_iterator(const std::tuple<It...> &t) : parts(t) {}
    constexpr zip_iterator(It... it) : parts(it...) {}
    constexpr std::tuple<details::reference_of<It>...> at(std::ptrdiff_t i) const
    {
        return std::apply([i](const It &...it) { return std::tuple<details::reference_of<It>...>(it[i]...); }, parts);
    }
    constexpr zip_iterator &shift(std::ptrdiff_t n)
    {
        std::apply([n](It &...it) { (void)((it += n), ...); }, parts);
        return *this;
    }
    constexpr std::ptrdiff_t from(const zip_iterator &o) const { return std::get<0>(parts) - std::get<0>(o.parts); }
    constexpr const std::tuple<It...> &get_iterator_tuple() const { return parts; }

  private:
    std::tuple<It...> parts;
};
template <typename... It> constexpr zip_iterator<std::tuple<It...>> make_zip_iterator(const std::tuple<It...> &t)
{
    return zip_iterator<std::tuple<It...>>(t);
}
template <typename... It> constexpr zip_iterator<std::tuple<It...>> make_zip_iterator(It... it)
{
    return zip_iterator<std::tuple<It...>>(std::tuple<It...>(it...));
}

/* ---- where an iterator leads, and what it is in a kernel ----------------------------------------------- */

namespace details
{
template <typename... It> struct is_of_device : std::disjunction<is_of_device<It>...> {};
template <typename T> struct is_of_device<T> : std::false_type {};
template <typename T> struct is_of_device<device_ptr<T>> : std::true_type {};
template <typename F, typename It, typename R, typename V> struct is_of_device<transform_iterator<F, It, R, V>>
    : is_of_device<It> {
};
template <typename E, typename I> struct is_of_device<permutation_iterator<E, I>>
    : std::disjunction<is_of_device<E>, is_of_device<I>> {
};
template <typename It> struct is_of_device<reverse_iterator<It>> : is_of_device<It> {};
template <typename... It> struct is_of_device<zip_iterator<std::tuple<It...>>> : std::disjunction<is_of_device<It>...> {
};
/* What leads to no memory by itself: the algorithm then runs where Thrust's default is, on the device. */
template <typename T> struct is_nowhere : std::false_type {};
template <typename... T> struct is_nowhere<counting_iterator<T...>> : std::true_type {};
template <typename... T> struct is_nowhere<constant_iterator<T...>> : std::true_type {};
template <typename... T> struct is_nowhere<discard_iterator<T...>> : std::true_type {};
template <typename F, typename It, typename R, typename V> struct is_nowhere<transform_iterator<F, It, R, V>>
    : is_nowhere<It> {
};
template <typename... It> struct is_nowhere<zip_iterator<std::tuple<It...>>> : std::conjunction<is_nowhere<It>...> {};

template <typename First, typename... Rest> auto policy_for()
{
    if constexpr (is_of_device<First, Rest...>::value ||
                  (is_nowhere<First>::value && !(std::is_pointer<Rest>::value || ...)))
        return device_policy();
    else
        return host_policy();
}

template <typename It> constexpr It raw(const It &it) { return it; }
template <typename T> constexpr T *raw(const device_ptr<T> &it) { return it.get(); }
template <typename T, typename A> constexpr auto raw(const __gnu_cxx::__normal_iterator<T, A> &it) { return it; }
template <typename F, typename It, typename R, typename V> constexpr auto raw(const transform_iterator<F, It, R, V> &it);
template <typename E, typename I> constexpr auto raw(const permutation_iterator<E, I> &it);
template <typename It> constexpr auto raw(const reverse_iterator<It> &it);
template <typename... It> constexpr auto raw(const zip_iterator<std::tuple<It...>> &it);
template <typename F, typename It, typename R, typename V> constexpr auto raw(const transform_iterator<F, It, R, V> &it)
{
    return transform_iterator<F, decltype(raw(it.base()))>(raw(it.base()), it.functor());
}
template <typename E, typename I> constexpr auto raw(const permutation_iterator<E, I> &it)
{
    return permutation_iterator<decltype(raw(it.elements)), decltype(raw(it.indices))>(raw(it.elements),
                                                                                       raw(it.indices));
}
template <typename It> constexpr auto raw(const reverse_iterator<It> &it)
{
    return reverse_iterator<decltype(raw(it.base()))>(raw(it.base()));
}
template <typename... It> constexpr auto raw(const zip_iterator<std::tuple<It...>> &it)
{
    return std::apply([](const It &...part) { return thrust::make_zip_iterator(std::make_tuple(raw(part)...)); },
                      it.get_iterator_tuple());
}
} // namespace details
} // namespace thrust
