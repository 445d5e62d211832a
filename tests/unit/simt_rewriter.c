/**
 * The rewriter of simtcc: source in, source out, case by case.
 */
#include "rewrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rewriting {
    const char *name;
    const char *source;
    const char *expected; /* NULL: unchanged */
};

#define SITE(name) "simtcc_site{__FILE__, __LINE__, \"" name "\", nullptr}"
#define HOST " SIMT_HOST_FUNCTION;"
#define SHARED "SIMT_RED_ZONE; SIMT_SHARED "
#define SHARED_ARRAY(type) "SIMT_RED_ZONE; alignas(simtcc_array_alignment<" type ">()) SIMT_SHARED "

static const struct rewriting launches[] = {
    {"plain", "k<<<1, 32>>>(x, 0);", "simtcc_launch_of(" SITE("k") ", k, simtcc_configure(1, 32))(x, 0);"},
    {"four parts", "k<<<dim3(a, b), c, d, e>>>();",
     "simtcc_launch_of(" SITE("k") ", k, simtcc_configure(dim3(a, b), c, d, e))();"},
    {"braces in the configuration", "k<<<dim3{a, 1}, {32, 2}>>>(x)",
     "simtcc_launch_of(" SITE("k") ", k, simtcc_configure(dim3{a, 1}, {32, 2}))(x)"},
    {"brackets in a macro", "#define ON(g, b) <<<g, b>>>\nk ON(1, 32)(x); n::k<3> ON(1, 2) (x);",
     "#define ON(g, b) simtcc_configure(g, b)\nsimtcc_launch_of(" SITE(
         "k") ", k , ON(1, 32))(x); simtcc_launch_of(" SITE("k") ", n::k<3> , ON(1, 2)) (x);"},
    {"brackets in a macro without parameters", "#define ON <<<1, 2>>>\n#define ON2\nk ON (x); f(ON2 (x));",
     "#define ON simtcc_configure(1, 2)\n#define ON2\nsimtcc_launch_of(" SITE(
         "k") ", k , ON) (x); f(ON2 (x));"},
    {"blanks", "k <<< 1 , 2 >>> ( x )",
     "simtcc_launch_of(" SITE("k") ", k , simtcc_configure( 1 , 2 )) ( x )"},
    {"several lines keep their lines", "k<<<1,\n2>>>(\nx)",
     "simtcc_launch_of(" SITE("k") ", k, simtcc_configure(1,\n2))(\nx)"},
    {"template arguments", "k<4, (a > b)><<<1, 2>>>(x)",
     "simtcc_launch_of(" SITE("k") ", k<4, (a > b)>, simtcc_configure(1, 2))(x)"},
    {"nested template arguments", "n::k<A<B<int>>><<<1, f<3>(x)>>>(y)",
     "simtcc_launch_of(" SITE("k") ", n::k<A<B<int>>>, simtcc_configure(1, f<3>(x)))(y)"},
    {"global scope", "::k<<<1, 2>>>(x)", "simtcc_launch_of(" SITE("k") ", ::k, simtcc_configure(1, 2))(x)"},
    {"member of a template", "S<3>::k<<<1, 2>>>(x)",
     "simtcc_launch_of(" SITE("k") ", S<3>::k, simtcc_configure(1, 2))(x)"},
    {"pointer in a structure", "p->k<<<1, 2>>>(x)",
     "simtcc_launch_of(" SITE("k") ", p->k, simtcc_configure(1, 2))(x)"},
    {"array of pointers", "ks[i]<<<1, 2>>>(x)",
     "simtcc_launch_of(" SITE("ks") ", ks[i], simtcc_configure(1, 2))(x)"},
    {"result of a call", "pick(n)<<<1, 2>>>(x)",
     "simtcc_launch_of(" SITE("pick") ", pick(n), simtcc_configure(1, 2))(x)"},
    {"parenthesised", "(*k)<<<1, 2>>>(x)",
     "simtcc_launch_of(" SITE("k") ", (*k), simtcc_configure(1, 2))(x)"},
    {"after if", "if (a) k<<<1, 2>>>(x); else return;",
     "if (a) simtcc_launch_of(" SITE("k") ", k, simtcc_configure(1, 2))(x); else return;"},
    {"macro body", "#define RUN(k, ...) \\\n  k<<<1, 2>>>(__VA_ARGS__)\nint a;",
     "#define RUN(k, ...) \\\n  simtcc_launch_of(" SITE(
         "k") ", k, simtcc_configure(1, 2))(__VA_ARGS__)\nint a;"},
    {"two in a line", "a<<<1, 2>>>(x); b<<<3, 4>>>(y);",
     "simtcc_launch_of(" SITE("a") ", a, simtcc_configure(1, 2))(x); simtcc_launch_of(" SITE(
         "b") ", b, simtcc_configure(3, 4))(y);"},
    {"declared first", "__global__ void k(int *p);\nk<<<1, 2>>>(0);",
     "__global__ void k(int *p);\nsimtcc_launch_of(" SITE("k") ", k, simtcc_configure(1, 2))(0);"},
    {"deduced template", "template <typename T> __global__ void k(T *p, int *q) {}\nk<<<1, 2>>>(p, NULL);",
     "template <typename T> __global__ void k(T *p, int *q) {}\nsimtcc_launch_deduced(" SITE(
         "k") ", [](auto... simtcc_a) { k(simtcc_a...); }, simtcc_configure(1, 2))(p, nullptr);"},
    {"explicit template", "template <int N, class T = float> __global__ void k(T *p) {}\nk<3><<<1, 2>>>(p);",
     "template <int N, class T = float> __global__ void k(T *p) {}\nsimtcc_launch_of(" SITE(
         "k") ", k<3>, simtcc_configure(1, 2))(p);"},
    {"partly deduced template", "template <int N, class T>\n__global__ void k(T *p) {}\nk<3><<<1, 2>>>(p);",
     "template <int N, class T>\n__global__ void k(T *p) {}\nsimtcc_launch_deduced(" SITE(
         "k") ", [](auto... simtcc_a) { k<3>(simtcc_a...); }, simtcc_configure(1, 2))(p);"},
    {"template parameter pack", "template <int... N> __global__ void k(int *p) {}\nk<3, 4><<<1, 2>>>(p);",
     "template <int... N> __global__ void k(int *p) {}\nsimtcc_launch_deduced(" SITE(
         "k") ", [](auto... simtcc_a) { k<3, 4>(simtcc_a...); }, simtcc_configure(1, 2))(p);"},
    {"overloads",
     "__global__ void k(int *p) {}\n__global__ void __launch_bounds__(32) k(float *p) {}\nk<<<1, 2>>>(p);",
     "__global__ void k(int *p) {}\n__global__ void __launch_bounds__(32) k(float *p) "
     "{ SIMT_LAUNCH_BOUNDS(32);}\nsimtcc_launch_deduced(" SITE(
         "k") ", [](auto... simtcc_a) { k(simtcc_a...); }, simtcc_configure(1, 2))(p);"},
    {"default argument left out", "__global__ void k(int *p, int n = 3);\nk<<<1, 2>>>(p); k<<<1, 2>>>(p, 4);",
     "__global__ void k(int *p, int n = 3);\nsimtcc_launch_deduced(" SITE("k") ", [](auto... simtcc_a) { "
                                                                               "k(simtcc_a...); }, "
                                                                               "simtcc_configure(1, 2))(p); "
                                                                               "simtcc_launch_of(" SITE(
                                                                                   "k") ", k, "
                                                                                        "simtcc_configure(1, "
                                                                                        "2))(p, 4);"},
    {"specialisation of a template",
     "template <int N> __global__ void k() {}\ntemplate <> __global__ void k<3>() {}\nk<3><<<1, 2>>>();",
     "template <int N> __global__ void k() {}\ntemplate <> __global__ void k<3>() {}\nsimtcc_launch_of(" SITE(
         "k") ", k<3>, simtcc_configure(1, 2))();"},
    {"cudaLaunchKernel", "cudaLaunchKernel((const void *)k, g, b, args);",
     "simtcc_launch_by_array(" SITE("k") ",        k, g, b, args);"},
    {"cudaLaunchKernel with a C++ cast", "cudaLaunchKernel(reinterpret_cast<void *>(&n::k<3>), g, b, args);",
     "simtcc_launch_by_array(" SITE("k") ",       (&n::k<3>), g, b, args);"},
    {"no launch: shifts and comparisons", "a << b << c; d < e; f > g >> h;", NULL},
    {"no launch: comment, string, raw string",
     "// k<<<1, 2>>>(x)\n/* k<<<1, 2>>>(x) */ \"k<<<1, 2>>>(x) \\\" <<<\"; R\"q(k<<<1, 2>>>(x) )\" )q\"; "
     "'\"'; u8\"<<<\";",
     NULL},
    {"no launch: continued comment", "// a \\\nk<<<1, 2>>>(x)\n", NULL},
    {"no launch: other directives", "#if 0 <<< 1\n#error k<<<1, 2>>>(x) \\\n k<<<1, 2>>>(x)\n#endif\n", NULL},
    {"numbers with quotes", "int a = 1'000'000; k<<<1'0, 1.5e-3>>>(x);",
     "int a = 1'000'000; simtcc_launch_of(" SITE("k") ", k, simtcc_configure(1'0, 1.5e-3))(x);"},
};

