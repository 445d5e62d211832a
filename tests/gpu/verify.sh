#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: all that has to be shown there, with its output kept in folder OUT.
#
#   tests/gpu/verify.sh OUT [STEP ...]      steps: build tests tour programs ladder sanitize counters selftest isolated
#                                           (default: all, in this order); and bench, a part of what tour does
#   LESSONS="08 09"                         only these, in steps sanitize, counters, selftest and bench
#   WARPWISE_CUOBJDUMP=/folder/cuobjdump    for step counters, where it is not in PATH
#   WARPWISE_VERIFY_DEVICE=simt             tries the steps selftest, isolated and sanitize themselves without a GPU
#
# Exit status 0 if every step held. ncu is run with the clocks left alone.
set -uo pipefail
cd "$(dirname "$0")/../.."
out=${1:?usage: tests/gpu/verify.sh OUT [STEP ...]}
shift
mkdir -p "$out"
out=$(cd "$out" && pwd)
steps=("$@")
[ "${#steps[@]}" -gt 0 ] || steps=(build tests tour programs ladder sanitize counters selftest isolated)
jobs=$(nproc)
[ "$jobs" -le 12 ] || jobs=12
check_jobs=$((jobs < 6 ? jobs : 6)) # checks that share one device
device=${WARPWISE_VERIFY_DEVICE:-gpu}
failed=()
. tests/gpu/selftest.sh
. tests/gpu/isolated.sh

# Numbers of the lessons that have a kernel.
all_lessons() {
    local folder
    for folder in solutions/[0-9]*; do
        [ -e "$folder/${folder#solutions/[0-9][0-9]_}.cu" ] && echo "${folder:10:2}"
    done
}

# The cases that a lesson's description names: SANITIZED, which reach every kernel and every path of the solutions at sizes a
# sanitizer can bear; COUNTED, whose counters are held against those of the software device.
described_cases() { # WORD NUMBER
    sed -n "s/^$1(\(.*\))\$/\1/p" lessons/"$2"_*/lesson.def | tr -d '",'
}

step_build() {
    cmake --preset test -DCMAKE_CUDA_ARCHITECTURES=90 && cmake --build build -j "$jobs"
}

step_tests() {
    ctest --preset test -j "$jobs"
}

step_tour() {
    build/bin/warpwise tour --csv "$out/tour.csv" --record
}

