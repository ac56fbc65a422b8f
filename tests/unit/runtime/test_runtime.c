/* The runtime library without a GPU: which way is chosen, and that it gives the right answer. */
#include "runtime_fakes.h"

static const char *const rests[] = {
    "16x24x32",
    "5x7x3",
    "1x1x1",
    "20x12x0:beta=2",
    "0x5x3",
    "9x8x12:lda=20:ldb=24:ldc=28:alpha=2:beta=-1",
    "8x4x5:alpha=0:beta=3",
    "20x30x10:batch=5:alpha=0.5:beta=2",
    "4x8x4:batch=3:lda=12:ldb=8:ldc=16:stride_a=100:stride_b=40:stride_c=80:beta=1",
};
static const char *const ops[] = {"nn", "nt", "tn", "tt"};

/* Every kind of problem, through gt_plan and gt_launch and again through gt_gemm. */
static void right_for_all(const struct gt_options *options, const char *who)
{
    struct gt_handle *handle = open_handle(options);
    for (size_t o = 0; o < 4; o++)
        for (size_t r = 0; r < sizeof rests / sizeof *rests; r++) {
            char text[PROBLEM_TEXT_MAX], what[PROBLEM_TEXT_MAX + 144];
            snprintf(text, sizeof text, "sgemm:%s:%s", ops[o], rests[r]);
            struct operand_set set = operands_make(text, 0);
            struct gt_problem p = problem_of(text);
            struct gt_plan *plan = make_plan(handle, text);
            snprintf(what, sizeof what, "%s: %s by %.100s", who, text, info_of(plan).config);
            assert_gt(launch_set(plan, &set));
            operands_check(&set, 1, what);
            assert_gt(gemm_set(handle, &p, &set));
            operands_check(&set, 1, what);
            gt_plan_close(plan);
            operands_free(&set);
            *fake.launch_count = 0;
        }
    gt_close(handle);
}

/* The plan of a problem has this configuration, from there. */
static struct gt_plan_info assert_planned(struct gt_handle *handle, const char *problem,
                                          enum gt_source source, const char *config)
{
    const struct gt_plan_info info = info_of(make_plan(handle, problem));
    assert_int_equal(info.source, source);
    assert_string_equal(info.config, config);
    return info;
}

TEST(kernels_give_the_right_answer_for_every_op_layout_and_batch)
{
    for (size_t o = 0; o < 4; o++) {
        char text[64];
        snprintf(text, sizeof text, "sgemm:%s:16x16x16", ops[o]);
        put_winner(text, SIMT, 5, false);
    }
    const struct gt_options options = {.size = sizeof(struct gt_options), .flags = GT_NO_CUBLAS};
    right_for_all(&options, "kernels");
    assert_int_equal(*fake.blas_calls, 0);
}

TEST(cublas_gives_the_right_answer_for_every_op_layout_and_batch)
{
    const struct gt_options options = {.size = sizeof(struct gt_options), .database = "", .pretuned = ""};
    right_for_all(&options, "cuBLAS");
    assert_int_equal(*fake.compilations, 0);
    assert_true(*fake.blas_calls > 50);
}

TEST(plain_configurations_do_where_nothing_is_known_and_there_is_no_cublas)
{
    const struct gt_options options = {
        .size = sizeof(struct gt_options), .database = "", .pretuned = "", .flags = GT_NO_CUBLAS};
    right_for_all(&options, "plain");
    assert_true(*fake.compilations > 0);
}

