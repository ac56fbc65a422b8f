/* test_suite.c — lists of problems as people and PyTorch write them. */
#include "unit.h"

#include "suite.h"
#include "suite_forms.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *read_as(const char *line, enum gemm_type type, const char *op)
{
    static char text[PROBLEM_TEXT_MAX];
    struct problem problem;
    enum status st = suite_line(line, type, op, &problem);
    if (st) snprintf(text, sizeof text, "%d: %.200s", (int)st, status_text());
    else problem_format(&problem, text);
    return text;
}

static const char *read_line(const char *line)
{
    return read_as(line, GEMM_SGEMM, NULL);
}

TEST(sizes_may_stand_between_blanks_or_commas)
{
    static const char *const same[] = {
        "64x128x256",    "64 128 256",          "64,128,256",    "64, 128, 256",
        "64\t128 , 256", "sgemm:nn:64 128 256", "nn:64,128 256", "sgemm:64,128,256:batch=1"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_string_equal(read_line(same[i]), "sgemm:nn:64x128x256");
    assert_string_equal(read_line("bf16gemm:nt:64 128 256:batch=2"), "bf16gemm:nt:64x128x256:batch=2");
    static const char *const wrong[] = {
        "64 128", "64,128,", "64,,128 256x", "64 128 256 512", "64x 128x256", "64 -1 256", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct problem problem;
        if (suite_line(wrong[i], GEMM_SGEMM, NULL, &problem) != E_INPUT) fail_msg("'%s' was read", wrong[i]);
    }
}

/* The lines of a range, each followed by a blank. */
static const char *lines_of(const char *text)
{
    static char all[2000];
    char line[SUITE_LINE_MAX];
    all[0] = '\0';
    for (int64_t m = 0; suite_range(text, &m, line);) {
        strncat(all, line, sizeof all - strlen(all) - 1);
        strncat(all, " ", sizeof all - strlen(all) - 1);
    }
    return all;
}

TEST(a_range_of_m_stands_for_its_ends_and_the_powers_of_two_between)
{
    assert_string_equal(lines_of("1..8x64x32"), "1x64x32 2x64x32 4x64x32 8x64x32 ");
    assert_string_equal(lines_of("hgemm:nt:5..33x64x32:beta=1"),
                        "hgemm:nt:5x64x32:beta=1 hgemm:nt:8x64x32:beta=1 hgemm:nt:16x64x32:beta=1 "
                        "hgemm:nt:32x64x32:beta=1 hgemm:nt:33x64x32:beta=1 ");
    assert_string_equal(lines_of("7..7x64x32"), "7x64x32 ");
    static const char *const alone[] = {"64x64x32", "",          "8..1x64x32",         "0..4x1x1",
                                        "..4x1x1",  "1..x1x1",   "1..99999999999x1x1", "1x1x1..4",
                                        "1x1..4x1", "-1..4x1x1", "1x1x1:batch=1..4"};
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        char line[SUITE_LINE_MAX];
        int64_t m = 0;
        assert_true(suite_range(alone[i], &m, line));
        assert_string_equal(line, alone[i]);
        assert_false(suite_range(alone[i], &m, line));
    }
}

TEST(type_and_op_are_for_lines_without_one)
{
    assert_string_equal(read_as("64 128 256", GEMM_BF16, "nt"), "bf16gemm:nt:64x128x256");
    assert_string_equal(read_as("hgemm:64x128x256", GEMM_BF16, "tt"), "hgemm:tt:64x128x256");
    assert_string_equal(read_as("nn:64x128x256", GEMM_BF16, "tt"), "bf16gemm:nn:64x128x256");
    assert_string_equal(read_as("sgemm:nt:4x4x4", GEMM_BF16, "tt"), "sgemm:nt:4x4x4");
}

TEST(heads_of_tables_hold_no_problem)
{
    static const char *const heads[] = {"M,N,K",
                                        "m n k",
                                        "M, N, K",
                                        "Validator,PT_VERSION,2.9.0",
                                        "PT_VERSION,2.9.0",
                                        "GCN_ARCH_NAME,gfx942"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct problem problem;
        assert_int_equal(suite_line(heads[i], GEMM_SGEMM, NULL, &problem), E_ABSENT);
        assert_string_equal(status_text(), "");
    }
}

