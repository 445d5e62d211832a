/**
 * @file ranges.c
 * @brief Whether what an operation is given as device memory is.
 */
#include "runtime.h"

size_t bytes_of_rows(size_t rows, size_t pitch, size_t width)
{
    size_t before, all;
    if (__builtin_mul_overflow(rows - 1, pitch, &before)) return SIZE_MAX;
    return __builtin_add_overflow(before, width, &all) ? SIZE_MAX : all;
}

int device_range_is_valid(struct simt_site site, const void *pointer, size_t bytes, const char *role)
{
    char what[256];
    if (pointer == NULL) return 0;
    if (simt_device_contains(pointer, bytes)) return 1;
    if (simt_device_freed(pointer)) {
        simt_device_describe(pointer, bytes, what, sizeof(what));
        simt_finding("use-after-free", &site, "%s %s %zu bytes: %s", site.what, role, bytes, what);
    } else if (simt_is_device_pointer(pointer) || simt_device_contains(pointer, 1)) {
        simt_device_describe(pointer, bytes, what, sizeof(what));
        simt_finding("out-of-bounds", &site, "%s %s %zu bytes: %s", site.what, role, bytes, what);
    } else {
        simt_finding("host-pointer", &site, "%s %s %zu bytes of host memory as if it were device memory",
                     site.what, role, bytes);
    }
    return 0;
}

int operation_ranges_are_valid(const struct operation *o)
{
    if (o->kind == OPERATION_SET)
        return device_range_is_valid(
            o->site, o->as.set.to, bytes_of_rows(o->as.set.rows, o->as.set.pitch, o->as.set.width), "fills");
    if (o->kind != OPERATION_COPY) return 1;
    const struct copy_operation *c = &o->as.copy;
    int to_device = c->kind == cudaMemcpyHostToDevice || c->kind == cudaMemcpyDeviceToDevice;
    int from_device = c->kind == cudaMemcpyDeviceToHost || c->kind == cudaMemcpyDeviceToDevice;
    if (to_device &&
        !device_range_is_valid(o->site, c->to, bytes_of_rows(c->rows, c->to_pitch, c->width), "writes"))
        return 0;
    return !from_device ||
           device_range_is_valid(o->site, c->from, bytes_of_rows(c->rows, c->from_pitch, c->width), "reads");
}
