/* fake_lt.c — the cublasLt functions that the runtime calls, on host memory, by the definition: column-major,
 * sums in double. What is made counts among the driver's open resources. FAKE_LT_FAIL=STATUS: every product
 * answers that. FAKE_LT_PROPOSES=0: there is no algorithm for anything. FAKE_LT_WORKSPACE=BYTES: the first
 * algorithm that is proposed needs so many, the second none. FAKE_LT_VERSION=N: of the library (130100).
 * FAKE_LT_REFUSES=1: it runs no algorithm that somebody brings along.
 */
#include "fake_lt.h"
#include "fake_epilogue.h"
#include "fake_half.h"
#include "fake_stream.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
enum { POINTER_MODE = 2, TRANSA = 3, TRANSB = 4, EPILOGUE = 7, BIAS_POINTER = 8, BIAS_BATCH_STRIDE = 10 };
enum { BATCH_COUNT = 5, BATCH_STRIDE = 6 };
enum { WORKSPACE_BYTES = 1, ALIGN_A = 5, ALIGN_D = 8 };

_Atomic int fake_lt_calls, fake_lt_compute, fake_lt_asked, fake_lt_workspace, fake_lt_alignment,
    fake_lt_descs;

/* What an algorithm remembers. */
enum { OF_ALIGNMENT, OF_MODE, OF_BIAS_ALIGNMENT, OF_WORKSPACE, OF_ASKED };

struct lt {
    int compute, type;
    uint64_t rows, columns;
    int64_t ld, value[32];
};

static int make(struct lt **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return NOT_INITIALIZED;
    fake_count(&fake_open, 1);
    return SUCCESS;
}

static int destroy(struct lt *object)
{
    free(object);
    fake_count(&fake_open, -1);
    return SUCCESS;
}

static int set(struct lt *object, int what, const void *value, size_t bytes)
{
    if (what < 0 || what >= 32 || bytes > 8) return INVALID_VALUE;
    object->value[what] = 0;
    memcpy(&object->value[what], value, bytes);
    return SUCCESS;
}

int cublasLtCreate(struct lt **handle)
{
    *handle = NULL;
    return SAFE_RESULT == CUDA_SUCCESS ? make(handle) : NOT_INITIALIZED;
}

int cublasLtDestroy(struct lt *handle)
{
    return SAFE_RESULT == CUDA_SUCCESS ? destroy(handle) : NOT_INITIALIZED;
}

int cublasLtMatmulDescCreate(struct lt **desc, int compute, int scale)
{
    const int result = scale ? INVALID_VALUE : make(desc);
    fake_count(&fake_lt_descs, 1);
    if (!result) (*desc)->compute = compute;
    if (!result) (*desc)->value[EPILOGUE] = 1;
    return result;
}

int cublasLtMatmulDescSetAttribute(struct lt *desc, int what, const void *value, size_t bytes)
{
    return set(desc, what, value, bytes);
}

int cublasLtMatmulDescDestroy(struct lt *desc)
{
    return destroy(desc);
}

static bool is_type(int type)
{
    return type == FAKE_F32 || type == FAKE_F16 || type == FAKE_BF16;
}

int cublasLtMatrixLayoutCreate(struct lt **layout, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    const int result = !is_type(type) || ld < 1 || (uint64_t)ld < rows ? INVALID_VALUE : make(layout);
    if (result) return result;
    (*layout)->type = type;
    (*layout)->rows = rows;
    (*layout)->columns = columns;
    (*layout)->ld = ld;
    (*layout)->value[BATCH_COUNT] = 1;
    return SUCCESS;
}

int cublasLtMatrixLayoutSetAttribute(struct lt *layout, int what, const void *value, size_t bytes)
{
    return set(layout, what, value, bytes);
}

int cublasLtMatrixLayoutDestroy(struct lt *layout)
{
    return destroy(layout);
}

int cublasLtMatmulPreferenceCreate(struct lt **preference)
{
    return make(preference);
}

int cublasLtMatmulPreferenceSetAttribute(struct lt *preference, int what, const void *value, size_t bytes)
{
    return set(preference, what, value, bytes);
}

int cublasLtMatmulPreferenceDestroy(struct lt *preference)
{
    return destroy(preference);
}

