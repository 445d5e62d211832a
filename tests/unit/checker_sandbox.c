/**
 * @file checker_sandbox.c
 * @brief The sandbox against programs that try what they may not: with bubblewrap where it works, and
 * without.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/sandbox.h"
#include "sandbox/sandbox_inside.h"

enum { NEVER, ALLOWED, UNLESS_VIEWED, UNLESS_ISOLATED }; /* viewed: held to a view of the files */

static int failures;
static char folder[] = "/tmp/warpwise_sandbox_XXXXXX", own_file[80], other_file[80], new_file[80],
            own_number[16], driver_folder[80], driver_file[100], neighbour_folder[80], neighbour_file[100],
            open_file[80];
static struct sandboxed child;

static void expect(int holds, const char *what, const char *detail)
{
    if (holds) return;
    failures++;
    printf("FAIL %s: %s\n", what, detail);
}

static int gpu, network; /* what guests are started with */
static int landlock;     /* 1: the kernel has it, and it is not switched off */

static enum sandbox_end run(const char *what, const char *argument, enum sandbox_isolation isolation,
                            enum sandbox_kind kind, double seconds)
{
    const char *arguments[] = {SANDBOX_GUEST, what, argument, NULL};
    struct sandbox sandbox = {.arguments = arguments,
                              .folder = kind == SANDBOX_COMPILER ? folder : NULL,
                              .isolation = isolation,
                              .kind = kind,
                              .gpu = gpu,
                              .network = network,
                              .descriptor = {-1, -1, -1},
                              .limits = {.cpu_seconds = 20.0,
                                         .resident_bytes = UINT64_C(200) << 20,
                                         .file_bytes = 1 << 20,
                                         .processes = 40,
                                         .open_files = 64}};
    return sandbox_run(&sandbox, seconds, NULL, &child);
}

/** What a guest tries, and when it may succeed. */
struct trial {
    const char *what, *argument;
    enum sandbox_kind kind;
    int allowed;
};

static void try_one(const struct trial *trial, enum sandbox_isolation isolation, int wrapped)
{
    char told[200];
    enum sandbox_end end = run(trial->what, trial->argument, isolation, trial->kind, 20.0);
    enum { CUTS_OFF = 3 }; /* the version of Landlock that knows of cutting files off: Linux 6.2 */
    const int knows = strcmp(trial->what, "truncate") != 0 || sandbox_landlock_version() >= CUTS_OFF;
    int viewed = isolation == SANDBOX_ISOLATED && (wrapped || (landlock && knows));
    int may = trial->allowed == ALLOWED || (trial->allowed == UNLESS_VIEWED && !viewed) ||
              (trial->allowed == UNLESS_ISOLATED && isolation == SANDBOX_LIMITED);
    snprintf(told, sizeof told, "%s, %s: end %d, exit code %d, signal %d, %.60s",
             isolation == SANDBOX_LIMITED ? "limited"
             : wrapped                    ? "wrapped"
                                          : "isolated without bubblewrap",
             trial->argument, end, child.exit_code, child.signal, child.text);
    expect(end == SANDBOX_DONE && child.exit_code == (may ? 0 : 1), trial->what, told);
}

