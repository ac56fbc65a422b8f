/* side_by_side.c — times configurations side by side on a real GPU, through the library.
 *
 *     side_by_side FILE [ROUNDS [MS]]
 *
 * FILE has a line "GROUP<tab>PROBLEM<tab>CONFIG" for each, CONFIG as in `tune export` or "cublas"; lines of a
 * group follow one another. Each becomes a captured graph of calls that take about MS (5), whose operands
 * rotate beyond L2. The graphs of a group run in turns, ROUNDS times (21), so that a drifting clock affects
 * all alike. Prints a CSV row for each line: median and quartiles of the time of a call, and of its ratio to
 * the first line of the group that ran, in the same round. Results are not judged.
 *
 * The arrays of pointers of a group must be alike. What cannot run has times of 0 and says why. Exits with 77
 * if there is no GPU, with 1 if something did not run.
 */
#include "clock.h"
#include "compile.h"
#include "cores.h"
#include "public_problem.h"
#include "rounds.h"
#include "stats.h"
#include "workload.h"

#include <sys/wait.h>
#include <unistd.h>

enum { MEMBERS_MAX = 128, CALLS_MAX = 1024, TURNS_MAX = 301, GROUP_MAX = 160, WHY_MAX = 256 };
#define LINE_MAX_BYTES (GROUP_MAX + PROBLEM_TEXT_MAX + CONFIG_TEXT_MAX + 4)
#define WARM_S         0.5

static struct device device;
static CUevent began, ended;
static int turns = 21;
static double graph_us = 5000;

struct line {
    char group[GROUP_MAX], text[PROBLEM_TEXT_MAX], config_text[CONFIG_TEXT_MAX];
    struct problem problem;
    struct config config;
    bool cublas;
};
static struct line *lines;
static size_t line_count;

/* One line of the group that is being timed. */
struct member {
    const struct line *line;
    struct gt_handle *handle;
    struct gt_plan *plan;
    CUgraphExec graph;
    double us[TURNS_MAX];
    char why[WHY_MAX]; /* it does not run; empty: it does */
};

/* ---- the file ---- */

static void read_line(char *text)
{
    struct line *l = &lines[line_count];
    text[strcspn(text, "\r\n")] = '\0';
    const char *group = strsep(&text, "\t"), *problem = strsep(&text, "\t"), *config = text;
    if (!config || strlen(group) >= GROUP_MAX || strlen(config) >= CONFIG_TEXT_MAX) {
        fprintf(stderr, "line %zu is not GROUP<tab>PROBLEM<tab>CONFIG\n", line_count + 1);
        exit(1);
    }
    *l = (struct line){.cublas = strcmp(config, "cublas") == 0};
    snprintf(l->group, sizeof l->group, "%s", group);
    must(problem_parse(problem, &l->problem) != OK, "problem");
    problem_format(&l->problem, l->text);
    snprintf(l->config_text, sizeof l->config_text, "%s", config);
    if (l->cublas) return;
    must(config_parse(config, &l->config) != OK, "configuration");
    config_format(&l->config, l->config_text);
}

static void read_lines(const char *path)
{
    FILE *file = fopen(path, "r");
    char text[LINE_MAX_BYTES];
    if (!file) {
        perror(path);
        exit(1);
    }
    while (fgets(text, sizeof text, file)) {
        struct line *grown = realloc(lines, (line_count + 1) * sizeof *grown);
        if (!grown) abort();
        lines = grown;
        read_line(text);
        line_count++;
    }
    fclose(file);
}

/* ---- kernels ahead of time ---- */

static void compile_share(size_t first, size_t step, const char *cache)
{
    if (device_load() || device_open(0, &device)) return;
    const int arch = device.gpu.arch;
    for (size_t i = first; i < line_count; i += step) {
        const struct kernel_key kernel = kernel_key_of(&lines[i].config, &lines[i].problem, arch);
        struct compiled built;
        if (!lines[i].cublas) compile_kernel(&kernel, cache, &built);
    }
    device_close(&device);
}

/* On all cores, into the cache. What fails is told when it is to run. Before this process starts CUDA. */
static void compile_all(const char *cache)
{
    const size_t cores = (size_t)cores_allowed(), step = cores < line_count ? cores : line_count;
    for (size_t i = 0; i < step; i++)
        if (fork() == 0) {
            compile_share(i, step, cache);
            _exit(0);
        }
    while (wait(NULL) > 0) {
    }
}

/* ---- operands ---- */

