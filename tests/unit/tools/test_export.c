/* Which winners go into a header, and what a program gets from it. */
#include "export_store.h"
#include "files.h"
#include "one_core.h"

#include "export_header.h"
#include "export_lists.h"
#include "export_plan.h"
#include "output_file.h"

#include <pthread.h>

static enum status read_picks(struct db *db, const struct db_filter *filter,
                              const struct problem_list *problems, const struct pick_rules *rules,
                              struct picks *picks)
{
    const struct db_view view = {.db = db};
    struct answers *answers;
    assert_ok(answers_open(&view, &answers));
    const enum status st = picks_read(answers, filter, problems, rules, picks);
    answers_close(answers);
    return st;
}

TEST(two_types_of_one_shape_are_both_picked)
{
    struct db *db = store_open(DB_WRITE);
    const struct stored_run run = run_on(db, "NVIDIA H200", 132, true, "580.1");
    static const struct stored stored[] = {{0, "64x64x64", 2, MEASURED},
                                           {0, "tf32gemm:64x64x64", 1, MEASURED}};
    add_winners(db, &run, stored, 2);
    struct picks picks;
    const struct db_filter filter = {.gpu = NULL};
    const struct pick_rules rules = {false, false};
    assert_ok(read_picks(db, &filter, NULL, &rules, &picks));
    assert_int_equal(picks.count, 2);
    assert_int_equal(picks.list[0].base.problem.type, GEMM_SGEMM);
    assert_int_equal(picks.list[1].base.problem.type, GEMM_TF32);
    picks_free(&picks);
    db_close(db);
}

TEST(each_shape_is_picked_once_measured_before_predicted_and_cold_before_hot)
{
    struct db *db = store_open(DB_WRITE);
    enum { COLD, HOT, SMALL };
    const struct stored_run runs[] = {run_on(db, "NVIDIA H200", 132, true, "580.1"),
                                      run_on(db, "NVIDIA H200", 132, false, "580.1"),
                                      run_on(db, "NVIDIA H100", 114, true, "580.1")};
    static const struct stored stored[] = {
        {HOT, "sgemm:nn:64x64x64", 1, MEASURED},         {COLD, "sgemm:nn:64x64x64", 2, MEASURED},
        {COLD, "sgemm:nn:64x64x64:beta=1", 3, MEASURED}, {COLD, "sgemm:nn:64x64x64:lda=128", 4, MEASURED},
        {COLD, "sgemm:nn:64x64x64:lda=65", 5, MEASURED}, /* aligned otherwise: another entry */
        {COLD, "sgemm:nt:64x64x64", 6, PREDICTED},       {HOT, "sgemm:nt:64x64x64", 7, MEASURED},
        {COLD, "sgemm:nn:8x64x64", 8, MEASURED_CUBLAS},  {SMALL, "sgemm:nn:8x64x64", 9, MEASURED}};
    add_winners(db, runs, stored, sizeof stored / sizeof *stored);
    struct picks picks;
    struct pick_rules rules = {false, false};
    struct db_filter filter = {.gpu = NULL};
    assert_ok(read_picks(db, &filter, NULL, &rules, &picks));
    assert_int_equal(picks.gpu_count, 2);
    assert_int_equal(picks.read, 9);
    assert_int_equal(picks.left_out_count, 3);
    static const double times[] = {9, 8, 5, 2, 3, 7}; /* beta = 1 is another entry, too */
    assert_int_equal(picks.count, 6);
    for (int i = 0; i < 6; i++) assert_true(picks.list[i].base.time_us == times[i]);
    assert_null(picks.list[1].config.template);
    picks_free(&picks);
    rules.no_cublas = true;
    filter.gpu = "h200";
    assert_ok(read_picks(db, &filter, NULL, &rules, &picks));
    assert_int_equal(picks.count, 5); /* the short name is that of both; without cuBLAS's */
    assert_int_equal(picks.left_out_count, 4);
    assert_true(picks.list[0].base.time_us == 9);
    picks_free(&picks);
    db_close(db);
}

