/**
 * @file output.c
 * @brief printf, assert and trap in kernels, and findings that the CUDA headers report.
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

/* A copy of a kernel's format that no other thread can change, or NULL if it has %n, which writes where an argument says. CUDA
 * has none, and nobody would check that write. */
static char *safe_format(const char *format)
{
    char *copy = strdup(format);
    if (copy == NULL) simt_die("out of host memory.");
    for (const char *at = strchr(copy, '%'); at != NULL; at = strchr(at, '%')) {
        at++;
        at += strspn(at, "0123456789 +-#'*.$hlqjztLI");
        if (*at == 'n') {
            free(copy);
            return NULL;
        }
        at += *at != '\0';
    }
    return copy;
}

int simt_vprintf(const char *format, va_list arguments)
{
    static const struct simt_site here = {"unknown", 0, "printf", NULL};
    struct worker *w = simt_tls_worker;
    va_list again;
    if (w == NULL) return vprintf(format, arguments);
    char *own = safe_format(format);
    if (own == NULL) simt_stop(&here, "unsupported", "printf in a kernel has no %%n");
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, own, arguments);
    char *text = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (text != NULL) {
        vsnprintf(text, (size_t)length + 1, own, again);
        for (int i = 0; i < length; i++) *(char *)simt_vector_grow(&w->result->text, 1) = text[i];
        free(text);
    }
    va_end(again);
    free(own);
    return length;
}

/* What a finding says. The headers' own formats have no %n. */
static char *finding_text(const char *format, va_list arguments)
{
    char *text = NULL, *own = safe_format(format);
    if ((own != NULL ? vasprintf(&text, own, arguments) : asprintf(&text, "a finding")) < 0)
        simt_die("out of host memory.");
    free(own);
    return text;
}

static int error_of_kind(const char *kind)
{
    return strcmp(kind, "assert") == 0 ? 710 : 719;
}

void simt_stop(const struct simt_site *site, const char *kind, const char *format, ...)
{
    struct worker *w = simt_tls_worker;
    va_list arguments;
    va_start(arguments, format);
    char *text = finding_text(format, arguments);
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

void simt_note(const struct simt_site *site, const void *pc, const char *kind, const char *remark,
               const char *format, ...)
{
    struct worker *w = simt_tls_worker;
    va_list arguments;
    if (w == NULL || !w->checking) return;
    va_start(arguments, format);
    char *text = finding_text(format, arguments);
    va_end(arguments);
    struct finding f = {.kind = kind, .place = PLACE_OTHER, .text = text, .remark = remark, .seen = 1};
    f.actor[0] = (struct actor){w->block, pc != NULL ? simt_pack_pc(pc) : 0, (uint16_t)w->thread_index,
                                SIMT_READ, site};
    simt_finding_add(&w->result->findings, &f);
}
