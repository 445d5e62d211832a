/**
 * @file limits.c
 * @brief What a GPU can do, measured here or recorded elsewhere: the two lines of a roofline.
 */
#include "limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "course/device.h"
#include "figures.h"

static double recorded(const struct figures *figures, const char *kernel, const char *metric)
{
    double value = figures_value(figures, "limits", kernel, "", metric);
    return isfinite(value) ? value : 0;
}

int limits_find(struct limits *limits)
{
    *limits = (struct limits){0};
    if (device_probe(DEVICE_GPU)->usable && device_measure()->count) {
        const struct device_facts *facts = device_measure();
        char *path = figures_path(figures_device(DEVICE_GPU));
        limits->device = figures_device(DEVICE_GPU);
        limits->measured = 1;
        limits->copy_gbps = device_fact(facts, "copy_gbps");
        limits->f32_tflops = device_fact(facts, "f32_tflops");
        limits->f16_tflops = device_fact(facts, "f16_tflops");
        limits->launch_us = device_fact(facts, "launch_us");
        limits->peak_f32_tflops = device_fact(facts, "peak_tflops");
        limits->peak_f16_tflops = device_fact(facts, "peak_f16_tflops");
        figures_read(path, &limits->figures);
        free(path);
        return EXIT_PASS;
    }
    limits->device = figures_of_some_gpu(&limits->figures);
    if (limits->device == NULL) return EXIT_SKIPPED;
    limits->copy_gbps = recorded(&limits->figures, "copy", "gb_per_s");
    limits->f32_tflops = recorded(&limits->figures, "cuBLAS f32", "tflops");
    limits->f16_tflops = recorded(&limits->figures, "cuBLAS f16", "tflops");
    limits->launch_us = recorded(&limits->figures, "launch", "time");
    limits->peak_f32_tflops = recorded(&limits->figures, "peak f32", "tflops");
    limits->peak_f16_tflops = recorded(&limits->figures, "peak f16", "tflops");
    for (size_t i = 0; i < limits->figures.count && limits->date == NULL; i++)
        if (strcmp(limits->figures.items[i].lesson, "limits") == 0)
            limits->date = limits->figures.items[i].date;
    return limits->copy_gbps > 0 ? EXIT_PASS : EXIT_SKIPPED;
}

enum limits_numbers limits_numbers_of(const char *shape)
{
    return strstr(shape, "int8") != NULL  ? LIMITS_INT8
           : strstr(shape, "f16") != NULL ? LIMITS_F16
                                          : LIMITS_F32;
}

double limits_compute(const struct limits *limits, enum limits_numbers numbers)
{
    double f32 = fmax(limits->peak_f32_tflops, limits->f32_tflops);
    double f16 = fmax(limits->peak_f16_tflops, limits->f16_tflops);
    return numbers == LIMITS_F32 ? f32 : numbers == LIMITS_F16 ? f16 : 2 * limits->peak_f16_tflops;
}

double limits_least_us(const struct limits *limits, const char *shape, double flop, double min_bytes,
                       const char **bound)
{
    enum limits_numbers numbers = limits_numbers_of(shape);
    double product = numbers == LIMITS_F32   ? limits->f32_tflops
                     : numbers == LIMITS_F16 ? limits->f16_tflops
                                             : limits_compute(limits, numbers);
    double memory_us = limits->copy_gbps > 0 ? min_bytes / limits->copy_gbps * 1e-3 : 0;
    double compute_us = product > 0 ? flop / product * 1e-6 : 0;
    double least_us = memory_us > compute_us ? memory_us : compute_us;
    *bound = least_us < 2 * limits->launch_us ? "latency" : memory_us > compute_us ? "memory" : "compute";
    return least_us;
}
