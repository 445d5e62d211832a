/**
 * @file check.h
 * @brief One run of the checker and its results: the structures that its files share.
 */
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include "checker/cases/lesson.h"
#include "record/causes.h"
#include "record/state.h"

enum {
    CHECK_CASES = 1280,
    CHECK_GUESSES = 4096, /* of a lesson, that the cases of a part vote on */
    CHECK_WORKERS = 64,
    CHECK_NAMES = 64, /* --case, --limit and --peer may be given this often at most */
    VERDICT_TEXT = 400,
    VERDICT_FINDINGS = 4
};

/** @brief A limit of the device, measured by somebody else in the same run: `--limit copy_gbps=4245`. */
struct limit {
    char name[32];
    double value;
};

/** @brief The time of another kernel at a case, in the same run: `--peer 01:attention/heads_16_len_2048=3850`. */
struct peer {
    char label[32];
    char case_name[LESSON_NAME];
    double us;
};

/** @brief The options on the command line. */
struct options {
    const struct lesson *lesson;
    const char *runner;
    enum device device;
    const char *case_name[CHECK_NAMES];
    int case_count;
    unsigned groups; /* set of 1 << enum case_group; 0: all */
    uint64_t seed;
    int seed_given; /* by --seed */
    const char *secret_seed_file;
    const char *again;    /* the kernel's name, as words for a command line */
    const char *remember; /* folder for the oracle's answers; NULL: they are not kept */
    double time_limit;    /* seconds per case */
    int more_time; /* 1: more than usual was asked for, and the software device has that much more patience */
    double total_limit; /* seconds for all cases together, as they would take on an idle machine; 0: none */
    int verbose, dump, bench, list, costs, rubric, ctest, phases;
    int timed;         /* a bench takes times, not counters */
    int inputs_most;   /* how many of a property's random inputs to use; 0: all */
    int numerics_once; /* cases of numerics call once on the software device */
    int fail_fast;     /* stop at the first item that does not pass; cheap cases first */
    int isolated;      /* the runner is not the user's own: sandbox.h */
    const char *csv, *json;
    /* file for how far the check is: inputs judged, and all of them, as uint32_t; or NULL */
    const char *progress;
    const char *save_case, *save_file;
    struct limit limit[CHECK_NAMES];
    int limit_count;
    struct peer peer[CHECK_NAMES];
    int peer_count;
};

/** @brief Times or counters of a case. */
struct measurement {
    int timed; /**< 1: the three times are there */
    double median_us, p10_us, p90_us;
    const char *refused; /**< why the time is not plausible, or NULL */
    int counted;         /**< 1: counters of the software device are there */
    uint64_t load_requests, load_sectors, store_requests, store_sectors;
    uint64_t shared_load_wavefronts, shared_store_wavefronts, bank_conflicts, atomics, barriers;
    uint64_t launches;
    /** 1: kernels were described; the next members are for the kernel with the least occupancy: */
    int described;
    uint32_t blocks_per_sm;
    double occupancy;
    double host_seconds; /**< seconds of the runner, on the software device */
    struct lesson_cost cost;
    uint64_t workspace_bytes;
};

/** @brief The verdict on one case. */
struct verdict {
    enum state state;
    double budget_share;  /**< largest error as a share of what is allowed */
    struct record record; /**< what is wrong, and the usual cause */
    /** 1: the lesson's guess fits the wrong elements; 2: the right ones, too, and so everything that came out */
    unsigned char guesses[CHECK_GUESSES];
    int guess_count; /**< how many fit */
    /** what is said in place of a guess that other cases contradict: cause and stage */
    struct record without_guess;
    const char *stage_without_guess;
    int special; /**< 1: what fails, fails for special values or places alone: see judge_item() */
    int not_told; /**< 1: the parts of a large problem that ran tell nothing: wire_result.not_told, or they left nothing */
    int ordinary;      /**< 1: inputs are infinite or NaN, and what is wrong neither is nor should be */
    int all_zero;      /**< enum diagnosed_zeros, of the output that is wrong */
    const char *stage; /**< what the right outputs say about the wrong ones, or NULL */
    /** the device's findings, in their order; further ones are dropped */
    struct record finding[VERDICT_FINDINGS];
    int finding_count;
    char printed[VERDICT_TEXT * 6]; /**< what the program printed */
    int shown; /**< its number among the cases that the report shows in full, from 1; 0: none of them */
    char shape[160];
    const char *about; /**< lesson_case.about of the item that this is of */
    /** units compared if the oracle computed a sample; sampled is 0 if it computed all */
    size_t sampled, units;
    struct measurement measurement;
    int items; /**< of the case that it is about: so many, and what is wrong is of this one */
    int item;
};

