/**
 * @file message.h
 * @brief What the two processes send each other over a socket of packets: a packet is whole, or it is not there.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    MESSAGE_WORDS = 9,
    MESSAGE_DATA = 64 << 10, /* bytes in addition to the words; longer data take several messages */
    STRING_BYTES = 512       /* longest name or path, with its terminator */
};

/** @brief What a message is. */
enum message_kind {
    MESSAGE_ENTRY = 1, /**< device → host: call an entry point */
    MESSAGE_RETURN,    /**< host → device: what it returned */
    MESSAGE_ASK,       /**< host → device: a call of CUDA */
    MESSAGE_ANSWER,    /**< device → host: its result and what it wrote */
    MESSAGE_FETCH,     /**< device → host, before the answer: which bytes are at this address? */
    MESSAGE_CONTENT,   /**< host → device */
    MESSAGE_RECORD     /**< host → device, at any time: a finding in host code */
};

/** @brief A message; only the part up to the end of its data is sent. */
struct message {
    uint32_t kind;                    /**< enum message_kind */
    uint32_t call;                    /**< MESSAGE_ASK: enum boundary_call_number */
    uint64_t word[MESSAGE_WORDS];     /**< arguments; in answers and returns, the first is the result */
    uint64_t site;                    /**< MESSAGE_ASK: where the student's code made the call */
    uint32_t bytes;                   /**< of data */
    uint32_t unused;                  /**< zero */
    unsigned char data[MESSAGE_DATA]; /**< at a multiple of 16 */
};

/** @brief Bytes of a message that carries @p bytes of data. */
#define MESSAGE_SIZE(bytes) (offsetof(struct message, data) + (bytes))

/** @brief The socket, on either side; -1 before boundary_open(). */
extern int boundary_socket;
/** @brief The host process's id in the device process; 0 in the host process itself, -1 before there is
 *         one. */
extern pid_t boundary_host;
/** @brief Notes which functions a kernel may call through a pointer (indirect.c); 0, or -1 with errno set. */
int boundary_learn_functions(void);

/** @brief Sends @p message; 0, or -1 if the other side is gone. */
int message_send(const struct message *message);
/** @brief Receives a message. 1; 0 if the other side is gone; -1 if what came is not a message. */
int message_receive(struct message *message);

/** @brief Everything the host process does after it was made; @p device closes when the device process
 *         ends. */
_Noreturn void host_process(void);
/** @brief Forbids the host process all system calls but those that host code needs (host_filter.c); 0, or
 *         -1. */
int host_filter(void);
