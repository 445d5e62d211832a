/**
 * @file mma.h
 * @brief Warp matrix operations: `nvcuda::wmma`. Half, bfloat16 and bytes: m16n16k16, m32n8k16 and m8n32k16; TF32: m16n16k8;
 *        double: m8n8k4.
 *
 * Elements lie in x[] as they do on sm_80 and later, so that code which wrongly relies on their places
 * behaves as it would there. Operations are macros because the machine gathers lanes by the place where they
 * stand; what they do is in runtime/matrix.c. A fragment begins as a NaN (integers: as an odd pattern) that
 * multiplying or storing reports.
 */
#pragma once

#pragma GCC system_header

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "simt/matrix.h"

namespace nvcuda
{
namespace wmma
{

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;

namespace precision
{
struct tf32; /**< of a fragment: its elements are floats, of which a product takes 19 bits */
}

enum layout_t { mem_row_major, mem_col_major };

/* ---- what a fragment is -------------------------------------------------------------------------------- */

template <typename Use> struct simt_use;
template <> struct simt_use<matrix_a> {
    enum { value = SIMT_MATRIX_A };
};
template <> struct simt_use<matrix_b> {
    enum { value = SIMT_MATRIX_B };
};
template <> struct simt_use<accumulator> {
    enum { value = SIMT_ACCUMULATOR };
};

/** @brief An element as memory has it, and the bits a fragment begins with: a NaN that arithmetic does not make, or numbers unlike any. */
template <typename T> struct simt_element;
template <> struct simt_element<half> {
    enum { type = SIMT_HALF, BEGIN = 0x7d5a };
    typedef half storage;
    static half unset(int) { return __ushort_as_half(BEGIN); }
};
template <> struct simt_element<__nv_bfloat16> {
    enum { type = SIMT_BFLOAT16, BEGIN = 0x7fa5 };
    typedef __nv_bfloat16 storage;
    static __nv_bfloat16 unset(int) { return __ushort_as_bfloat16(BEGIN); }
};
template <> struct simt_element<float> {
    enum { type = SIMT_FLOAT, BEGIN = 0x7fa5a5a5 };
    typedef float storage;
    static float unset(int) { return __uint_as_float(BEGIN); }
};
template <> struct simt_element<precision::tf32> : simt_element<float> {
    enum { type = SIMT_TF32 };
};
template <> struct simt_element<double> {
    enum { type = SIMT_DOUBLE, BEGIN = 0x7ff7a5a5 };
    typedef double storage;
    static double unset(int) { return __hiloint2double(BEGIN, BEGIN); }
};
template <> struct simt_element<int> {
    enum { type = SIMT_INT, BEGIN = 0x7fa5a5a5 };
    typedef int storage;
    static int unset(int) { return BEGIN; }
};
template <typename Byte> struct simt_byte {
    enum { BEGIN = 0x5ba7c36d };
    typedef Byte storage;
    static Byte unset(int i) { return (Byte)(BEGIN >> 8 * (i % 4)); }
};
template <> struct simt_element<signed char> : simt_byte<signed char> {
    enum { type = SIMT_SIGNED };
};
template <> struct simt_element<unsigned char> : simt_byte<unsigned char> {
    enum { type = SIMT_UNSIGNED };
};

/** @brief Whether there are products of that depth of T (as an accumulator: with sums in T). */
template <typename T> constexpr bool simt_is_tile(bool sum, int m, int n, int k)
{
    const int type = (int)simt_element<T>::type;
    if (type == SIMT_DOUBLE) return m == 8 && n == 8 && k == 4;
    if (type == SIMT_TF32 || (sum && type == SIMT_FLOAT && k == 8)) return m == 16 && n == 16 && k == 8;
    return k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32));
}
template <typename T> constexpr bool simt_is_sum(void)
{
    const int type = (int)simt_element<T>::type;
    return type == SIMT_HALF || type == SIMT_FLOAT || type == SIMT_INT || type == SIMT_DOUBLE;
}
template <typename T> constexpr bool simt_is_input(void)
{
    const int type = (int)simt_element<T>::type;
    return type != SIMT_FLOAT && type != SIMT_INT;
}
/** @brief What the products of T may be added to. */
template <typename T, typename Sum> constexpr bool simt_add_up(void)
{
    const int type = (int)simt_element<T>::type, sum = (int)simt_element<Sum>::type;
    if (type == SIMT_HALF) return sum == SIMT_HALF || sum == SIMT_FLOAT;
    if (type == SIMT_DOUBLE) return sum == SIMT_DOUBLE;
    return sum == (type == SIMT_SIGNED || type == SIMT_UNSIGNED ? SIMT_INT : SIMT_FLOAT);
}

