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
 * null is REQUIRED or OPTIONAL. What depends on other arguments is a set: OUT | INOUT, 4 | 16. Extents are words: where
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

/* Only CMake reads these. */
#define FAMILY(name)
#define TEST_MUTANTS(most)
#define TEST_STEPS(suite)

/* The device memory that the structs of several lessons name. */
#define ATTENTION_TENSORS(dtype, alignment, out, lse)                                                        \
    POINTER("q", IN, dtype, alignment, REQUIRED, batch, heads, q_len, head_dim)                              \
    POINTER("k", IN, dtype, alignment, REQUIRED, batch, kv_heads, kv_len, head_dim)                          \
    POINTER("v", IN, dtype, alignment, REQUIRED, batch, kv_heads, kv_len, head_dim)                          \
    POINTER("out", out, dtype, alignment, REQUIRED, batch, heads, q_len, head_dim)                           \
    POINTER("lse", lse, F32, ELEMENT, OPTIONAL, batch, heads, q_len)                                         \
    SCRATCH("workspace")
#define BACKWARD_TENSORS(dtype)                                                                              \
    POINTER("q", IN, dtype, 16, REQUIRED, batch, heads, q_len, head_dim)                                     \
    POINTER("k", IN, dtype, 16, REQUIRED, batch, kv_heads, kv_len, head_dim)                                 \
    POINTER("v", IN, dtype, 16, REQUIRED, batch, kv_heads, kv_len, head_dim)                                 \
    POINTER("out", IN, dtype, 16, REQUIRED, batch, heads, q_len, head_dim)                                   \
    POINTER("dout", IN, dtype, 16, REQUIRED, batch, heads, q_len, head_dim)                                  \
    POINTER("lse", IN, F32, ELEMENT, REQUIRED, batch, heads, q_len)                                          \
    POINTER("dq", OUT, dtype, 16, OPTIONAL, batch, heads, q_len, head_dim)                                   \
    POINTER("dk", OUT, dtype, 16, OPTIONAL, batch, kv_heads, kv_len, head_dim)                               \
    POINTER("dv", OUT, dtype, 16, OPTIONAL, batch, kv_heads, kv_len, head_dim)                               \
    SCRATCH("workspace")
#define DECODE_TENSORS(dtype, alignment, out)                                                                \
    POINTER("q", IN, dtype, alignment, REQUIRED, batch, q_len, heads, head_dim)                              \
    POINTER("k_cache", IN, dtype, alignment, REQUIRED, batch, max_len, kv_stride)                            \
    POINTER("v_cache", IN, dtype, alignment, REQUIRED, batch, max_len, kv_stride)                            \
    POINTER("out", out, dtype, 4, REQUIRED, batch, q_len, heads, head_dim)
#define GEMM_MATRICES(in, out, c)                                                                            \
    POINTER("a", IN, in, ELEMENT, REQUIRED, a_rows, lda)                                                     \
    POINTER("b", IN, in, ELEMENT, REQUIRED, b_rows, ldb)                                                     \
    POINTER("c", c, out, ELEMENT, REQUIRED, m, ldc)

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
#undef FAMILY
#undef TEST_MUTANTS
#undef TEST_STEPS
#undef ATTENTION_TENSORS
#undef BACKWARD_TENSORS
#undef DECODE_TENSORS
#undef GEMM_MATRICES
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
