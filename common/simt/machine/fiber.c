/**
 * @file fiber.c
 * @brief Switching between stacks: what a thread of the device is made of.
 *
 * A context is a stack pointer; everything a function call must preserve lies on the stack above it. The
 * assembly switch takes some 10 ns; ucontext, the fallback for other processors (or with
 * SIMT_FIBER_UCONTEXT, to test it), some 200 ns, as it makes a system call for the signal mask.
 */
#include "fiber.h"
#include "machine.h"
#include "sizes.h"

#include <string.h>

#if defined(__x86_64__) && !defined(SIMT_FIBER_UCONTEXT)

__asm__(".text\n"
        ".globl simt_fiber_switch\n"
        ".type simt_fiber_switch, @function\n"
        "simt_fiber_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size simt_fiber_switch, . - simt_fiber_switch\n");

void *simt_fiber_prepare(void *top, void (*function)(void))
{
    /* Six registers, the address to return to, and a zero for whoever walks the stack. A function expects its
     * stack pointer at 8 modulo 16, as if it had been called. */
    uintptr_t *sp = (uintptr_t *)((uintptr_t)top & ~(uintptr_t)15) - 8;
    memset(sp, 0, 8 * sizeof *sp);
    sp[6] = (uintptr_t)function;
    return sp;
}

#elif defined(__aarch64__) && !defined(SIMT_FIBER_UCONTEXT)

__asm__(".text\n"
        ".globl simt_fiber_switch\n"
        ".type simt_fiber_switch, %function\n"
        "simt_fiber_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size simt_fiber_switch, . - simt_fiber_switch\n");

void *simt_fiber_prepare(void *top, void (*function)(void))
{
    uintptr_t *sp = (uintptr_t *)((uintptr_t)top & ~(uintptr_t)15) - 20;
    memset(sp, 0, 20 * sizeof *sp);
    sp[11] = (uintptr_t)function; /* x30, the address to return to */
    return sp;
}

#else

#include <ucontext.h>

void simt_fiber_switch(void **save, void *load)
{
    ucontext_t here; /* lives as long as this stack is suspended here */
    *save = &here;
    swapcontext(&here, load);
}

void *simt_fiber_prepare(void *top, void (*function)(void))
{
    ucontext_t *context = (ucontext_t *)((uintptr_t)top & ~(uintptr_t)63) - 1;
    char *stack = (char *)context - (STACK_BYTES - (8 << 10));
    getcontext(context);
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = (size_t)((char *)context - stack) & ~(size_t)63;
    context->uc_link = NULL;
    makecontext(context, function, 0);
    return context;
}

#endif

#if defined(__x86_64__)
/* From its caller's frame down to the lowest address: its own return address, which lies there, it keeps in a register. */
__asm__(".text\n"
        ".globl simt_fiber_spoil\n"
        ".type simt_fiber_spoil, @function\n"
        "simt_fiber_spoil:\n"
        "    popq %rdx\n"
        "    movq %rsp, %rcx\n"
        "    pcmpeqd %xmm0, %xmm0\n"
        "1:  subq $16, %rcx\n"
        "    movups %xmm0, (%rcx)\n"
        "    cmpq %rdi, %rcx\n"
        "    ja 1b\n"
        "    jmp *%rdx\n"
        ".size simt_fiber_spoil, . - simt_fiber_spoil\n");
#else
void simt_fiber_spoil(uintptr_t low)
{
    (void)low;
}
#endif
