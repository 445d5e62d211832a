/**
 * @file session.h
 * @brief A group of items, the image that carries them, and the runners that worked on it.
 */
#pragma once

#include "check.h"
#include "child.h"

enum { ITEM_TEXT = 2000, ITEM_RECORDS = 4 };

enum item_end { ITEM_NOT_RUN, ITEM_ANSWERED, ITEM_CRASHED, ITEM_LATE, ITEM_GREEDY };

/** @brief One item and what became of it in a runner. */
struct item {
    struct lesson_case settled;
    int case_index, item_index;
    int buffer_count;
    struct lesson_buffer buffer[WIRE_BUFFERS];
    enum item_end end;
    int exit_code, signal; /**< of the runner that crashed while it worked on the item */
    int one_call;          /**< 1: called once, not twice with the same inputs */
    int judged;            /**< 1: on_answer() judged it while the runner was still there */
    int finding;           /**< 1: the software device found something while the item ran */
    int record_count;
    struct record record[ITEM_RECORDS]; /**< the first records found, checked and all different */
    double host_seconds;
    char text[ITEM_TEXT]; /**< what the program itself printed while the item ran */
    uint64_t nonce[2];
    uint64_t poison_secret;
    uint64_t guard_seed;
    /* Memory that no runner can reach: the inputs as they were given, rounded to their storage type, by
     * buffer (NULL for other buffers), and where the copies of each buffer begin in the image. */
    float *input[WIRE_BUFFERS];
    uint64_t copies[WIRE_BUFFERS];
};

/**
 * @brief A runner that is kept from session to session, and the image that it has mapped: on a GPU a start takes longer than most
 *        sessions.
 */
struct kept_runner {
    struct child child;
    enum { KEPT_NONE, KEPT_STARTING, KEPT_READY } state;
    int image; /**< descriptor of the memory file, -1: none yet */
    struct wire_header *header;
    size_t bytes; /**< of the image: sessions that need more get one of their own */
    int items;    /**< that it may run in all */
};

/** @brief Items that share an image. */
struct session {
    struct check *check;
    struct item *item;
    int count;
    struct kept_runner *kept; /**< NULL: the session has an image and runners of its own */
    int image;                /**< descriptor of the memory file */
    struct wire_header *header;
    size_t bytes;
    uint64_t records;     /**< where the runner's records lie in the image */
    uint32_t taken;       /**< how many of those were taken over since the runner's last case began */
    const char *counters; /**< file for the software device's counters, or NULL */
    int timed;            /**< launches to time, 0 for none */
    /** Called after each answer, if not NULL: judges the item, and returns 0 to stop the session, which an
     *  item without an answer does, too. */
    int (*on_answer)(struct session *session, int index);
};

/** @brief Bytes of image that @p item needs in addition to the header. */
uint64_t session_item_bytes(const struct session *session, const struct item *item);

/** @brief Bytes of an image for all items of @p session. */
size_t session_image_bytes(const struct session *session);

/** @brief Makes the image and fills it with cases and inputs. 0, or -1 with check->broken set. */
int session_open(struct session *session);

/** @brief Runs all items, with as many runners as that takes. All runners have ended when it returns, unless one is kept. */
void session_run(struct session *session);

/** @brief Ends a kept runner, and gives its image back. */
void session_end_kept(struct check *check, struct kept_runner *kept);

/** @brief Writes the image to @p path, for `runner --case-file`. 0 or -1. */
int session_save(const struct session *session, const char *path);

void session_close(struct session *session);

/** @brief The case of item @p index in the image. */
struct wire_case *session_case(const struct session *session, int index);

/** @brief Size of each guard zone; 0 if the device itself checks the borders. */
uint64_t session_guard_bytes(const struct session *session);

/** @brief Timed calls may rotate @p buffer of @p item by multiples of this many bytes; 0: never. */
uint64_t session_turn(const struct session *session, const struct item *item, int buffer);

/** @brief Timed calls may replace integers of @p buffer of @p item by others below this; 0: never. */
uint64_t session_others_below(const struct session *session, const struct item *item, int buffer);

/** @brief The word that @p buffer of @p item is filled with before run @p run. */
uint32_t session_poison(const struct item *item, int buffer, int run);

/** @brief The contents of @p buffer after run @p run: in its storage type, without the guard zones. */
const void *session_copy(const struct session *session, int index, int buffer, int run);
