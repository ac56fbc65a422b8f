#include "files.h"
#include "output_file.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static bool no_nameless; /* open answers as on a file system without O_TMPFILE */

static int fake_open(const char *path, int flags, va_list args)
{
    const bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
    const mode_t mode = flags & O_CREAT || nameless ? va_arg(args, mode_t) : 0;
    if (nameless && no_nameless) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...) /* NOLINT(readability-inconsistent-declaration-parameter-name) */
{
    va_list args;
    va_start(args, flags);
    int fd = fake_open(path, flags, args);
    va_end(args);
    return fd;
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

/* In turns: two paths may be used at once. */
static const char *in_folder(const char *name)
{
    static char paths[4][160];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", store_folder, name);
    return path;
}

static void assert_holds(const char *path, const char *expected)
{
    assert_string_equal(file_text(path), expected);
}

static void write_to(const char *path, const char *text)
{
    struct outfile out;
    assert_ok(outfile_open(path, &out));
    fputs(text, out.stream);
    assert_ok(outfile_close(&out, OK));
}

static unsigned mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode;
}

static void replace_and_abandon(void)
{
    struct outfile out;
    const char *path = in_folder("out");
    write_to(path, "first");
    write_to(path, "second");
    assert_holds(path, "second");
    assert_ok(outfile_open(path, &out));
    fputs("third", out.stream);
    assert_holds(path, "second");
    assert_int_equal(outfile_close(&out, E_GPU), E_GPU);
    assert_holds(path, "second");
    assert_int_equal(files_in(store_folder), 1);
}

TEST(a_file_is_replaced_as_a_whole_or_not_at_all)
{
    replace_and_abandon();
    no_nameless = true;
    replace_and_abandon();
    no_nameless = false;
}

TEST(the_mode_of_a_file_stays)
{
    const char *path = in_folder("secret");
    write_to(path, "x");
    chmod(path, 0600);
    write_to(path, "y");
    assert_int_equal(mode_of(path) & 0777, 0600);
}

TEST(a_symbolic_link_is_followed)
{
    assert_int_equal(mkdir(in_folder("sub"), 0700), 0);
    assert_int_equal(symlink("sub/real", in_folder("link")), 0);
    write_to(in_folder("link"), "first"); /* to nothing yet */
    write_to(in_folder("link"), "second");
    assert_true(S_ISLNK(mode_of(in_folder("link"))));
    assert_holds(in_folder("sub/real"), "second");
    assert_int_equal(symlink("loop", in_folder("loop")), 0);
    struct outfile out;
    assert_fails(outfile_open(in_folder("loop"), &out), E_IO, "loop");
}

TEST(another_users_link_is_not_followed)
{
    struct outfile out;
    if (geteuid() != 0) skip(); /* nobody else can make one */
    write_to(in_folder("victim"), "mine");
    assert_int_equal(symlink("victim", in_folder("foreign")), 0);
    assert_int_equal(lchown(in_folder("foreign"), 12345, 12345), 0);
    assert_fails(outfile_open(in_folder("foreign"), &out), E_INPUT, "is a symbolic link of user 12345");
    assert_holds(in_folder("victim"), "mine");
    assert_int_equal(symlink("/dev/null", in_folder("device")), 0);
    assert_int_equal(lchown(in_folder("device"), 12345, 12345), 0);
    write_to(in_folder("device"), "as /dev/stdout is one, perhaps");
}

/* In a user namespace root is one that has no number there. */
TEST(a_link_of_a_user_without_a_number_is_followed_where_only_some_may_make_one)
{
    struct outfile out;
    if (geteuid() != 0) skip();
    assert_int_equal(symlink("target", in_folder("unmapped")), 0);
    assert_int_equal(lchown(in_folder("unmapped"), 65534, 65534), 0);
    write_to(in_folder("unmapped"), "followed");
    assert_holds(in_folder("target"), "followed");
    assert_int_equal(chmod(store_folder, 0777), 0);
    assert_fails(outfile_open(in_folder("unmapped"), &out), E_INPUT, "is a symbolic link of user 65534");
    assert_int_equal(chmod(store_folder, 0700), 0);
}

