# The CPU execution of kernel templates. Always built with the sanitizers, which do half of the checking.
set(GT_EXEC_SANITIZE -fsanitize=address,undefined -fno-sanitize-recover=all)

# Compares the two references with each other, and with results computed by hand.
add_library(gt_reference STATIC reference.c)
target_include_directories(gt_reference PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(gt_reference PUBLIC gt_templates PRIVATE gt_flags)
gt_unit_test(judge/test_reference gt_reference)
gt_unit_test(kernels/test_ladder gt_templates)

if(GT_SANITIZE STREQUAL "thread") # the two sanitizers exclude each other
  return()
endif()
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(STATUS "No CPU execution of kernel templates: it needs g++ on x86-64")
  return()
endif()

add_library(gt_exec STATIC exec/fiber.c exec/cpu_block.c exec/cpu_copies.c exec/cpu_products.c exec/cpu_elements.c exec/cpu_kernel.c exec/trial_cpu.c
  exec/trial_far.c exec/exec_problems.c)
target_include_directories(gt_exec PUBLIC exec exec/device)
target_compile_options(gt_exec PUBLIC ${GT_EXEC_SANITIZE} -fno-omit-frame-pointer PRIVATE -O1 -g)
target_link_options(gt_exec PUBLIC ${GT_EXEC_SANITIZE})
target_link_libraries(gt_exec PUBLIC gt_templates gt_reference gt_judge ${CMAKE_DL_LIBS} m PRIVATE gt::xxhash gt_flags)
set(gt_cpu_hash)
foreach(part gt_cpu gt_cpu_calls gt_cpu_memory gt_cpu_math gt_cpu_mma gt_cpu_wgmma)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS exec/device/${part}.h)
  file(SHA256 ${CMAKE_CURRENT_SOURCE_DIR}/exec/device/${part}.h part_hash)
  string(SHA256 gt_cpu_hash "${gt_cpu_hash}${part_hash}")
endforeach()
set_source_files_properties(exec/cpu_kernel.c PROPERTIES COMPILE_DEFINITIONS
  "GT_EXEC_CXX=\"${CMAKE_CXX_COMPILER}\";GT_EXEC_INCLUDE=\"${CMAKE_CURRENT_SOURCE_DIR}/exec/device\";\
GT_EXEC_KERNELS=\"${CMAKE_CURRENT_BINARY_DIR}/exec_kernels\";\
GT_EXEC_MADE_WITH=\"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, gt_cpu.h ${gt_cpu_hash}\"")

# gt_exec_program(NAME source...): exports the interface of gt_cpu.h to the kernels that it loads.
function(gt_exec_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,gt_exec> gt_flags)
  set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON)
endfunction()

# gt_exec_test(NAME program argument...), gt_long_exec_test: not in the short run.
function(gt_exec_test name)
  gt_test(${name} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS exec TIMEOUT 2400 COST 60)
endfunction()
function(gt_long_exec_test name)
  gt_exec_test(${name} ${ARGN})
  set_property(TEST ${name} APPEND PROPERTY LABELS long)
endfunction()

# The execution layer itself.
foreach(name test_cpu_block test_cpu_copies test_cpu_products)
  gt_exec_program(${name} exec/${name}.cpp)
  target_include_directories(${name} PRIVATE unit/common)
  target_link_libraries(${name} PRIVATE PkgConfig::cmocka)
  target_compile_options(${name} PRIVATE -w -O1 -fsanitize-sections=gt_shared -DGT_CPU)
  gt_exec_test(${name} ${name})
endforeach()

foreach(name test_prepared test_invariant_bits)
  gt_exec_program(${name} exec/${name}.c)
  target_include_directories(${name} PRIVATE unit/common)
  target_link_libraries(${name} PRIVATE PkgConfig::cmocka)
  gt_exec_test(${name} ${name})
endforeach()

gt_exec_program(exec_kernel exec/exec_kernel.c)
# Seven to fourteen configurations of each family (bf16x6: four, f16x3: three), with one op, and with an epilogue, pointers or neither.
set(lists ${CMAKE_CURRENT_SOURCE_DIR}/exec/lists)
foreach(pair ladder/2 mma/2 gemv16/2 tall/3 mma16/3 resident/4 streamk/3 wgmma/3 wgmma_tf32/2 bf16x6/4 f16x3/4 skinny/6 simt/8)
  string(REPLACE "/" ";" pair ${pair})
  list(GET pair 0 list)
  list(GET pair 1 parts)
  gt_exec_test(exec_mixed_${list} exec_kernel --mixed ${lists}/${list}.list turns 0/${parts})
