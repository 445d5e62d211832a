/**
 * @file grade_leftovers.c
 * @brief Removes files that a killed grader had not yet moved into place: NAME.PID beside NAME, and
 *        journal.new; and its unfinished builds and counters.
 *
 * Only the grader that holds the lock of the folder calls this, so no other one is still writing there.
 * Builds and counters may belong to other graders: those are removed that no process holds.
 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/leftovers.h"
#include "base/text.h"
#include "course/course.h"
#include "grade_class.h"

/* A folder's name may contain characters that glob() treats as a pattern. */
static char *literal(const char *path)
{
    struct text out = {0};
    for (; *path; path++) text_print(&out, "%s%c", strchr("*?[]\\", *path) != NULL ? "\\" : "", *path);
    return out.data;
}

static int ends_in_number(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL && dot[1] && dot[1 + strspn(dot + 1, "0123456789")] == '\0';
}

void grade_remove_leftovers(const char *out)
{
    static const char *const names[] = {"grades.csv",
                                        "summary.html",
                                        "secret_seed",
                                        "journal.new",
                                        "students/*/results.json",
                                        "students/*/junit.xml",
                                        "students/*/report.md",
                                        "students/*/log.txt"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        glob_t found;
        int whole = strcmp(names[i], "journal.new") == 0;
        char *folder = literal(out),
             *pattern = format_string("%s/%s%s", folder, names[i], whole ? "" : ".[0-9]*");
        if (glob(pattern, 0, NULL, &found) == 0) {
            for (size_t j = 0; j < found.gl_pathc; j++)
                if (whole || ends_in_number(found.gl_pathv[j])) unlink(found.gl_pathv[j]);
            globfree(&found);
        }
        free(pattern);
        free(folder);
    }
    char *kernels = format_string("%s/kernels", course_binary_dir());
    leftovers_remove(kernels, "", "#");
    leftovers_remove("/tmp", "warpwise_counters_", "");
    free(kernels);
}
