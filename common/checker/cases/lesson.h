/**
 * @file lesson.h
 * @brief What a file checker/lessons/NN_topic.c tells of its lesson, and all that the checker knows of it.
 *
 * It defines `const struct lesson lesson_NN_topic`: cases, inputs, oracle, bounds. Its counterpart in runner/lessons calls
 * the kernel; that one is linked with the student's object and learns nothing else. What both must know of an item stands
 * in protocol/.
 *
 * A *case* is one line of the table. A property is a case that is run with many random inputs; each of those,
 * and the one input of any other case, is an *item*: a case whose numbers are settled.
 */
#ifndef WARPWISE_CHECKER_LESSON_H
#define WARPWISE_CHECKER_LESSON_H

#include <stddef.h>
#include <stdint.h>

#include "contracts/kernel_status.h"
#include "base/devices.h"
#include "base/rng.h"
#include "checker/numbers/storage.h"
#include "protocol/wire.h"
#include "record/causes.h"

enum case_group {
    GROUP_BASIC,
    GROUP_EDGES,
    GROUP_NUMERICS,
    GROUP_BAD_INPUT,
    GROUP_PROPERTIES,
    GROUP_SPEED,
    GROUP_COUNT
};

/** @brief Where a case is run: a set of 1 << enum device. */
enum device_set { ON_SIMT = 1 << DEVICE_SIMT, ON_GPU = 1 << DEVICE_GPU, ON_ANY = ON_SIMT | ON_GPU };

enum {
    LESSON_NAME = 64,
    LESSON_EXTENTS = 12,
    LESSON_PARTS = 8,
    LESSON_RANK = 4,
    LESSON_COLUMNS = 5, /* names that a buffer of fields may have */
    LESSON_STARTS = 4
};

/** @brief What the checker alone knows of a case, above the flags that it shares with the runner (enum case_flags). */
enum lesson_flags {
    CASE_UNIT_SCALE = 1 << 16, /**< data of size 1: the bound is capped as well */
    /** only the workspace size is asked; the call itself is expected to be refused */
    CASE_ASK_ONLY = 1 << 17,
    /** a property whose items come in sets that must agree bit for bit; vary() leaves it to those that are compared with the
        item before them */
    CASE_SAME_BITS = 1 << 18,
    CASE_IF_WORKSPACE = 1 << 19, /**< refused for its workspace: a kernel that asked for none succeeds */
    /** a hundred inputs or more, none of them at random: each is another thing to try */
    CASE_ENUMERATES = 1 << 20,
    /** whoever adds one adds it here */
    CASE_ALL_FLAGS = CASE_SHARED_FLAGS | CASE_ONE_CALL | CASE_UNIT_SCALE | CASE_ASK_ONLY | CASE_SAME_BITS |
                     CASE_IF_WORKSPACE | CASE_ENUMERATES
};

/** @brief One case, or one item of a property. */
struct lesson_case {
    char name[LESSON_NAME]; /**< "part/name" */
    enum case_group group;
    int part;         /**< index into the lesson's parts */
    int weight;       /**< share of the part's points: weight / sum of weights; 0 for a case that runs
                                     what is given only, which neither earns nor shows that work has begun */
    unsigned devices; /**< set of enum device_set */
    int extent[LESSON_EXTENTS]; /**< what the buffers are made for; meanings are the lesson's own */
    int64_t value[WIRE_VALUES]; /**< what the kernel is told, right or wrong */
    double real[WIRE_REALS];
    int distribution;      /**< the lesson's own */
    unsigned flags;        /**< set of enum case_flags and enum lesson_flags */
    int null_buffer;       /**< which buffer is given as a null pointer, -1 for none */
    int misaligned_buffer; /**< which buffer is misaligned, -1 for none */
    int misalignment;      /**< by how many bytes */
    int start
        [LESSON_STARTS]; /**< elements between a multiple of 256 bytes and where buffer 0, 1, ... begins */
    int apart
        [LESSON_STARTS]; /**< elements from row to row of buffer 0, 1, ... on the device, where that is far more than
                                   anybody wants to fill or to compare; 0: as lesson_buffer says */
    unsigned untouched; /**< set of 1 << buffer: outputs that must stay as they were though all went well */
    unsigned
        order_free; /**< set of 1 << buffer: outputs that the contract lets blocks add to in any order: their bits may
                              differ from run to run, and the values of both runs are compared */
    enum kernel_status expected; /**< other than KERNEL_OK: nothing may be touched */
    int repeat;                  /**< number of items, 1 unless a property */
    int property;                /**< which of the lesson's properties it is, for its vary() */
    int beside;                  /**< 1 + index of the case whose time is told beside this one's; 0: none */
    uint64_t seed;               /**< of the item's inputs; set by the checker */
};

/** @brief One buffer of an item. */
struct lesson_buffer {
    const char *name;
    enum wire_role role;
    int rank;
    size_t extent[LESSON_RANK]; /**< element [i, j, ...] is row-major; printed as name[i,j,...] */
    const char
        *column[LESSON_COLUMNS]; /**< names of the last index where it counts fields ("m", "l"); or NULL */
    enum storage storage;        /**< how elements lie in device memory */
    size_t row;                  /**< elements of the last extent that count, where rows lie apart; 0: all */
    /** bytes that the contract asks its address to be a multiple of; 0: those of an element, 256 of a workspace */
    size_t align;
};

