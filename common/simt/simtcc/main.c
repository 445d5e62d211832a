/**
 * @file main.c
 * @brief simtcc: rewrites kernel files, compiles them with the C++ compiler of the machine, links the device.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "listed.h"
#include "options.h"
#include "prelude.h"
#include "project.h"
#include "refusals.h"
#include "text.h"

extern char **environ;

/* ---- temporary folder ---------------------------------------------------------------------------------- */

static char *folder;
static struct string_list temporary_files;

static void remove_temporaries(void)
{
    for (size_t i = 0; i < temporary_files.count; i++) (void)unlink(temporary_files.items[i]);
    if (folder != NULL) (void)rmdir(folder);
}

/* Removes @p path, the folder of another simtcc that was killed: if it is ours, no process holds it, and
 * it is no link. */
static void remove_if_dead(const char *path)
{
    enum { YOUNG_SECONDS = 5 }; /* the process that made it may not hold it yet */
    struct stat status;
    if (lstat(path, &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid()) return;
    if (difftime(time(NULL), status.st_mtime) < YOUNG_SECONDS) return;
    int held = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *files = held >= 0 && flock(held, LOCK_EX | LOCK_NB) == 0 ? fdopendir(held) : NULL;
    for (struct dirent *entry; files != NULL && (entry = readdir(files)) != NULL;)
        (void)unlinkat(held, entry->d_name, 0);
    if (files != NULL) (void)rmdir(path);
    if (files != NULL) closedir(files);
    if (files == NULL && held >= 0) close(held);
}

static void remove_dead(const char *base)
{
    glob_t found;
    char *pattern = format_string("%s/simtcc-??????", base);
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) remove_if_dead(found.gl_pathv[i]);
        globfree(&found);
    }
    free(pattern);
}

/* The lock on the folder ends with this program, however the program ends. */
static void make_folder(void)
{
    const char *base = getenv("TMPDIR");
    if (base == NULL || base[0] == '\0') base = "/tmp";
    remove_dead(base);
    folder = format_string("%s/simtcc-XXXXXX", base);
    if (mkdtemp(folder) == NULL) {
        char *wanted = folder;
        folder = NULL;
        die("cannot make a temporary folder %s: %s", wanted, strerror(errno));
    }
    int held = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (held >= 0) (void)flock(held, LOCK_EX | LOCK_NB);
    atexit(remove_temporaries);
}

/* ---- where the device lies ----------------------------------------------------------------------------- */

struct installation {
    char *include, *libsimt;
    char *library_headers, *libraries; /**< cuBLAS and cuRAND; NULL if they were not built */
};

static char *existing(char *path)
{
    if (access(path, R_OK) == 0) return path;
    free(path);
    return NULL;
}

/** The path of @p name in the folder where @p path lies. */
static char *beside(const char *path, const char *name)
{
    return format_string("%.*s%s", (int)(strrchr(path, '/') + 1 - path), path, name);
}

/** An installation has share/simt/include and lib/simt/libsimt.a; the course's folder has them where the
 *  build puts them. */
static void look_below(struct installation *in, const char *root)
{
    if (in->include == NULL) in->include = existing(format_string("%s/share/simt/include", root));
    if (in->libsimt == NULL) in->libsimt = existing(format_string("%s/lib/simt/libsimt.a", root));
    if (in->include == NULL) in->include = existing(format_string("%s/common/simt/include", root));
    if (in->libsimt == NULL) in->libsimt = existing(format_string("%s/build/lib/libsimt.a", root));
    if (in->libsimt == NULL) in->libsimt = existing(format_string("%s/lib/libsimt.a", root));
}

/** Searches WARPWISE_SIMT_ROOT, then the folders above this program, then the folder of CMake's build. An
 *  installation can be moved: PREFIX/bin/simtcc finds what is beside it. */
