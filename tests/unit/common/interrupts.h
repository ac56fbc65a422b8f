/* interrupts.h — a test that is interrupted by its own children or by itself. */
#ifndef GT_TEST_INTERRUPTS_H
#define GT_TEST_INTERRUPTS_H

#include <signal.h>
#include <stddef.h>

/* Whoever started the test may ignore what it wants to get. */
static inline void accept_interrupts(void)
{
    static const int expected[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) signal(expected[i], SIG_DFL);
}

#endif
