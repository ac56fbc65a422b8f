/* simt_params.h — the parameters of the simt family, each against what; those of a launch last. Texts that
 * name configurations and stored ones keep this order (template.h: optional).
 */
PARAM(BM, COMPILE, TILE, 1, 512, "rows of C a block: larger reads B less often, smaller fills more SMs")
PARAM(BN, COMPILE, TILE, 1, 512, "columns of C a block: larger reads A less often, smaller fills more SMs")
PARAM(BK, COMPILE, TILE, 2, 128, "k a tile: longer means fewer barriers, but more shared memory and code")
PARAM(WM, COMPILE, DETAIL, 1, 512, "rows of C a warp")
PARAM(WN, COMPILE, DETAIL, 1, 512, "columns of C a warp: square warps read shared memory least")
PARAM(TM, COMPILE, THREAD, 1, 32,
      "rows of C a thread: more arithmetic for each read of shared memory, more registers")
PARAM(TN, COMPILE, THREAD, 1, 32, "columns of C a thread: the same, and the width of its stores")
PARAM(WARPS_K, COMPILE, TEAMS, 1, 16,
      "teams of warps that share out the k of a tile: more warps an SM without smaller tiles, but their sums "
      "are added")
PARAM(STAGES, COMPILE, STAGES, 2, 8,
      "tiles in shared memory: more hide a longer latency, fewer let more blocks in")
PARAM(LOADER, COMPILE, NAMED, 0, 3,
      "0: through registers; 1: cp.async for operands that need no transposing (sm_80); 2: the same, and the "
      "barrier of a tile in two steps; 3: cp.async for both, the others by single floats")
PARAM(PACK, COMPILE, NAMED, 0, 3,
      "operands copied into the workspace first: 0 none, 1 A, 2 B, 3 both; any then takes wide loads and "
      "cp.async")
PARAM(VA, COMPILE, VECTOR, 1, 4, "floats a load of A: wide is fast, narrow suits any alignment")
PARAM(VB, COMPILE, VECTOR, 1, 4, "floats a load of B: wide is fast, narrow suits any alignment")
PARAM(VC, COMPILE, VECTOR, 1, 4, "floats an access to C: wide is fast, narrow suits any alignment")
PARAM(UNROLL, COMPILE, DETAIL, 2, 128,
      "k steps of straight code: all of BK saves branches, fewer fit the instruction cache")
PARAM(STORE_AT, COMPILE, DETAIL, 0, 126,
      "step of the last UNROLL at which registers go to shared memory and are refilled")
PARAM(ORDER, COMPILE, DETAIL, 0, 3,
      "how a step's products follow each other: another draw of the assembler's registers")
PARAM(MIN_BLOCKS, COMPILE, DETAIL, 1, 16,
      "blocks an SM must hold: more hide latency, but leave each thread fewer registers")
PARAM(REDUCE, COMPILE, NAMED, 0, 8,
      "who adds the parts of SPLIT_K: 0 a second kernel; 1 a tile's last block; 2-8 a cluster of as many "
      "(sm_90)")
PARAM(GROUP, LAUNCH, NAMED, 1, 1024, "rows of tiles walked together: reuse of B in L2 against reuse of A")
PARAM(SPLIT_K, LAUNCH, SPLIT, 1, 1024,
      "blocks that share a tile of C along k: fill the GPU, but add a pass over C")
