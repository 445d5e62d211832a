/**
 * @file cuda_fp4.h
 * @brief Refused: simtcc says so in one sentence, and nothing behind it (simtcc/refusals.c).
 */
#error "floats of four bits are not on the software device, which has those of eight in cuda_fp8.h"
