#include "lt_epilogue.h"

#include "epilogue.h"
#include "lt_descriptor.h"

static struct refusal gradient = {"cublasLtMatmul", "its epilogue is a gradient", ATOMIC_FLAG_INIT};
static struct refusal auxiliary = {"cublasLtMatmul", "its epilogue stores an auxiliary matrix for a gradient",
                                   ATOMIC_FLAG_INIT};
static struct refusal other = {"cublasLtMatmul", "its epilogue is none of a bias, ReLU and GELU",
                               ATOMIC_FLAG_INIT};
static struct refusal bias_type = {"cublasLtMatmul", "its bias is of another type than D", ATOMIC_FLAG_INIT};
static struct refusal bias_place = {
    "cublasLtMatmul", "its bias is NULL, or its address is no multiple of an element", ATOMIC_FLAG_INIT};
static struct refusal bias_order = {"cublasLtMatmul", "it has a bias, and D is in row order",
                                    ATOMIC_FLAG_INIT};
static struct refusal bias_stride = {
    "cublasLtMatmul", "the biases of its batch are neither one for all nor one after the other",
    ATOMIC_FLAG_INIT};
static struct refusal no_c = {"cublasLtMatmul", "its matrix C is NULL", ATOMIC_FLAG_INIT};

/* The type's default is that of D. */
static struct refusal *read_bias(const struct matmul *x, struct blas_request *request)
{
    const int type = lt_desc_get(x, LT_DESC_BIAS_DATA_TYPE);
    const enum element element = gemm_type_row(request->type)->c;
    if (!lt_desc_read(x, LT_DESC_BIAS_POINTER, &request->bias, sizeof request->bias) || !request->bias ||
        (uintptr_t)request->bias % (uintptr_t)element_bytes(element))
        return &bias_place;
    if (type != -1 && type != blas_data_type(element)) return &bias_type;
    if (request->batch == 1) return NULL;
    if (!lt_desc_read(x, LT_DESC_BIAS_BATCH_STRIDE, &request->stride_bias, sizeof request->stride_bias) ||
        (request->stride_bias != 0 && request->stride_bias != request->m))
        return &bias_stride;
    return NULL;
}

static struct refusal *why_other(int value)
{
    if (value < 0) return &other;
    return value & LT_EPILOGUE_GRADIENTS ? &gradient : value & LT_EPILOGUE_AUX ? &auxiliary : &other;
}

/* cublasLt's bias has a value for each row of column-major D, which is a column in row-major terms. */
struct refusal *lt_epilogue_read(const struct matmul *x, int value, bool reads_c, bool by_rows,
                                 struct blas_request *request)
{
    const bool bias = value != LT_EPILOGUE_DEFAULT && value & LT_EPILOGUE_BIAS,
               out_of_place = reads_c && x->c != x->d;
    enum epilogue_activation activation = ACTIVATION_NONE;
    switch (value) {
    case LT_EPILOGUE_DEFAULT:
    case LT_EPILOGUE_BIAS:
        break;
    case LT_EPILOGUE_RELU:
    case LT_EPILOGUE_RELU | LT_EPILOGUE_BIAS:
        activation = ACTIVATION_RELU;
        break;
    case LT_EPILOGUE_GELU:
    case LT_EPILOGUE_GELU | LT_EPILOGUE_BIAS:
        activation = ACTIVATION_GELU;
        break;
    default:
        return why_other(value);
    }
    if (bias && by_rows) return &bias_order;
    if (out_of_place && !x->c) return &no_c;
    request->epilogue = epilogue_code(bias ? BIAS_COLUMN : BIAS_NONE, activation, out_of_place);
    if (out_of_place) request->source = x->c;
    return bias ? read_bias(x, request) : NULL;
}
