/**
 * @file layout.c
 * @brief Text that fits the terminal: its columns, its letters, bars.
 */
#include "layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "text.h"

enum { DEFAULT_WIDTH = 80, LEAST_WIDTH = 20, MOST_WIDTH = 400, NO_LIMIT = 1 << 20, TRUSTED_WIDTH = 100 };

static int window(int lines)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
    return lines ? size.ws_row : size.ws_col;
}

int layout_width(void)
{
    const char *columns = getenv("COLUMNS");
    int width = window(0);
    if (width <= 0 && columns != NULL) width = atoi(columns);
    if (width <= 0) width = DEFAULT_WIDTH;
    return width < LEAST_WIDTH ? LEAST_WIDTH : width > MOST_WIDTH ? MOST_WIDTH : width;
}

int layout_height(void)
{
    int height = window(1);
    return height > 0 ? height : NO_LIMIT;
}

/* ---- letters ------------------------------------------------------------------------------------------ */

/* What the C library does, without loading a locale that may not be installed. */
int layout_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value == NULL || !*value) continue;
        const char *charset = strchr(value, '.');
        return charset != NULL &&
               (strncasecmp(charset, ".utf-8", 6) == 0 || strncasecmp(charset, ".utf8", 5) == 0);
    }
    return 0;
}

static const struct {
    const char *letter, *ascii;
} replacements[] = {
    {"·", "*"},     {"×", "x"},  {"−", "-"},    {"–", "-"},  {"—", "-"},      {"…", "..."},
    {"≤", "<="},    {"≥", ">="}, {"≠", "!="},   {"≈", "~"},  {"∞", "inf"},    {"Σ", "sum "},
    {"√", "sqrt "}, {"→", "->"}, {"←", "<-"},   {"▶", ">"},  {"─", "-"},      {"│", "|"},
    {"┐", "+"},     {"┘", "+"},  {"└", "+"},    {"┌", "+"},  {"├", "+"},      {"┤", "+"},
    {"µ", "u"},     {"μ", "u"},  {"²", "^2"},   {"³", "^3"}, {"ᵀ", "^T"},     {"“", "\""},
    {"”", "\""},    {"’", "'"},  {"‘", "'"},    {"█", "#"},  {"░", "."},      {"α", "alpha"},
    {"β", "beta"},  {"⁻", "^-"}, {"¹", "1"},    {"⁹", "9"},  {"é", "e"},      {"½", "1/2"},
    {"₀", "0"},     {"₁", "1"},  {"₂", "2"},    {"ₖ", "k"},  {"ᵢ", "i"},      {"ⱼ", "j"},
    {"⌈", "ceil("}, {"⌉", ")"},  {"∑", "sum "}, {"⋅", "*"},  {"\u00a0", " "}, {"⌊", "floor("},
    {"⌋", ")"},     {"✓", "ok"},
};

static size_t letter_bytes(const char *at)
{
    unsigned char first = (unsigned char)*at;
    size_t bytes = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    return strnlen(at, bytes);
}

char *layout_shown(const char *utf8)
{
    struct text shown = {0};
    text_append(&shown, "", 0);
    if (layout_is_utf8()) return copy_string(utf8);
    for (const char *at = utf8; *at;) {
        size_t bytes = letter_bytes(at);
        const char *ascii = "?";
        if ((unsigned char)*at < 0x80) {
            text_append(&shown, at++, 1);
            continue;
        }
        for (size_t i = 0; i < sizeof replacements / sizeof replacements[0]; i++) {
            const char *letter = replacements[i].letter;
            if (strlen(letter) == bytes && memcmp(at, letter, bytes) == 0) ascii = replacements[i].ascii;
        }
        text_append(&shown, ascii, strlen(ascii));
        at += bytes;
    }
    return shown.data;
}

/* A control code "ESC [ ... letter" takes no column; anything else takes one, which holds for all we print. */
static size_t skip_code(const char *at)
{
    if (at[0] != '\033' || at[1] != '[') return 0;
    size_t length = 2 + strspn(at + 2, "0123456789;");
    return length + (at[length] != '\0');
}

int layout_columns(const char *utf8)
{
    int columns = 0;
    while (*utf8) {
        size_t code = skip_code(utf8);
        if (!code) columns++;
        utf8 += code ? code : letter_bytes(utf8);
    }
    return columns;
}

/* ---- lines -------------------------------------------------------------------------------------------- */

/* Breaks one line; returns the column it ends at. A word that is too long for any line is left to stick out. */
void layout_wrap_words(struct text *out, const char *line, int used, int indent, int width)
{
    int column = used, begun = 0;
    while (*line) {
        size_t gap = strspn(line, " "), length = gap + strcspn(line + gap, " ");
        char *word = format_string("%.*s", (int)(length - gap), line + gap);
        int columns = layout_columns(word);
        int blanks = begun ? (int)gap : 0;
        if (begun && column + blanks + columns > width) {
            text_print(out, "\n%*s", indent, "");
            column = indent;
            blanks = 0;
        }
        text_print(out, "%*s%s", blanks, "", word);
        column += blanks + columns;
        begun = 1;
        line += length;
        free(word);
    }
}

void layout_wrap(struct text *out, const char *utf8, int used, int indent, int width)
{
    char *shown = layout_shown(utf8);
    const char *rest = shown;
    int first = 1;
    for (char *line; (line = next_word(&rest, '\n')) != NULL; free(line)) {
        if (!first) text_print(out, "\n%*s", *line ? indent : 0, "");
        if (strncmp(line, "    ", 4) == 0) {
            text_print(out, "%s", line);
        } else {
            layout_wrap_words(out, line, first ? used : indent, indent, width);
        }
        first = 0;
    }
    free(shown);
}

void layout_paragraph(const char *utf8, int used, int indent)
{
    struct text out = {0};
    int width = layout_width();
    text_append(&out, "", 0);
    layout_wrap(&out, utf8, used, indent, width > TRUSTED_WIDTH ? TRUSTED_WIDTH : width);
    printf("%s\n", out.data);
    text_free(&out);
}

char *layout_bar(double share, int width)
{
    struct text bar = {0};
    const char *full = layout_is_utf8() ? "█" : "#", *empty = layout_is_utf8() ? "░" : ".";
    int filled = share > 0 ? (int)(share * width + 0.5) : 0;
    if (share > 0 && filled == 0) filled = 1;
    if (filled > width) filled = width;
    text_append(&bar, "", 0);
    for (int i = 0; i < width; i++) {
        const char *cell = i < filled ? full : empty;
        text_append(&bar, cell, strlen(cell));
    }
    return bar.data;
}
