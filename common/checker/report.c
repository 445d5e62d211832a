/**
 * @file report.c
 * @brief The report for people.
 */
#include "report.h"

#include <stdio.h>
#include <string.h>

#include "diagnose.h"

enum { SHOWN_IN_FULL = 3, NAMED = 6, SHOWN_LINES = 14 };

const char *report_group(enum case_group group)
{
    static const char *const names[GROUP_COUNT] = {"basic",     "edges",      "numerics",
                                                   "bad_input", "properties", "speed"};
    return names[group];
}

static const char *device_name(enum device device)
{
    return device == DEVICE_GPU ? "gpu" : "simt";
}

void report_untrusted(const char *text)
{
    int lines = 0;
    for (const char *c = text; *c != '\0' && lines < SHOWN_LINES; lines++) {
        printf("    | ");
        for (; *c != '\0' && *c != '\n'; c++) {
            unsigned char byte = (unsigned char)*c;
            putchar(byte == '<'                ? '('
                    : byte == '>'              ? ')'
                    : byte == '\t'             ? ' '
                    : byte < ' ' || byte > 126 ? '?'
                                               : byte);
        }
        putchar('\n');
        if (*c == '\n') c++;
    }
}

void report_again(const struct check *check, int index, char *text, size_t size)
{
    const struct options *options = &check->options;
    char seed[40] = "";
    if (options->seed_given) snprintf(seed, sizeof seed, " --seed %llu", (unsigned long long)options->seed);
    const char *secret = options->secret_seed_file;
    snprintf(text, size, "build/bin/warpwise check %02d%s%s%s%s --case %s --device %s",
             options->lesson->number, options->again != NULL ? options->again : "", seed,
             secret != NULL ? " --secret-seed-file " : "", secret != NULL ? secret : "",
             check->cases[index].name, device_name(options->device));
}

static void report_case(const struct check *check, int index)
{
    const struct lesson *lesson = check->options.lesson;
    const struct lesson_case *item = &check->cases[index];
    const struct verdict *verdict = &check->verdicts[index];
    printf("  %-11s case %s: %s\n", state_name(verdict->state), item->name, verdict->shape);
    printf("    %-12s %s\n", verdict->state == STATE_FAIL ? "wrong" : "what", verdict->headline);
    if (verdict->pattern[0] != '\0') printf("    %-12s %s\n", "pattern", verdict->pattern);
    int at_the_end =
        strncmp(verdict->detail, "simt: leak:", 11) == 0; /* told by the last case, and not about it */
    const char *purpose = lesson->purpose != NULL && !at_the_end ? lesson->purpose(item) : NULL;
    if (at_the_end) printf("    %-12s at the end of all cases that ran together\n", "about");
    if (purpose != NULL) printf("    %-12s %s\n", "about", purpose);
    if (verdict->sampled > 0)
        printf("    %-12s %zu of %zu rows%s\n", "sampled", verdict->sampled, verdict->units,
               lesson->identity != NULL ? ", and all elements by an identity" : "");
    if (verdict->detail[0] != '\0') report_untrusted(verdict->detail);
    char again[VERDICT_TEXT];
    report_again(check, index, again, sizeof again);
    printf("    %-12s %s\n", "again", again);
}

/* One line about one part. */
static void report_part(const struct check *check, int part)
{
    const struct lesson *lesson = check->options.lesson;
    int cases = 0, passed = 0, sampled = 0;
    double points = 0.0, share = 0.0;
    for (int i = 0; i < check->case_count; i++) {
        if (!check->chosen[i] || check->cases[i].part != part) continue;
        cases++;
        passed += check->verdicts[i].state == STATE_PASS;
        sampled += check->verdicts[i].sampled > 0;
        points += check_points(check, i);
        if (check->verdicts[i].budget_share > share) share = check->verdicts[i].budget_share;
    }
    if (cases == 0) return;
    printf("  %-11s %-11s %5.1f/%d points, %d of %d cases", lesson->part[part].name,
           state_name(check_state(check, part)), points, lesson->part[part].points, passed, cases);
    if (passed == cases) printf(", largest error %.0f%% of its budget", 100.0 * share);
    if (sampled > 0) printf(", %d sampled", sampled);
    if (points > 0.0 && check_values_wrong(check, part)) printf("; they count half until every value is right");
    putchar('\n');
}

