/**
 * @file grade_similar.c
 * @brief The class's kernel files, laid out for programs that look for copies.
 *
 *     DIR/NN_topic/submissions/STUDENT/topic.cpp    STUDENT as below OUT/students/: JPlag takes a folder for a submission
 *     DIR/NN_topic/base/topic.cpp                   the skeleton: what everybody shares
 *     DIR/files.csv                                 whose folder is whose, and the sum of each file
 *     DIR/README.md                                 the commands of JPlag and MOSS
 *
 * Files end in .cpp because neither program knows .cu. What is not a plain file of text is left out, as grading refuses it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/terminal.h"
#include "base/text.h"
#include "build/submission.h"
#include "course/course.h"
#include "grade.h"
#include "grade_class.h"

/** @brief One file that was handed in. */
struct similar_file {
    const char *student;
    char sha256[65];
};

static int write_below(const char *folder, const char *name, const char *content, size_t length)
{
    char *path = format_string("%s/%s", folder, name);
    int error = make_folders(folder);
    if (!error) error = write_file(path, content, length);
    int code = error ? complain("%s cannot be written: %s.", path, strerror(error)) : EXIT_PASS;
    free(path);
    return code;
}

static int copy_file(const char *from, const char *folder, const char *name)
{
    struct text content = {0};
    int error = read_file(from, &content);
    int code = error ? complain("%s cannot be read: %s.", from, strerror(error))
                     : write_below(folder, name, content.data != NULL ? content.data : "", content.length);
    text_free(&content);
    return code;
}

static int add_student(const struct grade_class *class, const struct lesson_folder *lesson,
                       const char *student, struct similar_file *file, struct text *list)
{
    struct submission submission;
    char *path = format_string("%s/%s", class->plan.submissions, student);
    char *folder = escape_folder_name(student), *name = format_string("%s.cpp", lesson->topic);
    char *to = format_string("%s/%s/submissions/%s", class->similar, lesson->name, folder);
    int code = EXIT_PASS;
    submission_find(path, lesson, 0, &submission);
    if (submission.state == SUBMISSION_READY && submission.kernel != NULL) {
        code = copy_file(submission.kernel, to, name);
        *file = (struct similar_file){.student = student};
        snprintf(file->sha256, sizeof file->sha256, "%s", submission.sha256);
        put_csv(list, student);
        text_print(list, ",%s,%s,%s\n", folder, lesson->name, submission.sha256);
    }
    submission_free(&submission);
    free(to);
    free(name);
    free(folder);
    free(path);
    return code;
}

/* Reports copies byte for byte, which needs no other program. */
static void tell_same(const struct lesson_folder *lesson, const struct similar_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct text names = {0};
        int first = *files[i].sha256 != '\0';
        for (size_t j = 0; j < i && first; j++) first = strcmp(files[j].sha256, files[i].sha256) != 0;
        for (size_t j = i; j < count && first; j++) {
            if (strcmp(files[j].sha256, files[i].sha256) != 0) continue;
            char *shown = escape_visible(files[j].student, ESCAPE_ONE_LINE);
            text_print(&names, "%s%s", names.length ? ", " : "", shown);
            free(shown);
        }
        if (first && strcmp(names.data, files[i].student) != 0 && strstr(names.data, ", ") != NULL)
            printf("%s: the same file, byte for byte: %s\n", lesson->name, names.data);
        text_free(&names);
    }
}

static int write_readme(const char *folder)
{
    static const char words[] = "# Who shares code\n\n"
                                "One folder per lesson: `submissions/STUDENT/` holds the file that counts, "
                                "`base/` the skeleton, which everybody has.\n"
                                "`files.csv` says whose folder is whose; equal sums are equal files.\n\n"
                                "JPlag 6 (https://github.com/jplag/JPlag, runs on this machine, needs Java "
                                "21), a report per lesson:\n\n"
                                "    java -jar jplag.jar -l cpp -bc NN_topic/base -r NN_topic.jplag --mode "
                                "RUN NN_topic/submissions\n\n"
                                "MOSS (https://theory.stanford.edu/~aiken/moss, sends the files to Stanford: "
                                "ask whether you may), with `-d` because each\n"
                                "folder is a student:\n\n"
                                "    moss -l cc -d -b NN_topic/base/*.cpp NN_topic/submissions/*/*.cpp\n\n"
                                "Put files of earlier years beside these, as further folders below "
                                "`submissions/`. Right kernels of one lesson look alike,\n"
                                "since contract and page lead there: read pairs from the top of the list, "
                                "and look for mistakes, names and comments in common.\n";
    return write_below(folder, "README.md", words, sizeof words - 1);
}

/* A lesson without any submission gets no folder. */
static int add_lesson(const struct grade_class *class, const struct lesson_folder *lesson, char **students,
                      size_t count, struct text *list, size_t *taken)
{
    struct similar_file *files = must_allocate((count + 1) * sizeof *files);
    int code = EXIT_PASS;
    size_t found = 0;
    for (size_t i = 0; i < count && code == EXIT_PASS; i++) {
        files[found] = (struct similar_file){0};
        code = add_student(class, lesson, students[i], &files[found], list);
        found += files[found].student != NULL;
    }
    if (found > 0 && code == EXIT_PASS) {
        char *skeleton = course_kernel_path(lesson, 0),
             *base = format_string("%s/%s/base", class->similar, lesson->name);
        char *name = format_string("%s.cpp", lesson->topic);
        code = copy_file(skeleton, base, name);
        free(name);
        free(base);
        free(skeleton);
    }
    tell_same(lesson, files, found);
    *taken += found;
    free(files);
    return code;
}

int grade_similar(const struct grade_class *class)
{
    char **students;
    size_t count, lesson_count, taken = 0;
    struct text list = {0};
    const struct lesson_folder *all = course_lessons(&lesson_count);
    if (grade_collect(class->plan.submissions, &students, &count) != EXIT_PASS) return EXIT_TROUBLE;
    text_print(&list, "student,folder,lesson,sha256\n");
    for (size_t i = 0; i < lesson_count; i++) {
        int wanted = class->lesson_count == 0;
        for (size_t j = 0; j < class->lesson_count; j++) wanted = wanted || class->lessons[j] == &all[i];
        if (wanted && add_lesson(class, &all[i], students, count, &list, &taken) != EXIT_PASS)
            return EXIT_TROUBLE;
    }
    int code = write_below(class->similar, "files.csv", list.data, list.length);
    if (code == EXIT_PASS) code = write_readme(class->similar);
    text_free(&list);
    if (code == EXIT_PASS)
        printf("%zu files of %zu students: %s/README.md says how to compare them\n", taken, count,
               class->similar);
    return code;
}
