/* cmd_cluster.c — tune cluster: a suite on many machines through the scheduler that people have. It writes
 * scripts, reads files, and calls sbatch and squeue; there is no server.
 */
#include "budget.h"
#include "cluster.h"
#include "commands.h"
#include "env.h"
#include "file_seen.h"
#include "output_file.h"
#include "paths.h"
#include "print.h"
#include "table.h"
#include "tune_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIR_USUAL      "tune-cluster"
#define MODULES_MAX    16
#define BUDGET_OF_TIME 0.9   /* of the time limit: starting, the last races and the copy need the rest */
#define SPARE_S        600.0 /* at most */
#define SPARE_LEAST_S  240.0 /* Slurm's signal comes up to three minutes early; and starting */
#define TIME_LEAST_S   600.0
#define CORES_A_GPU    16 /* compiling limits a search: with so many cores a GPU is busy (docs/cluster.md) */

struct cluster {
    struct command_words words;
    const char *suite, *dir, *db, *budget, *time, *program;
    const char *modules[MODULES_MAX];
    struct slurm_wishes wishes;
    int nodes, shards, gpus, cpus;
    bool submit, resume;
    enum table_format format;
    char found[PATH_MAX], image[PATH_MAX]; /* this program; the container */
    char **rest;                           /* options for tune */
    int rest_count;
};

static enum status add_module(void *self, const struct command_option *option, char *value)
{
    struct cluster *c = self;
    if (c->wishes.module_count == MODULES_MAX)
        return fail(E_USAGE, "--%s can be given %d times", option->name, MODULES_MAX);
    c->modules[c->wishes.module_count++] = value;
    return OK;
}

static enum status set_gpus(void *self, const struct command_option *option, char *value)
{
    int64_t gpus;
    enum status st = command_whole(option->name, value, 0, CHILDREN_WORKERS_MAX, &gpus);
    ((struct cluster *)self)->gpus = (int)gpus;
    return st;
}

static const struct command_option rows[] = {
    {.about = "All:", .group = 1},
    {"dir", 0, "DIR", "the folder that all nodes share: scripts, copies of the shards, logs (" DIR_USUAL ")",
     OPTION_TEXT(struct cluster, dir)},
    OPTION_ROWS_FORMAT(struct cluster, format),
    {.about = "slurm:", .group = 2},
    {"suite", 0, "FILE", "a file with one problem per line, as tune --suite takes it; -: standard input",
     OPTION_TEXT(struct cluster, suite)},
    {"nodes", 0, "N", "nodes to use at a time: tasks of the job array",
     OPTION_INT(struct cluster, nodes, 1, SHARDS_MAX)},
    {"shards", 0, "M", "shares of the problems, tasks in all (as many as nodes)",
     OPTION_INT(struct cluster, shards, 1, SHARDS_MAX)},
    {"db", 0, "FILE",
     "takes in all shards in the end (GEMMTUNE_DB, else the user's); what it has is not tuned again",
     OPTION_TEXT(struct cluster, db)},
    {"submit", 0, NULL, "call sbatch, too", OPTION_FLAG(struct cluster, submit)},
    {"resume", 0, NULL, "only the shards that are missing, failed or unfinished",
     OPTION_FLAG(struct cluster, resume)},
    {"budget", 0, "TIME",
     "time for each shard, as for tune (nine tenths of --time, four minutes less at least)",
     OPTION_TEXT(struct cluster, budget)},
    {"time", 0, "TIME", "Slurm's limit for a task: MINUTES, H:M:S, D-H ...",
     OPTION_TEXT(struct cluster, time)},
    {"partition", 0, "NAME", "Slurm's partition", OPTION_TEXT(struct cluster, wishes.partition)},
    {"account", 0, "NAME", "Slurm's account", OPTION_TEXT(struct cluster, wishes.account)},
    {"qos", 0, "NAME", "Slurm's quality of service", OPTION_TEXT(struct cluster, wishes.qos)},
    {"constraint", 0, "FEATURE", "which nodes", OPTION_TEXT(struct cluster, wishes.constraint)},
    {"gpus-per-node", 0, "G", "GPUs of a task, all of which tune it (1); 0: ask for none",
     OPTION_CALL(set_gpus)},
    {"gres", 0, "GRES", "the same with a type: gpu:h200:2", OPTION_TEXT(struct cluster, wishes.gres)},
    {"cpus-per-task", 0, "N", "cores of a task, for compilers (16 a GPU); 0: as many as the cluster gives",
     OPTION_INT(struct cluster, cpus, 0, 4096)},
    {"module", 0, "NAME", "module load NAME before; may be repeated", .repeats = true,
     OPTION_CALL(add_module)},
    {"container", 0, "IMAGE", "run tune in it with apptainer", OPTION_TEXT(struct cluster, wishes.container)},
    {"program", 0, "FILE", "tune on the nodes (this one; in a container: tune)",
     OPTION_TEXT(struct cluster, program)},
    {"scratch", 0, "DIR", "a disk of the node, shell variables allowed (${TMPDIR:-/tmp})",
     OPTION_TEXT(struct cluster, wishes.scratch)},
    {"merge-partition", 0, "NAME", "partition of the merging job, which needs no GPU (the same)",
     OPTION_TEXT(struct cluster, wishes.merge_partition)},
};

