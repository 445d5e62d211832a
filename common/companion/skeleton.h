/**
 * @file skeleton.h
 * @brief The kernel file as it was handed out.
 */
#pragma once

#include "base/text.h"
#include "course/course.h"

/** @brief Keeps a copy of the lesson's kernel file if it still is the skeleton, for a later reset. */
void skeleton_keep(const struct lesson_folder *lesson);
/** @brief What git prints, told @p arguments ("git" the first, NULL the last); NULL if it fails or is not there. */
char *ask_git(const char *const *arguments);
/** @brief The skeleton: the newest in git's history, else the kept copy. 0, or -1 if there is neither. */
int skeleton_find(const struct lesson_folder *lesson, struct text *source);
