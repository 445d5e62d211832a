#!/bin/bash
# Times lesson 19 on as many GPUs as there are, in SECONDS (120) at most:  tests/gpu/several.sh OUT [SECONDS]
# The table goes to OUT/several.txt. A program `time_several` beside this script is run as it is; else it is built, which takes its own time.
out=${1:?usage: several.sh OUT [SECONDS]} limit=${2:-120}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out" || exit 2

# Folders that may hold NCCL: the loader's, CUDA's, and those of Python's packages, which have libnccl.so.2 alone.
nccl_folders() {
    ldconfig -p 2>/dev/null | sed -n 's|.*libnccl\.so\.2 .*=> \(/.*\)/libnccl\.so\.2$|\1|p'
    ls -d /usr/local/cuda*/lib64 /usr/local/cuda*/lib 2>/dev/null
    timeout 10 python3 -c 'import importlib.util as u
for p in (u.find_spec("nvidia.nccl") or type("", (), {"submodule_search_locations": []})).submodule_search_locations or []: print(p + "/lib")' 2>/dev/null
    ls -d /usr/lib/python3*/*-packages/nvidia/nccl/lib /usr/local/lib/python3*/*-packages/nvidia/nccl/lib \
        /opt/*/lib/python3*/site-packages/nvidia/nccl/lib "$HOME"/.local/lib/python3*/site-packages/nvidia/nccl/lib 2>/dev/null
}

nccl=
while read -r folder; do
    if [ -e "$folder/libnccl.so.2" ]; then
        nccl=$folder
        break
    fi
done < <(nccl_folders)

program=$here/time_several
if [ ! -x "$program" ]; then
    root=$(cd "$here/../.." && pwd)
    program=$root/build/time_several
    include=()
    [ ! -e "$nccl/../include/nccl.h" ] || include=(-I"$nccl/../include")
    mkdir -p "$root/build" &&
        (cd "$root/build" && gcc -O2 -std=c11 -c "$root/reference/qwen3.c" "$root/reference/experts.c") &&
        nvcc -O3 -std=c++17 -arch="${ARCH:-native}" -cudart static "${include[@]}" -I"$root/common/contracts" -I"$root/lessons/19_several_gpus" \
            "$root/tests/gpu/time_several.cu" "$root/build/qwen3.o" "$root/build/experts.o" -Xlinker "$nccl/libnccl.so.2" -o "$program" || exit 2
fi

SECONDS=0
{
    timeout 5 nvidia-smi topo -m 2>&1 | grep -v '^$' | head -n 14
    echo "NCCL in ${nccl:-no folder that is known}"
    export LD_LIBRARY_PATH=$nccl${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export NCCL_DEBUG=${NCCL_DEBUG:-WARN} NCCL_NVLS_ENABLE=${NCCL_NVLS_ENABLE:-0}
    timeout -k 1 $((limit - SECONDS)) "$program" $((limit - 11 - SECONDS)) 2>&1
    echo "exit $?, $SECONDS s in all"
} | tee "$out/several.txt"
grep -q '^exit 0,' "$out/several.txt"
