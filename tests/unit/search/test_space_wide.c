/* The wide spaces: samples of what cannot be listed, and the way to what is not in them. */
#include "described_gpu.h"
#include "files.h"
#include "scratch_folder.h"
#include "space.h"
#include "template.h"
#include "unit.h"
#include "workspace.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDE    GT_SOURCE_DIR "/configs/spaces/wide"
#define CURATED GT_SOURCE_DIR "/configs/spaces"
#define WINNERS GT_SOURCE_DIR "/configs/winners/h200.jsonl"

/* 50 ns each. */
#define CHECKS_MOST 3e7

static struct space *load(const char *path)
{
    struct space *space;
    assert_ok(space_load_all(path, &space));
    return space;
}

/* Candidates that compile alike and are launched alike: another GROUP may mean nothing. */
static bool runs_alike(const struct config *x, const struct config *y, const struct problem *p)
{
    struct launch_plan of_x, of_y;
    x->template->plan(x, p, &of_x);
    y->template->plan(y, p, &of_y);
    return config_same_kernel(x, y) && of_x.argument_bytes == of_y.argument_bytes &&
           memcmp(of_x.argument, of_y.argument, (size_t)of_x.argument_bytes) == 0;
}

TEST(every_kernel_that_ships_as_a_winner_is_in_the_wide_space_of_its_problem)
{
    struct space *space = load(WIDE);
    const struct gpu gpu = h200();
    FILE *file = fopen(WINNERS, "r");
    char line[8192];
    size_t all = 0, missing = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        json_t *row = json_loads(line, 0, NULL);
        const char *text = json_string_value(json_object_get(row, "config"));
        struct problem p;
        struct config winner, reached;
        assert_non_null(text);
        assert_ok(problem_parse(json_string_value(json_object_get(row, "problem")), &p));
        assert_ok(config_parse(text, &winner));
        reached = winner;
        const bool kernel = !template_is_library(winner.template);
        const bool found = kernel && space_reach(space, &p, &gpu, WORKSPACE_DEFAULT, false, &reached);
        if (kernel && (!found || !runs_alike(&winner, &reached, &p))) {
            print_error("not in the wide space: %s\n", text);
            missing++;
        }
        all += kernel;
        json_decref(row);
    }
    fclose(file);
    space_free(space);
    print_message("%zu winners\n", all);
    assert_true(all > 40);
    assert_int_equal(missing, 0);
}

/* What was found worth trying is possible. */
TEST(what_the_curated_spaces_list_is_in_the_wide_ones)
{
    static const char *const problems[] = {
        "2048x2048x2048",       "sgemm:nt:1536x4096x1024",          "4x5124x2560",
        "32x1605632x27",        "tf32gemm:nn:4096x4096x4096",       "bf16gemm:nn:1023x1025x1027",
        "hgemm:nt:8x4096x4096", "sgemm_accurate:nn:1024x1024x1024", "sgemm_normwise:nn:512x512x8192"};
    struct space *wide = load(WIDE), *curated = load(CURATED);
    const struct gpu gpu = h200();
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const struct problem p = problem_of(problems[i]);
        struct candidates c;
        size_t asked = 0, missing = 0;
        assert_ok(space_enumerate(curated, &p, &gpu, WORKSPACE_DEFAULT, &c));
        for (size_t k = 0; k < c.count; k += 1 + c.count / 20000) {
            struct config same = c.config[k];
            asked++;
            if (space_reach(wide, &p, &gpu, WORKSPACE_DEFAULT, false, &same) &&
                runs_alike(&same, &c.config[k], &p))
                continue;
            if (missing++ == 0) {
                char text[CONFIG_TEXT_MAX];
                config_format(&c.config[k], text);
                print_message("%s, the first that is not in the wide space: %s\n", problems[i], text);
            }
        }
        print_message("%s: %zu of %zu are not in the wide space\n", problems[i], missing, asked);
        assert_true(asked > 1000);
        assert_int_equal(missing, 0);
        candidates_free(&c);
    }
    space_free(wide);
    space_free(curated);
}

