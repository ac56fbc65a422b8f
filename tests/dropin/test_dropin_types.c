/* Calls of cuBLAS with 16-bit elements under the drop-in, which algorithms of cublasLt that won compute: in
 * every form, and where the types, the math mode or the operands are such that they are passed on.
 */
#include "dropin_types.h"
#include "files.h"
#include "suite.h"

static int gemm_ex_64(const struct half_set *s)
{
    OF(s);
    return cublasGemmEx_64(blas_context, op_a, op_b, m, n, k, &alpha, s->b, type, p->ldb, s->a, type, p->lda,
                           &beta, s->c, s->type_c, p->ldc, BLAS_COMPUTE_32F, -1);
}

static int sgemm_ex(const struct half_set *s)
{
    OF(s);
    return cublasSgemmEx(blas_context, op_a, op_b, (int)m, (int)n, (int)k, &alpha, s->b, type, (int)p->ldb,
                         s->a, type, (int)p->lda, &beta, s->c, s->type_c, (int)p->ldc);
}

static int sgemm_ex_64(const struct half_set *s)
{
    OF(s);
    return cublasSgemmEx_64(blas_context, op_a, op_b, m, n, k, &alpha, s->b, type, p->ldb, s->a, type, p->lda,
                            &beta, s->c, s->type_c, p->ldc);
}

static int strided_ex(const struct half_set *s)
{
    OF(s);
    return cublasGemmStridedBatchedEx(blas_context, op_a, op_b, (int)m, (int)n, (int)k, &alpha, s->b, type,
                                      (int)p->ldb, p->stride_b, s->a, type, (int)p->lda, p->stride_a, &beta,
                                      s->c, s->type_c, (int)p->ldc, p->stride_c, (int)p->batch,
                                      BLAS_COMPUTE_32F, -1);
}

static int strided_ex_64(const struct half_set *s)
{
    OF(s);
    return cublasGemmStridedBatchedEx_64(blas_context, op_a, op_b, m, n, k, &alpha, s->b, type, p->ldb,
                                         p->stride_b, s->a, type, p->lda, p->stride_a, &beta, s->c, s->type_c,
                                         p->ldc, p->stride_c, p->batch, BLAS_COMPUTE_32F, -1);
}

static const struct {
    const char *name;
    int (*call)(const struct half_set *s);
    bool batch;
} forms[] = {{"cublasGemmEx", gemm_ex, false},
             {"cublasGemmEx_64", gemm_ex_64, false},
             {"cublasSgemmEx", sgemm_ex, false},
             {"cublasSgemmEx_64", sgemm_ex_64, false},
             {"cublasLtMatmul", matmul, false},
             {"cublasLtMatmul", matmul, true},
             {"cublasGemmStridedBatchedEx", strided_ex, true},
             {"cublasGemmStridedBatchedEx_64", strided_ex_64, true}};
static const char *const texts[][2] = {
    {"bf16gemm:tn:16x24x32:lda=24:ldb=40:ldc=48", "bf16gemm:nn:16x24x32:batch=3:lda=40"},
    {"hgemm:nn:16x24x32:beta=1", "hgemm:nt:16x24x32:batch=3:stride_b=0"},
    {"bf16gemm:nt:16x24x32:c=f32:beta=1", "bf16gemm:tt:16x24x32:c=f32:batch=2"},
    {"hgemm:tn:16x24x32:c=f32", "hgemm:nn:16x24x32:c=f32:batch=3:stride_a=0"}};
enum { TYPES = sizeof texts / sizeof *texts };

TEST(sixteen_bits_are_answered_in_every_form)
{
    const bool winners = !getenv("NO_WINNERS");
    for (int i = 0; i < 2 * TYPES && winners; i++) put_winner(texts[i / 2][i % 2], LT_ALGORITHM, 5, false);
    arrive();
    for (int type = 0; type < TYPES; type++)
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            struct half_set s = half_set_make(texts[type][forms[i].batch], 0);
            assert_answered(forms[i].call(&s), winners);
            if (winners) half_set_check(&s, forms[i].name);
            half_set_free(&s);
        }
}

