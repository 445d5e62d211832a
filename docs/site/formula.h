/**
 * @file formula.h
 * @brief Formulas of the pages: the part of TeX's notation that they use, turned into MathML.
 *
 * Known: letters, digits and operators; x_i, x^2, {groups}; \frac, \sqrt, \text{...}, \mathrm{...} and the commands of the table in
 * formula.c; \left and \right; \begin{aligned} rows with & and \\ \end{aligned}. Forges that know TeX show the same formulas.
 */
#pragma once

#include "writing.h"

/**
 * @brief Appends a formula as a <math> element.
 * @param[in,out] out   grows by the element, on one line
 * @param[in]     tex   the formula, without the dollars
 * @param[in]     block not 0 for a formula on lines of its own
 * @return NULL, or what is not understood (a static string or one that lives until the next call)
 */
const char *math_to_mathml(struct text *out, const char *tex, int block);
