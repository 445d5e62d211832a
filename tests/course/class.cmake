# A class of 200 with planted verdicts, graded in one run; then once more, killed at random moments; the grades must
# be those planted, and the same bytes. Takes some minutes: label selftest.
# With FULL=N only every N-th ten of the class is like that; in the others there are hostile files, files that do not compile, and
# empty ones: a large class in little time.
# With SECOND=N every N-th of the first students hands in lesson 07 as well, of the same kind; with OWN=N every N-th one's files
# are nobody else's, byte for byte: the others share theirs, as copies and skeletons do. With MOST=N there are no more than N mutants and
# N exploits in it: identical files are judged once, so a class of 1,000 takes as long as its different files.
#   cmake -DSOURCE_DIR=... -DBINARY_DIR=... -DWORK=... [-DSTUDENTS=200] [-DKILLS=20] [-DJOBS=2] [-DFULL=1] [-DSECOND=10] [-DOWN=2]
#         [-DMOST=1000] [-DFIRST=03_online_softmax] -P class.cmake
# A class of 1,000, killed 50 times: -DSTUDENTS=1000 -DKILLS=50 -DMOST=12 -DSECOND=1000 -DOWN=1000 -DFIRST=01_naive_attention
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../apply_mutant.cmake)
foreach(setting IN ITEMS STUDENTS=200 KILLS=20 JOBS=2 FULL=1 SECOND=10 OWN=2 MOST=1000 FIRST=03_online_softmax)
    string(REGEX MATCH "(.*)=(.*)" found ${setting})
    if(NOT DEFINED ${CMAKE_MATCH_1})
        set(${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
    endif()
endforeach()
set(warpwise ${BINARY_DIR}/bin/warpwise)
set(class ${WORK}/submissions)
set(first ${FIRST})
set(second 07_cuda_graph)
string(REGEX REPLACE "^[0-9]+_" "" kernel ${first}.cu)
set(second_kernel cuda_graph.cu)
file(REMOVE_RECURSE ${WORK})
file(GLOB mutants ${SOURCE_DIR}/tests/mutants/${first}/*.mutant)
file(GLOB second_mutants ${SOURCE_DIR}/tests/mutants/${second}/*.mutant)
file(GLOB variants ${SOURCE_DIR}/tests/variants/${first}/*.cu)
# Exploits are written for lesson 01. Those that must wait for a time limit are left to their own tests.
file(GLOB exploits ${SOURCE_DIR}/tests/exploits/*.cu)
file(READ ${SOURCE_DIR}/tests/exploits/base.txt base)
set(quick "")
foreach(exploit IN LISTS exploits)
    file(READ ${exploit} text)
    if(text MATCHES "// state: (REFUSED|BUILD_ERROR|CRASH)" AND NOT text MATCHES "// device: gpu")
        list(APPEND quick ${exploit})
    endif()
endforeach()
set(exploits ${quick})
foreach(files IN ITEMS exploits mutants)
    list(SUBLIST ${files} 0 ${MOST} ${files})
endforeach()

# plant(NAME FILE STATE): hands FILE in as lesson 03; STATE is a regular expression.
function(plant name file state)
    file(MAKE_DIRECTORY "${class}/${name}/lessons/${first}")
    if(file)
        file(COPY_FILE ${file} "${class}/${name}/lessons/${first}/${kernel}")
    endif()
    file(APPEND ${WORK}/planted.txt "${name}\t${state}\n")
endfunction()

# plant_second(NAME KIND TURN): a solution, a mutant or the skeleton of lesson 07.
function(plant_second name kind turn)
    set(file ${SOURCE_DIR}/solutions/${second}/${second_kernel})
    if(kind EQUAL 6)
        set(file ${SOURCE_DIR}/lessons/${second}/${second_kernel})
    elseif(kind GREATER 2)
        list(LENGTH second_mutants count)
        math(EXPR index "(3 * ${turn} + ${kind}) % ${count}")
        list(GET second_mutants ${index} mutant)
        apply_mutant(${mutant} ${file} ${WORK}/mutant.cu)
        set(file ${WORK}/mutant.cu)
    endif()
    file(MAKE_DIRECTORY "${class}/${name}/lessons/${second}")
    file(COPY_FILE ${file} "${class}/${name}/lessons/${second}/${second_kernel}")
endfunction()

# make_own(NAME): no other student's files are these.
function(make_own name)
    file(GLOB_RECURSE files "${class}/${name}/lessons/*.cu")
    foreach(file IN LISTS files)
        file(APPEND ${file} "// of ${name}\n")
    endforeach()
endfunction()

# ---- the class ------------------------------------------------------------------------------------------------------
file(MAKE_DIRECTORY ${WORK})
set(solution ${SOURCE_DIR}/solutions/${first}/${kernel})
file(WRITE ${WORK}/empty.cu "\n \n")
file(WRITE ${WORK}/broken.cu "int half of a declaration\n")
list(LENGTH mutants mutant_count)
list(LENGTH variants variant_count)
list(LENGTH exploits exploit_count)
math(EXPR last "${STUDENTS} - 13")
math(EXPR with_second "${STUDENTS} / ${SECOND} / ${FULL}")
foreach(number RANGE 1 ${last})
    math(EXPR kind "${number} % 10")
    math(EXPR turn "${number} / 10")
    math(EXPR apart "${turn} % ${FULL}")
    if(apart GREATER 0 AND kind LESS 7)
        plant(student_${number} ${WORK}/empty.cu "NOT_STARTED")
    elseif(kind LESS 2)
        plant(student_${number} ${solution} "PASS")
    elseif(kind EQUAL 2)
        math(EXPR index "${turn} % ${variant_count}")
        list(GET variants ${index} file)
        plant(student_${number} ${file} "PASS")
    elseif(kind LESS 6)
        math(EXPR index "(3 * ${turn} + ${kind}) % ${mutant_count}")
        list(GET mutants ${index} mutant)
        apply_mutant(${mutant} ${solution} ${WORK}/mutant.cu)
        plant(student_${number} ${WORK}/mutant.cu "(FAIL|CRASH|TIMEOUT)")
    elseif(kind EQUAL 6)
        plant(student_${number} ${SOURCE_DIR}/lessons/${first}/${kernel} "NOT_STARTED")
    elseif(kind EQUAL 7)
        plant(student_${number} ${WORK}/broken.cu "BUILD_ERROR")
    elseif(kind EQUAL 8)
        plant(student_${number} ${WORK}/empty.cu "NOT_STARTED")
    else()
        math(EXPR index "(5 * ${turn}) % ${exploit_count}")
        list(GET exploits ${index} exploit)
        file(READ ${exploit} text)
        string(REPLACE "// [base]" "${base}" text "${text}")
        file(WRITE ${class}/student_${number}/naive_attention.cu "${text}")
        plant(student_${number} "" "exploit")
    endif()
    math(EXPR shared "${number} % ${OWN}")
    if(number LESS with_second AND kind LESS 7)
        plant_second(student_${number} ${kind} ${turn})
    endif()
    if(shared EQUAL 0 AND kind LESS 7 AND apart EQUAL 0)
        make_own(student_${number})
    endif()
endforeach()
plant("Zoë 山田" ${solution} "PASS")
plant("O'Neill \"Bob\"" ${solution} "PASS")
plant("=cmd|calc!A0" ${solution} "PASS")
plant("-rf" ${solution} "PASS")
plant("<td><b>" ${solution} "PASS")
plant(" leading and trailing " ${solution} "PASS")
plant("nothing" "" "NOT_STARTED")
file(WRITE ${WORK}/odd.sh [=[
set -e
cd "$1"
mkdir ten_megabytes binary link_to_passwd folder_for_file
{ cat "$2"; yes '// and so on' | head -c 10000000; } >ten_megabytes/"$3"
head -c 5000 /bin/sh >binary/"$3"
ln -s /etc/passwd link_to_passwd/"$3"
mkdir folder_for_file/"$3"
ln -s /etc link_to_folder
name=$(printf 'line\nbreak\377')
mkdir "$name"
cp "$2" "$name/"
]=])
execute_process(COMMAND sh ${WORK}/odd.sh ${class} ${solution} ${kernel} COMMAND_ERROR_IS_FATAL ANY)
foreach(name IN ITEMS ten_megabytes binary link_to_passwd folder_for_file link_to_folder)
    file(APPEND ${WORK}/planted.txt "${name}\tREFUSED\n")
endforeach()
file(APPEND ${WORK}/planted.txt "line\\x0abreak\\xff\tPASS\n")

# ---- one run --------------------------------------------------------------------------------------------------------
file(WRITE ${WORK}/seed "the seed of the class\n")
set(grade ${warpwise} grade ${class} --lessons 01,03,07 --secret-seed-file ${WORK}/seed --jobs ${JOBS}
    --without-isolation) # the machine that runs this may have no bubblewrap
string(TIMESTAMP start "%s" UTC)
execute_process(COMMAND ${grade} --out ${WORK}/out RESULT_VARIABLE result)
string(TIMESTAMP end "%s" UTC)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "grading ended with ${result}")
endif()
math(EXPR seconds "${end} - ${start} + 1")
math(EXPR rate "${STUDENTS} * 60 / ${seconds}")
message("${STUDENTS} students, ${JOBS} jobs: ${seconds} s, ${rate} students a minute")

# Names in grades.csv may be quoted, with quotes doubled and an apostrophe before what looks like a formula.
file(WRITE ${WORK}/compare.awk [=[
BEGIN { FS = "\t" }
NR == FNR { wanted[$1] = $2; planted++; next }
FNR > 1 {
    line = $0
    if (substr(line, 1, 1) == "\"") {
        match(line, /^"([^"]|"")*"/)
        name = substr(line, 2, RLENGTH - 2)
        gsub(/""/, "\"", name)
        if (name ~ /^' *[=+@|%-]/) name = substr(name, 2)
        rest = substr(line, RLENGTH + 2)
    } else {
        name = line
        sub(/,.*/, "", name)
        rest = substr(line, length(name) + 2)
    }
    split(rest, field, ",")
    seen++
    if (!(name in wanted)) { print "not planted: " name; wrong++ }
    else if (wanted[name] == "exploit") {
        exploits++
        if (field[5] !~ /^(REFUSED|BUILD_ERROR|CRASH|FAIL|TIMEOUT)$/) { print name ": an exploit is called " field[5]; wrong++ }
    }
    else if (field[column] !~ "^" wanted[name] "$") { print name ": " field[column] " instead of " wanted[name]; wrong++ }
    right += field[column] == "PASS"
}
END { print planted " planted, " seen " graded, " exploits + 0 " exploits, " wrong + 0 " not as planted, " right " passed"; exit wrong > 0 || seen != planted }
]=])
set(column 8) # the state of the first lesson
if(first MATCHES "^01")
    set(column 5)
