/* What programs link, the shared library, with a database that has an own kernel: of this process the library
 * knows nothing but the file. The driver is a fake one, the compiler is NVRTC. */
#include "runtime_fakes.h"

#include "own.h"
#include "own_read.h"

#include <sys/stat.h>

/* What the fake driver notes of a launch is the usual argument: the first parameter lies where that does, and
 * enough zeros are behind. */
static const char kernel[] =
    "// gemmtune: entry own ; param X 3 5 ; only M % 8 == 0\n"
    "// grid ceil(N, 32) * X, M / 8 ; block 32 * X ; shared 64 * X\n"
    "// args A B C alpha (0) (0) (0) (0) (0) (0) (0) (0) (0) (0) (0) (0) (0) (0) M\n"
    "template <typename T> __device__ T one(T x) { return x; }\n"
    "__global__ void own(const float *a, const float *b, float *c, float alpha, int z0, int z1, int z2, int "
    "z3, int z4, int z5,\n"
    "                    int z6, int z7, int z8, int z9, int z10, int z11, int z12, int z13, long long m)\n"
    "{ c[m] = one(alpha) * a[X] * b[z0]; }\n";

/* A winner of this configuration; `values` behind the kernel's name. */
static void put_own(const char *problem, const char *values)
{
    char path[200], config[CONFIG_TEXT_MAX], *text;
    const struct template *t;
    snprintf(path, sizeof path, "%s/own.cu", store_folder);
    FILE *f = fopen(path, "w");
    if (!f || fputs(kernel, f) < 0 || fclose(f)) abort();
    assert_ok(own_read(path, &text));
    assert_ok(own_add(text, &t));
    free(text);
    snprintf(config, sizeof config, "%s%s", t->name, values);
    put_winner(problem, config, 5, false);
    chmod(store_path, 0600);
}

TEST(the_library_compiles_and_launches_an_own_kernel_from_its_database)
{
    put_own("sgemm:nn:64x96x16", " X=3");
    unsetenv("GEMMTUNE_LIBNVRTC");
    struct gt_handle *handle = open_handle(NULL);
    struct operand_set set = operands_make("sgemm:nn:64x96x16", 0);
    struct gt_plan *plan = make_plan(handle, "sgemm:nn:64x96x16");
    const struct gt_plan_info info = info_of(plan);
    if (strncmp(info.config, "own@", 4) != 0) fail_msg("it is %s: %s", info.config, info.why);
    assert_int_equal(info.source, GT_EXACT);
    assert_gt(launch_set(plan, &set));
    assert_int_equal(*fake.launch_count, 1);
    assert_int_equal(fake.launches[0].grid[0], 9);
    assert_int_equal(fake.launches[0].grid[1], 8);
    assert_int_equal(fake.launches[0].grid[2], 1);
    assert_int_equal(fake.launches[0].threads, 96);
    assert_int_equal(fake.launches[0].smem_bytes, 192);
    assert_ptr_equal(fake.launches[0].args.a, set.a);
    assert_ptr_equal(fake.launches[0].args.b, set.b);
    assert_ptr_equal(fake.launches[0].args.c, set.c);
    gt_plan_close(plan);
    /* It was judged there alone: not for a problem nearby, nor for operands that are less aligned. */
    plan = make_plan(handle, "sgemm:nn:64x128x16");
    assert_true(strncmp(info_of(plan).config, "own@", 4) != 0);
    gt_plan_close(plan);
    operands_free(&set);
    gt_close(handle);
}

TEST(an_own_kernel_in_a_file_that_others_may_write_is_not_used)
{
    put_own("sgemm:nn:64x96x16", " X=5");
    unsetenv("GEMMTUNE_LIBNVRTC");
    chmod(store_path, 0666);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, "sgemm:nn:64x96x16");
    assert_true(strncmp(info_of(plan).config, "own@", 4) != 0);
    gt_plan_close(plan);
    gt_close(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKES(an_own_kernel_in_a_file_that_others_may_write_is_not_used), /* the library forgets nothing
                                                                                that it knows */
        ON_FAKES(the_library_compiles_and_launches_an_own_kernel_from_its_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
