/**
 * @file gemm.c
 * @brief From an item to the entry points of a lesson on matrix products, compiled once a lesson: LESSON_HEADER is its
 *        contract.
 */
#include LESSON_HEADER

#include "runner/gemm_call.h"
#include "runner/runner.h"

/* How many parameters the lesson's entry points have. */
enum {
#define PLAIN(x) 0
#define STREAM(x) 0
#define GIVEN(x) 0
#define ENTRY(name, parameters, ...) PARAMETERS_##name = (int)sizeof((const char[]){__VA_ARGS__}),
#include "description/lesson_def.h"
};

/* Where the tile is a parameter of its own, what args->stages holds means nothing. */
static int takes_tile(void)
{
    int takes = 0;
#define ENTRY(name, parameters, ...) takes |= PARAMETERS_##name > 2;
#include "description/lesson_def.h"
    return takes;
}

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct gemm_args filled;
    gemm_args_of(item, buffers, &filled);
    if (takes_tile()) filled.stages = ~filled.stages;
    /* What entry points call their parameters; no lesson has all. */
    const struct gemm_args *args = item->value[GEMM_NULL_ARGS] ? NULL : &filled;
    int tile = (int)item->value[GEMM_CHOICE];
    (void)tile;
#include "runner/dispatch.h"
    return KERNEL_INVALID_CONFIG;
}

/* No workspace. */
size_t lesson_workspace_bytes(const struct wire_case *item)
{
    (void)item;
    return 0;
}
