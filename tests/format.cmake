# Whether C, C++ and CUDA files are as .clang-format wants them, by the one version of clang-format that they were formatted
# with: other versions break lines elsewhere.
#
#   cmake -DSOURCE=. -DCLANG_FORMAT=clang-format [-DREQUIRED=ON] [-DFIX=ON] -P format.cmake
#
# Without that version it says so, and ctest skips the test; with REQUIRED that is a failure. FIX formats.
cmake_minimum_required(VERSION 3.25)
set(version 14.0.6)

# Not looked at, and why:
set(excluded
    # written as other people write
    "^tests/exploits/"
    "^tests/variants/07_cuda_graph/(captured_when_first_used|one_executable)[.]cu$"
    # what must be found is told by line
    "^tests/simt/(detectors|counters)/"
    # tables, a row a line: of figures, of values, of the functions of CUDA's headers
    "^docs/figures/"
    "^tests/unit/reference_values[.]h$"
    "^common/simt/(libraries/)?include/")

execute_process(COMMAND ${CLANG_FORMAT} --version RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_QUIET)
string(REPLACE "." "[.]" wanted ${version})
if(NOT code STREQUAL "0" OR NOT said MATCHES "version ${wanted}")
    if(REQUIRED)
        message(FATAL_ERROR "clang-format ${version} is wanted; '${CLANG_FORMAT}' says: ${said}")
    endif()
    message("format skipped: clang-format ${version} is not here (pip install clang-format==${version})")
    return()
endif()
cmake_path(ABSOLUTE_PATH SOURCE NORMALIZE)
set(files "")
foreach(folder IN ITEMS common docs lessons reference solutions tests)
    file(GLOB_RECURSE found RELATIVE ${SOURCE} ${SOURCE}/${folder}/*.[ch] ${SOURCE}/${folder}/*.cu ${SOURCE}/${folder}/*.cuh
         ${SOURCE}/${folder}/*.cpp)
    list(APPEND files ${found})
endforeach()
foreach(pattern IN LISTS excluded)
    list(FILTER files EXCLUDE REGEX "${pattern}")
endforeach()
# A lesson that is still being written, where `warpwise new-lesson` left something to FILL IN: how its lines break depends on
# how long its name is.
file(GLOB pages RELATIVE ${SOURCE}/lessons ${SOURCE}/lessons/[0-9][0-9]_*/README.md)
foreach(page IN LISTS pages)
    file(STRINGS ${SOURCE}/lessons/${page} unfinished REGEX "FILL IN")
    if(unfinished)
        cmake_path(GET page PARENT_PATH lesson)
        string(SUBSTRING ${lesson} 3 -1 topic)
        list(FILTER files EXCLUDE REGEX "/${lesson}(/|[.]c$)|^common/protocol/${topic}_items[.]h$")
    endif()
endforeach()
list(LENGTH files count)
if(count LESS 300)
    message(FATAL_ERROR "only ${count} files are found: nothing is shown by them")
endif()
set(mode --dry-run -Werror)
if(FIX)
    set(mode -i)
endif()
execute_process(COMMAND ${CLANG_FORMAT} ${mode} ${files} WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE code ERROR_VARIABLE errors)
if(NOT code STREQUAL "0")
    message(FATAL_ERROR "not as .clang-format wants it (mend it: cmake -DSOURCE=. -DCLANG_FORMAT=clang-format -DFIX=ON -P tests/format.cmake):\n${errors}")
endif()
message("${count} files are as .clang-format wants them")
