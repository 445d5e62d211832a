/**
 * @file launch_info.c
 * @brief Which kernels a call launches, and how many blocks of them fit on an SM.
 *
 * The linker sends every launch of the student's object through here (`--wrap=cudaLaunchKernel`, and
 * `--wrap=__cudaLaunchKernel`, which CUDA 13's launch code calls); compiled so only where it does.
 */
#include "call.h"
#include "runner.h"
#include "simt_only.h"

static struct wire_result *described;

void describe_launches(struct wire_result *result)
{
    described = result;
}

/* On a GPU the linker sends copies and launches of graphs through here as well. */

#ifdef WARPWISE_WRAP_LAUNCHES
static struct device_calls wrapped = {1, 0, 0};
#else
static struct device_calls wrapped;
#endif

struct device_calls device_calls(void)
{
    unsigned long launches = 0, graph_launches = 0;
    struct device_calls calls = wrapped;
    calls.counted = calls.counted && described != NULL;
    if (simt_calls == NULL) return calls;
    simt_calls(&launches, &graph_launches);
    return (struct device_calls){1, (uint32_t)launches, (uint32_t)graph_launches};
}

static int copies_forbidden;

void forbid_copies_to_host(int forbid)
{
    copies_forbidden = forbid;
    if (simt_forbid_copies_to_host != NULL) simt_forbid_copies_to_host(forbid);
}

#ifdef WARPWISE_WRAP_LAUNCHES

static int is_on_host(const void *pointer)
{
    struct cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, pointer) == cudaSuccess)
        return attributes.type != cudaMemoryTypeDevice;
    cudaGetLastError();
    return 1;
}

cudaError_t __real_cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                   cudaStream_t stream);
cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                   cudaStream_t stream);

cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                   cudaStream_t stream)
{
    if (copies_forbidden && is_on_host(to)) return cudaErrorNotPermitted;
    return __real_cudaMemcpyAsync(to, from, bytes, kind, stream);
}

static void describe(const void *function, dim3 grid, dim3 block, size_t dynamic_shared_bytes)
{
    described->launches++;
    if (described->kernel_count >= WIRE_KERNELS) return;
    struct cudaFuncAttributes attributes;
    int blocks = 0;
    if (cudaFuncGetAttributes(&attributes, function) != cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, (int)(block.x * block.y * block.z),
                                                      dynamic_shared_bytes) != cudaSuccess) {
        cudaGetLastError(); /* an unknown handle is no error of the student's */
        return;
    }
    described->kernel[described->kernel_count++] = (struct wire_kernel){
        .grid = {grid.x, grid.y, grid.z},
        .block = {block.x, block.y, block.z},
        .registers = (uint32_t)attributes.numRegs,
        .dynamic_shared_bytes = (uint32_t)dynamic_shared_bytes,
        .blocks_per_sm = (uint32_t)blocks,
    };
}

/* Only while launches are described: what is timed must not pay for it. */
static void note_launch(const void *function, dim3 grid, dim3 block, size_t dynamic_shared_bytes,
                        cudaStream_t stream)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    if (described == NULL) return;
    describe(function, grid, block, dynamic_shared_bytes);
    if (cudaStreamIsCapturing(stream, &capture) != cudaSuccess) cudaGetLastError();
    wrapped.launches += capture == cudaStreamCaptureStatusNone;
}

cudaError_t __real_cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);

cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    wrapped.graph_launches++;
    return __real_cudaGraphLaunch(executable, stream);
}

cudaError_t __real_cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared,
                                    cudaStream_t stream);
cudaError_t __wrap_cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared,
                                    cudaStream_t stream);

cudaError_t __wrap_cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared,
                                    cudaStream_t stream)
{
    note_launch(function, grid, block, shared, stream);
    return __real_cudaLaunchKernel(function, grid, block, args, shared, stream);
}

#if CUDART_VERSION >= 13000
cudaError_t __real___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                      cudaStream_t stream);
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                      cudaStream_t stream);

cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                      cudaStream_t stream)
{
    note_launch((const void *)kernel, grid, block, shared, stream);
    return __real___cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}
#endif

#endif
