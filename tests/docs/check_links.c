/*
 * Finds dead links.
 *
 *     check_links --site DIR       every href and src of every HTML file in DIR: the file is there, and so is the id
 *     check_links --tree DIR       every relative link and picture of every .md file of a source tree, as a forge sees it:
 *                                  the file or folder is there, and the heading
 *
 * Prints what is dead and ends with 1, or the number of links that were followed. Links into the network are not followed.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "html.h"
#include "writing.h"
#include "tree.h"

enum { FILES_MAX = 8192, IDS_MAX = 200000 };

struct file {
    char *path; /* relative to the folder */
    char *content;
};

static struct {
    const char *root;
    struct file files[FILES_MAX];
    int file_count;
    char *ids[IDS_MAX]; /* "path#id", sorted once all are there */
    int id_count;
    int links, dead;
} all;

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_id(const char *path, const char *id)
{
    struct text entry = {0};
    if (all.id_count == IDS_MAX) fail("more than %d ids", IDS_MAX);
    text_print(&entry, "%s#%s", path, id);
    all.ids[all.id_count++] = entry.data;
}

static int has_id(const char *path, const char *id)
{
    struct text entry = {0};
    text_print(&entry, "%s#%s", path, id);
    int found =
        bsearch(&entry.data, all.ids, (size_t)all.id_count, sizeof all.ids[0], compare_strings) != NULL;
    text_free(&entry);
    return found;
}

static int exists(const char *path)
{
    struct text full = {0};
    struct stat status;
    text_print(&full, "%s/%s", all.root, path);
    int found = stat(full.data, &status) == 0;
    text_free(&full);
    return found;
}

/* Reads all files with this ending below a folder; build folders and hidden ones are passed over. */
static void collect(const char *folder, const char *ending)
{
    struct text full = {0};
    text_print(&full, "%s/%s", all.root, folder);
    DIR *directory = opendir(full.data);
    if (directory == NULL) fail("%s: cannot be read", full.data);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        const char *name = entry->d_name;
        struct text path = {0};
        struct stat status;
        text_print(&path, "%s%s%s", folder, folder[0] == '\0' ? "" : "/", name);
        text_free(&full);
        text_print(&full, "%s/%s", all.root, path.data);
        size_t length = strlen(name), end = strlen(ending);
        if (name[0] == '.' || strncmp(name, "build", 5) == 0 || lstat(full.data, &status) != 0) {
        } else if (S_ISDIR(status.st_mode)) {
            collect(path.data, ending);
        } else if (length > end && strcmp(name + length - end, ending) == 0) {
            if (all.file_count == FILES_MAX) fail("more than %d files", FILES_MAX);
            all.files[all.file_count].content = read_whole(full.data);
            if (all.files[all.file_count].content == NULL) fail("%s: cannot be read", full.data);
            all.files[all.file_count++].path = strdup(path.data);
        }
        text_free(&path);
    }
    text_free(&full);
    closedir(directory);
}

/* One link; ids are looked for in files that were collected only, so a.csv#L3 is left alone. */
static void follow(const char *from, int line, const char *link)
{
    char path[TREE_PATH_MAX], file[TREE_PATH_MAX];
    static const char *const outside[] = {"http:", "https:", "mailto:", "data:", "javascript:"};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
        if (strncmp(link, outside[i], strlen(outside[i])) == 0) return;
    all.links++;
    snprintf(file, sizeof file, "%.*s", (int)strcspn(link, "#?"), link);
    const char *fragment = strchr(link, '#');
    int bad = 0;
    if (strcmp(from, "docs/handout.md") == 0)
        from = "README.md"; // it becomes that of a handout (course/handout.c)
    if (file[0] == '\0')
        snprintf(path, sizeof path, "%s", from);
    else
        bad = resolve_link(from, file, path, sizeof path) != 0 || !exists(path);
    const char *dot = strrchr(path, '.');
    int read = dot != NULL && (strcmp(dot, ".md") == 0 || strcmp(dot, ".html") == 0);
    if (!bad && fragment != NULL && fragment[1] != '\0' && read) bad = !has_id(path, fragment + 1);
    if (!bad) return;
    printf("%s:%d: dead link: %s\n", from, line, link);
    all.dead++;
}

/* ---- HTML ---------------------------------------------------------------------------------------------------------- */

