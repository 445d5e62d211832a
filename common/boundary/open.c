/**
 * @file open.c
 * @brief Makes the host process.
 */
#include "boundary.h"
#include "message.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "machine.h"

/* It is made before the image is mapped and the device is opened; descriptors that it inherits, except its
 * output, are closed. */
static void become_host(pid_t device)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != device) _exit(1); /* it was gone before that */
    const int kept = dup2(boundary_socket, STDERR_FILENO + 1);
    if (kept < 0) _exit(1);
    boundary_socket = kept;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, kept + 1, ~0U, 0) != 0)
#endif
        for (int i = kept + 1; i < 1024; i++) close(i);
    close(STDIN_FILENO);
    host_process();
}

int boundary_open(void)
{
    int ends[2];
    const pid_t device = getpid();
    (void)simt_static_shared_bytes("", NULL); /* reads the program's symbols for both processes */
    fflush(NULL);
    if (boundary_learn_functions() != 0) return -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -1;
    boundary_host = fork();
    if (boundary_host < 0) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    boundary_socket = ends[boundary_host == 0];
    if (boundary_host == 0) become_host(device);
    close(ends[1]);
    return 0;
}
