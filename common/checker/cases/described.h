/**
 * @file described.h
 * @brief What lesson.def says of a lesson, as fields of its struct lesson: the first line inside of that initialiser.
 */
/* clang-format off */
#define LESSON(number_, topic_, title_) .number = number_, .topic = #topic_, .title = title_,
#define NCCL() .network = 1,
#define ARCHITECTURE(least, last) .least_architecture = least, .last_architecture = last,
#include "description/lesson_def.h"
.part_count = 0
#define PART(id, name, points) + 1
#include "description/lesson_def.h"
, .part = {
#define PART(id, name, points) {name, points},
#include "description/lesson_def.h"
},
