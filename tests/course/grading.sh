# The sandbox of stub compilers, and a class in it. Read by tests of warpwise grade in an empty folder, which becomes the course.
TRUSTING=yes
. "$here/sandbox.sh"
grade="$warpwise grade --without-isolation" # the machine that runs this may have no bubblewrap

# The checker of this file: knows the rubric, mixes a seed, and takes a moment where a kernel says LINGERS.
write_script build/bin/checker <<'END'
here=$(dirname "$0")
while [ $# -gt 0 ]; do
    case $1 in
    --lesson) lesson=$2 ;;
    --runner) runner=$2 ;;
    --device) device=$2 ;;
    --csv) csv=$2 ;;
    --secret-seed-file) seed=$2 ;;
    --total-limit) limit=$2 ;;
    --bench) bench=1 ;;
    --rubric) printf 'title,,a title, with a comma\npart,all,100\nclean,,10\nspeed,,20\nspeed_none,,0.5\nspeed_full,,1\n'; exit 0 ;;
    esac
    shift
done
[ -s "$seed" ] || { echo "checker: no seed"; exit 2; }
[ -e "$here/no_gpu" ] && [ "$device" = gpu ] && gone=1
verdict=$(sed -n 's/.*verdict: //p' "$runner")
columns=lesson,part,case,group,shape,device,state,points,points_max,median_us,flop,min_bytes,load_sectors,store_sectors
columns=$columns,bank_conflicts,shared_load_wavefronts,shared_store_wavefronts,finding,time_refused,headline,pattern
echo "$columns" >"$csv"
sectors=1000
time=100
row() { echo "$lesson,all,all/$1,$2,\"heads 2, f32\",$device,$3,$4,50,$time,1e9,3200,$sectors,0,0,0,0,$5,,$6,$7" >>"$csv"; }
[ "$bench" ] || echo "checked $lesson $device $verdict limit $limit" >>"$here/checked.log"
[ "$gone" ] && { row basic basic NO_DEVICE 0 "" "no such device" ""; echo "no such device"; exit 77; }
case $verdict in
BREAKS) echo "checker: no shared memory is left"; exit 2 ;;
DIES) kill -SEGV $$ ;;
LINGERS) sleep 0.05 ;;
DAWDLES) sleep 1; verdict=PASS ;;
THRIFTY) sectors=900 ;;
WASTEFUL) sectors=1250; time=125 ;;
IMPOSSIBLE) sectors=10 ;;
esac
case $verdict in
PASS | LINGERS | THRIFTY | WASTEFUL | IMPOSSIBLE) row basic basic PASS 50; row real speed PASS 50; exit 0 ;;
FAIL) row basic basic PASS 50; row real speed FAIL 0 "" "out[0] = <1>" "constant factor: 2 times"; exit 1 ;;
RACE) row basic basic FAIL 0 shared-race "the software device found a mistake"; row real speed PASS 50; exit 1 ;;
CRASH) row basic basic CRASH 0 "" "signal 11"; row real speed CRASH 0; exit 1 ;;
NOT_STARTED) row basic basic NOT_STARTED 0; row real speed NOT_STARTED 0; exit 77 ;;
esac
END
: >build/bin/no_gpu
echo 'a secret' >seed

# hand_in STUDENT VERDICT [LESSON...]: a submission whose kernels have this verdict; no two of them are the same file.
hand_in() {
    student=$1 verdict=$2
    shift 2
    for lesson in "$@"; do
        write_kernel "class/$student/lessons/$lesson/${lesson#*_}.cu" $verdict
        printf '// of %s\n' "$student" >>"class/$student/lessons/$lesson/${lesson#*_}.cu"
    done
}
