# The checker as a program: its options, its records, and that the same seed gives the same report, byte for byte, on
# any number of workers.
#   CHECKER WARPWISE SOURCE WORKDIR
cmake_minimum_required(VERSION 3.25)
include(${SOURCE}/tests/apply_mutant.cmake)
file(REMOVE_RECURSE ${WORKDIR})
file(MAKE_DIRECTORY ${WORKDIR})

# expect(CODE TEXT command...): the exit code, and a regular expression that stdout or stderr must match.
function(expect code text)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE got OUTPUT_VARIABLE output ERROR_VARIABLE errors)
    if(NOT got EQUAL code OR NOT "${output}${errors}" MATCHES "${text}")
        message(SEND_ERROR "expected exit ${code} and '${text}', got exit ${got} from: ${ARGN}\n${output}${errors}")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()

# ---- what it refuses, each with one sentence ------------------------------------------------------------------------
expect(0 "usage: checker" ${CHECKER} --help)
expect(0 "scores/tiny" ${CHECKER} --lesson 01_naive_attention --device simt --list)
expect(2 "lesson" ${CHECKER} --lesson 99_nothing --device simt --list)
expect(2 "device" ${CHECKER} --lesson 01_naive_attention --device toaster --list)
expect(2 "--sed" ${CHECKER} --lesson 01_naive_attention --device simt --sed 5)
expect(2 "number" ${CHECKER} --lesson 01_naive_attention --device simt --runner x --time-limit soon)
foreach(most IN ITEMS 0 2.5 few)
    expect(2 "not a number of inputs: ${most}" ${CHECKER} --lesson 01_naive_attention --device simt --runner x --most-inputs ${most})
endforeach()
expect(2 "No such file" ${CHECKER} --lesson 01_naive_attention --device simt --runner ${WORKDIR}/none)
expect(2 "No such file|cannot be read" ${CHECKER} --lesson 01_naive_attention --device simt --runner x
       --secret-seed-file ${WORKDIR}/none)
foreach(secret IN ITEMS "--isolated" "--secret-seed-file;${CMAKE_CURRENT_LIST_FILE}")
    expect(2 "right answers on the disk" ${CHECKER} --lesson 01_naive_attention --device simt --runner x
           --remember ${WORKDIR}/memory ${secret})
endforeach()
expect(2 "right answers on the disk" ${WARPWISE} check 01 --device simt --submission ${WORKDIR}
       --remember ${WORKDIR}/memory)
expect(2 "cannot be written" ${CHECKER} --lesson 01_naive_attention --device simt --save-case scores/tiny
       ${WORKDIR}/no/such/folder)
expect(2 "no such case" ${CHECKER} --lesson 01_naive_attention --device simt --save-case scores/none ${WORKDIR}/case)

# ---- dump and records -----------------------------------------------------------------------------------------------
set(check ${WARPWISE} check 01 --device simt --solution)
foreach(case IN ITEMS scores/tiny softmax/tiny output/tiny attention/tiny)
    expect(0 "expected" ${check} --case ${case} --dump)
endforeach()
set(first "${output}")
expect(0 "expected" ${check} --case attention/tiny --dump --seed 5)
if(output STREQUAL first)
    message(SEND_ERROR "another seed gives the same inputs")
endif()
expect(0 "CTestMeasurement.*PASS|PASS.*CTestMeasurement" ${check} --case scores/tiny --ctest --verbose
       --json ${WORKDIR}/report.json --csv ${WORKDIR}/report.csv)
file(READ ${WORKDIR}/report.json json)
string(JSON kind ERROR_VARIABLE error TYPE "${json}")
if(error OR NOT kind STREQUAL "OBJECT")
    message(SEND_ERROR "report.json is not an object (${error}):\n${json}")
endif()
file(STRINGS ${WORKDIR}/report.csv rows)
list(LENGTH rows count)
list(GET rows 0 header)
if(NOT count EQUAL 2 OR NOT header MATCHES "^lesson,part,case,group,shape,device,state,points,points_max,budget_share,")
    message(SEND_ERROR "report.csv is not a header and one row: ${rows}")
