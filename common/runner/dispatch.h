/**
 * @file dispatch.h
 * @brief The inside of a lesson_call(): calls the entry point of part item->part, as lesson.def says it is called. Parameters
 *        are variables of the function that includes this: `args` or whatever the contract calls them.
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
