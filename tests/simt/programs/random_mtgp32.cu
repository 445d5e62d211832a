/**
 * cuRAND's MTGP32, in kernels and by the host interface. The expected numbers in random_mtgp32.h are cuRAND's own, made on a CPU by this
 * very program:
 *
 *   nvcc -DWRITE -o write tests/simt/programs/random_mtgp32.cu -lcurand && ./write > tests/simt/programs/random_mtgp32.h
 *
 * In kernels it is tried with parameters of this program's own, too, so that something of it is tried where no CUDA Toolkit is installed.
 */
#ifdef WRITE
#define QUALIFIERS static inline
#define HOST_HAVE_ERFCINVF
#endif
#include <curand_kernel.h>
#include <curand_mtgp32_host.h>
#include <curand_mtgp32dc_p_11213.h>

#include "../random_results.h"
#ifndef WRITE
#include "random_mtgp32.h"
#endif

/* ---- MTGP32 in kernels --------------------------------------------------------------------------------- */

enum { SETS = CURAND_NUM_MTGP32_PARAMS, STATES = 3, MOST_THREADS = 256, ROUNDS = 6, SHAPES = 5 };
static const dim3 shapes[SHAPES] = {dim3(1), dim3(32), dim3(100), dim3(16, 9), dim3(256)};

/* What every thread draws: words, and one of each other kind. */
struct drawn {
    unsigned words[ROUNDS], specific, after;
    float uniform, normal, log_normal, single;
    double uniform_double, normal_double, log_normal_double;
};

/* Parameters like those of the generator, of which nobody knows the period. */
static void make_own_parameters(mtgp32_params_fast_t *all)
{
    unsigned long long random = 12345;
    memset(all, 0, SETS * sizeof *all);
    for (int set = 0; set < SETS; set++) {
        mtgp32_params_fast_t *p = &all[set];
        p->mexp = MTGPDC_MEXP;
        p->pos = 3 + set % 90;
        p->sh1 = 1 + set % 30;
        p->sh2 = 1 + set % 13;
        p->mask = 0xfff80000u;
        for (int bit = 1; bit < TBL_SIZE; bit *= 2) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            const unsigned row = (unsigned)(random >> 32), tempering = (unsigned)(random >> 16);
            for (int i = bit; i < 2 * bit; i++) {
                p->tbl[i] = p->tbl[i - bit] ^ row;
                p->tmp_tbl[i] = p->tmp_tbl[i - bit] ^ tempering;
            }
        }
        for (int i = 0; i < TBL_SIZE; i++) p->flt_tmp_tbl[i] = 0x3f800000u | p->tmp_tbl[i] >> 9;
    }
}

#ifdef WRITE
const dim3 blockDim(1);
const uint3 threadIdx = {0, 0, 0};

/* cuRAND's functions, one thread after the other: the thread 0, which moves the state on, is the last. */
static unsigned step_on_cpu(curandStateMtgp32_t *state, unsigned thread, unsigned threads)
{
    const unsigned word = curand_mtgp32_specific(state, (unsigned char)thread, (unsigned char)threads);
    if (thread == 0 && threads == 256) state->offset = (state->offset + 256) & MTGP32_STATE_MASK;
    return word;
}

static void draw_all(mtgp32_params_fast_t *parameters, dim3 shape, unsigned long long seed, drawn *out)
{
    static mtgp32_kernel_params_t k;
    static curandStateMtgp32_t states[STATES];
    const unsigned threads = shape.x * shape.y;
    k.mask[0] = parameters[0].mask;
    for (int set = 0; set < SETS; set++) {
        k.pos_tbl[set] = parameters[set].pos;
        k.sh1_tbl[set] = parameters[set].sh1;
        k.sh2_tbl[set] = parameters[set].sh2;
        memcpy(k.param_tbl[set], parameters[set].tbl, sizeof k.param_tbl[set]);
        memcpy(k.temper_tbl[set], parameters[set].tmp_tbl, sizeof k.temper_tbl[set]);
        memcpy(k.single_temper_tbl[set], parameters[set].flt_tmp_tbl, sizeof k.single_temper_tbl[set]);
    }
    for (int i = 0; i < STATES; i++) {
        mtgp32_init_state(states[i].s, &parameters[i], (unsigned)(seed ^ seed >> 32) + i + 1);
        states[i].offset = 0;
        states[i].pIdx = i;
        states[i].k = &k;
        drawn *block = out + i * MOST_THREADS;
        for (int round = 0; round < ROUNDS; round++)
            for (unsigned t = threads; t-- > 0;) block[t].words[round] = step_on_cpu(&states[i], t, threads);
        for (unsigned t = threads; t-- > 0;)
            block[t].uniform = _curand_uniform(step_on_cpu(&states[i], t, threads));
        for (unsigned t = threads; t-- > 0;)
            block[t].uniform_double = _curand_uniform_double(step_on_cpu(&states[i], t, threads));
        for (unsigned t = threads; t-- > 0;)
            block[t].normal = _curand_normal_icdf(step_on_cpu(&states[i], t, threads));
        for (unsigned t = threads; t-- > 0;)
            block[t].normal_double = _curand_normal_icdf_double(step_on_cpu(&states[i], t, threads));
        for (unsigned t = threads; t-- > 0;)
            block[t].log_normal =
                expf(0.5f + 0.25f * _curand_normal_icdf(step_on_cpu(&states[i], t, threads)));
        for (unsigned t = threads; t-- > 0;)
            block[t].log_normal_double =
                exp(0.5 + 0.25 * _curand_normal_icdf_double(step_on_cpu(&states[i], t, threads)));
        for (unsigned t = 0; t < threads; t++)
            block[t].specific =
                curand_mtgp32_specific(&states[i], (unsigned char)(threads - 1 - t), (unsigned char)threads);
        for (unsigned t = threads; t-- > 0;) block[t].after = step_on_cpu(&states[i], t, threads);
        if (threads == 1)
            block[0].single =
                curand_mtgp32_single(&states[i]) + curand_mtgp32_single_specific(&states[i], 5, 3);
    }
}
#else
static __global__ void draw_kernel(curandStateMtgp32_t *states, drawn *out)
{
    curandStateMtgp32_t *state = &states[blockIdx.x];
    const unsigned t = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
    drawn mine;
    for (int round = 0; round < ROUNDS; round++) mine.words[round] = curand(state);
    mine.uniform = curand_uniform(state);
    mine.uniform_double = curand_uniform_double(state);
    mine.normal = curand_normal(state);
    mine.normal_double = curand_normal_double(state);
    mine.log_normal = curand_log_normal(state, 0.5f, 0.25f);
    mine.log_normal_double = curand_log_normal_double(state, 0.5, 0.25);
    mine.specific = curand_mtgp32_specific(state, (unsigned char)(threads - 1 - t), (unsigned char)threads);
    mine.after = curand(state);
    mine.single = 0;
    if (threads == 1) /* with more, their numbers depend on the order of threads */
        mine.single = curand_mtgp32_single(state) + curand_mtgp32_single_specific(state, 5, 3);
    out[blockIdx.x * MOST_THREADS + t] = mine;
}

