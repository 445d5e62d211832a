/**
 * @file command.h
 * @brief A command of the program `warpwise`, its options, and what stood on the command line.
 */
#pragma once

#include <stddef.h>

enum { MAX_OPTIONS = 24, MAX_OPERANDS = 256 };

/** @brief One option of a command. */
struct option_description {
    const char *name;     /**< "--case" */
    const char *argument; /**< "NAME", or NULL for a switch */
    const char *help;
    int many; /**< 1: may be given more than once */
};

/** @brief What stands on the command line. */
struct command_line {
    const char *operand; /**< NULL if none was given */
    size_t operand_count;
    const char *operands[MAX_OPERANDS]; /**< all of them, for a command that takes many */
    size_t count;
    const char *name[MAX_OPTIONS * 4];
    const char *value[MAX_OPTIONS * 4]; /**< "" for a switch */
};

struct command {
    const char *name;
    const char *operand; /**< what stands after the name: "NN", or NULL */
    const char *second;  /**< and after that */
    int many;            /**< 1: it takes more than one of these */
    const char *summary; /**< NULL: not listed */
    const char *details;
    const struct option_description *options; /**< ended by a NULL name */
    int (*run)(const struct command_line *line);
};

/** @brief The value of option @p name (the last one given), "" for a switch, NULL if it was not given. */
const char *option_value(const struct command_line *line, const char *name);

/** @brief The name of this program as it was called, for commands that are to be typed. */
const char *program_name(void);
void set_program_name(const char *name);

/** @brief Every command, NULL at the end; set by main(). */
extern const struct command *const *program_commands;
