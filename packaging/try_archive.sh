#!/usr/bin/env bash
# Unpacks a release archive and classifies a digit with the tool in it: try_archive.sh ARCHIVE [EMULATOR]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tar -C "$folder" -xf "$1"
tool=$(echo "$folder"/*/bin/retort)
read -ra run <<<"${2:-} $tool"
"${run[@]}" --version
"${run[@]}" run "$(dirname "$0")/../examples/digits/digits.onnx" | grep '^probabilities'
