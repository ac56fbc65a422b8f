#include "blas_lt.h"

#include "blas.h"
#include "epilogue.h"
#include "library.h"
#include "template.h"

#include <stdio.h>
#include <string.h>

struct blas_lt_api blas_lt;

enum { LT_SUCCESS = 0, LT_OP_N = 0, LT_OP_T = 1 };
enum {
    LT_DESC_POINTER_MODE = 2,
    LT_DESC_TRANSA = 3,
    LT_DESC_TRANSB = 4,
    LT_DESC_EPILOGUE = 7,
    LT_DESC_BIAS_POINTER = 8,
    LT_DESC_BIAS_BATCH_STRIDE = 10
};
enum { LT_LAYOUT_BATCH_COUNT = 5, LT_LAYOUT_BATCH_STRIDE = 6 };
enum { LT_PREFER_WORKSPACE = 1, LT_PREFER_SUMS = 3, LT_PREFER_ALIGN_A = 5 /* B, C and D follow */ };
enum { LT_EPILOGUE_DEFAULT = 1, LT_EPILOGUE_RELU = 2, LT_EPILOGUE_BIAS = 4, LT_EPILOGUE_GELU = 32 };

static const struct library_symbol entries[] = {
    {"cublasLtCreate", &blas_lt.Create},
    {"cublasLtDestroy", &blas_lt.Destroy},
    {"cublasLtMatmulDescCreate", &blas_lt.DescCreate},
    {"cublasLtMatmulDescSetAttribute", &blas_lt.DescSet},
    {"cublasLtMatmulDescDestroy", &blas_lt.DescDestroy},
    {"cublasLtMatrixLayoutCreate", &blas_lt.LayoutCreate},
    {"cublasLtMatrixLayoutSetAttribute", &blas_lt.LayoutSet},
    {"cublasLtMatrixLayoutDestroy", &blas_lt.LayoutDestroy},
    {"cublasLtMatmulPreferenceCreate", &blas_lt.PreferenceCreate},
    {"cublasLtMatmulPreferenceSetAttribute", &blas_lt.PreferenceSet},
    {"cublasLtMatmulPreferenceDestroy", &blas_lt.PreferenceDestroy},
    {"cublasLtMatmulAlgoGetHeuristic", &blas_lt.Heuristic},
    {"cublasLtMatmul", &blas_lt.Matmul},
};

/* To keep algorithms: all or none. */
static const struct library_symbol keeping_entries[] = {
    {"cublasLtGetVersion", &blas_lt.GetVersion},
    {"cublasLtMatmulAlgoInit", &blas_lt.AlgoInit},
    {"cublasLtMatmulAlgoCheck", &blas_lt.AlgoCheck},
    {"cublasLtMatmulAlgoConfigGetAttribute", &blas_lt.AlgoGet},
    {"cublasLtMatmulAlgoConfigSetAttribute", &blas_lt.AlgoSet},
};

static enum status load_by(void *(*open)(const struct library_names *library, char *why), char version[16])
{
    char why[LIBRARY_WHY_MAX];
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
    const struct library_names library = {"GEMMTUNE_LIBCUBLASLT", names, 3, true, true};
    void *handle = open(&library, why);
    if (!handle) return fail(E_ABSENT, "no cublasLt (%s)", why);
    const char *missing = library_bind(handle, entries, sizeof entries / sizeof *entries);
    if (missing) return fail(E_ABSENT, "the cublasLt found lacks %s", missing);
    if (library_bind(handle, keeping_entries, sizeof keeping_entries / sizeof *keeping_entries))
        blas_lt.GetVersion = NULL;
    version[0] = '-'; /* version is not needed: the library is loaded */
    version[1] = '\0';
    return OK;
}

static enum status load(char version[16])
{
    return load_by(library_open, version);
}

static enum status load_loaded(char version[16])
{
    return load_by(library_open_loaded, version);
}

static struct library_once once = {.lock = PTHREAD_MUTEX_INITIALIZER, .load = load};

enum status blas_lt_load(void)
{
    char version[16];
    return library_load(&once, version);
}

enum status blas_lt_load_loaded(void)
{
    char version[16];
    return library_load_by(&once, load_loaded, version);
}

int blas_lt_compute(enum gemm_type type)
{
    const int own = gemm_type_compute(type);
    return own == BLAS_COMPUTE_32F && blas_must_be_pedantic() ? BLAS_COMPUTE_32F_PEDANTIC : own;
}

