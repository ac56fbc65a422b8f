# Compiler settings for everything in this project.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

set(GT_SANITIZE OFF CACHE STRING "OFF, address (with undefined behaviour; ON means the same) or thread")
set_property(CACHE GT_SANITIZE PROPERTY STRINGS OFF address thread)
option(GT_STATIC_DEPS "Link SQLite, libuv, jansson, inih, xxHash and zlib statically, for a program that travels" OFF)

add_library(gt_flags INTERFACE)
target_compile_options(gt_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -Wstrict-prototypes -Wmissing-prototypes>)
if(GT_SANITIZE)
  # With the instrumentation the compiler cannot determine the length of texts.
  target_compile_options(gt_flags INTERFACE -fno-omit-frame-pointer -Wno-format-truncation)
endif()
if(GT_SANITIZE STREQUAL "thread")
  target_compile_options(gt_flags INTERFACE -fsanitize=thread)
  target_link_options(gt_flags INTERFACE -fsanitize=thread)
  # Its shadow memory leaves less room for address randomisation than some kernels use. A container may forbid
  # to turn it off.
  execute_process(COMMAND setarch --addr-no-randomize true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
  if(refused STREQUAL "0")
    set(CMAKE_CROSSCOMPILING_EMULATOR setarch --addr-no-randomize)
  endif()
elseif(GT_SANITIZE)
  if(NOT GT_SANITIZE MATCHES "^(address|ON|TRUE|1)$")
    message(FATAL_ERROR "GT_SANITIZE is '${GT_SANITIZE}'; it may be OFF, address or thread")
  endif()
  target_compile_options(gt_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all)
  target_link_options(gt_flags INTERFACE -fsanitize=address,undefined)
endif()
target_compile_definitions(gt_flags INTERFACE _GNU_SOURCE)

# gt_library(NAME SOURCES ... LINKS ...): defines a static library; the folders of its sources are its include
# path.
function(gt_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  set(folders)
  foreach(source ${arg_SOURCES})
    get_filename_component(path ${source} ABSOLUTE)
    get_filename_component(folder ${path} DIRECTORY)
    list(APPEND folders ${folder})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  target_include_directories(${name} PUBLIC ${folders})
  target_link_libraries(${name} PUBLIC ${arg_LINKS} PRIVATE gt_flags ${arg_PRIVATE_LINKS})
endfunction()

# gt_closed_library(NAME EXPORTS MAP OBJECTS TARGET... ARCHIVES TARGET...): defines a shared library that
# loads no other libraries into the program: SQLite, jansson, inih, xxHash and zlib are linked in from archives, and their symbols are hidden. These archives are not compiled for shared libraries, but can be
# linked, because hidden symbols need no relocation by name. One name cannot be hidden: stdin, with which
# jansson compares a file. It is replaced by another symbol.
function(gt_closed_library name)
  cmake_parse_arguments(arg "" "EXPORTS" "OBJECTS;ARCHIVES" ${ARGN})
  add_library(${name} SHARED)
  foreach(objects ${arg_OBJECTS})
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${objects}>)
  endforeach()
  set(files)
  foreach(archive ${arg_ARCHIVES})
    list(APPEND files $<TARGET_FILE:${archive}>)
  endforeach()
  add_dependencies(${name} ${arg_ARCHIVES} ${GT_BUNDLED})
  target_link_libraries(${name} PRIVATE
    -Wl,--start-group ${files} ${sqlite_ARCHIVE} ${jansson_ARCHIVE} ${inih_ARCHIVE} ${xxhash_ARCHIVE} ${zlib_ARCHIVE} -Wl,--end-group
    Threads::Threads ${CMAKE_DL_LIBS} m gt_flags)
  target_link_options(${name} PRIVATE -Wl,--defsym=stdin=gt_no_stdin)
  gt_exports(${name} ${arg_EXPORTS})
endfunction()

# gt_exports(TARGET MAP): a shared library that exports what MAP names and is never unloaded, because it may
# have threads, and functions to call at the program's end.
function(gt_exports name map)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C)
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${map})
  target_link_options(${name} PRIVATE -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/${map} -Wl,--no-undefined-version
    -Wl,-z,nodelete -Wl,-z,text)
  if(NOT GT_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
endfunction()

# gt_embed(TARGET file ...): makes each file a NUL-terminated `const char text_NAME[]` (dots and dashes as
# '_').
function(gt_embed target)
  foreach(file ${ARGN})
    get_filename_component(path ${file} ABSOLUTE)
    get_filename_component(base ${file} NAME)
    string(REGEX REPLACE "[.-]" "_" symbol "text_${base}")
    set(out ${CMAKE_CURRENT_BINARY_DIR}/embed_${symbol}.S)
    file(CONFIGURE OUTPUT ${out} @ONLY CONTENT
"    .section .rodata
    .global @symbol@
@symbol@:
    .incbin \"@path@\"
    .byte 0
    .section .note.GNU-stack,\"\",%progbits
")
    set_source_files_properties(${out} PROPERTIES OBJECT_DEPENDS ${path})
    target_sources(${target} PRIVATE ${out})
  endforeach()
endfunction()
