# The commands that accompany a student, in the sandbox of stub compilers: in a pipe, with golden texts, and on a
# terminal led by on_terminal.
#   cmake -DSOURCE_DIR=... -DWORK=... -DC_COMPILER=... -DON_TERMINAL=... [-DUPDATE=1] -P companion.cmake
# UPDATE=1 writes the golden texts anew.
include(${CMAKE_CURRENT_LIST_DIR}/sandbox.cmake)
make_sandbox()
set(here ${CMAKE_CURRENT_LIST_DIR})
set(first ${root}/lessons/01_alpha/alpha.cu)
set(skeleton ${root}/skeleton.cu)
file(COPY_FILE ${first} ${skeleton})
foreach(verdict IN ITEMS PASS FAIL CRASH)
    write_kernel(${root}/${verdict}.cu ${verdict})
endforeach()
file(WRITE ${root}/BROKEN.cu "BROKEN\n// verdict: PASS\n")
file(WRITE ${root}/SLOW.cu "SLOW\n// verdict: PASS\n")

# golden(NAME COMMAND...): runs it; what it prints must be golden/NAME.txt, with the sandbox's folder as ROOT.
function(golden name)
    execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${root} OUTPUT_VARIABLE output ERROR_VARIABLE output)
    string(REPLACE "${root}" ROOT output "${output}")
    set(file ${here}/golden/${name}.txt)
    if(UPDATE)
        file(WRITE ${file} "${output}")
    endif()
    file(READ ${file} wanted)
    if(NOT output STREQUAL wanted)
        message(SEND_ERROR "not as in golden/${name}.txt:\n${output}")
    endif()
endfunction()

# on_terminal(SIZE SCRIPT COMMAND...): SCRIPT's lines are separated by newlines.
function(on_terminal size script)
    file(WRITE ${root}/script.txt "${script}")
    execute_process(COMMAND ${ON_TERMINAL} ${root}/script.txt ${size} ${ARGN} WORKING_DIRECTORY ${root}
                    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT result STREQUAL 0)
        list(JOIN ARGN " " command)
        message(SEND_ERROR "${command} on ${size}: ${output}")
    endif()
endfunction()

function(put verdict)
    file(COPY_FILE ${root}/${verdict}.cu ${first})
endfunction()

# ---- help -----------------------------------------------------------------------------------------------------------
set(commands status next watch check hint diff reset bench predict profile sass roofline runner tour new-lesson doctor completion)
expect(0 "exit codes: 0 pass, 1 fail, 2 .*77 not started or no device.*NO_COLOR" ${warpwise} help)
foreach(command IN LISTS commands)
    expect(0 "\n  ${command} " ${warpwise} help)
    expect(0 "^usage: warpwise ${command}[ \n]" ${warpwise} ${command} --help)
    expect(0 "^usage: warpwise ${command}[ \n]" ${warpwise} help ${command})
endforeach()
expect(2 "no command \"wach\". Did you mean watch" ${warpwise} wach)
expect(2 "no command \"hitn\". Did you mean hint" ${warpwise} hitn 01)
expect(2 "one lesson at a time: \"2\" is one too many" ${warpwise} hint 01 1 2)

