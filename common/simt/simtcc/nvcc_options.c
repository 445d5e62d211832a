/**
 * @file nvcc_options.c
 * @brief nvcc's options as Makefiles use them: with one dash or two, the value after `=` or in the next
 *        argument.
 */
#include "nvcc_options.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "text.h"

/** What an option becomes. */
enum fate {
    DROPPED,  /**< it means nothing here */
    RENAMED,  /**< the argument `to`; a value follows as an argument of its own */
    JOINED,   /**< `to` and the value are one argument */
    SEPARATE, /**< each part of the value between commas follows `to` */
    REFUSED,  /**< `to` is the sentence */
};

struct nvcc_option {
    const char *name, *short_name; /**< without dashes */
    int valued;
    enum fate fate;
    const char *to;
};

static const struct nvcc_option known[] = {
    {"compiler-options", "Xcompiler", 1, RENAMED, "-Xcompiler"},
    {"linker-options", "Xlinker", 1, SEPARATE, "-Xlinker"},
    {"ptxas-options", "Xptxas", 1, DROPPED, NULL},
    {"nvlink-options", "Xnvlink", 1, DROPPED, NULL},
    {"archive-options", "Xarchive", 1, DROPPED, NULL},
    {"Xcudafe", NULL, 1, DROPPED, NULL},
    {"Xcicc", NULL, 1, DROPPED, NULL},
    {"Xfatbin", NULL, 1, DROPPED, NULL},
    {"compiler-bindir", "ccbin", 1, DROPPED, NULL},
    {"gpu-architecture", "arch", 1, JOINED, "-arch="},
    {"gpu-code", "code", 1, DROPPED, NULL},
    {"generate-code", "gencode", 1, DROPPED, NULL},
    {"maxrregcount", NULL, 1, DROPPED, NULL},
    {"relocatable-device-code", "rdc", 1, JOINED, "-rdc="},
    {"device-c", "dc", 0, RENAMED, "-dc"},
    {"device-w", "dw", 0, RENAMED, "-c"},
    {"compile", NULL, 0, RENAMED, "-c"},
    {"device-link", "dlink", 0, REFUSED,
     "objects need no second link on this device: leave the step out, and link the program with simtcc"},
    {"ptx", NULL, 0, REFUSED,
     "this device runs programs that are built for this computer, and has no PTX to show"},
    {"cubin", NULL, 0, REFUSED,
     "this device runs programs that are built for this computer, and makes no code of a GPU"},
    {"fatbin", NULL, 0, REFUSED,
     "this device runs programs that are built for this computer, and makes no code of a GPU"},
    {"lib", NULL, 0, REFUSED, "compile with -c, and make the library of the objects with ar"},
    {"shared", NULL, 0, REFUSED,
     "kernels cannot be in a shared library on this device: make a static one of the objects"},
    {"output-file", NULL, 1, RENAMED, "-o"},
    {"include-path", NULL, 1, RENAMED, "-I"},
    {"system-include", NULL, 1, RENAMED, "-isystem"},
    {"pre-include", NULL, 1, RENAMED, "-include"},
    {"define-macro", NULL, 1, RENAMED, "-D"},
    {"undefine-macro", NULL, 1, RENAMED, "-U"},
    {"library", NULL, 1, RENAMED, "-l"},
    {"library-path", NULL, 1, RENAMED, "-L"},
    {"optimize", NULL, 1, JOINED, "-O"},
    {"std", NULL, 1, JOINED, "-std="},
    {"fmad", NULL, 1, JOINED, "-fmad="},
    {"x", NULL, 1, JOINED, "-x"},
    {"debug", NULL, 0, RENAMED, "-g"},
    {"device-debug", "G", 0, DROPPED, NULL},
    {"verbose", NULL, 0, RENAMED, "-v"},
    {"disable-warnings", NULL, 0, RENAMED, "-w"},
    {"profile", "pg", 0, DROPPED, NULL},
    {"generate-line-info", "lineinfo", 0, DROPPED, NULL},
    {"use_fast_math", NULL, 0, DROPPED, NULL},
    {"ftz", NULL, 1, DROPPED, NULL},
    {"prec-div", NULL, 1, DROPPED, NULL},
    {"prec-sqrt", NULL, 1, DROPPED, NULL},
    {"extra-device-vectorization", NULL, 0, DROPPED, NULL},
    {"extended-lambda", NULL, 0, RENAMED, "-D__CUDACC_EXTENDED_LAMBDA__=1"},
    {"expt-extended-lambda", NULL, 0, RENAMED, "-D__CUDACC_EXTENDED_LAMBDA__=1"},
    {"expt-relaxed-constexpr", NULL, 0, DROPPED, NULL},
    {"restrict", NULL, 0, DROPPED, NULL},
    {"resource-usage", "res-usage", 0, DROPPED, NULL},
    {"default-stream", NULL, 1, DROPPED, NULL},
    {"threads", "t", 1, DROPPED, NULL},
    {"split-compile", NULL, 1, DROPPED, NULL},
    {"time", NULL, 1, DROPPED, NULL},
    {"dlink-time-opt", "dlto", 0, DROPPED, NULL},
    {"machine", NULL, 1, DROPPED, NULL},
    {"m", NULL, 1, DROPPED, NULL},
    {"cudart", NULL, 1, DROPPED, NULL},
    {"cudadevrt", NULL, 1, DROPPED, NULL},
    {"keep", NULL, 0, DROPPED, NULL},
    {"keep-dir", NULL, 1, DROPPED, NULL},
    {"source-in-ptx", "src-in-ptx", 0, DROPPED, NULL},
    {"no-compress", NULL, 0, DROPPED, NULL},
    {"compress-mode", NULL, 1, DROPPED, NULL},
    {"static-global-template-stub", NULL, 1, DROPPED, NULL},
    {"allow-unsupported-compiler", NULL, 0, DROPPED, NULL},
    {"forward-unknown-to-host-compiler", NULL, 0, DROPPED, NULL},
    {"forward-unknown-to-host-linker", NULL, 0, DROPPED, NULL},
    {"no-device-link", "nodlink", 0, DROPPED, NULL},
    {"diag-suppress", NULL, 1, DROPPED, NULL},
    {"diag-warn", NULL, 1, DROPPED, NULL},
    {"diag-error", NULL, 1, DROPPED, NULL},
    {"display-error-number", NULL, 0, DROPPED, NULL},
    {"no-display-error-number", NULL, 0, DROPPED, NULL},
    {"brief-diagnostics", NULL, 1, DROPPED, NULL},
    {"Wno-deprecated-gpu-targets", NULL, 0, DROPPED, NULL},
    {"Wdefault-stream-launch", NULL, 0, DROPPED, NULL},
    {"Wmissing-launch-bounds", NULL, 0, DROPPED, NULL},
    {"Wext-lambda-captures-this", NULL, 0, DROPPED, NULL},
};