step_programs() {
    local wrong=0 file name
    mkdir -p build/nvcc
    # What only one architecture has (wgmma, setmaxnreg) is asked for by the name that ends in "a".
    local architecture=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -cd 0-9)
    [ "$architecture" != sm_90 ] || architecture=sm_90a
    # NCCL where CMake found it, which may be among Python's packages.
    local nccl= library include
    library=$(sed -n 's/^WARPWISE_NCCL_LIBRARY:[A-Z]*=//p' build/CMakeCache.txt)
    include=$(sed -n 's/^WARPWISE_NCCL_INCLUDE:[A-Z]*=//p' build/CMakeCache.txt)
    [ ! -e "$library" ] || nccl="-Xlinker $library -Xlinker -rpath -Xlinker ${library%/*}"
    [ "${include:-/usr/include}" = /usr/include ] || nccl="-I$include $nccl"
    ls tests/simt/programs/*.cu lessons/*.cu | xargs -P "$jobs" -I{} sh -c \
        'nvcc -std=c++17 -arch=$2 -Icommon/contracts -Icommon/decode -Itests/simt "$1" -o build/nvcc/"$(basename "$1" .cu)" -lcuda -lcublas -lcurand $3 ||
            echo "does not build: $1"' - {} "$architecture" "$nccl"
    for file in tests/simt/programs/*.cu lessons/*.cu; do
        name=$(basename "$file" .cu)
        if build/nvcc/"$name" >build/nvcc/"$name".log 2>&1; then
            echo "ok    $name: $(tail -n 1 build/nvcc/"$name".log)"
        else
            echo "WRONG $name: $(tail -n 3 build/nvcc/"$name".log)"
            wrong=1
        fi
    done
    return "$wrong"
}

# The steps of lesson 10 and its sizes of tiles beside cuBLAS, all in one run; then those of lesson 12 beside PyTorch's attention,
# where there is PyTorch. Built for this device only, which takes a minute each.
step_ladder() {
    local wrong=0
    mkdir -p build/nvcc
    nvcc -O3 -std=c++17 -arch=native -DWARPWISE_HAVE_CUBLAS -Icommon/contracts -Ilessons/10_register_tiled_gemm \
        solutions/10_register_tiled_gemm/steps/ladder.cu -lcublas -o build/nvcc/ladder &&
        build/nvcc/ladder 1024 1280 1536 1792 2048 4096 4095 4097 8192 | tee "$out/ladder.csv" || wrong=1
    nvcc -O3 -std=c++17 -arch=native -Icommon/contracts -Ilessons/12_tensor_core_attention \
        solutions/12_tensor_core_attention/steps/ladder.cu -o build/nvcc/ladder_12 &&
        build/nvcc/ladder_12 2048 8192 | tee "$out/ladder_12.csv" || wrong=1
    if python3 -c 'import torch' 2>/dev/null; then
        python3 tests/gpu/time_attention.py | tee "$out/peers_12.csv" || wrong=1
    fi
    step_hopper_ladder || wrong=1
    return "$wrong"
}

# The steps of lesson 15 beside cuBLAS in one run, those of lesson 16 in another, where the GPU has what they need; with PyTorch,
# lesson 16 beside cuDNN and FlashAttention-2, and lesson 21 beside PyTorch's grouped product.
step_hopper_ladder() {
    [ "$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1)" = 9.0 ] || return 0
    nvcc -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a -DWARPWISE_HAVE_CUBLAS -Icommon/contracts \
        -Ilessons/15_hopper_gemm solutions/15_hopper_gemm/steps/ladder.cu -lcublas -lcuda -o build/nvcc/hopper_ladder &&
        build/nvcc/hopper_ladder 1024 2048 4096 8192 | tee "$out/hopper_ladder.csv" || return 1
    nvcc -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a -Icommon/contracts -Ilessons/16_hopper_attention \
        solutions/16_hopper_attention/steps/ladder.cu -lcuda -o build/nvcc/hopper_attention_ladder &&
        build/nvcc/hopper_attention_ladder 1024 2048 8192 | tee "$out/hopper_attention_ladder.csv" || return 1
    if python3 -c 'import torch' 2>/dev/null; then
        python3 tests/gpu/time_hopper_attention.py | tee "$out/peers_16.csv"
        python3 tests/gpu/time_mixture_of_experts.py | tee "$out/peers_21.csv"
    fi
}

# The solutions' kernels for this device, as many at a time as there are processors: the steps that run them find them built.
build_solutions() {
    printf '%s\n' ${LESSONS:-$(all_lessons)} |
        xargs -P "$jobs" -I{} build/bin/warpwise check {} --solution --device "$device" --build-only
}

# Times of the lessons beside cuBLAS, into docs/results.
step_bench() {
    local number wrong=0
    build_solutions
    for number in ${LESSONS:-$(all_lessons)}; do
        build/bin/warpwise bench "$number" --solution --device "$device" --record || wrong=1
    done
    cp docs/results/*.csv "$out"
    return "$wrong"
}

# The command that runs one case alone, left in a file; builds nothing that is built already.
save_command() { # NUMBER CASE
    build/bin/warpwise runner "$1" --solution --device "$device" --case "$2" >"build/sanitizer/$1-${2//\//-}.command"
}

sanitize_case() { # NUMBER CASE TOOL
    local name=build/sanitizer/$1-${2//\//-} verdict options=
    # NCCL asks for kernels that it has not got for this GPU; the answer is no error of ours.
    [ "$1 $3" != "19 memcheck" ] || options="--report-api-errors no"
    if [ -s "$name.command" ] &&
        compute-sanitizer --tool "$3" $options --error-exitcode 9 $(cat "$name.command") >"$name-$3.log" 2>&1; then
        verdict="ok    $1 $2 $3: $(grep 'SUMMARY' "$name-$3.log" | sed 's/=* *//')"
    else
        verdict="WRONG $1 $2 $3"
        [ -s "$name.command" ] || echo "there is no command to run it" >"$name-$3.log"
    fi
    echo "$verdict" >"$name-$3.verdict"
}

