/**
 * @file words.h
 * @brief Records in English. words.c is the only file that turns a record into sentences.
 */
#pragma once

#include "record.h"

/** @brief The whole record, several lines, as the software device prints it ("KIND: what in kernel K", then who, then what to
 *         do), without a line end after the last. Cut at @p size. */
void record_print(const struct record *record, char *text, size_t size);

/** @brief Its first line alone: what happened to what. */
void record_headline(const struct record *record, char *text, size_t size);

/** @brief "file.cu:73", or "an unknown place". */
void record_print_line(const struct record_line *line, char *text, size_t size);

/** @brief What is wrong with a case, on one line: the headline of a verdict. */
void record_verdict_headline(const struct record *record, char *text, size_t size);

/** @brief What that usually comes of, or where the wrong elements lie, on one line; "" if nothing is known. */
void record_print_cause(const struct record *record, char *text, size_t size);

/** @brief "out[0,1,64,0]": the element that a record is about. */
void record_print_element(const struct record *record, char *text, size_t size);
