# warpwise grade and warpwise handout, in the sandbox of stub compilers: everything that is not about kernels.
#   cmake -DSOURCE_DIR=... -DWORK=... -DC_COMPILER=... [-DXMLLINT=...] -P grade.cmake
include(${CMAKE_CURRENT_LIST_DIR}/sandbox.cmake)
set(TRUSTING TRUE)
make_sandbox()
set(grade ${warpwise} grade --without-isolation) # the machine that runs this may have no bubblewrap
set(class ${root}/class)

# The checker of this file: knows the rubric, mixes a seed, and takes a moment where a kernel says LINGERS.
set(checker_script [=[
here=$(dirname "$0")
while [ $# -gt 0 ]; do
    case $1 in
    --lesson) lesson=$2 ;;
    --runner) runner=$2 ;;
    --device) device=$2 ;;
    --csv) csv=$2 ;;
    --secret-seed-file) seed=$2 ;;
    --total-limit) limit=$2 ;;
    --bench) bench=1 ;;
    --rubric) printf 'title,,a title, with a comma\npart,all,100\nclean,,10\nspeed,,20\nspeed_none,,0.5\nspeed_full,,1\n'; exit 0 ;;
    esac
    shift
done
[ -s "$seed" ] || { echo "checker: no seed"; exit 2; }
[ -e "$here/no_gpu" ] && [ "$device" = gpu ] && gone=1
verdict=$(sed -n 's/.*verdict: //p' "$runner")
columns=lesson,part,case,group,shape,device,state,points,points_max,median_us,flop,min_bytes,load_sectors,store_sectors
columns=$columns,bank_conflicts,shared_load_wavefronts,shared_store_wavefronts,finding,time_refused,headline,pattern
echo "$columns" >"$csv"
sectors=1000
time=100
row() { echo "$lesson,all,all/$1,$2,\"heads 2, f32\",$device,$3,$4,50,$time,1e9,3200,$sectors,0,0,0,0,$5,,$6,$7" >>"$csv"; }
[ "$bench" ] || echo "checked $lesson $device $verdict limit $limit" >>"$here/checked.log"
[ "$gone" ] && { row basic basic NO_DEVICE 0 "" "no such device" ""; echo "no such device"; exit 77; }
case $verdict in
BREAKS) echo "checker: no shared memory is left"; exit 2 ;;
DIES) kill -SEGV $$ ;;
LINGERS) sleep 0.05 ;;
DAWDLES) sleep 1; verdict=PASS ;;
THRIFTY) sectors=900 ;;
WASTEFUL) sectors=1250; time=125 ;;
IMPOSSIBLE) sectors=10 ;;
esac
case $verdict in
PASS | LINGERS | THRIFTY | WASTEFUL | IMPOSSIBLE) row basic basic PASS 50; row real speed PASS 50; exit 0 ;;
FAIL) row basic basic PASS 50; row real speed FAIL 0 "" "out[0] = <1>" "constant factor: 2 times"; exit 1 ;;
RACE) row basic basic FAIL 0 shared-race "the software device found a mistake"; row real speed PASS 50; exit 1 ;;
CRASH) row basic basic CRASH 0 "" "signal 11"; row real speed CRASH 0; exit 1 ;;
NOT_STARTED) row basic basic NOT_STARTED 0; row real speed NOT_STARTED 0; exit 77 ;;
esac
]=])
write_script(${build}/bin/checker "${checker_script}")
file(WRITE ${build}/bin/no_gpu "")
file(WRITE ${root}/seed "a secret\n")

# hand_in(STUDENT VERDICT [LESSON...]): a submission whose kernels have this verdict.
function(hand_in student verdict)
    foreach(lesson IN LISTS ARGN)
        string(SUBSTRING ${lesson} 3 -1 topic)
        write_kernel("${class}/${student}/lessons/${lesson}/${topic}.cu" ${verdict})
    endforeach()
