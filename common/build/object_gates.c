/**
 * @file object_gates.c
 * @brief Renames symbols in a student's object file: functions that it calls become gate_NAME, and those that
 *        it defines for the contract student_NAME. So the two processes of a graded runner stand between it
 *        and everything else (common/boundary/boundary.h). And adds what machine_code.c has found out about its functions' frames.
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

/* The prefix that a symbol gets; NULL: it keeps its name, as C++ names of the file itself do. */
static const char *prefix_of(const struct object *object, const Elf64_Sym *symbol)
{
    const char *name = object_symbol_name(object, symbol);
    if (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL || *name == '\0') return NULL;
    /* A function that has no gate, and is not allowed without one, gets a name that the linker does not
     * find. */
    if (symbol->st_shndx == SHN_UNDEF)
        return object_has_gate(name) || !object_needs_no_gate(name) ? BOUNDARY_GATE : NULL;
    if (strncmp(name, "_Z", 2) == 0) return NULL;
    return BOUNDARY_STUDENT;
}

static int write_whole(const char *path, const struct object *object, const struct text *more)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    int written = file >= 0 && write(file, object->data, object->bytes) == (ssize_t)object->bytes &&
                  write(file, more->data, more->length) == (ssize_t)more->length;
    if (file >= 0 && close(file) != 0) written = 0;
    return written;
}

/* Tables begin at multiples of 8 bytes of the file. Returns where. */
static size_t begin_table(const struct object *object, struct text *more)
{
    static const char zeros[8];
    const size_t end = object->bytes + more->length;
    text_append(more, zeros, (8 - end % 8) % 8);
    return object->bytes + more->length;
}

/* A symbol in the section of this name, or 0. */
static size_t symbol_in(const struct object *object, const char *section)
{
    for (size_t i = 1; i < object->symbol_count; i++) {
        const size_t of = object->symbol[i].st_shndx;
        if (of > 0 && of < object->section_count && ELF64_ST_TYPE(object->symbol[i].st_info) != STT_TLS &&
            strcmp(object_section_name(object, &object->section[of]), section) == 0)
            return i;
    }
    return 0;
}

/* The table simt_frames, rows as in simt/machine/frames.c, in a section of its own; and its relocations. */
static int add_frames(const struct object *object, const struct machine_code_frames *frames,
                      Elf64_Shdr section[2], struct text *more)
{
    section[0] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                              .sh_flags = SHF_ALLOC,
                              .sh_addralign = 8,
                              .sh_offset = begin_table(object, more)};
    for (size_t i = 0; i < frames->count; i++) {
        const int32_t row[4] = {0, 0, (int32_t)frames->frame[i].low, (int32_t)frames->frame[i].high};
        text_append(more, (const char *)row, sizeof row);
    }
    section[0].sh_size = frames->count * 4 * sizeof(int32_t);
    section[1] = (Elf64_Shdr){.sh_type = SHT_RELA,
                              .sh_flags = SHF_INFO_LINK,
                              .sh_addralign = 8,
                              .sh_entsize = sizeof(Elf64_Rela),
                              .sh_info = (Elf64_Word)object->section_count,
                              .sh_size = frames->count * sizeof(Elf64_Rela),
                              .sh_offset = begin_table(object, more)};
    for (size_t i = 0; i < object->section_count; i++)
        if (object->section[i].sh_type == SHT_SYMTAB) section[1].sh_link = (Elf64_Word)i;
    for (size_t i = 0; i < frames->count; i++) {
        const size_t symbol = symbol_in(object, frames->frame[i].section);
        const Elf64_Rela relocation = {
            .r_offset = i * 4 * sizeof(int32_t),
            .r_info = ELF64_R_INFO(symbol, R_X86_64_64),
            .r_addend = (Elf64_Sxword)(frames->frame[i].address - object->symbol[symbol].st_value)};
        text_append(more, (const char *)&relocation, sizeof relocation);
        if (symbol == 0) return 0;
    }
    return 1;
}

/* New names, which are appended to the file in a table that begins with the whole old table. */
static void rename_symbols(struct object *object, Elf64_Shdr *section, struct text *more)
{
    struct text names = {0};
    text_append(&names, object->names, object->names_bytes);
    for (size_t i = 1; i < object->symbol_count; i++) {
        Elf64_Sym *symbol = (Elf64_Sym *)&object->symbol[i]; /* in memory that is ours */
        const char *prefix = prefix_of(object, symbol);
        if (prefix == NULL) continue;
        char *name = format_string("%s%s", prefix, object_symbol_name(object, symbol));
        symbol->st_name = (Elf64_Word)names.length;
        text_append(&names, name, strlen(name) + 1);
        free(name);
    }
    for (size_t i = 0; i < object->section_count; i++) {
        if (section[i].sh_type != SHT_STRTAB ||
            (const char *)object->data + section[i].sh_offset != object->names)
            continue;
        section[i].sh_offset = begin_table(object, more);
        section[i].sh_size = names.length;
    }
    text_append(more, names.data, names.length);
    text_free(&names);
}

/* The names of sections, with two more. */
static void name_sections(const struct object *object, Elf64_Shdr *section, struct text *more)
{
    static const char names[] = ".relasimt_frames";
    const size_t at = begin_table(object, more);
    text_append(more, object->section_names, object->section_names_bytes);
    text_append(more, names, sizeof names);
    for (size_t i = 0; i < object->section_count; i++)
        if ((const char *)object->data + section[i].sh_offset == object->section_names &&
            section[i].sh_type == SHT_STRTAB) {
            section[i].sh_offset = at;
            section[i].sh_size = object->section_names_bytes + sizeof names;
        }
    section[object->section_count].sh_name = (Elf64_Word)(object->section_names_bytes + strlen(".rela"));
    section[object->section_count + 1].sh_name = (Elf64_Word)object->section_names_bytes;
}

int object_add_gates(const char *from, const char *to, const struct machine_code_frames *frames)
{
    struct object object = {0};
    struct text more = {0};
    if (!object_read(from, &object) || object.section_count + 2 >= SHN_LORESERVE ||
        object.names == object.section_names) {
        free(object.data);
        return 0;
    }
    Elf64_Shdr *section = must_allocate((object.section_count + 2) * sizeof *section);
    memcpy(section, object.section, object.section_count * sizeof *section);
    rename_symbols(&object, section, &more);
    int done = 1;
    size_t count = object.section_count;
    if (frames->count > 0) {
        done = add_frames(&object, frames, section + count, &more);
        name_sections(&object, section, &more);
        count += 2;
    }
    Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)object.data;
    header->e_shoff = begin_table(&object, &more);
    header->e_shnum = (Elf64_Half)count;
    text_append(&more, (const char *)section, count * sizeof *section);
    done = done && write_whole(to, &object, &more);
    text_free(&more);
    free(section);
    free(object.data);
    return done;
}
