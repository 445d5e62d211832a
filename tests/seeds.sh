#!/usr/bin/env bash
# usage: tests/seeds.sh OUT [--device simt|gpu] [--seeds A-B] [--jobs N] [--lessons "NN NN ..."] [--build-only] [--table]
#
# Right kernels with many inputs: every solution and every variant of every lesson, with each of the seeds, every group of
# cases but speed. None may be rejected, and none should come near its error budget. Prints one table row per lesson.
#
# OUT holds one file per kernel and seed, the checker's CSV. What is there is not run again: stopped, the same command goes
# on where it was; remove a file (or OUT) to run it anew. --table prints the table of what is there and runs nothing.
# The exit status is 1 if a kernel was rejected or a run is missing.
#
#     tests/seeds.sh build/seeds --seeds 1-50 --jobs 2                       simt: some seven hours of two cores
#     tests/seeds.sh build/seeds-gpu --device gpu --seeds 1-20 --jobs 4      a GPU is shared by the jobs
set -u
cd "$(dirname "$0")/.." || exit 2

usage() {
    sed -n '2s/^# //p' "$0" >&2
    exit 2
}

out= device=simt first=1 last=50 jobs=$(nproc) lessons= table_only=0 build_only=0
while [ $# -gt 0 ]; do
    case $1 in
    --device) device=${2:?}; shift ;;
    --seeds) first=${2%-*} last=${2#*-}; shift ;;
    --jobs) jobs=${2:?}; shift ;;
    --lessons) lessons=${2//,/ }; shift ;;
    --table) table_only=1 ;;
    --build-only) build_only=1 ;;
    -*) usage ;;
    *) [ -z "$out" ] && out=$1 || usage ;;
    esac
    shift
done
[ -n "$out" ] && [ "$first" -le "$last" ] 2>/dev/null || usage
mkdir -p "$out" || exit 2

