# Exported headers: written by the program itself, then compiled and run.
add_executable(make_winners export/make_winners.c)
target_link_libraries(make_winners PRIVATE gt_tools gt_flags m)
target_compile_definitions(make_winners PRIVATE GT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# gt_exported_header(NAME COUNT): export/NAME.h in the build folder, with about COUNT winners, by the target export_NAME.
function(gt_exported_header name count)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/export)
  add_custom_command(OUTPUT ${folder}/${name}.h DEPENDS make_winners tune export/make_winners.c
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${folder}/${name}.db
    COMMAND make_winners ${count} > ${folder}/${name}.jsonl
    COMMAND tune import ${folder}/${name}.jsonl --db ${folder}/${name}.db > ${folder}/${name}.log
    COMMAND tune export --db ${folder}/${name}.db --header ${folder}/${name}.h 2>> ${folder}/${name}.log
    COMMENT "Exporting ${name}.h")
  add_custom_target(export_${name} DEPENDS ${folder}/${name}.h)
endfunction()
gt_exported_header(many 10000)
gt_exported_header(few 20)

# The flags are those that users compile with.
add_executable(check_header export/check_header.c)
add_executable(check_header_cxx export/check_header.cpp)
add_executable(bench_header export/bench_header.c)
foreach(program check_header check_header_cxx bench_header)
  add_dependencies(${program} export_many export_few)
  target_include_directories(${program} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/export)
  target_compile_options(${program} PRIVATE -Wall -Wextra -Wpedantic -Werror)
  target_link_libraries(${program} PRIVATE gt_flags)
  target_compile_definitions(${program} PRIVATE GT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gt_test(export_${program} ${program})
  set_tests_properties(export_${program} PROPERTIES LABELS cli TIMEOUT 900)
endforeach()

target_link_libraries(check_header PRIVATE gt_templates m) # the templates, to hold against

gt_test(export_files ${CMAKE_CURRENT_SOURCE_DIR}/export/files.sh ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER}
  ${CMAKE_CURRENT_BINARY_DIR}/export/many.h ${CMAKE_CURRENT_BINARY_DIR}/export/few.h)
set_tests_properties(export_files PROPERTIES LABELS "cli;long" TIMEOUT 600)

gt_test(export_kernels ${CMAKE_CURRENT_SOURCE_DIR}/export/kernels.sh $<TARGET_FILE:tune>
  $<TARGET_FILE:make_winners> ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER} ${GT_CUDA_INCLUDE})
set_tests_properties(export_kernels PROPERTIES LABELS "nvrtc;long" TIMEOUT 600 SKIP_RETURN_CODE 77)

gt_test(export_gpu ${CMAKE_CURRENT_SOURCE_DIR}/export/gpu.sh $<TARGET_FILE:tune>
  $<TARGET_FILE:make_winners> ${CMAKE_C_COMPILER} ${GT_CUDA_INCLUDE})
set_tests_properties(export_gpu PROPERTIES LABELS gpu TIMEOUT 600 SKIP_RETURN_CODE 77 RESOURCE_LOCK gpu)

# Byte for byte what is exported of the winners that ship.
add_executable(headers golden/golden_headers.c)
target_link_libraries(headers PRIVATE gt_tools gt_gpu gt_flags m)
gt_test(headers ${CMAKE_CURRENT_SOURCE_DIR}/golden/headers.sh $<TARGET_FILE:headers> $<TARGET_FILE:tune> $<TARGET_FILE:make_winners>
  ${CMAKE_C_COMPILER} ${GT_CUDA_INCLUDE} ${CMAKE_CURRENT_BINARY_DIR}/golden ${CMAKE_CURRENT_SOURCE_DIR}/data/headers.txt)
set_tests_properties(headers PROPERTIES LABELS cli TIMEOUT 600)

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  gt_test(export_t4 ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/export/t4.py $<TARGET_FILE:tune>
    $<TARGET_FILE:store_many>)
  set_tests_properties(export_t4 PROPERTIES LABELS cli TIMEOUT 900 SKIP_RETURN_CODE 77)
endif()
