/* Configurations: their text form is their key, so it must be exact. */
#include "config.h"
#include "ladder.h"
#include "template.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

/* Every parameter of a template at one end of its range. */
static struct config at_end(const struct template *t, bool most)
{
    struct config config = {.template = t};
    for (int i = 0; i < t->param_count; i++) config.value[i] = most ? t->params[i].most : t->params[i].least;
    return config;
}

TEST(what_is_formatted_parses_to_the_same_for_every_template)
{
    for (size_t i = 0; i < template_count; i++) {
        for (int most = 0; most < 2; most++) {
            char text[CONFIG_TEXT_MAX];
            struct config config = at_end(templates[i], most), parsed;
            config_format(&config, text);
            assert_true(strlen(text) < CONFIG_TEXT_MAX - 1);
            assert_ok(config_parse(text, &parsed));
            assert_true(config_equal(&config, &parsed));
            assert_true(config_hash(&config) == config_hash(&parsed));
        }
    }
}

TEST(parameters_may_come_in_any_order_and_format_in_the_templates)
{
    struct config config;
    char text[CONFIG_TEXT_MAX];
    assert_ok(config_parse("ladder_shared BK=16 BN=32 BM=8", &config));
    config_format(&config, text);
    assert_string_equal(text, "ladder_shared BM=8 BN=32 BK=16");
}