static struct installation find_installation(int need_library)
{
    struct installation in = {0};
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    const char *root = getenv("WARPWISE_SIMT_ROOT");
    if (root != NULL && root[0] != '\0') look_below(&in, root);
    for (int up = 0; length > 0 && up < 4;
         up++) { /* build/bin/simtcc: first bin, then build (or PREFIX), then the tree */
        program[length] = '\0';
        char *slash = strrchr(program, '/');
        if (slash == NULL) break;
        length = slash - program;
        program[length] = '\0';
        if (up > 0) look_below(&in, program);
    }
#ifdef SIMT_SOURCE_DIR
    if (in.include == NULL) in.include = existing(format_string("%s/include", SIMT_SOURCE_DIR));
#endif
#ifdef SIMT_LIB_DIR
    if (in.libsimt == NULL) in.libsimt = existing(format_string("%s/libsimt.a", SIMT_LIB_DIR));
#endif
    if (in.include == NULL)
        die("the headers of the software device are not where they were built; set WARPWISE_SIMT_ROOT to the "
            "course's folder");
    if (need_library && in.libsimt == NULL)
        die("libsimt.a is not found; build it (cmake --build build), or set WARPWISE_SIMT_ROOT to the "
            "course's folder");
    in.library_headers = beside(in.include, "libraries/include");
    if (in.libsimt != NULL) in.libraries = existing(beside(in.libsimt, "libsimt_libraries.a"));
    return in;
}

/* ---- the compiler -------------------------------------------------------------------------------------- */

struct compiler {
    struct string_list command; /**< CXX may be several words: "ccache g++" */
    int is_clang;
};

static int is_on_path(const char *name)
{
    if (strchr(name, '/') != NULL) return access(name, X_OK) == 0;
    const char *path = getenv("PATH");
    for (const char *at = path != NULL ? path : ""; *at != '\0';) {
        size_t length = strcspn(at, ":");
        char *full = format_string("%.*s/%s", (int)length, at, name);
        int found = access(full, X_OK) == 0;
        free(full);
        if (found) return 1;
        at += length + (at[length] == ':');
    }
    return 0;
}

static struct compiler find_compiler(void)
{
    static const char *const usual[] = {"g++", "c++", "clang++"};
    struct compiler c = {{0}, 0};
    const char *wanted = getenv("CXX");
    if (wanted != NULL && wanted[0] != '\0') {
        char *words = format_string("%s", wanted);
        for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
            list_add(&c.command, word);
        if (c.command.count == 0 || !is_on_path(c.command.items[0]))
            die("the C++ compiler that CXX names, %s, is not there; install g++ or unset CXX", wanted);
    }
    for (size_t i = 0; i < 3 && c.command.count == 0; i++)
        if (is_on_path(usual[i])) list_add(&c.command, usual[i]);
    if (c.command.count == 0)
        die("there is no C++ compiler; install g++ (apt install g++, dnf install gcc-c++)");
    const char *name = c.command.items[c.command.count - 1];
    c.is_clang = strstr(name, "clang") != NULL;
    if (c.is_clang)
        fprintf(
            stderr,
            "simtcc: %s splits 16-byte accesses: results and findings are right, counters are approximate\n",
            name);
    return c;
}

/** 1 if /proc/cpuinfo lists both features: then the compiler may use them. */
static int cpu_has_half_and_fma(void)
{
    int found = 0;
#if defined(__x86_64__)
    char *line = NULL;
    size_t capacity = 0;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && !found && getline(&line, &capacity, file) > 0)
        found =
            strncmp(line, "flags", 5) == 0 && strstr(line, " f16c") != NULL && strstr(line, " fma") != NULL;
    if (file != NULL) fclose(file);
    free(line);
#endif
    return found;
}

