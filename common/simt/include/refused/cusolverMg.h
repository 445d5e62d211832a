/**
 * @file cusolverMg.h
 * @brief Refused: simtcc says so in one sentence, and nothing behind it (simtcc/refusals.c).
 */
#error "cuSOLVER is not on the software device; solve the system on the host"
