#include "lookup.h"

#include "answer.h"
#include "exact.h"
#include "model.h"
#include "nearest.h"
#include "template.h"
#include "workspace.h"

#include <math.h>
#include <stdio.h>

#define MODELLED_MAX                                                                                         \
    2048 /* configurations that the model is asked about for one plan: a few milliseconds                    \
          */
#define STRICTER     "what is known was compared with cuBLAS in another type only: cuBLAS"
#define NEAREST_KEPT 4
#define MODEL_KEPT   2

/* A choice by the model alone is assumed to be as good as cuBLAS if its time is at most this multiple of the
 * machine's limit, or if cuBLAS is known to be slow. */
#define TRUSTED_SHARE 1.5
#define THIN_SIDE_MAX 16 /* of products that the bandwidth limits, cuBLAS's too */
/* Share lost per unit of distance from the measured problem, in addition to what the model predicts. */
#define LOSS_PER_DISTANCE 0.03

/* Who has measured it, if not the user. */
static const char *layer_of(const struct choice *c)
{
    return c->system ? ", the system's" : c->pretuned ? ", pretuned" : "";
}

/* cublas: the choice is cuBLAS, which the winner was raced against, and not the winner's configuration. */
static struct choice from_winner(enum choice_source source, const struct stored_winner *w,
                                 const struct config *config, bool cublas)
{
    const bool alone = w->config == CUBLAS_WON; /* then the row's time is cuBLAS's */
    struct choice c = {.source = source,
                       .cublas = cublas || alone,
                       .type = w->base.problem.type,
                       .pretuned = w->pretuned && !w->system,
                       .system = w->system,
                       .stale = w->stale,
                       .time_us = cublas && !alone ? answer_us(&w->base) : w->base.time_us,
                       .ratio = w->base.ratio,
                       .gain = w->base.ratio,
                       .claim = w->claim};
    if (!c.cublas) c.config = *config;
    problem_format(&w->base.problem, c.tuned_for);
    snprintf(c.when, sizeof c.when, "%.23s", w->base.when);
    return c;
}

/* The user's own winner may have been tuned with a larger workspace than this program allows. */
static void say_too_large(const struct winner_store *store, const struct stored_winner *winner,
                          const struct config *config)
{
    char problem[PROBLEM_TEXT_MAX];
    if (winner->pretuned || !workspace_refuses(config, &winner->base.problem, store->workspace_bytes)) return;
    problem_format(&winner->base.problem, problem);
    notice(store->notices, NOTICE_WORKSPACE,
           "the winner for %.200s is passed over: it takes %.1f MiB of workspace, and %.1f are allowed "
           "(workspace_bytes of gt_options, or " WORKSPACE_VARIABLE ")",
           problem, (double)workspace_of(config, &winner->base.problem) / (1 << 20),
           (double)workspace_allowed(&winner->base.problem, store->workspace_bytes) / (1 << 20));
}

/* The user's pin, if it may be used for operands with this alignment. found: the winner without the pin, NULL
 * if there is none; usually it is the same configuration and then tells how it was measured. */
static bool take_pinned(struct winner_store *store, const struct problem *problem, int alignment,
                        const struct stored_winner *found, const struct config *its, struct choice *choice)
{
    const struct config *pin = preferences_pin(&store->preferences, problem);
    if (!pin || nearest_illegal(store, pin, problem, alignment) ||
        winner_store_failed(store, problem, pin, ""))
        return false;
    if (template_is_library(pin->template) && alignment < 16) return false;
    if (found && its->template && config_equal(its, pin)) {
        *choice = from_winner(found->base.predicted ? CHOICE_PREDICTED : CHOICE_EXACT, found, its, false);
    } else {
        *choice = (struct choice){.source = CHOICE_PREDICTED,
                                  .config = *pin,
                                  .type = problem->type,
                                  .loss = -1,
                                  .time_us = model_predict(pin, problem, &store->gpu, NULL).time_us};
        problem_format(problem, choice->tuned_for);
    }
    choice->pinned = true;
    snprintf(choice->why, sizeof choice->why, "pinned for this problem%s",
             choice->source == CHOICE_EXACT ? "" : ", not measured for it with this kernel");
    return true;
}

/* An algorithm of cublasLt was judged in the arithmetic of its problem's type, for operands that lie as a
 * library's do: at multiples of 16 bytes. */
static bool is_of_other_call(const struct stored_winner *winner, const struct config *config,
                             const struct problem *problem, int alignment)
{
    return config->template && template_is_library(config->template) &&
           (winner->base.problem.type != problem->type || alignment < 16);
}

