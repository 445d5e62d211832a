/**
 * @file names.c
 * @brief What the source calls a variable, and which of its elements an address is.
 */
#include "names.h"
#include "machine.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- names -------------------------------------------------------------------------------------------- */

/* "2ns4tile", each identifier behind its length: where the last one begins; NULL if they do not end at @p end. */
static const char *last_identifier(const char *at, const char *end)
{
    while (at < end) {
        char *start;
        at += *at == 'L'; /* known in this file only */
        const size_t length = isdigit((unsigned char)*at) ? strtoul(at, &start, 10) : 0;
        if (length == 0 || length > (size_t)(end - start)) return NULL;
        at = start + length;
        if (at == end) return start;
    }
    return NULL;
}

/* A variable of a function stands behind the function's name, types and "E". The digits among these, as in "PA4_f" and
 * "Li64E", lead to no identifier that ends where the whole name ends. NULL: there is none. */
static char *copy_identifier(const char *linker_name, const char *end)
{
    const char *found = NULL;
    if (linker_name[2] == 'N') end -= end[-1] == 'E';
    if (linker_name[2] != 'Z') found = last_identifier(linker_name + (linker_name[2] == 'N' ? 3 : 2), end);
    for (const char *at = linker_name + 3; linker_name[2] == 'Z' && at < end && found == NULL; at++)
        if (at[-1] == 'E') found = last_identifier(at, end);
    return found != NULL ? strndup(found, (size_t)(end - found)) : NULL;
}

/* Without "_0" or "__10_": which of the variables of this name in one function it is. */
static const char *before_number(const char *linker_name, const char *end)
{
    const int closed = end[-1] == '_';
    const char *last = end - closed, *digits = last;
    while (digits - linker_name > 3 && isdigit((unsigned char)digits[-1])) digits--;
    if (digits == last || digits[-1] != '_' || (closed && digits[-2] != '_')) return end;
    return digits - 1 - closed;
}

/* "_ZZ14softmax_kernelPKfE4tile_0", "_ZL4tile", "_ZN2ns4tileE"; an optimisation appends ".constprop.0". */
char *simt_plain_name(const char *linker_name)
{
    const char *end = linker_name + strcspn(linker_name, ".");
    char *name = NULL;
    if (strncmp(linker_name, "_Z", 2) == 0 && end - linker_name > 3) {
        name = copy_identifier(linker_name, end);
        if (name == NULL) name = copy_identifier(linker_name, before_number(linker_name, end));
    }
    return name != NULL ? name : strndup(linker_name, (size_t)(end - linker_name));
}

/* ---- elements ----------------------------------------------------------------------------------------- */

/* The first index may be one that is not there. */
static void set_index(const struct simt_shape *shape, size_t element, struct record_memory *memory)
{
    memory->rank = shape->rank;
    for (int axis = 0; axis < shape->rank; axis++) {
        size_t behind = 1;
        for (int inner = axis + 1; inner < shape->rank; inner++) behind *= shape->extent[inner];
        memory->index[axis] =
            (int64_t)(axis == 0 ? element / behind : element / behind % shape->extent[axis]);
    }
}

/* Elements from the beginning, and bytes beyond that one's beginning; rows may lie apart. */
static size_t element_at(const struct simt_shape *shape, size_t offset, size_t *rest)
{
    size_t before = 0;
    if (shape->row_bytes > 0) {
        before = offset / shape->row_bytes * shape->extent[shape->rank - 1];
        offset %= shape->row_bytes;
    }
    *rest = offset % shape->element_bytes;
    return before + offset / shape->element_bytes;
}

void simt_resolve_element(const struct simt_shape *shape, ptrdiff_t where, size_t bytes,
                          struct record_memory *memory)
{
    memory->bytes = bytes;
    memory->element = shape->element_bytes;
    if (shape->is_buffer && shape->rank == 0) { /* bytes, whatever they are used for */
        memory->index[0] = where;
        return;
    }
    size_t rest;
    const size_t element = element_at(shape, (size_t)where, &rest);
    memory->byte = rest;
    memory->subscripts = !shape->is_buffer;
    set_index(shape, element, memory);
    if (shape->rank > 0 || element == 0) return;
    memory->rank = 1; /* beyond a single variable */
    memory->index[0] = (int64_t)element;
}
