/**
 * @file line_diff.c
 * @brief Which lines of two texts are the same.
 *
 * Ours, and not `diff -u` or `git diff --no-index`: the page it prints is the same on every machine, in a
 * container without either too; kernel files have a few hundred lines, for which the table of longest common
 * subsequences is small.
 */
#include "line_diff.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

enum { CONTEXT = 3, MOST_LINES = 5000 };

struct lines {
    char **item;
    size_t count;
};

static void split_lines(const char *text, struct lines *lines)
{
    size_t most = 1;
    for (const char *at = text; *at; at++) most += *at == '\n';
    lines->item = must_allocate(most * sizeof *lines->item);
    lines->count = 0;
    for (char *line; lines->count < MOST_LINES && (line = next_word(&text, '\n')) != NULL;)
        lines->item[lines->count++] = line;
    if (lines->count && !*lines->item[lines->count - 1]) free(lines->item[--lines->count]);
}

static void free_lines(struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) free(lines->item[i]);
    free(lines->item);
}

/* One line of the result: ' ' in both, '-' in the old text only, '+' in the new one only. */
struct edit {
    char mark;
    const char *line;
    size_t old_line, new_line; /* from 0 */
};

/* common[i][j]: how many lines old[i..] and new[j..] have in common, in order. Walking it from its beginning
 * gives the edits. */
static size_t find_edits(const struct lines *a, const struct lines *b, struct edit *edits)
{
    size_t width = b->count + 1, count = 0, i = 0, j = 0;
    unsigned short *common = must_allocate((a->count + 1) * width * sizeof *common);
    for (size_t at = a->count; at-- > 0;) {
        for (size_t bt = b->count; bt-- > 0;) {
            unsigned short down = common[(at + 1) * width + bt], right = common[at * width + bt + 1];
            common[at * width + bt] = strcmp(a->item[at], b->item[bt]) == 0
                                          ? (unsigned short)(common[(at + 1) * width + bt + 1] + 1)
                                      : down > right ? down
                                                     : right;
        }
    }
    while (i < a->count || j < b->count) {
        struct edit edit = {' ', NULL, i, j};
        if (i < a->count && j < b->count && strcmp(a->item[i], b->item[j]) == 0) {
            edit.line = a->item[i++];
            j++;
        } else if (j == b->count ||
                   (i < a->count && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
            edit.mark = '-';
            edit.line = a->item[i++];
        } else {
            edit.mark = '+';
            edit.line = b->item[j++];
        }
        edits[count++] = edit;
    }
    free(common);
    return count;
}

/* Where the hunk that begins at or after @p from begins and ends; 0 if no difference is left. */
static int find_hunk(const struct edit *edits, size_t count, size_t from, size_t *begin, size_t *end)
{
    size_t first = from;
    while (first < count && edits[first].mark == ' ') first++;
    if (first == count) return 0;
    *begin = first > from + CONTEXT ? first - CONTEXT : from;
    size_t last = first, same = 0;
    for (size_t i = first; i < count && same <= 2 * CONTEXT; i++) {
        same = edits[i].mark == ' ' ? same + 1 : 0;
        if (!same) last = i;
    }
    *end = last + 1 + CONTEXT < count ? last + 1 + CONTEXT : count;
    return 1;
}

static void print_hunk(const struct edit *edits, size_t begin, size_t end, size_t old_before,
                       size_t new_before, struct text *out)
{
    size_t olds = 0, news = 0;
    for (size_t i = begin; i < end; i++) {
        olds += edits[i].mark != '+';
        news += edits[i].mark != '-';
    }
    text_print(out, "@@ -%zu,%zu +%zu,%zu @@\n", old_before + edits[begin].old_line + (olds > 0), olds,
               new_before + edits[begin].new_line + (news > 0), news);
    for (size_t i = begin; i < end; i++) text_print(out, "%c%s\n", edits[i].mark, edits[i].line);
}

/* How many lines stand before @p at in @p text. */
static size_t lines_before(const char *text, const char *at)
{
    size_t count = 0;
    for (; text < at; text++) count += *text == '\n';
    return count;
}

size_t line_diff(const char *old_text, const char *new_text, struct text *out)
{
    return line_diff_from(old_text, old_text, new_text, new_text, out);
}

size_t line_diff_from(const char *old_text, const char *old_begin, const char *new_text,
                      const char *new_begin, struct text *out)
{
    struct lines a, b;
    size_t changed = 0, begin, end;
    split_lines(old_begin, &a);
    split_lines(new_begin, &b);
    struct edit *edits = must_allocate((a.count + b.count + 1) * sizeof *edits);
    size_t count = find_edits(&a, &b, edits);
    text_append(out, "", 0);
    for (size_t i = 0; i < count; i++) changed += edits[i].mark != ' ';
    for (size_t from = 0; find_hunk(edits, count, from, &begin, &end); from = end)
        print_hunk(edits, begin, end, lines_before(old_text, old_begin), lines_before(new_text, new_begin),
                   out);
    free(edits);
    free_lines(&a);
    free_lines(&b);
    return changed;
}
