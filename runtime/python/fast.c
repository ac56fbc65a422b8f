/* SPDX-License-Identifier: MIT */
/* fast.c — gemmtune._fast, a module of Python's: one product of torch's tensors, or a torch.nn.Linear, in
 * well under a microsecond beside gt_gemm.
 *
 * It takes what it knows for certain, and otherwise answers None, upon which Python's half (_product.py)
 * looks at the arguments again, computes or says what is wrong. So no error is described here, and nothing
 * depends on this module but time. It links neither the library nor CUDA: Python's half has both loaded, and
 * names the functions.
 *
 * A tensor is read by DLPack's table of C functions (https://dmlc.github.io/dlpack/latest/c_api.html), which
 * torch has from 2.10 on. Only Python's stable ABI is used: one file serves 3.10 and later.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include <stdbool.h>

#include "gemmtune.h"

/* ---- DLPack's part, as its major version 1 has it ---- */

enum { DLPACK_MAJOR = 1, DL_CUDA = 2, DL_FLOAT = 2, DL_BFLOAT = 4 };

struct dl_tensor {
    void *data;
    int32_t device_type, device;
    int32_t dimensions;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides in elements; NULL: stored by rows */
    uint64_t byte_offset;
};

struct dl_exchange {
    struct {
        uint32_t major, minor;
        struct dl_exchange *older;
    } version;
    void *allocate, *managed_from_object, *managed_to_object;
    int (*tensor_from_object)(void *object, struct dl_tensor *out); /* owns nothing; may be NULL */
    int (*current_stream)(int32_t device_type, int32_t device, void **out);
};

/* ---- what Python's half has loaded ---- */

static struct {
    enum gt_status (*gemm)(struct gt_handle *, const struct gt_problem *, const struct gt_call *);
    struct gt_handle *handle;
    int (*current_device)(int *device);           /* cuCtxGetDevice */
    int (*device_of_number)(int *device, int nr); /* cuDeviceGet */
} library;

static struct {
    PyTypeObject *tensor, *parameter;
    PyObject *is_grad_enabled;
    const struct dl_exchange *exchange;
} torch;

static struct {
    PyObject *requires_grad, *is_neg, *new_empty;
} names;

static PyObject *bind_library(PyObject *self, PyObject *arguments)
{
    (void)self;
    unsigned long long gemm, handle, current_device, device_of_number;
    if (!PyArg_ParseTuple(arguments, "KKKK", &gemm, &handle, &current_device, &device_of_number)) return NULL;
    memcpy(&library.gemm, &gemm, sizeof library.gemm);
    memcpy(&library.handle, &handle, sizeof library.handle);
    memcpy(&library.current_device, &current_device, sizeof library.current_device);
    memcpy(&library.device_of_number, &device_of_number, sizeof library.device_of_number);
    Py_RETURN_NONE;
}

static PyObject *bind_torch(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *tensor, *parameter, *is_grad_enabled, *capsule;
    if (!PyArg_ParseTuple(arguments, "OOOO", &tensor, &parameter, &is_grad_enabled, &capsule)) return NULL;
    const struct dl_exchange *exchange = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    if (!exchange) return NULL;
    while (exchange && exchange->version.major > DLPACK_MAJOR) exchange = exchange->version.older;
    if (!exchange || exchange->version.major != DLPACK_MAJOR || !exchange->tensor_from_object)
        Py_RETURN_FALSE;
    torch.tensor = (PyTypeObject *)Py_NewRef(tensor);
    torch.parameter = (PyTypeObject *)Py_NewRef(parameter);
    torch.is_grad_enabled = Py_NewRef(is_grad_enabled);
    torch.exchange = exchange;
    Py_RETURN_TRUE;
}

/* ---- arguments; a function that answers false may have left an error of Python's ---- */

/* 1, 0, or -1 with an error. */
static int truth(PyObject *value)
{
    if (!value) return -1;
    int is = PyObject_IsTrue(value);
    Py_DECREF(value);
    return is;
}

struct matrix {
    struct dl_tensor tensor;
    int64_t rows, columns;
    int64_t down, right;         /* elements from a row, or a column, to the next */
    int64_t by_rows, by_columns; /* leading dimension if stored so, else 0 */
};

/* A tensor of torch's own type in a GPU's memory, without a gradient to be computed, as it lies. */
static bool read_tensor(PyObject *object, struct dl_tensor *tensor)
{
    if (Py_TYPE(object) != torch.tensor && Py_TYPE(object) != torch.parameter) return false;
    if (torch.exchange->tensor_from_object(object, tensor)) return false;
    if (tensor->device_type != DL_CUDA || tensor->lanes != 1) return false;
    int differentiated = truth(PyObject_GetAttr(object, names.requires_grad));
    if (differentiated == 1)
        differentiated = truth(PyObject_CallFunctionObjArgs(torch.is_grad_enabled, NULL));
    return !differentiated &&
           !truth(PyObject_CallMethodObjArgs(object, names.is_neg, NULL)); /* a sign not applied yet */
}

