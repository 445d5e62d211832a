/**
 * @file ranks.c
 * @brief --ranks: how many GPUs, or software devices, a lesson on several GPUs may use.
 */
#include "companion.h"

#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "course/course.h"
#include "course/described.h"

int companion_limit_ranks(const struct command_line *line, const struct lesson_folder *lesson)
{
    const char *ranks = option_value(line, "--ranks");
    if (ranks == NULL) return EXIT_PASS;
    if (!course_described(lesson->topic)->nccl)
        return complain("lesson %s has one GPU; --ranks is for lesson 19.", lesson->number);
    if (strlen(ranks) != 1 || strchr("1248", *ranks) == NULL)
        return complain("--ranks takes 1, 2, 4 or 8, not \"%s\".", ranks);
    /* environment variables with this prefix reach the runner on any device */
    setenv("SIMT_RANKS", ranks, 1);
    return EXIT_PASS;
}
