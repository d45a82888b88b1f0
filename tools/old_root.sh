#!/usr/bin/env bash
# Runs the installed files in the root of an old system, Debian 11 (glibc 2.31, libstdc++ of gcc 10) unless SUITE names
# another.
#
#   tools/old_root.sh BUILD OUT VENV     as root; the root lies in BUILD/old_root/SUITE and is made once
#
# Providers need their libraries in versions that Debian 11 does not have: oneDNN comes from VENV (tools/setup.sh
# old-root), XNNPACK is that of this machine (of Debian 12), which asks for glibc 2.29.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "$1") out=$(realpath "$2") venv=$(realpath "$3")
suite=${SUITE:-bullseye}
root=$build/old_root/$suite

((EUID == 0)) || { echo "tools/old_root.sh makes a root and changes into it: start it as root" >&2; exit 1; }
if [[ ! -f $root/.whole ]]; then
  rm -rf "$root"
  mkdir -p "$root"
  echo "making a root of $suite in $root"
  mmdebstrap --quiet --variant=minbase --include=python3,libgomp1,libcpuinfo0 "$suite" "$root" > "$root.log" 2>&1 || { tail -20 "$root.log"; exit 1; }
  touch "$root/.whole"
fi

at=$root/retort
rm -rf "$at"
mkdir -p "$at/examples" "$at/tests" "$at/libraries"
cp -a "$out" "$at/out"
cp -a abi "$at/"
cp -a examples/digits "$at/examples/"
cp -a tests/c_api.py tests/old_systems "$at/tests/"
cp -a "$build/release/compat_test" "$at/"

cp -L "$venv/old_root/lib/libdnnl.so.2" "$at/libraries/"
for name in libXNNPACK.so.0 libpthreadpool.so.0; do
  path=$(ldconfig -p | awk -v name="$name" '$1 == name { print $NF; exit }')
  [[ -z $path ]] || cp -L "$path" "$at/libraries/"
done

# inside COMMAND...: in the root, in a process whose mounts end with it.
inside() {
  unshare --mount bash -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && cd / && exec chroot "$0" "$@"' "$root" \
    env -i PATH=/usr/bin:/bin HOME=/root LD_LIBRARY_PATH=/retort/libraries RETORT_OUT=/retort/out "$@"
}

providers=()
for path in "$out"/lib/providers/libretort_*.so; do
  [[ ! -f $path ]] || { path=${path##*/libretort_}; providers+=("${path%.so}"); }
done

inside /retort/compat_test --gtest_brief=1
inside RETORT_PROVIDERS="${providers[*]}" python3 /retort/tests/old_systems/old_systems_test.py
