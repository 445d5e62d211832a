/**
 * @file lesson.h
 * @brief What a file checker/lessons/NN_topic.c says about its lesson; the checker knows nothing else of a
 *        lesson.
 *
 * It defines `const struct lesson lesson_NN_topic`: cases, inputs, oracle, bounds. Its counterpart in runner/lessons calls
 * the kernel; that one is linked with the student's object and learns nothing else. What both must know of an item stands
 * in protocol/.
 *
 * A *case* is one line of the table. A property is a case that is run with many random inputs; each of those,
 * and the one input of any other case, is an *item*: a case whose numbers are settled.
 */
#pragma once

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

/** @brief On which devices a case runs: a set of 1 << enum device. */
enum device_set { ON_SIMT = 1 << DEVICE_SIMT, ON_GPU = 1 << DEVICE_GPU, ON_ANY = ON_SIMT | ON_GPU };

enum {
    LESSON_NAME = 64,
    LESSON_EXTENTS = 12,
    LESSON_PARTS = 8,
    LESSON_RANK = 4,
    LESSON_COLUMNS = 5, /* names that a buffer of fields may have */
    LESSON_STARTS = WIRE_BUFFERS
};

/** @brief Flags that only the checker knows, above the flags that it shares with the runner (enum
 *         case_flags). */
enum lesson_flags {
    CASE_UNIT_SCALE = 1 << 16, /**< data of size 1: bound.h caps the bounds */
    /** a property whose items come in sets that must agree bit for bit; vary() leaves the flag on those
     *  items that are compared with the item before them */
    CASE_SAME_BITS = 1 << 18,
    /** refused for want of workspace: a kernel that asked for no workspace must succeed */
    CASE_IF_WORKSPACE = 1 << 19,
    /** the property enumerates a hundred inputs or more, none at random: each one tests something else */
    CASE_ENUMERATES = 1 << 20,
    /** the call gets arguments that have no meaning for it */
    CASE_MEANINGLESS = 1 << 21,
    /** all of the above: a new flag is added here, too */
    CASE_ALL_FLAGS = CASE_SHARED_FLAGS | CASE_ONE_CALL | CASE_UNIT_SCALE | CASE_SAME_BITS |
                     CASE_IF_WORKSPACE | CASE_ENUMERATES | CASE_MEANINGLESS
};

/** @brief One case, or one item of a property. */
struct lesson_case {
    char name[LESSON_NAME]; /**< "part/name" */
    enum case_group group;
    int part; /**< index into the lesson's parts */
    /** share of the part's points: weight / sum of weights; 0 for a case that runs given code only: it
     *  earns nothing, and does not show that the student has begun */
    int weight;
    unsigned devices; /**< set of enum device_set */
    /** sizes that the buffers are made for; each lesson defines their meanings */
    int extent[LESSON_EXTENTS];
    int64_t value[WIRE_VALUES]; /**< arguments that the kernel receives, right or wrong */
    double real[WIRE_REALS];
    int distribution;      /**< the lesson's own */
    unsigned flags;        /**< set of enum case_flags and enum lesson_flags */
    int null_buffer;       /**< which buffer is given as a null pointer, -1 for none */
    int misaligned_buffer; /**< which buffer is misaligned, -1 for none */
    int misalignment;      /**< by how many bytes */
    /** bytes by which the workspace is larger than the kernel asked for; if negative, the call is told of that many fewer */
    int64_t workspace_more;
    uint64_t
        workspace_most; /**< with CASE_ASK_ONLY: what the kernel may ask for where the contract leaves it a choice; SIZE_MAX: it must
                             say that, since no size would fit */
    int capability; /**< what the software device says it is: 80 for an sm_80; 0: what it is */
    /** set of 1 << row of the table of promises (checker/promises) that the case was made for; 0: it is the lesson's own */
    uint64_t shows;
    const char *about; /**< what the case tests, if the table says so: a constant; NULL: purpose() does */
    int special; /**< 1 + which of its elements are NaN or infinite, negative: NaN (promises/special.c); 0: those that fill() says */
    int scores; /**< 1 + which scores the table of promises gives it (promises/scores.c); 0: those that fill() makes */
    /** elements between a multiple of 256 bytes and the start of buffer 0, 1, ... */
    int start[LESSON_STARTS];
    /** elements from row to row of buffer 0, 1, ... on the device, for distances too large to fill or to
     *  compare; 0: as lesson_buffer says */
    int64_t apart[WIRE_BUFFERS];
    /** if total is not 0: what lies apart are not rows but three parts of an axis, of `each` of its elements; the kernel is told of all
     *  `total` of them, and the buffers here hold the parts alone */
    struct wire_parts parts;
    /** set of 1 << buffer: outputs that must stay unchanged even if the call succeeds */
    unsigned untouched;
    /** set of 1 << buffer: inputs that must not be read: nothing is written there before the call. Or the workspace: others use it */
    unsigned unread;
    /** set of 1 << buffer: outputs to which the contract lets blocks add in any order. Their bits may
     *  differ from run to run, so the values of both runs are compared with the oracle */
    unsigned order_free;
    enum kernel_status expected; /**< if other than KERNEL_OK, the call must not touch anything */
    int repeat;                  /**< number of items, 1 unless a property */
    int property;                /**< index among the lesson's properties, for its vary() */
    int beside;                  /**< 1 + index of the case whose time is shown beside this one's; 0: none */
    uint64_t seed;               /**< seed of the item's inputs; set by the checker */
};