TEST(a_sample_is_legal_and_the_same_each_time_and_costs_little)
{
    static const char *const problems[] = {"4096x4096x4096", "32x1605632x27",
                                           "1x4096x4096",    "64x64x65536",
                                           "1001x333x77",    "559104x64x147",
                                           "1x1x1",          "sgemm:tt:512x512x512:batch=3",
                                           "700x35x2048",    "tf32gemm:nn:4096x4096x4096"};
    struct space *space = load(WIDE);
    struct gpu *gpus;
    size_t gpu_count;
    assert_ok(gpu_list(GT_SOURCE_DIR "/configs/gpus", &gpus, &gpu_count));
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const struct problem p = problem_of(problems[i]);
        const struct gpu *gpu = &gpus[i % gpu_count];
        struct candidates c, again;
        assert_ok(space_enumerate(space, &p, gpu, WORKSPACE_DEFAULT, &c));
        print_message("%s on %s: %zu of %.2g, rules asked %.2g times\n", problems[i], gpu->id, c.count,
                      c.legal, c.checks);
        assert_true(c.sampled && c.legal > 1e6);
        assert_true(c.count > 10000 && c.count < 1000000 && c.checks < CHECKS_MOST);
        for (size_t k = 0; k < c.count; k += 97)
            assert_null(c.config[k].template->check(&c.config[k], &p, gpu));
        if (i < 2) {
            assert_ok(space_enumerate(space, &p, gpu, WORKSPACE_DEFAULT, &again));
            assert_int_equal(again.count, c.count);
            for (size_t k = 0; k < c.count; k++) assert_true(config_equal(&again.config[k], &c.config[k]));
            candidates_free(&again);
        }
        candidates_free(&c);
    }
    free(gpus);
    space_free(space);
}

/* Of each ORDER, width and launch equally many are legal; of the warps' tiles only the first. */
#define EVEN                                                                                                 \
    "[simt]\nBM = 64 128\nBN = 64 128\nBK = 16 32 64\nWM = 32 33 35 37 39 41 43 45 47 49\nWN = 32 33 35 37 " \
    "39 41 "                                                                                                 \
    "43 45 47 49\nTM = 4\nTN = 8\nWARPS_K = 1\n"                                                             \
    "STAGES = 2 3 4\nLOADER = 0 1 2\nPACK = 0\nVA = 1 2 4\nVB = 1 2 4\nVC = 1 2 4\nUNROLL = 2 4 8 16 32\n"   \
    "STORE_AT = 0\nORDER = 0 1 2 3\nMIN_BLOCKS = 1 2 3 5 6 7 8\nREDUCE = 0\n"

static void numbers(char *text, size_t room, const char *name, int least, int most)
{
    size_t used = (size_t)snprintf(text, room, "%s =", name);
    for (int i = least; i <= most; i++) used += (size_t)snprintf(text + used, room - used, " %d", i);
    snprintf(text + used, room - used, "\n");
}

static size_t with_value(const struct candidates *c, int p, int value)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++) count += c->config[i].value[p] == value;
    return count;
}

TEST(each_candidate_is_as_likely_in_a_sample_as_any_other)
{
    char group[300], split[300], text[2000];
    numbers(group, sizeof group, "GROUP", 1, 30);
    numbers(split, sizeof split, "SPLIT_K", 1, 30);
    snprintf(text, sizeof text, "%s%s%s", EVEN, group, split);
    struct space *space;
    const struct gpu gpu = h200();
    const struct problem p = problem_of("65536x4096x65536");
    struct candidates c;
    const char *path = in_folder("even.conf");
    file_write(path, text);
    assert_ok(space_load(path, &space));
    assert_ok(space_enumerate(space, &p, &gpu, INT64_C(1) << 40, &c));
    print_message("%zu of %.3g\n", c.count, c.legal);
    assert_true(c.sampled);
    const struct template *t = template_find("simt");
    static const char *const even[] = {"VA", "VB", "VC", "ORDER"};
    for (size_t i = 0; i < sizeof even / sizeof *even; i++) {
        const int n = template_param(t, even[i]);
        const bool is_order = t->params[n].most == 3;
        const int values = is_order ? 4 : 3;
        for (int v = 0; v < values; v++) {
            const double share = (double)with_value(&c, n, is_order ? v : 1 << v) * values / (double)c.count;
            if (share < 0.9 || share > 1.1) fail_msg("%s: %g of what is even", even[i], share);
        }
    }
    const int g = template_param(t, "GROUP");
    for (int v = 1; v <= 30; v++) {
        const double share = (double)with_value(&c, g, v) * 30 / (double)c.count;
        if (share < 0.9 || share > 1.1) fail_msg("GROUP %d: %g of what is even", v, share);
    }
    candidates_free(&c);
    space_free(space);
}