endfunction()

function(expect_same what one other)
    execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${one} ${other} RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    if(NOT result EQUAL 0)
        execute_process(COMMAND diff ${one} ${other})
        message(SEND_ERROR "${what}: ${one} and ${other} differ")
    endif()
endfunction()

function(count_checks out)
    set(calls "")
    if(EXISTS ${build}/bin/checked.log)
        file(STRINGS ${build}/bin/checked.log calls)
    endif()
    list(LENGTH calls count)
    set(${out} ${count} PARENT_SCOPE)
endfunction()

# ---- usage ----------------------------------------------------------------------------------------------------------
expect(0 "usage: warpwise grade DIR" ${grade} --help)
expect(2 "which submissions" ${grade} --out ${root}/out)
expect(2 "is no folder" ${grade} ${class} --out ${root}/out)
file(MAKE_DIRECTORY ${class})
expect(2 "--out OUT says where" ${grade} ${class})
expect(2 "no student's folder" ${grade} ${class} --out ${root}/out)
hand_in(alice PASS 01_alpha 02_beta)
expect(2 "lies among the submissions" ${grade} ${class} --out ${class}/results)
file(REMOVE_RECURSE ${class}/results)
expect(2 "--jobs takes a number" ${grade} ${class} --out ${root}/out --jobs 0)
expect(2 "--shard takes K/N" ${grade} ${class} --out ${root}/out --shard 3/2)
expect(2 "no lesson \"9\"" ${grade} ${class} --out ${root}/out --lessons 01,9)
expect(2 "one folder of submissions at a time" ${grade} ${class} ${class} --out ${root}/out)
expect(2 "gpu is not here" ${grade} ${class} --out ${root}/out --device gpu)
expect(2 "cannot be read: No such file" ${grade} ${class} --out ${root}/out --secret-seed-file ${root}/none)

# ---- without isolation ------------------------------------------------------------------------------------------------
set(alone ${CMAKE_COMMAND} -E env WARPWISE_BUBBLEWRAP=no ${warpwise} grade ${class} --secret-seed-file ${root}/seed --lessons 1)
expect(2 "isolation: no bubblewrap.*give --without-isolation" ${alone} --out ${root}/alone)
if(EXISTS ${root}/alone/grades.csv)
    message(SEND_ERROR "a class was graded although isolation is missing")
endif()
expect(0 "1 students" ${alone} --out ${root}/alone --without-isolation)
foreach(report IN ITEMS grades.csv summary.html students/alice/results.json students/alice/junit.xml students/alice/report.md
        students/alice/log.txt)
    file(READ ${root}/alone/${report} text)
    if(NOT text MATCHES "no.bubblewrap")
        message(SEND_ERROR "${report} does not say that there was no bubblewrap:\n${text}")
    endif()
endforeach()
expect(0 "^d......---" ls -ld ${root}/alone) # a submission's user is none of ours
count_checks(before) # with other isolation it is graded again
expect(0 "1 students" ${CMAKE_COMMAND} -E env WARPWISE_SANDBOX_WITHOUT=filter ${alone} --out ${root}/alone --without-isolation)
count_checks(after)
math(EXPR before "${before} + 2") # the solution's and alice's
expect_equal("checks after a change of isolation" ${after} ${before})
file(REMOVE ${build}/bin/checked.log)

# ---- time: a limit for each lesson, and one for all of a student's -----------------------------------------------------
hand_in(slow_one DAWDLES 01_alpha 02_beta)
set(timed ${grade} ${class} --secret-seed-file ${root}/seed --jobs 1 --no-speed)
expect(0 "2 students" ${timed} --out ${root}/timed --lesson-limit 77 --student-limit 1)
file(STRINGS ${root}/timed/grades.csv rows REGEX "^slow_one")
if(NOT rows MATCHES ",PASS,.*,TIMEOUT,0.00") # the first lesson took the second of both
    message(SEND_ERROR "a student's limit of 1 s: ${rows}")
