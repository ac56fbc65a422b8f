#include "unit.h"

#include "command_line.h"
#include "likely.h"
#include "print.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum format { TABLE, JSON, CSV };

struct seen {
    struct command_words words;
    int shapes;
    bool cold, all;
    const char *budget;
    enum format format;
    int64_t seed;
    int jobs;
};

static enum status add_shape(void *self, const struct command_option *option, char *value)
{
    struct seen *seen = self;
    (void)option;
    seen->shapes++;
    return strcmp(value, "wrong") == 0 ? fail(E_INPUT, "a wrong shape") : OK;
}

static const struct command_option options[] = {
    {.about = "A heading:", .group = 1},
    {"shape", 's', "P", "a shape", .repeats = true, OPTION_CALL(add_shape)},
    {"budget", 0, "TIME", "a time", OPTION_TEXT(struct seen, budget)},
    {"cold", 0, NULL, "cold", OPTION_FLAG(struct seen, cold)},
    {"hot", 0, NULL, "hot", OPTION_CLEARS(struct seen, cold)},
    {"format", 0, "table|json|csv", "a format", OPTION_CHOICE(struct seen, format)},
    {"json", 0, NULL, "json", OPTION_CHOICE(struct seen, format), .number = JSON},
    {"max-trials", 0, "N", "a number", OPTION_WHOLE(struct seen, seed, 0, 1000)},
    {"jobs", 0, "N", "another", OPTION_INT(struct seen, jobs, 1, 9)},
    {"all", 0, NULL, "all", OPTION_FLAG(struct seen, all)}};
static const char *const excluding[][2] = {{"all", "budget"}, {NULL}};

static struct command_line line = {.options = options,
                                   .option_count = sizeof options / sizeof *options,
                                   .about =
                                       "A test.\vMore of it - with 'quotes'.\n\nExamples:\n  test one\n\n"
                                       "Exit status: 0 done.",
                                   .excluding = excluding};
static struct seen seen;

/* words: ends with NULL. */
static enum status read_words(const char *files, const char *const *words)
{
    static char copies[20][64];
    char *argv[22] = {(char[]){"tune test"}};
    int argc = 1;
    for (; words[argc - 1]; argc++) {
        snprintf(copies[argc - 1], 64, "%s", words[argc - 1]);
        argv[argc] = copies[argc - 1];
    }
    seen = (struct seen){.cold = false};
    line.arguments = files;
    line.words = offsetof(struct seen, words);
    static char *kept[22]; /* the words of the last reading */
    memcpy(kept, argv, sizeof argv);
    return command_line_read(&line, argc, kept, &seen);
}
#define READ(...) read_words(NULL, (const char *const[]){__VA_ARGS__, NULL})

TEST(options_reach_their_members)
{
    assert_ok(READ("--shape", "a", "-s", "b", "-sc", "--shape=d", "--budget", "5m", "--cold", "--format=csv",
                   "--max-trials", "1000", "--jobs=9"));
    assert_int_equal(seen.shapes, 4);
    assert_string_equal(seen.budget, "5m");
    assert_true(seen.cold && seen.format == CSV && seen.seed == 1000 && seen.jobs == 9);
    assert_ok(READ("--json", "--hot", "--budget", "--cold")); /* a value may look like an option */
    assert_true(seen.format == JSON && !seen.cold);
    assert_string_equal(seen.budget, "--cold");
}

TEST(an_option_given_twice_is_refused)
{
    assert_fails(READ("--budget", "1h", "--budget", "1h"), E_USAGE, "--budget is given twice");
    assert_fails(READ("--cold", "--cold", "--cold"), E_USAGE, "--cold is given several times");
    assert_false(seen.cold);
}

TEST(options_that_contradict_each_other_are_refused)
{
    assert_fails(READ("--hot", "--cold"), E_USAGE, "--cold and --hot contradict each other");
    assert_fails(READ("--json", "--format", "json"), E_USAGE, "--format and --json contradict each other");
    assert_fails(READ("--budget=1h", "--all"), E_USAGE, "contradict each other");
}

TEST(an_option_has_its_whole_name)
{
    assert_fails(READ("--m", "64"), E_USAGE, "sizes are given together, as --shape MxNxK");
    assert_fails(READ("--max", "64"), E_USAGE, "there is no option '--max'; did you mean --max-trials?");
    assert_fails(READ("--bud=5m"), E_USAGE, "there is no option '--bud=5m'; did you mean --budget?");
    assert_fails(READ("--fromat", "json"), E_USAGE, "did you mean --format?");
    assert_fails(READ("--sahpe=4x4x4"), E_USAGE, "did you mean --shape?");
    assert_fails(READ("--nosuch"), E_USAGE, "there is no option '--nosuch' (see tune test --help)");
}

TEST(every_mistake_is_one_sentence)
{
    assert_fails(READ("-s", "a", "-x"), E_USAGE, "there is no option '-x'");
    assert_fails(READ("-xs"), E_USAGE, "there is no option '-x'");
    assert_fails(READ("--cold=3"), E_USAGE, "--cold takes no value");
    assert_fails(READ("--budget"), E_USAGE, "--budget needs a value");
    assert_fails(READ("-s"), E_USAGE, "--shape needs a value");
    assert_fails(READ("stray"), E_USAGE, "'stray' belongs to no option");
    assert_fails(READ("--format", "xml"), E_USAGE, "unknown format 'xml'; there are table, json and csv");
    assert_fails(READ("--format", "jsno"), E_USAGE, "did you mean 'json'?");
    assert_fails(READ("--budget", ""), E_USAGE, "--budget needs a value that is not empty");
    assert_fails(READ("--max-trials", "1001"), E_USAGE,
                 "--max-trials '1001' is not a whole number in 0..1000");
    assert_fails(READ("--jobs", " 1"), E_USAGE, "--jobs ' 1' is not a whole number in 1..9");
    assert_fails(read_words("FILE", (const char *const[]){"", NULL}), E_USAGE, "an argument is empty");
}

