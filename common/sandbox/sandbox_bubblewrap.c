/**
 * @file sandbox_bubblewrap.c
 * @brief Bubblewrap, where it is installed and works: what a program in it sees, and whether it works.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "sandbox_inside.h"

enum { ARGUMENTS_MOST = 400, TEMPORARY_BYTES = 64 << 20, NCCL_BYTES = 1 << 30, CACHE_BYTES = 4 << 20 };

/* The folders that programs and compilers need. None of them is the course's or a student's. */
static const char *const SYSTEM[] = {"/usr",
                                     "/bin",
                                     "/sbin",
                                     "/lib",
                                     "/lib32",
                                     "/lib64",
                                     "/opt",
                                     "/nix/store",
                                     "/gnu/store",
                                     "/etc/ld.so.cache",
                                     "/etc/ld.so.conf",
                                     "/etc/ld.so.conf.d",
                                     "/etc/alternatives"};

struct list {
    const char **items;
    size_t count;
};

static void add_word(struct list *list, const char *item)
{
    if (list->count < ARGUMENTS_MOST) list->items[list->count++] = item;
}

static void add_bind(struct list *list, const char *how, const char *path)
{
    add_word(list, how);
    add_word(list, path);
    add_word(list, path);
}

/* 1 if the system's folders show @p path already. To mount it once more fails if a link leads to it, such
 * as /usr/local/cuda. */
static int is_systems(const char *path)
{
    for (size_t i = 0; i < sizeof SYSTEM / sizeof SYSTEM[0]; i++) {
        size_t length = strlen(SYSTEM[i]);
        if (strncmp(path, SYSTEM[i], length) == 0 && path[length] == '/') return 1;
    }
    return 0;
}

/* Searches PATH, in absolute folders only: files in the current folder may belong to a submission. */
static const char *find_bubblewrap(void)
{
    static char *known;
    const char *asked = getenv("WARPWISE_BUBBLEWRAP");
    if (asked != NULL && strcmp(asked, "no") == 0) return NULL;
    if (known == NULL) {
        char *found = find_program("bwrap");
        if (found != NULL && found[0] == '/')
            known = found;
        else
            free(found);
    }
    return known;
}

static void add_gpu_files(struct list *list)
{
    static const char *const patterns[] = {"/dev/nvidia*", "/dev/dxg", "/dev/nvhost*", "/dev/nvmap"};
    /* in a container it may differ from that in a newly mounted /proc */
    static const char driver[] = "/proc/driver/nvidia";
    add_bind(list, "--ro-bind-try", "/sys");
    if (access(driver, F_OK) == 0) add_bind(list, "--ro-bind", driver);
    for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++) {
        glob_t found; /* keeps its strings, because the list refers to them */
        if (glob(patterns[p], 0, NULL, &found) != 0) continue;
        for (size_t i = 0; i < found.gl_pathc; i++) add_bind(list, "--dev-bind-try", found.gl_pathv[i]);
    }
}

/* ---- where CUDA's driver library lies ------------------------------------------------------------------ */

static const char DRIVER_LIBRARY[] = "libcuda.so.1";

/* The folder of @p path, the driver library's, and that of the file it links to. Its helper libraries lie
 * beside it. The strings are kept, because the list refers to them. */
static void add_folders_of(struct list *list, const char *path)
{
    char *ways[] = {strdup(path), realpath(path, NULL)};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && ways[1] != NULL; i++) {
        char *slash = ways[i] != NULL ? strrchr(ways[i], '/') : NULL;
        if (slash == NULL || slash == ways[i]) continue;
        int shown = is_systems(ways[i]);
        *slash = '\0';
        if (!shown) add_bind(list, "--ro-bind-try", ways[i]);
    }
}

/* A folder in LD_LIBRARY_PATH is shown only if the driver's library is in it. */
static void add_named_folders(struct list *list)
{
    const char *at = getenv("LD_LIBRARY_PATH");
    while (at != NULL && *at != '\0') {
        char path[4096];
        size_t length = strcspn(at, ":");
        if (*at == '/' && length + sizeof DRIVER_LIBRARY + 1 < sizeof path) {
            snprintf(path, sizeof path, "%.*s/%s", (int)length, at, DRIVER_LIBRARY);
            add_folders_of(list, path);
        }
        at += length + (at[length] == ':');
    }
}

/* The loader's cache contains the full names of libraries among its strings. */
static void add_cached_folders(struct list *list)
{
    FILE *file = fopen("/etc/ld.so.cache", "re");
    char *cache = file != NULL ? malloc(CACHE_BYTES) : NULL;
    size_t bytes = cache != NULL ? fread(cache, 1, CACHE_BYTES - 1, file) : 0, start = 0;
    for (size_t end = 0; end < bytes; end++) {
        if (cache[end] != '\0') continue;
        size_t length = end - start, tail = sizeof DRIVER_LIBRARY - 1;
        if (length > tail && cache[start] == '/' && memcmp(cache + end - tail, DRIVER_LIBRARY, tail) == 0)
            add_folders_of(list, cache + start);
        start = end + 1;
    }
    free(cache);
    if (file != NULL) fclose(file);
}