/* A header is not asked for alpha, nor for the value of beta, but for what the items of a batch share. */
TEST(shared_matrices_are_another_entry_and_other_scalars_are_not)
{
    struct db *db = store_open(DB_WRITE);
    const struct stored_run run = run_on(db, "NVIDIA H200", 132, true, "580.1");
    static const struct stored stored[] = {{0, "sgemm:nn:64x64x48:alpha=0.125", 1, MEASURED},
                                           {0, "sgemm:nn:64x64x64:beta=0.5", 2, MEASURED},
                                           {0, "sgemm:nn:64x64x64:beta=1", 3, MEASURED},
                                           {0, "sgemm:nn:64x64x64:batch=4", 4, MEASURED},
                                           {0, "sgemm:nn:64x64x64:batch=4:stride_a=0", 5, MEASURED},
                                           {0, "sgemm:nn:64x64x64:batch=4:stride_b=0", 6, MEASURED}};
    add_winners(db, &run, stored, sizeof stored / sizeof *stored);
    struct picks picks;
    struct header header = {.picks = &picks};
    const struct pick_rules rules = {false, false};
    const struct db_filter filter = {.gpu = NULL};
    static const struct {
        double time_us;
        int adds, shared;
    } wanted[] = {{1, 0, 0}, {3, 1, 0}, {4, 0, 0}, {5, 0, 1}, {6, 0, 2}};
    assert_ok(read_picks(db, &filter, NULL, &rules, &picks));
    assert_int_equal(picks.count, 5);
    assert_int_equal(picks.left_out_count, 1);
    assert_ok(header_prepare(&header));
    for (int i = 0; i < 5; i++) {
        assert_true(picks.list[i].base.time_us == wanted[i].time_us);
        assert_int_equal(header.winners[i].adds_to_c, wanted[i].adds);
        assert_int_equal(header.winners[i].shared, wanted[i].shared);
    }
    header_free(&header);
    picks_free(&picks);
    db_close(db);
}

TEST(a_winner_that_goes_through_k_in_slabs_is_exported_like_any_other)
{
    struct db *db = store_open(DB_WRITE);
    const struct stored_run run = run_on(db, "NVIDIA H200", 132, true, "580.1");
    add_winner(db, &run, &(struct stored){0, "sgemm:nn:64x64x64", 1, MEASURED});
    struct db_winner slabs = {
        .base.cold = true, .base.exact = true, .base.time_us = 2, .base.ratio = 1.1, .rounds = 9};
    assert_ok(config_parse(ALIGNED, &slabs.config));
    assert_true(config_set(&slabs.config, "PACK", 3) && config_set(&slabs.config, "SPLIT_K", 1));
    slabs.base.problem = problem_make(8192, 8192, 8192);
    assert_ok(db_set_winner(db, run.id, &slabs, &slabs.config, 1, NULL, 0));
    struct picks picks;
    struct header header = {.picks = &picks};
    struct pick_rules rules = {false, false};
    struct db_filter filter = {.gpu = NULL};
    assert_ok(read_picks(db, &filter, NULL, &rules, &picks));
    assert_int_equal(picks.count, 2);
    assert_int_equal(picks.left_out_count, 0);
    assert_ok(header_prepare(&header));
    struct planned planned;
    assert_ok(plan_make(&picks.list[1].config, &picks.list[1].base.problem, &picks.gpus[0], &planned));
    assert_int_equal(planned.plan.k_slab, 1024);
    header_free(&header);
    picks_free(&picks);
    db_close(db);
}

/* The caller frees the picks. */
static void write_header(struct db *db, const char *path, const struct pick_rules *rules, struct picks *picks)
{
    struct header header = {.generator = "test \"1\"", .picks = picks, .date = "2026-11-20T12:00:00Z"};
    const struct db_filter filter = {.gpu = NULL};
    struct outfile out;
    assert_ok(header_name(path, &header));
    assert_ok(read_picks(db, &filter, NULL, rules, picks));
    assert_ok(header_prepare(&header));
    assert_ok(outfile_open(path, &out));
    assert_ok(outfile_close(&out, header_write(&header, out.stream)));
    header_free(&header);
}

