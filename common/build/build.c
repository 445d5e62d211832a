/**
 * @file build.c
 * @brief From a kernel file to a runner, once for each content.
 *
 * A runner is kept as build/kernels/<sum>/runner, where <sum> covers everything that went into it: the kernel
 * file, the headers it may include, the libraries, the compiler and its flags. It is built in a folder of its
 * own and renamed into place when it is whole, so that tests running side by side neither wait for each other
 * nor see half a file.
 */
#include "build.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/leftovers.h"
#include "base/process.h"
#include "base/sha256.h"
#include "base/terminal.h"
#include "base/text.h"
#include "build_checks.h"
#include "build_recipe.h"
#include "course/course.h"
#include "course/described.h"
#include "course/device.h"
#include "course/places.h"
#include "source_check.h"

enum { BUILD_SECONDS = 300, MOST_ERROR_LINES = 12, KEEP_DAYS = 14, MOST_TRIES = 3 };

/* ---- what a build depends on -------------------------------------------------------------------------- */

static void add_words(struct sha256 *hash, const struct argument_list *list)
{
    for (size_t i = 0; i < list->count; i++) sha256_add(hash, list->items[i], strlen(list->items[i]) + 1);
}

static void add_content(struct sha256 *hash, const char *path)
{
    struct text content = {0};
    int error = read_file(path, &content);
    sha256_add(hash, path, strlen(path) + 1);
    sha256_add(hash, &error, sizeof error);
    sha256_add(hash, &content.length, sizeof content.length);
    sha256_add(hash, content.data, content.length);
    text_free(&content);
}