/** @brief A buffer of elements as @p storage_ says; its extents follow. */
#define LESSON_BUFFER(name_, role_, storage_, ...)                                                           \
    ((struct lesson_buffer){.name = name_,                                                                   \
                            .role = role_,                                                                   \
                            .rank = (int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)),                 \
                            .extent = {__VA_ARGS__},                                                         \
                            .storage = storage_})

/** @brief What the address of @p buffer is a multiple of by contract. */
static inline size_t lesson_align(const struct lesson_buffer *buffer)
{
    if (buffer->align > 0) return buffer->align;
    return buffer->role == WIRE_WORKSPACE ? WIRE_ALIGNMENT : storage_bytes(buffer->storage);
}

/** @brief Elements of @p buffer. What would lie behind its last row is not there. */
static inline size_t lesson_elems(const struct lesson_buffer *buffer)
{
    size_t elems = 1;
    for (int axis = 0; axis < buffer->rank; axis++) elems *= buffer->extent[axis];
    if (buffer->row == 0 || elems == 0) return elems;
    return elems - (buffer->extent[buffer->rank - 1] - buffer->row);
}

/** @brief 1 if element @p at lies between two rows: an output must keep what is there. */
static inline int lesson_between_rows(const struct lesson_buffer *buffer, size_t at)
{
    return buffer->row > 0 && at % buffer->extent[buffer->rank - 1] >= buffer->row;
}

/** @brief Bytes of @p buffer. */
static inline size_t lesson_bytes(const struct lesson_buffer *buffer)
{
    return lesson_elems(buffer) * storage_bytes(buffer->storage);
}

/**
 * @brief What a stretch of one buffer must hold. Filled by the oracle.
 *
 * The two bounds are checked apart: every element against its own, and the largest error of a whole buffer
 * against twice the largest error of a plain f32 computation, rounded to what the buffer stores, plus the largest
 * `floor`: what a right computation may lose where the plain one is lucky. See bound.h.
 */
struct lesson_span {
    int buffer;
    size_t first, count;
    double *expected; /**< [count] */
    double *bound;    /**< [count] largest error allowed */
    double *plain;    /**< [count] what a plain same-precision computation gives */
    double *floor;    /**< [count] what may be lost where the plain one is lucky */
    double *rounding; /**< [count] what rounding to 16 or 8 bits on the way may do; 0: none */
};

enum { LESSON_SPANS = 3 };

/** @brief What one call of the oracle covers. The arrays are the caller's, `capacity` long each. */
struct lesson_expectation {
    int span_count;
    struct lesson_span span[LESSON_SPANS];
    double *scratch; /**< [scratch_elems] */
    /** What expect() keeps from unit to unit of the same item, one piece of memory from malloc(); NULL at first. The caller frees it. */
    void *kept;
};

/** @brief What a call costs, by definition of the problem rather than of the kernel. */
struct lesson_cost {
    double flop;
    double min_bytes;   /**< every input read once, every output written once */
    double extra_bytes; /**< workspace by contract */
    double oracle_ops;  /**< operations of the oracle for the whole item */
    int tensor_cores; /**< 1: the device's limit for products of halves is what counts, not that of floats */
    int int8;         /**< 1: products of bytes, which tensor cores do twice as fast as those of halves */
    double kernels;   /**< that follow each other, if a time for each is worth telling; else 0 */
};

struct lesson_part {
    const char *name;
    int points;
};

/**
 * @brief What a lesson is worth beyond right results, and how fast is fast enough. Zero stands for the usual:
 *        10 and 20 points, nothing below 0.3, everything from 0.9 on.
 *
 * Speed is a ratio against the course's solution, measured in the same run: its time over the student's on a
 * GPU, its memory sectors over the student's on the software device; 1 is as good as the solution.
 */
struct lesson_credit {
    int clean_points;              /**< no finding of the software device, no crash; -1: none to be had */
    int speed_points;              /**< at the cases of GROUP_SPEED; -1: none to be had */
    double speed_none, speed_full; /**< ratios that earn nothing and everything; in a straight line between */
};

/** @brief A guess of what went wrong, at one element. */
struct lesson_guess {
    double value;            /**< what it would give there */
    int told;                /**< the first guess that tells the same */
    enum record_cause cause; /**< what it is about */
    char words[RECORD_NOTE]; /**< what to tell */
};

