/**
 * @file grade_merge.c
 * @brief Merges the parts of a class that were graded separately.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/text.h"
#include "grade.h"
#include "grade_class.h"
#include "journal.h"

static int read_part(const char *folder, struct grade_book *part)
{
    struct journal found;
    char *path = format_string("%s/journal", folder);
    int error = journal_read(path, grade_book_read, part, &found);
    free(path);
    if (error) return complain("there are no results in %s: %s.", folder, strerror(error));
    if (part->class_line == NULL) return complain("nothing was graded in %s.", folder);
    return EXIT_PASS;
}

/* What must be equal for points to be comparable: inputs, lessons, rubric, devices. */
static int fits(const struct grade_book *book, const struct grade_book *part, const char *folder)
{
    if (strcmp(book->seed, part->seed) != 0) {
        return complain("%s was graded with another secret seed; give all parts the same "
                        "--secret-seed-file.",
                        folder);
    }
    int same = book->lesson_count == part->lesson_count && book->speed == part->speed &&
               memcmp(book->devices, part->devices, sizeof book->devices) == 0;
    for (size_t i = 0; same && i < book->lesson_count; i++) {
        const struct grade_lesson *one = &book->lessons[i], *other = &part->lessons[i];
        same = strcmp(one->name, other->name) == 0 && one->part_count == other->part_count &&
               one->clean_points == other->clean_points && one->speed_points == other->speed_points;
    }
    if (!same)
        return complain("%s was graded in other lessons, on other devices or for other points.", folder);
    if (strcmp(book->version, part->version) != 0) {
        complain("%s was graded by warpwise %s, others by %s.", folder, part->version, book->version);
    }
    return EXIT_PASS;
}

static void add_students(struct grade_book *book, const struct grade_book *part)
{
    size_t one = 0, other = 0, count = 0;
    char **all = must_allocate((book->student_count + part->student_count + 1) * sizeof *all);
    while (one < book->student_count || other < part->student_count) {
        int order = one == book->student_count     ? 1
                    : other == part->student_count ? -1
                                                   : strcmp(book->students[one], part->students[other]);
        all[count++] = order <= 0 ? book->students[one] : part->students[other];
        one += order <= 0;
        other += order >= 0;
    }
    book->students = all;
    book->student_count = count;
}

/* Of two results for the same unit takes the graded one; if both are, the later one. */
static void add_results(struct grade_book *book, const struct grade_book *part)
{
    for (size_t i = 0; i < part->result_count; i++) {
        const struct grade_result *result = &part->results[i];
        const struct grade_result *known =
            grade_book_find(book, result->student, result->lesson, result->device);
        int better = known == NULL || result->graded > known->graded ||
                     (result->graded == known->graded && strcmp(result->at, known->at) >= 0);
        if (better) grade_book_put(book, result);
    }
}

/* Shards like "2/5": every number must occur among them. */
static int all_shards(const struct grade_book *parts, size_t count)
{
    unsigned shard, shards = 0, other;
    int code = EXIT_PASS;
    for (size_t i = 0; i < count; i++) {
        if (sscanf(parts[i].shard, "%u/%u", &shard, &other) != 2) continue;
        if (shards && other != shards) return complain("some parts are of %u, others of %u.", shards, other);
        shards = other;
    }
    for (unsigned wanted = 1; wanted <= shards; wanted++) {
        int found = 0;
        for (size_t i = 0; i < count; i++) found = found || (unsigned)atoi(parts[i].shard) == wanted;
        if (!found) code = complain("part %u/%u is missing.", wanted, shards);
    }
    return code;
}

/* Writes a journal of its own, so that --student and --merge work on the merged class. */
static int write_journal(struct grade_class *class)
{
    struct grade_book nothing = {0};
    char *path = format_string("%s/journal", class->plan.out);
    char *beside = format_string("%s.new", path);
    unlink(beside);
    int error = journal_open(beside, grade_book_read, &nothing, &class->journal);
    for (size_t i = 0; i < class->book.result_count + 2 && !error; i++) {
        struct text line = {0};
        if (i == 0) {
            grade_class_line(&class->book, &line);
        } else if (i == 1) {
            grade_settings_line(&class->book, &line);
        } else {
            grade_result_line(&class->book.results[i - 2], &line);
        }
        error = journal_append(&class->journal, &line);
        text_free(&line);
    }
    if (!error && rename(beside, path) != 0) error = errno;
    int code = error ? complain("%s cannot be written: %s.", path, strerror(error)) : EXIT_PASS;
    free(beside);
    free(path);
    return code;
}

static int keep_seed(struct grade_class *class, const char *folder)
{
    char *path = format_string("%s/secret_seed", folder);
    if (class->seed_given == NULL && access(path, R_OK) != 0) return EXIT_PASS; /* somebody kept it back */
    if (class->seed_given == NULL) class->seed_given = path;
    return grade_seed_settle(class);
}

int grade_merge(struct grade_class *class, const char *const *folders, size_t count)
{
    struct grade_book *parts = must_allocate(count * sizeof *parts);
    for (size_t i = 0; i < count; i++) {
        if (read_part(folders[i], &parts[i]) != EXIT_PASS) return EXIT_TROUBLE;
        if (i > 0 && fits(&parts[0], &parts[i], folders[i]) != EXIT_PASS) return EXIT_TROUBLE;
    }
    struct grade_book book = parts[0];
    book.shard = "";
    book.results = NULL;
    book.result_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0) add_students(&book, &parts[i]);
        if (book.whole && !parts[i].whole) { /* the class was isolated only as well as its worst part */
            book.whole = 0;
            book.isolation = parts[i].isolation;
        }
        for (int which = 0; which < GRADE_SETTINGS; which++)
            if (book.setting[which] == NULL || !*book.setting[which])
                book.setting[which] = parts[i].setting[which];
        add_results(&book, &parts[i]);
    }
    class->book = book;
    char *seed = book.seed;
    int code = keep_seed(class, folders[0]);
    class->book.seed = seed;
    if (code == EXIT_PASS) code = grade_settings_settle(class);
    if (code == EXIT_PASS) code = write_journal(class);
    int complete = all_shards(parts, count);
    return code == EXIT_PASS ? complete : code;
}
