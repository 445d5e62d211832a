/**
 * @file object_cubin.c
 * @brief How much device memory nvcc's machine code has of its own: the variables of each ELF file for a GPU
 *        that lies in an object's section .nv_fatbin, where it is not compressed.
 *
 * No offset in it is trusted. Bytes that look like such a file count as one, variables included.
 */
#include <string.h>

#include "object_file.h"

enum { CUDA_MACHINE = 190 };

/** Copies @p size bytes from offset @p at; 0 if they lie outside. The contents of a fat binary may be
 *  unaligned. */
static int copy_out(const unsigned char *bytes, size_t length, uint64_t at, void *to, size_t size)
{
    if (at > length || size > length - at) return 0;
    memcpy(to, bytes + at, size);
    return 1;
}

/* The sections of variables: ".nv.global", and with initial values ".nv.global.init". */
static uint64_t variables_of(const unsigned char *file, size_t length)
{
    static const char variables[] = ".nv.global";
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    uint64_t sum = 0;
    if (!copy_out(file, length, 0, &header, sizeof header) || header.e_machine != CUDA_MACHINE ||
        header.e_shoff > length ||
        !copy_out(file, length, header.e_shoff + header.e_shstrndx * sizeof names, &names, sizeof names))
        return 0;
    for (unsigned i = 0; i < header.e_shnum; i++) {
        char name[sizeof variables - 1];
        if (!copy_out(file, length, header.e_shoff + i * sizeof section, &section, sizeof section))
            return sum;
        if (names.sh_offset > length ||
            !copy_out(file, length, names.sh_offset + section.sh_name, name, sizeof name))
            continue;
        if (memcmp(name, variables, sizeof name) == 0 && section.sh_size <= UINT64_MAX - sum)
            sum += section.sh_size;
    }
    return sum;
}

uint64_t object_device_bytes(const unsigned char *bytes, size_t length)
{
    uint64_t most = 0;
    for (size_t at = 0; length >= SELFMAG && at <= length - SELFMAG; at++) {
        const unsigned char *found = memchr(bytes + at, ELFMAG[0], length - at);
        if (found == NULL) break;
        at = (size_t)(found - bytes);
        if (length - at < SELFMAG || memcmp(found, ELFMAG, SELFMAG) != 0) continue;
        const uint64_t own = variables_of(found, length - at);
        if (own > most) most = own;
    }
    return most;
}
