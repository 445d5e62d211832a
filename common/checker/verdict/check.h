/**
 * @file check.h
 * @brief What one run of the checker is about, and what came of it: the structures its files share.
 */
#pragma once

#include "checker/cases/lesson.h"
#include "record/causes.h"
#include "record/state.h"

enum {
    CHECK_CASES = 1024,
    CHECK_GUESSES = 64, /* of a lesson, one bit each */
    CHECK_NAMES = 64,   /* --case, --limit and --peer given at most so often */
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

/** @brief What the command line asks for. */
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
    const char *again;    /* which kernel this is, as words for a command line */
    const char *remember; /* folder for what the oracle says; NULL: nothing is kept */
    double time_limit;    /* seconds per case */
    int time_limit_given; /* 1: by the user, who then also says how long the software device is patient */
    double total_limit;   /* seconds for all cases together; 0: none */
    int verbose, dump, bench, list, costs, rubric, ctest, profile_checker;
    int inputs_most;   /* of a property's random inputs; 0: all */
    int numerics_once; /* cases of numerics call once on the software device */
    int fail_fast;     /* stop at the first item that does not pass; cheap cases first */
    int isolated;      /* the runner is not the user's own: sandbox.h */
    const char *csv, *json;
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
    const char *refused; /**< why the time is not to be believed, or NULL */
    int counted;         /**< 1: the counters of the software device are there */
    uint64_t load_requests, load_sectors, store_requests, store_sectors;
    uint64_t shared_load_wavefronts, shared_store_wavefronts, bank_conflicts, atomics, barriers;
    uint64_t launches;
    int described; /**< 1: the kernels were described; the least of their occupancies: */
    uint32_t blocks_per_sm;
    double occupancy;
    double host_seconds; /**< the runner's, on the software device */
    struct lesson_cost cost;
    uint64_t workspace_bytes;
};

/** @brief What came of one case. */
struct verdict {
    enum state state;
    double budget_share;  /**< largest error as a share of what is allowed */
    struct record record; /**< what is wrong, and what that usually comes of */
    uint64_t guesses;     /**< bit i: the lesson's guess i fits the wrong elements */
    uint64_t thorough;    /**< of these: it gives the right elements, too, and so all that came out */
    int all_zero;         /**< 1: values are wrong, and nothing but zeros came out */
    const char *stage;    /**< what the outputs that are right tell of the others, or NULL */
    struct record finding[VERDICT_FINDINGS]; /**< the device's, in their order; the rest is not told */
    int finding_count;
    char printed[VERDICT_TEXT * 6]; /**< what the program printed */
    int shown; /**< which of the cases that the report shows in full, from 1; 0: none of them */
    char shape[160];
    size_t sampled, units; /**< units compared where not all were; sampled is 0 where all were */
    struct measurement measurement;
};

/** @brief One run of the checker. */
struct check {
    struct options options;
    uint64_t seed; /**< options.seed with the secret mixed in */
    struct lesson_case cases[CHECK_CASES];
    struct verdict verdicts[CHECK_CASES];
    int chosen[CHECK_CASES];  /**< 1: on this device and asked for */
    int witness[CHECK_CASES]; /**< 1: only to see whether the part does anything; worth nothing */
    int judged[CHECK_CASES];  /**< how many of its items have a verdict */
    int case_count;
    struct lesson_guess guess[CHECK_GUESSES]; /**< those that fitted a case */
    char device_name[400];                    /**< or why there is none */
    uint64_t device_memory;
    uint32_t threads_per_sm, multiprocessors;
    int stopped;               /**< 1: with fail_fast, a case did not pass, and the rest was left */
    int late[LESSON_PARTS];    /**< cases of each part that took too long so far */
    int greedy[LESSON_PARTS];  /**< cases of each part that took all memory so far */
    double begin;              /**< when the check began, on the monotonic clock */
    int overdue;               /**< 1: all together took longer than total_limit; the rest is not tried */
    int killed;                /**< runners that somebody else killed */
    char broken[VERDICT_TEXT]; /**< why the machine could not do its part */
};

/** @brief Runs and judges the chosen cases; fills the verdicts. */
void check_run(struct check *check);

/** @brief Writes the first chosen case to @p path, for `runner --case-file`; 0, or -1 with errno set. */
int check_save(struct check *check, const char *path);

/** @brief 1 if a chosen case of @p part that asks for values, not for a refusal, does not pass. */
int check_values_wrong(const struct check *check, int part);

/** @brief Points of case @p index, and how many it could have. A case that passes has all of its points if every value
 *         of its part is right, and half of them otherwise. */
double check_points(const struct check *check, int index);
double check_points_max(const struct check *check, int index);

/** @brief The state of a part (or of the lesson, part -1) over its chosen cases. */
enum state check_state(const struct check *check, int part);
