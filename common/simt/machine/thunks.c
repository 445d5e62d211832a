/**
 * @file thunks.c
 * @brief Where kernel files' calls through a pointer go: the compiler calls a thunk, named for the register that holds the
 *        pointer, in place of the pointer itself.
 *
 * Here each goes on to where it points. A graded runner has thunks of its own (boundary/indirect.c), which the linker finds
 * first; so what a kernel file is compiled to is the same in both.
 */
#if defined(__x86_64__)
#define THUNK(name)                                                                                          \
    __asm__(".text\n.globl __x86_indirect_thunk_" #name "\n.type __x86_indirect_thunk_" #name                \
            ", @function\n__x86_indirect_thunk_" #name ":\n jmp *%" #name "\n");
THUNK(rax)
THUNK(rbx)
THUNK(rcx)
THUNK(rdx)
THUNK(rsi)
THUNK(rdi)
THUNK(rbp)
THUNK(r8)
THUNK(r9)
THUNK(r10)
THUNK(r11)
THUNK(r12)
THUNK(r13)
THUNK(r14)
THUNK(r15)
#else
typedef int simt_no_thunks_here; /* a file holds something */
#endif
