/**
 * @file checker_storage.c
 * @brief Storage types: exact conversions, poisons, bounds, and the verdict on tables of whole numbers.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checker/numbers/bound.h"
#include "judged_case.h"

static int failures;

void expect(int holds, const char *what, const char *found)
{
    if (holds) return;
    if (failures++ < 50) printf("FAIL %s: %s\n", what, found);
}

/* ---- conversions ----------------------------------------------------------------------------------------- */

static void expect_half(float value, unsigned half)
{
    char text[80];
    snprintf(text, sizeof text, "%a became %04x, not %04x", (double)value, storage_half_of(value), half);
    expect(storage_half_of(value) == half, "storage_half_of", text);
}

static void test_half_by_hand(void)
{
    static const struct {
        float value;
        unsigned half;
    } rows[] = {
        {0.0f, 0x0000},
        {-0.0f, 0x8000},
        {1.0f, 0x3C00},
        {-2.0f, 0xC000},
        {65504.0f, 0x7BFF},
        {65519.0f, 0x7BFF},
        {65520.0f, 0x7C00},
        {-1e10f, 0xFC00},
        {INFINITY, 0x7C00},
        {0x1p-24f, 0x0001},
        {0x1p-25f, 0x0000},
        {0x1.8p-25f, 0x0001},
        {0x1.8p-24f, 0x0002},
        {0x1p-26f, 0x0000},
        {0x1p-149f, 0x0000},
        {-0x1p-14f, 0x8400},
        {0x1.ff8p-15f, 0x03FF},
        {0x1.ffcp-15f, 0x0400},
        {0x1.fffp-15f, 0x0400},
        {1.0f + 0x1p-11f, 0x3C00},
        {1.0f + 0x3p-11f, 0x3C02},
        {1.0f + 0x1.001p-11f, 0x3C01},
        {0.1f, 0x2E66},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) expect_half(rows[i].value, rows[i].half);
    /* The second one's only payload is in bits that a half has no room for. */
    static const uint32_t nans[] = {0x7FC00000u, 0x7F800001u, 0xFF802000u};
    for (size_t i = 0; i < sizeof nans / sizeof nans[0]; i++)
        expect((storage_half_of(storage_get(STORAGE_F32, nans, i)) & 0x7FFF) > 0x7C00, "storage_half_of",
               "NaN is lost");
}

/* Every finite half, and what lies at and beside the middle between it and the next. */
static void test_every_half(void)
{
    for (unsigned half = 0; half < 0x10000; half++) {
        float value = storage_of_half((uint16_t)half);
        if ((half & 0x7FFF) > 0x7C00) {
            expect(isnan(value) && isnan(storage_of_half(storage_half_of(value))), "NaN", "is lost");
            continue;
        }
        expect_half(value, half);
        if (half >= 0x7BFF) continue;
        float next = storage_of_half((uint16_t)(half + 1)), middle = value + (next - value) / 2.0f;
        expect(next > value && middle > value && middle < next, "storage_of_half", "out of order");
        expect_half(middle, half % 2 == 0 ? half : half + 1);
        expect_half(nextafterf(middle, 0.0f), half);
        expect_half(nextafterf(middle, INFINITY), half + 1);
        expect_half(-middle, 0x8000 | (half % 2 == 0 ? half : half + 1));
    }
    double least = (double)storage_of_half(1), largest = (double)storage_of_half(0x7BFF);
    expect(least == 0x1p-24 && largest == 65504.0, "storage_of_half", "ends of the range");
}

static void test_whole(void)
{
    static const float values[] = {0.0f, -1.0f, 16777216.0f, -16777216.0f, 2.5f, 3.5f, 1e20f, -1e20f};
    static const int32_t wholes[] = {0, -1, 16777216, -16777216, 2, 4, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof wholes / sizeof wholes[0]; i++) {
        int32_t stored[2] = {77, 77};
        storage_put(STORAGE_I32, stored, 1, values[i]);
        expect(stored[0] == 77 && stored[1] == wholes[i], "int32", "stored wrongly");
        expect(storage_get(STORAGE_I32, stored, 1) == (float)wholes[i], "int32", "read wrongly");
    }
    expect(storage_bytes(STORAGE_F16) == 2 && storage_bytes(STORAGE_I32) == 4 &&
               storage_bytes(STORAGE_F32) == 4,
           "storage_bytes", "wrong");
    expect(storage_round(STORAGE_F32, 0.1f) == 0.1f && storage_round(STORAGE_F16, 0.1f) == 0x1.998p-4f,
           "storage_round", "wrong");
}

