/* The runtime library without a GPU: random problems and calls, most of which are right, and the rest wrong
 * in one or more members. What is answered with GT_OK is what the definition says, in every element and in
 * none beside it; what is refused has launched nothing and says why. ROUNDS and SEED in the environment look
 * longer. */
#include "fake_epilogue.h"
#include "runtime_fakes.h"

enum { SIDE_MAX = 21, BATCH_MAX = 3, ROOM = 4096, GUARD = 64 };

static uint64_t state;

static unsigned draw(unsigned limit)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(state >> 33) % limit;
}

static bool one_in(unsigned n)
{
    return draw(n) == 0;
}

/* ---- memory, with guards at both ends ---- */

struct memory {
    float *at; /* after the guard */
    _Alignas(64) float floats[ROOM + 2 * GUARD];
};
static struct memory a, b, c, source, bias, workspace;

static void fill(struct memory *m)
{
    for (int i = 0; i < ROOM + 2 * GUARD; i++) m->floats[i] = (float)draw(9) - 4;
    m->at = m->floats + GUARD;
}

/* ---- a problem, a call ---- */

struct drawn {
    struct gt_problem p;
    struct gt_call call;
    float alpha, beta;
    const float *items_a[BATCH_MAX], *items_b[BATCH_MAX];
    float *items_c[BATCH_MAX];
    bool wrong; /* some member was spoilt */
};

static int64_t padded(int64_t length)
{
    return length + (one_in(3) ? draw(5) : 0);
}

static int64_t least(int64_t length)
{
    return length > 0 ? length : 1;
}

/* Rows and their length as stored. */
static void stored(const struct gt_problem *p, int which, int64_t *rows, int64_t *length)
{
    const int64_t m[] = {p->m, p->k, p->m}, n[] = {p->k, p->n, p->n};
    const bool trans = which == 0 ? p->trans_a : which == 1 ? p->trans_b : false;
    const bool by_columns = p->flags & GT_COLUMN_MAJOR;
    *rows = trans != by_columns ? n[which] : m[which];
    *length = trans != by_columns ? m[which] : n[which];
}

static void draw_problem(struct drawn *d)
{
    struct gt_problem *p = &d->p;
    *p = gt_problem_make(draw(SIDE_MAX), draw(SIDE_MAX), draw(SIDE_MAX));
    if (one_in(2)) p->m = p->m / 4 * 4, p->n = p->n / 4 * 4, p->k = p->k / 4 * 4;
    p->type = one_in(4) ? GT_TF32 : GT_SGEMM;
    p->trans_a = (int)draw(2);
    p->trans_b = (int)draw(2);
    p->alignment = (int[]){0, 4, 8, 16}[draw(4)];
    p->batch = one_in(12) ? 0 : one_in(2) ? 1 : 1 + draw(BATCH_MAX);
    if (one_in(2)) p->flags |= GT_COLUMN_MAJOR;
    if (one_in(4)) p->flags |= GT_SCALARS_ON_DEVICE;
    if (one_in(2)) p->flags |= GT_ADDS_TO_C;
    if (one_in(3)) p->flags |= GT_POINTER_ARRAYS;
    else if (one_in(2)) {
        p->bias = (int)draw(3);
        p->activation = (int)draw(3);
        if (one_in(2)) p->flags |= GT_OUT_OF_PLACE;
    }
    int64_t *const lds[] = {&p->lda, &p->ldb, &p->ldc};
    int64_t *const strides[] = {&p->stride_a, &p->stride_b, &p->stride_c};
    for (int i = 0; i < 3; i++) {
        int64_t rows, length;
        stored(p, i, &rows, &length);
        if (one_in(2)) *lds[i] = padded(least(length));
        if (p->flags & GT_POINTER_ARRAYS || (p->batch < 2 && one_in(2))) continue;
        if (i < 2 && one_in(6)) continue; /* the same for all */
        *strides[i] = padded(rows * (*lds[i] ? *lds[i] : least(length)));
    }
    if (p->bias && one_in(2)) p->stride_bias = draw(2) ? SIDE_MAX : draw(SIDE_MAX);
}

static int64_t ld_of(const struct gt_problem *p, int which)
{
    const int64_t ld = which == 0 ? p->lda : which == 1 ? p->ldb : p->ldc;
    int64_t rows, length;
    stored(p, which, &rows, &length);
    return ld ? ld : least(length);
}

