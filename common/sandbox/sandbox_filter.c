/**
 * @file sandbox_filter.c
 * @brief Which system calls a program in the sandbox may not make: a seccomp filter.
 *
 * Forbidden calls fail with EPERM, so that a library that only tries one continues without it. Everything
 * else is allowed: which calls a C library or a GPU driver needs is theirs to decide and changes with their
 * versions.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "protocol/file_calls.h"
#include "sandbox_inside.h"

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#define OTHER_TABLE_BIT 0x40000000u /* the calls of x32, a second number for each */
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#define OTHER_TABLE_BIT 0x40000000u /* this architecture has none: no call has this number */
#endif

#ifdef OWN_ARCHITECTURE

/* Another process's memory, the network, the machine: a program in here has no business with them. */
static const int FOR_NOBODY[] = {
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_tkill,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_name_to_handle_at,
    SYS_vhangup,
    SYS_syslog,
    SYS_shmget,
    SYS_semget,
    SYS_msgget,
    SYS_mq_open,
    SYS_open_by_handle_at,
    SYS_inotify_init1, /* tell when other programs touch files */
    SYS_fanotify_init,
#ifdef SYS_inotify_init
    SYS_inotify_init,
#endif
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup, /* its requests bypass any filter */
#endif
#ifdef SYS_pidfd_open
    SYS_pidfd_open,
#endif
#ifdef SYS_pidfd_send_signal
    SYS_pidfd_send_signal,
#endif
#ifdef SYS_pidfd_getfd
    SYS_pidfd_getfd,
#endif
#ifdef SYS_process_madvise
    SYS_process_madvise,
#endif
#ifdef SYS_open_tree
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
#endif
#ifdef SYS_mount_setattr
    SYS_mount_setattr,
#endif
};

static void add_line(struct sandbox_filter *filter, struct sock_filter line)
{
    filter->line[filter->count++] = line;
}

static void add_load(struct sandbox_filter *filter, size_t offset)
{
    add_line(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

static void add_skip_unless(struct sandbox_filter *filter, unsigned value, unsigned char lines)
{
    add_line(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, lines));
}

static void add_end(struct sandbox_filter *filter, unsigned verdict)
{
    add_line(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

static const unsigned REFUSED = SECCOMP_RET_ERRNO | EPERM;

static void add_refusals(struct sandbox_filter *filter, const int *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add_skip_unless(filter, (unsigned)calls[i], 1);
        add_end(filter, REFUSED);
    }
}

/* Signals only to itself. Where no other process can be seen, all signals are. */
static void add_self_only(struct sandbox_filter *filter, int call, unsigned self)
{
    add_skip_unless(filter, (unsigned)call, 4);
    add_load(filter, offsetof(struct seccomp_data, args[0]));
    add_skip_unless(filter, self, 1);
    add_end(filter, SECCOMP_RET_ALLOW);
    add_end(filter, REFUSED);
}

/* Limits may be read and lowered, of the calling process only, which is pid 0. */
static void add_own_limits(struct sandbox_filter *filter)
{
    add_skip_unless(filter, SYS_prlimit64, 4);
    add_load(filter, offsetof(struct seccomp_data, args[0]));
    add_skip_unless(filter, 0, 1);
    add_end(filter, SECCOMP_RET_ALLOW);
    add_end(filter, REFUSED);
}

/* No network. CUDA's driver gives up unless it gets a local socket while it opens its device: after that
 * common/runner/lock.c forbids sockets, too, to a runner of an untrusted kernel. NCCL needs other sockets
 * until then. */
static void add_no_sockets(struct sandbox_filter *filter, int local_allowed)
{
    if (!local_allowed) {
        add_refusals(filter, (const int[]){SYS_socket}, 1);
        return;
    }
    add_skip_unless(filter, SYS_socket, 4);
    add_load(filter, offsetof(struct seccomp_data, args[0]));
    add_skip_unless(filter, AF_UNIX, 1);
    add_end(filter, SECCOMP_RET_ALLOW);
    add_end(filter, REFUSED);
}

/* No file is created, and none is opened for writing. The flags are the third argument of openat. */
static void add_no_writing(struct sandbox_filter *filter, int call, size_t flags)
{
    add_skip_unless(filter, (unsigned)call, 4);
    add_load(filter, flags);
    add_line(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
                                                  O_CREAT | O_WRONLY | O_RDWR | O_TRUNC, 0, 1));
    add_end(filter, REFUSED);
    add_end(filter, SECCOMP_RET_ALLOW);
}

void sandbox_filter_make(enum sandbox_kind kind, int may_write, int gpu, int network, unsigned self,
                         struct sandbox_filter *filter)
{
    filter->count = 0;
    add_load(filter, offsetof(struct seccomp_data, arch));
    add_line(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0));
    add_end(filter, REFUSED);
    add_load(filter, offsetof(struct seccomp_data, nr));
    add_line(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_TABLE_BIT, 0, 1));
    add_end(filter, REFUSED);
    add_refusals(filter, FOR_NOBODY, sizeof FOR_NOBODY / sizeof FOR_NOBODY[0]);
    if (kind != SANDBOX_RUNNER || !gpu || !network) add_no_sockets(filter, kind == SANDBOX_RUNNER && gpu);
    /* Files that exist only in memory; GPU drivers use them. */
    if (kind == SANDBOX_RUNNER && !gpu) add_refusals(filter, (const int[]){SYS_memfd_create}, 1);
    /* On a GPU the runner forbids this itself, when the driver has what it needs (common/runner/lock.c). */
    if (kind == SANDBOX_RUNNER && !may_write && !gpu) {
        add_refusals(filter, FILE_CALLS, sizeof FILE_CALLS / sizeof FILE_CALLS[0]);
        add_no_writing(filter, SYS_openat, offsetof(struct seccomp_data, args[2]));
#ifdef SYS_open
        add_no_writing(filter, SYS_open, offsetof(struct seccomp_data, args[1]));
#endif
/* its flags are in memory, where a filter cannot read them; libraries fall back to openat */
#ifdef SYS_openat2
        add_skip_unless(filter, SYS_openat2, 1);
        add_end(filter, SECCOMP_RET_ERRNO | ENOSYS);
#endif
    }
    if (self > 0) {
        add_self_only(filter, SYS_kill, self);
        add_self_only(filter, SYS_tgkill, self);
    } else {
        add_refusals(filter, (const int[]){SYS_kill}, 1); /* abort() needs only tgkill */
    }
    add_own_limits(filter);
    add_end(filter, SECCOMP_RET_ALLOW);
}

int sandbox_filter_set(const struct sandbox_filter *filter)
{
    struct sock_fprog program = {filter->count, (struct sock_filter *)filter->line};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#else

void sandbox_filter_make(enum sandbox_kind kind, int may_write, int gpu, int network, unsigned self,
                         struct sandbox_filter *filter)
{
    (void)kind, (void)may_write, (void)gpu, (void)network, (void)self;
    filter->count = 0;
}

int sandbox_filter_set(const struct sandbox_filter *filter)
{
    (void)filter;
    return -1;
}

#endif
