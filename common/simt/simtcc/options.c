/**
 * @file options.c
 * @brief The command line: like that of g++, with a few options of nvcc.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvcc_options.h"
#include "options.h"
#include "text.h"

static const char help[] =
    "simtcc: builds CUDA C++ programs for the Warpwise software device; no GPU is needed\n"
    "\n"
    "  simtcc --run file.cu [-- arguments]           build it in a temporary folder and run it\n"
    "  simtcc [options] file.cu ... -o program       build it; inputs: .cu .cpp .cc .c .o .a .so\n"
    "\n"
    "  -arch=sm_XX        value of __CUDA_ARCH__ (sm_90a)\n"
    "  -std=c++17|c++20   language (c++17)\n"
    "  -c, -o, -I -D -U -O -g -W -f -m -l -L -Wl, -isystem -include, -MD -MF -MT: as in g++\n"
    "  --run-args WORDS   with --run: arguments of the program, as nvcc takes them\n"
    "  --rewritten        print the first source as it is given to the C++ compiler, and stop\n"
    "  -v                 print the commands that are run\n"
    "  --version, --help; --precompile, which leaves precompiled headers beside the library\n"
    "Other options of nvcc are accepted; most mean nothing here (-gencode, -Xptxas, -lineinfo ...).\n"
    "\n"
    "A program that was built so ends with 86 if the device found a mistake. Set before it runs:\n"
    "  SIMT_CHECK=on|off|sample:N   look for mistakes, in every block or in every Nth (on)\n"
    "  SIMT_ORDER=forward|reverse|random:SEED   order of threads and blocks (forward)\n"
    "  SIMT_WORKERS=N   threads of this computer (all cores)     SIMT_REPORT=usual|all\n"
    "  SIMT_DEVICE=sm_75|sm_80|sm_86|sm_89|sm_90   limits of which GPU (sm_90)\n"
    "  SIMT_COUNTERS=FILE|-   a CSV row per launch: sectors, bank conflicts, barriers\n"
    "Read before simtcc starts: CXX (the C++ compiler), WARPWISE_SIMT_ROOT (where the device lies).\n";

/** The state of reading the arguments. */
struct reader {
    int argc, at;
    const char **argv;
};

static int begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static const char *next_argument(struct reader *in)
{
    if (in->at + 1 >= in->argc) die("%s needs a value", in->argv[in->at]);
    return in->argv[++in->at];
}

/** The value of an option written as `-Xvalue` or `-X value`. */
static const char *value_of(struct reader *in, const char *name)
{
    const char *rest = in->argv[in->at] + strlen(name);
    if (*rest == '=') rest++;
    return *rest != '\0' ? rest : next_argument(in);
}

static void read_architecture(struct options *o, const char *value)
{
    if (strcmp(value, "native") == 0 || begins(value, "all")) return; /* whatever this device is */
    const char *digits = value;
    while (*digits != '\0' && !isdigit((unsigned char)*digits)) digits++;
    int number = atoi(digits);
    if (number < 50 || number > 199) die("-arch=%s is not an architecture: use sm_75, sm_80 or sm_90", value);
    o->architecture = 10 * number;
    o->architecture_specific = value[strlen(value) - 1] == 'a';
}

static int has_file(const char *folder, const char *name)
{
    char *path = format_string("%s/%s", folder, name);
    const int found = access(path, R_OK) == 0;
    free(path);
    return found;
}

static int holds_runtime(const char *folder)
{
    return has_file(folder, "cuda_runtime.h");
}

/* The toolkit's headers must not come before the device's own of the same names. */
int is_toolkit_folder(const char *folder)
{
    return holds_runtime(folder) && has_file(folder, "crt/host_runtime.h");
}

/** Options to pass to the compiler, with a value in the same or the next argument. */
static int read_compiler_option(struct options *o, struct reader *in)
{
    static const char *const valued[] = {"-I", "-D", "-U", "-isystem", "-iquote", "-include"};
    const char *argument = in->argv[in->at];
    for (size_t i = 0; i < sizeof(valued) / sizeof(valued[0]); i++) {
        if (!begins(argument, valued[i])) continue;
        const char *value = value_of(in, valued[i]);
        const int is_last =
            (strcmp(valued[i], "-I") == 0 || strcmp(valued[i], "-isystem") == 0) && is_toolkit_folder(value);
        list_add(&o->compile, is_last ? "-idirafter" : valued[i]);
        list_add(&o->compile, value);
        const int names_folder =
            strcmp(valued[i], "-include") != 0 && valued[i][1] != 'D' && valued[i][1] != 'U';
        if (names_folder && !holds_runtime(value))
            list_add(&o->include_folders, value); /* the device's headers are not the project's */
        return 1;
    }
    return 0;
}

static int read_dependency_option(struct options *o, struct reader *in)
{
    const char *argument = in->argv[in->at];
    if (strcmp(argument, "-MD") == 0 || strcmp(argument, "-MMD") == 0)
        o->depend = 1;
    else if (begins(argument, "-MF"))
        o->depfile = value_of(in, "-MF");
    else if (begins(argument, "-MT") || begins(argument, "-MQ"))
        o->dep_target = value_of(in, "-MT");
    else if (strcmp(argument, "-MP") != 0)
        return 0;
    return 1;
}

static void read_standard(struct options *o, const char *value)
{
    if (begins(value, "c++") || begins(value, "gnu++")) {
        const char *year = value + (begins(value, "c++") ? 3 : 5);
        int too_old = strcmp(year, "17") < 0 || year[0] == '9';
        o->standard = too_old ? "c++17" : value;
    }
}

