/* sanitize_one.c — computes one small problem by one configuration on the GPU, under compute-sanitizer
 * (sanitize.sh).
 *
 *     sanitize_one CONFIG PROBLEM          computes it twice and compares with the host's sums
 *     sanitize_one --legal CONFIG PROBLEM  without a GPU: is it legal on an H200?
 *     sanitize_one --expected KIND CONFIG PROBLEM
 *                                          without a GPU: compiles it for sm_90 and prints between which
 *                                          writes and reads racecheck may report a race that is none, "Write
 *                                          0x450" and "Read 0x480" a line, if the machine code proves it
 *     sanitize_one --planted TOOL          runs a kernel with the defect that TOOL must find
 *
 * No buffer is larger than necessary. C is not initialised before the first product (beta = 0 does not read
 * it), and out of place D is not; of the workspace only the counters are. With pointers item i lies where
 * that of a batch with strides and the number batch - 1 - i does. Exits with 77 if there is no GPU.
 */
#include "compile.h"
#include "fake_half.h"
#include "kernel.h"
#include "machine_code.h"
#include "reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct device device;

/* Integers so small that every sum is exact in FP32, and each of them in elements of 16 bits. */
static float *whole_numbers(int64_t count, unsigned seed)
{
    float *x = malloc((size_t)(count + 1) * sizeof *x);
    for (int64_t i = 0; x && i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)((int)(seed >> 24) % 9 - 4);
    }
    return x;
}

static enum status compile_for(int arch, const struct config *config, const struct problem *problem,
                               struct compiled *built)
{
    char folder[1024];
    const struct kernel_key kernel = kernel_key_of(config, problem, arch);
    enum status st = compile_cache_folder(folder, sizeof folder);
    if (!st) st = compile_kernel(&kernel, folder, built);
    return !st && !built->built ? fail(E_INPUT, "the compiler refuses it: %s", built->log) : st;
}

static enum status check_rules(const struct config *config, const struct problem *problem,
                               const struct gpu *gpu)
{
    const char *why = config->template->check(config, problem, gpu);
    return why ? fail(E_INPUT, "%s", why) : OK;
}

static enum status parse(const char *config_text, const char *problem_text, struct config *config,
                         struct problem *problem)
{
    enum status st = config_parse(config_text, config);
    return st ? st : problem_parse(problem_text, problem);
}

/* ---- a product ---- */

/* As fake_half.h names them. */
static const int half_names[ELEMENT_COUNT] = {
    [ELEMENT_F32] = FAKE_F32, [ELEMENT_F16] = FAKE_F16, [ELEMENT_BF16] = FAKE_BF16};

enum { A = OPERAND_A, B = OPERAND_B, C = OPERAND_C, SOURCE = OPERAND_SOURCE, BIAS = OPERAND_BIAS };

struct product {
    struct problem problem;
    enum element element[OPERANDS];
    int64_t spans[OPERANDS];
    float *host[OPERANDS], *want;
    struct device_buffer buffer[OPERANDS], arrays; /* with pointers: those of A, B and C */
};

static enum status make_arrays(struct product *x)
{
    const struct problem *p = &x->problem;
    const int64_t strides[] = {p->stride_a, p->stride_b, p->stride_c};
    const size_t bytes = (size_t)(3 * p->batch) * sizeof(CUdeviceptr);
    CUdeviceptr *addresses = malloc(bytes);
    if (!addresses) return fail(E_MEMORY, "out of memory");
    for (int i = A; i <= C; i++)
        for (int64_t item = 0; item < p->batch; item++)
            addresses[i * p->batch + item] =
                x->buffer[i].address +
                (CUdeviceptr)((p->batch - 1 - item) * strides[i] * element_bytes(x->element[i]));
    enum status st = device_allocate(&x->arrays, bytes);
    if (!st) st = device_check(cuda.MemcpyHtoD(x->arrays.address, addresses, bytes), "copy the addresses");
    free(addresses);
    return st;
}

static size_t bytes_of(const struct product *x, int operand)
{
    return (size_t)x->spans[operand] * (size_t)element_bytes(x->element[operand]);
}

