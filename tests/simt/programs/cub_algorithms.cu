/**
 * CUB's collectives of warps and blocks, and its algorithms of the device, each against the standard library or a loop.
 */
#include <algorithm>
#include <numeric>
#include <vector>

#include <cub/cub.cuh>

#include "../testing.h"

enum { THREADS = 128, ITEMS = 4, COUNT = THREADS * ITEMS };

struct greater_int {
    __host__ __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};
struct is_odd {
    __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};

/* sums: of the block, the greatest of the first 100 threads, of each warp's halves. */
static __global__ void reduce_kernel(const int *in, int *sums, int *halves)
{
    typedef cub::BlockReduce<int, THREADS> block_reduce;
    typedef cub::WarpReduce<int, 16> half_reduce;
    __shared__ union {
        typename block_reduce::TempStorage for_reduce;
        typename half_reduce::TempStorage for_half[THREADS / 16];
    } storage;
    int items[ITEMS];
    for (int i = 0; i < ITEMS; i++) items[i] = in[threadIdx.x * ITEMS + i];
    const int sum = block_reduce(storage.for_reduce).Sum(items);
    __syncthreads();
    const int greatest = block_reduce(storage.for_reduce).Reduce(items[0], greater_int(), 100);
    __syncthreads();
    const int half = half_reduce(storage.for_half[threadIdx.x / 16]).Sum(items[1]);
    if (threadIdx.x == 0) {
        sums[0] = sum;
        sums[1] = greatest;
    }
    if (threadIdx.x % 16 == 0) halves[threadIdx.x / 16] = half;
}

static __global__ void scan_kernel(const int *in, int *before, int *upto, int *lanes)
{
    typedef cub::BlockLoad<int, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE> load;
    typedef cub::BlockScan<int, THREADS> scan;
    typedef cub::WarpScan<int> warp_scan;
    typedef cub::BlockStore<int, THREADS, ITEMS, cub::BLOCK_STORE_TRANSPOSE> store;
    __shared__ union {
        typename load::TempStorage for_load;
        typename scan::TempStorage for_scan;
        typename store::TempStorage for_store;
        typename warp_scan::TempStorage for_warp[THREADS / 32];
    } storage;
    int items[ITEMS], sums[ITEMS], total, one;
    load(storage.for_load).Load(in, items);
    __syncthreads();
    scan(storage.for_scan).ExclusiveSum(items, sums, total);
    __syncthreads();
    store(storage.for_store).Store(before, sums);
    __syncthreads();
    scan(storage.for_scan).InclusiveScan(items[0], one, greater_int());
    upto[threadIdx.x] = one + total;
    __syncthreads();
    warp_scan(storage.for_warp[threadIdx.x / 32]).InclusiveSum(items[0], one);
    lanes[threadIdx.x] = one;
}

static __global__ void sort_kernel(const int *in, int *out, int *striped, int *places)
{
    typedef cub::BlockRadixSort<int, THREADS, ITEMS, int> sort;
    typedef cub::BlockExchange<int, THREADS, ITEMS> exchange;
    __shared__ union {
        typename sort::TempStorage for_sort;
        typename exchange::TempStorage for_exchange;
    } storage;
    int items[ITEMS], from[ITEMS];
    cub::LoadDirectBlocked((int)threadIdx.x, in, items);
    exchange(storage.for_exchange).BlockedToStriped(items, from);
    for (int i = 0; i < ITEMS; i++) striped[threadIdx.x * ITEMS + i] = from[i];
    for (int i = 0; i < ITEMS; i++) from[i] = (int)threadIdx.x * ITEMS + i;
    __syncthreads();
    sort(storage.for_sort).SortDescending(items, from);
    cub::StoreDirectBlocked((int)threadIdx.x, out, items);
    cub::StoreDirectBlocked((int)threadIdx.x, places, from);
}

/* Asks for the size of temporary memory, and works. */
template <typename Call> static void with_memory(Call call)
{
    void *temporary = NULL;
    size_t bytes = 0;
    require(call(temporary, bytes), "CUB, size");
    require(cudaMalloc(&temporary, bytes > 0 ? bytes : 1), "cudaMalloc");
    require(call(temporary, bytes), "CUB");
    require(cudaDeviceSynchronize(), "CUB");
    release(temporary);
}

static void same(const char *what, const int *device, const std::vector<int> &expected)
{
    std::vector<int> got(expected.size());
    download(got.data(), device, got.size());
    for (size_t i = 0; i < got.size(); i++) expect_equal(what, i, got[i], expected[i]);
}

