#include "race.h"

#include "stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct runner {
    struct race_runner info;
    double block_us[RACE_ROUNDS_MAX]; /* by round; NAN: did not run */
    double score[RACE_ROUNDS_MAX];    /* log(block / anchor at that moment) */
    bool dropped, failed;
};

struct race {
    struct race_options options;
    int count;
    uint64_t random;
    int round; /* the one under way; all before it are complete */
    int at;    /* place in it: 0 the anchor, then order[0..length), then the anchor */
    int order[RACE_RUNNERS_MAX];
    int length;
    bool anchor_gone, done;
    double anchor_us[RACE_ROUNDS_MAX + 1]; /* [r] before round r, [r + 1] after it */
    struct runner runner[RACE_RUNNERS_MAX];
};

struct race_options race_defaults(void)
{
    return (struct race_options){.min_rounds = 8,
                                 .max_rounds = 30,
                                 .alpha = 0.05,
                                 .margin = 0.003,
                                 .tie = 0.001,
                                 .doubt = 0.005,
                                 .seed = 1};
}

static bool running(const struct runner *r)
{
    return !r->dropped && !r->failed;
}

static void shuffle_round(struct race *race)
{
    race->length = 0;
    for (int i = 0; i < race->count; i++)
        if (running(&race->runner[i])) race->order[race->length++] = i;
    for (int i = race->length - 1; i > 0; i--) {
        int j = (int)stats_random_below(&race->random, (uint64_t)i + 1), other = race->order[i];
        race->order[i] = race->order[j];
        race->order[j] = other;
    }
}

enum status race_start(const struct race_runner *runners, int count, const struct race_options *options,
                       struct race **race)
{
    struct race *r = calloc(1, sizeof *r);
    if (!r) return fail(E_MEMORY, "out of memory for a race of %d", count);
    r->options = *options;
    if (r->options.max_rounds > RACE_ROUNDS_MAX) r->options.max_rounds = RACE_ROUNDS_MAX;
    if (r->options.max_rounds < 1) r->options.max_rounds = 1;
    if (r->options.min_rounds > r->options.max_rounds) r->options.min_rounds = r->options.max_rounds;
    r->count = count < RACE_RUNNERS_MAX ? count : RACE_RUNNERS_MAX;
    r->random = options->seed;
    r->done = r->count < 1;
    for (int i = 0; i < r->count; i++) {
        r->runner[i].info = runners[i];
        for (int k = 0; k < RACE_ROUNDS_MAX; k++) r->runner[i].block_us[k] = r->runner[i].score[k] = NAN;
    }
    shuffle_round(r);
    *race = r;
    return OK;
}

int race_next(const struct race *race)
{
    if (race->done) return RACE_DONE;
    if (race->at == 0 || race->at > race->length) return RACE_ANCHOR;
    return race->order[race->at - 1];
}

/* Centre of a sample: the median of the means of all pairs (Hodges & Lehmann 1963). One block disturbed by
 * something else does not move it, and it wastes far less of good samples than the median. */
static double centre(const double *x, int count)
{
    double mean[RACE_ROUNDS_MAX * (RACE_ROUNDS_MAX + 1) / 2];
    size_t pairs = 0;
    for (int i = 0; i < count; i++)
        for (int j = i; j < count; j++) mean[pairs++] = (x[i] + x[j]) / 2;
    return stats_median(mean, pairs);
}

/* The numbers of complete rounds in which a runner ran: what it has of `values`, in order. */
static int gather(const struct race *race, const double *values, double out[RACE_ROUNDS_MAX])
{
    int count = 0;
    for (int k = 0; k < race->round; k++)
        if (!isnan(values[k])) out[count++] = values[k];
    return count;
}

/* Differences of score in the rounds that both ran. Positive: x is slower than y. */
static int differences(const struct race *race, int x, int y, double out[RACE_ROUNDS_MAX])
{
    double both[RACE_ROUNDS_MAX];
    for (int k = 0; k < race->round; k++) both[k] = race->runner[x].score[k] - race->runner[y].score[k];
    return gather(race, both, out);
}

