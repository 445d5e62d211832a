/**
 * @file untrusted.c
 * @brief What is read of an untrusted kernel file: its text, what the preprocessor made of it, the files that the compiler
 *        opened, and what of the compiler's messages may be shown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "build/build.h"
#include "build/build_messages.h"
#include "build/object_file.h"
#include "build/source_check.h"
#include "course/course.h"

static int failures;

static void expect(int holds, const char *what, const char *got)
{
    if (holds) return;
    failures++;
    printf("FAIL %s: %s\n", what, got != NULL ? got : "(nothing)");
}

/* ---- text ---------------------------------------------------------------------------------------------- */

/* Each must be refused with these words, or taken where they are NULL. */
static const struct {
    const char *text, *says;
} texts[] = {
    {"int a; // größer, it's fine\n", NULL},
    {"const char *s = \"größe /../ solutions/x.cu\";\n", NULL},
    {"\xef\xbb\xbfint a;\n", NULL},
    {"int a;\r\nint b; // c \\\r\nint d;\r\n", NULL},
    {"#pragma GCC diagnostic ignored \"-Wall\"\n#pragma GCC unroll 4\n#pragma unroll\n", NULL},
    {"_Pragma(\"unroll 4\") for (;;) {}\n", NULL},
    {"#include <algorithm>\n#include <vector>\n", NULL},
    {"enum { A = 1'000, B = 0xFF'FF };\nconst char c = '\"';\nint d;\n", NULL},
    {"#if 0\nthis doesn't count\n#endif\n#error don't\n", NULL},
    {"#define F(a /* ) */, b) a + b\n", NULL},
    {"auto s = LR_\"R\";\n", NULL},
    {"// \xff\n", "t.cu:1: a byte that is not valid UTF-8"},
    {"\n// \xc0\xaf\n", "t.cu:2: a byte that is not valid UTF-8"},
    {"// \xed\xa0\x80\n", "not valid UTF-8"},
    {"// \xf4\x90\x80\x80\n", "not valid UTF-8"},
    {"int gr\xc3\xb6\xc3\x9f"
     "e;\n",
     "letters beyond ASCII"},
    {"int a; // \x1b[31m\n", "a control character"},
    {"int a;\rint b;\n", "a control character"},
    {"int \\u0061sm;\n", "a backslash"},
    /* the line that a scanner of its own lost its place after */
    {"#pragma unroll \x80R\"(\" 1'0 /*)\"\n#include \"/etc/passwd\"\n// */\n", "not valid UTF-8"},
    {"#pragma unroll R\"(\" 1'0 /*)\"\n#include \"/etc/passwd\"\n// */\n", "raw string literals"},
    {"#error R\"(\n#include \"/etc/passwd\"\n)\"\n", "raw string literals"},
    {"#define F(a /*) \" */ ) R\"(\"\n", "raw string literals"},
    {"#include </*>\n#include \"/etc/passwd\"\n// */\n", "must name its file plainly"},
    {"#include \"../../solutions/a.h\"\n", "includes ../../solutions/a.h"},
    {"#inc\\\nlude \"/etc/passwd\"\n", "t.cu:1: includes /etc/passwd"},
    {"int a;\n%:include </etc/passwd>\n", "t.cu:2: includes /etc/passwd"},
    {"/* a */ # /* b */ include \"/etc/passwd\"\n", "includes /etc/passwd"},
    {"#define NAME </etc/passwd>\n#include NAME\n", "must name its file plainly"},
    {"#pragma GCC optimize(\"O0\")\n", "#pragma GCC is not allowed"},
    {"#pragma GCC system_header\n", "#pragma GCC is not allowed"},
    {"#pragma GCC poison x\n", "#pragma GCC is not allowed"},
    {"#pragma push_macro(\"a\")\n", "#pragma push_macro is not allowed"},
    {"_Pragma(\"GCC system_header\")\n", "#pragma GCC is not allowed"},
    {"_Pragma(\"unroll \\\" R\")\n", "takes a plain string"},
    {"#line 3 \"x\"\n", "#line is no directive"},
    {"#if __has_include(</etc/shadow>)\n", "__has_include is nothing"},
    {"#define A __attribute__((constructor)) void f();\n", "constructor is nothing"},
    {"int a = __builtin_memcpy(p, q, 3);\n", "__builtin_memcpy is nothing"},
};

