/* tall_params.h — the parameters of the tall family, each against what; those of a launch last. Texts that
 * name configurations and stored ones keep this order (template.h: optional).
 */
PARAM(SIDE, COMPILE, NAMED, 0, 1, "0: A stays in shared memory, B is streamed; 1: B stays, A is streamed")
PARAM(BM, COMPILE, TILE, 1, 1024,
      "rows of C a block: with SIDE 0 no fewer than C has; streamed ones are so many warps, and bytes on "
      "their way")
PARAM(BN, COMPILE, TILE, 1, 1024, "columns of C a block: with SIDE 1 no fewer than C has")
PARAM(BK, COMPILE, TILE, 1, 128,
      "k a stage: a divisor of K leaves no short stage; longer means fewer barriers, and fewer vectors that "
      "two stages need")
PARAM(TM, COMPILE, THREAD, 1, 32,
      "rows of C a thread: more arithmetic for each read of shared memory, more registers")
PARAM(TN, COMPILE, THREAD, 1, 32,
      "columns of C a thread: the same; those of the small side are read four at a time, of the other one by "
      "one")
PARAM(STAGES, COMPILE, STAGES, 2, 16,
      "tiles of the streamed operand in shared memory: more hide a longer latency, fewer let more blocks in")
PARAM(VC, COMPILE, VECTOR, 1, 4, "floats an access to C: wide is fast, 1 suits any alignment")
PARAM(UNROLL, COMPILE, DETAIL, 2, 128,
      "k steps of straight code: more save branches, fewer fit the instruction cache")
PARAM(MIN_BLOCKS, COMPILE, DETAIL, 1, 16,
      "blocks an SM must hold: more hide latency, but leave each thread fewer registers")
PARAM(SMS, LAUNCH, DETAIL, 1, 4096,
      "SMs to fill with MIN_BLOCKS blocks each, which walk along C: as many as the GPU has")