/* What is stored in one byte, and whole numbers that no float holds. */
static void test_bytes_and_words(void)
{
    static const float values[] = {0.0f, -1.0f, 127.0f, -128.0f, 128.0f, -200.0f, 2.5f, 1e20f};
    static const int8_t bytes[] = {0, -1, 127, -128, 127, -128, 2, 127};
    for (size_t i = 0; i < sizeof bytes; i++) {
        int8_t stored[3] = {77, 77, 77};
        storage_put(STORAGE_S8, stored, 1, values[i]);
        expect(stored[0] == 77 && stored[1] == bytes[i] && stored[2] == 77, "int8", "stored wrongly");
        expect(storage_get(STORAGE_S8, stored, 1) == (float)bytes[i], "int8", "read wrongly");
    }
    static const int32_t wholes[] = {2147467264, -2147467263, 16777217, INT32_MIN, 0};
    for (size_t i = 0; i < sizeof wholes / sizeof wholes[0]; i++)
        expect(storage_exact(STORAGE_I32, wholes, i) == (double)wholes[i], "storage_exact", "int32");
    const float f = 0.1f;
    expect(storage_exact(STORAGE_F32, &f, 0) == (double)f, "storage_exact", "f32");
    expect(storage_bytes(STORAGE_S8) == 1 && storage_bytes(STORAGE_BF16) == 2, "storage_bytes", "wrong");
}

static void test_bfloat16(void)
{
    static const struct {
        float value;
        uint16_t bits;
    } known[] = {{1.0f, 0x3F80},           {-2.0f, 0xC000},         {0x1.01p0f, 0x3F80},
                 {0x1.03p0f, 0x3F82},      {0x1.010002p0f, 0x3F81}, {0x1.fffffep127f, 0x7F80},
                 {0x1.fep127f, 0x7F7F},    {0x1p-133f, 0x0001},     {-0.0f, 0x8000},
                 {(float)INFINITY, 0x7F80}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        expect(storage_bfloat16_of(known[i].value) == known[i].bits, "storage_bfloat16_of",
               "rounded wrongly");
    expect(isnan(storage_round(STORAGE_BF16, (float)NAN)), "bf16", "a NaN is lost");
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        uint16_t stored[2] = {77, (uint16_t)bits}, again[2] = {77, 0};
        float value = storage_get(STORAGE_BF16, stored, 1);
        storage_put(STORAGE_BF16, again, 1, value);
        if (!isnan(value)) expect(again[1] == bits && again[0] == 77, "bf16", "not exact there and back");
    }
}

/* ---- poison ---------------------------------------------------------------------------------------------- */

static void test_poison(void)
{
    for (int i = 0; i < 2000; i++) {
        uint64_t secret = rng_mix(3, (uint64_t)i);
        for (int storage = STORAGE_F32; storage <= STORAGE_S8; storage++) {
            enum storage as = (enum storage)storage;
            uint32_t word[4] = {storage_poison(as, 0, secret), storage_poison(as, 1, secret)};
            uint32_t filled[2] = {word[0], word[0]};
            expect(word[0] != word[1], "storage_poison", "the same for both runs");
            for (size_t at = 0; at < 4 && at < sizeof filled / storage_bytes(as); at++)
                expect(storage_bits(as, filled, at) == storage_poison_bits(as, word[0], at),
                       "storage_poison_bits", storage_name(as));
            if (as == STORAGE_I32 || as == STORAGE_S8) continue;
            for (size_t at = 0; at < 4 / storage_bytes(as); at++) {
                expect(isnan(storage_get(as, &word[0], at)), "poison of run 0", "is a number");
                expect(storage_get(as, &word[1], at) >= 1024.0f && isfinite(storage_get(as, &word[1], at)),
                       "poison of run 1", "is not large and finite");
            }
            if (storage_bytes(as) != 2) continue;
            expect(word[0] >> 16 != (word[0] & 0xFFFF) && word[1] >> 16 != (word[1] & 0xFFFF),
                   "storage_poison", "neighbours are the same half");
        }
    }
    expect(storage_poison(STORAGE_F16, 0, 1ull << 4) != storage_poison(STORAGE_F16, 0, 1ull << 5),
           "storage_poison", "does not depend on the secret");
}