TEST(an_options_own_sentence_stays)
{
    assert_int_equal(READ("--shape", "wrong"), E_INPUT);
    assert_string_equal(status_text(), "a wrong shape");
}

TEST(files_are_taken_where_the_command_takes_files)
{
    assert_ok(read_words("FILE...", (const char *const[]){"one", "--cold", "two", "--", "--hot", NULL}));
    assert_int_equal(seen.words.count, 3);
    assert_string_equal(seen.words.at[0], "one");
    assert_string_equal(seen.words.at[1], "two");
    assert_string_equal(seen.words.at[2], "--hot");
    assert_true(seen.cold);
}

/* What `print` writes to standard output. */
static const char *printed(void (*print)(void))
{
    static char text[8192];
    char path[] = "/tmp/gemmtune-printed-XXXXXX";
    const int to = mkstemp(path), before = dup(STDOUT_FILENO);
    assert_true(to >= 0 && before >= 0 && fflush(stdout) == 0);
    assert_true(dup2(to, STDOUT_FILENO) >= 0);
    print();
    fflush(stdout);
    assert_true(dup2(before, STDOUT_FILENO) >= 0);
    const ssize_t length = pread(to, text, sizeof text - 1, 0);
    assert_true(length >= 0);
    text[length] = '\0';
    close(to);
    close(before);
    unlink(path);
    return text;
}

static void ask_for_help(void)
{
    static const char *const questions[] = {"--help", "-?", "-h", "--version"};
    for (size_t i = 0; i < 4; i++) assert_int_equal(READ("--cold", questions[i]), E_HELPED);
}

TEST(help_ends_with_a_status_of_its_own)
{
    const char *text = printed(ask_for_help);
    assert_non_null(strstr(text, "Usage: tune test [OPTION...]\nA test.\n"));
    assert_non_null(strstr(text, "A heading:\n  -s, --shape=P             a shape\n"));
    assert_non_null(strstr(text, "      --format=table|json|csv\n                            a format\n"));
    assert_non_null(strstr(text, "\nExamples:\n  test one\n\nExit status: 0 done.\n"));
    assert_int_equal(status_exit_code(E_HELPED), 0);
    assert_false(seen.cold);
}

static void print_page(void)
{
    command_man(&line, "test");
}

TEST(a_man_page_has_its_sections_in_order)
{
    const char *text = printed(print_page), *at = text;
    static const char *const parts[] = {".TH \"TUNE\\-TEST\" 1",
                                        ".SH NAME\ntune\\-test \\- a test\n",
                                        ".SH DESCRIPTION\nMore of it \\- with \\(aqquotes\\(aq.\n",
                                        ".SH OPTIONS\n.SS A heading:\n.TP\n\\-s, \\-\\-shape=P\na shape\n",
                                        ".SH EXAMPLES\n.nf\ntest one\n.fi\n",
                                        ".SH EXIT STATUS\n0 done.\n",
                                        ".SH SEE ALSO\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *found = strstr(at, parts[i]);
        if (!found) fail_msg("'%s' is missing or too early in:\n%s", parts[i], text);
        at = found;
    }
}

/* Progress is not printed; what is asked for is. */
static void be_quiet(void)
{
    FILE *before = stderr;
    stderr = stdout;
    assert_ok(READ("-q", "--cold", "-qq"));
    print_line(stderr, "progress");
    print_replace(stderr, "more");
    print_wrapped(stderr, 0, 80, "and more");
    print_end(stderr);
    print_quiet(false);
    print_line(stderr, "an error");
    stderr = before;
}

TEST(quiet_drops_what_goes_to_standard_error)
{
    assert_string_equal(printed(be_quiet), "an error\n");
}

static const char *likely_of(const char *word)
{
    static const char *const names[] = {"query", "explain", "export", "import", "gp", "random"};
    struct likely likely = {.word = word};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) likely_offer(&likely, names[i]);
    return likely.best ? likely.best : "";
}

TEST(the_likely_name_is_near)
{
    assert_string_equal(likely_of("qurey"), "query");
    assert_string_equal(likely_of("expor"), "export");
    assert_string_equal(likely_of("Explian"), "explain");
    assert_string_equal(likely_of("rnd"), "");
    assert_string_equal(likely_of("g"), "");
    assert_string_equal(likely_of("something else that is much longer than any name that there could be"),
                        "");
}

TEST(only_numbers_are_numbers_of_gpus)
{
    assert_int_equal(command_gpu_number("0"), 0);
    assert_int_equal(command_gpu_number("1023"), 1023);
    static const char *const names[] = {"", "h200", "-1", "1024", "99999999999", "0x1", "1 ", "9.0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(command_gpu_number(names[i]), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_reach_their_members),
        cmocka_unit_test(an_option_given_twice_is_refused),
        cmocka_unit_test(options_that_contradict_each_other_are_refused),
        cmocka_unit_test(an_option_has_its_whole_name),
        cmocka_unit_test(every_mistake_is_one_sentence),
        cmocka_unit_test(an_options_own_sentence_stays),
        cmocka_unit_test(files_are_taken_where_the_command_takes_files),
        cmocka_unit_test(help_ends_with_a_status_of_its_own),
        cmocka_unit_test(a_man_page_has_its_sections_in_order),
        cmocka_unit_test(quiet_drops_what_goes_to_standard_error),
        cmocka_unit_test(the_likely_name_is_near),
        cmocka_unit_test(only_numbers_are_numbers_of_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
