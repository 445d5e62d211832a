/**
 * @file making.h
 * @brief What the code of the table's rows has in common. Every maker appends to the cases of a part.
 */
#pragma once

#include "promises.h"

/** @brief The case that a part's refusals are made of is called so. */
#define MAKING_SOUND "sound_arguments"

/** @brief What the items of a property that the table made have to do with each other (lesson_case.property). */
enum made_property {
    MADE_PLACES = 1 << 16,
    MADE_FAULTS,
    MADE_STATE,
    MADE_REFUSED,
    MADE_PATHS,
    MADE_RATIOS,
    MADE_DEVICES,
    MADE_SCORES,
    MADE_SPECIAL,
    MADE_SHARED,
    MADE_IDLE
};

/** @brief Appends a copy of @p like as "PART/NAME", and returns it. If there is such a case it now shows the row, too, and the
 *         result is NULL; so it is without room. */
struct lesson_case *making_add(struct making *m, const struct lesson_case *like, const char *name);

/** @brief The same of a copy of making_like_sound(). */
struct lesson_case *making_add_sound(struct making *m, const char *name);

/** @brief The same for a call that must be refused. */
struct lesson_case *making_refuse(struct making *m, const char *name, enum kernel_status expected);

/** @brief The case that the row's cases are made of: the one that lesson.def names, or the simplest. */
const struct lesson_case *making_like(const struct making *m);

/** @brief The same, but of those that lesson.def does not tell of the one that refusals are made of, if there is one. */
const struct lesson_case *making_like_sound(const struct making *m);

/** @brief The line after @p line, or the first one if that is NULL, that counts for part @p part and is of kind @p kind; NULL: no more. */
const struct described *described_next(const struct lesson *lesson, int part, enum described_kind kind,
                                       const struct described *line);

/** @brief The line about extent @p name; NULL if there is none. */
const struct described *described_extent(const struct lesson *lesson, int part, const char *name);

/** @brief The line of this kind that is about row @p row, or about all rows of its kind: "workspace" stands for "workspace.larger". */
const struct described *described_about(const struct lesson *lesson, int part, enum described_kind kind,
                                        const char *row);

/** @brief 1 if @p name matches one of @p patterns, with * and ?, separated by blanks. */
int making_matches(const char *patterns, const char *name);

/** @brief The index of the part's workspace among the buffers of @p item; -1 if it has none. */
int making_workspace(const struct lesson *lesson, const struct lesson_case *item);

/** @brief Bytes of the workspace that such extents get: the limit of one that the kernel chooses. */
size_t making_most_workspace(const struct lesson *lesson, const struct lesson_case *item);

/** @brief A case like @p like with one sequence, one head, and no more than @p rows queries and keys. */
struct lesson_case making_least(const struct making *m, const struct lesson_case *like, int rows);

/** @brief Whether a case is a call that must succeed, whose results are looked at everywhere. */
int making_is_ordinary(const struct lesson_case *item);

/** @brief Turns @p item into input number @p index of the lesson's first property, if it has one for this part; else 0. */
int making_random(const struct lesson *lesson, const struct lesson_case *cases, int count,
                  struct lesson_case *item, int index, struct rng *rng);

/** @brief X(name): make_name() appends the cases of rows of the table, which says what each shows. */
/* clang-format off */
#define MAKERS(X) \
    X(null_pointers) X(optional_pointers) X(misaligned_pointers) X(places) X(small_extents) \
    X(ratios) X(numbers_of_tiles) X(scores) X(infinite_values) X(weightless) X(hidden) X(cancelled) \
    X(special) X(infinities) X(finite_scalars) X(longer_rows) X(many) X(shared_rows) X(far_rows) X(far_tiles) X(far_groups) \
    X(far_parts) X(rounds) X(unknown_options) X(odd_scalars) X(several_faults) X(idle) \
    X(refused_workspaces) X(larger_workspace) X(unneeded_workspaces) X(workspace_queries) \
    X(status_words) X(two_streams) X(two_devices) X(captured) X(default_stream) X(state) \
    X(long_sums) X(refused_launch) X(chips) X(other_chips) X(few_sms)
/* clang-format on */
#define MAKER(name) void make_##name(struct making *m);
MAKERS(MAKER)

/** @brief X(name): has_name() is 1 if such a row applies to a part. */
#define CONDITIONS(X)                                                                                        \
    X(tiled_axis)                                                                                            \
    X(rows_of_keys) X(scores) X(values) X(weights) X(mask) X(floats) X(floats_of_32_bits) X(idle)
#define CONDITION(name)                                                                                      \
    int has_##name(const struct lesson *lesson, const struct lesson_case *cases, int count, int part);
CONDITIONS(CONDITION)

/** @brief 1 if the part is given rows of scores, and need not make them. */
int making_is_given_scores(const struct making *m);

/** @brief Of the part's ordinary cases that have the widest rows the one with most to compute; NULL: rows have one width. */
const struct lesson_case *making_widest(const struct making *m);

/** @brief Turns @p item into number @p index of the lengths of rows that fill shared memory. */
void vary_shared(const struct lesson *lesson, struct lesson_case *item, int index);
/** @brief Turns @p item into number @p index of the ratios of heads. */
void vary_ratio(const struct lesson *lesson, struct lesson_case *item, int index);
/** @brief Fills buffer @p index of @p buffers with what the item's scores are made of. */
void scores_fill(const struct lesson *lesson, const struct lesson_case *item,
                 const struct lesson_buffer *buffers, int index, float *data);
/** @brief Turns @p item into number @p index of the sizes of scores. */
void vary_scores(const struct lesson *lesson, struct lesson_case *item, int index);
/** @brief Turns @p item into number @p index of the inputs with special values. */
void vary_special(const struct lesson *lesson, const struct lesson_case *cases, int count,
                  struct lesson_case *item, int index, struct rng *rng);
/** @brief Fills in what is special about buffer @p index of @p buffers. */
void special_fill(const struct lesson_case *item, const struct lesson_buffer *buffer, int buffers, int index,
                  float *data);
/** @brief Turns @p item into one with two faults. */
void vary_faults(const struct lesson *lesson, const struct lesson_case *cases, int count,
                 struct lesson_case *item, int index, struct rng *rng);
/** @brief Turns @p item into number @p index of the part's refusals, with factors for which there is nothing to do. */
void vary_idle(const struct lesson *lesson, const struct lesson_case *cases, int count,
               struct lesson_case *item, int index);
/** @brief Turns @p item into number @p index of calls on two streams. */
void vary_path(const struct lesson *lesson, const struct lesson_case *cases, int count,
               struct lesson_case *item, int index);
/** @brief Turns @p item into number @p index of calls on one device and another. */
void vary_device(const struct lesson *lesson, const struct lesson_case *cases, int count,
                 struct lesson_case *item, int index);
/** @brief Turns @p item into number @p index of calls with the same pointers. */
void vary_state(const struct lesson *lesson, const struct lesson_case *cases, int count,
                struct lesson_case *item, int index, struct rng *rng);
/** @brief Turns @p item into number @p index of calls that must be refused, each after one that must not. */
void vary_refused(const struct lesson_case *cases, int count, struct lesson_case *item, int index);
