/**
 * @file open.c
 * @brief Making the host process, and packets between the two.
 */
#include "boundary.h"
#include "message.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "machine.h"

_Static_assert(offsetof(struct message, data) % 16 == 0, "data begins where any of it may lie");

int boundary_socket = -1;
pid_t boundary_host = -1;

int message_send(const struct message *message)
{
    const size_t size = MESSAGE_SIZE(message->bytes);
    ssize_t sent;
    do sent = send(boundary_socket, message, size, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)size ? 0 : -1;
}

int message_receive(struct message *message)
{
    ssize_t got;
    do got = recv(boundary_socket, message, sizeof *message, MSG_TRUNC);
    while (got < 0 && errno == EINTR);
    if (got <= 0) return 0;
    const size_t size = (size_t)got;
    if (size > sizeof *message || size < MESSAGE_SIZE(0) || message->bytes > MESSAGE_DATA ||
        size != MESSAGE_SIZE(message->bytes))
        return -1;
    return 1;
}

/* It is made before the image is mapped and the device is open; what it inherits beside its output is closed. */
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
    (void)simt_static_shared_bytes("", NULL); /* reads the program's symbols, for both */
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
