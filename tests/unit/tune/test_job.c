/* The main job from command line to stored winner, with fake children: no GPU, no compiler. */
#include "files.h"
#include "job_runs.h"
#include "tune_options.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- the job ---- */

TEST(the_fastest_candidate_wins_and_is_stored_with_its_evidence)
{
    assert_int_equal(tune("--shape " SHAPE), 0);
    struct db_winner w = winner_of(SHAPE);
    struct census *all = census(SHAPE, NULL);
    assert_int_equal(all->total, LEGAL);
    assert_int_equal(all->twice, 0);
    assert_true(w.base.time_us <= all->best_us * 1.006); /* what may tie, and noise */
    assert_true(w.base.ratio > 1.05 && w.base.ratio < 1.15);
    assert_true(w.base.ratio_low <= w.base.ratio && w.base.ratio <= w.base.ratio_high);
    assert_string_equal(w.rival, "cublasSgemm");
    assert_true(w.errors.measured && w.errors.componentwise == 1e-7);
    assert_true(w.rival_errors.measured && w.rival_errors.componentwise == 2e-7);
    assert_int_equal(w.legal_count, LEGAL);
    assert_true(w.base.exact && w.base.cold && !w.base.predicted);
    assert_true(w.model_rank >= 1 && w.model_rank <= LEGAL);
    assert_true(w.rounds >= 5);
    assert_int_equal(count_log("verify"), 1);
    json_t *rows = json_loads(text_of("out"), 0, NULL);
    assert_int_equal(json_array_size(rows), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "config")), w.config_text);
    json_decref(rows);
    assert_clean_db();
}

TEST(a_race_that_cublas_won_is_no_victory)
{
    setenv("FAKE_FAST_CUBLAS", "1", 1);
    assert_int_equal(tune("--max-trials 20 --shape " SHAPE), 0);
    assert_said(": cuBLAS won, the best kernel takes ");
    assert_said("cuBLAS is faster, and stays in use");
    assert_non_null(strstr(text_of("out"), "\"cuBLAS won\""));
    const struct db_winner w = winner_of(SHAPE);
    assert_true(w.config.template && w.base.ratio > 0 && w.base.ratio < 1 && !w.pin_holds);
    assert_int_equal(tune("--max-trials 20 --shape " SHAPE), 0);
    assert_said("skipped");
    assert_non_null(strstr(text_of("out"), "\"known (cuBLAS won)\""));
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

TEST(a_winner_of_another_power_limit_is_not_up_to_date)
{
    static const struct {
        const char *limit_w;
        int decisions;
    } runs[] = {{"700", 1}, {"700", 1}, {"0", 1} /* unknown is no difference */, {"450.5", 2}, {"450.5", 2}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        setenv("FAKE_POWER_LIMIT", runs[i].limit_w, 1);
        assert_int_equal(tune("--max-trials 20 --shape " SHAPE), 0);
        assert_int_equal(count_log("verify"), runs[i].decisions);
    }
}

static void write_space(const char *path, const char *splits)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fprintf(file,
                        "[simt]\nBM = 64 128\nBN = 64\nBK = 8\nWM = 32\nWN = 64\nTM = 8\nTN = 8\n"
                        "STAGES = 2 3\nLOADER = 0 1\nPACK = 0\nVA = 4\nVB = 4\nVC = 4\nUNROLL = 8\n"
                        "STORE_AT = 4\nMIN_BLOCKS = 1\nREDUCE = 0\nGROUP = 1\nSPLIT_K = %s\n",
                        splits) > 0);
    assert_int_equal(fclose(file), 0);
}