/* A row-major matrix of rows x columns is the column-major one of columns x rows. */
static int describe(blas_lt_object *layout, enum element element, int64_t rows, int64_t columns, int64_t ld,
                    int64_t batch, int64_t stride)
{
    const int32_t count = (int32_t)batch;
    int result = blas_lt.LayoutCreate(layout, blas_data_type(element), (uint64_t)columns, (uint64_t)rows,
                                      ld > 1 ? ld : 1);
    if (result || batch == 1) return result;
    result = blas_lt.LayoutSet(*layout, LT_LAYOUT_BATCH_COUNT, &count, sizeof count);
    return result ? result : blas_lt.LayoutSet(*layout, LT_LAYOUT_BATCH_STRIDE, &stride, sizeof stride);
}

int blas_lt_describe(struct blas_lt_product *product)
{
    const struct problem *p = &product->problem;
    const struct gemm_type_row *row = gemm_type_row(p->type);
    int result =
        describe(&product->a, row->b, problem_rows_b(p), problem_cols_b(p), p->ldb, p->batch, p->stride_b);
    if (!result)
        result = describe(&product->b, row->a, problem_rows_a(p), problem_cols_a(p), p->lda, p->batch,
                          p->stride_a);
    return result ? result : describe(&product->c, row->c, p->m, p->n, p->ldc, p->batch, p->stride_c);
}

/* cublasLt's bias has a value for each row of its column-major D: for each column of ours. */
static uint32_t epilogue_of(int code)
{
    static const uint32_t activations[] = {
        [ACTIVATION_NONE] = 0, [ACTIVATION_RELU] = LT_EPILOGUE_RELU, [ACTIVATION_GELU] = LT_EPILOGUE_GELU};
    const uint32_t both =
        activations[epilogue_activation(code)] | (epilogue_bias(code) != BIAS_NONE ? LT_EPILOGUE_BIAS : 0);
    return both ? both : LT_EPILOGUE_DEFAULT;
}