/* Libraries and compilers are large: their time and size stand for their contents. */
static void add_stamp(struct sha256 *hash, const char *path)
{
    struct stat status;
    sha256_add(hash, path, strlen(path) + 1);
    if (stat(path, &status) != 0) return;
    long long stamp[3] = {(long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                          (long long)status.st_size};
    sha256_add(hash, stamp, sizeof stamp);
}

static void add_files(struct sha256 *hash, const char *folder, const char *pattern,
                      void (*add)(struct sha256 *, const char *))
{
    glob_t found;
    char *path = format_string("%s/%s", folder, pattern);
    if (glob(path, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) add(hash, found.gl_pathv[i]);
        globfree(&found);
    }
    free(path);
}

/* ---- the two compilers -------------------------------------------------------------------------------- */

/* Machine code for the GPU of this machine; PTX of the newest architecture we know for a GPU newer than that. */
static char *code_for_this_gpu(void)
{
    int arch = device_probe(DEVICE_GPU)->arch, newest = 0, known = 0;
    const char *suffix = architecture_suffix(arch);
    const char *list = places.cuda_architectures;
    for (char *word; (word = next_word(&list, ';')) != NULL; free(word)) {
        int value = atoi(word);
        if (value > newest) newest = value;
        known = known || value == arch;
    }
    if (known || newest == 0)
        return format_string("-gencode=arch=compute_%d%s,code=sm_%d%s", arch, suffix, arch, suffix);
    if (arch > newest) return format_string("-gencode=arch=compute_%d,code=compute_%d", newest, newest);
    return format_string("-arch=native");
}

static void add_compiler_arguments(struct recipe *recipe, enum build_level level)
{
    struct argument_list *list = &recipe->compile;
    /* for tests, which build many kernels once each: -Og */
    const char *flag = getenv("WARPWISE_SIMT_OPTIMISE");
    if (flag == NULL && level == BUILD_QUICK) flag = "-Og";
    if (flag == NULL && level == BUILD_JUDGED) flag = "-O3";
    if (level == BUILD_DEBUG) flag = "-Og";
    argument_add(list, recipe->compiler);
    if (recipe->device == DEVICE_SIMT && flag != NULL && strncmp(flag, "-O", 2) == 0)
        argument_add(list, flag);
    if (recipe->device == DEVICE_SIMT && level == BUILD_DEBUG) argument_add_words(list, "-g -fno-inline");
    if (recipe->device == DEVICE_GPU) {
        /* likewise for tests: flags of nvcc instead of these */
        const char *less = getenv("WARPWISE_GPU_OPTIMISE");
        argument_add_words(list, "-std=c++17 -cudart static -no-compress"); /* object_cubin.c reads it */
        argument_add_words(list, level == BUILD_DEBUG    ? "-G -g"
                                 : less != NULL && *less ? less
                                                         : "-O3 -lineinfo");
        if (level == BUILD_QUICK) argument_add_words(list, places.nvcc_quick);
        argument_add(list, code_for_this_gpu());
        if (*places.cuda_host) {
            argument_add(list, "-ccbin");
            argument_add(list, places.cuda_host);
        }
        if (*places.nccl_headers) {
            argument_add(list, "-isystem");
            argument_add(list, places.nccl_headers);
        }
    }
    argument_add(list, "-I");
    argument_add(list, format_string("%s/lessons/%s", places.source_dir, recipe->lesson->name));
    argument_add(list, "-I");
    argument_add(list, in_source("common/contracts"));
    argument_add(list, "-I");
    argument_add(list, in_source("common/decode"));
    argument_add(&recipe->link, recipe->library);
    argument_add_words(&recipe->link,
                       recipe->device == DEVICE_GPU ? places.gpu_link_flags : places.simt_link_flags);
}

void recipe_name(const struct recipe *recipe, const char *way, char digits[65])
{
    struct sha256 hash;
    char *slash = strrchr(recipe->kernel, '/');
    char *beside = format_string("%.*s", (int)(slash - recipe->kernel), recipe->kernel);
    char *contract = format_string("%s/lessons/%s", places.source_dir, recipe->lesson->name);
    sha256_begin(&hash);
    sha256_add(&hash, way, strlen(way) + 1);
    add_words(&hash, &recipe->compile);
    add_words(&hash, &recipe->link);
    add_content(&hash, recipe->kernel);
    add_files(&hash, beside, "*.h", add_content);
    add_files(&hash, beside, "*.cuh", add_content);
    add_files(&hash, contract, "*.h", add_content);
    add_files(&hash, in_source("common/contracts"), "*.h", add_content);
    add_files(&hash, in_source("common/decode"), "*.h", add_content);
    add_stamp(&hash, recipe->compiler);
    add_stamp(&hash, recipe->library);
    if (recipe->device == DEVICE_SIMT) { /* of graded runners */
        char *boundary = format_string("%s/lib/libboundary_%s.a", places.binary_dir, recipe->lesson->name);
        add_stamp(&hash, boundary);
        free(boundary);
    }
    if (recipe->device == DEVICE_SIMT) {
        add_stamp(&hash, places.cxx);
        add_stamp(&hash, in_build("lib/libsimt.a"));
        add_files(&hash, in_source("common/simt/include"), "*.h", add_stamp);
        add_files(&hash, in_source("common/simt/include/simt"), "*.h", add_stamp);
    }
    sha256_end(&hash, digits);
    free(contract);
    free(beside);
}

/* Complains and returns EXIT_TROUBLE if something that the build needs is not there. */
static int find_tools(struct recipe *recipe)
{
    const char *simtcc = in_build("bin/simtcc");
    int gpu = recipe->device == DEVICE_GPU;
    const char *compiler = gpu ? places.nvcc : places.cxx;
    char *found = find_program(compiler);
    if (found == NULL) {
        return complain("the %s compiler (%s) that this build was configured with is missing. Install it, or "
                        "configure anew: cmake -S %s -B %s --fresh",
                        gpu ? "CUDA" : "C++", *compiler ? compiler : "none", places.source_dir,
                        places.binary_dir);
    }
    recipe->compiler = gpu ? found : find_program(simtcc);
    recipe->library = format_string("%s/lib/librunner_%s_%s.a", places.binary_dir, recipe->lesson->name,
                                    device_name(recipe->device));
    const char *missing = recipe->compiler == NULL             ? simtcc
                          : access(recipe->library, R_OK) != 0 ? recipe->library
                                                               : NULL;
    if (missing == NULL) return EXIT_PASS;
    return complain("%s is missing: run cmake --build %s%s", missing, places.binary_dir,
                    gpu ? " --target gpu" : "");
}

/* ---- what went wrong ---------------------------------------------------------------------------------- */

/* Compilers report a full disk in different words; to write a file of the size of a runner is a test of
 * its own. */
int build_disk_is_full(const char *folder)
{
    static char megabyte[1 << 20];
    char *path = format_string("%s/space", folder);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), error = file < 0 ? errno : 0;
    memset(megabyte, 1, sizeof megabyte); /* blocks of zeros may cost nothing on some file systems */
    for (int i = 0; i < 16 && !error; i++) {
        errno = 0;
        if (write(file, megabyte, sizeof megabyte) != (ssize_t)sizeof megabyte)
            error = errno ? errno : ENOSPC;
    }
    if (file >= 0) close(file);
    unlink(path);
    free(path);
    return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

static int is_error_line(const char *line)
{
    return strstr(line, "error:") != NULL || strstr(line, ": error") != NULL ||
           strstr(line, "undefined reference") != NULL || strstr(line, "multiple definition") != NULL ||
           strstr(line, "ptxas fatal") != NULL || strstr(line, "ptxas error") != NULL;
}

static void add_error_line(struct text *errors, char *line, const char *prefix)
{
    char *place = strstr(line, prefix);
    if (place != NULL) memmove(place, place + strlen(prefix), strlen(place + strlen(prefix)) + 1);
    text_print(errors, "  %s\n", line);
}

/* Keeps the first messages, and strips the source folder's name where what remains is a valid path. Where an error lies in a given
 * header's template, the line of the kernel file that asks for it comes first. */
void build_pick_errors(const char *log, struct text *errors)
{
    int lines = 0, following = 0;
    char here[4096], *asked = NULL;
    char *prefix = format_string("%s/", getcwd(here, sizeof here) != NULL ? here : "//");
    for (char *line; lines < MOST_ERROR_LINES && (line = next_word(&log, '\n')) != NULL; free(line)) {
        int is_error = is_error_line(line);
        if (asked == NULL && strstr(line, ".cu:") != NULL && strstr(line, "required from") != NULL)
            asked = copy_string(line);
        if (is_error && asked != NULL && strstr(line, ".cu:") == NULL) {
            add_error_line(errors, asked, prefix);
            lines++;
        }
        if (is_error) free(asked), asked = NULL;
        /* g++ shows the source line and a mark below it */
        following = is_error ? 3 : following - 1;
        if (following <= 0) continue;
        add_error_line(errors, line, prefix);
        lines++;
    }
    free(asked);
    free(prefix);
}

/* 1 unless the messages are about the compiler itself: no assembler, killed for its memory, a missing
 * header. */
static int is_about_kernel(const char *log, const char *kernel)
{
    return strstr(log, strrchr(kernel, '/') + 1) != NULL || strstr(log, "undefined reference") != NULL ||
           strstr(log, "multiple definition") != NULL || strstr(log, "ptxas") != NULL;
}

/* Says what stopped the compiler: the kernel file (then this complains about nothing), or this machine. */
static enum build_state explain_failure(const struct recipe *recipe, const char *folder,
                                        const struct process_end *end, struct build *build)
{
    const char *log = end->output.data;
    if (process_interrupted() || end->given_up) return BUILD_IMPOSSIBLE;
    if (end->start_error) {
        complain("%s cannot be started: %s.", recipe->compiler, strerror(end->start_error));
    } else if (build_disk_is_full(folder)) {
        complain("the disk is full: no room to build in %s. Free some space and try again.",
                 places.binary_dir);
    } else if (end->signal && !end->timed_out) {
        complain("the compiler was ended by signal %d (%s); is there enough memory?", end->signal,
                 strsignal(end->signal));
    } else if (!end->timed_out && !is_about_kernel(log, recipe->kernel)) {
        complain("the compiler does not work here: %.*s. See: warpwise doctor", (int)strcspn(log, "\n"), log);
    } else {
        if (end->timed_out) text_print(&build->errors, "  the compiler took more than %d s\n", BUILD_SECONDS);
        build_pick_errors(log, &build->errors);
        if (!build->errors.length) text_print(&build->errors, "%.2000s", log);
        return BUILD_BROKEN;
    }
    return BUILD_IMPOSSIBLE;
}

/* ---- building ----------------------------------------------------------------------------------------- */

/* Runs the compiler in @p folder, where its temporary files go too: whatever happens, one removal cleans
 * up. 1 if it wrote @p made. */
static int run_compiler(const struct recipe *recipe, const char *folder, const char *const *words,
                        const char *made, struct process_end *end)
{
    struct argument_list arguments = {0};
    char *temporary = format_string("TMPDIR=%s", folder), *compiler = format_string("CXX=%s", places.cxx);
    const char *environment[] = {temporary, compiler, NULL};
    for (size_t i = 0; i < recipe->compile.count; i++) argument_add(&arguments, recipe->compile.items[i]);
    for (; *words != NULL; words++) argument_add(&arguments, *words);
    argument_add(&arguments, "-o");
    argument_add(&arguments, made);
    struct process process = {
        .arguments = arguments.items, .environment = environment, .seconds = BUILD_SECONDS};
    process_run(&process, end);
    free(compiler);
    free(temporary);
    free(arguments.items);
    return end->exit_code == 0 && access(made, F_OK) == 0;
}

/* What grading would say about a student's own file; it is kept beside the runner. */
static char *note_of_refusal(const char *folder)
{
    return format_string("%s/refused", folder);
}

/* The sentence if a macro of the file has changed a header in the preprocessor's output @p text, else NULL. */
static char *would_refuse_macro(const struct recipe *recipe, const char *folder, const char *source,
                                const char *text)
{
    struct process_end end;
    struct text headers = {0};
    char *includes = source_includes_alone(source), *sentence = NULL;
    char *file = format_string("%s/headers.cu", folder), *made = format_string("%s/headers.ii", folder);
    const char *const words[] = {"-E", file, NULL};
    if (includes != NULL && write_file(file, includes, strlen(includes)) == 0 &&
        run_compiler(recipe, folder, words, made, &end) && read_file(made, &headers) == 0)
        sentence = checks_headers(recipe, text, headers.data, file);
    text_free(&headers);
    free(made);
    free(file);
    free(includes);
    return sentence;
}

static char *would_refuse_lines(const struct recipe *recipe, const char *folder, const char *source)
{
    struct process_end end;
    struct text list = {0}, text = {0};
    char *files = format_string("%s/files", folder), *made = format_string("%s/kernel.ii", folder);
    const char *const words[] = {"-MD", "-MF", files, "-E", recipe->kernel, NULL};
    char *sentence = checks_text(recipe, source);
    int opened =
        sentence == NULL && recipe->device == DEVICE_SIMT && run_compiler(recipe, folder, words, made, &end);
    if (opened && read_file(files, &list) == 0) sentence = checks_dependencies(recipe, list.data, folder);
    if (opened && sentence == NULL && read_file(made, &text) == 0)
        sentence = checks_preprocessed(recipe, text.data);
    if (text.data != NULL && sentence == NULL)
        sentence = would_refuse_macro(recipe, folder, source, text.data);
    text_free(&list);
    text_free(&text);
    free(files);
    free(made);
    return sentence;
}

/* The checks of a submission, applied to a student's own file. A file that is no object file (if the
 * compiler is a script) is skipped. */
static void foretell_refusal(const struct recipe *recipe, const char *folder, const char *object)
{
    struct text source = {0}, magic = {0};
    if (read_file(recipe->kernel, &source) != 0) return;
    char *sentence = would_refuse_lines(recipe, folder, source.data), *note = note_of_refusal(folder);
    int is_object =
        read_file(object, &magic) == 0 && magic.length > 4 && memcmp(magic.data, "\177ELF", 4) == 0;
    if (sentence == NULL && is_object) sentence = checks_object(recipe, source.data, object, 1);
    if (sentence != NULL) write_file(note, sentence, strlen(sentence));
    text_free(&source);
    text_free(&magic);
    free(sentence);
    free(note);
}

/* A student's own file; and the solution, which must be as good as that to a grader. */
static int may_be_handed_in(const struct recipe *recipe)
{
    int same = 0;
    for (int solution = 0; solution <= 1 && !same; solution++) {
        char *own = course_kernel_path(recipe->lesson, solution), *path = realpath(own, NULL);
        same = path != NULL && strcmp(path, recipe->kernel) == 0;
        free(own);
        free(path);
    }
    return same;
}

static enum build_state compile(const struct recipe *recipe, const char *folder, struct build *build)
{
    struct argument_list link = {0};
    struct process_end end;
    char *object = format_string("%s/kernel.o", folder), *program = format_string("%s/runner", folder);
    const char *const words[] = {"-c", recipe->kernel, NULL};
    argument_add(&link, object);
    for (size_t i = 0; i < recipe->link.count; i++) argument_add(&link, recipe->link.items[i]);
    int made = run_compiler(recipe, folder, words, object, &end);
    if (made && may_be_handed_in(recipe)) foretell_refusal(recipe, folder, object);
    made = made && run_compiler(recipe, folder, link.items, program, &end);
    char *runner = made ? find_program(program) : NULL;
    build->log = end.output;
    enum build_state state = runner != NULL ? BUILD_READY : explain_failure(recipe, folder, &end, build);
    unlink(object);
    free(runner);
    free(program);
    free(object);
    free(link.items);
    return state;
}

/* Removes old builds that nobody has used for a while, and unfinished ones that nobody works on any more. */
void build_remove_old(const char *kernels)
{
    glob_t found;
    struct stat status;
    char *pattern = format_string("%s/*", kernels);
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            int old = stat(found.gl_pathv[i], &status) == 0 &&
                      difftime(time(NULL), status.st_mtime) > KEEP_DAYS * 86400.0;
            if (old) remove_tree(found.gl_pathv[i]);
        }
        globfree(&found);
    }
    free(pattern);
    leftovers_remove(kernels, "", "#");
}