static const char text[] = "Tune a suite on many machines: a job array of Slurm, and a job that merges.\v"
                           "tune cluster slurm --suite FILE --nodes N [OPTIONS] [-- OPTIONS OF TUNE]\n"
                           "  writes array.sh and merge.sh to --dir, to be read, edited and submitted;\n"
                           "  --submit does that. Each task tunes one share of the problems (tune\n"
                           "  --shard) on the disk of its node, and leaves a copy in the folder. A task\n"
                           "  that is put back in the queue goes on from its copy. The merging job takes\n"
                           "  in what is there once the array has ended, however it did. --resume sends\n"
                           "  again what is missing, failed or unfinished.\n"
                           "tune cluster status [--dir DIR]\n"
                           "  shows how each shard stands, from the files and squeue; and GPUs that run\n"
                           "  far below others of their kind.\n"
                           "tune cluster merge [--dir DIR]\n"
                           "  is what the merging job does, and may be done at any time: it takes in what\n"
                           "  is there, and names what is not.\n"
                           "\n"
                           "Other schedulers need only tune --shard: docs/cluster.md.\n"
                           "\n"
                           "Examples:\n"
                           "  tune cluster slurm --suite problems.txt --nodes 16 --gres gpu:h200:4 \\\n"
                           "      --cpus-per-task 64 --time 8:00:00 --submit\n"
                           "  tune cluster slurm --suite problems.txt --nodes 4 --shards 64 -- --hot\n"
                           "  tune cluster status --format json\n"
                           "  tune cluster slurm --resume --submit\n"
                           "\n"
                           "Exit status: 0 done, or nothing is missing; 1 a shard is missing, unfinished or "
                           "refused, there is no such folder, or no "
                           "sbatch; 2 wrong command line; 3 a value or a file is wrong; 7 a file cannot be "
                           "read or written; 9 sbatch or squeue fails; "
                           "others as in tune --help.";

static enum status check(void *self);

const struct command_line cmd_cluster_line = {.options = rows,
                                              .option_count = sizeof rows / sizeof *rows,
                                              .about = text,
                                              .arguments = "slurm|status|merge",
                                              .words = offsetof(struct cluster, words),
                                              .check = check};

static bool is_action(const struct cluster *c, const char *name)
{
    return c->words.count == 1 && strcmp(c->words.at[0], name) == 0;
}

static enum status check(void *self)
{
    const struct cluster *c = self;
    const struct slurm_wishes *w = &c->wishes;
    if (!is_action(c, "slurm") && !is_action(c, "status") && !is_action(c, "merge"))
        return fail(E_USAGE, "say what to do: tune cluster slurm, status or merge (see tune cluster --help)");
    const bool plans = c->suite || c->nodes || c->shards || c->db || c->budget || c->time || c->program ||
                       c->gpus >= 0 || c->cpus >= 0 || w->partition || w->account || w->qos ||
                       w->constraint || w->gres || w->module_count || w->container || w->scratch ||
                       w->merge_partition || c->rest_count;
    if (!is_action(c, "slurm") && (plans || c->submit || c->resume))
        return fail(E_USAGE, "tune cluster %s takes only --dir%s", c->words.at[0],
                    is_action(c, "status") ? " and --format" : "");
    if (!is_action(c, "status") && c->format != TABLE_TEXT)
        return fail(E_USAGE, "--format is for tune cluster status");
    if (!is_action(c, "slurm")) return OK;
    if (c->resume && plans)
        return fail(E_USAGE,
                    "--resume goes on with what %s says: beside it there are --dir and --submit only; what "
                    "sbatch is told stands in array.sh and merge.sh there",
                    c->dir ? c->dir : DIR_USUAL);
    if (c->resume) return OK;
    if (!c->suite) return fail(E_USAGE, "say what to tune: --suite FILE");
    if (!c->nodes) return fail(E_USAGE, "say on how many nodes: --nodes N");
    if (w->gres && c->gpus >= 0) return fail(E_USAGE, "--gres and --gpus-per-node contradict each other");
    return OK;
}

