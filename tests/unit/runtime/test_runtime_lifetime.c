/* The runtime library without a GPU: what comes and goes. Plans and kernels that are more than can be kept,
 * trouble that passes, the cache.
 */
#include "runtime_lifetime.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

/* ---- plans ---- */

static size_t resident_bytes(void)
{
    unsigned long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu %lu", &size, &resident) != 2) fail_msg("/proc/self/statm is not readable");
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

TEST(shapes_that_never_end_take_no_more_memory)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    enum {
        SHAPES = 10000,
        IS_EXACT = 0
    }; /* freed memory stays for a while: only that nothing is used after it */
#else
    enum { SHAPES = 100000, IS_EXACT = 1 };
#endif
    put_winner("sgemm:nn:64x64x4096", SIMT_SPLIT, 5, false);
    const struct gt_options options = {.size = sizeof(struct gt_options), .pretuned = ""};
    struct gt_handle *handle = open_handle(&options);
    struct gt_problem p = problem_of("sgemm:nn:64x64x4096");
    size_t early = 0;
    for (int i = 0; i < SHAPES; i++) {
        p.ldc = 64 + 4 * i; /* the same work */
        assert_gt(gemm_it(handle, &p));
        if (i == 9 * SHAPES / 100) early = resident_bytes(); /* more than are kept */
        if (i % 7 == 0) assert_gt(gemm_it(handle, &p));
    }
    const size_t late = resident_bytes();
    print_message("%.1f MiB after %d shapes, %.1f after %d\n", (double)early / (1 << 20), 9 * SHAPES / 100,
                  (double)late / (1 << 20), SHAPES);
    if (IS_EXACT) assert_true(late < early + (4 << 20));
    assert_int_equal(*fake.buffers, 1);
    assert_int_equal(*fake.modules, 1);
    p.ldc = 64;
    assert_gt(gemm_it(handle, &p)); /* the first one is still there */
    gt_close(handle);
}

static void *ask_for_many(void *opaque)
{
    struct client *c = opaque;
    CUstream own;
    cuda.CtxSetCurrent(c->context);
    if (cuda.StreamCreate(&own, CU_STREAM_NON_BLOCKING)) return NULL;
    for (int i = 0; i < 3000 && !c->status; i++) {
        struct gt_problem p = problem_of(TEXT);
        p.ldc = 64 + 4 * ((i * 7919) % 6000);
        c->status = gemm(c->handle, &p, &zero, data[0], data[1], &zero, result, own);
    }
    cuda.StreamDestroy(own);
    return NULL;
}

