/**
 * @file object_check.h
 * @brief What an untrusted object file defines and asks for, read by a small ELF reader of our own.
 *
 * A linker does not stop an object that defines malloc or brings a constructor. So before it is linked, an
 * object may define the contract's functions and things of its own that no other object can see or mistake
 * for its own (C++ names), may call the functions on a list, and may not contain code that runs by itself,
 * except what the compiler itself puts there.
 */
#pragma once

#include "course/command.h"
#include "course/device.h"

/** @brief What to check an object against. */
struct object_rules {
    enum device device;
    int is_own;           /**< a student's own check: compiled with exceptions, as the compiler has them */
    const char *contract; /**< text of the lesson's header: the functions it names may be defined */
    /** text of the device's headers: the device's functions that they name may be called */
    const char *device_headers;
};

/** @brief 1 if @p name is a function of C's mathematics. */
int object_is_mathematics(const char *name);

/** @brief 1 if a kernel file may call or use @p name of others, which gets a gate for it. */
int object_has_gate(const char *name);
/** @brief 1 if a kernel file may call or use @p name of others as it is: BOUNDARY_FREE. */
int object_needs_no_gate(const char *name);

/** @brief What was found. */
struct object_finding {
    char *symbol;  /**< the symbol as the source spells it: "malloc"; NULL if the sentence has no symbol */
    char *message; /**< "defines malloc, which …" */
};

/**
 * @brief Checks the object file at @p path, which must be a plain file.
 * @return 1 if it may be linked; 0 with @p finding filled
 */
int object_check(const char *path, const struct object_rules *rules, struct object_finding *finding);
