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

static struct program *compiled(struct simt_ptx_site *site, const struct simt_ptx_operand *operand,
                                unsigned operands, const uint64_t *word)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    char *refusal = NULL;
    pthread_mutex_lock(&lock);
    struct program *p = site->program;
    if (p == NULL) {
        p = ptx_compile(site, operand, operands, word, &refusal);
        if (refusal == NULL) __atomic_store_n(&site->program, p, __ATOMIC_RELEASE);
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

static struct program *program_of(struct simt_ptx_site *site, const struct simt_ptx_operand *operand,
                                  unsigned operands, const uint64_t *word)
{
    struct program *p = __atomic_load_n(&site->program, __ATOMIC_ACQUIRE);
    return __builtin_expect(p == NULL, 0) ? compiled(site, operand, operands, word) : p;
}

void simt_ptx_run(struct simt_ptx_site *site, const struct simt_ptx_operand *operand, unsigned operands,
                  uint64_t *word, const void *return_address)
{
    struct program *p = program_of(site, operand, operands, word);
    struct run run = {.pc = return_address, .site = site};
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

static void load_operands(const struct simt_ptx_operand *operand, unsigned operands, uint64_t *word,
                          void *const *place)
{
    for (unsigned i = 0, at = 0; i < operands; at += operand[i++].slots) {
        if (operand[i].slots == 0 || place[at] == NULL) continue;
        word[at] = 0;
        if (operand[i].use != SIMT_PTX_OUT) memcpy(&word[at], place[at], bytes_of(&operand[i]));
    }
}

static void store_outputs(const struct simt_ptx_operand *operand, unsigned operands, const struct run *run)
{
    for (unsigned i = 0, at = 0; i < operands; at += operand[i++].slots) {
        const bool written = operand[i].use == SIMT_PTX_OUT || operand[i].use == SIMT_PTX_IN_OUT;
        if (written && !run->flying[at]) memcpy(run->place[at], &run->reg[at], bytes_of(&operand[i]));
    }
}

void simt_ptx_run_late(struct simt_ptx_site *site, const struct simt_ptx_operand *operand, unsigned operands,
                       uint64_t *word, void *const *place, const void *return_address)
{
    load_operands(operand, operands, word, place);
    struct program *p = program_of(site, operand, operands, word);
    struct run run = {.pc = return_address, .site = site, .place = place};
    run.reg = __builtin_alloca((p->registers + p->constants) * sizeof *run.reg);
    run.flying = __builtin_alloca((p->registers + 1) * sizeof *run.flying);
    memset(run.flying, 0, (p->registers + 1) * sizeof *run.flying);
    run.words = p->words;
    run_with_registers(&run, p, word);
    store_outputs(operand, operands, &run);
    if (run.local_flight) simt_product_drop(run.reg + p->words, run.reg + p->registers);
}