static bool lie(struct matrix *m, int64_t rows, int64_t columns, int64_t down, int64_t right)
{
    if (rows <= 0 || columns <= 0) return false;
    const bool by_rows = (columns == 1 || right == 1) && (rows == 1 || down >= columns);
    const bool by_columns = (rows == 1 || down == 1) && (columns == 1 || right >= rows);
    m->rows = rows, m->columns = columns;
    m->down = down, m->right = right;
    m->by_rows = !by_rows ? 0 : rows > 1 ? down : columns;
    m->by_columns = !by_columns ? 0 : columns > 1 ? right : rows;
    return by_rows || by_columns;
}

static bool read_matrix(PyObject *object, struct matrix *m)
{
    const struct dl_tensor *t = &m->tensor;
    if (!read_tensor(object, &m->tensor) || t->dimensions != 2) return false;
    return lie(m, t->shape[0], t->shape[1], t->strides ? t->strides[0] : t->shape[1],
               t->strides ? t->strides[1] : 1);
}

static bool read_transposed(PyObject *object, struct matrix *m)
{
    return read_matrix(object, m) && lie(m, m->columns, m->rows, m->right, m->down);
}

/* A tensor of two dimensions or more as a matrix: all but the last are its rows, at one distance. */
static bool read_lines(PyObject *object, struct matrix *m)
{
    const struct dl_tensor *t = &m->tensor;
    if (!read_tensor(object, &m->tensor) || t->dimensions < 2) return false;
    const int last = t->dimensions - 1;
    int64_t rows = 1, down = 0;
    for (int d = last - 1; d >= 0; d--) {
        if (t->shape[d] <= 0) return false;
        if (t->strides && t->shape[d] > 1) {
            if (rows > 1 && t->strides[d] != rows * down) return false;
            if (rows == 1) down = t->strides[d];
        }
        rows *= t->shape[d];
    }
    if (!t->strides) down = t->shape[last];
    return lie(m, rows, t->shape[last], down, t->strides ? t->strides[last] : 1);
}

static uintptr_t address_of(const struct dl_tensor *t)
{
    return (uintptr_t)t->data + t->byte_offset;
}

static bool has_type(const struct dl_tensor *t, int code, int bits)
{
    return t->code == code && t->bits == bits;
}

static bool same_type(const struct dl_tensor *t, const struct dl_tensor *u)
{
    return has_type(t, u->code, u->bits);
}

/* GT_..., or -1. */
static int type_of(const struct dl_tensor *a, const struct dl_tensor *c, PyObject *accuracy)
{
    static const char *const classes[] = {"strict", "accurate", "normwise", "tf32"};
    int class = 0;
    if (accuracy != Py_None) {
        if (!PyUnicode_Check(accuracy)) return -1;
        while (class < 4 && PyUnicode_CompareWithASCIIString(accuracy, classes[class])) class ++;
    }
    bool to_f32 = has_type(c, DL_FLOAT, 32);
    if (has_type(a, DL_FLOAT, 32)) return to_f32 && class < 4 ? class : -1;
    if (class || !(to_f32 || same_type(a, c))) return -1;
    if (has_type(a, DL_FLOAT, 16)) return to_f32 ? GT_FP16_TO_F32 : GT_FP16;
    if (has_type(a, DL_BFLOAT, 16)) return to_f32 ? GT_BF16_TO_F32 : GT_BF16;
    return -1;
}

/* GT_ACTIVATION_..., or -1. */
static int activation_of(PyObject *name)
{
    if (name == Py_None) return GT_ACTIVATION_NONE;
    if (!PyUnicode_Check(name)) return -1;
    if (!PyUnicode_CompareWithASCIIString(name, "relu")) return GT_ACTIVATION_RELU;
    return PyUnicode_CompareWithASCIIString(name, "gelu") ? -1 : GT_ACTIVATION_GELU;
}

static bool stream_of(PyObject *stream, int32_t device, void **out)
{
    if (stream == Py_None) return !torch.exchange->current_stream(DL_CUDA, device, out);
    if (!PyLong_CheckExact(stream)) return false;
    *out = PyLong_AsVoidPtr(stream);
    if ((uintptr_t)*out == 1) *out = NULL; /* the legacy default stream, in an interface's words */
    return !PyErr_Occurred();
}

static uintptr_t end_of(const struct matrix *m)
{
    const int64_t last = (m->rows - 1) * m->down + (m->columns - 1) * m->right;
    return address_of(&m->tensor) + (uintptr_t)(last + 1) * (m->tensor.bits / 8);
}