/** Makes the compiler report every memory access, one by one, as in the source. */
static void add_device_flags(struct string_list *command, const struct options *o,
                             const struct compiler *compiler)
{
    static const char *const both[] = {
        "-gdwarf-4", /* with version 5, some addr2line report a wrong file */
        "-fsanitize=thread", "-ffp-contract=fast", "-fno-pie", "-fno-stack-protector", "-fno-strict-aliasing",
        "-fno-optimize-sibling-calls", "-fno-builtin-printf", "-fno-builtin-memcpy", "-fno-builtin-memmove",
        "-fno-builtin-memset", "-fno-builtin-mempcpy", "-fno-builtin-bcopy", "-fno-builtin-bzero",
        "-fno-builtin-bcmp", "-fno-builtin-strcpy", "-fno-builtin-strncpy", "-fno-builtin-stpcpy",
        "-fno-builtin-stpncpy", "-fno-builtin-strcat", "-fno-builtin-strncat", "-fno-builtin-sprintf",
        "-fno-builtin-snprintf", "-fno-builtin-vsprintf", "-fno-builtin-vsnprintf", "-fno-builtin-strlen",
        "-fno-builtin-strnlen", "-fno-builtin-strcmp", "-fno-builtin-strncmp", "-fno-builtin-memchr",
        "-fno-builtin-strchr", "-fno-builtin-strrchr", "-fno-builtin-strstr", "-fno-builtin-strspn",
        "-fno-builtin-strcspn", "-fno-builtin-strpbrk", "-fno-builtin-strdup", "-fno-builtin-strndup",
        /* the C++ library's own copies: the compiler would open them after its reports */
        "-D__builtin_memcpy=memcpy", "-D__builtin_memmove=memmove", "-D__builtin_memset=memset",
        "-D__builtin_memcmp=memcmp", "-fno-builtin-memcmp", "-U_FORTIFY_SOURCE", "-Wno-unknown-pragmas",
        "-Wno-psabi", "-Wno-attributes"};
    /* Some distributions' compilers begin every function with a landing pad: the list of kernels (SIMT_LISTED) names what
     * comes after it, and no function pointer points there. */
#if defined(__aarch64__)
    static const char *const landing_pads = "-mbranch-protection=none";
    /* No signal reports a division by zero on that architecture; see machine/trap.c. */
    list_add(command, "-fsanitize=integer-divide-by-zero");
    if (!compiler->is_clang) {
        /* Section anchors would put the variables of a block side by side, and their red zones elsewhere. */
        list_add(command, "-fno-section-anchors");
        /* A guard page between two stacks has 4 KB, not the 64 KB that gcc assumes there. */
        list_add(command, "--param=stack-clash-protection-guard-size=12");
    }
#else
    static const char *const landing_pads = "-fcf-protection=none";
#endif
    /* -fsanitize=thread reports no access to a local array whose address never leaves the function: so the compiler also
     * compares addresses with the ends of the object that they are computed from (machine/local.c). Nor does it report atomics of
     * a memory order that does not exist (calls.c), or reads of the tables that switches become, by any index. */
    static const char *const gcc[] = {"-fsanitize=object-size",
                                      "-Werror=invalid-memory-model",
                                      "-fno-tree-sra",
                                      "-fno-tree-vectorize",
                                      "-fno-tree-switch-conversion",
                                      "-fstack-clash-protection",
                                      "--param=tsan-distinguish-volatile=1"};
    static const char *const clang[] = {
        "-Werror=atomic-memory-ordering",     "-fno-vectorize", "-fno-slp-vectorize",          "-mllvm",
        "-tsan-instrument-func-entry-exit=0", "-mllvm",         "-tsan-distinguish-volatile=1"};
    for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++) list_add(command, both[i]);
    if (compiler->is_clang) {
        for (size_t i = 0; i < sizeof(clang) / sizeof(clang[0]); i++) list_add(command, clang[i]);
    } else {
        for (size_t i = 0; i < sizeof(gcc) / sizeof(gcc[0]); i++) list_add(command, gcc[i]);
        /* A function that may be left by an exception would report its end at each of its calls. */
        if (o->frames) list_add(command, "-fno-rtti");
        list_add(command, o->frames ? "-fno-exceptions" : "--param=tsan-instrument-func-entry-exit=0");
    }
    list_add(command, landing_pads);
#if defined(__x86_64__)
    /* Calls through pointers go through the device's thunk (machine/thunks.c), where a graded runner
     * checks the pointer. */
    list_add(command, compiler->is_clang ? "-mretpoline-external-thunk" : "-mindirect-branch=thunk-extern");
    list_add(command, compiler->is_clang ? "-mretpoline" : "-mindirect-branch-register");
    list_add(command, "-fno-jump-tables");
    if (o->frames &&
        !o->preprocess_only) { /* for calls that the compiler does not know of (machine/own_reports.c) */
        list_add(command, "-ffixed-r11");
        list_add(command, "-mno-red-zone");
    }
#endif
    if (cpu_has_half_and_fma()) {
        list_add(command, "-mf16c");
        list_add(command, "-mfma");
    }
}

static void add_all(struct string_list *list, const struct string_list *more)
{
    for (size_t i = 0; i < more->count; i++) list_add(list, more->items[i]);
}

/** Runs a command; its messages go to the file @p messages if that is not NULL. Returns its exit status,
 *  or 2 if it cannot be run. */
