/* check_header.c — the lookup of an exported header against the templates themselves and a search through all
 * entries. */
#define GT_WINNERS_IMPLEMENTATION
#include "many.h"

#include "epilogue.h"
#include "stats.h"
#include "template.h"

#include <math.h>
#include <stdio.h>

static int failures;

static void check(int holds, const char *what, const struct gt_winner_shape *s)
{
    if (holds) return;
    if (failures++ < 10)
        fprintf(stderr, "%s: %c%c %lldx%lldx%lld batch %lld\n", what, s->trans_a ? 't' : 'n',
                s->trans_b ? 't' : 'n', (long long)s->m, (long long)s->n, (long long)s->k,
                (long long)s->batch);
}

static int epilogue; /* of the winners that are looked at: a code of epilogue.h */

/* In the tables nothing is put down that the rules refuse for the winner itself; test_export_plan asks them
 * about other shapes. */
static void check_fit(const struct gt_winner *w, const struct gt_winner_shape *s, const struct gpu *gpu)
{
    struct config config;
    check(gt_winner_fits(w, s), "a winner does not fit what it was measured for", s);
    if (strcmp(w->config, "cublas") == 0) return;
    struct problem p = problem_make(s->m, s->n, s->k);
    p.type = (enum gemm_type)s->type;
    p.epilogue = epilogue;
    p.trans_a = s->trans_a, p.trans_b = s->trans_b;
    p.lda = s->lda, p.ldb = s->ldb, p.ldc = s->ldc;
    p.batch = s->batch;
    p.stride_a = s->stride_a, p.stride_b = s->stride_b, p.stride_c = s->stride_c;
    check(config_parse(w->config, &config) == OK && !config.template->check(&config, &p, gpu),
          "the rules refuse a winner's own shape", s);
}

static double distance(const struct gt_winner *w, const struct gt_winner_shape *s)
{
    const double pairs[4][2] = {{(double)w->m, (double)s->m},
                                {(double)w->n, (double)s->n},
                                {(double)w->k, (double)s->k},
                                {(double)w->batch, (double)s->batch}};
    const int32_t align = gt_winner_align(s);
    const int tight =
        s->lda == (s->trans_a ? s->m : s->k) && s->ldb == (s->trans_b ? s->k : s->n) && s->ldc == s->n;
    double squares = 0, rest = 0;
    for (int i = 0; i < 4; i++) squares += pow(log2((1 + pairs[i][0]) / (1 + pairs[i][1])), 2);
    for (int i = 0; i < 3; i++) rest += ((w->align ^ align) >> 4 * i & 15) ? 0.25 : 0;
    const int shared = s->batch > 1 ? (s->stride_a == 0) + 2 * (s->stride_b == 0) : 0;
    rest += 0.02 * ((w->type != s->type) + (w->tight != tight) + (w->adds_to_c != s->adds_to_c) +
                    (w->shared != shared));
    return sqrt(squares) + rest;
}

static struct gt_winner_shape shape_of(const struct gt_winner *w)
{
    struct gt_winner_shape s = gt_winner_shape_make(w->op / 2, w->op % 2, w->m, w->n, w->k);
    s.type = w->type;
    s.batch = w->batch;
    s.adds_to_c = w->adds_to_c;
    s.lda = (s.lda + 3) / 4 * 4;
    s.ldb = (s.ldb + 3) / 4 * 4;
    s.ldc = (s.ldc + 3) / 4 * 4;
    s.stride_a = w->shared & 1 ? 0 : 4 * s.m * s.lda + 4 * s.k * s.lda;
    s.stride_b = w->shared & 2 ? 0 : 4 * s.n * s.ldb + 4 * s.k * s.ldb;
    s.stride_c = s.m * s.ldc;
    if ((w->align & 15) < (gt_winner_align(&s) & 15)) s.lda += w->align & 15;
    return s;
}

static uint64_t random_state = 7;

static int64_t below(int64_t n)
{
    return (int64_t)stats_random_below(&random_state, (uint64_t)n);
}

