#!/usr/bin/env bash
# Programs of the C++ interface, on any libonnxruntime.so: with the installed headers, and with the official ones
# (Debian's libonnxruntime-dev, headers alone). usage: run.sh ENGINE_SO [WORKDIR]; last line 'N passed, N failed'.
# RETORT_OUT: the installation. RETORT_ORACLE: also run the programs of the installed headers on this library.
# CLIENT_SUITE: the Debian release that has the package.
set -euo pipefail
SUITE=${CLIENT_SUITE:-forky}
HERE=$(cd "$(dirname "$0")" && pwd)
SO=$(readlink -f "$1")
ORACLE=${RETORT_ORACLE:+$(readlink -f "$RETORT_ORACLE")}
OURS=$(cd "${RETORT_OUT:-$HERE/../../../out}/include/onnxruntime" && pwd)
W=${2:-$(mktemp -d)}; mkdir -p "$W"; W=$(cd "$W" && pwd); cd "$W"
KEY=/usr/share/keyrings/debian-archive-keyring.gpg
HEADERS=$W/x/usr/include/onnxruntime
FLAGS=(-Wall -Wno-unused-parameter -Wno-unused-result -Wno-deprecated-declarations)
passed=0; failed=0; skipped=0

# Fetches the official headers. Prints why they cannot be had.
official() {
  [ -f "$HEADERS/onnxruntime_cxx_api.h" ] && return
  [ -f "$KEY" ] || { echo "no $KEY"; return 1; }
  # The archive from which the system has its packages.
  MIRROR=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | grep -v security | head -1 || true)
  [ -n "$MIRROR" ] || { echo "apt has no package archive"; return 1; }
  # Uses separate lists and archives: the system's do not change, and nothing is installed.
  mkdir -p state/lists/partial cache/archives/partial
  echo "deb [signed-by=$KEY] $MIRROR $SUITE main" > sources.list
  APT=(apt-get -qq -o Dir::Etc::sourcelist="$W/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State="$W/state" -o Dir::Cache="$W/cache"
       -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
  { "${APT[@]}" update && "${APT[@]}" download libonnxruntime-dev; } > apt.log 2>&1 || { tail -5 apt.log; exit 1; }
  dpkg -x libonnxruntime-dev_*.deb x
}

# build PROGRAM STANDARD HEADERS PART...
build() {
  local program=$1 standard=$2 headers=$3 objects=(); shift 3
  for part in "$@"; do
    "${CXX:-c++}" "-std=$standard" "${FLAGS[@]}" -isystem "$headers" -c "$part" -o "$program.$(basename "$part").o"
    objects+=("$program.$(basename "$part").o")
  done
  "${CXX:-c++}" "${objects[@]}" -o "$program" "-L$W/lib" -l:libonnxruntime.so.1 -pthread
}

# run PROGRAM LIBRARY: runs it on the library, and counts.
run() {
  mkdir -p lib; ln -sfn "$2" lib/libonnxruntime.so.1
  # A library with another SONAME is loaded under this name first.
  # Names are relative, because a space or a colon in the name of the folder would separate entries of these lists.
  LD_LIBRARY_PATH="lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" LD_PRELOAD="lib/libonnxruntime.so.1" \
    timeout "${TEST_TIMEOUT:-300}" "./$1" "${DATA:-$HERE/../data}" > out.txt 2> err.txt || true
  grep -v ' passed, ' out.txt || true
  counts=$(grep ' passed, ' out.txt) || { head -5 err.txt; echo "FAIL $1 ended early on $2"; counts="0 passed, 1 failed"; }
  read -r p _ f _ <<< "$counts"
  passed=$((passed + p)); failed=$((failed + f))
}

mkdir -p lib; ln -sfn "$SO" lib/libonnxruntime.so.1
client=("$HERE"/{main,binding,model}.cc)
"${PYTHON:-python3}" "$HERE/names.py" 32 > names.cc
build client_ours c++17 "$OURS" "${client[@]}"
build ours c++17 "$OURS" "$HERE"/{ours,documents,custom,numbers,providers,objects,kernels,settings,plugged}.cc names.cc
"${CXX:-c++}" -std=c++17 "${FLAGS[@]}" -isystem "$OURS" -shared -fPIC -fvisibility=hidden "$HERE/plugin.cc" -o plugin.so
export CLIENT_PLUGIN=$W/plugin.so
for program in client_ours ours; do
  run "$program" "$SO"
  [ -z "$ORACLE" ] || run "$program" "$ORACLE"
done
# compiles COMPILER STANDARD_AND_OPTIONS FILE: whether the file compiles without a word of the compiler.
compiles() {
  if "$1" -std=$2 -I"$OURS" -fsyntax-only "$3" > form.txt 2>&1 && [ ! -s form.txt ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1)); echo "FAIL $1 $2 $(basename "$3")"; head -5 form.txt
  fi
}

# The other forms in which programs compile the headers.
compilers=("${CXX:-c++}")
command -v clang++ > /dev/null && compilers+=(clang++) || { echo "no clang++: the headers were compiled by ${CXX:-c++} alone"; skipped=$((skipped + 1)); }
for compiler in "${compilers[@]}"; do
  for form in "c++20 -Werror -Wall -Wextra -Wpedantic" "c++17 -fno-exceptions -DORT_NO_EXCEPTIONS" "c++17 -DORT_API_MANUAL_INIT" "c++17 -DORT_MINIMAL_BUILD"; do
    compiles "$compiler" "$form" "$HERE/forms.cc"
  done
done
if [ ${#compilers[@]} = 2 ]; then
  for part in "${client[@]}" "$HERE"/{ours,documents,custom,numbers,providers,objects,kernels,settings,plugged,plugin}.cc names.cc; do
    compiles clang++ "c++17 -Wall -Wno-unused-parameter -Wno-unused-result -Wno-deprecated-declarations" "$part"
  done
fi

if why=$(official); then
  "${PYTHON:-python3}" "$HERE/names.py" 23 > names_official.cc
  "${CXX:-c++}" -std=c++17 -w -fsyntax-only -isystem "$HEADERS" names_official.cc && passed=$((passed + 1)) || failed=$((failed + 1))
  # The same headers, except that the C headers are this project's: programs compile with either.
  rm -rf mixed; cp -r "$HEADERS" mixed; cp "$HERE"/../../../include/retort/onnxruntime_*.h mixed/
  for headers in "$HEADERS" "$W/mixed"; do
    build client c++20 "$headers" "${client[@]}"
    run client "$SO"
  done
else
  echo "$why"; skipped=$((skipped + 1))
fi
echo "$passed passed, $failed failed, $skipped skipped"
