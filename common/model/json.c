/**
 * @file json.c
 * @brief A recursive-descent parser of JSON whose depth is limited.
 */
#include "json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

enum { MOST_DEPTH = 64, LONGEST_NUMBER = 64 };

struct parser {
    struct json *json;
    const char *begin, *end;
    char *at;
    char *error;
    int depth;
};

static int wrong(struct parser *p, const char *what)
{
    snprintf(p->error, MODEL_ERROR, "no valid JSON: %s at byte %zu", what, (size_t)(p->at - p->begin));
    return -1;
}

static void skip_space(struct parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')) p->at++;
}

/* The index of a new value; 0 if there are too many for an index. */
static uint32_t new_value(struct parser *p)
{
    struct json *json = p->json;
    if (json->count == json->capacity) {
        if (json->capacity > UINT32_MAX / 2) return 0;
        json->capacity = json->capacity ? json->capacity * 2 : 64;
        json->values = realloc(json->values, json->capacity * sizeof *json->values);
        if (json->values == NULL) abort(); /* as in must_allocate(): the program ends when memory runs out */
    }
    memset(&json->values[json->count], 0, sizeof *json->values);
    return (uint32_t)json->count++;
}

/* ---- strings ---------------------------------------------------------------------------------------------- */

/* Reads four hexadecimal digits; -1 if they are something else. */
static int hex_digits(const struct parser *p, const char *at)
{
    int value = 0;
    if (p->end - at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* Writes a code point as UTF-8, which is never longer than its escape. */
static char *put_utf8(char *to, int code)
{
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *to++ = (char)(0xe0 | code >> 12);
        } else {
            *to++ = (char)(0xf0 | code >> 18);
            *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        }
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    }
    *to++ = (char)(0x80 | (code & 0x3f));
    return to;
}

/* Reads \uXXXX, or two of them for a code point beyond 16 bits. p->at is after the u. */
static int unicode_escape(struct parser *p, char **to)
{
    int code = hex_digits(p, p->at);
    if (code < 0) return wrong(p, "\\u needs four hexadecimal digits");
    p->at += 4;
    if (code >= 0xd800 && code < 0xe000) {
        int low = p->end - p->at >= 6 && p->at[0] == '\\' && p->at[1] == 'u' ? hex_digits(p, p->at + 2) : -1;
        if (code >= 0xdc00 || low < 0xdc00 || low > 0xdfff) return wrong(p, "half of a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        p->at += 6;
    }
    *to = put_utf8(*to, code);
    return 0;
}

static int escape(struct parser *p, char **to)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char letter = p->at < p->end ? *p->at : '\0';
    const char *found = letter ? strchr(letters, letter) : NULL;
    if (letter != 'u' && found == NULL) return wrong(p, "an unknown escape");
    p->at++;
    if (letter == 'u') return unicode_escape(p, to);
    *(*to)++ = meant[found - letters];
    return 0;
}

/* The string whose opening quote is at p->at, unescaped in place. */
static int parse_string(struct parser *p, const char **text, size_t *length)
{
    char *to = ++p->at, *start = to;
    while (p->at < p->end && *p->at != '"') {
        if ((unsigned char)*p->at < 0x20) return wrong(p, "a control character in a string");
        if (*p->at != '\\') {
            *to++ = *p->at++;
            continue;
        }
        p->at++;
        if (escape(p, &to) != 0) return -1;
    }
    if (p->at == p->end) return wrong(p, "a string that does not end");
    p->at++;
    *to = '\0'; /* the place of the closing quote, or one before it */
    *text = start;
    *length = (size_t)(to - start);
    return 0;
}

/* ---- numbers and words ------------------------------------------------------------------------------------ */

static size_t digits(struct parser *p)
{
    char *start = p->at;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9') p->at++;
    return (size_t)(p->at - start);
}

static int parse_number(struct parser *p, struct json_value *value)
{
    char *start = p->at, copy[LONGEST_NUMBER];
    int whole = 1;
    if (*p->at == '-') p->at++;
    int leading_zero = p->at < p->end && *p->at == '0';
    size_t before = digits(p);
    if (before == 0 || (leading_zero && before > 1)) return wrong(p, "a number that is none");
    if (p->at < p->end && *p->at == '.') {
        whole = 0;
        p->at++;
        if (digits(p) == 0) return wrong(p, "a number without digits after its point");
    }
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        whole = 0;
        p->at++;
        if (p->at < p->end && (*p->at == '+' || *p->at == '-')) p->at++;
        if (digits(p) == 0) return wrong(p, "a number without digits in its exponent");
    }
    size_t length = (size_t)(p->at - start);
    if (length >= sizeof copy) return wrong(p, "a number that is too long");
    memcpy(copy, start, length);
    copy[length] = '\0';
    errno = 0;
    long long integer = strtoll(copy, NULL, 10);
    value->kind = JSON_NUMBER;
    value->is_integer = whole && errno == 0;
    value->integer = value->is_integer ? integer : 0;
    value->number = strtod(copy, NULL);
    return 0;
}

