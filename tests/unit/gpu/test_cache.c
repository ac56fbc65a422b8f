#include "cache.h"
#include "files.h"
#include "scratch_folder.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void key_of(int number, char key[CACHE_KEY_TEXT])
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    cache_key((const char *const[]){text}, 1, key);
}

static const struct kernel_facts some_facts = {
    .registers = 128, .spill_bytes = 8, .static_smem_bytes = 64, .compile_ms = 7};

static struct cache_entry store(int number, size_t length)
{
    char key[CACHE_KEY_TEXT];
    struct cache_entry entry;
    char *bytes = malloc(length);
    assert_non_null(bytes);
    memset(bytes, number, length);
    key_of(number, key);
    assert_ok(cache_store(folder, key, bytes, length, &some_facts, &entry));
    free(bytes);
    return entry;
}

static bool has(int number)
{
    char key[CACHE_KEY_TEXT];
    struct cache_entry entry;
    key_of(number, key);
    return cache_find(folder, key, &entry) == OK;
}

/* Make an entry look as if it had last been used so long ago. */
static void age(const char *path, int seconds)
{
    struct timespec then[2];
    clock_gettime(CLOCK_REALTIME, &then[0]);
    then[0].tv_sec -= seconds;
    then[1] = then[0];
    assert_int_equal(utimensat(AT_FDCWD, path, then, 0), 0);
}

TEST(keys_differ_where_the_border_between_texts_moves)
{
    char x[CACHE_KEY_TEXT], y[CACHE_KEY_TEXT], z[CACHE_KEY_TEXT];
    cache_key((const char *const[]){"ab", "c"}, 2, x);
    cache_key((const char *const[]){"a", "bc"}, 2, y);
    cache_key((const char *const[]){"ab", "c", ""}, 3, z);
    assert_string_not_equal(x, y);
    assert_string_not_equal(x, z);
    cache_key((const char *const[]){"ab", "c"}, 2, y);
    assert_string_equal(x, y);
    assert_int_equal(strlen(x), 32);
}

TEST(what_was_stored_is_found_whole)
{
    char key[CACHE_KEY_TEXT], *bytes;
    size_t length;
    struct cache_entry stored = store(1, 5000), found;
    key_of(1, key);
    assert_ok(cache_find(folder, key, &found));
    assert_string_equal(found.path, stored.path);
    assert_string_equal(found.checksum, stored.checksum);
    assert_int_equal(found.facts.registers, 128);
    assert_int_equal(found.facts.spill_bytes, 8);
    assert_int_equal(found.facts.static_smem_bytes, 64);
    assert_int_equal(found.facts.cubin_bytes, 5000);
    assert_ok(cache_read(found.path, found.checksum, &bytes, &length));
    assert_int_equal(length, 5000);
    assert_int_equal(bytes[4999], 1);
    assert_int_equal(bytes[5000], 0);
    free(bytes);
    assert_false(has(2));
    assert_int_equal(files_in(folder), 1);
}

TEST(a_kernel_is_found_by_its_name_as_it_was_noted_last)
{
    static const char name[] = "0123456789abcdef0123456789abcdef";
    char first[CACHE_KEY_TEXT], second[CACHE_KEY_TEXT], key[CACHE_KEY_TEXT], path[200];
    int64_t entries, bytes;
    store(1, 100);
    key_of(1, first);
    key_of(2, second);
    assert_int_equal(cache_noted(folder, name, key), E_ABSENT);
    cache_note(folder, name, first);
    assert_ok(cache_noted(folder, name, key));
    assert_string_equal(key, first);
    cache_note(folder, name, second);
    assert_ok(cache_noted(folder, name, key));
    assert_string_equal(key, second);
    assert_int_equal(files_in(folder), 2);
    assert_ok(cache_usage(folder, &entries, &bytes));
    assert_int_equal(entries, 1); /* a name is no kernel */
    /* What is no key, or may be another user's, is no answer. */
    snprintf(path, sizeof path, "%s/%s.newest", folder, name);
    static const char *const texts[] = {"", "0", "0123456789abcdef0123456789abcdeX",
                                        "0123456789abcdef0123456789abcdef0"};
    for (int i = 0; i < 4; i++) {
        file_write(path, texts[i]);
        assert_int_equal(cache_noted(folder, name, key), E_ABSENT);
    }
    cache_note(folder, name, first);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(cache_noted(folder, name, key), E_ABSENT);
    cache_note("/nowhere/at/all", name, first);
    assert_int_equal(cache_noted("/nowhere/at/all", name, key), E_ABSENT);
    /* It is evicted like any file. */
    age(path, 1000);
    age(store(1, 100).path, 1000);
    assert_ok(cache_trim(folder, 0, &bytes));
    assert_int_equal(files_in(folder), 0);
}