endif()

# ---- the same report, byte for byte, on any number of workers ----------------------------------------------------------
set(ENV{WARPWISE_SIMT_OPTIMISE} -Og)
foreach(mutant IN ITEMS barrier_missing_in_tree causal_top_left tail_not_guarded nan_swallowed)
    set(kernel ${WORKDIR}/${mutant}/naive_attention.cu)
    file(MAKE_DIRECTORY ${WORKDIR}/${mutant})
    apply_mutant(${SOURCE}/tests/mutants/01_naive_attention/${mutant}.mutant
                 ${SOURCE}/solutions/01_naive_attention/naive_attention.cu ${kernel})
    set(first "")
    foreach(workers IN ITEMS 1 2 5)
        expect(1 "FAIL" ${CMAKE_COMMAND} -E env SIMT_WORKERS=${workers} ${WARPWISE} check 01 --device simt --kernel ${kernel}
               --case causal_64 --case causal_more_keys --case tail_31x33 --case nan_q)
        if(first STREQUAL "")
            set(first "${output}")
        elseif(NOT output STREQUAL first)
            message(SEND_ERROR "${mutant}: the report depends on the number of workers:\n${first}\n---- ${workers}:\n${output}")
        endif()
    endforeach()
endforeach()

# ---- "again" repeats what made the inputs: the seed, and the file of a secret one, not what is in it --------------------------
file(WRITE ${WORKDIR}/secret "do not tell")
set(kernel ${WORKDIR}/causal_top_left/naive_attention.cu)
expect(1 "again +build/bin/warpwise check 01 --kernel [^ ]+ --case scores/causal_more_keys --device simt"
       ${WARPWISE} check 01 --device simt --kernel ${kernel} --case scores/causal_more_keys)
expect(1 "--seed 11 --secret-seed-file [^ ]+/secret --case scores/causal_more_keys" ${WARPWISE} check 01 --device simt
       --kernel ${kernel} --case scores/causal_more_keys --seed 11 --secret-seed-file ${WORKDIR}/secret
       --json ${WORKDIR}/again.json)
file(READ ${WORKDIR}/again.json json)
if(output MATCHES "do not tell" OR NOT json MATCHES "\"again\": \"build/bin/warpwise check 01[^\"]*--seed 11 --secret-seed-file")
    message(SEND_ERROR "the secret is told, or again.json lacks the seed:\n${json}")
endif()

# ---- a finding is shown once, though a kernel is launched twice; work that is half done is not called wrong ---------------
set(kernel ${WORKDIR}/barrier_missing_in_tree/naive_attention.cu)
expect(1 "simt: shared-race" ${WARPWISE} check 01 --device simt --kernel ${kernel} --case softmax/square_64)
string(REGEX MATCHALL "simt: [^\n]*\n[^\n]*\n[^\n]*\n" findings "${output}")
set(different ${findings})
list(REMOVE_DUPLICATES different)
if(NOT findings STREQUAL different)
    message(SEND_ERROR "a finding is shown twice:\n${output}")
endif()
file(READ ${SOURCE}/solutions/01_naive_attention/naive_attention.cu text)
string(REGEX REPLACE "// .student: softmax_launch.[^/]*" "return KERNEL_NOT_STARTED;\n    " text "${text}")
file(WRITE ${WORKDIR}/half/naive_attention.cu "${text}")
set(check ${WARPWISE} check 01 --device simt --kernel ${WORKDIR}/half/naive_attention.cu)
expect(1 "IN PROGRESS [^\n]*points: what is written passes; not written yet: softmax\n" ${check} --case scores/tiny --case softmax/tiny)
expect(0 "PASS [^\n]*points\n" ${check} --case scores/tiny)