/* With winners for the same sizes in all types. */
TEST(types_that_are_no_row_of_the_table_are_cublas_s)
{
    static const int wrong[][4] = {{BLAS_R_16BF, BLAS_R_16BF, BLAS_R_16BF, BLAS_COMPUTE_32F_PEDANTIC},
                                   {BLAS_R_16BF, BLAS_R_16BF, BLAS_R_16BF, FAST_16BF},
                                   {BLAS_R_16BF, BLAS_R_16BF, BLAS_R_16BF, BLAS_COMPUTE_32F_FAST_TF32},
                                   {BLAS_R_16BF, BLAS_R_16BF, BLAS_R_16BF, -1},
                                   {BLAS_R_16BF, BLAS_R_16F, BLAS_R_16BF, BLAS_COMPUTE_32F},
                                   {BLAS_R_16F, BLAS_R_16F, BLAS_R_16BF, BLAS_COMPUTE_32F},
                                   {BLAS_R_16F, BLAS_R_16F, BLAS_R_16F, COMPUTE_16F},
                                   {BLAS_R_16F, BLAS_R_16F, BLAS_R_16F, FAST_16F},
                                   {BLAS_R_16F, BLAS_R_16F, BLAS_R_32F, BLAS_COMPUTE_32F_PEDANTIC},
                                   {BLAS_R_16BF, BLAS_R_16F, BLAS_R_32F, BLAS_COMPUTE_32F},
                                   {BLAS_R_32F, BLAS_R_32F, BLAS_R_16F, BLAS_COMPUTE_32F},
                                   {R_64F, R_64F, R_64F, BLAS_COMPUTE_32F},
                                   {-1, 1 << 30, BLAS_R_16F, BLAS_COMPUTE_32F}};
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    put_winner("hgemm:nn:16x24x32", LT_ALGORITHM, 5, false);
    struct half_set s = arrive_with("bf16gemm:nn:16x24x32", LT_ALGORITHM, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_answered(gemm_ex(&s), 1);
        assert_answered(gemm_ex_as(&s, wrong[i][0], wrong[i][1], wrong[i][2], wrong[i][3]), 0);
        assert_int_equal(*fake.launch_count, 0);
    }
    assert_answered(gemm_ex_as(&s, BLAS_R_16F, BLAS_R_16F, BLAS_R_16F, BLAS_COMPUTE_32F), 1);
    half_set_free(&s);
}

TEST(a_winner_answers_its_own_type_only)
{
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    put_winner("bf16gemm:nn:16x24x48", LT_ALGORITHM, 5, false);
    arrive();
    struct half_set s = half_set_make("bf16gemm:nn:16x24x32", 0), t = half_set_make("hgemm:nn:16x24x48", 0);
    assert_answered(gemm_ex(&s), 0);
    assert_answered(matmul(&s), 0);
    assert_answered(gemm_ex(&t), 0);
    assert_answered(matmul(&t), 0);
    half_set_free(&s);
    half_set_free(&t);
    struct operand_set o = operands_make("sgemm:nn:16x24x48", 0);
    assert_went(sgemm(&o, &one, &zero), 0, 1);
    operands_free(&o);
}

TEST(tensor_cores_are_used_unless_the_math_mode_is_pedantic)
{
    static const struct {
        int mode, ours;
    } modes[] = {{0, 1}, {1, 1}, {2, 0}, {3, 1}, {4, 0}, {16, 1}, {18, 0}, {19, 1}};
    struct half_set s = arrive_with("bf16gemm:nn:16x24x32", LT_ALGORITHM, 0);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        cublasSetMathMode(blas_context, modes[i].mode);
        assert_answered(gemm_ex(&s), modes[i].ours);
    }
    cublasSetMathMode(blas_context, 0);
    cublasSetSmCountTarget(blas_context, 64);
    assert_answered(gemm_ex(&s), 0);
    half_set_free(&s);
}

/* CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION is 16; cublasLt's preference is not part of a call. */
TEST(partial_sums_in_16_bits_answer_no_call)
{
    static const struct {
        const char *problem, *config;
        int narrow;
    } winners[] = {{"bf16gemm:nn:16x24x32", LT_ALGORITHM_ADDS("0"), 0},
                   {"bf16gemm:nn:16x24x40", LT_ALGORITHM_ADDS("1"), 1},
                   {"hgemm:nn:16x24x48", LT_ALGORITHM_ADDS("2"), 0},
                   {"hgemm:nn:16x24x56", LT_ALGORITHM_ADDS("4"), 1},
                   {"hgemm:nn:16x24x64:c=f32", LT_ALGORITHM_ADDS("4"), 0}}; /* C is as wide as the sums */
    for (int i = 0; i < 5; i++) put_winner(winners[i].problem, winners[i].config, 5, false);
    arrive();
    for (int i = 0; i < 5; i++) {
        struct half_set s = half_set_make(winners[i].problem, 0);
        for (int again = 0; again < 2; again++) {
            cublasSetMathMode(blas_context, 16);
            assert_answered(gemm_ex(&s), !winners[i].narrow);
            assert_answered(matmul(&s), !winners[i].narrow);
            cublasSetMathMode(blas_context, 0);
            assert_answered(gemm_ex(&s), !winners[i].narrow);
        }
        half_set_free(&s);
    }
}

