/* test_carried.c — a program uses what lies beside it, and the toolkit of its build, only if that is root's
 * or this user's. This program is in the folder CARRIED, and its toolkit's libraries were in CARRIED/lib.
 * NVIDIA's wheels would be below the folder that contains CARRIED. */
#include "unit.h"

#include "library.h"
#include "loaded_from.h"
#include "paths.h"
#include "pretuned.h"
#include "trusted.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static char carried[PATH_MAX]; /* resolved */

static int make_tree(void **state)
{
    (void)state;
    unsetenv("GEMMTUNE_CONFIGS");
    unsetenv("GEMMTUNE_LIBCARRIED");
    umask(022);
    static const char command[] =
        "cd '" CARRIED "' && rm -rf configs real lib && mkdir -p '" CARRIED "/configs/spaces' '" CARRIED
        "/configs/winners' '" CARRIED "/lib' && cp '" FAKE "' '" CARRIED "/lib/libcarried.so'";
    return system(command) != 0 || !realpath(CARRIED, carried); /* NOLINT(cert-env33-c): a fixed command */
}

static int remove_tree(void **state)
{
    (void)state;
    return system("cd '" CARRIED "' && rm -rf configs real lib"); /* NOLINT(cert-env33-c) */
}

/* Makes a folder another's, in one way and, as root, in three; returns how many ways there are. */
static int spoil(int way, const char *path)
{
    static const struct {
        mode_t mode;
        uid_t uid;
        gid_t gid;
    } ways[] = {{0777, 0, 0}, {0755, NOBODY, 0}, {0775, 0, NOBODY}};
    if (geteuid() != 0) {
        assert_int_equal(chmod(path, 0777), 0);
        return 1;
    }
    assert_int_equal(chown(path, ways[way].uid, ways[way].gid), 0);
    assert_int_equal(chmod(path, ways[way].mode), 0);
    return sizeof ways / sizeof *ways;
}

static void assert_carried(const char *path, const char *rest)
{
    char wanted[PATH_MAX + 32];
    snprintf(wanted, sizeof wanted, "%s%s", carried, rest);
    assert_string_equal(path, wanted);
}

TEST(configs_beside_the_program_are_used_if_they_are_ours)
{
    char path[PATH_MAX];
    assert_ok(paths_configs("spaces", path, sizeof path));
    assert_carried(path, "/configs/spaces");
    for (int way = 0, ways = 1; way < ways; way++) {
        ways = spoil(way, CARRIED "/configs/spaces");
        assert_fails(paths_configs("spaces", path, sizeof path), E_IO, "another user");
        assert_fails(paths_configs("spaces", path, sizeof path), E_IO, "GEMMTUNE_CONFIGS");
    }
    setenv("GEMMTUNE_CONFIGS", CARRIED "/configs", 1); /* who names it means it */
    assert_ok(paths_configs("spaces", path, sizeof path));
    unsetenv("GEMMTUNE_CONFIGS");
}

TEST(winners_beside_the_program_are_used_if_they_are_ours)
{
    char path[PATH_MAX];
    assert_ok(pretuned_folder(path, sizeof path));
    assert_carried(path, "/configs/winners");
    for (int way = 0, ways = 1; way < ways; way++) {
        ways = spoil(way, CARRIED "/configs/winners");
        assert_int_equal(pretuned_folder(path, sizeof path), E_ABSENT);
    }
}

TEST(libraries_of_the_build_are_opened_if_they_are_ours)
{
    static const char *const names[] = {"libcarried.so"};
    static const struct library_names library = {"GEMMTUNE_LIBCARRIED", names, 1, true, false};
    char why[LIBRARY_WHY_MAX];
    for (int way = 0, ways = 1; way < ways; way++) {
        ways = spoil(way, CARRIED "/lib");
        assert_null(library_open(&library, why));
        if (!strstr(why, "another user's")) fail_msg("'%s'", why);
    }
    if (geteuid() == 0) assert_int_equal(chown(CARRIED "/lib", 0, 0), 0);
    assert_int_equal(chmod(CARRIED "/lib", 0755), 0);
    void *handle = library_open(&library, why);
    assert_non_null(handle);
    dlclose(handle);
}

TEST(a_link_of_others_is_followed_once)
{
    char path[PATH_MAX];
    assert_int_equal(rename(CARRIED "/configs", CARRIED "/real"), 0);
    assert_int_equal(symlink(CARRIED "/real", CARRIED "/configs"), 0);
    assert_ok(paths_configs("spaces", path, sizeof path));
    assert_carried(path, "/real/spaces"); /* who turns the link later changes nothing */
}