static void try_all(enum sandbox_isolation isolation, int wrapped)
{
    int root = geteuid() == 0;
    const struct trial trials[] = {
        {"socket", "2", SANDBOX_RUNNER, NEVER}, /* AF_INET */
        {"socket", "1", SANDBOX_RUNNER, NEVER}, /* AF_UNIX */
        {"socket", "1", SANDBOX_COMPILER, NEVER},
        {"kill", own_number, SANDBOX_RUNNER, NEVER},
        {"kill", "-1", SANDBOX_RUNNER, NEVER},
        {"kill", own_number, SANDBOX_COMPILER, NEVER},
        {"tgkill", own_number, SANDBOX_RUNNER, NEVER},
        {"ptrace", own_number, SANDBOX_COMPILER, NEVER},
        {"uring", "1", SANDBOX_RUNNER, NEVER},
        {"inotify", "1", SANDBOX_RUNNER, NEVER},
        {"inotify", "1", SANDBOX_COMPILER, NEVER},
        {"read", "/proc/self/status", SANDBOX_RUNNER, ALLOWED},
        {"read", other_file, SANDBOX_COMPILER, root ? UNLESS_ISOLATED : UNLESS_VIEWED}, /* mode 0600 */
        {"read", "/etc/passwd", SANDBOX_RUNNER, UNLESS_VIEWED},
        {"read", open_file, SANDBOX_RUNNER, UNLESS_VIEWED},
        {"read", open_file, SANDBOX_COMPILER, UNLESS_VIEWED},
        {"list", "/", SANDBOX_COMPILER, wrapped ? ALLOWED : UNLESS_VIEWED},
        {"list", "/usr", SANDBOX_RUNNER, ALLOWED},
        {"write", open_file, SANDBOX_RUNNER, UNLESS_ISOLATED}, /* it is there, and everybody may write it */
        {"write", open_file, SANDBOX_COMPILER, UNLESS_VIEWED},
        {"append", open_file, SANDBOX_RUNNER, UNLESS_ISOLATED},
        {"truncate", open_file, SANDBOX_COMPILER, UNLESS_VIEWED},
        {"write", "/dev/null", SANDBOX_COMPILER, ALLOWED},
        {"create", new_file, SANDBOX_RUNNER, UNLESS_ISOLATED},
        {"remove", other_file, SANDBOX_RUNNER, NEVER},
        {"remove_absent", new_file, SANDBOX_RUNNER, UNLESS_ISOLATED},
        {"create", own_file, SANDBOX_COMPILER, ALLOWED},
        {"descriptors", "3", SANDBOX_RUNNER, NEVER},
        {"environment", "SECRET_OF_THE_GRADER", SANDBOX_COMPILER, NEVER},
        {"environment", "PATH", SANDBOX_COMPILER, ALLOWED},
        {"root", "0", SANDBOX_COMPILER, root ? UNLESS_ISOLATED : NEVER},
        {"large_file", own_file, SANDBOX_COMPILER, NEVER},
        {"fork_bomb", "4000", SANDBOX_COMPILER, root && isolation == SANDBOX_LIMITED ? ALLOWED : NEVER},
        {"daemon", "x", SANDBOX_COMPILER, ALLOWED}, /* it may start, and is gone afterwards: below */
    };
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        if (isolation == SANDBOX_LIMITED && strcmp(trials[i].what, "remove") == 0) continue; /* it may */
        if (isolation == SANDBOX_LIMITED && strcmp(trials[i].what, "fork_bomb") == 0) continue;
        try_one(&trials[i], isolation, wrapped);
        unlink(new_file);
        unlink(own_file);
    }
    expect(access(other_file, F_OK) == 0, "remove", "the file is gone");
}

/* A runner on a GPU: its driver is let through until the runner is locked, and the network stays shut. */
static void try_gpu(enum sandbox_isolation isolation, int wrapped)
{
    const struct trial trials[] = {
        {"socket", "1", SANDBOX_RUNNER, ALLOWED}, /* AF_UNIX */
        {"socket", "2", SANDBOX_RUNNER, NEVER},   /* AF_INET */
        {"socket", "10", SANDBOX_RUNNER, NEVER},  /* AF_INET6 */
        {"socket", "16", SANDBOX_RUNNER, NEVER},  /* AF_NETLINK */
        {"socket_locked", "1", SANDBOX_RUNNER, NEVER},
        {"socket_locked", "2", SANDBOX_RUNNER, NEVER},
        {"remove_absent", new_file, SANDBOX_RUNNER, ALLOWED},
        {"remove_absent_locked", new_file, SANDBOX_RUNNER, NEVER},
        {"create", "/dev/shm/warpwise_of_a_driver", SANDBOX_RUNNER, ALLOWED},
        {"create_locked", "/dev/shm/warpwise_of_a_driver_2", SANDBOX_RUNNER, NEVER},
        {"work_locked", "1", SANDBOX_RUNNER, ALLOWED},
        {"work_locked", "0", SANDBOX_RUNNER, ALLOWED},
        {"fork_locked", "1", SANDBOX_RUNNER, NEVER},
        {"fork_locked", "0", SANDBOX_RUNNER, NEVER},
        {"socket", "1", SANDBOX_COMPILER, NEVER},
        {"kill", own_number, SANDBOX_RUNNER, NEVER},
    };
    gpu = 1;
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        try_one(&trials[i], isolation, wrapped);
        unlink("/dev/shm/warpwise_of_a_driver");
        unlink("/dev/shm/warpwise_of_a_driver_2");
    }
    gpu = 0;
}