static void draw_call(struct drawn *d)
{
    const struct gt_problem *p = &d->p;
    static const float scalars[] = {0, 1, -1, 2};
    d->alpha = scalars[draw(4)];
    d->beta = one_in(2) ? 0 : scalars[draw(4)];
    const unsigned skew = one_in(3) ? draw(4) : 0;
    struct memory *const all[] = {&a, &b, &c, &source, &bias, &workspace};
    for (int i = 0; i < 6; i++) fill(all[i]);
    all[draw(5)]->at += skew;
    d->call = gt_call_make(&d->alpha, a.at, b.at, &d->beta, c.at, stream);
    if (p->flags & GT_POINTER_ARRAYS) {
        for (int i = 0; i < BATCH_MAX; i++) {
            d->items_a[i] = a.at + (BATCH_MAX - 1 - i) * 700 + draw(4);
            d->items_b[i] = b.at + (BATCH_MAX - 1 - i) * 700 + draw(4);
            d->items_c[i] = c.at + (BATCH_MAX - 1 - i) * 700 + draw(4);
        }
        d->call.a = (const void *)d->items_a;
        d->call.b = (const void *)d->items_b;
        d->call.c = (void *)d->items_c;
    }
    if (p->bias) d->call.bias = bias.at;
    if (p->flags & GT_OUT_OF_PLACE) d->call.source = one_in(2) ? c.at : source.at;
    if (one_in(3)) {
        d->call.workspace = workspace.at + (one_in(4) ? draw(4) : 0);
        d->call.workspace_bytes = one_in(2) ? sizeof(float) * ROOM / 2 : draw(4096);
    }
    if (one_in(5)) d->call.flags = GT_AS_PLANNED;
}

/* One member of the problem or of the call becomes something else. */
static void spoil_it(struct drawn *d)
{
    static const int64_t numbers[] = {-1,
                                      0,
                                      1,
                                      INT64_MIN,
                                      INT64_MAX,
                                      INT32_MIN,
                                      INT32_MAX,
                                      INT64_C(2147418112),
                                      INT64_C(2147418113),
                                      INT64_C(1) << 31,
                                      INT64_C(1) << 32,
                                      INT64_C(1) << 60,
                                      INT64_C(1) << 62,
                                      INT64_C(3037000500)};
    const int64_t x = numbers[draw(sizeof numbers / sizeof *numbers)];
    int64_t *const wide[] = {&d->p.m,        &d->p.n,        &d->p.k,          &d->p.lda,
                             &d->p.ldb,      &d->p.ldc,      &d->p.batch,      &d->p.stride_a,
                             &d->p.stride_b, &d->p.stride_c, &d->p.stride_bias};
    int32_t *const narrow[] = {&d->p.type,      &d->p.trans_a, &d->p.trans_b,
                               &d->p.alignment, &d->p.bias,    &d->p.activation};
    const void **const places[] = {&d->call.alpha, &d->call.beta,   &d->call.a,
                                   &d->call.b,     &d->call.source, &d->call.bias};
    d->wrong = true;
    switch (draw(8)) {
    case 0:
    case 1:
    case 2:
        *wide[draw(11)] = x;
        break;
    case 3:
        *narrow[draw(6)] = (int32_t)x;
        break;
    case 4:
        d->p.flags ^= 1u << draw(8);
        break;
    case 5:
        if (one_in(2)) d->p.size = (uint32_t)x;
        else d->call.size = (uint32_t)x;
        break;
    case 6:
        *places[draw(6)] = one_in(2) ? NULL : c.at + draw(3);
        break;
    default:
        if (one_in(2)) d->call.c = one_in(2) ? NULL : (void *)(a.at + draw(8));
        else d->call.workspace = (void *)(uintptr_t)(4 * draw(8)), d->call.workspace_bytes = 0;
    }
}

/* ---- the answer ---- */

static float *element(const struct gt_problem *p, int which, float *at, int64_t item, int64_t row,
                      int64_t col)
{
    const int64_t ld = ld_of(p, which);
    const int64_t stride = which == 0 ? p->stride_a : which == 1 ? p->stride_b : p->stride_c;
    const bool trans = which == 0 ? p->trans_a : which == 1 ? p->trans_b : false;
    const bool by_columns = p->flags & GT_COLUMN_MAJOR;
    if (!(p->flags & GT_POINTER_ARRAYS) && p->batch > 1) at += item * stride;
    return trans != by_columns ? at + col * ld + row : at + row * ld + col;
}

static bool with_arrays(const struct gt_problem *p)
{
    return p->flags & GT_POINTER_ARRAYS;
}

