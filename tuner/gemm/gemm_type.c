#include "gemm_type.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int bytes, data_type;
    const char *name, *cuda_name;
} elements[ELEMENT_COUNT] = {
    [ELEMENT_F32] = {4, BLAS_R_32F, "f32", "float"},
    [ELEMENT_F16] = {2, BLAS_R_16F, "f16", "__half"},
    [ELEMENT_BF16] = {2, BLAS_R_16BF, "bf16", "__nv_bfloat16"},
    [ELEMENT_TF32] = {4, BLAS_R_32F, "tf32", "float"},
};

int element_bytes(enum element element)
{
    return elements[element].bytes;
}

int element_vector(enum element element)
{
    return 16 / elements[element].bytes;
}

const char *element_name(enum element element)
{
    return elements[element].name;
}

const char *element_cuda_name(enum element element)
{
    return elements[element].cuda_name;
}

int blas_data_type(enum element element)
{
    return elements[element].data_type;
}

/* For inputs, output and sums. */
#define FP32                                                                                                 \
    .a = ELEMENT_F32, .b = ELEMENT_F32, .c = ELEMENT_F32, .sum = ELEMENT_F32, .sum_roundoff = 0x1p-24,       \
    .c_roundoff = 0x1p-24

/* FMAs per clock and SM of the tensor cores relative to FP32 lanes (NVIDIA's whitepapers of the
 * architectures; the slower figure where the GPUs of an architecture differ). */
static double tf32_over_fp32(int arch)
{
    return arch == 100 || arch == 103 ? 16 : arch == 80 || arch == 87 || arch == 90 ? 8 : 1;
}

/* The rate of 16-bit operands with FP32 sums: twice TF32's, but for the first tensor cores, which had only
 * FP16. */
static double half_over_fp32(int arch)
{
    return arch < 80 ? 4 : 2 * tf32_over_fp32(arch);
}

/* For operands of 16 bits, summed in FP32. cuBLAS's pedantic mode is none of them: it forbids tensor cores.
 */
#define BF16_OPERANDS                                                                                        \
    .a = ELEMENT_BF16, .b = ELEMENT_BF16, .sum = ELEMENT_F32, .sum_roundoff = 0x1p-24, .rate = "bf16",       \
    .rate_over_fp32 = half_over_fp32, .least_arch = 80, .compute = {BLAS_COMPUTE_32F}
#define F16_OPERANDS                                                                                         \
    .a = ELEMENT_F16, .b = ELEMENT_F16, .sum = ELEMENT_F32, .sum_roundoff = 0x1p-24, .rate = "fp16",         \
    .rate_over_fp32 = half_over_fp32, .compute = {BLAS_COMPUTE_32F}

/* What satisfies what is proven for every kind of data. FFMA is at least as exact as TF32, whose operands are
 * rounded before. An accuracy class is not: it is measured, and its pieces lose what is tiny (bf16x6 below
 * 2^-123) or small beside its row (f16x3), where TF32 rounds each element by 2^-11 of itself. The limits of
 * the classes allow for chance: between data sets a root mean square varies by a few per cent, a largest
 * error by more. products: of three BF16 pieces an operand, six products are added (family bf16x6); of two
 * FP16 pieces three and, at twice the rate, one of FP8 (f16x3). */
static const struct gemm_type_row rows[GEMM_TYPE_COUNT] = {
    [GEMM_SGEMM] = {.name = "sgemm",
                    .meaning = "strict FP32: every product and every sum by FFMA",
                    FP32,
                    .rate = "fp32",
                    .satisfies = GEMM_TYPE_BIT(GEMM_SGEMM) | GEMM_TYPE_BIT(GEMM_SGEMM_ACCURATE) |
                                 GEMM_TYPE_BIT(GEMM_SGEMM_NORMWISE) | GEMM_TYPE_BIT(GEMM_TF32),
                    .compute = {BLAS_COMPUTE_32F, BLAS_COMPUTE_32F_PEDANTIC}},
    [GEMM_SGEMM_ACCURATE] = {.name = "sgemm_accurate",
                             .meaning = "FP32 by any means that are as exact as FFMA in every element",
                             FP32,
                             .rate = "fp32",
                             .satisfies =
                                 GEMM_TYPE_BIT(GEMM_SGEMM_ACCURATE) | GEMM_TYPE_BIT(GEMM_SGEMM_NORMWISE),
                             .componentwise_limit = 1.5,
                             .rms_limit = 1.1,
                             .max_limit = 1.5,
                             .products = 6,
                             .arithmetic = "BF16x9",
                             .compute = {BLAS_COMPUTE_32F_BF16X9}},
    [GEMM_SGEMM_NORMWISE] = {.name = "sgemm_normwise",
                             .meaning =
                                 "FP32 by any means that are as exact as FFMA against the largest of C",
                             FP32,
                             .rate = "fp32",
                             .satisfies = GEMM_TYPE_BIT(GEMM_SGEMM_NORMWISE),
                             .rms_limit = 1.1,
                             .max_limit = 1.5,
                             .products = 3.5},
    [GEMM_TF32] = {.name = "tf32gemm",
                   .meaning = "operands rounded to TF32 (10 bits of fraction), summed in FP32",
                   FP32,
                   .operand_roundoff = 0x1p-11,
                   .rate = "tf32",
                   .rate_over_fp32 = tf32_over_fp32,
                   .satisfies = GEMM_TYPE_BIT(GEMM_TF32),
                   .arithmetic = "TF32",
                   .compute = {BLAS_COMPUTE_32F_FAST_TF32}},
    [GEMM_BF16] = {.name = "bf16gemm",
                   .meaning = "BF16 operands and result, summed in FP32",
                   BF16_OPERANDS,
                   .c = ELEMENT_BF16,
                   .c_roundoff = 0x1p-8,
                   .satisfies = GEMM_TYPE_BIT(GEMM_BF16),
                   .arithmetic = "BF16"},
    [GEMM_F16] = {.name = "hgemm",
                  .meaning = "FP16 operands and result, summed in FP32",
                  F16_OPERANDS,
                  .c = ELEMENT_F16,
                  .c_roundoff = 0x1p-11,
                  .satisfies = GEMM_TYPE_BIT(GEMM_F16),
                  .arithmetic = "FP16"},
    [GEMM_BF16_TO_F32] = {.name = "bf16gemm:c=f32",
                          .meaning = "BF16 operands, FP32 result, summed in FP32",
                          BF16_OPERANDS,
                          .c = ELEMENT_F32,
                          .c_roundoff = 0x1p-24,
                          .satisfies = GEMM_TYPE_BIT(GEMM_BF16_TO_F32),
                          .arithmetic = "BF16/FP32"},
    [GEMM_F16_TO_F32] = {.name = "hgemm:c=f32",
                         .meaning = "FP16 operands, FP32 result, summed in FP32",
                         F16_OPERANDS,
                         .c = ELEMENT_F32,
                         .c_roundoff = 0x1p-24,
                         .satisfies = GEMM_TYPE_BIT(GEMM_F16_TO_F32),
                         .arithmetic = "FP16/FP32"},
};

