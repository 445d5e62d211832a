#!/usr/bin/env bash
# Every synchronisation of the steps to a solution, removed by itself: the software device has to say what is missing.
#   removals.sh SIMTCC STEPS WORKDIR INCLUDE...
#   removals.sh WARPWISE VARIANTS WORKDIR    of variants: each line ends with a case that `warpwise check` looks at
# STEPS/removals.txt has a line for each:  FILE | STATEMENT | which of those in the file, from 1 | kinds of findings
# FILE@HEADER stands for a statement in a header that the steps share, removed for this one.
# The kinds are those that have to be among the findings, on any number of the computer's threads: REMOVALS_WORKERS="1 2 4 16".
# "nothing" stands for a statement that the device does not miss.
set -u
export SIMT_REPORT=all # as in lessons' checks
tool=$1 steps=$2 work=$3
shift 3
includes=()
for folder; do includes+=(-I "$folder"); done
rm -rf "$work"
mkdir -p "$work"
wrong=0 count=0

# Removes occurrence $3 of $2 in file $1; comments do not count.
without() {
    awk -v statement="$2" -v which="$3" '{
        at = index($0, statement); comment = index($0, "//")
        if (at > 0 && (comment == 0 || at < comment) && ++seen == which) $0 = substr($0, 1, at - 1) "(void)0" substr($0, at + length(statement))
        print
    } END { exit seen < which }' "$1"
}

while IFS='|' read -r file statement which kinds case; do
    [[ -z $file || $file == \#* ]] && continue
    cp "$steps"/*.cu "$steps"/*.h "$work" && count=$((count + 1))
    if ! without "$steps/${file#*@}" "$statement" "$which" >"$work/${file#*@}"; then
        echo "$file: there is no '$statement' number $which" && wrong=1
        continue
    fi
    run=("$work/ladder")
    if [[ -n $case ]]; then # a variant may include the solution
        sed -i "s|\"[.][.]/|\"$steps/../|" "$work/$file"
        lesson=${steps##*/}
        run=("$tool" check "${lesson%%_*}" --kernel "$work/$file" --device simt --case "$case")
    elif ! "$tool" "${includes[@]}" -DSTEP="${file%%_*}" "$work/ladder.cu" -o "$work/ladder" 2>"$work/errors"; then
        echo "$file without '$statement' does not build:" && cat "$work/errors" && wrong=1
        continue
    fi
    for workers in ${REMOVALS_WORKERS:-1 16}; do
        SIMT_WORKERS=$workers "${run[@]}" >"$work/output" 2>"$work/findings"
        found=$(sed -n 's/^[ |]*simt: \([a-z-]*\):.*/\1/p' "$work/output" "$work/findings" | sort -u | tr '\n' ' ')
        right=$(grep -q WRONG "$work/output" && echo "wrong results" || echo "right results")
        printf '%-24s without %-60s %2d: %s; %s\n' "$file" "$statement" "$workers" "${found:-nothing found}" "$right"
        for kind in $kinds; do
            [[ $kind == nothing && -z $found || " $found" == *" $kind "* ]] || { echo "  not found: $kind" && wrong=1; }
        done
    done
done <"$steps/removals.txt"
echo "$count removals"
exit $((wrong || count == 0))