static void report_failures(const struct check *check, int part)
{
    char common[VERDICT_TEXT];
    int shown = 0, more = 0;
    for (int i = 0; i < check->case_count; i++) {
        enum state state = check->verdicts[i].state;
        if (!check->chosen[i] || check->cases[i].part != part || state == STATE_PASS ||
            state == STATE_NO_DEVICE)
            continue;
        if (state == STATE_NOT_STARTED && check_state(check, part) == STATE_NOT_STARTED) continue;
        if (shown < SHOWN_IN_FULL) {
            report_case(check, i);
            shown++;
        } else if (more++ < NAMED) {
            printf(more == 1 ? "  also failing: %s" : ", %s", check->cases[i].name);
        }
    }
    if (more > NAMED) printf(" and %d more (--verbose names them)", more - NAMED);
    if (more > 0) putchar('\n');
    diagnose_part(check, part, common, sizeof common);
    if (common[0] != '\0') printf("  in common    %s\n", common);
}

static void report_every_case(const struct check *check, int part)
{
    for (int i = 0; i < check->case_count; i++) {
        const struct lesson_case *item = &check->cases[i];
        const struct verdict *verdict = &check->verdicts[i];
        if (!check->chosen[i] || item->part != part) continue;
        printf("    %-11s %-40s %s", state_name(verdict->state), item->name, report_group(item->group));
        if (item->expected == KERNEL_OK && verdict->state == STATE_PASS) {
            printf(", error %.1f%% of its budget", 100.0 * verdict->budget_share);
            if (verdict->sampled > 0)
                printf(", sampled %zu of %zu rows%s", verdict->sampled, verdict->units,
                       check->options.lesson->identity != NULL ? " and all elements by an identity" : "");
            if (item->repeat > 1) printf(", %d random inputs", item->repeat);
        }
        putchar('\n');
    }
}

static void report_left_out(const struct check *check)
{
    int count = 0;
    for (int i = 0; i < check->case_count && check->options.case_count == 0 && check->options.groups == 0;
         i++) {
        if (check->cases[i].devices & (unsigned)check->options.device) continue;
        if (count++ == 0) printf("  left out on %s: ", device_name(check->options.device));
        printf(count == 1 ? "%s" : ", %s", check->cases[i].name);
    }
    if (count > 0) putchar('\n');
    if (check->stopped) puts("  stopped      at the first case that did not pass; the others did not run");
}

/* How many cases were begun and are not right. */
static int count_failed(const struct check *check)
{
    int count = 0;
    for (int i = 0; i < check->case_count; i++) {
        enum state state = check->verdicts[i].state;
        count += check->chosen[i] && state != STATE_PASS && state != STATE_NOT_STARTED;
    }
    return count;
}

void report_text(const struct check *check)
{
    const struct lesson *lesson = check->options.lesson;
    enum state state = check_state(check, -1);
    double points = 0.0, most = 0.0;
    printf("%02d %s on %s: %s\n", lesson->number, lesson->topic, device_name(check->options.device),
           lesson->title);
    for (int part = 0; part < lesson->part_count; part++) {
        report_part(check, part);
        if (check->options.verbose) report_every_case(check, part);
        report_failures(check, part);
    }
    report_left_out(check);
    if (check->broken[0] != '\0') printf("  %s\n", check->broken);
    for (int i = 0; i < check->case_count; i++) {
        points += check_points(check, i);
        if (check->chosen[i]) most += check_points_max(check, i);
    }
    printf("%02d %-22s %-11s %.1f of %.1f points", lesson->number, lesson->topic, state_name(state), points,
           most);
    if (state == STATE_NO_DEVICE) printf(" (%s)", check->device_name);
    if (state == STATE_FAIL && !count_failed(check)) printf(": what is written passes");
    if (state == STATE_NOT_STARTED)
        printf(": write lessons/%02d_%s/%s.cu", lesson->number, lesson->topic, lesson->topic);
    putchar('\n');
}

void report_list(const struct check *check)
{
    const struct lesson *lesson = check->options.lesson;
    for (int i = 0; i < check->case_count; i++) {
        char shape[160];
        const struct lesson_case *item = &check->cases[i];
        lesson->describe(item, shape, sizeof shape);
        printf("%-42s %-10s %5.2f points  %s", item->name, report_group(item->group),
               check_points_max(check, i), shape);
        if (item->repeat > 1) printf("; %d random inputs", item->repeat);
        if (item->expected != KERNEL_OK) printf("; expects %s", kernel_status_name(item->expected));
        if (!(item->devices & (unsigned)check->options.device))
            printf("; not on %s", device_name(check->options.device));
        putchar('\n');
    }
}
