#!/usr/bin/env bash
# C++ sources of others, unmodified, with the installed headers: the parts of sherpa-onnx that work on Ort::Value, and
# its own unit tests of them, from its source package on PyPI. usage: run.sh ENGINE_SO [WORKDIR]; last line
# 'N passed, N failed'. RETORT_OUT: the installation. RETORT_ORACLE: also run the tests on this library.
set -euo pipefail
VERSION=2.0.1
PARTS=(cat slice stack transpose unbind)
HERE=$(cd "$(dirname "$0")" && pwd)
SO=$(readlink -f "$1")
HEADERS=$(cd "${RETORT_OUT:-$HERE/../../../out}/include/onnxruntime" && pwd)
W=${2:-$(mktemp -d)}; mkdir -p "$W"; W=$(cd "$W" && pwd); cd "$W"
passed=0; failed=0
if [ ! -d "sherpa_onnx-$VERSION" ]; then
  "${PYTHON:-python3}" -m pip -q download --no-deps --no-binary :all: "sherpa-onnx==$VERSION" > pip.log 2>&1 || { tail -3 pip.log; echo "0 passed, 0 failed, 1 skipped"; exit; }
  tar xzf "sherpa_onnx-$VERSION.tar.gz"
fi
mkdir -p lib; ln -sfn "$SO" lib/libonnxruntime.so.1
objects=()
for part in "${PARTS[@]/%/.cc}" "${PARTS[@]/%/-test.cc}" onnx-utils.cc; do
  (cd "sherpa_onnx-$VERSION" && "${CXX:-c++}" -std=c++17 -w -I. -I"$HEADERS" -c "sherpa-onnx/csrc/$part" -o "../$part.o")
  objects+=("$part.o")
done
"${CXX:-c++}" -std=c++17 "${objects[@]}" "$HERE/rest.cc" -o tests -Llib -l:libonnxruntime.so.1 -lgtest -lgtest_main -pthread
for engine in "$SO" ${RETORT_ORACLE:+"$(readlink -f "$RETORT_ORACLE")"}; do
  ln -sfn "$engine" lib/libonnxruntime.so.1
  LD_LIBRARY_PATH="lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" LD_PRELOAD="lib/libonnxruntime.so.1" timeout "${TEST_TIMEOUT:-300}" ./tests > out.txt 2> err.txt || true
  grep -E '^\[  FAILED  \] [A-Z]' out.txt | sed 's/^\[  FAILED  \] /FAIL /; s/ (.*//' || true
  p=$(grep -oE '\[  PASSED  \] [0-9]+' out.txt | grep -oE '[0-9]+' || echo 0)
  f=$(grep -cE '^\[  FAILED  \] .* \([0-9]+ ms\)$' out.txt || true)
  [ "$p" -gt 0 ] || { head -5 err.txt; f=1; }
  passed=$((passed + p)); failed=$((failed + f))
done
echo "$passed passed, $failed failed"
