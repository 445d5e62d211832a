#include "course.h"
static int run(const struct command_line *line) { (void)line; return 0; }
static const struct option_description options[] = {{0}};
const struct command handout_command = {.name="handout",.operand="DIR",.options=options,.run=run,.details=""};
