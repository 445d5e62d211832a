/**
 * @file failing_place.c
 * @brief Where a kernel file went wrong: the lines that a report names, as regions of the file, and its pattern.
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

/* "alpha.cu:121" and "/home/me/alpha.cu:84:24: error" are of alpha.cu; "my_alpha.cu:3" is not. */
static void add_lines(const char *text, const char *file, const struct region *regions, size_t count,
                      struct failing_place *place)
{
    for (const char *at = text; (at = strstr(at, file)); at += strlen(file)) {
        const char *number = at + strlen(file);
        int begins = at == text || !(isalnum((unsigned char)at[-1]) || strchr("_-.", at[-1]));
        if (!begins || *number != ':' || !isdigit((unsigned char)number[1])) continue;
        int line = atoi(number + 1);
        for (size_t i = 0; i < count; i++) {
            if (line > regions[i].line && line < regions[i].last) failing_place_add(place, regions[i].name);
        }
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

/* Two accesses that should have come in another order meet in the innermost region whose calls led to both. The kernel's own,
 * where all calls begin, says nothing. */
static void add_meeting(const struct failing_place *one, const struct failing_place *two,
                        struct failing_place *place)
{
    for (size_t i = 0; i + 1 < one->count; i++) {
        if (!holds(two, one->region[i])) continue;
        failing_place_add(place, one->region[i]);
        return;
    }
}

void failing_place_read(const char *report, const char *kernel, struct failing_place *place)
{
    static const char mark[] = "    pattern ", again[] = "    again ";
    struct text source = {0};
    struct region regions[MAX_REGIONS];
    const char *slash = strrchr(kernel, '/'), *file = slash ? slash + 1 : kernel;
    size_t count = read_file(kernel, &source) == 0 ? kernel_regions(source.data, regions) : 0;
    struct failing_place before = {0};
    int cases = 0;
    *place = (struct failing_place){0};
    for (char *line; (line = next_word(&report, '\n')); free(line)) {
        if (strstr(line, "warning:")) continue; /* not why it failed */
        struct failing_place here = {0};
        add_lines(line, file, regions, count, &here);
        add_meeting(&before, &here, place);
        move_regions(&before, place);
        if (strstr(line, " by block ("))
            before = here;
        else
            move_regions(&here, place);
        const char *text = line + strlen(mark);
        cases += strncmp(line, again, strlen(again)) == 0; /* the last line of a case */
        if (cases == 0 && strncmp(line, mark, strlen(mark)) == 0 && !place->pattern)
            place->pattern = copy_string(text + strspn(text, " "));
    }
    move_regions(&before, place);
    for (size_t i = 0; i < count; i++) free(regions[i].name);
    text_free(&source);
}
