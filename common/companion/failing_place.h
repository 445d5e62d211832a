/**
 * @file failing_place.h
 * @brief Where a kernel file went wrong, as far as a check says: regions of the file, and the usual cause.
 */
#pragma once

#include <stddef.h>

#include "judging/judging.h"

enum { MOST_PLACES = 4 };

/** @brief What a check says about the cause, the most specific first. */
struct failing_place {
    /** regions that the compiler or a finding of the device names by their lines */
    char *region[MOST_PLACES];
    size_t count;
    enum record_cause cause; /**< cause of the first case that the report shows; 0: not known */
};

/** @brief Fills @p place from @p judgement about the kernel file at @p kernel. */
void failing_place_read(const struct judgement *judgement, const char *kernel, struct failing_place *place);
void failing_place_add(struct failing_place *place, const char *region);
