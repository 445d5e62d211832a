/**
 * @file grade_class.c
 * @brief Settles who is graded in which lessons and which results are already known, and grades the rest.
 *
 * The course's own solution of each lesson is graded first, on each device. Where it does not pass, something
 * is wrong with this installation or this device, and nobody is graded in that lesson: an honest submission
 * would fail as well.
 */
#include "grade_class.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "build/build.h"
#include "build/submission.h"
#include "base/escape.h"
#include "base/process.h"
#include "base/sha256.h"
#include "base/terminal.h"
#include "base/text.h"
#include "course/course.h"
#include "course/device.h"
#include "course/exercise.h"
#include "course/places.h"
#include "grade.h"
#include "journal.h"
#include "sandbox/sandbox.h"

enum { BAR_WIDTH = 24, RUBRIC_SECONDS = 60 };

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- lessons ------------------------------------------------------------------------------------------- */

/* One line of the rubric: "what,name,value". */
static void read_rubric_line(const char *line, struct grade_lesson *lesson)
{
    const char *rest = line;
    char *what = next_word(&rest, ','), *name = next_word(&rest, ',');
    const char *value = rest != NULL ? rest : "";
    struct {
        const char *what;
        double *to;
    } numbers[] = {{"clean", &lesson->clean_points},
                   {"speed", &lesson->speed_points},
                   {"speed_none", &lesson->speed_none},
                   {"speed_full", &lesson->speed_full}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(what, numbers[i].what) == 0) *numbers[i].to = record_number(value);
    }
    if (strcmp(what, "title") == 0) lesson->title = copy_string(value);
    if (strcmp(what, "part") == 0 && lesson->part_count < GRADE_PARTS) {
        lesson->part_points[lesson->part_count] = record_number(value);
        lesson->part[lesson->part_count++] = copy_string(name != NULL ? name : "");
    }
    free(what);
    free(name);
}

static int read_rubric(const struct lesson_folder *folder, struct grade_lesson *lesson)
{
    struct process_end end;
    const char *program = format_string("%s/bin/checker", course_binary_dir());
    const char *arguments[] = {program, "--lesson", folder->name, "--rubric", NULL};
    process_run(&(struct process){.arguments = arguments, .seconds = RUBRIC_SECONDS}, &end);
    *lesson = (struct grade_lesson){
        .name = copy_string(folder->name), .number = copy_string(folder->number), .title = copy_string("")};
    if (end.exit_code == EXIT_PASS) {
        const char *rest = end.output.data;
        for (char *line; (line = next_word(&rest, '\n')) != NULL; free(line)) read_rubric_line(line, lesson);
    }
    if (end.exit_code == EXIT_PASS && lesson->part_count > 0) return EXIT_PASS;
    return complain("%s does not say what lesson %s is worth: run cmake --build %s", program, folder->name,
                    course_binary_dir());
}

/* The lessons asked for; else, for one student, those recorded; else all. */
static int settle_lessons(struct grade_class *class)
{
    size_t all_count;
    const struct lesson_folder *all = course_lessons(&all_count);
    const struct lesson_folder **chosen = must_allocate((all_count + 1) * sizeof *chosen);
    size_t count = 0;
    for (size_t i = 0; i < all_count; i++) {
        int wanted = class->lesson_count == 0 && !(class->student != NULL && class->book.lesson_count);
        for (size_t j = 0; j < class->lesson_count; j++) wanted = wanted || class->lessons[j] == &all[i];
        for (size_t j = 0; class->student != NULL && !class->lesson_count && j < class->book.lesson_count;
             j++)
            wanted = wanted || strcmp(class->book.lessons[j].name, all[i].name) == 0;
        if (wanted) chosen[count++] = &all[i];
    }
    class->lessons = chosen;
    class->lesson_count = class->book.lesson_count = count;
    class->book.lessons = must_allocate((count + 1) * sizeof *class->book.lessons);
    for (size_t i = 0; i < count; i++) {
        if (read_rubric(chosen[i], &class->book.lessons[i]) != EXIT_PASS) return EXIT_TROUBLE;
    }
    return EXIT_PASS;
}

