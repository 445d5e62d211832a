/**
 * @file online_softmax_items.h
 * @brief What an item of lesson 03 says to the runner.
 */
#pragma once

#include "attention_items.h"
#include "wire.h"

enum {
#define LESSON_DEF "../lessons/03_online_softmax/lesson.def"
#include "description/parts.h"
};

/* lesson_case.value of the first two parts; ON_PART comes after all values that attention uses. */
enum { ON_COUNT, ON_ROWS = ON_COUNT, ON_COLS, ON_PART = AT_KIND + 1 };

enum { MERGE_A, MERGE_B, MERGE_OUT };
enum { ROWS_IN, ROWS_OUT, ROWS_LSE };
