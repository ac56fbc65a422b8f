#include "described_gpu.h"
#include "files.h"
#include "gemm_block.h"
#include "scratch_folder.h"
#include "space.h"
#include "template.h"
#include "unit.h"
#include "workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SHIPPED GT_SOURCE_DIR "/configs/spaces"

/* The walk of the shipped space asks half as often, at 50 ns a time. */
#define CHECKS_MAX 2e7

/* A space file with the given text; the caller unlinks it. */
static void write_file(char path[64], const char *text)
{
    strcpy(path, "/tmp/gemmtune_space_XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static struct space *load(const char *text)
{
    char path[64];
    write_file(path, text);
    struct space *space;
    assert_ok(space_load(path, &space));
    unlink(path);
    return space;
}

/* The file is refused, at that line and for that reason. */
static void refused(const char *text, int line, const char *why)
{
    char path[64], place[80];
    write_file(path, text);
    snprintf(place, sizeof place, "%s:%d: ", path, line);
    struct space *space;
    assert_fails(space_load(path, &space), E_INPUT, why);
    if (line > 0) assert_non_null(strstr(status_text(), place));
    unlink(path);
}

static size_t enumerate(const char *text, const char *shape, struct candidates *candidates)
{
    struct space *space = load(text);
    struct gpu gpu = h200();
    struct problem p = problem_of(shape);
    assert_ok(space_enumerate(space, &p, &gpu, WORKSPACE_DEFAULT, candidates));
    space_free(space);
    return candidates->count;
}

#define RUNG "[ladder_shared]\n" /* BM, BN, BK; at most 1024 threads of one element each */

TEST(values_come_in_the_order_of_the_file_the_last_parameter_fastest)
{
    struct candidates c;
    assert_int_equal(enumerate(RUNG "BM = 8 4\nBN = 16\nBK = 2 8\n", "64x64x64", &c), 4);
    const int expected[4][3] = {{8, 16, 2}, {8, 16, 8}, {4, 16, 2}, {4, 16, 8}};
    for (int i = 0; i < 4; i++)
        for (int p = 0; p < 3; p++) assert_int_equal(c.config[i].value[p], expected[i][p]);
    assert_true(c.raw_count == 4);
    candidates_free(&c);
}

TEST(what_the_rules_refuse_is_left_out_and_counted_as_raw)
{
    struct candidates c;
    assert_int_equal(enumerate(RUNG "BM = 16 64\nBN = 16 64\nBK = 16\n", "64x64x64", &c), 3);
    assert_true(c.raw_count == 4);
    candidates_free(&c);
}

TEST(reasons_comments_blank_lines_and_continuations_are_understood)
{
    struct candidates c;
    const char *text =
        "# head\n\n" RUNG "; note\nBM = 8 ; eight; because\n  # inside\nBN = 8 16\n   32 ; more\n"
        "BK: 4\n";
    assert_int_equal(enumerate(text, "64x64x64", &c), 3);
    candidates_free(&c);
}

TEST(a_long_reason_does_not_cut_values)
{
    char text[2000];
    snprintf(text, sizeof text, RUNG "BM = 8 16 ; %0800d\nBN = 8\nBK = 4\n", 0);
    struct candidates c;
    assert_int_equal(enumerate(text, "64x64x64", &c), 2);
    candidates_free(&c);
}

TEST(first_takes_the_first_value_that_is_legal)
{
    struct candidates c;
    enumerate(RUNG "BM = 8 64 256\nBN = first 64 16 4\nBK = 4\n", "64x64x64", &c);
    assert_int_equal(c.count, 3);
    assert_int_equal(c.config[0].value[1], 64);
    assert_int_equal(c.config[1].value[1], 16);
    assert_int_equal(c.config[2].value[1], 4);
    candidates_free(&c);
}

TEST(sections_of_one_template_are_united_without_repeats)
{
    struct candidates c;
    const char *text = RUNG "BM = 8 16\nBN = 8\nBK = 4\n[ladder_shared tall]\nBM = 16 32\n";
    assert_int_equal(enumerate(text, "64x64x64", &c), 3);
    assert_int_equal(c.config[2].value[0], 32);
    assert_true(c.raw_count == 4);
    candidates_free(&c);
}

TEST(several_templates_share_a_file)
{
    struct candidates c;
    enumerate(RUNG "BM = 8\nBN = 8\nBK = 4\n[ladder_naive]\nBM = 8\nBN = 8 16\n", "64x64x64", &c);
    assert_int_equal(c.count, 3);
    assert_string_equal(c.config[0].template->name, "ladder_shared");
    assert_string_equal(c.config[2].template->name, "ladder_naive");
    candidates_free(&c);
}

TEST(wrong_files_are_refused_with_line_and_reason)
{
    refused("[nothing]\nBM = 1\n", 2, "[nothing] begins with no kernel template");
    refused("BM = 1\n", 1, "BM stands before the first [template]");
    refused(RUNG "BM = 8\nBX = 1\n", 3, "ladder_shared has no parameter BX");
    refused(RUNG "BM = 8 1000\n", 2, "BM: 1000 is not a whole number in 1..256");
    refused(RUNG "BM = 8 8.5\n", 2, "BM: 8.5 is not a whole number");
    refused(RUNG "BM = 8 x\n", 2, "BM: x is not a whole number");
    refused(RUNG "BM = 99999999999999999999\n", 2, "is not a whole number");
    refused(RUNG "BM = 8 16 8\n", 2, "BM: 8 is listed twice");
    refused(RUNG "BM = 8\nBM = 16\n", 3, "BM is given twice");
    refused(RUNG "BM =\n", 2, "BM: no value");
    refused(RUNG "BM = first\n", 2, "BM: no value");
    refused(RUNG "BM = ; all of them\n", 2, "BM: no value");
    refused(RUNG "BM 8\n", 2, "not a [template] or NAME = VALUES line");
    refused("[ladder_shared\nBM = 8\n", 1, "not a [template] or NAME = VALUES line");
    refused(RUNG "BM = 8\nBN = 8\n", 2, "[ladder_shared] lacks a line for BK");
    refused(RUNG "BM = 8\nBN = 8\nBK = 4\n[ladder_naive]\nBM = 8\n" RUNG "BM = 8\n", 8, "is given twice");
    refused("", 0, "holds no [template] with values");
    refused("# only a comment\n", 0, "holds no [template] with values");
}

TEST(the_first_of_several_errors_is_reported)
{
    refused(RUNG "BM = 0\nBN = 0\nnonsense\n", 2, "BM: 0 is not");
    refused(RUNG "nonsense\nBN = 0\n", 2, "not a [template]");
}

TEST(a_line_that_the_library_would_cut_is_refused)
{
    char text[600] = RUNG "BM = ";
    for (int i = 1; i <= 60; i++) snprintf(text + strlen(text), 8, "%d ", i + 100);
    strcat(text, "\n");
    refused(text, 2, "longer than 190 characters");
}

TEST(a_missing_file_names_itself)
{
    struct space *space;
    assert_fails(space_load("/nowhere/simt.conf", &space), E_IO, "/nowhere/simt.conf");
    space_free(NULL);
}

TEST(when_nothing_is_legal_the_commonest_reason_is_told)
{
    struct space *space = load(RUNG "BM = 64 128 256\nBN = 64 128\nBK = 16\n");
    struct gpu gpu = h200();
    struct problem p = problem_of("64x64x64");
    struct candidates c;
    assert_fails(space_enumerate(space, &p, &gpu, WORKSPACE_DEFAULT, &c), E_ABSENT,
                 "a block holds at most 1024 threads");
    assert_non_null(strstr(status_text(), "sgemm:nn:64x64x64"));
    assert_int_equal(c.count, 0);
    assert_null(c.config);
    space_free(space);
}

/* The folder with the given texts, NULL means none, as its files; until the next call. */
static const char *folder_with(const char *skinny, const char *simt)
{
    if (skinny) file_write(in_folder("skinny.conf"), skinny);
    else unlink(in_folder("skinny.conf"));
    if (simt) file_write(in_folder("simt.conf"), simt);
    else unlink(in_folder("simt.conf"));
    return folder;
}

#define ONE_SIMT                                                                                             \
    "[simt]\nBM = 64\nBN = 64\nBK = 16\nWM = 32\nWN = 32\nTM = 4\nTN = 8\nSTAGES = 2\nLOADER = 0\nPACK = "   \
    "0\n"                                                                                                    \
    "VA = 4\nVB = 4\nVC = 4\nUNROLL = 16\nSTORE_AT = 8\nMIN_BLOCKS = 1\nREDUCE = 0\nGROUP = 8\nSPLIT_K = "   \
    "1\n"
#define ONE_SKINNY                                                                                           \
    "[skinny]\nSIDE = 0\nROWS = 8\nTX = 4\nVX = 4\nVS = 4\nVC = 4\nLANES_X = 32\nWARPS_X = 1\nWARPS_K = "    \
    "8\nDEPTH = 2\n"                                                                                         \
    "STEPS = 4\nLOADER = 1\nMIN_BLOCKS = 2\nSPLIT_K = 1\n"

TEST(a_folder_is_the_union_of_its_files_and_a_family_without_one_is_not_searched)
{
    static const char *const texts[][2] = {{ONE_SKINNY, ONE_SIMT}, {ONE_SKINNY, NULL}, {NULL, NULL}};
    struct gpu gpu = h200();
    struct problem p = problem_of("8x4096x4096");
    for (size_t i = 0; i < 3; i++) {
        struct space *space;
        struct candidates c;
        const char *of = folder_with(texts[i][0], texts[i][1]);
        if (i == 2) assert_fails(space_load_all(of, &space), E_IO, "holds no space file");
        else {
            assert_ok(space_load_all(of, &space));
            assert_ok(space_enumerate(space, &p, &gpu, WORKSPACE_DEFAULT, &c));
            assert_int_equal(c.count, 2 - i);
            assert_string_equal(c.config[0].template->name,
                                i == 0 ? "simt" : "skinny"); /* in the table's order */
            candidates_free(&c);
            space_free(space);
        }
    }
}

TEST(of_a_folder_the_file_that_is_wrong_is_named)
{
    struct space *space;
    assert_fails(space_load_all(folder_with(ONE_SKINNY ONE_SIMT, ONE_SIMT), &space), E_INPUT,
                 "skinny.conf:17: [simt] is given twice");
    assert_fails(space_load_all(folder_with("[skinny]\nSIDE = 0\n", ONE_SIMT), &space), E_INPUT,
                 "skinny.conf:2: [skinny] lacks a line for ROWS");
}

static void enumerate_shipped(const char *shape, const struct gpu *gpu, struct candidates *c)
{
    struct space *space;
    struct problem p = problem_of(shape);
    assert_ok(space_load_all(SHIPPED, &space));
    clock_t begin = clock();
    assert_ok(space_enumerate(space, &p, gpu, WORKSPACE_DEFAULT, c));
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    print_message("%s on %s: %.3g raw, %zu legal, rules asked %.3g times, %.0f ms\n", shape, gpu->id,
                  c->raw_count, c->count, c->checks, 1e3 * seconds);
    assert_true(c->checks < CHECKS_MAX);
    assert_true(c->count * sizeof *c->config < 100 << 20);
    space_free(space);
}

TEST(the_shipped_space_is_enumerated_in_time_and_memory_for_any_shape)
{
    const char *const shapes[] = {"4096x4096x4096", "32x1605632x27",  "1x4096x4096",
                                  "64x64x65536",    "4095x4097x4093", "3333x5x3333",
                                  "1x1x1",          "5x7x0",          "sgemm:tt:512x512x512:batch=3"};
    struct gpu gpu = h200();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct candidates c;
        enumerate_shipped(shapes[i], &gpu, &c);
        struct problem p = problem_of(shapes[i]);
        for (size_t k = 0; k < c.count; k += 97)
            assert_null(c.config[k].template->check(&c.config[k], &p, &gpu));
        candidates_free(&c);
    }
}

TEST(the_shipped_space_has_candidates_on_every_gpu)
{
    struct gpu *gpus;
    size_t count;
    assert_ok(gpu_list(GT_SOURCE_DIR "/configs/gpus", &gpus, &count));
    for (size_t i = 0; i < count; i++) {
        struct candidates c;
        enumerate_shipped("1000x1000x1000", &gpus[i], &c);
        assert_true(c.count > 10000);
        candidates_free(&c);
    }
    free(gpus);
}

TEST(no_two_candidates_run_alike)
{
    /* K = 27 has two tiles of 16: SPLIT_K beyond 2 changes nothing. */
    struct gpu gpu = h200();
    struct candidates c;
    enumerate_shipped("32x1605632x27", &gpu, &c);
    struct problem p = problem_of("32x1605632x27");
    for (size_t i = 1; i < c.count; i++) {
        assert_false(config_equal(&c.config[i], &c.config[i - 1]));
        if (!config_same_kernel(&c.config[i], &c.config[i - 1])) continue;
        struct launch_plan x, y;
        c.config[i].template->plan(&c.config[i], &p, &x);
        c.config[i].template->plan(&c.config[i - 1], &p, &y);
        const struct gemm_args of_x = gemm_args_in(&x), of_y = gemm_args_in(&y);
        assert_true(of_x.splits != of_y.splits || of_x.group != of_y.group || of_x.counters != of_y.counters);
    }
    candidates_free(&c);
}

/* nt through registers alone: nothing is copied into further stages. */
TEST(what_has_no_effect_is_left_out_and_stays_legal)
{
    static const char text[] =
        "[simt]\nBM = 64\nBN = 64\nBK = 16\nWM = 32\nWN = 32\nTM = 4\nTN = 8\nSTAGES = %s\n"
        "LOADER = 0 1 2\nPACK = %s\nVA = 4\nVB = 4\nVC = 4\nUNROLL = 8\nSTORE_AT = 4\nMIN_BLOCKS = 1\n"
        "REDUCE = 0\nGROUP = 1\nSPLIT_K = 1\n";
    static const struct {
        const char *op, *stages, *pack;
        size_t count;
    } cases[] = {
        {"nn", "2 3 4", "0", 1 + 3 + 2},         {"tn", "2 3 4", "0", 1 + 3 + 2},
        {"tt", "2 3 4", "0", 1 + 3 + 2},         {"nt", "2 3 4", "0", 1 + 0 + 1},
        {"nt", "3 4", "0", 2 + 0 + 1},           /* 2 is not there to take its place */
        {"nt", "2 3 4", "first 0 1", 1 + 3 + 1}, /* LOADER 1 needs a packed operand with nt */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char shape[64], filled[sizeof text + 64];
        struct candidates c;
        snprintf(shape, sizeof shape, "sgemm:%s:256x256x256", cases[i].op);
        snprintf(filled, sizeof filled, text, cases[i].stages, cases[i].pack);
        assert_int_equal(enumerate(filled, shape, &c), cases[i].count);
        candidates_free(&c);
    }
}

TEST(what_is_redundant_is_legal_and_reached_if_it_was_tried)
{
    struct space *space;
    struct config more, reached;
    const struct gpu gpu = h200();
    const struct problem p = problem_of("sgemm:nt:256x256x256");
    int32_t instead;
    assert_ok(
        config_parse("simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 WARPS_K=1 STAGES=4 LOADER=2 PACK=0 VA=4 "
                     "VB=4 VC=4 UNROLL=16 STORE_AT=8 ORDER=0 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1",
                     &more));
    assert_null(more.template->check(&more, &p, &gpu));
    const int of = more.template->redundant(&more, more.template->param_count, &p, &instead);
    assert_int_equal(of, template_param(more.template, "STAGES"));
    assert_int_equal(instead, 3);
    assert_ok(space_load(SHIPPED "/wide/simt.conf", &space));
    reached = more;
    assert_false(space_reach(space, &p, &gpu, WORKSPACE_DEFAULT, false, &reached));
    assert_true(space_reach(space, &p, &gpu, WORKSPACE_DEFAULT, true, &reached));
    assert_true(config_equal(&reached, &more));
    space_free(space);
}

/* A legal candidate is not given up for values that come later: the walk leaves the last ones there. */
TEST(no_prefix_of_a_legal_candidate_is_refused_whatever_follows)
{
    static const char *const shapes[] = {"sgemm:nn:1001x14x777", "sgemm:tt:512x512x512",
                                         "sgemm:nt:9x4096x4096", "sgemm:nn:64x100000x147"};
    struct gpu gpu = h200();
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct candidates c;
        struct problem p = problem_of(shapes[s]);
        enumerate_shipped(shapes[s], &gpu, &c);
        for (size_t i = 0; i < c.count; i += 211) {
            const struct template *t = c.config[i].template;
            for (int known = 0; known < t->param_count && t->check_prefix; known++) {
                struct config other = c.config[i];
                const struct config *from = &c.config[(i * 7919 + 13) % c.count];
                for (int j = known; j < t->param_count; j++) other.value[j] = from->value[j];
                const char *why = t->check_prefix(&other, known, &p, &gpu);
                if (why) fail_msg("%s, %d values of %s: %s", shapes[s], known, t->name, why);
            }
        }
        candidates_free(&c);
    }
}

