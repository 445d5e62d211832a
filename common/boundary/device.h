/**
 * @file device.h
 * @brief What the answers of the device process stand on.
 */
#ifndef WARPWISE_BOUNDARY_DEVICE_H
#define WARPWISE_BOUNDARY_DEVICE_H

#include "host.h"
#include "machine.h"

/** @brief What is being answered. */
extern struct message device_question;

/** @brief The next @p bytes of its data behind *@p at, which moves on; NULL: there are no more. */
const void *device_data(size_t *at, size_t bytes);
/** @brief An answer without words and data. */
void device_begin_answer(void);
/** @brief Adds to the answer. */
void device_answer_with(const void *data, size_t bytes);
/** @brief Sets a word of the answer; the first is the result. */
void device_answer_word(unsigned index, uint64_t value);
void device_send_answer(void);
/** @brief Sends or receives any message. Where the host process is gone, the runner ends as that did. */
void device_send(const struct message *message);
void device_receive(struct message *message);
/** @brief Copies from the host process's memory; returns how many bytes there were. */
size_t device_fetch(uint64_t address, void *to, size_t bytes);
/** @brief What came is no message of ours: the runner ends, which is a crash of the student's. */
_Noreturn void device_refuse_message(const char *what);

/** @brief The host process may name this object from now on. @p kind as in calls.h. */
void device_give_handle(char kind, uint64_t value);
/** @brief What exists no longer makes room. Nodes go with their graph, of which nobody tells: with any graph. */
void device_forget_dead_handles(int nodes_too);
/** @brief 1 if it was given this object, and the object exists. */
int device_handle_is_good(char kind, uint64_t value);
/** @brief Has the runtime remember and return @p error, for an argument that must not reach it. */
uint64_t device_last_error(cudaError_t error);

/** @cond the device's, which only C++ is told of */
cudaError_t simt_launch_kernel(const struct simt_launch *launch, size_t args_bytes, cudaStream_t stream);
cudaError_t simt_launch_attributes(const struct simt_site *site, const cudaLaunchConfig_t *config, int *early,
                                   int *cooperative, struct simt_extent *cluster);
cudaError_t simt_launch_untyped(const struct simt_site *site);
cudaError_t simt_copy_to_symbol(void *symbol, size_t symbol_bytes, const void *from, size_t bytes,
                                size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream,
                                const char *call);
/** @endcond */

/** @brief Answers a call with a gate of its own (special.c). */
uint64_t device_answer_special(enum boundary_call_number call);
/** @brief Before a graph is launched: what its copies read in host memory is read anew. */
void device_fetch_captured(void);

#endif
