# A student's desk without stubs: lesson 01 copied from its skeleton, the real compiler, checker and software device,
# and a `warpwise` that was compiled for this place. on_terminal plays the student.
#   cmake -DSOURCE_DIR=... -DBUILD=... -DWORK=... -DC_COMPILER=... -DCXX_COMPILER=... -DON_TERMINAL=... -P desk.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/build_warpwise.cmake)
set(root ${WORK}/desk)
set(build ${root}/build)
set(warpwise ${build}/bin/warpwise)
set(ENV{WARPWISE_STATE} ${root}/state)
set(ENV{LANG} C.UTF-8)
foreach(name IN ITEMS LC_ALL LC_CTYPE NO_COLOR COLUMNS WARPWISE_WATCH)
    unset(ENV{${name}})
endforeach()

file(REMOVE_RECURSE ${root})
file(COPY ${SOURCE_DIR}/lessons/01_naive_attention ${SOURCE_DIR}/lessons/02_tiled_attention DESTINATION ${root}/lessons)
file(COPY ${SOURCE_DIR}/docs/results DESTINATION ${root}/docs)
file(MAKE_DIRECTORY ${build}/bin)
file(CREATE_LINK ${SOURCE_DIR}/common ${root}/common SYMBOLIC)
file(CREATE_LINK ${BUILD}/lib ${build}/lib SYMBOLIC)
foreach(program IN ITEMS checker simtcc)
    file(CREATE_LINK ${BUILD}/bin/${program} ${build}/bin/${program} SYMBOLIC)
endforeach()
set(PROJECT_VERSION 1.2.3)
set(PROJECT_SOURCE_DIR ${root})
set(PROJECT_BINARY_DIR ${build})
set(WARPWISE_RUNNER_DEVICES simt)
set(CMAKE_CXX_COMPILER ${CXX_COMPILER})
configure_file(${SOURCE_DIR}/common/course/places.c.in ${build}/generated/places.c @ONLY)
build_warpwise(${build}/generated/places.c ${warpwise})

# The skeleton may be somebody's work by now: begin with one whose regions are all TODO.
set(kernel ${root}/lessons/01_naive_attention/naive_attention.cu)
file(READ ${SOURCE_DIR}/solutions/01_naive_attention/naive_attention.cu solution)

# write_kernel(FILE REGION ...): the solution with TODO in all regions but these.
function(write_kernel file)
    set(rest "${solution}")
    set(text "")
    while(rest MATCHES "// \\[student: ([a-z_]+)\\]\n")
        set(name ${CMAKE_MATCH_1})
        set(mark "${CMAKE_MATCH_0}")
        string(FIND "${rest}" "${mark}" begin)
        string(LENGTH "${mark}" length)
        math(EXPR begin "${begin} + ${length}")
        string(SUBSTRING "${rest}" 0 ${begin} before)
        string(SUBSTRING "${rest}" ${begin} -1 rest)
        string(FIND "${rest}" "// [/student]" end)
        string(SUBSTRING "${rest}" 0 ${end} inside)
        string(SUBSTRING "${rest}" ${end} -1 rest)
        if(NOT name STREQUAL head AND NOT name IN_LIST ARGN)
            set(inside "    /* TODO */\n")
            if(name MATCHES "_launch$")
                string(APPEND inside "    (void)stream;\n    return KERNEL_NOT_STARTED;\n")
            elseif(name MATCHES "^block_")
                string(APPEND inside "    return value;\n")
            elseif(name MATCHES "keys_seen|kv_offset")
                string(APPEND inside "    (void)row;\n    return args.kv_len;\n")
            endif()
        endif()
        string(APPEND text "${before}${inside}")
    endwhile()
    file(WRITE ${file} "${text}${rest}")
endfunction()

set(scores keys_seen kv_offset scores_kernel scores_launch)
write_kernel(${kernel})
write_kernel(${root}/scores.cu ${scores})
file(READ ${root}/scores.cu text)
string(REPLACE "scale * dot" "dot" wrong "${text}")
string(REPLACE "scale * dot" "undeclared * dot" broken "${text}")
if(wrong STREQUAL text OR broken STREQUAL text)
    message(FATAL_ERROR "the solution of lesson 01 does not hold what this test changes")
endif()
file(WRITE ${root}/wrong.cu "${wrong}")
file(WRITE ${root}/broken.cu "${broken}")

function(on_terminal size script)
    file(WRITE ${root}/script.txt "${script}")
    execute_process(COMMAND ${ON_TERMINAL} ${root}/script.txt ${size} ${ARGN} WORKING_DIRECTORY ${root}
                    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT result STREQUAL 0)
        list(JOIN ARGN " " command)
        message(SEND_ERROR "${command} on ${size}: ${output}")
    endif()
endfunction()

on_terminal(80x24 "expect 0 of 2 lessons pass
expect > 01 naive_attention
expect build/bin/warpwise watch 01
exit 0
fits
" build/bin/warpwise)

# Each of these is one save; what is on the screen first is what a student sees first.
on_terminal(80x24 "expect NOT_STARTED
expect left  keys_seen, kv_offset, scores_kernel
copy broken.cu ${kernel}
expect BUILD_ERROR
expect lessons/01_naive_attention/naive_attention.cu:
expect undeclared
rename wrong.cu ${kernel}
expect FAIL
expect case scores/tiny
expect wrong        scores[
expect pattern
expect again        build/bin/warpwise check 01 --case scores/
expect scores      FAIL
send h
expect \\x1b[1mhint
rename scores.cu ${kernel}
expect points
expect scores      PASS
fits
send q
exit 0
restored
" build/bin/warpwise watch 01)

on_terminal(pipe "expect 01 naive_attention
expect  25/100
exit 0
plain
" build/bin/warpwise)
on_terminal(80x24 "expect scores_kernel
expect load sectors
exit 0
fits
" build/bin/warpwise profile 01 --case scores/tiny)
on_terminal(80x24 "expect bytes
expect right
exit 0
fits
" build/bin/warpwise predict 01 --bytes 328704 --operations 589824 --bound latency)

# What grading would refuse is said beforehand, in the words of grading, and the check does not pass.
file(READ ${kernel} text)
file(WRITE ${kernel} "#include <stdlib.h>\nconst char *asked() { return getenv(\"SEED\"); }\n${text}")
execute_process(COMMAND ${warpwise} check 01 --case scores/tiny --device simt WORKING_DIRECTORY ${root} RESULT_VARIABLE result
                OUTPUT_VARIABLE output)
set(says "grading would refuse this file: naive_attention.cu:2: calls or uses getenv")
if(result EQUAL 0 OR NOT output MATCHES "REFUSED   ${says}")
    message(SEND_ERROR "the check does not say what grading refuses (exit ${result}):\n${output}")
endif()
