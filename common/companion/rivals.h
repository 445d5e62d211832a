/**
 * @file rivals.h
 * @brief The kernels that `bench` compares.
 */
#pragma once

#include "course/device.h"
#include "judging/results.h"

enum { MOST_RIVALS = 24 };

/** @brief What one kernel took at one problem. */
struct rival {
    const char *name; /**< "yours", "solution", "lesson 01", "cuBLAS unfused attention" */
    double value;     /**< us on a GPU, sectors on simt */
};

/** @brief Everything measured at one case of the lesson. */
struct contest {
    const char *test_case, *shape;
    double minimum; /**< least possible number of sectors, on simt only */
    size_t count;
    struct rival rivals[MOST_RIVALS];
};

/** @brief The kernels to compare at the case of @p row: results with a name whose shape and part are the
 *         same. */
void contest_add(struct contest *contest, const char *name, const struct result_row *row,
                 const struct results *results, enum device device);
void contest_print(const struct contest *contest, enum device device);
