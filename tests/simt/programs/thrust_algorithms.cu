/**
 * The algorithms of Thrust on host and device vectors, with function objects and placeholders, each against
 * the standard library or a loop. Shown: device_vector beside a kernel of one's own, iterators that count, transform, zip and
 * permute, policies with a stream, algorithms by key.
 */
#include <algorithm>
#include <numeric>
#include <vector>

#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_free.h>
#include <thrust/device_malloc.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/equal.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/find.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/generate.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/logical.h>
#include <thrust/merge.h>
#include <thrust/partition.h>
#include <thrust/random.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/replace.h>
#include <thrust/reverse.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/tabulate.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/transform_scan.h>
#include <thrust/tuple.h>
#include <thrust/unique.h>

#include "../testing.h"

using namespace thrust::placeholders;
typedef thrust::device_vector<int> ints;

struct is_even {
    __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};
struct square {
    __host__ __device__ long long operator()(int x) const { return (long long)x * x; }
};
struct descending_tens {
    __host__ __device__ bool operator()(int a, int b) const { return a / 10 > b / 10; }
};
struct add_to {
    int *total;
    __device__ void operator()(int x) const { atomicAdd(total, x); }
};
struct from_zip {
    __host__ __device__ int operator()(const thrust::tuple<int, int> &t) const
    {
        return 100 * thrust::get<0>(t) + thrust::get<1>(t);
    }
};
struct draw {
    __host__ __device__ float operator()(unsigned n) const
    {
        thrust::default_random_engine engine;
        thrust::uniform_real_distribution<float> unit(2.0f, 3.0f);
        engine.discard(n);
        return unit(engine);
    }
};

static __global__ void triple_kernel(int *data, int n)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) data[i] *= 3;
}

static void same(const char *what, const ints &got, const std::vector<int> &expected)
{
    const thrust::host_vector<int> here = got;
    expect_equal(what, 0, (long long)here.size(), (long long)expected.size());
    for (size_t i = 0; i < expected.size() && i < here.size(); i++)
        expect_equal(what, i, here[i], expected[i]);
}

static std::vector<int> numbers(int n, unsigned seed, int below)
{
    std::vector<int> v((size_t)n);
    for (int &x : v) x = (int)(next_random(&seed) % (unsigned)below);
    return v;
}

static void vectors(const std::vector<int> &v)
{
    const int n = (int)v.size();
    ints d(v.begin(), v.end()), other = d, empty;
    triple_kernel<<<(n + 127) / 128, 128>>>(thrust::raw_pointer_cast(d.data()), n);
    finish_launch("triple_kernel");
    std::vector<int> tripled(v);
    for (int &x : tripled) x *= 3;
    same("a kernel's vector", d, tripled);
    d[0] = 5;
    d[1] = d[0];
    d.push_back(7);
    d.resize(d.size() + 2, 9);
    tripled[0] = tripled[1] = 5;
    tripled.insert(tripled.end(), {7, 9, 9});
    same("changed by the host", d, tripled);
    d.erase(d.begin() + 1);
    tripled.erase(tripled.begin() + 1);
    d.insert(d.begin(), 3);
    tripled.insert(tripled.begin(), 3);
    same("erase, insert", d, tripled);
    other.swap(d);
    same("swapped", d, v);
    same("empty", empty, std::vector<int>());
    thrust::sort(empty.begin(), empty.end());
    expect_equal("sum of nothing", 0, thrust::reduce(empty.begin(), empty.end()), 0);
    thrust::device_vector<double> wide(d.begin(), d.end()), zero(10);
    expect_close("converted", 0, wide[4], v[4], 0);
    expect_close("default", 0, zero[9], 0, 0);
    thrust::device_ptr<int> raw = thrust::device_malloc<int>(4);
    thrust::fill(raw, raw + 4, 6);
    expect_equal("device_malloc", 0, (int)raw[3], 6);
    thrust::device_free(raw);
}

