/**
 * @file grade_settings.c
 * @brief How the journal keeps what the instructor gives in addition to the submissions.
 */
#include "base/text.h"
#include "grade.h"
#include "journal.h"

static const char *const names[GRADE_SETTINGS] = {"overrides",      "deadlines", "times",     "time-column",
                                                  "student-column", "late-days", "visibility"};

const char *grade_setting_name(enum grade_setting which)
{
    return names[which];
}

void grade_settings_read(struct grade_book *book, const struct journal_record *record)
{
    for (int i = 0; i < GRADE_SETTINGS; i++) book->setting[i] = copy_string(record_value(record, names[i]));
}

void grade_settings_line(const struct grade_book *book, struct text *line)
{
    record_put(line, "kind", "settings");
    for (int i = 0; i < GRADE_SETTINGS; i++)
        if (book->setting[i] != NULL && *book->setting[i]) record_put(line, names[i], book->setting[i]);
}
