// with: SIMT_DEVICES=2
/*
 * Volumes: cudaMalloc3D, cudaMemset3D and cudaMemcpy3D move and fill boxes within rows at a pitch and slices of rows.
 * A plain loop on the host does the same, and every byte is compared, those between the rows too.
 */
#include "../testing.h"

#include <string.h>

/** Slices of rows of bytes, in memory of the host or of the device, and what they should hold. */
struct volume {
    unsigned char *memory;   /* [depth, height, pitch] */
    unsigned char *expected; /* [depth, height, pitch], the host's */
    size_t pitch, width, height, depth;
    int on_device;
};

static unsigned g_seed = 2463534242u;

static size_t bytes_of(const struct volume *v)
{
    return v->pitch * v->height * v->depth;
}

/** Random bytes everywhere. */
static void fill(struct volume *v)
{
    for (size_t i = 0; i < bytes_of(v); i++) v->expected[i] = (unsigned char)next_random(&g_seed);
    if (v->on_device)
        require(cudaMemcpy(v->memory, v->expected, bytes_of(v), cudaMemcpyHostToDevice), "fill");
    else
        memcpy(v->memory, v->expected, bytes_of(v));
}

static struct volume make_volume(int on_device, size_t pitch, size_t width, size_t height, size_t depth)
{
    struct volume v = {NULL, NULL, pitch, width, height, depth, on_device};
    v.memory =
        on_device ? device_array<unsigned char>(bytes_of(&v)) : host_array<unsigned char>(bytes_of(&v));
    v.expected = host_array<unsigned char>(bytes_of(&v));
    fill(&v);
    return v;
}

static void release_volume(struct volume *v)
{
    if (v->on_device)
        release(v->memory);
    else
        free(v->memory);
    free(v->expected);
}

static void compare(const char *what, const struct volume *v)
{
    unsigned char *got = host_array<unsigned char>(bytes_of(v));
    if (v->on_device)
        download(got, v->memory, bytes_of(v));
    else
        memcpy(got, v->memory, bytes_of(v));
    for (size_t i = 0; i < bytes_of(v); i++) expect_equal(what, i, got[i], v->expected[i]);
    free(got);
}

static cudaPitchedPtr pitched(const struct volume *v)
{
    return make_cudaPitchedPtr(v->memory, v->pitch, v->width, v->height);
}

static unsigned char *expected_at(const struct volume *v, cudaPos at, size_t x, size_t y, size_t z)
{
    return v->expected + ((at.z + z) * v->height + at.y + y) * v->pitch + at.x + x;
}

/* ---- copies -------------------------------------------------------------------------------------------- */

/** A part of a volume: where it begins in either, and its size. */
struct part {
    cudaPos to, from;
    cudaExtent extent;
};

static cudaMemcpy3DParms parameters(const struct volume *to, const struct volume *from,
                                    const struct part *part, cudaMemcpyKind kind)
{
    cudaMemcpy3DParms p;
    memset(&p, 0, sizeof p);
    p.dstPtr = pitched(to);
    p.dstPos = part->to;
    p.srcPtr = pitched(from);
    p.srcPos = part->from;
    p.extent = part->extent;
    p.kind = kind;
    return p;
}

static void expect_copied(struct volume *to, const struct volume *from, const struct part *part)
{
    for (size_t z = 0; z < part->extent.depth; z++)
        for (size_t y = 0; y < part->extent.height; y++)
            for (size_t x = 0; x < part->extent.width; x++)
                *expected_at(to, part->to, x, y, z) = *expected_at(from, part->from, x, y, z);
}

static void check_copies(int to_device, int from_device, cudaMemcpyKind kind, cudaStream_t stream)
{
    const struct part parts[] = {
        {make_cudaPos(0, 0, 0), make_cudaPos(0, 0, 0), make_cudaExtent(37, 5, 4)},
        {make_cudaPos(3, 2, 1), make_cudaPos(5, 1, 2), make_cudaExtent(17, 3, 2)},
        {make_cudaPos(9, 0, 3), make_cudaPos(0, 4, 0), make_cudaExtent(1, 1, 1)},
        {make_cudaPos(0, 1, 4), make_cudaPos(1, 0, 3), make_cudaExtent(36, 5, 1)},  /* one slice */
        {make_cudaPos(41, 6, 0), make_cudaPos(36, 4, 0), make_cudaExtent(1, 1, 4)}, /* a column of slices */
        {make_cudaPos(2, 3, 2), make_cudaPos(7, 2, 1), make_cudaExtent(30, 1, 3)},
    };
    struct volume to = make_volume(to_device, 64, 42, 7, 5), from = make_volume(from_device, 41, 37, 5, 4);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const cudaMemcpy3DParms p = parameters(&to, &from, &parts[i], kind);
        if (stream == NULL) {
            require(cudaMemcpy3D(&p), "cudaMemcpy3D");
        } else {
            require(cudaMemcpy3DAsync(&p, stream), "cudaMemcpy3DAsync");
            require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        }
        require(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); /* within a device it does not wait */
        expect_copied(&to, &from, &parts[i]);
        compare("copied to", &to);
        compare("copied from", &from);
    }
    release_volume(&to);
    release_volume(&from);
}