/* Of all members of a group, so that where they lie makes no difference: each is as long as the longest. D of
 * a problem out of place is C, and the C that it reads is SOURCE. */
enum { A, B, SOURCE, BIAS, C, ARRAYS, PLACES };
static struct {
    struct device_buffer slab;
    int64_t at[PLACES], set_words; /* words from the start of a set */
    int sets, calls;               /* calls of a graph */
} group;

static void spans_of(const struct problem *problem, int64_t spans[PLACES])
{
    const struct problem p = workload_placed(problem, 0);
    spans[A] = problem_span_a(&p);
    spans[B] = problem_span_b(&p);
    spans[SOURCE] = epilogue_out_of_place(p.epilogue) ? problem_span_c(&p) : 0;
    spans[BIAS] = problem_span_bias(&p);
    spans[C] = problem_span_c(&p);
    spans[ARRAYS] = problem->pointers ? 6 * p.batch : 0;
}

/* As many sets as the tuner's, for the member with the least operands. */
static void lay_out(const struct line *first, int count, int64_t room_words)
{
    enum { LINE = 64, SETS_MAX = 1024 };
    int64_t longest[PLACES] = {0}, least = INT64_MAX;
    for (int i = 0; i < count; i++) {
        int64_t spans[PLACES], words = 0;
        spans_of(&first[i].problem, spans);
        for (int j = 0; j < PLACES; j++) {
            words += spans[j];
            if (spans[j] > longest[j]) longest[j] = spans[j];
        }
        if (words < least) least = words;
    }
    group.set_words = 0;
    for (int j = 0; j < PLACES; j++) {
        group.at[j] = group.set_words;
        group.set_words += (longest[j] + LINE - 1) / LINE * LINE;
    }
    const int64_t beyond_l2 = 2 * device.gpu.l2_bytes / 4 / (least + 1) + 1,
                  fit = room_words / group.set_words;
    group.sets = beyond_l2 < 2 ? 2 : beyond_l2 < SETS_MAX ? (int)beyond_l2 : SETS_MAX;
    if (fit < group.sets) group.sets = (int)fit;
}

static CUdeviceptr word(int set, int64_t at)
{
    return group.slab.address + (CUdeviceptr)(4 * (set * group.set_words + at));
}

/* Uniform in [-1, 1), the same pattern again and again. */
static enum status fill(void)
{
    enum { WORDS = 1 << 20 };
    static float pattern[WORDS];
    uint64_t random = 1;
    for (int i = 0; i < WORDS; i++) pattern[i] = (float)(int32_t)(stats_random(&random) >> 32) * 0x1p-31f;
    enum status st = OK;
    for (size_t at = 0; at < group.slab.bytes && !st; at += sizeof pattern) {
        const size_t left = group.slab.bytes - at, bytes = left < sizeof pattern ? left : sizeof pattern;
        st = device_check(cuda.MemcpyHtoD(group.slab.address + at, pattern, bytes), "fill");
    }
    return st;
}

static enum status allocate(const struct line *first, int count)
{
    size_t left = 0, whole = 0;
    enum status st = device_check(cuda.MemGetInfo(&left, &whole), "ask for the memory left");
    if (!st) lay_out(first, count, (int64_t)(left / 2 / 4));
    if (!st && group.sets < 1) st = fail(E_GPU, "the operands do not fit into the memory left");
    if (!st) st = device_allocate(&group.slab, (size_t)(4 * group.set_words * group.sets));
    return st ? st : fill();
}

/* The addresses of A, B and C of each item, one array after the other. */
static enum status point(const struct problem *problem, int set)
{
    const struct problem p = workload_placed(problem, 0);
    const int64_t starts[] = {group.at[A], group.at[B], group.at[C]},
                  strides[] = {p.stride_a, p.stride_b, p.stride_c};
    const size_t bytes = (size_t)(3 * p.batch) * sizeof(CUdeviceptr);
    CUdeviceptr *addresses = malloc(bytes);
    if (!addresses) return fail(E_MEMORY, "out of memory for the addresses");
    for (int i = 0; i < 3; i++)
        for (int64_t item = 0; item < p.batch; item++)
            addresses[i * p.batch + item] = word(set, starts[i] + item * strides[i]);
    enum status st =
        device_check(cuda.MemcpyHtoD(word(set, group.at[ARRAYS]), addresses, bytes), "copy the addresses");
    free(addresses);
    return st;
}

/* ---- calls ---- */

static void *address(CUdeviceptr at)
{
    return (void *)(uintptr_t)at; /* NOLINT: a device address */
}

