/**
 * @file engine_tensor.h
 * @brief Lesson 17's products of many rows on Hopper (sm_90a): the same bits as product_kernel(), by warpgroups; TMA loads.
 *
 * wgmma sums 16 of k as mma.sync does, so it may stand in its place: the same fragments of the weights from registers, the same two
 * sums of a slice, the slices from the first to the last. The inputs come from shared memory, where 16 of k follow each other. The
 * columns that an instruction takes do not (lane t has 8 t .. 8 t + 7 of a span), so halves wait in memory in another order:
 * see in_span().
 *
 *      a block        128 outputs x N rows of the batch: a warp that asks TMA, two warpgroups that multiply
 *      a step         two spans: 128 bytes of each row, which TMA swizzles: piece i of row r lies at i ^ r % 8
 *      a lane         (g, t) has row g / 2 + g % 2 * 4 of eight, not g: so eight lanes, which read two rows, meet no bank twice
 */
#ifndef WARPWISE_ENGINE_TENSOR_H
#define WARPWISE_ENGINE_TENSOR_H

#include <cuda_fp16.h>

#include "engine_parts.h"
#include "engine_wide.h"
#include "hopper.h"
#include "kernel_launch.h"
#include "wgmma_statements.h"

/** @brief D = A B^T, or D += A B^T if @p more: A from registers, 64 rows of B; ACROSS is 1 if what B has in a row runs across k. */
template <int ACROSS>
__device__ __forceinline__ void multiply_rows(float (&d)[32], const uint4 &a, uint64_t b, int more)
{
    WGMMA_REGISTERS_32("m64n64k16.f32.f16.f16", ", %38", a.x, a.y, a.z, a.w, b, more, ACROSS);
}

/** @brief The same with 128 rows of B. */
template <int ACROSS>
__device__ __forceinline__ void multiply_rows(float (&d)[64], const uint4 &a, uint64_t b, int more)
{
    WGMMA_REGISTERS_64("m64n128k16.f32.f16.f16", ", %70", a.x, a.y, a.z, a.w, b, more, ACROSS);
}

/** @brief What warpgroups share: tiles of W rows of weights and X rows of the batch, and how many steps of them shared memory has. */
template <int W_, int X_, int CLUSTER_> struct stages_of {
    enum {
        CLUSTER = CLUSTER_,      /**< blocks that have the same weights: of two, each loads a half for both */
        W = W_,                  /**< rows of weights, of TO_GATED half of gate and half of up */
        X = X_,                  /**< rows of the batch */
        STEP = 2,                /**< spans of a step */
        ROW = STEP * 4,          /**< uint4 of a row of a step */
        STEP_AT = (W + X) * ROW, /**< of a step: weights, then rows of the batch */
        MOST = 200 * 64 / STEP_AT,    /**< steps in 200 KB */
        STAGES = MOST < 8 ? MOST : 8, /**< steps in shared memory */
        BYTES = STAGES * STEP_AT * 16 /**< of dynamic shared memory */
    };
};

/** @brief A block of tensor_kernel(): 128 outputs, 64 of each of two warpgroups, and N rows of the batch. */
template <int N> struct tensor_tile : stages_of<128, N, 2> {
    enum { SUMS = N / 2 /**< of a lane */, AT_ONCE = 4 /**< eights of rows that are written at once */ };
};

/** @brief The tensor maps that TMA reads. */
struct tensor_maps {
    CUtensorMap weights; /**< rows of weights */
    CUtensorMap x;       /**< rows of the batch */
};

/** @brief A block's place in the product: a tile of weights, and one of rows. */
struct tile_place {
    int weights; /**< number of the tile of weights */
    int rows;    /**< number of the tile of rows; it may be past the last one */
};

/** @brief Where the block's part of its cluster's tile number @p tile lies: clusters that share weights are beside each other. */
template <typename SHAPE> __device__ inline struct tile_place place_of(const struct product &p, int tile)
{
    const int across = divide_up(divide_up(p.rows, SHAPE::X), SHAPE::CLUSTER);
    return {tile / across, tile % across * SHAPE::CLUSTER + (int)blockIdx.x % SHAPE::CLUSTER};
}

