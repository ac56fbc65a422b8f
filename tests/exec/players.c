#include "players.h"

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
static void spoil(const struct player *player, double beta, float *c, float before, bool real)
{
    const struct problem *p = &player->problem;
    float *last = c + (p->m - 1) * p->ldc + p->n - 1;
    if (player->fault == ONE_OFF) *last += 1.0f;
    if (player->fault == RANDOM_ONLY && real) *last += (float)(40 * ldexp(1, -24) * (double)(p->k * p->k));
    if (player->fault == UNWRITTEN) *last = before;
    if (player->fault == BEFORE_C) c[-1] = 0;
    if (player->fault == BEHIND_C) last[1] = 0;
    if (player->fault == IN_PADDING) c[p->n] = 0;
    if (player->fault == BETA_TIMES_NAN) *last += (float)beta * before;
    if (player->fault == UNSTEADY && real && player->calls % 2) *last = nextafterf(*last, INFINITY);
    if (player->fault == LATE && player->calls > player->late) *last += 1.0f;
    if (player->fault == ODD_M_WRONG && p->m % 4) *last += 1.0f;
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

enum status play(void *self, const struct operands *operands, double alpha, double beta)
{
    struct player *player = self;
    struct problem p = player->problem;
    float *a = host_memory(operands->a), *b = host_memory(operands->b), *c = host_memory(operands->c);
    player->calls++;
    host_spend(player->us);
    if (p.m == 0 || p.n == 0) return OK;
    float before = c[(p.m - 1) * p.ldc + p.n - 1];
    bool real = p.k > 0 && a[0] != rintf(a[0]);
    p.alpha = alpha, p.beta = player->fault == BETA_IGNORED ? 0 : beta;
    if (player->fault == LAST_K_MISSING) p.k--;
    if (player->fault == OP_SWAPPED) p.trans_b = !p.trans_b;
    if (player->fault == OPERANDS_OVERWRITTEN) a[0] = 1e6f;
    if (player->fault == ROUNDED_TF32) multiply_rounded(&p, a, b, c, 13);
    else if (player->fault == ROUNDED_BF16) multiply_rounded(&p, a, b, c, 16);
    else reference_ijk(&p, a, b, c);
    if (player->fault == ALPHA_0_READS && alpha == 0 && p.k > 0) c[0] += 0 * a[0];
    spoil(player, beta, c, before, real);
    return OK;
}