# One line per kernel: LESSON NAME FILE.
kernels() {
    local folder lesson file
    for folder in solutions/[0-9]*; do
        lesson=${folder#solutions/}
        [[ -z $lessons || " $lessons " == *" ${lesson%%_*} "* ]] || continue
        echo "$lesson solution $folder/${lesson#*_}.cu"
        for file in tests/variants/"$lesson"/*.cu; do
            [ ! -e "$file" ] || echo "$lesson $(basename "$file" .cu) $file"
        done
    done
}

result() { # LESSON NAME SEED
    echo "$out/$1.$2.$device.$3.csv"
}

# Built once, a kernel is found in the build folder by all its seeds.
build() { # LESSON NAME FILE
    build/bin/warpwise check "${1%%_*}" --kernel "$3" --device "$device" --build-only >"$out/$1.$2.$device.build" 2>&1 ||
        echo "does not build: $3, see $out/$1.$2.$device.build" >&2
}

# Jobs side by side each keep to cores of their own: every one of them would start a thread a core for its oracles.
cores() {
    local allowed each list
    allowed=($(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status | tr , '\n' |
        while IFS=- read -r from to; do seq "$from" "${to:-$from}"; done))
    each=$((${#allowed[@]} / jobs))
    [ "$jobs" -gt 1 ] && [ "$each" -gt 0 ] && command -v taskset >/dev/null || return 0
    list=${allowed[*]:$((slot % jobs * each)):$each}
    echo "taskset -c ${list// /,}"
}

# 1 run a line: SEED LESSON NAME FILE. Solutions first, a seed ahead of the variants: what the oracle says for a lesson and
# a seed is remembered for them.
in_order() {
    local seed
    kernels | grep ' solution ' | sed "s/^/$first /"
    for ((seed = first; seed <= last; seed++)); do
        [ "$seed" = "$last" ] || kernels | grep ' solution ' | sed "s/^/$((seed + 1)) /"
        kernels | grep -v ' solution ' | sed "s/^/$seed /"
    done
}

# Jobs that share a GPU through its Multi-Process Service do not wait for each other's time slices. One that crashes may
# take others with it: for right kernels alone.
share_gpu() {
    [ "$device" = gpu ] && command -v nvidia-cuda-mps-control >/dev/null || return 0
    CUDA_MPS_PIPE_DIRECTORY=$(mktemp -d)
    CUDA_MPS_LOG_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY
    export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    nvidia-cuda-mps-control -d && trap 'echo quit -t 5 | nvidia-cuda-mps-control' EXIT # five seconds for whoever uses it
}

# What was remembered of a lesson and a seed goes once all of its kernels are judged.
forget() { # LESSON SEED
    local name
    while read -r _ name _; do [ -e "$(result "$1" "$name" "$2")" ] || return 0; done < <(kernels | grep "^$1 ")
    rm -rf "$out/oracle/$1.$2"
}

# A run that gives no verdict leaves no CSV, only its log, and counts as missing.
check() { # SEED LESSON NAME FILE
    local csv log
    csv=$(result "$2" "$3" "$1")
    log=${csv%.csv}.log
    [ ! -e "$csv" ] || return 0
    mkdir -p "$out/oracle/$2.$1"
    $(cores) build/bin/warpwise check "${2%%_*}" --kernel "$4" --device "$device" --seed "$1" --csv "$csv.part" \
        --group basic --group edges --group numerics --group bad_input --group properties \
        --remember "$out/oracle/$2.$1" >"$log" 2>&1
    case $? in
    0) rm -f "$log" && mv "$csv.part" "$csv" ;;
    1) [ ! -s "$csv.part" ] || mv "$csv.part" "$csv" ;;
    *) rm -f "$csv.part" ;;
    esac
    forget "$2" "$1"
    return 0
}

# What one lesson's files say, as a row of the table; then a line per rejection.
row() { # LESSON
    local name seed files=() missing=0 count=0
    while read -r _ name _; do
        count=$((count + 1))
        for ((seed = first; seed <= last; seed++)); do
            if [ -e "$(result "$1" "$name" "$seed")" ]; then
                files+=("$(result "$1" "$name" "$seed")")
            else
                missing=$((missing + 1))
            fi
        done
    done < <(kernels | grep "^$1 ")
    awk -v lesson="$1" -v kernels="$count" -v seeds="$first-$last" -v missing="$missing" '
        { gsub(/"[^"]*"/, "quoted") } # a quoted field holds commas
        FNR == 1 {
            split($0, name, ",")
            for (i in name) column[name[i]] = i
            part = FILENAME
            sub(/.*\//, "", part)
            split(part, of, ".")
            runs++
            rejected = 0
            next
        }
        {
            split($0, field, ",")
            which = of[2] " " field[column["case"]] " seed " of[4]
            share = field[column["budget_share"]] + 0
            if (field[column["state"]] != "PASS") {
                rejections += !rejected
                rejected = 1
                told = told "\nREJECTED " lesson " " which ": " field[column["state"]]
            } else if (share > most) {
                most = share
                where = which
            }
        }
        END {
            printf "| %s | %d | %s | %d | %d | %.0f%% | %s |\n", lesson, kernels, seeds, runs, rejections, 100 * most, where
            if (missing > 0) told = told "\nMISSING " lesson ": " missing " runs"
            if (told != "") print substr(told, 2) > "/dev/stderr"
            exit told != ""
        }' /dev/null "${files[@]}"
}

table() {
    local lesson wrong=0
    echo "| lesson | kernels | seeds | runs | rejections | largest share of the error budget | of |"
    echo "|---|---|---|---|---|---|---|"
    for lesson in $(kernels | cut -d ' ' -f 1 | sort -u); do row "$lesson" || wrong=1; done
    return "$wrong"
}

if [ "$table_only" = 0 ]; then
    export device out jobs lessons
    export -f build check cores forget kernels result
    kernels | xargs -P "$jobs" -L 1 bash -c 'build "$@"' -
    [ "$build_only" = 0 ] || exit 0
    share_gpu
    in_order |
        xargs -P "$jobs" --process-slot-var=slot -L 1 bash -c 'check "$@"' -
    rm -rf "$out/oracle"
fi
table
