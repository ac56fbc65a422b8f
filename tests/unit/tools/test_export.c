#include "described_gpu.h"
#include "store.h"

#include "exchange_json.h"
#include "export_header.h"
#include "export_lists.h"
#include "export_text.h"
#include "output_file.h"

#define ALIGNED                                                                                              \
    "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=3 LOADER=0 PACK=0 VA=4 VB=4 VC=4 UNROLL=16 "        \
    "STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=1 SPLIT_K=2"
#define UNALIGNED                                                                                            \
    "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=3 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 "        \
    "STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=1 SPLIT_K=1"

/* ---- names and text ---- */

TEST(a_file_name_gives_the_table_its_name)
{
    static const char *const names[][3] = {
        {"h200.h", "h200_winners", "GT_H200_H"},
        {"some/where/H200-winners.hpp", "h200_winners", "GT_H200_WINNERS_H"},
        {"gt_my table.h", "my_table_winners", "GT_MY_TABLE_H"},
        {"__a--b__.h", "a_b_winners", "GT_A_B_H"},
        {"winners.h", "winners", "GT_WINNERS_H"},
        {"plan", "plan_winners", "GT_PLAN_H"}};
    struct header header;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_ok(header_name(names[i][0], &header));
        assert_string_equal(header.name, names[i][1]);
        assert_string_equal(header.guard, names[i][2]);
    }
    assert_fails(header_name("--.h", &header), E_USAGE, "letters or digits");
    assert_fails(header_name("dir/", &header), E_USAGE, "letters or digits");
    assert_ok(header_name("an_extremely_long_name_of_a_file_that_goes_on_and_on_and_on_and_on_for_ever.h",
                          &header));
    assert_in_range(strlen(header.name), 10, sizeof header.name - 1);
}

static char *written(void (*write)(FILE *stream))
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    write(stream);
    fclose(stream);
    return text;
}

static void hostile_string(FILE *stream)
{
    text_c_string("a\"b\\c\n*/ ?\?/ \xff\x01"
                  "1",
                  stream);
}

static void floats(FILE *stream)
{
    text_c_float(5, stream);
    putc(' ', stream);
    text_c_float(INFINITY, stream);
    putc(' ', stream);
    text_c_float(1e300, stream);
}

TEST(nothing_ends_a_string_or_a_number_before_its_time)
{
    char *text = written(hostile_string);
    assert_string_equal(text, "\"a\\042b\\134c\\012*/ \\077\\077/ \\377\\0011\"");
    free(text);
    text = written(floats);
    assert_string_equal(text, "5.00000000e+00f 0.00000000e+00f 3.40282347e+38f");
    free(text);
}

TEST(the_date_is_that_of_the_environment)
{
    char date[32];
    setenv("SOURCE_DATE_EPOCH", "86400", 1);
    assert_ok(text_date(date));
    assert_string_equal(date, "1970-01-02T00:00:00Z");
    setenv("SOURCE_DATE_EPOCH", "tomorrow", 1);
    assert_fails(text_date(date), E_INPUT, "tomorrow");
    unsetenv("SOURCE_DATE_EPOCH");
    assert_ok(text_date(date));
    assert_int_equal(strlen(date), 20);
}

TEST(a_file_is_there_complete_or_as_it_was)
{
    char path[160], text[16] = "";
    struct outfile out;
    snprintf(path, sizeof path, "%s/out.txt", store_folder);
    assert_ok(outfile_open(path, &out));
    fputs("first", out.stream);
    assert_int_equal(access(path, F_OK), -1);
    assert_ok(outfile_close(&out, OK));
    assert_ok(outfile_open(path, &out));
    fputs("second", out.stream);
    assert_int_equal(outfile_close(&out, E_GPU), E_GPU);
    FILE *file = fopen(path, "r");
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "first");
    assert_fails(outfile_open("/no/such/folder/x.h", &out), E_IO, "/no/such/folder/x.h");
    int entries = 0;
    char command[256];
    snprintf(command, sizeof command, "ls %s | grep -c out.txt", store_folder);
    FILE *count = popen(command, "r");
    assert_int_equal(fscanf(count, "%d", &entries), 1);
    pclose(count);
    assert_int_equal(entries, 1);
}

