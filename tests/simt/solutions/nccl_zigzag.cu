// with: SIMT_DEVICES=8
/**
 * Lesson 19's ring in zigzag order on 1, 2, 4 and 8 devices: values within the bound of the oracle, the same bits when it is called
 * again at once, and as many bytes sent as the contiguous order sends. LEFT_OUT=N leaves line N of zigzag.cu out, if it records an
 * event or waits for one.
 */
#include "../nccl_ranks.h"

#include <string.h>

static int is_left_out(const char *file, int line)
{
    const char *left_out = getenv("LEFT_OUT");
    return left_out != NULL && atoi(left_out) == line && strstr(file, "zigzag.cu") != NULL;
}
#define cudaEventRecord(...) (is_left_out(__FILE__, __LINE__) ? cudaSuccess : cudaEventRecord(__VA_ARGS__))
#define cudaStreamWaitEvent(...)                                                                             \
    (is_left_out(__FILE__, __LINE__) ? cudaSuccess : cudaStreamWaitEvent(__VA_ARGS__))
#include "../../../solutions/19_several_gpus/steps/zigzag.cu"

extern "C" {
#include "../../../reference/attention.h"
}

enum { CALLS = 2 };

/** The whole sequence, [heads, tokens, head_dim], and what each call leaves of it. */
struct sequence {
    struct ring_sizes sizes;
    int ranks;
    float *q, *k, *v, *out[CALLS], *lse[CALLS];
};

static int tokens_of(const struct sequence *s)
{
    return s->ranks * s->sizes.part;
}

/** Copies the pieces of a rank out of a whole array with @p width floats per token, or back into it. */
static void share(const struct sequence *s, int rank, float *part, float *all, int width, int back)
{
    const int piece = s->sizes.part / 2;
    for (int i = 0; i < 2 * s->sizes.heads; i++, part += piece * width) {
        const int number = i < s->sizes.heads ? rank : 2 * s->ranks - 1 - rank;
        float *at = all + (size_t)(i % s->sizes.heads * tokens_of(s) + number * piece) * (size_t)width;
        memcpy(back ? at : part, back ? part : at, (size_t)(piece * width) * sizeof *at);
    }
}

/** An input of a rank, written by a copy that is still in its stream. */
static float *given(const struct sequence *s, const struct gpu_rank *r, float *all)
{
    const size_t count = (size_t)s->sizes.heads * s->sizes.part * s->sizes.head_dim;
    float *host = host_array<float>(count), *to = device_array<float>(count);
    share(s, r->rank, host, all, s->sizes.head_dim, 0);
    float *from = upload(host, count);
    require(cudaMemcpyAsync(to, from, count * sizeof *to, cudaMemcpyDeviceToDevice, r->stream), "given");
    require(cudaFreeAsync(from, r->stream), "given");
    free(host);
    return to;
}

static void take_back(const struct sequence *s, const struct gpu_rank *r, float *from, float *all, int width)
{
    const size_t count = (size_t)s->sizes.heads * s->sizes.part * width;
    float *host = host_array<float>(count);
    download(host, from, count);
    share(s, r->rank, host, all, width, 1);
    release(from);
    free(host);
}

static void open_rank(struct gpu_rank *r, ncclComm_t comm, int rank, int device)
{
    *r = {rank, device, comm, NULL, NULL, NULL, NULL};
    require(cudaSetDevice(device), "cudaSetDevice");
    require(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking), "cudaStreamCreate");
    require(cudaStreamCreateWithFlags(&r->transfer, cudaStreamNonBlocking), "cudaStreamCreate");
    require(cudaEventCreateWithFlags(&r->arrived, cudaEventDisableTiming), "cudaEventCreate");
    require(cudaEventCreateWithFlags(&r->used, cudaEventDisableTiming), "cudaEventCreate");
}

static void close_rank(const struct gpu_rank *r)
{
    require_nccl(ncclCommDestroy(r->comm), "ncclCommDestroy");
    require(cudaStreamDestroy(r->stream), "cudaStreamDestroy");
    require(cudaStreamDestroy(r->transfer), "cudaStreamDestroy");
    require(cudaEventDestroy(r->arrived), "cudaEventDestroy");
    require(cudaEventDestroy(r->used), "cudaEventDestroy");
}