/* Four parts of 1024x1024 take 16 MiB. */
TEST(no_more_workspace_is_taken_than_is_allowed_and_a_winner_that_takes_more_is_tuned_anew)
{
    char path[160], usual[400], words[440];
    snprintf(path, sizeof path, "%s", in_folder("space.conf"));
    snprintf(usual, sizeof usual, "--space %s --shape " SHAPE, path);
    write_space(path, "4");
    snprintf(words, sizeof words, "%s --workspace 15M", usual);
    assert_int_not_equal(tune(words), 0);
    assert_said("it needs more workspace than is allowed (--workspace)");
    assert_int_equal(tune(usual), 0);
    assert_non_null(strstr(winner_of(SHAPE).config_text, "SPLIT_K=4"));
    assert_non_null(strstr(text_of("out"), "\"workspace_bytes\": 16777216"));

    write_space(path, "4 1");
    snprintf(words, sizeof words, "%s --workspace 16M", usual);
    assert_int_equal(tune(words), 0);
    assert_said("skipped");
    snprintf(words, sizeof words, "%s --workspace 1M", usual);
    assert_int_equal(tune(words), 0);
    assert_non_null(strstr(winner_of(SHAPE).config_text, "SPLIT_K=1"));
    setenv("GEMMTUNE_WORKSPACE", "1M", 1);
    assert_int_equal(tune(usual), 0);
    unsetenv("GEMMTUNE_WORKSPACE");
    assert_said("skipped");
    assert_clean_db();
}

TEST(a_winner_from_another_space_stays_unless_a_faster_one_is_found)
{
    char path[160], words[440];
    snprintf(path, sizeof path, "%s", in_folder("space.conf"));
    snprintf(words, sizeof words, "--again --space %s --shape " SHAPE, path);
    setenv("FAKE_FAST", "SPLIT_K=1", 1);
    write_space(path, "1");
    assert_int_equal(tune(words), 0);
    const struct db_winner first = winner_of(SHAPE);
    assert_non_null(strstr(first.config_text, "SPLIT_K=1"));

    write_space(path, "2");
    assert_int_equal(tune(words), 0);
    assert_said("kept the stored winner (");
    assert_int_equal(winner_of(SHAPE).decision_id, first.decision_id);
    assert_non_null(strstr(text_of("out"), first.config_text));

    setenv("FAKE_FAST", "SPLIT_K=4", 1);
    unlink(in_folder("t.db"));
    write_space(path, "2");
    assert_int_equal(tune(words), 0);
    write_space(path, "4");
    assert_int_equal(tune(words), 0);
    assert_non_null(strstr(winner_of(SHAPE).config_text, "SPLIT_K=4"));
    assert_clean_db();
}

/* The rows of this problem are no multiples of its vectors, so that nothing of the space is legal. That is
 * found out after the GPU has been asked to prepare it. */
TEST(a_gpu_prepares_a_problem_while_its_space_is_opened)
{
    char words[512];
    file_write(in_folder("vectors.conf"), SPACE_OF_VECTORS);
    snprintf(words, sizeof words, "--budget 15s --space %s --shape 1001x1001x1001 --shape " SHAPE,
             in_folder("vectors.conf"));
    assert_int_equal(tune(words), E_ABSENT);
    assert_int_equal(count_log("prepare"), 2);
    assert_string_equal(winner_of("1001x1001x1001").config_text, "");
    assert_true(winner_of(SHAPE).base.time_us > 0);
    assert_int_equal(times_said("configurations to choose from"), 1);
    assert_clean_db();

    snprintf(words, sizeof words, "--space %s --shape 1001x1001x1001", in_folder("vectors.conf"));
    assert_int_equal(tune(words), E_ABSENT);
}

/* Processor time to read a suite of different problems, each of which stands there twice; the least of three.
 */
