# Opens a page of each kind in headless Chromium, all in one: nothing may be said on the console, and every script must run.
#   -DCHROMIUM=  -DSITE= build/docs/html
set(frames)
foreach(page IN ITEMS index course lesson_01 lesson_03 notes_02 measured glossary files pages globals skeleton_01
        naive__attention_8h naive__attention_8cu attention__args_8h half_precision)
    if(NOT EXISTS ${SITE}/${page}.html)
        message(SEND_ERROR "${page}.html is missing")
    endif()
    string(APPEND frames "<iframe src=\"${page}.html\"></iframe>\n")
endforeach()
file(WRITE ${SITE}/../console.html "<base href=\"html/\">\n${frames}")
execute_process(COMMAND ${CHROMIUM} --headless --no-sandbox --disable-gpu --enable-logging=stderr --virtual-time-budget=5000
                        --user-data-dir=${SITE}/../chromium --dump-dom file://${SITE}/../console.html
                OUTPUT_VARIABLE dom ERROR_VARIABLE said TIMEOUT 100)
if(NOT dom MATCHES "<iframe")
    message(FATAL_ERROR "Chromium did not open the page: ${said}")
endif()
string(REGEX MATCHALL "[^\n]*CONSOLE[^\n]*" lines "${said}")
foreach(line IN LISTS lines)
    message(SEND_ERROR "${line}")
endforeach()

# The search finds what is only in the text of one lesson's page.
execute_process(COMMAND ${CHROMIUM} --headless --no-sandbox --disable-gpu --virtual-time-budget=5000
                        --user-data-dir=${SITE}/../chromium --dump-dom "file://${SITE}/index.html?q=warp_merge+lanes"
                OUTPUT_VARIABLE dom ERROR_QUIET TIMEOUT 100)
if(NOT dom MATCHES "<div id=\"found\">.*<a href=\"lesson_03.html#[^>]*><b>[^<]*Online softmax")
    string(REGEX MATCH "<div id=\"found\".*" found "${dom}")
    string(SUBSTRING "${found}" 0 400 found)
    message(SEND_ERROR "The search for warp_merge did not find lesson 03: ${found}")
endif()
