# Included by ../CMakeLists.txt. What is checked about pages and the site; docs/CMakeLists.txt has docs.site and the
# drift tests of figures, charts and numbers.
add_executable(check_links docs/check_links.c)
target_link_libraries(check_links PRIVATE docs_text)
add_test(NAME docs.links COMMAND check_links --tree ${PROJECT_SOURCE_DIR})
if(TARGET docs)
    add_test(NAME docs.site_links COMMAND check_links --site ${PROJECT_BINARY_DIR}/docs/html)
    set_tests_properties(docs.site_links PROPERTIES FIXTURES_REQUIRED site)
endif()
add_unit_test(docs SOURCES docs/unit.c LIBRARIES docs_text)