TEST(the_user_s_winner_is_taken_for_its_problem)
{
    put_winner("sgemm:nn:512x256x128", SIMT_LARGE, 12.5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, "sgemm:nn:512x256x128");
    struct gt_plan_info info = info_of(plan);
    assert_int_equal(info.source, GT_EXACT);
    assert_string_equal(info.config, SIMT_LARGE);
    assert_string_equal(info.tuned_for, "sgemm:nn:512x256x128");
    assert_true(info.time_us == 12.5 && info.ratio == 1.25 && info.loss == 0);
    assert_int_equal(strlen(info.when), 20);
    assert_false(info.pretuned || info.uses_cublas || info.workspaces);
    struct operand_set set = operands_make("sgemm:nn:512x256x128", 0);
    *fake.computes = 0;
    assert_gt(launch_set(plan, &set));
    assert_int_equal(*fake.launch_count, 1);
    assert_int_equal(fake.launches[0].grid[0], 4 * 2);
    assert_int_equal(fake.launches[0].threads, 256);
    assert_int_equal(fake.launches[0].args.group, 4);
    operands_free(&set);
    gt_close(handle); /* closes the plan, too */
}

TEST(without_cublas_a_strict_winner_answers_for_tf32_with_the_same_module)
{
    put_winner("sgemm:nn:512x256x128", SIMT, 12.5, false);
    put_winner("tf32gemm:nn:64x64x128", SIMT, 12.5, false);
    struct gt_handle *handle = open_flagged(GT_NO_CUBLAS);
    struct gt_plan *strict = make_plan(handle, "sgemm:nn:512x256x128");
    assert_int_equal(*fake.loads, 1);
    struct gt_plan *plan = make_plan(handle, "tf32gemm:nn:512x256x128");
    assert_ptr_not_equal(plan, strict);
    assert_int_equal(*fake.loads, 1); /* its kernels compute strict FP32 for both */
    struct gt_plan_info info = info_of(plan);
    assert_int_equal(info.source, GT_EXACT);
    assert_string_equal(info.tuned_for, "sgemm:nn:512x256x128");
    assert_true(info.ratio == 0); /* to cuBLAS with TF32 */
    struct operand_set set = operands_make("tf32gemm:nn:512x256x128", 0);
    assert_gt(launch_set(plan, &set));
    operands_check(&set, 1, "a strict kernel for TF32");
    operands_free(&set);
    assert_int_equal(info_of(make_plan(handle, "tf32gemm:nn:64x64x128")).source, GT_EXACT);
    info = info_of(make_plan(handle, "sgemm:nn:64x64x128"));
    assert_int_not_equal(info.source, GT_EXACT); /* never the reverse */
    assert_string_not_equal(info.tuned_for, "tf32gemm:nn:64x64x128");
    gt_close(handle);
}

/* It was raced against cuBLAS in strict FP32; for TF32 cuBLAS may use the tensor cores. */
TEST(a_strict_winner_gives_way_to_cublas_with_tf32)
{
    static const char *const sizes[] = {"4096x4096x4096", "64x559104x148", "512x256x128"};
    for (size_t i = 0; i < 3; i++) {
        char strict[PROBLEM_TEXT_MAX], tf32[PROBLEM_TEXT_MAX];
        snprintf(strict, sizeof strict, "sgemm:nn:%s", sizes[i]);
        snprintf(tf32, sizeof tf32, "tf32gemm:nn:%s", sizes[i]);
        put_winner(strict, SIMT, 200, false);
        struct gt_handle *handle = open_handle(NULL);
        assert_planned(handle, strict, GT_EXACT, SIMT);
        assert_planned(handle, tf32, GT_FALLBACK, "cublas");
        gt_close(handle);
    }
}

TEST(tensor_cores_compute_where_tf32_is_asked_for_if_they_won_there)
{
    static const char text[] = "tf32gemm:nn:512x256x128";
    put_winner("sgemm:nn:512x256x128", SIMT, 12.5, false);
    put_winner(text, MMA_SPLIT, 6, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, text);
    struct gt_plan_info info = info_of(plan);
    assert_int_equal(info.source, GT_EXACT);
    assert_string_equal(info.config, MMA_SPLIT);
    assert_string_equal(info.tuned_for, text);
    struct operand_set set = operands_make(text, 0);
    *fake.launch_count = 0;
    assert_gt(launch_set(plan, &set));
    operands_check(&set, 1, "tensor cores");
    assert_int_equal(*fake.launch_count, 2); /* products of half of k each, and their sum */
    assert_int_equal(fake.launches[0].grid[0], 8 * 2);
    assert_int_equal(fake.launches[0].grid[1], 2);
    assert_int_equal(fake.launches[0].threads, 128);
    operands_free(&set);
    assert_string_equal(info_of(make_plan(handle, "sgemm:nn:512x256x128")).config, SIMT);
    gt_close(handle);
}

