/**
 * @file finding.h
 * @brief Findings: what is kept of them until they are printed.
 */
#ifndef WARPWISE_SIMT_FINDING_H
#define WARPWISE_SIMT_FINDING_H

#include "machine.h"
#include "tools.h"

#include <stddef.h>
#include <stdint.h>

/** Where something was accessed. */
enum place { PLACE_ARENA, PLACE_DATA, PLACE_SHARED, PLACE_DYNAMIC, PLACE_COUNT, PLACE_OTHER, PLACE_NONE };

enum { FRAMES = 8 };

/** @brief Who did what where: one half of a race, or all of another finding. */
struct actor {
    uint64_t block; /**< linear index */
    uint32_t pc;    /**< packed return address, 0 if unknown */
    uint16_t thread;
    uint8_t access;               /**< enum simt_access, 0: this actor is not there */
    const struct simt_site *site; /**< where the source named itself: told if pc is not known */
};

struct finding {
    const char *kind;
    enum place place;
    uint32_t bytes;
    uintptr_t where; /**< offset in the place, or the address itself */
    struct actor actor[2];
    const struct simt_running *earlier; /**< whose actor[0] is, if not this launch's */
    const char *remark;                 /**< what is missing or what to do; a constant string */
    char *text;                         /**< replaces the description of the place; allocated */
    char *detail;                       /**< a line of its own; allocated */
    size_t element_bytes;               /**< of dynamic shared memory, as declared; 0: unknown */
    uint32_t frame[FRAMES]; /**< of a fault in code that is not the student's: the calls to there */
    uint64_t seen;
};

/** @brief Adds a copy of @p finding (taking its text) to @p list, or counts it if one like it is there. */
void simt_finding_add(struct vector *list, const struct finding *finding);
void simt_finding_drop(struct vector *list);
/** @brief Begins the line of a finding on stderr. A kind that findings.h does not list ends the program. */
void simt_finding_begin(const char *kind);
/** @brief @p count more findings, which have been printed. */
void simt_finding_told(int count);

#endif
