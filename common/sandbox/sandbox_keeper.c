/**
 * @file sandbox_keeper.c
 * @brief The keeper, and what happens between fork and exec of the program it keeps.
 *
 * The keeper never calls exec: it runs this program's code only, and is as trustworthy as that. It ends when
 * no process is left below it.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox_inside.h"

enum { ABOVE_CHILD = 10, OLD_KERNEL_DESCRIPTORS = 4096, FILTER_DESCRIPTOR = 9, KILL_ROUNDS = 10000 };

/* By convention, users from this number on belong to nobody; in containers only low numbers may exist. */
static const uid_t FIRST_USER = 1879048192u, FIRST_LOW_USER = 62000u, LOW_USERS = 1000u;

/* ---- in the child, before exec ------------------------------------------------------------------------- */

static int limit(int resource, uint64_t most)
{
    struct rlimit now;
    if (getrlimit(resource, &now) != 0) return -1;
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < most) most = now.rlim_max;
    struct rlimit wanted = {most, most};
    return setrlimit(resource, &wanted);
}

/* The soft limit sends SIGXCPU, which shows whose limit it was; SIGKILL would not. */
static int limit_cpu(uint64_t seconds)
{
    const uint64_t later = 5;
    struct rlimit now, wanted = {seconds, seconds + later};
    if (getrlimit(RLIMIT_CPU, &now) != 0) return -1;
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < wanted.rlim_max) wanted.rlim_max = now.rlim_max;
    if (wanted.rlim_cur > wanted.rlim_max) wanted.rlim_cur = wanted.rlim_max;
    return setrlimit(RLIMIT_CPU, &wanted);
}

/* The kernel counts processes by user: with a user id of its own, all of them are the program's. */
static int set_limits(const struct sandbox_limits *limits, uid_t user)
{
    struct sysinfo system;
    if (sandbox_is_without("limits")) return 0;
    if (sysinfo(&system) != 0) return -1;
    uint64_t processes = limits->processes + (user > 0 ? 0u : (uint64_t)system.procs);
    if (limit(RLIMIT_CORE, 0) != 0 || limit(RLIMIT_FSIZE, limits->file_bytes) != 0) return -1;
    if (limit_cpu((uint64_t)limits->cpu_seconds + 1) != 0) return -1;
    if (limit(RLIMIT_NPROC, processes) != 0) return -1;
    if (limits->address_bytes > 0 && limit(RLIMIT_AS, limits->address_bytes) != 0) return -1;
    if (limits->open_files > 0 && limit(RLIMIT_NOFILE, limits->open_files) != 0) return -1;
    return 0;
}

static void close_from(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
#endif
    for (int i = first; i < OLD_KERNEL_DESCRIPTORS; i++) close(i);
}

/* Leaves these descriptors and no others open; first moves them out of the way, so that none is
 * overwritten. */
static int place_descriptors(const struct sandbox *sandbox, int output, int filter)
{
    int from[ABOVE_CHILD] = {open("/dev/null", O_RDONLY),
                             output,
                             output,
                             sandbox->descriptor[0],
                             sandbox->descriptor[1],
                             sandbox->descriptor[2],
                             -1,
                             -1,
                             -1,
                             filter};
    for (int i = 0; i < ABOVE_CHILD; i++)
        if (from[i] >= 0 && (from[i] = fcntl(from[i], F_DUPFD, ABOVE_CHILD)) < 0) return -1;
    for (int i = 0; i < ABOVE_CHILD; i++) {
        if (from[i] < 0) close(i);
        if (from[i] >= 0 && dup2(from[i], i) < 0) return -1;
    }
    close_from(ABOVE_CHILD);
    return 0;
}

