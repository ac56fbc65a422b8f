/* row_bits.c — which configurations compute a row of C with the same bits, whatever M is, on a real GPU.
 *
 *     row_bits LIST          computes each line's product twice
 *     row_bits --legal LIST  without a GPU: is each line legal on an H100 and an H200?
 *
 * LIST has a line "PROBLEM,CONFIG" for each, CONFIG as in `tune export`. Row m of op(A) and of C, and op(B),
 * are the same for all lines of the same type, N and K. The first product is A B, the second 0.7 A B + 0.3 C.
 * Prints a CSV row for each line, with these figures of each product: the hash of the first row of the result
 * and that of the first 8 (or all M), the first element, and the largest difference of the first row from
 * that of the first line of the same type, N and K, relative to the largest element there. Lines that cannot
 * run say why.
 *
 * Exits with 77 if there is no GPU, with 1 if a line did not run.
 */
#include "compile.h"
#include "cores.h"
#include "fake_half.h"
#include "kernel.h"
#include "stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

enum { A, B, C, MATRICES };
enum { PRODUCTS = 2, ROWS = 8, WHY_MAX = 256 };
#define LINE_MAX_BYTES (PROBLEM_TEXT_MAX + CONFIG_TEXT_MAX + 4)

static struct device device;

/* As fake_half.h names them. */
static const int half_names[ELEMENT_COUNT] = {
    [ELEMENT_F32] = FAKE_F32, [ELEMENT_F16] = FAKE_F16, [ELEMENT_BF16] = FAKE_BF16};

struct line {
    char text[PROBLEM_TEXT_MAX], config_text[CONFIG_TEXT_MAX];
    struct problem problem;
    struct config config;
};
static struct line *lines;
static size_t line_count;

struct figures {
    uint64_t row, rows;
    double first, difference;
};

/* ---- the list ---- */

static enum status read_line(char *text, struct line *l)
{
    text[strcspn(text, "\r\n")] = '\0';
    char *config = text, *problem = strsep(&config, ",");
    if (!config) return fail(E_INPUT, "line %zu is not PROBLEM,CONFIG", line_count + 1);
    config += strspn(config, " ");
    enum status st = problem_parse(problem, &l->problem);
    if (!st) st = config_parse(config, &l->config);
    if (st) return st;
    problem_format(&l->problem, l->text);
    config_format(&l->config, l->config_text);
    return OK;
}

static enum status read_lines(const char *path)
{
    FILE *file = fopen(path, "r");
    char text[LINE_MAX_BYTES];
    enum status st = file ? OK : fail(E_IO, "%s cannot be read", path);
    while (!st && fgets(text, sizeof text, file)) {
        struct line *grown = realloc(lines, (line_count + 1) * sizeof *grown);
        if (!grown) abort();
        lines = grown;
        st = read_line(text, &lines[line_count]);
        line_count += !st;
    }
    if (file) fclose(file);
    return st;
}

static enum status check(const struct line *l, const struct gpu *gpu)
{
    const struct problem *p = &l->problem;
    if (p->batch != 1 || p->pointers || p->prepared || p->epilogue)
        return fail(E_INPUT,
                    "row_bits takes plain products: no batch, pointers, prepared operand or epilogue");
    if (p->m < 1 || p->n < 1 || p->k < 1) return fail(E_INPUT, "the product is empty");
    const char *why = l->config.template->check(&l->config, p, gpu);
    return why ? fail(E_INPUT, "%s", why) : OK;
}

/* Whether all lines are legal on the GPU of this name. */
static bool all_legal(const char *name)
{
    const char *configs = getenv("GEMMTUNE_CONFIGS");
    char folder[1024];
    struct gpu gpu;
    snprintf(folder, sizeof folder, "%s/gpus", configs ? configs : GT_SOURCE_DIR "/configs");
    if (gpu_find(folder, name, &gpu)) {
        printf("%s: %s\n", name, status_text());
        return false;
    }
    bool all = true;
    for (size_t i = 0; i < line_count; i++) {
        if (!check(&lines[i], &gpu)) continue;
        printf("%s,%s: %s: %s\n", lines[i].text, lines[i].config_text, name, status_text());
        all = false;
    }
    return all;
}

/* ---- kernels ---- */

static enum status compile_line(const struct line *l, struct compiled *built)
{
    char cache[1024];
    const struct kernel_key key = kernel_key_of(&l->config, &l->problem, device.gpu.arch);
    enum status st = check(l, &device.gpu);
    if (!st) st = compile_cache_folder(cache, sizeof cache);
    if (!st) st = compile_kernel(&key, cache, built);
    return !st && !built->built ? fail(E_COMPILER, "the compiler refuses it: %.150s", built->log) : st;
}

static void compile_share(size_t first, size_t step)
{
    struct compiled built;
    if (device_load() || device_open(0, &device)) return;
    for (size_t i = first; i < line_count; i += step) compile_line(&lines[i], &built);
    device_close(&device);
}

