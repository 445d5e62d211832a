/**
 * @file guess_causes.h
 * @brief What the guesses of each family are about, by their numbers: a hint is chosen by it, and cases with one cause are told
 *        once.
 */
#pragma once

#include "lesson.h"
#include "record/causes.h"

/** @brief As lesson::about, for the lessons of a family. */
int attention_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause);
int gemm_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause);
int int8_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause);
int decode_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause);
int paged_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause);
int backward_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause);
int engine_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause);
int graph_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause);

/** @brief Where sums are guessed, of rows or of two pairs of m and l. */
int rows_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause);
int merge_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause);