static void add_exact(const struct stored_winner *winner, const struct config *config, bool cublas,
                      struct choice *choices, int *count)
{
    struct choice *c = &choices[(*count)++];
    *c = from_winner(CHOICE_EXACT, winner, config, cublas);
    snprintf(c->why, sizeof c->why, "%s for this problem on this GPU%s%s",
             c->cublas                        ? "cuBLAS won the race"
             : answer_is_rival(&winner->base) ? "measured, and slower than cuBLAS,"
                                              : "measured",
             layer_of(c), c->stale ? "; another driver or method is in use now" : "");
}

static enum status list_exact(struct winner_store *store, const struct problem *problem, int alignment,
                              struct choice *choices, int *count)
{
    struct stored_winner winner;
    struct config config;
    *count = 0;
    const enum status st = exact_find(store, problem, &winner, &config);
    if (st && st != E_ABSENT) return st;
    *count = take_pinned(store, problem, alignment, st ? NULL : &winner, &config, choices);
    if (*count == 1 || st || winner.base.predicted) return OK;
    const bool cublas_won =
        !problem->invariant && (winner.config == CUBLAS_WON || answer_is_rival(&winner.base));
    /* More kernels compute a laxer type, and what was measured nearby may be faster than cuBLAS. */
    if (cublas_won && winner.base.problem.type != problem->type) return OK;
    if (cublas_won) add_exact(&winner, &config, true, choices, count);
    if (winner.config == CUBLAS_WON) return OK;
    if (!is_of_other_call(&winner, &config, problem, alignment) &&
        !nearest_illegal(store, &config, problem, alignment))
        add_exact(&winner, &config, false, choices, count);
    else if (!cublas_won) say_too_large(store, &winner, &config);
    return OK;
}

/* What was measured for the problem with an operand prepared, and is as fast without. */
static enum status list_exact_prepared(struct winner_store *store, const struct problem *problem,
                                       int alignment, struct choice choices[CHOICES_MAX], int *count)
{
    enum status st = OK;
    for (int with = PREPARED_A; with <= PREPARED_B && !st && *count == 0; with++) {
        struct problem prepared = *problem;
        struct choice found[CHOICES_MAX];
        int more = 0;
        prepared.prepared = (enum prepared_operand)with;
        st = list_exact(store, &prepared, alignment, found, &more);
        for (int i = 0; i < more; i++) {
            struct choice *c = &found[i];
            const struct config *config = c->cublas ? NULL : &c->config;
            if (c->pinned || nearest_saves_work(&store->gpu, &prepared, config, problem)) continue;
            if (config && (nearest_illegal(store, config, problem, alignment) ||
                           winner_store_failed(store, problem, config, "")))
                continue;
            snprintf(c->why, sizeof c->why, "%s for this problem with a prepared operand%s%s",
                     c->cublas ? "cuBLAS won the race" : "measured",
                     c->cublas ? "" : ", which it does not read", layer_of(c));
            choices[(*count)++] = *c;
        }
    }
    return st;
}

enum status lookup_exact(struct winner_store *store, const struct problem *problem, int alignment,
                         struct choice choices[CHOICES_MAX], int *count)
{
    struct problem plain = *problem;
    int more = 0;
    enum status st = list_exact(store, problem, alignment, choices, count);
    const bool nothing = !st && *count == 0 && !problem->prepared && !problem->pointers;
    if (nothing && gemm_type_prepares(problem->type))
        return list_exact_prepared(store, problem, alignment, choices, count);
    if (st || !problem->prepared) return st;
    plain.prepared = PREPARED_NONE;
    st = list_exact(store, &plain, alignment, choices + *count, &more);
    for (const int end = *count + more; *count < end; ++*count) {
        struct choice *c = &choices[*count];
        c->source = CHOICE_NEAREST;
        c->loss = -1;
        snprintf(c->why, sizeof c->why, "%s without a prepared operand%s",
                 c->pinned   ? "pinned for this problem"
                 : c->cublas ? "cuBLAS won the race for this problem"
                             : "measured for this problem",
                 layer_of(c));
    }
    return st;
}

bool choice_replaces_cublas(const struct choice *choice)
{
    const bool measured = choice->source == CHOICE_EXACT || choice->source == CHOICE_NEAREST;
    return !choice->cublas && measured &&
           (choice->pinned || (choice->ratio > 0 && answer_gains(choice->gain)));
}