/* ---- tune cluster slurm ---- */

/* "--quiet", perhaps shortened. */
static bool asks_for_quiet(const char *word)
{
    return strcmp(word, "-q") == 0 ||
           (strncmp(word, "--q", 3) == 0 && strncmp("--quiet", word, strlen(word)) == 0);
}

/* The options that each task will have, judged here and now: a night is too long to learn that one is wrong.
 * What --suite leaves out is said here, however quiet the tasks are to be: they get the others only. */
static enum status read_tune_options(struct cluster *c, struct tune_options *o)
{
    char *argv[64 + 16], tune[] = "tune", suite[] = "--suite", db[] = "--db", save[] = "--save",
                         known[] = "--known", gpus[] = "--gpus", all[] = "all", any[] = "x",
                         budget[] = "--budget";
    char *fixed[] = {tune, suite, (char *)(uintptr_t)c->suite, db, any, save, any, known, any, gpus, all};
    int argc = sizeof fixed / sizeof *fixed;
    if (c->rest_count > 64) return fail(E_USAGE, "at most 64 words for tune may come after --");
    for (int i = 0; i < c->rest_count; i++) {
        const char *word = c->rest[i];
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
            return fail(E_USAGE, "%s has no place after --: see tune --help", word);
        if (strcmp(word, "--suite") == 0 || strncmp(word, "--suite=", 8) == 0)
            return fail(E_USAGE, "--suite has no place after --: name one file with all problems before it");
    }
    memcpy(argv, fixed, sizeof fixed);
    if (c->budget) {
        argv[argc++] = budget;
        argv[argc++] = (char *)(uintptr_t)c->budget;
    }
    for (int i = 0; i < c->rest_count; i++)
        if (!asks_for_quiet(c->rest[i])) argv[argc++] = c->rest[i];
    argv[argc] = NULL;
    enum status st = tune_options_parse(argc, argv, o);
    if (st == E_HELPED) return fail(E_USAGE, "what stands after -- only shows something, and tunes nothing");
    if (st) return st;
    const char *const files[] = {strcmp(o->space, "wide") == 0 ? "" : o->space, o->cache,
                                 o->report ? o->report : ""};
    for (size_t i = 0; i < sizeof files / sizeof *files && !st; i++)
        if (*files[i] && *files[i] != '/')
            st = fail(E_USAGE, "tasks run in another folder: name %.100s by its whole path", files[i]);
    if (!st && o->own_relative)
        st = fail(E_USAGE, "tasks run in another folder: name the file of --kernel by its whole path");
    if (o->shard.count) st = fail(E_USAGE, "--shard is each task's own: it has no place after --");
    if (o->weights) st = fail(E_USAGE, "--from-capture has no place after --: name a --suite");
    if (st) tune_options_free(o);
    return st;
}

static enum status write_suite(const struct cluster_plan *plan, const struct tune_options *o)
{
    char path[PATH_MAX], problem[PROBLEM_TEXT_MAX];
    struct outfile out;
    enum status st = cluster_plan_path(plan, path, "suite.txt");
    if (!st) st = file_refuse_irregular(path);
    if (!st) st = outfile_open(path, &out);
    if (st) return st;
    for (size_t i = 0; i < o->problem_count; i++) {
        problem_format(&o->problems[i], problem);
        print_line(out.stream, "%s", problem);
    }
    return outfile_close(&out, OK);
}

