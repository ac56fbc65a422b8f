/* runtime_gpu_answers.h — the answers of the runtime library on a real GPU against the reference, for every
 * op, every epilogue, and batches of pointers. flags, of gt_open: what computes it, a kernel or cuBLAS.
 */
#ifndef GT_RUNTIME_GPU_ANSWERS_H
#define GT_RUNTIME_GPU_ANSWERS_H

#include "fake_epilogue.h"
#include "runtime_gpu.h"

static const char *const ops[] = {"nn", "nt", "tn", "tt"};

/* Every op, with leading dimensions, batches and scalars. */
static inline void check_every_op(unsigned flags, int skew)
{
    static const char *const rests[] = {
        "64x64x64",     "33x65x17",
        "1x1x1",        "7x5x0:beta=2",
        "0x5x3",        "130x70x40:lda=150:ldb=151:ldc=153:alpha=2:beta=-1",
        "256x256x2048", "20x30x10:batch=5:alpha=0.5:beta=2",
        "1x1000x300",   "500x1x300",
    };
    struct gt_handle *handle = open_handle(flags);
    for (size_t o = 0; o < 4; o++)
        for (size_t r = 0; r < sizeof rests / sizeof *rests; r++) {
            char text[PROBLEM_TEXT_MAX];
            struct set s;
            snprintf(text, sizeof text, "sgemm:%s:%s", ops[o], rests[r]);
            set_make(&s, text, skew);
            assert_gt(run(handle, &s, device.stream), text);
            set_check(&s, 1, text);
            set_free(&s);
        }
    gt_close(handle);
}

/* The answer to a set, of which `more` has the bias in A and what is read out of place in C. */
static inline float *answer_of(const struct set *s, const struct set *more)
{
    const struct problem *p = &s->problem;
    const size_t bytes = (size_t)s->count[2] * sizeof(float);
    float *want = malloc(bytes + 1);
    assert_non_null(want);
    memcpy(want, more->host[2], bytes); /* as C of the set */
    reference_ijk(p, s->host[0], s->host[1], want);
    for (int64_t at = 0; at < s->count[2]; at++) {
        const int64_t row = at % p->stride_c / p->ldc, column = at % p->stride_c % p->ldc;
        if (epilogue_bias(p->epilogue) == BIAS_COLUMN) want[at] += more->host[0][column];
        if (epilogue_bias(p->epilogue) == BIAS_ROW) want[at] += more->host[0][row];
        want[at] = fake_activate(p->epilogue, (double)want[at]);
    }
    return want;
}

/* rounding: of GELU, relative to 1 + |D|. */
static inline void check_epilogue(struct gt_handle *handle, const char *text, bool is_missing, float rounding)
{
    struct set s, more;
    const float one = 1;
    set_make(&s, text, 0);
    set_make(&more, text, 0);
    const struct gt_problem p = public_problem(&s.problem);
    const float beta = (float)s.problem.beta;
    struct gt_call call = gt_call_make(&one, s.at[0], s.at[1], &beta, s.at[2], device.stream);
    const size_t bytes = (size_t)s.count[2] * sizeof(float);
    const bool out = epilogue_out_of_place(s.problem.epilogue);
    float *got = malloc(bytes + 1), *want = answer_of(&s, &more);
    assert_non_null(got);
    if (epilogue_bias(s.problem.epilogue) != BIAS_NONE) call.bias = more.at[0];
    if (out) {
        call.source = more.at[2];
        cuda.MemsetD32Async((CUdeviceptr)s.at[2], 0x7fc00000u, (size_t)s.count[2], device.stream);
    }
    const enum gt_status status = gt_gemm(handle, &p, &call);
    if (is_missing) assert_int_equal(status, GT_UNAVAILABLE);
    else assert_gt(status, text);
    assert_ok(device_check(cuda.StreamSynchronize(device.stream), text));
    assert_ok(device_check(cuda.MemcpyDtoH(got, (CUdeviceptr)s.at[2], bytes), "copy out"));
    for (int64_t i = 0; i < s.count[2] && !is_missing; i++)
        if (!(fabsf(got[i] - want[i]) <= rounding * (1 + fabsf(want[i]))))
            fail_msg("%s: C[%lld] is %g, expected %g", text, (long long)i, (double)got[i], (double)want[i]);
    free(got);
    free(want);
    set_free(&s);
    set_free(&more);
}