/** Both calls, one behind the other. Rank r is on device r, or on the last but r. */
static void attend_to(const struct sequence *s, int reversed)
{
    const int n = s->ranks;
    const size_t lines = (size_t)s->sizes.heads * s->sizes.part, count = lines * s->sizes.head_dim;
    const size_t workspace = ring_attention_workspace_bytes(&s->sizes, n);
    struct gpu_ranks gpus = {n, n, {}};
    struct ring_parts parts[CALLS];
    ncclComm_t comms[MOST_GPUS];
    int devices[MOST_GPUS] = {};
    unsigned long long before[MOST_GPUS] = {};
    for (int r = 0; r < n; r++) devices[r] = reversed ? n - 1 - r : r, before[r] = bytes_sent_by(r);
    require_nccl(ncclCommInitAll(comms, n, devices), "ncclCommInitAll");
    for (int r = 0; r < n; r++) {
        open_rank(&gpus.at[r], comms[r], r, devices[r]);
        struct ring_part p = {given(s, &gpus.at[r], s->q),
                              given(s, &gpus.at[r], s->k),
                              given(s, &gpus.at[r], s->v),
                              NULL,
                              NULL,
                              NULL,
                              workspace};
        if (workspace > 0) p.workspace = device_array<char>(workspace);
        for (int call = 0; call < CALLS; call++, parts[call - 1].at[r] = p)
            p.out = device_array<float>(count), p.lse = device_array<float>(lines);
    }
    for (int call = 0; call < CALLS; call++)
        expect_equal("status", call, zigzag_attention(&gpus, &s->sizes, &parts[call]), KERNEL_OK);
    for (int r = 0; r < n; r++) {
        require(cudaSetDevice(devices[r]), "cudaSetDevice");
        finish_launch("zigzag");
        for (int call = 0; call < CALLS; call++) {
            take_back(s, &gpus.at[r], parts[call].at[r].out, s->out[call], s->sizes.head_dim);
            take_back(s, &gpus.at[r], parts[call].at[r].lse, s->lse[call], 1);
        }
        const struct ring_part *p = &parts[0].at[r];
        const void *const made[] = {p->q, p->k, p->v, p->workspace};
        for (const void *memory : made) release((void *)memory);
        close_rank(&gpus.at[r]);
        expect_equal("bytes sent", r, (long long)(bytes_sent_by(devices[r]) - before[devices[r]]),
                     BYTES_ARE_COUNTED * (long long)(CALLS * 2 * count * sizeof(float)) * (n - 1));
    }
}

/** |out - ref| <= u |ref| + 8 u (sqrt(keys) + sqrt(head_dim) * largest sum |q k|) * sum |p v|: checker/numbers/bound.h. */
static void compare(const struct sequence *s)
{
    const int tokens = tokens_of(s), dim = s->sizes.head_dim, heads = s->sizes.heads;
    const size_t lines = (size_t)heads * tokens;
    const struct ref_attention_shape shape = {1, heads, heads, tokens, tokens, dim, s->sizes.scale, 1};
    double *scratch = host_array<double>(tokens), *out = host_array<double>(2 * lines * dim),
           *lse = host_array<double>(2 * lines);
    const struct ref_attention_result ref = {out, out + lines * dim, lse, lse + lines};
    ref_attention(&shape, s->q, s->k, s->v, scratch, &ref);
    for (size_t i = 0; i < lines; i++) {
        const double u = 0x1p-24,
                     share = 8 * u *
                             (sqrt((double)(i % tokens + 1)) + sqrt((double)dim) * ref.score_magnitude[i]);
        expect_close("lse", i, s->lse[0][i], ref.lse[i], u * fabs(ref.lse[i]) + share);
        for (size_t at = i * dim; at < (i + 1) * dim; at++)
            expect_close("out", at, s->out[0][at], ref.out[at],
                         u * fabs(ref.out[at]) + share * ref.magnitude[at]);
    }
    expect_equal("out again", 0, memcmp(s->out[0], s->out[1], lines * dim * sizeof(float)), 0);
    expect_equal("lse again", 0, memcmp(s->lse[0], s->lse[1], lines * sizeof(float)), 0);
    free(scratch), free(out), free(lse);
}

int main(void)
{
    static const struct ring_sizes whole[] = {
        {2, 16, 4, 1, 0.0f}, {2, 48, 20, 1, 3.0f}, {1, 80, 16, 1, -0.2f}};
    unsigned state = 19;
    int devices;
    require(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    for (int ranks = 1; ranks <= devices && ranks <= MOST_GPUS; ranks *= 2)
        for (int i = 0; i < 3; i++) {
            struct sequence s = {whole[i], ranks, NULL, NULL, NULL, {}, {}};
            const size_t lines = (size_t)s.sizes.heads * s.sizes.part, elems = lines * s.sizes.head_dim;
            float *const memory = host_array<float>(5 * elems + 2 * lines);
            for (size_t at = 0; at < 3 * elems; at++) memory[at] = 2 * next_float(&state);
            s.q = memory, s.k = s.q + elems, s.v = s.k + elems, s.out[0] = s.v + elems;
            s.out[1] = s.out[0] + elems, s.lse[0] = s.out[1] + elems, s.lse[1] = s.lse[0] + lines;
            s.sizes.part /= ranks;
            attend_to(&s, i % 2);
            compare(&s);
            free(memory);
        }
    return finish("nccl_zigzag");
}
