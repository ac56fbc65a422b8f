#include "cluster.h"

#include "file_seen.h"
#include "output_file.h"
#include "paths.h"
#include "print.h"
#include "text_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum status slurm_time_parse(const char *text, double *seconds)
{
    /* Of the numbers from the first on: without days, by how many there are; behind days. */
    static const double units[][3] = {{60}, {60, 1}, {3600, 60, 1}}, after_days[] = {86400, 3600, 60, 1};
    double numbers[4];
    int count = 0;
    const char *at = text;
    const bool days = text[strspn(text, "0123456789")] == '-';
    bool bad = false, more = true;
    while (more && !bad) {
        const size_t digits = strspn(at, "0123456789");
        more = at[digits] == ':' || (at[digits] == '-' && count == 0);
        bad = digits == 0 || digits > 7 || count == (days ? 4 : 3) || (at[digits] && !more);
        if (!bad) numbers[count++] = atoi(at);
        at += digits + 1;
    }
    *seconds = 0;
    bad |= days && count < 2;
    for (int i = 0; i < count && !bad; i++)
        *seconds += (days ? after_days[i] : units[count - 1][i]) * numbers[i];
    if (!bad && *seconds > 0) return OK;
    return fail(E_USAGE,
                "--time '%.40s' is not a time as Slurm has it: MINUTES, M:S, H:M:S, D-H, D-H:M or D-H:M:S",
                text);
}

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:=+@%-";

enum status slurm_quote(const char *word, char *text, size_t room)
{
    size_t used = strlen(text);
    const bool quoted = !*word || strspn(word, plain) != strlen(word);
    bool fits = used + 2 * strlen(word) + 8 < room;
    if (fits) {
        text[used++] = ' ';
        if (quoted) text[used++] = '\'';
    }
    for (; fits && *word; word++) {
        if (*word == '\n' || *word == '\r')
            return fail(E_INPUT, "an option for tune has a line break, which a script cannot hold");
        if (*word == '\'') {
            fits = used + 2 * strlen(word) + 8 < room;
            if (fits) used += (size_t)snprintf(text + used, room - used, "'\\''");
        } else {
            text[used++] = *word;
        }
    }
    if (!fits) return fail(E_INPUT, "the options for tune are too long for a script");
    if (quoted) text[used++] = '\'';
    text[used] = '\0';
    return OK;
}

/* ---- what stands for @NAME@ ---- */

struct value {
    const char *name, *text; /* NULL: lines with it are left out */
    const char *also;        /* characters that it may have beside `plain` */
};

#define VALUES_MAX 21

static const char *value_of(const struct value *values, const char *name, size_t length, bool *known)
{
    *known = false;
    for (int i = 0; values[i].name; i++) {
        *known = strlen(values[i].name) == length && strncmp(values[i].name, name, length) == 0;
        if (*known) return values[i].text;
    }
    return NULL;
}

/* The next @NAME@ of a line; NULL: there is none. */
static const char *next_name(const char *line, size_t *length)
{
    for (const char *at = strchr(line, '@'); at; at = strchr(at + 1, '@')) {
        *length = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        if (*length && at[1 + *length] == '@') return at;
    }
    return NULL;
}

static enum status fill_line(const char *line, const struct value *values, const char *path, int number,
                             FILE *to)
{
    size_t length;
    bool known;
    for (const char *at = line, *name; (name = next_name(at, &length)); at = name + length + 2) {
        const char *text = value_of(values, name + 1, length, &known);
        if (!known)
            return fail(E_INPUT, "%s:%d: @%.*s@ is nothing that tune cluster knows", path, number,
                        (int)length, name + 1);
        if (!text) return OK;
    }
    for (const char *at = line, *name;; at = name + length + 2) {
        name = next_name(at, &length);
        if (!name) {
            fputs(at, to);
            return OK;
        }
        fwrite(at, 1, (size_t)(name - at), to);
        fputs(value_of(values, name + 1, length, &known), to);
    }
}

/* A line that has @MODULE@ comes once for each. */
static enum status fill(const char *line, struct value *values, const struct slurm_wishes *w,
                        const char *path, int number, FILE *to)
{
    if (!strstr(line, "@MODULE@")) return fill_line(line, values, path, number, to);
    enum status st = OK;
    struct value one[VALUES_MAX + 1];
    memcpy(one, values, sizeof one);
    for (int i = 0; one[i].name; i++)
        for (int m = 0; strcmp(one[i].name, "MODULE") == 0 && m < w->module_count && !st; m++) {
            one[i].text = w->modules[m];
            st = fill_line(line, one, path, number, to);
        }
    return st;
}

