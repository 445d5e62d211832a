/**
 * @file sandbox_landlock.c
 * @brief Landlock, where the kernel has it: the same view of the file system that bubblewrap gives, without namespaces, so
 *        that it also works in containers and for users who may not make any.
 *
 * Files that bubblewrap would not show are visible by name, but can be neither read nor listed, written, made
 * or removed; files that it would show read-only cannot be opened for writing. Newer kernels also refuse TCP,
 * device controls, and signals and abstract sockets to processes outside. The header of an older kernel lacks
 * the newer names, so they stand here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox_inside.h"

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, VERSION_FLAG = 1, RULE_PATH_BENEATH = 1 };

/* Rights, bit by bit as the kernel numbers them. */
enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REMOVE_AND_MAKE = 0x1ff0, /* bits 4 to 12: remove and make each kind of entry */
    REFER = 1 << 13,          /* version 2: move between folders */
    TRUNCATE = 1 << 14,       /* version 3 */
    IOCTL_DEV = 1 << 15,      /* version 5 */
    OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
};

/* The layout that the kernel expects; an older kernel takes the first words only. */
struct ruleset {
    uint64_t files, network, scopes;
};
struct path_rule {
    uint64_t rights;
    int32_t folder;
} __attribute__((packed));

int sandbox_landlock_version(void)
{
    if (sandbox_is_without("landlock")) return 0;
    long version = syscall(CREATE_RULESET, NULL, 0, VERSION_FLAG);
    return version > 0 ? (int)version : 0;
}

static uint64_t rights_of_version(int version)
{
    uint64_t rights = EXECUTE | WRITE_FILE | READ_FILE | READ_DIR | REMOVE_AND_MAKE;
    if (version >= 2) rights |= REFER;
    if (version >= 3) rights |= TRUNCATE;
    if (version >= 5) rights |= IOCTL_DEV;
    return rights;
}

/* Files that do not exist cannot be allowed, and need not be. 0, or -1. */
static int allow(int ruleset, const char *path, uint64_t rights)
{
    struct stat status;
    int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0) return errno == ENOENT || errno == EACCES || errno == ENOTDIR ? 0 : -1;
    if (fstat(file, &status) == 0 && !S_ISDIR(status.st_mode)) rights &= OF_FILES;
    struct path_rule rule = {rights, file};
    long failed = rights != 0 ? syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0) : 0;
    close(file);
    return failed != 0 ? -1 : 0;
}

/* Reads bubblewrap's arguments for a view as rules. */
static int allow_view(int ruleset, const char *const *view, uint64_t known)
{
    const uint64_t reading = known & (EXECUTE | READ_FILE | READ_DIR),
                   device = READ_FILE | WRITE_FILE | IOCTL_DEV;
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                          "/dev/urandom"};
    int failed = 0;
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        failed |= allow(ruleset, devices[i], known & device);
    for (; *view != NULL; view++) {
        const char *how = *view, *path = view[1];
        if (strncmp(how, "--ro-bind", 9) == 0)
            failed |= allow(ruleset, path, reading), view += 2;
        else if (strcmp(how, "--bind") == 0) /* a program never starts in a folder that it may write to */
            failed |= allow(ruleset, path, known & ~(uint64_t)EXECUTE), view += 2;
        else if (strncmp(how, "--dev-bind", 10) == 0)
            failed |= allow(ruleset, path, known & (device | READ_DIR)), view += 2;
        else if (strcmp(how, "--proc") == 0)
            failed |= allow(ruleset, path, known & (READ_FILE | READ_DIR)), view++;
        else if (strcmp(how, "--tmpfs") == 0 || strcmp(how, "--size") == 0 || strcmp(how, "--dev") == 0)
            view++;
    }
    return failed;
}

/* CUDA's driver uses files of its own while it opens its device, and truncates files of its process that
 * it writes to (the names of its threads); the runner's second filter ends that. */
static int allow_driver(int ruleset, uint64_t known)
{
    return allow(ruleset, "/proc/self", known & (READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE)) |
           allow(ruleset, "/dev/shm", known & ~(uint64_t)(EXECUTE | READ_DIR));
}

int sandbox_landlock_set(const struct sandbox *sandbox)
{
    int version = sandbox_landlock_version();
    if (version == 0) return 0;
    struct ruleset wanted = {rights_of_version(version), 3 /* bind and connect */,
                             3 /* sockets and signals */};
    size_t words = version >= 6 ? 3 : version >= 4 ? 2 : 1;
    const char **view = sandbox_view(sandbox);
    long ruleset = syscall(CREATE_RULESET, &wanted, words * sizeof(uint64_t), 0);
    int failed = view == NULL || ruleset < 0;
    failed = failed || allow_view((int)ruleset, view, wanted.files) != 0;
    if (sandbox->gpu) failed = failed || allow_driver((int)ruleset, wanted.files) != 0;
    failed = failed || syscall(RESTRICT_SELF, (int)ruleset, 0) != 0;
    if (ruleset >= 0) close((int)ruleset);
    free(view);
    return failed ? -1 : 0;
}
