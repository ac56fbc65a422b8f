/* The files that machines share: a plan, the line of shard 0, and how its last task ended, with a line "---"
 * between. */
#include "cluster.h"
#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *const fuzz_words[] = {"\"format\":",
                                  "\"gemmtune cluster 1\"",
                                  "\"gemmtune shard 1\"",
                                  "\"shards\":",
                                  "\"shard\":",
                                  "\"gpus\":[",
                                  "\"jobs\":[",
                                  "\"state\":\"finished\"",
                                  "\"interrupted\"",
                                  "\"clock_mhz\":",
                                  "\n---\n",
                                  "65536",
                                  "9223372036854775807",
                                  "-1",
                                  "1e300",
                                  "null",
                                  "{",
                                  "}",
                                  "\\u0000",
                                  NULL};

static const char *const names[] = {"plan.json", "shards/0.db.json", "state/0"};

static void write_files(const char *folder, const char *text)
{
    for (int i = 0; i < 3; i++) {
        char path[700];
        const char *line = strstr(text, "\n---\n");
        const size_t length = line && i < 2 ? (size_t)(line - text) : strlen(text);
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        FILE *file = fopen(path, "wb");
        if (!file || fwrite(text, 1, length, file) != length || fclose(file)) abort();
        text += line && i < 2 ? length + 5 : length;
    }
}

static void count_slow(void *self, int shard, const struct cluster_shard *is, const struct cluster_gpu *gpu,
                       double usual_mhz)
{
    PROMISE(shard == 0 && is->gpu_count > 0, "shard %d has no GPU", shard);
    PROMISE(gpu->clock_mhz < usual_mhz, "%d MHz are not slower than %f", gpu->clock_mhz, usual_mhz);
    ++*(int *)self;
}

#define ENDS(text) PROMISE(memchr(text, 0, sizeof(text)), "a text does not end")

static void check_view(const struct cluster_plan *plan)
{
    struct cluster_view view;
    char *list = NULL;
    int count = -1, slow = 0;
    if (view_open(plan, &view)) abort();
    for (int i = 0; i < view.count; i++) {
        const struct cluster_shard *s = &view.shards[i];
        PROMISE(s->state <= SHARD_DONE && s->gpu_count <= CLUSTER_GPUS_MAX, "state %d, %d GPUs", s->state,
                s->gpu_count);
        ENDS(s->host);
        ENDS(s->why);
        for (int j = 0; j < s->gpu_count; j++) {
            ENDS(s->gpus[j].name);
            ENDS(s->gpus[j].uuid);
        }
        PROMISE(s->state != SHARD_DONE, "a shard is done without its copy");
        PROMISE(i == 0 || s->state == (plan->job_count ? SHARD_MISSING : SHARD_UNSENT), "shard %d is there",
                i);
    }
    const double left_s = view_left_s(&view);
    PROMISE(isnan(left_s) || left_s >= 0, "%f s are left", left_s);
    view_slow_gpus(&view, count_slow, &slow);
    PROMISE(slow <= CLUSTER_GPUS_MAX, "%d slow GPUs", slow);
    if (view_due(&view, plan->nodes, &list, &count)) abort();
    PROMISE(count >= plan->shards - 1 && count <= plan->shards, "%d of %d are due", count, plan->shards);
    free(list);
    view_close(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char folder[600];
    struct cluster_plan plan;
    if (!folder[0]) {
        char path[700];
        snprintf(folder, sizeof folder, "%s", fuzz_folder());
        setenv("PATH", folder, 1); /* no squeue */
        static const char *const below[] = {"shards", "state"};
        for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
            snprintf(path, sizeof path, "%s/%s", folder, below[i]);
            if (mkdir(path, 0700)) abort();
        }
    }
    write_files(folder, fuzz_text(data, size));
    if (cluster_plan_read(folder, &plan)) return 0;
    fuzz_accept();
    ENDS(plan.db);
    ENDS(plan.suite);
    ENDS(plan.version);
    PROMISE(plan.shards >= 1 && plan.nodes >= 1 && plan.problems >= 1 && plan.db[0] == '/', "%d shards",
            plan.shards);
    for (int i = 0; i < plan.job_count; i++)
        PROMISE(plan.jobs[i].array >= 1 && plan.jobs[i].merge >= 0, "job %d", i);
    if (plan.shards <= 8) check_view(&plan);
    cluster_plan_free(&plan);
    return 0;
}