static struct gt_winner_shape random_shape(void)
{
    int64_t size[3];
    for (int i = 0; i < 3; i++) {
        const int64_t about = (int64_t)1 << below(17);
        size[i] = about + below(about);
        if (below(4)) size[i] = (size[i] + 3) / 4 * 4;
    }
    struct gt_winner_shape s = gt_winner_shape_make((int)below(2), (int)below(2), size[0], size[1], size[2]);
    if (below(8) == 0) s.batch = 1 + below(100000);
    if (below(8) == 0) s.ldb += 1 + below(4);
    s.adds_to_c = below(4) == 0;
    if (below(3) == 0) s.type = (int)below(GT_WINNER_TYPES);
    return s;
}

/* Each winner of a table finds itself; how many were asked for. */
static int check_exact(const struct gt_winner_gpu *g, const struct gpu *gpu)
{
    int exact = 0;
    for (int32_t i = 0; i < g->count; i++) {
        const struct gt_winner_shape s = shape_of(&g->winners[i]);
        struct gt_winner_match match;
        check(gt_winner_find(g, &s, &match), "nothing is found for a winner's own shape", &s);
        if (gt_winner_align(&s) != g->winners[i].align) continue; /* its alignment came from strides */
        check(match.exact && match.winner == &g->winners[i] && match.distance == 0,
              "a winner does not find itself", &s);
        check_fit(match.winner, &s, gpu);
        exact++;
    }
    check(exact > g->count / 2, "too few winners were asked for", &(struct gt_winner_shape){0});
    return exact;
}

/* The nearest winners of random shapes, by a search through all; how many had one. */
static int check_nearest(const struct gt_winner_gpu *g, int shapes)
{
    int found = 0;
    for (int i = 0; i < shapes; i++) {
        const struct gt_winner_shape s = random_shape();
        struct gt_winner_match match;
        double best = INFINITY;
        for (int32_t j = 0; j < g->count; j++)
            if (distance(&g->winners[j], &s) < best && gt_winner_fits(&g->winners[j], &s))
                best = distance(&g->winners[j], &s);
        const int yes = gt_winner_find(g, &s, &match);
        check(yes == !isinf(best), "something fits it, or is said to", &s);
        if (!yes) continue;
        found++;
        check(gt_winner_fits(match.winner, &s), "what was found does not fit it", &s);
        check(fabs(distance(match.winner, &s) - best) < 0.001, "something else is nearer", &s);
        check(fabs((double)match.distance - (match.exact ? 0 : best)) < 0.001, "the distance is wrong", &s);
    }
    return found;
}

/* The winners with an epilogue: each in the set that is found for it, and in no other. */
static int check_epilogues(const struct gpu *gpu)
{
    int entries = 0;
    for (int code = 1; code < EPILOGUE_CODES; code++) {
        const struct gt_winner_set *set =
            gt_winner_epilogue_find(&gt_many_winners_epilogues, code % 4, code / 4 % 4, code / 16);
        const struct gt_winner_gpu *g = gt_winner_gpu_find(set, "NVIDIA H200", 90, 132);
        if ((g != NULL) != epilogue_is_known(code)) {
            fprintf(stderr, "epilogue %d has %s\n", code, g ? "winners" : "none");
            failures++;
        }
        if (!g) continue;
        epilogue = code;
        check_exact(g, gpu);
        check_nearest(g, 100);
        entries += g->count;
    }
    return entries;
}

int main(void)
{
    struct gpu gpu;
    if (gpu_find(GT_SOURCE_DIR "/configs/gpus", "h200", &gpu)) return 2;
    const struct gt_winner_gpu *g = gt_winner_gpu_find(&gt_many_winners, "NVIDIA H200", 90, 132);
    if (!g || g->count < 1000) return 2;
    const int exact = check_exact(g, &gpu), found = check_nearest(g, 2000), others = check_epilogues(&gpu);
    printf("%d entries, %d exact, %d of 2000 nearest, %d with an epilogue, %d wrong\n", (int)g->count, exact,
           found, others, failures);
    return failures || found < 1000 || others < 1000;
}
