# Opens a page of each kind in headless Chromium, all in one, each as wide as a telephone: nothing may be said on the console,
# every script must run, and no page may be wider than the screen (wide tables and code move within themselves).
#   -DCHROMIUM=  -DSITE= build/docs/html
set(frames)
foreach(page IN ITEMS index course background lesson_01 lesson_03 lesson_04 lesson_07 lesson_10 lesson_15 lesson_16 notes_02 notes_05 measured results glossary
        instructors roofline serving_engine companion counters files pages globals skeleton_01 naive__attention_8h
        flash__attention__2_8cu flash__attention__2_8cu_source attention__args_8h structattention__args half_precision)
    if(NOT EXISTS ${SITE}/${page}.html)
        message(SEND_ERROR "${page}.html is missing")
    endif()
    string(APPEND frames "<iframe src=\"${page}.html\"></iframe>\n")
endforeach()
file(WRITE ${SITE}/../console.html "<base href=\"html/\"><style>iframe { width: 390px; height: 800px }</style>\n${frames}<script>
addEventListener('load', () => {
    for (const frame of document.querySelectorAll('iframe')) {
        const page = frame.contentDocument.scrollingElement, measured = document.createElement('p');
        measured.textContent = (page.scrollWidth > 390 ? 'TOO WIDE ' : 'fits ') + frame.getAttribute('src') + ' ' + page.scrollWidth;
        document.body.append(measured);
    }
});
</script>\n")
execute_process(COMMAND ${CHROMIUM} --headless --no-sandbox --disable-gpu --enable-logging=stderr --virtual-time-budget=5000
                        --allow-file-access-from-files --user-data-dir=${SITE}/../chromium --dump-dom file://${SITE}/../console.html
                OUTPUT_VARIABLE dom ERROR_VARIABLE said TIMEOUT 100)
if(NOT dom MATCHES "<p>fits ")
    message(FATAL_ERROR "Chromium did not open and measure the pages: ${said}")
endif()
string(REGEX MATCHALL "<p>TOO WIDE[^<]*" wide "${dom}")
foreach(page IN LISTS wide)
    string(REPLACE "<p>TOO WIDE " "Too wide: " page "${page}")
    message(SEND_ERROR "${page} pixels, where 390 are there")
endforeach()
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
