# The table of kernel templates (tuner/kernel/template.h) consists of rows, one per family.
set(GT_EXTRA_FAMILIES "" CACHE STRING "folders of kernel families from outside of this tree (docs/adding_a_template.md)")

get_filename_component(gt_device_headers ${CMAKE_CURRENT_LIST_DIR}/../kernel_templates/device ABSOLUTE)

# gt_included(OUT TEXT FOLDER...): lists TEXT and the files of the folders that it includes, directly or not,
# in that order.
function(gt_included out text)
  set(found ${text})
  set(left ${text})
  while(left)
    list(POP_FRONT left file)
    file(STRINGS ${file} lines REGEX "^ *# *include \"" ENCODING UTF-8)
    foreach(line ${lines})
      string(REGEX REPLACE ".*\"(.*)\".*" "\\1" name "${line}")
      foreach(folder ${ARGN})
        if(EXISTS ${folder}/${name} AND NOT ${folder}/${name} IN_LIST found)
          list(APPEND found ${folder}/${name})
          list(APPEND left ${folder}/${name})
        endif()
      endforeach()
    endforeach()
  endwhile()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${found})
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# gt_sources(TARGET NAME TEXT...): defines the array sources_NAME of struct template from embedded texts.
function(gt_sources target name)
  set(declared)
  set(listed)
  foreach(text ${ARGN})
    get_filename_component(base ${text} NAME)
    string(REGEX REPLACE "[.-]" "_" symbol "text_${base}")
    list(APPEND declared "${symbol}[]")
    string(APPEND listed "    {\"${base}\", ${symbol}},\n")
  endforeach()
  list(JOIN declared ", " declared)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/sources_${name}.c)
  file(CONFIGURE OUTPUT ${out} @ONLY CONTENT
"/* Made by cmake/families.cmake. */
#include \"template.h\"

extern const char @declared@;
extern const struct source_text sources_@name@[];

const struct source_text sources_@name@[] = {
@listed@    {NULL, NULL},
};
")
  target_sources(${target} PRIVATE ${out})
endfunction()

# gt_family(TARGET FOLDER [TEMPLATES name...]): adds a family to TARGET. The folder's *.c are host sources;
# *.cu and the headers that they include are embedded for NVRTC, and listed as sources_NAME for NAME.cu.
# TEMPLATES: the names of its rows in the table, unless there is one row named after the folder.
function(gt_family target folder)
  cmake_parse_arguments(arg "" "" "TEMPLATES" ${ARGN})
  get_filename_component(folder ${folder} ABSOLUTE)
  get_filename_component(name ${folder} NAME)
  if(NOT arg_TEMPLATES)
    set(arg_TEMPLATES ${name})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c)
  file(GLOB kernels CONFIGURE_DEPENDS ${folder}/*.cu)
  if(NOT sources)
    message(FATAL_ERROR "No kernel family in ${folder}: it has no C file")
  endif()
  target_sources(${target} PRIVATE ${sources})
  target_include_directories(${target} PUBLIC ${folder})
  set(texts)
  foreach(kernel ${kernels})
    get_filename_component(kernel_name ${kernel} NAME_WE)
    gt_included(included ${kernel} ${folder} ${gt_device_headers})
    gt_sources(${target} ${kernel_name} ${included})
    foreach(text ${included})
      get_filename_component(its_folder ${text} DIRECTORY)
      if(its_folder STREQUAL folder)
        list(APPEND texts ${text})
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES texts)
  gt_embed(${target} ${texts})
  set_property(TARGET ${target} APPEND PROPERTY GT_TEMPLATES ${arg_TEMPLATES})
endfunction()

# gt_outside_family(TARGET FOLDER): the same for a folder outside of this tree. An installed program finds its
# space file beside the others, a program that is not installed in the folder itself.
function(gt_outside_family target folder)
  get_filename_component(folder ${folder} ABSOLUTE)
  gt_family(${target} ${folder})
  set_property(TARGET ${target} APPEND PROPERTY GT_FOLDERS ${folder})
endfunction()

# gt_template_table(TARGET): defines the table, with all rows of gt_templates and of the target. A program's
# own table takes precedence over the library's.
function(gt_template_table target)
  set(rows)
  set(folders)
  foreach(from gt_templates ${target})
    get_target_property(of_it ${from} GT_TEMPLATES)
    list(APPEND rows ${of_it})
    get_target_property(of_it ${from} GT_FOLDERS)
    if(of_it)
      list(APPEND folders ${of_it})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES rows)
  list(REMOVE_DUPLICATES folders)
  list(TRANSFORM rows PREPEND "template_" OUTPUT_VARIABLE declared)
  list(JOIN declared ", " declared)
  list(TRANSFORM rows REPLACE "(.+)" "    &template_\\1,\n" OUTPUT_VARIABLE listed)
  list(JOIN listed "" listed)
  list(TRANSFORM folders REPLACE "(.+)" "\"\\1\", ")
  list(JOIN folders "" folders)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/template_table_${target}.c)
  file(CONFIGURE OUTPUT ${out} @ONLY CONTENT
"/* Made by cmake/families.cmake. */
#include \"template.h\"

extern const struct template @declared@;

const struct template *const templates[] = {
@listed@};
const size_t template_count = sizeof templates / sizeof *templates;
_Static_assert(sizeof templates / sizeof *templates <= TEMPLATES_MAX, \"TEMPLATES_MAX is too small\");

const char *const template_folders[] = {@folders@NULL};
")
  target_sources(${target} PRIVATE ${out})
endfunction()
