/**
 * @file message.c
 * @brief Packets between the two processes.
 */
#include "message.h"

#include <errno.h>
#include <sys/socket.h>

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
