#!/usr/bin/env bash
# Measures this crate and crate ort on one library in one process, and prints the table of ratios for each library.
#
#   bench.sh [MILLISECONDS [NAME]]   measures each call for that time (default: 1000); with NAME, only calls whose names
#                                    contain it
#   bench.sh criterion [ARGUMENTS]   measures the same calls with criterion; reports are in bench/target/criterion
#
#   RETORT_OUT      the installation to measure; default: out
#   RETORT_ORACLE   official ONNX Runtime of 1.31 or newer; default: that of the Python package onnxruntime
#   PYTHON          a Python; default: python3
#
# Fails if a call is slower through this crate than through ort. Needs Rust 1.92 or newer, and the network until cargo's
# cache has criterion and ort.
set -euo pipefail
cd "$(dirname "$0")"
ROOT=$(cd ../.. && pwd)
PYTHON=${PYTHON:-python3} OUT=${RETORT_OUT:-$ROOT/out}
ORACLE=${RETORT_ORACLE-$("$PYTHON" -c 'import glob, os, onnxruntime
print(*glob.glob(os.path.join(os.path.dirname(onnxruntime.__file__), "capi", "libonnxruntime.so*"))[:1])' 2>/dev/null || true)}
unset RETORT_LIBRARY
cd bench
failed=0
if [[ ${1:-} == criterion ]]; then
  command=(cargo bench --bench calls -- "${@:2}")
else
  cargo build --release --quiet
  command=(target/release/ratios "$@")
fi
for library in "$OUT/lib/libonnxruntime.so.1" $ORACLE; do
  echo "== $(basename "$(readlink -f "$library")")"
  ORT_DYLIB_PATH=$(readlink -f "$library") "${command[@]}" || failed=1
done
exit $failed