static int run_into(struct string_list *command, int verbose, const char *messages)
{
    pid_t child;
    int status;
    posix_spawn_file_actions_t actions;
    for (size_t i = 0; verbose && i < command->count; i++)
        fprintf(stderr, "%s%c", command->items[i], i + 1 < command->count ? ' ' : '\n');
    list_add(command, NULL);
    posix_spawn_file_actions_init(&actions);
    if (messages != NULL)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages, O_WRONLY | O_CREAT | O_TRUNC,
                                         0600);
    int error =
        posix_spawnp(&child, command->items[0], &actions, NULL, (char **)(void *)command->items, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) die("cannot run %s: %s", command->items[0], strerror(error));
    if (waitpid(child, &status, 0) < 0) die("lost %s: %s", command->items[0], strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

static int run(struct string_list *command, int verbose)
{
    return run_into(command, verbose, NULL);
}

/** CPATH is searched like -I. Some systems put the toolkit's folders there: they go after everything else
 *  (CPLUS_INCLUDE_PATH). */
static void move_toolkit_back(void)
{
    const char *all = getenv("CPATH");
    struct text kept = {0}, last = {0};
    if (all == NULL) return;
    text_add_string(&kept, "");
    text_add_string(&last, "");
    for (const char *at = all; *at != '\0';) {
        const size_t length = strcspn(at, ":");
        char *entry = format_string("%.*s", (int)length, at);
        struct text *to = length > 0 && is_toolkit_folder(entry) ? &last : &kept;
        text_printf(to, "%s%s", to->length > 0 ? ":" : "", entry);
        free(entry);
        at += length + (at[length] == ':');
    }
    if (last.length > 0) {
        const char *behind = getenv("CPLUS_INCLUDE_PATH");
        if (behind != NULL && behind[0] != '\0') text_printf(&last, ":%s", behind);
        if (kept.length > 0 ? setenv("CPATH", kept.data, 1) : unsetenv("CPATH")) die("out of memory");
        if (setenv("CPLUS_INCLUDE_PATH", last.data, 1) != 0) die("out of memory");
    }
    text_drop(&kept);
    text_drop(&last);
}

static int has_prelude(const struct string_list *command)
{
    for (size_t i = 1; i < command->count; i++)
        if (strcmp(command->items[i - 1], "-include") == 0 &&
            strstr(command->items[i], "/simt_prelude-") != NULL)
            return 1;
    return 0;
}

/* The file uses something that the prelude lacks: compile it again with all of cuda_runtime.h. */
enum { WITHOUT_PRELUDE = -1 };

/** Runs the compiler on a source. What it says is printed at its end: one sentence for a thing that this device does not have. */
static int run_compiler(struct string_list *command, int verbose)
{
    const int short_headers = has_prelude(command);
    char *messages = format_string("%s/messages", folder);
    if (isatty(STDERR_FILENO)) list_add(command, "-fdiagnostics-color=always");
    list_add(&temporary_files, messages);
    int status = run_into(command, verbose, messages);
    if (status != 0 && short_headers && prelude_lacks(messages, "")) return WITHOUT_PRELUDE;
    refusals_tell(messages);
    return status;
}

/** What a compilation needs to know. */
struct job {
    const struct options *options;
    const struct compiler *compiler;
    struct installation where;
};

/** Runs g++ (or another compiler) on device code; prints our own error if device code calls host
 *  functions, or copies structs unseen. */
static int run_device_compiler(struct string_list *command, const struct job *job, const char *object)
{
    const int verbose = job->options->verbose, strict = job->options->strict;
    if (job->compiler->is_clang) return run_compiler(command, verbose);
    char *functions = format_string("%s/functions", folder),
         *statements = format_string("%s/statements", folder);
    list_add(command, calls_option(functions));
    list_add(&temporary_files, functions);
    if (strict) {
        list_add(command, unseen_option(statements));
        list_add(&temporary_files, statements);
    }
    int status = run_compiler(command, verbose);
    if (status == 0 && (calls_refused(functions) > 0 || (strict && unseen_refused(statements) > 0))) {
        (void)unlink(object);
        status = 1;
    }
    if (status == 0) listed_by_name(object);
    if (strict) (void)unlink(statements);
    (void)unlink(functions);
    return status;
}

/* ---- compiling ----------------------------------------------------------------------------------------- */

static int has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name), tail = strlen(suffix);
    return length > tail && strcmp(name + length - tail, suffix) == 0;
}

static int is_kernel_file(const char *name)
{
    return has_suffix(name, ".cu");
}

static int is_cpp_file(const char *name)
{
    return has_suffix(name, ".cpp") || has_suffix(name, ".cc") || has_suffix(name, ".cxx");
}

/** What -E made of a kernel file. */
static int is_preprocessed_file(const char *name)
{
    return has_suffix(name, ".ii");
}

/** What -S made of it. */
static int is_assembly_file(const char *name)
{
    return has_suffix(name, ".s");
}