/** @brief One thread: loads all steps of all tiles of its block. Weights of the first stages need not wait: no kernel writes them. */
template <int KIND, typename SHAPE>
__device__ inline void ask_tiles(const struct tensor_maps &maps, const struct product &p, uint4 *stages,
                                 uint64_t *full, uint64_t *empty, int tiles, int steps)
{
    enum { HALF = SHAPE::W / 2 };
    const auto ask_weights_of = [&](int stage, struct tile_place place, int step) {
        mbarrier_arrive_expect(&full[stage], SHAPE::STEP_AT * 16);
        for (int box = 0; box < 2; box++) {
            uint4 *const to = stages + stage * SHAPE::STEP_AT + box * (HALF * SHAPE::ROW);
            const int x = step * SHAPE::STEP * SPAN;
            const int y = KIND == TO_GATED ? place.weights * HALF + box * p.outputs
                                           : place.weights * SHAPE::W + box * HALF;
            if (SHAPE::CLUSTER == 1)
                tensor_load(to, &maps.weights, x, y, &full[stage]);
            else if ((int)blockIdx.x % SHAPE::CLUSTER == box)
                tensor_multicast(to, &maps.weights, x, y, &full[stage], 3);
        }
    };
    const int first = (int)blockIdx.x / SHAPE::CLUSTER, early = steps < SHAPE::STAGES ? steps : SHAPE::STAGES;
    for (int i = 0; i < early; i++) ask_weights_of(i, place_of<SHAPE>(p, first), i);
    wait_for_kernel_before();
    struct ring ring = {0, 1}; // parity 1: in the first round stages are empty
    int asked = 0;
    for (int tile = first; tile < tiles; tile += (int)gridDim.x / SHAPE::CLUSTER) {
        const struct tile_place place = place_of<SHAPE>(p, tile);
        for (int step = 0; step < steps; step++, advance<SHAPE::STAGES>(&ring)) {
            if (asked++ >= early) {
                mbarrier_wait(&empty[ring.stage], ring.parity);
                ask_weights_of(ring.stage, place, step);
            }
            tensor_load(stages + ring.stage * SHAPE::STEP_AT + SHAPE::W * SHAPE::ROW, &maps.x,
                        step * SHAPE::STEP * SPAN, place.rows * SHAPE::X, &full[ring.stage]);
        }
    }
}

/** @brief Arrives at the mbarrier of each block of the cluster: the calling warp, or warpgroup, is done with a stage. */
template <int CLUSTER> __device__ inline void arrive_at_all(uint64_t *empty, int thread)
{
    if (CLUSTER == 1 && thread == 0) mbarrier_arrive(empty);
    if (CLUSTER > 1 && thread < CLUSTER) mbarrier_arrive_at(empty, thread);
}

/** @brief A warp is done with a stage. */
template <int CLUSTER> __device__ inline void give_back(uint64_t *empty)
{
    async_proxy_fence(); // this lane's loads come before what TMA writes there next
    __syncwarp();        // and those of all lanes
    arrive_at_all<CLUSTER>(empty, (int)threadIdx.x % WARP);
}

/** @brief These registers are used until here: wgmma reads them after it was issued. The hardware executes nothing. */
__device__ __forceinline__ void hold_here(uint4 &x)
{
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+r"(x.x), "+r"(x.y), "+r"(x.z), "+r"(x.w));
#else
    (void)x;
#endif
}

/** @brief A warpgroup's sums of a tile: the two of a slice, and those of the slices before it. */
template <typename SHAPE> struct tensor_sums {
    float slice[2][SHAPE::SUMS]; /**< of the first and of the second instruction of every span */
    float all[SHAPE::SUMS];      /**< of the slices before */
};

