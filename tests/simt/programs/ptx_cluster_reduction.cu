/**
 * Thread block clusters: sums of rows, a cluster for each row, combined through distributed shared memory in five ways; clusters in two
 * and three dimensions; the registers and functions that say who is who.
 */
#include "../hopper.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

enum { THREADS = 96, BLOCKS = 4, ROWS = 3, COLUMNS = 1000, WORDS = 4 };

/** Each thread has the sum of its columns of the cluster's row in `values`; the block's sum comes back in all threads. */
static __device__ int sum_of_block(const int *row, int *values)
{
    const int rank = (int)cluster_rank();
    int sum = 0;
    for (int i = rank * THREADS + (int)threadIdx.x; i < COLUMNS; i += BLOCKS * THREADS) sum += row[i];
    values[threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < THREADS; i++) sum += values[i];
    return sum;
}

/** Block 0 reads what the others have: by pointers of cooperative groups, or by addresses of shared::cluster. */
template <bool BY_POINTER>
__cluster_dims__(BLOCKS) static __global__ void gather_kernel(const int *in, int *out)
{
    __shared__ int values[THREADS], sum;
    cg::cluster_group cluster = cg::this_cluster();
    const int row = (int)blockIdx.x / BLOCKS, own = sum_of_block(in + row * COLUMNS, values);
    if (threadIdx.x == 0) sum = own;
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        int all = 0;
        for (unsigned rank = 0; rank < cluster.num_blocks(); rank++)
            all += BY_POINTER ? *cluster.map_shared_rank(&sum, (int)rank)
                              : (int)load_from_cluster(address_in(&sum, rank));
        out[row] = all;
    }
    cluster.sync();
}

/** The others add to what block 0 has; work that needs nothing of them stands between arrival and wait. */
static __global__ void __cluster_dims__(BLOCKS, 1, 1) scatter_kernel(const int *in, int *out)
{
    __shared__ int values[THREADS], sum;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) sum = 0;
    cg::cluster_group::arrival_token token = cluster.barrier_arrive();
    const int row = (int)blockIdx.x / BLOCKS, own = sum_of_block(in + row * COLUMNS, values);
    cluster.barrier_wait(static_cast<cg::cluster_group::arrival_token &&>(token));
    if (threadIdx.x == 0)
        asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;"
                     :
                     : "r"(address_in(&sum, 0)), "r"(own)
                     : "memory");
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) out[row] = sum;
}

/** Each block sends its sum to block 0, with st.async, or with a bulk copy of a few words; block 0 waits for the bytes. */
template <bool BULK> static __global__ void send_kernel(const int *in, int *out)
{
    __shared__ int values[THREADS];
    __shared__ __align__(16) int sums[BLOCKS][WORDS], own_words[WORDS];
    __shared__ __align__(8) uint64_t arrived;
    const uint32_t rank = cluster_rank();
    if (threadIdx.x == 0) {
        mbarrier_init(&arrived, 1);
        mbarrier_init_fence();
        if (rank == 0) mbarrier_arrive_expect(&arrived, BLOCKS * (BULK ? 4 * WORDS : 4));
    }
    cluster_sync();
    const int row = (int)blockIdx.x / BLOCKS, own = sum_of_block(in + row * COLUMNS, values);
    if (threadIdx.x == 0 && BULK) {
        for (int i = 0; i < WORDS; i++) own_words[i] = i == 0 ? own : 0;
        proxy_fence();
        asm volatile(
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
            :
            : "r"(address_in(sums[rank], 0)), "r"(shared_address(own_words)), "r"(4 * WORDS),
              "r"(address_in(&arrived, 0))
            : "memory");
    } else if (threadIdx.x == 0) {
        store_async(address_in(sums[rank], 0), (uint32_t)own, address_in(&arrived, 0));
    }
    if (rank == 0 && threadIdx.x == 0) {
        mbarrier_wait_cluster(&arrived, 0);
        int all = 0;
        for (uint32_t from = 0; from < BLOCKS; from++) all += sums[from][0];
        out[row] = all;
    }
    cluster_sync(); /* block 0 stays until it has what was sent, the others until theirs has been read */
}

