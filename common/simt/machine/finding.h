/**
 * @file finding.h
 * @brief Findings: what is kept of them until they are reported.
 */
#pragma once

#include "findings.h"
#include "machine.h"
#include "tools.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Where something was accessed. */
enum place {
    PLACE_ARENA,
    PLACE_DATA,
    PLACE_SHARED,
    PLACE_DYNAMIC,
    PLACE_COUNT,
    PLACE_OTHER,
    PLACE_LOCAL, /* of a thread's own stack */
    PLACE_NONE,  /* the sentence says what it is about */
    PLACE_MARK   /* of a lane's log: no access, but something a trace tells (trace.h) */
};

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
    enum record_kind kind;
    enum record_message message;
    enum record_advice advice;
    enum place place;
    uint32_t bytes;
    uintptr_t where; /**< offset in the place, or the address itself */
    struct actor actor[2];
    const struct simt_running *earlier; /**< whose actor[0] is, if not this launch's */
    struct simt_words words;
    const char *dynamic_name; /**< what the source calls dynamic shared memory */
    size_t element_bytes;     /**< of dynamic shared memory, as declared; 0: unknown */
    uint64_t owner;           /**< whose shared memory it is in, if it is another block's of the cluster */
    uint32_t owner_rank, owner_size; /**< of it; 0: it is the actor's own block's */
    uint32_t frame[FRAMES];          /**< of a fault in code that is not the student's: the calls to there */
    uint64_t seen;
};

/** @brief The running thread of @p w, that did @p access at @p pc. */
struct worker;
struct actor simt_actor(const struct worker *w, const void *pc, int access);
/** @brief Thread @p thread of @p w's block, where the source named itself. */
struct actor simt_actor_at(const struct worker *w, unsigned thread, const struct simt_site *site);

/** @brief A finding about @p bytes at @p where of @p place, and who did it. */
struct finding simt_finding_about(enum record_kind kind, enum record_advice advice, enum place place,
                                  uintptr_t where, size_t bytes, struct actor who);
/** @brief A finding that a sentence describes. */
struct finding simt_finding_says(enum record_kind kind, enum record_message message,
                                 enum record_advice advice, const struct simt_words *words, struct actor who);
/** @brief @p other did the first half of it. */
void simt_finding_pair(struct finding *finding, struct actor other);
/** @brief The shared memory that @p finding is about is @p owner's, of another block. */
void simt_finding_owner(struct finding *finding, const struct worker *owner);

/** @brief What CUDA ends a launch with after an access or a fault of @p kind. */
int simt_error_of(enum record_kind kind);

/** @brief Whether two threads of different warps are in it: a GPU runs those in any order, the lanes of a warp side by side. */
bool simt_finding_between_warps(const struct finding *finding);
/** @brief Adds a copy of @p finding (taking what its words have allocated) to @p list, or counts it if one like it is there: of
 *         two that differ in their threads alone, one between warps stays. */
void simt_finding_add(struct vector *list, const struct finding *finding);
void simt_finding_drop(struct vector *list);
/** @brief @p count more findings, which have been reported. */
void simt_finding_count_more(int count);
