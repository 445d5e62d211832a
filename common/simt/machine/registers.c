/**
 * @file registers.c
 * @brief The registers of a block, as setmaxnreg shares them out between its warpgroups.
 *
 * An increase waits until other warpgroups have given enough back. Which of them comes first says nothing, so that the balance
 * is drawn when the block is over: what all warps asked for last must fit into the registers of an SM, or somebody would wait
 * for ever.
 */
#include "registers.h"
#include "finding.h"
#include "lanes.h"
#include "machine.h"
#include "worker.h"

#include <stdbool.h>

enum { SM_REGISTERS = 1 << 16, MOST = 256, GRANULE = 8, GROUP_WARPS = 4 };

void simt_registers_set(const struct simt_site *site, unsigned count)
{
    struct worker *w = simt_tls_worker;
    struct warp *warp = w->warp;
    warp->registers = count;
    warp->registers_site = site;
}

void simt_registers_begin(struct worker *w)
{
    for (unsigned i = 0; i < w->warps; i++) w->warp_of[i].registers = 0;
}

static void found(struct worker *w, enum record_kind kind, enum record_message message,
                  enum record_advice advice, unsigned warp, const struct simt_words *words)
{
    struct finding f = simt_finding_says(
        kind, message, advice, words, simt_actor_at(w, warp * WARP_LANES, w->warp_of[warp].registers_site));
    simt_found(w, &f);
}

/* The first warp whose group has warps with another number, or -1. */
static int disagreeing(const struct worker *w)
{
    for (unsigned i = 0; i < w->warps; i++) {
        const unsigned first = i / GROUP_WARPS * GROUP_WARPS;
        for (unsigned k = first; k < first + GROUP_WARPS && k < w->warps; k++)
            if (w->warp_of[i].registers != 0 && w->warp_of[k].registers != w->warp_of[i].registers)
                return (int)i;
    }
    return -1;
}

void simt_registers_end(struct worker *w)
{
    /* what the kernel is launched with: as many as its threads can have */
    const unsigned fair = SM_REGISTERS / (w->warps * WARP_LANES) / GRANULE * GRANULE;
    const unsigned launched = fair < MOST ? fair : MOST;
    unsigned total = 0, asked = w->warps;
    if (w->abandoned || !w->checking) return;
    for (unsigned i = 0; i < w->warps; i++) {
        const unsigned count = w->warp_of[i].registers;
        if (count != 0 && (asked == w->warps || count > w->warp_of[asked].registers)) asked = i;
        total += WARP_LANES * (count != 0 ? count : launched);
    }
    if (asked == w->warps) return;
    const int other = disagreeing(w);
    if (other >= 0)
        found(w, RECORD_DIVERGENT_BARRIER, RECORD_SAYS_REGISTERS_PART, RECORD_ADVICE_REGISTERS_TOGETHER,
              (unsigned)other, NULL);
    else if (total > SM_REGISTERS)
        found(w, RECORD_DEADLOCK, RECORD_SAYS_REGISTERS_SUM, RECORD_ADVICE_REGISTERS_GIVE, asked,
              SIMT_SAYS(.number = {total, SM_REGISTERS}));
}
