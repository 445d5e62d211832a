/**
 * @file sass.c
 * @brief warpwise sass: the machine code of a kernel file, and those of its instructions that the lesson is
 *        about.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "build/build.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "course/described.h"
#include "course/device.h"
#include "course/places.h"
#include "page.h"
#include "sass_listing.h"
#include "trace/page.h"

enum { COMPILE_SECONDS = 600, OLDEST_ARCH = 75, DEFAULT_ARCH = 90, LANES = 32 };

/* What instructions do, by the prefix of their names: the first match counts. */
static const struct meaning {
    const char *name, *text;
} meanings[] = {
    {"FFMA", "f32 multiply-add"},
    {"FADD", "f32 addition"},
    {"FMUL", "f32 multiplication"},
    {"FMNMX", "f32 minimum or maximum"},
    {"HFMA2", "two f16 multiply-adds"},
    {"HADD2", "two f16 additions, or halves to floats"},
    {"F2F", "conversion between floating-point types"},
    {"HMMA", "tensor cores: a matrix product of a warp, f16 or bf16"},
    {"IMMA", "tensor cores: a matrix product of a warp, int8"},
    {"HGMMA", "tensor cores: a matrix product of a warpgroup (wgmma), f16 or bf16"},
    {"IGMMA", "tensor cores: a matrix product of a warpgroup (wgmma), int8"},
    {"MUFU.EX2", "2 to the power of x, from which expf is made"},
    {"MUFU.RCP", "1 / x"},
    {"MUFU", "a special function"},
    {"LDGSTS", "asynchronous copy from device to shared memory"},
    {"LDGDEPBAR", "a group of asynchronous copies is committed"},
    {"DEPBAR", "waits for asynchronous copies or loads"},
    {"UTMALDG", "TMA: copies a tile from device to shared memory"},
    {"LDSM", "loads fragments from shared memory (ldmatrix)"},
    {"LDG", "load from device memory"},
    {"STG", "store to device memory"},
    {"LDS", "load from shared memory"},
    {"STS", "store to shared memory"},
    {"LDL", "load from local memory: a spilled register, or an array whose index is not a constant"},
    {"STL", "store to local memory: a spilled register, or an array whose index is not a constant"},
    {"SHFL", "exchange between the lanes of a warp"},
    {"BAR", "barrier of the block"},
    {"WARPSYNC", "barrier of a warp's lanes"},
    {"ATOM", "atomic operation"},
    {"RED", "atomic operation without a result"},
    {"IMAD", "integer multiply-add: addresses"},
    {NULL, NULL},
};

static const char *meaning_of(const char *name)
{
    for (const struct meaning *meaning = meanings; meaning->name != NULL; meaning++)
        if (strncmp(name, meaning->name, strlen(meaning->name)) == 0) return meaning->text;
    return NULL;
}

/* ---- the toolkit's programs ---------------------------------------------------------------------------- */

static char *find_nvcc(void)
{
    char *found = *places.nvcc ? find_program(places.nvcc) : NULL;
    if (found == NULL) found = find_program("nvcc");
    return found != NULL ? found : find_program("/usr/local/cuda/bin/nvcc");
}

/* Looks in nvcc's folder first, where the program is of the same release, then on PATH. */
static char *find_beside(const char *nvcc, const char *name)
{
    char *beside = format_string("%.*s/%s", (int)(strrchr(nvcc, '/') - nvcc), nvcc, name);
    char *found = find_program(beside);
    free(beside);
    return found != NULL ? found : find_program(name);
}

static char *find_disassembler(const char *nvcc)
{
    char *found = find_beside(nvcc, "cuobjdump");
    return found != NULL ? found : find_beside(nvcc, "nvdisasm");
}

static int choose_arch(const char *asked, int *arch)
{
    const struct device_facts *gpu = device_probe(DEVICE_GPU);
    *arch = gpu->usable && gpu->arch > 0 ? gpu->arch : DEFAULT_ARCH;
    if (asked == NULL) return EXIT_PASS;
    char *end;
    if (strncmp(asked, "sm_", 3) == 0) asked += 3;
    long value = strtol(asked, &end, 10);
    if (*end != '\0' || value < OLDEST_ARCH || value > 999)
        return complain("--arch %s: write a number from %d on, such as 80, 90 or 100.", asked, OLDEST_ARCH);
    *arch = (int)value;
    return EXIT_PASS;
}