/** @brief A warpgroup: multiplies 64 outputs of a tile. While a span is multiplied, the weights of the next one come from shared memory. */
template <int KIND, typename SHAPE>
__device__ inline void multiply_tile(struct tensor_sums<SHAPE> *sum, struct ring *ring, const uint4 *stages,
                                     uint64_t *full, uint64_t *empty, int spans)
{
    enum { // from the lower rows of 16 outputs to those of the next ones, and to the upper rows, of TO_GATED those of up
        NEXT = (KIND == TO_GATED ? 8 : 16) * SHAPE::ROW,
        HIGH = (KIND == TO_GATED ? SHAPE::W / 2 : 8) * SHAPE::ROW
    };
    const int lane = (int)threadIdx.x % WARP, tall = (int)threadIdx.x / WARP - WARPGROUP / WARP;
    const int row = lane / 8 + lane / 4 % 2 * 4; // of eight
    const int from = tall * NEXT + row * SHAPE::ROW + (lane % 4 ^ row), to_odd = 4 - row / 4 * 8;
    const int steps = divide_up(spans, SHAPE::STEP);
    int slice = 0, end = 0, more = 0, last = -1; // of the slice, in spans; a slice may have none
    while (end == 0 && slice < WARPS) end = ++slice * spans / WARPS;
#pragma unroll
    for (int i = 0; i < SHAPE::SUMS; i++) sum->all[i] = 0.0f;
    uint4 even[2] = {}, odd[2] = {}; // the weights of two spans
#pragma unroll 1
    for (int step = 0; step < steps; step++, advance<SHAPE::STAGES>(ring)) {
        const uint4 *const at = stages + ring->stage * SHAPE::STEP_AT;
        const uint64_t x = tile_descriptor(shared_address(at + SHAPE::W * SHAPE::ROW), 0);
        mbarrier_wait(&full[ring->stage], ring->parity);
#pragma unroll
        for (int s = 0; s < SHAPE::STEP; s++) {
            const int span = step * SHAPE::STEP + s;
            if (span < spans) {
                const uint4 low = at[from + s * to_odd], high = at[from + s * to_odd + HIGH];
                even[s] = make_uint4(low.x, high.x, low.y, high.y);
                odd[s] = make_uint4(low.z, high.z, low.w, high.w);
                wgmma_fence();
                multiply_rows<0>(sum->slice[0], even[s], x + s * 4, more);
                multiply_rows<0>(sum->slice[1], odd[s], x + s * 4 + 2, more);
                wgmma_commit();
                more = 1;
                wgmma_wait<1>(); // the span before is done
                hold_here(even[1 - s]), hold_here(odd[1 - s]);
                if (span + 1 == end) {
                    wgmma_wait<0>();
                    wgmma_hold(sum->slice[0]);
                    wgmma_hold(sum->slice[1]);
#pragma unroll
                    for (int i = 0; i < SHAPE::SUMS; i++) sum->all[i] += sum->slice[0][i] + sum->slice[1][i];
                    more = 0; // the next slice begins at 0
                    while (end <= span + 1 && slice < WARPS) end = ++slice * spans / WARPS;
                }
            }
            if (s == 0 && last >= 0) give_back<SHAPE::CLUSTER>(&empty[last]); // of the step before
        }
        last = ring->stage;
    }
    if (last >= 0) give_back<SHAPE::CLUSTER>(&empty[last]); // the last slice's end waited for all
}

/** @brief Hands a lane's sums to write_output(), of up to 8 rows of the batch at a time. */
template <int KIND, typename SHAPE>
__device__ inline void write_tensor(const struct product &p, int tile, int first_row, const float *sums)
{
    enum { ROWS = SHAPE::AT_ONCE * 2 };
    const int lane = (int)threadIdx.x % WARP, tall = (int)threadIdx.x / WARP - WARPGROUP / WARP, g = lane / 4;
    const int output = (KIND == TO_GATED ? tile * (SHAPE::W / 2) + tall * 8 : tile * SHAPE::W + tall * 16) +
                       g / 2 + g % 2 * 4;
#pragma unroll
    for (int first = 0; first < SHAPE::X / 8; first += SHAPE::AT_ONCE) {
        bool there[ROWS];
        int row[ROWS];
#pragma unroll
        for (int j = 0; j < ROWS; j++) {
            row[j] = first_row + (first + j / 2) * 8 + lane % 4 * 2 + j % 2;
            there[j] = row_of_x<KIND>(p, row[j]) >= 0;
        }
        write_rows<KIND, ROWS>(p, output, row, there, (const float(*)[4])(sums + first * 4));
    }
}

/** @brief Makes the mbarriers of a block's stages; @p arrivals of each block give one back. Nobody has to wait afterwards. */
template <typename SHAPE> __device__ inline void make_stages(uint64_t *full, uint64_t *empty, int arrivals)
{
    if (threadIdx.x == 0) {
        for (int i = 0; i < SHAPE::STAGES; i++) {
            mbarrier_init(&full[i], 1);
            mbarrier_init(&empty[i], arrivals * SHAPE::CLUSTER);
        }
        mbarrier_init_fence();
    }
    cluster_sync(); // the mbarriers of all blocks are there
}

