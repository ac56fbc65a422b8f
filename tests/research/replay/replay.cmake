# Search strategies on recorded spaces (docs/results/search-replay.md): build/release/tests/replay --help.
gt_library(gt_replay
  SOURCES research/replay/replay.c research/replay/recorded.c research/replay/replay_clock.c research/replay/replay_space.c research/replay/replay_from.c research/replay/replay_order.c
  LINKS gt_tools gt_templates
  PRIVATE_LINKS m)
add_executable(replay research/replay/replay_main.c)
target_link_libraries(replay PRIVATE gt_replay gt_flags m)
gt_test(replay ${CMAKE_CURRENT_SOURCE_DIR}/cli/run.sh $<TARGET_FILE:replay> ../research/replay/replay)
set_tests_properties(replay PROPERTIES LABELS cli TIMEOUT 900 SKIP_RETURN_CODE 77)
gt_unit_test(search/test_recorded_order gt_replay)
gt_unit_test(search/test_recorded gt_replay)
target_sources(test_recorded PRIVATE unit/common/spoil.c)
