/* Unit tests of the companion's parts that need no course around them: wrapped text, letters, lines that differ, bars. */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/layout.h"
#include "base/line_diff.h"
#include "base/process.h"
#include "base/text.h"
#include "companion/limits.h"
#include "companion/profile.h"

static int failures;

static void expect_text(const char *what, const char *got, const char *wanted)
{
    if (strcmp(got, wanted) == 0) return;
    printf("%s:\n%s\ninstead of:\n%s\n", what, got, wanted);
    failures++;
}

static void expect_diff(const char *old_text, const char *new_text, size_t lines, const char *wanted)
{
    struct text out = {0};
    size_t changed = line_diff(old_text, new_text, &out);
    expect_text("a difference", out.data, wanted);
    if (changed != lines) {
        printf("%zu lines differ instead of %zu\n", changed, lines);
        failures++;
    }
    text_free(&out);
}

/* What `diff -u` prints, its first two lines aside. */
static void test_line_diff(void)
{
    expect_diff("", "", 0, "");
    expect_diff("a\nb\n", "a\nb\n", 0, "");
    expect_diff("", "a\n", 1, "@@ -0,0 +1,1 @@\n+a\n");
    expect_diff("a\n", "", 1, "@@ -1,1 +0,0 @@\n-a\n");
    expect_diff("a\nb\nc\n", "a\nx\nc\n", 2, "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
    expect_diff("a\nb\nc", "b\nc\nd", 2, "@@ -1,3 +1,3 @@\n-a\n b\n c\n+d\n");
    /* Six equal lines between two changes are one hunk, seven are two. */
    expect_diff("1\na\nb\nc\nd\ne\nf\n2\n", "x\na\nb\nc\nd\ne\nf\ny\n", 4,
                "@@ -1,8 +1,8 @@\n-1\n+x\n a\n b\n c\n d\n e\n f\n-2\n+y\n");
    expect_diff("1\na\nb\nc\nd\ne\nf\ng\n2\n", "x\na\nb\nc\nd\ne\nf\ng\ny\n", 4,
                "@@ -1,4 +1,4 @@\n-1\n+x\n a\n b\n c\n@@ -6,4 +6,4 @@\n e\n f\n g\n-2\n+y\n");
    /* What stands before the beginnings is not compared; lines keep their numbers. */
    static const char mine[] = "head\nof\na\n1\n", theirs[] = "other\na\n2\n";
    struct text out = {0};
    line_diff_from(mine, mine + strlen("head\nof\n"), theirs, theirs + strlen("other\n"), &out);
    expect_text("a difference below the head", out.data, "@@ -3,2 +2,2 @@\n a\n-1\n+2\n");
    text_free(&out);
}

static void expect_wrapped(const char *text, int used, int indent, int width, const char *wanted)
{
    struct text out = {0};
    text_append(&out, "", 0);
    layout_wrap(&out, text, used, indent, width);
    expect_text("wrapped", out.data, wanted);
    text_free(&out);
}

static void test_wrap(void)
{
    setenv("LC_ALL", "C.UTF-8", 1);
    expect_wrapped("", 0, 0, 20, "");
    expect_wrapped("one two three", 0, 0, 7, "one two\nthree");
    expect_wrapped("one two three", 0, 2, 7, "one two\n  three");
    expect_wrapped("one two three", 3, 0, 7, "one\ntwo\nthree");
    expect_wrapped("incomprehensibilities of it", 0, 0, 10, "incomprehensibilities\nof it");
    expect_wrapped("a\n\nb", 0, 2, 9, "a\n\n  b");
    expect_wrapped("    code that is kept as it is", 0, 0, 9, "    code that is kept as it is");
    expect_wrapped("\xc2\xb7\xc2\xb7\xc2\xb7 \xc2\xb7\xc2\xb7\xc2\xb7", 0, 0, 7,
                   "\xc2\xb7\xc2\xb7\xc2\xb7 \xc2\xb7\xc2\xb7\xc2\xb7");
    expect_wrapped("\033[1mone\033[0m two", 0, 0, 7, "\033[1mone\033[0m two");
}

static void test_letters(void)
{
    static const struct {
        const char *all, *type, *lang;
        int utf8;
    } table[] = {{"", "", "", 0},
                 {"", "", "C", 0},
                 {"", "", "de_DE.UTF-8", 1},
                 {"C", "", "de_DE.UTF-8", 0},
                 {"", "C", "de_DE.utf8", 0},
                 {"", "C.utf8", "C", 1}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        setenv("LC_ALL", table[i].all, 1);
        setenv("LC_CTYPE", table[i].type, 1);
        setenv("LANG", table[i].lang, 1);
        if (layout_is_utf8() == table[i].utf8) continue;
        printf("%s,%s,%s: UTF-8 is %d\n", table[i].all, table[i].type, table[i].lang, !table[i].utf8);
        failures++;
    }
    setenv("LC_ALL", "C", 1);
    char *shown = layout_shown("x \xe2\x89\xa4 y\xc2\xb2 \xe2\x98\x83 \xe2");
    expect_text("in ASCII", shown, "x <= y^2 ? ?");
    free(shown);
}

static void test_bars(void)
{
    static const struct {
        double share;
        const char *bar;
    } table[] = {{0, "...."}, {1e-9, "#..."}, {0.5, "##.."}, {1, "####"}, {7, "####"}, {-1, "...."}};
    setenv("LC_ALL", "C", 1);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char *bar = layout_bar(table[i].share, 4);
        expect_text("a bar", bar, table[i].bar);
        free(bar);
    }
}

