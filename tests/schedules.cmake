# The steps that lead to a solution, on the software device under both schedules of asynchronous operations: the earliest and the
# latest that the rules allow. Every result must be right, the device must find nothing, and all bits must be the same.
#   SIMTCC SOURCE INCLUDES WORKDIR
cmake_minimum_required(VERSION 3.25)

file(MAKE_DIRECTORY ${WORKDIR})
set(folders ${INCLUDES})
list(TRANSFORM folders PREPEND -I)
execute_process(COMMAND ${SIMTCC} ${folders} ${SOURCE} -o ${WORKDIR}/ladder RESULT_VARIABLE code ERROR_VARIABLE errors)
if(NOT code STREQUAL "0")
    message(FATAL_ERROR "${SOURCE} does not build:\n${errors}")
endif()
foreach(schedule IN ITEMS early late)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env SIMT_REPORT=all SIMT_ASYNC=${schedule} ${WORKDIR}/ladder --bits
                    RESULT_VARIABLE code OUTPUT_VARIABLE output_${schedule} ERROR_VARIABLE errors)
    message("${schedule}: ${output_${schedule}}${errors}")
    if(NOT code STREQUAL "0" OR errors MATCHES "simt: " OR NOT output_${schedule} MATCHES "bits [0-9a-f]+")
        message(FATAL_ERROR "a step is wrong with SIMT_ASYNC=${schedule} (exit ${code})")
    endif()
endforeach()
if(NOT output_early STREQUAL output_late)
    message(FATAL_ERROR "the two schedules give different results")
endif()