static double reading_s(int count)
{
    char path[256];
    double least = 1e9;
    snprintf(path, sizeof path, "%s", in_folder("suite"));
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 2 * count; i++) fprintf(f, "%dx%dx64\n", 1 + i % count % 200, 1 + i % count / 200);
    assert_int_equal(fclose(f), 0);
    for (int i = 0; i < 3; i++) {
        char *argv[] = {(char[]){"tune"}, (char[]){"--suite"}, path, (char[]){"--db"},
                        (char[]){"/tmp/none.db"}};
        struct tune_options options;
        const clock_t from = clock();
        assert_ok(tune_options_parse(5, argv, &options));
        least = fmin(least, (double)(clock() - from) / CLOCKS_PER_SEC);
        assert_int_equal(options.problem_count, count);
        assert_true(options.problems[count - 1].n == 1 + (count - 1) / 200);
        tune_options_free(&options);
    }
    return least;
}

TEST(a_suite_that_is_four_times_as_long_is_read_in_about_four_times_the_time)
{
    const double few = reading_s(10000), many = reading_s(40000);
    print_message("%.3f s, %.3f s\n", few, many);
    assert_true(many < 8 * few);
}

TEST(a_suite_shares_compiled_kernels)
{
    assert_int_equal(tune("--shape " SHAPE " --shape " SHAPE2 " --shape " SHAPE), 0);
    assert_int_equal(count_log("compile"), LEGAL / 2); /* GROUP has two values and needs no compilation */
    assert_int_equal(count_log("trial"), 2 * LEGAL);
    assert_true(winner_of(SHAPE2).base.time_us > 0);
}

TEST(the_type_reaches_a_suite_and_its_kernels_are_its_own)
{
    char path[160], words[400];
    snprintf(path, sizeof path, "%s", in_folder("suite.txt"));
    file_write(path, SHAPE2 "\nsgemm:" SHAPE2 "\n");
    snprintf(words, sizeof words, "--max-trials 8 --type tf32gemm --op nt --suite %s", path);
    assert_int_equal(tune(words), 0);
    assert_true(winner_of("tf32gemm:nt:" SHAPE2).base.time_us > 0);
    assert_true(winner_of("sgemm:nt:" SHAPE2).base.time_us > 0);
    assert_int_equal(census("tf32gemm:nt:" SHAPE2, NULL)->total, 8);
    assert_int_equal(tune("--max-trials 8 --type tf32gemm --shape nn:" SHAPE2), 0);
    assert_true(winner_of("tf32gemm:nn:" SHAPE2).base.time_us > 0);
}

/* Kernels of tensor cores are candidates where TF32 will do, and nowhere else. */
TEST(a_decision_about_tf32_names_its_rival_and_both_errors)
{
    char path[160], words[400];
    snprintf(path, sizeof path, "%s", in_folder("space.conf"));
    file_write(path, "[mma]\nBM = 64 128\nBN = 64 128\nBK = 16 32\nWM = 32 64\nWN = 32 64\nSTAGES = 2 3\n"
                     "VA = 4\nVB = 4\nVC = 4\nMIN_BLOCKS = 1\nGROUP = 1 8\nSPLIT_K = 1 2\n");
    snprintf(words, sizeof words, "--space %s --max-trials 12 --shape tf32gemm:nt:" SHAPE2, path);
    assert_int_equal(tune(words), 0);
    const struct db_winner w = winner_of("tf32gemm:nt:" SHAPE2);
    assert_int_equal(strncmp(w.config_text, "mma ", 4), 0);
    assert_string_equal(w.rival, "cublasGemmEx TF32");
    assert_true(w.base.ratio > 0.5 && w.base.anchor_us > 1000);
    assert_true(w.errors.measured && w.errors.componentwise == 1e-7 && w.errors.rms == 2e-7);
    assert_true(w.rival_errors.measured && w.rival_errors.componentwise == 2e-7 &&
                w.rival_errors.max == 3 * 2e-7);
    assert_clean_db();
    snprintf(words, sizeof words, "--space %s --shape nt:" SHAPE2, path);
    assert_int_not_equal(tune(words), 0);
    assert_said("the mma family computes tf32gemm");

    setenv("FAKE_NO_CUBLAS", "1", 1);
    assert_int_equal(tune("--max-trials 4 --shape tf32gemm:nn:" SHAPE2), 0);
    const struct db_winner alone = winner_of("tf32gemm:nn:" SHAPE2);
    assert_string_equal(alone.rival, "");
    assert_true(alone.errors.measured && !alone.rival_errors.measured);
}

