# Included by CMakeLists.txt: tests that are shell scripts with expectations (shell_test.c says how they are written).
add_executable(shell_test ${CMAKE_CURRENT_LIST_DIR}/shell_test.c)
target_compile_definitions(shell_test PRIVATE _GNU_SOURCE)
target_link_libraries(shell_test PRIVATE warpwise_options)
set(shell_test_compiler ${CMAKE_C_COMPILER}) # what links the build's libraries needs what they were built with
if(WARPWISE_SANITIZE)
    string(APPEND shell_test_compiler " -fsanitize=address,undefined")
endif()
if(WARPWISE_COVERAGE)
    string(APPEND shell_test_compiler " --coverage")
endif()

# add_shell_test(NAME FILE.test SECONDS WORK [ARGUMENT...]): FILE in the empty folder WORK of the build, with these variables.
function(add_shell_test name file seconds work)
    add_test(NAME ${name} COMMAND shell_test ${file} ${PROJECT_BINARY_DIR}/${work} ${ARGN})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${seconds} ENVIRONMENT
        "SOURCE_DIR=${PROJECT_SOURCE_DIR};BUILD=${PROJECT_BINARY_DIR};PARTS=${CMAKE_ARCHIVE_OUTPUT_DIRECTORY};C_COMPILER=${shell_test_compiler};CXX_COMPILER=${CMAKE_CXX_COMPILER};CMAKE=${CMAKE_COMMAND};CTEST=${CMAKE_CTEST_COMMAND};ON_TERMINAL=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/on_terminal")
endfunction()
