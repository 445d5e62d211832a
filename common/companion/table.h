/**
 * @file table.h
 * @brief The tables that tour and bench print, at most 100 columns wide.
 */
#pragma once

#include "judging/judging.h"

void print_device_heading(enum device device);
void print_table_head(enum device device);
void print_table_foot(enum device device);
/** @brief One line for the lesson's verdict, then one for each timed or counted case. */
void print_lesson_rows(const struct lesson_folder *lesson, enum device device, const struct judgement *check,
                       const struct judgement *bench, const struct results *before);
/** @brief The same in one line: the verdict, and the case with the most work. */
void print_lesson_line(const struct lesson_folder *lesson, enum device device, const struct judgement *check,
                       const struct judgement *bench, const struct results *before);
void print_line_head(enum device device);
void print_line_foot(enum device device);
/** @brief Explains the names of the cases. */
void print_shapes(const struct results *results);
