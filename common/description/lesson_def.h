/**
 * @file lesson_def.h
 * @brief Reads lesson.def, the one description of a lesson. A file may include this several times.
 *
 * A reader defines the words that it wants as macros and includes this file. The other words expand to nothing, and
 * afterwards none of them is defined. LESSON_DEF is the description that is read. Without it, it is the one of the lesson that the
 * build compiles the file for.
 *
 * Of the lesson:
 *
 *     LESSON(number, topic, title)   comes first
 *     ARCHITECTURE(least, last)      GPUs older than sm_`least` cannot run it. If `last` is not 0 it is built for sm_`last`a,
 *                                    whose instructions later GPUs lack, so that they cannot run it either
 *     NCCL()                         its ranks are several GPUs, and NCCL opens sockets
 *     METRICS(title, ...)            what `warpwise profile` shows; without it, everything
 *     SHOWN_BY(case)                 the case that it shows, if none is named; without it, the first one of group speed
 *     SANITIZED(case, ...)           cases that tests/gpu/verify.sh runs under compute-sanitizer: every kernel, every path
 *     COUNTED(case, ...)             cases whose counters verify.sh compares with the software device's
 *     FAMILY(attention | gemm)       common/runner/families/ has the call; without it, common/runner/lessons/ has
 *     TEST_MUTANTS(most)             mutants that the preset `test` judges, if other than usual
 *     TRACED(case)                   a small case whose lanes diverge: the tests add up traces of all its blocks
 *     PYTHON(library)                the Python package calls its entry points
 *     TEST_STEPS(selftest)           the steps of the page are tested in `selftest` only
 *
 * Of a part. What stands before the first part belongs to all of them:
 *
 *     PART(ID, name, points)                                        PART_ID is its number
 *     ENTRY(name, (parameters), kind(parameter), ...)               a function that returns enum kernel_status
 *     WORKSPACE(name, (parameters), kind(parameter), ...)           one that says how much workspace there must be
 *     FUNCTION(result, name, (parameters), kind(parameter), ...)    one that returns something else
 *     PROCEDURE(name, (parameters), kind(parameter), ...)           one that returns nothing
 *     POINTER(name, role, dtype, alignment, null, extent, ...)      memory on the device that they are given
 *     SCRATCH(name)                                                 the workspace
 *     REPORT(name)                                                  an output of the runner itself, which is compared, too
 *
 * Of arguments, as a case of the checker has them (protocol/), for the table of promises (checker/promises):
 *
 *     ARGS(at)                           value[at] = 1: the struct of all arguments is NULL
 *     EXTENT(name, at, least)            value[at], which is refused below `least`
 *     STRIDE(name, at, multiple)         value[at], how far it is from row to row; a multiple of `multiple`
 *     OPTION(name, at, first, last)      value[at], which is refused outside of `first` to `last`
 *     STORAGE(name, at)                  value[at], an enum dtype
 *     SCALAR(name, at)                   real[at], which is refused unless it is finite
 *     LEAST_CHIP(least)                  the part is refused by GPUs older than sm_`least`, though the lesson is not
 *     STATUS_WORD(at, fault)             extent[at], what the status word on the device holds before the call; a kernel that
 *                                        finds values on the device invalid sets it, as where extent[fault] is not 0
 *
 * Of promises, for the part that it stands in, or for all:
 *
 *     SHOWN(promise, cases)              the lesson's own cases that show it: names with * and ?, separated by blanks
 *     NOT_HELD(promise, reason)          the contract does not make it, or this device cannot hold it
 *     LIKE(promise, case)                which case those that show it are made of; without it, a small one
 *
 * `promise` is the name of a row, "workspace.larger", or of a kind, "workspace". What is not held may be one extent of a
 * row, "extent.far q_len"; of "refusal.order" an extent whose limits, or "workspace", which, the contract looks at in another order
 * than most.
 *
 * How a parameter gets from one process to the other:
 *
 *     PLAIN      a number or a device pointer          GIVEN     a pointer to a struct of the host's; or NULL
 *     STREAM     a stream                              FILLED    the same, never NULL
 *     FLOAT      a float                               HOLDING   the same, with the handles that HANDLES names
 *     DOUBLE     a double                              HANDLE    a pointer to a pointer that the function sets
 *
 *     HANDLES(struct, STREAM_IN(field), EVENT_IN(field), COMMUNICATOR_IN(field), ...)   of the struct's `count` elements `at`
 *
 * A role is IN, OUT or INOUT; a dtype is F32, F16, BF16, I32 or S8; an alignment is in bytes, or ELEMENT: that of an element;
 * null is REQUIRED, LAST (the same, and looked at after what lessons share), OPTIONAL, or CHOSEN: may be
 * NULL, and other arguments of the case say whether it is. What depends on other arguments is a set: OUT | INOUT, 4 | 16. Extents are words: where
 * the same word stands, the extent is the same; `any` stands for whatever extents there are.
 */
/** @cond */
#ifndef LESSON_DEF
#define LESSON_DEF "lesson.def"
#endif

