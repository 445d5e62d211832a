/**
 * @file refusals.c
 * @brief What the software device lacks, in one sentence instead of the compiler's many messages.
 */
#include "refusals.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/** Prefix of a header or a name; the longest that fits counts. */
struct refusal {
    const char *start, *sentence;
};

/* Headers that exist nowhere. Those of CUDA that a machine may have are in include/refused. */
static const struct refusal headers[] = {
    {"curand", "this header of cuRAND is not on the software device, which has curand.h, "
               "curand_kernel.h and those of MTGP32"},
    {"cutlass/", "CUTLASS is not a part of the software device; say where it is with -I"},
    {"cute/", "CuTe is not a part of the software device; say where it is with -I"},
    {"cutensor", "cuTENSOR is not on the software device, which runs CUDA C++ source only"},
    {"nvshmem", "NVSHMEM is not on the software device; use NCCL, or a peer's memory"},
    {"nvsci", "NvSci is not on the software device; leave the call out"},
    {"mpi.h", "MPI's headers are not installed here, or not where -I says"},
    {"torch/", "PyTorch's headers are not installed here, or not where -I says"},
    {"thrust/",
     "this header of Thrust is not on the software device; write the algorithm as a kernel, or use the "
     "standard library"},
    {"cub/", "this header of CUB is not on the software device; write the algorithm as a kernel"},
    {"cuda/",
     "this header of CUDA's C++ library is not on the software device; use what CUDA C++ itself has"},
    {"nv/", "this header of CUDA's C++ library is not on the software device; use what CUDA C++ itself has"},
};

#define GRAPH_NODES                                                                                          \
    "nodes that a program adds to a graph by itself are not on the software device; capture a stream "       \
    "(cudaStreamBeginCapture)"
static const struct refusal names[] = {
    {"cu",
     "the driver API is not on the software device; use the runtime's functions, which begin with cuda"},
    {"CU",
     "the driver API is not on the software device; use the runtime's functions, which begin with cuda"},
    {"cuda", "this part of the CUDA runtime is not on the software device; do without it"},
    {"cublasLt", "products of cuBLASLt are not on the software device; use cublasGemmEx of cublas_v2.h"},
    {"cublas", "this call of cuBLAS is not on the software device; see cublas_v2.h there for those that are"},
    {"curand",
     "this part of cuRAND is not on the software device, which has its generators, and uniform and normal "
     "numbers; draw those, and make others of them"},
    {"nccl", "this call of NCCL is not on the software device; see nccl.h there for those that are"},
    {"cudaKernelNodeParams", GRAPH_NODES},
    {"cudaMemsetParams", GRAPH_NODES},
    {"cudaHostNodeParams", GRAPH_NODES},
    {"cudaGraphNodeParams", GRAPH_NODES},
    {"cudaGraphAdd", GRAPH_NODES},
    {"cudaGraphConditional",
     "conditional nodes of graphs are not on the software device; decide on the host which graph to launch"},
    {"cudaLaunchParams",
     "a cooperative launch on several devices is not on the software device; use cudaLaunchCooperativeKernel "
     "on each"},
    {"cudaLaunchCooperativeKernelMultiDevice",
     "a cooperative launch on several devices is not on the software device; use cudaLaunchCooperativeKernel "
     "on each"},
    {"texture",
     "texture references ended with CUDA 12, and are not on the software device; read plain memory"},
    {"cudaGraphics", "graphics interoperability is not on the software device; leave the drawing out"},
    {"cudaExternal", "memory of other programs is not on the software device; leave it out"},
    {"cudaIpc", "memory of other programs is not on the software device; leave it out"},
    {"cudaStreamTailLaunch",
     "kernels that launch kernels are not on the software device; launch from the host"},
    {"cudaStreamFireAndForget",
     "kernels that launch kernels are not on the software device; launch from the host"},
    {"surf", "surfaces are not on the software device; read and write plain memory"},
    {"tex", "this way to read a texture is not on the software device; read plain memory"},
};

static const char *find_refusal(const struct refusal *table, size_t count, const char *name)
{
    const struct refusal *best = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(table[i].start);
        if (strncmp(name, table[i].start, length) != 0) continue;
        if (best == NULL || length > strlen(best->start)) best = &table[i];
    }
    return best != NULL ? best->sentence : NULL;
}

/** After these prefixes, CUDA's names continue with a capital letter or an underscore: `custom` is not one
 *  of them. */
static int is_cudas_name(const char *name)
{
    if (strcmp(name, "texture") == 0) return 1;
    static const char *const starts[] = {"cublasLt", "cublas", "curand", "cuda", "cu",
                                         "CU",       "nccl",   "surf",   "tex"};
    if (strncmp(name, "curand_poisson", 14) == 0 || strncmp(name, "curand_discrete", 15) == 0) return 1;
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        size_t length = strlen(starts[i]);
        if (strncmp(name, starts[i], length) != 0) continue;
        unsigned char next = (unsigned char)name[length];
        if (strcmp(starts[i], "CU") == 0) return islower(next) || next == 'D' || next == '_';
        return isupper(next) || isdigit(next);
    }
    return 0;
}