/* NCCL's ranks find each other by sockets of any kind, until the runner is locked; never where they could reach others. */
static void try_network(enum sandbox_isolation isolation, int wrapped)
{
    const int may = isolation == SANDBOX_LIMITED || wrapped ? ALLOWED : NEVER;
    const struct trial trials[] = {
        {"socket", "2", SANDBOX_RUNNER, may},           /* AF_INET */
        {"socket", "10", SANDBOX_RUNNER, may},          /* AF_INET6 */
        {"socket", "16", SANDBOX_RUNNER, may},          /* AF_NETLINK */
        {"socket", "1", SANDBOX_RUNNER, ALLOWED},       /* AF_UNIX */
        {"socket_locked", "2", SANDBOX_RUNNER, NEVER},  /* AF_INET */
        {"socket_locked", "16", SANDBOX_RUNNER, NEVER}, /* AF_NETLINK */
        {"socket", "2", SANDBOX_COMPILER, NEVER},       /* AF_INET */
    };
    gpu = network = 1;
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) try_one(&trials[i], isolation, wrapped);
    gpu = 0;
    const struct trial without = {"socket", "2", SANDBOX_RUNNER,
                                  NEVER}; /* on the software device nobody needs one */
    try_one(&without, isolation, wrapped);
    network = 0;
}

/* The driver's library may lie anywhere that LD_LIBRARY_PATH names: a runner on a GPU sees that folder. */
static void try_driver_folder(int wrapped)
{
    const struct trial one = {"read", driver_file, SANDBOX_RUNNER, UNLESS_VIEWED},
                       other = {"read", neighbour_file, SANDBOX_RUNNER, UNLESS_VIEWED};
    struct trial shown = one;
    shown.allowed = ALLOWED;
    try_one(&one, SANDBOX_ISOLATED, wrapped);
    gpu = 1;
    try_one(&shown, SANDBOX_ISOLATED, wrapped);
    try_one(&other, SANDBOX_ISOLATED, wrapped);
    gpu = 0;
}

/* Its process number is our own namespace's only without bubblewrap; inside, its end is the kernel's word. */
static void try_daemon(enum sandbox_isolation isolation, int wrapped)
{
    long number = 0;
    enum sandbox_end end = run("daemon", "y", isolation, SANDBOX_COMPILER, 20.0);
    const char *said =
        strstr(child.text, "daemon y "); /* after what a coverage build says as it starts the guest */
    expect(end == SANDBOX_DONE && said != NULL && sscanf(said, "daemon y %ld", &number) == 1, "daemon",
           child.text);
    if (!wrapped && number > 0)
        expect(kill((pid_t)number, 0) != 0 && errno == ESRCH, "daemon", "outlived the sandbox");
}

static void try_ends(enum sandbox_isolation isolation)
{
    expect(run("hang", "0", isolation, SANDBOX_RUNNER, 0.2) == SANDBOX_LATE, "hang", "not late");
    expect(child.exit_code == -1 && child.signal == 0, "hang", "has an end of its own");
    expect(run("memory", "private", isolation, SANDBOX_RUNNER, 20.0) == SANDBOX_GREEDY, "memory",
           "not greedy");
    expect(run("memory", "shared", isolation, SANDBOX_RUNNER, 20.0) == SANDBOX_GREEDY, "shared memory",
           "not greedy");
    expect(run("signal", "11", isolation, SANDBOX_RUNNER, 20.0) == SANDBOX_DONE && child.signal == 11,
           "signal", child.text);
    expect(run("flood", "200000", isolation, SANDBOX_RUNNER, 20.0) == SANDBOX_DONE && child.exit_code == 0,
           "flood", "did not end");
    expect(child.text_used == SANDBOX_TEXT - 1 && strlen(child.text) == SANDBOX_TEXT - 1, "flood",
           "not bounded");
}

static void try_missing(void)
{
    const char *arguments[] = {"/nowhere/program", NULL};
    struct sandbox sandbox = {.arguments = arguments,
                              .descriptor = {-1, -1, -1},
                              .limits = {.cpu_seconds = 5.0, .file_bytes = 1 << 20, .processes = 8}};
    expect(sandbox_run(&sandbox, 20.0, NULL, &child) == SANDBOX_DONE && child.exit_code == 126 &&
               strstr(child.text, "cannot start") != NULL,
           "missing program", child.text);
}