/** The first block loads a word for each of them; each passes it on to the next, which has told it by an mbarrier that it may. */
static __global__ void ring_kernel(const int *in, int *out)
{
    __shared__ __align__(16) int words[BLOCKS];
    __shared__ int passed;
    __shared__ __align__(8) uint64_t full, free_slot;
    const uint32_t rank = cluster_rank(), next = (rank + 1) % BLOCKS, before = (rank + BLOCKS - 1) % BLOCKS;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        mbarrier_init(&free_slot, 1);
        mbarrier_init_fence();
        mbarrier_arrive_expect(&full, sizeof words);
    }
    cluster_sync();
    if (threadIdx.x == 0) {
        if (rank == 0) bulk_multicast(words, in, sizeof words, &full, (1 << BLOCKS) - 1);
        mbarrier_wait(&full, 0);
        mbarrier_arrive_at(&free_slot, before);
        mbarrier_wait_cluster(&free_slot, 0);
        store_to_cluster(address_in(&passed, next), (uint32_t)words[rank]);
    }
    cluster_sync();
    if (threadIdx.x == 0) out[blockIdx.x] = passed;
}

/** Which block is next in the cluster: it says so itself. */
static __device__ int next_block()
{
    __shared__ int own;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) own = (int)blockIdx.x;
    cluster.sync();
    const int next = *cluster.map_shared_rank(&own, (int)((cluster.block_rank() + 1) % cluster.num_blocks()));
    cluster.sync();
    return next;
}

/** Where the attribute may stand: at a declaration before, at one with C's name, at a template whose arguments are deduced. */
static __global__ void __cluster_dims__(4) declared_kernel(int *out);
static __global__ void declared_kernel(int *out)
{
    out[blockIdx.x] = next_block();
}
extern "C" __global__ void __launch_bounds__(THREADS) __cluster_dims__(2, 1, 1) c_kernel(int *out)
{
    out[blockIdx.x] = next_block();
}
template <typename T> static __global__ void __cluster_dims__(sizeof(T)) deduced_kernel(T *out)
{
    out[blockIdx.x] = next_block();
}

/** A barrier of the grid is one of each cluster, too. */
static __global__ void grid_kernel(int *out)
{
    __shared__ int value;
    cg::cluster_group cluster = cg::this_cluster();
    const int other = (int)(cluster.block_rank() ^ 1), block = (int)blockIdx.x, blocks = (int)gridDim.x;
    if (threadIdx.x == 0) value = block;
    cg::this_grid().sync();
    if (threadIdx.x == 0) out[block] = *cluster.map_shared_rank(&value, other);
    cg::this_grid().sync();
    if (threadIdx.x == 0) value = out[(block + 3) % blocks];
    cluster.sync();
    const int got = *cluster.map_shared_rank(&value, other);
    cg::this_grid().sync();
    if (threadIdx.x == 0) out[block] = got;
}

/** What the thread's block is in its cluster, in the order of `expected_place()`. */
static __global__ void place_kernel(int *out)
{
    __shared__ int word;
    cg::cluster_group cluster = cg::this_cluster();
    uint32_t rank, number[3], of, explicit_cluster, in_cluster, in_block;
    const int last = (int)cluster.num_blocks() - 1;
    int *const far_word = cluster.map_shared_rank(&word, last);
    asm volatile("getctarank.shared::cluster.u32 %0, %1;"
                 : "=r"(rank)
                 : "r"(address_in(&word, (uint32_t)last)));
    asm volatile("getctarank.u64 %0, %1;" : "=r"(of) : "l"(far_word));
    asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(number[0]));
    asm volatile("mov.u32 %0, %%clusterid.y;" : "=r"(number[1]));
    asm volatile("mov.u32 %0, %%clusterid.z;" : "=r"(number[2]));
    asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }"
                 : "=r"(explicit_cluster));
    asm volatile("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p; }"
                 : "=r"(in_cluster)
                 : "l"(far_word));
    asm volatile("{ .reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p; }"
                 : "=r"(in_block)
                 : "l"(far_word));
    const dim3 index = cluster.block_index(), blocks = cluster.dim_blocks();
    const int place[] = {(int)cluster.block_rank(),
                         (int)index.x,
                         (int)index.y,
                         (int)index.z,
                         (int)blocks.x,
                         (int)blocks.y,
                         (int)blocks.z,
                         (int)number[0],
                         (int)number[1],
                         (int)number[2],
                         (int)rank,
                         (int)of,
                         (int)explicit_cluster,
                         (int)in_cluster,
                         (int)in_block};
    const int block = (int)(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
    for (int i = 0; i < 15; i++) out[15 * block + i] = place[i];
}