struct tools {
    char *nvcc, *disassembler;
};

static int find_tools(const struct lesson_folder *lesson, struct tools *tools)
{
    tools->nvcc = find_nvcc();
    if (tools->nvcc == NULL)
        return complain("sass needs nvcc, and cuobjdump or nvdisasm, of the CUDA Toolkit. nvcc is neither on "
                        "the PATH nor in "
                        "/usr/local/cuda/bin. A GPU is not needed. On the software device: %s profile %s",
                        program_name(), lesson->number);
    tools->disassembler = find_disassembler(tools->nvcc);
    if (tools->disassembler != NULL) return EXIT_PASS;
    return complain("neither cuobjdump nor nvdisasm is on the PATH or beside %s. They are parts of the CUDA "
                    "Toolkit: packages cuda-cuobjdump and cuda-nvdisasm.",
                    tools->nvcc);
}

/* Compiles for @p arch into @p output, with more options of nvcc; the log holds what ptxas says about registers. */
static int compile(const struct lesson_folder *lesson, const char *nvcc, const char *kernel, int arch,
                   const char *options, const char *output, struct text *log)
{
    struct argument_list list = {0};
    struct process_end end;
    argument_add(&list, nvcc);
    argument_add_words(&list, "-std=c++17 -O3");
    argument_add_words(&list, options);
    argument_add(&list, format_string("-arch=sm_%d%s", arch, architecture_suffix(arch)));
    if (*places.cuda_host) {
        argument_add(&list, "-ccbin");
        argument_add(&list, places.cuda_host);
    }
    const char *const below[] = {format_string("lessons/%s", lesson->name), "common/contracts",
                                 "common/decode"};
    for (int i = 0; i < 3; i++) {
        argument_add(&list, "-I");
        argument_add(&list, in_source(below[i]));
    }
    argument_add(&list, kernel);
    argument_add(&list, "-o");
    argument_add(&list, output);
    unlink(output);
    struct process process = {.arguments = list.items, .seconds = COMPILE_SECONDS};
    process_run(&process, &end);
    text_append(log, end.output.data != NULL ? end.output.data : "", end.output.length);
    if (end.exit_code == 0 && access(output, R_OK) == 0) return EXIT_PASS;
    fprintf(stderr, "%s", log->data != NULL ? log->data : "");
    complain("nvcc does not compile %s for sm_%d.", course_short_path(kernel), arch);
    return EXIT_FAIL;
}

/* What @p program prints of @p cubin with these options; it may be more than what process_run() keeps, and goes through a file. */
static int disassemble(const char *program, const char *options, const char *cubin, struct text *listing)
{
    struct argument_list words = {0};
    struct process_end end;
    char *file = format_string("%s.listing", cubin);
    argument_add(&words, "sh");
    argument_add(&words, "-c");
    argument_add(&words, "exec \"$@\" >\"$0\"");
    argument_add(&words, file);
    argument_add(&words, program);
    argument_add_words(&words, options);
    argument_add(&words, cubin);
    struct process process = {.arguments = words.items, .seconds = COMPILE_SECONDS};
    process_run(&process, &end);
    if (end.exit_code != 0)
        return complain("%s does not work here: %.200s", program,
                        end.output.data != NULL ? end.output.data : "");
    int error = read_file(file, listing);
    if (error) return complain("%s cannot be read: %s.", file, strerror(error));
    unlink(file);
    free(file);
    return EXIT_PASS;
}

/* ---- what is printed ------------------------------------------------------------------------------------ */

/* The instructions in the page's comment `<!-- sass: NAME NAME -->`; NULL without one. */
static char *words_of_page(const struct lesson_folder *lesson)
{
    static const char mark[] = "<!-- sass: ";
    struct text page = {0};
    char *path = page_path(lesson), *words = NULL;
    const char *begin = read_file(path, &page) == 0 ? strstr(page.data, mark) : NULL;
    const char *end = begin != NULL ? strstr(begin, " -->") : NULL;
    if (end != NULL) {
        begin += strlen(mark);
        words = format_string("%.*s", (int)(end - begin), begin);
    }
    text_free(&page);
    free(path);
    return words;
}

