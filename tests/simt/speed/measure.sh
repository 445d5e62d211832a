#!/bin/sh
# What checked runs cost, as a table in Markdown: CPU seconds and peak memory of speed.cu's programs and of lessons' checks.
#
#   tests/simt/speed/measure.sh [BUILD]          (build: the default)
#   QUICK=1 ...                                  without the programs and checks that take minutes
#
# CPU seconds are user and system time of the whole process, the smallest of RUNS (3); memory is the largest resident set.
set -eu
build=$(realpath "${1:-build}") here=$(cd "$(dirname "$0")" && pwd) runs=${RUNS:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/bin/simtcc" "$here/speed.cu" -o "$work/speed"

# row NAME WORKERS COMMAND...: the smallest time of so many runs
row() {
    name=$1 workers=$2
    shift 2
    : >"$work/times"
    for run in $(seq "$runs"); do
        SIMT_WORKERS=$workers /usr/bin/time -a -o "$work/times" -f '%U %S %M' "$@" >"$work/log" 2>&1 || {
            cat "$work/log" >&2
            exit 1
        }
    done
    awk -v name="$name" -v workers="$workers" '
        { cpu = $1 + $2; if (NR == 1 || cpu < least) least = cpu; if ($3 > peak) peak = $3 }
        END { printf "| %s | %s | %.2f | %d |\n", name, workers, least, peak / 1024 }' "$work/times"
}

echo "| program | workers | CPU seconds | peak MB |"
echo "|---|---|---|---|"
row "vector add of 16 M floats (192 MB)" 1 "$work/speed" add 16
row "the same" 2 "$work/speed" add 16
row "the same" 16 "$work/speed" add 16
row "SGEMM 256" 1 "$work/speed" sgemm 256
row "SGEMM 512" 1 "$work/speed" sgemm 512
[ -n "${QUICK:-}" ] || row "SGEMM 1024" 1 "$work/speed" sgemm 1024
row "attention, 2 heads of 1024 x 64" 1 "$work/speed" attention 2 1024 64
[ -n "${QUICK:-}" ] || for lesson in 01 02 03 04 05; do
    row "warpwise check $lesson --solution" 2 "$build/bin/warpwise" check "$lesson" --solution --device simt
done
