/**
 * @file editor.c
 * @brief warpwise editor vscode: tasks, a debugger and clangd for the course's tree, in files that are the student's afterwards.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "course/places.h"

/* A file as it is to be: a template, with the build folder's path in the place of @BUILD@. */
static int read_template(const char *name, struct text *content)
{
    static const char mark[] = "@BUILD@";
    struct text template = {0};
    char *path = in_source(format_string("common/companion/editor/%s", name));
    int error = read_file(path, &template);
    if (error) return complain("%s cannot be read: %s.", path, strerror(error));
    const char *at = template.data;
    for (const char *found; (found = strstr(at, mark)) != NULL; at = found + strlen(mark)) {
        text_append(content, at, (size_t)(found - at));
        text_print(content, "%s", course_binary_dir());
    }
    text_print(content, "%s", at);
    text_free(&template);
    free(path);
    return EXIT_PASS;
}

/* How clangd is to read kernel files; everything else is in compile_commands.json. */
static int write_clangd(const char *name, struct text *content)
{
    size_t count;
    const struct lesson_folder *lessons = course_lessons(&count);
    (void)name;
    text_print(content, "If:\n  PathMatch: .*\\.cuh?\nCompileFlags:\n  CompilationDatabase: None\n  "
                        "Compiler: clang++\n  Add:\n");
    const char *const words[] = {"-xcuda",
                                 "--cuda-host-only",
                                 "-nocudainc",
                                 "-nocudalib",
                                 "-std=c++17",
                                 "-mf16c",
                                 "-mfma",
                                 "-D__SIMT__=1",
                                 "-D__CUDACC__=1",
                                 "-D__CUDA_ARCH__=900",
                                 "-D__CUDA_ARCH_FEAT_SM90_ALL",
                                 "-Wno-everything",
                                 "-ferror-limit=0",
                                 NULL};
    for (const char *const *word = words; *word != NULL; word++) text_print(content, "    - %s\n", *word);
    text_print(content, "    - -isystem%s\n", in_source("common/simt/include"));
    text_print(content, "    - -include%s\n", in_source("common/simt/include/simt/editor.h"));
    for (size_t i = 0; i < count; i++)
        text_print(content, "    - -I%s\n", in_source(format_string("lessons/%s", lessons[i].name)));
    text_print(content, "    - -I%s\n    - -I%s\n", in_source("common/contracts"),
               in_source("common/decode"));
    text_print(content, "---\nIf:\n  PathExclude: .*\\.cuh?\nCompileFlags:\n  CompilationDatabase: %s\n",
               course_binary_dir());
    return EXIT_PASS;
}

static const struct editor_file {
    const char *name, *path;
    int (*make)(const char *name, struct text *content);
} files[] = {
    {"launch.json", ".vscode/launch.json", read_template},
    {"tasks.json", ".vscode/tasks.json", read_template},
    {"clangd", ".clangd", write_clangd},
};

/* Writes it where there is none; a file that differs stays. */
static int put_file(const struct editor_file *file, const struct text *content)
{
    struct text old = {0};
    char *path = in_source(file->path);
    const int there = read_file(path, &old) == 0;
    const int same =
        there && old.length == content->length && memcmp(old.data, content->data, old.length) == 0;
    text_free(&old);
    if (there) {
        printf("  %-22s %s\n", file->path,
               same ? "is there already"
                    : "is there and differs: kept as it is; warpwise editor vscode --print shows the other");
        return same ? EXIT_PASS : EXIT_TROUBLE;
    }
    char *folder = format_string("%.*s", (int)(strrchr(path, '/') - path), path);
    int error = make_folders(folder);
    if (!error) error = write_file(path, content->data, content->length);
    if (error) return complain("%s cannot be written: %s.", path, strerror(error));
    printf("  %-22s written\n", file->path);
    free(folder);
    free(path);
    return EXIT_PASS;
}

static int run_editor(const struct command_line *line)
{
    int code = EXIT_PASS;
    if (line->operand == NULL || strcmp(line->operand, "vscode") != 0)
        return complain("for which editor? Known is vscode: %s editor vscode", program_name());
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct text content = {0};
        int status = files[i].make(files[i].name, &content);
        if (status == EXIT_PASS && option_value(line, "--print") != NULL)
            printf("%s:\n%s\n", files[i].path, content.data);
        else if (status == EXIT_PASS)
            status = put_file(&files[i], &content);
        if (status != EXIT_PASS) code = status;
        text_free(&content);
    }
    char *commands = format_string("%s/compile_commands.json", course_binary_dir());
    if (access(commands, R_OK) != 0)
        printf("clangd knows the .c files by %s, which is not there: cmake --preset student writes it\n",
               commands);
    free(commands);
    return code;
}

static const struct option_description editor_options[] = {
    {"--print", NULL, "write nothing, print what would be written", 0},
    {0},
};

const struct command editor_command = {
    .name = "editor",
    .operand = "vscode",
    .summary = "sets up VS Code for this tree: check at a key, errors in the source, a debugger, clangd",
    .details = "Writes .vscode/tasks.json, .vscode/launch.json and .clangd. A file that is there and differs "
               "is kept.\n"
               "Exit 0 if all three are there as they should be, else 2. The extensions: docs/debug.md.",
    .options = editor_options,
    .run = run_editor,
};
