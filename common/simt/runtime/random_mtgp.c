/**
 * @file random_mtgp.c
 * @brief MTGP32's parameters, and what a host does for MTGP32 in kernels.
 *
 * The 200 sets of parameters are the work of Saito and Matsumoto, in the form in which NVIDIA hands them on: the header
 * curand_mtgp32dc_p_11213.h of the CUDA Toolkit. They are read from there when a program begins to use them.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../include/curand_mtgp32dc_p_11213.h"
#include "../include/curand_mtgp32_host.h"
#include "../include/cuda_runtime_api.h"
#include "../machine/trap.h"
#include "graph.h"
#include "random_mersenne.h"

enum { SETS = CURAND_NUM_MTGP32_PARAMS, SHA1_BYTES = 21 };

static struct mtgp32_params_fast *parameters; /* pages of their own */
static int found;
static pthread_once_t looked = PTHREAD_ONCE_INIT;

/* ---- the header ---------------------------------------------------------------------------------------- */

/* The next number of the text, or -1: comments and brackets are passed over. */
static int64_t number(const char **text)
{
    const char *at = *text;
    while (*at != '\0' && !isdigit((unsigned char)*at)) {
        if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            at = end != NULL ? end + 1 : at + strlen(at) - 1;
        }
        at++;
    }
    char *end;
    const int64_t value = *at != '\0' ? strtoll(at, &end, 0) : -1;
    *text = value >= 0 ? end : at;
    return value;
}

static void read_table(const char **text, uint32_t table[TBL_SIZE])
{
    for (int i = 0; i < TBL_SIZE; i++) table[i] = (uint32_t)number(text);
}

/* Whether sums of indices are sums of entries, as they are in the product of four bits and a matrix. */
static int is_linear(const uint32_t table[TBL_SIZE])
{
    for (int i = 0; i < TBL_SIZE; i++)
        if (table[i] != (table[i & 1] ^ table[i & 2] ^ table[i & 4] ^ table[i & 8])) return 0;
    return 1;
}

static int read_set(const char **text, struct mtgp32_params_fast *p)
{
    p->mexp = (int)number(text);
    p->pos = (int)number(text);
    p->sh1 = (int)number(text);
    p->sh2 = (int)number(text);
    read_table(text, p->tbl);
    read_table(text, p->tmp_tbl);
    read_table(text, p->flt_tmp_tbl);
    p->mask = (uint32_t)number(text);
    for (int i = 0; i < SHA1_BYTES; i++) {
        const int64_t byte = number(text);
        if (byte < 0 || byte > UCHAR_MAX) return 0;
        p->poly_sha1[i] = (unsigned char)byte;
    }
    for (int i = 0; i < TBL_SIZE; i++)
        if (p->flt_tmp_tbl[i] != (0x3f800000u | p->tmp_tbl[i] >> 9)) return 0;
    return p->mexp == MTGPDC_MEXP && p->pos > 1 && p->pos < MTGPDC_N - MTGPDC_FLOOR_2P && p->sh1 > 0 &&
           p->sh1 < 32 && p->sh2 > 0 && p->sh2 < 32 && is_linear(p->tbl) && is_linear(p->tmp_tbl);
}

static int read_header(const char *folder)
{
    char *name = NULL;
    if (asprintf(&name, "%s/curand_mtgp32dc_p_11213.h", folder) < 0) return 0;
    FILE *file = fopen(name, "r");
    free(name);
    if (file == NULL) return 0;
    char *text = NULL;
    size_t room = 0;
    int good = getdelim(&text, &room, '\0', file) > 0;
    fclose(file);
    const char *at = good ? strstr(text, "mtgp32dc_params_fast_11213[]") : NULL;
    at = at != NULL ? strchr(at, '{') : NULL;
    good = at != NULL;
    for (int i = 0; i < SETS && good; i++) good = read_set(&at, &parameters[i]);
    free(text);
    return good;
}

/* ---- where it is --------------------------------------------------------------------------------------- */

static int read_in_toolkit(const char *toolkit)
{
    char *folder = NULL;
    const int good = asprintf(&folder, "%s/include", toolkit) >= 0 && read_header(folder);
    free(folder);
    return good;
}

