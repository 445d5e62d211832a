/**
 * @file report.h
 * @brief What was found, as records: given to who asked for them, or printed.
 */
#pragma once

#include "finding.h"
#include "machine.h"
#include "tools.h"

/** @brief Reports all findings of a launch and empties the list. */
void simt_report(struct vector *list, const struct simt_launch *launch);
/** @brief Reports a finding of host code that has addresses of calls (frame[]), not a site. */
void simt_report_host(const struct finding *finding);
/** @brief From now on @p take is given each finding of a launch with its record, besides. */
void simt_report_to(void (*take)(const struct finding *finding, const struct record *record));
