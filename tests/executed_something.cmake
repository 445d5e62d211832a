# CTest calls a run in which every test was skipped a success. `warpwise check` leaves a note in the folder RECORD
# for every kernel that it really executed; without any, the run has shown nothing and fails here.
#   RECORD folder of notes   STEP begin (forget them) or end (look for one)   REQUIRE simt or gpu, optional
cmake_minimum_required(VERSION 3.25)
if(STEP STREQUAL begin)
    file(REMOVE_RECURSE ${RECORD})
    return()
endif()
if(REQUIRE)
    file(GLOB notes ${RECORD}/*-${REQUIRE})
    set(where " on ${REQUIRE}")
else()
    file(GLOB notes ${RECORD}/*)
    set(where "")
endif()
list(LENGTH notes count)
if(count EQUAL 0)
    message(FATAL_ERROR "Nothing ran${where}: every check of a kernel was skipped or never reached the device. "
                        "A lesson is skipped as long as its kernel file is the skeleton (NOT_STARTED): "
                        "begin with build/bin/warpwise watch 01, and run this again. A device that is not here: "
                        "build/bin/warpwise doctor.")
endif()
message("${count} checks executed a kernel${where}.")
