/* The commands that show what a database holds, on one that was damaged (damage.h): they end with a
 * documented status and a sentence, and what they call JSON is JSON. */
#include "commands.h"
#include "damage.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char database[300], output[300], header[300];

static enum status run(enum status (*command)(int, char **), const char *const *arguments)
{
    char *argv[10] = {(char *)(uintptr_t) "tune"};
    int argc = 1;
    for (; *arguments; arguments++) argv[argc++] = (char *)(uintptr_t)*arguments;
    argv[argc++] = database;
    static FILE *nowhere; /* for what they say besides; the sanitizers speak to the descriptor */
    if (!nowhere) nowhere = fopen("/dev/null", "w");
    if (!nowhere || !freopen(output, "w", stdout)) abort();
    FILE *before = stderr;
    stderr = nowhere;
    const enum status st = command(argc, argv);
    stderr = before;
    PROMISE(st == OK || st == E_ABSENT || st == E_DB || st == E_INPUT || st == E_BUSY, "%s: %d: %s",
            arguments[-1], (int)st, status_text());
    PROMISE(!st || status_text()[0], "no sentence");
    if (fflush(stdout)) abort();
    if (!st) fuzz_accept();
    return st;
}

#define RUN(command, ...) run(command, (const char *const[]){__VA_ARGS__, NULL})

static void check_json(bool lines)
{
    FILE *file = fopen(output, "r");
    json_error_t error;
    if (!file) abort();
    char first = (char)fgetc(file);
    rewind(file);
    while (first != (char)EOF) {
        json_t *json = json_loadf(file, JSON_DISABLE_EOF_CHECK, &error);
        PROMISE(json, "not JSON: %s, line %d", error.text, error.line);
        json_decref(json);
        if (!lines) break;
        int c;
        while ((c = fgetc(file)) == '\n' || c == ' ') {
        }
        if (c == EOF) break;
        ungetc(c, file);
    }
    fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[250];
    snprintf(path, sizeof path, "%s/damaged.db", fuzz_folder());
    snprintf(database, sizeof database, "--db=%s", path);
    snprintf(output, sizeof output, "%s/output", fuzz_folder());
    snprintf(header, sizeof header, "--header=%s/winners.h", fuzz_folder());
    command_version = "tune";
    setenv("GEMMTUNE_PROC", "/nonexistent", 1);
    damage(path, fuzz_text(data, size));
    if (RUN(cmd_query, "--format=json") == OK) check_json(false);
    RUN(cmd_query, "--gpu=h200");
    RUN(cmd_explain, "--shape=64x128x256", "--gpu=h200");
    if (RUN(cmd_explain, "--shape=64x128x256", "--format=json") == OK) check_json(false);
    if (RUN(cmd_verify, "--format=json") == OK) check_json(false);
    if (RUN(cmd_export, "--json") == OK) check_json(true);
    RUN(cmd_export, "--csv");
    if (RUN(cmd_export, "--t4") == OK) check_json(false);
    RUN(cmd_export, header);
    return 0;
}
