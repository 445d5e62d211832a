/**
 * @file options.h
 * @brief What simtcc was asked to do.
 */
#pragma once

#include "text.h"

struct options {
    struct string_list inputs;  /**< sources, objects, archives, and -l in their order */
    struct string_list compile; /**< passed to the compiler: -I -D -U -W -f -m -O ... */
    struct string_list link;    /**< passed to the linker: -L -Wl, ... */
    struct string_list include_folders;
    struct string_list run_arguments; /**< for the program that --run starts */
    const char *output;
    const char *depfile, *dep_target;
    const char *standard;      /**< "c++17" */
    const char *optimise;      /**< "-O3"; NULL if none was given */
    int architecture;          /**< 900 stands for sm_90 */
    int architecture_specific; /**< sm_90a, whose code runs on no other architecture */
    /** -E: write the rewritten file with all its includes, to be compiled later as a .ii file */
    int preprocess_only;
    int assembly_only; /**< -S: of a .ii file; what it becomes is assembled later as a .s file */
    int all_kernels;   /**< -x cu: .cpp and .c files are kernel files, too */
    int no_fmad;       /**< -fmad=false: products are rounded before they are added */
    /** -rdc=true: a `__device__` variable is one for all files of the program, and not each file's own */
    int relocatable;
    int strict; /**< --strict: structs may only be copied where the device sees it; for lessons */
    int frames; /**< --frames: each function reports where it begins and ends (machine/frames.c), and none throws */
    int compile_only, depend, show, precompile;
    int run; /**< --run: start the built program, and end as it does */
    int verbose;
};

/** @brief 1 if @p folder has the headers of the CUDA Toolkit. */
int is_toolkit_folder(const char *folder);

/** @brief Reads the command line; where necessary prints help or a complaint and ends the program. */
struct options options_read(int argc, char **arguments);
