/**
 * @file special.c
 * @brief Calls that carry more than numbers: launches, copies out of host memory, lists of nodes. Each has a
 *        gate, which runs in the host process, and below it the answer, which runs in the device process.
 */
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "device.h"
#include "simt/runtime/runtime.h"
#include "simt/tensor_map.h"

#define SITE __builtin_return_address(0)

enum {
    KERNEL_ARGUMENTS = 32768, /* largest size of arguments in bytes, as in CUDA 12 */
    LAUNCH_ATTRIBUTES = 16,
    MOST_NODES = 4096,
    SITES = 4096
};
#define MOST_COPIED ((uint64_t)256 << 20)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* ---- places in the source ------------------------------------------------------------------------------ */

static void append_site(const struct simt_site *site)
{
    (void)host_append_text(site->file);
    (void)host_append_text(site->what);
}

/* Keeps a received text for ever, since findings and graphs refer to it. A control character in a name
 * could end a line of a record. */
static const char *kept_text(size_t *at)
{
    static struct text {
        struct text *next;
        char text[];
    } * texts;
    static size_t count;
    const char *came = device_data(at, STRING_BYTES);
    if (came == NULL) device_refuse_message("a call without its names");
    const size_t length = strnlen(came, STRING_BYTES - 1);
    struct text *new = calloc(1, sizeof *new + length + 1);
    if (new == NULL) abort();
    for (size_t i = 0; i < length; i++)
        new->text[i] = (unsigned char)came[i] < ' ' || came[i] == 0x7f ? '?' : came[i];
    for (struct text *old = texts; old != NULL; old = old->next) {
        if (strcmp(old->text, new->text) != 0) continue;
        free(new);
        return old->text;
    }
    if (++count > SITES) device_refuse_message("more names than a file has");
    new->next = texts;
    texts = new;
    return new->text;
}

static struct simt_site take_site(size_t *at, uint64_t line)
{
    const char *file = kept_text(at), *what = kept_text(at);
    return (struct simt_site){file, (int)line, what, NULL};
}

/* ---- launches ------------------------------------------------------------------------------------------ */

/** Those parameters of a launch that are numbers. */
struct launch_numbers {
    struct simt_extent grid, block, cluster;
    uint64_t dynamic_shared_bytes, function, entry, args_bytes, stream;
    int32_t line, early, cooperative, unused;
};

cudaError_t gate_simt_launch_kernel(const struct simt_launch *launch, size_t args_bytes, cudaStream_t stream)
{
    boundary_not_in_kernel("a launch", SITE);
    const struct launch_numbers numbers = {launch->grid,
                                           launch->block,
                                           launch->cluster,
                                           launch->dynamic_shared_bytes,
                                           (uint64_t)(uintptr_t)launch->function,
                                           (uint64_t)(uintptr_t)launch->entry,
                                           args_bytes,
                                           (uint64_t)(uintptr_t)stream,
                                           launch->site.line,
                                           launch->early,
                                           launch->cooperative,
                                           0};
    (void)host_question(CALL_simt_launch_kernel, SITE);
    (void)host_append(&numbers, sizeof numbers);
    append_site(&launch->site);
    (void)host_append_text(launch->kernel);
    if (host_append(launch->args, args_bytes) != 0) (void)host_append("", 0);
    return (cudaError_t)host_ask()->word[0];
}

static uint64_t answer_launch(void)
{
    static _Alignas(256) unsigned char arguments[KERNEL_ARGUMENTS];
    size_t at = 0;
    const struct launch_numbers *numbers = device_data(&at, sizeof *numbers);
    if (numbers == NULL) device_refuse_message("a launch of nothing");
    const struct simt_site site = take_site(&at, (uint64_t)numbers->line);
    const char *kernel = kept_text(&at);
    if (numbers->args_bytes > KERNEL_ARGUMENTS) return device_last_error(cudaErrorInvalidValue);
    const void *args = device_data(&at, numbers->args_bytes);
    if (args == NULL) device_refuse_message("a launch without its arguments");
    if (!device_handle_is_good('s', numbers->stream))
        return device_last_error(cudaErrorInvalidResourceHandle);
    memset(arguments, 0, sizeof arguments); /* a kernel that reads past its arguments finds zeros */
    memcpy(arguments, args, numbers->args_bytes);
    const struct simt_launch launch = {.kernel = kernel,
                                       .site = site,
                                       .grid = numbers->grid,
                                       .block = numbers->block,
                                       .dynamic_shared_bytes = numbers->dynamic_shared_bytes,
                                       .function = (const void *)(uintptr_t)numbers->function,
                                       .entry = (void (*)(const void *))(uintptr_t)numbers->entry,
                                       .args = arguments,
                                       .early = numbers->early != 0,
                                       .cooperative = numbers->cooperative != 0,
                                       .cluster = numbers->cluster};
    return (uint64_t)simt_launch_kernel(&launch, numbers->args_bytes,
                                        (cudaStream_t)(uintptr_t)numbers->stream);
}

