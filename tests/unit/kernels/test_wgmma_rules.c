/* The host's half of the family for wgmma: which configurations it takes, and how it launches them. */
#include "one_family.h"

#include "gemm_block.h"

static const char *const base_text = WGMMA_BASE;

TEST(each_rule_refuses_its_violation_and_says_why)
{
    static const struct outside outside[] = {{"BM", 0},        {"BN", 264},   {"BK", 16},
                                             {"CONSUMERS", 5}, {"STAGES", 1}, {"MIN_BLOCKS", 0},
                                             {"REDUCE", 9},    {"SPLIT_K", 0}};
    static const struct violation cases[] = {{"BM", 132, "BM must be a multiple of 8"},
                                             {"BN", 100, "BN must be a multiple of 8"},
                                             {"BK", 96, "BK must be a multiple of 64"},
                                             {"BM", 96, "64 rows of an instruction"},
                                             {"BM", 192, "each of CONSUMERS must have a multiple of 64"},
                                             {"CONSUMERS", 4, "each of CONSUMERS must have a multiple of 64"},
                                             {"VC", 5, "VC must be 1, 2, 4 or 8"},
                                             {"REDUCE", 4, "SPLIT_K must be the size of the cluster"}};
    assert_each_outside(outside, sizeof outside / sizeof *outside);
    assert_each_refused(cases, sizeof cases / sizeof *cases);
    struct config config = with("BM", 256);
    config_set(&config, "BN", 128);
    assert_taken(check(&config, NULL, &h200));
    config_set(&config, "CONSUMERS", 1);
    assert_refused(check(&config, NULL, NULL), "128 rows at most");
    const struct config legal = base();
    assert_taken(check(&legal, NULL, &h200));
}

TEST(few_rows_of_c_are_the_columns_of_an_instruction)
{
    struct config config = with("BM", 8);
    assert_refused(check(&config, NULL, NULL), "64 rows of an instruction");
    config_set(&config, "SWAP", 1);
    assert_taken(check(&config, NULL, &h200));
    assert_int_equal(config.template->resources(&config).accumulators, 2 * 8 / 2);
}

TEST(only_hopper_has_the_instruction_and_16_bit_operands)
{
    static const char *const computed[] = {"bf16gemm:nn:512x512x512", "hgemm:nn:512x512x512",
                                           "bf16gemm:nt:512x512x512:c=f32", "hgemm:tt:512x512x512:c=f32"};
    struct config config = base();
    struct gpu gpu = h200;
    config_set(&config, "VC", 4);
    for (size_t i = 0; i < sizeof computed / sizeof *computed; i++) {
        const struct problem p = problem_of(computed[i]);
        assert_taken(check(&config, &p, &h200));
    }
    const struct problem tf32 = problem_of("tf32gemm:nn:512x512x512"), half = problem_of(computed[1]);
    assert_refused(check(&config, &tf32, &h200), "computes bf16gemm and hgemm");
    config = config_of(WGMMA_TF32_BASE);
    config_set(&config, "PACK", 3);
    assert_refused(check(&config, &half, &h200), "its type is tf32gemm");
    config = base();
    gpu.arch = 100;
    assert_refused(check(&config, &half, &gpu), "sm_90 alone");
    gpu.arch = 89;
    assert_refused(check(&config, &half, &gpu), "sm_90 alone");
}

