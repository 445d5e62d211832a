/**
 * @file guess_causes.h
 * @brief The cause behind each guess, by its number: hints are chosen by the cause, and cases with the same
 *        cause are reported once.
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

/** @brief For guesses about sums: those of rows, or those of two pairs of m and l. */
int rows_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause);
int merge_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause);
