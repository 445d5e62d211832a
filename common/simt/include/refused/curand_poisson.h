/**
 * @file curand_poisson.h
 * @brief Refused: simtcc says so in one sentence, and nothing behind it (simtcc/refusals.c).
 */
#error "Poisson numbers are not on the software device; draw uniform or normal ones of curand_kernel.h"
