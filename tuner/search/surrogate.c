#include "surrogate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 64,    /* slots that are computed together */
    FIT_ROWS = 96, /* that weights are fitted to: the time grows with their third power */
    FIT_STEPS = 8,
};

/* Decided by replaying recorded spaces (docs/results/search-replay.md). */
static const double usual_noise = 1e-4;   /* as a share of the process's variance */
static const double usual_weight = 0.06;  /* a priori weights are log-normal around it, with deviation 1 */
static const double least_weight = 0.005; /* nearly all alike */
static const double most_weight = 5;      /* a step leaves a sixth of what is alike */
static const double slope_trust = 4;      /* the assumed slope counts as much as so many values */
static const double deviation_trust = 2;  /* and so does the assumed deviation */

struct group {
    double log_weight[SURROGATE_DIMS];
    float weight[SURROGATE_DIMS];
};

/* The rows that fitting works with. Matrices use their lower halves. */
struct fit {
    size_t rows, row[FIT_ROWS];
    double value[FIT_ROWS], solved[FIT_ROWS];
    double covariance[FIT_ROWS][FIT_ROWS], inverse[FIT_ROWS][FIT_ROWS];
    double columns[FIT_ROWS][FIT_ROWS]; /* of the factor's inverse */
};

/* The state of fitting for each group. */
struct descent {
    double slope[SURROGATE_DIMS], before[SURROGATE_DIMS], step[SURROGATE_DIMS];
    struct group best;
};

struct surrogate {
    size_t rows_max, slots_max, rows;
    int groups;
    double slope, deviation; /* assumed */
    double noise;
    struct group *group;
    struct descent *descent; /* a group */
    struct surrogate_point *row, *slot;
    double *factor;  /* Cholesky factor of the rows' covariance, rows_max wide */
    float *white;    /* slots_max wide: the factor's inverse times the rows' covariance with the slots */
    float *left;     /* a slot: the share of its variance that the rows leave */
    float *block;    /* BLOCK wide: scratch */
    double *scratch; /* 4 x rows_max */
    struct fit *fit;
};

/* ---- covariance ---- */

static float covariance(const struct surrogate *s, const struct surrogate_point *x,
                        const struct surrogate_point *y)
{
    if (x->group != y->group) return 0;
    const float *weight = s->group[x->group].weight;
    float sum = 0;
    for (int d = 0; d < SURROGATE_DIMS; d++) sum += weight[d] * (float)abs(x->level[d] - y->level[d]);
    return 1 / (1 + sum);
}

static void take_weights(struct group *g)
{
    for (int d = 0; d < SURROGATE_DIMS; d++) g->weight[d] = (float)exp(g->log_weight[d]);
}

/* ---- life ---- */

void surrogate_free(struct surrogate *s)
{
    if (!s) return;
    free(s->group);
    free(s->descent);
    free(s->row);
    free(s->slot);
    free(s->factor);
    free(s->white);
    free(s->left);
    free(s->block);
    free(s->scratch);
    free(s->fit);
    free(s);
}

struct surrogate *surrogate_build(int groups, size_t rows_max, size_t slots_max, double slope,
                                  double deviation)
{
    struct surrogate *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    *s = (struct surrogate){.rows_max = rows_max,
                            .slots_max = slots_max,
                            .groups = groups,
                            .slope = slope,
                            .deviation = deviation,
                            .noise = usual_noise};
    s->group = calloc((size_t)groups, sizeof *s->group);
    s->descent = calloc((size_t)groups, sizeof *s->descent);
    s->row = calloc(rows_max, sizeof *s->row);
    s->slot = calloc(slots_max, sizeof *s->slot);
    s->factor = calloc(rows_max * rows_max, sizeof *s->factor);
    s->white = calloc(rows_max * slots_max, sizeof *s->white);
    s->left = calloc(slots_max, sizeof *s->left);
    s->block = calloc(rows_max * BLOCK, sizeof *s->block);
    s->scratch = calloc(4 * rows_max, sizeof *s->scratch);
    s->fit = calloc(1, sizeof *s->fit);
    if (!s->group || !s->descent || !s->row || !s->slot || !s->factor || !s->white || !s->left || !s->block ||
        !s->scratch || !s->fit) {
        surrogate_free(s);
        return NULL;
    }
    for (int g = 0; g < groups; g++) {
        for (int d = 0; d < SURROGATE_DIMS; d++) s->group[g].log_weight[d] = log(usual_weight);
        take_weights(&s->group[g]);
    }
    surrogate_clear(s);
    return s;
}

