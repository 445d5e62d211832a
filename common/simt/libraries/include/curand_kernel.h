/**
 * @file curand_kernel.h
 * @brief cuRAND in kernels: XORWOW, MRG32k3a, MTGP32, Philox4x32-10 and Sobol sequences. Bits and uniform numbers are cuRAND's; normal numbers are made by the same
 *        formula, and may differ from a GPU's by what its sine, logarithm and inverse error function are off.
 */
#pragma once

#pragma GCC system_header

#define CURAND_KERNEL_H_

#include "cuda_runtime.h"
#include "curand.h"
#include "curand_mtgp32.h"
#include "simt/random.h"

#define CURAND_2POW32_INV (2.3283064e-10f)
#define CURAND_2POW32_INV_DOUBLE (2.3283064365386963e-10)
#define CURAND_2POW53_INV_DOUBLE (1.1102230246251565e-16)

/** @brief The second of two normal numbers is kept for the next call. */
struct simt_kept_normals {
    int has_float, has_double;
    float next_float;
    double next_double;
};
struct curandStateXORWOW {
    unsigned int d, v[5];
    struct simt_kept_normals kept;
};
typedef struct curandStateXORWOW curandStateXORWOW_t;
typedef struct curandStateXORWOW curandState_t;
typedef struct curandStateXORWOW curandState;
struct curandStatePhilox4_32_10 {
    uint4 ctr, output;
    uint2 key;
    unsigned int STATE;
    struct simt_kept_normals kept;
};
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
struct curandStateMRG32k3a {
    struct simt_mrg s;
    struct simt_kept_normals kept;
};
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t;

/* ---- XORWOW -------------------------------------------------------------------------------------------- */

SIMT_INLINE void skipahead(unsigned long long n, curandStateXORWOW_t *state)
{
    curandStateXORWOW_t s = *state;
    simt_xorwow_skip(s.v, &s.d, n);
    *state = s;
}
SIMT_INLINE void skipahead_sequence(unsigned long long n, curandStateXORWOW_t *state)
{
    curandStateXORWOW_t s = *state;
    simt_xorwow_skip_sequences(s.v, n);
    *state = s;
}
SIMT_INLINE void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                             curandStateXORWOW_t *state)
{
    curandStateXORWOW_t s = {};
    simt_xorwow_seed(s.v, &s.d, seed);
    simt_xorwow_skip_sequences(s.v, subsequence);
    simt_xorwow_skip(s.v, &s.d, offset);
    *state = s;
}
SIMT_INLINE unsigned int curand(curandStateXORWOW_t *state)
{
    return simt_xorwow_next(state->v, &state->d);
}

/* ---- Philox -------------------------------------------------------------------------------------------- */

