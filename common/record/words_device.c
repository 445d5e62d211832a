/**
 * @file words_device.c
 * @brief The software device's sentences, by their numbers.
 *
 * Places in a sentence: {n0} a number, {x0} the same in hexadecimal, {t0} thousandths, {s0} a name, {note} the quotation, {memory}
 * what was accessed, {at} where the other actor was, {waits} who waits where. {n0:byte|bytes} chooses by one and many,
 * {n0?reads|writes} by 0, 1, 2. A sentence that begins with '+' stands below the memory that it is about.
 */
#include "words.h"

static const char *const messages[RECORD_MESSAGES] = {
    [RECORD_SAYS_HOST_CODE] = "{s0} in host code",
    [RECORD_SAYS_PTX] = "inline PTX: {note}",
    [RECORD_SAYS_PTX_NEEDS_WORDS] = "{s0} in a text that the constraint C completes",
    [RECORD_SAYS_KERNEL_LAUNCHES] = "a kernel launches {s0}; only the host can",
    [RECORD_SAYS_HOST_ONLY] = "{s0}: host code may call it, a kernel may not",
    [RECORD_SAYS_NO_FUNCTION] = "a call through a pointer that leads to no function of this file,",
    [RECORD_SAYS_PRINTF_N] = "printf in a kernel has no %n",
    [RECORD_SAYS_ASSERT] = "assertion `{note}' failed in {s0}",
    [RECORD_SAYS_TRAP] = "{s0}{n0?()|} was {n0?called|executed}",
    [RECORD_SAYS_PARTIAL_WARP] = "{s0} by a warp of {n0} threads: it takes all 32",
    [RECORD_SAYS_SHUFFLE_WIDTH] = "{s0}: width {n0} is not a power of two from 1 to 32",
    [RECORD_SAYS_TILE_SIZE] = "tiled_partition of {n0} threads: it takes 1, 2, 4, 8, 16 or 32",
    [RECORD_SAYS_COPY_SIZE] = "{s0} of {n0} bytes: it copies 4, 8 or 16",
    [RECORD_SAYS_COPY_ZEROS] = "{s0} of {n0} bytes with {n1} zeros",
    [RECORD_SAYS_COPY_READS] = "{s0} of {n0} bytes is told to read {n1}",
    [RECORD_SAYS_NO_SHARED_POINTER] = "{s0}: the pointer is none to shared memory",
    [RECORD_SAYS_CLUSTER_RANK] = "{s0}: rank {n0} of a cluster of {n1} {n1:block|blocks}",
    [RECORD_SAYS_NO_MULTICAST] = "{s0} to no block: its mask is 0",
    [RECORD_SAYS_MULTICAST_BLOCKS] = "{s0} to the blocks {x0} of a cluster of {n1}",
    [RECORD_SAYS_NO_CLUSTER] = "{s0} in a kernel that was not launched in clusters; an H200 ends it with "
                               "cudaErrorIllegalInstruction",
    [RECORD_SAYS_TENSOR_TYPE] = "{s0} on elements of the tensor map's type",
    [RECORD_SAYS_NO_TENSOR_MAP] =
        "{s0}: no tensor map lies at the address; cuTensorMapEncodeTiled makes one, and "
        "the kernel takes it as a parameter, const __grid_constant__ CUtensorMap",
    [RECORD_SAYS_TENSOR_AXES] = "{s0}: the tensor map is of {n0} axes",
    [RECORD_SAYS_TENSOR_SWIZZLE] = "{s0}: the rows of the box have {n0} bytes, fewer than the swizzle's {n1}",
    [RECORD_SAYS_FRAGMENT_UNSET] = "{s0} uses a fragment ({s1}) that nobody filled or loaded,",
    [RECORD_SAYS_LANE_ABSENT] =
        "{s0} with mask {x2} reads lane {n0}, which {n1?does not exist|takes no part}: what it "
        "gets is undefined, and the results depend on it,",
    [RECORD_SAYS_MTGP_BLOCK] =
        "{s0}: a state of MTGP32 has 256 words at a time, too few for the block: launch smaller ones",

    [RECORD_SAYS_VOTE_BARRIER] = "{s0} on barrier {n0}: this device votes at barrier 0, by all threads",
    [RECORD_SAYS_BARRIER_OUTSIDE_SHARED] =
        "{s0} outside shared memory: between blocks, launch two kernels or use "
        "cooperative groups' grid.sync()",
    [RECORD_SAYS_BARRIER_NUMBER] = "{s0}: barrier {n0}; a block has barriers 0 to 15",
    [RECORD_SAYS_BARRIER_THREADS] = "{s0}: {n0} threads; the number must be a multiple of 32",
    [RECORD_SAYS_BARRIER_OTHER_THREADS] =
        "{s0}: barrier {n0} for {n1} threads, where others have come to it for {n2}",
    [RECORD_SAYS_BARRIER_LANES] = "{s0}: lanes of one warp come to different barriers",
    [RECORD_SAYS_NOT_COOPERATIVE] =
        "{s0} in a kernel whose blocks need not be there at once: launch it by cudaLaunchCooperativeKernel",
    [RECORD_SAYS_CLUSTER_TWICE] = "{s0} twice by one thread, with no barrier.cluster.wait between",
    [RECORD_SAYS_CLUSTER_NOT_ARRIVED] = "{s0} by a thread that has not arrived (barrier.cluster.arrive)",
    [RECORD_SAYS_SPINS] = "a thread waits for ever for a value to change,",
    [RECORD_SAYS_BLOCKS_ABSENT] = "{n0} blocks wait for ever at {s0}, which the other blocks never reach,",
    [RECORD_SAYS_LANES_ENDED] = "{s0} with mask {x0}, but lanes {x1} of the warp have ended without it,",
    [RECORD_SAYS_LANE_NOT_NAMED] = "{s0} with mask {x0} by lane {n1}, which the mask does not name,",
    [RECORD_SAYS_WAIT_DIFFERENT] = "threads of one block wait at different barriers: {waits},",
    [RECORD_SAYS_WAIT_SPLIT_WARP] =
        "part of a warp waits at a barrier, the rest of it has ended without it: {waits},",
    [RECORD_SAYS_WAIT_PRODUCT] =
        "a warpgroup waits for a wgmma.mma_async that not all of its warps issue: {waits},",
    [RECORD_SAYS_WAIT_FOR_EVER] = "threads wait for each other for ever: {waits},",
    [RECORD_SAYS_REGISTERS_PART] = "setmaxnreg by a part of a warpgroup,",
    [RECORD_SAYS_REGISTERS_SUM] =
        "setmaxnreg: the block's warps ask for {n0} registers together, an SM has {n1}: an "
        "increase waits for ever,",

    [RECORD_SAYS_MBARRIERS_MOST] = "more than {n0} mbarriers in a block",
    [RECORD_SAYS_MBARRIER_ELSEWHERE] =
        "{s0}: the bytes go to one block of the cluster, and the mbarrier is another one's",
    [RECORD_SAYS_MBARRIER_AGAIN] =
        "+initialised again while {n0} asynchronous copies have yet to report to it",
    [RECORD_SAYS_MBARRIER_INVALIDATED] =
        "+invalidated while {n0} asynchronous copies have yet to report to it",
    [RECORD_SAYS_MBARRIER_ARRIVALS] =
        "+{n0} arrive, of the {n1} arrivals of phase {n2} {n3} are missing, and {n4} of its bytes",
    [RECORD_SAYS_MBARRIER_COMPLETES] = "+an arrival with .noComplete completes phase {n0}",
    [RECORD_SAYS_MBARRIER_STATE] = "+waits with a state of phase {n0}, in phase {n1}",
    [RECORD_SAYS_MBARRIER_EARLY_END] =
        "+phase {n0} ends when {n1} bytes have come of {n2} expected, and {n3} asynchronous operations that "
        "report to it are still under way",
    [RECORD_SAYS_MBARRIER_OVERTAKEN] =
        "+phase {n0} may end while a warp is still in its wait for the phase before",

    [RECORD_SAYS_NO_WARPGROUP] =
        "{s0} by a warp that is in no warpgroup: the block has {n0} threads, and a warpgroup is "
        "four whole warps, the first a multiple of four",
    [RECORD_SAYS_PRODUCTS_DIFFER] = "the lanes of a warp, or the warps of a warpgroup, come to different "
                                    "wgmma.mma_async: all 128 threads "
                                    "give the same instruction, descriptors and scale-d",
    [RECORD_SAYS_PRODUCT_SHAPE] = "the accumulator registers belong to a wgmma.mma_async of another shape or "
                                  "other registers that is in "
                                  "flight: wgmma.wait_group comes first",
    [RECORD_SAYS_PRODUCT_UNFENCED] =
        "wgmma.mma_async uses registers that were accessed since the last wgmma.fence, or there was none",
    [RECORD_SAYS_PRODUCT_REGISTERS] = "accumulator registers of a wgmma.mma_async in flight",
    [RECORD_SAYS_PRODUCT_REGISTERS_GONE] =
        "accumulator registers of a wgmma.mma_async in flight, overwritten or out of scope,",
    [RECORD_SAYS_PRODUCT_LEFT] = "a wgmma.mma_async is in flight when the kernel ends,",

    [RECORD_SAYS_DIVISION] = "an integer division by zero,",
    [RECORD_SAYS_TRAPPING] = "an instruction that traps,",
    [RECORD_SAYS_STACK_FULL] = "the stack of a thread is full (64 KB of local memory),",
    [RECORD_SAYS_WIDE_LOCAL] = "a wide access to local memory,",
    [RECORD_SAYS_NO_MEMORY] = "an address with no memory",
    [RECORD_SAYS_BLOCK_ENDLESS] = "a block has not ended after {t0} s of CPU time",
    [RECORD_SAYS_INTERRUPTED] = "interrupted; of the blocks that have not ended the first is here,",
    [RECORD_SAYS_CALL_ENDLESS] =
        "the call has not ended after {t0} s of CPU time in host code: no kernel is running",

    [RECORD_SAYS_CLUSTER_DIMS] =
        "instances of {s0} have different __cluster_dims__: name its template arguments in the launch",
    [RECORD_SAYS_STATIC_SHARED] =
        "kernel {s0} declares {n0} bytes of __shared__ variables, but {n1} is all that "
        "nvcc accepts: use dynamic shared memory",
    [RECORD_SAYS_LAUNCH_UNDER] = "the launch of {s1} at {at} was refused: its {s0} is 0",
    [RECORD_SAYS_LAUNCH_OVER] = "the launch of {s1} at {at} was refused: its {s0} is {n0}, at most {n1}",
    [RECORD_SAYS_LAUNCH_SHARED] = "the launch of {s1} at {at} was refused: it takes {n0} bytes of dynamic "
                                  "shared memory and may take {n1}; "
                                  "cudaFuncSetAttribute allows it up to {n2} here",
    [RECORD_SAYS_DYNAMIC_PARALLELISM] =
        "dynamic parallelism is not supported (launch from the host): the kernel {s0} is launched",
    [RECORD_SAYS_NOT_GLOBAL] = "{s0} is launched, but is not __global__",
    [RECORD_SAYS_KERNEL_TYPE] =
        "the kernel's type is lost in a void pointer: name the kernel in cudaLaunchKernel or "
        "cudaLaunchKernelEx",
    [RECORD_SAYS_GRID_HELD] = "{n2?a cooperative launch|a launch with clusters} of {n0} blocks: this device "
                              "can hold {n1} at once; launch "
                              "fewer, with a loop over the rest in the kernel",
    [RECORD_SAYS_GRID_HUGE] = "{s0} is launched with more than 2^32 blocks",

    [RECORD_SAYS_HOST_TOUCHES] = "host code {n0?reads|writes} device memory: {memory}",
    [RECORD_SAYS_HOST_MEMORY_GONE] =
        "{s0} of a graph {n0?reads|writes} {n1} bytes of host memory that, since it was captured, "
        "{n2?was freed|was moved by realloc|went out of scope: its function has returned}",
    [RECORD_SAYS_FREED_BEFORE] = "{s0}: freed before: {memory}",
    [RECORD_SAYS_NOT_DEVICE_MEMORY] = "{s0}: the pointer is not device memory",
    [RECORD_SAYS_NO_START] = "{s0}: not the start of an allocation: {memory}",
    [RECORD_SAYS_DEVICE_AS_HOST] = "{s0} {n0?reads|writes} device memory as if it were host memory: {memory}",
    [RECORD_SAYS_HOST_AS_DEVICE] =
        "{s0} {n0?reads|writes|fills} {n1} bytes of host memory as if it were device memory",
    [RECORD_SAYS_RANGE] = "{s0} {n0?reads|writes|fills} {n1} bytes: {memory}",
    [RECORD_SAYS_NO_SYMBOL] = "{s0}: the variable is neither __device__ nor __constant__",
    [RECORD_SAYS_SYMBOL_RANGE] =
        "{s0} {n0?reads|writes} {n1} bytes at offset {n2} of a variable of {n3} bytes",
    [RECORD_SAYS_BRINGS_TO_HOST] = "{s0} brings device memory to the host: a kernel file may not",
    [RECORD_SAYS_READS_UNWRITTEN] = "{s0} reads what was never written: {memory}",
    [RECORD_SAYS_COPIES_UNWRITTEN] =
        "{s0} copies {n0} bytes to the host, of which byte {n1} was never written: {memory}",
    [RECORD_SAYS_ALLOCATIONS_LEFT] =
        "{n0} {n0:allocation was|allocations were} never freed, {n1} bytes in all; the "
        "first is {s0}, {n2} bytes",
    [RECORD_SAYS_OBJECTS_LEFT] =
        "{n0} {s1}{n0:|s}{n1?| of this call} {n0:was|were} never destroyed; the first is of "
        "{s0}",
    [RECORD_SAYS_CAPTURE_LEFT] = "{s0}: the capture was never ended",

    [RECORD_SAYS_ALSO_BESIDE] = "+which is {n0} bytes {n1?past the end of|before the start of} {s0}",
    [RECORD_SAYS_INDEX_WRAPS] =
        "+index {n0} lies in it, and is 2^32 from this one: an index of 32 bits has overflowed",
    [RECORD_SAYS_OTHER_USE] = "+that other use is {s0} at {at}",
    [RECORD_SAYS_STREAM_USE] =
        "{s0} {n0?reads|writes} what {s1} at {at}, in a stream that this one does not wait for, "
        "may still be {n1?reading|writing}: {memory}",
    [RECORD_SAYS_STREAM_TOUCH] =
        "{s0} {n0?reads|writes} what a kernel, in a stream that this one does not wait for, "
        "may still be {n1?reading|writing} at {at}: {memory}",
    [RECORD_SAYS_KERNEL_DEVICE] = "+the kernel runs on device {n0}, and this is memory of device {n1}",
    [RECORD_SAYS_CALLED_DEVICE] =
        "{s0} {n0?reads|writes} memory of device {n1} and calls it that of device {n2}: {memory}",
    [RECORD_SAYS_RANK_DEVICE] =
        "{s0} of rank {n1}, whose communicator is of device {n2}, {n0?reads|writes} memory of "
        "device {n3}: {memory}",
    [RECORD_SAYS_RANK_STREAM] =
        "{s0} of rank {n0}, whose communicator is of device {n1}, uses a stream of device {n2}",
    [RECORD_SAYS_RANKS_DIFFER] = "the ranks do not call the same",
    [RECORD_SAYS_SEND_DIFFERS] = "a send and the receive that belongs to it differ",
    [RECORD_SAYS_RANKS_HANG] =
        "ranks wait for ranks that do not come{n0?|, and nothing has happened for a while}",
    [RECORD_SAYS_OTHER_PROCESS] =
        "ncclCommInitRank: the unique id is of another process; on the software device ranks "
        "are threads of one process",

    [RECORD_SAYS_OTHER_STREAM] = "{n0?|kernel }{s0} {n0?is called for|is launched on} {n1?the default stream "
                                 "of the thread, not on the one "
                                 "that was given|the legacy default stream, not on the one that was given|a "
                                 "stream that does not wait for the "
                                 "one that was given: record an event there, and let this stream wait for "
                                 "it|a stream that the given one does "
                                 "not wait for before the entry point returns}",
    [RECORD_SAYS_ENTRY_WAITS] =
        "{s0} in an entry point, which launches and returns; whoever called it waits when it needs to",
    [RECORD_SAYS_ENTRY_ALLOCATES] =
        "{s0} in an entry point, which is given all the memory it needs: it allocates none, frees none",
    [RECORD_SAYS_ENTRY_MAKES] =
        "{s0} in an entry point, which launches and returns: it makes and destroys nothing",
    [RECORD_SAYS_WRITES_KEPT] =
        "{s0} writes {n0?an input|what lies between two rows of the output}: {memory}",
    [RECORD_SAYS_WRITES_VARIABLE] = "{s0} writes a variable of the program, which all calls share: what a "
                                    "call keeps lies in its workspace",
    [RECORD_SAYS_WORK_REFUSED] =
        "{s0} was given to a stream before the call was refused: all checks come first, so that a call that "
        "is refused leaves no trace",
    [RECORD_SAYS_GROUP_OPEN] =
        "the entry point returns with a group open: ncclGroupStart without ncclGroupEnd, so that "
        "nothing in it has begun",

    [RECORD_SAYS_MTGP_MISSING] =
        "the parameters of MTGP32 come from curand_mtgp32dc_p_11213.h of a CUDA Toolkit, which is not in "
        "/usr/local/cuda, /usr, or where CUDA_HOME says: install one, or take another generator",
    [RECORD_SAYS_SOBOL_SCRAMBLED] = "what scrambles Sobol sequences is NVIDIA's own: it comes from "
                                    "libcurand.so.10, which is not installed",
    [RECORD_SAYS_SOBOL_DIMENSIONS] =
        "this device has {n0} dimensions of Sobol sequences and not {n1}: the others come "
        "from libcurand.so.10, which is not installed",
    [RECORD_SAYS_NO_TEXTURES] = "{s0}: textures (read plain memory) are not supported on the software device",
    [RECORD_SAYS_NO_ARRAYS] =
        "{s0}: CUDA arrays (use cudaMalloc, or cudaMallocPitch) are not supported on the software device",
    [RECORD_SAYS_NO_ARRAY_VOLUMES] =
        "{s0}: a CUDA array of three dimensions is not supported on the software device",
    [RECORD_SAYS_NO_LAUNCH_ATTRIBUTE] =
        "{s0}: this attribute of a launch is not supported on the software device",
    [RECORD_SAYS_NO_NCCL_CAPTURE] =
        "{s0}: NCCL in a stream under capture is not supported on the software device",
    [RECORD_SAYS_NO_SUM_OF_BYTES] =
        "{s0}: a sum of elements of 8 bits with a fraction is not supported on the software device",
    [RECORD_SAYS_NO_BLAS_IN_LESSONS] =
        "{s0}: cuBLAS in a kernel file of a lesson is not supported on the software device",
    [RECORD_SAYS_NO_BLAS_CAPTURE] =
        "{s0}: cuBLAS in a stream under capture is not supported on the software device",
    [RECORD_SAYS_NO_GRAPH_ALLOCATION] =
        "{s0}: an allocation that belongs to a graph is not supported on the software device",
    [RECORD_SAYS_NO_MAPPED_MEMORY] = "{s0}: memory of the program's own that is mapped into the device (use "
                                     "cudaHostAlloc) is not supported on the software device",
    [RECORD_SAYS_NO_DEVICE_GRAPH] = "{s0}: launch from a kernel is not supported on the software device",
    [RECORD_SAYS_NO_INTERLEAVE] = "{s0}: an interleaved layout is not supported on the software device",
    [RECORD_SAYS_NO_TF32] =
        "{s0}: rounding to TF32 (take FLOAT32, and round where the elements are used) is not "
        "supported on the software device",
    [RECORD_SAYS_NO_IM2COL] = "{s0}: the im2col mode of tensor maps is not supported on the software device",
};

