/**
 * @file source_sum.h
 * @brief What a kernel file says to a compiler, as one number: to see whether it is still the one that was measured.
 */
#pragma once

/**
 * @brief A sum of the code of lesson @p folder's solution and of every file of the tree that it includes, comments and white space
 *        aside. Files are looked for beside the one that includes them, in the lesson, in common/contracts and in common/decode.
 * @return whole, below 2^48, so that a double holds it; 0 if there is no solution
 */
double source_sum(const char *tree, const char *folder);