/** @brief One buffer of an item. */
struct lesson_buffer {
    const char *name;
    enum wire_role role;
    int rank;
    size_t extent[LESSON_RANK]; /**< element [i, j, ...] is row-major; printed as name[i,j,...] */
    /** names of the last index where it selects a field ("m", "l"); or NULL */
    const char *column[LESSON_COLUMNS];
    enum storage storage; /**< how elements lie in device memory */
    size_t row;           /**< elements of the last extent that count, where rows are padded; 0: all */
    /** alignment in bytes that the contract asks for; 0: the size of an element, 256 for a workspace */
    size_t align;
};

/** @brief A buffer of elements as @p storage_ says; its extents follow. */
#define LESSON_BUFFER(name_, role_, storage_, ...)                                                           \
    ((struct lesson_buffer){.name = name_,                                                                   \
                            .role = role_,                                                                   \
                            .rank = (int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)),                 \
                            .extent = {__VA_ARGS__},                                                         \
                            .storage = storage_})

/** @brief The alignment of @p buffer by contract. */
static inline size_t lesson_align(const struct lesson_buffer *buffer)
{
    if (buffer->align > 0) return buffer->align;
    return buffer->role == WIRE_WORKSPACE ? WIRE_ALIGNMENT : storage_bytes(buffer->storage);
}

/** @brief Elements of @p buffer, padding included except after its last row. */
static inline size_t lesson_elems(const struct lesson_buffer *buffer)
{
    size_t elems = 1;
    for (int axis = 0; axis < buffer->rank; axis++) elems *= buffer->extent[axis];
    if (buffer->row == 0 || elems == 0) return elems;
    return elems - (buffer->extent[buffer->rank - 1] - buffer->row);
}

/** @brief 1 if element @p at lies between two rows: the kernel must keep what an output holds there. */
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
 * @brief The expected contents of a stretch of one buffer, filled by the oracle.
 *
 * The two bounds are checked apart: every element against its own, and the largest error of a whole buffer
 * against twice the largest error of a plain f32 computation, rounded to what the buffer stores, plus the largest
 * `floor`: what a right computation may lose where the plain one is lucky. See bound.h.
 */
struct lesson_span {
    int buffer;
    size_t first, count;
    size_t columns,
        pitch; /**< of rows of `columns` elements each begins `pitch` after the last; 0: elements follow each other */
    double *expected; /**< [count] */
    double *bound;    /**< [count] largest error allowed */
    double *plain;    /**< [count] what a plain computation in the same precision gives */
    double *floor;    /**< [count] error to allow for where the plain computation happens to have less */
    double *rounding; /**< [count] error of values rounded to 16 or 8 bits on the way; 0: none */
};

/** @brief Where element @p i of a span lies in its buffer. */
static inline size_t lesson_span_at(const struct lesson_span *span, size_t i)
{
    return span->columns == 0 ? span->first + i
                              : span->first + i / span->columns * span->pitch + i % span->columns;
}

enum { LESSON_SPANS = 3 };