/* What C must be, in `want`, which has been made a copy of all of its memory before the call. */
static void expect(const struct drawn *d, struct memory *want, const struct memory *old_c)
{
    const struct gt_problem *p = &d->p;
    const bool out = p->flags & GT_OUT_OF_PLACE && d->call.source != d->call.c;
    for (int64_t item = 0; item < p->batch; item++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                double sum = 0;
                float *const of_a = with_arrays(p) ? (float *)(uintptr_t)d->items_a[item] : a.at;
                float *const of_b = with_arrays(p) ? (float *)(uintptr_t)d->items_b[item] : b.at;
                float *const of_c = with_arrays(p) ? d->items_c[item] : c.at;
                for (int64_t l = 0; l < p->k; l++)
                    sum +=
                        (double)*element(p, 0, of_a, item, i, l) * (double)*element(p, 1, of_b, item, l, j);
                const ptrdiff_t at = element(p, 2, of_c, item, i, j) - c.floats;
                double x = d->alpha != 0 ? (double)d->alpha * sum : 0;
                if (d->beta != 0 && out) x += (double)d->beta * (double)*element(p, 2, source.at, item, i, j);
                else if (d->beta != 0) x += (double)d->beta * (double)old_c->floats[at];
                if (p->bias)
                    x += (double)bias.at[(p->batch > 1 ? item * p->stride_bias : 0) +
                                         (p->bias == GT_BIAS_ROW ? i : j)];
                const int activation = p->activation == GT_ACTIVATION_RELU   ? FAKE_RELU
                                       : p->activation == GT_ACTIVATION_GELU ? FAKE_GELU
                                                                             : 0;
                want->floats[at] = fake_activate(activation, x);
            }
}

static bool close_to(float x, float y)
{
    return x == y || fabsf(x - y) <= 1e-5f * fmaxf(1, fabsf(y));
}

/* The fake must know how the operands are stored by rows. */
static void tell_fake(const struct gt_problem *p)
{
    const bool by_columns = p->flags & GT_COLUMN_MAJOR;
    const int trans_a = by_columns ? p->trans_b : p->trans_a, trans_b = by_columns ? p->trans_a : p->trans_b;
    *fake.computes = 1 + 2 * (trans_a != 0) + 4 * (trans_b != 0);
}

static int work_done(void)
{
    return *fake.launch_count + *fake.blas_calls + *fake.blas_pointer_calls + *fake.lt_calls;
}

static int answers[6];

/* By what is drawn as right, too. */
static bool is_misused(const struct drawn *d)
{
    return (uintptr_t)d->call.workspace % 16 != 0 || d->call.flags & GT_AS_PLANNED;
}

/* open: a plan of its own, else gt_gemm. may_fail: the driver or cuBLAS are told to. */
static void ask(struct gt_handle *handle, struct drawn *d, bool open, bool may_fail)
{
    static struct memory old_c, want;
    old_c = c, want = c;
    tell_fake(&d->p);
    if (d->wrong) *fake.computes = 0;
    const int before = work_done();
    struct gt_plan *plan = NULL;
    enum gt_status status;
    if (open) {
        status = gt_plan_open(handle, &d->p, &plan);
        if (!status) status = gt_launch(plan, &d->call);
    } else {
        status = gt_gemm(handle, &d->p, &d->call);
    }
    if (status < GT_OK || status > GT_DEVICE) fail_msg("an answer of %d", (int)status);
    else answers[status]++;
    if (status && !gt_error_text()[0]) fail_msg("%d without a reason", (int)status);
    if (status == GT_INVALID && work_done() != before) fail_msg("%s, but something ran", gt_error_text());
    if (status && !d->wrong && !may_fail && !is_misused(d))
        fail_msg("a good call is answered with %d, %s", (int)status, gt_error_text());
    if (d->wrong || status > GT_INVALID) goto out; /* what the definition says of it nobody knows */
    if (!status) expect(d, &want, &old_c);
    for (int i = 0; i < ROOM + 2 * GUARD; i++)
        if (!close_to(c.floats[i], want.floats[i]))
            fail_msg("%lldx%lldx%lld batch %lld flags %x trans %d %d bias %d activation %d alpha %g beta %g: "
                     "element %d is %g, expected %g (was %g)",
                     (long long)d->p.m, (long long)d->p.n, (long long)d->p.k, (long long)d->p.batch,
                     d->p.flags, d->p.trans_a, d->p.trans_b, d->p.bias, d->p.activation, (double)d->alpha,
                     (double)d->beta, i, (double)c.floats[i], (double)want.floats[i],
                     (double)old_c.floats[i]);
out:
    gt_plan_close(plan);
}