TEST(a_fifo_is_written_through)
{
    const char *path = in_folder("fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    char text[16] = "";
    write_to(path, "through");
    assert_int_equal(read(reader, text, sizeof text), 7);
    close(reader);
    assert_string_equal(text, "through");
    assert_true(S_ISFIFO(mode_of(path)));
    assert_int_equal(files_in(store_folder), 1);
}

TEST(a_device_is_written_through)
{
    struct outfile out;
    const char *path = in_folder("device");
    if (mknod(path, S_IFCHR | 0600, (dev_t)(1 << 8 | 3)) != 0 || access(path, W_OK) != 0) skip(); /* null */
    int fd = open(path, O_WRONLY);
    if (fd < 0) skip(); /* no devices here */
    close(fd);
    write_to(path, "nothing");
    assert_true(S_ISCHR(mode_of(path)));
    unlink(path);
    assert_int_equal(mknod(path, S_IFCHR | 0600, (dev_t)(1 << 8 | 7)), 0); /* full */
    assert_ok(outfile_open(path, &out));
    fputs("too much", out.stream);
    assert_int_equal(outfile_close(&out, OK), E_IO);
    assert_non_null(strstr(status_text(), "No space left"));
    assert_true(S_ISCHR(mode_of(path)));
}

TEST(a_write_that_failed_before_the_last_is_no_failing_disk)
{
    struct outfile out;
    if (access("/dev/full", W_OK) != 0) skip();
    assert_ok(outfile_open("/dev/full", &out));
    for (int i = 0; i < 3000; i++) fputs("too much ", out.stream);
    fflush(out.stream);
    assert_int_equal(outfile_close(&out, OK), E_IO);
    assert_null(
        strstr(status_text(), "Input/output error")); /* "No space left", or that the disk may be full */
}

TEST(a_descriptor_is_written_where_it_stands)
{
    int fd = open(in_folder("log"), O_CREAT | O_RDWR, 0600);
    char name[32];
    assert_int_equal(write(fd, "before ", 7), 7);
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    write_to(name, "after");
    close(fd);
    assert_holds(in_folder("log"), "before after");
}

/* A child that dies of this signal in the middle of writing. */
static void die_of(int number)
{
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct outfile out;
        signal(number, SIG_DFL); /* whoever started the test may ignore it */
        outfile_guard();
        if (outfile_open(in_folder("out"), &out)) _exit(1);
        fputs("half of it", out.stream);
        fflush(out.stream);
        raise(number);
        _exit(2);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), number);
}

TEST(no_signal_leaves_a_temporary_file)
{
    static const int numbers[] = {SIGKILL, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        die_of(numbers[i]);
        assert_int_equal(files_in(store_folder), 0);
    }
    no_nameless = true;
    for (size_t i = 1; i < sizeof numbers / sizeof *numbers; i++) {
        die_of(numbers[i]);
        assert_int_equal(files_in(store_folder), 0);
    }
    no_nameless = false;
}

TEST(a_limit_leaves_no_temporary_file)
{
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 1024;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    struct outfile out;
    assert_ok(outfile_open(in_folder("out"), &out));
    for (int i = 0; i < 10000; i++) fputs("more than that ", out.stream);
    enum status st = outfile_close(&out, OK);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(st, E_IO);
    assert_non_null(strstr(status_text(), "ulimit"));
    assert_int_equal(files_in(store_folder), 0);
}

TEST(what_cannot_be_written_is_named)
{
    struct outfile out;
    assert_fails(outfile_open("/no/such/folder/x.h", &out), E_IO, "/no/such/folder/x.h");
    assert_fails(outfile_open(store_folder, &out), E_IO, "directory");
    assert_int_equal(files_in(store_folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_file_is_replaced_as_a_whole_or_not_at_all),
        STORE_TEST(the_mode_of_a_file_stays),
        STORE_TEST(a_symbolic_link_is_followed),
        STORE_TEST(another_users_link_is_not_followed),
        STORE_TEST(a_link_of_a_user_without_a_number_is_followed_where_only_some_may_make_one),
        STORE_TEST(a_fifo_is_written_through),
        STORE_TEST(a_device_is_written_through),
        STORE_TEST(a_write_that_failed_before_the_last_is_no_failing_disk),
        STORE_TEST(a_descriptor_is_written_where_it_stands),
        STORE_TEST(no_signal_leaves_a_temporary_file),
        STORE_TEST(a_limit_leaves_no_temporary_file),
        STORE_TEST(what_cannot_be_written_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
