# What reads text or bytes from outside is fed damaged ones. Each target is an ordinary test with a fixed number of
# runs (drive.c), a fifth of them in the short run. To look longer: build/tests/fuzz_NAME -n 10000000 -s 7 tests/fuzz/seeds/NAME. With coverage to guide
# the damage, where clang has its runtime:
#
#     CC=clang-14 cmake -B build-libfuzzer -DBUILD_TESTING=ON -DGT_SANITIZE=ON -DGT_LIBFUZZER=ON -DCMAKE_BUILD_TYPE=Debug
#     cmake --build build-libfuzzer -t fuzz_problem && build-libfuzzer/tests/fuzz_problem FOUND tests/fuzz/seeds/problem
option(GT_LIBFUZZER "Fuzz targets are clang's libFuzzer programs, not tests" OFF)
if(GT_LIBFUZZER)
  target_compile_options(gt_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# gt_fuzz_target(NAME RUNS LIBRARIES library... SEEDS path...): fuzz/fuzz_NAME.c. SEEDS may begin with -l (drive.c).
# RUNS: about 4 s under the sanitizers on a machine that does nothing else.
function(gt_fuzz_target name runs)
  cmake_parse_arguments(arg "" "" "SEEDS;LIBRARIES" ${ARGN})
  add_executable(fuzz_${name} fuzz/fuzz_${name}.c fuzz/fuzz.c)
  target_link_libraries(fuzz_${name} PRIVATE ${arg_LIBRARIES} gt_flags m)
  target_compile_definitions(fuzz_${name} PRIVATE GT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(GT_LIBFUZZER)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  target_sources(fuzz_${name} PRIVATE fuzz/drive.c)
  math(EXPR few "(${runs} + 4) / 5")
  gt_test(fuzz_${name} fuzz_${name} -n ${few} ${arg_SEEDS} WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  gt_test(fuzz_${name}_long fuzz_${name} -n ${runs} ${arg_SEEDS} WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  set_tests_properties(fuzz_${name} PROPERTIES LABELS fuzz TIMEOUT 900)
  set_tests_properties(fuzz_${name}_long PROPERTIES LABELS "fuzz;long" TIMEOUT 900)
endfunction()

set(fuzz_seeds ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/seeds)
set(configs ${PROJECT_SOURCE_DIR}/configs)
gt_fuzz_target(problem 400000 LIBRARIES gt_kernel SEEDS -l ${fuzz_seeds}/problem ${configs}/suites)
file(GLOB exec_lists CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/exec/lists/*.list)
gt_fuzz_target(config 300000 LIBRARIES gt_templates SEEDS -l ${fuzz_seeds}/config ${exec_lists})
gt_fuzz_target(own 20000 LIBRARIES gt_own gt::jansson SEEDS ${fuzz_seeds}/own)
gt_fuzz_target(suite 20000 LIBRARIES gt_kernel SEEDS ${fuzz_seeds}/suite ${configs}/suites)
gt_fuzz_target(gpu 40000 LIBRARIES gt_kernel SEEDS ${fuzz_seeds}/gpu ${configs}/gpus)
gt_fuzz_target(ptxas 300000 LIBRARIES gt_gpu SEEDS ${fuzz_seeds}/ptxas)
gt_fuzz_target(message 100000 LIBRARIES gt_workers gt::xxhash SEEDS ${fuzz_seeds}/message)
gt_fuzz_target(recorded 3000 LIBRARIES gt_replay gt::jansson SEEDS ${fuzz_seeds}/recorded)
gt_fuzz_target(import 1500 LIBRARIES gt_tools gt::jansson SEEDS ${fuzz_seeds}/import)
gt_fuzz_target(pretuned 3000 LIBRARIES gt_winners gt::jansson SEEDS ${fuzz_seeds}/pretuned)
target_sources(fuzz_pretuned PRIVATE fuzz/ask.c)
gt_fuzz_target(database 70 LIBRARIES gt_winners gt::sqlite SEEDS ${fuzz_seeds}/database)
target_sources(fuzz_database PRIVATE fuzz/ask.c fuzz/damage.c)
gt_fuzz_target(commands 60 LIBRARIES gt_tools gt::jansson gt::sqlite
               SEEDS ${fuzz_seeds}/database)
target_sources(fuzz_commands PRIVATE fuzz/ask.c fuzz/damage.c)
gt_fuzz_target(space 8000 LIBRARIES gt_search SEEDS ${fuzz_seeds}/space ${configs}/spaces)
gt_fuzz_target(argument 40000 LIBRARIES gt_tools gt_gpu SEEDS ${fuzz_seeds}/argument)
gt_fuzz_target(cache 10000 LIBRARIES gt_gpu SEEDS ${fuzz_seeds}/cache)
gt_fuzz_target(proc 60000 LIBRARIES gt_tools SEEDS ${fuzz_seeds}/proc)
gt_fuzz_target(cluster 10000 LIBRARIES gt_tools gt::jansson SEEDS ${fuzz_seeds}/cluster)
gt_fuzz_target(plan 60000 LIBRARIES gt_runtime gt_measure gt_search SEEDS -l ${fuzz_seeds}/config)