endif()
expect(0 "2 students" ${timed} --out ${root}/timed_lesson --lesson-limit 77 --lessons 1)
file(READ ${build}/bin/checked.log calls)
if(NOT calls MATCHES "limit 1\n.*limit 7[67]\n")
    message(SEND_ERROR "a lesson's limit of 77 s does not get to the checker:\n${calls}")
endif()
expect(2 "--lesson-limit takes a number" ${timed} --out ${root}/timed --lesson-limit soon)
file(REMOVE_RECURSE ${class}/slow_one)
file(REMOVE ${build}/bin/checked.log)

# ---- one student again, alone in the folder: the class stays; and files that lie beside their place ------------------------
hand_in(ada PASS 01_alpha)
write_kernel("${class}/bob/Alpha-1.cu" PASS)
write_kernel("${class}/carl/carl/lessons/01_alpha/alpha.cu" PASS)
set(again ${grade} --secret-seed-file ${root}/seed --jobs 1 --lessons 1 --out ${root}/again)
expect(0 "4 students" ${again} ${class})
file(READ ${root}/again/students/bob/report.md text)
if(NOT text MATCHES "found Alpha.*1.*cu.*: did you mean")
    message(SEND_ERROR "a file by another name is not pointed at:\n${text}")
endif()
file(READ ${root}/again/summary.html text)
if(NOT text MATCHES "found carl/lessons/01_alpha/alpha.cu: did you mean.*students/carl/log.txt")
    message(SEND_ERROR "a file a folder too deep is not pointed at:\n${text}")
endif()
file(MAKE_DIRECTORY ${root}/only)
file(RENAME ${class}/ada ${root}/only/ada)
file(COPY_FILE ${root}/again/grades.csv ${root}/before.csv)
expect(0 "the same as recorded" ${again} ${root}/only --student ada)
expect_same("one student graded again" ${root}/again/grades.csv ${root}/before.csv)
file(REMOVE_RECURSE ${class}/bob ${class}/carl)
file(REMOVE ${build}/bin/checked.log)

