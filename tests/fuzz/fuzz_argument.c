/* The command line of the main job and the environment, a line an option: "budget 10m". Options that open
 * files have targets of their own (fuzz_suite, fuzz_space). */
#include "cache.h"
#include "exchange_json.h"
#include "fuzz.h"
#include "search.h"
#include "tune_options.h"
#include "workspace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGUMENTS_MAX 32

const char *const fuzz_words[] = {"shape ",
                                  "op ",
                                  "type ",
                                  "gpu ",
                                  "gpus ",
                                  "budget ",
                                  "max-trials ",
                                  "strategy ",
                                  "seed ",
                                  "cold\n",
                                  "hot\n",
                                  "workspace ",
                                  "jobs ",
                                  "again\n",
                                  "db ",
                                  "cache ",
                                  "format ",
                                  "64M",
                                  "1h30m",
                                  "all",
                                  ",0",
                                  "gp",
                                  "random",
                                  "exhaustive",
                                  "sgemm:nn:",
                                  "1x1x1",
                                  ":lda=2",
                                  "\n",
                                  "1.5",
                                  "d",
                                  "inf",
                                  "0x1",
                                  "when 2026-11-20T12:00:00Z\n",
                                  "+02:00",
                                  "environment 64M\n",
                                  NULL};

static void check_options(const struct tune_options *o)
{
    PROMISE(o->problem_count >= 1, "nothing to tune");
    for (size_t i = 0; i < o->problem_count; i++) {
        PROMISE(problem_check(&o->problems[i]) == OK, "%s", status_text());
        for (size_t j = 0; j < i; j++)
            PROMISE(!problem_equal(&o->problems[i], &o->problems[j]), "a problem twice");
    }
    PROMISE(isfinite(o->budget_s) && o->budget_s >= 0 && o->budget_s <= 366 * 86400.0, "%g s", o->budget_s);
    PROMISE(o->max_trials >= 0 && o->compilers >= 0 && o->compilers <= 1024, "%d compilers", o->compilers);
    PROMISE(o->workspace_bytes >= 0 || o->workspace_bytes == WORKSPACE_DEFAULT, "%lld bytes",
            (long long)o->workspace_bytes);
    PROMISE(o->device_count == CHILDREN_ALL_DEVICES ||
                (o->device_count >= 1 && o->device_count <= CHILDREN_WORKERS_MAX),
            "%d devices", o->device_count);
    for (int i = 0; i < o->device_count; i++) {
        PROMISE(o->devices[i] >= 0, "device %d", o->devices[i]);
        for (int j = 0; j < i; j++) PROMISE(o->devices[i] != o->devices[j], "device %d twice", o->devices[i]);
    }
    bool known = false;
    for (size_t i = 0; i < search_strategy_count; i++)
        known |= strcmp(search_strategies[i]->name, o->strategy) == 0;
    PROMISE(known, "%s", o->strategy);
    PROMISE(o->db[0] && o->cache[0], "a path is missing");
    PROMISE(memchr(o->command, 0, sizeof o->command), "the command does not end");
}

/* Variables, and times as they stand in files. */
static void check_value(const char *name, const char *value)
{
    int64_t number = -1;
    if (strcmp(name, "environment") == 0) {
        setenv("GEMMTUNE_CACHE_MIB", value, 1);
        setenv(WORKSPACE_VARIABLE, value, 1);
        PROMISE(cache_limit() >= 1 << 20, "'%s' is %lld bytes", value, (long long)cache_limit());
        number = workspace_from_environment();
        PROMISE(number >= 0 || number == WORKSPACE_DEFAULT, "'%s' is %lld bytes", value, (long long)number);
        unsetenv(WORKSPACE_VARIABLE);
    }
    if (strcmp(name, "when") == 0 && time_parse(value, &number) == OK)
        PROMISE(number >= 0 && number < INT64_C(253402300800) * 1000000, "'%s' is %lld", value,
                (long long)number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const known[] = {"shape",      "op",       "type", "gpu",  "gpus",      "budget",
                                        "max-trials", "strategy", "seed", "cold", "workspace", "jobs",
                                        "again",      "format",   "hot",  "db"};
    static char arguments[ARGUMENTS_MAX][600], nowhere[] = "--cache=/nonexistent";
    char *argv[ARGUMENTS_MAX + 1] = {(char *)(uintptr_t) "tune", nowhere}, *rest = NULL;
    int argc = 2;
    for (char *line = strtok_r(fuzz_text(data, size), "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *value = strchr(line, ' ');
        if (value) *value++ = '\0';
        if (value) check_value(line, value);
        for (size_t i = 0; i < sizeof known / sizeof *known && argc < ARGUMENTS_MAX; i++) {
            const bool alone =
                strcmp(line, "cold") == 0 || strcmp(line, "hot") == 0 || strcmp(line, "again") == 0;
            if (strcmp(line, known[i]) != 0 || alone == (value != NULL)) continue;
            snprintf(arguments[argc], sizeof arguments[argc], "--%s%s%.500s", line, alone ? "" : "=",
                     alone ? "" : value);
            argv[argc] = arguments[argc];
            argc++;
        }
    }
    struct tune_options options;
    const enum status st = tune_options_parse(argc, argv, &options);
    PROMISE(st == OK || st == E_USAGE || st == E_INPUT, "%d: %s", (int)st, status_text());
    if (st) return 0;
    fuzz_accept();
    check_options(&options);
    tune_options_free(&options);
    return 0;
}
