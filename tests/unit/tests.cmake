# One line a unit test; included by ../CMakeLists.txt.
set(unit ${CMAKE_CURRENT_LIST_DIR})
add_unit_test(reference SOURCES ${unit}/reference.c LIBRARIES reference)
