# The lessons with kernels, by their descriptions, lessons/NN_topic/lesson.def (common/description/lesson_def.h).
#   WARPWISE_LESSONS                     their names, in order
#   generated/lessons.def                all descriptions, for C
#   lesson_says(LESSON WORD OUT)         the arguments of the line `WORD(...)` as a list; nothing if there is none
#   lesson_architectures(LESSON OUT)     90a-real, if it uses what sm_90 alone has; else nothing
cmake_path(SET WARPWISE_LESSON_DIR NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../../lessons)

function(lesson_says lesson word out)
    file(STRINGS ${WARPWISE_LESSON_DIR}/${lesson}/lesson.def line REGEX "^${word}\\(")
    string(REGEX REPLACE "^${word}\\(([^()]*)\\).*$" "\\1" said "${line}")
    string(REPLACE ", " ";" said "${said}")
    set(${out} "${said}" PARENT_SCOPE)
endfunction()

function(lesson_architectures lesson out)
    lesson_says(${lesson} ARCHITECTURE said)
    list(LENGTH said count)
    set(${out} "" PARENT_SCOPE)
    if(count EQUAL 2)
        list(GET said 1 last)
        if(last)
            set(${out} ${last}a-real PARENT_SCOPE)
        endif()
    endif()
endfunction()

file(GLOB lesson_defs CONFIGURE_DEPENDS ${WARPWISE_LESSON_DIR}/[0-9][0-9]_*/lesson.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${lesson_defs})
set(WARPWISE_LESSONS "")
set(all_lessons "")
foreach(def IN LISTS lesson_defs)
    cmake_path(GET def PARENT_PATH folder)
    cmake_path(GET folder FILENAME lesson)
    list(APPEND WARPWISE_LESSONS ${lesson})
    string(APPEND all_lessons "#include \"${lesson}/lesson.def\"\n")
    string(REGEX REPLACE "^0?([0-9]+)_(.*)$" "LESSON(\\1, \\2, " begins ${lesson})
    file(READ ${def} text)
    string(FIND "${text}" "\n${begins}" at)
    if(at EQUAL -1)
        message(FATAL_ERROR "lessons/${lesson}/lesson.def has no line that begins with ${begins}")
    endif()
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/lessons.def CONTENT "${all_lessons}" @ONLY)