/* TunableOp's matrices are column-major: m, n and the operands change places. */
TEST(tunableop_is_read_as_the_row_major_problem_of_the_same_addresses)
{
    assert_string_equal(read_line("GemmTunableOp_float_TN,tn_4096_8_1024_ld_1024_1024_4096"),
                        "sgemm:nt:8x4096x1024");
    assert_string_equal(read_line("GemmTunableOp_float_NT,nt_25088_4096_64,Gemm_Rocblas_1216,0.033"),
                        "sgemm:tn:4096x25088x64");
    assert_string_equal(read_line("GemmTunableOp_BFloat16_NN,nn_16_32_64_ld_20_64_16"),
                        "bf16gemm:nn:32x16x64:ldb=20");
    assert_string_equal(read_line("GemmTunableOp_tf32_NN,nn_16_32_64_ld_16_72_18"),
                        "tf32gemm:nn:32x16x64:lda=72:ldc=18");
    assert_string_equal(read_line("GemmStridedBatchedTunableOp_Half_TN,tn_256_128_64_B_12_ld_64_64_256"),
                        "hgemm:nt:128x256x64:batch=12");
    assert_string_equal(read_line("GemmAndBiasTunableOp_BFloat16_TN,tn_4096_8_1024_ld_1024_1024_4096"),
                        "bf16gemm:nt:8x4096x1024:epilogue=bias");
}