static int is_wanted(const char *words, const char *name)
{
    /* spills are never wanted, and always shown */
    int found = strncmp(name, "LDL", 3) == 0 || strncmp(name, "STL", 3) == 0;
    if (words == NULL) return meaning_of(name) != NULL;
    for (char *word; (word = next_word(&words, ' ')) != NULL; free(word)) {
        size_t length = strlen(word); /* LDG stands for LDG.128 as well, and not for LDGSTS */
        if (strncmp(name, word, length) == 0 && (name[length] == '\0' || name[length] == '.')) found = 1;
    }
    return found;
}

static int compare_kinds(const void *a, const void *b)
{
    const struct sass_kind *x = a, *y = b;
    if (x->in_loop != y->in_loop) return y->in_loop - x->in_loop;
    return x->all != y->all ? y->all - x->all : strcmp(x->name, y->name);
}

/* Demangles the name of a kernel with c++filt, if it is there, as it is with every compiler. */
static char *readable_name(const char *name)
{
    const char *const words[] = {"c++filt", name, NULL};
    struct process process = {.arguments = words, .seconds = 10};
    struct process_end end;
    process_run(&process, &end);
    if (end.exit_code != 0 || !end.output.length) return copy_string(name);
    return format_string("%.*s", (int)strcspn(end.output.data, "\n"), end.output.data);
}

static void print_resources(const struct sass_kernel *kernel)
{
    if (kernel->registers < 0) return;
    int rounded = (kernel->registers + 7) / 8 * 8, warps = rounded ? 65536 / (rounded * LANES) / 4 * 4 : 64;
    printf("  %d registers per thread: the 64 K registers of an SM have room for %d warps\n",
           kernel->registers, warps < 64 ? warps : 64);
    printf("  %d bytes of static shared memory per block, %d bytes of registers spilled\n",
           kernel->shared_bytes, kernel->spilled_bytes);
    if (kernel->serialised)
        printf(
            "  wgmma serialised by ptxas: each waits for the one before it, and nothing runs beside them\n");
}

static void print_sass_kernel(struct sass_kernel *kernel, const char *words)
{
    char *name = readable_name(kernel->name);
    int loop = kernel->loop_instructions, other = kernel->instructions, other_in_loop = loop;
    printf("\n%s\n", name);
    print_resources(kernel);
    printf("  %d instructions", kernel->instructions);
    if (loop > 0)
        printf(", %d of them in its longest inner loop, 0x%x to 0x%x", loop, kernel->loop_begin,
               kernel->loop_end);
    printf("\n\n  %-14s %7s %14s  %s\n", "instruction", "all", loop > 0 ? "in that loop" : "",
           "what it does");
    qsort(kernel->kind, kernel->kinds, sizeof kernel->kind[0], compare_kinds);
    for (size_t i = 0; i <= kernel->kinds; i++) {
        const struct sass_kind rest = {"others", other, other_in_loop};
        const struct sass_kind *kind = i < kernel->kinds ? &kernel->kind[i] : &rest;
        char share[32] = "";
        if (i < kernel->kinds && !is_wanted(words, kind->name)) continue;
        if (loop > 0) snprintf(share, sizeof share, "%d (%2d%%)", kind->in_loop, 100 * kind->in_loop / loop);
        const char *text = i < kernel->kinds ? meaning_of(kind->name) : "";
        printf("  %-14s %7d %14s%s%s\n", kind->name, kind->all, share, text != NULL && *text ? "  " : "",
               text != NULL ? text : "");
        other -= kind->all;
        other_in_loop -= kind->in_loop;
    }
    free(name);
}

