#include "cluster.h"

#include "fields.h"
#include "file_seen.h"
#include "shard.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define LINE_BYTES_MAX (64 << 10)
#define SILENT_S       180   /* tune writes every ten seconds; a shared folder may show it late */
#define AHEAD_S        86400 /* clocks of nodes differ by less */
#define CLOCK_TRIALS   20    /* fewer say nothing */

const char *shard_state_name(enum shard_state state)
{
    static const char *const names[] = {"missing",     "not sent", "waiting", "running",
                                        "interrupted", "failed",   "done"};
    return names[state];
}

/* ---- what is in the files ---- */

/* The line of a shard. Errors: E_ABSENT, E_IO, E_INPUT (it is no JSON). */
static enum status read_line(const char *path, json_t **line)
{
    char text[LINE_BYTES_MAX];
    FILE *file;
    *line = NULL;
    enum status st = file_open("line", path, &file);
    if (st) return st;
    const size_t got = fread(text, 1, sizeof text, file);
    fclose(file);
    if (got < sizeof text) *line = json_loadb(text, got, JSON_REJECT_DUPLICATES, NULL);
    return *line ? OK : fail(E_INPUT, "cannot read %s, which is damaged", path);
}

static void take_gpus(const json_t *gpus, struct cluster_shard *s)
{
    size_t i;
    json_t *gpu;
    json_array_foreach(gpus, i, gpu)
    {
        if (s->gpu_count == CLUSTER_GPUS_MAX) return;
        struct fields f = {.object = gpu};
        struct cluster_gpu *to = &s->gpus[s->gpu_count];
        field_copy(&f, "name", true, to->name, sizeof to->name);
        field_copy(&f, "uuid", true, to->uuid, sizeof to->uuid);
        to->trials = field_integer(&f, "trials", true, 0, INT64_MAX);
        to->clock_mhz = (int)field_integer(&f, "clock_mhz", true, 1, 100000);
        if (!f.bad) s->gpu_count++;
    }
}

/* The line of a shard (keep.c). */
static void take_line(const struct cluster_plan *plan, int number, const json_t *line,
                      struct cluster_shard *s)
{
    char suite[DB_SUITE_HASH_MAX], state[16];
    struct fields f = {.object = line};
    field_copy(&f, "suite", true, suite, sizeof suite);
    const int64_t is = field_integer(&f, "shard", true, 0, INT32_MAX),
                  of = field_integer(&f, "shards", true, 1, INT32_MAX);
    field_copy(&f, "state", true, state, sizeof state);
    field_copy(&f, "host", true, s->host, sizeof s->host);
    snprintf(s->why, sizeof s->why, "%s", field_text(&f, "why", false, 1100));
    s->problems = field_integer(&f, "problems", true, 0, INT32_MAX);
    s->done = field_integer(&f, "done", true, 0, INT32_MAX);
    s->known = field_integer(&f, "known", true, 0, INT32_MAX);
    s->without = field_integer(&f, "without", true, 0, INT32_MAX);
    s->left_out = field_integer(&f, "left_out", true, 0, INT32_MAX);
    s->trials = field_integer(&f, "trials", true, 0, INT64_MAX);
    const int64_t latest = (int64_t)time(NULL) + AHEAD_S;
    s->began = field_integer(&f, "began", true, 0, latest);
    s->written = field_integer(&f, "written", true, 0, latest);
    s->budget_s = field_number(&f, "budget_s", true, 0, 1e12);
    s->spent_s = field_number(&f, "spent_s", true, 0, 1e12);
    s->boost_mhz = field_number(&f, "boost_mhz", true, 0, 1e6);
    take_gpus(json_object_get(line, "gpus"), s);
    s->state = SHARD_FAILED;
    const bool other = strcmp(suite, plan->suite) != 0 || is != number || of != plan->shards;
    if (f.bad || other) *s = (struct cluster_shard){.state = SHARD_FAILED, .problems = -1};
    if (f.bad) snprintf(s->why, sizeof s->why, "its line (shards/%d.db.json) is damaged: %s", number, f.bad);
    else if (other)
        snprintf(s->why, sizeof s->why, "shards/%d.db.json is of another suite or division", number);
    else if (strcmp(state, "running") == 0) s->state = SHARD_RUNNING;
    else if (strcmp(state, "interrupted") == 0) s->state = SHARD_INTERRUPTED;
    else if (strcmp(state, "finished") == 0) s->state = SHARD_DONE;
}

