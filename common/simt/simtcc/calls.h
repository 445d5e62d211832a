/**
 * @file calls.h
 * @brief Calls of host functions from device code, which nvcc refuses: found in what the compiler made of the source.
 *
 * g++ writes down every function it has, before it inlines any (`-fdump-tree-cfg`): overloads are chosen, templates
 * instantiated, macros gone. There, `__global__` and `__device__` are attributes, and host functions have the rewriter's mark.
 */
#pragma once

/** @brief The option of g++ that writes the functions to the file @p path. */
char *calls_option(const char *path);
/** @brief An error on stderr for each call of a host function from device code in the file @p path; how many there are. */
int calls_refused(const char *path);

/** @brief The option of g++ that writes to the file @p path what is left to call once it has inlined. */
char *unseen_option(const char *path);
/** @brief An error on stderr for each call there that moves a struct by a pointer, which the device does not see; how many. */
int unseen_refused(const char *path);
