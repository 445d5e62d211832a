/**
 * @file output.c
 * @brief What kernel code says: printf, assert, trap, and what the headers have to remark.
 */
#include "finding.h"
#include "findings.h"
#include "lanes.h"
#include "machine.h"
#include "settings.h"
#include "tools.h"
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int simt_vprintf(const char *format, va_list arguments)
{
    struct worker *w = simt_tls_worker;
    va_list again;
    if (w == NULL) return vprintf(format, arguments);
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    char *text = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (text != NULL) {
        vsnprintf(text, (size_t)length + 1, format, again);
        for (int i = 0; i < length; i++) *(char *)simt_vector_grow(&w->result->text, 1) = text[i];
        free(text);
    }
    va_end(again);
    return length;
}

static int error_of_kind(const char *kind)
{
    return strcmp(kind, "assert") == 0 ? 710 : 719;
}

void simt_stop(const struct simt_site *site, const char *kind, const char *format, ...)
{
    struct worker *w = simt_tls_worker;
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) simt_die("out of host memory.");
    va_end(arguments);
    if (w == NULL) {
        simt_finding(kind, site, "%s", text);
        exit(SIMT_EXIT_FINDINGS);
    }
    struct finding f = {.kind = kind, .place = PLACE_OTHER, .text = text, .seen = 1};
    f.actor[0] = (struct actor){w->block, 0, (uint16_t)w->thread_index, SIMT_READ, site};
    simt_finding_add(&w->result->findings, &f);
    simt_abandon(w, error_of_kind(kind));
}

void simt_note(const struct simt_site *site, const char *kind, const char *remark, const char *format, ...)
{
    struct worker *w = simt_tls_worker;
    char *text = NULL;
    va_list arguments;
    if (w == NULL || !w->checking) return;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) simt_die("out of host memory.");
    va_end(arguments);
    struct finding f = {.kind = kind, .place = PLACE_OTHER, .text = text, .remark = remark, .seen = 1};
    f.actor[0] = (struct actor){w->block, 0, (uint16_t)w->thread_index, SIMT_READ, site};
    simt_finding_add(&w->result->findings, &f);
}