TEST(cublas_may_round_to_tf32_for_problems_of_that_type_alone)
{
    const struct gt_options options = {.size = sizeof(struct gt_options), .database = "", .pretuned = ""};
    static const char *const texts[] = {"sgemm:nn:64x64x64", "tf32gemm:nn:64x64x64", "tf32gemm:nt:64x64x64",
                                        "sgemm:nt:64x64x64"};
    static const int modes[] = {0, 3, 3, 0}; /* CUBLAS_DEFAULT_MATH, CUBLAS_TF32_TENSOR_OP_MATH */
    void *gpu = dlopen(FAKE_GPU, RTLD_NOW);
    const int *math = dlsym(gpu, "fake_blas_math");
    struct gt_handle *handle = open_handle(&options);
    for (size_t i = 0; i < 4; i++) {
        struct gt_plan *plan = make_plan(handle, texts[i]);
        assert_true(info_of(plan).uses_cublas);
        struct operand_set set = operands_make(texts[i], 0);
        assert_gt(launch_set(plan, &set));
        operands_check(&set, 1, texts[i]);
        if (*math != modes[i]) fail_msg("%s: %d, not %d", texts[i], *math, modes[i]);
        operands_free(&set);
    }
    gt_close(handle);
    dlclose(gpu);
}

static bool is_mma(const struct gt_plan_info *info)
{
    return strncmp(info->config, "mma ", 4) == 0;
}

/* As the nearest, predicted or the plainest choice, with cuBLAS and without: for TF32 alone. */
TEST(strict_problems_never_meet_tensor_cores)
{
    static const char *const known[] = {"512x512x512", "4096x4096x4096"};
    static const char *const asked[] = {"512x512x512", "500x512x516", "4096x4096x4096", "4096x4096x4000",
                                        "32768x64x8192"};
    static const unsigned flags[] = {0, GT_NO_CUBLAS};
    for (int predicted = 1; predicted >= 0; predicted--) {
        char text[PROBLEM_TEXT_MAX];
        for (size_t i = 0; i < 2; i++) {
            snprintf(text, sizeof text, "tf32gemm:nn:%s", known[i]);
            put_winner(text, MMA, 6, predicted);
        }
        snprintf(text, sizeof text, "tf32gemm:nn:%s", predicted ? "512x512x512" : "500x512x516");
        for (size_t f = 0; f < 2; f++) {
            struct gt_handle *handle = open_flagged(flags[f]);
            struct gt_plan_info info = info_of(make_plan(handle, text));
            assert_true(is_mma(&info));
            assert_int_equal(info.source, predicted ? GT_PREDICTED : GT_NEAREST);
            for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
                char strict[PROBLEM_TEXT_MAX];
                snprintf(strict, sizeof strict, "sgemm:nn:%s", asked[i]);
                info = info_of(make_plan(handle, strict));
                if (is_mma(&info)) fail_msg("%s by %s (%s)", strict, info.config, info.why);
                assert_int_not_equal(info.source, GT_EXACT);
            }
            gt_close(handle);
        }
    }
}

/* The type of what a plan launches satisfies the problem's, whoever answers: its own winner, one of another
 * class, the nearest, or the plainest choice. */
