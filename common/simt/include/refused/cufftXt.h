/**
 * @file cufftXt.h
 * @brief Refused: simtcc says so in one sentence, and nothing behind it (simtcc/refusals.c).
 */
#error "cuFFT is not on the software device; compute the transform on the host or in a kernel of your own"