/* Candidates of a sample with one value changed. */
TEST(neighbours_that_a_sample_lacks_are_reached_if_they_are_legal)
{
    static const char *const problems[] = {"2048x2048x2048", "4x5124x2560", "32x1605632x27"};
    struct space *space = load(WIDE);
    const struct gpu gpu = h200();
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const struct problem p = problem_of(problems[i]);
        struct candidates c;
        size_t itself = 0, asked = 0, legal = 0, reached = 0;
        assert_ok(space_enumerate(space, &p, &gpu, WORKSPACE_DEFAULT, &c));
        for (size_t k = 0; k < c.count; k += 53) {
            struct config same = c.config[k];
            asked++;
            if (space_reach(space, &p, &gpu, WORKSPACE_DEFAULT, false, &same))
                itself += runs_alike(&same, &c.config[k], &p);
            const struct config *other = &c.config[(k * 7919 + 13) % c.count];
            const struct template *t = c.config[k].template;
            const int n = (int)(k / 53) % t->param_count;
            struct config changed = c.config[k], found;
            if (other->template != t || other->value[n] == changed.value[n]) continue;
            changed.value[n] = other->value[n];
            found = changed;
            const bool there = space_reach(space, &p, &gpu, WORKSPACE_DEFAULT, false, &found);
            if (there) assert_null(found.template->check(&found, &p, &gpu));
            legal += !t->check(&changed, &p, &gpu);
            reached += there;
        }
        print_message("%s: %zu of %zu reach themselves; of changed ones %zu legal, %zu reached\n",
                      problems[i], itself, asked, legal, reached);
        assert_true(asked > 500 && itself * 100 >= asked * 97);
        assert_true(legal > 20 && reached * 10 >= legal * 9);
        candidates_free(&c);
    }
    space_free(space);
}

TEST(a_value_that_the_file_does_not_list_is_not_reached)
{
    struct space *space = load(WIDE);
    const struct gpu gpu = h200();
    const struct problem p = problem_of("2048x2048x2048");
    struct config c;
    assert_ok(
        config_parse("simt BM=128 BN=256 BK=8 WM=128 WN=32 TM=16 TN=8 WARPS_K=1 STAGES=2 LOADER=1 PACK=0 "
                     "VA=4 VB=4 VC=4 UNROLL=8 STORE_AT=4 ORDER=1 MIN_BLOCKS=1 REDUCE=0 GROUP=8 SPLIT_K=1",
                     &c));
    assert_true(space_reach(space, &p, &gpu, WORKSPACE_DEFAULT, false, &c));
    config_set(&c, "STORE_AT", 5);
    assert_null(c.template->check(&c, &p, &gpu));
    assert_false(space_reach(space, &p, &gpu, WORKSPACE_DEFAULT, false, &c));
    space_free(space);
}

TEST(all_launches_of_a_kernel_are_listed_once)
{
    struct space *space = load(WIDE);
    const struct gpu gpu = h200();
    const struct problem p = problem_of("256x256x1024");
    struct config c;
    struct candidates launches;
    assert_ok(
        config_parse("simt BM=64 BN=64 BK=16 WM=32 WN=64 TM=8 TN=8 WARPS_K=1 STAGES=3 LOADER=1 PACK=0 VA=4 "
                     "VB=4 VC=4 UNROLL=16 STORE_AT=8 ORDER=0 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1",
                     &c));
    assert_ok(space_launches(space, &p, &gpu, WORKSPACE_DEFAULT, &c, &launches));
    assert_true(launches.count > 20);
    for (size_t i = 0; i < launches.count; i++) {
        assert_true(config_same_kernel(&launches.config[i], &c));
        for (size_t k = 0; k < i; k++) assert_false(runs_alike(&launches.config[i], &launches.config[k], &p));
    }
    candidates_free(&launches);
    space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_that_ships_as_a_winner_is_in_the_wide_space_of_its_problem),
        cmocka_unit_test(what_the_curated_spaces_list_is_in_the_wide_ones),
        cmocka_unit_test(a_sample_is_legal_and_the_same_each_time_and_costs_little),
        FOLDER_TEST(each_candidate_is_as_likely_in_a_sample_as_any_other),
        cmocka_unit_test(neighbours_that_a_sample_lacks_are_reached_if_they_are_legal),
        cmocka_unit_test(a_value_that_the_file_does_not_list_is_not_reached),
        cmocka_unit_test(all_launches_of_a_kernel_are_listed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
