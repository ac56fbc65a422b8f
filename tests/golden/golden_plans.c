/* golden_plans.c — what the host half of each template says of many configurations, as one number a template.
 *
 *     plans COUNT FILE              compares with FILE: a line for each template that differs, exit 1
 *     plans COUNT                   prints what FILE should hold
 *     plans COUNT --dump TEMPLATE   prints all that is counted, for first_difference.sh
 *
 * COUNT configurations of each template that is searched, made of known good ones by up to five changes, are
 * asked about 40 problems on four GPUs: why they are refused, by all values and by the first few; what they
 * need; every member of their launch plan and of those with a prepared operand; the predicted time. A change
 * of the host code that is to change nothing changes no number.
 */
#include "gpu.h"
#include "template.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* From winners, and from what was tuned by hand where a template has none. */
static const char *const bases[] = {
    "simt BM=16 BN=32 BK=64 WM=16 WN=32 TM=4 TN=4 WARPS_K=4 STAGES=4 LOADER=3 PACK=0 VA=1 VB=4 VC=4 "
    "UNROLL=16 STORE_AT=8 "
    "ORDER=0 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1",
    "simt BM=128 BN=256 BK=8 WM=128 WN=32 TM=16 TN=8 WARPS_K=1 STAGES=2 LOADER=1 PACK=0 VA=4 VB=4 VC=4 "
    "UNROLL=8 STORE_AT=4 "
    "ORDER=0 MIN_BLOCKS=1 REDUCE=0 GROUP=8 SPLIT_K=16",
    "simt BM=128 BN=128 BK=16 WM=32 WN=64 TM=8 TN=8 WARPS_K=1 STAGES=3 LOADER=2 PACK=3 VA=4 VB=4 VC=1 "
    "UNROLL=16 STORE_AT=8 "
    "ORDER=0 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1",
    "streamk BM=128 BN=256 BK=8 WM=128 WN=32 TM=16 TN=8 STAGES=2 LOADER=1 VA=4 VB=4 VC=4 UNROLL=8 STORE_AT=4 "
    "ORDER=0 "
    "PRELOAD=0 MIN_BLOCKS=1 GROUP=1 WHOLE=0 SMS=132",
    "streamk BM=64 BN=192 BK=16 WM=32 WN=96 TM=8 TN=12 STAGES=2 LOADER=1 VA=4 VB=4 VC=4 UNROLL=16 STORE_AT=4 "
    "ORDER=1 "
    "PRELOAD=0 MIN_BLOCKS=3 GROUP=1 WHOLE=0 SMS=132",
    "resident SIDE=0 BM=64 BN=256 BK=21 WM=64 WN=64 TM=16 TN=8 STAGES=3 LOADER=1 ORDER=1 VS=4 VC=4 UNROLL=6 "
    "MIN_BLOCKS=2 "
    "SMS=132",
    "resident SIDE=0 BM=16 BN=128 BK=9 WM=16 WN=64 TM=4 TN=8 STAGES=3 LOADER=1 ORDER=0 VS=4 VC=4 UNROLL=4 "
    "MIN_BLOCKS=8 "
    "SMS=132",
    "tall SIDE=1 BM=32 BN=16 BK=10 TM=4 TN=2 STAGES=2 VC=1 UNROLL=10 MIN_BLOCKS=1 SMS=1",
    "skinny SIDE=0 ROWS=16 TX=4 VX=4 VS=4 VC=4 LANES_X=16 WARPS_X=1 WARPS_K=4 WARPS_R=1 DEPTH=2 STEPS=2 "
    "BUFFERS=2 LOADER=1 "
    "MIN_BLOCKS=1 REDUCE=8 SPLIT_K=8",
    "skinny SIDE=0 ROWS=1 TX=4 VX=4 VS=4 VC=4 LANES_X=2 WARPS_X=1 WARPS_K=4 WARPS_R=1 DEPTH=1 STEPS=2 "
    "BUFFERS=2 LOADER=1 "
    "MIN_BLOCKS=3 REDUCE=8 SPLIT_K=8",
    "mma BM=64 BN=32 BK=64 WM=32 WN=32 STAGES=3 VA=4 VB=4 VC=4 MIN_BLOCKS=2 GROUP=1 SPLIT_K=66",
    "mma BM=128 BN=256 BK=16 WM=64 WN=64 STAGES=4 VA=4 VB=4 VC=4 MIN_BLOCKS=1 GROUP=8 SPLIT_K=1",
    "mma16 BM=8 BN=16 BK=64 WM=8 WN=16 SWAP=1 WARPS_K=4 STAGES=7 PRELOAD=1 PACK=0 VA=8 VB=8 VC=8 "
    "MIN_BLOCKS=1 REDUCE=1 "
    "GROUP=1 SPLIT_K=1 PDL=1 ASK=16",
    "mma16 BM=32 BN=128 BK=32 WM=32 WN=64 SWAP=0 WARPS_K=1 STAGES=2 PRELOAD=1 PACK=1 VA=8 VB=8 VC=8 "
    "MIN_BLOCKS=1 REDUCE=1 "
    "GROUP=8 SPLIT_K=1 PDL=1 ASK=0",
    "wgmma BM=24 BN=64 BK=64 SWAP=1 CONSUMERS=1 STAGES=8 PACK=0 VC=8 MIN_BLOCKS=2 REDUCE=4 WALK=0 STORE=0 "
    "GROUP=1 SPLIT_K=4 "
    "SMS=1 PDL=2",
    "wgmma BM=64 BN=128 BK=64 SWAP=0 CONSUMERS=1 STAGES=8 PACK=0 VC=8 MIN_BLOCKS=1 REDUCE=1 WALK=0 STORE=4 "
    "GROUP=1 SPLIT_K=1 "
    "SMS=1 PDL=2",
    "wgmma_tf32 BM=128 BN=256 BK=32 SWAP=0 CONSUMERS=2 STAGES=4 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=1 "
    "STORE=2 GROUP=8 "
    "SPLIT_K=1 SMS=132 PDL=0",
    "wgmma_tf32 BM=64 BN=192 BK=32 SWAP=1 CONSUMERS=3 STAGES=3 PACK=1 VC=4 MIN_BLOCKS=2 REDUCE=1 WALK=0 "
    "STORE=1 PRELOAD=1 "
    "GROUP=8 SPLIT_K=1 SMS=1 PDL=2",
    "gemv16 SIDE=0 FEW=16 TX=8 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=8 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=2 "
    "SPLIT_K=2 PDL=1 "
    "ASK=16 PAD=0",
    "gemv16 SIDE=0 FEW=8 TX=1 VX=8 VS=8 VC=8 WARPS_X=2 WARPS_K=8 SPAN=2 DEPTH=1 MIN_BLOCKS=2 REDUCE=1 "
    "SPLIT_K=1 PDL=1 "
    "ASK=16 PAD=0",
    "bf16x6 BM=32 BN=64 BK=64 STAGES=9 FUSE=3 SWAP=1 VA=1 VB=1 VC=1 GROUP=8 SPLIT_K=1 SMS=132",
    "bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=2 SMS=132",
    "f16x3 BM=128 BN=112 BK=128 STAGES=7 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
    "f16x3 BM=64 BN=16 BK=64 STAGES=3 LOW=16 VC=1 GROUP=1 SPLIT_K=1 SMS=132",
};

