# Run at every build: writes version.h (only when it changes) from VERSION, CUDA and, in a git checkout, the
# commit.
cmake_policy(VERSION 3.25)
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel OUTPUT_VARIABLE top
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(commit "")
if(top STREQUAL SOURCE) # not the checkout of a surrounding project
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --exclude=* --abbrev=12
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(commit)
  set(commit " (${commit})")
endif()
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT
"/* Generated. */
#define GT_VERSION \"@VERSION@@commit@, CUDA headers @CUDA@\"
")
