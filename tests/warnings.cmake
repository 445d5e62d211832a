# Every kernel file of a lesson passes the C++ compiler's front end without a warning: what nvcc's host compiler would say of
# it, found without nvcc. Nothing is optimised or written: a tenth of a second for each file.
#   SIMTCC CXX INCLUDES FILES WORKDIR
cmake_minimum_required(VERSION 3.25)
file(MAKE_DIRECTORY ${WORKDIR})
set(ENV{CXX} ${CXX})
list(TRANSFORM INCLUDES PREPEND -I)
foreach(file IN LISTS FILES)
    execute_process(COMMAND ${SIMTCC} -Wall -Wextra -Werror -fsyntax-only ${INCLUDES} -c ${file} -o ${WORKDIR}/kernel.o
                    RESULT_VARIABLE result ERROR_VARIABLE messages)
    if(NOT result EQUAL 0)
        message("${messages}")
        message(SEND_ERROR "${file} does not compile without a warning")
    endif()
endforeach()
list(LENGTH FILES count)
message("${count} kernel files without a warning")