static enum status hash_suite(const struct tune_options *o, int shards, char hash[SHARD_HASH_MAX])
{
    struct problem *copy = malloc(o->problem_count * sizeof *copy);
    size_t count = o->problem_count;
    if (!copy || !o->problems) {
        free(copy);
        return fail(E_MEMORY, "out of memory for %zu problems", count);
    }
    memcpy(copy, o->problems, count * sizeof *copy);
    enum status st = shard_take(&(struct shard){0, shards}, copy, NULL, &count, hash);
    free(copy);
    return st;
}

/* The tasks run in another folder. */
static enum status find_container(struct cluster *c)
{
    const char *image = c->wishes.container, *home = env_text("HOME");
    enum status st = OK;
    if (!image || strstr(image, "://") || *image == '/') return OK;
    if (*image != '~') st = places_absolute(image, c->image);
    else if (image[1] != '/' || !home || *home != '/' ||
             snprintf(c->image, sizeof c->image, "%s%s", home, image + 1) >= (int)sizeof c->image)
        st = fail(E_INPUT, "--container %.100s: name it by its whole path", image);
    c->wishes.container = c->image;
    return st;
}

static enum status find_program(struct cluster *c)
{
    const bool relative = c->program && strchr(c->program, '/') && *c->program != '/';
    c->wishes.program = c->program ? c->program : c->wishes.container ? "tune" : c->found;
    if (relative && c->wishes.container)
        return fail(E_INPUT, "--program %.100s: name the program in the container by its whole path",
                    c->program);
    if (relative) {
        c->wishes.program = c->found;
        return places_absolute(c->program, c->found);
    }
    if (c->wishes.program != c->found) return OK;
    const ssize_t length = readlink("/proc/self/exe", c->found, sizeof c->found - 1);
    if (length <= 0) return fail(E_IO, "cannot tell where this program is: name it with --program");
    c->found[length] = '\0';
    return OK;
}

/* A budget that ends before Slurm's signal comes. given_s: the user's, 0: none. */
static enum status fit_budget(const struct cluster *c, double given_s, char budget[32])
{
    double limit_s;
    *budget = '\0';
    if (!c->time) return OK;
    enum status st = slurm_time_parse(c->time, &limit_s);
    if (st) return st;
    if (limit_s < TIME_LEAST_S)
        return fail(
            E_INPUT,
            "--time %s is too short: Slurm's signal comes three minutes before its end, and a task has "
            "to start; give it %.0f minutes at least",
            c->time, TIME_LEAST_S / 60);
    const double most_s = limit_s - SPARE_LEAST_S;
    if (given_s > most_s)
        print_line(stderr,
                   "the budget of %.0f s is longer than the %.0f s that --time %s leaves: tasks will be "
                   "interrupted, and --resume sends them again",
                   given_s, most_s, c->time);
    else if (given_s <= 0)
        snprintf(budget, 32, "%.0fs",
                 fmin(fmin(most_s, BUDGET_MAX_S), fmax(limit_s * BUDGET_OF_TIME, limit_s - SPARE_S)));
    return OK;
}

/* What the tasks' tune gets beside its shard. */
static enum status give_options(struct cluster *c, double given_s)
{
    struct slurm_wishes *w = &c->wishes;
    char budget[32];
    enum status st = fit_budget(c, given_s, budget);
    if (!st && *budget) {
        st = slurm_quote("--budget", w->options, sizeof w->options);
        if (!st) st = slurm_quote(budget, w->options, sizeof w->options);
    } else if (!st && c->budget) {
        st = slurm_quote("--budget", w->options, sizeof w->options);
        if (!st) st = slurm_quote(c->budget, w->options, sizeof w->options);
    }
    for (int i = 0; i < c->rest_count && !st; i++)
        st = slurm_quote(c->rest[i], w->options, sizeof w->options);
    if (*w->options) memmove(w->options, w->options + 1, strlen(w->options)); /* its first blank */
    return st;
}

/* What --gres asks for: "gpu", "gpu:2", "gpu:h200:2(S:0)", behind commas perhaps others, which are no GPUs.
 */
static int gpus_of(const char *gres)
{
    int sum = 0;
    for (const char *at = gres; *at; at += strcspn(at, ","), at += *at == ',') {
        const size_t name = strcspn(at, ":,"), length = strcspn(at, ",(");
        const char *count = at + length;
        while (count > at && count[-1] >= '0' && count[-1] <= '9') count--;
        const bool counted = count < at + length && count > at && count[-1] == ':';
        if (name == 3 && strncmp(at, "gpu", 3) == 0)
            sum += counted ? (int)fmin(atoi(count), CHILDREN_WORKERS_MAX) : 1;
    }
    return sum;
}

