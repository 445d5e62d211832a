# A course of two small lessons whose compilers, checker and GPU are shell scripts, so that every fault that the
# program warpwise has to explain can be made to happen. Read by tests in an empty folder, which becomes the course.
#   SOURCE_DIR  the project      C_COMPILER  to build warpwise for the sandbox      PARTS  the libraries warpwise is made of
# What the scripts do is written in the kernel file: a line "verdict: PASS" and the like.
. "$here/build_warpwise.sh"
root=$work
build=$root/build
warpwise=$build/bin/warpwise

warpwise() {
    "$warpwise" "$@"
}

# write_script FILE <<END: a program of the shell
write_script() {
    mkdir -p "$(dirname "$1")"
    { echo '#!/bin/sh'; cat; } >"$1"
    chmod +x "$1"
}

write_kernel() {
    mkdir -p "$(dirname "$1")"
    printf '/* a kernel */\n// verdict: %s\n' "$2" >"$1"
}

unset LC_ALL LC_CTYPE NO_COLOR COLUMNS XDG_STATE_HOME WARPWISE_WATCH
export WARPWISE_STATE="$root/state" LANG=C.UTF-8 # nothing of the tester's own is touched

# The stub compilers: the runner is a copy of the kernel file. Every call is noted in compiled.log.
write_script build/bin/simtcc <<'END'
words=$*
while [ $# -gt 0 ]; do
    case $1 in
    -o) out=$2; shift ;;
    -E) only=text ;;
    *.cu) source=$1 ;;
    */kernel.o) object=$1 ;;
    esac
    shift
done
if [ -z "$source" ]; then # linked: what it says is in the object
    cp "$object" "$out" && chmod +x "$out"
    exit
fi
[ "$only" ] && exit 1 # nothing that could be looked into
echo "$words" >>"$(dirname "$0")/compiled.log"
grep -q SAVED_MEANWHILE "$source" && [ -e "$source.next" ] && mv "$source.next" "$source"
grep -q RESTLESS "$source" && echo "// and more" >>"$source"
if grep -q BROKEN "$source"; then
    echo "$source:3:5: error: 'score' was not declared in this scope" >&2
    exit 1
fi
grep -q HOMELESS "$source" && { echo "g++: fatal error: cannot execute 'as'" >&2; exit 1; }
grep -q INCOMPLETE "$source" && { echo "ld: undefined reference to 'alpha_f32'" >&2; exit 1; }
grep -q SLOW "$source" && { echo $$ >"$source.pid"; exec sleep 300; }
grep -q LARGE "$source" && { head -c 9000000 /dev/zero >"$out" || exit 1; }
cp "$source" "$out" || exit 1
chmod +x "$out"
END
mkdir tools
cp build/bin/simtcc tools/nvcc
echo 'echo stub 1.0' | write_script tools/c++

write_script build/bin/checker <<'END'
while [ $# -gt 0 ]; do
    case $1 in
    --lesson) lesson=$2 ;;
    --runner) runner=$2 ;;
    --device) device=$2 ;;
    --csv) csv=$2 ;;
    --bench) bench=1 ;;
    --limit) limits="$limits $2" ;;
    --case | --seed | --peer | --group) echo "given $1 $2" ;;
    --costs) costs=1 ;;
    --save-case) : >"$3"; exit 0 ;;
    --dump | --ctest) echo "given $1" ;;
    esac
    shift
done
if [ "$costs" ]; then
    echo "lesson,part,case,group,shape,simt,gpu,flop,min_bytes"
    echo "$lesson,all,all/basic,basic,\"heads 2, f32\",1,1,1000,400"
    echo "$lesson,all,all/qwen3,speed,\"heads 2, f32\",1,1,1e9,3200"
    exit 0
