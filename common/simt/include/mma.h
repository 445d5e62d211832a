/**
 * @file mma.h
 * @brief Warp matrix operations: `nvcuda::wmma`, half and bfloat16, m16n16k16, m32n8k16 and m8n32k16.
 *
 * Elements lie in x[] as they do on sm_80 and later, so that code which wrongly relies on their places
 * behaves as it would there. Operations are macros because the machine gathers lanes by the place where they
 * stand; what they do is in runtime/matrix.c. A fragment begins as a NaN that multiplying or storing reports.
 */
#ifndef WARPWISE_SIMT_MMA_H
#define WARPWISE_SIMT_MMA_H

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

/** @brief The bits a fragment begins with: a NaN that arithmetic does not make. */
template <typename T> struct simt_element;
template <> struct simt_element<half> {
    enum { type = SIMT_HALF, BEGIN = 0x7d5a };
    static half unset() { return __ushort_as_half(BEGIN); }
};
template <> struct simt_element<__nv_bfloat16> {
    enum { type = SIMT_BFLOAT16, BEGIN = 0x7fa5 };
    static __nv_bfloat16 unset() { return __ushort_as_bfloat16(BEGIN); }
};
template <> struct simt_element<float> {
    enum { type = SIMT_FLOAT, BEGIN = 0x7fa5a5a5 };
    static float unset() { return __uint_as_float(BEGIN); }
};

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
template <typename Use, int m, int n, typename T> struct simt_elements {
    enum {
        matrix = (int)simt_use<Use>::value == SIMT_MATRIX_A ? m / 2 : n / 2,
        value = (int)simt_use<Use>::value == SIMT_ACCUMULATOR ? 8
                : (int)simt_element<T>::type == SIMT_HALF     ? 16
                                                              : matrix
    };
};

template <typename Use, int m, int n, int k, typename T, typename Layout = void> class fragment
{
    static_assert(k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32)),
                  "the software device has the tiles 16x16x16, 32x8x16 and 8x32x16");
    static_assert((int)simt_layout<Layout>::none == ((int)simt_use<Use>::value == SIMT_ACCUMULATOR),
                  "matrix_a and matrix_b are row_major or col_major, an accumulator is neither");
    static_assert((int)simt_element<T>::type !=
                      ((int)simt_use<Use>::value == SIMT_ACCUMULATOR ? SIMT_BFLOAT16 : SIMT_FLOAT),
                  "inputs are half or bfloat16, accumulators half or float");

  public:
    enum { num_elements = simt_elements<Use, m, n, T>::value, num_storage_elements = num_elements };
    typedef T element_type;
    typedef T storage_element_type;
    T x[num_elements];

    fragment()
    {
        for (int i = 0; i < num_elements; i++) x[i] = simt_element<T>::unset();
    }
};

#define SIMT_FRAGMENT fragment<Use, m, n, k, T, Layout>
#define SIMT_FRAGMENT_PARAMETERS template <typename Use, int m, int n, int k, typename T, typename Layout>

template <typename Use, int m, int n, int k, typename T, typename Layout>
static constexpr struct simt_fragment simt_kind = {(unsigned char)simt_use<Use>::value,
                                                   (unsigned char)simt_element<T>::type,
                                                   (unsigned char)m,
                                                   (unsigned char)n,
                                                   (unsigned char)simt_layout<Layout>::row_major,
                                                   (unsigned char)SIMT_FRAGMENT::num_elements,
                                                   (unsigned)simt_element<T>::BEGIN};

/* ---- operations ---------------------------------------------------------------------------------------- */

template <typename Use, int m, int n, int k, typename T, typename Layout, typename V>
SIMT_OUTLINE void fill_fragment(SIMT_FRAGMENT &f, const V &value)
{
    const T copy = (T)value;
    for (int i = 0; i < f.num_elements; i++) f.x[i] = copy;
}

SIMT_FRAGMENT_PARAMETERS
SIMT_OUTLINE void simt_load_at(const struct simt_site *site, SIMT_FRAGMENT &f, const T *tile, unsigned ldm)
{
    static_assert((int)simt_use<Use>::value != SIMT_ACCUMULATOR, "say mem_row_major or mem_col_major");
    simt_matrix_load(site, &simt_kind<Use, m, n, k, T, Layout>, f.x, tile, ldm, SIMT_CALLER);
}

template <int m, int n, int k, typename T>
SIMT_OUTLINE void simt_load_at(const struct simt_site *site, fragment<accumulator, m, n, k, T> &f,
                               const T *tile, unsigned ldm, layout_t layout)
{
    struct simt_fragment kind = simt_kind<accumulator, m, n, k, T, void>;
    kind.row_major = layout == mem_row_major;
    simt_matrix_load(site, &kind, f.x, tile, ldm, SIMT_CALLER);
}

template <int m, int n, int k, typename T>
SIMT_OUTLINE void simt_store_at(const struct simt_site *site, T *tile,
                                const fragment<accumulator, m, n, k, T> &f, unsigned ldm, layout_t layout)
{
    struct simt_fragment kind = simt_kind<accumulator, m, n, k, T, void>;
    kind.row_major = layout == mem_row_major;
    simt_matrix_store(site, &kind, f.x, tile, ldm, SIMT_CALLER);
}

template <int m, int n, int k, typename T, typename LayoutA, typename LayoutB, typename D, typename C>
SIMT_OUTLINE void simt_mma_at(const struct simt_site *site, fragment<accumulator, m, n, k, D> &d,
                              const fragment<matrix_a, m, n, k, T, LayoutA> &a,
                              const fragment<matrix_b, m, n, k, T, LayoutB> &b,
                              const fragment<accumulator, m, n, k, C> &c)
{
    static_assert((int)simt_element<T>::type == SIMT_HALF ||
                      ((int)simt_element<C>::type == SIMT_FLOAT && (int)simt_element<D>::type == SIMT_FLOAT),
                  "bfloat16 is accumulated in float");
    struct simt_product product = {
        {d.x, a.x, b.x, c.x},
        {&simt_kind<accumulator, m, n, k, D, void>, &simt_kind<matrix_a, m, n, k, T, LayoutA>,
         &simt_kind<matrix_b, m, n, k, T, LayoutB>, &simt_kind<accumulator, m, n, k, C, void>}};
    simt_matrix_multiply(site, &product);
}

#undef SIMT_FRAGMENT
#undef SIMT_FRAGMENT_PARAMETERS

/** @brief For `using nvcuda::wmma::mma_sync;` and the like; calls go through the macros below. */
void load_matrix_sync();
void store_matrix_sync();
void mma_sync();

} // namespace wmma
} // namespace nvcuda

#define load_matrix_sync(...) simt_load_at(SIMT_SITE("load_matrix_sync"), __VA_ARGS__)
#define store_matrix_sync(...) simt_store_at(SIMT_SITE("store_matrix_sync"), __VA_ARGS__)
#define mma_sync(...) simt_mma_at(SIMT_SITE("mma_sync"), __VA_ARGS__)

#endif
