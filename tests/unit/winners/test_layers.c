/* Whose winner answers: the user's, the system's, or one that ships; and that the answer depends on what is
 * stored alone, not on what was asked before. */
#include "lookup.h"
#include "store.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

static struct notices quiet = {.quiet = true};
static char system_path[160];

/* Legal for the problems below; all different. */
static struct config numbered(int number)
{
    struct config config = least_config("simt");
    config_change(&config,
                  "BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=2 VA=4 VB=4 VC=4 UNROLL=16 STORE_AT=8");
    assert_true(config_set(&config, "GROUP", 1 + number));
    return config;
}

static void decide(const char *path, const struct problem *problem, int number)
{
    struct db *db = NULL;
    const struct db_context context = store_context();
    struct config config = numbered(number);
    struct db_winner w = store_winner(problem, &config);
    assert_ok(db_open(path, DB_WRITE, &db));
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    db_close(db);
}

static int group_of(const struct choice *choice)
{
    int32_t group = 0;
    for (int i = 0; i < choice->config.template->param_count; i++)
        if (strcmp(choice->config.template->params[i].name, "GROUP") == 0) group = choice->config.value[i];
    return group - 1;
}

static void open_store(struct winner_store *store)
{
    const struct db_context context = store_context();
    assert_ok(winner_store_open(store, &context.gpu, store_path, "", &quiet));
}

static struct choice ask(const struct problem *problem)
{
    struct winner_store store;
    struct choice choices[CHOICES_MAX] = {{0}};
    int count = 0;
    open_store(&store);
    assert_ok(lookup_exact(&store, problem, 16, choices, &count));
    if (!count) assert_ok(lookup_others(&store, problem, 16, choices, &count));
    assert_true(count > 0);
    winner_store_close(&store);
    return choices[0];
}

static void set_up_system(void)
{
    snprintf(system_path, sizeof system_path, "%s/system.db", store_folder);
    setenv("GEMMTUNE_SYSTEM_DB", system_path, 1);
}

TEST(the_user_s_winner_comes_before_the_system_s)
{
    const struct problem one = problem_make(512, 512, 512), other = problem_make(768, 768, 768),
                         near = problem_make(800, 768, 768);
    set_up_system();
    decide(store_path, &one, 1);
    decide(system_path, &one, 2);
    decide(system_path, &other, 3);
    struct choice c = ask(&one);
    assert_int_equal(group_of(&c), 1);
    assert_false(c.system || c.pretuned);
    c = ask(&other);
    assert_int_equal(group_of(&c), 3);
    assert_true(c.system && c.source == CHOICE_EXACT && !c.pretuned);
    assert_non_null(strstr(c.why, "the system's"));
    c = ask(&near);
    assert_true(c.system && c.source == CHOICE_NEAREST);
    setenv("GEMMTUNE_SYSTEM_DB", "off", 1);
    c = ask(&other);
    assert_false(c.system || c.source == CHOICE_EXACT);
    unsetenv("GEMMTUNE_SYSTEM_DB");
}

TEST(a_system_database_that_is_no_database_is_left_out)
{
    const struct problem one = problem_make(512, 512, 512);
    set_up_system();
    decide(store_path, &one, 1);
    FILE *file = fopen(system_path, "w");
    fputs("no database", file);
    fclose(file);
    struct choice c = ask(&one);
    assert_int_equal(group_of(&c), 1);
    unsetenv("GEMMTUNE_SYSTEM_DB");
}

/* ---- one that an administrator has closed ---- */

#define CANNOT 77
static const char in_etc[] = "/etc/gemmtune/gemmtune.db";

/* An /etc of this process alone, whose database another user may not read. */
static bool close_etc(void)
{
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", "/etc", "tmpfs", 0, NULL) || mkdir("/etc/gemmtune", 0750))
        return false;
    FILE *file = fopen(in_etc, "w");
    return file && fclose(file) == 0 && setgid(65534) == 0 && setuid(65534) == 0;
}