/** @brief The first bit of lesson::not_finite that is not for what is beyond float. */
enum { LESSON_OF_ROWS = 16 };

/** @brief The result of one call of the oracle. The arrays are the caller's, `capacity` long each. */
struct lesson_expectation {
    int span_count;
    int chosen; /**< 1: of a case with many elements a seeded choice of columns is enough */
    struct lesson_span span[LESSON_SPANS];
    double *scratch; /**< [scratch_elems] */
    void *shared;    /**< what the lesson's prepare() gave; the caller frees it */
    /** State that expect() keeps from unit to unit of the same item, in one block from malloc(); NULL at
     *  first. The caller frees it. */
    void *kept;
};

/** @brief The cost of a call, defined by the problem, not by the kernel. */
struct lesson_cost {
    double flop;
    double min_bytes;  /**< every input read once, every output written once */
    double oracle_ops; /**< operations of the oracle for the whole item */
    int tensor_cores;  /**< 1: compare with the device's limit for products of halves, not of floats */
    int int8; /**< 1: compare with that for products of bytes: twice the limit of halves on tensor cores */
    double kernels; /**< number of consecutive kernels, if a time for each is worth showing; else 0 */
};

struct lesson_part {
    const char *name;
    int points;
};

/**
 * @brief What a lesson is worth beyond right results, and how fast is fast enough. Zero stands for the
 *        default: 10 and 20 points, nothing below 0.3, everything from 0.9 on.
 *
 * Speed is a ratio against the course's solution, measured in the same run: its time over the student's on a
 * GPU, its memory sectors over the student's on the software device; 1 is as good as the solution.
 */
struct lesson_credit {
    int clean_points; /**< points for no finding of the software device and no crash; -1: none to be had */
    int speed_points; /**< points for the speed of the GROUP_SPEED cases; -1: none to be had */
    /** speed ratios that earn no points and all points; in between points rise linearly */
    double speed_none, speed_full;
};

/** @brief What a line of lesson.def tells the table of promises. */
enum described_kind {
    DESCRIBED_END,
    DESCRIBED_PART,    /**< what follows belongs to this part */
    DESCRIBED_POINTER, /**< memory on the device; `first` is 1 if null_buffer may say that it is NULL, else 0 */
    DESCRIBED_ARGS,    /**< value[at] = 1: the struct of arguments itself is NULL */
    DESCRIBED_EXTENT, /**< value[at] is one, at least `first` */
    DESCRIBED_STRIDE, /**< value[at] and extent[at] are the distance of rows; `first` is what it is a multiple of */
    DESCRIBED_OPTION,   /**< value[at] is one of `first` to `last` */
    DESCRIBED_DTYPE,    /**< value[at] is a storage type */
    DESCRIBED_SCALAR,   /**< real[at] is a finite number */
    DESCRIBED_PATHS,    /**< `words` are the names of cases that take every path, in quotes */
    DESCRIBED_CHIP,     /**< older architectures than `at` are refused */
    DESCRIBED_STATUS,   /**< extent[at] is what the status word holds before the call */
    DESCRIBED_SHOWN,    /**< promise `name` is shown by the lesson's own cases `words` */
    DESCRIBED_NOT_HELD, /**< promise `name` is not made or cannot be held here: `words` say why */
    DESCRIBED_LIKE      /**< cases for promise `name` are made of case `words` */
};

/** @brief A line of lesson.def, for the table of promises. */
struct described {
    enum described_kind kind;
    const char *name, *words;
    const char *extents; /**< of a pointer: what its memory is as long as, the words separated by commas */
    int at, first, last;
};

/** @brief A guess of what went wrong, at one element. */
struct lesson_guess {
    double value; /**< what it would give there */
    int told;     /**< the first guess that tells the same */
    int votes; /**< 1: the cases of a part choose among guesses like it; else it is told of this case alone */
    int of_many;             /**< 1: of hundreds, some of which may come near by chance */
    enum record_cause cause; /**< what it is about */
    char words[RECORD_NOTE]; /**< what to tell */
};

/** @brief Some terms of an element that is a sum of them. */
struct lesson_terms {
    size_t count;     /**< how many the element has */
    const char *what; /**< "k" */
    double sum;       /**< of the terms that were asked for */
};

