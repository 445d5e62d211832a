# Installs simtcc to a folder, and builds and runs a program with nothing but what was installed: where it was put, and
# moved to another place. Every path that the compiler is told or says it has read must lie in the installation, beside
# the program, or in the system.
#
#   cmake -DBUILD=build -DSOURCE=. -DPROGRAM=tests/simt/programs/NAME.cu -DWORK=DIR -P install.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(MAKE_DIRECTORY ${WORK}/programs)
file(COPY_FILE ${PROGRAM} ${WORK}/programs/program.cu)
file(COPY_FILE ${SOURCE}/tests/simt/testing.h ${WORK}/testing.h) # which programs include
foreach(name IN ITEMS WARPWISE_SIMT_ROOT WARPWISE_SIMT_OPTIMISE WARPWISE_ROOT CPATH)
    unset(ENV{${name}})
endforeach()

# build_and_run(PREFIX): with PREFIX/bin/simtcc, in PREFIX/run.
function(build_and_run prefix)
    file(MAKE_DIRECTORY ${prefix}/run)
    execute_process(COMMAND ${prefix}/bin/simtcc -v -MD -c ${WORK}/programs/program.cu -o program.o
                    COMMAND_ERROR_IS_FATAL ANY WORKING_DIRECTORY ${prefix}/run ERROR_VARIABLE commands)
    execute_process(COMMAND ${prefix}/bin/simtcc -v program.o -o program
                    COMMAND_ERROR_IS_FATAL ANY WORKING_DIRECTORY ${prefix}/run ERROR_VARIABLE link)
    file(READ ${prefix}/run/program.d dependencies)
    set(said "${commands}${link}${dependencies}")
    foreach(allowed IN ITEMS ${prefix}/ ${WORK}/programs/ ${WORK}/testing.h)
        string(REPLACE "${allowed}" "" said "${said}")
    endforeach()
    foreach(place IN ITEMS ${SOURCE} ${BUILD}) # WORK, and so the other place of the installation, is below BUILD
        string(FIND "${said}" "${place}/" at)
        if(NOT at EQUAL -1)
            string(SUBSTRING "${said}" ${at} 200 found)
            message(FATAL_ERROR "${prefix}/bin/simtcc uses what is not installed: ${found}")
        endif()
    endforeach()
    execute_process(COMMAND ./program COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET WORKING_DIRECTORY ${prefix}/run)
    set(commands "${commands}" PARENT_SCOPE)
endfunction()

build_and_run(${WORK}/first)
if(GNU AND NOT commands MATCHES "-include ${WORK}/first/lib/simt/simt_prelude-O2.h")
    message(FATAL_ERROR "the prelude is not used where it was installed:\n${commands}")
endif()
file(RENAME ${WORK}/first ${WORK}/second)
build_and_run(${WORK}/second)
file(REMOVE_RECURSE ${WORK})
