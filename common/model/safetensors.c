/**
 * @file safetensors.c
 * @brief Maps files of tensors, and checks everything that their headers say.
 */
#include "safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

enum { LENGTH_BYTES = 8, MOST_HEADER = 100000000 /* the format's own limit */ };

static const struct {
    const char *name;
    enum tensor_dtype dtype;
    int bits;
} DTYPES[] = {{"F32", TENSOR_F32, 32},   {"F16", TENSOR_F16, 16},      {"BF16", TENSOR_BF16, 16},
              {"F64", TENSOR_OTHER, 64}, {"I64", TENSOR_OTHER, 64},    {"U64", TENSOR_OTHER, 64},
              {"I32", TENSOR_OTHER, 32}, {"U32", TENSOR_OTHER, 32},    {"I16", TENSOR_OTHER, 16},
              {"U16", TENSOR_OTHER, 16}, {"I8", TENSOR_OTHER, 8},      {"U8", TENSOR_OTHER, 8},
              {"BOOL", TENSOR_OTHER, 8}, {"F8_E4M3", TENSOR_OTHER, 8}, {"F8_E5M2", TENSOR_OTHER, 8}};

static int refuse(const struct tensor_file *file, const char *name, const char *what, char error[MODEL_ERROR])
{
    snprintf(error, MODEL_ERROR, "%.200s: %s%.100s%s%.180s", file->path, name != NULL ? "tensor '" : "",
             name != NULL ? name : "", name != NULL ? "' " : "", what);
    return -1;
}

size_t tensor_dtype_bytes(enum tensor_dtype dtype)
{
    return dtype == TENSOR_F32 ? 4 : dtype == TENSOR_OTHER ? 0 : 2;
}

/* ---- the header ------------------------------------------------------------------------------------------- */

/* Reads the element type, and its width in @p bits. */
static int take_dtype(const struct json_value *value, struct tensor *tensor, int *bits)
{
    for (size_t i = 0; i < sizeof DTYPES / sizeof DTYPES[0]; i++) {
        if (!json_is(value, DTYPES[i].name)) continue;
        tensor->dtype = DTYPES[i].dtype;
        tensor->dtype_name = DTYPES[i].name;
        *bits = DTYPES[i].bits;
        return 0;
    }
    return -1;
}

/* Reads the shape, and multiplies its extents; -1 if it is invalid or the product overflows. */
static int take_shape(const struct json *json, const struct json_value *value, struct tensor *tensor)
{
    if (value == NULL || value->kind != JSON_ARRAY || value->count > TENSOR_MOST_RANK) return -1;
    tensor->elems = 1;
    for (const struct json_value *m = json_first(json, value); m != NULL; m = json_next(json, m)) {
        if (m->kind != JSON_NUMBER || !m->is_integer || m->integer < 0) return -1;
        tensor->shape[tensor->rank++] = m->integer;
        if (__builtin_mul_overflow(tensor->elems, (size_t)m->integer, &tensor->elems)) return -1;
    }
    return tensor->elems > SIZE_MAX / 8 ? -1 : 0;
}

/* Reads the two offsets, which must be in order and not negative. */
static int take_offsets(const struct json *json, const struct json_value *value, size_t offset[2])
{
    if (value == NULL || value->kind != JSON_ARRAY || value->count != 2) return -1;
    const struct json_value *m = json_first(json, value);
    for (int i = 0; i < 2; i++, m = json_next(json, m)) {
        if (m->kind != JSON_NUMBER || !m->is_integer || m->integer < 0) return -1;
        offset[i] = (size_t)m->integer;
    }
    return offset[0] <= offset[1] ? 0 : -1;
}

static int take_tensor(struct tensor_file *file, const struct json_value *entry, size_t data_begin,
                       char error[MODEL_ERROR])
{
    struct tensor *tensor = &file->tensors[file->count];
    size_t offset[2], data_bytes = file->size - data_begin;
    int bits = 0;
    *tensor = (struct tensor){.name = entry->key};
    if (entry->kind != JSON_OBJECT || strlen(entry->key) != entry->key_length)
        return refuse(file, entry->key, "is described by no object", error);
    if (take_dtype(json_find(&file->header, entry, "dtype"), tensor, &bits) != 0)
        return refuse(file, entry->key, "has an element type that the format does not know", error);
    if (take_shape(&file->header, json_find(&file->header, entry, "shape"), tensor) != 0)
        return refuse(file, entry->key, "has a shape that is none, or is too large", error);
    if (take_offsets(&file->header, json_find(&file->header, entry, "data_offsets"), offset) != 0)
        return refuse(file, entry->key, "has offsets that are none", error);
    if (offset[1] > data_bytes) {
        char what[160];
        snprintf(what, sizeof what,
                 "ends at byte %zu of the data, of which there are %zu: the file is cut off, or its header "
                 "is wrong",
                 offset[1], data_bytes);
        return refuse(file, entry->key, what, error);
    }
    tensor->bytes = offset[1] - offset[0];
    if (tensor->bytes != tensor->elems * (size_t)bits / 8)
        return refuse(file, entry->key, "is not as long as its shape and element type say", error);
    tensor->data = file->mapping + data_begin + offset[0];
    file->count++;
    return 0;
}

