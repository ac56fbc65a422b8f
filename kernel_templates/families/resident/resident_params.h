/* resident_params.h — the parameters of the resident family, each against what; those of a launch last. Texts
 * that name configurations and stored ones keep this order (template.h: optional).
 */
PARAM(SIDE, COMPILE, NAMED, 0, 1, "0: A stays in shared memory, B is streamed; 1: B stays, A is streamed")
PARAM(BM, COMPILE, TILE, 1, 1024,
      "rows of C a block: with SIDE 0 all of them, or B is streamed more than once")
PARAM(BN, COMPILE, TILE, 1, 1024,
      "columns of C a block: with SIDE 1 all of them; streamed ones read memory in longer pieces the more "
      "they are")
PARAM(
    BK, COMPILE, TILE, 1, 128,
    "k a stage: a divisor of K wastes nothing; longer means fewer barriers, but more shared memory and code")
PARAM(WM, COMPILE, DETAIL, 1, 1024, "rows of C a warp")
PARAM(WN, COMPILE, DETAIL, 1, 1024, "columns of C a warp: square warps read shared memory least")
PARAM(TM, COMPILE, THREAD, 1, 32,
      "rows of C a thread: more arithmetic for each read of shared memory, more registers")
PARAM(TN, COMPILE, THREAD, 1, 32, "columns of C a thread: the same, and the width of its stores")
PARAM(STAGES, COMPILE, STAGES, 2, 16,
      "tiles of the streamed operand in shared memory: more hide a longer latency, fewer let more blocks in")
PARAM(LOADER, COMPILE, NAMED, 1, 3,
      "1: cp.async, and the block meets at every stage; 2: cp.async, and warps wait for a stage one by one; "
      "3: the same with bulk copies (sm_90), a row of k each")
PARAM(ORDER, COMPILE, DETAIL, 0, 4,
      "how a step's products follow each other: another draw of the assembler's registers")
PARAM(
    VS, COMPILE, VECTOR, 1, 4,
    "floats a copy of the streamed operand: wide is fast; 1 suits any alignment, and is all there is along k")
PARAM(VC, COMPILE, VECTOR, 1, 4, "floats an access to C: the same")
PARAM(UNROLL, COMPILE, DETAIL, 2, 128,
      "k steps of straight code: all of BK saves branches, fewer fit the instruction cache")
PARAM(MIN_BLOCKS, COMPILE, DETAIL, 1, 16,
      "blocks an SM must hold: more hide latency, but leave each thread fewer registers")
PARAM(SMS, LAUNCH, DETAIL, 1, 4096,
      "SMs to fill with MIN_BLOCKS blocks each, which walk along C: as many as the GPU has")
