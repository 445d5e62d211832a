/**
 * @file record.h
 * @brief What went wrong, as a record: what kind of thing, where, who did it, which memory, which value, what it usually comes of.
 *
 * Whoever finds something writes a record: the software device, the runner, the checker, a compiler's driver, the grader. A
 * record travels in shared memory and in files; it holds no pointers and has one size. Programs decide by its fields and by
 * nothing else. words.c turns a record into English, at the very end; no other file does, and nothing reads that English
 * again.
 *
 * A record that comes from a runner is untrusted: whoever takes one calls record_is_sound() on a copy of it first.
 */
#pragma once

#include "messages.h"

#include <stddef.h>
#include <stdint.h>

enum {
    /** changes with the layout of struct record and with the numbers of its enumerations */
    RECORD_VERSION = 1,
    RECORD_TEXT = 64,  /**< bytes of a name, with its terminator */
    RECORD_NOTE = 400, /**< bytes of a quotation, with its terminator */
    RECORD_AXES = 4,
    RECORD_FRAMES = 3,
    RECORD_NUMBERS = 8,
    RECORD_NAMES = 3,
    RECORD_REALS = 2,
    RECORD_WAITS = 5,
    RECORD_WAIT_NUMBERS = 6,
};

/** @brief Who found it. */
enum record_origin {
    RECORD_NOBODY,
    RECORD_DEVICE,
    RECORD_RUNNER,
    RECORD_CHECKER,
    RECORD_COMPILER,
    RECORD_GRADER,
    RECORD_ORIGINS
};

/**
 * @brief Every kind of mistake, with the name it has in reports, in CSV and JSON, and in `killed-by:` lines.
 *
 * The first block is the software device's (compute-sanitizer's words where it has one), the second the runner's and the
 * checker's.
 */
#define RECORD_KINDS(X)                                                                                      \
    X(RECORD_OUT_OF_BOUNDS, "out-of-bounds")                                                                 \
    X(RECORD_MISALIGNED, "misaligned")                                                                       \
    X(RECORD_UNINITIALIZED_READ, "uninitialized-read")                                                       \
    X(RECORD_SHARED_RACE, "shared-race")                                                                     \
    X(RECORD_GLOBAL_RACE, "global-race")                                                                     \
    X(RECORD_SAME_VALUE_RACE, "same-value-race")                                                             \
    X(RECORD_UNWRITTEN_BORDER, "unwritten-border")                                                           \
    X(RECORD_MISSING_WAIT, "missing-wait")                                                                   \
    X(RECORD_DIVERGENT_BARRIER, "divergent-barrier")                                                         \
    X(RECORD_DEADLOCK, "deadlock")                                                                           \
    X(RECORD_USE_AFTER_FREE, "use-after-free")                                                               \
    X(RECORD_HOST_POINTER, "host-pointer")                                                                   \
    X(RECORD_HOST_WAIT, "host-wait")                                                                         \
    X(RECORD_HOST_ALLOCATION, "host-allocation")                                                             \
    X(RECORD_WRONG_STREAM, "wrong-stream")                                                                   \
    X(RECORD_INPUT_WRITTEN, "input-written")                                                                 \
    X(RECORD_PADDING_WRITTEN, "padding-written")                                                             \
    X(RECORD_VARIABLE_WRITTEN, "variable-written")                                                           \
    X(RECORD_LEAK, "leak")                                                                                   \
    X(RECORD_UNSUPPORTED, "unsupported")                                                                     \
    X(RECORD_ENDLESS, "endless")                                                                             \
    X(RECORD_ASSERT, "assert")                                                                               \
    X(RECORD_BARRIER_PHASE, "barrier-phase")                                                                 \
    X(RECORD_BULK_GROUP, "bulk-group")                                                                       \
    X(RECORD_MISSING_PROXY_FENCE, "missing-proxy-fence")                                                     \
    X(RECORD_MISSING_FENCE, "missing-fence")                                                                 \
    X(RECORD_CLUSTER_EXIT, "cluster-exit")                                                                   \
    X(RECORD_TENSOR_MAP, "tensor-map")                                                                       \
    X(RECORD_WRONG_DEVICE, "wrong-device")                                                                   \
    X(RECORD_STREAM_RACE, "stream-race")                                                                     \
    X(RECORD_COLLECTIVE_MISMATCH, "collective-mismatch")                                                     \
    X(RECORD_COLLECTIVE_HANG, "collective-hang")                                                             \
    X(RECORD_TRAP, "trap")                                                                                   \
    /* the runner's and the checker's */                                                                     \
    X(RECORD_WRONG_VALUE, "wrong-value")                                                                     \
    X(RECORD_LARGE_ERROR, "large-error")                                                                     \
    X(RECORD_BROKEN_IDENTITY, "broken-identity")                                                             \
    X(RECORD_BROKEN_PROPERTY, "broken-property")                                                             \
    X(RECORD_NEVER_WRITTEN, "never-written")                                                                 \
    X(RECORD_DEPENDS_ON_OUTPUT, "depends-on-output")                                                         \
    X(RECORD_WRONG_BITS, "wrong-bits")                                                                       \
    X(RECORD_RUNS_DIFFER, "runs-differ")                                                                     \
    X(RECORD_WROTE_INPUT, "wrote-input")                                                                     \
    X(RECORD_WROTE_OUTSIDE, "wrote-outside")                                                                 \
    X(RECORD_WROTE_REFUSED, "wrote-refused")                                                                 \
    X(RECORD_WRONG_STATUS, "wrong-status")                                                                   \
    X(RECORD_WRONG_WORKSPACE, "wrong-workspace")                                                             \
    X(RECORD_OWN_MEMORY, "own-memory")                                                                       \
    X(RECORD_CUDA_ERROR, "cuda-error")                                                                       \
    X(RECORD_PRINTS, "prints")                                                                               \
    X(RECORD_WROTE_ARGS, "wrote-args")                                                                       \
    X(RECORD_TIMED_CALL, "timed-call")                                                                       \
    X(RECORD_NOT_STARTED, "not-started")                                                                     \
    X(RECORD_CRASH, "crash")                                                                                 \
    X(RECORD_TIME_LIMIT, "time-limit")                                                                       \
    X(RECORD_MEMORY_LIMIT, "memory-limit")                                                                   \
    X(RECORD_NO_DEVICE, "no-device")                                                                         \
    X(RECORD_BROKEN_CHECK, "broken-check")                                                                   \
    X(RECORD_SEEN_BEFORE, "seen-before") /* by an earlier case, whose finding of the device it is */

