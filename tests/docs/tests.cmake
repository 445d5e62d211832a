# Included by ../CMakeLists.txt. What is checked about pages and the site; docs/CMakeLists.txt has docs.site and the
# drift tests of figures, charts and numbers.
add_executable(check_links docs/check_links.c)
target_link_libraries(check_links PRIVATE docs_text)
add_test(NAME docs.links COMMAND check_links --tree ${PROJECT_SOURCE_DIR})
add_test(NAME docs.stray_numbers_are_found
         COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:fill_numbers> -DWORK=${PROJECT_BINARY_DIR}/docs/stray
                 -P ${CMAKE_CURRENT_SOURCE_DIR}/docs/stray_numbers.cmake)
get_property(site GLOBAL PROPERTY WARPWISE_SITE)
if(site)
    add_test(NAME docs.site_links COMMAND check_links --site ${PROJECT_BINARY_DIR}/docs/html)
    add_test(NAME docs.two_clicks COMMAND ${CMAKE_COMMAND} -DSITE=${PROJECT_BINARY_DIR}/docs/html -DLESSONS=${PROJECT_SOURCE_DIR}/lessons
                                          -P ${CMAKE_CURRENT_SOURCE_DIR}/docs/two_clicks.cmake)
    set_tests_properties(docs.site_links docs.two_clicks PROPERTIES FIXTURES_REQUIRED site)
endif()
find_program(CHROMIUM_EXECUTABLE NAMES chromium chromium-browser google-chrome)
if(site AND CHROMIUM_EXECUTABLE)
    add_test(NAME docs.console
             COMMAND ${CMAKE_COMMAND} -DCHROMIUM=${CHROMIUM_EXECUTABLE} -DSITE=${PROJECT_BINARY_DIR}/docs/html
                     -P ${CMAKE_CURRENT_SOURCE_DIR}/docs/console.cmake)
    set_tests_properties(docs.console PROPERTIES FIXTURES_REQUIRED site TIMEOUT 120)
endif()
add_test(NAME docs.next COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -P ${CMAKE_CURRENT_SOURCE_DIR}/docs/next.cmake)
add_test(NAME docs.classes COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -P ${CMAKE_CURRENT_SOURCE_DIR}/docs/classes.cmake)
add_test(NAME docs.length COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -P ${CMAKE_CURRENT_SOURCE_DIR}/docs/length.cmake)
file(GLOB hinted RELATIVE ${PROJECT_SOURCE_DIR}/lessons CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lessons/[0-9][0-9]_*)
foreach(lesson IN LISTS hinted)
    string(SUBSTRING ${lesson} 3 -1 topic)
    set(folder ${PROJECT_SOURCE_DIR}/lessons/${lesson})
    set(skeleton ${folder}/${topic}.cu)
    if(EXISTS ${folder}/${topic}.py)
        set(skeleton ${folder}/${topic}.py)
    endif()
    add_test(NAME docs.hints.${lesson} COMMAND ${CMAKE_COMMAND} -DPAGE=${folder}/README.md -DSKELETON=${skeleton}
                                               -DCAUSES=${PROJECT_SOURCE_DIR}/common/record/causes.h
                                               -P ${CMAKE_CURRENT_SOURCE_DIR}/docs/hints.cmake)
endforeach()
file(GLOB stepped RELATIVE ${PROJECT_SOURCE_DIR}/lessons CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lessons/[0-9][0-9]_*)
foreach(lesson IN LISTS stepped)
    string(SUBSTRING ${lesson} 0 2 number)
    string(SUBSTRING ${lesson} 3 -1 topic)
    set(folder ${PROJECT_SOURCE_DIR}/lessons/${lesson})
    set(solution ${PROJECT_SOURCE_DIR}/solutions/${lesson}/${topic}.cu)
    file(STRINGS ${folder}/README.md steps REGEX "^<!-- steps$")
    if(steps AND EXISTS ${solution} AND WARPWISE_WITH_SIMT) # a handout has no solutions
        add_test(NAME docs.steps.${lesson}
                 COMMAND ${CMAKE_COMMAND} -DPAGE=${folder}/README.md -DSKELETON=${folder}/${topic}.cu -DSOLUTION=${solution}
                         -DWARPWISE=$<TARGET_FILE:warpwise> -DLESSON=${number} -DWORK=${PROJECT_BINARY_DIR}/docs/steps/${lesson}
                         -P ${CMAKE_CURRENT_SOURCE_DIR}/docs/steps.cmake)
        set_tests_properties(docs.steps.${lesson} PROPERTIES TIMEOUT 600 ENVIRONMENT WARPWISE_SIMT_OPTIMISE=-O0)
        lesson_says(${lesson} TEST_STEPS suite)
        if(suite)
            set_tests_properties(docs.steps.${lesson} PROPERTIES LABELS ${suite})
        endif()
    endif()
endforeach()
add_unit_test(docs SOURCES docs/unit.c LIBRARIES docs_text)

# ---- shell blocks (how to tag them: docs/site/README.md) ---------------------------------------------------------
add_executable(shell_blocks docs/shell_blocks.c)
target_link_libraries(shell_blocks PRIVATE docs_text)
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.md ${PROJECT_SOURCE_DIR}/lessons/*.md ${PROJECT_SOURCE_DIR}/lessons/*/*.md
     ${PROJECT_SOURCE_DIR}/solutions/*/*.md ${PROJECT_SOURCE_DIR}/docs/*.md ${PROJECT_SOURCE_DIR}/docs/results/*.md)
# Pages are read in the top folder, and their build folder is build/: a desk where both is so, without a way back into it.
set(desk ${PROJECT_BINARY_DIR}/desk)
file(MAKE_DIRECTORY ${desk}/build)
foreach(name IN ITEMS lessons solutions common reference tests docs CMakePresets.json)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${name} ${desk}/${name} SYMBOLIC)
endforeach()
file(CREATE_LINK ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${desk}/build/bin SYMBOLIC)
add_test(NAME docs.shell.parse COMMAND shell_blocks --parse ${desk} ${PROJECT_BINARY_DIR} ${pages})
set_tests_properties(docs.shell.parse PROPERTIES TIMEOUT 120)
foreach(page IN LISTS pages)
    file(STRINGS ${page} cpu REGEX "^```sh cpu$")
    file(STRINGS ${page} slow REGEX "^```sh cpu slow$")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
    cmake_path(RELATIVE_PATH page BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    string(REGEX REPLACE "(/README|/NOTES)?\\.md$" "" name ${name}) # README, lessons, lessons.01_naive_attention
    string(REPLACE "/" "." name ${name})
    if(cpu AND WARPWISE_WITH_SIMT)
        add_test(NAME docs.shell.${name} COMMAND shell_blocks --run ${desk} ${page})
        set_tests_properties(docs.shell.${name} PROPERTIES TIMEOUT 300)
    endif()
    if(slow AND WARPWISE_WITH_SIMT)
        add_test(NAME docs.shell.${name}.slow COMMAND shell_blocks --run-slow ${desk} ${page})
        set_tests_properties(docs.shell.${name}.slow PROPERTIES TIMEOUT 900 LABELS selftest)
    endif()
endforeach()
