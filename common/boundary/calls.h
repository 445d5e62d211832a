/**
 * @file calls.h
 * @brief The one list of what a student's object file may call on the other side, and of what only its host code may call.
 *        Both processes and the linker's renaming are made from it.
 *
 * A parameter is a letter:
 *
 *     i  a number of 32 bits       s e g x n c  a stream, event, graph, executable graph, node, communicator: checked to be one
 *     w  one of 64 bits, or a      k          a kernel: checked to be one
 *        device address            S E G X    where the handle of a new one is to be put
 *     I  where an int is to be put, or W, 64 bits; what is there before is sent along
 *     P A B U  likewise a cudaDeviceProp, cudaFuncAttributes, cudaPointerAttributes, cudaGraphExecUpdateResultInfo
 */
#pragma once

/** @brief X(name, parameters): CUDA's functions whose parameters say all there is to know. */
#define BOUNDARY_CALLS(X)                                                                                    \
    X(cudaGetLastError, "")                                                                                  \
    X(cudaPeekAtLastError, "")                                                                               \
    X(cudaSetDevice, "i")                                                                                    \
    X(cudaGetDevice, "I")                                                                                    \
    X(cudaGetDeviceProperties, "Pi")                                                                         \
    X(cudaDeviceGetAttribute, "Iii")                                                                         \
    X(cudaFuncGetAttributes, "Ak")                                                                           \
    X(cudaFuncSetAttribute, "kii")                                                                           \
    X(cudaFuncSetCacheConfig, "ki")                                                                          \
    X(cudaPointerGetAttributes, "Bw")                                                                        \
    X(cudaOccupancyMaxActiveBlocksPerMultiprocessor, "Ikiw")                                                 \
    X(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, "Ikiwi")                                       \
    X(cudaMemsetAsync, "wiws")                                                                               \
    X(cudaMemset2DAsync, "wwiwws")                                                                           \
    X(cudaStreamCreate, "S")                                                                                 \
    X(cudaStreamCreateWithFlags, "Si")                                                                       \
    X(cudaStreamCreateWithPriority, "Sii")                                                                   \
    X(cudaStreamDestroy, "s")                                                                                \
    X(cudaStreamQuery, "s")                                                                                  \
    X(cudaStreamGetFlags, "sI")                                                                              \
    X(cudaStreamGetPriority, "sI")                                                                           \
    X(cudaStreamWaitEvent, "sei")                                                                            \
    X(cudaStreamBeginCapture, "si")                                                                          \
    X(cudaStreamEndCapture, "sG")                                                                            \
    X(cudaStreamIsCapturing, "sI")                                                                           \
    X(cudaThreadExchangeStreamCaptureMode, "I")                                                              \
    X(cudaEventCreate, "E")                                                                                  \
    X(cudaEventCreateWithFlags, "Ei")                                                                        \
    X(cudaEventRecord, "es")                                                                                 \
    X(cudaEventRecordWithFlags, "esi")                                                                       \
    X(cudaEventQuery, "e")                                                                                   \
    X(cudaEventDestroy, "e")                                                                                 \
    X(cudaGraphCreate, "Gi")                                                                                 \
    X(cudaGraphDestroy, "g")                                                                                 \
    X(cudaGraphInstantiate, "Xgw")                                                                           \
    X(cudaGraphInstantiateWithFlags, "Xgw")                                                                  \
    X(cudaGraphLaunch, "xs")                                                                                 \
    X(cudaGraphUpload, "xs")                                                                                 \
    X(cudaGraphExecUpdate, "xgU")                                                                            \
    X(cudaGraphExecDestroy, "x")                                                                             \
    X(cudaGraphNodeGetType, "nI")                                                                            \
    X(ncclGroupStart, "")                                                                                    \
    X(ncclGroupEnd, "")                                                                                      \
    X(ncclAllReduce, "wwwiics")                                                                              \
    X(ncclReduceScatter, "wwwiics")                                                                          \
    X(ncclAllGather, "wwwics")                                                                               \
    X(ncclBroadcast, "wwwiics")                                                                              \
    X(ncclSend, "wwiics")                                                                                    \
    X(ncclRecv, "wwiics")                                                                                    \
    X(ncclCommCount, "cI")                                                                                   \
    X(ncclCommUserRank, "cI")                                                                                \
    X(ncclCommGetAsyncError, "cI")