static void assert_strict_enough(struct gt_handle *handle, const char *text, int *of_class)
{
    struct problem p;
    struct config config;
    struct gt_plan *plan;
    enum gemm_type computed;
    struct gt_problem asked = problem_of(text);
    assert_ok(problem_parse(text, &p));
    assert_gt(gt_plan_open(handle, &asked, &plan));
    const struct gt_plan_info info = info_of(plan);
    if (strcmp(info.config, "cublas") == 0) return;
    assert_ok(config_parse(info.config, &config));
    if (gemm_type_has_limits(p.type) &&
        info.source == GT_FALLBACK) /* not measured: the order of k, by FFMA */
        assert_true(config_get(&config, "SPLIT_K") == 1 && config_get(&config, "WARPS_K") == 1);
    if (!template_type(config.template, p.type, &computed) || !gemm_type_satisfies(computed, p.type))
        fail_msg("%s by %s (%s)", text, info.config, info.why);
    *of_class += computed == GEMM_SGEMM_ACCURATE;
}

#define BF16X6 "bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132"

/* As the last check of a tune run stores it. */
static void put_checked(const char *problem, const char *config)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    struct db_winner w = {.base = {.time_us = 6, .anchor_us = 12, .ratio = 2, .cold = true, .exact = true},
                          .errors = {true, 1e-7, 3e-8, 1e-7},
                          .rival_errors = {true, 1e-7, 1e-7, 1e-7},
                          .checked = {12, 3, 512, 512, 1024, 0.44}};
    assert_ok(problem_parse(problem, &w.base.problem));
    assert_ok(config_parse(config, &w.config));
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    db_close(db);
}

#define CHECKED                                                                                              \
    "root mean square error 0.30 of cuBLAS's on uniform data; error at most 0.44 of FP32's on 12 kinds of "  \
    "data, within its bound on 3, at 512x512x1024"

TEST(a_plan_tells_what_was_checked_of_its_errors)
{
    char line[2048];
    put_checked("sgemm_accurate:nn:1024x1024x1024", BF16X6);
    put_checked("sgemm_accurate:nn:64x64x64", SIMT);
    put_winner("sgemm:nn:64x128x64", SIMT, 5, false);
    put_winner("tf32gemm:nn:1024x1024x1024", MMA, 5, false);
    put_raced("sgemm_accurate:nn:2048x1024x1024", BF16X6, 5, 0.9, false, false);
    pretuned_line(line, sizeof line, "sgemm_normwise:nn:4096x1024x1024", BF16X6, 6);
    snprintf(strstr(line, "\"more\""), 400,
             "\"errors\": {\"componentwise\": 1e-7, \"rms\": 3e-8, \"max\": 1e-7}, \"rival_errors\": "
             "{\"componentwise\": 1e-7, \"rms\": 1e-7, \"max\": 1e-7}, \"checked\": {\"kinds\": 12, "
             "\"bounded\": 3, \"m\": 512, \"n\": 512, \"k\": 1024, \"rms\": 0.44}}\n");
    put_text("h200.jsonl", line);
    static const char *const cases[][2] = {
        {"sgemm_accurate:nn:1024x1024x1024", CHECKED},
        {"sgemm_normwise:nn:1024x1024x1024", CHECKED}, /* the winner of the stricter class answers */
        {"sgemm_accurate:nn:1024x1000x1024", CHECKED}, /* and a similar problem's */
        {"sgemm_normwise:nn:4096x1024x1024", CHECKED}, /* what ships */
        {"sgemm_accurate:nn:64x64x64", "computed by FFMA; " CHECKED},
        {"sgemm_accurate:nn:64x128x64", "computed by FFMA; " CHECKED},
        {"sgemm_accurate:nn:2048x1024x1024", ""}, /* cuBLAS computes it */
        {"sgemm:nn:64x128x64", ""},
        {"tf32gemm:nn:1024x1024x1024", ""}};
    struct gt_handle *handle = open_handle(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct gt_plan_info info = info_of(make_plan(handle, cases[i][0]));
        if (strcmp(info.checked, cases[i][1]) != 0)
            fail_msg("%s by %s: '%s'", cases[i][0], info.config, info.checked);
    }
    gt_close(handle);
    handle = open_flagged(GT_NO_CUBLAS);
    assert_string_equal(info_of(make_plan(handle, "sgemm_accurate:tt:8x8x8")).checked, "computed by FFMA");
    gt_close(handle);
}