TEST(mistakes_are_told_by_name)
{
    static const struct {
        const char *text, *part;
    } wrong[] = {
        {"", "unknown kernel template"},
        {"nosuch BM=1", "nosuch"},
        {"ladder_shared BM=8 BN=32", "BK is missing"},
        {"ladder_shared BM=8 BN=32 BK=16 BM=8", "BM is given twice"},
        {"ladder_shared BM=8 BN=32 BK=16 TM=8", "no parameter 'TM'"},
        {"ladder_shared BM=8 BN=32 BK", "NAME=VALUE"},
        {"ladder_shared BM=8 BN=32 BK=", "BK= is not a whole number"},
        {"ladder_shared BM=8 BN=32 BK=16x", "BK=16x is not"},
        {"ladder_shared BM=0 BN=32 BK=16", "BM=0 is not"},
        {"ladder_shared BM=99999999999999999999 BN=32 BK=16", "is not a whole number"},
        {"ladder_shared BM=8;rm BN=32 BK=16", "BM=8;rm is not"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct config config;
        assert_fails(config_parse(wrong[i].text, &config), E_INPUT, wrong[i].part);
    }
}

TEST(a_text_that_is_too_long_is_refused)
{
    char text[2 * CONFIG_TEXT_MAX];
    struct config config;
    memset(text, ' ', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memcpy(text, "ladder_naive", strlen("ladder_naive"));
    assert_fails(config_parse(text, &config), E_INPUT, "at most");
}

TEST(values_are_read_and_written_by_name)
{
    struct config config;
    ladder_config(ladder_find("warptiled"), &config);
    assert_true(config_set(&config, "BK", 16));
    assert_int_equal(config_get(&config, "BK"), 16);
    assert_false(config_set(&config, "NOSUCH", 1));
    assert_int_equal(config_get(&config, "NOSUCH"), 0);
}

TEST(launch_parameters_do_not_change_the_kernel_and_others_do)
{
    const struct template *simt = template_find("simt");
    assert_non_null(simt);
    for (int i = 0; i < simt->param_count; i++) {
        struct config x = at_end(simt, false), y = x;
        y.value[i]++;
        assert_false(config_equal(&x, &y));
        assert_true(config_hash(&x) != config_hash(&y));
        assert_int_equal(config_same_kernel(&x, &y), simt->params[i].kind == PARAM_LAUNCH);
    }
}

TEST(templates_are_found_by_name)
{
    for (size_t i = 0; i < template_count; i++)
        assert_ptr_equal(template_find(templates[i]->name), templates[i]);
    assert_null(template_find("nosuch"));
}

TEST(a_text_older_than_a_parameter_means_its_least_value)
{
    struct config config;
    assert_ok(
        config_parse("simt BM=32 BN=64 BK=16 WM=16 WN=64 TM=4 TN=8 STAGES=3 LOADER=0 PACK=0 VA=4 VB=4 VC=1 "
                     "UNROLL=16 STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=1 SPLIT_K=2",
                     &config));
    assert_int_equal(config_get(&config, "WARPS_K"), 1);
    assert_int_equal(config_get(&config, "STAGES"), 3);
}

TEST(a_brief_text_leaves_out_the_least_values_and_reads_back)
{
    static const struct {
        const char *config, *brief;
    } cases[] = {
        {"simt BM=128 BN=256 BK=16 WM=64 WN=64 TM=16 TN=8 WARPS_K=1 STAGES=3 LOADER=0 PACK=0 VA=4 VB=4 VC=4 "
         "UNROLL=16 STORE_AT=8 ORDER=0 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=4",
         "simt BM=128 BN=256 BK=16 WM=64 WN=64 TM=16 TN=8 STAGES=3 VA=4 VB=4 VC=4 UNROLL=16 STORE_AT=8 "
         "SPLIT_K=4"},
        {"skinny SIDE=0 ROWS=8 TX=4 VX=4 VS=4 VC=4 LANES_X=32 WARPS_X=1 WARPS_K=8 WARPS_R=2 DEPTH=1 STEPS=3 "
         "BUFFERS=2 LOADER=1 MIN_BLOCKS=1 REDUCE=8 SPLIT_K=8",
         "skinny ROWS=8 TX=4 VX=4 VS=4 VC=4 LANES_X=32 WARPS_K=8 WARPS_R=2 STEPS=3 LOADER=1 "
         "REDUCE=8 SPLIT_K=8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct config config;
        char text[CONFIG_TEXT_MAX];
        assert_ok(config_parse(cases[i].config, &config));
        config_brief(&config, text);
        assert_string_equal(text, cases[i].brief);
        assert_int_equal(config_parse(text, &config), E_INPUT); /* a key in the database is whole */
    }
}

/* Any values: what a table shows is what --pin takes. */
TEST(every_brief_text_reads_back)
{
    for (size_t i = 0; i < template_count; i++)
        for (int most = 0; most < 2; most++) {
            struct config config = {.template = templates[i]}, again;
            char text[CONFIG_TEXT_MAX];
            for (int j = 0; j < templates[i]->param_count; j++)
                config.value[j] = most ? templates[i]->params[j].most : templates[i]->params[j].least;
            config_brief(&config, text);
            assert_ok(config_parse_brief(text, &again));
            assert_true(config_equal(&config, &again));
            config_format(&config, text);
            assert_ok(config_parse_brief(text, &again));
            assert_true(config_equal(&config, &again));
        }
}

static int reduce_of(const char *text)
{
    struct config config;
    assert_ok(config_parse(text, &config));
    return template_kind(&config).reduce;
}

#define SIMT                                                                                                 \
    "simt BM=64 BN=64 BK=16 WM=32 WN=64 TM=8 TN=8 WARPS_K=1 STAGES=3 LOADER=1 PACK=0 VA=4 VB=4 VC=4 "        \
    "UNROLL=16 STORE_AT=8 ORDER=0 MIN_BLOCKS=1 GROUP=1 "
#define SKINNY                                                                                               \
    "skinny SIDE=0 ROWS=4 TX=4 VX=1 VS=1 VC=1 LANES_X=32 WARPS_X=1 WARPS_K=8 WARPS_R=1 DEPTH=2 STEPS=2 "     \
    "BUFFERS=2 LOADER=0 MIN_BLOCKS=1 "
#define MMA "mma BM=64 BN=128 BK=32 WM=32 WN=64 STAGES=3 VA=1 VB=1 VC=1 MIN_BLOCKS=2 GROUP=2 "

TEST(who_adds_parts_makes_a_kind_only_where_there_are_parts)
{
    assert_int_equal(reduce_of(SIMT "REDUCE=0 SPLIT_K=1"), TEMPLATE_ADDS_NOTHING);
    assert_int_equal(reduce_of(SIMT "REDUCE=1 SPLIT_K=1"), TEMPLATE_ADDS_NOTHING);
    assert_int_equal(reduce_of(SIMT "REDUCE=0 SPLIT_K=2"), 0);
    assert_int_equal(reduce_of(SIMT "REDUCE=1 SPLIT_K=2"), 1);
    assert_int_equal(reduce_of(SIMT "REDUCE=2 SPLIT_K=2"), 2);
    assert_int_equal(reduce_of(SIMT "REDUCE=8 SPLIT_K=8"), 2);
    assert_int_equal(reduce_of(SKINNY "REDUCE=1 SPLIT_K=1"), TEMPLATE_ADDS_NOTHING);
    assert_int_equal(reduce_of(SKINNY "REDUCE=1 SPLIT_K=4"), 1);
    assert_int_equal(reduce_of(MMA "SPLIT_K=1"), TEMPLATE_ADDS_NOTHING);
    assert_int_equal(reduce_of(MMA "SPLIT_K=2"), 0);                  /* without REDUCE */
    assert_int_equal(reduce_of("ladder_shared BM=8 BN=32 BK=16"), 0); /* without either */
}

TEST(a_configuration_is_of_its_own_kind_and_of_no_other_family)
{
    struct config whole, parts, other;
    assert_ok(config_parse(SIMT "REDUCE=1 SPLIT_K=1", &whole));
    assert_ok(config_parse(SIMT "REDUCE=1 SPLIT_K=2", &parts));
    assert_ok(config_parse(SKINNY "REDUCE=1 SPLIT_K=2", &other));
    const struct template_kind kind = template_kind(&parts);
    assert_true(template_is_of_kind(&parts, &kind));
    assert_false(template_is_of_kind(&whole, &kind));
    assert_false(template_is_of_kind(&other, &kind));
}

/* So databases find what they had before there was such a parameter. */
TEST(a_silent_parameter_is_named_where_it_has_another_than_its_least_value)
{
    static const char text[] =
        "wgmma_tf32 BM=128 BN=128 BK=32 SWAP=1 CONSUMERS=2 STAGES=4 PACK=0 VC=4 MIN_BLOCKS=1 "
        "REDUCE=1 WALK=0 STORE=0 GROUP=8 SPLIT_K=1 SMS=1 PDL=0";
    struct config config;
    char formatted[CONFIG_TEXT_MAX];
    assert_ok(config_parse(text, &config));
    config_format(&config, formatted);
    assert_string_equal(formatted, text);
    assert_true(config_set(&config, "PRELOAD", 2));
    config_format(&config, formatted);
    assert_non_null(strstr(formatted, " STORE=0 PRELOAD=2 GROUP=8 "));
    for (size_t i = 0; i < template_count; i++) /* a text may lack it */
        assert_int_equal(templates[i]->silent & ~templates[i]->optional, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_brief_text_leaves_out_the_least_values_and_reads_back),
        cmocka_unit_test(a_silent_parameter_is_named_where_it_has_another_than_its_least_value),
        cmocka_unit_test(every_brief_text_reads_back),
        cmocka_unit_test(a_text_older_than_a_parameter_means_its_least_value),
        cmocka_unit_test(what_is_formatted_parses_to_the_same_for_every_template),
        cmocka_unit_test(parameters_may_come_in_any_order_and_format_in_the_templates),
        cmocka_unit_test(mistakes_are_told_by_name),
        cmocka_unit_test(a_text_that_is_too_long_is_refused),
        cmocka_unit_test(values_are_read_and_written_by_name),
        cmocka_unit_test(launch_parameters_do_not_change_the_kernel_and_others_do),
        cmocka_unit_test(templates_are_found_by_name),
        cmocka_unit_test(who_adds_parts_makes_a_kind_only_where_there_are_parts),
        cmocka_unit_test(a_configuration_is_of_its_own_kind_and_of_no_other_family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