# ---- where you are ----------------------------------------------------------------------------------------------------
golden(status_new ${warpwise})
golden(next_new ${warpwise} next)
file(RENAME ${build}/bin/checker ${build}/checker) # nothing is run for it
golden(status_new ${warpwise} status)
file(RENAME ${build}/checker ${build}/bin/checker)
put(FAIL)
expect(0 "> 01 alpha +NOT_STARTED +begun, not checked yet" ${warpwise})
expect(1 "" ${warpwise} check 01 --device simt)
expect(0 "0 of 2 lessons pass, 5 of 110 points.*> 01 alpha +FAIL +5/10 +simt\n.*where you left it" ${warpwise})
expect(0 "failed all/basic" ${warpwise} next)
put(PASS)
expect(0 "> 01 alpha +FAIL +5/10 +simt +edited since" ${warpwise})
expect(0 "" ${warpwise} check 01 --device simt --case basic) # not all of it: says nothing about the lesson
expect(0 "" ${warpwise} check 01 --device simt --seed 5)
expect(0 "" ${warpwise} check 01 --device simt --group basic)
expect(0 "> 01 alpha +FAIL +5/10 +simt +edited since" ${warpwise})
expect(0 "" ${warpwise} check 01 --device simt)
expect(0 "" ${warpwise} check 02 --device simt --solution) # somebody else's
expect(0 "" ${warpwise} check 02 --device simt --kernel ${root}/PASS.cu)
golden(status_passed ${warpwise})
golden(next_second ${warpwise} next)
file(REMOVE_RECURSE ${build}/kernels ${build}/ran) # a build made anew knows it still
expect(0 "1 of 2 lessons pass.*01 alpha +PASS +10/10" ${warpwise})
expect(0 "" ${warpwise} check lessons/01_alpha/alpha.cu --device gpu)
file(READ ${root}/state/01_alpha notes)
if(NOT notes MATCHES "^check.simt PASS 10.000 10.000 [0-9a-f]+ [-0-9]+\ncheck.gpu PASS .*\npassed [-0-9]+\n$")
    message(SEND_ERROR "remembered is:\n${notes}")
endif()
file(APPEND ${first} "// changed\n")
expect(0 "01 alpha +PASS .*edited since.*passed, but its file has changed since" ${warpwise})
file(COPY_FILE ${root}/PASS.cu ${root}/lessons/02_beta/beta.cu)
# Behind the lesson that passes there may be one that does not; else it is the first of all.
file(COPY ${root}/lessons/02_beta/ DESTINATION ${root}/lessons/03_gamma)
file(RENAME ${root}/lessons/03_gamma/beta.cu ${root}/lessons/03_gamma/gamma.cu)
expect(0 "next: build/bin/warpwise watch 03" ${warpwise} check 02 --device simt)
file(REMOVE_RECURSE ${root}/lessons/03_gamma)
expect(0 "next: build/bin/warpwise watch 01" ${warpwise} check 02 --device simt)
put(PASS)
expect(0 "" ${warpwise} check 02 --device simt)
expect(0 "2 of 2 lessons pass.*Every lesson passes.*bench 01" ${warpwise})
expect(0 "Every lesson passes" ${warpwise} next)
file(COPY_FILE ${skeleton} ${root}/lessons/02_beta/beta.cu)
expect(0 "02 beta +NOT_STARTED\n" ${warpwise})

# Where it is remembered: XDG's folder, or the build folder where there is none that can be written.
expect(0 "0 of 2 lessons pass" env -u WARPWISE_STATE XDG_STATE_HOME=${root}/xdg ${warpwise})
file(GLOB folder ${root}/xdg/warpwise/sandbox-*)
if(NOT IS_DIRECTORY "${folder}")
    message(SEND_ERROR "no folder under XDG_STATE_HOME")
endif()
expect(0 "" env -u WARPWISE_STATE XDG_STATE_HOME=/proc/no/such ${warpwise} check 01 --device simt)
if(NOT EXISTS ${build}/state/01_alpha)
    message(SEND_ERROR "not remembered in the build folder")
endif()

# ---- hints --------------------------------------------------------------------------------------------------------------
file(COPY_FILE ${skeleton} ${first})
golden(hint_1 ${warpwise} hint 01)
golden(hint_2 ${warpwise} hint 01)
golden(hint_3 ${warpwise} hint)
golden(hint_4 ${warpwise} hint)
golden(hint_all ${warpwise} hint 01)
golden(hint_1 ${warpwise} hint 01 1)
golden(hint_3 ${warpwise} hint 01 second_kernel)
expect(2 "has hints 1 to 4, not 5" ${warpwise} hint 01 5)
expect(2 "no hint about \"first_kernle\". Did you mean first_kernel" ${warpwise} hint 01 first_kernle)
expect(0 "` ... 1|`count` - 1" env LANG=C ${warpwise} hint 01 2)
expect(0 "hint 1 of 4 +first_kernel" ${warpwise} hint 02)
file(READ ${skeleton} text)
string(REPLACE "TODO: the first" "done" text "${text}")
file(WRITE ${root}/lessons/02_beta/beta.cu "${text}")
expect(0 "hint 3 of 4 +second_kernel" ${warpwise} hint 02) # what is still to be written
write_kernel(${root}/lessons/02_beta/beta.cu FAIL)
expect(1 "stuck. .*hint 02" ${warpwise} check 02 --device simt)
expect(0 "hint 4 of 4 +all" ${warpwise} hint 02) # what failed comes first

