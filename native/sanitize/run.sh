#!/usr/bin/env bash
# Compiles viewpass._native with AddressSanitizer and UBSan, then with ThreadSanitizer, and runs tests on it.
#
#   run.sh short   a choice of tests: two minutes
#   run.sh long    kernels, laws, damaged files, Arrow sources
#
# ThreadSanitizer runs threads.py: under it pytest itself crashes here and there.
# CXX chooses the compiler, TESTS="tests/laws -k shares" other tests.
# Python itself is not sanitized: the runtime is loaded ahead of it (LD_PRELOAD).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

python=$PWD/.venv/bin/python
case ${1:-} in
    short) tests=(${TESTS:-tests/kernels/test_nnls.py tests/kernels/test_native_equals_reference.py -k "nnls or edge"}) ;;
    long) tests=(${TESTS:-tests/kernels tests/laws tests/harm/test_damage.py tests/sources/arrow
        --ignore tests/sources/arrow/test_table_memory.py}) ;; # sanitizers take memory of their own
    *) echo "usage: run.sh short|long" >&2; exit 2 ;;
esac

if ! "$python" -c 'from viewpass.kernels.backend import native; exit(native is None)'; then
    echo "sanitizers skipped: viewpass has no compiled module here."
    exit 0
fi

# The path of a sanitizer's shared runtime for a compiler, or nothing.
runtime() {
    local name=lib$2.so path
    if "$1" --version | grep -q clang; then
        if [[ $2 == tsan ]]; then return; fi # loaded ahead of Python, Clang's crashes (seen with 14)
        name=libclang_rt.$2-$(uname -m).so
    fi
    path=$("$1" -print-file-name="$name")
    if [[ $path == /* && -e $path ]]; then realpath "$path"; fi
}

find_compiler() {
    local compiler
    for compiler in ${CXX:-} g++ clang++; do
        if command -v "$compiler" >/dev/null && [[ $(runtime "$compiler" "$1") ]]; then
            echo "$compiler"
            return
        fi
    done
}

cmake=$("$python" -c 'from scikit_build_core.cmake import CMake; print(CMake.default_search().cmake_path)')
PATH=$PWD/.venv/bin:$PATH # ninja may be there
generator=()
if command -v ninja >/dev/null; then generator=(-G Ninja); fi

# Kept out of ThreadSanitizer's way: memory at random addresses, where the kernel allows to say so.
fixed_addresses=()
if setarch -R true 2>/dev/null; then fixed_addresses=(setarch -R); fi

failed=()
for kind in address thread; do
    library=asan
    if [[ $kind == thread ]]; then library=tsan; fi
    compiler=$(find_compiler $library)
    if [[ -z $compiler ]]; then
        echo "$kind sanitizer skipped: no compiler has its library (apt install g++)."
        continue
    fi
    echo "=== $kind sanitizer, $compiler"
    folder=$PWD/build/sanitize-$kind-${compiler##*/}
    "$cmake" -S native -B "$folder" "${generator[@]}" -DCMAKE_CXX_COMPILER="$compiler" \
        -DCMAKE_BUILD_TYPE=RelWithDebInfo -DVIEWPASS_SANITIZE=$kind -DVIEWPASS_REQUIRED=ON \
        -DPython_EXECUTABLE="$python" -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" >"$folder.log" 2>&1 &&
        "$cmake" --build "$folder" --parallel 2 >>"$folder.log" 2>&1 || { cat "$folder.log"; exit 1; }

    # One process, one BLAS thread, and the C library's malloc, which the sanitizers watch.
    # Leaks are not looked for: Python keeps memory to its end on purpose.
    sanitized=(env PYTHONPATH="$PWD/native/sanitize" VIEWPASS_SANITIZED="$folder" PYTHONMALLOC=malloc
        OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
        ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
        UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
        TSAN_OPTIONS="suppressions=$PWD/native/sanitize/tsan.supp:halt_on_error=1"
        LD_PRELOAD="$(runtime "$compiler" $library) $("$compiler" -print-file-name=libstdc++.so)"
        "${fixed_addresses[@]}" "$python")
    "${sanitized[@]}" -c "from viewpass.kernels.backend import native as n, reason; exit(reason or not n.__file__.startswith('$folder'))" &&
        if [[ $kind == thread ]]; then
            "${sanitized[@]}" native/sanitize/threads.py
        else
            "${sanitized[@]}" -m pytest -q --capture=sys -p no:cacheprovider -m "not long" "${tests[@]}"
        fi || failed+=("$kind")
done

if ((${#failed[@]})); then
    echo "=== sanitizers failed: ${failed[*]}"
    exit 1
fi