static struct gt_call call_of(const struct problem *p, int set)
{
    static float alpha, beta;
    const CUdeviceptr arrays = word(set, group.at[ARRAYS]), bytes = sizeof arrays * (CUdeviceptr)p->batch;
    void *a = address(word(set, group.at[A])), *b = address(word(set, group.at[B])),
         *c = address(word(set, group.at[C]));
    if (p->pointers) a = address(arrays), b = address(arrays + bytes), c = address(arrays + 2 * bytes);
    alpha = (float)p->alpha, beta = (float)p->beta;
    struct gt_call call = gt_call_make(&alpha, a, b, &beta, c, device.stream);
    call.flags = GT_AS_PLANNED;
    if (epilogue_bias(p->epilogue)) call.bias = address(word(set, group.at[BIAS]));
    if (epilogue_out_of_place(p->epilogue)) call.source = address(word(set, group.at[SOURCE]));
    return call;
}

static enum status calls(const struct member *m, int count)
{
    for (int i = 0; i < count; i++) {
        const struct gt_call call = call_of(&m->line->problem, i % group.sets);
        if (gt_launch(m->plan, &call)) return fail(E_GPU, "%.200s", gt_error_text());
    }
    return OK;
}

/* So many calls, or the graph, which has so many. */
static enum status timed(const struct member *m, int count, double *us)
{
    float ms = 0;
    enum status st = device_check(cuda.EventRecord(began, device.stream), "time");
    if (!st) st = m->graph ? device_check(cuda.GraphLaunch(m->graph, device.stream), "run") : calls(m, count);
    if (!st) st = device_check(cuda.EventRecord(ended, device.stream), "time");
    if (!st) st = device_check(cuda.EventSynchronize(ended), "run");
    if (!st) st = device_check(cuda.EventElapsedTime(&ms, began, ended), "time");
    *us = 1e3 * (double)ms / count;
    return st;
}

/* The first call loads and allocates. The group's first that runs decides how many calls the graphs have: of
 * all sets equally many. */
static enum status try_calls(const struct member *m)
{
    double us = 0;
    enum status st = timed(m, group.sets, &us);
    if (!st) st = timed(m, group.sets, &us);
    if (st || group.calls > 0) return st;
    const double wanted = us > 0 ? graph_us / us : 1;
    const int most = wanted < CALLS_MAX ? (int)wanted : CALLS_MAX;
    group.calls = most > group.sets ? most / group.sets * group.sets : group.sets;
    return OK;
}

static enum status capture(struct member *m)
{
    CUgraph graph = NULL;
    enum status st =
        device_check(cuda.StreamBeginCapture(device.stream, CU_STREAM_CAPTURE_MODE_RELAXED), "capture");
    if (st) return st;
    st = calls(m, group.calls);
    const enum status end = device_check(cuda.StreamEndCapture(device.stream, &graph), "capture");
    if (!st) st = end;
    if (!st) st = device_check(cuda.GraphInstantiate(&m->graph, graph, 0), "make a graph");
    if (graph) cuda.GraphDestroy(graph);
    return st;
}

/* ---- a group ---- */

/* A plan by exactly this configuration: of a library that knows no other winner. */
static enum status open_plan(struct member *m, const char *folder)
{
    const struct line *l = m->line;
    char path[128];
    const char *illegal = l->cublas ? NULL : l->config.template->check(&l->config, &l->problem, &device.gpu);
    if (illegal) return fail(E_INPUT, "%s", illegal);
    snprintf(path, sizeof path, "%s/winners.jsonl", folder);
    FILE *file = fopen(path, "w");
    if (!file) return fail(E_IO, "%s cannot be written", path);
    round_winner(file, &device, l->text, l->cublas ? NULL : &l->config);
    if (fclose(file)) return fail(E_IO, "%s cannot be written", path);
    const struct gt_options options = {.size = sizeof options,
                                       .database = "",
                                       .pretuned = folder,
                                       .flags = GT_QUIET,
                                       .workspace_bytes = (size_t)4 << 30};
    struct gt_problem problem = public_problem(&l->problem);
    if (l->problem.beta != 0) problem.flags |= GT_ADDS_TO_C;
    struct gt_plan_info info = gt_plan_info_make();
    if (gt_open(&m->handle, &options) || gt_plan_open(m->handle, &problem, &m->plan) ||
        gt_plan_describe(m->plan, &info))
        return fail(E_GPU, "%.200s", gt_error_text());
    if (strcmp(info.config, l->config_text) == 0) return OK;
    return fail(E_INPUT, "the library takes %.40s: %.150s", info.config, info.why);
}

