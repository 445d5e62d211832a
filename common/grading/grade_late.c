/**
 * @file grade_late.c
 * @brief Points of time as people and other systems write them, and how many days lie between two.
 *
 *     2026-10-05                    its end: midnight between this day and the next
 *     2026-10-05 23:59              in UTC, as all times without an offset
 *     2026-10-05T23:59:30.25Z       2026-10-05 23:59:30 UTC
 *     2026-10-05T23:59:30+02:00     2026-10-05 23:59:30 -0800 (as Gradescope exports)
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "grade_adjust.h"

enum { DAY_SECONDS = 86400 };

/* "Z", "UTC", "+02:00", "-0800" or nothing; 0, or -1. */
static int read_offset(const char *at, long *seconds)
{
    int hours, minutes, end = 0;
    char sign;
    *seconds = 0;
    at += strspn(at, " ");
    if (!*at || strcmp(at, "Z") == 0 || strcmp(at, "UTC") == 0) return 0;
    int whole = sscanf(at, "%c%2d:%2d%n", &sign, &hours, &minutes, &end) == 3 && !at[end];
    if (!whole) whole = sscanf(at, "%c%2d%2d%n", &sign, &hours, &minutes, &end) == 3 && !at[end];
    if (!whole || (sign != '+' && sign != '-') || hours > 14 || minutes > 59) return -1;
    *seconds = (sign == '-' ? -1 : 1) * (3600L * hours + 60L * minutes);
    return 0;
}

static int is_date(const struct tm *when)
{
    struct tm normal = *when;
    timegm(&normal); /* timegm() changes an invalid date such as June 31 */
    return when->tm_mon == normal.tm_mon && when->tm_mday == normal.tm_mday && when->tm_hour <= 23 &&
           when->tm_min <= 59 && when->tm_sec <= 60;
}

int grade_read_time(const char *text, int day_is_enough, long long *seconds)
{
    struct tm when = {0};
    int end = 0;
    long offset;
    if (sscanf(text, "%4d-%2d-%2d%n", &when.tm_year, &when.tm_mon, &when.tm_mday, &end) != 3) return -1;
    when.tm_year -= 1900;
    when.tm_mon -= 1;
    const char *at = text + end;
    if (!*at) {
        if (!day_is_enough || !is_date(&when)) return -1;
        *seconds = (long long)timegm(&when) + DAY_SECONDS;
        return 0;
    }
    if ((*at != 'T' && *at != ' ') || !isdigit((unsigned char)at[1])) return -1;
    if (sscanf(++at, "%2d:%2d%n", &when.tm_hour, &when.tm_min, &end) != 2) return -1;
    at += end;
    if (*at == ':') {
        if (sscanf(at, ":%2d%n", &when.tm_sec, &end) != 1) return -1;
        at += end;
        if (*at == '.') at += 1 + strspn(at + 1, "0123456789");
    }
    if (!is_date(&when) || read_offset(at, &offset) != 0) return -1;
    *seconds = (long long)timegm(&when) - offset;
    return 0;
}

long grade_days_between(long long deadline, long long handed_in)
{
    return handed_in <= deadline ? 0 : (long)((handed_in - deadline + DAY_SECONDS - 1) / DAY_SECONDS);
}
