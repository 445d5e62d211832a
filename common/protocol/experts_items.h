/**
 * @file experts_items.h
 * @brief What an item of lesson 21 says to the runner: its buffers and its numbers.
 */
#pragma once

/** @brief Device buffers of part "route", in this order. */
enum route_buffer { ROUTE_LOGITS, ROUTE_CHOSEN, ROUTE_WEIGHTS, ROUTE_BUFFERS };

/** @brief Those of part "group". */
enum group_buffer { GROUP_CHOSEN, GROUP_OFFSETS, GROUP_ROW_OF, GROUP_BUFFERS };

/** @brief Those of part "product". */
enum product_buffer { PRODUCT_A, PRODUCT_W, PRODUCT_OFFSETS, PRODUCT_C, PRODUCT_BUFFERS };

/** @brief Those of part "layer". */
enum layer_buffer {
    LAYER_X,
    LAYER_LOGITS,
    LAYER_GATE_UP,
    LAYER_DOWN,
    LAYER_OUT,
    LAYER_WORKSPACE,
    LAYER_BUFFERS
};

/** @brief lesson_case.value and, for extents, lesson_case.extent. */
enum experts_value {
    EXPERTS_ROWS, /* of "route" and "layer" tokens, of "group" pairs */
    EXPERTS_COUNT,
    EXPERTS_TOP_K,
    EXPERTS_K, /* of "layer" hidden */
    EXPERTS_N, /* of "layer" inner */
    EXPERTS_DTYPE,
    EXPERTS_SWIGLU,
    EXPERTS_RENORMALISE,
    EXPERTS_NULL_ARGS, /* 1: args itself is NULL */
    EXPERTS_SPARE      /* of "product": rows that no expert has */
};