/* How often a header names a winner as left out, and why. */
static void assert_left_out(const char *header, const char *problem, const char *why)
{
    char text[400];
    int found = 0;
    snprintf(text, sizeof text, " * NVIDIA H200, %s: %s\n", problem, why);
    const char *at = file_text(header);
    for (; (at = strstr(at, text)); at += strlen(text)) found++;
    if (found != 1) fail_msg("%d times:%s", found, text);
}

TEST(each_winner_is_in_the_header_or_named_with_the_reason)
{
    struct db *db = store_open(DB_WRITE);
    enum { COLD, HOT };
    const struct stored_run runs[] = {run_on(db, "NVIDIA H200", 132, true, "580.1"),
                                      run_on(db, "NVIDIA H200", 132, false, "580.1")};
    static const struct stored stored[] = {{COLD, "sgemm:nn:64x64x64", 1, MEASURED},
                                           {HOT, "sgemm:nn:64x64x64", 1, MEASURED},
                                           {COLD, "sgemm:nn:64x64x64:lda=128", 1, MEASURED},
                                           {COLD, "sgemm:nn:64x64x64:beta=1", 1, MEASURED},
                                           {COLD, "sgemm:nn:64x64x64:alpha=0", 1, MEASURED},
                                           {COLD, "sgemm:nn:128x64x64", 1, PREDICTED},
                                           {COLD, "sgemm:nn:256x64x64", 1, MEASURED_CUBLAS},
                                           {COLD, "sgemm:nn:64x64x64:epilogue=bias", 1, MEASURED_CUBLAS},
                                           {COLD, "sgemm:nn:64x64x64:epilogue=relu", 1, MEASURED},
                                           {COLD, "sgemm:nn:64x64x64:epilogue=relu:lda=128", 1, MEASURED},
                                           {COLD, "sgemm:nn:64x64x64:pointers", 1, MEASURED}};
    add_winners(db, runs, stored, sizeof stored / sizeof *stored);
    struct db_winner odd = {
        .base.cold = true, .base.exact = true, .base.time_us = 2, .base.ratio = 1.1, .rounds = 9};
    assert_ok(config_parse(ALIGNED, &odd.config));
    odd.base.problem = problem_make(65, 65, 65); /* refused by the rules */
    assert_ok(db_set_winner(db, runs[COLD].id, &odd, &odd.config, 1, NULL, 0));
    struct picks picks;
    const struct pick_rules rules = {.measured_only = true, .no_cublas = true};
    char path[160];
    snprintf(path, sizeof path, "%s/named.h", store_folder);
    write_header(db, path, &rules, &picks);
    assert_int_equal(picks.read, 12);
    assert_int_equal(picks.count, 3);
    assert_int_equal(picks.left_out_count, 9);
    assert_left_out(path, "sgemm:nn:64x64x64",
                    "its shape is there as sgemm:nn:64x64x64, measured for a cold cache");
    assert_left_out(path, "sgemm:nn:64x64x64:lda=128",
                    "its shape is there as sgemm:nn:64x64x64, measured for a cold cache");
    assert_left_out(path, "sgemm:nn:64x64x64:alpha=0", "tuned with alpha = 0, where neither A nor B is read");
    assert_left_out(path, "sgemm:nn:128x64x64", "predicted, and measured ones are asked for");
    assert_left_out(path, "sgemm:nn:256x64x64", "cuBLAS is the fastest, and asked to be left out");
    assert_left_out(path, "sgemm:nn:64x64x64:epilogue=bias",
                    "cuBLAS is the fastest, and asked to be left out");
    assert_left_out(path, "sgemm:nn:64x64x64:lda=128:epilogue=relu",
                    "its shape is there as sgemm:nn:64x64x64:epilogue=relu, measured for a cold cache");
    assert_left_out(path, "sgemm:nn:64x64x64:pointers",
                    "it takes arrays of pointers, which a header's kernels are not given");
    assert_left_out(path, "sgemm:nn:65x65x65", "its rules refuse it: VA is wider than A is aligned");
    picks_free(&picks);
    db_close(db);
}

