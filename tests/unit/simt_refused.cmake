# Builds simt_refused.cu, runs it on one worker and on two, and counts its findings by kind. Then it is run with settings
# that do not exist: it must end before its main, with the setting's name and what it may be.
#
#   cmake -DSIMTCC=build/bin/simtcc -DSOURCE=tests/unit/simt_refused.cu -DWORKDIR=DIR -P simt_refused.cmake
cmake_minimum_required(VERSION 3.20)
file(MAKE_DIRECTORY "${WORKDIR}")
execute_process(COMMAND "${SIMTCC}" "${SOURCE}" -o "${WORKDIR}/refused" RESULT_VARIABLE code
                ERROR_VARIABLE errors)
if(NOT code STREQUAL "0")
    message(FATAL_ERROR "${SOURCE} does not build:\n${errors}")
endif()
foreach(workers 1 2)
    execute_process(COMMAND "${CMAKE_COMMAND}" -E env SIMT_WORKERS=${workers} "${WORKDIR}/refused"
                    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE report_${workers} TIMEOUT 60)
    if(NOT code STREQUAL "86" OR NOT output MATCHES "simt_refused: ok")
        message(SEND_ERROR "ends with ${code}:\n${output}${report_${workers}}")
    endif()
    foreach(expected "unsupported=12" "host-pointer=5" "out-of-bounds=4" "use-after-free=2" "[a-z-]+=23")
        string(REGEX MATCH "(.*)=(.*)" unused "${expected}")
        set(kind "${CMAKE_MATCH_1}")
        set(wanted "${CMAKE_MATCH_2}")
        string(REGEX MATCHALL "simt: ${kind}:" found "${report_${workers}}")
        list(LENGTH found count)
        if(NOT count EQUAL wanted)
            message(SEND_ERROR "${count} findings of kind ${kind}, expected ${wanted}:\n${report_${workers}}")
        endif()
    endforeach()
endforeach()
if(NOT report_1 STREQUAL report_2)
    message(SEND_ERROR "the report depends on the number of workers:\n${report_1}\n---\n${report_2}")
endif()

foreach(setting "SIMT_WORKERS=0" "SIMT_WORKERS=257" "SIMT_WORKERS=two" "SIMT_WORKERS=2x" "SIMT_WORKERS=-1" "SIMT_WORKERS=" "SIMT_DEVICES=0"
        "SIMT_DEVICES=1000" "SIMT_ORDER=backward" "SIMT_ORDER=random" "SIMT_ORDER=random:" "SIMT_ORDER=random:x" "SIMT_DEVICE=sm_70"
        "SIMT_DEVICE=90" "SIMT_CHECK=yes" "SIMT_CHECK=sample:0" "SIMT_CHECK=sample:few" "SIMT_REPORT=some" "SIMT_ASYNC=soon"
        "SIMT_TRAFFIC=none")
    string(REGEX MATCH "^([A-Z_]+)=(.*)$" unused "${setting}")
    set(expected "simt: ${CMAKE_MATCH_1} is \"${CMAKE_MATCH_2}\"; it must be ")
    execute_process(COMMAND "${CMAKE_COMMAND}" -E env "${setting}" "${WORKDIR}/refused"
                    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE report TIMEOUT 60)
    string(FIND "${report}" "${expected}" at)
    if(NOT code STREQUAL "2" OR NOT output STREQUAL "" OR NOT at EQUAL 0)
        message(SEND_ERROR "${setting} ends with ${code}:\n${output}${report}")
    endif()
endforeach()
