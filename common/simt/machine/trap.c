/**
 * @file trap.c
 * @brief Faults of kernel code that no check saw coming: a full stack, a wild address, a division by zero.
 *
 * The handler runs on a stack of its own (the thread's may be what overflowed), writes down the finding and
 * leaves for the scheduler, as any other finding that ends a block does.
 */
#include "trap.h"
#include "finding.h"
#include "frames.h"
#include "image.h"
#include "lanes.h"
#include "machine.h"
#include "sizes.h"
#include "tools.h"
#include "worker.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

static const int SIGNALS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
enum { SIGNAL_COUNT = sizeof SIGNALS / sizeof SIGNALS[0], ALTERNATE_BYTES = 64 << 10 };
static struct sigaction before[SIGNAL_COUNT];

static uintptr_t instruction(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return simt_image.bias;
#endif
}

/* To an address that none can be the processor does not even go: it stops at the jump of simtcc's way to all pointers. */
static bool is_jump_nowhere(const ucontext_t *context, const siginfo_t *info)
{
#if defined(__x86_64__)
    enum { REX_B = 0x41, JUMP = 0xff, THROUGH_REGISTER = 0xe0 };
    const uint8_t *code = (const uint8_t *)instruction(context);
    if (info->si_signo != SIGSEGV || info->si_code != SI_KERNEL) return false;
    if (*code == REX_B) code++;
    return code[0] == JUMP && (code[1] & ~7u) == THROUGH_REGISTER;
#else
    (void)context, (void)info;
    return false;
#endif
}

/* After a call through a pointer that leads to no code nothing is known but where it would have returned to; 0: it is no such fault. */
static uintptr_t caller_of_nothing(const ucontext_t *context, const siginfo_t *info)
{
    if (instruction(context) != (uintptr_t)info->si_addr && !is_jump_nowhere(context, info)) return 0;
#if defined(__x86_64__)
    return *(const uintptr_t *)
                context->uc_mcontext.gregs[REG_RSP]; /* the fault came before anything was pushed */
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.regs[30];
#else
    return 0;
#endif
}

/* From where there is no code no way back can be read: the context becomes that after the return to @p caller. */
static void return_from_nothing(ucontext_t *context, uintptr_t caller)
{
#if defined(__x86_64__)
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)caller;
    context->uc_mcontext.gregs[REG_RSP] += (greg_t)sizeof caller;
#elif defined(__aarch64__)
    context->uc_mcontext.pc = caller;
#endif
}

static bool is_of_program(uintptr_t pc)
{
    return pc - simt_image.low < simt_image.high - simt_image.low;
}

static bool is_guard(const struct worker *w, uintptr_t address)
{
    return address - w->local.stacks < w->local.stacks_bytes &&
           (address - w->local.stacks) % (STACK_BYTES + GUARD_BYTES) < GUARD_BYTES;
}