const struct gemm_type_row *gemm_type_row(enum gemm_type type)
{
    return &rows[type];
}

bool gemm_type_of_accuracy(const char *name, enum gemm_type *type)
{
    static const char *const names[] = {[GEMM_SGEMM] = "strict",
                                        [GEMM_SGEMM_ACCURATE] = "accurate",
                                        [GEMM_SGEMM_NORMWISE] = "normwise",
                                        [GEMM_TF32] = "tf32"};
    for (int t = GEMM_SGEMM; t <= GEMM_TF32; t++) {
        if (strcmp(name, names[t]) != 0) continue;
        *type = (enum gemm_type)t;
        return true;
    }
    return false;
}

bool gemm_type_find(const char *name, enum gemm_type *type)
{
    for (int i = 0; i < GEMM_TYPE_COUNT; i++) {
        if (strcmp(rows[i].name, name) != 0) continue;
        *type = (enum gemm_type)i;
        return true;
    }
    return false;
}

bool gemm_type_with_c(const char *element, enum gemm_type *type)
{
    const struct gemm_type_row *own = &rows[*type];
    for (int i = 0; i < GEMM_TYPE_COUNT; i++) {
        const struct gemm_type_row *row = &rows[i];
        const bool same = row->a == own->a && row->b == own->b && row->rate == own->rate;
        if (!same || strcmp(element_name(row->c), element) != 0) continue;
        if (row->c != own->c) *type = (enum gemm_type)i;
        return true;
    }
    return false;
}

const char *gemm_type_names(char text[GEMM_TYPE_NAMES_MAX])
{
    size_t used = 0;
    for (int i = 0; i < GEMM_TYPE_COUNT && used < GEMM_TYPE_NAMES_MAX; i++)
        if (!strchr(rows[i].name, ':'))
            used +=
                (size_t)snprintf(text + used, GEMM_TYPE_NAMES_MAX - used, "%s%s", i ? " " : "", rows[i].name);
    return text;
}

const char *gemm_type_likely(const char *name, char text[LIKELY_TEXT_MAX])
{
    struct likely likely = {.word = name};
    for (int i = 0; i < GEMM_TYPE_COUNT; i++)
        if (!strchr(rows[i].name, ':')) likely_offer(&likely, rows[i].name);
    return likely_text(&likely, text);
}

bool gemm_type_satisfies(enum gemm_type delivered, enum gemm_type needed)
{
    return rows[delivered].satisfies >> needed & 1;
}

static bool has_matrices(const struct gemm_type_row *row, int a, int b, int c)
{
    return blas_data_type(row->a) == a && blas_data_type(row->b) == b && blas_data_type(row->c) == c;
}

bool gemm_type_of_call(int a, int b, int c, int compute, enum gemm_type *type)
{
    for (int i = 0; i < GEMM_TYPE_COUNT; i++) {
        const struct gemm_type_row *row = &rows[i];
        if (compute == 0 || (compute != row->compute[0] && compute != row->compute[1])) continue;
        if (!has_matrices(row, a, b, c)) continue;
        *type = (enum gemm_type)i;
        return true;
    }
    return false;
}

unsigned gemm_types_of_matrices(int a, int b, int c)
{
    unsigned types = 0;
    for (int i = 0; i < GEMM_TYPE_COUNT; i++)
        if (has_matrices(&rows[i], a, b, c)) types |= GEMM_TYPE_BIT(i);
    return types;
}

int gemm_type_compute(enum gemm_type type)
{
    return gemm_type_has_limits(type) ? BLAS_COMPUTE_32F : rows[type].compute[0];
}

bool gemm_type_is_strict(enum gemm_type type)
{
    return type == GEMM_SGEMM;
}

bool gemm_type_has_limits(enum gemm_type type)
{
    return rows[type].rms_limit > 0;
}

bool gemm_type_has_invariant(enum gemm_type type)
{
    return element_bytes(rows[type].a) == 2;
}

bool gemm_type_answers(enum gemm_type tuned, enum gemm_type needed)
{
    return gemm_type_satisfies(tuned, needed) &&
           (gemm_type_has_limits(tuned) || !gemm_type_has_limits(needed));
}

bool gemm_type_decides(enum gemm_type tuned, enum gemm_type needed)
{
    return tuned == needed || (gemm_type_has_limits(needed) && gemm_type_answers(tuned, needed));
}
