#include "cluster.h"

#include "print.h"
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct column columns[] = {
    {"shard", "shard", COLUMN_NUMBER | COLUMN_KEY, 0},
    {"state", "state", COLUMN_TEXT | COLUMN_KEY, 0},
    {"problems", "problems", COLUMN_NUMBER | COLUMN_RANK(1), 0},
    {"done", "done", COLUMN_NUMBER, 0},
    {"known", "of these known", COLUMN_NUMBER | COLUMN_RANK(3), 0},
    {"without", "without a winner", COLUMN_NUMBER | COLUMN_RANK(2), 0},
    {"left_out", NULL, COLUMN_NUMBER, 0},
    {"trials", "trials", COLUMN_NUMBER | COLUMN_RANK(2), 0},
    {"left_s", "left (s)", COLUMN_NUMBER | COLUMN_RANK(1), 0},
    {"host", "node", COLUMN_TEXT | COLUMN_RANK(1), 0},
    {"gpu", "GPU", COLUMN_TEXT | COLUMN_RANK(2) | COLUMN_COMMON, 0},
    {"clock_mhz", "clock (MHz)", COLUMN_NUMBER | COLUMN_RANK(3), 0},
    {"why", "why", COLUMN_TEXT | COLUMN_LAST | COLUMN_RANK(2), 0},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

static double known(const struct cluster_shard *s, int64_t value)
{
    return s->problems < 0 ? (double)NAN : (double)value;
}

static double left_s(const struct cluster_shard *s)
{
    if (s->state != SHARD_RUNNING || s->began == 0 || s->budget_s <= 0) return (double)NAN;
    return fmax(0, s->budget_s - (double)(time(NULL) - s->began));
}

static void add_row(struct table *table, int number, const struct cluster_shard *s)
{
    int slowest = 0;
    for (int i = 0; i < s->gpu_count; i++)
        if (slowest == 0 || s->gpus[i].clock_mhz < slowest) slowest = s->gpus[i].clock_mhz;
    table_number(table, number);
    table_text(table, shard_state_name(s->state));
    table_number(table, known(s, s->problems));
    table_number(table, known(s, s->done));
    table_number(table, known(s, s->known));
    table_number(table, known(s, s->without));
    table_number(table, known(s, s->left_out));
    table_number(table, known(s, s->trials));
    table_number(table, left_s(s));
    table_text(table, table_said(s->host));
    table_text(table, s->gpu_count ? s->gpus[0].name : NULL);
    table_number(table, table_known(slowest));
    table_text(table, table_said(s->why));
}

static void say_sums(const struct cluster_plan *plan, const struct cluster_view *view)
{
    int states[SHARD_DONE + 1] = {0}, due = 0;
    int64_t done = 0, without = 0, trials = 0;
    char takes[32], unsent[32] = "";
    for (int i = 0; i < view->count; i++) {
        const struct cluster_shard *s = &view->shards[i];
        states[s->state]++;
        due += shard_is_due(s);
        done += s->done;
        without += s->without;
        trials += s->trials;
    }
    if (states[SHARD_UNSENT]) snprintf(unsent, sizeof unsent, ", %d not sent", states[SHARD_UNSENT]);
    print_end(stdout);
    print_line(
        stdout,
        "%d shard%s: %d done, %d running, %d waiting, %d interrupted, %d failed, %d missing%s; %" PRId64
        " of %" PRId64 " problems done, %" PRId64 " without a winner; %" PRId64 " trials",
        view->count, PRINT_S(view->count), states[SHARD_DONE], states[SHARD_RUNNING], states[SHARD_WAITING],
        states[SHARD_INTERRUPTED], states[SHARD_FAILED], states[SHARD_MISSING], unsent, done, plan->problems,
        without, trials);
    const double left = view_left_s(view);
    if (states[SHARD_RUNNING] + states[SHARD_WAITING] > 0) {
        format_duration(isnan(left) ? 0 : left, takes);
        if (isnan(left)) print_line(stdout, "time left: unknown, none of those that wait has begun");
        else print_line(stdout, "time left: about %s", takes);
    }
    if (due)
        print_line(stdout, "%d to be sent%s: tune cluster slurm --dir %s --resume --submit", due,
                   plan->job_count ? " again" : "", plan->dir);
}

enum status show_shards(const struct cluster_plan *plan, const struct cluster_view *view,
                        enum table_format format)
{
    struct table *table = table_new(columns, COLUMN_COUNT);
    if (!table) return fail(E_MEMORY, "out of memory for the table of shards");
    for (int i = 0; i < view->count; i++) add_row(table, i, &view->shards[i]);
    enum status st = table_print(table, format, stdout);
    table_free(table);
    if (!st && format == TABLE_TEXT) say_sums(plan, view);
    if (!st && view->no_queue)
        print_line(stderr, "from the files alone, since the queue cannot be asked: %s", view->no_queue);
    return st;
}

static void say_slow(void *self, int shard, const struct cluster_shard *s, const struct cluster_gpu *gpu,
                     double usual_mhz)
{
    (void)self;
    print_line(stderr,
               "node %s (shard %d): its %s (%s) ran at %d MHz, %.0f %% of the %.0f MHz of %s: look at its "
               "power limit, "
               "cooling and other users, and take its times with care",
               s->host, shard, gpu->name, gpu->uuid, gpu->clock_mhz, 100 * gpu->clock_mhz / usual_mhz,
               usual_mhz, usual_mhz == s->boost_mhz ? "its kind" : "others of its kind");
}

void show_slow_gpus(const struct cluster_view *view)
{
    view_slow_gpus(view, say_slow, NULL);
}