fi
verdict=$(sed -n 's/.*verdict: //p' "$runner")
echo "order ${SIMT_ORDER:-none}, limits$limits"
columns=lesson,part,case,group,shape,device,state,points,points_max,median_us,flop,min_bytes,load_sectors,store_sectors
columns=$columns,bank_conflicts,shared_load_wavefronts,shared_store_wavefronts,finding
columns=$columns,part_state,left_out,at,other_at,cause,shown,text
row() {
    printf '%s\n' "$lesson,all,all/$1,$2,\"heads 2, f32\",$device,$3,$4,5,$5,$finding,$verdict,$left_out,$at,$other,$cause,$shown,$text" >>"$csv"
    at= other= cause= shown= text=
}
numbers=,,,,,,,
[ "$bench" ] && [ "$device" = gpu ] && numbers=100,1e9,4e8,,,,,
[ "$bench" ] && [ "$device" = simt ] && numbers=,1e9,3200,300,100,1234567,7,8
case $verdict in
LIES) exit 0 ;;
DIES) kill -SEGV $$ ;;
BREAKS) echo "checker: no shared memory"; exit 2 ;;
FINDS) echo "simt: shared-race: tile[3]"; finding=shared-race ;;
esac
says() {
    printf '  %-11s %-11s   0.0/5 points, 0 of 1 cases\n' all "$1"
    form='  %-11s case all/basic: heads 2, f32\n    wrong        %s\n    again        warpwise check\n'
    printf "$form" "$1" "$2"
    shown=1 text=\"$(printf "$form" "$1" "$2" | sed 's/$/\\n/' | tr -d '\n')\"
    at=$(sed -n 's/.*found at: //p' "$runner") # as the kernel file wants it
    other=$(sed -n 's/.*and at: //p' "$runner")
    cause=$(sed -n 's/.*cause: //p' "$runner")
}
echo "$columns" >"$csv"
[ "$device" = gpu ] || left_out=2
case $verdict in
PASS) printf '  %-11s %-11s   5.0/5 points, 1 of 1 cases\n' all PASS; row basic basic PASS 5 ,,,,,,,; row qwen3 speed PASS 5 $numbers; [ "$device" = gpu ] || echo "  left out on simt: all/huge, all/huger"; exit 0 ;;
HALF) row basic basic PASS 5 ,,,,,,,; row late basic NOT_STARTED 0 ,,,,,,,; exit 1 ;;
FAIL | FINDS) says FAIL "out[0] = 1, expected 2"; row basic basic FAIL 0 ,,,,,,,; row tail edges PASS 5 ,,,,,,,; exit 1 ;;
CRASH) says CRASH "ended by signal 11"; row basic basic CRASH 0 ,,,,,,,; exit 1 ;;
NOT_STARTED) row basic basic NOT_STARTED 0 ,,,,,,,; exit 77 ;;
MISCOUNTS) row basic basic FAIL 0 ,,,,,,,; exit 0 ;;
esac
END

write_script build/bin/device_limits <<'END'
if [ -e "$(dirname "$0")/no_gpu" ]; then
    echo "reason,the NVIDIA driver is too old"
    exit 77
fi
printf 'device,Stub GPU\narch,90\ncopy_gbps,4000\nread_gbps,4100\nlaunch_us,2.5\nf32_tflops,50\nf16_tflops,600\n'
printf 'peer,all/qwen3,some library,70\n'
END

for lesson in 01_alpha 02_beta; do
    topic=${lesson#*_}
    mkdir -p lessons/$lesson build/lib
    echo '/* contract */' >lessons/$lesson/$topic.h
    cat >lessons/$lesson/$topic.cu <<'END'
// [student: head]
/* your desk */
// [/student]
// [student: first_kernel]
// verdict: NOT_STARTED
/* TODO: the first */
// [/student]
// [student: second_kernel]
/* TODO: the second */
// [/student]
END
    cat >lessons/$lesson/README.md <<'END'
# A lesson

## Goal

Add numbers up,
and know why. `sum` ≤ Σ.

## Hints

<details><summary>first_kernel: where does a thread begin?</summary>

At its own number. It is made of `blockIdx.x` and `threadIdx.x`, as the page says, and of nothing else in
the world.
</details>
<details><summary>first_kernel: how far does it go?</summary>

Up to `count` − 1:

```c
if (i < count) sum[i] = a[i] + b[i];
```
</details>
<details><summary>second_kernel: and then?</summary>

- Once more,
- but backwards.
</details>
<details><summary>all: what do the parts have in common?</summary>

Their name.
</details>

## Further reading
END
    write_kernel solutions/$lesson/$topic.cu PASS
    printf simt >build/lib/librunner_${lesson}_simt.a
    printf gpu >build/lib/librunner_${lesson}_gpu.a
done
mkdir -p common/contracts
echo '/* status */' >common/contracts/kernel_status.h
printf simt >build/lib/libsimt.a

build_warpwise 'simt;gpu' "$root/tools/c++" "$root/tools/nvcc"