static enum status write_script(const struct cluster_plan *plan, const struct slurm_wishes *w,
                                struct value *values, const char *template, const char *name)
{
    char folder[PATH_MAX], from[PATH_MAX + 64], path[PATH_MAX];
    struct outfile out;
    enum status st = paths_configs("cluster", folder, sizeof folder);
    if (!st) st = cluster_plan_path(plan, path, "%s", name);
    if (st) return st;
    snprintf(from, sizeof from, "%s/%s", folder, template);
    FILE *file;
    if ((st = file_open("template", from, &file))) return st == E_ABSENT ? E_IO : st;
    if (!(st = file_refuse_irregular(path))) st = outfile_open(path, &out);
    if (!st) {
        struct text_file text = text_file_start(file, "template", from);
        const char *line;
        while (!st && (line = text_file_line(&text)))
            st = fill(line, values, w, from, text.number, out.stream);
        const enum status read = text_file_end(&text);
        st = outfile_close(&out, st ? st : read);
    }
    fclose(file);
    if (!st && chmod(path, 0755) != 0)
        st = fail(E_IO, "cannot make %s executable: %s", path, strerror(errno));
    return st;
}

static enum status check_values(const struct value *values)
{
    for (int i = 0; values[i].name; i++) {
        const char *text = values[i].text;
        if (!text || !values[i].also) continue;
        size_t at = 0;
        while (text[at] && (strchr(plain, text[at]) || strchr(values[i].also, text[at]) || (text[at] & 0x80)))
            at++;
        if (text[at])
            return fail(
                E_INPUT,
                "'%.100s' has the character '%c', which the lines of sbatch cannot hold: choose another "
                "name (%s)",
                text, text[at], values[i].name);
    }
    return OK;
}

/* A shell finds its end: $NAME, ${NAME}, ${NAME:-TEXT} and plain text, from / or a variable on. */
static enum status check_scratch(const char *scratch)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    bool good = *scratch == '/' || *scratch == '$';
    for (const char *at = scratch; good && *at; at++) {
        if (*at == '{' || *at == '}') good = false;
        if (*at != '$') continue;
        const bool braces = at[1] == '{';
        const char *name = at + 1 + braces;
        const size_t length = strspn(name, letters);
        good = length > 0 && (*name < '0' || *name > '9');
        at = name + length - 1;
        if (!good || !braces) continue;
        at++;
        if (at[0] == ':' && at[1] == '-') at += 2 + strcspn(at + 2, "${}");
        good = *at == '}';
    }
    if (good) return OK;
    return fail(E_INPUT,
                "--scratch '%.100s' is no folder that a script can name: begin with / or a variable, as in "
                "/local/$USER or ${TMPDIR:-/tmp}",
                scratch);
}

/* What apptainer takes for the end of a folder's name. */
static enum status check_binds(const struct cluster_plan *plan, const struct slurm_wishes *w)
{
    const char *const paths[] = {plan->dir, plan->db};
    for (size_t i = 0; w->container && i < sizeof paths / sizeof *paths; i++)
        if (strpbrk(paths[i], ",:"))
            return fail(E_INPUT,
                        "%.200s has a comma or a colon, which a container cannot be given: choose "
                        "another name",
                        paths[i]);
    return OK;
}

/* In names of logs Slurm replaces %a, and %% by %. */
static enum status double_percents(const char *path, char text[PATH_MAX])
{
    size_t used = 0;
    for (; *path; path++) {
        if (used + 3 > PATH_MAX) return fail(E_INPUT, "the path of --dir is too long");
        text[used++] = *path;
        if (*path == '%') text[used++] = '%';
    }
    text[used] = '\0';
    return OK;
}

