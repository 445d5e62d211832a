/**
 * @file guess_causes.c
 * @brief The causes behind guesses. Guesses with one cause stand together in the order in which they are
 *        tried.
 */
#include "guess_causes.h"

#include "decode_cases.h"

/** A run of guesses that begins with number @c first and ends before the next run. */
struct run {
    int first;
    enum record_cause cause;
    /* number of messages that the guesses of the run share, in rotation; 0: each has its own */
    int sentences;
};

/* What a kernel forgets from one piece of the keys to the next (attention_guess.c): eight sizes, seven
 * numbers of workers. */
static const struct run PIECES[] = {
    {0, RECORD_CAUSE_RESCALE, 8},     {56, RECORD_CAUSE_RESCALE, 8},    {112, RECORD_CAUSE_RESCALE, 8},
    {168, RECORD_CAUSE_NORMALISE, 8}, {224, RECORD_CAUSE_NORMALISE, 8}, {280, RECORD_CAUSE_PARTIALS, 0},
    {448, RECORD_CAUSE_RESCALE, 8},   {504, RECORD_CAUSE_RESCALE, 8},   {560, RECORD_CAUSE_RESCALE, 8},
};
static const struct run ATTENTION[] = {
    {0, RECORD_CAUSE_MAXIMUM, 0},    {1, RECORD_CAUSE_SCALE, 0},         {3, RECORD_CAUSE_HEAD_DIM, 0},
    {6, RECORD_CAUSE_SCALE, 0},      {7, RECORD_CAUSE_MASK, 0},          {11, RECORD_CAUSE_KV_HEAD, 0},
    {15, RECORD_CAUSE_NORMALISE, 0}, {18, RECORD_CAUSE_MAXIMUM, 0},      {21, RECORD_CAUSE_WEIGHTS, 0},
    {22, RECORD_CAUSE_TAIL, 0},      {33, RECORD_CAUSE_MASK, 1},         {36, RECORD_CAUSE_KV_TILES, 0},
    {47, RECORD_CAUSE_EXPONENT, 0},  {49, RECORD_CAUSE_VALUES, 0},       {53, RECORD_CAUSE_SCALE, 0},
    {54, RECORD_CAUSE_FRAGMENT, 0},  {55, RECORD_CAUSE_STORAGE_TYPE, 0}, {59, RECORD_CAUSE_WEIGHTS, 0},
    {60, RECORD_CAUSE_LSE, 0},       {64, RECORD_CAUSE_Q_TILES, 1},      {70, RECORD_CAUSE_HEAD_DIM, 0},
    {73, RECORD_CAUSE_WEIGHTS, 0},
};
static const struct run GEMM[] = {
    {0, RECORD_CAUSE_TRANSPOSED_OUTPUT, 0}, {1, RECORD_CAUSE_LAYOUT, 0},
    {4, RECORD_CAUSE_LEADING_DIMENSION, 0}, {6, RECORD_CAUSE_STORAGE_TYPE, 0},
    {8, RECORD_CAUSE_ALPHA_BETA, 0},        {14, RECORD_CAUSE_K_TAIL, 0},
    {19, RECORD_CAUSE_K_TILES, 0},          {23, RECORD_CAUSE_K_TAIL, 0},
    {26, RECORD_CAUSE_K_TILES, 0},          {28, RECORD_CAUSE_STAGES, 3},
};
static const struct run INT8[] = {
    {0, RECORD_CAUSE_BYTES, 0},           {3, RECORD_CAUSE_ACCUMULATOR, 0},
    {5, RECORD_CAUSE_DEQUANTISATION, 0},  {8, RECORD_CAUSE_BIAS, 0},
    {9, RECORD_CAUSE_DEQUANTISATION, 0},  {10, RECORD_CAUSE_BIAS, 0},
    {11, RECORD_CAUSE_DEQUANTISATION, 0}, {15, RECORD_CAUSE_ACCUMULATOR, 0},
    {16, RECORD_CAUSE_FRAGMENT, 0},
};
static const struct run DECODE[] = {
    {0, RECORD_CAUSE_WARP_REDUCTION, 0}, {2, RECORD_CAUSE_WARP_REDUCTION, 1}, {4, RECORD_CAUSE_POSITION, 0},
    {10, RECORD_CAUSE_KV_TILES, 1},      {12, RECORD_CAUSE_KV_TILES, 0},      {13, RECORD_CAUSE_KV_HEAD, 0},
    {14, RECORD_CAUSE_KV_ROWS, 0},       {17, RECORD_CAUSE_Q_ROWS, 0},        {18, RECORD_CAUSE_SCALE, 0},
    {20, RECORD_CAUSE_NORMALISE, 0},     {21, RECORD_CAUSE_MAXIMUM, 0},       {22, RECORD_CAUSE_HEAD_DIM, 0},
    {28, RECORD_CAUSE_Q_ROWS, 0},        {29, RECORD_CAUSE_RESCALE, 1},       {31, RECORD_CAUSE_RESCALE, 1},
    {33, RECORD_CAUSE_RESCALE, 1},       {35, RECORD_CAUSE_VALUES, 1},        {37, RECORD_CAUSE_KV_ROWS, 1},
    {39, RECORD_CAUSE_POSITION, 0},
};
static const struct run PAGED[] = {
    {0, RECORD_CAUSE_PAGE_TABLE, 0}, {2, RECORD_CAUSE_KV_HEAD, 0}, {3, RECORD_CAUSE_SCALE, 0},
    {5, RECORD_CAUSE_ALIBI, 0},      {6, RECORD_CAUSE_TAIL, 0},    {7, RECORD_CAUSE_NORMALISE, 0},
    {8, RECORD_CAUSE_MAXIMUM, 0},    {9, RECORD_CAUSE_ALIBI, 0},   {11, RECORD_CAUSE_KV_ROWS, 0},
};
static const struct run BACKWARD[] = {
    {0, RECORD_CAUSE_DELTA, 0},     {8, RECORD_CAUSE_PROBABILITIES, 0}, {11, RECORD_CAUSE_SCALE, 0},
    {13, RECORD_CAUSE_TERMS, 0},    {14, RECORD_CAUSE_SCALE, 0},        {17, RECORD_CAUSE_MASK, 0},
    {21, RECORD_CAUSE_MASK, 1},     {24, RECORD_CAUSE_MASK, 1},         {26, RECORD_CAUSE_MASK, 0},
    {27, RECORD_CAUSE_KV_HEAD, 0},  {30, RECORD_CAUSE_Q_TILES, 1},      {32, RECORD_CAUSE_KV_TILES, 0},
    {33, RECORD_CAUSE_Q_TILES, 1},  {35, RECORD_CAUSE_KV_TILES, 0},     {36, RECORD_CAUSE_PARTIALS, 1},
    {38, RECORD_CAUSE_Q_TILES, 1},  {40, RECORD_CAUSE_Q_TILES, 1},      {42, RECORD_CAUSE_KV_TILES, 1},
    {44, RECORD_CAUSE_PRODUCTS, 0}, {51, RECORD_CAUSE_FRAGMENT, 0},     {56, RECORD_CAUSE_TERMS, 0},
    {57, RECORD_CAUSE_FRAGMENT, 0}, {59, RECORD_CAUSE_TERMS, 0},        {60, RECORD_CAUSE_PARTIALS, 0},
};
static const struct run ENGINE[] = {
    {0, RECORD_CAUSE_LOGITS, 0},   {1, RECORD_CAUSE_NORM, 0},      {10, RECORD_CAUSE_ROPE, 0},
    {11, RECORD_CAUSE_ROPE, 1},    {13, RECORD_CAUSE_ROPE, 0},     {14, RECORD_CAUSE_ROPE, 1},
    {16, RECORD_CAUSE_ROPE, 0},    {18, RECORD_CAUSE_SCALE, 0},    {19, RECORD_CAUSE_MASK, 0},
    {20, RECORD_CAUSE_KV_HEAD, 0}, {21, RECORD_CAUSE_KV_CACHE, 0}, {22, RECORD_CAUSE_RESIDUAL, 0},
    {25, RECORD_CAUSE_MLP, 0},     {27, RECORD_CAUSE_NORM, 0},     {29, RECORD_CAUSE_LOGITS, 0},
};
static const struct run GRAPH[] = {
    {0, RECORD_CAUSE_GRAPH, 0},   {2, RECORD_CAUSE_GRAPH_CREATION, 0},
    {3, RECORD_CAUSE_GRAPH, 0},   {4, RECORD_CAUSE_GRAPH_CREATION, 0},
    {5, RECORD_CAUSE_PADDING, 0}, {8, RECORD_CAUSE_HOST_MEMORY, 0},
};
static const struct run ROWS[] = {
    {0, RECORD_CAUSE_TAIL, 0},
    {7, RECORD_CAUSE_RESCALE, 0},
};
static const struct run MERGE[] = {
    {0, RECORD_CAUSE_RESCALE, 1},
    {2, RECORD_CAUSE_RESCALE, 0},
};

