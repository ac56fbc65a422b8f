/* Every template, built by NVRTC for every architecture we serve: all rungs of the ladder, and searched
 * configurations from all over the legal space, for aligned and for odd problems. Each family is built for
 * each architecture, with each op and each type, but not in every combination of what is varied: it takes
 * turns. `test_nvrtc_all few` builds one configuration of each family for every third architecture. */
#include "compile.h"
#include "epilogue.h"
#include "gpu.h"
#include "ladder.h"
#include "space.h"
#include "unit.h"
#include "workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 2
#define WIDE      2 /* of a family's wide space, for each problem and GPU */

static char cache[4096]; /* beside the test, so that a second run is quick */

static struct kernel_key *jobs;
static size_t job_count;

static const char *const ops[] = {"nn", "tn", "nt", "tt"};

static void job_add(const struct config *config, int op, int arch)
{
    struct problem problem;
    char text[32];
    snprintf(text, sizeof text, "%s:1x1x1", ops[op]);
    assert_ok(problem_parse(text, &problem));
    jobs = realloc(jobs, (job_count + 1) * sizeof *jobs);
    assert_non_null(jobs);
    jobs[job_count++] = kernel_key_of(config, &problem, arch);
}

/* One GPU of each architecture; no descriptor is kept for consumer Blackwell, whose limits are those of Ada.
 */
static struct gpu gpu_of(int arch)
{
    static const struct {
        int arch;
        const char *id;
    } known[] = {{75, "t4"},   {80, "a100"},  {86, "rtx3090"}, {89, "rtx4090"},
                 {90, "h200"}, {100, "b200"}, {120, "rtx4090"}};
    struct gpu gpu = {.arch = 0};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].arch == arch) assert_ok(gpu_find(GT_SOURCE_DIR "/configs/gpus", known[i].id, &gpu));
    gpu.arch = arch;
    return gpu;
}

static const int archs[] = {75, 80, 86, 89, 90, 100, 120};
#define ARCHS (sizeof archs / sizeof *archs)

/* Build every PROCESSES-th job; the number of failures, each told on stderr. */
static int build_share(int share)
{
    int failed = 0;
    for (size_t i = (size_t)share; i < job_count; i += PROCESSES) {
        const struct kernel_key *job = &jobs[i];
        struct compiled result;
        char text[CONFIG_TEXT_MAX];
        enum status st = compile_kernel(job, cache, &result);
        if (!st && result.built && result.facts.registers > 0) continue;
        config_format(&job->config, text);
        fprintf(stderr, "sm_%d %s %s: %s\n", job->arch, kernel_key_op(job), text,
                st ? status_text() : result.log);
        failed++;
    }
    return failed;
}

static void build_all(void)
{
    pid_t child[PROCESSES];
    int failed = 0;
    fflush(NULL);
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0) _exit(build_share(i) > 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int how = -1;
        assert_int_equal(waitpid(child[i], &how, 0), child[i]);
        failed += how != 0;
    }
    printf("%zu kernels\n", job_count);
    assert_int_equal(failed, 0);
    free(jobs);
    jobs = NULL;
    job_count = 0;
}

TEST(every_rung_builds_for_every_architecture)
{
    for (size_t a = 0; a < ARCHS; a++) {
        for (int i = 0; i < LADDER_RUNGS; i++) {
            struct config config;
            ladder_config(ladder_rungs[i], &config);
            job_add(&config, ((int)a + i) % 4, archs[a]);
        }
    }
    build_all();
}

/* Only those of one family. */
static void keep_family(struct candidates *all, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->config[i].template->name, name) == 0) all->config[kept++] = all->config[i];
    all->count = kept;
}

/* A place among so many, another one each time: all over them in the long run, with Fibonacci hashing. */
static size_t next_place(size_t count)
{
    static uint32_t turn;
    return (size_t)((uint64_t)(++turn * UINT32_C(2654435769)) * count >> 32);
}

