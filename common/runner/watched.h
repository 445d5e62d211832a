/**
 * @file watched.h
 * @brief Every call of a lesson's entry points in the file that is compiled becomes one of the function of watched.c that calls it.
 *        The compiler is told to include it first, so that no call is forgotten.
 */
#include LESSON_HEADER

#define WATCHED(name) extern __typeof__(name) name __asm__("watched_" #name);
#define ENTRY(name, parameters, ...) WATCHED(name)
#define WORKSPACE(name, parameters, ...) WATCHED(name)
#define FUNCTION(result, name, parameters, ...) WATCHED(name)
#define PROCEDURE(name, parameters, ...) WATCHED(name)
#include "description/lesson_def.h"
#undef WATCHED
