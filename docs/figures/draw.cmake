# Builds and runs the figures' programs: draws docs/figures/*.svg, or with -DCHECK=ON compares them with what is drawn now.
#   -DSOURCE= top folder  -DSIMTCC=  -DLIBRARY= libdocs_text  -DBASE= libbase  -DWORK= place for programs and drawings
#   -DCHECK=ON -DALL=ON  draws all of them for that, and drawn_from.txt has to be up to date as well
#
# drawn_from.txt has a line for each program: a sum over all that it is built from, and the sum of each picture that it drew. Where
# both are what they were, the picture is the source's, and a check need not draw it again. Sums leave out the software device
# and the C++ compiler, which change often and change no picture: whether that is so is what ALL looks after.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/keep_or_compare.cmake)
set(FIGURES_FOLDER ${SOURCE}/docs/figures)
set(RECORD ${FIGURES_FOLDER}/drawn_from.txt)
set(HEADING "# Written by the target figures (draw.cmake): a program, a sum over what it is built from, the sums of its pictures.")

# sources_of(NAME OUT): the files that the program of a figure is built from.
function(sources_of name out)
    string(SUBSTRING ${name} 3 -1 topic)
    file(GLOB sources ${FIGURES_FOLDER}/${name}.cu ${FIGURES_FOLDER}/figure.h ${SOURCE}/solutions/${name}/${topic}.cu
         ${SOURCE}/lessons/*.cu ${SOURCE}/lessons/${name}/*.h ${SOURCE}/common/contracts/*.h ${SOURCE}/common/decode/*.h
         ${SOURCE}/docs/site/svg.[ch] ${SOURCE}/docs/site/writing.[ch])
    set(${out} ${sources} PARENT_SCOPE)
endfunction()

# record_of(NAME FOLDER PICTURES OUT): the line of a program whose PICTURES lie in FOLDER.
function(record_of name folder pictures out)
    sources_of(${name} sources)
    set(sums "")
    foreach(source IN LISTS sources)
        file(SHA256 ${source} sum)
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${SOURCE})
        string(APPEND sums "${source} ${sum}\n")
    endforeach()
    string(SHA256 sum "${sums}")
    set(line "${name} ${sum}")
    list(SORT pictures)
    foreach(picture IN LISTS pictures)
        set(sum none)
        if(EXISTS ${folder}/${picture})
            file(SHA256 ${folder}/${picture} sum)
        endif()
        string(APPEND line " ${picture}=${sum}")
    endforeach()
    set(${out} "${line}" PARENT_SCOPE)
endfunction()

# build_program(NAME): the program of a figure, unless it is newer than what it is built from.
function(build_program name)
    set(program ${WORK}/${name})
    sources_of(${name} sources)
    foreach(source IN LISTS sources LIBRARY BASE SIMTCC)
        if(NOT EXISTS ${program} OR ${source} IS_NEWER_THAN ${program})
            execute_process(COMMAND ${SIMTCC} -Og -I${SOURCE}/solutions/${name} -I${SOURCE}/lessons/${name} -I${SOURCE}/common/contracts
                                    -I${SOURCE}/common/decode -I${SOURCE}/docs/site -I${FIGURES_FOLDER} -I${SOURCE}/common
                                    -o ${program} ${FIGURES_FOLDER}/${name}.cu ${LIBRARY} ${BASE}
                            COMMAND_ERROR_IS_FATAL ANY)
            return()
        endif()
    endforeach()
endfunction()

# draw(NAME OUT): draws into WORK/drawn/NAME and returns the names of the pictures.
function(draw name out)
    file(MAKE_DIRECTORY ${WORK}/drawn/${name})
    build_program(${name})
    execute_process(COMMAND ${WORK}/${name} ${WORK}/drawn/${name} RESULT_VARIABLE status)
    file(GLOB pictures RELATIVE ${WORK}/drawn/${name} ${WORK}/drawn/${name}/*.svg)
    if(NOT status EQUAL 0 OR NOT pictures)
        message(FATAL_ERROR "${name} failed: ${status}, or it draws nothing")
    endif()
    set(${out} ${pictures} PARENT_SCOPE)
endfunction()

# recorded_pictures(NAME OUT): the pictures of the figure's line, if what it records is what is here now; else nothing.
function(recorded_pictures name out)
    set(${out} "" PARENT_SCOPE)
    set(known "")
    if(EXISTS ${RECORD})
        file(STRINGS ${RECORD} known REGEX "^${name} ")
    endif()
    string(REGEX MATCHALL "[0-9][0-9]_[a-z0-9_]+[.]svg" pictures "${known}")
    record_of(${name} ${FIGURES_FOLDER} "${pictures}" now)
    if(pictures AND known STREQUAL now)
        set(${out} ${pictures} PARENT_SCOPE)
    endif()
endfunction()

file(REMOVE_RECURSE ${WORK}/drawn)
file(GLOB programs RELATIVE ${FIGURES_FOLDER} ${FIGURES_FOLDER}/[0-9][0-9]_*.cu)
set(all_pictures "")
set(records "${HEADING}\n")
set(again 0)
foreach(program IN LISTS programs)
    cmake_path(GET program STEM name)
    set(pictures "")
    if(CHECK AND NOT ALL)
        recorded_pictures(${name} pictures)
    endif()
    if(NOT pictures)
        math(EXPR again "${again} + 1")
        draw(${name} pictures)
        foreach(picture IN LISTS pictures)
            keep_or_compare_file(${WORK}/drawn/${name}/${picture} ${FIGURES_FOLDER}/${picture} figures)
        endforeach()
    endif()
    record_of(${name} ${FIGURES_FOLDER} "${pictures}" line)
    string(APPEND records "${line}\n")
    list(APPEND all_pictures ${pictures})
endforeach()
only_pictures(${FIGURES_FOLDER} "${all_pictures}")
if(NOT CHECK)
    file(CONFIGURE OUTPUT ${RECORD} CONTENT "${records}" @ONLY) # written only if it differs
elseif(ALL)
    file(READ ${RECORD} known)
    if(NOT known STREQUAL records)
        message(SEND_ERROR "docs/figures/drawn_from.txt is older than its sources: cmake --build build --target figures")
    endif()
endif()
list(LENGTH all_pictures count)
message(STATUS "${count} pictures, ${again} programs run again")
