# `warpwise debug`, driven by a list of words as a student types them: where it stops, who waits where, what stands in shared memory.
#   WARPWISE SOURCE top folder  WORK an empty place
cmake_minimum_required(VERSION 3.25)
find_program(GDB gdb NO_CACHE)
if(NOT GDB)
    message("debug skipped: gdb is not installed, and warpwise debug needs it")
    return()
endif()
set(kernel ${SOURCE}/solutions/02_tiled_attention/tiled_attention.cu)
file(READ ${kernel} text)
string(FIND "${text}" "multiply_q_k(sum, q_tile, k_tile);" at)
string(SUBSTRING "${text}" 0 ${at} text)
string(REGEX REPLACE "[^\n]" "" text "${text}")
string(LENGTH "${text}" line)
math(EXPR line "${line} + 1")
math(EXPR next "${line} + 1")
file(MAKE_DIRECTORY ${WORK})
string(CONCAT words
    "lanes\n" "thread 5\n" "lane 9\n" "shared q_tile 2 3\n" "print q_tile[1][2]\n" "thread 5000\n" "shared nowhere\n" "at 1\n" "block 1\n" "at ${line}\n"
    "info args\n" "block 0\n" "kill\n" "quit\n")
file(WRITE ${WORK}/words "${words}")
execute_process(COMMAND ${WARPWISE} debug 02 --solution --case attention/square_64 --block 0 --thread 37 --line ${line}
                INPUT_FILE ${WORK}/words OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE code)
if(said MATCHES "[Oo]peration not permitted|ptrace")
    message("debug skipped: gdb may not look into programs here:\n${said}")
    return()
endif()

# Each in this order.
set(place "tiled_attention[.]cu:${line}")
foreach(expected IN ITEMS
        "block [(]0,0,0[)] thread 37: warp 1, lane 5; runs" "${place}\n${line}[^\n]*multiply_q_k"
        "block [(]0,0,0[)], warp 1: threads 32 to 63" "  0-4 +at a block barrier +scores_kernel  tiled_attention[.]cu:${next}"
        "[*] 5 +runs +scores_kernel  ${place}" "  6-31 +ready +scores_kernel"
        "block [(]0,0,0[)] thread 5: warp 0, lane 5; at a block barrier"
        "block [(]0,0,0[)] thread 9: warp 0, lane 9; at a block barrier"
        "   0 +[-0-9.]+ +[-0-9.]+ +[-0-9.]+\n   1 +[-0-9.]+ +[-0-9.]+ +[-0-9.]+\n"
        "[$]1 = " "the block has threads 0 to 255" "[(]gdb[)] No symbol .nowhere. in current context" "no code is of line 1; of lines [0-9]+, [0-9]+, [0-9]+ there is"
        "block [(]1,0,0[)] thread 9: warp 0, lane 9; runs" "block [(]1,0,0[)] thread 9: warp 0, lane 9; runs" "${place}"
        "args = .*scale = 0[.]125" "block [(]0,0,0[)] has run already")
    if(NOT said MATCHES "${expected}(.*)")
        message(FATAL_ERROR "exit ${code}: nowhere from here on is\n${expected}\nin\n${said}")
    endif()
    set(last "${CMAKE_MATCH_0}")
    set(rest "${CMAKE_MATCH_1}")
    if(expected MATCHES "^   0") # what the matrix says is what gdb says of the element itself
        string(REGEX MATCH "\n   1[^\n]* ([-0-9.]+)\n" row "${last}")
        set(element ${CMAKE_MATCH_1})
        string(REGEX REPLACE "[0-9]$" "" digits ${element}) # rounded to four digits there
        string(FIND "${rest}" "$1 = ${digits}" printed)
        if(printed LESS 0)
            message(FATAL_ERROR "print shows something else than ${element}, which shared shows:\n${rest}")
        endif()
    endif()
    set(said "${rest}")
endforeach()
message("stopped at line ${line} in thread 37 of block 0, and in block 1")
