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
    MADE_PATHS,
    MADE_RATIOS,
    MADE_DEVICES,
    MADE_SCORES,
    MADE_SPECIAL
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

/** @brief Appends what shows that a null pointer is refused. */
void make_null_pointers(struct making *m);
/** @brief Appends what shows that a pointer may be NULL. */
void make_optional_pointers(struct making *m);
/** @brief Appends what shows that a pointer with too small an alignment is refused. */
void make_misaligned_pointers(struct making *m);
/** @brief Appends what shows that pointers may begin wherever the contract allows. */
void make_places(struct making *m);
/** @brief Appends what shows that extents below the least are refused. */
void make_small_extents(struct making *m);
/** @brief Appends groups of query heads of many sizes. */
void make_ratios(struct making *m);
/** @brief Turns @p item into number @p index of these. */
void vary_ratio(const struct lesson *lesson, struct lesson_case *item, int index);
/** @brief Whether a part has an axis of tiles. */
int has_tiled_axis(const struct lesson *lesson, const struct lesson_case *cases, int count, int part);
/** @brief Appends numbers of tiles for which a division may be wrong. */
void make_numbers_of_tiles(struct making *m);
/** @brief Whether a part multiplies queries and keys that it is given. */
int has_scores(const struct lesson *lesson, const struct lesson_case *cases, int count, int part);
/** @brief Appends scores of every size that a float can hold. */
void make_scores(struct making *m);
/** @brief Whether a part multiplies values by weights. */
int has_values(const struct lesson *lesson, const struct lesson_case *cases, int count, int part);
/** @brief Appends values that are infinite. */
void make_infinite_values(struct making *m);
/** @brief Whether a part makes weights of scores, and multiplies values by them. */
int has_weights(const struct lesson *lesson, const struct lesson_case *cases, int count, int part);
/** @brief Appends scores of -infinity, before values that are NaN. */
void make_weightless(struct making *m);
/** @brief Whether, besides, a causal mask hides keys of some queries. */
int has_mask(const struct lesson *lesson, const struct lesson_case *cases, int count, int part);
/** @brief Appends values and keys that are NaN behind the mask, for every size of a row. */
void make_hidden(struct making *m);
/** @brief Appends values that nearly cancel. */
void make_cancelled(struct making *m);
/** @brief Fills buffer @p index of @p buffers with what the item's scores are made of. */
void scores_fill(const struct lesson *lesson, const struct lesson_case *item,
                 const struct lesson_buffer *buffers, int index, float *data);
/** @brief Turns @p item into number @p index of these. */
void vary_scores(const struct lesson *lesson, struct lesson_case *item, int index);
/** @brief Whether a part is given floats. */
int has_floats(const struct lesson *lesson, const struct lesson_case *cases, int count, int part);
/** @brief Appends inputs of which an element is NaN. */
void make_special(struct making *m);
/** @brief Whether a part has such, and no numbers of 16 bits. */
int has_floats_of_32_bits(const struct lesson *lesson, const struct lesson_case *cases, int count, int part);
/** @brief In these an element may be infinite, too. */
void make_infinities(struct making *m);
/** @brief Turns @p item into number @p index of these. */
void vary_special(const struct lesson *lesson, const struct lesson_case *cases, int count,
                  struct lesson_case *item, int index, struct rng *rng);
/** @brief Fills in what is special about buffer @p index of @p buffers. */
void special_fill(const struct lesson_case *item, const struct lesson_buffer *buffer, int buffers, int index,
                  float *data);
/** @brief Appends factors that are negative or small. */
void make_finite_scalars(struct making *m);
/** @brief Appends rows that are further apart than they are long. */
void make_longer_rows(struct making *m);
/** @brief Appends launches for more heads, rows or sequences than a grid's y and z can count. */
void make_many(struct making *m);
/** @brief Appends rows that begin beyond 2^31 elements. */
void make_far_rows(struct making *m);
/** @brief Appends groups of query heads, of sizes that are no power of 2, with heads up to 2^16. */
void make_far_groups(struct making *m);
/** @brief Appends problems of more than 2^32 elements, of which three parts are filled. */
void make_far_parts(struct making *m);
/** @brief Appends one more such problem, made of another case, where lesson.def names one. */
void make_rounds(struct making *m);
/** @brief Appends what shows that options and storage types without a meaning are refused. */
void make_unknown_options(struct making *m);
/** @brief Appends what shows that numbers that are not finite are refused. */
void make_odd_scalars(struct making *m);
/** @brief Appends what shows that of several faults the first by the contract decides. */
void make_several_faults(struct making *m);
/** @brief Turns @p item into one with two faults. */
void vary_faults(const struct lesson *lesson, const struct lesson_case *cases, int count,
                 struct lesson_case *item, int index, struct rng *rng);

/** @brief Appends what shows that a null, short or misaligned workspace is refused where one is needed. */
void make_refused_workspaces(struct making *m);
/** @brief Appends what shows that a workspace may be larger than needed. */
void make_larger_workspace(struct making *m);
/** @brief Appends what shows that a workspace that is not needed is not looked at. */
void make_unneeded_workspaces(struct making *m);
/** @brief Appends what shows that the size of the workspace is right for sizes that no launch can have. */
void make_workspace_queries(struct making *m);

/** @brief Appends what shows that a status word keeps what it holds. */
void make_status_words(struct making *m);
/** @brief Appends what shows that two streams do not disturb each other. */
void make_two_streams(struct making *m);
/** @brief Turns @p item into number @p index of calls on two streams. */
void vary_path(const struct lesson *lesson, const struct lesson_case *cases, int count,
               struct lesson_case *item, int index);
/** @brief Appends calls on one device and then on another one. */
void make_two_devices(struct making *m);
/** @brief Turns @p item into number @p index of these. */
void vary_device(const struct lesson *lesson, const struct lesson_case *cases, int count,
                 struct lesson_case *item, int index);
/** @brief Appends what shows that a call can be captured. */
void make_captured(struct making *m);
/** @brief Appends what shows that the legacy default stream will do. */
void make_default_stream(struct making *m);
/** @brief Appends what shows that nothing is kept from call to call. */
void make_state(struct making *m);
/** @brief Turns @p item into number @p index of calls with the same pointers. */
void vary_state(const struct lesson *lesson, const struct lesson_case *cases, int count,
                struct lesson_case *item, int index, struct rng *rng);
/** @brief Appends a call with long sums, whose bits must be the same again. */
void make_long_sums(struct making *m);
/** @brief Appends what shows that a launch that is refused is reported. */
void make_refused_launch(struct making *m);
/** @brief Appends calls on other architectures, that the lesson serves. */
void make_chips(struct making *m);
/** @brief Appends calls on other architectures, that the lesson refuses. */
void make_other_chips(struct making *m);
/** @brief Appends a call on a device of few SMs. */
void make_few_sms(struct making *m);