SIMT_INLINE void simt_philox_fill(curandStatePhilox4_32_10_t &s)
{
    simt_philox(&s.ctr.x, &s.key.x, &s.output.x);
}
SIMT_INLINE void simt_philox_count(curandStatePhilox4_32_10_t &s, unsigned long long n)
{
    const unsigned long long low = s.ctr.x | (unsigned long long)s.ctr.y << 32, sum = low + n;
    s.ctr.x = (unsigned int)sum;
    s.ctr.y = (unsigned int)(sum >> 32);
    if (sum < low && ++s.ctr.z == 0) s.ctr.w++;
}
SIMT_INLINE void skipahead(unsigned long long n, curandStatePhilox4_32_10_t *state)
{
    curandStatePhilox4_32_10_t s = *state;
    s.STATE += (unsigned int)(n & 3);
    simt_philox_count(s, n / 4 + s.STATE / 4);
    s.STATE %= 4;
    simt_philox_fill(s);
    *state = s;
}
SIMT_INLINE void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t *state)
{
    curandStatePhilox4_32_10_t s = *state;
    const unsigned long long high = (s.ctr.z | (unsigned long long)s.ctr.w << 32) + n;
    s.ctr.z = (unsigned int)high;
    s.ctr.w = (unsigned int)(high >> 32);
    simt_philox_fill(s);
    *state = s;
}
SIMT_INLINE void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                             curandStatePhilox4_32_10_t *state)
{
    curandStatePhilox4_32_10_t s = {};
    s.key = uint2{(unsigned int)seed, (unsigned int)(seed >> 32)};
    skipahead_sequence(subsequence, &s);
    skipahead(offset, &s);
    *state = s;
}
SIMT_INLINE unsigned int curand(curandStatePhilox4_32_10_t *state)
{
    curandStatePhilox4_32_10_t s = *state;
    const unsigned int value = s.STATE == 0 ? s.output.x : s.STATE == 1 ? s.output.y : s.STATE == 2 ? s.output.z : s.output.w;
    if (++s.STATE == 4) {
        simt_philox_count(s, 1);
        simt_philox_fill(s);
        s.STATE = 0;
    }
    *state = s;
    return value;
}
SIMT_INLINE uint4 curand4(curandStatePhilox4_32_10_t *state)
{
    curandStatePhilox4_32_10_t s = *state;
    const uint4 a = s.output;
    simt_philox_count(s, 1);
    simt_philox_fill(s);
    const uint4 b = s.output;
    *state = s;
    return s.STATE == 0   ? a
           : s.STATE == 1 ? uint4{a.y, a.z, a.w, b.x}
           : s.STATE == 2 ? uint4{a.z, a.w, b.x, b.y}
                          : uint4{a.w, b.x, b.y, b.z};
}

/* ---- MRG32k3a ------------------------------------------------------------------------------------------ */

SIMT_INLINE void simt_mrg_leap(unsigned long long n, int power, curandStateMRG32k3a_t *state)
{
    struct simt_mrg s = state->s;
    simt_mrg_skip(&s, n, power);
    state->s = s;
}
SIMT_INLINE void skipahead(unsigned long long n, curandStateMRG32k3a_t *state) { simt_mrg_leap(n, SIMT_MRG_STEPS, state); }
SIMT_INLINE void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a_t *state)
{
    simt_mrg_leap(n, SIMT_MRG_SUBSEQUENCES, state);
}
SIMT_INLINE void skipahead_sequence(unsigned long long n, curandStateMRG32k3a_t *state)
{
    simt_mrg_leap(n, SIMT_MRG_SEQUENCES, state);
}
SIMT_INLINE void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                             curandStateMRG32k3a_t *state)
{
    curandStateMRG32k3a_t s = {};
    simt_mrg_seed(&s.s, seed);
    skipahead_subsequence(subsequence, &s);
    skipahead(offset, &s);
    *state = s;
}
SIMT_INLINE unsigned int curand(curandStateMRG32k3a_t *state) { return simt_mrg_word(simt_mrg_next(&state->s)); }

/* ---- Sobol sequences ----------------------------------------------------------------------------------- */

/** @brief The point @p i has the coordinate x; a scrambled one begins at c. */
template <typename Word> struct simt_sobol {
    Word i, x, c, direction_vectors[8 * sizeof(Word)];
};
struct curandStateSobol32 : simt_sobol<unsigned int> {
};
struct curandStateScrambledSobol32 : simt_sobol<unsigned int> {
};
struct curandStateSobol64 : simt_sobol<unsigned long long> {
};
struct curandStateScrambledSobol64 : simt_sobol<unsigned long long> {
};
typedef struct curandStateSobol32 curandStateSobol32_t;
typedef struct curandStateScrambledSobol32 curandStateScrambledSobol32_t;
typedef struct curandStateSobol64 curandStateSobol64_t;
typedef struct curandStateScrambledSobol64 curandStateScrambledSobol64_t;

