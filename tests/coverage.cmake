# Runs the tests of a coverage build, and prints the line coverage of oracles, checker and software device from its gcov data,
# whatever the tests said. Fails if a test failed, or below LEAST.
#   BUILD      build folder that holds .gcda files      GCOV    the gcov of the compiler used
#   SOURCE     top of the tree                          LEAST   percent each of the three has to reach
#   CTEST      ctest
cmake_minimum_required(VERSION 3.25)
set(reference reference)
set(checker common/base common/sandbox common/checker common/checker/numbers common/checker/cases common/checker/lessons common/checker/verdict
    common/checker/report)
set(device common/simt/machine common/simt/runtime common/simt/simtcc)
# Other right kernels run no other lines than the solutions, wrong ones do; pages and exploits run what other tests do. Of the
# selftest only the device's own programs, long ones.
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
execute_process(COMMAND ${CTEST} --output-on-failure -j ${cores} -LE "student|selftest|grade"
                        -E "^(variant|skeleton|docs|exploits|drift)[.]|^format$"
                WORKING_DIRECTORY ${BUILD} RESULT_VARIABLE tests_failed)
execute_process(COMMAND ${CTEST} --output-on-failure -j ${cores} -L selftest -R "^simt[.](program|solution)[.]"
                WORKING_DIRECTORY ${BUILD} RESULT_VARIABLE programs_failed)
file(GLOB_RECURSE data ${BUILD}/*.gcda)
if(data STREQUAL "")
    message(FATAL_ERROR "no .gcda files below ${BUILD}: run the tests of a build configured with -DWARPWISE_COVERAGE=ON first")
endif()
file(GLOB_RECURSE data ${BUILD}/*.gcno) # one a source, also of those that no program ran: gcov counts their lines as well
# Several objects may hold the same source: a line counts as run if any of them ran it, so gcov sees all at once.
set(work ${BUILD}/coverage)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})
set(failed FALSE)
foreach(part IN ITEMS reference checker device)
    set(lines 0)
    set(run 0)
    set(table "")
    set(sources "")
    foreach(folder IN LISTS ${part})
        file(GLOB found ${SOURCE}/${folder}/*.c)
        list(APPEND sources ${found})
    endforeach()
    foreach(source IN LISTS sources)
        cmake_path(GET source FILENAME name)
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${SOURCE} OUTPUT_VARIABLE place) # paths may be relative to the build folder
        set(best_percent 0)
        set(best_lines 0) # a file of tables has none
        foreach(file IN LISTS data)
            if(file MATCHES "/${name}\\.gcno$")
                execute_process(COMMAND ${GCOV} -n ${file} WORKING_DIRECTORY ${work} OUTPUT_VARIABLE text ERROR_QUIET)
                string(REGEX MATCH "File '([^'\n]*/)?${place}'\nLines executed:([0-9.]+)% of ([0-9]+)" found "${text}")
                if(found AND NOT CMAKE_MATCH_2 LESS best_percent)
                    set(best_percent ${CMAKE_MATCH_2})
                    set(best_lines ${CMAKE_MATCH_3})
                endif()
            endif()
        endforeach()
        string(APPEND table "    ${name}: ${best_percent}% of ${best_lines} lines\n")
        string(REGEX REPLACE "\\..*" "" whole "${best_percent}")
        string(REGEX REPLACE "^[0-9]+\\.?" "" fraction "${best_percent}00")
        string(SUBSTRING "${fraction}00" 0 2 fraction)
        string(REGEX REPLACE "^0([0-9])" "\\1" fraction "${fraction}")
        math(EXPR run "${run} + ${best_lines} * (${whole} * 100 + ${fraction})")
        math(EXPR lines "${lines} + ${best_lines}")
    endforeach()
    math(EXPR percent "${run} / ${lines} / 100")
    message("${part}: ${percent}% of ${lines} lines\n${table}")
    if(percent LESS LEAST)
        set(failed TRUE)
    endif()
endforeach()
if(failed)
    message(SEND_ERROR "a part is below ${LEAST}%")
endif()
if(NOT tests_failed EQUAL 0 OR NOT programs_failed EQUAL 0)
    message(SEND_ERROR "tests failed: they are listed above the figures")
endif()
