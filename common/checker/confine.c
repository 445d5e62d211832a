/**
 * @file confine.c
 * @brief What a runner may not do, set in the child just before exec.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "process.h"

enum { PROCESSES_ABOVE_NOW = 512 };

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef OWN_ARCHITECTURE

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), 0, (count))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define REFUSE_CALL(number) SKIP_UNLESS(number, 1), REFUSE
/* Allowed only if the first argument is this very process. */
#define ONLY_ON_SELF(number, self) SKIP_UNLESS(number, 4), LOAD(args[0]), SKIP_UNLESS(self, 1), ALLOW, REFUSE

/* A runner may not signal, trace, read or limit another process, the checker least of all. Where the kernel
 * has no such filter the limits below are all there is. */
static void forbid_reaching_others(void)
{
    unsigned self = (unsigned)getpid();
    struct sock_filter filter[] = {
        LOAD(arch),
        SKIP_UNLESS(OWN_ARCHITECTURE, 1),
        BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
        REFUSE,
        LOAD(nr),
        REFUSE_CALL(SYS_ptrace),
        REFUSE_CALL(SYS_process_vm_readv),
        REFUSE_CALL(SYS_process_vm_writev),
        REFUSE_CALL(SYS_pidfd_open),
        REFUSE_CALL(SYS_pidfd_send_signal),
        REFUSE_CALL(SYS_tkill),
        REFUSE_CALL(SYS_rt_sigqueueinfo),
        REFUSE_CALL(SYS_rt_tgsigqueueinfo),
        ONLY_ON_SELF(SYS_kill, self),
        ONLY_ON_SELF(SYS_tgkill, self),
        SKIP_UNLESS(SYS_prlimit64, 6), /* 0 stands for the calling process */
        LOAD(args[0]),
        SKIP_UNLESS(0, 1),
        ALLOW,
        SKIP_UNLESS(self, 1),
        ALLOW,
        REFUSE,
        ALLOW,
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#else

static void forbid_reaching_others(void) {}

#endif

static int limit(int resource, uint64_t most)
{
    struct rlimit now;
    if (getrlimit(resource, &now) != 0) return -1;
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < most) most = now.rlim_max;
    struct rlimit wanted = {most, most};
    return setrlimit(resource, &wanted);
}

int confine(const struct process_limits *limits)
{
    struct sysinfo system;
    if (sysinfo(&system) != 0) return -1;
    if (limit(RLIMIT_CORE, 0) != 0 || limit(RLIMIT_FSIZE, limits->file_bytes) != 0) return -1;
    if (limit(RLIMIT_CPU, (uint64_t)limits->cpu_seconds + 1) != 0) return -1;
    if (limit(RLIMIT_NPROC, (uint64_t)system.procs + PROCESSES_ABOVE_NOW) != 0) return -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    forbid_reaching_others();
    return 0;
}
