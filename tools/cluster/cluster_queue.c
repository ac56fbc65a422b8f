#include "cluster.h"

#include "file_seen.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX (64 << 10) /* of tasks: more words than Slurm takes */

/* Seconds. sbatch tries again by itself for two minutes while the controller is busy, and stopping it may
 * leave a job that nobody has noted. */
#define ANSWER_S 30.0
#define SUBMIT_S 180.0

/* ---- sbatch ---- */

/* A number at the start of a text, and behind it perhaps `before` and the name of a cluster; an empty name is
 * none. */
static bool take_job(const char *text, const char *before, int64_t *job, char cluster[CLUSTER_NAME_MAX])
{
    char *end;
    if (strspn(text, "0123456789") == 0 || strspn(text, "0123456789") > 17) return false;
    *job = strtoll(text, &end, 10);
    const size_t length = strlen(before);
    const char *name = end + length;
    const size_t letters =
        strncmp(end, before, length) == 0 ? strcspn(name, *before == ';' ? "\r\n" : " \t\r\n") : 0;
    *cluster = '\0';
    if (letters < CLUSTER_NAME_MAX) snprintf(cluster, CLUSTER_NAME_MAX, "%.*s", (int)letters, name);
    return *job > 0 && (letters == 0 || cluster_name_fits(cluster));
}

/* A line is "4711" or "4711;cluster", as --parsable asks for, or begins as the sentence of a site's wrapper
 * that passes --parsable by: "Submitted batch job 4711", perhaps "... on cluster NAME". Other lines may stand
 * around it, and the last that fits counts; a number alone may be anything (a year, a count) and counts only
 * where no line has a cluster or the sentence. */
static bool find_job(const char *text, int64_t *job, char cluster[CLUSTER_NAME_MAX])
{
    static const char sentence[] = "Submitted batch job ";
    bool found = false, certain = false;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        int64_t number;
        char on[CLUSTER_NAME_MAX];
        const char after = line[strspn(line, "0123456789")];
        const bool said = strncmp(line, sentence, strlen(sentence)) == 0;
        const bool fits = said
                              ? take_job(line + strlen(sentence), " on cluster ", &number, on)
                              : (after == '\0' || strchr("\r\n;", after)) && take_job(line, ";", &number, on);
        if (!fits || (certain && !said && !*on)) continue;
        found = true;
        certain |= said || *on;
        *job = number;
        snprintf(cluster, CLUSTER_NAME_MAX, "%s", on);
    }
    return found;
}

/* For a refusal, since Slurm does not say what it has too little of. "": the script asks for no number. */
static void name_cores(const char *script, char text[200])
{
    char line[256];
    FILE *file;
    int cores;
    *text = '\0';
    if (file_open("script", script, &file)) return;
    while (!*text && fgets(line, sizeof line, file))
        if (sscanf(line, "#SBATCH --cpus-per-task=%d", &cores) == 1) /* NOLINT(cert-err34-c) */
            snprintf(text, 200,
                     "; array.sh asks for %d cores a task: edit its line, or take another --dir and "
                     "--cpus-per-task N (0: what the cluster gives)",
                     cores);
    fclose(file);
}

enum status queue_submit(const char *script, const char *tasks, const struct cluster_job *after,
                         bool cores_chosen, int64_t *job, char cluster[CLUSTER_NAME_MAX])
{
    char cores[200] = "", list[LIST_MAX], depends[64], where[32 + CLUSTER_NAME_MAX], path[PATH_MAX],
         lines[CHILD_LINES_MAX];
    char program[] = "sbatch", parsable[] = "--parsable";
    char *argv[8] = {program, parsable};
    int count = 2;
    struct printed printed;
    *job = 0;
    *cluster = '\0';
    if (snprintf(list, sizeof list, "--array=%s", tasks ? tasks : "") >= (int)sizeof list)
        return fail(E_INPUT, "the list of tasks is too long: %.60s...", tasks);
    if (tasks) argv[count++] = list;
    if (after) {
        snprintf(depends, sizeof depends, "--dependency=afterany:%" PRId64, after->array);
        snprintf(where, sizeof where, "--clusters=%s", after->cluster);
        argv[count++] = depends;
        if (*after->cluster) argv[count++] = where;
    }
    snprintf(path, sizeof path, "%s", script);
    argv[count] = path;
    enum status st = child_run(argv, SUBMIT_S, &printed);
    child_lines(&printed, lines);
    if (st == E_ABSENT)
        st = fail(E_ABSENT, "%s: nothing was submitted; submit %s where Slurm is", status_text(), script);
    else if (st == E_CHILD)
        st = fail(E_CHILD,
                  "%s; it may have submitted %s nevertheless: look with squeue before you send again: %s",
                  status_text(), script, lines);
    if (!st && printed.code != 0) {
        if (cores_chosen) name_cores(script, cores);
        st = fail(E_CHILD, "sbatch refuses %s (exit code %d): %s%s", script, printed.code, lines, cores);
    }
    if (!st && !(printed.text && find_job(printed.text, job, cluster)))
        st = fail(E_CHILD,
                  "sbatch took %s, but does not say as which job, so that squeue must be looked at before it "
                  "is sent again: %s",
                  script, lines);
    free(printed.text);
    return st;
}

