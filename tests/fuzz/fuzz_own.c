/* Descriptions of own kernels: whatever they say, what the rules then allow launches within the limits of the
 * hardware, and expressions have a value or a reason. */
#include "fuzz.h"
#include "fuzz_h200.h"
#include "launch_limits.h"
#include "own.h"
#include "template.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const fuzz_words[] = {"// gemmtune: ",
                                  "type sgemm",
                                  "ops nn tt",
                                  "only ",
                                  "entry f",
                                  "entry f<BM, BN>",
                                  "param BM 1 2 4",
                                  "; ",
                                  "BM",
                                  "rule ",
                                  "grid ",
                                  "ceil(M, BM)",
                                  "block ",
                                  "shared ",
                                  "registers ",
                                  "args ",
                                  "M N K",
                                  "alpha A B beta C",
                                  "workspace ",
                                  "4 * M * N",
                                  "tile BM BM BM",
                                  "cluster 2 1 1",
                                  "launch sum",
                                  "min(",
                                  "max(",
                                  "?",
                                  ":",
                                  "&&",
                                  "||",
                                  "==",
                                  "%",
                                  "/ 0",
                                  "9223372036854775807",
                                  "-",
                                  "!",
                                  "\n// ",
                                  "(",
                                  ")",
                                  ", ",
                                  "batch",
                                  "lda",
                                  "TRANS_A",
                                  NULL};

static void check_launches(const struct template *t, const struct config *config, const struct problem *p)
{
    struct launch_plan plan;
    memset(&plan, 0, sizeof plan);
    t->plan(config, p, &plan);
    PROMISE(plan.kernels >= 1 && plan.kernels <= LAUNCH_KERNELS_MAX, "%d kernels", plan.kernels);
    PROMISE(plan.workspace_bytes >= 0, "%lld bytes", (long long)plan.workspace_bytes);
    for (int i = 0; i < plan.kernels; i++) {
        const struct kernel_launch *k = &plan.kernel[i];
        const unsigned y = k->own.block[0] ? k->own.block[0] : 1, z = k->own.block[1] ? k->own.block[1] : 1;
        PROMISE(k->threads >= 1 && k->threads <= 1024 && k->threads % (y * z) == 0 && z <= 64, "%u threads",
                k->threads);
        PROMISE(k->grid[0] >= 1 && k->grid[0] <= GRID_X_MAX && k->grid[1] >= 1 && k->grid[1] <= 65535 &&
                    k->grid[2] >= 1 && k->grid[2] <= 65535,
                "grid %u %u %u", k->grid[0], k->grid[1], k->grid[2]);
        PROMISE((int)k->smem_bytes <= fuzz_gpu.smem_per_block_bytes, "%u bytes", k->smem_bytes);
        for (int j = 0; j < k->own.count; j++) PROMISE(k->own.at[j] < plan.argument_bytes, "parameter %d", j);
    }
    const struct prediction time = t->predict(config, p, &fuzz_gpu, NULL);
    PROMISE(time.time_us > 0, "%g us", time.time_us);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct description d;
    static const char *const problems[] = {"64x64x64", "tt:100x70x33:batch=3:beta=1", "1x1x1",
                                           "2147418112x3x2147418112"};
    char *bare = NULL;
    const char *const text = fuzz_text(data, size);
    if (describe_read("my.cu", text, false, &d, &bare)) return 0;
    free(bare);
    fuzz_accept();
    json_t *const json =
        json_pack("{s:s, s:[[s, s]], s:n}", "file", "my.cu", "sources", "my.cu", text, "tune");
    char *const whole = json ? json_dumps(json, 0) : NULL; /* NULL: no UTF-8 */
    struct template *t;
    if (whole && own_make(whole, &t) == OK) {
        struct config config = {.template = t};
        for (int i = 0; i < d.params; i++) config.value[i] = d.value[i][0];
        for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
            struct problem p;
            if (problem_parse(problems[i], &p)) continue;
            for (int known = 0; known <= d.params; known++) t->check_prefix(&config, known, &p, &fuzz_gpu);
            if (!t->check(&config, &p, &fuzz_gpu)) check_launches(t, &config, &p);
        }
        char *const space = own_space(t, NULL);
        PROMISE(space != NULL, "no space");
        free(space);
        own_free(t);
    }
    free(whole);
    json_decref(json);
    return 0;
}