/** Its length after the dashes, up to `=`. */
static size_t name_length(const char *name)
{
    return strcspn(name, "=");
}

static const struct nvcc_option *find_option(const char *argument)
{
    if (argument[0] != '-') return NULL;
    const char *name = argument + 1 + (argument[1] == '-');
    size_t length = name_length(name);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const struct nvcc_option *option = &known[i];
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0) return option;
        if (option->short_name != NULL && strlen(option->short_name) == length &&
            strncmp(option->short_name, name, length) == 0)
            return option;
    }
    return NULL;
}

/** `-Werror all-warnings`: g++ has this option without a value. */
static int is_error_of_nvcc(const char *value)
{
    static const char *const kinds[] = {"all-warnings",
                                        "cross-execution-space-call",
                                        "reorder",
                                        "default-stream-launch",
                                        "missing-launch-bounds",
                                        "deprecated-declarations",
                                        "ext-lambda-captures-this"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strncmp(value, kinds[i], strlen(kinds[i])) == 0) return 1;
    return 0;
}

/** CUDA libraries that are part of this device, or that it lacks: code that needs one of the latter is
 *  refused when it is compiled. */
static int is_library_of_cuda(const char *name)
{
    static const char *const libraries[] = {
        "cuda",     "cudart",          "cudart_static", "cudadevrt",       "cublas",   "cublas_static",
        "cublasLt", "cublasLt_static", "curand",        "curand_static",   "nccl",     "cufft",
        "cufftw",   "cufft_static",    "cusparse",      "cusparse_static", "cusolver", "cusolver_static",
        "nvrtc",    "nvToolsExt",      "nvidia-ml",     "culibos",         "cupti"};
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
        if (strcmp(name, libraries[i]) == 0) return 1;
    return 0;
}

/** Adds each part of @p value between commas, after @p to. */
static void add_parts(struct string_list *out, const char *to, const char *value)
{
    for (const char *at = value; *at != '\0';) {
        const size_t length = strcspn(at, ",");
        list_add(out, to);
        list_add(out, format_string("%.*s", (int)length, at));
        at += length + (at[length] == ',');
    }
}

static void replace(struct string_list *out, const struct nvcc_option *option, const char *value)
{
    if (option->fate == RENAMED) {
        list_add(out, option->to);
        if (value != NULL) list_add(out, value);
    } else if (option->fate == JOINED) {
        list_add(out, format_string("%s%s", option->to, value));
    } else if (option->fate == SEPARATE) {
        add_parts(out, option->to, value);
    }
}

struct string_list nvcc_options_replaced(int argc, char **argv)
{
    struct string_list out = {0};
    int at = 0;
    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        const char *argument = argv[at], *next = at + 1 < argc ? argv[at + 1] : NULL;
        const struct nvcc_option *option = find_option(argument);
        if (option != NULL && option->fate == REFUSED) {
            die("%s: %s", argument, option->to);
        } else if (option != NULL) {
            const char *value = option->valued ? strchr(argument, '=') : NULL;
            if (value != NULL)
                value++;
            else if (option->valued && next == NULL)
                die("%s needs a value", argument);
            else if (option->valued)
                value = argv[++at];
            replace(&out, option, value);
        } else if (strncmp(argument, "-t", 2) == 0 && isdigit((unsigned char)argument[2])) {
            continue; /* -t4 */
        } else if (strcmp(argument, "-Werror") == 0 || strcmp(argument, "--Werror") == 0) {
            if (next != NULL && is_error_of_nvcc(next))
                at++;
            else
                list_add(&out, "-Werror");
        } else if (strncmp(argument, "-Werror=", 8) == 0 && is_error_of_nvcc(argument + 8)) {
            continue;
        } else if (strncmp(argument, "-l", 2) == 0 && is_library_of_cuda(argument + 2)) {
            continue;
        } else if (strcmp(argument, "-l") == 0 && next != NULL && is_library_of_cuda(next)) {
            at++;
        } else {
            list_add(&out, argument);
        }
    }
    for (; at < argc; at++) list_add(&out, argv[at]);
    return out;
}
