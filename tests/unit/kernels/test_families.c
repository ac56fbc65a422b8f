/* What holds for every family of kernels, whatever its rules are. */
#include "family_checks.h"

#include "gemm_block.h"

/* A configuration like one of family_texts.h, with other values. */
struct change {
    const char *name; /* NULL ends them */
    int value;
};

static struct config changed(const char *text, const struct change *change)
{
    struct config config = config_of(text);
    for (; change->name; change++) assert_true(config_set(&config, change->name, change->value));
    return config;
}

/* A family that is added to the list is added to family_texts.h and to the tables here, too. */
static void assert_complete(const char *const *texts, size_t count)
{
    for (size_t i = 0; i < template_count; i++) {
        bool found = !templates[i]->space; /* not searched: no family */
        for (size_t j = 0; j < count; j++) found |= config_of(texts[j]).template == templates[i];
        if (!found) fail_msg("%s is not among the families that are checked", templates[i]->name);
    }
}

/* Configurations with up to six values changed to anything, of the largest problem, too. */
TEST(no_value_however_insane_breaks_the_check)
{
    static const char *const legal[] = {
        SIMT_BASE, SKINNY_BASE, RESIDENT_BASE, RESIDENT_NARROW, TALL_BASE,       TALL_LOW,    STREAMK_BASE,
        MMA_BASE,  MMA16_BASE,  GEMV16_BASE,   WGMMA_BASE,      WGMMA_TF32_BASE, BF16X6_BASE, F16X3_BASE};
    static const int32_t values[] = {INT32_MIN, -1, 0,  1,   2,    3,     4,     5,
                                     8,         16, 64, 512, 1024, 65536, 46341, INT32_MAX};
    struct problem huge = problem_make(PROBLEM_DIM_MAX, PROBLEM_DIM_MAX, PROBLEM_DIM_MAX);
    assert_complete(legal, sizeof legal / sizeof *legal);
    for (size_t text = 0; text < sizeof legal / sizeof *legal; text++) {
        const struct config like = config_of(legal[text]);
        const struct template *t = like.template;
        uint64_t seed = 1;
        huge.type = template_first_type(t);
        for (int i = 0; i < 200000; i++) {
            struct config config = like;
            bool in_range = true;
            for (uint64_t changes = 1 + stats_random_below(&seed, 6); changes > 0; changes--)
                config.value[stats_random_below(&seed, (uint64_t)t->param_count)] =
                    values[stats_random_below(&seed, sizeof values / sizeof *values)];
            for (int p = 0; p < t->param_count; p++)
                in_range =
                    in_range && config.value[p] >= t->params[p].least && config.value[p] <= t->params[p].most;
            const char *why = check(&config, i % 2 ? &huge : NULL, i % 3 ? &h200 : NULL);
            if (!in_range && !why) fail_msg("%s: a value outside its range was taken", t->name);
        }
    }
}

