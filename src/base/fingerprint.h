// A short name for many bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace retort {

/// 128 bits that depend on everything that was added, and on its order. Tells apart what differs by chance; somebody who
/// wants two equal ones can make them. About as fast as memory is read.
class Fingerprint {
 public:
  /// The bytes and how many they are.
  void add(const void* bytes, size_t size);
  void add(std::string_view text) { add(text.data(), text.size()); }
  void add(uint64_t number) { add(&number, sizeof number); }
  uint64_t high() const { return a_; }
  uint64_t low() const { return b_; }
  /// 32 hexadecimal digits.
  std::string text() const;
  bool operator==(const Fingerprint&) const = default;

 private:
  uint64_t a_ = 0x243f6a8885a308d3, b_ = 0x13198a2e03707344;
};

/// What the linker called this library or program: another one whenever anything in it is. Empty when it gave no name.
std::string_view build_id();

}  // namespace retort
