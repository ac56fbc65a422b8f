#include "cluster_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIST_MAX   (64 << 10)         /* of tasks: more words than Slurm takes */
#define OUTPUT_MAX ((size_t)16 << 20) /* of squeue: a line of some 30 bytes for each task of a user */

extern char **environ;

/* What a program printed; NUL-terminated. */
struct printed {
    char *text; /* owned */
    size_t length;
    int code; /* exit code; -1: a signal ended it */
};

static enum status read_all(int fd, const char *program, struct printed *printed)
{
    char piece[4096];
    ssize_t got;
    while ((got = read(fd, piece, sizeof piece)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(E_IO, "cannot read what %s prints: %s", program, strerror(errno));
        if (printed->length + (size_t)got > OUTPUT_MAX) continue;
        char *grown = realloc(printed->text, printed->length + (size_t)got + 1);
        if (!grown) return fail(E_MEMORY, "out of memory for what %s prints", program);
        printed->text = grown;
        memcpy(grown + printed->length, piece, (size_t)got);
        printed->length += (size_t)got;
        grown[printed->length] = '\0';
    }
    return OK;
}

/* Standard output and error together. Errors: E_ABSENT (there is no such program), E_IO, E_MEMORY. */
static enum status run(char *const argv[], struct printed *printed)
{
    int ends[2], status = 0;
    pid_t child;
    posix_spawn_file_actions_t actions;
    *printed = (struct printed){.code = -1};
    if (pipe2(ends, O_CLOEXEC) != 0) return fail(E_IO, "cannot run %s: %s", argv[0], strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    const int error = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    enum status st = OK;
    if (error == ENOENT) st = fail(E_ABSENT, "there is no %s in PATH", argv[0]);
    else if (error) st = fail(E_IO, "cannot run %s: %s", argv[0], strerror(error));
    if (!error) {
        st = read_all(ends[0], argv[0], printed);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        printed->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    close(ends[0]);
    return st;
}

/* The first line, for a sentence. */
static void first_line(const struct printed *printed, char line[200])
{
    const char *text = printed->text ? printed->text : "";
    snprintf(line, 200, "%.*s", (int)strcspn(text, "\n"), *text ? text : "it says nothing");
}

enum status queue_submit(const char *script, const char *array, int64_t after, int64_t *job)
{
    char list[LIST_MAX], depends[64], path[PATH_MAX], line[200];
    char program[] = "sbatch", parsable[] = "--parsable";
    char *argv[8] = {program, parsable};
    int count = 2;
    struct printed printed;
    *job = 0;
    if (snprintf(list, sizeof list, "--array=%s", array ? array : "") >= (int)sizeof list)
        return fail(E_INPUT, "the list of tasks is too long: %.60s...", array);
    if (array) argv[count++] = list;
    snprintf(depends, sizeof depends, "--dependency=afterany:%" PRId64, after);
    if (after) argv[count++] = depends;
    snprintf(path, sizeof path, "%s", script);
    argv[count] = path;
    enum status st = run(argv, &printed);
    if (st == E_ABSENT)
        st = fail(E_ABSENT, "%s: nothing was submitted; submit %s where Slurm is", status_text(), script);
    if (!st && printed.code != 0) {
        first_line(&printed, line);
        st = fail(E_CHILD, "sbatch refuses %s (exit code %d): %s", script, printed.code, line);
    }
    /* "123", or "123;cluster"; warnings may stand before it. */
    for (const char *at = printed.text; !st && at && *at && !*job;) {
        const size_t length = strcspn(at, "\n"), digits = strspn(at, "0123456789");
        if (digits > 0 && digits < 18 && (digits == length || at[digits] == ';'))
            *job = strtoll(at, NULL, 10);
        at += length + (at[length] == '\n');
    }
    if (!st && !*job) {
        first_line(&printed, line);
        st = fail(E_CHILD, "sbatch took %s, but does not say as which job: %s", script, line);
    }
    free(printed.text);
    return st;
}

/* A line of squeue: "ARRAY TASK STATE". */
static void take_line(const struct cluster_plan *plan, const char *line, enum queue_state *states)
{
    int64_t array;
    int task;
    char state[32];
    if (sscanf(line, "%" SCNd64 " %d %31s", &array, &task, state) != 3) return; /* NOLINT(cert-err34-c) */
    bool ours = false;
    for (int i = 0; i < plan->job_count; i++) ours |= plan->jobs[i].array == array;
    if (!ours || task < 0 || task >= plan->shards) return;
    static const char *const waits[] = {"PENDING",      "REQUEUED",    "REQUEUE_FED",  "REQUEUE_HOLD",
                                        "SPECIAL_EXIT", "CONFIGURING", "RESV_DEL_HOLD"};
    enum queue_state is = QUEUE_RUNNING;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (strcmp(state, waits[i]) == 0) is = QUEUE_WAITING;
    if (is > states[task]) states[task] = is;
}

/* By number, since a colleague may have submitted them; the latest, if they do not all fit. */
static void name_jobs(const struct cluster_plan *plan, char list[LIST_MAX])
{
    size_t used = (size_t)snprintf(list, LIST_MAX, "--jobs=");
    for (int i = plan->job_count; i-- > 0 && used + 24 < LIST_MAX;)
        used += (size_t)snprintf(list + used, LIST_MAX - used, "%s%" PRId64,
                                 i + 1 < plan->job_count ? "," : "", plan->jobs[i].array);
}

enum status queue_ask(const struct cluster_plan *plan, enum queue_state *states, const char **why)
{
    char program[] = "squeue", noheader[] = "--noheader", each[] = "--array", jobs[LIST_MAX],
         format[] = "--format=%F %K %T", line[200];
    char *argv[] = {program, noheader, each, jobs, format, NULL};
    struct printed printed;
    *why = NULL;
    for (int i = 0; i < plan->shards; i++) states[i] = QUEUE_UNKNOWN;
    if (plan->job_count == 0) return OK;
    name_jobs(plan, jobs);
    enum status st = run(argv, &printed);
    /* So it says that it has forgotten the only job that it was asked for. */
    const bool forgotten =
        !st && printed.code != 0 && printed.text && strstr(printed.text, "Invalid job id specified");
    if (!st && printed.code != 0 && !forgotten) {
        first_line(&printed, line);
        st = fail(E_CHILD, "squeue fails (exit code %d): %s", printed.code, line);
    }
    if (st) {
        free(printed.text);
        *why = status_text();
        return st == E_MEMORY ? st : OK;
    }
    for (int i = 0; i < plan->shards; i++) states[i] = QUEUE_GONE;
    char *rest = NULL;
    for (char *at = printed.text && !forgotten ? strtok_r(printed.text, "\n", &rest) : NULL; at;
         at = strtok_r(NULL, "\n", &rest))
        take_line(plan, at, states);
    free(printed.text);
    return OK;
}