/* Compile and run a program that includes the header; what it prints. */
static void run_with(const char *header, const char *body, char *shown, size_t room)
{
    char path[160], program[160], command[1024], text[4096];
    snprintf(path, sizeof path, "%s/main.c", store_folder);
    snprintf(program, sizeof program, "%s/program", store_folder);
    snprintf(text, sizeof text,
             "#define GT_WINNERS_IMPLEMENTATION\n#include \"%s\"\n#include <stdio.h>\nint "
             "main(void)\n{\n%s\nreturn 0;\n}\n",
             header, body);
    file_write(path, text);
    snprintf(
        command, sizeof command,
        "%s -std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -isystem %s %s %s -o %s && %s",
        GT_CC, GT_CUDA_INCLUDE, path, GT_SOURCE_DIR "/tests/export/fake_driver.c", program, program);
    FILE *out = popen(command, "r");
    size_t length = fread(shown, 1, room - 1, out);
    shown[length] = '\0';
    assert_int_equal(pclose(out), 0);
}

/* All there is, in a file of that name; its path. */
static const char *write_whole_header(struct db *db, const char *name)
{
    static char path[160];
    struct picks picks;
    snprintf(path, sizeof path, "%s/%s", store_folder, name);
    write_header(db, path, &(struct pick_rules){false, false}, &picks);
    picks_free(&picks);
    return path;
}

TEST(names_from_a_hostile_database_stay_strings)
{
    static const char evil[] = "H\"}; int evil = system(\"x\"); /* */ \\ ?\?/ \n#error \xff";
    struct db *db = store_open(DB_WRITE);
    const struct stored_run run = run_on(db, evil, 7, true, "\"},{\"\n#include </etc/passwd>\n?\?/\\");
    static const struct stored stored[] = {
        {0, "sgemm:nn:64x64x64", 1, MEASURED},
        {0, "sgemm:nn:128x64x64", 1, MEASURED_CUBLAS},
        {0, "sgemm:nn:128x64x64:beta=2", 1, MEASURED_CUBLAS},
        {0, "sgemm:nn:128x64x64:beta=1", 1, MEASURED_CUBLAS}}; /* named, with the GPU's name */
    add_winners(db, &run, stored, sizeof stored / sizeof *stored);
    char shown[512];
    run_with(write_whole_header(db, "evil.h"),
             "const struct gt_winner_gpu *g = &gt_evil_winners.gpus[0];\n"
             "fputs(g->name, stdout); fputs(g->sources[0].driver, stdout); fputs(gt_evil_winners.generator, "
             "stdout);",
             shown, sizeof shown);
    char expected[512];
    snprintf(expected, sizeof expected, "%s%s%s", evil, "\"},{\"\n#include </etc/passwd>\n?\?/\\",
             "test \"1\"");
    assert_string_equal(shown, expected);
    db_close(db);
}