/* Its algorithms remember the alignments that they were promised, and where alpha and beta are. */
int cublasLtMatmulAlgoGetHeuristic(struct lt *handle, struct lt *desc, struct lt *a, struct lt *b,
                                   struct lt *c, struct lt *d, struct lt *preference, int wanted,
                                   struct lt_answer *answers, int *count)
{
    const char *proposes = getenv("FAKE_LT_PROPOSES");
    (void)a, (void)b, (void)c, (void)d;
    if (!handle || wanted < 1) return INVALID_VALUE;
    *count = 0;
    if (proposes && proposes[0] == '0') return SUCCESS;
    for (int key = ALIGN_A; key <= ALIGN_D; key++)
        if (preference->value[key] != preference->value[ALIGN_A]) return INVALID_VALUE;
    const char *needs = getenv("FAKE_LT_WORKSPACE");
    const uint64_t bias = (uint64_t)desc->value[BIAS_POINTER],
                   asked = (uint64_t)preference->value[WORKSPACE_BYTES];
    struct lt_answer answer = {.algorithm = {[OF_ALIGNMENT] = (uint64_t)preference->value[ALIGN_A],
                                             [OF_MODE] = (uint64_t)desc->value[POINTER_MODE],
                                             [OF_BIAS_ALIGNMENT] = bias ? bias & -bias : 1,
                                             [OF_ASKED] = asked}};
    if (needs && wanted > 1) {
        answers[(*count)++] = answer;
        answers[0].workspace_bytes = answers[0].algorithm[OF_WORKSPACE] = strtoul(needs, NULL, 10);
        cublasLtMatmulAlgoConfigSetAttribute(answers[0].algorithm, 0, &(int){21}, sizeof(int));
    }
    cublasLtMatmulAlgoConfigSetAttribute(answer.algorithm, 0, &(int){66}, sizeof(int));
    answers[(*count)++] = answer;
    return SUCCESS;
}

/* ---- algorithms that are kept ---- */

/* The last two words hold the attributes: 14 bits each. */
enum { ATTRIBUTES = 9, OF_ATTRIBUTES = 5, EACH = 14, IN_A_WORD = 4 };

size_t cublasLtGetVersion(void)
{
    const char *version = getenv("FAKE_LT_VERSION");
    return version ? strtoul(version, NULL, 10) : 130100;
}

int cublasLtMatmulAlgoConfigGetAttribute(const uint64_t *algorithm, int what, void *value, size_t bytes,
                                         size_t *written)
{
    if (what < 0 || what >= ATTRIBUTES || bytes > 4) return INVALID_VALUE;
    const uint32_t is = (uint32_t)(algorithm[OF_ATTRIBUTES + what / IN_A_WORD] >> what % IN_A_WORD * EACH) &
                        ((1u << EACH) - 1);
    memcpy(value, &is, bytes);
    *written = bytes;
    return SUCCESS;
}

int cublasLtMatmulAlgoConfigSetAttribute(uint64_t *algorithm, int what, const void *value, size_t bytes)
{
    uint64_t is = 0;
    if (what < 0 || what >= ATTRIBUTES || bytes > 4) return INVALID_VALUE;
    memcpy(&is, value, bytes);
    uint64_t *word = &algorithm[OF_ATTRIBUTES + what / IN_A_WORD];
    *word &= ~(((UINT64_C(1) << EACH) - 1) << what % IN_A_WORD * EACH);
    *word |= is << what % IN_A_WORD * EACH;
    return SUCCESS;
}

int cublasLtMatmulAlgoInit(struct lt *handle, int compute_type, int scale, int a, int b, int c, int d, int id,
                           uint64_t *algorithm)
{
    (void)compute_type;
    if (!handle || scale || !is_type(a) || a != b || a != c || a != d) return INVALID_VALUE;
    memset(algorithm, 0, 64);
    algorithm[OF_ALIGNMENT] = 16;
    algorithm[OF_BIAS_ALIGNMENT] = 1;
    return cublasLtMatmulAlgoConfigSetAttribute(algorithm, 0, &id, sizeof id);
}

/* An algorithm made again takes scalars where the descriptor says. */
int cublasLtMatmulAlgoCheck(struct lt *handle, struct lt *desc, struct lt *a, struct lt *b, struct lt *c,
                            struct lt *d, const uint64_t *algorithm, struct lt_answer *answer)
{
    (void)a, (void)b, (void)c, (void)d;
    if (!handle || !desc) return INVALID_VALUE;
    *answer = (struct lt_answer){.state = getenv("FAKE_LT_REFUSES") ? NOT_SUPPORTED : SUCCESS,
                                 .workspace_bytes = algorithm[OF_WORKSPACE]};
    return SUCCESS;
}

