/**
 * @file completion.h
 * @brief `warpwise completion bash`.
 */
#ifndef WARPWISE_WARPWISE_COMPLETION_H
#define WARPWISE_WARPWISE_COMPLETION_H

#include "course/command.h"

extern const struct command completion_command;

#endif
