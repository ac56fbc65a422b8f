# The drop-in, before a cuBLAS made of host memory (program_blas.c), on the fake driver and compiler.
add_library(program_blas SHARED dropin/program_blas.c dropin/program_lt.c)
target_include_directories(program_blas PUBLIC ${PROJECT_SOURCE_DIR}/runtime/dropin ${PROJECT_SOURCE_DIR}/tuner/gpu
  ${PROJECT_SOURCE_DIR}/tuner/kernel ${PROJECT_SOURCE_DIR}/tuner/gemm ${PROJECT_SOURCE_DIR}/tuner/base ${CMAKE_CURRENT_SOURCE_DIR}/unit/common)
target_link_libraries(program_blas PUBLIC gt::cuda PRIVATE gt_flags m)
# gt_dropin_test(NAME): tests/dropin/NAME.c, that starts itself under the drop-in.
function(gt_dropin_test name)
  add_executable(${name} dropin/${name}.c dropin/dropin_runs.c reference.c)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/unit/common)
  target_link_libraries(${name} PRIVATE gt_runtime gt_templates gt::sqlite gt::jansson
    gt_flags PkgConfig::cmocka Threads::Threads m ${CMAKE_DL_LIBS})
  target_compile_definitions(${name} PRIVATE FAKE_GPU="$<TARGET_FILE:fake_gpu>" FAKE_NVRTC="$<TARGET_FILE:fake_nvrtc>"
    DROPIN="$<TARGET_FILE:gemmtune_cublas>" PROGRAM_BLAS="$<TARGET_FILE:program_blas>" $<$<BOOL:${GT_SANITIZE}>:GT_SANITIZED>)
  add_dependencies(${name} fake_gpu fake_nvrtc gemmtune_cublas)
  gt_test(${name} ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 900
    ENVIRONMENT "ASAN_OPTIONS=verify_asan_link_order=0") # the sanitizers' library comes after the preloaded one
endfunction()
foreach(name test_dropin_blas test_dropin_lt test_dropin_epilogue test_dropin_pointers test_dropin_faults test_dropin_threads test_dropin_records test_dropin_cost
    test_dropin_workspace test_dropin_waits test_dropin_meanwhile test_dropin_recovery test_dropin_renewal test_dropin_rules test_dropin_random test_dropin_types test_dropin_types_lt test_dropin_accuracy test_dropin_shortcut)
  gt_dropin_test(${name})
  target_link_libraries(${name} PRIVATE program_blas)
endforeach()

