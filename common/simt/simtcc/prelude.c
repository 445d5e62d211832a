/**
 * @file prelude.c
 * @brief Where precompiled headers lie, and whether they are up to date.
 */
#include "prelude.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "text.h"

const char *const prelude_levels[] = {"-O2", "-Og", "-O0", NULL};

static char *path_of(const char *library, const char *level)
{
    const char *slash = strrchr(library, '/');
    return format_string("%.*ssimt_prelude%s.h", slash != NULL ? (int)(slash + 1 - library) : 0, library,
                         level);
}

/* 1 if any file that @p pattern matches is newer than @p time, or if none matches. */
static int any_newer(const char *pattern, const struct timespec *time)
{
    glob_t found;
    struct stat file;
    int newer = 0;
    if (glob(pattern, 0, NULL, &found) != 0) return 1;
    for (size_t i = 0; i < found.gl_pathc && !newer; i++)
        newer = stat(found.gl_pathv[i], &file) != 0 || file.st_mtim.tv_sec > time->tv_sec ||
                (file.st_mtim.tv_sec == time->tv_sec && file.st_mtim.tv_nsec > time->tv_nsec);
    globfree(&found);
    return newer;
}

/* The contents of the prelude. It names the folder, because a precompiled header refers to its headers by
 * the paths they had, and would list those among a file's dependencies even after the installation was
 * moved. */
static struct text contents(const char *include)
{
    struct text text = {0};
    char *folder = realpath(include, NULL);
    text_add_string(&text, "#define SIMT_WITHOUT_SPECIAL_FUNCTIONS\n#include <cuda_runtime.h>\n// of ");
    text_add_string(&text, folder != NULL ? folder : include);
    text_add_string(&text, "\n");
    free(folder);
    return text;
}

static int made_for(const char *prelude, const char *include)
{
    struct text wanted = contents(include), there = {0};
    int same = text_read_file(&there, prelude) && there.length == wanted.length &&
               memcmp(there.data, wanted.data, wanted.length) == 0;
    text_drop(&wanted);
    text_drop(&there);
    return same;
}

/* The compiler uses a precompiled header even if its headers have changed since. */
const char *prelude_find(const char *library, const char *include, const char *level)
{
    static const char *const headers[] = {"*.h", "simt/*.h", "../*.h"}; /* the last: machine.h */
    struct stat form;
    if (library == NULL) return "cuda_runtime.h";
    const char *prelude = path_of(library, level);
    if (stat(format_string("%s.gch", prelude), &form) != 0 || !made_for(prelude, include))
        return "cuda_runtime.h";
    for (size_t h = 0; h < sizeof headers / sizeof headers[0]; h++)
        if (any_newer(format_string("%s/%s", include, headers[h]), &form.st_mtim)) return "cuda_runtime.h";
    return prelude;
}

const char *prelude_prepare(const char *library, const char *include, const char *level)
{
    struct text text = contents(include);
    const char *prelude = path_of(library, level);
    if (!text_write_file(&text, prelude)) die("cannot write %s: %s", prelude, strerror(errno));
    text_drop(&text);
    return prelude;
}

static int is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* 1 if the word at @p at is @p name, possibly with the suffix of float or long double. */
static int is_name_at(const char *at, const char *name)
{
    const size_t length = strlen(name);
    if (strncmp(at, name, length) != 0) return 0;
    const char after = at[length];
    return !is_of_word(after) || ((after == 'f' || after == 'l') && !is_of_word(at[length + 1]));
}

int prelude_lacks(const char *path, const char *before)
{
    static const char *const names[] = {
        "assoc_laguerre", "assoc_legendre", "beta",         "comp_ellint_1", "comp_ellint_2", "comp_ellint_3",
        "cyl_bessel_i",   "cyl_bessel_j",   "cyl_bessel_k", "cyl_neumann",   "ellint_1",      "ellint_2",
        "ellint_3",       "expint",         "hermite",      "laguerre",      "legendre",      "riemann_zeta",
        "sph_bessel",     "sph_legendre",   "sph_neumann"};
    struct text text = {0};
    const size_t length = strlen(before);
    int found = 0;
    if (!text_read_file(&text, path) || text.data == NULL) return 0;
    for (size_t n = 0; n < sizeof names / sizeof names[0] && !found; n++)
        for (const char *at = text.data; !found && (at = strstr(at, names[n])) != NULL; at++) {
            const size_t ahead = (size_t)(at - text.data);
            found = is_name_at(at, names[n]) && (ahead == 0 || !is_of_word(at[-1])) && ahead >= length &&
                    strncmp(at - length, before, length) == 0;
        }
    text_drop(&text);
    return found;
}