/* Without their types. */
static const char *const shapes[] = {
    "1024x1024x1024",
    "1023x1025x1027",
    "64x64x65536",
    "1x1x1",
    "333x777x555",
    "5x4096x1024",
    "nt:8x6144x4096",
    "tn:512x512x512",
    "tt:100x200x300",
    "64x1605632x147",
    "16x16x0",
    "2147418112x2147418112x16",
    "128x128x128:batch=100000",
    "300x300x300:batch=7:stride_b=0",
    "256x256x512:batch=33:pointers",
    "70000x70000x64",
    "200000x3x9",
    "nt:1000x1000x1000:lda=1008:ldb=1001:ldc=1004",
    "4096x4096x4096:batch=1000",
    "64x64x1000000:epilogue=bias+gelu",
    "512x512x8192:invariant",
    "nt:8x4096x4096:invariant",
    "1000000x2000x17",
    "96x96x96:batch=70000:pointers",
    "512x4096x4096:prepared=b",
    "nt:2048x2048x2048:prepared=a",
    "4096x4096x4096:alpha=2:beta=1",
    "128x256x512:epilogue=rowbias+relu",
    "tn:777x64x4096:epilogue=bias+out:beta=0.5",
    "nt:1x32000x4096",
    "4096x1x4096",
    "tt:4095x4097x4093",
    "nn:16x4096x11008:batch=4",
    "32x32x8:batch=65536",
    "nn:0x64x64",
    "25088x64x576",
    "tn:64x576x25088",
    "nt:12544x128x1152:lda=1160",
    "384x384x64:batch=64:stride_a=0:stride_b=24576",
    "8192x8192x8192",
};

