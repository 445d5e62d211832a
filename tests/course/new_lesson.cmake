# warpwise new-lesson: what it writes is a whole lesson that passes its checks, and what it refuses leaves nothing behind.
#   cmake -DSOURCE_DIR=... -DBUILD=... -DWORK=... -DPARTS=... -DC_COMPILER=... -DCXX_COMPILER=... [-DWHOLE=ON] -P new_lesson.cmake
# A lesson of each family is written into a work tree. As a rule the tree's checker and runners are put together by hand from
# the libraries of this build, which takes seconds; with -DWHOLE=ON the tree is a copy that CMake configures and builds, before
# and after, and whose own tests judge the lessons.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/build_warpwise.cmake)
set(root ${WORK}/tree)
set(build ${root}/build)
set(warpwise ${build}/bin/warpwise)
set(ENV{WARPWISE_STATE} ${WORK}/state)
set(ENV{NO_COLOR} 1)
set(lessons 91_like_attention 92_like_gemm 93_like_own)
set(families attention gemm own)

function(expect code text)
    execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${root} RESULT_VARIABLE result OUTPUT_VARIABLE output
                    ERROR_VARIABLE output)
    if(NOT result STREQUAL code OR NOT output MATCHES "${text}")
        list(JOIN ARGN " " command)
        message(SEND_ERROR "exit ${result} instead of ${code}, or no \"${text}\": ${command}\n${output}")
    endif()
endfunction()

function(run)
    execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
    if(NOT result EQUAL 0 OR output MATCHES "warning:")
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "${command}\n${output}")
    endif()
endfunction()

# ---- the tree -----------------------------------------------------------------------------------------------------------
file(REMOVE_RECURSE ${WORK})
if(WHOLE)
    file(COPY ${SOURCE_DIR}/common ${SOURCE_DIR}/reference ${SOURCE_DIR}/lessons ${SOURCE_DIR}/solutions ${SOURCE_DIR}/tests
              ${SOURCE_DIR}/docs ${SOURCE_DIR}/CMakeLists.txt ${SOURCE_DIR}/CMakePresets.json ${SOURCE_DIR}/README.md
              ${SOURCE_DIR}/LICENSE ${SOURCE_DIR}/.clang-format ${SOURCE_DIR}/.devcontainer DESTINATION ${root})
    run(${CMAKE_COMMAND} -S ${root} -B ${build} -DWARPWISE_DEVICES=simt -DCMAKE_C_COMPILER=${C_COMPILER}
        -DCMAKE_CXX_COMPILER=${CXX_COMPILER})
    run(${CMAKE_COMMAND} --build ${build} --target warpwise -j 2)
else()
    file(COPY ${SOURCE_DIR}/lessons/01_naive_attention DESTINATION ${root}/lessons)
    file(COPY ${SOURCE_DIR}/common/protocol DESTINATION ${root}/common)
    file(MAKE_DIRECTORY ${root}/solutions ${root}/common/checker/lessons ${root}/common/runner/lessons
         ${build}/bin ${build}/lib)
    foreach(room IN ITEMS contracts simt decode)
        file(CREATE_LINK ${SOURCE_DIR}/common/${room} ${root}/common/${room} SYMBOLIC)
    endforeach()
    file(COPY ${SOURCE_DIR}/common/companion/new_lesson DESTINATION ${root}/common/companion)
    file(CREATE_LINK ${SOURCE_DIR}/reference ${root}/reference SYMBOLIC)
    file(CREATE_LINK ${BUILD}/bin/simtcc ${build}/bin/simtcc SYMBOLIC)
    file(GLOB libraries ${PARTS}/libsimt.a ${PARTS}/simt_prelude*)
    foreach(library IN LISTS libraries)
        cmake_path(GET library FILENAME name)
        file(CREATE_LINK ${library} ${build}/lib/${name} SYMBOLIC)
    endforeach()
    set(PROJECT_VERSION 1.2.3)
    set(PROJECT_SOURCE_DIR ${root})
    set(PROJECT_BINARY_DIR ${build})
    set(WARPWISE_RUNNER_DEVICES simt)
    set(CMAKE_CXX_COMPILER ${CXX_COMPILER})
    configure_file(${SOURCE_DIR}/common/course/places.c.in ${build}/generated/places.c @ONLY)
    build_warpwise(${build}/generated/places.c ${warpwise})
endif()