/* The filter as a file, which bubblewrap installs just before it starts the program. */
static int filter_file(const struct sandbox *sandbox)
{
    struct sandbox_filter filter;
    if (sandbox_is_without("filter")) return -1;
    sandbox_filter_make(sandbox->kind, sandbox->writable_file != NULL, sandbox->gpu, sandbox->network, 0,
                        &filter);
    size_t bytes = filter.count * sizeof filter.line[0];
    int file = filter.count > 0 ? memfd_create("filter", 0) : -1;
    if (file < 0) return -1;
    if (write(file, filter.line, bytes) == (ssize_t)bytes && lseek(file, 0, SEEK_SET) == 0) return file;
    close(file);
    return -1;
}

static int become_user(uid_t user)
{
    if (user == 0) return 0;
    if (setgroups(0, NULL) != 0 || setresgid(user, user, user) != 0) return -1;
    return setresuid(user, user, user);
}

/* Makes the kernel, if memory runs out, end this process and not the grader. */
static void volunteer_for_memory(void)
{
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    (void)!write(file, "1000", 4);
    close(file);
}

static void become(const struct sandbox *sandbox, int output, uid_t user)
{
    const char **wrapped = NULL;
    struct sandbox_filter filter;
    sigset_t none;
    int filter_descriptor = -1;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    setsid();
    volunteer_for_memory();
    if (sandbox->isolation == SANDBOX_ISOLATED) {
        filter_descriptor = filter_file(sandbox);
        wrapped = sandbox_wrap(sandbox, filter_descriptor < 0 ? -1 : FILTER_DESCRIPTOR);
        if (wrapped == NULL && filter_descriptor >= 0) {
            close(filter_descriptor);
            filter_descriptor = -1;
        }
    }
    const char *const *arguments = wrapped != NULL ? wrapped : sandbox->arguments;
    int failed = place_descriptors(sandbox, output, filter_descriptor) != 0 || become_user(user) != 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of user clears this setting */
    failed = failed || set_limits(&sandbox->limits, user) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0;
    if (!failed && wrapped == NULL && sandbox->isolation == SANDBOX_ISOLATED)
        failed = sandbox_landlock_set(sandbox) != 0;
    if (!failed && wrapped == NULL) {
        int may_write = sandbox->writable_file != NULL || sandbox->isolation == SANDBOX_LIMITED;
        int network = sandbox->network && sandbox->isolation == SANDBOX_LIMITED; /* else it would be ours */
        sandbox_filter_make(sandbox->kind, may_write, sandbox->gpu, network, (unsigned)getpid(), &filter);
        /* Without a filter the other parts have to do; sandbox_describe() says so. */
        if (!sandbox_is_without("filter")) sandbox_filter_set(&filter);
        const char *folder = sandbox->folder != NULL ? sandbox->folder : "/";
        if (sandbox->isolation == SANDBOX_ISOLATED || sandbox->folder != NULL) failed = chdir(folder) != 0;
    }
    if (!failed) execve(arguments[0], (char *const *)arguments, (char *const *)sandbox->environment);
    fprintf(stderr, "sandbox: cannot start %s: %s\n", arguments[0], strerror(errno));
    _exit(SANDBOX_EXEC_FAILED);
}

/* ---- the keeper ---------------------------------------------------------------------------------------- */

static int user_exists(uid_t user)
{
    if (seteuid(user) != 0) return 0;
    return seteuid(0) == 0;
}

uid_t sandbox_user(pid_t keeper)
{
    if (geteuid() != 0 || sandbox_is_without("user")) return 0;
    uid_t high = FIRST_USER + (uid_t)keeper, low = FIRST_LOW_USER + (uid_t)keeper % LOW_USERS;
    return user_exists(high) ? high : user_exists(low) ? low : 0;
}

int sandbox_user_reaches(uid_t user, const char *path)
{
    if (user == 0) return 1;
    if (setegid(user) != 0 || seteuid(user) != 0) return 0;
    int reached = faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
    return seteuid(0) == 0 && setegid(0) == 0 && reached;
}

static int reaches_all(uid_t user, const struct sandbox *sandbox)
{
    int reached = sandbox_user_reaches(user, sandbox->arguments[0]);
    for (const char *const *path = sandbox->readable; path != NULL && *path != NULL; path++)
        reached = reached && sandbox_user_reaches(user, *path);
    return reached;
}

