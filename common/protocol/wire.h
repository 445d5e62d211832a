/**
 * @file wire.h
 * @brief What checker and runner say to each other: one shared memory image, two pipes of short messages.
 *
 *     image   | wire_header | wire_case 0 | wire_case 1 | ... | buffer contents and copies ... | wire_records
 *
 *     checker ── WIRE_RUN, index of a case ──▶ runner      (control pipe)
 *     checker ◀── WIRE_READY; WIRE_DONE, index ── runner   (reply pipe)
 *
 * A case with WIRE_TAKES_TURNS is timed while no other runner uses the device: before that the runner says WIRE_WAITS and waits for
 * WIRE_TURN, after it WIRE_TURN_OVER.
 *
 * The checker writes inputs into the image; the runner writes back the raw contents of device memory in and
 * around every buffer, and at the end the stamp. Nothing in the image tells what the right answer is, and
 * nothing the runner says is trusted: a reply only means "go on", a result only counts with its stamp, and
 * the checker decides whether it is right when the runner is gone.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

#define WIRE_MAGIC UINT64_C(0x3c53504157524157) /* changes when the layout of these structs does */

enum {
    WIRE_BUFFERS = 12, /* largest number of device buffers of a case */
    WIRE_VALUES = 24,  /* largest number of integer arguments of a lesson */
    WIRE_REALS = 2,
    WIRE_RANK = 4,
    WIRE_JUDGED = 3, /* timed calls with inputs of their own that are judged */
    WIRE_TIMED = 2,  /* index of the copy that timed calls with the inputs of both runs left */
    WIRE_TURNED = 3, /* index of the first copy that timed calls with other inputs left */
    WIRE_RUNS = WIRE_TURNED + WIRE_JUDGED,
    WIRE_SAMPLES = 256, /* timed launches */
    WIRE_KERNELS = 8,   /* largest number of kernels per call whose launches are described */
    /* device memory for a kernel file's own variables; and its __constant__ memory */
    WIRE_OWN_BYTES = 64 << 10,
    WIRE_ALIGNMENT = 256, /* alignment of everything in the image, and of device buffers */
    WIRE_RECORDS = 64,
    WIRE_PAGE = 64 << 10 /* the records begin at a multiple of this: they have a mapping of their own */
};

/** @brief How the kernel uses a buffer. */
enum wire_role {
    WIRE_IN,       /**< read; must come back unchanged */
    WIRE_OUT,      /**< written; filled with poison before every run */
    WIRE_INOUT,    /**< read and written; its first contents are restored before every run */
    WIRE_WORKSPACE /**< scratch: only its guard zones are copied back */
};

/** @brief How a case is run: flags that the lesson sets for the runner, and (WIRE_) flags that the checker
 *         adds. */
enum case_flags {
    CASE_TWO_STREAMS = 1,    /**< both runs at the same time on two streams, each with its own buffers */
    WIRE_KEEP_WORKSPACE = 2, /**< the workspace is copied back too, to be shown */
    /** the software device says that it has few SMs, so that a small problem fills it and kernels that
     *  choose by size choose what they use for large problems */
    CASE_SMALL_DEVICE = 4,
    /** the software device checks launches and runs nothing, so that a problem may be larger than any memory; nothing is
        compared */
    CASE_LAUNCH_ONLY = 8,
    /** the runs follow each other, each with its own buffers, which begin at different offsets */
    WIRE_TWO_PLACES = 16,
    /** the runtime refuses all launches: an entry point has to report that, and to clear the error */
    CASE_REFUSE_LAUNCHES = 32,
    WIRE_TAKES_TURNS = 64, /**< the runner waits for its turn before the timing loop */
    /** the software device calls the kernel once, and the results of that call stand for both runs: other
     *  cases show what a second call would. The checker decides this, and sets the flag for the runner */
    CASE_ONE_CALL = 128,
    CASE_ASK_ONLY = 1024, /**< only the size of the workspace is asked for: no call is made */
    /** where no workspace is needed, an address that is none is given: misaligned, or NULL with all the bytes there are; with
        both flags one that is aligned, with as many */
    CASE_STRAY_WORKSPACE = 2048,
    CASE_NULL_WORKSPACE = 4096,
    CASE_SAME_ADDRESSES = 8192,  /**< buffers lie where those of the case before lay that has this flag */
    CASE_CAPTURED = 16384,       /**< the call is captured into a graph, which is then launched */
    CASE_DEFAULT_STREAM = 32768, /**< the call is given the legacy default stream */
    /** everything is on the second of two devices, which the software device then has */
    CASE_SECOND_DEVICE = 1 << 17,
    /** flags that the runner gets just as the lesson sets them */
    CASE_SHARED_FLAGS = CASE_TWO_STREAMS | CASE_SMALL_DEVICE | CASE_LAUNCH_ONLY | CASE_REFUSE_LAUNCHES |
                        CASE_ASK_ONLY | CASE_STRAY_WORKSPACE | CASE_NULL_WORKSPACE | CASE_SAME_ADDRESSES |
                        CASE_CAPTURED | CASE_DEFAULT_STREAM | CASE_SECOND_DEVICE
};