static int print_listing(const struct lesson_folder *lesson, const char *kernel, int arch,
                         const char *listing, const char *log)
{
    struct sass_listing found = {0};
    char *words = words_of_page(lesson);
    sass_read(&found, listing);
    sass_read_resources(&found, log);
    if (found.count == 0) {
        printf(
            "%s has no kernel for sm_%d yet: a template is compiled when something launches it, so write the "
            "launch first.\n",
            course_short_path(kernel), arch);
    } else {
        printf("%s, machine code for sm_%d%s\n", course_short_path(kernel), arch,
               words != NULL ? "; of its instructions those that the lesson speaks of" : "");
        for (size_t i = 0; i < found.count; i++) print_sass_kernel(&found.kernel[i], words);
    }
    int status = found.count > 0 ? EXIT_PASS : EXIT_SKIPPED;
    sass_free(&found);
    free(words);
    return status;
}

/* ---- a page ----------------------------------------------------------------------------------------------- */

/* The name of the kernel that begins in a line of PTX or of nvdisasm; NULL if none does. */
static const char *kernel_begun(const char *line, size_t *length)
{
    static const char entry[] = ".entry ", section[] = ".section", text[] = ".text.";
    const char *at = strstr(line, entry);
    if (at != NULL)
        at += strlen(entry);
    else if ((at = strstr(line, section)) != NULL && (at = strstr(at, text)) != NULL)
        at += strlen(text);
    if (at != NULL) *length = strcspn(at, "(, \t");
    return at;
}

/* Of a line what view.js reads; 0: nothing. Of a place without the calls that were inlined: ".loc 1 199" of PTX,
 * "//## File NAME, line 5" of nvdisasm. Of its table of live registers the first column. */
static int shorten_ptx(char *line)
{
    char *at = strstr(line, ".loc ");
    if (at != NULL) at[5 + strspn(at + 5, "0123456789 \t")] = '\0';
    return 1;
}

static int shorten_sass(char *line)
{
    char *file = strstr(line, "//## File \""), *table = strstr(line, "// |"), *end;
    size_t length;
    if (kernel_begun(line, &length) != NULL || strncmp(line, ".L", 2) == 0) return 1;
    if (file != NULL && (end = strstr(file, "\", line ")) != NULL) {
        end += strlen("\", line ");
        end[strspn(end, "0123456789")] = '\0';
        return 1;
    }
    char *address = strstr(line, "/*");
    if (address == NULL || !isxdigit((unsigned char)address[2])) return 0;
    if (table != NULL && (end = strstr(address, "*/")) != NULL) { /* "/" "*0010*" "/ ... // | 12 |" */
        table[strlen("// |") + strcspn(table + strlen("// |"), "|")] = '\0';
        memmove(end + 2, table, strlen(table) + 1);
    }
    return 1;
}

/* A listing of the first @p kept kernels, with runs of blanks as one: listings are mostly blanks. */
static void put_listing(struct text *page, const char *key, const char *listing, int (*shorten)(char *line),
                        const struct sass_listing *found, size_t kept)
{
    struct text text = {0};
    int is_kept = 1;
    for (char *line; listing != NULL && (line = next_word(&listing, '\n')) != NULL; free(line)) {
        size_t length;
        char *to = line;
        const char *name = kernel_begun(line, &length);
        for (size_t i = 0; name != NULL && i < found->count; i++)
            if (strlen(found->kernel[i].name) == length && memcmp(found->kernel[i].name, name, length) == 0)
                is_kept = i < kept;
        if (!is_kept || !shorten(line)) continue;
        for (const char *at = line; *at; at++)
            if ((*at != ' ' && *at != '\t') || to == line || to[-1] != ' ') *to++ = *at == '\t' ? ' ' : *at;
        text_append(&text, line, (size_t)(to - line));
        text_append(&text, "\n", 1);
    }
    text_print(page, ",\n\"%s\": ", key);
    text_add_json(page, text.data != NULL ? text.data : "");
    text_free(&text);
}

static void put_string(struct text *page, const char *key, const char *string)
{
    text_print(page, ",\n\"%s\": ", key);
    text_add_json(page, string != NULL ? string : "");
}