# ---- points: half of a part's need every value right; a refusal that is missing costs its own weight -----------------
# millionths(NUMBER OUT): 1.5 is 1500000.
function(millionths number out)
    if(NOT number MATCHES "^([0-9]+)(\\.([0-9]*))?$")
        message(FATAL_ERROR "not a number of points: ${number}")
    endif()
    string(SUBSTRING "${CMAKE_MATCH_3}000000" 0 6 fraction)
    math(EXPR value "${CMAKE_MATCH_1} * 1000000 + 1${fraction} - 1000000")
    set(${out} ${value} PARENT_SCOPE)
endfunction()
# points_of(PART): what the cases of a part earned and what they are worth by points.csv, in millionths.
function(points_of part)
    file(STRINGS ${WORKDIR}/points.csv rows REGEX "^01,${part},")
    set(points 0)
    set(worth 0)
    foreach(row IN LISTS rows)
        if(NOT row MATCHES "^[^\"]*,\"[^\"]*\",[^,]*,[^,]*,([0-9.]+),([0-9.]+),")
            message(FATAL_ERROR "a row without points: ${row}")
        endif()
        set(most ${CMAKE_MATCH_2})
        millionths(${CMAKE_MATCH_1} earned)
        millionths(${most} most)
        math(EXPR points "${points} + ${earned}")
        math(EXPR worth "${worth} + ${most}")
    endforeach()
    if(worth EQUAL 0)
        message(FATAL_ERROR "no case of ${part} in points.csv")
    endif()
    set(points ${points} PARENT_SCOPE)
    set(worth ${worth} PARENT_SCOPE)
endfunction()
set(solution ${SOURCE}/solutions/01_naive_attention/naive_attention.cu)
set(kernel ${WORKDIR}/only_256_keys/naive_attention.cu)
file(MAKE_DIRECTORY ${WORKDIR}/only_256_keys)
apply_mutant(${SOURCE}/tests/mutants/01_naive_attention/only_256_keys.mutant ${solution} ${kernel})
expect(1 "attention +FAIL [^\n]*; they count half until every value is right\n" ${WARPWISE} check 01 --device simt --kernel ${kernel}
       --group numerics --group bad_input --csv ${WORKDIR}/points.csv)
foreach(part IN ITEMS output attention)
    points_of(${part})
    math(EXPR share "1000 * ${points} / ${worth}")
    if(share GREATER 500 OR share LESS 400)
        message(SEND_ERROR "a kernel that sees 256 keys earns ${share} thousandths of the points of ${part}")
    endif()
endforeach()
points_of(softmax)
if(NOT points EQUAL worth)
    message(SEND_ERROR "a part that is right pays for one that is wrong: ${points} of ${worth}\n${output}")
endif()
expect(1 "stopped +at the first case" ${WARPWISE} check 01 --device simt --kernel ${kernel} --fail-fast --group numerics)
string(REGEX MATCHALL "\n  [A-Z]+ +case " failed "${output}")
list(LENGTH failed count)
if(NOT count EQUAL 1)
    message(SEND_ERROR "--fail-fast went on after the first failure:\n${output}")
endif()
file(READ ${solution} text)
string(REPLACE "sizeof(float), naive_attention_workspace_bytes(args))" "sizeof(float), 0)" text "${text}")
file(WRITE ${WORKDIR}/refuses_too_little/naive_attention.cu "${text}")
expect(1 "attention +FAIL" ${WARPWISE} check 01 --device simt --kernel ${WORKDIR}/refuses_too_little/naive_attention.cu
       --group basic --group bad_input)
if(output MATCHES "they count half")
    message(SEND_ERROR "a missing refusal costs half of a part:\n${output}")
endif()

# ---- --most-inputs: fewer of the hundred random inputs of a property, but all of what enumerates --------------------------
string(REPLACE "// [student: scores_launch]" "static int calls; if (++calls > 30) return KERNEL_CUDA_ERROR;" few "${text}")
file(MAKE_DIRECTORY ${WORKDIR}/thirty_calls)
file(WRITE ${WORKDIR}/thirty_calls/naive_attention.cu "${few}")
set(check ${WARPWISE} check 01 --device simt --kernel ${WORKDIR}/thirty_calls/naive_attention.cu)
expect(1 "FAIL" ${check} --case scores/property_random_shapes)
expect(0 "PASS" ${check} --case scores/property_random_shapes --most-inputs 5)
expect(1 "FAIL" ${check} --case scores/alignments --most-inputs 5)