static void test_texts(void)
{
    static const struct lesson_folder lesson = {
        .name = "01_naive_attention", .number = "01", .topic = "naive_attention"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct text sentence = {0};
        int fine = source_check_text(texts[i].text, "t.cu", &lesson, &sentence);
        expect(fine == (texts[i].says == NULL) && (fine || strstr(sentence.data, texts[i].says) != NULL),
               texts[i].text, sentence.data);
        text_free(&sentence);
    }
    expect(source_line_of("int a; // exit\n\"exit\"\n\\\n exit();\n", "exit") == 4, "line of a word", "");
    char text[] = "f(\"//\"); // g(\n/* h */ i('/*');\n";
    source_blank_comments(text);
    expect(strcmp(text, "f(\"//\");      \n        i('/*');\n") == 0, "comments blanked out", text);
}

static void test_preprocessed(void)
{
    static const struct {
        const char *text, *says;
    } made[] = {
        {"# 1 \"/usr/a.h\"\n__attribute__((constructor)) asm(\"\");\n# 5 \"/x/t.cu\" 2\nint a;\n", NULL},
        {"# 5 \"/x/t.cu\"\n\nconst char *s = \"/usr/../etc\"; int a[2]; a[b[1]] = 2;\n", NULL},
        {"# 5 \"/x/t.cu\"\n\nasm(\"nop\");\n", "t.cu:6: inline assembly"},
        {"# 1 \"/x/t.cu\"\n# 1 \"/usr/a.h\" 1\n\n# 9 \"/x/t.cu\" 2\n[[gnu::constructor]] void f();\n",
         "t.cu:9: the attribute constructor"},
        {"# 1 \"/x/t.cu\"\nvoid f() __attribute__((section(\".init_array\")));\n",
         "the section \".init_array\""},
        {"# 1 \"/x/t.cu\"\n#pragma weak f\n", "#pragma weak"},
        {"# 1 \"/x/t.cu\"\n#ident \"x\"\n", "#ident is no directive"},
    };
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        struct text sentence = {0};
        int fine = source_check_preprocessed(made[i].text, "/x/t.cu", "t.cu", &sentence);
        expect(fine == (made[i].says == NULL) && (fine || strstr(sentence.data, made[i].says) != NULL),
               made[i].text, sentence.data);
        text_free(&sentence);
    }
}

/* ---- files --------------------------------------------------------------------------------------------- */

/* A tree of its own: /usr stands for the system, shown/ of the tree may be opened, hidden/ not. */
static void test_dependencies(void)
{
    char folder[] = "/tmp/warpwise_untrusted_XXXXXX";
    if (mkdtemp(folder) == NULL) exit(2);
    const char *const names[] = {"shown", "hidden", "shown/a b.h", "hidden/a.h", "outside.h"};
    for (int i = 0; i < 5; i++) {
        char *path = format_string("%s/%s", folder, names[i]);
        if (i < 2 ? mkdir(path, 0755) != 0 : write_file(path, "", 0) != 0) exit(2);
        free(path);
    }
    char *shown = format_string("%s/shown", folder), *link = format_string("%s/shown/link.h", folder);
    char *hidden = format_string("%s/hidden/a.h", folder);
    if (symlink(hidden, link) != 0) exit(2);
    const char *const folders[] = {"/usr", shown, folder, NULL}, *const trees[] = {folder, NULL},
                      *const of[] = {shown, NULL};
    const struct source_places places = {folders, trees, of};
    const struct {
        char *list;
        int fine;
    } lists[] = {{format_string("t.o: /x/t.cu \\\n /usr/include/stdio.h %s/shown/a\\ b.h\n", folder), 1},
                 {format_string("t.o: /x/t.cu /usr/include/../include/stdio.h \\\n\n"), 1},
                 {format_string("t.o: /x/t.cu /etc/passwd\n"), 0},
                 {format_string("t.o: /x/t.cu /usr/../etc/passwd\n"), 0},
                 {format_string("t.o: /x/t.cu %s/hidden/a.h\n", folder), 0},
                 {format_string("t.o: /x/t.cu %s/shown/../hidden/a.h\n", folder), 0},
                 {format_string("t.o: /x/t.cu %s/shown/link.h\n", folder), 0},
                 {format_string("t.o: /x/t.cu %s/shown/none.h\n", folder), 0},
                 {format_string("t.o: /x/t.cu %s/outside.h\n", folder), 0}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct text sentence = {0};
        int fine = source_check_dependencies(lists[i].list, "/x/t.cu", "t.cu", &places, &sentence);
        expect(fine == lists[i].fine && (fine || strstr(sentence.data, "t.cu: the compiler opened ") != NULL),
               lists[i].list, sentence.data);
        text_free(&sentence);
        free(lists[i].list);
    }
    remove_tree(folder);
    free(shown);
    free(hidden);
    free(link);
}

/* ---- messages ------------------------------------------------------------------------------------------ */

