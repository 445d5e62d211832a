/**
 * @file project.h
 * @brief A kernel file and the project headers it includes by `#include "name"` or, from an include folder, `<name>`, rewritten into a folder.
 */
#pragma once

#include "lexer.h"
#include "rewrite.h"

/** @brief One source file. */
struct source_file {
    char *path;  /**< the path as the student would write it */
    int foreign; /**< another library's: copied only if it includes a copied file */
    char *copy;  /**< the path of its rewritten copy; NULL: the file is used as it is */
    struct text text;
    struct tokens tokens;
};

struct project {
    struct source_file **files; /**< the kernel file first */
    size_t count, capacity;
    const char *folder; /**< where copies go */
    const char *const *include_folders;
    size_t include_folder_count;
    const struct string_list *compile; /**< options of the compiler, for what -D defines */
    struct kernels kernels;
};

/** @brief Reads @p path and the headers it includes, and writes the copies. Returns the copy of @p path. */
const char *project_rewrite(struct project *project, const char *path);
/** @brief The student's name of a copy, or @p path itself. */
const char *project_original(const struct project *project, const char *path);
void project_drop(struct project *project);