# ---- mistakes over pages have names, in storage of halves too ---------------------------------------------------------
function(expect_pattern mutant text)
    expect(1 "pattern +[^\n]*${text}" ${WARPWISE} check 06 --device simt --kernel ${WORKDIR}/${mutant}/paged_attention.cu
           --case v1/shuffled)
endfunction()
set(solution ${SOURCE}/solutions/06_paged_attention/paged_attention.cu)
foreach(mutant IN ITEMS gqa_modulo default_scale_ignored)
    file(MAKE_DIRECTORY ${WORKDIR}/${mutant})
    apply_mutant(${SOURCE}/tests/mutants/06_paged_attention/${mutant}.mutant ${solution} ${WORKDIR}/${mutant}/paged_attention.cu)
endforeach()
file(READ ${solution} text)
string(REPLACE "(size_t)kv.b * args.max_blocks + key" "key" text "${text}")
file(WRITE ${WORKDIR}/table_of_first/paged_attention.cu "${text}")
expect_pattern(gqa_modulo "wrong K/V head: h % kv_heads")
expect_pattern(default_scale_ignored "as without the scale")
expect_pattern(table_of_first "all sequences had the pages of the first")

# ---- what a call leaves behind is told in its own case -------------------------------------------------------------------
set(kernel ${WORKDIR}/graph_leaked/cuda_graph.cu)
file(MAKE_DIRECTORY ${WORKDIR}/graph_leaked)
apply_mutant(${SOURCE}/tests/mutants/07_cuda_graph/graph_leaked.mutant ${SOURCE}/solutions/07_cuda_graph/cuda_graph.cu ${kernel})
expect(1 "simt: leak: [0-9]+ graphs of this call were never destroyed" ${WARPWISE} check 07 --device simt --kernel ${kernel}
       --case step/joins_and_leaves)

# ---- a finding calls buffers as the contract does, and what has one cause is told once --------------------------------------
file(READ ${SOURCE}/solutions/01_naive_attention/naive_attention.cu solution)
string(REPLACE "score_row[key] = score;" "score_row[key + 1] = score;" text "${solution}")
file(WRITE ${WORKDIR}/one_too_far/naive_attention.cu "${text}")
set(check ${WARPWISE} check 01 --device simt --kernel ${WORKDIR}/one_too_far/naive_attention.cu)
expect(1 "element 24 of scores .4 bytes., 0 bytes after the end of its 96 bytes in kernel scores_kernel.*  the same in: scores/batch_3\n.*  as above: attention/tiny"
       ${check} --case scores/tiny --case scores/batch_3 --case attention/tiny)
string(REGEX MATCHALL "simt: out-of-bounds" told "${output}")
list(LENGTH told count)
if(NOT count EQUAL 1 OR output MATCHES "device_case")
    message(SEND_ERROR "one cause is told ${count} times, or by a line of the runner:\n${output}")
endif()
expect(1 "workspace byte 96 .4 bytes., 0 bytes after the end of its 96 bytes" ${check} --case attention/tiny)
string(REPLACE "score_row[key] = score;" "score_row[0] = score;" text "${solution}")
file(WRITE ${WORKDIR}/one_score/naive_attention.cu "${text}")
expect(1 "simt: global-race: scores.0,0,0,0. .4 bytes." ${WARPWISE} check 01 --device simt
       --kernel ${WORKDIR}/one_score/naive_attention.cu --case scores/tiny)

# ---- cases with buffers of gigabytes, in the order of their costs: none may lack memory because of those before it --------------
unset(ENV{WARPWISE_SIMT_OPTIMISE}) # as solution.10 builds it
expect(0 "f16 +PASS" ${WARPWISE} check 10 --device simt --solution --fail-fast --group edges)
