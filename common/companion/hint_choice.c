/**
 * @file hint_choice.c
 * @brief Which hint helps most: about the place that failed last, else about the region to write next.
 */
#include "hint_choice.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "course/course.h"

void situation_read(const struct lesson_folder *lesson, struct situation *now)
{
    struct text source = {0};
    char *kernel = course_kernel_path(lesson, 0);
    *now = (struct situation){.lesson = lesson};
    page_hints(lesson, &now->hints);
    progress_read(lesson, &now->progress);
    now->step_count = page_steps(lesson, now->steps);
    now->row_count = page_rows(lesson, now->rows);
    now->cause_count = page_causes(lesson, now->causes);
    now->region_count = read_file(kernel, &source) == 0 ? kernel_regions(source.data, now->regions) : 0;
    text_free(&source);
    free(kernel);
}

size_t hint_unseen(const struct situation *now, const char *region)
{
    for (size_t i = 0; i < now->hints.count && i < MOST_HINTS; i++) {
        if (now->progress.hint_shown[i]) continue;
        if (region == NULL || strcmp(now->hints.items[i].region, region) == 0) return i;
    }
    return now->hints.count;
}

int hint_is_about(const char *region, const char *name)
{
    size_t length = strlen(region);
    return *region && strncmp(region, name, length) == 0 && (name[length] == '\0' || name[length] == '_');
}

/* The next unseen hint about the region @p name of the kernel file. */
static size_t unseen_about(const struct situation *now, const char *name)
{
    size_t found = now->hints.count;
    for (size_t i = 0; i < now->hints.count && found == now->hints.count; i++) {
        if (hint_is_about(now->hints.items[i].region, name))
            found = hint_unseen(now, now->hints.items[i].region);
    }
    return found;
}

/* By the part of the case that failed last: names of its regions begin with the part's name,
 * "scores_kernel". */
static size_t about_part(const struct situation *now)
{
    size_t found = now->hints.count;
    if (!now->progress.failed_count) return found;
    const char *failed = now->progress.failed[0];
    for (size_t i = 0; i < now->hints.count && found == now->hints.count; i++) {
        const char *region = now->hints.items[i].region;
        if (strncmp(region, failed, strcspn(failed, "/")) == 0) found = hint_unseen(now, region);
    }
    return found;
}

/* By the first region that the compiler or a finding named: innermost call first, as in the report. */
static size_t about_place(const struct situation *now)
{
    size_t found = now->hints.count;
    for (size_t p = 0; p < now->progress.place.count && found == now->hints.count; p++)
        found = unseen_about(now, now->progress.place.region[p]);
    return found;
}

/* "scale", or "f32/scale" where a case of that part is the first that failed. */
static int names_cause(const char *names, enum record_cause cause, const char *failed)
{
    int found = 0;
    for (char *name; !found && (name = next_word(&names, ' ')) != NULL; free(name)) {
        char *slash = strchr(name, '/');
        size_t part = slash != NULL ? (size_t)(slash - name) + 1 : 0;
        found = strncmp(name, failed, part) == 0 && record_cause_of(name + part) == cause;
    }
    return found;
}

/* By the usual cause of the failure: of the regions that the page lists for it, the first with an unseen
 * hint. */
static size_t about_cause(const struct situation *now)
{
    const enum record_cause cause = now->progress.place.cause;
    const char *failed = now->progress.failed_count ? now->progress.failed[0] : "";
    size_t found = now->hints.count;
    for (size_t i = 0; i < now->cause_count && cause != RECORD_NO_CAUSE_KNOWN; i++) {
        if (!names_cause(now->causes[i].causes, cause, failed)) continue;
        const char *regions = now->causes[i].regions;
        for (char *name; found == now->hints.count && (name = next_word(&regions, ' ')) != NULL; free(name))
            found = unseen_about(now, name);
    }
    return found;
}

/* ---- what the page says of the case that failed ------------------------------------------------------------- */

static int same_case(const char *test_case, const char *name)
{
    const char *slash = strchr(test_case, '/');
    return strcmp(test_case, name) == 0 || (slash != NULL && strcmp(slash + 1, name) == 0);
}

static int has_failed(const struct progress *progress, const char *name)
{
    for (size_t i = 0; i < progress->failed_count; i++) {
        if (same_case(progress->failed[i], name)) return 1;
    }
    return 0;
}

/** What the first field of a row demands, as far as it could be read. */
struct asked {
    int failed;  /**< one of its cases failed */
    int cause;   /**< it names a cause, and the failure has that cause */
    int others;  /**< after "though": the cases that follow must have passed */
    int unknown; /**< it holds something that this program cannot decide */
};

/* A word outside of case names and quotation marks. */
static void read_plain_word(const char *word, size_t length, struct asked *asked)
{
    static const char *const known[] = {"though", "passes", "pattern", "and", "or"};
    size_t i = 0, count = sizeof known / sizeof known[0];
    while (i < count && (strlen(known[i]) != length || strncmp(known[i], word, length) != 0)) i++;
    asked->others |= i == 0;
    asked->unknown |= i == count;
}

/* Only some failures are remembered: when that list is full, nothing is known about a case that is not on
 * it. */
static int name_fits(const char *name, const struct progress *progress, struct asked *asked)
{
    int failed = has_failed(progress, name);
    if (asked->others) return !failed && progress->failed_count < MOST_FAILED;
    asked->failed |= failed;
    return 1;
}