void surrogate_noise(struct surrogate *s, double share)
{
    s->noise = share;
}

size_t surrogate_rows(const struct surrogate *s)
{
    return s->rows;
}

void surrogate_clear(struct surrogate *s)
{
    s->rows = 0;
    for (size_t i = 0; i < s->slots_max; i++) s->left[i] = 1;
}

/* ---- rows ---- */

/* The factor's next row. */
static bool grow(struct surrogate *s, const struct surrogate_point *point)
{
    double *row = s->factor + s->rows * s->rows_max, left = 1 + s->noise;
    for (size_t i = 0; i < s->rows; i++) {
        const double *other = s->factor + i * s->rows_max;
        double sum = (double)covariance(s, point, &s->row[i]);
        for (size_t j = 0; j < i; j++) sum -= row[j] * other[j];
        row[i] = sum / other[i];
        left -= row[i] * row[i];
    }
    if (!(left > 1e-9)) return false;
    row[s->rows] = sqrt(left);
    s->row[s->rows++] = *point;
    return true;
}

bool surrogate_add(struct surrogate *s, const struct surrogate_point *point)
{
    if (!grow(s, point)) return false;
    const size_t n = s->rows - 1, slots = s->slots_max;
    const double *row = s->factor + n * s->rows_max;
    float *restrict white = s->white + n * slots, *restrict left = s->left;
    for (size_t j = 0; j < slots; j++) white[j] = covariance(s, point, &s->slot[j]);
    for (size_t i = 0; i < n; i++) {
        const float *restrict above = s->white + i * slots;
        const float factor = (float)row[i];
        for (size_t j = 0; j < slots; j++) white[j] -= factor * above[j];
    }
    const float inverse = (float)(1 / row[n]);
    for (size_t j = 0; j < slots; j++) {
        white[j] *= inverse;
        left[j] -= white[j] * white[j];
    }
    return true;
}

/* ---- slots ---- */

/* Forward substitution for up to BLOCK slots at once; they need not lie side by side. */
static void place_block(struct surrogate *s, const size_t *slot, size_t count)
{
    for (size_t b = 0; b < count; b++) s->left[slot[b]] = 1;
    for (size_t r = 0; r < s->rows; r++) {
        const double *row = s->factor + r * s->rows_max;
        float *restrict white = s->block + r * BLOCK;
        for (size_t b = 0; b < count; b++) white[b] = covariance(s, &s->row[r], &s->slot[slot[b]]);
        for (size_t i = 0; i < r; i++) {
            const float *restrict above = s->block + i * BLOCK;
            const float factor = (float)row[i];
            for (size_t b = 0; b < BLOCK; b++) white[b] -= factor * above[b];
        }
        const float inverse = (float)(1 / row[r]);
        for (size_t b = 0; b < BLOCK; b++) white[b] *= inverse;
        for (size_t b = 0; b < count; b++) {
            s->white[r * s->slots_max + slot[b]] = white[b];
            s->left[slot[b]] -= white[b] * white[b];
        }
    }
    memset(s->block, 0, s->rows * BLOCK * sizeof *s->block); /* nothing is left to overflow the next time */
}

void surrogate_place(struct surrogate *s, const size_t *slot, const struct surrogate_point *point,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) s->slot[slot[i]] = point[i];
    for (size_t i = 0; i < count; i += BLOCK) place_block(s, slot + i, count - i < BLOCK ? count - i : BLOCK);
}

/* Factor and slots anew, after the weights have changed. */
static bool rebuild(struct surrogate *s)
{
    const size_t rows = s->rows;
    bool good = true;
    surrogate_clear(s);
    for (size_t r = 0; r < rows && good; r++) good = grow(s, &s->row[r]);
    if (!good) surrogate_clear(s);
    for (size_t i = 0; good && i < s->slots_max; i += BLOCK) {
        size_t slot[BLOCK], count = 0;
        for (; count < BLOCK && i + count < s->slots_max; count++) slot[count] = i + count;
        place_block(s, slot, count);
    }
    return good;
}

/* ---- trend ---- */

struct trend {
    double mean, slope;
};

/* Forward substitution; a row without a value becomes what the rows before it let expect. */
static void whiten(const struct surrogate *s, const double *value, const double *of, double *out)
{
    for (size_t r = 0; r < s->rows; r++) {
        const double *row = s->factor + r * s->rows_max;
        double sum = of[r];
        for (size_t i = 0; i < r; i++) sum -= row[i] * out[i];
        out[r] = isnan(value[r]) ? 0 : sum / row[r];
    }
}

