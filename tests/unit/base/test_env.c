/* What is understood of the environment, and what is said of the rest. */
#include "env.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *said_of(const char *name, const char *value, bool understood)
{
    static struct env_finding finding;
    setenv(name, value, 1);
    assert_true(env_find(name, &finding));
    if (finding.understood != understood) fail_msg("%s: %s", name, finding.said);
    unsetenv(name);
    return finding.said;
}

static int dropin(const char *value)
{
    setenv("GEMMTUNE_DROPIN", value, 1);
    const int choice = env_choice("GEMMTUNE_DROPIN");
    unsetenv("GEMMTUNE_DROPIN");
    return choice;
}

TEST(a_value_that_is_not_understood_switches_the_dropin_off)
{
    static const char *const off[] = {"off", "OFF",  "Off",  "0",       "no",    "No", "false", "FALSE",
                                      "of",  "offf", " off", "disable", "never", "2",  "-",     "exactly"};
    static const char *const exact[] = {"exact", "EXACT", "on", "1", "Yes", "true", ""};
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) assert_int_equal(dropin(off[i]), ENV_DROPIN_OFF);
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        assert_int_equal(dropin(exact[i]), ENV_DROPIN_EXACT);
    assert_int_equal(dropin("Nearest"), ENV_DROPIN_NEAREST);
    assert_int_equal(env_choice("GEMMTUNE_DROPIN"), ENV_DROPIN_EXACT);
    assert_string_equal(said_of("GEMMTUNE_DROPIN", "of", false),
                        "'of' is not exact, nearest or off: off is used");
    assert_string_equal(said_of("GEMMTUNE_DROPIN", "NO", true), "'NO': off");
}

TEST(switches_have_the_usual_words_in_any_case)
{
    static const char *const on[] = {"1", "on", "ON", "yes", "True"}, *const off[] = {"0", "off", "No",
                                                                                      "FALSE", ""};
    for (int i = 0; i < 5; i++) {
        setenv("GEMMTUNE_LOG", on[i], 1);
        assert_true(env_is_on("GEMMTUNE_LOG"));
        setenv("GEMMTUNE_LOG", off[i], 1);
        assert_false(env_is_on("GEMMTUNE_LOG"));
    }
    unsetenv("GEMMTUNE_LOG");
    assert_string_equal(said_of("GEMMTUNE_LOG", "verbose", false), "'verbose' is not off or on: off is used");
    assert_string_equal(said_of("GEMMTUNE_DB_SAFE", "maybe", false),
                        "'maybe' is not auto, off or on: auto is used");
}

TEST(numbers_are_checked_and_what_is_used_instead_is_said)
{
    static const char *const bad_mib[] = {"abc", "0",  "-5",   "10G",
                                          "1.5", "1 ", "0x10", "99999999999999999999"};
    static const char *const bad_size[] = {"abc", "0", "-5", "1023K", "10GB", "1g", "9999999999G"};
    static const char *const bad_seconds[] = {"abc", "-1", "1e6", "nan", "30s", "inf"};
    int64_t bytes = 7;
    double seconds = 7;
    for (size_t i = 0; i < sizeof bad_mib / sizeof *bad_mib; i++) {
        setenv("GEMMTUNE_CACHE_MIB", bad_mib[i], 1);
        assert_false(env_bytes("GEMMTUNE_CACHE_MIB", &bytes));
        assert_non_null(strstr(said_of("GEMMTUNE_CACHE_MIB", bad_mib[i], false), ": 2048 is used"));
    }
    for (size_t i = 0; i < sizeof bad_size / sizeof *bad_size; i++)
        assert_non_null(
            strstr(said_of("GEMMTUNE_CACHE_SIZE", bad_size[i], false),
                   "is not a size of at least 1M, such as 512M or 10G: GEMMTUNE_CACHE_MIB or else "
                   "2G is used"));
    for (size_t i = 0; i < sizeof bad_seconds / sizeof *bad_seconds; i++)
        assert_non_null(strstr(said_of("GEMMTUNE_CAPTURE_S", bad_seconds[i], false), ": 30 is used"));
    assert_int_equal(bytes, 7);
    setenv("GEMMTUNE_CACHE_MIB", "4096", 1);
    assert_true(env_bytes("GEMMTUNE_CACHE_MIB", &bytes) && bytes == INT64_C(4) << 30);
    setenv("GEMMTUNE_CAPTURE_S", "0.5", 1);
    assert_true(env_seconds("GEMMTUNE_CAPTURE_S", &seconds) && seconds == 0.5);
    assert_string_equal(said_of("GEMMTUNE_CAPTURE_S", "0.5", true), "'0.5': 0.5 s");
    assert_string_equal(said_of("GEMMTUNE_CACHE_MIB", "4096", true), "'4096': 4096 MiB");
    assert_string_equal(said_of("GEMMTUNE_CACHE_SIZE", "10G", true), "'10G': 10240 MiB");
    assert_string_equal(said_of("GEMMTUNE_WORKSPACE", "5", true), "'5': 5 bytes");
}

TEST(of_two_limits_of_the_cache_the_one_with_units_counts)
{
    setenv("GEMMTUNE_CACHE_SIZE", "1G", 1);
    assert_string_equal(said_of("GEMMTUNE_CACHE_MIB", "10", false),
                        "'10': 10 MiB, not used because GEMMTUNE_CACHE_SIZE is set");
    unsetenv("GEMMTUNE_CACHE_SIZE");
}

TEST(an_empty_variable_is_not_set)
{
    struct env_finding finding;
    setenv("GEMMTUNE_DB", "", 1);
    assert_null(env_text("GEMMTUNE_DB"));
    assert_false(env_find("GEMMTUNE_DB", &finding));
    unsetenv("GEMMTUNE_DB");
}

static char lines[1024];

static void keep(const char *line)
{
    snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "%s\n", line);
}

TEST(each_mistake_is_reported_once_and_every_variable_that_is_set_is_listed)
{
    struct env_finding finding;
    int set = 0, unknown = 0;
    setenv("GEMMTUNE_CACHE_MIB", "10G", 1);
    setenv("GEMMTUNE_LOG", "1", 1);
    setenv("GEMMTUNE_DROPPIN", "off", 1); /* misspelt */
    env_report(keep);
    env_report(keep);
    assert_string_equal(lines, "GEMMTUNE_CACHE_MIB '10G' is not a whole number of MiB, at least 1, without a "
                               "unit (GEMMTUNE_CACHE_SIZE takes one): 2048 is used\n");
    for (size_t i = 0; env_finding(i, &finding); i++) {
        set++;
        unknown += strcmp(finding.name, "GEMMTUNE_DROPPIN") == 0 && !finding.understood &&
                   strcmp(finding.said, "'off': gemmtune knows no such variable") == 0;
    }
    assert_int_equal(set, 3);
    assert_int_equal(unknown, 1);
}

/* Whatever the environment of this test says. */
static int clear(void **state)
{
    struct env_finding finding;
    (void)state;
    while (env_finding(0, &finding)) unsetenv(finding.name);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_value_that_is_not_understood_switches_the_dropin_off, clear),
        cmocka_unit_test_setup(switches_have_the_usual_words_in_any_case, clear),
        cmocka_unit_test_setup(numbers_are_checked_and_what_is_used_instead_is_said, clear),
        cmocka_unit_test_setup(of_two_limits_of_the_cache_the_one_with_units_counts, clear),
        cmocka_unit_test_setup(an_empty_variable_is_not_set, clear),
        cmocka_unit_test_setup(each_mistake_is_reported_once_and_every_variable_that_is_set_is_listed, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
