/**
 * The machine behind the software device, without CUDA's headers: kernels written in C against machine.h.
 *
 * Each test runs in a process of its own, in every order of threads and on 1 and 3 workers (what uses up time, in one
 * order). The findings it prints must contain the expected words (or there must be none), and be the same bytes whatever
 * the workers. This file is compiled with the flags of kernel files, so that the compiler reports its accesses.
 */
#include "findings.h"
#include "machine.h"
#include "record/words.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { OUTPUT_BYTES = 1 << 16 };

#define SITE(variable, name) static const struct simt_site variable = {__FILE__, __LINE__, name, NULL}
/** For what stands in the CUDA headers, where the compiler does not instrument either. */
#define UNWATCHED __attribute__((no_sanitize("thread"), noinline))
#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                 \
            fflush(stdout);                                                                                  \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

/* A shared variable has a name of C++, by which the machine knows it. */
#define NAMED_BY_CPP(length, name) __asm__("_ZL" #length #name)

/* ---- helpers for kernels ------------------------------------------------------------------------------ */

static unsigned thread_index(void)
{
    return simt_self()->thread.x;
}
static unsigned block_index(void)
{
    return simt_self()->block.x;
}
static unsigned global_index(void)
{
    return block_index() * simt_self()->block_dim.x + thread_index();
}

static void sync_threads(void)
{
    SITE(site, "__syncthreads");
    simt_block_barrier(&site, SIMT_VOTE_NONE, 0);
}

/* Host code may not touch device memory; this is what cudaMemcpy does. */
UNWATCHED static void copy_bytes(void *to, const void *from, size_t bytes)
{
    char *t = to;
    for (const char *f = from; bytes > 0; bytes--) *t++ = *f++;
}

/* atomicAdd */
UNWATCHED static int add_atomically(int *address, int value)
{
    simt_atomic_begin(address, sizeof *address, __builtin_return_address(0));
    const int old = *address;
    *address = old + value;
    simt_atomic_end(address, sizeof *address);
    return old;
}

/* atomicCAS */
UNWATCHED static int swap_atomically(int *address, int expected, int value)
{
    simt_atomic_begin(address, sizeof *address, __builtin_return_address(0));
    const int old = *address;
    if (old == expected) *address = value;
    simt_atomic_end(address, sizeof *address);
    return old;
}

static void xor_lanes(void *const operand[32], void *const result[32], unsigned mask, void *distance)
{
    for (unsigned lane = 0; lane < 32; lane++)
        if (mask >> lane & 1) *(int *)result[lane] = *(int *)operand[lane ^ (unsigned)(uintptr_t)distance];
}

static int shuffle_xor(unsigned mask, int value, unsigned distance)
{
    SITE(site, "__shfl_xor_sync");
    int result = 0;
    simt_warp_gather(&site, mask, xor_lanes, (void *)(uintptr_t)distance, &value, &result);
    return result;
}

struct arguments {
    int *in, *out;
    int count;
};

static int launch(const char *name, void (*entry)(const void *), const void *arguments, unsigned blocks,
                  unsigned threads, size_t dynamic_bytes)
{
    struct simt_launch launch = {.kernel = name,
                                 .site = {__FILE__, __LINE__, "launch"},
                                 .grid = {blocks, 1, 1},
                                 .block = {threads, 1, 1},
                                 .dynamic_shared_bytes = dynamic_bytes,
                                 .entry = entry,
                                 .args = arguments,
                                 .shared_room = 48 << 10};
    return simt_run(&launch);
}

static int *device_ints(int count, bool written)
{
    static const struct simt_site site = {__FILE__, __LINE__, "cudaMalloc", NULL};
    int *memory = simt_device_alloc((size_t)count * sizeof *memory, SIMT_MEMORY_DEVICE, "data", &site);
    REQUIRE(memory != NULL);
    if (written) {
        for (int i = 0; i < count; i++) copy_bytes(memory + i, &i, sizeof i);
        simt_device_written(memory, (size_t)count * sizeof *memory);
    }
    return memory;
}

/* ---- kernels that are right --------------------------------------------------------------------------- */

static void copy_kernel(const void *p)
{
    const struct arguments *a = p;
    const int i = (int)global_index();
    if (i < a->count) a->out[i] = 2 * a->in[i];
}

static void test_copy(void)
{
    int *in = device_ints(1000, true), *out = device_ints(1000, false);
    struct arguments a = {in, out, 1000};
    REQUIRE(launch("copy_kernel", copy_kernel, &a, 8, 128, 0) == 0);
    int got[1000];
    copy_bytes(got, out, sizeof got);
    for (int i = 0; i < 1000; i++) REQUIRE(got[i] == 2 * i);
    REQUIRE(simt_device_first_uninitialized(out, sizeof got) == -1);
    REQUIRE(simt_device_free(in) == 0 && simt_device_free(out) == 0);
    REQUIRE(simt_device_free(in) == -1);
}

