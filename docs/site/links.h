/**
 * @file links.h
 * @brief Links of a page as Doxygen can follow them, and the table that leads from a lesson to all that belongs to it.
 */
#pragma once

#include "filter.h"

/**
 * @brief The site's label for a heading: page_some_heading.
 * @param[in]  page  page_name()
 * @param[in]  slug  heading_slug()
 * @param[out] label letters, digits and underscores
 * @param[in]  size  bytes of @p label
 */
void heading_label(const char *page, const char *slug, char *label, size_t size);

/**
 * @brief Appends a link. Pages, headings, headers and kernel files are left to Doxygen to find; other files of the tree
 *        are linked to their copies under files/, which the docs target makes.
 * @param[in,out] out    grows by the link
 * @param[in]     site   the tree
 * @param[in]     from   path in the tree of the page
 * @param[in]     page   name of the page
 * @param[in]     target what stands between the parentheses
 * @param[in]     text   what stands between the brackets
 * @param[in]     length characters of @p text
 * @return 0, or -1 if there is no such file
 */
int add_site_link(struct text *out, const struct site *site, const char *from, const char *page,
                  const char *target, const char *text, size_t length);

/** @brief Appends the table of lessons: page, contract, skeleton, solution, notes, measured. */
void add_lesson_table(struct text *out, const struct site *site);
