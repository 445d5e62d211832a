/**
 * @file curand_discrete.h
 * @brief Refused: simtcc says so in one sentence, and nothing behind it (simtcc/refusals.c).
 */
#error "discrete distributions are not on the software device; draw uniform numbers of curand_kernel.h"