/* Also of strict kernels: a class of accuracy is measured, kernel by kernel. */
TEST(what_is_less_accurate_than_its_type_allows_does_not_win)
{
    /* Everything is tried, so that the fastest is sure to be among those that are raced. */
    assert_int_equal(tune("--shape sgemm:nn:" SHAPE), 0);
    const struct db_winner strict = winner_of(SHAPE);
    setenv("FAKE_INACCURATE", strict.config_text, 1);
    assert_int_equal(tune("--again --shape sgemm:nn:" SHAPE), 0);
    assert_true(winner_of(SHAPE).errors.componentwise == 2e-6 ||
                strcmp(winner_of(SHAPE).config_text, strict.config_text) != 0);
    assert_int_equal(tune("--shape sgemm_accurate:nn:" SHAPE), 0);
    const struct db_winner accurate = winner_of("sgemm_accurate:nn:" SHAPE);
    assert_string_not_equal(accurate.config_text, strict.config_text);
    assert_true(accurate.errors.componentwise == 1e-7);
    assert_true(accurate.checked.kinds == 12 && accurate.checked.bounded == 3 && accurate.checked.k == 66);
    assert_true(accurate.checked.rms == 0.44);
    assert_int_equal(winner_of(SHAPE).checked.kinds, 0);
    assert_int_equal(census("sgemm_accurate:nn:" SHAPE, NULL)->verdict[VERDICT_WRONG], 1);
    unsetenv("FAKE_INACCURATE");
    assert_clean_db();
}

/* Strict kernels among them: nobody knows how accurate they are for it. */
TEST(a_class_of_accuracy_has_no_winner_without_a_right_rival)
{
    setenv("FAKE_NO_CUBLAS", "1", 1);
    assert_int_equal(tune("--max-trials 4 --shape sgemm_accurate:nn:" SHAPE), 1);
    assert_said("there is no cuBLAS to measure");
    unsetenv("FAKE_NO_CUBLAS");
    setenv("FAKE_WRONG_CUBLAS", "1", 1);
    assert_int_equal(tune("--max-trials 4 --shape sgemm_normwise:nn:" SHAPE), 1);
    assert_said("they are beyond the error bound");
    assert_int_equal(tune("--max-trials 4 --shape sgemm:nn:" SHAPE), 0);
    unsetenv("FAKE_WRONG_CUBLAS");
    assert_int_equal(count_log("trial"), 4);
    assert_int_equal(tune("--max-trials 4 --shape sgemm_accurate:nn:" SHAPE), 0);
    assert_true(winner_of("sgemm_accurate:nn:" SHAPE).rival_errors.measured);
    assert_clean_db();
}

TEST(a_search_begins_with_what_won_for_similar_problems)
{
    assert_int_equal(tune("--shape " SHAPE), 0);
    struct db_winner first = winner_of(SHAPE);
    assert_int_equal(tune("--max-trials 4 --shape " SHAPE2), 0);
    assert_said("like the winners of similar problems go first");
    assert_int_equal(census(SHAPE2, first.config_text)->total, 1);
    /* Within a run, too: the winner of the first is known before the second begins. With so little time each
     * has one slice, of more than 7 s; with more the first is of a second, which a loaded machine may need
     * for fewer trials, and the winner becomes another later. */
    unlink(in_folder("t.db"));
    assert_int_equal(tune("--max-trials 12 --budget 15s --shape " SHAPE " --shape " SHAPE2), 0);
    assert_int_equal(census(SHAPE2, winner_of(SHAPE).config_text)->total, 1);
    assert_int_equal(census(SHAPE2, NULL)->total, 12);
}

