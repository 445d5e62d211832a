/**
 * @file check.h
 * @brief Every access: whether it is allowed, and what has to be kept of it.
 */
#pragma once

#include "worker.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void simt_check(const void *pointer, size_t bytes, int access, bool aligned, const void *pc);
/** @brief An access that the compiler did not report (own_reports.c). */
void simt_access_own(const void *pointer, size_t bytes, int access, const void *pc);
/** @brief Ends the block at an access that lies outside of the object from which the compiler saw it computed. */
void simt_check_beyond(struct worker *w, uintptr_t address, int access, const void *pc)
    __attribute__((noreturn));
/** @brief Ends the block at an access that hardware would refuse. */
void simt_refuse(struct worker *w, enum record_kind kind, uintptr_t address, size_t bytes, int access,
                 const void *pc, enum record_advice advice) __attribute__((noreturn));
/** @brief The same, and the block goes on. */
void simt_found_access(struct worker *w, enum record_kind kind, uintptr_t address, size_t bytes, int access,
                       const void *pc, enum record_advice advice);
