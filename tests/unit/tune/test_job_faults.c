/* The main job with candidates that are wrong, crash or hang, and when it is killed itself: nothing that was
 * finished is lost, and the winner stays the same.
 */
#include "job_runs.h"
#include "race.h"

#include "clock.h"
#include "files.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Op, type, epilogue and pointers are all in the hash of a kernel. */
TEST(two_crashes_end_a_candidate_whatever_the_kind_of_problem)
{
    static const char *const shapes[] = {SHAPE ":epilogue=bias", "64x64x64:batch=4:pointers",
                                         "tn:" SHAPE ":epilogue=bias+gelu"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char words[160], crashing[CONFIG_TEXT_MAX];
        unlink(in_folder("t.db"));
        snprintf(words, sizeof words, "--max-trials 40 --shape %s", shapes[i]);
        assert_int_equal(tune(words), 0);
        memcpy(crashing, census(shapes[i], NULL)->seen[20], sizeof crashing);
        unlink(in_folder("t.db")), unlink(in_folder("log"));
        setenv("FAKE_CRASH", crashing, 1);
        snprintf(words, sizeof words, "--max-trials 40 --budget 15s --shape %s", shapes[i]);
        assert_int_equal(tune(words), 0);
        unsetenv("FAKE_CRASH");
        assert_int_equal(count_log("trial"), 41);
        assert_int_equal(census(shapes[i], crashing)->verdict[VERDICT_CRASHED], 2);
        assert_int_equal(census(shapes[i], NULL)->verdict[VERDICT_MEASURED], 39);
    }
}

/* The first trial of all. Before it is heard of, 8 kernels are proposed. */
static void first_tried(char config[CONFIG_TEXT_MAX])
{
    assert_int_equal(tune("--max-trials 1 --shape " SHAPE), 0);
    memcpy(config, census(SHAPE, NULL)->seen[0], CONFIG_TEXT_MAX);
    unlink(in_folder("t.db")), unlink(in_folder("log"));
}

/* The linker sends db_quarantined here first. */
static bool forgetful; /* the database says of nothing that it has crashed */
enum status __wrap_db_quarantined(struct db *db, const struct db_context *context,
                                  const struct config *config, bool *yes);
enum status __real_db_quarantined(struct db *db, const struct db_context *context,
                                  const struct config *config, bool *yes);
enum status __wrap_db_quarantined(struct db *db, const struct db_context *context,
                                  const struct config *config, bool *yes)
{
    *yes = false;
    return forgetful ? OK : __real_db_quarantined(db, context, config, yes);
}