cudaError_t gate_simt_launch_attributes(const struct simt_site *site, const cudaLaunchConfig_t *config,
                                        int *early, int *cooperative, struct simt_extent *cluster)
{
    boundary_not_in_kernel("a launch", SITE);
    const int fits = config != NULL && config->numAttrs <= LAUNCH_ATTRIBUTES &&
                     (config->numAttrs == 0 || config->attrs != NULL);
    struct message *question = host_question(CALL_simt_launch_attributes, SITE);
    question->word[0] = fits ? config->numAttrs : LAUNCH_ATTRIBUTES + 1;
    question->word[1] = fits ? (uint64_t)(uintptr_t)config->stream : 0;
    question->word[2] = (uint64_t)site->line;
    append_site(site);
    if (fits) (void)host_append(config->attrs, config->numAttrs * sizeof *config->attrs);
    const struct message *answer = host_ask();
    *early = answer->word[1] != 0;
    *cooperative = answer->word[2] != 0;
    *cluster = (struct simt_extent){(unsigned)answer->word[3], (unsigned)(answer->word[4] >> 32),
                                    (unsigned)answer->word[4]};
    return (cudaError_t)answer->word[0];
}

static uint64_t answer_attributes(void)
{
    cudaLaunchAttribute attribute[LAUNCH_ATTRIBUTES];
    cudaLaunchConfig_t config = {.attrs = attribute};
    size_t at = 0;
    int early = 0, cooperative = 0;
    struct simt_extent cluster = {0};
    const uint64_t count = device_question.word[0], stream = device_question.word[1];
    const struct simt_site site = take_site(&at, device_question.word[2]);
    if (count > LAUNCH_ATTRIBUTES) return device_last_error(cudaErrorInvalidValue);
    const void *came = device_data(&at, count * sizeof *attribute);
    if (came == NULL) device_refuse_message("a launch without its attributes");
    if (!device_handle_is_good('s', stream)) return device_last_error(cudaErrorInvalidResourceHandle);
    memcpy(attribute, came, count * sizeof *attribute);
    config.numAttrs = (unsigned)count;
    config.stream = (cudaStream_t)(uintptr_t)stream;
    const cudaError_t error = simt_launch_attributes(&site, &config, &early, &cooperative, &cluster);
    device_answer_word(1, (uint64_t)early);
    device_answer_word(2, (uint64_t)cooperative);
    device_answer_word(3, cluster.x);
    device_answer_word(4, (uint64_t)cluster.y << 32 | cluster.z);
    return (uint64_t)error;
}

cudaError_t gate_simt_launch_untyped(const struct simt_site *site)
{
    boundary_not_in_kernel("a launch", SITE);
    host_question(CALL_simt_launch_untyped, SITE)->word[0] = (uint64_t)site->line;
    append_site(site);
    return (cudaError_t)host_ask()->word[0];
}

static uint64_t answer_untyped(void)
{
    size_t at = 0;
    const struct simt_site site = take_site(&at, device_question.word[0]);
    return (uint64_t)simt_launch_untyped(&site);
}

/* ---- occupancy: the host's own function says how much shared memory a block needs --------------------- */

