// [student: head]
/*
 * FlashAttention-2 on tensor cores. A warp has 32 query rows (16 if head_dim is 256) and multiplies them with the tiles of
 * K and V that its block loads. Which lane holds which element is known (warp_matrix.h), so P needs no shuffle:
 *
 *      S = Q K^T    Q: fragments A     K: fragments B, ldmatrix          S: fragments C, two keys of 8 in a lane
 *      O += P V     P: fragments A     V: fragments B, ldmatrix.trans    O: fragments C
 *
 *                   C of keys 0 to 7, C of keys 8 to 15, as pairs of 16 bits, are A of 16 keys: the lanes agree.
 *
 *      copies:    K0 | V0 ...... | K1 ............. | V1 ...... | K2 ...
 *      products:     | S = Q K0^T | softmax, O += P V0 | S = Q K1^T | ...
 *
 * Tiles in shared memory have no padding: chunk c of a row, 16 bytes, lies at place c ^ row % 8, so that eight rows of one
 * column lie in different banks.
 *
 * Paper: Dao 2023, "FlashAttention-2", Algorithm 1 and sections 3.1 to 3.3.
 * Run:   build/bin/warpwise check 12 --kernel solutions/12_tensor_core_attention/tensor_core_attention.cu
 */
// [/student]
#include "tensor_core_attention.h"

#include "kernel_launch.h"
#include "warp_rows.h" // which rows, keys and columns a lane has; warp_matrix.h: the instructions of fragments

enum { MIN_BLOCKS = 2 /* per SM: the compiler may spend half of the registers on a block */ };

#define LOG2_E 1.44269504f  ///< exp(x) = exp2(x * LOG2_E), and exp2 is what the hardware has
#define LN_2 0.69314718f    ///< 1 / LOG2_E
#define SLACK 8.0f          ///< how far m may be below the largest score: weights are at most 2^8
#define FAR_AWAY 1048576.0f ///< if |m| is larger, m is rounded coarsely, and scores must be rounded alike

/* ---- tiles -------------------------------------------------------------------------------------------- */

/**
 * The tile of queries of block @p index. Blocks start in the order of their numbers: with a causal mask the last tiles
 * of all heads have the most keys and begin first. Without one, blocks that run together share a head's K and V in L2.
 */
template <int TILE_Q>
__device__ inline struct query_tile find_query_tile(const struct attention_args &args, int index)
{
    // [student: find_query_tile]
    int tiles = divide_up(args.q_len, TILE_Q), heads = args.batch * args.heads;
    struct query_tile tile;
    tile.bh = args.causal ? index % heads : index / tiles;
    tile.kv_bh = tile.bh / (args.heads / args.kv_heads); // as in lesson 01: heads = kv_heads * group
    tile.first = (args.causal ? tiles - 1 - index / heads : index % tiles) * TILE_Q;
    tile.rows = min(args.q_len - tile.first, TILE_Q);
    return tile;
    // [/student]
}

/** Where chunk @p chunk of row @p row lies. With a swizzle eight rows have it in eight different groups of banks. */
template <typename T, int HEAD_DIM> __device__ inline T *chunk_at(T (*tile)[HEAD_DIM], int row, int chunk)
{
    // [student: chunk_at]
    return &tile[row][(chunk ^ row % 8) * CHUNK];
    // [/student]
}

/** @p address is that of chunk c of a row, c = 0 or 1; returned is that of chunk c + @p chunks, an even number. */
__device__ inline uint32_t along_row(uint32_t address, int chunks)
{
    // [student: along_row]
    return (address ^ chunks % 8 * 16) + chunks / 8 * 128; // the swizzle is an xor, too, of bits 4 to 6
    // [/student]
}

/** Begins to copy ROWS rows into a tile; rows that do not exist become zeros. */
template <typename T, int HEAD_DIM, int ROWS>
__device__ inline void load_tile(T (*tile)[HEAD_DIM], // [ROWS]
                                 const T *from,       // [rows, HEAD_DIM]
                                 int rows)
{
    constexpr int ACROSS = HEAD_DIM / CHUNK; // chunks of a row
    // [student: load_tile]
    // Neighbouring threads copy neighbouring chunks.
    int first = (int)threadIdx.x / ACROSS, chunk = (int)threadIdx.x % ACROSS;
#pragma unroll
    for (int row = first; row < first + ROWS; row += THREADS / ACROSS)
        copy_16_bytes(chunk_at<T, HEAD_DIM>(tile, row, chunk), from + row * HEAD_DIM + chunk * CHUNK,
                      row < rows);
    // [/student]
}

