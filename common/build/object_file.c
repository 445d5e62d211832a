/**
 * @file object_file.c
 * @brief A reader of relocatable ELF files that trusts no offset in them.
 */
#include "object_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

enum { MOST_BYTES = 256 << 20 };

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#else
#define OWN_MACHINE EM_AARCH64
#endif

int object_holds(const struct object *object, uint64_t offset, uint64_t bytes)
{
    return offset <= object->bytes && bytes <= object->bytes - offset && offset % 1 == 0;
}

/* A string of a table, "" if it lies outside of it. */
static const char *string_at(const char *table, size_t bytes, uint32_t at)
{
    return at < bytes && memchr(table + at, '\0', bytes - at) != NULL ? table + at : "";
}

const char *object_symbol_name(const struct object *object, const Elf64_Sym *symbol)
{
    return string_at(object->names, object->names_bytes, symbol->st_name);
}

const char *object_section_name(const struct object *object, const Elf64_Shdr *section)
{
    return string_at(object->section_names, object->section_names_bytes, section->sh_name);
}

static const Elf64_Shdr *section_at(const struct object *object, size_t index)
{
    return index < object->section_count ? &object->section[index] : NULL;
}

static int string_table(const struct object *object, size_t index, const char **table, size_t *bytes)
{
    const Elf64_Shdr *section = section_at(object, index);
    if (section == NULL || section->sh_type != SHT_STRTAB ||
        !object_holds(object, section->sh_offset, section->sh_size))
        return 0;
    *table = (const char *)object->data + section->sh_offset;
    *bytes = section->sh_size;
    return 1;
}

static int read_symbols(struct object *object)
{
    for (size_t i = 0; i < object->section_count; i++) {
        const Elf64_Shdr *section = &object->section[i];
        if (section->sh_type != SHT_SYMTAB) continue;
        if (object->symbol != NULL || section->sh_entsize != sizeof(Elf64_Sym) ||
            section->sh_offset % 8 != 0 || !object_holds(object, section->sh_offset, section->sh_size))
            return 0;
        object->symbol = (const Elf64_Sym *)(const void *)(object->data + section->sh_offset);
        object->symbol_count = section->sh_size / sizeof(Elf64_Sym);
        if (!string_table(object, section->sh_link, &object->names, &object->names_bytes)) return 0;
    }
    return object->symbol != NULL;
}

/* 1 if it is an object for this machine whose tables all lie within the file. */
static int parse(struct object *object)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)object->data;
    if (object->bytes < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return 0;
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) return 0;
    if (header->e_type != ET_REL || header->e_machine != OWN_MACHINE) return 0;
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff % 8 != 0) return 0;
    if (!object_holds(object, header->e_shoff, sizeof(Elf64_Shdr))) return 0;
    object->section = (const Elf64_Shdr *)(const void *)(object->data + header->e_shoff);
    object->section_count = header->e_shnum ? header->e_shnum : object->section[0].sh_size;
    if (object->section_count > object->bytes / sizeof(Elf64_Shdr) ||
        !object_holds(object, header->e_shoff, object->section_count * sizeof(Elf64_Shdr)))
        return 0;
    size_t names = header->e_shstrndx == SHN_XINDEX ? object->section[0].sh_link : header->e_shstrndx;
    return string_table(object, names, &object->section_names, &object->section_names_bytes) &&
           read_symbols(object);
}

static int read_bytes(const char *path, struct object *object)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), whole = 0;
    if (file < 0) return 0;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size < MOST_BYTES) {
        object->data = must_allocate((size_t)status.st_size);
        while (object->bytes < (size_t)status.st_size) {
            ssize_t got = read(file, object->data + object->bytes, (size_t)status.st_size - object->bytes);
            if (got <= 0) break;
            object->bytes += (size_t)got;
        }
        whole = object->bytes == (size_t)status.st_size;
    }
    close(file);
    return whole;
}

int object_read(const char *path, struct object *object)
{
    return read_bytes(path, object) && parse(object);
}