/* The user to run as; makes the folder that user's. */
static uid_t settle_user(const struct sandbox *sandbox)
{
    uid_t user = sandbox->isolation == SANDBOX_ISOLATED ? sandbox_user(getpid()) : 0;
    if (user == 0 || !reaches_all(user, sandbox)) return 0;
    if (sandbox->folder != NULL && chown(sandbox->folder, user, user) != 0) return 0;
    if (sandbox->writable_file != NULL && chown(sandbox->writable_file, user, user) != 0) return 0;
    return user;
}

/* Kills everything that runs as this user at once: a program that forks fast cannot be caught process by
 * process. */
static void kill_user(uid_t user)
{
    if (user < FIRST_USER) return; /* with a low number, the user may be shared with another sandbox */
    pid_t helper = fork();
    if (helper == 0) {
        if (setresuid(user, user, user) == 0) kill(-1, SIGKILL);
        _exit(0);
    }
    while (helper > 0 && waitpid(helper, NULL, 0) < 0 && errno == EINTR) continue;
}

/* Kills the keeper's children: orphans become its children, so in the end this covers everything that was
 * started. */
static int kill_children(void)
{
    static char path[64];
    long pid;
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", syscall(SYS_gettid));
    FILE *file = fopen(path, "re");
    if (file == NULL) return -1;
    while (fscanf(file, "%ld", &pid) == 1) kill((pid_t)pid, SIGKILL);
    fclose(file);
    return 0;
}

static void kill_all(pid_t child, uid_t user, int *status, int *known)
{
    if (child > 0) kill(-child, SIGKILL);
    if (child > 0) kill(child, SIGKILL);
    if (user > 0) kill_user(user);
    for (int round = 0; round < KILL_ROUNDS; round++) {
        int listed = kill_children() == 0, now = 0;
        pid_t ended = waitpid(-1, &now, listed ? 0 : WNOHANG);
        if (ended == child && ended > 0) *status = now, *known = 1;
        if (ended < 0 && errno != EINTR) return;
        if (ended == 0) nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

/* Waits until the child is gone, or the process that holds the other end of the leash lets go. */
static void wait_for(pid_t child, int leash, int signals, int *status, int *known)
{
    while (!*known) {
        struct pollfd wait[2] = {{leash, POLLIN, 0}, {signals, POLLIN, 0}};
        int now;
        struct signalfd_siginfo info;
        if (poll(wait, 2, -1) < 0 && errno != EINTR) return;
        if (wait[0].revents != 0) return;
        if (wait[1].revents != 0) (void)!read(signals, &info, sizeof info);
        for (pid_t ended; (ended = waitpid(-1, &now, WNOHANG)) > 0;)
            if (ended == child) *status = now, *known = 1;
    }
}

extern void __gcov_dump(void) __attribute__((weak)); /* exists only in builds that count executed lines */

void sandbox_keep(const struct sandbox *sandbox, int output, int leash)
{
    sigset_t all;
    int status = 0, known = 0;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "sandbox");
    setsid();
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    signal(SIGCHLD, SIG_DFL);
    int signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    uid_t user = settle_user(sandbox);
    pid_t child = fork();
    if (child == 0) become(sandbox, output, user);
    const int kept[] = {leash, signals};
    for (int i = 0; i < 2; i++)
        if (dup2(kept[i], ABOVE_CHILD + 100 + i) < 0) _exit(SANDBOX_EXEC_FAILED);
    for (int i = 0; i < ABOVE_CHILD + 100; i++) close(i);
    close_from(ABOVE_CHILD + 102);
    leash = ABOVE_CHILD + 100;
    signals = ABOVE_CHILD + 101;
    if (child > 0) wait_for(child, leash, signals, &status, &known);
    kill_all(child, user, &status, &known);
    (void)!write(leash, &status, sizeof status);
    if (__gcov_dump) __gcov_dump();
    _exit(0);
}