/* ---- squeue ---- */

/* A line of squeue: "ARRAY TASK STATE". */
static void take_line(const struct cluster_plan *plan, const char *cluster, const char *line,
                      enum queue_state *states)
{
    int64_t array;
    int task;
    char state[32];
    if (sscanf(line, "%" SCNd64 " %d %31s", &array, &task, state) != 3) return; /* NOLINT(cert-err34-c) */
    bool ours = false;
    for (int i = 0; i < plan->job_count; i++)
        ours |= plan->jobs[i].array == array && strcmp(plan->jobs[i].cluster, cluster) == 0;
    if (!ours || task < 0 || task >= plan->shards) return;
    static const char *const waits[] = {"PENDING",      "REQUEUED",    "REQUEUE_FED",  "REQUEUE_HOLD",
                                        "SPECIAL_EXIT", "CONFIGURING", "RESV_DEL_HOLD"};
    enum queue_state is = QUEUE_RUNNING;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (strcmp(state, waits[i]) == 0) is = QUEUE_WAITING;
    if (is > states[task]) states[task] = is;
}

/* By number, since a colleague may have submitted them; the latest, if they do not all fit. */
static void name_jobs(const struct cluster_plan *plan, const char *cluster, char list[LIST_MAX])
{
    size_t used = (size_t)snprintf(list, LIST_MAX, "--jobs=");
    const char *comma = "";
    for (int i = plan->job_count; i-- > 0 && used + 24 < LIST_MAX;) {
        if (strcmp(plan->jobs[i].cluster, cluster) != 0) continue;
        used += (size_t)snprintf(list + used, LIST_MAX - used, "%s%" PRId64, comma, plan->jobs[i].array);
        comma = ",";
    }
}

/* cluster "": squeue's own. */
static enum status ask_cluster(const struct cluster_plan *plan, const char *cluster, enum queue_state *states)
{
    char program[] = "squeue", noheader[] = "--noheader", each[] = "--array", jobs[LIST_MAX],
         format[] = "--format=%F %K %T", where[32 + CLUSTER_NAME_MAX], lines[CHILD_LINES_MAX], *rest = NULL;
    char *argv[] = {program, noheader, each, jobs, format, *cluster ? where : NULL, NULL};
    struct printed printed;
    snprintf(where, sizeof where, "--clusters=%s", cluster);
    name_jobs(plan, cluster, jobs);
    enum status st = child_run(argv, ANSWER_S, &printed);
    /* So it says that it has forgotten the only job that it was asked for. */
    const bool forgotten =
        !st && printed.code != 0 && printed.text && strstr(printed.text, "Invalid job id specified");
    if (!st && printed.code != 0 && !forgotten) {
        child_lines(&printed, lines);
        st = fail(E_CHILD, "squeue fails (exit code %d): %s", printed.code, lines);
    }
    for (char *at = !st && printed.text && !forgotten ? strtok_r(printed.text, "\n", &rest) : NULL; at;
         at = strtok_r(NULL, "\n", &rest))
        take_line(plan, cluster, at, states);
    free(printed.text);
    return st;
}

enum status queue_ask(const struct cluster_plan *plan, enum queue_state *states, const char **why)
{
    enum status st = OK;
    *why = NULL;
    for (int i = 0; i < plan->shards; i++) states[i] = plan->job_count ? QUEUE_GONE : QUEUE_UNKNOWN;
    for (int i = 0; i < plan->job_count && !st; i++) {
        bool asked = false;
        for (int j = 0; j < i; j++) asked |= strcmp(plan->jobs[j].cluster, plan->jobs[i].cluster) == 0;
        if (!asked) st = ask_cluster(plan, plan->jobs[i].cluster, states);
    }
    if (!st) return OK;
    for (int i = 0; i < plan->shards; i++) states[i] = QUEUE_UNKNOWN;
    *why = status_text();
    return st == E_MEMORY ? st : OK;
}

/* ---- scontrol ---- */

enum status queue_array_max(int64_t *most)
{
    static const char key[] = "MaxArraySize";
    char program[] = "scontrol", show[] = "show", config[] = "config";
    char *argv[] = {program, show, config, NULL};
    struct printed printed;
    *most = -1;
    enum status st = child_run(argv, ANSWER_S, &printed);
    const char *at = !st && printed.code == 0 && printed.text ? strstr(printed.text, key) : NULL;
    if (at) at += strlen(key) + strspn(at + strlen(key), " \t=");
    if (at && strspn(at, "0123456789") > 0) *most = strtoll(at, NULL, 10);
    free(printed.text);
    return st == E_ABSENT ? OK : st;
}