# ---- what is refused; nothing is left behind ------------------------------------------------------------------------------
function(files_of_tree out)
    file(GLOB_RECURSE files LIST_DIRECTORIES true ${root}/lessons/* ${root}/solutions/* ${root}/tests/mutants/* ${root}/common/checker/*
         ${root}/common/runner/* ${root}/common/protocol/*)
    file(GLOB hidden ${root}/.new_lesson*)
    set(${out} ${files} ${hidden} PARENT_SCOPE)
endfunction()
files_of_tree(before)
foreach(name IN ITEMS 9_topic 911_topic 91-topic topic 91_ 91_Topic 91_2d 91_a__b 91_a_ "91_a b" 91_../x 91_a/b
        91_a_topic_that_is_longer_than_anybody_will_want_to_type)
    expect(2 "names no lesson: two digits, an underscore" ${warpwise} new-lesson ${name})
endforeach()
expect(2 "which lesson. For example: .*new-lesson 42_my_topic" ${warpwise} new-lesson)
expect(2 "there is a lesson 01 already: lessons/01_naive_attention" ${warpwise} new-lesson 01_other)
expect(2 "there is a lesson on naive_attention already: lessons/01" ${warpwise} new-lesson 91_naive_attention)
expect(2 "contract would be gemm_args.h, and common/contracts has a header" ${warpwise} new-lesson 91_gemm_args)
expect(2 "contract would be softmax.h, and reference has" ${warpwise} new-lesson 91_softmax)
expect(2 "--like is attention, gemm or own, not \"paged\"" ${warpwise} new-lesson 91_topic --like paged)
file(MAKE_DIRECTORY ${root}/tests/mutants/91_topic)
expect(2 "tests/mutants/91_topic is there already" ${warpwise} new-lesson 91_topic)
file(REMOVE_RECURSE ${root}/tests/mutants/91_topic)
file(RENAME ${root}/solutions ${root}/elsewhere)
expect(2 "no solutions/, so it is a students' tree" ${warpwise} new-lesson 91_topic)
file(RENAME ${root}/elsewhere ${root}/solutions)
# A template that cannot be read, and a place that cannot be written to: what stood already goes away again.
file(RENAME ${root}/common/companion/new_lesson/own/mutant.in ${root}/mutant.in)
expect(2 "own/mutant.in cannot be read" ${warpwise} new-lesson 91_topic --like own)
file(RENAME ${root}/mutant.in ${root}/common/companion/new_lesson/own/mutant.in)
file(RENAME ${root}/common/checker/lessons ${root}/elsewhere)
file(WRITE ${root}/common/checker/lessons "in the way")
expect(2 "common/checker/lessons/91_topic.c cannot be put in place .*, so nothing was written" ${warpwise} new-lesson 91_topic --like own)
file(REMOVE ${root}/common/checker/lessons)
file(RENAME ${root}/elsewhere ${root}/common/checker/lessons)
files_of_tree(after)
if(NOT before STREQUAL after)
    list(REMOVE_ITEM after ${before})
    message(SEND_ERROR "refused, and yet there is: ${after}")
endif()

# ---- a lesson of each family ------------------------------------------------------------------------------------------------
foreach(lesson family IN ZIP_LISTS lessons families)
    expect(0 "lesson ${lesson}, made like ${family}:.*lessons/${lesson}/README.md.*docs/adding_a_lesson.md" ${warpwise} new-lesson ${lesson}
           --like ${family})
    expect(2 "there is a lesson" ${warpwise} new-lesson ${lesson})
endforeach()
expect(0 "made like attention" ${warpwise} new-lesson 94_usual)
file(REMOVE_RECURSE ${root}/lessons/94_usual ${root}/solutions/94_usual ${root}/tests/mutants/94_usual)
file(REMOVE ${root}/common/checker/lessons/94_usual.c)
file(GLOB_RECURSE written ${root}/lessons/9[1-3]_*/* ${root}/solutions/9[1-3]_*/* ${root}/tests/mutants/9[1-3]_*/*
     ${root}/common/*/lessons/9[1-3]_* ${root}/common/protocol/like_*)
list(LENGTH written count)
if(NOT count EQUAL 26)
    message(SEND_ERROR "${count} files of three lessons, not 26: ${written}")
endif()
foreach(file IN LISTS written)
    file(STRINGS ${file} left REGEX "@[A-Za-z]+@|// \\[skeleton\\]")
    if(left)
        message(SEND_ERROR "${file} holds what belongs to a template: ${left}")
    endif()
endforeach()
foreach(lesson IN LISTS lessons)
    string(SUBSTRING ${lesson} 3 -1 topic)
    foreach(part IN ITEMS "Goal" "What the last lesson left slow" "The idea" "Shapes and contract" "Your task" "Check it" "Measure it" "Hints"
            "Further reading")
        file(STRINGS ${root}/lessons/${lesson}/README.md heading REGEX "^## ${part}$")
        if(NOT heading)
            message(SEND_ERROR "the page of ${lesson} has no section \"${part}\"")
        endif()
    endforeach()
    run(${CMAKE_COMMAND} -DPAGE=${root}/lessons/${lesson}/README.md -DSKELETON=${root}/lessons/${lesson}/${topic}.cu
        -DCAUSES=${SOURCE_DIR}/common/record/causes.h -P ${SOURCE_DIR}/tests/docs/hints.cmake)
    run(${CMAKE_COMMAND} -DSOLUTION=${root}/solutions/${lesson}/${topic}.cu -DSKELETON=${root}/lessons/${lesson}/${topic}.cu
        -P ${SOURCE_DIR}/tests/drift.cmake)
endforeach()

# ---- built and judged ---------------------------------------------------------------------------------------------------------
if(WHOLE)
    run(${CMAKE_COMMAND} --build ${build} --target warpwise -j 2)
    execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${build} -R "9[1-3]_like_" -E "^docs.shell" -LE "student|grade|selftest" -j 2
                    OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
    if(NOT result EQUAL 0 OR NOT output MATCHES "100% tests passed.* out of 20")
        message(SEND_ERROR "${output}") # solution, bench, skeleton, mutant, drift, hints of each; run.begin and run.executed_something
    endif()
    # The tree's own tests take the new lessons as they are: the site, the numbers and charts, links, rooms, formatting.
    run(${CMAKE_COMMAND} --build ${build} -j 2)
    execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${build} -R "^docs[.]|^unit[.]rooms$|^format$" -E "^docs[.](shell|figures)"
                            --output-on-failure
                    OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        message(SEND_ERROR "${output}")
    endif()
    return()
endif()

set(all_flags -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -I${root}/common -I${SOURCE_DIR}/common -I${SOURCE_DIR}/common/contracts)
set(table "#include \"checker/cases/lesson.h\"\n")
set(addresses "")
set(objects "")
list(GET C_COMPILER 0 plain_compiler) # a runner ends up in one program with a kernel: no sanitizer
foreach(lesson family IN ZIP_LISTS lessons families)
    string(SUBSTRING ${lesson} 3 -1 topic)
    set(flags ${all_flags} -I${root}/lessons/${lesson} "-DLESSON_HEADER=\"${topic}.h\"")
    set(call ${SOURCE_DIR}/common/runner/families/${family}.c)
    if(family STREQUAL own)
        set(call ${root}/common/runner/lessons/${lesson}.c)
    endif()
    run(${C_COMPILER} ${flags} -I${SOURCE_DIR}/reference -c ${root}/common/checker/lessons/${lesson}.c -o ${WORK}/${lesson}.c.o)
    list(APPEND objects ${WORK}/${lesson}.c.o)
    string(APPEND table "extern const struct lesson lesson_${lesson};\n")
    string(APPEND addresses "&lesson_${lesson}, ")
    # a runner is the runner's objects, the same for all lessons, and the lesson's own
    set(library ${build}/lib/librunner_${lesson}_simt.a)
    file(COPY_FILE ${PARTS}/librunner_01_naive_attention_simt.a ${library})
    run(ar d ${library} attention.c.o)
    run(${plain_compiler} ${flags} -fno-pie -DWARPWISE_SIMT -I${SOURCE_DIR}/common/simt
        -isystem ${SOURCE_DIR}/common/simt/include -c ${call} -o ${WORK}/run_${lesson}.c.o)
    run(ar rs ${library} ${WORK}/run_${lesson}.c.o)
    run(${plain_compiler} ${flags} -fno-pie -isystem ${SOURCE_DIR}/common/simt/include
        -c ${SOURCE_DIR}/common/boundary/entries.c -o ${WORK}/boundary_${lesson}.c.o) # it compiles; that it works is honest.cmake's
endforeach()
file(WRITE ${WORK}/table.c "${table}const struct lesson *const lesson_table[] = {${addresses}0};\n")
run(${C_COMPILER} ${all_flags} ${SOURCE_DIR}/common/checker/main.c ${WORK}/table.c ${objects} -L${PARTS} -lchecker_parts -lrecord -lsandbox -lbase
    -lreference -lm -pthread -o ${build}/bin/checker)
foreach(lesson IN LISTS lessons)
    string(SUBSTRING ${lesson} 0 2 number)
    string(SUBSTRING ${lesson} 3 -1 topic)
    set(groups --group basic --group edges --group numerics --group bad_input) # selftest has all
    expect(0 "PASS" ${warpwise} check ${number} --solution ${groups})
    expect(77 "NOT_STARTED" ${warpwise} check ${number})
    run(${CMAKE_COMMAND} -DWARPWISE=${warpwise} -DLESSON=${lesson} -DMUTANT=${root}/tests/mutants/${lesson}/last_one_left_out.mutant
        -DDEVICE=simt -DORDERS=forward -DSOURCE=${root}/solutions/${lesson}/${topic}.cu -DWORKDIR=${WORK}/mutants/${lesson}
        -P ${SOURCE_DIR}/tests/run_mutant.cmake)
endforeach()