/** The fragments A of this warp's rows of Q, 16 columns from 16 * @p step on. */
template <typename T, int HEAD_DIM>
__device__ inline void load_q(uint32_t a[sizes<HEAD_DIM>::ROW_BLOCKS][4], T (*q)[HEAD_DIM], int step)
{
    // [student: load_q]
    int lane = (int)threadIdx.x % WARP, row = first_row_of_warp<HEAD_DIM>() + lane % 16;
#pragma unroll
    // Rows 0 to 7, rows 8 to 15, then the same rows of the next chunk.
    for (int i = 0; i < sizes<HEAD_DIM>::ROW_BLOCKS; i++) {
        uint32_t address = shared_address(chunk_at<T, HEAD_DIM>(q, row + i * 16, lane / 16));
        load_matrices(a[i], along_row(address, step * 2));
    }
    // [/student]
}

/* ---- the lanes of a row ------------------------------------------------------------------------------- */

/** The largest @p value of the 4 lanes that share a row. All 32 lanes must call it. */
__device__ inline float row_max(float value)
{
    // [student: row_max]
    value = fmaxf(value, __shfl_xor_sync(ALL_LANES, value, 1));
    return fmaxf(value, __shfl_xor_sync(ALL_LANES, value, 2));
    // [/student]
}

/** The sum over the 4 lanes that share a row. All 32 lanes must call it. */
__device__ inline float row_sum(float value)
{
    // [student: row_sum]
    value += __shfl_xor_sync(ALL_LANES, value, 1);
    return value + __shfl_xor_sync(ALL_LANES, value, 2);
    // [/student]
}

/* ---- one tile of keys --------------------------------------------------------------------------------- */

/** S = Q K^T of a warp's rows and the keys of a tile. */
template <typename T, int HEAD_DIM>
__device__ inline void multiply_q_k(struct scores<HEAD_DIM> *p, struct query_fragments<HEAD_DIM> *q,
                                    struct shared_tiles<T, HEAD_DIM> *tiles)
{
    // [student: multiply_q_k]
    typedef struct sizes<HEAD_DIM> size;
    int lane = (int)threadIdx.x % WARP, key = lane / 16 * 8 + lane % 8;
    multiply_scores<HEAD_DIM>(p, 0.0f);
#pragma unroll
    for (int step = 0; step < size::STEPS; step++) {
        uint32_t(*a)[4] = q->a[size::Q_STAYS ? step : 0];
        if (!size::Q_STAYS) load_q<T, HEAD_DIM>(a, tiles->q, step);
#pragma unroll
        for (int j = 0; j < size::KEY_BLOCKS; j += 2) {
            uint32_t b[4]; // 8 keys in b[0] and b[1], the next 8 in b[2] and b[3]
            uint32_t row = shared_address(chunk_at<T, HEAD_DIM>(tiles->k, key + j * 8, lane / 8 % 2));
            load_matrices(b, along_row(row, step * 2));
#pragma unroll
            for (int i = 0; i < size::ROW_BLOCKS; i++) {
                multiply_add<T>(p->s[i][j], a[i], b[0], b[1]);
                multiply_add<T>(p->s[i][j + 1], a[i], b[2], b[3]);
            }
        }
    }
    // [/student]
}

/** Products of keys that a row does not see become -infinity. */
template <int HEAD_DIM>
__device__ inline void mask_scores(struct scores<HEAD_DIM> *p, const struct visible_keys<HEAD_DIM> *seen)
{
    // [student: mask_scores]
    int key = (int)threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < sizes<HEAD_DIM>::ROW_BLOCKS; i++)
#pragma unroll
        for (int j = 0; j < sizes<HEAD_DIM>::KEY_BLOCKS; j++)
#pragma unroll
            for (int c = 0; c < 4; c++)
                if (key + j * 8 + c % 2 >= seen->row[i][c / 2]) p->s[i][j][c] = -INFINITY;
    // [/student]
}