/* Sums 0..31 in each warp, then the warps' sums in shared memory. */
static void reduce_kernel(const void *p)
{
    static _Thread_local char simt_red_zone_0[64];
    static _Thread_local int sums[32] NAMED_BY_CPP(4, sums);
    const struct arguments *a = p;
    __asm__ volatile("" : : "r"(simt_red_zone_0));
    int sum = (int)thread_index();
    for (unsigned distance = 16; distance > 0; distance /= 2) sum += shuffle_xor(0xffffffffu, sum, distance);
    if (simt_self()->lane == 0) sums[simt_self()->warp] = sum;
    sync_threads();
    sum = 0;
    for (unsigned warp = 0; warp < simt_self()->block_dim.x / 32; warp++) sum += sums[warp];
    SITE(site, "__syncthreads_count");
    a->out[global_index()] = sum + simt_block_barrier(&site, SIMT_VOTE_COUNT, thread_index() % 3 == 0);
}

static void test_reduce(void)
{
    int *out = device_ints(4096, false);
    struct arguments a = {NULL, out, 0};
    for (int repeat = 0; repeat < 3; repeat++)
        REQUIRE(launch("reduce_kernel", reduce_kernel, &a, 4, 1024, 0) == 0);
    int got[4096];
    copy_bytes(got, out, sizeof got);
    for (int i = 0; i < 4096; i++) REQUIRE(got[i] == 1023 * 1024 / 2 + 342);
    simt_device_free(out);
}

/* Stages through dynamic shared memory: halves and words of the same memory, with barriers between. */
static void stage_kernel(const void *p)
{
    const struct arguments *a = p;
    short *halves = simtcc_dynamic_shared("stage", sizeof *halves);
    int *whole = (int *)halves;
    const unsigned i = thread_index();
    for (int round = 0; round < 3; round++) {
        halves[i] = (short)i;
        sync_threads();
        if (i < simt_self()->block_dim.x / 2) a->out[global_index()] = whole[i];
        sync_threads();
    }
    whole[i] = (int)i;
    SITE(site, "__syncwarp");
    simt_warp_barrier(&site, 0xffffffffu);
    a->out[global_index()] = whole[i ^ 1];
}

static void test_stage(void)
{
    int *out = device_ints(256, false);
    struct arguments a = {NULL, out, 0};
    REQUIRE(launch("stage_kernel", stage_kernel, &a, 2, 128, 128 * sizeof(int)) == 0);
    for (int i = 0; i < 256; i++) {
        int got;
        copy_bytes(&got, out + i, sizeof got);
        REQUIRE(got == (i % 128 ^ 1));
    }
    simt_device_free(out);
}

static int tickets __attribute__((section("simt_device"))); /* as simtcc does with a __device__ variable */

static void last_block_kernel(const void *p)
{
    static _Thread_local int is_last NAMED_BY_CPP(7, is_last);
    const struct arguments *a = p;
    if (thread_index() == 0) {
        a->in[block_index()] = (int)block_index();
        simt_fence();
        is_last = add_atomically(&tickets, 1) == (int)simt_self()->grid_dim.x - 1;
    }
    sync_threads();
    if (!is_last || thread_index() != 0) return;
    int sum = 0;
    for (unsigned i = 0; i < simt_self()->grid_dim.x; i++) sum += a->in[i];
    a->out[0] = sum;
    tickets = 0;
}

static void test_last_block(void)
{
    int *parts = device_ints(100, false), *out = device_ints(1, false);
    struct arguments a = {parts, out, 0};
    for (int repeat = 0; repeat < 2; repeat++) {
        REQUIRE(launch("last_block_kernel", last_block_kernel, &a, 100, 64, 0) == 0);
        int sum;
        copy_bytes(&sum, out, sizeof sum);
        REQUIRE(sum == 4950);
    }
    simt_device_free(parts);
    simt_device_free(out);
}

