/**
 * @file part_names.h
 * @brief The names of a lesson's parts, in their order: the inside of an initialiser.
 */
/** @cond */
#define PART(id, name, points) name,
#include "lesson_def.h"
/** @endcond */