/* Builds what @p digits stands for into @p place. Returns 1 if a file was saved meanwhile: what was built then is
 * not what the name says, and is thrown away. */
static int build_anew(const struct recipe *recipe, const char *digits, const char *place, struct build *build)
{
    char now[65], *folder = format_string("%s.%ld", place, (long)getpid());
    int error = make_folders(folder), held = leftovers_hold(folder);
    build->state = BUILD_IMPOSSIBLE;
    if (error)
        complain("%s cannot be created: %s.", folder, strerror(error));
    else
        build->state = compile(recipe, folder, build);
    recipe_name(recipe, "trusted, checked", now);
    int changed = !error && !process_interrupted() && strcmp(now, digits) != 0;
    /* Another test may have finished the same build first: then ours is dropped, theirs is as good. */
    if (build->state == BUILD_READY && !changed && rename(folder, place) != 0 && errno != EEXIST &&
        errno != ENOTEMPTY) {
        complain("%s cannot be created: %s.", place, strerror(errno));
        build->state = BUILD_IMPOSSIBLE;
    }
    remove_tree(folder);
    if (held >= 0) close(held);
    free(folder);
    return changed;
}

int recipe_prepare(const struct lesson_folder *lesson, const char *kernel, enum device device,
                   enum build_level level, struct recipe *recipe)
{
    *recipe = (struct recipe){.lesson = lesson, .device = device, .kernel = realpath(kernel, NULL)};
    if (recipe->kernel == NULL) return complain("%s cannot be found: %s.", kernel, strerror(errno));
    if (find_tools(recipe) != EXIT_PASS) return EXIT_TROUBLE;
    add_compiler_arguments(recipe, level);
    return EXIT_PASS;
}

