/**
 * @file library.c
 * @brief Gates of the C library. Host code calls it as usual. A kernel may not call the host's functions; if
 *        a function writes or reads through a pointer, that is checked first like any other access.
 */
#include <math.h>
#include <string.h>

#include "host.h"
#include "machine.h"
#include "simt/findings.h"

#define SITE __builtin_return_address(0)

/* ---- functions of the host's: whatever their parameters, they are handed on as they came -------------- */

/* In a kernel boundary_not_in_kernel(name, return address) does not return. The code around it saves the
 * registers that hold arguments. */
#if defined(__x86_64__)
#define HAND_ON_AS(name, what, ...)                                                                          \
    __asm__(                                                                                                 \
        ".pushsection .rodata\n1: .asciz \"" what "\"\n.popsection\n"                                        \
        ".globl gate_" #name "\n.type gate_" #name ", @function\ngate_" #name ":\n"                          \
        "push %rdi\n push %rsi\n push %rdx\n push %rcx\n push %r8\n push %r9\n push %rax\n"                  \
        "sub $128, %rsp\n"                                                                                   \
        "movups %xmm0, (%rsp)\n movups %xmm1, 16(%rsp)\n movups %xmm2, 32(%rsp)\n movups %xmm3, 48(%rsp)\n"  \
        "movups %xmm4, 64(%rsp)\n movups %xmm5, 80(%rsp)\n movups %xmm6, 96(%rsp)\n movups %xmm7, "          \
        "112(%rsp)\n"                                                                                        \
        "lea 1b(%rip), %rdi\n mov 184(%rsp), %rsi\n call boundary_not_in_kernel\n"                           \
        "movups (%rsp), %xmm0\n movups 16(%rsp), %xmm1\n movups 32(%rsp), %xmm2\n movups 48(%rsp), %xmm3\n"  \
        "movups 64(%rsp), %xmm4\n movups 80(%rsp), %xmm5\n movups 96(%rsp), %xmm6\n movups 112(%rsp), "      \
        "%xmm7\n"                                                                                            \
        "add $128, %rsp\n"                                                                                   \
        "pop %rax\n pop %r9\n pop %r8\n pop %rcx\n pop %rdx\n pop %rsi\n pop %rdi\n"                         \
        "jmp " #name "@PLT\n");
#elif defined(__aarch64__)
#define HAND_ON_AS(name, what, ...)                                                                          \
    __asm__(                                                                                                 \
        ".pushsection .rodata\n1: .asciz \"" what "\"\n.popsection\n"                                        \
        ".globl gate_" #name "\n.type gate_" #name ", %function\ngate_" #name ":\n"                          \
        "stp x0, x1, [sp, #-208]!\n stp x2, x3, [sp, #16]\n stp x4, x5, [sp, #32]\n stp x6, x7, [sp, #48]\n" \
        "stp x8, x30, [sp, #64]\n stp q0, q1, [sp, #80]\n stp q2, q3, [sp, #112]\n stp q4, q5, [sp, #144]\n" \
        "stp q6, q7, [sp, #176]\n"                                                                           \
        "adrp x0, 1b\n add x0, x0, :lo12:1b\n mov x1, x30\n bl boundary_not_in_kernel\n"                     \
        "ldp q6, q7, [sp, #176]\n ldp q4, q5, [sp, #144]\n ldp q2, q3, [sp, #112]\n ldp q0, q1, [sp, #80]\n" \
        "ldp x8, x30, [sp, #64]\n ldp x6, x7, [sp, #48]\n ldp x4, x5, [sp, #32]\n ldp x2, x3, [sp, #16]\n"   \
        "ldp x0, x1, [sp], #208\n b " #name "\n");
#endif

#define HAND_ON(name) HAND_ON_AS(name, #name)
BOUNDARY_LIBRARY(HAND_ON)
BOUNDARY_HOST(HAND_ON_AS)

/* ---- functions of the device that are told where they are called --------------------------------------- */

/* Their first parameter is replaced by what simt_constant_site() says of it. */
#if defined(__x86_64__)
#define CHECK_PLACE(name)                                                                                    \
    __asm__(".globl gate_" #name "\n.type gate_" #name ", @function\ngate_" #name ":\n"                      \
            "push %rsi\n push %rdx\n push %rcx\n push %r8\n push %r9\n"                                      \
            "call simt_constant_site\n mov %rax, %rdi\n"                                                     \
            "pop %r9\n pop %r8\n pop %rcx\n pop %rdx\n pop %rsi\n"                                           \
            "jmp " #name "@PLT\n");
#elif defined(__aarch64__)
#define CHECK_PLACE(name)                                                                                    \
    __asm__(".globl gate_" #name "\n.type gate_" #name ", %function\ngate_" #name ":\n"                      \
            "stp x1, x2, [sp, #-64]!\n stp x3, x4, [sp, #16]\n stp x5, x6, [sp, #32]\n"                      \
            "stp x7, x30, [sp, #48]\n bl simt_constant_site\n ldp x7, x30, [sp, #48]\n"                      \
            "ldp x5, x6, [sp, #32]\n ldp x3, x4, [sp, #16]\n ldp x1, x2, [sp], #64\n b " #name "\n");
#endif
BOUNDARY_PLACED(CHECK_PLACE)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* ---- second results ------------------------------------------------------------------------------------ */

static void sees_write(const void *address, size_t bytes, const void *site)
{
    if (simt_self() != NULL)
        simt_access(address, bytes, SIMT_WRITE, site);
    else
        simt_host_access(address, bytes, SIMT_WRITE, site);
}

#define TWO_RESULTS(name, type, second)                                                                      \
    type gate_##name(type x, second *result)                                                                 \
    {                                                                                                        \
        second value;                                                                                        \
        const type y = name(x, &value);                                                                      \
        sees_write(result, sizeof *result, SITE);                                                            \
        *result = value;                                                                                     \
        return y;                                                                                            \
    }
TWO_RESULTS(frexp, double, int)
TWO_RESULTS(frexpf, float, int)
TWO_RESULTS(modf, double, double)
TWO_RESULTS(modff, float, float)

#define REMAINDER(name, type)                                                                                \
    type gate_##name(type x, type y, int *quotient)                                                          \
    {                                                                                                        \
        int value;                                                                                           \
        const type left = name(x, y, &value);                                                                \
        sees_write(quotient, sizeof *quotient, SITE);                                                        \
        *quotient = value;                                                                                   \
        return left;                                                                                         \
    }
REMAINDER(remquo, double)
REMAINDER(remquof, float)

#define SINE_AND_COSINE(name, type)                                                                          \
    void gate_##name(type x, type *sine, type *cosine)                                                       \
    {                                                                                                        \
        type s, c;                                                                                           \
        name(x, &s, &c);                                                                                     \
        sees_write(sine, sizeof *sine, SITE);                                                                \
        *sine = s;                                                                                           \
        sees_write(cosine, sizeof *cosine, SITE);                                                            \
        *cosine = c;                                                                                         \
    }
SINE_AND_COSINE(sincos, double)
SINE_AND_COSINE(sincosf, float)

/* signgam is a variable of the C library. */
double gate_lgamma(double x)
{
    int sign;
    return simt_self() != NULL ? lgamma_r(x, &sign) : lgamma(x);
}

float gate_lgammaf(float x)
{
    int sign;
    return simt_self() != NULL ? lgammaf_r(x, &sign) : lgammaf(x);
}

/* ---- copies that the compiler makes of its own accord -------------------------------------------------- */

/* Checks a copy of a struct: either the compiler has reported it, or it is local memory, or it is an access like any other. Calls
 * in the file itself became simt_memcpy. */
static void must_reach(const void *address, size_t bytes, int access, const void *site)
{
    if (bytes == 0 || simt_self() == NULL) return;
    if (!simt_reaches(address, bytes, access))
        simt_refuse_access(RECORD_OUT_OF_BOUNDS, address, bytes, access, RECORD_ADVICE_COMPILER_COPY, site);
    if (!simt_struct_is_reported(address, bytes, access) && !simt_is_own_stack(address, bytes))
        simt_access(address, bytes, access, site);
}

void *gate_memcpy(void *to, const void *from, size_t bytes)
{
    must_reach(from, bytes, SIMT_READ, SITE);
    must_reach(to, bytes, SIMT_WRITE, SITE);
    return memcpy(to, from, bytes);
}

void *gate_memmove(void *to, const void *from, size_t bytes)
{
    must_reach(from, bytes, SIMT_READ, SITE);
    must_reach(to, bytes, SIMT_WRITE, SITE);
    return memmove(to, from, bytes);
}

void *gate_memset(void *to, int value, size_t bytes)
{
    must_reach(to, bytes, SIMT_WRITE, SITE);
    return memset(to, value, bytes);
}

/* The text goes into the bits of the NaN, which nobody may rely on. */
double gate_nan(const char *text)
{
    (void)text;
    return (double)NAN;
}

float gate_nanf(const char *text)
{
    (void)text;
    return NAN;
}

#pragma GCC diagnostic pop