/* On all cores, into the cache. What fails is told when it is to run. Before this process starts CUDA. */
static void compile_all(void)
{
    const size_t cores = (size_t)cores_allowed(), step = cores < line_count ? cores : line_count;
    for (size_t i = 0; i < step; i++)
        if (fork() == 0) {
            compile_share(i, step);
            _exit(0);
        }
    while (wait(NULL) > 0) {
    }
}

/* ---- operands ---- */

/* Elements on the host and on the GPU. Those of A and B stay while lines need the same. */
struct matrix {
    enum element element;
    int64_t count;
    unsigned char *host;
    struct device_buffer there;
};

/* Normal values, of which each place of a matrix takes one. */
enum { NORMALS = 1 << 20 };
static float normals[NORMALS];

static void make_normals(void)
{
    uint64_t random = 1;
    for (int i = 0; i < NORMALS; i++) {
        const double x = ((double)(stats_random(&random) >> 11) + 1) * 0x1p-53,
                     angle = 2 * acos(-1.0) * (double)(stats_random(&random) >> 11) * 0x1p-53;
        const float value = (float)(sqrt(-2 * log(x)) * cos(angle));
        normals[i] = fabsf(value) < 0x1p-14F ? 0 : value; /* fake_half.h knows no subnormal numbers */
    }
}

/* The one of row and column, whatever the matrix' sizes are. */
static float normal_at(int which, int64_t row, int64_t column)
{
    uint64_t x = (uint64_t)row * 0x9e3779b97f4a7c15u + (uint64_t)column * 0xc2b2ae3d27d4eb4fu +
                 (uint64_t)(which + 1) * 0x165667b19e3779f9u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 32) * 0x94d049bb133111ebu;
    return normals[x >> 44];
}

static enum status allocate(struct matrix *o, enum element element, int64_t count)
{
    const size_t bytes = (size_t)count * (size_t)element_bytes(element);
    device_free(&o->there);
    free(o->host);
    *o = (struct matrix){.element = element, .count = count, .host = calloc(bytes, 1)};
    if (!o->host) return fail(E_MEMORY, "out of memory for an operand of %zu bytes", bytes);
    return device_allocate(&o->there, bytes);
}

static enum status send(const struct matrix *o)
{
    const size_t bytes = (size_t)o->count * (size_t)element_bytes(o->element);
    return device_check(cuda.MemcpyHtoD(o->there.address, o->host, bytes), "copy an operand");
}

/* op(X), rows x columns, which lies transposed in lines of `stride` elements if so. */
static void fill(const struct matrix *o, int which, bool transposed, int64_t rows, int64_t columns,
                 int64_t stride)
{
    const int64_t outer = transposed ? columns : rows, inner = transposed ? rows : columns;
    for (int64_t i = 0; i < outer; i++)
        for (int64_t j = 0; j < inner; j++)
            fake_store(o->host, half_names[o->element], i * stride + j,
                       transposed ? normal_at(which, j, i) : normal_at(which, i, j));
}

static struct matrix operands[MATRICES];

static bool same_a(const struct problem *x, const struct problem *y)
{
    return x->type == y->type && x->trans_a == y->trans_a && x->m == y->m && x->k == y->k && x->lda == y->lda;
}

static bool same_b(const struct problem *x, const struct problem *y)
{
    return x->type == y->type && x->trans_b == y->trans_b && x->n == y->n && x->k == y->k && x->ldb == y->ldb;
}

static enum status make_operands(const struct problem *p)
{
    static struct problem before; /* M of 0: none */
    const struct gemm_type_row *type = gemm_type_row(p->type);
    const bool keeps_a = before.m && same_a(p, &before), keeps_b = before.m && same_b(p, &before);
    enum status st = OK;
    before.m = 0;
    if (!keeps_a) {
        st = allocate(&operands[A], type->a, problem_span_a(p));
        if (!st) fill(&operands[A], A, p->trans_a, p->m, p->k, p->lda);
        if (!st) st = send(&operands[A]);
    }
    if (!st && !keeps_b) {
        st = allocate(&operands[B], type->b, problem_span_b(p));
        if (!st) fill(&operands[B], B, p->trans_b, p->k, p->n, p->ldb);
        if (!st) st = send(&operands[B]);
    }
    if (!st) st = allocate(&operands[C], type->c, problem_span_c(p));
    if (!st) before = *p;
    return st;
}

/* ---- products ---- */

/* The first rows of the first line of a type, N and K. */
struct first_line {
    enum gemm_type type;
    int64_t n, k;
    float *row[PRODUCTS];
};
static struct first_line *firsts;
static size_t first_count;

static struct first_line *first_of(const struct problem *p)
{
    for (size_t i = 0; i < first_count; i++)
        if (firsts[i].type == p->type && firsts[i].n == p->n && firsts[i].k == p->k) return &firsts[i];
    firsts = realloc(firsts, (first_count + 1) * sizeof *firsts);
    if (!firsts) abort();
    firsts[first_count] = (struct first_line){.type = p->type, .n = p->n, .k = p->k};
    return &firsts[first_count++];
}