static void each(const std::vector<int> &v)
{
    const size_t n = v.size();
    const ints d = v;
    ints out(n), total(1, 0);
    std::vector<int> expected(v);
    thrust::transform(d.begin(), d.end(), out.begin(), 2 * _1 + 1);
    for (int &x : expected) x = 2 * x + 1;
    same("transform", out, expected);
    thrust::transform(d.begin(), d.end(), out.begin(), out.begin(), thrust::minus<int>());
    for (size_t i = 0; i < n; i++) expected[i] = v[i] - expected[i];
    same("transform of two", out, expected);
    thrust::for_each(d.begin(), d.end(), add_to{thrust::raw_pointer_cast(total.data())});
    expect_equal("for_each", 0, total[0], std::accumulate(v.begin(), v.end(), 0));
    thrust::sequence(out.begin(), out.end(), 3, 2);
    thrust::replace_if(out.begin(), out.end(), is_even(), 0);
    thrust::reverse(out.begin(), out.end());
    for (size_t i = 0; i < n; i++) expected[n - 1 - i] = 3 + 2 * (int)i;
    same("sequence, reverse", out, expected);
    thrust::tabulate(out.begin(), out.end(), thrust::negate<int>());
    for (size_t i = 0; i < n; i++) expected[i] = -(int)i;
    same("tabulate", out, expected);
    ints map(n), back(n);
    thrust::sequence(map.rbegin(), map.rend());
    thrust::gather(map.begin(), map.end(), d.begin(), out.begin());
    expected.assign(v.rbegin(), v.rend());
    same("gather", out, expected);
    thrust::scatter(out.begin(), out.end(), map.begin(), back.begin());
    same("scatter", back, v);
    thrust::copy(thrust::make_permutation_iterator(d.begin(), map.begin()),
                 thrust::make_permutation_iterator(d.begin(), map.end()), back.begin());
    same("permutation", back, expected);
    thrust::adjacent_difference(d.begin(), d.end(), out.begin());
    std::adjacent_difference(v.begin(), v.end(), expected.begin());
    same("adjacent_difference", out, expected);
    thrust::transform(thrust::make_zip_iterator(thrust::make_tuple(d.begin(), map.begin())),
                      thrust::make_zip_iterator(thrust::make_tuple(d.end(), map.end())), out.begin(),
                      from_zip());
    for (size_t i = 0; i < n; i++) expected[i] = 100 * v[i] + (int)(n - 1 - i);
    same("zip", out, expected);
    thrust::device_vector<float> drawn(n);
    thrust::transform(thrust::counting_iterator<unsigned>(0),
                      thrust::counting_iterator<unsigned>((unsigned)n), drawn.begin(), draw());
    thrust::default_random_engine engine;
    thrust::uniform_real_distribution<float> unit(2.0f, 3.0f);
    for (size_t i = 0; i < n; i++) expect_close("random", i, drawn[i], unit(engine), 1e-6);
}

