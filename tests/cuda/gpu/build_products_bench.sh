#!/bin/sh
# Links products_bench with the objects of the provider: build_products_bench.sh [build folder] [program].
set -e
root=$(cd "$(dirname "$0")/../../.." && pwd)
build=${1:-$root/build/release}
program=${2:-$build/products_bench}
# From an archive, the linker takes only what the program needs.
rm -f "$program.a"
find "$build/CMakeFiles/retort_cuda.dir" -name '*.o' -exec ar rcs "$program.a" {} +
c++ -std=c++20 -O2 -Wall -Wextra -I "$root/providers" -I "$root/include/retort" -o "$program" \
  -I "$root/tests/cuda/gpu" "$root/tests/cuda/gpu/products_bench.cc" "$program.a" -ldl -static-libstdc++ -static-libgcc
rm -f "$program.a"