/* ---- devices ------------------------------------------------------------------------------------------- */

/* The devices asked for; else those recorded, even if one is gone: then that is reported, and nobody gets
 * a zero for it. */
static int settle_devices(struct grade_class *class)
{
    int recorded = class->book.devices[DEVICE_SIMT] || class->book.devices[DEVICE_GPU];
    for (int i = 0; i < DEVICE_COUNT && (class->device != NULL || !recorded); i++) {
        int usable = class->devices.wanted[i] && device_probe((enum device)i)->usable;
        class->book.devices[i] = usable;
        if (class->device != NULL && class->devices.wanted[i] && !usable) {
            return complain("%s is not here: %s.", device_name((enum device)i),
                            device_probe((enum device)i)->reason);
        }
    }
    if (class->book.devices[DEVICE_GPU]) {
        class->plan.gpus = grade_count_gpus();
        if (class->plan.speed && device_probe(DEVICE_GPU)->usable)
            device_measure(); /* once for all workers */
    }
    if (class->book.devices[DEVICE_SIMT] && build_untrusted_settle(DEVICE_SIMT) != EXIT_PASS)
        return EXIT_TROUBLE;
    if (class->book.devices[DEVICE_SIMT] || class->book.devices[DEVICE_GPU]) return EXIT_PASS;
    return complain("there is no device to grade on; see: warpwise doctor");
}

/* ---- students ------------------------------------------------------------------------------------------ */

/* When one student is graded again, the class stays as recorded, even if only that student's folder is
 * there now. */
static char **with_recorded(const struct grade_class *class, char **names, size_t *count)
{
    const struct grade_book *book = &class->book;
    char **all = must_allocate((*count + book->student_count + 1) * sizeof *all);
    size_t one = 0, other = 0, kept = 0;
    while (one < *count || other < book->student_count) {
        int order = one == *count                  ? 1
                    : other == book->student_count ? -1
                                                   : strcmp(names[one], book->students[other]);
        all[kept++] = order <= 0 ? names[one] : book->students[other];
        one += order <= 0;
        other += order >= 0;
    }
    *count = kept;
    return all;
}

static int settle_students(struct grade_class *class)
{
    char **names;
    size_t count, kept = 0;
    if (grade_collect(class->plan.submissions, &names, &count) != EXIT_PASS) return EXIT_TROUBLE;
    if (count == 0) return complain("there is no student's folder in %s.", class->plan.submissions);
    int found = 0;
    if (class->student != NULL) names = with_recorded(class, names, &count);
    for (size_t i = 0; i < count; i++) {
        int ours = !class->shards || grade_shard_of(names[i], class->shards) == class->shard;
        if (ours) names[kept++] = names[i];
        found = found || (ours && class->student != NULL && strcmp(names[i], class->student) == 0);
    }
    class->book.students = names;
    class->book.student_count = kept;
    if (class->student == NULL || found) return EXIT_PASS;
    names[kept] = NULL;
    const char *near = count > kept ? NULL : nearest_name(class->student, (const char *const *)names);
    char *shown = escape_visible(near != NULL ? near : "", ESCAPE_ONE_LINE);
    complain("there is no student \"%s\" in %s.%s%s%s", class->student, class->plan.submissions,
             near != NULL ? " Did you mean " : "", shown, near != NULL ? "?" : "");
    free(shown);
    return EXIT_TROUBLE;
}

/* The instructor has to ask explicitly for grading with less than the full isolation. */
static int settle_isolation(struct grade_class *class)
{
    class->book.isolation = copy_string(sandbox_describe(course_source_dir()));
    class->book.whole = sandbox_is_whole(course_source_dir());
    printf("isolation: %s\n", class->book.isolation);
    if (class->book.whole || class->without_isolation) return EXIT_PASS;
    return complain(
        "submissions are untrusted programs, and part of what keeps them apart from this machine is missing "
        "(the line above). docs/security.md says how to get it; to grade all the same, give "
        "--without-isolation: every report will then say so.");
}

