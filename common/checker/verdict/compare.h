/**
 * @file compare.h
 * @brief Compares outputs with what they should be: guard zones, inputs, determinism, then every element.
 */
#pragma once

#include "session.h"

/** @brief One element that is wrong. */
struct wrong {
    size_t at;
    double got, expected, bound;
};

enum { WRONG_KEPT = 4096 };

/** @brief The result of comparing one buffer. */
struct buffer_comparison {
    size_t compared, wrong;
    size_t unbounded;    /**< finite values with an infinite bound: the oracle's fault, not the kernel's */
    size_t special;      /**< elements that have to be infinite or NaN */
    struct wrong *first; /**< the first WRONG_KEPT wrong elements, in order of their index */
    double share;        /**< largest error / bound */
    double largest_error, largest_plain_error, largest_floor;
    double plain_squares, floor_squares; /**< sums over the finite elements that were compared */
};

/** @brief The data of one item, as the oracle and the diagnosis need them. */
struct judged {
    const struct session *session;
    int index; /**< index of the item in the session */
    const struct item *item;
    const float *inputs[WIRE_BUFFERS]; /**< inputs of the item as they were given; NULL for other buffers */
    const void *raw[2][WIRE_BUFFERS];  /**< outputs of each run, as they lay in device memory */
    const float *got[2][WIRE_BUFFERS]; /**< the same as floats */
    struct buffer_comparison buffer[WIRE_BUFFERS];
    size_t units, sampled; /**< units of the oracle; number of compared units if not all were, else 0 */
    double share;          /**< largest share of a bound over all buffers and both criteria */
};

/** @brief Gathers the data of item @p index; 0 or -1 if memory is short. */
int judged_open(struct judged *judged, const struct session *session, int index);
void judged_close(struct judged *judged);

/** @brief The same for a timed call with other inputs, number @p which of those to be judged. Sets @p
 *         turned to the item with those inputs. Returns 0; 1 if there is no such call, and need not be; -1
 *         if memory is short; -2 if what the runner says about the call is impossible. Close it in any
 *         case. */
int judged_open_turned(struct judged *judged, struct item *turned, const struct session *session, int index,
                       int which);
void judged_close_turned(struct judged *judged, struct item *turned);

/** @brief 1 if the buffers of the second run begin at other, less aligned addresses than those of the
 *         first. */
int compare_two_places(const struct judged *judged);

/** @brief 1 if guard zones and inputs are as they were; else 0 with a record. */
int compare_untouched(const struct judged *judged, struct record *found);

/** @brief 1 if no output was touched (a refused call); else 0 with a record. */
int compare_refused(const struct judged *judged, struct record *found);

/** @brief 0 with a record if what is wrong in output @p b is what lay there before the call; else 1. For a case that is called once:
 *         of others compare_runs() has found that. */
int compare_written(const struct judged *judged, int b, struct record *found);

/** @brief 1 if both runs gave the same bits and wrote everything; else 0 with a record. */
int compare_runs(const struct judged *judged, struct record *found);

/** @brief 1 if the outputs of both items, which hold the same elements with any row distance, agree bit
 *         for bit; else 0 with a record. */
int compare_same_bits(const struct judged *judged, const struct judged *before, struct record *found);

/** @brief 1 if the outputs left by the timing loop are those of run 0; else 0 with a record. */
int compare_timed(const struct judged *judged, struct record *found);

/** @brief Compares with the oracle; fills judged->buffer. 1 if all is within bounds, else 0. If there can
 *         be no verdict, because memory is short or a bound is no number, @p broken says so; else it has
 *         no kind. */
int compare_values(struct judged *judged, struct record *broken);

/** @brief After compare_values() of a sampled item: checks the lesson's identity over all elements. 1 if
 *         it holds or there is none; else 0 with the reason. */
int compare_identity(const struct judged *judged, char *reason, size_t size);

/** @brief What the lesson prepares for its oracle, to be freed; or NULL. */
void *compare_prepare(const struct judged *judged);

/** @brief Allocates, in one piece to be freed, all arrays of an expectation, @p elems long each; or NULL. */
double *compare_expectation(struct lesson_expectation *expectation, size_t elems);

/** @brief Decides whether one element is right. NaN and infinities must match exactly. */
int compare_element(double got, double expected, double bound);

/** @brief The root mean square that errors may have: twice that of a plain computation, plus the floor. */
double compare_allowed_mean(const struct buffer_comparison *buffer);

/** @brief Largest error of a buffer as a share of what the maximum-norm criterion allows. */
double compare_norm_share(const struct buffer_comparison *buffer);

/** @brief Fills the part of @p record about memory: element @p at of @p buffer. */
void compare_place(const struct lesson_buffer *buffer, size_t at, struct record *record);

/** @brief Notes in @p found the block that the wrong elements fill, if they fill one and it is not all of @p buffer. */
void compare_tell_block(const struct buffer_comparison *wrong, const struct lesson_buffer *buffer,
                        struct record *found);
