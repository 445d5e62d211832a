#!/usr/bin/env bash
# usage: tests/simt/corpus/check_out.sh FOLDER
# Checks out what sources.txt names, each source in a folder of its own with a file .commit, as corpus.py wants it. A source
# whose .commit is there already is left as it is.
set -euo pipefail
[ $# = 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
while read -r source commit date; do
    copy=$1/${source##*/}
    [ ! -e "$copy/.commit" ] || continue
    rm -rf "$copy"
    git clone -q "https://github.com/$source" "$copy"
    git -C "$copy" checkout -q "$commit"
    echo "$commit $date" >"$copy/.commit"
done <"$(dirname "$0")/sources.txt"