template <typename Word> SIMT_INLINE void skipahead(unsigned long long n, simt_sobol<Word> *state)
{
    Word x = state->c;
    const Word i = state->i + (Word)n;
    for (Word code = (Word)simt_sobol_code(i); code != 0; code &= code - 1)
        x ^= state->direction_vectors[__builtin_ctzll(code)];
    state->i = i;
    state->x = x;
}
template <typename Word>
SIMT_INLINE void simt_sobol_init(const Word *direction_vectors, Word c, Word offset, simt_sobol<Word> *state)
{
    for (unsigned k = 0; k < 8 * sizeof(Word); k++) state->direction_vectors[k] = direction_vectors[k];
    state->c = c;
    state->i = 0;
    skipahead(offset, state);
}
SIMT_INLINE void curand_init(curandDirectionVectors32_t direction_vectors, unsigned int offset, curandStateSobol32_t *state)
{
    simt_sobol_init(direction_vectors, 0u, offset, state);
}
SIMT_INLINE void curand_init(curandDirectionVectors32_t direction_vectors, unsigned int scramble_c, unsigned int offset,
                             curandStateScrambledSobol32_t *state)
{
    simt_sobol_init(direction_vectors, scramble_c, offset, state);
}
SIMT_INLINE void curand_init(curandDirectionVectors64_t direction_vectors, unsigned long long offset,
                             curandStateSobol64_t *state)
{
    simt_sobol_init(direction_vectors, 0ull, offset, state);
}
SIMT_INLINE void curand_init(curandDirectionVectors64_t direction_vectors, unsigned long long scramble_c,
                             unsigned long long offset, curandStateScrambledSobol64_t *state)
{
    simt_sobol_init(direction_vectors, scramble_c, offset, state);
}
template <typename Word> SIMT_INLINE Word curand(simt_sobol<Word> *state)
{
    const Word x = state->x, i = state->i;
    const int bit = simt_sobol_change(i);
    state->x = x ^ state->direction_vectors[bit < (int)(8 * sizeof(Word)) ? bit : (int)(8 * sizeof(Word)) - 1];
    state->i = i + 1;
    return x;
}

/* ---- MTGP32: a state is of a block of 256 threads at most, all of which call ------------------------------ */

#define SIMT_MTGP_WORD(state, i) (state)->s[(unsigned int)((i) + (state)->offset) & MTGP32_STATE_MASK]

/** @brief The next word of the state for the place @p t of the block. */
SIMT_INLINE unsigned int simt_mtgp_next(curandStateMtgp32_t *state, unsigned int t)
{
    const mtgp32_kernel_params_t *const k = state->k;
    const int set = state->pIdx;
    unsigned int x = (SIMT_MTGP_WORD(state, t) & k->mask[0]) ^ SIMT_MTGP_WORD(state, t + 1);
    x ^= x << k->sh1_tbl[set];
    const unsigned int y = x ^ (SIMT_MTGP_WORD(state, t + k->pos_tbl[set]) >> k->sh2_tbl[set]);
    return y ^ k->param_tbl[set][y & 15];
}
/** @brief What it is tempered with: four bits, the sums of a word's. */
SIMT_INLINE unsigned int simt_mtgp_temper(curandStateMtgp32_t *state, unsigned int t)
{
    unsigned int x = SIMT_MTGP_WORD(state, t + state->k->pos_tbl[state->pIdx] - 1);
    x ^= x >> 16;
    return (x ^ x >> 8) & 15;
}
/** @brief The line that calls a function, which has the barriers in it: a default argument is evaluated there. */
#define SIMT_MTGP_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

/** @brief All threads have read the state before it moves on, and it has before they read it again. */
SIMT_INLINE void simt_mtgp_move_on(curandStateMtgp32_t *state, bool moves, unsigned int n, const struct simt_site *site)
{
    (void)simt_block_barrier(site, SIMT_VOTE_NONE, 0);
    if (moves) state->offset = (int)((state->offset + n) & MTGP32_STATE_MASK);
    (void)simt_block_barrier(site, SIMT_VOTE_NONE, 0);
}

