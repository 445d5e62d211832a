# One submission, the CTest way. Included by CMakeLists.txt here.
#
#   cmake --preset grade -DWARPWISE_SUBMISSION=DIR [-DWARPWISE_SECRET_SEED_FILE=FILE]
#   cmake --build --preset grade
#   ctest --preset grade --output-junit grade.xml
#
# grade.NN_topic.build.DEVICE    builds the lesson's kernel file as an untrusted one
# grade.NN_topic.GROUP.DEVICE    the cases of one group; points and times as CTest measurements
# A file that is not there or does not build fails (or skips, if nothing was handed in) its own lesson's tests only.
#
# Tests on a GPU take a slot of one GPU each, by CTest's resource groups: with a resource file (ctest
# --resource-spec-file, written to GRADE_BUILD_FOLDER/gpus.json where nvidia-smi can list the GPUs) they are spread
# over all GPUs, and without they share the first.
set(WARPWISE_SECRET_SEED_FILE "" CACHE FILEPATH "File whose bytes are mixed into the seed when grading")
if(NOT WARPWISE_SUBMISSION)
    return()
endif()
if(NOT IS_DIRECTORY ${WARPWISE_SUBMISSION})
    message(FATAL_ERROR "WARPWISE_SUBMISSION=${WARPWISE_SUBMISSION} is no folder. It is the folder of one student, with "
                        "lessons/NN_topic/topic.cu, NN_topic/topic.cu or topic.cu in it.")
endif()

# Slots of every GPU that there is: one process a GPU, so that times are nobody else's.
if(WARPWISE_WITH_GPU)
    find_program(NVIDIA_SMI nvidia-smi)
    set(gpus "")
    if(NVIDIA_SMI)
        execute_process(COMMAND ${NVIDIA_SMI} --query-gpu=index --format=csv,noheader OUTPUT_VARIABLE listed ERROR_QUIET
                        OUTPUT_STRIP_TRAILING_WHITESPACE)
        string(REGEX MATCHALL "[0-9]+" gpus "${listed}")
    endif()
    if(gpus)
        list(TRANSFORM gpus REPLACE "(.+)" "{\"id\": \"\\1\", \"slots\": 1}")
        list(JOIN gpus ", " gpus)
        file(WRITE ${PROJECT_BINARY_DIR}/gpus.json
             "{\"version\": {\"major\": 1, \"minor\": 0}, \"local\": [{\"gpus\": [${gpus}]}]}\n")
        message(STATUS "GPUs for grading: ctest --preset grade --resource-spec-file ${PROJECT_BINARY_DIR}/gpus.json")
    endif()
endif()

set(options "")
if(WARPWISE_SECRET_SEED_FILE)
    list(APPEND options --secret-seed-file ${WARPWISE_SECRET_SEED_FILE})
endif()
foreach(lesson IN LISTS WARPWISE_LESSONS)
    string(SUBSTRING ${lesson} 0 2 number)
    foreach(device IN LISTS WARPWISE_RUNNER_DEVICES)
        set(judge warpwise check ${number} --submission ${WARPWISE_SUBMISSION} --device ${device})
        add_test(NAME grade.${lesson}.build.${device} COMMAND ${judge} --build-only)
        set_tests_properties(grade.${lesson}.build.${device} PROPERTIES LABELS grade SKIP_RETURN_CODE 77 TIMEOUT 900)
        foreach(group IN ITEMS basic edges numerics bad_input properties speed)
            set(name grade.${lesson}.${group}.${device})
            add_test(NAME ${name} COMMAND ${judge} --group ${group} --ctest ${options})
            if(device STREQUAL gpu)
                set_tests_properties(${name} PROPERTIES RESOURCE_GROUPS "gpus:1") # warpwise takes the GPU it is given
            endif()
            # A build that is under way in another test would be made twice; and it says better what is wrong.
            set_tests_properties(${name} PROPERTIES LABELS grade SKIP_RETURN_CODE 77 TIMEOUT 900
                                 DEPENDS grade.${lesson}.build.${device})
        endforeach()
    endforeach()
endforeach()
