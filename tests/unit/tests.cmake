# One line a unit test; included by ../CMakeLists.txt.
set(unit ${CMAKE_CURRENT_LIST_DIR})
add_unit_test(reference SOURCES ${unit}/reference.c LIBRARIES reference)
add_unit_test(reference_decode SOURCES ${unit}/reference_decode.c LIBRARIES reference)
add_unit_test(reference_backward SOURCES ${unit}/reference_backward.c LIBRARIES reference)
add_unit_test(engine SOURCES ${unit}/engine.c LIBRARIES engine)
add_unit_test(model SOURCES ${unit}/model.c LIBRARIES model reference)
target_compile_definitions(unit_model PRIVATE TINY_MODEL="${PROJECT_SOURCE_DIR}/common/model/tiny" WORKDIR="${PROJECT_BINARY_DIR}/unit_model")
set(places ${PROJECT_BINARY_DIR}/generated/places.c)
add_unit_test(course SOURCES ${unit}/course.c ${places} LIBRARIES judging)
add_unit_test(companion SOURCES ${unit}/companion.c ${places} LIBRARIES companion)
add_unit_test(grade_text SOURCES ${unit}/grade_text.c LIBRARIES grading)
add_unit_test(grade_reports SOURCES ${unit}/grade_reports.c ${places} LIBRARIES grading)
add_unit_test(untrusted SOURCES ${unit}/untrusted.c ${places} LIBRARIES build)
add_unit_test(simt_rewriter SOURCES ${unit}/simt_rewriter.c LIBRARIES simtcc_parts)
add_executable(unit_record ${unit}/record.c)
target_link_libraries(unit_record PRIVATE record warpwise_options warpwise_coverage)
add_test(NAME unit.record COMMAND unit_record ${unit}/golden/record)
add_unit_test(checker SOURCES ${unit}/checker.c ${unit}/judged_case.c LIBRARIES checker_parts)
add_executable(unit_verdict_words ${unit}/verdict_words.c)
target_compile_definitions(unit_verdict_words PRIVATE _GNU_SOURCE)
target_link_libraries(unit_verdict_words PRIVATE warpwise_options record)
add_test(NAME unit.verdict_words COMMAND unit_verdict_words ${unit}/golden/verdict_words.txt)
add_unit_test(checker_tables SOURCES ${unit}/checker_tables.c LIBRARIES checker_parts)
add_unit_test(checker_storage SOURCES ${unit}/checker_storage.c ${unit}/judged_case.c LIBRARIES checker_parts)
add_unit_test(checker_half SOURCES ${unit}/checker_half.c ${unit}/judged_case.c LIBRARIES checker_parts)
add_unit_test(checker_bounds SOURCES ${unit}/checker_bounds.c LIBRARIES checker_parts)
add_unit_test(checker_e4m3 SOURCES ${unit}/checker_e4m3.c LIBRARIES checker_parts)
add_unit_test(checker_gemm SOURCES ${unit}/checker_gemm.c ${unit}/judged_case.c LIBRARIES checker_parts)
add_executable(fake_runner ${unit}/fake_runner.c)
target_compile_definitions(fake_runner PRIVATE _GNU_SOURCE)
target_link_libraries(fake_runner PRIVATE warpwise_options m)
target_include_directories(fake_runner PRIVATE ${PROJECT_SOURCE_DIR}/common)
add_unit_test(checker_child SOURCES ${unit}/checker_child.c LIBRARIES checker_parts)
target_compile_definitions(unit_checker_child PRIVATE FAKE_RUNNER="$<TARGET_FILE:fake_runner>")
add_dependencies(unit_checker_child fake_runner)
if(WARPWISE_WITH_SIMT)
    add_test(NAME unit.simtcc COMMAND ${CMAKE_COMMAND} -DSIMTCC=$<TARGET_FILE:simtcc>
                                      -DWORKDIR=${PROJECT_BINARY_DIR}/simt/simtcc -P ${unit}/simtcc.cmake)
    # no thread of it sees what another wrote: one order is enough
    add_test(NAME unit.simt_half COMMAND ${CMAKE_COMMAND} -DSIMTCC=$<TARGET_FILE:simtcc> -DSOURCE=${unit}/simt_half.cu -DORDERS=forward
                                         -DWORKDIR=${PROJECT_BINARY_DIR}/simt/simt_half
                                         -P ${unit}/../simt/run_programs.cmake)
    add_test(NAME unit.simt_refused COMMAND ${CMAKE_COMMAND} -DSIMTCC=$<TARGET_FILE:simtcc>
                                            -DSOURCE=${unit}/simt_refused.cu
                                            -DWORKDIR=${PROJECT_BINARY_DIR}/simt/simt_refused
                                            -P ${unit}/simt_refused.cmake)
    add_test(NAME unit.simt_blas COMMAND ${CMAKE_COMMAND} -DSIMTCC=$<TARGET_FILE:simtcc> -DSOURCE=${unit}/simt_blas.cu
                                         -DWORKDIR=${PROJECT_BINARY_DIR}/simt/simt_blas -P ${unit}/simt_blas.cmake)
