#!/usr/bin/env bash
# Downloads the official ONNX Runtime library by package name, with npm or mvn as they are configured on this machine,
# and compares it with the checksum in native.tsv beside this script.
#
#   download-native.sh [--platform NAME] [--version VERSION] [--to FOLDER]
#
#   --platform  linux-x64, linux-aarch64, osx-aarch64, win-x64 or win-aarch64; default: this machine's
#   --version   a version in native.tsv; default: the newest whose package client is installed
#   --to        folder for the library; default: ./native/PLATFORM
#
# The last line of the output is the path of the library, as ORT_NATIVE_LIB_PATH takes it. If a checksum is wrong,
# nothing is written to the folder.
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
TABLE=${NATIVE_TABLE:-$HERE/native.tsv}
DEPENDENCY_PLUGIN=org.apache.maven.plugins:maven-dependency-plugin:3.8.1

fail() { echo "download-native.sh: $*" >&2; exit 1; }

this_platform() {
  local os arch
  case $(uname -s) in
    Linux) os=linux ;;
    Darwin) os=osx ;;
    MINGW* | MSYS* | CYGWIN*) os=win ;;
    *) os=$(uname -s) ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) arch=x64 ;;
    aarch64 | arm64) arch=aarch64 ;;
    *) arch=$(uname -m) ;;
  esac
  echo "$os-$arch"
}

# Prints the rows of a platform and, if it is given, of a version.
rows() { awk -F '\t' -v p="$1" -v v="$2" 'NR > 1 && $2 == p && (v == "" || $1 == v)' "$TABLE"; }

values() { awk -F '\t' -v c="$1" -v p="$2" 'NR > 1 && (p == "" || $2 == p) && !seen[$c]++ {printf "%s%s", sep, $c; sep = ", "}' "$TABLE"; }

checksum() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# fetch CLIENT PACKAGE VERSION MEMBERS...: extracts the members below the working folder.
fetch() {
  local client=$1 package=$2 version=$3 members
  shift 3
  case $client in
    npm)
      npm pack --silent "$package@$version" >/dev/null || fail "npm cannot fetch $package $version"
      tar -xzf ./*.tgz --strip-components=1 "${@/#/package/}"
      ;;
    mvn)
      members=$(IFS=,; echo "$*")
      mvn -q -B "$DEPENDENCY_PLUGIN:unpack" -Dartifact="$package:$version" -DoutputDirectory=. -Dmdep.unpack.includes="$members" >mvn.log 2>&1 \
        || { tail -5 mvn.log >&2; fail "mvn cannot fetch $package $version"; }
      ;;
    *) fail "$TABLE names the client '$client'; it must be npm or mvn" ;;
  esac
}

platform=$(this_platform) version='' to=''
while (($#)); do
  case $1 in
    --platform | --version | --to) (($# > 1)) || fail "$1 needs a value"
      case $1 in --platform) platform=$2 ;; --version) version=$2 ;; --to) to=$2 ;; esac
      shift 2 ;;
    -h | --help) sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//'; exit ;;
    *) fail "unknown argument '$1'; --help lists them" ;;
  esac
done

[[ -n $(rows "$platform" '') ]] || fail "no library for the platform '$platform'; there are: $(values 2 '')"
[[ -n $(rows "$platform" "$version") ]] || fail "no version '$version' for $platform; there are: $(values 1 "$platform")"
chosen='' missing=''
while IFS=$'\t' read -r v _ client _; do
  command -v "$client" >/dev/null && { chosen=$v; break; }
  missing=$client
done < <(rows "$platform" "$version")
[[ -n $chosen ]] || fail "$missing is needed to fetch ${version:-any version} for $platform, and is not installed"

to=${to:-native/$platform}
mkdir -p "$to"
to=$(cd "$to" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
members=() sums=()
while IFS=$'\t' read -r _ _ by from member sum; do
  client=$by package=$from members+=("$member") sums+=("$sum")
done < <(rows "$platform" "$chosen")
echo "fetching $package $chosen for $platform with $client" >&2
fetch "$client" "$package" "$chosen" "${members[@]}"
for i in "${!members[@]}"; do
  [[ -f ${members[i]} ]] || fail "$package $chosen has no ${members[i]}"
  found=$(checksum "${members[i]}")
  [[ $found == "${sums[i]}" ]] || fail "${members[i]} of $package $chosen has the checksum $found instead of ${sums[i]}; nothing was written to $to"
done
for member in "${members[@]}"; do
  mv -f "$member" "$to/.${member##*/}.part"
  mv -f "$to/.${member##*/}.part" "$to/${member##*/}"
done
echo "$to/${members[0]##*/}"