static int parse_word(struct parser *p, struct json_value *value)
{
    static const struct {
        const char *word;
        enum json_kind kind;
    } words[] = {{"null", JSON_NULL}, {"true", JSON_TRUE}, {"false", JSON_FALSE}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i].word);
        if ((size_t)(p->end - p->at) < length || memcmp(p->at, words[i].word, length) != 0) continue;
        value->kind = words[i].kind;
        p->at += length;
        return 0;
    }
    return wrong(p, "something that is no value");
}

/* ---- arrays and objects ----------------------------------------------------------------------------------- */

static int parse_value(struct parser *p, uint32_t index);

/* A key and its colon. */
static int parse_key(struct parser *p, const char **key, size_t *length)
{
    if (p->at == p->end || *p->at != '"') return wrong(p, "a member without a name");
    if (parse_string(p, key, length) != 0) return -1;
    skip_space(p);
    if (p->at == p->end || *p->at != ':') return wrong(p, "a name without a colon");
    p->at++;
    return 0;
}

/* Reads members up to @p close; p->at is after the opening bracket. Values may move when members are
 * added: so no pointer to a value is kept. */
static int parse_members(struct parser *p, uint32_t index, char close)
{
    uint32_t last = 0;
    skip_space(p);
    if (p->at < p->end && *p->at == close) {
        p->at++;
        return 0;
    }
    for (;;) {
        const char *key = NULL;
        size_t key_length = 0;
        skip_space(p);
        if (close == '}' && parse_key(p, &key, &key_length) != 0) return -1;
        uint32_t member = new_value(p);
        if (member == 0) return wrong(p, "more values than can be counted");
        if (parse_value(p, member) != 0) return -1;
        p->json->values[member].key = key;
        p->json->values[member].key_length = key_length;
        *(last ? &p->json->values[last].next : &p->json->values[index].first) = member;
        p->json->values[index].count++;
        last = member;
        skip_space(p);
        if (p->at < p->end && *p->at == close) break;
        if (p->at == p->end || *p->at != ',') return wrong(p, "no comma and no end of a list");
        p->at++;
    }
    p->at++;
    return 0;
}

static int parse_value(struct parser *p, uint32_t index)
{
    struct json_value *value = &p->json->values[index];
    skip_space(p);
    if (p->at == p->end) return wrong(p, "the text ends too early");
    char c = *p->at;
    if (c == '"') {
        value->kind = JSON_STRING;
        return parse_string(p, &value->text, &value->length);
    }
    if (c == '-' || (c >= '0' && c <= '9')) return parse_number(p, value);
    if (c != '[' && c != '{') return parse_word(p, value);
    if (++p->depth > MOST_DEPTH) return wrong(p, "lists nested too deeply");
    value->kind = c == '[' ? JSON_ARRAY : JSON_OBJECT;
    p->at++;
    if (parse_members(p, index, c == '[' ? ']' : '}') != 0) return -1;
    p->depth--;
    return 0;
}

int json_parse(struct json *json, char *text, size_t length, char error[MODEL_ERROR])
{
    *json = (struct json){.text = text};
    struct parser p = {json, text, text + length, text, error, 0};
    new_value(&p);
    if (parse_value(&p, new_value(&p)) != 0) return -1;
    skip_space(&p);
    return p.at == p.end ? 0 : wrong(&p, "more text after the value");
}

int json_read(struct json *json, const char *path, size_t most, char error[MODEL_ERROR])
{
    struct text content = {0};
    struct stat status;
    *json = (struct json){0};
    int trouble = stat(path, &status) == 0 ? 0 : errno;
    if (trouble == 0 && (size_t)status.st_size > most) {
        snprintf(error, MODEL_ERROR, "%s: %lld bytes, more than the %zu that such a file may have", path,
                 (long long)status.st_size, most);
        return -1;
    }
    if (trouble == 0) trouble = read_file(path, &content);
    if (trouble != 0) {
        snprintf(error, MODEL_ERROR, "%s: %s", path, strerror(trouble));
        return -1;
    }
    char inner[MODEL_ERROR];
    text_append(&content, "", 1); /* the last string may end at the last byte */
    if (json_parse(json, content.data, content.length - 1, inner) == 0) return 0;
    snprintf(error, MODEL_ERROR, "%.300s: %.200s", path, inner);
    return -1;
}

void json_free(struct json *json)
{
    free(json->text);
    free(json->values);
    *json = (struct json){0};
}

/* ---- looking things up ------------------------------------------------------------------------------------ */

const struct json_value *json_root(const struct json *json)
{
    return &json->values[1];
}

const struct json_value *json_first(const struct json *json, const struct json_value *value)
{
    return value != NULL && value->first ? &json->values[value->first] : NULL;
}

const struct json_value *json_next(const struct json *json, const struct json_value *value)
{
    return value->next ? &json->values[value->next] : NULL;
}

const struct json_value *json_find(const struct json *json, const struct json_value *value, const char *key)
{
    if (value == NULL || value->kind != JSON_OBJECT) return NULL;
    size_t length = strlen(key);
    for (const struct json_value *m = json_first(json, value); m != NULL; m = json_next(json, m))
        if (m->key_length == length && memcmp(m->key, key, length) == 0) return m;
    return NULL;
}

int json_is(const struct json_value *value, const char *text)
{
    return value != NULL && value->kind == JSON_STRING && value->length == strlen(text) &&
           memcmp(value->text, text, value->length) == 0;
}