static int read_beside_library(void)
{
    void *library = dlopen("libcurand.so.10", RTLD_LAZY | RTLD_LOCAL);
    struct link_map *map = NULL;
    if (library == NULL || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return 0;
    char *name = realpath(map->l_name, NULL);
    const int good = name != NULL && read_in_toolkit(dirname(dirname(name)));
    free(name);
    return good;
}

static void look_for_parameters(void)
{
    const char *home = getenv("CUDA_HOME");
    if (home == NULL) home = getenv("CUDA_PATH");
    const size_t bytes = (SETS * sizeof *parameters + 4095) / 4096 * 4096;
    parameters = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (parameters == MAP_FAILED) abort();
    found = home != NULL
                ? read_in_toolkit(home)
                : read_in_toolkit("/usr/local/cuda") || read_in_toolkit("/usr") || read_beside_library();
    if (!found && mprotect(parameters, bytes, PROT_NONE) == 0)
        simt_trap_explain(
            parameters, bytes,
            "simt: unsupported: the parameters of MTGP32: they come from curand_mtgp32dc_p_11213.h of "
            "a CUDA Toolkit, which is not installed\n");
}

struct mtgp32_params_fast *simt_mtgp_parameters(void)
{
    pthread_once(&looked, look_for_parameters);
    return parameters;
}

simt_mtgp_table *simt_mtgp_all(void)
{
    return (simt_mtgp_table *)simt_mtgp_parameters();
}

int simt_mtgp_sets(void)
{
    pthread_once(&looked, look_for_parameters);
    return found ? SETS : 0;
}

int simt_mtgp_has(const char *function, void *caller)
{
    if (simt_mtgp_sets() != 0) return 1;
    const struct simt_site site = {"cuRAND", 0, function, caller};
    simt_finding(RECORD_UNSUPPORTED, &site, RECORD_SAYS_MTGP_MISSING, NULL);
    return 0;
}

void simt_mtgp_seed(uint32_t x[MTGPDC_N], const struct mtgp32_params_fast *p, uint32_t seed)
{
    const uint32_t hidden = p->tbl[4] ^ p->tbl[8] << 16;
    uint32_t byte = hidden + (hidden >> 16);
    byte += byte >> 8;
    memset(x, (int)(byte & 0xff), MTGPDC_N * sizeof *x);
    x[0] = seed;
    x[1] = hidden;
    for (uint32_t i = 1; i < MTGPDC_N; i++) x[i] ^= 1812433253u * (x[i - 1] ^ x[i - 1] >> 30) + i;
}

/* ---- for kernels --------------------------------------------------------------------------------------- */

static curandStatus_t copy(void *device, const void *host, size_t bytes)
{
    return cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice) == cudaSuccess
               ? CURAND_STATUS_SUCCESS
               : CURAND_STATUS_INITIALIZATION_FAILED;
}

curandStatus_t curandMakeMTGP32Constants(const struct mtgp32_params_fast params[],
                                         struct mtgp32_kernel_params *p)
{
    if (params == simt_mtgp_parameters() &&
        !simt_mtgp_has("curandMakeMTGP32Constants", __builtin_return_address(0)))
        return CURAND_STATUS_INITIALIZATION_FAILED;
    struct mtgp32_kernel_params *all = calloc(1, sizeof *all);
    if (all == NULL) return CURAND_STATUS_ALLOCATION_FAILED;
    for (int i = 0; i < SETS; i++) {
        all->pos_tbl[i] = (unsigned)params[i].pos;
        all->sh1_tbl[i] = (unsigned)params[i].sh1;
        all->sh2_tbl[i] = (unsigned)params[i].sh2;
        memcpy(all->param_tbl[i], params[i].tbl, sizeof params[i].tbl);
        memcpy(all->temper_tbl[i], params[i].tmp_tbl, sizeof params[i].tmp_tbl);
        memcpy(all->single_temper_tbl[i], params[i].flt_tmp_tbl, sizeof params[i].flt_tmp_tbl);
    }
    all->mask[0] = params[0].mask;
    const curandStatus_t status = copy(p, all, sizeof *all);
    free(all);
    return status;
}

curandStatus_t curandMakeMTGP32KernelState(struct curandStateMtgp32 *s, struct mtgp32_params_fast params[],
                                           struct mtgp32_kernel_params *k, int n, unsigned long long seed)
{
    if (params == simt_mtgp_parameters() &&
        !simt_mtgp_has("curandMakeMTGP32KernelState", __builtin_return_address(0)))
        return CURAND_STATUS_INITIALIZATION_FAILED;
    if (n < 1 || n > SETS) return CURAND_STATUS_OUT_OF_RANGE;
    struct curandStateMtgp32 *states = calloc((size_t)n, sizeof *states);
    if (states == NULL) return CURAND_STATUS_ALLOCATION_FAILED;
    for (int i = 0; i < n; i++) {
        simt_mtgp_seed(states[i].s, &params[i], (uint32_t)(seed ^ seed >> 32) + (uint32_t)i + 1);
        states[i].pIdx = i;
        states[i].k = k;
    }
    const curandStatus_t status = copy(s, states, (size_t)n * sizeof *states);
    free(states);
    return status;
}