TEST(one_header_serves_several_gpus)
{
    struct db *db = store_open(DB_WRITE);
    enum { LARGE, SMALL };
    const struct stored_run runs[] = {run_on(db, "NVIDIA H200", 132, true, "1"),
                                      run_on(db, "NVIDIA H100 PCIe", 114, true, "2")};
    static const struct stored stored[] = {{LARGE, "sgemm:nn:64x64x64", 1, MEASURED},
                                           {SMALL, "sgemm:nn:64x64x64", 2, MEASURED},
                                           {SMALL, "sgemm:tt:4096x64x64", 3, MEASURED_CUBLAS}};
    add_winners(db, runs, stored, sizeof stored / sizeof *stored);
    char shown[512];
    run_with(
        write_whole_header(db, "two.h"),
        "const struct { const char *name; int arch, sms; } asked[] = {{\"NVIDIA H200\", 90, 132}, {\"NVIDIA "
        "H100 "
        "PCIe\", 90, 114}, {\"NVIDIA GH200\", 90, 130}, {\"another\", 90, 100}, {\"NVIDIA B200\", 100, 148}, "
        "{\"NVIDIA A100\", 80, 108}};\n"
        "for (int i = 0; i < 6; i++) {\n"
        "  const struct gt_winner_gpu *g = gt_winner_gpu_find(&gt_two_winners, asked[i].name, asked[i].arch, "
        "asked[i].sms);\n"
        "  struct gt_winner_shape s = gt_winner_shape_make(0, 0, 100, 64, 64), t = gt_winner_shape_make(1, "
        "1, 9, 9, "
        "9);\n"
        "  struct gt_winner_match m;\n"
        "  printf(\"%d:\", g ? g->sm_count : 0);\n"
        "  if (g && gt_winner_find(g, &s, &m)) printf(\"%.0f%s\", (double)m.winner->time_us, m.exact ? \"!\" "
        ": \"\");\n"
        "  if (g && gt_winner_find(g, &t, &m)) printf(\"%s\", m.winner->config);\n"
        "  printf(\" \");\n"
        "}",
        shown, sizeof shown);
    assert_string_equal(shown, "132:1 114:2cublas 132:1 114:2cublas 132:1 0: ");
    db_close(db);
}

/* What a program finds for 64x64x64 without an epilogue, with a bias, and with ReLU. */
#define FIND_THREE(name)                                                                                     \
    "const int asked[3][2] = {{0, 0}, {1, 0}, {0, 1}};\n"                                                    \
    "for (int i = 0; i < 3; i++) {\n"                                                                        \
    "  const struct gt_winner_set *set = i == 0 ? &gt_" name "_winners\n"                                    \
    "    : gt_winner_epilogue_find(&gt_" name "_winners_epilogues, asked[i][0], asked[i][1], 0);\n"          \
    "  const struct gt_winner_gpu *g = gt_winner_gpu_find(set, \"NVIDIA H200\", 90, 132);\n"                 \
    "  struct gt_winner_shape s = gt_winner_shape_make(0, 0, 64, 64, 64);\n"                                 \
    "  struct gt_winner_match m;\n"                                                                          \
    "  if (gt_winner_find(g, &s, &m)) printf(\"%.0f%s \", (double)m.winner->time_us, m.exact ? \"!\" : "     \
    "\"\");\n"                                                                                               \
    "  else printf(\"- \");\n"                                                                               \
    "}"

TEST(a_winner_answers_for_its_own_epilogue_alone)
{
    struct db *db = store_open(DB_WRITE);
    const struct stored_run run = run_on(db, "NVIDIA H200", 132, true, "1");
    static const struct stored stored[] = {{0, "sgemm:nn:64x64x64", 1, MEASURED},
                                           {0, "sgemm:nn:64x64x64:epilogue=bias", 2, MEASURED},
                                           {0, "sgemm:nn:128x64x64:epilogue=relu", 3, MEASURED_CUBLAS},
                                           {0, "sgemm:nn:64x64x64:epilogue=relu+out", 4, MEASURED}};
    add_winners(db, &run, stored, sizeof stored / sizeof *stored);
    char shown[512];
    run_with(write_whole_header(db, "acts.h"), FIND_THREE("acts"), shown, sizeof shown);
    assert_string_equal(shown, "1! 2! 3 ");
    db_close(db);
}

TEST(a_header_of_winners_with_an_epilogue_alone_has_nothing_for_others)
{
    struct db *db = store_open(DB_WRITE);
    const struct stored_run run = run_on(db, "NVIDIA H200", 132, true, "1");
    add_winner(db, &run, &(struct stored){0, "sgemm:nn:64x64x64:epilogue=bias", 2, MEASURED});
    char shown[512];
    run_with(write_whole_header(db, "alone.h"), FIND_THREE("alone"), shown, sizeof shown);
    assert_string_equal(shown, "- 2! - ");
    db_close(db);
}