/* rest: what the process has to explain, whitened, a row. */
static struct trend fit_trend(const struct surrogate *s, const double *value, double *rest)
{
    double *of = s->scratch, *ones = of + s->rows_max, *advice = ones + s->rows_max;
    double ones2 = 1e-9, both = 0, advice2 = 0, ones_rest = 0, advice_rest = 0, middle = 0;
    size_t known = 0;
    for (size_t r = 0; r < s->rows; r++)
        if (!isnan(value[r])) middle += (double)s->row[r].advice, known++;
    middle = known ? middle / (double)known : 0;
    for (size_t r = 0; r < s->rows; r++) of[r] = 1;
    whiten(s, value, of, ones);
    for (size_t r = 0; r < s->rows; r++) of[r] = (double)s->row[r].advice - middle;
    whiten(s, value, of, advice);
    whiten(s, value, value, rest);
    for (size_t r = 0; r < s->rows; r++) {
        ones2 += ones[r] * ones[r];
        both += ones[r] * advice[r];
        advice2 += advice[r] * advice[r];
        ones_rest += ones[r] * rest[r];
        advice_rest += advice[r] * rest[r];
    }
    /* The assumed slope is so many values that follow it, spread as the others are. */
    const double trust = advice2 > 0 ? slope_trust * advice2 / (double)known : 1;
    advice2 += trust;
    advice_rest += trust * s->slope;
    const double slope = (ones2 * advice_rest - both * ones_rest) / (ones2 * advice2 - both * both);
    const double mean = (ones_rest - both * slope) / ones2;
    for (size_t r = 0; r < s->rows; r++) rest[r] -= mean * ones[r] + slope * advice[r];
    return (struct trend){mean - slope * middle, slope};
}

bool surrogate_expect(struct surrogate *s, const double *value, float *mean, float *deviation)
{
    double *rest = s->scratch + 3 * s->rows_max, sum = 0;
    const struct trend trend = fit_trend(s, value, rest);
    size_t known = 0;
    for (size_t r = 0; r < s->rows; r++) {
        sum += rest[r] * rest[r];
        known += isnan(value[r]) ? 0 : 1;
    }
    if (known == 0) return false;
    for (size_t j = 0; j < s->slots_max; j++)
        mean[j] = (float)trend.mean + (float)trend.slope * s->slot[j].advice;
    for (size_t r = 0; r < s->rows; r++) {
        const float *restrict white = s->white + r * s->slots_max;
        const float factor = (float)rest[r];
        for (size_t j = 0; j < s->slots_max; j++) mean[j] += factor * white[j];
    }
    const float scale = (float)sqrt((sum + deviation_trust * s->deviation * s->deviation) /
                                    ((double)known + deviation_trust));
    for (size_t j = 0; j < s->slots_max; j++) deviation[j] = scale * sqrtf(fmaxf(s->left[j], 1e-9f));
    return true;
}

void surrogate_process(struct surrogate *s, const double *value, const struct surrogate_point *point,
                       size_t count, double *process)
{
    double *share = s->scratch + 3 * s->rows_max;
    fit_trend(s, value, share);
    for (size_t r = s->rows; r-- > 0;) { /* backward substitution, in place */
        const double *row = s->factor + r * s->rows_max;
        share[r] /= row[r];
        for (size_t i = 0; i < r; i++) share[i] -= row[i] * share[r];
    }
    for (size_t j = 0; j < count; j++) {
        process[j] = 0;
        for (size_t r = 0; r < s->rows; r++)
            process[j] += share[r] * (double)covariance(s, &s->row[r], &point[j]);
    }
}

/* ---- weights ---- */

/* An even choice of the rows with a value, without the trend. */
static void choose_rows(struct surrogate *s, const double *value)
{
    struct fit *f = s->fit;
    const struct trend trend = fit_trend(s, value, s->scratch + 3 * s->rows_max);
    size_t known = 0, seen = 0;
    for (size_t r = 0; r < s->rows; r++) known += isnan(value[r]) ? 0 : 1;
    const size_t wanted = known < FIT_ROWS ? known : FIT_ROWS;
    f->rows = 0;
    if (known == 0) return;
    for (size_t r = 0; r < s->rows; r++) {
        if (isnan(value[r]) || ++seen * wanted / known == f->rows) continue;
        f->row[f->rows] = r;
        f->value[f->rows++] = value[r] - trend.mean - trend.slope * (double)s->row[r].advice;
    }
}

