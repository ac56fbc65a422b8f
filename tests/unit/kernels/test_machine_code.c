/* What the machine code of a kernel proves about pairs that racecheck reports, of kernels that the real
 * compiler builds. No GPU is needed.
 */
#include "machine_code.h"

#include "compile.h"
#include "nvrtc.h"
#include "scratch_folder.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A loop in which a warp stores, meets (or not), and one lane arrives; then the warp waits and reads. %s:
 * what precedes the loop; where the mbarrier lies; the meeting. */
#define KERNEL                                                                                               \
    "extern __shared__ float s[];\n"                                                                         \
    "extern \"C\" __global__ void gemm(float *x, int n)\n{\n"                                                \
    "    const unsigned stages = (unsigned)__cvta_generic_to_shared(s);\n"                                   \
    "    float sum = 0;\n    %s\n#pragma unroll 1\n"                                                         \
    "    for (int i = 0; i < n; i++) {\n"                                                                    \
    "        const unsigned at = stages + 8 * ((i + %s) %% 3);\n"                                            \
    "        s[32 + threadIdx.x] = x[i * 64 + threadIdx.x];\n"                                               \
    "        %s\n"                                                                                           \
    "        asm volatile(\"{.reg .pred p; .reg .b64 state; setp.ne.b32 p, %%1, 0;\"\n"                      \
    "                     \"@p mbarrier.arrive.shared.b64 state, [%%0];}\"\n"                                \
    "                     ::\"r\"(at), \"r\"((int)(threadIdx.x %% 32 == 0)) : \"memory\");\n"                \
    "        asm volatile(\"{.reg .pred p;\\nagain: mbarrier.try_wait.parity.shared.b64 p, [%%0], "          \
    "%%1;\\n\"\n"                                                                                            \
    "                     \"@!p bra again;}\" ::\"r\"(at), \"r\"(i / 3 & 1) : \"memory\");\n"                \
    "        sum += s[32 + (threadIdx.x ^ 33)];\n"                                                           \
    "    }\n    x[threadIdx.x] = sum;\n}\n"

/* What the machine code says of KERNEL; how many writes and reads it names. */
static const char *said_behind(const char *before, const char *lane, const char *meeting, enum harmless kind,
                               struct places *places)
{
    char text[2048], *cubin = NULL;
    size_t length;
    struct compiled out;
    snprintf(text, sizeof text, KERNEL, before, lane, meeting);
    const struct source_text source = {"kernel.cu", text};
    assert_ok(compile_sources(&source, 1, NULL, 0, 90, folder, &out));
    if (!out.built) fail_msg("%s", out.log);
    assert_ok(compile_read_cubin(out.path, out.checksum, &cubin, &length));
    const char *said = machine_code_harmless(cubin, length, kind, places);
    free(cubin);
    free(places->writes);
    free(places->reads);
    return said;
}

static const char *said_of(const char *lane, const char *meeting, enum harmless kind, struct places *places)
{
    return said_behind("", lane, meeting, kind, places);
}

TEST(a_store_before_its_warp_meets_and_one_lane_arrives)
{
    struct places places;
    assert_null(said_of("0", "__syncwarp();", LANE_STORES, &places));
    assert_int_equal(places.write_count, 1);
    assert_true(places.read_count >= 1);
}

TEST(a_store_whose_warp_does_not_meet_is_none)
{
    struct places places;
    assert_string_equal(said_of("0", "", LANE_STORES, &places), "the kernel has no such writes and reads");
}

TEST(a_store_behind_the_meeting_is_none)
{
    struct places places;
    const char *said = said_of("0", "__syncwarp(); s[128 + threadIdx.x] = n;", LANE_STORES, &places);
    assert_string_equal(said, "the kernel has no such writes and reads");
}

TEST(a_warp_that_may_be_divided_proves_nothing)
{
    struct places places;
    const char *said = said_of("threadIdx.x", "__syncwarp();", LANE_STORES, &places);
    assert_non_null(said);
    assert_non_null(strstr(said, "does not know that warps are whole"));
}

TEST(where_no_lane_arrives_warps_may_be_divided)
{
    struct places places;
    assert_null(said_behind("if (threadIdx.x & 1) __syncwarp(0xaaaaaaaa); __syncthreads();", "0",
                            "__syncwarp();", LANE_STORES, &places));
    assert_int_equal(places.write_count, 1);
}

TEST(a_store_is_no_copy)
{
    struct places places;
    assert_non_null(said_of("0", "__syncwarp();", LANE_COPIES, &places));
}

int main(void)
{
    if (no_nvrtc()) return 77;
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(a_store_before_its_warp_meets_and_one_lane_arrives),
        FOLDER_TEST(a_store_whose_warp_does_not_meet_is_none),
        FOLDER_TEST(a_store_behind_the_meeting_is_none),
        FOLDER_TEST(a_warp_that_may_be_divided_proves_nothing),
        FOLDER_TEST(where_no_lane_arrives_warps_may_be_divided),
        FOLDER_TEST(a_store_is_no_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
