/**
 * @file build.h
 * @brief From a kernel file to a runner.
 */
#ifndef WARPWISE_BUILD_BUILD_H
#define WARPWISE_BUILD_BUILD_H

#include "base/text.h"
#include "course/course.h"
#include "course/device.h"

enum build_state {
    BUILD_READY,
    BUILD_BROKEN,     /**< the kernel file does not compile or link */
    BUILD_IMPOSSIBLE, /**< something else is wrong; it has been complained about */
    BUILD_REFUSED,    /**< the kernel file does what an untrusted one may not (build_untrusted() only) */
    BUILD_LATE        /**< the compiler took too much time or memory over it (build_untrusted() only) */
};

/** @brief What a runner is built for. On simt a quick build takes half the time: enough for a few small cases. */
enum build_level { BUILD_FULL, BUILD_QUICK };

struct build {
    enum build_state state;
    char *runner;   /**< the program, if ready */
    int cached;     /**< 1 if it was there already */
    char *sentence; /**< why it was refused or late; of a student's own file that is ready, why grading would
                             refuse it; else NULL */
    struct text errors; /**< first messages of the compiler, if broken */
    struct text log;    /**< everything the compiler said */
};

/** @brief Builds @p kernel as a runner of @p lesson, or finds the one built before from the same content. */
void build_runner(const struct lesson_folder *lesson, const char *kernel, enum device device,
                  enum build_level level, struct build *build);
/**
 * @brief The same for an untrusted file: compilers run in the sandbox (common/sandbox/sandbox.h); the text, what the
 *        preprocessor made of it and the object are checked before anything is linked.
 */
void build_untrusted(const struct lesson_folder *lesson, const char *kernel, enum device device,
                     struct build *build);
/** @brief EXIT_PASS if what this build was configured with can hold an untrusted file to its boundary on @p device; complains
 *         otherwise. build_untrusted() asks it, too. */
int build_untrusted_settle(enum device device);
/** @brief What CMake's compiler @p compiler ("GNU") at @p optimise (NULL: the usual) lacks for that on simt, or NULL. */
const char *build_untrusted_compiler_lacks(const char *compiler, const char *optimise);
/** @brief From now on compilers get @p seconds for an untrusted file; without, 90 for simt and 300 for gpu. */
void build_untrusted_limit(double seconds);
/** @brief The same, but no more than they would get without; 0 changes nothing. */
void build_untrusted_at_most(double seconds);
/** @brief EXIT_PASS if @p path is a kernel file that can be read; complains otherwise. */
int build_kernel_file_usable(const char *path);

#endif
