#include "exec_problems.h"

#include <string.h>
#include <template.h>

const struct gpu *exec_gpu(void)
{
    static const struct gpu gpu = {.id = "cpu",
                                   .name = "execution on the CPU",
                                   .arch = 90,
                                   .sm_count = 132,
                                   .threads_per_sm = 2048,
                                   .blocks_per_sm = 32,
                                   .registers_per_sm = 65536,
                                   .smem_per_sm_bytes = 228 * 1024,
                                   .smem_per_block_bytes = 227 * 1024,
                                   .smem_reserved_bytes = 1024,
                                   .l2_bytes = 50 << 20,
                                   .memory_bytes = INT64_C(1) << 36,
                                   .clock_mhz = 1000,
                                   .memory_gb_per_s = 1000,
                                   .rate = {{"fp32", 50}}};
    return &gpu;
}

struct scalars {
    double alpha, beta;
};
static const struct scalars scalars[] = {{1, 0}, {2, -1}, {-0.5, 0}, {0, 2}, {1, 1}, {0, 0}, {3, 0.5}};

struct extra { /* by how much leading dimensions and strides exceed their minimum */
    int lda, ldb, ldc, stride_c;
};
static const struct extra extras[] = {{0, 0, 0, 0}, {4, 8, 4, 12}, {1, 3, 2, 5}, {8, 0, 4, 4}, {2, 2, 6, 2}};

bool exec_fits(const struct config *config, struct problem *p)
{
    if (!config->template->check(config, p, exec_gpu())) return true;
    if (p->pointers) return false;
    p->stride_a += p->lda % 2 ? 0 : problem_rows_a(p);
    p->stride_b += p->ldb % 2 ? 0 : problem_rows_b(p);
    p->lda |= 1;
    p->ldb |= 1;
    return !config->template->check(config, p, exec_gpu());
}

static int64_t round_up(int64_t x, int to)
{
    return (x + to - 1) / to * to;
}

struct list {
    struct trial *trials;
    int count, room;
    const struct config *config;
    const struct problem *like;
    int shapes; /* that were added or refused */
    int turn;   /* every legal trial moves it on: scalars, orders and paddings meet all shapes over many
                   configurations */
};

/* Do operands work with any alignment? Part of tall's contract, if C is accessed float by float, and of every
 * kernel's that takes pointers. */
static bool begins_anywhere(const struct config *config, const struct problem *p)
{
    return p->pointers || (strcmp(config->template->name, "tall") == 0 && config_get(config, "VC") == 1);
}

/* Elements that the lines and items of A (1), B (2) or C (4) must be multiples of: tensor maps ask for 16
 * bytes. */
static int line_unit(const struct config *config, int operand)
{
    if (strcmp(config->template->name, "bf16x6") == 0) {
        const int fuse = config_get(config, "FUSE"), left = config_get(config, "SWAP") ? 2 : 1;
        return (fuse == 3 && operand != 4) || (fuse == 2 && operand == left) ? 4 : 1;
    }
    if (strncmp(config->template->name, "wgmma", 5) != 0) return 1;
    const bool mapped =
        operand == 4 ? config_get(config, "STORE") > 0 : !(config_get(config, "PACK") & operand);
    return !mapped ? 1 : strcmp(config->template->name, "wgmma") == 0 ? 8 : 4;
}

static int larger(int x, int y)
{
    return x > y ? x : y;
}

/* Adds the shape m x n x k with row lengths that are multiples of `unit`, and the next variant of everything
 * else. Illegal trials are left out. */
static void add_shape(struct list *l, int64_t m, int64_t n, int64_t k, int64_t batch, int unit)
{
    if (l->count == l->room) return;
    const struct extra *x = &extras[l->turn % 5];
    const struct scalars *s = &scalars[l->turn % 7];
    struct problem p = *l->like;
    p.batch = batch;
    p.alpha = s->alpha;
    p.beta = s->beta;
    p.m = m;
    p.n = round_up(n, line_unit(l->config, 4)); /* TMA stores whole 16 bytes of a line */
    p.k = k;
    /* Every third ragged shape has aligned rows anyway: vectors are aligned at a row's beginning and straddle
     * its end. */
    const int row_unit = unit == 1 && l->shapes++ % 3 == 0 ? 4 : unit;
    const int unit_a = line_unit(l->config, 1), unit_b = line_unit(l->config, 2),
              unit_c = line_unit(l->config, 4);
    p.lda = round_up(problem_cols_a(&p) + x->lda + (problem_cols_a(&p) == 0), larger(row_unit, unit_a));
    p.ldb = round_up(problem_cols_b(&p) + x->ldb + (problem_cols_b(&p) == 0), larger(row_unit, unit_b));
    p.ldc = round_up(p.n + x->ldc + (p.n == 0), larger(row_unit, unit_c));
    p.stride_a = problem_rows_a(&p) * p.lda + round_up(x->stride_c, larger(unit, unit_a));
    p.stride_b = problem_rows_b(&p) * p.ldb + round_up(x->stride_c, larger(unit, unit_b));
    p.stride_c = p.m * p.ldc + round_up(x->stride_c, larger(unit, unit_c));
    p.stride_bias =
        l->turn % 2 ? problem_bias_length(&p) + (problem_bias_length(&p) > 0 ? x->stride_c : 0) : 0;
    if (p.pointers) problem_use_pointers(&p);
    if (problem_check(&p) || !exec_fits(l->config, &p)) return;
    l->trials[l->count++] = (struct trial){.problem = p,
                                           .mode = {.order = (enum block_order)(l->turn % ORDER_COUNT),
                                                    .seed = (uint64_t)l->turn + 1,
                                                    .scalars_on_device = l->turn % 4 == 3},
                                           .data = l->turn % 6 == 5 ? DATA_UNIFORM : DATA_INTEGERS,
                                           .misalign = begins_anywhere(l->config, &p) ? l->turn % 4 : 0};
    l->turn++;
}

