/**
 * @file new_lesson.c
 * @brief warpwise new-lesson: adds a complete small lesson that passes, for its author to change.
 *
 * Its files are the templates in new_lesson/, a folder for each family. All of them are written in a temporary folder of the
 * tree first and moved into place when they are whole; if one cannot be moved, those before it go away again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/text.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "course/places.h"

enum { LONGEST_TOPIC = 40 };

/* Every file of a lesson: the template, and where it goes. A family may do without an optional one. */
static const struct {
    const char *from, *to, *what;
    int skeleton; /* of the two kernels that kernel.cu.in holds */
    int optional;
} parts[] = {
    {"page.md.in", "lessons/@lesson@/README.md", "the page", 0, 0},
    {"lesson.def.in", "lessons/@lesson@/lesson.def", "what it is: parts, entry points, devices", 0, 0},
    {"contract.h.in", "lessons/@lesson@/@topic@.h", "the contract", 0, 0},
    {"kernel.cu.in", "lessons/@lesson@/@topic@.cu", "the skeleton", 1, 0},
    {"kernel.cu.in", "solutions/@lesson@/@topic@.cu", "the solution", 0, 0},
    {"notes.md.in", "solutions/@lesson@/NOTES.md", "why it is fast, what was measured", 0, 0},
    {"items.h.in", "common/protocol/@topic@_items.h", "what an item says to the runner", 0, 1},
    {"checker.c.in", "common/checker/lessons/@lesson@.c", "cases, inputs, oracle, bounds", 0, 0},
    {"runner.c.in", "common/runner/lessons/@lesson@.c", "how the kernel is called", 0, 1},
    {"mutant.in", "tests/mutants/@lesson@/last_one_left_out.mutant", "a wrong kernel", 0, 0},
};
enum { PARTS = sizeof parts / sizeof parts[0] };

/* What is moved into place, folders as a whole. The folder with the description comes last: once it is
 * there, CMake knows the lesson. */
static const char *const places_of_lesson[] = {"solutions/@lesson@",
                                               "tests/mutants/@lesson@",
                                               "common/protocol/@topic@_items.h",
                                               "common/runner/lessons/@lesson@.c",
                                               "common/checker/lessons/@lesson@.c",
                                               "lessons/@lesson@"};
enum { PLACES = sizeof places_of_lesson / sizeof places_of_lesson[0] };

/* ---- templates ------------------------------------------------------------------------------------------ */

enum { WORDS = 6 };

/** The value of each @word@ of a template. */
struct new_lesson {
    const char *family, *name, *topic;
    const char *word[WORDS];
    char *value[WORDS];
};

/* The topic in capitals, for names of macros; or as a title: "My idea". */
static char *changed_topic(const char *topic, int title)
{
    char *copy = copy_string(topic);
    for (char *at = copy; *at; at++) {
        if (title && *at == '_') *at = ' ';
        if ((!title || at == copy) && *at >= 'a' && *at <= 'z') *at = (char)(*at - 'a' + 'A');
    }
    return copy;
}

static void name_lesson(struct new_lesson *lesson, const char *name)
{
    static const char *const words[WORDS] = {"@NN@", "@N@", "@lesson@", "@topic@", "@TOPIC@", "@Title@"};
    lesson->name = name;
    lesson->topic = name + 3;
    memcpy(lesson->word, words, sizeof words);
    lesson->value[0] = format_string("%.2s", name);
    lesson->value[1] = format_string("%d", atoi(lesson->value[0]));
    lesson->value[2] = copy_string(name);
    lesson->value[3] = copy_string(lesson->topic);
    lesson->value[4] = changed_topic(lesson->topic, 0);
    lesson->value[5] = changed_topic(lesson->topic, 1);
}

static void forget_lesson(struct new_lesson *lesson)
{
    for (int i = 0; i < WORDS; i++) free(lesson->value[i]);
}

/* @p from with every @word@ replaced. The caller frees it. */
static char *filled_in(const struct new_lesson *lesson, const char *from)
{
    struct text out = {0};
    text_append(&out, "", 0);
    while (*from) {
        size_t plain = strcspn(from, "@");
        text_append(&out, from, plain);
        from += plain;
        int word = 0;
        while (word < WORDS && strncmp(from, lesson->word[word], strlen(lesson->word[word])) != 0) word++;
        if (word < WORDS) {
            text_append(&out, lesson->value[word], strlen(lesson->value[word]));
            from += strlen(lesson->word[word]);
        } else if (*from) {
            text_append(&out, from++, 1);
        }
    }
    return out.data;
}

/* A kernel template holds both kernels: in a region first the solution's lines, then "// [skeleton]", then
 * the skeleton's. Outside of regions both files get the same lines. The target `skeletons` later makes
 * skeletons in the same way, and also writes the mark. */
