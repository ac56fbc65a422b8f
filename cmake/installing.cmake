# What is installed beside programs and libraries, which their own folders install: documents, notices, completion, a module file.
# Then the target uninstall, and packages (docs/installing.md).

# Documents lie as in the sources, so that their links hold; links to what is not installed become text. These are for who changes
# gemmtune:
set(for_developers docs/adding_a_template.md docs/adding_a_type.md docs/racecheck.md docs/tour.md docs/tried.md)
file(GLOB documents RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md ${PROJECT_SOURCE_DIR}/docs/results/*.md)
file(GLOB pictures RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/pictures/*
     ${PROJECT_SOURCE_DIR}/docs/gallery/* ${PROJECT_SOURCE_DIR}/docs/results/*.svg)
list(REMOVE_ITEM documents ${for_developers})
list(PREPEND documents README.md CHANGELOG.md)
set(as_they_are LICENSE NOTICES ${pictures})
list(JOIN documents " " installed)
list(JOIN as_they_are " " also)
set(made)
foreach(document IN LISTS documents)
  get_filename_component(folder ${document} DIRECTORY)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/documents/${folder})
  set(out ${PROJECT_BINARY_DIR}/documents/${document})
  add_custom_command(OUTPUT ${out} VERBATIM DEPENDS ${document} cmake/installed_doc.awk
    COMMAND ${AWK} -v name=${document} -v "installed=${installed} ${also}" -f ${PROJECT_SOURCE_DIR}/cmake/installed_doc.awk
            ${PROJECT_SOURCE_DIR}/${document} > ${out})
  list(APPEND made ${out})
  install(FILES ${out} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()
foreach(file IN LISTS as_they_are)
  get_filename_component(folder ${file} DIRECTORY)
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()
file(GLOB examples CONFIGURE_DEPENDS docs/examples/*.[ch] docs/examples/CMakeLists.txt) # a user may have built there
install(FILES ${examples} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs/examples)
file(GLOB kernels CONFIGURE_DEPENDS docs/examples/kernels/*.cu)
install(FILES ${kernels} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs/examples/kernels)

set(page ${PROJECT_BINARY_DIR}/documents/gemmtune-environment.7)
add_custom_command(OUTPUT ${page} VERBATIM DEPENDS docs/environment.md cmake/man_tables.awk
  COMMAND ${AWK} -v version=${PROJECT_VERSION} -f ${PROJECT_SOURCE_DIR}/cmake/man_tables.awk ${PROJECT_SOURCE_DIR}/docs/environment.md > ${page})
add_custom_target(documents ALL DEPENDS ${made} ${page})
install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)

install(FILES tools/completion/tune.bash RENAME tune DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES tools/completion/_tune DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES tools/completion/tune.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

set(modules ${CMAKE_INSTALL_FULL_DATADIR}/gemmtune/modulefiles/gemmtune)
file(RELATIVE_PATH GT_PREFIX_FROM_MODULE ${modules} ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/modulefile.in modulefile @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/modulefile RENAME ${PROJECT_VERSION} DESTINATION ${CMAKE_INSTALL_DATADIR}/gemmtune/modulefiles/gemmtune)

set(list ${PROJECT_BINARY_DIR}/installed_files.txt)
install(CODE "set(GT_INSTALLED_LIST \"${list}\")")
install(SCRIPT cmake/installed_list.cmake) # after all that installs
add_custom_target(uninstall VERBATIM COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/uninstall.sh ${list})

# Packages: cpack -G DEB, -G RPM or -G TGZ in the build folder.
set(CPACK_PACKAGE_VENDOR "the gemmtune authors")
set(CPACK_PACKAGE_CONTACT "the gemmtune authors <root@localhost>" CACHE STRING "who is responsible for the package: NAME <ADDRESS>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "autotuner for matrix products (GEMM) on NVIDIA GPUs")
set(CPACK_PACKAGE_DESCRIPTION "Searches for the fastest CUDA kernel for each matrix product that a program computes, and keeps the winners in a
database: the program tune, the library libgemmtune, and a drop-in that answers the cuBLAS calls of other programs.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS ${CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
set(CPACK_STRIP_FILES TRUE)
set(CPACK_GENERATOR TGZ)
set(CPACK_SOURCE_IGNORE_FILES "/build/;/\\\\.git/;/\\\\.deps/")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Which package has the library, for dpkg-shlibdeps. CPack's own list warns of the drop-in, which nobody links and which has no soname.
get_target_property(soversion gemmtune SOVERSION)
file(WRITE ${PROJECT_BINARY_DIR}/debian/shlibs "libgemmtune ${soversion} gemmtune (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/shlibs)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libcuda1")
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE "MIT AND BSD-2-Clause AND BSD-3-Clause AND Zlib AND ISC")
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _build_id_links none")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION) # folders of the system
foreach(folder share/man share/man/man1 share/man/man3 share/man/man7 share/bash-completion share/bash-completion/completions share/zsh
        share/zsh/site-functions share/fish share/fish/vendor_completions.d ${CMAKE_INSTALL_LIBDIR} ${CMAKE_INSTALL_LIBDIR}/cmake
        ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  list(APPEND CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/${folder})
endforeach()
include(CPack)
