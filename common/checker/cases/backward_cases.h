/**
 * @file backward_cases.h
 * @brief Inputs, oracle and bounds of attention's backward pass, for checker/lessons/14_attention_backward.c.
 *
 * The output and the logsumexp that a kernel is given are those of the forward pass in float64, rounded to their storage
 * types. Where a problem is so large that this would take minutes, keys and values repeat themselves: key j is key
 * j % period, and everything is known from `period` keys.
 */
#pragma once

#include "attention_gradients.h"
#include "lesson.h"
#include "protocol/backward_items.h"

/* lesson_case.extent, after the first six. */
enum { EX_STORED_AS = 6, EX_PERIOD };

/** @brief How the data are distributed. */
enum backward_distribution {
    NORMAL,
    /* lse and out of a softmax whose denominator is doubled by other keys: the weights of a row sum to 1/2 */
    SINK,
    STEADY,         /* dO about 1: sums over the queries grow with every term */
    LARGE,          /* scores of magnitude 1e4 */
    DOMINANT,       /* one key takes nearly all the weight */
    EQUAL,          /* all scores of a row are equal */
    LOW,            /* every score far below zero, and so is the logsumexp */
    FAINT,          /* one key takes so much that all other weights are about exp(-22) */
    LARGE_GRADIENT, /* dO of magnitude 500 */
    LARGE_SUMS, /* the same and keys of magnitude 1000: in f16, dS K would be infinite before it is scaled */
    OPPOSED_HEADS, /* in f16, dK and dV of every other query head are beyond 65504, and those of a group together are not */
    SMALL_GRADIENT, /* dO of magnitude 2^-12: in f16, dS is among the subnormals */
    /* lse and out of a softmax whose denominator is a quarter of what it is: weights of a row sum to 4 */
    SURPLUS,
    HIDDEN_HIGH,    /* with a causal mask: scores of 150 and more, all of them hidden */
    SMALL_PRODUCTS, /* q and k so small that the largest finite scale gives ordinary scores */
    ZERO_PRODUCTS,
    CANCELLED, /* terms of dQ from the first half of the keys grow with every one, and those from the second nearly cancel them */
    NAN_Q,     /* in a query of one head */
    NAN_K,     /* in a key of one head */
    NAN_V,
    NAN_DOUT,
    LSE_MINUS_INFINITE, /* of one row, whose scores are ordinary: its weights are infinite */
    NAN_V_WEIGHTLESS,   /* NaN in a value of one head; its weight is 0 in every row */
    BACKWARD_DISTRIBUTIONS
};

/** @brief The sum of the weights of a head's row @p row, by the logsumexp that the kernel receives. */
double backward_share(const struct lesson_case *item, size_t row);

/** @brief How all buffers but lse are stored. */
enum storage backward_storage(const struct lesson_case *item);

/** @brief The problem as the oracle computes it, without the keys that repeat others. */
struct ref_attention_shape backward_shape(const struct lesson_case *item);

/** @brief The number of keys that query @p i of a head sees. Sets @p copies[j] to how often key j occurs
 *         among them, repetitions included. Returns how many different keys there are. */
int backward_copies(const struct lesson_case *item, int i, double *copies);

/** @brief Bytes that the contract allows as workspace. */
size_t backward_contract_workspace(const struct lesson_case *item);

/** @brief The callbacks of struct lesson of the same names. */
int backward_buffers(const struct lesson_case *item, struct lesson_buffer *buffers);
void backward_fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data);
size_t backward_units(const struct lesson_case *item);
size_t backward_unit_elems(const struct lesson_case *item);
void backward_expect(const struct lesson_case *item, const float *const *data, size_t unit,
                     struct lesson_expectation *expectation);
void backward_cost(const struct lesson_case *item, struct lesson_cost *cost);
int backward_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                   struct lesson_guess *guess);
