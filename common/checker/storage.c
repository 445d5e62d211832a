/**
 * @file storage.c
 * @brief Conversions by the bits, the same on every host.
 */
#include "storage.h"

#include <math.h>
#include <string.h>

enum {
    F32_FRACTION = 23,
    F32_BIAS = 127,
    F16_FRACTION = 10,
    F16_BIAS = 15,
    F16_INFINITY = 0x7C00,
    F16_QUIET = 0x0200,
    CUT = F32_FRACTION - F16_FRACTION /* bits that a half has no room for */
};

const char *storage_name(enum storage storage)
{
    static const char *const names[] = {"f32", "f16", "int32"};
    return names[storage];
}

size_t storage_bytes(enum storage storage)
{
    return storage == STORAGE_F16 ? sizeof(uint16_t) : sizeof(uint32_t);
}

/* `magnitude` without its last `shift` bits, rounded to nearest, ties to even. */
static uint32_t round_off(uint32_t magnitude, int shift)
{
    uint32_t kept = magnitude >> shift, rest = magnitude & ((UINT32_C(1) << shift) - 1);
    uint32_t half = UINT32_C(1) << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

/* A carry out of the fraction adds one to the exponent, which is what it should do, up to infinity. */
uint16_t storage_half_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, fraction = bits & 0x7FFFFF, result;
    int exponent = (int)(bits >> F32_FRACTION & 0xFF) - F32_BIAS + F16_BIAS;
    if (isnan(value)) {
        result = F16_INFINITY | F16_QUIET | fraction >> CUT;
    } else if (exponent >= 31) {
        result = F16_INFINITY;
    } else if (exponent >= 1) {
        result = round_off((uint32_t)exponent << F32_FRACTION | fraction, CUT);
    } else if (exponent >= -F16_FRACTION) { /* subnormal: the leading 1 becomes explicit and moves right */
        result = round_off(UINT32_C(1) << F32_FRACTION | fraction, CUT + 1 - exponent);
    } else {
        result = 0;
    }
    return (uint16_t)(sign | result);
}

float storage_of_half(uint16_t half)
{
    uint32_t exponent = half >> F16_FRACTION & 31, fraction = half & 0x3FF;
    if (exponent == 0) return (half >> 15 ? -0x1p-24f : 0x1p-24f) * (float)fraction;
    exponent = exponent == 31 ? 0xFF : exponent - F16_BIAS + F32_BIAS;
    uint32_t bits = (uint32_t)(half >> 15) << 31 | exponent << F32_FRACTION | fraction << CUT;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* NaN has no whole number; what it becomes is of no importance. */
static int32_t whole_of(float value)
{
    if (isnan(value)) return 0;
    if (value >= 0x1p31f) return INT32_MAX;
    if (value <= -0x1p31f) return INT32_MIN;
    return (int32_t)rintf(value);
}

float storage_get(enum storage storage, const void *data, size_t at)
{
    uint32_t bits = storage_bits(storage, data, at);
    float value;
    if (storage == STORAGE_F16) return storage_of_half((uint16_t)bits);
    if (storage == STORAGE_I32) return (float)(int32_t)bits;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void storage_put(enum storage storage, void *data, size_t at, float value)
{
    unsigned char *element = (unsigned char *)data + at * storage_bytes(storage);
    if (storage == STORAGE_F16) {
        uint16_t half = storage_half_of(value);
        memcpy(element, &half, sizeof half);
    } else if (storage == STORAGE_I32) {
        int32_t whole = whole_of(value);
        memcpy(element, &whole, sizeof whole);
    } else {
        memcpy(element, &value, sizeof value);
    }
}

float storage_round(enum storage storage, float value)
{
    uint32_t element = 0;
    storage_put(storage, &element, 0, value);
    return storage_get(storage, &element, 0);
}

uint32_t storage_bits(enum storage storage, const void *data, size_t at)
{
    const unsigned char *element = (const unsigned char *)data + at * storage_bytes(storage);
    uint16_t half;
    uint32_t word;
    if (storage == STORAGE_F16) {
        memcpy(&half, element, sizeof half);
        return half;
    }
    memcpy(&word, element, sizeof word);
    return word;
}

uint32_t storage_poison(enum storage storage, int run, uint64_t secret)
{
    uint32_t random = (uint32_t)(run == 0 ? secret : secret >> 32);
    if (storage != STORAGE_F16)
        return run == 0 ? 0x7FC00000u | (random & 0x3FFFFF) : 0x44800000u | (random & 0x7FFFFF);
    /* The last bit makes the two halves of the word differ. */
    uint32_t low = run == 0 ? 0x7E00u | (random & 0x1FE) : 0x7000u | (random & 0x7FE);
    uint32_t high = run == 0 ? 0x7E01u | (random >> 16 & 0x1FE) : 0x7001u | (random >> 16 & 0x7FE);
    return high << 16 | low;
}

uint32_t storage_poison_bits(enum storage storage, uint32_t poison, size_t at)
{
    return storage == STORAGE_F16 ? poison >> 16 * (at % 2) & 0xFFFF : poison;
}
