/**
 * @file build_checks.c
 * @brief The rules for an untrusted kernel file while it is built, with the sentences of refusals: the same
 *        for a submission (build_untrusted.c) and, so that nobody is surprised, for a student's own check
 *        (build.c).
 */
#include "build_checks.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "course/places.h"
#include "machine_code.h"
#include "object_check.h"
#include "object_file.h"
#include "source_check.h"

static const char *name_of(const struct recipe *recipe)
{
    return strrchr(recipe->kernel, '/') + 1;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static void add_matches(struct argument_list *list, const char *pattern)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++) argument_add(list, copy_string(found.gl_pathv[i]));
    globfree(&found);
}

/* A compiler outside of the system's folders is made visible together with the folder above its own. */
static void add_installation(struct argument_list *list, const char *compiler)
{
    char *path = *compiler ? realpath(compiler, NULL) : NULL;
    if (path == NULL || strncmp(path, "/usr/", 5) == 0 || strncmp(path, "/opt/", 5) == 0) {
        free(path);
        return;
    }
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (slash != NULL && slash != path) *slash = '\0';
    }
    argument_add(list, path);
}

/* The files that compilers may read: their own, the headers that kernel files need, and this one file.
 * Solutions, tests and the oracle are not among them. */
void checks_readable(const struct recipe *recipe, struct argument_list *list)
{
    argument_add(list, in_build("bin/simtcc"));
    argument_add(list, in_build("lib"));
    argument_add(list, in_source("common/simt/include"));
    argument_add(list, in_source("common/simt/machine.h"));
    add_matches(list, in_source("common/contracts/*.h"));
    add_matches(list, in_source("common/decode/*.h"));
    argument_add(list, format_string("%s/lessons/%s", places.source_dir, recipe->lesson->name));
    argument_add(list, recipe->kernel);
    add_installation(list, places.cxx);
    add_installation(list, places.nvcc);
    size_t kept = 0; /* what is not there cannot be shown; the compiler will say what it misses */
    for (size_t i = 0; i < list->count; i++)
        if (access(list->items[i], F_OK) == 0) list->items[kept++] = list->items[i];
    list->items[list->count = kept] = NULL;
}

/* Resolves paths as the kernel does; files that are not there are left out. */
static void add_real(struct argument_list *list, const char *path)
{
    char *real = realpath(path, NULL);
    if (real != NULL) argument_add(list, real);
}

static void free_paths(struct argument_list *list)
{
    for (size_t i = 0; i < list->count; i++) free((char *)list->items[i]);
    free(list->items);
}

char *checks_dependencies(const struct recipe *recipe, const char *list, const char *inside)
{
    static const char *const systems[] = {"/usr", "/opt", "/nix/store", "/gnu/store"};
    struct text sentence = {0};
    struct argument_list readable = {0}, folders = {0}, trees = {0}, shown = {0};
    checks_readable(recipe, &readable);
    for (size_t i = 0; i < readable.count; i++) add_real(&shown, readable.items[i]);
    add_real(&shown, in_source("common/simt"));
    add_real(&shown, inside); /* the compiler driver's own copies */
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++)
        argument_add(&folders, copy_string(systems[i]));
    for (size_t i = 0; i < shown.count; i++) argument_add(&folders, copy_string(shown.items[i]));
    add_real(&trees, places.source_dir);
    add_real(&trees, places.binary_dir);
    struct source_places rules = {folders.items, trees.items, shown.items};
    source_check_dependencies(list, recipe->kernel, name_of(recipe), &rules, &sentence);
    free(readable.items);
    free_paths(&folders);
    free_paths(&trees);
    free_paths(&shown);
    return sentence.data;
}

/* ---- text ---------------------------------------------------------------------------------------------- */

char *checks_text(const struct recipe *recipe, const char *source)
{
    struct text sentence = {0};
    source_check_text(source, name_of(recipe), recipe->lesson, &sentence);
    return sentence.data;
}

char *checks_preprocessed(const struct recipe *recipe, const char *text)
{
    struct text sentence = {0};
    source_check_preprocessed(text, recipe->kernel, name_of(recipe), &sentence);
    return sentence.data;
}

char *checks_headers(const struct recipe *recipe, const char *text, const char *plain, const char *plain_file)
{
    struct text sentence = {0};
    source_check_headers(text, recipe->kernel, plain, plain_file, name_of(recipe), &sentence);
    return sentence.data;
}

