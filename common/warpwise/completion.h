/**
 * @file completion.h
 * @brief `warpwise completion bash`.
 */
#pragma once

#include "course/command.h"

extern const struct command completion_command;