/* Each part that is switched off lets one thing through, and is named. */
static void try_without(void)
{
    const struct trial parts[] = {{"socket", "2", SANDBOX_RUNNER, ALLOWED},
                                  {"root", "0", SANDBOX_RUNNER, ALLOWED},
                                  {"large_file", own_file, SANDBOX_COMPILER, ALLOWED},
                                  {"read", open_file, SANDBOX_RUNNER, ALLOWED},
                                  {"write", open_file, SANDBOX_COMPILER, ALLOWED}};
    static const char *const names[] = {"other,filter", "user", "limits,filter", "landlock", "landlock"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if ((i == 1 && geteuid() != 0) || (i > 2 && !landlock)) continue;
        try_one(&(struct trial){parts[i].what, parts[i].argument, parts[i].kind, NEVER}, SANDBOX_ISOLATED, 0);
        unlink(own_file);
        setenv("WARPWISE_SANDBOX_WITHOUT", names[i], 1);
        try_one(&parts[i], SANDBOX_ISOLATED, 0);
        expect(strstr(sandbox_describe("/usr"), "SWITCHED OFF") != NULL, "describe",
               sandbox_describe("/usr"));
        unsetenv("WARPWISE_SANDBOX_WITHOUT");
        unlink(own_file);
    }
    /* Without Landlock the filter still keeps a runner from opening anything for writing. */
    setenv("WARPWISE_SANDBOX_WITHOUT", "landlock", 1);
    static const char *const ways[] = {"write", "append", "create"};
    for (size_t i = 0; i < 3; i++)
        try_one(&(struct trial){ways[i], open_file, SANDBOX_RUNNER, NEVER}, SANDBOX_ISOLATED, 0);
    expect(!sandbox_is_whole("/usr"), "whole", sandbox_describe("/usr"));
    unsetenv("WARPWISE_SANDBOX_WITHOUT");
}

/* Bubblewrap is looked for on PATH, and not in the folder we are in, where a submission's may lie. */
static void try_path(void)
{
    char own[100], *path = strdup(getenv("PATH"));
    snprintf(own, sizeof own, "%s/bwrap", folder);
    int made = open(own, O_WRONLY | O_CREAT | O_CLOEXEC, 0755), back = open(".", O_RDONLY | O_CLOEXEC);
    static const char *const without[] = {"/nowhere", ".", ""};
    expect(made >= 0 && fchmod(made, 0755) == 0 && back >= 0 && chdir(folder) == 0, "path", own);
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
        setenv("PATH", without[i], 1);
        expect(!sandbox_has_bubblewrap() && strstr(sandbox_describe("/usr"), "not installed") != NULL, "path",
               sandbox_describe("/usr"));
    }
    expect(fchdir(back) == 0, "path", "the way back");
    setenv("PATH", path, 1);
    unlink(own);
    close(made);
    close(back);
    free(path);
}

static int make_file(const char *path, mode_t mode)
{
    int file = open(path, O_WRONLY | O_CREAT, mode);
    return file < 0 || write(file, "secret", 6) != 6 || close(file) != 0 ? -1 : 0;
}

static int make_files(void)
{
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(own_file, sizeof own_file, "%s/own", folder);
    snprintf(other_file, sizeof other_file, "%s.secret", folder);
    snprintf(new_file, sizeof new_file, "%s.new", folder);
    snprintf(own_number, sizeof own_number, "%ld", (long)getpid());
    snprintf(driver_folder, sizeof driver_folder, "%s.driver", folder);
    snprintf(driver_file, sizeof driver_file, "%s/libcuda.so.1", driver_folder);
    snprintf(neighbour_folder, sizeof neighbour_folder, "%s.neighbour", folder);
    snprintf(neighbour_file, sizeof neighbour_file, "%s/libother.so.1", neighbour_folder);
    if (mkdir(driver_folder, 0755) != 0 || mkdir(neighbour_folder, 0755) != 0) return -1;
    snprintf(open_file, sizeof open_file, "%s.open", folder);
    if (make_file(open_file, 0666) != 0 || chmod(open_file, 0666) != 0) return -1;
    return make_file(other_file, 0600) | make_file(driver_file, 0644) | make_file(neighbour_file, 0644);
}