/** @brief A block's tiles, one after the other: of 128 outputs and N rows. */
template <int KIND, typename SHAPE>
__global__ void __launch_bounds__(3 * WARPGROUP, 1)
    tensor_kernel(const __grid_constant__ struct tensor_maps maps, struct product p, int tiles)
{
#if HOPPER_CODE
    extern __shared__ __align__(1024) uint4 stages[];
    __shared__ uint64_t full[SHAPE::STAGES], empty[SHAPE::STAGES];
    const int spans = p.inputs / SPAN;
    make_stages<SHAPE>(full, empty, 2 * WARPGROUP / WARP);
    let_next_start();
    if (threadIdx.x < WARPGROUP) {
        registers_down_to<24>();
        if (threadIdx.x == 0)
            ask_tiles<KIND, SHAPE>(maps, p, stages, full, empty, tiles, divide_up(spans, SHAPE::STEP));
    } else {
        registers_up_to<240>();
        struct ring ring = {0, 0};
        struct tensor_sums<SHAPE> sum;
        wait_for_kernel_before();
        for (int tile = (int)blockIdx.x / SHAPE::CLUSTER; tile < tiles;
             tile += (int)gridDim.x / SHAPE::CLUSTER) {
            const struct tile_place place = place_of<SHAPE>(p, tile);
            multiply_tile<KIND, SHAPE>(&sum, &ring, stages, full, empty, spans);
            write_tensor<KIND, SHAPE>(p, place.weights, place.rows * SHAPE::X, sum.all);
        }
    }
    cluster_sync(); // nobody arrives at, or copies to, the shared memory of a block that has ended
#endif
}

/** @brief Launches a kernel of warpgroups: the tensor maps tell TMA of rows of weights and rows of inputs. */
template <int KIND, typename SHAPE>
inline enum kernel_status launch_warpgroups(void (*kernel)(const struct tensor_maps, struct product, int),
                                            const struct product &p, cudaStream_t stream)
{
    const int tiles = divide_up(p.outputs, KIND == TO_GATED ? SHAPE::W / 2 : SHAPE::W) *
                      divide_up(divide_up(p.rows, SHAPE::X), SHAPE::CLUSTER); // of clusters
    const int rows = KIND == TO_GATED ? 2 * p.outputs : p.outputs;
    struct tensor_maps maps;
    if (!tensor_map(&maps.weights, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, p.weights, rows, p.inputs, p.inputs,
                    SHAPE::W / 2) ||
        !tensor_map(&maps.x, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, KIND == TO_STATE ? p.x : p.normed, p.rows,
                    p.inputs, p.inputs, SHAPE::X))
        return KERNEL_CUDA_ERROR;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHAPE::BYTES) !=
        cudaSuccess)
        return KERNEL_CUDA_ERROR;
    const int at_once = max(device_attribute(cudaDevAttrMultiProcessorCount) / SHAPE::CLUSTER, 1);
    return launch_early_in_clusters(SHAPE::CLUSTER, SHAPE::BYTES, kernel,
                                    dim3((unsigned)(min(tiles, at_once) * SHAPE::CLUSTER)), 3 * WARPGROUP,
                                    stream, maps, p, tiles);
}

/** @brief Launches tensor_kernel(). */
template <int KIND, typename SHAPE>
inline enum kernel_status launch_tensor_with(const struct product &p, cudaStream_t stream)
{
    return launch_warpgroups<KIND, SHAPE>(tensor_kernel<KIND, SHAPE>, p, stream);
}

/** @brief Launches tensor_kernel(), in tiles of 64 rows where these need less time: a last round of blocks that leaves SMs idle takes
 *         as long as the others. */
template <int KIND> inline enum kernel_status launch_tensor(const struct product &p, cudaStream_t stream)
{
    typedef struct tensor_tile<128> large;
    typedef struct tensor_tile<64> small;
    const int sms = max(device_attribute(cudaDevAttrMultiProcessorCount), 1);
    const auto time = [&](int n) {
        const int of_outputs = divide_up(p.outputs, KIND == TO_GATED ? large::W / 2 : large::W);
        return divide_up(of_outputs * divide_up(p.rows, n), sms) * n;
    };
    if (p.rows <= large::X || time(small::X) < time(large::X))
        return launch_tensor_with<KIND, small>(p, stream);
    return launch_tensor_with<KIND, large>(p, stream);
}

#endif
