/*
 * What Doxygen runs on every page, kernel file and header (FILTER_PATTERNS): prints the file as Doxygen is to read it.
 *
 *     site_filter --tree DIR --written DIR FILE      written: the build folder, whose docs/results stands for the tree's
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"

/* The rest of a path that leads into the folder; else the path as it is. */
static const char *below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

int main(int count, char **arguments)
{
    static struct site site;
    if (count != 6 || strcmp(arguments[1], "--tree") != 0 || strcmp(arguments[3], "--written") != 0)
        fail("usage: site_filter --tree DIR --written DIR FILE");
    site.root = arguments[2];
    const char *path = below(below(arguments[5], arguments[4]), site.root);
    site.lesson_count = find_lessons(site.root, site.lessons);
    char *content = read_whole(arguments[5]);
    if (content == NULL) fail("%s: warning: cannot be read", arguments[5]);
    struct text out = {0};
    int status = 0;
    if (ends_with(path, ".md"))
        status = filter_page(&site, path, content, &out);
    else if (ends_with(path, ".h"))
        filter_contract(&site, path, content, &out);
    else
        filter_kernels(&site, path, content, &out);
    if (out.data != NULL) fputs(out.data, stdout);
    text_free(&out);
    free(content);
    return status == 0 ? 0 : 1;
}
