/**
 * @file indirect.c
 * @brief Calls through a pointer in a submission's code: in the device process, that is in kernels, they lead to functions of
 *        the submission's own file and nowhere else.
 *
 * Host code could hand its kernel the address of any function of this program or of the C library; called
 * there, it would run beside the device's own data, and no access of it is checked. So the compiler calls a
 * thunk in place of each pointer (simt/machine/thunks.c), and the thunk asks here first. The list of
 * functions is made before any of the submission's code runs, and is read-only. A function of the
 * submission's may be called as one of another type: so none that changes arguments on the stack is called in this way.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "boundary.h"
#include "calls.h"
#include "host.h"
#include "machine.h"
#include "simt/findings.h"
#include "message.h"

static const uintptr_t *functions;
static size_t function_count;

static int by_address(const void *one, const void *other)
{
    const uintptr_t a = *(const uintptr_t *)one, b = *(const uintptr_t *)other;
    return (a > b) - (a < b);
}

int boundary_learn_functions(void)
{
    /* The submission is the only C++ code of the program; what it declares extern "C" has been renamed. */
    const size_t own = simt_functions_called("_Z", NULL, 0),
                 count = own + simt_functions_called(BOUNDARY_STUDENT, NULL, 0);
    const size_t bytes = (count + 1) * sizeof *functions;
    uintptr_t *list = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED) return -1;
    simt_functions_called("_Z", list, own);
    simt_functions_called(BOUNDARY_STUDENT, list + own, count - own);
    function_count = count;
    qsort(list, function_count, sizeof *list, by_address);
    functions = list;
    return mprotect(list, bytes, PROT_READ);
}

#if defined(__x86_64__)
static int is_programs(uintptr_t target)
{
    size_t low = 0, high = function_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (functions[middle] == target) return 1;
        if (functions[middle] < target)
            low = middle + 1;
        else
            high = middle;
    }
    return simt_is_kernel((const void *)target);
}

/* Returns if the call is allowed. The host process may call anything: it has nothing to protect. */
void boundary_judge_call(uintptr_t target, const void *site);
void boundary_judge_call(uintptr_t target, const void *site)
{
    static __thread struct simt_site place;
    const int known = boundary_host != 0 && is_programs(target),
              changes = known && simt_changes_arguments(target);
    if (boundary_host == 0 || (known && !changes)) return;
    if (simt_self() == NULL) abort(); /* the submission's code runs in this process only as kernels */
    place = (struct simt_site){"unknown", 0, "a call through a pointer", site};
    simt_stop(&place, RECORD_UNSUPPORTED, changes ? RECORD_SAYS_CHANGES_ARGUMENTS : RECORD_SAYS_NO_FUNCTION,
              NULL);
}

/* Saves every register that a caller may rely on: arguments, the pointer itself, vectors. */
__asm__(
    ".text\n.type boundary_judge, @function\nboundary_judge:\n"
    "push %rax\n push %rcx\n push %rdx\n push %rsi\n push %rdi\n push %r8\n push %r9\n push %r10\n push "
    "%r11\n"
    "push %rbp\n mov %rsp, %rbp\n and $-16, %rsp\n sub $128, %rsp\n"
    "movups %xmm0, (%rsp)\n movups %xmm1, 16(%rsp)\n movups %xmm2, 32(%rsp)\n movups %xmm3, 48(%rsp)\n"
    "movups %xmm4, 64(%rsp)\n movups %xmm5, 80(%rsp)\n movups %xmm6, 96(%rsp)\n movups %xmm7, 112(%rsp)\n"
    "mov 88(%rbp), %rdi\n mov 96(%rbp), %rsi\n call boundary_judge_call\n"
    "movups (%rsp), %xmm0\n movups 16(%rsp), %xmm1\n movups 32(%rsp), %xmm2\n movups 48(%rsp), %xmm3\n"
    "movups 64(%rsp), %xmm4\n movups 80(%rsp), %xmm5\n movups 96(%rsp), %xmm6\n movups 112(%rsp), %xmm7\n"
    "mov %rbp, %rsp\n pop %rbp\n"
    "pop %r11\n pop %r10\n pop %r9\n pop %r8\n pop %rdi\n pop %rsi\n pop %rdx\n pop %rcx\n pop %rax\n ret\n");

#define THUNK(name)                                                                                          \
    __asm__(".text\n.globl __x86_indirect_thunk_" #name "\n.type __x86_indirect_thunk_" #name                \
            ", @function\n__x86_indirect_thunk_" #name ":\n push %" #name                                    \
            "\n call boundary_judge\n lea 8(%rsp), %rsp\n jmp *%" #name "\n");
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
#endif