static void add_view(struct list *list, const struct sandbox *sandbox)
{
    static char size[32], shared[32];
    for (size_t i = 0; i < sizeof SYSTEM / sizeof SYSTEM[0]; i++) add_bind(list, "--ro-bind-try", SYSTEM[i]);
    add_word(list, "--proc");
    add_word(list, "/proc");
    add_word(list, "--dev");
    add_word(list, "/dev");
    if (sandbox->gpu) add_gpu_files(list);
    snprintf(size, sizeof size, "%d", TEMPORARY_BYTES);
    /* Between GPUs that cannot access each other NCCL's buffers are in shared memory; their use counts as
     * the runner's memory. */
    snprintf(shared, sizeof shared, "%d", sandbox->network && sandbox->gpu ? NCCL_BYTES : TEMPORARY_BYTES);
    const char *const temporary[] = {"--size", size,   "--tmpfs", "/tmp",
                                     "--size", shared, "--tmpfs", "/dev/shm"};
    for (size_t i = 0; i < sizeof temporary / sizeof temporary[0]; i++) add_word(list, temporary[i]);
    if (sandbox->gpu) {
        add_named_folders(list);
        add_cached_folders(list);
    }
    for (const char *const *path = sandbox->readable; path != NULL && *path != NULL; path++)
        add_bind(list, "--ro-bind", *path);
    if (!is_systems(sandbox->arguments[0])) add_bind(list, "--ro-bind", sandbox->arguments[0]);
    if (sandbox->folder != NULL) add_bind(list, "--bind", sandbox->folder);
    if (sandbox->writable_file != NULL) add_bind(list, "--bind", sandbox->writable_file);
}

const char **sandbox_view(const struct sandbox *sandbox)
{
    struct list list = {calloc(ARGUMENTS_MOST + 1, sizeof(char *)), 0};
    if (list.items == NULL) return NULL;
    add_view(&list, sandbox);
    if (list.count < ARGUMENTS_MOST) return list.items;
    free(list.items);
    return NULL;
}

static const char **wrap(const char *bubblewrap, const struct sandbox *sandbox, int filter_descriptor)
{
    static char descriptor[16];
    struct list list = {calloc(ARGUMENTS_MOST + 1, sizeof(char *)), 0};
    if (list.items == NULL) return NULL;
    static const char *const always[] = {
        "--unshare-all", "--die-with-parent", "--new-session", "--hostname", "sandbox", "--cap-drop", "ALL"};
    add_word(&list, bubblewrap);
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) add_word(&list, always[i]);
    add_view(&list, sandbox);
    add_word(&list, "--chdir");
    add_word(&list, sandbox->folder != NULL ? sandbox->folder : "/");
    if (filter_descriptor >= 0) {
        snprintf(descriptor, sizeof descriptor, "%d", filter_descriptor);
        add_word(&list, "--seccomp");
        add_word(&list, descriptor);
    }
    add_word(&list, "--");
    for (const char *const *word = sandbox->arguments; *word != NULL; word++) add_word(&list, *word);
    if (list.count < ARGUMENTS_MOST) return list.items;
    free(list.items);
    return NULL;
}

/* ---- the probe ----------------------------------------------------------------------------------------- */

static char reason[300];

/* Runs `true` in the same way as programs later. */
static int probe(const char *bubblewrap)
{
    const char *program = access("/usr/bin/true", X_OK) == 0 ? "/usr/bin/true" : "/bin/true";
    const char *arguments[] = {program, NULL};
    struct sandboxed *child = calloc(1, sizeof *child);
    struct sandbox sandbox = {.arguments = arguments,
                              .isolation = SANDBOX_ISOLATED,
                              .kind = SANDBOX_RUNNER,
                              .descriptor = {-1, -1, -1},
                              .limits = {10.0, UINT64_C(1) << 30, 0, 1 << 20, 64, 64}};
    if (child == NULL) return 0;
    enum sandbox_end end = sandbox_run(&sandbox, 10.0, NULL, child);
    int works = end == SANDBOX_DONE && child->exit_code == 0;
    if (!works) {
        child->text[strcspn(child->text, "\n")] = '\0';
        snprintf(reason, sizeof reason, "no bubblewrap (%s refuses: %.200s)", bubblewrap,
                 child->text[0] != '\0' ? child->text : "`true` does not run in it");
    }
    free(child);
    return works;
}

static enum { UNKNOWN, PROBING, PRESENT, ABSENT } bubblewrap_state;

int sandbox_has_bubblewrap(void)
{
    const char *bubblewrap = find_bubblewrap();
    if (bubblewrap == NULL) {
        const char *asked = getenv("WARPWISE_BUBBLEWRAP");
        snprintf(reason, sizeof reason, "no bubblewrap (%s)",
                 asked != NULL ? "WARPWISE_BUBBLEWRAP says so" : "not installed");
        return 0;
    }
    const char *known = getenv("WARPWISE_BUBBLEWRAP");
    if (bubblewrap_state == UNKNOWN && known != NULL && strcmp(known, "works") == 0)
        bubblewrap_state = PRESENT;
    if (bubblewrap_state == UNKNOWN) {
        bubblewrap_state = PROBING;
        bubblewrap_state = probe(bubblewrap) ? PRESENT : ABSENT;
        if (bubblewrap_state == PRESENT)
            setenv("WARPWISE_BUBBLEWRAP", "works", 1); /* programs that we start need not probe again */
    }
    return bubblewrap_state != ABSENT;
}

const char **sandbox_wrap(const struct sandbox *sandbox, int filter_descriptor)
{
    const char *bubblewrap = find_bubblewrap();
    if (bubblewrap == NULL || bubblewrap_state == ABSENT) return NULL;
    return wrap(bubblewrap, sandbox, filter_descriptor);
}

const char *sandbox_bubblewrap_reason(void)
{
    return reason;
}
