# One line a unit test; included by ../CMakeLists.txt.
set(unit ${CMAKE_CURRENT_LIST_DIR})
add_unit_test(reference SOURCES ${unit}/reference.c LIBRARIES reference)
set(course ${unit}/../../common/course)
add_unit_test(course SOURCES ${unit}/course.c ${course}/text.c ${course}/sha256.c ${course}/results.c
              ${course}/terminal.c ${course}/process.c)
add_unit_test(simt_rewriter SOURCES ${unit}/simt_rewriter.c LIBRARIES simtcc_parts)
