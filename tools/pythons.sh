#!/usr/bin/env bash
# Fetches Python interpreters that this system does not have, to build and test wheels with.
#
#   tools/pythons.sh FOLDER VERSION...      3.10, 3.12, 3.13 or 3.14, each into FOLDER/VERSION
#   tools/pythons.sh FOLDER free-threaded   3.13 without the global lock into FOLDER/3.13t: compiled from Debian's source, for minutes
#
# The first four are Maven's artifacts of org.bytedeco:cpython, for x86-64, and compared with the checksums below.
# Needs mvn and python3; for the last one a compiler, dpkg-dev and zlib1g-dev, libssl-dev, libffi-dev.
set -euo pipefail
DEPENDENCY_PLUGIN=org.apache.maven.plugins:maven-dependency-plugin:3.8.1
declare -A RELEASES=(
  [3.10]="3.10.8-1.5.8 2f101b1aa06effdbda3c318c1728b13f22b571707c7b7704abaf5d19a33aa981"
  [3.12]="3.12.1-1.5.10 a135fcf4dc01adebf7ea439252276fc3196db80f7e0dd3da0b61f1ec489b68bd"
  [3.13]="3.13.5-1.5.12 50ad91aa0baa57f0235bb666b87d8bf2a44e215d28c250de1030502906af143b"
  [3.14]="3.14.3-1.5.13 eb5f1a6fe2dc498ac18927189a37f28a47b0ba06ae6bd85112eff023fe2eb46f"
)
FREE=3.13t FREE_SUITE=trixie FREE_SOURCE=python3.13

fail() { echo "pythons.sh: $*" >&2; exit 1; }

from_maven() {
  local version=$1 to=$2 release sum area
  [[ -n ${RELEASES[$version]:-} ]] || fail "no Python $version; there are: ${!RELEASES[*]} and free-threaded"
  [[ $(uname -m) == x86_64 ]] || fail "Maven's Python $version is for x86_64, not $(uname -m)"
  command -v mvn >/dev/null || fail "Python $version comes with Maven; install mvn (Debian: maven)"
  read -r release sum <<<"${RELEASES[$version]}"
  area=$(mktemp -d)
  trap 'rm -rf "$area"' RETURN
  mvn -q -B "$DEPENDENCY_PLUGIN:copy" -Dartifact="org.bytedeco:cpython:$release:jar:linux-x86_64" -DoutputDirectory="$area" >"$area/log" 2>&1 \
    || { tail -5 "$area/log" >&2; fail "mvn cannot fetch org.bytedeco:cpython:$release"; }
  sha256sum --quiet --check <<<"$sum  $area/cpython-$release-linux-x86_64.jar" >&2 || fail "the checksum of Python $version is another"
  rm -rf "$to"
  mkdir -p "$to"
  python3 -m zipfile -e "$area/cpython-$release-linux-x86_64.jar" "$area/all"
  mv "$area"/all/org/bytedeco/cpython/linux-x86_64/* "$to/"
  # The archive has no modes and no links.
  chmod +x "$to/bin/python$version"
  ln -sf "python$version" "$to/bin/python3"
}

# apt-get with lists of its own: the system keeps its sources, whose archive is used.
from_debian() {
  local to=$1 area folder archive
  archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/$' | head -1)
  [[ -n $archive ]] || fail "this system's sources name no archive of Debian"
  area=$(mktemp -d)
  trap 'rm -rf "$area"' RETURN
  mkdir -p "$area"/{lists,archives}/partial
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $FREE_SUITE main" >"$area/sources.list"
  : >"$area/status"
  local apt=(apt-get -qq -o APT::Sandbox::User=root -o Dir::State="$area" -o Dir::State::status="$area/status" -o Dir::Cache="$area"
             -o Dir::Etc::sourcelist="$area/sources.list" -o Dir::Etc::sourceparts=/none)
  "${apt[@]}" update
  (cd "$area" && "${apt[@]}" source --download-only "$FREE_SOURCE" >"$area/log" 2>&1) || { tail -5 "$area/log" >&2; fail "no source of $FREE_SOURCE"; }
  tar -C "$area" -xf "$area"/*.orig.tar.xz
  folder=$(ls -d "$area"/Python-*)
  echo "compiling Python $FREE into $to"
  (cd "$folder" && ./configure --quiet --disable-gil --disable-test-modules --prefix="$to" && make -s -j"$(nproc)" && make -s install) >"$area/log" 2>&1 \
    || { tail -20 "$area/log" >&2; fail "Python $FREE cannot be compiled"; }
}

(($# > 1)) || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$1"
FOLDER=$(realpath "$1")
for version in "${@:2}"; do
  [[ $version != free-threaded ]] || version=$FREE
  [[ ! -x $FOLDER/$version/bin/python3 ]] || continue
  echo "fetching Python $version"
  if [[ $version == "$FREE" ]]; then from_debian "$FOLDER/$version"; else from_maven "$version" "$FOLDER/$version"; fi
done