template <typename Layout> struct simt_layout {
    enum { row_major = 0, none = 1 };
};
template <> struct simt_layout<struct row_major> {
    enum { row_major = 1, none = 0 };
};
template <> struct simt_layout<struct col_major> {
    enum { row_major = 0, none = 0 };
};

/** @brief Elements a lane holds. Matrices of half always have 16: after the first 4 or 8 come copies. */
template <typename Use, int m, int n, int k, typename T> struct simt_elements {
    enum {
        matrix = (int)simt_use<Use>::value == SIMT_MATRIX_A ? m * k / 32 : n * k / 32,
        value = (int)simt_use<Use>::value == SIMT_ACCUMULATOR ? m * n / 32
                : (int)simt_element<T>::type == SIMT_HALF     ? 16
                                                              : matrix
    };
};

/** @brief What may be a fragment, and how large it is: a class of the file's own, by that name, has to be so, too. */
template <typename Use, int m, int n, int k, typename T, typename Layout> struct simt_rules {
    static_assert(simt_is_tile<T>((int)simt_use<Use>::value == SIMT_ACCUMULATOR, m, n, k),
                  "the software device has the tiles 16x16x16, 32x8x16 and 8x32x16, of TF32 16x16x8, of double 8x8x4");
    static_assert((int)simt_layout<Layout>::none == ((int)simt_use<Use>::value == SIMT_ACCUMULATOR),
                  "matrix_a and matrix_b are row_major or col_major, an accumulator is neither");
    static_assert((int)simt_use<Use>::value == SIMT_ACCUMULATOR ? simt_is_sum<T>() : simt_is_input<T>(),
                  "inputs are half, bfloat16, TF32, signed or unsigned char, or double; accumulators half, float, int or double");
    enum { elements = simt_elements<Use, m, n, k, T>::value };
    typedef typename simt_element<T>::storage registers[elements];
};

template <typename Use, int m, int n, int k, typename T, typename Layout = void> class fragment
{
  public:
    enum { num_elements = simt_rules<Use, m, n, k, T, Layout>::elements, num_storage_elements = num_elements };
    typedef T element_type;
    typedef typename simt_element<T>::storage storage_element_type;
    storage_element_type x[num_elements];

    fragment()
    {
        for (int i = 0; i < num_elements; i++) x[i] = simt_element<T>::unset(i);
    }
};

#define SIMT_FRAGMENT fragment<Use, m, n, k, T, Layout>
#define SIMT_FRAGMENT_PARAMETERS template <typename Use, int m, int n, int k, typename T, typename Layout>

template <typename Use, int m, int n, int k, typename T, typename Layout>
static constexpr struct simt_fragment simt_kind = {(unsigned char)simt_use<Use>::value,
                                                   (unsigned char)simt_element<T>::type,
                                                   (unsigned char)m,
                                                   (unsigned char)n,
                                                   (unsigned char)k,
                                                   (unsigned char)simt_layout<Layout>::row_major,
                                                   (unsigned char)simt_rules<Use, m, n, k, T, Layout>::elements,
                                                   (unsigned)simt_element<T>::BEGIN};

SIMT_FRAGMENT_PARAMETERS
SIMT_INLINE typename simt_rules<Use, m, n, k, T, Layout>::registers &simt_registers(SIMT_FRAGMENT &f)
{
    return f.x;
}
SIMT_FRAGMENT_PARAMETERS
SIMT_INLINE const typename simt_rules<Use, m, n, k, T, Layout>::registers &simt_registers(const SIMT_FRAGMENT &f)
{
    return f.x;
}