/** @cond */
#define RECORD_KIND_NUMBER(number, name) number,
/** @endcond */
/** @brief What went wrong, of RECORD_KINDS. */
enum record_kind { RECORD_NO_KIND, RECORD_KINDS(RECORD_KIND_NUMBER) RECORD_KIND_COUNT };
#undef RECORD_KIND_NUMBER

/** @brief Which memory an access was of. */
enum record_space {
    RECORD_SPACE_NONE,
    RECORD_SPACE_GLOBAL,   /**< a buffer that was allocated */
    RECORD_SPACE_VARIABLE, /**< a __device__ or __constant__ variable */
    RECORD_SPACE_SHARED,   /**< a __shared__ variable */
    RECORD_SPACE_DYNAMIC,  /**< dynamic shared memory */
    RECORD_SPACE_LOCAL,    /**< a thread's own array */
    RECORD_SPACE_HOST,
    RECORD_SPACE_UNKNOWN, /**< an address that nothing is at */
    RECORD_SPACES
};

/** @brief What became of the memory an access was of. */
enum record_state {
    RECORD_STATE_LIVE,
    RECORD_STATE_FREED,
    RECORD_STATE_NOWHERE, /**< the address lies in no allocation */
    RECORD_STATES
};

/** @brief What an actor did. */
enum record_operation {
    RECORD_NO_OPERATION, /**< the actor is not there */
    RECORD_READ,
    RECORD_WRITE,
    RECORD_ATOMIC,
    RECORD_AT, /**< neither: it waited, called or ended there */
    RECORD_OPERATIONS
};

/** @brief How much of the cause a record names. */
enum record_certainty {
    RECORD_NO_CAUSE,
    RECORD_WHERE_ONLY, /**< where the wrong elements lie */
    RECORD_ROUNDING,   /**< the errors are small multiples of what rounding explains */
    RECORD_CAUSE,      /**< what was done wrong */
    RECORD_CERTAINTIES
};

