/**
 * @file finding.c
 * @brief Findings: collected without being formatted, and counted. What the host itself did is told at once.
 *
 * One bug may fire a million times, at several addresses of one line (an unrolled loop). Findings are
 * therefore merged twice: by address while the kernel runs (here), by line when they are printed (report.c).
 */
#include "finding.h"
#include "findings.h"
#include "lines.h"
#include "machine.h"
#include "settings.h"
#include "tools.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 256 }; /* different findings kept a block, and a launch */

static atomic_int findings;

int simt_finding_count(void)
{
    return findings;
}

void simt_finding_told(int count)
{
    findings += count;
}

void simt_finding_again(void)
{
    findings++;
}

/* ---- collecting --------------------------------------------------------------------------------------- */

static bool same_actor(const struct actor *a, const struct actor *b)
{
    return a->pc == b->pc && a->site == b->site && a->access == b->access;
}

static bool same_finding(const struct finding *a, const struct finding *b)
{
    return a->kind == b->kind && a->place == b->place && a->earlier == b->earlier &&
           same_actor(&a->actor[0], &b->actor[0]) && same_actor(&a->actor[1], &b->actor[1]);
}

void simt_finding_add(struct vector *list, const struct finding *finding)
{
    struct finding *old = list->data;
    for (size_t i = 0; i < list->count; i++) {
        if (!same_finding(&old[i], finding)) continue;
        old[i].seen += finding->seen;
        free(finding->text);
        free(finding->detail);
        return;
    }
    if (list->count < KEPT) {
        *(struct finding *)simt_vector_grow(list, sizeof *finding) = *finding;
    } else {
        free(finding->text);
        free(finding->detail);
    }
}

void simt_finding_drop(struct vector *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(((struct finding *)list->data)[i].text);
        free(((struct finding *)list->data)[i].detail);
    }
    list->count = 0;
}

/* ---- telling ------------------------------------------------------------------------------------------ */

/* A kind that findings.h does not list would be no finding to those who read reports. */
void simt_finding_begin(const char *kind)
{
    char line[64];
    snprintf(line, sizeof line, "simt: %s: ", kind);
    if (simt_finding_kind(line) == NULL) simt_die("findings.h does not list %s", kind);
    fputs(line, stderr);
}

/** What the host did, told once for each place. */
struct told {
    const char *kind, *format;
    struct simt_site site;
    unsigned long again;
};
static struct told told[64];
static size_t told_count;

static void print_counts(void)
{
    for (size_t i = 0; i < told_count; i++)
        if (told[i].again > 0)
            fprintf(stderr, "  the same %s at %s:%d came %lu times more\n", told[i].kind,
                    simt_short_path(told[i].site.file), told[i].site.line, told[i].again);
}

static bool is_told(const char *kind, const char *format, const struct simt_site *found)
{
    if (simt_settings.all) return false; /* each case of a lesson's check is told its own */
    for (size_t i = 0; i < told_count; i++) {
        const struct told *t = &told[i];
        if (strcmp(t->kind, kind) != 0 || t->format != format || t->site.line != found->line ||
            strcmp(t->site.file, found->file) != 0)
            continue;
        told[i].again++;
        return true;
    }
    if (told_count == sizeof told / sizeof told[0]) return false;
    if (told_count == 0) atexit(print_counts);
    told[told_count] = (struct told){kind, format, *found, 0};
    told[told_count++].site.file = strdup(found->file);
    return false;
}

void simt_finding(const char *kind, const struct simt_site *site, const char *format, ...)
{
    struct simt_site found = {0};
    va_list arguments;
    va_start(arguments, format);
    if (site != NULL) found = simt_site_found(site);
    flockfile(stderr);
    if (found.file == NULL || !is_told(kind, format, &found)) {
        simt_finding_begin(kind);
        vfprintf(stderr, format, arguments);
        if (found.file != NULL) fprintf(stderr, "\n  at %s:%d", simt_short_path(found.file), found.line);
        fputc('\n', stderr);
    }
    funlockfile(stderr);
    va_end(arguments);
    findings++;
}
