/**
 * @file nvrtc.h
 * @brief Refused: simtcc says so in one sentence, and nothing behind it (simtcc/refusals.c).
 */
#error "NVRTC is not on the software device; put the kernel into the file, and let simtcc compile it"
