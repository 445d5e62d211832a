/**
 * @file device.h
 * @brief Functions that the device process builds its answers with.
 */
#pragma once

#include "host.h"
#include "machine.h"

/** @brief The question that is being answered. */
extern struct message device_question;

/** @brief The next @p bytes of its data from *@p at, which moves on; NULL if there are not as many. */
const void *device_data(size_t *at, size_t bytes);
/** @brief An answer without words and data. */
void device_begin_answer(void);
/** @brief Adds to the answer. */
void device_answer_with(const void *data, size_t bytes);
/** @brief Sets a word of the answer; the first is the result. */
void device_answer_word(unsigned index, uint64_t value);
/** @brief Sends the answer. */
void device_send_answer(void);
/** @brief Sends any message. If the host process is gone, the runner ends in the same way. */
void device_send(const struct message *message);
/** @brief Receives the next message, likewise; records of the host process are stored on the way. */
void device_receive(struct message *message);
/** @brief Copies from the host process's memory; returns how many bytes there were. */
size_t device_fetch(uint64_t address, void *to, size_t bytes);
/** @brief The message received is not one of ours: ends the runner, which counts as a crash of the
 *         student's program. */
_Noreturn void device_refuse_message(const char *what);

/** @brief Allows the host process to use this object from now on. @p kind as in calls.h. */
void device_give_handle(char kind, uint64_t value);
/** @brief Frees the entries of handles whose objects are gone. Nodes disappear with their graph without
 *         notice: so their entries are checked whenever a graph is destroyed. */
void device_forget_dead_handles(int nodes_too);
/** @brief 1 if the host process was given this object, and the object still exists. */
int device_handle_is_good(char kind, uint64_t value);
/** @brief Makes the runtime remember and return @p error, for an argument that must not reach it. */
uint64_t device_last_error(cudaError_t error);

/** @cond the device's own declarations, which only C++ sees */
cudaError_t simt_launch_kernel(const struct simt_launch *launch, size_t args_bytes, cudaStream_t stream);
cudaError_t simt_launch_attributes(const struct simt_site *site, const cudaLaunchConfig_t *config, int *early,
                                   int *cooperative, struct simt_extent *cluster);
cudaError_t simt_launch_untyped(const struct simt_site *site);
cudaError_t simt_copy_to_symbol(void *symbol, size_t symbol_bytes, const void *from, size_t bytes,
                                size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream,
                                const char *call);
cudaError_t simt_copy_from_symbol(void *to, const void *symbol, size_t symbol_bytes, size_t bytes,
                                  size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream,
                                  const char *call);
/** @endcond */

/** @brief Answers a call with a gate of its own (special.c). */
uint64_t device_answer_special(enum boundary_call_number call);
/** @brief Before a graph is launched: updates the host memory that its copies read. */
void device_fetch_captured(void);