/** @brief A lesson, as the checker sees it. */
struct lesson {
    int number;
    const char *topic; /**< "naive_attention" */
    const char *title;
    int part_count;
    struct lesson_part part[LESSON_PARTS];
    /** what lesson.def tells the table of promises; the last is DESCRIBED_END */
    const struct described *described;
    struct lesson_credit credit;
    /** names of inputs, separated by blanks, whose rotated contents (another element comes first) are
     *  still valid for a case of GROUP_SPEED, and give another result; NULL: none */
    const char *turns;
    /** @brief For inputs whose rotation would change nothing: integers of input @p buffer may be replaced
     *         by any others below this; 0: not this input. NULL: none. */
    uint64_t (*others_below)(const struct lesson_case *item, int buffer);
    int same_bits_anywhere; /**< 1: the contract promises the same bits whatever the alignment of the buffers */
    /** 80: the lesson needs sm_80; an older GPU does not count as a device for it */
    int least_architecture;
    int last_architecture; /**< 90: the lesson runs on nothing later than sm_90; 0: on all later ones */
    int network;           /**< 1: its runner opens sockets on a GPU, for NCCL */
    const char *refused;   /**< the usual reason for KERNEL_CUDA_ERROR; NULL: what the launch asks for */
    int distributions;     /**< number of distributions that cases of the lesson use; 0: one */