TEST(threads_share_plans_that_come_and_go)
{
    struct client clients[4];
    put_winner(TEXT, SIMT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_problem p = problem_of(TEXT);
    for (int i = 0; i < 4200; i++) { /* all that are kept */
        p.lda = 64 + 4 * i;
        assert_gt(gemm_it(handle, &p));
    }
    for (int i = 0; i < 4; i++) {
        clients[i] = (struct client){.handle = handle};
        cuda.CtxGetCurrent(&clients[i].context);
        assert_int_equal(pthread_create(&clients[i].thread, NULL, ask_for_many, &clients[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(clients[i].thread, NULL);
        assert_int_equal(clients[i].status, GT_OK);
    }
    assert_int_equal(*fake.stale_launches, 0);
    gt_close(handle);
}

/* ---- kernels ---- */

enum { KERNELS = 400 };

static char kernel_texts[KERNELS][CONFIG_TEXT_MAX];

/* Different kernels that are legal for any k that is a multiple of 64. */
static void find_kernels(void)
{
    static const int steps[] = {16, 32, 64}, tiles[] = {32, 64, 128};
    const struct gpu gpu = store_context().gpu;
    struct config config;
    int found = 0;
    for (int bm = 0; bm < 3; bm++)
        for (int bn = 0; bn < 3; bn++)
            for (int bk = 0; bk < 3; bk++)
                for (int stages = 2; stages <= 4; stages++)
                    for (int unroll = 2; unroll <= 16; unroll *= 2)
                        for (int blocks = 0; blocks < 12; blocks++) {
                            char changes[128];
                            snprintf(changes, sizeof changes,
                                     "BM=%d BN=%d BK=%d STAGES=%d UNROLL=%d MIN_BLOCKS=%d VC=%d", tiles[bm],
                                     tiles[bn], steps[bk], stages, unroll, 1 + blocks / 3, 1 << blocks % 3);
                            assert_ok(config_parse(config_text(7, changes), &config));
                            if (config.template->check(&config, NULL, &gpu)) continue;
                            config_format(&config, kernel_texts[found]);
                            if (++found == KERNELS) return;
                        }
    fail_msg("there are only %d kernels", found);
}

static void kernel_problem(int number, char text[64])
{
    snprintf(text, 64, "sgemm:nn:64x64x%d", 64 * (number + 1));
}

static void put_kernels(void)
{
    char line[2048], text[64];
    char *all = calloc(KERNELS, sizeof line);
    assert_non_null(all);
    find_kernels();
    for (int i = 0; i < KERNELS; i++) {
        kernel_problem(i, text);
        pretuned_line(line, sizeof line, text, kernel_texts[i], 5);
        strcat(all + strlen(all), line);
    }
    put_text("h200.jsonl", all);
    free(all);
}

static struct gt_plan *kernel_plan(struct gt_handle *handle, int number)
{
    char text[64];
    kernel_problem(number, text);
    struct gt_plan *plan = make_plan(handle, text);
    assert_string_equal(info_of(plan).config, kernel_texts[number]);
    return plan;
}

TEST(kernels_that_never_end_are_unloaded_but_not_those_of_a_living_graph)
{
    const struct gt_options options = {.size = sizeof(struct gt_options), .database = ""};
    CUgraph graph;
    CUgraphExec executable;
    put_kernels();
    struct gt_handle *handle = open_handle(&options);
    for (int i = 0; i < 256; i++) gt_plan_close(kernel_plan(handle, i)); /* those that are kept */
    assert_int_equal(*fake.modules, 256);

    struct gt_plan *counted = kernel_plan(handle, 256), *used = kernel_plan(handle, 257);
    assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    for (int i = 0; i < 3; i++) assert_gt(launch_it(counted));
    assert_int_equal(cuda.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_int_equal(cuda.GraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    cuda.GraphDestroy(graph);
    gt_plan_close(counted);
    for (int i = 258; i < KERNELS; i++) {
        struct gt_plan *plan = kernel_plan(handle, i);
        assert_gt(launch_it(plan));
        gt_plan_close(plan);
        if (*fake.modules > 256 + 32 + 3) /* idle, and in use */
            fail_msg("%d kernels are loaded", *fake.modules);
    }
    assert_gt(gt_trim(handle));
    assert_int_equal(*fake.modules, 256 + 2); /* the graph's, and that of a plan that is open */
    assert_int_equal(cuda.GraphLaunch(executable, stream), CUDA_SUCCESS);
    assert_gt(launch_it(used));
    cuda.GraphExecDestroy(executable);
    gt_plan_close(used);
    assert_gt(gt_trim(handle));
    assert_int_equal(*fake.modules, 256);
    assert_int_equal(*fake.stale_launches + *fake.forbidden, 0);
    counted = kernel_plan(handle, 256); /* loaded again */
    assert_gt(launch_it(counted));
    gt_close(handle);
}

/* Through gt_gemm, as a program would; a graph that was captured from a plan that has gone since. */
TEST(a_graph_outlives_the_plan_that_it_was_captured_from)
{
    const struct gt_options options = {.size = sizeof(struct gt_options), .database = ""};
    CUgraph graph;
    CUgraphExec executable;
    char text[64];
    put_kernels();
    struct gt_handle *handle = open_handle(&options);
    for (int i = 0; i < 256; i++) gt_plan_close(kernel_plan(handle, i));
    kernel_problem(300, text);
    struct gt_problem p = problem_of(text);
    assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    assert_gt(gemm_it(handle, &p));
    assert_int_equal(cuda.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_int_equal(cuda.GraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    cuda.GraphDestroy(graph);
    kernel_problem(301, text);
    p = problem_of(text);
    for (int i = 0; i < 600; i++) { /* more than are turned over, with a kernel that is counted, too */
        p.ldc = 64 + 4 * i;
        assert_gt(gemm_it(handle, &p));
    }
    assert_gt(gt_trim(handle));
    assert_int_equal(cuda.GraphLaunch(executable, stream), CUDA_SUCCESS);
    assert_int_equal(*fake.stale_launches, 0);
    assert_int_equal(*fake.modules, 256 + 1);
    cuda.GraphExecDestroy(executable);
    gt_close(handle);
}

static enum gt_status launch_as_planned(struct gt_plan *plan)
{
    struct gt_call call = gt_call_make(&zero, data[0], data[1], &zero, result, stream);
    call.flags = GT_AS_PLANNED;
    return gt_launch(plan, &call);
}

/* A kernel that may be unloaded: the graph has to hold it, or does without it. */
TEST(a_graph_that_cannot_hold_a_kernel_says_why_or_is_served_by_another_way)
{
    static const struct {
        const char *failure;
        enum gt_status as_planned;
        const char *why;
    } cases[] = {{"cuUserObjectCreate=2", GT_MEMORY, "CUDA error 2"},
                 {"cuGraphRetainUserObject=2", GT_MEMORY, "CUDA error 2"},
                 {"cuUserObjectCreate=1", GT_DEVICE, "CUDA_ERROR_INVALID_VALUE"}};
    const struct gt_options options = {.size = sizeof(struct gt_options), .database = "", .flags = GT_QUIET};
    put_kernels();
    struct gt_handle *handle = open_handle(&options);
    for (int i = 0; i < 256; i++) gt_plan_close(kernel_plan(handle, i)); /* those that are kept */
    for (int i = 0; i < 3; i++) {
        CUgraph graph;
        struct gt_plan *plan = kernel_plan(handle, 256 + i);
        const int launched = *fake.launch_count;
        setenv("FAKE_GPU_FAIL", cases[i].failure, 1);
        assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
        assert_gt_fails(launch_as_planned(plan), cases[i].as_planned, cases[i].why);
        const bool served = cases[i].as_planned == GT_MEMORY;
        assert_int_equal(launch_it(plan), served ? GT_OK : GT_DEVICE);
        assert_int_equal(*fake.launch_count, launched + served); /* of a kernel that is kept */
        assert_int_equal(cuda.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
        cuda.GraphDestroy(graph);
        unsetenv("FAKE_GPU_FAIL");
        gt_plan_close(plan);
    }
    gt_close(handle);
}

/* ---- trouble that passes ---- */

/* After less than two thousand launches the winner is used. */
static void assert_used_again(struct gt_plan *plan, const char *after)
{
    int launches = 0;
    bool used = false;
    for (; !used && launches < 2000; launches++) {
        *fake.launch_count = 0;
        assert_gt(launch_it(plan));
        used = *fake.launch_count > 0 && fake.launches[0].threads == 256;
    }
    print_message("%s: used again after %d launches\n", after, launches);
    assert_true(used);
}

TEST(a_lack_of_memory_is_not_for_ever)
{
    static const char *const failures[] = {"cuModuleLoadData=2", "cuModuleGetFunction=2", "cuLaunchKernel=2"};
    put_winner(TEXT, SIMT_LARGE, 5, false);
    for (int i = 0; i < 3; i++) {
        struct gt_handle *handle = open_flagged(GT_QUIET);
        setenv("FAKE_GPU_FAIL", failures[i], 1);
        struct gt_plan *plan = make_plan(handle, TEXT);
        for (int k = 0; k < 500; k++) assert_gt(launch_it(plan)); /* by cuBLAS */
        assert_int_equal(info_of(plan).uses_cublas, 1);
        unsetenv("FAKE_GPU_FAIL");
        assert_used_again(plan, failures[i]);
        assert_string_equal(info_of(plan).config, SIMT_LARGE);
        gt_close(handle);
    }
}

TEST(a_cublas_without_memory_is_asked_again)
{
    put_winner(TEXT, NULL, 5, false);
    struct gt_handle *handle = open_flagged(GT_QUIET);
    struct gt_plan *plan = make_plan(handle, TEXT);
    setenv("FAKE_CUBLAS_FAIL", "3", 1); /* CUBLAS_STATUS_ALLOC_FAILED */
    for (int i = 0; i < 300; i++) assert_gt(launch_it(plan));
    assert_int_equal(info_of(plan).uses_cublas, 0);
    unsetenv("FAKE_CUBLAS_FAIL");
    int more = 0;
    *fake.blas_calls = 0;
    for (; *fake.blas_calls == 0 && more < 2000; more++) assert_gt(launch_it(plan));
    print_message("asked again after %d launches\n", more);
    assert_int_equal(*fake.blas_calls, 1);
    gt_close(handle);
}

TEST(a_database_that_was_being_written_is_read_later)
{
    put_winner(TEXT, SIMT_LARGE, 5, false);
    for (int late = 0; late < 2; late++) { /* held when it is opened, or when it is asked */
        struct gt_handle *handle = late ? open_flagged(GT_QUIET) : NULL;
        sqlite3 *writer = open_stored("BEGIN EXCLUSIVE");
        if (!handle) handle = open_flagged(GT_QUIET);
        struct gt_plan *plan = make_plan(handle, TEXT);
        assert_gt(launch_it(plan));
        assert_string_not_equal(info_of(plan).config, SIMT_LARGE);
        sqlite3_exec(writer, "ROLLBACK", NULL, NULL, NULL);
        sqlite3_close(writer);
        assert_used_again(plan, "a database that was being written");
        assert_int_equal(info_of(plan).source, GT_EXACT);
        gt_close(handle);
    }
}

/* A kernel that is refused for good is not tried again and again. */
TEST(a_refusal_for_good_is_remembered)
{
    put_winner(TEXT, SIMT_LARGE, 5, false);
    struct gt_handle *handle = open_flagged(GT_QUIET);
    setenv("FAKE_NVRTC_REFUSES", "-DBM=128", 1);
    struct gt_plan *plan = make_plan(handle, TEXT);
    for (int i = 0; i < 1000; i++) assert_gt(launch_it(plan));
    assert_int_equal(*fake.compilations, 1);
    gt_close(handle);
}

/* ---- the cache ---- */

static int count_private_folders(void)
{
    int count = 0;
    DIR *folder = opendir("/tmp");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += strncmp(entry->d_name, "gemmtune-cache-", 15) == 0;
    closedir(folder);
    return count;
}

/* In a process of its own, which is killed. */
static int without_a_cache(void)
{
    if (fakes_setup(NULL)) return 3;
    const struct gt_options options = {
        .size = sizeof(struct gt_options), .flags = GT_QUIET, .cache = "/proc/nowhere"};
    put_winner(TEXT, SIMT, 5, false);
    struct gt_handle *handle = open_handle(&options);
    struct gt_plan *plan = make_plan(handle, TEXT);
    if (strcmp(info_of(plan).config, SIMT) != 0 || launch_it(plan)) return 4;
    store_teardown(NULL);
    raise(SIGKILL);
    return 5;
}

/* Another program of this machine may make one meanwhile, but not each time. */
TEST(nothing_is_left_in_tmp_whatever_ends_the_program)
{
    int left = 1;
    for (int i = 0; i < 5 && left > 0; i++) {
        int how;
        const int before = count_private_folders();
        pid_t pid = fork();
        if (pid == 0) {
            execl("/proc/self/exe", "test_runtime_lifetime", "--without-a-cache", (char *)NULL);
            _exit(127);
        }
        assert_int_equal(waitpid(pid, &how, 0), pid);
        if (!WIFSIGNALED(how)) fail_msg("the program ended by itself: %d", WEXITSTATUS(how));
        assert_int_equal(WTERMSIG(how), SIGKILL);
        left = count_private_folders() - before;
    }
    assert_true(left <= 0);
}

TEST(a_cache_that_is_full_costs_no_second_compilation)
{
    struct gt_plan_info info = gt_plan_info_make();
    char path[200];
    put_winner(TEXT, SIMT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    snprintf(path, sizeof path, "rm -rf '%s/kernels'; echo > '%s/kernels'", store_folder, store_folder);
    assert_int_equal(system(path), 0);
    stderr_catch();
    struct gt_plan *plan = make_plan(handle, TEXT);
    const char *said = stderr_release();
    info = info_of(plan);
    assert_int_equal(lines_in(said), 1);
    assert_non_null(strstr(said, "compiled kernels are not kept"));
    assert_string_equal(info.config, SIMT);
    assert_int_equal(*fake.compilations, 1);
    gt_close(handle);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--without-a-cache") == 0) return without_a_cache();
    const struct CMUnitTest tests[] = {
        ON_FAKES(shapes_that_never_end_take_no_more_memory),
        ON_FAKES(threads_share_plans_that_come_and_go),
        ON_FAKES(kernels_that_never_end_are_unloaded_but_not_those_of_a_living_graph),
        ON_FAKES(a_graph_outlives_the_plan_that_it_was_captured_from),
        ON_FAKES(a_graph_that_cannot_hold_a_kernel_says_why_or_is_served_by_another_way),
        ON_FAKES(a_lack_of_memory_is_not_for_ever),
        ON_FAKES(a_cublas_without_memory_is_asked_again),
        ON_FAKES(a_database_that_was_being_written_is_read_later),
        ON_FAKES(a_refusal_for_good_is_remembered),
        ON_FAKES(nothing_is_left_in_tmp_whatever_ends_the_program),
        ON_FAKES(a_cache_that_is_full_costs_no_second_compilation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