static void test_bounds(void)
{
    expect(bound_stored_as(STORAGE_F32, 3.0) == bound_stored(3.0), "bound_stored_as", "f32");
    expect(bound_stored_as(STORAGE_F16, -2.0) == 0x1p-10 + 0x1p-25, "bound_stored_as", "f16");
    expect(bound_stored_as(STORAGE_I32, 7.0) == 0.0, "bound_stored_as", "int32");
    expect(bound_stored_as(STORAGE_S8, 7.0) == 0.0, "bound_stored_as", "int8");
    expect(bound_stored_as(STORAGE_BF16, -2.0) == 0x1p-7 + 0x1p-126, "bound_stored_as", "bf16");
    for (double x = 1.0; x < 2.0; x += 0x1p-13)
        expect(fabs((double)storage_round(STORAGE_BF16, (float)x) - x) <= bound_stored_as(STORAGE_BF16, x),
               "bound_stored_as", "tighter than rounding to nearest");
    expect(bound_unit(STORAGE_F16) == 1e-2 && bound_unit(STORAGE_F32) == 1e-3, "bound_unit", "wrong");
    for (double x = 1.0; x < 2.0; x += 0x1p-13)
        expect(fabs((double)storage_round(STORAGE_F16, (float)x) - x) <= bound_stored_as(STORAGE_F16, x),
               "bound_stored_as", "tighter than rounding to nearest");
}

/* What is stored as a float knows of no rounding but that on the way; half's own comes on top of it. */
static void test_share(void)
{
    const double stored = bound_stored_as(STORAGE_F16, 1.0);
    expect(bound_share(STORAGE_F32, 1.0, 0.0, 0.0, 0.0) == 0.0, "bound_share", "no error of no bound");
    expect(bound_share(STORAGE_F32, 1.0, 0.5, 2.0, 0.0) == 0.25, "bound_share", "nothing is known");
    expect(bound_share(STORAGE_F32, 1.0, 1.5, 2.0, 1.0) == 0.5, "bound_share", "rounding on the way counts");
    expect(bound_share(STORAGE_F32, 1.0, 1.0, 2.0, 1.0) == 0.0, "bound_share", "rounding on the way used up");
    expect(bound_share(STORAGE_F32, 1.0, 4.0, 2.0, 1.0) == 3.0, "bound_share",
           "an excess is called too small");
    expect(bound_share(STORAGE_F16, 1.0, stored, 3.0 * stored, 0.0) == 0.0, "bound_share", "half");
    expect(fabs(bound_share(STORAGE_F16, 1.0, 2.5 * stored, 3.0 * stored, stored) - 0.5) < 1e-12,
           "bound_share", "both roundings of a half");
    expect(bound_share(STORAGE_F16, 1.0, 0.5 * stored, 0.25 * stored, 0.0) == 2.0, "bound_share",
           "a bound below the rounding that is known");
}

/* ---- whole numbers --------------------------------------------------------------------------------------- */

/* A lesson that adds 1 to a table; output 1 is to be left alone. */
static int whole_cases(struct lesson_case *cases, int capacity)
{
    if (capacity < 1) return 0;
    cases[0] = (struct lesson_case){.name = "table/one",
                                    .weight = 1,
                                    .devices = ON_ANY,
                                    .null_buffer = -1,
                                    .misaligned_buffer = -1,
                                    .untouched = 1u << 2,
                                    .repeat = 1};
    return 1;
}