TEST(an_empty_c_launches_nothing_and_an_empty_k_one_kernel)
{
    static const struct {
        const char *text;
        struct change change[6];
        const char *no_rows, *no_columns, *no_k;
    } cases[] = {
        /* An empty row has a leading dimension of 1, which fits no vector. */
        {SIMT_BASE, {{"SPLIT_K", 4}, {"VA", 1}, {"VB", 1}, {"VC", 1}}, "0x8x8", "8x0x8", "8x8x0"},
        {SKINNY_BASE, {{"SPLIT_K", 4}, {"VX", 1}, {"VS", 1}, {"VC", 1}}, "0x128x64", "8x0x64", "8x128x0"},
        {RESIDENT_BASE, {{"VS", 1}, {"VC", 1}}, "0x8x8", "8x0x8", "8x8x0"},
        {TALL_BASE, {{"SMS", 1}, {"VC", 1}}, "0x8x7", "8x0x7", "8x8x0:lda=1"},
        {STREAMK_BASE,
         {{"MIN_BLOCKS", 1}, {"SMS", 1}, {"VA", 1}, {"VB", 1}, {"VC", 1}},
         "0x8x8",
         "8x0x8",
         "8x8x0"},
        {MMA_BASE,
         {{"SPLIT_K", 4}, {"VA", 1}, {"VB", 1}, {"VC", 1}},
         "tf32gemm:nn:0x64x64",
         "tf32gemm:nn:64x0x64",
         "tf32gemm:nn:64x64x0"},
        {MMA16_BASE,
         {{"SPLIT_K", 4}, {"VA", 1}, {"VB", 1}, {"VC", 1}},
         "hgemm:nn:0x64x64",
         "hgemm:nn:64x0x64",
         "hgemm:nn:64x64x0"},
        {GEMV16_BASE,
         {{"SPLIT_K", 4}, {"VX", 1}, {"VS", 1}, {"VC", 1}},
         "hgemm:nt:0x64x64",
         "hgemm:nt:8x0x64",
         "hgemm:nt:8x64x0"},
        {WGMMA_BASE,
         {{"SPLIT_K", 4}, {"VC", 1}},
         "hgemm:nn:0x64x64",
         "hgemm:nn:64x0x64:ldb=8",
         "hgemm:tn:64x64x0"},
        {WGMMA_TF32_BASE,
         {{"SPLIT_K", 4}},
         "tf32gemm:nt:0x64x64",
         "tf32gemm:nt:64x0x64",
         "tf32gemm:nt:64x64x0:lda=4:ldb=4"},
        {BF16X6_BASE,
         {{"VC", 1}},
         "sgemm_accurate:nn:0x64x64",
         "sgemm_accurate:nn:64x0x64",
         "sgemm_accurate:nn:64x64x0"},
        {F16X3_BASE,
         {{"VC", 1}},
         "sgemm_normwise:nn:0x64x64",
         "sgemm_normwise:nn:64x0x64",
         "sgemm_normwise:nn:64x64x0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct config config = changed(cases[i].text, cases[i].change);
        const char *const empty[] = {cases[i].no_rows, cases[i].no_columns, cases[i].no_k};
        for (int e = 0; e < 3; e++) {
            const struct problem p = problem_of(empty[e]);
            const char *why = check(&config, &p, &h200);
            if (why) fail_msg("%s: %s: refused: %s", config.template->name, empty[e], why);
            const struct launch_plan plan = plan_of(&config, &p);
            if (plan.kernels != (e == 2))
                fail_msg("%s: %s: %d kernels", config.template->name, empty[e], plan.kernels);
            if (e == 2) assert_int_equal(gemm_args_in(&plan).splits, 1);
        }
    }
}

TEST(long_batches_are_cut_by_the_grid)
{
    static const struct {
        const char *text;
        struct change change[2];
        const char *problem;
    } cases[] = {{SIMT_BASE, {{0}}, "64x64x64:batch=70000"},
                 {RESIDENT_BASE, {{0}}, "64x64x64:batch=70000"},
                 {TALL_BASE, {{"SMS", 1}}, "nn:256x64x63:batch=70000"},
                 {MMA_BASE, {{0}}, "tf32gemm:nn:64x64x64:batch=70000"},
                 {MMA16_BASE, {{0}}, "bf16gemm:nn:64x64x64:batch=70000"},
                 {GEMV16_BASE, {{0}}, "bf16gemm:nt:8x64x64:batch=70000"},
                 {WGMMA_BASE, {{0}}, "bf16gemm:nn:64x64x64:batch=70000"},
                 {WGMMA_TF32_BASE, {{0}}, "tf32gemm:nt:64x64x64:batch=70000"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct config config = changed(cases[i].text, cases[i].change);
        const struct problem p = problem_of(cases[i].problem);
        const struct launch_plan plan = plan_of(&config, &p);
        if (plan.batch_per_launch != 65535 || plan.kernel[0].grid[2] != 65535)
            fail_msg("%s: %d items a launch, a grid of %u", config.template->name, (int)plan.batch_per_launch,
                     plan.kernel[0].grid[2]);
    }
}

TEST(a_gpu_without_the_instructions_or_with_fewer_sms_refuses)
{
    static const struct {
        const char *text;
        int arch, sm_count;
        const char *part;
    } cases[] = {{SIMT_BASE, 75, 132, "cp.async"},
                 {SKINNY_BASE, 75, 132, "cp.async"},
                 {RESIDENT_BASE, 75, 132, "cp.async"},
                 {RESIDENT_BASE, 90, 131, "SMS is more than the GPU has"},
                 {TALL_BASE, 75, 132, "cp.async"},
                 {TALL_BASE, 90, 131, "SMS is more than the GPU has"},
                 {STREAMK_BASE, 75, 132, "cp.async"},
                 {STREAMK_BASE, 90, 131, "SMS is more than the GPU has"},
                 {MMA_BASE, 75, 132, "mma.sync tf32 needs sm_80"},
                 {MMA16_BASE, 75, 132, "mma.sync with k 16"},
                 {GEMV16_BASE, 75, 132, "mma.sync with k 16"},
                 {BF16X6_BASE, 89, 132, "wgmma exists on sm_90 alone"},
                 {BF16X6_BASE, 90, 131, "SMS is more than the GPU has"},
                 {F16X3_BASE, 89, 132, "wgmma exists on sm_90 alone"},
                 {F16X3_BASE, 90, 131, "SMS is more than the GPU has"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct config config = config_of(cases[i].text);
        struct gpu gpu = h200;
        gpu.arch = cases[i].arch;
        gpu.sm_count = cases[i].sm_count;
        const char *why = check(&config, NULL, &gpu);
        if (!why) fail_msg("%s: taken, though: %s", config.template->name, cases[i].part);
        if (!strstr(why, cases[i].part))
            fail_msg("%s: '%s' lacks '%s'", config.template->name, why, cases[i].part);
        assert_taken(check(&config, NULL, &h200));
    }
}

/* Every header that a text includes by name must be handed to the compiler, except the one of the CPU
 * execution. */
TEST(the_texts_include_only_each_other)
{
    assert_true(template_count > 0);
    for (size_t number = 0; number < template_count; number++) {
        const struct template *t = templates[number];
        int includes = 0;
        for (int i = 0; t->sources[i].name; i++)
            for (const char *at = t->sources[i].text; (at = strstr(at, "#include \"")); at++) {
                char name[64];
                bool found = false;
                assert_int_equal(sscanf(at, "#include \"%63[^\"]\"", name), 1);
                for (int j = 0; t->sources[j].name; j++) found = found || !strcmp(t->sources[j].name, name);
                if (!found && strcmp(name, "gt_cpu.h") != 0)
                    fail_msg("%s: %s is not among the sources", t->name, name);
                includes++;
            }
        if (includes < template_source_count(t) - 1) fail_msg("%s: a source that none includes", t->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_value_however_insane_breaks_the_check),
        cmocka_unit_test(an_empty_c_launches_nothing_and_an_empty_k_one_kernel),
        cmocka_unit_test(long_batches_are_cut_by_the_grid),
        cmocka_unit_test(a_gpu_without_the_instructions_or_with_fewer_sms_refuses),
        cmocka_unit_test(the_texts_include_only_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