static void blocks(const std::vector<int> &v, const int *in)
{
    int *out = device_array<int>(COUNT), *more = device_array<int>(COUNT), *rest = device_array<int>(COUNT);
    std::vector<int> expected(COUNT), places(COUNT);
    reduce_kernel<<<1, THREADS>>>(in, out, more);
    finish_launch("reduce_kernel");
    int greatest = v[0];
    for (int i = 0; i < 100; i++) greatest = std::max(greatest, v[(size_t)i * ITEMS]);
    same("block reduce", out, {std::accumulate(v.begin(), v.end(), 0), greatest});
    std::vector<int> halves(THREADS / 16);
    for (int i = 0; i < THREADS; i++) halves[(size_t)i / 16] += v[(size_t)i * ITEMS + 1];
    same("warp reduce", more, halves);
    scan_kernel<<<1, THREADS>>>(in, out, more, rest);
    finish_launch("scan_kernel");
    for (int i = 1; i < COUNT; i++) expected[(size_t)i] = expected[(size_t)i - 1] + v[(size_t)i - 1];
    same("block scan", out, expected);
    std::vector<int> upto(THREADS), lanes(THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        upto[i] = i > 0 ? std::max(upto[i - 1], v[i * ITEMS]) : v[0];
        lanes[i] = v[i * ITEMS] + (i % 32 > 0 ? lanes[i - 1] : 0);
    }
    for (int &x : upto) x += std::accumulate(v.begin(), v.end(), 0);
    same("block scan, greatest", more, upto);
    same("warp scan", rest, lanes);
    sort_kernel<<<1, THREADS>>>(in, out, more, rest);
    finish_launch("sort_kernel");
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](int a, int b) { return v[(size_t)a] > v[(size_t)b]; });
    for (size_t i = 0; i < COUNT; i++) expected[i] = v[(size_t)places[i]];
    same("block sort", out, expected);
    same("block sort, values", rest, places);
    for (size_t t = 0; t < THREADS; t++)
        for (size_t i = 0; i < ITEMS; i++) expected[t * ITEMS + i] = v[t + i * THREADS];
    same("block exchange", more, expected);
    release(out);
    release(more);
    release(rest);
}

static void device(const std::vector<int> &v, const int *in)
{
    const int n = COUNT;
    int *out = device_array<int>(n), *more = device_array<int>(n), *count = device_array<int>(1);
    std::vector<int> expected(v), few;
    with_memory([&](void *t, size_t &b) { return cub::DeviceReduce::Sum(t, b, in, count, n); });
    same("DeviceReduce::Sum", count, {std::accumulate(v.begin(), v.end(), 0)});
    with_memory([&](void *t, size_t &b) { return cub::DeviceReduce::Max(t, b, in, count, n); });
    same("DeviceReduce::Max", count, {*std::max_element(v.begin(), v.end())});
    with_memory(
        [&](void *t, size_t &b) { return cub::DeviceReduce::Reduce(t, b, in, count, n, greater_int(), 7); });
    same("DeviceReduce::Reduce", count, {std::max(7, *std::max_element(v.begin(), v.end()))});
    with_memory([&](void *t, size_t &b) { return cub::DeviceScan::InclusiveSum(t, b, in, out, n); });
    std::partial_sum(v.begin(), v.end(), expected.begin());
    same("DeviceScan", out, expected);
    require(cudaMemcpy(more, in, (size_t)n * sizeof *more, cudaMemcpyDeviceToDevice), "cudaMemcpy");
    with_memory([&](void *t, size_t &b) { return cub::DeviceScan::InclusiveSum(t, b, more, n); });
    same("DeviceScan, in place", more, expected);
    with_memory([&](void *t, size_t &b) { return cub::DeviceSelect::If(t, b, in, out, count, n, is_odd()); });
    std::copy_if(v.begin(), v.end(), std::back_inserter(few), is_odd());
    same("DeviceSelect::If", out, few);
    same("DeviceSelect::If, count", count, {(int)few.size()});
    with_memory(
        [&](void *t, size_t &b) { return cub::DevicePartition::If(t, b, in, out, count, n, is_odd()); });
    for (size_t i = v.size(); i-- > 0;)
        if (!is_odd()(v[i])) few.push_back(v[i]);
    same("DevicePartition::If", out, few);
    with_memory(
        [&](void *t, size_t &b) { return cub::DeviceRadixSort::SortKeysDescending(t, b, in, out, n); });
    expected = v;
    std::sort(expected.rbegin(), expected.rend());
    same("DeviceRadixSort", out, expected);
    with_memory([&](void *t, size_t &b) { return cub::DeviceRadixSort::SortKeys(t, b, in, out, n, 2, 5); });
    expected = v;
    std::stable_sort(expected.begin(), expected.end(),
                     [](int a, int b) { return (a >> 2 & 7) < (b >> 2 & 7); });
    same("DeviceRadixSort, some bits", out, expected);
    with_memory([&](void *t, size_t &b) {
        return cub::DeviceHistogram::HistogramEven(t, b, in, more, 6, 0, 100, n);
    });
    std::vector<int> bins(5);
    for (int x : v)
        if (x >= 0 && x < 100) bins[(size_t)x / 20]++;
    same("DeviceHistogram", more, bins);
    const int ends[] = {0, 5, 5, 300, n};
    int *end = upload(ends, 5);
    with_memory(
        [&](void *t, size_t &b) { return cub::DeviceSegmentedReduce::Sum(t, b, in, more, 4, end, end + 1); });
    std::vector<int> sums(4);
    for (int s = 0; s < 4; s++)
        sums[(size_t)s] = std::accumulate(v.begin() + ends[s], v.begin() + ends[s + 1], 0);
    same("DeviceSegmentedReduce", more, sums);
    release(end);
    release(out);
    release(more);
    release(count);
}

int main(void)
{
    std::vector<int> v(COUNT);
    unsigned state = 5;
    for (int &x : v) x = (int)(next_random(&state) % 150);
    int *in = upload(v.data(), v.size());
    blocks(v, in);
    device(v, in);
    release(in);
    return finish("cub_algorithms");
}