static int is_source(const char *name)
{
    return is_assembly_file(name) || is_kernel_file(name) || is_cpp_file(name) ||
           is_preprocessed_file(name) || has_suffix(name, ".c");
}

/** "dir/file.cu" gives "file" and @p suffix, as compilers name objects. */
static char *object_name(const char *source, const char *suffix)
{
    const char *slash = strrchr(source, '/'), *base = slash != NULL ? slash + 1 : source;
    const char *dot = strrchr(base, '.');
    return format_string("%.*s%s", (int)(dot - base), base, suffix);
}

/** The depfile names copies; Make and Ninja must see the originals. */
static void translate_depfile(const struct project *project, const char *from, const char *to)
{
    struct text in = {0}, out = {0};
    if (!text_read_file(&in, from)) die("the compiler wrote no dependencies");
    for (const char *at = in.data; *at != '\0';) {
        size_t blank = strspn(at, " \t\n\\"), word = strcspn(at + blank, " \t\n");
        char *path = format_string("%.*s", (int)word, at + blank);
        text_add(&out, at, blank);
        text_add_string(&out, project_original(project, path));
        free(path);
        at += blank + word;
    }
    if (!text_write_file(&out, to)) die("cannot write %s", to);
    text_drop(&in);
    text_drop(&out);
}

static void add_dependencies(const struct job *job, struct string_list *command, const char *object,
                             const char *depfile)
{
    list_add(command, "-MD");
    list_add(command, "-MF");
    list_add(command, depfile);
    list_add(command, "-MT");
    list_add(command, job->options->dep_target != NULL ? job->options->dep_target : object);
}

/** clang copies structures by calls named after its version; the device must see those copies, too. */
static void redirect_copies(const char *object, int verbose)
{
    static const char *const prefixes[] = {"", "__tsan_"}, *const names[] = {"memcpy", "memmove", "memset"};
    const char *tool = is_on_path("objcopy") ? "objcopy" : "llvm-objcopy";
    for (size_t p = 0; p < 2 && is_on_path(tool); p++) {
        struct string_list command = {0};
        list_add(&command, tool);
        for (size_t i = 0; i < 3; i++) {
            list_add(&command, "--redefine-sym");
            list_add(&command, format_string("%s%s=simt_%s", prefixes[p], names[i], names[i]));
        }
        list_add(&command, object);
        (void)run(&command, verbose);
    }
}

/** Whether the command asks for what a debugger needs; findings need lines alone. */
static int is_to_be_debugged(const struct options *o)
{
    for (size_t i = 0; i < o->compile.count; i++)
        if (strncmp(o->compile.items[i], "-g", 2) == 0) return 1;
    return 0;
}

static void add_header_folders(const struct job *job, struct string_list *command)
{
    const char *const folders[] = {job->where.include, job->where.library_headers,
                                   format_string("%s/refused", job->where.include)};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        list_add(command, "-isystem");
        list_add(command, folders[i]);
    }
}

/** All options except the files: those that a kernel file and the headers before it are compiled with. */
static void add_kernel_flags(const struct job *job, struct string_list *command, const char *level)
{
    const struct options *o = job->options;
    add_all(command, &job->compiler->command);
    list_add(command, format_string("-std=%s", o->standard));
    list_add(command, level);
    if (!job->compiler->is_clang && !is_to_be_debugged(o))
        list_add(command, "-fno-var-tracking"); /* saves a fifth to a third of the time at -O2 */
    add_all(command, &o->compile);
    add_device_flags(command, o, job->compiler);
    if (o->no_fmad) list_add(command, "-ffp-contract=off");
    list_add(command, format_string("-D__CUDA_ARCH__=%d", o->architecture));
    if (o->architecture_specific)
        list_add(command, format_string("-D__CUDA_ARCH_FEAT_SM%d_ALL", o->architecture / 10));
    static const char *const fixed[] = {"-D__CUDACC__=1", "-D__SIMT__=1", "-iquote", "."};
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) list_add(command, fixed[i]);
    add_header_folders(job, command);
}