enum {
    SHAPES = sizeof shapes / sizeof *shapes,
    BASES = sizeof bases / sizeof *bases,
    CHANGES = 5,
    BITS = 20
};
static const char *const gpus[] = {"h200", "a100", "rtx4090", "t4"};
enum { GPUS = sizeof gpus / sizeof *gpus };

/* ---- where it goes ---- */

static XXH64_state_t *hash;
static bool dumps;

static void put_text(const char *name, const char *text)
{
    if (dumps) printf(" %s='%s'", name, text ? text : "");
    XXH64_update(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

static void put(const char *name, int64_t x)
{
    if (dumps) printf(" %s=%" PRId64, name, x);
    XXH64_update(hash, &x, sizeof x);
}

/* Nine digits are more than two libraries of mathematics agree on. */
static void put_real(const char *name, double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", x);
    put_text(name, text);
}

static void put_bytes(const char *name, const unsigned char *x, size_t bytes)
{
    if (dumps) {
        printf(" %s=", name);
        for (size_t i = 0; i < bytes; i++) printf("%02x", x[i]);
    }
    XXH64_update(hash, x, bytes);
}

static void end_line(void)
{
    if (dumps) putchar('\n');
}

/* ---- what is asked ---- */

static void put_kernel(const struct kernel_launch *k)
{
    put_text("entry", k->entry);
    for (int i = 0; i < 3; i++) put("grid", k->grid[i]);
    put("last_slab", k->last_slab);
    put("threads", k->threads);
    put("smem_bytes", k->smem_bytes);
    for (int i = 0; i < 3; i++) put("cluster", k->cluster[i]);
    put("cluster_at_launch", k->cluster_at_launch);
    put("walks_items", k->walks_items);
    put("dependent", k->dependent);
    put("zero_at", k->zero_at);
}

/* In the order in which they are counted, which is that of the numbers in plans.txt. An operand that is added
 * belongs at the end, and is counted only where a plan has it. */
static const int counted[] = {OPERAND_A,      OPERAND_B,    OPERAND_C,      LAUNCH_WORKSPACE,
                              OPERAND_SOURCE, OPERAND_BIAS, LAUNCH_PREPARED};
enum { COUNTED = sizeof counted / sizeof *counted };

static int number_in_order(int operand)
{
    int i = 0;
    while (i < COUNTED && counted[i] != operand) i++;
    return i;
}

static void put_view(const struct tensor_view *v)
{
    put("operand", number_in_order((int)v->operand));
    put("element", (int)v->element);
    put("rank", v->rank);
    put("offset_bytes", v->offset_bytes);
    for (int i = 0; i < v->rank; i++) {
        put("extent", v->extent[i]);
        put("stride_bytes", i ? v->stride_bytes[i] : 0);
        put("box", v->box[i]);
    }
    put("swizzle_bytes", v->swizzle_bytes);
    put("k_axis", v->k_axis);
    put("batch_axis", v->batch_axis);
    put("at", v->at);
}

static void put_slots(const struct launch_slots *s)
{
    const uint16_t slots[] = {s->at[OPERAND_A],
                              s->at[OPERAND_B],
                              s->at[OPERAND_C],
                              s->workspace,
                              s->at[OPERAND_SOURCE],
                              s->at[OPERAND_BIAS],
                              s->alpha_device,
                              s->beta_device,
                              s->alpha,
                              s->beta,
                              s->k,
                              s->items};
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) put("slot", slots[i]);
}

static void put_plan(const char *name, const struct launch_plan *plan)
{
    if (dumps) printf("\n    %s:", name);
    put("kernels", plan->kernels);
    put("first", plan->first);
    put("counters", plan->counters);
    put("workspace_bytes", plan->workspace_bytes);
    put("batch", plan->batch);
    put("k", plan->k);
    put("batch_per_launch", plan->batch_per_launch);
    put("k_slab", plan->k_slab);
    for (int i = 0; i < COUNTED; i++) put("batch_step_bytes", plan->batch_step_bytes[counted[i]]);
    for (int i = 0; i < 2; i++) put("k_step_bytes", plan->k_step_bytes[i]);
    put_slots(&plan->slots);
    put("views", plan->views);
    for (int i = 0; i < plan->kernels; i++) put_kernel(&plan->kernel[i]);
    for (int i = 0; i < plan->views; i++) put_view(&plan->view[i]);
    put_bytes("argument", plan->argument, plan->kernels ? (size_t)plan->argument_bytes : 0);
}

static void put_prepared(const struct config *config, const struct problem *problem)
{
    static struct launch_plan product, preparation;
    for (int operand = LAUNCH_A; operand <= (int)LAUNCH_B; operand++) {
        memset(&product, 0, sizeof product);
        memset(&preparation, 0, sizeof preparation);
        config->template->plan(config, problem, &product);
        if (!config->template->prepare(config, problem, (enum launch_operand)operand, &product, &preparation))
            continue;
        put_plan("product", &product);
        put_plan("preparation", &preparation);
    }
}

static void put_legal(const struct config *config, const struct problem *problem, const struct gpu *gpu)
{
    static struct launch_plan plan;
    const struct template *t = config->template;
    memset(&plan, 0, sizeof plan);
    t->plan(config, problem, &plan);
    put_plan("plan", &plan);
    if (t->prepare) put_prepared(config, problem);
    if (plan.kernels == 0) return; /* predict is for products that are not empty */
    const struct prediction p = t->predict(config, problem, gpu, NULL);
    if (dumps) printf("\n   ");
    put_real("time_us", p.time_us);
    put_real("compute_us", p.compute_us);
    put_real("memory_us", p.memory_us);
    put_real("overhead_us", p.overhead_us);
    put("blocks_per_sm", p.blocks_per_sm);
    put_real("waves", p.waves);
}

static void ask(const struct config *config, int known, const struct problem *problem, const struct gpu *gpu)
{
    const struct template *t = config->template;
    const char *why = t->check(config, problem, gpu);
    int32_t instead = 0;
    put_text("refused", why);
    if (t->check_prefix) put_text("refused by the first", t->check_prefix(config, known, problem, gpu));
    if (t->redundant) {
        const int parameter = t->redundant(config, known, problem, &instead);
        put("redundant", parameter);
        put("instead", parameter < 0 ? 0 : instead);
    }
    if (!why) put_legal(config, problem, gpu);
    end_line();
}

/* ---- which configurations and problems ---- */

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

/* That of another base, or a small multiple of a power of two, within the range or just beyond it. */
static int32_t value_for(const struct template *t, int parameter, const struct config *from, int count)
{
    const struct param *p = &t->params[parameter];
    if (draw(3) == 0) return from[draw((uint64_t)count)].value[parameter];
    const int64_t factor = (int64_t)draw(4);
    const int64_t x = p->least + (factor << draw(9));
    return x <= p->most ? (int32_t)x : draw(8) ? p->most : p->most + 1;
}

static struct config changed(const struct template *t, const struct config *from, int count)
{
    struct config config = from[draw((uint64_t)count)];
    for (uint64_t left = draw(CHANGES + 1); left > 0; left--) {
        const int parameter = (int)draw((uint64_t)t->param_count);
        config.value[parameter] = value_for(t, parameter, from, count);
    }
    return config;
}

/* One of the types that its kernels satisfy; the options of the shape may not go with it. */
static bool problem_for(const struct template *t, const char *shape, struct problem *problem)
{
    enum gemm_type fits[GEMM_TYPE_COUNT], computed;
    int count = 0;
    char text[PROBLEM_TEXT_MAX];
    for (int type = 0; type < GEMM_TYPE_COUNT; type++)
        if (template_type(t, (enum gemm_type)type, &computed)) fits[count++] = (enum gemm_type)type;
    const char *name = gemm_type_row(fits[draw((uint64_t)count)])->name, *option = strchr(name, ':');
    snprintf(text, sizeof text, "%.*s:%s%s", option ? (int)(option - name) : (int)strlen(name), name, shape,
             option ? option : "");
    if (dumps) printf("  %s", text);
    return problem_parse(text, problem) == OK;
}

static void ask_all(const struct template *t, const struct config *config, const struct gpu *gpu)
{
    char text[CONFIG_TEXT_MAX];
    config_format(config, text);
    if (dumps) printf("%s", text);
    const char *why = t->check(config, NULL, NULL);
    put_text("refused", why);
    if (!why) {
        const struct resources r = t->resources(config);
        const struct tile tile = template_tile(config);
        put("threads", r.threads);
        put("smem_bytes", r.smem_bytes);
        put("accumulators", r.accumulators);
        put("tile", tile.m);
        put("tile", tile.n);
        put("tile", tile.k);
    }
    end_line();
    for (int s = 0; s < SHAPES; s++) {
        struct problem problem;
        const int known = (int)draw((uint64_t)t->param_count + 1);
        const bool parsed = problem_for(t, shapes[s], &problem);
        put("parsed", parsed);
        end_line();
        for (int g = 0; parsed && g < GPUS; g++) ask(config, known, &problem, &gpu[g]);
    }
}

/* The number of a template; 0: there is no base of it. */
static uint64_t number_of(const struct template *t, long count, const struct gpu *gpu)
{
    static struct config from[BASES];
    int known = 0;
    for (int i = 0; i < BASES; i++)
        if (strncmp(bases[i], t->name, strlen(t->name)) == 0 && bases[i][strlen(t->name)] == ' ')
            if (config_parse(bases[i], &from[known]) == OK) known++;
    struct config plain;
    for (int i = 0; t->plain && known < BASES && t->plain(i, &plain); i++) from[known++] = plain;
    if (known == 0) return 0;
    state = UINT64_C(88172645463325252);
    XXH64_reset(hash, 0);
    for (long i = 0; i < count; i++) {
        const struct config config = i < known ? from[i] : changed(t, from, known);
        ask_all(t, &config, gpu);
    }
    return XXH64_digest(hash);
}

/* ---- the table ---- */

/* Returns false without a row for the template. */
static bool expected(const char *path, const char *name, long count, uint64_t *number)
{
    char line[256], of[64];
    bool found = false;
    FILE *file = fopen(path, "r");
    if (!file) {
        printf("%s: %s\n", path, strerror(errno));
        exit(1);
    }
    long configurations;
    while (!found && fgets(line, sizeof line, file))
        found = sscanf(line, "%63s %ld %" SCNx64, of, &configurations, number) == 3 &&
                strcmp(of, name) == 0 && configurations == count;
    fclose(file);
    return found;
}

static int compare(const struct template *t, long count, const char *path, uint64_t number)
{
    uint64_t before = 0;
    if (number == 0) printf("%s: there is no base configuration of it in golden_plans.c\n", t->name);
    else if (!expected(path, t->name, count, &before))
        printf("%s: %s has no row of %ld configurations\n", t->name, path, count);
    else if (before != number)
        printf("%s: %016" PRIx64 " where %016" PRIx64
               " was: tests/golden/first_difference.sh shows the first one\n",
               t->name, number, before);
    return number == 0 || before != number;
}

int main(int argc, char **argv)
{
    struct gpu gpu[GPUS];
    char *end = NULL;
    const long count = argc > 1 ? strtol(argv[1], &end, 10) : 0;
    const char *only = argc == 4 && strcmp(argv[2], "--dump") == 0 ? argv[3] : NULL;
    int differ = 0;
    if (count < 1 || count > 1L << BITS || *end || argc > (only ? 4 : 3)) {
        fprintf(stderr, "usage: plans COUNT [FILE | --dump TEMPLATE]\n");
        return 2;
    }
    hash = XXH64_createState();
    for (int g = 0; g < GPUS; g++)
        if (gpu_find(GT_SOURCE_DIR "/configs/gpus", gpus[g], &gpu[g])) {
            printf("%s\n", status_text());
            return 1;
        }
    dumps = only != NULL;
    for (size_t i = 0; i < template_count; i++) {
        const struct template *t = templates[i];
        if (template_is_library(t) || !t->space || (only && strcmp(only, t->name) != 0)) continue;
        const uint64_t number = number_of(t, count, gpu);
        if (argc == 2) printf("%s %ld %016" PRIx64 "\n", t->name, count, number);
        if (argc == 3) differ += compare(t, count, argv[2], number);
    }
    XXH64_freeState(hash);
    return differ > 0;
}