static void test_rates(void)
{
    const struct limits limits = {
        .f32_tflops = 50, .peak_f32_tflops = 60, .f16_tflops = 700, .peak_f16_tflops = 1000};
    static const struct {
        const char *shape;
        double tflops, least_us; /* of 8.4e9 operations; cuBLAS's rate where it has one */
    } table[] = {{"m 8, n 8, k 8, f32", 60, 168},
                 {"head_dim 64, causal, bf16", 1000, 12},
                 {"m 8, n 8, k 8, NT, int8 -> int32", 2000, 4.2},
                 {"m 8, n 8, k 8, NT, int8 -> f16, bias", 2000, 4.2}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const char *bound;
        double tflops = limits_compute(&limits, limits_numbers_of(table[i].shape));
        double least_us = limits_least_us(&limits, table[i].shape, 8.4e9, 0, &bound);
        if (tflops == table[i].tflops && fabs(least_us - table[i].least_us) < 1e-6) continue;
        fprintf(stderr, "%s: %g TFLOP/s, %g us\n", table[i].shape, tflops, least_us);
        failures++;
    }
}

/* Whatever a description calls a metric, `warpwise profile` knows. */
static void test_metrics(void)
{
    static const char *const titles[] = {
#define METRICS(...) __VA_ARGS__,
#define LESSON_DEF "lessons.def"
#include "description/lesson_def.h"
    };
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        size_t metric = 0;
        while (metric < profile_metric_count && strcmp(profile_metrics[metric].title, titles[i]) != 0)
            metric++;
        if (metric == profile_metric_count)
            expect_text("a metric", titles[i], "sectors per request"); /* a ratio */
    }
}

/* A signal that came before the wait ends it: without that, watch sleeps on after ^C. SIGALRM ends a test that sleeps. */
static void test_wait(void)
{
    int ends[2], ready, after;
    if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1) abort();
    struct pollfd watched = {.fd = ends[0], .events = POLLIN};
    process_catch_signals();
    ready = process_wait(&watched, 1, -1);
    raise(SIGTERM);
    alarm(60);
    after = process_wait(NULL, 0, -1);
    alarm(0);
    if (ready != 1 || after != 0 || process_interrupted() != SIGTERM) {
        printf("a wait gave %d and %d, signal %d, instead of 1 and 0, signal %d\n", ready, after,
               process_interrupted(), SIGTERM);
        failures++;
    }
}

int main(void)
{
    test_metrics();
    test_rates();
    test_line_diff();
    test_wrap();
    test_letters();
    test_bars();
    test_wait();
    if (failures == 0) printf("the companion's parts are as they should be\n");
    return failures != 0;
}
