#!/bin/sh
# Links conv_probe with the objects of the provider: build_conv_probe.sh [build folder] [program].
set -e
root=$(cd "$(dirname "$0")/../../.." && pwd)
build=${1:-$root/build/release}
program=${2:-$build/conv_probe}
# From an archive, the linker takes only what the program needs.
rm -f "$program.a"
find "$build/CMakeFiles/retort_cuda.dir" -name '*.o' -exec ar rcs "$program.a" {} +
c++ -std=c++20 -O2 -Wall -Wextra -I "$root/providers" -I "$root/include/retort" -o "$program" \
  "$root/tests/cuda/gpu/conv_probe.cc" "$program.a" -ldl -static-libstdc++ -static-libgcc
rm -f "$program.a"