static int by_data(const void *a, const void *b)
{
    const struct tensor *x = a, *y = b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    /* sorts empty tensors before others that begin at the same place */
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tensor *)a)->name, ((const struct tensor *)b)->name);
}

/* Checks that every byte of the data belongs to exactly one tensor, and that names are unique. */
static int check_cover(struct tensor_file *file, size_t data_begin, char error[MODEL_ERROR])
{
    const unsigned char *expected = file->mapping + data_begin;
    qsort(file->tensors, file->count, sizeof *file->tensors, by_data);
    for (size_t i = 0; i < file->count; i++) {
        if (file->tensors[i].data != expected)
            return refuse(file, file->tensors[i].name, "overlaps another one, or leaves a hole before itself",
                          error);
        expected += file->tensors[i].bytes;
    }
    if (expected != file->mapping + file->size)
        return refuse(file, NULL, "there are bytes at its end that belong to no tensor", error);
    qsort(file->tensors, file->count, sizeof *file->tensors, by_name);
    for (size_t i = 1; i < file->count; i++)
        if (strcmp(file->tensors[i - 1].name, file->tensors[i].name) == 0)
            return refuse(file, file->tensors[i].name, "is described twice", error);
    return 0;
}

static int read_header(struct tensor_file *file, char error[MODEL_ERROR])
{
    char inner[MODEL_ERROR];
    uint64_t length = 0;
    if (file->size < LENGTH_BYTES)
        return refuse(file, NULL, "it is shorter than the length of a header", error);
    for (int i = LENGTH_BYTES - 1; i >= 0; i--) length = length << 8 | file->mapping[i];
    if (length > MOST_HEADER || length > file->size - LENGTH_BYTES)
        return refuse(file, NULL, "its header is longer than the file, or than a header may be", error);
    size_t data_begin = LENGTH_BYTES + (size_t)length;
    char *text = must_allocate((size_t)length + 1);
    memcpy(text, file->mapping + LENGTH_BYTES, (size_t)length);
    text[length] = '\0';
    if (json_parse(&file->header, text, (size_t)length, inner) != 0) return refuse(file, NULL, inner, error);
    const struct json_value *root = json_root(&file->header);
    if (root->kind != JSON_OBJECT) return refuse(file, NULL, "its header is no object", error);
    file->tensors = must_allocate((root->count + 1) * sizeof *file->tensors);
    for (const struct json_value *m = json_first(&file->header, root); m != NULL;
         m = json_next(&file->header, m)) {
        if (strcmp(m->key, "__metadata__") == 0) continue;
        if (take_tensor(file, m, data_begin, error) != 0) return -1;
    }
    return check_cover(file, data_begin, error);
}

/* ---- the file --------------------------------------------------------------------------------------------- */

int tensor_file_open(struct tensor_file *file, const char *path, char error[MODEL_ERROR])
{
    struct stat status;
    *file = (struct tensor_file){.path = copy_string(path)};
    int opened = open(path, O_RDONLY | O_CLOEXEC);
    int trouble = opened < 0 || fstat(opened, &status) != 0 ? errno : 0;
    if (trouble == 0 && !S_ISREG(status.st_mode)) trouble = EISDIR;
    if (trouble == 0 && status.st_size > 0) {
        file->size = (size_t)status.st_size;
        file->mapping = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, opened, 0);
        if (file->mapping == MAP_FAILED) {
            trouble = errno;
            file->mapping = NULL;
        }
    }
    if (opened >= 0) close(opened);
    int failed = trouble ? refuse(file, NULL, strerror(trouble), error) : read_header(file, error);
    if (failed) tensor_file_close(file);
    return failed;
}

void tensor_file_close(struct tensor_file *file)
{
    if (file->mapping != NULL) munmap(file->mapping, file->size);
    json_free(&file->header);
    free(file->tensors);
    free(file->path);
    *file = (struct tensor_file){0};
}

const struct tensor *tensor_find(const struct tensor_file *file, const char *name)
{
    struct tensor wanted = {.name = name};
    if (file->count == 0) return NULL;
    return bsearch(&wanted, file->tensors, file->count, sizeof *file->tensors, by_name);
}

/* ---- elements --------------------------------------------------------------------------------------------- */

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE 754 binary16: a subnormal number is its fraction in units of 2^-24. */
static float float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
    if (exponent == 0) {
        float value = (float)fraction / 16777216.0f;
        return sign ? -value : value;
    }
    return float_of_bits(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13);
}

void tensor_to_floats(const struct tensor *tensor, size_t first, size_t count, float *to)
{
    const unsigned char *from = tensor->data + first * tensor_dtype_bytes(tensor->dtype);
    if (tensor->dtype == TENSOR_F32) {
        memcpy(to, from, count * sizeof *to);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint16_t bits = (uint16_t)(from[2 * i] | from[2 * i + 1] << 8);
        to[i] = tensor->dtype == TENSOR_F16 ? float_of_half(bits) : float_of_bits((uint32_t)bits << 16);
    }
}