TEST(pruning_by_prefix_loses_nothing)
{
    const char *text =
        "[simt]\nBM = 32 96\nBN = 64\nBK = 8 16\nWM = 16 32 48\nWN = 32 64\nTM = 4 8 12\nTN = 4 8\n"
        "STAGES = 2 8\nLOADER = 0 1\nPACK = 0 3\nVA = first 4 1\nVB = first 4 1\nVC = first 4 2 1\n"
        "UNROLL = 8 16\nSTORE_AT = 4 8\nMIN_BLOCKS = 1 4\nREDUCE = 0 1\nGROUP = 1\nSPLIT_K = 1 2\n";
    struct candidates pruned;
    enumerate(text, "512x514x512", &pruned);
    const struct template *t = template_find("simt");
    struct gpu gpu = h200();
    struct problem p = problem_of("512x514x512");
    for (size_t i = 0; i < pruned.count; i++) {
        const struct config *c = &pruned.config[i];
        for (int known = 1; known <= t->param_count; known++)
            assert_null(t->check_prefix(c, known, &p, &gpu));
        assert_null(t->check(c, &p, &gpu));
    }
    /* Whatever a prefix refuses, the whole check refuses, too. */
    struct config c = pruned.config[0];
    for (int q = 0; q < t->param_count; q++)
        for (int32_t v = t->params[q].least; v <= t->params[q].most && v < 40; v++) {
            struct config changed = c;
            changed.value[q] = v;
            for (int known = 1; known <= t->param_count; known++)
                if (t->check_prefix(&changed, known, &p, &gpu)) assert_non_null(t->check(&changed, &p, &gpu));
        }
    candidates_free(&pruned);
}