/** @brief X(name): functions with a gate of their own in special.c. */
#define BOUNDARY_SPECIAL(X)                                                                                  \
    X(simt_launch_kernel)                                                                                    \
    X(simt_launch_attributes)                                                                                \
    X(simt_launch_untyped)                                                                                   \
    X(simt_best_block_size)                                                                                  \
    X(simt_copy_to_symbol)                                                                                   \
    X(simt_copy_from_symbol)                                                                                 \
    X(cudaMemcpyAsync)                                                                                       \
    X(cuTensorMapEncodeTiled)                                                                                \
    X(cudaGraphGetNodes)                                                                                     \
    X(cudaGraphGetRootNodes)                                                                                 \
    X(cudaStreamGetCaptureInfo)

/** @brief X(name): functions of the C and C++ libraries that host code may call, if only by what the compiler makes of it, and a
 *         kernel may not (library.c). */
#define BOUNDARY_LIBRARY(X)                                                                                  \
    X(calloc)                                                                                                \
    X(realloc)                                                                                               \
    X(puts)                                                                                                  \
    X(putchar)                                                                                               \
    X(putc)                                                                                                  \
    X(fprintf)                                                                                               \
    X(fputs)                                                                                                 \
    X(fputc)                                                                                                 \
    X(fwrite)                                                                                                \
    X(fflush)                                                                                                \
    X(perror)                                                                                                \
    X(snprintf)                                                                                              \
    X(sprintf)                                                                                               \
    X(vsnprintf)                                                                                             \
    X(__printf_chk)                                                                                          \
    X(__fprintf_chk)                                                                                         \
    X(__snprintf_chk)                                                                                        \
    X(__sprintf_chk)                                                                                         \
    X(__vsnprintf_chk)                                                                                       \
    X(__memcpy_chk)                                                                                          \
    X(__memset_chk)                                                                                          \
    X(__strcpy_chk)                                                                                          \
    X(__strncpy_chk)                                                                                         \
    X(__strcat_chk)                                                                                          \
    X(memcmp)                                                                                                \
    X(memchr)                                                                                                \
    X(strerror)                                                                                              \
    X(__errno_location)                                                                                      \
    X(strlen)                                                                                                \
    X(strcmp)                                                                                                \
    X(strncmp)                                                                                               \
    X(strchr)                                                                                                \
    X(strrchr)                                                                                               \
    X(strstr)                                                                                                \
    X(strcpy)                                                                                                \
    X(strncpy)                                                                                               \
    X(strcat)                                                                                                \
    X(rand)                                                                                                  \
    X(srand)                                                                                                 \
    X(qsort)                                                                                                 \
    X(bsearch)                                                                                               \
    X(time)                                                                                                  \
    X(clock)                                                                                                 \
    X(__ctype_b_loc)                                                                                         \
    X(exit)                                                                                                  \
    X(abort)                                                                                                 \
    X(__cxa_guard_acquire)                                                                                   \
    X(__cxa_guard_release)                                                                                   \
    X(__cxa_pure_virtual)                                                                                    \
    X(_ZSt17__throw_bad_allocv)                                                                              \
    X(_ZSt20__throw_length_errorPKc)                                                                         \
    X(_ZSt28__throw_bad_array_new_lengthv)                                                                   \
    X(_ZSt24__throw_out_of_range_fmtPKcz)                                                                    \
    X(_ZSt25__throw_bad_function_callv)

/** @brief X(name): mathematical functions that write a second result through a pointer: in a kernel that
 *         is an access (library.c). */
#define BOUNDARY_RESULTS(X)                                                                                  \
    X(frexp)                                                                                                 \
    X(frexpf)                                                                                                \
    X(modf)                                                                                                  \
    X(modff)                                                                                                 \
    X(remquo)                                                                                                \
    X(remquof)                                                                                               \
    X(sincos)                                                                                                \
    X(sincosf)                                                                                               \
    X(lgamma)                                                                                                \
    X(lgammaf)                                                                                               \
    X(memcpy)                                                                                                \
    X(memmove)                                                                                               \
    X(memset)                                                                                                \
    X(nan)                                                                                                   \
    X(nanf)

/** @brief The device's own functions and variables that kernels need, each of which checks for itself. Its others are the host's: they
 *         have a gate, or no file may refer to them. */
