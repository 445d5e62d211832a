/**
 * @file table.c
 * @brief The rows of the table of promises.
 */
#include "making.h"

/* ---- what a part's description must have for a row to apply ----------------------------------------------- */

static int has(const struct lesson *lesson, int part, enum described_kind kind)
{
    return described_next(lesson, part, kind, NULL) != NULL;
}

static int has_optional(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    (void)cases, (void)count;
    for (const struct described *line = NULL;
         (line = described_next(lesson, part, DESCRIBED_POINTER, line)) != NULL;)
        if (line->words[0] != 'R') return 1;
    return 0;
}

static int has_stride(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    (void)cases, (void)count;
    return has(lesson, part, DESCRIBED_STRIDE);
}

static int has_scalar(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    (void)cases, (void)count;
    return has(lesson, part, DESCRIBED_SCALAR);
}

static int has_option(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    (void)cases, (void)count;
    return has(lesson, part, DESCRIBED_OPTION) || has(lesson, part, DESCRIBED_DTYPE);
}

static int has_status(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    (void)cases, (void)count;
    return has(lesson, part, DESCRIBED_STATUS);
}

/* Whether some case of the part may need a workspace, and whether some needs none. */
static int needs(const struct lesson *lesson, const struct lesson_case *cases, int count, int part,
                 int wanted)
{
    for (int i = 0; i < count; i++) {
        if (cases[i].part != part || cases[i].expected != KERNEL_OK || cases[i].repeat > 1) continue;
        const int may = making_workspace(lesson, &cases[i]) >= 0 && lesson->workspace_bytes(&cases[i]) != 0;
        if (may == wanted) return 1;
    }
    return 0;
}

static int needs_workspace(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    return needs(lesson, cases, count, part, 1);
}

static int needs_no_workspace(const struct lesson *lesson, const struct lesson_case *cases, int count,
                              int part)
{
    return needs(lesson, cases, count, part, 0);
}

static int has_grouped_heads(const struct lesson *lesson, const struct lesson_case *cases, int count,
                             int part)
{
    (void)cases, (void)count;
    for (const struct described *line = NULL;
         (line = described_next(lesson, part, DESCRIBED_EXTENT, line)) != NULL;)
        if (line->name[0] == 'k' && line->name[1] == 'v' && line->name[3] == 'h') return 1;
    return 0;
}

/* Whether the problem is many problems along some axis. */
static int has_parts(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    (void)lesson;
    for (int i = 0; i < count; i++)
        if (cases[i].part == part && cases[i].parts.total > 0) return 1;
    return 0;
}

static int refuses_chips(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    (void)cases, (void)count, (void)part;
    return lesson->least_architecture > 0 || lesson->last_architecture > 0;
}

/* ---- the rows --------------------------------------------------------------------------------------------- */

#define NO_WORKSPACE needs_workspace, "needs no workspace"