/* cublasLt's own rounding of GELU is coarser than ours. */
static inline void check_every_epilogue(unsigned flags, float rounding)
{
    static const char *const shapes[] = {"sgemm:nt:100x90x80", "sgemm:nn:64x64x4096",
                                         "sgemm:tn:33x65x17:batch=3"};
    struct gt_handle *handle = open_handle(flags);
    for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++)
        for (int code = 1; code < EPILOGUE_CODES; code++)
            for (int adds = 0; adds < 2 && epilogue_is_known(code); adds++) {
                char text[PROBLEM_TEXT_MAX], epilogue[EPILOGUE_TEXT_MAX];
                epilogue_format(code, epilogue);
                snprintf(text, sizeof text, "%s%s:epilogue=%s", shapes[shape], adds ? ":beta=2" : "",
                         epilogue);
                check_epilogue(handle, text, (flags & GT_NO_COMPILER) && epilogue_bias(code) == BIAS_ROW,
                               epilogue_activation(code) == ACTIVATION_GELU ? rounding : 0);
            }
    gt_close(handle);
}

/* On the device, the addresses of the items of an operand: item i lies where the one with the number
 * batch - 1 - i of a strided batch does. */
static inline struct device_buffer addresses_of(const void *first, int64_t batch, int64_t stride)
{
    struct device_buffer buffer = {0};
    uint64_t *const at = malloc((size_t)batch * sizeof *at);
    assert_non_null(at);
    for (int64_t i = 0; i < batch; i++)
        at[i] = (uint64_t)(uintptr_t)first + (uint64_t)((batch - 1 - i) * stride) * sizeof(float);
    assert_ok(device_allocate(&buffer, (size_t)batch * sizeof *at));
    assert_ok(device_check(cuda.MemcpyHtoD(buffer.address, at, (size_t)batch * sizeof *at), "copy in"));
    free(at);
    return buffer;
}

/* By gt_gemm, and once more from a graph. */
static inline void check_pointers(struct gt_handle *handle, const char *text, int skew)
{
    struct set s;
    struct device_buffer array[3];
    set_make(&s, text, skew);
    const struct problem *p = &s.problem;
    const struct gt_problem asked = public_problem(p);
    const float alpha = (float)p->alpha, beta = (float)p->beta;
    const int64_t stride[3] = {p->stride_a, p->stride_b, p->stride_c};
    void *at[3];
    for (int i = 0; i < 3; i++) {
        array[i] = addresses_of(s.at[i], p->batch, stride[i]);
        at[i] = (void *)(uintptr_t)array[i].address; /* NOLINT: a device address */
    }
    assert_true(asked.flags & GT_POINTER_ARRAYS);
    assert_gt(gemm(handle, &asked, &alpha, at[0], at[1], &beta, at[2], device.stream), text);
    set_check(&s, 1, text);
    CUgraph graph;
    CUgraphExec executable;
    assert_int_equal(cuda.StreamBeginCapture(device.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                     CUDA_SUCCESS);
    assert_gt(gemm(handle, &asked, &alpha, at[0], at[1], &beta, at[2], device.stream), text);
    assert_int_equal(cuda.StreamEndCapture(device.stream, &graph), CUDA_SUCCESS);
    assert_int_equal(cuda.GraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    assert_int_equal(cuda.GraphLaunch(executable, device.stream), CUDA_SUCCESS);
    set_check(&s, 1, text);
    cuda.GraphExecDestroy(executable);
    cuda.GraphDestroy(graph);
    for (int i = 0; i < 3; i++) device_free(&array[i]);
    set_free(&s);
}

/* Items of odd lengths begin at any element. A long batch takes two launches. */
static inline void check_every_batch_of_pointers(unsigned flags)
{
    static const char *const shapes[] = {"33x65x17:batch=7",
                                         "100x90x80:batch=3:beta=2",
                                         "64x64x64:batch=64",
                                         "13x7x300:batch=5:lda=301:ldb=303:ldc=11:alpha=2:beta=-1",
                                         "130x70x4096:batch=2",
                                         "3x5x2:batch=65540:beta=1",
                                         "40x40x40"};
    struct gt_handle *handle = open_handle(flags);
    for (size_t o = 0; o < 4; o++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int skew = 0; skew <= 4; skew += 4) {
                char text[PROBLEM_TEXT_MAX];
                snprintf(text, sizeof text, "sgemm:%s:%s:pointers", ops[o], shapes[i]);
                check_pointers(handle, text, skew);
            }
    gt_close(handle);
}

#endif