static int line_of(const char *content, const char *at)
{
    int line = 1;
    for (; content < at; content++) line += *content == '\n';
    return line;
}

static void collect_ids(const struct file *file)
{
    struct html_piece piece;
    for (const char *at = file->content; html_next(&at, &piece);) {
        char value[1024];
        if (piece.kind != HTML_OPEN) continue;
        if (html_attribute(&piece, "id", value, sizeof value)) add_id(file->path, value);
        if (strcmp(piece.name, "a") == 0 && html_attribute(&piece, "name", value, sizeof value))
            add_id(file->path, value);
    }
}

static void follow_html(const struct file *file)
{
    struct html_piece piece;
    for (const char *at = file->content; html_next(&at, &piece);) {
        char value[2048];
        static const char *const attributes[] = {"href", "src", "data"};
        if (piece.kind != HTML_OPEN) continue;
        for (int i = 0; i < 3; i++)
            if (html_attribute(&piece, attributes[i], value, sizeof value))
                follow(file->path, line_of(file->content, piece.at), value);
        if (strcmp(piece.name, "a") == 0 && html_attribute(&piece, "xlink:href", value, sizeof value))
            follow(file->path, line_of(file->content, piece.at), value);
    }
}

/* ---- markdown ------------------------------------------------------------------------------------------------------ */

/* Calls visit for every line that is not in a fenced block. */
static void each_line(const struct file *file, void (*visit)(const struct file *, int, char *))
{
    int fenced = 0, number = 0;
    for (const char *at = file->content; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        char *line = strndup(at, length);
        number++;
        if (strncmp(line, "```", 3) == 0)
            fenced = !fenced;
        else if (!fenced)
            visit(file, number, line);
        free(line);
        at += length + (at[length] == '\n');
    }
}

static void collect_heading(const struct file *file, int number, char *line)
{
    size_t level = strspn(line, "#");
    char slug[512], again[600];
    (void)number;
    if (level == 0 || level > 6 || line[level] != ' ') return;
    heading_slug(line + level + 1, slug, sizeof slug);
    for (int i = 0;; i++) { // a second heading of the same name is heading-1
        snprintf(again, sizeof again, i == 0 ? "%s" : "%s-%d", slug, i);
        int taken = 0;
        struct text entry = {0};
        text_print(&entry, "%s#%s", file->path, again);
        for (int j = all.id_count - 1; j >= 0 && !taken; j--) taken = strcmp(all.ids[j], entry.data) == 0;
        text_free(&entry);
        if (!taken) break;
    }
    add_id(file->path, again);
}

static void follow_line(const struct file *file, int number, char *line)
{
    int code = 0;
    for (char *at = line; *at != '\0'; at++) {
        if (*at == '`') code = !code;
        if (code || at[0] != ']' || at[1] != '(') continue;
        char *end = strchr(at, ')');
        if (end == NULL) continue;
        *end = '\0';
        if (strncmp(at + 2, "@ref ", 5) != 0)
            follow(file->path, number, at + 2);
        else { // only the site can follow it
            printf("%s:%d: a forge cannot follow %s\n", file->path, number, at + 2);
            all.dead++;
        }
        *end = ')';
        at = end;
    }
}

int main(int count, char **arguments)
{
    int site = count == 3 && strcmp(arguments[1], "--site") == 0;
    if (!site && (count != 3 || strcmp(arguments[1], "--tree") != 0))
        fail("usage: check_links --site DIR | --tree DIR");
    all.root = arguments[2];
    collect("", site ? ".html" : ".md");
    for (int i = 0; i < all.file_count; i++) {
        if (site)
            collect_ids(&all.files[i]);
        else
            each_line(&all.files[i], collect_heading);
    }
    qsort(all.ids, (size_t)all.id_count, sizeof all.ids[0], compare_strings);
    for (int i = 0; i < all.file_count; i++) {
        if (site)
            follow_html(&all.files[i]);
        else
            each_line(&all.files[i], follow_line);
    }
    printf("%d files, %d links, %d dead\n", all.file_count, all.links, all.dead);
    for (int i = 0; i < all.file_count; i++) {
        free(all.files[i].path);
        free(all.files[i].content);
    }
    for (int i = 0; i < all.id_count; i++) free(all.ids[i]);
    return all.dead > 0 || all.links == 0;
}
