/**
 * @file build_untrusted.c
 * @brief From an untrusted kernel file to a runner. Every program that reads it runs in the sandbox, and a
 *        check comes between any two of them:
 *
 *     simt   text ✓ ─▶ simtcc -E ─▶ files ✓ kernel.ii ✓ ─▶ simtcc -c ─▶ kernel.o ✓ (✓ its instructions) ─▶ gated.o ─▶ simtcc ─▶ runner
 *     gpu    text ✓ ─▶ nvcc -c ─▶ files ✓ kernel.o ✓ (✓ its instructions, if it has assembly) ─▶ nvcc ─▶ runner
 *
 * What was checked is what is built: on simt the compiler is given kernel.ii itself. The programs may write
 * in one folder, work/; what they leave there is read without following links, and removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "assembly_reports.h"
#include "base/leftovers.h"
#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "boundary/calls.h"
#include "build.h"
#include "build_checks.h"
#include "build_messages.h"
#include "build_recipe.h"
#include "course/course.h"
#include "course/device.h"
#include "course/places.h"
#include "object_file.h"
#include "object_gates.h"
#include "sandbox/sandbox.h"
#include "source_check.h"

#if defined(__x86_64__)
enum { SIMT_CODE_IS_READ = 1 };
#else
enum { SIMT_CODE_IS_READ = 0 }; /* machine_code.c knows x86-64 alone */
#endif
enum { SIMT_SECONDS = 90, GPU_SECONDS = 300, MOST_TEXT = 64 << 20, COPY_BYTES = 1 << 16 };

/** @brief A build under way. */
struct work {
    const struct recipe *recipe;
    struct build *build;
    char *folder, *inside; /* our folder; in it, work/ belongs to the programs */
    const char *name;      /* name of the kernel file in sentences */
    struct text source;
    struct argument_list readable;
    double began;
};

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double limit_seconds;

void build_untrusted_limit(double seconds)
{
    limit_seconds = seconds;
}

static double most_seconds;

void build_untrusted_at_most(double seconds)
{
    most_seconds = seconds;
}

static double seconds_allowed(const struct work *work)
{
    double usual = work->recipe->device == DEVICE_GPU ? GPU_SECONDS : SIMT_SECONDS;
    if (limit_seconds > 0) return limit_seconds;
    return most_seconds > 0 && most_seconds < usual ? most_seconds : usual;
}

/* ---- programs ------------------------------------------------------------------------------------------ */

static const char *const *environment_of(const struct work *work)
{
    struct argument_list list = {0};
    for (const char *const *entry = sandbox_environment(SANDBOX_ISOLATED); *entry != NULL; entry++) {
        if (strncmp(*entry, "HOME=", 5) != 0) argument_add(&list, *entry);
    }
    argument_add(&list, format_string("HOME=%s", work->inside));
    argument_add(&list, format_string("TMPDIR=%s", work->inside));
    argument_add(&list, format_string("CXX=%s", places.cxx));
    return list.items;
}

/* Compilers have their own words for a part of them that a limit has stopped. */
static const char *exhausted_limit(const char *log)
{
    static const char *const signs[][2] = {
        {"CPU time limit exceeded", "time"},    {"File size limit exceeded", "room for its output"},
        {"virtual memory exhausted", "memory"}, {"out of memory", "memory"},
        {"Cannot allocate memory", "memory"},   {"Killed signal", "time or memory"}};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (strstr(log, signs[i][0]) != NULL) return signs[i][1];
    }
    return NULL;
}

/* Compilers crash, over 60,000 parentheses for example. If one does so every time, the file is at fault,
 * not this machine. */
static int is_crash(const struct sandboxed *child)
{
    static const char *const signs[] = {"internal compiler error", "signal terminated program", "dumped core",
                                        "PLEASE submit a bug report"};
    int crashed = child->signal == SIGSEGV || child->signal == SIGBUS || child->signal == SIGABRT ||
                  child->signal == SIGILL || child->signal == SIGFPE;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        crashed = crashed || strstr(child->text, signs[i]) != NULL;
    return crashed && exhausted_limit(child->text) == NULL;
}

