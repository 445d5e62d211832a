#!/bin/bash
# A class graded in parts by GNU parallel, on this machine or on several that share a file system:
#
#   printf 'some long random text' >seed.txt
#   docs/examples/parallel_grade.sh SUBMISSIONS seed.txt 4 01,04-06
#   HOSTS=one,two,: docs/examples/parallel_grade.sh SUBMISSIONS seed.txt 12 01,04-06      # by ssh; ":" is this machine
#
# Call it from the top of the course's tree, already built. HOSTS is what parallel --sshlogin takes. A part whose machine or process dies is
# started again, up to three times, and goes on where it stopped; so does the whole of it when the same command is given again.
# Isolation: needs bubblewrap on each machine. Where it does not work, grade refuses; see docs/security.md before you put
# --without-isolation into GRADE_OPTIONS.
set -euo pipefail
submissions=$1 seed=$2 parts=$3 lessons=${4:-}
mkdir -p parts
# shellcheck disable=SC2086 # the options are words
parallel ${HOSTS:+--sshlogin "$HOSTS"} --workdir "$PWD" --retries 3 --joblog parts/joblog --jobs "${JOBS:-1}" \
    build/bin/warpwise grade "$submissions" --secret-seed-file "$seed" --out parts/part{} --shard "{}/$parts" \
    ${lessons:+--lessons "$lessons"} ${GRADE_OPTIONS:-} ::: $(seq "$parts")
# shellcheck disable=SC2046
exec build/bin/warpwise grade --merge $(printf 'parts/part%s ' $(seq "$parts")) --out OUT
