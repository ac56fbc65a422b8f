/* Calls of cuBLAS with random arguments, many of which are wrong, under the drop-in: each is either answered
 * by a kernel, and then such that a winner may be meant, or arrives at the program's cuBLAS as it was, once.
 * ROUNDS and SEED in the environment look longer. */
#include "dropin_calls.h"
#include "dropin_runs.h"
#include "pointer_sets.h"

static uint64_t state_of_draw;

static unsigned draw(unsigned limit)
{
    state_of_draw = state_of_draw * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(state_of_draw >> 33) % limit;
}

/* As the functions take them, in their order. */
struct arguments {
    int form, op_a, op_b, types;
    int64_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, batch;
    const void *alpha, *a, *b, *beta;
    void *c;
    blas_handle handle;
};

enum {
    SGEMM,
    SGEMM_64,
    STRIDED,
    STRIDED_64,
    BATCHED,
    BATCHED_64,
    EX,
    EX_64,
    STRIDED_EX,
    STRIDED_EX_64,
    FORMS
};

static bool is_wide(int form)
{
    return form == SGEMM_64 || form == STRIDED_64 || form == BATCHED_64 || form == EX_64 ||
           form == STRIDED_EX_64;
}

static bool is_batched(int form)
{
    return form == BATCHED || form == BATCHED_64;
}

static bool is_strided(int form)
{
    return form == STRIDED || form == STRIDED_64 || form == STRIDED_EX || form == STRIDED_EX_64;
}

#define FRONT     x->handle, x->op_a, x->op_b
#define SHORT     (int)x->m, (int)x->n, (int)x->k
#define LONG      x->m, x->n, x->k
#define FLOATS(p) ((const float *)x->p)

static int call(const struct arguments *x)
{
    const float *const *const items_a = x->a, *const *const items_b = x->b;
    float *const *const items_c = x->c;
    const int t = x->types ? 2 : BLAS_R_32F;
    switch (x->form) {
    case SGEMM:
        return cublasSgemm_v2(FRONT, SHORT, FLOATS(alpha), x->a, (int)x->lda, x->b, (int)x->ldb, FLOATS(beta),
                              x->c, (int)x->ldc);
    case SGEMM_64:
        return cublasSgemm_v2_64(FRONT, LONG, FLOATS(alpha), x->a, x->lda, x->b, x->ldb, FLOATS(beta), x->c,
                                 x->ldc);
    case STRIDED:
        return cublasSgemmStridedBatched(FRONT, SHORT, FLOATS(alpha), x->a, (int)x->lda, x->stride_a, x->b,
                                         (int)x->ldb, x->stride_b, FLOATS(beta), x->c, (int)x->ldc,
                                         x->stride_c, (int)x->batch);
    case STRIDED_64:
        return cublasSgemmStridedBatched_64(FRONT, LONG, FLOATS(alpha), x->a, x->lda, x->stride_a, x->b,
                                            x->ldb, x->stride_b, FLOATS(beta), x->c, x->ldc, x->stride_c,
                                            x->batch);
    case BATCHED:
        return cublasSgemmBatched(FRONT, SHORT, FLOATS(alpha), items_a, (int)x->lda, items_b, (int)x->ldb,
                                  FLOATS(beta), items_c, (int)x->ldc, (int)x->batch);
    case BATCHED_64:
        return cublasSgemmBatched_64(FRONT, LONG, FLOATS(alpha), items_a, x->lda, items_b, x->ldb,
                                     FLOATS(beta), items_c, x->ldc, x->batch);
    case EX:
        return cublasGemmEx(FRONT, SHORT, x->alpha, x->a, t, (int)x->lda, x->b, t, (int)x->ldb, x->beta, x->c,
                            t, (int)x->ldc, BLAS_COMPUTE_32F, -1);
    case EX_64:
        return cublasGemmEx_64(FRONT, LONG, x->alpha, x->a, t, x->lda, x->b, t, x->ldb, x->beta, x->c, t,
                               x->ldc, BLAS_COMPUTE_32F, -1);
    case STRIDED_EX:
        return cublasGemmStridedBatchedEx(FRONT, SHORT, x->alpha, x->a, t, (int)x->lda, x->stride_a, x->b, t,
                                          (int)x->ldb, x->stride_b, x->beta, x->c, t, (int)x->ldc,
                                          x->stride_c, (int)x->batch, BLAS_COMPUTE_32F, -1);
    default:
        return cublasGemmStridedBatchedEx_64(FRONT, LONG, x->alpha, x->a, t, x->lda, x->stride_a, x->b, t,
                                             x->ldb, x->stride_b, x->beta, x->c, t, x->ldc, x->stride_c,
                                             x->batch, BLAS_COMPUTE_32F, -1);
    }
}

