# The drop-in, before a cuBLAS made of host memory (program_blas.c), on the fake driver and compiler.
add_library(program_blas SHARED dropin/program_blas.c)
target_include_directories(program_blas PUBLIC ${PROJECT_SOURCE_DIR}/runtime/dropin ${PROJECT_SOURCE_DIR}/tuner/gpu
  ${PROJECT_SOURCE_DIR}/tuner/core)
target_link_libraries(program_blas PUBLIC gt::cuda PRIVATE gt_flags)
foreach(name test_dropin_blas test_dropin_lt test_dropin_faults test_dropin_threads test_dropin_waits
        test_dropin_rules test_dropin_records test_dropin_cost)
  add_executable(${name} dropin/${name}.c dropin/dropin_runs.c reference.c)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/unit)
  target_link_libraries(${name} PRIVATE program_blas gt_runtime gt_gpu gt_db gt_search gt_base gt::sqlite gt::jansson
    gt_flags PkgConfig::cmocka Threads::Threads m ${CMAKE_DL_LIBS})
  target_compile_definitions(${name} PRIVATE FAKE_GPU="$<TARGET_FILE:fake_gpu>" FAKE_NVRTC="$<TARGET_FILE:fake_nvrtc>"
    DROPIN="$<TARGET_FILE:gemmtune_cublas>" PROGRAM_BLAS="$<TARGET_FILE:program_blas>" $<$<BOOL:${GT_SANITIZE}>:GT_SANITIZED>)
  add_dependencies(${name} fake_gpu fake_nvrtc gemmtune_cublas)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 900
    ENVIRONMENT "ASAN_OPTIONS=verify_asan_link_order=0") # the sanitizers' library comes after the preloaded one
endforeach()

gt_unit_test(test_route gt_dropin gt_runtime gt_gpu gt_db gt_search gt_base gt::sqlite gt::jansson gt::xxhash Threads::Threads)
target_sources(test_route PRIVATE reference.c)
target_include_directories(test_route PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/unit)
target_compile_definitions(test_route PRIVATE FAKE_GPU="$<TARGET_FILE:fake_gpu>" FAKE_NVRTC="$<TARGET_FILE:fake_nvrtc>")
target_link_options(test_route PRIVATE -Wl,--wrap=lookup_exact)
add_dependencies(test_route fake_gpu fake_nvrtc)

add_executable(bench_dropin gpu/bench_dropin.c) # by hand: what it adds to a call on a real GPU
target_include_directories(bench_dropin PRIVATE ${PROJECT_SOURCE_DIR}/runtime/dropin)
target_link_libraries(bench_dropin PRIVATE gt_gpu gt_base gt_flags m ${CMAKE_DL_LIBS})

add_executable(bench_lt dropin/bench_lt.c) # by hand, without a GPU
target_include_directories(bench_lt PRIVATE ${PROJECT_SOURCE_DIR}/runtime/dropin ${PROJECT_SOURCE_DIR}/tuner/gpu
  ${PROJECT_SOURCE_DIR}/tuner/core)
target_link_libraries(bench_lt PRIVATE gt::cuda gt_flags m ${CMAKE_DL_LIBS})

# PyTorch under the drop-in; skipped where there is none or no GPU.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME torch_dropin COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/gpu/torch_dropin.py
    --dropin $<TARGET_FILE:gemmtune_cublas> --tune $<TARGET_FILE:tune>)
  set_tests_properties(torch_dropin PROPERTIES LABELS "gpu;slow" TIMEOUT 1800 SKIP_RETURN_CODE 77 RESOURCE_LOCK gpu)
endif()
