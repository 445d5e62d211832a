/**
 * @file companion.h
 * @brief The commands that accompany a student. Each is in a file of its name; status.c holds `next` as well.
 */
#pragma once

#include "course/command.h"

struct lesson_folder;

/* about working */
extern const struct command status_command, next_command, check_command, watch_command, hint_command,
    diff_command, reset_command, hunt_command, debug_command, editor_command;
/* about measuring */
extern const struct command bench_command, predict_command, profile_command, roofline_command, runner_command,
    tour_command, sass_command, generate_command, serve_bench_command, trace_command;
extern const struct command doctor_command;
/** @brief Takes option --ranks of @p line; EXIT_PASS, or EXIT_TROUBLE after a complaint. */
int companion_limit_ranks(const struct command_line *line, const struct lesson_folder *lesson);

/* about writing lessons */
extern const struct command new_lesson_command;
