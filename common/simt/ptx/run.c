/**
 * @file run.c
 * @brief Runs an asm statement for one thread. Its text is compiled when the first thread comes by.
 */
#include "run.h"
#include "compile.h"
#include "program.h"

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
    if (refusal != NULL) simt_stop(&site->site, "unsupported", "inline PTX: %s", refusal);
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

void simt_ptx_run(struct simt_ptx_site *site, const struct simt_ptx_operand *operand, unsigned operands,
                  uint64_t *word, const void *return_address)
{
    struct program *p = __atomic_load_n(&site->program, __ATOMIC_ACQUIRE);
    if (__builtin_expect(p == NULL, 0)) p = compiled(site, operand, operands, word);
    struct run run = {.pc = return_address, .site = site};
    if (p->registers + p->constants ==
        p->words) { /* one instruction, as a rule: it works on what it was given */
        run.reg = word;
        run_operations(&run, p);
        return;
    }
    run.reg = __builtin_alloca((p->registers + p->constants) * sizeof *run.reg);
    for (unsigned i = 0; i < p->words; i++) run.reg[i] = word[i];
    for (unsigned i = p->words; i < p->registers; i++) run.reg[i] = 0;
    if (p->constants > 0) memcpy(run.reg + p->registers, p->constant, p->constants * sizeof *run.reg);
    run_operations(&run, p);
    for (unsigned i = 0; i < p->words; i++) word[i] = run.reg[i];
}
