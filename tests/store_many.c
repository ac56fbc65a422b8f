/* store_many.c — store_many FILE TRIALS PROBLEMS WINNERS [FIRST]: a database as large as years of tuning
 * would make it, by the code that stores what a tuner measures; times are invented. For measuring by hand
 * what its size costs (docs/results/host-database.md): ten million trials take about 10 minutes and 2.4 GB.
 *
 * The trials are of PROBLEMS problems from number FIRST (0) on, evenly, so that files with different FIRST
 * are shards of a suite; WINNERS of these problems have a winner each.
 */
#include "least_config.h"
#include "many_winners.h"
#include "store.h"

#include <inttypes.h>

#define COMMITTED_TOGETHER 100000

static void must(enum status st)
{
    if (!st) return;
    fprintf(stderr, "store_many: %s\n", status_text());
    exit(1);
}

/* Right for every problem here. */
static struct config winner_config(int64_t i)
{
    struct config config = least_config("simt");
    config_change(&config,
                  "BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=2 VA=4 VB=4 VC=4 UNROLL=16 STORE_AT=8");
    config_set(&config, "SPLIT_K", 1 + (int)(i % 50));
    return config;
}

static void put_winners(struct db *db, int64_t run, int64_t first, int64_t count)
{
    for (int64_t i = first; i < first + count; i++) {
        const struct config config = winner_config(i);
        const struct db_winner w = many_winner(i, &config);
        must(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
    }
}

static void attempt(struct db *db, int64_t run, int64_t problem, int64_t config, int64_t *id)
{
    struct binder b = db_bind_ints(db,
                                   "INSERT INTO attempts (run_id, problem_id, config_id, started_us) "
                                   "VALUES (?1, ?2, ?3, ?4)",
                                   (int64_t[]){run, problem, config, db_now_us()}, 4);
    must(db_run(db, &b, NULL, "attempt"));
    *id = sqlite3_last_insert_rowid(db->handle);
}

/* From 10 us on; one in ten fails, in each way in turn. */
static struct outcome some_outcome(int64_t i, int64_t each)
{
    static const enum verdict failures[] = {VERDICT_WRONG,   VERDICT_UNBUILDABLE, VERDICT_SPILLS,
                                            VERDICT_REFUSED, VERDICT_CRASHED,     VERDICT_HUNG};
    if (i % 10 == 9) return outcome_failed(failures[i / 10 % 6], "made to fail");
    return store_outcome(10 + (double)((i * 7919) % each));
}

static void put_trials(struct db *db, int64_t run, int64_t first, int64_t count, int64_t problems)
{
    const int64_t each = count / problems;
    int64_t *configs = calloc((size_t)each, sizeof *configs), id;
    if (!configs) {
        fprintf(stderr, "store_many: out of memory\n");
        exit(1);
    }
    must(db_begin(db));
    for (int64_t i = 0; i < each; i++) {
        const struct config config = store_config((int)(first + i));
        const struct problem p = many_problem(0);
        must(db_add_config(db, &config, &p, store_context().gpu.arch, &configs[i]));
    }
    for (int64_t i = 0, problem = 0; i < each * problems; i++) {
        const struct problem p = many_problem(first + i / each);
        if (i % each == 0) must(db_add_problem(db, &p, &problem));
        const struct outcome o = some_outcome(i, each);
        attempt(db, run, problem, configs[i % each], &id);
        must(db_insert_trial(db, id, &o, 0));
        if ((i + 1) % COMMITTED_TOGETHER && i + 1 < each * problems) continue;
        must(db_exec(db, "DELETE FROM attempts", "end attempts"));
        must(db_end(db, OK));
        if (i + 1 < each * problems) must(db_begin(db));
        printf("\r%" PRId64 " trials", i + 1);
        fflush(stdout);
    }
    printf("\n");
    free(configs);
}

int main(int argc, char **argv)
{
    int64_t numbers[4] = {0}; /* as in the usage */
    for (int i = 2; i < argc && i < 6; i++) numbers[i - 2] = strtoll(argv[i], NULL, 10);
    const int64_t trials = numbers[0], problems = numbers[1], winners = numbers[2], first = numbers[3];
    if (argc < 5 || argc > 6 || problems < 1 || trials < problems || trials / problems > INT_MAX ||
        winners < 0 || first < 0 || first > INT_MAX) {
        fprintf(stderr, "usage: store_many FILE TRIALS PROBLEMS WINNERS [FIRST]\n");
        return 2;
    }
    struct db *db;
    must(db_open(argv[1], DB_WRITE, &db));
    must(db_exec(db, "PRAGMA synchronous = OFF", "write without waiting"));
    must(db_exec(db, "PRAGMA cache_size = -2000000", "use memory"));
    struct db_context context = store_context();
    int64_t run;
    must(db_run_start(db, &context, "store_many", 1, &run));
    put_winners(db, run, first, winners);
    put_trials(db, run, first, trials, problems);
    must(db_run_end(db, run, "finished"));
    db_close(db);
    return 0;
}
