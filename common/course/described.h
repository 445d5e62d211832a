/**
 * @file described.h
 * @brief What lesson.def says of a lesson to whoever builds and measures its kernels.
 */
#pragma once

enum { LESSON_METRICS = 12 };

/** @brief Zero and NULL where a description says nothing. */
struct described_lesson {
    const char *topic;
    int nccl;                            /**< 1: its ranks are several GPUs */
    const char *metrics[LESSON_METRICS]; /**< titles of what `warpwise profile` shows */
    const char *shown_by;                /**< the case that it shows */
};

/** @brief What the description of the lesson on @p topic says; of a lesson that was not there when this was built, nothing. */
const struct described_lesson *course_described(const char *topic);

/** @brief What nvcc is told behind an architecture's number: code for sm_90a may use all that sm_90 has, code for sm_90 may not. */
static inline const char *architecture_suffix(int architecture)
{
    return architecture == 90 ? "a" : "";
}
