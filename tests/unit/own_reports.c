/**
 * @file own_reports.c
 * @brief A report that the compiler does not know of changes no register and no flag, whether it is over at once or goes on; and it goes on for all
 *        that is not wholly local.
 */
#include <stdio.h>
#include <string.h>

#include "../../common/simt/machine/own_reports.c"

#if defined(__x86_64__)
SIMT_HOT struct worker *simt_tls_watch;

static struct worker worker;
static struct {
    const void *address;
    size_t bytes;
    int access[2], count;
} seen;

/* Leaves nothing as it was. */
void simt_access_own(const void *address, size_t bytes, int access, const void *pc)
{
    static const unsigned char ones[32] = {1, 1, 1, 1};
    seen.address = address;
    seen.bytes = bytes;
    seen.access[seen.count++ & 1] = access;
    if (simt_own_wide_vectors)
        __asm__ volatile(
            "vmovups %0, %%ymm0\n vmovups %0, %%ymm1\n vmovups %0, %%ymm2\n vmovups %0, %%ymm3\n"
            "vmovups %0, %%ymm4\n vmovups %0, %%ymm5\n vmovups %0, %%ymm6\n vmovups %0, %%ymm7\n"
            "vmovups %0, %%ymm8\n vmovups %0, %%ymm9\n vmovups %0, %%ymm10\n vmovups %0, %%ymm11\n"
            "vmovups %0, %%ymm12\n vmovups %0, %%ymm13\n vmovups %0, %%ymm14\n vmovups %0, %%ymm15" ::"m"(
                ones));
    __asm__ volatile(
        "mov %0, %%rax\n mov %0, %%rcx\n mov %0, %%rdx\n mov %0, %%rsi\n mov %0, %%rdi\n"
        "mov %0, %%r8\n mov %0, %%r9\n mov %0, %%r10\n mov %0, %%r11\n xor %%eax, %%eax" ::"r"(pc)
        : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
}

/* rax rcx rdx rbx rbp rsi rdi r8 r9 r10 r12 r13 r14 r15, flags; vectors. */
struct registers {
    uint64_t general[14], flags;
    unsigned char vector[16][32];
};

/* Calls rdi with the registers rsi, and r11 = rdx; puts what they are then into rcx. */
void run(void (*report)(void), const struct registers *before, const void *address, struct registers *after);
#define VECTORS(op, bytes) EACH(op, bytes)
#define LOAD(n, bytes) "vmovups 120+32*" #n "(%rsi), %ymm" #n "\n"
#define STORE(n, bytes) "vmovups %ymm" #n ", 120+32*" #n "(%rcx)\n"
#define LOAD_NARROW(n, bytes) "movups 120+32*" #n "(%rsi), %xmm" #n "\n"
#define STORE_NARROW(n, bytes) "movups %xmm" #n ", 120+32*" #n "(%rcx)\n"
__asm__(
    ".text\nrun:\n"
    "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n push %rcx\n push %rdi\n"
    "mov %rdx, %r11\n cmpb $0, simt_own_wide_vectors(%rip)\n je 1f\n" EACH(LOAD, 32) "jmp 2f\n1:\n" EACH(
        LOAD_NARROW,
        32) "2:\n"
            "push 112(%rsi)\n"
            "mov (%rsi), %rax\n mov 8(%rsi), %rcx\n mov 16(%rsi), %rdx\n mov 24(%rsi), %rbx\n mov 32(%rsi), "
            "%rbp\n"
            "mov 48(%rsi), %rdi\n mov 56(%rsi), %r8\n mov 64(%rsi), %r9\n mov 72(%rsi), %r10\n"
            "mov 80(%rsi), %r12\n mov 88(%rsi), %r13\n mov 96(%rsi), %r14\n mov 104(%rsi), %r15\n"
            "mov 40(%rsi), %rsi\n"
            "popf\n call *(%rsp)\n pushf\n"
            "push %rcx\n mov 24(%rsp), %rcx\n" /* after, above the report and the flags */
            "mov %rax, (%rcx)\n pop 8(%rcx)\n mov %rdx, 16(%rcx)\n mov %rbx, 24(%rcx)\n mov %rbp, 32(%rcx)\n"
            "mov %rsi, 40(%rcx)\n mov %rdi, 48(%rcx)\n mov %r8, 56(%rcx)\n mov %r9, 64(%rcx)\n mov %r10, "
            "72(%rcx)\n"
            "mov %r12, 80(%rcx)\n mov %r13, 88(%rcx)\n mov %r14, 96(%rcx)\n mov %r15, 104(%rcx)\n"
            "pop 112(%rcx)\n cmpb $0, simt_own_wide_vectors(%rip)\n je 3f\n" EACH(
                STORE, 32) "jmp 4f\n3:\n" EACH(STORE_NARROW,
                                               32) "4:\n"
                                                   "add $16, %rsp\n pop %r15\n pop %r14\n pop %r13\n pop "
                                                   "%r12\n pop %rbp\n pop %rbx\n ret\n");

static const struct report {
    const char *name;
    void (*function)(void);
    int bytes, reads, writes;
} reports[] = {
#define ROWS(size)                                                                                           \
    {"r" #size, simt_access_r##size, size, 1, 0}, {"w" #size, simt_access_w##size, size, 0, 1},              \
    {                                                                                                        \
        "rw" #size, simt_access_rw##size, size, 1, 1                                                         \
    }
    ROWS(1), ROWS(2), ROWS(4), ROWS(8), ROWS(16), ROWS(32)};

enum { LOCAL = 0x10000, LOCAL_BYTES = 4096, OPEN = 0x10100, OPEN_BYTES = 64 };

/* An address and whether a report of it goes on. */
static int try(const struct report *report, uintptr_t address, int goes_on, uint64_t flags)
{
    struct registers before, after = {0};
    memset(&before, 0, sizeof before);
    for (int i = 0; i < 14; i++) before.general[i] = UINT64_C(0x0123456789abcdef) * (unsigned)(i + 1);
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < (simt_own_wide_vectors ? 32 : 16); k++)
            before.vector[i][k] = (unsigned char)(16 * i + k + 7);
    before.flags = 0x202 | flags;
    memset(&seen, 0, sizeof seen);
    run(report->function, &before, (const void *)address, &after);
    after.flags |= 0x202;
    const int calls = goes_on ? report->reads + report->writes : 0;
    const int right = memcmp(&before, &after, sizeof before) == 0 && seen.count == calls &&
                      (!calls || (seen.address == (const void *)address && (int)seen.bytes == report->bytes &&
                                  (!report->reads || seen.access[0] == SIMT_READ) &&
                                  (!report->writes || seen.access[calls - 1] == SIMT_WRITE)));
    if (!right)
        printf("FAIL %s at %#lx, flags %#lx\n", report->name, (unsigned long)address, (unsigned long)flags);
    return !right;
}

int main(void)
{
    static const uint64_t all_flags[] = {0, 0x1, 0x4, 0x10, 0x40, 0x80, 0x800, 0x8d5};
    int failures = 0;
    worker.local.base = LOCAL;
    worker.local.bytes = LOCAL_BYTES;
    worker.local.open = OPEN;
    worker.local.open_bytes = OPEN_BYTES;
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        const struct report *r = &reports[i];
        const uintptr_t start = r->writes ? OPEN : LOCAL,
                        end = start + (r->writes ? OPEN_BYTES : LOCAL_BYTES);
        const struct {
            uintptr_t address;
            int goes_on;
        } places[] = {{start, 0},      {end - (unsigned)r->bytes, 0},
                      {start - 1, 1},  {end - (unsigned)r->bytes + 1, 1},
                      {end, 1},        {0, 1},
                      {UINTPTR_MAX, 1}};
        for (size_t f = 0; f < sizeof all_flags / sizeof all_flags[0]; f++) {
            for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
                simt_tls_watch = &worker;
                failures += try(r, places[k].address, places[k].goes_on, all_flags[f]);
                simt_tls_watch = NULL; /* on the host */
                failures += try(r, places[k].address, 0, all_flags[f]);
            }
            simt_tls_watch = &worker;
            worker.local.open_bytes = worker.local.bytes = 0;
            failures += try(r, start, 1, all_flags[f]);
            worker.local.bytes = LOCAL_BYTES;
            worker.local.open_bytes = OPEN_BYTES;
        }
    }
    return failures != 0;
}
#else
int main(void)
{
    return 0;
}
#endif