    /** @brief Writes at most @p capacity cases; returns how many there are. */
    int (*cases)(struct lesson_case *cases, int capacity);
    /** @brief Sets what follows from extents that were changed; NULL: nothing does. */
    void (*settle)(struct lesson_case *item);
    /** @brief Tells the call of so many keys, whatever the buffers hold, where an extent alone does not; NULL: it does. */
    void (*tell_keys)(struct lesson_case *item, int keys);
    /** @brief Gives item @p index of a property its numbers and seed. @p item comes as a copy of the case,
     *         with the seed of the case; @p rng is another generator for every item. */
    void (*vary)(struct lesson_case *item, int index, struct rng *rng);
    /** What the axes of an output of rank 4 count, in the plural; NULL: sequences of the batch, heads, rows, columns. */
    const char *axes[4];
    /** @brief Describes the buffers of @p item; returns how many there are. */
    int (*buffers)(const struct lesson_case *item, struct lesson_buffer *buffers);
    /** @brief Fills input @p index (of what buffers() said) with @p elems floats. The checker then rounds
     *         them to the buffer's storage type, before anything else reads them. */
    void (*fill)(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data);
    /** @brief How many keys of a cache every query of sequence @p b sees; NULL: all that there is room for. */
    int (*seen)(const struct lesson_case *item, int b);
    /** @brief Number of independent pieces the oracle works on: rows, as a rule. */
    size_t (*units)(const struct lesson_case *item);
    /** @brief Longest span and scratch array that expect() needs. */
    size_t (*unit_elems)(const struct lesson_case *item);
    /** @brief What expect() wants for every unit of an item, in one block from malloc(): made once, and freed by the caller. NULL:
     *         nothing. */
    void *(*prepare)(const struct lesson_case *item, const float *const *data);
    /** @brief The oracle, for one unit. @p data are the inputs by buffer index, NULL for others. */
    void (*expect)(const struct lesson_case *item, const float *const *data, size_t unit,
                   struct lesson_expectation *expectation);
    /** @brief For items of which only some units are compared: an identity that any wrong element breaks.
     *         @p allowed is, by buffer, the root mean square that errors may have, judged by the compared
     *         units. Returns 1 if it holds, else 0 with the reason. NULL if there is no identity. */
    int (*identity)(const struct lesson_case *item, const float *const *data, const float *const *got,
                    const double *allowed, uint64_t seed, char *reason, size_t size);
    /** @brief For --dump: what @p unit leaves in the workspace, which is shown and not judged. @p scratch
     *         is unit_elems() long. Returns 0 if this item leaves nothing worth showing. NULL if unknown. */
    int (*intermediate)(const struct lesson_case *item, const float *const *data, size_t unit,
                        double *scratch, struct lesson_span *span);
    /** @brief What a property demands beyond "equals the oracle". @p got holds all buffers of this item
     *         and of the one before. Returns 1 if it holds, else 0 with the reason in @p reason. NULL if
     *         nothing. */
    int (*holds)(const struct lesson_case *item, const float *const *got, const struct lesson_case *before,
                 const float *const *got_before, char *reason, size_t size);
    /** @brief Guess @p index of what went wrong, at the element at @p at of @p buffer: 1 with @p guess; 2 if nobody knows what it
     *         gives just there; 0 if it has nothing to do with it; -1 if there is no such guess. Before the call told is @p index, and cause RECORD_CAUSE_GUESS. */
    int (*guess)(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                 struct lesson_guess *guess);
    /** @brief Makes of @p item the case of which the oracle gives what mistake @p index does, and returns what is told of it; "" if the
     *         mistake changes nothing here, NULL if there is no such mistake. NULL: none is known. */
    const char *(*mistaken)(struct lesson_case *item, int index);
    /** @brief The sum of terms @p from to before @p to of the element at @p at of @p buffer; of none (@p from is @p to): what is added
     *         whatever terms count. 0 if the element is no such sum. NULL: none is. */
    int (*terms)(const struct lesson_case *item, const float *const *data, int buffer, size_t at, size_t from,
                 size_t to, struct lesson_terms *terms);
    /** @brief What may have made the element at @p at of @p buffer infinite or NaN, which is finite by contract: what of its row is
     *         beyond float, or that inputs which it must not use are not finite. 0 if nothing is known. NULL: nothing is. Of the bits of
     *         @p holding, one for each thing that may be beyond float, those are left that are so here. */
    int (*not_finite)(const struct lesson_case *item, const float *const *data, int buffer, size_t at,
                      unsigned *holding, char *words, size_t size);
    /** @brief What outputs that are right tell of the others: bit b of @p compared and of @p wrong is buffer b. NULL: nothing. */
    const char *(*stage)(const struct lesson_case *item, unsigned compared, unsigned wrong);
    /** @brief Trait @p index of a case: 1 if the case has it, 0 if not, -1 if there is no such trait. If
     *         all cases with a trait fail and all others pass, the report shows @p message. */
    int (*trait)(const struct lesson_case *item, int index, const char **message);
    void (*cost)(const struct lesson_case *item, struct lesson_cost *cost);
    /** @brief Exact workspace by contract, SIZE_MAX if the lesson leaves it to the kernel. */
    size_t (*workspace_bytes)(const struct lesson_case *item);
    /** @brief If the contract only limits the workspace: the limit. NULL: the workspace's buffer is as large. */
    size_t (*workspace_limit)(const struct lesson_case *item);
    /** what outputs hold that no call is asked for, and have to hold after it; 0: there are none */
    double unasked;
    const char *left_out; /**< which outputs these are */
    /** @brief The hint for outputs that depend on what they held before the call; NULL: the usual one. */
    const char *stale;
    /** @brief The hint for NaN in outputs when no input holds one; NULL: the usual one. */
    const char *nan;
    /** @brief What the case tests, if its shape does not show that; else NULL. A constant, the same one for cases that test the same. */
    const char *(*purpose)(const struct lesson_case *item);
    /** @brief "batch 1, heads 2, ..., causal, f32". */
    void (*describe)(const struct lesson_case *item, char *text, size_t size);
};

/** @brief Callbacks by their usual names. What inputs and the oracle share may be in files of its own: those names begin with
 *         @p prefix. */
#define LESSON_CALLBACKS(prefix)                                                                             \
    .cases = cases, .vary = vary, .buffers = prefix##buffers, .fill = prefix##fill, .units = prefix##units,  \
    .unit_elems = prefix##unit_elems, .expect = prefix##expect, .guess = prefix##guess, .trait = trait,      \
    .purpose = purpose, .cost = prefix##cost, .workspace_bytes = workspace_bytes, .describe = describe

/** @brief A line of the list from which a lesson's trait() answers. */
struct trait {
    int has;
    const char *message;
};

/** @brief The answer of trait() for line @p index of @p count; a case that is not @p sound has no trait. */
static inline int trait_at(const struct trait *traits, size_t count, int sound, int index,
                           const char **message)
{
    if (index >= (int)count) return -1;
    *message = traits[index].message;
    return sound && traits[index].has;
}

/** @brief All lessons, NULL at the end; CMake generates the list from the files in checker/lessons/. */
extern const struct lesson *const lesson_table[];