void recipe_watch_copies(struct recipe *recipe)
{
    if (recipe->device == DEVICE_SIMT) argument_add(&recipe->compile, "--strict");
}

/* Finds the build of the files as they are now, or makes it. Returns 1 if it was made in vain, see
 * build_anew(). */
static int find_or_build(const struct recipe *recipe, struct build *build)
{
    char digits[65];
    recipe_name(recipe, "trusted, checked", digits);
    char *place = format_string("%s/kernels/%.32s", places.binary_dir, digits);
    int in_vain = 0;
    *build = (struct build){.state = BUILD_READY, .runner = format_string("%s/runner", place)};
    build->cached = access(build->runner, X_OK) == 0;
    if (build->cached)
        utimensat(AT_FDCWD, place, NULL, 0); /* used today: keep it */
    else
        in_vain = build_anew(recipe, digits, place, build);
    struct text refused = {0};
    char *note = note_of_refusal(place);
    if (build->state == BUILD_READY && read_file(note, &refused) == 0)
        build->sentence = copy_string(refused.data);
    text_free(&refused);
    free(note);
    free(place);
    return in_vain;
}

void build_runner(const struct lesson_folder *lesson, const char *kernel, enum device device,
                  enum build_level level, struct build *build)
{
    struct recipe recipe;
    *build = (struct build){.state = BUILD_IMPOSSIBLE};
    if (recipe_prepare(lesson, kernel, device, level, &recipe) != EXIT_PASS) return;
    if (may_be_handed_in(&recipe)) recipe_watch_copies(&recipe);
    build_remove_old(in_build("kernels"));
    for (int tries = 1; find_or_build(&recipe, build); tries++) {
        if (tries == MOST_TRIES) {
            complain("%s, or a header, is saved again and again while it is built.", kernel);
            build->state = BUILD_IMPOSSIBLE;
            return;
        }
        free(build->runner);
        text_free(&build->errors);
        text_free(&build->log);
    }
}

int build_kernel_file_usable(const char *path)
{
    struct text content = {0};
    size_t length = strlen(path);
    if (is_folder(path)) {
        return complain("%s is a folder; --kernel takes one kernel file that ends in .cu.", path);
    }
    int error = read_file(path, &content);
    int blank = !error && strspn(content.data, " \t\r\n") == content.length;
    text_free(&content);
    if (error) return complain("the kernel file %s cannot be read: %s.", path, strerror(error));
    if (blank) return complain("the kernel file %s is empty.", path);
    if (length < 4 || strcmp(path + length - 3, ".cu") != 0) {
        return complain("%s is not a kernel file: its name does not end in .cu.", path);
    }
    return EXIT_PASS;
}
