#!/usr/bin/env bash
# Measures this binding and the official one, on Retort and on official ONNX Runtime, and writes the tables of
# docs/java.md.
#
#   bench.sh [ROUNDS [OPTION…]]   default: 7 rounds, each of about two and a half minutes. Options of JMH may shorten
#                                 them: with -wi 3 -w 300ms -i 7 -r 100ms, a round takes half as long
#
#   RETORT_OUT           the installation to measure; default: out
#   PYTHON               a Python; its package onnxruntime, if it has it, is measured as well; default: python3
#
# In each round, every combination of binding and engine is measured once, in a separate process. The tables have
# medians over the rounds. Ratios are computed within a round, so that other load on the machine affects both sides.
# Needs Maven and a JDK of version 22 or newer.
set -euo pipefail
cd "$(dirname "$0")"
ROOT=$(cd ../.. && pwd)
RETORT_OUT=${RETORT_OUT:-$ROOT/out} PYTHON=${PYTHON:-python3}
read -r kind JAVA_HOME <<<"$(scripts/find-java.sh)" || true
[[ ${kind:-} == jdk ]] || { echo "no JDK of version 22 or newer: install one, or name it with JAVA_HOME" >&2; exit 1; }
export JAVA_HOME

mvn -q -B -T1 -Pbench -DskipTests -Dmaven.javadoc.skip=true -Dmaven.source.skip=true "-Dretort.out=$RETORT_OUT" package 2>&1 | grep -v WARNING: || true
TARGET=$PWD/bench/target
AREA=$TARGET/measured
rm -rf "$AREA"
mkdir -p "$AREA"
"$PYTHON" - "$TARGET"/lib/onnxruntime-*.jar "$AREA" <<'PROGRAM'
import os, platform, sys, zipfile
name = f"ai/onnxruntime/native/linux-{'x64' if platform.machine() == 'x86_64' else 'aarch64'}/libonnxruntime.so"
jar = [p for p in sys.argv[1:-1] if "io-binding" not in p][0]
with zipfile.ZipFile(jar) as z, open(os.path.join(sys.argv[-1], "libonnxruntime.so"), "wb") as f:
    f.write(z.read(name))
PROGRAM
# The drop-in library, because the official binding looks for the library under that name.
RETORT=$RETORT_OUT/lib/libonnxruntime.so.1 OFFICIAL=$AREA/libonnxruntime.so
JAVA=("$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED "-Dbench.retort=$RETORT" "-Dbench.official=$OFFICIAL" -cp "$TARGET/classes:$TARGET/lib/*")
"${JAVA[@]}" io.retort.onnxruntime.bench.AddModel "$AREA/add.onnx"
for ((round = 1; round <= ${1:-7}; ++round)); do
  echo "round $round"
  ${NICE:-} "${JAVA[@]}" org.openjdk.jmh.Main "${@:2}" -rf json -rff "$AREA/java$round.json" -o "$AREA/java$round.log" 2>/dev/null
  "$PYTHON" bench/python_calls.py "$AREA/add.onnx" "$RETORT" "$OFFICIAL" >"$AREA/python$round.json"
done
"$PYTHON" bench/report.py "$AREA" "$ROOT/docs/java.md"