#ifndef LESSON
#define LESSON(number, topic, title)
#endif
#ifndef ARCHITECTURE
#define ARCHITECTURE(least, last)
#endif
#ifndef NCCL
#define NCCL()
#endif
#ifndef METRICS
#define METRICS(...)
#endif
#ifndef SHOWN_BY
#define SHOWN_BY(test_case)
#endif
#ifndef SANITIZED
#define SANITIZED(...)
#endif
#ifndef COUNTED
#define COUNTED(...)
#endif
#ifndef PART
#define PART(id, name, points)
#endif
#ifndef ENTRY
#define ENTRY(name, parameters, ...)
#endif
#ifndef WORKSPACE
#define WORKSPACE(name, parameters, ...)
#endif
#ifndef FUNCTION
#define FUNCTION(result, name, parameters, ...)
#endif
#ifndef PROCEDURE
#define PROCEDURE(name, parameters, ...)
#endif
#ifndef HANDLES
#define HANDLES(type, ...)
#endif
#ifndef POINTER
#define POINTER(name, role, dtype, alignment, null, ...)
#endif
#ifndef SCRATCH
#define SCRATCH(name)
#endif
#ifndef REPORT
#define REPORT(name)
#endif
#ifndef ARGS
#define ARGS(at)
#endif
#ifndef EXTENT
#define EXTENT(name, at, least)
#endif
#ifndef STRIDE
#define STRIDE(name, at, multiple)
#endif
#ifndef OPTION
#define OPTION(name, at, first, last)
#endif
#ifndef STORAGE
#define STORAGE(name, at)
#endif
#ifndef SCALAR
#define SCALAR(name, at)
#endif
#ifndef LEAST_CHIP
#define LEAST_CHIP(least)
#endif
#ifndef STATUS_WORD
#define STATUS_WORD(at, fault)
#endif
#ifndef SHOWN
#define SHOWN(promise, cases)
#endif
#ifndef NOT_HELD
#define NOT_HELD(promise, reason)
#endif
#ifndef LIKE
#define LIKE(promise, test_case)
#endif

/* Only CMake reads these. */
#define FAMILY(name)
#define TEST_MUTANTS(most)
#define TEST_STEPS(suite)
#define TRACED(test_case)
#define PYTHON(library)

/* The device memory that the structs of several lessons name. */
#define ATTENTION_TENSORS(dtype, alignment, out, lse)                                                        \
    POINTER("q", IN, dtype, alignment, REQUIRED, batch, heads, q_len, head_dim)                              \
    POINTER("k", IN, dtype, alignment, REQUIRED, batch, kv_heads, kv_len, head_dim)                          \
    POINTER("v", IN, dtype, alignment, REQUIRED, batch, kv_heads, kv_len, head_dim)                          \
    POINTER("out", out, dtype, alignment, REQUIRED, batch, heads, q_len, head_dim)                           \
    POINTER("lse", lse, F32, ELEMENT, OPTIONAL, batch, heads, q_len)                                         \
    SCRATCH("workspace")                                                                                     \
    LIKE("extent.far", "square_64")                                                                          \
    ARGS(AT_NULL_ARGS)                                                                                       \
    EXTENT("batch", AT_BATCH, 1)                                                                             \
    EXTENT("heads", AT_HEADS, 1)                                                                             \
    EXTENT("kv_heads", AT_KV_HEADS, 1)                                                                       \
    EXTENT("q_len", AT_Q_LEN, 1)                                                                             \
    EXTENT("kv_len", AT_KV_LEN, 1)                                                                           \
    EXTENT("head_dim", AT_HEAD_DIM, 1)                                                                       \
    OPTION("causal", AT_CAUSAL, 0, 1)                                                                        \
    STORAGE("dtype", AT_DTYPE)                                                                               \
    SCALAR("scale", AT_SCALE)
#define BACKWARD_TENSORS(dtype)                                                                              \
    POINTER("q", IN, dtype, 16, REQUIRED, batch, heads, q_len, head_dim)                                     \
    POINTER("k", IN, dtype, 16, REQUIRED, batch, kv_heads, kv_len, head_dim)                                 \
    POINTER("v", IN, dtype, 16, REQUIRED, batch, kv_heads, kv_len, head_dim)                                 \
    POINTER("out", IN, dtype, 16, REQUIRED, batch, heads, q_len, head_dim)                                   \
    POINTER("dout", IN, dtype, 16, REQUIRED, batch, heads, q_len, head_dim)                                  \
    POINTER("lse", IN, F32, ELEMENT, REQUIRED, batch, heads, q_len)                                          \
    POINTER("dq", OUT, dtype, 16, CHOSEN, batch, heads, q_len, head_dim)                                     \
    POINTER("dk", OUT, dtype, 16, CHOSEN, batch, kv_heads, kv_len, head_dim)                                 \
    POINTER("dv", OUT, dtype, 16, CHOSEN, batch, kv_heads, kv_len, head_dim)                                 \
    SCRATCH("workspace")                                                                                     \
    ARGS(BW_NULL_ARGS)                                                                                       \
    EXTENT("batch", BW_BATCH, 1)                                                                             \
    EXTENT("heads", BW_HEADS, 1)                                                                             \
    EXTENT("kv_heads", BW_KV_HEADS, 1)                                                                       \
    EXTENT("q_len", BW_Q_LEN, 1)                                                                             \
    EXTENT("kv_len", BW_KV_LEN, 1)                                                                           \
    EXTENT("head_dim", BW_HEAD_DIM, 1)                                                                       \
    OPTION("causal", BW_CAUSAL, 0, 1)                                                                        \
    OPTION("deterministic", BW_IS_DETERMINISTIC, 0, 1)                                                       \
    STORAGE("dtype", BW_DTYPE)                                                                               \
    SCALAR("scale", 0)
