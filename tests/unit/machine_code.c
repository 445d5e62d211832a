/**
 * @file machine_code.c
 * @brief One right function in a disassembler's words; and for each rule of build/machine_code.h the same with one line changed, which must be refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "build/machine_code.h"

static const char right[] = "\n"
                            "k.o:     file format elf64-x86-64\n\n\n"
                            "Disassembly of section .text:\n\n"
                            "0000000000000000 <_Z5scalePf>:\n"
                            "       0:\tnop\n"
                            "       1:\tpush   %rbx\n"
                            "       2:\tsub    $0x20,%rsp\n"
                            "       3:\tcall   4 <_Z5scalePf+0x4>\n"
                            "\t\t\t4: R_X86_64_PLT32\t__tsan_func_entry-0x4\n"
                            "       6:\tmov    0x0(%rip),%rax        # d <_Z5scalePf+0xd>\n"
                            "\t\t\t9: R_X86_64_GOTTPOFF\tsimt_thread_index-0x4\n"
                            "       d:\tmov    %fs:(%rax),%eax\n"
                            "      10:\tlea    (%rdi,%rax,4),%rbx\n"
                            "      14:\tmov    %rbx,%rdi\n"
                            "      17:\tcall   1c <_Z5scalePf+0x1c>\n"
                            "\t\t\t18: R_X86_64_PLT32\t__tsan_read4-0x4\n"
                            "      1c:\tvmovss (%rbx),%xmm0\n"
                            "      20:\tvmovss %xmm0,0x8(%rsp)\n"
                            "      21:\tmov    %fs:0x0,%rcx\n"
                            "      22:\tlea    0x0(%rcx,%rbp,4),%rdi\n"
                            "\t\t\t23: R_X86_64_TPOFF32\t_ZZ5scalePfE4tile\n"
                            "      24:\tcall   26 <_Z5scalePf+0x26>\n"
                            "\t\t\t25: R_X86_64_PLT32\t__tsan_write4-0x4\n"
                            "      26:\tmov    %eax,%fs:0x0(,%rbp,4)\n"
                            "\t\t\t2a: R_X86_64_TPOFF32\t_ZZ5scalePfE4tile\n"
                            "      2b:\tmov    %rbx,0x18(%rsp)\n"
                            "      2c:\tmov    %rbx,%rdi\n"
                            "      2d:\tcall   2e <_Z5scalePf+0x2e>\n"
                            "\t\t\t2d: R_X86_64_PLT32\t__tsan_read4-0x4\n"
                            "      2e:\ttest   %eax,%eax\n"
                            "      31:\tjne    40 <_Z5scalePf+0x40>\n"
                            "      32:\tcall   60 <_ZL4helpv>\n"
                            "      37:\tcall   3c <_Z5scalePf+0x3c>\n"
                            "\t\t\t38: R_X86_64_PLT32\t__x86_indirect_thunk_rbx-0x4\n"
                            "      3c:\tlock cmpxchg %ecx,0x10(%rsp)\n"
                            "      40:\tcall   41 <_Z5scalePf+0x41>\n"
                            "\t\t\t41: R_X86_64_PLT32\t__tsan_func_exit-0x4\n"
                            "      41:\tadd    $0x20,%rsp\n"
                            "      44:\tpop    %rbx\n"
                            "      45:\tret\n"
                            "      46:\tcs nopw 0x0(%rax,%rax,1)\n\n"
                            "0000000000000060 <_ZL4helpv>:\n"
                            "      60:\tpush   %rbx\n"
                            "      62:\tmov    %rdi,%rbx\n"
                            "      63:\tmov    $0x10,%esi\n"
                            "      68:\tcall   6d <_ZL4helpv+0xd>\n"
                            "\t\t\t69: R_X86_64_PLT32\t__tsan_write_range-0x4\n"
                            "      6d:\tmov    %rbx,%rdi\n"
                            "      70:\tmov    $0x2,%ecx\n"
                            "      75:\trep stos %rax,%es:(%rdi)\n"
                            "      78:\tpop    %rbx\n"
                            "      79:\tret\n";

#define AFTER_THE_BRANCH                                                                                     \
    "      32:\tcall   60 <_ZL4helpv>\n"                                                                     \
    "      37:\tcall   3c <_Z5scalePf+0x3c>\n"                                                               \
    "\t\t\t38: R_X86_64_PLT32\t__x86_indirect_thunk_rbx-0x4\n"                                               \
    "      3c:\tlock cmpxchg %ecx,0x10(%rsp)\n"                                                              \
    "      40:\tcall   41 <_Z5scalePf+0x41>\n"                                                               \
    "\t\t\t41: R_X86_64_PLT32\t__tsan_func_exit-0x4\n"                                                       \
    "      41:\tadd    $0x20,%rsp\n"                                                                         \
    "      44:\tpop    %rbx\n"                                                                               \
    "      45:\tret\n"
/* Until it is known that the function returns, what its caller does with the stack behind the call must not reach the loop. */
#define A_LOOP_AFTER_A_CALL                                                                                  \
    "      32:\tadd    $0xffffffffffffff80,%rsp\n"                                                           \
    "      36:\tcall   60 <_ZL4helpv>\n"                                                                     \
    "      3b:\tsub    $0xffffffffffffff80,%rsp\n"                                                           \
    "      3e:\tjmp    40 <_Z5scalePf+0x40>\n"                                                               \
    "      40:\ttest   %eax,%eax\n"                                                                          \
    "      41:\tjne    40 <_Z5scalePf+0x40>\n"                                                               \
    "      42:\tcall   43 <_Z5scalePf+0x43>\n"                                                               \
    "\t\t\t43: R_X86_64_PLT32\t__tsan_func_exit-0x4\n"                                                       \
    "      43:\tadd    $0x20,%rsp\n"                                                                         \
    "      44:\tpop    %rbx\n"                                                                               \
    "      45:\tret\n"