/* The same, with the shape rounded up to multiples of `unit`. */
static void add(struct list *l, int64_t m, int64_t n, int64_t k, int64_t batch, int unit)
{
    add_shape(l, round_up(m, unit), round_up(n, unit), round_up(k, unit), batch, unit);
}

/* For a template whose blocks iterate along a row (or column) of tiles: long ones, so that each block has
 * several. */
static void add_walks(struct list *l, int64_t bm, int64_t bn, int64_t bk)
{
    const bool down = config_get(l->config, "SIDE") == 1;
    for (int tiles = 5; tiles <= 9; tiles += 4) {
        const int64_t rest = (down ? bn : bm) > tiles + 1 ? (down ? bn : bm) - tiles : 2;
        const int64_t m = down ? tiles * bm : rest, n = down ? rest : tiles * bn;
        add(l, m + 4, n + 4, 3 * bk, 1, 4);
        add(l, m + 1, n + 3, 2 * bk + 1, 2, 1);
        add(l, m, n, bk, 1, 1);
        add(l, m - 1, n - 1, bk - 1, 1, 1);
    }
}

/* For a template whose tile must span the small side of C: sides that fill the tile, with all scalars, and k
 * from 0 on. */
static void add_reaches(struct list *l, int64_t bm, int64_t bn)
{
    const bool down = config_get(l->config, "SIDE") == 1;
    for (int i = 0; i < 9; i++) {
        const int64_t tall = 4 * (down ? bm : bn) + (i % 3 == 2 ? -1 : i % 3);
        add_shape(l, down ? tall : bm, down ? bn : tall, i * i, 1 + i % 2, 1);
    }
}

static int value_or_one(const struct config *config, const char *name)
{
    int value = config_get(config, name);
    return value > 0 ? value : 1;
}

/* Of a template whose tiles contain all rows (or columns) of C; 0 of any other. */
static int most_rows(const struct config *config)
{
    return config_get(config, template_param(config->template, "FEW") >= 0 ? "FEW" : "ROWS");
}

/* For such a template: rows x columns of the streamed operand x
 * k. */
static void add_few(struct list *l, int64_t rows, int64_t columns, int64_t k, int64_t batch, int unit)
{
    const int most = most_rows(l->config);
    if (rows < 1) rows = 1;
    if (rows > most) rows = most;
    columns = round_up(columns, unit);
    const bool few_columns = config_get(l->config, "SIDE") == 1;
    add_shape(l, few_columns ? columns : rows, few_columns ? rows : columns, round_up(k, unit), batch, unit);
}

/* Elements of the widest access. */
static int widest(const struct config *config)
{
    return larger(config_get(config, "VX"), larger(config_get(config, "VS"), config_get(config, "VC")));
}

static int exec_few(struct list *l, bool thorough)
{
    const struct tile tile = l->config->template->tile(l->config);
    const int rows = most_rows(l->config), splits = config_get(l->config, "SPLIT_K");
    const int x = config_get(l->config, "SIDE") == 1 ? tile.m : tile.n;
    const int chunk = tile.k,
              steps = template_param(l->config->template, "STEPS") >= 0 ? config_get(l->config, "STEPS")
                                                                        : config_get(l->config, "DEPTH"),
              step = chunk / steps;
    const int unit = larger(4, widest(l->config));
    add_few(l, rows, x, chunk * splits, 1, unit);
    add_few(l, rows, 2 * x + 4, (2 * chunk + step) * splits + 4, 1, unit);
    add_few(l, rows - 4, x - 4, step + 4, 3, unit);
    add_few(l, rows / 2, x + 8, 3 * chunk - 4, 1, unit);
    add_few(l, rows, 4, 4, 2, unit);
    add_few(l, rows, x + 1, chunk * splits + 3, 1, 1);
    add_few(l, rows - 1, x - 1, 3 * chunk * splits - 1, 1, 1);
    add_few(l, rows - 2, 7, step - 1, 2, 1);
    add_few(l, rows, 1, 1, 1, 1);
    add_few(l, 1, 13, step + 1, 1, 1);
    add_few(l, rows, 6, 0, 2, 1);
    if (!thorough) return l->count;
    add_few(l, rows, 0, 5, 1, 1);
    add_few(l, 1, 3 * x + 1, chunk + 1, 1, 1);
    add_few(l, rows, 3 * x, 5 * chunk * splits, 2, unit);
    add_few(l, rows, 2 * x + 2, 2 * chunk + 2, 2, 2);
    add_few(l, rows - 1, 2 * x - 4, 2 * chunk * splits, 1, unit);
    add_few(l, rows, x / 2, 127, 1, 1);
    add_few(l, rows - 1, 2 * x + 3, 4 * step + 3, 3, 1);
    add_few(l, rows, 12, 0, 1, unit);
    return l->count;
}