static char *one_kernel(const char *both, int skeleton)
{
    static const char mark[] =
        "// Generated, but for what stands between [student: ...] and [/student]: that is yours.\n";
    struct text out = {0};
    int in_region = 0, in_skeleton = 0;
    if (skeleton) text_append(&out, mark, sizeof mark - 1);
    for (const char *line = both, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next) next++;
        const char *word = line + strspn(line, " ");
        if (strncmp(word, "// [skeleton]", 13) == 0) {
            in_skeleton = 1;
            continue;
        }
        if (strncmp(word, "// [/student]", 13) == 0) in_region = in_skeleton = 0;
        if (!in_region || in_skeleton == skeleton) text_append(&out, line, (size_t)(next - line));
        if (strncmp(word, "// [student: ", 13) == 0) in_region = 1;
    }
    return out.data;
}

/* ---- what is refused ------------------------------------------------------------------------------------ */

/* Two digits, then words of small letters and digits, each after an underscore, the first word beginning
 * with a letter. */
static int is_good_name(const char *name)
{
    if (strspn(name, "0123456789") != 2 || name[2] != '_' || strlen(name + 3) > LONGEST_TOPIC) return 0;
    if (name[3] < 'a' || name[3] > 'z') return 0;
    if (name[3 + strspn(name + 3, "abcdefghijklmnopqrstuvwxyz0123456789_")] != '\0') return 0;
    return strstr(name, "__") == NULL && name[strlen(name) - 1] != '_';
}

static int is_there(const char *below)
{
    char *path = in_source(below);
    struct stat status;
    int there = lstat(path, &status) == 0;
    free(path);
    return there;
}

/* The compiler would find another header of this name instead of the contract. */
static const char *header_like(const char *topic)
{
    static const char *const folders[] = {"common/contracts", "common/decode",       "common/protocol",
                                          "common/runner",    "common/simt/include", "common/simt",
                                          "reference"};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0] && found == NULL; i++) {
        char *below = format_string("%s/%s.h", folders[i], topic);
        if (is_there(below)) found = folders[i];
        free(below);
    }
    return found;
}

static int refuse_taken(const struct new_lesson *lesson)
{
    size_t count;
    const struct lesson_folder *lessons = course_lessons(&count);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(lessons[i].number, lesson->name, 2) == 0)
            return complain("there is a lesson %s already: lessons/%s.", lessons[i].number, lessons[i].name);
        if (strcmp(lessons[i].topic, lesson->topic) == 0)
            return complain("there is a lesson on %s already: lessons/%s.", lesson->topic, lessons[i].name);
    }
    for (int i = 0; i < PLACES; i++) {
        char *below = filled_in(lesson, places_of_lesson[i]);
        int code = is_there(below) ? complain("%s is there already; nothing was written.", below) : EXIT_PASS;
        free(below);
        if (code != EXIT_PASS) return code;
    }
    const char *folder = header_like(lesson->topic);
    if (folder == NULL) return EXIT_PASS;
    return complain("the contract would be %s.h, and %s has a header of that name; choose another topic.",
                    lesson->topic, folder);
}

static int refuse_family(const char *family)
{
    static const char *const families[] = {"attention", "gemm", "own", NULL};
    for (int i = 0; families[i] != NULL; i++)
        if (strcmp(family, families[i]) == 0) return EXIT_PASS;
    return complain("--like is attention, gemm or own, not \"%s\".", family);
}

static int refuse_tree(void)
{
    if (!is_there("solutions"))
        return complain("this tree has no solutions/, so it is a students' tree; lessons are written in the "
                        "whole course.");
    if (!is_there("common/companion/new_lesson"))
        return complain("common/companion/new_lesson with the templates is gone.");
    return EXIT_PASS;
}

/* ---- writing -------------------------------------------------------------------------------------------- */

/* Writes part @p index below @p folder, unless the family has no template for it. */
static int write_part(const struct new_lesson *lesson, const char *folder, int index)
{
    struct text content = {0};
    char *template = format_string("%s/common/companion/new_lesson/%s/%s", course_source_dir(),
                                   lesson->family, parts[index].from);
    char *below = filled_in(lesson, parts[index].to), *to = format_string("%s/%s", folder, below);
    char *parent = format_string("%.*s", (int)(strrchr(to, '/') - to), to);
    int error = read_file(template, &content), code = EXIT_PASS;
    if (error == ENOENT && parts[index].optional) {
        error = 0;
    } else if (error) {
        code = complain("%s cannot be read: %s.", course_short_path(template), strerror(error));
    } else {
        int is_kernel = strcmp(parts[index].from, "kernel.cu.in") == 0;
        char *one = is_kernel ? one_kernel(content.data, parts[index].skeleton) : NULL;
        char *text = filled_in(lesson, one != NULL ? one : content.data);
        error = make_folders(parent);
        if (!error) error = write_file(to, text, strlen(text));
        if (error) code = complain("%s cannot be written: %s.", to, strerror(error));
        free(text);
        free(one);
    }
    text_free(&content);
    free(parent);
    free(to);
    free(below);
    free(template);
    return code;
}

