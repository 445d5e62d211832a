/**
 * @file run.c
 * @brief Runs an asm statement for one thread. The first thread to arrive compiles its text.
 */
#include "run.h"
#include "compile.h"
#include "program.h"
#include "../machine/products.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Programs are here, by statement, and not beside the statement's text, which lies in memory that kernels may write. */
enum { BUCKETS = 1024 };
static struct program *bucket[BUCKETS];

static struct program **bucket_of(const struct simt_ptx_site *site)
{
    return &bucket[(uintptr_t)site / sizeof *site % BUCKETS];
}

static struct program *find(const struct simt_ptx_site *site, const struct simt_ptx_operand *operand,
                            unsigned operands)
{
    struct program *p = __atomic_load_n(bucket_of(site), __ATOMIC_ACQUIRE);
    while (p != NULL && (p->site != site || p->operand != operand || p->operands != operands)) p = p->next;
    return p;
}

static struct program *compiled(const struct simt_ptx_site *site, const struct simt_ptx_operand *operand,
                                unsigned operands, const uint64_t *word)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    char *refusal = NULL;
    pthread_mutex_lock(&lock);
    struct program *p = find(site, operand, operands);
    if (!simt_is_fixed(operand, operands * sizeof *operand)) abort(); /* not the headers' */
    if (p == NULL) {
        p = ptx_compile(site, operand, operands, word, &refusal);
        p->next = *bucket_of(site);
        if (refusal == NULL) __atomic_store_n(bucket_of(site), p, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    if (refusal != NULL)
        simt_stop(&site->site, RECORD_UNSUPPORTED, RECORD_SAYS_PTX, SIMT_SAYS(.note = refusal));
    return p;
}

static void run_operations(struct run *run, const struct program *p)
{
    while (run->next < p->ops) {
        const struct op *op = &p->op[run->next++];
        if (op->guard != NO_SLOT && (run->reg[op->guard] & 1) == op->guard_negated) continue;
        op->function(run, op);
    }
}

/* Its own registers and constants come after the operands. */
static void run_with_registers(struct run *run, const struct program *p, const uint64_t *word)
{
    for (unsigned i = 0; i < p->words; i++) run->reg[i] = word[i];
    for (unsigned i = p->words; i < p->registers; i++) run->reg[i] = 0;
    if (p->constants > 0) memcpy(run->reg + p->registers, p->constant, p->constants * sizeof *run->reg);
    run_operations(run, p);
}

static struct program *program_of(const struct simt_ptx_site *site, const struct simt_ptx_operand *operand,
                                  unsigned operands, const uint64_t *word)
{
    struct program *p = find(site, operand, operands);
    return __builtin_expect(p == NULL, 0) ? compiled(site, operand, operands, word) : p;
}

/* Registers, and variables that stand for them, are the thread's own; anything else is an access like any other. */
static void check_own(const void *address, size_t bytes, int access, const void *return_address)
{
    if (!simt_is_own_local(address, bytes)) simt_access(address, bytes, access, return_address);
}

/* An access to the frame of a function in the device's own header, whose start is not known: all of the stack is the thread's own. */
static void check_stack(const void *address, size_t bytes, int access, const void *return_address)
{
    if (!simt_is_own_stack(address, bytes)) simt_access(address, bytes, access, return_address);
}

void simt_ptx_touch(const void *address, size_t bytes, int access, const void *return_address)
{
    if (simt_is_own_local(address, bytes)) return;
    if (access & SIMT_READ) simt_access(address, bytes, SIMT_READ, return_address);
    if (access & SIMT_WRITE) simt_access(address, bytes, SIMT_WRITE, return_address);
}

void simt_ptx_run(const struct simt_ptx_site *site, const struct simt_ptx_operand *operand, unsigned operands,
                  uint64_t *word, const void *return_address)
{
    struct program *p = program_of(site, operand, operands, word);
    struct run run = {.pc = return_address, .site = site};
    if (!simt_is_passed(word, p->words * sizeof *word, __builtin_dwarf_cfa()))
        simt_access(word, p->words * sizeof *word, SIMT_READ | SIMT_WRITE, return_address);
    /* usually one instruction: it can work directly on the operands */
    if (p->registers + p->constants == p->words) {
        run.reg = word;
        run_operations(&run, p);
        return;
    }
    run.reg = __builtin_alloca((p->registers + p->constants) * sizeof *run.reg);
    run_with_registers(&run, p, word);
    for (unsigned i = 0; i < p->words; i++) word[i] = run.reg[i];
}

/* ---- statements that may leave outputs in flight ---------------------------------------------------------- */

static size_t bytes_of(const struct simt_ptx_operand *operand)
{
    switch (operand->letter) {
    case 'r':
    case 'f':
        return 4;
    case 'l':
    case 'd':
        return 8;
    case 'q':
        return 16;
    default:
        return 2;
    }
}

/* Words and places lie in memory that the statement itself may write: each is read once. */
static unsigned slots_of(const struct simt_ptx_operand *operand, unsigned operands)
{
    unsigned slots = 0;
    for (unsigned i = 0; i < operands; i++) slots += operand[i].slots;
    return slots;
}

static void load_operands(const struct simt_ptx_operand *operand, unsigned operands, uint64_t *word,
                          void *const *place, const void *return_address)
{
    for (unsigned i = 0, at = 0; i < operands; at += operand[i++].slots) {
        if (operand[i].slots == 0 || place[at] == NULL) continue;
        word[at] = 0;
        const size_t bytes = bytes_of(&operand[i]);
        if (operand[i].use != SIMT_PTX_OUT) {
            check_own(place[at], bytes, SIMT_READ, return_address);
            memcpy(&word[at], place[at], bytes);
        }
        if (operand[i].use == SIMT_PTX_OUT || operand[i].use == SIMT_PTX_IN_OUT)
            check_own(place[at], bytes, SIMT_WRITE, return_address);
    }
}

static void store_outputs(const struct simt_ptx_operand *operand, unsigned operands, const struct run *run)
{
    for (unsigned i = 0, at = 0; i < operands; at += operand[i++].slots) {
        const bool written = operand[i].use == SIMT_PTX_OUT || operand[i].use == SIMT_PTX_IN_OUT;
        if (written && operand[i].slots > 0 && !run->flying[at])
            memcpy(run->place[at], &run->reg[at], bytes_of(&operand[i]));
    }
}

void simt_ptx_run_late(const struct simt_ptx_site *site, const struct simt_ptx_operand *operand,
                       unsigned operands, const uint64_t *given_word, void *const *given_place,
                       const void *return_address)
{
    const unsigned slots = slots_of(operand, operands);
    uint64_t *word = __builtin_alloca((slots + 1) * sizeof *word);
    void **place = __builtin_alloca((slots + 1) * sizeof *place);
    check_stack(given_word, slots * sizeof *word, SIMT_READ, return_address);
    check_stack(given_place, slots * sizeof *place, SIMT_READ, return_address);
    memcpy(word, given_word, slots * sizeof *word);
    memcpy(place, given_place, slots * sizeof *place);
    load_operands(operand, operands, word, place, return_address);
    struct program *p = program_of(site, operand, operands, word);
    struct run run = {.pc = return_address, .site = site, .place = place};
    run.reg = __builtin_alloca((p->registers + p->constants) * sizeof *run.reg);
    run.flying = __builtin_alloca((p->registers + 1) * sizeof *run.flying);
    memset(run.flying, 0, (p->registers + 1) * sizeof *run.flying);
    run.words = p->words;
    run.slots = p->registers;
    run_with_registers(&run, p, word);
    store_outputs(operand, operands, &run);
    if (run.local_flight) simt_product_drop(run.reg + p->words, run.reg + p->registers);
}
