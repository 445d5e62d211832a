/**
 * @file grade_given.c
 * @brief What the instructor gives in addition to the submissions: read, checked, and kept until something
 *        else is given.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "base/text.h"
#include "grade_adjust.h"
#include "grade_class.h"
#include "journal.h"

void grade_settings_ask(const struct command_line *line, struct grade_class *class)
{
    for (int i = 0; i < GRADE_SETTINGS; i++) {
        char *option = format_string("--%s", grade_setting_name((enum grade_setting)i));
        class->setting[i] = option_value(line, option);
        free(option);
    }
}

/* The value of an option, or the contents of the file that it names; NULL after a complaint. */
static char *value_of(int which, const char *given)
{
    struct text content = {0};
    const char *name = grade_setting_name((enum grade_setting)which);
    if (which != GRADE_OVERRIDES && which != GRADE_DEADLINES && which != GRADE_TIMES)
        return copy_string(given);
    int error = read_file(given, &content);
    if (error) return complain("--%s %s cannot be read: %s.", name, given, strerror(error)), NULL;
    if (content.data != NULL && strlen(content.data) != content.length)
        return complain("--%s %s is no text.", name, given), NULL;
    return copy_string(content.data != NULL ? content.data : "");
}

int grade_settings_settle(struct grade_class *class)
{
    struct grade_book *book = &class->book;
    struct grade_rules rules;
    struct text before = {0}, line = {0};
    grade_settings_line(book, &before);
    for (int i = 0; i < GRADE_SETTINGS; i++) {
        if (class->setting[i] == NULL) continue;
        book->setting[i] = value_of(i, class->setting[i]);
        if (book->setting[i] == NULL) return EXIT_TROUBLE;
    }
    grade_settings_line(book, &line);
    int changed = strcmp(before.data, line.data) != 0, error = 0;
    int code = changed ? grade_visibility_check(book) : EXIT_PASS;
    if (code == EXIT_PASS && changed) code = grade_rules_make(book, &rules);
    if (code == EXIT_PASS && changed) code = grade_rules_fit(book, &rules);
    if (code == EXIT_PASS && changed && class->journal.file >= 0)
        error = journal_append(&class->journal, &line);
    text_free(&before);
    text_free(&line);
    return error ? complain("%s cannot be written: %s.", class->journal.path, strerror(error)) : code;
}