/* 1 if everything that a row demands is true, or may be: `one`, `two`, though `three` passes, pattern "all
 * zero". */
static int row_fits(const struct page_row *row, const struct progress *progress, struct asked *asked)
{
    const char *at = row->fails;
    int fits = 1;
    *asked = (struct asked){0};
    while (*at && fits) {
        const char mark[2] = {*at, '\0'};
        size_t letters = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        size_t inside = *at == '`' || *at == '"' ? strcspn(at + 1, mark) : 0;
        char *quoted = format_string("%.*s", (int)inside, at + 1);
        if (*at == '`') {
            fits = name_fits(quoted, progress, asked);
        } else if (*at == '"') {
            fits = progress->place.cause != RECORD_NO_CAUSE_KNOWN &&
                   progress->place.cause == record_cause_of(quoted);
            asked->cause = 1;
        } else if (letters) {
            read_plain_word(at, letters, asked);
        }
        free(quoted);
        at += inside ? inside + 1 + (at[inside + 1] != '\0') : letters ? letters : 1;
    }
    return fits && asked->failed;
}

/* By the regions of the first row that fits, among rows that name a cause or among the others. */
static size_t about_row(const struct situation *now, int by_cause)
{
    struct asked asked;
    for (size_t i = 0; i < now->row_count; i++) {
        if (!row_fits(&now->rows[i], &now->progress, &asked)) continue;
        if (asked.unknown || asked.cause != by_cause) continue;
        size_t found = now->hints.count;
        const char *text = now->rows[i].look_at;
        for (char *name; found == now->hints.count && (name = next_quoted_name(&text)) != NULL; free(name))
            found = unseen_about(now, name);
        return found;
    }
    return now->hints.count;
}

int hint_row_may_fit(const struct situation *now, size_t row)
{
    struct asked asked;
    return row_fits(&now->rows[row], &now->progress, &asked);
}

/* ---- what is to be written next ------------------------------------------------------------------------------ */

static int is_open(const struct situation *now, const char *name)
{
    for (size_t i = 0; i < now->region_count; i++) {
        if (now->regions[i].todo && strcmp(now->regions[i].name, name) == 0) return 1;
    }
    return 0;
}

/* By a region that still says TODO: in the order of the page's steps, then of its hints. */
static size_t about_todo(const struct situation *now)
{
    size_t found = now->hints.count;
    for (size_t i = 0; i < now->step_count && found == now->hints.count; i++) {
        const char *names = now->steps[i].regions;
        for (char *name; found == now->hints.count && (name = next_word(&names, ' ')) != NULL; free(name))
            if (is_open(now, name)) found = unseen_about(now, name);
    }
    for (size_t i = 0; i < now->hints.count && found == now->hints.count; i++) {
        const char *region = now->hints.items[i].region;
        for (size_t r = 0; r < now->region_count && found == now->hints.count; r++)
            if (now->regions[r].todo && hint_is_about(region, now->regions[r].name))
                found = hint_unseen(now, region);
    }
    return found;
}

static int anything_open(const struct situation *now)
{
    for (size_t i = 0; i < now->region_count; i++) {
        if (now->regions[i].todo && strcmp(now->regions[i].name, "head") != 0) return 1;
    }
    return 0;
}

/* By the place that failed last (its lines, its cause, its case or its part), else by the region to write
 * next. While part of the work is not written, no case says more than that. */
size_t hint_choose(const struct situation *now)
{
    int open = anything_open(now);
    size_t found = about_place(now);
    if (found == now->hints.count) found = about_row(now, 1);
    if (found == now->hints.count) found = about_cause(now);
    if (found == now->hints.count && !open) found = about_row(now, 0);
    if (found == now->hints.count) found = about_part(now);
    if (found == now->hints.count) found = about_todo(now);
    return found == now->hints.count && open ? hint_unseen(now, NULL) : found;
}

/* ---- all that may help ------------------------------------------------------------------------------------- */

static void add_region(const struct situation *now, size_t index, size_t first[MOST_HINTS], size_t *count)
{
    const char *region = now->hints.items[index].region;
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(now->hints.items[first[i]].region, region) == 0) return;
    }
    if (*count < MOST_HINTS) first[(*count)++] = index;
}

size_t hints_of_failed_part(const struct situation *now, size_t first[MOST_HINTS])
{
    static const char profiled[] = "profile ";
    const char *failed = now->progress.failed_count ? now->progress.failed[0] : "";
    size_t count = 0, length = strcspn(failed, "/");
    for (size_t i = 0; i < now->step_count && *failed; i++) {
        const char *names = now->steps[i].regions, *test_case = now->steps[i].test_case;
        if (strncmp(test_case, profiled, strlen(profiled)) == 0) continue; /* speed */
        if (strncmp(test_case, failed, length) != 0 || test_case[length] != '/') continue;
        for (char *name; (name = next_word(&names, ' ')) != NULL; free(name))
            for (size_t h = 0; h < now->hints.count; h++)
                if (hint_is_about(now->hints.items[h].region, name)) add_region(now, h, first, &count);
    }
    const int all = count == 0;
    for (size_t h = 0; h < now->hints.count && all; h++) add_region(now, h, first, &count);
    return count;
}
