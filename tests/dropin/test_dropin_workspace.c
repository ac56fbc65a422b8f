/* The device memory that the program gave cuBLAS for a handle is the kernel's, too, as long as it is
 * cuBLAS's. */
#include "dropin_calls.h"
#include "dropin_runs.h"

#define PROBLEM "sgemm:nn:64x64x64" /* its winner splits K in 4 */
enum { ENOUGH = 4 * 64 * 64 * sizeof(float), HANDLES = 3000 };

static char memory[2][ENOUGH] __attribute__((aligned(256)));
static struct operand_set operands;

static void begin(void)
{
    put_winner(PROBLEM, SIMT_SPLIT, 5, false);
    arrive();
    operands = operands_make(PROBLEM, 0);
    assert_int_equal(sgemm_of(&operands), 0);
}

/* The workspace of a call, which is split whoever has it. */
static void *workspace_of(int (*call)(void))
{
    *fake.launch_count = program_blas_calls = 0;
    assert_int_equal(call(), 0);
    assert_int_equal(program_blas_calls, 0);
    assert_int_equal(*fake.launch_count, 2); /* the parts and their sum */
    assert_int_equal(fake.launches[0].args.splits, 4);
    operands_check(&operands, 1, "in some workspace");
    return fake.launches[0].args.workspace;
}

static int multiply(void)
{
    return sgemm_of(&operands);
}

static bool is_programs(const void *workspace)
{
    return (const char *)workspace >= memory[0] && (const char *)workspace < memory[0] + sizeof memory;
}

TEST(a_handles_workspace_is_used_as_long_as_it_has_it)
{
    begin();
    assert_false(is_programs(workspace_of(multiply)));
    assert_int_equal(cublasSetWorkspace_v2(blas_context, memory[0], ENOUGH), 0);
    assert_ptr_equal(workspace_of(multiply), memory[0]);
    assert_int_equal(cublasSetWorkspace_v2(blas_context, memory[1], ENOUGH), 0);
    assert_ptr_equal(workspace_of(multiply), memory[1]);
    assert_int_not_equal(cublasSetWorkspace_v2(blas_context, memory[0] + 4, ENOUGH - 4), 0);
    assert_ptr_equal(workspace_of(multiply), memory[1]); /* cuBLAS refused the other */
    assert_int_equal(cublasSetStream_v2(blas_context, stream), 0);
    assert_false(is_programs(workspace_of(multiply)));
    assert_int_equal(cublasSetWorkspace_v2(blas_context, memory[0], ENOUGH), 0);
    assert_ptr_equal(workspace_of(multiply), memory[0]);
    assert_int_equal(cublasSetWorkspace_v2(blas_context, NULL, 0), 0);
    assert_false(is_programs(workspace_of(multiply)));
    operands_free(&operands);
}

TEST(one_that_does_not_suffice_is_left_alone)
{
    begin();
    assert_int_equal(cublasSetWorkspace_v2(blas_context, memory[0], ENOUGH - 256), 0);
    assert_false(is_programs(workspace_of(multiply)));
    operands_free(&operands);
}

static void each_handle_has_its_own_until_it_is_destroyed(void **state)
{
    blas_handle first, second;
    (void)state;
    begin();
    first = blas_context;
    assert_int_equal(cublasCreate_v2(&second), 0);
    assert_int_equal(cublasSetStream_v2(second, stream), 0);
    assert_int_equal(cublasSetWorkspace_v2(first, memory[0], ENOUGH), 0);
    assert_int_equal(cublasSetWorkspace_v2(second, memory[1], ENOUGH), 0);
    assert_ptr_equal(workspace_of(multiply), memory[0]);
    blas_context = second;
    assert_ptr_equal(workspace_of(multiply), memory[1]);
    blas_context = first;
    program_blas_keeps = 1; /* the next handle gets the address of this one */
    assert_int_equal(cublasDestroy_v2(first), 0);
    assert_int_equal(cublasCreate_v2(&blas_context), 0);
    assert_ptr_equal(blas_context, first);
    assert_false(is_programs(workspace_of(multiply)));
    operands_free(&operands);
}