static void start(struct member *m, const char *folder)
{
    enum status st = open_plan(m, folder);
    for (int set = 0; set < group.sets && m->line->problem.pointers && !st; set++)
        st = point(&m->line->problem, set);
    if (!st) st = try_calls(m);
    if (!st) st = capture(m);
    if (st) snprintf(m->why, sizeof m->why, "%s", status_text());
}

static void stop(struct member *m)
{
    if (m->graph) cuda.GraphExecDestroy(m->graph);
    gt_close(m->handle);
}

static void turn(struct member *members, int count, int round, int at)
{
    for (int j = 0; j < count; j++) {
        struct member *m = &members[(j + round) % count];
        if (!*m->why && timed(m, group.calls, &m->us[at]))
            snprintf(m->why, sizeof m->why, "%s", status_text());
    }
}

static void print_row(const struct member *m, const struct member *first)
{
    double ratio[TURNS_MAX];
    const size_t n = (size_t)turns;
    printf("%s,%s,%s,", m->line->group, m->line->text, m->line->config_text);
    if (*m->why) {
        printf("0,0,0,0,0,0,\"");
        for (const char *c = m->why; *c; c++) putchar(*c == '"' ? '\'' : *c);
        printf("\"\n");
        return;
    }
    printf("%.4f,%.4f,%.4f,", stats_median(m->us, n), stats_quantile(m->us, n, 0.25),
           stats_quantile(m->us, n, 0.75));
    for (size_t i = 0; i < n; i++) ratio[i] = m->us[i] / first->us[i];
    printf("%.6f,%.6f,%.6f,\n", stats_median(ratio, n), stats_quantile(ratio, n, 0.25),
           stats_quantile(ratio, n, 0.75));
}

/* Whether all ran. */
static bool run_group(const struct line *first, int count, const char *folder)
{
    struct member *members = calloc((size_t)count, sizeof *members);
    bool all = true;
    if (!members) abort();
    group.calls = 0;
    must(allocate(first, count) != OK, "operands");
    for (int i = 0; i < count; i++) {
        members[i].line = &first[i];
        start(&members[i], folder);
    }
    const double until = now_s() + WARM_S;
    do turn(members, count, 0, 0);
    while (now_s() < until);
    for (int round = 0; round < turns; round++) turn(members, count, round, round);
    int first_run = 0;
    while (first_run < count - 1 && *members[first_run].why) first_run++;
    for (int i = 0; i < count; i++) {
        print_row(&members[i], &members[first_run]);
        all &= !*members[i].why;
    }
    fflush(stdout);
    for (int i = 0; i < count; i++) stop(&members[i]);
    device_free(&group.slab);
    free(members);
    return all;
}

static bool run_groups(const char *folder)
{
    bool all = true;
    printf("group,problem,config,time_us,time_q1_us,time_q3_us,ratio,ratio_q1,ratio_q3,why\n");
    for (size_t i = 0, count; i < line_count; i += count) {
        for (count = 1; i + count < line_count && count < MEMBERS_MAX; count++)
            if (strcmp(lines[i + count].group, lines[i].group) != 0) break;
        all &= run_group(&lines[i], (int)count, folder);
    }
    return all;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/gemmtune-side-XXXXXX", path[64], cache[1024];
    if (argc > 2) turns = atoi(argv[2]);
    if (argc > 3) graph_us = 1e3 * atof(argv[3]);
    if (argc < 2 || argc > 4 || turns < 1 || turns > TURNS_MAX || !(graph_us > 0)) {
        fprintf(stderr, "side_by_side FILE [ROUNDS [MS]]; at most %d rounds\n", TURNS_MAX);
        return 2;
    }
    read_lines(argv[1]);
    must(compile_cache_folder(cache, sizeof cache) != OK, "cache");
    compile_all(cache);
    if (device_load() || device_open(0, &device)) {
        printf("skipped: %s\n", status_text());
        return 77;
    }
    must(!mkdtemp(folder), "make a folder");
    must(device_check(cuda.EventCreate(&began, 0), "time") ||
             device_check(cuda.EventCreate(&ended, 0), "time"),
         "events");
    const bool all = run_groups(folder);
    cuda.EventDestroy(began);
    cuda.EventDestroy(ended);
    device_close(&device);
    snprintf(path, sizeof path, "%s/winners.jsonl", folder);
    unlink(path);
    rmdir(folder);
    free(lines);
    return !all;
}
