/**
 * @file own_reports.c
 * @brief Reports of accesses that the compiler reports to nobody: elements of local arrays, bit fields, parts of complex numbers, ...
 *
 * Where a kernel file is compiled to be graded, `call simt_access_r4` is put before such an instruction (build/assembly_reports.c),
 * with the address in r11. The compiler does not know of these calls: they change no register and no flag. Most
 * addresses are local, and over after a few comparisons.
 */
#include "check.h"
#include "machine.h"
#include "worker.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
enum { OWN_READS = 1 << 8, OWN_WRITES = 2 << 8 };

extern bool simt_own_wide_vectors; /**< whether the processor has registers of 32 bytes */
bool simt_own_wide_vectors;

__attribute__((constructor)) static void look_at_processor(void)
{
    __builtin_cpu_init();
    simt_own_wide_vectors = __builtin_cpu_supports("avx");
}

void simt_own_report(const void *address, unsigned how, const void *pc);
void simt_own_report(const void *address, unsigned how, const void *pc)
{
    if (how & OWN_READS) simt_access_own(address, how & 0xff, SIMT_READ, pc);
    if (how & OWN_WRITES) simt_access_own(address, how & 0xff, SIMT_WRITE, pc);
}

/* From the stack's end: rcx, flags, rax, the caller. In ecx what is to be reported. */
__asm__(".text\n"
        ".type simt_own_seldom, @function\n"
        "simt_own_seldom:\n"
        "    pushq %rdx\n    pushq %rsi\n    pushq %rdi\n    pushq %r8\n    pushq %r9\n    pushq %r10\n"
        "    pushq %r11\n    pushq %rbp\n"
        "    movq %rsp, %rbp\n"
        "    subq $512, %rsp\n"
        "    andq $-64, %rsp\n"
        "    cmpb $0, simt_own_wide_vectors(%rip)\n"
        "    je 1f\n"
#define EACH(op, bytes)                                                                                      \
    op(0, bytes) op(1, bytes) op(2, bytes) op(3, bytes) op(4, bytes) op(5, bytes) op(6, bytes) op(7, bytes)  \
        op(8, bytes) op(9, bytes) op(10, bytes) op(11, bytes) op(12, bytes) op(13, bytes) op(14, bytes)      \
            op(15, bytes)
#define KEEP_WIDE(n, bytes) "    vmovups %ymm" #n ", " #n "*" #bytes "(%rsp)\n"
#define KEEP(n, bytes) "    movups %xmm" #n ", " #n "*" #bytes "(%rsp)\n"
#define GIVE_WIDE(n, bytes) "    vmovups " #n "*" #bytes "(%rsp), %ymm" #n "\n"
#define GIVE(n, bytes) "    movups " #n "*" #bytes "(%rsp), %xmm" #n "\n"
        EACH(KEEP_WIDE,
             32) "    jmp 2f\n"
                 "1:\n" EACH(
                     KEEP, 32) "2:\n"
                               "    movq %r11, %rdi\n"
                               "    movl %ecx, %esi\n"
                               "    movq 88(%rbp), %rdx\n"
                               "    cld\n"
                               "    call simt_own_report\n"
                               "    cmpb $0, simt_own_wide_vectors(%rip)\n"
                               "    je 3f\n" EACH(
                                   GIVE_WIDE,
                                   32) "    jmp 4f\n"
                                       "3:\n" EACH(
                                           GIVE,
                                           32) "4:\n"
                                               "    movq %rbp, %rsp\n"
                                               "    popq %rbp\n    popq %r11\n    popq %r10\n    popq %r9\n  "
                                               "  popq %r8\n    popq %rdi\n    popq %rsi\n"
                                               "    popq %rdx\n"
                                               "    jmp simt_own_over\n"
                                               ".size simt_own_seldom, . - simt_own_seldom\n"
                                               ".type simt_own_over, @function\n"
                                               "simt_own_over:\n"
                                               "    popq %rcx\n"
                                               "    popq %rax\n"
                                               "    addb $127, %al\n" /* the overflow flag; then the others */
                                               "    sahf\n"
                                               "    popq %rax\n"
                                               "    ret\n"
                                               ".size simt_own_over, . - simt_own_over\n");

/* An own report of one kind: begins with what is local and open, whose first byte and length are at @p start and @p room of the worker. */
#define OWN_REPORT(kind, size, how, start, room)                                                             \
    void simt_access_##kind##size(void);                                                                     \
    __attribute__((naked)) void simt_access_##kind##size(void)                                               \
    {                                                                                                        \
        __asm__ volatile("pushq %%rax\n lahf\n seto %%al\n pushq %%rax\n pushq %%rcx\n"                      \
                         "movq %%fs:simt_tls_watch@tpoff, %%rax\n"                                           \
                         "testq %%rax, %%rax\n je simt_own_over\n"                                           \
                         "movq %c1(%%rax), %%rcx\n subq %2, %%rcx\n jb 1f\n"                                 \
                         "movq %c0(%%rax), %%rax\n subq %%r11, %%rax\n negq %%rax\n"                         \
                         "cmpq %%rcx, %%rax\n jbe simt_own_over\n"                                           \
                         "1: movl %3, %%ecx\n jmp simt_own_seldom\n" ::"i"(offsetof(struct worker, start)),  \
                         "i"(offsetof(struct worker, room)), "i"(size), "i"((how) | (size)));                \
    }
#define OWN_REPORTS(size)                                                                                    \
    OWN_REPORT(r, size, OWN_READS, local.base, local.bytes)                                                  \
    OWN_REPORT(w, size, OWN_WRITES, local.open, local.open_bytes)                                            \
    OWN_REPORT(rw, size, OWN_READS | OWN_WRITES, local.open, local.open_bytes)
OWN_REPORTS(1)
OWN_REPORTS(2)
OWN_REPORTS(4)
OWN_REPORTS(8)
OWN_REPORTS(16)
OWN_REPORTS(32)
#endif
