# The program simtcc: what it says of bad requests and bad sources, and that it builds programs of several files.
#
#   cmake -DSIMTCC=build/bin/simtcc -DWORKDIR=DIR -P simtcc.cmake
cmake_minimum_required(VERSION 3.20)
file(REMOVE_RECURSE "${WORKDIR}")
file(MAKE_DIRECTORY "${WORKDIR}/include" "${WORKDIR}/tmp")
set(ENV{TMPDIR} "${WORKDIR}/tmp")

# expect(NAME CODE REGEX arguments...): simtcc ends with CODE, and its output matches.
function(expect name expected_code expected_output)
    execute_process(COMMAND "${SIMTCC}" ${ARGN} WORKING_DIRECTORY "${WORKDIR}" RESULT_VARIABLE code
                    OUTPUT_VARIABLE output ERROR_VARIABLE errors)
    string(APPEND output "${errors}")
    if(NOT code STREQUAL expected_code OR NOT output MATCHES "${expected_output}")
        message(SEND_ERROR "${name}: code ${code}, expected ${expected_code} and '${expected_output}':\n${output}")
    endif()
    file(GLOB left "${WORKDIR}/tmp/*")
    if(left)
        message(SEND_ERROR "${name}: temporary files are left: ${left}")
    endif()
endfunction()

function(expect_run name expected_code expected_output)
    execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${WORKDIR}" RESULT_VARIABLE code OUTPUT_VARIABLE output
                    ERROR_VARIABLE output)
    if(NOT code STREQUAL expected_code OR NOT output MATCHES "${expected_output}")
        message(SEND_ERROR "${name}: code ${code}, expected ${expected_code} and '${expected_output}':\n${output}")
    endif()
endfunction()

# ---- requests ---------------------------------------------------------------------------------------------------
expect("help" 0 "simtcc --run file.cu.*-arch=sm_XX.*SIMT_COUNTERS" --help)
execute_process(COMMAND "${SIMTCC}" --help OUTPUT_FILE "${WORKDIR}/help")
file(STRINGS "${WORKDIR}/help" lines)
list(LENGTH lines count)
list(FILTER lines INCLUDE REGEX "^....................................................................................................+$")
if(count GREATER 26 OR lines)
    message(SEND_ERROR "the help of simtcc is no screen: ${count} lines, wider than 99 columns: ${lines}")
endif()
expect("version" 0 "^simtcc [0-9]" --version)
expect("nothing to do" 2 "simtcc: no input files")
expect("unknown option" 2 "simtcc: unknown option --frobnicate" --frobnicate x.cu)
expect("option without its value" 2 "simtcc: -o needs a value" -o)
expect("no such architecture" 2 "-arch=sm_1 is not an architecture" -arch=sm_1 x.cu)
expect("no such file" 2 "simtcc: cannot read missing.cu" missing.cu)

expect("arguments without a program to run" 2 "simtcc: arguments for the program without --run" x.cu -- 3)
expect("--run of an object" 2 "simtcc: --run builds a whole program" --run -c x.cu)

# ---- build and run at once: the program's output, arguments and end ------------------------------------------------
file(WRITE "${WORKDIR}/runs.cu" [=[
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
__global__ void k(int *x, int limit) { if ((int)threadIdx.x < limit) x[threadIdx.x] = 1; }
int main(int argc, char **argv)
{
    int *x;
    for (int i = 1; i < argc; i++) printf("[%s]", argv[i]);
    if (argc > 1 && strcmp(argv[1], "abort") == 0) raise(SIGABRT);
    cudaMalloc(&x, 32 * sizeof *x);
    k<<<1, 64>>>(x, argc > 1 && strcmp(argv[1], "wrong") == 0 ? 33 : 32);
    cudaDeviceSynchronize();
    cudaFree(x);
    return argc > 1 ? atoi(argv[1]) : 0;
}
]=])
file(WRITE "${WORKDIR}/tmp/simtcc-killed/runs.cu" "") # of one that was killed: expect() sees that this one removes it
execute_process(COMMAND touch -d "1 hour ago" "${WORKDIR}/tmp/simtcc-killed")
expect("run" 0 "^$" --run runs.cu)
expect("its exit code, arguments after --" 7 "^\\[7\\]\\[-o b\\]\\[--\\]$" --run runs.cu -- 7 "-o b" --)
expect("arguments as nvcc takes them" 3 "^\\[3\\]\\[b\\]$" -run -run-args "3 b" runs.cu)
expect("a finding" 86 "simt: out-of-bounds.*runs.cu:5" --run runs.cu -- wrong)
file(WRITE "${WORKDIR}/loop.cu" [=[
__global__ void k(int *x) { x[0] += threadIdx.x; }
int main()
{
    int *x, *y;
    cudaMalloc(&x, 4), cudaMemset(x, 0, 4), cudaMalloc(&y, 4), cudaFree(y);
    for (int i = 0; i < 9; i++) k<<<1, 2>>>(x), cudaFree(y);
    return cudaFree(x);
}
]=])
expect("one finding for each place, and how often it came" 86
       "^simt: global-race: [^:]*:5 .*simt: use-after-free: .* at loop.cu:6\n[^:]*global-race in kernel k at loop.cu:1 came in 8 later launches, 16 times\n[^:]*use-after-free at loop.cu:6 came 8 times more\n$"
       --run loop.cu)