/* So many legal configurations. Of one family, or NULL. */
static void add_some(size_t number, const char *type, const struct space *space, const char *family,
                     const char *shape, int op, size_t arch)
{
    struct gpu gpu = gpu_of(archs[arch]);
    struct candidates all;
    struct problem problem;
    char text[64];
    snprintf(text, sizeof text, "%s:%s:%s", type, ops[op], shape);
    assert_ok(problem_parse(text, &problem));
    assert_ok(space_enumerate(space, &problem, &gpu, WORKSPACE_DEFAULT, &all));
    if (family) keep_family(&all, family);
    assert_true(all.count > 0);
    for (size_t i = 0; i < number; i++) {
        const size_t at = next_place(all.count);
        job_add(&all.config[at], op, gpu.arch);
        template_type(all.config[at].template, problem.type, &jobs[job_count - 1].type);
    }
    candidates_free(&all);
}

static void add_spread_of(const char *type, const struct space *space, const char *family, const char *shape,
                          int op, size_t arch)
{
    add_some(1, type, space, family, shape, op, arch);
}

static void add_spread(const struct space *space, const char *family, const char *shape, int op, size_t arch)
{
    add_spread_of("sgemm", space, family, shape, op, arch);
}

TEST(a_spread_of_the_space_builds_for_every_architecture)
{
    struct space *space = NULL;
    assert_ok(space_load_all(GT_SOURCE_DIR "/configs/spaces", &space));
    for (size_t arch = 0; arch < ARCHS; arch++) {
        for (int op = 0; op < 4; op++) {
            add_spread(space, NULL, "7x2048x4096", op, arch);
            add_spread(space, NULL, ((size_t)op + arch) % 2 ? "1001x333x77" : "4096x4096x4096", op, arch);
        }
        for (int op = 0; op < 4; op++) add_spread(space, "streamk", "4096x4096x4096", op, arch);
        add_spread(space, "streamk", "1001x333x77", (int)arch % 4, arch);
        if (archs[arch] < 80) continue;
        add_spread(space, "tall", "559104x64x147", 0, arch);
        add_spread(space, "tall", "32x200001x27", 2, arch);
    }
    space_free(space);
    build_all();
}

/* Do only GPUs of sm_90 have the instructions of a family, which a text begins with? */
static bool is_hoppers(const char *text)
{
    return strncmp(text, "wgmma", 5) == 0 || strncmp(text, "bf16x6", 6) == 0 ||
           strncmp(text, "f16x3", 5) == 0;
}

/* Of `types` types this one takes every such op, in turn. */
static void add_tensor_cores(const char *file, const char *type, int turn, int types, const char *shape,
                             const char *ragged)
{
    struct space *space = NULL;
    char path[300];
    snprintf(path, sizeof path, GT_SOURCE_DIR "/configs/spaces/%s", file);
    assert_ok(space_load(path, &space));
    for (size_t arch = 0; arch < ARCHS; arch++) {
        if (archs[arch] < 80 || (archs[arch] != 90 && is_hoppers(file))) continue;
        for (int op = 0; op < 4; op++)
            if (((int)arch + op) % types == turn) add_spread_of(type, space, NULL, shape, op, arch);
        add_spread_of(type, space, NULL, ragged, (int)arch % 4, arch);
    }
    space_free(space);
}

TEST(a_spread_of_the_tensor_cores_spaces_builds_for_every_architecture_that_has_them)
{
    static const char *const types[] = {"bf16gemm", "hgemm"};
    add_tensor_cores("mma.conf", "tf32gemm", 0, 1, "4096x4096x4096", "1001x333x77");
    for (int i = 0; i < 2; i++) {
        add_tensor_cores("mma16.conf", types[i], i, 2, "4096x4096x4096", "1001x333x77");
        add_tensor_cores("gemv16.conf", types[i], i, 2, "8x4096x4096", "1001x33x77");
        add_tensor_cores("wgmma.conf", types[i], i, 2, "4096x4096x4096", "1001x333x77");
    }
    add_tensor_cores("wgmma_tf32.conf", "tf32gemm", 0, 1, "4096x4096x4096", "1001x333x77");
    add_tensor_cores("bf16x6.conf", "sgemm_accurate", 0, 1, "4096x4096x4096", "1001x333x777");
    add_tensor_cores("f16x3.conf", "sgemm_normwise", 0, 1, "4096x4096x4096", "1001x333x777");
    build_all();
}

