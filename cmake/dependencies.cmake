# Libraries from the system. Each gets a target gt::NAME.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

include(bundled) # what is compiled from GT_BUNDLED_DEPS

# gt_dependency(NAME PKG_CONFIG_MODULE NAMES_OF_THE_ARCHIVE...): defines gt::NAME, and NAME_ARCHIVE, its
# static form, which is linked into our shared libraries (that of libuv only into the program, with
# GT_STATIC_DEPS). What is bundled is always linked so.
function(gt_dependency name module)
  if(TARGET gt_bundled_${name})
    add_library(gt_${name} INTERFACE)
    add_library(gt::${name} ALIAS gt_${name})
    target_link_libraries(gt_${name} INTERFACE gt_bundled_${name})
    set(${name}_ARCHIVE $<TARGET_FILE:gt_bundled_${name}> PARENT_SCOPE)
    return()
  endif()
  pkg_check_modules(${name} REQUIRED ${module})
  add_library(gt_${name} INTERFACE)
  add_library(gt::${name} ALIAS gt_${name})
  target_include_directories(gt_${name} SYSTEM INTERFACE ${${name}_INCLUDE_DIRS})
  find_library(${name}_ARCHIVE NAMES ${ARGN} HINTS ${${name}_LIBDIR})
  if(NOT ${name}_ARCHIVE AND (GT_STATIC_DEPS OR NOT name STREQUAL "uv"))
    list(GET ARGN 0 archive)
    message(FATAL_ERROR "No ${archive}, the static form of ${module}, which is linked into what we build: install the "
      "development package that has it (Debian's do: run tools/setup.sh), or set GT_BUNDLED_DEPS (docs/installing.md)")
  endif()
  if(GT_STATIC_DEPS)
    target_link_libraries(gt_${name} INTERFACE ${${name}_ARCHIVE})
  else()
    target_link_libraries(gt_${name} INTERFACE ${${name}_LINK_LIBRARIES})
  endif()
endfunction()

gt_dependency(sqlite sqlite3 libsqlite3.a)
gt_dependency(uv libuv libuv_a.a libuv.a)
gt_dependency(jansson jansson libjansson.a)
gt_dependency(inih inih libinih.a)
gt_dependency(xxhash libxxhash libxxhash.a)
gt_dependency(zlib zlib libz.a)
target_link_libraries(gt_sqlite INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
target_link_libraries(gt_uv INTERFACE Threads::Threads ${CMAKE_DL_LIBS})

# CUDA: headers only; its libraries are opened at run time.
include(cuda)
if(NOT GT_CUDA_VERSION)
  message(FATAL_ERROR "No CUDA toolkit (${GT_CUDA_LEAST} or later): run tools/setup.sh, or set GT_CUDA_ROOT")
endif()
message(STATUS "CUDA ${GT_CUDA_VERSION}: ${GT_CUDA_INCLUDE}")
add_library(gt_cuda_headers INTERFACE)
add_library(gt::cuda ALIAS gt_cuda_headers)
target_include_directories(gt_cuda_headers SYSTEM INTERFACE ${GT_CUDA_INCLUDE})
