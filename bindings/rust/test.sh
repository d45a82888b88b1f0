#!/usr/bin/env bash
# Builds the crate and runs its tests on Retort and on official ONNX Runtime. The last line is 'N passed, N failed, N
# skipped'.
#
#   RETORT_LIBRARY  the library to test; default: out/lib/libretort.so.1
#   RETORT_OUT      the installation that programs are linked with; default: out
#   RETORT_ORACLE   official ONNX Runtime; default: that of the Python package onnxruntime, skipped if it is missing
#   RETORT_OLD      official ONNX Runtime of a version between 1.17 and 1.20; default: that of tools/setup.sh old,
#                   skipped if it is missing
#   RETORT_LOOPBACK the provider of examples/providers/loopback; RETORT_CUDA: the CUDA provider, whose tests need a GPU, or
#                   RETORT_CUDA_LIBRARIES=build/release/software_cuda. Tests on devices are skipped without them
#   CXX             a C++20 compiler, for the program that must give the same bytes; default: c++, skipped if it is
#                   missing
#   PYTHON          a Python; default: python3
#
# Needs cargo with a Rust of version 1.85 or newer; reports it and skips if it is missing. Cargo needs the network until
# its cache has the crates that Cargo.toml names.
set -uo pipefail
cd "$(dirname "$0")"
ROOT=$(cd ../.. && pwd)
PYTHON=${PYTHON:-python3} OUT=${RETORT_OUT:-$ROOT/out}
LIBRARY=$(readlink -f "${RETORT_LIBRARY:-$OUT/lib/libretort.so.1}")
ORACLE=${RETORT_ORACLE-$("$PYTHON" -c 'import glob, os, onnxruntime
print(*glob.glob(os.path.join(os.path.dirname(onnxruntime.__file__), "capi", "libonnxruntime.so*"))[:1])' 2>/dev/null)}
OLD=${RETORT_OLD-$("$PYTHON" -c 'import glob, sys
print(*glob.glob(sys.prefix + "/old/onnxruntime/capi/libonnxruntime.so*")[:1])' 2>/dev/null)}
passed=0 failed=0 skipped=0
FEATURES=load-dynamic,half,ndarray,cuda
export CARGO_TERM_COLOR=never CARGO_BUILD_JOBS=${CARGO_BUILD_JOBS:-1}
# What is compiled here runs once: debug information and the state of incremental builds take a third of the time.
export CARGO_PROFILE_DEV_DEBUG=${CARGO_PROFILE_DEV_DEBUG:-none} CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}
unset RETORT_LIBRARY RETORT_CPP ORT_DYLIB_PATH ONNXRUNTIME_DIR ONNXRUNTIME_LIB_DIR

skip() { echo "skipped: $1"; skipped=$((skipped + 1)); }
check() { if "${@:2}"; then passed=$((passed + 1)); else echo "FAIL $1"; failed=$((failed + 1)); fi; }
finish() { echo "$passed passed, $failed failed, $skipped skipped"; exit $((failed > 0)); }

command -v cargo >/dev/null || { skip "no cargo (Debian: cargo, or rustup)"; finish; }
version=$(rustc --version | sed 's/^rustc 1\.\([0-9]*\).*/\1/')
[[ $version -ge 85 ]] 2>/dev/null || { skip "Rust 1.85 or newer is needed, not $(rustc --version)"; finish; }
# The program is a workspace of its own; it shares the compiled crates.
IN_INFERENCE=(--manifest-path examples/inference/Cargo.toml -p inference --target-dir target)
{ cargo fetch -q && cargo fetch -q --manifest-path examples/inference/Cargo.toml; } 2>/dev/null || { skip "cargo cannot fetch the crates that Cargo.toml names"; finish; }
AREA=$(mktemp -d)
trap 'rm -rf "$AREA"' EXIT

# suite NAME COMMAND...: runs cargo test, and adds the numbers of its tests.
suite() {
  echo "== $1"
  "${@:2}" >"$AREA/log" 2>&1
  local code=$? p f
  read -r p f <<<"$(awk '/^test result:/ { p += $4; f += $6 } END { print p + 0, f + 0 }' "$AREA/log")"
  if [[ $f != 0 || $code != 0 || $p == 0 ]]; then
    tail -60 "$AREA/log"
    [[ $f != 0 ]] || f=1
    echo "FAIL $1"
  fi
  echo "   $p passed, $f failed"
  passed=$((passed + p)) failed=$((failed + f))
}

tests() { cargo test --offline --no-fail-fast "$@"; }
quiet() { "$@" >"$AREA/log" 2>&1 || { cat "$AREA/log"; return 1; }; }
documented() { RUSTDOCFLAGS="-D warnings" quiet cargo doc --offline -q --no-deps --features "$FEATURES"; }

# Checks everything with the oldest Rust that Cargo.toml names, if rustup has it.
oldest_rust() {
  local oldest
  oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
  command -v rustup >/dev/null && rustup toolchain list | grep -q "^$oldest-" || { skip "Rust $oldest is not installed (rustup toolchain install $oldest)"; return; }
  check "Rust $oldest compiles it" quiet cargo "+$oldest" check --offline -q --all-targets --features "$FEATURES" --target-dir target/oldest
}

# Builds the C++ program that the test cross_language compares with.
cpp_program() {
  local compiler=${CXX:-c++}
  command -v "$compiler" >/dev/null || { skip "no $compiler: results are not compared with a C++ program"; return; }
  check "the C++ program compiles" quiet "$compiler" -std=c++20 -O1 -DRETORT_API_DLOPEN "-I$OUT/include" tests/cross_language/run_cases.cc -ldl \
    -o "$AREA/run_cases" && [[ -x $AREA/run_cases ]] && export RETORT_CPP=$AREA/run_cases
}

# Compiles a workspace whose folder crates has this crate and a program, as README.md has them.
in_a_workspace() {
  local to=$AREA/workspace/crates
  mkdir -p "$to/onnx" "$to/program/src"
  cp -r Cargo.toml build.rs README.md src "$to/onnx/"
  mkdir "$to/onnx/examples" && cp examples/*.rs "$to/onnx/examples/"
  printf '[workspace]\nmembers = ["crates/*"]\nresolver = "3"\n' >"$to/../Cargo.toml"
  printf '[package]\nname = "program"\nversion = "0.1.0"\nedition = "2024"\n[features]\ncuda = ["onnx/cuda"]\n[dependencies]\nonnx = { path = "../onnx" }\n' >"$to/program/Cargo.toml"
  echo 'fn main() { println!("{:?}", onnx::version()); }' >"$to/program/src/main.rs"
  ONNXRUNTIME_DIR=$OUT quiet cargo check --offline -q --manifest-path "$to/../Cargo.toml" -p program --features cuda
}

# Builds the package that cargo would publish by itself, as its users build it.
packaged() { quiet cargo package --offline -q -p onnx --allow-dirty --features "$FEATURES" --target-dir "$AREA/package"; }

# Checks that build.rs lists each place that it searched if there is no library.
not_found() {
  mkdir -p "$AREA/nothing"
  ! ONNXRUNTIME_LIB_DIR=$AREA/nothing cargo check --offline --target-dir "$AREA/target" >"$AREA/log" 2>&1 &&
    grep -q "ONNXRUNTIME_DIR: not set" "$AREA/log" && grep -q "ONNXRUNTIME_LIB_DIR: $AREA/nothing has no libonnxruntime" "$AREA/log"
}

# Runs programs that are linked with the library in a folder, with LIBRARY in its place.
linked() {
  mkdir -p "$AREA/run" && ln -sf "$1" "$AREA/run/libonnxruntime.so.1"
  ONNXRUNTIME_DIR=$OUT LD_LIBRARY_PATH=$AREA/run tests --features half,ndarray --test session --test binding --test decoder --test mistakes --test allocations
}

# Tests examples/inference, as a user of the crate, on a library that is opened at run time, and linked with this one.
consumer() {
  suite "examples/inference on $1" env ORT_DYLIB_PATH="$1" cargo test --offline --no-fail-fast "${IN_INFERENCE[@]}" --features load-dynamic,cuda
}
consumer_checks() {
  check "examples/inference: no warning of clippy" quiet cargo clippy --offline -q "${IN_INFERENCE[@]}" --all-targets --features load-dynamic,cuda -- -D warnings
  check "examples/inference: cargo check --features cuda" env ONNXRUNTIME_DIR="$OUT" cargo check --offline -q "${IN_INFERENCE[@]}" --features cuda
  check "examples/inference: formatted" quiet cargo fmt --manifest-path examples/inference/Cargo.toml --check
  check "examples/inference: no warning of cargo doc" env RUSTDOCFLAGS="-D warnings" cargo doc --offline -q --no-deps "${IN_INFERENCE[@]}" --features load-dynamic,cuda
  mkdir -p "$AREA/run" && ln -sf "$LIBRARY" "$AREA/run/libonnxruntime.so.1"
  suite "examples/inference, linked" env ONNXRUNTIME_DIR="$OUT" LD_LIBRARY_PATH="$AREA/run" cargo test --offline "${IN_INFERENCE[@]}" --test program
}

# Only compiles the benchmark, without criterion; bench.sh runs it.
bench_compiles() {
  check "the table of the benchmark" quiet "$PYTHON" bench/report_test.py
  [[ $version -ge 92 ]] || { skip "the benchmark: crate ort needs Rust 1.92"; return; }
  (cd bench && cargo fetch -q 2>/dev/null) || { skip "the benchmark: cargo cannot fetch its crates"; return; }
  check "the benchmark compiles" quiet cargo check --offline -q --manifest-path bench/Cargo.toml --target-dir bench/target
  check "the benchmark is formatted" quiet cargo fmt --manifest-path bench/Cargo.toml --check
}

# gpu LIBRARY [VARIABLE]: as bindings/java/test.sh has it.
gpu() {
  local printed
  printed=$(env -u RETORT_CUDA_LIBRARIES RETORT_LIBRARY="$1" "${@:2}" "${CARGO_TARGET_DIR:-target}/debug/examples/gpu" "$ROOT/examples/digits/digits.onnx" 2>"$AREA/log") ||
    { cat "$AREA/log"; return 1; }
  [[ $printed == "the results of 100 runs stay on Cuda 0"*"sum up to 1.000" ]] && return 0
  [[ -z ${2:-} && $(wc -l <<<"$printed") == 1 && $printed == "no GPU is used, because "* ]] || { echo "$printed"; return 1; }
}
gpu_example() {
  check "example gpu compiles" quiet cargo build --offline -q --example gpu --features load-dynamic,cuda
  check "example gpu without a driver" gpu "$LIBRARY"
  [[ -z $ORACLE ]] || check "example gpu without a driver on $ORACLE" gpu "$ORACLE"
  if [[ -n ${RETORT_CUDA_LIBRARIES:-} && -f $(dirname "$LIBRARY")/providers/libretort_cuda.so ]]; then
    check "example gpu with the CUDA provider beside $LIBRARY" gpu "$LIBRARY" "RETORT_CUDA_LIBRARIES=$RETORT_CUDA_LIBRARIES"
  else
    skip "example gpu with the CUDA provider: RETORT_CUDA_LIBRARIES is not set, or no providers/libretort_cuda.so is beside the library"
  fi
}

check "src/ffi/tables.rs matches the tables" "$PYTHON" tools/generate_ffi.py --check
check "no warning of clippy" quiet cargo clippy --offline -q --all-targets --features "$FEATURES" -- -D warnings
check "no warning of clippy without features" env ONNXRUNTIME_DIR="$OUT" cargo clippy --offline -q --all-targets -- -D warnings
oldest_rust
check "formatted" quiet cargo fmt --check
check "no warning of cargo doc" documented
check "build.rs lists what it tried" not_found
check "the package builds" packaged
check "the crate is a member of a program's workspace" in_a_workspace
cpp_program
suite "$LIBRARY" env RETORT_LIBRARY="$LIBRARY" cargo test --offline --no-fail-fast --features "$FEATURES"
suite "linked with $OUT" linked "$LIBRARY"
if [[ -n $ORACLE ]]; then
  suite "$ORACLE" env ORT_DYLIB_PATH="$ORACLE" cargo test --offline --no-fail-fast --features "$FEATURES"
  suite "linked, run with $ORACLE" linked "$ORACLE"
else
  skip "no official ONNX Runtime (the Python package onnxruntime)"
fi
if [[ -n $OLD ]]; then
  # The provider that RETORT_LOOPBACK names needs a newer library.
  suite "$OLD" env -u RETORT_LOOPBACK ORT_DYLIB_PATH="$OLD" cargo test --offline --no-fail-fast --features "$FEATURES"
  suite "linked, run with $OLD" linked "$OLD"
else
  skip "no older ONNX Runtime: tools/setup.sh old, or RETORT_OLD, a library of 1.17 to 1.20"
fi
gpu_example
consumer_checks
consumer "$LIBRARY"
[[ -z $ORACLE ]] || consumer "$ORACLE"
[[ -z ${RETORT_OLD:-} ]] || consumer "$RETORT_OLD"
bench_compiles
[[ -n ${RETORT_LOOPBACK:-} ]] || skip "no device to test with: build examples/providers/loopback and set RETORT_LOOPBACK to its library"
finish