static int whole_buffers(const struct lesson_case *item, struct lesson_buffer *buffers)
{
    (void)item;
    buffers[0] = LESSON_BUFFER("table", WIRE_IN, STORAGE_I32, 4);
    buffers[1] = LESSON_BUFFER("next", WIRE_OUT, STORAGE_I32, 4);
    buffers[2] = LESSON_BUFFER("out", WIRE_OUT, STORAGE_F16, 3);
    return 3;
}

static void whole_fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data)
{
    static const float values[] = {-1.0f, 5.0f, 33554432.0f, 3e9f};
    (void)item, (void)index, (void)rng;
    memcpy(data, values, elems * sizeof *data);
}

static size_t one_unit(const struct lesson_case *item)
{
    (void)item;
    return 1;
}

static size_t four_elems(const struct lesson_case *item)
{
    (void)item;
    return 4;
}

static void whole_expect(const struct lesson_case *item, const float *const *data, size_t unit,
                         struct lesson_expectation *e)
{
    (void)item, (void)unit;
    e->span_count = 1;
    e->span[0].buffer = 1;
    e->span[0].first = 0;
    e->span[0].count = 3;
    for (int i = 0; i < 3; i++) {
        e->span[0].expected[i] = e->span[0].plain[i] = (double)data[0][i] + 1.0;
        e->span[0].bound[i] = e->span[0].floor[i] = bound_stored_as(STORAGE_I32, e->span[0].expected[i]);
    }
}

static void no_cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    (void)item;
    *cost = (struct lesson_cost){0};
}

static size_t no_workspace(const struct lesson_case *item)
{
    (void)item;
    return SIZE_MAX;
}

static void describe(const struct lesson_case *item, char *text, size_t size)
{
    snprintf(text, size, "%s", item->name);
}

static void test_whole_lesson(void)
{
    static const struct lesson lesson = {.number = 91,
                                         .topic = "table",
                                         .part_count = 1,
                                         .part = {{"table", 100}},
                                         .cases = whole_cases,
                                         .buffers = whole_buffers,
                                         .fill = whole_fill,
                                         .units = one_unit,
                                         .unit_elems = four_elems,
                                         .expect = whole_expect,
                                         .cost = no_cost,
                                         .workspace_bytes = no_workspace,
                                         .describe = describe};
    for (int wrong = 0; wrong < 4; wrong++) {
        struct judged_case c;
        open_case(&c, &lesson, "table/one");
        int32_t *table = copy_of(&c, 0, 0);
        expect(table[0] == -1 && table[1] == 5 && table[2] == 33554432 && table[3] == INT32_MAX,
               "int32 input", "not as given");
        const unsigned char *sent =
            (const unsigned char *)c.session.header + session_case(&c.session, 0)->buffer[0].contents;
        expect(memcmp(sent, table, 4 * sizeof *table) == 0, "int32 input", "the runner gets something else");
        for (int run = 0; run < 2; run++) {
            int32_t *next = copy_of(&c, 1, run);
            next[2] = 33554433; /* no float has its last bit */
            next[3] = 0;
            if (wrong == 1) next[2]++;
            if (wrong == 2) storage_put(STORAGE_F16, copy_of(&c, 2, run), 1, 0.0f);
        }
        if (wrong == 3) table[3] = INT32_MAX - 1;
        static const char *const says[] = {"", "next[2] = 33554434, expected 33554433",
                                           "had to stay as it was, yet out[1]", "input modified: table[3]"};
        const struct verdict *verdict = judge_case(&c);
        expect(verdict->state == (wrong == 0 ? STATE_PASS : STATE_FAIL) &&
                   strstr(headline_of(verdict), says[wrong]) != NULL,
               "int32 lesson", headline_of(verdict));
        close_case(&c);
    }
}

int main(void)
{
    test_half_by_hand();
    test_every_half();
    test_whole();
    test_bytes_and_words();
    test_bfloat16();
    test_poison();
    test_bounds();
    test_share();
    test_whole_lesson();
    printf("checker_storage: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