#define RUNS(runs) (runs), (int)(sizeof(runs) / sizeof(runs)[0])

/* The number of the first guess with the same message. */
static int about(const struct run *runs, int count, int index, enum record_cause *cause)
{
    int last = 0;
    while (last + 1 < count && runs[last + 1].first <= index) last++;
    const struct run *run = &runs[last];
    *cause = run->cause;
    return run->sentences > 0 ? run->first + (index - run->first) % run->sentences : index;
}

/* The same for tables in which the guesses about pieces begin at number @p known. */
static int about_pieces(int known, int index, enum record_cause *cause)
{
    return known + about(RUNS(PIECES), index - known, cause);
}

int attention_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause)
{
    enum { KNOWN = 76 };
    (void)item, (void)buffer;
    return index < KNOWN ? about(RUNS(ATTENTION), index, cause) : about_pieces(KNOWN, index, cause);
}

int gemm_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause)
{
    (void)item, (void)buffer;
    return about(RUNS(GEMM), index, cause);
}

int int8_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause)
{
    enum { OWN = 26 };
    return index < OWN ? about(RUNS(INT8), index, cause) : OWN + gemm_about(item, buffer, index - OWN, cause);
}

int decode_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause)
{
    enum { KNOWN = 40 };
    (void)item;
    if (buffer == DC_OUT)
        return index < KNOWN ? about(RUNS(DECODE), index, cause) : about_pieces(KNOWN, index, cause);
    *cause = buffer == DC_STATUS ? RECORD_CAUSE_POSITION : RECORD_CAUSE_VARIANT;
    return index;
}

int paged_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause)
{
    enum { KNOWN = 12 };
    (void)item, (void)buffer;
    return index < KNOWN ? about(RUNS(PAGED), index, cause) : about_pieces(KNOWN, index, cause);
}

int backward_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause)
{
    (void)item, (void)buffer;
    return about(RUNS(BACKWARD), index, cause);
}

int engine_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause)
{
    (void)item, (void)buffer;
    return about(RUNS(ENGINE), index, cause);
}

int graph_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause)
{
    (void)item, (void)buffer;
    return about(RUNS(GRAPH), index, cause);
}

int rows_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause)
{
    (void)item, (void)buffer;
    return about(RUNS(ROWS), index, cause);
}

int merge_about(const struct lesson_case *item, int buffer, int index, enum record_cause *cause)
{
    (void)item, (void)buffer;
    return about(RUNS(MERGE), index, cause);
}