#define DECODE_TENSORS(dtype, alignment, out)                                                                \
    POINTER("q", IN, dtype, alignment, REQUIRED, batch, q_len, heads, head_dim)                              \
    POINTER("k_cache", IN, dtype, alignment, REQUIRED, batch, max_len, kv_stride)                            \
    POINTER("v_cache", IN, dtype, alignment, REQUIRED, batch, max_len, kv_stride)                            \
    POINTER("out", out, dtype, 4, REQUIRED, batch, q_len, heads, head_dim)                                   \
    ARGS(DC_NULL_ARGS)                                                                                       \
    EXTENT("batch", DC_BATCH, 1)                                                                             \
    EXTENT("heads", DC_HEADS, 1)                                                                             \
    EXTENT("kv_heads", DC_KV_HEADS, 1)                                                                       \
    EXTENT("head_dim", DC_HEAD_DIM, 1)                                                                       \
    EXTENT("q_len", DC_Q_LEN, 1)                                                                             \
    EXTENT("max_len", DC_MAX_LEN, 1)                                                                         \
    EXTENT("kv_stride", DC_KV_STRIDE, 1)                                                                     \
    STRIDE("kv_stride", DC_KV_STRIDE, 8)                                                                     \
    STORAGE("dtype", DC_DTYPE)                                                                               \
    SCALAR("scale", 0)
#define GEMM_MATRICES(in, out, c)                                                                            \
    POINTER("a", IN, in, ELEMENT, REQUIRED, a_rows, lda)                                                     \
    POINTER("b", IN, in, ELEMENT, REQUIRED, b_rows, ldb)                                                     \
    POINTER("c", c, out, ELEMENT, REQUIRED, m, ldc)                                                          \
    LIKE("extent.far", "square_64")                                                                          \
    ARGS(GEMM_NULL_ARGS)                                                                                     \
    EXTENT("m", GEMM_M, 1)                                                                                   \
    EXTENT("n", GEMM_N, 1)                                                                                   \
    EXTENT("k", GEMM_K, 0)                                                                                   \
    EXTENT("lda", GEMM_LDA, 1)                                                                               \
    EXTENT("ldb", GEMM_LDB, 1)                                                                               \
    EXTENT("ldc", GEMM_LDC, 1)                                                                               \
    STRIDE("lda", GEMM_LDA, 1)                                                                               \
    STRIDE("ldb", GEMM_LDB, 1)                                                                               \
    STRIDE("ldc", GEMM_LDC, 1)                                                                               \
    OPTION("trans_a", GEMM_TRANS_A, 0, 1)                                                                    \
    OPTION("trans_b", GEMM_TRANS_B, 0, 1)
/* Those of struct gemm_args that a product of bytes has not. */
#define GEMM_FLOATS                                                                                          \
    STORAGE("dtype_in", GEMM_DTYPE_IN)                                                                       \
    STORAGE("dtype_out", GEMM_DTYPE_OUT)                                                                     \
    SCALAR("alpha", GEMM_ALPHA)                                                                              \
    SCALAR("beta", GEMM_BETA)

#include LESSON_DEF

#undef LESSON_DEF
#undef LESSON
#undef ARCHITECTURE
#undef NCCL
#undef METRICS
#undef SHOWN_BY
#undef SANITIZED
#undef COUNTED
#undef PART
#undef ENTRY
#undef WORKSPACE
#undef FUNCTION
#undef PROCEDURE
#undef HANDLES
#undef POINTER
#undef SCRATCH
#undef REPORT
#undef ARGS
#undef EXTENT
#undef STRIDE
#undef OPTION
#undef STORAGE
#undef SCALAR
#undef LEAST_CHIP
#undef STATUS_WORD
#undef SHOWN
#undef NOT_HELD
#undef LIKE
#undef FAMILY
#undef TEST_MUTANTS
#undef TRACED
#undef PYTHON
#undef TEST_STEPS
#undef ATTENTION_TENSORS
#undef BACKWARD_TENSORS
#undef DECODE_TENSORS
#undef GEMM_MATRICES
#undef GEMM_FLOATS
#undef PLAIN
#undef STREAM
#undef FLOAT
#undef DOUBLE
#undef GIVEN
#undef FILLED
#undef HOLDING
#undef HANDLE
#undef STREAM_IN
#undef EVENT_IN
#undef COMMUNICATOR_IN
/** @endcond */