int grade_class_settle(struct grade_class *class)
{
    struct text line = {0};
    int recorded_speed = class->book.class_line != NULL ? class->book.speed : 1;
    class->book.speed = class->no_speed ? 0 : class->student != NULL ? recorded_speed : 1;
    class->plan.speed = class->book.speed;
    class->book.version = copy_string(places.version);
    class->book.shard = class->shards ? format_string("%u/%u", class->shard, class->shards) : copy_string("");
    if (settle_isolation(class) != EXIT_PASS) return EXIT_TROUBLE;
    if (grade_seed_settle(class) != EXIT_PASS || settle_lessons(class) != EXIT_PASS) return EXIT_TROUBLE;
    if (settle_devices(class) != EXIT_PASS || settle_students(class) != EXIT_PASS) return EXIT_TROUBLE;
    grade_class_line(&class->book, &line);
    if (class->book.class_line != NULL && strcmp(class->book.class_line, line.data) == 0) return EXIT_PASS;
    int error = journal_append(&class->journal, &line);
    text_free(&line);
    return error ? complain("%s cannot be written: %s.", class->journal.path, strerror(error)) : EXIT_PASS;
}

/* ---- what is to be done -------------------------------------------------------------------------------- */

/* A unit whose files are the same, byte for byte, as those of an earlier unit waits for that one's verdict. */
static void add_unit(struct grade_class *class, const char *student, const struct lesson_folder *lesson,
                     int exercise, enum device device, const char *fingerprint)
{
    struct grade_unit unit = {.student = student, .lesson = lesson, .exercise = exercise, .device = device};
    grade_key(&unit, &class->book, fingerprint, unit.key);
    char *name = grade_unit_name(&unit);
    const struct grade_result *known = grade_book_find(&class->book, student, name, device);
    free(name);
    int again = class->student != NULL && *student;
    if (!again && known != NULL && known->graded && strcmp(known->key, unit.key) == 0) return;
    int same = !again && grade_book_judged(&class->book, unit.key) != NULL;
    for (size_t i = 0; i < class->unit_count && !same; i++) same = strcmp(class->units[i].key, unit.key) == 0;
    if (same)
        class->twins[class->twin_count++] = unit;
    else
        class->units[class->unit_count++] = unit;
}

static void list_solutions(struct grade_class *class)
{
    for (size_t i = 0; i < class->lesson_count; i++) {
        struct text content = {0};
        struct sha256 hash;
        char digits[65];
        char *path = course_kernel_path(class->lessons[i], 1);
        if (read_file(path, &content) == 0) {
            sha256_begin(&hash);
            sha256_add(&hash, content.data, content.length);
            sha256_end(&hash, digits);
            for (int device = 0; device < DEVICE_COUNT; device++) {
                if (class->book.devices[device])
                    add_unit(class, "", class->lessons[i], 0, (enum device)device, digits);
            }
        }
        text_free(&content);
        free(path);
    }
}

/* 0 if the result of the course's own solution is known and it did not pass on that device; else 1. */
static int is_sound(const struct grade_class *class, const struct lesson_folder *lesson, enum device device)
{
    const struct grade_result *solution = grade_book_find(&class->book, "", lesson->name, device);
    return solution == NULL || (solution->graded && solution->state == STATE_PASS);
}

/* Debugging exercises that were handed in. The software device alone sees every mistake. */
static void list_exercises(struct grade_class *class, const char *student, const struct lesson_folder *lesson)
{
    size_t count;
    struct exercise *exercises = exercises_of(lesson, &count);
    for (size_t i = 0; i < count && class->book.devices[DEVICE_SIMT] && is_sound(class, lesson, DEVICE_SIMT);
         i++) {
        const int number = exercises[i].number;
        char *fingerprint = grade_fingerprint(class->plan.submissions, student, lesson, number);
        if (*fingerprint) add_unit(class, student, lesson, number, DEVICE_SIMT, fingerprint);
        free(fingerprint);
    }
    free(exercises);
}

/* How many of them one student may hand in. */
static size_t count_exercises(const struct grade_class *class)
{
    size_t all = 0, count;
    for (size_t i = 0; class->hunts && i < class->lesson_count; i++) {
        free(exercises_of(class->lessons[i], &count));
        all += count;
    }
    return all;
}