/** The output of -E names copies, too: replaces the line markers in @p path by the originals. */
static int translate_markers(const struct project *project, const char *path)
{
    struct text in = {0}, out = {0};
    if (!text_read_file(&in, path)) die("the compiler wrote nothing");
    for (const char *at = in.data; at != NULL && *at != '\0';) {
        const char *end = strchr(at, '\n'), *quote = memchr(at, '"', strcspn(at, "\n"));
        size_t length = end != NULL ? (size_t)(end - at) + 1 : strlen(at);
        size_t name = quote != NULL ? strcspn(quote + 1, "\"\n") : 0;
        if (at[0] == '#' && at[1] == ' ' && quote != NULL) {
            char *copy = format_string("%.*s", (int)name, quote + 1);
            text_add(&out, at, (size_t)(quote + 1 - at));
            text_add_string(&out, project_original(project, copy));
            text_add(&out, quote + 1 + name, length - (size_t)(quote + 1 + name - at));
            free(copy);
        } else {
            text_add(&out, at, length);
        }
        at += length;
    }
    int written = text_write_file(&out, path);
    text_drop(&in);
    text_drop(&out);
    return written ? 0 : 2;
}

/** Compiles the output of -E with the flags of a kernel file. */
static int compile_preprocessed_file(const struct job *job, const char *source, const char *object)
{
    const char *level = job->options->optimise != NULL ? job->options->optimise : "-O2";
    struct string_list command = {0};
    add_kernel_flags(job, &command, level);
    const char *const last[] = {
        "-x", "c++-cpp-output", job->options->assembly_only ? "-S" : "-c", source, "-o", object};
    for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++) list_add(&command, last[i]);
    int status = run_device_compiler(&command, job, object);
    if (status == 0 && job->compiler->is_clang) redirect_copies(object, job->options->verbose);
    return status;
}

static int assemble(const struct job *job, const char *source, const char *object)
{
    struct string_list command = {0};
    add_all(&command, &job->compiler->command);
    add_all(&command, &job->options->compile);
    const char *const last[] = {"-c", source, "-o", object};
    for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++) list_add(&command, last[i]);
    const int status = run_compiler(&command, job->options->verbose);
    if (status == 0 && !job->compiler->is_clang) listed_by_name(object);
    return status;
}

/* A kernel file and its include files, rewritten; and the file for the compiler's dependencies until they
 * are translated. */
struct kernel_source {
    const char *source, *copy, *depfile;
};

static int compile_copy(const struct job *job, const struct kernel_source *from, const char *headers,
                        const char *object)
{
    const char *level = job->options->optimise != NULL ? job->options->optimise : "-O2";
    const int preprocess = job->options->preprocess_only;
    struct string_list command = {0};
    add_kernel_flags(job, &command, level);
    list_add(&command, "-include");
    list_add(&command, headers);
    list_add(&command, format_string("-fdebug-prefix-map=%s=%s", from->copy,
                                     from->source)); /* otherwise findings would name the copy */
    if (from->depfile != NULL) add_dependencies(job, &command, object, from->depfile);
    if (preprocess && !job->compiler->is_clang) list_add(&command, "-fpch-preprocess");
    const char *const last[] = {preprocess ? "-E" : "-c", from->copy, "-o", object};
    const int prelude = has_prelude(&command);
    for (size_t i = 0; i < 4; i++) list_add(&command, last[i]);
    if (!preprocess) return run_device_compiler(&command, job, object);
    int status = run_compiler(&command, job->options->verbose);
    return status == 0 && prelude && prelude_lacks(object, "std::") ? WITHOUT_PRELUDE : status;
}

static struct project project_of(const struct options *o)
{
    return (struct project){.folder = folder,
                            .include_folders = o->include_folders.items,
                            .include_folder_count = o->include_folders.count,
                            .compile = &o->compile,
                            .kernels = {.relocatable = o->relocatable}};
}

static int compile_kernel_file(const struct job *job, const char *source, const char *object,
                               const char *depfile)
{
    const char *level = job->options->optimise != NULL ? job->options->optimise : "-O2";
    struct project project = project_of(job->options);
    char *own_depfile = format_string("%s/depfile", folder);
    const struct kernel_source from = {source, project_rewrite(&project, source),
                                       depfile != NULL ? own_depfile : NULL};
    for (size_t i = 0; i < project.count; i++)
        if (project.files[i]->copy != NULL)
            list_add(&temporary_files, format_string("%s", project.files[i]->copy));
    if (depfile != NULL) list_add(&temporary_files, own_depfile);
    int status = WITHOUT_PRELUDE, preprocess = job->options->preprocess_only;
    if (!job->compiler->is_clang)
        status =
            compile_copy(job, &from, prelude_find(job->where.libsimt, job->where.include, level), object);
    if (status == WITHOUT_PRELUDE) status = compile_copy(job, &from, "cuda_runtime.h", object);
    if (status == 0 && preprocess) status = translate_markers(&project, object);
    if (status == 0 && !preprocess && job->compiler->is_clang) redirect_copies(object, job->options->verbose);
    if (status == 0 && depfile != NULL) translate_depfile(&project, own_depfile, depfile);
    project_drop(&project);
    return status;
}

