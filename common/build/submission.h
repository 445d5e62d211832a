/**
 * @file submission.h
 * @brief One lesson of one student's submission: which file counts, may it be built at all, and the runner
 *        built from it.
 *
 * A submission is a folder that somebody else has filled. Of all that lies in it one file a lesson is
 * looked at, the first of
 *
 *     lessons/NN_topic/topic.cu      NN_topic/topic.cu      topic.cu
 *
 * or, of a debugging exercise, lessons/NN_topic/hunt/KK.cu or NN_topic/hunt/KK.cu,
 * and it is read once: what is summed, checked and built is that copy, over the tree of this course. Nothing
 * below the folder, nor the folder itself, is followed if it is a link, nothing but a plain file is opened.
 */
#pragma once

#include "base/text.h"
#include "course/course.h"
#include "course/device.h"

enum submission_state {
    SUBMISSION_READY,       /**< the runner is built */
    SUBMISSION_NOT_STARTED, /**< nothing was handed in for this lesson, or an empty file */
    /** a link, a folder, not text, too large, or a program that does what it must not do */
    SUBMISSION_REFUSED,
    SUBMISSION_BUILD_ERROR, /**< it does not compile */
    SUBMISSION_TIMEOUT,     /**< compiling it took too much time or memory */
    SUBMISSION_TROUBLE      /**< not the student's fault (full disk, no compiler, no permission to read) */
};

/** @brief "READY", "NOT_STARTED", "REFUSED", "BUILD_ERROR", "TIMEOUT", "TROUBLE". */
const char *submission_state_name(enum submission_state state);

/** @brief The result of one lesson of a submission. Free it with submission_free(). */
struct submission {
    enum submission_state state;
    char *found;     /**< the file's path below the submission's folder, NULL if there is none */
    char sha256[65]; /**< hash of the file's bytes; "" if it could not be read */
    char *kernel;    /**< our copy of it, in the build folder; NULL if it was not read */
    char *runner;    /**< the program, if ready; else NULL */
    int elsewhere;   /**< 1: there is no file, but one of its name where grading does not look */
    char *sentence;  /**< why it is not ready, without the full stop; "" if it is */
    struct text log; /**< the compiler's messages, at most 64 KB; untrusted text */
};

/** @brief Size of the largest kernel file that is accepted. */
enum { SUBMISSION_BYTES = 1 << 20 };

/**
 * @brief Looks for the kernel file of @p lesson in @p folder and reads it; builds nothing. @p exercise is the number of a
 *        debugging exercise, or 0 for the lesson's own file.
 *
 * The state is then READY although there is no runner yet, NOT_STARTED, REFUSED or TROUBLE.
 */
void submission_find(const char *folder, const struct lesson_folder *lesson, int exercise,
                     struct submission *submission);

/**
 * @brief What the student's tree noted of a debugging exercise, in the file `notes` beside it: the line that begins with its
 *        number, "" if there is none. The caller frees it.
 */
char *submission_notes(const char *folder, const struct lesson_folder *lesson, int exercise);

/**
 * @brief submission_find(), then builds what was found as a runner for @p device, as untrusted as it is.
 *
 * Prints nothing. The same content is not built twice: a runner is kept under the hash of everything that
 * went into it.
 */
void submission_build(const char *folder, const struct lesson_folder *lesson, int exercise,
                      enum device device, struct submission *submission);

/** @brief Frees what @p submission holds. */
void submission_free(struct submission *submission);