/* From the host to the device, or back. */
static enum status copy(const struct product *x, int operand, bool back)
{
    const size_t bytes = bytes_of(x, operand);
    const int type = half_names[x->element[operand]];
    void *there = malloc(bytes + 1);
    if (!there) return fail(E_MEMORY, "out of memory");
    for (int64_t i = 0; !back && i < x->spans[operand]; i++) fake_store(there, type, i, x->host[operand][i]);
    const CUdeviceptr address = x->buffer[operand].address;
    const enum status st = device_check(
        back ? cuda.MemcpyDtoH(there, address, bytes) : cuda.MemcpyHtoD(address, there, bytes), "copy");
    for (int64_t i = 0; back && !st && i < x->spans[operand]; i++)
        x->host[operand][i] = fake_element(there, type, i);
    free(there);
    return st;
}

static enum status make_product(struct product *x, const struct problem *problem)
{
    x->problem = *problem;
    x->spans[A] = problem_span_a(problem);
    x->spans[B] = problem_span_b(problem);
    x->spans[C] = problem_span_c(problem);
    x->spans[SOURCE] = epilogue_out_of_place(problem->epilogue) ? x->spans[C] : 0;
    x->spans[BIAS] = problem_span_bias(problem);
    const struct gemm_type_row *type = gemm_type_row(problem->type);
    for (int i = C; i < OPERANDS; i++) x->element[i] = type->c;
    x->element[A] = type->a;
    x->element[B] = type->b;
    x->want = whole_numbers(x->spans[C], 3);
    enum status st = x->want ? OK : fail(E_MEMORY, "out of memory");
    for (int i = 0; i < OPERANDS && !st; i++) {
        const size_t bytes = bytes_of(x, i);
        x->host[i] = whole_numbers(x->spans[i], (unsigned)i);
        if (!x->host[i]) return fail(E_MEMORY, "out of memory");
        if (bytes == 0) continue;
        st = device_allocate(&x->buffer[i], bytes);
        if (!st && i != C) st = copy(x, i, false);
    }
    return !st && problem->pointers ? make_arrays(x) : st;
}

/* What TMA stores is no store for initcheck: then C must hold something before, of which nothing may be left.
 */
static enum status hide_c(struct product *x, const struct config *config)
{
    bool by_tma = false;
    for (int i = 0; i < config->template->param_count; i++)
        by_tma |= strcmp(config->template->params[i].name, "STORE") == 0 && config->value[i] > 0;
    for (int64_t i = 0; by_tma && i < x->spans[C]; i++) x->host[C][i] = NAN;
    return by_tma ? copy(x, C, false) : OK;
}

static void free_product(struct product *x)
{
    for (int i = 0; i < OPERANDS; i++) {
        device_free(&x->buffer[i]);
        free(x->host[i]);
    }
    device_free(&x->arrays);
    free(x->want);
}

static struct operands operands_of(const struct product *x)
{
    struct operands operands = {.at = {x->buffer[A].address, x->buffer[B].address, x->buffer[C].address,
                                       x->buffer[SOURCE].address, x->buffer[BIAS].address}};
    const CUdeviceptr bytes = sizeof(CUdeviceptr) * (CUdeviceptr)x->problem.batch;
    if (!x->problem.pointers) return operands;
    operands.at[OPERAND_A] = x->arrays.address;
    operands.at[OPERAND_B] = operands.at[OPERAND_A] + bytes;
    operands.at[OPERAND_C] = operands.at[OPERAND_B] + bytes;
    return operands;
}

/* One element; want is without bias and activation so far. GELU rounds: what follows it is not whole. Else C
 * is rounded once, where it is stored. */
static bool agrees(const struct product *x, int64_t item, int64_t row, int64_t column)
{
    const struct problem *p = &x->problem;
    const int64_t at = item * p->stride_c + row * p->ldc + column;
    const double before = (double)x->want[at] + (double)reference_bias(p, x->host[BIAS], item, row, column);
    const bool rounds = epilogue_activation(p->epilogue) == ACTIVATION_GELU;
    const double c_roundoff = gemm_type_row(p->type)->c_roundoff;
    const double margin = rounds ? 0x1p-11 + (0x1p-16 + 2 * c_roundoff) * fabs(before) : 0;
    uint32_t rounded;
    const double after = reference_activated(p, before);
    fake_store(&rounded, half_names[x->element[C]], 0, (float)after);
    x->want[at] = fake_element(&rounded, half_names[x->element[C]], 0);
    return fabs((double)x->host[C][at] - (double)x->want[at]) <= margin;
}