endforeach()
# Each with every op that is legal, those of the longest lists with two: one, in turn, on all problems, the others each on another third.
foreach(row ladder/all/1 mma/all/1 gemv16/all/1 tall/all/1 mma16/all/1 resident/all/1 streamk/all/1 wgmma/all/1 wgmma_tf32/all/1 bf16x6/all/1 f16x3/all/1 skinny/two/1 simt/two/2)
  string(REPLACE "/" ";" row ${row})
  list(GET row 0 list)
  list(GET row 1 ops)
  list(GET row 2 parts)
  math(EXPR last "${parts} - 1")
  foreach(part RANGE ${last})
    gt_long_exec_test(exec_${ops}_${list}_${part} exec_kernel --mixed ${lists}/${list}.list ${ops} ${part}/${parts})
  endforeach()
endforeach()
# More batch items than the z dimension of a grid allows.
gt_exec_test(exec_long_batch exec_kernel --config
  "simt BM=8 BN=4 BK=2 WM=8 WN=4 TM=1 TN=1 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=2 STORE_AT=1 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1"
  sgemm:nn:2x2x3:batch=65540)

gt_long_exec_test(exec_long_batch_epilogue exec_kernel --config
  "simt BM=8 BN=4 BK=2 WM=8 WN=4 TM=1 TN=1 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=2 STORE_AT=1 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1"
  sgemm:nn:2x2x3:batch=65540:beta=1:epilogue=rowbias+gelu+out:stride_bias=3)

# Arrays of the addresses of batch items.
gt_long_exec_test(exec_pointers_wgmma exec_kernel --config
  "wgmma BM=64 BN=24 BK=64 SWAP=0 CONSUMERS=1 STAGES=2 PACK=3 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=0 GROUP=1 SPLIT_K=1 SMS=1"
  bf16gemm:nt:70x50x100:batch=3:pointers:beta=2)
gt_long_exec_test(exec_pointers_wgmma_tf32 exec_kernel --config
  "wgmma_tf32 BM=64 BN=24 BK=32 SWAP=0 CONSUMERS=1 STAGES=2 PACK=3 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=0 GROUP=1 SPLIT_K=1 SMS=1"
  tf32gemm:tn:70x50x100:batch=3:pointers:beta=2)
gt_long_exec_test(exec_long_batch_pointers exec_kernel --config
  "simt BM=8 BN=4 BK=2 WM=8 WN=4 TM=1 TN=1 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=2 STORE_AT=1 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1"
  sgemm:nn:2x2x3:batch=65540:pointers:beta=1)

# Packed operands with a k so long that it is computed in slabs.
gt_long_exec_test(exec_slabs exec_kernel --config
  "simt BM=8 BN=4 BK=16 WM=8 WN=4 TM=1 TN=1 STAGES=2 LOADER=1 PACK=3 VA=4 VB=4 VC=1 UNROLL=16 STORE_AT=8 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1"
  sgemm:nn:3x5x262200:batch=2:alpha=2:beta=-3)

# More parts than one thread adds.
gt_exec_test(exec_many_parts exec_kernel --config
  "simt BM=8 BN=16 BK=2 WM=8 WN=16 TM=2 TN=2 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=2 STORE_AT=1 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=300"
  sgemm:nn:17x19x603)

gt_exec_program(exec_mutants mutants/exec_mutants.c mutants/mutants_simt.c mutants/mutants_skinny.c
  mutants/mutants_resident.c mutants/mutants_tall.c mutants/mutants_streamk.c mutants/mutants_mma.c mutants/mutants_mma16.c mutants/mutants_gemv16.c mutants/mutants_wgmma.c mutants/mutants_split.c mutants/mutants_ladder.c
  mutants/mutants_epilogue.c mutants/mutants_pointers.c)
foreach(part RANGE 3)
  gt_long_exec_test(exec_mutants_${part} exec_mutants ${part}/4)
  set_tests_properties(exec_mutants_${part} PROPERTIES LABELS "mutants;long")
endforeach()
