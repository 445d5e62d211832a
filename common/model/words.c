/**
 * @file words.c
 * @brief The three patterns, matched by hand: alternative by alternative, in the order of a regular
 *        expression.
 */
#include "words.h"

#include <string.h>

#include "unicode_classes.h"

/* ---- characters ------------------------------------------------------------------------------------------- */

size_t next_character(const char *text, size_t length, uint32_t *character)
{
    /* the code point, and its number of bytes */
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *byte = (const unsigned char *)text;
    size_t bytes = byte[0] < 0x80   ? 1
                   : byte[0] < 0xc0 ? 0
                   : byte[0] < 0xe0 ? 2
                   : byte[0] < 0xf0 ? 3
                   : byte[0] < 0xf8 ? 4
                                    : 0;
    *character = UINT32_MAX;
    if (bytes == 0 || bytes > length) return 1;
    uint32_t code = bytes == 1 ? byte[0] : byte[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((byte[i] & 0xc0) != 0x80) return 1;
        code = code << 6 | (byte[i] & 0x3f);
    }
    if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 1;
    *character = code;
    return bytes;
}

static int is_in(const struct unicode_range *ranges, size_t count, uint32_t c)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && ranges[low].first <= c;
}

static int is_letter(uint32_t c)
{
    return is_in(UNICODE_LETTERS, sizeof UNICODE_LETTERS / sizeof UNICODE_LETTERS[0], c);
}

static int is_number(uint32_t c)
{
    return is_in(UNICODE_NUMBERS, sizeof UNICODE_NUMBERS / sizeof UNICODE_NUMBERS[0], c);
}

static int is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
           c == 0x3000;
}

static int is_newline(uint32_t c)
{
    return c == '\r' || c == '\n';
}

static int is_other(uint32_t c)
{
    return !is_space(c) && !is_letter(c) && !is_number(c);
}

/* ---- runs ------------------------------------------------------------------------------------------------- */

/** A text from the place where a word begins. */
struct rest {
    const char *text;
    size_t length;
};

/* The character at @p at; 0 past the end, and its bytes are 0 then. */
static size_t character_at(const struct rest *r, size_t at, uint32_t *character)
{
    *character = 0;
    return at < r->length ? next_character(r->text + at, r->length - at, character) : 0;
}

/* The end of the run of characters of a kind that begins at @p at; at most @p most of them. */
static size_t run(const struct rest *r, size_t at, int (*is_kind)(uint32_t), size_t most)
{
    uint32_t c;
    for (size_t n = 0, bytes; n < most && (bytes = character_at(r, at, &c)) > 0 && is_kind(c); n++)
        at += bytes;
    return at;
}

/* 's 't 're 've 'm 'll 'd */
static size_t contraction(const struct rest *r, int any_case)
{
    static const char *const ends[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (r->length == 0 || r->text[0] != '\'') return 0;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t length = strlen(ends[i]), same = 0;
        for (; same < length && same + 1 < r->length; same++) {
            char c = r->text[1 + same];
            if (any_case && c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
            if (c != ends[i][same]) break;
        }
        if (same == length) return 1 + length;
    }
    return 0;
}

/* Letters, with one character that may come before them: a space for GPT-2, else anything except newline,
 * letter or number. */
static size_t letters(const struct rest *r, int gpt2)
{
    uint32_t c;
    size_t bytes = character_at(r, 0, &c);
    int may_lead = gpt2 ? c == ' ' : !is_newline(c) && !is_letter(c) && !is_number(c);
    size_t begin = bytes > 0 && may_lead ? bytes : 0;
    size_t end = run(r, begin, is_letter, SIZE_MAX);
    return end > begin ? end : 0;
}

/* Characters of a kind, after at most one space. */
static size_t after_space(const struct rest *r, int (*is_kind)(uint32_t))
{
    size_t begin = r->length > 0 && r->text[0] == ' ' ? 1 : 0, end = run(r, begin, is_kind, SIZE_MAX);
    return end > begin ? end : 0;
}

/* Spaces. If @p newlines, up to the last newline among them. Else all but the last space, which belongs to
 * the next word, unless no word follows or there is only one space. */
static size_t spaces(const struct rest *r, int newlines)
{
    size_t end = 0, last = 0, after_newline = 0;
    uint32_t c;
    for (size_t bytes; (bytes = character_at(r, end, &c)) > 0 && is_space(c); end += bytes) {
        last = end;
        if (is_newline(c)) after_newline = end + bytes;
    }
    if (newlines && after_newline > 0) return after_newline;
    return end == r->length || last == 0 ? end : last;
}

size_t word_length(enum word_pattern pattern, const char *text, size_t length)
{
    const struct rest r = {text, length};
    const int gpt2 = pattern == WORDS_GPT2;
    size_t end = contraction(&r, !gpt2);
    if (end == 0) end = letters(&r, gpt2);
    if (end == 0)
        end = gpt2 ? after_space(&r, is_number) : run(&r, 0, is_number, pattern == WORDS_LLAMA3 ? 3 : 1);
    if (end == 0) {
        end = after_space(&r, is_other);
        if (end > 0 && !gpt2) end = run(&r, end, is_newline, SIZE_MAX);
    }
    if (end == 0) end = spaces(&r, !gpt2);
    return end > 0 ? end : 1;
}

enum word_pattern word_pattern_named(const char *expression)
{
    static const struct {
        const char *expression;
        enum word_pattern pattern;
    } known[] = {
        {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", WORDS_GPT2},
        {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
         "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
         WORDS_QWEN},
        {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
         "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
         WORDS_LLAMA3},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].expression, expression) == 0) return known[i].pattern;
    return WORDS_UNKNOWN;
}