#define CALLS(name) "      2f:\tcall   34 <_Z5scalePf+0x34>\n\t\t\t30: R_X86_64_PLT32\t" name "-0x4\n"

/* Words from the end of the stack on become zeros. */
#define FILLS(words)                                                                                         \
    "mov    $" words ",%ecx\n"                                                                               \
    "      2f:\tmov    %rsp,%rdi\n"                                                                          \
    "      2f:\trep stos %rax,%es:(%rdi)"

/* A register of the caller's is kept in the frame. */
#define KEEPS(where)                                                                                         \
    "mov    %r12," where "(%rsp)\n"                                                                          \
    "      2f:\tlea    0x8(%rsp),%rdi\n"                                                                     \
    "      2f:\tmov    $0x1,%r12d\n"                                                                         \
    "      2f:\tmov    " where "(%rsp),%r12"

/* Where the stack ends is kept in the frame, above and below a variable whose address is taken. */
#define KEEPS_THE_END(where)                                                                                 \
    "mov    %rsp,%rbx\n"                                                                                     \
    "      2f:\tmov    %rbx," where "(%rsp)\n"                                                               \
    "      2f:\tlea    0x10(%rsp),%rdi\n" CALLS("_ZL5otherv") "      2f:\tmov    " where "(%rsp),%rsp"

/* A report that was put before an access. */
#define OWN(kind, where, access) "lea    " where ",%r11\n" CALLS("simt_access_" kind) "      2f:\t" access

/* Two ways that meet, one of which reports. */
#define ON_ONE_WAY                                                                                           \
    "mov    %r12,%rdi\n      2e:\ttest   %eax,%eax\n      2e:\tje     2f <_Z5scalePf+0x2f>\n"                \
    "      2e:\tcall   2f <_Z5scalePf+0x2f>\n\t\t\t2e: R_X86_64_PLT32\t__tsan_read4-0x4\n"                   \
    "      2f:\tmov    (%r12),%edx"

/* On two ways a register gets another value, and a place in the frame that plus 16. */
#define ON_BOTH_WAYS(where)                                                                                  \
    "mov    %r12,%rbx\n      2e:\tlea    0x10(%r12),%rdx\n      2e:\tmov    %rdx,(%rsp)\n"                   \
    "      2e:\ttest   %eax,%eax\n      2e:\tje     2f <_Z5scalePf+0x2f>\n"                                  \
    "      2e:\tmov    %r14,%rbx\n      2e:\tlea    0x10(%r14),%rdx\n      2e:\tmov    %rdx,(%rsp)\n"        \
    "      2f:\tmov    (%rsp),%rdi\n      30:\tcall   31 <_Z5scalePf+0x31>\n"                                \
    "\t\t\t30: R_X86_64_PLT32\t__tsan_read4-0x4\n      30:\tmov    " where "(%rbx),%edx"