TEST(a_job_needs_no_database_to_drop_what_crashed_twice)
{
    char crashing[CONFIG_TEXT_MAX];
    first_tried(crashing);
    setenv("FAKE_CRASH", crashing, 1);
    forgetful = true;
    const int code = tune("--max-trials 20 --budget 60s --shape " SHAPE);
    forgetful = false;
    assert_int_equal(code, 0);
    assert_int_equal(census(SHAPE, crashing)->verdict[VERDICT_CRASHED], 2);
    assert_int_equal(census(SHAPE, NULL)->total, 21);
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

/* Lines of the log before the nth with this beginning and this part. */
static int lines_before(const char *verb, const char *part, int nth, const char *counted)
{
    char line[1024];
    int count = 0;
    FILE *f = fopen(in_folder("log"), "r");
    while (f && nth > 0 && fgets(line, sizeof line, f)) {
        nth -= strncmp(line, verb, strlen(verb)) == 0 && strstr(line, part) != NULL;
        count += nth > 0 && strncmp(line, counted, strlen(counted)) == 0;
    }
    if (f) fclose(f);
    assert_int_equal(nth, 0);
    return count;
}

static bool counts_late(void *self, const struct db_search_note *note)
{
    int *late = self;
    return sscanf(note->text, "the search did not wait for %d overdue result", late) != 1;
}

/* Results that the search did not wait for, as tune explain shows them; 0: nothing is said. */
static int late_results(void)
{
    int late = 0;
    struct problem problem;
    struct db *db;
    assert_ok(problem_parse(SHAPE, &problem));
    const struct db_filter filter = {.problem = &problem};
    assert_ok(db_open(in_folder("t.db"), DB_READ, &db));
    assert_ok(db_notes(db, &filter, counts_late, &late));
    db_close(db);
    return late;
}

TEST(a_kernel_that_compiles_for_long_holds_up_no_other)
{
    char slow[CONFIG_TEXT_MAX];
    first_tried(slow);
    setenv("FAKE_SLOW", slow, 1);
    setenv("FAKE_SLOW_MS", "3000", 1); /* no more than a search waits for */
    assert_int_equal(tune("--max-trials 60 --shape " SHAPE), 0);
    assert_true(lines_before("trial", slow, 1, "trial") < 20);
    assert_int_equal(late_results(), 0);
    unlink(in_folder("t.db")), unlink(in_folder("log"));
    setenv("FAKE_SLOW_MS", "10000", 1);
    assert_int_equal(tune("--max-trials 60 --shape " SHAPE), 0);
    assert_true(lines_before("trial", slow, 1, "trial") > 50);
    assert_int_equal(census(SHAPE, slow)->verdict[VERDICT_MEASURED], 1);
    assert_int_equal(census(SHAPE, NULL)->total, 60);
    assert_int_equal(late_results(), 1);
    assert_clean_db();
}

/* It is found out after 6 or 8 s, and tried once more: by then others are compiled. The worker starts anew
 * each time. */
TEST(a_candidate_that_hangs_holds_up_no_compiler)
{
    char hanging[CONFIG_TEXT_MAX];
    first_tried(hanging);
    setenv("FAKE_HANG", hanging, 1);
    setenv("FAKE_TRIAL_MS", "300", 1);
    assert_int_equal(tune("--max-trials 20 --shape " SHAPE), 0);
    assert_true(lines_before("trial", hanging, 2, "compile") > 8);
    assert_int_equal(census(SHAPE, hanging)->verdict[VERDICT_HUNG], 2);
    assert_int_equal(census(SHAPE, NULL)->verdict[VERDICT_MEASURED], 19);
    assert_int_equal(late_results(), 1);
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

/* In a block of the race, or in the last check. */
TEST(a_finalist_s_cubin_that_left_the_cache_is_compiled_again_and_nobody_is_blamed)
{
    static const char *const verbs[] = {"block", "verify"};
    char lose[160];
    snprintf(lose, sizeof lose, "%s", in_folder("lose"));
    setenv("FAKE_LOSE_CUBIN", lose, 1);
    for (int i = 0; i < 2; i++) {
        file_write(lose, "");
        setenv("FAKE_LOSE_AT", verbs[i], 1);
        assert_int_equal(tune("--shape " SHAPE), 0);
        assert_true(access(lose, F_OK) != 0);
        assert_int_equal(census(SHAPE, NULL)->verdict[VERDICT_MEASURED], LEGAL);
        assert_true(winner_of(SHAPE).base.time_us <= census(SHAPE, NULL)->best_us * 1.006);
        assert_int_equal(count_log("compile"), LEGAL / 2 + 1);
        assert_int_equal(count_log("prepare"), 1); /* its worker stays */
        unlink(in_folder("t.db")), unlink(in_folder("log"));
    }
}

/* The other compiles for the second problem, which has kernels of its own, while the first one races. */
TEST(a_compiler_that_is_gone_for_good_keeps_no_other_from_compiling_ahead)
{
    char none[160];
    snprintf(none, sizeof none, "%s", in_folder("none"));
    setenv("FAKE_NO_COMPILER_FROM", none, 1);
    setenv("FAKE_BLOCK_MS", "20", 1);
    const pid_t pid =
        start_until("--budget 15s --max-trials 20 --shape " SHAPE " --shape sgemm:nt:" SHAPE, "compile", 1);
    file_write(none, "");
    kill(last_process("compile"), SIGKILL);
    assert_int_equal(wait_exit(pid), 0);
    assert_int_equal(census(SHAPE, NULL)->total, 20);
    assert_true(lines_before("verify", "", 1, "compile") > lines_before("block", "", 1, "compile") + 5);
    assert_clean_db();
}

/* One kernel for all. The second problem is known and races, while the first is searched on the other GPU. */
TEST(a_cubin_that_another_gpu_misses_is_waited_for_in_the_race)
{
    char lose[160], words[512];
    snprintf(lose, sizeof lose, "%s", in_folder("lose"));
    snprintf(words, sizeof words, "%s", in_folder("space.conf"));
    file_write(words, "[simt]\nBM = 128\nBN = 64\nBK = 8\nWM = 32\nWN = 64\nTM = 8\nTN = 8\nSTAGES = 2\n"
                      "LOADER = 0\nPACK = 0\nVA = 4\nVB = 4\nVC = 4\nUNROLL = 8\nSTORE_AT = 4\n"
                      "MIN_BLOCKS = 1\nREDUCE = 0\nGROUP = 1 2 3 4 5 6 7 8\nSPLIT_K = 1\n");
    snprintf(words, sizeof words, "--space %s --shape " SHAPE2, in_folder("space.conf"));
    assert_int_equal(tune(words), 0);
    unlink(in_folder("log"));
    setenv("FAKE_DEVICES", "2", 1);
    setenv("FAKE_TRIAL_MS", "300", 1);
    setenv("FAKE_BLOCK_MS", "100", 1);
    setenv("FAKE_COMPILE_MS", "800", 1);
    setenv("FAKE_LOSE_CUBIN", lose, 1);
    snprintf(words, sizeof words, "--space %s --again --gpus all --shape " SHAPE " --shape " SHAPE2,
             in_folder("space.conf"));
    const pid_t pid = start_until(words, "block", 3);
    file_write(lose, "");
    assert_int_equal(wait_exit(pid), 0);
    assert_true(access(lose, F_OK) != 0);
    assert_int_equal(count_log("hello"), 2 + 2); /* no worker started anew, nor did a compiler */
    assert_int_equal(count_log("compile"), 2);
    assert_clean_db();
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
    assert_true(second.base.time_us < first.base.time_us * 1.05);
    assert_int_equal(census(SHAPE, first.config_text)->verdict[VERDICT_WRONG], 1);
}

/* Of the space 18 divide k, more than race at once. They are the fastest, and all are refused. */
static enum status tune_divided(const char *refusal, const char *problem)
{
    char path[160], words[400];
    snprintf(path, sizeof path, "%s", in_folder("space.conf"));
    file_write(path, "[simt]\nBM = 64 128\nBN = 64\nBK = 8\nWM = 32\nWN = 64\nTM = 8\nTN = 8\nSTAGES = 2 3\n"
                     "LOADER = 0 1\nPACK = 0\nVA = 4\nVB = 4\nVC = 4\nUNROLL = 8\nSTORE_AT = 4\n"
                     "MIN_BLOCKS = 1\nREDUCE = 0\nGROUP = 1 4 8\nSPLIT_K = 1 4\n");
    setenv("FAKE_FAST", "SPLIT_K=4", 1);
    setenv(refusal, "SPLIT_K=4", 1);
    snprintf(words, sizeof words, "--space %s --shape %s", path, problem);
    return tune(words);
}

TEST(where_all_finalists_fail_the_last_check_the_next_ones_race)
{
    assert_int_equal(tune_divided("FAKE_REFUSE", SHAPE), 0);
    const struct db_winner w = winner_of(SHAPE);
    assert_true(w.base.time_us > 0 && config_get(&w.config, "SPLIT_K") == 1);
    assert_true(census(SHAPE, NULL)->verdict[VERDICT_WRONG] > RACE_RUNNERS_MAX);
    assert_clean_db();
}

/* One round of refusals is enough to know that sums of divided k are the trouble. */
TEST(a_class_of_accuracy_turns_to_kernels_that_do_not_divide_k)
{
    assert_int_equal(tune_divided("FAKE_INACCURATE", "sgemm_accurate:nn:" SHAPE), 0);
    const struct db_winner w = winner_of("sgemm_accurate:nn:" SHAPE);
    assert_true(w.base.time_us > 0 && config_get(&w.config, "SPLIT_K") == 1);
    assert_in_range(census("sgemm_accurate:nn:" SHAPE, NULL)->verdict[VERDICT_WRONG], 2, RACE_RUNNERS_MAX);
    assert_clean_db();
}

TEST(a_winner_that_a_later_check_finds_wrong_is_none_and_the_search_goes_on)
{
    assert_int_equal(tune("--max-trials 20 --shape " SHAPE), 0);
    const struct db_winner first = winner_of(SHAPE);
    setenv("FAKE_REFUSE", "BM=", 1);
    assert_int_equal(tune("--again --max-trials 30 --shape " SHAPE), 1);
    assert_said("no winner");
    assert_string_equal(winner_of(SHAPE).config_text, "");
    assert_int_equal(census(SHAPE, first.config_text)->verdict[VERDICT_WRONG], 1);
    unsetenv("FAKE_REFUSE");
    assert_int_equal(tune("--max-trials 40 --shape " SHAPE), 0);
    assert_int_equal(times_said("up to date"), 0);
    assert_string_not_equal(winner_of(SHAPE).config_text, first.config_text);
    assert_string_not_equal(winner_of(SHAPE).config_text, "");
    assert_int_equal(tune("--max-trials 40 --shape " SHAPE), 0);
    assert_said("up to date");
    assert_clean_db();
}

TEST(a_winner_that_is_refused_when_it_is_to_be_pinned_is_none)
{
    char words[2 * CONFIG_TEXT_MAX];
    assert_int_equal(tune("--max-trials 20 --shape " SHAPE), 0);
    const struct db_winner first = winner_of(SHAPE);
    int used = snprintf(words, sizeof words, "--shape " SHAPE " --pin %s", first.config_text);
    for (char *at = strstr(words, "simt"); at < words + used; at++)
        if (*at == ' ') *at = '~';
    setenv("FAKE_REFUSE", first.config_text, 1);
    assert_int_equal(tune(words), 1);
    assert_said("what is to be pinned is not usable here: wrong");
    assert_string_equal(winner_of(SHAPE).config_text, "");
    assert_int_equal(tune(words), 1); /* an earlier run found so */
    assert_string_equal(winner_of(SHAPE).config_text, "");
}

TEST(a_winner_that_crashes_in_a_later_race_is_none)
{
    assert_int_equal(tune("--max-trials 20 --shape " SHAPE), 0);
    const struct db_winner first = winner_of(SHAPE);
    setenv("FAKE_CRASH_BLOCK", first.config_text, 1);
    assert_int_equal(tune("--again --max-trials 30 --shape " SHAPE), 0);
    assert_string_not_equal(winner_of(SHAPE).config_text, first.config_text);
    assert_int_equal(census(SHAPE, first.config_text)->verdict[VERDICT_CRASHED], 2);
    assert_int_equal(tune("--max-trials 31 --again --shape " SHAPE), 0); /* it is quarantined */
    assert_int_equal(census(SHAPE, first.config_text)->total, 3);
    setenv("FAKE_CRASH_BLOCK", "BM=", 1);
    assert_int_equal(tune("--again --max-trials 32 --shape " SHAPE), 1);
    assert_string_equal(winner_of(SHAPE).config_text, "");
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
    assert_true(winner_of(SHAPE).base.ratio == 0);
    assert_true(winner_of(SHAPE).base.time_us <= census(SHAPE, NULL)->best_us * 1.006);
}

/* ---- killed ---- */

TEST(ctrl_c_keeps_everything_prints_the_best_and_the_same_command_goes_on)
{
    setenv("FAKE_TRIAL_MS", "10", 1);
    pid_t pid = start_until("--shape " SHAPE, "trial", 20);
    kill(pid, SIGINT);
    assert_int_equal(wait_exit(pid), 130);
    int finished = census(SHAPE, NULL)->total;
    assert_true(finished >= 20 && finished < LEGAL);
    assert_int_equal(census(SHAPE, NULL)->verdict[VERDICT_MEASURED], finished);
    assert_non_null(strstr(text_of("out"), "best so far"));
    unsetenv("FAKE_TRIAL_MS");
    assert_int_equal(tune("--shape " SHAPE), 0);
    char said[64];
    snprintf(said, sizeof said, "%d known from earlier runs are skipped", finished);
    assert_said(said);
    assert_int_equal(census(SHAPE, NULL)->total, LEGAL);
}

TEST(a_second_ctrl_c_ends_at_once)
{
    setenv("FAKE_TRIAL_MS", "30000", 1);
    pid_t pid = start_until("--shape " SHAPE, "trial", 1);
    double from = now_s();
    kill(pid, SIGINT);
    usleep(100000);
    kill(pid, SIGINT);
    assert_int_equal(wait_exit(pid), 130);
    assert_true(now_s() - from < 20);                /* the trial would take 30 */
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
    assert_true(winner_of(SHAPE).base.time_us <= all->best_us * 1.006);
    if (census(SHAPE, undisturbed.config_text)->verdict[VERDICT_MEASURED] == 1)
        assert_true(winner_of(SHAPE).base.time_us <= undisturbed.base.time_us * 1.006);
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
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("%s", text_of("err"));
    assert_true(killed > 0);
    struct db_winner w = winner_of(SHAPE);
    assert_true(w.base.time_us < undisturbed.base.time_us * 1.006 &&
                undisturbed.base.time_us < w.base.time_us * 1.006);
}

const struct CMUnitTest job_tests[] = {
    JOB_TEST(wrong_unbuildable_and_spilling_candidates_are_recorded_and_never_win),
    JOB_TEST(a_candidate_that_crashes_twice_is_quarantined_and_no_other_is_blamed),
    JOB_TEST(two_crashes_end_a_candidate_whatever_the_kind_of_problem),
    JOB_TEST(a_job_needs_no_database_to_drop_what_crashed_twice),
    JOB_TEST(a_candidate_that_crashes_once_gets_its_second_chance),
    JOB_TEST(a_candidate_that_hangs_is_killed_and_recorded),
    JOB_TEST(a_kernel_that_compiles_for_long_holds_up_no_other),
    JOB_TEST(a_candidate_that_hangs_holds_up_no_compiler),
    JOB_TEST(a_worker_that_talks_nonsense_is_replaced),
    JOB_TEST(a_compiler_that_crashes_makes_the_candidate_unbuildable),
    JOB_TEST(a_cubin_that_left_the_cache_is_compiled_again_and_nobody_is_blamed),
    JOB_TEST(a_finalist_s_cubin_that_left_the_cache_is_compiled_again_and_nobody_is_blamed),
    JOB_TEST(a_compiler_that_is_gone_for_good_keeps_no_other_from_compiling_ahead),
    JOB_TEST(a_cubin_that_another_gpu_misses_is_waited_for_in_the_race),
    JOB_TEST(a_winner_that_fails_the_last_check_yields_to_the_next),
    JOB_TEST(where_all_finalists_fail_the_last_check_the_next_ones_race),
    JOB_TEST(a_class_of_accuracy_turns_to_kernels_that_do_not_divide_k),
    JOB_TEST(a_winner_that_a_later_check_finds_wrong_is_none_and_the_search_goes_on),
    JOB_TEST(a_winner_that_is_refused_when_it_is_to_be_pinned_is_none),
    JOB_TEST(a_winner_that_crashes_in_a_later_race_is_none),
    JOB_TEST(a_problem_without_a_usable_candidate_has_no_winner_and_an_exit_code),
    JOB_TEST(without_cublas_plain_times_decide),
    JOB_TEST(ctrl_c_keeps_everything_prints_the_best_and_the_same_command_goes_on),
    JOB_TEST(a_second_ctrl_c_ends_at_once),
    JOB_TEST(twenty_kills_of_the_supervisor_lose_nothing_and_change_no_winner),
    JOB_TEST(workers_killed_at_random_change_no_winner),
};
const size_t job_test_count = sizeof job_tests / sizeof *job_tests;
