/**
 * @file words_device.c
 * @brief The software device's sentences, by their numbers.
 */
#include "words.h"

static const char *const messages[RECORD_MESSAGES] = {
#define SAYS(name, words) [RECORD_SAYS_##name] = words,
#include "messages.def"
};

static const char *const advices[RECORD_ADVICES] = {
#define ADVICE(name, words) [RECORD_ADVICE_##name] = words,
#include "messages.def"
};

const char *record_message_words(int message)
{
    return message > 0 && message < RECORD_MESSAGES && messages[message] != NULL ? messages[message] : "";
}

const char *record_advice_words(int advice)
{
    return advice > 0 && advice < RECORD_ADVICES && advices[advice] != NULL ? advices[advice] : "";
}
