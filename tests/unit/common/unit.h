/* unit.h — cmocka with the names this project uses. A test's name states its claim. */
#ifndef GT_UNIT_H
#define GT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
/* cmocka's fail() would hide ours (status.h), and its fail_msg() is written with it. */
#undef fail
#undef fail_msg
#define fail_msg(...) (print_error(__VA_ARGS__), print_error("\n"), _fail(__FILE__, __LINE__))

/* How much longer than alone something may take on a machine that others use, too, without being at fault. */
#define SHARED_MACHINE 8

#define TEST(name) static void name(void **unit_state __attribute__((unused)))

/* Fails with the sentence of the last error. */
#define assert_ok(call)                                                                                      \
    do {                                                                                                     \
        enum status unit_status = (call);                                                                    \
        if (unit_status) fail_msg("%s: %s", #call, status_text());                                           \
    } while (0)

#define assert_fails(call, expected, part)                                                                   \
    do {                                                                                                     \
        assert_int_equal((call), (expected));                                                                \
        if (!strstr(status_text(), (part))) fail_msg("'%s' lacks '%s'", status_text(), (part));              \
    } while (0)

#endif
