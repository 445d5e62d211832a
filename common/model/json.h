/**
 * @file json.h
 * @brief Reads JSON (RFC 8259) from untrusted files: configurations, vocabularies, headers of weights.
 *
 * The text is parsed in place: strings of the document point into it, without their escapes. Whatever is wrong ends with a
 * sentence that names the byte. Depth and number of values are limited, so that no text makes the parser use more memory
 * than a small multiple of its length.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** @brief Size of the longest sentence about what is wrong with a file, its terminator included. */
enum { MODEL_ERROR = 512 };

/** @brief What a value is. */
enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/** @brief A value, and its place among the members of its parent. */
struct json_value {
    enum json_kind kind; /**< which of the members below are set */
    /** for a number: it was written without a fraction and an exponent, and fits @c integer */
    int is_integer;
    uint32_t first;    /**< first member; 0: none */
    uint32_t next;     /**< next sibling; 0: none */
    uint32_t count;    /**< members */
    const char *key;   /**< in an object: the key, without escapes, ended by a NUL */
    size_t key_length; /**< a key may hold NULs too */
    const char *text;  /**< for a string: without escapes, ended by a NUL */
    size_t length;     /**< of the string */
    int64_t integer;   /**< of a number that is one */
    double number;     /**< of any number */
};

/** @brief A parsed text. Zero-initialise. */
struct json {
    char *text;                /**< owned */
    struct json_value *values; /**< values[0] is unused, values[1] the root */
    size_t count;              /**< number of values in use, values[0] included */
    size_t capacity;           /**< number of values that there is room for */
};

/**
 * @brief Parses @p text, which becomes the document's, whatever comes of it.
 * @param[out] json   the document, zero-initialised before; json_free() releases it
 * @param[in]  text   allocated by malloc(), @p length bytes and one more, which is a NUL
 * @param[in]  length bytes of the text
 * @param[out] error  what is wrong, where
 * @return 0, or -1
 */
int json_parse(struct json *json, char *text, size_t length, char error[MODEL_ERROR]);
/** @brief Reads the file @p path and parses it; a file longer than @p most bytes is refused. 0, or -1. */
int json_read(struct json *json, const char *path, size_t most, char error[MODEL_ERROR]);
/** @brief Releases the text and the values; a document of zeros is left as it is. */
void json_free(struct json *json);

/** @brief The root. */
const struct json_value *json_root(const struct json *json);
/** @brief The first member of @p value, or NULL. */
const struct json_value *json_first(const struct json *json, const struct json_value *value);
/** @brief The member after @p value, or NULL. */
const struct json_value *json_next(const struct json *json, const struct json_value *value);
/** @brief The member of object @p value named @p key, the first of several; NULL if there is none, or no object. */
const struct json_value *json_find(const struct json *json, const struct json_value *value, const char *key);
/** @brief 1 if @p value is the string @p text. */
int json_is(const struct json_value *value, const char *text);
