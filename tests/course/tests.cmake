# Included by ../CMakeLists.txt. The program warpwise, driven in a sandbox of stub compilers.
add_test(NAME course.program
         COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DWORK=${PROJECT_BINARY_DIR}/course
                 -DC_COMPILER=${CMAKE_C_COMPILER} -P ${CMAKE_CURRENT_LIST_DIR}/course.cmake)
set_tests_properties(course.program PROPERTIES TIMEOUT 120)
if(WARPWISE_WITH_SIMT)
    add_test(NAME course.grade_way
             COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DWARPWISE=$<TARGET_FILE:warpwise>
                     -DWORK=${PROJECT_BINARY_DIR}/grade_way -P ${CMAKE_CURRENT_LIST_DIR}/grade_way.cmake)
    set_tests_properties(course.grade_way PROPERTIES TIMEOUT 120)
endif()