TEST(what_is_as_open_as_the_program_itself_is_used)
{
    char resolved[PATH_MAX];
    const char *own = CARRIED "/lib/libcarried.so", *folder = CARRIED "/configs";
    assert_int_equal(chmod(folder, 0777), 0);
    assert_false(trusted(folder, own, resolved));
    assert_false(trusted(folder, NULL, resolved));
    assert_int_equal(chmod(own, 0777), 0); /* a file system that knows no owners */
    assert_true(trusted(folder, own, resolved));
    if (geteuid() != 0) return;
    assert_int_equal(chmod(folder, 0755) | chown(folder, NOBODY, NOBODY), 0);
    assert_false(trusted(folder, own, resolved));
    assert_int_equal(chmod(own, 0755) | chown(own, NOBODY, NOBODY), 0); /* root runs a user's program */
    assert_true(trusted(folder, own, resolved));
    assert_int_equal(chmod(folder, 0775), 0); /* a group that may write it, but not the program */
    assert_false(trusted(folder, own, resolved));
    assert_int_equal(chmod(own, 0775), 0);
    assert_true(trusted(folder, own, resolved));
}

/* As it is called by a shell that found it in PATH: the loader knows no path then. */
static int look_for_itself(void)
{
    static const char marker = 0;
    char path[PATH_MAX], real[PATH_MAX];
    loaded_from(&marker, path, sizeof path);
    return realpath("/proc/self/exe", real) && strcmp(path, real) == 0 ? 0 : 1;
}

TEST(a_program_knows_where_it_is_whatever_it_was_called)
{
    const pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "tune", "--itself", (char *)NULL);
        _exit(2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define WHEELS CARRIED "/../lib/python3.11/site-packages/nvidia"
#define TARGET CARRIED "/../nvidia"

static int remove_wheels(void **state)
{
    (void)state;
    return system("cd '" CARRIED "/..' && rm -rf lib nvidia"); /* NOLINT(cert-env33-c) */
}

static int make_wheels(void **state)
{
    static const char command[] =
        "mkdir -p '" WHEELS "/cu13/lib' '" WHEELS "/cublas/lib' '" TARGET "/cu13/lib' && cp '" FAKE
        "' '" WHEELS "/cu13/lib/libcarried.so' && cp '" FAKE "' '" TARGET "/cu13/lib/libcarried.so'";
    return remove_wheels(state) || make_tree(state) || system(command); /* NOLINT(cert-env33-c) */
}

/* Opens libcarried.so and compares where it was found, without symbolic links. */
static void assert_opened(bool as_loaded, const char *wanted)
{
    static const char *const names[] = {"libcarried.so"};
    const struct library_names library = {"GEMMTUNE_LIBCARRIED", names, 1, true, as_loaded};
    char why[LIBRARY_WHY_MAX], path[PATH_MAX], real[PATH_MAX];
    void *handle = library_open(&library, why), *entry = NULL;
    if (!handle) fail_msg("%s", why);
    const struct library_symbol symbol = {"nvrtcVersion", &entry};
    assert_null(library_bind(handle, &symbol, 1));
    library_file(&entry, path, sizeof path);
    assert_non_null(realpath(wanted, real));
    assert_string_equal(path, real);
    dlclose(handle);
}

TEST(wheels_beside_the_program_come_first_if_they_are_ours)
{
    static const char *const parts[] = {"/cu13/lib", "/cu13/lib/libcarried.so"};
    assert_opened(false, WHEELS "/cu13/lib/libcarried.so");
    for (size_t part = 0; part < sizeof parts / sizeof *parts; part++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s%s", WHEELS, parts[part]);
        for (int way = 0, ways = 1; way < ways; way++) {
            ways = spoil(way, path);
            assert_opened(false, TARGET "/cu13/lib/libcarried.so");
        }
        if (geteuid() == 0) assert_int_equal(chown(path, 0, 0), 0);
        assert_int_equal(chmod(path, 0755), 0);
        assert_opened(false, WHEELS "/cu13/lib/libcarried.so");
    }
    assert_int_equal(remove_wheels(NULL), 0);
    assert_opened(false, CARRIED "/lib/libcarried.so"); /* the toolkit of the build */
}

TEST(what_the_process_has_loaded_is_taken_where_that_is_the_programs_own)
{
    assert_opened(true, WHEELS "/cu13/lib/libcarried.so");
    void *loaded = dlopen(CARRIED "/lib/libcarried.so", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(loaded);
    assert_opened(true, CARRIED "/lib/libcarried.so");
    assert_opened(false, WHEELS "/cu13/lib/libcarried.so");
    dlclose(loaded);
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, make_tree, remove_tree)

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--itself") == 0) return look_for_itself();
    const struct CMUnitTest tests[] = {
        TREE_TEST(configs_beside_the_program_are_used_if_they_are_ours),
        TREE_TEST(winners_beside_the_program_are_used_if_they_are_ours),
        TREE_TEST(libraries_of_the_build_are_opened_if_they_are_ours),
        cmocka_unit_test_setup_teardown(wheels_beside_the_program_come_first_if_they_are_ours, make_wheels,
                                        remove_wheels),
        cmocka_unit_test_setup_teardown(what_the_process_has_loaded_is_taken_where_that_is_the_programs_own,
                                        make_wheels, remove_wheels),
        TREE_TEST(a_link_of_others_is_followed_once),
        TREE_TEST(what_is_as_open_as_the_program_itself_is_used),
        TREE_TEST(a_program_knows_where_it_is_whatever_it_was_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