TEST(times_of_day_are_read_as_others_write_them)
{
    static const struct {
        const char *text;
        int64_t us;
    } good[] = {{"1970-01-02T00:00:00Z", INT64_C(86400000000)},
                {"1970-01-01 00:00:01.250000+00:00", 1250000},
                {"1970-01-01T02:00:00+01:30", INT64_C(1800000000)},
                {"1970-01-01T00:00:00-01:00", INT64_C(3600000000)},
                {"2026-11-20T12:00:00.5Z", INT64_C(1795176000500000)},
                {"1970-01-01T00:00:00", 0}};
    static const char *const bad[] = {"",
                                      "yesterday",
                                      "2026-13-01T00:00:00Z",
                                      "2026-11-20",
                                      "2026-11-20T12:00:00Zulu",
                                      "1969-01-01T00:00:00Z",
                                      "2026-11-20T25:00:00Z",
                                      "2026-11-20T12:00:00+"};
    int64_t us;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_ok(time_parse(good[i].text, &us));
        if (us != good[i].us) fail_msg("%s: %lld", good[i].text, (long long)us);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_fails(time_parse(bad[i], &us), E_INPUT, "is not a time");
}

/* ---- what goes into a header ---- */

static void add_winner(struct db *db, int64_t run, const char *problem, bool cublas, bool cold,
                       bool predicted, double time_us)
{
    struct db_winner w = {
        .base.cold = cold, .base.predicted = predicted, .base.exact = true, .base.time_us = time_us};
    assert_ok(problem_parse(problem, &w.base.problem));
    const bool aligned = problem_align_a(&w.base.problem) == 4 && problem_align_b(&w.base.problem) == 4;
    if (!cublas) {
        const char *const text = aligned ? ALIGNED : UNALIGNED;
        assert_ok(config_parse(text, &w.config));
    }
    if (!predicted) {
        w.base.ratio = 1.1, w.base.ratio_low = 1.05, w.base.ratio_high = 1.15,
        w.base.anchor_us = time_us * 1.1, w.rounds = 9;
        snprintf(w.rival, sizeof w.rival, "%s", cublas ? "another" : "cublasSgemm");
        w.errors = (struct db_errors){true, 1.25e-7, 3e-8, 1.0 / 3};
        w.rival_errors = (struct db_errors){true, 0, 1e-30, 2};
    }
    assert_ok(db_set_winner(db, run, &w, &w.config, cublas ? 0 : 1, NULL, 0));
}

static int64_t run_on(struct db *db, const char *gpu, int sm_count, bool cold, const char *driver)
{
    struct db_context context = store_context();
    snprintf(context.gpu.name, sizeof context.gpu.name, "%s", gpu);
    context.gpu.sm_count = sm_count;
    context.cold = cold;
    snprintf(context.driver, sizeof context.driver, "%s", driver);
    return store_run(db, &context);
}

TEST(two_types_of_one_shape_are_both_picked)
{
    struct db *db = store_open(DB_WRITE);
    int64_t run = run_on(db, "NVIDIA H200", 132, true, "580.1");
    add_winner(db, run, "64x64x64", false, true, false, 2);
    add_winner(db, run, "tf32gemm:64x64x64", false, true, false, 1);
    struct picks picks;
    const struct db_filter filter = {.gpu = NULL};
    const struct pick_rules rules = {false, false};
    assert_ok(picks_read(db, &filter, &rules, &picks));
    assert_int_equal(picks.count, 2);
    assert_int_equal(picks.list[0].base.problem.type, GEMM_SGEMM);
    assert_int_equal(picks.list[1].base.problem.type, GEMM_TF32);
    picks_free(&picks);
    db_close(db);
}

