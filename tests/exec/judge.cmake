# Judge and timer on a device in host memory (host_device.h); the judge's kernels are executed on the CPU.
if(NOT TARGET gt_exec)
  return()
endif()

add_library(gt_host_device STATIC exec/host_device.c exec/players.c exec/oracle_cpu.cpp)
target_include_directories(gt_host_device PUBLIC exec)
target_link_libraries(gt_host_device PUBLIC gt_measure gt_exec gt_reference PRIVATE gt_flags)
set_source_files_properties(exec/oracle_cpu.cpp PROPERTIES COMPILE_OPTIONS
  "-w;-O1;-fsanitize-sections=gt_shared;-fno-strict-aliasing;-DGT_CPU;-include;${CMAKE_CURRENT_SOURCE_DIR}/exec/gt_cpu.h")

foreach(name test_judge test_answers test_judge_mma test_judge_epilogue test_judge_pointers test_clock test_trial test_rivals)
  add_executable(${name} exec/${name}.c)
  target_include_directories(${name} PRIVATE unit/common)
  target_link_libraries(${name} PRIVATE gt_host_device gt_flags PkgConfig::cmocka m)
  gt_test(${name} ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 600)
endforeach()

# Kernels that are loaded need exports.
foreach(name test_judge_mma test_judge_epilogue test_judge_pointers)
  target_sources(${name} PRIVATE exec/judged_kernel.c)
  set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON)
endforeach()

add_library(fake_rivals MODULE exec/fake_rivals.c)
target_include_directories(fake_rivals PRIVATE unit/common)
target_link_libraries(fake_rivals PRIVATE gt_flags)
target_compile_definitions(test_rivals PRIVATE FAKE_RIVALS="$<TARGET_FILE:fake_rivals>")
add_dependencies(test_rivals fake_rivals)
