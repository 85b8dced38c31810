#!/usr/bin/env bash
# Compiles the driver in several ways, for ARM64 too, and compares what it prints: every result has the same bits.
#
# GCC and Clang, -O3 and -O0, every instruction set the processor has, 1, 2 and 5 threads. ARM64 needs a cross
# compiler and an emulator: apt install g++-aarch64-linux-gnu qemu-user. CXX=g++-13 compares one local compiler only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
PATH=$PATH:$PWD/.venv/bin # cmake and ninja may be there

folder=$PWD/build/same-bits
mkdir -p "$folder"
expected=$folder/expected.txt # what the first variant printed
rm -f "$expected"
n_compared=0
failed=()

find_first() { # of several programs, the one that is there
    local program
    for program; do
        if command -v "$program"; then return; fi
    done
}

# build NAME TYPE COMPILER [CMAKE OPTION ...]
build() {
    local name=$1 type=$2 compiler=$3 generator=()
    if command -v ninja >/dev/null; then generator=(-G Ninja); fi
    rm -rf "$folder/$name"/CMakeCache.txt "$folder/$name"/CMakeFiles/[0-9]* # compilers may have moved; objects stay
    cmake -S native -B "$folder/$name" "${generator[@]}" -DVIEWPASS_DRIVER=ON -DVIEWPASS_REQUIRED=ON \
        -DCMAKE_BUILD_TYPE="$type" -DCMAKE_CXX_COMPILER="$compiler" "${@:4}" >"$folder/$name.log" 2>&1 &&
        cmake --build "$folder/$name" --parallel 2 >>"$folder/$name.log" 2>&1 || { cat "$folder/$name.log"; exit 1; }
}

# compare NAME [EMULATOR ...]
compare() {
    local name=$1 driver=("${@:2}" "$folder/$1/viewpass_driver") kernels n_threads printed
    for kernels in $("${driver[@]}" --kernels); do
        for n_threads in 1 2 5; do
            printed=$folder/$name-$kernels-$n_threads.txt
            VIEWPASS_KERNELS=$kernels "${driver[@]}" $n_threads >"$printed"
            if [[ ! -e $expected ]]; then cp "$printed" "$expected"; fi
            n_compared=$((n_compared + 1))
            if ! diff "$expected" "$printed"; then failed+=("$name, $kernels, $n_threads threads"); fi
        done
        echo "$name, $kernels: compared"
    done
}

compilers=${CXX:-$(find_first g++ c++) $(find_first clang++)}
for compiler in $compilers; do
    for type in Release Debug; do
        build "${compiler##*/}-$type" $type "$compiler"
        compare "${compiler##*/}-$type"
    done
done
if [[ ! -s $expected ]]; then
    echo "Nothing to compare: there is no C++ compiler (apt install g++)."
    exit 1
fi

cross=$(find_first aarch64-linux-gnu-g++)
emulator=$(find_first qemu-aarch64 qemu-aarch64-static)
for_arm=(-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_EXE_LINKER_FLAGS=-static)
if [[ $(uname -m) == aarch64 ]]; then
    : # all of the above ran on ARM64
elif [[ -z $cross || -z $emulator ]]; then
    echo "ARM64 skipped: it needs a cross compiler and an emulator (apt install g++-aarch64-linux-gnu qemu-user)."
else
    for type in Release Debug; do
        build "arm64-g++-$type" $type "$cross" "${for_arm[@]}"
        compare "arm64-g++-$type" "$emulator"
    done
    clang=$(find_first clang++)
    if [[ $clang ]]; then # with the cross compiler's libraries
        build arm64-clang++-Release Release "$clang" "${for_arm[@]}" -DCMAKE_CXX_COMPILER_TARGET=aarch64-linux-gnu
        compare arm64-clang++-Release "$emulator"
    fi
fi

cat "$expected"
if ((${#failed[@]})); then
    printf 'other bits: %s\n' "${failed[@]}"
    exit 1
fi
echo "$n_compared runs printed these lines."