endif()
execute_process(COMMAND awk -v column=${column} -f ${WORK}/compare.awk ${WORK}/planted.txt ${WORK}/out/grades.csv RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    message(SEND_ERROR "verdicts are not as planted")
endif()

# ---- killed ---------------------------------------------------------------------------------------------------------
if(KILLS EQUAL 0)
    return()
endif()
file(WRITE ${WORK}/kill.sh [=[
# kill.sh KILLS SECONDS OUT COMMAND...: kills COMMAND KILLS times at random moments, then lets it come to its end.
kills=$1 seconds=$2 out=$3
shift 3
for number in $(seq "$kills"); do
    moment=$(awk -v seed="$number$$" -v most="$seconds" -v kills="$kills" 'BEGIN { srand(seed); print 0.05 + rand() * 1.8 * most / kills }')
    timeout -s KILL "$moment" "$@" >/dev/null 2>&1
    echo "killed after $moment s: $(wc -l <"$out/journal") records"
done
"$@" >"$out.log" || { tail -5 "$out.log"; exit 1; }
LC_ALL=C awk -F'\t' '$2 == "result" && $10 == 1 { times[$4 FS $6 FS $8]++ }
    END { for (unit in times) { all++; if (times[unit] != 1) twice++ } print all " results, " twice + 0 " of them twice"; exit twice > 0 }' \
    "$out/journal"
]=])
execute_process(COMMAND sh ${WORK}/kill.sh ${KILLS} ${seconds} ${WORK}/killed ${grade} --out ${WORK}/killed RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    message(SEND_ERROR "the run that was killed ended with ${result}")
endif()
# Everything is the same but the journal, the logs, and reports as XML and JSON, which hold times.
execute_process(COMMAND diff -rq --exclude=journal --exclude=lock --exclude=*.xml --exclude=log.txt --exclude=results.json ${WORK}/out ${WORK}/killed RESULT_VARIABLE result OUTPUT_VARIABLE differ)
if(NOT result EQUAL 0)
    message(SEND_ERROR "what the run that was killed has written differs:\n${differ}")
endif()
message("killed ${KILLS} times: the same ${STUDENTS} grades")

# ---- left behind ----------------------------------------------------------------------------------------------------
# What is a few seconds old is left alone: its maker may be alive. The next start removes the rest.
execute_process(COMMAND ${CMAKE_COMMAND} -E sleep 6)
execute_process(COMMAND ${grade} --out ${WORK}/killed RESULT_VARIABLE result OUTPUT_QUIET)
file(GLOB left ${BINARY_DIR}/kernels/*.[0-9]* /tmp/warpwise_counters_* ${WORK}/killed/*.[0-9]* ${WORK}/killed/journal.new
     ${WORK}/killed/students/*/*.[0-9]*)
if(left OR NOT result EQUAL 0)
    message(SEND_ERROR "left behind by runs that were killed: ${left}")
endif()
