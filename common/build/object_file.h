/**
 * @file object_file.h
 * @brief A relocatable ELF file of this machine in memory, with checked tables.
 */
#pragma once

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

struct object {
    unsigned char *data; /**< the whole file; the caller's to free */
    size_t bytes;
    const Elf64_Shdr *section;
    size_t section_count;
    const Elf64_Sym *symbol;
    size_t symbol_count;
    const char *names; /**< of symbols */
    size_t names_bytes;
    const char *section_names;
    size_t section_names_bytes;
};

/** @brief Reads the plain file at @p path into @p object, which is all zeros; 0 if it is not an object for
 *         this machine. */
int object_read(const char *path, struct object *object);
/** @brief 1 if these bytes lie in the file. */
int object_holds(const struct object *object, uint64_t offset, uint64_t bytes);
/** @brief The names of a section and a symbol, "" for none. */
const char *object_symbol_name(const struct object *object, const Elf64_Sym *symbol);
const char *object_section_name(const struct object *object, const Elf64_Shdr *section);
/** @brief Bytes that variables (without constants) take in the largest machine code within a section
 *         .nv_fatbin of @p length bytes. 0 if there is none, or none that is not compressed. */
uint64_t object_device_bytes(const unsigned char *bytes, size_t length);