# Hints follow the place that failed: the line of a finding, then that of its caller; where two accesses meet; the line of the compiler; the cause.
function(fails_at text hint)
    file(REMOVE_RECURSE ${root}/places)
    set(fresh env WARPWISE_STATE=${root}/places ${warpwise})
    file(WRITE ${root}/lessons/02_beta/beta.cu "// verdict: FAIL\n// [student: first_kernel]\nint a;\n// [/student]\nint given;\n"
         "// [student: second_kernel]\nint b;\n// [/student]\n${text}")
    expect(1 "" ${fresh} check 02 --device simt)
    expect(0 "${hint}" ${fresh} hint 02)
endfunction()
file(READ ${root}/lessons/02_beta/README.md page)
file(APPEND ${root}/lessons/02_beta/README.md "\n<!-- causes\nmask | nothing\nother/scale | second_kernel\nmask all/scale | first_kernel\n-->\n")
fails_at("// found at: beta.cu:7;beta.cu:3\n" "hint 3 of 4 +second_kernel")
fails_at("// found at: beta.cu:3;beta.cu:7\n" "hint 1 of 4 +first_kernel")
expect(0 "hint 2 of 4 +first_kernel" env WARPWISE_STATE=${root}/places ${warpwise} hint 02)
expect(0 "hint 3 of 4 +second_kernel" env WARPWISE_STATE=${root}/places ${warpwise} hint 02) # where it was called from
# Two accesses whose order is wrong: the innermost region that called both, but for the kernel's own.
set(third "// [student: third_kernel]\nint c;\n// [/student]\n")
fails_at("${third}// found at: beta.cu:3;beta.cu:7;beta.cu:10\n// and at: beta.cu:7;beta.cu:10\n" "hint 3 of 4 +second_kernel")
fails_at("${third}// found at: beta.cu:3;beta.cu:10\n// and at: beta.cu:7;beta.cu:10\n" "hint 1 of 4 +first_kernel")
fails_at("// found at: beta.cu:5\n" "hint 4 of 4 +all") # given code: by the part, as before
fails_at("// found at: my_beta.cu:7\n" "hint 4 of 4 +all") # another file
fails_at("// cause: mask\n" "hint 1 of 4 +first_kernel")
fails_at("// cause: scale\n" "hint 1 of 4 +first_kernel")
fails_at("// cause: rounding\n" "hint 4 of 4 +all") # of which the page says nothing
fails_at("// cause: rotation\n" "hint 4 of 4 +all") # nobody's cause
file(WRITE ${root}/lessons/02_beta/README.md "${page}")
file(WRITE ${root}/lessons/02_beta/beta.cu "// [student: second_kernel]\n// BROKEN\nint b;\n// [/student]\n") # error in line 3
file(REMOVE_RECURSE ${root}/places)
expect(1 "beta.cu:3:5" env WARPWISE_STATE=${root}/places ${warpwise} check 02 --device simt)
expect(0 "hint 3 of 4 +second_kernel" env WARPWISE_STATE=${root}/places ${warpwise} hint 02)

