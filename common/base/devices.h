/**
 * @file devices.h
 * @brief The devices that kernels run on, for all programs.
 */
#pragma once

enum device { DEVICE_SIMT, DEVICE_GPU, DEVICE_COUNT };

/** @brief "simt" or "gpu". */
static inline const char *device_name(enum device device)
{
    return device == DEVICE_GPU ? "gpu" : "simt";
}
