/**
 * @file machine_code.h
 * @brief What the machine code of an untrusted object file may be (x86-64).
 *
 * A text can say one thing in many ways; an instruction says one. An object is accepted if
 *   - each instruction is of a known kind, whose operands are registers, numbers and memory: no system call, nothing that asks for a
 *     privilege, changes a segment or reaches memory by many addresses at once;
 *   - a jump leads to an instruction of the same function; a call to the beginning of a function of the file, or to a name; neither goes
 *     by a register or by memory;
 *   - the stack's end is known everywhere, and nothing below it is touched; what lies a constant distance from it is within the function's
 *     frame, or an argument on the stack, and the return address is not written; arguments that a function changes are its caller's to give;
 *     a function returns to where it was called, with its caller's registers, and does not run on past its end;
 *   - a function that reports its beginning to the device reports its end, once; a part of its frame holds what it takes addresses of,
 *     and neither what its caller wants back nor where the stack was;
 *   - what is atomic changes the function's own frame only: the compiler makes calls to the device of all other atomics;
 *   - each load and store is
 *       1. at a constant distance in the frame, as above; or a read at a constant distance within one of the file's constants, of one of the
 *          thread's four indices, of where its thread-local variables end, or of the linker's table of addresses; or
 *       2. of bytes that were reported to the device, as such a load or store, since the last call of anything but a report. Which bytes those
 *          are is a matter of values: an address is a sum of what has a name (code_values.h), and registers, and places of the frame
 *          where no pointer leads, keep what they hold over jumps and calls.
 * What 2 does not prove can be listed, for reports to be put there (assembly_reports.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** @brief What was found. */
struct machine_code_finding {
    char *section;         /**< where the instruction stands; NULL if the text cannot be read */
    unsigned long address; /**< in that section */
    char *instruction;     /**< as the disassembler writes it */
    char *function;        /**< the symbol of its function */
    const char *message;   /**< "is of a kind that no kernel file needs" */
};

/** @brief Of a function that reports its beginning: where in its frame pointers may lead. The rest, its return address among it, is read and
 *         written at constant distances alone. */
struct machine_code_frame {
    char *section;
    unsigned long address; /**< to which that report returns */
    int64_t low,
        high; /**< from the stack's end there; 0 and -1: at the address begins a function that changes arguments on the stack; low below 0:
                   as far below the ends that are reported functions write */
};

struct machine_code_frames {
    struct machine_code_frame *frame;
    size_t count;
};

/** @brief A constant of the file, or a section of such: nobody writes it. */
struct machine_code_constant {
    const char *name;
    uint64_t bytes;
};

/** @brief A name of a place in the object's code. One place may have several names, of which a disassembler prints one. */
struct machine_code_symbol {
    const char *name, *section;
    unsigned long address;
};

/** @brief What an object's tables say. */
struct machine_code_tables {
    struct machine_code_constant *constant;
    struct machine_code_symbol *symbol;
    size_t constant_count, symbol_count;
};

/** @brief An instruction that touches memory without a report before it. */
struct machine_code_access {
    char *section;
    unsigned long address;
    int64_t bytes[2]; /**< that it reads, writes */
};

struct machine_code_accesses {
    struct machine_code_access *access;
    size_t count, capacity;
};

/** @brief Reads what `objdump -d -r -z --no-show-raw-insn` printed of an object. @p unproven: NULL; or a list, to which the accesses are added
 *         that no report stands before, instead of a finding.
 *  @return 1 if it may be linked, with @p frames filled, which the caller frees; 0 with @p finding filled, whose texts the caller frees */
int machine_code_check(const char *disassembly, const struct machine_code_tables *tables,
                       struct machine_code_frames *frames, struct machine_code_accesses *unproven,
                       struct machine_code_finding *finding);

/** @brief How many bytes a function of this name reports for an access that the compiler reports to nobody ("simt_access_r4"); 0 if it is none. */
int machine_code_report(const char *name);
void machine_code_free(struct machine_code_frames *frames);
void machine_code_free_accesses(struct machine_code_accesses *list);
