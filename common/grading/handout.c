/**
 * @file handout.c
 * @brief warpwise handout: the course as students get it, without anything that gives a kernel away.
 *
 * There is a list of what goes into the tree, so that a new folder stays out until somebody has thought about
 * it. At the end every file of the new tree is compared with every file that must not be in it.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/terminal.h"
#include "base/text.h"
#include "course/command.h"
#include "course/course.h"
#include "course/exercise.h"
#include "grade.h"

/* What goes into the tree, and its name there if it changes. */
static const struct {
    const char *from, *to;
} parts[] = {{"CMakeLists.txt", NULL},
             {"CMakePresets.json", NULL},
             {"LICENSE", NULL},
             {".clang-format", NULL},
             {".gitignore", NULL},
             {"lessons", NULL},
             {"common", NULL},
             {"reference", NULL},
             {"docs", NULL},
             {"docs/handout.md", "README.md"},
             {"tests/CMakeLists.txt", NULL},
             {"tests/executed_something.cmake", NULL},
             {"tests/python", NULL},
             {"tests/at_start", NULL}};

/* What stays out of these folders. */
static const char *const left_out[] = {
    "docs/handout.md",         "docs/instructors.md",   "docs/examples",        "common/companion/new_lesson",
    "tests/python/mutants.py", "tests/python/judge.py", "tests/python/steps.py"};

/* Files of which a student's tree must not contain a copy. */
static const char *const secrets[] = {"solutions", "tests/mutants", "tests/variants", "tests/exploits"};

struct handout {
    const char *to;
    size_t files;
    char **secret; /* hashes of the files that must not go */
    size_t secret_count, secret_capacity;
};

/* ---- walking ------------------------------------------------------------------------------------------- */

typedef int (*visitor)(struct handout *handout, const char *below, const char *path);

/* From docs/, pages go; the programs that make figures and the site are built around the solutions and
 * stay. */
static int is_page(const char *below)
{
    static const char *const kinds[] = {".md", ".svg", ".png", ".csv", ".txt"};
    size_t length = strlen(below);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t ending = strlen(kinds[i]);
        if (length > ending && strcmp(below + length - ending, kinds[i]) == 0)
            return strcmp(below, "docs/CMakeLists.txt") != 0;
    }
    return 0;
}

static int is_left_out(const char *below)
{
    size_t length = strlen(below);
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++) {
        if (strcmp(below, left_out[i]) == 0) return 1;
    }
    if (strncmp(below, "lessons/", 8) == 0 && length > 5 && strcmp(below + length - 5, "/hunt") == 0)
        return 1; /* exercises that were opened here */
    return length > 0 && (below[length - 1] == '~' || below[length - 1] == '#');
}

static int walk(struct handout *handout, const char *top, const char *below, visitor visit)
{
    struct stat status;
    char *path = format_string("%s/%s", top, below);
    int code = EXIT_PASS;
    if (lstat(path, &status) != 0) {
        code = complain("%s cannot be read: %s.", path, strerror(errno));
    } else if (S_ISREG(status.st_mode)) {
        code = visit(handout, below, path);
    } else if (S_ISDIR(status.st_mode)) {
        DIR *folder = opendir(path);
        if (folder == NULL) code = complain("%s cannot be read: %s.", path, strerror(errno));
        for (struct dirent *entry;
             folder != NULL && code == EXIT_PASS && (entry = readdir(folder)) != NULL;) {
            if (entry->d_name[0] == '.') continue;
            char *inside = format_string("%s/%s", below, entry->d_name);
            code = walk(handout, top, inside, visit);
            free(inside);
        }
        if (folder != NULL) closedir(folder);
    }
    free(path);
    return code;
}

/* ---- secrets ------------------------------------------------------------------------------------------- */

static char *sum_of_file(const char *path)
{
    struct text content = {0};
    struct sha256 hash;
    char digits[65];
    if (read_file(path, &content) != 0 || content.length == 0) return NULL;
    sha256_begin(&hash);
    sha256_add(&hash, content.data, content.length);
    sha256_end(&hash, digits);
    text_free(&content);
    return copy_string(digits);
}