/* The fastest runner: of those that have not failed, the lowest centre of scores. Those still running come
 * first; a dropped one counts only when all others have failed since. */
static int fastest(const struct race *race)
{
    int best = -1;
    double best_score = 0;
    for (int pass = 0; pass < 2 && best < 0; pass++)
        for (int i = 0; i < race->count; i++) {
            const struct runner *r = &race->runner[i];
            double scores[RACE_ROUNDS_MAX];
            int count = gather(race, r->score, scores);
            if (r->failed || r->dropped != (pass == 1) || count == 0) continue;
            double score = centre(scores, count);
            if (best >= 0 && score >= best_score) continue;
            best = i;
            best_score = score;
        }
    return best;
}

struct suspect {
    int runner;
    double p;
};

static int by_p(const void *x, const void *y)
{
    double a = ((const struct suspect *)x)->p, b = ((const struct suspect *)y)->p;
    return (a > b) - (a < b);
}

/* Drop those that are behind the fastest by more than the margin beyond doubt: a paired t test of the
 * differences against the margin, not against zero, because it is asked anew after every round; Holm's
 * correction (1979) for asking it of several runners. Not signed ranks: p of 5 rounds is at least 1/32, too
 * much for the correction if it is asked of two, and short races would drop nobody. */
static void drop_the_slow(struct race *race)
{
    int best = fastest(race), count = 0, tests = 0;
    if (best < 0) return;
    struct suspect suspect[RACE_RUNNERS_MAX];
    for (int i = 0; i < race->count; i++) {
        if (i == best || !running(&race->runner[i])) continue;
        tests++;
        double behind[RACE_ROUNDS_MAX];
        int n = differences(race, i, best, behind);
        if (stats_mean(behind, (size_t)n) > race->options.margin)
            suspect[count++] = (struct suspect){i, stats_t_test(behind, (size_t)n, race->options.margin)};
    }
    qsort(suspect, (size_t)count, sizeof *suspect, by_p);
    for (int i = 0; i < count && suspect[i].p <= race->options.alpha / (tests - i); i++)
        race->runner[suspect[i].runner].dropped = true;
}

/* Score the blocks of the round that has just ended. The anchor's time at a block is interpolated by its
 * place: blocks are of equal length. */
static void score_round(struct race *race)
{
    int k = race->round;
    for (int place = 0; place < race->length; place++) {
        struct runner *r = &race->runner[race->order[place]];
        double anchor = 1;
        if (!race->anchor_gone) {
            double share = (place + 1.0) / (race->length + 1.0);
            anchor = race->anchor_us[k] + share * (race->anchor_us[k + 1] - race->anchor_us[k]);
        }
        r->score[k] = log(r->block_us[k] / anchor); /* NAN if it failed in this round */
    }
}

static void end_round(struct race *race)
{
    score_round(race);
    race->round++;
    if (race->round >= race->options.min_rounds) drop_the_slow(race);
    int left = 0;
    for (int i = 0; i < race->count; i++) left += running(&race->runner[i]);
    if (left == 0 || race->round == race->options.max_rounds ||
        (left == 1 && race->round >= race->options.min_rounds)) {
        race->done = true;
        return;
    }
    shuffle_round(race);
    race->at = 1; /* the anchor that ended this round begins the next */
}

/* Scores of earlier rounds are no longer comparable with those to come: all become plain times. */
static void lose_anchor(struct race *race)
{
    race->anchor_gone = true;
    for (int i = 0; i < race->count; i++)
        for (int k = 0; k < race->round; k++) race->runner[i].score[k] = log(race->runner[i].block_us[k]);
}

static bool everyone_failed(const struct race *race)
{
    for (int i = 0; i < race->count; i++)
        if (!race->runner[i].failed) return false;
    return true;
}

