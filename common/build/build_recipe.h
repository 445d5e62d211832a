/**
 * @file build_recipe.h
 * @brief How a kernel file becomes a runner: what the two ways of building, build.c and build_untrusted.c, share.
 */
#pragma once

#include "base/process.h"
#include "base/text.h"
#include "build.h"
#include "course/course.h"
#include "course/device.h"

struct recipe {
    const struct lesson_folder *lesson;
    enum device device;
    char *kernel;                 /**< full path */
    char *compiler;               /**< full path of simtcc or nvcc */
    char *library;                /**< the runner library of the lesson */
    struct argument_list compile; /**< the compiler, its flags, its folders of headers */
    struct argument_list link;    /**< the library, and flags for the linker */
};

/** @brief Makes simtcc refuse copies of structs that the device would not see: in files that are graded, or may be later. */
void recipe_watch_copies(struct recipe *recipe);
/** @brief Fills @p recipe; EXIT_PASS, or EXIT_TROUBLE after a complaint. */
int recipe_prepare(const struct lesson_folder *lesson, const char *kernel, enum device device,
                   enum build_level level, struct recipe *recipe);
/** @brief A hash of everything that goes into the build, and of @p way, how it is built. */
void recipe_name(const struct recipe *recipe, const char *way, char digits[65]);

/** @brief 1 if a file of the size of a runner cannot be written in @p folder. */
int build_disk_is_full(const char *folder);
/** @brief Keeps the first messages of a compiler's log. */
void build_pick_errors(const char *log, struct text *errors);
/** @brief Removes builds in folder @p kernels that nobody has used for a while. */
void build_remove_old(const char *kernels);
