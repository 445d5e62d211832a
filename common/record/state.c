/**
 * @file state.c
 * @brief Names of states, and what they mean.
 */
#include "state.h"

#include <string.h>

const char *state_name(enum state state)
{
    static const char *const names[STATE_COUNT] = {
        [STATE_PASS] = "PASS",
        [STATE_FAIL] = "FAIL",
        [STATE_NOT_STARTED] = "NOT_STARTED",
        [STATE_CRASH] = "CRASH",
        [STATE_TIMEOUT] = "TIMEOUT",
        [STATE_NO_DEVICE] = "NO_DEVICE",
        [STATE_NOT_GRADED] = "NOT_GRADED",
        [STATE_REFUSED] = "REFUSED",
        [STATE_BUILD_ERROR] = "BUILD_ERROR",
        [STATE_IN_PROGRESS] = "IN_PROGRESS",
        [STATE_NOTHING_RAN] = "NOTHING_RAN",
    };
    return (unsigned)state < STATE_COUNT ? names[state] : names[STATE_NOTHING_RAN];
}

enum state state_of(const char *name)
{
    int state = 0;
    while (state < STATE_NOTHING_RAN && strcmp(state_name((enum state)state), name) != 0) state++;
    return (enum state)state;
}

int state_is_failure(enum state state)
{
    return state == STATE_FAIL || state == STATE_CRASH || state == STATE_TIMEOUT || state == STATE_REFUSED ||
           state == STATE_BUILD_ERROR;
}

int state_is_expected(enum state state, enum state expected)
{
    if (expected != STATE_FAIL) return state == expected;
    return state == STATE_IN_PROGRESS || (state_is_failure(state) && state != STATE_BUILD_ERROR);
}

int state_was_executed(enum state state)
{
    return state == STATE_PASS || state == STATE_FAIL || state == STATE_CRASH || state == STATE_TIMEOUT ||
           state == STATE_IN_PROGRESS;
}
