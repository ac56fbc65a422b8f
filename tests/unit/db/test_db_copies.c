/* Two copies of SQLite in one process, as the library's and the drop-in's: what the other one closes costs
 * this one SQLite's locks. The other copy is played by what it does: it closes descriptors of the same files.
 */
#include "store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static bool write_something(struct db *db)
{
    struct db_context context = store_context();
    return store_run(db, &context) > 0;
}

/* A tuner that has the database open until it is killed. */
static pid_t tuner_begins(void)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct db *db = NULL;
        if (db_open(store_path, DB_WRITE, &db) || !write_something(db) || write(ends[1], "", 1) != 1)
            _exit(1);
        for (;;) pause();
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return child;
}

/* What SQLite does first in a program that opens the log's index (unixLockSharedMemory): nobody has it in
 * memory, so it is of no use. Then it makes a new one; here it does not get to that. */
static void another_program_opens_the_index(void)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char name[PATH_MAX];
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 128, .l_len = 1};
        snprintf(name, sizeof name, "%s-shm", store_path);
        const int fd = open(name, O_RDWR | O_CLOEXEC);
        if (fd < 0 || fcntl(fd, F_GETLK, &lock)) _exit(1);
        if (lock.l_type == F_UNLCK && ftruncate(fd, 3)) _exit(1);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void other_copy_closes(void)
{
    char name[PATH_MAX];
    static const char *const suffixes[] = {"", "-shm"};
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s%s", store_path, suffixes[i]);
        const int fd = open(name, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        close(fd);
    }
}

static bool count_problem(void *self, int64_t id, const struct problem *problem)
{
    (void)id, (void)problem;
    ++*(int *)self;
    return true;
}

static int problems(struct db *db)
{
    int count = 0;
    assert_ok(db_problems_each(db, count_problem, &count));
    return count;
}

static void put_problem(int size)
{
    struct working w = store_begin();
    struct problem problem = problem_make(size, size, size);
    struct config config = store_config(0);
    struct outcome outcome = store_outcome(1);
    store_trial(w.db, w.run, &problem, &config, &outcome);
    db_close(w.db);
}

/* A SIGBUS would end the reader. */
static void reads_on(bool reader_first)
{
    put_problem(64);
    const pid_t reader = fork();
    assert_true(reader >= 0);
    if (reader == 0) {
        struct db *db = reader_first ? store_open(DB_GLANCE) : NULL;
        if (db) assert_int_equal(problems(db), 1);
        const pid_t tuner = tuner_begins();
        if (!db) db = store_open(DB_GLANCE);
        for (int i = 0; i < 2; i++) assert_int_equal(problems(db), 1);
        other_copy_closes();
        end(tuner);
        another_program_opens_the_index();
        assert_int_equal(problems(db), 1);
        db_close(db);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(reader, &status, 0), reader);
    if (status) fail_msg("the reader ended with signal %d, code %d", WTERMSIG(status), WEXITSTATUS(status));
}

TEST(a_reader_survives_what_another_copy_closes)
{
    reads_on(false);
}

TEST(so_does_a_reader_that_came_before_the_log)
{
    reads_on(true);
}

/* The drop-in of the process that writes, here only in tests: the next program joins instead of beginning
 * anew. */
TEST(a_writer_survives_what_another_copy_closes)
{
    const pid_t writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        struct working w = store_begin();
        other_copy_closes();
        another_program_opens_the_index();
        struct config config = store_config(0);
        struct outcome outcome = store_outcome(1);
        store_trial(w.db, w.run, &w.problem, &config, &outcome);
        db_close(w.db);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(writer, &status, 0), writer);
    if (status) fail_msg("the writer ended with signal %d, code %d", WTERMSIG(status), WEXITSTATUS(status));
    struct db *db = store_open(DB_READ);
    assert_int_equal(problems(db), 1);
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {STORE_TEST(a_reader_survives_what_another_copy_closes),
                                       STORE_TEST(so_does_a_reader_that_came_before_the_log),
                                       STORE_TEST(a_writer_survives_what_another_copy_closes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