/* Moves place @p index from @p folder into the tree, or with 1 removes it again. */
static int move_place(const struct new_lesson *lesson, const char *folder, int index, int away)
{
    char *below = filled_in(lesson, places_of_lesson[index]);
    char *from = format_string("%s/%s", folder, below), *to = in_source(below);
    int code = EXIT_PASS;
    if (away) {
        remove_tree(to);
    } else if (access(from, F_OK) == 0) {
        char *parent = format_string("%.*s", (int)(strrchr(to, '/') - to), to);
        int error = make_folders(parent);
        if (!error && rename(from, to) != 0) error = errno;
        if (error)
            code =
                complain("%s cannot be put in place (%s), so nothing was written.", below, strerror(error));
        free(parent);
    }
    free(to);
    free(from);
    free(below);
    return code;
}

static int write_lesson(const struct new_lesson *lesson)
{
    char *folder = in_source(".new_lesson-XXXXXX");
    int code = EXIT_PASS, moved = 0;
    if (mkdtemp(folder) == NULL) {
        code = complain("nothing can be written in %s: %s.", course_source_dir(), strerror(errno));
        free(folder);
        return code;
    }
    for (int i = 0; i < PARTS && code == EXIT_PASS; i++) code = write_part(lesson, folder, i);
    while (moved < PLACES && code == EXIT_PASS) {
        code = move_place(lesson, folder, moved, 0);
        moved += code == EXIT_PASS;
    }
    while (code != EXIT_PASS && moved > 0) move_place(lesson, folder, --moved, 1);
    remove_tree(folder);
    free(folder);
    return code;
}

/* ---- what to do next ------------------------------------------------------------------------------------ */

static void print_written(const struct new_lesson *lesson)
{
    printf("lesson %s, made like %s:\n", lesson->name, lesson->family);
    for (int i = 0; i < PARTS; i++) {
        char *below = filled_in(lesson, parts[i].to);
        if (is_there(below)) printf("  %-*s  %s\n", 2 * LONGEST_TOPIC - 16, below, parts[i].what);
        free(below);
    }
    printf("\nit works as it is:\n"
           "  cmake --build build\n"
           "  build/bin/warpwise check %.2s               the skeleton: NOT_STARTED\n"
           "  build/bin/warpwise check %.2s --solution    PASS\n"
           "  ctest --test-dir build -R "
           "'%s|^docs.(site|links|two)|^(drift|format)|^unit.(promises|lesson_defs|rooms)' "
           "-LE 'student|grade|selftest'\n",
           lesson->name, lesson->name, lesson->name);
    printf("\nnow make it yours, in this order: the contract, the cases, the solution and the skeleton, "
           "mutants and\n"
           "variants, the page. What is left:\n"
           "  grep -rn 'FILL IN' lessons/%s solutions/%s common/checker/lessons/%s.c\n"
           "then its row in the map, and the line that leads to it:\n"
           "  cmake -DSOURCE=. -DFIX=ON -P tests/docs/next.cmake\n"
           "docs/adding_a_lesson.md tells more.\n",
           lesson->name, lesson->name, lesson->name);
}

static int run_new_lesson(const struct command_line *line)
{
    const char *like = option_value(line, "--like"), *name = line->operand;
    struct new_lesson lesson = {.family = like != NULL ? like : "attention"};
    if (name == NULL) return complain("which lesson? For example: %s new-lesson 42_my_topic", program_name());
    if (!is_good_name(name))
        return complain("\"%s\" names no lesson: two digits, an underscore, and a topic of small letters, "
                        "digits and single "
                        "underscores, at most %d of them, as in 42_my_topic.",
                        name, LONGEST_TOPIC);
    int code = refuse_family(lesson.family);
    if (code == EXIT_PASS) code = refuse_tree();
    if (code != EXIT_PASS) return code;
    name_lesson(&lesson, name);
    code = refuse_taken(&lesson);
    if (code == EXIT_PASS) code = write_lesson(&lesson);
    if (code == EXIT_PASS) print_written(&lesson);
    forget_lesson(&lesson);
    return code;
}

static const struct option_description new_lesson_options[] = {
    {"--like", "attention|gemm|own", "what it is made like; without it attention", 0}, {0}};

const struct command new_lesson_command = {
    .name = "new-lesson",
    .operand = "NN_topic",
    .summary = "for people who write lessons: a whole small one, to be changed into yours",
    .details = "Writes the page, the contract, the skeleton, a right solution, the cases, the call and a "
               "first mutant\n"
               "into the course's tree; after the next build the lesson passes all its checks.\n"
               "  attention, gemm  cases, inputs, oracle and bounds are those that all such lessons share\n"
               "  own              all of them are written out, for an element-wise sum\n"
               "docs/adding_a_lesson.md says what to do with it. Exit 0, or 2 if nothing was written.",
    .options = new_lesson_options,
    .run = run_new_lesson,
};
