/* check_header.c — the lookup of an exported header against the templates themselves and a search through all
 * entries. */
#define GT_WINNERS_IMPLEMENTATION
#include "many.h"

#include "epilogue.h"
#include "gemm_block.h"
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

static struct problem problem_of(const struct gt_winner_shape *s)
{
    struct problem p = problem_make(s->m, s->n, s->k);
    p.type = (enum gemm_type)s->type;
    p.epilogue = epilogue;
    p.trans_a = s->trans_a, p.trans_b = s->trans_b;
    p.lda = s->lda, p.ldb = s->ldb, p.ldc = s->ldc;
    p.batch = s->batch;
    p.stride_a = s->stride_a, p.stride_b = s->stride_b, p.stride_c = s->stride_c;
    return p;
}

/* What may run the shape, asked of the template; and its distance, with the mathematics library. */
/* By the rules of the template, and within what the header allows of workspace, counters aside. */
static int may_run(const struct gt_winner_gpu *g, const struct gt_winner *w, const struct gt_winner_shape *s,
                   const struct gpu *gpu)
{
    struct config config;
    struct launch_plan plan;
    struct problem p = problem_of(s);
    if (w->op != 2 * s->trans_a + s->trans_b) return 0;
    if (!gemm_type_answers((enum gemm_type)w->type, p.type)) return 0;
    if (strcmp(w->config, "cublas") == 0) return 1;
    if (config_parse(w->config, &config) || config.template->check(&config, &p, gpu)) return 0;
    p.batch = 1;
    config.template->plan(&config, &p, &plan);
    return w->geometry < 0 || plan.workspace_bytes - 4 * plan.counters <=
                                  (int64_t)g->geometries[w->geometry].workspace_mib << 20;
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

static void check_plan(const struct gt_winner_gpu *g, const struct gt_winner *w,
                       const struct gt_winner_shape *s)
{
    struct gt_winner_plan plan;
    struct config config;
    struct launch_plan theirs;
    const struct problem p = problem_of(s);
    check(gt_winner_plan_make(g, w, s, &plan), "a winner that was found has no plan", s);
    if (strcmp(w->config, "cublas") == 0 || config_parse(w->config, &config)) return;
    config.template->plan(&config, &p, &theirs);
    const struct gemm_args args = gemm_args_in(&theirs);
    check(plan.kernels == theirs.kernels && plan.workspace_bytes == theirs.workspace_bytes &&
              plan.splits == args.splits && plan.k_per_split == args.k_per_split &&
              plan.group == args.group && plan.counters == theirs.counters &&
              plan.batch_per_launch == theirs.batch_per_launch && plan.k_slab == theirs.k_slab,
          "a plan is not that of the template", s);
    for (int i = 0, at = 0; i < 3; i++) {
        if (!plan.grid[i][0]) continue;
        check(memcmp(plan.grid[i], theirs.kernel[at].grid, sizeof plan.grid[i]) == 0 &&
                  plan.threads[i] == theirs.kernel[at].threads &&
                  plan.smem_bytes[i] == theirs.kernel[at].smem_bytes &&
                  plan.last_slab[i] == (theirs.k_slab ? theirs.kernel[at].last_slab : 0),
              "a launch is not that of the template", s);
        at++;
    }
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
static int check_exact(const struct gt_winner_gpu *g)
{
    int exact = 0;
    for (int32_t i = 0; i < g->count; i++) {
        const struct gt_winner_shape s = shape_of(&g->winners[i]);
        struct gt_winner_match match;
        check(gt_winner_find(g, &s, &match), "nothing is found for a winner's own shape", &s);
        if (gt_winner_align(&s) != g->winners[i].align) continue; /* its alignment came from strides */
        check(match.exact && match.winner == &g->winners[i] && match.distance == 0,
              "a winner does not find itself", &s);
        check_plan(g, match.winner, &s);
        exact++;
    }
    check(exact > g->count / 2, "too few winners were asked for", &(struct gt_winner_shape){0});
    return exact;
}

/* The nearest winners of random shapes, by a search through all; how many had one. */
static int check_nearest(const struct gt_winner_gpu *g, const struct gpu *gpu, int shapes)
{
    int found = 0;
    for (int i = 0; i < shapes; i++) {
        const struct gt_winner_shape s = random_shape();
        struct gt_winner_match match;
        double best = INFINITY;
        for (int32_t j = 0; j < g->count; j++)
            if (distance(&g->winners[j], &s) < best && may_run(g, &g->winners[j], &s, gpu))
                best = distance(&g->winners[j], &s);
        const int yes = gt_winner_find(g, &s, &match);
        check(yes == !isinf(best), "something may run it, or is said to", &s);
        if (!yes) continue;
        found++;
        check(may_run(g, match.winner, &s, gpu), "what was found may not run it", &s);
        check(fabs(distance(match.winner, &s) - best) < 0.001, "something else is nearer", &s);
        check(fabs((double)match.distance - (match.exact ? 0 : best)) < 0.001, "the distance is wrong", &s);
        check_plan(g, match.winner, &s);
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
        check_exact(g);
        check_nearest(g, gpu, 100);
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
    const int exact = check_exact(g), found = check_nearest(g, &gpu, 2000), others = check_epilogues(&gpu);
    printf("%d entries, %d exact, %d of 2000 nearest, %d with an epilogue, %d wrong\n", (int)g->count, exact,
           found, others, failures);
    return failures || found < 1000 || others < 1000;
}
