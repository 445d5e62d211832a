# Installs simtcc to a folder, and builds and runs a program with nothing but what was installed: where it was put, and
# moved to another place. Every path that the compiler is told or says it has read must lie in the installation, beside
# the program, or in the system. Last, a CMake project is built with the toolchain file that was installed.
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

# ---- a CMake project that uses CUDA, with the toolchain file that was installed: its own tests pass, and without a barrier
# they fail by the device's finding -----------------------------------------------------------------------------------
set(project ${WORK}/project)
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE}/docs/examples/cuda_project -B ${project} -DCMAKE_CUDA_SEPARABLE_COMPILATION=ON
                        -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE=${WORK}/second/share/simt/cmake/toolchain.cmake
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
foreach(without IN ITEMS OFF ON)
    execute_process(COMMAND ${CMAKE_COMMAND} -DWITHOUT_BARRIER=${without} ${project} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${CMAKE_COMMAND} --build ${project} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${project} --output-on-failure RESULT_VARIABLE failed
                    OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(without AND (NOT failed OR NOT output MATCHES "simt: shared-race: partial.*reduction.cu:16"))
        message(FATAL_ERROR "the project without its barrier is not found wrong:\n${output}")
    elseif(NOT without AND (failed OR NOT output MATCHES "100% tests passed(, 0 tests failed)? out of 2"))
        message(FATAL_ERROR "the project's tests do not pass:\n${output}")
    endif()
endforeach()
file(REMOVE_RECURSE ${WORK})
