/* The way on at the end of a page: lessons in order, background pages in the order of docs/background.md, notes back to
 * their lesson. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "pager.h"

struct stop {
    char name[128]; /* of the page; "" if there is none */
    char title[300];
};

static void set_stop(struct stop *stop, const char *name, const char *title, size_t length)
{
    snprintf(stop->name, sizeof stop->name, "%s", name);
    snprintf(stop->title, sizeof stop->title, "%.*s", (int)length, title);
}

static void set_lesson(struct stop *stop, const struct lesson_folder *lesson)
{
    snprintf(stop->name, sizeof stop->name, "lesson_%s", lesson->number);
    snprintf(stop->title, sizeof stop->title, "%s %s", lesson->number, lesson->title);
}

/* The rows "| [Title](file.md) | ..." before and after that of the page @p name; returns 0 if it has none. */
static int find_background(const char *table, const char *name, struct stop *before, struct stop *after)
{
    static const char begin[] = "\n| [";
    int found = 0;
    set_stop(before, "background", "Background", strlen("Background"));
    for (const char *at = table; (at = strstr(at, begin)) != NULL; at++) {
        const char *title = at + strlen(begin), *target = strstr(title, "](");
        if (target == NULL) break;
        char path[128], row[128];
        snprintf(path, sizeof path, "docs/%.*s", (int)strcspn(target + 2, ")#"), target + 2);
        page_name(path, row, sizeof row);
        if (found) {
            set_stop(after, row, title, (size_t)(target - title));
            break;
        }
        found = strcmp(row, name) == 0;
        if (!found) set_stop(before, row, title, (size_t)(target - title));
    }
    return found;
}

static void add_stop(struct text *out, const struct stop *stop, int next)
{
    if (stop->name[0] == '\0') return;
    text_print(out, "<a rel=\"%s\" href=\"%s.html\">%s", next ? "next" : "prev", stop->name,
               next ? "" : "← ");
    text_add_escaped(out, stop->title, strlen(stop->title));
    text_add(out, next ? " →</a>" : "</a>");
}

void add_pager(struct text *out, const struct site *site, const char *name,
               const struct lesson_folder *lesson)
{
    struct stop before = {.name = ""}, after = {.name = ""};
    if (strcmp(name, "course") == 0 && site->lesson_count > 0) {
        set_lesson(&after, &site->lessons[0]);
    } else if (lesson != NULL && starts(name, "lesson_")) {
        int here = (int)(lesson - site->lessons);
        set_stop(&before, "course", "The course", strlen("The course"));
        set_stop(&after, "self_check", "Self-check", strlen("Self-check"));
        if (here > 0) set_lesson(&before, lesson - 1);
        if (here + 1 < site->lesson_count) set_lesson(&after, lesson + 1);
    } else if (lesson != NULL) {
        set_lesson(&before, lesson);
    } else {
        struct text path = {0};
        text_print(&path, "%s/docs/background.md", site->root);
        char *table = read_whole(path.data);
        int found = table != NULL && find_background(table, name, &before, &after);
        free(table);
        text_free(&path);
        if (!found) return;
    }
    if (before.name[0] == '\0' && after.name[0] == '\0') return;
    text_add(out, "\n@htmlonly[block]\n<nav class=\"pager\">");
    add_stop(out, &before, 0);
    add_stop(out, &after, 1);
    text_add(out, "</nav>\n@endhtmlonly\n");
}
