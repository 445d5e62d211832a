/**
 * @file measured.h
 * @brief The page docs/results/measured.md: every lesson's measured numbers, in a section each.
 */
#ifndef WARPWISE_DOCS_MEASURED_H
#define WARPWISE_DOCS_MEASURED_H

#include "records.h"

/**
 * @brief Writes the page.
 * @param[in] gpu    rows of the GPU
 * @param[in] simt   rows of the software device; may be empty
 * @param[in] folder where measured.md is to be
 * @param[in] tree   the top folder, whose lessons/ says which lessons there are
 * @return 0, or -1 if it cannot be written
 */
int write_measured_page(const struct records *gpu, const struct records *simt, const char *folder,
                        const char *tree);

#endif
