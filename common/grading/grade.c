/**
 * @file grade.c
 * @brief warpwise grade: the command, and the order of its steps.
 */
#include "grade.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "course/command.h"
#include "course/course.h"
#include "course/device.h"
#include "grade_class.h"
#include "journal.h"

enum { LOCK_TRIES = 20, LOCK_WAIT_MS = 100 };

/* ---- options ------------------------------------------------------------------------------------------- */

/* "01,04-06", or NULL for all. */
static int choose_lessons(const char *list, struct grade_class *class)
{
    size_t count;
    const struct lesson_folder *all = course_lessons(&count);
    char *chosen = course_choose_lessons(list, "--lessons");
    if (chosen == NULL) return EXIT_TROUBLE;
    class->lessons = must_allocate((count + 1) * sizeof *class->lessons);
    for (size_t i = 0; i < count; i++) {
        if (chosen[i]) class->lessons[class->lesson_count++] = &all[i];
    }
    free(chosen);
    return EXIT_PASS;
}

static int processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static int read_count(const char *option, const char *text, long most, long *count)
{
    char *end;
    *count = strtol(text, &end, 10);
    if (*text && !*end && *count >= 1 && *count <= most) return EXIT_PASS;
    return complain("%s takes a number from 1 to %ld, not \"%s\".", option, most, text);
}

static int read_shard(const char *text, struct grade_class *class)
{
    int end = 0;
    if (text == NULL) return EXIT_PASS;
    int read = sscanf(text, "%u/%u%n", &class->shard, &class->shards, &end);
    int good = read == 2 && text[end] == '\0' && class->shard >= 1 && class->shard <= class->shards;
    if (good && class->shards <= 10000) return EXIT_PASS;
    return complain("--shard takes K/N, for example 2/5 for the second of five parts, not \"%s\".", text);
}

/* Seconds, or 0 where nothing was asked for. */
static int read_seconds(const struct command_line *line, const char *option, double *seconds)
{
    long count = 0;
    const char *text = option_value(line, option);
    int code = text != NULL ? read_count(option, text, 1000000, &count) : EXIT_PASS;
    *seconds = (double)count;
    return code;
}

static int read_options(const struct command_line *line, struct grade_class *class)
{
    const char *jobs = option_value(line, "--jobs"), *lessons = option_value(line, "--lessons");
    long count = processors();
    class->plan.out = option_value(line, "--out");
    class->student = option_value(line, "--student");
    class->seed_given = option_value(line, "--secret-seed-file");
    class->without_isolation = option_value(line, "--without-isolation") != NULL;
    class->hunts = option_value(line, "--hunts") != NULL;
    class->no_speed = option_value(line, "--no-speed") != NULL;
    class->device = option_value(line, "--device");
    class->similar = option_value(line, "--similarity");
    grade_settings_ask(line, class);
    if (class->plan.out == NULL && class->similar == NULL)
        return complain("--out OUT says where the results go.");
    if (jobs != NULL && read_count("--jobs", jobs, 256, &count) != EXIT_PASS) return EXIT_TROUBLE;
    class->plan.jobs = (int)count;
    if (read_seconds(line, "--lesson-limit", &class->plan.lesson_seconds) != EXIT_PASS) return EXIT_TROUBLE;
    if (read_seconds(line, "--student-limit", &class->plan.student_seconds) != EXIT_PASS) return EXIT_TROUBLE;
    if (read_shard(option_value(line, "--shard"), class) != EXIT_PASS) return EXIT_TROUBLE;
    if (device_choose(class->device, &class->devices) != EXIT_PASS) return EXIT_TROUBLE;
    return choose_lessons(lessons, class);
}

/* ---- where the results go ------------------------------------------------------------------------------ */

/* 0, or errno; EAGAIN if another grader has it. A grader that was killed a moment ago may not be quite
 * gone: so this waits a little. */
static int take_lock(int file)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    for (int tries = LOCK_TRIES; fcntl(file, F_SETLK, &whole) != 0; tries--) {
        if (errno != EACCES && errno != EAGAIN) return errno;
        if (tries == 0 || process_interrupted()) return EAGAIN;
        poll(NULL, 0, LOCK_WAIT_MS);
    }
    return 0;
}

/* Submissions run as a user who is neither the owner nor in any group: that user has no access to @p
 * folder. */
static void shut_out_others(const char *folder)
{
    struct stat status;
    if (stat(folder, &status) == 0 && (status.st_mode & 07) != 0)
        (void)!chmod(folder, status.st_mode & 07770); /* a folder of another owner keeps its permissions */
}