const char *choice_checked(const struct choice *choice, const struct problem *problem,
                           char text[ACCURACY_TEXT_MAX])
{
    enum gemm_type computed;
    text[0] = '\0';
    if (choice->cublas || !gemm_type_has_limits(problem->type)) return text;
    const struct template *const t = choice->config.template;
    const bool by_ffma = !template_is_library(t) && template_type(t, problem->type, &computed) &&
                         !gemm_type_has_limits(computed);
    return accuracy_claim_format(&choice->claim, by_ffma, text);
}

/* ---- everything else ---- */

struct listing {
    struct winner_store *store;
    const struct problem *problem;
    int alignment;
    struct choice *choices;
    int count;
    double model_best_us; /* the model's best time of all known configurations; INFINITY if none */
};

static bool is_listed(const struct listing *l, const struct choice *c)
{
    for (int i = 0; i < l->count; i++) {
        const struct choice *other = &l->choices[i];
        if (c->cublas ? other->cublas : !other->cublas && config_equal(&other->config, &c->config))
            return true;
    }
    return false;
}

/* cuBLAS adds in an order of its own for each M. */
static void list(struct listing *l, const struct choice *c)
{
    if (l->count == CHOICES_MAX || is_listed(l, c) || (c->cublas && l->problem->invariant)) return;
    if (c->cublas || !winner_store_failed(l->store, l->problem, &c->config, "")) l->choices[l->count++] = *c;
}

/* Behind cuBLAS, which is listed, and before what is slower there. */
static void list_behind(struct listing *l, const struct choice *c)
{
    int at = l->count;
    list(l, c);
    if (at == l->count) return;
    for (; at > 0 && !l->choices[at - 1].cublas && l->choices[at - 1].time_us > c->time_us; at--)
        l->choices[at] = l->choices[at - 1];
    l->choices[at] = *c;
}

static double model_us(const struct listing *l, const struct config *config)
{
    return model_predict(config, l->problem, &l->store->gpu, NULL).time_us;
}

struct modelled {
    int config;
    double time_us;
};

/* The model's few best among all configurations that are legal here. */
static int ask_model(struct listing *l, struct modelled best[MODEL_KEPT])
{
    const struct winner_store *store = l->store;
    int count = 0, predictions = 0;
    for (int i = 0; i < store->model_configs && predictions < MODELLED_MAX; i++) {
        if (template_is_library(store->set.configs[i].template) || store->set.configs[i].template->own ||
            nearest_illegal(store, &store->set.configs[i], l->problem, l->alignment))
            continue;
        struct modelled m = {i, model_us(l, &store->set.configs[i])};
        predictions++;
        int at = count < MODEL_KEPT ? count++ : MODEL_KEPT;
        for (; at > 0 && best[at - 1].time_us > m.time_us; at--)
            if (at < MODEL_KEPT) best[at] = best[at - 1];
        if (at < MODEL_KEPT) best[at] = m;
    }
    l->model_best_us = count ? best[0].time_us : INFINITY;
    return count;
}

static double estimated_loss(const struct listing *l, const struct choice *c, double distance)
{
    double by_model =
        c->cublas || isinf(l->model_best_us) ? 0 : model_us(l, &c->config) / l->model_best_us - 1;
    return fmax(0, by_model) + LOSS_PER_DISTANCE * distance;
}

static void list_cublas(struct listing *l, const char *why)
{
    struct choice c = {.source = CHOICE_FALLBACK, .cublas = true, .loss = -1};
    snprintf(c.why, sizeof c.why, "%s", why);
    list(l, &c);
}

/* cuBLAS's time in the nearest race, scaled to this problem; INFINITY if there is none. */
static struct neighbour expect_cublas(const struct listing *l, const struct neighbour *near, int count)
{
    const struct gpu *gpu = &l->store->gpu;
    for (int i = 0; i < count; i++) {
        const struct stored_winner *w = near[i].winner;
        if (w->config == CUBLAS_WON) return near[i];
        if (w->base.anchor_us <= 0) continue;
        return (struct neighbour){w, near[i].distance, nearest_cublas_us(gpu, w, l->problem), false};
    }
    return (struct neighbour){NULL, 0, INFINITY, false};
}

/* The ratio of the neighbour's race, carried over: the kernel's time scales as the model says, cuBLAS's with
 * the machine's limits. What lost its race gains nothing nearby. */
static double gain_of(const struct listing *l, const struct neighbour *n, const struct config *config)
{
    const struct winner *base = &n->winner->base;
    const struct gpu *gpu = &l->store->gpu;
    if (answer_is_rival(base)) return base->ratio;
    const double there_us = model_predict(config, &base->problem, gpu, NULL).time_us;
    return nearest_cublas_us(gpu, n->winner, l->problem) / base->time_us * there_us / model_us(l, config) *
           (1 - LOSS_PER_DISTANCE * n->distance);
}