TEST(a_folder_is_made_with_its_parents_and_is_private)
{
    char deep[128];
    struct stat info;
    snprintf(deep, sizeof deep, "%s/a/b/c", folder);
    assert_ok(cache_make_folder(deep));
    assert_int_equal(stat(deep, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_ok(cache_make_folder(deep));
}

TEST(a_truncated_cubin_is_no_hit_and_is_replaced)
{
    struct cache_entry entry = store(3, 4000);
    assert_int_equal(truncate(entry.path, 3999), 0);
    assert_false(has(3));
    store(3, 4000);
    assert_true(has(3));
}

TEST(a_changed_byte_is_no_hit_and_cache_read_says_damaged)
{
    struct cache_entry entry = store(4, 4000);
    int fd = open(entry.path, O_WRONLY);
    assert_int_equal(pwrite(fd, "x", 1, 2000), 1);
    close(fd);
    assert_false(has(4));
    char *bytes;
    size_t length;
    assert_fails(cache_read(entry.path, entry.checksum, &bytes, &length), E_INPUT, "damaged");
}

TEST(a_damaged_or_incomplete_line_is_no_hit)
{
    static const char *const bad[] = {
        "",
        "\n",
        "\n{",
        "\n[]",
        "\n{\"checksum\":7,\"facts\":{}}",
        "\n{\"checksum\":\"CHECKSUM\",\"facts\":{}}",
        "\n{\"checksum\":\"00000000000000000000000000000000\",\"facts\":{\"registers\":1,\"spill_bytes\":0,"
        "\"static_smem_bytes\":0,\"cubin_bytes\":100,\"compile_ms\":1.0}}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[400];
        const struct cache_entry entry = store(5, 100);
        assert_true(has(5));
        memset(text, 5, 100); /* the kernel as it was stored */
        snprintf(text + 100, sizeof text - 100, "%s", bad[i]);
        char *checksum = strstr(text, "CHECKSUM");
        if (checksum) {
            memmove(checksum + 32, checksum + 8, strlen(checksum + 8) + 1);
            memcpy(checksum, entry.checksum, 32);
        }
        file_write(entry.path, text);
        assert_false(has(5));
    }
    file_write(store(5, 100).path, "\n{}"); /* no kernel */
    assert_false(has(5));
}

TEST(least_recently_used_entries_go_first_until_seven_eighths_are_left)
{
    enum { COUNT = 16, BYTES = 10000 };
    for (int i = 1; i <= COUNT; i++) age(store(i, BYTES).path, 1000 - i);
    assert_true(has(1)); /* the oldest is used again */
    int64_t kept, entries, bytes;
    assert_ok(cache_usage(folder, &entries, &bytes));
    assert_int_equal(entries, COUNT);
    assert_ok(cache_trim(folder, bytes, &kept));
    assert_int_equal(kept, bytes); /* exactly the limit is not above it */
    assert_ok(cache_trim(folder, bytes - 1, &kept));
    assert_true(kept <= (bytes - 1) / 8 * 7);
    assert_true(has(1));
    assert_false(has(2));
    assert_false(has(3));
    assert_false(has(4));
    assert_true(has(5));
    assert_ok(cache_usage(folder, &entries, &bytes));
    assert_int_equal(entries, COUNT - 3); /* 13 of 16, since 14 are a byte more than 7/8 */
    assert_int_equal(bytes, kept);
}

TEST(what_was_just_used_is_not_evicted)
{
    int64_t kept;
    store(1, 10000);
    age(store(2, 10000).path, 300);
    assert_ok(cache_trim(folder, 1, &kept));
    assert_true(has(1));
    assert_false(has(2));
}

TEST(trimming_leaves_foreign_files_alone_and_sweeps_what_dead_writers_left)
{
    char foreign[128], fresh[128], dead[128], orphan[128], key[CACHE_KEY_TEXT];
    key_of(9, key);
    snprintf(foreign, sizeof foreign, "%s/thesis.cubin", folder);
    snprintf(fresh, sizeof fresh, "%s/.tune-abcdef", folder);
    snprintf(dead, sizeof dead, "%s/.tune-ghijkl", folder);
    snprintf(orphan, sizeof orphan, "%s/%s.json", folder, key);
    const char *const made[] = {foreign, fresh, dead, orphan};
    for (int i = 0; i < 4; i++) {
        FILE *file = fopen(made[i], "w");
        assert_non_null(file);
        fputs("something", file);
        fclose(file);
        if (i != 1) age(made[i], 7200);
    }
    int64_t kept;
    assert_ok(cache_trim(folder, 1, &kept));
    assert_int_equal(access(foreign, F_OK), 0);
    assert_int_equal(access(fresh, F_OK), 0);
    assert_int_not_equal(access(dead, F_OK), 0);
    assert_int_not_equal(access(orphan, F_OK), 0);
}

/* Databases that were checked: empty files, of which there may be many. */
TEST(markers_of_checked_databases_count_and_are_evicted_like_entries)
{
    enum { COUNT = 1000 };
    char name[64], path[160], foreign[160];
    int64_t kept, entries, bytes, before;
    store(1, 10000);
    age(store(2, 10000).path, 5000);
    assert_ok(cache_usage(folder, &entries, &before));
    assert_int_equal(mkdir(in_folder("checked"), 0700), 0);
    snprintf(foreign, sizeof foreign, "%s", in_folder("checked/thesis"));
    file_write(foreign, "mine");
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "checked/%016x-fd00-%x", i, i);
        snprintf(path, sizeof path, "%s", in_folder(name));
        file_write(path, "");
        age(path, 10000 - i);
    }
    assert_ok(cache_usage(folder, &entries, &bytes));
    assert_int_equal(entries, 2);
    assert_true(bytes >= before + COUNT * 256);
    assert_ok(cache_trim(folder, bytes - 1, &kept)); /* the oldest eighth goes */
    assert_true(kept <= bytes / 8 * 7);
    assert_int_not_equal(access(in_folder("checked/0000000000000000-fd00-0"), F_OK), 0);
    assert_int_equal(access(path, F_OK), 0); /* the newest */
    assert_true(has(1));
    assert_true(has(2));
    assert_ok(cache_trim(folder, 1, &kept));
    assert_int_not_equal(access(path, F_OK), 0);
    assert_true(has(1)); /* in use */
    assert_int_equal(access(foreign, F_OK), 0);
}

