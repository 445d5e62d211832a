/**
 * @file host.h
 * @brief Functions that the gates of the host process are built with.
 */
#pragma once

#include <cuda_runtime_api.h>

#include "calls.h"
#include "message.h"

/** @brief Size of what a parameter of kind @p letter points to, see calls.h; 0: the kind is not such a
 *         pointer. */
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

/** @brief Begins the question that host_ask() sends, without words and data. @p site: where the student's
 *         code made the call. */
struct message *host_question(enum boundary_call_number call, const void *site);
/** @brief Appends data, at the next multiple of 16; 0, or -1 if there is no room. */
int host_append(const void *data, size_t bytes);
/** @brief Appends a text, cut to STRING_BYTES. */
int host_append_text(const char *text);
/** @brief Sends it and waits for the answer, which is valid until the next one. */
const struct message *host_ask(void);

/** @brief In a kernel: ends the launch with a finding. */
void boundary_not_in_kernel(const char *name, const void *site);

/** @brief boundary_host_bytes(), in the host process. */
uint64_t host_bytes(void);
