/**
 * @file surface_indirect_functions.h
 * @brief Refused: simtcc says so in one sentence, and nothing behind it (simtcc/refusals.c).
 */
#error "surfaces are not on the software device; read and write plain memory"