static int late(struct work *work, const char *of)
{
    work->build->state = BUILD_LATE;
    work->build->sentence =
        format_string("the compiler took more %s over %s than it is given", of, work->name);
    return 0;
}

/* The compiler failed: the fault is the file's, or this machine's, in which case this complains. */
static int explain(struct work *work, enum sandbox_end end, const struct sandboxed *child)
{
    struct build *build = work->build;
    const char *limit = exhausted_limit(child->text);
    build->state = BUILD_IMPOSSIBLE;
    if (process_interrupted()) return 0;
    if (end == SANDBOX_NOT_STARTED) return complain("no process can be started: %s.", strerror(errno)), 0;
    if (end == SANDBOX_LATE) return late(work, "time");
    if (end == SANDBOX_GREEDY) return late(work, "memory");
    if (limit != NULL) return late(work, limit);
    if (build_disk_is_full(work->folder))
        return complain("the disk is full: no room to build in %s.", places.binary_dir), 0;
    if (is_crash(child)) { /* the second time: see run() */
        build->state = BUILD_BROKEN;
        build->sentence = copy_string("the compiler crashes over it, each time it is tried");
        text_print(&build->errors, "  %.*s\n", (int)strcspn(child->text, "\n"), child->text);
        return 0;
    }
    int about_file = strstr(child->text, work->name) != NULL || strstr(child->text, "kernel.") != NULL ||
                     strstr(child->text, "undefined reference") != NULL;
    if (!about_file || strncmp(child->text, "bwrap: ", 7) == 0 || child->exit_code == SANDBOX_EXEC_FAILED)
        return complain("the compiler does not work in the sandbox: %.*s", (int)strcspn(child->text, "\n"),
                        child->text),
               0;
    build->state = BUILD_BROKEN;
    build_pick_errors(child->text, &build->errors);
    if (!build->errors.length) text_print(&build->errors, "%.2000s", child->text);
    return 0;
}

static void cut_out(char *text, const char *where, size_t length)
{
    for (char *at = text; (at = strstr(at, where)) != NULL;)
        memmove(at, at + length, strlen(at + length) + 1);
}

/* Only this program knows the folder of the file: so messages to the student name the file alone, and
 * functions as the contract does. */
static void shorten_names(const struct work *work, char *text)
{
    cut_out(text, work->recipe->kernel, (size_t)(work->name - work->recipe->kernel));
    cut_out(text, BOUNDARY_STUDENT, strlen(BOUNDARY_STUDENT));
    cut_out(text, BOUNDARY_GATE, strlen(BOUNDARY_GATE));
}

static void show_own_lines(const struct work *work, char *text)
{
    const char *const folders[] = {"/usr",          "/opt", in_source("common"), in_source("lessons"),
                                   in_build("lib"), NULL};
    shorten_names(work, text);
    if (work->source.data != NULL) build_keep_own_lines(work->source.data, folders, text);
}

/* Each try runs as another user, who may not write to what the one before has begun. */
static void remove_output(const char *const *arguments)
{
    for (; *arguments != NULL; arguments++)
        if (strcmp(*arguments, "-o") == 0 && arguments[1] != NULL) (void)unlink(arguments[1]);
}

