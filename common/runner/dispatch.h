/**
 * @file dispatch.h
 * @brief The inside of a lesson_call(): calls the entry point of part item->part. The function that includes this has a
 *        variable for each parameter, with the name that lesson.def gives it.
 */
/* clang-format off */
{
    int part = -1;
#define PART(id, name, points) part++;
#define ENTRY(name, parameters, ...) if ((int)item->part == part) return name(__VA_ARGS__);
#define PLAIN(x) x
#define STREAM(x) x
#define GIVEN(x) x
#include "description/lesson_def.h"
}
/* clang-format on */
