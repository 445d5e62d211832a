/**
 * @file entry.c
 * @brief The entry points of a lesson by the storage type in which their names end. Compiled once per lesson: LESSON_HEADER is
 *        its contract, lesson.def names its functions, and ENTRY_OF_LESSON is what they are known by.
 */
#include <string.h>

#include LESSON_HEADER

#include "entry.h"

/** 1 if @p name ends in the name of @p dtype. */
static int is_of(const char *name, enum dtype dtype)
{
    const char *type = dtype == DTYPE_F32 ? "_f32" : dtype == DTYPE_F16 ? "_f16" : "_bf16";
    return strcmp(strrchr(name, '_'), type) == 0;
}

/* clang-format off */
#define ENTRY(name, parameters, ...) + 1
enum { ENTRIES = 0
#include "description/lesson_def.h"
};

static enum kernel_status call(const void *args, enum dtype dtype, cudaStream_t stream)
{
    int left = ENTRIES;
#define GIVEN(x) x
#define STREAM(x) x
#define PLAIN(x) 0 /* the value of an option by which the lesson chooses itself */
#define ENTRY(name, parameters, ...) if (--left == 0 || is_of(#name, dtype)) return name(__VA_ARGS__);
#include "description/lesson_def.h"
    return KERNEL_UNSUPPORTED_DTYPE; /* not reached */
}

static size_t workspace_bytes(const void *args)
{
#define GIVEN(x) x
#define WORKSPACE(name, parameters, ...) return name(__VA_ARGS__);
#include "description/lesson_def.h"
    (void)args;
    return 0;
}
/* clang-format on */

const struct lesson_entry ENTRY_OF_LESSON = {call, workspace_bytes};
