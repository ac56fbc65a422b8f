/* program_lt.c — the cublasLt of program_blas.h. */
#include "fake_epilogue.h"
#include "program_blas_internal.h"

#include <stdlib.h>
#include <string.h>

int program_lt_calls, program_nested_calls, program_lt_questions, program_lt_refuses;
_Thread_local struct program_lt_last program_lt_last;

/* As the real one, it accepts one of cuBLAS, too. */
enum { LT_MAGIC = 0x17 };
struct cublasLtContext {
    int magic;
};

/* As the real one: a version first, which only larger descriptors have, and bytes that nobody has set. */
enum { ATTRIBUTES = 64 };
struct lt_desc {
    uint32_t version, whatever;
    int64_t value[ATTRIBUTES];
};

/* Bytes of each attribute; 0: there is none. */
static const unsigned char desc_bytes[ATTRIBUTES] = {[0] = 4,  [1] = 4,  [2] = 4,
                                                     [3] = 4,  [4] = 4,  [5] = 4,
                                                     [6] = 4,  [7] = 4,  [8] = 8,
                                                     [10] = 8, [11] = 8, [12] = 8,
                                                     [13] = 8, [14] = 8, [15] = 4,
                                                     [16] = 4, [17] = 8, [18] = 8,
                                                     [19] = 8, [20] = 8, [21] = 8,
                                                     [22] = 4, [23] = 8, [24] = 8,
                                                     [25] = 1, [26] = 4, [27] = 4,
                                                     [28] = 4, [29] = 8, [30] = 8,
                                                     [31] = 4, [32] = 4, [33] = 4,
                                                     [34] = 4, [35] = 4, [36] = 8,
                                                     [37] = 4, [38] = 8, [PROGRAM_LT_FUTURE] = 4};

int cublasLtCreate(lt_handle *handle)
{
    *handle = calloc(1, sizeof **handle);
    if (!*handle) return INVALID_VALUE;
    (*handle)->magic = LT_MAGIC;
    return SUCCESS;
}

int cublasLtDestroy(lt_handle handle)
{
    free(handle);
    return SUCCESS;
}

int cublasLtMatmulAlgoGetIds(lt_handle handle, int compute, int scale, int type_a, int type_b, int type_c,
                             int type_d, int room, int ids[], int *count)
{
    (void)compute, (void)scale, (void)type_a, (void)type_b, (void)type_c, (void)type_d;
    *count = room > 0;
    if (room > 0) ids[0] = PROGRAM_LT_ALGORITHM;
    return handle && handle->magic == LT_MAGIC ? SUCCESS : NOT_INITIALIZED;
}

int cublasLtMatmulAlgoCheck(lt_handle handle, lt_desc desc, lt_layout layout_a, lt_layout layout_b,
                            lt_layout layout_c, lt_layout layout_d, const struct lt_algorithm *algorithm,
                            struct lt_heuristic *result)
{
    (void)layout_a, (void)layout_b, (void)layout_c, (void)layout_d;
    if (!handle || handle->magic != LT_MAGIC) return NOT_INITIALIZED;
    if (algorithm->data[0] != PROGRAM_LT_ALGORITHM || (algorithm->data[1] == PROGRAM_LT_NO_EPILOGUE &&
                                                       desc->value[LT_DESC_EPILOGUE] != LT_EPILOGUE_DEFAULT))
        return INVALID_VALUE;
    *result = (struct lt_heuristic){.algorithm = *algorithm, .workspace_bytes = PROGRAM_LT_WORKSPACE};
    return SUCCESS;
}

