/**
 * @file sha256.h
 * @brief The SHA-256 sum of FIPS 180-4.
 */
#pragma once

#include <stddef.h>

struct sha256 {
    unsigned state[8];
    unsigned char block[64];
    unsigned long long length;
};
void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *data, size_t length);
/** @brief Ends the sum: 64 hexadecimal digits and a zero. */
void sha256_end(struct sha256 *hash, char digits[65]);