TEST(a_space_beyond_bounds_is_refused_with_a_sentence)
{
    char text[4000] =
        "[simt]\nBM = 64\nBN = 64\nBK = 32\nWM = 32\nWN = 32\nTM = 4\nTN = 8\nSTAGES = 2 3 4 5\n"
        "LOADER = 0 1\nPACK = 0\nVA = 1 2 4\nVB = 1 2 4\nVC = 1 2 4\nUNROLL = 2 4 8 16 32\nSTORE_AT = 0 1 2 "
        "3\n"
        "MIN_BLOCKS = 1 2 3 4\nREDUCE = 0\nGROUP =";
    for (int i = 1; i <= 30; i++) snprintf(text + strlen(text), 8, " %d", i);
    strcat(text, "\nSPLIT_K = 1 2 3 4 5 6 7 8\n");
    struct space *space = load(text);
    struct gpu gpu = h200();
    struct problem p = problem_of("4096x512x4096");
    struct candidates c;
    assert_fails(space_enumerate(space, &p, &gpu, WORKSPACE_DEFAULT, &c), E_INPUT,
                 "more than 1000000 legal candidates");
    assert_null(c.config);
    space_free(space);
}

/* Parts of a space are walked at the same time; each has room for its candidates, all together have not. */
TEST(the_limit_is_for_all_parts_of_a_space)
{
    static const char *const tiles[] = {"BM = 64\nBN = 64\n", "BM = 64 128\nBN = 64 128\n"};
    for (int i = 0; i < 2; i++) {
        char text[1000];
        snprintf(
            text, sizeof text,
            "[simt]\n%sBK = 32\nWM = 32\nWN = 32\nTM = 4\nTN = 8\nSTAGES = 2 3 4\nLOADER = 0 1\nPACK = 0\n"
            "VA = 1 2 4\nVB = 1 2 4\nVC = 1 2 4\nUNROLL = 2 4 8 16 32\nSTORE_AT = 0 1 2 3\n"
            "MIN_BLOCKS = 1 2\nREDUCE = 0\nGROUP = 1 2 3 4 5 6 7 8 9 10\nSPLIT_K = 1 2 3 4 5 6 7 8\n",
            tiles[i]);
        struct space *space = load(text);
        struct gpu gpu = h200();
        struct problem p = problem_of("4096x512x4096");
        struct candidates c;
        if (i == 0) {
            assert_ok(space_enumerate(space, &p, &gpu, WORKSPACE_DEFAULT, &c));
            assert_in_range(c.count, 260000, 1000000);
            candidates_free(&c);
        } else {
            assert_fails(space_enumerate(space, &p, &gpu, WORKSPACE_DEFAULT, &c), E_INPUT,
                         "more than 1000000 legal candidates");
            assert_null(c.config);
        }
        space_free(space);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_in_the_order_of_the_file_the_last_parameter_fastest),
        cmocka_unit_test(what_the_rules_refuse_is_left_out_and_counted_as_raw),
        cmocka_unit_test(reasons_comments_blank_lines_and_continuations_are_understood),
        cmocka_unit_test(a_long_reason_does_not_cut_values),
        cmocka_unit_test(first_takes_the_first_value_that_is_legal),
        cmocka_unit_test(the_limit_is_for_all_parts_of_a_space),
        cmocka_unit_test(sections_of_one_template_are_united_without_repeats),
        cmocka_unit_test(several_templates_share_a_file),
        cmocka_unit_test(wrong_files_are_refused_with_line_and_reason),
        cmocka_unit_test(the_first_of_several_errors_is_reported),
        cmocka_unit_test(a_line_that_the_library_would_cut_is_refused),
        cmocka_unit_test(a_missing_file_names_itself),
        cmocka_unit_test(when_nothing_is_legal_the_commonest_reason_is_told),
        FOLDER_TEST(a_folder_is_the_union_of_its_files_and_a_family_without_one_is_not_searched),
        FOLDER_TEST(of_a_folder_the_file_that_is_wrong_is_named),
        cmocka_unit_test(the_shipped_space_is_enumerated_in_time_and_memory_for_any_shape),
        cmocka_unit_test(the_shipped_space_has_candidates_on_every_gpu),
        cmocka_unit_test(no_two_candidates_run_alike),
        cmocka_unit_test(what_has_no_effect_is_left_out_and_stays_legal),
        cmocka_unit_test(what_is_redundant_is_legal_and_reached_if_it_was_tried),
        cmocka_unit_test(no_prefix_of_a_legal_candidate_is_refused_whatever_follows),
        cmocka_unit_test(pruning_by_prefix_loses_nothing),
        cmocka_unit_test(a_space_beyond_bounds_is_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
