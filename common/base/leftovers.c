/**
 * @file leftovers.c
 * @brief Temporary files and folders of programs that were killed.
 */
#include "leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "text.h"

enum { YOUNG_SECONDS = 5 };

int leftovers_hold(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

static int ends_so(const char *name, const char *ending)
{
    size_t length = strlen(name), end = strlen(ending);
    if (strcmp(ending, "#") != 0) return length >= end && strcmp(name + length - end, ending) == 0;
    const char *dot = strrchr(name, '.');
    return dot != NULL && dot[1] && dot[1 + strspn(dot + 1, "0123456789")] == '\0';
}

/* In a folder that all may write to, a name says nothing: only what is ours, and no link, is looked at. Root's are also those
 * that a guest of its sandbox owns. */
static int is_old_and_ours(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0 || (geteuid() != 0 && status.st_uid != geteuid())) return 0;
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return 0;
    return difftime(time(NULL), status.st_mtime) >= YOUNG_SECONDS;
}

void leftovers_remove(const char *folder, const char *prefix, const char *ending)
{
    DIR *open_folder = opendir(folder);
    if (open_folder == NULL) return;
    for (struct dirent *entry; (entry = readdir(open_folder)) != NULL;) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || !ends_so(entry->d_name, ending)) continue;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char *path = format_string("%s/%s", folder, entry->d_name);
        int held = is_old_and_ours(path) ? leftovers_hold(path) : -1;
        if (held >= 0) {
            remove_tree(path);
            close(held);
        }
        free(path);
    }
    closedir(open_folder);
}