expect("a signal" 134 "simtcc: runs.cu was ended by signal 6" --run runs.cu -- abort)
file(WRITE "${WORKDIR}/broken.cu" "__global__ void k() { nothing; }\n")
expect("what does not compile does not run" 1 "broken.cu:1:.*nothing" --run broken.cu)
expect("a program that stays" 0 "" --run runs.cu -o kept)
if(NOT EXISTS "${WORKDIR}/kept")
    message(SEND_ERROR "--run with -o leaves no program")
endif()

# Options as Makefiles give them to nvcc: one dash or two, a value behind `=` or in the next argument. Those that mean something must act.
foreach(line IN ITEMS
        "-Xcompiler=-Wall" "--compiler-options -Wall" "-Xlinker -rpath,/tmp" "-ccbin g++" "-arch=sm_80 -code=sm_80" "-arch=native"
        "--generate-code arch=compute_80,code=sm_80" "-gencode arch=compute_80,code=sm_80" "-t4" "--threads 4" "-m 64" "--optimize 3"
        "--std c++14" "-x cu" "--default-stream per-thread" "-ftz true" "-prec-div=false" "--restrict" "-res-usage" "--ptxas-options -v"
        "-Xcudafe --display_error_number" "-diag-suppress 177" "-Werror all-warnings" "-Werror=cross-execution-space-call"
        "-cudart shared" "-lcufft -lm" "--include-path /tmp" "--library-path=/tmp" "-rdc true" "-maxrregcount 32" "--fmad false" "-G -g")
    string(REPLACE " " ";" words "${line}")
    expect("nvcc's option ${line}" 0 "simt_launch" ${words} --rewritten runs.cu)
endforeach()
file(WRITE "${WORKDIR}/named.cpp" "#ifndef SAID\n#error not said\n#endif\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); return VALUE; }\n")
expect("nvcc's options act" 5 "^$" --run -x cu --define-macro SAID -Xcompiler "-DVALUE=5 -Wall" -lcufft -lnvToolsExt named.cpp)
expect("-dc compiles" 0 "^$" -dc runs.cu -o part.o)
expect("and does not link" 0 "^$" part.o -o of_parts)
expect("what nvcc makes and this device does not" 2 "^simtcc: --ptx: .*has no PTX" --ptx runs.cu)
expect("a shared library" 2 "^simtcc: -shared: .*make a static one" -shared runs.cu -o runs.so)

# Two files that launch kernels of one type, and one template and one inline kernel of both: the linker keeps one of what is alike.
file(WRITE "${WORKDIR}/both.cuh" [=[
#pragma once
template <int N> __global__ void add(int *x) { x[threadIdx.x] += N; }
inline __global__ void increment(int *x) { x[threadIdx.x]++; }
extern __managed__ int total;
void second(int *x);
]=])
file(WRITE "${WORKDIR}/first.cu" [=[
#include "both.cuh"
__device__ __managed__ int total = 2;
__global__ void mine(int *x) { x[threadIdx.x] = (int)threadIdx.x; }
int main()
{
    int *x, sum = 0;
    cudaMallocManaged(&x, 32 * sizeof *x);
    mine<<<1, 32>>>(x), add<3><<<1, 32>>>(x), increment<<<1, 32>>>(x);
    second(x);
    cudaDeviceSynchronize();
    for (int i = 0; i < 32; i++) sum += x[i];
    cudaFree(x);
    return sum == 496 + 32 * 13 && total == 34 ? 0 : 1;
}
]=])
file(WRITE "${WORKDIR}/second.cu" [=[
#include "both.cuh"
template <int N> __device__ int five(int x) { return x + N; }
__global__ static void mine(int *x) { x[threadIdx.x] = five<5>(x[threadIdx.x]); atomicAdd(&total, 1); }
void second(int *x) { mine<<<1, 32>>>(x), add<3><<<1, 32>>>(x), increment<<<1, 32>>>(x); }
]=])
expect("kernels of one type in two files" 0 "^$" --run first.cu second.cu)
expect("in the other order" 0 "^$" --run second.cu first.cu)

# A library of headers, included by <name> from an include folder, with another library's header that is left as it is.
file(MAKE_DIRECTORY "${WORKDIR}/library/own")
file(WRITE "${WORKDIR}/library/own/all.h" "#include <own/kernels.cuh>\n#include <own/plain.h>\n")
file(WRITE "${WORKDIR}/library/own/plain.h" "#pragma once\ninline int plain(int x) { return x + 1; }\n")
file(WRITE "${WORKDIR}/library/own/kernels.cuh" [=[
#pragma once
#include <own/plain.h>
template <typename T> __global__ void fill(T *x, T value) { x[threadIdx.x] = value; }
template <typename T> void run(T *x, T value) { fill<<<1, 64>>>(x, value); }
]=])
file(WRITE "${WORKDIR}/uses.cu" "#include <own/all.h>\nint main() { int *x; cudaMalloc(&x, 32 * sizeof *x); run(x, plain(4)); cudaDeviceSynchronize(); return cudaFree(x); }\n")
foreach(option IN ITEMS -I -isystem)
    expect("a library of headers, ${option}" 86 "simt: out-of-bounds.*library/own/kernels.cuh:3" --run ${option} library uses.cu)
endforeach()