/** Writes precompiled headers beside the library, for one level of optimisation if the command names one.
 *  clang works without them. */
static int precompile(const struct job *job)
{
    int status = 0;
    if (job->compiler->is_clang) return 0;
    const char *wanted = job->options->optimise;
    for (size_t i = 0; prelude_levels[i] != NULL && status == 0; i++) {
        if (wanted != NULL && strcmp(wanted, prelude_levels[i]) != 0) continue;
        const char *prelude = prelude_prepare(job->where.libsimt, job->where.include, prelude_levels[i]);
        struct string_list command = {0};
        /* Compilers that are running have the old file mapped: the new one replaces it when it is
         * complete. */
        const char *whole = format_string("%s.gch", prelude), *made = format_string("%s.gch-new", prelude);
        add_kernel_flags(job, &command, prelude_levels[i]);
        const char *const last[] = {"-x", "c++-header", prelude, "-o", made};
        for (size_t k = 0; k < sizeof(last) / sizeof(last[0]); k++) list_add(&command, last[k]);
        status = run(&command, job->options->verbose);
        if (status == 0 && rename(made, whole) != 0) die("cannot write %s: %s", whole, strerror(errno));
    }
    return status;
}

/** C and C++ files are the host's: compiled as they are, with the runtime's headers in reach. */
static int compile_host_file(const struct job *job, const char *source, const char *object,
                             const char *depfile)
{
    struct string_list command = {0};
    add_all(&command, &job->compiler->command);
    if (is_cpp_file(source)) {
        list_add(&command, format_string("-std=%s", job->options->standard));
    } else {
        list_add(&command, "-x");
        list_add(&command, "c");
        list_add(&command, "-std=gnu11");
    }
    list_add(&command, job->options->optimise != NULL ? job->options->optimise : "-O2");
    add_all(&command, &job->options->compile);
    list_add(&command, "-fno-pie");
    list_add(&command, "-D__SIMT__=1");
    add_header_folders(job, &command);
    if (depfile != NULL) add_dependencies(job, &command, object, depfile);
    const char *const last[] = {"-c", source, "-o", object};
    for (size_t i = 0; i < 4; i++) list_add(&command, last[i]);
    return run_compiler(&command, job->options->verbose);
}

static int compile(const struct job *job, const char *source, const char *object)
{
    const struct options *o = job->options;
    const char *depfile = NULL;
    const int kernels = o->all_kernels || is_kernel_file(source);
    if (access(source, R_OK) != 0) die("cannot read %s", source);
    if (o->preprocess_only && (!kernels || o->output == NULL)) die("-E takes a kernel file (.cu) and -o");
    if (o->assembly_only && !is_preprocessed_file(source)) die("-S takes what -E made of a kernel file");
    if (is_preprocessed_file(source)) return compile_preprocessed_file(job, source, object);
    if (is_assembly_file(source)) return assemble(job, source, object);
    if (o->depend || o->depfile != NULL)
        depfile = o->depfile != NULL ? o->depfile : object_name(object, ".d");
    return kernels ? compile_kernel_file(job, source, object, depfile)
                   : compile_host_file(job, source, object, depfile);
}

/* ---- linking ------------------------------------------------------------------------------------------- */

/** Prints the linker's messages in the file @p path: one sentence if names are missing that belong to
 *  libraries not built. */
static void show_link_errors(const struct job *job, const char *path)
{
    static const char *const missing[] = {"undefined reference to `cublas", "undefined reference to `curand",
                                          "undefined reference to `simt_",  "undefined symbol: cublas",
                                          "undefined symbol: curand",       "undefined symbol: simt_"};
    struct text text = {0};
    if (!text_read_file(&text, path) || text.data == NULL) return;
    for (size_t i = 0; job->where.libraries == NULL && i < sizeof missing / sizeof missing[0]; i++)
        if (strstr(text.data, missing[i]) != NULL)
            die("cuBLAS and cuRAND of the software device are not built: cmake --build build --target "
                "simt_libraries");
    fwrite(text.data, 1, text.length, stderr);
    text_drop(&text);
}