/* A program that gets a fifth of a processor is given five times as long, one that only sleeps or works too long is not. */
static void try_crowd(enum sandbox_isolation isolation)
{
    enum { CROWD = 4 };
    pid_t member[CROWD];
    cpu_set_t before, one;
    int processor = 0;
    struct timespec begin, end;
    if (sched_getaffinity(0, sizeof before, &before) != 0) return;
    while (!CPU_ISSET(processor, &before)) processor++;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
    for (int i = 0; i < CROWD; i++)
        if ((member[i] = fork()) == 0)
            for (;;) continue;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    /* Between its beginning and its first turn on the processor nothing says that it waits: the limit leaves room for that. */
    expect(run("busy", "0.3", isolation, SANDBOX_RUNNER, 0.75) == SANDBOX_DONE, "busy",
           "late on a busy machine");
    clock_gettime(CLOCK_MONOTONIC, &end);
    double real = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    if (real < 0.75) printf("the crowd left it enough: %.2f s for 0.3 s\n", real);
    expect(run("busy", "9", isolation, SANDBOX_RUNNER, 0.1) == SANDBOX_LATE, "busy", "not late");
    expect(run("hang", "0", isolation, SANDBOX_RUNNER, 0.1) == SANDBOX_LATE, "hang", "not late in a crowd");
    for (int i = 0; i < CROWD; i++) kill(member[i], SIGKILL);
    for (int i = 0; i < CROWD; i++) waitpid(member[i], NULL, 0);
    sched_setaffinity(0, sizeof before, &before);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    int held = open("/dev/null", O_RDONLY); /* without O_CLOEXEC: it must not reach a guest */
    if (held < 0 || make_files() != 0) return 2;
    char libraries[200];
    snprintf(libraries, sizeof libraries, ":relative:%s:%s", neighbour_folder, driver_folder);
    setenv("LD_LIBRARY_PATH", libraries, 1);
    setenv("SECRET_OF_THE_GRADER", "1", 1);
    sandbox_prepare();
    try_all(SANDBOX_LIMITED, 0);
    try_gpu(SANDBOX_LIMITED, 0);
    try_network(SANDBOX_LIMITED, 0);
    try_ends(SANDBOX_LIMITED);
    try_daemon(SANDBOX_LIMITED, 0);
    try_path();
    int wrapped = sandbox_has_bubblewrap();
    printf("isolation here: %s\n", sandbox_describe("/usr"));
    if (wrapped) {
        try_all(SANDBOX_ISOLATED, 1);
        try_gpu(SANDBOX_ISOLATED, 1);
        try_network(SANDBOX_ISOLATED, 1);
        try_driver_folder(1);
        try_ends(SANDBOX_ISOLATED);
        try_daemon(SANDBOX_ISOLATED, 1);
    }
    try_crowd(wrapped ? SANDBOX_ISOLATED : SANDBOX_LIMITED);
    expect(sandbox_is_whole("/usr") == wrapped, "whole", sandbox_describe("/usr"));
    setenv("WARPWISE_BUBBLEWRAP", "no", 1);
    landlock = strstr(sandbox_describe("/usr"), "Landlock for files") != NULL;
    expect(!sandbox_has_bubblewrap() && strstr(sandbox_describe("/usr"), "no bubblewrap") != NULL, "describe",
           sandbox_describe("/usr"));
    try_all(SANDBOX_ISOLATED, 0);
    try_gpu(SANDBOX_ISOLATED, 0);
    try_network(SANDBOX_ISOLATED, 0);
    try_driver_folder(0);
    try_ends(SANDBOX_ISOLATED);
    try_daemon(SANDBOX_ISOLATED, 0);
    try_without();
    try_missing();
    unlink(other_file);
    unlink(open_file);
    unlink(driver_file);
    unlink(neighbour_file);
    rmdir(driver_folder);
    rmdir(neighbour_folder);
    rmdir(folder);
    printf("checker_sandbox: %d failures%s%s\n", failures,
           wrapped ? "" : " (bubblewrap not tested: not here)",
           landlock ? "" : " (Landlock not tested: not here)");
    return failures == 0 ? 0 : 1;
}