int cublasLtMatmulDescInit_internal(lt_desc desc, size_t bytes, int compute, int scale)
{
    static _Thread_local uint32_t whatever;
    if (bytes < sizeof *desc) return ALLOC_FAILED;
    desc->version = PROGRAM_LT_VERSION;
    desc->whatever = ++whatever;
    for (int i = 0; i < ATTRIBUTES; i++) desc->value[i] = desc_bytes[i] ? 0 : (int64_t)whatever;
    desc->value[LT_DESC_COMPUTE_TYPE] = compute;
    desc->value[LT_DESC_SCALE_TYPE] = scale;
    desc->value[LT_DESC_FILL_MODE] = LT_FILL_FULL;
    desc->value[LT_DESC_EPILOGUE] = LT_EPILOGUE_DEFAULT;
    desc->value[LT_DESC_BIAS_DATA_TYPE] = desc->value[22] = UINT32_MAX;
    desc->value[PROGRAM_LT_FUTURE] = PROGRAM_LT_FUTURE_DEFAULT;
    return SUCCESS;
}

int cublasLtMatmulDescCreate(lt_desc *desc, int compute, int scale)
{
    *desc = malloc(sizeof **desc);
    return *desc ? cublasLtMatmulDescInit_internal(*desc, sizeof **desc, compute, scale) : INVALID_VALUE;
}

int cublasLtMatmulDescSetAttribute(lt_desc desc, int what, const void *value, size_t bytes)
{
    if (what < 0 || what >= ATTRIBUTES || !bytes || bytes != desc_bytes[what]) return INVALID_VALUE;
    memcpy(&desc->value[what], value, bytes);
    return SUCCESS;
}

int cublasLtMatmulDescGetAttribute(lt_desc desc, int what, void *value, size_t room, size_t *written)
{
    program_blas_count(&program_lt_questions);
    if (what < 0 || what >= ATTRIBUTES || !desc_bytes[what] || (room && room != desc_bytes[what]))
        return INVALID_VALUE;
    if (room) memcpy(value, &desc->value[what], room);
    *written = desc_bytes[what];
    return SUCCESS;
}

int cublasLtMatmulDescDestroy(lt_desc desc)
{
    free(desc);
    return SUCCESS;
}

/* Where the bytes of an attribute lie in the 64; the batch's count shares a word with the type, as it may. */
static char *place(lt_layout layout, int what, size_t *bytes)
{
    char *at = (char *)(uintptr_t)layout->data;
    *bytes =
        what == LT_LAYOUT_ROWS || what == LT_LAYOUT_COLS || what == LT_LAYOUT_LD || what >= LT_LAYOUT_STRIDE
            ? 8
            : 4;
    if (what == PROGRAM_LT_FUTURE) *bytes = 4;
    switch (what) {
    case PROGRAM_LT_FUTURE:
        return at + 12;
    case LT_LAYOUT_TYPE:
        return at;
    case LT_LAYOUT_ORDER:
        return at + 4;
    case LT_LAYOUT_BATCH_COUNT:
        return at + 8;
    default:
        return what < LT_LAYOUT_BATCH_MODE
                   ? at + 16 + 8 * (what > LT_LAYOUT_BATCH_COUNT ? what - 3 : what - 2)
                   : NULL;
    }
}

