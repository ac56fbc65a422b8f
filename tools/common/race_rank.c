#include "race_rank.h"

#include "stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How the last block of a runner was timed: times of another race of the same decision do not compare. */
enum call_timing race_timing(const struct db_evidence *e, int runner)
{
    enum call_timing timing = TIMING_REPEAT;
    for (int i = 0; i < e->sample_count; i++)
        if (e->samples[i].runner == runner) timing = e->samples[i].timing;
    return timing;
}

/* Mean time of a runner's good blocks in a round; NAN if it had none. cuBLAS has two a round. */
static double block_us(const struct db_evidence *e, int runner, int round)
{
    double sum = 0;
    int count = 0;
    for (int i = 0; i < e->sample_count; i++) {
        const struct db_race_sample *s = &e->samples[i];
        if (s->runner != runner || s->round != round || !isfinite(s->time_us) || s->time_us <= 0) continue;
        sum += s->time_us;
        count++;
    }
    return count ? sum / count : (double)NAN;
}

static enum call_timing timing_of(const struct db_evidence *e, int round)
{
    for (int i = 0; i < e->sample_count; i++)
        if (e->samples[i].round == round) return e->samples[i].timing;
    return TIMING_REPEAT;
}

static int round_count(const struct db_evidence *e)
{
    int rounds = 0;
    for (int i = 0; i < e->sample_count; i++)
        if (e->samples[i].round >= rounds) rounds = e->samples[i].round + 1;
    return rounds <= 4096 ? rounds : 4096; /* a race has 30 */
}

static void fill(const struct db_evidence *e, const double *winner_us, int rounds, double *own, double *logs,
                 struct ranked *r)
{
    size_t blocks = 0, pairs = 0;
    const enum call_timing timing = race_timing(e, r->runner);
    for (int i = 0; i < e->sample_count; i++)
        if (e->samples[i].runner == r->runner && !isfinite(e->samples[i].time_us)) r->failed = true;
    for (int round = 0; round < rounds; round++) {
        double us = block_us(e, r->runner, round);
        if (isnan(us) || timing_of(e, round) != timing) continue;
        own[blocks++] = us;
        if (!isnan(winner_us[round])) logs[pairs++] = log(us / winner_us[round]);
    }
    r->blocks = (int)blocks;
    r->median_us = stats_median(own, blocks);
    r->behind = r->behind_low = r->behind_high = (double)NAN;
    if (pairs == 0) return;
    double low, high;
    stats_median_interval(logs, pairs, &low, &high);
    r->behind = expm1(stats_median(logs, pairs));
    r->behind_low = expm1(low);
    r->behind_high = expm1(high);
}

/* Failed ones last, then by how far behind; those that never met the winner after those that did. */
static int by_rank(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    if (a->failed != b->failed) return a->failed - b->failed;
    if (isnan(a->behind) || isnan(b->behind)) return isnan(a->behind) - isnan(b->behind);
    return (a->behind > b->behind) - (a->behind < b->behind);
}

enum status race_rank(const struct db_evidence *e, const char *winner, struct ranked **ranked, int *count)
{
    int rounds = round_count(e), total = 0, winner_at = -1;
    struct ranked *list = calloc((size_t)e->runner_count + 1, sizeof *list);
    double *scratch = calloc(3 * (size_t)rounds + 1, sizeof *scratch);
    if (!list || !scratch) {
        free(list);
        free(scratch);
        return fail(E_MEMORY, "out of memory while ranking a race");
    }
    for (int runner = -1; runner < e->runner_count; runner++) {
        bool ran = false;
        for (int i = 0; !ran && i < e->sample_count; i++) ran = e->samples[i].runner == runner;
        if (!ran) continue;
        list[total].runner = runner;
        list[total].text = runner < 0 ? "cublas" : e->runner_text[runner];
        if (strcmp(list[total].text, winner) == 0) winner_at = total;
        total++;
    }
    double *winner_us = scratch, *own = scratch + rounds, *logs = scratch + 2 * rounds;
    for (int round = 0; round < rounds; round++)
        winner_us[round] = winner_at >= 0 ? block_us(e, list[winner_at].runner, round) : (double)NAN;
    for (int i = 0; i < total; i++) fill(e, winner_us, rounds, own, logs, &list[i]);
    if (winner_at > 0) { /* first, also where a tie was broken in favour of a slower one */
        struct ranked first = list[winner_at];
        list[winner_at] = list[0];
        list[0] = first;
    }
    if (winner_at >= 0 && total > 1) qsort(list + 1, (size_t)total - 1, sizeof *list, by_rank);
    else if (total > 1) qsort(list, (size_t)total, sizeof *list, by_rank);
    free(scratch);
    *ranked = list;
    *count = total;
    return OK;
}
