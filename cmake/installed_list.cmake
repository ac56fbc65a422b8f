# The last step of an installation: writes GT_INSTALLED_LIST, the names of the files, one a line, with DESTDIR, for the target uninstall.
# CMake's install_manifest.txt will not do: names lack DESTDIR, and cpack, which installs from the same build folder, overwrites it. What
# cpack installs is not listed, nor is a single component: with `--component Unspecified`, which is everything, tests keep the user's list.
set(root "$ENV{DESTDIR}")
if(NOT root STREQUAL "")
  get_filename_component(root "${root}" ABSOLUTE)
endif()
if(CMAKE_INSTALL_COMPONENT OR "${root}${CMAKE_INSTALL_PREFIX}" MATCHES "/_CPack_Packages/")
  return()
endif()
if("${root}${CMAKE_INSTALL_PREFIX}" MATCHES ";/|\n") # CMake's list of the names cannot be taken apart
  file(REMOVE "${GT_INSTALLED_LIST}")
  message(WARNING "The target uninstall cannot remove what was installed in ${root}${CMAKE_INSTALL_PREFIX}: use a name without ';' and line breaks")
  return()
endif()
string(REPLACE ";/" "\n${root}/" names ";${CMAKE_INSTALL_MANIFEST_FILES}")
string(SUBSTRING "${names}" 1 -1 names)
file(WRITE "${GT_INSTALLED_LIST}" "${names}\n")