step_sanitize() {
    local wrong=0 number tool case name
    rm -rf build/sanitizer
    mkdir -p build/sanitizer
    for number in ${LESSONS:-$(all_lessons)}; do
        for case in $(described_cases SANITIZED "$number"); do echo "$number $case"; done
    done >build/sanitizer/cases
    export device
    export -f save_command sanitize_case
    cut -d ' ' -f 1 build/sanitizer/cases | sort -u |
        xargs -P "$(nproc)" -I{} build/bin/warpwise check {} --solution --device "$device" --build-only >/dev/null
    xargs -P "$jobs" -L 1 bash -c 'save_command "$@"' - <build/sanitizer/cases
    while read -r number case; do
        for tool in memcheck racecheck initcheck synccheck; do echo "$number $case $tool"; done
    done <build/sanitizer/cases >build/sanitizer/runs
    xargs -P "$jobs" -L 1 bash -c 'sanitize_case "$@"' - <build/sanitizer/runs
    while read -r number case tool; do
        name=build/sanitizer/$number-${case//\//-}-$tool
        cat "$name.verdict"
        grep -q '^ok' "$name.verdict" && continue
        tail -n 20 "$name.log"
        wrong=1
    done <build/sanitizer/runs
    return "$wrong"
}

find_cuobjdump() {
    local beside
    beside=$(dirname "$(command -v nvcc || echo nvcc)")/cuobjdump
    if [ -n "${WARPWISE_CUOBJDUMP:-}" ]; then
        [ -x "$WARPWISE_CUOBJDUMP" ] && echo "$WARPWISE_CUOBJDUMP"
    else
        command -v cuobjdump || { [ -x "$beside" ] && echo "$beside"; }
    fi
}

counted_launches=32 # of a case: all, but of lesson 07, whose steps have up to 12 kernels each

# The software device's counts of one case; nobody else's are disturbed by it.
count_in_software() { # NUMBER CASE
    local name=build/counters/$1-${2//\//-} command
    command=$(build/bin/warpwise runner "$1" --solution --device simt --case "$2") && SIMT_COUNTERS=$name.simt $command
}

# On the GPU one program after the other: counters of two at once would be mixed.
step_counters() {
    local compare=tests/simt/counters/compare_with_ncu.py sections=() program number case name command ncu cuobjdump
    cuobjdump=$(find_cuobjdump) || {
        echo "MISSING: cuobjdump, which lists machine code, is neither in PATH nor beside nvcc." \
            "It is in NVIDIA's package cuda-cuobjdump; say where it lies by WARPWISE_CUOBJDUMP=/folder/cuobjdump."
        return 1
    }
    mkdir -p build/counters
    build_solutions
    ncu=$(python3 "$compare" --print-ncu)
    for program in counters matrix ptx; do
        name=build/counters/$program
        nvcc -std=c++17 -arch=native "tests/simt/counters/$program.cu" -o "$name-hardware" &&
            build/bin/simtcc "tests/simt/counters/$program.cu" -o "$name-software" || return 1
        $ncu "$name-hardware" >"$name.ncu" || return 1
        "$cuobjdump" -sass "$name-hardware" >"$name.sass" || return 1
        SIMT_COUNTERS=$name.simt "$name-software" || return 1
        sections+=(--section "Small kernels (tests/simt/counters/$program.cu)=$name")
    done
    for number in ${LESSONS:-$(all_lessons)}; do
        for case in $(described_cases COUNTED "$number"); do echo "$number $case"; done
    done >build/counters/cases
    export -f count_in_software
    xargs -r -P "$jobs" -L 1 bash -c 'count_in_software "$@" || exit 1' - <build/counters/cases &
    local software=$!
    while read -r number case; do
        name=build/counters/$number-${case//\//-}
        command=$(build/bin/warpwise runner "$number" --solution --device "$device" --case "$case") || return 1
        $ncu --launch-count "$counted_launches" $command >"$name.ncu" </dev/null
        "$cuobjdump" -sass "${command%% *}" >"$name.sass" || return 1
        sections+=(--section "Solution of lesson $number, case $case=$name")
    done <build/counters/cases
    wait "$software" || { echo "the software device did not count every case"; return 1; }
    python3 "$compare" "${sections[@]}" --out "$out/counters_by_kernel.csv"
}

for step in "${steps[@]}"; do
    echo "==== $step"
    SECONDS=0
    "step_$step" >"$out/$step.txt" 2>&1 || failed+=("$step")
    tail -n 25 "$out/$step.txt"
    echo "==== $step took $SECONDS s"
done
if [ "${#failed[@]}" -gt 0 ]; then
    echo "failed: ${failed[*]}"
    exit 1
fi
echo "every step held: ${steps[*]}"