/** The sums l and O refer to the old m of each row: they are corrected to the new one, @p m. */
template <int HEAD_DIM>
__device__ inline void raise_maxima(struct row_state<HEAD_DIM> *rows,
                                    const float m[sizes<HEAD_DIM>::ROW_BLOCKS][2])
{
    // [student: raise_maxima]
#pragma unroll
    for (int i = 0; i < 2 * sizes<HEAD_DIM>::ROW_BLOCKS; i++) {
        int h = i % 2;
        float correction = exp2_fast(rows->m[i / 2][h] - shift_of(m[i / 2][h]));
        rows->m[i / 2][h] = m[i / 2][h];
        rows->l[i / 2][h] *= correction;
#pragma unroll
        for (int n = 0; n < sizes<HEAD_DIM>::COLUMN_BLOCKS; n++) {
            rows->o[i / 2][n][2 * h] *= correction;
            rows->o[i / 2][n][2 * h + 1] *= correction;
        }
    }
    // [/student]
}

/** One step of online softmax: products become weights, exp2(scale * product - m), and are added to l. */
template <int HEAD_DIM>
__device__ inline void weigh_scores(struct scores<HEAD_DIM> *p, struct row_state<HEAD_DIM> *rows, float scale)
{
    // [student: weigh_scores]
    typedef struct sizes<HEAD_DIM> size;
    float m[size::ROW_BLOCKS][2];
    int rises = 0;
#pragma unroll
    for (int i = 0; i < 2 * size::ROW_BLOCKS; i++) {
        int h = i % 2;
        float largest = -INFINITY, before = rows->m[i / 2][h];
#pragma unroll
        for (int j = 0; j < size::KEY_BLOCKS; j++)
            largest = fmaxf(largest, fmaxf(p->s[i / 2][j][2 * h], p->s[i / 2][j][2 * h + 1]));
        // Each row by itself: what one row sees must not change how another one is rounded.
        largest = row_max(largest) * scale;
        m[i / 2][h] = largest > before + SLACK ? largest : before;
        rises |= m[i / 2][h] > before;
    }
    if (__any_sync(ALL_LANES, rises))
        raise_maxima<HEAD_DIM>(rows, m); // rare: mostly there is nothing to correct
#pragma unroll
    for (int i = 0; i < 2 * size::ROW_BLOCKS; i++) {
        int h = i % 2;
        float shift = shift_of(rows->m[i / 2][h]);
        int far_away = fabsf(shift) > FAR_AWAY;
#pragma unroll
        for (int j = 0; j < size::KEY_BLOCKS; j++)
#pragma unroll
            for (int c = 2 * h; c < 2 * h + 2; c++) {
                float *s = &p->s[i / 2][j][c];
                *s = exp2_fast(far_away ? __fmul_rn(*s, scale) - shift : fmaf(*s, scale, -shift));
                rows->l[i / 2][h] += *s;
            }
    }
    // [/student]
}

/** O += P V over the whole tile: two fragments C of P are a fragment A. */
template <typename T, int HEAD_DIM, int MASKED>
__device__ inline void add_values(struct row_state<HEAD_DIM> *rows, const struct scores<HEAD_DIM> *p,
                                  const struct visible_keys<HEAD_DIM> *seen, T (*v)[HEAD_DIM])
{
    // [student: add_values]
    typedef struct sizes<HEAD_DIM> size;
    int lane = (int)threadIdx.x % WARP;
#pragma unroll
    for (int step = 0; step < size::TILE_KV / 16; step++) {
        if (MASKED && step * 16 >= seen->most) break; // no row sees these: what V holds there must not count
        uint32_t a[size::ROW_BLOCKS][4];
#pragma unroll
        for (int x = 0; x < 4 * size::ROW_BLOCKS; x++) { // row g, row g + 8, then the same of the next 8 keys
            const float *pair = &p->s[x / 4][step * 2 + x % 4 / 2][x % 2 * 2];
            a[x / 4][x % 4] = pack_elements<T>(pair[0], pair[1]);
        }
        uint32_t row = shared_address(chunk_at<T, HEAD_DIM>(v, step * 16 + lane % 16, lane / 16));
#pragma unroll
        for (int n = 0; n < size::COLUMN_BLOCKS; n += 2) {
            uint32_t b[4]; // 8 columns in b[0] and b[1], the next 8 in b[2] and b[3]
            load_matrices_transposed(b, along_row(row, n));
            int by_row = MASKED && step * 16 + 16 > seen->fewest && any_special<T>(b); // 0 * NaN is NaN
#pragma unroll
            for (int i = 0; i < size::ROW_BLOCKS; i++) {
                if (by_row) {
                    add_one_by_one<T>(&rows->o[i][n], a[i], b, seen->row[i], step * 16);
                    continue;
                }
                multiply_add<T>(rows->o[i][n], a[i], b[0], b[1]);
                multiply_add<T>(rows->o[i][n + 1], a[i], b[2], b[3]);
            }
        }
    }
    // [/student]
}

