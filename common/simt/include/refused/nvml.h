/**
 * @file nvml.h
 * @brief Refused: simtcc says so in one sentence, and nothing behind it (simtcc/refusals.c).
 */
#error "NVML is not on the software device; leave the call out"