# Hints in the order of the page, by a region's own name or what several names begin with, also while something fails.
file(WRITE ${root}/lessons/02_beta/README.md "# Beta\n\n## Hints\n
<details><summary>second: b?</summary>\n\nb\n</details>
<details><summary>first_kernel: a?</summary>\n\na\n</details>\n")
set(fresh env WARPWISE_STATE=${root}/fresh ${warpwise})
file(COPY_FILE ${skeleton} ${root}/lessons/02_beta/beta.cu)
expect(0 "hint 1 of 2 +second" ${fresh} hint 02)
expect(0 "hint 1 of 2 +second" ${fresh} hint 02 second_kernel)
expect(2 "no hint about \"third\"" ${fresh} hint 02 third)
write_kernel(${root}/lessons/02_beta/beta.cu FAIL)
file(APPEND ${root}/lessons/02_beta/beta.cu "// [student: first_kernel]\n// TODO\n// [/student]\n")
expect(1 "" ${fresh} check 02 --device simt)
expect(0 "hint 2 of 2 +first_kernel" ${fresh} hint 02)
# The page's steps say what comes first; its table of failures says where a case points to. Where nothing points, no hint is
# shown as if it had been chosen.
file(WRITE ${root}/lessons/02_beta/README.md "# Beta\n\n<!-- steps\nsecond_kernel | all/basic | +PASS\nfirst_kernel | all/basic | +PASS
third_kernel | profile all/basic | 0\n-->\n
| the first case that fails | look at |\n|---|---|\n| `basic`, pattern \"all zero\" | `third_kernel` |
| `basic`, with a blue moon | `first_kernel` |\n| `more`, though `basic` passes | `first_kernel` |\n| `more`, `basic` | `second_kernel`: b |\n
## Hints\n
<details><summary>first_kernel: a?</summary>\n\na\n</details>
<details><summary>second_kernel: b?</summary>\n\nb\n</details>
<details><summary>third_kernel: c?</summary>\n\nc\n</details>\n")
set(fresh env WARPWISE_STATE=${root}/steps ${warpwise})
file(COPY_FILE ${skeleton} ${root}/lessons/02_beta/beta.cu)
expect(0 "hint 2 of 3 +second_kernel" ${fresh} hint 02)
expect(0 "hint 1 of 3 +first_kernel" ${fresh} hint 02)
fails_at("" "hint 2 of 3 +second_kernel")
set(fresh env WARPWISE_STATE=${root}/places ${warpwise})
expect(0 "^Nothing in the last failure points to one hint.\nthe page, of .basic., with a blue moon: .first_kernel.\nthe page, of .more., .basic.: .second_kernel.: b\n +2-2 +second_kernel: b.\n +1-1 +first_kernel: a.\none of them: [^\n]*hint 02 REGION\n$"
       ${fresh} hint 02)
fails_at("// cause: all-zero\n" "hint 3 of 3 +third_kernel")
file(REMOVE_RECURSE ${root}/places)
expect(0 "^All is written, and no failure is remembered: [^\n]*check 02\n +1-1 +first_kernel: a.*3-3 +third_kernel" ${fresh} hint 02)
file(WRITE ${root}/lessons/02_beta/README.md "# No hints\n")
expect(2 "README.md has no hints" ${warpwise} hint 02)

# ---- diff and reset -------------------------------------------------------------------------------------------------------
file(REMOVE ${root}/state/01_alpha)
expect(2 "has not passed yet.*hint 01.*--spoil" ${warpwise} diff 01)
golden(diff ${warpwise} diff 01 --spoil)
put(PASS)
expect(0 "" ${warpwise} check 01 --device simt)
golden(diff_none ${warpwise} diff 01)
put(FAIL) # passed once: the solution is no secret any more
expect(0 "-// verdict: FAIL\n\\+// verdict: PASS" ${warpwise} diff 01)
file(RENAME ${root}/solutions ${root}/gone)
expect(2 "handed out without solutions" ${warpwise} diff 01)
expect(0 "of 2 lessons pass" ${warpwise})
expect(0 "" ${warpwise} bench 01 --device simt --kernel PASS.cu)
expect(2 "no solution was measured" ${warpwise} bench 01 --device simt --kernel PASS.cu --record)
file(RENAME ${root}/gone ${root}/solutions)

expect(0 "is as it was handed out again.*what you had: (.*)\nto get it back: cp" ${warpwise} reset 01)
string(REGEX MATCH "what you had: ([^\n]*)" line "${output}")
expect(0 "" cmp ${CMAKE_MATCH_1} ${root}/FAIL.cu)
expect(0 "" cmp ${first} ${skeleton})
expect(0 "nothing to reset" ${warpwise} reset 01)
put(PASS)
expect(0 "again" ${warpwise} reset 01)
put(CRASH)
expect(0 "again" ${warpwise} reset 01)
file(GLOB backups ${root}/state/backups/01_alpha_*.cu)
list(LENGTH backups count)
expect_equal("backups" ${count} 3)
file(REMOVE_RECURSE ${root}/state/skeletons)
put(PASS)
expect(2 "no copy of the skeleton of lesson 01" ${warpwise} reset 01)
expect(0 "" cmp ${first} ${root}/PASS.cu)
find_program(git git)
if(git) # the newest version of the history that is untouched, whatever has been committed since
    file(COPY_FILE ${skeleton} ${first})
    file(WRITE ${root}/commit.sh "git -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -q -a -m x\n")
    expect(0 "" sh -c "git init -q . && git add lessons && sh commit.sh")
    file(APPEND ${first} "// a newer edition\n")
    expect(0 "" sh commit.sh)
    file(COPY_FILE ${first} ${root}/newer.cu)
    put(PASS)
    expect(0 "" sh commit.sh)
    expect(0 "again" ${warpwise} reset 01)
    expect(0 "" cmp ${first} ${root}/newer.cu)
    file(REMOVE_RECURSE ${root}/.git)
endif()
file(COPY_FILE ${skeleton} ${first})

# ---- bench --------------------------------------------------------------------------------------------------------------------
expect(77 "begin: .*watch 01\n$" ${warpwise} bench 01 --device simt)
put(PASS)
golden(bench_simt ${warpwise} bench 01 --device simt --csv ${root}/bench.csv --json ${root}/bench.json --record)
file(STRINGS ${root}/bench.csv rows REGEX "all/qwen3")
expect_equal("rows" "${rows}" "yours,01_alpha,all,all/qwen3,speed,\"heads 2, f32\",simt,PASS,5,5,,1e9,3200,300,100,1234567,7,8,,PASS,2,,,,,;\
solution,01_alpha,all,all/qwen3,speed,\"heads 2, f32\",simt,PASS,5,5,,1e9,3200,300,100,1234567,7,8,,PASS,2,,,,,")
file(READ ${root}/bench.json json)
string(JSON value ERROR_VARIABLE error GET "${json}" cases 0 kernels 1 name)
expect_equal("second kernel in bench.json ${error}" "${value}" solution)
expect(0 "lesson 01 .*100.00 us.*some library +70.00 us" ${warpwise} bench 02 --device gpu --solution --record)
file(STRINGS ${root}/docs/results/stub_gpu.csv rows REGEX "02_beta,all,all/qwen3,time,")
string(REGEX REPLACE "^[-0-9]+," "" rows "${rows}")
expect_equal("recorded" "${rows}" "Stub GPU,CUDA 13.0,02_beta,all,all/qwen3,time,100,us,warpwise bench 02 --solution")

# A recorded file keeps what was not measured again, and an exact figure that is the same keeps its row.
set(simt_csv ${root}/docs/results/simt.csv)
file(READ ${simt_csv} before)
string(REGEX REPLACE "\n[-0-9]+,(simt,[^\n]*,load_sectors,)300" "\n2001-01-01,\\1300" old "${before}")
string(REGEX REPLACE "\n[-0-9]+,(simt,[^\n]*,store_sectors,)100" "\n2001-01-01,\\199" old "${old}")
file(WRITE ${simt_csv} "${old}2001-01-01,simt,,99,\"a, b\",,time,1,us,\n")
expect(0 "recorded in docs/results/simt.csv" ${warpwise} bench 01 --device simt --record)
file(READ ${simt_csv} after)
string(REGEX REPLACE "2001-01-01(,simt,[^\n]*,load_sectors)" "DATE\\1" after "${after}")
if(NOT after MATCHES "DATE,simt" OR after MATCHES "2001-01-01,simt,[^\n]*store_sectors" OR
   NOT after MATCHES "\n2001-01-01,simt,,99,\"a, b\",,time,1,us,\n$")
    message(SEND_ERROR "simt.csv is now:\n${after}")
endif()
file(WRITE ${simt_csv} "something else\n")
expect(2 "does not begin with the line" ${warpwise} bench 01 --device simt --record)
file(REMOVE ${simt_csv})

# ---- profile ------------------------------------------------------------------------------------------------------------------
golden(profile_from_file ${warpwise} profile 01 --device gpu --from ${here}/ncu_01.csv)
file(WRITE ${root}/counting.cu "#!/bin/sh
# verdict: PASS
echo 'launch,kernel,grid,block,global_load_requests,global_load_sectors,global_store_requests,global_store_sectors,\
shared_load_wavefronts,shared_store_wavefronts,shared_bank_conflicts,atomics,barriers' >$SIMT_COUNTERS
for run in 0 1; do
    echo \"$run,row_kernel<4,128>,1x1x1,256x1x1,768,768,768,768,16384,10240,0,0,5\" >>$SIMT_COUNTERS
done
echo runner: status KERNEL_OK
")
golden(profile_both ${warpwise} profile 01 --kernel counting.cu --from ${here}/ncu_01.csv)
file(WRITE ${root}/refused.cu "#!/bin/sh\n# verdict: PASS\necho runner: status KERNEL_UNSUPPORTED_DTYPE\n")
expect(1 "the kernel returned KERNEL_UNSUPPORTED_DTYPE" ${warpwise} profile 01 --kernel refused.cu --device simt)
file(WRITE ${root}/refused.cu "#!/bin/sh\n# verdict: PASS\necho runner: status KERNEL_NOT_STARTED\n")
expect(77 "nothing to profile yet" ${warpwise} profile 01 --kernel refused.cu --device simt)
expect(1 "error: 'score'" ${warpwise} profile 01 --kernel BROKEN.cu --device simt)
expect(2 "has no profile in it" ${warpwise} profile 01 --device gpu --from ${root}/PASS.cu)
expect(2 "no such case: \"qwen4\". Did you mean all/qwen3|no such case" ${warpwise} profile 01 --case qwen4)
write_script(${root}/ncu/ncu "echo \"$@\" >ncu.log; cat '${here}/ncu_01.csv'\n")
expect(0 "L2 hit rate, % +62.5" env PATH=${root}/ncu:$ENV{PATH} ${warpwise} profile 01 --device gpu --all --kernel counting.cu)
file(READ ${root}/ncu.log called)
if(NOT called MATCHES "^--csv --page raw .*lts__t_sector_hit_rate.pct.* .*/runner --case-file .*/01_alpha-all.qwen3-gpu\n$")
    message(SEND_ERROR "ncu was called with ${called}")
endif()
write_script(${root}/ncu/ncu "echo '==ERROR== ERR_NVGPUCTRPERM - no permission'\n")
expect(2 "==ERROR== ERR_NVGPUCTRPERM.*needs permission"
       env PATH=${root}/ncu:$ENV{PATH} ${warpwise} profile 01 --device gpu --kernel counting.cu)
file(WRITE ${build}/bin/no_gpu "")
expect(77 "no column for the gpu: the NVIDIA driver is too old" ${warpwise} profile 01 --device gpu --kernel counting.cu)
file(REMOVE ${build}/bin/no_gpu)

# ---- predict and roofline -------------------------------------------------------------------------------------------------------
put(PASS)
set(answers --bytes 3.2KB --operations 10*100M --bound memory)
golden(predict ${warpwise} predict 01 ${answers})
expect(2 "--bytes takes a number" ${warpwise} predict 01 --bytes many)
expect(2 "--bound takes memory, compute or latency" ${warpwise} predict 01 --bytes 1 --operations 1 --bound luck)
expect(2 "without a keyboard: --bytes N" sh -c "'${warpwise}' predict 01 </dev/null")
expect(0 "16 times too few.*2 times too many" ${warpwise} predict 01 --bytes 200 --operations 2G --bound l)
put(FAIL)
expect(0 "your kernel: FAIL; only what is right is measured" ${warpwise} predict 01 ${answers})
golden(roofline ${warpwise} roofline --text)
file(WRITE ${build}/bin/no_gpu "")
expect(77 "NO_DEVICE   gpu: the NVIDIA driver is too old" ${warpwise} roofline --device gpu)
expect(0 "Stub GPU.*recorded[ \n]+[-0-9]+.*simt has counters and no speed.*a  02_beta all" ${warpwise} roofline --text)
expect(0 "On Stub GPU, as recorded on[ \n]+[-0-9]+, no" ${warpwise} predict 01 ${answers})
expect(0 "no picture: gnuplot is not installed" env PATH=/nowhere ${warpwise} roofline)
find_program(gnuplot gnuplot)
if(gnuplot)
    expect(0 "picture: roofline.svg" ${warpwise} roofline --svg ${root}/roofline.svg)
    file(READ ${root}/roofline.svg svg)
    if(NOT svg MATCHES "<svg.*02_beta all.*Roofline of Stub GPU")
        message(SEND_ERROR "the picture holds neither title nor point")
    endif()
endif()
file(REMOVE ${root}/docs/results/stub_gpu.csv)
expect(77 "figures of none" ${warpwise} roofline --text)
expect(2 "no GPU here, and no figures" ${warpwise} predict 01 ${answers})
file(REMOVE ${build}/bin/no_gpu)

# ---- completion -----------------------------------------------------------------------------------------------------------------
expect(2 "there for bash only" ${warpwise} completion zsh)
find_program(bash bash)
if(bash)
    execute_process(COMMAND ${warpwise} completion bash OUTPUT_FILE ${root}/completion.bash)
    file(WRITE ${root}/complete.bash "source completion.bash
complete -p warpwise >/dev/null || exit 1
COMP_WORDS=(build/bin/warpwise \"$@\") COMP_CWORD=$#
_warpwise
echo \"<\${COMPREPLY[*]}>\"\n")
    expect(0 "^<watch>" ${bash} complete.bash wa)
    expect(0 "^<profile predict>|^<predict profile>" ${bash} complete.bash pr)
    expect(0 "^<01 02>" ${bash} complete.bash hint 0)
    expect(0 "^<--spoil>" ${bash} complete.bash diff 01 --s)
    expect(0 "^<gpu simt both>" ${bash} -c ". ./complete.bash check 01 --device ''")
    expect(0 "^<--case --csv --compare --ctest>" ${bash} complete.bash bench 01 --c)
    expect(0 "<.*PASS.cu.*>" ${bash} complete.bash check 01 --kernel P)
    expect(0 "^<>" ${bash} complete.bash new-lesson 0) # the name of one that is not there yet
    expect(0 "^<attention gemm own>" ${bash} -c ". ./complete.bash new-lesson 42_topic --like ''")
    expect(0 "^<bash>" ${bash} complete.bash completion b)
endif()

# ---- on a terminal, and in a pipe ---------------------------------------------------------------------------------------------
put(PASS)
set(every_command status next "check 01 --device simt" "hint 01 1" "hint 01 2" "diff 01" "profile 01 --device gpu --from ${here}/ncu_01.csv"
    "profile 01 --kernel counting.cu --from ${here}/ncu_01.csv" "predict 01 --bytes 3200 --operations 1G --bound memory"
    "roofline --text" help "help watch")
foreach(command IN LISTS every_command)
    separate_arguments(words UNIX_COMMAND "${command}")
    on_terminal(pipe "exit 0\nplain\n" ${warpwise} ${words})
    on_terminal(pipe "exit 0\nplain\nascii\n" env LANG=C ${warpwise} ${words})
    on_terminal(80x24 "exit 0\ncolourless\n" env NO_COLOR=1 ${warpwise} ${words})
    if(NOT command MATCHES "^(check|help)")
        on_terminal(80x24 "exit 0\nfits\nrestored\n" ${warpwise} ${words})
    endif()
    if(command MATCHES "^(status|next|hint|predict|profile|roofline)")
        on_terminal(40x24 "exit 0\nfits\n" ${warpwise} ${words})
    endif()
endforeach()
on_terminal(80x24 "exit 0\nexpect \\x1b[\n" ${warpwise})
on_terminal(80x24 "expect How many bytes
send soon\\n
expect a number, please
send 3.2 KB\\n
expect operations
send 1e9\\n
expect What will bound it
send memory\\n
expect right
exit 0
fits
" ${warpwise} predict 01)

# ---- watch ----------------------------------------------------------------------------------------------------------------------
# Each way of saving, each way of noticing; nothing but events is waited for.
file(COPY_FILE ${skeleton} ${first})
set(saves "expect watching lessons/01_alpha/alpha.cu
expect NOT_STARTED
expect nothing is written yet
expect left  first_kernel, second_kernel
copy BROKEN.cu ${first}
expect BUILD_ERROR
expect alpha.cu:3:5: error: 'score'
rename FAIL.cu ${first}
expect checking the rest
expect case all/basic: heads 2, f32
expect wrong        out[0] = 1, expected 2
expect 5.0 of 10 points
rename PASS.cu ${first}
expect PASS
expect 10.0 of 10 points
expect next: build/bin/warpwise watch 02
copy SLOW.cu ${first}
await ${first}.pid
copy PASS.cu ${first}
expect PASS
expect 10.0 of 10 points
")
file(REMOVE_RECURSE ${build}/kernels)
file(WRITE ${build}/bin/compiled.log "")
on_terminal(pipe "${saves}plain\nsignal INT\nexit 130\n" build/bin/warpwise watch 01)
# What must be quick is built quickly, and the whole check as it is timed.
file(STRINGS ${build}/bin/compiled.log quick REGEX "^-Og -I.*alpha.cu")
file(STRINGS ${build}/bin/compiled.log full REGEX "^-I.*alpha.cu")
list(LENGTH quick quick)
list(LENGTH full full)
if(NOT "${quick} ${full}" STREQUAL "5 3")
    message(SEND_ERROR "${quick} quick builds and ${full} full ones: the skeleton, BROKEN, FAIL, PASS, SLOW, and all but BROKEN and SLOW, were expected")
endif()
expect(0 "01 alpha +PASS +10/10" ${warpwise})
foreach(way IN ITEMS WARPWISE_WATCH=poll WARPWISE_WATCH=notify LANG=C)
    file(COPY_FILE ${skeleton} ${first})
    file(REMOVE ${first}.pid)
    on_terminal(pipe "${saves}plain\nsignal TERM\nexit 143\n" env ${way} build/bin/warpwise watch 01)
endforeach()
file(REMOVE ${first}.pid)
file(COPY_FILE ${skeleton} ${first})
on_terminal(80x24 "${saves}quiet\nfits\nsend q\nexit 0\nrestored\n" build/bin/warpwise watch --poll)
file(COPY_FILE ${skeleton} ${first})
file(REMOVE ${root}/state/01_alpha)
on_terminal(80x24 "expect saves are checked
quiet
send h
expect hint 1 of 4
send h
expect hint 2 of 4
send r
expect NOT_STARTED
copy FAIL.cu ${first}
expect 5.0 of 10 points
resize 40x12
expect more: build/bin/warpwise check 01
fits
send \\x03
exit 130
restored
" build/bin/warpwise watch 01)
set(ENV{ON_TERMINAL_DEAF} 1) # a signal may be lost: the size is looked at as well
on_terminal(80x24 "expect 5.0 of 10 points
expect saves are checked
resize 40x12
expect more: build/bin/warpwise check 01
fits
send q
exit 0
" build/bin/warpwise watch 01)
unset(ENV{ON_TERMINAL_DEAF})
file(WRITE ${build}/bin/no_gpu "")
expect(77 "NO_DEVICE   gpu: the NVIDIA driver is too old" ${warpwise} watch 01 --device gpu)
