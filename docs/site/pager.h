/**
 * @file pager.h
 * @brief The way on at the end of a page of the site.
 */
#pragma once

#include "filter.h"

/**
 * @brief Adds links to the page before and the page after, if the page is in a row of pages: the lessons, the background
 *        pages, and notes, which lead back to their lesson.
 * @param[in,out] out    grows by the links; nothing is added to a page that stands alone
 * @param[in]     site   the tree
 * @param[in]     name   of the page, page_name()
 * @param[in]     lesson whose page or whose notes it is, or NULL
 */
void add_pager(struct text *out, const struct site *site, const char *name,
               const struct lesson_folder *lesson);