TEST(storing_keeps_the_folder_within_its_limit)
{
    setenv("GEMMTUNE_CACHE_MIB", "1", 1);
    assert_int_equal(cache_limit(), 1 << 20);
    for (int i = 1; i <= 40; i++) age(store(i, 100000).path, 10000 - i);
    int64_t entries, bytes;
    assert_ok(cache_usage(folder, &entries, &bytes));
    assert_true(bytes <= 1 << 20);
    assert_true(entries >= 8);
    assert_true(has(40));
    assert_false(has(1));
    setenv("GEMMTUNE_CACHE_SIZE", "3G", 1); /* of the two it is the one that counts */
    assert_int_equal(cache_limit(), INT64_C(3) << 30);
    setenv("GEMMTUNE_CACHE_SIZE", "3 G", 1);
    assert_int_equal(cache_limit(), 1 << 20);
    unsetenv("GEMMTUNE_CACHE_SIZE");
    setenv("GEMMTUNE_CACHE_MIB", "much", 1);
    assert_int_equal(cache_limit(), 2048ll << 20);
}

TEST(a_folder_that_cannot_be_written_is_named_with_what_to_do)
{
    char path[128], key[CACHE_KEY_TEXT];
    struct cache_entry entry;
    key_of(1, key);
    snprintf(path, sizeof path, "%s/file", folder);
    file_write(path, "");
    assert_fails(cache_store(path, key, "x", 1, &some_facts, &entry), E_IO, "GEMMTUNE_CACHE");
    assert_fails(cache_make_folder("/proc/gemmtune"), E_IO, "/proc/gemmtune");
    int64_t entries, bytes;
    assert_fails(cache_usage("/nowhere/at/all", &entries, &bytes), E_IO, "/nowhere/at/all");
}

/* The run goes on: what the cache cannot take is kept beside it until its owner ends. */
TEST(where_the_cache_cannot_be_written_a_spare_folder_takes_its_place)
{
    char path[128], key[CACHE_KEY_TEXT], spare[128];
    struct cache_entry entry, found;
    struct stat info;
    setenv("TMPDIR", folder, 1);
    cache_spare(getpid());
    snprintf(spare, sizeof spare, "%s/gemmtune-%lu-%ld", folder, (unsigned long)geteuid(), (long)getpid());
    snprintf(path, sizeof path, "%s/file", folder);
    file_write(path, "");
    key_of(1, key);
    assert_int_equal(cache_find(path, key, &found), E_ABSENT);
    assert_string_equal(cache_spare_why(), "");
    assert_ok(cache_store(path, key, "x", 1, &some_facts, &entry));
    assert_non_null(strstr(cache_spare_why(), "cannot write the cache of compiled kernels"));
    assert_non_null(strstr(cache_spare_why(), spare));
    assert_int_equal(strncmp(entry.path, spare, strlen(spare)), 0);
    assert_true(lstat(spare, &info) == 0 && (info.st_mode & 07777) == 0700);
    assert_ok(cache_find(path, key, &found));
    assert_string_equal(found.path, entry.path);
    cache_spare(getpid() + 1); /* another's: it is not ours to remove */
    cache_spare_remove();
    assert_int_equal(lstat(spare, &info), 0);
    cache_spare(getpid());
    cache_spare_remove();
    assert_int_equal(lstat(spare, &info), -1);
    /* What others may write to, or a link, is not used. */
    assert_int_equal(symlink("/tmp", spare), 0);
    assert_fails(cache_store(path, key, "x", 1, &some_facts, &entry), E_IO, "cannot write the cache");
    cache_spare_remove();
    assert_int_equal(unlink(spare), 0);
    assert_int_equal(mkdir(spare, 0700), 0);
    assert_int_equal(chmod(spare, 0777), 0);
    assert_fails(cache_store(path, key, "x", 1, &some_facts, &entry), E_IO, "cannot write the cache");
    cache_spare(0);
    unsetenv("TMPDIR");
}

