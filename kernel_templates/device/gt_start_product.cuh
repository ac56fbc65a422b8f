/* SPDX-License-Identifier: MIT */
/* gt_start_product.cuh — statements of gt_pipeline.cuh: start to load the first tiles of `range`, at
 * `origin`, with the loaders `in`. The stages must be free. */
const struct source a = source_of_a(args), b = source_of_b(args);
in.a.start(a.matrix, a.ld, origin.m, a.x_end, range.begin, thread);
in.b.start(b.matrix, b.ld, origin.n, b.x_end, range.begin, thread);

in.leads = thread % 32 == 0;
start_barriers(stages, thread);

in.fetch<true>(true, range.first);
in.copy<true>(stages, true, true, range.first);
#pragma unroll
for (int i = 1; i < TILES_AHEAD; i++)
    in.copy<false>(stages + i * STAGE_FLOATS, i < range.tiles, i <= range.tiles, 0);
