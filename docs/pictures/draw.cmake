# Runs what the pictures of the first page show, and draws docs/pictures/*.svg; with -DCHECK=ON compares them with what is
# printed now.
#   -DSOURCE= top folder  -DWARPWISE=  -DSIMTCC=  -DDRAW= draw_screen  -DWORK= a place
cmake_minimum_required(VERSION 3.25)
include(${SOURCE}/tests/fill_region.cmake)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/drawn)
set(ENV{WARPWISE_SIMT_OPTIMISE} -Og)
set(ENV{NO_COLOR} 1)

# draw(NAME TITLE TEXT)
function(draw name title text)
    file(WRITE ${WORK}/${name}.txt "${text}")
    execute_process(COMMAND ${DRAW} ${title} ${WORK}/${name}.txt ${WORK}/drawn/${name}.svg COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# ---- three saves of lesson 01, from a loop that runs too far to a part that passes -----------------------------------------
set(topic 01_naive_attention/naive_attention.cu)
file(READ ${SOURCE}/lessons/${topic} kernel)
file(READ ${SOURCE}/solutions/${topic} solution)
foreach(region IN ITEMS kv_offset scores_kernel scores_launch)
    fill_region(kernel solution ${region})
endforeach()
set(right "key < (size_t)args.kv_len; key += step")
set(wrong "key <= (size_t)args.kv_len; key += step")
set(screen "")

# line_of(OUT TEXT): the number of the line of `kernel` that holds TEXT, which must be there once.
function(line_of out text)
    string(FIND "${kernel}" "${text}" at)
    string(FIND "${kernel}" "${text}" last REVERSE)
    if(at LESS 0 OR NOT at EQUAL last)
        message(FATAL_ERROR "not once in the kernel: ${text}")
    endif()
    string(SUBSTRING "${kernel}" 0 ${at} before)
    string(REGEX MATCHALL "\n" ends "${before}")
    list(LENGTH ends number)
    math(EXPR number "${number} + 1")
    set(${out} ${number} PARENT_SCOPE)
endfunction()

# save(SHOWN EXPECTED OPTION...): what is changed, then what `check 01 OPTION...` prints about the text in `kernel`, which must match
# EXPECTED: the first case that fails, and the parts.
function(save shown expected)
    file(WRITE ${WORK}/naive_attention.cu "${kernel}")
    execute_process(COMMAND ${WARPWISE} check 01 --kernel ${WORK}/naive_attention.cu --device simt ${ARGN}
                    OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT output MATCHES "${expected}")
        message(FATAL_ERROR "the report does not say '${expected}':\n${output}")
    endif()
    string(REGEX REPLACE "01 naive_attention on [^\n]*\n" "" output "${output}")
    string(REGEX REPLACE "\n(    again |    the same in|  as above|  also failing|  left out|see it: |  [a-z]+ +NOT_STARTED)[^\n]*" ""
           output "${output}")
    string(REGEX REPLACE "\n  FAIL        case scores/tiny.*\n01 " "\n01 " output "${output}") # after the first
    string(REGEX REPLACE "; those that pass count half[^\n]*" "" output "${output}")
    string(REPLACE "pictures/naive_attention.cu" "naive_attention.cu" output "${output}")
    list(JOIN ARGN " " options)
    string(STRIP "check 01 ${options}" command)
    set(screen "${screen}${shown}\n%%\n$ build/bin/warpwise ${command}\n${output}\n%%\n" PARENT_SCOPE)
endfunction()

string(REPLACE "${right}" "${wrong}" kernel "${kernel}")
line_of(number "${wrong}")
save("+ ${number}    for (size_t key = ...; ${wrong}) {" "out-of-bounds.*naive_attention.cu:" --group basic)
string(REPLACE "${wrong}" "${right}" kernel "${kernel}")
save("- ${number}    for (size_t key = ...; ${wrong}) {\n+ ${number}    for (size_t key = ...; ${right}) {" "pattern +as without the causal mask"
     --group basic)
fill_region(kernel solution keys_seen)
set(seen "int rows_below = args.q_len - 1 - row % args.q_len;")
line_of(number "${seen}")
save("+ ${number}    ${seen}" "scores +PASS.*IN_PROGRESS")
string(REGEX REPLACE "\n\n%%\n$" "\n" screen "${screen}")
draw(loop "Save, read what is wrong, mend it, save again" "${screen}")

# ---- a missing barrier: a race with both of its lines ------------------------------------------------------------------------
execute_process(COMMAND ${SIMTCC} --run tests/simt/detectors/shared-race_missing_barrier.cu WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT output MATCHES "^simt: shared-race: ")
    message(FATAL_ERROR "there is no finding:\n${output}")
endif()
string(REPLACE "tests/simt/detectors/shared-race_missing_barrier.cu" "exchange.cu" output "${output}")
draw(race "A missing barrier, found without a GPU" "$ build/bin/simtcc --run exchange.cu\n${output}")

include(${SOURCE}/docs/figures/keep_or_compare.cmake)
file(GLOB drawn RELATIVE ${WORK}/drawn ${WORK}/drawn/*.svg)
foreach(picture IN LISTS drawn)
    keep_or_compare_file(${WORK}/drawn/${picture} ${SOURCE}/docs/pictures/${picture} pictures)
endforeach()
only_pictures(${SOURCE}/docs/pictures "${drawn}")
