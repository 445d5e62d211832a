/**
 * @file async.c
 * @brief Asynchronous copies from device to shared memory: cp.async, its groups, and waiting for them (machine/async_copies.c).
 */
#include "parse.h"
#include "program.h"

static void begin(struct run *run, const struct op *op, uint64_t read)
{
    const size_t bytes = ptx_u32(run, op, 2);
    if (read > bytes)
        simt_stop(&op->site, RECORD_UNSUPPORTED, RECORD_SAYS_COPY_READS,
                  SIMT_SAYS(.name = {op->site.what}, .number = {(int64_t)bytes, (int64_t)read}));
    void *to =
        simt_shared_checked(ptx_word(run, op, 0) + (uint64_t)op->offset[0], bytes, SIMT_WRITE, run->pc);
    const void *from = (const void *)(uintptr_t)(ptx_word(run, op, 1) + (uint64_t)op->offset[1]);
    simt_copy_begin(to, from, bytes, bytes - (size_t)read, run->pc);
}

/* If fewer bytes are read than written, the last bytes are zeros. */
PTX_OP(cp_async, begin(run, op, op->slot[3] == NO_SLOT ? ptx_u32(run, op, 2) : ptx_u32(run, op, 3)))
PTX_OP(cp_async_with_policy, begin(run, op, ptx_u32(run, op, 2)))
/* The form with a predicate; if it is true, nothing is read and zeros are written. */
PTX_OP(cp_async_ignoring, begin(run, op, ptx_predicate(run, op, 3) ? 0 : ptx_u32(run, op, 2)))

static void check_size(struct compiling *c, const struct row *row, struct op *op)
{
    enum { BYPASSES_L1 = 2 };
    const uint64_t bytes = c->program->constant[op->slot[2] - c->slots];
    (void)row;
    if (op->modifier[0] == BYPASSES_L1 && bytes != 16)
        ptx_refuse(c, "cp.async.cg copies 16 bytes, not %llu, as ptxas says", (unsigned long long)bytes);
    else if (bytes != 4 && bytes != 8 && bytes != 16)
        ptx_refuse(c, "cp.async copies 4, 8 or 16 bytes, not %llu, as ptxas says", (unsigned long long)bytes);
}

static void commit_group(struct run *run, const struct op *op)
{
    (void)op;
    simt_copy_commit(run->pc);
}
PTX_OP(wait_group, simt_copy_wait(ptx_u32(run, op, 0), run->pc))
static void wait_all(struct run *run, const struct op *op)
{
    (void)op;
    simt_copy_commit(run->pc);
    simt_copy_wait(0, run->pc);
}

#define COPY "cp async (ca|cg) (shared|shared::cta) global "
#define FETCH " [L2::64B|L2::128B|L2::256B]"

static const struct row rows[] = {
    {COPY "[L2::cache_hint]" FETCH, "a A I ?u32 ?b64", cp_async, 80, 70, TOUCHES_MEMORY, check_size},
    {COPY "[L2::cache_hint]" FETCH, "a A I P ?b64", cp_async_ignoring, 80, 75, TOUCHES_MEMORY, check_size},
    {COPY "L2::cache_hint" FETCH, "a A I b64", cp_async_with_policy, 80, 74, TOUCHES_MEMORY, check_size},
    {"cp async commit_group", "", commit_group, 80, 70, TOUCHES_MEMORY, NULL},
    {"cp async wait_group", "I", wait_group, 80, 70, TOUCHES_MEMORY, NULL},
    {"cp async wait_all", "", wait_all, 80, 70, TOUCHES_MEMORY, NULL},
};
PTX_GROUP(ptx_async_rows, rows);
