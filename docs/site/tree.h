/**
 * @file tree.h
 * @brief The source tree as the site sees it: which lessons there are, what a page is called, where a link leads.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LESSONS_MAX = 100, TREE_PATH_MAX = 1024 };

/** @brief A folder lessons/NN_topic. */
struct lesson_folder {
    char folder[256]; /**< 03_online_softmax */
    char number[3];   /**< 03 */
    char topic[256];  /**< online_softmax */
    char title[256];  /**< the page's title without the number, "Online softmax" */
    int measured;     /**< 1 if it has a section in the page of measured numbers */
    int is_python;    /**< 1 if there is no kernel to write, but a file of Python */
};

/**
 * @brief Finds the lessons of a tree, in order.
 * @param[in]  root    the top folder
 * @param[out] lessons LESSONS_MAX places
 * @return how many there are; the program ends if lessons/ cannot be read
 */
int find_lessons(const char *root, struct lesson_folder *lessons);

/** @brief 1 if @p root / @p path is a file (folder 0) or a folder (folder 1). */
int tree_has(const char *root, const char *path, int folder);

/**
 * @brief The name of a page on the site.
 * @param[in]  path path in the tree of a .md file: lessons/03_online_softmax/README.md
 * @param[out] name lesson_03, notes_03, course, readme, results, or the file's own name without .md
 * @param[in]  size bytes of @p name
 */
void page_name(const char *path, char *name, size_t size);

/**
 * @brief The anchor a forge gives a heading: small letters and digits, spaces and hyphens as -, the rest dropped.
 * @param[in]  heading markdown of the heading, without the #
 * @param[out] slug    the anchor
 * @param[in]  size    bytes of @p slug
 */
void heading_slug(const char *heading, char *slug, size_t size);

/**
 * @brief Puts a link's path together with the folder it stands in.
 * @param[in]  from path in the tree of the file that holds the link
 * @param[in]  link a relative path, perhaps with .. in it
 * @param[out] path path in the tree; "" for the top folder
 * @param[in]  size bytes of @p path
 * @return 0, or -1 if it leads out of the tree
 */
int resolve_link(const char *from, const char *link, char *path, size_t size);

#ifdef __cplusplus
}
#endif
