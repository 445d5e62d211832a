/**
 * @file sha256.c
 * @brief The SHA-256 sum of FIPS 180-4: builds are kept under the sum of everything that went into them.
 *
 * A sum that nobody can forge, because a grader keeps the builds of many students side by side: nobody may
 * write a file that finds another's build under its name.
 */
#include "sha256.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t value, int bits)
{
    return value >> bits | value << (32 - bits);
}

static void absorb_block(struct sha256 *hash)
{
    uint32_t word[64], s[8];
    for (int i = 0; i < 16; i++) {
        const unsigned char *bytes = hash->block + 4 * i;
        word[i] = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    }
    for (int i = 16; i < 64; i++) {
        uint32_t low = rotate(word[i - 15], 7) ^ rotate(word[i - 15], 18) ^ word[i - 15] >> 3;
        uint32_t high = rotate(word[i - 2], 17) ^ rotate(word[i - 2], 19) ^ word[i - 2] >> 10;
        word[i] = word[i - 16] + low + word[i - 7] + high;
    }
    for (int i = 0; i < 8; i++) s[i] = hash->state[i];
    for (int i = 0; i < 64; i++) {
        uint32_t choose = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        uint32_t sum_e = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
        uint32_t sum_a = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
        uint32_t first = s[7] + sum_e + choose + round_constant[i] + word[i];
        memmove(s + 1, s, 7 * sizeof s[0]);
        s[4] += first;
        s[0] = first + sum_a + majority;
    }
    for (int i = 0; i < 8; i++) hash->state[i] += s[i];
}

void sha256_begin(struct sha256 *hash)
{
    /* First 32 bits of the fractional parts of the square roots of the first 8 primes. */
    static const unsigned start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(hash->state, start, sizeof start);
    hash->length = 0;
}

void sha256_add(struct sha256 *hash, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++) {
        hash->block[hash->length++ % 64] = bytes[i];
        if (hash->length % 64 == 0) absorb_block(hash);
    }
}

void sha256_end(struct sha256 *hash, char digits[65])
{
    unsigned long long bits = hash->length * 8;
    unsigned char length_bytes[8];
    sha256_add(hash, "\x80", 1);
    while (hash->length % 64 != 56) sha256_add(hash, "", 1);
    for (int i = 0; i < 8; i++) length_bytes[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(hash, length_bytes, sizeof length_bytes);
    for (int i = 0; i < 8; i++) snprintf(digits + 8 * i, 9, "%08x", hash->state[i]);
}