TEST(no_problem_meets_a_kernel_of_a_laxer_class)
{
    static const char *const types[] = {"sgemm", "sgemm_accurate", "sgemm_normwise", "tf32gemm"};
    const char *const configs[] = {SIMT, BF16X6, BF16X6, MMA};
    static const unsigned flags[] = {0, GT_NO_CUBLAS};
    int of_class = 0;
    char text[PROBLEM_TEXT_MAX];
    for (int tuned = 0; tuned < 4; tuned++) {
        snprintf(text, sizeof text, "%s:nn:%dx1024x1024", types[tuned], 1024 << tuned);
        put_winner(text, configs[tuned], 6, false);
    }
    for (size_t f = 0; f < 2; f++) {
        struct gt_handle *handle = open_flagged(flags[f]);
        for (int tuned = 0; tuned < 4; tuned++)
            for (int needed = 0; needed < 4; needed++)
                for (int off = 0; off <= 16; off += 16) {
                    snprintf(text, sizeof text, "%s:nn:%dx1024x1024", types[needed], (1024 << tuned) - off);
                    assert_strict_enough(handle, text, &of_class);
                }
        gt_close(handle);
    }
    assert_true(of_class >= 8); /* the class's own and the nearest, by both handles */
}

TEST(pretuned_winners_serve_until_the_user_has_measured)
{
    put_pretuned("sgemm:nn:512x256x128", SIMT_LARGE, 12);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan_info info = info_of(make_plan(handle, "sgemm:nn:512x256x128"));
    assert_true(info.source == GT_EXACT && info.pretuned);
    assert_string_equal(info.config, SIMT_LARGE);
    gt_close(handle);
    put_winner("sgemm:nn:512x256x128", SIMT_SPLIT, 1,
               true); /* a prediction says less than a measurement elsewhere */
    handle = open_handle(NULL);
    assert_string_equal(info_of(make_plan(handle, "sgemm:nn:512x256x128")).config, SIMT_LARGE);
    gt_close(handle);
    put_winner("sgemm:nn:512x256x128", SIMT, 99, false); /* slower, but measured here */
    handle = open_handle(NULL);
    info = info_of(make_plan(handle, "sgemm:nn:512x256x128"));
    assert_string_equal(info.config, SIMT);
    assert_false(info.pretuned);
    gt_close(handle);
}

/* The first test: what is wrong with the environment is said once in a process, by the first handle. */
TEST(a_workspace_that_is_no_size_is_said_and_the_default_is_used)
{
    static const char text[] = "sgemm:nn:512x256x128";
    put_winner(text, SIMT_SPLIT, 5, false);
    setenv("GEMMTUNE_WORKSPACE", "plenty", 1);
    stderr_catch();
    struct gt_handle *handle = open_handle(NULL);
    assert_string_equal(info_of(make_plan(handle, text)).config, SIMT_SPLIT);
    assert_non_null(strstr(stderr_release(), "GEMMTUNE_WORKSPACE 'plenty' is not a size"));
    unsetenv("GEMMTUNE_WORKSPACE");
    gt_close(handle);
}