static void list_students(struct grade_class *class)
{
    for (size_t s = 0; s < class->book.student_count && !process_interrupted(); s++) {
        const char *student = class->book.students[s];
        if (class->student != NULL && strcmp(student, class->student) != 0) continue;
        for (size_t i = 0; i < class->lesson_count; i++) {
            char *fingerprint = grade_fingerprint(class->plan.submissions, student, class->lessons[i], 0);
            for (int device = 0; device < DEVICE_COUNT; device++) {
                if (class->book.devices[device] && is_sound(class, class->lessons[i], (enum device)device))
                    add_unit(class, student, class->lessons[i], 0, (enum device)device, fingerprint);
            }
            free(fingerprint);
            if (class->hunts) list_exercises(class, student, class->lessons[i]);
        }
    }
}

/* ---- doing it ------------------------------------------------------------------------------------------ */

static void tell_progress(const struct grade_class *class, const struct grade_unit *unit,
                          const struct grade_result *result)
{
    size_t all = class->retrying ? class->again_count : class->unit_count + class->twin_count;
    if (all < class->done) all = class->done; /* others with the same file */
    char *shown = escape_visible(*unit->student ? unit->student : "(solution)", ESCAPE_ONE_LINE);
    if (isatty(STDERR_FILENO)) {
        char bar[BAR_WIDTH + 1];
        int full = (int)(BAR_WIDTH * class->done / all);
        double left = (now_seconds() - class->start) / (double)class->done * (double)(all - class->done);
        memset(bar, '.', BAR_WIDTH);
        memset(bar, '#', (size_t)full);
        bar[BAR_WIDTH] = '\0';
        show_progress("[%s] %zu of %zu, %.0f min left%s   %.20s %s %s", bar, class->done, all, left / 60,
                      class->ungraded ? ", some not graded" : "", shown, unit->lesson->number,
                      state_name(result->state));
    } else {
        printf("[%zu/%zu] %s %s %s %s\n", class->done, all, shown, result->lesson, device_name(unit->device),
               state_name(result->state));
        fflush(stdout);
    }
    free(shown);
}

/* Is the result the same again? Printed for an instructor who grades one student again. */
static void tell_whether_same(const struct grade_result *known, const struct grade_result *result)
{
    int same = known->state == result->state && known->row_count == result->row_count;
    for (size_t i = 0; same && i < known->row_count; i++) {
        same =
            known->rows[i].state == result->rows[i].state && known->rows[i].points == result->rows[i].points;
    }
    int other = strcmp(known->key, result->key) != 0;
    printf("%s on %s: %s as recorded on %s%s\n", result->lesson, device_name(result->device),
           same ? "the same" : "NOT the same", known->at,
           other ? "; the file, the seed or this program has changed since" : "");
}

/* A result counts only when it is in the journal. 0, or 1 after a complaint. */
static int keep_result(struct grade_class *class, const struct grade_unit *unit, struct grade_result *result)
{
    struct text line = {0};
    const struct grade_result *known =
        grade_book_find(&class->book, unit->student, result->lesson, unit->device);
    if (unit->exercise) {
        char *folder = format_string("%s/%s", class->plan.submissions, unit->student);
        result->notes = submission_notes(folder, unit->lesson, unit->exercise);
        free(folder);
    }
    if (class->student != NULL && *unit->student && known != NULL && known->graded && result->graded)
        tell_whether_same(known, result);
    grade_result_line(result, &line);
    int error = journal_append(&class->journal, &line);
    text_free(&line);
    if (error) {
        complain("%s cannot be written: %s. Nothing that is in it is lost.", class->journal.path,
                 strerror(error));
        return 1;
    }
    grade_book_put(&class->book, result);
    tell_progress(class, unit, result);
    return 0;
}

/* The same verdict for somebody who handed in the same file, byte for byte, for the same lesson and device: all that a
 * verdict depends on is in the key. It took no time. */
static int keep_twin(struct grade_class *class, const struct grade_unit *twin,
                     const struct grade_result *result)
{
    struct grade_result same = *result;
    same.student = copy_string(twin->student);
    same.seconds = 0;
    class->done++;
    class->ungraded += !result->graded;
    return keep_result(class, twin, &same);
}

