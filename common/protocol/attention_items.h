/**
 * @file attention_items.h
 * @brief What an item of an attention lesson says to the runner: its buffers and its numbers.
 */
#pragma once

/** @brief What a part of an attention lesson computes. */
enum attention_kind {
    ATTENTION_SCORES,  /* S = scale * Q K^T */
    ATTENTION_SOFTMAX, /* rows of S, in place */
    ATTENTION_OUTPUT,  /* O = P V */
    ATTENTION_WHOLE,
    ATTENTION_KINDS
};

/** @brief Device buffers, in this order, of every attention item. */
enum attention_buffer {
    ATTENTION_Q,
    ATTENTION_K,
    ATTENTION_V,
    ATTENTION_OUT,
    ATTENTION_LSE,
    ATTENTION_WORKSPACE,
    ATTENTION_MATRIX, /* scores or probabilities; absent from ATTENTION_WHOLE */
    ATTENTION_BUFFERS
};

/** @brief lesson_case.value: what goes into struct attention_args. */
enum attention_value {
    AT_BATCH,
    AT_HEADS,
    AT_KV_HEADS,
    AT_Q_LEN,
    AT_KV_LEN,
    AT_HEAD_DIM,
    AT_CAUSAL,
    AT_DTYPE,
    AT_NULL_ARGS, /* 1: args itself is NULL */
    AT_KIND,      /* enum attention_kind */
    AT_SEED       /* seed of a random rotation; 0: none */
};

enum { AT_SCALE = 0 /* lesson_case.real */ };
