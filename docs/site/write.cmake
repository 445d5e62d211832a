# Writes the site: pages of numbers, Doxygen, links to traces, then copies of the files that pages link to, then the search index.
#   -DSOURCE= top folder  -DBUILD= build/docs  -DPAGES= -DDOXYGEN= -DINDEX= programs
file(REMOVE_RECURSE ${BUILD}/html ${BUILD}/skeletons ${BUILD}/results)
file(MAKE_DIRECTORY ${BUILD}/results)
execute_process(COMMAND ${PAGES} ${SOURCE} ${BUILD}/results COMMAND_ERROR_IS_FATAL ANY)

# A page for each skeleton: two files of one name (the skeleton and its solution) would confuse Doxygen's links.
file(GLOB lessons RELATIVE ${SOURCE}/lessons ${SOURCE}/lessons/[0-9][0-9]_*)
foreach(lesson IN LISTS lessons)
    string(SUBSTRING ${lesson} 0 2 number)
    string(SUBSTRING ${lesson} 3 -1 topic)
    if(EXISTS ${SOURCE}/lessons/${lesson}/${topic}.py) # no kernel
        continue()
    endif()
    file(WRITE ${BUILD}/skeletons/skeleton_${number}.md
         "# Skeleton of lesson ${number}\n\n"
         "What you are given, with a `TODO` in each place that is yours: `lessons/${lesson}/${topic}.cu`. "
         "The page of the lesson: [${lesson}](@ref lesson_${number}).\n\n"
         "@include{lineno} ${lesson}/${topic}.cu\n")
endforeach()

execute_process(COMMAND ${DOXYGEN} ${BUILD}/Doxyfile WORKING_DIRECTORY ${SOURCE}
                RESULT_VARIABLE status ERROR_VARIABLE errors)
if(errors)
    message(NOTICE "${errors}")
endif()
if(NOT status EQUAL 0)
    message(FATAL_ERROR "Doxygen failed: ${status}")
endif()

# Where a lesson's page links to the page on traces, and the target traces has made one of its solution, that is a click away.
foreach(lesson IN LISTS lessons)
    string(SUBSTRING ${lesson} 0 2 number)
    set(page ${BUILD}/html/lesson_${number}.html)
    if(NOT EXISTS ${BUILD}/traces/${number}.html OR NOT EXISTS ${page})
        continue()
    endif()
    configure_file(${BUILD}/traces/${number}.html ${BUILD}/html/traces/${number}.html COPYONLY)
    file(READ ${page} text)
    string(REGEX REPLACE "(<a class=\"el\" href=\"trace[.]html\"[^>]*>[^<]*</a>)" "\\1 (<a href=\"traces/${number}.html\">the solution's</a>)" linked "${text}")
    if(linked STREQUAL text)
        message(NOTICE "warning: ${page} does not link to its trace")
    endif()
    file(WRITE ${page} "${linked}")
endforeach()

# files/ holds what pages link to and Doxygen does not show.
file(GLOB pages ${BUILD}/html/*.html)
foreach(page IN LISTS pages)
    file(STRINGS ${page} lines REGEX "[*][*]<code>|</code>[*][*]")
    if(lines)
        message(NOTICE "warning: ${page} shows the marks of bold text: ${lines}")
    endif()
    file(STRINGS ${page} lines REGEX "href=\"files/")
    foreach(line IN LISTS lines)
        string(REGEX MATCHALL "href=\"files/[^\"]*\"" links "${line}")
        foreach(link IN LISTS links)
            string(REGEX REPLACE "href=\"files/([^\"#]*).*" "\\1" path "${link}")
            if(NOT EXISTS ${BUILD}/html/files/${path} AND EXISTS ${SOURCE}/${path})
                configure_file(${SOURCE}/${path} ${BUILD}/html/files/${path} COPYONLY)
            endif()
        endforeach()
    endforeach()
endforeach()

# Sources are found through what documents them; lists of everything would be found for every word.
list(FILTER pages EXCLUDE REGEX "/(.*_source|globals.*|functions.*|dir_.*|files|pages|index|graph_legend|annotated|classes)[.]html$")
execute_process(COMMAND ${INDEX} ${BUILD}/html/search_index.js ${pages} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "The search index could not be written")
endif()
