#include "nearest.h"

#include "model.h"
#include "templates.h"

#include <math.h>

struct problem nearest_as_aligned(const struct problem *problem, int alignment)
{
    struct problem p = *problem;
    const bool batch =
        p.batch > 1; /* then longer rows would make the items overlap, but longer strides do as well */
    int64_t *const steps[] = {batch ? &p.stride_a : &p.lda, batch ? &p.stride_b : &p.ldb,
                              batch ? &p.stride_c : &p.ldc};
    for (int i = 0; i < 3 && alignment < 16; i++) {
        if (alignment < 8 && *steps[i] % 2 == 0) *steps[i] += 1;
        if (alignment == 8 && *steps[i] % 4 == 0) *steps[i] += 2;
    }
    return p;
}

const char *nearest_illegal(const struct config *config, const struct problem *problem, int alignment,
                            const struct gpu *gpu)
{
    struct problem p = nearest_as_aligned(problem, alignment);
    return config->template->check(config, &p, gpu);
}

static bool is_tight(const struct problem *p)
{
    return p->lda == problem_cols_a(p) && p->ldb == problem_cols_b(p) && p->ldc == p->n;
}

static double square(double x)
{
    return x * x;
}

double nearest_distance(const struct known_winner *w, const struct problem *p)
{
    double shape = square(w->log_m - log2(1 + (double)p->m)) + square(w->log_n - log2(1 + (double)p->n)) +
                   square(w->log_k - log2(1 + (double)p->k)) +
                   square(w->log_batch - log2(1 + (double)p->batch));
    const struct problem *q = &w->problem;
    int differ = (problem_align_a(p) != problem_align_a(q)) + (problem_align_b(p) != problem_align_b(q)) +
                 (problem_align_c(p) != problem_align_c(q));
    bool other_scalars = p->alpha != q->alpha || p->beta != q->beta;
    return sqrt(shape) + 0.25 * differ + 0.02 * (is_tight(p) != is_tight(q)) + 0.02 * other_scalars +
           0.1 * !w->cold;
}

/* Insert by distance; the farthest falls out of a full list. */
static int insert(struct neighbour *list, int count, int room, struct neighbour fresh)
{
    int at = count < room ? count : room - 1;
    if (count == room && list[at].distance <= fresh.distance) return count;
    for (; at > 0 && list[at - 1].distance > fresh.distance; at--) list[at] = list[at - 1];
    list[at] = fresh;
    return count < room ? count + 1 : count;
}

/* How full the last wave of blocks is. */
static double fullness(double waves)
{
    return waves > 0 ? waves / ceil(waves) : 1;
}

/* What a winner would take for another problem: the model's time for it, corrected by how wrong the model was
 * about the winner's own problem, the less the farther away that is. cuBLAS scales with what the machine
 * allows at best. */
static void transfer(const struct known *known, const struct problem *problem, struct neighbour *n)
{
    const struct known_winner *w = n->winner;
    const struct gpu *gpu = &known->gpu;
    if (w->config == KNOWN_CUBLAS) {
        n->time_us = w->time_us * model_roofline_us(problem, gpu->fp32_tflops, gpu->memory_gb_per_s) /
                     model_roofline_us(&w->problem, gpu->fp32_tflops, gpu->memory_gb_per_s);
        return;
    }
    const struct config *config = &known->configs[w->config];
    struct prediction there = model_predict(config, &w->problem, gpu, NULL);
    struct prediction here = model_predict(config, problem, gpu, NULL);
    n->distance += fabs(fullness(here.waves) - fullness(there.waves));
    n->time_us = here.time_us * pow(w->time_us / there.time_us, exp(-n->distance));
}

int nearest_find(const struct known *known, const struct problem *problem, int alignment,
                 struct neighbour neighbours[NEAREST_MAX])
{
    enum { LISTED = 4 * NEAREST_MAX }; /* some of which will be illegal, or farther than they look */
    struct neighbour list[LISTED];
    int listed = 0, count = 0;
    for (size_t i = 0; i < known->count; i++) {
        const struct known_winner *w = &known->winners[i];
        const struct problem *q = &w->problem;
        if (w->predicted || w->changed || w->other_gpu || w->time_us <= 0) continue;
        if (!w->exact && w->config != KNOWN_CUBLAS) continue;
        if (q->type != problem->type || q->trans_a != problem->trans_a || q->trans_b != problem->trans_b)
            continue;
        struct neighbour n = {w, nearest_distance(w, problem), 0};
        if (!(n.distance <= NEAREST_RADIUS)) continue;
        /* Of equals the user's own goes first. */
        if (w->pretuned) n.distance = nextafter(n.distance, INFINITY);
        listed = insert(list, listed, LISTED, n);
    }
    for (int i = 0; i < listed; i++) {
        const struct known_winner *w = list[i].winner;
        if (w->config != KNOWN_CUBLAS &&
            (nearest_illegal(&known->configs[w->config], problem, alignment, &known->gpu) ||
             known->configs[w->config].template->check(&known->configs[w->config], &w->problem, &known->gpu)))
            continue;
        transfer(known, problem, &list[i]);
        count = insert(neighbours, count, NEAREST_MAX, list[i]);
    }
    return count;
}