static void put_kernels(struct text *page, const struct sass_listing *found, size_t kept)
{
    text_print(page, ",\n\"kernels\": [");
    for (size_t i = 0; i < kept; i++) {
        const struct sass_kernel *kernel = &found->kernel[i];
        char *name = readable_name(kernel->name);
        text_print(page, "%s{\"registers\": %d, \"shared\": %d, \"spilled\": %d, \"serialised\": %d",
                   i ? ", " : "", kernel->registers, kernel->shared_bytes, kernel->spilled_bytes,
                   kernel->serialised);
        put_string(page, "symbol", kernel->name);
        put_string(page, "name", name);
        text_print(page, "}");
        free(name);
    }
    text_print(page, "]");
}

static int put_part(struct text *page, const char *name)
{
    struct text part = {0};
    char *path = in_source(format_string("common/companion/sass_view/%s", name));
    int error = read_file(path, &part);
    if (error) return complain("%s cannot be read: %s.", path, strerror(error));
    text_append(page, part.data, part.length);
    text_free(&part);
    free(path);
    return EXIT_PASS;
}

/* What the page is made of: three listings of the same kernels. */
struct listings {
    struct text source, ptx, lines, live;
};

/* The page of the first @p kept kernels. */
static int make_page(const struct lesson_folder *lesson, const char *kernel, int arch,
                     const struct listings *of, const struct sass_listing *found, size_t kept,
                     struct text *page)
{
    text_print(page,
               "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>%s "
               "%s</title>\n<style>\n",
               lesson->number, lesson->topic);
    int code = put_part(page, "view.css");
    text_print(page,
               "</style>\n</head>\n<body>\n<script type=\"application/json\" id=\"data\">\n{\"arch\": %d, "
               "\"leftOut\": %zu",
               arch, found->count - kept);
    put_string(page, "title", format_string("%s %s", lesson->number, lesson->topic));
    put_string(page, "file", course_short_path(kernel));
    put_string(page, "source", of->source.data);
    put_listing(page, "ptx", of->ptx.data, shorten_ptx, found, kept);
    put_listing(page, "lines", of->lines.data, shorten_sass, found, kept);
    put_listing(page, "live", of->live.data, shorten_sass, found, kept);
    put_kernels(page, found, kept);
    text_print(page, "}\n</script>\n<script>\n");
    if (code == EXIT_PASS) code = put_part(page, "view.js");
    text_print(page, "</script>\n</body>\n</html>\n");
    return code;
}

/* With as many kernels as a page has room for. */
static int write_page(const struct lesson_folder *lesson, const char *kernel, int arch,
                      const struct listings *of, const char *log, const char *to)
{
    struct text page = {0};
    struct sass_listing found = {0};
    sass_read(&found, of->lines.data != NULL ? of->lines.data : "");
    sass_read_resources(&found, log);
    size_t kept = found.count;
    int code = make_page(lesson, kernel, arch, of, &found, kept, &page);
    while (code == EXIT_PASS && page.length > TRACE_PAGE_BYTES && kept > 0) {
        const size_t about = (size_t)((double)kept * TRACE_PAGE_BYTES / (double)page.length);
        kept = about < kept ? about : kept - 1;
        page.length = 0;
        code = make_page(lesson, kernel, arch, of, &found, kept, &page);
    }
    int error = code == EXIT_PASS ? write_file(to, page.data, page.length) : 0;
    if (error) code = complain("%s cannot be written: %s.", to, strerror(error));
    if (code == EXIT_PASS)
        printf("%s: %zu kernels for sm_%d, %.1f MB; open it in a browser\n", to, kept, arch,
               (double)page.length / 1e6);
    if (code == EXIT_PASS && kept < found.count)
        printf("  %zu kernels did not fit into the page\n", found.count - kept);
    sass_free(&found);
    text_free(&page);
    return code;
}

