/**
 * Inline PTX: tensor copies of one to five axes in tile mode, every swizzle, boxes that reach past the edges, NaN there, element
 * strides, element types, stores and reductions; and the arguments that cuTensorMapEncodeTiled refuses.
 */
#include "../hopper.h"

#include <string.h>

enum { WARP = 32, BOX_BYTES = 16384 };

/** What is loaded is written out as it lies in shared memory. */
template <int AXES>
static __global__ void load_kernel(const __grid_constant__ CUtensorMap map, int at0, int at1, int at2,
                                   int at3, int at4, uint32_t bytes, unsigned char *out)
{
    extern __shared__ __align__(1024) unsigned char tile[];
    __shared__ __align__(8) uint64_t barrier;
    const int thread = (int)threadIdx.x;
    if (thread == 0) {
        mbarrier_init(&barrier, 1);
        mbarrier_init_fence();
    }
    __syncthreads();
    if (thread == 0) {
        const uint32_t to = shared_address(tile), full = shared_address(&barrier);
        mbarrier_arrive_expect(&barrier, bytes);
        if (AXES == 1)
            asm volatile(
                "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
                "{%2}], [%3];"
                :
                : "r"(to), "l"(&map), "r"(at0), "r"(full)
                : "memory");
        if (AXES == 2) tensor_load(tile, &map, at0, at1, &barrier);
        if (AXES == 3)
            asm volatile(
                "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
                "[%1, {%2, %3, %4}], [%5];"
                :
                : "r"(to), "l"(&map), "r"(at0), "r"(at1), "r"(at2), "r"(full)
                : "memory");
        if (AXES == 4)
            asm volatile(
                "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
                "{%2, %3, %4, %5}], [%6];"
                :
                : "r"(to), "l"(&map), "r"(at0), "r"(at1), "r"(at2), "r"(at3), "r"(full)
                : "memory");
        if (AXES == 5)
            asm volatile(
                "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
                "{%2, %3, %4, %5, %6}], [%7];"
                :
                : "r"(to), "l"(&map), "r"(at0), "r"(at1), "r"(at2), "r"(at3), "r"(at4), "r"(full)
                : "memory");
    }
    mbarrier_wait(&barrier, 0);
    for (uint32_t i = (uint32_t)thread; i < bytes; i += WARP) out[i] = tile[i];
}

/** A tensor of global memory as cuTensorMapEncodeTiled is told of it; the first axis is that of neighbours. */
struct tensor {
    int axes;
    unsigned size[5], box[5], step[5];
    CUtensorMapDataType type;
    unsigned element;
    CUtensorMapSwizzle swizzle;
    CUtensorMapFloatOOBfill fill;
    int at[5];
};

static size_t bytes_between(const struct tensor *t, int axis)
{
    size_t bytes = (size_t)t->size[0] * t->element;
    if (axis == 0) return t->element;
    bytes = (bytes + 15) / 16 * 16;
    for (int i = 1; i < axis; i++) bytes *= t->size[i];
    return bytes;
}

static CUresult encode(CUtensorMap *map, const struct tensor *t, void *memory)
{
    cuuint64_t size[5], stride[5];
    for (int i = 0; i < t->axes; i++) {
        size[i] = t->size[i];
        if (i > 0) stride[i - 1] = bytes_between(t, i);
    }
    return tensor_map_encoder()(map, t->type, (cuuint32_t)t->axes, memory, size, stride, t->box, t->step,
                                CU_TENSOR_MAP_INTERLEAVE_NONE, t->swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                t->fill);
}

/** A function of the driver, without linking with it. */
static void *driver_function(const char *name)
{
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found;
    require(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found), name);
    expect_equal("found in the driver", 0, found, cudaDriverEntryPointSuccess);
    return function;
}

typedef CUresult replace_function(CUtensorMap *, void *);

static CUresult replace_address(CUtensorMap *map, void *memory)
{
    return ((replace_function *)driver_function("cuTensorMapReplaceAddress"))(map, memory);
}

static unsigned taken(const struct tensor *t, int axis)
{
    return axis == 0 ? t->box[0] : (t->box[axis] + t->step[axis] - 1) / t->step[axis];
}

static size_t swizzled(const struct tensor *t, size_t offset)
{
    const size_t mask = t->swizzle == CU_TENSOR_MAP_SWIZZLE_128B  ? 7
                        : t->swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 3
                        : t->swizzle == CU_TENSOR_MAP_SWIZZLE_32B ? 1
                                                                  : 0;
    return offset ^ ((offset >> 7 & mask) << 4);
}