# A Makefile's -I of the CUDA Toolkit, or a system's CPATH: its headers do not come before the device's.
file(MAKE_DIRECTORY "${WORKDIR}/toolkit/include/crt")
foreach(name IN ITEMS cuda_runtime.h cuda_fp16.h crt/host_runtime.h)
    file(WRITE "${WORKDIR}/toolkit/include/${name}" "#error of the toolkit\n")
endforeach()
file(WRITE "${WORKDIR}/toolkit/include/only_there.h" "enum { ONLY_THERE = 7 };\n")
file(WRITE "${WORKDIR}/included.cu" "#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n#include \"only_there.h\"\nint main() { return ONLY_THERE; }\n")
expect("-I of the toolkit" 7 "^$" --run -I toolkit/include included.cu)
expect("-isystem of the toolkit" 7 "^$" --run -isystem=toolkit/include included.cu)
set(usual "$ENV{CPATH}")
set(ENV{CPATH} "${WORKDIR}/include:${WORKDIR}/toolkit/include")
expect("the toolkit in CPATH" 7 "^$" --run included.cu)
set(ENV{CPATH} "${usual}")

# What a distribution hardens its compiler with changes nothing (with a landing pad in front, no kernel was known as one).
set(hardened "g++ -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-clash-protection -fPIE -pie")
execute_process(COMMAND uname -m OUTPUT_VARIABLE processor OUTPUT_STRIP_TRAILING_WHITESPACE)
if(processor STREQUAL "x86_64")
    string(APPEND hardened " -fcf-protection=full")
elseif(processor STREQUAL "aarch64")
    string(APPEND hardened " -mbranch-protection=standard")
endif()
set(usual "$ENV{CXX}")
set(ENV{CXX} "${hardened}")
expect("a hardened compiler" 0 "^$" --run runs.cu)
expect("a finding with a hardened compiler" 86 "simt: out-of-bounds.*runs.cu:5" --run runs.cu -- wrong)
if(NOT usual STREQUAL "")
    set(ENV{CXX} "${usual}")
else()
    unset(ENV{CXX})
endif()

# ---- sources that must be refused, with the place ---------------------------------------------------------------
# ptx(NAME REGEX STATEMENT): the asm statement in a kernel is refused at its line; k has int *p, float f, long long l, char c.
function(ptx name expected statement)
    file(WRITE "${WORKDIR}/ptx.cu" "__global__ void k(int *p, float f, long long l, char c)\n{\n    ${statement}\n}\n")
    expect("inline PTX: ${name}" 1 "ptx.cu:3:.*${expected}" -c ptx.cu)
endfunction()
ptx("an operand of another size" "operand's type does not match its constraint" [=[asm("mov.u32 %0, %1;" : "=r"(*p) : "r"(l));]=])
ptx("a float for an integer" "operand's type does not match its constraint" [=[asm("mov.u32 %0, %1;" : "=r"(*p) : "r"(f));]=])
ptx("an integer for a float" "operand's type does not match its constraint" [=[asm("mov.f32 %0, 0f00000000;" : "=f"(*p));]=])
ptx("a byte" "operand's type does not match its constraint" [=[asm("mov.u32 %0, %1;" : "=r"(*p) : "r"(c));]=])
ptx("a constraint of another machine" "PTX has the constraints h r l q f d n C" [=[asm("mov.u32 %0, %1;" : "=r"(*p) : "m"(*p));]=])
ptx("a constant that is none" "not usable in a constant expression|not a constant expression" [=[asm("mov.u32 %0, %1;" : "=r"(*p) : "n"(*p));]=])
ptx("names of operands" "operands of PTX have no names, as with nvcc" [=[asm("mov.u32 %[d], 1;" : [d] "=r"(*p));]=])
ptx("a clobber of the host" "can only clobber" [=[asm volatile("mov.u32 %0, 1;" : "=r"(*p) : : "cc");]=])
# An instruction of sm_80 in a program for sm_75, and on a device that is one; a statement that may be moved gets a note, once.
file(WRITE "${WORKDIR}/old.cu" [=[
__global__ void k(int *p)
{
    int d;
    asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(1));
    p[threadIdx.x] = d;
    asm volatile("st.global.b32 [%0], %1;" : : "l"(p + threadIdx.x), "r"(d));
    asm volatile("membar.gl;" : :);
}
int main()
{
    int *p;
    if (cudaMalloc(&p, 128) != cudaSuccess) return 1;
    k<<<1, 32>>>(p);
    return cudaDeviceSynchronize() == cudaSuccess && cudaFree(p) == cudaSuccess ? 0 : 1;
}
]=])
expect("inline PTX for an old architecture" 0 "" -arch=sm_75 old.cu -o old)
expect_run("it is refused as by ptxas" 86
           "unsupported: inline PTX: redux.sync.add.s32: it requires .target sm_80 or higher.*compiled for sm_75.*old.cu:4" ./old)
expect("inline PTX for a newer one" 0 "" old.cu -o old)
expect_run("it runs, with one note"
           0 "^simt: note: [^\n]*old.cu:6: st.global.b32 in an asm statement without the clobber[^\n]*\n$" ./old)
