/* replay_main.c — the program `replay`: search strategies on recorded spaces, without a GPU. */
#include "command_line.h"
#include "print.h"
#include "replay.h"
#include "replay_from.h"
#include "replay_order.h"
#include "search.h"
#include "stats.h"
#include "table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_MAX = 16, SEEDS_MAX = 100000, PENDING_MAX = 4096, JOBS_MAX = 4096 };
enum { COLUMNS = 19, LEVELS_AT = 6, LEVELS = 9 /* columns of the levels */ };

struct replay {
    struct command_words paths;
    char *strategy[LIST_MAX];
    int strategies;
    size_t pending[LIST_MAX];
    int pendings;
    int64_t seeds, limit, at, jobs;
    double noise_percent;
    bool to_end, order;
    const char *from;
    int64_t from_trials;         /* of each of its spaces; 0: all */
    struct replay_spaces others; /* of that file */
    enum table_format format;
    struct column columns[COLUMNS];
    struct table *table;
};

static const char text[] =
    "Replay search strategies on recorded spaces, without a GPU.\vA recorded space is a file of measured "
    "configurations: a cache file of Kernel Tuner, T4 of any tuner, or our own trials (tune export --t4), "
    "gzip-compressed or not, complete or truncated. A strategy proposes configurations from it and gets "
    "their recorded times. The table shows the number of evaluations until one reached 90, 95 and 99 % of "
    "the speed of the best: the median over all seeds, with quartiles. A level that is not reached within "
    "--max-trials is empty. host (us) is the strategy's own processor time per proposal.\n"
    "\n"
    "--pending P keeps P proposals in flight, as when compilers work ahead of the GPU: a strategy then "
    "decides without the last P - 1 results. Nothing is known at the start: there are no hints from similar "
    "problems. Our own trials are ranked by the model, as in tune, with one space per problem and GPU; "
    "configurations of other kernels are in a different random order for each seed. Failed configurations "
    "are candidates, too, and the strategy is told of the failure. Entries without time and reason are left "
    "out; if a configuration occurs twice, the last counts.\n"
    "\n"
    "--to-end continues until the strategy expects no more gain, as tune does without --budget, and adds the "
    "number of trials (end) and how close to the best it came (reached: the median, and the worst seed). "
    "random and exhaustive have no expectation, so their columns stay empty.\n"
    "\n"
    "--jobs N counts seconds instead of evaluations: N compilers of 0.56 to 0.88 s a kernel and trials of 13 "
    "ms, as measured on an H200, from when the GPU is ready; the strategy decides as in tune, whatever "
    "--pending says.\n"
    "\n"
    "--at N shows in the same columns what was reached after N evaluations, however early the levels were.\n"
    "\n"
    "--noise PERCENT makes the times vary that a strategy is told, as measured ones do; what it has found is "
    "judged by the recorded times. For each row a line says how many searches evaluated other candidates "
    "when repeated with the same seed and other noise.\n"
    "\n"
    "--from FILE begins with what is learned from the spaces of that file, as tune learns from the trials of "
    "other problems in the database: of our own trials from those of other problems of the same type on the "
    "same GPU, of other kernels from all that have the same parameters. The candidates are then in the "
    "corrected order for every seed. --from-trials N takes only what a search of N trials (gp, seed 0) tried "
    "there.\n"
    "\n"
    "--order shows, instead of searches, the rank correlation of predicted and recorded times and how close "
    "to the best the first candidates are: what a prediction without a GPU is worth.\n"
    "\n"
    "A hundred seeds on 18,000 configurations take gp about ten seconds.\n"
    "\n"
    "Examples:\n"
    "  replay --strategy gp,random --pending 1,8,16,32 cache/*.json.gz\n"
    "  tune export --t4 -o trials.json && replay trials.json --format csv\n"
    "  replay --order --from other.json trials.json\n"
    "\n"
    "Exit status: 0 done; 2 wrong command line; 3 a file contains nothing to search, or the strategy is "
    "unknown; 7 a file cannot be read.";

/* ---- command line ---- */

static enum status set_strategies(void *self, const struct command_option *option, char *value)
{
    struct replay *r = self;
    (void)option;
    r->strategies = 0;
    for (char *rest = value, *name; (name = strsep(&rest, ","));) {
        const struct search_strategy *found;
        enum status st = search_find(name, &found);
        if (st) return st;
        if (r->strategies == LIST_MAX) return fail(E_USAGE, "--strategy takes at most %d names", LIST_MAX);
        r->strategy[r->strategies++] = name;
    }
    return OK;
}

