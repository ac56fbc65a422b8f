/* SPDX-License-Identifier: MIT */
/* ladder_rules.h — which tile sizes of a rung are correct, and the sizes that follow from them.
 *
 * Read twice, with two meanings of RULE: a rung makes each a static_assert, the host an `if (!(holds)) return
 * why;`. A rung defines the constants that are not parameters (VECTOR, BUFFERS); a size that it lacks is 1
 * here, or 0 where nothing is kept in shared memory. The rules are only about correctness; good values are in
 * template_ladder.c.
 */
#ifndef LADDER_HOST
#define RULE(holds, why) static_assert(holds, why);
#ifndef BK
#define BK 0
#endif
#ifndef TM
#define TM 1
#endif
#ifndef TN
#define TN 1
#endif
#ifndef WM
#define WM BM
#define WN BN
#endif
#ifndef VECTOR
#define VECTOR 1
#endif
#ifndef BUFFERS
#define BUFFERS 1
#endif
#ifndef LANES
#define LANES 0
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif
#endif

/* VECTOR 4: As is stored transposed, its rows padded by one vector (see vectorized.cu). */
#define THREADS      (BM / TM * (BN / TN))
#define A_ROW        (BM + (VECTOR == 4 ? 4 : 0))
#define SHARED_BYTES (4 * BUFFERS * BK * (A_ROW + BN))

RULE(BM % TM == 0, "BM must be a multiple of TM")
RULE(BN % TN == 0, "BN must be a multiple of TN")
RULE(BM / TM * (BN / TN) <= 1024, "a block holds at most 1024 threads")
RULE(MIN_BLOCKS == 1 || BM / TM * (BN / TN) * MIN_BLOCKS <= 1024,
     "an SM need not hold more than 1024 threads")
RULE(SHARED_BYTES <= 48 * 1024, "the tiles do not fit in 48 KiB of shared memory")
RULE(VECTOR == 1 || (TM % 4 == 0 && TN % 4 == 0 && BK % 4 == 0), "TM, TN and BK must be multiples of 4")
RULE(VECTOR == 1 || BM * BK / 4 % THREADS == 0, "the threads must share the loads of A evenly")
RULE(VECTOR == 1 || BK * BN / 4 % THREADS == 0, "the threads must share the loads of B evenly")
RULE(LANES == 0 || (BM % WM == 0 && BN % WN == 0), "BM and BN must be multiples of WM and WN")
RULE(LANES == 0 || (WM % TM == 0 && WN % TN == 0), "WM and WN must be multiples of TM and TN")
RULE(LANES == 0 || WM / TM * (WN / TN) == LANES, "WM x WN must be 32 thread tiles of TM x TN, one a lane")
RULE(LANES == 0 || WM / TM % 2 == 0, "a warp must have an even number of rows of lanes")