#define BOUNDARY_MACHINE                                                                                     \
    " simt_access simt_active_mask simt_assert_fail simt_atomic_begin simt_atomic_end "                      \
    "simt_block_atomic_begin simt_block_extent simt_block_fence simt_block_index "                           \
    "simt_clock simt_cluster_fence simt_cluster_place simt_copy_begin simt_copy_commit "                     \
    "simt_copy_wait simt_fence simt_free simt_grid_extent simt_grid_is_cooperative "                         \
    "simt_grids_trigger simt_grids_wait simt_is_device_pointer simt_is_shared_pointer "                      \
    "simt_load_begin simt_malloc simt_memcpy simt_memmove simt_memset "                                      \
    "simt_note_parameter simt_printf simt_ptx_run simt_ptx_run_late simt_ptx_touch "                         \
    "simt_rank_of_pointer simt_refuse_in_kernel simt_rounding simt_self "                                    \
    "simt_shared_address simt_shared_offset simt_site_at simt_sleep simt_store_begin "                       \
    "simt_swap_checks simt_swap_end simt_thread_index simt_update_begin "                                    \
    "simtcc_dynamic_shared "

/** @brief X(name): those of them whose first parameter is the place of the call, which findings name (library.c). */
#define BOUNDARY_PLACED(X)                                                                                   \
    X(simt_block_barrier)                                                                                    \
    X(simt_block_barrier_unaligned)                                                                          \
    X(simt_cluster_arrive)                                                                                   \
    X(simt_cluster_wait)                                                                                     \
    X(simt_copies_arrive)                                                                                    \
    X(simt_grid_arrive)                                                                                      \
    X(simt_grid_barrier)                                                                                     \
    X(simt_match_all)                                                                                        \
    X(simt_match_any)                                                                                        \
    X(simt_matrix_load)                                                                                      \
    X(simt_matrix_multiply)                                                                                  \
    X(simt_matrix_store)                                                                                     \
    X(simt_mbarrier_arrive)                                                                                  \
    X(simt_mbarrier_expect)                                                                                  \
    X(simt_mbarrier_init)                                                                                    \
    X(simt_mbarrier_wait)                                                                                    \
    X(simt_misuse)                                                                                           \
    X(simt_named_barrier)                                                                                    \
    X(simt_pointer_of_rank)                                                                                  \
    X(simt_reduce)                                                                                           \
    X(simt_shuffle)                                                                                          \
    X(simt_vote)                                                                                             \
    X(simt_warp_barrier)

/** @brief X(name, what): the device's functions that only host code may call, through the headers (library.c). */
#define BOUNDARY_HOST(X)                                                                                     \
    X(simt_launch_refused, "a launch")                                                                       \
    X(simt_name_next_allocation, "cudaMalloc")

/** @brief What has no gate: it only computes, or is the device's own and checks for itself (operator new and delete; what
 *         instrumentation calls). In addition to BOUNDARY_MACHINE, __tsan_ and mathematics. */
#define BOUNDARY_FREE                                                                                        \
    " cudaGetErrorName cudaGetErrorString ncclGetErrorString stdout stderr _GLOBAL_OFFSET_TABLE_ "           \
    "abs labs llabs _Znwm _Znam _ZdlPv _ZdlPvm _ZdaPv _ZdaPvm "                                              \
    "__ubsan_handle_type_mismatch_v1 __ubsan_handle_divrem_overflow "

/** @brief X(name): all functions with a gate of their own. */
#define BOUNDARY_GATED(X)                                                                                    \
    BOUNDARY_SPECIAL(X)                                                                                      \
    BOUNDARY_LIBRARY(X)                                                                                      \
    BOUNDARY_HOST(X)                                                                                         \
    BOUNDARY_PLACED(X)                                                                                       \
    BOUNDARY_RESULTS(X)

/** @brief The prefix that functions of these lists get in a student's object file. */
#define BOUNDARY_GATE "gate_"
/** @brief The prefix of the functions that it defines. */
#define BOUNDARY_STUDENT "student_"

/** @brief The number of a call to the other side. */
enum boundary_call_number {
/** @cond */
#define NUMBER_OF(name, ...) CALL_##name,
    BOUNDARY_CALLS(NUMBER_OF) BOUNDARY_SPECIAL(NUMBER_OF)
#undef NUMBER_OF
    /** @endcond */
    CALL_COUNT
};