/* SIMT_SPLIT takes 4 * 512 * 256 floats: 2 MiB. */
TEST(a_winner_that_takes_too_much_workspace_is_passed_over_and_that_is_said)
{
    static const char text[] = "sgemm:nn:512x256x128", other[] = "sgemm:nn:512x256x132";
    put_winner(text, SIMT_SPLIT, 5, false);
    put_winner(other, SIMT, 6, false);
    const struct {
        const char *environment;
        size_t bytes;
        bool taken;
    } cases[] = {{NULL, 0, true},  {NULL, 2 << 20, true}, {NULL, (2 << 20) - 1, false}, {NULL, 1, false},
                 {"1M", 0, false}, {"2M", 0, true},       {"1M", 2 << 20, true},        {"0", 0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].environment) setenv("GEMMTUNE_WORKSPACE", cases[i].environment, 1);
        const struct gt_options options = {.size = sizeof(struct gt_options),
                                           .workspace_bytes = cases[i].bytes};
        stderr_catch();
        struct gt_handle *handle = open_handle(&options);
        struct gt_plan *plan = make_plan(handle, text);
        struct gt_plan_info info = info_of(plan);
        const char *said = stderr_release();
        unsetenv("GEMMTUNE_WORKSPACE");
        assert_int_equal(info.source, cases[i].taken ? GT_EXACT : GT_NEAREST);
        assert_string_equal(info.config, cases[i].taken ? SIMT_SPLIT : SIMT);
        assert_int_equal(info.workspace_bytes, cases[i].taken ? 2 << 20 : 0);
        assert_int_equal(strstr(said, "takes 2.0 MiB of workspace") != NULL, !cases[i].taken);
        struct operand_set set = operands_make(text, 0);
        assert_gt(launch_set(plan, &set));
        operands_check(&set, 1, text);
        operands_free(&set);
        gt_close(handle);
    }
}

TEST(where_cublas_won_cublas_runs)
{
    put_winner("sgemm:nt:40x50x60", NULL, 7, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, "sgemm:nt:40x50x60");
    struct gt_plan_info info = info_of(plan);
    assert_true(info.source == GT_EXACT && info.uses_cublas);
    assert_string_equal(info.config, "cublas");
    struct operand_set set = operands_make("sgemm:nt:40x50x60", 0);
    assert_gt(launch_set(plan, &set));
    operands_check(&set, 1, "cuBLAS");
    assert_int_equal(*fake.launch_count, 0);
    operands_free(&set);
    gt_close(handle);
}

/* With an epilogue the rival is cublasLt. */
TEST(a_kernel_that_lost_its_race_runs_only_if_there_is_no_cublas_or_it_is_pinned)
{
    static const char *const more[] = {"", ":epilogue=relu"};
    for (int i = 0; i < 2 * LOST_RATIOS; i++) {
        const double ratio = lost_ratios[i / 2];
        char text[64];
        snprintf(text, sizeof text, "sgemm:nn:512x256x%d%s", 128 + 4 * i, more[i % 2]);
        put_raced(text, SIMT, 10, ratio, false, false);
        struct gt_handle *handle = open_handle(NULL);
        struct gt_plan *plan = make_plan(handle, text);
        struct gt_plan_info info = info_of(plan);
        assert_true(info.source == GT_EXACT && info.uses_cublas);
        assert_string_equal(info.config, "cublas");
        assert_true(fabs(info.time_us - 10 * ratio) < 1e-9 && info.ratio == ratio);
        assert_non_null(strstr(info.why, "cuBLAS won the race"));
        struct operand_set set = operands_make(text, 0);
        const struct gt_problem problem = problem_of(text);
        *fake.launch_count = *fake.blas_calls = *fake.lt_calls = 0;
        assert_gt(launch_set(plan, &set));
        assert_gt(gemm_set(handle, &problem, &set));
        assert_int_equal(*fake.launch_count, 0);
        assert_int_equal(*fake.blas_calls + *fake.lt_calls, 2);
        operands_free(&set);
        gt_close(handle);
        handle = open_flagged(GT_NO_CUBLAS);
        info = assert_planned(handle, text, GT_EXACT, SIMT);
        assert_true(info.time_us == 10 && info.ratio == ratio);
        assert_non_null(strstr(info.why, "slower than cuBLAS"));
        gt_close(handle);
        put_raced(text, SIMT, 10, ratio, false, true);
        handle = open_handle(NULL);
        info = assert_planned(handle, text, GT_EXACT, SIMT);
        assert_non_null(strstr(info.why, "pinned"));
        gt_close(handle);
    }
}

