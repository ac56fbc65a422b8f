# Long-running fault injection (campaign.sh --help). Its shims are preloaded between a program and the C
# library, so they are built without the sanitizers, and only if the program is.
if(NOT GT_SANITIZE AND NOT GT_STATIC_DEPS)
  foreach(name io clock plant)
    add_library(campaign_${name} MODULE campaign/campaign_${name}.c)
    target_link_libraries(campaign_${name} PRIVATE gt_flags ${CMAKE_DL_LIBS})
    target_compile_options(campaign_${name} PRIVATE -fno-builtin -U_FORTIFY_SOURCE)
    set_target_properties(campaign_${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/campaign)
  endforeach()
  target_include_directories(campaign_plant PRIVATE $<TARGET_PROPERTY:gt::sqlite,INTERFACE_INCLUDE_DIRECTORIES>)
  gt_test(campaign_quick ${CMAKE_CURRENT_SOURCE_DIR}/campaign/campaign.sh quick --build ${PROJECT_BINARY_DIR})
  gt_test(campaign_notices python3 ${CMAKE_CURRENT_SOURCE_DIR}/campaign/notices.py --build ${PROJECT_BINARY_DIR})
  set_tests_properties(campaign_quick campaign_notices PROPERTIES LABELS "campaign;long" TIMEOUT 900)
endif()