static const struct rewriting variables[] = {
    {"shared array", "void f() { __shared__ float a[32][33]; }",
     "void f() {" HOST " " SHARED_ARRAY("float ") "  float a[32][33]; SIMT_SHAPE(a); }"},
    {"two declarators", "void f() { __shared__ T<a, b> *x, y[2]; }",
     "void f() {" HOST " " SHARED
     "  T<a, b> *x; SIMT_SHAPE(x); " SHARED_ARRAY("T < a , b > ") "T < a , b >  y[2]; SIMT_SHAPE(y); }"},
    {"static and volatile", "{ static __shared__ volatile int a; }",
     "{ " SHARED "    volatile int a; SIMT_SHAPE(a); }"},
    {"alignment goes to the front", "{ __shared__ alignas(16) half a[N * (M + 1)]; }",
     "{ SIMT_RED_ZONE; alignas(simtcc_array_alignment<half >()) alignas(16) SIMT_SHARED        half a[N * "
     "(M + 1)]; SIMT_SHAPE(a); }"},
    {"structure defined in place", "{ __shared__ struct { int a, b; } s, t; }",
     "{ " SHARED "  struct { int a, b; } s, t; }"},
    {"in a macro", "#define TILE(n) __shared__ float n[2]\nint x;",
     "#define TILE(n) " SHARED_ARRAY("float ") "  float n[2]\nint x;"},
    {"after a label", "switch (a) { case 3: __shared__ int x; }",
     "switch (a) { case 3: " SHARED "  int x; SIMT_SHAPE(x); }"},
    {"at file scope", "namespace n {\n__shared__ int a;\n}",
     "namespace n {\n" SHARED "  int a; SIMT_SHAPE(a);\n}"},
    {"dynamic", "void f() { extern __shared__ float4 s[]; }",
     "void f() {" HOST "     float4 *const s = (float4 *)simtcc_dynamic_shared(\"s\", sizeof(float4 )); }"},
    {"dynamic, aligned", "void f() { extern __shared__ __align__(16) unsigned char s[]; }",
     "void f() {" HOST "          unsigned char *const s = (unsigned char *)simtcc_dynamic_shared(\"s\", "
     "sizeof(unsigned char )); }"},
    {"dynamic, of rows", "void f() { extern __shared__ float s[][33]; }",
     "void f() {" HOST
     "     float (*const s)[33] = (float (*)[33])simtcc_dynamic_shared(\"s\", sizeof(float [33])); "
     "}"},
    {"dynamic, at file scope", "extern \"C\" { extern __shared__ int s[]; }",
     "extern \"C\" {       __attribute__((unused)) static const simtcc_dynamic_array<int > s{\"s\"}; }"},
    {"file scope after branches that open one brace",
     "#if A\nvoid f(int) {\n#else\nvoid f() {\n#endif\n}\nextern __shared__ int s[];",
     "#if A\nvoid f(int) {" HOST "\n#else\nvoid f() {" HOST
     "\n#endif\n}\n      __attribute__((unused)) static const "
     "simtcc_dynamic_array<int > s{\"s\"};"},
    {"device variable", "__device__ int a; static __device__ float b[3] = {1};",
     "static simt_device_variable int a; static simt_device_variable float b[3] = {1};"},
    {"device variables of one file",
     "__constant__ float c[4]; alignas(16) __device__ int d; namespace n { __device__ __managed__ int e, f; "
     "}",
     "static __constant__ float c[4]; alignas(16) static simt_device_variable int d; namespace n { static "
     "__device__ __managed__ "
     "int e, f; }"},
    {"device variables of all files",
     "extern __device__ int a; extern __constant__ float c[4]; struct S { static __device__ int b; };\n"
     "__device__ int a = 1; __constant__ float c[4]; __device__ int S::b;",
     "extern simt_device_variable int a; extern __constant__ float c[4]; struct S { static "
     "simt_device_variable int b; };\n"
     "simt_device_variable int a = 1; __constant__ float c[4]; simt_device_variable int S::b;"},
    {"copies by the compiler",
     "void f() { __builtin_memcpy(a, b, 8); g(__builtin_memset); __builtin_memset(a, 0, 8); }",
     "void f() {" HOST " ::memcpy(a, b, 8); g(__builtin_memset); ::memset(a, 0, 8); }"},
    {"pointer to a function", "__device__ int (*p)(const int *) = f;",
     "simt_device_variable int (*p)(const int *) = f;"},
    {"pointer to constants", "__device__ const float *p;", "static simt_device_variable const float *p;"},
    {"not device variables",
     "__device__ const int a = 3; __device__ constexpr int b = 4; __device__ int f(int);\n"
     "#define DEV static __device__ __forceinline__\n__device__ operator int() const; auto g = [] "
     "__device__(int i) { return i; };",
     NULL},
    {"noinline", "__device__ __noinline__ int f(); __attribute__((__noinline__)) int g();",
     "__device__ /* may be inlined */ int f(); __attribute__((__noinline__)) int g();"},
    {"parameters of classes",
     "__global__ void k(const __grid_constant__ M a, M b, MACRO const N::S<2, 3> c, int d, T *e, S f[2], U) "
     "{}",
     "__global__ void k(const __grid_constant__ M a, M b, MACRO const N::S<2, 3> c, int d, T *e, S f[2], U) "
     "{ "
     "SIMT_PARAMETER(a, 1); SIMT_PARAMETER(b, 0); SIMT_PARAMETER(c, 1);}"},
    {"parameters that say nothing",
     "__global__ void k(M a, PARAMETER(b)) {} template <typename... A> __global__ void k(A... a) {}", NULL},
    {"declared only", "__global__ void k(const __grid_constant__ M a);", NULL},
    {"inline PTX", "__device__ void f() { asm volatile(\"bar.sync %0;\" : : \"r\"(a) : \"memory\"); }",
     "__device__ void f() { simtcc_ptx_at  (SIMT_PTX_SITE(1, \"bar.sync %0;\")  ,  simt_in(\"r\", (a)) , "
     "simt_clobbers( \"memory\")); }"},
    {"inline PTX with outputs",
     "__device__ void f() { asm(\"mov.u32 %0, %1;\" : \"=r\"(a[1]), \"+f\"(b) : \"n\"(c ? 1 : 2)); }",
     "__device__ void f() { simtcc_ptx_at(SIMT_PTX_SITE(0, \"mov.u32 %0, %1;\") ,  simt_out(\"=r\", (a[1])), "
     "simt_out(\"+f\", "
     "(b)) ,  simt_constant(\"n\", (c ? 1 : 2))); }"},
    {"inline PTX, no outputs", "__global__ void f() { asm volatile(\"st.shared.u32 [%0], 1;\" ::\"r\"(a)); }",
     "__global__ void f() { simtcc_ptx_at  (SIMT_PTX_SITE(1, \"st.shared.u32 [%0], 1;\") , simt_in(\"r\", "
     "(a))); }"},
    {"inline PTX, colons without blanks",
     "__device__ void f() { asm(\"mov.f32 %0, %0;\":\"+f\"(x)::\"memory\"); }",
     "__device__ void f() { simtcc_ptx_at(SIMT_PTX_SITE(0, \"mov.f32 %0, %0;\"), simt_out(\"+f\", (x)), "
     "simt_clobbers(\"memory\")); }"},
    {"inline PTX in a macro", "#define LANE(x) asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(x))\nint x;",
     "#define LANE(x) simtcc_ptx_at(SIMT_PTX_SITE(0, \"mov.u32 %0, %%laneid;\") ,  simt_out(\"=r\", "
     "(x)))\nint "
     "x;"},
    {"inline PTX in a lambda", "void g() { h([] __device__(int i) { asm(\"trap;\"); }); }",
     "void g() {" HOST " h([] __device__(int i) { simtcc_ptx_at(SIMT_PTX_SITE(0, \"trap;\")); }); }"},
    {"text and constraints of macros", "#define F(D, I, L) asm(I \" %0, %1;\" : \"=\" L(D) : _L_(D))\nint x;",
     "#define F(D, I, L) simtcc_ptx_at(SIMT_PTX_SITE(0, I \" %0, %1;\") ,  simt_out(\"=\" L, (D)) ,  "
     "simt_in(_L_, (D)))\nint x;"},
    {"assembly of the host",
     "void f() { asm volatile(\"cpuid\" : \"=a\"(x) : \"0\"(y)); asm(\"pause\"); asm volatile(\"\" ::: "
     "\"memory\");\n"
     "asm(\"mov %1, %0\" : \"=r\"(x) : \"r\"(y)); asm goto(\"jmp %l0\" : : : : out); }\n"
     "__host__ void g() { asm volatile(NOPS); }\n"
     "__host__ __device__ void h() { asm(\"nop\"); }\nasm(\".globl x\");",
     "void f() {" HOST
     " asm volatile(\"cpuid\" : \"=a\"(x) : \"0\"(y)); asm(\"pause\"); asm volatile(\"\" ::: "
     "\"memory\");\n"
     "asm(\"mov %1, %0\" : \"=r\"(x) : \"r\"(y)); asm goto(\"jmp %l0\" : : : : out); }\n"
     "__host__ void g() {" HOST " asm volatile(NOPS); }\n"
     "__host__ __device__ void h() { asm(\"nop\"); }\nasm(\".globl x\");"},
    {"PTX of both sides", "__host__ __device__ void h() { asm(\"{ mov.b32 %0, 1; }\" : \"=r\"(x)); }",
     "__host__ __device__ void h() { simtcc_ptx_at(SIMT_PTX_SITE(0, \"{ mov.b32 %0, 1; }\") ,  "
     "simt_out(\"=r\", (x))); }"},
    {"names in assembly", "int f() __asm__(\"g\");", NULL},
};

