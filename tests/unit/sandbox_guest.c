/**
 * @file sandbox_guest.c
 * @brief A program that tries one thing a guest of the sandbox may not do: exit code 0 if it did it, else 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/inotify.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runner/lock.h"

static int try_socket(const char *argument)
{
    const int family = atoi(argument);
    return socket(family, family == AF_NETLINK ? SOCK_RAW : SOCK_STREAM, 0) >= 0;
}

/* As a runner does it: once the device is open. */
static int try_socket_locked(const char *argument)
{
    lock_runner(1);
    return try_socket(argument);
}

static int try_kill(const char *argument)
{
    return kill(atoi(argument), SIGKILL) == 0;
}

static int try_tgkill(const char *argument)
{
    return syscall(SYS_tgkill, atoi(argument), atoi(argument), SIGKILL) == 0;
}

static int try_ptrace(const char *argument)
{
    return ptrace(PTRACE_ATTACH, atoi(argument), NULL, NULL) == 0;
}

static int try_read(const char *argument)
{
    char byte;
    int file = open(argument, O_RDONLY);
    return file >= 0 && read(file, &byte, 1) == 1;
}

static int try_create(const char *argument)
{
    return open(argument, O_WRONLY | O_CREAT, 0666) >= 0;
}

static int try_write(const char *argument)
{
    return open(argument, O_WRONLY) >= 0 || open(argument, O_RDWR) >= 0;
}

static int try_append(const char *argument)
{
    return open(argument, O_WRONLY | O_APPEND) >= 0 || openat(AT_FDCWD, argument, O_RDWR | O_APPEND) >= 0;
}

static int try_truncate(const char *argument)
{
    return truncate(argument, 1) == 0 || open(argument, O_RDONLY | O_TRUNC) >= 0;
}

static int try_list(const char *argument)
{
    return open(argument, O_RDONLY | O_DIRECTORY) >= 0;
}

static int try_remove(const char *argument)
{
    return unlink(argument) == 0;
}

/* What is not there fails by another error than what is forbidden. */
static int try_remove_absent(const char *argument)
{
    int one = unlink(argument) == 0 || errno == ENOENT;
    return one && (unlinkat(AT_FDCWD, argument, 0) == 0 || errno == ENOENT);
}

static int try_remove_absent_locked(const char *argument)
{
    lock_runner(1);
    return unlink(argument) == 0 || errno == ENOENT || unlinkat(AT_FDCWD, argument, 0) == 0 ||
           errno == ENOENT;
}

static int try_create_locked(const char *argument)
{
    lock_runner(1);
    return open(argument, O_WRONLY | O_CREAT, 0666) >= 0 || creat(argument, 0666) >= 0 ||
           mkdir(argument, 0777) == 0;
}

/* Locked, it may still do what it is there for. */
static int try_work_locked(const char *argument)
{
    lock_runner(atoi(argument));
    return open("/dev/null", O_RDWR) >= 0 && open("/proc/self/status", O_RDONLY) >= 0 && raise(0) == 0;
}

static int try_fork_locked(const char *argument)
{
    lock_runner(atoi(argument));
    return fork() >= 0;
}

static int try_descriptors(const char *argument)
{
    for (int i = atoi(argument); i < 1000; i++)
        if (fcntl(i, F_GETFD) >= 0) return 1;
    return 0;
}

static int try_environment(const char *argument)
{
    return getenv(argument) != NULL;
}

static int try_root(const char *argument)
{
    (void)argument;
    return geteuid() == 0 || setuid(0) == 0;
}

static int try_large_file(const char *argument)
{
    static char block[1 << 16];
    int file = open(argument, O_WRONLY | O_CREAT, 0666);
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; file >= 0 && i < 64; i++)
        if (write(file, block, sizeof block) != (ssize_t)sizeof block) return 0;
    return file >= 0;
}

static int try_uring(const char *argument)
{
    (void)argument;
    return syscall(SYS_io_uring_setup, 1, NULL) < 0 &&
           errno != EPERM; /* EFAULT: the call itself was reached */
}

static int try_inotify(const char *argument)
{
    (void)argument;
    return inotify_init1(IN_CLOEXEC) >= 0 || inotify_init() >= 0;
}

/* Starts children that start children; how many there were is what a limit decides. */
static int try_fork_bomb(const char *argument)
{
    int most = atoi(argument);
    for (int i = 0; i < most; i++) {
        pid_t child = fork();
        if (child < 0) return 0;
        if (child == 0)
            for (;;) pause();
    }
    return 1;
}

/* A child that leaves group and session, and holds on to our output. It notes its number where asked. */
static int try_daemon(const char *argument)
{
    int ready[2];
    if (pipe(ready) != 0) return 0;
    if (fork() == 0) {
        setsid();
        if (fork() != 0) _exit(0);
        char number[32];
        int length = snprintf(number, sizeof number, "daemon %s %ld\n", argument, (long)getpid());
        if (write(STDOUT_FILENO, number, (size_t)length) < 0) _exit(1);
        close(ready[1]);
        for (;;) pause();
    }
    close(ready[1]);
    char byte;
    return read(ready[0], &byte, 1) == 0;
}

static int try_memory(const char *argument)
{
    size_t step = 1 << 24;
    int flags = MAP_ANONYMOUS | (strcmp(argument, "shared") == 0 ? MAP_SHARED : MAP_PRIVATE);
    for (int i = 0; i < 64; i++) {
        void *block = mmap(NULL, step, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (block == MAP_FAILED) return 0;
        memset(block, 1, step);
    }
    for (;;) pause();
}

static int try_flood(const char *argument)
{
    for (int i = 0; i < atoi(argument); i++) puts("a line that nobody asked for");
    return 1;
}

static int try_signal(const char *argument)
{
    return raise(atoi(argument)) == 0;
}

/* So many seconds of processor time. */
static int try_busy(const char *argument)
{
    struct timespec used = {0};
    while ((double)used.tv_sec + (double)used.tv_nsec * 1e-9 < atof(argument))
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return 1;
}

static int try_hang(const char *argument)
{
    (void)argument;
    while (pause() != 0) continue;
    return 1;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*function)(const char *);
    } table[] = {{"socket", try_socket},
                 {"socket_locked", try_socket_locked},
                 {"create_locked", try_create_locked},
                 {"work_locked", try_work_locked},
                 {"fork_locked", try_fork_locked},
                 {"remove_absent", try_remove_absent},
                 {"remove_absent_locked", try_remove_absent_locked},
                 {"kill", try_kill},
                 {"tgkill", try_tgkill},
                 {"ptrace", try_ptrace},
                 {"read", try_read},
                 {"write", try_write},
                 {"append", try_append},
                 {"truncate", try_truncate},
                 {"list", try_list},
                 {"create", try_create},
                 {"remove", try_remove},
                 {"descriptors", try_descriptors},
                 {"environment", try_environment},
                 {"root", try_root},
                 {"large_file", try_large_file},
                 {"uring", try_uring},
                 {"inotify", try_inotify},
                 {"fork_bomb", try_fork_bomb},
                 {"daemon", try_daemon},
                 {"memory", try_memory},
                 {"flood", try_flood},
                 {"signal", try_signal},
                 {"busy", try_busy},
                 {"hang", try_hang}};
    for (size_t i = 0; argc == 3 && i < sizeof table / sizeof table[0]; i++)
        if (strcmp(argv[1], table[i].name) == 0) return !table[i].function(argv[2]);
    return 2;
}