/* The tile hardly depends on where the items lie; widths of accesses do. */
TEST(a_search_for_pointers_begins_with_the_like_of_a_strided_winner_and_has_its_own)
{
    assert_int_equal(tune("--shape " SHAPE), 0);
    const struct db_winner strided = winner_of(SHAPE);
    assert_int_equal(tune("--max-trials 4 --shape " SHAPE ":batch=3:pointers"), 0);
    assert_said("like the winners of similar problems go first");
    assert_int_equal(census(SHAPE ":batch=3:pointers", NULL)->total, 4);
    const struct db_winner own = winner_of(SHAPE ":batch=3:pointers");
    assert_true(own.config_text[0] == '\0' || strstr(own.config_text, " VC=1 "));
    assert_true(own.base.problem.pointers);
    assert_string_equal(winner_of(SHAPE).config_text, strided.config_text);
    assert_true(winner_of(SHAPE).base.time_us == strided.base.time_us);
    assert_clean_db();
}

/* The tile hardly depends on it; but what was measured is for each epilogue its own. */
TEST(a_search_for_an_epilogue_begins_with_what_won_without_it_and_has_its_own_winner)
{
    assert_int_equal(tune("--shape " SHAPE), 0);
    const struct db_winner plain = winner_of(SHAPE);
    assert_int_equal(tune("--max-trials 4 --shape " SHAPE ":epilogue=bias+relu"), 0);
    assert_said("like the winners of similar problems go first");
    assert_int_equal(census(SHAPE ":epilogue=bias+relu", plain.config_text)->total, 1);
    assert_int_equal(census(SHAPE ":epilogue=bias+relu", NULL)->total, 4);
    assert_int_equal(winner_of(SHAPE ":epilogue=bias+relu").trials, 4);
    assert_string_equal(winner_of(SHAPE).config_text, plain.config_text);
    assert_true(winner_of(SHAPE).base.time_us == plain.base.time_us);
    assert_int_equal(tune("--max-trials 4 --shape " SHAPE ":epilogue=bias"), 0);
    assert_int_equal(census(SHAPE ":epilogue=bias", NULL)->total, 4); /* nothing is known of it */
    assert_clean_db();
}

