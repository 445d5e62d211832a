# Runs what the pictures of the first page show, and draws docs/pictures/*.svg; with -DCHECK=ON compares them with what is
# printed now.
#   -DSOURCE= top folder  -DWARPWISE=  -DSIMTCC=  -DDRAW= draw_screen  -DWORK= a place
cmake_minimum_required(VERSION 3.25)
include(${SOURCE}/tests/apply_mutant.cmake)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/drawn)
set(ENV{WARPWISE_SIMT_OPTIMISE} -Og)
set(ENV{NO_COLOR} 1)

# draw(NAME TITLE TEXT)
function(draw name title text)
    file(WRITE ${WORK}/${name}.txt "${text}")
    execute_process(COMMAND ${DRAW} ${title} ${WORK}/${name}.txt ${WORK}/drawn/${name}.svg COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# a kernel that counts keys past the end: the first lines of its report
set(kernel ${WORK}/flash_attention_2.cu)
apply_mutant(${SOURCE}/tests/mutants/05_flash_attention_2/absent_keys_counted.mutant
             ${SOURCE}/solutions/05_flash_attention_2/flash_attention_2.cu ${kernel})
execute_process(COMMAND ${WARPWISE} check 05 --kernel ${kernel} --case f32/tail_31x33 --case f32/square_64 --device simt
                OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(REGEX REPLACE "\n(    again |see it: )[^\n]*" "" output "${output}")
string(REGEX REPLACE "[^ \n]*${WORK}/" "" output "${output}")
if(NOT output MATCHES "\n    pattern ")
    message(FATAL_ERROR "the report has no line `pattern`:\n${output}")
endif()
string(REGEX REPLACE "(pattern +[^\n]*), (as if [^\n]*)" "\\1,\n                 \\2" output "${output}")
string(REGEX REPLACE "; they count half[^\n]*" "" output "${output}")
string(REGEX REPLACE "(error budget.); ([^\n]*)" "\\1;\n                 \\2" output "${output}")
draw(check "A wrong kernel, and what the checker says it is" "$ build/bin/warpwise check 05\n${output}")

# a missing barrier: a race with both of its lines
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
