/**
 * @file gemm_cases.h
 * @brief The cases that every matrix product lesson has, their inputs, oracle and bounds.
 *
 * A lesson file says which products it computes (struct gemm_family) and gets the rest from here.
 */
#pragma once

#include "contracts/gemm_args.h"
#include "protocol/gemm_items.h"
#include "gemm_inputs.h"
#include "lesson.h"

/** @brief lesson_case.extent: the sizes that the buffers are made for. Up to GEMM_DTYPE_OUT as in enum
 *         gemm_value. */
enum gemm_extent {
    GEMM_EX_FLAGS = GEMM_DTYPE_OUT + 1, /* set of enum gemm_family_flags */
    GEMM_EX_CHOICES                     /* 256 * first + last */
};

enum gemm_family_flags {
    GEMM_GENERAL = 1,
    GEMM_TENSOR_CORES = 2,
    GEMM_CHOOSES_STAGES = 4,
    GEMM_CHOOSES_TILE = 8,
    GEMM_SAME_LAYOUTS = 16,  /* struct gemm_family's same_layouts */
    GEMM_INT8 = 32,          /* A and B are bytes and sums are integers: int8_cases.h */
    GEMM_DEQUANTISED = 64,   /* with GEMM_INT8: sums are scaled, and stored as dtype_out */
    GEMM_PROPERTY_SHIFT = 8, /* from this bit on: which property a case is, see gemm_cases.c */
};

/** @brief What a caller may choose beyond the product itself; the bits of the result must not depend on
 *         it. */
enum gemm_choice {
    GEMM_NO_CHOICE,
    GEMM_STAGES, /* args->stages */
    GEMM_TILE    /* which tile size is used, for a lesson whose entry point takes it */
};

/**
 * @brief Which products a part of a lesson computes.
 *
 * A plain family computes C = A * B: nothing transposed, alpha 1, beta 0, k >= 1; anything else has to be
 * refused as gemm_args_check_plain() does. A general one takes all that struct gemm_args can say.
 */
struct gemm_family {
    int part;         /**< index of the part */
    const char *name; /**< name of the part, with which its cases' names begin; NULL for "product" */
    enum dtype dtype_in, dtype_out; /**< how a and b, and c, are stored */
    int general;                    /**< 1: also transposes, alpha, beta and k = 0 */
    /** what the caller chooses, from first_choice to last_choice. The cases use the choices in rotation;
     *  other values have to be refused as ::KERNEL_INVALID_CONFIG */
    enum gemm_choice choice;
    int first_choice, last_choice;
    int tensor_cores; /**< 1: tensor cores compute the sums, or may do so */
    int int8; /**< 1: A and B are bytes; there is no alpha or beta, but any layout is valid (int8_cases.h) */
    int dequantised;  /**< if int8: 1: C is of dtype_out; 0: C is int32 */
    int same_layouts; /**< 1: the bits do not depend on layout, row distance and alignment either */
};

/** @brief Appends the cases of @p family to @p cases, of which @p count are there; returns the new count. */
int gemm_cases(const struct gemm_family *family, struct lesson_case *cases, int count, int capacity);

/**
 * @brief One more good case, alpha 1 and beta 0, for a lesson that needs a shape of its own.
 *
 * The caller may change value (and extent, where both hold a number) and real of the case that is returned.
 * @p name does not include the part.
 */
struct lesson_case gemm_case(const struct gemm_family *family, const char *name, enum case_group group,
                             unsigned devices, int m, int n, int k);

/** @brief Changes how such a case stores its matrices: transposed, and with elements between rows. */
void gemm_store(struct lesson_case *item, int trans_a, int trans_b, int more_a, int more_b, int more_c);

void gemm_vary(struct lesson_case *item, int index, struct rng *rng);
int gemm_buffers(const struct lesson_case *item, struct lesson_buffer *buffers);
void gemm_fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data);
size_t gemm_units(const struct lesson_case *item);
size_t gemm_unit_elems(const struct lesson_case *item);
/** @brief op(B) in panels, for gemm_panel(), if B is stored transposed or read for many rows; else NULL, as without memory. */
void *gemm_prepare(const struct lesson_case *item, const float *const *data);
/**
 * @brief A product of the columns of op(B) from @p first on, as many as a panel has.
 * @param[in]  packed  what gemm_prepare() made of @p b, or NULL
 * @param[out] panel   the shape of the product with these columns alone
 * @param[out] at      its B
 * @return how many columns they are
 */
int gemm_panel(const struct ref_gemm_shape *whole, const float *b, const float *packed, int first,
               struct ref_gemm_shape *panel, const float **at);
void gemm_expect(const struct lesson_case *item, const float *const *data, size_t unit,
                 struct lesson_expectation *expectation);
int gemm_identity(const struct lesson_case *item, const float *const *data, const float *const *got,
                  const double *allowed, uint64_t seed, char *reason, size_t size);
int gemm_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
               struct lesson_guess *guess);
int gemm_terms(const struct lesson_case *item, const float *const *data, int buffer, size_t at, size_t from,
               size_t to, struct lesson_terms *terms);
int gemm_trait(const struct lesson_case *item, int index, const char **message);
const char *gemm_purpose(const struct lesson_case *item);
void gemm_cost(const struct lesson_case *item, struct lesson_cost *cost);
size_t gemm_workspace_bytes(const struct lesson_case *item);
void gemm_describe(const struct lesson_case *item, char *text, size_t size);

/** @brief The members of struct lesson that are the same for every matrix product lesson. */
#define GEMM_CALLBACKS                                                                                       \
    .vary = gemm_vary, .buffers = gemm_buffers, .fill = gemm_fill, .units = gemm_units,                      \
    .unit_elems = gemm_unit_elems, .prepare = gemm_prepare, .expect = gemm_expect,                           \
    .identity = gemm_identity, .stale = "is c read although beta is 0?", .guess = gemm_guess,                \
    .terms = gemm_terms, .trait = gemm_trait, .cost = gemm_cost, .workspace_bytes = gemm_workspace_bytes,    \
    .describe = gemm_describe, .purpose = gemm_purpose, .turns = "a b", .distributions = GEMM_DISTRIBUTIONS
