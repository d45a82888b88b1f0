// Hash of names from model files. It is seeded per process, so that no file can be prepared whose names all collide.
#pragma once
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace retort::onnx {

struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view name) const {
    static const uint64_t seed = std::random_device()() | uint64_t(std::random_device()()) << 32;
    uint64_t h = seed ^ name.size();
    const char* p = name.data();
    size_t left = name.size();
    for (; left >= 8; p += 8, left -= 8) h = mix(h, load(p, 8));
    return mix(h, load(p, left) ^ left << 56);
  }

 private:
  static uint64_t load(const char* p, size_t size) {
    uint64_t v = 0;
    if (size) std::memcpy(&v, p, size);
    return v;
  }
  /// Combines both halves of a 128-bit product: every bit of the input affects every bit of the result.
  static uint64_t mix(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a ^ 0x9e3779b97f4a7c15) * (b ^ 0xd1b54a32d192ed03);
    return uint64_t(product) ^ uint64_t(product >> 64);
  }
};

/// Keys are views: the bytes of the file must outlive the map.
template <typename T>
using NameMap = std::unordered_map<std::string_view, T, NameHash>;
using NameSet = std::unordered_set<std::string_view, NameHash>;

}  // namespace retort::onnx
