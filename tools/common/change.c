#include "change.h"

#include "answer.h"
#include "race_rank.h"
#include "stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct interval unknown = {(double)NAN, (double)NAN, (double)NAN};

static bool is_known(const struct interval *x)
{
    return x->value > 0 && x->low > 0 && isfinite(x->high);
}

/* ---- what is known of one decision ---- */

/* The good blocks of a runner, -1 the rival; with none the relative interval of the ratio. */
static enum status block_interval(const struct db_evidence *e, int runner, double stored_us,
                                  const struct winner *w, struct interval *interval)
{
    double *us = malloc(((size_t)e->sample_count + 1) * sizeof *us);
    size_t count = 0;
    if (!us) return fail(E_MEMORY, "out of memory for the blocks of a race");
    const enum call_timing timing = race_timing(e, runner);
    for (int i = 0; i < e->sample_count; i++)
        if (e->samples[i].runner == runner && e->samples[i].timing == timing &&
            isfinite(e->samples[i].time_us) && e->samples[i].time_us > 0)
            us[count++] = e->samples[i].time_us;
    *interval = unknown;
    if (stored_us > 0) {
        const bool spread = w->ratio > 0 && w->ratio_low > 0;
        *interval = (struct interval){stored_us, spread ? stored_us * w->ratio_low / w->ratio : stored_us,
                                      spread ? stored_us * w->ratio_high / w->ratio : stored_us};
        if (count) stats_median_interval(us, count, &interval->low, &interval->high);
        interval->low = fmin(interval->low, stored_us);
        interval->high = fmax(interval->high, stored_us);
    }
    free(us);
    return OK;
}

static int runner_of(const struct db_evidence *e, const char *config)
{
    for (int i = 0; i < e->runner_count; i++)
        if (strcmp(e->runner_text[i], config) == 0) return i;
    return e->runner_count; /* has no blocks */
}

enum status decided_read(struct db *db, const struct db_winner *winner, struct decided *d)
{
    const struct winner *w = &winner->base;
    struct db_evidence e = {0};
    struct interval own = unknown;
    *d = (struct decided){.winner = *winner, .used_us = unknown, .ratio = unknown, .rival_us = unknown};
    enum status st = db_evidence(db, winner->decision_id, &e);
    if (!st) st = block_interval(&e, runner_of(&e, winner->config_text), w->time_us, w, &own);
    if (!st) st = block_interval(&e, -1, answer_rival_us(w), w, &d->rival_us);
    db_evidence_free(&e);
    const bool cublas = answer_is_cublas(winner);
    d->used_us = cublas ? d->rival_us : own;
    if (cublas) d->ratio = (struct interval){1, 1, 1};
    else if (w->ratio > 0) d->ratio = (struct interval){w->ratio, w->ratio_low, w->ratio_high};
    return st;
}

const char *decided_answer(const struct decided *d)
{
    return answer_is_cublas(&d->winner) ? "cublas" : d->winner.config_text;
}

/* ---- two of them ---- */

static struct interval over(const struct interval *b, const struct interval *a)
{
    if (!is_known(a) || !is_known(b)) return unknown;
    return (struct interval){b->value / a->value, b->low / a->high, b->high / a->low};
}

static bool holds_one(const struct interval *x)
{
    return x->low <= 1 && 1 <= x->high;
}

/* The same cuBLAS on the same GPU ran in both races. */
static bool same_rival(const struct db_winner *a, const struct db_winner *b)
{
    return a->rival[0] && strcmp(a->rival, b->rival) == 0 && a->cublas[0] &&
           strcmp(a->cublas, b->cublas) == 0 && strcmp(a->gpu.name, b->gpu.name) == 0;
}

static enum change_verdict judge(const struct change *c, bool drift_tells)
{
    if (!is_known(&c->used)) return CHANGE_UNMEASURED;
    if (holds_one(&c->used)) return CHANGE_NOISE;
    const bool moved = is_known(&c->rival) && !holds_one(&c->rival);
    if (drift_tells && moved && is_known(&c->ratio) && holds_one(&c->ratio)) return CHANGE_DRIFT;
    return c->used.value < 1 ? CHANGE_FASTER : CHANGE_SLOWER;
}

struct change change_of(const struct decided *a, const struct decided *b)
{
    struct change c = {CHANGE_ONLY_A, false, unknown, unknown, unknown};
    if (!a) c.verdict = CHANGE_ONLY_B;
    if (!a || !b) return c;
    c.other_winner = strcmp(decided_answer(a), decided_answer(b)) != 0;
    c.used = over(&b->used_us, &a->used_us);
    c.ratio = over(&b->ratio, &a->ratio);
    c.rival = over(&b->rival_us, &a->rival_us);
    const bool measured = !a->winner.base.predicted && !b->winner.base.predicted;
    c.verdict = measured ? judge(&c, same_rival(&a->winner, &b->winner)) : CHANGE_UNMEASURED;
    if (measured && a->winner.timing != b->winner.timing) c.verdict = CHANGE_TIMING;
    return c;
}

const char *change_name(enum change_verdict verdict)
{
    static const char *const names[CHANGE_VERDICTS] = {
        [CHANGE_FASTER] = "faster",    [CHANGE_SLOWER] = "slower",
        [CHANGE_NOISE] = "noise",      [CHANGE_TIMING] = "timed otherwise",
        [CHANGE_DRIFT] = "drift",      [CHANGE_UNMEASURED] = "not measured",
        [CHANGE_ONLY_A] = "only in A", [CHANGE_ONLY_B] = "only in B"};
    return names[verdict];
}