/* NaN if a row has one. */
static double difference(const float *row, const float *first, int64_t n)
{
    double largest = 0, apart = 0;
    for (int64_t j = 0; j < n; j++) {
        const double d = fabs((double)row[j] - (double)first[j]);
        if (fabs((double)first[j]) > largest) largest = fabs((double)first[j]);
        if (!(d <= apart)) apart = d;
    }
    return largest > 0 ? apart / largest : apart;
}

/* Of C on the host. The lines' padding is not of the hash. */
static void read_figures(const struct problem *p, int product, struct figures *f)
{
    const struct matrix *c = &operands[C];
    const size_t element = (size_t)element_bytes(c->element), bytes = (size_t)p->n * element;
    XXH64_state_t *state = XXH64_createState();
    float *row = malloc((size_t)p->n * sizeof *row);
    if (!state || !row) abort();
    for (int64_t j = 0; j < p->n; j++) row[j] = fake_element(c->host, half_names[c->element], j);
    XXH64_reset(state, 0);
    for (int64_t i = 0; i < p->m && i < ROWS; i++)
        XXH64_update(state, c->host + (size_t)(i * p->ldc) * element, bytes);
    struct first_line *first = first_of(p);
    if (!first->row[product]) first->row[product] = row;
    *f = (struct figures){.row = XXH64(c->host, bytes, 0),
                          .rows = XXH64_digest(state),
                          .first = (double)row[0],
                          .difference = difference(row, first->row[product], p->n)};
    if (first->row[product] != row) free(row);
    XXH64_freeState(state);
}

static enum status compute(const struct line *l, const struct kernel *kernel, int product, struct figures *f)
{
    const struct problem *p = &l->problem;
    const double alpha = product ? 0.7 : 1, beta = product ? 0.3 : 0;
    const struct operands at = {
        .at = {operands[A].there.address, operands[B].there.address, operands[C].there.address}};
    const struct matrix *c = &operands[C];
    const size_t bytes = (size_t)c->count * (size_t)element_bytes(c->element);
    if (product) fill(c, C, false, p->m, p->n, p->ldc);
    enum status st = send(c);
    if (!st) st = kernel->launch(kernel->self, &at, alpha, beta);
    if (!st) st = device_check(cuda.StreamSynchronize(device.stream), "run the kernel");
    if (!st) st = device_check(cuda.MemcpyDtoH(c->host, c->there.address, bytes), "copy C");
    if (!st) read_figures(p, product, f);
    return st;
}

static enum status run(const struct line *l, struct figures f[PRODUCTS])
{
    struct compiled built;
    struct kernel kernel = {0};
    enum status st = compile_line(l, &built);
    if (!st) st = make_operands(&l->problem);
    if (!st) st = kernel_load(&device, &l->config, &l->problem, built.path, built.checksum, &kernel);
    for (int product = 0; product < PRODUCTS && !st; product++)
        st = compute(l, &kernel, product, &f[product]);
    kernel_close(&kernel);
    return st;
}

static bool run_all(void)
{
    bool all = true;
    printf("problem,config,row,rows,first,difference,row_2,rows_2,first_2,difference_2,why\n");
    for (size_t i = 0; i < line_count; i++) {
        struct figures f[PRODUCTS];
        const bool failed = run(&lines[i], f) != OK;
        printf("%s,%s", lines[i].text, lines[i].config_text);
        for (int j = 0; j < PRODUCTS; j++)
            if (failed) printf(",,,,");
            else
                printf(",%016" PRIx64 ",%016" PRIx64 ",%.9g,%.3g", f[j].row, f[j].rows, f[j].first,
                       f[j].difference);
        printf(",\"%s\"\n", failed ? status_text() : "");
        fflush(stdout);
        all &= !failed;
    }
    return all;
}

static bool on_gpu(void)
{
    compile_all();
    if (device_load() || device_open(0, &device)) {
        printf("skipped: %s\n", status_text());
        exit(77);
    }
    make_normals();
    const bool all = run_all();
    for (int i = 0; i < MATRICES; i++) {
        device_free(&operands[i].there);
        free(operands[i].host);
    }
    for (size_t i = 0; i < first_count; i++)
        for (int j = 0; j < PRODUCTS; j++) free(firsts[i].row[j]);
    free(firsts);
    device_close(&device);
    return all;
}

int main(int argc, char **argv)
{
    const bool legal = argc == 3 && strcmp(argv[1], "--legal") == 0;
    if (argc != 2 && !legal) {
        fprintf(stderr, "row_bits [--legal] LIST\n");
        return 2;
    }
    if (read_lines(argv[argc - 1])) {
        fprintf(stderr, "row_bits: %s\n", status_text());
        return 1;
    }
    bool all;
    if (legal) {
        const bool h100 = all_legal("h100_sxm"), h200 = all_legal("h200");
        all = h100 && h200;
        printf("%zu lines%s\n", line_count, all ? ": all legal" : "");
    } else all = on_gpu();
    free(lines);
    return !all;
}