SIMT_OUTLINE void simt_mtgp_refuse(const char *function)
{
    simt_refuse_in_kernel(SIMT_CALLER, function, SIMT_MISUSE_MTGP_BLOCK);
}
SIMT_INLINE unsigned int simt_mtgp_threads(const char *function)
{
    const unsigned int threads = blockDim.x * blockDim.y * blockDim.z;
    if (threads > MTGPDC_FLOOR_2P) simt_mtgp_refuse(function);
    return threads;
}
SIMT_INLINE unsigned int curand(curandStateMtgp32_t *state, SIMT_MTGP_HERE)
{
    const unsigned int threads = simt_mtgp_threads("curand");
    const unsigned int t = blockDim.z * blockDim.y * threadIdx.z + blockDim.x * threadIdx.y + threadIdx.x; /* as cuRAND has it */
    const unsigned int next = simt_mtgp_next(state, t);
    SIMT_MTGP_WORD(state, t + MTGPDC_N) = next;
    const unsigned int word = next ^ state->k->temper_tbl[state->pIdx][simt_mtgp_temper(state, t)];
    simt_mtgp_move_on(state, t == 0, threads, simt_site_at(file, line, "curand"));
    return word;
}
/** @brief Of the place @p index among @p n that the block takes. */
SIMT_INLINE unsigned int curand_mtgp32_specific(curandStateMtgp32_t *state, unsigned char index, unsigned char n, SIMT_MTGP_HERE)
{
    const unsigned int next = simt_mtgp_next(state, index);
    SIMT_MTGP_WORD(state, index + MTGPDC_N) = next;
    const unsigned int word = next ^ state->k->temper_tbl[state->pIdx][simt_mtgp_temper(state, index)];
    simt_mtgp_move_on(state, index == 0, n, simt_site_at(file, line, "curand_mtgp32_specific"));
    return word;
}

/* These two are as cuRAND has them: they write the new word to a place that other threads read, so that the numbers of a block with
 * more threads than one depend on their order, and the device finds a race. */
SIMT_INLINE float simt_mtgp_single(curandStateMtgp32_t *state, unsigned int t)
{
    const unsigned int next = simt_mtgp_next(state, t);
    state->s[t] = next;
    const unsigned int bits = (next >> 9) ^ state->k->single_temper_tbl[state->pIdx][simt_mtgp_temper(state, t)];
    float number;
    __builtin_memcpy(&number, &bits, sizeof number);
    return number;
}
SIMT_INLINE float curand_mtgp32_single(curandStateMtgp32_t *state, SIMT_MTGP_HERE)
{
    const unsigned int threads = simt_mtgp_threads("curand_mtgp32_single");
    const float number = simt_mtgp_single(state, blockDim.z * blockDim.y + threadIdx.x);
    simt_mtgp_move_on(state, threadIdx.x == 0, threads, simt_site_at(file, line, "curand_mtgp32_single"));
    return number;
}
SIMT_INLINE float curand_mtgp32_single_specific(curandStateMtgp32_t *state, unsigned char index, unsigned char n, SIMT_MTGP_HERE)
{
    const float number = simt_mtgp_single(state, index);
    simt_mtgp_move_on(state, threadIdx.x == 0, n, simt_site_at(file, line, "curand_mtgp32_single_specific"));
    return number;
}

/* ---- distributions ------------------------------------------------------------------------------------- */