endif()
# The kernels in this one are C, built as simtcc builds kernel files, so that the compiler reports their accesses.
if(WARPWISE_WITH_SIMT AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    add_executable(unit_simt_machine ${unit}/simt_machine.c)
    target_compile_definitions(unit_simt_machine PRIVATE _GNU_SOURCE)
    target_compile_options(unit_simt_machine PRIVATE -O2 -g -fsanitize=thread --param=tsan-instrument-func-entry-exit=0
                           -fno-pie -fno-stack-protector -fno-optimize-sibling-calls -Wall -Wextra)
    target_link_options(unit_simt_machine PRIVATE -no-pie)
    target_link_libraries(unit_simt_machine PRIVATE simt)
    add_test(NAME unit.simt_machine COMMAND unit_simt_machine)
    set_tests_properties(unit.simt_machine PROPERTIES TIMEOUT 240)
endif()
if(WARPWISE_WITH_SIMT)
    add_test(NAME unit.checker_program COMMAND ${CMAKE_COMMAND} -DCHECKER=$<TARGET_FILE:checker> -DWARPWISE=$<TARGET_FILE:warpwise>
                                               -DSOURCE=${PROJECT_SOURCE_DIR} -DWORKDIR=${PROJECT_BINARY_DIR}/checker_program
                                               -P ${unit}/checker_program.cmake)
    set_tests_properties(unit.checker_program PROPERTIES TIMEOUT 600) # half a minute; ten times that without optimisation
endif()
add_executable(sandbox_guest ${unit}/sandbox_guest.c ${PROJECT_SOURCE_DIR}/common/runner/lock.c)
target_compile_definitions(sandbox_guest PRIVATE _GNU_SOURCE)
target_include_directories(sandbox_guest PRIVATE ${PROJECT_SOURCE_DIR}/common)
target_link_libraries(sandbox_guest PRIVATE warpwise_options)
add_unit_test(checker_sandbox SOURCES ${unit}/checker_sandbox.c LIBRARIES checker_parts)
target_compile_definitions(unit_checker_sandbox PRIVATE SANDBOX_GUEST="$<TARGET_FILE:sandbox_guest>")
add_dependencies(unit_checker_sandbox sandbox_guest)

# The plan of the tree under common/, held against what is included and called.
add_executable(unit_rooms ${unit}/rooms.c)
target_compile_definitions(unit_rooms PRIVATE _GNU_SOURCE)
target_link_libraries(unit_rooms PRIVATE warpwise_options)
set(room_objects $<TARGET_FILE:base> $<TARGET_FILE:model> -- $<TARGET_FILE:base> $<TARGET_FILE:engine> -- $<TARGET_FILE:base> $<TARGET_FILE:record> $<TARGET_FILE:sandbox> $<TARGET_FILE:checker_parts> -- $<TARGET_FILE:base> $<TARGET_FILE:sandbox>
    $<TARGET_FILE:course> $<TARGET_FILE:build> $<TARGET_FILE:simtcc_lexer> $<TARGET_FILE:record> $<TARGET_FILE:judging> $<TARGET_FILE:companion> $<TARGET_FILE:grading>
    $<TARGET_FILE:warpwise_parts> -- $<TARGET_FILE:simt> -- $<TARGET_OBJECTS:simtcc_parts>
    $<TARGET_FILE:simtcc_lexer>)
foreach(device IN LISTS WARPWISE_RUNNER_DEVICES)
    list(APPEND room_objects -- $<TARGET_OBJECTS:runner_${device}>)
endforeach()
add_test(NAME unit.rooms COMMAND unit_rooms ${PROJECT_SOURCE_DIR} ${room_objects} COMMAND_EXPAND_LISTS)
# It links the project's libraries into a program of simtcc, which knows nothing of sanitizers or of counted lines.
if(WARPWISE_WITH_SIMT AND EXISTS ${PROJECT_SOURCE_DIR}/solutions AND NOT WARPWISE_SANITIZE AND NOT WARPWISE_COVERAGE)
    add_test(NAME unit.generate COMMAND ${CMAKE_COMMAND} -DWARPWISE=$<TARGET_FILE:warpwise> -DSIMTCC=$<TARGET_FILE:simtcc>
                                        "-DLIBRARIES=$<TARGET_FILE:reference>;$<TARGET_FILE:model>;$<TARGET_FILE:base>"
                                        -DPROGRAM=${PROJECT_BINARY_DIR}/generate/simt -DSOURCE=${PROJECT_SOURCE_DIR}
                                        -DWORKDIR=${PROJECT_BINARY_DIR}/unit_generate -P ${unit}/generate.cmake)
    set_tests_properties(unit.generate PROPERTIES TIMEOUT 300)
endif()
if(WARPWISE_WITH_SIMT AND EXISTS ${PROJECT_SOURCE_DIR}/solutions)
    add_test(NAME unit.ranks_apart COMMAND ${CMAKE_COMMAND} -DSIMTCC=$<TARGET_FILE:simtcc> -DSOURCE=${PROJECT_SOURCE_DIR}
                                           -DWORKDIR=${PROJECT_BINARY_DIR}/unit_ranks_apart -P ${unit}/ranks_apart.cmake)
endif()