/** @brief A place in a source file. */
struct record_line {
    char file[RECORD_TEXT]; /**< as people want to read it; "": unknown */
    int32_t line;           /**< 0: unknown */
    /** in the program, where the line is not known and may be looked up; 0: nothing to look up */
    uint64_t address;
};

/** @brief Who did what where: one half of a race, or all of another finding. */
struct record_actor {
    int32_t operation;        /**< enum record_operation; RECORD_NO_OPERATION: nobody */
    uint32_t block[3];        /**< where a kernel runs; else nobody's */
    uint32_t thread[3];       /**< of that block */
    char kernel[RECORD_TEXT]; /**< where it was another launch's than the record's; "": the same */
    /** innermost call first; those behind the last known one are empty */
    struct record_line at[RECORD_FRAMES];
};

/** @brief What was accessed. */
struct record_memory {
    int32_t space;            /**< enum record_space */
    int32_t state;            /**< enum record_state */
    char buffer[RECORD_TEXT]; /**< as the contract or the source calls it; "": it has no name */
    int32_t rank;             /**< of index; 0: index[0] counts bytes from the start of the buffer */
    /** 1: it is an array of the source, written tile[2][5]; 0: a buffer, written out[2,5] */
    int32_t subscripts;
    int64_t index[RECORD_AXES]; /**< of the element, an entry for each axis */
    uint64_t byte;              /**< of that element, where the access begins */
    uint64_t element;           /**< bytes of an element; 0: unknown */
    uint64_t bytes;             /**< of the access; 0: unknown */
    uint64_t size;              /**< of the buffer in bytes; 0: unknown */
    uint64_t before;            /**< bytes from the access to its start; 0: it begins behind that */
    uint64_t past;              /**< bytes from its end to the access, and 1 more; 0: it begins inside */
    int32_t crossing;           /**< 1: it begins inside and reaches past the end */
    int32_t device;          /**< 1 + the number of the device that has it, where there are several; else 0 */
    uint64_t address;        /**< where that tells more than an index; else 0 */
    struct record_line made; /**< where it was allocated, if the name does not say it */
    uint32_t blocks;         /**< of the cluster, if it is shared memory of another block; else 0 */
    uint32_t rank_of_block;  /**< its rank in the cluster */
    uint32_t block[3];       /**< its index in the grid */
};

/** @brief What threads wait for, in numbers. */
enum record_waiting {
    RECORD_WAIT_NONE,
    RECORD_WAIT_BARRIER, /**< number[]: none */
    RECORD_WAIT_MASK,    /**< a warp's operation. number[]: its mask */
    RECORD_WAIT_NAMED, /**< a barrier by number. number[]: which, threads that have come, that are to come */
    RECORD_WAIT_MBARRIER, /**< number[]: phase, arrivals missing, arrivals in all, bytes come, bytes expected, RECORD_MBARRIER_... */
    RECORD_WAIT_RANK, /**< of NCCL. number[]: rank, type + 1, operation + 1, root + 1, peer + 1 (to it 1, from it 2 in [5]); index: elements */
    RECORD_WAIT_ABSENT, /**< a rank that does not come. number[]: rank, enum record_absence */
    RECORD_WAITINGS
};
enum {
    RECORD_MBARRIER_SURPLUS = 1 /**< bytes of an earlier phase count */,
    RECORD_MBARRIER_UNTOUCHED = 2 /**< nobody has arrived */
};

/** @brief Why a rank does not come. */
enum record_absence {
    RECORD_ABSENT_SILENT,
    RECORD_ABSENT_UNMADE,
    RECORD_ABSENT_DESTROYED,
    RECORD_ABSENT_SAME_THREAD,
    RECORD_ABSENT_THREAD_ENDED,
    RECORD_ABSENT_ELSEWHERE
};