/** The word that begins at @p at, ended by a quotation mark of whatever kind. */
static char *word_at(const char *at, const char *end)
{
    size_t length = 0;
    while (at + length < end && (isalnum((unsigned char)at[length]) || strchr("_/.-", at[length]) != NULL))
        length++;
    return format_string("%.*s", (int)length, at);
}

/** What follows the first quotation mark of the message, ASCII or not. */
static const char *behind_quote(const char *at, const char *end)
{
    for (; at < end; at++) {
        if (*at == '\'') return at + 1;
        if (end - at > 3 && memcmp(at, "\xe2\x80\x98", 3) == 0) return at + 3;
    }
    return NULL;
}

/** A header of include/refused: its sentence; *@p name is the header. */
static const char *refused_header(const char *line, const char *message, char **name)
{
    const char *folder = strstr(line, "/refused/"), *sentence = strstr(message, "#error \"");
    if (folder == NULL || sentence == NULL || folder > message) return NULL;
    sentence += strlen("#error \"");
    folder += strlen("/refused/");
    *name = format_string("%.*s", (int)strcspn(folder, ":"), folder);
    return format_string("%.*s", (int)strcspn(sentence, "\"\n"), sentence);
}

/** If the error that begins at @p message is about something refused: the sentence, and the name it is
 *  about. */
static const char *refused(const char *message, const char *end, char **name)
{
    static const char missing[] = ": No such file or directory", clang_missing[] = "' file not found";
    char *text = format_string("%.*s", (int)(end - message), message);
    int no_header = strstr(text, missing) != NULL || strstr(text, clang_missing) != NULL;
    int unknown = strstr(text, "was not declared") != NULL || strstr(text, "does not name a type") != NULL ||
                  strstr(text, "has not been declared") != NULL ||
                  strstr(text, "undeclared identifier") != NULL || strstr(text, "unknown type name") != NULL;
    const int small_elements = strstr(text, "is not a member of") != NULL &&
                               strstr(text, "nvcuda::wmma") != NULL && strstr(text, "experimental") != NULL;
    free(text);
    if (small_elements) {
        *name = format_string("nvcuda::wmma::experimental");
        return "matrices of elements of less than a byte are not on the software device; use signed char";
    }
    if (!no_header && !unknown) return NULL;
    const char *quoted = no_header && *message != '\'' ? message : behind_quote(message, end);
    if (quoted == NULL) return NULL;
    *name = word_at(quoted, end);
    if (no_header) return find_refusal(headers, sizeof(headers) / sizeof(headers[0]), *name);
    return is_cudas_name(*name) ? find_refusal(names, sizeof(names) / sizeof(names[0]), *name) : NULL;
}

/** The same for messages with a terminal's colours. */
static char *without_colours(const char *messages)
{
    struct text plain = {0};
    text_add_string(&plain, "");
    for (const char *at = messages; *at != '\0'; at++) {
        if (*at != '\x1b')
            text_add(&plain, at, 1);
        else
            at += strcspn(at, "mK");
        if (*at == '\0') break;
    }
    return plain.data;
}

/** Prints the sentence for the first of these messages that is an error; 0 if there is none. */
static int tell_refusal(const char *messages)
{
    const char *error = strstr(messages, "error: "), *line = error, *sentence;
    char *name = NULL;
    if (error == NULL) return 0;
    while (line > messages && line[-1] != '\n') line--;
    if ((sentence = refused_header(line, error, &name)) != NULL) { /* reported at the line that includes it */
        static const char from[] = "In file included from ";
        const char *includer = strstr(messages, from);
        if (includer != NULL && includer < line) line = includer + strlen(from);
        int length = (int)strcspn(line, ":");
        fprintf(stderr, "%.*s:%d: error: %s: %s\n", length, line, atoi(line + length + 1), name, sentence);
        return 1;
    }
    const char *column = line + strcspn(line, ":"); /* file:line:column: error: */
    column += *column == ':' ? 1 + strcspn(column + 1, ":") : 0;
    sentence = refused(error + strlen("error: "), error + strcspn(error, "\n"), &name);
    if (sentence != NULL)
        fprintf(stderr, "%.*s: error: %s: %s\n", (int)(column - line), line, name, sentence);
    free(name);
    return sentence != NULL;
}

void refusals_tell(const char *messages)
{
    struct text text = {0};
    if (!text_read_file(&text, messages) || text.length == 0) return;
    char *plain = without_colours(text.data);
    if (!tell_refusal(plain)) fwrite(text.data, 1, text.length, stderr);
    free(plain);
    text_drop(&text);
}
