// A short identifier for a large number of bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace retort {

/// 128 bits that depend on all bytes that were added, and on their order. Differing content has differing fingerprints
/// unless it was prepared on purpose. About as fast as reading the memory.
class Fingerprint {
 public:
  /// Adds the bytes and their number. Throws if loading is cancelled meanwhile (loading.h).
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

/// The identifier that the linker gave to this library or program, which differs for any change in it. Empty if the
/// linker gave none.
std::string_view build_id();

}  // namespace retort
