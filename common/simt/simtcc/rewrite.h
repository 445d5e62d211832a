/**
 * @file rewrite.h
 * @brief Turns CUDA C++ into C++: text goes in, text with the same lines comes out.
 *
 * | written | becomes |
 * |---|---|
 * | `k<<<grid, block>>>(a)` | `simtcc_launch_of(site, k, simtcc_configure(grid, block))(a)` |
 * | `#define ON(g, b) <<<g, b>>>` and `k ON(1, 32)(a)` | `simtcc_configure(g, b)` and `simtcc_launch_of(site, k, ON(1, 32))(a)` |
 * | the same, k an overload or a template with deduced arguments | the call in a generic lambda |
 * | `__shared__ float a[32], b;` | a red zone and a thread_local variable for each |
 * | `extern __shared__ T s[];` | a pointer to the block's dynamic shared memory |
 * | `__device__ int table[4];` | the variable in the section of device variables, static unless -rdc=true |
 * | `__builtin_memcpy(...)`, `memmove`, `memset` | the function of that name, which the device sees |
 * | `__cluster_dims__(2, 1, 1)`, `__launch_bounds__(128, 2)` | a record in the kernel's body that says so |
 * | `const __grid_constant__ T p` of a kernel | the same with a mark in the body, as for any parameter of a class: parameters.c |
 * | `__noinline__` | nothing: what is passed by value out of line is not seen (a macro would break the C++ library) |
 * | `asm volatile(...)` that is PTX | a call that runs it: assembly.c says which those are |
 * | `float f(float x) {` of the host | the same with a mark in the body: hosts.c says which functions are the host's alone |
 * | `cudaLaunchKernel((void *)k, ...)` | the call without the cast, so that k's parameter types are known |
 *
 * Macro bodies are rewritten like other code. Nothing is ever moved to another line.
 */
#pragma once

#include <stddef.h>

#include "lexer.h"
#include "text.h"

/** @brief Attributes of kernels of which the device is told. */
enum { CLUSTER_DIMS, LAUNCH_BOUNDS, TOLD };
/** @brief What the declarations say about a kernel; names are not qualified. */
struct kernel {
    char *name;
    int template_parameters; /**< number without a default; -1: not a template, INT_MAX: a pack */
    int definitions;         /**< more than 1: overloads, or several namespaces */
    int parameters;
    int has_defaults; /**< some parameter has a default argument */
    char *told[TOLD]; /**< the text between the attribute's parentheses in some declaration, or NULL */
};
/** @brief `#define ON(grid, block) <<<grid, block>>>`: some people write this because their editor does
 *         not know the brackets. */
struct launch_macro {
    char *name;
    int takes_arguments;
};
struct kernels {
    struct kernel *list;
    size_t count, capacity;
    struct launch_macro *macros;
    size_t macro_count, macro_capacity;
    /** names of variables of the device that are declared extern: they are not one file's own */
    char **externs;
    size_t extern_count, extern_capacity;
    int relocatable; /**< no variable of the device is one file's own */
};
/** @brief Adds the kernels that @p tokens declare. */
void kernels_collect(struct kernels *kernels, const struct tokens *tokens);
const struct kernel *kernels_find(const struct kernels *kernels, const char *name, size_t length);
void kernels_drop(struct kernels *kernels);

/** @brief What stands behind `#include`. */
enum include_form { INCLUDE_QUOTED, INCLUDE_ANGLED, INCLUDE_MACRO };
/** @brief The name in an include line. */
struct include_name {
    char *text; /**< without quotes, a new string; NULL: it is no include line */
    enum include_form form;
    size_t at, length; /**< where it stands in the line, with its quotes */
};
struct include_name include_name_of(const struct tokens *tokens, size_t i);
/** @brief The file that `#include "name"` shall name instead, as a new string, or NULL to leave it. */
typedef char *include_function(void *context, const char *name, enum include_form form);

/**
 * @brief Rewrites one file.
 * @param[out] changed  number of changes other than to include lines
 */
struct text rewrite(const struct tokens *tokens, const struct kernels *kernels, include_function *include,
                    void *context, size_t *changed);