uint64_t gate_cudaOccupancyMaxActiveBlocksPerMultiprocessor(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                                            uint64_t);
uint64_t gate_cudaDeviceGetAttribute(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

cudaError_t gate_simt_best_block_size(int *grid_blocks, int *block_threads, const void *function,
                                      size_t (*dynamic_shared_bytes)(int block_threads, void *context),
                                      void *context, int limit)
{
    boundary_not_in_kernel("cudaOccupancyMaxPotentialBlockSize", SITE);
    int processors = 0, most = 0;
    if (grid_blocks == NULL || block_threads == NULL) return cudaErrorInvalidValue;
    if (limit < 1 || limit > THREADS_PER_BLOCK) limit = THREADS_PER_BLOCK;
    *grid_blocks = *block_threads = 0;
    cudaError_t error = (cudaError_t)gate_cudaDeviceGetAttribute((uint64_t)(uintptr_t)&processors,
                                                                 cudaDevAttrMultiProcessorCount, 0, 0, 0, 0);
    for (int threads = limit; threads > 0 && error == cudaSuccess;
         threads = (threads - 1) / WARP_THREADS * WARP_THREADS) {
        int blocks = 0;
        error = (cudaError_t)gate_cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            (uint64_t)(uintptr_t)&blocks, (uint64_t)(uintptr_t)function, (uint64_t)threads,
            dynamic_shared_bytes(threads, context), 0, 0);
        if (error != cudaSuccess || blocks * threads <= most) continue;
        most = blocks * threads;
        *block_threads = threads;
        *grid_blocks = blocks * processors;
    }
    return error;
}

/* ---- copies -------------------------------------------------------------------------------------------- */

/* The host memory that copies in graphs read: it is updated before each launch of a graph. */
static struct captured {
    struct captured *next;
    uint64_t address;
    size_t bytes;
    _Alignas(16) unsigned char content[];
} * captured_list;
static uint64_t captured_bytes;

void device_fetch_captured(void)
{
    for (struct captured *c = captured_list; c != NULL; c = c->next)
        (void)device_fetch(c->address, c->content, c->bytes);
}

/* Stands for host memory of the other process in calls for which the runtime only checks that it is host
 * memory. */
static unsigned char elsewhere[16];

/** A copy as the call describes it; @c symbol_bytes only for a copy to a variable. */
struct copy {
    uint64_t to, from, bytes, kind, stream, symbol, symbol_bytes, offset;
};

static uint64_t copy_now(const struct copy *c, uint64_t to, const void *from)
{
    const cudaStream_t stream = (cudaStream_t)(uintptr_t)c->stream;
    const enum cudaMemcpyKind kind = (enum cudaMemcpyKind)c->kind;
    if (c->symbol != 0)
        return (uint64_t)simt_copy_to_symbol((void *)(uintptr_t)c->symbol, c->symbol_bytes, from, c->bytes,
                                             c->offset, kind, stream, "cudaMemcpyToSymbolAsync");
    return (uint64_t)cudaMemcpyAsync((void *)(uintptr_t)to, from, c->bytes, kind, stream);
}

/* A copy from host memory to the device: fetches the source first, and keeps it if a graph is to read it
 * again. */
static uint64_t copy_from_host(const struct copy *c)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    const int fits =
        simt_device_contains((void *)(uintptr_t)c->to, c->bytes) && c->kind != cudaMemcpyDeviceToDevice;
    if (!fits || c->bytes == 0) return copy_now(c, c->to, elsewhere);
    if (c->bytes > MOST_COPIED) device_refuse_message("a copy of more memory than a host function may bring");
    struct captured *source = malloc(sizeof *source + c->bytes);
    if (source == NULL) return device_last_error(cudaErrorMemoryAllocation);
    *source = (struct captured){NULL, c->from, c->bytes};
    if (device_fetch(c->from, source->content, c->bytes) != c->bytes) {
        free(source);
        return device_last_error(cudaErrorInvalidValue);
    }
    const uint64_t result = copy_now(c, c->to, source->content);
    (void)cudaStreamIsCapturing((cudaStream_t)(uintptr_t)c->stream, &capture);
    if (result != cudaSuccess || capture == cudaStreamCaptureStatusNone) {
        free(source);
        return result;
    }
    captured_bytes += c->bytes;
    if (captured_bytes > MOST_COPIED) device_refuse_message("more memory than graphs may copy");
    source->next = captured_list;
    captured_list = source;
    return result;
}

/* The runtime refuses copies to the host (simt_forbid_copies_to_host()); if that is off, this function
 * does. */