/* ---- rounds ---- */

static void put_winners(void)
{
    static const char *const problems[] = {"sgemm:nn:16x16x16",
                                           "sgemm:nt:17x9x20:beta=1",
                                           "sgemm:tn:8x20x12:batch=3",
                                           "sgemm:tt:20x8x16:batch=2:beta=1",
                                           "sgemm:nn:16x20x8:batch=3:pointers",
                                           "sgemm:nt:20x16x8:batch=2:pointers:beta=1",
                                           "sgemm:nn:16x16x16:epilogue=bias",
                                           "sgemm:nn:16x16x16:beta=1:epilogue=rowbias+relu+out",
                                           "sgemm:tn:12x16x20:batch=2:epilogue=gelu",
                                           "tf32gemm:nn:16x16x16",
                                           "sgemm:nn:4x20x16",
                                           "sgemm:nt:20x4x16:beta=1"};
    static const char *const changes[] = {"VA=1 VB=1 VC=1",           "",
                                          "VA=1 VB=1 VC=1 SPLIT_K=2", "VA=1 VB=1 VC=1 SPLIT_K=3 REDUCE=1",
                                          "SPLIT_K=2 REDUCE=1",       "VA=2 VB=2 VC=2"};
    const size_t many = sizeof problems / sizeof *problems;
    for (size_t i = 0; i < many; i++)
        put_winner(problems[i], i % 7 == 6 ? NULL : config_text(5, changes[i % 6]), 5, false);
}

/* fails: what the fakes are told to refuse, or NULL. */
static void play(unsigned flags, int workspaces, const char *fails, int rounds)
{
    const struct gt_options options = {.size = sizeof options, .flags = flags, .workspaces = workspaces};
    struct gt_handle *handle = open_handle(&options);
    for (int i = 0; i < rounds; i++) {
        static struct drawn d;
        memset(&d, 0, sizeof d);
        draw_problem(&d);
        draw_call(&d);
        if (flags & GT_NO_CUBLAS && one_in(3))
            for (unsigned left = 1 + draw(2); left > 0; left--) spoil_it(&d);
        if (fails && one_in(3)) setenv("FAKE_GPU_FAIL", fails, 1);
        else unsetenv("FAKE_GPU_FAIL");
        ask(handle, &d, one_in(3), fails != NULL);
        if (one_in(200)) assert_gt(gt_trim(handle));
    }
    unsetenv("FAKE_GPU_FAIL");
    gt_close(handle);
}

static int rounds_of(int usual)
{
    const char *asked = getenv("ROUNDS"), *seed = getenv("SEED");
    state = seed ? strtoull(seed, NULL, 10) : 1;
    return asked ? atoi(asked) : usual;
}

TEST(a_right_call_is_answered_rightly_and_a_wrong_one_with_a_reason)
{
    const int rounds = rounds_of(3000);
    memset(answers, 0, sizeof answers);
    put_winners();
    setenv("GEMMTUNE_QUIET", "1", 1);
    play(0, 0, NULL, rounds);
    play(GT_NO_CUBLAS, 0, NULL, rounds);
    play(0, GT_NO_WORKSPACES, NULL, rounds);
    assert_true(answers[GT_OK] > answers[GT_INVALID] && answers[GT_INVALID] > rounds / 10);
}

TEST(what_a_failing_driver_answers_with_ok_is_right)
{
    static const char *const fails[] = {"cuLaunchKernel=701",   "cuMemAlloc=2,cuMemAllocFromPoolAsync=2",
                                        "cuModuleLoadData=209", "cuEventRecord=999",
                                        "cuFuncSetAttribute=1", "cuLaunchKernel=2",
                                        "cuMemsetD8Async=2",    "cuStreamGetCaptureInfo=901"};
    const int rounds = rounds_of(500);
    memset(answers, 0, sizeof answers);
    put_winners();
    setenv("GEMMTUNE_QUIET", "1", 1);
    for (size_t i = 0; i < sizeof fails / sizeof *fails; i++)
        for (unsigned flags = 0; flags <= GT_NO_CUBLAS; flags += GT_NO_CUBLAS)
            play(flags, 0, fails[i], rounds);
    assert_true(answers[GT_OK] > answers[GT_MEMORY] && answers[GT_MEMORY] > 0 && answers[GT_DEVICE] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKES(a_right_call_is_answered_rightly_and_a_wrong_one_with_a_reason),
        ON_FAKES(what_a_failing_driver_answers_with_ok_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
