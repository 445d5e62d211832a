/**
 * @file report.h
 * @brief The findings of a launch, printed.
 */
#ifndef WARPWISE_SIMT_REPORT_H
#define WARPWISE_SIMT_REPORT_H

#include "machine.h"
#include "tools.h"

/** @brief Prints all findings of a launch and empties the list. */
void simt_report(struct vector *list, const struct simt_launch *launch);

#endif