TEST(each_shape_is_picked_once_measured_before_predicted_and_cold_before_hot)
{
    struct db *db = store_open(DB_WRITE);
    int64_t cold = run_on(db, "NVIDIA H200", 132, true, "580.1"),
            hot = run_on(db, "NVIDIA H200", 132, false, "580.1");
    int64_t small = run_on(db, "NVIDIA H100", 114, true, "580.1");
    add_winner(db, hot, "sgemm:nn:64x64x64", false, false, false, 1);
    add_winner(db, cold, "sgemm:nn:64x64x64", false, true, false, 2);
    add_winner(db, cold, "sgemm:nn:64x64x64:beta=1", false, true, false, 3);
    add_winner(db, cold, "sgemm:nn:64x64x64:lda=128", false, true, false, 4);
    add_winner(db, cold, "sgemm:nn:64x64x64:lda=65", false, true, false,
               5); /* aligned otherwise: another entry */
    add_winner(db, cold, "sgemm:nt:64x64x64", false, true, true, 6);
    add_winner(db, hot, "sgemm:nt:64x64x64", false, false, false, 7);
    add_winner(db, cold, "sgemm:nn:8x64x64", true, true, false, 8);
    add_winner(db, small, "sgemm:nn:8x64x64", false, true, false, 9);
    struct picks picks;
    struct pick_rules rules = {false, false};
    struct db_filter filter = {.gpu = NULL};
    assert_ok(picks_read(db, &filter, &rules, &picks));
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
    assert_ok(picks_read(db, &filter, &rules, &picks));
    assert_int_equal(picks.count, 5); /* the short name is that of both; without cuBLAS's */
    assert_int_equal(picks.left_out_count, 4);
    assert_true(picks.list[0].base.time_us == 9);
    picks_free(&picks);
    db_close(db);
}

TEST(a_winner_that_goes_through_k_in_slabs_is_exported_like_any_other)
{
    struct db *db = store_open(DB_WRITE);
    int64_t run = run_on(db, "NVIDIA H200", 132, true, "580.1");
    add_winner(db, run, "sgemm:nn:64x64x64", false, true, false, 1);
    struct db_winner slabs = {
        .base.cold = true, .base.exact = true, .base.time_us = 2, .base.ratio = 1, .rounds = 9};
    assert_ok(config_parse(ALIGNED, &slabs.config));
    assert_true(config_set(&slabs.config, "PACK", 3) && config_set(&slabs.config, "SPLIT_K", 1));
    slabs.base.problem = problem_make(8192, 8192, 8192);
    assert_ok(db_set_winner(db, run, &slabs, &slabs.config, 1, NULL, 0));
    struct picks picks;
    struct header header = {.picks = &picks};
    struct pick_rules rules = {false, false};
    struct db_filter filter = {.gpu = NULL};
    assert_ok(picks_read(db, &filter, &rules, &picks));
    assert_int_equal(picks.count, 2);
    assert_int_equal(picks.left_out_count, 0);
    assert_ok(header_prepare(&header));
    const struct gt_winner *w = &header.winners[1];
    const struct gt_winner_gpu gpu = {.geometries = header.geometries, .plans = header.plans};
    const struct gt_winner_shape shape = gt_winner_shape_make(0, 0, 8192, 8192, 8192);
    struct gt_winner_plan plan;
    assert_true(w->geometry >= 0);
    assert_int_equal(gt_winner_plan_make(&gpu, w, &shape, &plan), 1);
    assert_int_equal(plan.k_slab, 1024);
    header_free(&header);
    picks_free(&picks);
    db_close(db);
}

/* How often a header names a winner as left out, and why. */
static void assert_left_out(const char *header, const char *problem, const char *why)
{
    char text[400], line[1024];
    int found = 0;
    snprintf(text, sizeof text, " * NVIDIA H200, %s: %s\n", problem, why);
    FILE *file = fopen(header, "r");
    while (fgets(line, sizeof line, file)) found += strcmp(line, text) == 0;
    fclose(file);
    if (found != 1) fail_msg("%d times:%s", found, text);
}