static void check_all_kinds(void)
{
    const cudaMemcpyKind kinds[2][2] = {{cudaMemcpyHostToHost, cudaMemcpyDeviceToHost},
                                        {cudaMemcpyHostToDevice, cudaMemcpyDeviceToDevice}};
    cudaStream_t stream;
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    for (int to = 0; to < 2; to++) {
        for (int from = 0; from < 2; from++) {
            check_copies(to, from, kinds[to][from], NULL);
            check_copies(to, from, kinds[to][from], stream);
            check_copies(to, from, cudaMemcpyDefault, NULL);
        }
    }
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

/* ---- fills --------------------------------------------------------------------------------------------- */

/** Fills a box that begins at @p at: the pointer is moved there, as cudaMemset3D takes no position. */
static void set_part(struct volume *v, cudaPos at, int value, cudaExtent extent, cudaStream_t stream)
{
    cudaPitchedPtr pointer = pitched(v);
    pointer.ptr = v->memory + (at.z * v->height + at.y) * v->pitch + at.x;
    if (stream == NULL)
        require(cudaMemset3D(pointer, value, extent), "cudaMemset3D");
    else
        require(cudaMemset3DAsync(pointer, value, extent, stream), "cudaMemset3DAsync");
    for (size_t z = 0; z < extent.depth; z++)
        for (size_t y = 0; y < extent.height; y++)
            for (size_t x = 0; x < extent.width; x++) *expected_at(v, at, x, y, z) = (unsigned char)value;
}

static void check_sets(void)
{
    struct volume v = make_volume(1, 96, 75, 6, 5);
    cudaStream_t stream;
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    set_part(&v, make_cudaPos(0, 0, 0), 0x5a, make_cudaExtent(75, 6, 5), NULL);
    compare("set", &v);
    set_part(&v, make_cudaPos(11, 2, 1), 0x1234, make_cudaExtent(40, 3, 3), NULL); /* the low byte counts */
    compare("set in part", &v);
    set_part(&v, make_cudaPos(1, 5, 4), -1, make_cudaExtent(60, 1, 1), NULL);
    compare("set a row", &v);
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    set_part(&v, make_cudaPos(70, 0, 0), 7, make_cudaExtent(5, 6, 2), stream);
    set_part(&v, make_cudaPos(72, 1, 1), 8, make_cudaExtent(2, 2, 4), stream); /* over the last */
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    compare("set in a stream", &v);
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    release_volume(&v);
}

/* ---- a volume of cudaMalloc3D in a kernel -------------------------------------------------------------- */

enum { ROW_FLOATS = 19, ROWS = 6, SLICES = 4, VOLUME = ROW_FLOATS * ROWS * SLICES };

static __global__ void add_place_kernel(cudaPitchedPtr volume, int slices) /* [slices, ysize, xsize] */
{
    const int x = (int)threadIdx.x, y = (int)threadIdx.y;
    for (int z = 0; z < slices; z++) {
        char *row = (char *)volume.ptr + ((size_t)z * volume.ysize + (size_t)y) * volume.pitch;
        ((float *)row)[x] += (float)(10000 * z + 100 * y + x);
    }
}

/** Copies in and out and a kernel between them, all in one stream that does not wait for the default one. */
static void check_kernel(void)
{
    static float in[VOLUME], out[VOLUME];
    const size_t row_bytes = ROW_FLOATS * sizeof(float);
    const cudaExtent extent = make_cudaExtent(row_bytes, ROWS, SLICES);
    cudaPitchedPtr volume;
    cudaMemcpy3DParms p;
    cudaStream_t stream;
    for (int i = 0; i < VOLUME; i++) in[i] = 0.25f * (float)i;
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    require(cudaMalloc3D(&volume, extent), "cudaMalloc3D");
    expect_equal("xsize", 0, (long long)volume.xsize, (long long)row_bytes);
    expect_equal("ysize", 0, (long long)volume.ysize, ROWS);
    expect_equal("pitch", 0, volume.pitch >= row_bytes && volume.pitch % sizeof(float) == 0, 1);

    memset(&p, 0, sizeof p);
    p.srcPtr = make_cudaPitchedPtr(in, row_bytes, row_bytes, ROWS);
    p.dstPtr = volume;
    p.extent = extent;
    p.kind = cudaMemcpyHostToDevice;
    require(cudaMemcpy3DAsync(&p, stream), "cudaMemcpy3DAsync");
    add_place_kernel<<<1, dim3(ROW_FLOATS, ROWS), 0, stream>>>(volume, SLICES);
    require(cudaGetLastError(), "add_place_kernel");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");

    p.srcPtr = volume;
    p.dstPtr = make_cudaPitchedPtr(out, row_bytes, row_bytes, ROWS);
    p.kind = cudaMemcpyDeviceToHost;
    require(cudaMemcpy3D(&p), "cudaMemcpy3D"); /* has ended when it returns: the stream may go on at once */
    require(cudaMemset3DAsync(volume, 0, extent, stream), "cudaMemset3DAsync");
    for (int i = 0; i < VOLUME; i++) {
        const int x = i % ROW_FLOATS, y = i / ROW_FLOATS % ROWS, z = i / (ROW_FLOATS * ROWS);
        expect_close("kernel", (size_t)i, out[i], 0.25 * i + 10000 * z + 100 * y + x, 0.0);
    }
    require(cudaMemcpy3DAsync(&p, stream), "cudaMemcpy3DAsync");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (int i = 0; i < VOLUME; i++) expect_close("cleared", (size_t)i, out[i], 0.0, 0.0);
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    release(volume.ptr);
}

/* ---- what is refused, and what moves nothing ----------------------------------------------------------- */

static void expect_refused(const char *what, cudaError_t got, cudaError_t expected, cudaError_t also)
{
    (void)cudaGetLastError();
    if (got == expected || got == also) return;
    g_failures++;
    fprintf(stderr, "%s gives %s, not %s\n", what, cudaGetErrorName(got), cudaGetErrorName(expected));
}

static void check_refused(void)
{
    const struct part plain = {make_cudaPos(1, 1, 1), make_cudaPos(2, 0, 1), make_cudaExtent(10, 2, 2)},
                      wide = {make_cudaPos(0, 0, 0), make_cudaPos(0, 0, 0), make_cudaExtent(50, 2, 1)},
                      beyond_row = {make_cudaPos(60, 0, 0), make_cudaPos(0, 0, 0), make_cudaExtent(10, 2, 1)},
                      beyond_slice = {make_cudaPos(0, 5, 0), make_cudaPos(0, 0, 0),
                                      make_cudaExtent(10, 3, 2)};
    struct volume to = make_volume(1, 64, 64, 7, 5), from = make_volume(0, 41, 37, 5, 4);
    cudaMemcpy3DParms p = parameters(&to, &from, &plain, (cudaMemcpyKind)9);
    cudaPitchedPtr volume;
    expect_refused("kind 9", cudaMemcpy3D(&p), cudaErrorInvalidMemcpyDirection,
                   cudaErrorInvalidMemcpyDirection);
    p = parameters(&to, &from, &plain, cudaMemcpyHostToDevice);
    p.srcPtr.ptr = NULL;
    expect_refused("no source", cudaMemcpy3D(&p), cudaErrorInvalidValue, cudaErrorInvalidValue);
    p = parameters(&to, &from, &plain, cudaMemcpyHostToDevice);
    p.dstPtr.ptr = NULL;
    expect_refused("no destination", cudaMemcpy3D(&p), cudaErrorInvalidValue, cudaErrorInvalidValue);
    p = parameters(&to, &from, &wide, cudaMemcpyHostToDevice);
    expect_refused("wider than the pitch", cudaMemcpy3D(&p), cudaErrorInvalidPitchValue,
                   cudaErrorInvalidValue);
    p = parameters(&to, &from, &beyond_row, cudaMemcpyHostToDevice);
    expect_refused("beyond the pitch", cudaMemcpy3D(&p), cudaErrorInvalidPitchValue, cudaErrorInvalidValue);
    p = parameters(&to, &from, &beyond_slice, cudaMemcpyHostToDevice);
    expect_refused("beyond the slice", cudaMemcpy3D(&p), cudaErrorInvalidValue, cudaErrorInvalidValue);
    compare("refused", &to);
    expect_refused("rows of 2^64 - 1 bytes", cudaMalloc3D(&volume, make_cudaExtent((size_t)-1, 1, 1)),
                   cudaErrorMemoryAllocation, cudaErrorInvalidValue);
    release_volume(&to);
    release_volume(&from);
}

static void check_empty(void)
{
    struct volume to = make_volume(1, 64, 64, 7, 5), from = make_volume(0, 41, 37, 5, 4);
    for (int empty = 0; empty < 3; empty++) {
        const struct part part = {
            make_cudaPos(1, 1, 1), make_cudaPos(0, 0, 0),
            make_cudaExtent(empty == 0 ? 0 : 10, empty == 1 ? 0 : 3, empty == 2 ? 0 : 2)};
        const cudaMemcpy3DParms p = parameters(&to, &from, &part, cudaMemcpyHostToDevice);
        (void)cudaMemcpy3D(&p);
        (void)cudaMemset3D(pitched(&to), 9, part.extent);
        require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        (void)cudaGetLastError();
        compare("empty", &to);
    }
    release_volume(&to);
    release_volume(&from);
}

int main(void)
{
    check_all_kinds();
    check_sets();
    check_kernel();
    check_refused();
    check_empty();
    return finish("volumes");
}
