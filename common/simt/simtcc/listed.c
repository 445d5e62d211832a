/**
 * @file listed.c
 * @brief Some versions of g++ list a function that has copies in other objects by its place in a section which the linker drops.
 *
 * The linker then refuses the second object ("defined in discarded section"); or it drops the object's list
 * with the section, if the list is bound to it, and then the object's kernels are not recognised as kernels.
 * If the list uses the function's symbol it refers to the copy that is kept, and a list that is not bound to
 * the section stays.
 */
#include "listed.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/** An object file in memory; parts that would lie outside of the file count as missing. */
struct object {
    unsigned char *data;
    size_t size;
    Elf64_Shdr *sections;
    size_t count;
};

static void *part(const struct object *o, uint64_t offset, uint64_t size)
{
    return offset <= o->size && size <= o->size - offset && offset % 8 == 0 ? o->data + offset : NULL;
}

static int is_object(struct object *o)
{
    const Elf64_Ehdr *header = part(o, 0, sizeof(*header));
    if (header == NULL || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return 0;
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_REL) return 0;
    if (header->e_shentsize != sizeof(Elf64_Shdr)) return 0;
    o->sections = part(o, header->e_shoff, sizeof(Elf64_Shdr));
    if (o->sections == NULL) return 0;
    /* counts beyond 65,279 are stored in the first section */
    o->count = header->e_shnum != 0 ? header->e_shnum : o->sections[0].sh_size;
    return o->count <= o->size / sizeof(Elf64_Shdr) &&
           part(o, header->e_shoff, o->count * sizeof(Elf64_Shdr)) != NULL;
}

/** A function with a symbol that begins at @p offset of section @p section, or less than 16 bytes after
 *  it; 0 if none does. */
static uint32_t function_at(const Elf64_Sym *symbols, size_t count, size_t section, uint64_t offset)
{
    enum { MOST_BEFORE = 16 }; /* number of bytes before a listed function's entry */
    for (size_t i = 1; i < count; i++)
        if (symbols[i].st_shndx == section && ELF64_ST_BIND(symbols[i].st_info) != STB_LOCAL &&
            symbols[i].st_value >= offset && symbols[i].st_value - offset < MOST_BEFORE)
            return (uint32_t)i;
    return 0;
}

/** The entries that @p list, a section of relocations, applies to. */
static void name_functions(const struct object *o, const Elf64_Shdr *list)
{
    if (list->sh_link >= o->count) return;
    const Elf64_Shdr *table = &o->sections[list->sh_link];
    Elf64_Rela *entries = part(o, list->sh_offset, list->sh_size);
    const Elf64_Sym *symbols = part(o, table->sh_offset, table->sh_size);
    const size_t entry_count = list->sh_size / sizeof(*entries),
                 symbol_count = table->sh_size / sizeof(*symbols);
    for (size_t i = 0; entries != NULL && symbols != NULL && i < entry_count; i++) {
        const size_t from = ELF64_R_SYM(entries[i].r_info);
        if (from >= symbol_count || ELF64_ST_TYPE(symbols[from].st_info) != STT_SECTION) continue;
        const size_t section = symbols[from].st_shndx;
        if (section >= o->count || (o->sections[section].sh_flags & SHF_GROUP) == 0) continue;
        const uint32_t to = function_at(symbols, symbol_count, section, (uint64_t)entries[i].r_addend);
        if (to == 0) continue;
        entries[i].r_info = ELF64_R_INFO((uint64_t)to, ELF64_R_TYPE(entries[i].r_info));
        entries[i].r_addend -= (int64_t)symbols[to].st_value;
    }
}

static int is_called(const struct object *o, const Elf64_Shdr *section, const char *wanted)
{
    const Elf64_Ehdr *header = (const void *)o->data;
    const size_t names = header->e_shstrndx != SHN_XINDEX ? header->e_shstrndx : o->sections[0].sh_link;
    if (names >= o->count) return 0;
    const uint64_t at = o->sections[names].sh_offset + section->sh_name;
    return at < o->size && o->size - at > strlen(wanted) &&
           memcmp(o->data + at, wanted, strlen(wanted) + 1) == 0;
}

static void mend(struct object *o, Elf64_Shdr *section)
{
    if (section->sh_type == SHT_RELA && (section->sh_flags & SHF_GROUP) == 0 &&
        is_called(o, section, ".rela__patchable_function_entries"))
        name_functions(o, section);
    if (section->sh_type != SHT_RELA && is_called(o, section, "__patchable_function_entries")) {
        section->sh_flags &= ~(Elf64_Xword)SHF_LINK_ORDER;
        section->sh_link = 0;
    }
}

void listed_by_name(const char *path)
{
    struct stat status;
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    if (fstat(file, &status) == 0 && status.st_size > 0) {
        struct object o = {.size = (size_t)status.st_size};
        void *data = mmap(NULL, o.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (data != MAP_FAILED) {
            o.data = data;
            if (is_object(&o))
                for (size_t i = 1; i < o.count; i++) mend(&o, &o.sections[i]);
            (void)munmap(data, o.size);
        }
    }
    (void)close(file);
}