static void many_handles_come_and_go(void **state)
{
    static blas_handle handles[HANDLES];
    int own = 0;
    (void)state;
    begin();
    assert_int_equal(cublasDestroy_v2(blas_context), 0);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < HANDLES; i++) {
            assert_int_equal(cublasCreate_v2(&handles[i]), 0);
            assert_int_equal(cublasSetStream_v2(handles[i], stream), 0);
            assert_int_equal(cublasSetWorkspace_v2(handles[i], memory[i % 2], ENOUGH), 0);
        }
        for (int i = 0; i < HANDLES; i += 100) {
            blas_context = handles[i];
            void *used = workspace_of(multiply);
            own += used == memory[i % 2];
            assert_true(used == memory[i % 2] || !is_programs(used)); /* at times ours: there is no room */
        }
        for (int i = 0; i < HANDLES; i++) assert_int_equal(cublasDestroy_v2(handles[i]), 0);
    }
    assert_in_range(own, 2, 2 * HANDLES / 100);
    operands_free(&operands);
}

/* ---- cublasLt: the workspace is an argument ---- */

static struct lt_call lt;
static void *lt_workspace;
static size_t lt_bytes;

static int multiply_lt(void)
{
    return cublasLtMatmul(lt_context, lt.desc, &one, operands.b, lt.a, operands.a, lt.b, &zero, operands.c,
                          lt.c, operands.c, lt.c, NULL, lt_workspace, lt_bytes, stream);
}

TEST(a_matmuls_workspace_is_used)
{
    begin();
    cublasLtMatmulDescCreate(&lt.desc, BLAS_COMPUTE_32F, BLAS_R_32F);
    cublasLtMatrixLayoutCreate(&lt.a, BLAS_R_32F, 64, 64, 64);
    cublasLtMatrixLayoutCreate(&lt.b, BLAS_R_32F, 64, 64, 64);
    cublasLtMatrixLayoutCreate(&lt.c, BLAS_R_32F, 64, 64, 64);
    assert_false(is_programs(workspace_of(multiply_lt)));
    lt_workspace = memory[1];
    lt_bytes = ENOUGH;
    assert_ptr_equal(workspace_of(multiply_lt), memory[1]);
    lt_bytes = ENOUGH - 16;
    assert_false(is_programs(workspace_of(multiply_lt)));
    lt_workspace = memory[0] + 4; /* no kernel takes that */
    lt_bytes = ENOUGH + 256;
    assert_false(is_programs(workspace_of(multiply_lt)));
    lt_free(&lt);
    operands_free(&operands);
}

/* Never the winner in another form: cuBLAS, until there is memory again. */
static void a_call_without_memory_for_its_workspace_is_cublas_s(void **state)
{
    enum { CALLS = 2500 }; /* more than the library waits before it asks again */
    CUgraph graph;
    (void)state;
    put_winner(PROBLEM, SIMT_SPLIT, 5, false);
    arrive();
    operands = operands_make(PROBLEM, 0);
    setenv("FAKE_GPU_FAIL", "cuMemAllocFromPoolAsync=2", 1);
    for (int i = 0; i < 3; i++) {
        assert_went(sgemm_of(&operands), 0, 1);
        operands_check(&operands, 1, "by cuBLAS");
    }
    assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    assert_went(sgemm_of(&operands), 0, 1);
    assert_int_equal(cuda.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
    unsetenv("FAKE_GPU_FAIL");
    *fake.launch_count = 0;
    for (int i = 0; i < CALLS && *fake.launch_count == 0; i++) assert_int_equal(sgemm_of(&operands), 0);
    assert_int_equal(fake.launches[0].args.splits, 4);
    assert_went(sgemm_of(&operands), 2, 0);
    cuda.GraphDestroy(graph);
    operands_free(&operands);
}

static const struct scenario scenarios[] = {
    SCENARIO(a_call_without_memory_for_its_workspace_is_cublas_s),
    SCENARIO(a_handles_workspace_is_used_as_long_as_it_has_it),
    SCENARIO(one_that_does_not_suffice_is_left_alone),
    SCENARIO(each_handle_has_its_own_until_it_is_destroyed),
    SCENARIO(many_handles_come_and_go),
    SCENARIO(a_matmuls_workspace_is_used),
};

int main(int argc, char **argv)
{
    return dropin_main(argc, argv, "test_dropin_workspace", scenarios, sizeof scenarios / sizeof *scenarios,
                       NULL, 0);
}