static uint64_t answer_copy(struct copy *c)
{
    if (c->symbol != 0) c->to = c->symbol + c->offset;
    const int to_device = simt_is_on_device((const void *)(uintptr_t)c->to),
              from_device = simt_is_on_device((const void *)(uintptr_t)c->from);
    if (!device_handle_is_good('s', c->stream)) return device_last_error(cudaErrorInvalidResourceHandle);
    if (c->kind > cudaMemcpyDefault) return device_last_error(cudaErrorInvalidMemcpyDirection);
    if (c->to == 0 || c->from == 0)
        return c->bytes == 0 ? cudaSuccess : device_last_error(cudaErrorInvalidValue);
    if (to_device && !from_device) return copy_from_host(c);
    if (to_device) return copy_now(c, c->to, (const void *)(uintptr_t)c->from);
    if (c->symbol != 0) return device_last_error(cudaErrorInvalidSymbol);
    if (!from_device && (c->kind == cudaMemcpyHostToHost || c->kind == cudaMemcpyDefault))
        return cudaErrorNotSupported; /* the other process has written it */
    if (!runtime_host_is_kept_out()) return device_last_error(cudaErrorNotPermitted);
    if (c->bytes > sizeof elsewhere) c->bytes = sizeof elsewhere; /* it is refused, however long it is */
    return copy_now(c, (uint64_t)(uintptr_t)elsewhere,
                    from_device ? (const void *)(uintptr_t)c->from : elsewhere);
}

cudaError_t gate_cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                 cudaStream_t stream)
{
    boundary_not_in_kernel("cudaMemcpyAsync", SITE);
    const struct copy c = {(uint64_t)(uintptr_t)to,
                           (uint64_t)(uintptr_t)from,
                           bytes,
                           (uint64_t)kind,
                           (uint64_t)(uintptr_t)stream,
                           0,
                           0,
                           0};
    (void)host_question(CALL_cudaMemcpyAsync, SITE);
    (void)host_append(&c, sizeof c);
    const cudaError_t result = (cudaError_t)host_ask()->word[0];
    if (result != cudaErrorNotSupported) return result;
    memmove(to, from, bytes); /* from host to host */
    return cudaSuccess;
}

cudaError_t gate_simt_copy_to_symbol(void *symbol, size_t symbol_bytes, const void *from, size_t bytes,
                                     size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream,
                                     const char *call)
{
    (void)call;
    boundary_not_in_kernel("cudaMemcpyToSymbol", SITE);
    const struct copy c = {0,
                           (uint64_t)(uintptr_t)from,
                           bytes,
                           (uint64_t)kind,
                           (uint64_t)(uintptr_t)stream,
                           (uint64_t)(uintptr_t)symbol,
                           symbol_bytes,
                           offset};
    (void)host_question(CALL_simt_copy_to_symbol, SITE);
    (void)host_append(&c, sizeof c);
    return (cudaError_t)host_ask()->word[0];
}

static uint64_t answer_any_copy(int to_symbol)
{
    size_t at = 0;
    const struct copy *came = device_data(&at, sizeof *came);
    if (came == NULL) device_refuse_message("a copy of nothing");
    struct copy c = *came;
    if ((c.symbol != 0) != to_symbol) return device_last_error(cudaErrorInvalidSymbol);
    return answer_copy(&c);
}

/** A copy from a variable: @c symbol_bytes is of the variable @c from. */
struct symbol_copy {
    struct copy copy;
    uint64_t waits;
};

cudaError_t gate_simt_copy_from_symbol(void *to, const void *symbol, size_t symbol_bytes, size_t bytes,
                                       size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream,
                                       const char *call)
{
    boundary_not_in_kernel("cudaMemcpyFromSymbol", SITE);
    const struct symbol_copy c = {{(uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)symbol, bytes,
                                   (uint64_t)kind, (uint64_t)(uintptr_t)stream, 0, symbol_bytes, offset},
                                  strstr(call, "Async") == NULL};
    (void)host_question(CALL_simt_copy_from_symbol, SITE);
    (void)host_append(&c, sizeof c);
    return (cudaError_t)host_ask()->word[0];
}

/* Within the device it is carried out; to the host it is refused, as any copy is. */
static uint64_t answer_copy_from_symbol(void)
{
    size_t at = 0;
    const struct symbol_copy *came = device_data(&at, sizeof *came);
    if (came == NULL) device_refuse_message("a copy of nothing");
    const struct copy c = came->copy;
    const char *const call = came->waits ? "cudaMemcpyFromSymbol" : "cudaMemcpyFromSymbolAsync";
    void *const to = (void *)(uintptr_t)c.to;
    const int to_device = simt_is_on_device(to);
    if (!device_handle_is_good('s', c.stream)) return device_last_error(cudaErrorInvalidResourceHandle);
    if (!to_device && !runtime_host_is_kept_out()) return device_last_error(cudaErrorNotPermitted);
    return (uint64_t)simt_copy_from_symbol(
        to_device ? to : elsewhere, (const void *)(uintptr_t)c.from, c.symbol_bytes,
        to_device || c.bytes < sizeof elsewhere ? c.bytes : sizeof elsewhere, c.offset,
        (enum cudaMemcpyKind)c.kind, (cudaStream_t)(uintptr_t)c.stream, call);
}