/** What a warp does with a tile of products: mask them if need be, make them weights, add P V. */
template <typename T, int HEAD_DIM, int MASKED>
__device__ inline void add_tile(struct row_state<HEAD_DIM> *rows, struct scores<HEAD_DIM> *p,
                                const struct attention_args &args, struct query_tile tile, int first_key,
                                float scale, T (*v)[HEAD_DIM])
{
    // [student: add_tile]
    struct visible_keys<HEAD_DIM> seen;
    if (MASKED) find_visible<HEAD_DIM>(&seen, args, tile, first_key);
    if (scale < 0.0f) multiply_scores<HEAD_DIM>(p, -1.0f); // then the smallest product is the largest score
    if (isinf(scale)) { // times log2(e) it is beyond float: half of it, for products twice as large
        multiply_scores<HEAD_DIM>(p, 2.0f);
        scale = args.scale * (LOG2_E / 2);
    }
    if (MASKED) mask_scores<HEAD_DIM>(p, &seen);
    weigh_scores<HEAD_DIM>(p, rows, fabsf(scale));
    add_values<T, HEAD_DIM, MASKED>(rows, p, &seen, v);
    // [/student]
}

/* ---- the end ------------------------------------------------------------------------------------------ */

/** Divides O by l, once, and writes a warp's rows of it by way of @p stage. All 32 lanes must call it. */
template <typename T, int HEAD_DIM>
__device__ inline void write_rows(const struct attention_args &args, struct query_tile tile,
                                  const struct row_state<HEAD_DIM> *rows, T (*stage)[HEAD_DIM])
{
    // [student: write_rows]
    typedef struct sizes<HEAD_DIM> size;
    int lane = (int)threadIdx.x % WARP, warp_row = first_row_of_warp<HEAD_DIM>();
    size_t first = (size_t)tile.bh * args.q_len + tile.first; // row of the tile's first query
    __syncwarp(); // the warp has read its rows of Q, which O replaces
#pragma unroll
    for (int i = 0; i < 2 * size::ROW_BLOCKS; i++) {
        int h = i % 2, row = warp_row + i * 8 + lane / 4;
        float l = row_sum(rows->l[i / 2][h]), factor = factor_of(l); // a row that sees nothing becomes zeros
#pragma unroll
        for (int n = 0; n < size::COLUMN_BLOCKS; n++) {
            const float *pair = &rows->o[i / 2][n][2 * h];
            uint32_t *to = (uint32_t *)chunk_at<T, HEAD_DIM>(stage, row, n);
            to[lane % 4] = pack_elements<T>(pair[0] * factor, pair[1] * factor);
        }
        if (args.lse != NULL && lane % 4 == 0 && row < tile.rows)
            args.lse[first + row] = rows->m[i / 2][h] * LN_2 + logf(l);
    }
    __syncwarp(); // the warp's rows are complete before its lanes read them, 16 bytes each
    for (int at = lane; at < size::WARP_ROWS * size::COLUMN_BLOCKS; at += WARP) {
        int row = warp_row + at / size::COLUMN_BLOCKS, chunk = at % size::COLUMN_BLOCKS;
        if (row >= tile.rows) break;
        T *out_row = (T *)args.out + (first + row) * HEAD_DIM; // [HEAD_DIM]
        *(uint4 *)(out_row + chunk * CHUNK) = *(const uint4 *)chunk_at<T, HEAD_DIM>(stage, row, chunk);
    }
    // [/student]
}

/* ---- the kernel --------------------------------------------------------------------------------------- */

