/**
 * @file nccl.h
 * @brief Refused: simtcc says so in one sentence, and nothing behind it (simtcc/refusals.c).
 */
#error "NCCL is not on the software device, which is one device"
