# Text from the tiny model on the software device, and its logits against those of an independent implementation.
#   WARPWISE SIMTCC SOURCE LIBRARIES WORKDIR PROGRAM (what `warpwise generate` leaves)
cmake_minimum_required(VERSION 3.25)
file(MAKE_DIRECTORY ${WORKDIR})
set(tiny ${SOURCE}/common/model/tiny)

# expect(CODE REGEX COMMAND...): its exit status, and what it prints; stdout is left in `said`.
function(expect code regex)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
    if(NOT result STREQUAL code OR NOT "${out}${err}" MATCHES "${regex}")
        message(SEND_ERROR "${ARGN}\nstatus ${result}, wanted ${code} and ${regex}:\n${out}${err}")
    endif()
    set(said "${out}" PARENT_SCOPE)
endfunction()

set(prompt --model tiny --prompt "A warp is 32 threads." --tokens 9)
expect(0 "^A warp is 32 threads[.].+\nprefill: 14 tokens.*\ndecode: 8 tokens" ${WARPWISE} generate --solution --device simt ${prompt})
set(greedy "${said}")
expect(0 "" ${PROGRAM} ${prompt} --requests 3 --chunk 5) # beside others, and in pieces
if(NOT said STREQUAL greedy)
    message(SEND_ERROR "alone: ${greedy}among others: ${said}")
endif()
set(sampled --temperature 1 --top-p 0.9 --seed 5)
expect(0 "^A warp is" ${PROGRAM} ${prompt} ${sampled})
set(first "${said}")
expect(0 "" ${PROGRAM} ${prompt} ${sampled} --requests 2)
if(NOT said STREQUAL first OR said STREQUAL greedy)
    message(SEND_ERROR "sampled: ${first}again: ${said}greedy: ${greedy}")
endif()
expect(2 "config.json" ${PROGRAM} --model ${WORKDIR}/nowhere --prompt a)
expect(2 "longer than|context" ${PROGRAM} --model tiny --prompt "a long text" --tokens 90 --context 20)

execute_process(COMMAND ${SIMTCC} -Og "-DTINY_MODEL=\"${tiny}\"" -I ${SOURCE}/common -I ${SOURCE}/reference
                        -I ${SOURCE}/common/contracts -I ${SOURCE}/common/decode -I ${SOURCE}/lessons/17_decode_engine
                        ${SOURCE}/tests/unit/tiny_model.cu ${SOURCE}/solutions/17_decode_engine/decode_engine.cu
                        ${LIBRARIES} -o ${WORKDIR}/tiny_model
                RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "tiny_model.cu does not build")
endif()
expect(0 "of its bound" ${WORKDIR}/tiny_model)
message("${said}")
