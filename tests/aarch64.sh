#!/usr/bin/env bash
# usage: [BUILD=build-aarch64] tests/aarch64.sh [options of ctest]
#
# The project's tests on aarch64 where only x86-64 is at hand: a cross compiler builds, qemu-user runs. On aarch64 itself the
# README's commands are all there is. Needs Debian's qemu-user-static, binfmt-support, g++-aarch64-linux-gnu and cmake:
# programs start others, so the system must run those of aarch64 by itself (/proc/sys/fs/binfmt_misc/qemu-aarch64).
#
#     tests/aarch64.sh -R '^unit|^simt' -j 2      ten to twenty times slower than without qemu: choose
#
# Cannot be tried in this way: filters of system calls (qemu-user sets none) and the order in which a processor of aarch64
# shows one thread's accesses to another.
set -eu
cd "$(dirname "$0")/.."
build=$PWD/${BUILD:-build-aarch64} tools=$PWD/${BUILD:-build-aarch64}/tools prefix=aarch64-linux-gnu
mkdir -p "$tools"
export QEMU_LD_PREFIX=/usr/$prefix PATH=$tools:$PATH
unset CC CXX

# simtcc, warpwise and the device call these by their short names.
for tool in gcc g++ nm objcopy objdump readelf; do ln -sf "$(command -v $prefix-$tool)" "$tools/$tool"; done
ln -sf gcc "$tools/cc"
ln -sf g++ "$tools/c++"
# The device asks for lines of /proc/PID/exe, which is qemu: it has the program's name in its arguments.
cat >"$tools/addr2line" <<'WRAPPER'
#!/usr/bin/env bash
words=()
for word; do
    if [[ $word =~ ^/proc/([0-9]+)/exe$ ]]; then
        mapfile -d '' -t command <"/proc/${BASH_REMATCH[1]}/cmdline"
        [[ ${command[0]} != *qemu* ]] || word=${command[1]}
    fi
    words+=("$word")
done
exec aarch64-linux-gnu-addr2line "${words[@]}"
WRAPPER
chmod +x "$tools/addr2line"

cmake --preset test -B "$build" -DWARPWISE_DEVICES=simt -DWARPWISE_WERROR=ON -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
    -DCMAKE_C_COMPILER=$prefix-gcc -DCMAKE_CXX_COMPILER=$prefix-g++ >"$build/configure.log"
cmake --build "$build" -j 2
grep -rlZ TIMEOUT "$build" --include=CTestTestfile.cmake | xargs -0 sed -i -E 's/TIMEOUT "([0-9]{1,4})"/TIMEOUT "\10"/g'
exec ctest --test-dir "$build" -LE 'student|selftest|grade' --output-on-failure "$@"
