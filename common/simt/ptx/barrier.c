/**
 * @file barrier.c
 * @brief mbarrier: objects in shared memory that count the arrivals of threads and the bytes of copies (machine/mbarrier.c).
 *
 * An address is an offset into the shared window where the name says `.shared`, else a generic pointer. `.shared::cluster` is an address
 * of any block of the cluster.
 */
#include "parse.h"
#include "program.h"

/* Modifiers of every row; the space is the last, where the name may have one. */
enum { SEMANTICS, SCOPE, FORM, SPACE };
enum { RELAXED = 2 };
enum { OBJECT_BYTES = 8 };

/* The mbarrier whose address is operand @p operand; with @p any it may be in any block of the cluster. */
static void *object_of(const struct run *run, const struct op *op, unsigned operand, bool any)
{
    enum { CLUSTER_SPACE = 3 };
    const uint64_t address = ptx_word(run, op, operand) + (uint64_t)op->offset[0];
    void *pointer = (void *)(uintptr_t)address;
    if (simt_self() == NULL)
        simt_stop(&op->site, RECORD_UNSUPPORTED, RECORD_SAYS_HOST_CODE, SIMT_SAYS(.name = {op->site.what}));
    if (op->modifier[SPACE] == CLUSTER_SPACE)
        return simt_cluster_checked(address, OBJECT_BYTES, SIMT_ATOMIC, run->pc);
    if (op->modifier[SPACE] != 0) return simt_shared_checked(address, OBJECT_BYTES, SIMT_ATOMIC, run->pc);
    if (!any && simt_rank_of_pointer(pointer) >= 0 && !simt_is_shared_pointer(pointer))
        simt_refuse_access(RECORD_OUT_OF_BOUNDS, pointer, OBJECT_BYTES, SIMT_ATOMIC,
                           RECORD_ADVICE_MBARRIER_OTHER_BLOCK, run->pc);
    if (simt_rank_of_pointer(pointer) < 0)
        simt_refuse_access(RECORD_OUT_OF_BOUNDS, (void *)(uintptr_t)address, OBJECT_BYTES, SIMT_ATOMIC,
                           RECORD_ADVICE_MBARRIER_SHARED, run->pc);
    return pointer;
}
static void *object(const struct run *run, const struct op *op, unsigned operand)
{
    return object_of(run, op, operand, false);
}

static unsigned how(const struct op *op)
{
    return op->modifier[SEMANTICS] == RELAXED ? SIMT_MBARRIER_RELAXED : 0;
}

PTX_OP(init, simt_mbarrier_init(&op->site, object(run, op, 0), ptx_u32(run, op, 1), run->pc))
PTX_OP(inval, simt_mbarrier_inval(&op->site, object(run, op, 0), run->pc))
PTX_OP(expect_tx, simt_mbarrier_expect(&op->site, object_of(run, op, 0, true), ptx_u32(run, op, 1), run->pc))
static void complete_tx(struct run *run, const struct op *op)
{
    simt_mbarrier_complete(&op->site, object_of(run, op, 0, true), ptx_u32(run, op, 1), run->pc);
}

/* state, [address], count */
static void arrive_as(struct run *run, const struct op *op, unsigned more)
{
    enum { NO_COMPLETE = 1 };
    const uint32_t count = op->slot[2] != NO_SLOT ? ptx_u32(run, op, 2) : 1;
    if (op->modifier[FORM] == NO_COMPLETE) more |= SIMT_MBARRIER_NO_COMPLETE;
    ptx_set(run, op, 0,
            simt_mbarrier_arrive(&op->site, object_of(run, op, 1, true), count, 0, how(op) | more, run->pc));
}
PTX_OP(arrive, arrive_as(run, op, 0))
PTX_OP(arrive_drop, arrive_as(run, op, SIMT_MBARRIER_DROP))

/* state, [address], bytes */
static void arrive_expect(struct run *run, const struct op *op)
{
    ptx_set(run, op, 0,
            simt_mbarrier_arrive(&op->site, object_of(run, op, 1, true), 1, ptx_u32(run, op, 2), how(op),
                                 run->pc));
}
static void arrive_drop_expect(struct run *run, const struct op *op)
{
    ptx_set(run, op, 0,
            simt_mbarrier_arrive(&op->site, object_of(run, op, 1, true), 1, ptx_u32(run, op, 2),
                                 how(op) | SIMT_MBARRIER_DROP, run->pc));
}

