/**
 * @file command.c
 * @brief What every command may ask of the command line and of the program.
 */
#include "command.h"

#include <string.h>

#include "course.h"

const struct command *const *program_commands;

const char *option_value(const struct command_line *line, const char *name)
{
    for (size_t i = line->count; i-- > 0;) {
        if (strcmp(line->name[i], name) == 0) return line->value[i];
    }
    return NULL;
}

static const char *called_as = "warpwise";

void set_program_name(const char *name)
{
    called_as = course_short_path(name);
}

const char *program_name(void)
{
    return called_as;
}