/** "-Wall,-fopenmp" or "-Wall -fopenmp", as nvcc takes them. OpenMP has a library, too. */
static void read_host_options(struct options *o, const char *list)
{
    for (const char *at = list; *at != '\0';) {
        const size_t length = strcspn(at, ", ");
        char *option = strndup(at, length);
        if (option == NULL) die("out of memory");
        if (length > 0) list_add(&o->compile, option);
        if (strcmp(option, "-fopenmp") == 0) list_add(&o->link, option);
        at += length + (at[length] != '\0');
    }
}

/** `-x cu`: every source holds kernels, whatever its suffix. */
static void read_language(struct options *o, const char *value)
{
    if (strcmp(value, "cu") != 0) die("-x %s: a source's name says what it is, or -x cu does", value);
    o->all_kernels = 1;
}

/** "a b" is two arguments; commas separate, too, as in nvcc. */
static void read_run_arguments(struct options *o, const char *list)
{
    for (const char *at = list; *at != '\0';) {
        const size_t length = strcspn(at, ", ");
        char *word = strndup(at, length);
        if (word == NULL) die("out of memory");
        if (length > 0) list_add(&o->run_arguments, word);
        at += length + (at[length] != '\0');
    }
}

static void read_option(struct options *o, struct reader *in)
{
    const char *argument = in->argv[in->at];
    if (read_compiler_option(o, in) || read_dependency_option(o, in)) return;
    if (strcmp(argument, "-c") == 0)
        o->compile_only = 1;
    else if (strcmp(argument, "-dc") == 0)
        o->compile_only = o->relocatable = 1;
    else if (begins(argument, "-rdc="))
        o->relocatable = strcmp(argument, "-rdc=true") == 0;
    else if (strcmp(argument, "--strict") == 0)
        o->strict = 1;
    else if (strcmp(argument, "--frames") == 0)
        o->frames = 1;
    else if (strcmp(argument, "-S") == 0)
        o->compile_only = o->assembly_only = 1;
    else if (strcmp(argument, "-E") == 0)
        o->compile_only = o->preprocess_only = 1;
    else if (strcmp(argument, "-v") == 0)
        o->verbose = 1;
    else if (strcmp(argument, "--rewritten") == 0)
        o->show = 1;
    else if (strcmp(argument, "--precompile") == 0)
        o->precompile = 1;
    else if (strcmp(argument, "--run") == 0 || strcmp(argument, "-run") == 0)
        o->run = 1;
    else if (begins(argument, "--run-args") || begins(argument, "-run-args"))
        read_run_arguments(o, value_of(in, begins(argument, "--") ? "--run-args" : "-run-args"));
    else if (begins(argument, "-arch"))
        read_architecture(o, value_of(in, "-arch"));
    else if (begins(argument, "-std"))
        read_standard(o, value_of(in, "-std"));
    else if (begins(argument, "-x"))
        read_language(o, value_of(in, "-x"));
    else if (strcmp(argument, "-Xcompiler") == 0)
        read_host_options(o, next_argument(in));
    else if (begins(argument, "-fmad="))
        o->no_fmad = strcmp(argument, "-fmad=false") == 0;
    else if (strcmp(argument, "-fopenmp") == 0)
        read_host_options(o, argument);
    else if (begins(argument, "-o"))
        o->output = value_of(in, "-o");
    else if (begins(argument, "-l")) {
        list_add(&o->inputs, "-l");
        list_add(&o->inputs, value_of(in, "-l"));
    } else if (begins(argument, "-L")) {
        list_add(&o->link, "-L");
        list_add(&o->link, value_of(in, "-L"));
    } else if (strcmp(argument, "-Xlinker") == 0) {
        list_add(&o->link, argument);
        list_add(&o->link, next_argument(in));
    } else if (begins(argument, "-Wl,") || strcmp(argument, "-s") == 0 || begins(argument, "-fuse-ld=")) {
        list_add(&o->link, argument);
    } else if (begins(argument, "-O")) {
        o->optimise = argument;
    } else if (begins(argument, "-W") || begins(argument, "-f") || begins(argument, "-m") ||
               begins(argument, "-g") || begins(argument, "-pedantic") || strcmp(argument, "-w") == 0 ||
               strcmp(argument, "-pthread") == 0) {
        list_add(&o->compile, argument);
    } else {
        die("unknown option %s (see simtcc --help)", argument);
    }
}

/** Refuses contradictory options before anything is compiled. */
static void check_options(const struct options *o)
{
    if (o->inputs.count == 0 && !o->precompile) die("no input files (see simtcc --help)");
    if (o->run && (o->compile_only || o->show || o->precompile))
        die("--run builds a whole program: not with -c, -E, --rewritten or --precompile");
    if (!o->run && o->run_arguments.count > 0) die("arguments for the program without --run");
}

struct options options_read(int argc, char **arguments)
{
    struct options o = {.standard = "c++17", .architecture = 900, .architecture_specific = 1};
    const struct string_list replaced = nvcc_options_replaced(argc, arguments);
    struct reader in = {(int)replaced.count, 1, replaced.items};
    const char **argv = in.argv;
    for (; in.at < in.argc; in.at++) {
        if (strcmp(argv[in.at], "--help") == 0 || strcmp(argv[in.at], "-h") == 0) {
            fputs(help, stdout);
            exit(0);
        }
        if (strcmp(argv[in.at], "--version") == 0) {
            puts("simtcc 1.0 (Warpwise software device)");
            exit(0);
        }
        if (strcmp(argv[in.at], "--") == 0) { /* the rest is the program's */
            while (++in.at < in.argc) list_add(&o.run_arguments, argv[in.at]);
            break;
        }
        if (argv[in.at][0] == '-' && argv[in.at][1] != '\0')
            read_option(&o, &in);
        else
            list_add(&o.inputs, argv[in.at]);
    }
    check_options(&o);
    return o;
}
