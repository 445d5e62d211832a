/**
 * @file remember.h
 * @brief What the oracle said of an item, kept in a file for the next check with the same inputs: `--remember FOLDER`.
 *
 * Many kernels judged with one seed have the same right answers, and on a GPU the oracle is most of a check's cost.
 * The file's name holds lesson, case, item and a key of all that the answer depends on: the settled case with its seed
 * and its device, and the checker program itself, so that a rebuilt checker reads nothing that an older one wrote. The
 * math library is not part of the key: a folder is for one machine.
 *
 * A file is written under another name and renamed when it is whole, so that several checkers may share a
 * folder. The files hold right answers: so the checker must not use them where the kernel is untrusted or the
 * seed a secret.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "session.h"

/** @brief Where one piece of the oracle's work lies in the file. */
struct remembered_place {
    uint64_t at, bytes;
};

/** @brief The file of one item: being read (map), being written (file), or neither. */
struct remembered {
    const unsigned char *map; /**< the whole file, or NULL: the oracle has to compute */
    size_t bytes;             /**< of it */
    int file;                 /**< -1: nothing is kept */
    uint64_t key;
    size_t pieces;
    struct remembered_place *place; /**< [pieces], while it is written */
    atomic_size_t end;              /**< where the next piece goes */
    atomic_int failed;
    char path[512], part[544];
};

/** @brief What the file will hold for one piece of work; starts as {0}. */
struct remembered_piece {
    unsigned char *data;
    size_t used, room;
    int failed;
};

/**
 * @brief Looks for the file of @p item. If there is none, begins one, if answers are to be kept and are worth
 *        it.
 * @param pieces  the oracle's work comes in so many
 * @param elems   output elements that are compared
 * @param ops     what the oracle's answer costs
 */
void remembered_open(struct remembered *remembered, const struct check *check, const struct item *item,
                     size_t pieces, double elems, double ops);

/** @brief Sets @p span to the span at @p at of piece @p piece and advances @p at; 0 at the end of the
 *         piece. */
int remembered_next(const struct remembered *remembered, size_t piece, size_t *at, struct lesson_span *span);

/** @brief Adds @p span to a piece, if answers are kept. */
void remembered_keep(const struct remembered *remembered, struct remembered_piece *piece,
                     const struct lesson_span *span);

/** @brief Writes piece number @p index, and frees it. */
void remembered_put(struct remembered *remembered, size_t index, struct remembered_piece *piece);

/** @brief Closes the file; a written file gets its name if @p complete. */
void remembered_close(struct remembered *remembered, int complete);
