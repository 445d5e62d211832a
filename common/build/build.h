/**
 * @file build.h
 * @brief From a kernel file to a runner.
 */
#pragma once

#include "base/text.h"
#include "course/course.h"
#include "course/device.h"

enum build_state {
    BUILD_READY,
    BUILD_BROKEN,     /**< the kernel file does not compile or link */
    BUILD_IMPOSSIBLE, /**< something else went wrong, and a complaint has been printed */
    BUILD_REFUSED,    /**< the kernel file does what an untrusted one must not do (build_untrusted() only) */
    BUILD_LATE        /**< compiling it took too much time or memory (build_untrusted() only) */
};

/** @brief What a runner is built for. On simt a quick build takes half the time: enough for a few small cases;
 *         one for a debugger keeps every line and every call; one that is only judged opens short loops, so that its counters may
 *         differ. */
enum build_level { BUILD_FULL, BUILD_QUICK, BUILD_DEBUG, BUILD_JUDGED };

struct build {
    enum build_state state;
    char *runner; /**< the program, if ready */
    int cached;   /**< 1 if it was there already */
    /** why it was refused or timed out; for a student's own file that is ready, why grading would refuse
     *  it; else NULL */
    char *sentence;
    struct text errors; /**< first messages of the compiler, if broken */
    struct text log;    /**< everything the compiler said */
};

/** @brief Builds @p kernel as a runner of @p lesson, or finds the runner built earlier from the same
 *         content. */
void build_runner(const struct lesson_folder *lesson, const char *kernel, enum device device,
                  enum build_level level, struct build *build);
/**
 * @brief The same for an untrusted file: compilers run in the sandbox (common/sandbox/sandbox.h); the text,
 *        the preprocessor's output and the object file are checked before anything is linked.
 */
void build_untrusted(const struct lesson_folder *lesson, const char *kernel, enum device device,
                     struct build *build);
/** @brief EXIT_PASS if this build's compilers can isolate an untrusted file on @p device; complains
 *         otherwise. build_untrusted() checks it, too. */
int build_untrusted_settle(enum device device);
/** @brief What the compiler @p compiler (CMake's name: "GNU") at optimisation @p optimise (NULL: the
 *         default) lacks for that on simt, or NULL. */
const char *build_untrusted_compiler_lacks(const char *compiler, const char *optimise);
/** @brief From now on compilers get @p seconds for an untrusted file; the default is 90 for simt and 300
 *         for gpu. */
void build_untrusted_limit(double seconds);
/** @brief The same, but no more than the default; 0 changes nothing. */
void build_untrusted_at_most(double seconds);
/** @brief EXIT_PASS if @p path is a kernel file that can be read; complains otherwise. */
int build_kernel_file_usable(const char *path);
