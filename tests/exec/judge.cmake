# Judge and timer on a device in host memory (host_device.h); the judge's kernels are executed on the CPU.
if(NOT TARGET gt_exec)
  return()
endif()

add_library(gt_host_device STATIC exec/host_device.c exec/faulty_kernels.c exec/oracle_cpu.cpp)
target_include_directories(gt_host_device PUBLIC exec)
target_link_libraries(gt_host_device PUBLIC gt_measure gt_exec gt_reference PRIVATE gt_flags)
set_source_files_properties(exec/oracle_cpu.cpp PROPERTIES COMPILE_OPTIONS
  "-w;-O1;-fsanitize-sections=gt_shared;-fno-strict-aliasing;-DGT_CPU;-include;${CMAKE_CURRENT_SOURCE_DIR}/exec/device/gt_cpu.h")

foreach(name test_judge test_answers test_judge_mma test_judge_mma16 test_judge_split test_judge_epilogue test_judge_pointers test_clock test_trial test_rivals)
  add_executable(${name} exec/${name}.c)
  target_include_directories(${name} PRIVATE unit/common)
  target_link_libraries(${name} PRIVATE gt_host_device gt_flags PkgConfig::cmocka m)
  gt_test(${name} ${name})
  set_tests_properties(${name} PROPERTIES LABELS exec TIMEOUT 600)
endforeach()
set_property(TEST test_judge_split APPEND PROPERTY LABELS long)
set_property(TEST test_judge_split PROPERTY TIMEOUT 1800) # nineteen kernels, most of them on ten kinds of data

# The judge's kernels for other elements than FP32, of A and B, and of C.
set(oracles)
foreach(elements bf16_bf16 f16_f16 bf16_f32 f16_f32)
  string(REPLACE "_" ";" pair ${elements})
  list(GET pair 0 of_a)
  list(GET pair 1 of_c)
  string(TOUPPER ORACLE_${of_a} of_a)
  string(TOUPPER ORACLE_${of_c} of_c)
  add_library(oracle_cpu_${elements} MODULE exec/oracle_cpu.cpp)
  set_target_properties(oracle_cpu_${elements} PROPERTIES PREFIX "")
  target_include_directories(oracle_cpu_${elements} PRIVATE exec $<TARGET_PROPERTY:gt_host_device,INCLUDE_DIRECTORIES>)
  target_compile_definitions(oracle_cpu_${elements} PRIVATE ORACLE_A=${of_a} ORACLE_B=${of_a} ORACLE_C=${of_c})
  target_compile_options(oracle_cpu_${elements} PRIVATE ${GT_EXEC_SANITIZE})
  target_link_options(oracle_cpu_${elements} PRIVATE ${GT_EXEC_SANITIZE} -Wl,-Bsymbolic) # not the program's of the same names
  list(APPEND oracles oracle_cpu_${elements})
endforeach()

# Kernels that are loaded need exports.
foreach(name test_judge_mma test_judge_mma16 test_judge_split test_judge_epilogue test_judge_pointers)
  target_sources(${name} PRIVATE exec/judged_kernel.c exec/cpu_elements.c)
  target_compile_definitions(${name} PRIVATE ORACLE_CPU_FOLDER="${CMAKE_CURRENT_BINARY_DIR}")
  add_dependencies(${name} ${oracles})
  set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON)
endforeach()

add_library(fake_rivals MODULE exec/fake_rivals.c)
target_include_directories(fake_rivals PRIVATE unit/common)
target_link_libraries(fake_rivals PRIVATE gt_flags)
target_compile_definitions(test_rivals PRIVATE FAKE_RIVALS="$<TARGET_FILE:fake_rivals>")
add_dependencies(test_rivals fake_rivals)

# A GPU's state, and the counter of its energy.
add_library(fake_nvml MODULE fake/fake_nvml.c)
target_link_libraries(fake_nvml PRIVATE gt_flags)
set_tests_properties(test_clock PROPERTIES ENVIRONMENT "FAKE_NVML=$<TARGET_FILE:fake_nvml>")
add_dependencies(test_clock fake_nvml)
