/**
 * @file figure.h
 * @brief What the figures share. A figure is a program NN_topic.cu for the software device: it includes the solution of
 *        lesson NN, lets the solution's own device functions say who reads and owns what, and draws NN_topic*.svg.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <vector>

#include "base/svg.h"
#include "writing.h"

/** An array that host and kernel share by copying; freed at the end. */
template <typename T> struct shared_array {
    std::vector<T> host;
    T *device;
    explicit shared_array(size_t count, T value = T()) : host(count, value), device(NULL)
    {
        if (cudaMalloc((void **)&device, count * sizeof(T)) != cudaSuccess) fail("out of device memory");
        to_device();
    }
    ~shared_array() { cudaFree(device); }
    void to_device() { cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice); }
    void to_host()
    {
        if (cudaDeviceSynchronize() != cudaSuccess) fail("a kernel of the figure failed");
        cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost);
    }
    T &operator[](size_t i) { return host[i]; }
};

/** The five fills, by number; they repeat. */
inline const char *fill_of(int number)
{
    static const char *const fills[] = {"a", "b", "c", "d", "e"};
    return fills[number % 5];
}

/** A cell of a grid whose corner is at (x, y), with what is written in it, or NULL. */
inline void draw_cell(struct svg *svg, double x, double y, double width, double height, const char *fill, const char *label)
{
    svg_rect(svg, x, y, width, height, fill, "line");
    if (label != NULL && label[0] != '\0') {
        double size = height * 0.62 < 12 ? height * 0.62 : 12;
        svg_text(svg, x + width / 2, y + height / 2 + size * 0.36, size, SVG_MIDDLE, "ink", "%s", label);
    }
}

/** Writes the picture as FOLDER/NAME.svg; ends the program if that fails. */
inline void finish(struct svg *svg, const char *folder, const char *name, const char *label)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/%s.svg", folder, name);
    if (svg_write(svg, path, label) != 0) exit(1);
}
