/**
 * @file failing_place.h
 * @brief Where a kernel file went wrong, as far as the report of a check says: regions of the file, and the pattern.
 */
#ifndef WARPWISE_COMPANION_FAILING_PLACE_H
#define WARPWISE_COMPANION_FAILING_PLACE_H

#include <stddef.h>

enum { MOST_PLACES = 4 };

/** @brief What a report says about the cause, most telling first. */
struct failing_place {
    char *
        region[MOST_PLACES]; /**< regions that the compiler or a finding of the device names by their lines */
    size_t count;
    char *pattern; /**< what the wrong elements of the first case have in common, or NULL */
};

/** @brief Reads it off @p report, a report about the kernel file at @p kernel. */
void failing_place_read(const char *report, const char *kernel, struct failing_place *place);
void failing_place_add(struct failing_place *place, const char *region);

#endif