static int link_program(const struct job *job, const struct string_list *objects, const char *program)
{
    static const char *const libraries[] = {"-lpthread", "-ldl", "-lm"};
    struct string_list command = {0};
    add_all(&command, &job->compiler->command);
    list_add(&command, "-no-pie");
#ifdef SIMT_COVERAGE /* for coverage: the library writes its counts also when it ends the program itself */
    list_add(&command, "--coverage");
    list_add(&command, "-Wl,-u,__gcov_dump");
#endif
    add_all(&command, &job->options->link);
    add_all(&command, objects);
    if (job->where.libraries != NULL) list_add(&command, job->where.libraries);
    list_add(&command, job->where.libsimt);
    for (size_t i = 0; i < 3; i++) list_add(&command, libraries[i]);
    list_add(&command, "-o");
    list_add(&command, program);
    char *messages = format_string("%s/messages", folder);
    list_add(&temporary_files, messages);
    int status = run_into(&command, job->options->verbose, messages);
    show_link_errors(job, messages);
    return status;
}

/* ---- running ------------------------------------------------------------------------------------------- */

static void stay(int number)
{
    (void)number;
}

/** Runs the built program and ends as it does: with its exit code, or with 128 plus the signal that ended
 *  it, as a shell would. ^C goes to the program; simtcc survives it to remove the program. */
static int run_program(const struct options *o, const char *program)
{
    struct string_list command = {0};
    pid_t child;
    int status;
    list_add(&command, strchr(program, '/') != NULL ? program : format_string("./%s", program));
    add_all(&command, &o->run_arguments);
    list_add(&command, NULL);
    (void)signal(SIGINT, stay);
    (void)signal(SIGTERM, stay);
    int error = posix_spawn(&child, command.items[0], NULL, NULL, (char **)(void *)command.items, environ);
    if (error != 0) die("cannot run %s: %s", command.items[0], strerror(error));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) die("lost %s: %s", command.items[0], strerror(errno));
    if (WIFSIGNALED(status))
        fprintf(stderr, "simtcc: %s was ended by signal %d (%s)\n", o->inputs.items[0], WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static const char *first_source(const struct options *o)
{
    for (size_t i = 0; i < o->inputs.count; i++)
        if (is_source(o->inputs.items[i])) return o->inputs.items[i];
    die("there is no source among the inputs");
}

static void show(const struct options *o)
{
    struct project project = project_of(o);
    struct text text = {0};
    const char *copy = project_rewrite(&project, first_source(o));
    for (size_t i = 0; i < project.count; i++)
        if (project.files[i]->copy != NULL)
            list_add(&temporary_files, format_string("%s", project.files[i]->copy));
    if (text_read_file(&text, copy)) fwrite(text.data, 1, text.length, stdout);
    text_drop(&text);
    project_drop(&project);
}

/** Compiles every source, and passes the objects and everything else to the linker in their order. */
static int compile_all(const struct job *job, struct string_list *objects)
{
    const struct options *o = job->options;
    size_t sources = 0;
    for (size_t i = 0; i < o->inputs.count; i++) sources += (size_t)is_source(o->inputs.items[i]);
    if (o->compile_only && o->output != NULL && sources > 1) die("-c with -o takes one source");
    for (size_t i = 0; i < o->inputs.count; i++) {
        const char *input = o->inputs.items[i];
        int after_l = i > 0 && strcmp(o->inputs.items[i - 1], "-l") == 0;
        if (after_l || !is_source(input)) {
            list_add(objects, input);
            continue;
        }
        const char *object = o->output;
        if (!o->compile_only) {
            object = format_string("%s/%zu.o", folder, i);
            list_add(&temporary_files, object);
        } else if (object == NULL) {
            object = object_name(input, ".o");
        }
        int status = compile(job, input, object);
        if (status != 0) return status;
        list_add(objects, object);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct options options = options_read(argc, argv);
    struct string_list objects = {0};
    make_folder();
    move_toolkit_back();
    if (options.show) {
        show(&options);
        return 0;
    }
    struct compiler compiler = find_compiler();
    struct job job = {&options, &compiler, find_installation(!options.compile_only)};
    if (options.precompile) return precompile(&job);
    int status = compile_all(&job, &objects);
    if (status != 0 || options.compile_only) return status;
    const char *program = options.output;
    if (program == NULL && options.run) {
        program = format_string("%s/program", folder);
        list_add(&temporary_files, program);
    }
    if (program == NULL) program = "a.out";
    status = link_program(&job, &objects, program);
    return status == 0 && options.run ? run_program(&options, program) : status;
}