# ---- a class --------------------------------------------------------------------------------------------------------
# Names that CMake's lists cannot hold are made by the shell.
hand_in("O'Neill, \"Bob\"" FAIL 01_alpha 02_beta)
hand_in("=1+1|cmd" RACE 01_alpha)
hand_in("-rf" CRASH 01_alpha 02_beta)
hand_in("Zoë 山田" THRIFTY 01_alpha 02_beta)
hand_in(wasteful WASTEFUL 01_alpha 02_beta)
hand_in(impossible IMPOSSIBLE 01_alpha 02_beta)
hand_in(skeleton NOT_STARTED 01_alpha 02_beta)
file(MAKE_DIRECTORY ${class}/empty)
file(WRITE ${class}/readme.txt "not a student\n")
file(WRITE ${class}/broken/alpha.cu "BROKEN\n")
write_script(${root}/hostile.sh [=[
set -e
cd "$1"
mkdir -p 'a
b;[c]' "$(printf 'x\377y')" '<script>alert(1)<' large binary link
cp alice/lessons/01_alpha/alpha.cu 'a
b;[c]/'
cp alice/lessons/01_alpha/alpha.cu "$(printf 'x\377y')/"
cp alice/lessons/01_alpha/alpha.cu '<script>alert(1)</'
yes '// ten megabytes of this' | head -c 10000000 >large/alpha.cu
head -c 1000 /bin/sh >binary/alpha.cu
ln -sf /etc/passwd link/alpha.cu
ln -sfn /etc elsewhere
]=])
expect(0 "" ${root}/hostile.sh ${class})
set(all ${grade} ${class} --secret-seed-file ${root}/seed)
expect(0 "readme.txt is not graded.*17 students, 2 lessons" ${all} --out ${root}/out --jobs 2)
file(READ ${root}/out/grades.csv csv)
foreach(row IN ITEMS "student,folder,points,points_max,withheld,01_state,01_points,01_max,02_state,02_points,02_max"
        "alice,alice,260.00,260.00,0.00,PASS,130.00,130.00,PASS,130.00,130.00"
        "\"O'Neill, \"\"Bob\"\"\",O_Neill___Bob_-[0-9a-f]+,120.00,260.00,0.00,FAIL,60.00,130.00,FAIL,60.00,130.00"
        "\"'=1.1.cmd\",_1_1_cmd-[0-9a-f]+,70.00,260.00,0.00,FAIL,70.00,130.00,NOT_STARTED,0.00,130.00"
        "\"'-rf\",_rf-[0-9a-f]+,0.00,260.00,0.00,CRASH,0.00,130.00,CRASH,0.00,130.00"
        "Zoë 山田,Zo_+-[0-9a-f]+,260.00,260.00,0.00,PASS,130.00,130.00,PASS,130.00,130.00"
        "wasteful,wasteful,244.00,260.00,0.00,PASS,122.00,130.00,PASS,122.00,130.00"
        "impossible,impossible,220.00,260.00,40.00,PASS,110.00,130.00,PASS,110.00,130.00"
        "skeleton,skeleton,0.00,260.00,0.00,NOT_STARTED,0.00,130.00,NOT_STARTED,0.00,130.00"
        "empty,empty,0.00,260.00,0.00,NOT_STARTED,0.00,130.00,NOT_STARTED,0.00,130.00"
        "broken,broken,0.00,260.00,0.00,BUILD_ERROR,0.00,130.00,NOT_STARTED,0.00,130.00"
        "\"a.x0ab;.c.\",a_b__c_-[0-9a-f]+,130.00,260.00,0.00,PASS,130.00,130.00,NOT_STARTED,0.00,130.00"
        "x.xffy,x_y-[0-9a-f]+,130.00,260.00,0.00,PASS,130.00,130.00,NOT_STARTED,0.00,130.00"
        "<script>alert.1.<,_script_alert_1__-[0-9a-f]+,130.00,260.00,0.00,PASS"
        "large,large,0.00,260.00,0.00,REFUSED,0.00,130.00,NOT_STARTED"
        "binary,binary,0.00,260.00,0.00,REFUSED" "link,link,0.00,260.00,0.00,REFUSED"
        "elsewhere,elsewhere,0.00,260.00,0.00,REFUSED,0.00,130.00,REFUSED")
    if(NOT "\n${csv}" MATCHES "\n${row}")
        message(SEND_ERROR "\"${row}\" is not in grades.csv:\n${csv}")
    endif()
endforeach()
file(GLOB_RECURSE written RELATIVE ${root}/out ${root}/out/*)
list(LENGTH written count)
math(EXPR wanted "17 * 4 + 5") # reports of each, and grades.csv summary.html journal lock secret_seed
expect_equal("files of a class" ${count} ${wanted})
file(READ ${root}/out/summary.html page)
if(page MATCHES "<script" OR NOT page MATCHES "&lt;script&gt;alert")
    message(SEND_ERROR "a name got into summary.html as it is")
endif()
if(XMLLINT)
    file(GLOB junit ${root}/out/students/*/junit.xml)
    expect(0 "" ${XMLLINT} --noout --schema ${CMAKE_CURRENT_LIST_DIR}/junit.xsd ${junit})
endif()

# ---- again: nothing is graded twice, and the same comes out whatever happens on the way --------------------------------
file(COPY_FILE ${root}/out/grades.csv ${root}/grades.csv)
count_checks(before)
expect(0 "are graded already" ${all} --out ${root}/out)
expect(0 "are graded already" ${grade} ${class} --out ${root}/out) # the seed is remembered
count_checks(after)
expect_equal("checks of a class that is graded" ${after} ${before})

