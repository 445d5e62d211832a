# build_warpwise(GENERATED PROGRAM): a warpwise for another place than the build's own. Only the files that hold paths
# (they include warpwise_config.h, found in GENERATED) are compiled; the others come from the library PARTS. With TRUSTING,
# submissions are built as the user's own files are: stub compilers make no object files to look into.
function(build_warpwise generated program)
    set(placed "")
    file(GLOB sources ${SOURCE_DIR}/common/course/*.c ${SOURCE_DIR}/common/checker/sandbox*.c)
    if(TRUSTING)
        list(FILTER sources EXCLUDE REGEX "/build_untrusted.c$")
        list(APPEND placed ${SOURCE_DIR}/tests/course/build_trusting.c)
    endif()
    foreach(source IN LISTS sources)
        file(STRINGS ${source} found REGEX "#include \"warpwise_config.h\"" LIMIT_COUNT 1)
        if(found OR NOT PARTS)
            list(APPEND placed ${source})
        endif()
    endforeach()
    execute_process(COMMAND ${C_COMPILER} -std=c11 -D_GNU_SOURCE -O0 -I${generated} -I${SOURCE_DIR}/common/checker
                            ${placed} ${PARTS} -o ${program} -lm
                    COMMAND_ERROR_IS_FATAL ANY)
endfunction()
