/**
 * @file output.c
 * @brief What kernel code says: printf, assert, trap, and what the headers refuse.
 */
#include "finding.h"
#include "image.h"
#include "lanes.h"
#include "machine.h"
#include "settings.h"
#include "tools.h"
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *after_number(const char *at)
{
    return *at == '*' ? at + 1 : at + strspn(at, "0123456789");
}

/* Where a conversion ends whose % is in front of @p at; NULL if CUDA's printf has none such. */
static const char *after_conversion(const char *at)
{
    static const char *const lengths[] = {"hh", "h", "ll", "l", "j", "z", "t", "L", ""};
    size_t length = 0;
    if (*at == '%') return at + 1;
    at = after_number(at + strspn(at, "-+ #0"));
    if (*at == '.') at = after_number(at + 1);
    while (strncmp(at, lengths[length], strlen(lengths[length])) != 0) length++;
    at += strlen(lengths[length]);
    return *at != '\0' && strchr("diouxXeEfFgGaAcsp", *at) != NULL ? at + 1 : NULL;
}

/* A copy of a kernel's format that no other thread can change. NULL: it has a conversion of the C library alone; some write
 * where an argument says, and nobody would check that. */
static char *safe_format(const char *format)
{
    char *copy = strdup(format);
    if (copy == NULL) simt_die("out of host memory.");
    for (const char *at = strchr(copy, '%'); at != NULL; at = strchr(at, '%')) {
        at = after_conversion(at + 1);
        if (at != NULL) continue;
        free(copy);
        return NULL;
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
    if (own == NULL) simt_stop(&here, RECORD_UNSUPPORTED, RECORD_SAYS_PRINTF_CONVERSION, NULL);
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

void simt_stop(const struct simt_site *site, enum record_kind kind, enum record_message message,
               const struct simt_words *words)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL) {
        simt_finding(kind, site, message, words);
        exit(SIMT_EXIT_FINDINGS);
    }
    const struct finding f =
        simt_finding_says(kind, message, RECORD_NO_ADVICE, words, simt_actor_at(w, w->thread_index, site));
    simt_finding_add(&w->result->findings, &f);
    simt_abandon(w, kind == RECORD_ASSERT ? 710 : 719);
}

void simt_note(const struct simt_site *site, const void *pc, enum record_kind kind,
               enum record_message message, enum record_advice advice, const struct simt_words *words)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL || !w->checking) return;
    struct finding f =
        simt_finding_says(kind, message, advice, words, simt_actor_at(w, w->thread_index, site));
    if (pc != NULL) f.actor[0].pc = simt_pack_pc(pc);
    simt_finding_add(&w->result->findings, &f);
}

void simt_misuse(const struct simt_site *site, enum simt_misuse misuse, size_t first, size_t second)
{
    static const struct {
        enum record_kind kind;
        enum record_message message;
    } said[] = {
        [SIMT_MISUSE_TRAP] = {RECORD_TRAP, RECORD_SAYS_TRAP},
        [SIMT_MISUSE_HOST] = {RECORD_UNSUPPORTED, RECORD_SAYS_HOST_CODE},
        [SIMT_MISUSE_NOT_SHARED] = {RECORD_UNSUPPORTED, RECORD_SAYS_BARRIER_OUTSIDE_SHARED},
        [SIMT_MISUSE_TILE_SIZE] = {RECORD_TRAP, RECORD_SAYS_TILE_SIZE},
        [SIMT_MISUSE_COPY_SIZE] = {RECORD_TRAP, RECORD_SAYS_COPY_SIZE},
        [SIMT_MISUSE_COPY_ZEROS] = {RECORD_TRAP, RECORD_SAYS_COPY_ZEROS},
        [SIMT_MISUSE_TEXTURE] = {RECORD_UNSUPPORTED, RECORD_SAYS_NO_TEXTURES},
        [SIMT_MISUSE_MTGP_BLOCK] = {RECORD_UNSUPPORTED, RECORD_SAYS_MTGP_BLOCK},
    };
    const struct simt_words words = {.name = {site->what}, .number = {(int64_t)first, (int64_t)second}};
    simt_stop(site, said[misuse].kind, said[misuse].message, &words);
}