/* Slurm gives a task one core, whatever its GPUs, where nobody says how many. */
static void choose_cores(struct cluster *c)
{
    struct slurm_wishes *w = &c->wishes;
    w->gpus = c->gpus < 0 ? 1 : c->gpus;
    w->cpus = c->cpus >= 0 ? c->cpus : CORES_A_GPU * (w->gres ? gpus_of(w->gres) : w->gpus);
}

/* As many tasks as Slurm's arrays may have: said before sbatch refuses them. shards: the highest that is
 * sent, and one. */
static enum status check_array(const struct cluster *c, int shards)
{
    int64_t most;
    enum status st = queue_array_max(&most);
    if (st)
        print_line(stderr, "whether Slurm takes an array of %d task%s is not known: %s", shards,
                   PRINT_S(shards), status_text());
    if (st || most < 0 || shards <= most) return st == E_MEMORY ? st : OK;
    if (most == 0)
        st = fail(E_INPUT, "Slurm takes no job arrays here (MaxArraySize = 0): ask its administrators for "
                           "them, or start tune --shard yourself (docs/cluster.md)");
    else
        st =
            fail(E_INPUT,
                 "Slurm takes job arrays of %" PRId64 " task%s at most here (MaxArraySize), and there are %d "
                 "shards: give --shards %" PRId64 " or fewer%s, or ask its administrators for more",
                 most, PRINT_S(most), shards, most, c->resume ? " with another --dir" : "");
    if (c->submit) return st;
    print_line(stderr, "%s", status_text());
    return OK;
}

/* The folder with all that is in it, and the lock under which it is submitted. Another may have begun there
 * since it was judged. */
static enum status fill_folder(struct cluster *c, struct cluster_plan *plan, const struct tune_options *o,
                               int *lock)
{
    enum status st = places_make_folders(plan);
    if (!st) st = cluster_plan_hold(plan->dir, lock);
    if (!st) st = places_judge_folder(c->dir, plan);
    if (!st) st = slurm_write(plan, &c->wishes);
    if (!st) st = write_suite(plan, o);
    return st ? st : cluster_plan_write(plan); /* last: a folder with a plan is complete */
}

static enum status begin(struct cluster *c, struct cluster_plan *plan, int *lock)
{
    struct tune_options o = {0};
    struct slurm_wishes *w = &c->wishes;
    char db[PATH_MAX];
    size_t made = 0;
    const char *version = strchr(command_version, ' ');
    enum status st = read_tune_options(c, &o);
    if (st) return st;
    plan->shards = c->shards ? c->shards : c->nodes;
    plan->nodes = c->nodes;
    plan->problems = (int64_t)o.problem_count;
    snprintf(plan->version, sizeof plan->version, "%s", version ? version + 1 : command_version);
    w->modules = c->modules;
    choose_cores(c);
    w->time = c->time;
    if (!w->scratch) w->scratch = "${TMPDIR:-/tmp}";
    st = give_options(c, o.budget_s);
    if (!st) st = hash_suite(&o, plan->shards, plan->suite);
    if (!st) st = find_container(c);
    if (!st) st = find_program(c);
    if (!st) st = places_judge_folder(c->dir, plan);
    if (!st) st = places_choose_db(c->db, plan, db, &made);
    if (!st) st = cluster_plan_check(plan);
    if (!st) st = slurm_check(plan, w);
    if (!st) st = check_array(c, plan->shards);
    if (!st) st = fill_folder(c, plan, &o, lock);
    if (!st && plan->problems < plan->shards)
        print_line(stderr, "%d of %d shards will have nothing to do: there %s %lld problem%s",
                   plan->shards - (int)plan->problems, plan->shards, plan->problems == 1 ? "is" : "are",
                   (long long)plan->problems, PRINT_S(plan->problems));
    if (st && made) paths_remove_folders(db, made);
    tune_options_free(&o);
    return st;
}