# A few of them are enough for the rest.
file(RENAME ${class} ${root}/all)
foreach(student IN ITEMS alice broken empty skeleton wasteful)
    file(COPY ${root}/all/${student} DESTINATION ${class})
endforeach()
expect(0 "5 students" ${all} --out ${root}/few)
file(COPY_FILE ${root}/few/grades.csv ${root}/grades.csv)
write_script(${root}/both.sh [=[
# both.sh OUT COMMAND...: a second COMMAND beside one that stands still
out=$1
shift
"$@" >/dev/null 2>&1 &
until [ -e "$out/journal" ]; do sleep 0.01; done
kill -STOP $!
"$@"
code=$?
kill -CONT $!
wait $! && exit $code
]=])
expect(2 "another warpwise grade is at work" ${root}/both.sh ${root}/two ${all} --out ${root}/two --jobs 1)
expect_same("one job, two graders" ${root}/two/grades.csv ${root}/grades.csv)

foreach(shard IN ITEMS 1 2 3)
    expect(0 "" ${all} --out ${root}/part${shard} --shard ${shard}/3)
endforeach()
expect(0 "5 students" ${grade} --merge ${root}/part3 ${root}/part1 ${root}/part2 --out ${root}/merged)
expect_same("shards" ${root}/merged/grades.csv ${root}/grades.csv)
expect(0 "are graded already" ${all} --out ${root}/merged)
expect_same("what was merged, graded on" ${root}/merged/grades.csv ${root}/grades.csv)
expect(2 "part 2/3 is missing" ${grade} --merge ${root}/part1 ${root}/part3 --out ${root}/most)
expect(2 "there are no results in" ${grade} --merge ${root}/part1 ${root}/class --out ${root}/most)

# ---- late days, points by hand, comments, who sees what ------------------------------------------------------------------
file(WRITE ${root}/overrides.csv "student,lesson,points,comment\nalice,2,77,\"oral exam, room 5\"\nbroken,,+3,helped others\nbroken,alpha,,see me\n")
file(WRITE ${root}/deadlines.csv "lesson,deadline,penalty_percent,most_percent\n01,2026-10-05,20,30\n02,2026-10-12T18:00:00+02:00,20,30\n")
file(WRITE ${root}/gradescope.csv "Name,SID,Submission Time,lesson\nA. B.,alice,2026-10-06 00:00:01 +0000,01\nC,wasteful,2026-10-08 12:00:00 -0700,01\nE,empty,,\n")
set(adjust --overrides ${root}/overrides.csv --deadlines ${root}/deadlines.csv --times ${root}/gradescope.csv --student-column SID)
expect(2 "--times has no column \"time\"; its first line names \"Name\", \"SID\"" ${all} --out ${root}/few ${adjust})
expect_same("settings that are refused change nothing" ${root}/few/grades.csv ${root}/grades.csv)
count_checks(before)
expect(0 "are graded already" ${all} --out ${root}/few ${adjust} --time-column "Submission Time")
count_checks(after)
expect_equal("checks for other points alone" ${after} ${before})
function(expect_row row)
    file(READ ${root}/few/grades.csv rows)
    if(NOT rows MATCHES "\n${row}")
        message(SEND_ERROR "\"${row}\" is not in grades.csv:\n${rows}")
    endif()
endfunction()
expect_row("alice,alice,181.00,260.00,0.00,PASS,104.00,130.00,PASS,77.00,130.00,.*,260.00,\"01: handed in 2026-10-06 00:00:01 .0000, 1 day after 2026-10-05: 20% of 130.00 points off; 02: set by hand to 77.00 points, 130.00 before: oral exam, room 5\"")
expect_row("wasteful,wasteful,207.40,260.00,0.00,PASS,85.40,") # 122, less 30% and no more
expect_row("broken,broken,3.00,260.00,0.00,BUILD_ERROR,0.00,.*01: comment: see me; .3.00 points by hand: helped others")
file(READ ${root}/few/students/alice/report.md text)
if(NOT text MATCHES "77.00 points.*130.00 earned: set by hand to 77.*oral exam, room 5")
    message(SEND_ERROR "what was set by hand is not in the report:\n${text}")
