/* A job between two slices of its problem: nothing is opened again, and what it has proposed stays. */
#include "db.h"
#include "interrupts.h"
#include "job.h"
#include "run.h"
#include "unit.h"
#include "workspace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct problem problem;
static struct tune_options options = {.strategy = "gp",
                                      .seed = 1,
                                      .cold = true,
                                      .workspace_bytes = WORKSPACE_DEFAULT,
                                      .problems = &problem,
                                      .problem_count = 1};
static struct session session = {.options = &options};
static struct run run = {.s = &session, .lock = PTHREAD_MUTEX_INITIALIZER};
static struct gpu_worker gpu = {.run = &run};
static struct space *space;
static char folder[] = "/tmp/gt-rest-XXXXXX";

static int open_run(void **state)
{
    const int devices[] = {0};
    struct children_options children = {
        .cache = folder, .compilers = 2, .devices = devices, .device_count = 1};
    char path[64];
    (void)state;
    setenv("GEMMTUNE_EXE", FAKE_CHILD, 1);
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/t.db", folder);
    problem = problem_make(1024, 1024, 1024);
    if (children_open(&children, &session.children) || db_open(path, DB_WRITE, &session.db) ||
        builds_open(&run.builds) || report_open(1, 1, &run.report) || field_space("", &space))
        return -1;
    session.space = space;
    gpu.context.gpu = children_worker(session.children, 0)->gpu;
    gpu.context.cold = true;
    return db_run_start(session.db, &gpu.context, "test", 1, &gpu.run_id) ? -1 : 0;
}

static int close_run(void **state)
{
    char command[64];
    (void)state;
    report_close(run.report);
    builds_close(run.builds);
    db_close(session.db);
    children_close(session.children);
    space_free(space);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) ? -1 : 0;
}

static int fields_opened;

enum status __real_field_open(const struct space *at, const struct problem *of, const struct gpu *on,
                              int64_t workspace_bytes, bool or_library, struct field *field);
enum status __wrap_field_open(const struct space *at, const struct problem *of, const struct gpu *on,
                              int64_t workspace_bytes, bool or_library, struct field *field);
enum status __wrap_field_open(const struct space *at, const struct problem *of, const struct gpu *on,
                              int64_t workspace_bytes, bool or_library, struct field *field)
{
    fields_opened++;
    return __real_field_open(at, of, on, workspace_bytes, or_library, field);
}

TEST(a_job_that_rested_goes_on_with_what_it_has_proposed)
{
    pthread_mutex_lock(&run.lock);
    struct job *job = job_open(&gpu, 0);
    assert_non_null(job);
    assert_ok(job_open_search(job));
    assert_ok(job_work_ahead(job));
    struct built *first = job_wants(job);
    assert_non_null(first);
    builds_ask(first);
    struct built *second = job_wants(job);
    assert_true(second && second != first);
    const size_t legal = job->result.legal, bytes = job_bytes(job);
    assert_true(bytes > legal * sizeof(struct config));

    job_rest(job);
    job_resume(job, &gpu);
    assert_ok(job_open_search(job));
    assert_int_equal(fields_opened, 1);
    assert_ok(job_work_ahead(job));
    assert_ptr_equal(job_wants(job), second);
    assert_int_equal(job->result.how, JOB_RUNNING);
    assert_int_equal(job->result.legal, legal);
    assert_int_equal(job_bytes(job), bytes);
    job_close(job);
    pthread_mutex_unlock(&run.lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_rested_goes_on_with_what_it_has_proposed),
    };
    accept_interrupts();
    return cmocka_run_group_tests(tests, open_run, close_run);
}
