/**
 * @file filter.h
 * @brief The parts of the site's input filter: pages, kernel files and contracts as Doxygen is to read them.
 */
#pragma once

#include "writing.h"
#include "tree.h"

/** @brief What all parts know. */
struct site {
    const char *root;                          /**< the top folder */
    struct lesson_folder lessons[LESSONS_MAX]; /**< in order */
    int lesson_count;
};

/** @brief The lesson that the file belongs to, in lessons/ or solutions/; NULL if it is none's. */
const struct lesson_folder *lesson_of(const struct site *site, const char *path);

/**
 * @brief A page: names for page and headings, formulas as MathML, figures in place, folded hints, links that Doxygen
 *        can follow; on lesson pages also what belongs to the lesson, and the way to the next one.
 * @param[in]     site  the tree
 * @param[in]     path  of the page in the tree
 * @param[in]     page  its text
 * @param[in,out] out   grows by the page
 * @return 0, or -1 if something was not understood (a message is on stderr, which Doxygen passes on)
 */
int filter_page(const struct site *site, const char *path, const char *page, struct text *out);

/**
 * @brief A kernel file, line by line: the head comment becomes the file's documentation, comments behind enumerators
 *        theirs; structs and what belongs to the student's marks are left out.
 */
void filter_kernels(const struct site *site, const char *path, const char *source, struct text *out);

/** @brief A header, as it is; in the brief of a lesson's contract the words "Lesson NN" lead to the lesson's page. */
void filter_contract(const struct site *site, const char *path, const char *source, struct text *out);