static enum status compare(const struct product *x)
{
    const struct problem *p = &x->problem;
    for (int64_t item = 0; item < p->batch; item++)
        for (int64_t row = 0; row < p->m; row++)
            for (int64_t column = 0; column < p->n; column++) {
                if (agrees(x, item, row, column)) continue;
                const int64_t at = item * p->stride_c + row * p->ldc + column;
                return fail(E_GPU, "C[%lld] is %g, expected %g", (long long)at, (double)x->host[C][at],
                            (double)x->want[at]);
            }
    return OK;
}

/* C = act(alpha A B + beta C + bias), on the device and on the host. */
static enum status compute(struct product *x, const struct kernel *kernel, double alpha, double beta)
{
    const struct operands operands = operands_of(x);
    const size_t bytes = (size_t)x->spans[C] * sizeof(float);
    if (x->spans[SOURCE]) memcpy(x->want, x->host[SOURCE], bytes);
    x->problem.alpha = alpha;
    x->problem.beta = beta;
    enum status st = kernel->launch(kernel->self, &operands, alpha, beta);
    if (!st) st = device_check(cuda.StreamSynchronize(device.stream), "run the kernel");
    if (!st) st = copy(x, C, true);
    if (st) return st;
    reference_ijk(&x->problem, x->host[A], x->host[B], x->want);
    st = compare(x);
    memcpy(x->want, x->host[C], bytes); /* the C of the next */
    return st;
}

static enum status run(const char *config_text, const char *problem_text)
{
    struct config config;
    struct problem problem;
    struct compiled built;
    struct product product = {.want = NULL};
    struct kernel kernel = {0};
    enum status st = parse(config_text, problem_text, &config, &problem);
    if (!st) st = check_rules(&config, &problem, &device.gpu);
    if (!st) st = compile_for(device.gpu.arch, &config, &problem, &built);
    if (!st) st = kernel_load(&device, &config, &problem, built.path, built.checksum, &kernel);
    if (!st) st = make_product(&product, &problem);
    if (!st) st = hide_c(&product, &config);
    /* Copies from the host are not ordered on the stream of the kernels. */
    if (!st) st = device_check(cuda.CtxSynchronize(), "copy");
    if (!st) st = compute(&product, &kernel, 1, 0);
    if (!st) st = compute(&product, &kernel, 2, -3);
    kernel_close(&kernel);
    free_product(&product);
    return st;
}

/* ---- without a GPU ---- */

static enum status is_legal(const char *config_text, const char *problem_text)
{
    struct config config;
    struct problem problem;
    struct gpu gpu;
    const char *configs = getenv("GEMMTUNE_CONFIGS");
    char folder[1024];
    snprintf(folder, sizeof folder, "%s/gpus", configs ? configs : GT_SOURCE_DIR "/configs");
    enum status st = parse(config_text, problem_text, &config, &problem);
    if (!st) st = gpu_find(folder, "h200", &gpu);
    return st ? st : check_rules(&config, &problem, &gpu);
}

static enum status print_inbox(const char *cubin, size_t length)
{
    struct inbox_start start;
    if (!machine_code_inbox(cubin, length, &start)) return fail(E_ABSENT, "the kernel begins no mbarrier");
    if (!start.waits)
        return fail(E_ABSENT, "the arrival at 0x%x does not wait for the mbarrier's beginning at 0x%x",
                    start.arrive, start.init);
    printf("Write 0x%x\nRead 0x%x\n", start.init, start.arrive);
    return OK;
}

static enum status print_harmless(const char *cubin, size_t length, enum harmless kind)
{
    struct places places;
    const char *why = machine_code_harmless(cubin, length, kind, &places);
    for (size_t i = 0; !why && i < places.write_count; i++) printf("Write 0x%x\n", places.writes[i]);
    for (size_t i = 0; !why && i < places.read_count; i++) printf("Read 0x%x\n", places.reads[i]);
    free(places.writes);
    free(places.reads);
    return why ? fail(E_ABSENT, "%s", why) : OK;
}