/* For the problem of this M without an epilogue and with ReLU. */
static void add_raced(struct db *db, const struct stored_run *run, int m, double ratio, bool pinned)
{
    static const char *const more[] = {"", ":epilogue=relu"};
    for (int i = 0; i < 2; i++) {
        char text[64];
        struct db_winner w = {.base.cold = true,
                              .base.exact = true,
                              .base.time_us = 100,
                              .base.ratio = ratio,
                              .base.anchor_us = 100 * ratio,
                              .pinned = pinned,
                              .rounds = 9};
        snprintf(text, sizeof text, "sgemm:nn:%dx64x64%s", m, more[i]);
        assert_ok(problem_parse(text, &w.base.problem));
        assert_ok(config_parse(ALIGNED, &w.config));
        assert_ok(db_set_winner(db, run->id, &w, &w.config, 1, NULL, 0));
    }
}

#define FIND_ALL                                                                                             \
    "for (int i = 0; i < 14; i++) {\n"                                                                       \
    "  const struct gt_winner_set *set = i % 2 == 0 ? &gt_lost_winners\n"                                    \
    "    : gt_winner_epilogue_find(&gt_lost_winners_epilogues, 0, GT_WINNER_RELU, 0);\n"                     \
    "  const struct gt_winner_gpu *g = gt_winner_gpu_find(set, \"NVIDIA H200\", 90, 132);\n"                 \
    "  struct gt_winner_shape s = gt_winner_shape_make(0, 0, 64 + 64 * (i / 2), 64, 64);\n"                  \
    "  struct gt_winner_match m;\n"                                                                          \
    "  if (!gt_winner_find(g, &s, &m) || !m.exact) printf(\"none \");\n"                                     \
    "  else printf(\"%.6s:%.1f:%.3f \", m.winner->config, (double)m.winner->time_us, "                       \
    "(double)m.winner->ratio);\n"                                                                            \
    "}"

TEST(a_kernel_that_lost_its_race_is_exported_as_cublas_unless_it_is_pinned)
{
    static const struct {
        double ratio;
        bool pinned;
        const char *found; /* configuration, time, ratio */
    } cases[] = {{0.683, false, "cublas:68.3:0.683 "}, {0.994, false, "cublas:99.4:0.994 "},
                 {0.009, false, "cublas:0.9:0.009 "},  {1, false, "cublas:100.0:1.000 "},
                 {0.683, true, "simt B:100.0:0.683 "}, {1.001, false, "simt B:100.0:1.001 "},
                 {0, false, "simt B:100.0:0.000 "}};
    enum { COUNT = sizeof cases / sizeof *cases, LOST = 4 };
    struct db *db = store_open(DB_WRITE);
    const struct stored_run run = run_on(db, "NVIDIA H200", 132, true, "1");
    char shown[1024], expected[1024] = "", path[160];
    for (int i = 0; i < COUNT; i++) {
        add_raced(db, &run, 64 + 64 * i, cases[i].ratio, cases[i].pinned);
        for (int twice = 0; twice < 2; twice++) strcat(expected, cases[i].found);
    }
    run_with(write_whole_header(db, "lost.h"), FIND_ALL, shown, sizeof shown);
    assert_string_equal(shown, expected);

    struct picks picks;
    const struct pick_rules rules = {.no_cublas = true};
    snprintf(path, sizeof path, "%s/without.h", store_folder);
    write_header(db, path, &rules, &picks);
    assert_int_equal(picks.count, 2 * (COUNT - LOST));
    assert_left_out(path, "sgemm:nn:64x64x64", "cuBLAS is the fastest, and asked to be left out");
    picks_free(&picks);
    FILE *lines = tmpfile();
    struct exported exported;
    const struct db_filter filter = {.gpu = NULL};
    assert_ok(export_json_lines(db, &filter, NULL, &rules, "", lines, &exported));
    assert_int_equal(exported.written, 2 * (COUNT - LOST));
    assert_ok(
        export_json_lines(db, &filter, NULL, &(struct pick_rules){.no_cublas = false}, "", lines, &exported));
    assert_int_equal(exported.written, 2 * COUNT); /* with the kernels, as they are stored */
    fclose(lines);
    db_close(db);
}

