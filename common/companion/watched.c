/**
 * @file watched.c
 * @brief Waits for a file to be saved.
 *
 * Some editors write into the file, some write another one and rename it into place; a change is therefore
 * looked for in the folder, and it is one only if the content differs. inotify reports changes at once. Some
 * file systems (network, some virtual machines) give no such events: so the file's time and size are checked
 * as well, once per second with inotify, five times per second without it.
 */
#include "watched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process.h"
#include "base/text.h"
#include "progress.h"

enum { WAIT_BESIDE_NOTIFY_MS = 1000, WAIT_POLLING_MS = 200 };

static int begin_notify(const char *path)
{
    char *slash = strrchr(path, '/'), *folder = format_string("%.*s", (int)(slash - path), path);
    int notify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (notify >= 0 && inotify_add_watch(notify, folder, IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
        close(notify);
        notify = -1;
    }
    free(folder);
    return notify;
}

/* Time, size and inode of the file as one text: cheap to get, and different after any save. */
static void look(const char *path, char stamp[80])
{
    struct stat status;
    stamp[0] = '\0';
    if (stat(path, &status) == 0 && status.st_size > 0)
        snprintf(stamp, 80, "%lld.%09ld %lld %llu", (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                 (long long)status.st_size, (unsigned long long)status.st_ino);
}

void watched_open(struct watched *watched, const char *path, const char *way)
{
    *watched = (struct watched){.path = copy_string(path), .notify = -1, .wait_ms = WAIT_POLLING_MS};
    if (way == NULL || strcmp(way, "poll") != 0) watched->notify = begin_notify(path);
    if (watched->notify >= 0) watched->wait_ms = WAIT_BESIDE_NOTIFY_MS;
    if (watched->notify >= 0 && way != NULL && strcmp(way, "notify") == 0) watched->wait_ms = -1;
    look(path, watched->stamp);
    progress_sum(path, watched->sum);
}

/* A missing or empty file is just being saved. */
int watched_changed(struct watched *watched)
{
    char stamp[80], sum[65];
    look(watched->path, stamp);
    if (!*stamp || strcmp(stamp, watched->stamp) == 0) return 0;
    progress_sum(watched->path, sum);
    snprintf(watched->stamp, sizeof watched->stamp, "%s", stamp);
    if (!*sum || strcmp(sum, watched->sum) == 0) return 0;
    snprintf(watched->sum, sizeof watched->sum, "%s", sum);
    return 1;
}

void watched_wait(const struct watched *watched, int keys)
{
    char events[4096];
    struct pollfd fds[2] = {{.fd = watched->notify, .events = POLLIN},
                            {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN}};
    if (process_wait(fds, 2, watched->wait_ms) > 0 && fds[0].revents)
        while (read(watched->notify, events, sizeof events) > 0) continue;
}

void watched_close(struct watched *watched)
{
    if (watched->notify >= 0) close(watched->notify);
    free(watched->path);
}