static int note_secret(struct handout *handout, const char *below, const char *path)
{
    (void)below;
    if (handout->secret_count == handout->secret_capacity) {
        handout->secret_capacity = 2 * handout->secret_capacity + 256;
        char **more = must_allocate(handout->secret_capacity * sizeof *more);
        if (handout->secret_count) memcpy(more, handout->secret, handout->secret_count * sizeof *more);
        free(handout->secret);
        handout->secret = more;
    }
    char *sum = sum_of_file(path);
    if (sum != NULL) handout->secret[handout->secret_count++] = sum;
    return EXIT_PASS;
}

static int hold_against_secrets(struct handout *handout, const char *below, const char *path)
{
    char *sum = sum_of_file(path);
    int code = EXIT_PASS;
    for (size_t i = 0; sum != NULL && i < handout->secret_count && code == EXIT_PASS; i++) {
        if (strcmp(sum, handout->secret[i]) == 0)
            code = complain("%s is a copy of a file that students must not have.", below);
    }
    free(sum);
    return code;
}

/* ---- skeletons ----------------------------------------------------------------------------------------- */

/* The next student region from @p at on: its beginning, and its end after it; NULL if there is none. */
static const char *next_region(const char *at, const char **end)
{
    const char *begin = at != NULL ? strstr(at, "// [student: ") : NULL;
    *end = begin != NULL ? strstr(begin, "// [/student]") : NULL;
    return *end != NULL ? begin : NULL;
}

/* The first region that contains the solution's text: somebody has solved it where the skeleton should be. */
static int is_solved(const char *skeleton, const char *solution)
{
    const char *one_end, *other_end;
    const char *one = next_region(skeleton, &one_end), *other = next_region(solution, &other_end);
    while (one != NULL && other != NULL) {
        if (one_end - one == other_end - other && memcmp(one, other, (size_t)(one_end - one)) == 0) return 1;
        one = next_region(one_end, &one_end);
        other = next_region(other_end, &other_end);
    }
    return 0;
}

static int skeletons_are_empty(void)
{
    size_t count;
    const struct lesson_folder *lessons = course_lessons(&count);
    for (size_t i = 0; i < count; i++) {
        struct text skeleton = {0}, solution = {0};
        char *own = course_kernel_path(&lessons[i], 0), *solved = course_kernel_path(&lessons[i], 1);
        int there = read_file(own, &skeleton) == 0 && read_file(solved, &solution) == 0;
        int code = there && is_solved(skeleton.data, solution.data)
                       ? complain("%s holds a part of the solution; put the skeleton back first.",
                                  course_short_path(own))
                       : EXIT_PASS;
        text_free(&skeleton);
        text_free(&solution);
        free(own);
        free(solved);
        if (code != EXIT_PASS) return code;
    }
    return EXIT_PASS;
}

/* ---- copying ------------------------------------------------------------------------------------------- */

static int copy_to_handout(struct handout *handout, const char *path, const char *to)
{
    struct text content = {0};
    struct stat status;
    char *target = format_string("%s/%s", handout->to, to);
    char *folder = format_string("%.*s", (int)(strrchr(target, '/') - target), target);
    int error = read_file(path, &content);
    if (!error) error = make_folders(folder);
    if (!error) error = write_file(target, content.data, content.length);
    if (!error && stat(path, &status) == 0 && (status.st_mode & 0111) && chmod(target, 0755) != 0)
        error = errno;
    int code = error ? complain("%s cannot be copied to %s: %s.", path, target, strerror(error)) : EXIT_PASS;
    handout->files += code == EXIT_PASS;
    text_free(&content);
    free(folder);
    free(target);
    return code;
}