/* An algorithm takes multiples of 16 bytes; what one call's addresses are says nothing of the next call. */
TEST(halves_at_any_address_are_answered_or_passed_on)
{
    put_winner("hgemm:nn:16x24x32:c=f32", LT_ALGORITHM, 5, false);
    struct half_set s = arrive_with("hgemm:nn:16x24x32", LT_ALGORITHM, 0);
    for (int skew = 1; skew <= 8; skew *= 2) {
        struct half_set t = half_set_make("hgemm:nn:16x24x32", skew);
        assert_answered(gemm_ex(&t), skew == 8);
        assert_answered(matmul(&t), skew == 8);
        assert_answered(gemm_ex(&s), 1);
        half_set_free(&t);
    }
    struct half_set odd = s;
    odd.a = (const char *)s.a + 1;
    assert_answered(gemm_ex(&odd), 0);
    assert_answered(matmul(&odd), 0);
    odd.a = NULL;
    assert_answered(gemm_ex(&odd), 0);
    struct half_set wide = half_set_make("hgemm:nn:16x24x32:c=f32", 0);
    odd = wide;
    odd.c = (char *)wide.c + 2; /* within an element */
    for (int again = 0; again < 2; again++) {
        assert_answered(gemm_ex(&odd), 0);
        assert_answered(matmul(&odd), 0);
        assert_answered(gemm_ex(&wide), 1);
    }
    half_set_free(&wide);
    half_set_free(&s);
}

TEST(scalars_on_the_device_are_read_there)
{
    char on_device[] = LT_ALGORITHM;
    memcpy(strstr(on_device, "W2=0"), "W2=1", 4); /* where the fake keeps the mode */
    put_winner("hgemm:nn:16x24x32", on_device, 5, false);
    struct half_set s = arrive_with("bf16gemm:nn:16x24x32", LT_ALGORITHM, 0),
                    t = half_set_make("hgemm:nn:16x24x32:alpha=2", 0);
    cublasSetPointerMode_v2(blas_context, BLAS_DEVICE_SCALARS);
    assert_answered(gemm_ex(&s), 0); /* cublasLt refuses the algorithm with scalars on the device */
    assert_answered(gemm_ex(&t), 1);
    half_set_check(&t, "scalars on the device");
    cublasSetPointerMode_v2(blas_context, 2);
    assert_answered(gemm_ex(&t), 0);
    half_set_free(&s);
    half_set_free(&t);
}

TEST(halves_behind_pointers_have_no_winner_yet)
{
    arrive();
    struct half_set s = half_set_make("bf16gemm:nn:16x24x32", 0);
    const void *const a[] = {s.a}, *const b[] = {s.b};
    void *const c[] = {s.c};
    const int t = s.type;
    assert_answered(cublasGemmBatchedEx(blas_context, 0, 0, 24, 16, 32, &one, b, t, 24, a, t, 32, &zero, c, t,
                                        24, 1, BLAS_COMPUTE_32F, -1),
                    0);
    half_set_free(&s);
}

static void problems_of_any_type_are_excluded(void **state)
{
    (void)state;
    put_winner("hgemm:nn:16x24x32", LT_ALGORITHM, 5, false);
    put_winner("hgemm:nt:16x24x32", LT_ALGORITHM, 5, false);
    struct half_set s = arrive_with("bf16gemm:nn:16x24x32", LT_ALGORITHM, 0),
                    t = half_set_make("hgemm:nn:16x24x32", 0), u = half_set_make("hgemm:nt:16x24x32", 0);
    assert_answered(gemm_ex(&s), 0);
    assert_answered(gemm_ex(&t), 0);
    assert_answered(gemm_ex(&u), 1);
    half_set_free(&s);
    half_set_free(&t);
    half_set_free(&u);
}