SIMT_INLINE float _curand_uniform(unsigned int x) { return x * CURAND_2POW32_INV + CURAND_2POW32_INV / 2.0f; }
SIMT_INLINE double simt_uniform_of_two(unsigned int x, unsigned int y)
{
    const unsigned long long bits = x ^ (unsigned long long)y << (53 - 32);
    return bits * CURAND_2POW53_INV_DOUBLE + CURAND_2POW53_INV_DOUBLE / 2.0;
}
SIMT_INLINE float2 simt_box_muller(float u, float angle)
{
    const float s = sqrtf(-2.0f * logf(u));
    return float2{s * sinf(angle), s * cosf(angle)};
}
SIMT_INLINE double2 simt_box_muller_double(double u, double angle)
{
    const double s = sqrt(-2.0 * log(u));
    return double2{s * sin(angle), s * cos(angle)};
}
SIMT_INLINE float2 simt_normals(unsigned int x, unsigned int y)
{
    return simt_box_muller(_curand_uniform(x), y * (CURAND_2POW32_INV * 6.2831855f) + (CURAND_2POW32_INV * 6.2831855f) / 2);
}
SIMT_INLINE double2 simt_normals_double(unsigned int x0, unsigned int x1, unsigned int y0, unsigned int y1)
{
    return simt_box_muller_double(simt_uniform_of_two(x0, x1), simt_uniform_of_two(y0, y1) * 6.2831853071795860);
}

template <typename S, size_t = sizeof(S::kept)> SIMT_INLINE float curand_uniform(S *state) { return _curand_uniform(curand(state)); }
SIMT_INLINE float curand_uniform(curandStateMRG32k3a_t *state) { return (float)simt_mrg_unit(simt_mrg_next(&state->s)); }
SIMT_INLINE double curand_uniform_double(curandStateMRG32k3a_t *state) { return simt_mrg_unit(simt_mrg_next(&state->s)); }
SIMT_INLINE double curand_uniform_double(curandStateXORWOW_t *state)
{
    const unsigned int x = curand(state), y = curand(state);
    return simt_uniform_of_two(x, y);
}
/** @brief Of 32 bits only. */
SIMT_INLINE double curand_uniform_double(curandStatePhilox4_32_10_t *state)
{
    return curand(state) * CURAND_2POW32_INV_DOUBLE + CURAND_2POW32_INV_DOUBLE;
}
SIMT_INLINE float4 curand_uniform4(curandStatePhilox4_32_10_t *state)
{
    const uint4 x = curand4(state);
    return float4{_curand_uniform(x.x), _curand_uniform(x.y), _curand_uniform(x.z), _curand_uniform(x.w)};
}
SIMT_INLINE double2 curand_uniform2_double(curandStatePhilox4_32_10_t *state)
{
    const uint4 x = curand4(state);
    return double2{simt_uniform_of_two(x.x, x.y), simt_uniform_of_two(x.z, x.w)};
}
template <typename S, size_t = sizeof(S::kept)> SIMT_INLINE float2 curand_normal2(S *state)
{
    const unsigned int x = curand(state), y = curand(state);
    return simt_normals(x, y);
}
SIMT_INLINE float2 curand_normal2(curandStateMRG32k3a_t *state)
{
    const float u = curand_uniform(state), v = curand_uniform(state) * 6.2831855f;
    return simt_box_muller(u, v);
}
template <typename S, size_t = sizeof(S::kept)> SIMT_INLINE float curand_normal(S *state)
{
    if (state->kept.has_float != 0) {
        state->kept.has_float = 0;
        return state->kept.next_float;
    }
    const float2 two = curand_normal2(state);
    state->kept.next_float = two.y;
    state->kept.has_float = 1;
    return two.x;
}
SIMT_INLINE float4 curand_normal4(curandStatePhilox4_32_10_t *state)
{
    const uint4 x = curand4(state);
    const float2 a = simt_normals(x.x, x.y), b = simt_normals(x.z, x.w);
    return float4{a.x, a.y, b.x, b.y};
}
template <typename S, size_t = sizeof(S::kept)> SIMT_INLINE double2 curand_normal2_double(S *state)
{
    const unsigned int x0 = curand(state), x1 = curand(state), y0 = curand(state), y1 = curand(state);
    return simt_normals_double(x0, x1, y0, y1);
}
SIMT_INLINE double2 curand_normal2_double(curandStateMRG32k3a_t *state)
{
    const double u = curand_uniform_double(state), v = curand_uniform_double(state) * 6.2831853071795860;
    return simt_box_muller_double(u, v);
}
template <typename S, size_t = sizeof(S::kept)> SIMT_INLINE double curand_normal_double(S *state)
{
    if (state->kept.has_double != 0) {
        state->kept.has_double = 0;
        return state->kept.next_double;
    }
    const double2 two = curand_normal2_double(state);
    state->kept.next_double = two.y;
    state->kept.has_double = 1;
    return two.x;
}
template <typename S, size_t = sizeof(S::kept)> SIMT_INLINE float curand_log_normal(S *state, float mean, float deviation)
{
    return expf(mean + deviation * curand_normal(state));
}
template <typename S, size_t = sizeof(S::kept)> SIMT_INLINE double curand_log_normal_double(S *state, double mean, double deviation)
{
    return exp(mean + deviation * curand_normal_double(state));
}

