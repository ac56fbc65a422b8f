/* The stacks on which the drop-in runs where a thread has little room: how many there are, and what a jump, a
 * signal, or a cancellation does to them.
 */
#include "stack_room.h"
#include "unit.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TIMES = 100, LITTLE_BYTES = 128 << 10 }; /* less than stack_room asks for */

static __thread struct stack_room room;

static long mapped_mib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld", &pages), 1);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) >> 10) >> 10;
}

static void *in_little_thread(void *(*start)(void *argument), void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *result = NULL;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, LITTLE_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, start, argument), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    pthread_attr_destroy(&attributes);
    return result;
}

static void count(void *counter)
{
    volatile char much[200 << 10]; /* more than the thread has */
    much[0] = 1;
    *(int *)counter += much[0];
}

static void *visit_once(void *counter)
{
    stack_room_run(&room, count, counter);
    return NULL;
}

TEST(the_stack_of_a_thread_goes_with_it)
{
    int visits = 0;
    in_little_thread(visit_once, &visits); /* the C library keeps a thread's stack */
    const long before = mapped_mib();
    for (int i = 0; i < TIMES; i++) in_little_thread(visit_once, &visits);
    assert_int_equal(visits, TIMES + 1);
    if (mapped_mib() > before + TIMES / 4) fail_msg("%ld MiB, then %ld", before, mapped_mib());
}

/* ---- jumps ---- */

static sigjmp_buf back;

static void jump(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

static void interrupt(void *nothing)
{
    (void)nothing;
    raise(SIGUSR1);
}

static void *jump_often(void *visits)
{
    stack_room_run(&room, count, visits);
    for (volatile int i = 0; i < TIMES; i++)
        if (sigsetjmp(back, 1) == 0) stack_room_run(&room, interrupt, NULL);
    stack_room_run(&room, count, visits);
    return NULL;
}

TEST(a_jump_out_of_a_handler_leaves_no_stack_behind)
{
    const struct sigaction jumps = {.sa_handler = jump};
    int visits = 0;
    sigaction(SIGUSR1, &jumps, NULL);
    const long before = mapped_mib();
    in_little_thread(jump_often, &visits);
    assert_int_equal(visits, 2);
    if (mapped_mib() > before + TIMES / 4) fail_msg("%ld MiB, then %ld", before, mapped_mib());
}

/* ---- handlers that call, too ---- */

static int inner;

static void call_too(int signal)
{
    (void)signal;
    stack_room_run(&room, count, &inner);
}

static void call_around(void *outer)
{
    volatile int before = 42;
    raise(SIGUSR1);
    *(int *)outer += before == 42;
}

static void *be_interrupted(void *outer)
{
    static char signal_stack[64 << 10];
    const stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack},
                  none = {.ss_flags = SS_DISABLE};
    stack_room_run(&room, call_around, outer);
    sigaltstack(&stack, NULL);
    stack_room_run(&room, call_around, outer);
    sigaltstack(&none, NULL);
    return NULL;
}

TEST(a_handler_may_call_in_a_call)
{
    const struct sigaction calls = {.sa_handler = call_too, .sa_flags = SA_ONSTACK};
    int outer = 0;
    sigaction(SIGUSR1, &calls, NULL);
    in_little_thread(be_interrupted, &outer);
    assert_int_equal(outer, 2);
    assert_int_equal(inner, 2);
}

/* ---- cancellation ---- */

static int finished, cleaned;

static void clean(const int *nothing)
{
    (void)nothing;
    cleaned++;
}

static void offer_to_be_cancelled(void *nothing)
{
    (void)nothing;
    pthread_testcancel();
    finished++;
}

static void *be_cancelled(void *nothing)
{
    __attribute__((cleanup(clean))) const int guard = 0; /* as a C++ object with a destructor */
    (void)guard;
    pthread_cancel(pthread_self());
    stack_room_run(&room, offer_to_be_cancelled, nothing);
    pthread_testcancel();
    return nothing;
}

TEST(a_cancelled_thread_cleans_up_what_its_caller_has)
{
    assert_ptr_equal(in_little_thread(be_cancelled, NULL), PTHREAD_CANCELED);
    assert_int_equal(finished, 1);
    assert_int_equal(cleaned, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stack_of_a_thread_goes_with_it),
        cmocka_unit_test(a_jump_out_of_a_handler_leaves_no_stack_behind),
        cmocka_unit_test(a_handler_may_call_in_a_call),
        cmocka_unit_test(a_cancelled_thread_cleans_up_what_its_caller_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
