/**
 * @file lock.c
 * @brief A system call filter that the runner sets for itself before it calls a stranger's kernel, on top of
 *        the one it was started under (common/checker/sandbox_filter.c): threads, but no processes and no
 *        programs; and nothing any more of what a GPU's driver needed only to open its device.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), 0, (count))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define FAIL(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define FAIL_CALL(number, error) SKIP_UNLESS(number, 1), FAIL(error)

void lock_runner(void)
{
    struct sock_filter filter[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0),
        FAIL(EPERM),
        LOAD(nr),
        FAIL_CALL(SYS_execve, EPERM),
        FAIL_CALL(SYS_execveat, EPERM),
        FAIL_CALL(SYS_socketpair, EPERM),
        FAIL_CALL(SYS_socket, EPERM), /* this and what follows: a GPU's driver needed them, until now */
        FAIL_CALL(SYS_unlinkat, EPERM),
#ifdef SYS_unlink
        FAIL_CALL(SYS_unlink, EPERM),
#endif
#ifdef SYS_fork
        FAIL_CALL(SYS_fork, EPERM),
        FAIL_CALL(SYS_vfork, EPERM),
#endif
#ifdef SYS_clone3 /* its flags lie in memory, where a filter cannot look; libraries go on with clone */
        FAIL_CALL(SYS_clone3, ENOSYS),
#endif
        SKIP_UNLESS(SYS_clone, 3), /* a thread is no process */
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
        FAIL(EPERM),
        ALLOW,
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    locked = 1;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#else

void lock_runner(void)
{
    locked = 1;
}

#endif