/* The compiler's atomics, of every size, on one value; the same in kernels and in host code. */
#define USE_ATOMICS(type)                                                                                    \
    static bool use_##type(type *value)                                                                      \
    {                                                                                                        \
        type expected = 7;                                                                                   \
        __atomic_store_n(value, 5, __ATOMIC_SEQ_CST);                                                        \
        bool good = __atomic_fetch_add(value, 3, __ATOMIC_SEQ_CST) == 5;                                     \
        good &= __atomic_fetch_sub(value, 1, __ATOMIC_SEQ_CST) == 8;                                         \
        good &= __atomic_compare_exchange_n(value, &expected, 12, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
        good &= !__atomic_compare_exchange_n(value, &expected, 1, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
        good &= __atomic_fetch_and(value, 10, __ATOMIC_SEQ_CST) == 12;                                       \
        good &= __atomic_fetch_or(value, 3, __ATOMIC_SEQ_CST) == 8;                                          \
        good &= __atomic_fetch_xor(value, 1, __ATOMIC_SEQ_CST) == 11;                                        \
        good &= __atomic_fetch_nand(value, 2, __ATOMIC_SEQ_CST) == 10;                                       \
        good &= __atomic_exchange_n(value, 9, __ATOMIC_SEQ_CST) == (type)~2;                                 \
        return good && __atomic_load_n(value, __ATOMIC_SEQ_CST) == 9;                                        \
    }
USE_ATOMICS(uint8_t)
USE_ATOMICS(uint16_t)
USE_ATOMICS(uint32_t)
USE_ATOMICS(uint64_t)

static bool use_all_atomics(uint64_t *value)
{
    return use_uint8_t((uint8_t *)value) && use_uint16_t((uint16_t *)value + 1) && use_uint64_t(value + 1) &&
           use_uint32_t((uint32_t *)value + 1);
}

static void atomics_kernel(const void *p)
{
    const struct arguments *a = p;
    a->out[block_index()] = use_all_atomics((uint64_t *)a->in);
}

static void test_atomics(void)
{
    uint64_t host[2] = {0};
    struct arguments a = {device_ints(4, true), device_ints(5, false), 0};
    int good[5];
    REQUIRE(use_all_atomics(host));
    REQUIRE(launch("atomics_kernel", atomics_kernel, &a, 5, 1, 0) == 0);
    copy_bytes(good, a.out, sizeof good);
    for (int block = 0; block < 5; block++) REQUIRE(good[block]);
    simt_device_free(a.in);
    simt_device_free(a.out);
}

static void describe(const void *pointer, size_t bytes, char *text, size_t size)
{
    struct record_memory memory;
    simt_device_resolve(pointer, bytes, &memory);
    record_print_memory(&memory, text, size);
}

static void test_describe(void)
{
    char text[640];
    int *memory = device_ints(10, true);
    describe(memory + 10, 4, text, sizeof text);
    REQUIRE(strstr(text, "data[10] (4 bytes") != NULL &&
            strstr(text, "0 bytes after the end of the 40 bytes") != NULL);
    describe((char *)memory - 8, 4, text, sizeof text);
    REQUIRE(strstr(text, "data[-2]") != NULL && strstr(text, "8 bytes before the 40 bytes") != NULL);
    simt_device_free(memory);
    describe(memory, 4, text, sizeof text);
    REQUIRE(strstr(text, "in the freed 40 bytes") != NULL);
    describe((char *)memory + (1 << 30), 4, text, sizeof text);
    REQUIRE(strstr(text, "in no allocation") != NULL);
    describe(&tickets, 4, text, sizeof text);
    REQUIRE(strcmp(text, "tickets[0] (4 bytes)") == 0);
    describe(text, 4, text, sizeof text);
    REQUIRE(strstr(text, "not device memory") != NULL);
}

/* A buffer of known shape: what an access of so many bytes at that byte is called. */
static void test_shapes(void)
{
    static const size_t extent[] = {2, 3, 5};
    static const struct {
        int rank;
        size_t row_bytes, bytes;
        ptrdiff_t at;
        const char *expected;
    } accesses[] = {
        {3, 0, 4, 4 * (15 + 5 + 4), "data[1,1,4] (4 bytes)"},
        {3, 0, 2, 6, "data[0,0,1] byte 2 (2 bytes)"},
        {3, 0, 16, 4 * 16, "data[1,0,1] (16 bytes)"},
        {3, 0, 4, 120, "element 30 of data (4 bytes), 0 bytes after the end of its 120 bytes"},
        {3, 0, 4, -8, "element -2 of data (4 bytes), 8 bytes before its 120 bytes"},
        {3, 0, 8, 116, "data[1,2,4] (8 bytes), across the end of its 120 bytes"},
        {2, 32, 4, 32 + 12, "data[1,3] (4 bytes)"},
        {0, 0, 4, 116, "data byte 116 (4 bytes)"},
        {0, 0, 4, 124, "data byte 124 (4 bytes), 4 bytes after the end of its 120 bytes"},
    };
    for (size_t i = 0; i < sizeof accesses / sizeof accesses[0]; i++) {
        char text[640];
        static const size_t rows[] = {2, 5};
        simt_shape_next_allocation(4, accesses[i].rank, accesses[i].rank == 2 ? rows : extent,
                                   accesses[i].row_bytes);
        char *memory = simt_device_alloc(120, SIMT_MEMORY_DEVICE, "data", NULL);
        describe(memory + accesses[i].at, accesses[i].bytes, text, sizeof text);
        if (strcmp(text, accesses[i].expected) != 0) printf("%s\n", text);
        REQUIRE(strcmp(text, accesses[i].expected) == 0);
        simt_device_free(memory);
    }
}

/* What a kernel left, read where no check sees it: the host of a GPU has no such variable. */
static __attribute__((noinline, no_sanitize("thread"))) int left_in(const int *variable)
{
    return *variable;
}

static int lock_word __attribute__((section("simt_device"))), guarded __attribute__((section("simt_device")));

/* A lock that lanes of a warp contend for while one holds it across a pause. */
static void lock_kernel(const void *p)
{
    (void)p;
    for (bool done = false; !done;) {
        if (swap_atomically(&lock_word, 0, 1) != 0) continue;
        (void)simt_active_mask(); /* the others run while this one holds the lock */
        __atomic_fetch_add(&guarded, 1, __ATOMIC_RELAXED);
        simt_fence();
        __atomic_store_n(&lock_word, 0, __ATOMIC_RELEASE);
        done = true;
    }
}

static void test_lock(void)
{
    REQUIRE(launch("lock_kernel", lock_kernel, NULL, 2, 8, 0) == 0);
    REQUIRE(left_in(&guarded) == 16);
}

static void sub_warps_kernel(const void *p)
{
    static _Thread_local int slots[64] NAMED_BY_CPP(5, slots);
    const struct arguments *a = p;
    const unsigned i = thread_index(), half = i % 32 / 16, mask = half ? 0xffff0000u : 0xffffu;
    slots[i] = (int)i;
    if (half == 0) {
        SITE(site, "__syncwarp");
        simt_warp_barrier(&site, mask);
    } else {
        SITE(site, "__syncwarp");
        simt_warp_barrier(&site, mask);
    }
    a->out[i] = slots[i ^ 15] + shuffle_xor(mask, 0, 1);
}

static void test_sub_warps(void)
{
    int *out = device_ints(64, false);
    struct arguments a = {NULL, out, 0};
    REQUIRE(launch("sub_warps_kernel", sub_warps_kernel, &a, 1, 64, 0) == 0);
    simt_device_free(out);
}

static void nothing_kernel(const void *p)
{
    (void)p;
}

static void test_many_blocks(void)
{
    REQUIRE(launch("nothing_kernel", nothing_kernel, NULL, 300000, 1, 0) == 0);
}

static void test_after_fork(void)
{
    int *in = device_ints(1000, true), *out = device_ints(1000, false), status;
    struct arguments a = {in, out, 1000};
    REQUIRE(launch("copy_kernel", copy_kernel, &a, 8, 128, 0) == 0);
    const pid_t child = fork();
    if (child == 0) exit(launch("copy_kernel", copy_kernel, &a, 8, 128, 0));
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    simt_device_free(in);
    simt_device_free(out);
}

static void test_device_memory(void)
{
    size_t before, after, total;
    simt_device_memory(&before, &total);
    char *a = simt_device_alloc(1000, SIMT_MEMORY_DEVICE, "a", NULL),
         *b = simt_device_alloc(1, SIMT_MEMORY_DEVICE, NULL, NULL);
    REQUIRE((uintptr_t)a % 256 == 0 && (uintptr_t)b % 256 == 0 && b - a >= 1256);
    REQUIRE(simt_device_contains(a + 1, 999) && !simt_device_contains(a + 1, 1000) &&
            !simt_device_contains(a - 1, 1));
    REQUIRE(simt_is_device_pointer(a) && !simt_is_device_pointer(&total));
    REQUIRE(simt_device_contains(&tickets, sizeof tickets) && !simt_device_contains(&total, sizeof total));
    simt_device_written(a, 500);
    simt_device_copied(a + 600, a + 400, 200);
    REQUIRE(simt_device_first_uninitialized(a, 700) == 500 &&
            simt_device_first_uninitialized(a + 600, 200) == 100);
    REQUIRE(simt_device_alloc((size_t)1 << 40, SIMT_MEMORY_DEVICE, "too much", NULL) == NULL);
    REQUIRE(simt_device_free(a + 1) == -1 && simt_device_free(b) == 0 && simt_device_free(a) == 0);
    REQUIRE(simt_device_freed(a) && !simt_device_freed(&total));
    for (int i = 0; i < 40;
         i++) { /* more than the quarantine holds, and all of it more than the device has */
        char *large = simt_device_alloc((size_t)1 << 26, SIMT_MEMORY_DEVICE, "large", NULL);
        REQUIRE(large != NULL && simt_device_free(large) == 0);
    }
    char *all = simt_device_alloc(total - 4096, SIMT_MEMORY_DEVICE, "nearly all", NULL);
    REQUIRE(all == NULL || simt_device_free(all) == 0);
    simt_device_memory(&after, &total);
    REQUIRE(before == after);
}

/* ---- kernels that are wrong --------------------------------------------------------------------------- */

static void overrun_kernel(const void *p)
{
    const struct arguments *a = p;
    a->out[global_index()] = a->in[global_index()];
}

static void test_overrun(void)
{
    struct arguments a = {device_ints(100, true), device_ints(200, false), 0};
    REQUIRE(launch("overrun_kernel", overrun_kernel, &a, 2, 64, 0) == 700);
    simt_device_free(a.in);
    simt_device_free(a.out);
}

static void test_use_after_free(void)
{
    struct arguments a = {device_ints(64, true), device_ints(64, false), 0};
    simt_device_free(a.in);
    REQUIRE(launch("overrun_kernel", overrun_kernel, &a, 1, 64, 0) == 700);
    simt_device_free(a.out);
}

static void test_host_pointer(void)
{
    struct arguments a = {malloc(4096), device_ints(64, false), 0};
    REQUIRE(launch("overrun_kernel", overrun_kernel, &a, 1, 64, 0) == 700);
    simt_device_free(a.out);
    free(a.in);
}

static void test_null_pointer(void)
{
    struct arguments a = {NULL, device_ints(64, false), 0};
    REQUIRE(launch("overrun_kernel", overrun_kernel, &a, 1, 64, 0) == 700);
    simt_device_free(a.out);
}

static void test_misaligned(void)
{
    struct arguments a = {device_ints(65, true), device_ints(64, false), 0};
    int *in = a.in;
    a.in = (int *)((char *)in + 2);
    REQUIRE(launch("overrun_kernel", overrun_kernel, &a, 1, 64, 0) == 716);
    simt_device_free(in);
    simt_device_free(a.out);
}

static void test_unwritten(void)
{
    struct arguments a = {device_ints(64, false), device_ints(64, false), 0};
    REQUIRE(launch("overrun_kernel", overrun_kernel, &a, 1, 64, 0) == 0);
    simt_device_free(a.in);
    simt_device_free(a.out);
}

static void touched_by_host(int *device)
{
    device[3] = 1;
}

static void test_host_touches_device(void)
{
    int *memory = device_ints(64, true);
    touched_by_host(memory);
    touched_by_host(memory);
    simt_device_free(memory);
    int *managed = simt_device_alloc(64, SIMT_MEMORY_MANAGED, "managed", NULL);
    managed[0] = 1; /* allowed */
    simt_device_free(managed);
}

static void missing_barrier_kernel(const void *p)
{
    static _Thread_local int tile[128] NAMED_BY_CPP(4, tile);
    const struct arguments *a = p;
    tile[thread_index()] = (int)thread_index();
    if (a->count == 1) {
        SITE(site, "__syncwarp");
        simt_warp_barrier(&site, 0xffffffffu);
    }
    a->out[thread_index()] = tile[127 - thread_index()];
}

static void test_missing_barrier(void)
{
    for (int fenced = 0; fenced < 2; fenced++) {
        struct arguments a = {NULL, device_ints(128, false), fenced};
        REQUIRE(launch("missing_barrier_kernel", missing_barrier_kernel, &a, 3, 128, 0) == 0);
        simt_device_free(a.out);
    }
}

/* Bytes of one word, of different threads: a race only where two threads share a byte. */
static void bytes_kernel(const void *p)
{
    static _Thread_local char bytes[64] NAMED_BY_CPP(5, bytes);
    const struct arguments *a = p;
    volatile char *const cells = bytes;
    cells[thread_index()] = 1;
    if (a->count == 1) cells[thread_index() / 2] = 2;
}

static void test_bytes(void)
{
    struct arguments a = {NULL, NULL, 0};
    REQUIRE(launch("bytes_kernel", bytes_kernel, &a, 1, 64, 0) == 0);
    REQUIRE(simt_finding_count() == 0);
    a.count = 1;
    REQUIRE(launch("bytes_kernel", bytes_kernel, &a, 1, 64, 0) == 0);
}

static void unwritten_shared_kernel(const void *p)
{
    static _Thread_local int partial[64] NAMED_BY_CPP(7, partial);
    const struct arguments *a = p;
    if (thread_index() < 63) partial[thread_index()] = 1;
    sync_threads();
    a->out[thread_index()] = partial[thread_index()];
}

static void test_unwritten_shared(void)
{
    struct arguments a = {NULL, device_ints(64, false), 0};
    REQUIRE(launch("unwritten_shared_kernel", unwritten_shared_kernel, &a, 2, 64, 0) == 0);
    simt_device_free(a.out);
}

static void dynamic_overrun_kernel(const void *p)
{
    (void)p;
    int *stage = simtcc_dynamic_shared("stage", sizeof *stage);
    stage[thread_index()] = 1;
}

static void test_dynamic_overrun(void)
{
    REQUIRE(launch("dynamic_overrun_kernel", dynamic_overrun_kernel, NULL, 1, 64, 63 * sizeof(int)) == 700);
}

static void static_overrun_kernel(const void *p)
{
    static _Thread_local char simt_red_zone_1[64];
    static _Thread_local int row[64] NAMED_BY_CPP(3, row);
    __asm__ volatile("" : : "r"(simt_red_zone_1));
    (void)p;
    volatile int *pointer = row;
    pointer[thread_index() + 1] = 1;
}

static void test_static_overrun(void)
{
    REQUIRE(launch("static_overrun_kernel", static_overrun_kernel, NULL, 1, 64, 0) == 700);
}

static void two_blocks_kernel(const void *p)
{
    const struct arguments *a = p;
    a->out[thread_index()] = (int)block_index();
}

static void test_two_blocks(void)
{
    struct arguments a = {NULL, device_ints(64, false), 0};
    REQUIRE(launch("two_blocks_kernel", two_blocks_kernel, &a, 9, 64, 0) == 0);
    simt_device_free(a.out);
}

static void inside_block_kernel(const void *p)
{
    const struct arguments *a = p;
    a->out[thread_index()] = 1;
    a->out[thread_index() + 64] = a->out[63 - thread_index()];
}

static void test_inside_block(void)
{
    struct arguments a = {NULL, device_ints(128, false), 0};
    REQUIRE(launch("inside_block_kernel", inside_block_kernel, &a, 1, 64, 0) == 0);
    simt_device_free(a.out);
}

static void exited_lanes_kernel(const void *p)
{
    (void)p;
    if (thread_index() >= 20) return;
    shuffle_xor(0xffffffffu, 1, 1);
}

static void test_exited_lanes(void)
{
    REQUIRE(launch("exited_lanes_kernel", exited_lanes_kernel, NULL, 3, 32, 0) == 702);
}

static void wrong_mask_kernel(const void *p)
{
    (void)p;
    shuffle_xor(0xffffu, 1, 1);
}

static void test_wrong_mask(void)
{
    REQUIRE(launch("wrong_mask_kernel", wrong_mask_kernel, NULL, 1, 32, 0) == 719);
}

static void stuck_kernel(const void *p)
{
    (void)p;
    if (thread_index() == 5)
        shuffle_xor(0xffffffffu, 1, 1);
    else
        sync_threads();
}

static void named_stuck_kernel(const void *p)
{
    static const struct simt_site site = {"named.cu", 7, "bar.sync", NULL};
    (void)p;
    if (thread_index() < 64) simt_named_barrier(&site, 3, 96, 1, NULL);
}

static void test_named_stuck(void)
{
    REQUIRE(launch("named_stuck_kernel", named_stuck_kernel, NULL, 1, 128, 0) == 702);
}

static void test_stuck(void)
{
    REQUIRE(launch("stuck_kernel", stuck_kernel, NULL, 2, 64, 0) == 702);
    REQUIRE(launch("nothing_kernel", nothing_kernel, NULL, 2, 64, 0) == 0);
}

static void two_sites_kernel(const void *p)
{
    (void)p;
    if (thread_index() < 32) {
        SITE(site, "__syncthreads");
        simt_block_barrier(&site, SIMT_VOTE_NONE, 0);
    } else {
        SITE(site, "__syncthreads");
        simt_block_barrier(&site, SIMT_VOTE_NONE, 0);
    }
}

static void test_two_sites(void)
{
    REQUIRE(launch("two_sites_kernel", two_sites_kernel, NULL, 2, 64, 0) == 702);
}

/* Nobody returns early: the barrier is inside an if. */
static void split_warp_kernel(const void *p)
{
    (void)p;
    if (thread_index() % 32 < 20) {
        SITE(site, "__syncthreads");
        simt_block_barrier(&site, SIMT_VOTE_NONE, 0);
    }
}

static void test_split_warp(void)
{
    REQUIRE(launch("split_warp_kernel", split_warp_kernel, NULL, 1, 64, 0) == 702);
}

static int deepest = 1 << 30;

static int recurse(int depth)
{
    volatile int frame[64];
    frame[depth % 64] = depth;
    if (depth == deepest) return 0;
    return recurse(depth + 1) + frame[(depth + 1) % 64];
}

static void recursion_kernel(const void *p)
{
    const struct arguments *a = p;
    a->out[0] = recurse(0);
}

static void test_recursion(void)
{
    struct arguments a = {NULL, device_ints(1, false), 0};
    REQUIRE(launch("recursion_kernel", recursion_kernel, &a, 1, 1, 0) == 700);
    simt_device_free(a.out);
}

static void division_kernel(const void *p)
{
    const struct arguments *a = p;
    a->out[0] = 7 / a->count;
}

static void test_division(void)
{
    struct arguments a = {NULL, device_ints(1, false), 0};
    const int error = launch("division_kernel", division_kernel, &a, 1, 1, 0);
#ifdef __x86_64__
    REQUIRE(error == 719);
#else
    REQUIRE(error == 0);                                                /* gives 0 and no fault */
    simt_finding(RECORD_UNSUPPORTED, NULL, RECORD_SAYS_DIVISION, NULL); /* as on x86-64 */
#endif
    simt_device_free(a.out);
}

static int flag __attribute__((section("simt_device")));

static void spin_kernel(const void *p)
{
    (void)p;
    while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 0) {
    }
}

static void test_spin(void)
{
    REQUIRE(launch("spin_kernel", spin_kernel, NULL, 1, 1, 0) == 702);
}

/* CPU time that is used up, as by a loop. */
static void compute(double seconds)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) * 1e-9 < seconds);
}

