/**
 * @file lock.h
 * @brief The runner's own system call filter (lock.c), which needs no device to be set or tried.
 */
#pragma once

/** @brief From now on this process starts no other process and no other program, opens no socket and,
 *         with @p files, makes, moves and removes no file, where the kernel can see to it. Called once the
 *         device is open: drivers may need all that until then. */
void lock_runner(int files);

/** @brief 1 once lock_runner() was called. */
int runner_is_locked(void);
