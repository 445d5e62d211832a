/**
 * @file decode_inputs.c
 * @brief Buffers of attention over a contiguous cache with a position, and what is in them.
 */
#include <limits.h>
#include <math.h>

#include "base/parallel.h"
#include "contracts/decode_args.h"
#include "decode_cases.h"

enum storage decode_storage(const struct lesson_case *item)
{
    return item->extent[EX_STORED_AS] == DTYPE_F32 ? STORAGE_F32 : STORAGE_F16;
}

/* On the device the first sequence is the longest, and the second has one key. */
int decode_position(const struct lesson_case *item, int b)
{
    int most = item->extent[EX_POSITION];
    if (b == 0 || item->extent[EX_GIVEN] == 0) return most;
    struct rng rng = {rng_mix(item->seed, 301 + (uint64_t)b)};
    return b == 1 && item->distribution == NAN_REST ? 0 : rng_between(&rng, most / 2, most);
}

int decode_seen(const struct lesson_case *item, int b)
{
    return decode_position(item, b) + 1;
}

int decode_is_faulty(const struct lesson_case *item, int b)
{
    int last = item->extent[DC_BATCH] - 1;
    switch (item->extent[EX_FAULT]) {
    case POSITIONS_SOUND:
        return 0;
    case POSITION_HUGE:
        return b == 0;
    case POSITION_LOWEST:
        return b == last / 2;
    default:
        return b == last;
    }
}

double decode_told_position(const struct lesson_case *item, int b)
{
    if (!decode_is_faulty(item, b)) return decode_position(item, b);
    switch (item->extent[EX_FAULT]) {
    case POSITION_HUGE:
        return 0x1p31;
    case POSITION_LOWEST:
        return -0x1p31;
    case POSITION_ONE_TOO_FAR:
        return item->extent[DC_MAX_LEN] - item->extent[DC_Q_LEN] + 1;
    default:
        return -1.0;
    }
}

int decode_expected_choice(const struct lesson_case *item)
{
    int head_dim = item->extent[DC_HEAD_DIM];
    int served = item->extent[EX_STORED_AS] == DTYPE_F16 && item->extent[DC_Q_LEN] == 1 &&
                 (head_dim == 64 || head_dim == 128);
    return served && item->value[DC_LOADS] == DECODE_LOADS_16_BYTES ? DECODE_FLASH_2 : DECODE_FLASH_1;
}

int decode_variant_of(const struct lesson_case *item)
{
    if (item->part == PART_MHA) return DECODE_MHA;
    if (item->part == PART_FLASH_2) return DECODE_FLASH_2;
    if (item->part != PART_DISPATCH) return DECODE_FLASH_1;
    int asked = (int)item->value[DC_VARIANT];
    return asked == DECODE_AUTO ? decode_expected_choice(item) : asked;
}

/* ---- caches ------------------------------------------------------------------------------------------------- */

/** A cache that is being filled, token by token. */
struct filling {
    const struct lesson_case *item;
    int index; /* DC_K or DC_V */
    struct rng rng;
    float *data;
};

/* Filling for values that no kernel may use. */
static float unused(const struct lesson_case *item, size_t at)
{
    return item->distribution == NAN_REST ? NAN : (float)(1000 + at % 700);
}

static void fill_token(const struct filling *f, size_t number)
{
    const struct lesson_case *item = f->item;
    int max_len = item->extent[DC_MAX_LEN], b = (int)(number / (size_t)max_len),
        t = (int)(number % (size_t)max_len);
    size_t stride = (size_t)item->extent[DC_KV_STRIDE], head_dim = (size_t)item->extent[DC_HEAD_DIM];
    size_t width = (size_t)item->extent[DC_KV_HEADS] * head_dim;
    float *row = f->data + number * stride;
    int length = decode_position(item, b) + item->extent[DC_Q_LEN];
    for (size_t i = t < length ? width : 0; i < stride; i++) row[i] = unused(item, number * stride + i);
    if (t >= length) return;
    if (item->distribution == CHEAP) {
        struct rng rng = rng_ahead(&f->rng, number * width / 8);
        decode_fill_cheaply(row, width, &rng);
        return;
    }
    struct rng rng = rng_ahead(&f->rng, number * width * RNG_NORMAL);
    struct decode_token token = {
        (enum distribution)item->distribution, f->index == DC_K, b, t, length, (int)head_dim};
    decode_fill_row(&token, row, width, &rng);
}