/* Runs the compiler with these arguments after its flags; 1 if it succeeded. */
static int run(struct work *work, const char *const *more)
{
    struct argument_list arguments = {0};
    struct sandboxed *child = must_allocate(sizeof *child);
    for (size_t i = 0; i < work->recipe->compile.count; i++)
        argument_add(&arguments, work->recipe->compile.items[i]);
    if (work->recipe->device == DEVICE_SIMT) argument_add(&arguments, "--frames");
    for (; *more != NULL; more++) argument_add(&arguments, *more);
    const char *const *environment = environment_of(work);
    struct sandbox sandbox = {
        .arguments = arguments.items,
        .environment = environment,
        .folder = work->inside,
        .readable = work->readable.items,
        .isolation = SANDBOX_ISOLATED,
        .kind = SANDBOX_COMPILER,
        .descriptor = {-1, -1, -1},
        .limits = {.cpu_seconds = seconds_allowed(work),
                   .resident_bytes = UINT64_C(4) << 30,
                   .address_bytes = work->recipe->device == DEVICE_GPU ? 0 : UINT64_C(6) << 30,
                   .file_bytes = UINT64_C(128) << 20,
                   .processes = 128,
                   .open_files = 256}};
    enum sandbox_end end = SANDBOX_DONE;
    for (int tries = 0; tries < 2; tries++) {
        if (tries > 0) remove_output(arguments.items);
        double left = seconds_allowed(work) - (now_seconds() - work->began);
        end = sandbox_run(&sandbox, left > 0.1 ? left : 0.1, process_interrupted, child);
        if (end != SANDBOX_DONE || !is_crash(child)) break;
    }
    show_own_lines(work, child->text);
    text_append(&work->build->log, child->text, strlen(child->text));
    int succeeded = end == SANDBOX_DONE && child->exit_code == 0;
    if (!succeeded) explain(work, end, child);
    free(arguments.items);
    free((void *)environment);
    free(child);
    return succeeded;
}

/* ---- what programs leave behind ------------------------------------------------------------------------ */

static int open_left(const char *path)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0 &&
        (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > 2 * MOST_TEXT)) {
        close(file);
        return -1;
    }
    return file;
}

static int read_left(const char *path, struct text *content)
{
    char *buffer = must_allocate(COPY_BYTES);
    ssize_t got = -1;
    int file = open_left(path);
    text_append(content, "", 0);
    while (file >= 0 && content->length < MOST_TEXT && (got = read(file, buffer, COPY_BYTES)) > 0)
        text_append(content, buffer, (size_t)got);
    if (file >= 0) close(file);
    free(buffer);
    return file >= 0 && got == 0;
}

static int copy_left(const char *from, const char *to)
{
    char *buffer = must_allocate(COPY_BYTES);
    ssize_t got = -1;
    int in = open_left(from), out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    while (out >= 0 && (got = read(in, buffer, COPY_BYTES)) > 0)
        if (write(out, buffer, (size_t)got) != got) break;
    int copied = out >= 0 && got == 0 && fchmod(out, 0755) == 0;
    if (out >= 0 && close(out) != 0) copied = 0;
    if (in >= 0) close(in);
    free(buffer);
    return copied;
}

/* ---- the checks ---------------------------------------------------------------------------------------- */

static int refuse_build(struct work *work, char *sentence)
{
    work->build->state = BUILD_REFUSED;
    work->build->sentence = sentence;
    return 0;
}

static int lost(struct work *work, const char *what)
{
    work->build->state = BUILD_IMPOSSIBLE;
    complain("%s in %s cannot be read or copied: %s.", what, work->inside, strerror(errno));
    return 0;
}

static int check_text(struct work *work)
{
    int error = read_file(work->recipe->kernel, &work->source);
    if (error) return errno = error, lost(work, "the kernel file");
    char *sentence = checks_text(work->recipe, work->source.data);
    return sentence == NULL || refuse_build(work, sentence);
}

static int check_dependencies(struct work *work, const char *path)
{
    struct text list = {0};
    if (!read_left(path, &list)) return lost(work, "the list of included files");
    char *sentence = checks_dependencies(work->recipe, list.data, work->inside);
    text_free(&list);
    return sentence == NULL || refuse_build(work, sentence);
}