/* Only one grader may work in a folder. A record lock belongs to this process alone: children do not
 * inherit it, and it disappears with the process, however that ends. */
static int take_folder(struct grade_class *class)
{
    int error = make_folders(class->plan.out);
    if (error) return complain("%s cannot be made: %s.", class->plan.out, strerror(error));
    char *path = format_string("%s/lock", class->plan.out);
    shut_out_others(class->plan.out);
    class->plan.lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    error = class->plan.lock < 0 ? errno : take_lock(class->plan.lock);
    free(path);
    if (!error) return EXIT_PASS;
    if (error != EAGAIN) return complain("%s cannot be written to: %s.", class->plan.out, strerror(error));
    return complain("another warpwise grade is at work in %s.", class->plan.out);
}

static int open_journal(struct grade_class *class)
{
    char *path = format_string("%s/journal", class->plan.out);
    int error = journal_open(path, grade_book_read, &class->book, &class->journal);
    int code = EXIT_PASS;
    if (error == EPROTO) {
        code = complain("%s is not a journal of this version of warpwise; choose another --out.", path);
    } else if (error) {
        code = complain("%s cannot be opened: %s.", path, strerror(error));
    } else if (class->journal.damaged) {
        complain("%zu damaged records of %s are left out; what they said is graded again.",
                 class->journal.damaged, path);
    }
    free(path);
    return code;
}

/* A results folder among the submissions would be taken for a student's. */
static int folders_apart(const struct grade_class *class)
{
    char *submissions = realpath(class->plan.submissions, NULL), *out = realpath(class->plan.out, NULL);
    size_t length = submissions != NULL ? strlen(submissions) : 0;
    int inside = submissions != NULL && out != NULL && strncmp(out, submissions, length) == 0 &&
                 (out[length] == '/' || out[length] == '\0');
    free(submissions);
    free(out);
    return inside
               ? complain("--out %s lies among the submissions; choose a folder elsewhere.", class->plan.out)
               : EXIT_PASS;
}

/* ---- the command --------------------------------------------------------------------------------------- */

/* Lists what is not graded; 1 if there is anything. */
static int tell_ungraded(const struct grade_class *class, const struct grade_sheet *sheets)
{
    size_t ungraded = 0;
    for (size_t s = 0; s < class->book.student_count; s++) {
        const struct grade_sheet *sheet = &sheets[s];
        if (class->student != NULL && strcmp(class->student, sheet->student) != 0) continue;
        for (size_t i = 0; i < class->book.lesson_count; i++) {
            const struct grade_score *score = &sheet->scores[i];
            if (score->decided) continue;
            char *why = escape_visible(
                score->result != NULL ? score->result->sentence : "it has not been tried", ESCAPE_ONE_LINE);
            complain("not graded: %s, %s: %s.", sheet->shown, class->book.lessons[i].name, why);
            free(why);
            ungraded++;
        }
    }
    return ungraded > 0;
}

/* Warns of rows of --times that are nobody's: the student whose row it should be counts as in time. The summary says so, too. */
static void tell_absent(const struct grade_book *book)
{
    struct text absent = {0};
    grade_times_absent(book, &absent);
    const char *rest = absent.data;
    for (char *line; (line = next_word(&rest, '\n')) != NULL; free(line))
        if (*line) complain("%s", line);
    text_free(&absent);
}

static int finish(struct grade_class *class, int code)
{
    if (process_interrupted()) {
        return complain("stopped; the same command goes on where this one ended.");
    }
    struct grade_sheet *sheets = NULL;
    if (grade_sheets_make(&class->book, &sheets) != EXIT_PASS) return EXIT_TROUBLE;
    int reports = grade_reports(&class->book, sheets, class->plan.out);
    tell_absent(&class->book);
    int ungraded = tell_ungraded(class, sheets);
    grade_sheets_free(&class->book, sheets);
    if (ungraded || reports != EXIT_PASS || code != EXIT_PASS) return EXIT_TROUBLE;
    printf("%zu students, %zu lessons: %s/grades.csv, %s/summary.html\n", class->book.student_count,
           class->book.lesson_count, class->plan.out, class->plan.out);
    return EXIT_PASS;
}

