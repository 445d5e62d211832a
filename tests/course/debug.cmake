# `warpwise debug`, driven by a list of words as a student types them: where it stops, who waits where, what stands in shared memory.
#   WARPWISE SOURCE top folder  WORK an empty place
cmake_minimum_required(VERSION 3.25)
find_program(GDB gdb NO_CACHE)
if(NOT GDB)
    message("debug skipped: gdb is not installed, and warpwise debug needs it")
    return()
endif()
set(kernel ${SOURCE}/solutions/02_tiled_attention/tiled_attention.cu)
file(READ ${kernel} source)

# line_of(VARIABLE WORDS): the line on which they stand first
function(line_of variable words)
    string(FIND "${source}" "${words}" at)
    string(SUBSTRING "${source}" 0 ${at} text)
    string(REGEX REPLACE "[^\n]" "" text "${text}")
    string(LENGTH "${text}" line)
    math(EXPR line "${line} + 1")
    set(${variable} ${line} PARENT_SCOPE)
endfunction()

# debug(THREAD LINE WORD... [KERNEL ...]): sets `said`
function(debug thread line words)
    file(WRITE ${WORK}/words "${words}kill\nquit\n")
    execute_process(COMMAND ${WARPWISE} debug 02 ${ARGN} --case attention/square_64 --block 0 --thread ${thread} --line ${line}
                    INPUT_FILE ${WORK}/words OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE code)
    set(said "exit ${code}: ${said}" PARENT_SCOPE)
endfunction()

line_of(line "multiply_q_k(sum, q_tile, k_tile);")
line_of(inner "q[i] = q_tile[")
line_of(once "store_scores(args, tile, y")
math(EXPR next "${line} + 1")
file(MAKE_DIRECTORY ${WORK})
string(CONCAT words
    "lanes\n" "thread 5\n" "lane 9\n" "shared q_tile 2 3\n" "print q_tile[1][2]\n" "thread 5000\n" "shared nowhere\n" "at 1\n" "block 1\n" "at ${line}\n"
    "info args\n" "at ${inner}\n" "shared q_tile\n" "shared q_tile 2 3\n" "print q_tile[1][2]\n" "block 0\n" "at ${once}\n" "at ${once}\n")
debug(37 ${line} "${words}" --solution)
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
        "args = .*scale = 0[.]125" "multiply_q_k" "a pointer has no extents: shared q_tile ROWS"
        "   0 +[-0-9.]+ +[-0-9.]+ +[-0-9.]+\n   1 +[-0-9.]+ +[-0-9.]+ +[-0-9.]+\n" "[$]2 = " # by a pointer to rows
        "block [(]0,0,0[)] has run already" "[(]gdb[)] block [(]1,0,0[)] thread 9"
        "this is a later launch: in the one before the thread did not come to line ${once} again\nblock [(]1,0,0[)] thread 9")
    if(NOT said MATCHES "${expected}(.*)")
        message(FATAL_ERROR "nowhere from here on is\n${expected}\nin\n${said}")
    endif()
    set(last "${CMAKE_MATCH_0}")
    set(rest "${CMAKE_MATCH_1}")
    if(expected MATCHES "^   0") # what the matrix says is what gdb says of the element itself
        string(REGEX MATCH "\n   1[^\n]* ([-0-9.]+)\n" row "${last}")
        set(element ${CMAKE_MATCH_1})
        string(REGEX REPLACE "[0-9]$" "" digits ${element}) # rounded to four digits there
        if(NOT rest MATCHES "^[^$]*[$][12] = ${digits}")
            message(FATAL_ERROR "print shows something else than ${element}, which shared shows:\n${rest}")
        endif()
    endif()
    set(said "${rest}")
endforeach()
message("stopped at line ${line} in thread 37 of block 0, and in block 1")

# A line of which only one instance of a template has code, and not the one that runs first.
string(REPLACE "constexpr int STEP = THREADS / COLUMNS;" "if constexpr (ROWS < COLUMNS) __syncwarp();\n    constexpr int STEP = THREADS / COLUMNS;"
               source "${source}")
file(WRITE ${WORK}/instances.cu "${source}")
line_of(line "__syncwarp")
debug(0 ${line} "" --kernel ${WORK}/instances.cu)
if(NOT said MATCHES "before that the thread ran load_tile<64, 32>, which has no code of line ${line}\nblock [(]0,0,0[)] thread 0: .*load_tile<32, 64>")
    message(FATAL_ERROR "that load_tile<64, 32> has no code of line ${line} is not said:\n${said}")
endif()
message("said which instance has no code of line ${line}")
