# Untrusted files on a device: one at a time by `check --submission`, then a class of six by `grade`. Sourced by verify.sh.

isolated_work=build/gpu_isolated

# A submission of lesson 03 of each kind. The hostile ones: host code that asks for a program, a write to nobody's
# memory, a kernel that never ends.
hand_in() { # KIND FOLDER
    local solution=solutions/03_online_softmax/online_softmax.cu file=$2/online_softmax.cu
    local first='^    if (a == NULL || b == NULL || out == NULL)' entry='^enum kernel_status online_softmax_merge_f32('
    mkdir -p "$2"
    cp "$solution" "$file"
    case $1 in
    wrong) sed -i 's/expf(b\.m - shift)/expf(b.m - shift + 0.25f)/' "$file" ;;
    skeleton) cp lessons/03_online_softmax/online_softmax.cu "$file" ;;
    broken) echo "this is no program" >"$file" ;;
    forbidden) printf '%s\n' 'extern "C" int system(const char *);' \
        'int call_out() { return system("touch /tmp/warpwise_was_here"); }' >>"$file" ;;
    crashing) sed -i "s/$first/    *(volatile int *)8 = 1;\n&/" "$file" ;;
    endless) sed -i "s/$entry/static __global__ void endless_kernel(void)\n{\n    while (clock64() != 1) continue;\n}\n\n&/
                     s/$first/    endless_kernel<<<1, 1, 0, stream>>>();\n&/" "$file" ;;
    esac
}

check_handed_in() { # KIND STATE [option ...]
    local kind=$1 state=$2 log=$isolated_work/$1.log
    build/bin/warpwise check 03 --submission "$isolated_work/hand/$kind" --device "$device" "${@:3}" --expect "$state" >"$log" 2>&1
    case $? in
    0) echo "ok    $kind: $state" ;;
    *) echo "WRONG $kind: not $state"; tail -n 6 "$log"; return 1 ;;
    esac
}

# Which part of the sandbox a driver cannot live with: each is left out in turn, bubblewrap and no bubblewrap.
find_the_culprit() {
    local part line
    for part in nothing landlock lock filter user limits user,lock filter,lock all; do
        for bubblewrap in yes no; do
            line=$(WARPWISE_SANDBOX_WITHOUT=$part WARPWISE_BUBBLEWRAP=$bubblewrap build/bin/warpwise check 03 \
                --submission "$isolated_work/hand/good" --device "$device" --case merge/pairs_257 2>&1 | tail -n 1)
            echo "without $part, bubblewrap $bubblewrap: $line"
        done
    done
}

check_all_kinds() {
    local wrong=0
    check_handed_in good PASS --group basic --group edges --group numerics --group bad_input || wrong=1
    check_handed_in wrong FAIL --group basic || wrong=1
    check_handed_in skeleton NOT_STARTED || wrong=1
    check_handed_in broken BUILD_ERROR || wrong=1
    check_handed_in forbidden REFUSED || wrong=1
    check_handed_in crashing CRASH --case merge/pairs_257 || wrong=1
    check_handed_in endless TIMEOUT --case merge/pairs_257 --time-limit 5 || wrong=1
    check_handed_in good PASS --case merge/pairs_257 || wrong=1 # the device is as it was
    return "$wrong"
}

# Columns of grades.csv are looked up by their names in its first line.
grade_class() {
    local wrong=0 kind states="good=PASS wrong=FAIL skeleton=NOT_STARTED broken=BUILD_ERROR forbidden=REFUSED crashing=CRASH" state
    rm -rf "$isolated_work/class" "$isolated_work/grades"
    for kind in good wrong skeleton broken forbidden crashing; do
        hand_in "$kind" "$isolated_work/class/$kind/lessons/03_online_softmax"
    done
    build/bin/warpwise grade "$isolated_work/class" --out "$isolated_work/grades" --device "$device" --jobs 2 --without-isolation --lessons 03 \
        "${grade_options[@]}" || wrong=1
    cat "$isolated_work/grades/grades.csv"
    for state in $states; do
        kind=${state%%=*}
        state=${state#*=}
        grep -q "^\"*$kind\"*,.*$state" "$isolated_work/grades/grades.csv" && echo "ok    graded $kind: $state" && continue
        echo "WRONG graded $kind: not $state"
        wrong=1
    done
    return "$wrong"
}

step_isolated() {
    local wrong=0 kind
    rm -rf "$isolated_work"
    for kind in good wrong skeleton broken forbidden crashing endless; do
        hand_in "$kind" "$isolated_work/hand/$kind"
    done
    grade_options=()
    [ "$device" = gpu ] || grade_options=(--no-speed)
    echo "-- as this machine isolates"
    check_all_kinds || wrong=1
    [ "$wrong" -eq 0 ] || find_the_culprit
    echo "-- without bubblewrap"
    WARPWISE_BUBBLEWRAP=no check_all_kinds || wrong=1
    echo "-- a class of six, two at a time"
    grade_class || wrong=1
    [ ! -e /tmp/warpwise_was_here ] || { echo "WRONG a submission wrote to /tmp"; wrong=1; }
    return "$wrong"
}
