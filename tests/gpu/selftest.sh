# The checker checked on a device: solutions pass, skeletons are not started, mutants are rejected, variants accepted.
# Sourced by verify.sh. LESSONS="08 09" restricts it to some lessons.
#
# Everything is built first, as many at a time as there are processors; then the checks run, a few at a time, since they
# share one device. Mutants are built at a low level of optimisation: a mistake is one at every level.

selftest_work=build/gpu_selftest
mutant_options="-O1 -Xcicc -O1 -Xptxas -O1"

# One line a kernel file: KIND NUMBER LESSON NAME FILE. What takes longest to build comes first.
selftest_kernels() {
    local folder lesson number file
    for folder in $(ls -rd solutions/[0-9]*); do
        lesson=${folder#solutions/}
        number=${lesson%%_*}
        [[ " ${LESSONS:-$number} " == *" $number "* ]] || continue
        echo "solution $number $lesson solution $folder/${lesson#*_}.cu"
        echo "skeleton $number $lesson skeleton lessons/$lesson/${lesson#*_}.cu"
        for file in tests/variants/"$lesson"/*.cu; do echo "variant $number $lesson $(basename "$file" .cu) $file"; done
        for file in tests/mutants/"$lesson"/*.mutant; do
            if [ "$device" = gpu ] && grep -qE '^(killed-by|device): simt\b' "$file" && ! grep -q '^on-gpu: ' "$file"; then
                echo "unseen $number $lesson $(basename "$file" .mutant) $file"
            else
                echo "mutant $number $lesson $(basename "$file" .mutant) $file"
            fi
        done
    done
}

run_mutant() { # LESSON NAME FILE [-DBUILD_ONLY=1]
    WARPWISE_GPU_OPTIMISE=$mutant_options WARPWISE_SIMT_OPTIMISE=-Og cmake -DWARPWISE="$PWD/build/bin/warpwise" \
        -DLESSON="$1" -DMUTANT="$PWD/$3" -DDEVICE="$device" -DORDERS=forward -DSOURCE="$PWD/solutions/$1/${1#*_}.cu" \
        -DWORKDIR="$PWD/$selftest_work/$1/$2" "${@:4}" -P tests/run_mutant.cmake
}

selftest_build() { # one line of selftest_kernels
    case $1 in
    mutant) run_mutant "$3" "$4" "$5" -DBUILD_ONLY=1 ;;
    unseen) ;;
    *) build/bin/warpwise check "$2" --kernel "$5" --device "$device" --build-only ;;
    esac >"$selftest_work/$3.$1.$4.build" 2>&1
    return 0 # a file that does not build is found by its check
}

selftest_check() { # the same line; leaves "right" or "wrong" in a file of its own
    local log=$selftest_work/$3.$1.$4.log groups="--group basic --group edges --group numerics --group bad_input"
    case $1 in
    solution) build/bin/warpwise check "$2" --solution --device "$device" $groups --group properties --expect PASS ;;
    variant) build/bin/warpwise check "$2" --kernel "$5" --device "$device" $groups --expect PASS ;;
    skeleton) build/bin/warpwise check "$2" --kernel "$5" --device "$device" --expect NOT_STARTED ;;
    mutant) run_mutant "$3" "$4" "$5" ;;
    unseen) true ;;
    esac >"$log" 2>&1
    local status=$? kind=$1
    # Its cases are of the other device alone.
    if [ "$kind" = mutant ] && grep -q '^checker: none of these cases runs on' "$log"; then kind=unseen status=0; fi
    if [ "$status" -eq 0 ] && ! grep -q '^no device' "$log"; then echo right; else echo wrong; fi >"$selftest_work/$3.$kind.$4.verdict"
}

selftest_count() { # LESSON KIND [VERDICT]
    cat /dev/null "$selftest_work/$1.$2".*.verdict 2>/dev/null | grep -c "${3:-.}"
}

selftest_table() {
    local lesson wrong=0 file name
    echo "| lesson | solution passes | skeleton NOT_STARTED | mutants rejected | seen only by simt | variants accepted |"
    echo "|---|---|---|---|---|---|"
    for lesson in $(cut -d ' ' -f 3 "$selftest_work/kernels" | sort -u); do
        echo "| $lesson$(for kind in solution skeleton mutant; do
            echo -n " | $(selftest_count "$lesson" $kind right) of $(selftest_count "$lesson" $kind)"
        done) | $(selftest_count "$lesson" unseen) | $(selftest_count "$lesson" variant right) of $(selftest_count "$lesson" variant) |"
    done
    echo
    echo "Seen only by the software device, not run here: $(sed -n 's/^unseen \([0-9]*\) [^ ]* \([^ ]*\) .*/\1 \2/p' "$selftest_work/kernels" |
        sort | paste -sd, | sed 's/,/, /g')"
    for file in $(grep -l wrong "$selftest_work"/*.verdict 2>/dev/null); do
        name=${file%.verdict}
        wrong=1
        echo
        echo "WRONG ${name##*/}"
        tail -n 12 "$name.log"
    done
    return "$wrong"
}

# The exploits that need a GPU: times that must not be believed.
selftest_exploits() {
    local file files=()
    for file in tests/exploits/*.cu; do
        grep -q '^// device: gpu' "$file" && files+=("$PWD/$file")
    done
    echo "Exploits that need a GPU:"
    build/bin/run_exploits "$PWD/build/bin/warpwise" "$PWD" "$PWD/build" "$PWD/$selftest_work/exploits" timing "${files[@]}"
}

step_selftest() {
    local wrong=0
    rm -rf "$selftest_work"
    mkdir -p "$selftest_work"
    selftest_kernels >"$selftest_work/kernels"
    [ -s "$selftest_work/kernels" ] || { echo "no lesson is called ${LESSONS:-}"; return 1; }
    export device selftest_work mutant_options
    export -f run_mutant selftest_build selftest_check
    xargs -P "$(nproc)" -L 1 bash -c 'selftest_build "$@"' - <"$selftest_work/kernels"
    echo "built after $SECONDS s"
    xargs -P "$check_jobs" -L 1 bash -c 'selftest_check "$@"' - <"$selftest_work/kernels"
    echo "checked after $SECONDS s"
    selftest_table >"$out/selftest.md" || wrong=1
    [[ $device != gpu || " ${LESSONS:-01} " != *" 01 "* ]] || selftest_exploits >>"$out/selftest.md" || wrong=1
    cat "$out/selftest.md"
    return "$wrong"
}
