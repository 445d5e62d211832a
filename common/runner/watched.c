/**
 * @file watched.c
 * @brief Calls a lesson's entry points, and sees that the structs which they are given stay as they are. Compiled once a lesson:
 *        LESSON_HEADER is its contract.
 */
#include LESSON_HEADER

#include "runner/args.h"

#define PLAIN(x) x
#define STREAM(x) x
#define FLOAT(x) x
#define DOUBLE(x) x
#define HANDLE(x) x
#define GIVEN(x) args_given(x, sizeof *(x))
#define FILLED(x) GIVEN(x)
#define HOLDING(x) GIVEN(x)

#define FUNCTION(result, name, parameters, ...)                                                              \
    result watched_##name parameters;                                                                        \
    result watched_##name parameters                                                                         \
    {                                                                                                        \
        const result returned = name(__VA_ARGS__);                                                           \
        args_returned();                                                                                     \
        return returned;                                                                                     \
    }
#define PROCEDURE(name, parameters, ...)                                                                     \
    void watched_##name parameters;                                                                          \
    void watched_##name parameters                                                                           \
    {                                                                                                        \
        name(__VA_ARGS__);                                                                                   \
        args_returned();                                                                                     \
    }
#define ENTRY(name, parameters, ...) FUNCTION(enum kernel_status, name, parameters, __VA_ARGS__)
#define WORKSPACE(name, parameters, ...) FUNCTION(size_t, name, parameters, __VA_ARGS__)

#include "description/lesson_def.h"