set(ENV{SIMT_DEVICE} sm_75)
expect_run("an old device" 86 "redux.sync.add.s32: it requires sm_80 or higher, and this device is sm_75" ./old)
file(WRITE "${WORKDIR}/limits.cu" [=[
#include <stdio.h>
__global__ void k() {}
int main()
{
    cudaDeviceProp p;
    if (cudaGetDeviceProperties(&p, 0) != cudaSuccess) return 1;
    const int most = (int)p.sharedMemPerBlockOptin;
    const int fits = cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, most) == cudaSuccess;
    const int more = cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, most + 1) == cudaSuccess;
    printf("%d.%d: %d SMs of %d threads, %d KB %d %d\n", p.major, p.minor, p.multiProcessorCount,
           p.maxThreadsPerMultiProcessor, most / 1024, fits, more);
    return 0;
}
]=])
expect("limits of a device" 0 "" limits.cu -o limits)
foreach(limits IN ITEMS "sm_75 7.5: 40 SMs of 1024 threads, 64 KB 1 0" "sm_80 8.0: 108 SMs of 2048 threads, 163 KB 1 0"
                        "sm_86 8.6: 82 SMs of 1536 threads, 99 KB 1 0" "sm_89 8.9: 128 SMs of 1536 threads, 99 KB 1 0"
                        "sm_90 9.0: 132 SMs of 2048 threads, 227 KB 1 0")
    string(SUBSTRING "${limits}" 0 5 name)
    string(SUBSTRING "${limits}" 6 -1 said)
    set(ENV{SIMT_DEVICE} ${name})
    expect_run("limits of ${name}" 0 "^${said}\n$" ./limits)