TEST(a_header_without_epilogues_has_no_word_of_them)
{
    struct db *db = store_open(DB_WRITE);
    const struct stored_run run = run_on(db, "NVIDIA H200", 132, true, "1");
    add_winner(db, &run, &(struct stored){0, "sgemm:nn:64x64x64", 1, MEASURED});
    assert_null(strstr(file_text(write_whole_header(db, "plain.h")), "epilogue"));
    db_close(db);
}

/* Two blocks a cluster, which read A through a tensor map and are passed nothing else. */
static void mapped_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    (void)config;
    launch_plan_clear(plan);
    plan->kernels = 1;
    plan->kernel[0] = (struct kernel_launch){.entry = "gemm",
                                             .grid = {7, 1, 1},
                                             .threads = 96,
                                             .smem_bytes = 4096,
                                             .cluster = {2, 1, 1},
                                             .cluster_at_launch = true,
                                             .dependent = true};
    plan->batch = plan->batch_per_launch = 1;
    plan->k = p->k;
    const uint16_t none = LAUNCH_NOWHERE;
    plan->slots =
        (struct launch_slots){{none, none, none, none, none}, none, none, none, none, none, none, none};
    plan->views = 1;
    plan->view[0] = (struct tensor_view){.operand = LAUNCH_A,
                                         .element = ELEMENT_F32,
                                         .rank = 2,
                                         .extent = {p->k, p->m},
                                         .stride_bytes = {4, 4 * p->lda},
                                         .box = {32, 64},
                                         .swizzle_bytes = 128,
                                         .k_axis = 0,
                                         .batch_axis = -1};
    plan->argument_bytes = LAUNCH_VIEW_BYTES;
    memset(plan->argument, 0, LAUNCH_VIEW_BYTES);
}

#define LAUNCH_MAPPED                                                                                        \
    "const struct gt_winner_gpu *g = &gt_mapped_winners.gpus[0];\n"                                          \
    "const struct gt_winner_shape s = gt_winner_shape_make(0, 0, 64, 64, 64);\n"                             \
    "struct gt_winner_loaded kernel;\n"                                                                      \
    "struct gt_winner_plan plan;\n"                                                                          \
    "const struct fake_launch *l = &fake.launch[0];\n"                                                       \
    "struct fake_map map;\n"                                                                                 \
    "if (!gt_winner_plan_make(g, g->winners, &s, &plan) || gt_winner_load(g, g->winners, &kernel)) return "  \
    "1;\n"                                                                                                   \
    "if (gt_winner_launch(&kernel, &plan, &s, 1, 4096, 0, 0, 0, 0, NULL)) return 1;\n"                       \
    "memcpy(&map, l->args, sizeof map);\n"                                                                   \
    "printf(\"%u x %u, %u bytes, %u blocks a cluster%s; map of %llu: %ux%u, %u bytes a row, box %ux%u\", "   \
    "l->grid[0], l->threads, l->smem_bytes, l->cluster[0], l->dependent ? \", dependent\" : \"\", "          \
    "map.address, map.extent[1], map.extent[0], map.stride[0], map.box[1], map.box[0]);"