static void sums(const std::vector<int> &v)
{
    const size_t n = v.size();
    ints d = v, out(n);
    std::vector<int> expected(n);
    cudaStream_t stream;
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    const int total = std::accumulate(v.begin(), v.end(), 0),
              greatest = *std::max_element(v.begin(), v.end());
    expect_equal("reduce", 0, thrust::reduce(thrust::cuda::par.on(stream), d.begin(), d.end()), total);
    expect_equal("maximum", 0, thrust::reduce(d.begin(), d.end(), 0, thrust::maximum<int>()), greatest);
    expect_equal("raw pointers", 0,
                 thrust::reduce(thrust::device, thrust::raw_pointer_cast(d.data()),
                                thrust::raw_pointer_cast(d.data()) + n, 1000),
                 1000 + total);
    long long squares = 0;
    for (int x : v) squares += (long long)x * x;
    expect_equal("transform_reduce", 0,
                 thrust::transform_reduce(d.begin(), d.end(), square(), 0LL, thrust::plus<long long>()),
                 squares);
    expect_equal("inner_product", 0, thrust::inner_product(d.begin(), d.end(), d.begin(), 0LL), squares);
    expect_equal("count", 0, thrust::count(d.begin(), d.end(), v[3]), std::count(v.begin(), v.end(), v[3]));
    expect_equal("count_if", 0, thrust::count_if(d.begin(), d.end(), is_even()),
                 std::count_if(v.begin(), v.end(), is_even()));
    expect_equal("max_element", 0, thrust::max_element(d.begin(), d.end()) - d.begin(),
                 std::max_element(v.begin(), v.end()) - v.begin());
    expect_equal("min_element", 0, thrust::min_element(d.begin(), d.end()) - d.begin(),
                 std::min_element(v.begin(), v.end()) - v.begin());
    expect_equal("find", 0, thrust::find(d.begin(), d.end(), v[n / 2]) - d.begin(),
                 std::find(v.begin(), v.end(), v[n / 2]) - v.begin());
    expect_equal("any_of", 0, thrust::any_of(d.begin(), d.end(), _1 > greatest), 0);
    expect_equal("all_of", 0, thrust::all_of(d.begin(), d.end(), _1 <= greatest), 1);
    thrust::inclusive_scan(d.begin(), d.end(), out.begin());
    std::partial_sum(v.begin(), v.end(), expected.begin());
    same("inclusive_scan", out, expected);
    thrust::exclusive_scan(out.begin(), out.end(), out.begin(), 4); /* in place */
    for (size_t i = 0, sum = 4; i < n; i++) {
        const int own = expected[i];
        expected[i] = (int)sum;
        sum += (size_t)own;
    }
    same("exclusive_scan", out, expected);
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

static void keys(const std::vector<int> &v)
{
    std::vector<int> sorted(v), place(v.size()), starts, counts;
    std::iota(place.begin(), place.end(), 0);
    ints d = v, index(v.size()), key_out(v.size()), count_out(v.size());
    thrust::sequence(index.begin(), index.end());
    thrust::stable_sort_by_key(d.begin(), d.end(), index.begin(), descending_tens());
    std::stable_sort(place.begin(), place.end(),
                     [&](int a, int b) { return v[(size_t)a] / 10 > v[(size_t)b] / 10; });
    same("stable_sort_by_key", index, place);
    thrust::sort(d.begin(), d.end());
    std::sort(sorted.begin(), sorted.end());
    same("sort", d, sorted);
    expect_equal("is_sorted", 0, thrust::is_sorted(d.begin(), d.end()), 1);
    auto ends = thrust::reduce_by_key(d.begin(), d.end(), thrust::constant_iterator<int>(1), key_out.begin(),
                                      count_out.begin());
    for (size_t i = 0; i < sorted.size(); i++) {
        if (i == 0 || sorted[i] != sorted[i - 1]) {
            starts.push_back(sorted[i]);
            counts.push_back(0);
        }
        counts.back()++;
    }
    key_out.resize((size_t)(ends.first - key_out.begin()));
    count_out.resize((size_t)(ends.second - count_out.begin()));
    same("reduce_by_key, keys", key_out, starts);
    same("reduce_by_key, sums", count_out, counts);
    ints bounds(starts.size());
    thrust::upper_bound(d.begin(), d.end(), key_out.begin(), key_out.end(), bounds.begin());
    for (size_t i = 0; i < starts.size(); i++)
        expect_equal("upper_bound", i, bounds[i],
                     std::upper_bound(sorted.begin(), sorted.end(), starts[i]) - sorted.begin());
    expect_equal("lower_bound", 0, thrust::lower_bound(d.begin(), d.end(), 50) - d.begin(),
                 std::lower_bound(sorted.begin(), sorted.end(), 50) - sorted.begin());
    expect_equal("binary_search", 0, thrust::binary_search(d.begin(), d.end(), 100000), 0);
    d.erase(thrust::unique(d.begin(), d.end()), d.end());
    same("unique", d, starts);
    thrust::inclusive_scan_by_key(key_out.begin(), key_out.end(), count_out.begin(), bounds.begin());
    same("inclusive_scan_by_key", bounds, counts);
}

static void choices(const std::vector<int> &v, std::vector<int> a, std::vector<int> b)
{
    ints d = v, out(v.size());
    std::vector<int> expected;
    out.erase(thrust::copy_if(d.begin(), d.end(), out.begin(), is_even()), out.end());
    std::copy_if(v.begin(), v.end(), std::back_inserter(expected), is_even());
    same("copy_if", out, expected);
    ints odd = d;
    odd.erase(thrust::remove_if(odd.begin(), odd.end(), is_even()), odd.end());
    expected.clear();
    std::remove_copy_if(v.begin(), v.end(), std::back_inserter(expected), is_even());
    same("remove_if", odd, expected);
    std::vector<int> parted(v);
    thrust::stable_partition(d.begin(), d.end(), is_even());
    std::stable_partition(parted.begin(), parted.end(), is_even());
    same("stable_partition", d, parted);
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    const ints first = a, second = b;
    expected.clear();
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(expected));
    ints both(a.size() + b.size());
    thrust::merge(first.begin(), first.end(), second.begin(), second.end(), both.begin());
    same("merge", both, expected);
    expected.clear();
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(expected));
    both.erase(
        thrust::set_intersection(first.begin(), first.end(), second.begin(), second.end(), both.begin()),
        both.end());
    same("set_intersection", both, expected);
    both.resize(a.size() + b.size());
    expected.clear();
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(expected));
    both.erase(thrust::set_union(first.begin(), first.end(), second.begin(), second.end(), both.begin()),
               both.end());
    same("set_union", both, expected);
    both.resize(a.size());
    expected.clear();
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(expected));
    both.erase(thrust::set_difference(first.begin(), first.end(), second.begin(), second.end(), both.begin()),
               both.end());
    same("set_difference", both, expected);
}

int main(void)
{
    const std::vector<int> v = numbers(1237, 7, 200);
    vectors(v);
    each(v);
    sums(v);
    keys(v);
    choices(v, numbers(300, 1, 90), numbers(411, 2, 90));
    return finish("thrust_algorithms");
}
