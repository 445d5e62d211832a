/**
 * @file host_filter.c
 * @brief The host process's system calls: memory without execution, the socket and the output it has, its own end, clocks.
 *        Everything else fails with EPERM, whoever calls it and however it got there.
 */
#include "message.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef OWN_ARCHITECTURE

enum { MOST_LINES = 128, REFUSED = SECCOMP_RET_ERRNO | EPERM };

static struct sock_filter line[MOST_LINES];
static unsigned short count;

static void add(unsigned code, unsigned value, unsigned char if_so, unsigned char if_not)
{
    line[count++] = (struct sock_filter)BPF_JUMP((unsigned short)code, value, if_so, if_not);
}

static void end(unsigned verdict)
{
    add(BPF_RET | BPF_K, verdict, 0, 0);
}

static void load_argument(int argument)
{
    add(BPF_LD | BPF_W | BPF_ABS, (unsigned)(offsetof(struct seccomp_data, args) + 8 * (size_t)argument), 0,
        0);
}

/* Allows @p call if argument @p argument has none of @p bits. */
static void allow_without(long call, int argument, unsigned bits)
{
    add(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 4);
    load_argument(argument);
    add(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
    end(REFUSED);
    end(SECCOMP_RET_ALLOW);
}

/* Allows @p call if argument @p argument is @p value. */
static void allow_only(long call, int argument, unsigned value)
{
    add(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 4);
    load_argument(argument);
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
    end(REFUSED);
    end(SECCOMP_RET_ALLOW);
}

/* Memory is the process's own, and never becomes code; a signal goes to the process itself. */
static void allow_with_conditions(void)
{
    add(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 7);
    load_argument(2);
    add(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 3, 0);
    load_argument(3);
    add(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 1);
    end(SECCOMP_RET_ALLOW);
    end(REFUSED);
    end(REFUSED);
    allow_without(SYS_mprotect, 2, PROT_EXEC);
    allow_only(SYS_tgkill, 0, (unsigned)getpid());
}

int host_filter(void)
{
    static const int allowed[] = {
        SYS_read,        SYS_write,        SYS_writev,        SYS_recvfrom,  SYS_sendto,         SYS_munmap,
        SYS_brk,         SYS_mremap,       SYS_madvise,       SYS_mincore,   SYS_futex,          SYS_exit,
        SYS_exit_group,  SYS_rt_sigreturn, SYS_rt_sigaction,  SYS_setitimer, SYS_getpid,         SYS_gettid,
        SYS_sigaltstack, SYS_getitimer,    SYS_clock_gettime, SYS_getrandom, SYS_rt_sigprocmask, SYS_getcwd,
    };
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
    add(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0);
    end(REFUSED);
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        add(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
        end(SECCOMP_RET_ALLOW);
    }
    allow_with_conditions();
    end(REFUSED);
    struct sock_fprog program = {count, line};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#else

int host_filter(void)
{
    return 0;
}

#endif
