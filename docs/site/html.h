/**
 * @file html.h
 * @brief Reads HTML piece by piece: tags with their attributes, and the text between them.
 */
#pragma once

#include <stddef.h>

enum html_kind { HTML_END, HTML_TEXT, HTML_OPEN, HTML_CLOSE };

/** @brief One piece, pointing into the document. */
struct html_piece {
    enum html_kind kind;
    const char *at; /**< text: its characters; tags: behind the name */
    size_t length;  /**< of the text, or of a tag's attributes */
    char name[32];  /**< of a tag, in small letters */
};

/**
 * @brief Takes the next piece. Comments and the insides of script and style elements are passed over.
 * @param[in,out] at    where to go on; begin with the document
 * @param[out]    piece what was found
 * @return 0 at the end of the document, 1 before
 */
int html_next(const char **at, struct html_piece *piece);

/**
 * @brief An attribute of a tag, with &amp; and the like turned into characters and %20 and the like left alone.
 * @param[in]  piece an HTML_OPEN
 * @param[in]  name  of the attribute
 * @param[out] value its value
 * @param[in]  size  bytes of @p value
 * @return 1 if the tag has it, else 0
 */
int html_attribute(const struct html_piece *piece, const char *name, char *value, size_t size);

/**
 * @brief Turns the entities that Doxygen and our own programs write into characters, in place.
 * @param[in,out] text a string
 */
void html_decode(char *text);