TEST(without_a_rival_a_kernel_is_used_and_so_is_one_that_is_just_faster)
{
    put_raced("sgemm:nn:512x256x128", SIMT, 10, 0, false, false);
    put_raced("sgemm:nn:256x256x128", SIMT, 10, 1.001, false, false);
    struct gt_handle *handle = open_handle(NULL);
    assert_planned(handle, "sgemm:nn:512x256x128", GT_EXACT, SIMT);
    assert_planned(handle, "sgemm:nn:256x256x128", GT_EXACT, SIMT);
    gt_close(handle);
}

TEST(a_similar_problem_s_winner_is_taken_with_an_estimate)
{
    put_winner("sgemm:nn:4096x4096x4096", SIMT_LARGE, 2500, false);
    put_winner("sgemm:nn:128x128x128", SIMT, 6, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan_info info = assert_planned(handle, "sgemm:nn:4000x4096x4096", GT_NEAREST, SIMT_LARGE);
    assert_string_equal(info.tuned_for, "sgemm:nn:4096x4096x4096");
    assert_true(info.time_us > 2000 && info.time_us < 3000);
    assert_true(info.loss > 0 && info.loss < 0.1);
    assert_string_equal(info_of(make_plan(handle, "sgemm:nn:120x128x160")).config, SIMT);
    gt_close(handle);
}

TEST(a_prediction_comes_before_the_model_s_own_choice)
{
    put_winner("sgemm:nn:64x64x65536", SIMT_SPLIT, 50, true);
    put_winner("sgemm:nn:4096x4096x4096", SIMT_LARGE, 2500, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan_info info = assert_planned(handle, "sgemm:nn:64x64x65536", GT_PREDICTED, SIMT_SPLIT);
    info = assert_planned(handle, "sgemm:nn:32768x32768x32768", GT_PREDICTED, SIMT_LARGE);
    assert_non_null(strstr(info.why, "nothing similar"));
    gt_close(handle);
}

TEST(a_winner_of_an_op_says_nothing_of_another)
{
    put_winner("sgemm:nn:64x64x64", SIMT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan_info info = info_of(make_plan(handle, "sgemm:tt:64x64x64"));
    assert_true(info.source == GT_PREDICTED || info.source == GT_FALLBACK);
    gt_close(handle);
}

TEST(narrow_operands_never_meet_wide_loads)
{
    put_winner("sgemm:nn:64x64x64", SIMT, 5, false);
    struct gt_handle *handle = open_flagged(GT_NO_CUBLAS);
    struct gt_plan *plan = make_plan(handle, "sgemm:nn:64x64x63"); /* rows of A are no multiple of 16 bytes */
    struct gt_plan_info info = info_of(plan);
    struct config config;
    assert_ok(config_parse(info.config, &config));
    assert_int_equal(config_get(&config, "VA"), 1);
    assert_string_not_equal(info.config, SIMT);
    gt_close(handle);
}

TEST(unaligned_addresses_are_noticed_at_the_launch)
{
    put_winner("sgemm:nn:64x64x64", SIMT, 5, false);
    static const unsigned flags[] = {0, GT_NO_CUBLAS};
    for (int i = 0; i < 2; i++) {
        struct gt_handle *handle = open_flagged(flags[i]);
        struct gt_plan *plan = make_plan(handle, "sgemm:nn:64x64x64");
        struct operand_set even = operands_make("sgemm:nn:64x64x64", 0),
                           odd = operands_make("sgemm:nn:64x64x64", 1);
        *fake.launch_count = *fake.blas_calls = 0;
        assert_gt(launch_set(plan, &odd));
        operands_check(&odd, 1, "unaligned");
        assert_int_equal(*fake.blas_calls, i == 0);
        int launched = *fake.launch_count;
        assert_int_equal(launched > 0, i == 1);
        assert_gt(launch_set(plan, &even));
        operands_check(&even, 1, "aligned");
        assert_int_equal(*fake.launch_count, launched + 1);
        int compiled = *fake.compilations;
        assert_gt(launch_set(plan, &odd)); /* the second time it is ready */
        operands_check(&odd, 1, "unaligned again");
        assert_int_equal(*fake.compilations, compiled);
        operands_free(&even);
        operands_free(&odd);
        gt_close(handle);
    }
}

TEST(a_plan_for_unaligned_operands_is_ready_for_them)
{
    put_winner("sgemm:nn:64x64x64", SIMT, 5, false);
    struct gt_handle *handle = open_flagged(GT_NO_CUBLAS);
    struct gt_problem p = problem_of("sgemm:nn:64x64x64");
    struct gt_plan *plan;
    p.alignment = 4;
    assert_gt(gt_plan_open(handle, &p, &plan));
    int compiled = *fake.compilations;
    struct operand_set odd = operands_make("sgemm:nn:64x64x64", 3);
    assert_gt(launch_set(plan, &odd));
    operands_check(&odd, 1, "alignment 4");
    assert_int_equal(*fake.compilations, compiled);
    float one = 1;
    char *bytes = (char *)odd.a;
    assert_gt_fails(launch(plan, &one, bytes + 1, odd.b, &one, odd.c, stream), GT_INVALID, "multiples of 4");
    operands_free(&odd);
    gt_close(handle);
}

TEST(gemm_tells_operands_apart_by_their_alignment)
{
    put_winner("sgemm:nn:64x64x64", SIMT, 5, false);
    struct gt_handle *handle = open_flagged(GT_NO_CUBLAS);
    struct gt_problem p = problem_of("sgemm:nn:64x64x64");
    for (int skew = 0; skew < 4; skew++) {
        struct operand_set set = operands_make("sgemm:nn:64x64x64", skew);
        for (int call = 0; call < 3; call++) {
            assert_gt(gemm_set(handle, &p, &set));
            operands_check(&set, 1, "gemm");
        }
        operands_free(&set);
    }
    assert_int_equal(*fake.compilations, 3); /* 16, 8 and 4 bytes */
    gt_close(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKES(a_workspace_that_is_no_size_is_said_and_the_default_is_used),
        ON_FAKES(kernels_give_the_right_answer_for_every_op_layout_and_batch),
        ON_FAKES(cublas_gives_the_right_answer_for_every_op_layout_and_batch),
        ON_FAKES(plain_configurations_do_where_nothing_is_known_and_there_is_no_cublas),
        ON_FAKES(the_user_s_winner_is_taken_for_its_problem),
        ON_FAKES(without_cublas_a_strict_winner_answers_for_tf32_with_the_same_module),
        ON_FAKES(a_strict_winner_gives_way_to_cublas_with_tf32),
        ON_FAKES(tensor_cores_compute_where_tf32_is_asked_for_if_they_won_there),
        ON_FAKES(cublas_may_round_to_tf32_for_problems_of_that_type_alone),
        ON_FAKES(strict_problems_never_meet_tensor_cores),
        ON_FAKES(a_plan_tells_what_was_checked_of_its_errors),
        ON_FAKES(no_problem_meets_a_kernel_of_a_laxer_class),
        ON_FAKES(pretuned_winners_serve_until_the_user_has_measured),
        ON_FAKES(a_winner_that_takes_too_much_workspace_is_passed_over_and_that_is_said),
        ON_FAKES(where_cublas_won_cublas_runs),
        ON_FAKES(a_kernel_that_lost_its_race_runs_only_if_there_is_no_cublas_or_it_is_pinned),
        ON_FAKES(without_a_rival_a_kernel_is_used_and_so_is_one_that_is_just_faster),
        ON_FAKES(a_similar_problem_s_winner_is_taken_with_an_estimate),
        ON_FAKES(a_prediction_comes_before_the_model_s_own_choice),
        ON_FAKES(a_winner_of_an_op_says_nothing_of_another),
        ON_FAKES(narrow_operands_never_meet_wide_loads),
        ON_FAKES(unaligned_addresses_are_noticed_at_the_launch),
        ON_FAKES(a_plan_for_unaligned_operands_is_ready_for_them),
        ON_FAKES(gemm_tells_operands_apart_by_their_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