endforeach()
unset(ENV{SIMT_DEVICE})
file(WRITE "${WORKDIR}/cut.cu" [=[
__global__ void k()
{
    __shared__ int x;
    asm volatile("st.shared.b32 [%0], 1;" : : "r"((unsigned)(unsigned long long)&x) : "memory");
}
int main()
{
    k<<<1, 1>>>();
    return 0;
}
]=])
expect("inline PTX with a generic pointer" 0 "" cut.cu -o cut)
expect_run("it is called what it is" 86 "out-of-bounds.*cut.cu:4.*generic pointer cut to 32 bits" ./cut)
file(WRITE "${WORKDIR}/guarded.cu" "__global__ void k(int *p)\n{\n#ifndef __SIMT__\n    asm(\"exit;\");\n#endif\n    *p = 1;\n}\n")
expect("inline PTX kept away from this device" 0 "" -c guarded.cu)
file(WRITE "${WORKDIR}/both.cu" [=[
#include <stdio.h>
static unsigned host_sum(unsigned a, unsigned b)
{
#if defined(__x86_64__)
    asm("addl %1, %0" : "+r"(a) : "r"(b) : "cc");
#else
    a += b;
#endif
    asm volatile("" : : : "memory");
    return a;
}
static __host__ __device__ unsigned ptx_sum(unsigned a, unsigned b)
{
    unsigned d;
    asm("add.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}
int main() { printf("%u %u\n", host_sum(40, 2), ptx_sum(1, 2)); }
]=])
expect("assembly of the host beside inline PTX" 0 "" both.cu -o both)
expect_run("both run" 0 "^42 3\n$" ./both)
if(NOT "$ENV{CXX}" MATCHES "clang")
    expect("headers compiled ahead" 0 "-include [^ ]*simt_prelude-O2.h" -v -c guarded.cu)
    expect("of variables a debugger's users alone are told" 0 "-O2 -fno-var-tracking -gdwarf-4" -v -c guarded.cu)
    expect("and they are" 0 "-O2 -g -gdwarf-4" -v -g -c guarded.cu)
    expect("no form of them for this level" 0 "-include cuda_runtime.h" -v -O1 -c guarded.cu)
endif()
# The prelude is without C++17's special functions; a file that uses one, whatever it includes and defines, need not know.
file(WRITE "${WORKDIR}/special.cu" [=[
#define max(a, b) ((a) > (b) ? (a) : (b))
#define epsilon 1e-5f
#include <math.h>
extern "C" {
#include <cmath>
}
#ifndef __cpp_lib_math_special_functions
#error
#endif
int main()
{
    printf("%.4f %.4f %.0f %g\n", std::cyl_bessel_j(0.0, 1.0), (double)std::betaf(2.0f, 3.0f), std::hypot(2.0, 3.0, 6.0),
           std::numeric_limits<float>::infinity());
}
]=])
expect("special functions" 0 "^$" special.cu -o special)
expect_run("they are right" 0 "^0.7652 0.0833 7 inf\n$" ./special)
expect("special functions at -O1" 0 "^$" -O1 special.cu -o special)
expect("special functions that -E wrote" 0 "^$" -E special.cu -o special.ii)
expect("and are compiled later" 0 "^$" special.ii -o special)
expect_run("as right" 0 "^0.7652 0.0833 7 inf\n$" ./special)
file(WRITE "${WORKDIR}/beta.cu" "float f(float alpha)\n{\n    return alpha * beta;\n}\n")
expect("another error beside the name of one" 1 "^beta.cu: In function[^\n]*\nbeta.cu:3:20: error: [^\n]*beta[^\n]*\n" -c beta.cu)
file(WRITE "${WORKDIR}/initialised.cu" "__global__ void k()\n{\n    __shared__ int a = 3;\n}\n")
expect("initialised shared variable" 1 "initialised.cu:3:.*cannot have an initializer" -c initialised.cu)
# What the device does not have is one sentence, and nothing else.
file(WRITE "${WORKDIR}/library.cu" "\n#include <cufft.h>\ncufftHandle plan;\n")
expect("a library that is not here" 1 "^library.cu:2: error: cufft.h: cuFFT is not on the software device[^\n]*\n$" -c library.cu)
file(WRITE "${WORKDIR}/driver.cu" "#include <cuda.h>\nint f()\n{\n    CUdevice device;\n    return cuDeviceGet(&device, 0);\n}\n")
expect("the driver's functions" 1 "^driver.cu:4: error: CUdevice: the driver API is not[^\n]*\n$" -c driver.cu)
file(WRITE "${WORKDIR}/library.cpp" "#include <cuda_runtime.h>\nvoid f()\n{\n    cudaGraphicsMapResources(1, 0, 0);\n}\n")
expect("from a file of the host" 1 "^library.cpp:4: error: cudaGraphicsMapResources: graphics [^\n]*\n$" -c library.cpp)
file(WRITE "${WORKDIR}/own.cu" "int f() { return customer + text + cu; }\n")
expect("names that are the program's own" 1 "customer.*text" -c own.cu)
file(WRITE "${WORKDIR}/shape.cu" "#include <mma.h>\n__global__ void k()\n{\n    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 4, float> f;\n}\n")
expect("a matrix shape that is not here" 1 "the software device has the tiles 16x16x16" -c shape.cu)
# refused(NAME TEXT SENTENCE): one line of simtcc's, for line 2 of a file that has TEXT there.
function(refused name text sentence)
    file(WRITE "${WORKDIR}/refused.cu" "#include <mma.h>\n${text}\n")
    expect("${name}" 1 "^refused.cu:2: error: [^\n]*${sentence}[^\n]*\n$" -c refused.cu)
endfunction()
refused("a texture reference" "texture<float, 1> t;" "texture: texture references ended with CUDA 12")
refused("a node of a graph" "cudaKernelNodeParams p;" "cudaKernelNodeParams: nodes .*capture a stream")
refused("several devices at once" "cudaLaunchParams p;" "a cooperative launch on several devices")
refused("half a byte" "nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 8, 8, 32, nvcuda::wmma::experimental::precision::s4, nvcuda::wmma::row_major> f;" "elements of less than a byte")

file(WRITE "${WORKDIR}/arguments.cu" "__global__ void k(float *p) {}\nvoid f()\n{\n    k<<<1, 1>>>(3, 4);\n}\n")
expect("wrong arguments of a launch" 1 "arguments.cu:4:" -c arguments.cu)
file(WRITE "${WORKDIR}/undeclared.cu" "#include \"include/undeclared.cuh\"\n")
file(WRITE "${WORKDIR}/include/undeclared.cuh" "\n__device__ int counter;\nstatic __device__ int f() { return nothing; }\n")
expect("an error in a header that is rewritten" 1 "include/undeclared.cuh:3:.*nothing" -c undeclared.cu)

# ---- host functions called from device code ----------------------------------------------------------------------
# One file, wrong and right: lines that end in `// here` are refused with -DWRONG, one each, and there is nothing to refuse without.
# nvcc refuses the same lines, and takes the rest (with --extended-lambda --expt-relaxed-constexpr).
file(WRITE "${WORKDIR}/include/halve.h" "inline float halve(float x) { return x / 2; }\n")
file(WRITE "${WORKDIR}/sides.cu" [=[
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include "include/halve.h"
#ifdef WRONG
#define DEVICE
#define BOTH
#else
#define DEVICE __device__
#define BOTH __host__ __device__
#endif
#define BOTH_SIDES __host__ __device__
float scale(float x) { return 2 * x; }
DEVICE float triple(float x) { return 3 * x; }
template <typename T> BOTH T twice(T x) { return x + x; }
constexpr float four(float x) { return 4 * x; }
BOTH_SIDES float mixed(float x) { return scale(x); } // nvcc warns
namespace inner {
static inline float *BOTH_SIDES first(float *p) { return p; }
static inline float second(const float *p) noexcept { return p[1]; }
}
struct vector {
    float x;
    vector() = default;
    __device__ vector(float *p) : x(p[0]) {}
    DEVICE float length() const { return x; }
    float squared() const { return x * x; }
    template <typename T> __device__ T larger(T y) { return y < x ? x : y; }
};
struct tidy {
    BOTH ~tidy() {}
};
struct functor {
    DEVICE float operator()(float x) const { return x; }
};
__device__ float of_device(float x)
{
#ifdef WRONG
    x += scale(x); // here
#endif
    return x;
}
__global__ void kernel(float *p)
{
    float x = triple(p[0]); // here
    x += twice(p[1]); // here
    x += vector(p).length(); // here
    auto deep = [&](float y) {
        return y + triple(y); // here
    };
    x += four(x) + mixed(x) + *inner::first(p) + of_device(x) + deep(x) + std::max(p[0], p[1]) + vector(p).larger(x);
    x += sqrtf(x) + std::sin(x) + fabs(x) + abs((int)x) + clock();
    void *m = malloc(8);
    memset(m, 0, 8);
    memcpy(m, p, 4);
    free(m);
    assert(x == x);
    printf("%f\n", x);
#ifdef WRONG
    x += inner::second(p); // here
    x += vector(p).squared(); // here
    x += halve(x); // here
    x += rand(); // here
    std::cout << x; // here
#endif
    p[threadIdx.x] = x;
}
__global__ void tidy_kernel()
{
    tidy unused; (void)unused; } // here
template <typename F> __global__ void apply(F f, float *p)
{
    p[0] = f(p[0]); // here
}
int main()
{
    float host[2] = {1, 2}, *p = nullptr;
    vector v;
    v.x = 3;
    if (scale(halve(inner::second(host))) + v.squared() + rand() < 0) kernel<<<1, 1>>>(p);
    if (p) tidy_kernel<<<1, 1>>>();
    if (p) apply<<<1, 1>>>(functor(), p);
    if (p)
        apply<<<1, 1>>>([=] __device__(float x) {
            return twice(x); // here
        }, p);
}
]=])
# Compiled with -DWRONG, the lines of FILE that end with "// here" are refused in words like PATTERN, and no others.
function(expect_here what file pattern)
    execute_process(COMMAND "${SIMTCC}" -DWRONG ${ARGN} -c ${file} -o wrong.o WORKING_DIRECTORY "${WORKDIR}"
                    RESULT_VARIABLE code ERROR_VARIABLE errors)
    string(REGEX MATCHALL "[0-9]+: error: [^\n]*${pattern}" refused "${errors}")
    list(TRANSFORM refused REPLACE ":.*" "")
    list(SORT refused COMPARE NATURAL)
    list(REMOVE_DUPLICATES refused)
    set(expected "")
    set(number 0)
    file(READ "${WORKDIR}/${file}" text)
    string(REGEX REPLACE "[][;\\\\]" "_" text "${text}")
    string(REPLACE "\n" ";" text "${text}")
    foreach(line IN LISTS text)
        math(EXPR number "${number} + 1")
        if(line MATCHES "// here$")
            list(APPEND expected ${number})
        endif()
    endforeach()
    if(NOT code STREQUAL "1" OR NOT "${refused}" STREQUAL "${expected}" OR EXISTS "${WORKDIR}/wrong.o")
        message(SEND_ERROR "${what}: ends with ${code}, lines ${refused}, not ${expected}:\n${errors}")
    endif()
endfunction()

if(NOT "$ENV{CXX}" MATCHES "clang")
    expect("what device code may call" 0 "^$" -c sides.cu)
    foreach(level -O0 -O2)
        expect_here("host functions in device code, ${level}" sides.cu "is a host function, and the (kernel|device function)" ${level})
    endforeach()
    expect("of a file that was preprocessed before" 0 "" -DWRONG -E sides.cu -o sides.ii)
    expect("it is refused, too" 1 "sides.cu:[0-9]+: error: scale is a host function.*write __device__" -c sides.ii -o wrong.o)
endif()

# ---- what the device would not see --------------------------------------------------------------------------------
file(WRITE "${WORKDIR}/unseen.cu" [=[
#include <cstdio>
struct large {
    float a[16];
};
struct pair {
    float a, b;
};
__device__ __attribute__((noinline)) large made(float x)
{
    large l = {};
    l.a[3] = x;
    return l;
}
__device__ __attribute__((noinline)) float of(large x, const char *)
{
    return x.a[(int)threadIdx.x % 16];
}
__device__ pair inlined(float x)
{
    return {x, x};
}
struct base {
    __device__ virtual large give(float x) { return made(x); }
};
struct further : base {
    __device__ large give(float x) override { return made(x + 1); }
};
__device__ float (*volatile chosen)(float);
__device__ __attribute__((noinline)) float twice(float x)
{
    return 2 * x;
}
__global__ void kernel(large *p, pair *pairs, base *b, large (*rows)[4])
{
    large here = made(1.0f), copy = p[1];
    pairs[threadIdx.x] = inlined(here.a[3]);
    p[0] = here;
    printf("(*%d, *p) -> MEM[%f]\n", 3, of(copy, "(*p, p->a"));
#ifdef WRONG
    p[threadIdx.x] = made(1.0f); // here
    p->a[0] = of(*p, "x"); // here
    rows[1][threadIdx.x] = made(2.0f); // here
    p[1] = b->give(1.0f); // here
    here.a[0] = of(rows[2][1], "*"); // here
#endif
    p[2] = here;
#ifdef WRONG
    chosen = twice;
    here.a[2] = chosen(here.a[1]); // here
#endif
    p[3] = here;
}
#ifdef RESULT
__global__ large result_kernel() { return {}; }
__global__ int number_kernel() { return 1; }
#endif
int main() {}
]=])
if(NOT "$ENV{CXX}" MATCHES "clang")
    set(strict -O2 -fsanitize=object-size)
    expect("structs that go by variables" 0 "^$" ${strict} -c unseen.cu)
    expect_here("structs that go by pointers" unseen.cu "(which the software device does not see|which is not inlined, gives back a struct)"
                ${strict})
    expect("kernels with results" 1 "result_kernel must give back nothing.*number_kernel must give back nothing" -O2 -DRESULT -c unseen.cu
           -o wrong.o)
endif()

# ---- the machine ------------------------------------------------------------------------------------------------
set(saved_compiler "$ENV{CXX}")
set(ENV{CXX} "/nonexistent/g++")
expect("CXX names nothing" 2 "simtcc: the C\\+\\+ compiler that CXX names, /nonexistent/g\\+\\+, is not there" -c guarded.cu)
set(ENV{CXX} "${saved_compiler}")
if(saved_compiler STREQUAL "")
    set(saved_path "$ENV{PATH}")
    set(ENV{PATH} "/nonexistent")
    expect("no compiler" 2 "simtcc: there is no C\\+\\+ compiler; install g\\+\\+" -c guarded.cu)
    set(ENV{PATH} "${saved_path}")
endif()

# ---- a program of several files ---------------------------------------------------------------------------------
file(WRITE "${WORKDIR}/include/scale.cuh" [=[
#pragma once
#include "one.h"
template <typename T> __global__ void scale_kernel(T *x, T factor)
{
    __shared__ T tile[32];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[threadIdx.x] * factor + one();
}
static inline void scale(float *x) { scale_kernel<<<1, 32>>>(x, 2.0f); }
]=])
file(WRITE "${WORKDIR}/include/one.h" "static __device__ __noinline__ float one() { return 1.0f; }\n")
file(WRITE "${WORKDIR}/part.c" [=[
#include <cuda_runtime_api.h>
int first_element(float *x);
int first_element(float *x)
{
    float first;
    if (cudaMemcpy(&first, x, sizeof first, cudaMemcpyDeviceToHost) != cudaSuccess) return -1;
    return (int)first;
}
]=])
file(WRITE "${WORKDIR}/main.cu" [=[
#include "scale.cuh"
#include <stdio.h>
extern "C" int first_element(float *x);
extern "C" int answer(void);
int main()
{
    float *x;
    if (cudaMalloc(&x, 32 * sizeof(float)) != cudaSuccess) return 1;
    cudaMemset(x, 0, 32 * sizeof(float));
    scale(x);
    printf("%d %d %d\n", first_element(x), answer(), __CUDA_ARCH__);
    cudaFree(x);
}
]=])
file(WRITE "${WORKDIR}/answer.cpp" "extern \"C\" int answer() { return 42; }\n")
expect("an object of a C++ file" 0 "" -c answer.cpp -o answer.o)
expect("a program of several files" 0 "" -arch=sm_80 -Iinclude -MD -MF main.d -MT target main.cu part.c answer.o -o prog)
expect_run("it runs" 0 "^1 42 800\n$" ./prog)
expect("dependencies" 0 "" -Iinclude -c main.cu -MD -MF main.d -MT main.o -o main.o)
file(READ "${WORKDIR}/main.d" dependencies)
string(REGEX REPLACE "[ \\\\\n]+" " " dependencies "${dependencies}")
if(NOT dependencies MATCHES "^main.o: main.cu " OR NOT dependencies MATCHES "include/scale.cuh" OR
   NOT dependencies MATCHES "include/one.h" OR dependencies MATCHES "simtcc-")
    message(SEND_ERROR "dependencies: ${dependencies}")
endif()
expect("rewritten" 0 "^#line 1 \"main.cu\"\n.*int main" --rewritten -Iinclude main.cu)

# ---- findings call shared arrays and their elements as the source does -------------------------------------------
# Two threads write one element of each array: of a template whose linker name holds "4_PA4_", of one scope within another, of a
# structure, of another type than the access, of a namespace.
file(WRITE "${WORKDIR}/names.cu" [=[
#include <cuda_fp16.h>
namespace { __shared__ float hidden[4][8]; }
template <int N> struct pair_of { float a[N], b[N]; };
template <typename T, int N, typename U> __global__ void name_kernel(T (*(*)[4])[4], U *)
{
    __shared__ T tile[N][N + 1];
    __shared__ struct pair_of<N> both[2];
    __shared__ alignas(16) __half halves[2][N], more[3];
    __shared__ int count;
    extern __shared__ float4 dynamic[];
    int one = threadIdx.x / 32, t = (int)threadIdx.x;
    if (t % 32) return;
    tile[2 + one - one][5] = (T)t;
    both[1].b[3 + one - one] = (float)t;
    halves[1][6] = __float2half((float)t);
    more[2] = __float2half((float)t);
    count = t;
    ((float *)dynamic)[9] = (float)t;
    hidden[3][blockIdx.x] = (float)t;
    if (hidden[3][threadIdx.y] > 99.0f) more[0] = __float2half(1.0f);
    {
        __shared__ T tile[2][N];
        tile[1][7] = (T)t;
    }
}
int main()
{
    name_kernel<float, 8, int><<<1, 64, 1024>>>(nullptr, nullptr);
    cudaDeviceSynchronize();
}
]=])
expect("arrays with names" 0 "" names.cu -o names)
execute_process(COMMAND ./names WORKING_DIRECTORY "${WORKDIR}" ERROR_VARIABLE output OUTPUT_QUIET)
foreach(name IN ITEMS "tile[2][5] (4" "both[1] byte 44 (4" "halves[1][6] (2" "more[2] (2" "count (4" "dynamic[2] byte 4 (4"
        "hidden[3][0] (4" "tile[1][7] (4")
    string(FIND "${output}" "simt: shared-race: ${name} bytes)" at)
    if(at EQUAL -1)
        message(SEND_ERROR "no finding names ${name} bytes):\n${output}")
    endif()
endforeach()

# ---- findings name the file that a kernel stands in, whichever include came first -----------------------------------
foreach(name IN ITEMS first second)
    file(WRITE "${WORKDIR}/include/${name}.cuh"
         "\n__global__ void ${name}_kernel(int *x)\n{\n    x[0] = (int)threadIdx.x;\n}\n")
endforeach()
file(WRITE "${WORKDIR}/included.cu" [=[
#include "include/first.cuh"
#include "include/second.cuh"
int main(int argc, char **)
{
    int *x;
    cudaMalloc(&x, sizeof *x);
    if (argc > 1) second_kernel<<<1, 2>>>(x);
    else first_kernel<<<1, 2>>>(x);
    cudaDeviceSynchronize();
    cudaFree(x);
}
]=])
expect("kernels in included files" 0 "" included.cu -o included)
foreach(name IN ITEMS first second)
    string(REPLACE "first" "" argument "${name}")
    execute_process(COMMAND ./included ${argument} WORKING_DIRECTORY "${WORKDIR}" ERROR_VARIABLE output OUTPUT_QUIET)
    if(NOT output MATCHES "at include/${name}.cuh:4\n")
        message(SEND_ERROR "the finding is not in include/${name}.cuh:4:\n${output}")
    endif()
endforeach()

# ---- what programs found elsewhere bring along -----------------------------------------------------------------------
file(WRITE "${WORKDIR}/host.cpp" [=[
#include <cuda_runtime.h>
#include <cstdio>
void launch(float *);
int main()
{
    float *x = nullptr, host[32];
    cudaMalloc(&x, sizeof host);
    launch(x);
    cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
    printf("%g\n", host[5]);
    cudaFree(x);
}
]=])
string(ASCII 239 187 191 mark)
file(WRITE "${WORKDIR}/kernel.cu" "${mark}__global__ void k(float *x) { x[threadIdx.x] = threadIdx.x; }\n"
                                  "void launch(float *x) { k<<<1, 32>>>(x); }\n")
expect("a C++ file that calls CUDA, a byte-order mark" 0 "" host.cpp kernel.cu -o host)
expect_run("it runs" 0 "^5\n$" ./host)
file(WRITE "${WORKDIR}/omp.cu" "#include <omp.h>\nint main() { return omp_get_max_threads() < 1; }\n")
expect("-fopenmp brings its library" 0 "" -Xcompiler -Wall,-fopenmp omp.cu -o omp)
expect_run("it runs" 0 "" ./omp)
file(WRITE "${WORKDIR}/fmad.cu" [=[
#include <cstdio>
__global__ void k(float *x) { x[0] = x[1] * x[1] - x[2]; }
int main()
{
    float *x, host[3] = {0, 1.0f + 0x1p-12f, 1.0f + 0x1p-11f};
    cudaMalloc(&x, sizeof host);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    k<<<1, 1>>>(x);
    cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
    printf("%d\n", host[0] == 0);
    cudaFree(x);
}
]=])
expect("-fmad=false" 0 "" -fmad=false fmad.cu -o fmad)
expect_run("products are rounded" 0 "^1\n$" ./fmad)

file(WRITE "${WORKDIR}/a folder/race.cu" [=[
__global__ void k(int *x)
{
    *x = (int)threadIdx.x;
}
int main()
{
    int *x;
    cudaMalloc(&x, 4);
    k<<<1, 64>>>(x);
    cudaDeviceSynchronize();
}
]=])
expect("a folder with a blank in its name" 0 "" "${WORKDIR}/a folder/race.cu" -o "a folder/race")
expect_run("findings there have lines" 86 "write by [^\n]* at a folder/race.cu:3\n.*leak: [^\n]*\n  at a folder/race.cu:8\n" "./a folder/race")

# ---- memory that the host has not got --------------------------------------------------------------------------------
file(WRITE "${WORKDIR}/much.cu" [=[
#include <cstdio>
int main()
{
    size_t free_bytes, total;
    void *p;
    cudaMemGetInfo(&free_bytes, &total);
    printf("%s\n", cudaGetErrorName(cudaMalloc(&p, free_bytes + (1 << 20))));
    printf("%d\n", free_bytes > (1 << 24) && cudaMalloc(&p, 1 << 24) == cudaSuccess);
    cudaFree(p);
}
]=])
expect("memory" 0 "" much.cu -o much)
expect_run("an allocation fails before the machine is full" 0 "^cudaErrorMemoryAllocation\n1\n$" ./much)

# ---- every fourth block --------------------------------------------------------------------------------------------
file(WRITE "${WORKDIR}/sample.cu" [=[
#include <cstdlib>
__global__ void k(int *x, unsigned wrong) { x[blockIdx.x] = 1; __shared__ int y; if (blockIdx.x == wrong) y = (int)threadIdx.x, x[wrong] = y; }
int main(int, char **argv)
{
    int *x;
    cudaMalloc(&x, 64);
    k<<<16, 2>>>(x, atoi(argv[1]));
    cudaDeviceSynchronize();
    cudaFree(x);
}
]=])
expect("a program to sample" 0 "" sample.cu -o sample)
set(ENV{SIMT_CHECK} sample:4)
foreach(block IN ITEMS 4 5)
    execute_process(COMMAND ./sample ${block} WORKING_DIRECTORY "${WORKDIR}" RESULT_VARIABLE code ERROR_QUIET)
    if((block EQUAL 4 AND NOT code EQUAL 86) OR (block EQUAL 5 AND NOT code EQUAL 0))
        message(SEND_ERROR "sample:4 with a race in block ${block} ends with ${code}")
    endif()
endforeach()
unset(ENV{SIMT_CHECK})
