/**
 * Inline PTX, wgmma: every family of types, widths from 8 to 256, A from registers and from shared memory, every swizzle, K-major
 * and MN-major, scales. The host puts each element where the PTX manual says that its descriptor has it, and sums in double. The
 * numbers are small integers (and quarters), so that any order of the sums gives the same bits.
 */
#include "../testing.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <stdint.h>
#include <string.h>

enum { ROWS = 64, THREADS = 128, A_BYTES = 8 << 10, B_BYTES = 32 << 10, MOST_SUMS = 128 };

/* ---- the instructions ---------------------------------------------------------------------------------------- */

/** Registers of D: their names in the text, and the operands. */
#define N2 "{%0, %1}"
#define N4 "{%0, %1, %2, %3}"
#define N12 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11}"
#define N16 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define N32                                                                                                  \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, "                 \
    "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define N64                                                                                                  \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, "                 \
    "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, "                  \
    "%36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, "                  \
    "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"
#define N128                                                                                                 \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, "                 \
    "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, "                  \
    "%36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, "                  \
    "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, "                  \
    "%70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, "                  \
    "%87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, "                    \
    "%103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, "                   \
    "%117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}"
#define WGMMA "wgmma.mma_async.sync.aligned."
#define PREDICATE(i) "{\n.reg .pred p;\nsetp.ne.b32 p, %" #i ", 0;\n"

/** What a kernel is given: an image of its shared memory, A's before B's, and where in it the descriptors begin. */
struct arguments {
    const uint4 *image;
    const uint32_t *fragment, *sums;
    uint32_t *after;
    uint64_t a, b; /**< descriptors, of addresses relative to the image */
    int add;
};

static __device__ void load_image(uint4 *shared, const uint4 *image)
{
    for (int i = (int)threadIdx.x; i < (A_BYTES + B_BYTES) / 16; i += THREADS) shared[i] = image[i];
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}