/* cublas: as in from_winner. */
static struct choice choice_of(const struct listing *l, const struct neighbour *n, bool cublas)
{
    int index = n->winner->config;
    const struct config *config = index == CUBLAS_WON ? NULL : &l->store->set.configs[index];
    struct choice c = from_winner(CHOICE_NEAREST, n->winner, config, cublas);
    c.time_us = n->time_us;
    c.loss = estimated_loss(l, &c, n->distance);
    if (!gemm_type_decides(c.type, l->problem->type)) c.ratio = c.gain = 0;
    else if (!c.cublas) c.gain = gain_of(l, n, config);
    snprintf(c.why, sizeof c.why, "%s for %.110s, %.2f doublings away%.20s",
             !c.cublas ? "measured"
             : cublas && !answer_is_rival(&n->winner->base)
                 ? "cuBLAS is expected to be faster here, as measured"
                 : "cuBLAS won the race",
             c.tuned_for, n->distance, layer_of(&c));
    return c;
}

/* cuBLAS comes before the neighbour's kernel where that is not expected to be faster than it: than in their
 * race, or in the nearest one where there was none. */
static void list_neighbour(struct listing *l, const struct neighbour *n, const struct neighbour *cublas)
{
    const struct choice kernel = choice_of(l, n, false);
    if (!gemm_type_decides(kernel.type, l->problem->type)) {
        list_behind(l, &kernel);
        return;
    }
    const struct neighbour own = {n->winner, n->distance,
                                  nearest_cublas_us(&l->store->gpu, n->winner, l->problem), n->bucket};
    const struct neighbour *rival = kernel.gain > 0 ? &own : cublas;
    const double gain = kernel.gain > 0 ? kernel.gain : cublas->time_us / n->time_us;
    if (!kernel.cublas && rival->winner && !answer_gains(gain)) {
        const struct choice by_cublas = choice_of(l, rival, true);
        list(l, &by_cublas);
    }
    list(l, &kernel);
}

static void list_neighbours(struct listing *l, struct neighbour near[NEAREST_MAX], int count)
{
    const struct neighbour cublas = expect_cublas(l, near, count);
    for (int kept = 0; kept < NEAREST_KEPT && kept < count; kept++) {
        int best = kept;
        for (int i = kept + 1; i < count; i++)
            if (near[i].bucket || (!near[best].bucket && near[i].time_us < near[best].time_us)) best = i;
        const struct neighbour n = near[best];
        near[best] = near[kept];
        near[kept] = n;
        list_neighbour(l, &n, &cublas);
    }
}

/* A prediction by tune for exactly this problem. */
static void list_predicted(struct listing *l)
{
    struct stored_winner winner;
    struct config config;
    if (exact_find(l->store, l->problem, &winner, &config) || !winner.base.predicted ||
        winner.config == CUBLAS_WON || nearest_illegal(l->store, &config, l->problem, l->alignment))
        return;
    struct choice c = from_winner(CHOICE_PREDICTED, &winner, &config, false);
    c.loss = estimated_loss(l, &c, 1);
    snprintf(c.why, sizeof c.why, "predicted for this problem without a GPU");
    list(l, &c);
}

/* decides: as in nearest_find. */
static enum status list_nearest(struct listing *l, bool decides)
{
    struct neighbour near[NEAREST_MAX];
    int count;
    const enum status st = nearest_find(l->store, l->problem, l->alignment, decides, near, &count);
    if (st) return st;
    if (count && !decides) list_cublas(l, STRICTER);
    list_neighbours(l, near, count);
    return OK;
}

/* A kernel measured for this very problem in a stricter type. */
static enum status list_stricter(struct listing *l)
{
    struct stored_winner winner;
    struct config config;
    const enum status st = exact_find_stricter(l->store, l->problem, &winner, &config);
    if (st) return st == E_ABSENT ? OK : st;
    if (winner.base.predicted || !config.template ||
        is_of_other_call(&winner, &config, l->problem, l->alignment) ||
        nearest_illegal(l->store, &config, l->problem, l->alignment))
        return OK;
    struct choice c = from_winner(CHOICE_EXACT, &winner, &config, false);
    c.ratio = c.gain = 0;
    c.loss = -1;
    snprintf(c.why, sizeof c.why, "measured for this problem as %s%s", gemm_type_row(c.type)->name,
             layer_of(&c));
    list_cublas(l, STRICTER);
    list_behind(l, &c);
    return OK;
}

