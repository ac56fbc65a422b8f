/* mma_params.h — the parameters of the mma family, each against what; those of a launch last. Texts that name
 * configurations and stored ones keep this order (template.h: optional).
 */
PARAM(BM, COMPILE, TILE, 32, 512,
      "rows of C a block: a large tile reads A and B less often from L2, a small one gives more blocks")
PARAM(BN, COMPILE, TILE, 32, 512, "columns of C a block: the same")
PARAM(BK, COMPILE, TILE, 16, 128,
      "k a tile in shared memory: fewer barriers and longer pieces of rows against shared memory and code")
PARAM(WM, COMPILE, DETAIL, 32, 256,
      "rows of C a warp: 64x64 reads shared memory half as often as 32x32, and takes 200 registers a thread")
PARAM(WN, COMPILE, DETAIL, 32, 256, "columns of C a warp: the same")
PARAM(STAGES, COMPILE, STAGES, 2, 8, "tiles in shared memory: hide latency, but take shared memory")
PARAM(VA, COMPILE, VECTOR, 1, 4, "floats a copy of A: wide is fast; narrow suits any alignment")
PARAM(VB, COMPILE, VECTOR, 1, 4, "floats a copy of B: the same")
PARAM(VC, COMPILE, VECTOR, 1, 4, "floats an access to C: the same")
PARAM(MIN_BLOCKS, COMPILE, DETAIL, 1, 8,
      "blocks an SM must hold: they hide each other's barriers, but leave each thread fewer registers")
PARAM(GROUP, LAUNCH, NAMED, 1, 1024, "rows of tiles walked together: which operand L2 keeps")
PARAM(SPLIT_K, LAUNCH, SPLIT, 1, 1024,
      "blocks that share a tile of C along k: fill the GPU, but add a pass over C")