static void test_messages(void)
{
    static const char *const folders[] = {"/usr", NULL};
    static const char source[] = "int a;\n\tint b = c;\n";
    static const struct {
        const char *line;
        int stays;
    } lines[] = {{"t.cu:2:9: error: 'c' was not declared", 1},
                 {"    2 |         int b = c;", 1},
                 {"      |                 ^~", 1},
                 {"    1 | root:x:0:0:root:/root:/bin/bash", 0},
                 {"/etc/passwd:1:1: error: 'root' does not name a type", 0},
                 {"/usr/../etc/passwd:1:1: error: 'root' does not name a type", 0},
                 {"../../solutions/x.cu:4:1: error: secret", 0},
                 {"In file included from /etc/passwd:1,", 0},
                 {"In file included from /usr/include/stdio.h:27,", 1},
                 {"/usr/include/stdio.h:3:1: note: declared here", 1},
                 {"   12 | extern int printf (const char *__restrict __format, ...);", 0},
                 {"/usr/bin/ld: kernel.o: undefined reference to `f'", 1},
                 {"/etc/passwd(1): error: expected a declaration", 0},
                 {"  root:x:0:0:root:/root:/bin/bash", 0},
                 {"      int b = c;", 1},
                 {"              ^", 1}};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char *text = format_string("first\n%s\nlast\n", lines[i].line);
        build_keep_own_lines(source, folders, text);
        expect((strstr(text, lines[i].line) != NULL) == lines[i].stays, lines[i].line, text);
        expect(strncmp(text, "first\n", 6) == 0 && strcmp(text + strlen(text) - 5, "last\n") == 0,
               "the others", text);
        free(text);
    }
}

/* ---- variables in machine code for a GPU ------------------------------------------------------------------ */

enum { SECTIONS = 5, NAMES_AT = sizeof(Elf64_Ehdr), SECTIONS_AT = NAMES_AT + 64, BEFORE = 3 };

/* A fat binary, unaligned in its section, with sections of variables, of constants, and of variables with first values. */
static size_t make_fat_binary(unsigned char *bytes, unsigned machine)
{
    static const char names[] = "\0.nv.global\0.nv.constant3\0.nv.global.init";
    static const struct {
        unsigned name, size;
    } of[SECTIONS] = {{0, 0}, {1, 100000}, {12, 65536}, {26, 7}, {4000000000u, 1}};
    Elf64_Ehdr header = {.e_machine = (Elf64_Half)machine, .e_shoff = SECTIONS_AT, .e_shnum = SECTIONS};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    memset(bytes, 0x7f, BEFORE);
    bytes += BEFORE;
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + NAMES_AT, names, sizeof names);
    for (int i = 0; i < SECTIONS; i++) {
        Elf64_Shdr section = {
            .sh_name = of[i].name, .sh_size = of[i].size, .sh_offset = i == 0 ? NAMES_AT : 0};
        memcpy(bytes + SECTIONS_AT + (size_t)i * sizeof section, &section, sizeof section);
    }
    return BEFORE + SECTIONS_AT + SECTIONS * sizeof(Elf64_Shdr);
}

static void test_device_bytes(void)
{
    unsigned char bytes[1024];
    const size_t length = make_fat_binary(bytes, 190);
    expect(object_device_bytes(bytes, length) == 100007, "variables with first values and without", NULL);
    for (size_t cut = 0; cut <= length; cut++) { /* in a place of its own, whose end a sanitizer knows */
        unsigned char *some = malloc(cut + 1);
        if (some == NULL) exit(2);
        memcpy(some, bytes, cut);
        expect(object_device_bytes(some, cut) <= 100007, "a fat binary that was cut off", NULL);
        free(some);
    }
    for (size_t i = BEFORE; i < length; i++) {
        const unsigned char was = bytes[i];
        bytes[i] = 0xff;
        (void)object_device_bytes(bytes, length);
        bytes[i] = was;
    }
    make_fat_binary(bytes, EM_X86_64);
    expect(object_device_bytes(bytes, length) == 0, "code of another machine", NULL);
}

static void test_compilers(void)
{
    const char *const lacks = build_untrusted_compiler_lacks("Clang", NULL);
    expect(lacks != NULL && strstr(lacks, "g++ alone") != NULL, "clang grades nobody", lacks);
    const char *const unoptimised = build_untrusted_compiler_lacks("GNU", "-O0");
    expect(unoptimised != NULL && strstr(unoptimised, "WARPWISE_SIMT_OPTIMISE") != NULL, "-O0 grades nobody",
           unoptimised);
    expect(build_untrusted_compiler_lacks("GNU", NULL) == NULL, "g++ grades", NULL);
    expect(build_untrusted_compiler_lacks("GNU", "-Og") == NULL, "g++ -Og grades", NULL);
}

int main(void)
{
    test_compilers();
    test_device_bytes();
    test_texts();
    test_preprocessed();
    test_dependencies();
    test_messages();
    printf("untrusted: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