static int run_grade(const struct command_line *line)
{
    struct grade_class class = {.plan = {.lock = -1}, .journal = {.file = -1}};
    int merge = option_value(line, "--merge") != NULL;
    if (line->operand == NULL) {
        return complain(merge ? "--merge of which results? Name the folders."
                              : "which submissions? For example: warpwise grade SUBMISSIONS --out OUT");
    }
    if (!merge && line->operand_count > 1) {
        return complain("one folder of submissions at a time: \"%s\" is one too many.", line->operands[1]);
    }
    if (read_options(line, &class) != EXIT_PASS) return EXIT_TROUBLE;
    class.plan.submissions = line->operand;
    if (!merge && !is_folder(line->operand)) return complain("%s is no folder.", line->operand);
    if (class.similar != NULL && merge)
        return complain("--similarity takes the folder of submissions, not results.");
    if (class.similar != NULL) return grade_similar(&class);
    if (take_folder(&class) != EXIT_PASS) return EXIT_TROUBLE;
    if (merge) {
        int code = grade_merge(&class, line->operands, line->operand_count);
        return class.book.lesson_count ? finish(&class, code) : EXIT_TROUBLE;
    }
    if (folders_apart(&class) != EXIT_PASS || open_journal(&class) != EXIT_PASS) return EXIT_TROUBLE;
    grade_remove_leftovers(class.plan.out);
    if (grade_class_settle(&class) != EXIT_PASS || grade_settings_settle(&class) != EXIT_PASS)
        return EXIT_TROUBLE;
    return finish(&class, grade_class_run(&class));
}

static const struct option_description grade_options[] = {
    {"--out", "OUT", "where the results go; a run that was interrupted goes on there", 0},
    {"--secret-seed-file", "F", "mix these bytes into the inputs; without it, a seed is drawn and kept", 0},
    {"--jobs", "N", "so many at a time; without it, one per processor", 0},
    {"--lessons", "LIST", "only these, for example 01,04-06", 0},
    {"--device", "gpu|simt|both", "where to run; without it, wherever it can run", 0},
    {"--shard", "K/N", "only the K-th of N parts of the class; put together with --merge", 0},
    {"--merge", NULL, "put the results in the folders OUT1 OUT2 … together", 0},
    {"--student", "NAME", "grade this one again, as recorded, whatever is known already", 0},
    {"--without-isolation", NULL,
     "grade even where bubblewrap does not work; the reports then say what was missing", 0},
    {"--lesson-limit", "S",
     "seconds a lesson of a student may take on a device, compiler and all; without it, ten\n"
     "                            times the solution's, 60 at least",
     0},
    {"--student-limit", "S",
     "seconds all lessons of a student may take; without it, ten times the solutions',\n"
     "                            600 at least",
     0},
    {"--no-speed", NULL, "measure no speed: its points are withheld", 0},
    {"--hunts", NULL, "the debugging exercises of these lessons, too: hunts.csv", 0},
    {"--overrides", "F", "CSV student,lesson,points,comment: points set by hand (95, +5, -10), comments", 0},
    {"--deadlines", "F", "CSV lesson,deadline,penalty_percent[,most_percent][,student]: late by the day", 0},
    {"--times", "F", "CSV student,time[,lesson]: when it was handed in", 0},
    {"--time-column", "NAME", "the column of --times that holds the time, for example \"Submission Time\"",
     0},
    {"--student-column", "NAME", "the column of --times that names the student's folder", 0},
    {"--late-days", "N", "days of each student that cost nothing, for the earliest deadlines first", 0},
    {"--visibility", "LIST",
     "for Gradescope: visible, hidden, after_due_date or after_published; also for a group\n"
     "                            of cases alone: after_due_date,speed=hidden",
     0},
    {"--similarity", "DIR", "grade nothing; write the files as programs that look for copies read them", 0},
    {0},
};

const struct command grade_command = {
    .name = "grade",
    .operand = "DIR",
    .many = 1,
    .summary = "grade a class: a folder of submissions, one folder per student",
    .details =
        "warpwise grade SUBMISSIONS --out OUT          grades SUBMISSIONS/STUDENT/lessons/NN_topic/topic.cu\n"
        "warpwise grade --merge OUT1 OUT2 --out OUT    puts the parts of a class together\n\n"
        "OUT holds grades.csv, summary.html, and for each student results.json, junit.xml, report.md and\n"
        "log.txt. Exit code 0: graded, whatever the scores; 2: something could not be graded, which is\n"
        "listed and is nobody's zero. Given again, the command grades only what is new or has changed.\n"
        "Overrides, deadlines, times and visibility are kept with the results until others are given;\n"
        "--overrides /dev/null forgets those that there are.",
    .options = grade_options,
    .run = run_grade,
};
