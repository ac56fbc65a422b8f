#include "oracle_kernels.h"

#include <stdint.h>
#include <stdlib.h>

enum { TILE = 64, GRID_LIMIT = 65535 };

static enum status load_module(const struct compiled *built, CUmodule *module)
{
    char *bytes = NULL;
    size_t length = 0;
    enum status st = compile_read_cubin(built->path, built->checksum, &bytes, &length);
    if (!st) st = device_check(cuda.ModuleLoadData(module, bytes), "loading the judge's kernels");
    free(bytes);
    return st;
}

enum status oracle_module_load(struct device *device, const char *cache, const char *name, const char *text,
                               CUmodule *module)
{
    const struct source_text source = {name, text};
    struct compiled built;
    enum status st = compile_sources(&source, 1, NULL, 0, device->gpu.arch, cache, &built);
    if (st) return st;
    if (!built.built) return fail(E_COMPILER, "the compiler refused the judge's own %s: %s", name, built.log);
    return load_module(&built, module);
}

enum status oracle_module_entry(CUmodule module, const char *name, CUfunction *function)
{
    return device_check(cuda.ModuleGetFunction(function, module, name), name);
}

bool oracle_kernels_serve(const struct oracle_kernels *kernels, enum gemm_type type)
{
    const struct gemm_type_row *own = gemm_type_row(kernels->type), *row = gemm_type_row(type);
    return own->a == row->a && own->b == row->b && own->c == row->c;
}

enum status oracle_kernels_load(struct device *device, const char *cache, enum gemm_type type,
                                struct oracle_kernels *kernels)
{
    struct oracle_kernels k = {.device = device, .type = type};
    struct compiled built[ORACLE_PART_COUNT];
    enum status st = oracle_build_finish(oracle_build_start(device->gpu.arch, cache, type), built);
    for (int i = 0; i < ORACLE_PART_COUNT && !st; i++) st = load_module(&built[i], &k.module[i]);
    const struct {
        enum oracle_part part;
        const char *name;
        CUfunction *function;
    } entries[] = {{ORACLE_DATA, "fill", &k.fill},
                   {ORACLE_DATA, "addresses", &k.addresses},
                   {ORACLE_DATA, "rewrite", &k.rewrite},
                   {ORACLE_REFERENCE, "reference", &k.reference},
                   {ORACLE_DATA, "in_order", &k.in_order},
                   {ORACLE_DATA, "finish", &k.finish},
                   {ORACLE_DATA, "epilogue", &k.epilogue},
                   {ORACLE_VERDICT, "compare", &k.compare},
                   {ORACLE_VERDICT, "fingerprint", &k.fingerprint},
                   {ORACLE_VERDICT, "untouched", &k.untouched}};
    for (size_t i = 0; i < sizeof entries / sizeof *entries && !st; i++)
        st = oracle_module_entry(k.module[entries[i].part], entries[i].name, entries[i].function);
    if (st) oracle_kernels_unload(&k);
    else *kernels = k;
    return st;
}

void oracle_kernels_unload(struct oracle_kernels *kernels)
{
    for (int i = 0; i < ORACLE_PART_COUNT; i++)
        if (kernels->module[i]) cuda.ModuleUnload(kernels->module[i]);
    *kernels = (struct oracle_kernels){0};
}

enum status oracle_launch(const struct device *device, CUfunction function, unsigned x, unsigned y,
                          unsigned z, const void *args, const char *what)
{
    void *parameters[] = {(void *)(uintptr_t)args}; /* the driver only reads it */
    return device_check(cuda.LaunchKernel(function, x, y, z, 256, 1, 1, 0, device->stream, parameters, NULL),
                        what);
}

/* Blocks for a kernel with a grid-stride loop: enough to fill the GPU, but not more than there is work. */
static unsigned grid_for(const struct oracle_kernels *kernels, double work, double each_block)
{
    double wanted = work / each_block + 1, full = 8.0 * kernels->device->gpu.sm_count;
    return (unsigned)(wanted < full ? wanted : full);
}

/* For each_element, whose warps take up to 1024 columns each; 8 warps per block. */
static unsigned grid_for_elements(const struct oracle_kernels *kernels, int64_t batch, int64_t rows,
                                  int64_t cols)
{
    return grid_for(kernels, (double)batch * (double)rows * (double)(cols / 1024 + 1), 8);
}

enum status oracle_fill(const struct oracle_kernels *kernels, struct matrices to, struct fill_rule rule)
{
    return oracle_fill_thinned(kernels, to, rule, ORACLE_KEEP_ALL);
}

enum status oracle_fill_thinned(const struct oracle_kernels *kernels, struct matrices to,
                                struct fill_rule rule, enum oracle_thinning thinning)
{
    struct fill_args args = {.to = to, .rule = rule, .thinning = thinning};
    if (to.rows == 0 || to.cols == 0) return OK;
    return oracle_launch(kernels->device, kernels->fill,
                         grid_for_elements(kernels, to.batch, to.rows, to.cols), 1, 1, &args,
                         "filling operands");
}