/* ---- tensor maps --------------------------------------------------------------------------------------- */

/** Everything about a tensor map except where it is stored. */
struct map_numbers {
    uint64_t address, sizes[TENSOR_RANK], strides[TENSOR_RANK];
    uint32_t box[TENSOR_RANK], steps[TENSOR_RANK];
    uint32_t type, rank, interleave, swizzle, promotion, fill;
};

CUresult gate_cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                     void *address, const cuuint64_t *sizes, const cuuint64_t *strides,
                                     const cuuint32_t *box, const cuuint32_t *steps,
                                     CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                     CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    boundary_not_in_kernel("cuTensorMapEncodeTiled", SITE);
    if (map == NULL || (uintptr_t)map % TENSOR_MAP_ALIGNMENT != 0 || rank == 0 || rank > TENSOR_RANK ||
        sizes == NULL || box == NULL || steps == NULL || (rank > 1 && strides == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    struct map_numbers numbers = {.address = (uint64_t)(uintptr_t)address,
                                  .type = (uint32_t)type,
                                  .rank = rank,
                                  .interleave = (uint32_t)interleave,
                                  .swizzle = (uint32_t)swizzle,
                                  .promotion = (uint32_t)promotion,
                                  .fill = (uint32_t)fill};
    memcpy(numbers.sizes, sizes, rank * sizeof *sizes);
    if (rank > 1) memcpy(numbers.strides, strides, (rank - 1) * sizeof *strides);
    memcpy(numbers.box, box, rank * sizeof *box);
    memcpy(numbers.steps, steps, rank * sizeof *steps);
    (void)host_question(CALL_cuTensorMapEncodeTiled, SITE);
    (void)host_append(&numbers, sizeof numbers);
    const struct message *answer = host_ask();
    if (answer->bytes == sizeof *map) memcpy(map, answer->data, sizeof *map);
    return (CUresult)answer->word[0];
}

static uint64_t answer_tensor_map(void)
{
    CUtensorMap map;
    size_t at = 0;
    const struct map_numbers *n = device_data(&at, sizeof *n);
    if (n == NULL) device_refuse_message("a tensor map of nothing");
    const CUresult result = cuTensorMapEncodeTiled(
        &map, (CUtensorMapDataType)n->type, n->rank, (void *)(uintptr_t)n->address, n->sizes, n->strides,
        n->box, n->steps, (CUtensorMapInterleave)n->interleave, (CUtensorMapSwizzle)n->swizzle,
        (CUtensorMapL2promotion)n->promotion, (CUtensorMapFloatOOBfill)n->fill);
    if (result == CUDA_SUCCESS) device_answer_with(&map, sizeof map);
    return (uint64_t)result;
}

/* ---- nodes --------------------------------------------------------------------------------------------- */

static cudaError_t ask_for_nodes(enum boundary_call_number call, cudaGraph_t graph, cudaGraphNode_t *nodes,
                                 size_t *count, const void *site)
{
    boundary_not_in_kernel("cudaGraphGetNodes", site);
    struct message *question = host_question(call, site);
    if (count == NULL) return cudaErrorInvalidValue;
    question->word[0] = (uint64_t)(uintptr_t)graph;
    question->word[1] = nodes != NULL;
    question->word[2] = *count;
    const struct message *answer = host_ask();
    if (answer->word[0] != cudaSuccess) return (cudaError_t)answer->word[0];
    if (nodes != NULL) memset(nodes, 0, *count * sizeof *nodes);
    if (nodes != NULL && answer->bytes <= *count * sizeof *nodes) memcpy(nodes, answer->data, answer->bytes);
    if (nodes == NULL || answer->word[1] < *count) *count = answer->word[1];
    return cudaSuccess;
}

cudaError_t gate_cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    return ask_for_nodes(CALL_cudaGraphGetNodes, graph, nodes, count, SITE);
}