static int check_preprocessed(struct work *work, const char *path)
{
    struct text text = {0};
    if (!read_left(path, &text)) return lost(work, "kernel.ii");
    int whole = memchr(text.data, '\0', text.length) == NULL;
    char *sentence = whole ? checks_preprocessed(work->recipe, text.data) : copy_string("it is not text");
    text_free(&text);
    return sentence == NULL || refuse_build(work, sentence);
}

/* What the compiler makes of the file's headers alone, in @p plain: 1, or 0 after a refusal. */
static int compare_headers(struct work *work, const char *path, const char *plain_file, const char *plain)
{
    struct text text = {0}, headers = {0};
    if (!read_left(path, &text) || !read_left(plain, &headers)) return lost(work, "kernel.ii");
    char *sentence = checks_headers(work->recipe, text.data, headers.data, plain_file);
    text_free(&text);
    text_free(&headers);
    return sentence == NULL || refuse_build(work, sentence);
}

/* Looks whether a macro of the file has changed a header in the preprocessor's output @p path. */
static int check_headers(struct work *work, const char *path)
{
    char *includes = source_includes_alone(work->source.data);
    char *file = format_string("%s/headers.cu", work->inside),
         *plain = format_string("%s/headers.ii", work->inside);
    const char *const preprocess[] = {"-E", file, "-o", plain, NULL};
    int fine = 1;
    if (includes != NULL) {
        fine = write_file(file, includes, strlen(includes)) == 0 || lost(work, "headers.cu");
        fine = fine && run(work, preprocess) && compare_headers(work, path, file, plain);
    }
    free(plain);
    free(file);
    free(includes);
    return fine;
}

static int check_object(struct work *work, const char *path)
{
    char *sentence = checks_object(work->recipe, work->source.data, path, 0);
    return sentence == NULL || refuse_build(work, sentence);
}

/* Runs a line of the shell, which is given up to three arguments, over what the compiler has made; 1 if it succeeded. */
static int run_shell(struct work *work, const char *line, const char *const *more, struct sandboxed *child)
{
    const char *arguments[] = {
        "/bin/sh", "-c", line, "sh", more[0], more[1], more[1] != NULL ? more[2] : NULL, NULL};
    struct sandbox sandbox = {.arguments = arguments,
                              .folder = work->inside,
                              .readable = work->readable.items,
                              .isolation = SANDBOX_ISOLATED,
                              .kind = SANDBOX_COMPILER,
                              .descriptor = {-1, -1, -1},
                              .limits = {60.0, UINT64_C(2) << 30, 0, 128 << 20, 32, 64}};
    return sandbox_run(&sandbox, 60.0, process_interrupted, child) == SANDBOX_DONE && child->exit_code == 0;
}

/* The line of the file that an instruction comes from, 0 if it comes from none. */
static int line_of_instruction(struct work *work, const char *object, const char *section,
                               unsigned long address)
{
    char *start = format_string("--start-address=%lu", address);
    const char *const arguments[] = {object, section, start};
    struct sandboxed *child = must_allocate(sizeof *child);
    char *name = format_string("%s:", work->name);
    int line = 0;
    if (run_shell(work, "objdump -d -l -j \"$2\" \"$3\" \"$1\" | head -n 40", arguments, child)) {
        const char *at = strstr(child->text, name);
        line = at != NULL ? atoi(at + strlen(name)) : 0;
    }
    free(name);
    free(child);
    free(start);
    return line;
}

