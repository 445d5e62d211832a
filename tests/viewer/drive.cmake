# Pages of traces in headless Chromium: drive.js steps through every block of them, as wide as a telephone and as a screen.
#   WARPWISE SIMTCC CHROMIUM SOURCE top folder  WORK an empty place
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

# trace(NAME SOURCE): NAME.trace of a program, of the first block of each launch and the first with a finding
function(trace name source)
    execute_process(COMMAND ${SIMTCC} ${source} -o ${WORK}/${name} WORKING_DIRECTORY ${SOURCE} COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env SIMT_TRACE=${WORK}/${name}.trace ${WORK}/${name}
                    WORKING_DIRECTORY ${SOURCE} OUTPUT_QUIET ERROR_QUIET)
endfunction()

# drive(NAME MINIMUM WORD...): the page that `trace WORD...` writes; MINIMUM is a pattern of what is found in it
function(drive name minimum)
    execute_process(COMMAND ${WARPWISE} trace ${ARGN} -o ${WORK}/${name}.html WORKING_DIRECTORY ${SOURCE} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    file(READ ${WORK}/${name}.html page)
    if(page MATCHES "\"noVariables\": \"(gdb[^\"]*)") # where it is not installed, or may not look into programs
        message("${name} skipped: ${CMAKE_MATCH_1}")
        return()
    endif()
    file(READ ${SOURCE}/tests/viewer/drive.js driver)
    string(REPLACE "</body>" "<script>${driver}</script></body>" page "${page}")
    file(WRITE ${WORK}/${name}.html "${page}")
    foreach(size IN ITEMS 500,900 1280,900) # no window of it is less than 500 wide
        execute_process(COMMAND ${CHROMIUM} --headless --no-sandbox --disable-gpu --enable-logging=stderr --virtual-time-budget=20000
                                --window-size=${size} --user-data-dir=${WORK}/chromium --dump-dom file://${WORK}/${name}.html
                        OUTPUT_VARIABLE dom ERROR_VARIABLE said TIMEOUT 100)
        if(NOT dom MATCHES "<p id=\"driven\">([^<]*)")
            message(FATAL_ERROR "${name}: Chromium did not drive the page: ${said}")
        endif()
        set(result "${CMAKE_MATCH_1}")
        message("${name} ${size}: ${result}")
        if(NOT result MATCHES "^RIGHT: " OR NOT result MATCHES "${minimum}")
            message(SEND_ERROR "${name}: that is wrong")
        endif()
        if(said MATCHES "CONSOLE[^\n]*")
            message(SEND_ERROR "${name}: ${CMAKE_MATCH_0}")
        endif()
    endforeach()
endfunction()

trace(counters tests/simt/counters/counters.cu)
drive(counters "sectors\":[1-9][0-9][0-9].*wavefronts\":[1-9][0-9][0-9]" ${WORK}/counters.trace)
trace(race tests/simt/detectors/shared-race_missing_barrier.cu)
drive(race "findings\":1" ${WORK}/race.trace)
trace(wait tests/simt/detectors/missing-wait_forgotten.cu)
trace(waited tests/simt/detectors/missing-wait_forgotten_ok.cu)
drive(compared "flights\":[1-9].*findings\":[1-9]" ${WORK}/wait.trace ${WORK}/waited.trace)
trace(bulk tests/simt/programs/ptx_bulk.cu)
drive(bulk "flights\":[1-9]" ${WORK}/bulk.trace)
trace(outside tests/simt/detectors/out-of-bounds_between_allocations.cu)
drive(outside "findings\":1" ${WORK}/outside.trace)
if(EXISTS ${SOURCE}/solutions) # with the variables of a thread, by gdb
    drive(variables "watched\":[1-9][0-9][0-9].*indices\":[1-9].*named\":[1-9]" 02 --solution --case scores/tail_33x31 --thread 37)
    drive(stored "written\":1" 15 --solution --case f16/square_64 --element c:40,40) # in bulk
    drive(groups "flights\":[1-9].*watched\":114" 12 --solution) # cp.async by PTX, its groups and their waits
    file(READ ${SOURCE}/solutions/02_tiled_attention/tiled_attention.cu kernel)
    string(REGEX REPLACE "__syncthreads[(][)]; // both slices are complete[^\n]*" "" kernel "${kernel}")
    file(WRITE ${WORK}/unordered.cu "${kernel}") # of a finding the thread that is in it, without --thread
    drive(unordered "findings\":[1-9].*watched\":[1-9].*acting\":[1-9]" 02 --kernel ${WORK}/unordered.cu --case scores/tail_33x31)
    file(READ ${SOURCE}/solutions/02_tiled_attention/tiled_attention.cu kernel) # wrong in its second block, from column 5 on: as check says
    string(REPLACE "scale * sum[i][j]" "scale * (sum[i][j] + (float)(blockIdx.x * (column / 5)))" kernel "${kernel}")
    file(WRITE ${WORK}/wrong.cu "${kernel}")
    execute_process(COMMAND ${WARPWISE} check 02 --kernel ${WORK}/wrong.cu --case scores/batch_3 --device simt
                    WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE said)
    if(NOT said MATCHES "see it: [^ ]+ trace ([^\n]* --case scores/batch_3 --element scores:0,1,0,5)\n")
        message(FATAL_ERROR "check does not say how to see scores[0,1,0,5]:\n${said}")
    endif()
    separate_arguments(words UNIX_COMMAND "${CMAKE_MATCH_1}")
    drive(written "written\":1" ${words})
endif()