/** @brief One device buffer. Offsets are from the start of the image; 0 stands for "nothing". */
struct wire_buffer {
    char name[16]; /**< as the contract calls it */
    uint32_t role;
    uint32_t null;      /**< 1: the kernel is given a null pointer */
    uint64_t bytes;     /**< without guard zones */
    uint64_t row_bytes; /**< bytes of one row, if rows are padded on the device only; 0: they are not */
    uint64_t pitch;     /**< distance in bytes between such rows */
    uint64_t lead[2];   /**< bytes from a multiple of WIRE_ALIGNMENT to its start, in each run */
    uint64_t own_row; /**< bytes of a row if other bytes follow it that do not belong to the kernel; else 0 */
    uint64_t row_stride;        /**< distance in bytes between such rows */
    uint64_t extent[WIRE_RANK]; /**< row-major; the software device uses them to name an element */
    uint32_t rank;              /**< 0: bytes */
    uint32_t elem_bytes;
    /** inputs: a timed call may find the contents rotated by a multiple of this many bytes: the bytes from
     *  there on come first, those before it last; 0: never */
    uint64_t turn;
    /** inputs of 32-bit integers: a timed call may find other integers below this (wire_other_number());
     *  0: never */
    uint64_t below;
    /** in, inout: where the initial contents are, @c bytes long; 0: nothing is written there */
    uint64_t contents;
    uint32_t poison[2];       /**< if it is only written: the word that fills it before run 0 and run 1 */
    uint64_t copy[WIRE_RUNS]; /**< where guard zone, contents and guard zone are copied back to */
};

/** @brief A kernel that was launched, as the CUDA runtime describes it. */
struct wire_kernel {
    uint32_t grid[3], block[3];
    uint32_t registers, dynamic_shared_bytes;
    uint32_t blocks_per_sm;
};

/** @brief What a runner spends its time with. */
enum wire_lap {
    WIRE_LAP_PLACE, /**< allocating buffers and copying inputs to the device */
    WIRE_LAP_POISON,
    WIRE_LAP_KERNEL,
    WIRE_LAP_BACK, /**< copying back */
    WIRE_LAP_TIMING,
    WIRE_LAP_FREE,
    WIRE_LAPS
};

/** @brief The result of a case. Only the runner writes here. */
struct wire_result {
    int32_t status[WIRE_RUNS]; /**< enum kernel_status */
    int32_t cuda_error;        /**< first error of the CUDA runtime, 0 if none */
    int32_t setup_failed;      /**< 1: the error came before the kernel was called */
    char cuda_message[256]; /**< of that error; else why the device refused a launch, as far as it says so */
    uint64_t workspace_asked; /**< result of the lesson's ..._workspace_bytes() */
    /** device memory that the kernel file's own variables take, on the software device */
    uint64_t variable_bytes;
    uint64_t constant_bytes; /**< the same for its __constant__ variables */
    /** 1: what came of far parts tells nothing, since the device has too little memory, or does not run all blocks and a block
     *  needed others, or did their work */
    uint32_t not_told;
    uint32_t ended; /**< set of 1 << buffer: outputs of far parts, where nothing else would be written */
    uint64_t left_by_atomics[WIRE_RUNS]; /**< simt_left_by_atomics() of each run, on the software device */
    uint32_t left_running; /**< 1: kernels may still run when the last one is over; cuda_message says why */
    uint32_t args_written; /**< 1: a struct that the call was given is no longer what it was */
    uint32_t findings;     /**< number of findings of the software device during this case */
    uint32_t sample_count;
    float sample_us[WIRE_SAMPLES]; /**< time between the events around one call */
    /** bytes by which each judged call's inputs were rotated, or the number from which other integers were
     *  made */
    uint64_t turned[WIRE_JUDGED][WIRE_BUFFERS];
    float wall_us;           /**< shortest host time of a call with a wait for the whole device */
    uint32_t launches;       /**< kernels of one call */
    uint32_t calls_counted;  /**< 1: the next two are known; they are for the first call */
    uint32_t launches_eager; /**< kernels that the call launched itself, outside of a capture */
    uint32_t graph_launches;
    uint32_t kernel_count;
    struct wire_kernel kernel[WIRE_KERNELS];
    uint64_t lap_ns[WIRE_LAPS]; /**< nanoseconds of each, for who wants to know where the time goes */
    uint64_t stamp[2];          /**< the nonce of the case, written last */
};