static cudaLaunchConfig_t configure(cudaLaunchAttribute *attribute, dim3 grid, dim3 cluster)
{
    cudaLaunchConfig_t config = {};
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim.x = cluster.x;
    attribute->val.clusterDim.y = cluster.y;
    attribute->val.clusterDim.z = cluster.z;
    config.gridDim = grid;
    config.blockDim = dim3(THREADS);
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}

static void check_sums(const char *kernel, int *out, const int *expected)
{
    int got[ROWS];
    finish_launch(kernel);
    download(got, out, ROWS);
    for (int i = 0; i < ROWS; i++) expect_equal(kernel, (size_t)i, got[i], expected[i]);
    require(cudaMemset(out, 0, sizeof got), "cudaMemset");
}

static void test_places(dim3 grid, dim3 cluster)
{
    enum { MOST = 64 };
    static int got[15 * MOST];
    cudaLaunchAttribute attribute = {};
    const cudaLaunchConfig_t config = configure(&attribute, grid, cluster);
    int *out = device_array<int>(15 * MOST);
    require(cudaLaunchKernelEx(&config, place_kernel, out), "place_kernel");
    finish_launch("place_kernel");
    download(got, out, 15 * grid.x * grid.y * grid.z);
    const int size = (int)(cluster.x * cluster.y * cluster.z);
    for (unsigned block = 0; block < grid.x * grid.y * grid.z; block++) {
        const unsigned x = block % grid.x, y = block / grid.x % grid.y, z = block / grid.x / grid.y;
        const int own[] = {(int)(x % cluster.x), (int)(y % cluster.y), (int)(z % cluster.z)};
        const int rank = own[0] + (int)cluster.x * (own[1] + (int)cluster.y * own[2]);
        const int expected[] = {rank,
                                own[0],
                                own[1],
                                own[2],
                                (int)cluster.x,
                                (int)cluster.y,
                                (int)cluster.z,
                                (int)(x / cluster.x),
                                (int)(y / cluster.y),
                                (int)(z / cluster.z),
                                size - 1,
                                size - 1,
                                1,
                                1,
                                rank == size - 1};
        for (unsigned i = 0; i < 15; i++)
            expect_equal("place", 100 * block + i, got[15 * block + i], expected[i]);
    }
    release(out);
}

static void check_next(const char *kernel, const int *out, int size)
{
    enum { GRID = 8 };
    int got[GRID];
    finish_launch(kernel);
    download(got, out, GRID);
    for (int i = 0; i < GRID; i++) expect_equal(kernel, (size_t)i, got[i], i / size * size + (i + 1) % size);
}

static void test_attribute(int *out)
{
    declared_kernel<<<8, THREADS>>>(out);
    check_next("declared_kernel", out, 4);
    c_kernel<<<8, THREADS>>>(out);
    check_next("c_kernel", out, 2);
    deduced_kernel<<<8, THREADS>>>(out);
    check_next("deduced_kernel", out, 4);
}

static void test_grid(int *out)
{
    enum { GRID = 8 };
    int got[GRID];
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = configure(attributes, dim3(GRID), dim3(2));
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = 1;
    config.numAttrs = 2;
    require(cudaLaunchKernelEx(&config, grid_kernel, out), "grid_kernel");
    finish_launch("grid_kernel");
    download(got, out, GRID);
    for (int i = 0; i < GRID; i++) expect_equal("grid", (size_t)i, got[i], (((i ^ 1) + 3) % GRID) ^ 1);
}

