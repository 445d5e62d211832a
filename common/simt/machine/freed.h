/**
 * @file freed.h
 * @brief Host memory that is watched: whether the program has freed it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** @brief How host memory is no longer what it was. */
enum simt_loss { SIMT_LOSS_NONE, SIMT_LOSS_FREED, SIMT_LOSS_MOVED };

struct simt_watched;
/** @brief From now on free() and realloc() are looked at for memory of [@p start, @p start + @p bytes); NULL if memory is out. */
struct simt_watched *simt_freed_watch(uintptr_t start, size_t bytes);
void simt_freed_forget(struct simt_watched *watched);
enum simt_loss simt_freed_loss(const struct simt_watched *watched);