static enum status set_pending(void *self, const struct command_option *option, char *value)
{
    struct replay *r = self;
    enum status st = OK;
    r->pendings = 0;
    for (char *rest = value, *word; !st && (word = strsep(&rest, ","));) {
        int64_t pending = 0;
        st = command_whole(option->name, word, 1, PENDING_MAX, &pending);
        if (!st && r->pendings == LIST_MAX)
            st = fail(E_USAGE, "--pending takes at most %d numbers", LIST_MAX);
        if (!st) r->pending[r->pendings++] = (size_t)pending;
    }
    return st;
}

static enum status set_noise(void *self, const struct command_option *option, char *value)
{
    struct replay *r = self;
    char *end;
    r->noise_percent = strtod(value, &end);
    if (end == value || *end || !(r->noise_percent >= 0 && r->noise_percent <= 10))
        return fail(E_USAGE, "--%s '%.40s' is not a number of per cent in 0..10", option->name, value);
    return OK;
}

static enum status check_options(void *self)
{
    const struct replay *r = self;
    if (r->paths.count == 0) return fail(E_USAGE, "name a file of recorded results");
    if (r->jobs && (r->at || r->to_end || r->noise_percent > 0))
        return fail(E_USAGE, "--jobs counts seconds, and goes with none of --at, --to-end and --noise");
    if (r->from_trials && !r->from)
        return fail(E_USAGE, "--from-trials says how much of --from FILE is taken: name that file");
    return OK;
}

static const struct command_option options[] = {
    {"strategy", 0, "NAME[,NAME...]", "which (gp); tune help tune lists them", OPTION_CALL(set_strategies)},
    {"pending", 0, "P[,P...]", "proposals in flight (1)", OPTION_CALL(set_pending)},
    {"jobs", 0, "N", "count the seconds of a search with N compilers (evaluations)",
     OPTION_WHOLE(struct replay, jobs, 1, JOBS_MAX)},
    {"seeds", 0, "N", "searches per row, with seeds 0 to N - 1 (100)",
     OPTION_WHOLE(struct replay, seeds, 1, SEEDS_MAX)},
    {"max-trials", 0, "N", "most evaluations of a search (1000)",
     OPTION_WHOLE(struct replay, limit, 1, INT32_MAX)},
    {"to-end", 0, NULL, "continue until the strategy expects no more gain",
     OPTION_FLAG(struct replay, to_end)},
    {"at", 0, "N", "continue until N evaluations and show what was reached",
     OPTION_WHOLE(struct replay, at, 1, INT32_MAX)},
    {"noise", 0, "PERCENT", "standard deviation of the times that a strategy is told (0)",
     OPTION_CALL(set_noise)},
    {.name = "from",
     .value = "FILE",
     .about = "begin with what the trials of this file teach",
     OPTION_TEXT(struct replay, from)},
    {.name = "from-trials",
     .value = "N",
     .about = "of each of its spaces only those of a search of N trials (all)",
     OPTION_WHOLE(struct replay, from_trials, 1, INT32_MAX)},
    {.name = "order",
     .about = "show how good the order before the first trial is, without a search",
     OPTION_FLAG(struct replay, order)},
    OPTION_ROWS_FORMAT(struct replay, format)};

/* ---- rows ---- */

/* Of each share the quartiles. */
static const struct column columns[COLUMNS] = {
    {"space", "space", COLUMN_TEXT | COLUMN_KEY | COLUMN_COMMON, 0},
    {"candidates", "candidates", COLUMN_NUMBER | COLUMN_COMMON | COLUMN_RANK(3), 0},
    {"failed", "failed", COLUMN_NUMBER | COLUMN_COMMON | COLUMN_RANK(4), 0},
    {"strategy", "strategy", COLUMN_TEXT | COLUMN_KEY, 0},
    {"pending", "pending", COLUMN_NUMBER | COLUMN_KEY, 0},
    {"seeds", "seeds", COLUMN_NUMBER | COLUMN_COMMON | COLUMN_RANK(3), 0},
    {"to_90", "to 90 %", COLUMN_NUMBER, 0},
    {"to_90_low", "1/4", COLUMN_NUMBER | COLUMN_RANK(2), 0},
    {"to_90_high", "3/4", COLUMN_NUMBER | COLUMN_RANK(2), 0},
    {"to_95", "to 95 %", COLUMN_NUMBER, 0},
    {"to_95_low", "1/4", COLUMN_NUMBER | COLUMN_RANK(1), 0},
    {"to_95_high", "3/4", COLUMN_NUMBER | COLUMN_RANK(1), 0},
    {"to_99", "to 99 %", COLUMN_NUMBER, 0},
    {"to_99_low", "1/4", COLUMN_NUMBER | COLUMN_RANK(1), 0},
    {"to_99_high", "3/4", COLUMN_NUMBER | COLUMN_RANK(1), 0},
    {"end", "end", COLUMN_NUMBER, 0},
    {"reached", "reached", COLUMN_NUMBER, 4},
    {"reached_worst", "worst", COLUMN_NUMBER, 4},
    {"host_us", "host (us)", COLUMN_NUMBER | COLUMN_RANK(3), 0},
};

