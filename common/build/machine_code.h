/**
 * @file machine_code.h
 * @brief What the machine code of an untrusted object file can do, proven instruction by instruction (x86-64).
 *
 * The texts of a kernel file can say one thing in many ways; its instructions say one. An object is accepted if of each
 * instruction that can be reached it is proven that
 *   - it is of a known kind, and makes no system call, changes no privilege and no segment;
 *   - control goes to an instruction of the object, to the beginning of a function, to a name that the object may call, or back;
 *   - it reads or writes the function's own frame, reads constants of the object or a variable of the thread's index, or touches
 *     bytes that the last call of the instrumentation (`__tsan_read4` and its like) has announced, in that direction.
 */
#ifndef WARPWISE_BUILD_MACHINE_CODE_H
#define WARPWISE_BUILD_MACHINE_CODE_H

#include <stddef.h>

/** @brief What was found. */
struct machine_code_finding {
    char *section;         /**< where the instruction stands */
    unsigned long address; /**< in that section */
    char *instruction;     /**< as the disassembler writes it */
    char *function;        /**< the symbol of its function */
    const char *message;   /**< "reads memory that no report of the compiler covers" */
};

/** @brief Reads what `objdump -d -r -z --no-show-raw-insn` printed of an object. @p constants are the names of the object's sections and
 *         symbols that nothing writes, each between two blanks.
 *  @return 1 if it may be linked; 0 with @p finding filled, whose texts the caller frees */
int machine_code_check(const char *disassembly, const char *constants, struct machine_code_finding *finding);

#endif
