/**
 * @file case_table.h
 * @brief Checks a lesson's table of cases, and finds cases by name or by a name close to theirs.
 */
#pragma once

#include "lesson.h"

/** @brief A table with less room to spare than this counts as too small: cases may have been left out. */
enum { CASE_TABLE_SPARE = 8 };

/**
 * @brief Looks for mistakes in the table that @p lesson made: a name that is not "part/name", is cut off or stands
 *        there twice, no room, a case for no device, a negative weight, an unknown flag, distribution, status or
 *        buffer, a part whose cases are worth nothing.
 * @return 0, or -1 with @p why naming lesson, part and case of the first.
 */
int case_table_check(const struct lesson *lesson, const struct lesson_case *cases, int count, int capacity,
                     char *why, size_t size);

/** @brief The case called @p name, for a table that derives cases from others. If there is none the table
 *         is wrong: the program reports it and ends with exit code 2. */
struct lesson_case *case_table_find(struct lesson_case *cases, int count, const char *name);

/** @brief Turns a good case into one whose launches the runtime refuses: the entry point has to return ::KERNEL_CUDA_ERROR
 *         and to clear the error. */
void case_table_refuse_launches(struct lesson_case *item);

/** @brief A call that must be refused: one value, pointer or storage type is wrong; or several are, and
 *         the one that the contract names first decides. */
struct bad_argument {
    const char *name;
    unsigned of; /**< set, defined by the lesson: the parts or families that run it */
    enum kernel_status expected;
    int at; /**< lesson_case.value[at] = value; -1: no value is wrong */
    int64_t value;
    int null_buffer, misaligned_buffer, misalignment;
    int dtype; /**< wrong storage type as well; -1: the right one */
};

/** @brief Initialisers for the members of struct bad_argument after `expected`, where one argument alone
 *         is wrong. */
#define BAD_VALUE(at, value) (at), (value), -1, -1, 0, -1
#define BAD_ALIGNMENT(buffer, bytes) -1, 0, -1, (buffer), (bytes), -1

/** @brief Turns @p item into a call that must be refused because of @p bad; lesson_case.value[@p dtype_at]
 *         is the storage type. */
void case_table_spoil(struct lesson_case *item, const struct bad_argument *bad, int dtype_at);

/** @brief Appends a copy of case "PART/LIKE" as "PART/NAME", and returns it; NULL if there is no room. */
struct lesson_case *case_table_copy(struct lesson_case *cases, int *count, int capacity, const char *part,
                                    const char *like, const char *name);

/** @brief lesson_case.capability of a device that is too old for tensor cores of 16 x 8 results. */
enum { CASE_TABLE_OLD_DEVICE = 75 };

/** @brief Appends case "PART/LIKE", whose call must be refused, as "PART/NAME" on a software device that is too old, too: that is
 *         looked at last. Returns the new count. */
int case_table_add_old_device(struct lesson_case *cases, int count, int capacity, const char *part,
                              const char *like, const char *name);

/** @brief In nine of ten random problems, shortens a cache of @p tokens tokens, @p row elements each, to
 *         half a million elements: with hundreds of long caches the checker on a GPU would take minutes. */
void case_table_shorten(int *tokens, int row, struct rng *rng);

/** @brief A number coprime to @p count and about a third of it: pages that many places apart are scattered
 *         over the whole cache. */
int64_t case_table_stride(int64_t count);

/** @brief Item @p index of a property that finds out which alignment a kernel relies on. One buffer at a
 *         time begins at an odd multiple of the alignment that the contract asks for, of twice that, ...
 *         up to 16 bytes; all other buffers are well aligned. */
void case_table_place(struct lesson_case *item, int index, const struct lesson_buffer *buffers, int count);

/** @brief A path of a kernel, which has one for each head_dim or storage type, and a length: with each path a property goes through all
 *         remainders of CASE_TABLE_REMAINDERS, since a tile may have any width. */
struct sweep {
    int path;   /**< 0 ... paths - 1 */
    int length; /**< 1 ... CASE_TABLE_REMAINDERS */
};
enum { CASE_TABLE_REMAINDERS = 32 };

/** @brief Item @p index of these, in a mixed order: the first @p paths * CASE_TABLE_REMAINDERS differ. */
struct sweep case_table_sweep(int index, int paths);

/** @brief How many of these items there are before they begin again. */
int case_table_places(const struct lesson_buffer *buffers, int count);

/** @brief 1 if @p name, as typed by a person, means @p item: its full name, the name without the part,
 *         or the part's with a slash at its end, which means all of its items. */
int case_table_means(const char *name, const struct lesson_case *item);

/** @brief Up to @p most names near to @p name, nearest first; returns how many. */
int case_table_near(const struct lesson_case *cases, int count, const char *name, const char **near,
                    int most);