static const struct column order_columns[] = {
    {"space", "space", COLUMN_TEXT | COLUMN_KEY, 0},
    {"candidates", "candidates", COLUMN_NUMBER | COLUMN_RANK(2), 0},
    {"correlation", "rank correlation", COLUMN_NUMBER, 3},
    {"first", "first", COLUMN_NUMBER, 4},
    {"first_8", "best of 8", COLUMN_NUMBER, 4},
    {"first_64", "best of 64", COLUMN_NUMBER, 4},
};

/* Seconds have decimals. */
static struct table *open_table(struct replay *r)
{
    if (r->order) return table_new(order_columns, sizeof order_columns / sizeof *order_columns);
    memcpy(r->columns, columns, sizeof columns);
    for (int i = LEVELS_AT; r->jobs && i < LEVELS_AT + LEVELS; i++) r->columns[i].decimals = 2;
    return table_new(r->columns, COLUMNS);
}

#define NEVER 1e18 /* evaluations of a search that did not get there: more than any other */

static double quantile(const double *evaluations, size_t count, double q)
{
    const double value = stats_quantile(evaluations, count, q);
    return value <= INT32_MAX ? value : (double)NAN;
}

/* What all seeds needed, a row of them for each share; and how they ended. */
struct sums {
    double *needed, *ended, *reached, *host_us;
};

static enum status search_all(struct replay *r, const struct replay_space *space, const char *strategy,
                              size_t pending, struct sums *sums)
{
    const size_t seeds = (size_t)r->seeds;
    size_t others = 0;
    for (size_t seed = 0; seed < seeds; seed++) {
        struct replay_run run, again;
        struct replay_options o = {.pending = pending,
                                   .limit = (size_t)(r->at ? r->at : r->limit),
                                   .to_end = r->to_end,
                                   .at = (size_t)r->at,
                                   .noise = 0.01 * r->noise_percent,
                                   .noise_seed = seed,
                                   .compilers = (int)r->jobs,
                                   .clock_seed = seed};
        enum status st = replay_search(space, strategy, seed, &o, &run);
        if (st) return st;
        if (o.noise > 0) {
            o.noise_seed = seed + seeds;
            if ((st = replay_search(space, strategy, seed, &o, &again))) return st;
            others += again.path != run.path;
        }
        for (int s = 0; s < REPLAY_SHARES; s++)
            sums->needed[(size_t)s * seeds + seed] = fmin(run.evaluations[s], NEVER);
        sums->ended[seed] = fmin(run.ended, NEVER);
        sums->reached[seed] = isfinite(run.ended) ? run.reached : 1;
        sums->host_us[seed] = run.host_us;
        if (run.note[0]) print_line(stderr, "replay: %s, seed %zu: %s", strategy, seed, run.note);
    }
    if (r->noise_percent > 0)
        print_line(stderr, "replay: %s, pending %zu: %zu of %zu searches evaluate others with other noise",
                   strategy, pending, others, seeds);
    return OK;
}

static void show_row(struct replay *r, const struct replay_space *space, const char *strategy, size_t pending,
                     const struct sums *sums)
{
    const size_t seeds = (size_t)r->seeds;
    table_text(r->table, space->name);
    table_number(r->table, (double)space->count);
    table_number(r->table, (double)space->failed);
    table_text(r->table, strategy);
    table_number(r->table, r->jobs ? (double)NAN : (double)pending);
    table_number(r->table, (double)seeds);
    for (int s = 0; s < REPLAY_SHARES; s++) {
        const double *of = sums->needed + (size_t)s * seeds;
        table_number(r->table, quantile(of, seeds, 0.5));
        table_number(r->table, quantile(of, seeds, 0.25));
        table_number(r->table, quantile(of, seeds, 0.75));
    }
    const double end = r->to_end || r->at > 0 ? quantile(sums->ended, seeds, 0.5) : (double)NAN;
    table_number(r->table, end);
    table_number(r->table, isnan(end) ? end : stats_median(sums->reached, seeds));
    table_number(r->table, isnan(end) ? end : stats_quantile(sums->reached, seeds, 0));
    table_number(r->table, r->jobs ? (double)NAN : stats_median(sums->host_us, seeds));
}