/* Judges each instruction of the object; those that touch memory without a report are listed in @p unproven, or refused if that is NULL. */
static int judge_instructions(struct work *work, const char *object, struct machine_code_frames *frames,
                              struct machine_code_accesses *unproven)
{
    char *list = format_string("%s/instructions", work->inside), *tool = find_program("objdump"),
         *section = NULL;
    const char *const arguments[] = {object, list, NULL};
    struct sandboxed *child = must_allocate(sizeof *child);
    struct text text = {0};
    unsigned long address = 0;
    int fine = tool != NULL &&
               run_shell(work, "objdump -d -r -z --no-show-raw-insn \"$1\" > \"$2\"", arguments, child);
    free(child);
    free(tool);
    if (!fine)
        return complain("objdump is missing, or cannot read %s: machine code cannot be checked.", object), 0;
    if (!read_left(list, &text)) return lost(work, "the list of instructions");
    (void)unlink(list); /* the next one may be another user's */
    char *what = checks_machine_code(work->recipe, object, text.data, frames, unproven, &section, &address);
    text_free(&text);
    free(list);
    if (what == NULL) return 1;
    const int line = section != NULL ? line_of_instruction(work, object, section, address) : 0;
    char *sentence =
        line ? format_string("%s:%d: %s", work->name, line, what) : format_string("%s: %s", work->name, what);
    free(section);
    free(what);
    return refuse_build(work, sentence);
}

/* Assembles @p text; the file gets the name @p name. */
static int assemble(struct work *work, const char *name, const char *text, const char *object,
                    const char *option)
{
    char *path = format_string("%s/%s", work->inside, name);
    const char *const arguments[] = {"-c", path, "-o", object, option, NULL};
    (void)unlink(path); /* no link of the compiler's making */
    const int done = (write_file(path, text, strlen(text)) == 0 || lost(work, name)) && run(work, arguments);
    free(path);
    return done;
}

/* Assembles the file again with a report before each of these accesses, which the compiler has reported to nobody. */
static int add_reports(struct work *work, const char *path, const char *object,
                       const struct machine_code_accesses *accesses)
{
    struct text assembly = {0};
    struct object known = {0};
    char *marked = format_string("%s/labels.o", work->inside), *with = NULL;
    int done = read_left(path, &assembly) && memchr(assembly.data, '\0', assembly.length) == NULL;
    if (!done) lost(work, "kernel.s");
    if (done) {
        with = assembly_with_labels(assembly.data);
        done = assemble(work, "labels.s", with, marked, "-Wa,--keep-locals");
        free(with);
    }
    if (done && !object_read(marked, &known)) done = lost(work, "labels.o");
    if (done) {
        with = assembly_with_reports(assembly.data, &known, accesses);
        done = (unlink(object) == 0 || lost(work, "kernel.o")) &&
               assemble(work, "reports.s", with, object, NULL);
        free(with);
    }
    free(known.data);
    free(marked);
    text_free(&assembly);
    return done;
}

/* Judges each instruction of the object that is linked, with reports where they are missing. */
static int check_machine_code(struct work *work, const char *assembly, const char *object,
                              struct machine_code_frames *frames)
{
    struct machine_code_accesses unproven = {0};
    int fine = judge_instructions(work, object, frames, &unproven);
    if (fine && unproven.count > 0) {
        machine_code_free(frames);
        fine = add_reports(work, assembly, object, &unproven) && check_object(work, object) &&
               judge_instructions(work, object, frames, NULL);
    }
    machine_code_free_accesses(&unproven);
    return fine;
}

/* Assembly in a host function could make system calls; device code has no text in the host's sections. */
static int check_instructions(struct work *work, const char *object)
{
    static const char *const calls[] = {"\tsyscall", "\tsysenter", "\tint ", "\tsvc\t", NULL};
    const char *const arguments[] = {object, NULL, NULL};
    char *tool = find_program("objdump");
    if (!source_has_assembly(work->source.data)) return 1;
    if (tool == NULL) return complain("objdump is missing: assembly in kernel files cannot be checked."), 0;
    struct sandboxed *child = must_allocate(sizeof *child);
    const int done = run_shell(work,
                               "objdump -d --no-show-raw-insn \"$1\" | "
                               "grep -E '\t(syscall|sysenter|int |svc\t)' | head -n 3; test \"$?\" = 0",
                               arguments, child);
    int found = 0;
    for (size_t i = 0; calls[i] != NULL; i++) found = found || strstr(child->text, calls[i]) != NULL;
    free(child);
    free(tool);
    if (!done) return complain("objdump cannot read %s.", object), 0;
    if (!found) return 1;
    static const char what[] = "host code calls the operating system by inline assembly";
    static const char *const words[] = {"asm", "__asm__", "__asm", NULL};
    int line = 0; /* stays 0 if the word is put together by macros */
    for (size_t i = 0; words[i] != NULL && !line; i++) line = source_line_of(work->source.data, words[i]);
    return refuse_build(work, line ? format_string("%s:%d: %s", work->name, line, what)
                                   : format_string("%s: %s", work->name, what));
}

