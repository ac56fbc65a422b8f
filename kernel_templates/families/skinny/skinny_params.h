/* skinny_params.h — the parameters of the skinny family, each against what; those of a launch last. Texts
 * that name configurations and stored ones keep this order (template.h: optional).
 */
PARAM(SIDE, COMPILE, NAMED, 0, 1, "0: few rows, B is streamed; 1: few columns, A is streamed")
PARAM(ROWS, COMPILE, NAMED, 1, 64, "rows (columns) of C at most: all of them, each costs TX registers")
PARAM(TX, COMPILE, NAMED, 1, 16,
      "columns of the streamed operand a lane: fewer reads of shared memory, more registers")
PARAM(VX, COMPILE, VECTOR, 1, 4,
      "floats a load of the streamed operand: wide is fast, narrow suits any alignment")
PARAM(VS, COMPILE, VECTOR, 1, 4, "floats a load of the small operand: the same")
PARAM(VC, COMPILE, VECTOR, 1, 4, "floats an access to C: the same")
PARAM(LANES_X, COMPILE, LANES, 1, 32,
      "lanes side by side: many read long rows, few need fewer splits of k to fill the GPU")
PARAM(WARPS_X, COMPILE, WARPS, 1, 32, "warps side by side: the small operand is read by fewer blocks")
PARAM(WARPS_K, COMPILE, WARPS, 1, 32, "warps that divide k: fewer splits, but a longer sum within the block")
PARAM(WARPS_R, COMPILE, WARPS, 1, 8,
      "warps that share the columns and divide the rows: wider TX for many rows, but each reads the stream")
PARAM(DEPTH, COMPILE, NAMED, 1, 8, "fragments on their way: more hide latency, but take registers")
PARAM(STEPS, COMPILE, NAMED, 1, 64, "steps a chunk of the small operand: fewer barriers, more shared memory")
PARAM(BUFFERS, COMPILE, BUFFERS, 2, 8, "chunks in shared memory: more hide latency where chunks are short")
PARAM(LOADER, COMPILE, NAMED, 0, 2,
      "0: small operand through registers; 1: by cp.async, a chunk ahead (sm_80); 2: so, and as it lies "
      "across k")
PARAM(MIN_BLOCKS, COMPILE, DETAIL, 1, 16,
      "blocks an SM must hold: more hide latency, but leave each thread fewer registers")
PARAM(REDUCE, COMPILE, NAMED, 1, 8,
      "who adds the parts of SPLIT_K: 1 a tile's last block; 2-8 a cluster of as many blocks (sm_90)")
PARAM(SPLIT_K, LAUNCH, SPLIT, 1, 1024,
      "blocks that share columns along k: fill the GPU evenly, but their parts must be added")
