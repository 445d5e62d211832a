/**
 * @file escape.c
 * @brief Names and messages as visible text, and that text in the notations of the reports.
 *
 * Ours, and not an XML or JSON library's: what others chose is made visible here, the same for every notation, and
 * the reports need no more of the notations than these quoting rules.
 */
#include "escape.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sha256.h"
#include "text.h"

/* ---- visible text -------------------------------------------------------------------------------------- */

/* The code point at @p at and how many bytes it takes; 0 bytes if there is no valid one (RFC 3629: no longer
 * form than needed, no surrogate, nothing above U+10FFFF). */
static size_t decode(const unsigned char *at, unsigned *point)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = at[0] < 0x80 ? 1 : at[0] >> 5 == 6 ? 2 : at[0] >> 4 == 14 ? 3 : at[0] >> 3 == 30 ? 4 : 0;
    if (length == 0) return 0;
    *point = length == 1 ? at[0] : at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (at[i] >> 6 != 2) return 0; /* also the zero at the end of the string */
        *point = *point << 6 | (at[i] & 0x3f);
    }
    int surrogate = *point >= 0xd800 && *point <= 0xdfff;
    return *point < least[length] || *point > 0x10ffff || surrogate ? 0 : length;
}

/* Control characters, marks of direction, separators of lines, blanks without width, and what is no
 * character. */
static int is_unseen(unsigned point)
{
    static const struct {
        unsigned first, last;
    } ranges[] = {{0x00, 0x1f},       {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},
                  {0x180e, 0x180e},   {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
                  {0xfdd0, 0xfdef},   {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff},
                  {0xf0000, 0x10ffff}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (point >= ranges[i].first && point <= ranges[i].last) return 1;
    }
    return (point & 0xfffe) == 0xfffe;
}

char *escape_visible(const char *string, enum escape_lines lines)
{
    struct text out = {0};
    const unsigned char *at = (const unsigned char *)string;
    text_append(&out, "", 0);
    while (*at) {
        unsigned point;
        size_t length = decode(at, &point);
        if (length == 0 || point < 0x20) {
            if (lines == ESCAPE_MANY_LINES && *at == '\n') {
                text_append(&out, "\n", 1);
            } else if (lines == ESCAPE_MANY_LINES && *at == '\t') {
                text_append(&out, "    ", 4);
            } else {
                text_print(&out, "\\x%02x", *at);
            }
            at++;
            continue;
        }
        if (is_unseen(point)) {
            text_print(&out, point < 0x100 ? "\\x%02x" : "\\u{%x}", point);
        } else {
            text_append(&out, (const char *)at, length);
        }
        at += length;
    }
    return out.data;
}

/* ---- file names ---------------------------------------------------------------------------------------- */

enum { LONGEST_NAME = 60, SUM_DIGITS = 10 };

static int is_portable(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '.';
}

/* Windows knows these as devices, whatever follows their first dot: nothing can be called so there. */
static int is_windows_device(const char *name)
{
    static const char *const devices[] = {"con", "prn", "aux", "nul", "com", "lpt"};
    size_t stem = strcspn(name, ".");
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        size_t digits = i >= 4; /* COM1, LPT1 */
        if (stem == 3 + digits && strncasecmp(name, devices[i], 3) == 0 &&
            (!digits || (name[3] >= '0' && name[3] <= '9')))
            return 1;
    }
    return 0;
}

/* A letter that every file system keeps as it is. Windows drops a dot at the end. */
static char portable_letter(const char *name, size_t i, size_t length)
{
    int edge = i == 0 || i + 1 == length;
    return is_portable(name[i]) && !(edge && name[i] == '.') ? name[i] : '_';
}