TEST(each_winner_is_in_the_header_or_named_with_the_reason)
{
    struct db *db = store_open(DB_WRITE);
    int64_t cold = run_on(db, "NVIDIA H200", 132, true, "580.1"),
            hot = run_on(db, "NVIDIA H200", 132, false, "580.1");
    add_winner(db, cold, "sgemm:nn:64x64x64", false, true, false, 1);
    add_winner(db, hot, "sgemm:nn:64x64x64", false, false, false, 1);
    add_winner(db, cold, "sgemm:nn:64x64x64:lda=128", false, true, false, 1);
    add_winner(db, cold, "sgemm:nn:64x64x64:beta=1", false, true, false, 1);
    add_winner(db, cold, "sgemm:nn:64x64x64:alpha=0", false, true, false, 1);
    add_winner(db, cold, "sgemm:nn:128x64x64", false, true, true, 1);
    add_winner(db, cold, "sgemm:nn:256x64x64", true, true, false, 1);
    struct db_winner odd = {
        .base.cold = true, .base.exact = true, .base.time_us = 2, .base.ratio = 1, .rounds = 9};
    assert_ok(config_parse(ALIGNED, &odd.config));
    odd.base.problem = problem_make(65, 65, 65); /* refused by the rules */
    assert_ok(db_set_winner(db, cold, &odd, &odd.config, 1, NULL, 0));
    struct picks picks;
    struct header header = {.generator = "test", .picks = &picks, .date = "2026-11-20T12:00:00Z"};
    struct pick_rules rules = {.measured_only = true, .no_cublas = true};
    struct db_filter filter = {.gpu = NULL};
    struct outfile out;
    char path[160];
    snprintf(path, sizeof path, "%s/named.h", store_folder);
    assert_ok(header_name(path, &header));
    assert_ok(picks_read(db, &filter, &rules, &picks));
    assert_int_equal(picks.read, 8);
    assert_int_equal(picks.count, 2);
    assert_int_equal(picks.left_out_count, 6);
    assert_ok(header_prepare(&header));
    assert_ok(outfile_open(path, &out));
    assert_ok(outfile_close(&out, header_write(&header, out.stream)));
    assert_left_out(path, "sgemm:nn:64x64x64",
                    "its shape is there as sgemm:nn:64x64x64, measured for a cold cache");
    assert_left_out(path, "sgemm:nn:64x64x64:lda=128",
                    "its shape is there as sgemm:nn:64x64x64, measured for a cold cache");
    assert_left_out(path, "sgemm:nn:64x64x64:alpha=0", "tuned with alpha = 0, where neither A nor B is read");
    assert_left_out(path, "sgemm:nn:128x64x64", "predicted, and measured ones are asked for");
    assert_left_out(path, "sgemm:nn:256x64x64", "cuBLAS is the fastest, and asked to be left out");
    assert_left_out(path, "sgemm:nn:65x65x65", "its rules refuse it: VA is wider than A is aligned");
    header_free(&header);
    picks_free(&picks);
    db_close(db);
}

static void hostile_comment(FILE *stream)
{
    text_c_comment("a*/ #error /* \n?\?/\\ \xff UNROLL / 2 * 3 **/", stream);
}

TEST(nothing_ends_a_comment_before_its_time)
{
    char *text = written(hostile_comment);
    assert_string_equal(text, "a* / #error / * ___/_ _ UNROLL / 2 * 3 ** /");
    free(text);
}

/* Compile and run a program that includes the header; what it prints. */
static void run_with(const char *header, const char *body, char *shown, size_t room)
{
    char path[160], program[160], command[1024];
    snprintf(path, sizeof path, "%s/main.c", store_folder);
    snprintf(program, sizeof program, "%s/program", store_folder);
    FILE *file = fopen(path, "w");
    fprintf(file,
            "#define GT_WINNERS_IMPLEMENTATION\n#include \"%s\"\n#include <stdio.h>\nint "
            "main(void)\n{\n%s\nreturn 0;\n}\n",
            header, body);
    fclose(file);
    snprintf(command, sizeof command,
             "%s -std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror %s -o %s && %s", GT_CC, path,
             program, program);
    FILE *out = popen(command, "r");
    size_t length = fread(shown, 1, room - 1, out);
    shown[length] = '\0';
    assert_int_equal(pclose(out), 0);
}

