/**
 * @file lock.c
 * @brief A system call filter that the runner sets for itself before it calls an untrusted kernel, on top of
 *        the one it was started under (common/sandbox/sandbox_filter.c): threads, but no processes and no
 *        programs; and nothing any more of what a GPU's driver needed only to open its device.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "protocol/file_calls.h"
#include "lock.h"

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

static int locked;

int runner_is_locked(void)
{
    return locked;
}

#ifdef OWN_ARCHITECTURE

enum { MOST_LINES = 160, REFUSED = SECCOMP_RET_ERRNO | EPERM, ABSENT = SECCOMP_RET_ERRNO | ENOSYS };

static struct sock_filter filter_line[MOST_LINES];
static unsigned short filter_lines;

static void add(unsigned code, unsigned value, unsigned char if_so, unsigned char if_not)
{
    filter_line[filter_lines++] = (struct sock_filter)BPF_JUMP((unsigned short)code, value, if_so, if_not);
}

static void load(size_t offset)
{
    add(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset, 0, 0);
}

static void end(unsigned verdict)
{
    add(BPF_RET | BPF_K, verdict, 0, 0);
}

static void refuse(long call, unsigned verdict)
{
    add(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1);
    end(verdict);
}

/* Refuses @p call if argument @p argument has (@p if_has 1) or lacks any of @p bits; allows it otherwise. */
static void refuse_by_bits(long call, int argument, unsigned bits, int if_has)
{
    add(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 4);
    load(offsetof(struct seccomp_data, args) + 8 * (size_t)argument);
    add(BPF_JMP | BPF_JSET | BPF_K, bits, if_has ? 0 : 1, if_has ? 1 : 0);
    end(REFUSED);
    end(SECCOMP_RET_ALLOW);
}

static void refuse_files(void)
{
    for (size_t i = 0; i < sizeof FILE_CALLS / sizeof FILE_CALLS[0]; i++) refuse(FILE_CALLS[i], REFUSED);
    refuse_by_bits(SYS_openat, 2, O_CREAT, 1);
#ifdef SYS_open
    refuse_by_bits(SYS_open, 1, O_CREAT, 1);
#endif
#ifdef SYS_openat2 /* its flags lie in memory, where a filter cannot look; libraries go on with openat */
    refuse(SYS_openat2, ABSENT);
#endif
}

void lock_runner(int files)
{
    load(offsetof(struct seccomp_data, arch));
    add(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0);
    end(REFUSED);
    load(offsetof(struct seccomp_data, nr));
    refuse(SYS_execve, REFUSED);
    refuse(SYS_execveat, REFUSED);
    refuse(SYS_socketpair, REFUSED);
    refuse(SYS_socket, REFUSED); /* a GPU's driver needed it, until now */
#ifdef SYS_fork
    refuse(SYS_fork, REFUSED);
    refuse(SYS_vfork, REFUSED);
#endif
#ifdef SYS_clone3 /* its flags lie in memory, too; libraries go on with clone */
    refuse(SYS_clone3, ABSENT);
#endif
    refuse_by_bits(SYS_clone, 0, CLONE_THREAD, 0); /* a thread is no process */
    if (files) refuse_files();
    end(SECCOMP_RET_ALLOW);
    struct sock_fprog program = {filter_lines, filter_line};
    locked = 1;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#else

void lock_runner(int files)
{
    (void)files;
    locked = 1;
}

#endif
