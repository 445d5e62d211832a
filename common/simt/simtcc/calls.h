/**
 * @file calls.h
 * @brief Calls of host functions from device code, which nvcc refuses: found in the compiler's dump.
 *
 * g++ writes down every function it has, before it inlines any (`-fdump-tree-cfg`): overloads are chosen, templates
 * instantiated, macros gone. There, `__global__` and `__device__` are attributes, and host functions have the rewriter's mark.
 */
#pragma once

/** @brief The option that makes g++ write its functions to the file @p path. */
char *calls_option(const char *path);
/** @brief Prints an error on stderr for each call of a host function from device code in the file @p path;
 *         returns how many. */
int calls_refused(const char *path);

/** @brief The option that makes g++ write to the file @p path the calls that are left after inlining. */
char *unseen_option(const char *path);
/** @brief Prints an error on stderr for each call there that copies a struct through a pointer, which the
 *         device does not see; returns how many. */
int unseen_refused(const char *path);
