#include "reference.h"

#include <math.h>

/* Where op(A)[i, l] and op(B)[l, j] are stored in one batch item. */
static int64_t at_a(const struct problem *p, int64_t i, int64_t l)
{
    return p->trans_a ? l * p->lda + i : i * p->lda + l;
}

static int64_t at_b(const struct problem *p, int64_t l, int64_t j)
{
    return p->trans_b ? j * p->ldb + l : l * p->ldb + j;
}

static bool reads_operands(const struct problem *p)
{
    return (float)p->alpha != 0.0F && p->k > 0;
}

void reference_ijk(const struct problem *p, const float *a, const float *b, float *c)
{
    float alpha = (float)p->alpha, beta = (float)p->beta;
    for (int64_t z = 0; z < p->batch; z++, a += p->stride_a, b += p->stride_b, c += p->stride_c)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                float *out = &c[i * p->ldc + j];
                float sum = 0.0F;
                for (int64_t l = 0; reads_operands(p) && l < p->k; l++)
                    sum += a[at_a(p, i, l)] * b[at_b(p, l, j)];
                float product = reads_operands(p) ? alpha * sum : 0.0F;
                *out = beta == 0.0F ? product : product + beta * *out;
            }
}

void reference_ikj(const struct problem *p, const float *a, const float *b, float *c)
{
    /* The row of op(B) is walked through a stride instead of an index function: another way to read the
     * layout. */
    int64_t step_a = p->trans_a ? p->lda : 1, row_a = p->trans_a ? 1 : p->lda;
    int64_t step_b = p->trans_b ? p->ldb : 1, row_b = p->trans_b ? 1 : p->ldb;
    for (int64_t z = 0; z < p->batch; z++) {
        for (int64_t i = 0; i < p->m; i++) {
            float *row = c + z * p->stride_c + i * p->ldc;
            for (int64_t j = 0; j < p->n; j++)
                row[j] = (float)p->beta == 0.0F ? 0.0F : row[j] * (float)p->beta;
            if ((float)p->alpha == 0.0F) continue;
            const float *from_a = a + z * p->stride_a + i * row_a;
            for (int64_t l = 0; l < p->k; l++) {
                float factor = (float)p->alpha * from_a[l * step_a];
                const float *from_b = b + z * p->stride_b + l * row_b;
                for (int64_t j = 0; j < p->n; j++) row[j] += factor * from_b[j * step_b];
            }
        }
    }
}

void reference_double(const struct problem *p, const float *a, const float *b, const float *c_in,
                      double *answer, double *magnitude)
{
    double alpha = (double)(float)p->alpha, beta = (double)(float)p->beta;
    for (int64_t z = 0; z < p->batch; z++, a += p->stride_a, b += p->stride_b, c_in += p->stride_c)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++, answer++, magnitude++) {
                double sum = 0.0, absolute = 0.0;
                for (int64_t l = 0; reads_operands(p) && l < p->k; l++) {
                    double term = (double)a[at_a(p, i, l)] * (double)b[at_b(p, l, j)];
                    sum += term;
                    absolute += fabs(term);
                }
                double old = beta == 0.0 ? 0.0 : beta * (double)c_in[i * p->ldc + j];
                *answer = (reads_operands(p) ? alpha * sum : 0.0) + old;
                *magnitude = (reads_operands(p) ? fabs(alpha) * absolute : 0.0) + fabs(old);
            }
}

float reference_bias(const struct problem *p, const float *bias, int64_t item, int64_t row, int64_t column)
{
    switch (epilogue_bias(p->epilogue)) {
    case BIAS_COLUMN:
        return bias[item * p->stride_bias + column];
    case BIAS_ROW:
        return bias[item * p->stride_bias + row];
    default:
        return 0.0F;
    }
}

double reference_activated(const struct problem *p, double x)
{
    switch (epilogue_activation(p->epilogue)) {
    case ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case ACTIVATION_GELU:
        return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    default:
        return x;
    }
}

double reference_activation_error(const struct problem *p, double x)
{
    return epilogue_activation(p->epilogue) == ACTIVATION_GELU ? 0x1p-20 * fabs(x) : 0.0;
}
