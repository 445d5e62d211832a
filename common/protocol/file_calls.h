/**
 * @file file_calls.h
 * @brief System calls that make, move, remove or mark files, or leave a session: a program that computes has
 *        no use for them.
 *
 * On `simt` a runner may never make them (common/sandbox/sandbox_filter.c). CUDA's driver needs some of them
 * to open its device, so on `gpu` the runner forbids them itself, before it calls an untrusted kernel
 * (lock.c).
 */
#pragma once

#include <sys/syscall.h>

static const int FILE_CALLS[] = {
    SYS_setsid,   SYS_setpgid,   SYS_unlinkat,  SYS_renameat2, SYS_mkdirat,     SYS_linkat,  SYS_symlinkat,
    SYS_mknodat,  SYS_fchmodat,  SYS_fchownat,  SYS_truncate,  SYS_fchmod,      SYS_fchown,  SYS_utimensat,
    SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_fallocate, SYS_setpriority,
#ifdef SYS_renameat
    SYS_renameat,
#endif
#ifdef SYS_unlink
    SYS_unlink,   SYS_rename,    SYS_mkdir,     SYS_rmdir,     SYS_link,        SYS_symlink, SYS_mknod,
    SYS_chmod,    SYS_chown,     SYS_lchown,    SYS_utime,     SYS_utimes,      SYS_creat,
#endif
};
