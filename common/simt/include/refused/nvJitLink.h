/**
 * @file nvJitLink.h
 * @brief Refused: simtcc says so in one sentence, and nothing behind it (simtcc/refusals.c).
 */
#error "nvJitLink is not on the software device; let simtcc compile the kernel"
