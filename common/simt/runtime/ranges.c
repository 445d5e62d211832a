/**
 * @file ranges.c
 * @brief Checks whether the memory that an operation receives is device memory.
 */
#include "runtime.h"

size_t bytes_of_rows(size_t rows, size_t pitch, size_t width)
{
    size_t before, all;
    if (__builtin_mul_overflow(rows - 1, pitch, &before)) return SIZE_MAX;
    return __builtin_add_overflow(before, width, &all) ? SIZE_MAX : all;
}

int device_range_is_valid(struct simt_site site, const void *pointer, size_t bytes, enum role role)
{
    if (pointer == NULL) return 0;
    if (simt_device_contains(pointer, bytes)) return 1;
    const struct simt_words words = {
        .name = {site.what}, .number = {role, (int64_t)bytes}, .memory = pointer, .bytes = bytes};
    if (simt_device_freed(pointer))
        simt_finding(RECORD_USE_AFTER_FREE, &site, RECORD_SAYS_RANGE, &words);
    else if (simt_is_device_pointer(pointer) || simt_device_contains(pointer, 1))
        simt_finding(RECORD_OUT_OF_BOUNDS, &site, RECORD_SAYS_RANGE, &words);
    else
        simt_finding(RECORD_HOST_POINTER, &site, RECORD_SAYS_HOST_AS_DEVICE,
                     SIMT_SAYS(.name = {site.what}, .number = {role, (int64_t)bytes}));
    return 0;
}

int operation_ranges_are_valid(const struct operation *o)
{
    if (o->kind == OPERATION_SET)
        return device_range_is_valid(o->site, o->as.set.to,
                                     bytes_of_rows(o->as.set.rows, o->as.set.pitch, o->as.set.width),
                                     ROLE_FILLS);
    if (o->kind != OPERATION_COPY) return 1;
    const struct copy_operation *c = &o->as.copy;
    int to_device = c->kind == cudaMemcpyHostToDevice || c->kind == cudaMemcpyDeviceToDevice;
    int from_device = c->kind == cudaMemcpyDeviceToHost || c->kind == cudaMemcpyDeviceToDevice;
    if (to_device &&
        !device_range_is_valid(o->site, c->to, bytes_of_rows(c->rows, c->to_pitch, c->width), ROLE_WRITES))
        return 0;
    return !from_device || device_range_is_valid(o->site, c->from,
                                                 bytes_of_rows(c->rows, c->from_pitch, c->width), ROLE_READS);
}