/* Cholesky factor in place. */
static bool factorise(double (*a)[FIT_ROWS], size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i][j];
            for (size_t k = 0; k < j; k++) sum -= a[i][k] * a[j][k];
            if (i == j && !(sum > 1e-12)) return false;
            a[i][j] = i == j ? sqrt(sum) : sum / a[j][j];
        }
    return true;
}

/* The factored matrix's inverse in place of its factor. */
static void invert(double (*a)[FIT_ROWS], double (*column)[FIT_ROWS], size_t n)
{
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            double sum = i == j;
            for (size_t k = j; k < i; k++) sum -= a[i][k] * column[j][k];
            column[j][i] = sum / a[i][i];
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = i; k < n; k++) sum += column[i][k] * column[j][k];
            a[i][j] = sum;
        }
}

/* The prior of the weights, and its slope. */
static double prior(struct surrogate *s)
{
    double loss = 0;
    for (int g = 0; g < s->groups; g++)
        for (int d = 0; d < SURROGATE_DIMS; d++) {
            const double off = s->group[g].log_weight[d] - log(usual_weight);
            s->descent[g].slope[d] = off;
            loss += 0.5 * off * off;
        }
    return loss;
}

/* Minus the logarithm of the likelihood under the present weights, for the process's best variance, and its
 * slope in each weight's logarithm. */
static bool likelihood(struct surrogate *s, double *loss)
{
    struct fit *f = s->fit;
    const size_t n = f->rows;
    double square = 0;
    *loss = prior(s);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++)
            f->covariance[i][j] = (double)covariance(s, &s->row[f->row[i]], &s->row[f->row[j]]);
        memcpy(f->inverse[i], f->covariance[i], (i + 1) * sizeof **f->inverse);
        f->inverse[i][i] += s->noise;
    }
    if (!factorise(f->inverse, n)) return false;
    for (size_t i = 0; i < n; i++) *loss += log(f->inverse[i][i]);
    invert(f->inverse, f->columns, n);
    for (size_t i = 0; i < n; i++) {
        f->solved[i] = 0;
        for (size_t j = 0; j < n; j++) f->solved[i] += f->inverse[i > j ? i : j][i > j ? j : i] * f->value[j];
        square += f->solved[i] * f->value[i];
    }
    const double variance = fmax(square / (double)n, 1e-12);
    *loss += 0.5 * (double)n * log(variance);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            const struct surrogate_point *x = &s->row[f->row[i]], *y = &s->row[f->row[j]];
            if (x->group != y->group) continue;
            const double covered = f->covariance[i][j];
            const double share =
                (f->solved[i] * f->solved[j] / variance - f->inverse[i][j]) * covered * covered;
            const float *weight = s->group[x->group].weight;
            double *slope = s->descent[x->group].slope;
            for (int d = 0; d < SURROGATE_DIMS; d++)
                slope[d] += share * (double)weight[d] * abs(x->level[d] - y->level[d]);
        }
    return isfinite(*loss);
}

/* Resilient propagation: the sign of the slope decides, and each weight has a step of its own (Riedmiller &
 * Braun, 1993). */
static void descend(struct group *g, struct descent *at)
{
    for (int d = 0; d < SURROGATE_DIMS; d++) {
        const double turn = at->slope[d] * at->before[d];
        at->step[d] = fmin(1, fmax(0.01, at->step[d] * (turn > 0 ? 1.2 : turn < 0 ? 0.5 : 1)));
        at->before[d] = turn < 0 ? 0 : at->slope[d];
        const double by = at->before[d] > 0 ? -at->step[d] : at->before[d] < 0 ? at->step[d] : 0;
        g->log_weight[d] = fmin(log(most_weight), fmax(log(least_weight), g->log_weight[d] + by));
    }
    take_weights(g);
}

bool surrogate_fit(struct surrogate *s, const double *value)
{
    double loss, best = INFINITY;
    for (int g = 0; g < s->groups; g++) {
        s->descent[g] = (struct descent){.best = s->group[g]};
        for (int d = 0; d < SURROGATE_DIMS; d++) s->descent[g].step[d] = 0.4;
    }
    choose_rows(s, value);
    for (int i = 0; i < FIT_STEPS && s->fit->rows > 0 && likelihood(s, &loss); i++) {
        const bool better = loss < best;
        if (better) best = loss;
        for (int g = 0; g < s->groups; g++) {
            if (better) s->descent[g].best = s->group[g];
            descend(&s->group[g], &s->descent[g]);
        }
    }
    for (int g = 0; g < s->groups; g++) s->group[g] = s->descent[g].best;
    return rebuild(s);
}