static enum status print_kind(const char *kind, const char *cubin, size_t length)
{
    static const char *const names[HARMLESS_COUNT] = {
        [LANE_STORES] = "lane-stores", [LANE_COPIES] = "lane-copies", [LANE_BULK] = "lane-bulk"};
    if (strcmp(kind, "inbox") == 0) return print_inbox(cubin, length);
    for (int i = 0; i < HARMLESS_COUNT; i++)
        if (strcmp(kind, names[i]) == 0) return print_harmless(cubin, length, (enum harmless)i);
    return fail(E_USAGE, "racecheck's reports of the kind %s are not known", kind);
}

static enum status print_expected(const char *kind, const char *config_text, const char *problem_text)
{
    struct config config;
    struct problem problem;
    struct compiled built;
    char *cubin = NULL;
    size_t length;
    enum status st = parse(config_text, problem_text, &config, &problem);
    if (!st) st = compile_for(90, &config, &problem, &built);
    if (!st) st = compile_read_cubin(built.path, built.checksum, &cubin, &length);
    if (!st) st = print_kind(kind, cubin, length);
    free(cubin);
    return st;
}

/* ---- planted defects ---- */

/* Each runs one block of 64 threads with 64 floats of x. */
static const char *const planted[][2] = {
    {"memcheck", "x[threadIdx.x + 1] = 1;"},
    {"initcheck", "x[threadIdx.x] += 1;"},
    {"racecheck",
     "__shared__ float s[64]; s[threadIdx.x] = threadIdx.x; x[threadIdx.x] = s[63 - threadIdx.x];"},
    {"synccheck", "if (threadIdx.x % 2) __syncthreads(); x[threadIdx.x] = 1;"},
};

static enum status launch_planted(const char *cubin, const char *checksum)
{
    struct device_buffer x = {0};
    CUmodule module = NULL;
    CUfunction function;
    enum status st = kernel_open(cubin, checksum, &module);
    if (!st) st = device_check(cuda.ModuleGetFunction(&function, module, "gemm"), "find the kernel");
    if (!st) st = device_allocate(&x, 64 * sizeof(float));
    void *parameters[] = {&x.address};
    if (!st)
        st = device_check(cuda.LaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, device.stream, parameters, NULL),
                          "launch");
    if (!st) st = device_check(cuda.StreamSynchronize(device.stream), "run");
    device_free(&x);
    if (module) cuda.ModuleUnload(module);
    return st;
}

static enum status run_planted(const char *tool)
{
    char folder[1024], text[512];
    struct compiled built;
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        if (strcmp(planted[i][0], tool) != 0) continue;
        snprintf(text, sizeof text, "extern \"C\" __global__ void gemm(float *x)\n{\n    %s\n}\n",
                 planted[i][1]);
        const struct source_text source = {"planted.cu", text};
        enum status st = compile_cache_folder(folder, sizeof folder);
        if (!st) st = compile_sources(&source, 1, NULL, 0, device.gpu.arch, folder, &built);
        if (!st && !built.built) st = fail(E_INPUT, "the compiler refuses it: %s", built.log);
        return st ? st : launch_planted(built.path, built.checksum);
    }
    return fail(E_USAGE, "nothing is planted for %s", tool);
}

static enum status on_gpu(char **argv)
{
    if (device_open(0, &device)) {
        fprintf(stderr, "skipped: %s\n", status_text());
        exit(77);
    }
    enum status st = strcmp(argv[1], "--planted") == 0 ? run_planted(argv[2]) : run(argv[1], argv[2]);
    device_close(&device);
    return st;
}

int main(int argc, char **argv)
{
    enum status st;
    if (argc == 4 && strcmp(argv[1], "--legal") == 0) st = is_legal(argv[2], argv[3]);
    else if (argc == 5 && strcmp(argv[1], "--expected") == 0) st = print_expected(argv[2], argv[3], argv[4]);
    else if (argc == 3) st = on_gpu(argv);
    else st = fail(E_USAGE, "see the beginning of sanitize_one.c");
    if (st) fprintf(stderr, "sanitize_one: %s\n", status_text());
    return st ? 1 : 0;
}