/* p, [address], state or parity, time limit of the wait */
static void wait(struct run *run, const struct op *op)
{
    enum { PARITY = 1 };
    const unsigned parity = op->modifier[FORM] == PARITY ? SIMT_MBARRIER_PARITY : 0;
    ptx_set(run, op, 0,
            (uint64_t)simt_mbarrier_wait(&op->site, object(run, op, 1), ptx_word(run, op, 2),
                                         how(op) | parity, run->pc));
}
PTX_OP(pending_count, ptx_set(run, op, 0, simt_mbarrier_pending(ptx_word(run, op, 1))))

/* ---- the rows --------------------------------------------------------------------------------------------- */

#define RELEASE "[release|relaxed] [cta|cluster] "
#define ACQUIRE "[acquire|relaxed] [cta|cluster] "
#define NO_FORM "[] "
#define OWN "(shared|shared::cta)"
#define ANY "(shared|shared::cta|shared::cluster)"
#define WAITS ACQUIRE "[] "
#define BY_PARITY ACQUIRE "(parity) "

/* Each form twice: for an address in shared memory, and for a generic pointer. */
#define FORMS(head, space, tail, before, after, function, version)                                           \
    {head space tail, before "a" after, function, 90, version, TOUCHES_MEMORY, NULL},                        \
    {                                                                                                        \
        head "[]" tail, before "A" after, function, 90, version, TOUCHES_MEMORY, NULL                        \
    }
#define FORMS_80(head, space, tail, before, after, function, version)                                        \
    {head space tail, before "a" after, function, 80, version, TOUCHES_MEMORY, NULL},                        \
    {                                                                                                        \
        head "[]" tail, before "A" after, function, 80, version, TOUCHES_MEMORY, NULL                        \
    }

static const struct row rows[] = {
    FORMS_80("mbarrier init [] [] " NO_FORM, OWN, " b64", "", " u32", init, 70),
    FORMS_80("mbarrier inval [] [] " NO_FORM, OWN, " b64", "", "", inval, 70),
    FORMS("mbarrier expect_tx [|relaxed] [cta|cluster] " NO_FORM, ANY, " b64", "", " u32", expect_tx, 80),
    FORMS("mbarrier complete_tx [|relaxed] [cta|cluster] " NO_FORM, ANY, " b64", "", " u32", complete_tx, 80),
    FORMS_80("mbarrier arrive " RELEASE NO_FORM, ANY, " b64", "=b64 ", " ?u32", arrive, 70),
    FORMS_80("mbarrier arrive " RELEASE "(noComplete) ", OWN, " b64", "=b64 ", " u32", arrive, 70),
    FORMS("mbarrier arrive expect_tx " RELEASE NO_FORM, ANY, " b64", "=b64 ", " u32", arrive_expect, 80),
    FORMS_80("mbarrier arrive_drop " RELEASE NO_FORM, ANY, " b64", "=b64 ", " ?u32", arrive_drop, 70),
    FORMS_80("mbarrier arrive_drop " RELEASE "(noComplete) ", OWN, " b64", "=b64 ", " u32", arrive_drop, 70),
    FORMS("mbarrier arrive_drop expect_tx " RELEASE NO_FORM, ANY, " b64", "=b64 ", " u32", arrive_drop_expect,
          80),
    FORMS_80("mbarrier test_wait " WAITS, OWN, " b64", "=P ", " b64", wait, 70),
    FORMS_80("mbarrier test_wait " BY_PARITY, OWN, " b64", "=P ", " u32", wait, 71),
    FORMS("mbarrier try_wait " WAITS, OWN, " b64", "=P ", " b64 ?u32", wait, 78),
    FORMS("mbarrier try_wait " BY_PARITY, OWN, " b64", "=P ", " u32 ?u32", wait, 78),
    {"mbarrier pending_count b64", "=u32 b64", pending_count, 80, 70, 0, NULL},
};
PTX_GROUP(ptx_barrier_rows, rows);
