# The CUDA toolkit: headers to compile with, and the folder where NVRTC and cuBLAS are looked for at run time.
# nvcc is not needed. Sets GT_CUDA_INCLUDE, GT_CUDA_LIBRARIES and GT_CUDA_VERSION ("13.0"); GT_CUDA_VERSION is
# empty if there is no toolkit.
#
# Searched in this order: GT_CUDA_ROOT, an installed toolkit (FindCUDAToolkit, or headers without nvcc),
# NVIDIA's wheels unpacked into .deps/cuda by tools/setup.sh.
set(GT_CUDA_LEAST 12.8) # the first one that supports every architecture we compile for
set(GT_CUDA_ROOT "$ENV{GT_CUDA_ROOT}" CACHE PATH "CUDA toolkit to use instead of the one that would be found")

function(gt_cuda_look_in include libraries)
  if(GT_CUDA_VERSION OR NOT EXISTS ${include}/cuda.h OR NOT EXISTS ${include}/nvrtc.h)
    return()
  endif()
  file(STRINGS ${include}/cuda.h line REGEX "^#define CUDA_VERSION +[0-9]+")
  string(REGEX MATCH "[0-9]+$" number "${line}")
  math(EXPR major "${number} / 1000")
  math(EXPR minor "${number} % 1000 / 10")
  if("${major}.${minor}" VERSION_LESS GT_CUDA_LEAST)
    message(STATUS "CUDA ${major}.${minor} in ${include} is older than ${GT_CUDA_LEAST}: not used")
    return()
  endif()
  set(GT_CUDA_INCLUDE ${include} PARENT_SCOPE)
  set(GT_CUDA_LIBRARIES ${libraries} PARENT_SCOPE)
  set(GT_CUDA_VERSION ${major}.${minor} PARENT_SCOPE)
endfunction()

set(GT_CUDA_VERSION "")
if(GT_CUDA_ROOT)
  foreach(lib lib64 lib)
    if(IS_DIRECTORY ${GT_CUDA_ROOT}/${lib})
      gt_cuda_look_in(${GT_CUDA_ROOT}/include ${GT_CUDA_ROOT}/${lib})
    endif()
  endforeach()
else()
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_FOUND)
    list(GET CUDAToolkit_INCLUDE_DIRS 0 first)
    gt_cuda_look_in(${first} ${CUDAToolkit_LIBRARY_DIR})
  endif()
  gt_cuda_look_in(/usr/local/cuda/include /usr/local/cuda/lib64)
  gt_cuda_look_in(${CMAKE_CURRENT_LIST_DIR}/../.deps/cuda/nvidia/cu13/include
                  ${CMAKE_CURRENT_LIST_DIR}/../.deps/cuda/nvidia/cu13/lib)
endif()
if(GT_CUDA_VERSION)
  get_filename_component(GT_CUDA_INCLUDE ${GT_CUDA_INCLUDE} ABSOLUTE)
  get_filename_component(GT_CUDA_LIBRARIES ${GT_CUDA_LIBRARIES} ABSOLUTE)
endif()