enum status oracle_addresses(const struct oracle_kernels *kernels, const struct addresses_args *args)
{
    return oracle_launch(kernels->device, kernels->addresses, grid_for(kernels, (double)args->of.batch, 256),
                         1, 1, args, "writing the arrays of addresses");
}

enum status oracle_rewrite(const struct oracle_kernels *kernels, struct matrices of)
{
    const int64_t element = of.element == ORACLE_F32 ? 4 : 2;
    if (of.batch == 0 || of.rows == 0 || of.cols == 0) return OK;
    const int64_t span = ((of.batch - 1) * of.stride + (of.rows - 1) * of.ld + of.cols) * element;
    struct rewrite_args args = {.words = of.data, .count = span / (int64_t)sizeof(oracle_u64)};
    if (args.count == 0) return OK;
    return oracle_launch(kernels->device, kernels->rewrite, grid_for(kernels, (double)args.count, 1024), 1, 1,
                         &args, "writing A again");
}

enum status oracle_reference(const struct oracle_kernels *kernels, const struct reference_args *args)
{
    const struct piece *x = &args->piece;
    int64_t tiles = (x->rows + TILE - 1) / TILE * ((x->cols + TILE - 1) / TILE);
    if (tiles == 0 || x->items == 0) return OK;
    if (tiles > INT32_MAX)
        return fail(E_GPU, "the reference of a piece of C has %lld tiles", (long long)tiles);
    unsigned items = (unsigned)(x->items < GRID_LIMIT ? x->items : GRID_LIMIT);
    enum status st = oracle_launch(kernels->device, kernels->reference, (unsigned)tiles,
                                   (unsigned)args->splits, items, args, "computing the reference");
    if (st) return st;
    unsigned grid = grid_for_elements(kernels, x->items, x->rows, x->cols);
    return oracle_launch(kernels->device, kernels->finish, grid, 1, 1, args, "finishing the reference");
}

enum status oracle_in_order(const struct oracle_kernels *kernels, const struct in_order_args *args)
{
    const struct matrices *c = &args->at[OPERAND_C];
    if (c->batch == 0 || c->rows == 0 || c->cols == 0) return OK;
    return oracle_launch(kernels->device, kernels->in_order,
                         grid_for_elements(kernels, c->batch, c->rows, c->cols), 1, 1, args,
                         "adding in order");
}

enum status oracle_epilogue(const struct oracle_kernels *kernels, const struct epilogue_args *args)
{
    const struct piece *x = &args->piece;
    if (x->items == 0 || x->rows == 0 || x->cols == 0) return OK;
    unsigned grid = grid_for_elements(kernels, x->items, x->rows, x->cols);
    return oracle_launch(kernels->device, kernels->epilogue, grid, 1, 1, args,
                         "applying the epilogue to the reference");
}

enum status oracle_compare(const struct oracle_kernels *kernels, const struct compare_args *args)
{
    const struct piece *x = &args->piece;
    if (x->items == 0 || x->rows == 0 || x->cols == 0) return OK;
    unsigned grid = grid_for_elements(kernels, x->items, x->rows, x->cols);
    return oracle_launch(kernels->device, kernels->compare, grid, 1, 1, args, "comparing C");
}

enum status oracle_fingerprint(const struct oracle_kernels *kernels, struct matrices c,
                               struct finding *finding)
{
    struct scan_args args = {.c = c, .finding = finding};
    if (c.rows == 0 || c.cols == 0) return OK;
    return oracle_launch(kernels->device, kernels->fingerprint,
                         grid_for_elements(kernels, c.batch, c.rows, c.cols), 1, 1, &args, "hashing C");
}

static enum status scan(const struct oracle_kernels *kernels, struct scan_args *args, int64_t begin,
                        int64_t end)
{
    args->begin = begin;
    args->end = end;
    if (begin >= end) return OK;
    return oracle_launch(kernels->device, kernels->untouched, grid_for(kernels, (double)(end - begin), 1024),
                         1, 1, args, "checking the guard bands");
}

enum status oracle_untouched(const struct oracle_kernels *kernels, struct matrices c, int64_t guard,
                             unsigned poison, struct finding *finding)
{
    struct scan_args args = {
        .c = c, .poison = c.element == ORACLE_F32 ? poison : poison & 0xffffu, .finding = finding};
    bool empty = c.rows == 0 || c.cols == 0;
    int64_t span = empty ? 0 : (c.batch - 1) * c.stride + (c.rows - 1) * c.ld + c.cols;
    bool dense = c.cols == c.ld && (c.batch == 1 || c.stride == c.rows * c.ld);
    if (!empty && !dense) return scan(kernels, &args, -guard, span + guard);
    /* No padding: only the guard bands are read. */
    enum status st = scan(kernels, &args, -guard, 0);
    return st ? st : scan(kernels, &args, span, span + guard);
}
