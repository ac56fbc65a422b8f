/* model_stream.h — what the predictions of resident and tall share: issue slots and times of kernels that
 * stream a long operand past one that stays. Fitted to resident on an H200, tall takes up to 15 % more.
 * Included by these two alone.
 */
#ifndef GT_MODEL_STREAM_H
#define GT_MODEL_STREAM_H

/* Issue slots of a thread's warp. */
#define LDS_128_SLOTS 3.0
#define LDS_64_SLOTS  1.4
#define LDS_32_SLOTS  1.1
#define TILE_SLOTS    80.0 /* addresses of C; its sums are cleared, scaled and stored besides */
#define STORE_SLOTS   1.5  /* of a tile that lies inside C, as nearly all do */

#define CODE_BYTES_MAX 32768.0 /* what the instruction cache feeds freely */
#define LONG_CODE_COST 1.35e-5 /* for each byte more */

#define BARRIER_CYCLES 200.0 /* of a lone block */
#define SPILL_SLOWDOWN 2.0

#define DRAM_SHARE       0.90 /* of the published bandwidth that a stream reaches */
#define LATENCY_US       0.80 /* of device memory under load */
#define L2_BYTES_A_CLOCK 28.0 /* an SM */
#define LAUNCH_US        2.2
#define FILL_US          1.5   /* until the first stage is there, and from the last sum to its store */
#define STAY_US          0.004 /* for a float of the operand that stays, which a thread copies */

#endif