static void slow_kernel(const void *p)
{
    (void)p;
    compute(0.02);
}

/* Far more in all than the device waits, and never long without a step forward. */
static void test_slow(void)
{
    simt_watch(0.1);
    REQUIRE(launch("slow_kernel", slow_kernel, NULL, 12, 1, 0) == 0);
    for (int i = 0; i < 12; i++) {
        compute(0.02);
        REQUIRE(launch("nothing_kernel", nothing_kernel, NULL, 1, 1, 0) == 0);
    }
    simt_watch(0.0);
}

static void endless_kernel(const void *p)
{
    (void)p;
    if (global_index() == 2)
        for (;;) __asm__ volatile("");
}

static void test_endless_kernel(void)
{
    simt_watch(0.1);
    launch("endless_kernel", endless_kernel, NULL, 3, 1, 0);
}

static void test_endless_host(void)
{
    REQUIRE(launch("nothing_kernel", nothing_kernel, NULL, 1, 1, 0) == 0);
    simt_watch(0.1);
    for (;;) __asm__ volatile("");
}

static void stop_kernel(const void *p)
{
    (void)p;
    SITE(site, "assert");
    if (global_index() == 40)
        simt_stop(&site, RECORD_ASSERT, RECORD_SAYS_ASSERT,
                  SIMT_SAYS(.name = {__func__}, .note = "the count is 40"));
}

