/**
 * @file judging.h
 * @brief One kernel file on one device: built, handed to the checker, and what came of it.
 */
#pragma once

#include "base/process.h"
#include "build/build.h"
#include "course/command.h"
#include "course/course.h"
#include "course/device.h"
#include "results.h"

struct judgement_request {
    const struct lesson_folder *lesson;
    const char *kernel;
    const char *submission; /**< folder of a submission to take the kernel file from, or NULL */
    enum device device;
    const char *order; /**< SIMT_ORDER for the runner, or NULL */
    const char *again; /**< words that name the kernel on a command line, or NULL for the lesson's own */
    int bench;
    int build_only;         /**< 1: a submission is built and not run */
    enum build_level level; /**< of a kernel file of one's own */
    int echo;               /**< 1: the checker's report goes to stdout */
    int verbose;
    struct argument_list checker_arguments; /**< passed on as they are */
};

struct judgement {
    int exit_code; /**< an ::exit_code */
    enum state state;
    struct results results;
    struct text report;
    int device_finding; /**< 1 if the software device reported something */
    double seconds;     /**< that all of it took, the build included */
};

void judge(const struct judgement_request *request, struct judgement *judgement);
/** @brief The second half of judge(): a runner that is there already, handed to the checker. */
void judge_runner(const struct judgement_request *request, const char *runner, struct judgement *judgement);
/** @brief 1 if it came to no verdict because the device is not there. */
int judgement_lacks_device(const struct judgement *judgement);
/** @brief Notes on disk that a kernel of @p lesson ran, for the test run.executed_something. */
void record_run(const struct lesson_folder *lesson, enum device device, enum state state);

/** @brief `warpwise ran`, for CTest. */
extern const struct command ran_command;
