/**
 * @file vectors.h
 * @brief thrust::host_vector and thrust::device_vector.
 */
#pragma once

#pragma GCC system_header

#include <initializer_list>
#include <iostream>
#include <memory>
#include <string>

#include "transformations.h"

namespace thrust
{

template <typename T> class device_allocator
{
  public:
    typedef T value_type;
};

template <typename T, typename Allocator = device_allocator<T>> class device_vector
{
  public:
    typedef T value_type;
    typedef device_reference<T> reference;
    typedef device_reference<const T> const_reference;
    typedef device_ptr<T> pointer;
    typedef device_ptr<const T> const_pointer;
    typedef device_ptr<T> iterator;
    typedef device_ptr<const T> const_iterator;
    typedef thrust::reverse_iterator<iterator> reverse_iterator;
    typedef std::size_t size_type;
    typedef std::ptrdiff_t difference_type;

    device_vector() {}
    explicit device_vector(const Allocator &) {}
    explicit device_vector(size_type n) { resize(n); }
    device_vector(size_type n, const T &value, const Allocator & = Allocator()) { resize(n, value); }
    device_vector(const device_vector &other) { assign(other.begin(), other.end()); }
    device_vector(device_vector &&other) noexcept { swap(other); }
    device_vector(std::initializer_list<T> list) { assign(list.begin(), list.end()); }
    template <typename A> device_vector(const std::vector<T, A> &other) { assign(other.begin(), other.end()); }
    template <typename U, typename A> device_vector(const std::vector<U, A> &other) { assign(other.begin(), other.end()); }
    template <typename U, typename A> device_vector(const device_vector<U, A> &other) { assign(other.begin(), other.end()); }
    template <typename It, typename = typename std::iterator_traits<It>::iterator_category> device_vector(It first, It last)
    {
        assign(first, last);
    }
    ~device_vector() { release(); }

    device_vector &operator=(const device_vector &other)
    {
        if (this != &other) assign(other.begin(), other.end());
        return *this;
    }
    device_vector &operator=(device_vector &&other) noexcept
    {
        swap(other);
        return *this;
    }
    device_vector &operator=(std::initializer_list<T> list) { return assign(list.begin(), list.end()), *this; }
    template <typename U, typename A> device_vector &operator=(const std::vector<U, A> &other)
    {
        return assign(other.begin(), other.end()), *this;
    }
    template <typename U, typename A> device_vector &operator=(const device_vector<U, A> &other)
    {
        return assign(other.begin(), other.end()), *this;
    }

    iterator begin() { return iterator(memory); }
    iterator end() { return iterator(memory + count); }
    const_iterator begin() const { return const_iterator(memory); }
    const_iterator end() const { return const_iterator(memory + count); }
    const_iterator cbegin() const { return begin(); }
    const_iterator cend() const { return end(); }
    reverse_iterator rbegin() { return reverse_iterator(end()); }
    reverse_iterator rend() { return reverse_iterator(begin()); }
    pointer data() { return pointer(memory); }
    const_pointer data() const { return const_pointer(memory); }
    reference operator[](size_type i) { return reference(memory + i); }
    const_reference operator[](size_type i) const { return const_reference(memory + i); }
    reference front() { return (*this)[0]; }
    const_reference front() const { return (*this)[0]; }
    reference back() { return (*this)[count - 1]; }
    const_reference back() const { return (*this)[count - 1]; }
    size_type size() const { return count; }
    size_type capacity() const { return room; }
    size_type max_size() const { return (size_type)-1 / sizeof(T); }
    bool empty() const { return count == 0; }

    void reserve(size_type wanted)
    {
        T *larger = nullptr;
        if (wanted <= room) return;
        details::need((::cudaMalloc)((void **)&larger, wanted * sizeof(T)), "thrust::device_vector");
        if (count > 0) thrust::copy_n(begin(), count, device_ptr<T>(larger));
        const size_type kept = count;
        release();
        memory = larger;
        room = wanted;
        count = kept;
    }
    void resize(size_type n, const T &value = T())
    {
        reserve(n > room && room > 0 ? std::max(n, 2 * room) : n);
        if (n > count) thrust::fill_n(begin() + count, n - count, value);
        count = n;
    }
    void clear() { count = 0; }
    void shrink_to_fit() {}
    void push_back(const T &value) { resize(count + 1, value); }
    void pop_back() { count--; }
    void assign(size_type n, const T &value)
    {
        clear();
        resize(n, value);
    }
    template <typename It, typename = typename std::iterator_traits<It>::iterator_category> void assign(It first, It last)
    {
        const size_type n = (size_type)std::distance(first, last);
        clear();
        reserve(n);
        count = n;
        if (n > 0) thrust::copy_n(first, n, begin());
    }
    iterator insert(iterator before, const T &value)
    {
        const difference_type at = before - begin();
        insert(before, &value, &value + 1);
        return begin() + at;
    }
    template <typename It, typename = typename std::iterator_traits<It>::iterator_category>
    void insert(iterator before, It first, It last)
    {
        const device_vector added(first, last), rest(before, end());
        const difference_type at = before - begin();
        reserve(count + added.size());
        count += added.size();
        thrust::copy(added.begin(), added.end(), begin() + at);
        thrust::copy(rest.begin(), rest.end(), begin() + at + (difference_type)added.size());
    }
    iterator erase(iterator first, iterator last)
    {
        const device_vector rest(last, end());
        thrust::copy(rest.begin(), rest.end(), first);
        count -= (size_type)(last - first);
        return first;
    }
    iterator erase(iterator at) { return erase(at, at + 1); }
    void swap(device_vector &other) noexcept
    {
        std::swap(memory, other.memory);
        std::swap(count, other.count);
        std::swap(room, other.room);
    }
    Allocator get_allocator() const { return Allocator(); }

  private:
    void release()
    {
        if (memory != nullptr) (void)cudaFree(memory);
        memory = nullptr;
        count = room = 0;
    }
    T *memory = nullptr;
    size_type count = 0, room = 0;
};

template <typename T, typename Allocator = std::allocator<T>> class host_vector : public std::vector<T, Allocator>
{
  public:
    typedef std::vector<T, Allocator> base;
    using base::base;
    host_vector() {}
    host_vector(const host_vector &) = default;
    host_vector(host_vector &&) = default;
    host_vector(const base &other) : base(other) {}
    template <typename U, typename A> host_vector(const device_vector<U, A> &other) { *this = other; }
    template <typename U, typename A> host_vector(const std::vector<U, A> &other) : base(other.begin(), other.end()) {}
    host_vector(device_ptr<T> first, device_ptr<T> last) : base((size_t)(last - first))
    {
        thrust::copy(first, last, this->begin());
    }
    host_vector(device_ptr<const T> first, device_ptr<const T> last) : base((size_t)(last - first))
    {
        thrust::copy(first, last, this->begin());
    }
    host_vector &operator=(const host_vector &) = default;
    host_vector &operator=(host_vector &&) = default;
    template <typename U, typename A> host_vector &operator=(const device_vector<U, A> &other)
    {
        this->resize(other.size());
        if (!other.empty()) thrust::copy(other.begin(), other.end(), this->begin());
        return *this;
    }
    template <typename U, typename A> host_vector &operator=(const std::vector<U, A> &other)
    {
        this->assign(other.begin(), other.end());
        return *this;
    }
};

template <typename T, typename A, typename U, typename B>
bool operator==(const device_vector<T, A> &a, const device_vector<U, B> &b)
{
    const host_vector<T> x = a;
    const host_vector<U> y = b;
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin());
}
template <typename T, typename A, typename U, typename B>
bool operator==(const device_vector<T, A> &a, const std::vector<U, B> &b)
{
    const host_vector<T> x = a;
    return x.size() == b.size() && std::equal(x.begin(), x.end(), b.begin());
}
template <typename T, typename A, typename U, typename B>
bool operator==(const std::vector<U, B> &b, const device_vector<T, A> &a)
{
    return a == b;
}
template <typename T, typename A, typename Other> bool operator!=(const device_vector<T, A> &a, const Other &b)
{
    return !(a == b);
}
template <typename T, typename A> void swap(device_vector<T, A> &a, device_vector<T, A> &b) { a.swap(b); }

} // namespace thrust
