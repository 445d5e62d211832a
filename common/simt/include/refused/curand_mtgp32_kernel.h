/**
 * @file curand_mtgp32_kernel.h
 * @brief Refused: simtcc says so in one sentence, and nothing behind it (simtcc/refusals.c).
 */
#error "the generator MTGP32 is not on the software device; use Philox of curand_kernel.h"