/* How its last task ended, by its script; time_s: when. Errors: E_ABSENT (it does not say), E_IO, E_INPUT. */
static enum status read_end(const struct cluster_plan *plan, int number, int *code, char host[64],
                            time_t *time_s)
{
    char path[PATH_MAX], text[128], *end;
    struct stat info;
    FILE *file;
    enum status st = cluster_plan_path(plan, path, "state/%d", number);
    if (!st) st = file_open("end of a task", path, &file);
    if (st) return st;
    const bool read = fgets(text, sizeof text, file) && fstat(fileno(file), &info) == 0;
    fclose(file);
    if (!read) return E_ABSENT;
    const long value = strtol(text, &end, 10);
    if (end == text || value < 0 || value > 255) return E_ABSENT;
    snprintf(host, 64, "%.*s", (int)strcspn(end + (*end == ' '), " \n"), end + (*end == ' '));
    *code = (int)value;
    *time_s = info.st_mtime;
    return OK;
}

/* Of a tuner that was asked to stop, or of a shell (128 + SIGTERM). */
static bool is_stop(int code)
{
    return code == 130 || code == 143;
}

/* ---- both together ---- */

static void judge_running(const struct cluster_plan *plan, int number, enum queue_state queue,
                          struct cluster_shard *s)
{
    const int64_t since_s = (int64_t)time(NULL) - s->written, silent_s = since_s < 0 ? 0 : since_s;
    int code;
    char host[64];
    time_t ended;
    if (queue == QUEUE_RUNNING) return;
    const bool has_ended = !read_end(plan, number, &code, host, &ended) && ended >= s->began;
    /* One that is not in the queue, and still writes, was submitted by hand. */
    if (silent_s < SILENT_S && !has_ended) return;
    s->state = SHARD_FAILED;
    if (has_ended) snprintf(s->why, sizeof s->why, "ended with exit code %d on %s", code, host);
    else
        snprintf(s->why, sizeof s->why, "ended without a word: %.200s is silent for %lld s", s->host,
                 (long long)silent_s);
}

/* A later task that never came to write a line. */
static void judge_end(const struct cluster_plan *plan, int number, struct cluster_shard *s)
{
    int code;
    char host[64];
    time_t ended;
    const bool stopped = s->state == SHARD_INTERRUPTED, done = s->state == SHARD_DONE;
    if ((!done && !stopped) || read_end(plan, number, &code, host, &ended) || ended < s->written) return;
    if (code == 0 || code == 1 || (stopped && is_stop(code))) return;
    s->state = SHARD_FAILED;
    snprintf(s->why, sizeof s->why, "its last task ended with exit code %d on %s, see log/shard-%d.log", code,
             host, number);
}

/* Why it failed: the last sentence, which names a file by the folder, too, whose path may be long. */
static void say_unreadable(const struct cluster_plan *plan, struct cluster_shard *s)
{
    const char *named = strstr(status_text(), plan->dir);
    s->state = SHARD_FAILED;
    if (named) snprintf(s->why, sizeof s->why, "cannot read %s", named + strlen(plan->dir) + 1);
    else snprintf(s->why, sizeof s->why, "%.*s", (int)sizeof s->why - 1, status_text());
}

/* No tune has written a line: its last task may have ended before. */
static void look_at_end(const struct cluster_plan *plan, int number, struct cluster_shard *s)
{
    int code;
    char host[64];
    time_t ended;
    const enum status st = read_end(plan, number, &code, host, &ended);
    if (st == E_ABSENT) return;
    if (st) {
        say_unreadable(plan, s);
        return;
    }
    s->state = is_stop(code) ? SHARD_INTERRUPTED : SHARD_FAILED;
    snprintf(s->host, sizeof s->host, "%s", host);
    snprintf(s->why, sizeof s->why, "%s: exit code %d on %s, see log/shard-%d.log",
             is_stop(code) ? "stopped before tune began" : "tune did not begin", code, host, number);
}

static enum status look_at_copy(const struct cluster_plan *plan, int number, struct cluster_shard *s)
{
    char path[PATH_MAX];
    FILE *file;
    enum status st = cluster_plan_path(plan, path, "shards/%d.db", number);
    if (st) return st;
    if ((st = file_open("copy", path, &file))) {
        say_unreadable(plan, s);
        s->done = s->known = 0;
        if (st == E_ABSENT) snprintf(s->why, sizeof s->why, "its copy shards/%d.db is not there", number);
        return OK;
    }
    fclose(file);
    return OK;
}

static enum status look(const struct cluster_plan *plan, int number, enum queue_state queue,
                        struct cluster_shard *s)
{
    char path[PATH_MAX];
    json_t *line;
    *s = (struct cluster_shard){.state = plan->job_count ? SHARD_MISSING : SHARD_UNSENT, .problems = -1};
    enum status st = cluster_plan_path(plan, path, "shards/%d.db.json", number);
    if (st) return st;
    st = read_line(path, &line);
    if (st == E_ABSENT) look_at_end(plan, number, s);
    else if (st) say_unreadable(plan, s);
    else {
        take_line(plan, number, line, s);
        judge_end(plan, number, s);
    }
    json_decref(line);
    if (s->state == SHARD_DONE && (st = look_at_copy(plan, number, s))) return st;
    if (queue == QUEUE_WAITING) s->state = SHARD_WAITING;
    else if (s->state == SHARD_RUNNING) judge_running(plan, number, queue, s);
    else if (queue == QUEUE_RUNNING) s->state = SHARD_RUNNING; /* and its tune has not begun */
    return OK;
}