cudaError_t gate_cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    return ask_for_nodes(CALL_cudaGraphGetRootNodes, graph, nodes, count, SITE);
}

static uint64_t answer_nodes(cudaError_t (*get)(cudaGraph_t, cudaGraphNode_t *, size_t *))
{
    static cudaGraphNode_t node[MOST_NODES];
    const uint64_t graph = device_question.word[0];
    size_t count = device_question.word[2] < MOST_NODES ? device_question.word[2] : MOST_NODES;
    if (!device_handle_is_good('g', graph)) return device_last_error(cudaErrorInvalidValue);
    const int wanted = device_question.word[1] != 0;
    const cudaError_t error = get((cudaGraph_t)(uintptr_t)graph, wanted ? node : NULL, &count);
    if (error != cudaSuccess) return (uint64_t)error;
    device_answer_word(1, count);
    for (size_t i = 0; wanted && i < count; i++) device_give_handle('n', (uint64_t)(uintptr_t)node[i]);
    if (wanted) device_answer_with(node, count * sizeof *node);
    return cudaSuccess;
}

/* ---- a capture under way ------------------------------------------------------------------------------- */

cudaError_t gate_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                          unsigned long long *id, cudaGraph_t *graph,
                                          const cudaGraphNode_t **dependencies,
                                          const cudaGraphEdgeData **edges, size_t *count)
{
    boundary_not_in_kernel("cudaStreamGetCaptureInfo", SITE);
    static cudaGraphNode_t node[MOST_NODES];
    struct message *question = host_question(CALL_cudaStreamGetCaptureInfo, SITE);
    question->word[0] = (uint64_t)(uintptr_t)stream;
    question->word[1] = status != NULL;
    const struct message *answer = host_ask();
    if (answer->word[0] != cudaSuccess) return (cudaError_t)answer->word[0];
    *status = (enum cudaStreamCaptureStatus)answer->word[1];
    if (*status != cudaStreamCaptureStatusActive) return cudaSuccess;
    if (answer->bytes <= sizeof node) memcpy(node, answer->data, answer->bytes);
    if (id != NULL) *id = answer->word[2];
    if (graph != NULL) *graph = (cudaGraph_t)(uintptr_t)answer->word[3];
    if (dependencies != NULL) *dependencies = node;
    if (edges != NULL) *edges = NULL;
    if (count != NULL) *count = answer->bytes / sizeof *node;
    return cudaSuccess;
}

/* A call that asks for the graph of a capture and its nodes gets numbers, which are of no use before the
 * capture ends. */
static uint64_t answer_capture(void)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    cudaGraph_t graph = NULL;
    const cudaGraphNode_t *node = NULL;
    size_t count = 0;
    const uint64_t stream = device_question.word[0];
    if (!device_handle_is_good('s', stream)) return device_last_error(cudaErrorInvalidResourceHandle);
    const cudaError_t error =
        cudaStreamGetCaptureInfo((cudaStream_t)(uintptr_t)stream, device_question.word[1] ? &status : NULL,
                                 &id, &graph, &node, NULL, &count);
    device_answer_word(1, (uint64_t)status);
    device_answer_word(2, id);
    device_answer_word(3, (uint64_t)(uintptr_t)graph);
    if (node != NULL && count <= MOST_NODES) device_answer_with(node, count * sizeof *node);
    return (uint64_t)error;
}

#pragma GCC diagnostic pop

uint64_t device_answer_special(enum boundary_call_number call)
{
    switch ((int)call) {
    case CALL_simt_launch_kernel:
        return answer_launch();
    case CALL_simt_launch_attributes:
        return answer_attributes();
    case CALL_simt_launch_untyped:
        return answer_untyped();
    case CALL_simt_copy_to_symbol:
        return answer_any_copy(1);
    case CALL_simt_copy_from_symbol:
        return answer_copy_from_symbol();
    case CALL_cudaMemcpyAsync:
        return answer_any_copy(0);
    case CALL_cuTensorMapEncodeTiled:
        return answer_tensor_map();
    case CALL_cudaGraphGetNodes:
        return answer_nodes(cudaGraphGetNodes);
    case CALL_cudaGraphGetRootNodes:
        return answer_nodes(cudaGraphGetRootNodes);
    case CALL_cudaStreamGetCaptureInfo:
        return answer_capture();
    default:
        device_refuse_message("a call that is the host's own");
    }
}
