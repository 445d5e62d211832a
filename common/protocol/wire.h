/**
 * @file wire.h
 * @brief What checker and runner say to each other: one shared memory image, two pipes of short messages.
 *
 *     image   | wire_header | wire_case 0 | wire_case 1 | ... | buffer contents and copies ... | wire_records
 *
 *     checker ── WIRE_RUN, index of a case ──▶ runner      (control pipe)
 *     checker ◀── WIRE_READY; WIRE_DONE, index ── runner   (reply pipe)
 *
 * The checker writes inputs into the image; the runner writes back, raw, all that lay in device memory around
 * and in every buffer, and last of all the stamp. Nothing in the image tells what the right answer is, and
 * nothing the runner says is believed: a reply only means "go on", a result only counts with its stamp, and
 * whether it is right is decided after the runner is gone.
 */
#ifndef WARPWISE_RUNNER_WIRE_H
#define WARPWISE_RUNNER_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

#define WIRE_MAGIC UINT64_C(0x3b53504157524157) /* changes with the layout of these structs */

enum {
    WIRE_BUFFERS = 12, /* device buffers a case may have */
    WIRE_VALUES = 24,  /* integers the lesson's marshalling may need */
    WIRE_REALS = 2,
    WIRE_RANK = 4,
    WIRE_JUDGED = 3, /* timed calls with inputs of their own that are judged */
    WIRE_TIMED = 2,  /* copies: what the timing loop left of the inputs of both runs, */
    WIRE_TURNED = 3, /* and the first of what it left of others */
    WIRE_RUNS = WIRE_TURNED + WIRE_JUDGED,
    WIRE_SAMPLES = 256, /* timed launches */
    WIRE_KERNELS = 8,   /* kernels a call may launch that are described */
    WIRE_OWN_BYTES =
        64 << 10, /* device memory that a kernel file may have of its own; and its __constant__ memory */
    WIRE_ALIGNMENT = 256, /* of everything in the image, and of device buffers */
    WIRE_RECORDS = 64,
    WIRE_PAGE = 64 << 10 /* the records begin at a multiple: they are mapped by themselves */
};

/** @brief What a buffer is to the kernel. */
enum wire_role {
    WIRE_IN,       /**< read; must come back unchanged */
    WIRE_OUT,      /**< written; poisoned before every run */
    WIRE_INOUT,    /**< read and written; its first contents are put back before every run */
    WIRE_WORKSPACE /**< scratch: only its guard zones come back */
};

enum wire_flags {
    WIRE_TWO_STREAMS = 1,    /**< both runs at once, each with its own buffers */
    WIRE_KEEP_WORKSPACE = 2, /**< the workspace comes back too, to be shown */
    WIRE_SMALL_DEVICE = 4,   /**< the software device says that it has few SMs */
    WIRE_LAUNCH_ONLY = 8,    /**< the software device checks launches and runs nothing */
    WIRE_TWO_PLACES = 16,    /**< the runs follow each other, each with its own buffers: their leads differ */
    WIRE_REFUSE_LAUNCHES = 32, /**< the runtime refuses whatever is launched on the stream */
    WIRE_OLD_DEVICE = 64,      /**< the software device says that it is an sm_75 */
    WIRE_ONE_CALL = 128,       /**< called once; what it left stands for both runs */
    WIRE_NEW_DEVICE = 256,     /**< the software device says that it is an sm_100 */
    WIRE_LITTLE_SHARED = 512   /**< the software device says that it is an sm_86 */
};

/** @brief One device buffer. Offsets are from the start of the image; 0 stands for "nothing". */
struct wire_buffer {
    char name[16]; /**< as the contract calls it */
    uint32_t role;
    uint32_t null;      /**< 1: the kernel is given a null pointer */
    uint64_t bytes;     /**< without guard zones */
    uint64_t row_bytes; /**< of one row, where rows lie apart on the device only; 0: they do not */
    uint64_t pitch;     /**< bytes from one such row to the next */
    uint64_t lead[2];   /**< bytes from a multiple of WIRE_ALIGNMENT to its start, in each run */
    uint64_t
        own_row; /**< bytes of a row that has other bytes behind it, which are not the kernel's; else 0 */
    uint64_t row_stride;        /**< bytes from one such row to the next */
    uint64_t extent[WIRE_RANK]; /**< row-major; by them the software device names an element */
    uint32_t rank;              /**< 0: bytes */
    uint32_t elem_bytes;
    uint64_t
        turn; /**< in: a call that is timed may find it turned by a multiple of so many bytes: what lies there comes first,
                      what comes before it last; 0: never */
    uint64_t
        below; /**< in, whole numbers of 32 bits: a call that is timed may find others below this (wire_other_number()); 0:
                       never */
    uint64_t contents;  /**< in, inout: what it holds at first, @c bytes long */
    uint32_t poison[2]; /**< word that it is filled with before run 0 and run 1, if it is written only */
    uint64_t copy[WIRE_RUNS]; /**< where guard zone, contents and guard zone come back to */
};