static const char *const advices[RECORD_ADVICES] = {
    [RECORD_ADVICE_BARRIER] = "no barrier (__syncthreads, or __syncwarp within a warp) is between the two",
    [RECORD_ADVICE_ONE_ELEMENT] = "the same line of both writes it: does its index tell these threads "
                                  "(lanes, warps) apart? Else a barrier is missing",
    [RECORD_ADVICE_CLUSTER_BARRIER] =
        "no barrier of the cluster (barrier.cluster.arrive.release, then .wait.acquire; "
        "cluster_group::sync) is between the two",
    [RECORD_ADVICE_BLOCKS_UNORDERED] = "blocks run in any order, and nothing orders these two (in the one a "
                                       "__threadfence, then an atomic; in the other an atomic, then a "
                                       "__threadfence, could)",
    [RECORD_ADVICE_READ_ONLY] =
        "__ldg and ld.global.nc read what the kernel does not write; what it does write they may "
        "miss, whatever the order",
    [RECORD_ADVICE_BLOCKS_WRITE] = "blocks run in any order, and nothing orders these two writes: is the "
                                   "same element computed twice, by two "
                                   "blocks, or does each have a part of it, to be added by an atomic?",
    [RECORD_ADVICE_BLOCK_SCOPE] =
        "an atomic of block scope (atomicAdd_block and its like) is one for its own block only",
    [RECORD_ADVICE_GRID_DEPENDENCY] =
        "that kernel may still be running: wait for it, by cudaGridDependencySynchronize() or what the "
        "course wraps it in, wait_for_kernel_before()",
    [RECORD_ADVICE_GRID_WRITES] = "two kernels write it, and the other one may still be running: is an "
                                  "element computed twice? If it has to be, this kernel "
                                  "waits first, by cudaGridDependencySynchronize() or what the course wraps "
                                  "it in, wait_for_kernel_before()",
    [RECORD_ADVICE_STREAMS_SHARE] =
        "two calls on two streams run at the same time, and both use it: what a call keeps from one "
        "kernel to the next belongs in its own workspace",
    [RECORD_ADVICE_GRID_DEPENDENCY_BETWEEN] =
        "that kernel may still be running: the one between did not "
        "wait for it (cudaGridDependencySynchronize(), in the course wait_for_kernel_before())",
    [RECORD_ADVICE_GRID_DEPENDENCY_CALLER] =
        "it is launched early, and the kernel that the caller launched before in this stream may still be "
        "using the memory: wait "
        "for it, by cudaGridDependencySynchronize() or what the course wraps it in, wait_for_kernel_before()",
    [RECORD_ADVICE_STREAM_IN_USE] =
        "another stream may still be using it: let this stream wait for an event that comes after that use",

    [RECORD_ADVICE_COPY_WAIT] = "the copy lands when its thread has waited (__pipeline_wait_prior, "
                                "cp.async.wait_group); other threads need a barrier after that",
    [RECORD_ADVICE_BULK_WAIT] =
        "its bytes are there when the phase of the mbarrier is over that they count in: wait for that phase "
        "(mbarrier.try_wait), in a loop, before; or begin the copy later, if what was there is still to be "
        "read",
    [RECORD_ADVICE_BULK_PHASE] = "the thread has waited for an earlier phase of the copy's mbarrier, not for "
                                 "the one that these bytes count "
                                 "in: is the parity right? Or has the copy begun too early?",
    [RECORD_ADVICE_DISTANT_COPY_WAIT] =
        "a copy is under way to there: who waited for it must come to a barrier of the "
        "cluster before another block touches what it brought",
    [RECORD_ADVICE_BULK_SOURCE] =
        "a bulk store may read its source until its own thread has waited for the group "
        "(cp.async.bulk.wait_group.read), a copy to shared memory until its mbarrier has the bytes; other "
        "threads "
        "need a barrier after that",
    [RECORD_ADVICE_DISTANT_BULK_SOURCE] =
        "a bulk copy may read its source until its own thread has waited for it; "
        "other blocks need a barrier of the cluster after that",
    [RECORD_ADVICE_STORE_LEFT] = "the block ended before the store's thread had waited for its reads "
                                 "(cp.async.bulk.wait_group.read)",
    [RECORD_ADVICE_COPY_LEFT] = "the block ended before anybody had waited for the copy",
    [RECORD_ADVICE_SENT_LATE] = "the block ended before it had waited for what another one sends it",
    [RECORD_ADVICE_OPERAND_OVERWRITTEN] =
        "wgmma.mma_async reads its operands at any time until a wgmma.wait_group that covers its group: "
        "whoever "
        "overwrites them must come after that wait of every warpgroup that reads them, by a barrier or by an "
        "mbarrier on which each of them has arrived",
    [RECORD_ADVICE_PRODUCT_WAIT] = "wgmma.mma_async writes its accumulators at any time until a "
                                   "wgmma.wait_group that covers its group: commit "
                                   "the group, and wait for it before",
    [RECORD_ADVICE_PRODUCT_LEFT] =
        "wait for it: wgmma.commit_group and wgmma.wait_group 0 before the last warp returns",
    [RECORD_ADVICE_PRODUCT_FENCE] =
        "wgmma.fence comes between an access to a register, by all four warps, and the "
        "wgmma that uses it; and before the first wgmma",
    [RECORD_ADVICE_PROXY_GLOBAL] =
        "the copy goes through the asynchronous proxy, the other access did not: a fence.proxy.async, not "
        "one for "
        "shared memory only, by the thread that made it, then a barrier, must be between them",
    [RECORD_ADVICE_PROXY_WRITE] =
        "the copy goes through the asynchronous proxy, the write did not: a fence.proxy.async "
        "by the thread that wrote, then a barrier, must be between them",
    [RECORD_ADVICE_PROXY_READ] = "the copy goes through the asynchronous proxy and may overtake the read: a "
                                 "fence.proxy.async must be between them",
    [RECORD_ADVICE_PROXY_PRODUCT] =
        "wgmma reads shared memory through the asynchronous proxy, the write did not go through it: a "
        "fence.proxy.async by the thread that wrote, then a barrier, must be between them",
    [RECORD_ADVICE_PROXY_CLUSTER] = "the copy goes through the asynchronous proxy, the write did not: a "
                                    "fence.proxy.async by the thread that "
                                    "wrote, then a barrier of the cluster, must be between them",
    [RECORD_ADVICE_PROXY_MBARRIER] =
        "the copy reports to an mbarrier through the asynchronous proxy, which need not know yet that it is "
        "initialised: a fence.mbarrier_init.release.cluster (or fence.proxy.async) by the thread that "
        "initialised "
        "it, then a barrier, must be between",

    [RECORD_ADVICE_SHARED_UNWRITTEN] = "nothing was written there since the block began",
    [RECORD_ADVICE_DEVICE_UNWRITTEN] = "this device memory was never written",
    [RECORD_ADVICE_LANE_ABSENT] = "let every lane that is read take part, with a value that changes nothing; "
                                  "or use only what comes from lanes "
                                  "that do",
    [RECORD_ADVICE_FRAGMENT_FIRST] = "fill_fragment or load_matrix_sync must come first",
    [RECORD_ADVICE_INPUT] =
        "an input may be in use by others: it is read, and never written, not even with what it holds",
    [RECORD_ADVICE_PADDING] = "this lies between two rows of the output and belongs to somebody else",
    [RECORD_ADVICE_VARIABLE] = "all calls share a variable, and two of them may run at the same time: what a "
                               "call keeps from kernel to kernel lies in its workspace",
    [RECORD_ADVICE_CONSTANT] = "a kernel cannot write __constant__ memory",

    [RECORD_ADVICE_FREED_BEFORE_LAUNCH] = "the memory was freed before the launch",
    [RECORD_ADVICE_FREED_BEFORE] = "it has been freed before",
    [RECORD_ADVICE_KERNEL_HEAP] = "free() in a kernel takes what malloc() in a kernel gave",
    [RECORD_ADVICE_DYNAMIC_BYTES] = "the launch asked for less dynamic shared memory",
    [RECORD_ADVICE_NULL] = "the pointer is null, or nearly",
    [RECORD_ADVICE_HOST_MEMORY] = "this is host memory; a kernel needs device memory (cudaMalloc)",
    [RECORD_ADVICE_NO_MEMORY] = "there is no memory at this address",
    [RECORD_ADVICE_INDEX_WRAPS] = "compute it in 64 bits: (size_t)row * width + column",
    [RECORD_ADVICE_VARIABLE_ENDS] = "the address was computed from a variable that ends before it",
    [RECORD_ADVICE_LOCAL_ENDS] = "this is beyond the end of a local array or variable",
    [RECORD_ADVICE_OTHERS_LOCAL] =
        "this is local memory of another thread, and only its own thread can reach that: "
        "pass values by shared memory or shuffles",
    [RECORD_ADVICE_FUNCTION_POINTER] = "the pointer is null, was never set, or is a host function's: a "
                                       "device function's address is taken in device code",
    [RECORD_ADVICE_STACK] = "too deep a recursion, or too large a local array",
    [RECORD_ADVICE_PEER_ACCESS] =
        "let the kernel's device reach it by cudaDeviceEnablePeerAccess, or copy it by cudaMemcpyPeerAsync",
    [RECORD_ADVICE_COPY_TARGET] = "an asynchronous copy goes to shared memory",
    [RECORD_ADVICE_COPY_SOURCE] = "an asynchronous copy comes from global memory",
    [RECORD_ADVICE_COMPILER_COPY] = "a copy that the compiler has made",
    [RECORD_ADVICE_NOT_GLOBAL] = "this is shared memory, and the instruction says .global",
    [RECORD_ADVICE_GENERIC] =
        "this is a generic pointer: .shared takes what __cvta_generic_to_shared makes of it",
    [RECORD_ADVICE_GENERIC_CUT] =
        "this is a generic pointer cut to 32 bits: .shared takes what __cvta_generic_to_shared makes of it",
    [RECORD_ADVICE_NO_SHARED] = "the block has no shared memory at this 32-bit address",
    [RECORD_ADVICE_OTHER_BLOCK] =
        "this is an address of another block of the cluster: only instructions that say "
        ".shared::cluster take it",
    [RECORD_ADVICE_NO_CLUSTER_SHARED] = "no block of the cluster has shared memory at this 32-bit address",
    [RECORD_ADVICE_BLOCK_LEFT] =
        "a block's shared memory is gone when its last thread has ended: a barrier of the "
        "cluster after the last access of others, by all of them, keeps it",
    [RECORD_ADVICE_BLOCK_NOT_BEGUN] =
        "nothing says that this block has begun: a barrier of the cluster must come before "
        "the first access to its shared memory",
    [RECORD_ADVICE_MATRIX_ENDS] =
        "the matrix that a descriptor of wgmma describes goes on outside of its shared memory: "
        "are its leading and stride offsets right?",
    [RECORD_ADVICE_MBARRIER_OTHER_BLOCK] =
        "this is an mbarrier of another block of the cluster, where one may only arrive",
    [RECORD_ADVICE_MBARRIER_SHARED] = "an mbarrier lies in shared memory",
    [RECORD_ADVICE_MAP_SHARED] =
        "a tensor map must lie in global or constant memory, or in a parameter that is const "
        "__grid_constant__; this one lies in shared memory",
    [RECORD_ADVICE_MAP_PARAMETER] =
        "the kernel's parameter is not __grid_constant__, so that its address is that of a copy in local "
        "memory, "
        "where no tensor copy can read it: write const __grid_constant__ CUtensorMap",
    [RECORD_ADVICE_MAP_LOCAL] =
        "a tensor map must lie in global or constant memory, or in a parameter that is const "
        "__grid_constant__; this one is a copy in local memory",

    [RECORD_ADVICE_ALIGN] = "an access of N bytes needs an address that is a multiple of N",
    [RECORD_ADVICE_ALIGN_LOCAL] =
        "in local memory, an array that is read or written 16 bytes at a time, as float4, needs alignas(16)",
    [RECORD_ADVICE_ALIGN_LOCAL_WIDE] = "a local array that is read or written as float4 needs alignas(16)",
    [RECORD_ADVICE_ALIGN_COPY] = "an asynchronous copy of N bytes needs addresses that are multiples of N",
    [RECORD_ADVICE_ALIGN_BULK] = "a bulk copy needs addresses and sizes that are multiples of 16",
    [RECORD_ADVICE_ALIGN_TENSOR_SHARED] =
        "a tensor copy needs an address of shared memory that is a multiple of 128",
    [RECORD_ADVICE_ALIGN_TENSOR_COORDINATE] =
        "a tensor copy's first coordinate times the bytes of an element must be a multiple of 16",
    [RECORD_ADVICE_ALIGN_MAP] = "a tensor map needs an address that is a multiple of 64",
    [RECORD_ADVICE_ALIGN_MBARRIER] = "an mbarrier needs an address that is a multiple of 8",
    [RECORD_ADVICE_ALIGN_TILE] = "the tile of a warp matrix operation must begin at a multiple of 32 bytes",
    [RECORD_ADVICE_TILE_LINES_1] = "the leading dimension of a tile of bytes must be a multiple of 16",
    [RECORD_ADVICE_TILE_LINES_2] = "the leading dimension of a tile of half must be a multiple of 8",
    [RECORD_ADVICE_TILE_LINES_4] = "the leading dimension of a tile of float must be a multiple of 4",
    [RECORD_ADVICE_TILE_LINES_8] = "the leading dimension of a tile of double must be a multiple of 2",
    [RECORD_ADVICE_ALIGN_ROW] = "a row of ldmatrix or stmatrix begins at a multiple of 16 bytes",
    [RECORD_ADVICE_ALIGN_DESCRIPTOR_A] =
        "the descriptor of A: the swizzle's pattern begins at a multiple of 8 rows of its width (128 B: "
        "1024, 64 B: "
        "512, 32 B: 256), so must the matrix, or its base offset say how far it is from there",
    [RECORD_ADVICE_ALIGN_DESCRIPTOR_B] =
        "the descriptor of B: the swizzle's pattern begins at a multiple of 8 rows of its width (128 B: "
        "1024, 64 B: "
        "512, 32 B: 256), so must the matrix, or its base offset say how far it is from there",

    [RECORD_ADVICE_LATER_BLOCK] =
        "nobody changes it; or a block that has not begun would, and too many wait for that one",
    [RECORD_ADVICE_GRID_BARRIER] = "all threads of the grid must come to the barrier of a cooperative launch",
    [RECORD_ADVICE_MASK_NAMES] = "a lane may only take part in an operation whose mask names it",
    [RECORD_ADVICE_MASK_COMES] =
        "all lanes named in the mask must come to the operation: is it inside an if, or does a "
        "thread return before it?",
    [RECORD_ADVICE_SAME_BARRIER] = "all threads of a block must come to the same __syncthreads",
    [RECORD_ADVICE_ALL_THREADS] =
        "all threads of a block must come to __syncthreads: is it inside an if, or does a "
        "thread return before it?",
    [RECORD_ADVICE_WARPGROUP_TOGETHER] =
        "the four warps of a warpgroup, the first a multiple of four, execute every wgmma together",
    [RECORD_ADVICE_GPU_HANGS] =
        "a barrier or warp operation that some threads never reach; on a GPU the kernel hangs",
    [RECORD_ADVICE_PHASE_NEVER_ENDS] = "a phase that never ends: on a GPU the kernel hangs",
    [RECORD_ADVICE_BYTES_EQUAL] =
        "the bytes that are expected and those that copies bring must be equal: on a GPU the "
        "kernel hangs",
    [RECORD_ADVICE_REGISTERS_TOGETHER] = "all four warps of a warpgroup execute the same setmaxnreg",
    [RECORD_ADVICE_REGISTERS_GIVE] =
        "the other warpgroups must give registers back (setmaxnreg.dec) before one can have more",
    [RECORD_ADVICE_LOOP] = "a loop whose condition never becomes false, or one that takes far too many steps",
    [RECORD_ADVICE_SEND_GROUP] =
        "a send waits for its receive: a rank that does both groups them (ncclGroupStart, ncclGroupEnd)",
    [RECORD_ADVICE_RANK_GROUP] =
        "a host thread that calls for several ranks groups its calls (ncclGroupStart, ncclGroupEnd)",

    [RECORD_ADVICE_MBARRIER_COPIES] = "wait for all copies before",
    [RECORD_ADVICE_MBARRIER_COUNT] =
        "an arrival too many: it was initialised for fewer than arrive in a phase",
    [RECORD_ADVICE_MBARRIER_NO_COMPLETE] = "take mbarrier.arrive without .noComplete",
    [RECORD_ADVICE_MBARRIER_STATE] = "a state holds for its own phase and the one after it",
    [RECORD_ADVICE_MBARRIER_EXPECT] =
        "expect the bytes of all of them (mbarrier.arrive.expect_tx), tensor elements out of range included",
    [RECORD_ADVICE_MBARRIER_OVERTAKEN] =
        "who arrives has to know that all warps have left the wait (an arrival of each warp, or bar.sync "
        "before the one arrival); a warp that is late waits for ever",
    [RECORD_ADVICE_MBARRIER_NONE] = "no mbarrier has been initialised there (mbarrier.init)",
    [RECORD_ADVICE_MBARRIER_INVALIDATED] = "the mbarrier there has been invalidated (mbarrier.inval)",
    [RECORD_ADVICE_MBARRIER_OVERWRITTEN] = "the mbarrier there has been overwritten since it was initialised",
    [RECORD_ADVICE_MBARRIER_ARRIVALS] = "the number of arrivals must be from 1 to 1048575",
    [RECORD_ADVICE_MBARRIER_BYTES] = "an mbarrier counts no more than 1048575 bytes",
};

const char *record_message_words(int message)
{
    return message > 0 && message < RECORD_MESSAGES && messages[message] != NULL ? messages[message] : "";
}

const char *record_advice_words(int advice)
{
    return advice > 0 && advice < RECORD_ADVICES && advices[advice] != NULL ? advices[advice] : "";
}