int cublasLtMatrixLayoutInit_internal(lt_layout layout, size_t bytes, int type, uint64_t rows,
                                      uint64_t columns, int64_t ld)
{
    int batch = 1, future = PROGRAM_LT_FUTURE_DEFAULT;
    if (bytes < sizeof *layout) return ALLOC_FAILED;
    memset((void *)(uintptr_t)layout, 0, sizeof *layout);
    cublasLtMatrixLayoutSetAttribute(layout, LT_LAYOUT_TYPE, &type, sizeof type);
    cublasLtMatrixLayoutSetAttribute(layout, LT_LAYOUT_ROWS, &rows, sizeof rows);
    cublasLtMatrixLayoutSetAttribute(layout, LT_LAYOUT_COLS, &columns, sizeof columns);
    cublasLtMatrixLayoutSetAttribute(layout, LT_LAYOUT_LD, &ld, sizeof ld);
    cublasLtMatrixLayoutSetAttribute(layout, PROGRAM_LT_FUTURE, &future, sizeof future);
    return cublasLtMatrixLayoutSetAttribute(layout, LT_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
}

int cublasLtMatrixLayoutCreate(lt_layout *layout, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    *layout = calloc(1, sizeof **layout);
    return *layout ? cublasLtMatrixLayoutInit_internal(*layout, sizeof **layout, type, rows, columns, ld)
                   : INVALID_VALUE;
}

int cublasLtMatrixLayoutSetAttribute(lt_layout layout, int what, const void *value, size_t bytes)
{
    size_t own;
    char *at = place(layout, what, &own);
    if (!at || bytes != own) return INVALID_VALUE;
    memcpy(at, value, own);
    return SUCCESS;
}

int cublasLtMatrixLayoutGetAttribute(lt_layout layout, int what, void *value, size_t room, size_t *written)
{
    size_t own;
    const char *at = place(layout, what, &own);
    program_blas_count(&program_lt_questions);
    if (!at || (room && room != own)) return INVALID_VALUE;
    if (room) memcpy(value, at, own);
    *written = own;
    return SUCCESS;
}

int cublasLtMatrixLayoutDestroy(lt_layout layout)
{
    free((void *)(uintptr_t)layout);
    return SUCCESS;
}

static int64_t layout_of(lt_layout layout, int what)
{
    int64_t value = 0;
    size_t own, written;
    place(layout, what, &own);
    cublasLtMatrixLayoutGetAttribute(layout, what, &value, own, &written);
    return value;
}

/* For each element of column-major D, with D so far at `from`. */
struct pass {
    lt_desc desc;
    lt_layout layout;
    const float *from;
    float *to;
    int code; /* fake_epilogue.h */
};

static void pass_over(const struct pass *p)
{
    const float *bias = (const float *)(uintptr_t)p->desc->value[LT_DESC_BIAS_POINTER];
    const int64_t rows = layout_of(p->layout, LT_LAYOUT_ROWS), ld = layout_of(p->layout, LT_LAYOUT_LD),
                  columns = layout_of(p->layout, LT_LAYOUT_COLS),
                  batch = layout_of(p->layout, LT_LAYOUT_BATCH_COUNT),
                  stride = layout_of(p->layout, LT_LAYOUT_STRIDE);
    for (int64_t item = 0; item < batch; item++)
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = 0; i < rows; i++) {
                const int64_t at = item * stride + i + j * ld;
                float x = p->from[at];
                if (p->code & FAKE_BIAS) x += bias[item * p->desc->value[LT_DESC_BIAS_BATCH_STRIDE] + i];
                p->to[at] = fake_activate(p->code, (double)x);
            }
}