/* All but where the bias is. */
int blas_lt_make_desc(const struct blas_lt_product *product, blas_lt_object *desc)
{
    const struct problem *p = &product->problem;
    const int32_t op_a = p->trans_a ? LT_OP_T : LT_OP_N, op_b = p->trans_b ? LT_OP_T : LT_OP_N;
    const uint32_t epilogue = epilogue_of(p->epilogue);
    const int64_t stride = p->stride_bias;
    int result = blas_lt.DescCreate(desc, product->compute, BLAS_R_32F);
    if (!result) result = blas_lt.DescSet(*desc, LT_DESC_TRANSA, &op_b, sizeof op_b);
    if (!result) result = blas_lt.DescSet(*desc, LT_DESC_TRANSB, &op_a, sizeof op_a);
    if (!result) result = blas_lt.DescSet(*desc, LT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (!result && stride) result = blas_lt.DescSet(*desc, LT_DESC_BIAS_BATCH_STRIDE, &stride, sizeof stride);
    return result;
}

int blas_lt_set_bias(blas_lt_object desc, const void *bias)
{
    return blas_lt.DescSet(desc, LT_DESC_BIAS_POINTER, &bias, sizeof bias);
}

int blas_lt_prefer(blas_lt_object preference, size_t workspace_bytes, const uint32_t alignment[4])
{
    int result =
        blas_lt.PreferenceSet(preference, LT_PREFER_WORKSPACE, &workspace_bytes, sizeof workspace_bytes);
    for (int i = 0; i < 4 && !result; i++)
        result = blas_lt.PreferenceSet(preference, LT_PREFER_ALIGN_A + i, &alignment[i], sizeof alignment[i]);
    return result;
}

int blas_lt_prefer_sums(blas_lt_object preference, enum gemm_type type)
{
    enum { IN_COMPUTE_TYPE = 2 };
    const uint32_t schemes = IN_COMPUTE_TYPE;
    const struct gemm_type_row *row = gemm_type_row(type);
    if (element_bytes(row->c) >= element_bytes(row->sum)) return LT_SUCCESS;
    return blas_lt.PreferenceSet(preference, LT_PREFER_SUMS, &schemes, sizeof schemes);
}

int blas_lt_propose(const struct blas_lt_product *product, blas_lt_object desc, blas_lt_object preference,
                    struct blas_lt_answer answers[BLAS_LT_ANSWERS_MAX], int *count)
{
    *count = 0;
    return blas_lt.Heuristic(product->handle, desc, product->a, product->b, product->c, product->c,
                             preference, BLAS_LT_ANSWERS_MAX, answers, count);
}

bool blas_lt_usable(const struct blas_lt_answer *answer, size_t workspace_bytes)
{
    return answer->state == LT_SUCCESS && answer->workspace_bytes <= workspace_bytes;
}

/* ---- algorithms as configurations ---- */

/* cublasLtMatmulAlgoConfigAttributes_t; the number is the attribute's, the first one is said to AlgoInit. */
static const struct {
    const char *name; /* of the template's parameter */
    size_t bytes;
} attributes[] = {{"ALGO", 4},   {"TILE_ID", 4},   {"SPLIT_K", 4},  {"SUMS", 4},      {"SWIZZLE", 4},
                  {"CUSTOM", 4}, {"STAGES_ID", 4}, {"INNER_ID", 2}, {"CLUSTER_ID", 2}};
enum { ATTRIBUTES = sizeof attributes / sizeof *attributes, WORDS = sizeof(struct blas_lt_algorithm) / 4 };

/* "W0" to "W15". */
static void name_word(int i, char name[8])
{
    snprintf(name, 8, "W%d", i % WORDS);
}

/* Sets a parameter to a value in its range. */
static bool put(struct config *config, const char *name, int64_t value)
{
    const int i = template_param(config->template, name);
    if (i < 0) return false;
    const struct param *param = &config->template->params[i];
    if (value < param->least || value > param->most) return false;
    config->value[i] = (int32_t)value;
    return true;
}

bool blas_lt_to_config(const struct blas_lt_answer *answer, struct config *config)
{
    int32_t words[WORDS];
    *config = (struct config){.template = template_find("cublaslt")};
    bool good = config->template && blas_lt.GetVersion;
    for (int i = 0; i < ATTRIBUTES && good; i++) {
        uint32_t value = 0; /* a library that lacks an attribute does not need it */
        size_t written;
        if (blas_lt.AlgoGet(&answer->algorithm, i, &value, attributes[i].bytes, &written)) value = 0;
        good = put(config, attributes[i].name, value);
    }
    memcpy(words, &answer->algorithm, sizeof words);
    for (int i = 0; i < WORDS && good; i++) {
        char name[8];
        name_word(i, name);
        good = put(config, name, words[i]);
    }
    return good && put(config, "WORKSPACE", (int64_t)answer->workspace_bytes) &&
           put(config, "VERSION", (int64_t)blas_lt.GetVersion());
}

static int take_bytes(const struct config *config, struct blas_lt_algorithm *algorithm)
{
    int32_t words[WORDS];
    for (int i = 0; i < WORDS; i++) {
        char name[8];
        name_word(i, name);
        words[i] = config_get(config, name);
    }
    memcpy(algorithm, words, sizeof words);
    return LT_SUCCESS;
}

static int make_again(const struct blas_lt_product *product, const struct config *config,
                      struct blas_lt_algorithm *algorithm)
{
    const struct gemm_type_row *row = gemm_type_row(product->problem.type);
    const int a = blas_data_type(row->a), b = blas_data_type(row->b), c = blas_data_type(row->c);
    int result = blas_lt.AlgoInit(product->handle, product->compute, BLAS_R_32F, b, a, c, c,
                                  config_get(config, attributes[0].name), algorithm);
    for (int i = 1; i < ATTRIBUTES && !result; i++) {
        const uint32_t value = (uint32_t)config_get(config, attributes[i].name);
        result = blas_lt.AlgoSet(algorithm, i, &value, attributes[i].bytes);
    }
    return result;
}

enum status blas_lt_from_config(const struct blas_lt_product *product, blas_lt_object desc,
                                const struct config *config, struct blas_lt_choice *choice, bool *rebuilt)
{
    struct blas_lt_answer answer = {.state = LT_SUCCESS};
    if (!blas_lt.GetVersion) return fail(E_ABSENT, "the cublasLt found takes no algorithms that were kept");
    const int version = config_get(config, "VERSION"), number = config_get(config, "ALGO");
    *rebuilt = (size_t)version != blas_lt.GetVersion();
    int result =
        *rebuilt ? make_again(product, config, &choice->algorithm) : take_bytes(config, &choice->algorithm);
    if (result)
        return fail(E_ABSENT, "cublasLt %zu cannot make algorithm %d of version %d again (status %d)",
                    blas_lt.GetVersion(), number, version, result);
    result = blas_lt.AlgoCheck(product->handle, desc, product->a, product->b, product->c, product->c,
                               &choice->algorithm, &answer);
    if (result || answer.state != LT_SUCCESS)
        return fail(E_ABSENT, "cublasLt %zu does not run algorithm %d of version %d here (status %d)",
                    blas_lt.GetVersion(), number, version, result ? result : answer.state);
    choice->workspace_bytes = answer.workspace_bytes;
    if (choice->workspace_bytes <= (size_t)config_get(config, "WORKSPACE")) return OK;
    return fail(E_ABSENT, "algorithm %d of cublasLt needs %zu bytes of workspace here, and needed %d", number,
                choice->workspace_bytes, config_get(config, "WORKSPACE"));
}

/* ---- choosing ---- */

/* The first usable algorithm that it proposes. */
static int ask(const struct blas_lt_product *product, blas_lt_object desc, blas_lt_object preference,
               int alignment, size_t workspace_bytes, struct blas_lt_choice *choice)
{
    struct blas_lt_answer answers[BLAS_LT_ANSWERS_MAX];
    const uint32_t bytes = (uint32_t)alignment, all[] = {bytes, bytes, bytes, bytes};
    int count = 0, result = blas_lt_prefer(preference, workspace_bytes, all);
    if (!result) result = blas_lt_propose(product, desc, preference, answers, &count);
    for (int i = 0; !result && i < count; i++)
        if (blas_lt_usable(&answers[i], workspace_bytes)) {
            *choice = (struct blas_lt_choice){answers[i].algorithm, answers[i].workspace_bytes};
            return LT_SUCCESS;
        }
    return result ? result : BLAS_LT_NOT_SUPPORTED;
}

static int set_pointer_mode(blas_lt_object desc, bool scalars_on_device)
{
    const int32_t mode = scalars_on_device;
    return blas_lt.DescSet(desc, LT_DESC_POINTER_MODE, &mode, sizeof mode);
}

/* Making one takes as long as a launch, and longer in a program that has other things to do between calls. */
static int keep_desc(struct blas_lt_product *product, bool scalars_on_device)
{
    product->scalars_on_device = scalars_on_device;
    if (epilogue_bias(product->problem.epilogue) != BIAS_NONE) return LT_SUCCESS;
    const int result = blas_lt_make_desc(product, &product->desc);
    return result ? result : set_pointer_mode(product->desc, scalars_on_device);
}

/* For matrices and a bias at multiples of so many bytes. */
static int choose(const struct blas_lt_product *product, const struct blas_lt_wish *wish, int alignment,
                  int bias_alignment, struct blas_lt_choice *choice)
{
    const void *somewhere = (const void *)(uintptr_t)bias_alignment; /* NOLINT: not read */
    blas_lt_object desc = NULL, preference = NULL;
    int result = blas_lt_make_desc(product, &desc);
    if (!result) result = set_pointer_mode(desc, wish->scalars_on_device);
    if (!result && epilogue_bias(product->problem.epilogue) != BIAS_NONE)
        result = blas_lt_set_bias(desc, somewhere);
    if (!result) result = blas_lt.PreferenceCreate(&preference);
    if (!result) result = ask(product, desc, preference, alignment, wish->workspace_bytes, choice);
    if (preference) blas_lt.PreferenceDestroy(preference);
    if (desc) blas_lt.DescDestroy(desc);
    return result;
}

enum status blas_lt_open(struct blas_lt_product *product, blas_lt_handle handle,
                         const struct problem *problem, const struct blas_lt_wish *wish, int *status)
{
    *product = (struct blas_lt_product){.handle = handle, .problem = *problem, .compute = wish->compute};
    *status = LT_SUCCESS;
    if (!epilogue_in_cublaslt(problem->epilogue))
        return fail(E_ABSENT, "cublasLt has no bias for the rows of row-major C");
    if (problem->k == 0) return fail(E_ABSENT, "cublasLt takes no product with K = 0");
    *status = blas_lt_describe(product);
    if (!*status) *status = choose(product, wish, wish->alignment, sizeof(float), &product->promised);
    product->aligned = product->promised;
    if (!*status && wish->alignment >= 16) /* less aligned operands have another plan */
        if (choose(product, wish, BLAS_LT_ALIGNMENT, BLAS_LT_ALIGNMENT, &product->aligned) ==
            BLAS_LT_ALLOC_FAILED)
            *status = BLAS_LT_ALLOC_FAILED; /* passing: ask again later */
    if (!*status) *status = keep_desc(product, wish->scalars_on_device);
    return *status ? fail(E_ABSENT, "cublasLt has nothing for the problem (status %d)", *status) : OK;
}

enum status blas_lt_load_algorithm(struct blas_lt_product *product, blas_lt_handle handle,
                                   const struct problem *problem, const struct config *config,
                                   bool scalars_on_device)
{
    const int version = config_get(config, "VERSION");
    const void *bias = (const void *)(uintptr_t)BLAS_LT_KEPT_ALIGNMENT; /* NOLINT: not read */
    blas_lt_object desc = NULL;
    bool rebuilt;
    *product = (struct blas_lt_product){.handle = handle,
                                        .problem = *problem,
                                        .compute = blas_lt_compute(problem->type),
                                        .needs_alignment = BLAS_LT_KEPT_ALIGNMENT};
    if (blas_lt.GetVersion && (size_t)version != blas_lt.GetVersion())
        return fail(E_ABSENT, "cublasLt is of version %zu, and its algorithm was judged with %d: tune again",
                    blas_lt.GetVersion(), version);
    int result = blas_lt_describe(product);
    if (!result) result = blas_lt_make_desc(product, &desc);
    if (!result) result = set_pointer_mode(desc, scalars_on_device);
    if (!result && epilogue_bias(problem->epilogue) != BIAS_NONE) result = blas_lt_set_bias(desc, bias);
    enum status st = result ? fail(E_ABSENT, "cublasLt cannot describe the problem (status %d)", result)
                            : blas_lt_from_config(product, desc, config, &product->promised, &rebuilt);
    if (desc) blas_lt.DescDestroy(desc);
    product->aligned = product->promised;
    result = st ? 0 : keep_desc(product, scalars_on_device);
    return result ? fail(E_ABSENT, "cublasLt cannot describe the problem (status %d)", result) : st;
}

size_t blas_lt_workspace(const struct blas_lt_product *product)
{
    const size_t promised = product->promised.workspace_bytes, aligned = product->aligned.workspace_bytes;
    return promised > aligned ? promised : aligned;
}

void blas_lt_close(struct blas_lt_product *product)
{
    if (product->desc) blas_lt.DescDestroy(product->desc);
    if (product->a) blas_lt.LayoutDestroy(product->a);
    if (product->b) blas_lt.LayoutDestroy(product->b);
    if (product->c) blas_lt.LayoutDestroy(product->c);
    *product = (struct blas_lt_product){.handle = NULL};
}

static void *address(CUdeviceptr pointer)
{
    return (void *)(uintptr_t)pointer; /* NOLINT: a device address */
}

/* Two threads may want different biases, and the descriptor holds one: each call with a bias has its own. */
int blas_lt_run(const struct blas_lt_product *product, const struct blas_lt_call *call)
{
    CUdeviceptr bits = 0;
    for (int i = 0; i < OPERANDS; i++) bits |= call->at[i];
    const struct blas_lt_choice *choice = bits % BLAS_LT_ALIGNMENT ? &product->promised : &product->aligned;
    void *bias = address(call->at[OPERAND_BIAS]);
    const bool kept = product->desc && !bias && call->scalars_on_device == product->scalars_on_device;
    blas_lt_object desc = kept ? product->desc : NULL;
    int result = LT_SUCCESS;
    if (product->needs_alignment && bits % (CUdeviceptr)product->needs_alignment)
        return BLAS_LT_NOT_SUPPORTED;
    if (!kept) result = blas_lt_make_desc(product, &desc);
    if (!result && !kept) result = set_pointer_mode(desc, call->scalars_on_device);
    if (!result && bias) result = blas_lt_set_bias(desc, bias);
    if (!result)
        result = blas_lt.Matmul(
            product->handle, desc, call->alpha, address(call->at[OPERAND_B]), product->a,
            address(call->at[OPERAND_A]), product->b, call->beta, address(call->at[OPERAND_SOURCE]),
            product->c, address(call->at[OPERAND_C]), product->c, &choice->algorithm,
            choice->workspace_bytes ? address(call->workspace) : NULL, choice->workspace_bytes, call->stream);
    if (desc && !kept) blas_lt.DescDestroy(desc);
    return result;
}