/* Quasi-random numbers: each of one word, by the inverse of the distribution; of 64 bits, floats take the upper 32. */
SIMT_INLINE unsigned int simt_upper(unsigned int x) { return x; }
SIMT_INLINE unsigned int simt_upper(unsigned long long x) { return (unsigned int)(x >> 32); }
SIMT_INLINE double simt_fine_unit(unsigned int x) { return x * CURAND_2POW32_INV_DOUBLE + CURAND_2POW32_INV_DOUBLE; }
SIMT_INLINE double simt_fine_unit(unsigned long long x)
{
    return (x >> 11) * CURAND_2POW53_INV_DOUBLE + CURAND_2POW53_INV_DOUBLE / 2.0;
}
SIMT_INLINE double simt_fine_normal(unsigned int x) { return simt_fine_normal_of_word((uint64_t)x << 32, 32); }
SIMT_INLINE double simt_fine_normal(unsigned long long x) { return simt_fine_normal_of_word(x, 53); }

template <typename Word> SIMT_INLINE float curand_uniform(simt_sobol<Word> *state)
{
    return _curand_uniform(simt_upper(curand(state)));
}
template <typename Word> SIMT_INLINE double curand_uniform_double(simt_sobol<Word> *state)
{
    return simt_fine_unit(curand(state));
}
template <typename Word> SIMT_INLINE float curand_normal(simt_sobol<Word> *state)
{
    return (float)simt_normal_of_word(simt_upper(curand(state)));
}
template <typename Word> SIMT_INLINE double curand_normal_double(simt_sobol<Word> *state)
{
    return simt_fine_normal(curand(state));
}
template <typename Word> SIMT_INLINE float curand_log_normal(simt_sobol<Word> *state, float mean, float deviation)
{
    return expf(mean + deviation * curand_normal(state));
}
template <typename Word>
SIMT_INLINE double curand_log_normal_double(simt_sobol<Word> *state, double mean, double deviation)
{
    return exp(mean + deviation * curand_normal_double(state));
}

/* Numbers of MTGP32, each of one word, too; doubles have 32 bits. */
SIMT_INLINE float curand_uniform(curandStateMtgp32_t *state, SIMT_MTGP_HERE) { return _curand_uniform(curand(state, file, line)); }
SIMT_INLINE double curand_uniform_double(curandStateMtgp32_t *state, SIMT_MTGP_HERE)
{
    return simt_fine_unit(curand(state, file, line));
}
SIMT_INLINE float curand_normal(curandStateMtgp32_t *state, SIMT_MTGP_HERE)
{
    return (float)simt_normal_of_word(curand(state, file, line));
}
SIMT_INLINE double curand_normal_double(curandStateMtgp32_t *state, SIMT_MTGP_HERE)
{
    return simt_fine_normal(curand(state, file, line));
}
SIMT_INLINE float curand_log_normal(curandStateMtgp32_t *state, float mean, float deviation, SIMT_MTGP_HERE)
{
    return expf(mean + deviation * curand_normal(state, file, line));
}
SIMT_INLINE double curand_log_normal_double(curandStateMtgp32_t *state, double mean, double deviation, SIMT_MTGP_HERE)
{
    return exp(mean + deviation * curand_normal_double(state, file, line));
}