/** Element number @p index of the box: where it comes from, or NULL, and where it goes to. */
static const unsigned char *source_of(const struct tensor *t, const unsigned char *host, size_t index,
                                      size_t *to)
{
    *to = swizzled(t, index * t->element);
    size_t from = 0;
    bool inside = true;
    for (int axis = 0; axis < t->axes; axis++) {
        const int step = axis == 0 ? 1 : (int)t->step[axis];
        const int at = t->at[axis] + (int)(index % taken(t, axis)) * step;
        index /= taken(t, axis);
        inside = inside && at >= 0 && at < (int)t->size[axis];
        if (inside) from += (size_t)at * bytes_between(t, axis);
    }
    return inside ? host + from : NULL;
}

static void launch(const struct tensor *t, const CUtensorMap *map, uint32_t bytes, unsigned char *out)
{
    const int *a = t->at;
    switch (t->axes) {
    case 1:
        load_kernel<1><<<1, WARP, BOX_BYTES>>>(*map, a[0], a[1], a[2], a[3], a[4], bytes, out);
        break;
    case 2:
        load_kernel<2><<<1, WARP, BOX_BYTES>>>(*map, a[0], a[1], a[2], a[3], a[4], bytes, out);
        break;
    case 3:
        load_kernel<3><<<1, WARP, BOX_BYTES>>>(*map, a[0], a[1], a[2], a[3], a[4], bytes, out);
        break;
    case 4:
        load_kernel<4><<<1, WARP, BOX_BYTES>>>(*map, a[0], a[1], a[2], a[3], a[4], bytes, out);
        break;
    default:
        load_kernel<5><<<1, WARP, BOX_BYTES>>>(*map, a[0], a[1], a[2], a[3], a[4], bytes, out);
    }
    finish_launch("load_kernel");
}

static bool is_nan(const unsigned char *element, unsigned bytes)
{
    uint32_t word = 0;
    memcpy(&word, element, bytes);
    return bytes == 2 ? (word & 0x7c00) == 0x7c00 && (word & 0x3ff) != 0
                      : (word & 0x7f800000) == 0x7f800000 && (word & 0x7fffff) != 0;
}

static void check_load(const char *name, const struct tensor *t)
{
    static unsigned char got[BOX_BYTES];
    const unsigned char zero[8] = {0};
    size_t whole = bytes_between(t, t->axes), elements = 1;
    if (t->axes == 1) whole = (size_t)t->size[0] * t->element;
    for (int axis = 0; axis < t->axes; axis++) elements *= taken(t, axis);
    const size_t bytes = elements * t->element;
    unsigned char *host = host_array<unsigned char>(whole);
    for (size_t i = 0; i < whole; i++) host[i] = (unsigned char)(1 + (i * 37 + i / 251) % 120);
    unsigned char *device = upload(host, whole), *out = device_array<unsigned char>(BOX_BYTES);
    CUtensorMap map;
    if (t->axes % 2 == 0) {
        expect_equal("encode", 0, encode(&map, t, device), CUDA_SUCCESS);
    } else { /* of other memory first */
        expect_equal("encode", 1, encode(&map, t, out), CUDA_SUCCESS);
        expect_equal("replace", 0, replace_address(&map, device), CUDA_SUCCESS);
    }
    launch(t, &map, (uint32_t)bytes, out);
    require(cudaMemcpy(got, out, bytes, cudaMemcpyDeviceToHost), "download");
    for (size_t i = 0; i < elements; i++) {
        size_t to;
        const unsigned char *from = source_of(t, host, i, &to);
        if (from == NULL && t->fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
            expect_equal(name, i, is_nan(got + to, t->element), 1);
        else
            expect_equal(name, i, memcmp(got + to, from != NULL ? from : zero, t->element), 0);
    }
    release(device);
    release(out);
    free(host);
}

static void check_loads(void)
{
    static const struct tensor one = {1,
                                      {100},
                                      {64},
                                      {1},
                                      CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                                      4,
                                      CU_TENSOR_MAP_SWIZZLE_NONE,
                                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
                                      {48}};
    struct tensor two = {2,
                         {100, 70},
                         {64, 16},
                         {1, 1},
                         CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                         2,
                         CU_TENSOR_MAP_SWIZZLE_128B,
                         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
                         {24, 30}};
    const struct tensor three = {3,
                                 {40, 9, 7},
                                 {16, 5, 3},
                                 {1, 1, 1},
                                 CU_TENSOR_MAP_DATA_TYPE_UINT8,
                                 1,
                                 CU_TENSOR_MAP_SWIZZLE_NONE,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
                                 {-16, 6, -1}};
    const struct tensor four = {4,
                                {16, 10, 9, 5},
                                {8, 4, 6, 2},
                                {1, 1, 3, 2},
                                CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
                                8,
                                CU_TENSOR_MAP_SWIZZLE_64B,
                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
                                {4, 3, 1, 2}};
    const struct tensor five = {5,
                                {12, 6, 5, 4, 3},
                                {8, 3, 2, 2, 2},
                                {1, 1, 1, 1, 1},
                                CU_TENSOR_MAP_DATA_TYPE_INT32,
                                4,
                                CU_TENSOR_MAP_SWIZZLE_32B,
                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
                                {4, 4, 1, -1, 2}};
    check_load("1d", &one);
    check_load("2d, 128B", &two);
    two.at[0] = 72, two.at[1] = 60;
    check_load("2d, 128B, corner", &two);
    two.at[0] = -200;
    check_load("2d, 128B, outside", &two);
    two.swizzle = CU_TENSOR_MAP_SWIZZLE_64B, two.box[0] = 32, two.at[0] = 88, two.at[1] = 3;
    two.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    check_load("2d, 64B, NaN", &two);
    two.swizzle = CU_TENSOR_MAP_SWIZZLE_32B, two.box[0] = 16, two.at[1] = 62;
    two.type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, two.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
    check_load("2d, 32B", &two);
    check_load("3d", &three);
    check_load("4d", &four);
    check_load("5d", &five);
}

/** Loads a box with a swizzle, adds 1 to what lies inside, stores it swizzled, and adds it to a third matrix. */
static __global__ void store_kernel(const __grid_constant__ CUtensorMap from,
                                    const __grid_constant__ CUtensorMap to,
                                    const __grid_constant__ CUtensorMap sum)
{
    __shared__ __align__(1024) float tile[16 * 32];
    __shared__ __align__(8) uint64_t barrier;
    const int thread = (int)threadIdx.x, x = 32 * (int)blockIdx.x, y = 16 * (int)blockIdx.y;
    if (thread == 0) mbarrier_init(&barrier, 1);
    proxy_fence();
    __syncthreads();
    if (thread == 0) {
        mbarrier_arrive_expect(&barrier, sizeof tile);
        tensor_load(tile, &from, x, y, &barrier);
    }
    mbarrier_wait(&barrier, 0);
    for (int i = thread; i < 16 * 32; i += WARP) tile[i] += 1.0f;
    proxy_fence();
    __syncwarp();
    if (thread == 0) {
        tensor_store(&to, x, y, tile);
        bulk_commit();
        asm volatile(
            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];"
            :
            : "l"(&sum), "r"(x), "r"(y), "r"(shared_address(tile))
            : "memory");
        bulk_commit();
        bulk_wait<0>();
    }
}