static void list_modelled(struct listing *l, const struct modelled *best, int count)
{
    for (int i = 0; i < count; i++) {
        struct choice c = {.source = CHOICE_PREDICTED,
                           .config = l->store->set.configs[best[i].config],
                           .time_us = best[i].time_us};
        c.loss = estimated_loss(l, &c, NEAREST_RADIUS);
        snprintf(c.why, sizeof c.why,
                 "nothing similar was measured: the model's choice among %d configurations",
                 l->store->model_configs);
        list(l, &c);
    }
}

/* Sets the widest legal accesses to the operands. */
static void widen(struct config *config, const struct listing *l)
{
    const struct template *t = config->template;
    for (int p = 0; p < t->param_count; p++) {
        struct config wider = *config;
        if (t->params[p].role != ROLE_VECTOR) continue;
        for (wider.value[p] = t->params[p].most; wider.value[p] > config->value[p]; wider.value[p] /= 2)
            if (!nearest_illegal(l->store, &wider, l->problem, l->alignment)) *config = wider;
    }
}

/* The plain configurations of all families, in the order of the model's times. Of a type with limits those
 * that add by FFMA in the order of k, which is as accurate as its contract by definition (docs/accuracy.md).
 * Those of families with invariant rows are for problems that cuBLAS must not compute.
 */
static void list_plain(struct listing *l)
{
    struct choice found[CHOICES_MAX];
    struct config plain;
    const bool in_order = gemm_type_has_limits(l->problem->type);
    int count = 0;
    for (size_t t = 0; t < template_count; t++)
        for (int i = 0; templates[t]->plain && templates[t]->plain(i, &plain); i++) {
            if (templates[t]->invariant != l->problem->invariant ||
                nearest_illegal(l->store, &plain, l->problem, l->alignment))
                continue;
            if (in_order && config_get(&plain, "SPLIT_K") > 1) continue;
            widen(&plain, l);
            struct choice c = {
                .source = CHOICE_FALLBACK, .config = plain, .loss = -1, .time_us = model_us(l, &plain)};
            snprintf(c.why, sizeof c.why, "no usable winner is known for this GPU: a plain configuration");
            if (count == CHOICES_MAX && found[count - 1].time_us <= c.time_us) continue;
            int at = count < CHOICES_MAX ? count++ : count - 1;
            for (; at > 0 && found[at - 1].time_us > c.time_us; at--) found[at] = found[at - 1];
            found[at] = c;
        }
    for (int i = 0; i < count; i++) list(l, &found[i]);
}

/* 16-bit operands whose lines no copies of 16 bytes can read: cuBLAS takes 2.5 to 7 times the machine's
 * limit. On an H100 and an H200 what the model chose was 1.5 to 2.7 times as fast for all such problems of
 * the public suite for which it was measured (docs/results/h200-types.md). */
static bool cublas_is_slow(const struct problem *problem, int alignment)
{
    const struct problem p = nearest_as_aligned(problem, alignment);
    const int whole = element_vector(gemm_type_row(p.type)->a);
    return element_bytes(gemm_type_row(p.type)->a) == 2 && p.m > THIN_SIDE_MAX && p.n > THIN_SIDE_MAX &&
           (problem_align_a(&p) < whole || problem_align_b(&p) < whole);
}

enum status lookup_others(struct winner_store *store, const struct problem *problem, int alignment,
                          struct choice choices[CHOICES_MAX], int *count)
{
    struct listing l = {.store = store, .problem = problem, .alignment = alignment, .choices = choices};
    *count = 0;
    struct modelled best[MODEL_KEPT];
    enum status st = winner_store_load(store);
    if (st) return st;
    int modelled = ask_model(&l, best);
    st = list_nearest(&l, true);
    list_predicted(&l);
    if (!st) st = list_stricter(&l);
    if (!st) st = list_nearest(&l, false);
    if (st) return st;
    double least =
        model_roofline_us(problem, gpu_peak_tflops(&store->gpu, problem->type), store->gpu.memory_gb_per_s);
    const bool trusted =
        l.model_best_us <= TRUSTED_SHARE * least || (modelled > 0 && cublas_is_slow(problem, alignment));
    if (l.count == 0 && !trusted)
        list_cublas(&l, modelled ? "nothing similar was measured, and the model expects no gain: cuBLAS"
                                 : "no usable winner is known for this GPU: cuBLAS");
    const bool measured_only = gemm_type_has_limits(problem->type); /* unknown errors may be too large */
    if (!measured_only) list_modelled(&l, best, modelled);
    list_cublas(&l, "no known winner could be used: cuBLAS");
    list_plain(&l);
    *count = l.count;
    return OK;
}