/* Functions that are the host's alone, and what only looks like one. */
static const struct rewriting functions[] = {
    {"a function", "static inline float f(float x)\n{\n    return x;\n}",
     "static inline float f(float x)\n{" HOST "\n    return x;\n}"},
    {"a template in a namespace", "namespace n { template <class T> T *f(T *x) noexcept { return x; } }",
     "namespace n { template <class T> T *f(T *x) noexcept {" HOST " return x; } }"},
    {"members",
     "struct alignas(16) S : B<(3 > 2)> { public: S() : a(3) {} ~S() {} int f() const { return a; } bool "
     "operator()(int) {} bool operator<(S) const {} auto g() -> decltype(a) {} };\nint S::h() {}",
     "struct alignas(16) S : B<(3 > 2)> { public: S() : a(3) {" HOST "} ~S() {" HOST "} int f() const {" HOST
     " return a; } bool operator()(int) {" HOST "} bool operator<(S) const {" HOST
     "} auto g() -> decltype(a) {" HOST "} };\nint S::h() {" HOST "}"},
    {"of C", "extern \"C\" { struct s f(void) {} }\nextern \"C\" int g(int x) { if (x) { } }",
     "extern \"C\" { struct s f(void) {" HOST "} }\nextern \"C\" int g(int x) {" HOST " if (x) { } }"},
    {"not the host's alone",
     "__device__ int f() {} __global__ void k() {} template <int N> __host__ __device__ int g() {} constexpr "
     "int c() {} float *HD h() {} struct S { __device__ S() : a(3) {} S(int) : a{3} {} S(S &) = default; };",
     NULL},
    {"no functions",
     "int a[] = {f(3)}; int main() { struct L { int f() { return 3; } }; for (;;) { } auto g = [](int) { }; "
     "}\n"
     "enum class E : decltype(f(3)) { A }; struct ATTRIBUTE(x) S { int a; };\nauto l = [](int i) { };\n"
     "#define F(x) int x() { }\n",
     NULL},
};