/* SASS beside PTX and source: compiled once more with lines, and read by nvdisasm, the only one that knows them. */
static int show_page(const struct lesson_folder *lesson, const struct tools *tools, const char *kernel,
                     int arch, const char *cubin, const char *to)
{
    struct listings of = {{0}, {0}, {0}, {0}};
    struct text log = {0};
    char *nvdisasm = find_beside(tools->nvcc, "nvdisasm"), *ptx = format_string("%s.ptx", cubin);
    if (nvdisasm == NULL)
        return complain(
            "the page needs nvdisasm, which is neither on the PATH nor beside %s: package cuda-nvdisasm.",
            tools->nvcc);
    int error = read_file(kernel, &of.source);
    int code = error ? complain("%s cannot be read: %s.", kernel, strerror(error)) : EXIT_PASS;
    if (code == EXIT_PASS)
        code = compile(lesson, tools->nvcc, kernel, arch, "-cubin -lineinfo -Xptxas=-v", cubin, &log);
    if (code == EXIT_PASS)
        code = compile(lesson, tools->nvcc, kernel, arch, "-ptx -lineinfo", ptx, &(struct text){0});
    if (code == EXIT_PASS && read_file(ptx, &of.ptx) != 0) code = complain("%s cannot be read.", ptx);
    if (code == EXIT_PASS) code = disassemble(nvdisasm, "-c -g", cubin, &of.lines);
    if (code == EXIT_PASS) code = disassemble(nvdisasm, "-c -plr -lrm count", cubin, &of.live);
    if (code == EXIT_PASS) code = write_page(lesson, kernel, arch, &of, log.data != NULL ? log.data : "", to);
    return code;
}

/* ---- the command ---------------------------------------------------------------------------------------- */

static int run_sass(const struct command_line *line)
{
    struct text log = {0}, listing = {0};
    struct tools tools;
    const char *given = option_value(line, "--kernel");
    int arch, status;
    if (line->operand == NULL) return complain("which lesson? For example: %s sass 10", program_name());
    const struct lesson_folder *lesson = course_find_lesson(line->operand);
    if (lesson == NULL || choose_arch(option_value(line, "--arch"), &arch) != EXIT_PASS) return EXIT_TROUBLE;
    char *kernel = given != NULL ? copy_string(given)
                                 : course_kernel_path(lesson, option_value(line, "--solution") != NULL);
    if (build_kernel_file_usable(kernel) != EXIT_PASS) return EXIT_TROUBLE;
    if (find_tools(lesson, &tools) != EXIT_PASS) return EXIT_TROUBLE;
    char *folder = format_string("%s/sass", course_binary_dir());
    char *cubin = format_string("%s/%s.cubin", folder, lesson->name);
    if (make_folders(folder) != 0) return complain("%s cannot be created.", folder);
    const char *page = option_value(line, "-o");
    if (option_value(line, "--html") != NULL)
        return show_page(lesson, &tools, kernel, arch, cubin, page != NULL ? page : "sass.html");
    status = compile(lesson, tools.nvcc, kernel, arch, "-cubin -Xptxas=-v", cubin, &log);
    if (status == EXIT_PASS)
        status =
            disassemble(tools.disassembler, strstr(tools.disassembler, "/cuobjdump") != NULL ? "-sass" : "-c",
                        cubin, &listing);
    if (status == EXIT_PASS) {
        if (option_value(line, "--listing") != NULL)
            fputs(listing.data != NULL ? listing.data : "", stdout);
        else
            status = print_listing(lesson, kernel, arch, listing.data != NULL ? listing.data : "",
                                   log.data != NULL ? log.data : "");
    }
    text_free(&log);
    text_free(&listing);
    return status;
}

static const struct option_description sass_options[] = {
    {"--arch", "NN", "for sm_NN; without it the GPU that is here, or 90", 0},
    {"--html", NULL, "a page: source, PTX and SASS side by side, registers and occupancy; needs nvdisasm", 0},
    {"-o", "FILE.html", "the page; without it, sass.html", 0},
    {"--listing", NULL, "the whole listing, for a pager or an editor", 0},
    {"--kernel", "FILE.cu", "this file instead of the lesson's", 0},
    {"--solution", NULL, "the course's own solution", 0},
    {0},
};

const struct command sass_command = {
    .name = "sass",
    .operand = "NN",
    .summary = "counts the GPU's instructions in a compiled kernel: those that its lesson speaks of",
    .details = "Compiles the kernel file with nvcc and disassembles it with cuobjdump or nvdisasm, all of "
               "them parts\n"
               "of the CUDA Toolkit; no GPU is needed. Says for each kernel its registers, its instructions, "
               "and how\n"
               "many of them are in its longest inner loop. How to read them: docs/reading_sass.md",
    .options = sass_options,
    .run = run_sass,
};