TEST(a_disk_that_fills_up_leaves_nothing_half_written)
{
    char key[CACHE_KEY_TEXT];
    static char bytes[100000];
    struct cache_entry entry;
    key_of(6, key);
    /* A limit on the size of files fails in the middle of a write, as a full disk does. */
    struct rlimit before, small = {50000, 50000};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum status st = cache_store(folder, key, bytes, sizeof bytes, &some_facts, &entry);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(st, E_IO);
    assert_non_null(strstr(status_text(), folder));
    assert_int_equal(files_in(folder), 0);
    assert_false(has(6));
}

/* Each writer stores, finds and trims the same few keys; none may ever see bytes that are not a key's. */
static int hammer(unsigned seed)
{
    for (int round = 0; round < 200; round++) {
        int number = 1 + (int)(seed = seed * 1664525u + 1013904223u) % 7;
        if (number < 1) number += 7;
        char key[CACHE_KEY_TEXT], bytes[3000];
        struct cache_entry entry;
        int64_t kept;
        key_of(number, key);
        memset(bytes, number, sizeof bytes);
        if (cache_store(folder, key, bytes, sizeof bytes, &some_facts, &entry)) return 1;
        if (round % 10 == 0 && cache_trim(folder, 4000, &kept)) return 2;
        if (round % 3 == 0) (void)!truncate(entry.path, 100); /* damage in between */
        char *found;
        size_t length;
        if (cache_find(folder, key, &entry)) continue;
        enum status st = cache_read(entry.path, entry.checksum, &found, &length);
        if (st == E_IO || st == E_INPUT) continue; /* gone or damaged since, and said so */
        if (st || length != sizeof bytes || memcmp(found, bytes, length) != 0) return 3;
        free(found);
    }
    return 0;
}

TEST(many_processes_share_a_cache_without_reading_half_an_entry)
{
    enum { PROCESSES = 6 };
    for (unsigned i = 0; i < PROCESSES; i++)
        if (fork() == 0) _exit(hammer(i));
    for (int i = 0; i < PROCESSES; i++) {
        int how;
        assert_true(wait(&how) > 0);
        assert_true(WIFEXITED(how));
        assert_int_equal(WEXITSTATUS(how), 0);
    }
    int64_t kept;
    assert_ok(cache_trim(folder, 1 << 20, &kept));
    assert_true(files_in(folder) <= 7); /* no temporary file is left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_differ_where_the_border_between_texts_moves),
        FOLDER_TEST(what_was_stored_is_found_whole),
        FOLDER_TEST(a_kernel_is_found_by_its_name_as_it_was_noted_last),
        FOLDER_TEST(a_folder_is_made_with_its_parents_and_is_private),
        FOLDER_TEST(a_truncated_cubin_is_no_hit_and_is_replaced),
        FOLDER_TEST(a_changed_byte_is_no_hit_and_cache_read_says_damaged),
        FOLDER_TEST(a_damaged_or_incomplete_line_is_no_hit),
        FOLDER_TEST(least_recently_used_entries_go_first_until_seven_eighths_are_left),
        FOLDER_TEST(what_was_just_used_is_not_evicted),
        FOLDER_TEST(trimming_leaves_foreign_files_alone_and_sweeps_what_dead_writers_left),
        FOLDER_TEST(markers_of_checked_databases_count_and_are_evicted_like_entries),
        FOLDER_TEST(storing_keeps_the_folder_within_its_limit),
        FOLDER_TEST(a_folder_that_cannot_be_written_is_named_with_what_to_do),
        FOLDER_TEST(where_the_cache_cannot_be_written_a_spare_folder_takes_its_place),
        FOLDER_TEST(a_disk_that_fills_up_leaves_nothing_half_written),
        FOLDER_TEST(many_processes_share_a_cache_without_reading_half_an_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
