/* The main job from command line to stored winner, with fake children: no GPU, no compiler. Each run is a
 * process of its own, as it will be, so that it can be killed.
 */
#include "unit.h"

#include "clock.h"
#include "commands.h"
#include "db.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPACE  GT_SOURCE_DIR "/tests/fake/space.conf"
#define LEGAL  256
#define SHAPE  "1024x1024x1024"
#define SHAPE2 "512x512x512"

static char folder[64];

static char *in_folder(const char *name)
{
    static char path[8][256];
    static int turn;
    char *p = path[turn++ % 8];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0) abort();
}

static int fresh(void **state)
{
    (void)state;
    /* In memory where there is such a place: each trial is synced to the disk twice. */
    snprintf(folder, sizeof folder, "%s/gt_job_XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder)) return -1;
    setenv("FAKE_LOG", in_folder("log"), 1);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    remove_folder();
    static const char *const variables[] = {
        "FAKE_TRIAL_MS",  "FAKE_BLOCK_MS",   "FAKE_COMPILE_MS",    "FAKE_PREPARE_MS",  "FAKE_DEVICES",
        "FAKE_CRASH",     "FAKE_HANG",       "FAKE_GARBAGE",       "FAKE_WRONG",       "FAKE_CRASH_ONCE",
        "FAKE_REFUSE",    "FAKE_DEAD_GPU",   "FAKE_NO_NVRTC",      "FAKE_UNBUILDABLE", "FAKE_SPILLS",
        "FAKE_NO_CUBLAS", "FAKE_LOST_CUBIN", "FAKE_COMPILER_CRASH"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
    return 0;
}

/* ---- running it ---- */

static void redirect(const char *name, int to, int flags)
{
    int fd = open(in_folder(name), O_WRONLY | O_CREAT | flags, 0600);
    if (fd < 0 || dup2(fd, to) < 0) _exit(99);
}

/* Words separated by blanks are added to what all runs share. */
static pid_t start(const char *words)
{
    pid_t pid = fork();
    if (pid != 0) return pid;
    char copy[1024],
        *argv[48] = {(char[]){"tune tune"}, (char[]){"--space"}, (char[]){SPACE},    (char[]){"--db"},
                     in_folder("t.db"),     (char[]){"--cache"}, in_folder("cache"), (char[]){"--format"},
                     (char[]){"json"},      (char[]){"--jobs"},  (char[]){"2"}};
    int argc = 11;
    snprintf(copy, sizeof copy, "%s", words);
    char *rest = copy;
    for (char *word; argc < 47 && (word = strtok_r(rest, " ", &rest));) argv[argc++] = word;
    redirect("out", STDOUT_FILENO, O_TRUNC);
    redirect("err", STDERR_FILENO, O_TRUNC);
    enum status st = cmd_tune(argc, argv);
    fflush(stdout);
    if (st) fprintf(stderr, "tune: %s\n", status_text());
    fflush(stderr);
    exit(status_exit_code(st)); /* with the leak check of a sanitized build */
}

static int wait_exit(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static const char *read_text(const char *name)
{
    static char text[1 << 16];
    FILE *f = fopen(in_folder(name), "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = '\0';
    return text;
}

static int tune(const char *words)
{
    int code = wait_exit(start(words));
    if (code == 99 || code < 0 || strstr(read_text("err"), "Sanitizer")) fail_msg("%s", read_text("err"));
    return code;
}

#define assert_said(part)                                                                                    \
    do {                                                                                                     \
        if (!strstr(read_text("err"), (part))) fail_msg("'%s' was not said:\n%s", (part), read_text("err")); \
    } while (0)

/* ---- looking at what it left ---- */

static struct db *open_db(void)
{
    struct db *db = NULL;
    assert_ok(db_open(in_folder("t.db"), DB_READ, &db));
    return db;
}

static bool keep_winner(void *self, const struct db_winner *winner)
{
    *(struct db_winner *)self = *winner;
    return false;
}

/* config_text is "" if there is none. */
static struct db_winner winner_of(const char *shape)
{
    struct db_winner winner = {.time_us = 0};
    struct problem problem;
    assert_ok(problem_parse(shape, &problem));
    struct db *db = open_db();
    struct db_filter filter = {.problem = &problem};
    enum status st = db_winners(db, &filter, NULL, keep_winner, &winner);
    assert_true(st == OK || st == E_ABSENT);
    db_close(db);
    return winner;
}

struct census {
    int total, verdict[VERDICT_COUNT], twice;
    const char *part;
    double best_us;
    char seen[2048][CONFIG_TEXT_MAX];
};

static bool count_trial(void *self, const struct db_trial *trial)
{
    struct census *c = self;
    if (c->part && !strstr(trial->config_text, c->part)) return true;
    if (outcome_usable(&trial->outcome) && (c->best_us == 0 || trial->outcome.time_us < c->best_us))
        c->best_us = trial->outcome.time_us;
    for (int i = 0; i < c->total; i++) c->twice += strcmp(c->seen[i], trial->config_text) == 0;
    snprintf(c->seen[c->total++], CONFIG_TEXT_MAX, "%s", trial->config_text);
    c->verdict[trial->outcome.verdict]++;
    return true;
}

/* The trials of a problem whose configuration holds part (NULL: all). */
static struct census *census(const char *shape, const char *part)
{
    static struct census c;
    struct problem problem;
    memset(&c, 0, sizeof c);
    c.part = part;
    assert_ok(problem_parse(shape, &problem));
    struct db *db = open_db();
    struct db_filter filter = {.problem = &problem};
    enum status st = db_trials(db, &filter, count_trial, &c);
    assert_true(st == OK || st == E_ABSENT);
    db_close(db);
    return &c;
}

static void assert_clean_db(void)
{
    char text[4096];
    bool clean_file = false;
    struct db *db = open_db();
    assert_ok(db_check(db, text, sizeof text, &clean_file));
    if (!clean_file) fail_msg("%s", text);
    db_close(db);
}

static int count_log(const char *verb)
{
    char line[1024];
    int count = 0;
    FILE *f = fopen(in_folder("log"), "r");
    while (f && fgets(line, sizeof line, f))
        count += strncmp(line, verb, strlen(verb)) == 0 && line[strlen(verb)] == ' ';
    if (f) fclose(f);
    return count;
}

/* The process that last did this; 0 if none has. */
static pid_t last_process(const char *verb)
{
    char line[1024];
    pid_t pid = 0;
    FILE *f = fopen(in_folder("log"), "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, verb, strlen(verb)) == 0) pid = atoi(line + strlen(verb));
    if (f) fclose(f);
    return pid;
}

/* ---- the job ---- */

TEST(the_fastest_candidate_wins_and_is_stored_with_its_evidence)
{
    assert_int_equal(tune("--shape " SHAPE), 0);
    struct db_winner w = winner_of(SHAPE);
    struct census *all = census(SHAPE, NULL);
    assert_int_equal(all->total, LEGAL);
    assert_int_equal(all->twice, 0);
    assert_true(w.time_us <= all->best_us * 1.006); /* the tie share, and noise */
    assert_true(w.ratio > 1.05 && w.ratio < 1.15);
    assert_true(w.ratio_low <= w.ratio && w.ratio <= w.ratio_high);
    assert_int_equal(w.legal_count, LEGAL);
    assert_true(w.exact && w.cold && !w.predicted);
    assert_true(w.model_rank >= 1 && w.model_rank <= LEGAL);
    assert_true(w.rounds >= 5);
    assert_int_equal(count_log("verify"), 1);
    json_t *rows = json_loads(read_text("out"), 0, NULL);
    assert_int_equal(json_array_size(rows), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "config")), w.config_text);
    json_decref(rows);
    assert_clean_db();
}

TEST(a_tuned_problem_is_skipped_unless_asked_again)
{
    assert_int_equal(tune("--max-trials 40 --shape " SHAPE), 0);
    assert_int_equal(census(SHAPE, NULL)->total, 40);
    int before = count_log("trial");
    assert_int_equal(tune("--shape " SHAPE), 0);
    assert_said("skipped");
    assert_int_equal(count_log("trial"), before);
    assert_int_equal(tune("--again --shape " SHAPE), 0);
    assert_said("40 known from earlier runs are skipped");
    assert_int_equal(census(SHAPE, NULL)->total, LEGAL);
    assert_int_equal(census(SHAPE, NULL)->twice, 0);
}

TEST(a_suite_shares_compiled_kernels)
{
    assert_int_equal(tune("--shape " SHAPE " --shape " SHAPE2 " --shape " SHAPE), 0);
    assert_int_equal(count_log("compile"), LEGAL / 2); /* GROUP has two values and needs no compilation */
    assert_int_equal(count_log("trial"), 2 * LEGAL);
    assert_true(winner_of(SHAPE2).time_us > 0);
}

TEST(a_search_begins_with_what_won_for_similar_problems)
{
    assert_int_equal(tune("--shape " SHAPE), 0);
    struct db_winner first = winner_of(SHAPE);
    assert_int_equal(tune("--max-trials 4 --shape " SHAPE2), 0);
    assert_said("like the winners of similar problems go first");
    assert_int_equal(census(SHAPE2, first.config_text)->total, 1);
    /* Within a run, too: the winner of the first is known before the second begins. */
    unlink(in_folder("t.db"));
    assert_int_equal(tune("--max-trials 60 --shape " SHAPE " --shape " SHAPE2), 0);
    assert_int_equal(census(SHAPE2, winner_of(SHAPE).config_text)->total, 1);
    assert_int_equal(census(SHAPE2, NULL)->total, 60);
}

TEST(every_strategy_finds_the_fastest_of_a_small_space)
{
    static const char *const strategies[] = {"exhaustive", "random", "ils"};
    for (int i = 0; i < 3; i++) {
        char words[128];
        unlink(in_folder("t.db"));
        snprintf(words, sizeof words, "--again --strategy %s --shape " SHAPE, strategies[i]);
        assert_int_equal(tune(words), 0);
        assert_true(winner_of(SHAPE).time_us <= census(SHAPE, NULL)->best_us * 1.006);
    }
}

/* ---- bad candidates are data ---- */

TEST(wrong_unbuildable_and_spilling_candidates_are_recorded_and_never_win)
{
    setenv("FAKE_WRONG", "BM=64 BN=64", 1);
    setenv("FAKE_UNBUILDABLE", "BM=64 BN=128", 1);
    setenv("FAKE_SPILLS", "BM=128 BN=64", 1);
    assert_int_equal(tune("--shape " SHAPE), 0);
    assert_non_null(strstr(winner_of(SHAPE).config_text, "BM=128 BN=128"));
    struct census *all = census(SHAPE, NULL);
    assert_true(all->verdict[VERDICT_WRONG] > 0);
    assert_true(all->verdict[VERDICT_UNBUILDABLE] > 0);
    assert_true(all->verdict[VERDICT_SPILLS] > 0);
    assert_int_equal(all->total, LEGAL);
    for (int i = 0; i < count_log("trial"); i++)
        assert_int_equal(census(SHAPE, "BM=128 BN=64")->verdict[VERDICT_MEASURED], 0);
}

/* One kernel of the space with one GROUP: parameters that came later have their least values. */
static const char *one(void)
{
    static char text[CONFIG_TEXT_MAX];
    struct config config;
    assert_ok(config_parse(
        "simt BM=128 BN=64 BK=8 WM=32 WN=64 TM=8 TN=8 STAGES=2 LOADER=0 PACK=0 VA=4 VB=4 VC=4 UNROLL=8 "
        "STORE_AT=4 MIN_BLOCKS=2 REDUCE=0 GROUP=8 SPLIT_K=1",
        &config));
    config_format(&config, text);
    return text;
}

TEST(a_candidate_that_crashes_twice_is_quarantined_and_no_other_is_blamed)
{
    setenv("FAKE_CRASH", one(), 1);
    assert_int_equal(tune("--shape " SHAPE), 0);
    assert_int_equal(census(SHAPE, one())->verdict[VERDICT_CRASHED], 2);
    struct census *all = census(SHAPE, NULL);
    assert_int_equal(all->verdict[VERDICT_CRASHED], 2);
    assert_int_equal(all->verdict[VERDICT_MEASURED], LEGAL - 1);
    assert_int_equal(count_log("prepare"), 3); /* once, and after each restart */
    /* Quarantine holds for other problems on this GPU. */
    assert_int_equal(tune("--shape " SHAPE2), 0);
    assert_int_equal(census(SHAPE2, one())->total, 0);
    assert_int_equal(census(SHAPE2, NULL)->verdict[VERDICT_MEASURED], LEGAL - 1);
}

TEST(a_candidate_that_crashes_once_gets_its_second_chance)
{
    setenv("FAKE_CRASH_ONCE", in_folder("crashed"), 1);
    assert_int_equal(tune("--shape " SHAPE), 0);
    struct census *all = census(SHAPE, NULL);
    assert_int_equal(all->verdict[VERDICT_CRASHED], 1);
    assert_int_equal(all->verdict[VERDICT_MEASURED], LEGAL);
}

TEST(a_candidate_that_hangs_is_killed_and_recorded)
{
    setenv("FAKE_HANG", one(), 1);
    assert_int_equal(tune("--shape " SHAPE), 0);
    assert_int_equal(census(SHAPE, one())->verdict[VERDICT_HUNG], 2);
    assert_int_equal(census(SHAPE, NULL)->verdict[VERDICT_MEASURED], LEGAL - 1);
}

TEST(a_worker_that_talks_nonsense_is_replaced)
{
    setenv("FAKE_GARBAGE", one(), 1);
    assert_int_equal(tune("--shape " SHAPE), 0);
    assert_int_equal(census(SHAPE, one())->verdict[VERDICT_CRASHED], 2);
    assert_int_equal(census(SHAPE, NULL)->verdict[VERDICT_MEASURED], LEGAL - 1);
}

TEST(a_compiler_that_crashes_makes_the_candidate_unbuildable)
{
    setenv("FAKE_COMPILER_CRASH", "BM=128 BN=64 BK=8 WM=32 WN=64", 1);
    assert_int_equal(tune("--shape " SHAPE), 0);
    struct census *all = census(SHAPE, NULL);
    assert_int_equal(all->verdict[VERDICT_UNBUILDABLE],
                     census(SHAPE, "BM=128 BN=64 BK=8 WM=32 WN=64")->total);
    assert_int_equal(census(SHAPE, NULL)->total, LEGAL);
}

TEST(a_cubin_that_left_the_cache_is_compiled_again_and_nobody_is_blamed)
{
    setenv("FAKE_LOST_CUBIN", in_folder("lost"), 1);
    assert_int_equal(tune("--shape " SHAPE), 0);
    assert_int_equal(census(SHAPE, NULL)->verdict[VERDICT_MEASURED], LEGAL);
    assert_int_equal(count_log("compile"), LEGAL / 2 + 1);
}

TEST(a_winner_that_fails_the_last_check_yields_to_the_next)
{
    assert_int_equal(tune("--shape " SHAPE), 0);
    struct db_winner first = winner_of(SHAPE);
    unlink(in_folder("t.db"));
    setenv("FAKE_REFUSE", first.config_text, 1);
    assert_int_equal(tune("--shape " SHAPE), 0);
    struct db_winner second = winner_of(SHAPE);
    assert_string_not_equal(first.config_text, second.config_text);
    assert_true(second.time_us < first.time_us * 1.05);
    assert_int_equal(census(SHAPE, first.config_text)->verdict[VERDICT_WRONG], 1);
}

TEST(a_problem_without_a_usable_candidate_has_no_winner_and_an_exit_code)
{
    setenv("FAKE_WRONG", "simt", 1);
    assert_int_equal(tune("--shape " SHAPE), 1);
    assert_said("no winner");
    assert_string_equal(winner_of(SHAPE).config_text, "");
}

TEST(without_cublas_plain_times_decide)
{
    setenv("FAKE_NO_CUBLAS", "1", 1);
    assert_int_equal(tune("--shape " SHAPE), 0);
    assert_true(winner_of(SHAPE).ratio == 0);
    assert_true(winner_of(SHAPE).time_us <= census(SHAPE, NULL)->best_us * 1.006);
}

/* ---- killed ---- */

TEST(ctrl_c_keeps_everything_prints_the_best_and_the_same_command_goes_on)
{
    setenv("FAKE_TRIAL_MS", "10", 1);
    pid_t pid = start("--shape " SHAPE);
    while (count_log("trial") < 20) usleep(5000);
    kill(pid, SIGINT);
    assert_int_equal(wait_exit(pid), 130);
    int finished = census(SHAPE, NULL)->total;
    assert_true(finished >= 20 && finished < LEGAL);
    assert_int_equal(census(SHAPE, NULL)->verdict[VERDICT_MEASURED], finished);
    assert_non_null(strstr(read_text("out"), "best so far"));
    unsetenv("FAKE_TRIAL_MS");
    assert_int_equal(tune("--shape " SHAPE), 0);
    char said[64];
    snprintf(said, sizeof said, "%d known from earlier runs are skipped", finished);
    assert_said(said);
    assert_int_equal(census(SHAPE, NULL)->total, LEGAL);
}

TEST(a_second_ctrl_c_ends_at_once)
{
    setenv("FAKE_TRIAL_MS", "5000", 1);
    pid_t pid = start("--shape " SHAPE);
    while (count_log("trial") < 1) usleep(5000);
    double from = now_s();
    kill(pid, SIGINT);
    usleep(100000);
    kill(pid, SIGINT);
    assert_int_equal(wait_exit(pid), 130);
    assert_true(now_s() - from < 2);
    assert_int_equal(census(SHAPE, NULL)->total, 0); /* the trial was dropped, and blames nobody */
}

TEST(twenty_kills_of_the_supervisor_lose_nothing_and_change_no_winner)
{
    assert_int_equal(tune("--shape " SHAPE), 0);
    struct db_winner undisturbed = winner_of(SHAPE);
    unlink(in_folder("t.db"));
    setenv("FAKE_TRIAL_MS", "3", 1);
    setenv("FAKE_BLOCK_MS", "3", 1);
    unsigned random = 7;
    int before = 0;
    for (int i = 0; i < 20; i++) {
        pid_t pid = start("--again --shape " SHAPE);
        random = random * 1103515245u + 12345u;
        usleep(60000 + (random >> 16) % 240000);
        kill(pid, SIGKILL);
        wait_exit(pid);
        if (access(in_folder("t.db"), F_OK)) continue;
        assert_clean_db();
        int now = census(SHAPE, NULL)->verdict[VERDICT_MEASURED];
        assert_true(now >= before);
        before = now;
    }
    assert_int_equal(tune("--again --shape " SHAPE), 0);
    /* Every candidate is measured, but those that were under way at two kills: they count as crashes. */
    struct census *all = census(SHAPE, NULL);
    int measured = all->verdict[VERDICT_MEASURED];
    assert_true(measured >= LEGAL - all->verdict[VERDICT_CRASHED] / 2);
    assert_true(winner_of(SHAPE).time_us <= all->best_us * 1.006);
    if (census(SHAPE, undisturbed.config_text)->verdict[VERDICT_MEASURED] == 1)
        assert_true(winner_of(SHAPE).time_us <= undisturbed.time_us * 1.006);
    assert_clean_db();
}

TEST(workers_killed_at_random_change_no_winner)
{
    assert_int_equal(tune("--shape " SHAPE), 0);
    struct db_winner undisturbed = winner_of(SHAPE);
    unlink(in_folder("t.db")), unlink(in_folder("log"));
    setenv("FAKE_TRIAL_MS", "5", 1);
    setenv("FAKE_BLOCK_MS", "3", 1);
    pid_t pid = start("--shape " SHAPE), victim = 0;
    int killed = 0, status;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        usleep(50000);
        pid_t worker = last_process("trial");
        if (worker > 0 && worker != victim && killed < 12) killed += kill(worker, SIGKILL) == 0;
        victim = worker;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("%s", read_text("err"));
    assert_true(killed > 0);
    struct db_winner w = winner_of(SHAPE);
    assert_true(w.time_us < undisturbed.time_us * 1.006 && undisturbed.time_us < w.time_us * 1.006);
}

/* ---- time ---- */

TEST(the_budget_is_kept_with_search_race_and_check_in_it)
{
    setenv("FAKE_TRIAL_MS", "40", 1); /* all of them would take 10 s */
    setenv("FAKE_BLOCK_MS", "10", 1);
    setenv("FAKE_COMPILE_MS", "20", 1);
    setenv("FAKE_PREPARE_MS", "100", 1);
    double from = now_s();
    assert_int_equal(tune("--budget 4s --shape " SHAPE), 0);
    double took = now_s() - from;
    assert_true(took > 2.0 && took < 4.0 * 1.05 + 0.5); /* the start and end of the process */
    assert_true(winner_of(SHAPE).rounds >= 3);
}

TEST(a_budget_is_shared_by_the_problems_of_a_suite)
{
    setenv("FAKE_TRIAL_MS", "30", 1);
    double from = now_s();
    assert_int_equal(tune("--budget 4s --shape " SHAPE " --shape " SHAPE2), 0);
    double took = now_s() - from;
    assert_true(took < 4.0 * 1.05 + 0.5);
    int first = census(SHAPE, NULL)->total, second = census(SHAPE2, NULL)->total;
    assert_true(first > 20 && second > 20);
    assert_true(first < 3 * second && second < 3 * first);
}

TEST(however_short_the_budget_one_candidate_is_tried)
{
    setenv("FAKE_PREPARE_MS", "300", 1);
    assert_int_equal(tune("--budget 0.1s --shape " SHAPE), 0);
    assert_true(census(SHAPE, NULL)->total >= 1);
    assert_true(winner_of(SHAPE).time_us > 0);
}

/* ---- several GPUs ---- */

TEST(two_gpus_work_on_different_problems)
{
    setenv("FAKE_DEVICES", "2", 1);
    setenv("FAKE_TRIAL_MS", "2", 1);
    assert_int_equal(
        tune("--gpus all --shape " SHAPE " --shape " SHAPE2 " --shape 2048x2048x2048 --shape 768x768x768"),
        0);
    assert_int_equal(count_log("prepare"), 4);
    assert_int_equal(census(SHAPE, NULL)->total, LEGAL);
    assert_int_equal(census("2048x2048x2048", NULL)->total, LEGAL);
    assert_true(winner_of("768x768x768").time_us > 0);
}

TEST(a_dead_gpu_is_given_up_and_the_other_does_its_work)
{
    setenv("FAKE_DEVICES", "2", 1);
    setenv("FAKE_DEAD_GPU", "1", 1);
    assert_int_equal(tune("--gpus 0,1 --shape " SHAPE " --shape " SHAPE2), 0);
    assert_said("GPU 1 is given up");
    assert_true(winner_of(SHAPE).time_us > 0);
    assert_true(winner_of(SHAPE2).time_us > 0);
}

TEST(when_every_gpu_is_dead_the_run_ends_with_a_sentence)
{
    setenv("FAKE_DEAD_GPU", "0", 1);
    assert_int_equal(tune("--shape " SHAPE " --shape " SHAPE2), E_GPU);
    assert_said("no GPU is left");
}

/* ---- what the machine lacks ---- */

TEST(no_driver_and_no_compiler_have_exit_codes)
{
    setenv("FAKE_DEVICES", "0", 1);
    assert_int_equal(tune("--shape " SHAPE), E_GPU);
    assert_said("--gpu");
    setenv("FAKE_NO_NVRTC", "1", 1);
    assert_int_equal(tune("--shape " SHAPE), E_COMPILER);
    assert_said("NVRTC");
}

TEST(without_a_gpu_a_named_one_is_predicted_and_a_measured_winner_replaces_it)
{
    setenv("FAKE_DEVICES", "0", 1);
    assert_int_equal(tune("--gpu h200 --shape " SHAPE), 0);
    assert_true(winner_of(SHAPE).predicted);
    assert_true(winner_of(SHAPE).ratio == 0);
    assert_int_equal(census(SHAPE, NULL)->verdict[VERDICT_PREDICTED], 64);
    unsetenv("FAKE_DEVICES");
    assert_int_equal(tune("--gpu h200 --shape " SHAPE), 0); /* now it is here */
    assert_false(winner_of(SHAPE).predicted);
    assert_int_equal(census(SHAPE, NULL)->verdict[VERDICT_MEASURED], LEGAL);
    setenv("FAKE_DEVICES", "0", 1);
    assert_int_equal(tune("--gpu h200 --again --shape " SHAPE), 0);
    assert_false(winner_of(SHAPE).predicted); /* and stays */
}

TEST(an_unknown_gpu_is_refused_with_the_known_ones)
{
    setenv("FAKE_DEVICES", "0", 1);
    assert_int_equal(tune("--gpu voodoo2 --shape " SHAPE), E_INPUT);
    assert_said("h200");
}

TEST(a_second_tuner_on_the_same_database_is_told_so)
{
    setenv("FAKE_TRIAL_MS", "20", 1);
    pid_t first = start("--shape " SHAPE);
    while (count_log("trial") < 1) usleep(5000);
    pid_t second = start("--shape " SHAPE2);
    assert_int_equal(wait_exit(second), E_BUSY);
    kill(first, SIGINT);
    assert_int_equal(wait_exit(first), 130);
}

TEST(a_wrong_command_line_says_what_is_wrong)
{
    static const struct {
        const char *words;
        int code;
        const char *said;
    } bad[] = {
        {"--shape 12x", E_INPUT, "12x"},
        {"--shape 0x5x5 --budget 10x", E_USAGE, "10x"},
        {"--shape -1x5x5", E_INPUT, "-1x5x5"},
        {"--shape 99999999999999999999x5x5", E_INPUT, "99999999999999999999"},
        {"--op xy --shape " SHAPE, E_INPUT, "xy"},
        {"--type qgemm --shape " SHAPE, E_INPUT, "qgemm"},
        {"--strategy magic --shape " SHAPE, E_INPUT, "exhaustive"},
        {"--gpus 0,0 --shape " SHAPE, E_USAGE, "--gpus"},
        {"--max-trials 0 --shape " SHAPE, E_USAGE, "--max-trials"},
        {"--space /nonexistent.conf --shape " SHAPE, E_IO, "/nonexistent.conf"},
        {"--suite /nonexistent.txt", E_IO, "/nonexistent.txt"},
        {"", E_USAGE, "--shape"},
        {"stray --shape " SHAPE, E_USAGE, "stray"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int code = tune(bad[i].words);
        if (code != bad[i].code) fail_msg("'%s' ended with %d:\n%s", bad[i].words, code, read_text("err"));
        assert_said(bad[i].said);
    }
}

#define JOB_TEST(name) cmocka_unit_test_setup_teardown(name, fresh, clean)

int main(int argc, char **argv)
{
    setenv("GEMMTUNE_EXE", FAKE_CHILD, 1);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        JOB_TEST(the_fastest_candidate_wins_and_is_stored_with_its_evidence),
        JOB_TEST(a_tuned_problem_is_skipped_unless_asked_again),
        JOB_TEST(a_suite_shares_compiled_kernels),
        JOB_TEST(a_search_begins_with_what_won_for_similar_problems),
        JOB_TEST(every_strategy_finds_the_fastest_of_a_small_space),
        JOB_TEST(wrong_unbuildable_and_spilling_candidates_are_recorded_and_never_win),
        JOB_TEST(a_candidate_that_crashes_twice_is_quarantined_and_no_other_is_blamed),
        JOB_TEST(a_candidate_that_crashes_once_gets_its_second_chance),
        JOB_TEST(a_candidate_that_hangs_is_killed_and_recorded),
        JOB_TEST(a_worker_that_talks_nonsense_is_replaced),
        JOB_TEST(a_compiler_that_crashes_makes_the_candidate_unbuildable),
        JOB_TEST(a_cubin_that_left_the_cache_is_compiled_again_and_nobody_is_blamed),
        JOB_TEST(a_winner_that_fails_the_last_check_yields_to_the_next),
        JOB_TEST(a_problem_without_a_usable_candidate_has_no_winner_and_an_exit_code),
        JOB_TEST(without_cublas_plain_times_decide),
        JOB_TEST(ctrl_c_keeps_everything_prints_the_best_and_the_same_command_goes_on),
        JOB_TEST(a_second_ctrl_c_ends_at_once),
        JOB_TEST(twenty_kills_of_the_supervisor_lose_nothing_and_change_no_winner),
        JOB_TEST(workers_killed_at_random_change_no_winner),
        JOB_TEST(the_budget_is_kept_with_search_race_and_check_in_it),
        JOB_TEST(a_budget_is_shared_by_the_problems_of_a_suite),
        JOB_TEST(however_short_the_budget_one_candidate_is_tried),
        JOB_TEST(two_gpus_work_on_different_problems),
        JOB_TEST(a_dead_gpu_is_given_up_and_the_other_does_its_work),
        JOB_TEST(when_every_gpu_is_dead_the_run_ends_with_a_sentence),
        JOB_TEST(no_driver_and_no_compiler_have_exit_codes),
        JOB_TEST(without_a_gpu_a_named_one_is_predicted_and_a_measured_winner_replaces_it),
        JOB_TEST(an_unknown_gpu_is_refused_with_the_known_ones),
        JOB_TEST(a_second_tuner_on_the_same_database_is_told_so),
        JOB_TEST(a_wrong_command_line_says_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
