# Every mutant still fits its solution: the texts that it replaces are there, once. The mutants themselves are judged by the
# selftest, which takes hours; this says at once which ones a change of a solution leaves behind.
#   OUT a file to write to
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/apply_mutant.cmake)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH source)
file(GLOB folders ${source}/tests/mutants/*_*)
set(count 0)
foreach(folder IN LISTS folders)
    cmake_path(GET folder FILENAME lesson)
    string(SUBSTRING ${lesson} 3 -1 topic)
    file(GLOB solution ${source}/solutions/${lesson}/${topic}.cu ${source}/solutions/${lesson}/${topic}.py)
    file(GLOB mutants ${folder}/*.mutant)
    foreach(mutant IN LISTS mutants)
        apply_mutant(${mutant} ${solution} ${OUT})
        math(EXPR count "${count} + 1")
    endforeach()
endforeach()
message("${count} mutants fit")