/* The winners that ship are those of another folder here: one of this architecture, one of another. */
TEST(a_search_begins_with_winners_that_ship_unless_told_otherwise)
{
    static const char config[] =
        "simt BM=64 BN=128 BK=16 WM=32 WN=64 TM=8 TN=8 STAGES=3 LOADER=1 PACK=0 VA=4 "
        "VB=4 VC=4 UNROLL=8 STORE_AT=4 MIN_BLOCKS=2 REDUCE=0 GROUP=8 SPLIT_K=1";
    char folder[160], command[400], path[200];
    snprintf(folder, sizeof folder, "%s", in_folder("configs"));
    snprintf(command, sizeof command, "mkdir -p %s/winners && cp -r %s/configs/gpus %s", folder,
             GT_SOURCE_DIR, folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/winners/h200.jsonl", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int arch = 80; arch <= 90; arch += 10)
        fprintf(file,
                "{\"problem\": \"sgemm:nn:%s\", \"gpu\": \"NVIDIA H200\", \"arch\": %d, \"sm_count\": 132, "
                "\"config\": \"%s\", \"template_hash\": \"0123456789abcdef\", \"time_us\": 9, "
                "\"cold\": true, \"exact\": true, \"predicted\": false, \"protocol\": 1}\n",
                SHAPE, arch, config);
    assert_int_equal(fclose(file), 0);
    setenv("GEMMTUNE_CONFIGS", folder, 1);
    int code = tune("--max-trials 2 --shape " SHAPE2);
    unsetenv("GEMMTUNE_CONFIGS");
    assert_int_equal(code, 0);
    assert_said("like the winners of similar problems go first");
    char full[CONFIG_TEXT_MAX];
    struct config parsed;
    assert_ok(config_parse(config, &parsed));
    config_format(&parsed, full);
    assert_int_equal(census(SHAPE2, full)->total, 1);
    unlink(in_folder("t.db"));
    assert_int_equal(tune("--max-trials 2 --shape " SHAPE2), 0); /* with --no-pretuned */
    assert_int_equal(census(SHAPE2, full)->total, 0);
}

TEST(every_strategy_finds_the_fastest_of_a_small_space)
{
    static const char *const strategies[] = {"exhaustive", "random", "gp"};
    for (int i = 0; i < 3; i++) {
        char words[128];
        unlink(in_folder("t.db"));
        snprintf(words, sizeof words, "--again --strategy %s --shape " SHAPE, strategies[i]);
        assert_int_equal(tune(words), 0);
        assert_true(winner_of(SHAPE).base.time_us <= census(SHAPE, NULL)->best_us * 1.006);
    }
}

/* ---- what is refused ---- */

TEST(a_second_tuner_on_the_same_database_is_told_so)
{
    setenv("FAKE_TRIAL_MS", "200", 1);
    pid_t first = start_until("--shape " SHAPE, "trial", 1);
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
        {"--strategy ils --shape " SHAPE, E_INPUT, "the strategy ils is gone: use gp"},
        {"--gpus 0,0 --shape " SHAPE, E_USAGE, "--gpus"},
        {"--max-trials 0 --shape " SHAPE, E_USAGE, "--max-trials"},
        {"--space /nonexistent.conf --shape " SHAPE, E_IO, "/nonexistent.conf"},
        {"--suite /nonexistent.txt", E_IO, "/nonexistent.txt"},
        {"", E_USAGE, "--shape"},
        {"stray --shape " SHAPE, E_USAGE, "stray"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int code = tune(bad[i].words);
        if (code != bad[i].code) fail_msg("'%s' ended with %d:\n%s", bad[i].words, code, text_of("err"));
        assert_said(bad[i].said);
    }
}

const struct CMUnitTest job_tests[] = {
    JOB_TEST(the_fastest_candidate_wins_and_is_stored_with_its_evidence),
    JOB_TEST(a_race_that_cublas_won_is_no_victory),
    JOB_TEST(a_tuned_problem_is_skipped_unless_asked_again),
    JOB_TEST(a_winner_of_another_power_limit_is_not_up_to_date),
    JOB_TEST(no_more_workspace_is_taken_than_is_allowed_and_a_winner_that_takes_more_is_tuned_anew),
    JOB_TEST(a_winner_from_another_space_stays_unless_a_faster_one_is_found),
    JOB_TEST(a_gpu_prepares_a_problem_while_its_space_is_opened),
    JOB_TEST(a_suite_that_is_four_times_as_long_is_read_in_about_four_times_the_time),
    JOB_TEST(a_suite_shares_compiled_kernels),
    JOB_TEST(the_type_reaches_a_suite_and_its_kernels_are_its_own),
    JOB_TEST(a_decision_about_tf32_names_its_rival_and_both_errors),
    JOB_TEST(what_is_less_accurate_than_its_type_allows_does_not_win),
    JOB_TEST(a_class_of_accuracy_has_no_winner_without_a_right_rival),
    JOB_TEST(a_search_begins_with_what_won_for_similar_problems),
    JOB_TEST(a_search_for_pointers_begins_with_the_like_of_a_strided_winner_and_has_its_own),
    JOB_TEST(a_search_for_an_epilogue_begins_with_what_won_without_it_and_has_its_own_winner),
    JOB_TEST(a_search_begins_with_winners_that_ship_unless_told_otherwise),
    JOB_TEST(every_strategy_finds_the_fastest_of_a_small_space),
    JOB_TEST(a_second_tuner_on_the_same_database_is_told_so),
    JOB_TEST(a_wrong_command_line_says_what_is_wrong),
};
const size_t job_test_count = sizeof job_tests / sizeof *job_tests;