/** @brief What the time of a check goes to: the checker's work, and the runner's. */
enum check_phase {
    PHASE_INPUTS, /**< making them */
    PHASE_START,  /**< of a runner, until its device is open */
    PHASE_WAIT,   /**< until the device is free: turns.h */
    PHASE_PLACE,  /**< allocating buffers, copying inputs to the device */
    PHASE_POISON, /**< filling outputs before a call */
    PHASE_KERNEL, /**< the calls, and waiting for them */
    PHASE_BACK,   /**< copying back */
    PHASE_TIMING, /**< timed calls */
    PHASE_FREE,   /**< giving buffers back */
    PHASE_REPLY,  /**< what else there is between the question and the answer */
    PHASE_BITS,   /**< comparing with what was there, and both runs */
    PHASE_ORACLE, /**< the oracle, comparing with it, and the diagnosis */
    CHECK_PHASES
};

/** @brief One run of the checker. */
struct check {
    struct options options;
    uint64_t seed; /**< options.seed with the secret mixed in */
    struct lesson_case cases[CHECK_CASES];
    struct verdict verdicts[CHECK_CASES];
    int chosen[CHECK_CASES]; /**< 1: the case runs on this device and was asked for */
    /** 1: the case runs only to see whether its part computes anything; worth nothing */
    int witness[CHECK_CASES];
    int judged[CHECK_CASES]; /**< how many of its items have a verdict */
    int reported;            /**< of a bench: so many cases of the table are printed, or not to be */
    int case_count;
    struct lesson_guess guess[CHECK_GUESSES]; /**< those that fitted a case */
    char device_name[400];                    /**< or why there is none */
    uint32_t threads_per_sm, multiprocessors;
    int stopped; /**< 1: with fail_fast, a case did not pass, and the remaining ones were skipped */
    int late[LESSON_PARTS];   /**< cases of each part that took too long so far */
    int greedy[LESSON_PARTS]; /**< cases of each part that took all memory so far */
    double begin;             /**< when the check began, on the monotonic clock */
    int overdue; /**< 1: all cases together took longer than total_limit; the remaining ones are skipped */
    int killed;  /**< runners that were killed from outside */
    char broken[VERDICT_TEXT]; /**< why the machine could not do what the check needs */
    /** how many processes share the work; more than one only if this lies in shared memory */
    int workers;
    uint32_t *progress; /**< the mapped file, or NULL */
    int turns;          /**< descriptor of the file that turns.c locks; -1: nobody waits for anybody */
    pid_t worker[CHECK_WORKERS]; /**< processes that are stopped while others have a case timed; 0: none */
    pthread_mutex_t merging;     /**< held by the worker that changes a verdict */
    int next_unit; /**< of the pieces that the cases are divided into, the first that no worker has */
    /** 1: the device had no memory for the case beside those of other workers */
    int crowded_out[CHECK_CASES];
    uint64_t phase_ns[GROUP_COUNT][CHECK_PHASES]; /**< nanoseconds, of all workers together */
};

/** @brief Runs and judges the chosen cases; fills the verdicts. */
void check_run(struct check *check);

/** @brief Writes the first chosen case to @p path, for `runner --case-file`; 0, or -1 with errno set. */
int check_save(struct check *check, const char *path);

/** @brief 1 if a chosen case of @p part that expects values, not a refusal, does not pass, and not for special values alone. */
int check_values_wrong(const struct check *check, int part);

/** @brief 1: the case earns no points, and costs none: the device does not run it, or could not judge it. */
int check_left_out(const struct check *check, int index);
/** @brief Points of case @p index, and how many it can earn. A case that passes earns all of its points if every ordinary value
 *         of its part is right, and half of them otherwise; none, unless it is basic, before most basic cases pass. */
double check_points(const struct check *check, int index);
double check_points_max(const struct check *check, int index);

/** @brief 1 if case @p index passes and that is worth something: before a part computes anything the refusals that the skeleton comes
 *         with are not. */
int check_counts(const struct check *check, int index);

/** @brief The state of a part (or of the lesson, part -1) over its chosen cases. */
enum state check_state(const struct check *check, int part);
