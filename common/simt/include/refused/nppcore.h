/**
 * @file nppcore.h
 * @brief Refused: simtcc says so in one sentence, and nothing behind it (simtcc/refusals.c).
 */
#error "NPP is not on the software device, which runs CUDA C++ source only"
