/**
 * @file finding.c
 * @brief Findings: collected without being formatted, and counted.
 *
 * One bug may fire a million times, at several addresses of one line (an unrolled loop). Findings are
 * therefore merged twice: by address while the kernel runs (here), by line when they are reported (report.c).
 */
#include "finding.h"
#include "image.h"
#include "machine.h"
#include "tools.h"
#include "worker.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { KEPT = 256 }; /* different findings kept a block, and a launch */

static atomic_int findings;

int simt_finding_count(void)
{
    return findings;
}

void simt_finding_count_more(int count)
{
    findings += count;
}

void simt_finding_again(void)
{
    findings++;
}

/* ---- making one ---------------------------------------------------------------------------------------- */

struct actor simt_actor(const struct worker *w, const void *pc, int access)
{
    return (struct actor){w->block, simt_pack_pc(pc), (uint16_t)w->thread_index,
                          (uint8_t)(access & ACCESS_KINDS), NULL};
}

struct actor simt_actor_at(const struct worker *w, unsigned thread, const struct simt_site *site)
{
    return (struct actor){w->block, 0, (uint16_t)thread, SIMT_READ, site};
}

struct finding simt_finding_about(enum record_kind kind, enum record_advice advice, enum place place,
                                  uintptr_t where, size_t bytes, struct actor who)
{
    return (struct finding){.kind = kind,
                            .advice = advice,
                            .place = place,
                            .bytes = (uint32_t)bytes,
                            .where = where,
                            .actor = {who},
                            .seen = 1};
}

struct finding simt_finding_says(enum record_kind kind, enum record_message message,
                                 enum record_advice advice, const struct simt_words *words, struct actor who)
{
    struct finding f = simt_finding_about(kind, advice, PLACE_NONE, 0, 0, who);
    f.message = message;
    if (words != NULL) f.words = *words;
    return f;
}

void simt_finding_pair(struct finding *finding, struct actor other)
{
    finding->actor[1] = finding->actor[0];
    finding->actor[0] = other;
}

void simt_finding_owner(struct finding *finding, const struct worker *owner)
{
    finding->owner = owner->block;
    finding->owner_rank = owner->member.rank;
    finding->owner_size = owner->cluster->size;
}

int simt_error_of(enum record_kind kind)
{
    enum { ILLEGAL_ADDRESS = 700, TIMEOUT = 702, MISALIGNED = 716, FAILURE = 719 };
    switch (kind) {
    case RECORD_MISALIGNED:
        return MISALIGNED;
    case RECORD_DEADLOCK:
        return TIMEOUT;
    case RECORD_UNSUPPORTED:
        return FAILURE;
    default:
        return ILLEGAL_ADDRESS;
    }
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

bool simt_finding_between_warps(const struct finding *f)
{
    const struct actor *a = f->actor;
    return a[0].access != 0 && a[1].access != 0 &&
           (f->earlier != NULL || a[0].block != a[1].block ||
            a[0].thread / WARP_LANES != a[1].thread / WARP_LANES);
}

void simt_finding_add(struct vector *list, const struct finding *finding)
{
    struct finding *old = list->data;
    for (size_t i = 0; i < list->count; i++) {
        if (!same_finding(&old[i], finding)) continue;
        const uint64_t seen = old[i].seen + finding->seen;
        const bool better = simt_finding_between_warps(finding) && !simt_finding_between_warps(&old[i]);
        free((void *)(better ? &old[i] : finding)->words.wait);
        if (better) old[i] = *finding;
        old[i].seen = seen;
        return;
    }
    if (list->count < KEPT)
        *(struct finding *)simt_vector_grow(list, sizeof *finding) = *finding;
    else
        free((void *)finding->words.wait);
}

void simt_finding_drop(struct vector *list)
{
    for (size_t i = 0; i < list->count; i++) free((void *)((struct finding *)list->data)[i].words.wait);
    list->count = 0;
}