/** What is refused before anything runs. */
static void test_limits(int *out)
{
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = configure(&attribute, dim3(6), dim3(4));
    expect_equal("a grid of part of a cluster is refused", 0,
                 cudaLaunchKernelEx(&config, place_kernel, out) != cudaSuccess, 1);
    (void)cudaGetLastError();
    config = configure(&attribute, dim3(16), dim3(16));
    expect_equal("16 blocks are refused", 0, cudaLaunchKernelEx(&config, place_kernel, out) != cudaSuccess,
                 1);
    (void)cudaGetLastError();
    int size = 0, clusters = 0;
    expect_equal("of a cluster too large no size is told", 0,
                 cudaOccupancyMaxPotentialClusterSize(&size, place_kernel, &config),
                 cudaErrorInvalidClusterSize);
    (void)cudaGetLastError();
    config = configure(&attribute, dim3(16), dim3(4));
    require(cudaOccupancyMaxPotentialClusterSize(&size, place_kernel, &config),
            "cudaOccupancyMaxPotentialClusterSize");
    expect_equal("portable size", 0, size, 8);
    require(cudaOccupancyMaxActiveClusters(&clusters, place_kernel, &config),
            "cudaOccupancyMaxActiveClusters");
    expect_equal("some clusters are active", 0, clusters > 0, 1);
    struct cudaFuncAttributes attributes;
    require(cudaFuncGetAttributes(&attributes, scatter_kernel), "cudaFuncGetAttributes");
    expect_equal("required width", 0, attributes.requiredClusterWidth, BLOCKS);
    int launches = 0;
    require(cudaDeviceGetAttribute(&launches, cudaDevAttrClusterLaunch, 0), "cudaDeviceGetAttribute");
    expect_equal("cluster launch", 0, launches, 1);
}

int main(void)
{
    static int host[ROWS * COLUMNS], got[BLOCKS];
    int expected[ROWS] = {0};
    for (int i = 0; i < ROWS * COLUMNS; i++) expected[i / COLUMNS] += host[i] = i * 7 % 1009 - 500;
    int *in = upload(host, ROWS * COLUMNS), *out = device_array<int>(ROWS * BLOCKS);
    cudaLaunchAttribute attribute = {};
    const cudaLaunchConfig_t config = configure(&attribute, dim3(ROWS * BLOCKS), dim3(BLOCKS));
    gather_kernel<true><<<ROWS * BLOCKS, THREADS>>>(in, out);
    check_sums("gather_kernel<true>", out, expected);
    gather_kernel<false><<<ROWS * BLOCKS, THREADS>>>(in, out);
    check_sums("gather_kernel<false>", out, expected);
    scatter_kernel<<<ROWS * BLOCKS, THREADS>>>(in, out);
    check_sums("scatter_kernel", out, expected);
    require(cudaLaunchKernelEx(&config, send_kernel<false>, (const int *)in, out), "send_kernel<false>");
    check_sums("send_kernel<false>", out, expected);
    require(cudaLaunchKernelEx(&config, send_kernel<true>, (const int *)in, out), "send_kernel<true>");
    check_sums("send_kernel<true>", out, expected);
    const cudaLaunchConfig_t one = configure(&attribute, dim3(BLOCKS), dim3(BLOCKS));
    require(cudaLaunchKernelEx(&one, ring_kernel, (const int *)in, out), "ring_kernel");
    finish_launch("ring_kernel");
    download(got, out, BLOCKS);
    for (int i = 0; i < BLOCKS; i++)
        expect_equal("passed", (size_t)i, got[i], host[(i + BLOCKS - 1) % BLOCKS]);
    test_places(dim3(4, 6, 2), dim3(2, 2, 2));
    test_places(dim3(3, 4, 1), dim3(1, 4, 1));
    test_attribute(out);
    test_grid(out);
    test_limits(out);
    printf("sums %d %d %d\n", expected[0], expected[1], expected[2]);
    release(in);
    release(out);
    return finish("ptx_cluster_reduction");
}
