/* How many cores there are to use, and pieces of a calculation on all of them. */
#include "cores.h"
#include "files.h"
#include "one_core.h"
#include "scratch_folder.h"
#include "status.h"
#include "unit.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { PIECES = 1000 };

struct done {
    atomic_int times[PIECES + 1];
};

static void do_piece(void *self, size_t i)
{
    struct done *done = self;
    atomic_fetch_add(&done->times[i], 1);
}

TEST(every_piece_is_done_once_before_it_returns)
{
    static const size_t counts[] = {0, 1, 2, 15, PIECES};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        static struct done done;
        memset(&done, 0, sizeof done);
        parallel_for(counts[c], do_piece, &done);
        for (size_t i = 0; i <= PIECES; i++) assert_int_equal(atomic_load(&done.times[i]), i < counts[c]);
    }
}

/* The statuses of the threads are their own: what a piece says must not be heard elsewhere. */
static void say(void *self, size_t i)
{
    atomic_int *wrong = self;
    char text[32];
    snprintf(text, sizeof text, "piece %zu", i);
    fail(E_INPUT, "%s", text);
    if (strcmp(status_text(), text) != 0) atomic_fetch_add(wrong, 1);
}

TEST(each_thread_has_its_own_sentence)
{
    atomic_int wrong = 0;
    parallel_for(PIECES, say, &wrong);
    assert_int_equal(atomic_load(&wrong), 0);
}

TEST(cores_that_the_process_may_not_run_on_do_not_count)
{
    const cpu_set_t all = stay_on_one_core();
    assert_int_equal(cores_allowed(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_in_range(cores_allowed(), 1, CPU_COUNT(&all));
}

/* A file of the folder, with the folders that it lies in. */
static void put(const char *name, const char *text)
{
    char command[400];
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\"", in_folder(name));
    assert_int_equal(system(command), 0); /* NOLINT(bugprone-command-processor): the names are ours */
    file_write(in_folder(name), text);
}

static int quota(const char *groups)
{
    put("cgroup", groups);
    return cores_of_quota(in_folder("cgroup"), in_folder("mounts"));
}

TEST(a_quota_of_version_2_is_rounded_up_and_the_least_of_all_groups_counts)
{
    assert_int_equal(quota("0::/\n"), INT_MAX);
    put("mounts/cpu.max", "max 100000\n");
    assert_int_equal(quota("0::/\n"), INT_MAX);
    put("mounts/cpu.max", "250000 100000\n");
    assert_int_equal(quota("0::/\n"), 3);
    assert_int_equal(quota("0::/a/b\n"), 3); /* of the host, which a container does not see */
    put("mounts/a/cpu.max", "100000 100000\n");
    put("mounts/a/b/cpu.max", "400000 100000\n");
    assert_int_equal(quota("0::/a/b\n"), 1);
    put("mounts/a/cpu.max", "1000 100000\n");
    assert_int_equal(quota("0::/a/b\n"), 1); /* never none */
    put("mounts/a/cpu.max", "x y\n");
    put("mounts/a/b/cpu.max", "-3 0\n");
    assert_int_equal(quota("0::/a/b\n"), 3);
}

TEST(a_quota_of_version_1_is_found_under_either_name_of_its_folder)
{
    static const char groups[] =
        "12:pids:/x\n3:cpuset:/x\n2:cpu,cpuacct:/docker/abc\n1:name=systemd:/x\n0::/x\n";
    put("mounts/cpu/cpu.cfs_quota_us", "-1\n");
    put("mounts/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota(groups), INT_MAX);
    put("mounts/cpu/cpu.cfs_quota_us", "150000\n");
    assert_int_equal(quota(groups), 2);
    put("mounts/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "50000\n");
    put("mounts/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "50000\n");
    assert_int_equal(quota(groups), 1);
    put("mounts/cpuset/cpu.cfs_quota_us", "1\n"); /* another controller */
    assert_int_equal(quota("3:cpuset:/\n"), INT_MAX);
    assert_int_equal(cores_of_quota(in_folder("nosuch"), in_folder("mounts")), INT_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_is_done_once_before_it_returns),
        cmocka_unit_test(each_thread_has_its_own_sentence),
        cmocka_unit_test(cores_that_the_process_may_not_run_on_do_not_count),
        FOLDER_TEST(a_quota_of_version_2_is_rounded_up_and_the_least_of_all_groups_counts),
        FOLDER_TEST(a_quota_of_version_1_is_found_under_either_name_of_its_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
