/* Machine code in a file of its own: what is found is whole and the kernel that was asked for, whatever was
 * done to the file; what others may have written is not read. */
#include "db_code.h"
#include "files.h"
#include "store.h"

#include <fcntl.h>

enum { KERNELS = 40 };

static char path[160];
static char code_of[KERNELS][3000];

/* Kernels of different lengths, in part hard to compress. */
static void put_kernels(int count)
{
    static struct db_code kernels[KERNELS];
    unsigned x = 1;
    for (int i = 0; i < count; i++) {
        const size_t bytes = 100 + 70 * (size_t)i;
        for (size_t j = 0; j < bytes; j++) {
            x = x * 1664525 + 1013904223;
            code_of[i][j] = j % 3 ? (char)i : (char)(x >> 24);
        }
        kernels[i] = (struct db_code){.kernel = "sgemm nn simt", .code = code_of[i], .bytes = bytes};
        kernels[i].facts.registers = 64;
        snprintf(kernels[i].id, sizeof kernels[i].id, "%032x", 7919 * i);
    }
    snprintf(path, sizeof path, "%s/code-90.sqlite", store_folder);
    assert_ok(db_code_write(path, kernels, count));
}

/* OK: it is the kernel, whole. */
static enum status ask(int i)
{
    char id[DB_CODE_ID_TEXT], *code = NULL;
    size_t bytes = 0;
    snprintf(id, sizeof id, "%032x", 7919 * i);
    const enum status st = db_code_find(path, id, &code, &bytes);
    if (!st && (bytes != 100 + 70 * (size_t)i || memcmp(code, code_of[i], bytes) != 0))
        fail_msg("kernel %d is another one, of %zu bytes", i, bytes);
    free(code);
    return st;
}

static void ask_fails(enum status expected, const char *part)
{
    assert_int_equal(ask(0), expected);
    if (!strstr(status_text(), part)) fail_msg("'%s' lacks '%s'", status_text(), part);
}

TEST(what_was_written_is_found_whole)
{
    put_kernels(KERNELS);
    for (int i = 0; i < KERNELS; i++) assert_ok(ask(i));
    assert_int_equal(ask(KERNELS), E_ABSENT);
    put_kernels(1); /* the file is replaced as a whole */
    assert_ok(ask(0));
    assert_int_equal(ask(1), E_ABSENT);
    assert_int_equal(files_in(store_folder), 1);
}

TEST(a_file_that_is_not_there_is_absent)
{
    snprintf(path, sizeof path, "%s/code-90.sqlite", store_folder);
    ask_fails(E_ABSENT, "there is no");
    assert_int_equal(files_in(store_folder), 0);
}

TEST(wherever_it_is_damaged_no_other_kernel_is_found)
{
    int errors = 0, found = 0;
    put_kernels(KERNELS);
    size_t length;
    char *whole = file_read_bytes(path, &length);
    for (size_t at = 0; at < length; at += at < 200 ? 1 : 67) {
        const char was = whole[at];
        whole[at] = (char)(was ^ (1 << at % 8));
        file_write_bytes(path, whole, length);
        whole[at] = was;
        for (int i = 0; i < KERNELS; i += 13) {
            const enum status st = ask(i);
            if (st && st != E_ABSENT && st != E_DB) fail_msg("byte %zu: %d, %s", at, st, status_text());
            errors += st != OK;
            found += st == OK;
        }
    }
    free(whole);
    assert_true(errors > 100 && found > 100);
}

TEST(cut_short_anywhere_it_gives_a_sentence_or_a_whole_kernel)
{
    int errors = 0;
    put_kernels(KERNELS);
    size_t length;
    char *whole = file_read_bytes(path, &length);
    for (size_t kept = 0; kept < length; kept += 167) {
        file_write_bytes(path, whole, kept);
        for (int i = 0; i < KERNELS; i += 13) errors += ask(i) != OK;
    }
    free(whole);
    assert_true(errors > 100);
}

TEST(another_version_and_another_programs_file_are_said)
{
    sqlite3 *handle;
    put_kernels(2);
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_exec(handle, "PRAGMA user_version = 2", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(handle);
    ask_fails(E_DB, "version 2");
    file_write_bytes(path, "no database, but a text that is longer than nothing", 50);
    ask_fails(E_DB, "damaged");
}

TEST(what_others_may_write_is_not_trusted)
{
    char away[160];
    put_kernels(2);
    assert_int_equal(chmod(path, 0666), 0);
    ask_fails(E_IO, "others could have written it");
    assert_int_equal(chmod(path, 0664), 0); /* the owner's own group may */
    if (getgid() == geteuid()) assert_ok(ask(0));
    else ask_fails(E_IO, "others could have written it");
    assert_int_equal(chmod(path, 0600), 0);
    assert_ok(ask(0));
    assert_int_equal(chmod(store_folder, 0777), 0);
    ask_fails(E_IO, "others could have written it");
    assert_int_equal(chmod(store_folder, 0700), 0);
    snprintf(away, sizeof away, "%s/away", store_folder);
    assert_int_equal(rename(path, away), 0);
    assert_int_equal(symlink(away, path), 0);
    ask_fails(E_IO, "symbolic link");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    ask_fails(E_IO, "no file");
    if (geteuid() == 0) {
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rename(away, path), 0);
        assert_int_equal(chown(path, 0, 4711), 0);
        assert_int_equal(chmod(path, 0664), 0);
        ask_fails(E_IO, "others could have written it");
        assert_int_equal(chown(path, 4711, 4711), 0);
        ask_fails(E_IO, "belongs to user 4711");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(what_was_written_is_found_whole),
        STORE_TEST(a_file_that_is_not_there_is_absent),
        STORE_TEST(wherever_it_is_damaged_no_other_kernel_is_found),
        STORE_TEST(cut_short_anywhere_it_gives_a_sentence_or_a_whole_kernel),
        STORE_TEST(another_version_and_another_programs_file_are_said),
        STORE_TEST(what_others_may_write_is_not_trusted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