/** @brief A lesson, as the checker sees it. */
struct lesson {
    int number;
    const char *topic; /**< "naive_attention" */
    const char *title;
    int part_count;
    struct lesson_part part[LESSON_PARTS];
    struct lesson_credit credit;
    const char *
        turns; /**< names of inputs, between blanks: turned round so that another element comes first, they are still
                          inputs of a case of GROUP_SPEED, with another result; NULL: none */
    /** @brief Where turning changes nothing: whole numbers of input @p buffer may be any others below this; 0: not these. NULL:
     *         none. */
    uint64_t (*others_below)(const struct lesson_case *item, int buffer);
    int same_bits_anywhere; /**< 1: the contract promises the same bits whatever the alignment of the buffers */
    int least_architecture; /**< 80: a GPU older than sm_80 has not what the lesson needs, and is no device for it */
    int last_architecture; /**< 90: nor has one later than sm_90; 0: all later ones have it */
    int network;           /**< 1: its runner opens sockets on a GPU, for NCCL */
    const char *refused;   /**< what KERNEL_CUDA_ERROR usually comes of; NULL: of what a launch asks for */
    int distributions;     /**< a case's distribution is less than this; 0: the lesson has but one */

    /** @brief Writes at most @p capacity cases; returns how many there are. */
    int (*cases)(struct lesson_case *cases, int capacity);
    /** @brief Item @p index of a property: @p item is a copy of the case, with the seed of the case, to be
     *         given its own numbers and seed. @p rng is another one for every item. */
    void (*vary)(struct lesson_case *item, int index, struct rng *rng);
    /** What the axes of an output of rank 4 count, in the plural; NULL: sequences of the batch, heads, rows, columns. */
    const char *axes[4];
    /** @brief Describes the buffers of @p item; returns how many there are. */
    int (*buffers)(const struct lesson_case *item, struct lesson_buffer *buffers);
    /** @brief Fills input @p index (of what buffers() said) with @p elems floats. They are rounded to the
     *         buffer's storage type before anybody else sees them. */
    void (*fill)(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data);
    /** @brief Number of independent pieces the oracle works on: rows, as a rule. */
    size_t (*units)(const struct lesson_case *item);
    /** @brief Longest span and scratch array that expect() needs. */
    size_t (*unit_elems)(const struct lesson_case *item);
    /** @brief The oracle, for one unit. @p data are the inputs by buffer index, NULL for others. */
    void (*expect)(const struct lesson_case *item, const float *const *data, size_t unit,
                   struct lesson_expectation *expectation);
    /** @brief Where only some units are compared: an identity that a wrong element anywhere breaks. @p allowed
     *         is, by buffer, what errors may be in the root mean square, judged by the units that were compared.
     *         1 if it holds, else 0 with the reason. NULL if there is none. */
    int (*identity)(const struct lesson_case *item, const float *const *data, const float *const *got,
                    const double *allowed, uint64_t seed, char *reason, size_t size);
    /** @brief For --dump: what @p unit leaves in the workspace, which is shown and not judged. NULL if unknown;
     *         returns 0 if this item leaves nothing worth showing. @p scratch is unit_elems() long. */
    int (*intermediate)(const struct lesson_case *item, const float *const *data, size_t unit,
                        double *scratch, struct lesson_span *span);
    /** @brief What a property says beyond "equals the oracle". @p got are all buffers of this item and of
     *         the one before. Returns 1 if it holds, else 0 with the reason in @p reason. NULL if no more. */
    int (*holds)(const struct lesson_case *item, const float *const *got, const struct lesson_case *before,
                 const float *const *got_before, char *reason, size_t size);
    /** @brief Guess @p index of what went wrong, at the element at @p at of @p buffer: 1 with @p guess; 0 if it has nothing to
     *         do with it; -1 if there is no such guess. Before the call told is @p index, and cause RECORD_CAUSE_GUESS. */
    int (*guess)(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                 struct lesson_guess *guess);
    /** @brief What outputs that are right tell of the others: bit b of @p compared and of @p wrong is buffer b. NULL: nothing. */
    const char *(*stage)(const struct lesson_case *item, unsigned compared, unsigned wrong);
    /** @brief Trait @p index of a case: 1 if it has it, 0 if not, -1 if there is no such trait. If all cases
     *         with a trait fail and all others pass, @p message is told. */
    int (*trait)(const struct lesson_case *item, int index, const char **message);
    void (*cost)(const struct lesson_case *item, struct lesson_cost *cost);
    /** @brief Exact workspace by contract, SIZE_MAX if it is none of this lesson's business. */
    size_t (*workspace_bytes)(const struct lesson_case *item);
    /** @brief What to ask where an output depends on what it held before the call; NULL: the usual question. */
    const char *stale;
    /** @brief What to ask where NaN comes out that no input holds; NULL: the usual question. */
    const char *nan;
    /** @brief What the case is about, where that is not plain from its shape; NULL if it is. */
    const char *(*purpose)(const struct lesson_case *item);
    /** @brief "batch 1, heads 2, ..., causal, f32". */
    void (*describe)(const struct lesson_case *item, char *text, size_t size);
};

/** @brief A line of the list that a lesson's trait() makes of a case. */
struct trait {
    int has;
    const char *message;
};

/** @brief What trait() returns for line @p index of @p count; a case that is not @p sound has no trait. */
static inline int trait_at(const struct trait *traits, size_t count, int sound, int index,
                           const char **message)
{
    if (index >= (int)count) return -1;
    *message = traits[index].message;
    return sound && traits[index].has;
}

/** @brief Every lesson, NULL at the end; made by CMake from the files in checker/lessons/. */
extern const struct lesson *const lesson_table[];

#endif