/* An element of an item of a batch, in column-major order. */
static int64_t place_of(const struct lt *layout, int64_t item, int64_t row, int64_t column)
{
    return item * layout->value[BATCH_STRIDE] + row + column * layout->ld;
}

static double element_of(const void *matrix, const struct lt *layout, int64_t item, int64_t row,
                         int64_t column)
{
    return (double)fake_element(matrix, layout->type, place_of(layout, item, row, column));
}

/* Column-major D = op(A) op(B), with a bias of rows. */
static void compute(const struct lt *desc, int64_t item, float alpha, const void *a, const struct lt *of_a,
                    const void *b, const struct lt *of_b, float beta, const void *c, void *d,
                    const struct lt *of_d)
{
    const void *bias = (const void *)(uintptr_t)desc->value[BIAS_POINTER];
    const int epilogue = (int)desc->value[EPILOGUE];
    const int code = (epilogue & 2 ? FAKE_RELU : 0) | (epilogue & 32 ? FAKE_GELU : 0);
    const int64_t k = (int64_t)(desc->value[TRANSA] ? of_a->rows : of_a->columns);
    for (int64_t j = 0; j < (int64_t)of_d->columns; j++)
        for (int64_t i = 0; i < (int64_t)of_d->rows; i++) {
            double sum = 0;
            for (int64_t l = 0; l < k && alpha != 0; l++)
                sum +=
                    (desc->value[TRANSA] ? element_of(a, of_a, item, l, i)
                                         : element_of(a, of_a, item, i, l)) *
                    (desc->value[TRANSB] ? element_of(b, of_b, item, j, l) : element_of(b, of_b, item, l, j));
            double x = (double)alpha * sum;
            if (beta != 0) x += (double)beta * element_of(c, of_d, item, i, j);
            if (epilogue & 4)
                x += (double)fake_element(bias, of_d->type, item * desc->value[BIAS_BATCH_STRIDE] + i);
            fake_store(d, of_d->type, place_of(of_d, item, i, j), fake_activate(code, x));
        }
}

int cublasLtMatmul(struct lt *handle, struct lt *desc, const void *alpha, const void *a, struct lt *of_a,
                   const void *b, struct lt *of_b, const void *beta, const void *c, struct lt *of_c, void *d,
                   struct lt *of_d, const uint64_t *algorithm, void *workspace, size_t workspace_bytes,
                   void *stream)
{
    const char *status = getenv("FAKE_LT_FAIL");
    const uint64_t bits = (uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d;
    const uint64_t bias = (uint64_t)desc->value[BIAS_POINTER];
    const bool has_bias = desc->value[EPILOGUE] & 4;
    if (!handle || !stream || of_c->ld != of_d->ld || !algorithm || bits % algorithm[OF_ALIGNMENT] ||
        algorithm[OF_MODE] != (uint64_t)desc->value[POINTER_MODE] || has_bias != (bias != 0) ||
        bias % algorithm[OF_BIAS_ALIGNMENT] || (uintptr_t)workspace % 256 ||
        workspace_bytes < algorithm[OF_WORKSPACE] || (workspace_bytes > 0) != (workspace != NULL) ||
        (!c && *(const float *)beta != 0))
        return INVALID_VALUE;
    if (status) return atoi(status);
    if (workspace) memset(workspace, 0xab, workspace_bytes);
    atomic_store_explicit(&fake_lt_asked, (int)algorithm[OF_ASKED], memory_order_relaxed);
    atomic_store_explicit(&fake_lt_workspace, (int)algorithm[OF_WORKSPACE], memory_order_relaxed);
    atomic_store_explicit(&fake_lt_alignment, (int)algorithm[OF_ALIGNMENT], memory_order_relaxed);
    fake_count(&fake_lt_calls, 1);
    atomic_store_explicit(&fake_lt_compute, desc->compute, memory_order_relaxed);
    for (int64_t item = 0; item < of_d->value[BATCH_COUNT]; item++)
        compute(desc, item, *(const float *)alpha, a, of_a, b, of_b, *(const float *)beta, c, d, of_d);
    return SUCCESS;
}
