/**
 * @file calls.c
 * @brief Promises about calls: their streams, what they leave behind for the next one, the device that they run on.
 */
#include <stdio.h>

#include "checker/cases/case_table.h"
#include "making.h"

/* ---- status words and streams ----------------------------------------------------------------------------- */

void make_status_words(struct making *m)
{
    static const enum kernel_status held[] = {KERNEL_CUDA_ERROR, KERNEL_INVALID_DIMENSION,
                                              KERNEL_INVALID_BLOCK_TABLE};
    const struct described *line = described_next(m->lesson, m->part, DESCRIBED_STATUS, NULL);
    for (size_t i = 0; line != NULL && i < sizeof held / sizeof held[0]; i++) {
        char name[LESSON_NAME / 2];
        snprintf(name, sizeof name, "status_holds_%d", (int)held[i]);
        struct lesson_case *item = making_add(m, making_like(m), name);
        if (item == NULL) continue;
        item->extent[line->at] = (int)held[i];
        if (m->lesson->settle != NULL) m->lesson->settle(item);
    }
}

static struct lesson_case *add_flagged(struct making *m, const char *name, unsigned flag)
{
    struct lesson_case *item = making_add(m, making_like(m), name);
    if (item != NULL) item->flags |= flag;
    return item;
}

void make_two_streams(struct making *m)
{
    struct lesson_case *item = add_flagged(m, "two_streams", CASE_TWO_STREAMS);
    if (item != NULL) item->flags &= ~(unsigned)CASE_ONE_CALL;
}

void make_captured(struct making *m)
{
    add_flagged(m, "captured", CASE_CAPTURED);
}

void make_default_stream(struct making *m)
{
    add_flagged(m, "default_stream", CASE_DEFAULT_STREAM);
}

void make_refused_launch(struct making *m)
{
    struct lesson_case *item = making_refuse(m, "launch_refused", KERNEL_CUDA_ERROR);
    if (item != NULL) case_table_refuse_launches(item);
}

/* ---- state ------------------------------------------------------------------------------------------------ */

enum { FIRST_RANDOM = 8, CALLS = 14 };

void make_state(struct making *m)
{
    struct lesson_case *item = making_add(m, making_like(m), "same_pointers");
    if (item == NULL) return;
    item->group = GROUP_PROPERTIES;
    item->flags |= CASE_ENUMERATES | CASE_SAME_ADDRESSES;
    item->property = MADE_STATE;
    item->repeat = CALLS;
}

/* A random input of the lesson's first property, if it has one for this part. */
static int random_item(const struct lesson *lesson, const struct lesson_case *cases, int count,
                       struct lesson_case *item, int index, struct rng *rng)
{
    const struct lesson_case made = *item;
    for (int i = 0; i < count; i++) {
        if (cases[i].part != item->part || cases[i].repeat < 2 || cases[i].property >= MADE_PLACES ||
            cases[i].expected != KERNEL_OK)
            continue;
        *item = cases[i];
        item->seed = made.seed;
        item->devices = made.devices;
        lesson->vary(item, index, rng);
        item->flags = (item->flags & ~(unsigned)(CASE_SAME_BITS | CASE_TWO_STREAMS)) | CASE_SAME_ADDRESSES;
        item->misaligned_buffer = -1;
        item->misalignment = 0;
        for (int b = 0; b < LESSON_STARTS; b++) item->start[b] = 0;
        return 1;
    }
    return 0;
}

/* Every other call is the first one again, with other contents; between them one argument differs: how far rows are apart,
 * a factor, at last the extents. */
void vary_state(const struct lesson *lesson, const struct lesson_case *cases, int count,
                struct lesson_case *item, int index, struct rng *rng)
{
    item->seed = rng_mix(item->seed, (uint64_t)index);
    if (index >= FIRST_RANDOM) {
        random_item(lesson, cases, count, item, index, rng);
        return;
    }
    if (index % 2 == 0) return;
    int left = index / 2;
    const struct described *line = NULL;
    while ((line = described_next(lesson, item->part, DESCRIBED_STRIDE, line)) != NULL) {
        if (left-- > 0) continue;
        item->extent[line->at] += line->first * 16;
        item->value[line->at] = item->extent[line->at];
        return;
    }
    const int fixed = described_about(lesson, item->part, DESCRIBED_NOT_HELD, "scalar.finite") != NULL;
    while (!fixed && (line = described_next(lesson, item->part, DESCRIBED_SCALAR, line)) != NULL)
        item->real[line->at] = item->real[line->at] != 0.0 ? 0.5 * item->real[line->at] : 0.3125;
    item->flags &= ~(unsigned)CASE_UNIT_SCALE;
}

/* ---- devices ---------------------------------------------------------------------------------------------- */

static const int CAPABILITIES[] = {75, 80, 86, 100};
enum { COUNT = sizeof CAPABILITIES / sizeof CAPABILITIES[0] };

static int serves(const struct lesson *lesson, int part, int capability)
{
    const struct described *own = described_next(lesson, part, DESCRIBED_CHIP, NULL);
    const int least = own != NULL ? own->at : lesson->least_architecture;
    return capability >= least && (lesson->last_architecture == 0 || capability <= lesson->last_architecture);
}

static void add_chips(struct making *m, int served)
{
    for (int i = 0; i < COUNT; i++) {
        char name[LESSON_NAME / 2];
        if (serves(m->lesson, m->part, CAPABILITIES[i]) != served) continue;
        snprintf(name, sizeof name, "on_sm_%d", CAPABILITIES[i]);
        struct lesson_case *item = served ? making_add(m, making_like(m), name)
                                          : making_refuse(m, name, KERNEL_UNSUPPORTED_ARCHITECTURE);
        if (item == NULL) continue;
        item->devices = ON_SIMT;
        item->capability = CAPABILITIES[i];
    }
}

void make_chips(struct making *m)
{
    add_chips(m, 1);
}

void make_other_chips(struct making *m)
{
    add_chips(m, 0);
}

/* With many times as many tiles as SMs, where there is a batch: blocks that stay have many each. */
void make_few_sms(struct making *m)
{
    enum { MANY = 72 };
    const struct described *line = described_extent(m->lesson, m->part, "batch");
    const int many = line != NULL && m->lesson->settle == NULL; /* else other extents follow from this one */
    const struct lesson_case least = making_least(m, m->simplest, 3);
    struct lesson_case *item = making_add(m, many ? &least : making_like(m), "on_few_sms");
    if (item == NULL) return;
    item->flags |= CASE_SMALL_DEVICE;
    item->devices = ON_SIMT;
    if (many) item->value[line->at] = item->extent[line->at] = MANY;
}
