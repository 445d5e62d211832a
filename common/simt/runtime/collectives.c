/**
 * @file collectives.c
 * @brief Carries out collectives: sums in the order of the ranks, copies, and the number of bytes that each
 *        would send on a ring.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"
#include "order.h"

static const size_t bytes_of_type[ncclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

size_t type_bytes(ncclDataType_t type)
{
    return (unsigned)type < ncclNumTypes ? bytes_of_type[type] : 0;
}

/* ---- arithmetic ------------------------------------------------------------------------------------------ */

static float float_of_half(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
    uint32_t word;
    float value;
    if (magnitude >= 0x7c00)
        word = sign | 0x7f800000 | (magnitude & 0x3ff) << 13;
    else if (magnitude >= 0x400)
        word = sign | ((magnitude << 13) + (112u << 23));
    else {
        value = (float)magnitude * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    memcpy(&value, &word, sizeof value);
    return value;
}

/** The upper bits of @p value, rounded to nearest even; @p cut bits are cut off. */
static uint32_t round_bits(uint32_t value, unsigned cut)
{
    const uint32_t half = 1u << (cut - 1), rest = value & ((1u << cut) - 1), kept = value >> cut;
    return kept + (rest > half || (rest == half && (kept & 1)));
}

static uint16_t half_of_float(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    const uint32_t sign = word >> 16 & 0x8000, magnitude = word & 0x7fffffff;
    if (magnitude > 0x7f800000) return 0x7fff; /* no number */
    if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
    if (magnitude >= 0x38800000) return (uint16_t)(sign | round_bits(magnitude - (112u << 23), 13));
    if (magnitude < 0x33000000) return (uint16_t)sign;
    const unsigned cut = 126 - (magnitude >> 23);
    return (uint16_t)(sign | round_bits((magnitude & 0x7fffff) | 0x800000, cut));
}

static float float_of_bfloat(uint16_t bits)
{
    const uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static uint16_t bfloat_of_float(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    if ((word & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return (uint16_t)((word & 0x80000000) >> 16 | round_bits(word & 0x7fffffff, 16));
}

/* Each function combines element i of all ranks' arrays. */
#define JOIN(name, element, accumulator, load, store, is_less)                                               \
    static void name(const void *const *in, int ranks, size_t i, ncclRedOp_t op, void *out)                  \
    {                                                                                                        \
        accumulator sum = load(((const element *)in[0])[i]);                                                 \
        for (int r = 1; r < ranks; r++) {                                                                    \
            const accumulator x = load(((const element *)in[r])[i]);                                         \
            switch (op) {                                                                                    \
            case ncclProd:                                                                                   \
                sum = (accumulator)(sum * x);                                                                \
                break;                                                                                       \
            case ncclMax:                                                                                    \
                sum = is_less(sum, x) ? x : sum;                                                             \
                break;                                                                                       \
            case ncclMin:                                                                                    \
                sum = is_less(x, sum) ? x : sum;                                                             \
                break;                                                                                       \
            default:                                                                                         \
                sum = (accumulator)(sum + x);                                                                \
                break;                                                                                       \
            }                                                                                                \
        }                                                                                                    \
        if (op == ncclAvg) sum = (accumulator)(sum / (accumulator)ranks);                                    \
        ((element *)out)[i] = store(sum);                                                                    \
    }
#define SAME(x) (x)
#define LESS(a, b) ((a) < (b))
#define SIGNED_8(x) (int8_t)(x)
JOIN(join_s8, int8_t, int32_t, SAME, SIGNED_8, LESS)
JOIN(join_u8, uint8_t, uint32_t, SAME, (uint8_t), LESS)
JOIN(join_u32, uint32_t, uint32_t, SAME, SAME, LESS)
JOIN(join_u64, uint64_t, uint64_t, SAME, SAME, LESS)
#define SIGNED_LESS_32(a, b) ((int32_t)(a) < (int32_t)(b))
#define SIGNED_LESS_64(a, b) ((int64_t)(a) < (int64_t)(b))
JOIN(join_s32, uint32_t, uint32_t, SAME, SAME, SIGNED_LESS_32)
JOIN(join_s64, uint64_t, uint64_t, SAME, SAME, SIGNED_LESS_64)
JOIN(join_f16, uint16_t, float, float_of_half, half_of_float, LESS)
JOIN(join_bf16, uint16_t, float, float_of_bfloat, bfloat_of_float, LESS)
JOIN(join_f32, float, float, SAME, SAME, LESS)
JOIN(join_f64, double, double, SAME, SAME, LESS)

typedef void joiner(const void *const *in, int ranks, size_t i, ncclRedOp_t op, void *out);
static joiner *const joiners[ncclNumTypes] = {join_s8,  join_u8,  join_s32, join_u32,  join_s64, join_u64,
                                              join_f16, join_f32, join_f64, join_bf16, NULL,     NULL};

/* ---- what a call uses ------------------------------------------------------------------------------------ */

const char *call_name(const struct call *call)
{
    return call->operation.site.what;
}

static int is_root(const struct call *call)
{
    return call->peer == call->comm->rank;
}

size_t call_reads(const struct call *call)
{
    const size_t bytes = call->count * type_bytes(call->type),
                 all = bytes * (size_t)call->comm->clique->ranks;
    switch (call->kind) {
    case CALL_BROADCAST:
        return is_root(call) ? bytes : 0;
    case CALL_SCATTER:
        return is_root(call) ? all : 0;
    case CALL_REDUCE_SCATTER:
    case CALL_ALL_TO_ALL:
        return all;
    case CALL_RECEIVE:
    case CALL_INIT:
        return 0;
    default:
        return bytes;
    }
}

size_t call_writes(const struct call *call)
{
    const size_t bytes = call->count * type_bytes(call->type),
                 all = bytes * (size_t)call->comm->clique->ranks;
    switch (call->kind) {
    case CALL_REDUCE:
        return is_root(call) ? bytes : 0;
    case CALL_GATHER:
        return is_root(call) ? all : 0;
    case CALL_ALL_GATHER:
    case CALL_ALL_TO_ALL:
        return all;
    case CALL_SEND:
    case CALL_INIT:
        return 0;
    default:
        return bytes;
    }
}

/* ---- bytes ----------------------------------------------------------------------------------------------- */

static unsigned long long sent[SIMT_MOST_DEVICES], received[SIMT_MOST_DEVICES];

void simt_collective_bytes(int device, unsigned long long *bytes_sent, unsigned long long *bytes_received)
{
    *bytes_sent = sent[device];
    *bytes_received = received[device];
}

/** Number of elements that rank @p r owns when @p count are distributed. */
static size_t part_of(size_t count, int ranks, int r)
{
    const size_t n = (size_t)ranks;
    return count / n + ((size_t)(r % ranks) < count % n);
}

/** Elements that a rank sends on a ring: in each phase all parts but one. */
static size_t elements_sent(const struct call *call, int *also_receives)
{
    const int ranks = call->comm->clique->ranks, rank = call->comm->rank;
    const size_t n = (size_t)ranks, count = call->count;
    *also_receives = 1;
    switch (call->kind) {
    case CALL_ALL_REDUCE:
        return 2 * count - part_of(count, ranks, rank + 1) - part_of(count, ranks, rank + 2);
    case CALL_ALL_GATHER:
    case CALL_REDUCE_SCATTER:
    case CALL_ALL_TO_ALL:
        return (n - 1) * count;
    default:
        *also_receives = 0;
        return 0;
    }
}

static void add_bytes(int device, unsigned long long out, unsigned long long in)
{
    __atomic_fetch_add(&sent[device], out, __ATOMIC_RELAXED);
    __atomic_fetch_add(&received[device], in, __ATOMIC_RELAXED);
}

static void count_bytes(const struct call *call, unsigned long long out, unsigned long long in)
{
    add_bytes(call->comm->device, out, in);
}

void count_transfer(int from, int to, size_t bytes)
{
    if (from < 0 || to < 0 || from == to) return;
    add_bytes(from, bytes, 0);
    add_bytes(to, 0, bytes);
}

/** Collectives with a root: each other rank sends its own part to the root, or receives it from there. */
static void count_collective(struct call *const *call, int ranks)
{
    const int root = call[0]->peer;
    for (int r = 0; r < ranks; r++) {
        int both;
        const size_t bytes = call[r]->count * type_bytes(call[r]->type),
                     ring = elements_sent(call[r], &both) * type_bytes(call[r]->type);
        if (both) {
            count_bytes(call[r], ring, ring);
        } else if (r != root) {
            const int to_root = call[r]->kind == CALL_REDUCE || call[r]->kind == CALL_GATHER;
            count_bytes(call[r], to_root ? bytes : 0, to_root ? 0 : bytes);
            count_bytes(call[root], to_root ? 0 : bytes, to_root ? bytes : 0);
        }
    }
}

/* ---- carrying out ---------------------------------------------------------------------------------------- */

static void see_uninitialized(const struct call *call)
{
    const ptrdiff_t first = simt_device_first_uninitialized(call->send, call_reads(call));
    if (first < 0) return;
    simt_finding(
        RECORD_UNINITIALIZED_READ, &call->operation.site, RECORD_SAYS_READS_UNWRITTEN,
        SIMT_SAYS(.name = {call_name(call)}, .memory = (const char *)call->send + first, .bytes = 1));
}

/** Tells order.c and promises.c what the call reads and writes. */
static void see(const struct call *call)
{
    struct order_use use[2];
    size_t count = 0;
    runtime_settled();
    promises_see(&call->operation);
    if (call_reads(call) > 0) {
        see_uninitialized(call);
        use[count++] = (struct order_use){call->send, call_reads(call), 0};
    }
    if (call_writes(call) > 0) {
        promises_see_write(&call->operation, call->receive, call_writes(call));
        use[count++] = (struct order_use){call->receive, call_writes(call), 1};
    }
    order_call(&call->operation, use, count);
}

/** At the end of the collective, each stream has waited for what came before the call in all other
 *  streams, not for their part of the call to end. */
static void join_streams(struct call *const *call, int ranks)
{
    const struct operation *first = &call[0]->operation;
    for (int r = 1; r < ranks; r++)
        order_join(first->stream, first->device, call[r]->operation.stream, call[r]->operation.device);
    for (int r = 1; r < ranks; r++)
        order_join(call[r]->operation.stream, call[r]->operation.device, first->stream, first->device);
}

/** The sum over all ranks; NULL if memory is out. */
static void *joined(struct call *const *call, int ranks, size_t count)
{
    const void *in[MOST_RANKS];
    void *out = malloc(count * type_bytes(call[0]->type) + 1);
    for (int r = 0; r < ranks; r++) in[r] = call[r]->send;
    for (size_t i = 0; out != NULL && i < count; i++) joiners[call[0]->type](in, ranks, i, call[0]->op, out);
    return out;
}

/** What all ranks send, in their order. */
static void *gathered(struct call *const *call, int ranks, size_t each)
{
    char *out = malloc(each * (size_t)ranks + 1);
    for (int r = 0; out != NULL && r < ranks; r++) memcpy(out + (size_t)r * each, call[r]->send, each);
    return out;
}

/** Copies the results to the ranks from a copy of their inputs, since input and output may be the same
 *  buffer. */
static void *source(struct call *const *call, int ranks)
{
    const size_t bytes = call[0]->count * type_bytes(call[0]->type), n = (size_t)ranks;
    void *copy;
    switch (call[0]->kind) {
    case CALL_ALL_REDUCE:
    case CALL_REDUCE:
        return joined(call, ranks, call[0]->count);
    case CALL_REDUCE_SCATTER:
        return joined(call, ranks, call[0]->count * n);
    case CALL_ALL_GATHER:
    case CALL_GATHER:
        return gathered(call, ranks, bytes);
    case CALL_ALL_TO_ALL:
        return gathered(call, ranks, bytes * n);
    default: /* of the root */
        copy = malloc(call_reads(call[call[0]->peer]) + 1);
        if (copy != NULL) memcpy(copy, call[call[0]->peer]->send, call_reads(call[call[0]->peer]));
        return copy;
    }
}

static void hand_out(const struct call *call, int ranks, const char *from)
{
    const size_t bytes = call->count * type_bytes(call->type), rank = (size_t)call->comm->rank;
    switch (call->kind) {
    case CALL_REDUCE_SCATTER:
    case CALL_SCATTER:
        memcpy(call->receive, from + rank * bytes, bytes);
        break;
    case CALL_ALL_TO_ALL:
        for (size_t r = 0; r < (size_t)ranks; r++)
            memcpy((char *)call->receive + r * bytes, from + (r * (size_t)ranks + rank) * bytes, bytes);
        break;
    default:
        if (call_writes(call) > 0) memcpy(call->receive, from, call_writes(call));
    }
    simt_device_written(call->receive, call_writes(call));
}

void collective_perform(struct call *const *call, int ranks)
{
    runtime_begin();
    join_streams(call, ranks);
    for (int r = 0; r < ranks; r++) see(call[r]);
    void *from = source(call, ranks);
    for (int r = 0; r < ranks && from != NULL; r++) hand_out(call[r], ranks, from);
    count_collective(call, ranks);
    runtime_end();
    for (int r = 0; r < ranks; r++) {
        call[r]->done = 1;
        if (from == NULL) call[r]->result = ncclSystemError;
    }
    free(from);
}

void transfer_perform(struct call *send, struct call *receive)
{
    const size_t bytes = call_reads(send);
    runtime_begin();
    order_join(receive->operation.stream, receive->operation.device, send->operation.stream,
               send->operation.device);
    see(send);
    see(receive);
    memmove(receive->receive, send->send, bytes);
    simt_device_copied(receive->receive, send->send, bytes);
    if (send->comm != receive->comm) {
        count_bytes(send, bytes, 0);
        count_bytes(receive, 0, bytes);
    }
    runtime_end();
    send->done = receive->done = 1;
}
