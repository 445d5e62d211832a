# Included by ../CMakeLists.txt. The program warpwise, driven in a sandbox of stub compilers.
set(course_tests ${CMAKE_CURRENT_LIST_DIR})
add_shell_test(course.program ${course_tests}/course.test 120 course/sandbox)

# The commands that accompany a student; on_terminal plays the person at the keyboard.
add_executable(on_terminal ${CMAKE_CURRENT_LIST_DIR}/on_terminal.c)
target_compile_definitions(on_terminal PRIVATE _GNU_SOURCE)
target_link_libraries(on_terminal PRIVATE warpwise_options)
add_shell_test(course.companion ${course_tests}/companion.test 600 companion/sandbox)
add_shell_test(course.sass ${course_tests}/sass.test 600 sass/sandbox)
add_shell_test(course.hunt ${course_tests}/hunt.test 120 hunt/sandbox)
add_shell_test(course.grade ${course_tests}/grade.test 240 grading/sandbox)
add_shell_test(course.schedulers ${course_tests}/schedulers.test 240 schedulers/sandbox)
if(WARPWISE_WITH_SIMT)
    if(EXISTS ${PROJECT_SOURCE_DIR}/solutions)
        add_test(NAME course.debug
                 COMMAND ${CMAKE_COMMAND} -DWARPWISE=$<TARGET_FILE:warpwise> -DSOURCE=${PROJECT_SOURCE_DIR} -DWORK=${PROJECT_BINARY_DIR}/debug
                         -P ${course_tests}/debug.cmake)
        set_tests_properties(course.debug PROPERTIES TIMEOUT 300 SKIP_REGULAR_EXPRESSION "debug skipped: " FIXTURES_REQUIRED kernels)
    endif()
    add_shell_test(course.desk ${course_tests}/desk.test 600 desk_of_a_student)
    add_test(NAME selftest.class
             COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DBINARY_DIR=${PROJECT_BINARY_DIR}
                     -DWORK=${PROJECT_BINARY_DIR}/class -P ${CMAKE_CURRENT_LIST_DIR}/class.cmake)
    set_tests_properties(selftest.class PROPERTIES LABELS selftest TIMEOUT 7200)
    add_shell_test(course.grade_way ${course_tests}/grade_way.test 120 grade_way)
endif()
add_shell_test(course.handout ${course_tests}/handout.test 600 handout)
add_shell_test(selftest.handout ${course_tests}/handout.test 600 handout_whole whole)
set_tests_properties(selftest.handout PROPERTIES LABELS selftest)

# A lesson of each family, written and judged: put together from this build's libraries, and from a copy of the tree.
if(WARPWISE_WITH_SIMT)
    foreach(suite IN ITEMS course selftest)
        set(whole OFF)
        separate_arguments(compiler UNIX_COMMAND "${shell_test_compiler}")
        if(suite STREQUAL selftest)
            set(whole ON)
            set(compiler ${CMAKE_C_COMPILER})
        endif()
        add_test(NAME ${suite}.new_lesson
                 COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR} -DWHOLE=${whole}
                         -DPARTS=${CMAKE_ARCHIVE_OUTPUT_DIRECTORY} -DWORK=${PROJECT_BINARY_DIR}/new_lesson-${suite}
                         "-DC_COMPILER=${compiler}" -DCXX_COMPILER=${CMAKE_CXX_COMPILER}
                         -P ${CMAKE_CURRENT_LIST_DIR}/new_lesson.cmake)
        set_tests_properties(${suite}.new_lesson PROPERTIES TIMEOUT 900)
    endforeach()
    set_tests_properties(selftest.new_lesson PROPERTIES LABELS selftest TIMEOUT 1800) # two whole builds
endif()
add_test(NAME course.at_a_time COMMAND ${CMAKE_COMMAND} -DCTEST=${CMAKE_CTEST_COMMAND} -DBUILD=${PROJECT_BINARY_DIR}
                                       -P ${CMAKE_CURRENT_LIST_DIR}/at_a_time.cmake)