/* clang-format off */
const struct promise promise_table[] = {
    {"pointer.places", "a pointer may begin wherever the contract's alignment allows", NULL, "*alignments* property_alignment", make_places, NULL, NULL},
    {"pointer.misaligned", "a pointer that is less aligned is refused", NULL, NULL, make_misaligned_pointers, NULL, NULL},
    {"pointer.null", "a null pointer that is needed is refused", NULL, NULL, make_null_pointers, NULL, NULL},
    {"pointer.optional", "a pointer that may be null may be null", NULL, "no_lse without_*", make_optional_pointers, has_optional, "every pointer is needed"},
    {"pointer.unneeded", "what is not needed is not looked at", NULL, "unused_arguments* alpha_0* nan_*_alpha_0 without_* no_lse", NULL, has_optional, "every pointer is needed"},

    {"extent.one", "extents of 1", NULL, "one tiny row_1x* column_* causal_one_* *_one dot_1x1 k_1", NULL, NULL, NULL},
    {"extent.tiles", "a tile and one more or less, primes, between supported sizes", NULL, "tail_* edge_* prime_* cols_* pairs_* keys_* *_tail property_random* property_any_size queries_*", NULL, NULL, NULL},
    {"extent.small", "extents below the least are refused", NULL, NULL, make_small_extents, NULL, NULL},
    {"extent.divisions", "any number of tiles, also those that a division through a reciprocal is wrong for", NULL, NULL, make_numbers_of_tiles, has_tiled_axis, "has no axis of tiles"},
    {"extent.ratios", "any number of query heads to a K/V head", NULL, NULL, make_ratios, has_grouped_heads, "has no grouped heads"},
    {"extent.grid", "more blocks than a grid's y and z can count", NULL, "grid_of_* keys_17000001 head_dim_17000001 keys_66000 pairs_16800001 *70001", make_many, NULL, NULL},
    {"extent.shared", "rows about as long as the shared memory of a block, which leave no room beside them", NULL, NULL, make_shared_rows, has_rows_of_keys, "has no axis of which a block might keep a row"},
    {"extent.far", "tensors of more than 2^31 and 2^32 elements", NULL, NULL, make_far_parts, has_parts, "no axis that all its outputs have can be so long, or other extents follow from it"},
    {"extent.rounds", "a block goes on to as many items as there are, with a barrier before the next one", NULL, "far_*", make_rounds, has_parts, "no axis that all its outputs have can be so long, or other extents follow from it"},
    {"extent.overflow", "sizes whose products do not fit are refused", NULL, "*overflow* *too_large* *2147483647*", NULL, NULL, NULL},

    {"stride.longer", "rows further apart than they are long, by odd numbers, too", NULL, "rows_apart* *_rows_apart *_odd", make_longer_rows, has_stride, "rows follow each other"},
    {"stride.far", "rows that begin beyond 2^31 and 2^32 elements", NULL, NULL, make_far_rows, has_stride, "rows follow each other"},
    {"stride.tiles", "the same for rows of later tiles, and of later steps of a loop over rows", NULL, "far_tiles_*", make_far_tiles, has_stride, "rows follow each other"},

    {"scalar.finite", "0, negative, tiny and large factors", NULL, "scale_* alpha* beta* factors_* small_queries", make_finite_scalars, has_scalar, "takes no factor"},
    {"scalar.odd", "factors that are not finite are refused", NULL, NULL, make_odd_scalars, has_scalar, "takes no factor"},
    {"scalar.options", "options and storage types that mean nothing are refused", NULL, NULL, make_unknown_options, has_option, "takes no option"},

    {"workspace.query", "its size is right where no launch could be", NULL, NULL, make_workspace_queries, NO_WORKSPACE},
    {"workspace.exact", "as large as the kernel asks for is enough", "every case gives exactly that", NULL, NULL, NULL, NULL},
    {"workspace.larger", "it may be larger", NULL, NULL, make_larger_workspace, NO_WORKSPACE},
    {"workspace.refused", "missing, too small or misaligned it is refused", NULL, NULL, make_refused_workspaces, NO_WORKSPACE},
    {"workspace.unneeded", "one that is not needed is not looked at", NULL, NULL, make_unneeded_workspaces, needs_no_workspace, "always needs one"},
    {"workspace.contents", "what it holds before does not count", "every case leaves it uninitialised, or fills it with two poisons", NULL, NULL, NULL, NULL},

    {"status.kept", "a status word that holds an error keeps it", NULL, NULL, make_status_words, has_status, "has no status word"},
    {"status.causes", "each cause sets its value, and good calls set none", NULL, "position_negative* position_huge position_lowest position_past_* *_one_too_far position_wrong_* *entry_* length_huge length_lowest length_negative length_too_long sound*", NULL, has_status, "has no status word"},

    {"refusal.order", "of two faults the contract's first decides", NULL, NULL, make_several_faults, NULL, NULL},
    {"refusal.idle", "what must be refused is, where there is nothing to do, too", NULL, NULL, make_idle, has_idle, "has no factors with which nothing is to be done"},
    {"refusal.untouched", "a refused call writes nothing", "every case that must be refused compares outputs", NULL, NULL, NULL, NULL},
    {"refusal.nothing_launched", "a refused call launches nothing", "every case that must be refused: the software device tells of work that a stream was given before", NULL, NULL, NULL, NULL},
    {"refusal.launch", "a launch that the runtime refuses is reported, and its error cleared", NULL, NULL, make_refused_launch, NULL, NULL},

    {"stream.given", "everything is launched on the stream that was given", "the device holds every call to its stream", NULL, NULL, NULL, NULL},
    {"stream.two", "calls on two streams do not disturb each other", NULL, NULL, make_two_streams, NULL, NULL},
    {"stream.capture", "a call can be captured into a graph", NULL, NULL, make_captured, NULL, NULL},
    {"stream.default", "the legacy default stream will do", NULL, NULL, make_default_stream, NULL, NULL},

    {"state.none", "nothing is kept: same pointers, other contents, strides, factors, extents", NULL, NULL, make_state, NULL, NULL},

    {"values.bound", "every element within its bound", "every case compares with the oracle", NULL, NULL, NULL, NULL},
    {"values.ranges", "magnitudes to the end of the type", NULL, "large* small* extreme* low* unlike overflow subnormal *extremes* logits_* tiny_* to_*", NULL, NULL, NULL},
    {"values.scores", "every finite score counts, whatever its size and its factor", NULL, NULL, make_scores, has_scores, "is given neither scores nor queries and keys"},
    {"values.padding", "what pads an operand meets nothing: every place along a sum is infinite in turn", NULL, "property_padding inf_a* *_infinite_a *_infinite_w", make_infinite_values, has_values, "multiplies no two matrices of floats that it is given"},
    {"values.weightless", "a value counts even in a part of the keys that has no weight at all: 0 times NaN is NaN", NULL, NULL, make_weightless, has_weights, "makes no weights of scores, or multiplies no values by them"},
    {"values.hidden", "what a causal mask hides from a query is not looked at, a few keys in whatever group", NULL, NULL, make_hidden, has_mask, "has no causal mask, or makes no weights of scores"},
    {"values.cancelled", "sums of some keys are kept in f32 until they are complete", NULL, NULL, make_cancelled, has_weights, "makes no weights of scores, or multiplies no values by them"},
    {"values.special", "NaN comes out where it belongs, and nowhere else", NULL, NULL, make_special, has_floats, "is given no floats"},
    {"values.infinite", "so do infinities", NULL, NULL, make_infinities, has_floats_of_32_bits, "is given no floats of 32 bits alone, or its own cases show what NaN does"},

    {"bits.rerun", "the same bits again, in another order of blocks and threads", "every case that is called twice", NULL, make_long_sums, NULL, NULL},
    {"bits.placed", "the same result wherever buffers begin", "cases of numerics and properties place buffers anywhere", NULL, NULL, NULL, NULL},

    {"effects.inputs", "inputs stay as they are, at any time", "the device watches every write", NULL, NULL, NULL, NULL},
    {"effects.between", "nothing before, between and behind rows is written or counts", "guard zones or the device's borders, in every case", NULL, NULL, NULL, NULL},
    {"effects.none", "nothing is allocated, freed, printed or waited for", "the device holds every call to it", NULL, NULL, NULL, NULL},

    {"chip.served", "every architecture that the contract names, with its shared memory", NULL, NULL, make_chips, NULL, "needs what the device that is checked on has, and no other serves it"},
    {"chip.refused", "other architectures are refused", NULL, NULL, make_other_chips, refuses_chips, "runs on every architecture"},
    {"chip.several", "a call on any device of several", NULL, NULL, make_two_devices, NULL, NULL},
    {"chip.few_sms", "a device of few SMs, for which kernels may choose otherwise", NULL, NULL, make_few_sms, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};
/* clang-format on */