# The same cuBLAS in several majors, with their symbols' versions, and a part of a program for each.
set(majors ${CMAKE_CURRENT_BINARY_DIR}/majors)
function(gt_program_major name major file)
  configure_file(dropin/program_blas.map.in ${name}.map @ONLY)
  add_library(program_blas_${name} SHARED dropin/program_blas.c dropin/program_lt.c)
  set_target_properties(program_blas_${name} PROPERTIES OUTPUT_NAME ${file} SUFFIX .so.${major} LIBRARY_OUTPUT_DIRECTORY ${majors})
  target_include_directories(program_blas_${name} PUBLIC $<TARGET_PROPERTY:program_blas,INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_options(program_blas_${name} PRIVATE -Wl,--version-script=${CMAKE_CURRENT_BINARY_DIR}/${name}.map)
  set_target_properties(program_blas_${name} PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/${name}.map)
  target_link_libraries(program_blas_${name} PUBLIC gt::cuda PRIVATE gt_flags m)
  add_library(program_half_${name} MODULE dropin/program_half.c)
  target_link_libraries(program_half_${name} PRIVATE program_blas_${name} gt_flags)
endfunction()
gt_program_major(12 12 cublas)
gt_program_major(13 13 cublas)
gt_program_major(14 14 cublas)
gt_program_major(renamed 12 cublas-a1b2c3)
target_compile_definitions(test_dropin_types_lt PRIVATE HALF_13="$<TARGET_FILE:program_half_13>")
add_dependencies(test_dropin_types_lt program_half_13)
gt_dropin_test(test_dropin_majors)
target_include_directories(test_dropin_majors PRIVATE $<TARGET_PROPERTY:program_blas,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_definitions(test_dropin_majors PRIVATE MAJORS="${majors}" HALF_12="$<TARGET_FILE:program_half_12>"
  HALF_13="$<TARGET_FILE:program_half_13>" HALF_14="$<TARGET_FILE:program_half_14>"
  HALF_RENAMED="$<TARGET_FILE:program_half_renamed>")
add_dependencies(test_dropin_majors program_half_12 program_half_13 program_half_14 program_half_renamed)

# Programs that bring libraries of their own under the names of those that the drop-in takes.
set(own ${CMAKE_CURRENT_BINARY_DIR}/own)
set(own_libraries libsqlite3.so.0 libjansson.so.4 libinih.so.1 libxxhash.so.0)
foreach(file ${own_libraries})
  add_library(own_${file} SHARED dropin/own_library.c)
  set_target_properties(own_${file} PROPERTIES PREFIX "" OUTPUT_NAME ${file} SUFFIX "" LIBRARY_OUTPUT_DIRECTORY ${own}/lib)
  target_link_libraries(own_${file} PRIVATE gt_flags)
endforeach()
foreach(name program_alone program_runpath program_conda)
  add_executable(${name} dropin/program_alone.c dropin/program_half.c)
  target_link_libraries(${name} PRIVATE program_blas gt_flags Threads::Threads ${CMAKE_DL_LIBS})
  target_compile_definitions(${name} PRIVATE $<$<BOOL:${GT_SANITIZE}>:GT_SANITIZED>)
endforeach()
target_link_libraries(program_runpath PRIVATE own_libsqlite3.so.0)
target_link_options(program_runpath PRIVATE -Wl,--enable-new-dtags)
set_target_properties(program_conda PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${own}/bin BUILD_RPATH_USE_ORIGIN ON)
target_link_options(program_conda PRIVATE -Wl,--disable-new-dtags -Wl,--no-as-needed)
foreach(file ${own_libraries})
  target_link_libraries(program_conda PRIVATE own_${file})
endforeach()
foreach(name program_runpath program_conda)
  target_compile_definitions(${name} PRIVATE OWN_LIBRARY)
endforeach()
add_library(other_engine MODULE dropin/other_engine.c)
target_link_libraries(other_engine PRIVATE gt_flags)
add_library(limiter MODULE dropin/limiter.c) # not with the sanitizers, which ask it before they are set up
target_compile_definitions(limiter PRIVATE _GNU_SOURCE)
target_compile_options(limiter PRIVATE -O2) # passes on as a jump: RTLD_NEXT depends on who asks
target_link_libraries(limiter PRIVATE ${CMAKE_DL_LIBS})
find_package(Python3 COMPONENTS Interpreter)
foreach(name program_inside program_static) # the second has no loader, either
  add_executable(${name} dropin/program_static.c)
endforeach()
target_link_options(program_static PRIVATE -static)
set(sanitizers address options) # the second is the first with options of its own
if(NOT GT_SANITIZE) # else the drop-in has one, and there is no place for another
  list(APPEND sanitizers thread undefined leak)
endif()
foreach(sanitizer ${sanitizers})
  add_executable(program_${sanitizer} dropin/program_static.c)
  string(REPLACE options address flag -fsanitize=${sanitizer})
  target_compile_options(program_${sanitizer} PRIVATE ${flag})
  target_link_options(program_${sanitizer} PRIVATE ${flag})
  list(APPEND programs_sanitized "\"$<TARGET_FILE:program_${sanitizer}>\"")
  list(APPEND sanitized_targets program_${sanitizer})
endforeach()
target_compile_definitions(program_options PRIVATE OWN_OPTIONS)
list(JOIN programs_sanitized "," programs_sanitized)
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE libasan OUTPUT_STRIP_TRAILING_WHITESPACE)
gt_dropin_test(test_dropin_libraries)
target_compile_definitions(test_dropin_libraries PRIVATE PROGRAM_ALONE="$<TARGET_FILE:program_alone>"
  PROGRAM_RUNPATH="$<TARGET_FILE:program_runpath>" PROGRAM_CONDA="$<TARGET_FILE:program_conda>"
  PYTHON="${Python3_EXECUTABLE}" PYTHON_CALLS="${CMAKE_CURRENT_SOURCE_DIR}/dropin/python_calls.py"
  TUNE="$<TARGET_FILE:tune>" PROGRAM_INSIDE="$<TARGET_FILE:program_inside>" PROGRAM_STATIC="$<TARGET_FILE:program_static>" MAJORS="${majors}"
  HALF_13="$<TARGET_FILE:program_half_13>" OTHER_ENGINE="$<TARGET_FILE:other_engine>" LIMITER="$<TARGET_FILE:limiter>"
  PROGRAMS_SANITIZED=${programs_sanitized} LIBASAN="${libasan}"
  ENGINE="$<TARGET_FILE:gemmtune_cublas_engine>" LIBRARY="$<TARGET_FILE:gemmtune>")
add_dependencies(test_dropin_libraries gemmtune tune program_inside program_static program_alone program_runpath program_conda program_half_13 other_engine limiter ${sanitized_targets})

gt_unit_test(runtime/test_record gt_dropin gt_runtime gt_templates gt::sqlite gt::jansson gt::xxhash Threads::Threads)
target_sources(test_record PRIVATE reference.c)
target_include_directories(test_record PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/unit/common)
target_compile_definitions(test_record PRIVATE FAKE_GPU="$<TARGET_FILE:fake_gpu>" FAKE_NVRTC="$<TARGET_FILE:fake_nvrtc>")
target_link_options(test_record PRIVATE -Wl,--wrap=lookup_exact)
add_dependencies(test_record fake_gpu fake_nvrtc)

add_executable(bench_eager measure/bench_eager.c) # by hand: what a call costs the host on a real GPU
target_include_directories(bench_eager PRIVATE ${PROJECT_SOURCE_DIR}/runtime/dropin ${CMAKE_CURRENT_SOURCE_DIR}/unit/common)
target_link_libraries(bench_eager PRIVATE gt_measure gt_flags m ${CMAKE_DL_LIBS})

add_executable(bench_lt dropin/bench_lt.c) # by hand, without a GPU
target_include_directories(bench_lt PRIVATE ${PROJECT_SOURCE_DIR}/runtime/dropin ${PROJECT_SOURCE_DIR}/tuner/gpu
  ${PROJECT_SOURCE_DIR}/tuner/kernel ${PROJECT_SOURCE_DIR}/tuner/gemm ${PROJECT_SOURCE_DIR}/tuner/base)
target_link_libraries(bench_lt PRIVATE gt::cuda gt_flags m ${CMAKE_DL_LIBS})

# BF16 and FP16 under the drop-in; skipped where there is no GPU.
gt_gpu_test(test_dropin_gpu gt_measure)
target_compile_definitions(test_dropin_gpu PRIVATE DROPIN="$<TARGET_FILE:gemmtune_cublas>")
add_dependencies(test_dropin_gpu gemmtune_cublas)

# PyTorch under the drop-in; skipped where there is none or no GPU.
if(Python3_FOUND)
  gt_test(torch_dropin ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/gpu/torch_dropin.py
    --dropin $<TARGET_FILE:gemmtune_cublas> --tune $<TARGET_FILE:tune>)
  set_tests_properties(torch_dropin PROPERTIES LABELS "gpu;long" TIMEOUT 1800 SKIP_RETURN_CODE 77 RESOURCE_LOCK gpu)
endif()