/** A kernel of one product: D of `count` registers of type T and letter l; what comes before the fence, and the statement. */
#define KERNEL(name, T, count, before, ...)                                                                  \
    static __global__ void name(struct arguments x)                                                          \
    {                                                                                                        \
        __shared__ __align__(1024) uint4 shared[(A_BYTES + B_BYTES) / 16];                                   \
        const uint64_t base = (uint64_t)__cvta_generic_to_shared(shared) >> 4;                               \
        const uint64_t a = x.a + base, b = x.b + base;                                                       \
        T d[count];                                                                                          \
        before;                                                                                              \
        memcpy(d, x.sums + count * threadIdx.x, sizeof d);                                                   \
        load_image(shared, x.image);                                                                         \
        (void)a;                                                                                             \
        __VA_ARGS__                                                                                          \
        asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");                                     \
        asm volatile("wgmma.wait_group.sync.aligned 0;" : : : "memory");                                     \
        memcpy(x.after + count * threadIdx.x, d, sizeof d);                                                  \
    }

/** Both operands in shared memory, D of so many registers; `more`: the constants behind scale-d. Or A in registers. */
#define SHARED_2(name, form, T, l, more)                                                                     \
    KERNEL(name, T, 2, (void)0,                                                                              \
           asm volatile(PREDICATE(4) WGMMA form " " N2 ", %2, %3, p" more ";\n}"                             \
                        : "+" l(d[0]), "+" l(d[1])                                                           \
                        : "l"(a), "l"(b), "r"(x.add));)
#define SHARED_4(name, form, T, l, more)                                                                     \
    KERNEL(name, T, 4, (void)0,                                                                              \
           asm volatile(PREDICATE(6) WGMMA form " " N4 ", %4, %5, p" more ";\n}"                             \
                        : "+" l(d[0]), "+" l(d[1]), "+" l(d[2]), "+" l(d[3])                                 \
                        : "l"(a), "l"(b), "r"(x.add));)
#define SHARED_12(name, form, T, l, more)                                                                    \
    KERNEL(name, T, 12, (void)0,                                                                             \
           asm volatile(PREDICATE(14) WGMMA form " " N12 ", %12, %13, p" more ";\n}"                         \
                        : "+" l(d[0]), "+" l(d[1]), "+" l(d[2]), "+" l(d[3]), "+" l(d[4]), "+" l(d[5]),      \
                          "+" l(d[6]), "+" l(d[7]), "+" l(d[8]), "+" l(d[9]), "+" l(d[10]), "+" l(d[11])     \
                        : "l"(a), "l"(b), "r"(x.add));)
#define SHARED_16(name, form, T, l, more)                                                                    \
    KERNEL(name, T, 16, (void)0,                                                                             \
           asm volatile(PREDICATE(18) WGMMA form " " N16 ", %16, %17, p" more ";\n}"                         \
                        : "+" l(d[0]), "+" l(d[1]), "+" l(d[2]), "+" l(d[3]), "+" l(d[4]), "+" l(d[5]),      \
                          "+" l(d[6]), "+" l(d[7]), "+" l(d[8]), "+" l(d[9]), "+" l(d[10]), "+" l(d[11]),    \
                          "+" l(d[12]), "+" l(d[13]), "+" l(d[14]), "+" l(d[15])                             \
                        : "l"(a), "l"(b), "r"(x.add));)
#define SHARED_32(name, form, T, l, more)                                                                    \
    KERNEL(name, T, 32, (void)0,                                                                             \
           asm volatile(PREDICATE(34) WGMMA form " " N32 ", %32, %33, p" more ";\n}"                         \
                        : "+" l(d[0]), "+" l(d[1]), "+" l(d[2]), "+" l(d[3]), "+" l(d[4]), "+" l(d[5]),      \
                          "+" l(d[6]), "+" l(d[7]), "+" l(d[8]), "+" l(d[9]), "+" l(d[10]), "+" l(d[11]),    \
                          "+" l(d[12]), "+" l(d[13]), "+" l(d[14]), "+" l(d[15]), "+" l(d[16]),              \
                          "+" l(d[17]), "+" l(d[18]), "+" l(d[19]), "+" l(d[20]), "+" l(d[21]),              \
                          "+" l(d[22]), "+" l(d[23]), "+" l(d[24]), "+" l(d[25]), "+" l(d[26]),              \
                          "+" l(d[27]), "+" l(d[28]), "+" l(d[29]), "+" l(d[30]), "+" l(d[31])               \
                        : "l"(a), "l"(b), "r"(x.add));)
#define SHARED_64(name, form, T, l, more)                                                                    \
    KERNEL(                                                                                                  \
        name, T, 64, (void)0,                                                                                \
        asm volatile(PREDICATE(66) WGMMA form " " N64 ", %64, %65, p" more ";\n}"                            \
                     : "+" l(d[0]), "+" l(d[1]), "+" l(d[2]), "+" l(d[3]), "+" l(d[4]), "+" l(d[5]),         \
                       "+" l(d[6]), "+" l(d[7]), "+" l(d[8]), "+" l(d[9]), "+" l(d[10]), "+" l(d[11]),       \
                       "+" l(d[12]), "+" l(d[13]), "+" l(d[14]), "+" l(d[15]), "+" l(d[16]), "+" l(d[17]),   \
                       "+" l(d[18]), "+" l(d[19]), "+" l(d[20]), "+" l(d[21]), "+" l(d[22]), "+" l(d[23]),   \
                       "+" l(d[24]), "+" l(d[25]), "+" l(d[26]), "+" l(d[27]), "+" l(d[28]), "+" l(d[29]),   \
                       "+" l(d[30]), "+" l(d[31]), "+" l(d[32]), "+" l(d[33]), "+" l(d[34]), "+" l(d[35]),   \
                       "+" l(d[36]), "+" l(d[37]), "+" l(d[38]), "+" l(d[39]), "+" l(d[40]), "+" l(d[41]),   \
                       "+" l(d[42]), "+" l(d[43]), "+" l(d[44]), "+" l(d[45]), "+" l(d[46]), "+" l(d[47]),   \
                       "+" l(d[48]), "+" l(d[49]), "+" l(d[50]), "+" l(d[51]), "+" l(d[52]), "+" l(d[53]),   \
                       "+" l(d[54]), "+" l(d[55]), "+" l(d[56]), "+" l(d[57]), "+" l(d[58]), "+" l(d[59]),   \
                       "+" l(d[60]), "+" l(d[61]), "+" l(d[62]), "+" l(d[63])                                \
                     : "l"(a), "l"(b), "r"(x.add));)
#define SHARED_128(name, form, T, l, more)                                                                   \
    KERNEL(name, T, 128, (void)0,                                                                            \
           asm volatile(                                                                                     \
               PREDICATE(130) WGMMA form " " N128 ", %128, %129, p" more ";\n}"                              \
               : "+" l(d[0]), "+" l(d[1]), "+" l(d[2]), "+" l(d[3]), "+" l(d[4]), "+" l(d[5]), "+" l(d[6]),  \
                 "+" l(d[7]), "+" l(d[8]), "+" l(d[9]), "+" l(d[10]), "+" l(d[11]), "+" l(d[12]),            \
                 "+" l(d[13]), "+" l(d[14]), "+" l(d[15]), "+" l(d[16]), "+" l(d[17]), "+" l(d[18]),         \
                 "+" l(d[19]), "+" l(d[20]), "+" l(d[21]), "+" l(d[22]), "+" l(d[23]), "+" l(d[24]),         \
                 "+" l(d[25]), "+" l(d[26]), "+" l(d[27]), "+" l(d[28]), "+" l(d[29]), "+" l(d[30]),         \
                 "+" l(d[31]), "+" l(d[32]), "+" l(d[33]), "+" l(d[34]), "+" l(d[35]), "+" l(d[36]),         \
                 "+" l(d[37]), "+" l(d[38]), "+" l(d[39]), "+" l(d[40]), "+" l(d[41]), "+" l(d[42]),         \
                 "+" l(d[43]), "+" l(d[44]), "+" l(d[45]), "+" l(d[46]), "+" l(d[47]), "+" l(d[48]),         \
                 "+" l(d[49]), "+" l(d[50]), "+" l(d[51]), "+" l(d[52]), "+" l(d[53]), "+" l(d[54]),         \
                 "+" l(d[55]), "+" l(d[56]), "+" l(d[57]), "+" l(d[58]), "+" l(d[59]), "+" l(d[60]),         \
                 "+" l(d[61]), "+" l(d[62]), "+" l(d[63]), "+" l(d[64]), "+" l(d[65]), "+" l(d[66]),         \
                 "+" l(d[67]), "+" l(d[68]), "+" l(d[69]), "+" l(d[70]), "+" l(d[71]), "+" l(d[72]),         \
                 "+" l(d[73]), "+" l(d[74]), "+" l(d[75]), "+" l(d[76]), "+" l(d[77]), "+" l(d[78]),         \
                 "+" l(d[79]), "+" l(d[80]), "+" l(d[81]), "+" l(d[82]), "+" l(d[83]), "+" l(d[84]),         \
                 "+" l(d[85]), "+" l(d[86]), "+" l(d[87]), "+" l(d[88]), "+" l(d[89]), "+" l(d[90]),         \
                 "+" l(d[91]), "+" l(d[92]), "+" l(d[93]), "+" l(d[94]), "+" l(d[95]), "+" l(d[96]),         \
                 "+" l(d[97]), "+" l(d[98]), "+" l(d[99]), "+" l(d[100]), "+" l(d[101]), "+" l(d[102]),      \
                 "+" l(d[103]), "+" l(d[104]), "+" l(d[105]), "+" l(d[106]), "+" l(d[107]), "+" l(d[108]),   \
                 "+" l(d[109]), "+" l(d[110]), "+" l(d[111]), "+" l(d[112]), "+" l(d[113]), "+" l(d[114]),   \
                 "+" l(d[115]), "+" l(d[116]), "+" l(d[117]), "+" l(d[118]), "+" l(d[119]), "+" l(d[120]),   \
                 "+" l(d[121]), "+" l(d[122]), "+" l(d[123]), "+" l(d[124]), "+" l(d[125]), "+" l(d[126]),   \
                 "+" l(d[127])                                                                               \
               : "l"(a), "l"(b), "r"(x.add));)
#define REGISTERS_4(name, form, T, l, more)                                                                  \
    KERNEL(name, T, 4, uint32_t f[4];                                                                        \
           memcpy(f, x.fragment + 4 * threadIdx.x, sizeof f),                                                \
           asm volatile(PREDICATE(9) WGMMA form " " N4 ", {%4, %5, %6, %7}, %8, p" more ";\n}"               \
                        : "+" l(d[0]), "+" l(d[1]), "+" l(d[2]), "+" l(d[3])                                 \
                        : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "l"(b), "r"(x.add));)
#define REGISTERS_12(name, form, T, l, more)                                                                 \
    KERNEL(name, T, 12, uint32_t f[4];                                                                       \
           memcpy(f, x.fragment + 4 * threadIdx.x, sizeof f),                                                \
           asm volatile(PREDICATE(17) WGMMA form " " N12 ", {%12, %13, %14, %15}, %16, p" more ";\n}"        \
                        : "+" l(d[0]), "+" l(d[1]), "+" l(d[2]), "+" l(d[3]), "+" l(d[4]), "+" l(d[5]),      \
                          "+" l(d[6]), "+" l(d[7]), "+" l(d[8]), "+" l(d[9]), "+" l(d[10]), "+" l(d[11])     \
                        : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "l"(b), "r"(x.add));)
#define REGISTERS_16(name, form, T, l, more)                                                                 \
    KERNEL(name, T, 16, uint32_t f[4];                                                                       \
           memcpy(f, x.fragment + 4 * threadIdx.x, sizeof f),                                                \
           asm volatile(PREDICATE(21) WGMMA form " " N16 ", {%16, %17, %18, %19}, %20, p" more ";\n}"        \
                        : "+" l(d[0]), "+" l(d[1]), "+" l(d[2]), "+" l(d[3]), "+" l(d[4]), "+" l(d[5]),      \
                          "+" l(d[6]), "+" l(d[7]), "+" l(d[8]), "+" l(d[9]), "+" l(d[10]), "+" l(d[11]),    \
                          "+" l(d[12]), "+" l(d[13]), "+" l(d[14]), "+" l(d[15])                             \
                        : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "l"(b), "r"(x.add));)
#define REGISTERS_32(name, form, T, l, more)                                                                 \
    KERNEL(name, T, 32, uint32_t f[4];                                                                       \
           memcpy(f, x.fragment + 4 * threadIdx.x, sizeof f),                                                \
           asm volatile(PREDICATE(37) WGMMA form " " N32 ", {%32, %33, %34, %35}, %36, p" more ";\n}"        \
                        : "+" l(d[0]), "+" l(d[1]), "+" l(d[2]), "+" l(d[3]), "+" l(d[4]), "+" l(d[5]),      \
                          "+" l(d[6]), "+" l(d[7]), "+" l(d[8]), "+" l(d[9]), "+" l(d[10]), "+" l(d[11]),    \
                          "+" l(d[12]), "+" l(d[13]), "+" l(d[14]), "+" l(d[15]), "+" l(d[16]),              \
                          "+" l(d[17]), "+" l(d[18]), "+" l(d[19]), "+" l(d[20]), "+" l(d[21]),              \
                          "+" l(d[22]), "+" l(d[23]), "+" l(d[24]), "+" l(d[25]), "+" l(d[26]),              \
                          "+" l(d[27]), "+" l(d[28]), "+" l(d[29]), "+" l(d[30]), "+" l(d[31])               \
                        : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "l"(b), "r"(x.add));)
#define REGISTERS_64(name, form, T, l, more)                                                                 \
    KERNEL(                                                                                                  \
        name, T, 64, uint32_t f[4];                                                                          \
        memcpy(f, x.fragment + 4 * threadIdx.x, sizeof f),                                                   \
        asm volatile(PREDICATE(69) WGMMA form " " N64 ", {%64, %65, %66, %67}, %68, p" more ";\n}"           \
                     : "+" l(d[0]), "+" l(d[1]), "+" l(d[2]), "+" l(d[3]), "+" l(d[4]), "+" l(d[5]),         \
                       "+" l(d[6]), "+" l(d[7]), "+" l(d[8]), "+" l(d[9]), "+" l(d[10]), "+" l(d[11]),       \
                       "+" l(d[12]), "+" l(d[13]), "+" l(d[14]), "+" l(d[15]), "+" l(d[16]), "+" l(d[17]),   \
                       "+" l(d[18]), "+" l(d[19]), "+" l(d[20]), "+" l(d[21]), "+" l(d[22]), "+" l(d[23]),   \
                       "+" l(d[24]), "+" l(d[25]), "+" l(d[26]), "+" l(d[27]), "+" l(d[28]), "+" l(d[29]),   \
                       "+" l(d[30]), "+" l(d[31]), "+" l(d[32]), "+" l(d[33]), "+" l(d[34]), "+" l(d[35]),   \
                       "+" l(d[36]), "+" l(d[37]), "+" l(d[38]), "+" l(d[39]), "+" l(d[40]), "+" l(d[41]),   \
                       "+" l(d[42]), "+" l(d[43]), "+" l(d[44]), "+" l(d[45]), "+" l(d[46]), "+" l(d[47]),   \
                       "+" l(d[48]), "+" l(d[49]), "+" l(d[50]), "+" l(d[51]), "+" l(d[52]), "+" l(d[53]),   \
                       "+" l(d[54]), "+" l(d[55]), "+" l(d[56]), "+" l(d[57]), "+" l(d[58]), "+" l(d[59]),   \
                       "+" l(d[60]), "+" l(d[61]), "+" l(d[62]), "+" l(d[63])                                \
                     : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "l"(b), "r"(x.add));)
#define REGISTERS_128(name, form, T, l, more)                                                                \
    KERNEL(name, T, 128, uint32_t f[4];                                                                      \
           memcpy(f, x.fragment + 4 * threadIdx.x, sizeof f),                                                \
           asm volatile(                                                                                     \
               PREDICATE(133) WGMMA form " " N128 ", {%128, %129, %130, %131}, %132, p" more ";\n}"          \
               : "+" l(d[0]), "+" l(d[1]), "+" l(d[2]), "+" l(d[3]), "+" l(d[4]), "+" l(d[5]), "+" l(d[6]),  \
                 "+" l(d[7]), "+" l(d[8]), "+" l(d[9]), "+" l(d[10]), "+" l(d[11]), "+" l(d[12]),            \
                 "+" l(d[13]), "+" l(d[14]), "+" l(d[15]), "+" l(d[16]), "+" l(d[17]), "+" l(d[18]),         \
                 "+" l(d[19]), "+" l(d[20]), "+" l(d[21]), "+" l(d[22]), "+" l(d[23]), "+" l(d[24]),         \
                 "+" l(d[25]), "+" l(d[26]), "+" l(d[27]), "+" l(d[28]), "+" l(d[29]), "+" l(d[30]),         \
                 "+" l(d[31]), "+" l(d[32]), "+" l(d[33]), "+" l(d[34]), "+" l(d[35]), "+" l(d[36]),         \
                 "+" l(d[37]), "+" l(d[38]), "+" l(d[39]), "+" l(d[40]), "+" l(d[41]), "+" l(d[42]),         \
                 "+" l(d[43]), "+" l(d[44]), "+" l(d[45]), "+" l(d[46]), "+" l(d[47]), "+" l(d[48]),         \
                 "+" l(d[49]), "+" l(d[50]), "+" l(d[51]), "+" l(d[52]), "+" l(d[53]), "+" l(d[54]),         \
                 "+" l(d[55]), "+" l(d[56]), "+" l(d[57]), "+" l(d[58]), "+" l(d[59]), "+" l(d[60]),         \
                 "+" l(d[61]), "+" l(d[62]), "+" l(d[63]), "+" l(d[64]), "+" l(d[65]), "+" l(d[66]),         \
                 "+" l(d[67]), "+" l(d[68]), "+" l(d[69]), "+" l(d[70]), "+" l(d[71]), "+" l(d[72]),         \
                 "+" l(d[73]), "+" l(d[74]), "+" l(d[75]), "+" l(d[76]), "+" l(d[77]), "+" l(d[78]),         \
                 "+" l(d[79]), "+" l(d[80]), "+" l(d[81]), "+" l(d[82]), "+" l(d[83]), "+" l(d[84]),         \
                 "+" l(d[85]), "+" l(d[86]), "+" l(d[87]), "+" l(d[88]), "+" l(d[89]), "+" l(d[90]),         \
                 "+" l(d[91]), "+" l(d[92]), "+" l(d[93]), "+" l(d[94]), "+" l(d[95]), "+" l(d[96]),         \
                 "+" l(d[97]), "+" l(d[98]), "+" l(d[99]), "+" l(d[100]), "+" l(d[101]), "+" l(d[102]),      \
                 "+" l(d[103]), "+" l(d[104]), "+" l(d[105]), "+" l(d[106]), "+" l(d[107]), "+" l(d[108]),   \
                 "+" l(d[109]), "+" l(d[110]), "+" l(d[111]), "+" l(d[112]), "+" l(d[113]), "+" l(d[114]),   \
                 "+" l(d[115]), "+" l(d[116]), "+" l(d[117]), "+" l(d[118]), "+" l(d[119]), "+" l(d[120]),   \
                 "+" l(d[121]), "+" l(d[122]), "+" l(d[123]), "+" l(d[124]), "+" l(d[125]), "+" l(d[126]),   \
                 "+" l(d[127])                                                                               \
               : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "l"(b), "r"(x.add));)

SHARED_4(f16_n8, "m64n8k16.f32.f16.f16", float, "f", ", 1, 1, 0, 0")
SHARED_12(f16_n24, "m64n24k16.f32.f16.f16", float, "f", ", 1, 1, 0, 0")
SHARED_32(f16_n64, "m64n64k16.f32.f16.f16", float, "f", ", 1, 1, 0, 0")
SHARED_128(f16_n256, "m64n256k16.f32.f16.f16", float, "f", ", 1, 1, 0, 0")
SHARED_32(f16_scaled, "m64n64k16.f32.f16.f16", float, "f", ", -1, 1, 0, 0")
SHARED_32(f16_ta, "m64n64k16.f32.f16.f16", float, "f", ", 1, 1, 1, 0")
SHARED_64(f16_tb, "m64n128k16.f32.f16.f16", float, "f", ", 1, 1, 0, 1")
SHARED_64(f16_tab, "m64n128k16.f32.f16.f16", float, "f", ", 1, 1, 1, 1")
SHARED_2(f16_sums_n8, "m64n8k16.f16.f16.f16", uint32_t, "r", ", 1, 1, 0, 0")
SHARED_64(f16_sums_n256, "m64n256k16.f16.f16.f16", uint32_t, "r", ", 1, -1, 0, 0")
SHARED_64(bf16_n128, "m64n128k16.f32.bf16.bf16", float, "f", ", 1, 1, 0, 0")
SHARED_64(bf16_tab, "m64n128k16.f32.bf16.bf16", float, "f", ", 1, 1, 1, 1")
SHARED_32(tf32_n64, "m64n64k8.f32.tf32.tf32", float, "f", ", 1, -1")
SHARED_32(e4m3_n64, "m64n64k32.f32.e4m3.e4m3", float, "f", ", 1, 1")
SHARED_32(e4m3_e5m2_n64, "m64n64k32.f32.e4m3.e5m2", float, "f", ", 1, 1")
SHARED_16(e5m2_e4m3_n64, "m64n64k32.f16.e5m2.e4m3", uint32_t, "r", ", 1, 1")
SHARED_64(e5m2_n256, "m64n256k32.f16.e5m2.e5m2", uint32_t, "r", ", -1, -1")
SHARED_32(s8_n64, "m64n64k32.s32.s8.s8", int, "r", "")
SHARED_12(s8_u8_n24, "m64n24k32.s32.s8.u8", int, "r", "")
SHARED_128(u8_s8_n256, "m64n256k32.satfinite.s32.u8.s8", int, "r", "")
SHARED_4(u8_n8, "m64n8k32.s32.u8.u8", int, "r", "")
REGISTERS_32(r_f16_n64, "m64n64k16.f32.f16.f16", float, "f", ", 1, 1, 0")
REGISTERS_64(r_f16_tb, "m64n128k16.f32.f16.f16", float, "f", ", 1, 1, 1")
REGISTERS_16(r_f16_sums_n64, "m64n64k16.f16.f16.f16", uint32_t, "r", ", 1, 1, 0")
REGISTERS_4(r_bf16_n8, "m64n8k16.f32.bf16.bf16", float, "f", ", -1, 1, 0")
REGISTERS_128(r_tf32_n256, "m64n256k8.f32.tf32.tf32", float, "f", ", 1, 1")
REGISTERS_32(r_e4m3_n64, "m64n64k32.f32.e4m3.e4m3", float, "f", ", 1, 1")
REGISTERS_16(r_e5m2_e4m3_n64, "m64n64k32.f16.e5m2.e4m3", uint32_t, "r", ", 1, 1")
REGISTERS_32(r_s8_n64, "m64n64k32.s32.s8.s8", int, "r", "")
REGISTERS_12(r_u8_s8_n24, "m64n24k32.s32.u8.s8", int, "r", "")

/* ---- the cases ------------------------------------------------------------------------------------------------ */

enum type { F16, BF16, TF32, E4M3, E5M2, S8, U8, F32, S32 };

/** Where the elements of an operand lie. */
struct layout {
    unsigned width;           /**< of the swizzle in bytes; 16: none */
    unsigned leading, stride; /**< in bytes */
    int transposed;           /**< MN-major */
    unsigned begin;           /**< bytes in front of it: steps along k within a row of the swizzle */
};

struct setting {
    const char *name;
    void (*kernel)(struct arguments);
    enum type a, b, d;
    unsigned n;
    struct layout la, lb;
    int from_registers, negative;
};

static const struct layout NONE = {16, 128, 256, 0, 0}, NONE_APART = {16, 4096, 128, 0, 0},
                           K32 = {32, 16, 256, 0, 0}, K64 = {64, 16, 512, 0, 32},
                           K128 = {128, 16, 1024, 0, 0}, K128_LATER = {128, 0, 1024, 0, 96},
                           K32_APART = {32, 0, 512, 0, 0}, MN_NONE = {16, 128, 256, 1, 0},
                           MN_NONE_APART = {16, 4096, 128, 1, 0}, MN32 = {32, 1024, 256, 1, 0},
                           MN64 = {64, 2048, 512, 1, 0}, MN128 = {128, 2048, 1024, 1, 0},
                           MN128_APART = {128, 1024, 4096, 1, 0};

static const struct setting settings[] = {
    {"f16 n8", f16_n8, F16, F16, F32, 8, NONE, NONE, 0, 0},
    {"f16 n24, 32 B", f16_n24, F16, F16, F32, 24, K32, K32_APART, 0, 0},
    {"f16 n64, 64 B", f16_n64, F16, F16, F32, 64, K64, K64, 0, 0},
    {"f16 n64, mixed", f16_n64, F16, F16, F32, 64, K128_LATER, NONE_APART, 0, 0},
    {"f16 n256, 128 B", f16_n256, F16, F16, F32, 256, K128, K128, 0, 0},
    {"f16 -A", f16_scaled, F16, F16, F32, 64, K128, K128_LATER, 0, 1},
    {"f16 A transposed, none", f16_ta, F16, F16, F32, 64, MN_NONE, K128, 0, 0},
    {"f16 A transposed, 32 B", f16_ta, F16, F16, F32, 64, MN32, K64, 0, 0},
    {"f16 A transposed, 64 B", f16_ta, F16, F16, F32, 64, MN64, K32, 0, 0},
    {"f16 B transposed, 128 B", f16_tb, F16, F16, F32, 128, K128, MN128, 0, 0},
    {"f16 B transposed, none", f16_tb, F16, F16, F32, 128, NONE, MN_NONE_APART, 0, 0},
    {"f16 both transposed", f16_tab, F16, F16, F32, 128, MN128, MN128_APART, 0, 0},
    {"f16 both transposed, narrow", f16_tab, F16, F16, F32, 128, MN_NONE, MN32, 0, 0},
    {"f16 sums n8", f16_sums_n8, F16, F16, F16, 8, K128, K128, 0, 0},
    {"f16 sums n256, -B", f16_sums_n256, F16, F16, F16, 256, K64, K64, 0, 1},
    {"bf16 n128", bf16_n128, BF16, BF16, F32, 128, K128, K128, 0, 0},
    {"bf16 both transposed", bf16_tab, BF16, BF16, F32, 128, MN64, MN64, 0, 0},
    {"tf32 n64, -B", tf32_n64, TF32, TF32, F32, 64, K128, K32, 0, 1},
    {"e4m3 n64", e4m3_n64, E4M3, E4M3, F32, 64, K128, K64, 0, 0},
    {"e4m3 x e5m2 n64", e4m3_e5m2_n64, E4M3, E5M2, F32, 64, NONE, K128_LATER, 0, 0},
    {"e5m2 x e4m3 n64, f16 sums", e5m2_e4m3_n64, E5M2, E4M3, F16, 64, K128, K128, 0, 0},
    {"e5m2 n256, f16 sums, -A -B", e5m2_n256, E5M2, E5M2, F16, 256, K64, K128, 0, 0},
    {"s8 n64", s8_n64, S8, S8, S32, 64, K128, K128, 0, 0},
    {"s8 x u8 n24", s8_u8_n24, S8, U8, S32, 24, K32, NONE, 0, 0},
    {"u8 x s8 n256, satfinite", u8_s8_n256, U8, S8, S32, 256, K128, K64, 0, 0},
    {"u8 n8", u8_n8, U8, U8, S32, 8, NONE_APART, K128, 0, 0},
    {"registers: f16 n64", r_f16_n64, F16, F16, F32, 64, NONE, K128, 1, 0},
    {"registers: f16 n128, B transposed", r_f16_tb, F16, F16, F32, 128, NONE, MN128, 1, 0},
    {"registers: f16 n64, f16 sums", r_f16_sums_n64, F16, F16, F16, 64, NONE, K64, 1, 0},
    {"registers: bf16 n8, -A", r_bf16_n8, BF16, BF16, F32, 8, NONE, K32, 1, 1},
    {"registers: tf32 n256", r_tf32_n256, TF32, TF32, F32, 256, NONE, K128, 1, 0},
    {"registers: e4m3 n64", r_e4m3_n64, E4M3, E4M3, F32, 64, NONE, K128, 1, 0},
    {"registers: e5m2 x e4m3 n64, f16 sums", r_e5m2_e4m3_n64, E5M2, E4M3, F16, 64, NONE, NONE_APART, 1, 0},
    {"registers: s8 n64", r_s8_n64, S8, S8, S32, 64, NONE, K128, 1, 0},
    {"registers: u8 x s8 n24", r_u8_s8_n24, U8, S8, S32, 24, NONE, K64, 1, 0},
};

/* ---- numbers -------------------------------------------------------------------------------------------------- */

static unsigned bytes_of(enum type type)
{
    return type == TF32 || type == F32 || type == S32 ? 4 : type == F16 || type == BF16 ? 2 : 1;
}

/** A small integer or a quarter of one; of bytes, all of them. */
static double next_element(enum type type, unsigned *state)
{
    const int r = (int)(next_random(state) >> 8);
    if (type == S8) return (signed char)r;
    if (type == U8) return (unsigned char)r;
    if (type == E4M3 || type == E5M2) return r % 4 - 1;
    return type == F16 ? r % 5 - 2 : (r % 17 - 8) / 4.0;
}

/** The bits of -1, 0, 1, 2 in a format of 8 bits: with `shift` bits of mantissa and this bias. */
static uint8_t small_bits(double value, int shift, int bias)
{
    if (value == 0) return 0;
    return (uint8_t)((value < 0 ? 0x80 : 0) | (bias + (fabs(value) == 2)) << shift);
}

static void store_element(void *to, enum type type, double value)
{
    const float narrow = (float)value;
    uint32_t word;
    memcpy(&word, &narrow, sizeof word);
    const uint16_t upper = (uint16_t)(word >> 16);
    const half h = __float2half(narrow);
    const uint8_t byte = type == E4M3   ? small_bits(value, 3, 7)
                         : type == E5M2 ? small_bits(value, 2, 15)
                                        : (uint8_t)(int)value;
    if (type == TF32)
        memcpy(to, &word, 4);
    else if (type == BF16)
        memcpy(to, &upper, 2);
    else if (type == F16)
        memcpy(to, &h, 2);
    else
        memcpy(to, &byte, 1);
}

/* ---- where they lie ------------------------------------------------------------------------------------------- */

/** The byte at which element k of row (or column) i lies: the manual's canonical layouts, in units of 16 bytes. */
static unsigned position(const struct layout *l, unsigned bytes, unsigned i, unsigned k)
{
    const unsigned across = l->width / 16, each = 16 / bytes;
    unsigned at;
    if (!l->transposed)
        at = i % 8 * l->width + i / 8 * l->stride + k / each * (across == 1 ? l->leading : 16) +
             k % each * bytes;
    else if (across == 1)
        at = i / 8 * l->stride + k % 8 * 16 + k / 8 * l->leading + i % 8 * 2;
    else
        at = i / 8 % across * 16 + i / 8 / across * l->leading + k % 8 * l->width + k / 8 * l->stride +
             i % 8 * 2;
    at += l->begin;
    return at ^ ((at >> 7) % across) << 4;
}

static uint64_t descriptor(const struct layout *l, unsigned offset)
{
    const uint64_t swizzle = l->width == 128 ? 1 : l->width == 64 ? 2 : l->width == 32 ? 3 : 0;
    return (uint64_t)(offset + l->begin) >> 4 | (uint64_t)(l->leading >> 4) << 16 |
           (uint64_t)(l->stride >> 4) << 32 | swizzle << 62;
}

/** Numbers of a case, and where they are for the device. */
struct matrices {
    double a[ROWS][32], b[256][32], d[ROWS][256];
    uint8_t image[A_BYTES + B_BYTES];
    uint32_t fragment[THREADS][4], before[THREADS * MOST_SUMS], after[THREADS * MOST_SUMS];
};

static void fill(const struct setting *s, struct matrices *m, unsigned *state)
{
    const unsigned bytes = bytes_of(s->a), depth = 32 / bytes, each = 4 / bytes;
    memset(m, 0, sizeof *m);
    for (unsigned k = 0; k < depth; k++) {
        for (unsigned i = 0; i < ROWS; i++) {
            m->a[i][k] = next_element(s->a, state);
            store_element(m->image + position(&s->la, bytes, i, k), s->a, m->a[i][k]);
        }
        for (unsigned i = 0; i < s->n; i++) {
            m->b[i][k] = next_element(s->b, state);
            store_element(m->image + A_BYTES + position(&s->lb, bytes, i, k), s->b, m->b[i][k]);
        }
    }
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned r = 0; r < 4; r++)
            for (unsigned e = 0; e < each; e++) {
                const unsigned row = thread / 32 * 16 + thread % 32 / 4 + 8 * (r % 2);
                const unsigned k = each * (thread % 4) + 4 * each * (r / 2) + e;
                store_element((uint8_t *)&m->fragment[thread][r] + e * bytes, s->a, m->a[row][k]);
            }
}

