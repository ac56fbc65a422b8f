/* Winners as lines of JSON: there and back, and what is no winner. */
#include "described_gpu.h"
#include "export_store.h"

#include "exchange_json.h"

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
    const struct stored_run run = run_on(db, "NVIDIA H200", 132, true, "580.1");
    static const struct stored stored[] = {{0, "sgemm:nn:64x64x64", 1.23456789, MEASURED},
                                           {0, "sgemm:tn:64x64x64:batch=7:alpha=2.5", 2e-3, MEASURED_CUBLAS},
                                           {0, "sgemm:nt:63x61x59", 1e7, PREDICTED},
                                           {0, "sgemm:nt:65x61x59:ldc=100", 12, MEASURED},
                                           {0, "sgemm:nt:65x61x59:epilogue=rowbias+gelu+out", 12, MEASURED},
                                           {0, "sgemm:nt:65x61x59:batch=9:pointers", 12, MEASURED_CUBLAS}};
    add_winners(db, &run, stored, 6);
    struct db_winner w = {.base = {.cold = true, .time_us = 5, .problem = problem_make(64, 64, 64)},
                          .errors = {true, 1e-7, 2e-7, 3e-7},
                          .rival_errors = {true, 2e-7, 4e-7, 6e-7},
                          .checked = {12, 3, 64, 64, 64, 0.44}};
    w.base.problem.type = GEMM_SGEMM_ACCURATE;
    assert_ok(config_parse(ALIGNED, &w.config));
    assert_ok(db_set_winner(db, run.id, &w, NULL, 0, NULL, 0));
    int count = 0;
    struct db_filter filter = {.gpu = NULL};
    assert_ok(db_winners(db, &filter, NULL, same_winner, &count));
    assert_int_equal(count, 7);
    db_close(db);
}

struct change {
    const char *key, *value; /* JSON; NULL: without the key */
};

/* The winner's line is read, and with the change answered by that status. */
static void assert_changed(const struct db_winner *w, const struct change *change, enum status expected)
{
    struct db_winner back;
    int64_t us;
    json_t *json = winner_to_json(w, false);
    assert_ok(winner_from_json(json, GT_SOURCE_DIR "/configs/gpus", &back, &us));
    if (!change->value) json_object_del(json, change->key);
    else
        json_object_set_new(json, change->key,
                            json_loads(change->value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL));
    enum status st = winner_from_json(json, GT_SOURCE_DIR "/configs/gpus", &back, &us);
    if (st != expected) fail_msg("%s = %s: %d", change->key, change->value, st);
    json_decref(json);
}

TEST(a_line_with_a_wrong_value_is_no_winner)
{
    static const struct change refused[] = {{"problem", "\"sgemm:nn:0x\""},
                                            {"problem", "5"},
                                            {"problem", NULL},
                                            {"gpu", "\"\""},
                                            {"gpu", "\"no such GPU\""},
                                            {"gpu", "\"a\\u0000b\""},
                                            {"arch", "80"},
                                            {"arch", "-90"},
                                            {"sm_count", "0"},
                                            {"sm_count", "1e9"},
                                            {"time_us", "\"fast\""},
                                            {"time_us", NULL},
                                            {"when", "\"soon\""},
                                            {"cold", "1"},
                                            {"rounds", "-1"},
                                            {"template_hash", NULL},
                                            {"config", "[]"},
                                            {"checked", "\"well\""},
                                            {"checked", "{\"kinds\": 12}"},
                                            {"figures", "{\"name\": \"x\"}"}};
    /* A winner, of kernels that are not here. */
    static const struct change absent[] = {{"template_hash", "\"0123456789abcdef\""},
                                           {"config", "\"simt BM=64\""},
                                           {"config", "\"nothing A=1\""}};
    struct db_winner w = {.base.problem = problem_make(64, 64, 64),
                          .gpu = h200(),
                          .base.cold = true,
                          .base.time_us = 5},
                     back;
    int64_t us;
    snprintf(w.base.when, sizeof w.base.when, "2026-11-20T12:00:00Z");
    assert_ok(config_parse(ALIGNED, &w.config));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) assert_changed(&w, &refused[i], E_INPUT);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) assert_changed(&w, &absent[i], E_ABSENT);
    json_t *array = json_array();
    assert_fails(winner_from_json(array, "", &back, &us), E_INPUT, "not a JSON object");
    json_decref(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_winner_survives_the_way_through_text),
        cmocka_unit_test(a_line_with_a_wrong_value_is_no_winner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
