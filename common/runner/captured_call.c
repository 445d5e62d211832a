/**
 * @file captured_call.c
 * @brief A call of an entry point that is captured into a graph, for lessons whose contract allows it.
 */
#include "runner.h"

enum kernel_status captured_call(enum kernel_status (*call)(void *context, cudaStream_t stream),
                                 void *context, cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) != cudaSuccess) return KERNEL_CUDA_ERROR;
    enum kernel_status status = call(context, stream);
    if (cudaStreamEndCapture(stream, &graph) != cudaSuccess) return KERNEL_CUDA_ERROR;
    marshalling_may_look(1);
    if (status == KERNEL_OK &&
        (cudaGraphInstantiate(&executable, graph, 0) != cudaSuccess ||
         cudaGraphLaunch(executable, stream) != cudaSuccess || cudaStreamSynchronize(stream) != cudaSuccess))
        status = KERNEL_CUDA_ERROR;
    if (executable != NULL) cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    marshalling_may_look(0);
    return status;
}
