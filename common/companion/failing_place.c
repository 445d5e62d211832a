/**
 * @file failing_place.c
 * @brief Where a kernel file went wrong: the lines that the compiler or the device names, as regions of the file, and the cause.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "failing_place.h"
#include "page.h"

void failing_place_add(struct failing_place *place, const char *region)
{
    for (size_t i = 0; i < place->count; i++) {
        if (strcmp(place->region[i], region) == 0) return;
    }
    if (place->count < MOST_PLACES) place->region[place->count++] = copy_string(region);
}

static void add_line(int line, const struct region *regions, size_t count, struct failing_place *place)
{
    for (size_t i = 0; i < count; i++) {
        if (line > regions[i].line && line < regions[i].last) failing_place_add(place, regions[i].name);
    }
}

/* For messages of a compiler: "alpha.cu:121" and "/home/me/alpha.cu:84:24: error" are lines of alpha.cu;
 * "my_alpha.cu:3" is not. */
static void add_lines(const char *text, const char *file, const struct region *regions, size_t count,
                      struct failing_place *place)
{
    for (const char *at = text; (at = strstr(at, file)) != NULL; at += strlen(file)) {
        const char *number = at + strlen(file);
        int begins = at == text || !(isalnum((unsigned char)at[-1]) || strchr("_-.", at[-1]) != NULL);
        if (!begins || *number != ':' || !isdigit((unsigned char)number[1])) continue;
        add_line(atoi(number + 1), regions, count, place);
    }
}

static int holds(const struct failing_place *place, const char *region)
{
    for (size_t i = 0; i < place->count; i++)
        if (strcmp(place->region[i], region) == 0) return 1;
    return 0;
}

/* Adds the regions of @p from, and empties it. */
static void move_regions(struct failing_place *from, struct failing_place *place)
{
    for (size_t i = 0; i < from->count; i++) {
        failing_place_add(place, from->region[i]);
        free(from->region[i]);
    }
    from->count = 0;
}

/* For two accesses in the wrong order: the place is the innermost region whose calls led to both. The
 * kernel itself, where all calls begin, says nothing. */
static void add_meeting(const struct failing_place *one, const struct failing_place *two,
                        struct failing_place *place)
{
    for (size_t i = 0; i + 1 < one->count; i++) {
        if (!holds(two, one->region[i])) continue;
        failing_place_add(place, one->region[i]);
        return;
    }
}

/* Warnings of a compiler are not the reason why it failed. */
static void read_build_error(const char *report, const char *file, const struct region *regions, size_t count,
                             struct failing_place *place)
{
    for (char *line; (line = next_word(&report, '\n')) != NULL; free(line))
        if (strstr(line, "warning:") == NULL) add_lines(line, file, regions, count, place);
}

static void read_finding(const struct result_row *row, const char *file, const struct region *regions,
                         size_t count, struct failing_place *place)
{
    struct failing_place actor[2] = {{.count = 0}, {.count = 0}};
    for (int a = 0; a < 2; a++)
        for (const struct result_place *at = row->at[a]; at->file != NULL; at++)
            if (strcmp(at->file, file) == 0) add_line(at->line, regions, count, &actor[a]);
    add_meeting(&actor[0], &actor[1], place);
    for (int a = 0; a < 2; a++) move_regions(&actor[a], place);
}

void failing_place_read(const struct judgement *judgement, const char *kernel, struct failing_place *place)
{
    struct text source = {0};
    struct region regions[MAX_REGIONS];
    const char *slash = strrchr(kernel, '/'), *file = slash != NULL ? slash + 1 : kernel;
    size_t count = read_file(kernel, &source) == 0 ? kernel_regions(source.data, regions) : 0;
    const struct result_row *row = results_shown(&judgement->results, 1);
    *place = (struct failing_place){.cause = row != NULL ? row->cause : RECORD_NO_CAUSE_KNOWN};
    if (judgement->state == STATE_BUILD_ERROR)
        read_build_error(judgement->report.data, file, regions, count, place);
    for (int shown = 1; (row = results_shown(&judgement->results, shown)) != NULL; shown++)
        read_finding(row, file, regions, count, place);
    for (size_t i = 0; i < count; i++) free(regions[i].name);
    text_free(&source);
}