/* ---- the object ---------------------------------------------------------------------------------------- */

/* All headers of the device as one text, to look words up in. */
static void read_headers(const char *pattern, struct text *text)
{
    glob_t found;
    text_append(text, "", 0);
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++) read_file(found.gl_pathv[i], text);
    globfree(&found);
}

char *checks_object(const struct recipe *recipe, const char *source, const char *path, int is_own)
{
    struct text contract = {0}, headers = {0};
    struct object_finding finding;
    /* other headers of its folder hold given device code */
    const struct lesson_folder *lesson = recipe->lesson;
    char *pattern = format_string("%s/lessons/%s/%s.h", places.source_dir, lesson->name, lesson->topic);
    read_headers(pattern, &contract);
    source_blank_comments(contract.data); /* what a comment names is not declared */
    if (recipe->device == DEVICE_SIMT) {
        read_headers(in_source("common/simt/include/*.h"), &headers);
        read_headers(in_source("common/simt/include/simt/*.h"), &headers);
    }
    struct object_rules rules = {recipe->device, is_own, contract.data,
                                 headers.data != NULL ? headers.data : ""};
    int fine = object_check(path, &rules, &finding);
    text_free(&contract);
    text_free(&headers);
    free(pattern);
    if (fine) return NULL;
    int line = finding.symbol != NULL ? source_line_of(source, finding.symbol) : 0;
    return line ? format_string("%s:%d: %s", name_of(recipe), line, finding.message)
                : format_string("%s: %s", name_of(recipe), finding.message);
}

/* ---- machine code -------------------------------------------------------------------------------------- */

/* Sections of an object that nobody writes and the variables in them, and names in its code: the caller frees both lists. */
static struct machine_code_tables tables_of(const struct object *object)
{
    const uint64_t kinds = SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR | SHF_TLS;
    struct machine_code_tables tables = {0};
    tables.constant =
        must_allocate((object->section_count + object->symbol_count + 1) * sizeof *tables.constant);
    tables.symbol = must_allocate((object->symbol_count + 1) * sizeof *tables.symbol);
    for (size_t i = 1; i < object->section_count; i++) {
        const Elf64_Shdr *section = &object->section[i];
        if ((section->sh_flags & kinds) != SHF_ALLOC) continue;
        tables.constant[tables.constant_count++] =
            (struct machine_code_constant){object_section_name(object, section), section->sh_size};
    }
    for (size_t i = 1; i < object->symbol_count; i++) {
        const Elf64_Sym *symbol = &object->symbol[i];
        if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= object->section_count) continue;
        const Elf64_Shdr *section = &object->section[symbol->st_shndx];
        const char *name = object_symbol_name(object, symbol);
        if ((section->sh_flags & SHF_EXECINSTR) != 0 && *name != '\0')
            tables.symbol[tables.symbol_count++] =
                (struct machine_code_symbol){name, object_section_name(object, section), symbol->st_value};
        if ((section->sh_flags & kinds) != SHF_ALLOC || !*name) continue;
        const uint64_t most = section->sh_size - symbol->st_value; /* a label's size is not known */
        if (symbol->st_value > section->sh_size) continue;
        tables.constant[tables.constant_count++] = (struct machine_code_constant){
            name, symbol->st_size > 0 && symbol->st_size < most ? symbol->st_size : most};
    }
    return tables;
}

char *checks_machine_code(const struct recipe *recipe, const char *path, const char *disassembly,
                          struct machine_code_frames *frames, struct machine_code_accesses *unproven,
                          char **section, unsigned long *address)
{
    struct object object = {0};
    struct machine_code_finding finding;
    char *sentence = NULL;
    if (!object_read(path, &object)) object = (struct object){0};
    const struct machine_code_tables tables = tables_of(&object);
    *section = NULL;
    if (!machine_code_check(disassembly, &tables, frames, unproven, &finding)) {
        sentence = finding.section != NULL
                       ? format_string("its machine code \"%s\" (in %s) %s", finding.instruction,
                                       finding.function, finding.message)
                       : format_string("%s: %s", name_of(recipe), finding.message);
        *section = finding.section;
        *address = finding.address;
        free(finding.instruction);
        free(finding.function);
    }
    free(tables.constant);
    free(tables.symbol);
    free(object.data);
    return sentence;
}
