# Builds one detector program for the software device and checks that it gives the finding its first line
# announces:
#
#   cmake -DSIMTCC=build/bin/simtcc -DSOURCE=tests/simt/detectors/NAME.cu -DWORKDIR=DIR -P run_detectors.cmake
#
# `// expect: KIND at line N` (or `at lines N, M`): exit code 86 and exactly one finding, of this kind, that
# names every one of these lines, which are those that end in `// here`; without lines (a full stack) only the
# kind is compared. `// expect: none`: exit code 0 and no finding. The report must be the same, byte for byte,
# on one worker and on two, and the finding be made in other orders of threads, too.
cmake_minimum_required(VERSION 3.20)

foreach(name SIMTCC SOURCE WORKDIR)
    if(NOT DEFINED ${name})
        message(FATAL_ERROR "run_detectors.cmake needs -D${name}=...")
    endif()
endforeach()

# Sets KIND and LINES from the first line of the program, and compares LINES with the marks in its source.
function(read_expectation)
    file(READ "${SOURCE}" text)
    if(text MATCHES "^// expect: none\n")
        set(kind none)
        set(announced "")
    elseif(text MATCHES "^// expect: ([a-z-]+)( at lines? ([0-9, ]+))?\n")
        set(kind "${CMAKE_MATCH_1}")
        string(REPLACE ", " ";" announced "${CMAKE_MATCH_3}")
    else()
        message(FATAL_ERROR "${SOURCE}: the first line says nothing about what to expect")
    endif()
    string(REGEX REPLACE "[][;\\\\]" "_" text "${text}") # what means something in a list
    string(REPLACE "\n" ";" text "${text}")
    set(marked "")
    set(number 0)
    foreach(line IN LISTS text)
        math(EXPR number "${number} + 1")
        if(line MATCHES "// here$")
            list(APPEND marked ${number})
        endif()
    endforeach()
    if(NOT "${marked}" STREQUAL "${announced}")
        message(FATAL_ERROR "${SOURCE}: lines '${announced}' are announced, '${marked}' are marked")
    endif()
    set(KIND "${kind}" PARENT_SCOPE)
    set(LINES "${announced}" PARENT_SCOPE)
endfunction()

function(check_report order workers code output report)
    set(run "${SOURCE} (order ${order}, workers ${workers})")
    string(REPLACE ";" "," findings "${report}")
    string(REGEX MATCHALL "(^|\n)simt: " findings "${findings}")
    list(LENGTH findings count)
    if(NOT output STREQUAL "")
        message(FATAL_ERROR "${run} complains:\n${output}${report}")
    endif()
    if(KIND STREQUAL "none")
        if(NOT code STREQUAL "0" OR NOT report STREQUAL "")
            message(FATAL_ERROR "${run} should be clean, ends with ${code}:\n${report}")
        endif()
        return()
    endif()
    if(NOT code STREQUAL "86")
        message(FATAL_ERROR "${run} ends with ${code}, not 86:\n${report}")
    endif()
    if(NOT count EQUAL 1 OR NOT report MATCHES "^simt: ${KIND}: ")
        message(FATAL_ERROR "${run} should have one finding, ${KIND}, has ${count}:\n${report}")
    endif()
    get_filename_component(name "${SOURCE}" NAME)
    string(REPLACE "." "[.]" name "${name}")
    foreach(line IN LISTS LINES)
        if(NOT report MATCHES "(^|[ /(])${name}:${line}($|[^0-9])")
            message(FATAL_ERROR "${run} does not name line ${line}:\n${report}")
        endif()
    endforeach()
endfunction()

function(run_program order workers)
    execute_process(
        COMMAND "${CMAKE_COMMAND}" -E env SIMT_ORDER=${order} SIMT_WORKERS=${workers} SIMT_CHECK=on
                "${PROGRAM}"
        RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE report TIMEOUT 120)
    check_report("${order}" "${workers}" "${code}" "${output}" "${report}")
    set(REPORT "${report}" PARENT_SCOPE)
endfunction()

get_filename_component(name "${SOURCE}" NAME_WE)
set(PROGRAM "${WORKDIR}/${name}")
read_expectation()
file(MAKE_DIRECTORY "${WORKDIR}")
execute_process(COMMAND "${SIMTCC}" "${SOURCE}" -o "${PROGRAM}" RESULT_VARIABLE code ERROR_VARIABLE errors)
if(NOT code STREQUAL "0")
    message(FATAL_ERROR "${SOURCE} does not build:\n${errors}")
endif()

run_program(forward 1)
set(first "${REPORT}")
run_program(forward 2)
if(NOT REPORT STREQUAL first)
    message(FATAL_ERROR "${SOURCE}: the report depends on the number of workers:\n${first}---\n${REPORT}")
endif()
run_program(reverse 2)
run_program(random:7 2)