void race_tell(struct race *race, double time_us)
{
    if (race->done) return;
    bool usable = isfinite(time_us) && time_us > 0;
    bool first = race->at == 0, last = race->at > race->length;
    if (first || last) {
        if (usable) race->anchor_us[race->round + last] = time_us;
        else lose_anchor(race);
        race->at++;
    } else {
        struct runner *r = &race->runner[race->order[race->at - 1]];
        if (usable) r->block_us[race->round] = time_us;
        r->failed = !usable;
        race->at++;
        if (everyone_failed(race)) race->done = true;
        last = race->at > race->length && race->anchor_gone;
    }
    if (last && !race->done) end_round(race);
}

void race_cut(struct race *race)
{
    race->done = true;
}

/* True if x should win a tie against y: less shared memory, then fewer registers, then the text. */
static bool preferred(const struct race_runner *x, const struct race_runner *y)
{
    if (x->smem_bytes != y->smem_bytes) return x->smem_bytes < y->smem_bytes;
    if (x->registers != y->registers) return x->registers < y->registers;
    return strcmp(x->text, y->text) < 0;
}

static int undecided(const struct race *race, bool *tied)
{
    int first = -1, left = 0;
    for (int i = 0; i < race->count; i++) {
        if (race->runner[i].failed) continue;
        if (first < 0) first = i;
        left++;
    }
    *tied = left > 1;
    return first;
}

/* True if x is proven more than `tie` slower than the fastest: by signed ranks, as a disturbed block must not
 * hide a difference, or because it was dropped (`margin` is larger). Fewer than 5 rounds prove nothing by
 * ranks. */
static bool proven_slower(const struct race *race, int x, int best, const double *behind, int count)
{
    const struct race_options *o = &race->options;
    if (race->runner[x].dropped && !race->runner[best].dropped) return true;
    return stats_signed_rank(behind, (size_t)count, o->tie) <= o->alpha;
}

static bool ties(const struct race *race, int x, int best)
{
    double behind[RACE_ROUNDS_MAX];
    const int count = differences(race, x, best, behind);
    if (count == 0) return false;
    const double middle = centre(behind, count);
    if (middle <= race->options.tie) return true;
    return middle <= race->options.doubt && !proven_slower(race, x, best, behind, count);
}

int race_winner(const struct race *race, bool *tied)
{
    int best = fastest(race);
    if (best < 0) return undecided(race, tied);
    int winner = best;
    *tied = false;
    for (int i = 0; i < race->count; i++) {
        if (i == best || race->runner[i].failed || !ties(race, i, best)) continue;
        *tied = true;
        if (preferred(&race->runner[i].info, &race->runner[winner].info)) winner = i;
    }
    return winner;
}

struct race_result race_result(const struct race *race, int runner)
{
    const struct runner *r = &race->runner[runner];
    double blocks[RACE_ROUNDS_MAX], scores[RACE_ROUNDS_MAX];
    int count = gather(race, r->block_us, blocks);
    struct race_result result = {.time_us = stats_median(blocks, (size_t)count),
                                 .ratio = NAN,
                                 .ratio_low = NAN,
                                 .ratio_high = NAN,
                                 .blocks = count,
                                 .dropped = r->dropped,
                                 .failed = r->failed};
    if (race->anchor_gone || gather(race, r->score, scores) == 0) return result;
    double middle = centre(scores, count), low, high;
    stats_median_interval(scores, (size_t)count, &low, &high);
    result.ratio = exp(-middle);
    result.ratio_low = exp(-fmax(high, middle));
    result.ratio_high = exp(-fmin(low, middle));
    return result;
}

double race_anchor_us(const struct race *race)
{
    return race->anchor_gone || race->round == 0 ? NAN
                                                 : stats_median(race->anchor_us, (size_t)race->round + 1);
}

int race_rounds(const struct race *race)
{
    return race->round;
}

int race_runners(const struct race *race)
{
    return race->count;
}

void race_free(struct race *race)
{
    free(race);
}
