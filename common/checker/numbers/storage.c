/**
 * @file storage.c
 * @brief Conversions bit by bit, which give the same result on every host.
 */
#include "storage.h"

#include <math.h>
#include <string.h>

#include "base/wide.h"

enum {
    F32_FRACTION = 23,
    F32_BIAS = 127,
    F16_FRACTION = 10,
    F16_BIAS = 15,
    F16_INFINITY = 0x7C00,
    F16_QUIET = 0x0200,
    CUT = F32_FRACTION - F16_FRACTION /* fraction bits of a float that do not fit in a half */
};

const char *storage_name(enum storage storage)
{
    static const char *const names[] = {"f32", "f16", "int32", "bf16", "int8"};
    return names[storage];
}

size_t storage_bytes(enum storage storage)
{
    if (storage == STORAGE_S8) return sizeof(int8_t);
    return storage == STORAGE_F16 || storage == STORAGE_BF16 ? sizeof(uint16_t) : sizeof(uint32_t);
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Computes all three cases (too large, normal, subnormal) and selects the right one, so that a compiler
 * can vectorise it. A carry out of the fraction adds one to the exponent, as it should, up to infinity. */
uint16_t storage_half_of(float value)
{
    const uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    const uint32_t bias = (uint32_t)(F32_BIAS - F16_BIAS) << F32_FRACTION, infinity = UINT32_C(0x7F800000);
    /* Normal: the bits that do not fit are rounded to nearest, ties to even. */
    uint32_t odd = magnitude >> CUT & 1, normal = (magnitude - bias + (1u << (CUT - 1)) - 1 + odd) >> CUT;
    /* Subnormal: after adding 0.5 the last bit of the float is worth 2^-24, so the addition rounds to it. */
    uint32_t subnormal = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
    uint32_t finite = magnitude < bits_of(0x1p-14f) ? subnormal : normal;
    uint32_t special =
        magnitude > infinity ? F16_INFINITY | F16_QUIET | (magnitude >> CUT & 0x3FF) : F16_INFINITY;
    return (uint16_t)(sign | (magnitude >= bits_of(0x1p16f) ? special : finite));
}

/* A carry out of the fraction is right here, too, up to infinity. */
uint16_t storage_bfloat16_of(float value)
{
    const uint32_t bits = bits_of(value), odd = bits >> 16 & 1;
    const uint32_t rounded = (bits + 0x7FFF + odd) >> 16, quieted = bits >> 16 | 0x40;
    return (uint16_t)((bits & 0x7FFFFFFF) > UINT32_C(0x7F800000) ? quieted : rounded);
}

/* Moved into place, exponent and fraction are those of a number 2^112 times too small; this holds for
 * subnormals, too. */
float storage_of_half(uint16_t half)
{
    uint32_t magnitude = (uint32_t)(half & 0x7FFF) << CUT, sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t bits = bits_of(float_of(magnitude) * 0x1p112f);
    uint32_t special = (half & F16_INFINITY) == F16_INFINITY ? UINT32_C(0x7F800000) | magnitude : 0;
    return float_of(sign | bits | special);
}

float storage_as_other(enum storage storage, float value)
{
    if (storage == STORAGE_BF16) return storage_of_half(storage_bfloat16_of(value));
    return float_of((uint32_t)storage_half_of(value) << 16);
}

/* NaN has no integer value: any result will do. */
static int32_t whole_of(float value)
{
    if (isnan(value)) return 0;
    if (value >= 0x1p31f) return INT32_MAX;
    if (value <= -0x1p31f) return INT32_MIN;
    return (int32_t)rintf(value);
}

static int8_t small_whole_of(float value)
{
    int32_t whole = whole_of(value);
    return (int8_t)(whole < INT8_MIN ? INT8_MIN : whole > INT8_MAX ? INT8_MAX : whole);
}

float storage_get(enum storage storage, const void *data, size_t at)
{
    uint32_t bits = storage_bits(storage, data, at);
    float value;
    if (storage == STORAGE_F16) return storage_of_half((uint16_t)bits);
    if (storage == STORAGE_BF16) return float_of(bits << 16);
    if (storage == STORAGE_I32) return (float)(int32_t)bits;
    if (storage == STORAGE_S8) return (float)(int8_t)bits;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double storage_exact(enum storage storage, const void *data, size_t at)
{
    if (storage == STORAGE_I32) return (double)(int32_t)storage_bits(storage, data, at);
    return (double)storage_get(storage, data, at);
}

void storage_put(enum storage storage, void *data, size_t at, float value)
{
    unsigned char *element = (unsigned char *)data + at * storage_bytes(storage);
    if (storage == STORAGE_F16 || storage == STORAGE_BF16) {
        uint16_t half = storage == STORAGE_F16 ? storage_half_of(value) : storage_bfloat16_of(value);
        memcpy(element, &half, sizeof half);
    } else if (storage == STORAGE_S8) {
        *(int8_t *)element = small_whole_of(value);
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

/* One loop per type, so that each can be vectorised. */
WIDE void storage_put_all(enum storage storage, void *data, float *values, size_t count)
{
    if (storage == STORAGE_F32) {
        memcpy(data, values, count * sizeof *values);
    } else if (storage == STORAGE_F16) {
        enum { BLOCK = 4096 }; /* as many elements as stay in L1 from one loop to the next */
        for (size_t first = 0; first < count; first += BLOCK) {
            size_t here = count - first < BLOCK ? count - first : BLOCK;
            uint16_t *half = (uint16_t *)data + first;
            for (size_t i = 0; i < here; i++) half[i] = storage_half_of(values[first + i]);
            for (size_t i = 0; i < here; i++) values[first + i] = storage_of_half(half[i]);
        }
    } else if (storage == STORAGE_BF16) {
        uint16_t *half = data;
        for (size_t i = 0; i < count; i++) half[i] = storage_bfloat16_of(values[i]);
        for (size_t i = 0; i < count; i++) values[i] = float_of((uint32_t)half[i] << 16);
    } else {
        for (size_t i = 0; i < count; i++) {
            storage_put(storage, data, i, values[i]);
            values[i] = storage_get(storage, data, i);
        }
    }
}

WIDE void storage_get_all(enum storage storage, const void *data, float *values, size_t count)
{
    const uint16_t *half = data;
    for (size_t i = 0; i < count && storage == STORAGE_F16; i++) values[i] = storage_of_half(half[i]);
    for (size_t i = 0; i < count && storage == STORAGE_BF16; i++)
        values[i] = float_of((uint32_t)half[i] << 16);
    for (size_t i = 0; i < count && storage != STORAGE_F16 && storage != STORAGE_BF16; i++)
        values[i] = storage_get(storage, data, i);
}

uint32_t storage_bits(enum storage storage, const void *data, size_t at)
{
    const unsigned char *element = (const unsigned char *)data + at * storage_bytes(storage);
    uint16_t half;
    uint32_t word;
    if (storage == STORAGE_S8) return *element;
    if (storage_bytes(storage) == sizeof half) {
        memcpy(&half, element, sizeof half);
        return half;
    }
    memcpy(&word, element, sizeof word);
    return word;
}

/* Floats of run 0 are signalling NaN: one that a kernel computes with comes out quiet, so what is still there was not written. */
uint32_t storage_poison(enum storage storage, int run, uint64_t secret)
{
    uint32_t random = (uint32_t)(run == 0 ? secret : secret >> 32);
    if (storage == STORAGE_BF16)
        return run == 0 ? (0x7F81u | (random >> 16 & 0x3E)) << 16 | 0x7F82u | (random & 0x3C)
                        : (0x4581u | (random >> 16 & 0x7E)) << 16 | 0x4580u | (random & 0x7E);
    if (storage == STORAGE_S8) /* bytes have no NaN: neighbours differ, and so do the two runs */
        return (random & 0x3F3F3F3F) | (run == 0 ? 0x40004000u : 0x80C080C0u);
    if (storage != STORAGE_F16)
        return run == 0 ? 0x7F800001u | (random & 0x3FFFFE) : 0x44800000u | (random & 0x7FFFFF);
    /* The last bit makes the two halves of the word differ. */
    uint32_t low = run == 0 ? 0x7E00u | (random & 0x1FE) : 0x7000u | (random & 0x7FE);
    uint32_t high = run == 0 ? 0x7E01u | (random >> 16 & 0x1FE) : 0x7001u | (random >> 16 & 0x7FE);
    return high << 16 | low;
}

uint32_t storage_poison_bits(enum storage storage, uint32_t poison, size_t at)
{
    if (storage == STORAGE_S8) return poison >> 8 * (at % 4) & 0xFF;
    return storage_bytes(storage) == sizeof(uint16_t) ? poison >> 16 * (at % 2) & 0xFFFF : poison;
}
