# Builds one program of tests/simt/counters for the software device and holds its counters against those written
# beside it by hand, from the rules in docs/counters.md:
#
#   cmake -DSIMTCC=build/bin/simtcc -DSOURCE=NAME.cu -DEXPECTED=NAME.expected -DWORKDIR=DIR -P run_counters.cmake
#
# A line of NAME.expected is `kernel: load requests, load sectors, store requests, store sectors, shared load
# wavefronts, shared store wavefronts, bank conflicts`; # begins a comment. Every kernel must be there, on one worker and on two.
cmake_minimum_required(VERSION 3.20)

foreach(name SIMTCC SOURCE EXPECTED WORKDIR)
    if(NOT DEFINED ${name})
        message(FATAL_ERROR "run_counters.cmake needs -D${name}=...")
    endif()
endforeach()

get_filename_component(name "${SOURCE}" NAME_WE)
set(program "${WORKDIR}/${name}")
file(MAKE_DIRECTORY "${WORKDIR}")
execute_process(COMMAND "${SIMTCC}" "${SOURCE}" -o "${program}" RESULT_VARIABLE code ERROR_VARIABLE errors)
if(NOT code STREQUAL "0")
    message(FATAL_ERROR "${SOURCE} does not build:\n${errors}")
endif()

file(STRINGS "${EXPECTED}" lines REGEX "^[a-z]")
foreach(workers 1 2)
    set(csv "${WORKDIR}/${name}.csv")
    execute_process(COMMAND "${CMAKE_COMMAND}" -E env SIMT_WORKERS=${workers} SIMT_COUNTERS=${csv} "${program}"
                    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE report TIMEOUT 300)
    if(NOT code STREQUAL "0")
        message(FATAL_ERROR "${SOURCE} ends with ${code}:\n${output}${report}")
    endif()
    file(STRINGS "${csv}" rows REGEX "^[0-9]")
    list(LENGTH rows count)
    list(LENGTH lines wanted)
    if(NOT count EQUAL wanted)
        message(FATAL_ERROR "${SOURCE} launches ${count} kernels, ${EXPECTED} has ${wanted}")
    endif()
    foreach(line row IN ZIP_LISTS lines rows)
        string(REGEX REPLACE "^([a-z0-9_]+): *([0-9, ]+).*" "\\1,\\2" line "${line}")
        string(REPLACE " " "" line "${line}")
        string(REGEX REPLACE "^[0-9]+,([^,]+),[^,]+,[^,]+,([0-9]+,[0-9]+,[0-9]+,[0-9]+,[0-9]+,[0-9]+,[0-9]+),.*" "\\1,\\2"
               row "${row}")
        if(NOT line STREQUAL row)
            message(SEND_ERROR "expected ${line}\n     got ${row} (workers ${workers})")
        endif()
    endforeach()
endforeach()
