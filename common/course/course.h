/**
 * @file course.h
 * @brief Where the course lies on this machine, and which lessons it has.
 */
#pragma once

#include <stddef.h>

struct lesson_folder {
    char *name;   /**< "04_flash_attention_1" */
    char *number; /**< "04" */
    char *topic;  /**< "flash_attention_1" */
};

/** @brief 0 if this program stands in the build folder it was configured for and the sources are there. */
int course_locate(void);
const char *course_source_dir(void);
const char *course_binary_dir(void);
/** @brief The lessons, by number; @p count receives how many. */
const struct lesson_folder *course_lessons(size_t *count);
/** @brief The lesson meant by "4", "04", "04_topic", a topic or a path; complains and returns NULL if none
 * is. */
const struct lesson_folder *course_find_lesson(const char *word);
/** @brief A flag for each of the lessons, 1 for those of @p list ("01,04-06", as option @p option had it); NULL after a complaint. */
char *course_choose_lessons(const char *list, const char *option);
/** @brief lessons/NN_topic/topic.cu, or the same under solutions/. */
char *course_kernel_path(const struct lesson_folder *lesson, int solution);
/** @brief @p path without the source folder before it, where that makes it valid from the working folder. */
const char *course_short_path(const char *path);