static bool overlap(const struct matrix *m, uintptr_t begin, uintptr_t end)
{
    return address_of(&m->tensor) < end && begin < end_of(m);
}

/* ---- the product ---- */

struct product {
    struct matrix a, b, c;
    struct dl_tensor bias;
    bool has_bias;
    int type, activation;
    void *stream;
    float alpha, beta;
    struct gt_prepared *prepared;
};

enum { A, B, OUT, STREAM, ACCURACY, BIAS, ACTIVATION, ALPHA, BETA, PREPARED, ARGUMENTS };

static bool read_bias(PyObject *object, struct product *p)
{
    p->has_bias = object != Py_None;
    if (!p->has_bias) return true;
    struct dl_tensor *t = &p->bias;
    return read_tensor(object, t) && t->dimensions == 1 && t->shape[0] == p->b.columns &&
           same_type(t, &p->c.tensor) && (t->shape[0] == 1 || !t->strides || t->strides[0] == 1) &&
           t->device == p->a.tensor.device;
}

static bool read_scalars(PyObject *const *arguments, struct product *p)
{
    p->alpha = (float)PyFloat_AsDouble(arguments[ALPHA]);
    p->beta = (float)PyFloat_AsDouble(arguments[BETA]);
    p->prepared = PyLong_AsVoidPtr(arguments[PREPARED]);
    return !PyErr_Occurred();
}

static bool fits(const struct product *p)
{
    const struct dl_tensor *a = &p->a.tensor, *b = &p->b.tensor, *c = &p->c.tensor;
    uintptr_t begin = address_of(c), end = end_of(&p->c);
    if (!same_type(a, b) || p->a.columns != p->b.rows) return false;
    if (p->c.rows != p->a.rows || p->c.columns != p->b.columns) return false;
    if (a->device != b->device || a->device != c->device) return false;
    if (p->has_bias && address_of(&p->bias) < end &&
        begin < address_of(&p->bias) + (uintptr_t)p->b.columns * (p->bias.bits / 8))
        return false;
    return !overlap(&p->a, begin, end) && !overlap(&p->b, begin, end) && (!p->prepared || p->c.by_rows);
}

/* Of the context in which the library would work. */
static bool is_current(int32_t device)
{
    int now, wanted;
    return !library.current_device(&now) && !library.device_of_number(&wanted, device) && now == wanted;
}

static void layout(const struct matrix *m, bool column_major, int32_t *transposed, int64_t *leading)
{
    int64_t same = column_major ? m->by_columns : m->by_rows;
    *transposed = !same;
    *leading = same ? same : column_major ? m->by_rows : m->by_columns;
}

static enum gt_status compute(const struct product *p)
{
    struct gt_problem problem = gt_problem_make(p->a.rows, p->b.columns, p->a.columns);
    bool column_major = !p->c.by_rows;
    problem.flags = column_major ? GT_COLUMN_MAJOR : 0;
    problem.type = p->type;
    layout(&p->a, column_major, &problem.trans_a, &problem.lda);
    layout(&p->b, column_major, &problem.trans_b, &problem.ldb);
    problem.ldc = column_major ? p->c.by_columns : p->c.by_rows;
    problem.bias = p->has_bias ? GT_BIAS_COLUMN : GT_BIAS_NONE;
    problem.activation = p->activation;
    struct gt_call call = gt_call_make(&p->alpha, (const void *)address_of(&p->a.tensor),
                                       (const void *)address_of(&p->b.tensor), &p->beta,
                                       (void *)address_of(&p->c.tensor), p->stream);
    if (p->has_bias) call.bias = (const void *)address_of(&p->bias);
    call.prepared = p->prepared;
    enum gt_status status;
    Py_BEGIN_ALLOW_THREADS status = library.gemm(library.handle, &problem, &call);
    Py_END_ALLOW_THREADS return status;
}

/* What is read last. */
static bool read_rest(PyObject *bias, PyObject *accuracy, PyObject *stream, struct product *p)
{
    if (!read_bias(bias, p) || !fits(p)) return false;
    p->type = type_of(&p->a.tensor, &p->c.tensor, accuracy);
    return p->type >= 0 && is_current(p->a.tensor.device) &&
           stream_of(stream, p->a.tensor.device, &p->stream);
}

/* out: a new reference to the result; NULL: not for this module. */
static bool read_product(PyObject *const *arguments, struct product *p, PyObject **out)
{
    if (!read_matrix(arguments[A], &p->a) || !read_matrix(arguments[B], &p->b) || !read_scalars(arguments, p))
        return false;
    if (arguments[OUT] != Py_None) {
        *out = Py_NewRef(arguments[OUT]);
    } else {
        if (p->beta != 0) return false;
        PyObject *shape = Py_BuildValue("(LL)", (long long)p->a.rows, (long long)p->b.columns);
        *out = shape ? PyObject_CallMethodObjArgs(arguments[A], names.new_empty, shape, NULL) : NULL;
        Py_XDECREF(shape);
        if (!*out) return false;
    }
    p->activation = activation_of(arguments[ACTIVATION]);
    return p->activation >= 0 && read_matrix(*out, &p->c) &&
           read_rest(arguments[BIAS], arguments[ACCURACY], arguments[STREAM], p);
}

