/* Which pins and exclusions of a database are read for a GPU, and what they say. */
#include "db_files.h"
#include "winner_store.h"

static void prefer(const struct gpu *gpu, const struct problem *problem, bool pin, int number)
{
    const struct config config = store_config(number);
    struct db_context context = store_context();
    char text[CONFIG_TEXT_MAX];
    bool changed;
    struct db *db = store_open(DB_WRITE);
    context.gpu = *gpu;
    store_run(db, &context); /* a file without runs is removed */
    config_format(&config, text);
    assert_ok(db_prefer(db, gpu, problem, pin, text, true, &changed));
    assert_true(changed);
    db_close(db);
}

/* From the file as it is now. */
static enum status read_now(struct preferences *preferences)
{
    const struct db_context context = store_context();
    struct db *db = store_open(DB_READ);
    const enum status st = preferences_read(preferences, db, &context.gpu);
    db_close(db);
    return st;
}

static bool pins(const struct preferences *preferences, const struct problem *problem, int number)
{
    const struct config config = store_config(number), *pin = preferences_pin(preferences, problem);
    return pin && config_equal(pin, &config);
}

static bool excludes(const struct preferences *preferences, const struct problem *problem, int number)
{
    const struct config config = store_config(number);
    return preferences_exclude(preferences, problem, &config);
}

TEST(each_counts_for_its_own_problem_and_configuration)
{
    const struct problem a = problem_make(64, 64, 64), b = problem_make(64, 64, 128);
    const struct db_context context = store_context();
    struct preferences preferences = {.list = NULL};
    prefer(&context.gpu, &a, true, 1);
    prefer(&context.gpu, &a, false, 2);
    prefer(&context.gpu, &b, false, 1);
    assert_ok(read_now(&preferences));
    assert_int_equal(preferences.count, 3);
    assert_true(pins(&preferences, &a, 1));
    assert_null(preferences_pin(&preferences, &b)); /* an exclusion is no pin */
    assert_true(excludes(&preferences, &a, 2) && excludes(&preferences, &b, 1));
    assert_false(excludes(&preferences, &a, 1) || excludes(&preferences, &b, 2));
    preferences_free(&preferences);
    assert_null(preferences_pin(&preferences, &a));
}

TEST(those_of_another_gpu_are_not_read)
{
    const struct problem problem = problem_make(64, 64, 64);
    const struct db_context context = store_context();
    struct gpu fewer = context.gpu, other = context.gpu;
    struct preferences preferences = {.list = NULL};
    snprintf(other.name, sizeof other.name, "NVIDIA H100 PCIe");
    snprintf(other.id, sizeof other.id, "h100");
    fewer.sm_count--;
    prefer(&other, &problem, true, 1);
    assert_ok(read_now(&preferences));
    assert_int_equal(preferences.count, 0);
    prefer(&fewer, &problem, true, 1); /* of the same name */
    assert_ok(read_now(&preferences));
    assert_int_equal(preferences.count, 0);
    prefer(&context.gpu, &problem, true, 2);
    assert_ok(read_now(&preferences));
    assert_true(preferences.count == 1 && pins(&preferences, &problem, 2));
    preferences_free(&preferences);
}

TEST(a_configuration_whose_template_is_gone_is_left_out)
{
    const struct problem a = problem_make(64, 64, 64), b = problem_make(128, 64, 64);
    const struct db_context context = store_context();
    struct preferences preferences = {.list = NULL};
    prefer(&context.gpu, &a, true, 1);
    prefer(&context.gpu, &b, true, 2);
    meddle("UPDATE preferences SET config = 'gone:X=1' WHERE problem_id = "
           "(SELECT id FROM problems WHERE m = 64)");
    assert_ok(read_now(&preferences));
    assert_int_equal(preferences.count, 1);
    assert_null(preferences_pin(&preferences, &a));
    assert_true(pins(&preferences, &b, 2));
    preferences_free(&preferences);
}

TEST(what_is_read_again_replaces_what_was_read_and_after_an_error_there_are_none)
{
    const struct problem problem = problem_make(64, 64, 64);
    const struct db_context context = store_context();
    struct preferences preferences = {.list = NULL};
    prefer(&context.gpu, &problem, true, 1);
    assert_ok(read_now(&preferences));
    prefer(&context.gpu, &problem, true, 2);
    assert_ok(read_now(&preferences));
    assert_true(preferences.count == 1 && pins(&preferences, &problem, 2));
    prefer(&context.gpu, &problem, false, 3);
    meddle("UPDATE preferences SET changed_us = -1 WHERE pin = 1"); /* read last */
    assert_int_equal(read_now(&preferences), E_DB);
    assert_null(preferences_pin(&preferences, &problem));
    assert_false(excludes(&preferences, &problem, 3));
    preferences_free(&preferences);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(each_counts_for_its_own_problem_and_configuration),
        STORE_TEST(those_of_another_gpu_are_not_read),
        STORE_TEST(a_configuration_whose_template_is_gone_is_left_out),
        STORE_TEST(what_is_read_again_replaces_what_was_read_and_after_an_error_there_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