/* to_write: false: the wishes are only judged. */
static enum status scripts(const struct cluster_plan *plan, const struct slurm_wishes *w, bool to_write)
{
    char log[PATH_MAX], array[64], shards[16], cpus[16], gres[64], id[64], db_dir[PATH_MAX];
    const char *base = strrchr(plan->dir, '/');
    snprintf(shards, sizeof shards, "%d", plan->shards);
    snprintf(array, sizeof array, plan->nodes < plan->shards ? "0-%d%%%d" : "0-%d", plan->shards - 1,
             plan->nodes);
    snprintf(cpus, sizeof cpus, "%d", w->cpus);
    snprintf(gres, sizeof gres, "gpu:%d", w->gpus);
    /* Of this folder alone: the same suite may be tuned for another database at the same time. */
    snprintf(id, sizeof id, "%s-%d-%016" PRIx64, plan->suite, plan->shards,
             (uint64_t)XXH3_64bits(plan->dir, strlen(plan->dir)));
    snprintf(db_dir, sizeof db_dir, "%.*s", (int)(strrchr(plan->db, '/') - plan->db), plan->db);
    enum status st = double_percents(plan->dir, log);
    if (st) return st;
    struct value values[VALUES_MAX + 1] = {
        {"DIR", plan->dir, ""},
        {"DB", plan->db, ""},
        {"DB_DIR", *db_dir ? db_dir : "/", ""},
        {"LOG", log, NULL},
        {"NAME", base && base[1] ? base + 1 : "tune", ""},
        {"ID", id, NULL},
        {"ARRAY", array, NULL},
        {"SHARDS", shards, NULL},
        {"GRES",
         w->gres   ? w->gres
         : w->gpus ? gres
                   : NULL,
         "*()"},
        {"CPUS", w->cpus ? cpus : NULL, NULL},
        {"PARTITION", w->partition, ""},
        {"MERGE_PARTITION", w->merge_partition ? w->merge_partition : w->partition, ""},
        {"ACCOUNT", w->account, ""},
        {"QOS", w->qos, ""},
        {"CONSTRAINT", w->constraint, "&|[]*()"},
        {"TIME", w->time, NULL},
        {"MODULE", NULL, NULL},
        {"SCRATCH", w->scratch, "${}"},
        {"CONTAINER", w->container, "~"},
        {"PROGRAM", w->program, ""},
        {"OPTIONS", w->options, NULL},
    };
    st = check_values(values);
    if (!st) st = check_scratch(w->scratch);
    if (!st) st = check_binds(plan, w);
    for (int i = 0; i < w->module_count && !st; i++)
        st = check_values((struct value[]){{"MODULE", w->modules[i], ""}, {NULL, NULL, NULL}});
    if (st || !to_write) return st;
    st = write_script(plan, w, values, "slurm_array.sh", "array.sh");
    return st ? st : write_script(plan, w, values, "slurm_merge.sh", "merge.sh");
}

enum status slurm_check(const struct cluster_plan *plan, const struct slurm_wishes *w)
{
    return scripts(plan, w, false);
}

enum status slurm_write(const struct cluster_plan *plan, const struct slurm_wishes *w)
{
    return scripts(plan, w, true);
}

enum status slurm_submit(struct cluster_plan *plan, const char *array, bool cores_chosen)
{
    char script[PATH_MAX];
    char merged_on[CLUSTER_NAME_MAX]; /* that of the array, which it was sent to */
    struct cluster_job job = {.array = 0};
    enum status st = cluster_plan_path(plan, script, "array.sh");
    if (!st) st = queue_submit(script, array, NULL, cores_chosen, &job.array, job.cluster);
    if (st) return st;
    /* At once: without its number nothing tells that these tasks are in the queue. */
    enum status noted = cluster_plan_add_job(plan, &job);
    const bool added = !noted;
    if (!noted) noted = cluster_plan_write(plan);
    char sentence[1024], why[1024];
    snprintf(why, sizeof why, "%s", status_text());
    st = cluster_plan_path(plan, script, "merge.sh");
    if (!st) st = queue_submit(script, NULL, &job, false, &job.merge, merged_on);
    snprintf(sentence, sizeof sentence, "%s", status_text());
    if (added) plan->jobs[plan->job_count - 1] = job;
    if (!st && !noted && (noted = cluster_plan_write(plan))) snprintf(why, sizeof why, "%s", status_text());
    const char *on = *job.cluster ? " on cluster " : "";
    if (noted)
        return fail(noted,
                    "submitted job %" PRId64 " (array) and %" PRId64
                    " (merge after it%s)%s%s, but the plan cannot note them: %s; until they have ended, send "
                    "nothing again",
                    job.array, job.merge, st ? "; 0: refused" : "", on, job.cluster, why);
    if (st)
        return fail(st,
                    "the array is job %" PRId64 "%s%s"
                    ", but no merging job follows: %s; tune cluster merge --dir %s does "
                    "the same",
                    job.array, on, job.cluster, sentence, plan->dir);
    print_line(stdout, "submitted job %" PRId64 " (array) and %" PRId64 " (merge after it)%s%s", job.array,
               job.merge, on, job.cluster);
    return OK;
}
