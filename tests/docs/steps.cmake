# Whether the steps of a lesson's page lead where it says: from the skeleton on, with the regions of each step taken from
# the solution, the case that the page names comes out as the page says. The page has, in a comment,
#
#     <!-- steps
#     REGION REGION ... | CASE | what `warpwise check --case CASE` prints, as a regular expression
#     REGION REGION ... | profile CASE | what `warpwise profile --case CASE` prints
#     -->
#
#   -DPAGE= -DSKELETON= -DSOLUTION= -DWARPWISE= -DLESSON= the number  -DWORK= an empty place
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../fill_region.cmake)
file(READ ${PAGE} page)
file(READ ${SKELETON} skeleton)
file(READ ${SOLUTION} solution)
if(NOT page MATCHES "<!-- steps\n([^>]*)-->")
    message(FATAL_ERROR "${PAGE} has no steps")
endif()
string(REGEX REPLACE "\n+$" "" steps "${CMAKE_MATCH_1}")
string(REPLACE "\n" ";" steps "${steps}")
file(MAKE_DIRECTORY ${WORK})

set(kernel "${skeleton}")
set(number 0)
foreach(step IN LISTS steps)
    math(EXPR number "${number} + 1")
    if(NOT step MATCHES "^([a-z0-9_ ]+) [|] (profile )?([a-z0-9_/]+) [|] (.+)$")
        message(FATAL_ERROR "${PAGE}: step ${number} is not 'REGIONS | CASE | output': ${step}")
    endif()
    set(regions ${CMAKE_MATCH_1})
    set(case ${CMAKE_MATCH_3})
    set(expected "${CMAKE_MATCH_4}")
    set(command check)
    set(build)
    if(CMAKE_MATCH_2)
        set(command profile)
        # Counters are those of optimised code: at -O0 a load of 16 bytes is a copy that the device does not see whole.
        set(build ${CMAKE_COMMAND} -E env WARPWISE_SIMT_OPTIMISE=-Og)
    endif()
    separate_arguments(regions)
    foreach(region IN LISTS regions)
        fill_region(kernel solution ${region})
    endforeach()
    file(WRITE ${WORK}/step_${number}.cu "${kernel}")
    execute_process(COMMAND ${build} ${WARPWISE} ${command} ${LESSON} --device simt --kernel ${WORK}/step_${number}.cu --case ${case}
                    OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT output MATCHES "${expected}")
        message(SEND_ERROR "${PAGE}, step ${number}: case ${case} does not print '${expected}':\n${output}")
    endif()
endforeach()
message(STATUS "${number} steps lead where ${PAGE} says")
