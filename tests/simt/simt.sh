# Read by tests of one program for the software device, SOURCE as $1: builds it and runs it in other orders of threads, on other
# numbers of workers.
source=$1
file=$(basename "$source")
export SIMT_CHECK=on $(sed -n 's|^// with: \([A-Z_]*=[a-z:0-9]*\)$|\1|p' "$source") # a setting that the program asks for
simtcc() {
    "$BUILD/bin/simtcc" "$@"
}
asks_for() { # REGEX: whether the source has such a line
    grep -qE "$1" "$source"
}
# in_order ASYNC:ORDER:WORKERS COMMAND...
in_order() {
    async=${1%%:*} workers=${1##*:} order=${1#*:}
    shift
    SIMT_ASYNC=$async SIMT_ORDER=${order%:*} SIMT_WORKERS=$workers "$@"
}
# finds KIND LINES WAY COMMAND...: what is wrong with a run that should print nothing, end with 86 and report one finding of this kind, which
# names these lines of the source; with KIND none it should be clean. The report stays in the file report.
finds() {
    kind=$1 lines=$2 way=$3 code=0
    shift 3
    in_order $way "$@" >printed 2>report || code=$?
    [ $code = $([ $kind = none ] && echo 0 || echo 86) ] && [ ! -s printed ] || { echo "$* in $way ends with $code"; cat printed; }
    if [ $kind = none ]; then
        cat report
        return
    fi
    awk -v kind=$kind -v lines="$lines" -v file="$file" -v run="$* in $way: " '
        BEGIN { wanted = split(lines, line, " ") }
        NR == 1 && index($0, "simt: " kind ": ") != 1 { print run "another finding than " kind ": " $0 }
        /^simt: / { count++ }
        { for (i = 1; i <= wanted; i++) if ($0 ~ "(^|[ /(])" file ":" line[i] "([^0-9]|$)") named[i] = 1 }
        END {
            if (count != 1) print run count + 0 " findings"
            for (i = 1; i <= wanted; i++) if (!named[i]) print run "line " line[i] " is not named"
        }' report
}