static void test_stop(void)
{
    REQUIRE(launch("stop_kernel", stop_kernel, NULL, 3, 32, 0) == 710);
}

static void test_leak(void)
{
    (void)device_ints(10, true);
}

static void test_reset(void)
{
    (void)device_ints(10, true);
    simt_device_reset();
}

/* ---- the table, and the runs -------------------------------------------------------------------------- */

static const struct test {
    const char *name;
    void (*run)(void);
    const char *expected[4]; /* words of the report; none: there must be no finding */
} tests[] = {
    {"copy", test_copy, {NULL}},
    {"reduce", test_reduce, {NULL}},
    {"stage", test_stage, {NULL}},
    {"last_block", test_last_block, {NULL}},
    {"atomics", test_atomics, {NULL}},
    {"describe", test_describe, {NULL}},
    {"shapes", test_shapes, {NULL}},
    {"lock", test_lock, {NULL}},
    {"sub_warps", test_sub_warps, {NULL}},
    {"many_blocks", test_many_blocks, {NULL}},
    {"after_fork", test_after_fork, {NULL}},
    {"device_memory", test_device_memory, {NULL}},
    {"overrun",
     test_overrun,
     {"simt: out-of-bounds: data[1", "after the end of the 400 bytes made at", "simt_machine.c"}},
    {"use_after_free", test_use_after_free, {"simt: use-after-free: data["}},
    {"host_pointer", test_host_pointer, {"simt: host-pointer: ", "host memory"}},
    {"null_pointer", test_null_pointer, {"simt: out-of-bounds: ", "null"}},
    {"misaligned", test_misaligned, {"simt: misaligned: data["}},
    {"unwritten", test_unwritten, {"simt: uninitialized-read: data[", "seen 64 times"}},
    {"host_touches_device",
     test_host_touches_device,
     {"simt: host-pointer: host code writes device memory: data[3]"}},
    {"missing_barrier",
     test_missing_barrier,
     {"simt: shared-race: tile[", "write by block", "read by block"}},
    {"bytes", test_bytes, {"simt: shared-race: bytes["}},
    {"unwritten_shared", test_unwritten_shared, {"simt: uninitialized-read: partial[63]", "seen 2 times"}},
    {"dynamic_overrun",
     test_dynamic_overrun,
     {"simt: out-of-bounds: stage[63]", "0 bytes after the end of its 252 bytes"}},
    {"static_overrun", test_static_overrun, {"simt: out-of-bounds: row[64]"}},
    {"two_blocks", test_two_blocks, {"simt: global-race: data[", "seen 512 times"}},
    {"inside_block", test_inside_block, {"simt: global-race: data["}},
    {"exited_lanes",
     test_exited_lanes,
     {"simt: deadlock: ", "lanes 0xfff00000 of the warp have ended", "is it inside an if"}},
    {"wrong_mask", test_wrong_mask, {"simt: deadlock: ", "does not name"}},
    {"stuck", test_stuck, {"simt: deadlock: ", "63 threads at __syncthreads", "1 thread at __shfl_xor_sync"}},
    {"named_stuck",
     test_named_stuck,
     {"simt: deadlock: ",
      "64 threads at bar.sync (barrier 3, 64 of 96 have come; named.cu:7, first thread "}},
    {"two_sites", test_two_sites, {"simt: divergent-barrier: ", "32 threads at __syncthreads"}},
    {"split_warp",
     test_split_warp,
     {"simt: divergent-barrier: ", "the rest of it has ended without it", "is it inside an if"}},
    {"recursion", test_recursion, {"simt: out-of-bounds: the stack of a thread is full"}},
    {"division", test_division, {"simt: unsupported: ", "division by zero"}},
    {"spin", test_spin, {"simt: deadlock: a thread waits for ever"}},
    {"slow", test_slow, {NULL}},
    {"endless_kernel",
     test_endless_kernel,
     {"simt: endless: a block has not ended", "in kernel endless_kernel", "block (2,0,0) thread (0,0,0)"}},
    {"endless_host", test_endless_host, {"simt: endless: the call has not ended", "in host code"}},
    {"stop", test_stop, {"simt: assert: assertion `the count is 40' failed", "block (1,0,0) thread (8,0,0)"}},
    {"leak", test_leak, {"simt: leak: 1 allocation was never freed, 40 bytes"}},
    {"reset", test_reset, {"simt: leak: 1 allocation was never freed, 40 bytes"}},
};
enum { TEST_COUNT = sizeof tests / sizeof tests[0] };

