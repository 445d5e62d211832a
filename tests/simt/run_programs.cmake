# Builds one program of tests/simt/programs (or counters) for the software device and runs it in three orders
# of threads, on one worker and on two:
#
#   cmake -DSIMTCC=build/bin/simtcc -DSOURCE=tests/simt/programs/NAME.cu -DWORKDIR=DIR -P run_programs.cmake
#
# A line `// with: NAME=VALUE` sets a variable of the environment. A program that includes hopper.h, or has wgmma, runs with
# SIMT_ASYNC=early, too. -DINCLUDES has further folders of headers. With -DARCH=sm_75 it is built for that architecture, with -DORDERS=forward it runs in one order. It must end with 0, and the device must find nothing: the programs are right, a finding would be false.
cmake_minimum_required(VERSION 3.20)
set(ENV{SIMT_CHECK} on)

foreach(name SIMTCC SOURCE WORKDIR)
    if(NOT DEFINED ${name})
        message(FATAL_ERROR "run_programs.cmake needs -D${name}=...")
    endif()
endforeach()

file(STRINGS "${SOURCE}" with REGEX "^// with: [A-Z_]+=[a-z:0-9]+$" LIMIT_COUNT 1)
if(with MATCHES "^// with: ([A-Z_]+)=(.*)$")
    set(ENV{${CMAKE_MATCH_1}} "${CMAKE_MATCH_2}")
endif()
get_filename_component(name "${SOURCE}" NAME_WE)
set(program "${WORKDIR}/${name}")
file(MAKE_DIRECTORY "${WORKDIR}")
set(options "")
if(DEFINED ARCH)
    set(options -arch ${ARCH})
    set(ENV{SIMT_DEVICE} ${ARCH})
endif()
list(TRANSFORM INCLUDES PREPEND "-I" OUTPUT_VARIABLE includes)
# At -Og, in half the time: detectors, counters and lessons are built as users build.
execute_process(COMMAND "${SIMTCC}" -Og ${options} ${includes} -I "${CMAKE_CURRENT_LIST_DIR}/../../common/contracts" "${SOURCE}" -o "${program}"
                RESULT_VARIABLE code ERROR_VARIABLE errors)
if(NOT code STREQUAL "0")
    message(FATAL_ERROR "${SOURCE} does not build:\n${errors}")
endif()

function(run_program order workers)
    set(ENV{SIMT_ORDER} ${order})
    set(ENV{SIMT_WORKERS} ${workers})
    execute_process(COMMAND "${program}" RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE report TIMEOUT 300)
    if(NOT code STREQUAL "0" OR report MATCHES "simt: ")
        message(FATAL_ERROR "${SOURCE} (order ${order}, workers ${workers}, $ENV{SIMT_ASYNC}) ends with ${code}:\n"
                            "${output}${report}")
    endif()
endfunction()

# The number of workers and the order of threads do not depend on each other: each is tried, not each with each.
run_program(forward 1)
run_program(forward 2)
if(NOT DEFINED ORDERS)
    run_program(reverse 2)
    run_program(random:7 1)
endif()
file(STRINGS "${SOURCE}" hopper REGEX "hopper[.]h|wgmma" LIMIT_COUNT 1)
if(NOT hopper STREQUAL "")
    set(ENV{SIMT_ASYNC} early)
    run_program(forward 1)
    run_program(reverse 2)
endif()
