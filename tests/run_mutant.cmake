# Applies one mutant to its solution and lets `warpwise check` reject it, by the cases that the mutant names.
#   WARPWISE LESSON MUTANT SOURCE WORKDIR DEVICE ORDERS
#   SUITE: test, or selftest, which tries all cases for the level of a debugging exercise
#   BUILD_ONLY (optional)  apply and build it, so that a later run finds it built
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/apply_mutant.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/hunt_level.cmake)

cmake_path(GET SOURCE FILENAME file)
file(MAKE_DIRECTORY ${WORKDIR})
apply_mutant(${MUTANT} ${SOURCE} ${WORKDIR}/${file})
message("why: ${mutant_why}\nkilled by: ${mutant_killed_by}")

# "device: simt", "device: gpu": the cases that see it, or what they look at, are there on that device alone.
file(STRINGS ${MUTANT} only REGEX "^device: ")
if(only AND NOT only STREQUAL "device: ${DEVICE}")
    message("mutant skipped: only another device has what its cases look at")
    return()
endif()

# "on-gpu: CASES": on a GPU these see it in place of the others.
file(STRINGS ${MUTANT} on_gpu REGEX "^on-gpu: ")
if(on_gpu AND DEVICE STREQUAL gpu)
    string(REPLACE "on-gpu: " "" mutant_killed_by "${on_gpu}")
endif()

# "simt CASE": only the device's own checks are sure to see it, so on a GPU there is nothing to show.
set(cases "${mutant_killed_by}")
if(cases MATCHES "^simt( |$)")
    if(DEVICE STREQUAL gpu)
        message("mutant skipped: not seen on this device, the mistake may give right values on a GPU")
        return()
    endif()
    string(REGEX REPLACE "^simt *" "" cases "${cases}")
    set(expected simt)
else()
    set(expected ${cases})
endif()
set(arguments "")
string(REPLACE "," ";" case_list "${cases}")
foreach(case IN LISTS case_list)
    string(STRIP "${case}" case)
    list(APPEND arguments --case ${case})
endforeach()

string(SUBSTRING ${LESSON} 0 2 number)
if(BUILD_ONLY)
    execute_process(COMMAND ${WARPWISE} check ${number} --kernel ${WORKDIR}/${file} --device ${DEVICE} --build-only)
    return()
endif()
string(REPLACE " " "" expected "${expected}")
execute_process(COMMAND ${WARPWISE} check ${number} --kernel ${WORKDIR}/${file} --device ${DEVICE} ${arguments}
                        --order ${ORDERS} --expect FAIL --expect-case ${expected}
                OUTPUT_VARIABLE screen ECHO_OUTPUT_VARIABLE RESULT_VARIABLE result)
# "says: REGEX": what the software device's check of these cases says of the cause.
file(STRINGS ${MUTANT} says REGEX "^says: ")
string(REPLACE "says: " "" says "${says}")
if(says AND DEVICE STREQUAL simt AND NOT screen MATCHES "${says}")
    message(FATAL_ERROR "the check does not say \"${says}\"")
endif()
if(result EQUAL 77)
    message("mutant skipped: no device")
elseif(NOT result EQUAL 0)
    message(FATAL_ERROR "the mutant was not rejected as it should be (exit ${result})")
endif()

# "hunt: NUMBER": the level that `warpwise hunt` says is what the device's verdicts make it; in selftest all cases have a say.
file(STRINGS ${MUTANT} hunt REGEX "^hunt: ")
if(hunt AND DEVICE STREQUAL simt)
    string(REPLACE "hunt: " "" hunt "${hunt}")
    string(COMPARE EQUAL ${SUITE} selftest whole)
    hunt_level(${WARPWISE} ${number} ${WORKDIR}/${file} ${WORKDIR} "${mutant_killed_by}" ${whole} level)
    said_level(${WARPWISE} ${number} ${WORKDIR}/state ${hunt} said)
    message("exercise ${hunt}, level ${level}")
    if(NOT level EQUAL said)
        message(FATAL_ERROR "hunt says level ${said}")
    endif()
endif()
