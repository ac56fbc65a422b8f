#include "notice.h"

#include "env.h"
#include "print.h"

#include <stdarg.h>
#include <stdio.h>

static void say(const char *line)
{
    print_line(stderr, "gemmtune: %s", line);
}

void notices_start(struct notices *notices, bool quiet)
{
    notices->quiet = quiet || env_is_on("GEMMTUNE_QUIET");
    for (int i = 0; i < NOTICES; i++) atomic_flag_clear(&notices->said[i]);
    if (!notices->quiet) env_report(say);
}

void notice(struct notices *notices, enum notice kind, const char *format, ...)
{
    if (atomic_flag_test_and_set(&notices->said[kind]) || notices->quiet) return;
    char line[1280];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    print_line(stderr, "gemmtune: %s", line);
}
