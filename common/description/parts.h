/**
 * @file parts.h
 * @brief The parts of a lesson as enumerators, PART_ID: the inside of an enumeration.
 */
/** @cond */
#define PART(id, name, points) PART_##id,
#include "lesson_def.h"
/** @endcond */