static void draw_all(mtgp32_params_fast_t *parameters, dim3 shape, unsigned long long seed, drawn *out)
{
    mtgp32_kernel_params_t *k = device_array<mtgp32_kernel_params_t>(1);
    curandStateMtgp32_t *states = device_array<curandStateMtgp32_t>(STATES);
    ask("constants", curandMakeMTGP32Constants(parameters, k));
    ask("states", curandMakeMTGP32KernelState(states, parameters, k, STATES, seed));
    drawn *device = upload(out, STATES * MOST_THREADS);
    draw_kernel<<<STATES, shape>>>(states, device);
    finish_launch("draw_kernel");
    download(out, device, STATES * MOST_THREADS);
    release(device);
    release(states);
    release(k);
}
#endif

static void draw_shape(mtgp32_params_fast_t *parameters, dim3 shape, unsigned long long seed, results *got)
{
    static drawn all[STATES * MOST_THREADS];
    memset(all, 0, sizeof all);
    memset(got, 0, sizeof *got);
    draw_all(parameters, shape, seed, all);
    for (int i = 0; i < STATES * MOST_THREADS; i++) {
        const drawn *one = &all[i];
        got->exact[0] = got->exact[0] * 31 + hash<unsigned>(one->words, ROUNDS);
        got->exact[1] = got->exact[1] * 31 + hash<unsigned>(&one->uniform, 1);
        got->exact[2] = got->exact[2] * 31 + hash<unsigned long long>(&one->uniform_double, 1);
        got->exact[3] = got->exact[3] * 31 + one->specific;
        got->exact[4] = got->exact[4] * 31 + one->after;
        got->exact[7] = got->exact[7] * 31 + hash<unsigned>(&one->single, 1);
        got->close[0] += one->normal;
        got->close[1] += one->normal_double;
        got->close[2] += one->log_normal;
        got->close[3] += one->log_normal_double;
    }
    for (int i = 0; i < ROUNDS; i++) got->exact[5] = got->exact[5] * 31 + all[MOST_THREADS].words[i];
    got->exact[6] = all[2 * MOST_THREADS].after;
}

/* Whether cuRAND's own parameters are there: on the software device they are where a CUDA Toolkit is installed. */
static int has_parameters(void)
{
#ifdef __SIMT__
    return simt_mtgp_sets() != 0;
#else
    return 1;
#endif
}

static void in_kernels(void)
{
    static mtgp32_params_fast_t own[SETS];
    static const unsigned long long seeds[2] = {1234, 0xfedcba9876543210ull};
    results got[SHAPES];
    make_own_parameters(own);
    for (int i = 0; i < SHAPES; i++) draw_shape(own, shapes[i], seeds[i % 2], &got[i]);
    COMPARE(in_kernels_own, got, SHAPES);
    if (!has_parameters()) return;
    for (int i = 0; i < SHAPES; i++) draw_shape(mtgp32dc_params_fast_11213, shapes[i], seeds[i % 2], &got[i]);
    COMPARE(in_kernels_mtgp, got, SHAPES);
}

static void by_host(void)
{
    results got[3];
    curandGenerator_t generator;
#ifdef WRITE
    const int written = 1;
#else
    const int written = 0;
#endif
    memset(got, 0, sizeof got);
    for (int i = 0; i < 2; i++) {
        generator = make(CURAND_RNG_PSEUDO_MTGP32,
                         i == 0 ? CURAND_ORDERING_PSEUDO_DEFAULT : CURAND_ORDERING_PSEUDO_LEGACY, 1234);
        draw_many(generator, 100000, written, &got[i]);
        ask("destroy", curandDestroyGenerator(generator));
    }
    few_words(CURAND_RNG_PSEUDO_MTGP32, 0, &got[0].exact[5]);
    few_words(CURAND_RNG_PSEUDO_MTGP32, 0xfedcba9876543210ull, &got[0].exact[6]);
    manners(CURAND_RNG_PSEUDO_MTGP32, &got[2]);
    COMPARE(by_host_mtgp, got, 3);
}

int main(void)
{
#ifdef WRITE
    printf("/** What random_mtgp32.cu expects: written by it. */\n");
#endif
    in_kernels();
    if (has_parameters()) by_host();
#ifdef WRITE
    return g_failures;
#else
    return finish("random_mtgp32");
#endif
}