/* What the host's rules let through, the compiler takes: 12 configurations of each family. */
TEST(a_spread_of_the_wide_spaces_builds_wherever_the_rules_say_so)
{
    static const struct {
        const char *family, *type, *shape[2];
        int op[2];
    } rows[] = {
        {"simt", "sgemm", {"4096x4096x4096", "1001x333x77"}, {0, 3}},
        {"streamk", "sgemm", {"4096x4096x4096", "1001x333x777"}, {1, 2}},
        {"skinny", "sgemm", {"7x2048x4096", "3001x33x777"}, {0, 1}},
        {"resident", "sgemm", {"32x1605632x27", "200001x48x75"}, {0, 1}},
        {"tall", "sgemm", {"559104x64x147", "32x200001x27"}, {0, 2}},
        {"mma", "tf32gemm", {"4096x4096x4096", "1001x333x77"}, {2, 0}},
        {"mma16", "hgemm", {"4096x4096x4096", "1001x333x77"}, {3, 1}},
        {"gemv16", "hgemm", {"7x2048x4096", "3001x33x777"}, {1, 0}},
        {"wgmma", "bf16gemm", {"4096x4096x4096", "1001x333x77"}, {0, 2}},
        {"wgmma_tf32", "tf32gemm", {"4096x4096x4096", "1001x333x77"}, {0, 3}},
        {"bf16x6", "sgemm_accurate", {"4096x4096x4096", "1001x333x777"}, {0, 2}},
        {"f16x3", "sgemm_normwise", {"4096x4096x4096", "1001x333x777"}, {3, 1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct space *space = NULL;
        char path[300];
        snprintf(path, sizeof path, GT_SOURCE_DIR "/configs/spaces/wide/%s.conf", rows[i].family);
        assert_ok(space_load(path, &space));
        for (size_t arch = 0; arch < ARCHS; arch++)
            if (archs[arch] == 90 ||
                ((archs[arch] == 80 || archs[arch] == 100) && !is_hoppers(rows[i].family)))
                for (int s = 0; s < 2; s++)
                    add_some(WIDE, rows[i].type, space, rows[i].family, rows[i].shape[s], rows[i].op[s],
                             arch);
        space_free(space);
    }
    build_all();
}

TEST(operands_are_packed_and_parts_added_on_every_architecture)
{
    for (size_t a = 0; a < ARCHS; a++) {
        for (int op = 0; op < 4; op++) {
            const int pack = 1 + ((int)a + op) % 3;
            struct config config;
            assert_ok(config_parse(
                "simt BM=32 BN=64 BK=16 WM=16 WN=64 TM=4 TN=8 STAGES=3 LOADER=0 PACK=0 VA=4 VB=4 VC=1 "
                "UNROLL=16 STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=1 SPLIT_K=2",
                &config));
            config_set(&config, "LOADER", archs[a] >= 80);
            config_set(&config, "PACK", pack);
            config_set(&config, "REDUCE", pack == 3 && archs[a] >= 90 ? 2 : pack % 2);
            job_add(&config, op, archs[a]);
        }
    }
    build_all();
}

/* Every way in which sums reach C; those of a family follow each other. */
static const struct {
    const char *config;
    int least; /* architecture */
} ways[] = {
    {"simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=2 LOADER=0 PACK=0 VA=4 VB=4 VC=4 UNROLL=16 "
     "STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=1 SPLIT_K=4",
     75},
    {"simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=2 LOADER=0 PACK=3 VA=4 VB=4 VC=1 UNROLL=16 "
     "STORE_AT=8 MIN_BLOCKS=2 REDUCE=1 GROUP=1 SPLIT_K=4",
     75},
    {"simt BM=32 BN=32 BK=32 WM=32 WN=32 TM=4 TN=8 WARPS_K=4 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=2 "
     "UNROLL=8 STORE_AT=4 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1",
     75},
    {"simt BM=64 BN=128 BK=16 WM=32 WN=64 TM=8 TN=8 STAGES=2 LOADER=1 PACK=1 VA=4 VB=4 VC=4 UNROLL=16 "
     "STORE_AT=8 MIN_BLOCKS=1 REDUCE=2 GROUP=1 SPLIT_K=2",
     90},
    {"skinny SIDE=0 ROWS=8 TX=4 VX=4 VS=4 VC=4 LANES_X=2 WARPS_X=4 WARPS_K=1 DEPTH=2 STEPS=2 LOADER=0 "
     "MIN_BLOCKS=1 REDUCE=1 SPLIT_K=4",
     75},
    {"skinny SIDE=1 ROWS=8 TX=4 VX=4 VS=4 VC=4 LANES_X=2 WARPS_X=4 WARPS_K=1 DEPTH=2 STEPS=2 LOADER=1 "
     "MIN_BLOCKS=1 REDUCE=2 SPLIT_K=2",
     90},
    {"resident SIDE=0 BM=32 BN=64 BK=8 WM=32 WN=32 TM=8 TN=4 STAGES=3 LOADER=1 VS=1 VC=4 UNROLL=8 "
     "MIN_BLOCKS=1 SMS=1",
     80},
    {"tall SIDE=0 BM=64 BN=128 BK=21 TM=8 TN=8 STAGES=2 VC=1 UNROLL=10 MIN_BLOCKS=1 SMS=1", 80},
    {"streamk BM=64 BN=128 BK=16 WM=32 WN=64 TM=8 TN=8 STAGES=3 LOADER=0 VA=4 VB=4 VC=4 UNROLL=16 "
     "STORE_AT=8 "
     "ORDER=0 MIN_BLOCKS=2 GROUP=1 SMS=1",
     75},
    {"mma BM=64 BN=64 BK=32 WM=32 WN=32 STAGES=3 VA=4 VB=4 VC=4 MIN_BLOCKS=1 GROUP=1 SPLIT_K=2", 80},
    {"mma16 BM=64 BN=64 BK=32 WM=32 WN=32 SWAP=0 WARPS_K=1 STAGES=3 PRELOAD=1 PACK=0 VA=8 VB=8 VC=8 "
     "MIN_BLOCKS=1 "
     "REDUCE=1 GROUP=1 SPLIT_K=2",
     80},
    {"mma16 BM=16 BN=32 BK=128 WM=16 WN=32 SWAP=1 WARPS_K=4 STAGES=3 PRELOAD=0 PACK=0 VA=1 VB=2 VC=4 "
     "MIN_BLOCKS=1 "
     "REDUCE=4 GROUP=1 SPLIT_K=4",
     90},
    {"gemv16 SIDE=0 FEW=16 TX=8 VX=8 VS=2 VC=4 WARPS_X=2 WARPS_K=4 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=1 "
     "SPLIT_K=3 "
     "PDL=0 ASK=0 PAD=0",
     80},
    {"gemv16 SIDE=1 FEW=24 TX=2 VX=2 VS=1 VC=8 WARPS_X=1 WARPS_K=8 SPAN=2 DEPTH=2 MIN_BLOCKS=1 REDUCE=4 "
     "SPLIT_K=4 "
     "PDL=1 ASK=16 PAD=0",
     90},
    {"wgmma BM=128 BN=64 BK=64 SWAP=0 CONSUMERS=2 STAGES=4 PACK=0 VC=8 MIN_BLOCKS=2 REDUCE=1 WALK=0 GROUP=1 "
     "SPLIT_K=4 SMS=1",
     90},
    {"wgmma BM=64 BN=128 BK=128 SWAP=1 CONSUMERS=1 STAGES=3 PACK=0 VC=2 MIN_BLOCKS=1 REDUCE=4 WALK=0 GROUP=1 "
     "SPLIT_K=4 SMS=1",
     90},
    {"wgmma_tf32 BM=96 BN=128 BK=32 SWAP=1 CONSUMERS=1 STAGES=3 PACK=1 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=0 "
     "GROUP=1 SPLIT_K=4 SMS=1",
     90},
    {"bf16x6 BM=128 BN=208 BK=64 STAGES=5 FUSE=0 VA=1 VB=1 VC=2 GROUP=1 SPLIT_K=1 SMS=1", 90},
    {"bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=1 VA=1 VB=4 VC=1 GROUP=1 SPLIT_K=4 SMS=1", 90},
    {"f16x3 BM=128 BN=176 BK=128 STAGES=5 LOW=8 VC=2 GROUP=1 SPLIT_K=1 SMS=1", 90},
    {"f16x3 BM=64 BN=64 BK=64 STAGES=6 LOW=16 VC=1 GROUP=1 SPLIT_K=4 SMS=1", 90},
    {"bf16x6 BM=160 BN=128 BK=64 STAGES=6 FUSE=2 SWAP=1 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=1 SMS=1", 90},
    {"bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=3 VA=1 VB=1 VC=2 GROUP=1 SPLIT_K=4 SMS=1", 90},
};
#define WAYS (sizeof ways / sizeof *ways)

static bool builds_for(size_t way, int arch)
{
    return arch >= ways[way].least && (arch == 90 || !is_hoppers(ways[way].config));
}

/* With the next epilogue. */
static void add_way(size_t way, int op, int arch, int *code)
{
    struct config config;
    assert_ok(config_parse(ways[way].config, &config));
    do *code = (*code + 1) % EPILOGUE_CODES;
    while (*code == 0 || !epilogue_is_known(*code));
    job_add(&config, op, arch);
    jobs[job_count - 1].type = template_first_type(config.template);
    jobs[job_count - 1].epilogue = *code;
}

/* On each architecture with other epilogues; all of them in the end. */
TEST(epilogues_build_for_every_architecture)
{
    int turn = 0, code = 0;
    for (size_t a = 0; a < ARCHS; a++)
        for (size_t i = 0; i < WAYS; i++)
            if (builds_for(i, archs[a]))
                add_way(i, turn++ % 2 ? 2 : 3, archs[a], &code); /* nt, tt: tall needs B along k */
    build_all();
}

/* Both operands packed or not, every way in which parts are added, and every op, on each architecture. */
TEST(kernels_that_take_pointers_build_for_every_architecture)
{
    for (size_t a = 0; a < ARCHS; a++)
        for (int op = 0; op < 4; op++) {
            const int pack = ((int)a + op) % 4, most = archs[a] >= 90 ? 3 : 2;
            struct config config;
            assert_ok(config_parse(
                "simt BM=32 BN=64 BK=16 WM=16 WN=64 TM=4 TN=8 STAGES=3 LOADER=0 PACK=0 VA=1 VB=1 VC=1 "
                "UNROLL=16 STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=1 SPLIT_K=2",
                &config));
            config_set(&config, "PACK", pack);
            if (pack & 1) config_set(&config, "VA", 4);
            if (pack & 2) config_set(&config, "VB", 4);
            config_set(&config, "REDUCE", ((int)a + pack) % most);
            job_add(&config, op, archs[a]);
            jobs[job_count - 1].pointers = true;
            if (archs[a] >= 80) {
                assert_ok(
                    config_parse("mma BM=64 BN=64 BK=32 WM=32 WN=32 STAGES=3 VA=1 VB=1 VC=1 MIN_BLOCKS=1 "
                                 "GROUP=1 SPLIT_K=2",
                                 &config));
                job_add(&config, op, archs[a]);
                jobs[job_count - 1].pointers = true;
                jobs[job_count - 1].type = GEMM_TF32;
                assert_ok(config_parse(
                    "mma16 BM=64 BN=64 BK=32 WM=32 WN=32 SWAP=0 WARPS_K=1 STAGES=3 PRELOAD=1 PACK=0 "
                    "VA=1 VB=1 VC=1 MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=2",
                    &config));
                job_add(&config, op, archs[a]);
                jobs[job_count - 1].pointers = true;
                jobs[job_count - 1].type = op % 2 ? GEMM_F16 : GEMM_BF16;
            }
            assert_ok(config_parse("skinny SIDE=0 ROWS=8 TX=4 VX=1 VS=1 VC=1 LANES_X=2 WARPS_X=4 WARPS_K=1 "
                                   "DEPTH=2 STEPS=2 LOADER=0 MIN_BLOCKS=1 REDUCE=1 SPLIT_K=4",
                                   &config));
            job_add(&config, op, archs[a]);
            jobs[job_count - 1].pointers = true;
        }
    build_all();
}

static bool are_of_one_family(size_t way, size_t other)
{
    const size_t name = strcspn(ways[way].config, " ");
    return strncmp(ways[way].config, ways[other].config, name + 1) == 0;
}

/* On every third architecture that it has, other ones for each family, in another way, with another epilogue
 * and rung; and a kernel that takes pointers. */
TEST(one_configuration_of_each_family_builds_for_some_architectures)
{
    int code = 0;
    for (size_t a = 0; a < ARCHS; a++) {
        struct config config;
        for (size_t first = 0, next, family = 0; first < WAYS; first = next, family++) {
            size_t legal = 0;
            for (next = first; next < WAYS && are_of_one_family(first, next); next++)
                if (builds_for(next, archs[a])) legal++;
            if ((family + a) % 3 != 0 && !is_hoppers(ways[first].config)) continue;
            size_t left = legal ? a % legal : 0;
            for (size_t i = first; i < next; i++)
                if (builds_for(i, archs[a]) && left-- == 0)
                    add_way(i, a % 2 ? 2 : 3, archs[a], &code); /* nt, tt: tall needs B along k */
        }
        ladder_config(ladder_rungs[a % LADDER_RUNGS], &config);
        job_add(&config, (int)a % 4, archs[a]);
        assert_ok(config_parse("skinny SIDE=0 ROWS=8 TX=4 VX=1 VS=1 VC=1 LANES_X=2 WARPS_X=4 WARPS_K=1 "
                               "DEPTH=2 STEPS=2 LOADER=0 MIN_BLOCKS=1 REDUCE=1 SPLIT_K=4",
                               &config));
        job_add(&config, (int)(a + 1) % 4, archs[a]);
        jobs[job_count - 1].pointers = true;
    }
    build_all();
}

/* The check above can fail: the compiler's refusal of a text is noticed. */
TEST(a_text_that_is_no_kernel_is_refused)
{
    const struct source_text broken = {"broken.cu", "extern \"C\" __global__ void gemm() { nonsense; }"};
    struct compiled result;
    assert_int_equal(compile_sources(&broken, 1, NULL, 0, 90, cache, &result), OK);
    assert_false(result.built);
    assert_non_null(strstr(result.log, "nonsense"));
}

int main(int argc, char **argv)
{
    snprintf(cache, sizeof cache, "%s.cache", argv[0]);
    mkdir(cache, 0777);
    const struct CMUnitTest few[] = {
        cmocka_unit_test(a_text_that_is_no_kernel_is_refused),
        cmocka_unit_test(one_configuration_of_each_family_builds_for_some_architectures),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_that_is_no_kernel_is_refused),
        cmocka_unit_test(every_rung_builds_for_every_architecture),
        cmocka_unit_test(operands_are_packed_and_parts_added_on_every_architecture),
        cmocka_unit_test(epilogues_build_for_every_architecture),
        cmocka_unit_test(kernels_that_take_pointers_build_for_every_architecture),
        cmocka_unit_test(a_spread_of_the_space_builds_for_every_architecture),
        cmocka_unit_test(a_spread_of_the_wide_spaces_builds_wherever_the_rules_say_so),
        cmocka_unit_test(a_spread_of_the_tensor_cores_spaces_builds_for_every_architecture_that_has_them),
    };
    return argc > 1 && strcmp(argv[1], "few") == 0 ? cmocka_run_group_tests(few, NULL, NULL)
                                                   : cmocka_run_group_tests(tests, NULL, NULL);
}
