/**
 * @file device.h
 * @brief Which devices are here, and what they can do.
 */
#pragma once

#include <stddef.h>

#include "base/devices.h"

enum { MAX_LIMITS = 64 };

/** @brief The time of a library of this GPU at a lesson's case. */
struct device_peer {
    char *test_case, *library; /**< "f32/len_4096", "cuBLAS unfused attention" */
    double us;
};

/** @brief What `device_limits` says about the GPU, as names and values. */
struct device_facts {
    int usable;   /**< 1 if kernels can run on it */
    char *reason; /**< why not, one sentence without its full stop */
    char *model;  /**< "NVIDIA H200" */
    int arch;     /**< 90 for sm_90 */
    size_t count; /**< facts below */
    char *name[MAX_LIMITS];
    char *value[MAX_LIMITS];
    size_t peer_count; /**< peers below */
    struct device_peer peer[MAX_LIMITS];
};

/** @brief Whether kernels can run on @p device here and now; asked once for each device. */
const struct device_facts *device_probe(enum device device);
/** @brief Before device_measure(): of the libraries here, only those at @p test_case, and at others named so, are to be measured; "": at none. */
void device_measure_peers_of(const char *test_case);
/** @brief Measures the limits of the GPU, once. The result has no facts if that did not work. */
const struct device_facts *device_measure(void);
/** @brief The fact called @p name, or 0. */
double device_fact(const struct device_facts *facts, const char *name);

/** @brief The devices that --device asks for. */
struct device_choice {
    int wanted[DEVICE_COUNT];
    int explicitly; /**< named by the user: missing it is an end, not a note */
};
/** @brief Reads "gpu", "simt", "both" or NULL (both); EXIT_PASS or EXIT_TROUBLE. */
int device_choose(const char *word, struct device_choice *choice);