static void fill_tokens(void *context, size_t first, size_t last)
{
    const struct filling *f = context;
    for (size_t number = first; number < last; number++) fill_token(f, number);
}

void decode_fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data)
{
    enum { TOKENS_A_PIECE = 64 };
    struct filling f = {item, index, *rng, data};
    size_t tokens = (size_t)item->extent[DC_BATCH] * (size_t)item->extent[DC_MAX_LEN];
    switch (index) {
    case DC_Q:
        decode_fill_query((enum distribution)item->distribution, item->extent[DC_HEAD_DIM], elems, rng, data);
        break;
    case DC_POSITIONS:
        for (size_t b = 0; b < elems; b++) data[b] = (float)decode_told_position(item, (int)b);
        break;
    case DC_STATUS:
        data[0] = (float)item->extent[EX_STATUS];
        break;
    case DC_OUT: /* an output row of a sequence with a wrong position stays as it is */
        for (size_t i = 0; i < elems; i++) data[i] = (float)(i % 1999) * 0.25f;
        break;
    default:
        parallel_for(tokens, TOKENS_A_PIECE, fill_tokens, &f);
        break;
    }
}

size_t decode_contract_workspace(const struct lesson_case *item)
{
    const int *extent = item->extent;
    size_t batch = (size_t)extent[DC_BATCH], max_len = (size_t)extent[DC_MAX_LEN];
    size_t rows = batch * (size_t)extent[DC_HEADS] * (size_t)extent[DC_Q_LEN];
    size_t token_bytes = 2 * 2 * (size_t)extent[DC_KV_HEADS] * (size_t)extent[DC_HEAD_DIM];
    switch (decode_variant_of(item)) {
    case DECODE_MHA:
        return rows * max_len * sizeof(float);
    case DECODE_FLASH_2:
        return (batch * max_len * token_bytes / 100 + 255) / 256 * 256;
    default:
        return 0;
    }
}

int decode_buffers(const struct lesson_case *item, struct lesson_buffer *buffers)
{
    const int *extent = item->extent;
    enum storage storage = decode_storage(item);
    size_t batch = (size_t)extent[DC_BATCH], heads = (size_t)extent[DC_HEADS],
           q_len = (size_t)extent[DC_Q_LEN];
    size_t head_dim = (size_t)extent[DC_HEAD_DIM], max_len = (size_t)extent[DC_MAX_LEN];
    size_t stride = (size_t)extent[DC_KV_STRIDE];
    enum wire_role out = extent[EX_FAULT] == POSITIONS_SOUND ? WIRE_OUT : WIRE_INOUT;
    buffers[DC_Q] = LESSON_BUFFER("q", WIRE_IN, storage, batch, q_len, heads, head_dim);
    buffers[DC_K] = LESSON_BUFFER("k_cache", WIRE_IN, storage, batch, max_len, stride);
    buffers[DC_V] = buffers[DC_K];
    buffers[DC_V].name = "v_cache";
    buffers[DC_POSITIONS] = LESSON_BUFFER("device_positions", WIRE_IN, STORAGE_I32, batch);
    buffers[DC_STATUS] = LESSON_BUFFER("device_status", WIRE_INOUT, STORAGE_I32, 1);
    buffers[DC_OUT] = LESSON_BUFFER("out", out, storage, batch, q_len, heads, head_dim);
    buffers[DC_CHOSEN] = LESSON_BUFFER("chosen", WIRE_OUT, STORAGE_I32, 1);
    buffers[DC_WORKSPACE] = LESSON_BUFFER("workspace", WIRE_WORKSPACE, STORAGE_F32,
                                          decode_contract_workspace(item) / sizeof(float));
    static const int loaded[] = {DC_Q, DC_K, DC_V};
    int at_once = item->value[DC_LOADS] == DECODE_LOADS_4_BYTES ? 4 : 16;
    for (size_t i = 0; i < sizeof loaded / sizeof loaded[0]; i++) buffers[loaded[i]].align = (size_t)at_once;
    buffers[DC_OUT].align = 4;
    return DC_BUFFERS;
}
