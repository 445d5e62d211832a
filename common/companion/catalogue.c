/**
 * @file catalogue.c
 * @brief Which cases a lesson has and what they cost, known before anything runs. The checker is asked, since only
 *        it knows.
 */
#include "catalogue.h"

#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "course/command.h"
#include "course/course.h"
#include "course/device.h"
#include "judging/results.h"

enum { ASK_SECONDS = 60, COLUMNS = 9 };

static void read_case(const char *line, struct catalogue *catalogue)
{
    char *field[COLUMNS];
    size_t count = 0;
    const char *at = line;
    while (at != NULL && count < COLUMNS) field[count++] = csv_field(&at);
    if (count < COLUMNS) return;
    struct known_case *cases = must_allocate((catalogue->count + 1) * sizeof *cases);
    if (catalogue->count) memcpy(cases, catalogue->cases, catalogue->count * sizeof *cases);
    free(catalogue->cases);
    catalogue->cases = cases;
    cases[catalogue->count++] =
        (struct known_case){.part = field[1],
                            .name = field[2],
                            .group = field[3],
                            .shape = field[4],
                            .on = {[DEVICE_SIMT] = atoi(field[5]), [DEVICE_GPU] = atoi(field[6])},
                            .flop = atof(field[7]),
                            .min_bytes = atof(field[8])};
}

int catalogue_read(const struct lesson_folder *lesson, struct catalogue *catalogue)
{
    struct process_end end;
    char *checker = format_string("%s/bin/checker", course_binary_dir());
    const char *arguments[] = {checker, "--lesson", lesson->name, "--costs", NULL};
    *catalogue = (struct catalogue){0};
    process_run(&(struct process){.arguments = arguments, .seconds = ASK_SECONDS}, &end);
    const char *rest = end.exit_code == 0 ? end.output.data : NULL;
    int heading = 1;
    for (char *line; (line = next_word(&rest, '\n')) != NULL; free(line)) {
        if (!heading) read_case(line, catalogue);
        heading = 0;
    }
    text_free(&end.output);
    free(checker);
    if (catalogue->count) return EXIT_PASS;
    return complain("the checker does not know the cases of lesson %s: run cmake --build %s", lesson->number,
                    course_binary_dir());
}

/* Without its part. */
static const char *short_case_name(const struct known_case *item)
{
    const char *slash = strchr(item->name, '/');
    return slash != NULL ? slash + 1 : item->name;
}

int catalogue_means(const struct known_case *known, const char *name)
{
    return strcmp(known->name, name) == 0 || strcmp(short_case_name(known), name) == 0;
}

const struct known_case *catalogue_case(const struct catalogue *catalogue, const struct lesson_folder *lesson,
                                        const char *name, enum device device)
{
    for (size_t i = 0; i < catalogue->count; i++) {
        const struct known_case *item = &catalogue->cases[i];
        int meant = name != NULL ? catalogue_means(item, name)
                                 : item->on[device] && strcmp(item->group, "speed") == 0;
        if (meant) return item;
    }
    const char **names = must_allocate((catalogue->count + 1) * sizeof *names);
    for (size_t i = 0; i < catalogue->count; i++) names[i] = catalogue->cases[i].name;
    const char *near = name != NULL ? nearest_name(name, names) : NULL;
    if (name == NULL) {
        complain("lesson %s has no case that is measured on %s.", lesson->number, device_name(device));
    } else if (near != NULL) {
        complain("lesson %s has no such case: \"%s\". Did you mean %s?", lesson->number, name, near);
    } else {
        complain("lesson %s has no such case: \"%s\". %s check %s --list names them.", lesson->number, name,
                 program_name(), lesson->number);
    }
    free(names);
    return NULL;
}

/* The case that shows a part as @p shown shows its own. */
static const struct known_case *case_of_part(const struct catalogue *catalogue, const char *part,
                                             const struct known_case *shown, enum device device)
{
    const struct known_case *speed = NULL;
    for (size_t i = 0; i < catalogue->count; i++) {
        const struct known_case *item = &catalogue->cases[i];
        if (strcmp(item->part, part) != 0 || !item->on[device]) continue;
        if (strcmp(short_case_name(item), short_case_name(shown)) == 0) return item;
        if (speed == NULL && strcmp(item->group, "speed") == 0) speed = item;
    }
    return speed;
}

const struct known_case *catalogue_other(const struct catalogue *catalogue, const struct known_case *shown,
                                         enum device device, size_t number)
{
    for (size_t i = 0; i < catalogue->count; i++) {
        const char *part = catalogue->cases[i].part;
        size_t first = 0;
        while (strcmp(catalogue->cases[first].part, part) != 0) first++;
        if (first < i || strcmp(part, shown->part) == 0) continue;
        const struct known_case *item = case_of_part(catalogue, part, shown, device);
        if (item != NULL && number-- == 0) return item;
    }
    return NULL;
}

const struct known_case *catalogue_largest(const struct catalogue *catalogue, enum device device)
{
    const struct known_case *largest = NULL;
    for (size_t i = 0; i < catalogue->count; i++) {
        const struct known_case *item = &catalogue->cases[i];
        if (!item->on[device] || strcmp(item->group, "speed") != 0) continue;
        if (largest == NULL || item->flop > largest->flop) largest = item;
    }
    return largest;
}