/* Whether a program of another user hears of it: an exit status. */
static int hear(const char *variable, const char *value)
{
    char *said = NULL;
    size_t length;
    int status;
    const pid_t child = fork();
    if (child == 0) {
        const struct db_context context = store_context();
        struct winner_store store;
        struct notices notices;
        if (!close_etc()) _exit(CANNOT);
        if (variable) setenv(variable, value, 1);
        stderr = open_memstream(&said, &length);
        notices_start(&notices, false);
        const enum status st = winner_store_open_shared(&store, &context.gpu, NULL, &notices);
        fflush(stderr);
        _exit(st ? CANNOT + 1 : strstr(said, "the system's winners are not used") != NULL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(who_may_not_read_the_system_s_database_hears_it_where_he_asks)
{
    const int usually = hear(NULL, NULL);
    if (usually == CANNOT) {
        print_message("skipped: nothing may be mounted here\n");
        skip();
    }
    assert_int_equal(hear("GEMMTUNE_LOG", "1"), 1);
    assert_int_equal(hear("GEMMTUNE_SYSTEM_DB", in_etc), 1);
    assert_int_equal(usually, 0);
}

/* A prediction for an operand out of the cache, and a measurement with it in the cache, or the system's. */
TEST(a_prediction_hides_nothing_that_was_measured)
{
    const struct problem one = problem_make(512, 512, 512), other = problem_make(768, 768, 768);
    struct db_context context = store_context();
    set_up_system();
    decide(system_path, &other, 3);
    struct db *db = store_open(DB_WRITE);
    struct config hot = numbered(1), predicted = numbered(2);
    struct db_winner measured = store_winner(&one, &hot);
    context.cold = measured.base.cold = false;
    assert_ok(db_set_winner(db, store_run(db, &context), &measured, NULL, 0, NULL, 0));
    context.gpu_uuid[0] = context.driver[0] = '\0';
    context.cold = true;
    const int64_t run = store_run(db, &context);
    for (int i = 0; i < 2; i++) {
        struct db_winner w = store_winner(i ? &other : &one, &predicted);
        w.base.predicted = true;
        w.base.time_us = 0.5;
        assert_ok(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
    }
    db_close(db);
    struct choice c = ask(&one);
    assert_int_equal(c.source, CHOICE_EXACT);
    assert_int_equal(group_of(&c), 1);
    c = ask(&other);
    assert_int_equal(c.source, CHOICE_EXACT);
    assert_true(c.system && group_of(&c) == 3);
    unsetenv("GEMMTUNE_SYSTEM_DB");
}

/* As ranks of one job do: other problems first, in another order, some of them often. The fastest
 * configurations are of problems that are read only when somebody asks for something near; of products with B
 * transposed nothing is stored, so that the model is asked. */
TEST(what_is_chosen_does_not_depend_on_earlier_questions)
{
    enum { STORED = 600, ASKED = 80, ALL = (CHOICES_MAX + 1) * CONFIG_TEXT_MAX };
    struct winner_store forwards, backwards;
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    const int64_t run = store_run(db, &context);
    srand(7);
    for (int i = 0; i < STORED; i++) {
        const struct problem p = problem_make(64 * (1 + i % 100), 64 * (1 + i / 100), 1024);
        struct config config = numbered(0); /* there are more than are read before any question */
        assert_true(config_set(&config, "STAGES", 2 + i % 3) && config_set(&config, "GROUP", 1 + i % 64) &&
                    config_set(&config, "SPLIT_K", 1 + i / 64));
        struct db_winner w = store_winner(&p, &config);
        w.base.time_us = 5 + rand() % 3;
        assert_ok(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
    }
    db_close(db);
    struct problem asked[ASKED];
    for (int i = 0; i < ASKED; i++) {
        char text[PROBLEM_TEXT_MAX];
        snprintf(text, sizeof text, "sgemm:%s:%dx%dx%d", i % 2 ? "nn" : "nt", 64 * (1 + rand() % 30),
                 64 * (1 + rand() % 30), 64 * (1 + rand() % 30));
        assert_ok(problem_parse(text, &asked[i]));
    }
    static char first[ASKED][ALL];
    open_store(&forwards);
    open_store(&backwards);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < ASKED; i++) {
            const int at = pass ? ASKED - 1 - i : i;
            struct winner_store *store = pass ? &backwards : &forwards;
            struct choice choices[CHOICES_MAX];
            char text[ALL] = "";
            int count = 0;
            if (pass && i % 3 == 0) assert_ok(lookup_exact(store, &asked[at], 16, choices, &count));
            assert_ok(lookup_others(store, &asked[at], 16, choices, &count));
            assert_true(count > 0);
            for (int c = 0; c < count; c++) {
                if (choices[c].cublas) strcat(text, "cublas\n");
                else config_format(&choices[c].config, text + strlen(text));
            }
            if (pass) assert_string_equal(text, first[at]);
            else memcpy(first[at], text, sizeof text);
        }
    winner_store_close(&forwards);
    winner_store_close(&backwards);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(the_user_s_winner_comes_before_the_system_s),
        STORE_TEST(a_system_database_that_is_no_database_is_left_out),
        STORE_TEST(who_may_not_read_the_system_s_database_hears_it_where_he_asks),
        STORE_TEST(a_prediction_hides_nothing_that_was_measured),
        STORE_TEST(what_is_chosen_does_not_depend_on_earlier_questions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
