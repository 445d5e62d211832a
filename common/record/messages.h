/**
 * @file messages.h
 * @brief The numbers of the software device's sentences: what happened, and what to do. messages.def has them with their English.
 */
#pragma once

/** @brief What happened, where the kind, the memory and the actors do not say it. */
enum record_message {
    RECORD_SAYS_NOTHING,
#define SAYS(name, words) RECORD_SAYS_##name,
#include "messages.def"
    RECORD_MESSAGES
};

/** @brief What is missing, or what to do. */
enum record_advice {
    RECORD_NO_ADVICE,
#define ADVICE(name, words) RECORD_ADVICE_##name,
#include "messages.def"
    RECORD_ADVICES
};
