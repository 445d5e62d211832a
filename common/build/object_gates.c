/**
 * @file object_gates.c
 * @brief Renames symbols in a student's object file: functions that it calls become gate_NAME, and those that
 *        it defines for the contract student_NAME. So the two processes of a graded runner stand between it
 *        and everything else (common/boundary/boundary.h).
 */
#include "object_gates.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "boundary/calls.h"
#include "object_check.h"
#include "object_file.h"

/* Functions that a kernel may call directly: they only compute, or are the device's own, which check for
 * themselves. */
static int needs_no_gate(const char *name)
{
    char *word = format_string(" %s ", name);
    int is_free = strstr(BOUNDARY_FREE, word) != NULL || strncmp(name, "_Z", 2) == 0 ||
                  strncmp(name, "simt", 4) == 0 || strncmp(name, "__tsan_", 7) == 0 ||
                  strncmp(name, "__ubsan_", 8) == 0 ||
                  strncmp(name, "__x86_indirect_thunk_", 21) == 0 || /* which is its own gate */
                  object_is_mathematics(name);
    free(word);
    return is_free;
}

static int has_gate(const char *name)
{
    static const char *const gated[] = {
#define NAME_OF(name, ...) #name,
        BOUNDARY_CALLS(NAME_OF) BOUNDARY_GATED(NAME_OF)
#undef NAME_OF
    };
    for (size_t i = 0; i < sizeof gated / sizeof gated[0]; i++)
        if (strcmp(name, gated[i]) == 0) return 1;
    return 0;
}

/* The prefix that a symbol gets; NULL: it keeps its name, as C++ names of the file itself do. */
static const char *prefix_of(const struct object *object, const Elf64_Sym *symbol)
{
    const char *name = object_symbol_name(object, symbol);
    if (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL || *name == '\0') return NULL;
    /* A function that has no gate, and is not allowed without one, gets a name that the linker does not
     * find. */
    if (symbol->st_shndx == SHN_UNDEF) return has_gate(name) || !needs_no_gate(name) ? BOUNDARY_GATE : NULL;
    if (strncmp(name, "_Z", 2) == 0 || strncmp(name, "DW.ref.", 7) == 0) return NULL;
    return BOUNDARY_STUDENT;
}

static int write_whole(const char *path, const struct object *object, const struct text *names)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    int written = file >= 0 && write(file, object->data, object->bytes) == (ssize_t)object->bytes &&
                  write(file, names->data, names->length) == (ssize_t)names->length;
    if (file >= 0 && close(file) != 0) written = 0;
    return written;
}

/* The new names are appended to the file, in a table that begins with the whole old table. */
int object_add_gates(const char *from, const char *to)
{
    struct object object = {0};
    struct text names = {0};
    int done = object_read(from, &object);
    if (done) text_append(&names, object.names, object.names_bytes);
    for (size_t i = 1; done && i < object.symbol_count; i++) {
        Elf64_Sym *symbol = (Elf64_Sym *)&object.symbol[i]; /* in memory that is ours */
        const char *prefix = prefix_of(&object, symbol);
        if (prefix == NULL) continue;
        char *name = format_string("%s%s", prefix, object_symbol_name(&object, symbol));
        symbol->st_name = (Elf64_Word)names.length;
        text_append(&names, name, strlen(name) + 1);
        free(name);
    }
    for (size_t i = 0; done && i < object.section_count; i++) {
        Elf64_Shdr *section = (Elf64_Shdr *)&object.section[i];
        if (section->sh_type != SHT_STRTAB || (const char *)object.data + section->sh_offset != object.names)
            continue;
        section->sh_offset = object.bytes;
        section->sh_size = names.length;
    }
    done = done && write_whole(to, &object, &names);
    text_free(&names);
    free(object.data);
    return done;
}