/* A pointer goes on from word to word, and is reported. */
#define IN_A_LOOP(then)                                                                                      \
    "mov    %r12,%rbx\n      2f:\tmov    %rbx,%rdi\n      30:\tcall   31 <_Z5scalePf+0x31>\n"                \
    "\t\t\t30: R_X86_64_PLT32\t__tsan_read4-0x4\n" then                                                      \
    "      30:\ttest   %edx,%edx\n      30:\tjne    2f <_Z5scalePf+0x2f>"
#define GOES_ON "      30:\tadd    $0x4,%rbx\n"
#define IS_READ "      30:\tmov    (%rbx),%edx\n"

/* A part of the text, what stands in its place, and what must be said of it; NULL: nothing, or where pointers may lead in the first function's
 * frame, from its stack's end. */
static const struct {
    const char *part, *instead, *says;
} cases[] = {
    {"nop\n", "nop\n", NULL},
    {"lea    (%rdi,%rax,4),%rbx", "vzeroupper", NULL},
    {AFTER_THE_BRANCH, A_LOOP_AFTER_A_CALL, NULL},
    {"lea    (%rdi,%rax,4),%rbx", "syscall", "of a kind"},
    {"lea    (%rdi,%rax,4),%rbx", "int    $0x80", "of a kind"},
    {"lea    (%rdi,%rax,4),%rbx", "wrpkru", "of a kind"},
    {"lea    (%rdi,%rax,4),%rbx", "wrfsbase %rax", "of a kind"},
    {"lea    (%rdi,%rax,4),%rbx", "std", "of a kind"},
    {"lea    (%rdi,%rax,4),%rbx", "xrstor (%rdi)", "of a kind"},
    {"lea    (%rdi,%rax,4),%rbx", "vgatherdps %ymm0,(%rax,%ymm1,4),%ymm2", "of a kind"},
    {"lea    (%rdi,%rax,4),%rbx", "mov    %gs:0x10,%rax", "of a kind"},
    {"lea    (%rdi,%rax,4),%rbx", "mov    %eax,%fs", "of a kind"},
    {"lea    (%rdi,%rax,4),%rbx", "(bad)", "of a kind"},
    {"rep stos", "repnz scas", "of a kind"},
    {"rep stos", "stos", "of a kind"},
    {"rep stos %rax,%es:(%rdi)", "rep movsq %fs:(%rsi),%es:(%rdi)", "of a kind"},
    {"vmovss (%rbx),%xmm0", "gs vmovss (%rbx),%xmm0", "a prefix"},
    {"cmpxchg %ecx,0x10(%rsp)", "mov    %ecx,0x10(%rsp)", "a prefix"},
    {"lock cmpxchg %ecx,0x10(%rsp)", "xchg   %ecx,0x10(%rsp)", NULL},
    {"lock cmpxchg %ecx,0x10(%rsp)", "lock orq $0x0,(%rsp)", NULL},
    {"lock cmpxchg %ecx,0x10(%rsp)", "xchg   %ecx,%edx", NULL},
    {"push   %rbx\n      62:\tmov ", "lock orq $0x0,(%rsp)\n      61:\tpush   %rbx\n      62:\tmov ", NULL},
    {"push   %rbx\n      62:\tmov ", "lock orq $0x1,(%rsp)\n      61:\tpush   %rbx\n      62:\tmov ",
     "touches the stack"},
    {"lock cmpxchg %ecx,0x10(%rsp)", "lock cmpxchg %ecx,(%rdx)", "an atomic access"},
    {"lock cmpxchg %ecx,0x10(%rsp)", "lock addl $0x3,(%rdi)", "an atomic access"},
    {"lock cmpxchg %ecx,0x10(%rsp)", "lock xadd %ecx,(%rdi,%rax,4)", "an atomic access"},
    {"lock cmpxchg %ecx,0x10(%rsp)", "xchg   %ecx,0x10(%rdi)", "an atomic access"},
    {"lock cmpxchg %ecx,0x10(%rsp)", "xchg   %ecx,%fs:(%rax)", "an atomic access"},
    {"mov    %eax,%fs:0x0(,%rbp,4)", "xchg   %eax,%fs:0x0(,%rbp,4)", "not told"}, /* of what it reads */
    {"__tsan_write4-0x4\n      26:\tmov ", "__tsan_read_write4-0x4\n      26:\txchg", NULL},
    {"jne    40 <_Z5scalePf+0x40>", "jmp    *%rax", "of a kind"},
    {"jne    40 <_Z5scalePf+0x40>", "jne    42 <_Z5scalePf+0x42>", "jumps to what is no instruction"},
    {"jne    40 <_Z5scalePf+0x40>", "jne    60 <_ZL4helpv>", "jumps into another function"},
    {"call   60 <_ZL4helpv>", "call   63 <_ZL4helpv+0x3>", "calls into the middle"},
    {"call   60 <_ZL4helpv>", "call   61 <_ZL4helpv+0x1>", "calls what is neither"},
    {"call   60 <_ZL4helpv>", "call   *0x8(%rax)", "of a kind"},
    {"0x8(%rsp)", "0x28(%rsp)", "outside of its function's frame"},
    {"0x8(%rsp)", "0x30(%rsp)", "changes arguments"},
    {"0x8(%rsp)", "0x30(%rsp,%rcx,4)", "not told"},
    {"rep stos %rax,%es:(%rdi)", "mov    %rax,0x10(%rsp)", "changes arguments"},
    {"rep stos %rax,%es:(%rdi)", "mov    %rax,0x30(%rsp)", "not as its caller left it"},
    {"rep stos %rax,%es:(%rdi)", "mov    %rax,0x48(%rsp)", "not as its caller left it"},
    {"lea    (%rdi,%rax,4),%rbx", "vmovss 0x30(%rsp),%xmm0", NULL},
    {"lea    (%rdi,%rax,4),%rbx", "vmovss 0x20030(%rsp),%xmm0", "outside of its function's frame"},
    {"0x8(%rsp)", "-0x88(%rsp)", "outside of its function's frame"},
    {"sub    $0x20,%rsp", "sub    %rdi,%rsp", "a length that is not constant"},
    {"sub    $0x20,%rsp",
     "sub    $0x20020,%rsp\n      14:\tmov    %rdi,0x8(%rsp)\n      14:\tadd    $0x20000,%rsp",
     "outside of its function's frame"},
    {"sub    $0x20,%rsp", "mov    %rdi,%rsp", "a length that is not constant"},
    {"sub    $0x20,%rsp", "and    $0xfffffffffffe0000,%rsp", "a length that is not constant"},
    {"add    $0x20,%rsp", "add    $0x18,%rsp", "not to where its function was called"},
    {"pop    %rbx\n", "pop    %rsp\n", "a length that is not constant"},
    {"45:\tret\n", "45:\tnop\n", "past the end of its function"},
    {"simt_thread_index", "simt_tls_watch", "not told"},
    {"mov    %fs:(%rax),%eax", "mov    %fs:0xc(%rax),%eax", "not told"},
    {"mov    %fs:(%rax),%eax", "mov    %fs:(%rax,%rdi,1),%eax", "not told"},
    {"mov    %fs:(%rax),%eax", "mov    %ecx,%fs:(%rax)", "not told"},
    {"mov    %fs:(%rax),%eax", "mov    %fs:(%rdi),%eax", "not told"},
    {"2a: R_X86_64_TPOFF32\t_ZZ5scalePfE4tile", "2a: R_X86_64_TPOFF32\tsimt_tls_watch", "not told"},
    {"__tsan_write4", "__tsan_read4", "not told"},
    {"__tsan_write4", "_ZL5otherv", "not told"},
    {"__tsan_write4", "__tsan_atomic_thread_fence", "not told"},
    {"__tsan_write4", "simt_atomic_begin", "not told"}, /* how many bytes */
    {"__tsan_write_range", "simt_update_begin", NULL},
    {"__tsan_write_range", "simt_store_begin", NULL},
    {"__tsan_write_range", "simt_load_begin", "not told"},
    {"__tsan_write_range", "simt_begin", "not told"},
    {"__tsan_write4", "__tsan_write_range", "not told"},
    {"__tsan_write4", "__tsan_unaligned_write4", NULL},
    {"__tsan_write4", "__tsan_volatile_write4", NULL},
    {"__tsan_write4", "__tsan_read_write4", NULL},
    {"__tsan_write4", "__tsan_write2", "not told"},
    {"vmovss (%rbx),%xmm0", "vmovss 0x1(%rbx),%xmm0", "not told"},
    {"vmovss (%rbx),%xmm0", "vmovsd (%rbx),%xmm0", "not told"},
    {"vmovss (%rbx),%xmm0", "vmovss %xmm0,(%rbx)", "not told"},
    {"vmovss (%rbx),%xmm0", "vmovss (%rdx),%xmm0", "not told"},
    {"vmovss (%rbx),%xmm0", "vmovss (%rbx,%rdx,1),%xmm0", "not told"},
    {"vmovss (%rbx),%xmm0", "inc    %rbx\n      1f:\tvmovss (%rbx),%xmm0", "not told"},
    {"vmovss (%rbx),%xmm0", "add    $0x8,%rbx\n      1f:\tvmovss -0x8(%rbx),%xmm0", NULL},
    {"0x0(,%rbp,4)", "0x0(,%rbp,8)", "not told"},
    {"0x0(,%rbp,4)", "0x0(,%r12,4)", "not told"},
    {"0x0(,%rbp,4)", "0x4(,%rbp,4)", NULL}, /* what counts is the relocation */
    {"2a: R_X86_64_TPOFF32\t_ZZ5scalePfE4tile", "2a: R_X86_64_TPOFF32\t_ZZ5scalePfE4tile+0x4", "not told"},
    {"2a: R_X86_64_TPOFF32\t_ZZ5scalePfE4tile", "2a: R_X86_64_32S\t_ZZ5scalePfE4tile", "not told"},
    {"test   %eax,%eax", "mov    (%rbx),%eax\n      2f:\tmov    (%rbx),%eax", NULL},
    {"test   %eax,%eax", "mov    0x18(%rsp),%rdx\n      2f:\tmov    (%rdx),%edx", NULL},
    {"test   %eax,%eax",
     "mov    %r12,0x18(%rsp)\n      2f:\tmov    0x18(%rsp),%rdx\n      2f:\tmov    (%rdx),%edx", "not told"},
    {"test   %eax,%eax",
     "lea    0x18(%rsp),%rdi\n" CALLS("_ZL5otherv") "      2f:\tmov    0x18(%rsp),%rdi\n" CALLS(
         "__tsan_read4") "      2f:\tmov    (%rbx),%edx",
     "not told"},
    {"test   %eax,%eax", "mov    0x18(%rsp),%rdi\n" CALLS("__tsan_read4") "      2f:\tmov    (%rbx),%edx",
     NULL},
    {"test   %eax,%eax", OWN("r4", "0x4(%rbx,%rcx,4)", "mov    0x4(%rbx,%rcx,4),%edx"), NULL},
    {"test   %eax,%eax", OWN("r4", "0x4(%rbx,%rcx,4)", "mov    0x8(%rbx,%rcx,4),%edx"), "not told"},
    {"test   %eax,%eax", OWN("r4", "0x4(%rbx,%rcx,4)", "mov    %edx,0x4(%rbx,%rcx,4)"), "not told"},
    {"test   %eax,%eax", OWN("w4", "0x4(%rbx,%rcx,4)", "addl   $0x1,0x4(%rbx,%rcx,4)"), "not told"},
    {"test   %eax,%eax", OWN("rw4", "0x4(%rbx,%rcx,4)", "addl   $0x1,0x4(%rbx,%rcx,4)"), NULL},
    {"test   %eax,%eax", OWN("r64", "(%rbx)", "mov    0x8(%rbx),%rdx"), "not told"},
    {"test   %eax,%eax", OWN("r16", "(%rbx)", "vpslld (%rbx),%ymm1,%ymm0"), NULL},
    {"test   %eax,%eax", OWN("r16", "(%rbx)", "vpsllvd (%rbx),%ymm1,%ymm0"), "not told"},
    {"test   %eax,%eax", OWN("volatile", "(%rbx)", "mov    0x8(%rbx),%rdx"), "not told"},
    {"test   %eax,%eax", OWN("r4", "(%rsp,%rax,4)", "mov    (%rsp,%rax,4),%eax"), "open 0 to 32"},
    {"test   %eax,%eax", "mov    (%rsp,%rax,4),%eax", "not told"},
    {"test   %eax,%eax", "mov    0x0(%rip),%eax\n\t\t\t2e: R_X86_64_PC32\t.rodata+0x8", NULL},
    {"test   %eax,%eax", "mov    0x0(%rip),%eax\n\t\t\t2e: R_X86_64_PC32\t.rodata+0xc", "not told"},
    {"test   %eax,%eax", "mov    0x0(%rip),%eax\n\t\t\t2e: R_X86_64_PC32\t.data", "not told"},
    {"test   %eax,%eax", "mov    %eax,0x0(%rip)\n\t\t\t2e: R_X86_64_PC32\t.rodata", "not told"},
    {"test   %eax,%eax", "mov    0x0(,%rax,4),%eax\n\t\t\t2e: R_X86_64_32S\t.rodata", "not told"},
    {"test   %eax,%eax", ON_ONE_WAY, "not told"},
    {"test   %eax,%eax", ON_BOTH_WAYS("0x10"), NULL},
    {"test   %eax,%eax", ON_BOTH_WAYS("0x14"), "not told"},
    {"test   %eax,%eax", IN_A_LOOP(GOES_ON IS_READ), "not told"},
    {"test   %eax,%eax", IN_A_LOOP(IS_READ GOES_ON), NULL},
    {"test   %eax,%eax", "mov    %fs:0x0,%rdx\n      2f:\tmov    0x8(%rdx),%rdx", "not told"},
    {"mov    $0x2,%ecx", "mov    $0x3,%ecx", "not told"},
    {"mov    $0x2,%ecx", "mov    %eax,%ecx", "nothing tells"},
    {"mov    $0x10,%esi", "mov    $0x8,%esi", "not told"},
    {"test   %eax,%eax", "mov    %rsp,%rdi\n      2f:\trep stos %rax,%es:(%rdi)", "nothing tells"},
    {"test   %eax,%eax", "bt     %rax,(%rbx)", "of a kind"},
    {"test   %eax,%eax", "add    $0x8,%rbp", "not as its caller left it"},
    {"pop    %rbx\n", "pop    %rbp\n", "not as its caller left it"},
    {"mov    %fs:(%rax),%eax", "mov    %eax,%r12d", "not as its caller left it"},
    {"nop\n", "nop\n", "open 40 to 40"},
    {"test   %eax,%eax", "lea    0x8(%rsp),%rdi", "open 8 to 32"},
    {"test   %eax,%eax", "lea    0x8(%rsp,%rcx,4),%rdi", "open 8 to 32"},
    {"test   %eax,%eax", "mov    %rsp,%rdi", "open 0 to 32"},
    {"test   %eax,%eax", "lea    -0x50(%rsp),%rdi", "open 40 to 40"},
    {"test   %eax,%eax", KEEPS("0x10"), "open 8 to 16"},
    {"test   %eax,%eax", KEEPS("0x0"), "open 8 to 32"},
    {"test   %eax,%eax", KEEPS_THE_END("0x18"), "a length that is not constant"},
    {"__tsan_func_exit", "__tsan_func_entry", "once too often"},
    {"__tsan_func_entry", "__tsan_func_exit", "once too often"},
    {"__tsan_func_exit", "_ZL5otherv", "has not said"},
    {"jne    40 <_Z5scalePf+0x40>", "jne    41 <_Z5scalePf+0x41>", "has not said"},
    {"__tsan_func_entry", "_Z6secondv", "calls into the middle of a function"},
    {"__tsan_func_entry", "_Z7nowherev", "neither a function of the file nor one"},
    {"test   %eax,%eax", FILLS("0x4"), NULL},
    {"test   %eax,%eax", FILLS("0x5"), "not as its caller left it"},
    {"test   %eax,%eax", FILLS("0x6"), "outside of its function's frame"},
};

