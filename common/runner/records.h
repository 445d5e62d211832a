/**
 * @file records.h
 * @brief What the software device finds, on its way to the checker.
 */
#pragma once

#include "protocol/wire.h"

/** @brief From now on what is found goes into @p image, which @p descriptor is the file of; 0, or -1 if it cannot be mapped. */
int records_open(const struct wire_header *image, int descriptor);

/** @brief What is found from now on belongs to case @p index, also what is found at the end of the process. */
void records_belong_to(uint32_t index);
