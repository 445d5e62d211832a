# One line a unit test; included by ../CMakeLists.txt.
set(unit ${CMAKE_CURRENT_LIST_DIR})
add_unit_test(reference SOURCES ${unit}/reference.c LIBRARIES reference)
add_unit_test(reference_decode SOURCES ${unit}/reference_decode.c LIBRARIES reference)
set(course ${unit}/../../common/course)
add_unit_test(course SOURCES ${unit}/course.c ${course}/text.c ${course}/sha256.c ${course}/results.c
              ${course}/terminal.c ${course}/process.c)
add_unit_test(companion SOURCES ${unit}/companion.c LIBRARIES course_parts m)
add_unit_test(grade_text SOURCES ${unit}/grade_text.c ${course}/escape.c ${course}/journal.c ${course}/text.c
              ${course}/sha256.c)
file(GLOB grade_sources CONFIGURE_DEPENDS ${course}/grade_*.c)
list(FILTER grade_sources EXCLUDE REGEX "grade_(class|merge|schedule|seed|students|unit)")
add_unit_test(grade_reports SOURCES ${unit}/grade_reports.c ${grade_sources} ${course}/escape.c ${course}/journal.c
              ${course}/text.c ${course}/sha256.c ${course}/terminal.c ${course}/results.c)
add_unit_test(simt_rewriter SOURCES ${unit}/simt_rewriter.c LIBRARIES simtcc_parts)
add_unit_test(checker SOURCES ${unit}/checker.c ${unit}/judged_case.c LIBRARIES checker_parts)
add_unit_test(checker_tables SOURCES ${unit}/checker_tables.c LIBRARIES checker_parts)
add_unit_test(checker_storage SOURCES ${unit}/checker_storage.c ${unit}/judged_case.c LIBRARIES checker_parts)
add_unit_test(checker_half SOURCES ${unit}/checker_half.c ${unit}/judged_case.c LIBRARIES checker_parts)
add_unit_test(checker_bounds SOURCES ${unit}/checker_bounds.c LIBRARIES checker_parts)
add_unit_test(checker_gemm SOURCES ${unit}/checker_gemm.c ${unit}/judged_case.c LIBRARIES checker_parts)
add_executable(fake_runner ${unit}/fake_runner.c)
target_compile_definitions(fake_runner PRIVATE _GNU_SOURCE)
target_link_libraries(fake_runner PRIVATE warpwise_options m)
target_include_directories(fake_runner PRIVATE ${PROJECT_SOURCE_DIR}/common ${PROJECT_SOURCE_DIR}/common/runner)
add_unit_test(checker_process SOURCES ${unit}/checker_process.c LIBRARIES checker_parts)
target_compile_definitions(unit_checker_process PRIVATE FAKE_RUNNER="$<TARGET_FILE:fake_runner>")
add_dependencies(unit_checker_process fake_runner)
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
    set_tests_properties(unit.checker_program PROPERTIES TIMEOUT 300)
endif()
add_executable(sandbox_guest ${unit}/sandbox_guest.c ${PROJECT_SOURCE_DIR}/common/runner/lock.c)
target_compile_definitions(sandbox_guest PRIVATE _GNU_SOURCE)
target_include_directories(sandbox_guest PRIVATE ${PROJECT_SOURCE_DIR}/common/runner)
target_link_libraries(sandbox_guest PRIVATE warpwise_options)
add_unit_test(checker_sandbox SOURCES ${unit}/checker_sandbox.c LIBRARIES checker_parts)
target_compile_definitions(unit_checker_sandbox PRIVATE SANDBOX_GUEST="$<TARGET_FILE:sandbox_guest>")
add_dependencies(unit_checker_sandbox sandbox_guest)