endif()
file(COPY_FILE ${root}/few/grades.csv ${root}/adjusted.csv)
expect(0 "are graded already" ${all} --out ${root}/few) # kept until something else is given
expect_same("settings given before" ${root}/few/grades.csv ${root}/adjusted.csv)
expect(0 "5 students" ${grade} --merge ${root}/few --out ${root}/merged_adjusted)
expect_same("settings of what is merged" ${root}/merged_adjusted/grades.csv ${root}/adjusted.csv)
expect(0 "5 students" ${grade} --merge ${root}/part1 ${root}/part2 ${root}/part3 --out ${root}/merged_given ${adjust} --time-column "Submission Time")
expect_same("settings given with --merge" ${root}/merged_given/grades.csv ${root}/adjusted.csv)
file(WRITE ${root}/unknown.csv "student,lesson,points,comment\nalcie,2,77,\n")
expect(2 "--overrides:2: there is no student \"alcie\". Did you mean alice" ${all} --out ${root}/few --overrides ${root}/unknown.csv)
expect(0 "" ${all} --out ${root}/few --visibility after_published,speed=hidden)
file(READ ${root}/few/students/alice/results.json text)
if(NOT text MATCHES "\"score\": 181.00.*\"ratio\".,.\"visibility\": \"hidden\".*\"score\": -26.00, \"max_score\": 0.00.*\"visibility\": \"after_published\"")
    message(SEND_ERROR "results.json does not say who sees what, and what was changed:\n${text}")
endif()
expect(2 "none of visible, hidden" ${all} --out ${root}/few --visibility soon)
expect(0 "" ${all} --out ${root}/few --overrides /dev/null --deadlines /dev/null --times /dev/null --visibility visible)
expect_same("settings forgotten" ${root}/few/grades.csv ${root}/grades.csv)

# A verdict that could not be made is made by hand.
hand_in(unlucky BREAKS 01_alpha 02_beta)
file(WRITE ${root}/unlucky.csv "student,lesson,points,comment\nunlucky,1,100,by hand\nunlucky,2,90,by hand\n")
expect(0 "6 students" ${all} --out ${root}/unlucky --overrides ${root}/unlucky.csv)
file(STRINGS ${root}/unlucky/grades.csv rows REGEX "^unlucky,unlucky,190.00,260.00,0.00,NOT_GRADED,100.00,130.00,NOT_GRADED,90.00,")
if(rows STREQUAL "")
    message(SEND_ERROR "a student without a verdict whose points were set by hand has none")
endif()
file(REMOVE_RECURSE ${class}/unlucky)

# ---- files for programs that look for copies -------------------------------------------------------------------------------
file(COPY ${class}/alice/lessons/01_alpha/alpha.cu DESTINATION ${root}/copies/one)
file(COPY ${class}/alice/lessons/01_alpha/alpha.cu DESTINATION ${root}/copies/two)
file(COPY ${class}/wasteful/lessons/01_alpha/alpha.cu DESTINATION ${root}/copies/other)
expect(0 "01_alpha: the same file, byte for byte: one, two\n3 files of 3 students" ${grade} ${root}/copies --similarity ${root}/similar_copies)
expect(0 "^7 files of 5 students" ${grade} ${class} --similarity ${root}/similar)
foreach(file IN ITEMS 01_alpha/submissions/alice/alpha.cpp 01_alpha/submissions/broken/alpha.cpp 01_alpha/base/alpha.cpp
        02_beta/submissions/wasteful/beta.cpp README.md files.csv)
    if(NOT EXISTS ${root}/similar/${file})
        message(SEND_ERROR "--similarity writes no ${file}")
    endif()