struct walk {
    uintptr_t fault; /* frames above it are the handler's own */
    struct finding *finding;
    int count;
};

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *argument)
{
    struct walk *walk = argument;
    int at_instruction;
    const uintptr_t pc = _Unwind_GetIPInfo(context, &at_instruction) + (at_instruction != 0);
    if (pc == walk->fault) walk->fault = 0;
    if (walk->fault == 0 && is_of_program(pc)) walk->finding->frame[walk->count++] = simt_pack_pc((void *)pc);
    return walk->count < FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void simt_note_frames(struct finding *finding, void *context)
{
    struct walk walk = {instruction(context) + 1, finding, 0};
    _Unwind_Backtrace(note_frame, &walk);
}

/* The fault may have come in code that is not the student's, such as our own checks: keep the calls. */
static void found_fault(struct worker *w, enum record_kind kind, enum record_message message,
                        enum record_advice advice, uintptr_t pc)
{
    const struct actor who = simt_actor(w, (void *)pc, SIMT_WRITE);
    struct finding f = simt_finding_says(kind, message, advice, NULL, who);
    struct walk walk = {pc, &f, 0};
    _Unwind_Backtrace(note_frame, &walk);
    if (f.frame[0] == 0) f.frame[0] = simt_pack_pc((void *)pc); /* from nowhere no way leads back */
    simt_found(w, &f);
    simt_abandon(w, simt_error_of(kind));
}

static void stack_is_full(const void *pc)
{
    found_fault(simt_tls_worker, RECORD_OUT_OF_BOUNDS, RECORD_SAYS_STACK_FULL, RECORD_ADVICE_STACK,
                (uintptr_t)pc);
}

/* Processors of aarch64 divide by zero without a complaint, 0 comes out. There the compiler puts a question in front of every
 * division (simtcc's -fsanitize=integer-divide-by-zero) and calls this. Of the host's own it is no business. */
void __ubsan_handle_divrem_overflow(const void *described, uintptr_t left, uintptr_t right);
void __ubsan_handle_divrem_overflow(const void *described, uintptr_t left, uintptr_t right)
{
    struct worker *w = simt_tls_worker;
    (void)described, (void)left, (void)right;
    if (w == NULL || w->abandoned) return;
    found_fault(w, RECORD_UNSUPPORTED, RECORD_SAYS_DIVISION, RECORD_NO_ADVICE,
                (uintptr_t)__builtin_return_address(0));
}

/* A fault of the host's own is for what was there before, when the instruction runs again. */
static void pass_on(int signal)
{
    for (int i = 0; i < SIGNAL_COUNT; i++)
        if (SIGNALS[i] == signal) sigaction(signal, &before[i], NULL);
}

static struct {
    uintptr_t low;
    size_t bytes;
    const char *sentence;
} explained[4];
static int explained_count;

/* Nothing that the host should read lies at this address: says why. */
static void explain(uintptr_t address)
{
    for (int i = 0; i < explained_count; i++)
        if (address - explained[i].low < explained[i].bytes &&
            write(STDERR_FILENO, explained[i].sentence, strlen(explained[i].sentence)) < 0)
            return; /* nobody listens */
}

static void handle(int signal, siginfo_t *info, void *context)
{
    struct worker *w = simt_tls_worker;
    const uintptr_t address = (uintptr_t)info->si_addr,
                    pc = instruction(context) + 1; /* as a return address */
    const uintptr_t caller = w != NULL && simt_tls_self != NULL ? caller_of_nothing(context, info) : 0;
    if (caller != 0 && !w->abandoned && is_of_program(caller)) {
        return_from_nothing(context, caller);
        found_fault(w, RECORD_OUT_OF_BOUNDS, RECORD_SAYS_NO_FUNCTION, RECORD_ADVICE_FUNCTION_POINTER, caller);
    }
    if (w == NULL || w->abandoned || !is_of_program(pc)) {
        explain(address);
        pass_on(signal);
        return;
    }
    if (signal == SIGFPE) found_fault(w, RECORD_UNSUPPORTED, RECORD_SAYS_DIVISION, RECORD_NO_ADVICE, pc);
    if (signal == SIGILL) found_fault(w, RECORD_UNSUPPORTED, RECORD_SAYS_TRAPPING, RECORD_NO_ADVICE, pc);
    if (is_guard(w, address))
        found_fault(w, RECORD_OUT_OF_BOUNDS, RECORD_SAYS_STACK_FULL, RECORD_ADVICE_STACK, pc);
    /* the processor's own complaint, without an address */
    if (signal == SIGSEGV && info->si_code == SI_KERNEL)
        found_fault(w, RECORD_MISALIGNED, RECORD_SAYS_WIDE_LOCAL, RECORD_ADVICE_ALIGN_LOCAL_WIDE, pc);
    found_fault(w, RECORD_OUT_OF_BOUNDS, RECORD_SAYS_NO_MEMORY, RECORD_NO_ADVICE, pc);
}

void simt_trap_install(void)
{
    static bool installed;
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    if (installed) return;
    installed = true;
    simt_frames_full = stack_is_full;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNAL_COUNT; i++) sigaction(SIGNALS[i], &action, &before[i]);
}

void simt_trap_explain(const void *low, size_t bytes, const char *sentence)
{
    if (explained_count == sizeof explained / sizeof explained[0]) return;
    simt_trap_install();
    explained[explained_count].low = (uintptr_t)low;
    explained[explained_count].bytes = bytes;
    explained[explained_count++].sentence = sentence;
}

void simt_trap_stack(void)
{
    static _Thread_local bool simt_has_stack;
    stack_t stack = {.ss_size = ALTERNATE_BYTES};
    if (simt_has_stack) return;
    stack.ss_sp = simt_reserve(ALTERNATE_BYTES, "signals");
    sigaltstack(&stack, NULL);
    simt_has_stack = true;
}