static void write_header(struct db *db, const char *path)
{
    struct picks picks;
    struct header header = {.generator = "test \"1\"", .picks = &picks, .date = "2026-11-20T12:00:00Z"};
    struct pick_rules rules = {false, false};
    struct db_filter filter = {.gpu = NULL};
    struct outfile out;
    assert_ok(header_name(path, &header));
    assert_ok(picks_read(db, &filter, &rules, &picks));
    assert_ok(header_prepare(&header));
    assert_ok(outfile_open(path, &out));
    assert_ok(outfile_close(&out, header_write(&header, out.stream)));
    header_free(&header);
    picks_free(&picks);
}

TEST(names_from_a_hostile_database_stay_strings)
{
    static const char evil[] = "H\"}; int evil = system(\"x\"); /* */ \\ ?\?/ \n#error \xff";
    struct db *db = store_open(DB_WRITE);
    int64_t run = run_on(db, evil, 7, true, "\"},{\"\n#include </etc/passwd>\n?\?/\\");
    add_winner(db, run, "sgemm:nn:64x64x64", false, true, false, 1);
    add_winner(db, run, "sgemm:nn:128x64x64", true, true, false, 1);
    add_winner(db, run, "sgemm:nn:128x64x64:beta=2", true, true, false, 1);
    add_winner(db, run, "sgemm:nn:128x64x64:beta=1", true, true, false, 1); /* named, with the GPU's name */
    char path[160], shown[512];
    snprintf(path, sizeof path, "%s/evil.h", store_folder);
    write_header(db, path);
    run_with(path,
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
    int64_t large = run_on(db, "NVIDIA H200", 132, true, "1"),
            small = run_on(db, "NVIDIA H100 PCIe", 114, true, "2");
    add_winner(db, large, "sgemm:nn:64x64x64", false, true, false, 1);
    add_winner(db, small, "sgemm:nn:64x64x64", false, true, false, 2);
    add_winner(db, small, "sgemm:tt:4096x64x64", true, true, false, 3);
    char path[160], shown[512];
    snprintf(path, sizeof path, "%s/two.h", store_folder);
    write_header(db, path);
    run_with(
        path,
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

/* ---- JSON ---- */

static bool same_winner(void *self, const struct db_winner *w)
{
    int *count = self;
    json_t *json = winner_to_json(w, *count % 2 == 0); /* with figures, and from the descriptor */
    struct db_winner back;
    int64_t us;
    if (w->unusable) return true;
    assert_non_null(json);
    assert_ok(winner_from_json(json, GT_SOURCE_DIR "/configs/gpus", &back, &us));
    json_t *again = winner_to_json(&back, *count % 2 == 0);
    char *x = json_dumps(json, JSON_SORT_KEYS | JSON_REAL_PRECISION(10));
    char *y = json_dumps(again, JSON_SORT_KEYS | JSON_REAL_PRECISION(10));
    assert_string_equal(x, y);
    free(x);
    free(y);
    json_decref(json);
    json_decref(again);
    ++*count;
    return true;
}

TEST(a_winner_survives_the_way_through_text)
{
    struct db *db = store_open(DB_WRITE);
    int64_t run = run_on(db, "NVIDIA H200", 132, true, "580.1");
    add_winner(db, run, "sgemm:nn:64x64x64", false, true, false, 1.23456789);
    add_winner(db, run, "sgemm:tn:64x64x64:batch=7:alpha=2.5", true, true, false, 2e-3);
    add_winner(db, run, "sgemm:nt:63x61x59", false, true, true, 1e7);
    add_winner(db, run, "sgemm:nt:65x61x59:ldc=100", false, true, false, 12);
    int count = 0;
    struct db_filter filter = {.gpu = NULL};
    assert_ok(db_winners(db, &filter, NULL, same_winner, &count));
    assert_int_equal(count, 4);
    db_close(db);
}

TEST(a_line_with_a_wrong_value_is_no_winner)
{
    static const struct {
        const char *key, *value; /* JSON; NULL: without the key */
        enum status st;
    } changes[] = {{"problem", "\"sgemm:nn:0x\"", E_INPUT},
                   {"problem", "5", E_INPUT},
                   {"problem", NULL, E_INPUT},
                   {"gpu", "\"\"", E_INPUT},
                   {"gpu", "\"no such GPU\"", E_INPUT},
                   {"gpu", "\"a\\u0000b\"", E_INPUT},
                   {"arch", "80", E_INPUT},
                   {"arch", "-90", E_INPUT},
                   {"sm_count", "0", E_INPUT},
                   {"sm_count", "1e9", E_INPUT},
                   {"time_us", "\"fast\"", E_INPUT},
                   {"time_us", NULL, E_INPUT},
                   {"when", "\"soon\"", E_INPUT},
                   {"cold", "1", E_INPUT},
                   {"rounds", "-1", E_INPUT},
                   {"template_hash", NULL, E_INPUT},
                   {"template_hash", "\"0123456789abcdef\"", E_ABSENT},
                   {"config", "\"simt BM=64\"", E_ABSENT},
                   {"config", "\"nothing A=1\"", E_ABSENT},
                   {"config", "[]", E_INPUT},
                   {"figures", "{\"name\": \"x\"}", E_INPUT}};
    struct db_winner w = {.base.problem = problem_make(64, 64, 64),
                          .gpu = h200(),
                          .base.cold = true,
                          .base.time_us = 5},
                     back;
    int64_t us;
    snprintf(w.base.when, sizeof w.base.when, "2026-11-20T12:00:00Z");
    assert_ok(config_parse(ALIGNED, &w.config));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        json_t *json = winner_to_json(&w, false);
        assert_ok(winner_from_json(json, GT_SOURCE_DIR "/configs/gpus", &back, &us));
        if (!changes[i].value) json_object_del(json, changes[i].key);
        else
            json_object_set_new(json, changes[i].key,
                                json_loads(changes[i].value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL));
        enum status st = winner_from_json(json, GT_SOURCE_DIR "/configs/gpus", &back, &us);
        if (st != changes[i].st) fail_msg("%s = %s: %d", changes[i].key, changes[i].value, st);
        json_decref(json);
    }
    json_t *array = json_array();
    assert_fails(winner_from_json(array, "", &back, &us), E_INPUT, "not a JSON object");
    json_decref(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_name_gives_the_table_its_name),
        cmocka_unit_test(nothing_ends_a_string_or_a_number_before_its_time),
        cmocka_unit_test(the_date_is_that_of_the_environment),
        cmocka_unit_test_setup_teardown(a_file_is_there_complete_or_as_it_was, store_setup, store_teardown),
        cmocka_unit_test(times_of_day_are_read_as_others_write_them),
        cmocka_unit_test_setup_teardown(two_types_of_one_shape_are_both_picked, store_setup, store_teardown),
        cmocka_unit_test_setup_teardown(
            each_shape_is_picked_once_measured_before_predicted_and_cold_before_hot, store_setup,
            store_teardown),
        cmocka_unit_test_setup_teardown(a_winner_that_goes_through_k_in_slabs_is_exported_like_any_other,
                                        store_setup, store_teardown),
        cmocka_unit_test_setup_teardown(each_winner_is_in_the_header_or_named_with_the_reason, store_setup,
                                        store_teardown),
        cmocka_unit_test(nothing_ends_a_comment_before_its_time),
        cmocka_unit_test_setup_teardown(names_from_a_hostile_database_stay_strings, store_setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(one_header_serves_several_gpus, store_setup, store_teardown),
        cmocka_unit_test_setup_teardown(a_winner_survives_the_way_through_text, store_setup, store_teardown),
        cmocka_unit_test(a_line_with_a_wrong_value_is_no_winner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
