/*
 * What Doxygen runs on every page, kernel file and header (FILTER_PATTERNS): prints the file as Doxygen is to read it.
 *
 *     site_filter --tree DIR FILE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"

int main(int count, char **arguments)
{
    static struct site site;
    if (count != 4 || strcmp(arguments[1], "--tree") != 0) fail("usage: site_filter --tree DIR FILE");
    site.root = arguments[2];
    const char *path = arguments[3];
    size_t length = strlen(site.root);
    if (strncmp(path, site.root, length) == 0 && path[length] == '/') path += length + 1;
    site.lesson_count = find_lessons(site.root, site.lessons);
    char *content = read_whole(arguments[3]);
    if (content == NULL) fail("%s: warning: cannot be read", arguments[3]);
    struct text out = {0};
    int status = 0;
    size_t end = strlen(path);
    if (end > 3 && strcmp(path + end - 3, ".md") == 0)
        status = filter_page(&site, path, content, &out);
    else if (end > 2 && strcmp(path + end - 2, ".h") == 0)
        filter_contract(&site, path, content, &out);
    else
        filter_kernels(&site, path, content, &out);
    if (out.data != NULL) fputs(out.data, stdout);
    text_free(&out);
    free(content);
    return status == 0 ? 0 : 1;
}