/** @brief One case, asked and answered. */
struct wire_case {
    uint64_t nonce[2];
    uint32_t part, flags;
    int64_t value[WIRE_VALUES]; /**< each lesson defines what these mean */
    double real[WIRE_REALS];
    uint64_t guard_bytes; /**< size of each guard zone; 0 if the device itself checks the borders */
    uint64_t guard_seed;
    uint32_t poison_workspace; /**< 1: also fill the workspace */
    /** bytes by which the workspace is larger than asked for; if negative, the call is told of that many fewer */
    int64_t workspace_more;
    uint32_t capability; /**< what the software device says it is: 80 for an sm_80; 0: what it is */
    /** the buffers' rows that lie apart are three parts of an axis of `total` elements: parts of `each`, `step` apart; total 0: none */
    struct wire_parts {
        uint64_t total, step, each;
    } parts;
    uint32_t warm_up, timed; /**< launches in the timing loop, 0 for none; at most WIRE_SAMPLES timed */
    /** seconds of CPU time after which the software device stops the case and reports where it is; 0:
     *  never */
    double patience;
    uint64_t flush_bytes; /**< device memory written between timed launches, so that L2 is cold */
    uint32_t buffer_count;
    struct wire_buffer buffer[WIRE_BUFFERS];
    struct wire_result result;
};

/**
 * @brief Findings while a case ran, and at the end of the runner. Only the runner writes here: the records
 *        stay until the next case is asked for, which overwrites them. A record only counts with its stamp, 1
 *        + the index of the case.
 */
struct wire_records {
    uint32_t count; /**< number of findings, including those that found no room */
    uint32_t unused;
    struct record record[WIRE_RECORDS];
};

/** @brief The start of the image. */
struct wire_header {
    uint64_t magic;
    uint64_t image_bytes;
    uint64_t records; /**< offset of the wire_records */
    uint32_t case_count;
    uint32_t no_device; /**< set by the runner: 1 if there is no device to run on; then device says why */
    uint64_t l2_bytes;
    uint32_t multiprocessors, threads_per_sm, compute_capability;
    uint32_t sleeps;  /**< 1: nothing is timed, so who waits for the device leaves the processor to others */
    char device[128]; /**< its name */
};

/** @brief A message on a pipe; so short that a write of it is atomic. */
struct wire_message {
    uint32_t kind;
    uint32_t index;
};

enum wire_kind { WIRE_READY = 1, WIRE_RUN, WIRE_DONE, WIRE_WAITS, WIRE_TURN, WIRE_TURN_OVER };

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

/** @brief The integer that replaces @p number, element @p at of an input, in a timed call whose integers
 *         were made from @p with. */
static inline int32_t wire_other_number(int32_t number, uint64_t at, uint64_t with, uint64_t below)
{
    uint64_t x = (with + at) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    return with == 0 ? number : (int32_t)(((uint64_t)number + (x >> 33)) % below);
}

/** @brief Byte @p at of guard zone @p zone: 2 * buffer for the zone before a buffer, 2 * buffer + 1 for
 *         the one after it. */
static inline unsigned char wire_guard_byte(uint64_t seed, unsigned zone, uint64_t at)
{
    uint64_t x = seed ^ (UINT64_C(0x9E3779B97F4A7C15) * (zone + 1)) ^ (at * UINT64_C(0xD1342543DE82EF95));
    x ^= x >> 29;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    return (unsigned char)(x >> 56);
}
