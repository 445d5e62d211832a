/**
 * @file sass_listing.h
 * @brief The disassembly of a compiled kernel file, and the assembler's statistics.
 */
#pragma once

#include <stddef.h>

enum { SASS_KINDS = 256, SASS_NAME = 24 };

/** @brief How often one instruction occurs in a kernel. */
struct sass_kind {
    char name[SASS_NAME]; /**< what it does and its width: "LDG.128" of LDG.E.128.CONSTANT */
    int all, in_loop;
};

/** @brief One kernel of the listing. */
struct sass_kernel {
    char *name; /**< as the linker knows it */
    int instructions,
        /** number of all its instructions; of those in its longest innermost loop, 0 if it has none */
        loop_instructions;
    unsigned loop_begin, loop_end; /**< addresses of that loop's first and last instruction */
    int registers, shared_bytes;   /**< -1 if nothing was said */
    int spilled_bytes;             /**< bytes spilled to local memory */
    int serialised;                /**< 1: ptxas makes each wgmma wait for the one before */
    size_t kinds;
    struct sass_kind kind[SASS_KINDS];
};

struct sass_listing {
    struct sass_kernel *kernel;
    size_t count;
};

/**
 * @brief Reads the output of `cuobjdump -sass` or of `nvdisasm`.
 * @param listing  grows by every kernel; free with sass_free()
 * @param text     ended by 0
 */
void sass_read(struct sass_listing *listing, const char *text);

/** @brief Adds what `ptxas -v` said of the kernels: registers, shared memory, spills, serialised wgmmas. */
void sass_read_resources(struct sass_listing *listing, const char *log);

void sass_free(struct sass_listing *listing);