/* ---- operations ---------------------------------------------------------------------------------------- */

template <typename Use, int m, int n, int k, typename T, typename Layout, typename V>
inline void fill_fragment(SIMT_FRAGMENT &f, const V &value)
{
    const typename simt_element<T>::storage copy = (typename simt_element<T>::storage)value;
    for (int i = 0; i < f.num_elements; i++) f.x[i] = copy;
}

SIMT_FRAGMENT_PARAMETERS
SIMT_OUTLINE void simt_load_at(const struct simt_site *site, SIMT_FRAGMENT &f,
                               const typename simt_element<T>::storage *tile, unsigned ldm)
{
    static_assert((int)simt_use<Use>::value != SIMT_ACCUMULATOR, "say mem_row_major or mem_col_major");
    simt_matrix_load(site, &simt_kind<Use, m, n, k, T, Layout>, simt_registers(f), tile, ldm, SIMT_CALLER);
}

template <int m, int n, int k, typename T>
SIMT_OUTLINE void simt_load_at(const struct simt_site *site, fragment<accumulator, m, n, k, T> &f,
                               const T *tile, unsigned ldm, layout_t layout)
{
    struct simt_fragment kind = simt_kind<accumulator, m, n, k, T, void>;
    kind.row_major = layout == mem_row_major;
    simt_matrix_load(site, &kind, simt_registers(f), tile, ldm, SIMT_CALLER);
}

template <int m, int n, int k, typename T>
SIMT_OUTLINE void simt_store_at(const struct simt_site *site, T *tile,
                                const fragment<accumulator, m, n, k, T> &f, unsigned ldm, layout_t layout)
{
    struct simt_fragment kind = simt_kind<accumulator, m, n, k, T, void>;
    kind.row_major = layout == mem_row_major;
    simt_matrix_store(site, &kind, simt_registers(f), tile, ldm, SIMT_CALLER);
}

template <int m, int n, int k, typename T, typename LayoutA, typename LayoutB, typename D, typename C>
SIMT_OUTLINE void simt_mma_at(const struct simt_site *site, fragment<accumulator, m, n, k, D> &d,
                              const fragment<matrix_a, m, n, k, T, LayoutA> &a,
                              const fragment<matrix_b, m, n, k, T, LayoutB> &b,
                              const fragment<accumulator, m, n, k, C> &c, bool saturate = false)
{
    static_assert(simt_add_up<T, C>() && simt_add_up<T, D>(),
                  "half is accumulated in half or float, bfloat16 and TF32 in float, bytes in int, double in double");
    struct simt_product product = {
        {simt_registers(d), simt_registers(a), simt_registers(b), simt_registers(c)},
        {&simt_kind<accumulator, m, n, k, D, void>, &simt_kind<matrix_a, m, n, k, T, LayoutA>,
         &simt_kind<matrix_b, m, n, k, T, LayoutB>, &simt_kind<accumulator, m, n, k, C, void>},
        saturate};
    simt_matrix_multiply(site, &product);
}

#undef SIMT_FRAGMENT
#undef SIMT_FRAGMENT_PARAMETERS

/** @brief Rounds to TF32: to nearest, ties away from zero. */
__device__ SIMT_INLINE float __float_to_tf32(float x)
{
    const unsigned bits = __float_as_uint(x);
    return (bits & 0x7f800000u) == 0x7f800000u ? x : __uint_as_float((bits + 0x1000u) & 0xffffe000u);
}

/** @brief For `using nvcuda::wmma::mma_sync;` and the like; calls go through the macros below. */
void load_matrix_sync();
void store_matrix_sync();
void mma_sync();

} // namespace wmma
} // namespace nvcuda

#define load_matrix_sync(...) simt_load_at(SIMT_SITE("load_matrix_sync"), __VA_ARGS__)
#define store_matrix_sync(...) simt_store_at(SIMT_SITE("store_matrix_sync"), __VA_ARGS__)
#define mma_sync(...) simt_mma_at(SIMT_SITE("mma_sync"), __VA_ARGS__)
