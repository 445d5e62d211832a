/**
 * @file cusparse.h
 * @brief Refused: simtcc says so in one sentence, and nothing behind it (simtcc/refusals.c).
 */
#error "cuSPARSE is not on the software device; write the product as a kernel, or compute it on the host"