/** One block, one tile of queries. The next tile of K or of V is always on its way while the block computes. */
template <typename T, int HEAD_DIM>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    attention_kernel(struct attention_args args, float scale)
{
    // [student: attention_kernel]
    typedef struct sizes<HEAD_DIM> size;
    extern __shared__ uint4 shared_memory[];
    struct shared_tiles<T, HEAD_DIM> *tiles = (struct shared_tiles<T, HEAD_DIM> *)shared_memory;
    struct query_tile tile = find_query_tile<size::TILE_Q>(args, (int)blockIdx.x);
    size_t q_row = (size_t)tile.bh * args.q_len + tile.first, kv_row = (size_t)tile.kv_bh * args.kv_len;
    const T *k_bh = (const T *)args.k + kv_row * HEAD_DIM;    // [kv_len, HEAD_DIM]
    const T *v_bh = (const T *)args.v + kv_row * HEAD_DIM;    // [kv_len, HEAD_DIM]
    int most = keys_seen(args, tile.first + tile.rows - 1);   // by the tile's last query
    int fewest = keys_seen(args, tile.first);                 // and by its first
    int has_rows = first_row_of_warp<HEAD_DIM>() < tile.rows; // this warp
    struct row_state<HEAD_DIM> rows;
    struct query_fragments<HEAD_DIM> q;

    load_tile<T, HEAD_DIM, size::TILE_Q>(tiles->q, (const T *)args.q + q_row * HEAD_DIM, tile.rows);
    load_tile<T, HEAD_DIM, size::TILE_KV>(tiles->k, k_bh, most);
    clear_rows<HEAD_DIM>(&rows);
    wait_copies();
    __syncthreads(); // Q and the first K are complete before anybody reads them
#pragma unroll
    for (int step = 0; size::Q_STAYS && step < size::KEPT_STEPS; step++)
        load_q<T, HEAD_DIM>(q.a[step], tiles->q, step);

    for (int key = 0; key < most; key += size::TILE_KV) { // first of the tile
        int next = key + size::TILE_KV;
        load_tile<T, HEAD_DIM, size::TILE_KV>(tiles->v, v_bh + (size_t)key * HEAD_DIM, most - key);
        struct scores<HEAD_DIM> p;
        if (has_rows) multiply_q_k<T, HEAD_DIM>(&p, &q, tiles);
        wait_copies();
        __syncthreads(); // V is complete, and everybody is done with K
        if (next < most)
            load_tile<T, HEAD_DIM, size::TILE_KV>(tiles->k, k_bh + (size_t)next * HEAD_DIM, most - next);
        if (has_rows && next <= fewest) add_tile<T, HEAD_DIM, 0>(&rows, &p, args, tile, key, scale, tiles->v);
        if (has_rows && next > fewest) add_tile<T, HEAD_DIM, 1>(&rows, &p, args, tile, key, scale, tiles->v);
        wait_copies();
        __syncthreads(); // the next K is complete, and everybody is done with V
    }
    if (has_rows) write_rows<T, HEAD_DIM>(args, tile, &rows, tiles->q);
    // [/student]
}

/** Starts one block per tile of queries. */
template <typename T, int HEAD_DIM>
static enum kernel_status launch(const struct attention_args *args, cudaStream_t stream)
{
    // [student: launch]
    // No more blocks than there are rows, and attention_args_check() saw to it that those fit in an int.
    int blocks = args->batch * args->heads * divide_up(args->q_len, sizes<HEAD_DIM>::TILE_Q);
    int bytes = (int)sizeof(struct shared_tiles<T, HEAD_DIM>); // more than 48 KB must be asked for
    if (cudaFuncSetAttribute(attention_kernel<T, HEAD_DIM>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             bytes) != cudaSuccess)
        return KERNEL_CUDA_ERROR;
    attention_kernel<T, HEAD_DIM>
        <<<(unsigned)blocks, THREADS, (size_t)bytes, stream>>>(*args, attention_scale(args) * LOG2_E);
    return launch_status();
    // [/student]
}

/* ---- entry points ------------------------------------------------------------------------------------- */

/** Checks the arguments and finds the kernel for head_dim: tile sizes must be known when compiling. */
template <typename T>
static enum kernel_status attention(const struct attention_args *args, enum dtype dtype, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, CHUNK * sizeof(T), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim != 64 && args->head_dim != 128 && args->head_dim != 256)
        return KERNEL_INVALID_DIMENSION;
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) < 8) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    if (args->head_dim == 64) return launch<T, 64>(args, stream);
    if (args->head_dim == 128) return launch<T, 128>(args, stream);
    return launch<T, 256>(args, stream);
}

enum kernel_status tensor_core_attention_f16(const struct attention_args *args, cudaStream_t stream)
{
    return attention<__half>(args, DTYPE_F16, stream);
}

enum kernel_status tensor_core_attention_bf16(const struct attention_args *args, cudaStream_t stream)
{
    return attention<__nv_bfloat16>(args, DTYPE_BF16, stream);
}
