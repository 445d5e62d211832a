/**
 * @file words.h
 * @brief Records in English. Beside words*.c no file turns a record into sentences.
 */
#pragma once

#include "record.h"

enum { RECORD_REPORT = 4096 /**< bytes that any record's report fits in */ };

/** @brief The whole record, several lines, as the software device prints it ("KIND: what in kernel K", then who, then what to
 *         do), without a line end after the last. Cut at @p size. */
void record_print(const struct record *record, char *text, size_t size);

/** @brief Its first line alone: what happened to what, without the kind. */
void record_headline(const struct record *record, char *text, size_t size);

/** @brief That it came again later: in @p launches of its kernel, or, if it is the host's, so often. */
void record_print_again(const struct record *record, uint64_t launches, uint64_t times, char *text,
                        size_t size);

/** @brief "file.cu:73", or "an unknown place". */
void record_print_line(const struct record_line *line, char *text, size_t size);

/** @brief What is wrong with a case, on one line: the headline of a verdict. */
void record_verdict_headline(const struct record *record, char *text, size_t size);

/** @brief What that usually comes of, or where the wrong elements lie, on one line; "" if nothing is known. */
void record_print_cause(const struct record *record, char *text, size_t size);

/** @brief "out[0,1,64,0]": the element that a record is about. */
void record_print_element(const struct record *record, char *text, size_t size);

/** @brief What was accessed: "scores[0,1,5,17] (4 bytes)", and how far outside it lies. */
void record_print_memory(const struct record_memory *memory, char *text, size_t size);

/** @brief The sentence of an enum record_message, with its places ({n0}, {s0}); begins with '+' where it stands below the
 *         headline. "" where there is none. Never NULL. */
const char *record_message_words(int message);
/** @brief The sentence of an enum record_advice. Never NULL. */
const char *record_advice_words(int advice);
