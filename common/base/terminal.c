/**
 * @file terminal.c
 * @brief Colours where they are wanted, one-sentence complaints, progress, and numbers people can read.
 */
#include "terminal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* https://no-color.org: any non-empty value turns colours off. */
static int colours_wanted(void)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if (no_color != NULL && *no_color) return 0;
    return isatty(STDOUT_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

const char *colour_on(enum colour colour)
{
    static const char *const codes[] = {"", "\033[31m", "\033[32m", "\033[33m", "\033[1m", "\033[2m"};
    return colours_wanted() ? codes[colour] : "";
}

const char *colour_off(void)
{
    return colours_wanted() ? "\033[0m" : "";
}

static char kept_complaint[2000];
static int keeping;

void complaints_keep(int keep)
{
    if (keep) kept_complaint[0] = '\0';
    keeping = keep;
}

const char *complaint_kept(void)
{
    return kept_complaint;
}

int complain(const char *format, ...)
{
    va_list arguments;
    if (keeping) {
        va_start(arguments, format);
        vsnprintf(kept_complaint, sizeof kept_complaint, format, arguments);
        va_end(arguments);
        return EXIT_TROUBLE;
    }
    show_progress(NULL);
    fflush(stdout);
    fputs("warpwise: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return EXIT_TROUBLE;
}

void show_progress(const char *format, ...)
{
    static char shown[400];
    char line[sizeof shown] = "";
    if (!isatty(STDERR_FILENO)) return;
    if (format != NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(line, sizeof line, format, arguments);
        va_end(arguments);
    }
    if (strcmp(line, shown) == 0) return;
    fprintf(stderr, "%s%s", *shown ? "\r\033[K" : "", line);
    fflush(stderr);
    memcpy(shown, line, sizeof shown);
}

const char *grouped_number(char *buffer, double value)
{
    char digits[32];
    if (!(fabs(value) < 1e18)) {
        snprintf(buffer, 32, "%.3g", value);
        return buffer;
    }
    int length = snprintf(digits, sizeof digits, "%.0f", value), out = 0;
    for (int i = 0; i < length; i++) {
        buffer[out++] = digits[i];
        int left = length - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-') buffer[out++] = ',';
    }
    buffer[out] = '\0';
    return buffer;
}
