# build_warpwise(PLACES PROGRAM): a warpwise for another place than the build's own. PLACES is its places.c, the one file that
# says where things lie; all else comes from the libraries in folder PARTS. With TRUSTING, submissions are built as the
# user's own files are: stub compilers make no object files to look into.
function(build_warpwise places program)
    if(TRUSTING)
        list(APPEND places ${SOURCE_DIR}/tests/course/build_trusting.c)
    endif()
    execute_process(COMMAND ${C_COMPILER} -std=c11 -D_GNU_SOURCE -O0 -I${SOURCE_DIR}/common ${places} -L${PARTS}
                            -lwarpwise_parts -lcompanion -lmodel -lengine -ltrace -lgrading -ljudging -lrecord -lbuild -lsimtcc_lexer -lcourse -lsandbox -lbase
                            -o ${program} -pthread -lm
                    COMMAND_ERROR_IS_FATAL ANY)
endfunction()