static char *include_header(void *context, const char *name, enum include_form form)
{
    (void)context;
    if (form == INCLUDE_MACRO) return strcmp(name, "HEADER") == 0 ? format_string("/tmp/c.cuh") : NULL;
    if (form == INCLUDE_ANGLED) return strcmp(name, "lib/b.cuh") == 0 ? format_string("/tmp/b.cuh") : NULL;
    return strcmp(name, "a.cuh") == 0 ? format_string("/tmp/a.cuh") : NULL;
}

static int count_lines(const char *text)
{
    int lines = 0;
    for (; *text != '\0'; text++) lines += *text == '\n';
    return lines;
}

static int run(const struct rewriting *cases, size_t count)
{
    int failures = 0;
    for (size_t i = 0; i < count; i++) {
        const struct rewriting *c = &cases[i];
        const char *expected = c->expected != NULL ? c->expected : c->source;
        struct tokens tokens = tokens_of(c->source);
        struct kernels kernels = {0};
        size_t changed = 0;
        kernels_collect(&kernels, &tokens);
        struct text got = rewrite(&tokens, &kernels, include_header, NULL, &changed);
        if (strcmp(got.data, expected) != 0 || (changed == 0) != (c->expected == NULL) ||
            count_lines(got.data) != count_lines(c->source)) {
            printf("%s:\n  got      %s\n  expected %s\n", c->name, got.data, expected);
            failures++;
        }
        text_drop(&got);
        kernels_drop(&kernels);
        tokens_drop(&tokens);
    }
    return failures;
}