/* ---- building ------------------------------------------------------------------------------------------ */

static int build_object(struct work *work, const char *assembly, const char *object)
{
    char *list = format_string("%s/files", work->inside);
    if (work->recipe->device == DEVICE_GPU) {
        const char *const compile[] = {"-MD", "-MF", list, "-c", work->recipe->kernel, "-o", object, NULL};
        int built = run(work, compile) && check_dependencies(work, list);
        free(list);
        return built;
    }
    char *text = format_string("%s/kernel.ii", work->inside);
    const char *const preprocess[] = {"-MD", "-MF", list, "-E", work->recipe->kernel, "-o", text, NULL};
    const char *const compile[] = {SIMT_CODE_IS_READ ? "-S" : "-c", text, "-o",
                                   SIMT_CODE_IS_READ ? assembly : object, NULL};
    const char *const assemble_it[] = {"-c", assembly, "-o", object, NULL};
    int built = run(work, preprocess) && check_dependencies(work, list) && check_preprocessed(work, text) &&
                check_headers(work, text) && run(work, compile) &&
                (!SIMT_CODE_IS_READ || run(work, assemble_it));
    free(text);
    free(list);
    return built;
}

/* On simt a graded runner is two processes. Returns the library that provides that, or NULL after a
 * complaint. */
static char *boundary_library(const struct work *work)
{
    char *library = format_string("%s/lib/libboundary_%s.a", places.binary_dir, work->recipe->lesson->name);
    if (access(library, R_OK) == 0) return library;
    complain("%s is missing, which grades submissions of this lesson: run cmake --build %s --target "
             "graded_runners",
             library, places.binary_dir);
    free(library);
    return NULL;
}

/* Selects the object file and libraries to link: on simt, a copy whose names lead to the boundary. */
static int prepare_link(struct work *work, const char *object, const char *gated,
                        const struct machine_code_frames *frames, struct argument_list *link)
{
    const int simt = work->recipe->device == DEVICE_SIMT;
    argument_add(link, simt ? gated : object);
    for (size_t i = 0; i < work->recipe->link.count; i++) {
        argument_add(link, work->recipe->link.items[i]);
        char *library = simt && i == 0 ? boundary_library(work) : NULL;
        if (library != NULL) argument_add(link, library);
        if (simt && i == 0 && library == NULL) return 0;
    }
    return !simt || object_add_gates(object, gated, frames) || lost(work, "kernel.o");
}

static void build_in(struct work *work)
{
    char *object = format_string("%s/kernel.o", work->inside),
         *assembly = format_string("%s/kernel.s", work->inside),
         *gated = format_string("%s/gated.o", work->inside), *made = format_string("%s/runner", work->inside);
    char *runner = format_string("%s/runner", work->folder);
    struct argument_list link = {0};
    struct machine_code_frames frames = {0};
    int built = check_text(work) && build_object(work, assembly, object) && check_object(work, object) &&
                (work->recipe->device == DEVICE_SIMT
                     ? !SIMT_CODE_IS_READ || check_machine_code(work, assembly, object, &frames)
                     : check_instructions(work, object)) &&
                prepare_link(work, object, gated, &frames, &link);
    argument_add(&link, "-o");
    argument_add(&link, made);
    built = built && run(work, link.items) && (copy_left(made, runner) || lost(work, "the runner"));
    if (built) work->build->state = BUILD_READY;
    remove_tree(work->inside);
    machine_code_free(&frames);
    free(link.items);
    free(object);
    free(assembly);
    free(gated);
    free(made);
    free(runner);
}

