/* A job between two slices of its problem: nothing is opened again, and what it has proposed stays. */
#include "clock.h"
#include "db.h"
#include "interrupts.h"
#include "job.h"
#include "unit.h"
#include "workspace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct job_env env;
static struct db_context context;
static int64_t run_id;
static struct space *space;
static char folder[] = "/tmp/gt-rest-XXXXXX";

static int open_env(void **state)
{
    static struct tune_options options = {
        .strategy = "gp", .seed = 1, .cold = true, .workspace_bytes = WORKSPACE_DEFAULT_BYTES};
    const int devices[] = {0};
    struct children_options children = {
        .cache = folder, .compilers = 2, .devices = devices, .device_count = 1};
    char path[64];
    (void)state;
    setenv("GEMMTUNE_EXE", FAKE_CHILD, 1);
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/t.db", folder);
    env.options = &options;
    if (children_open(&children, &env.children) || db_open(path, DB_WRITE, &env.db) ||
        builds_open(&env.builds) || report_open(1, 1, &env.report) || field_space("", &space))
        return -1;
    env.space = space;
    context.gpu = children_worker(env.children, 0)->gpu;
    context.cold = true;
    return db_run_start(env.db, &context, "test", 1, &run_id) ? -1 : 0;
}

static int close_env(void **state)
{
    char command[64];
    (void)state;
    report_close(env.report);
    builds_close(env.builds);
    db_close(env.db);
    children_close(env.children);
    space_free(space);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) ? -1 : 0;
}

/* How long that takes. */
static double explore_s(struct job *job)
{
    const double from = now_s();
    assert_ok(job_explore(job));
    return now_s() - from;
}

TEST(a_job_that_rested_goes_on_with_what_it_has_proposed)
{
    const struct problem problem = problem_make(1024, 1024, 1024);
    struct job *job;
    assert_ok(job_open(&env, &context, run_id, &problem, &job));
    const double opening_s = explore_s(job);
    assert_ok(job_fill(job));
    struct built *first = job_wants(job);
    assert_non_null(first);
    builds_ask(first);
    struct built *second = job_wants(job);
    assert_true(second && second != first);
    const size_t legal = job_result(job)->legal, bytes = job_bytes(job);
    assert_true(bytes > legal * sizeof(struct config));

    job_rest(job);
    job_resume(job, &context, run_id);
    assert_true(explore_s(job) < 0.1 * opening_s);
    assert_ok(job_fill(job));
    assert_ptr_equal(job_wants(job), second);
    assert_int_equal(job_result(job)->how, JOB_RUNNING);
    assert_int_equal(job_result(job)->legal, legal);
    assert_int_equal(job_bytes(job), bytes);
    assert_int_equal(job_problem(job)->m, problem.m);
    job_close(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_rested_goes_on_with_what_it_has_proposed),
    };
    accept_interrupts();
    return cmocka_run_group_tests(tests, open_env, close_env);
}
