/**
 * @file case_table.h
 * @brief What every lesson's table of cases must be, and names of cases: found, or the nearest to what was asked for.
 */
#ifndef WARPWISE_CHECKER_CASE_TABLE_H
#define WARPWISE_CHECKER_CASE_TABLE_H

#include "lesson.h"

/** @brief A table that comes this near to its capacity counts as too small: what did not fit was left out. */
enum { CASE_TABLE_SPARE = 8 };

/**
 * @brief Looks for mistakes in the table that @p lesson made: a name that is not "part/name", is cut off or stands
 *        there twice, no room, a case for no device, a negative weight, an unknown flag, distribution, status or
 *        buffer, a part whose cases are worth nothing.
 * @return 0, or -1 with @p why naming lesson, part and case of the first.
 */
int case_table_check(const struct lesson *lesson, const struct lesson_case *cases, int count, int capacity,
                     char *why, size_t size);

/** @brief The case called @p name, for a table that derives cases from others. If there is none the table is wrong:
 *         the program says so and ends with exit code 2. */
struct lesson_case *case_table_find(struct lesson_case *cases, int count, const char *name);

/** @brief Appends @p like, which is right, as "part/NAME" with a runtime that refuses its launches: the entry point has
 *         to say ::KERNEL_CUDA_ERROR and to leave no error behind. Returns the new count. */
int case_table_add_refused(struct lesson_case *cases, int count, int capacity, const struct lesson_case *like,
                           const char *name);

/** @brief A call that must be refused: right but for one value, pointer or storage type; or for several, of which the first that the
 *         contract names decides. */
struct bad_argument {
    const char *name;
    unsigned of; /**< a set of the lesson's own: the parts or families that have it */
    enum kernel_status expected;
    int at; /**< lesson_case.value[at] = value; -1 for none */
    int64_t value;
    int null_buffer, misaligned_buffer, misalignment;
    int dtype; /**< this storage type as well; -1 for the right one */
};

/** @brief The members of struct bad_argument behind `expected`, where one thing alone is wrong. */
#define BAD_VALUE(at, value) (at), (value), -1, -1, 0, -1
#define BAD_NULL(buffer) -1, 0, (buffer), -1, 0, -1
#define BAD_ALIGNMENT(buffer, bytes) -1, 0, -1, (buffer), (bytes), -1

/** @brief Makes @p item a call that must be refused for @p bad; lesson_case.value[@p dtype_at] is the storage type. */
void case_table_spoil(struct lesson_case *item, const struct bad_argument *bad, int dtype_at);

/** @brief Appends a copy of case "PART/LIKE" as "PART/NAME", and returns it; NULL if there is no room. */
struct lesson_case *case_table_copy(struct lesson_case *cases, int *count, int capacity, const char *part,
                                    const char *like, const char *name);

/** @brief Appends case "PART/LIKE" as "PART/NAME" on a software device that @p device, of enum case_flags, makes another one: what is not
 *         refused for another reason is so for its architecture. Returns the new count. */
int case_table_add_device(struct lesson_case *cases, int count, int capacity, const char *part,
                          const char *like, const char *name, unsigned device);

/** @brief Shortens a cache of @p tokens with @p row elements a token to half a million elements, in nine of ten random
 *         problems: hundreds of long ones would take a GPU's checker minutes. */
void case_table_shorten(int *tokens, int row, struct rng *rng);

/** @brief A number without a common divisor with @p count, of about a third of it: so many apart, @p count pages are strewn over a cache. */
int64_t case_table_stride(int64_t count);

/** @brief Item @p index of a property that shows which alignment a kernel relies on: one buffer after another begins at
 *         an odd multiple of what the contract asks, of twice that, ... of 16 bytes; all others begin at their best. */
void case_table_place(struct lesson_case *item, int index, const struct lesson_buffer *buffers, int count);

/** @brief 1 if @p name, as a person writes it, means @p item: its full name, or that without the part. */
int case_table_means(const char *name, const struct lesson_case *item);

/** @brief Up to @p most names near to @p name, nearest first; returns how many. */
int case_table_near(const struct lesson_case *cases, int count, const char *name, const char **near,
                    int most);

#endif