/* The problems of the winners, and what is wrong of them. */
static void draw_call(struct arguments *x, const struct pointer_set *s)
{
    static const int64_t numbers[] = {-1,
                                      0,
                                      1,
                                      INT32_MAX,
                                      INT32_MIN,
                                      INT64_MAX,
                                      INT64_MIN,
                                      2147418112,
                                      INT64_C(2147418113),
                                      INT64_C(1) << 32,
                                      INT64_C(1) << 60};
    static const float scalars[] = {1, 0, -2};
    const struct problem *p = &s->o.problem;
    *x = (struct arguments){.form = (int)draw(FORMS),
                            .m = p->n,
                            .n = p->m,
                            .k = p->k,
                            .lda = p->ldb,
                            .ldb = p->lda,
                            .ldc = p->ldc,
                            .stride_a = p->stride_b,
                            .stride_b = p->stride_a,
                            .stride_c = p->stride_c,
                            .batch = p->batch,
                            .alpha = &scalars[draw(3)],
                            .beta = &scalars[draw(3)],
                            .handle = blas_context};
    const bool arrays = is_batched(x->form);
    x->a = arrays ? (const void *)s->b : s->o.b;
    x->b = arrays ? (const void *)s->a : s->o.a;
    x->c = arrays ? (void *)s->c : s->o.c;
    int64_t *const wide[] = {&x->m,   &x->n,        &x->k,        &x->lda,      &x->ldb,
                             &x->ldc, &x->stride_a, &x->stride_b, &x->stride_c, &x->batch};
    for (unsigned left = draw(3); left > 0; left--) switch (draw(6)) {
        case 0:
        case 1:
        case 2:
            *wide[draw(10)] = numbers[draw(11)];
            break;
        case 3:
            if (draw(2)) x->op_a = (int)draw(5) - 1;
            else x->op_b = (int)draw(5) - 1;
            break;
        case 4:
            if (draw(4) == 0) x->handle = NULL;
            else if (draw(2)) x->types = x->form >= EX;
            else if (draw(2)) x->alpha = NULL;
            else x->beta = NULL;
            break;
        default:
            if (!arrays) x->c = draw(2) ? NULL : (char *)x->c + draw(4);
            else x->batch = -(int64_t)draw(3);
        }
    if (!is_wide(x->form))
        for (int i = 0; i < 10; i++)
            if (i < 6 || i == 9) *wide[i] = (int)*wide[i];
    if (arrays && x->batch > p->batch) x->batch = p->batch; /* the fake looks at all of them */
    if (!arrays && !is_strided(x->form)) x->batch = 1;
}

static void see_kernel(const struct arguments *x, const struct problem *p)
{
    const struct gemm_args *args = &fake.launches[0].args;
    assert_true(x->handle && x->alpha && x->beta && x->c && !x->types);
    assert_true(x->op_a == p->trans_b && x->op_b == p->trans_a && x->m == p->n && x->n == p->m &&
                x->k == p->k);
    assert_true(x->lda == p->ldb && x->ldb == p->lda && x->ldc == p->ldc && x->batch == p->batch);
    assert_true((const void *)args->a == x->b && (const void *)args->b == x->a && (void *)args->c == x->c);
    assert_true(args->m == p->m && args->n == p->n && args->k == p->k);
    assert_true(*(const float *)x->alpha != 0);
    if (x->batch > 1 && is_strided(x->form))
        assert_true(x->stride_a == p->stride_b && x->stride_b == p->stride_a && x->stride_c == p->stride_c);
}

static void see_cublas(const struct arguments *x)
{
    const struct program_blas_last *last = &program_blas_last;
    if (!x->handle || x->types || x->batch < 1) return;
    /* The fake's forms that only call narrower ones. */
    if (x->form == EX || x->form == EX_64 || x->form == BATCHED_64 || x->form == STRIDED_EX_64) return;
    assert_true(last->op_a == x->op_a && last->op_b == x->op_b && last->m == x->m && last->n == x->n &&
                last->k == x->k && last->lda == x->lda && last->ldb == x->ldb && last->ldc == x->ldc);
    assert_true(last->alpha == x->alpha && last->beta == x->beta && last->a == x->a && last->b == x->b &&
                last->c == x->c && last->batch == x->batch);
}

static void a_call_is_a_winner_s_or_arrives_as_it_was(void **state)
{
    static const char *const texts[] = {"sgemm:nn:16x24x32:batch=3", "sgemm:nn:16x24x32"};
    const char *request = getenv("ROUNDS"), *seed = getenv("SEED");
    int by_kernels = 0, by_cublas = 0;
    (void)state;
    state_of_draw = seed ? strtoull(seed, NULL, 10) : 1;
    for (int i = 0; i < 2; i++)
        for (int pointers = 0; pointers < 2; pointers++)
            for (int adds = 0; adds < 2; adds++) {
                char text[PROBLEM_TEXT_MAX];
                snprintf(text, sizeof text, "%s%s%s", texts[i], pointers ? ":pointers" : "",
                         adds ? ":beta=1" : "");
                put_winner(text, pointers ? SIMT_ELEMENTS : SIMT, 5, false);
            }
    arrive();
    *fake.computes = 0;
    program_blas_idle = 1;
    struct pointer_set many = pointer_set_make(texts[0], 0), one_item = pointer_set_make(texts[1], 0);
    *fake.computes = 0;
    for (int i = 0, rounds = request ? atoi(request) : 4000; i < rounds; i++) {
        struct arguments x;
        const struct pointer_set *set = draw(2) ? &many : &one_item;
        draw_call(&x, set);
        set = x.batch == 1 ? &one_item : &many;
        *fake.launch_count = program_blas_calls = program_lt_calls = 0;
        const int result = call(&x);
        const int arrived = program_blas_calls + program_lt_calls;
        if (arrived + (*fake.launch_count > 0) != 1)
            fail_msg("form %d: %d calls arrived, %d launches, answer %d", x.form, arrived, *fake.launch_count,
                     result);
        if (arrived) see_cublas(&x), by_cublas++;
        else see_kernel(&x, &set->o.problem), assert_int_equal(result, 0), by_kernels++;
        if (!x.types && x.form != EX && x.form != EX_64) assert_int_equal(result != 0, !x.handle);
    }
    assert_true(by_kernels > 500 && by_cublas > 500);
    *fake.computes = 1;
    pointer_set_free(&many);
    pointer_set_free(&one_item);
}

static const struct scenario scenarios[] = {SCENARIO(a_call_is_a_winner_s_or_arrives_as_it_was)};

int main(int argc, char **argv)
{
    return dropin_main(argc, argv, "test_dropin_random", scenarios, sizeof scenarios / sizeof *scenarios,
                       NULL, 0);
}