/* The result of shape of the input with another last size; NULL: none, perhaps with an error. */
static PyObject *make_result(PyObject *input, const struct dl_tensor *shape, int64_t columns)
{
    PyObject *sizes = PyTuple_New(shape->dimensions), *out = NULL;
    for (int d = 0; sizes && d < shape->dimensions; d++) {
        PyObject *size = PyLong_FromLongLong(d < shape->dimensions - 1 ? shape->shape[d] : columns);
        if (!size || PyTuple_SetItem(sizes, d, size)) Py_CLEAR(sizes); /* which takes the size in any case */
    }
    if (sizes) out = PyObject_CallMethodObjArgs(input, names.new_empty, sizes, NULL);
    Py_XDECREF(sizes);
    return out;
}

enum { INPUT, WEIGHT, LAYER_BIAS, LAYER_ACCURACY, LAYER_PREPARED, LAYER_ARGUMENTS };

/* As read_product. */
static bool read_layer(PyObject *const *arguments, struct product *p, PyObject **out)
{
    p->alpha = 1;
    p->beta = 0;
    p->activation = GT_ACTIVATION_NONE;
    p->prepared = PyLong_AsVoidPtr(arguments[LAYER_PREPARED]);
    if (PyErr_Occurred() || !read_lines(arguments[INPUT], &p->a) ||
        !read_transposed(arguments[WEIGHT], &p->b) || p->a.columns != p->b.rows)
        return false;
    *out = make_result(arguments[INPUT], &p->a.tensor, p->b.columns);
    return *out && read_lines(*out, &p->c) &&
           read_rest(arguments[LAYER_BIAS], arguments[LAYER_ACCURACY], Py_None, p);
}

static PyObject *answer(bool (*read)(PyObject *const *, struct product *, PyObject **),
                        PyObject *const *arguments)
{
    if (!library.gemm || !torch.exchange) Py_RETURN_NONE;
    struct product p;
    PyObject *out = NULL;
    if (!read(arguments, &p, &out)) {
        PyErr_Clear(); /* Python's half meets it again, and says where */
        Py_XDECREF(out);
        Py_RETURN_NONE;
    }
    enum gt_status status = compute(&p);
    if (!status) return out;
    Py_DECREF(out);
    return PyLong_FromLong(status);
}

static PyObject *mm(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self;
    if (count != ARGUMENTS)
        return PyErr_Format(PyExc_TypeError, "mm takes %d arguments, not %zd", ARGUMENTS, count);
    return answer(read_product, arguments);
}

static PyObject *linear(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self;
    if (count != LAYER_ARGUMENTS)
        return PyErr_Format(PyExc_TypeError, "linear takes %d arguments, not %zd", LAYER_ARGUMENTS, count);
    return answer(read_layer, arguments);
}

static PyMethodDef functions[] = {
    {"bind_library", bind_library, METH_VARARGS,
     "bind_library(gt_gemm, handle, cuCtxGetDevice, cuDeviceGet): addresses, of what stays loaded."},
    {"bind_torch", bind_torch, METH_VARARGS,
     "bind_torch(Tensor, Parameter, is_grad_enabled, exchange): whether torch's table of DLPack can be "
     "used."},
    {"mm", (PyCFunction)(void (*)(void))mm, METH_FASTCALL,
     "mm(a, b, out, stream, accuracy, bias, activation, alpha, beta, prepared): the result; None: not for "
     "this module; "
     "a number: enum gt_status of what the library refused."},
    {"linear", (PyCFunction)(void (*)(void))linear, METH_FASTCALL,
     "linear(input, weight, bias, accuracy, prepared): as mm, of input @ weight.T + bias, on the current "
     "stream; "
     "the input has two dimensions or more, and the result the same but the last."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT,
                                    "_fast",
                                    "gemmtune.mm of torch's tensors, in C.",
                                    -1,
                                    functions,
                                    NULL,
                                    NULL,
                                    NULL,
                                    NULL};

PyMODINIT_FUNC PyInit__fast(void);
PyMODINIT_FUNC PyInit__fast(void)
{
    names.requires_grad = PyUnicode_InternFromString("requires_grad");
    names.is_neg = PyUnicode_InternFromString("is_neg");
    names.new_empty = PyUnicode_InternFromString("new_empty");
    return names.requires_grad && names.is_neg && names.new_empty ? PyModule_Create(&module) : NULL;
}