/** An initializer is an error that the compiler is made to report. */
static int shared_initializer(void)
{
    struct tokens tokens = tokens_of("void f() { __shared__ int a = 3; }");
    struct kernels kernels = {0};
    size_t changed;
    struct text got = rewrite(&tokens, &kernels, NULL, NULL, &changed);
    int failed = strstr(got.data, "_Pragma(\"GCC error") == NULL;
    if (failed) printf("no error for an initializer: %s\n", got.data);
    text_drop(&got);
    tokens_drop(&tokens);
    return failed;
}

static int includes(void)
{
    struct tokens tokens = tokens_of(
        "#include \"a.cuh\"\n#  include \"b.h\" // \"a.cuh\"\n#include "
        "<a.cuh>\n#include <lib/b.cuh> // <a.cuh>\n#include OTHER\n# include\tHEADER // \"a.cuh\"\n");
    struct kernels kernels = {0};
    size_t changed;
    struct text got = rewrite(&tokens, &kernels, include_header, NULL, &changed);
    const char *expected = "#include \"/tmp/a.cuh\"\n#  include \"b.h\" // \"a.cuh\"\n#include "
                           "<a.cuh>\n#include \"/tmp/b.cuh\" // <a.cuh>\n#include OTHER\n# "
                           "include\t\"/tmp/c.cuh\" // \"a.cuh\"\n";
    int failed = strcmp(got.data, expected) != 0 || changed != 0;
    if (failed) printf("includes:\n%s", got.data);
    text_drop(&got);
    tokens_drop(&tokens);
    return failed;
}

int main(void)
{
    int failures = run(launches, sizeof(launches) / sizeof(launches[0])) +
                   run(variables, sizeof(variables) / sizeof(variables[0])) + shared_initializer() +
                   run(functions, sizeof(functions) / sizeof(functions[0])) + includes();
    printf("simt_rewriter: %d failures\n", failures);
    return failures != 0;
}