static int keep_twins(struct grade_class *class, const struct grade_result *result)
{
    int stop = 0;
    for (size_t i = 0; i < class->twin_count && !stop; i++)
        if (strcmp(class->twins[i].key, result->key) == 0) stop = keep_twin(class, &class->twins[i], result);
    return stop;
}

/* A ::grade_taker. What could not be graded is tried once more before it counts. */
static int take_result(void *context, const struct grade_unit *unit, struct grade_result *result)
{
    struct grade_class *class = context;
    class->done++;
    if (!result->graded) class->ungraded++;
    if (!result->graded && !class->retrying) {
        class->again[class->again_count++] = *unit;
        tell_progress(class, unit, result);
        return 0;
    }
    return keep_result(class, unit, result) || keep_twins(class, result);
}

/* Those whose files an earlier run has judged for somebody else. */
static int keep_known_twins(struct grade_class *class)
{
    size_t left = 0;
    int stop = 0;
    for (size_t i = 0; i < class->twin_count && !stop; i++) {
        const struct grade_result *known = grade_book_judged(&class->book, class->twins[i].key);
        if (known != NULL)
            stop = keep_twin(class, &class->twins[i], known);
        else
            class->twins[left++] = class->twins[i];
    }
    class->twin_count = left;
    return stop;
}

static int run_units(struct grade_class *class)
{
    class->done = class->ungraded = class->again_count = 0;
    class->retrying = 0;
    class->start = now_seconds();
    class->again = must_allocate((class->unit_count + 1) * sizeof *class->again);
    int code = keep_known_twins(class) ? EXIT_TROUBLE : EXIT_PASS;
    if (code == EXIT_PASS)
        code = grade_schedule(&class->plan, class->units, class->unit_count, take_result, class);
    /* try again, one by one: the load of many units may have been the reason */
    if (code == EXIT_PASS && class->again_count > 0) {
        struct grade_plan alone = class->plan;
        alone.jobs = 1;
        class->retrying = 1;
        class->done = class->ungraded = 0;
        code = grade_schedule(&alone, class->again, class->again_count, take_result, class);
    }
    show_progress(NULL);
    free(class->again);
    return code;
}

static void tell_unsound(const struct grade_class *class)
{
    for (size_t i = 0; i < class->lesson_count; i++) {
        for (int device = 0; device < DEVICE_COUNT; device++) {
            if (!class->book.devices[device] || is_sound(class, class->lessons[i], (enum device)device))
                continue;
            const struct grade_result *solution =
                grade_book_find(&class->book, "", class->lessons[i]->name, (enum device)device);
            complain(
                "the course's own solution of %s does not pass on %s (%s%s%s), so nobody is graded in it.",
                class->lessons[i]->name, device_name((enum device)device), state_name(solution->state),
                *solution->sentence ? ": " : "", solution->sentence);
        }
    }
}

int grade_class_run(struct grade_class *class)
{
    size_t most =
        (class->book.student_count + 1) * (class->lesson_count * DEVICE_COUNT + count_exercises(class));
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    char *workers = format_string("%ld", processors > class->plan.jobs ? processors / class->plan.jobs : 1);
    setenv("SIMT_WORKERS", workers, 0); /* results do not depend on the number of workers */
    class->units = must_allocate((most + 1) * sizeof *class->units);
    class->twins = must_allocate((most + 1) * sizeof *class->twins);
    list_solutions(class);
    int code = run_units(class);
    class->plan.book = &class->book;
    tell_unsound(class);
    class->unit_count = class->twin_count = 0;
    if (code == EXIT_PASS) {
        list_students(class);
        size_t known = class->book.student_count * class->lesson_count;
        if (class->unit_count + class->twin_count == 0) printf("all %zu are graded already\n", known);
        if (class->twin_count)
            printf("%zu of %zu are the same file as somebody else's: judged once\n", class->twin_count,
                   class->unit_count + class->twin_count);
        code = run_units(class);
    }
    free(class->twins);
    free(class->units);
    return code;
}
