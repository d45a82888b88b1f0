#!/usr/bin/env bash
# The official header-only C++ interface (Debian's libonnxruntime-dev, headers alone) on any libonnxruntime.so.
# usage: run.sh ENGINE_SO [WORKDIR]; last line 'N passed, N failed'. CLIENT_SUITE: the Debian release that has the package.
set -euo pipefail
SUITE=${CLIENT_SUITE:-forky}
HERE=$(cd "$(dirname "$0")" && pwd)
SO=$(readlink -f "$1")
W=${2:-$(mktemp -d)}; mkdir -p "$W"; W=$(cd "$W" && pwd); cd "$W"
KEY=/usr/share/keyrings/debian-archive-keyring.gpg
HEADERS=$W/x/usr/include/onnxruntime
if [ ! -f "$HEADERS/onnxruntime_cxx_api.h" ]; then
  [ -f "$KEY" ] || { echo "no $KEY"; echo "0 passed, 0 failed, 1 skipped"; exit; }
  # The archive from which the system has its packages.
  MIRROR=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | grep -v security | head -1 || true)
  [ -n "$MIRROR" ] || { echo "apt has no package archive"; echo "0 passed, 0 failed, 1 skipped"; exit; }
  # Uses separate lists and archives: the system's do not change, and nothing is installed.
  mkdir -p state/lists/partial cache/archives/partial
  echo "deb [signed-by=$KEY] $MIRROR $SUITE main" > sources.list
  APT=(apt-get -qq -o Dir::Etc::sourcelist="$W/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State="$W/state" -o Dir::Cache="$W/cache"
       -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
  { "${APT[@]}" update && "${APT[@]}" download libonnxruntime-dev; } > apt.log 2>&1 || { tail -5 apt.log; exit 1; }
  dpkg -x libonnxruntime-dev_*.deb x
fi
mkdir -p lib; ln -sfn "$SO" lib/libonnxruntime.so.1
# The same headers, except that the C headers are this project's: programs compile with either.
rm -rf mixed; cp -r "$HEADERS" mixed; cp "$HERE"/../../../include/retort/onnxruntime_*.h mixed/
passed=0; failed=0
for headers in "$HEADERS" "$W/mixed"; do
  for part in main binding model; do
    "${CXX:-c++}" -std=c++20 -Wall -Wno-unused-parameter -isystem "$headers" -c "$HERE/$part.cc" -o "$part.o"
  done
  "${CXX:-c++}" main.o binding.o model.o -o client "-L$W/lib" -l:libonnxruntime.so.1 -pthread
  # A library with another SONAME is loaded under this name first.
  # Names are relative, because a space or a colon in the name of the folder would separate entries of these lists.
  LD_LIBRARY_PATH="lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" LD_PRELOAD="lib/libonnxruntime.so.1" \
    timeout "${TEST_TIMEOUT:-300}" ./client "${DATA:-$HERE/../data}" > out.txt 2> err.txt || true
  grep -v ' passed, ' out.txt || true
  counts=$(grep ' passed, ' out.txt) || { head -5 err.txt; counts="0 passed, 1 failed"; }
  read -r p _ f _ <<< "$counts"
  passed=$((passed + p)); failed=$((failed + f))
done
echo "$passed passed, $failed failed"
