#include "faulty_kernels.h"

#include "host_device.h"
#include "reference.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

float *host_memory(CUdeviceptr address)
{
    return (float *)(uintptr_t)address;
}

/* Adds the fault to the C of a right kernel. */
static void spoil(const struct faulty_kernel *faulty, double beta, float *c, float before, bool real)
{
    const struct problem *p = &faulty->problem;
    float *last = c + (p->m - 1) * p->ldc + p->n - 1;
    if (faulty->fault == ONE_OFF) *last += 1.0f;
    if (faulty->fault == RANDOM_ONLY && real) *last += (float)(40 * ldexp(1, -24) * (double)(p->k * p->k));
    if (faulty->fault == UNWRITTEN) *last = before;
    if (faulty->fault == BEFORE_C) c[-1] = 0;
    if (faulty->fault == BEHIND_C) last[1] = 0;
    if (faulty->fault == IN_PADDING) c[p->n] = 0;
    if (faulty->fault == BETA_TIMES_NAN) *last += (float)beta * before;
    if (faulty->fault == UNSTEADY && real && faulty->calls % 2) *last = nextafterf(*last, INFINITY);
    if (faulty->fault == LATE && faulty->calls > faulty->late) *last += 1.0f;
    if (faulty->fault == ODD_M_WRONG && p->m % 4) *last += 1.0f;
}

/* The operands as a matrix instruction reads them: without their last `bits` bits. malloc'ed. */
static float *rounded(const float *from, int64_t count, int bits)
{
    float *to = malloc((size_t)(count + 1) * sizeof *to);
    for (int64_t i = 0; i < count; i++) {
        uint32_t word;
        memcpy(&word, &from[i], sizeof word);
        word = (word + (1u << (bits - 1))) & ~((1u << bits) - 1);
        memcpy(&to[i], &word, sizeof word);
    }
    return to;
}

static void multiply_rounded(const struct problem *p, const float *a, const float *b, float *c, int bits)
{
    float *a_rounded = rounded(a, problem_span_a(p), bits), *b_rounded = rounded(b, problem_span_b(p), bits);
    reference_ijk(p, a_rounded, b_rounded, c);
    free(a_rounded);
    free(b_rounded);
}

static float gelu(const struct faulty_kernel *faulty, float x)
{
    const float inner = 0.79788456f * (x + 0.044715f * x * x * x);
    if (faulty->fault == GELU_BY_ERF) return x / 2 * (1 + erff(x * 0.70710678f));
    if (faulty->fault == GELU_COARSE) return x / 2 * (1 + tanhf(inner) * (1 - 0x1p-11f));
    return x / (1 + expf(-2 * inner));
}

static float activated(const struct faulty_kernel *faulty, float x)
{
    switch (faulty->fault == ACTIVATION_MISSING ? ACTIVATION_NONE
                                                : epilogue_activation(faulty->problem.epilogue)) {
    case ACTIVATION_RELU:
        return faulty->fault == NAN_CLAMPED ? fmaxf(x, 0) : x < 0 ? 0 : x;
    case ACTIVATION_GELU:
        return gelu(faulty, x);
    case ACTIVATION_NONE:
        return x;
    }
    return x;
}

/* Of alpha A B + beta C at this element, the result. */
static float finished(const struct faulty_kernel *faulty, const float *bias, int64_t item, int64_t row,
                      int64_t col, float x)
{
    const struct problem *p = &faulty->problem;
    const bool last = row == p->m - 1 && col == p->n - 1;
    float b = 0;
    if (bias && faulty->fault != BIAS_MISSING) {
        const bool by_rows = (epilogue_bias(p->epilogue) == BIAS_ROW) != (faulty->fault == BIAS_OTHER_WAY);
        const int64_t first = faulty->fault == BIAS_OF_ITEM_0 ? 0 : item * p->stride_bias;
        b = bias[first + (by_rows ? row : col) + (faulty->fault == BIAS_BEYOND && last)];
    }
    if (faulty->fault == OFF_BEFORE_ACTIVATION && last) x += 1;
    return faulty->fault == ACTIVATION_BEFORE_BIAS ? activated(faulty, x) + b : activated(faulty, x + b);
}

static void finish(const struct faulty_kernel *faulty, const float *bias, float *c)
{
    const struct problem *p = &faulty->problem;
    for (int64_t item = 0; item < p->batch; item++)
        for (int64_t row = 0; row < p->m; row++)
            for (int64_t col = 0; col < p->n; col++) {
                float *x = &c[item * p->stride_c + row * p->ldc + col];
                *x = finished(faulty, bias, item, row, col, *x);
            }
}

/* The elements alone, not the padding. */
static void copy_elements(const struct problem *p, const float *from, float *to)
{
    for (int64_t item = 0; item < p->batch; item++)
        for (int64_t row = 0; row < p->m; row++)
            memcpy(&to[item * p->stride_c + row * p->ldc], &from[item * p->stride_c + row * p->ldc],
                   (size_t)p->n * sizeof *to);
}

/* Of the first element of C = A B. */
static float first_element(const struct problem *p, const float *a, const float *b)
{
    double sum = 0;
    for (int64_t k = 0; k < p->k; k++)
        sum += (double)a[p->trans_a ? k * p->lda : k] * (double)b[p->trans_b ? k : k * p->ldb];
    return (float)sum;
}

enum status faulty_launch(void *self, const struct operands *operands, double alpha, double beta)
{
    struct faulty_kernel *faulty = self;
    struct problem p = faulty->problem;
    float *a = host_memory(operands->at[OPERAND_A]), *b = host_memory(operands->at[OPERAND_B]),
          *c = host_memory(operands->at[OPERAND_C]);
    float *source = host_memory(operands->at[OPERAND_SOURCE]),
          *bias = host_memory(operands->at[OPERAND_BIAS]);
    faulty->calls++;
    host_spend(faulty->us);
    if (p.m == 0 || p.n == 0) return OK;
    float before = c[(p.m - 1) * p.ldc + p.n - 1];
    bool real = p.k > 0 && a[0] != rintf(a[0]);
    p.alpha = alpha, p.beta = faulty->fault == BETA_IGNORED ? 0 : beta;
    p.epilogue = 0; /* the product first */
    if (faulty->fault == IDLE && alpha == 1 && beta == 0 &&
        fabsf(c[0] - first_element(&p, a, b)) <= 1e-5f * fabsf(c[0]))
        return OK;
    if (source && beta != 0 && faulty->fault != D_READ) copy_elements(&p, source, c);
    if (faulty->fault == LAST_K_MISSING) p.k--;
    if (faulty->fault == OP_SWAPPED) p.trans_b = !p.trans_b;
    if (faulty->fault == OPERANDS_OVERWRITTEN) a[0] = 1e6f;
    if (faulty->fault == ROUNDED_TF32) multiply_rounded(&p, a, b, c, 13);
    else if (faulty->fault == ROUNDED_BF16) multiply_rounded(&p, a, b, c, 16);
    else reference_ijk(&p, a, b, c);
    if (faulty->fault == ALPHA_0_READS && alpha == 0 && p.k > 0) c[0] += 0 * a[0];
    if (faulty->problem.epilogue) finish(faulty, bias, c);
    if (source && faulty->fault == SOURCE_WRITTEN) copy_elements(&p, c, source);
    if (bias && faulty->fault == BIAS_WRITTEN) bias[0] += 1;
    spoil(faulty, beta, c, before, real);
    return OK;
}