/** @brief A place where threads wait for each other: one half of a deadlock. */
struct record_wait {
    int32_t waiting;    /**< enum record_waiting; RECORD_WAIT_NONE: nobody */
    uint32_t count;     /**< of the threads */
    int32_t elsewhere;  /**< 1: in another block of the cluster than the record's, which is block[] */
    uint32_t block[3];  /**< of the first of them */
    uint32_t thread[3]; /**< the first of them */
    uint32_t number[RECORD_WAIT_NUMBERS]; /**< enum record_waiting says of what */
    /** RECORD_WAIT_MBARRIER: the element of the array that is called name, or byte; -1: it is no array */
    int64_t index;
    int32_t is_byte;        /**< 1: index counts bytes */
    char name[RECORD_TEXT]; /**< of the operation, or of the mbarrier */
    struct record_line at;  /**< where they wait */
};

/** @brief A value that is not what it should be. */
struct record_value {
    double expected;           /**< what the oracle says */
    double got;                /**< what the kernel left */
    double share;              /**< of the error budget: 1 is all that is allowed; NaN: not known */
    uint64_t wrong;            /**< elements that are wrong */
    uint64_t compared;         /**< elements that were compared */
    int64_t last[RECORD_AXES]; /**< index of the last wrong element; of the first: record_memory */
    int32_t storage;           /**< enum record_storage */
};

/** @brief How the elements of a wrong value are stored, as far as a reader is told. */
enum record_storage {
    RECORD_F32,
    RECORD_SHORT_FLOAT,
    RECORD_WHOLE,
    RECORD_NUMBERS_OF_4_BITS /**< two in a byte, eight in a word */
};

/**
 * @brief One finding.
 *
 * `message` and `advice` are numbers of sentences in words.c, which may use @c number and @c name. `note` is shown to people, and
 * no program decides by what it says: a quotation (of the program's own printf or assert, of PTX, of CUDA), or what a lesson, one of
 * its guesses or a comparison of the checker has to say about its own numbers, in a sentence of its own.
 */
struct record {
    uint32_t version; /**< RECORD_VERSION */
    int32_t origin;   /**< enum record_origin */
    int32_t kind;     /**< enum record_kind */
    /** enum record_message: what happened, where space and actors do not say it; 0: they do */
    int32_t message;
    int32_t advice;           /**< enum record_advice: what is missing, or what to do; 0: nothing to say */
    int32_t certainty;        /**< enum record_certainty, of cause */
    int32_t cause;            /**< enum record_cause: the pattern of the wrong values; 0: none */
    int32_t guess;            /**< 1 + the number of the lesson's guess that fits; 0: none */
    char kernel[RECORD_TEXT]; /**< "": none */
    struct record_actor actor[2];          /**< who; of a race both */
    struct record_memory memory;           /**< what was accessed, or the first wrong element */
    struct record_wait wait[RECORD_WAITS]; /**< those behind the last one are empty */
    uint32_t waits;                        /**< places in all, of which the first are in wait[] */
    struct record_value value;             /**< of values that are wrong */
    int64_t number[RECORD_NUMBERS];        /**< what the sentence counts */
    double real[RECORD_REALS];             /**< what it measures */
    char name[RECORD_NAMES][RECORD_TEXT];  /**< whom it names */
    char note[RECORD_NOTE];                /**< a quotation, for people only */
    uint64_t seen;                         /**< how often */
    uint64_t stamp; /**< in shared memory: which case it belongs to, written last; 0: it is not complete */
};

/** @brief The name of @p kind, or "" if there is none. Never NULL. */
const char *record_kind_name(int kind);

/** @brief The kind called @p name, or RECORD_NO_KIND: for CSV, JSON and `killed-by:` lines that come back. */
enum record_kind record_kind_of(const char *name);

/** @brief Copies @p text, cut at @p size bytes; what is not plain ASCII becomes '?'. */
void record_copy_text(char *to, size_t size, const char *text);

/** @brief 1 if a record that somebody untrusted wrote can be shown and counted: version, enumerations, terminators, no
 *         control characters. */
int record_is_sound(const struct record *record);

/** @brief 1 if both are the same line of the same file. */
int record_same_line(const struct record_line *a, const struct record_line *b);
/** @brief 1 if both actors were there, in the same lines, or neither was. */
int record_same_place(const struct record_actor *a, const struct record_actor *b);
/** @brief 1 if both tell a reader the same: kind, sentence, kernel, space and lines agree; the two actors of a race have no
 *         order. */
int record_reads_the_same(const struct record *a, const struct record *b);