int cublasLtMatmul(lt_handle handle, lt_desc desc, const void *alpha, const void *a, lt_layout layout_a,
                   const void *b, lt_layout layout_b, const void *beta, const void *c, lt_layout layout_c,
                   void *d, lt_layout layout_d, const void *algorithm, void *workspace,
                   size_t workspace_bytes, CUstream stream)
{
    const struct lt_algorithm *chosen = algorithm;
    (void)layout_c, (void)stream;
    program_lt_last = (struct program_lt_last){
        handle, desc, workspace, {chosen ? chosen->data[0] : 0, chosen ? chosen->data[1] : 0}};
    if (program_blas_nesting) program_blas_count(&program_nested_calls);
    else program_blas_count(&program_lt_calls);
    if (program_blas_idle) return SUCCESS;
    if (layout_of(layout_a, LT_LAYOUT_TYPE) || layout_of(layout_d, LT_LAYOUT_TYPE) ||
        layout_of(layout_d, LT_LAYOUT_ORDER))
        return SUCCESS; /* counted, not computed */
    if (!program_blas_nesting && (!handle || handle->magic != LT_MAGIC)) return NOT_INITIALIZED;
    if (chosen && program_lt_refuses) return program_lt_refuses;
    if (chosen && (chosen->data[0] != PROGRAM_LT_ALGORITHM || workspace_bytes < PROGRAM_LT_WORKSPACE))
        return INVALID_VALUE;
    const int op_a = (int)desc->value[LT_DESC_TRANSA], op_b = (int)desc->value[LT_DESC_TRANSB];
    const int64_t k = layout_of(layout_a, op_a ? LT_LAYOUT_ROWS : LT_LAYOUT_COLS);
    const struct program_strides step = {layout_of(layout_a, LT_LAYOUT_STRIDE),
                                         layout_of(layout_b, LT_LAYOUT_STRIDE),
                                         layout_of(layout_d, LT_LAYOUT_STRIDE)};
    const int64_t epilogue = desc->value[LT_DESC_EPILOGUE];
    const struct pass before = {desc, layout_d, c, d, 0},
                      after = {desc, layout_d, d, d,
                               (epilogue & LT_EPILOGUE_BIAS ? FAKE_BIAS_COLUMN : 0) |
                                   (epilogue & LT_EPILOGUE_RELU ? FAKE_RELU : 0) |
                                   (epilogue & LT_EPILOGUE_GELU ? FAKE_GELU : 0)};
    if (c != d && *(const float *)beta != 0) pass_over(&before);
    const int result = program_blas_run(
        op_a, op_b, layout_of(layout_d, LT_LAYOUT_ROWS), layout_of(layout_d, LT_LAYOUT_COLS), k, alpha, a,
        layout_of(layout_a, LT_LAYOUT_LD), b, layout_of(layout_b, LT_LAYOUT_LD), beta, d,
        layout_of(layout_d, LT_LAYOUT_LD), layout_of(layout_d, LT_LAYOUT_BATCH_COUNT), step);
    if (!result) pass_over(&after);
    return result;
}

/* ---- for who keeps algorithms: as they are, by their bytes ---- */

size_t cublasLtGetVersion(void)
{
    return PROGRAM_LT_RELEASE;
}

int cublasLtMatmulPreferenceCreate(void **preference)
{
    *preference = calloc(1, 1);
    return *preference ? SUCCESS : ALLOC_FAILED;
}

int cublasLtMatmulPreferenceSetAttribute(void *preference, int what, const void *value, size_t bytes)
{
    (void)preference, (void)what, (void)value, (void)bytes;
    return SUCCESS;
}

int cublasLtMatmulPreferenceDestroy(void *preference)
{
    free(preference);
    return SUCCESS;
}

int cublasLtMatmulAlgoGetHeuristic(lt_handle handle, lt_desc desc, lt_layout layout_a, lt_layout layout_b,
                                   lt_layout layout_c, lt_layout layout_d, void *preference, int room,
                                   struct lt_heuristic *results, int *count)
{
    (void)preference;
    const struct lt_algorithm only = {{PROGRAM_LT_ALGORITHM}};
    *count = room > 0;
    return room > 0
               ? cublasLtMatmulAlgoCheck(handle, desc, layout_a, layout_b, layout_c, layout_d, &only, results)
               : SUCCESS;
}

int cublasLtMatmulAlgoInit(lt_handle handle, int compute, int scale, int type_a, int type_b, int type_c,
                           int type_d, int id, struct lt_algorithm *algorithm)
{
    (void)handle, (void)compute, (void)scale, (void)type_a, (void)type_b, (void)type_c, (void)type_d;
    *algorithm = (struct lt_algorithm){{(uint64_t)id}};
    return SUCCESS;
}

int cublasLtMatmulAlgoConfigGetAttribute(const struct lt_algorithm *algorithm, int what, void *value,
                                         size_t bytes, size_t *written)
{
    (void)algorithm, (void)what;
    memset(value, 0, bytes);
    *written = bytes;
    return SUCCESS;
}

int cublasLtMatmulAlgoConfigSetAttribute(struct lt_algorithm *algorithm, int what, const void *value,
                                         size_t bytes)
{
    (void)algorithm, (void)what, (void)value, (void)bytes;
    return SUCCESS;
}