/**
 * Rows of @p columns elements, 76 apart. Loads take no more than they have, and zeros after that; stores and reductions write
 * whole 16 bytes: with 73 columns also the three elements after them.
 */
static void check_stores(unsigned columns)
{
    enum { ROWS = 37, PITCH = 76 };
    static float values[ROWS * PITCH], stored[ROWS * PITCH], sums[ROWS * PITCH];
    for (int i = 0; i < ROWS * PITCH; i++) values[i] = (float)(i % 97);
    float *from = upload(values, ROWS * PITCH), *to = upload(values, ROWS * PITCH),
          *sum = upload(values, ROWS * PITCH);
    CUtensorMap map[3];
    float *matrix[3] = {from, to, sum};
    const cuuint64_t sizes[] = {columns, ROWS}, stride[] = {PITCH * sizeof(float)};
    const cuuint32_t box[] = {32, 16}, steps[] = {1, 1};
    for (int i = 0; i < 3; i++)
        expect_equal("map", (size_t)i,
                     tensor_map_encoder()(&map[i], CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, matrix[i], sizes,
                                          stride, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                          CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                          CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
                     CUDA_SUCCESS);
    store_kernel<<<dim3(3, 3), WARP>>>(map[0], map[1], map[2]);
    finish_launch("store_kernel");
    download(stored, to, ROWS * PITCH);
    download(sums, sum, ROWS * PITCH);
    const unsigned written = (columns + 3) / 4 * 4;
    for (int i = 0; i < ROWS * PITCH; i++) {
        const unsigned column = (unsigned)i % PITCH;
        const float added = (column < columns ? values[i] : 0.0f) + 1.0f;
        expect_close("stored", (size_t)i, stored[i], column < written ? added : values[i], 0);
        expect_close("sum", (size_t)i, sums[i], values[i] + (column < written ? added : 0.0f), 0);
    }
    for (int i = 0; i < 3; i++) release(matrix[i]);
}

/** One wrong argument at a time. */
static void check_arguments(void)
{
    const struct tensor good = {2,
                                {64, 8},
                                {32, 8},
                                {1, 1},
                                CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                                2,
                                CU_TENSOR_MAP_SWIZZLE_64B,
                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
                                {0}};
    CUtensorMap map;
    unsigned char *memory = device_array<unsigned char>(1024);
    struct tensor t = good;
    expect_equal("good", 0, encode(&map, &t, memory), CUDA_SUCCESS);
    expect_equal("address", 0, encode(&map, &t, memory + 8), CUDA_ERROR_INVALID_VALUE);
    expect_equal("no map", 0, encode(NULL, &t, memory), CUDA_ERROR_INVALID_VALUE);
#define WRONG(what)                                                                                          \
    do {                                                                                                     \
        t = good;                                                                                            \
        t.what;                                                                                              \
        expect_equal(#what, 0, encode(&map, &t, memory), CUDA_ERROR_INVALID_VALUE);                          \
    } while (0)
    WRONG(axes = 0);
    WRONG(size[1] = 0);
    WRONG(box[1] = 0);
    WRONG(box[1] = 257);
    WRONG(box[0] = 4);
    WRONG(box[0] = 64);
    WRONG(step[1] = 0);
    WRONG(step[1] = 9);
    WRONG(type = (CUtensorMapDataType)99);
    WRONG(swizzle = (CUtensorMapSwizzle)99);
    WRONG(fill = (CUtensorMapFloatOOBfill)99);
    t = good, t.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
    t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    expect_equal("NaN of integers", 0, encode(&map, &t, memory), CUDA_ERROR_INVALID_VALUE);
    const cuuint64_t sizes[] = {64, 8}, stride[] = {120}, wide[] = {(cuuint64_t)1 << 40};
    const cuuint32_t box[] = {32, 8}, steps[] = {1, 1};
    expect_equal("stride", 0,
                 tensor_map_encoder()(&map, good.type, 2, memory, sizes, stride, box, steps,
                                      CU_TENSOR_MAP_INTERLEAVE_NONE, good.swizzle,
                                      CU_TENSOR_MAP_L2_PROMOTION_NONE, good.fill),
                 CUDA_ERROR_INVALID_VALUE);
    expect_equal("wide stride", 0,
                 tensor_map_encoder()(&map, good.type, 2, memory, sizes, wide, box, steps,
                                      CU_TENSOR_MAP_INTERLEAVE_NONE, good.swizzle,
                                      CU_TENSOR_MAP_L2_PROMOTION_NONE, good.fill),
                 CUDA_ERROR_INVALID_VALUE);
    expect_equal("interleave of two axes", 0,
                 tensor_map_encoder()(&map, good.type, 2, memory, sizes, sizes, box, steps,
                                      CU_TENSOR_MAP_INTERLEAVE_16B, CU_TENSOR_MAP_SWIZZLE_NONE,
                                      CU_TENSOR_MAP_L2_PROMOTION_NONE, good.fill),
                 CUDA_ERROR_INVALID_VALUE);
    expect_equal("encode", 2, encode(&map, &good, memory), CUDA_SUCCESS);
    expect_equal("address", 0, replace_address(&map, (char *)memory + 8), CUDA_ERROR_INVALID_VALUE);
    void *function = &map;
    enum cudaDriverEntryPointQueryResult found;
    require(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &function, 12000, cudaEnableDefault, &found),
            "entry point");
    expect_equal("unknown function", 0, found, cudaDriverEntryPointSymbolNotFound);
    expect_equal("unknown function", 1, function != NULL, 0);
    release(memory);
}

typedef CUresult init_function(unsigned);
typedef CUresult version_function(int *);
typedef CUresult text_function(CUresult, const char **);

static void check_driver(void)
{
    text_function *const name = (text_function *)driver_function("cuGetErrorName"),
                         *const text = (text_function *)driver_function("cuGetErrorString");
    const char *got = NULL;
    int version = 0;
    expect_equal("cuInit", 0, ((init_function *)driver_function("cuInit"))(0), CUDA_SUCCESS);
    expect_equal("cuInit with flags", 0, ((init_function *)driver_function("cuInit"))(1),
                 CUDA_ERROR_INVALID_VALUE);
    expect_equal("cuDriverGetVersion", 0,
                 ((version_function *)driver_function("cuDriverGetVersion"))(&version), CUDA_SUCCESS);
    expect_equal("version", 0, version >= 12000, 1);
    expect_equal("cuGetErrorName", 0, name(CUDA_ERROR_OUT_OF_MEMORY, &got), CUDA_SUCCESS);
    expect_equal("name", 0, got != NULL && strcmp(got, "CUDA_ERROR_OUT_OF_MEMORY") == 0, 1);
    expect_equal("cuGetErrorString", 0, text(CUDA_ERROR_INVALID_VALUE, &got), CUDA_SUCCESS);
    expect_equal("text", 0, got != NULL && strcmp(got, "invalid argument") == 0, 1);
    expect_equal("name of no error", 0, name((CUresult)12345, &got), CUDA_ERROR_INVALID_VALUE);
    expect_equal("name of no error", 1, got == NULL, 1);
}

int main(void)
{
    check_driver();
    check_loads();
    for (unsigned columns = 70; columns <= 76; columns += 3) check_stores(columns);
    check_arguments();
    return finish("ptx_tensor");
}