static enum status add_row(struct replay *r, const struct replay_space *space, const char *strategy,
                           size_t pending)
{
    const size_t seeds = (size_t)r->seeds;
    double *all = malloc((REPLAY_SHARES + 3) * seeds * sizeof *all);
    if (!all) return fail(E_MEMORY, "out of memory for %zu searches", seeds);
    struct sums sums = {.needed = all};
    sums.ended = all + REPLAY_SHARES * seeds;
    sums.reached = sums.ended + seeds;
    sums.host_us = sums.reached + seeds;
    enum status st = search_all(r, space, strategy, pending, &sums);
    if (!st) show_row(r, space, strategy, pending, &sums);
    free(all);
    return st;
}

/* ---- the order before the first trial ---- */

static enum status add_order(struct replay *r, const struct replay_space *space)
{
    struct replay_order order;
    enum status st = replay_order(space, &order);
    if (st) return st;
    table_text(r->table, space->name);
    table_number(r->table, (double)space->count);
    table_number(r->table, order.correlation);
    for (int i = 0; i < REPLAY_FIRSTS; i++) table_number(r->table, order.reached[i]);
    return OK;
}

/* ---- files ---- */

static void say(const char *path, const struct replay_spaces *spaces)
{
    if (spaces->repeated)
        print_line(stderr, "replay: %s: left out, for the same configuration comes again: %" PRId64, path,
                   spaces->repeated);
    if (spaces->left_out)
        print_line(stderr, "replay: %s: left out, for there is no time: %" PRId64, path, spaces->left_out);
    if (spaces->cut) print_line(stderr, "replay: %s ends in the middle; what is there is used", path);
}

static enum status read_others(struct replay *r)
{
    enum status st = replay_read(r->from, &r->others);
    if (st) return st;
    say(r->from, &r->others);
    for (size_t i = 0; i < r->others.count && r->from_trials && !st; i++)
        st = replay_shorten(&r->others.space[i], (size_t)r->from_trials);
    return st;
}

static enum status teach(const struct replay *r, struct replay_spaces *spaces, size_t number)
{
    struct prior_used used;
    enum status st = replay_teach(spaces, number, &r->others, &used);
    if (!st && used.trials)
        print_line(stderr, "replay: %s: begins with what %zu trials of other problems (%zu) teach",
                   spaces->space[number].name, used.trials, used.problems);
    else if (!st) print_line(stderr, "replay: %s: %s teaches nothing", spaces->space[number].name, r->from);
    return st;
}

static enum status replay_file(struct replay *r, const char *path)
{
    struct replay_spaces spaces;
    enum status st = replay_read(path, &spaces);
    if (st) return st;
    say(path, &spaces);
    for (size_t i = 0; i < spaces.count && !st && r->from; i++) st = teach(r, &spaces, i);
    for (size_t i = 0; i < spaces.count && !st && r->order; i++) st = add_order(r, &spaces.space[i]);
    for (size_t i = 0; i < spaces.count && !r->order; i++)
        for (int s = 0; s < r->strategies; s++)
            for (int p = 0; p < r->pendings && !st; p++)
                st = add_row(r, &spaces.space[i], r->strategy[s], r->pending[p]);
    replay_free(&spaces);
    return st;
}

static enum status replay_all(int argc, char **argv)
{
    static const struct command_line line = {.options = options,
                                             .option_count = sizeof options / sizeof *options,
                                             .about = text,
                                             .arguments = "FILE...",
                                             .words = offsetof(struct replay, paths),
                                             .check = check_options};
    struct replay r = {
        .strategy = {"gp"}, .strategies = 1, .pending = {1}, .pendings = 1, .seeds = 100, .limit = 1000};
    enum status st = command_line_read(&line, argc, argv, &r);
    if (!st) {
        r.table = open_table(&r);
        if (!r.table) st = fail(E_MEMORY, "out of memory");
    }
    if (!st && r.from) st = read_others(&r);
    for (int i = 0; i < r.paths.count && !st; i++) st = replay_file(&r, r.paths.at[i]);
    if (!st) st = table_print(r.table, r.format, stdout);
    table_free(r.table);
    replay_free(&r.others);
    return st;
}

int main(int argc, char **argv)
{
    command_version = "replay (gemmtune)";
    argv[0] = (char[]){"replay"}; /* as messages name it */
    enum status st = replay_all(argc, argv);
    if (!st && (fflush(stdout) || ferror(stdout))) st = fail(E_IO, "cannot write to standard output");
    if (st && st != E_HELPED) print_line(stderr, "replay: %s", status_text());
    return status_exit_code(st);
}
