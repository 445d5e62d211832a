/**
 * @file random_rows.h
 * @brief Rows of numbers of a program that compares cuRAND with numbers of cuRAND's own: compared, or printed if it is built with
 *        -DWRITE. The program says before how many numbers a row has: EXACT, whose bits are compared, and CLOSE.
 */
#pragma once

#include "testing.h"

/* What one row of a test gives: bits to compare, and numbers that are about so: of floats at even places, of doubles at odd ones. */
struct results {
    unsigned long long exact[EXACT];
    double close[CLOSE];
};
#ifdef WRITE
#define COMPARE(name, got, rows) compare(#name, got, (const results *)0, rows)
#else
#define COMPARE(name, got, rows) compare(#name, got, name, rows)
#endif

/* Or prints them, where the numbers are written down. */
static void compare(const char *name, const results *got, const results *expected, size_t rows)
{
#ifdef WRITE
    (void)expected;
    printf("static const results %s[] = {\n", name);
    for (size_t row = 0; row < rows; row++) {
        printf("    {{");
        for (int i = 0; i < EXACT; i++) printf("%s0x%llx", i > 0 ? ", " : "", got[row].exact[i]);
        printf("},\n     {");
        for (int i = 0; i < CLOSE; i++) printf("%s%.15g", i > 0 ? ", " : "", got[row].close[i]);
        printf("}}%s", row + 1 < rows ? ",\n" : "};\n");
    }
#else
    for (size_t row = 0; row < rows; row++) {
        for (int i = 0; i < EXACT; i++)
            expect_equal(name, row * EXACT + i, (long long)got[row].exact[i],
                         (long long)expected[row].exact[i]);
        for (int i = 0; i < CLOSE; i++) {
            const double size = fabs(expected[row].close[i]), bound = i % 2 == 0 ? 2e-6 : 1e-13;
            expect_close(name, row * CLOSE + i, got[row].close[i], expected[row].close[i],
                         bound * (1 + size));
        }
    }
#endif
}