/** Row and column of element i of a thread's part of D, and in which of its registers it lies. */
static void place_of_sum(unsigned thread, unsigned i, unsigned *row, unsigned *column)
{
    *row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2);
    *column = i / 4 * 8 + thread % 4 * 2 + i % 2;
}

static double sum_at(const struct setting *s, const uint32_t *reg, unsigned i)
{
    float wide;
    half narrow[2];
    if (s->d == S32) return (int32_t)reg[i];
    memcpy(&wide, &reg[i], sizeof wide);
    if (s->d == F32) return wide;
    memcpy(narrow, &reg[i / 2], sizeof narrow);
    return __half2float(narrow[i % 2]);
}

static void put_sum(const struct setting *s, uint32_t *reg, unsigned i, double value)
{
    const float wide = (float)value;
    const half narrow = __float2half(wide);
    if (s->d == S32)
        reg[i] = (uint32_t)(int32_t)value;
    else if (s->d == F32)
        memcpy(&reg[i], &wide, sizeof wide);
    else
        memcpy((half *)&reg[i / 2] + i % 2, &narrow, sizeof narrow);
}

/* ---- running one ---------------------------------------------------------------------------------------------- */

static double product(const struct setting *s, const struct matrices *m, unsigned row, unsigned column)
{
    double sum = 0;
    for (unsigned k = 0; k < 32 / bytes_of(s->a); k++) sum += m->a[row][k] * m->b[column][k];
    return s->negative ? -sum : sum;
}

