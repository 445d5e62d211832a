/**
 * @file host.h
 * @brief What the gates of the host process stand on.
 */
#ifndef WARPWISE_BOUNDARY_HOST_H
#define WARPWISE_BOUNDARY_HOST_H

#include <cuda_runtime_api.h>

#include "calls.h"
#include "message.h"

/** @brief Bytes of what a parameter of kind @p letter points to, see calls.h; 0: it is no such pointer. */
static inline size_t boundary_output_bytes(char letter)
{
    switch (letter) {
    case 'I':
        return sizeof(int);
    case 'W':
    case 'S':
    case 'E':
    case 'G':
    case 'X':
        return sizeof(uint64_t);
    case 'P':
        return sizeof(struct cudaDeviceProp);
    case 'A':
        return sizeof(struct cudaFuncAttributes);
    case 'B':
        return sizeof(struct cudaPointerAttributes);
    case 'U':
        return sizeof(cudaGraphExecUpdateResultInfo);
    default:
        return 0;
    }
}

/** @brief Begins the question that host_ask() sends: no words, no data. @p site: where the student's code called. */
struct message *host_question(enum boundary_call_number call, const void *site);
/** @brief Adds data to it, at the next multiple of 16; 0, or -1 if there is no room. */
int host_append(const void *data, size_t bytes);
/** @brief The same for a text, cut to STRING_BYTES. */
int host_append_text(const char *text);
/** @brief Sends it and waits for the answer, which stays until the next one. */
const struct message *host_ask(void);

/** @brief In a kernel: ends the launch with a finding. */
void boundary_not_in_kernel(const char *name, const void *site);

/** @brief boundary_host_bytes(), in the host process. */
uint64_t host_bytes(void);

#endif