static enum status slurm(struct cluster *c, struct cluster_plan *plan)
{
    int lock = -1;
    enum status st = begin(c, plan, &lock);
    if (!st)
        print_line(stdout, "%s: %lld problem%s in %d shard%s, to be merged into %s", plan->dir,
                   (long long)plan->problems, PRINT_S(plan->problems), plan->shards, PRINT_S(plan->shards),
                   plan->db);
    if (!st && c->submit) st = slurm_submit(plan, NULL, c->cpus < 0);
    else if (!st)
        print_line(stdout,
                   "look at array.sh and merge.sh there, then: tune cluster slurm --dir %s --resume --submit",
                   plan->dir);
    cluster_plan_release(plan->dir, lock);
    return st;
}

/* What is in the queue still would be sent twice. */
static enum status refuse_blindly(const struct cluster_plan *plan, const struct cluster_view *view)
{
    return fail(
        E_CHILD,
        "%s; so what is left of job %lld might be sent twice: try again, or, once squeue shows nothing "
        "of it, submit what --resume without --submit names",
        view->no_queue, (long long)plan->jobs[plan->job_count - 1].array);
}

/* Locked from reading the plan to noting what was sent. */
static enum status read_to_submit(const struct cluster *c, struct cluster_plan *plan, int *lock)
{
    enum status st = cluster_plan_read(c->dir, plan); /* a folder without one gets no lock */
    if (st || !c->submit || (st = cluster_plan_hold(plan->dir, lock))) return st;
    cluster_plan_free(plan);
    return cluster_plan_read(c->dir, plan);
}

static enum status resume(struct cluster *c, struct cluster_plan *plan)
{
    struct cluster_view view = {0};
    char *list = NULL;
    int count = 0, shards = 0, lock = -1;
    enum status st = read_to_submit(c, plan, &lock);
    if (!st) st = view_open(plan, &view);
    if (!st && view.no_queue && c->submit) st = refuse_blindly(plan, &view);
    else if (!st && view.no_queue)
        print_line(stderr, "the queue cannot be asked, and may still have tasks of them: %s", view.no_queue);
    if (!st) st = view_due(&view, plan->nodes, &list, &count);
    for (int i = 0; !st && i < view.count; i++)
        if (shard_is_due(&view.shards[i])) shards = i + 1;
    if (!st && count > 0) st = check_array(c, shards);
    if (!st && count == 0)
        print_line(stdout, "%s: no shard is missing, failed or unfinished: nothing to send", plan->dir);
    else if (!st && !c->submit)
        print_line(stdout, "%d of %d shard%s to be sent: sbatch --array=%s %s/array.sh (--submit does it)",
                   count, plan->shards, PRINT_S(plan->shards), list, plan->dir);
    else if (!st) {
        print_line(stdout, "%d of %d shard%s to be sent: %s", count, plan->shards, PRINT_S(plan->shards),
                   list);
        st = slurm_submit(plan, count == plan->shards ? NULL : list, true);
    }
    cluster_plan_release(plan->dir, lock);
    free(list);
    view_close(&view);
    return st;
}

static enum status status(struct cluster *c, struct cluster_plan *plan)
{
    struct cluster_view view = {0};
    enum status st = cluster_plan_read(c->dir, plan);
    if (!st) st = view_open(plan, &view);
    if (!st) st = show_shards(plan, &view, c->format);
    if (!st) show_slow_gpus(&view);
    view_close(&view);
    return st;
}

static enum status merge(struct cluster *c, struct cluster_plan *plan)
{
    enum status st = cluster_plan_read(c->dir, plan);
    return st ? st : cluster_merge(plan);
}

enum status cmd_cluster(int argc, char **argv)
{
    struct cluster c = {.gpus = -1, .cpus = -1};
    struct cluster_plan plan = {.shards = 0};
    int own = 0;
    while (own < argc && strcmp(argv[own], "--") != 0) own++;
    c.rest = argv + own + (own < argc);
    c.rest_count = argc - own - (own < argc);
    enum status st = command_line_read(&cmd_cluster_line, own, argv, &c);
    if (st) return st;
    if (!c.dir) c.dir = DIR_USUAL;
    st = is_action(&c, "status")  ? status(&c, &plan)
         : is_action(&c, "merge") ? merge(&c, &plan)
         : c.resume               ? resume(&c, &plan)
                                  : slurm(&c, &plan);
    cluster_plan_free(&plan);
    return st;
}
