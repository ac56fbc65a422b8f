#include "unit.h"

#include "options.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { KEY_BUDGET = 256, KEY_COLD, KEY_HOT };

struct seen {
    int shapes, colds, hots, files;
    const char *budget;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct seen *seen = state->input;
    switch (key) {
    case 's':
        seen->shapes++;
        return strcmp(argument, "wrong") == 0 ? (fail(E_INPUT, "a wrong shape"), EINVAL) : 0;
    case KEY_BUDGET:
        seen->budget = argument;
        return 0;
    case KEY_COLD:
        seen->colds++;
        return 0;
    case KEY_HOT:
        seen->hots++;
        return 0;
    case ARGP_KEY_ARG:
        seen->files++;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {{NULL, 0, NULL, 0, "A heading", 1},
                                             {"shape", 's', "P", 0, "a shape", 0},
                                             {"budget", KEY_BUDGET, "TIME", 0, "a time", 0},
                                             {"cold", KEY_COLD, NULL, 0, "cold", 0},
                                             {"hot", KEY_HOT, NULL, 0, "hot", 0},
                                             {0}};
static const int repeatable[] = {'s', 0}, excluding[][2] = {{KEY_COLD, KEY_HOT}, {0, 0}};
static const struct option_rules rules = {repeatable, excluding};

static struct seen seen;

/* words: ends with NULL. */
static enum status read_words(const char *files, const char *const *words)
{
    static char copies[12][64];
    char *argv[14] = {(char[]){"tune test"}};
    int argc = 1;
    for (; words[argc - 1]; argc++) {
        snprintf(copies[argc - 1], 64, "%s", words[argc - 1]);
        argv[argc] = copies[argc - 1];
    }
    seen = (struct seen){0};
    const struct argp argp = {.options = options, .parser = parse, .args_doc = files, .doc = "A test."};
    return options_parse(&argp, &rules, argc, argv, &seen);
}
#define READ(...) read_words(NULL, (const char *const[]){__VA_ARGS__, NULL})

TEST(options_reach_the_parser)
{
    assert_ok(READ("--shape", "a", "-s", "b", "-sc", "--shape=d", "--bud", "5m", "--cold"));
    assert_int_equal(seen.shapes, 4);
    assert_string_equal(seen.budget, "5m");
    assert_int_equal(seen.colds, 1);
}

TEST(an_option_given_twice_is_refused)
{
    assert_fails(READ("--budget", "1h", "--budget", "1h"), E_USAGE, "--budget is given twice");
    assert_fails(READ("--cold", "--cold", "--cold"), E_USAGE, "--cold is given several times");
    assert_int_equal(seen.colds, 0);
}

TEST(options_that_contradict_each_other_are_refused)
{
    assert_fails(READ("--hot", "--cold"), E_USAGE, "--cold and --hot contradict each other");
}

TEST(every_mistake_is_one_sentence)
{
    assert_fails(READ("--nosuch"), E_USAGE, "there is no option '--nosuch'");
    assert_fails(READ("--nosuch=3"), E_USAGE, "there is no option '--nosuch=3'");
    assert_fails(READ("-s", "a", "-x"), E_USAGE, "there is no option '-x'");
    assert_fails(READ("-xs"), E_USAGE, "there is no option '-x'");
    assert_fails(READ("--h"), E_USAGE, "'--h' is short for more than one option");
    assert_fails(READ("--cold=3"), E_USAGE, "--cold takes no value");
    assert_fails(READ("--budget"), E_USAGE, "--budget needs a value");
    assert_fails(READ("-s"), E_USAGE, "--shape needs a value");
    assert_fails(READ("stray"), E_USAGE, "'stray' belongs to no option");
}

TEST(a_parsers_own_sentence_stays)
{
    assert_int_equal(READ("--shape", "wrong"), E_USAGE);
    assert_string_equal(status_text(), "a wrong shape");
}

TEST(files_are_taken_where_the_command_takes_files)
{
    assert_ok(read_words("FILE...", (const char *const[]){"one", "--cold", "two", "--", "--hot", NULL}));
    assert_int_equal(seen.files, 3);
    assert_int_equal(seen.hots, 0);
}

TEST(help_ends_with_a_status_of_its_own)
{
    static const char *const questions[] = {"--help", "-?", "--usage"};
    for (size_t i = 0; i < 3; i++) assert_int_equal(READ("--cold", questions[i]), E_HELPED);
    assert_int_equal(status_exit_code(E_HELPED), 0);
    assert_int_equal(seen.colds, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_reach_the_parser),
        cmocka_unit_test(an_option_given_twice_is_refused),
        cmocka_unit_test(options_that_contradict_each_other_are_refused),
        cmocka_unit_test(every_mistake_is_one_sentence),
        cmocka_unit_test(a_parsers_own_sentence_stays),
        cmocka_unit_test(files_are_taken_where_the_command_takes_files),
        cmocka_unit_test(help_ends_with_a_status_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
