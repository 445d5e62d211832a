/**
 * @file entries.c
 * @brief The entry points of a lesson as the runner calls them; each runs in the other process. Compiled once
 *        per lesson: LESSON_HEADER is its contract, and its lesson.def says how each parameter gets there.
 */
#include LESSON_HEADER

#include "boundary.h"

/* The runner calls boundary_open() if it is linked. This makes the linker take it out of the library. */
__attribute__((used)) static int (*const opens)(void) = boundary_open;

/* Handles in elements of a struct: with_handles() allows the host process to use them. */
#define STREAM_IN(field)                                                                                     \
    {                                                                                                        \
        's', held->at[i].field                                                                               \
    }
#define EVENT_IN(field)                                                                                      \
    {                                                                                                        \
        'e', held->at[i].field                                                                               \
    }
#define COMMUNICATOR_IN(field)                                                                               \
    {                                                                                                        \
        'c', held->at[i].field                                                                               \
    }
#define HANDLES(type, ...)                                                                                   \
    static const type *with_handles(const type *held)                                                        \
    {                                                                                                        \
        const int most = (int)(sizeof held->at / sizeof *held->at);                                          \
        for (int i = 0; held != NULL && i < held->count && i < most; i++) {                                  \
            const struct {                                                                                   \
                char kind;                                                                                   \
                const void *handle;                                                                          \
            } handle[] = {__VA_ARGS__};                                                                      \
            for (size_t j = 0; j < sizeof handle / sizeof *handle; j++)                                      \
                boundary_may_use(handle[j].kind, handle[j].handle);                                          \
        }                                                                                                    \
        return held;                                                                                         \
    }

/* clang-format off */
#define PLAIN(x) {BOUNDARY_PLAIN, 0, (uint64_t)(uintptr_t)(x)}
#define STREAM(x) {BOUNDARY_STREAM, 0, (uint64_t)(uintptr_t)(x)}
#define FLOAT(x) {BOUNDARY_REAL, 0, boundary_float(x)}
#define DOUBLE(x) {BOUNDARY_REAL, 0, boundary_double(x)}
#define GIVEN(x) {BOUNDARY_GIVEN, sizeof *(x), (uint64_t)(uintptr_t)(x)}
#define FILLED(x) GIVEN(x)
#define HOLDING(x) GIVEN(with_handles(x))
#define HANDLE(x) {BOUNDARY_HANDLE, 0, (uint64_t)(uintptr_t)(x)}
/* clang-format on */

#define FUNCTION(result, name, parameters, ...)                                                              \
    extern void student_##name(void);                                                                        \
    result name parameters                                                                                   \
    {                                                                                                        \
        const struct boundary_word words[] = {__VA_ARGS__};                                                  \
        _Static_assert(sizeof words / sizeof *words <= BOUNDARY_PARAMETERS, "too many parameters");          \
        return (result)boundary_call(student_##name, words, sizeof words / sizeof *words);                   \
    }
#define PROCEDURE(name, parameters, ...)                                                                     \
    extern void student_##name(void);                                                                        \
    void name parameters                                                                                     \
    {                                                                                                        \
        const struct boundary_word words[] = {__VA_ARGS__};                                                  \
        _Static_assert(sizeof words / sizeof *words <= BOUNDARY_PARAMETERS, "too many parameters");          \
        (void)boundary_call(student_##name, words, sizeof words / sizeof *words);                            \
    }
#define ENTRY(name, parameters, ...) FUNCTION(enum kernel_status, name, parameters, __VA_ARGS__)
#define WORKSPACE(name, parameters, ...) FUNCTION(size_t, name, parameters, __VA_ARGS__)

#include "description/lesson_def.h"