TEST(operands_are_as_aligned_as_tensor_maps_ask)
{
    const struct config config = base();
    static const struct {
        const char *problem, *part;
    } refused[] = {{"bf16gemm:nn:512x512x508", "multiples of 16 bytes"},
                   {"bf16gemm:tn:510x512x512", "multiples of 16 bytes"},
                   {"bf16gemm:nn:512x500x512", "multiples of 16 bytes"},
                   {"bf16gemm:nt:512x512x512:ldb=516", "multiples of 16 bytes"},
                   {"bf16gemm:nn:64x64x64:batch=2:stride_a=4100", "multiples of 16 bytes"},
                   {"bf16gemm:nn:64x64x64:batch=2:pointers", "no arrays of pointers"},
                   {"bf16gemm:nn:512x512x512:ldc=516", "VC is wider than C"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const struct problem p = problem_of(refused[i].problem);
        assert_refused(check(&config, &p, &h200), refused[i].part);
    }
    const struct problem ragged = problem_of("bf16gemm:nn:511x509x507:lda=512:ldb=512:ldc=512");
    assert_taken(check(&config, &ragged, &h200));
    struct problem far = problem_of("bf16gemm:nn:64x64x64:batch=2");
    far.stride_a = (INT64_C(1) << 39) - 8;
    assert_taken(check(&config, &far, &h200));
    far.stride_a += 8;
    assert_refused(check(&config, &far, &h200), "too far apart for a tensor map");
}

TEST(an_operand_across_k_fills_blocks_of_64)
{
    struct config config = with("BN", 96);
    const struct problem nn = problem_of("hgemm:nn:512x512x512"), nt = problem_of("hgemm:nt:512x512x512");
    assert_refused(check(&config, &nn, &h200), "copied in blocks of 64");
    assert_taken(check(&config, &nt, &h200));
    config = with("SWAP", 1);
    config_set(&config, "BM", 96);
    const struct problem tn = problem_of("hgemm:tn:512x512x512");
    assert_refused(check(&config, &tn, &h200), "copied in blocks of 64");
    assert_taken(check(&config, &nn, &h200));
}

/* (128 + 256) x 64 elements a stage, 49,152 bytes, and two mbarriers; 1,024 bytes to align them, and a flag.
 */
TEST(stages_fit_exactly_and_one_more_does_not)
{
    struct config config = base();
    assert_int_equal(config.template->resources(&config).smem_bytes, 1024 + 4 * (49152 + 16) + 16);
    assert_int_equal(config.template->resources(&config).threads, 2 * 128 + 32);
    assert_needs_smem(&config, NULL, 1024 + 4 * (49152 + 16) + 16);
    config_set(&config, "STAGES", 5);
    assert_refused(check(&config, NULL, &h200), "do not fit in a block's shared memory");
}

/* 13 warps are at most 4 for each scheduler: 128 registers a thread, too few for 128 sums. */
TEST(sums_fit_in_the_registers_of_whole_warps)
{
    struct config config = with("BM", 192);
    config_set(&config, "CONSUMERS", 3);
    config_set(&config, "STAGES", 3);
    assert_refused(check(&config, NULL, &h200), "do not fit in the registers");
    config_set(&config, "BN", 192);
    assert_taken(check(&config, NULL, &h200));
}

/* Two stages of 64 x 64 are 32 KiB; the rows of sums have 8 floats more than the tile is wide. */
TEST(sums_take_the_place_of_the_stages_if_they_are_larger)
{
    struct config config =
        config_of("wgmma BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=2 PACK=0 VC=8 MIN_BLOCKS=1 "
                  "REDUCE=1 WALK=0 GROUP=1 SPLIT_K=1 SMS=1");
    const struct template *const t = config.template;
    assert_int_equal(t->resources(&config).smem_bytes, 1024 + 2 * (16384 + 16) + 16);
    config_set(&config, "BN", 256);
    config_set(&config, "BM", 128);
    config_set(&config, "CONSUMERS", 2);
    assert_int_equal(t->resources(&config).smem_bytes, 1024 + 4 * 128 * 264 + 2 * 16 + 16);
    config_set(&config, "WALK", 1); /* the ring holds the next tile: strips of 32 columns follow it */
    assert_int_equal(t->resources(&config).smem_bytes, 1024 + 2 * (49152 + 16) + 4 * 128 * 40 + 16);
    config_set(&config, "WALK", 0);
    config_set(&config, "SPLIT_K", 3);
    config_set(&config, "REDUCE", 3); /* 43 rows for each of three blocks */
    config_set(&config, "BN", 64);
    assert_int_equal(t->resources(&config).smem_bytes, 1024 + 2 * (24576 + 16) + 4 * (129 * 72) + 8);
}

TEST(tiles_parts_and_workspace_are_those_of_the_problem)
{
    const struct problem p = problem_of("bf16gemm:nn:1000x1000x1000");
    struct config config = with("SPLIT_K", 4); /* 16 tiles of k: 4 each */
    struct launch_plan plan = plan_of(&config, &p);
    assert_taken(check(&config, &p, &h200));
    assert_int_equal(plan.kernels, 1);
    assert_int_equal(plan.kernel[0].grid[0], 8 * 4);
    assert_int_equal(plan.kernel[0].grid[1], 4);
    assert_int_equal(plan.kernel[0].threads, 288);
    assert_int_equal(gemm_args_in(&plan).splits, 4);
    assert_int_equal(gemm_args_in(&plan).k_per_split, 4 * 64);
    assert_int_equal(plan.counters, 64);
    assert_int_equal(plan.workspace_bytes, 4 * 64 + 4 * 4 * 32 * 128 * 256);
    config = with("BN", 64);
    config_set(&config, "SPLIT_K", 8);
    config_set(&config, "REDUCE", 8);
    plan = plan_of(&config, &p);
    assert_int_equal(plan.workspace_bytes, 0);
    assert_int_equal(plan.kernel[0].cluster[1], 8);
    assert_int_equal(plan.kernel[0].grid[1], 8);
}

static void assert_view(const struct tensor_view *view, enum launch_operand operand, const int64_t extent[3],
                        const int64_t stride_bytes[2], unsigned lines, int batch_axis)
{
    assert_int_equal(view->operand, operand);
    assert_int_equal(view->rank, 3);
    for (int i = 0; i < 3; i++) assert_int_equal(view->extent[i], extent[i]);
    for (int i = 0; i < 2; i++) assert_int_equal(view->stride_bytes[1 + i], stride_bytes[i]);
    assert_int_equal(view->box[0], 64);
    assert_int_equal(view->box[1], lines);
    assert_int_equal(view->box[2], 1);
    assert_int_equal(view->swizzle_bytes, 128);
    assert_int_equal(view->k_axis, -1);
    assert_int_equal(view->batch_axis, batch_axis);
    assert_int_equal(view->at % 64, 0);
}

/* The extents are the true ones: beyond them there are zeros. */
TEST(maps_are_those_of_the_operands)
{
    const struct problem nn = problem_of("bf16gemm:nn:100x200x300:lda=304:ldb=208:batch=3"),
                         tt = problem_of("hgemm:tt:100x200x300:lda=104:ldb=304");
    struct config config = with("VC", 1);
    struct launch_plan plan = plan_of(&config, &nn);
    assert_int_equal(plan.views, 2);
    assert_int_equal(plan.argument_bytes, 512);
    assert_view(&plan.view[0], LAUNCH_A, (int64_t[]){300, 100, 3}, (int64_t[]){608, 2 * nn.stride_a}, 128, 2);
    assert_view(&plan.view[1], LAUNCH_B, (int64_t[]){200, 300, 3}, (int64_t[]){416, 2 * nn.stride_b}, 64, 2);
    assert_int_equal(plan.view[0].at, 192);
    assert_int_equal(plan.view[1].at, 320);
    config_set(&config, "SWAP", 1);
    plan = plan_of(&config, &tt);
    assert_view(&plan.view[0], LAUNCH_A, (int64_t[]){100, 300, 1}, (int64_t[]){208, 208}, 64, -1);
    assert_view(&plan.view[1], LAUNCH_B, (int64_t[]){300, 200, 1}, (int64_t[]){608, 608}, 256, -1);
    assert_int_equal(plan.view[0].at, 320);
    assert_int_equal(plan.view[1].at, 192);
    assert_int_equal(plan.view[0].element, ELEMENT_F16);
}

TEST(items_at_one_address_are_one_item_of_the_map)
{
    const struct problem p = problem_of("bf16gemm:nn:64x64x64:batch=3:stride_b=0");
    const struct config config = base();
    const struct launch_plan plan = plan_of(&config, &p);
    assert_taken(check(&config, &p, &h200));
    assert_int_equal(plan.view[0].extent[2], 3);
    assert_int_equal(plan.view[1].extent[2], 1);
    assert_int_equal(plan.view[1].batch_axis, -1);
    assert_int_equal(plan.view[1].stride_bytes[2], 128);
}

TEST(blocks_that_walk_are_as_many_as_sms)
{
    const struct problem p = problem_of("bf16gemm:nn:4096x4096x512"),
                         small = problem_of("bf16gemm:nn:256x256x512");
    struct config config = with("WALK", 1);
    config_set(&config, "STAGES", 3);
    config_set(&config, "SMS", 132);
    assert_taken(check(&config, &p, &h200));
    assert_int_equal(plan_of(&config, &p).kernel[0].grid[0], 132);
    assert_int_equal(plan_of(&config, &small).kernel[0].grid[0], 2);
    config_set(&config, "SMS", 133);
    assert_refused(check(&config, &p, &h200), "more than the GPU has");
    config_set(&config, "SMS", 132);
    config_set(&config, "SPLIT_K", 2);
    assert_refused(check(&config, &p, &h200), "WALK: blocks that take several tiles share none");
    config = with("SMS", 132);
    assert_refused(check(&config, &p, &h200), "SMS means nothing without WALK");
    config = with("WALK", 1);
    config_set(&config, "SWAP", 1);
    assert_refused(check(&config, &p, &h200), "no room for sums beside the ring");
    config_set(&config, "STORE", 1);
    assert_refused(check(&config, &p, &h200), "with SWAP only 1, for whole sums of TF32");
}

TEST(operands_that_no_map_reads_are_packed)
{
    const struct problem odd = problem_of("bf16gemm:nn:1023x1025x1027"),
                         half = problem_of("bf16gemm:nn:1024x1025x1024"),
                         pointers = problem_of("bf16gemm:nn:64x64x64:batch=2:pointers"),
                         batch = problem_of("bf16gemm:nt:100x200x301:batch=70000");
    struct config config = with("VC", 1);
    config_set(&config, "PACK", 2);
    assert_refused(check(&config, &odd, &h200), "lines begin at multiples of 16 bytes, or PACK");
    assert_taken(check(&config, &half, &h200));
    config_set(&config, "PACK", 3);
    assert_taken(check(&config, &odd, &h200));
    assert_taken(check(&config, &pointers, &h200));
    struct launch_plan plan = plan_of(&config, &odd); /* lines of 1088 elements */
    assert_int_equal(plan.kernels, 2);
    assert_string_equal(plan.kernel[0].entry, "gemm_pack");
    assert_false(plan.kernel[0].dependent);
    assert_true(plan.kernel[1].dependent);
    assert_int_equal(plan.workspace_bytes, 2 * (1023 + 1027) * 1088);
    assert_view(&plan.view[0], LAUNCH_WORKSPACE, (int64_t[]){1027, 1023, 1}, (int64_t[]){2176, 2176}, 128,
                -1);
    assert_view(&plan.view[1], LAUNCH_WORKSPACE, (int64_t[]){1025, 1027, 1}, (int64_t[]){2176, 2176}, 64, -1);
    assert_int_equal(plan.view[1].offset_bytes, 2 * 1023 * 1088);
    plan = plan_of(&config, &batch); /* 300 lines of 320 elements an item, 32 MiB at a time */
    assert_int_equal(plan.batch_per_launch, (32 << 20) / (2 * 300 * 320));
    assert_int_equal(plan.view[0].extent[2], plan.batch_per_launch);
    assert_int_equal(plan.view[0].stride_bytes[2], 2 * 300 * 320);
    int32_t instead;
    config_set(&config, "PACK", 3);
    assert_true(config.template->redundant(&config, config.template->param_count, &half, &instead) >= 0);
    assert_int_equal(instead, 2);
    assert_int_equal(config.template->redundant(&config, config.template->param_count, &odd, &instead), -1);
}

TEST(parts_keep_to_their_workspace)
{
    const struct config config = with("SPLIT_K", 4);
    const struct problem fits = problem_of("bf16gemm:nn:4096x4096x4096"),
                         large = problem_of("bf16gemm:nn:4096x4104x4096");
    assert_taken(check(&config, &fits, &h200)); /* exactly 256 MiB */
    assert_refused(check(&config, &large, &h200), "more than 256 MiB");
}

TEST(long_batches_are_cut_by_the_workspace)
{
    const struct config config = with("SPLIT_K", 2);
    const struct problem p = problem_of("hgemm:nn:64x64x128:batch=70000");
    const struct launch_plan plan = plan_of(&config, &p); /* 256 KiB an item */
    assert_int_equal(plan.batch_per_launch, 128);
    assert_int_equal(plan.counters, 128);
    assert_int_equal(plan.workspace_bytes, (32 << 20) + 4 * 128);
}

/* Boxes of 16 rows and 128, 64 or 32 bytes, whatever C's type. */
TEST(c_is_stored_by_a_map_of_its_own)
{
    const struct problem half = problem_of("hgemm:nt:1000x504x512:batch=3"),
                         floats = problem_of("bf16gemm:nt:1000x500x512:c=f32:beta=1"),
                         odd = problem_of("hgemm:nt:512x512x512:ldc=516"),
                         pointers = problem_of("hgemm:nt:64x64x64:batch=2:pointers");
    struct config config = with("STORE", 2);
    config_set(&config, "WALK", 1);
    config_set(&config, "SMS", 132);
    config_set(&config, "BN", 96);
    assert_taken(check(&config, &half, &h200));
    struct launch_plan plan = plan_of(&config, &half);
    assert_int_equal(plan.views, 3);
    assert_int_equal(plan.argument_bytes, 640);
    const struct tensor_view *c = &plan.view[2];
    assert_int_equal(c->operand, LAUNCH_C);
    assert_int_equal(c->element, ELEMENT_F16);
    assert_true(c->extent[0] == 504 && c->extent[1] == 1000 && c->extent[2] == 3);
    assert_true(c->stride_bytes[1] == 1008 && c->stride_bytes[2] == 1008000 && c->batch_axis == 2);
    assert_true(c->box[0] == 32 && c->box[1] == 16 && c->box[2] == 1 && c->swizzle_bytes == 64);
    assert_int_equal(c->at, 512);
    config_set(&config, "VC", 4);
    assert_refused(check(&config, &half, &h200), "VC is as wide");
    assert_taken(check(&config, &floats, &h200));
    plan = plan_of(&config, &floats);
    assert_true(plan.view[2].element == ELEMENT_F32 && plan.view[2].box[0] == 16);
    assert_true(plan.view[2].stride_bytes[1] == 2000 && plan.view[2].batch_axis == -1);
    assert_refused(check(&config, &odd, &h200), "VC is as wide");
    config_set(&config, "VC", 8);
    assert_refused(check(&config, &odd, &h200), "VC is wider than C");
    config_set(&config, "VC", 1);
    config_set(&config, "PACK", 3);
    assert_refused(check(&config, &pointers, &h200), "VC is as wide");
    config = with("STORE", 2);
    config_set(&config, "BN", 104);
    assert_refused(check(&config, NULL, NULL), "STORE: boxes of C have whole sums");
    config_set(&config, "BN", 128);
    config_set(&config, "REDUCE", 2);
    assert_refused(check(&config, NULL, NULL), "STORE: boxes of C have whole sums");
}

/* Each group has a whole tile, of up to 128 rows. */
TEST(groups_that_take_turns_have_tiles_of_their_own)
{
    const struct problem p = problem_of("bf16gemm:nn:4096x4096x512");
    struct config config = with("WALK", 2);
    config_set(&config, "BN", 128);
    config_set(&config, "STAGES", 6);
    config_set(&config, "STORE", 2);
    config_set(&config, "SMS", 132);
    assert_taken(check(&config, &p, &h200));
    assert_int_equal(config.template->resources(&config).accumulators, 2 * 128 / 2);
    /* Stages and their mbarriers, two boxes of 2 KiB for each of eight warps, two mbarriers more. */
    assert_int_equal(config.template->resources(&config).smem_bytes, 1024 + 6 * (32768 + 16) + 32768 + 16);
    config_set(&config, "BM", 64);
    assert_taken(check(&config, &p, &h200));
    config_set(&config, "BM", 256);
    assert_refused(check(&config, NULL, NULL), "128 rows at most");
    config_set(&config, "BM", 128);
    config_set(&config, "CONSUMERS", 1);
    assert_refused(check(&config, NULL, NULL), "CONSUMERS that take tiles in turns are more than one");
}

static int pdl_in(const struct launch_plan *plan)
{
    int pdl;
    memcpy(&pdl, plan->argument + 448, sizeof pdl);
    return pdl;
}

/* All kernels of the plan, so that none of them waits for what the one before has let pass. */
TEST(every_kernel_may_begin_early_and_says_so)
{
    const struct problem odd = problem_of("bf16gemm:nn:1023x1025x1027"),
                         even = problem_of("bf16gemm:nn:1024x1024x1024");
    struct config config = with("VC", 1);
    assert_int_equal(config_get(&config, "PDL"), 0); /* texts from before do not name it */
    struct launch_plan plan = plan_of(&config, &even);
    assert_false(plan.kernel[0].dependent);
    assert_int_equal(pdl_in(&plan), 0);
    config_set(&config, "PDL", 2);
    plan = plan_of(&config, &even);
    assert_true(plan.kernel[0].dependent);
    assert_int_equal(pdl_in(&plan), 2);
    config_set(&config, "PACK", 3);
    plan = plan_of(&config, &odd);
    assert_int_equal(plan.kernels, 2);
    assert_true(plan.kernel[0].dependent && plan.kernel[1].dependent);
    assert_true(config.template->optional >> template_param(config.template, "PDL") & 1);
    /* Half a microsecond is nothing to a long product: it is not tried with and without. */
    const struct problem big = problem_of("bf16gemm:nn:4096x4096x4096");
    int32_t instead;
    config_set(&config, "PACK", 0);
    assert_int_equal(config.template->redundant(&config, config.template->param_count, &even, &instead), -1);
    assert_int_equal(config.template->redundant(&config, config.template->param_count, &big, &instead),
                     template_param(config.template, "PDL"));
    assert_int_equal(instead, 0);
}

/* wgmma reads it along k only: the left operand passes through registers, the right one is turned before. */
TEST(tf32_across_k_is_the_left_operand_or_packed)
{
    const struct problem nn = problem_of("tf32gemm:nn:512x512x512"),
                         nt = problem_of("tf32gemm:nt:512x512x512"),
                         tn = problem_of("tf32gemm:tn:512x512x512"),
                         tt = problem_of("tf32gemm:tt:512x512x512"),
                         odd = problem_of("tf32gemm:nt:512x512x510");
    struct config config = config_of(WGMMA_TF32_BASE);
    assert_taken(check(&config, &nt, &h200));
    assert_taken(check(&config, &tt, &h200));
    assert_refused(check(&config, &nn, &h200), "read along k only");
    assert_refused(check(&config, &odd, &h200), "lines begin at multiples of 16 bytes, or PACK");
    config_set(&config, "PACK", 2);
    assert_taken(check(&config, &nn, &h200));
    config_set(&config, "BN", 256); /* 128 sums and 16 elements of A, of 168 registers */
    assert_refused(check(&config, &tn, &h200), "the left operand do not fit in the registers");
    config_set(&config, "PACK", 3);
    assert_taken(check(&config, &tn, &h200));
    config = config_of(WGMMA_TF32_BASE);
    config_set(&config, "SWAP", 1);
    config_set(&config, "BN", 128);
    assert_taken(check(&config, &nn, &h200));
    assert_refused(check(&config, &tt, &h200), "read along k only");
}

/* 4 elements for each of two instructions or four, of which one half is loaded while the other multiplies. */
TEST(elements_that_are_loaded_ahead_take_registers_beside_the_sums)
{
    const struct problem nn = problem_of("tf32gemm:nn:512x512x512"),
                         nt = problem_of("tf32gemm:nt:512x512x512");
    struct config config = config_of(WGMMA_TF32_BASE);
    assert_int_equal(config_get(&config, "PRELOAD"), 0); /* texts from before do not name it */
    config_set(&config, "PRELOAD", 1);
    assert_refused(check(&config, &nt, &h200), "only a left operand of TF32 that lies across k");
    config_set(&config, "SWAP", 1);
    config_set(&config, "BM", 256);
    config_set(&config, "BN", 128);
    assert_taken(check(&config, &nn, &h200)); /* 128 sums, 8 elements of B and 26 more of 168 registers */
    config_set(&config, "PRELOAD", 2);
    assert_refused(check(&config, &nn, &h200), "the left operand do not fit in the registers");
    config_set(&config, "BM", 240);
    assert_taken(check(&config, &nn, &h200));
    config_set(&config, "PRELOAD", 0);
    assert_taken(check(&config, &nn, &h200));
    config = base();
    config_set(&config, "PRELOAD", 1);
    const struct problem half = problem_of("hgemm:tt:512x512x512");
    assert_refused(check(&config, &half, &h200), "only a left operand of TF32 that lies across k");
}

TEST(sums_of_a_transposed_c_go_straight_to_c)
{
    const struct problem nn = problem_of("tf32gemm:nn:1023x1000x512:ldc=1001");
    struct config config = config_of(WGMMA_TF32_BASE);
    config_set(&config, "SWAP", 1);
    config_set(&config, "BM", 256);
    config_set(&config, "BN", 128);
    config_set(&config, "PRELOAD", 1);
    config_set(&config, "WALK", 1);
    config_set(&config, "SMS", 132);
    assert_refused(check(&config, &nn, &h200), "no room for sums beside the ring");
    config_set(&config, "STORE", 1);
    assert_taken(check(&config, &nn, &h200)); /* any alignment */
    assert_int_equal(config.template->resources(&config).smem_bytes, 1024 + 4 * (49152 + 16) + 16);
    const struct launch_plan plan = plan_of(&config, &nn);
    assert_int_equal(plan.views, 2);
    assert_int_equal(plan.argument_bytes, 512);
    assert_int_equal(plan.kernel[0].grid[0], 32);
    config_set(&config, "STORE", 2);
    assert_refused(check(&config, NULL, NULL), "STORE: with SWAP only 1");
    config_set(&config, "STORE", 1);
    config_set(&config, "WALK", 0);
    config_set(&config, "SMS", 1);
    config_set(&config, "REDUCE", 2);
    assert_refused(check(&config, NULL, NULL), "STORE: with SWAP only 1, for whole sums");
}

/* Both are turned into lines of k that begin at multiples of 128 bytes, and copies round. */
TEST(packed_tf32_lies_along_k)
{
    const struct problem p = problem_of("tf32gemm:tn:100x200x300:batch=3"),
                         nn = problem_of("tf32gemm:nn:100x200x300");
    struct config config = config_of(WGMMA_TF32_BASE);
    config_set(&config, "PACK", 3);
    config_set(&config, "VC", 4);
    const struct launch_plan plan = plan_of(&config, &p);
    assert_int_equal(plan.workspace_bytes, 3 * 4 * 300 * 320);
    const struct tensor_view *a = &plan.view[0], *b = &plan.view[1];
    assert_true(a->element == ELEMENT_TF32 && b->element == ELEMENT_TF32);
    assert_true(a->operand == LAUNCH_WORKSPACE && b->operand == LAUNCH_WORKSPACE);
    assert_true(a->extent[0] == 300 && a->extent[1] == 100 && a->extent[2] == 3);
    assert_true(b->extent[0] == 300 && b->extent[1] == 200 && b->offset_bytes == 4 * 100 * 320);
    assert_true(a->stride_bytes[1] == 1280 && a->stride_bytes[2] == 4 * 300 * 320);
    assert_true(a->box[0] == 32 && a->box[1] == 128 && b->box[1] == 208);
    int32_t instead;
    assert_int_equal(config.template->redundant(&config, config.template->param_count, &p, &instead), -1);
    assert_true(config.template->redundant(&config, config.template->param_count, &nn, &instead) >= 0);
    assert_int_equal(instead, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_refuses_its_violation_and_says_why),
        cmocka_unit_test(few_rows_of_c_are_the_columns_of_an_instruction),
        cmocka_unit_test(only_hopper_has_the_instruction_and_16_bit_operands),
        cmocka_unit_test(operands_are_as_aligned_as_tensor_maps_ask),
        cmocka_unit_test(an_operand_across_k_fills_blocks_of_64),
        cmocka_unit_test(stages_fit_exactly_and_one_more_does_not),
        cmocka_unit_test(sums_fit_in_the_registers_of_whole_warps),
        cmocka_unit_test(sums_take_the_place_of_the_stages_if_they_are_larger),
        cmocka_unit_test(tiles_parts_and_workspace_are_those_of_the_problem),
        cmocka_unit_test(maps_are_those_of_the_operands),
        cmocka_unit_test(items_at_one_address_are_one_item_of_the_map),
        cmocka_unit_test(blocks_that_walk_are_as_many_as_sms),
        cmocka_unit_test(operands_that_no_map_reads_are_packed),
        cmocka_unit_test(c_is_stored_by_a_map_of_its_own),
        cmocka_unit_test(tf32_across_k_is_the_left_operand_or_packed),
        cmocka_unit_test(elements_that_are_loaded_ahead_take_registers_beside_the_sums),
        cmocka_unit_test(sums_of_a_transposed_c_go_straight_to_c),
        cmocka_unit_test(packed_tf32_lies_along_k),
        cmocka_unit_test(groups_that_take_turns_have_tiles_of_their_own),
        cmocka_unit_test(every_kernel_may_begin_early_and_says_so),
        cmocka_unit_test(parts_keep_to_their_workspace),
        cmocka_unit_test(long_batches_are_cut_by_the_workspace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
