/**
 * @file dispatch_workspace.h
 * @brief The inside of a lesson_workspace_bytes(), as dispatch.h is that of a lesson_call(): asks the lesson's function, or the
 *        part's. What is FILLED, and never NULL, is the variable `filled`.
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
