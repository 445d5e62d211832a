#include "source_sum.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sha256.h"
#include "text.h"

enum { MOST_FILES = 100 };

struct sources {
    struct sha256 hash;
    char *seen[MOST_FILES]; /* files that are in the sum */
    size_t count;
    const char *folders[3]; /* where included files are looked for */
};

/* Where a comment or a string that begins at @p at ends; @p at itself if none does. */
static const char *end_of_piece(const char *at)
{
    const char *end;
    if (strncmp(at, "//", 2) == 0) return at + strcspn(at, "\n");
    if (strncmp(at, "/*", 2) == 0) return (end = strstr(at + 2, "*/")) != NULL ? end + 2 : at + strlen(at);
    if (*at != '"' && *at != '\'') return at;
    for (end = at + 1; *end != '\0' && *end != *at; end++)
        if (*end == '\\' && end[1] != '\0') end++;
    return *end == '\0' ? end : end + 1;
}

static int add_source(struct sources *sources, const char *path);

/* @p name, as it stands in a line that includes it, in the file at @p path. */
static void add_included(struct sources *sources, const char *path, const char *name, size_t length)
{
    char *beside = format_string("%.*s/%.*s", (int)(strrchr(path, '/') - path), path, (int)length, name);
    int found = add_source(sources, beside);
    free(beside);
    for (size_t i = 0; !found && i < sizeof sources->folders / sizeof sources->folders[0]; i++) {
        char *there = format_string("%s/%.*s", sources->folders[i], (int)length, name);
        found = add_source(sources, there);
        free(there);
    }
}

/* 1 if the file at @p path is there: then it is in the sum, once. */
static int add_source(struct sources *sources, const char *path)
{
    struct text content = {0};
    for (size_t i = 0; i < sources->count; i++)
        if (strcmp(sources->seen[i], path) == 0) return 1;
    if (sources->count == MOST_FILES || read_file(path, &content) != 0) return 0;
    sources->seen[sources->count++] = copy_string(path);
    static const char include[] = "#include \"";
    for (const char *at = content.data, *end; at != NULL && *at != '\0'; at = end) {
        end = end_of_piece(at);
        if (strncmp(at, include, strlen(include)) == 0)
            add_included(sources, path, at + strlen(include), strcspn(at + strlen(include), "\"\n"));
        if (end == at && !isspace((unsigned char)*at)) sha256_add(&sources->hash, at, 1);
        if (end > at && *at != '/') sha256_add(&sources->hash, at, (size_t)(end - at)); /* a string */
        if (end == at) end++;
    }
    text_free(&content);
    return 1;
}

double source_sum(const char *tree, const char *folder)
{
    const char *topic = strchr(folder, '_');
    if (topic == NULL) return 0;
    char *folders[] = {format_string("%s/lessons/%s", tree, folder),
                       format_string("%s/common/contracts", tree), format_string("%s/common/decode", tree)};
    char *path = format_string("%s/solutions/%s/%s.cu", tree, folder, topic + 1), digits[65];
    struct sources sources = {.folders = {folders[0], folders[1], folders[2]}};
    sha256_begin(&sources.hash);
    int found = add_source(&sources, path);
    sha256_end(&sources.hash, digits);
    digits[12] = '\0'; /* 48 bits */
    for (size_t i = 0; i < sources.count; i++) free(sources.seen[i]);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) free(folders[i]);
    free(path);
    return found ? (double)strtoull(digits, NULL, 16) : 0;
}
