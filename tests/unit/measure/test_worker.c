/* The GPU worker process where there is no GPU: what it answers, and how it ends. */
#include "frame.h"
#include "messages.h"
#include "unit.h"
#include "worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;
static int supervisor;

static int start(void **state)
{
    (void)state;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return -1;
    child = fork();
    if (child == 0) {
        char name[] = "tune _worker", device[] = "--device=0", cache[] = "--cache=/tmp";
        char *argv[] = {name, device, cache, NULL};
        dup2(ends[1], 3);
        for (int fd = 4; fd < 32; fd++) close(fd);
        setenv("GEMMTUNE_LIBCUDA", "/nowhere/libcuda.so.1", 1);
        _exit(cmd_gpu_worker(3, argv) ? 99 : 0);
    }
    close(ends[1]);
    supervisor = ends[0];
    return child < 0;
}

/* How it ended: an exit code, or minus a signal. */
static int await_end(void)
{
    int ended = 0;
    if (supervisor >= 0) close(supervisor);
    supervisor = -1;
    if (child < 0 || waitpid(child, &ended, 0) != child) return 1000;
    child = -1;
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : -WTERMSIG(ended);
}

static int stop(void **state)
{
    (void)state;
    unsetenv("GEMMTUNE_TEST");
    if (child > 0) kill(child, SIGKILL);
    await_end();
    return 0;
}

static void ask(const char *request, const char *part)
{
    json_t *message = json_loads(request, 0, NULL), *answer = NULL;
    assert_non_null(message);
    assert_ok(frame_send(supervisor, message));
    assert_ok(frame_receive(supervisor, &answer));
    const char *error = json_string_value(json_object_get(answer, "error"));
    if (!json_is_false(json_object_get(answer, "ok")) || !error || !strstr(error, part))
        fail_msg("%s: '%s' lacks '%s'", request, error ? error : "", part);
    json_decref(message);
    json_decref(answer);
}

TEST(a_machine_without_a_driver_is_said_in_one_sentence)
{
    ask("{\"do\": \"hello\"}", "no NVIDIA driver");
    ask("{\"do\": \"hello\"}", "no NVIDIA driver"); /* and it lives on */
    assert_int_equal(await_end(), 0);
}

TEST(nothing_is_done_before_hello)
{
    static const char *const verbs[] = {"prepare", "trial", "block", "verify", "roofline"};
    for (size_t i = 0; i < 5; i++) {
        char request[64];
        snprintf(request, sizeof request, "{\"do\": \"%s\"}", verbs[i]);
        ask(request, "before hello");
    }
    assert_int_equal(await_end(), 0);
}

TEST(what_is_no_request_is_refused)
{
    ask("{\"do\": \"dance\"}", "does not know the request 'dance'");
    ask("{\"do\": 7}", "does not know the request");
    ask("{}", "does not know the request");
    assert_int_equal(await_end(), 0);
}

TEST(crash_and_hang_are_for_tests_only)
{
    ask("{\"do\": \"crash\"}", "does not know");
    ask("{\"do\": \"hang\"}", "does not know");
    assert_int_equal(await_end(), 0);
}

static int start_for_tests(void **state)
{
    setenv("GEMMTUNE_TEST", "1", 1);
    return start(state);
}

TEST(a_crash_is_a_signal_without_a_core)
{
    json_t *message = json_pack("{s:s}", "do", "crash");
    assert_ok(frame_send(supervisor, message));
    json_decref(message);
    json_t *answer = NULL;
    assert_int_equal(frame_receive(supervisor, &answer), E_ABSENT);
    assert_int_equal(await_end(), -SIGABRT);
}

TEST(a_hang_ends_only_when_it_is_killed)
{
    json_t *message = json_pack("{s:s}", "do", "hang");
    assert_ok(frame_send(supervisor, message));
    json_decref(message);
    usleep(100000);
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    kill(child, SIGKILL);
    assert_int_equal(await_end(), -SIGKILL);
}

TEST(bytes_that_are_no_frame_end_it)
{
    assert_int_equal(write(supervisor, "GET / HTTP/1.1\r\n\r\n", 18), 18);
    assert_int_equal(await_end(), 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_machine_without_a_driver_is_said_in_one_sentence, start, stop),
        cmocka_unit_test_setup_teardown(nothing_is_done_before_hello, start, stop),
        cmocka_unit_test_setup_teardown(what_is_no_request_is_refused, start, stop),
        cmocka_unit_test_setup_teardown(crash_and_hang_are_for_tests_only, start, stop),
        cmocka_unit_test_setup_teardown(a_crash_is_a_signal_without_a_core, start_for_tests, stop),
        cmocka_unit_test_setup_teardown(a_hang_ends_only_when_it_is_killed, start_for_tests, stop),
        cmocka_unit_test_setup_teardown(bytes_that_are_no_frame_end_it, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