static void add_kind(struct list *l, int64_t m, int64_t n, int64_t k, enum trial_data data,
                     enum data_class kind)
{
    struct problem p = problem_make(m, n, k);
    p.type = l->like->type;
    p.trans_a = l->like->trans_a;
    p.trans_b = l->like->trans_b;
    p.epilogue = l->like->epilogue;
    p.lda = round_up(problem_cols_a(&p), line_unit(l->config, 1));
    p.ldb = round_up(problem_cols_b(&p), line_unit(l->config, 2));
    if (l->count == l->room || problem_check(&p) || !exec_fits(l->config, &p)) return;
    l->trials[l->count++] = (struct trial){
        .problem = p,
        .mode = {.order = (enum block_order)(l->turn % ORDER_COUNT), .seed = (uint64_t)l->turn + 1},
        .data = data,
        .kind = kind};
    l->turn++;
}

/* For kernels that are an accuracy class: all kinds of data; such a k that sums which are rounded towards
 * zero show; and what is not finite. */
static void add_kinds(struct list *l, int64_t bm, int64_t bn, int64_t bk)
{
    if (l->like->pointers) return;
    add_kind(l, bm + 10, bn, bk + 1, DATA_NOT_FINITE, DATA_CLASS_UNIFORM);
    if (l->like->epilogue) return;
    add_kind(l, bm + 10, bn, 3 * bk + 1, DATA_GRADED, DATA_CLASS_UNIFORM);
    for (int kind = 0; kind < DATA_CLASS_COUNT; kind++)
        add_kind(l, 40, 12, (bk < 128 ? 256 : 2 * bk) + 3, DATA_ACCURATE, (enum data_class)kind);
    add_kind(l, 24, 8, 1024, DATA_ACCURATE, DATA_CLASS_POSITIVE);
}

int exec_problems(const struct config *config, const struct problem *like, bool thorough,
                  struct trial *trials, int room)
{
    struct list list = {.trials = trials, .room = room, .config = config, .like = like};
    struct list *l = &list;
    l->turn = (int)(config_hash(config) % 1000) + 2 * like->trans_a + like->trans_b;
    if (most_rows(config) > 0) return exec_few(l, thorough);
    const int bm = value_or_one(config, "BM"), bn = value_or_one(config, "BN"),
              bk = value_or_one(config, "BK");
    const int splits = value_or_one(config, "SPLIT_K");

    /* First whole tiles and shapes that allow vectors: legal for any configuration. */
    add(l, bm, bn, 2 * bk * splits, 1, 4);
    add(l, bm + 4, 2 * bn + 4, bk + 4, 1, 4);
    add(l, 2 * bm - 4, bn - 4, 4 * bk * splits - 4, 1, 4);
    add(l, bm / 2 + 4, bn + 8, 3 * bk + 4, 3, 4);
    add(l, 4, 4, 4, 2, 4);
    /* Edges, one at a time and together. */
    add(l, bm + 1, bn - 1, bk - 1, 1, 1);
    add(l, bm - 1, bn + 1, bk + 1, 1, 1);
    add(l, 2 * bm + 3, 7, 2 * bk * splits + 3, 1, 1);
    add(l, 13, bn + 17, 31, 2, 1);
    add(l, 1, 1, 1, 1, 1);
    add(l, 3, 2, 7, 3, 1);
    add(l, 5, 6, 0, 2, 1);
    if (template_param(config->template, "SMS") >= 0) add_walks(l, bm, bn, bk);
    if (strcmp(config->template->name, "tall") == 0) add_reaches(l, bm, bn);
    if (gemm_type_has_limits(template_first_type(config->template))) add_kinds(l, bm, bn, bk);
    if (!thorough) return list.count;
    add(l, 0, 7, 5, 1, 1);
    add(l, 7, 0, 5, 1, 1);
    add(l, 1, 3 * bn + 1, 2 * bk, 1, 1);
    add(l, 3 * bm + 1, 1, 2 * bk, 1, 1);
    add(l, bm, bn, 11 * bk + 2, 1, 1);
    add(l, 3 * bm + 2, 2 * bn + 3, bk, 1, 1);
    add(l, 2 * bm, 2 * bn, 3 * bk * splits, 2, 4);
    add(l, 2, 2, 127, 1, 1);
    add(l, 8, 12, 0, 1, 4);
    add(l, 2 * bm + 2, bn + 2, 5 * bk + 2, 2, 2);
    return list.count;
}
