/**
 * @file object_gates.h
 * @brief Renames symbols in a student's object file, see object_gates.c.
 */
#pragma once

/** @brief Writes object file @p from, which object_check() has accepted, to @p to with its symbols
 *         renamed; 0 if that fails. */
int object_add_gates(const char *from, const char *to);