TEST(a_winner_with_tensor_maps_and_clusters_is_launched_by_its_header)
{
    struct db *db = store_open(DB_WRITE);
    const struct stored_run run = run_on(db, "NVIDIA H200", 132, true, "1");
    add_winner(db, &run, &(struct stored){0, "sgemm:nn:64x64x64", 1, MEASURED});
    char cache[200], path[160], shown[512];
    snprintf(cache, sizeof cache, "%s/kernels", store_folder);
    snprintf(path, sizeof path, "%s/mapped.h", store_folder);
    setenv("GEMMTUNE_CACHE", cache, 1);
    setenv("GEMMTUNE_LIBNVRTC", FAKE_NVRTC, 1);
    struct picks picks;
    struct outfile out;
    struct header header = {.generator = "test", .picks = &picks, .date = "2026", .with_kernels = true};
    const struct db_filter filter = {.gpu = NULL};
    assert_ok(header_name(path, &header));
    assert_ok(read_picks(db, &filter, NULL, &(struct pick_rules){false, false}, &picks));
    struct template mapped = *picks.list[0].config.template;
    mapped.plan = mapped_plan;
    picks.list[0].config.template = &mapped;
    assert_ok(header_prepare(&header));
    assert_ok(kernels_compile(&header.kernels));
    assert_ok(outfile_open(path, &out));
    fputs("#include \"" GT_SOURCE_DIR "/tests/export/fake_driver.h\"\n", out.stream);
    assert_ok(outfile_close(&out, header_write(&header, out.stream)));
    run_with(path, LAUNCH_MAPPED, shown, sizeof shown);
    assert_string_equal(
        shown, "7 x 96, 4096 bytes, 2 blocks a cluster, dependent; map of 4096: 64x64, 256 bytes a row, "
               "box 64x32");
    header_free(&header);
    picks_free(&picks);
    db_close(db);
    unsetenv("GEMMTUNE_CACHE"), unsetenv("GEMMTUNE_LIBNVRTC");
}

static int forks;

static void count_fork(void)
{
    forks++;
}

TEST(kernels_are_compiled_by_as_many_processes_as_there_are_cores_to_use)
{
    char cache[200];
    snprintf(cache, sizeof cache, "%s/kernels", store_folder);
    setenv("GEMMTUNE_CACHE", cache, 1);
    setenv("GEMMTUNE_LIBNVRTC", FAKE_NVRTC, 1);
    assert_int_equal(pthread_atfork(count_fork, NULL, NULL), 0);
    struct export_kernels kernels = {.list = NULL};
    for (int i = 0; i < 4; i++) {
        struct problem problem = problem_make(64, 64, 64);
        struct config config = least_config("simt");
        config.value[0] = 32 << i;
        const struct kernel_key key = kernel_key_of(&config, &problem, 90);
        assert_int_equal(kernels_number(&kernels, &key), i);
    }
    const cpu_set_t all = stay_on_one_core();
    forks = 0;
    assert_ok(kernels_compile(&kernels));
    assert_int_equal(forks, 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    kernels_free(&kernels);
    unsetenv("GEMMTUNE_CACHE"), unsetenv("GEMMTUNE_LIBNVRTC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(two_types_of_one_shape_are_both_picked),
        STORE_TEST(each_shape_is_picked_once_measured_before_predicted_and_cold_before_hot),
        STORE_TEST(shared_matrices_are_another_entry_and_other_scalars_are_not),
        STORE_TEST(a_winner_that_goes_through_k_in_slabs_is_exported_like_any_other),
        STORE_TEST(each_winner_is_in_the_header_or_named_with_the_reason),
        STORE_TEST(names_from_a_hostile_database_stay_strings),
        STORE_TEST(one_header_serves_several_gpus),
        STORE_TEST(a_winner_answers_for_its_own_epilogue_alone),
        STORE_TEST(a_header_of_winners_with_an_epilogue_alone_has_nothing_for_others),
        STORE_TEST(a_kernel_that_lost_its_race_is_exported_as_cublas_unless_it_is_pinned),
        STORE_TEST(a_header_without_epilogues_has_no_word_of_them),
        STORE_TEST(a_winner_with_tensor_maps_and_clusters_is_launched_by_its_header),
        STORE_TEST(kernels_are_compiled_by_as_many_processes_as_there_are_cores_to_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
