/**
 * @file state.h
 * @brief What a case, a part or a kernel file came to: one enumeration for all programs, whose names they exchange.
 */
#pragma once

/** @brief What came of it. */
enum state {
    STATE_PASS,
    STATE_FAIL,
    STATE_NOT_STARTED,
    STATE_CRASH,
    STATE_TIMEOUT,
    STATE_NO_DEVICE,
    STATE_NOT_GRADED, /**< the checker or the machine could not do its part: nobody's fault and nobody's points */
    STATE_REFUSED, /**< grading takes no such file */
    STATE_BUILD_ERROR,
    STATE_IN_PROGRESS, /**< of a part or a file: all that is written passes, and something is not written yet */
    STATE_NOTHING_RAN, /**< there is no verdict */
    STATE_COUNT
};

/** @brief "PASS", "FAIL", ... Never NULL. */
const char *state_name(enum state state);

/** @brief The state called @p name; STATE_NOTHING_RAN if there is none of that name. */
enum state state_of(const char *name);

/** @brief 1 for a state that means a wrong kernel: FAIL, CRASH, TIMEOUT, REFUSED, BUILD_ERROR. */
int state_is_failure(enum state state);

/** @brief 1 if @p state is what `--expect` @p expected asks for: FAIL stands for every failure but BUILD_ERROR, and for
 *         IN_PROGRESS. */
int state_is_expected(enum state state, enum state expected);

/** @brief 1 if a kernel was really executed to reach this state. */
int state_was_executed(enum state state);