endforeach()
expect_same("what is compared" ${root}/similar/01_alpha/submissions/alice/alpha.cpp ${class}/alice/lessons/01_alpha/alpha.cu)
expect(0 "" ${grade} ${root}/all --similarity ${root}/similar_all --lessons 1)
file(GLOB_RECURSE written ${root}/similar_all/*)
if(written MATCHES "link/|binary/|large/|elsewhere|02_beta" OR NOT written MATCHES "_1_1_cmd-[0-9a-f]+/alpha.cpp")
    message(SEND_ERROR "what --similarity writes of hostile submissions: ${written}")
endif()

# ---- what a grader that was killed has left behind --------------------------------------------------------------------------
foreach(file IN ITEMS grades.csv.4711 summary.html.4711 journal.new students/alice/report.md.4711)
    file(WRITE ${root}/few/${file} "half of it")
endforeach()
file(WRITE ${root}/few/grades.csv.mine "an instructor's own")
file(WRITE ${build}/kernels/0123.4711/work/kernel.ii "half of a build")
expect(0 "" touch -d "1 hour ago" ${build}/kernels/0123.4711)
expect(0 "are graded already" ${all} --out ${root}/few)
file(GLOB_RECURSE left ${root}/few/*.4711 ${root}/few/journal.new ${build}/kernels/0123.4711/*)
if(left OR NOT EXISTS ${root}/few/grades.csv.mine)
    message(SEND_ERROR "left behind: ${left}; or an instructor's file is gone")
endif()

# ---- one student, a changed file, another seed, a changed tool ----------------------------------------------------------
expect(0 "(01_alpha|02_beta) on simt: the same as recorded.*(01_alpha|02_beta) on simt: the same" ${all} --out ${root}/few --student alice)
expect_same("one student again" ${root}/few/grades.csv ${root}/grades.csv)
expect(2 "no student \"alcie\" in .*Did you mean alice" ${all} --out ${root}/few --student alcie)
hand_in(empty PASS 02_beta)
expect(0 "\\[1/1\\] empty 02_beta simt PASS" ${all} --out ${root}/few)
expect(0 "all 5 are graded already.*5 students, 1 lessons" ${all} --out ${root}/few --lessons 02)
expect(0 "are graded already" ${all} --out ${root}/few)
file(APPEND ${root}/lessons/02_beta/beta.h "/* changed */\n")
expect(0 "\\[5/5\\]" ${grade} ${class} --out ${root}/few)
file(WRITE ${root}/seed2 "another secret\n")
expect(0 "\\[10/10\\]" ${grade} ${class} --out ${root}/few --secret-seed-file ${root}/seed2)
expect(2 "another secret seed" ${grade} --merge ${root}/part1 ${root}/few --out ${root}/most)
file(REMOVE_RECURSE ${class}/empty)
file(MAKE_DIRECTORY ${class}/empty)
expect(0 "\\[1/1\\] empty 02_beta simt NOT_STARTED" ${grade} ${class} --out ${root}/few)
expect_same("all changes taken back" ${root}/few/grades.csv ${root}/grades.csv)

# ---- what is nobody's zero ------------------------------------------------------------------------------------------------
hand_in(unlucky BREAKS 01_alpha)
expect(2 "not graded: unlucky, 01_alpha: the check could not be made: checker: no shared memory" ${grade} ${class} --out ${root}/few)
file(READ ${root}/few/grades.csv csv)
if(NOT csv MATCHES "\nunlucky,unlucky,,260.00,0.00,NOT_GRADED,,130.00,NOT_STARTED,0.00")
    message(SEND_ERROR "a student without a verdict got one:\n${csv}")
endif()
hand_in(unlucky DIES 01_alpha)
expect(2 "not graded: unlucky, 01_alpha: the checker was ended by signal 11" ${grade} ${class} --out ${root}/few)
hand_in(unlucky PASS 01_alpha)
expect(0 "unlucky 01_alpha simt PASS" ${grade} ${class} --out ${root}/few)
file(REMOVE_RECURSE ${class}/unlucky)
write_kernel(${root}/solutions/02_beta/beta.cu FAIL)
expect(2 "own solution of 02_beta does not pass on simt .FAIL.*nobody is graded.*not graded: alice, 02_beta" ${all} --out ${root}/sick)
write_kernel(${root}/solutions/02_beta/beta.cu PASS)
expect(0 "" ${all} --out ${root}/sick)
expect_same("a solution that was wrong for a while" ${root}/sick/grades.csv ${root}/grades.csv)
expect(2 "cannot be written|cannot be made|disk is full|not graded" sh -c "ulimit -f 8 && '${warpwise}' grade --without-isolation ${class} --secret-seed-file ${root}/seed --out ${root}/full")
expect(0 "" ${all} --out ${root}/full)
expect_same("a disk that was full for a while" ${root}/full/grades.csv ${root}/grades.csv)

# A GPU, times beside the solution's, and the GPU gone.
file(REMOVE ${build}/bin/no_gpu)
expect(0 "5 students" ${all} --out ${root}/both --jobs 2 --lessons 01)
file(READ ${root}/both/grades.csv csv)
if(NOT csv MATCHES "\nwasteful,wasteful,122.00,130.00,0.00,PASS,122.00")
    message(SEND_ERROR "times on a GPU:\n${csv}")
endif()
hand_in(late PASS 01_alpha)
file(WRITE ${build}/bin/no_gpu "")
expect(2 "not graded: late, 01_alpha" ${all} --out ${root}/both --lessons 01)
file(REMOVE ${build}/bin/no_gpu)
expect(0 "late 01_alpha gpu PASS" ${all} --out ${root}/both --lessons 01)
file(WRITE ${build}/bin/no_gpu "")
file(REMOVE_RECURSE ${class}/late)

# ---- killed at any moment ---------------------------------------------------------------------------------------------------
hand_in(slow LINGERS 01_alpha 02_beta)
expect(0 "6 students" ${all} --out ${root}/calm --jobs 2)
write_script(${root}/kill.sh [=[
# kill.sh OUT COMMAND...: starts COMMAND and kills it, a little later each time, until it comes to its end.
out=$1
shift
for moment in 0.02 0.04 0.07 0.1 0.15 0.2 0.3; do
    timeout -s KILL $moment "$@" >/dev/null 2>&1
done
"$@" >/dev/null || exit 1
LC_ALL=C awk -F'\t' '$2 == "result" && $10 == 1 { times[$4 FS $6 FS $8]++ }
    END { for (unit in times) { all++; if (times[unit] != 1) twice++ } print all, "results,", twice + 0, "of them twice" }' \
    "$out/journal"
]=])
expect(0 "14 results, 0 of them twice" ${root}/kill.sh ${root}/killed ${all} --out ${root}/killed --jobs 2)
expect_same("killed seven times" ${root}/killed/grades.csv ${root}/calm/grades.csv)
file(GLOB left ${build}/rows.*)
file(GLOB unfinished ${root}/killed/*.new)
list(LENGTH unfinished count)
if(left OR count GREATER 24)
    message(SEND_ERROR "files are left behind: ${left} ${unfinished}")
endif()

# ---- the handout ----------------------------------------------------------------------------------------------------------
expect(2 "where to" ${warpwise} handout)
expect(2 "not empty" ${warpwise} handout ${root})
file(READ ${root}/solutions/01_alpha/alpha.cu solution)
set(region "// [student: sum]\nreturn 1;\n// [/student]\n")
file(WRITE ${root}/solutions/01_alpha/alpha.cu "${region}")
file(WRITE ${root}/lessons/01_alpha/alpha.cu "${region}")
expect(2 "lessons/01_alpha/alpha.cu holds a part of the solution" ${warpwise} handout ${root}/student)
