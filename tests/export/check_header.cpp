// check_header.cpp: an exported header is C++, too, and two of them go into one file.
#define GT_WINNERS_IMPLEMENTATION
#include "few.h"
#include "many.h"

#include <cstdio>

int main()
{
    gt_winner_match match;
    const gt_winner_gpu *gpu = gt_winner_gpu_find(&gt_few_winners, "NVIDIA H200", 90, 132);
    const gt_winner_shape shape = gt_winner_shape_make(0, 0, 4096, 4096, 4096);
    if (!gpu || !gt_winner_find(gpu, &shape, &match)) return 1;
    const gt_winner_set *set =
        gt_winner_epilogue_find(&gt_many_winners_epilogues, GT_WINNER_BIAS_COLUMN, GT_WINNER_GELU, 0);
    const gt_winner_gpu *with = gt_winner_gpu_find(set, "NVIDIA H200", 90, 132);
    if (!with || !gt_winner_find(with, &shape, &match)) return 1;
    std::printf("%s, %s: %s\n", gt_few_winners.generated, gpu->name, match.winner->config);
    return gt_winner_gpu_find(&gt_many_winners, "NVIDIA A100", 80, 108) != nullptr;
}