char *escape_folder_name(const char *name)
{
    struct text out = {0};
    size_t length = strlen(name);
    int device = is_windows_device(name);
    /* A name with a hyphen always gets a sum, so that no name can be chosen to be another's with its sum; one with a
     * capital letter as well, since "Ada" and "ada" are one folder on Windows and macOS. */
    int plain = length > 0 && length <= LONGEST_NAME && !device;
    if (device) text_append(&out, "_", 1);
    for (size_t i = 0; i < length && out.length < LONGEST_NAME; i++) {
        char letter = portable_letter(name, i, length);
        plain = plain && letter == name[i] && !(letter >= 'A' && letter <= 'Z');
        text_append(&out, &letter, 1);
    }
    if (plain) return out.data;
    char digits[65];
    struct sha256 hash;
    sha256_begin(&hash);
    sha256_add(&hash, name, length);
    sha256_end(&hash, digits);
    text_print(&out, "-%.*s", SUM_DIGITS, digits);
    return out.data;
}

/* ---- notations ----------------------------------------------------------------------------------------- */

static int is_number(const char *string)
{
    size_t sign = *string == '-' || *string == '+';
    size_t digits = strspn(string + sign, "0123456789."), length = strlen(string);
    return digits > 0 && sign + digits == length;
}

void put_csv(struct text *out, const char *string)
{
    char *visible = escape_visible(string, ESCAPE_ONE_LINE);
    /* Programs also take the wide forms of these signs, and look behind leading blanks. */
    const char *first = visible + strspn(visible, " ");
    static const char *const wide[] = {"\uff1d", "\uff0b", "\uff0d", "\uff20"};
    int formula = *first && strchr("=+-@|%", *first) != NULL && !is_number(visible);
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        formula = formula || strncmp(first, wide[i], strlen(wide[i])) == 0;
    }
    int quoted = formula || strpbrk(visible, ",;\"'") != NULL || *visible == ' ';
    if (quoted) text_append(out, "\"", 1);
    if (formula) text_append(out, "'", 1);
    for (const char *at = visible; *at; at++) {
        if (*at == '"') text_append(out, "\"", 1);
        text_append(out, at, 1);
    }
    if (quoted) text_append(out, "\"", 1);
    free(visible);
}

void put_json(struct text *out, const char *string)
{
    char *visible = escape_visible(string, ESCAPE_MANY_LINES);
    text_append(out, "\"", 1);
    for (const char *at = visible; *at; at++) {
        if (*at == '\n') {
            text_append(out, "\\n", 2);
            continue;
        }
        if (*at == '"' || *at == '\\') text_append(out, "\\", 1);
        text_append(out, at, 1);
    }
    text_append(out, "\"", 1);
    free(visible);
}

void put_xml(struct text *out, const char *string)
{
    char *visible = escape_visible(string, ESCAPE_MANY_LINES);
    for (const char *at = visible; *at; at++) {
        const char *entity = *at == '&'    ? "&amp;"
                             : *at == '<'  ? "&lt;"
                             : *at == '>'  ? "&gt;"
                             : *at == '"'  ? "&quot;"
                             : *at == '\'' ? "&#39;"
                                           : NULL;
        text_append(out, entity != NULL ? entity : at, entity != NULL ? strlen(entity) : 1);
    }
    free(visible);
}

void put_markdown(struct text *out, const char *string)
{
    char *visible = escape_visible(string, ESCAPE_ONE_LINE);
    for (const char *at = visible; *at; at++) {
        if (*at == '<') {
            text_append(out, "&lt;", 4); /* some readers pass on HTML after a backslash */
            continue;
        }
        if (strchr("\\`*_{}[]()#+-.!|>~&$@:", *at) != NULL) text_append(out, "\\", 1);
        text_append(out, at, 1);
    }
    free(visible);
}

void put_markdown_block(struct text *out, const char *string)
{
    char *visible = escape_visible(string, ESCAPE_MANY_LINES);
    size_t longest = 2, run = 0, length = strlen(visible);
    for (const char *at = visible; *at; at++) {
        run = *at == '`' ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    for (size_t i = 0; i <= longest; i++) text_append(out, "`", 1);
    text_print(out, "text\n%s%s", visible, length && visible[length - 1] == '\n' ? "" : "\n");
    for (size_t i = 0; i <= longest; i++) text_append(out, "`", 1);
    text_append(out, "\n", 1);
    free(visible);
}
