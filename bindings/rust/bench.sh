#!/usr/bin/env bash
# Measures this crate and crate ort on one library in one process, prints the ratios for each library, and writes the
# table of README.md.
#
#   bench.sh [MILLISECONDS [NAME]]   measures each call for that time (default: 1000, which takes a minute); with NAME,
#                                    only calls whose names contain it, and README.md stays as it is
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
AREA=$(mktemp -d)
trap 'rm -rf "$AREA"' EXIT
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
measured=()
for library in "$OUT/lib/libonnxruntime.so.1" $ORACLE; do
  echo "== $(basename "$(readlink -f "$library")")"
  measured+=("$AREA/${#measured[@]}")
  ORT_DYLIB_PATH=$(readlink -f "$library") "${command[@]}" | tee "${measured[-1]}" || failed=1
done
if [[ ${1:-} == criterion || -n ${2:-} ]]; then exit $failed; fi
if [[ ${#measured[@]} == 2 ]]; then
  "$PYTHON" report.py "${measured[@]}" ../README.md
else
  echo "README.md is unchanged: no official ONNX Runtime (the Python package onnxruntime, or RETORT_ORACLE)" >&2
fi
exit $failed