TEST(kinds_of_tunableop_that_are_not_done_are_left_out_with_a_reason)
{
    static const char *const lines[][2] = {
        {"ScaledGemmTunableOp_Float8_e4m3fn_Float8_e4m3fn_BFloat16_TN,tn_16_16_16_ld_16_16_16_rw_1_bias_None",
         "FP8"},
        {"GemmTunableOp_double_NN,nn_16_16_16_ld_16_16_16", "FP64"},
        {"GemmTunableOp_c10::complex<float>_NN,nn_16_16_16_ld_16_16_16", "complex"},
        {"GemmTunableOp_Nosuch_NN,nn_16_16_16_ld_16_16_16", "Nosuch"},
        {"GroupedGemmTunableOp_BFloat16_TN,tn_16_16_16", "grouped"},
        {"GemmTunableOp_float_CN,cn_16_16_16_ld_16_16_16", "conjugate"},
        {"NosuchTunableOp_float_NN,nn_16_16_16", "NosuchTunableOp"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct problem problem;
        assert_fails(suite_line(lines[i][0], GEMM_SGEMM, NULL, &problem), E_ABSENT, lines[i][1]);
    }
    static const char *const broken[] = {"GemmTunableOp_float_NN",          "GemmTunableOp_float_NN,",
                                         "GemmTunableOp_float_NN,nn_16_16", "GemmTunableOp,nn_16_16_16",
                                         "GemmTunableOp_float_NN,nn_a_b_c", "Gemm,__,_",
                                         "GemmTunableOp_float_NN,xx_1_1_1", "GemmTunableOp_float_NN,n_1_1_1"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct problem problem;
        if (suite_line(broken[i], GEMM_SGEMM, NULL, &problem) != E_INPUT)
            fail_msg("'%s' was read", broken[i]);
    }
}

/* What commands do with a problem on the command line. */
static const char *read_first(const char *text)
{
    char line[SUITE_LINE_MAX];
    int64_t m = 0;
    assert_true(suite_range(text, &m, line));
    return read_line(line);
}

/* Cut at any place it would be another problem: with leading zeros, every number can have any length. */
TEST(a_text_that_is_too_long_is_refused_and_never_another_problem)
{
    char text[2 * PROBLEM_TEXT_MAX];
    static const char *const forms[][2] = {{"64x64x64:ldc=", "128099"}, {"1..4x64x64:ldc=", "128099"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (int zeros = 300; zeros < PROBLEM_TEXT_MAX; zeros++) {
            snprintf(text, sizeof text, "%s%0*d%s", forms[i][0], zeros, 0, forms[i][1]);
            const char *read = read_first(text), *dots = strstr(text, "..4");
            if (strlen(text) - (dots ? strlen("..4") : 0) < PROBLEM_TEXT_MAX)
                assert_non_null(strstr(read, ":ldc=128099"));
            else if (!strstr(read, "a problem is at most 319 characters"))
                fail_msg("%zu characters: '%s'", strlen(text), read);
        }
    /* Blanks that are cut, too, and an op that is added. */
    snprintf(text, sizeof text, "64 64 64%*s:ldc=128099", 310, "");
    assert_non_null(strstr(read_first(text), "a problem is at most 319 characters"));
    snprintf(text, sizeof text, "64x64x64:ldc=%0*d", 303, 128);
    assert_string_equal(read_as(text, GEMM_SGEMM, "nt"), "sgemm:nt:64x64x64:ldc=128");
    snprintf(text, sizeof text, "64x64x64:ldc=%0*d", 306, 128);
    assert_non_null(strstr(read_as(text, GEMM_SGEMM, "nt"), "a problem is at most 319 characters"));
}

/* What it measured may be of any length. */
TEST(of_a_line_of_tunableop_the_first_two_columns_have_a_limit)
{
    char text[1000];
    for (int zeros = 180; zeros < 400; zeros++) {
        snprintf(text, sizeof text, "GemmTunableOp_float_NN,nn_16_32_%0*d", zeros, 64128);
        const char *read = read_line(text);
        if (strlen(text) < 256) assert_string_equal(read, "sgemm:nn:32x16x64128");
        else if (!strstr(read, "its first two columns have")) fail_msg("%zu: '%s'", strlen(text), read);
    }
    snprintf(text, sizeof text, "GemmTunableOp_float_NN,nn_16_32_64,%*s,0.03", 600, "Gemm_Rocblas");
    assert_string_equal(read_line(text), "sgemm:nn:32x16x64");
}

/* ---- other tools ---- */

/* Column-major, too. */
TEST(command_lines_and_lists_of_rocm_are_read_as_the_row_major_problem)
{
    static const char *const lines[][2] = {
        {"hipblaslt-bench --api_method c -m 1024 -n 512 -k 2048 --lda 2048 --ldb 2048 --ldc 1024 --ldd 1024 "
         "--stride_a 0 --stride_b 0 --stride_c 0 --alpha 1.000000 --beta 0.000000 --transA T --transB N "
         "--batch_count 1 --a_type f16_r --b_type f16_r --c_type f16_r --d_type f16_r --compute_type f32_r "
         "--activation_type none --any_stride",
         "hgemm:nt:512x1024x2048"},
        {"./rocblas-bench -f gemm -r f32_r --transposeA N --transposeB N -m 128 -n 256 -k 64 --alpha 1 --lda "
         "128 "
         "--ldb 72 --beta 0 --ldc 130",
         "sgemm:nn:256x128x64:lda=72:ldc=130"},
        {"rocblas-bench -f gemm_strided_batched_ex --transposeA N --transposeB T -m 128 -n 256 -k 64 "
         "--a_type "
         "bf16_r --lda 128 --stride_a 0 --b_type bf16_r --ldb 256 --stride_b 16384 --beta 1 --c_type f32_r "
         "--ldc "
         "128 --stride_c 32768 --batch_count 12 --compute_type f32_r",
         "bf16gemm:tn:256x128x64:c=f32:batch=12:stride_b=0:beta=1"},
        {"rocblas-bench -f gemm_batched_ex --transposeA=T -m 32 -n 2 -k 128 --a_type f16_r --batch_count 32",
         "hgemm:nt:2x32x128:batch=32:pointers"},
        {"hipblaslt-bench -m 64 -n 32 -k 16 -r f32_r --compute_type xf32_r --activation_type gelu "
         "--bias_vector 1",
         "tf32gemm:nn:32x64x16:epilogue=bias+gelu"},
        {"- { rocblas_function: \"rocblas_sgemm\", transA: 'N', transB: 'T', M: 100, N: 200, K: 300, lda: "
         "100, "
         "beta: 0.0, ldb: 200, ldc: 100, call_count: 1 }",
         "sgemm:tn:200x100x300"},
        {"rocblas-bench -f gemm -r h -m 8 -n 4 -k 2", "hgemm:nn:4x8x2"},
        {"hipblaslt-bench -m 8 -n 4 -k 2 --a_type h --compute_type s --swizzleA 0 --scaleA 0",
         "hgemm:nn:4x8x2"},
        {"hipblaslt-bench -m 8 -n 4 -k 2 -r f16_r --bias_vector --transA T", "hgemm:nt:4x8x2:epilogue=bias"},
        {"- { f: gemm, r: bf16_r, M: 8, N: 4, K: 2 }", "bf16gemm:nn:4x8x2"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_string_equal(read_line(lines[i][0]), lines[i][1]);
    static const char *const left_out[][2] = {
        {"hipblaslt-bench -m 8 -n 8 -k 8 --a_type f8_r --b_type f8_r --c_type f16_r", "FP8"},
        {"hipblaslt-bench -m 8 -n 8 -k 8 --a_type f16_r --b_type f32_r", "does not combine (f16_r, f32_r"},
        {"hipblaslt-bench -m 8 -n 8 -k 8 -r f16_r --compute_type f16_r", "FP16 sums"},
        {"hipblaslt-bench -m 8 -n 8 -k 8 -r f32_r --grouped_gemm 1", "grouped"},
        {"hipblaslt-bench -m 8 -n 8 -k 8 -r f32_r --activation_type swish", "swish"},
        {"rocblas-bench -f trsm -r f32_r -m 8 -n 8", "trsm"},
        {"- { rocblas_function: rocblas_zgemm, M: 8, N: 8, K: 8 }", "complex"},
        {"rocblas-bench -f gemm -r f32_r --transposeB C -m 8 -n 8 -k 8", "conjugate"},
        {"rocblas-bench -f gemm -r d -m 8 -n 8 -k 8", "FP64"},
        {"rocblas-bench -f gemm -r c -m 8 -n 8 -k 8", "complex"},
        {"rocblas-bench -f gemm -r z -m 8 -n 8 -k 8", "complex"},
        {"rocblas-bench -f gemm_ex -r h --compute_type h -m 8 -n 8 -k 8", "FP16 sums"},
        {"hipblaslt-bench -m 8 -n 8 -k 8 -r f16_r --scaleA 1", "'scaleA' (products with scales)"},
        {"hipblaslt-bench -m 8 -n 8 -k 8 -r f16_r --scaleA 0 --scaleB 2", "'scaleB'"},
        {"hipblaslt-bench -m 8 -n 8 -k 8 -r f16_r --swizzleA --transA T", "'swizzleA'"},
        {"hipblaslt-bench -m 8 -n 8 -k 8 -r f16_r --gradient", "gradients"}};
    struct problem problem;
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        assert_fails(suite_line(left_out[i][0], GEMM_SGEMM, NULL, &problem), E_ABSENT, left_out[i][1]);
    assert_fails(suite_line("hipblaslt-bench -m 8 -n 8", GEMM_SGEMM, NULL, &problem), E_INPUT, "m, n and k");
    assert_fails(suite_line("hipblaslt-bench -m 8 -n 8 -k x", GEMM_SGEMM, NULL, &problem), E_INPUT, "'x'");
}

/* A file of this text. */
static enum status read_text(const char *text, struct suite *suite)
{
    char path[] = "/tmp/gemmtune-suite-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    const enum status st = suite_read(path, GEMM_SGEMM, NULL, suite);
    unlink(path);
    return st;
}

static void assert_reads(const char *text, const char *const *problems)
{
    struct suite suite;
    char read[PROBLEM_TEXT_MAX];
    assert_ok(read_text(text, &suite));
    for (size_t i = 0; i < suite.count; i++) {
        problem_format(&suite.at[i], read);
        assert_non_null(problems[i]);
        assert_string_equal(read, problems[i]);
    }
    assert_null(problems[suite.count]);
    suite_free(&suite);
}

TEST(columns_of_a_table_are_found_by_their_names)
{
    assert_reads("name,K,us,N,M,TransB,DType,note\n\"a, "
                 "b\",64,1.5,128,256,T,bfloat16,x\nc,64,1.5,128,257,0,float32,\n",
                 (const char *const[]){"bf16gemm:nt:256x128x64", "sgemm:nn:257x128x64", NULL});
    assert_reads("k;n;m;batch\n1;2;3;4\n", (const char *const[]){"sgemm:nn:3x2x1:batch=4", NULL});
    assert_reads("gpu,problem,time_us\nNVIDIA H200,hgemm:nt:4x5x6,1.5\n",
                 (const char *const[]){"hgemm:nt:4x5x6", NULL});
    assert_reads("M,N,K\nnt:4,5,6\n", (const char *const[]){"sgemm:nt:4x5x6", NULL});
    /* hipblaslt-bench's own are column-major, and a name has an apostrophe. */
    assert_reads(
        "[0]:transA,transB,grouped_gemm,batch_count,m,n,k,lda,ldb,ldc,a_type,num_cu's,hipblaslt-Gflops,us\n"
        "    T,N,0,1,4,8,16,16,16,4,f16_r,0,1,2\n",
        (const char *const[]){"hgemm:nt:8x4x16", NULL});
    struct suite suite;
    assert_fails(read_text("m,n,k,us\n1,2,3,4\n1,,3,4\n", &suite), E_INPUT,
                 ":3: it does not say all of m, n and k");
}

/* One row of a table of m, n, k and these columns. */
static const char *read_row(const char *columns, const char *values)
{
    static char read[PROBLEM_TEXT_MAX + 300];
    char text[300];
    struct suite suite;
    snprintf(text, sizeof text, "m,n,k,%s\n128,256,64,%s\n128,256,72,\n", columns, values);
    const enum status st = read_text(text, &suite);
    if (st) snprintf(read, sizeof read, "%d: %s", (int)st, status_text());
    else if (suite.count < 2) snprintf(read, sizeof read, "left out, %s", suite.why);
    else problem_format(&suite.at[0], read);
    if (!st && *suite.unread) snprintf(read + strlen(read), 250, " not read: %s", suite.unread);
    if (!st) suite_free(&suite);
    return read;
}

TEST(columns_that_describe_the_problem_are_read_or_told)
{
    static const char *const rows[][3] = {
        {"op", "nt", "sgemm:nt:128x256x64"},
        {"trans", "NT", "sgemm:nt:128x256x64"},
        {"layout", "tn", "sgemm:tn:128x256x64"},
        {"type,op,epilogue", "bf16,nt,bias+gelu", "bf16gemm:nt:128x256x64:epilogue=bias+gelu"},
        {"dtype,epilogue", "f16,CUBLASLT_EPILOGUE_RELU_BIAS", "hgemm:nn:128x256x64:epilogue=bias+relu"},
        {"epilogue", "none", "sgemm:nn:128x256x64"},
        {"epilogue", "swiglu", "left out, line 2: gemmtune does not know 'swiglu' (unknown epilogues)"},
        {"bias,activation", "True,relu", "sgemm:nn:128x256x64:epilogue=bias+relu"},
        {"bias,activation", "False,none", "sgemm:nn:128x256x64"},
        {"batch_size", "4", "sgemm:nn:128x256x64:batch=4"},
        {"batch,pointers", "4,true", "sgemm:nn:128x256x64:batch=4:pointers"},
        {"batch,pointers", "4,0", "sgemm:nn:128x256x64:batch=4"},
        {"dtype,c", "bf16,f32", "bf16gemm:nn:128x256x64:c=f32"},
        {"type,d_type", "bf16,f32", "bf16gemm:nn:128x256x64:c=f32"},
        {"scaleA", "1", "left out, line 2: gemmtune does not know 'scaleA' (products with scales)"},
        /* one-letter names are options only; the order of the names counts, not that of the columns */
        {"r,f", "0.9,x", "sgemm:nn:128x256x64 not read: r, f"},
        {"type,dtype", "linear,bf16", "bf16gemm:nn:128x256x64"},
        /* a batch that is none is no batch of 1 */
        {"batch", "1", "sgemm:nn:128x256x64"},
        /* transposed or not */
        {"transa", "no_transpose", "sgemm:nn:128x256x64"},
        {"transa,transb", "rocblas_operation_transpose,CUBLAS_OP_N", "sgemm:tn:128x256x64"},
        {"transa,transb", "CblasNoTrans,CblasTrans", "sgemm:nt:128x256x64"},
        {"transa", "CUBLAS_OP_C",
         "left out, line 2: the op 'CUBLAS_OP_C' is neither n nor t (conjugate"
         " transposition)"},
        /* what is not read */
        {"name,us,TFLOPS,id,comment,problem_id", "a,1,2,3,x,9", "sgemm:nn:128x256x64"},
        {"groups,sparsity,groups", "8,0.5,8", "sgemm:nn:128x256x64 not read: groups, sparsity"},
        {"problem", "nt:1x2x3", "sgemm:nn:128x256x64 not read: problem"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const read = read_row(rows[i][0], rows[i][1]);
        if (strcmp(read, rows[i][2]) != 0) fail_msg("%s / %s: %s", rows[i][0], rows[i][1], read);
    }
    static const char *const refused[][3] = {{"op", "matmul", "the op 'matmul' is none of nn, nt, tn and tt"},
                                             {"layout", "tnt", "columns op trans layout"},
                                             {"batch", "two", "two"},
                                             {"batch", "-3", "-3"},
                                             {"batch", "0", "batch must be at least 1"},
                                             {"batch", "1x", "1x"},
                                             {"lda", "two", "two"},
                                             {"beta", "x", "x"},
                                             {"pointers", "maybe", "'maybe'"},
                                             {"epilogue", "relu+gelu", "two parts of a kind"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *const read = read_row(refused[i][0], refused[i][1]);
        char said[20];
        snprintf(said, sizeof said, "%d: ", (int)E_INPUT);
        if (strncmp(read, said, strlen(said)) != 0 || !strstr(read, refused[i][2]))
            fail_msg("%s / %s: %s", refused[i][0], refused[i][1], read);
    }
    struct suite suite;
    assert_ok(read_text("problem,batch,us\n4x5x6,2,1\n", &suite));
    assert_string_equal(suite.unread, "batch");
    suite_free(&suite);
}

static bool is_name_of_the_code(const char *name)
{
    bool is = false;
    for (size_t i = 0; i < SUITE_FIELDS; i++) is |= i != OF_CUTLASS && name_is_among(name, suite_names[i]);
    for (size_t i = 0; i < suite_switch_count; i++) is |= name_is_among(name, suite_switches[i][0]);
    return is;
}

/* The list of the manual: its lines are further in than the text around them, and what is in brackets
 * explains. Returns the names, each between blanks. */
static const char *names_of_the_manual(void)
{
    static char names[2000];
    FILE *file = fopen(GT_SOURCE_DIR "/tuner/manual.txt", "r");
    char line[200];
    bool in_list = false;
    assert_non_null(file);
    names[0] = '\0';
    while (fgets(line, sizeof line, file)) {
        if (in_list && strncmp(line, "        ", 8) != 0) break;
        for (char *at = line; in_list && *at; at++) {
            if (*at == '(') at += strcspn(at, ")");
            const size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%c", strchr(" ;)\n", *at) ? ' ' : *at);
        }
        in_list |= strstr(line, "These names are read:") != NULL;
    }
    fclose(file);
    return names;
}

TEST(the_manual_lists_the_names_that_are_read)
{
    const char *const listed = names_of_the_manual();
    char words[2000], *rest = NULL, wanted[100];
    snprintf(words, sizeof words, "%s", listed);
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (!is_name_of_the_code(word)) fail_msg("'%s' of the manual is not read", word);
    for (size_t i = 0; i < SUITE_FIELDS + suite_switch_count; i++) {
        if (i == OF_CUTLASS) continue;
        snprintf(words, sizeof words, "%s",
                 i < SUITE_FIELDS ? suite_names[i] : suite_switches[i - SUITE_FIELDS][0]);
        for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
            snprintf(wanted, sizeof wanted, " %s ", word);
            if (!strstr(listed, wanted)) fail_msg("'%s' is not in the manual", word);
        }
    }
}

/* Also where a program wrote the head again before each row. */
TEST(a_column_is_told_once)
{
    struct suite suite;
    assert_ok(read_text("m,n,k,x,xy\n1,2,3,4,5\nm,n,k,x,y\n1,2,3,4,5\n", &suite));
    assert_string_equal(suite.unread, "x, xy, y");
    assert_int_equal(suite.count, 2);
    suite_free(&suite);
}

TEST(commands_that_are_proposed_can_be_typed)
{
    char text[SUITE_COMMAND_MAX], path[SUITE_COMMAND_MAX];
    assert_string_equal(suite_command("a/b-1.txt", text), "tune --suite a/b-1.txt");
    assert_string_equal(suite_command("a b.txt", text), "tune --suite 'a b.txt'");
    assert_string_equal(suite_command("it's", text), "tune --suite 'it'\\''s'");
    memset(path, '\'', sizeof path);
    path[sizeof path - 1] = '\0';
    assert_true(strlen(suite_command(path, text)) < SUITE_COMMAND_MAX);
}

TEST(what_is_left_out_is_counted_by_kind)
{
    struct suite suite;
    assert_ok(read_text(
        "Validator,PT_VERSION,2.9.0\nValidator,LATER,a,b,c\nGroupedGemmTunableOp_float_NN,nn_1_1_1\n"
        "GemmTunableOp_float_CN,cn_1_1_1\nGemmTunableOp_float_NN,nn_1_1_1\n"
        "GroupedGemmTunableOp_float_NN,nn_1_1_2\n",
        &suite));
    assert_int_equal(suite.count, 1);
    assert_int_equal(suite.left_out, 3);
    assert_string_equal(suite.kinds[0].what, "grouped and MoE products");
    assert_int_equal(suite.kinds[0].count, 2);
    assert_string_equal(suite.kinds[1].what, "conjugate transposition");
    assert_null(suite.kinds[2].what);
    suite_free(&suite);
    assert_fails(read_text("GemmTunableOp_double_NN,nn_1_1_1\n", &suite), E_INPUT, "holds no problem");
}

TEST(a_file_of_another_tool_is_named_for_what_it_is)
{
    static const char *const files[][2] = {
        {"[{\"m\": 1, \"n\": 2, \"k\": 3}]\n", ":1: this looks like JSON"},
        {"Query device success: there are 1 devices\n", ":1: this looks like a log of hipblaslt-bench"},
        {"4 5 6\nhipBLASLt version: 100100\n", ":2: this looks like a log of hipblaslt-bench"},
        {"---\nTests:\n- m: 1\n", ":1: this looks like YAML"},
        {"Problem,Provider,OperationKind,m,n,k,A\n1,CUTLASS,gemm,1,2,3,f16:row\n", "CUTLASS's profiler"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct suite suite;
        assert_fails(read_text(files[i][0], &suite), E_INPUT, files[i][1]);
    }
}

TEST(lines_end_with_lf_or_cr_or_both)
{
    static const char *const texts[] = {"4 5 6\n7 8 9\n", "4 5 6\r\n7 8 9\r\n", "4 5 6\r7 8 9\r",
                                        "# a head\r4 5 6 # a tail\r\r7 8 9"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char path[] = "/tmp/gemmtune-suite-XXXXXX";
        struct suite suite;
        FILE *file = fdopen(mkstemp(path), "w");
        assert_non_null(file);
        fputs(texts[i], file);
        fclose(file);
        assert_ok(suite_read(path, GEMM_SGEMM, NULL, &suite));
        unlink(path);
        if (suite.count != 2) fail_msg("text %zu: %zu problems", i, suite.count);
        assert_true(suite.at[0].m == 4 && suite.at[1].k == 9);
        suite_free(&suite);
    }
}

TEST(a_file_may_mix_them)
{
    char path[] = "/tmp/gemmtune-suite-XXXXXX";
    struct suite suite;
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fputs("Validator,PT_VERSION,2.9.0\nGemmTunableOp_float_NN,nn_16_32_64_ld_16_64_16\n# M N K\n4 5 6 # a "
          "comment\n"
          "GemmTunableOp_double_NN,nn_16_16_16_ld_16_16_16\nnt:7x8x9\n",
          file);
    fclose(file);
    assert_ok(suite_read(path, GEMM_SGEMM, NULL, &suite));
    assert_int_equal(suite.count, 3);
    assert_int_equal(suite.left_out, 1);
    assert_non_null(strstr(suite.why, "line 5: gemmtune does not do FP64 products"));
    assert_true(suite.at[0].m == 32 && suite.at[1].k == 6 && suite.at[2].trans_b);
    suite_free(&suite);
    unlink(path);
}

TEST(standard_input_is_a_suite)
{
    char path[] = "/tmp/gemmtune-suite-XXXXXX";
    struct suite suite;
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fputs("1 2 3\n", file);
    fclose(file);
    assert_non_null(freopen(path, "r", stdin));
    assert_ok(suite_read("-", GEMM_SGEMM, NULL, &suite));
    assert_int_equal(suite.count, 1);
    suite_free(&suite);
    assert_fails(suite_read("-", GEMM_SGEMM, NULL, &suite), E_INPUT, "standard input holds no problem");
    unlink(path);
}

TEST(suite_errors_name_file_and_line)
{
    char path[] = "/tmp/gemmtune-suite-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    const char text[] = "# head\n\n4x4x4 # tail\n  nt:8x8x8  \nbroken\n";
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    struct suite suite;
    assert_fails(suite_read(path, GEMM_SGEMM, NULL, &suite), E_INPUT, ":5:");
    unlink(path);
    assert_fails(suite_read("/nonexistent/suite", GEMM_SGEMM, NULL, &suite), E_IO, "/nonexistent/suite");
}

/* Of bytes that never end, nothing is kept. */
TEST(endless_suites_are_refused_with_a_limit)
{
    static const struct {
        const char *text; /* again and again */
        int times;
        const char *said;
    } endless[] = {{"x", 70000, ":1: longer than 65535 bytes"},
                   {"# a comment\n", 1000001, "more than 1000000 lines"},
                   {"# a comment of a line that is as long as no line of a suite ever was, again and again\n",
                    800000, "larger than 64 MiB"}};
    struct suite suite;
    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
        char path[] = "/tmp/gemmtune-suite-XXXXXX";
        FILE *file = fdopen(mkstemp(path), "w");
        for (int t = 0; t < endless[i].times; t++) fputs(endless[i].text, file);
        fclose(file);
        assert_fails(suite_read(path, GEMM_SGEMM, NULL, &suite), E_INPUT, endless[i].said);
        unlink(path);
    }
    assert_fails(suite_read("/dev/zero", GEMM_SGEMM, NULL, &suite), E_INPUT, ":1: holds a NUL byte");
    assert_fails(suite_read("/proc/self/mem", GEMM_SGEMM, NULL, &suite), E_IO, "Input/output error");
    assert_fails(suite_read("/tmp", GEMM_SGEMM, NULL, &suite), E_IO, "Is a directory");
}

TEST(lines_of_a_suite_that_name_no_type_take_the_given_one)
{
    static const enum gemm_type wanted[] = {GEMM_TF32, GEMM_TF32, GEMM_SGEMM, GEMM_SGEMM_NORMWISE};
    struct suite suite;
    char path[] = "/tmp/gemmtune-suite-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    fputs("4x5x6\nnt:4x5x6\nsgemm:tt:4x5x6\nsgemm_normwise:4x5x6\n", file);
    fclose(file);
    assert_ok(suite_read(path, GEMM_TF32, NULL, &suite));
    unlink(path);
    assert_int_equal(suite.count, 4);
    for (int i = 0; i < 4; i++) assert_int_equal(suite.at[i].type, wanted[i]);
    assert_true(suite.at[1].trans_b && suite.at[2].trans_a);
    suite_free(&suite);
}

TEST(public_suite_has_33_problems)
{
    struct suite suite;
    assert_ok(suite_read(GT_SOURCE_DIR "/configs/suites/public.txt", GEMM_SGEMM, NULL, &suite));
    assert_int_equal(suite.count, 33);
    suite_free(&suite);
}

TEST(router_gates_are_12_problems)
{
    struct suite suite;
    assert_ok(suite_read(GT_SOURCE_DIR "/configs/suites/router-gates.txt", GEMM_SGEMM, NULL, &suite));
    assert_int_equal(suite.count, 12);
    for (size_t i = 0; i < suite.count; i++) {
        for (size_t j = 0; j < i; j++) assert_false(problem_equal(&suite.at[i], &suite.at[j]));
        assert_true(suite.at[i].trans_b && suite.at[i].type == GEMM_SGEMM);
    }
    suite_free(&suite);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_may_stand_between_blanks_or_commas),
        cmocka_unit_test(a_range_of_m_stands_for_its_ends_and_the_powers_of_two_between),
        cmocka_unit_test(type_and_op_are_for_lines_without_one),
        cmocka_unit_test(heads_of_tables_hold_no_problem),
        cmocka_unit_test(tunableop_is_read_as_the_row_major_problem_of_the_same_addresses),
        cmocka_unit_test(kinds_of_tunableop_that_are_not_done_are_left_out_with_a_reason),
        cmocka_unit_test(a_text_that_is_too_long_is_refused_and_never_another_problem),
        cmocka_unit_test(of_a_line_of_tunableop_the_first_two_columns_have_a_limit),
        cmocka_unit_test(command_lines_and_lists_of_rocm_are_read_as_the_row_major_problem),
        cmocka_unit_test(columns_of_a_table_are_found_by_their_names),
        cmocka_unit_test(columns_that_describe_the_problem_are_read_or_told),
        cmocka_unit_test(the_manual_lists_the_names_that_are_read),
        cmocka_unit_test(a_column_is_told_once),
        cmocka_unit_test(commands_that_are_proposed_can_be_typed),
        cmocka_unit_test(what_is_left_out_is_counted_by_kind),
        cmocka_unit_test(a_file_of_another_tool_is_named_for_what_it_is),
        cmocka_unit_test(lines_end_with_lf_or_cr_or_both),
        cmocka_unit_test(a_file_may_mix_them),
        cmocka_unit_test(standard_input_is_a_suite),
        cmocka_unit_test(suite_errors_name_file_and_line),
        cmocka_unit_test(endless_suites_are_refused_with_a_limit),
        cmocka_unit_test(lines_of_a_suite_that_name_no_type_take_the_given_one),
        cmocka_unit_test(public_suite_has_33_problems),
        cmocka_unit_test(router_gates_are_12_problems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