static void build_untrusted_anew(const struct recipe *recipe, const char *place, struct build *build)
{
    struct work work = {.recipe = recipe,
                        .build = build,
                        .folder = format_string("%s.%ld", place, (long)getpid()),
                        .name = strrchr(recipe->kernel, '/') + 1,
                        .began = now_seconds()};
    work.inside = format_string("%s/work", work.folder);
    int error = make_folders(work.inside), held = leftovers_hold(work.folder);
    if (!error && chmod(work.folder, 0755) != 0) error = errno;
    if (error) {
        complain("%s cannot be created: %s.", work.folder, strerror(error));
    } else {
        checks_readable(recipe, &work.readable);
        build_in(&work);
    }
    if (build->state == BUILD_READY && rename(work.folder, place) != 0 && errno != EEXIST &&
        errno != ENOTEMPTY) {
        complain("%s cannot be created: %s.", place, strerror(errno));
        build->state = BUILD_IMPOSSIBLE;
    }
    remove_tree(work.folder);
    if (held >= 0) close(held);
    text_free(&work.source);
    free(work.readable.items);
    free(work.inside);
    free(work.folder);
}

/* On simt the boundary depends in part on what only g++ reports, and only when it optimises: which
 * objects an access stays in, and which structs are moved without a report (simt/simtcc/calls.c). */
const char *build_untrusted_compiler_lacks(const char *compiler, const char *optimise)
{
    if (strcmp(compiler, "GNU") != 0)
        return "submissions are graded on simt with g++ alone: of what other compilers make of a kernel "
               "file, not every "
               "access is seen; configure anew with g++ (cmake --fresh -DCMAKE_CXX_COMPILER=g++)";
    if (optimise != NULL && strcmp(optimise, "-O0") == 0)
        return "submissions are graded on simt as the compiler optimises them: without, not every access is "
               "seen; unset "
               "WARPWISE_SIMT_OPTIMISE, or let it be another level than -O0";
    return NULL;
}

int build_untrusted_settle(enum device device)
{
    const char *lacks = build_untrusted_compiler_lacks(places.cxx_id, getenv("WARPWISE_SIMT_OPTIMISE"));
    return device == DEVICE_SIMT && lacks != NULL ? complain("%s.", lacks) : EXIT_PASS;
}

void build_untrusted(const struct lesson_folder *lesson, const char *kernel, enum device device,
                     struct build *build)
{
    struct recipe recipe;
    char digits[65];
    *build = (struct build){.state = BUILD_IMPOSSIBLE};
    text_append(&build->log, "", 0);
    text_append(&build->errors, "", 0);
    if (build_untrusted_settle(device) != EXIT_PASS) return;
    if (recipe_prepare(lesson, kernel, device, BUILD_FULL, &recipe) != EXIT_PASS) return;
    recipe_watch_copies(&recipe);
    /* Builds again what was built with less isolation than there is now: its compiler may have been
     * deceived. */
    const char *isolation =
        sandbox_is_whole(places.source_dir) ? "whole" : sandbox_describe(places.source_dir);
    char *way = format_string("untrusted, isolation: %s", isolation);
    recipe_name(&recipe, way, digits);
    free(way);
    char *kernels = format_string("%s/kernels", places.binary_dir);
    char *place = format_string("%s/%.32s", kernels, digits);
    build->runner = format_string("%s/runner", place);
    if (access(build->runner, X_OK) == 0) {
        build->state = BUILD_READY;
        build->cached = 1;
        utimensat(AT_FDCWD, place, NULL, 0); /* used today: keep it */
    } else {
        build_remove_old(kernels);
        build_untrusted_anew(&recipe, place, build);
    }
    free(place);
    free(kernels);
}