/** @brief A kernel that was launched, as the CUDA runtime describes it. */
struct wire_kernel {
    uint32_t grid[3], block[3];
    uint32_t registers, static_shared_bytes, dynamic_shared_bytes;
    uint32_t blocks_per_sm;
};

/** @brief What came of a case. Only the runner writes here. */
struct wire_result {
    int32_t status[WIRE_RUNS]; /**< enum kernel_status */
    int32_t cuda_error;        /**< first error of the CUDA runtime, 0 if none */
    int32_t setup_failed;      /**< 1: the error came before the kernel was called */
    char cuda_message[128];
    uint64_t workspace_asked; /**< what the lesson's ..._workspace_bytes() says */
    uint64_t
        variable_bytes; /**< of the kernel file's own variables in device memory, on the software device */
    uint64_t constant_bytes; /**< of its __constant__ variables, there too */
    uint32_t findings;       /**< of the software device during this case */
    uint32_t sample_count;
    float sample_us[WIRE_SAMPLES]; /**< between the events around one call */
    uint64_t turned
        [WIRE_JUDGED]
        [WIRE_BUFFERS]; /**< bytes by which each one's inputs were turned, or the number that others were made with */
    float wall_us;           /**< shortest host time of a call and the wait for the whole device */
    uint32_t launches;       /**< kernels of one call */
    uint32_t calls_counted;  /**< 1: the next two are known; of the first call */
    uint32_t launches_eager; /**< kernels it launched itself, not into a capture */
    uint32_t graph_launches;
    uint32_t kernel_count;
    struct wire_kernel kernel[WIRE_KERNELS];
    uint64_t stamp[2]; /**< the nonce of the case, written last */
};

/** @brief One case, asked and answered. */
struct wire_case {
    uint64_t nonce[2];
    uint32_t part, flags;
    int64_t value[WIRE_VALUES]; /**< what each means is the lesson's business */
    double real[WIRE_REALS];
    uint64_t guard_bytes; /**< of each guard zone; 0 where the device itself watches the borders */
    uint64_t guard_seed;
    uint32_t poison_workspace; /**< 1: also fill the workspace */
    uint32_t warm_up, timed;   /**< launches in the timing loop, 0 for none; at most WIRE_SAMPLES timed */
    double
        patience; /**< seconds of CPU time after which the software device stops the case and says where it is; 0: never */
    uint64_t flush_bytes; /**< device memory written between timed launches, so that L2 is cold */
    uint32_t buffer_count;
    struct wire_buffer buffer[WIRE_BUFFERS];
    struct wire_result result;
};

/**
 * @brief What was found while a case ran, and at the end of the runner. Only the runner writes here: as long as a case is
 *        not asked for, what is there stays; then it begins anew. A record counts with its stamp, 1 + the index of the case.
 */
struct wire_records {
    uint32_t count; /**< of those that were begun, the ones that found no room included */
    uint32_t unused;
    struct record record[WIRE_RECORDS];
};

/** @brief The start of the image. */
struct wire_header {
    uint64_t magic;
    uint64_t image_bytes;
    uint64_t records; /**< where the wire_records are */
    uint32_t case_count;
    uint32_t no_device;    /**< set by the runner: 1 if there is nothing to run on, and device says why */
    uint64_t memory_bytes; /**< set by the runner: size of device memory */
    uint64_t l2_bytes;
    uint32_t multiprocessors, threads_per_sm, compute_capability;
    char device[128]; /**< its name */
};

/** @brief A message on a pipe; a short write of it cannot be torn. */
struct wire_message {
    uint32_t kind;
    uint32_t index;
};

enum wire_kind { WIRE_READY = 1, WIRE_RUN, WIRE_DONE };

/** @brief @p bytes rounded up so that what follows is aligned. */
static inline uint64_t wire_round(uint64_t bytes)
{
    return (bytes + WIRE_ALIGNMENT - 1) / WIRE_ALIGNMENT * WIRE_ALIGNMENT;
}

/** @brief Case @p index of the image that begins with @p header. */
static inline struct wire_case *wire_case_at(struct wire_header *header, uint32_t index)
{
    uint64_t at = wire_round(sizeof(struct wire_header)) + index * wire_round(sizeof(struct wire_case));
    return (struct wire_case *)((unsigned char *)header + at);
}

/** @brief What stands for @p number, the one at @p at of an input, in a timed call whose numbers were made with @p with. */
static inline int32_t wire_other_number(int32_t number, uint64_t at, uint64_t with, uint64_t below)
{
    uint64_t x = (with + at) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    return with == 0 ? number : (int32_t)(((uint64_t)number + (x >> 33)) % below);
}

/** @brief Byte @p at of guard zone @p zone: 2 * buffer for the one in front, 2 * buffer + 1 for the one behind. */
static inline unsigned char wire_guard_byte(uint64_t seed, unsigned zone, uint64_t at)
{
    uint64_t x = seed ^ (UINT64_C(0x9E3779B97F4A7C15) * (zone + 1)) ^ (at * UINT64_C(0xD1342543DE82EF95));
    x ^= x >> 29;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    return (unsigned char)(x >> 56);
}

#endif