enum status view_open(const struct cluster_plan *plan, struct cluster_view *view)
{
    enum queue_state *queue = calloc((size_t)plan->shards, sizeof *queue);
    *view = (struct cluster_view){.shards = calloc((size_t)plan->shards, sizeof *view->shards),
                                  .count = plan->shards};
    if (!queue || !view->shards) {
        free(queue);
        view_close(view);
        return fail(E_MEMORY, "out of memory for %d shards", plan->shards);
    }
    enum status st = queue_ask(plan, queue, &view->no_queue);
    if (!st && view->no_queue) {
        snprintf(view->no_queue_text, sizeof view->no_queue_text, "%s", view->no_queue);
        view->no_queue = view->no_queue_text;
    }
    for (int i = 0; !st && i < plan->shards; i++) st = look(plan, i, queue[i], &view->shards[i]);
    free(queue);
    if (st) view_close(view);
    return st;
}

void view_close(struct cluster_view *view)
{
    free(view->shards);
    view->shards = NULL;
}

bool shard_is_due(const struct cluster_shard *s)
{
    if (s->state == SHARD_WAITING || s->state == SHARD_RUNNING) return false;
    return s->state != SHARD_DONE || s->left_out > 0;
}

double view_left_s(const struct cluster_view *view)
{
    double longest_s = 0, budget_s = 0;
    int waiting = 0, running = 0;
    for (int i = 0; i < view->count; i++) {
        const struct cluster_shard *s = &view->shards[i];
        waiting += s->state == SHARD_WAITING;
        if (s->state != SHARD_RUNNING) continue;
        if (s->began == 0 || s->budget_s <= 0) return (double)NAN;
        running++;
        budget_s = fmax(budget_s, s->budget_s);
        longest_s = fmax(longest_s, s->budget_s - (double)(time(NULL) - s->began));
    }
    if (waiting && !running) return (double)NAN;
    return longest_s + (waiting ? ceil((double)waiting / running) * budget_s : 0);
}

/* ---- slow GPUs ---- */

static bool has_clock(const struct cluster_gpu *gpu)
{
    return gpu->trials >= CLOCK_TRIALS && gpu->clock_mhz > 0;
}

/* The fastest other board of the same kind; 0: there is none. */
static int fastest_other(const struct cluster_view *view, const struct cluster_gpu *than)
{
    int fastest = 0;
    for (int i = 0; i < view->count; i++)
        for (int j = 0; j < view->shards[i].gpu_count; j++) {
            const struct cluster_gpu *gpu = &view->shards[i].gpus[j];
            if (strcmp(gpu->name, than->name) != 0 || strcmp(gpu->uuid, than->uuid) == 0 || !has_clock(gpu))
                continue;
            if (gpu->clock_mhz > fastest) fastest = gpu->clock_mhz;
        }
    return fastest;
}

void view_slow_gpus(const struct cluster_view *view,
                    void (*visit)(void *self, int shard, const struct cluster_shard *is,
                                  const struct cluster_gpu *gpu, double usual_mhz),
                    void *self)
{
    for (int i = 0; i < view->count; i++)
        for (int j = 0; j < view->shards[i].gpu_count; j++) {
            const struct cluster_shard *s = &view->shards[i];
            const struct cluster_gpu *gpu = &s->gpus[j];
            if (!has_clock(gpu)) continue;
            const double others = fastest_other(view, gpu);
            const double usual = others > 0 ? others : s->boost_mhz;
            if (gpu->clock_mhz < (others > 0 ? CLUSTER_SLOW : CLUSTER_SLOW_ALONE) * usual)
                visit(self, i, s, gpu, usual);
        }
}

/* ---- lists of shards ---- */

enum status view_due(const struct cluster_view *view, int nodes, char **text, int *count)
{
    const size_t room = 16 * (size_t)view->count + 32;
    size_t used = 0;
    *count = 0;
    if (!(*text = calloc(room, 1))) return fail(E_MEMORY, "out of memory for a list of shards");
    for (int i = 0; i < view->count; i++) {
        if (!shard_is_due(&view->shards[i])) continue;
        int last = i;
        while (last + 1 < view->count && shard_is_due(&view->shards[last + 1])) last++;
        const char *comma = used ? "," : "";
        used += (size_t)(last > i ? snprintf(*text + used, room - used, "%s%d-%d", comma, i, last)
                                  : snprintf(*text + used, room - used, "%s%d", comma, i));
        *count += last - i + 1;
        i = last;
    }
    if (*count > nodes) snprintf(*text + used, room - used, "%%%d", nodes);
    return OK;
}