static const struct scenario scenarios[] = {
    SCENARIO(sixteen_bits_are_answered_in_every_form),
    {"sixteen_bits_without_a_winner_are_cublas_s", sixteen_bits_are_answered_in_every_form, "NO_WINNERS",
     "1"},
    SCENARIO(types_that_are_no_row_of_the_table_are_cublas_s),
    SCENARIO(a_winner_answers_its_own_type_only),
    {"a_log_changes_nothing_of_that", a_winner_answers_its_own_type_only, "GEMMTUNE_LOG", "1"},
    SCENARIO(tensor_cores_are_used_unless_the_math_mode_is_pedantic),
    SCENARIO(partial_sums_in_16_bits_answer_no_call),
    SCENARIO(halves_at_any_address_are_answered_or_passed_on),
    SCENARIO(scalars_on_the_device_are_read_there),
    SCENARIO(halves_behind_pointers_have_no_winner_yet),
    {"problems_of_any_type_are_excluded", problems_of_any_type_are_excluded, "GEMMTUNE_EXCLUDE",
     "bf16gemm:*,hgemm:nn:16x24x32"},
};

/* ---- captures and logs ---- */

static void the_capture_names_the_type(void **state)
{
    struct suite suite;
    char path[] = "/tmp/gemmtune-suite-XXXXXX";
    (void)state;
    setenv("NO_WINNERS", "1", 1);
    const char *text = scenario_capture("sixteen_bits_are_answered_in_every_form");
    unsetenv("NO_WINNERS");
    for (int i = 0; i < 2 * TYPES; i++) {
        char line[PROBLEM_TEXT_MAX + 32];
        snprintf(line, sizeof line, "\n%s  # count=%d\n", texts[i / 2][i % 2], i % 2 ? 3 : 5);
        if (!strstr(text, line)) fail_msg("'%s' is not in %s", line, text);
    }
    assert_int_equal(lines_in(text), 1 + 2 * TYPES);
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_ok(suite_read(path, GEMM_SGEMM, NULL, &suite));
    assert_int_equal(suite.count, 2 * TYPES);
    int of_type[GEMM_TYPE_COUNT] = {0};
    for (size_t i = 0; i < suite.count; i++) of_type[suite.at[i].type]++;
    assert_true(of_type[GEMM_BF16] == 2 && of_type[GEMM_F16] == 2 && of_type[GEMM_BF16_TO_F32] == 2 &&
                of_type[GEMM_F16_TO_F32] == 2);
    suite_free(&suite);
    unlink(path);
}

static void the_log_says_why_a_call_is_passed_on(void **state)
{
    (void)state;
    assert_logged("sixteen_bits_are_answered_in_every_form",
                  "cublasGemmEx bf16gemm:tn:16x24x32:lda=24:ldb=40:ldc=48 -> tuned kernel: 1.250 times as "
                  "fast as cuBLAS, measured, cublaslt ALGO=21");
    assert_logged("types_that_are_no_row_of_the_table_are_cublas_s",
                  "cublasGemmEx -> cuBLAS: its types and its compute type are none of FP32, TF32, BF16 and "
                  "FP16 with FP32 sums");
    assert_logged("tensor_cores_are_used_unless_the_math_mode_is_pedantic",
                  "-> cuBLAS: its math mode is neither the default nor TF32");
    assert_logged("partial_sums_in_16_bits_answer_no_call",
                  "cublasGemmEx bf16gemm:nn:16x24x40 -> cuBLAS: no winner is known for this problem");
}

static void a_type_that_the_gpu_lacks_is_cublas_s(void **state)
{
    (void)state;
    setenv("FAKE_GPU_ARCH", "75", 1);
    setenv("NO_WINNERS", "1", 1);
    assert_logged("sixteen_bits_are_answered_in_every_form", "-> cuBLAS: the GPU has no units for its type");
    const char *text = scenario_capture("sixteen_bits_are_answered_in_every_form");
    assert_non_null(strstr(text, "\n# left out: count=16 the GPU has no units for its type\n"));
    assert_null(strstr(text, "bf16gemm"));
    assert_non_null(strstr(text, "\nhgemm:nn:16x24x32:beta=1  # count=5\n"));
    unsetenv("FAKE_GPU_ARCH");
    unsetenv("NO_WINNERS");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest left[] = {
        cmocka_unit_test(the_capture_names_the_type),
        cmocka_unit_test(the_log_says_why_a_call_is_passed_on),
        cmocka_unit_test(a_type_that_the_gpu_lacks_is_cublas_s),
    };
    return dropin_main(argc, argv, "test_dropin_types", scenarios, sizeof scenarios / sizeof *scenarios, left,
                       sizeof left / sizeof *left);
}
