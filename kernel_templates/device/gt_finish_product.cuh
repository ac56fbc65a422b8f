/* SPDX-License-Identifier: MIT */
/* gt_finish_product.cuh — statements of gt_pipeline.cuh: sum = A * B over the tiles of `range`, the first of
 * which `in` has started to load. */
in.put(stages);
in.fetch<false>(range.tiles > 1, 0);
clear(args, sum); /* after the first loads have been issued */
next_stage_ready(stages, 0);

const struct thread_place place = place_of(thread);
shared_place at_a = place_in_shared(stages + place.team * (TEAM_K * STRIDE_A) + place.row);
shared_place at_b = place_in_shared(stages + BK * STRIDE_A + place.team * (TEAM_K * STRIDE_B) + place.column);
struct fragments f;
f.load(0, at_a, at_b, 0);
int next = STAGE_BYTES, free = TILES_AHEAD * STAGE_BYTES, now = 0;
unsigned parity = 0;
#pragma unroll 1
for (int left = range.tiles; left > 0; left--) {
    in.copy<false>(stage_at(stages, TILES_AHEAD == 1 ? next : free), left > TILES_AHEAD, left >= TILES_AHEAD,
                   0);
#pragma unroll 1
    for (int k = 0; k < TEAM_K - UNROLL; k += UNROLL)
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            f.load((u + 1) % 2, at_a, at_b, k + u + 1);
            add_outer_product<ORDER>(sum, f.a[u % 2], f.b[u % 2]);
        }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        if (u == STORE_AT) {
            in.put(stage_at(stages, next));
            in.fetch<false>(left > 2, 0);
        }
        if (u < UNROLL - 1) {
            f.load((u + 1) % 2, at_a, at_b, TEAM_K - UNROLL + u + 1);
        } else {
            next_stage_ready(stage_at(stages, next), parity);
            at_a = moved(at_a, next - now);
            at_b = moved(at_b, next - now);
            f.load((u + 1) % 2, at_a, at_b, 0);
        }
        add_outer_product<ORDER>(sum, f.a[u % 2], f.b[u % 2]);
    }
    free = TWO_STEPS ? following(free) : now;
    parity ^= following(next) == 0;
    now = next;
    next = following(next);
}
if constexpr (TWO_STEPS)
    __syncwarp(); /* lanes may have diverged while they waited; block barriers need whole warps */