static void run(const struct setting *s, struct matrices *m, int add)
{
    const unsigned elements = s->n / 2, registers = s->d == F16 ? elements / 2 : elements;
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned i = 0; i < elements; i++)
            put_sum(s, m->before + registers * thread, i, (double)((thread + 3 * i) % 11) - 5);
    struct arguments x = {upload((const uint4 *)m->image, sizeof m->image / 16),
                          upload(m->fragment[0], THREADS * 4),
                          upload(m->before, THREADS * registers),
                          device_array<uint32_t>(THREADS * registers),
                          descriptor(&s->la, 0),
                          descriptor(&s->lb, A_BYTES),
                          add};
    s->kernel<<<1, THREADS>>>(x);
    finish_launch(s->name);
    download(m->after, x.after, THREADS * registers);
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned i = 0; i < elements; i++) {
            unsigned row, column;
            place_of_sum(thread, i, &row, &column);
            const double before = add ? sum_at(s, m->before + registers * thread, i) : 0;
            expect_close(s->name, row * s->n + column, sum_at(s, m->after + registers * thread, i),
                         product(s, m, row, column) + before, 0);
        }
    release((void *)x.image);
    release((void *)x.fragment);
    release((void *)x.sums);
    release(x.after);
}

int main(void)
{
    static struct matrices m;
    unsigned state = 12345;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        fill(&settings[i], &m, &state);
        run(&settings[i], &m, 0);
        run(&settings[i], &m, 1);
    }
    return finish("ptx_wgmma");
}