static struct machine_code_constant constants[] = {{".rodata", 16}};
static struct machine_code_symbol symbols[] = {{"_Z6secondv", ".text", 1}, {"_Z7nowherev", ".text", 0x5000}};
static const struct machine_code_tables tables = {constants, symbols, 1, 2};

static char *changed(const char *part, const char *instead)
{
    const char *at = strstr(right, part);
    return at != NULL ? format_string("%.*s%s%s", (int)(at - right), right, instead, at + strlen(part))
                      : NULL;
}

int main(void)
{
    int failures = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct machine_code_finding finding;
        struct machine_code_frames frames = {0};
        char *text = changed(cases[i].part, cases[i].instead), *open = NULL;
        const char *said = "not in the text", *wanted = cases[i].says;
        if (text && machine_code_check(text, &tables, &frames, NULL, &finding)) {
            const struct machine_code_frame *first = frames.frame;
            const int changes = frames.count == 2 && frames.frame[1].high < frames.frame[1].low;
            open = first->address == 6 ? format_string("open %d to %d%s", (int)first->low, (int)first->high,
                                                       changes ? ", changes arguments" : "")
                                       : copy_string("taken, and not told where pointers lead");
            said = open;
        } else if (text) {
            said = finding.message;
        }
        const int is_as_wanted = said && strstr(said, wanted ? wanted : "open ");
        if (!is_as_wanted) printf("FAIL %s: %s\n", cases[i].instead, said);
        free(open);
        free(text);
        machine_code_free(&frames);
        if (is_as_wanted) continue;
        failures++;
    }
    return failures != 0;
}
