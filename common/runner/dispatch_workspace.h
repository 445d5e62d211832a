/**
 * @file dispatch_workspace.h
 * @brief The inside of a lesson_workspace_bytes(): asks the function of the lesson, or of part item->part, for the size. A
 *        parameter that is FILLED, so never NULL, is the address of the variable `filled`.
 */
/* clang-format off */
{
    int part = -1;
#define PART(id, name, points) part++;
#define WORKSPACE(name, parameters, ...) if (part < 0 || (int)item->part == part) return name(__VA_ARGS__);
#define GIVEN(x) x
#define FILLED(x) &filled
#include "description/lesson_def.h"
}
/* clang-format on */