static int copy_part(struct handout *handout, const char *below, const char *path)
{
    for (const char *slash = strchr(below, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        char *folder = format_string("%.*s", (int)(slash - below), below);
        int stays = is_left_out(folder);
        free(folder);
        if (stays) return EXIT_PASS;
    }
    int stays = is_left_out(below) || (strncmp(below, "docs/", 5) == 0 && !is_page(below));
    return stays ? EXIT_PASS : copy_to_handout(handout, path, below);
}

static int copy_all(struct handout *handout)
{
    int code = EXIT_PASS;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && code == EXIT_PASS; i++) {
        char *path = format_string("%s/%s", course_source_dir(), parts[i].from);
        code = parts[i].to != NULL ? copy_to_handout(handout, path, parts[i].to)
                                   : walk(handout, course_source_dir(), parts[i].from, copy_part);
        free(path);
    }
    return code;
}

/* ---- debugging exercises --------------------------------------------------------------------------------- */

/* The lesson's exercises, by number alone: no mutant's name goes, and nothing of what it says. */
static int hand_out_exercises(struct handout *handout, const struct lesson_folder *lesson)
{
    size_t count;
    int code = EXIT_PASS;
    struct exercise *exercises = exercises_of(lesson, &count);
    char *folder = format_string("%s/tests/hunts/%s", handout->to, lesson->name);
    int error = count ? make_folders(folder) : 0;
    for (size_t i = 0; i < count && code == EXIT_PASS && !error; i++) {
        struct text content = {0};
        char *path = format_string("%s/%02d", folder, exercises[i].number);
        code = exercise_file(lesson, &exercises[i], &content);
        if (code == EXIT_PASS) error = write_file(path, content.data, content.length);
        handout->files++;
        text_free(&content);
        free(path);
    }
    if (error) code = complain("%s cannot be written: %s.", folder, strerror(error));
    free(folder);
    free(exercises);
    return code;
}

static int hand_out_hunts(struct handout *handout, const char *list)
{
    size_t count;
    const struct lesson_folder *lessons = course_lessons(&count);
    char *chosen = course_choose_lessons(list, "--hunts");
    int code = chosen != NULL ? EXIT_PASS : EXIT_TROUBLE;
    for (size_t i = 0; i < count && code == EXIT_PASS; i++)
        if (chosen[i]) code = hand_out_exercises(handout, &lessons[i]);
    free(chosen);
    return code;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static int is_empty_folder(const char *path)
{
    DIR *folder = opendir(path);
    int entries = 0;
    if (folder == NULL) return 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        entries += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return entries == 0;
}

static int run_handout(const struct command_line *line)
{
    struct handout handout = {.to = line->operand};
    if (handout.to == NULL) return complain("where to? For example: warpwise handout STUDENT_TREE");
    if (access(handout.to, F_OK) == 0 && !is_empty_folder(handout.to)) {
        return complain("%s is there already and is not empty.", handout.to);
    }
    if (skeletons_are_empty() != EXIT_PASS) return EXIT_TROUBLE;
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        char *path = format_string("%s/%s", course_source_dir(), secrets[i]);
        int there = is_folder(path);
        free(path);
        if (there && walk(&handout, course_source_dir(), secrets[i], note_secret) != EXIT_PASS)
            return EXIT_TROUBLE;
    }
    int code = copy_all(&handout);
    if (code == EXIT_PASS) code = hand_out_hunts(&handout, option_value(line, "--hunts"));
    if (code == EXIT_PASS) code = walk(&handout, handout.to, ".", hold_against_secrets);
    if (code != EXIT_PASS) return code;
    printf("%s holds the course without its solutions: %zu files\n", handout.to, handout.files);
    return EXIT_PASS;
}

static const struct option_description handout_options[] = {
    {"--hunts", "01,04-06",
     "with the debugging exercises of these lessons, each the finished kernel but for a mistake", 0},
    {0},
};

const struct command handout_command = {
    .name = "handout",
    .operand = "DIR",
    .summary = "write the students' tree: no solutions, no wrong kernels, no exploits",
    .details =
        "DIR must be new or empty. The tree in it is configured, built and checked like this one; commands\n"
        "that need a solution say so. Debugging exercises go with --hunts alone: whoever reads one has seen\n"
        "the lesson's kernel, so hand them out after its deadline.",
    .options = handout_options,
    .run = run_handout,
};