/* Runs this program again, for one test. Returns its exit code; its stdout and stderr come back as text. */
static int run_alone(const char *program, const char *test, char *output)
{
    char *arguments[] = {(char *)program, (char *)test, NULL};
    int ends[2], status;
    pid_t child;
    posix_spawn_file_actions_t actions;
    REQUIRE(pipe(ends) == 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    REQUIRE(posix_spawn(&child, program, &actions, NULL, arguments, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t length = 0;
    ssize_t n;
    while ((n = read(ends[0], output + length, OUTPUT_BYTES - 1 - length)) > 0) length += (size_t)n;
    output[length] = '\0';
    close(ends[0]);
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool as_expected(const struct test *test, int code, const char *output)
{
    if (test->expected[0] == NULL) return code == 0 && output[0] == '\0';
    for (int i = 0; i < 4 && test->expected[i] != NULL; i++)
        if (strstr(output, test->expected[i]) == NULL) return false;
    const bool endless = strncmp(test->expected[0], "simt: endless", 13) == 0;
    return code == (endless ? SIMT_EXIT_ENDLESS : SIMT_EXIT_FINDINGS);
}

/* Of seconds by themselves, and time runs alike in every order of threads. */
static bool takes_time(const struct test *test)
{
    return test->run == test_spin || test->run == test_slow || test->run == test_endless_kernel ||
           test->run == test_endless_host;
}

static int check_test(const char *program, const struct test *test)
{
    static const char *const orders[] = {"forward", "reverse", "random:7"}, *const workers[] = {"1", "3"};
    static char output[OUTPUT_BYTES], first[OUTPUT_BYTES];
    int failures = 0;
    for (int order = 0; order < (takes_time(test) ? 1 : 3); order++) {
        for (int w = 0; w < 2; w++) {
            setenv("SIMT_ORDER", orders[order], 1);
            setenv("SIMT_WORKERS", workers[w], 1);
            const int code = run_alone(program, test->name, output);
            if (w == 0) strcpy(first, output);
            const bool same = strcmp(first, output) == 0;
            if (as_expected(test, code, output) && same) continue;
            printf("%s (order %s, workers %s): exit code %d%s\n%s\n", test->name, orders[order], workers[w],
                   code, same ? "" : ", another report than with 1 worker", output);
            failures++;
        }
    }
    return failures;
}

/* A wrong setting ends the program before main(), with one sentence. */
static int check_settings(const char *program)
{
    static const char *const wrong[][2] = {{"SIMT_ORDER", "sideways"}, {"SIMT_ORDER", "random:"},
                                           {"SIMT_WORKERS", "0"},      {"SIMT_WORKERS", "two"},
                                           {"SIMT_CHECK", "maybe"},    {"SIMT_DEVICE", "sm_42"}};
    static char output[OUTPUT_BYTES];
    int failures = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        setenv(wrong[i][0], wrong[i][1], 1);
        const int code = run_alone(program, "copy", output);
        unsetenv(wrong[i][0]);
        if (code == 2 && strstr(output, wrong[i][1]) != NULL && strchr(output, '\n')[1] == '\0') continue;
        printf("%s=%s: exit code %d\n%s\n", wrong[i][0], wrong[i][1], code, output);
        failures++;
    }
    return failures;
}

int main(int argc, char **argv)
{
    int failures = 0;
    if (argc == 2) {
        for (int i = 0; i < TEST_COUNT; i++) {
            if (strcmp(tests[i].name, argv[1]) != 0) continue;
            tests[i].run();
            return 0;
        }
        printf("there is no test %s\n", argv[1]);
        return 2;
    }
    for (int i = 0; i < TEST_COUNT; i++) failures += check_test(argv[0], &tests[i]);
    failures += check_settings(argv[0]);
    printf("simt_machine: %d tests, %d failures\n", TEST_COUNT, failures);
    return failures != 0;
}
