// A map from numbers or strings to numbers that is built once and then only searched. Its entries lie in one array, with
// free ones between them, so that a search is a multiplication and mostly one access to memory.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace retort::ops {

/// The keys of one table are all numbers or all strings. Searching is thread-safe.
class KeyTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;  ///< not a key

  size_t size() const { return size_; }

  /// The value of a key, or kNone.
  uint32_t find(uint64_t key) const { return slots_[slot(key, AnyText{})].value; }
  uint32_t find(std::string_view key) const { return slots_[slot(hash(key), SameText{*this, key})].value; }

  /// Adds a key with a value below kNone, unless the table has it. Returns the key's value; assigning changes it.
  uint32_t& add(uint64_t key, uint32_t value);
  uint32_t& add(std::string_view key, uint32_t value);

 private:
  struct Slot {
    uint64_t key = 0;  // the number, or the hash of the string
    uint32_t value = kNone, text = 0;
  };
  struct AnyText {
    bool operator()(const Slot&) const { return true; }
  };
  struct SameText {
    const KeyTable& table;
    std::string_view key;
    bool operator()(const Slot& s) const { return table.texts_[s.text] == key; }
  };

  static constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio: spreads near numbers

  static uint64_t mix(uint64_t x) {
    x *= kFactor;
    return x ^ x >> 32;
  }
  static uint64_t word(const char* from, size_t bytes) {
    uint64_t word = 0;
    std::memcpy(&word, from, bytes);
    return word;
  }
  // Most strings are short: one or two words that may overlap, without a loop.
  static uint64_t hash(std::string_view text) {
    const size_t n = text.size();
    const char* const s = text.data();
    uint64_t h = n * kFactor;
    if (n > 8) {
      for (size_t i = 0; i + 8 < n; i += 8) h = mix(h ^ word(s + i, 8));
      return mix(h ^ word(s + n - 8, 8));
    }
    if (n >= 4) return mix(h ^ (word(s, 4) << 32 | word(s + n - 4, 4)));
    for (size_t i = 0; i < n; ++i) h = h << 8 | uint8_t(s[i]);
    return mix(h);
  }

  // Where the key is, or the free slot where it belongs.
  template <class Same>
  size_t slot(uint64_t key, const Same& same) const {
    size_t i = size_t((key ^ key >> 32) * kFactor >> shift_);
    while (slots_[i].value != kNone && !(slots_[i].key == key && same(slots_[i]))) i = (i + 1) & (slots_.size() - 1);
    return i;
  }
  uint32_t& fill(Slot& to, uint64_t key, uint32_t value);
  void grow();

  std::vector<Slot> slots_ = std::vector<Slot>(2);
  int shift_ = 63;  // 64 - log2 of the number of slots
  size_t size_ = 0;
  std::vector<std::string> texts_;
};

}  // namespace retort::ops
